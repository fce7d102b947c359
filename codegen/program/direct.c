/*
 * Writes a specialization that consists of kernels only as a function of addresses, too:
 *
 *    static int spec_0_forward_run(RtCx *cx, const void *const *in, void *const *out)
 *
 * A library's typed function calls it directly, without frame, entry checks and boxes. Its parameter types already
 * guarantee what these would check. The function cannot fail on its data, write to an argument or read attributes. The
 * ordinary function makes boxes for its results and then calls it.
 */
#include "writer.h"

#include <string.h>

/* Whether v needs no code here: it has a buffer, only an epilogue or prologue reads it, it is a constant, or it is a
 * list of such values. */
static bool
is_settled(Plan *p, const Value *v)
{
	bool all = node_makes_parts(v->node);

	for (int i = 0; all && i < v->node->nin; i++)
		all = is_settled(p, v->node->in[i]);
	return all || node_is(v->node, prim_Constant) || plan_is_planned(p, v) || p->epilogue[v->node->id] ||
	       p->absorbed[v->node->id];
}

/* Whether the node is a kernel that always succeeds and writes only to its results, or needs no step. */
static bool
is_sure(Plan *p, const Node *n)
{
	const bool step = plan_needs_step(p, n);

	if (node_makes_parts(n) || (!step && !p->absorbed[n->id]))
		return true;
	for (int i = 0; i < n->nin; i++)
		if (!is_settled(p, n->in[i]))
			return false;
	return !step || (plan_is_kernel(p, n) && !node_writes(n) && !node_may_refuse_data(n));
}

/* Numbers the buffers of arguments and results. Returns false if a kernel does not compute a whole result. */
static bool
number_places(Plan *p, const ValueVec *results)
{
	int nin = 0, nout = 0;

	for (int i = 0; i < p->buffers.n; i++) {
		Buffer *b = p->buffers.at[i];

		b->spot = b->home == HOME_INPUT ? nin++ : b->home == HOME_BOX ? -1 : b->spot;
		nout += b->home == HOME_BOX;
	}
	for (int i = 0; i < results->n; i++) {
		const RtTensor *t = plan_tensor(p, results->at[i]);
		Buffer *b = plan_buffer(p, results->at[i]);

		if (!b || b->home != HOME_BOX || b->spot >= 0 || t->offset || t->flags & RT_BITS ||
		    !rt_is_contiguous(t) || rt_numel(t) * rt_dtypes[t->dtype].bytes != b->bytes)
			return false;
		b->spot = i;
		b->owner = results->at[i];
	}
	return nout == results->n;
}

static bool
is_direct(Plan *p, ValueVec *results)
{
	if (p->gpu || p->spec->dynamic || (p->spec->found && state_of(p->fn->prepared, true)->at.n) ||
	    !plan_results(p->graph, results, p->cx->arena))
		return false;
	for NODES(n, p->graph->top)
		if (!is_sure(p, n))
			return false;
	return number_places(p, results);
}

/* Writes the function of addresses. */
static void
write_function(Writer *of, const char *name)
{
	Writer w = { .emit = of->emit, .plan = of->plan, .arena = of->arena, .code = of->code,
		     .out = { .indent = 1 }, .direct = true };
	Out *o = &w.emit->plans;

	for NODES(n, w.plan->graph->top) {
		if (!plan_needs_step(w.plan, n) || node_makes_parts(n))
			continue;
		note_line(&w, n);
		write_remark(&w);
		if (!write_kernel(&w, n))
			fail_lacks(w.emit->cx, n->at, "a kernel for %s of this form", n->kind->name);
	}
	out_line(o, "\n/* The kernels of %s, on memory of the caller's. */", name);
	out_line(o, "static int\n%s_run(RtCx *cx, const void *const *in, void *const *out)\n{", name);
	out_line(o, "\tchar *arena = rt_arena(cx, %lld);\n\n\t(void)in, (void)out;\n"
		 "\tif (!arena)\n\t\treturn RT_ERROR;\n%s\treturn cx->status;\n}", (long long)w.plan->arena,
		 w.out.text.at ? w.out.text.at : "");
	buf_free(&w.out.text);
}

bool
write_direct(Writer *w, const char *name)
{
	ValueVec results = { 0 };

	if (!is_direct(w->plan, &results))
		return false;
	write_function(w, name);
	for (int i = 0; i < results.n; i++)
		write_new_box(w, plan_buffer(w->plan, results.at[i]), plan_tensor(w->plan, results.at[i]));
	out_line(&w->out, "const void *const in[] = {");
	for (int i = 0; i < w->plan->buffers.n; i++)
		if (w->plan->buffers.at[i]->home == HOME_INPUT)
			out_line(&w->out, "\trt_data(%s.u.t),", w->plan->buffers.at[i]->place);
	out_line(&w->out, "\t0");
	out_line(&w->out, "};");
	out_line(&w->out, "void *const out[] = {");
	for (int i = 0; i < results.n; i++)
		out_line(&w->out, "\trt_data(v[%d].u.t),", plan_buffer(w->plan, results.at[i])->slot);
	out_line(&w->out, "\t0");
	out_line(&w->out, "};");
	out_blank(&w->out);
	write_unless(w, arena_printf(w->arena, "%s_run(cx, in, out)", name));
	for NODES(n, w->plan->graph->top)
		if (plan_needs_step(w->plan, n) && node_makes_parts(n))
			write_prim(w, n);
	w->plan->direct = arena_printf(w->arena, "%s_run", name);
	return true;
}
