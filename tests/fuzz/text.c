/*
 * Damaged text: every reader of text must end with a result or a message.
 *
 * The first byte of the input selects the reader.  Without libFuzzer (-DFUZZER) the program mutates its own seeds, or
 * reads the named files: usage: text [FILE...]
 */
#include "../../frontend/frontend.h"

#include <stdlib.h>
#include <string.h>

typedef struct Job { Source src; int reader; } Job;

static void
read_text(Cx *cx, void *arg)
{
	Job *j = arg;
	Graph *g;
	Buf b = { 0 };
	uint32_t at = 0;

	switch (j->reader) {
	case 0:
		parse_file(cx, &j->src);
		break;
	case 1:
		schema_print(cx, schema_parse(cx, j->src.text));
		break;
	case 2:
		type_print(cx, type_from_text(cx, 0, j->src.text, (Range){ 0 }));
		break;
	case 3:
		type_print(cx, schema_type_parse(cx, 0, &j->src, &at));
		break;
	default:
		g = ir_parse(cx, &j->src, 0);
		graph_print(g, &b, true);
		ir_check_types(cx, g, "text");
		buf_free(&b);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	Arena a = { .limit = 256 << 20 };
	Cx cx = { .arena = &a };
	Job j = { .reader = n ? data[0] % 5 : 0 };
	char *text = malloc(n + 1);

	if (n > 1)
		memcpy(text, data + 1, n - 1);
	text[n ? n - 1 : 0] = 0;
	j.src = (Source){ .text = text, .n = n ? (int64_t)n - 1 : 0, .name = "fuzz", .line = 1 };
	schema_parser = schema_parse;
	if (!cx_try(&cx, read_text, &j) && cx.err.status != EXIT_INPUT && cx.err.status != EXIT_LACKS) {
		fprintf(stderr, "status %d: %s\ntext: %s\n", cx.err.status, cx.err.text, text);
		abort();
	}
	if (cx.rt)
		rt_cx_free(cx.rt);
	arena_free(&a);
	free(text);
	return 0;
}

#ifndef FUZZER
static const char *const seeds[] = {
	"\0def f(x: int, *, y=[1, {2: 'a\\065'}]) -> Tensor:\n  # type: (int, int) -> int\n  for i, in a[1:, ...]:\n"
	"    x += -2 ** 3 if not b is not None else (c,)\n  return x\n",
	"\0class A(Module):\n  x : Final[int] = 3\n  def f(self):\n    with a as b:\n      assert x, \"\"\"y\"\"\"\n",
	"\1aten::f.o(Tensor(a!)[] self, int[2] b=1, *, Dict(str, (t, t2)[])(c -> *)? d=None, "
	"str s=\"\\n\") -> (Tensor(a!) x, ...)",
	"\2Dict[str, Union[List[Tuple[int, 'Tensor']], BroadcastingList3[int], None]]",
	"\3__torch__.P(x : Float(2, *, s0, strides=[3, 1, *], requires_grad=0, device=cuda:1), "
	"y : Union(int, Enum<a.B>)?[])",
	"\4graph(%x : Tensor, %n : int):\n  %c : (int, str) = prim::Constant[value=(1, \"a\\x01\")]() # f.py:3:4\n"
	"  %t : Tensor = prim::Constant[value=Double{[[1., 2.], [3., nan]]}]()\n"
	"  %r : Tensor = prim::Loop(%n, %n, %x)\n"
	"    block0(%i : int, %a : Tensor):\n      %f : Tensor = prim::fork_0(%a)\n      -> (%n, %a)\n  return (%r)\n"
	"with prim::fork_0 = graph(%a : Tensor):\n  return (%a)\n",
};

static uint32_t
next(uint32_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 17;
	return *s ^= *s << 5;
}

static void
mutate(uint8_t *text, size_t *n, size_t room, uint32_t *random)
{
	static const char alphabet[] = "()[]{}<>%:.,=*-#\"'\\ \n09azA_?!|@";

	for (uint32_t k = 1 + next(random) % 4; k; k--) {
		size_t at = 1 + next(random) % (*n - 1), len = 1 + next(random) % 20;

		if (len > *n - at)
			len = *n - at;
		switch (next(random) % 4) {
		case 0:
			text[at] = (uint8_t)alphabet[next(random) % (sizeof alphabet - 1)];
			break;
		case 1:
			if (*n - len < 2)
				break;
			memmove(text + at, text + at + len, *n - at - len);
			*n -= len;
			break;
		case 2:
			if (*n + len > room)
				break;
			memmove(text + at + len, text + at, *n - at);
			*n += len;
			break;
		default:
			text[at] = (uint8_t)next(random);
		}
	}
}

static void
read_file(const char *path)
{
	static uint8_t text[1 << 20];
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(text, 1, sizeof text, f) : 0;

	if (f)
		fclose(f);
	LLVMFuzzerTestOneInput(text, n);
}

int
main(int argc, char **argv)
{
	static uint8_t text[4096];
	uint32_t random = 2463534242;
	size_t n;

	for (int i = 1; i < argc; i++)
		read_file(argv[i]);
	for (int k = 0; argc == 1 && k < 20000; k++) {
		const char *seed = seeds[k % (sizeof seeds / sizeof *seeds)];

		n = 1 + strlen(seed + 1);
		memcpy(text, seed, n);
		mutate(text, &n, sizeof text, &random);
		LLVMFuzzerTestOneInput(text, n);
	}
	return 0;
}
#endif
