/* rt/interp.c - runs Code
 *
 * A frame is an array of registers, each of which owns a value. Frames are allocated from scratch memory. A call is a
 * nested call of execute() in C. Each opcode has a function, in the table rt_do, which borrows its operands. Operands
 * marked RT_LAST are released after it, or moved if the function takes references. If it fails, the registers are
 * released with the frame.
 *
 * An error is handled by the innermost with-scope of its frame: it is set aside, the handler runs, and RT_DO_RERAISE
 * raises it again. Each frame that an error leaves records its source position. The outermost call makes the traceback
 * from these. */
#include "rt.h"
#include "base.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = RT_LIMIT_OPERANDS, START = -1 };
enum { WENT_ON = -1, RETURNED = -2 };        /* results of instructions other than a status */

typedef struct RtActivation {
	RtCx          *cx;
	const RtCode  *code;
	IValue        *reg;
	int            pc;               /* index of the running instruction */
	int            nscope, most_scopes, *scope;      /* handlers of open with-scopes; their number and capacity */
	int            few_scopes[RT_LIMIT_SCOPES];
	char          *message, *cls;    /* an error that is set aside while its handler runs */
	RtVisit       *visit;
	int            nvisit;
} Activation;

static int run_frame(RtCx *, const RtCode *, int pc, IValue *reg);

/* ---- operands ----------------------------------------------------------------------------------------------- */

static const uint32_t *
ins(const Activation *a, const RtInsn *n)
{
	return a->code->operand + n->in;
}

static const uint32_t *
outs(const Activation *a, const RtInsn *n)
{
	return a->code->operand + n->in + n->nin;
}

static IValue
in(const Activation *a, const RtInsn *n, int i)
{
	RT_ASSERT(i < n->nin && RT_REG(ins(a, n)[i]) < (uint32_t)a->code->nreg);
	return a->reg[RT_REG(ins(a, n)[i])];
}

static void
set(Activation *a, const RtInsn *n, int i, IValue v)
{
	RT_ASSERT(i < n->nout && RT_REG(outs(a, n)[i]) < (uint32_t)a->code->nreg);
	rt_assign(&a->reg[RT_REG(outs(a, n)[i])], v);
}

/* Releases the operands that this instruction uses last. */
static void
let_go(Activation *a, const RtInsn *n)
{
	const uint32_t *o = ins(a, n);

	for (int i = 0; i < n->nin; i++)
		if (o[i] & RT_LAST)
			rt_assign(&a->reg[RT_REG(o[i])], rt_none());
}

/* Sets to[] to references to the operands from `from` on. Moves operands at their last use. */
static void
move_operands(Activation *a, const RtInsn *n, int from, IValue *to)
{
	for (int i = from; i < n->nin; i++)
		to[i - from] = rt_retain(in(a, n, i));
	let_go(a, n);
}

/* Calls the probe, if there is one. */
static void
report_value(Activation *a, int index, IValue v)
{
	if (a->cx->probe)
		a->cx->probe(a->cx, a->code, a->pc, index, v);
}

/* ---- instructions -------------------------------------------------------------------------------------------- */

/* Returns memory for n values: the caller's small array, or scratch memory that the caller's mark releases. */
static IValue *
room(Activation *a, int n, IValue *small)
{
	return n <= SMALL ? small : rt_scratch(a->cx, (int64_t)sizeof *small * n);
}

/* Whether v contains a tensor without data. Also unpacks weights that a kernel is about to read. */
static bool
lacks_data(RtCx *cx, IValue v)
{
	const RtList *l = v.tag == RT_LIST ? v.u.list : NULL;
	const RtTuple *t = v.tag == RT_TUPLE ? v.u.tuple : NULL;
	const RtDict *d = v.tag == RT_DICT ? v.u.dict : NULL;
	bool lacks = v.tag == RT_TENSOR && v.u.t->storage->kind == RT_META;

	if (v.tag == RT_TENSOR && v.u.t->storage->kind == RT_PACKED)
		rt_unpack(cx, v.u.t->storage);
	for (int64_t i = 0; l && i < l->n && !lacks; i++)
		lacks = lacks_data(cx, l->v[i]);
	for (int64_t i = 0; t && i < t->n && !lacks; i++)
		lacks = lacks_data(cx, t->v[i]);
	for (int64_t i = 0; d && i < d->used && !lacks; i++)
		lacks = !d->at[i].dead && lacks_data(cx, d->at[i].value);
	return lacks;
}

