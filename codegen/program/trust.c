/*
 * Checks of indices on the GPU.
 *
 * A kernel that checks indices sets a flag. The function reads the flag only when it waits for the device anyway: at
 * its end, or before a step on the host. If an index was out of range, the call starts again in generic code, which
 * raises the error. So the flag is also read before the first step that writes what the caller or a later call can see.
 * After that step, and in loops, the function waits for each launch that checks indices, and the operator itself raises
 * the error.
 */
#include "writer.h"

typedef struct Trust {
	bool doubt;              /* whether the flag may be set and is not read yet */
	bool touched;            /* whether a step may have written what outlives the call */
	bool restarts;           /* whether the function has a jump to its label `again` */
	int  branches, loops;    /* nesting depths */
	bool *allocated;         /* by buffer: whether the function itself allocates its box */
	Vec(const CudaCall *) checks;    /* launches that only check indices, which no step has written since */
} Trust;

Trust *
trust_new(const Plan *p)
{
	Trust *t;

	if (!p->gpu)
		return NULL;
	t = new(p->cx->arena, Trust, 1);
	t->allocated = new(p->cx->arena, bool, p->buffers.n + 1);
	return t;
}

bool
trust_restarts(const Writer *w)
{
	return w->trust && w->trust->restarts;
}

void
trust_allocated(Writer *w, const Buffer *b)
{
	if (w->trust)
		w->trust->allocated[b->index] = true;
}

bool
trust_is_fresh(const Writer *w, const Buffer *b)
{
	return w->trust->allocated[b->index];
}

/* ---- reading the flag -------------------------------------------------------------------------------------------- */

/* In a branch the flag stays in doubt, because the other branch may not read it. */
static void
write_read(Writer *w, int nmade)
{
	Trust *t = w->trust;

	if (!t || !t->doubt)
		return;
	if (nmade) {
		out_open(&w->out, "if (rt_cuda_index_failed(&c))");
		out_line(&w->out, "rt_values_drop(made, %d);", nmade);
		out_line(&w->out, "goto again;");
		out_close(&w->out);
	} else {
		out_line(&w->out, "if (rt_cuda_index_failed(&c))");
		out_line(&w->out, "\tgoto again;");
	}
	t->restarts = true;
	t->doubt = t->branches > 0;
}

void
write_trust_now(Writer *w)
{
	write_read(w, 0);
}

void
write_trust_guard(Writer *w)
{
	if (!w->trust)
		return;
	w->trust->branches++;
	write_read(w, 0);
	w->trust->branches--;
}

void
trust_branches(Writer *w, int by)
{
	if (!w->trust)
		return;
	w->trust->branches += by;
	w->trust->checks.n = 0;
}

void
trust_loop(Writer *w, int by)
{
	if (!w->trust)
		return;
	if (by > 0)
		write_read(w, 0);
	w->trust->loops += by;
	w->trust->checks.n = 0;
}

/* ---- what steps write -------------------------------------------------------------------------------------------- */

/* Whether the call's caller, or a later call, may see what is written to the buffer. */
static bool
is_outside(const Writer *w, const Buffer *b)
{
	return b->home != HOME_ARENA && !(b->home == HOME_BOX && trust_is_fresh(w, b));
}

/* Notes that a step writes to the buffer: forgets checks of indices in it. */
static void
note_written(Writer *w, const Buffer *b)
{
	Trust *t = w->trust;
	int n = 0;

	for (int i = 0; i < t->checks.n; i++) {
		const CudaCall *call = t->checks.at[i];
		bool keeps = true;

		for (int k = 1; k < call->args.n; k++)
			keeps &= plan_buffer(w->plan, call->args.at[k].value) != b;
		if (keeps)
			t->checks.at[n++] = call;
	}
	t->checks.n = n;
	t->touched |= is_outside(w, b);
}

bool
moves_references(const Node *n)
{
	static const Symbol movers[] = { prim_TupleUnpack, prim_ListUnpack, prim_TupleIndex, prim_TupleSlice,
		prim_isinstance, prim_DictConstruct, prim_GetAttr, prim_SetAttr, prim_unchecked_cast,
		prim_unchecked_unwrap_optional, prim_CreateObject };

	for (size_t i = 0; i < sizeof movers / sizeof *movers; i++)
		if (node_is(n, movers[i]))
			return true;
	return false;
}

bool
is_confined(Writer *w, const Node *n)
{
	if (!n->op || n->op->form == OP_BODY || node_has_effect(n))
		return false;
	for (int i = 0; i < n->nin; i++)
		if (!plan_buffer(w->plan, n->in[i]) && !node_is(n->in[i]->node, prim_Constant) &&
		    type_holds_tensors(n->in[i]->type))
			return false;
	return true;
}

/* Whether the step can neither read nor write a tensor's elements, and has no other effect. */
static bool
is_innocent(const Node *n)
{
	if (node_has_effect(n))
		return false;
	for (int i = 0; i < n->nin; i++)
		if (type_holds_tensors(n->in[i]->type))
			return moves_references(n);
	return true;
}

void
write_trust(Writer *w, const Node *n, int nmade)
{
	Trust *t = w->trust;

	if (!t || is_innocent(n))
		return;
	write_read(w, nmade);
	if (!is_confined(w, n)) {
		t->touched |= node_has_effect(n) || !n->op || n->op->form == OP_BODY;
		t->checks.n = 0;
	}
	for (int i = 0; i < n->nin; i++) {
		const Buffer *b = node_writes_input(n, i) ? plan_buffer(w->plan, n->in[i]) : NULL;

		if (b)
			note_written(w, b);
		else
			t->touched |= node_writes_input(n, i);
	}
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

bool
write_trust_launch(Writer *w, const CudaCall *call)
{
	Trust *t = w->trust;
	bool outside = false, waits;

	for (int i = 0; i < call->nout; i++)
		outside |= is_outside(w, plan_buffer(w->plan, call->args.at[i].value));
	if (outside)
		write_read(w, 0);
	for (int i = 0; i < call->nout; i++)
		note_written(w, plan_buffer(w->plan, call->args.at[i].value));
	if (!call->checked)
		return false;
	waits = t->touched || t->loops;
	if (waits)
		write_read(w, 0);
	t->doubt |= !waits;
	if (!call->nout)
		vec_push(w->arena, &t->checks, call);
	return waits;
}

/* Whether both launches check the same indices. The first operand is the tensor that the indices are for. */
static bool
checks_same(const CudaCall *a, const CudaCall *b)
{
	bool same = a->kernel == b->kernel && a->args.n == b->args.n;

	for (int i = 1; same && i < a->args.n; i++)
		same = a->args.at[i].value == b->args.at[i].value && a->args.at[i].offset == b->args.at[i].offset &&
		       !a->args.at[i].npart && !b->args.at[i].npart;
	return same;
}

bool
trust_covers(Writer *w, const CudaCall *call)
{
	const Trust *t = w->trust;

	for (int i = 0; i < t->checks.n && call->checked && !call->nout; i++)
		if (checks_same(t->checks.at[i], call))
			return true;
	return false;
}
