/*
 * Lowers control flow to instructions: If, Loop, with.
 *
 * An If's outputs get registers before its branches are lowered. A value that a branch computes for an output is placed
 * in that register if possible. Otherwise a move at the branch's end copies it. A carried value of a Loop has one
 * register for the initial value, all trips and the output. The body computes the next value into it if the old one is
 * dead.
 *
 *      BRANCH c -> else                         MOVE carried <- inits, again <- cond;  CONSTANT index <- 0
 *      ... MOVE outs; JUMP end            head: LOOP index, max, again -> end
 * else: ... MOVE outs                           ... MOVE carried, again <- the body's;  NEXT index -> head
 * end:                                    end:
 *
 * An exception in a with-scope continues in the scope's handler, after the end of the function.
 */
#include "lower.h"

#include <string.h>

/* ---- with -------------------------------------------------------------------------------------------------------- */

/* Emits result = object.method(args...). Arguments and result are registers. */
static void
emit_method(Lower *l, const Value *object, const char *method, const uint32_t *args, int nargs, uint32_t result)
{
	const Type *t = object->type;
	Function *m = t->kind == TYPE_CLASS ? class_method(class_info(t), method) : NULL;

	if (m) {
		insn_emit(l, RT_DO_CALL, (uint32_t)index_of_callee(l, lower_code_of(l->work, m)));
	} else {
		insn_emit(l, RT_DO_CALL_METHOD, need_method(l, t, method));
	}
	insn_in(l, (uint32_t)object->reg);
	for (int i = 0; i < nargs; i++)
		insn_in(l, args[i]);
	insn_out(l, result);
}

/* Emits a call of __exit__ with None for exception, value and traceback. */
static void
emit_exit_call(Lower *l, const Value *object, uint32_t none, uint32_t result)
{
	const uint32_t args[3] = { none, none, none };

	insn_emit(l, RT_DO_CONSTANT, (uint32_t)index_of_constant(l, rt_none()));
	insn_out(l, none);
	emit_method(l, object, "__exit__", args, 3, result);
}

/* Opens the scope before __enter__ runs, as PyTorch does. prim::Exit keeps the object alive until the end of the
 * scope. */
void
lower_enter(Lower *l, Node *n)
{
	const Handler h = { insn_emit(l, RT_DO_ENTER, 0), n->in[0], n->at };

	insn_in(l, (uint32_t)n->in[0]->reg);
	vec_push(l->cx->arena, &l->handler, h);
	emit_method(l, n->in[0], "__enter__", NULL, 0, reg_define(l, n->out[0]));
	if (l->last[n->id].input[0])
		reg_free(l, n->in[0]->reg);
}

void
lower_exit(Lower *l, Node *n)
{
	const uint32_t none = (uint32_t)reg_take(l), result = (uint32_t)reg_take(l);

	insn_emit(l, RT_DO_EXIT, 0);
	emit_exit_call(l, n->in[0], none, result);
	reg_free(l, (int)none);
	reg_free(l, (int)result);
	if (n->nout) {
		insn_emit(l, RT_DO_CONSTANT, (uint32_t)index_of_constant(l, rt_none()));
		insn_define_all(l, n);
	}
	if (!l->last[n->id].input[0])
		return;
	insn_emit(l, RT_DO_CLEAR, 0);
	insn_in(l, RT_REG(insn_use(l, n, 0)));
}

/* Emits the handlers after the function's end. They use new registers, because objects of outer scopes are still
 * alive. */
void
lower_handlers(Lower *l)
{
	uint32_t none, result;

	if (!l->handler.n)
		return;
	l->spare.n = 0;
	none = (uint32_t)reg_take(l);
	result = (uint32_t)reg_take(l);
	for (int i = 0; i < l->handler.n; i++) {
		const Handler h = l->handler.at[i];

		l->at = h.at;
		insn_target(l, h.enter);
		emit_exit_call(l, h.object, none, result);
		insn_emit(l, RT_DO_RERAISE, 0);
	}
}

/* ---- control flow ------------------------------------------------------------------------------------------------ */

/* Hints that the node that computes output i of the block should use that register. */
static void
hint_output(Lower *l, const Block *b, int i, int reg)
{
	const Value *v = b->ret->in[i];

	if (v->node->block == b && v->node != b->param && !l->hint[v->id])
		l->hint[v->id] = reg + 1;
}

/* Whether v is an output of the block that is already in the output's register. */
static bool
is_in_place(const Block *b, const Value *v, const int *reg, int n)
{
	for (int i = 0; i < n; i++)
		if (b->ret->in[i] == v && reg[i] == v->reg)
			return true;
	return false;
}

/* Emits reg[i] = output i of the block, as a parallel move. reg[i] is -1 for an unused output. */
static void
move_outputs(Lower *l, Block *b, const int *reg, int n)
{
	const int at = insn_emit(l, RT_DO_MOVE, 0);

	for (int i = 0; i < n; i++) {
		const Value *v = b->ret->in[i];

		if (reg[i] >= 0 && v->reg != reg[i])
			insn_in(l, is_in_place(b, v, reg, n) ? (uint32_t)v->reg : insn_use(l, b->ret, i));
	}
	for (int i = 0; i < n; i++)
		if (reg[i] >= 0 && b->ret->in[i]->reg != reg[i])
			insn_out(l, (uint32_t)reg[i]);
	for (int i = 0; i < n; i++)
		if (reg[i] >= 0)
			l->busy.at[reg[i]] = true;
	if (!l->insn.at[at].nin)
		l->insn.n = at;
}

