/*
 * Checks a plan whose offsets are assigned, in test builds. A wrong plan does not crash: it answers with bytes of
 * another tensor. Each check has its number in the message.
 *
 *  1  a tensor lies inside of its buffer
 *  2  a buffer in the arena is aligned, inside the arena, and its last step is not before its first
 *  3  a buffer that reuses the memory of another one has its offset, its size at most, and a live range inside its own
 *  4  a node runs at a step at which the buffers of its inputs and results are live
 *
 * offsets.c asserts that no two buffers overlap that are live at the same step.
 */
#include "program.h"

static void
broken(Plan *p, int number, const Node *n, const Buffer *b)
{
	Buf text = { 0 };

	graph_print(p->graph, &text, false);
	BUG("the plan of %s is broken: [%d] buffer %d: %lld bytes at %lld, live from step %d to %d, at %s (node %d)"
	    "\n%s", p->fn->name, number, b->index, (long long)b->bytes, (long long)b->offset, b->first, b->last,
	    n ? n->kind->name : "-", n ? n->id : -1, text.at ? text.at : "");
}

/* Checks that a tensor of the value is inside its buffer. A storage without known bytes is not checked. */
static void
check_tensor(Plan *p, const Node *n, const RtTensor *t)
{
	const Buffer *b = plan_buffer_of(p, t->storage);
	int64_t last = t->offset;

	if (!b || !rt_numel(t))
		return;
	for (int i = 0; i < t->ndim; i++)
		last += (t->dims[i] - 1) * t->strides[i];
	if (t->offset < 0 || (last + 1) * rt_dtypes[t->dtype].bytes > b->bytes)
		broken(p, 1, n, b);
}

static void
check_buffer(Plan *p, const Buffer *b)
{
	const Buffer *under = b->over;

	if (b->home != HOME_ARENA)
		return;
	if (b->first > b->last || b->offset < 0 || b->offset % WEIGHTS_LINE || b->offset + b->bytes > p->arena)
		broken(p, 2, NULL, b);
	if (under && (under->home != HOME_ARENA || under->over || b->offset != under->offset ||
		      b->bytes > under->bytes || b->first < under->first || b->last > under->last))
		broken(p, 3, NULL, b);
}

/* Checks that the memory of the value and its parts is live at the step at which the node runs. */
static void
check_live(Plan *p, const Node *n, const Value *v)
{
	const RtTensor *t = plan_tensor(p, v);
	const Buffer *b = plan_buffer(p, v);
	const int step = p->step[n->id];

	if (t)
		check_tensor(p, n, t);
	if (b && b->home == HOME_ARENA && (step < b->first || step > b->last))
		broken(p, 4, n, b);
	for (int i = 0; !b && node_makes_parts(v->node) && i < v->node->nin; i++)
		check_live(p, n, v->node->in[i]);
}

void
plan_check(Plan *p)
{
	for (int i = 0; i < p->buffers.n; i++)
		check_buffer(p, p->buffers.at[i]);
	for ALL_NODES(n, p->graph->top) {
		if (!plan_needs_step(p, n))
			continue;
		for (int i = 0; i < n->nin; i++)
			check_live(p, n, n->in[i]);
		/* The result of a product with an epilogue has no memory of its own. */
		for (int i = 0; !p->epilogue[n->id] && i < n->nout; i++)
			check_live(p, n, n->out[i]);
		for (int i = 0; p->epilogue[n->id] && i < p->epilogue[n->id]->nin; i++)
			if (p->epilogue[n->id]->in[i]->node != n)
				check_live(p, n, p->epilogue[n->id]->in[i]);
	}
}
