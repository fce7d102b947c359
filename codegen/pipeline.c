/* codegen/pipeline.c - what build and show have in common: prepare, profile on the inputs, specialize
 *
 * Each input is one profiling run on a fresh instance.  Inputs of the same signature share a specialization; the most
 * frequent ones come first.  One more is made from what all signatures have in common, where sizes that differ are
 * dynamic.  A run that raises keeps what it saw: its error is the program's answer, too.
 */
#include "codegen.h"

#include <stdlib.h>
#include <string.h>

#define PROFILE_STEPS 200000000                  /* instructions of a run */
#define PROFILE_NS    INT64_C(120000000000)      /* of a run, without --timeout */

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

/* The specialization of that signature, with so many more runs. */
static Specialization *
note_signature(Cli *cli, Signatures *s, Function *fn, Pattern *p, int n, int64_t count)
{
	Specialization *new_one;

	for (int i = 0; i < s->at.n; i++) {
		bool same = true;

		for (int k = 0; k < n; k++)
			same &= pattern_equal(&s->at.at[i]->pattern[k], &p[k]);
		if (same) {
			s->at.at[i]->count += count;
			return s->at.at[i];
		}
	}
	new_one = new(cli->cx->arena, Specialization, 1);
	*new_one = (Specialization){ .fn = fn, .pattern = p, .count = count,
				     .seen = new(cli->cx->arena, ValueProfile, fn->prepared->nvalue) };
	vec_push(cli->cx->arena, &s->at, new_one);
	return new_one;
}

/* What all signatures have in common; null when there is only one, or nothing in common. */
static Specialization *
dynamic_one(Cli *cli, const Signatures *s, Function *fn, const Profile *profile)
{
	const Pattern **all = new(cli->cx->arena, const Pattern *, s->at.n + 1);
	const int n = graph_ninputs(fn->prepared) - (fn->self != 0);
	Specialization *d;

	for (int i = 0; i < s->at.n; i++)
		all[i] = s->at.at[i]->pattern;
	if (s->at.n < 2)
		return NULL;
	d = new(cli->cx->arena, Specialization, 1);
	*d = (Specialization){ .fn = fn, .pattern = pattern_merge(cli->cx, all, s->at.n, n), .seen = profile->value, .dynamic = true };
	return pattern_is_open(d->pattern, n) ? NULL : d;
}

/* What the model prints is no result of build or show. */
static void
say_print(RtCx *cx, const char *text, int64_t n)
{
	(void)cx;
	fwrite(text, 1, (size_t)n, stderr);
}

static void
say_nothing(RtCx *cx, const char *text, int64_t n)
{
	(void)cx, (void)text, (void)n;
}

/* One profiling run: arguments by name, a fresh instance, a fresh generator. */
static void
profile_input(Cli *cli, Model *m, Profile *profile, Signatures *s, int i)
{
	const char *path = input_name(cli, i);
	RtCx *rt = model_context(cli);
	RtArrays *in = new(cli->cx->arena, RtArrays, 1);
	RtParam *params;
	IValue *args;
	int n, self = m->fn->self != 0;

	progress("profiling on %s", path);
	rt->print = cli->verbose ? say_print : say_nothing;
	rt->steps = PROFILE_STEPS;
	if (!rt->deadline)
		rt->deadline = rt_now() + PROFILE_NS;
	params = model_params(cli, m, &n);
	args = new(cli->cx->arena, IValue, n + 2);
	if (input_read(cli, rt, i, in) || rt_args_from_arrays(rt, params, n, in, args + self))
		fail_raised(cli, rt);
	if (self)
		args[0] = module_fresh(cli->cx, m->module);
	profile->also = note_signature(cli, s, m->fn, pattern_of(cli->cx, args + self, n, NULL), n, 1)->seen;
	if (profile_run(profile, rt, args) == RT_LACKS)
		fail_raised(cli, rt);
	if (rt->status)
		warn("%s: the model raised on this input: %s", path, rt->message ? rt->message : "?");
	rt_clear_error(rt);
}

