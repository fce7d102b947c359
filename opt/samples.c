/*
 * A dynamic specialization from samples: the function specialized for several values of the symbols.
 *
 * The first samples are profiled ones.  Others are chosen: for each symbol a small and a large value, as far apart as the
 * model goes the same way (shapes_agree), and one between.  A loop that runs as often as a symbol says is not unrolled.
 * Each sample is a specialization like any other; what differs between them are numbers.  The range of a symbol is what
 * the samples span: codegen's forms may depend on a size, and have been seen to agree at both ends.
 */
#include "opt.h"

#include <string.h>

typedef struct Samples {
	Cx *cx;
	Specialization *d;
	const Profile *profile;
	int first, narg, nsymbol;
	RolledLoops rolled;
	int64_t value[SIZE_SAMPLES][SIZE_ATOMS];
	int64_t least[SIZE_ATOMS], most[SIZE_ATOMS];     /* of the profiled ones */
	Shapes *shapes[SIZE_SAMPLES];
	int n;
} Samples;

/* ---- patterns with numbers for symbols ------------------------------------------------------------------------------ */

/* What a signature has where the merged one has symbols, 0 where that is no size that a symbol stands for; false when it
 * cannot be a sample. */
static bool
values_of(const Pattern *merged, const Pattern *one, int n, int64_t *value)
{
	for (int i = 0; i < n; i++) {
		const TensorInfo *m = merged[i].form == PATTERN_TENSOR ? merged[i].type->tensor : NULL;
		const TensorInfo *t = m ? one[i].type->tensor : NULL;
		int64_t strides[RT_MAX_RANK];

		if (merged[i].form != PATTERN_ANY && !values_of(merged[i].part, one[i].part, merged[i].n, value))
			return false;
		if (!m || m->strides || !m->rank)
			continue;
		rt_contiguous_strides(t->rank, t->dims, strides);
		for (int k = 0; k < t->rank; k++) {
			if (t->strides[k] != strides[k] && t->dims[k] != 1)
				return false;
			if (DIM_IS_SYMBOL(m->dims[k]) && t->dims[k] > 1)
				value[DIM_INDEX(m->dims[k])] = t->dims[k];
		}
	}
	return true;
}

static void
substitute(Cx *cx, const Pattern *merged, int n, const int64_t *value, Pattern *out)
{
	for (int i = 0; i < n; i++) {
		out[i] = merged[i];
		if (merged[i].n) {
			out[i].part = new(cx->arena, Pattern, merged[i].n + 1);
			substitute(cx, merged[i].part, merged[i].n, value, out[i].part);
		}
		if (merged[i].form == PATTERN_TENSOR && !merged[i].type->tensor->strides && merged[i].type->tensor->rank) {
			TensorInfo t = *merged[i].type->tensor;
			int64_t *dims = new(cx->arena, int64_t, 2 * t.rank);

			for (int k = 0; k < t.rank; k++)
				dims[k] = DIM_IS_SYMBOL(t.dims[k]) ? value[DIM_INDEX(t.dims[k])] : t.dims[k];
			rt_contiguous_strides(t.rank, dims, dims + t.rank);
			t.dims = dims;
			t.strides = dims + t.rank;
			out[i].type = type_tensor(cx, &t);
		}
	}
}

/* ---- trials ------------------------------------------------------------------------------------------------------------- */

typedef struct Trial {
	Samples *s;
	const int64_t *value;
	Shapes *shapes;
	Specialization *spec;
} Trial;

static void
run_trial(Cx *cx, void *arg)
{
	Trial *t = arg;
	Samples *s = t->s;
	Function *fn = s->d->fn;

	*t->spec = (Specialization){ .fn = fn, .seen = s->d->seen };
	t->spec->pattern = new(cx->arena, Pattern, s->narg + 1);
	substitute(cx, s->d->pattern, s->narg, t->value, t->spec->pattern);
	t->shapes = shapes_new(cx, fn->name, &s->rolled);
	t->spec->graph = specialize(cx, fn, s->profile, t->spec->pattern, s->first, t->shapes);
}

