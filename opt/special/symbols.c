/*
 * Finds symbols for a function that was profiled with one signature only.
 *
 * Each size of a contiguous argument is a symbol if the function takes the same path at another size.  The specializer
 * tries this, without running the model.  Sizes that cannot change alone may change together with others that were
 * equal: an addition of (4, 10) and (4, 10) has (s0, s1), (s0, s1).  A size of 1 broadcasts and is tried at two larger
 * sizes.  Sizes of 1 on axis 0 are a batch and change together.  If possible, the batch of sequences, (steps, batch,
 * features), changes with them.  Only one symbol stands for sizes of 1, since calls seldom change two.  The sizes found
 * make a second signature, as if the function had been called with it.
 */
#include "samples.h"

#include <string.h>

enum { PAIRS = 8, TOGETHER = 4, MOST_NODES = 10000 };    /* trials and samples of larger graphs take gigabytes */

typedef struct Dim {
	int64_t size;
	int  axis, rank;
	Cause why;                       /* reason why it is no symbol, from the last trial */
	bool is_second;                  /* whether it is the batch of a sequence, (steps, batch, features) */
	bool is_settled, is_symbol;
	const char *name;
} Dim;

typedef struct Search {
	Samples samples;
	Dim dim[SIZE_ATOMS];
	int ndim, nsymbol;
	bool batch;                      /* whether only the first dims of tensors are tried */
	/* Index of a symbol that is left out, so that its sizes stay, and number of symbols found so far. */
	int without, nfound;
	bool varies_one;                 /* whether a symbol stands for a size of 1 */
	FixedSizes *fixed;               /* sizes that keep their profiled values */
	const Shapes *profiled;          /* shapes function at the profiled sizes */
	/* Two assignments of sizes on which the function takes the same path.  Dims that are not symbols are equal in
	 * both. */
	int64_t base[SIZE_ATOMS], varied[SIZE_ATOMS];
} Search;

typedef struct Group { int at[SIZE_ATOMS], n; } Group;   /* dims that change together */

/* ---- a symbol for each size -------------------------------------------------------------------------------------- */

static bool
is_contiguous(const TensorInfo *t)
{
	int64_t strides[RT_MAX_RANK];

	rt_contiguous_strides(t->rank, t->dims, strides);
	for (int k = 0; k < t->rank; k++)
		if (t->strides[k] != strides[k] && t->dims[k] != 1)
			return false;
	return true;
}

/* Records that a size of an argument stays fixed, without a trial. */
static void
keep_size(Search *q, const TensorInfo *t, int axis, const char *name, const char *why)
{
	vec_push(q->samples.cx->arena, q->fixed,
		 ((FixedSize){ name, axis, t->rank, t->dims[axis], { .what = why } }));
}

static const Type *
open_tensor(Search *q, const Type *type, const char *name)
{
	TensorInfo t = *type->tensor;
	int64_t *dims = new(q->samples.cx->arena, int64_t, t.rank + 1);
	const char *why = !is_contiguous(&t) ? arena_printf(q->samples.cx->arena, "%s is not contiguous", name) :
			  q->ndim + t.rank > SIZE_ATOMS ? "the arguments have too many sizes to try all" : NULL;

	if (why) {
		for (int k = 0; k < t.rank; k++)
			keep_size(q, &t, k, name, why);
		return type;
	}
	if (!t.rank)
		return type;
	for (int k = 0; k < t.rank; k++) {
		dims[k] = t.dims[k];
		if (!t.dims[k])
			keep_size(q, &t, k, name, "the size is 0");
		if (!t.dims[k] || (q->batch && k))
			continue;
		dims[k] = DIM_SYMBOL(q->ndim);
		q->base[q->ndim] = q->varied[q->ndim] = t.dims[k];
		q->dim[q->ndim++] = (Dim){ .size = t.dims[k], .axis = k, .rank = t.rank, .name = name,
					   .is_second = k == 1 && t.rank == 3 && t.dims[0] > 1 };
	}
	t.dims = dims;
	t.strides = NULL;
	return type_tensor(q->samples.cx, &t);
}

