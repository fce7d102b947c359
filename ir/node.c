/*
 * Nodes and their blocks: inputs, outputs, attributes, order.
 *
 * Invariant: node n is in the use list of value v, with index i, exactly when n->in[i] == v. An unlinked node keeps its
 * uses until it is destroyed.
 *
 * Alias analysis and bailouts compare the order of nodes often. Therefore every node has a position that grows along
 * its block. Positions leave gaps. When a gap is used up, the nodes around it get new positions.
 */
#include "ir.h"

#include "../rt/ops/kernel.h"

#include <string.h>

static const int64_t POSITION_GAP = (int64_t)1 << 32, POSITION_ROOM = (int64_t)1 << 20, POSITION_END = (int64_t)1 << 61;

/* ---- making ------------------------------------------------------------------------------------- */

static Value *
value_new(Node *n, const Type *t)
{
	Value *v = new(n->graph->arena, Value, 1);

	v->type = t;
	v->node = n;
	v->id = n->graph->nvalue++;
	v->reg = -1;
	return v;
}

Node *
node_new(Graph *g, Symbol kind, Range at, int nout)
{
	Node *n = new(g->arena, Node, 1);

	n->graph = g;
	n->kind = kind;
	n->at = at;
	n->pc = -1;
	n->id = g->nnode++;
	for (int i = 0; i < nout; i++)
		node_add_output(n, &rt_type_tensor);
	return n;
}

Block *
node_add_block(Node *n)
{
	Block **sub = new(n->graph->arena, Block *, n->nsub + 1);

	for (int i = 0; i < n->nsub; i++)
		sub[i] = n->sub[i];
	n->sub = sub;
	return n->sub[n->nsub++] = block_new(n->graph, n);
}

Value *
block_add_input(Block *b, const Type *t, Symbol name)
{
	Value *v = node_add_output(b->param, t);

	v->name = name;
	return v;
}

void
block_remove_input(Block *b, int i)
{
	node_remove_output(b->param, i);
}

void
block_add_output(Block *b, Value *v)
{
	node_add_input(b->ret, v);
}

void
block_remove_output(Block *b, int i)
{
	node_remove_input(b->ret, i);
}

/* ---- order -------------------------------------------------------------------------------------- */

/* Gives `count` nodes from `first` on evenly spaced positions between low and high, which are positions of other
 * nodes. */
static void
spread_positions(Node *first, int64_t count, int64_t low, int64_t high)
{
	const int64_t step = (high - low) / (count + 1);

	for (; count-- > 0; first = first->next)
		first->position = low += step;
}

/* Makes room between a node and its neighbour with the adjacent position. Gives new positions to the nodes around it,
 * to twice as many in each try, until there is room. An insertion thus costs O(log n) on average, wherever nodes are
 * inserted. */
static void
make_room(Node *n)
{
	const Block *b = n->block;
	Node *first = n, *last = n;
	int64_t count = 1, low, high;

	for (int64_t wanted = 32;; wanted *= 2) {
		for (; count < wanted && (first->prev != b->ret || last->next != b->ret); count++)
			if (first->prev != b->ret && (count % 2 || last->next == b->ret))
				first = first->prev;
			else
				last = last->next;
		low = first->prev == b->ret ? -POSITION_END : first->prev->position;
		high = last->next == b->ret ? POSITION_END : last->next->position;
		if (count < wanted || (high - low) / (count + 1) >= POSITION_ROOM)
			break;
	}
	spread_positions(first, count, low, high);
}

static void
take_position(Node *n)
{
	const Block *b = n->block;
	const bool first = n->prev == b->ret, last = n->next == b->ret;

	if (first && last) {
		n->position = 0;
	} else if (last && n->prev->position < POSITION_END - POSITION_GAP) {
		n->position = n->prev->position + POSITION_GAP;
	} else if (first && n->next->position > POSITION_GAP - POSITION_END) {
		n->position = n->next->position - POSITION_GAP;
	} else if (!first && !last && n->next->position - n->prev->position > 1) {
		n->position = n->prev->position + (n->next->position - n->prev->position) / 2;
	} else {
		make_room(n);
	}
}

static void
link_between(Node *n, Node *prev, Node *next)
{
	if (n->block)
		BUG("%s is inserted twice", n->kind->name);
	if (n->graph != next->graph)
		BUG("%s is inserted into another graph", n->kind->name);
	n->block = next->block;
	n->prev = prev;
	n->next = next;
	prev->next = next->prev = n;
	take_position(n);
}

void
node_insert_before(Node *n, Node *at)
{
	link_between(n, at->prev, at);
}

void
node_insert_after(Node *n, Node *at)
{
	/* After the param node means before the first node of the block. */
	if (at == at->block->param)
		at = at->block->ret;
	link_between(n, at, at->next);
}

