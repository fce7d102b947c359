/*
 * What specialized code stands on: checks of arguments, boxes around planned tensors, steps that call kernels, and the
 * way back into the generic code when a guard fails.
 *
 * A box over planned memory borrows it: it is for the arguments of one step.  What outlives the call (results, parts of
 * containers, registers at a bailout) is boxed by a copy or lies in memory of its own from the start.
 */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
rt_is_tensor_of(IValue v, RtDtype dtype, int ndim, const int64_t *dims, const int64_t *strides)
{
	const RtTensor *t = v.u.t;

	if (v.tag != RT_TENSOR || t->dtype != dtype || t->ndim != ndim || t->layout || t->flags & RT_BITS)
		return false;
	for (int i = 0; i < ndim; i++)
		if (t->dims[i] != dims[i] || (t->strides[i] != strides[i] && dims[i] != 1))
			return false;
	return true;
}

bool
rt_is_tensor_sized(IValue v, RtDtype dtype, int ndim, const int64_t *dims, int64_t *size)
{
	const RtTensor *t = v.u.t;

	if (v.tag != RT_TENSOR || t->dtype != dtype || t->ndim != ndim || t->layout || t->flags & RT_BITS)
		return false;
	for (int i = 0; i < ndim; i++) {
		int64_t *symbol = dims[i] < 0 ? &size[-2 - dims[i]] : NULL;

		if (symbol && t->dims[i] < 2)
			return false;
		if (symbol && !*symbol)
			*symbol = t->dims[i];
		if (t->dims[i] != (symbol ? *symbol : dims[i]))
			return false;
	}
	return true;
}

bool
rt_is_text(IValue v, const char *text, int64_t n)
{
	return v.tag == RT_STR && v.u.str->n == n && !memcmp(v.u.str->s, text, (size_t)n);
}

static const IValue *
parts_of(IValue v, int64_t *n)
{
	*n = v.tag == RT_LIST ? v.u.list->n : v.tag == RT_TUPLE ? v.u.tuple->n : 0;
	return v.tag == RT_LIST ? v.u.list->v : v.tag == RT_TUPLE ? v.u.tuple->v : NULL;
}

/* How many tensors in v lie in this memory? */
static int
count_over(const void *data, IValue v)
{
	int64_t n;
	const IValue *part = parts_of(v, &n);
	int count = v.tag == RT_TENSOR && v.u.t->storage && v.u.t->storage->data == data;

	for (int64_t i = 0; i < n; i++)
		count += count_over(data, part[i]);
	return count;
}

/* Is each tensor in `written` the only one of the arguments in its memory? */
static bool
is_alone(IValue written, const IValue *args, int narg)
{
	int64_t n;
	const IValue *part = parts_of(written, &n);
	int count = 0;

	if (written.tag == RT_TENSOR && written.u.t->storage && rt_numel(written.u.t)) {
		for (int i = 0; i < narg; i++)
			count += count_over(written.u.t->storage->data, args[i]);
		return count == 1;
	}
	for (int64_t i = 0; i < n; i++)
		if (!is_alone(part[i], args, narg))
			return false;
	return true;
}

bool
rt_none_overlap(const IValue *written, int n, const IValue *args, int narg)
{
	for (int i = 0; i < n; i++)
		if (!is_alone(written[i], args, narg))
			return false;
	return true;
}

/* One arena for each context: a specialization that calls another function's takes what lies behind its own. */
char *
rt_arena(RtCx *cx, int64_t bytes)
{
	if (cx->arena_bytes < bytes) {
		void *p = rt_mem_line(bytes);

		if (!p) {
			rt_raise(cx, "out of memory: the arena needs %lld bytes", (long long)bytes);
			return NULL;
		}
		rt_mem_back(cx->arena);
		cx->arena = p;
		cx->arena_bytes = bytes;
	}
	if (cx->dry && cx->arena)
		memset(cx->arena, 0, (size_t)cx->arena_bytes);
	return cx->arena ? cx->arena : "";
}

IValue
rt_box_borrow(RtCx *cx, RtDtype dtype, int ndim, const int64_t *geometry, void *data)
{
	int64_t span = ndim < 0 ? 0 : 1;
	RtStorage *s;
	RtTensor *t;

	for (int i = 0; i < ndim; i++)
		span = geometry[i] && span ? span + (geometry[i] - 1) * geometry[ndim + i] : 0;
	if (!(s = rt_storage_over(cx, data, span * rt_dtypes[dtype].bytes, false)))
		return rt_none();
	t = rt_tensor_over(cx, s, dtype, ndim, geometry, geometry + ndim, 0);
	rt_storage_release(s);
	return t ? rt_of(t) : rt_none();
}

