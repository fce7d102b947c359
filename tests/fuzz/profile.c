/* tests/fuzz/profile.c - any bytes as a profile: must give a message, or signatures for which the graph can be
 * specialized
 *
 * @ in the text stands for the hash of the graph, since a profile with another hash is refused. */
#include "compiler.h"

#include "../../opt/opt.h"

#include <stdlib.h>
#include <string.h>

static const char source[] =
	"def forward(x: Tensor, n: int, l: List[Tensor], s: Optional[str]=None) -> Tensor:\n"
	"  y = torch.relu(x)\n"
	"  for i in range(n):\n"
	"    y = torch.add(torch.mm(y, x), torch.size(x, 0))\n"
	"  if s is not None:\n"
	"    y = torch.cat(l, 0)\n"
	"  if torch.gt(torch.item(torch.sum(y)), 3):\n"
	"    y = torch.reshape(torch.nonzero(y), [-1])\n"
	"  return y\n";

typedef struct Job { char *text; Function *fn; Profile *profile; Specialization *s; } Job;

static void
specialize_one(Cx *cx, void *arg)
{
	Job *j = arg;
	Profile seen = *j->profile;

	seen.value = j->s->seen;
	seen.nrun = (int)j->s->count;
	j->s->graph = specialize(cx, j->fn, &seen, j->s->pattern, NULL);
	graph_lint(j->s->graph);
	passes_run(cx, STAGE_OPTIMIZE, j->fn, j->s->graph, rt_none());
	graph_lint(j->s->graph);
}

static void
read_profile(Cx *cx, void *arg)
{
	Job *j = arg;
	Specialization **all;
	char *at = strchr(j->text, '@');
	int n;

	j->fn = script_compile(cx, source, "forward");
	prepare(cx, j->fn, rt_none());
	ops_compile_bodies(cx, j->fn->prepared);
	code_lower(cx, j->fn, NULL);
	j->profile = profile_new(cx, j->fn);
	if (at) {
		char hash[32];

		snprintf(hash, sizeof hash, "%016llx", (unsigned long long)graph_hash(j->fn->prepared));
		j->text = arena_printf(cx->arena, "%.*s%s%s", (int)(at - j->text), j->text, hash, at + 1);
	}
	n = profile_parse(j->profile, "fuzz", j->text, &all);
	profile_print(j->profile, (const Specialization *const *)all, n);
	for (int i = 0; i < n && i < 4; i++) {
		j->s = all[i];
		if (!cx_try(cx, specialize_one, j))
			check(cx);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	Arena a = { .limit = 512 << 20 };
	Cx cx = { .arena = &a };
	char *text = malloc(n + 1);
	Job j = { .text = text };

	memcpy(text, data, n);
	text[n] = 0;
	schema_parser = schema_parse;
	if (!cx_try(&cx, read_profile, &j))
		check(&cx);
	finish(&cx);
	free(text);
	return 0;
}