void
node_append(Node *n, Block *b)
{
	node_insert_before(n, b->ret);
}

static void
node_unlink(Node *n)
{
	Graph *g = n->graph;

	if (!n->block)
		return;
	if (g->at_node == n)
		graph_set_insert_before(g, n->next);
	n->prev->next = n->next;
	n->next->prev = n->prev;
	n->block = NULL;
	n->prev = n->next = NULL;
}

void
node_move_before(Node *n, Node *at)
{
	if (n == at)
		return;
	node_unlink(n);
	node_insert_before(n, at);
}

void
node_move_after(Node *n, Node *at)
{
	if (n == at)
		return;
	node_unlink(n);
	node_insert_after(n, at);
}

static int
depth_of(const Node *n)
{
	int d = 0;

	for (; n->block && n->block->owner; n = n->block->owner)
		d++;
	return d;
}

bool
node_is_before(const Node *a, const Node *b)
{
	int da = depth_of(a), db = depth_of(b);

	if (a == b)
		return false;
	for (; da > db; da--)
		a = a->block->owner;
	for (; db > da; db--)
		b = b->block->owner;
	while (a->block != b->block) {
		/* Of two blocks of one node, the earlier block counts as running first, also if only one of them
		 * runs. */
		if (a->block->owner == b->block->owner)
			for (int i = 0; i < a->block->owner->nsub; i++) {
				if (a->block->owner->sub[i] == a->block)
					return true;
				if (a->block->owner->sub[i] == b->block)
					return false;
			}
		a = a->block->owner;
		b = b->block->owner;
	}
	return a->position < b->position;
}

bool
node_in_block(const Node *n, const Block *b)
{
	return block_owner_in(n, b) != NULL;
}

/* ---- inputs and outputs ---------------------------------------------------------------------------- */

static Use *
use_of(const Node *n, int i)
{
	Use *u = &n->in[i]->uses.at[n->use[i]];

	if (n->use[i] >= n->in[i]->uses.n || u->node != n || u->index != i)
		BUG("input %d of %s is not among the uses of its value", i, n->kind->name);
	return u;
}

/* Removes a use from the value's list. The last use of the list moves to its index. */
static void
drop_use(const Node *n, int i)
{
	Use *u = use_of(n, i);

	RT_ASSERT(n->in[i]->uses.n > 0);
	*u = vec_last(&n->in[i]->uses);
	u->node->use[u->index] = n->use[i];
	n->in[i]->uses.n--;
}

static void
add_use(Node *n, int i, Value *v)
{
	RT_ASSERT(v->node && i < n->nin);
	n->in[i] = v;
	n->use[i] = v->uses.n;
	vec_push(n->graph->arena, &v->uses, ((Use){ n, i }));
}

Value *
node_add_input(Node *n, Value *v)
{
	if (n->nin == n->in_cap) {
		vec_grow(n->graph->arena, (void **)&n->in, &n->in_cap, sizeof *n->in);
		vec_grow(n->graph->arena, (void **)&n->use, &n->use_cap, sizeof *n->use);
	}
	n->nin++;
	add_use(n, n->nin - 1, v);
	return v;
}

void
node_set_input(Node *n, int i, Value *v)
{
	if (n->in[i] == v)
		return;
	drop_use(n, i);
	add_use(n, i, v);
}

int
node_input_index(const Node *n, const Value *v)
{
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] == v)
			return i;
	return -1;
}

void
node_remove_input(Node *n, int at)
{
	drop_use(n, at);
	for (int i = at + 1; i < n->nin; i++) {
		use_of(n, i)->index = i - 1;
		n->in[i - 1] = n->in[i];
		n->use[i - 1] = n->use[i];
	}
	n->nin--;
}

/* Adds an output. The array doubles when the count is a power of two. */
Value *
node_add_output(Node *n, const Type *t)
{
	Value *v = value_new(n, t);

	if ((n->nout & (n->nout - 1)) == 0) {
		Value **out = new(n->graph->arena, Value *, n->nout ? 2 * n->nout : 1);

		for (int i = 0; i < n->nout; i++)
			out[i] = n->out[i];
		n->out = out;
	}
	v->index = n->nout;
	return n->out[n->nout++] = v;
}

void
node_remove_output(Node *n, int at)
{
	if (n->out[at]->uses.n)
		BUG("output %d of %s is removed while it is used", at, n->kind->name);
	for (int i = at + 1; i < n->nout; i++) {
		n->out[i - 1] = n->out[i];
		n->out[i - 1]->index = i - 1;
	}
	n->nout--;
}

static void
drop_block(Block *b)
{
	while (b->ret->nin)
		node_remove_input(b->ret, b->ret->nin - 1);
	for NODES_REV(n, b)
		node_destroy(n);
}

