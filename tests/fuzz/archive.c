/*
 * Damaged archives and hostile pickles: each must end with a value or a message.
 *
 * An input that begins like a zip file is loaded as a module and as data.  Any other is a pickle, read with a host that
 * knows one class, one enum-like class and small storages.  Without libFuzzer (-DFUZZER) the program mutates its own
 * seeds, or reads the named files: usage: archive [FILE...]
 */
#include "../../frontend/frontend.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct Job {
	Source      src;
	const char *path;        /* Path of a zip file.  Null for a pickle. */
	bool        data;        /* whether to read it as kiln convert does */
	RtCx        rt;
	Fits        fits;
} Job;

/* ---- the host ------------------------------------------------------------------------------------------ */

static bool
known(void *arg, const char *cls)
{
	(void)arg;
	return !strncmp(cls, "__torch__.", 10);
}

static IValue
object(const PickleAt *at, void *arg, const char *cls)
{
	const Type *t = type_class(at->cx, cls, false);
	ClassInfo *info = class_info(t);

	if (!info->defined) {
		info->defined = true;
		class_add_attr(at->cx, info, (Attribute){ .name = "a", .type = type_list(at->cx, &rt_type_int) });
		class_add_attr(at->cx, info, (Attribute){ .name = "b", .type = &rt_type_any });
	}
	return rt_ref(RT_OBJECT, rt_object_new(&((Job *)arg)->rt, t->cls));
}

static void
build(const PickleAt *at, void *arg, IValue o, IValue state)
{
	Job *j = arg;

	if (state.tag == RT_LIST && !value_fits(&j->fits, state, o.u.obj->cls->slot_type[0]))
		pickle_bad(at, "attribute a is something else");
	rt_assign(&o.u.obj->slot[state.tag == RT_LIST ? 0 : 1], rt_retain(state));
}

static IValue
enumerator(const PickleAt *at, void *arg, const char *cls, IValue value)
{
	return rt_ref(RT_ENUM,
		      rt_enum_new(&((Job *)arg)->rt, type_enum(at->cx, cls, &rt_type_int), "A", rt_retain(value)));
}

static IValue
storage(const PickleAt *at, void *arg, RtDtype d, const char *key, int64_t numel)
{
	(void)key;
	if (numel < 0 || numel > 1000)
		pickle_bad(at, "storage of %lld elements", (long long)numel);
	return rt_of(rt_tensor_new(&((Job *)arg)->rt, d, 1, &numel));
}

static const Type *
tag(const PickleAt *at, void *arg, const char *text)
{
	(void)arg;
	return type_from_text(at->cx, NULL, text, (Range){ 0 });
}

/* ---- one input -------------------------------------------------------------------------------------------- */

static void
read_input(Cx *cx, void *arg)
{
	Job *j = arg;
	PickleHost host = { .arg = j, .known = known, .object = object, .build = build, .enumerator = enumerator,
		.storage = storage, .tag = tag, .fits = &j->fits };
	IValue v;

	if (!j->path)
		v = pickle_load(cx, &j->src, &host);
	else if (j->data)
		v = archive_load_data(cx, j->path);
	else
		v = archive_load(cx, j->path)->self;
	value_settle(&j->fits, v);
	rt_release(v);
}

static void
try_input(Job *j, const char *path, bool data)
{
	Arena a = { .limit = (int64_t)1 << 30 };
	Cx cx = { .arena = &a };

	j->path = path;
	j->data = data;
	j->fits = (Fits){ .cx = &cx };
	rt_cx_init(&j->rt);
	if (!cx_try(&cx, read_input, j) && cx.err.status != EXIT_INPUT && cx.err.status != EXIT_LACKS) {
		fprintf(stderr, "status %d: %s\n", cx.err.status, cx.err.text);
		abort();
	}
	fits_free(&j->fits);
	rt_cx_free(&j->rt);
	arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	Job j = { .src = { .text = (const char *)data, .n = (int64_t)n, .name = "fuzz", .line = 1 } };
	char path[64];
	int fd;

	schema_parser = schema_parse;
	if (n < 2 || memcmp(data, "PK", 2)) {
		try_input(&j, NULL, false);
		return 0;
	}
	fd = memfd_create("archive", 0);
	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	try_input(&j, path, false);
	try_input(&j, path, true);
	close(fd);
	return 0;
}

