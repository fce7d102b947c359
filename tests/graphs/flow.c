/* Statements with blocks: branches, loops, values that may be None or have one of two types, tasks, checks. */
#include "gen.h"

Mark
enter(Gen *x, Block *b)
{
	const Pools *p = &x->in;
	const Mark m = { p->tens.n, p->seqs.n, p->nests.n, p->dics.n, p->rows.n, p->tasks.n, p->ints.n, p->bools.n,
		p->floats.n };

	graph_set_insert_end(x->g, b);
	x->depth++;
	return m;
}

void
leave(Gen *x, Mark m)
{
	Pools *p = &x->in;

	p->tens.n = m.tens, p->seqs.n = m.seqs, p->nests.n = m.nests, p->dics.n = m.dics, p->rows.n = m.rows;
	p->tasks.n = m.tasks, p->ints.n = m.ints, p->bools.n = m.bools, p->floats.n = m.floats;
	x->depth--;
}

Node *
if_at(Gen *x, Value *cond)
{
	return graph_emit(x->g, "prim::If", nowhere, 1, &cond, 0);
}

static Value *
cast(Gen *x, Value *v, const Type *to)
{
	Node *n = graph_emit(x->g, "prim::unchecked_cast", nowhere, 1, &v, 1);

	n->out[0]->type = to;
	return n->out[0];
}

/* ---- branches ------------------------------------------------------------------------------------------------ */

static Value *
pair_of(Gen *x, Value *a, Value *b)
{
	const Type *types[2] = { a->type, b->type };
	Node *n = graph_emit(x->g, "prim::TupleConstruct", nowhere, 2, (Value *[]){ a, b }, 1);

	n->out[0]->type = type_tuple(x->cx, types, 2);
	return n->out[0];
}

/* Puts the tensor and the int of which the tuple v consists in scope. */
static void
put_pair(Gen *x, Value *v, Ten t)
{
	Node *n = graph_emit(x->g, "prim::TupleUnpack", nowhere, 1, &v, 2);

	n->out[1]->type = &rt_type_int;
	put(x, n->out[0], t);
	PUSH(x, ints, n->out[1]);
}

void
branch(Gen *x)
{
	Block *const around = x->g->at_block;
	Node *n = if_at(x, any_bool(x));
	Ten t = any(x);
	const bool tensor = chance(x, 80), integer_too = chance(x, 50), tuple_ = chance(x, 15),
		   lists = x->in.seqs.n && chance(x, 15);
	const int which = lists ? below(x, x->in.seqs.n) : 0;
	Value *p = NULL;

	for (int i = 0; i < 2; i++) {
		const Mark m = enter(x, node_add_block(n));
		Ten end;

		statements(x, below(x, 5));
		end = like(x, t);
		t.spread |= end.spread;
		t.rough |= end.rough;
		if (tuple_)
			p = pair_of(x, end.v, any_int(x));
		if (tensor)
			block_add_output(n->sub[i], end.v);
		if (integer_too)
			block_add_output(n->sub[i], any_int(x));
		if (tuple_)
			block_add_output(n->sub[i], p);
		if (lists)
			block_add_output(n->sub[i], x->in.seqs.at[which].v);
		leave(x, m);
	}
	graph_set_insert_end(x->g, around);
	if (tensor)
		put(x, node_add_output(n, &rt_type_tensor), t);
	if (integer_too)
		PUSH(x, ints, node_add_output(n, &rt_type_int));
	if (tuple_)
		p = node_add_output(n, p->type);
	if (lists) {
		Seq s = x->in.seqs.at[which];

		x->in.seqs.at[which].shared = s.shared = true;
		s.v = node_add_output(n, s.v->type);
		PUSH(x, seqs, s);
	}
	if (tuple_)
		put_pair(x, p, t);
}

/* ---- loops --------------------------------------------------------------------------------------------------- */

typedef enum Carried { TENSOR, INTEGER, PAIR, LIST, OPTIONAL, NCARRIED } Carried;

static Value *
trips(Gen *x)
{
	if (chance(x, 60))
		return number(x, below(x, 4));
	return CALL(x, "prim::min", CALL(x, "prim::abs", any_int(x)), number(x, 3));
}

