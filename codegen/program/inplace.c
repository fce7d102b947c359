/*
 * Results in the memory of an operand that nothing reads afterwards.
 *
 *    b = relu(a)          the last use of a: b lies where a lay
 *
 * A kernel reads the operands of a point before it stores the point's results, and points, or rows of them, do not
 * depend on each other (kernel/form.h).  So a result may lie over an operand whose elements are at its own places for
 * all points, if no stage reads these once the result is stored.  Dynamic plans keep buffers apart: what coincides on
 * one sample need not on the next.
 *
 * A product's sums are not there before its epilogue runs.  Where memory is short, and most is in use, the epilogue may
 * write over what it reads, too: the sums of a few rows at a time lie elsewhere (put_apart in kernel/kern_conv.c).
 */
#include "program.h"
#include "../kernel/dense.h"

#include <string.h>

static bool
same_places(const Operand *x, const Operand *y)
{
	return rt_dtypes[x->dtype].bytes == rt_dtypes[y->dtype].bytes && x->along < 0 && y->along < 0 && !x->bound.n &&
	       x->offset == y->offset && !memcmp(x->stride, y->stride, sizeof x->stride);
}

static bool
is_operand(const Ref *r, int operand)
{
	return r->kind == REF_OPERAND && r->at == operand;
}

/* Does the stage read the operand? */
static bool
reads(const Kernel *k, int stage, int operand)
{
	const Phase from = k->stage.at[stage], end = kernel_stage_end(k, stage);
	bool does = false;

	for (int i = from.let; i < end.let; i++)
		for (int a = 0; a < k->let.at[i].narg; a++)
			does |= is_operand(&k->let.at[i].arg[a], operand);
	for (int i = from.state; i < end.state; i++)
		does |= is_operand(&k->state.at[i].x, operand) || is_operand(&k->state.at[i].y, operand);
	for (int i = from.store; i < end.store; i++)
		does |= is_operand(&k->store.at[i].value, operand);
	return does;
}

/* The stage that stores the operand first. */
static int
stored_by(const Kernel *k, int operand)
{
	int stage = 0, store = 0;

	while (k->store.at[store].operand != operand)
		store++;
	while (kernel_stage_end(k, stage).store <= store)
		stage++;
	return stage;
}

/* May what the kernel stores to y lie over what it reads as x? */
static bool
may_replace(const Kernel *k, int x, int y)
{
	bool later = false;

	for (int i = stored_by(k, y) + 1; i < k->stage.n; i++)
		later |= reads(k, i, x);
	return !later && same_places(&k->operand.at[x], &k->operand.at[y]);
}

/* May result y lie over buffer a, or over what of it is read, and does nothing read that after `last`, the node at hand
 * or its epilogue? */
static bool
is_free(Plan *p, const Node *last, const Lowered *l, const Buffer *a, int y)
{
	const Value *const *value = l->value.at;

	if (!a || a->home != HOME_ARENA || a->last != p->step[last->id] || a->bytes != plan_buffer(p, value[y])->bytes)
		return false;
	for (int i = 0; i < l->value.n; i++)
		if (l->kernel->operand.at[i].access == ACCESS_READ && plan_buffer(p, value[i]) == a &&
		    (plan_tensor(p, value[i])->offset != plan_tensor(p, value[y])->offset ||
		     !may_replace(l->kernel, i, y)))
			return false;
	return true;
}

/* The node's kernel, if it is one whose operands are all at places of their own; false: it is not. */
static bool
kernel_of(Plan *p, const Node *n, Lowered *l)
{
	if (p->absorbed[n->id] || p->epilogue[n->id] || !plan_needs_step(p, n) || !plan_is_kernel(p, n))
		return false;
	/* those that only move elements promise not to write where they read (kernel/print_c.c) */
	return (node_is_map(n) ? lower_map(p, n, l) : lower_reduction(p, n, l)) && l->kernel->let.n &&
	       !kernel_has_gathers(l->kernel);
}

/* Operand y: a result that begins its buffer, b. */
static void
place_result(Plan *p, const Node *n, const Lowered *l, int y)
{
	Buffer *b = plan_buffer(p, l->value.at[y]);

	if (!b || b->home != HOME_ARENA || b->first != p->step[n->id] || b->last == b->first)
		return;
	for (int i = 0; i < l->value.n && !b->over; i++) {
		Buffer *a = l->kernel->operand.at[i].access == ACCESS_READ ? plan_buffer(p, l->value.at[i]) : NULL;

		if (!is_free(p, n, l, a, y))
			continue;
		b->over = a->over ? a->over : a;
		a->last = b->over->last = b->last;       /* taken: no other result of n lies there */
	}
}

/* Does the value lie in buffer a, or a part of it, when it is a list or tuple? */
static bool
lies_in(Plan *p, const Value *v, const Buffer *a)
{
	bool does = plan_buffer(p, v) == a;

	for (int i = 0; node_makes_parts(v->node) && i < v->node->nin; i++)
		does |= lies_in(p, v->node->in[i], a);
	return does;
}

/* Is buffer a read by n, or by what runs between it and its epilogue? */
static bool
is_read_before(Plan *p, const Node *n, const Node *epilogue, const Buffer *a)
{
	for ALL_NODES(m, p->graph->top)
		for (int i = 0; m != epilogue && p->step[m->id] >= p->step[n->id] && i < m->nin; i++)
			if (lies_in(p, m->in[i], a))
				return true;
	return false;
}

/* The result of a product and its epilogue lies over a tensor that the epilogue reads; false: there is none. */
static bool
place_epilogue(Plan *p, const Node *n)
{
	const Node *group = p->epilogue[n->id];
	Buffer *b = group ? plan_buffer(p, group->out[0]) : NULL;
	int y = 0;
	Lowered l;
	Dense d;

	if (!b || b->home != HOME_ARENA || b->over || b->first != p->step[n->id] || !dense_take(p, n, &d) ||
	    (d.form != IN_PANELS && d.form != BY_PRODUCT) || d.ldc != d.n * d.groups ||
	    !lower_epilogue(p, group, n->out[0], false, &l))
		return false;
	while (l.kernel->operand.at[y].access != ACCESS_WRITE)
		y++;
	for (int i = 0; i < l.value.n && !b->over; i++) {
		Buffer *a = l.kernel->operand.at[i].access == ACCESS_READ ? plan_buffer(p, l.value.at[i]) : NULL;

		if (!is_free(p, group, &l, a, y) || is_read_before(p, n, group, a))
			continue;
		b->over = a->over ? a->over : a;
		a->last = b->over->last = b->last;
	}
	return b->over;
}

void
plan_in_place(Plan *p)
{
	Lowered l;

	if (p->gpu || p->dynamic)
		return;
	for ALL_NODES(n, p->graph->top) {
		const int count = kernel_of(p, n, &l) ? l.kernel->operand.n : 0;

		for (int i = 0; i < count; i++)
			if (l.kernel->operand.at[i].access == ACCESS_WRITE)
				place_result(p, n, &l, i);
	}
	while (p->small && place_epilogue(p, plan_peak(p)))
		;
}
