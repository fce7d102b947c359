/* rt/typed.c - a library's functions of C types, each for one exact specialization: NAME_forward(m, x, out) */
#include "instance.h"

#include <string.h>

/* Copies a result of the declared type to the caller's memory. */
static int
put_typed(RtDoor *d, const RtTypedTensor *want, IValue v, void *to)
{
	const RtTensor *t = rt_tensor(v);

	if (!t || t->dtype != want->dtype || t->ndim != want->ndim ||
	    (t->ndim && memcmp(t->dims, want->dims, sizeof *t->dims * (size_t)t->ndim)))
		return rt_raise(&d->cx, "this call's result is not of the declared type: see NAME_call"), DOOR_SIZE;
	if (rt_is_contiguous(t) && !(t->flags & RT_BITS)) {
		memcpy(to, rt_data(t), (size_t)want->bytes);
		return DOOR_OK;
	} else {
		RtTensor *box = rt_tensor_borrow(&d->cx, (RtDtype)t->dtype, t->ndim, t->dims, to, false);
		const int status = box ? rt_copy_into(&d->cx, box, v.u.t) : RT_ERROR;

		rt_tensor_release(box);
		return status ? DOOR_MEMORY : DOOR_OK;
	}
}

typedef struct Typed {                   /* cursors of a call of a function of C types */
	const RtTypedNode *node;
	const RtTypedTensor *tensor;
	RtTensor **box;
	void *const *out;
} Typed;

static int
put_result(RtDoor *d, Typed *t, IValue v)
{
	const RtTypedNode *node = t->node++;
	int status = DOOR_OK;

	if (node->v.tag == RT_TENSOR)
		return put_typed(d, t->tensor++, v, *t->out++);
	if (v.tag != node->v.tag || (v.tag == RT_TUPLE ? v.u.tuple->n : v.u.list->n) != node->n)
		return rt_raise(&d->cx, "this call's result is not of the declared type: see NAME_call"), DOOR_SIZE;
	for (int i = 0; i < node->n && !status; i++)
		status = put_result(d, t, v.tag == RT_TUPLE ? v.u.tuple->v[i] : v.u.list->v[i]);
	return status;
}

/* Builds the next argument, a new reference. None if memory is exhausted, with an error raised. */
static IValue
next_argument(RtDoor *d, Typed *t)
{
	const RtTypedNode *node = t->node++;
	RtTuple *tuple;
	RtList *list;

	if (node->v.tag == RT_TENSOR)
		return rt_retain(rt_of(*t->box++));
	if (node->v.tag == RT_TUPLE) {
		tuple = rt_tuple_new(&d->cx, node->type->name ? node->type : NULL, node->n);
		for (int i = 0; tuple && i < node->n; i++)
			tuple->v[i] = next_argument(d, t);
		return tuple ? rt_ref(RT_TUPLE, tuple) : rt_none();
	}
	if (node->v.tag != RT_LIST)
		return node->v;
	list = rt_list_new(&d->cx, node->type->of[0], node->n);
	for (int i = 0; list && i < node->n && !rt_list_push(&d->cx, list, next_argument(d, t));)
		i++;
	return list ? rt_ref(RT_LIST, list) : rt_none();
}

/* Returns a tensor over an argument's memory. It is reused by later calls unless the model keeps it. */
static RtTensor *
box_of(RtDoor *d, RtTensor **box, const RtTypedTensor *t, const void *data)
{
	if (!*box)
		*box = rt_tensor_borrow(&d->cx, (RtDtype)t->dtype, t->ndim, t->dims, data, !t->written);
	else
		(*box)->storage->data = (char *)(uintptr_t)data;
	return *box;
}

static int
give_box_back(RtDoor *d, RtTensor **box)
{
	RtTensor *t = *box;
	int status;

	if (!t || (t->storage->kind == RT_BORROWED && rt_refs(&t->h) == 1 && rt_refs(&t->storage->h) == 1))
		return DOOR_OK;
	status = rt_keep_apart(&d->cx, t);
	rt_tensor_release(t);
	*box = NULL;
	return status ? DOOR_MEMORY : DOOR_OK;
}