/* Returns a value of the kind that a loop may carry.  Tensors in it are like t. */
static Value *
carried(Gen *x, Carried kind, Ten t, bool own)
{
	Value *v[2];
	Ten a = kind == INTEGER ? t : like(x, t);

	if (a.spread || own)
		a.v = CALL(x, "aten::clone", a.v);
	switch (kind) {
	case TENSOR:
		return a.v;
	case INTEGER:
		return any_int(x);
	case PAIR:
		return pair_of(x, a.v, any_int(x));
	case LIST:
		v[0] = v[1] = a.v;
		return list_of(x, &rt_type_tensor, 1 + below(x, 2), v);
	default:
		return chance(x, 50) ? a.v : graph_constant_typed(x->g, rt_none(), &rt_type_none, nowhere);
	}
}

/* Puts a carried value in scope.  A None is replaced by a tensor like t. */
static void
put_carried(Gen *x, Carried kind, Value *v, Ten t)
{
	Block *const around = x->g->at_block;
	Node *n;

	switch (kind) {
	case TENSOR:
		put(x, v, t);
		return;
	case INTEGER:
		PUSH(x, ints, v);
		return;
	case PAIR:
		put_pair(x, v, t);
		return;
	case LIST:
		PUSH(x, seqs, (Seq){ .v = v, .like = t, .least = 1, .depth = x->depth, .shared = true });
		return;
	default:
		n = if_at(x, CALL(x, "aten::__isnot__", v, constant(x, rt_none())));
		graph_set_insert_end(x->g, node_add_block(n));
		block_add_output(n->sub[0], cast(x, v, &rt_type_tensor));
		graph_set_insert_end(x->g, node_add_block(n));
		block_add_output(n->sub[1], t.v);
		graph_set_insert_end(x->g, around);
		put(x, node_add_output(n, &rt_type_tensor), t);
	}
}

/* Emits a loop that carries some of the kinds.  It often has no trips. */
void
loop(Gen *x)
{
	Block *const around = x->g->at_block;
	Value *max = trips(x), *go = chance(x, 75) ? constant(x, rt_bool(true)) : any_bool(x), *first[NCARRIED], *end;
	const Ten t0 = any(x);
	Ten t = t0;
	const bool tensors = !t.spread;
	Carried kind[NCARRIED];
	Node *n;
	Mark m;
	int c = 0;

	t.rough |= category(t) != 'I' && category(t) != 'B';
	for (Carried k = TENSOR; k < NCARRIED; k++)
		if ((tensors || k == INTEGER) && chance(x, k == TENSOR ? 70 : k == INTEGER ? 50 : 15))
			kind[c++] = k;
	for (int i = 0; i < c; i++)
		first[i] = kind[i] == TENSOR && !x->tame ? t.v : carried(x, kind[i], t0, x->tame);
	n = loop_new(x->g, nowhere, max, go);
	graph_insert(x->g, n);
	for (int i = 0; i < c; i++) {
		loop_add_carried(n, first[i], NULL);
		if (kind[i] == OPTIONAL)
			n->out[i]->type = loop_body(n)->param->out[1 + i]->type = type_optional(x->cx, &rt_type_tensor);
	}
	m = enter(x, loop_body(n));
	PUSH(x, ints, loop_index(n));
	for (int i = 0; i < c; i++)
		put_carried(x, kind[i], loop_body(n)->param->out[1 + i], t);
	statements(x, 1 + below(x, 5));
	block_add_output(loop_body(n), chance(x, 75) ? constant(x, rt_bool(true)) : any_bool(x));
	for (int i = 0; i < c; i++) {
		end = carried(x, kind[i], t, x->tame);
		block_add_output(loop_body(n), end);
	}
	leave(x, m);
	graph_set_insert_end(x->g, around);
	for (int i = 0; i < c; i++)
		put_carried(x, kind[i], n->out[i], t);
}

/* ---- what may be None, or of two types --------------------------------------------------------------------------- */

/* Emits a value that is a tensor or None, and a branch for each. */
void
optional(Gen *x)
{
	const Ten a = any(x), b = like(x, a);
	Block *const around = x->g->at_block;
	Node *n = if_at(x, any_bool(x));
	Ten out = b;

	graph_set_insert_end(x->g, node_add_block(n));
	block_add_output(n->sub[0], a.v);
	graph_set_insert_end(x->g, node_add_block(n));
	block_add_output(n->sub[1], graph_constant_typed(x->g, rt_none(), &rt_type_none, nowhere));
	graph_set_insert_end(x->g, around);
	out.spread |= a.spread;
	out.rough |= a.rough;
	put_carried(x, OPTIONAL, node_add_output(n, type_optional(x->cx, &rt_type_tensor)), out);
}

