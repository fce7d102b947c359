/*
 * Places results in the memory of operands that nothing reads later.
 *
 *    b = relu(a)          the last use of a: b reuses a's memory
 *
 * A kernel reads the operands of a point before it stores the point's results, and points or rows are independent
 * (kernel/form.h). So a result may share memory with an operand if both have the same address at every point and no
 * stage reads the operand after the result is stored. Dynamic plans keep buffers apart, because addresses that are
 * equal on one sample may differ on another.
 *
 * A product stores its sums in its result before its epilogue runs. If memory is short, an epilogue at the peak may
 * also overwrite an operand of its own. Then the sums of a few rows at a time are stored elsewhere (Lowered.apart).
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

/* Whether the stage reads the operand. */
static bool
reads(const Kernel *k, int stage, int operand)
{
	const Stage from = k->stage.at[stage], end = kernel_stage_end(k, stage);
	bool does = false;

	for (int i = from.let; i < end.let; i++)
		for (int a = 0; a < k->let.at[i].narg; a++)
			does |= ref_reads(&k->let.at[i].arg[a], operand);
	for (int i = from.state; i < end.state; i++)
		does |= ref_reads(&k->state.at[i].x, operand) || ref_reads(&k->state.at[i].y, operand);
	for (int i = from.store; i < end.store; i++)
		does |= ref_reads(&k->store.at[i].value, operand);
	return does;
}

/* Returns the first stage that stores the operand. */
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

/* Whether operand y may share the memory of operand x, which the kernel reads. */
static bool
may_replace(const Kernel *k, int x, int y)
{
	bool later = false;

	for (int i = stored_by(k, y) + 1; i < k->stage.n; i++)
		later |= reads(k, i, x);
	return !later && same_places(&k->operand.at[x], &k->operand.at[y]);
}

/* Whether result y may reuse buffer a, or the part of a that the kernel reads. Nothing may read that memory after
 * `last`, which is the node itself or its epilogue. */
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

/* Sets *l to the node's kernel. Returns false if the node has no kernel of its own or the kernel has index operands. */
static bool
kernel_of(Plan *p, const Node *n, Lowered *l)
{
	if (p->absorbed[n->id] || p->epilogue[n->id] || !plan_needs_step(p, n) || !plan_is_kernel(p, n))
		return false;
	/* Kernels without lets declare their pointers restrict (kernel/print_c.c). */
	return (node_is_map(n) ? lower_map(p, n, l) : lower_reduction(p, n, l)) && l->kernel->let.n &&
	       !kernel_has_gathers(l->kernel);
}

/* Tries to place operand y, a result at the start of its buffer b, in an operand's memory. */
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
		a->last = b->over->last = b->last;       /* marks a as used: no other result of n may reuse it */
	}
}

/* Whether the value, or a part of it if it is a list or tuple, is in buffer a. */
static bool
lies_in(Plan *p, const Value *v, const Buffer *a)
{
	bool does = plan_buffer(p, v) == a;

	for (int i = 0; node_makes_parts(v->node) && i < v->node->nin; i++)
		does |= lies_in(p, v->node->in[i], a);
	return does;
}

/* Whether n or a node between n and its epilogue reads buffer a. */
static bool
is_read_before(Plan *p, const Node *n, const Node *epilogue, const Buffer *a)
{
	for ALL_NODES(m, p->graph->top)
		for (int i = 0; m != epilogue && p->step[m->id] >= p->step[n->id] && i < m->nin; i++)
			if (lies_in(p, m->in[i], a))
				return true;
	return false;
}

/* Places the result of a product with an epilogue over a tensor that the epilogue reads. Returns false if there is no
 * such tensor. */
static bool
place_epilogue(Plan *p, const Node *n)
{
	const Node *group = p->epilogue[n->id];
	Buffer *b = group ? plan_buffer(p, group->out[0]) : NULL;
	int y = 0;
	Lowered l;

	if (!b || b->home != HOME_ARENA || b->over || b->first != p->step[n->id] || !dense_may_be_apart(p, n) ||
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

	if (p->dynamic)
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
