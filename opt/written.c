/*
 * Tensors that stand in a graph and are written to: state that is in no instance.
 *
 *   %c : Tensor = prim::Constant[value=<Tensor>]()        a traced model that counts: every call sees the last one's
 *   %r : Tensor = aten::add_(%c, %x, %1)
 *
 * The interpreter writes to the compiler's own constant.  It is put back after each run, so that a program starts with what
 * the archive has.
 */
#include "opt.h"

struct Written {
	Cx *cx;
	Vec(RtTensor *) at, was;
};

static void
find_in(Written *w, AliasDb *db, const Block *b)
{
	IValue v;

	for NODES(n, b) {
		const Attr *sub = node_attr(n, "Subgraph");

		for (int i = 0; i < n->nsub; i++)
			find_in(w, db, n->sub[i]);
		if (sub && sub->kind == ATTR_GRAPH)
			find_in(w, alias_db(sub->g, w->cx->arena), sub->g->top);
		if (node_is(n, "prim::Constant") && value_constant(n->out[0], &v) && v.tag == RT_TENSOR &&
		    alias_has_writers(db, n->out[0])) {
			vec_push(w->cx->arena, &w->at, v.u.t);
			vec_push(w->cx->arena, &w->was, rt_clone(cx_rt(w->cx), v.u.t));
		}
	}
}

Written *
written_constants(Cx *cx, const Function *fn)
{
	Written *w = new(cx->arena, Written, 1);

	w->cx = cx;
	find_in(w, alias_db(fn->prepared, cx->arena), fn->prepared->top);
	return w;
}

void
written_restore(const Written *w)
{
	for (int i = 0; i < w->at.n; i++)
		if (!w->was.at[i] || rt_writable(cx_rt(w->cx), w->at.at[i]) ||
		    rt_copy_into(cx_rt(w->cx), w->at.at[i], w->was.at[i]))
			out_of_memory();
}
