/* frontend/script/exit.c - return, break, continue: statements that end early
 *
 * Emitting a list of statements returns the ways in which it may end. If it may fall through or end otherwise, the
 * statements after it must run only if it fell through:
 *
 *     if c:                     %r = prim::If(%c)
 *         return x                block0(): -> (%x)
 *     y = f(x)          ->        block1(): %y = f(%x)
 *     return y                              -> (%y)
 *
 * Here only one branch falls through, and emit_stmt.c moves the following statements into it. Elsewhere, such as after
 * a loop with a return in it, exit_under puts them under a test of a flag.
 *
 * Flags are variables whose names no source can have: $r returned, $b broke, $c continued. $v is the returned value.
 * There is no flag if only one way is possible. Where control flow merges, ssa_join makes the flags that the ways of
 * both branches need. A raise needs none: nothing after it runs.
 */
#include "emit.h"

unsigned
exit_ways(unsigned a, unsigned b)
{
	unsigned both = a | b;

	return both & ~WAY_RAISE ? both & ~WAY_RAISE : both;
}

Value *
exit_flag(Emit *e, Range at, unsigned ways, unsigned way)
{
	Binding *b;

	RT_ASSERT(way == WAY_RETURN || way == WAY_BREAK || way == WAY_CONTINUE);
	if (!(ways & way) || ways == way)
		return graph_constant(e->graph, rt_bool(ways == way), at);
	b = scope_binding(e->scope, way == WAY_RETURN ? "$r" : way == WAY_BREAK ? "$b" : "$c");
	if (!b)
		BUG("a way out without its flag");
	return b->sugar->v;
}

Value *
exit_any(Emit *e, Range at, unsigned ways, unsigned of)
{
	Value *flag = 0, *f;

	for (unsigned way = WAY_RETURN; way <= WAY_CONTINUE; way <<= 1) {
		if (!(ways & of & way))
			continue;
		f = exit_flag(e, at, ways, way);
		flag = flag ? emit_op(e, at, "aten::__or__", 2, flag, f) : f;
	}
	return flag;
}

unsigned
exit_under(Emit *e, Range at, unsigned ways, Work *rest)
{
	Value *flag = exit_any(e, at, ways, WAYS_FLAGGED);
	Branch yes, no;
	Node *branch;

	RT_ASSERT(ways & WAYS_FLAGGED && ways & WAY_FALL);
	branch = graph_emit(e->graph, "prim::If", at, 1, &flag, 0);
	yes.scope = scope_push(e, node_add_block(branch));
	yes.ways = ways & WAYS_FLAGGED;
	scope_pop(e);
	no.scope = scope_push(e, node_add_block(branch));
	no.scope->outer = no.scope->up->outer;
	scope_fall(e, at);
	no.ways = exit_run(e, rest);
	scope_pop(e);
	return ssa_join(e, at, branch, yes, no);
}

unsigned
exit_run(Emit *e, Work *w)
{
	unsigned ways = WAY_FALL;
	Work *next;

	for (; w; w = next) {
		ways = emit_statement(e, w, &next);
		if (!(ways & WAY_FALL))
			return ways;
		if (next && ways & WAYS_FLAGGED)
			return exit_under(e, next->tree ? next->tree->at : next->target->at, ways, next);
	}
	return ways;
}
