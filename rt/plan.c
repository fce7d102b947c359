/*
 * Functions for specialized code: guards on arguments, tensor values over planned memory ("boxes"), and launches of
 * kernels.
 *
 * A box borrows planned memory and serves as an argument of one step.  Values that outlive the call (results, elements
 * of containers, registers at a bailout) own a copy, or were computed in their own memory.
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

const IValue *
rt_parts(IValue v, int64_t *n)
{
	*n = v.tag == RT_LIST ? v.u.list->n : v.tag == RT_TUPLE ? v.u.tuple->n : 0;
	return v.tag == RT_LIST ? v.u.list->v : v.tag == RT_TUPLE ? v.u.tuple->v : NULL;
}

/* Returns the number of tensors in v whose storage has this address. */
static int
count_over(const void *data, IValue v)
{
	int64_t n;
	const IValue *part = rt_parts(v, &n);
	int count = v.tag == RT_TENSOR && v.u.t->storage && v.u.t->storage->data == data;

	for (int64_t i = 0; i < n; i++)
		count += count_over(data, part[i]);
	return count;
}

/* Whether no tensor in `written` shares its memory with another tensor of the arguments. */
static bool
is_alone(IValue written, const IValue *args, int narg)
{
	int64_t n;
	const IValue *part = rt_parts(written, &n);
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

/* Returns the context's arena, which grows to the largest size requested. A function that a specialization calls gets
 * its own arena (steps.c: call_code). */
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

void
rt_exit_all(RtCx *cx, const RtWith *scope, int n)
{
	while (n-- && cx->status == RT_ERROR) {
		const RtError error = rt_take_error(cx);
		const IValue in[4] = { scope[n].object };
		IValue got[1];

		if (rt_run(cx, scope[n].exit, in, got)) {
			const RtError later = rt_take_error(cx);

			rt_restore_error(cx, error);
			rt_restore_error(cx, later);
			continue;
		}
		rt_release(got[0]);
		rt_restore_error(cx, error);
	}
}

IValue
rt_list_of(RtCx *cx, const RtType *elem, const IValue *v, int n)
{
	RtList *l = rt_list_new(cx, elem, n);

	for (int i = 0; i < n; i++)
		if (l)
			l->v[l->n++] = v[i];             /* has capacity for n */
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