void
node_destroy(Node *n)
{
	for (int i = 0; i < n->nsub; i++)
		drop_block(n->sub[i]);
	for (int i = 0; i < n->nout; i++)
		if (n->out[i]->uses.n)
			BUG("%s is destroyed while its output %d is used by %s", n->kind->name, i,
			    n->out[i]->uses.at[0].node->kind->name);
	while (n->nin)
		node_remove_input(n, n->nin - 1);
	node_unlink(n);
}

/* ---- attributes ---------------------------------------------------------------------------------------- */

Attr *
node_attr(const Node *n, const char *name)
{
	for (int i = 0; i < n->attrs.n; i++)
		if (sym_is(n->attrs.at[i].name, name))
			return &n->attrs.at[i];
	return NULL;
}

Attr *
node_attr_new(Node *n, const char *name, AttrKind kind)
{
	Attr *a = node_attr(n, name);

	if (!a) {
		vec_push(n->graph->arena, &n->attrs, (Attr){0});
		a = &vec_last(&n->attrs);
	}
	*a = (Attr){ .name = sym(n->graph->cx, name), .kind = kind };
	return a;
}

void
node_set_value(Node *n, const char *name, IValue v)
{
	node_attr_new(n, name, ATTR_VALUE)->v = v;
}

void
node_set_int(Node *n, const char *name, int64_t i)
{
	node_set_value(n, name, rt_int(i));
}

void
node_set_str(Node *n, const char *name, const char *s)
{
	node_set_value(n, name, value_str(n->graph->cx, s, -1));
}

int64_t
node_int(const Node *n, const char *name, int64_t absent)
{
	const Attr *a = node_attr(n, name);

	return a && a->kind == ATTR_VALUE && (a->v.tag == RT_INT || a->v.tag == RT_BOOL) ? a->v.u.i : absent;
}

const char *
node_str(const Node *n, const char *name)
{
	const Attr *a = node_attr(n, name);

	return a && a->kind == ATTR_VALUE && a->v.tag == RT_STR ? a->v.u.str->s : NULL;
}

/* ---- questions ------------------------------------------------------------------------------------------- */

bool
node_computes(const Node *n, Symbol kind)
{
	Cx *cx = n->graph->cx;

	return node_is(n, kind) || (n->op && n->op->form == OP_ALSO && n->nin && node_writes_input(n, 0) &&
				    sym(cx, op_by_id(cx, n->op->base)->name) == kind);
}

bool
node_is_loose(const Node *n)
{
	return node_is(n, aten_items);
}

Function *
node_function(const Node *n)
{
	const Attr *a = node_attr(n, "function");

	if (a && a->kind == ATTR_FUNCTION)
		return a->fn;
	if (node_is(n, prim_Constant)) {
		a = node_attr(n, "name");
		return a && a->kind == ATTR_FUNCTION ? a->fn : NULL;
	}
	if (node_is(n, prim_CallMethod) && n->in[0]->type->kind == TYPE_CLASS)
		return class_method(class_info(n->in[0]->type), node_str(n, "name"));
	if (node_is(n, prim_CallFunction) && n->nin && node_is(n->in[0]->node, prim_Constant))
		return node_function(n->in[0]->node);
	return NULL;
}

const Schema *
node_schema(const Node *n)
{
	return n->op ? op_schema(n->graph->cx, n->op) : NULL;
}

bool
node_writes_input(const Node *n, int i)
{
	const Schema *s = node_schema(n);

	return s && i < s->nargs && s->args[i].alias && s->args[i].alias->write;
}

bool
node_writes(const Node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (node_writes_input(n, i))
			return true;
	return false;
}

int
schema_find(const Schema *s, const char *name)
{
	for (int i = 0; i < s->nargs; i++)
		if (!strcmp(s->args[i].name, name))
			return i;
	return -1;
}

Value *
node_arg(const Node *n, const char *name)
{
	const Schema *s = node_schema(n);
	const int i = s ? schema_find(s, name) : -1;

	return i >= 0 && i < n->nin ? n->in[i] : NULL;
}

/* Kinds that are no operators and must keep their order. */
static const Symbol effect_kinds[] = {
	prim_CallMethod, prim_CallFunction, prim_SetAttr, prim_RaiseException, prim_Print, prim_fork,
	prim_awaitable, prim_Enter, prim_Exit, prim_BailOut, prim_BailoutTemplate, prim_AddStatValue,
	prim_TimePoint, prim_PythonOp, prim_IgnoredPythonOp, prim_forkClosure, aten_wait,
	prim_awaitable_wait,
};

bool
node_has_effect(const Node *n)
{
	if (n->op && n->op->effect != EFFECT_PURE)
		return true;
	for (size_t i = 0; i < sizeof effect_kinds / sizeof *effect_kinds; i++)
		if (n->kind == effect_kinds[i])
			return true;
	return false;
}

