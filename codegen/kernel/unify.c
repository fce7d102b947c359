/*
 * Combines the kernels that a node has on the samples of a dynamic specialization into one kernel.
 *
 * They have the same axes, operands and lets, and differ in numbers: extents, strides, offsets, int operands.  A number
 * that differs becomes a Size over symbols.  It is a product of numbers that the node's own operands have, because a
 * number of another node may be equal on the samples only.  Symbol i is s[i] of the program.  The kernels are
 * combined as they were lowered.  Axes are merged and a schedule is chosen only for the kernel over symbols, so both
 * are valid for all sizes.
 *
 *    i1: 5376, 8448, x1 64*i1 | i1: 768*s0, x1 64*i1
 */
#include "lower.h"

#include <string.h>

typedef struct Fitted { int64_t value[SIZE_SAMPLES]; const Size *size; } Fitted;

typedef struct Unifier {
	const Sizes *sizes;      /* numbers of the node's operands, as atoms */
	const Measures *own;     /* numbers of the operands, and their Sizes */
	Kernel *kernel;               /* the combined kernel */
	const Kernel *const *of; /* the kernel of each sample */
	Vec(Fitted) fitted;      /* sizes of this kernel that differ among the samples */
} Unifier;

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static bool
is_same(const Unifier *u, const int64_t *v)
{
	for (int k = 1; k < u->sizes->nsample; k++)
		if (v[k] != v[0])
			return false;
	return true;
}

/* Returns the symbol for s[i]. If entry does not check the symbol's range, only choices by speed may depend on it. */
static const Size *
symbol(SizeTable *sizes, const Sizes *z, int i)
{
	SizeRange range = { 2, INT64_MAX };

	if (i < z->nsymbol)
		range = (SizeRange){ z->range[i][0] > 2 ? z->range[i][0] : 2,
				     z->open[i] ? SIZE_OPEN : z->range[i][1] > 2 ? z->range[i][1] : 2 };
	return size_symbol(sizes, i, range);
}

const Size *
size_of_expr(SizeTable *sizes, const Sizes *z, const RtSizeExpr *e)
{
	const Size *product = size_number(sizes, e->n ? e->c : 0);

	for (int i = 0; i < e->n; i++)
		product = size_times(sizes, product, symbol(sizes, z, e->atom[i]));
	return size_plus(sizes, product, size_number(sizes, e->d));
}

/* Returns the Size of a formula over the node's own numbers. */
static const Size *
size_of_own(const Unifier *u, const RtSizeExpr *e)
{
	SizeTable *sizes = u->kernel->sizes;
	const Size *product = size_number(sizes, e->n ? e->c : 0);

	for (int i = 0; i < e->n; i++)
		product = size_times(sizes, product, u->own->size[e->atom[i]]);
	return size_plus(sizes, product, size_number(sizes, e->d));
}

/* Is v a differing size of this kernel, or the product of one with another or with a constant? A stride is then the
 * next axis's stride times its extent, which lets the two axes merge. */
static const Size *
known_product(const Unifier *u, const int64_t *v)
{
	SizeTable *sizes = u->kernel->sizes;

	for (int i = 0; i < u->fitted.n; i++) {
		const Fitted *a = &u->fitted.at[i];
		int64_t rest[SIZE_SAMPLES];
		bool divides = true;

		for (int k = 0; k < u->sizes->nsample && divides; k++)
			if ((divides = a->value[k] && v[k] % a->value[k] == 0))
				rest[k] = v[k] / a->value[k];
		if (!divides)
			continue;
		if (is_same(u, rest))
			return size_times(sizes, a->size, size_number(sizes, rest[0]));
		for (int j = i; j < u->fitted.n; j++)
			if (!memcmp(u->fitted.at[j].value, rest, (size_t)u->sizes->nsample * sizeof *rest))
				return size_times(sizes, a->size, u->fitted.at[j].size);
	}
	return NULL;
}

/* Returns the size with these values on the samples. Null if no formula gives them. */
static const Size *
fit(Unifier *u, const int64_t *v)
{
	const Size *size;
	RtSizeExpr e;
	Fitted one;

	if (is_same(u, v))
		return size_number(u->kernel->sizes, v[0]);
	size = known_product(u, v);
	if (!size && sizes_express(u->sizes, v, true, &e))
		size = size_of_own(u, &e);
	if (!size || size_lost(size))
		return NULL;
	one.size = size;
	memcpy(one.value, v, (size_t)u->sizes->nsample * sizeof *v);
	vec_push(u->kernel->arena, &u->fitted, one);
	return size;
}

/* ---- sizes in kernels -------------------------------------------------------------------------------------------- */

typedef Vec(const Size **) Places;

static void
add_strides(Kernel *k, const Size **stride, Places *to)
{
	for (int i = k->naxis - 1; i >= 0; i--)
		vec_push(k->arena, to, &stride[i]);
}

static void
add_edge(Kernel *k, AxisEdge *e, Places *to)
{
	if (!e->per)
		return;
	vec_push(k->arena, to, &e->times);
	vec_push(k->arena, to, &e->plus);
	vec_push(k->arena, to, &e->per);
}

