/*
 * Dynamic sizes: computes the sizes and the arena layout of a dynamic specialization from its symbols.
 *
 * The kernels of the specialization have sizes s[0], s[1] ... as arguments. They rely on facts that held for all
 * samples of the symbols when it was compiled: which sizes are constant, which are products of others, which tensors
 * share memory. If rules of the operators prove these facts, a function of the program computes the sizes and tests
 * what the proof relies on. Otherwise, for new values of the symbols, the model's operators run once on tensors without
 * data (cx->meta), in the order in which the compiler ran them. Each number that they compute is compared with its
 * expected value. A number that is not a product of others defines the next s. Then each buffer gets an offset in the
 * arena, largest first, as in the compiler. The outcome is cached by the symbols' values, also if the specialization
 * does not accept them.
 */
#include "base.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


/* ---- a value as numbers ------------------------------------------------------------------------------------------ */

enum { FORM_ROWS, FORM_CHANNELS_LAST, FORM_OTHER };

static int
layout_of(const RtTensor *t)
{
	int64_t strides[RT_MAX_RANK];

	rt_contiguous_strides(t->ndim, t->dims, strides);
	if (!t->offset && !memcmp(strides, t->strides, (size_t)t->ndim * sizeof *strides))
		return FORM_ROWS;
	if (t->ndim != 4 || t->offset)
		return FORM_OTHER;
	rt_channels_last_strides(t->ndim, t->dims, strides);
	return memcmp(strides, t->strides, (size_t)t->ndim * sizeof *strides) ? FORM_OTHER : FORM_CHANNELS_LAST;
}

/* Returns a pointer to 1 + the index of the last tensor in the storage's bucket. */
static int *
bucket_of(RtSeen *s, const RtStorage *storage)
{
	return &s->at[hash_address(storage) & (uint32_t)(s->cap - 1)].newest;
}

static void
chain(RtSeen *s, int i)
{
	int *newest = bucket_of(s, s->at[i].storage);

	s->at[i].before = *newest;
	*newest = i + 1;
}

/* Doubles the capacity.  False: out of memory. */
static bool
seen_grow(RtSeen *s)
{
	const int cap = s->cap ? 2 * s->cap : RT_LIMIT_SIZES_SEEN;
	RtSeenStorage *more = rt_mem_more(s->at, (int64_t)sizeof *more * cap);

	if (!more)
		return false;
	s->at = more;
	s->cap = cap;
	for (int i = 0; i < cap; i++)
		s->at[i].newest = 0;
	for (int i = 0; i < s->n; i++)
		chain(s, i);
	return true;
}

/* Returns the distance in tensors to the last one with this storage. 0 if the storage is new. -1 if memory is
 * exhausted. */
static int
storage_age(RtSeen *s, RtStorage *storage)
{
	int at;

	if (s->n == s->cap && !seen_grow(s))
		return -1;
	for (at = *bucket_of(s, storage); at && s->at[at - 1].storage != storage; at = s->at[at - 1].before)
		;
	rt_retain(rt_ref(RT_STORAGE, storage));
	s->at[s->n].storage = storage;
	chain(s, s->n++);
	return at ? s->n - at : 0;
}

static void
see_tensor(RtSeen *s, const RtTensor *t)
{
	const int form = layout_of(t);

	s->put(s, t->dtype | (int64_t)t->ndim << 8 | (int64_t)form << 16 | (int64_t)t->layout << 24, RT_SEEN_FIXED);
	for (int i = 0; i < t->ndim; i++)
		s->put(s, t->dims[i], RT_SEEN_DIM);
	for (int i = 0; i < t->ndim && form == FORM_OTHER; i++)
		s->put(s, t->strides[i], RT_SEEN_INT);
	if (form == FORM_OTHER)
		s->put(s, t->offset, RT_SEEN_INT);
	s->put(s, storage_age(s, t->storage), RT_SEEN_FIXED);
}