#ifndef FUZZER

/* ---- without libFuzzer --------------------------------------------------------------------------------------- */

#define SEED(text) { text, sizeof text - 1 }
static const struct { const char *at; size_t n; } seeds[] = {
	SEED("\x80\x02]q\0(K\1K\2M\1\2J\1\2\3\4\x8a\x01\x05" "G\0\0\0\0\0\0\0\0X\1\0\0\0ae."),
	SEED("\x80\x02}q\0(X\1\0\0\0aK\1X\1\0\0\0" "b\x88uh\0\x86."),
	SEED("\x80\x02" "c__torch__\nM\nq\0)\x81" "ctorch.jit._pickle\nbuild_intlist\n](K\1K\2e\x85" "Rb."),
	SEED("\x80\x02" "ctorch.jit._pickle\nrestore_type_tag\n}(X\1\0\0\0aK\1uX\x0e\0\0\0" "Dict[str, int]\x86R."),
	SEED("\x80\x02" "ctorch.jit._pickle\nrestore_type_tag\n](N](K\1ee"
	     "X\x19\0\0\0" "List[Optional[List[int]]]\x86R."),
	SEED("\x80\x02" "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
	     "0X\3\0\0\0cpuK\x0c" "tQ"
	     "K\0(K\4K\3t(K\3K\1t\x88" "ccollections\nOrderedDict\n)RtR."),
	SEED("\x80\x02" "ctorch._utils\n_rebuild_qtensor\n((X\7\0\0\0storagectorch\nQInt8Storage\nX\1\0\0\0"
	     "0X\3\0\0\0cpuK\x0c" "tQ"
	     "K\0(K\4K\3t(K\3K\1t(ctorch\nper_tensor_affine\nG?\xf0\0\0\0\0\0\0K\3t\x88"
	     "ccollections\nOrderedDict\n)RtR."),
	SEED("\x80\x02" "c__torch__\nColor\nK\2R."),
	SEED("\x80\x02" "ctorch\ndevice\nX\6\0\0\0cuda:0\x85R."),
	SEED("\x80\x02" "cbuiltins\ncomplex\nG\0\0\0\0\0\0\0\0G\0\0\0\0\0\0\0\0\x86R."),
};

static uint32_t
draw(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* Changes, drops, doubles or swaps a few bytes. */
static size_t
mutate(uint8_t *p, size_t n, size_t room, uint64_t *state)
{
	for (int k = (int)(draw(state) % 4) + 1; k > 0 && n > 2; k--) {
		size_t at = draw(state) % n, len = draw(state) % 8 + 1;

		if (at + len > n)
			len = n - at;
		switch (draw(state) % 4) {
		case 0:
			p[at] = (uint8_t)draw(state);
			break;
		case 1:
			memmove(p + at, p + at + len, n - at - len);
			n -= len;
			break;
		case 2:
			if (n + len > room)
				break;
			memmove(p + at + len, p + at, n - at);
			n += len;
			break;
		default:
			p[at] = (uint8_t)"\0\1\xff.(tRbQhqe]}"[draw(state) % 14];
		}
	}
	return n;
}

static int
read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = malloc(1 << 24);
	size_t n = f && data ? fread(data, 1, 1 << 24, f) : 0;

	if (f)
		fclose(f);
	LLVMFuzzerTestOneInput(data, n);
	free(data);
	return f ? 0 : 1;
}

int
main(int argc, char **argv)
{
	enum { ROUNDS = 3000, ROOM = 4096 };
	uint8_t buf[ROOM];
	uint64_t state = 1;

	for (int i = 1; i < argc; i++)
		if (read_file(argv[i]))
			return EXIT_USAGE;
	for (size_t s = 0; argc < 2 && s < sizeof seeds / sizeof *seeds; s++) {
		LLVMFuzzerTestOneInput((const uint8_t *)seeds[s].at, seeds[s].n);
		for (int i = 0; i < ROUNDS; i++) {
			memcpy(buf, seeds[s].at, seeds[s].n);
			LLVMFuzzerTestOneInput(buf, mutate(buf, seeds[s].n, ROOM, &state));
		}
	}
	return 0;
}
#endif
