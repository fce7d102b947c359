/* codegen/cli/pipeline.c - the steps that build and show share: prepare, profile on the inputs, specialize
 *
 * Each input is profiled on a fresh instance. Inputs of the same signature share a specialization; the most frequent
 * ones come first. A dynamic specialization is added for what all signatures have in common: sizes that differ are
 * dynamic in it. A run that raises keeps its profile up to the raise, because the program has to raise the same
 * error. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#define PROFILE_STEPS 200000000                  /* largest number of instructions in a profiling run */
#define PROFILE_NS    INT64_C(120000000000)      /* time limit of a profiling run without --timeout */

typedef struct Signatures { Vec(Specialization *) at; } Signatures;

void
say_time(const Cli *cli, const char *what, int64_t start)
{
	if (cli->time)
		fprintf(stderr, "%-18s %9.3f ms\n", what, (double)(rt_now() - start) / 1e6);
}

void
warning(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "kiln: warning: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
}

/* Notes for the user that some calls run in generic code, with the reason. Each reason is reported once. */
static void
note_generic(void *arg, const char *what)
{
	Cli *cli = arg;

	for (int i = 0; i < cli->notes.n; i++)
		if (!strcmp(cli->notes.at[i], what))
			return;
	vec_push(cli->cx->arena, &cli->notes, what);
}

/* Notes why a dynamic specialization is missing. Notes nothing if the model raises at other sizes or if no sizes were
 * tried. */
static void
note_undynamic(Cli *cli, const char *what)
{
	const Cause *c = &cli->undynamic;

	if ((c->what || c->at.src) && !c->refused)
		note_generic(cli, arena_printf(cli->cx->arena, "%s: %s", what, cause_says(cli->cx, c)));
}

/* Adds runs of one signature to s, and their profile to its specialization. */
static void
note_signature(Cli *cli, Signatures *s, const Profile *p, const Specialization *new_one)
{
	const int n = graph_ninputs(p->graph) - function_first(p->fn);
	Specialization *at;

	for (int i = 0; i < s->at.n; i++) {
		at = s->at.at[i];
		if (patterns_equal(at->pattern, new_one->pattern, n) &&
		    patterns_equal(at->found, new_one->found, p->state->at.n)) {
			at->count += new_one->count;
			profile_merge(p, at->seen, new_one->seen);
			return;
		}
	}
	at = new(cli->cx->arena, Specialization, 1);
	*at = *new_one;
	vec_push(cli->cx->arena, &s->at, at);
}

/* Returns the signatures of first calls on an instance. With `again`, of later calls. */
static Signatures
signatures_of(Cli *cli, const Signatures *all, bool again)
{
	Signatures s = { 0 };

	for (int i = 0; i < all->at.n; i++)
		if (all->at.at[i]->again == again)
			vec_push(cli->cx->arena, &s.at, all->at.at[i]);
	return s;
}

/* Returns the profile of the runs that the specialization serves. */
static Profile
profile_of(const Profile *all, const Specialization *s)
{
	Profile p = *all;

	p.value = s->seen;
	p.found = s->found;
	p.nrun = (int)s->count;
	return p;
}

/* If all calls had one signature, adds a signature with other sizes, which no call had. */
static void
add_varied(Cli *cli, Model *m, const Profile *profile, Signatures *s, Varied varied)
{
	const Profile seen = profile_of(profile, s->at.at[0]);
	Specialization *other = new(cli->cx->arena, Specialization, 1);
	FixedSizes fixed = { 0 };

	*other = *s->at.at[0];
	other->seen = new(cli->cx->arena, ValueProfile, profile->nvalue + 1);
	other->count = 0;
	other->pattern = signature_varied(cli->cx, m->fn, &seen, s->at.at[0]->pattern, varied, &fixed);
	if (other->pattern)
		vec_push(cli->cx->arena, &s->at, other);
	cli->undynamic = fixed.all;
	for (int i = 0; cli->verbose && i < fixed.n; i++)
		fprintf(stderr, "%s%s.size(%d) = %lld%s", i ? ", " : arena_printf(cli->cx->arena,
			"kiln: %s: fixed sizes: ", m->fn->name), fixed.at[i].arg, fixed.at[i].axis,
			(long long)fixed.at[i].size, i == fixed.n - 1 ? "\n" : "");
	if (varied.without < 0 && !varied.batch)
		fixed_say(cli->cx, &fixed, note_generic, cli);
}