static Shapes *
try_values(Samples *s, const int64_t *value, Specialization *spec)
{
	Trial t = { .s = s, .value = value, .spec = spec };

	return cx_try(s->cx, run_trial, &t) ? t.shapes : NULL;
}

static bool
is_sampled(const Samples *s, const int64_t *value)
{
	for (int i = 0; i < s->n; i++)
		if (!memcmp(s->value[i], value, (size_t)s->nsymbol * sizeof *value))
			return true;
	return false;
}

/* Adds a sample when the model goes the same way on it as on the first. */
static bool
add_sample(Samples *s, const int64_t *value)
{
	Specialization unused;
	Shapes *shapes;

	if (s->n == SIZE_SAMPLES || is_sampled(s, value))
		return false;
	if (!(shapes = try_values(s, value, &unused)) || (s->n && !shapes_agree(s->shapes[0], shapes)))
		return false;
	memcpy(s->value[s->n], value, (size_t)s->nsymbol * sizeof *value);
	s->shapes[s->n++] = shapes;
	return true;
}

/* Finds the loops that are to stay loops, on two samples; false: the model does not go the same way on them. */
static bool
begin(Samples *s, const int64_t *a, const int64_t *b)
{
	Specialization unused;

	for (int tries = 0; tries < 16; tries++) {
		s->shapes[0] = try_values(s, a, &unused);
		s->shapes[1] = try_values(s, b, &unused);
		if (!s->shapes[0] || !s->shapes[1])
			return false;
		if (!shapes_roll(s->shapes[0], s->shapes[1], &s->rolled)) {
			memcpy(s->value[0], a, sizeof s->value[0]);
			memcpy(s->value[1], b, sizeof s->value[1]);
			s->n = 2;
			return shapes_agree(s->shapes[0], s->shapes[1]);
		}
	}
	return false;
}

/* ---- values ------------------------------------------------------------------------------------------------------------- */

static int64_t
prime_from(int64_t n)
{
	for (;; n++) {
		bool prime = n > 1;

		for (int64_t i = 2; i * i <= n && prime; i++)
			prime = n % i != 0;
		if (prime)
			return n;
	}
}

/* The same where it is less than `most`, else a number between. */
static int64_t
prime_within(int64_t n, int64_t most)
{
	const int64_t prime = prime_from(n);

	return prime < most ? prime : n < most ? n : most / 2 + 1;
}

static bool
goes(Samples *s, int symbol, int64_t to)
{
	int64_t value[SIZE_ATOMS];
	Specialization unused;
	Shapes *shapes;

	memcpy(value, s->value[0], sizeof value);
	if (value[symbol] == to)
		return true;
	value[symbol] = to;
	return (shapes = try_values(s, value, &unused)) && shapes_agree(s->shapes[0], shapes);
}

/* The largest, or least, value that is tried and goes; `own`: the profiled one. */
static int64_t
extreme(Samples *s, int symbol, int64_t own, bool large)
{
	const int64_t far[] = { prime_from(16 * own + 16 * symbol), prime_from(8 * own + 16 * symbol), prime_from(4 * own + 16 * symbol), 4 * own,
				prime_from(2 * own + 8 * symbol), 2 * own, prime_from(own + own / 2 + symbol), own + own / 2, own + 1 };
	const int64_t near[] = { 2, prime_from(3 + 2 * symbol), prime_from(own / 8 + symbol), own / 4, prime_from(own / 4 + symbol), own / 2,
				 prime_from(own / 2 + symbol), own - own / 4, own - 1 };

	if (large && s->d->bounded)
		return own;
	for (size_t i = 0; i < (large ? sizeof far / sizeof *far : sizeof near / sizeof *near); i++) {
		const int64_t to = large ? far[i] : near[i];

		if ((large ? to > own : to < own && to > 1) && goes(s, symbol, to))
			return to;
	}
	return own;
}

