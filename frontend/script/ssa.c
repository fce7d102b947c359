/* frontend/script/ssa.c - merges control flow: variables become outputs of If and Loop
 *
 * Both branches of an If are emitted first, each in a scope of its own. Then every name that one of them assigned
 * becomes an output. A branch that does not arrive at the end (it returned or raised) yields prim::Uninitialized, and
 * flags prevent its use. A name that only one of two arriving branches has cannot be used afterwards, and the error
 * gives the reason.
 *
 * A Loop carries the names that its body assigns, if they are bound outside. They are found in the tree before the body
 * is emitted. ssa_tidy removes outputs that nothing needs, and finishes the graph. */
#include "emit.h"

#include <string.h>

enum { WAYS_ARRIVE = WAY_FALL | WAY_BREAK | WAY_CONTINUE };      /* Ways after which later code reads the variables. */

static Value *
uninitialized(Emit *e, Range at, const Type *t)
{
	return emit_node(e, at, "prim::Uninitialized", t, 0, 0);
}

/* Emits an uninitialized value at the end of a branch's block, and returns to the current scope. */
static Value *
uninitialized_in(Emit *e, Range at, Block *b, const Type *t)
{
	Value *v;

	graph_set_insert_end(e->graph, b);
	v = uninitialized(e, at, t);
	scope_enter(e, e->scope);
	return v;
}

typedef struct Meet { Node *node; Range at; Branch yes, no; } Meet;      /* An If and its branches, both emitted. */

/* Adds an output to the If. A branch without a value yields an uninitialized one. */
static Value *
output(Emit *e, const Meet *m, Value *yes, Value *no, const Type *t, const char *name)
{
	Node *n = m->node;
	Value *out;

	if (!yes)
		yes = uninitialized_in(e, m->at, n->sub[0], t);
	if (!no)
		no = uninitialized_in(e, m->at, n->sub[1], t);
	block_add_output(n->sub[0], yes);
	block_add_output(n->sub[1], no);
	out = node_add_output(n, t);
	if (*name != '$')
		value_set_name(out, name);
	return out;
}

/* ---- If: ordinary variables ----------------------------------------------------------------------------- */

static const char *
branch_names(const Meet *m, const Branch *b)
{
	return b == &m->yes ? "true" : "false";
}

/* Returns the value of the variable at the end of a branch. Null if it is unbound or no value of the graph. */
static Value *
value_at_end(const Branch *b, const char *name)
{
	Binding *bound = scope_binding(b->scope, name);

	return bound && bound->sugar && bound->sugar->kind == SUGAR_VALUE ? bound->sugar->v : 0;
}

/* Merges a variable if only one branch arrives: its binding in that branch is used afterwards. */
static void
meet_alone(Emit *e, const Meet *m, const Branch *b, const char *name)
{
	Binding *here = scope_here(b->scope, name), *before;
	Sugar *s;
	Value *v;

	if (!here)
		return;
	s = here->sugar;
	if (!s) {
		scope_put_error(e, name, here->at, here->why);
	} else if (s->kind != SUGAR_VALUE) {
		if (s->v || s->n)
			scope_put_error(e, name, m->at,
					arena_printf(e->cx->arena, "%s is not a first-class value", name));
		else
			scope_put(e, name, s, false);
	} else if (here->refined) {
		before = scope_binding(e->scope, name);
		if (before && before->sugar && before->sugar->kind == SUGAR_VALUE)
			scope_put(e, name, sugar_value(e, emit_cast(e, m->at, before->sugar->v, s->v->type)), true);
	} else {
		v = output(e, m, b == &m->yes ? s->v : 0, b == &m->no ? s->v : 0, s->v->type, name);
		scope_put(e, name, sugar_value(e, v), false);
	}
}