void
rt_see(RtSeen *s, IValue v)
{
	switch (v.tag) {
	case RT_TENSOR:
		see_tensor(s, v.u.t);
		return;
	case RT_INT: case RT_BOOL: case RT_DOUBLE:
		s->put(s, v.u.i, v.tag == RT_BOOL ? RT_SEEN_FIXED : RT_SEEN_INT);
		return;
	case RT_LIST:
		s->put(s, v.u.list->n, RT_SEEN_FIXED);
		for (int64_t i = 0; i < v.u.list->n; i++)
			rt_see(s, v.u.list->v[i]);
		return;
	case RT_TUPLE:
		for (int64_t i = 0; i < v.u.tuple->n; i++)
			rt_see(s, v.u.tuple->v[i]);
		return;
	default:
		s->put(s, v.tag, RT_SEEN_FIXED);
	}
}

void
rt_seen_back(RtSeen *s, int n)
{
	while (s->n > n) {
		const RtSeenStorage *last = &s->at[--s->n];

		*bucket_of(s, last->storage) = last->before;
		rt_storage_release(last->storage);
	}
}

void
rt_seen_free(RtSeen *s)
{
	rt_seen_back(s, 0);
	rt_mem_back(s->at);
	s->at = NULL;
	s->cap = 0;
}

/* ---- comparing numbers with their expected values ---------------------------------------------------------------- */

typedef struct Check {
	RtSeen seen;             /* must be first: put() gets its address */
	const RtSizes *of;
	int64_t *s;              /* (natom) values of s; -1 if not known yet */
	int at;                  /* number of numbers compared so far */
	bool fits;
	uint32_t line;           /* line of the first number that differs */
} Check;

/* Computes an expression. Returns false on overflow, or if an s is not known. */
static bool
value_of(const RtSizeExpr *e, const int64_t *s, int64_t *out)
{
	int64_t product = e->c < 0 ? -e->c : e->c;

	for (int i = 0; i < e->n; i++)
		if (s[e->atom[i]] < 0 || !size_mul(product, s[e->atom[i]], &product))
			return false;
	if (product > INT64_MAX / 2 || e->d > INT64_MAX / 2 || e->d < -INT64_MAX / 2)
		return e->n == 0 && (*out = e->d, true);
	*out = (e->c < 0 ? -product : product) + e->d;
	return true;
}

static void
check_number(RtSeen *seen, int64_t number, RtSeenKind kind)
{
	Check *c = (Check *)(void *)seen;
	const RtSizeExpr *e;
	int64_t want;

	(void)kind;
	if (!c->fits)
		return;
	if (c->at >= c->of->nnumber) {
		c->fits = false;
		return;
	}
	e = &c->of->expr[c->of->number[c->at++]];
	if (e->n < 0) {
		int64_t *s = &c->s[e->atom[0]];

		if (*s < 0)
			*s = number;
		c->fits = number >= 0 && *s == number;
	} else {
		c->fits = value_of(e, c->s, &want) && want == number;
	}
}

/* Called at each RT_DO_PROFILE: compares the value's numbers with their expected values. */
static void
probe(RtCx *cx, const RtCode *code, int pc, int index, IValue v)
{
	Check *c = cx->probe_arg;

	if (code != c->of->code || code->insn[pc].op != RT_DO_PROFILE)
		return;
	cx->meta = index != RT_SIZES_RUN;
	if (!cx->meta || !c->fits)
		return;
	rt_see(&c->seen, v);
	if (!c->fits)
		c->line = code->insn[pc].line;
}

/* Returns a tensor like v without data, or a container of such tensors. */
IValue
rt_without_data(RtCx *cx, IValue v)
{
	IValue r = rt_none();

	if (v.tag == RT_TENSOR) {
		RtTensor *t = rt_tensor_strided(cx, (RtDtype)v.u.t->dtype, v.u.t->ndim, v.u.t->dims, v.u.t->strides);

		return t ? rt_of(t) : rt_none();
	}
	if (v.tag == RT_LIST) {
		RtList *list = rt_list_new(cx, v.u.list->elem, v.u.list->n);

		for (int64_t i = 0; list && i < v.u.list->n; i++)
			rt_list_push(cx, list, rt_without_data(cx, v.u.list->v[i]));
		return list ? rt_ref(RT_LIST, list) : rt_none();
	}
	if (v.tag == RT_TUPLE) {
		RtTuple *tuple = rt_tuple_new(cx, v.u.tuple->type, v.u.tuple->n);

		for (int64_t i = 0; tuple && i < v.u.tuple->n; i++)
			tuple->v[i] = rt_without_data(cx, v.u.tuple->v[i]);
		return tuple ? rt_ref(RT_TUPLE, tuple) : rt_none();
	}
	r = rt_retain(v);
	return r;
}

