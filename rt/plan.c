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
	t = rt_tensor_over(cx, s, dtype, &(RtGeometry){ ndim, geometry, geometry + ndim, 0 });
	rt_storage_release(s);
	return t ? rt_of(t) : rt_none();
}

IValue
rt_box_view(RtCx *cx, IValue base, RtDtype dtype, int ndim, const int64_t *geometry, int64_t offset)
{
	const RtTensor *b = base.u.t;
	RtTensor *t = base.tag != RT_TENSOR ? NULL :
		rt_tensor_over(cx, b->storage, dtype,
			       &(RtGeometry){ ndim, geometry, geometry + ndim, b->offset + offset });

	if (t && b->dtype == dtype)
		rt_tensor_share_quant(t, b);
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
	t = rt_tensor_over(cx, s, dtype, &(RtGeometry){ ndim, geometry, geometry + ndim, 0 });
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

/* Is it one of the inputs, as the result of append is?  Its elements are checked where it is made. */
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

/* All steps end so: they have taken in[]. */
static int
step_end(RtCx *cx, int status, IValue *in, RtSite at)
{
	rt_values_drop(in, at.nin);
	return status ? rt_step_failed(cx, at.code, at.line) : RT_OK;
}

int
rt_step_using(RtCx *cx, uint32_t use, RtKernel *kernel, IValue *in, IValue *out, RtSite at)
{
	const int64_t begin = cx->events ? rt_now() : 0;
	IValue got[64];
	const RtCall call = { kernel, use, at.nin, at.nout };
	int status = complete(cx) ? rt_call(cx, &call, in, got) : cx->status;

	if (cx->events)
		rt_trace_add(cx, name_of_kernel(at.code, kernel), begin, rt_now());
	if (!status && own_results(cx, in, at.nin, got, at.nout)) {
		rt_values_drop(got, at.nout);
		status = RT_ERROR;
	}
	for (int i = 0; i < at.nout && !status; i++)
		rt_assign(&out[i], got[i]);
	return step_end(cx, status, in, at);
}

int
rt_step(RtCx *cx, RtKernel *kernel, IValue *in, IValue *out, RtSite at)
{
	return rt_step_using(cx, 0, kernel, in, out, at);
}

int
rt_step_call(RtCx *cx, const RtCode *callee, IValue *in, IValue *out, RtSite at)
{
	void *arena = cx->arena;
	const int64_t bytes = cx->arena_bytes;
	IValue got[64];
	int status;

	/* The callee may have a plan, which must not use this call's arena. */
	cx->arena = NULL;
	cx->arena_bytes = 0;
	status = complete(cx) ? rt_run(cx, callee, in, got) : cx->status;
	rt_mem_back(cx->arena);
	cx->arena = arena;
	cx->arena_bytes = bytes;
	for (int i = 0; i < at.nout && !status; i++)
		rt_assign(&out[i], got[i]);
	return step_end(cx, status, in, at);
}

/* The body runs on those inputs that it has, then the row's kernel stores what it gave. */
int
rt_step_store(RtCx *cx, const RtStored *s, IValue *in, IValue *out, RtSite at)
{
	IValue args[64], all[64] = { { 0 } };

	for (int i = 0; i < s->nfrom; i++)
		args[i] = s->from[i] < 0 ? rt_none() : rt_retain(in[s->from[i]]);
	if (rt_step_call(cx, s->body, args, all,
			 (RtSite){ at.code, at.line, (uint16_t)s->nfrom, (uint16_t)s->nresult })) {
		rt_values_drop(in, at.nin);
		return cx->status;
	}
	for (int i = 0; i < at.nin; i++)
		all[s->nresult + i] = in[i];
	at.nin += (uint16_t)s->nresult;
	return rt_step_using(cx, s->use, s->kernel, all, out, at);
}

/* A method that the object's class decides. */
int
rt_step_method(RtCx *cx, const char *name, IValue *in, IValue *out, RtSite at)
{
	const RtCode *callee = rt_method(cx, in[0], name);

	return callee ? rt_step_call(cx, callee, in, out, at) : step_end(cx, RT_ERROR, in, at);
}

/* A step that is an instruction in the interpreter. */
int
rt_step_body(RtCx *cx, RtBody *body, RtWhat what, IValue *in, IValue *out, RtSite at)
{
	return step_end(cx, complete(cx) ? body(cx, what, in, at.nin, out, at.nout) : cx->status, in, at);
}

int
rt_step_exit(RtCx *cx, const RtWith *scope, const RtCode *code, uint32_t line)
{
	IValue in[4] = { rt_retain(scope->object) }, got[1] = { { 0 } };

	if (rt_step_call(cx, scope->exit, in, got, (RtSite){ code, line, 4, 1 }))
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
rt_bail(RtCx *cx, const RtGuard *g, IValue *reg, const IValue *live, IValue *v, int nv)
{
	const int nreg = g->code->nreg;
	IValue *frame = rt_mem_zeroed(((int64_t)nreg + 1) * (int64_t)sizeof *frame);

	say_guard(cx, g->code, g->why, g->line);
	for (int i = 0; i < g->n; i++)
		if (frame)
			frame[g->regs[i]] = live[i];
		else
			rt_release(live[i]);
	rt_values_drop(v, nv);
	rt_values_drop(reg, nreg);
	if (!frame)
		return rt_raise(cx, "out of memory");
	memcpy(reg, frame, (size_t)nreg * sizeof *frame);
	rt_mem_back(frame);
	if (cx->status)
		return cx->status;
	if (cx->strict)
		return rt_raise_as(cx, "GuardMiss", "a guard failed: %s", g->why);
	return rt_resume(cx, g->code, g->pc, reg);
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
	if (!cx->show_guards)
		return;
	if (index < 0)
		fprintf(stderr, "%s: %s code\n", code->name, kind);
	else
		fprintf(stderr, "%s: specialization %d, %s\n", code->name, index, kind);
}