static int
run_typed(RtDoor *d, const RtTyped *f, RtTensor **box, void *const *out)
{
	const RtMethod *m = &d->own.method[f->method];
	Typed in = { .node = f->arg, .box = box }, to = { .node = f->result, .tensor = f->out, .out = out };
	IValue args[TYPED_MOST], result = rt_none();
	int status = DOOR_OK, n = 0;

	for (; n < m->nparam && !d->cx.status; n++)
		args[n] = next_argument(d, &in);
	if (d->cx.status)
		status = DOOR_MEMORY;
	else if (rt_program_call(&d->cx, m, args, &result))
		status = DOOR_RAISED;
	while (n > 0)
		rt_release(args[--n]);
	if (!status)
		status = put_result(d, &to, result);
	rt_release(result);
	return status;
}

static int
call_typed(RtDoor *d, int which, const void *const *in, void *const *out)
{
	const RtTyped *f = &d->door->typed[which];
	RtTensor **box = d->box + TYPED_MOST * which;
	int status = DOOR_OK, n = 0, kept;

	for (; n < f->nin && !status; n++)
		if (!box_of(d, &box[n], &f->in[n], in[n]))
			status = DOOR_MEMORY;
	if (!status)
		status = run_typed(d, f, box, out);
	for (int i = 0; i < n; i++)
		if ((kept = give_box_back(d, &box[i])) && !status)
			status = kept;
	return status;
}

/* Whether results overlap neither each other nor the arguments. */
static bool
lie_apart(const RtTyped *f, const void *const *in, void *const *out)
{
	bool apart = true;

	for (int i = 0; i < f->nout; i++) {
		const uintptr_t begin = (uintptr_t)out[i], end = begin + (uintptr_t)f->out[i].bytes;

		for (int k = 0; k < f->nin; k++)
			apart &= end <= (uintptr_t)in[k] || begin >= (uintptr_t)in[k] + (uintptr_t)f->in[k].bytes;
		for (int k = 0; k < i; k++)
			apart &= end <= (uintptr_t)out[k] || begin >= (uintptr_t)out[k] + (uintptr_t)f->out[k].bytes;
	}
	return apart;
}

int
rt_door_typed(RtDoor *d, int which, const void *const *in, void *const *out)
{
	const RtTyped *f;
	int i = 0, k = 0;

	if (!d)
		return DOOR_ARGUMENT;
	if (!rt_door_enter(d))
		return DOOR_BUSY;
	f = &d->door->typed[which];
	while (i < f->nin && in[i])
		i++;
	while (k < f->nout && out[k])
		k++;
	if (i < f->nin || k < f->nout)
		return rt_door_leave(d, (rt_raise(&d->cx, "an argument or a result is null"), DOOR_ARGUMENT));
	if (f->direct && !d->cx.cuda && !d->own.warm && lie_apart(f, in, out))
		return rt_door_leave(d, f->direct(&d->cx, in, out) ? DOOR_RAISED : DOOR_OK);
	return rt_door_leave(d, call_typed(d, which, in, out));
}

int
rt_door_try(RtDoor *d, int which)
{
	const RtTyped *f = &d->door->typed[which];
	void *memory[2 * TYPED_MOST] = { 0 };
	int status = DOOR_OK;

	for (int i = 0; i < f->nin + f->nout && !status; i++) {
		memory[i] = rt_mem_zeroed(i < f->nin ? f->in[i].bytes : f->out[i - f->nin].bytes);
		status = memory[i] ? DOOR_OK : rt_raise(&d->cx, "out of memory");
	}
	d->cx.dry = true;
	if (!status)
		status = call_typed(d, which, (const void *const *)memory, memory + f->nin);
	d->cx.dry = false;
	for (int i = 0; i < f->nin + f->nout; i++)
		rt_mem_back(memory[i]);
	return status;
}