/* Calls the kernel. With cx->partial, the kernel only computes types if an argument lacks data. */
static int
call_using(RtCx *cx, const RtCall *c, const IValue *args, IValue *res)
{
	const bool meta = cx->meta;
	int status;

	for (int i = 0; cx->partial && i < c->nin && !cx->meta; i++)
		cx->meta = lacks_data(cx, args[i]);
	status = rt_call_using(cx, c, args, res);
	cx->meta = meta;
	return status;
}

static int
call_kernel(Activation *a, const RtInsn *n, const IValue *args, IValue *res)
{
	const RtCall c = { a->code->kernel[n->arg], a->code->kernel_use[n->arg], n->nin, n->nout };
	const char *name = a->code->kernel_name[n->arg];
	int64_t begin;
	int status;

	if (!c.kernel)
		return rt_lacks(a->cx, "operator %s has no kernel", name);
	begin = a->cx->events ? rt_now() : 0;
	status = a->cx->twin ? a->cx->twin->kernel(a->cx, a->code, n, args, res) :
		call_using(a->cx, &c, args, res);
	if (a->cx->events)
		rt_trace_add(a->cx, name, begin, rt_now());
	return status;
}

/* Runs an instruction by its body (bodies.c). If body is null, by the kernel that the instruction names. */
static int
do_body(Activation *a, const RtInsn *n, RtBody *body, RtWhat what)
{
	IValue small[SMALL], *v, *res;
	RtMark m = rt_scratch_mark(a->cx);
	int status;

	if (!(v = room(a, n->nin + n->nout, small)))
		return RT_ERROR;
	res = v + n->nin;
	for (int i = 0; i < n->nin + n->nout; i++)
		v[i] = i < n->nin ? in(a, n, i) : rt_none();
	status = body ? body(a->cx, what, v, n->nin, res, n->nout) : call_kernel(a, n, v, res);
	if (!status)
		let_go(a, n);
	for (int i = 0; i < n->nout; i++)
		if (status)
			rt_release(res[i]);
		else
			set(a, n, i, res[i]);
	rt_scratch_reset(a->cx, m);
	return status;
}

int
rt_do_kernel(Activation *a, const RtInsn *n)
{
	return do_body(a, n, NULL, (RtWhat){ 0 });
}

/* Calls code. Its arguments are the nfirst values `first`, then the operands from `from` on. */
static int
call_code(Activation *a, const RtInsn *n, const RtCode *code, const IValue *first, int nfirst, int from)
{
	RtMark m = rt_scratch_mark(a->cx);
	int status;
	IValue *reg;

	if (nfirst + n->nin - from != code->narg)
		return rt_raise(a->cx, "%s takes %d arguments, but %d were given", code->name, code->narg,
			nfirst + n->nin - from);
	if (!(reg = rt_scratch(a->cx, (int64_t)sizeof *reg * (code->nreg + 1))))
		return RT_ERROR;
	for (int i = 0; i < nfirst; i++)
		reg[i] = rt_retain(first[i]);
	move_operands(a, n, from, reg + nfirst);
	for (int i = code->narg; i < code->nreg; i++)
		reg[i] = rt_none();
	status = run_frame(a->cx, code, START, reg);
	if (!status)
		for (int i = 0; i < n->nout; i++)
			set(a, n, i, reg[i]);
	rt_scratch_reset(a->cx, m);
	return status;
}

int
rt_do_call(Activation *a, const RtInsn *n)
{
	return call_code(a, n, a->code->callee[n->arg], 0, 0, 0);
}

int
rt_do_call_method(Activation *a, const RtInsn *n)
{
	const RtCode *code;

	report_value(a, a->pc, in(a, n, 0));
	code = rt_method(a->cx, in(a, n, 0), a->code->string[n->arg]);
	return code ? call_code(a, n, code, 0, 0, 0) : RT_ERROR;
}

int
rt_do_call_value(Activation *a, const RtInsn *n)
{
	IValue f = rt_retain(in(a, n, 0));
	int status;

	if (f.tag != RT_FUNCTION)
		status = rt_raise(a->cx, "'%s' object is not callable", rt_type_of(f));
	else
		status = call_code(a, n, f.u.fn->code, f.u.fn->bound, f.u.fn->n, 1);
	rt_release(f);
	return status;
}