static Pattern *
open_patterns(Search *q, const Pattern *p, int n, const Arg *args, const char *in)
{
	Pattern *out = new(q->samples.cx->arena, Pattern, n + 1);

	for (int i = 0; i < n; i++) {
		const char *name = args ? args[i].name : arena_printf(q->samples.cx->arena, "%s[%d]", in, i);

		out[i] = p[i];
		if (p[i].form == PATTERN_TENSOR)
			out[i].type = open_tensor(q, p[i].type, name);
		else if (p[i].n)
			out[i].part = open_patterns(q, p[i].part, p[i].n, NULL, name);
	}
	return out;
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

/* Returns the k-th prime above n, counted from 0. */
static int64_t
prime_above(int64_t n, int k)
{
	for (n++;; n++) {
		bool prime = n > 1;

		for (int64_t i = 2; i * i <= n && prime; i++)
			prime = n % i != 0;
		if (prime && !k--)
			return n;
	}
}

/* Does the function take the same path on these two assignments, and raise only where it raises at the profiled
 * sizes? */
static bool
may_begin(Search *q, const int64_t *base, const int64_t *varied)
{
	if (!samples_may_try(&q->samples)) {
		q->samples.why = (Cause){ .what = "the model is too large to try more sizes" };
		return false;
	}
	if (!samples_begin(&q->samples, base, varied))
		return false;
	if (shapes_fail_within(q->profiled, q->samples.shapes[0]))
		return true;
	q->samples.why = shapes_differ(q->profiled, q->samples.shapes[0]);
	return false;
}

static void
note_cause(Search *q, const Group *g)
{
	for (int i = 0; i < g->n; i++)
		q->dim[g->at[i]].why = q->samples.why;
}

/* Tries whether the dims of a group may have the sizes `from` and `to`.  `from` is the profiled size, or for dims of
 * size 1 a larger one. */
static bool
try_sizes(Search *q, const Group *g, int64_t from, int64_t to)
{
	int64_t base[SIZE_ATOMS], varied[SIZE_ATOMS];

	memcpy(base, q->base, sizeof base);
	memcpy(varied, q->varied, sizeof varied);
	for (int i = 0; i < g->n; i++) {
		base[g->at[i]] = from;
		varied[g->at[i]] = to;
	}
	if (!may_begin(q, base, varied)) {
		note_cause(q, g);
		return false;
	}
	for (int i = 0; i < g->n; i++)
		q->dim[g->at[i]].is_settled = true;
	if (q->nfound++ == q->without)
		return true;
	memcpy(q->base, base, sizeof base);
	memcpy(q->varied, varied, sizeof varied);
	for (int i = 0; i < g->n; i++)
		q->dim[g->at[i]].is_symbol = true;
	q->varies_one |= q->dim[g->at[0]].size == 1;
	q->nsymbol++;
	return true;
}

/* Does the function take the same path at double or half the size of a group, with other sizes unchanged?  If not, a
 * symbol would cover a few sizes only.  An example is a side of an image that is cut into a fixed number of patches. */
static bool
may_be_far(Search *q, const Group *g, int64_t size)
{
	int64_t far[SIZE_ATOMS];

	for (int half = 0; half < 2; half++) {
		const int64_t to = half ? size / 2 : 2 * size;

		memcpy(far, q->base, sizeof far);
		for (int i = 0; i < g->n; i++)
			far[g->at[i]] = to;
		if (to > 1 && samples_may_try(&q->samples) && samples_begin(&q->samples, q->base, far))
			return true;
	}
	note_cause(q, g);
	return false;
}

/* Makes one symbol of a group of equal sizes, if the function allows it.  No two symbols change to the same size, so
 * that they can be told apart.  Since a size may have to be a multiple of some number, multiples of the size are tried,
 * too. */
static bool
try_group(Search *q, const Group *g)
{
	const int64_t size = q->dim[g->at[0]].size;
	const int rolled = q->samples.rolled.n;

	if (size == 1 && q->varies_one)
		return false;
	q->samples.why = (Cause){ .what = "too many sizes vary" };
	if (q->nsymbol == SYMBOLS_MOST)
		note_cause(q, g);
	if (q->nsymbol < SYMBOLS_MOST &&
	    (size == 1 ? try_sizes(q, g, prime_above(4, 2 * q->nsymbol), prime_above(4, 2 * q->nsymbol + 1))
		       : may_be_far(q, g, size) && (try_sizes(q, g, size, prime_above(size, q->nsymbol)) ||
						    try_sizes(q, g, size, size * (q->nsymbol + 2)))))
		return true;
	q->samples.rolled.n = rolled;
	return false;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

/* Returns the dims of this size on this axis that are not settled yet.  Axis -1 stands for all axes. */
static Group
group_of(const Search *q, int64_t size, int axis)
{
	Group g = { .n = 0 };

	for (int i = 0; i < q->ndim; i++)
		if (!q->dim[i].is_settled && q->dim[i].size == size && (axis < 0 || q->dim[i].axis == axis))
			g.at[g.n++] = i;
	return g;
}

static void
try_pairs(Search *q, const Group *g)
{
	for (int i = 0; i < g->n && g->n <= PAIRS; i++)
		for (int k = i + 1; k < g->n && !q->dim[g->at[i]].is_settled; k++)
			if (!q->dim[g->at[k]].is_settled)
				try_group(q, &(Group){ { g->at[i], g->at[k] }, 2 });
}

/* Tries a dim alone.  If at least TOGETHER dims have its size, as in a decoder's caches, tries all of them together
 * first. */
static void
try_alone(Search *q, int i)
{
	const Group alike = group_of(q, q->dim[i].size, q->dim[i].axis);

	if (q->dim[i].is_settled || (alike.n >= TOGETHER && (alike.at[0] != i || try_group(q, &alike))))
		return;
	try_group(q, &(Group){ { i }, 1 });
}

static void
try_together(Search *q, int i)
{
	Group g = group_of(q, q->dim[i].size, q->dim[i].axis);

	if (q->dim[i].is_settled || g.at[0] != i || (g.n > 1 && try_group(q, &g)))
		return;
	g = group_of(q, q->dim[i].size, -1);
	if (g.at[0] != i || g.n < 2)
		return;
	try_pairs(q, &g);
	g = group_of(q, q->dim[i].size, -1);
	if (g.n > 2)
		try_group(q, &g);
}

/* Does the function take the same path if the group changes together with dim `as`, which is a symbol?  If so, the
 * group joins this symbol. */
static bool
try_join_symbol(Search *q, const Group *g, int as)
{
	int64_t base[SIZE_ATOMS], varied[SIZE_ATOMS];

	memcpy(base, q->base, sizeof base);
	for (int i = 0; i < g->n; i++)
		base[g->at[i]] = base[as];
	memcpy(varied, base, sizeof varied);
	for (int i = 0; i < q->ndim; i++)                /* no two symbols change to the same size */
		if (q->varied[i] == q->varied[as] && q->dim[i].is_symbol)
			varied[i] = q->varied[as];
	for (int i = 0; i < g->n; i++)
		varied[g->at[i]] = q->varied[as];
	if (!may_begin(q, base, varied))
		return false;
	for (int i = 0; i < g->n; i++) {
		q->dim[g->at[i]].is_settled = q->dim[g->at[i]].is_symbol = true;
		q->base[g->at[i]] = q->base[as];
		q->varied[g->at[i]] = q->varied[as];
	}
	return true;
}

/* Tries to let a dim join a symbol of the same size.  A size that can only shrink alone may change together with one
 * that can grow.  An example is a batch that cannot exceed the rows of a mask. */
static void
try_join(Search *q, int i)
{
	const Group alike = group_of(q, q->dim[i].size, q->dim[i].axis);

	for (int k = 0; k < q->ndim && !q->dim[i].is_settled; k++)
		if (q->dim[k].is_symbol && q->dim[k].size == q->dim[i].size && q->dim[k].axis == q->dim[i].axis &&
		    !try_join_symbol(q, &(Group){ { i }, 1 }, k) && alike.n > 1)
			try_join_symbol(q, &alike, k);
}

/* Tries the batch of 1 on axis 0.  First tries it together with the batch of sequences: a recurrent cell has the first
 * in its states and the second in its steps. */
static void
try_batch(Search *q)
{
	const Group batch = group_of(q, 1, 0);
	Group all = batch;

	for (int i = 0; i < q->ndim; i++)
		if (q->dim[i].is_second && q->dim[i].size == 1)
			all.at[all.n++] = i;
	if (batch.n && !(all.n > batch.n && try_group(q, &all)))
		try_group(q, &batch);
}

/* Tries a size of 1 that stays fixed because another one is a symbol.  The result only decides which note explains
 * it. */
static void
explain_one(Search *q, int i)
{
	int64_t base[SIZE_ATOMS], varied[SIZE_ATOMS];

	memcpy(base, q->base, sizeof base);
	memcpy(varied, q->varied, sizeof varied);
	base[i] = prime_above(4, 2 * q->nsymbol);
	varied[i] = prime_above(4, 2 * q->nsymbol + 1);
	q->dim[i].why = !may_begin(q, base, varied) ? q->samples.why : (Cause){ .what =
			"only one of several sizes of 1 can vary; give an input where this one is larger" };
}

static void
search(Search *q)
{
	if (!samples_begin(&q->samples, q->base, q->base)) {
		for (int i = 0; i < q->ndim; i++)
			q->dim[i].why = q->samples.why;
		return;
	}
	q->profiled = q->samples.shapes[0];
	try_batch(q);
	for (int i = 0; i < q->ndim; i++)
		try_alone(q, i);
	for (int i = 0; i < q->ndim; i++)
		try_together(q, i);
	for (int i = 0; i < q->ndim; i++)
		try_join(q, i);
	for (int i = 0; i < q->ndim && !q->batch && q->without < 0; i++)
		if (q->dim[i].size == 1 && q->varies_one && !q->dim[i].is_settled)
			explain_one(q, i);
}

Pattern *
signature_varied(Cx *cx, Function *fn, const Profile *profile, const Pattern *signature, Varied varied,
		 FixedSizes *fixed)
{
	Search *q = new(cx->arena, Search, 1);
	Specialization *d = new(cx->arena, Specialization, 1);
	Profile *nothing = new(cx->arena, Profile, 1);
	const int first = function_first(fn), narg = graph_ninputs(fn->prepared) - first;

	if (block_size(fn->prepared->top) > MOST_NODES) {
		fixed->all.what = arena_printf(cx->arena, "the model has %d nodes, and other sizes are tried in up to "
					       "%d", block_size(fn->prepared->top), MOST_NODES);
		return NULL;
	}
	/* The runs had one size each, so they show nothing about values that depend on data at other sizes. */
	*nothing = *profile;
	nothing->nvalue = 0;
	q->fixed = fixed;
	q->batch = varied.batch;
	q->without = varied.without;
	q->samples = (Samples){ .cx = cx, .d = d, .profile = nothing, .narg = narg, .begun = -1,
			  .left = TRIAL_NODES };
	*d = (Specialization){ .fn = fn, .pattern = open_patterns(q, signature, narg, fn->schema->args + first, NULL) };
	search(q);
	for (int i = 0; i < q->ndim; i++) {
		const Dim *dim = &q->dim[i];

		if (!dim->is_symbol)
			vec_push(cx->arena, fixed,
				 ((FixedSize){ dim->name, dim->axis, dim->rank, dim->size, dim->why }));
	}
	return q->nsymbol && q->nfound > q->without ? pattern_at(cx, d->pattern, narg, q->varied) : NULL;
}
