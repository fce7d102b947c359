/* codegen/pipeline.c - what build and show have in common: prepare, profile on the inputs, specialize
 *
 * Each input is one profiling run on a fresh instance.  Inputs of the same signature share a specialization; the most
 * frequent ones come first.  A run that raises keeps what it saw: its error is the program's answer, too.
 */
#include "codegen.h"

#include <stdlib.h>
#include <string.h>

typedef struct Signatures { Vec(Specialization *) at; } Signatures;

static void
warn(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "kiln: warning: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
}

static void
note_signature(Cli *cli, Signatures *s, Function *fn, const IValue *args, int n)
{
	Pattern *p = pattern_of(cli->cx, args, n, NULL);
	Specialization *new_one;

	for (int i = 0; i < s->at.n; i++) {
		bool same = true;

		for (int k = 0; k < n; k++)
			same &= pattern_equal(&s->at.at[i]->pattern[k], &p[k]);
		if (same) {
			s->at.at[i]->count++;
			return;
		}
	}
	new_one = new(cli->cx->arena, Specialization, 1);
	*new_one = (Specialization){ .fn = fn, .pattern = p, .count = 1 };
	vec_push(cli->cx->arena, &s->at, new_one);
}

/* One profiling run: arguments by name, a fresh instance, a fresh generator. */
static void
profile_input(Cli *cli, Model *m, Profile *profile, Signatures *s, int i)
{
	const char *path = input_name(cli, i);
	RtCx rt;
	RtArrays in = { 0 };
	RtParam *params;
	IValue *args;
	int n, self = m->fn->self != 0;

	progress("profiling on %s", path);
	model_context(cli, &rt);
	rt.steps = 200000000;
	params = model_params(cli, m, &n);
	args = new(cli->cx->arena, IValue, n + 2);
	if (input_read(cli, &rt, i, &in) || rt_args_from_arrays(&rt, params, n, &in, args + self))
		fail_raised(cli, &rt);
	if (self)
		args[0] = module_fresh(cli->cx, m->module);
	note_signature(cli, s, m->fn, args + self, n);
	if (profile_run(profile, &rt, args) == RT_LACKS)
		fail_raised(cli, &rt);
	if (rt.status)
		warn("%s: the model raised on this input: %s", path, rt.message ? rt.message : "?");
	rt_clear_error(&rt);
}

static int
by_count(const void *a, const void *b)
{
	const Specialization *x = *(Specialization *const *)a, *y = *(Specialization *const *)b;

	return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

/* Specialized graphs of the most frequent signatures; one that cannot be made leaves the generic program. */
typedef struct OneSpecialization { Cli *cli; Model *m; Profile *profile; Specialization *s; bool optimize; } OneSpecialization;

static void
specialize_one(Cx *cx, void *arg)
{
	OneSpecialization *o = arg;

	o->s->graph = specialize(cx, o->m->fn, o->profile, o->s->pattern, o->m->fn->self != 0);
	if (o->optimize)
		passes_run(cx, STAGE_OPTIMIZE, o->m->fn, o->s->graph, rt_none());
}

static int
specialize_all(Cli *cli, Model *m, Profile *profile, Signatures *s, int most, bool optimize)
{
	int n = 0;

	qsort(s->at.at, (size_t)s->at.n, sizeof *s->at.at, by_count);
	for (int i = 0; i < s->at.n && n < most; i++) {
		OneSpecialization one = { cli, m, profile, s->at.at[i], optimize };

		if (cx_try(cli->cx, specialize_one, &one))
			s->at.at[n++] = s->at.at[i];
		else if (cli->cx->err.status != EXIT_LACKS)
			fail_status(cli->cx, cli->cx->err.status, (Range){ 0 }, "%s", cli->cx->err.what);
		else
			warn("no specialization: %s", cli->cx->err.what);
	}
	return n;
}

void
model_prepare(Cli *cli, Model *m)
{
	ops_compile_all(cli->cx, m->fn);
	prepare(cli->cx, m->fn, m->module ? m->module->self : rt_none());
	ops_compile_bodies(cli->cx, m->fn->prepared);
	model_lower(cli, m);
}

int
model_specialize(Cli *cli, Model *m, int most, bool optimize, Specialization ***out)
{
	Signatures s = { 0 };
	Profile *profile;
	int n;

	if (!input_count(cli))
		return 0;
	profile = profile_new(cli->cx, m->fn);
	for (int i = 0; i < input_count(cli); i++)
		profile_input(cli, m, profile, &s, i);
	progress(NULL);
	n = specialize_all(cli, m, profile, &s, most, optimize);
	*out = s.at.at;
	return n;
}