/* Reports a variable that one branch lacks, or whose types do not unify. */
static void
meet_badly(Emit *e, const Meet *m, const char *name, Value *yes, Value *no)
{
	const char *why;

	if (!yes || !no)
		why = arena_printf(e->cx->arena, "%s is not defined in the %s branch", name,
			branch_names(m, yes ? &m->no : &m->yes));
	else
		why = arena_printf(e->cx->arena, "Type mismatch: %s is set to type %s in the true branch and type %s "
			"in the false branch", name, type_python(e->cx, yes->type), type_python(e->cx, no->type));
	if (yes && no && scope_binding(e->scope, name))
		fail(e->cx, m->at, "%s", why);
	scope_put_error(e, name, m->at, why);
}

static bool
assigned(Binding *b)
{
	return b && !b->refined;
}

static Value *
value_before(Emit *e, const char *name)
{
	Binding *b = scope_binding(e->scope, name);

	return b && b->sugar && b->sugar->kind == SUGAR_VALUE ? b->sugar->v : 0;
}

/* Returns the type that the variable had before, if it covers both values. An example is a union that the branches
 * narrowed. Null if it does not cover them. */
static const Type *
type_before(Emit *e, const char *name, Value *yes, Value *no)
{
	Value *v = value_before(e, name);

	return v && type_is_subtype(e->cx, yes->type, v->type) && type_is_subtype(e->cx, no->type, v->type) ? v->type
													    : 0;
}

/* Returns the type of the variable where the branch falls through. Null if it does not fall through. */
static const Type *
type_falling(const Branch *b, const char *name, const Value *v)
{
	const Binding *at = scope_binding(b->scope, name);

	return !(b->ways & WAY_FALL) || !v ? 0 : at && at->fall ? at->fall : v->type;
}

/* Returns the type of the variable where no exit flag is set. After x = 1 in one branch and `continue` in the other, x
 * is an int there, even if `continue` left it an Optional. Null if no branch sets a flag. */
static const Type *
meet_falling(Emit *e, const Meet *m, const char *name, const Value *yes, const Value *no)
{
	const Type *a = type_falling(&m->yes, name, yes), *b = type_falling(&m->no, name, no);

	if (!((m->yes.ways | m->no.ways) & WAYS_FLAGGED))
		return 0;
	return a && b ? type_unify(e->cx, a, b) : a ? a : b;
}

static void
meet_both(Emit *e, const Meet *m, const char *name)
{
	Binding *in_yes = scope_here(m->yes.scope, name), *in_no = scope_here(m->no.scope, name);
	Value *yes = value_at_end(&m->yes, name), *no = value_at_end(&m->no, name), *v;
	const Type *t = 0, *fall = 0;

	if (!assigned(in_yes) && !assigned(in_no) && !(in_yes && in_no))
		return;
	if (yes && no && yes == no) {
		scope_put(e, name, sugar_value(e, yes), false);
		return;
	}
	if (yes && no)
		t = type_unify(e->cx, yes->type, no->type);
	if (yes && no && !t)
		t = type_before(e, name, yes, no);
	if (t && !assigned(in_yes) && !assigned(in_no) && t == value_before(e, name)->type)
		return; /* The branches narrowed the variable to different types, so it keeps its type. */
	/* If the types do not unify, the value of a branch that does not fall through is not needed. */
	if (!t && !(m->yes.ways & WAY_FALL) && no)
		yes = 0, t = no->type;
	else if (!t && !(m->no.ways & WAY_FALL) && yes)
		no = 0, t = yes->type;
	if (!t) {
		meet_badly(e, m, name, yes, no);
		return;
	}
	if (yes && no)
		fall = meet_falling(e, m, name, yes, no);
	v = output(e, m, yes, no, t, name);
	scope_put(e, name, sugar_value(e, v), !assigned(in_yes) && !assigned(in_no));
	if (fall && fall != t && type_is_subtype(e->cx, fall, t))
		scope_here(e->scope, name)->fall = fall;
}