/* Returns a specialization for what all signatures have in common. Null if there is only one signature or they have
 * nothing in common. */
static Specialization *
dynamic_one(Cli *cli, const Signatures *s, Function *fn, const Profile *profile)
{
	const Pattern **all = new(cli->cx->arena, const Pattern *, s->at.n + 1);
	const int n = graph_ninputs(fn->prepared) - function_first(fn), nstate = profile->state->at.n;
	Specialization *d;

	if (s->at.n < 2)
		return NULL;
	d = new(cli->cx->arena, Specialization, 1);
	*d = (Specialization){ .fn = fn, .dynamic = true,
			       .seen = new(cli->cx->arena, ValueProfile, profile->nvalue + 1),
			       .found = new(cli->cx->arena, Pattern, nstate + 1), .again = s->at.at[0]->again };
	memcpy(d->found, s->at.at[0]->found, (size_t)nstate * sizeof *d->found);
	for (int i = 0; i < s->at.n; i++) {
		all[i] = s->at.at[i]->pattern;
		state_settle(d->found, s->at.at[i]->found, nstate);
		profile_merge(profile, d->seen, s->at.at[i]->seen);
		d->count += s->at.at[i]->count;
	}
	d->pattern = pattern_merge(cli->cx, all, s->at.n, n);
	return pattern_is_open(d->pattern, n) ? NULL : d;
}

static void
say_nothing(RtCx *cx, const char *text, int64_t n)
{
	(void)cx, (void)text, (void)n;
}

/* Largest number of calls on one instance: the first, one on the state that it left, and one that shows what still
 * changes. */
enum { CALLS = 3 };

/* Inputs that the command line does not name: the arguments that an archive of torch.export contains, the empty input
 * of a method without parameters, or no input. */
enum { EXPORTED = -1, EMPTY = -2, NO_INPUT = -3 };

typedef struct Samples { Cli *cli; Model *model; RtCx *rt; RtArrays *in; bool are; } Samples;

static void
read_samples(Cx *cx, void *arg)
{
	Samples *s = arg;
	int n;
	const RtParam *params = model_params(s->cli, s->model, &n);
	IValue *args = new(cx->arena, IValue, n + 1);

	if (!exported_samples(s->model->module, s->model->fn, s->rt, s->in))
		return;
	if (rt_args_from_arrays(s->rt, params, n, s->in, args))
		fail(cx, (Range){ 0 }, "%s", s->rt->message ? s->rt->message :
		     "they do not fit the parameters of the method");
	for (int i = 0; i < n; i++)
		rt_release(args[i]);
	s->are = true;
}

/* Whether the archive has arguments to profile on. False, without an error, if they cannot be read. */
static bool
has_samples(Cli *cli, Model *m)
{
	RtArrays in = { 0 };
	Samples s = { cli, m, model_context(cli), &in, false };

	if (!cx_try(cli->cx, read_samples, &s))
		warning("the arguments of the export are not used as an input: %s", cli->cx->err.what);
	rt_arrays_free(&in);
	return s.are;
}

/* Returns the input to profile on if the command line has neither inputs nor profiles. Otherwise returns NO_INPUT. */
static int
own_input(Cli *cli, Model *m)
{
	if (input_count(cli) || cli->profiles.n)
		return NO_INPUT;
	if (has_samples(cli, m))
		return EXPORTED;
	return m->fn->schema->nargs == function_first(m->fn) ? EMPTY : NO_INPUT;
}