IValue
rt_box_view(RtCx *cx, IValue base, RtDtype dtype, int ndim, const int64_t *geometry, int64_t offset)
{
	const RtTensor *b = base.u.t;
	RtTensor *t = base.tag != RT_TENSOR ? NULL : rt_tensor_over(cx, b->storage, dtype, ndim, geometry,
		geometry + ndim, b->offset + offset);

	if (t && b->quant && b->dtype == dtype) {
		t->quant = b->quant;
		rt_count_up(&t->quant->h);
	}
	return t ? rt_of(t) : rt_none();
}

IValue
rt_box_new(RtCx *cx, RtDtype dtype, int ndim, const int64_t *geometry)
{
	RtTensor *t = rt_tensor_strided(cx, dtype, ndim, geometry, geometry + ndim);

	if (cx->dry && t)
		memset(t->storage->data, 0, (size_t)t->storage->bytes);
	return t ? rt_of(t) : rt_none();
}

IValue
rt_box_copy(RtCx *cx, RtDtype dtype, int ndim, const int64_t *geometry, const void *data, int64_t span)
{
	RtStorage *s = rt_storage_new(cx, span);
	RtTensor *t;

	if (!s)
		return rt_none();
	memcpy(s->data, data, (size_t)span);
	t = rt_tensor_over(cx, s, dtype, ndim, geometry, geometry + ndim, 0);
	rt_storage_release(s);
	return t ? rt_of(t) : rt_none();
}

void
rt_values_drop(IValue *v, int n)
{
	for (int i = 0; i < n; i++) {
		rt_release(v[i]);
		v[i] = rt_none();
	}
}

int
rt_step_failed(RtCx *cx, const RtCode *code, uint32_t line)
{
	rt_visit(cx, code, line);
	return cx->status ? cx->status : RT_ERROR;
}

/* A box could not be made: its error is in cx already. */
static bool
complete(RtCx *cx)
{
	return cx->status == RT_OK;
}

static bool
is_planned(const RtCx *cx, const RtStorage *s)
{
	const char *arena = cx->arena;

	return s && s->kind == RT_BORROWED && arena && s->data >= arena && s->data < arena + cx->arena_bytes;
}

/* A result that unexpectedly is in planned memory gets a copy of its own; all that share the box's storage get it,
 * too. */