/* At least three different values, so that a line through them says something. */
static bool
symbol_is_sampled(const Samples *s, int symbol)
{
	int different = 0;

	for (int i = 0; i < s->n; i++) {
		bool again = false;

		for (int k = 0; k < i; k++)
			again |= s->value[k][symbol] == s->value[i][symbol];
		different += !again;
	}
	return different >= 3;
}

/* What goes for each symbol alone may not go for all together: then it comes nearer to the profiled ones. */
static void
add_end(Samples *s, int64_t *end, const int64_t *own)
{
	for (int tries = 0; tries < 6 && !is_sampled(s, end) && !add_sample(s, end); tries++)
		for (int i = 0; i < s->nsymbol; i++) {
			const int64_t nearer = end[i] < own[i] ? prime_from((end[i] + own[i]) / 2) : (end[i] + own[i]) / 2;

			end[i] = (nearer < own[i]) == (end[i] < own[i]) ? nearer : own[i];
		}
}

static void
choose(Samples *s)
{
	int64_t low[SIZE_ATOMS] = { 0 }, high[SIZE_ATOMS] = { 0 }, between[SIZE_ATOMS] = { 0 };

	for (int i = 0; i < s->nsymbol; i++) {
		low[i] = extreme(s, i, s->least[i], false);
		high[i] = extreme(s, i, s->most[i], true);
	}
	add_end(s, low, s->least);
	add_end(s, high, s->most);
	for (int i = 0; i < s->nsymbol; i++)
		between[i] = prime_within((s->least[i] + high[i]) / 2 + 2 * i, high[i]);
	add_sample(s, between);
	for (int i = 0; i < s->nsymbol; i++)
		between[i] = prime_within((s->least[i] + s->most[i]) / 2 + 2 * i, high[i]);
	add_sample(s, between);
}

static void
set_ranges(const Samples *s, Sizes *z)
{
	for (int i = 0; i < s->nsymbol; i++) {
		z->range[i][0] = z->range[i][1] = s->value[0][i];
		for (int k = 0; k < s->n; k++) {
			const int64_t v = s->value[k][i];

			z->atom[i][k] = v;
			z->range[i][0] = v < z->range[i][0] ? v : z->range[i][0];
			z->range[i][1] = v > z->range[i][1] ? v : z->range[i][1];
		}
	}
}

/* ---- the whole ------------------------------------------------------------------------------------------------------------ */

/* Two profiled samples to begin with; of one alone the other is near it. */
static bool
take_profiled(Samples *s, Specialization *const *signature, int n)
{
	int64_t value[SIZE_SAMPLES][SIZE_ATOMS] = { { 0 } };
	int have = 0, other = 1;

	for (int i = 0; i < n && have < SIZE_SAMPLES; i++)
		if (values_of(s->d->pattern, signature[i]->pattern, s->narg, value[have]))
			have++;
		else
			memset(value[have], 0, sizeof value[have]);
	for (int i = 0; i < s->nsymbol; i++)
		for (int k = 0; k < have; k++) {
			s->most[i] = value[k][i] > s->most[i] ? value[k][i] : s->most[i];
			s->least[i] = value[k][i] && (!s->least[i] || value[k][i] < s->least[i]) ? value[k][i] : s->least[i];
		}
	for (int i = 0; i < s->nsymbol; i++) {
		if (s->most[i] < 2)
			return false;
		for (int k = 0; k < have; k++)
			value[k][i] = value[k][i] ? value[k][i] : s->most[i];
	}
	while (other < have && !memcmp(value[0], value[other], sizeof value[0]))
		other++;
	for (int i = 0; i < s->nsymbol && other >= have; i++)
		value[SIZE_SAMPLES - 1][i] = value[0][i] > 4 ? value[0][i] - 1 : value[0][i] + 1;
	return begin(s, value[0], value[other < have ? other : SIZE_SAMPLES - 1]);
}