/* Lists the addresses of the kernel's sizes, except extents that edges decide: extents first, then bounds and
 * strides of each operand, innermost first. */
static Places
places_of(Kernel *k)
{
	Places all = { 0 };

	for (int i = 0; i < k->naxis; i++)
		if (!kernel_range(k, i) || !range_has_sizes(kernel_range(k, i)))
			vec_push(k->arena, &all, &k->extent[i]);
	for (int i = 0; i < k->range.n; i++) {
		add_edge(k, &k->range.at[i].first, &all);
		add_edge(k, &k->range.at[i].end, &all);
	}
	for (int i = 0; i < k->operand.n; i++) {
		Operand *o = &k->operand.at[i];

		for (int j = o->bound.n - 1; j >= 0; j--) {
			add_strides(k, o->bound.at[j].stride, &all);
			vec_push(k->arena, &all, &o->bound.at[j].offset);
			vec_push(k->arena, &all, &o->bound.at[j].limit);
			if (o->bound.at[j].unit)
				vec_push(k->arena, &all, &o->bound.at[j].unit);
		}
		add_strides(k, o->stride, &all);
		vec_push(k->arena, &all, &o->offset);
		for (int g = 0; g < o->ngather; g++) {
			vec_push(k->arena, &all, &o->gather[g].stride);
			vec_push(k->arena, &all, &o->gather[g].limit);
		}
	}
	for (int i = 0; i < k->stage.n; i++)
		if (k->stage.at[i].select.count)
			vec_push(k->arena, &all, &k->stage.at[i].select.count);
	return all;
}

static bool
unify_sizes(Unifier *u)
{
	const Places to = places_of(u->kernel);
	Places from[SIZE_SAMPLES];

	for (int k = 0; k < u->sizes->nsample; k++)
		from[k] = places_of(kernel_copy(u->of[k]));
	for (int i = 0; i < to.n; i++) {
		int64_t v[SIZE_SAMPLES];

		for (int k = 0; k < u->sizes->nsample; k++)
			if (!size_const(*from[k].at[i], &v[k]))
				return false;
		if (!(*to.at[i] = fit(u, v)))
			return false;
	}
	for (int i = 0; i < u->kernel->range.n; i++) {
		const AxisRange *r = &u->kernel->range.at[i];

		if (range_has_sizes(r))
			u->kernel->extent[r->axis] = range_most_points(u->kernel, r);
	}
	return true;
}

/* ---- numeric operands -------------------------------------------------------------------------------------------- */

/* Makes an operand of a number that differs: the size of an int, or a symbol that holds the bits of a double. */
static bool
unify_number(Unifier *u, Ref *r, const int64_t *v)
{
	const bool is_int = r->number.tag == RT_INT;
	Operand o = { .dtype = is_int ? RT_i64 : RT_f64, .access = is_int ? ACCESS_INDEX : ACCESS_BITS, .along = -1 };

	if (is_same(u, v))
		return true;
	for (int i = 0; i < u->sizes->natom && !is_int && !o.offset; i++)
		if (!memcmp(u->sizes->atom[i], v, (size_t)u->sizes->nsample * sizeof *v))
			o.offset = u->own->size[i];
	if (is_int)
		o.offset = fit(u, v);
	if (r->number.tag == RT_BOOL || !o.offset)
		return false;
	*r = ref_operand(kernel_operand(u->kernel, o));
	return true;
}

static bool
unify_ref(Unifier *u, Ref *to, const Ref *const *from)
{
	int64_t v[SIZE_SAMPLES];

	for (int k = 0; k < u->sizes->nsample; k++) {
		if (from[k]->kind != to->kind || from[k]->at != to->at || from[k]->part != to->part ||
		    from[k]->number.tag != to->number.tag)
			return false;
		v[k] = from[k]->number.u.i;
	}
	return to->kind != REF_NUMBER || unify_number(u, to, v);
}

static bool
unify_let(Unifier *u, int at)
{
	Let *to = &u->kernel->let.at[at];
	const Ref *from[SIZE_SAMPLES];

	for (int k = 1; k < u->sizes->nsample; k++) {
		const Let *l = &u->of[k]->let.at[at];

		if (l->op != to->op || l->narg != to->narg || memcmp(&l->types, &to->types, sizeof l->types))
			return false;
	}
	for (int i = 0; i < to->narg; i++) {
		for (int k = 0; k < u->sizes->nsample; k++)
			from[k] = &u->of[k]->let.at[at].arg[i];
		if (!unify_ref(u, &to->arg[i], from))
			return false;
	}
	return true;
}

static bool
unify_state(Unifier *u, int at)
{
	Folded *to = &u->kernel->state.at[at];
	const Ref *x[SIZE_SAMPLES], *y[SIZE_SAMPLES];

	for (int k = 0; k < u->sizes->nsample; k++) {
		const Folded *s = &u->of[k]->state.at[at];

		if (s->fold != to->fold || s->part != to->part || s->total != to->total || s->place != to->place ||
		    s->carried != to->carried)
			return false;
		x[k] = &s->x, y[k] = &s->y;
	}
	return unify_ref(u, &to->x, x) && unify_ref(u, &to->y, y);
}