/* Reads input i of the command line, or one of EXPORTED and EMPTY. Returns a status. */
static int
read_input(Cli *cli, Model *m, RtCx *rt, int i, RtArrays *in)
{
	if (i == EMPTY)
		return RT_OK;
	return i == EXPORTED ? !exported_samples(m->module, m->fn, rt, in) : input_read(cli, rt, i, in);
}

/* Profiles one call. Reads its arguments anew, since the model may write to them. */
static Specialization
profile_call(Cli *cli, Model *m, Profile *profile, RtCx *rt, int i, IValue self)
{
	const bool has_self = m->fn->self != NULL;
	RtArrays *in = new(cli->cx->arena, RtArrays, 1);
	Specialization call = { .fn = m->fn, .count = 1,
				.seen = new(cli->cx->arena, ValueProfile, profile->nvalue + 1) };
	RtParam *params;
	IValue *args;
	int n;

	params = model_params(cli, m, &n);
	args = new(cli->cx->arena, IValue, n + 2);
	if (read_input(cli, m, rt, i, in) ||
	    rt_args_from_arrays(rt, params, n, in, args + has_self))
		fail_runtime(cli, rt);
	if (has_self)
		args[0] = self;
	call.pattern = pattern_of(cli->cx, args + has_self, n);
	call.found = state_patterns(profile->state, self);
	profile->also = call.seen;
	if (profile_run(profile, rt, args) == RT_LACKS)
		fail_runtime(cli, rt);
	return call;
}

/* Profiles calls on a fresh instance with a fresh random generator, until a call leaves the instance's state
 * unchanged. */
static void
profile_input(Cli *cli, Model *m, Profile *profile, Signatures *s, int i)
{
	const char *path = i == EXPORTED ? "the arguments of its export" : i == EMPTY ? "no arguments" :
			   input_name(cli, i);
	const int nstate = profile->state->at.n;
	const IValue self = m->fn->self ? module_fresh(cli->cx, m->module) : rt_none();
	RtCx *rt = model_context(cli);
	Specialization call[CALLS];
	const Pattern *left;
	int n = 0;

	progress("profiling on %s", path);
	/* The model's prints are not output of build or show. */
	rt->print = cli->verbose ? rt_print_aside : say_nothing;
	rt->steps = PROFILE_STEPS;
	if (!rt->deadline)
		rt->deadline = rt_now() + PROFILE_NS;
	do {
		call[n] = profile_call(cli, m, profile, rt, i, self);
		left = state_patterns(profile->state, self);
	} while (!patterns_equal(call[n++].found, left, nstate) && n < CALLS && !rt->status);
	if (rt->status && n == 1)
		warning("%s: the model raised on this input: %s", path, rt->message ? rt->message : "?");
	rt_clear_error(rt);
	for (int k = 2; k < n; k++)
		state_settle(call[1].found, call[k].found, nstate);
	if (n > 1) {
		state_settle(call[1].found, left, nstate);
		state_leave_out(call[0].found, call[1].found, nstate);
	}
	written_restore(profile->written);
	note_signature(cli, s, profile, &call[0]);
	for (int k = 1; k < n; k++) {
		call[k].found = call[1].found;
		call[k].again = true;
		/* A second call that found the same state repeats the first one. It does not count as another input. */
		call[k].count = k == 1 && !patterns_equal(call[0].found, call[1].found, nstate);
		note_signature(cli, s, profile, &call[k]);
	}
}