static void
meet_names(Emit *e, const Meet *m, Scope *names, Scope *but_not)
{
	bool yes = m->yes.ways & WAYS_ARRIVE, no = m->no.ways & WAYS_ARRIVE;
	const char *name;

	for (int i = 0; i < names->names.n; i++) {
		name = names->names.at[i].key;
		if (!name || *name == '$' || (but_not && scope_here(but_not, name)))
			continue;
		if (yes && no)
			meet_both(e, m, name);
		else if (yes || no)
			meet_alone(e, m, yes ? &m->yes : &m->no, name);
	}
}

/* ---- If: flags and the value returned ---------------------------------------------------------------------- */

static Value *
flag_at_end(Emit *e, Range at, const Branch *b, unsigned way)
{
	Scope *here = e->scope;
	Value *v;

	scope_enter(e, b->scope);
	v = exit_flag(e, at, b->ways, way);
	scope_enter(e, here);
	return v;
}

static void
meet_flags(Emit *e, const Meet *m, unsigned ways)
{
	static const char *const names[] = {"$r", "$b", "$c"};
	Value *v, *yes, *no;

	for (int i = 0; i < 3; i++) {
		unsigned way = WAY_RETURN << i;
		if (!(ways & way))
			continue;
		yes = flag_at_end(e, m->at, &m->yes, way);
		no = flag_at_end(e, m->at, &m->no, way);
		v = output(e, m, yes, no, &rt_type_bool, names[i]);
		scope_put(e, names[i], sugar_value(e, v), false);
	}
	if (!(ways & WAY_RETURN))
		return;
	yes = m->yes.ways & WAY_RETURN ? value_at_end(&m->yes, "$v") : 0;
	no = m->no.ways & WAY_RETURN ? value_at_end(&m->no, "$v") : 0;
	v = output(e, m, yes, no, e->result, "$v");
	if (!yes)
		vec_push(e->cx->arena, &e->results, m->node->sub[0]->ret->in[m->node->sub[0]->ret->nin - 1]);
	if (!no)
		vec_push(e->cx->arena, &e->results, m->node->sub[1]->ret->in[m->node->sub[1]->ret->nin - 1]);
	vec_push(e->cx->arena, &e->results, v);
	scope_put(e, "$v", sugar_value(e, v), false);
}

unsigned
ssa_join(Emit *e, Range at, Node *branching, Branch yes, Branch no)
{
	Meet m = {branching, at, yes, no};
	unsigned ways = exit_ways(yes.ways, no.ways);

	RT_ASSERT(e->scope->block == branching->block && yes.scope->block == branching->sub[0] &&
		  no.scope->block == branching->sub[1]);
	meet_names(e, &m, yes.scope, 0);
	meet_names(e, &m, no.scope, yes.scope);
	meet_flags(e, &m, ways);
	return ways;
}

/* ---- Loop ---------------------------------------------------------------------------------------------------- */

typedef struct Names { Emit *emit; Vec(const char *) at; Map seen; } Names;

static void names_of_target(Names *, const Tree *);
static void names_of_list(Names *, const Tree *);

static void
name_add(Names *ns, const char *name)
{
	if (map_get(&ns->seen, name))
		return;
	map_put(&ns->seen, name, ns);
	vec_push(ns->emit->cx->arena, &ns->at, name);
}

static void
names_of_target(Names *ns, const Tree *t)
{
	switch (t->kind) {
	case TREE_VAR:
		name_add(ns, t->kid[0]->text);
		break;
	case TREE_STARRED:
		names_of_target(ns, t->kid[0]);
		break;
	case TREE_TUPLE:
	case TREE_LIST_LITERAL:
		names_of_target(ns, t->kid[0]);
		break;
	case TREE_LIST:
		for (int i = 0; i < t->n; i++)
			names_of_target(ns, t->kid[i]);
		break;
	default:
		break;
	}
}