static int
by_count(const void *a, const void *b)
{
	const Specialization *x = *(Specialization *const *)a, *y = *(Specialization *const *)b;

	return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

typedef struct OneSpecialization { Model *m; Profile *profile; Specialization *s; bool optimize; } OneSpecialization;

static void
specialize_one(Cx *cx, void *arg)
{
	OneSpecialization *o = arg;
	Profile seen = *o->profile;

	seen.value = o->s->seen;
	seen.nrun = (int)o->s->count;
	o->s->graph = specialize(cx, o->m->fn, &seen, o->s->pattern, o->m->fn->self != 0, NULL);
	if (o->optimize)
		passes_run(cx, STAGE_OPTIMIZE, o->m->fn, o->s->graph, rt_none());
}

/* Keeps those whose graph can be made: what has none is left to the generic program. */
static int
specialize_all(Cli *cli, Model *m, Profile *profile, Specialization **s, int n, bool optimize)
{
	int made = 0;

	for (int i = 0; i < n; i++) {
		OneSpecialization one = { m, profile, s[i], optimize };

		if (cx_try(cli->cx, specialize_one, &one))
			s[made++] = s[i];
		else if (cli->cx->err.status != EXIT_LACKS)
			fail_status(cli->cx, cli->cx->err.status, (Range){ 0 }, "%s", cli->cx->err.what);
		else
			warn("no specialization: %s", cli->cx->err.what);
	}
	return made;
}

void
model_prepare(Cli *cli, Model *m)
{
	ops_compile_all(cli->cx, m->fn);
	prepare(cli->cx, m->fn, m->module ? m->module->self : rt_none());
	ops_compile_bodies(cli->cx, m->fn->prepared);
	model_lower(cli, m);
}

/* A profile that was written before. */
static void
add_profile(Cli *cli, Model *m, Profile *profile, Signatures *s, const char *path)
{
	const int n = graph_ninputs(m->fn->prepared) - (m->fn->self != 0);
	Specialization **read;
	const int nread = profile_parse(profile, path, file_text(cli->cx, path), &read);

	for (int i = 0; i < nread; i++)
		profile_merge(profile, note_signature(cli, s, m->fn, read[i]->pattern, n, read[i]->count)->seen, read[i]->seen);
}

/* All that the options name: profiles, then runs on inputs; null: nothing. */
static Profile *
profile_all(Cli *cli, Model *m, Signatures *s)
{
	Profile *profile;

	if (!input_count(cli) && !cli->profiles.n)
		return NULL;
	profile = profile_new(cli->cx, m->fn);
	for (int i = 0; i < cli->profiles.n; i++)
		add_profile(cli, m, profile, s, cli->profiles.at[i]);
	for (int i = 0; i < input_count(cli); i++)
		profile_input(cli, m, profile, s, i);
	progress(NULL);
	qsort(s->at.at, (size_t)s->at.n, sizeof *s->at.at, by_count);
	return profile;
}

const char *
model_profile(Cli *cli, Model *m)
{
	Signatures s = { 0 };
	Profile *profile = profile_all(cli, m, &s);

	return profile ? profile_print(profile, (const Specialization *const *)s.at.at, s.at.n) : NULL;
}

typedef struct DynamicOne { Model *m; Profile *profile; const Signatures *s; Specialization *d; } DynamicOne;

static void
samples_of(Cx *cx, void *arg)
{
	const DynamicOne *o = arg;

	if (!samples_make(cx, o->d, o->profile, o->s->at.at, o->s->at.n, o->m->fn->self != 0, true))
		o->d->sample = NULL;
}

/* Without samples its tensors of dynamic sizes are values of the runtime. */
static void
make_samples(Cli *cli, Model *m, Profile *profile, const Signatures *s, Specialization *d)
{
	DynamicOne one = { m, profile, s, d };

	d->bounded = input_is_bounds(cli) && !cli->profiles.n;
	if (!cx_try(cli->cx, samples_of, &one))
		d->sample = NULL;
	if (!d->sample && cli->verbose)
		fprintf(stderr, "kiln: %s: no kernels for dynamic sizes: it goes different ways on different sizes\n", m->fn->name);
}

/* The same for sizes of 1, where the most frequent signature that has such has others that vary; or null. */
static Specialization *
dynamic_ones(Cli *cli, Model *m, Profile *profile, const Signatures *s, const Specialization *dynamic)
{
	const int n = graph_ninputs(m->fn->prepared) - (m->fn->self != 0);
	Specialization *d = new(cli->cx->arena, Specialization, 1);

	*d = *dynamic;
	d->pattern = NULL;
	for (int i = 0; i < s->at.n && !d->pattern; i++)
		d->pattern = pattern_with_ones(cli->cx, dynamic->pattern, s->at.at[i]->pattern, n);
	if (!d->pattern)
		return NULL;
	make_samples(cli, m, profile, s, d);
	return d->sample ? d : NULL;
}

int
model_specialize(Cli *cli, Model *m, int most, bool optimize, Specialization ***out)
{
	Signatures s = { 0 };
	Specialization *dynamic, *ones = NULL;
	Profile *profile;

	if (!most || !(profile = profile_all(cli, m, &s)))
		return 0;
	dynamic = dynamic_one(cli, &s, m->fn, profile);
	if (dynamic && optimize)
		make_samples(cli, m, profile, &s, dynamic);
	if (dynamic && optimize)
		ones = dynamic_ones(cli, m, profile, &s, dynamic);
	s.at.n = s.at.n < most ? s.at.n : most;
	if (dynamic)
		vec_push(cli->cx->arena, &s.at, dynamic);
	if (ones)
		vec_push(cli->cx->arena, &s.at, ones);
	*out = s.at.at;
	return specialize_all(cli, m, profile, s.at.at, s.at.n, optimize);
}
