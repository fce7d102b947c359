/*
 * Calls of the runtime in specialized code, as data: entries of a table (RtStep), whose operands are words of 32 bits.
 *
 * A step makes new references to its operands, runs, drops them, and moves its results to their slots. If a guard
 * fails, its operands are the values with which the generic code resumes.
 */
#include "program.h"

#include <stdio.h>
#include <string.h>

RT_FAST

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* Returns the value of an operand that is a slot, a register or a constant; borrowed. */
static IValue
peek(const RtFrame *f, uint32_t operand)
{
	const uint32_t at = operand & 0xfffffffu;

	switch (operand >> 28) {
	case RT_FROM_SLOT:
		return f->v[at];
	case RT_FROM_REGISTER:
		return f->reg[at];
	case RT_FROM_VALUE:
		return f->cx->value[at];
	case RT_FROM_WEIGHT:
		return rt_weight(f->cx, (int)at);
	case RT_FROM_NUMBER:
		return f->number[at];
	default:
		return rt_none();
	}
}

static IValue
make_box(const RtFrame *f, const RtBox *b)
{
	switch (b->kind) {
	case RT_BOX_BORROW:
		return rt_box_borrow(f->cx, b->dtype, b->ndim, b->geometry, f->arena + b->at);
	case RT_BOX_COPY:
		return rt_box_copy(f->cx, b->dtype, b->ndim, b->geometry, f->arena + b->at, b->span);
	default:
		return rt_box_view(f->cx, peek(f, b->base), b->dtype, b->ndim, b->geometry, b->at);
	}
}

/* Makes a list of the next n operands. */
static IValue
make_list(const RtFrame *f, const uint32_t **next, int n)
{
	RtList *l = rt_list_new(f->cx, &rt_type_any, n);

	for (int i = 0; i < n; i++) {
		const IValue v = rt_step_operand(f, next);

		if (l)
			l->v[l->n++] = v;                /* has capacity for n */
		else
			rt_release(v);
	}
	return l ? rt_ref(RT_LIST, l) : rt_none();
}