static void
say_misfit(RtCx *cx, const Check *c)
{
	if (!cx->show_guards)
		return;
	fprintf(stderr, "%s: these sizes do not fit", c->of->name);
	rt_say_place(c->of->code, c->line);
	fprintf(stderr, "\n");
}

/* Runs the operators on tensors without data. Returns false if a number differs from its expected value, or if an
 * operator failed. */
static bool
run_shapes(RtCx *cx, Check *c, const IValue *reg)
{
	const RtCode *code = c->of->code;
	IValue *args = rt_mem_zeroed(((int64_t)code->narg + 1) * (int64_t)sizeof *args), result[1] = { { 0 } };
	void (*const old_probe)(RtCx *, const RtCode *, int, int, IValue) = cx->probe;
	void *const old_arg = cx->probe_arg;
	const bool old_meta = cx->meta;
	bool done = false;

	if (!args)
		return false;
	cx->meta = cx->partial = true;
	cx->probe = probe;
	cx->probe_arg = c;
	for (int i = 0; i < code->narg; i++)
		args[i] = rt_without_data(cx, reg[i]);
	if (!cx->status)
		done = rt_run(cx, code, args, result) == RT_OK;
	if (cx->status)
		rt_clear_error(cx);
	rt_release(result[0]);
	rt_values_drop(args, code->narg);
	rt_mem_back(args);
	cx->meta = old_meta;
	cx->partial = false;
	cx->probe = old_probe;
	cx->probe_arg = old_arg;
	rt_seen_free(&c->seen);
	if (!done || !c->fits || c->at != c->of->nnumber) {
		say_misfit(cx, c);
		return false;
	}
	return true;
}

static bool
count_all(const RtSizes *of, int64_t *s)
{
	int64_t x;

	for (int i = 0; i < of->ncount; i++) {
		if (!value_of(&of->count[i].x, s, &x) || x < 0)
			return false;
		s[of->natom + i] = x / of->count[i].q + (x % of->count[i].q != 0);
	}
	return true;
}

static bool
say_unrelated(const RtCx *cx, const RtSizes *of)
{
	if (cx->show_guards)
		fprintf(stderr, "%s: these sizes are related in another way than those that it was compiled for\n",
			of->name);
	return false;
}

/* Whether the conditions that held for all samples hold for these sizes. If two numbers are equal in all samples, a
 * kernel may use either one in place of the other. */
static bool
ties_hold(const RtCx *cx, const RtSizes *of, const int64_t *s)
{
	for (int i = 0; i < of->ntie; i++) {
		const RtSizeTie *t = &of->tie[i];
		int64_t x, y;

		if (value_of(&t->x, s, &x) && x >= 0 && value_of(&t->y, s, &y) &&
		    (t->kind == RT_TIE_REST ? x % t->q : x / t->q + (x % t->q != 0)) == y)
			continue;
		return say_unrelated(cx, of);
	}
	return true;
}

/* ---- the arena --------------------------------------------------------------------------------------------------- */

typedef struct Placed { int64_t bytes, at; int index, first, last; } Placed;

static int
by_size(const void *a, const void *b)
{
	const Placed *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->first != y->first ? x->first - y->first : x->index - y->index;
}

/* Returns the lowest offset at which p overlaps none of the first n buffers whose live ranges intersect p's. Negative
 * on overflow. */
static int64_t
lowest_place(const Placed *all, int n, const Placed *p)
{
	int64_t at = 0, end;
	bool moved;

	do {
		moved = false;
		for (int i = 0; i < n; i++) {
			if (all[i].first > p->last || p->first > all[i].last || at >= all[i].at + all[i].bytes)
				continue;
			if (!size_add(at, p->bytes, &end))
				return -1;
			if (all[i].at < end) {
				at = (all[i].at + all[i].bytes + 63) & ~(int64_t)63;
				moved = true;
			}
		}
	} while (moved);
	return size_add(at, p->bytes + 63, &end) ? at : -1;
}