int
rt_do_move(Activation *a, const RtInsn *n)
{
	IValue small[SMALL], *v;
	RtMark m = rt_scratch_mark(a->cx);

	if (!(v = room(a, n->nin, small)))
		return RT_ERROR;
	move_operands(a, n, 0, v);
	for (int i = 0; i < n->nin; i++)
		set(a, n, i, v[i]);
	rt_scratch_reset(a->cx, m);
	return RT_OK;
}

int
rt_do_tuple(Activation *a, const RtInsn *n)
{
	RtTuple *t = rt_tuple_new(a->cx, n->arg ? a->code->type[n->arg - 1] : 0, n->nin);

	if (!t)
		return RT_ERROR;
	move_operands(a, n, 0, t->v);
	set(a, n, 0, rt_ref(RT_TUPLE, t));
	return RT_OK;
}

int
rt_do_new_list(Activation *a, const RtInsn *n)
{
	RtList *l = rt_list_new(a->cx, a->code->type[n->arg], n->nin);

	if (!l)
		return RT_ERROR;
	move_operands(a, n, 0, l->v);
	l->n = n->nin;
	set(a, n, 0, rt_ref(RT_LIST, l));
	return RT_OK;
}

#define BY_BODY(name, body, ...)                                                                                       \
	int                                                                                                            \
	rt_do_##name(Activation *a, const RtInsn *n)                                                                   \
	{                                                                                                              \
		return do_body(a, n, rt_body_##body, (RtWhat){ __VA_ARGS__ });                                         \
	}
BY_BODY(unpack,      unpack,     .n = RT_TUPLE)
BY_BODY(list_unpack, unpack,     .n = RT_LIST)
BY_BODY(index,       index,      .n = (int32_t)n->arg)
BY_BODY(tuple_slice, slice,      .n = n->arg)
BY_BODY(new_dict,    dict,       .type = a->code->type[n->arg])
BY_BODY(get_attr,    get,        .n = n->arg)
BY_BODY(set_attr,    set,        .n = n->arg)
BY_BODY(new_object,  object,     .type = a->code->type[n->arg])
BY_BODY(isinstance,  isinstance, .type = a->code->type[n->arg])
BY_BODY(cast,        cast,       .type = a->code->type[n->arg])
BY_BODY(fork,        fork,       .code = a->code->callee[n->arg])
BY_BODY(await,       await,      .code = a->code->callee[n->arg])
BY_BODY(wait,        wait,       .type = a->code->type[n->arg])
BY_BODY(raise,       raise,      0)
#undef BY_BODY

static int
push_scope(Activation *a, int handler)
{
	int *more = a->few_scopes;

	if (a->nscope == a->most_scopes) {
		if (a->most_scopes)
			more = rt_mem_more(a->scope == a->few_scopes ? NULL : a->scope,
					   (int64_t)sizeof *more * a->most_scopes * 2);
		if (!more)
			return rt_raise(a->cx, "out of memory");
		if (a->scope == a->few_scopes)
			memcpy(more, a->few_scopes, sizeof a->few_scopes);
		a->scope = more;
		a->most_scopes = a->most_scopes ? a->most_scopes * 2 : RT_LIMIT_SCOPES;
	}
	a->scope[a->nscope++] = handler;
	return RT_OK;
}

/* Moves the results to the first registers and releases all other registers. */
int
rt_do_return(Activation *a, const RtInsn *n)
{
	IValue small[SMALL], *v;
	RtMark m = rt_scratch_mark(a->cx);

	if (!(v = room(a, n->nin, small)))
		return RT_ERROR;
	for (int i = 0; i < n->nin; i++)
		v[i] = rt_retain(in(a, n, i));
	for (int i = 0; i < a->code->nreg; i++)
		rt_assign(&a->reg[i], i < n->nin ? v[i] : rt_none());
	rt_scratch_reset(a->cx, m);
	return RETURNED;
}

static bool
truth(IValue v)
{
	return v.u.i != 0;
}

/* ---- errors ---------------------------------------------------------------------------------------------------- */

static void
drop_aside(Activation *a)
{
	rt_mem_back(a->message);
	free(a->cls);
	free(a->visit);
	a->message = a->cls = 0;
	a->visit = 0;
	a->nvisit = 0;
}

/* Handles the error of instruction n: sets it aside and jumps to the handler of the innermost with-scope. Returns false
 * if there is no with-scope. */
static bool
handle(Activation *a, const RtInsn *n)
{
	RtCx *cx = a->cx;

	if (n->op != RT_DO_RERAISE)
		rt_visit(cx, a->code, n->line);
	if (!a->nscope || cx->status != RT_ERROR)
		return false;
	drop_aside(a);
	a->message = cx->message;
	a->cls = cx->cls;
	a->visit = cx->visit;
	a->nvisit = cx->nvisit;
	cx->message = cx->cls = 0;
	cx->visit = 0;
	cx->nvisit = 0;
	rt_clear_error(cx);
	a->pc = a->scope[--a->nscope];
	return true;
}

int
rt_do_reraise(Activation *a, const RtInsn *n)
{
	RtCx *cx = a->cx;

	(void)n;
	rt_clear_error(cx);
	cx->status = RT_ERROR;
	cx->message = a->message;
	cx->cls = a->cls;
	cx->visit = a->visit;
	cx->nvisit = a->nvisit;
	a->message = a->cls = 0;
	a->visit = 0;
	a->nvisit = 0;
	return RT_ERROR;
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static int
over_limit(RtCx *cx)
{
	if (cx->steps >= 0 && cx->steps-- == 0) {
		cx->steps = 0;
		return rt_raise(cx, "step limit reached");
	}
	if (cx->deadline && rt_now() > cx->deadline)
		return rt_raise(cx, "time limit reached");
	return RT_OK;
}

int
rt_do_constant(Activation *a, const RtInsn *n)
{
	const RtCode *c = a->code;
	const IValue v = c->constant ? c->constant[n->arg] : a->cx->value[c->first_value + (int)n->arg];

	if (!a->cx->meta)
		rt_unpack_all(a->cx, v);
	set(a, n, 0, a->cx->twin ? a->cx->twin->constant(a->cx, v) : rt_retain(v));
	return RT_OK;
}

int
rt_do_jump(Activation *a, const RtInsn *n)
{
	a->pc = (int)n->arg;
	return WENT_ON;
}

int
rt_do_branch(Activation *a, const RtInsn *n)
{
	const bool go = truth(in(a, n, 0));

	report_value(a, a->pc, in(a, n, 0));
	a->pc = go ? a->pc + 1 : (int)n->arg;
	return WENT_ON;
}

int
rt_do_loop(Activation *a, const RtInsn *n)
{
	const bool go = truth(in(a, n, 2)) && in(a, n, 0).u.i < in(a, n, 1).u.i;

	report_value(a, a->pc, rt_bool(go));
	a->pc = go ? a->pc + 1 : (int)n->arg;
	return WENT_ON;
}

int
rt_do_next(Activation *a, const RtInsn *n)
{
	set(a, n, 0, rt_int(in(a, n, 0).u.i + 1));
	return rt_do_jump(a, n);
}

int
rt_do_unset(Activation *a, const RtInsn *n)
{
	set(a, n, 0, rt_some(a->cx, a->code->type[n->arg]));
	return a->cx->status;
}

int
rt_do_profile(Activation *a, const RtInsn *n)
{
	report_value(a, (int)n->arg, in(a, n, 0));
	return rt_do_move(a, n);
}

int
rt_do_enter(Activation *a, const RtInsn *n)
{
	return push_scope(a, (int)n->arg);
}

int
rt_do_exit(Activation *a, const RtInsn *n)
{
	(void)n;
	a->nscope -= a->nscope > 0;
	return RT_OK;
}

int
rt_do_clear(Activation *a, const RtInsn *n)
{
	for (int i = 0; i < n->nin; i++)
		rt_assign(&a->reg[RT_REG(ins(a, n)[i])], rt_none());
	return RT_OK;
}

static int
step(Activation *a, const RtInsn *n)
{
	if (n->op >= RT_NOPCODE || !rt_do[n->op])
		BUG("%s: instruction %d has opcode %d", a->code->name, a->pc, n->op);
	return rt_do[n->op](a, n);
}

/* Whether the registers and table indices of the instruction are in range. */
static bool
in_bounds(const Activation *a, const RtInsn *n)
{
	const RtCode *c = a->code;

	for (int i = 0; i < n->nin + n->nout; i++)
		if (RT_REG(ins(a, n)[i]) >= (uint32_t)c->nreg)
			return false;
	switch ((RtOpcode)n->op) {
	case RT_DO_KERNEL:
		return n->arg < (uint32_t)c->nkernel;
	case RT_DO_CALL: case RT_DO_FORK: case RT_DO_AWAIT:
		return n->arg < (uint32_t)c->ncallee;
	case RT_DO_CONSTANT:
		return n->arg < (uint32_t)c->nconstant;
	case RT_DO_JUMP: case RT_DO_BRANCH: case RT_DO_LOOP: case RT_DO_NEXT: case RT_DO_ENTER:
		return n->arg < (uint32_t)c->ninsn;
	case RT_DO_CALL_METHOD:
		return n->arg < (uint32_t)c->nstring;
	case RT_DO_NEW_LIST: case RT_DO_NEW_DICT: case RT_DO_NEW_OBJECT: case RT_DO_ISINSTANCE: case RT_DO_CAST:
	case RT_DO_UNSET: case RT_DO_WAIT:
		return n->arg < (uint32_t)c->ntype;
	default:
		return true;
	}
}

/* Runs from a->pc to the return, or to an error that no with-scope of this frame handles. */
static int
execute(Activation *a)
{
	bool limited = a->cx->steps >= 0 || a->cx->deadline;
	const RtInsn *insn;
	int status;

	for (;;) {
		if (a->pc < 0 || a->pc >= a->code->ninsn)
			BUG("%s runs past its end", a->code->name);
		insn = &a->code->insn[a->pc];
		RT_ASSERT(in_bounds(a, insn));
		status = limited ? over_limit(a->cx) : RT_OK;
		if (!status)
			status = step(a, insn);
		if (status == RT_OK)
			a->pc++;
		else if (status == RETURNED)
			return RT_OK;
		else if (status != WENT_ON && !handle(a, insn))
			return status;
	}
}

/* Ends a call. If it is the outermost one, completes tasks that nothing waited for, and makes the traceback of an
 * error. */
static int
leave(RtCx *cx, int status)
{
	if (cx->depth)
		return status;
	rt_drain(cx);
	if (status == RT_ERROR)
		rt_traceback(cx);
	return status;
}

/* Opens the with-scopes that enclose a->pc, before the code resumes there. RT_DO_ENTER and RT_DO_EXIT nest in the order
 * of the instructions. */
static int
open_scopes(Activation *a)
{
	int status = RT_OK;

	for (int pc = 0; pc < a->pc && !status; pc++) {
		if (a->code->insn[pc].op == RT_DO_ENTER)
			status = push_scope(a, (int)a->code->insn[pc].arg);
		else if (a->code->insn[pc].op == RT_DO_EXIT && a->nscope)
			a->nscope--;
	}
	return status;
}

/* Runs a frame. If pc is START, runs the whole function, by its specialized code (`plan`) if it has any. Otherwise runs
 * its instructions from pc on. */
static int
run_frame(RtCx *cx, const RtCode *code, int pc, IValue *reg)
{
	int (*plan)(RtCx *, IValue *) = pc == START ? code->plan : 0;
	Activation a = { .cx = cx, .code = code, .reg = reg, .pc = pc == START ? 0 : pc };
	int status = RT_OK;

	if (code->nreg < code->narg || code->nreg < code->nresult)
		BUG("%s has %d registers for %d arguments and %d results", code->name, code->nreg, code->narg,
		    code->nresult);
	cx->place = 0;
	if (!cx->depth)
		rt_stack_note(cx);
	if (++cx->depth > RT_DEPTH || (const char *)__builtin_frame_address(0) < cx->stack_end)
		status = rt_raise_as(cx, "RecursionError", "maximum recursion depth exceeded");
	else if (pc > 0)
		status = open_scopes(&a);
	if (!status)
		status = plan ? plan(cx, reg) : execute(&a);
	for (int i = status ? 0 : code->nresult; i < code->nreg; i++)
		rt_assign(&reg[i], rt_none());
	cx->depth--;
	drop_aside(&a);
	if (a.scope != a.few_scopes)
		rt_mem_back(a.scope);
	return leave(cx, status);
}

int
rt_run(RtCx *cx, const RtCode *code, const IValue *args, IValue *results)
{
	RtMark m = rt_scratch_mark(cx);
	IValue *reg = rt_scratch(cx, (int64_t)sizeof *reg * (code->nreg + 1));
	int status;

	if (!reg)
		return RT_ERROR;
	for (int i = 0; i < code->nreg; i++)
		reg[i] = i < code->narg ? rt_retain(args[i]) : rt_none();
	status = run_frame(cx, code, START, reg);
	for (int i = 0; i < code->nresult; i++)
		results[i] = status ? rt_none() : reg[i];
	rt_scratch_reset(cx, m);
	return status;
}

int
rt_resume(RtCx *cx, const RtCode *code, int pc, IValue *reg)
{
	return run_frame(cx, code, pc, reg);
}