/* Emits a value that is a tensor or an int, and distinguishes them again. */
void
either(Gen *x)
{
	const Type *types[2] = { &rt_type_int, &rt_type_tensor }, **asked = new(x->cx->arena, const Type *, 1);
	Block *const around = x->g->at_block;
	const Ten a = any(x);
	Ten out = a;
	Value *v, *i = any_int(x);
	Node *n = if_at(x, any_bool(x)), *is;
	Attr *attr;

	block_add_output(node_add_block(n), a.v);
	block_add_output(node_add_block(n), i);
	v = node_add_output(n, type_union(x->cx, types, 2));
	is = graph_emit(x->g, "prim::isinstance", nowhere, 1, &v, 1);
	is->out[0]->type = &rt_type_bool;
	attr = node_attr_new(is, "types", ATTR_TYPES);
	asked[0] = &rt_type_tensor;
	attr->types = asked;
	attr->ntypes = 1;
	n = if_at(x, is->out[0]);
	graph_set_insert_end(x->g, node_add_block(n));
	block_add_output(n->sub[0], cast(x, v, &rt_type_tensor));
	block_add_output(n->sub[0], i);
	graph_set_insert_end(x->g, node_add_block(n));
	block_add_output(n->sub[1], CALL(x, "aten::clone", a.v));
	block_add_output(n->sub[1], cast(x, v, &rt_type_int));
	graph_set_insert_end(x->g, around);
	put(x, node_add_output(n, &rt_type_tensor), out);
	PUSH(x, ints, node_add_output(n, &rt_type_int));
}

/* ---- tasks and checks -------------------------------------------------------------------------------------------- */

/* Emits a task with a graph of its own, which works on copies of three values: no other code writes to them
 * meanwhile. */
void
task(Gen *x)
{
	Ten in[2] = { any(x), any(x) };
	Value *given[3] = { CALL(x, "aten::clone", in[0].v), CALL(x, "aten::clone", in[1].v), any_int(x) },
	      *self = x->self;
	Graph *const outer = x->g;
	const Pools pools = x->in;
	const bool rough = x->rough;
	Ten out;
	Node *n;

	x->g = graph_new(x->cx, "task");
	x->in = (Pools){ 0 };
	x->self = NULL;
	x->depth++;
	for (int i = 0; i < 2; i++) {
		in[i].spread = false;
		put(x, graph_add_input(x->g, &rt_type_tensor, NULL), in[i]);
	}
	PUSH(x, ints, graph_add_input(x->g, &rt_type_int, NULL));
	graph_set_insert_end(x->g, x->g->top);
	statements(x, 1 + below(x, 5));
	out = any(x);
	graph_add_output(x->g, out.v);
	n = graph_emit(outer, "prim::fork", nowhere, 3, given, 1);
	node_attr_new(n, "Subgraph", ATTR_GRAPH)->g = x->g;
	n->out[0]->type = type_future(x->cx, &rt_type_tensor);
	x->g = outer;
	x->in = pools;
	x->self = self;
	x->depth--;
	x->rough = rough;
	PUSH(x, tasks, (Task){ n->out[0], out });
}

/* Waits for a task.  Two waits give one tensor two names. */
void
wait(Gen *x)
{
	Task t;

	if (!x->in.tasks.n)
		return;
	t = x->in.tasks.at[below(x, x->in.tasks.n)];
	put(x, graph_emit(x->g, "aten::wait", nowhere, 1, &t.v, 1)->out[0], t.like);
}

/* Emits an assert, which seldom fails. */
void
check(Gen *x)
{
	Value *ok = CALL(x, "aten::lt", any_int(x), number(x, 5 + below(x, 20)));
	Block *const around = x->g->at_block;
	Node *n = if_at(x, ok);
	Value *in[2];

	node_add_block(n);
	graph_set_insert_end(x->g, node_add_block(n));
	in[0] = constant(x, value_str(x->cx, "AssertionError: too large", -1));
	in[1] = graph_constant_typed(x->g, rt_none(), &rt_type_none, nowhere);
	graph_emit(x->g, "prim::RaiseException", nowhere, 2, in, 0);
	graph_set_insert_end(x->g, around);
}