/* Returns the divisor if it is a constant number or 0-d tensor. Else None. */
static IValue
constant_divisor(const Value *by)
{
	RtCx *cx = cx_rt(by->node->graph->cx);
	IValue v;

	if (!value_constant(by, &v))
		return rt_none();
	if (v.tag != RT_TENSOR)
		return v;
	return v.u.t->ndim || v.u.t->dtype == RT_u64 || !tensor_has_data(v.u.t) || v.u.t->storage->written ? rt_none()
		: rt_item(cx, v.u.t);
}

/* Row of the pointwise operator that the node is, or is a form of. Null if there is none. */
static const Op *
map_row(const Node *n)
{
	const Op *op = n->op && n->op->form == OP_ALSO ? op_by_id(n->block->graph->cx, n->op->base) : n->op;

	return op && op->form == OP_MAP ? op : NULL;
}

/* A constant divisor is safe if it is not zero after conversion to the result's dtype. */
bool
node_may_divide_by_zero(const Node *n)
{
	const Op *row = map_row(n);
	const Value *by = row && strchr(row->domain, 'Z') ? node_arg(n, "other") : NULL;
	const TensorInfo *t = by ? n->out[0]->type->tensor : NULL;
	IValue v;

	if (!by || (t && t->dtype >= 0 && rt_dtypes[t->dtype].category == 'F'))
		return false;
	v = constant_divisor(by);
	if (v.tag == RT_INT && t && t->dtype >= 0 && rt_dtypes[t->dtype].bytes < 8)
		return !(v.u.i & (((int64_t)1 << 8 * rt_dtypes[t->dtype].bytes) - 1));
	return v.tag == RT_INT ? !v.u.i : v.tag != RT_DOUBLE || !(v.u.f <= -1 || v.u.f >= 1);
}

/* Constants are checked where the type is inferred. The kernel checks other numbers at run time. */
bool
node_may_overflow(const Node *n)
{
	const Op *row = map_row(n);
	const TensorInfo *t = row ? n->out[0]->type->tensor : NULL;
	RtMapArg arg[RT_MAP_MAX];
	IValue v;

	if (!t || t->dtype < 0)
		return false;
	for (int i = 0, k = rt_map_args(row->text, arg); i < k; i++)
		if (!rt_map_holds(&arg[i], (RtDtype)t->dtype) && !value_constant(n->in[arg[i].arg], &v))
			return true;
	return false;
}

bool
node_may_refuse_data(const Node *n)
{
	if (op_has(n->op, TRAIT_CONVERTS) && n->in[0]->type->kind != TYPE_STR)
		return false;
	return op_has(n->op, TRAIT_CHECKS_DATA) || node_is(n, prim_ListUnpack) || node_may_divide_by_zero(n) ||
	       node_may_overflow(n);
}

/* Dropout draws numbers only if `train` is set, attention only if `dropout_p` is not 0. */
bool
node_is_nondeterministic(const Node *n)
{
	const Value *train, *dropped;
	IValue v;

	if (!n->op || n->op->effect != EFFECT_RANDOM)
		return false;
	train = node_arg(n, "train");
	dropped = node_arg(n, "dropout_p");
	return !(train && value_constant(train, &v) && v.tag == RT_BOOL && !v.u.i) &&
	       !(dropped && value_constant(dropped, &v) && v.tag == RT_DOUBLE && v.u.f == 0);
}

/* ---- blocks, insertion points and constants ---------------------------------------------------------------------- */

Block *
block_new(Graph *g, Node *owner)
{
	Block *b = new(g->arena, Block, 1);

	b->graph = g;
	b->owner = owner;
	b->param = node_new(g, sym(g->cx, "prim::Param"), (Range){0}, 0);
	b->ret = node_new(g, sym(g->cx, "prim::Return"), (Range){0}, 0);
	b->param->block = b->ret->block = b;
	b->param->position = INT64_MIN;
	b->ret->position = INT64_MAX;
	b->ret->next = b->ret->prev = b->ret;
	return b;
}

Node *
block_owner_in(const Node *n, const Block *b)
{
	while (n && n->block != b)
		n = n->block ? n->block->owner : NULL;
	return (Node *)n;
}

void
graph_set_insert_before(Graph *g, Node *at)
{
	g->at_block = at->block;
	g->at_node = at;
}

bool
value_constant(const Value *v, IValue *out)
{
	const Attr *a;

	if (!sym_is(v->node->kind, "prim::Constant"))
		return false;
	a = node_attr(v->node, "value");
	if (a && a->kind != ATTR_VALUE)
		return false;
	if (!a && v->node->attrs.n)
		return false;
	*out = a ? a->v : rt_none();
	return true;
}
