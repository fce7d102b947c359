/* codegen/cli/dot.c - writes a graph for graphviz
 *
 * A node is a box, a value an edge with its name, a nested block a cluster. A block's parameters come from a point
 * named after the block, which shows the values that enter and leave loops. Constants have no box: their text is in the
 * box that uses them. */
#include "cli.h"

#include <string.h>

enum { CONSTANT_TEXT = 40 };

static void
put_quoted(Buf *b, const char *text, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		if (text[i] == '"' || text[i] == '\\')
			buf_puts(b, "\\");
		if (text[i] == '\n')
			buf_puts(b, "\\n");
		else
			buf_add(b, &text[i], 1);
	}
}

static void
put_value_name(Buf *b, const Value *v)
{
	if (v->name)
		put_quoted(b, v->name->name, v->name->n);
	else
		buf_printf(b, "%d", v->id);
}

/* Writes a node's label: its kind and its constant inputs. */
static void
put_label(Graph *g, Buf *b, const Node *n)
{
	Buf c = { 0 };
	IValue v;

	put_quoted(b, n->kind->name, n->kind->n);
	for (int i = 0; i < n->nin; i++) {
		if (!value_constant(n->in[i], &v))
			continue;
		c.n = 0;
		value_print(g->cx, v, &c);
		buf_puts(b, "\\n");
		put_quoted(b, c.at, c.n < CONSTANT_TEXT ? c.n : CONSTANT_TEXT);
		buf_puts(b, c.n < CONSTANT_TEXT ? "" : "...");
	}
	buf_free(&c);
}

static void
put_edges(Buf *b, const Node *n)
{
	IValue constant;

	for (int i = 0; i < n->nin; i++) {
		if (value_constant(n->in[i], &constant))
			continue;
		buf_printf(b, "\tn%d -> n%d [label=\"", n->in[i]->node->id, n->id);
		put_value_name(b, n->in[i]);
		buf_puts(b, "\", tooltip=\"");
		put_quoted(b, type_print(n->graph->cx, n->in[i]->type),
			   (int64_t)strlen(type_print(n->graph->cx, n->in[i]->type)));
		buf_puts(b, "\"];\n");
	}
}

static void
put_block(Graph *g, Buf *b, const Block *block)
{
	buf_printf(b, "\tn%d [label=\"in\", shape=point];\n\tn%d [label=\"%s\", shape=plaintext];\n", block->param->id,
		   block->ret->id, block->owner ? "out" : "return");
	for NODES(n, block) {
		if (node_is(n, prim_Constant))
			continue;
		buf_printf(b, "\tn%d [label=\"", n->id);
		put_label(g, b, n);
		buf_puts(b, "\"];\n");
		put_edges(b, n);
		for (int i = 0; i < n->nsub; i++) {
			buf_printf(b, "\tsubgraph cluster_%d_%d {\n\tlabel=\"%s block%d\";\n", n->id, i, n->kind->name,
				   i);
			put_block(g, b, n->sub[i]);
			buf_puts(b, "\t}\n");
		}
	}
	put_edges(b, block->ret);
}

void
graph_dot(Graph *g, Buf *b)
{
	buf_puts(b, "digraph \"");
	put_quoted(b, g->name ? g->name : "", (int64_t)strlen(g->name ? g->name : ""));
	buf_puts(b,
		 "\" {\n\tnode [shape=box, fontname=\"monospace\"];\n\tedge [fontname=\"monospace\", fontsize=10];\n");
	put_block(g, b, g->top);
	buf_puts(b, "}\n");
}