static void
names_of_statement(Names *ns, const Tree *t)
{
	switch (t->kind) {
	case TREE_ASSIGN:
	case TREE_AUG_ASSIGN:
		names_of_target(ns, t->kid[0]);
		break;
	case TREE_IF:
		names_of_list(ns, t->kid[1]);
		names_of_list(ns, t->kid[2]);
		break;
	case TREE_WHILE:
		names_of_list(ns, t->kid[1]);
		break;
	case TREE_FOR:
		names_of_target(ns, t->kid[0]);
		names_of_list(ns, t->kid[2]);
		break;
	case TREE_WITH:
		for (int i = 0; i < t->kid[0]->n; i++)
			if (t->kid[0]->kid[i]->kid[1])
				name_add(ns, t->kid[0]->kid[i]->kid[1]->text);
		names_of_list(ns, t->kid[1]);
		break;
	default:
		break;
	}
}

static void
names_of_list(Names *ns, const Tree *t)
{
	if (!t)
		return;
	cx_enter(ns->emit->cx, t->at);
	for (int i = 0; i < t->n; i++)
		names_of_statement(ns, t->kid[i]);
	cx_leave(ns->emit->cx);
}

LoopVars
ssa_loop_vars(Emit *e, const Tree *target, const Tree *body)
{
	Names ns = {.emit = e, .seen.arena = e->cx->arena};
	LoopVars vars = {0};
	Binding *b;

	if (target)
		names_of_target(&ns, target);
	if (body)
		names_of_list(&ns, body);
	vars.name = new(e->cx->arena, const char *, ns.at.n);
	vars.type = new(e->cx->arena, const Type *, ns.at.n);
	for (int i = 0; i < ns.at.n; i++) {
		b = scope_binding(e->scope, ns.at.at[i]);
		if (!b || !b->sugar || b->sugar->kind != SUGAR_VALUE)
			continue;
		vars.name[vars.n] = ns.at.at[i];
		vars.type[vars.n++] = type_unshaped(e->cx, b->sugar->v->type);
	}
	return vars;
}

void
ssa_loop_enter(Emit *e, Node *loop, LoopVars vars)
{
	Value *v;

	RT_ASSERT(e->scope->block == loop->sub[0] && e->scope->up->block == loop->block);
	for (int i = 0; i < vars.n; i++) {
		node_add_input(loop, scope_binding(e->scope->up, vars.name[i])->sugar->v);
		v = block_add_input(loop->sub[0], vars.type[i], sym(e->cx, vars.name[i]));
		scope_put(e, vars.name[i], sugar_value(e, v), false);
	}
}

/* Makes the loop carry a variable that has no value before the loop. */
static void
carry(Emit *e, Node *loop, Value *init, Value *out, const char *name)
{
	Block *b = loop->sub[0];
	Value *in, *result;

	node_move_before(init->node, loop);
	node_add_input(loop, init);
	in = block_add_input(b, out->type, 0);
	block_add_output(b, out);
	result = node_add_output(loop, out->type);
	if (!strcmp(name, "$v")) {
		vec_push(e->cx->arena, &e->results, init);
		vec_push(e->cx->arena, &e->results, in);
		vec_push(e->cx->arena, &e->results, result);
	}
	scope_put(e, name, sugar_value(e, result), false);
}

void
ssa_loop_leave(Emit *e, Range at, Node *loop, LoopVars vars, Scope *body, unsigned ways)
{
	Branch end = {body, ways};
	Value *v, *flag;

	RT_ASSERT(e->scope->block == loop->block && body->block == loop->sub[0]);
	for (int i = 0; i < vars.n; i++) {
		v = value_at_end(&end, vars.name[i]);
		if (!v)
			fail(e->cx, at, "%s is not defined at the end of the loop's body", vars.name[i]);
		block_add_output(loop->sub[0], v);
		v = node_add_output(loop, vars.type[i]);
		value_set_name(v, vars.name[i]);
		scope_put(e, vars.name[i], sugar_value(e, v), false);
	}
	if (!(ways & WAY_RETURN))
		return;
	flag = flag_at_end(e, at, &end, WAY_RETURN);
	carry(e, loop, graph_constant(e->graph, rt_bool(false), at), flag, "$r");
	v = value_at_end(&end, "$v");
	carry(e, loop, uninitialized(e, at, v->type), v, "$v");
}