/* The profile without values that calls of one signature alone have seen: their sizes say nothing of other calls'. */
static Profile *
seen_by_several(Cx *cx, const Profile *profile, Specialization *const *signature, int n)
{
	Profile *p = new(cx->arena, Profile, 1);

	*p = *profile;
	p->value = new(cx->arena, ValueProfile, p->nvalue);
	for (int i = 0; i < p->nvalue; i++) {
		int by = 0;

		for (int k = 0; k < n; k++)
			by += signature[k]->seen && signature[k]->seen[i].count > 0;
		if (by > 1)
			p->value[i] = profile->value[i];
	}
	return p;
}

static Function *
shapes_function(Cx *cx, const Specialization *d, Shapes *shapes)
{
	Function *f = new(cx->arena, Function, 1);

	f->name = d->fn->name;
	f->schema = d->fn->schema;
	f->graph = f->prepared = shapes_graph(shapes);
	code_lower(cx, f, NULL);
	return f;
}

bool
samples_make(Cx *cx, Specialization *d, const Profile *profile, Specialization *const *signature, int n, int first, bool optimize)
{
	Samples *s = new(cx->arena, Samples, 1);
	Sizes *z = new(cx->arena, Sizes, 1);

	*s = (Samples){ .cx = cx, .d = d, .profile = seen_by_several(cx, profile, signature, n), .first = first, .narg = graph_ninputs(d->fn->prepared) - first };
	s->nsymbol = z->nsymbol = z->natom = pattern_nsymbol(d->pattern, s->narg);
	if (!s->nsymbol || s->nsymbol > SIZE_ATOMS / 4 || !take_profiled(s, signature, n))
		return false;
	choose(s);
	for (int i = 0; i < s->nsymbol; i++)
		if (!symbol_is_sampled(s, i))
			return false;
	z->nsample = s->n;
	set_ranges(s, z);
	d->sample = new(cx->arena, Specialization, s->n);
	for (int i = 0; i < s->n; i++) {
		if (!(s->shapes[i] = try_values(s, s->value[i], &d->sample[i])))
			return false;
		if (optimize)
			passes_run(cx, STAGE_OPTIMIZE, d->fn, d->sample[i].graph, rt_none());
	}
	if (!sizes_learn(cx, z, (const Shapes *const *)s->shapes))
		return false;
	d->sizes = z;
	d->samples = s;
	d->shapes = shapes_function(cx, d, s->shapes[0]);
	d->graph = d->sample[0].graph;
	return true;
}

/* The sample that is least in all symbols together, of those that were not profiled; 0: none. */
static int
least_sample(const Samples *s)
{
	double least = 1;
	int at = 0;

	for (int k = 2; k < s->n; k++) {
		double size = 1;

		for (int i = 0; i < s->nsymbol; i++)
			size *= (double)s->value[k][i] / (double)s->least[i];
		if (size < least) {
			least = size;
			at = k;
		}
	}
	return at;
}

bool
samples_narrow(Cx *cx, Specialization *d)
{
	Samples *s = new(cx->arena, Samples, 1);
	Specialization *left = new(cx->arena, Specialization, d->samples->n);
	Sizes *z = new(cx->arena, Sizes, 1);
	const int gone = least_sample(d->samples);

	*s = *d->samples;
	if (!gone)
		return false;
	s->n = 0;
	for (int k = 0; k < d->samples->n; k++)
		if (k != gone) {
			left[s->n] = d->sample[k];
			s->shapes[s->n] = d->samples->shapes[k];
			memcpy(s->value[s->n++], d->samples->value[k], sizeof s->value[0]);
		}
	for (int i = 0; i < s->nsymbol; i++)
		if (!symbol_is_sampled(s, i))
			return false;
	z->nsymbol = z->natom = s->nsymbol;
	z->nsample = s->n;
	set_ranges(s, z);
	if (!sizes_learn(cx, z, (const Shapes *const *)s->shapes))
		return false;
	d->sample = left;
	d->sizes = z;
	d->samples = s;
	return true;
}