static bool
unify_store(Unifier *u, int at)
{
	const Ref *from[SIZE_SAMPLES];

	for (int k = 0; k < u->sizes->nsample; k++) {
		if (u->of[k]->store.at[at].operand != u->kernel->store.at[at].operand)
			return false;
		from[k] = &u->of[k]->store.at[at].value;
	}
	return unify_ref(u, &u->kernel->store.at[at].value, from);
}

static bool
unify_values(Unifier *u)
{
	for (int i = 0; i < u->kernel->let.n; i++)
		if (!unify_let(u, i))
			return false;
	for (int i = 0; i < u->kernel->state.n; i++)
		if (!unify_state(u, i))
			return false;
	for (int i = 0; i < u->kernel->store.n; i++)
		if (!unify_store(u, i))
			return false;
	return true;
}

/* ---- are they alike? --------------------------------------------------------------------------------------------- */

/* Are both null, or equal weights in the same layout? */
static bool
constants_alike(const RtTensor *a, const RtTensor *b)
{
	IValue x = { .tag = RT_TENSOR }, y = x;

	if (!a || !b)
		return a == b;
	memcpy(&x.u.t, &a, sizeof a);
	memcpy(&y.u.t, &b, sizeof b);
	return value_identical(x, y);
}

static bool
operands_alike(const Operand *a, const Operand *b)
{
	if (a->dtype != b->dtype || a->access != b->access || a->along != b->along || a->ngather != b->ngather ||
	    a->bound.n != b->bound.n || !constants_alike(a->constant, b->constant) ||
	    a->outside.tag != b->outside.tag || a->outside.u.i != b->outside.u.i)
		return false;
	for (int i = 0; i < a->bound.n; i++)
		if (!a->bound.at[i].unit != !b->bound.at[i].unit)
			return false;
	for (int g = 0; g < a->ngather; g++)
		if (a->gather[g].by.kind != b->gather[g].by.kind || a->gather[g].by.at != b->gather[g].by.at ||
		    a->gather[g].outside != b->gather[g].outside || a->gather[g].wraps != b->gather[g].wraps)
			return false;
	return true;
}

static bool
edges_alike(const AxisEdge *a, const AxisEdge *b)
{
	return !a->per == !b->per && (!a->per || (a->of == b->of && a->up == b->up)) &&
	       a->let.kind == b->let.kind && a->let.at == b->let.at;
}

static bool
stages_alike(const Stage *a, const Stage *b)
{
	const Select *x = &a->select, *y = &b->select;

	return a->each == b->each && a->let == b->let && a->state == b->state && a->store == b->store &&
	       !x->count == !y->count && x->key.at == y->key.at && x->greatest == y->greatest &&
	       x->order == y->order;
}

/* Compares everything except numbers and values, which are compared when they are unified. */
static bool
kernels_alike(const Kernel *a, const Kernel *b)
{
	if (strcmp(a->name, b->name) || a->naxis != b->naxis || a->serial != b->serial || a->nreduce != b->nreduce ||
	    a->operand.n != b->operand.n || a->let.n != b->let.n || a->state.n != b->state.n ||
	    a->store.n != b->store.n || a->stage.n != b->stage.n || a->range.n != b->range.n ||
	    a->shared != b->shared || !a->next != !b->next || a->first != b->first)
		return false;
	for (int i = 0; i < a->operand.n; i++)
		if (!operands_alike(&a->operand.at[i], &b->operand.at[i]))
			return false;
	for (int i = 0; i < a->range.n; i++) {
		const AxisRange *x = &a->range.at[i], *y = &b->range.at[i];

		if (x->axis != y->axis || x->checked != y->checked || !edges_alike(&x->first, &y->first) ||
		    !edges_alike(&x->end, &y->end))
			return false;
	}
	for (int i = 0; i < a->stage.n; i++)
		if (!stages_alike(&a->stage.at[i], &b->stage.at[i]))
			return false;
	return true;
}

Kernel *
kernel_unify(SizeTable *sizes, const Measures *own, const Kernel *const *of)
{
	const Sizes *z = own->function;
	Kernel *first = kernel_copy(of[0]);
	const Kernel *link[SIZE_SAMPLES];
	Unifier u = { .sizes = &own->of, .own = own, .of = link };
	int64_t *typical = new(first->arena, int64_t, SIZE_SYMBOLS);

	for (int i = 0; i < z->natom; i++)
		typical[i] = z->atom[i][0];
	memcpy(link, of, (size_t)z->nsample * sizeof *link);
	for (u.kernel = first; u.kernel; u.kernel = u.kernel->next) {
		for (int k = 1; k < z->nsample; k++)
			if (!kernels_alike(link[k], link[0]))
				return NULL;
		u.kernel->sizes = sizes;
		u.kernel->typical = typical;
		if (!unify_sizes(&u) || !unify_values(&u))
			return NULL;
		for (int k = 0; k < z->nsample; k++)
			link[k] = link[k]->next;
	}
	return first;
}