static bool
lie_apart(const Placed *all, int n, int64_t end)
{
	for (int i = 0; i < n; i++) {
		if (all[i].at < 0 || all[i].at % 64 || all[i].at + all[i].bytes > end)
			return false;
		for (int k = 0; k < i; k++)
			if (all[i].first <= all[k].last && all[k].first <= all[i].last &&
			    all[i].at < all[k].at + all[k].bytes && all[k].at < all[i].at + all[i].bytes)
				return false;
	}
	return true;
}

/* Sets place[i] to the offset of each buffer, and place[nbuffer] to the arena's size in bytes. */
static bool
place_buffers(const RtSizes *of, const int64_t *s, int64_t *place)
{
	Placed *all = calloc((size_t)of->nbuffer + 1, sizeof *all);
	bool fits = all != NULL;

	place[of->nbuffer] = 0;
	for (int i = 0; i < of->nbuffer && fits; i++) {
		all[i] = (Placed){ .index = i, .first = of->buffer[i].first, .last = of->buffer[i].last };
		fits = value_of(&of->buffer[i].bytes, s, &all[i].bytes) && all[i].bytes >= 0;
	}
	if (fits)
		qsort(all, (size_t)of->nbuffer, sizeof *all, by_size);
	for (int i = 0; i < of->nbuffer && fits; i++) {
		fits = (all[i].at = lowest_place(all, i, &all[i])) >= 0;
		place[all[i].index] = all[i].at;
		if (fits && all[i].at + all[i].bytes > place[of->nbuffer])
			place[of->nbuffer] = all[i].at + all[i].bytes;
	}
	RT_ASSERT(!fits || lie_apart(all, of->nbuffer, place[of->nbuffer]));
	free(all);
	return fits;
}

/* ---- cache of layouts ------------------------------------------------------------------------------------------ */

static RtKnownSizes *
find_known(RtCx *cx, const RtSizes *of, const int64_t *symbol)
{
	for (RtKnownSizes **at = &cx->sizes, *k; (k = *at); at = &k->next)
		if (k->of == of && !memcmp(k->s, symbol, (size_t)of->nsymbol * sizeof *symbol)) {
			*at = k->next;
			k->next = cx->sizes;
			cx->sizes = k;
			return k;
		}
	return NULL;
}

static void
forget_oldest(RtCx *cx)
{
	RtKnownSizes **at = &cx->sizes;

	for (int n = 0; *at && n < RT_LIMIT_SIZES_KEPT; n++)
		at = &(*at)->next;
	if (*at)
		free(*at);
	*at = NULL;
}

static bool
in_range(const RtCx *cx, const RtSizes *of, const int64_t *symbol)
{
	for (int i = 0; i < of->nsymbol; i++)
		if (symbol[i] < of->range[i][0] || symbol[i] > of->range[i][1]) {
			if (cx->show_guards)
				fprintf(stderr, "%s: the size %lld is not from %lld to %lld\n", of->name,
					(long long)symbol[i], (long long)of->range[i][0], (long long)of->range[i][1]);
			return false;
		}
	return true;
}

const int64_t *
rt_sizes(RtCx *cx, const RtSizes *of, const IValue *reg, const int64_t *symbol)
{
	RtKnownSizes *k = find_known(cx, of, symbol);
	Check c = { .seen = { .put = check_number }, .of = of, .fits = true };

	if (!k && in_range(cx, of, symbol)) {
		k = calloc(1, sizeof *k + (size_t)(of->natom + of->ncount + of->nbuffer + 1) * sizeof *k->s);
		if (!k) {
			rt_raise(cx, "out of memory");
			return NULL;
		}
		k->of = of;
		memcpy(k->s, symbol, (size_t)of->nsymbol * sizeof *symbol);
		for (int i = of->nsymbol; i < of->natom; i++)
			k->s[i] = -1;
		c.s = k->s;
		k->fits = (of->prove ? of->prove(k->s) || say_unrelated(cx, of) : run_shapes(cx, &c, reg)) &&
			  count_all(of, k->s) && ties_hold(cx, of, k->s) &&
			  place_buffers(of, k->s, k->s + of->natom + of->ncount);
		k->next = cx->sizes;
		cx->sizes = k;
		forget_oldest(cx);
	}
	return k && k->fits ? k->s : NULL;
}