static int
by_count(const void *a, const void *b)
{
	const Specialization *x = *(Specialization *const *)a, *y = *(Specialization *const *)b;

	return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

typedef struct OneSpecialization {
	Cli *cli;
	Model *model;
	Profile *profile;
	Specialization *spec;
	bool optimize;
	Shapes *shapes;          /* null if they are not requested */
} OneSpecialization;

static void
specialize_one(Cx *cx, void *arg)
{
	OneSpecialization *o = arg;
	const Profile seen = profile_of(o->profile, o->spec);

	o->spec->graph = specialize(cx, o->model->fn, &seen, o->spec->pattern, o->shapes);
	if (o->cli->state)
		bare_bind(cx, o->cli->state, o->spec->graph, o->model->fn->self ? o->model->module->self : rt_none());
	if (o->optimize)
		passes_run(cx, STAGE_OPTIMIZE, o->model->fn, o->spec->graph, rt_none());
}

/* Keeps the specializations whose graphs can be made. Generic code serves the calls of the others. */
static int
specialize_all(Cli *cli, Model *m, Profile *profile, Specialization **s, int n, bool optimize)
{
	int made = 0;

	for (int i = 0; i < n; i++) {
		OneSpecialization one = { cli, m, profile, s[i], optimize, NULL };

		/* A specialization for varied sizes has only its samples, and no graph of its own. */
		if (s[i]->varied || cx_try(cli->cx, specialize_one, &one))
			s[made++] = s[i];
		else if (cli->cx->err.status != EXIT_LACKS)
			fail_status(cli->cx, cli->cx->err.status, (Range){ 0 }, "%s", cli->cx->err.what);
		else
			warning("no specialization: %s", cli->cx->err.what);
	}
	return made;
}

void
model_prepare(Cli *cli, Model *m)
{
	ops_compile_all(cli->cx, m->fn);
	prepare(cli->cx, m->fn, m->module->self);
	gradient_check_memory(cli->cx, m->fn, m->module->self);
	ops_compile_bodies(cli->cx, m->fn->prepared);
	model_lower(cli, m);
}

/* Merges a profile that was read from a file. */
static void
add_profile(Cli *cli, Profile *profile, Signatures *s, const char *path)
{
	Specialization **read;
	const int nread = profile_parse(profile, path, file_text(cli->cx, path), &read);

	for (int i = 0; i < nread; i++)
		note_signature(cli, s, profile, read[i]);
}

/* Returns the profiles that the options name, merged with those of runs on the inputs. Null if there are none. */
static Profile *
profile_all(Cli *cli, Model *m, Signatures *s)
{
	const int64_t start = rt_now();
	const int own = own_input(cli, m);
	Profile *profile;

	if (!input_count(cli) && !cli->profiles.n && own == NO_INPUT)
		return NULL;
	profile = profile_new(cli->cx, m->fn);
	if (own != NO_INPUT)
		profile_input(cli, m, profile, s, own);
	for (int i = 0; i < cli->profiles.n; i++)
		add_profile(cli, profile, s, cli->profiles.at[i]);
	for (int i = 0; i < input_count(cli); i++)
		profile_input(cli, m, profile, s, i);
	progress(NULL);
	say_time(cli, "profiling", start);
	if (s->at.n)
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

typedef struct DynamicOne {
	Model *model;
	Profile *profile;
	const Signatures *signatures;
	Specialization *dynamic;
	Cause  why;
} DynamicOne;

static void
samples_of(Cx *cx, void *arg)
{
	DynamicOne *o = arg;

	if (!samples_make(cx, o->dynamic, o->profile, o->signatures->at.at, o->signatures->at.n, &o->why))
		o->dynamic->sample = NULL;
}

/* Makes the samples of a dynamic specialization. Without samples, the runtime computes its tensors of dynamic sizes. */
static void
make_samples(Cli *cli, Model *m, Profile *profile, const Signatures *s, Specialization *d)
{
	Profile *seen = new(cli->cx->arena, Profile, 1);
	DynamicOne one = { m, seen, s, d, { .what = NULL } };

	*seen = profile_of(profile, d);
	d->bounded = input_is_bounds(cli) && !cli->profiles.n;
	if (!cx_try(cli->cx, samples_of, &one)) {
		d->sample = NULL;
		one.why = (Cause){ .at = cli->cx->err.at, .what = arena_strdup(cli->cx->arena, cli->cx->err.what) };
	}
	cli->undynamic = one.why;
	if (!d->sample && cli->verbose)
		fprintf(stderr, "kiln: %s: no kernels for dynamic sizes: %s\n", m->fn->name,
			cause_says(cli->cx, &one.why));
}

/* Whether these are the sizes of a profiled signature. */
static bool
is_profiled(const Signatures *s, const Pattern *p, int n)
{
	for (int i = 0; i < s->at.n; i++)
		if (patterns_are_alike(s->at.at[i]->pattern, p, n))
			return true;
	return false;
}

/* Makes an exact specialization from d, whose pattern contains no symbol. Null if these sizes were profiled, or if the
 * model raises at them. */
static Specialization *
exact_ones(Cli *cli, Model *m, Profile *profile, const Signatures *s, Specialization *d)
{
	const int n = graph_ninputs(m->fn->prepared) - function_first(m->fn);
	RolledLoops *none = new(cli->cx->arena, RolledLoops, 1);
	OneSpecialization one = { cli, m, profile, d, false, shapes_new(cli->cx, m->fn->name, none) };
	const Shapes *others = samples_shapes(d);

	*d = (Specialization){ .fn = m->fn, .pattern = pattern_at(cli->cx, d->pattern, n, NULL),
			       .seen = new(cli->cx->arena, ValueProfile, profile->nvalue + 1),
			       .found = d->found, .again = d->again };
	return !is_profiled(s, d->pattern, n) && cx_try(cli->cx, specialize_one, &one) &&
	       (!others || shapes_fail_within(others, one.shapes)) ? d : NULL;
}

enum { ONES_MOST = 4 };          /* largest number of patterns with sizes of 1 and 0 that get their own code */

/* Finds the distinct patterns of profiled signatures that have sizes of 1 or 0 where other signatures vary, the most
 * frequent first. Returns their number, at most ONES_MOST. */
static int
patterns_with_ones(Cli *cli, const Signatures *s, const Specialization *dynamic, int n, Pattern **out)
{
	int found = 0;

	for (int i = 0; i < s->at.n && found < ONES_MOST; i++) {
		Pattern *p = pattern_with_ones(cli->cx, dynamic->pattern, s->at.at[i]->pattern, n);
		bool again = !p;

		for (int k = 0; k < found && !again; k++)
			again = patterns_equal(out[k], p, n);
		if (!again)
			out[found++] = p;
	}
	return found;
}

/* Makes a specialization for sizes of 1 or 0, which no symbol includes. It has the pattern `profiled`. If that is null,
 * it has a batch of 1, because programs that were profiled with larger batches are called with it. Returns null if no
 * such specialization can be made. */
static Specialization *
with_ones(Cli *cli, Model *m, Profile *profile, const Signatures *s, const Specialization *dynamic,
	  Pattern *profiled)
{
	const int n = graph_ninputs(m->fn->prepared) - function_first(m->fn);
	Specialization *d = new(cli->cx->arena, Specialization, 1);

	*d = *dynamic;
	d->pattern = profiled;
	d->instead = NULL;
	if (!profiled && !dynamic->bounded)
		d->pattern = pattern_with_batch_of_one(cli->cx, dynamic->pattern, n);
	if (!d->pattern)
		return NULL;
	if (!pattern_nsymbol(d->pattern, n))
		return exact_ones(cli, m, profile, s, d);
	make_samples(cli, m, profile, s, d);
	return d->sample && (profiled || !samples_shapes(dynamic) ||
			     shapes_fail_within(samples_shapes(dynamic), samples_shapes(d))) ? d : NULL;
}

/* Returns the first specialization for sizes of 1 or 0. Null if there is none. */
static Specialization *
first_with_ones(Cli *cli, Model *m, Profile *profile, const Signatures *s, const Specialization *dynamic)
{
	Pattern *profiled[ONES_MOST] = { NULL };

	patterns_with_ones(cli, s, dynamic, graph_ninputs(m->fn->prepared) - function_first(m->fn), profiled);
	return with_ones(cli, m, profile, s, dynamic, profiled[0]);
}

typedef struct OneSize {
	Cli *cli;
	Model *model;
	Profile *profile;
	Signatures signatures;
	int tried;
	/* why the first specialization tried, which has the most symbols, has no samples; empty if it has samples */
	Cause lost;
} OneSize;

/* Returns a specialization that is dynamic in the sizes that `varied` allows. All calls have had one signature. Null if
 * no such specialization can be made. */
static Specialization *
vary_sizes(OneSize *o, Varied varied)
{
	Specialization *d;

	o->signatures.at.n = 1;
	add_varied(o->cli, o->model, o->profile, &o->signatures, varied);
	if (!(d = dynamic_one(o->cli, &o->signatures, o->model->fn, o->profile)))
		return NULL;
	d->varied = true;
	make_samples(o->cli, o->model, o->profile, &o->signatures, d);
	return d->sample ? d : NULL;
}

static const Specialization *vary_again(void *);

/* Returns the next dynamic specialization to try if the last one has no code. Null after the last one. */
static Specialization *
vary_next(OneSize *o)
{
	static const Varied in_turn[] = { { -1, false }, { -1, true }, { 0, false }, { 1, false }, { 2, false } };
	Specialization *d = NULL;

	while (!d && o->tried < (int)(sizeof in_turn / sizeof *in_turn))
		if (!(d = vary_sizes(o, in_turn[o->tried++])) && o->tried == 1)
			o->lost = o->cli->undynamic;
	if (d) {
		d->instead = vary_again;
		d->instead_of = o;
	}
	return d;
}

static const Specialization *
vary_again(void *o)
{
	return vary_next(o);
}

/* Returns the first dynamic specialization that can be made from the only signature. Adds the signature of varied sizes
 * to s. */
static Specialization *
vary(Cli *cli, Model *m, Profile *profile, Signatures *s)
{
	OneSize *o = new(cli->cx->arena, OneSize, 1);
	/* A copy, because later specializations are made after m has moved on to other methods. */
	Model *now = new(cli->cx->arena, Model, 1);
	Specialization *d;

	*now = *m;
	*o = (OneSize){ .cli = cli, .model = now, .profile = profile };
	vec_push(cli->cx->arena, &o->signatures.at, s->at.at[0]);
	d = vary_next(o);
	if (d && (o->lost.what || o->lost.at.src) && !o->lost.refused)
		note_generic(cli, arena_printf(cli->cx->arena, "calls without the sizes of %s run in generic code: %s",
					       specialization_signature(cli->cx, d),
					       cause_says(cli->cx, &o->lost)));
	*s = o->signatures;
	return d;
}

/* Returns the next specialization for sizes of 1 to try if the last one has no code. Tries the next varied sizes until
 * one has such a specialization. */
static const Specialization *
ones_again(void *arg)
{
	OneSize *o = arg;
	Specialization *d = vary_next(o), *ones = NULL;

	while (d && !(ones = first_with_ones(o->cli, o->model, o->profile, &o->signatures, d)))
		d = vary_next(o);
	if (!ones)
		return NULL;
	if (!ones->sample) {
		OneSpecialization one = { o->cli, o->model, o->profile, ones, true, NULL };

		return cx_try(o->cli->cx, specialize_one, &one) ? ones : NULL;
	}
	ones->instead = ones_again;
	ones->instead_of = o;
	return ones;
}

/* Lets the specialization for sizes of 1 try the same alternatives as d, from the first one. */
static void
add_instead(Cli *cli, Specialization *ones, const Specialization *d)
{
	OneSize *o;

	if (!ones->sample || !d->instead)
		return;
	o = new(cli->cx->arena, OneSize, 1);
	*o = *(const OneSize *)d->instead_of;
	ones->instead = ones_again;
	ones->instead_of = o;
}

/* Notes the int arguments that every call must pass with the profiled value. Ints are part of the signature. */
static void
note_numbers(Cli *cli, const Function *fn, const Pattern *p)
{
	const int first = function_first(fn);

	for (int i = first; i < graph_ninputs(fn->prepared); i++)
		if (p[i - first].form == PATTERN_VALUE && p[i - first].value.tag == RT_INT &&
		    !fn->schema->args[i].has_default)
			note_generic(cli, arena_printf(cli->cx->arena, "%s = %lld, other values run in generic code",
						       fn->schema->args[i].name, (long long)p[i - first].value.u.i));
}

typedef struct Choice {          /* The signatures that get a specialization. */
	Profile   *profile;
	int        most;         /* largest number of exact specializations for each kind of call (first or later) */
	bool       optimize;
	Signatures exact, dynamic;
} Choice;

/* Adds the specializations for sizes of 1 and 0 beside the dynamic one. */
static void
add_ones(Cli *cli, Model *m, Choice *c, const Signatures *s, const Specialization *dynamic)
{
	Pattern *profiled[ONES_MOST] = { NULL };
	const int n = patterns_with_ones(cli, s, dynamic, graph_ninputs(m->fn->prepared) - function_first(m->fn),
					 profiled);

	for (int i = 0; i == 0 || i < n; i++) {
		Specialization *ones;

		cli->undynamic = (Cause){ .what = NULL };
		if (!(ones = with_ones(cli, m, c->profile, s, dynamic, profiled[i]))) {
			note_undynamic(cli, "sizes of 1 or 0 run in generic code where others vary");
			continue;
		}
		add_instead(cli, ones, dynamic);
		vec_push(cli->cx->arena, &c->dynamic.at, ones);
	}
}

/* Chooses the specializations for one kind of call: for the most frequent signatures, for what all have in common, and
 * for sizes of 1. */
static void
choose_signatures(Cli *cli, Model *m, Choice *c, Signatures s)
{
	const bool one = s.at.n == 1;
	Specialization *d = NULL;

	for (int i = 0; i < s.at.n && i < c->most; i++)
		vec_push(cli->cx->arena, &c->exact.at, s.at.at[i]);
	if (s.at.n > c->most && c->optimize)
		note_generic(cli, arena_printf(cli->cx->arena, "%d of %d signatures ha%s code of %s own, calls with "
					       "others run in dynamic or generic code: --max-specializations %d",
					       c->most, s.at.n, c->most == 1 ? "s" : "ve",
					       c->most == 1 ? "its" : "their", s.at.n));
	if (cli->no_dynamic || cli->no_generic)
		return;
	cli->undynamic = (Cause){ .what = NULL };
	if (one && c->optimize)
		note_numbers(cli, m->fn, s.at.at[0]->pattern);
	if (one && c->optimize)
		d = vary(cli, m, c->profile, &s);
	else if ((d = dynamic_one(cli, &s, m->fn, c->profile)) && c->optimize)
		make_samples(cli, m, c->profile, &s, d);
	if (c->optimize && !(d && d->sample))
		note_undynamic(cli, one ? "sizes other than the input's run in generic code" :
				   "sizes other than the inputs' run without kernels of their own");
	if (!d)
		return;
	if (d->sample || !one)
		vec_push(cli->cx->arena, &c->dynamic.at, d);
	if (c->optimize)
		add_ones(cli, m, c, &s, d);
}

Specialized
model_specialize(Cli *cli, Model *m, int most, bool optimize)
{
	Choice c = { .most = most, .optimize = optimize };
	Signatures all = { 0 };

	if (!most)
		return (Specialized){ 0 };
	if (!(c.profile = profile_all(cli, m, &all)))
		return (Specialized){ .without_input = true };
	for (int again = 0; again < 2; again++)
		choose_signatures(cli, m, &c, signatures_of(cli, &all, again));
	for (int i = 0; i < c.dynamic.at.n; i++)
		vec_push(cli->cx->arena, &c.exact.at, c.dynamic.at.at[i]);
	return (Specialized){ c.exact.at.at, specialize_all(cli, m, c.profile, c.exact.at.at, c.exact.at.n, optimize),
			      false };
}