static int
own_memory(RtCx *cx, IValue v)
{
	int64_t n;
	const IValue *part = parts_of(v, &n);
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

/* Is it one of the inputs, as the result of append is?  What is in it is looked at where it is made. */
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

void
rt_launch(RtCx *cx, const char *name, int64_t n, int64_t grain, void (*body)(void *, int64_t, int64_t), void *arg)
{
	const int64_t begin = cx->events ? rt_now() : 0;

	if (cx->dry)
		body(arg, 0, n < 1 ? n : 1);
	else
		rt_parallel(cx, n, grain, body, arg);
	if (cx->events)
		rt_trace_add(cx, name, begin, rt_now());
}

static const char *
name_of_kernel(const RtCode *code, RtKernel *kernel)
{
	for (int i = 0; i < code->nkernel; i++)
		if (code->kernel[i] == kernel)
			return code->kernel_name[i];
	return "runtime call";
}

static int
call_kernel(RtCx *cx, uint32_t use, RtKernel *kernel, const IValue *in, int nin, IValue *out, int nout)
{
	RtMark m = rt_scratch_mark(cx);
	int status;

	if (!use)
		return rt_call_kernel(cx, kernel, in, out, nout);
	for (int i = 0; i < nout; i++)
		out[i] = rt_none();
	status = rt_call_using(cx, kernel, use, in, nin, out, nout);
	rt_scratch_reset(cx, m);
	for (int i = 0; i < nout && status; i++)
		rt_assign(&out[i], rt_none());
	return status;
}

/* All steps take over in[] and end so. */
#define STEP_END(status) \
	do { \
		const int end_ = (status); \
		rt_values_drop(in, nin); \
		return end_ ? rt_step_failed(cx, code, line) : RT_OK; \
	} while (0)

int
rt_step_using(RtCx *cx, uint32_t use, RtKernel *kernel, IValue *in, int nin, IValue *out, int nout, const RtCode *code,
	uint32_t line)
{
	const int64_t begin = cx->events ? rt_now() : 0;
	IValue got[64];
	int status = complete(cx) ? call_kernel(cx, use, kernel, in, nin, got, nout) : cx->status;

	if (cx->events)
		rt_trace_add(cx, name_of_kernel(code, kernel), begin, rt_now());
	if (!status && own_results(cx, in, nin, got, nout)) {
		rt_values_drop(got, nout);
		status = RT_ERROR;
	}
	for (int i = 0; i < nout && !status; i++)
		rt_assign(&out[i], got[i]);
	STEP_END(status);
}

int
rt_step(RtCx *cx, RtKernel *kernel, IValue *in, int nin, IValue *out, int nout, const RtCode *code, uint32_t line)
{
	return rt_step_using(cx, 0, kernel, in, nin, out, nout, code, line);
}

int
rt_step_call(RtCx *cx, const RtCode *callee, IValue *in, int nin, IValue *out, int nout, const RtCode *code,
	     uint32_t line)
{
	void *arena = cx->arena;
	const int64_t bytes = cx->arena_bytes;
	IValue got[64];
	int status;

	/* What is called may have a plan: its arena must not be ours. */
	cx->arena = NULL;
	cx->arena_bytes = 0;
	status = complete(cx) ? rt_run(cx, callee, in, got) : cx->status;
	rt_mem_back(cx->arena);
	cx->arena = arena;
	cx->arena_bytes = bytes;
	for (int i = 0; i < nout && !status; i++)
		rt_assign(&out[i], got[i]);
	STEP_END(status);
}

/* An in-place or out= row over a body: the body runs on those inputs that it has (-1: None), then the row's kernel
 * stores what it gave. */
int
rt_step_store(RtCx *cx, const RtCode *body, const int *from, int nfrom, int nresult, uint32_t use, RtKernel *kernel,
	      IValue *in, int nin, IValue *out, int nout, const RtCode *code, uint32_t line)
{
	IValue args[64], all[64] = { { 0 } };

	for (int i = 0; i < nfrom; i++)
		args[i] = from[i] < 0 ? rt_none() : rt_retain(in[from[i]]);
	if (rt_step_call(cx, body, args, nfrom, all, nresult, code, line)) {
		rt_values_drop(in, nin);
		return cx->status;
	}
	for (int i = 0; i < nin; i++)
		all[nresult + i] = in[i];
	return rt_step_using(cx, use, kernel, all, nresult + nin, out, nout, code, line);
}

/* A method that the object's class decides. */
int
rt_step_method(RtCx *cx, const char *name, IValue *in, int nin, IValue *out, int nout, const RtCode *code,
	       uint32_t line)
{
	const RtCode *callee = rt_method(cx, in[0], name);

	if (callee)
		return rt_step_call(cx, callee, in, nin, out, nout, code, line);
	STEP_END(cx->status);
}

/* ---- steps of instructions -------------------------------------------------------------------------------------- */

int
rt_step_unpack(RtCx *cx, bool list, IValue *in, int nin, IValue *out, int nout, const RtCode *code, uint32_t line)
{
	const IValue *v = list ? in[0].u.list->v : in[0].u.tuple->v;
	const int64_t n = list ? in[0].u.list->n : in[0].u.tuple->n;

	if (n != nout)
		STEP_END(rt_raise(cx, "Expected %d elements in a list but found %lld", nout, (long long)n));
	for (int i = 0; i < nout; i++)
		out[i] = rt_retain(v[i]);
	STEP_END(RT_OK);
}

int
rt_step_index(RtCx *cx, int what, IValue *in, int nin, IValue *out, int nout, const RtCode *code, uint32_t line)
{
	const RtTuple *t = in[0].u.tuple;
	const int64_t i = in[1].u.i < 0 ? in[1].u.i + t->n : in[1].u.i;

	(void)what, (void)nout;
	if (i < 0 || i >= t->n)
		STEP_END(rt_raise(cx, "tuple index out of range"));
	out[0] = rt_retain(t->v[i]);
	STEP_END(RT_OK);
}

int
rt_step_slice(RtCx *cx, int range, IValue *in, int nin, IValue *out, int nout, const RtCode *code, uint32_t line)
{
	const RtTuple *t = in[0].u.tuple;
	const int64_t end = (range & 0xffff) < t->n ? range & 0xffff : t->n,
		      from = range >> 16 < end ? range >> 16 : end;
	RtTuple *part = rt_tuple_new(cx, NULL, end - from);

	(void)nout;
	if (!part)
		STEP_END(RT_ERROR);
	for (int64_t i = from; i < end; i++)
		part->v[i - from] = rt_retain(t->v[i]);
	out[0] = rt_ref(RT_TUPLE, part);
	STEP_END(RT_OK);
}

int
rt_step_isinstance(RtCx *cx, const RtType *type, IValue *in, int nin, IValue *out, int nout, const RtCode *code,
		   uint32_t line)
{
	(void)nout;
	out[0] = rt_bool(rt_isinstance(in[0], type));
	STEP_END(cx->status);
}

int
rt_step_dict(RtCx *cx, const RtType *type, IValue *in, int nin, IValue *out, int nout, const RtCode *code,
	     uint32_t line)
{
	RtDict *d = rt_dict_new(cx, type->of[0], type->of[1]);

	(void)nout;
	if (!d)
		STEP_END(RT_ERROR);
	for (int i = 0; i + 1 < nin; i += 2)
		if (rt_dict_set(cx, d, rt_retain(in[i]), rt_retain(in[i + 1]))) {
			rt_release(rt_ref(RT_DICT, d));
			STEP_END(RT_ERROR);
		}
	out[0] = rt_ref(RT_DICT, d);
	STEP_END(RT_OK);
}

int
rt_step_get(RtCx *cx, int slot, IValue *in, int nin, IValue *out, int nout, const RtCode *code, uint32_t line)
{
	(void)nout;
	STEP_END(rt_attribute(cx, in[0], slot, &out[0]));
}

int
rt_step_set(RtCx *cx, int slot, IValue *in, int nin, IValue *out, int nout, const RtCode *code, uint32_t line)
{
	(void)nout, (void)out;
	if (in[0].tag != RT_OBJECT)
		STEP_END(rt_raise(cx, "expected an object, but got a value of type %s", rt_type_of(in[0])));
	rt_assign(&in[0].u.obj->slot[slot], rt_retain(in[1]));
	STEP_END(cx->status);
}

int
rt_step_cast(RtCx *cx, const RtType *type, IValue *in, int nin, IValue *out, int nout, const RtCode *code,
	     uint32_t line)
{
	(void)nout;
	if (!rt_need(cx, in[0], type))
		out[0] = rt_retain(in[0]);
	STEP_END(cx->status);
}

int
rt_step_raise(RtCx *cx, int what, IValue *in, int nin, IValue *out, int nout, const RtCode *code, uint32_t line)
{
	const char *text = in[0].tag == RT_STR ? in[0].u.str->s : "";

	(void)what, (void)nout, (void)out;
	if (nin > 1 && in[1].tag == RT_STR)
		STEP_END(rt_raise_as(cx, in[1].u.str->s, "%s", text));
	STEP_END(rt_raise(cx, "%s", text));
}

int
rt_step_wait(RtCx *cx, const RtType *type, IValue *in, int nin, IValue *out, int nout, const RtCode *code,
	     uint32_t line)
{
	(void)nout;
	STEP_END(rt_wait_for(cx, in[0], type, &out[0]));
}

int
rt_step_object(RtCx *cx, RtClass *cls, IValue *in, int nin, IValue *out, int nout, const RtCode *code, uint32_t line)
{
	RtObject *o = rt_object_new(cx, cls);

	(void)nout;
	if (o)
		out[0] = rt_ref(RT_OBJECT, o);
	STEP_END(o ? RT_OK : RT_ERROR);
}

int
rt_step_fork(RtCx *cx, const RtCode *body, IValue *in, int nin, IValue *out, int nout, const RtCode *code,
	     uint32_t line)
{
	(void)nout;
	STEP_END(complete(cx) ? rt_fork(cx, body, in, nin, &out[0]) : cx->status);
}

int
rt_step_await(RtCx *cx, const RtCode *body, IValue *in, int nin, IValue *out, int nout, const RtCode *code,
	      uint32_t line)
{
	(void)nout;
	STEP_END(complete(cx) ? rt_await(cx, body, in, nin, &out[0]) : cx->status);
}

int
rt_step_exit(RtCx *cx, const RtWith *scope, const RtCode *code, uint32_t line)
{
	IValue in[4] = { rt_retain(scope->object) }, got[1] = { { 0 } };

	if (rt_step_call(cx, scope->exit, in, 4, got, 1, code, line))
		return cx->status;
	rt_release(got[0]);
	return RT_OK;
}

void
rt_exit_all(RtCx *cx, const RtWith *scope, int n)
{
	while (n-- && cx->status == RT_ERROR) {
		const RtCx error = *cx;
		const IValue in[4] = { scope[n].object };
		IValue got[1];

		cx->message = cx->cls = cx->trace = NULL;
		cx->visit = NULL;
		cx->nvisit = 0;
		rt_clear_error(cx);
		if (rt_run(cx, scope[n].exit, in, got)) {
			rt_mem_back(error.message);
			free(error.cls);
			rt_mem_back(error.trace);
			free(error.visit);
			continue;
		}
		rt_release(got[0]);
		rt_clear_error(cx);
		cx->status = error.status;
		cx->message = error.message;
		cx->cls = error.cls;
		cx->trace = error.trace;
		cx->visit = error.visit;
		cx->nvisit = error.nvisit;
	}
}

IValue
rt_list_of(RtCx *cx, const RtType *elem, const IValue *v, int n)
{
	RtList *l = rt_list_new(cx, elem, n);

	for (int i = 0; i < n; i++)
		if (l)
			l->v[l->n++] = v[i];             /* there is room for them */
		else
			rt_release(v[i]);
	return l ? rt_ref(RT_LIST, l) : rt_none();
}

IValue
rt_tuple_of(RtCx *cx, const RtType *named, const IValue *v, int n)
{
	RtTuple *t = rt_tuple_new(cx, named, n);

	for (int i = 0; i < n; i++)
		if (t)
			t->v[i] = v[i];
		else
			rt_release(v[i]);
	return t ? rt_ref(RT_TUPLE, t) : rt_none();
}

void
rt_move(void *to, const void *from, int64_t bytes)
{
	if (to != from)
		memmove(to, from, (size_t)bytes);
}

void
rt_say_place(const RtCode *code, uint32_t line)
{
	const RtPlaceName p = rt_place(code, (int)line);

	if (line && p.file)
		fprintf(stderr, "\n  %s:%d: %s", code->text + p.file, p.line,
			p.line_text ? code->text + p.line_text : "");
}

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
rt_bail(RtCx *cx, const RtCode *code, int pc, IValue *reg, const int *regs, const IValue *live, int n, IValue *v,
	int nv, const char *why, uint32_t line)
{
	IValue *frame = rt_mem_zeroed(((int64_t)code->nreg + 1) * (int64_t)sizeof *frame);

	say_guard(cx, code, why, line);
	for (int i = 0; i < n; i++)
		if (frame)
			frame[regs[i]] = live[i];
		else
			rt_release(live[i]);
	rt_values_drop(v, nv);
	rt_values_drop(reg, code->nreg);
	if (!frame)
		return rt_raise(cx, "out of memory");
	memcpy(reg, frame, (size_t)code->nreg * sizeof *frame);
	rt_mem_back(frame);
	if (cx->status)
		return cx->status;
	if (cx->strict)
		return rt_raise_as(cx, "GuardMiss", "a guard failed: %s", why);
	cx->took = "generic";
	return rt_resume(cx, code, pc, reg);
}

void
rt_finish(IValue *reg, int nreg, IValue *result, int n)
{
	rt_values_drop(reg, nreg);
	memcpy(reg, result, (size_t)n * sizeof *reg);
}

int
rt_miss(RtCx *cx, const RtCode *code, IValue *reg)
{
	rt_plan_taken(cx, code, "generic", -1);
	if (cx->strict) {
		rt_values_drop(reg, code->nreg);
		return rt_raise_as(cx, "GuardMiss", "%s has no specialization for these arguments", code->name);
	}
	return rt_resume(cx, code, 0, reg);
}

void
rt_plan_taken(RtCx *cx, const RtCode *code, const char *kind, int index)
{
	cx->took = kind;
	if (!cx->show_guards)
		return;
	if (index < 0)
		fprintf(stderr, "%s: %s code\n", code->name, kind);
	else
		fprintf(stderr, "%s: specialization %d, %s\n", code->name, index, kind);
}