IValue
rt_step_operand(const RtFrame *f, const uint32_t **next)
{
	const uint32_t operand = *(*next)++, at = operand & 0xfffffffu;

	switch (operand >> 28) {
	case RT_FROM_INT:
		return rt_int((int32_t)(operand << 4) >> 4);
	case RT_FROM_BOOL:
		return rt_bool(at);
	case RT_FROM_BOX:
		return make_box(f, &f->of->box[at]);
	case RT_FROM_MADE:
		return f->made[at];
	case RT_FROM_LIST:
		return make_list(f, next, (int)at);
	case RT_FROM_NUMBERS:
		return rt_list_of(f->cx, &rt_type_int, f->number + (at & ((1u << RT_NUMBERS_BITS) - 1)),
				  (int)(at >> RT_NUMBERS_BITS));
	default:
		return rt_retain(peek(f, operand));
	}
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static bool
is_planned(const RtCx *cx, const RtStorage *s)
{
	const char *arena = cx->arena;

	return s && s->kind == RT_BORROWED && arena && s->data >= arena && s->data < arena + cx->arena_bytes;
}

/* If a result shares planned memory, copies the memory to the heap for its storage. All tensors of that storage see the
 * copy. */
static int
own_memory(RtCx *cx, IValue v)
{
	int64_t n;
	const IValue *part = rt_parts(v, &n);
	RtStorage *s = v.tag == RT_TENSOR ? v.u.t->storage : NULL;
	char *data;

	for (int64_t i = 0; i < n; i++)
		if (own_memory(cx, part[i]))
			return RT_ERROR;
	if (!is_planned(cx, s))
		return RT_OK;
	if (!(data = rt_mem_line(s->bytes)))
		return rt_raise(cx, "out of memory");
	memcpy(data, s->data, (size_t)s->bytes);
	s->data = data;
	s->kind = RT_HEAP;
	return RT_OK;
}

/* Whether the result is a list that is also an input, as of append. Its elements were checked when it was made. */
static bool
is_given(IValue v, const IValue *in, int nin)
{
	for (int i = 0; i < nin; i++)
		if (v.tag == RT_LIST && in[i].tag == RT_LIST && in[i].u.list == v.u.list)
			return true;
	return false;
}

static int
own_results(RtCx *cx, const IValue *in, int nin, const IValue *got, int nout)
{
	for (int i = 0; i < nout; i++)
		if (!is_given(got[i], in, nin) && own_memory(cx, got[i]))
			return RT_ERROR;
	return RT_OK;
}

/* ---- kinds of steps ------------------------------------------------------------------------------------------ */

static const char *
name_of_kernel(const RtCode *code, RtKernel *kernel)
{
	for (int i = 0; i < code->nkernel; i++)
		if (code->kernel[i] == kernel)
			return code->kernel_name[i];
	return "runtime call";
}

static RtKernel *
kernel_of(const RtFrame *f, const RtStep *s)
{
	return s->by_level ? *(RtKernel *const *)(const void *)((const char *)f->cx->kernels + s->by.level) :
			     s->by.kernel;
}

/* Calls the step's kernel. Results that share planned memory get a copy of it. */
static int
call_kernel(const RtFrame *f, const RtStep *s, const RtCall *call, IValue *in, IValue *got)
{
	RtCx *cx = f->cx;
	const int64_t begin = cx->events ? rt_now() : 0;
	int status = rt_call(cx, call, in, got);

	if (cx->events)
		rt_trace_add(cx, name_of_kernel(f->of->code, call->kernel), begin, rt_now());
	if (!status && own_results(cx, in, call->nin, got, s->nout)) {
		rt_values_drop(got, s->nout);
		status = RT_ERROR;
	}
	return status;
}

int
rt_step_row(const RtFrame *f, const RtStep *s, IValue *in, IValue *got)
{
	return call_kernel(f, s, &(RtCall){ kernel_of(f, s), s->use, s->nin, s->nout }, in, got);
}

/* Calls a code with a new arena, because its specialization must not use this call's arena. */
static int
call_code(RtCx *cx, const RtCode *callee, const IValue *in, IValue *got)
{
	void *arena = cx->arena;
	const int64_t bytes = cx->arena_bytes;
	int status;

	cx->arena = NULL;
	cx->arena_bytes = 0;
	status = rt_run(cx, callee, in, got);
	rt_mem_back(cx->arena);
	cx->arena = arena;
	cx->arena_bytes = bytes;
	return status;
}

int
rt_step_call(const RtFrame *f, const RtStep *s, IValue *in, IValue *got)
{
	return call_code(f->cx, s->with.what.code, in, got);
}

/* Runs an operator with a stored body: the body runs on its arguments among the inputs, then the operator's kernel
 * stores the body's results. */
int
rt_step_store(const RtFrame *f, const RtStep *s, IValue *in, IValue *got)
{
	const RtStored *stored = s->with.stored;
	const int nresult = stored->nresult;
	IValue args[64], all[64] = { { 0 } };
	int status;

	for (int i = 0; i < stored->nfrom; i++)
		args[i] = stored->from[i] < 0 ? rt_none() : in[stored->from[i]];
	if (call_code(f->cx, stored->body, args, all))
		return f->cx->status;
	memcpy(all + nresult, in, s->nin * sizeof *in);
	status = call_kernel(f, s, &(RtCall){ kernel_of(f, s), s->use, nresult + s->nin, s->nout }, all, got);
	rt_values_drop(all, nresult);
	return status;
}

/* Calls a method that is looked up by name in the object's class. */
int
rt_step_method(const RtFrame *f, const RtStep *s, IValue *in, IValue *got)
{
	const RtCode *callee = rt_method(f->cx, in[0], s->by.method);

	return callee ? call_code(f->cx, callee, in, got) : RT_ERROR;
}

/* Runs the body of an interpreter's instruction. */
int
rt_step_body(const RtFrame *f, const RtStep *s, IValue *in, IValue *got)
{
	return s->by.body(f->cx, s->with.what, in, s->nin, got, s->nout);
}

int
rt_step_list(const RtFrame *f, const RtStep *s, IValue *in, IValue *got)
{
	got[0] = rt_list_of(f->cx, s->with.what.type, in, s->nin);
	memset(in, 0, s->nin * sizeof *in);
	return f->cx->status;
}

int
rt_step_tuple(const RtFrame *f, const RtStep *s, IValue *in, IValue *got)
{
	got[0] = rt_tuple_of(f->cx, s->with.what.type, in, s->nin);
	memset(in, 0, s->nin * sizeof *in);
	return f->cx->status;
}

/* ---- running steps ----------------------------------------------------------------------------------------------- */

/* Adds the line to the error's traceback and returns the status. */
static int
failed(RtCx *cx, const RtCode *code, uint32_t line)
{
	rt_visit(cx, code, line);
	return cx->status ? cx->status : RT_ERROR;
}

/* Returns the value of the next operand, a new reference. Most operands are slots. */
static inline IValue
operand(const RtFrame *f, const uint32_t **next)
{
	const uint32_t word = **next;

	if (word >> 28 != RT_FROM_SLOT)
		return rt_step_operand(f, next);
	(*next)++;
	return rt_retain(f->v[word & 0xfffffffu]);
}

static int
run_step(const RtFrame *f, const RtStep *s)
{
	const uint32_t *at = f->of->operand + s->in;
	RtCx *cx = f->cx;
	int status;

	for (int i = 0; i < s->nin; i++)
		f->given[i] = operand(f, &at);
	for (int i = 0; i < s->nout; i++)
		f->got[i] = (IValue){ 0 };
	/* If an operand could not be made, its error is raised already. */
	status = cx->status ? cx->status : s->run(f, s, f->given, f->got);
	rt_values_drop(f->given, s->nin);
	if (status)
		return failed(cx, f->of->code, s->line);
	for (int i = 0; i < s->nout; i++)
		if (at[i] == RT_DROP)
			rt_release(f->got[i]);
		else
			rt_assign(&f->v[at[i]], f->got[i]);
	return RT_OK;
}

int
rt_steps(const RtFrame *f, int first, int n)
{
	const RtStep *s = f->of->step + first;
	int status = RT_OK;

	for (; n-- && !status; s++)
		status = run_step(f, s);
	return status;
}

int
rt_step_exit(RtCx *cx, const RtWith *scope, const RtCode *code, uint32_t line)
{
	const IValue in[4] = { scope->object };
	IValue got[1];

	if (call_code(cx, scope->exit, in, got))
		return failed(cx, code, line);
	rt_release(got[0]);
	return RT_OK;
}

/* ---- guards ------------------------------------------------------------------------------------------------------ */

static void
say_guard(RtCx *cx, const RtCode *code, const char *why, uint32_t line)
{
	if (!cx->show_guards)
		return;
	fprintf(stderr, "%s: guard failed: %s", code->name, why);
	rt_say_place(code, line);
	fprintf(stderr, "\n  going on in the generic code\n");
}

int
rt_bail(const RtFrame *f, int guard)
{
	const RtGuard *g = &f->of->guard[guard];
	const RtCode *code = f->of->code;
	const uint32_t *live = f->of->operand + g->live;
	IValue *frame = rt_mem_zeroed(((int64_t)code->nreg + 1) * (int64_t)sizeof *frame);
	RtCx *cx = f->cx;

	say_guard(cx, code, g->why, g->line);
	for (int i = 0; i < g->n; i++) {
		const IValue v = rt_step_operand(f, &live);

		if (frame)
			frame[f->of->operand[g->live + (uint32_t)(g->n + i)]] = v;
		else
			rt_release(v);
	}
	rt_values_drop(f->v, f->of->nv);
	rt_values_drop(f->reg, code->nreg);
	if (!frame)
		return rt_raise(cx, "out of memory");
	memcpy(f->reg, frame, (size_t)code->nreg * sizeof *frame);
	rt_mem_back(frame);
	if (cx->status)
		return cx->status;
	if (cx->strict)
		return rt_raise_as(cx, "GuardMiss", "a guard failed: %s", g->why);
	return rt_resume(cx, code, g->pc, f->reg);
}
