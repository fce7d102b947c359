/*
 * Graphs and blocks: making, cloning, the insertion point, constants.
 *
 * A block's nodes form a ring through its return node, so that ret->next is the first node and ret->prev the last.  The
 * param node is not in the ring.  Cloning maps values by the id that they have in the source graph, so a map must not
 * be shared between clones of different graphs.
 */
#include "ir.h"

enum { KEY_SIZE = 16 };

static const char *
value_key(char *buf, const Value *v)
{
	snprintf(buf, KEY_SIZE, "%%%d", v->id);
	return buf;
}

Graph *
graph_new(Cx *cx, const char *name)
{
	Graph *g = new(cx->arena, Graph, 1);

	g->cx = cx;
	g->arena = cx->arena;
	g->name = name;
	g->top = block_new(g, NULL);
	graph_set_insert_end(g, g->top);
	return g;
}

Value *
graph_cloned(Map *values, const Value *v)
{
	char key[KEY_SIZE];

	return map_get(values, value_key(key, v));
}

void
graph_set_cloned(Map *values, const Value *from, Value *to)
{
	char key[KEY_SIZE];

	map_put(values, arena_strdup(values->arena, value_key(key, from)), to);
}

static Value *
mapped(Map *values, Value *v)
{
	Value *to = graph_cloned(values, v);

	return to ? to : v;
}

static void
copy_value(Map *values, const Value *from, Value *to)
{
	to->type = from->type;
	to->name = from->name;
	graph_set_cloned(values, from, to);
}

static void
clone_block_into(Block *to, const Block *from, Map *values)
{
	for (int i = 0; i < from->param->nout; i++)
		copy_value(values, from->param->out[i], block_add_input(to, &rt_type_any, NULL));
	for NODES(n, from)
		node_append(node_clone(to->graph, n, values), to);
	for (int i = 0; i < from->ret->nin; i++)
		block_add_output(to, mapped(values, from->ret->in[i]));
	to->ret->at = from->ret->at;
}

static void
clone_attrs(Node *to, const Node *from)
{
	for (int i = 0; i < from->attrs.n; i++) {
		Attr a = from->attrs.at[i];

		if (a.kind == ATTR_GRAPH)
			a.g = graph_clone(a.g, NULL);
		vec_push(to->graph->arena, &to->attrs, a);
	}
}

Node *
node_clone(Graph *to, Node *n, Map *values)
{
	Map own = { .arena = to->arena };
	Node *c = node_new(to, n->kind, n->at, n->nout);

	if (!values)
		values = &own;
	c->op = n->op;
	c->inlined = n->inlined;
	for (int i = 0; i < n->nin; i++)
		node_add_input(c, mapped(values, n->in[i]));
	for (int i = 0; i < n->nout; i++)
		copy_value(values, n->out[i], c->out[i]);
	clone_attrs(c, n);
	cx_enter(to->cx, n->at);
	for (int i = 0; i < n->nsub; i++)
		clone_block_into(node_add_block(c), n->sub[i], values);
	cx_leave(to->cx);
	return c;
}

Graph *
graph_clone(Graph *g, Map *values)
{
	Map own = { .arena = g->arena };
	Graph *c = graph_new(g->cx, g->name);

	clone_block_into(c->top, g->top, values ? values : &own);
	return c;
}

Value *
graph_add_input(Graph *g, const Type *t, Symbol name)
{
	return block_add_input(g->top, t, name);
}

void
graph_add_output(Graph *g, Value *v)
{
	block_add_output(g->top, v);
}

void
graph_set_insert_end(Graph *g, Block *b)
{
	graph_set_insert_before(g, b->ret);
}

Node *
graph_insert(Graph *g, Node *n)
{
	node_insert_before(n, g->at_node);
	return n;
}

Node *
graph_emit(Graph *g, const char *kind, Range at, int nin, Value *const *in, int nout)
{
	Node *n = node_new(g, sym(g->cx, kind), at, nout);

	for (int i = 0; i < nin; i++)
		node_add_input(n, in[i]);
	return graph_insert(g, n);
}

Value *
graph_emit_op(Graph *g, const char *name, Range at, int nin, Value *const *in, const Type *t)
{
	Op *op = op_named(g->cx, name);
	Node *n = graph_emit(g, op->name, at, nin, in, 1);

	n->op = op;
	n->out[0]->type = t;
	return n->out[0];
}

Value *
graph_uninitialized(Graph *g, const Type *t, Range at)
{
	Node *n = graph_emit(g, "prim::Uninitialized", at, 0, NULL, 1);

	n->out[0]->type = t;
	return n->out[0];
}

Value *
graph_constant_typed(Graph *g, IValue v, const Type *t, Range at)
{
	Node *n = graph_emit(g, "prim::Constant", at, 0, NULL, 1);

	if (!rt_is_none(v))
		node_set_value(n, "value", v);
	n->out[0]->type = t;
	return n->out[0];
}

Value *
graph_constant(Graph *g, IValue v, Range at)
{
	return graph_constant_typed(g, v, type_of_value(g->cx, v), at);
}
