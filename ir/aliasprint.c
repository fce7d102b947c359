/*
 * Prints the alias database: for every mutable value, which others may share its memory, and whether the graph writes
 * to it or to its members. Names are those of the graph's own print.
 */
#include "ir.h"

typedef struct Values { Vec(const Value *) at; } Values;

static void
collect(Graph *g, const Block *b, Values *out)
{
	for (int i = 0; i < b->param->nout; i++)
		if (type_is_mutable(b->param->out[i]->type))
			vec_push(g->arena, &out->at, b->param->out[i]);
	for NODES(n, b) {
		for (int i = 0; i < n->nout; i++)
			if (type_is_mutable(n->out[i]->type) && !node_is(n, prim_Constant))
				vec_push(g->arena, &out->at, n->out[i]);
		for (int i = 0; i < n->nsub; i++)
			collect(g, n->sub[i], out);
	}
}

void
alias_print(AliasDb *db, Graph *g, Buf *out)
{
	const char *const *name = graph_names(g);
	Values values = { 0 };

	collect(g, g->top, &values);
	for (int i = 0; i < values.at.n; i++) {
		const Value *v = values.at.at[i];

		buf_printf(out, "%%%s:%s%s", name[v->id], alias_is_written(db, v) ? " written" : "",
			alias_has_writers(db, v) && !alias_is_written(db, v) ? " contains what is written" : "");
		for (int k = 0; k < values.at.n; k++)
			if (k != i && alias_may(db, v, values.at.at[k]))
				buf_printf(out, " %%%s", name[values.at.at[k]->id]);
		buf_puts(out, "\n");
	}
}