/* ---- tidying ------------------------------------------------------------------------------------------------- */

static void
tidy_if(Node *n)
{
	for (int i = n->nout; i-- > 0;) {
		if (n->out[i]->uses.n)
			continue;
		block_remove_output(n->sub[0], i);
		block_remove_output(n->sub[1], i);
		node_remove_output(n, i);
	}
}

/* Removes carried values that the body does not change, and those that only the next trip reads. */
static void
tidy_loop(Node *n)
{
	Block *b = n->sub[0];
	Value *in, *out;
	bool same, unused;

	for (int i = n->nout; i-- > 0;) {
		in = b->param->out[i + 1];
		out = b->ret->in[i + 1];
		same = in == out;
		unused = !n->out[i]->uses.n && (!in->uses.n || (same && in->uses.n == 1));
		if (!same && !unused)
			continue;
		if (same) {
			block_remove_output(b, i + 1);
			value_replace_uses(in, n->in[i + 2]);
			value_replace_uses(n->out[i], n->in[i + 2]);
		} else {
			block_remove_output(b, i + 1);
		}
		block_remove_input(b, i + 1);
		node_remove_output(n, i);
		node_remove_input(n, i + 2);
	}
}

static bool
is_idle(const Node *n)
{
	if (!node_is(n, prim_Constant) && !node_is(n, prim_Uninitialized) && !node_is(n, prim_unchecked_cast)
	    && !node_is(n, prim_TupleConstruct) && !node_is(n, prim_TupleUnpack))
		return false;
	for (int i = 0; i < n->nout; i++)
		if (n->out[i]->uses.n)
			return false;
	return true;
}

/* Replaces a constant tensor c without dimensions in x + c by a number, as PyTorch's executor does (CanonicalizeOps).
 * The result then has the type that follows from a number. */
static void
tidy_scalar(Node *n)
{
	Graph *g = n->graph;
	Block *b = g->at_block;
	Node *at = g->at_node;
	IValue c;

	if (!n->op || strcmp(n->op->overload, "Tensor") != 0 || n->nin < 2 || !value_constant(n->in[1], &c)
	    || c.tag != RT_TENSOR || c.u.t->ndim || c.u.t->dtype == RT_u64 || rt_dtypes[c.u.t->dtype].category == 'Q')
		return;
	graph_set_insert_before(g, n);
	node_set_input(n, 1, graph_constant(g, rt_item(cx_rt(g->cx), c.u.t), n->at));
	n->op = op_find(g->cx, n->op->name, "Scalar");
	g->at_block = b;
	g->at_node = at;
}

static void
tidy_block(Block *b)
{
	for (int again = 0; again < 2; again++)
		for NODES_REV(n, b) {
			if (node_is(n, prim_If))
				tidy_if(n);
			if (node_is(n, prim_Loop))
				tidy_loop(n);
			for (int i = 0; !again && i < n->nsub; i++)
				tidy_block(n->sub[i]);
			if (node_is(n, prim_Loop))
				tidy_loop(n);
			if (node_is(n, aten_add) || node_is(n, aten_sub) || node_is(n, aten_mul) ||
			    node_is(n, aten_div))
				tidy_scalar(n);
			if (node_is(n, prim_ListConstruct))
				n->attrs.n = 0;            /* Removes the mark of a bare []. */
			if (is_idle(n))
				node_destroy(n);
		}
}

void
ssa_tidy(Graph *g)
{
	tidy_block(g->top);
}
