/* codegen/program/measures.c - lists the numbers that the operands of a node have
 *
 * These are the dims, strides and offsets of its tensors, and its ints and doubles.  Its kernel is unified from them
 * alone (kernel/unify.c).  A number of another node may have the same values on all samples, and other values at other
 * sizes.
 */
#include "dynamic.h"

#include <string.h>

typedef struct Lister { Dynamic *dynamic; Measures *to; } Lister;

/* Returns the Size of a number of the graph, found once for the graph. Null if it is no formula. */
static const Size *
number_size(Dynamic *d, const int64_t *v)
{
	const Size *size;
	Buf key = { 0 };
	RtSizeExpr e;

	for (int k = 0; k < d->n; k++)
		buf_printf(&key, "%llx,", (unsigned long long)v[k]);
	if (!(size = map_get(&d->measured, key.at))) {
		size = size_number(d->sizes, -1);
		if (sizes_express(d->sample_sizes, v, true, &e))
			size = size_of_expr(d->sizes, d->sample_sizes, &e);
		map_put(&d->measured, arena_strdup(d->cx->arena, key.at), (void *)(uintptr_t)size);
	}
	buf_free(&key);
	return size_lost(size) || size_is(size, -1) ? NULL : size;
}

/* Adds a number that differs among the samples. */
static void
add_number(Lister *l, const int64_t *v)
{
	const size_t bytes = (size_t)l->dynamic->n * sizeof *v;
	Measures *to = l->to;
	const Size *size;
	bool same = true;

	for (int k = 1; k < l->dynamic->n; k++)
		same &= v[k] == v[0];
	for (int i = 0; i < to->of.natom; i++)
		if (!memcmp(to->of.atom[i], v, bytes))
			return;
	if (same || to->of.natom == SIZE_ATOMS || !(size = number_size(l->dynamic, v)))
		return;
	memcpy(to->of.atom[to->of.natom], v, bytes);
	to->size[to->of.natom++] = size;
}

static void
add_numbers(Lister *l, const RtTensor *const *t, bool strides)
{
	int64_t v[SIZE_SAMPLES];

	for (int axis = 0; axis < t[0]->ndim; axis++) {
		for (int k = 0; k < l->dynamic->n; k++)
			v[k] = strides ? t[k]->strides[axis] : t[k]->dims[axis];
		add_number(l, v);
	}
}

static void
add_tensor(Lister *l, const IValue *v)
{
	const RtTensor *t[SIZE_SAMPLES];
	int64_t offset[SIZE_SAMPLES];

	for (int k = 0; k < l->dynamic->n; k++) {
		t[k] = v[k].u.t;
		offset[k] = t[k]->offset;
		if (t[k]->ndim != t[0]->ndim)
			return;
	}
	add_numbers(l, t, false);
	add_numbers(l, t, true);
	add_number(l, offset);
}

static int64_t
parts_of(IValue v)
{
	return v.tag == RT_LIST ? v.u.list->n : v.tag == RT_TUPLE ? v.u.tuple->n : 0;
}

/* v: the value on each sample. */
static void
add_known(Lister *l, const IValue *v)
{
	IValue part[SIZE_SAMPLES];
	int64_t number[SIZE_SAMPLES];

	for (int k = 0; k < l->dynamic->n; k++) {
		if (v[k].tag != v[0].tag || parts_of(v[k]) != parts_of(v[0]))
			return;
		number[k] = v[k].u.i;
	}
	if (v[0].tag == RT_TENSOR)
		add_tensor(l, v);
	if (v[0].tag == RT_INT || v[0].tag == RT_DOUBLE)
		add_number(l, number);
	for (int64_t i = 0; i < parts_of(v[0]); i++) {
		for (int k = 0; k < l->dynamic->n; k++)
			part[k] = v[0].tag == RT_LIST ? v[k].u.list->v[i] : v[k].u.tuple->v[i];
		add_known(l, part);
	}
}

static void
add_value(Lister *l, const Value *const *value)
{
	IValue v[SIZE_SAMPLES];

	for (int k = 0; k < l->dynamic->n; k++) {
		const Known *known = known_at(l->dynamic->plan[k]->known, value[k]);

		if (!known->is && (!node_is(value[k]->node, prim_Constant) || !value_constant(value[k], &v[k])))
			return;
		if (known->is)
			v[k] = known->v;
	}
	add_known(l, v);
}

static void
add_operands(Lister *l, const Node *const *n)
{
	const Value *v[SIZE_SAMPLES];

	for (int i = 0; i < n[0]->nin + n[0]->nout; i++) {
		for (int k = 0; k < l->dynamic->n; k++)
			v[k] = i < n[0]->nin ? n[k]->in[i] : n[k]->out[i - n[0]->nin];
		add_value(l, v);
	}
}

/* Adds the constants that a node of a group's graph reads. */
static void
add_constants(Lister *l, const Node *const *n)
{
	for (int i = 0; i < n[0]->nin; i++) {
		IValue v[SIZE_SAMPLES];
		bool all = true;

		for (int k = 0; k < l->dynamic->n && all; k++)
			all = i < n[k]->nin && node_is(n[k]->in[i]->node, prim_Constant) &&
			      value_constant(n[k]->in[i], &v[k]);
		if (all)
			add_known(l, v);
	}
}

static const Node *
next_in_group(const Node *n)
{
	do
		n = n->next;
	while (node_is(n, prim_Constant));
	return n;
}

/* Adds the operands of node i, with the numbers in its graph if it is a group. */
static void
add_node(Lister *l, int i)
{
	const Node *n[SIZE_SAMPLES] = { 0 }, *in[SIZE_SAMPLES], *end[SIZE_SAMPLES];
	bool more = true;

	for (int k = 0; k < l->dynamic->n; k++) {
		const Attr *sub = node_attr(n[k] = l->dynamic->node[k].at[i], "Subgraph");

		more &= sub != NULL;
		in[k] = end[k] = more ? sub->g->top->ret : NULL;
	}
	add_operands(l, n);
	while (more) {
		for (int k = 0; k < l->dynamic->n; k++)
			more &= (in[k] = next_in_group(in[k])) != end[k];
		if (more)
			add_constants(l, in);
	}
}

/* Adds the operands of a group that the node's kernel computes, too. */
static void
add_group(Lister *l, const Node *group)
{
	int at = 0;

	while (group && l->dynamic->node[0].at[at] != group)
		at++;
	if (group)
		add_node(l, at);
}

/* Adds the elements of lists that the node reads. */
static void
add_elements(Lister *l, int i)
{
	const Node *const first = l->dynamic->node[0].at[i];

	for (int at = 0; at < first->nin; at++)
		if (node_is(first->in[at]->node, prim_ListConstruct)) {
			const Node *n[SIZE_SAMPLES];

			for (int k = 0; k < l->dynamic->n; k++)
				n[k] = l->dynamic->node[k].at[i]->in[at]->node;
			add_operands(l, n);
		}
}

const Measures *
node_measures(Dynamic *d, int i)
{
	const Node *n = d->node[0].at[i];
	Lister l = { d, new(d->cx->arena, Measures, 1) };

	l.to->function = d->sample_sizes;
	l.to->of.nsample = d->n;
	add_node(&l, i);
	add_elements(&l, i);
	add_group(&l, d->plan[0]->epilogue[n->id]);
	add_group(&l, d->plan[0]->prologue[n->id]);
	return l.to;
}