/* Reserves v's register until the If or Loop has been lowered. Sets *kept to whether it was reserved before. */
static int
keep_register(Lower *l, Value *v, bool *kept)
{
	const int r = (int)reg_define(l, v);

	*kept = l->kept.at[r];
	l->kept.at[r] = true;
	return r;
}

void
lower_nodes(Lower *l, Block *b)
{
	cx_enter(l->cx, b->ret->at);
	for NODES(n, b)
		l->node(l, n);
	cx_leave(l->cx);
}

static void
lower_branch(Lower *l, Node *n, int which, const int *reg)
{
	Block *b = n->sub[which];

	for (int i = 0; i < n->nout; i++)
		if (reg[i] >= 0) {
			l->busy.at[reg[i]] = false;
			hint_output(l, b, i, reg[i]);
		}
	b->param->pc = l->insn.n;
	insn_clear_dead(l, b->param);
	lower_nodes(l, b);
	b->ret->pc = l->insn.n;
	move_outputs(l, b, reg, n->nout);
}

/* Restores the busy registers, so that the second branch starts with the same ones as the first. */
static void
restore_busy(Lower *l, const bool *busy, int n)
{
	l->spare.n = 0;
	for (int r = l->busy.n - 1; r >= 0; r--) {
		l->busy.at[r] = r < n && busy[r];
		if (!l->busy.at[r] && !l->kept.at[r])
			vec_push(l->cx->arena, &l->spare, r);
	}
}

void
lower_if(Lower *l, Node *n)
{
	int *reg = new(l->cx->arena, int, n->nout + 1), to_else, to_end, nreg;
	bool *kept = new(l->cx->arena, bool, n->nout + 1), *busy;

	to_else = insn_emit(l, RT_DO_BRANCH, 0);
	insn_in(l, insn_use(l, n, 0));
	for (int i = 0; i < n->nout; i++)
		reg[i] = l->last[n->id].unused[i] ? -1 : keep_register(l, n->out[i], &kept[i]);
	nreg = l->busy.n;
	busy = new(l->cx->arena, bool, nreg + 1);
	memcpy(busy, l->busy.at, nreg * sizeof *busy);
	lower_branch(l, n, 0, reg);
	to_end = insn_emit(l, RT_DO_JUMP, 0);
	insn_target(l, to_else);
	restore_busy(l, busy, nreg);
	lower_branch(l, n, 1, reg);
	insn_target(l, to_end);
	for (int i = 0; i < n->nout; i++)
		if (reg[i] >= 0)
			l->kept.at[reg[i]] = kept[i];
}

/* Chooses registers for the condition (reg[0]) and the carried values. An initial value that dies at the Loop hands its
 * register to the carried value. */
static void
place_carried(Lower *l, Node *n, int *reg, bool *kept)
{
	reg[0] = reg_take(l);
	l->kept.at[reg[0]] = true;
	for (int i = 0; i < n->nout; i++) {
		const Value *init = n->in[2 + i];

		if (l->last[n->id].input[2 + i] && !l->kept.at[init->reg] && !l->hint[n->out[i]->id]) {
			reg[1 + i] = n->out[i]->reg = init->reg;
			l->kept.at[init->reg] = true;
		} else {
			reg[1 + i] = keep_register(l, n->out[i], &kept[1 + i]);
		}
	}
}

static void
move_inits(Lower *l, Node *n, const int *reg)
{
	insn_emit(l, RT_DO_MOVE, 0);
	for (int i = 0; i <= n->nout; i++)
		if (n->in[1 + i]->reg != reg[i])
			insn_in(l, insn_use(l, n, 1 + i));
	for (int i = 0; i <= n->nout; i++)
		if (n->in[1 + i]->reg != reg[i])
			insn_out(l, (uint32_t)reg[i]);
}

void
lower_loop(Lower *l, Node *n)
{
	Block *b = loop_body(n);
	int *reg = new(l->cx->arena, int, n->nout + 1), index, head;
	bool *kept = new(l->cx->arena, bool, n->nout + 1);

	place_carried(l, n, reg, kept);
	index = b->param->out[0]->reg = reg_take(l);
	l->kept.at[index] = true;
	move_inits(l, n, reg);
	insn_emit(l, RT_DO_CONSTANT, (uint32_t)index_of_constant(l, rt_int(0)));
	insn_out(l, (uint32_t)index);
	head = b->param->pc = insn_emit(l, RT_DO_LOOP, 0);
	insn_in(l, (uint32_t)index);
	insn_in(l, (uint32_t)n->in[0]->reg);
	insn_in(l, (uint32_t)reg[0]);
	l->busy.at[reg[0]] = false;
	for (int i = 0; i <= n->nout; i++) {
		if (i)
			b->param->out[i]->reg = reg[i];
		hint_output(l, b, i, reg[i]);
	}
	insn_clear_dead(l, b->param);
	lower_nodes(l, b);
	l->at = n->at;
	b->ret->pc = l->insn.n;
	move_outputs(l, b, reg, n->nout + 1);
	insn_emit(l, RT_DO_NEXT, (uint32_t)head);
	insn_in(l, (uint32_t)index);
	insn_out(l, (uint32_t)index);
	insn_target(l, head);
	l->kept.at[index] = false;
	for (int i = 0; i <= n->nout; i++)
		l->kept.at[reg[i]] = kept[i];
	reg_free(l, index);
	reg_free(l, reg[0]);
}
