/* rt/ops/from.c - tensors from values: numbers, nested lists, real and imaginary parts, classes */
#include <string.h>

#include "kernel.h"

double cos(double);
double sin(double);

/* ---- numbers and lists ------------------------------------------------------------------------------------ */

static RtDtype
type_of_number(IValue v)
{
	return v.tag == RT_INT ? RT_i64 : v.tag == RT_BOOL ? RT_b8 : v.tag == RT_COMPLEX ? RT_c64 : RT_f32;
}

/* Stores a number or a tensor of one element at p. Rounds floats to the default dtype first, as torch.tensor does in
 * TorchScript. */
static void
store_number(RtDtype d, char *p, IValue v)
{
	RtTensor *t = rt_tensor(v);

	if (t) {
		rt_cast(d, p, (RtDtype)t->dtype, rt_data(t), 1);
	} else if (v.tag == RT_INT || v.tag == RT_BOOL) {
		rt_cast(d, p, RT_i64, &v.u.i, 1);
	} else if (v.tag == RT_COMPLEX) {
		const RtC64 c = { (float)v.u.c->re, (float)v.u.c->im };

		rt_cast(d, p, RT_c64, &c, 1);
	} else {
		const float f = (float)rt_number(v);

		rt_cast(d, p, RT_f32, &f, 1);
	}
}

/* Makes a tensor from a number. options: dtype, device, requires_grad (if there is one). The number must fit its own
 * type, whatever the dtype. */
static int
from_number(RtCx *cx, IValue v, IValue dtype, bool requires_grad, IValue *out)
{
	const RtDtype own = type_of_number(v);
	RtTensor *r = rt_check_number(cx, v, own) ? 0 : rt_result(cx, 0, rt_dtype_or(dtype, own), 0, 0, 0);

	RT_RESULT(cx, r, out[0]);
	if (requires_grad)
		r->flags |= RT_REQUIRES_GRAD;
	store_number((RtDtype)r->dtype, rt_data(r), v);
	return RT_OK;
}

#define FROM_NUMBER(kind) \
	KERNEL(tensor_##kind, from_number(cx, in[0], in[1], in[3].u.i, out)) \
	KERNEL(as_tensor_##kind, from_number(cx, in[0], in[1], false, out))
FROM_NUMBER(bool)
FROM_NUMBER(int)
FROM_NUMBER(float)
FROM_NUMBER(complex)

int
rt_tensor_of_scalar(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *r = rt_result(cx, 0, rt_dtype_or(in[1], RT_f32), 0, 0, 0);

	RT_RESULT(cx, r, out[0]);
	return rt_fill(cx, r, in[0]);
}

/* Finds the shape from the first element at each depth, and the innermost element type. */
static int
list_shape(RtCx *cx, IValue v, int64_t *dims, const RtType **elem)
{
	int n = 0;

	while (v.tag == RT_LIST || v.tag == RT_TUPLE) {
		int64_t len = v.tag == RT_LIST ? v.u.list->n : v.u.tuple->n;
		if (n == RT_MAX_RANK) {
			rt_raise(cx, "the list is nested too deep");
			return -1;
		}
		if (v.tag == RT_LIST)
			*elem = v.u.list->elem;
		dims[n++] = len;
		if (!len)
			break;
		v = v.tag == RT_LIST ? v.u.list->v[0] : v.u.tuple->v[0];
	}
	while (*elem && (*elem)->kind == TYPE_LIST)
		*elem = (*elem)->of[0];
	return n;
}

static RtDtype
type_of_elements(const RtType *t)
{
	switch (t ? t->kind : TYPE_FLOAT) {
	case TYPE_INT:     return RT_i64;
	case TYPE_BOOL:    return RT_b8;
	case TYPE_COMPLEX: return RT_c64;
	case TYPE_FLOAT:   return RT_f32;
	default:           return RT_NDTYPE;
	}
}

static int
store_list(RtCx *cx, RtTensor *r, int dim, IValue v, char **p)
{
	int64_t n = v.tag == RT_LIST ? v.u.list->n : v.tag == RT_TUPLE ? v.u.tuple->n : -1;
	const IValue *e = v.tag == RT_LIST ? v.u.list->v : v.tag == RT_TUPLE ? v.u.tuple->v : 0;

	if (dim == r->ndim) {
		if (!rt_is_number(v) && !(rt_tensor(v) && rt_numel(v.u.t) == 1))
			return rt_raise(cx, "Expected a number in the list, but got %s", rt_type_of(v));
		store_number((RtDtype)r->dtype, *p, v);
		*p += rt_dtypes[r->dtype].bytes;
		return RT_OK;
	}
	if (n != r->dims[dim])
		return rt_raise(cx, "Expected sequence of length %lld at dim %d (got %lld)", (long long)r->dims[dim],
				dim, (long long)n);
	for (int64_t i = 0; i < n; i++)
		if (store_list(cx, r, dim + 1, e[i], p))
			return RT_ERROR;
	return RT_OK;
}

static int
from_list(RtCx *cx, IValue list, IValue dtype, bool requires_grad, IValue *out)
{
	int64_t dims[RT_MAX_RANK];
	const RtType *elem = 0;
	int n = list_shape(cx, list, dims, &elem);
	RtDtype d = type_of_elements(elem);
	RtTensor *r;
	char *p;

	if (n < 0)
		return RT_ERROR;
	if (d == RT_NDTYPE && rt_is_none(dtype)) {
		if (!elem || elem->kind != TYPE_TENSOR || !list.u.list->n || !rt_tensor(list.u.list->v[0]))
			return rt_raise(cx, "Input must be of ints, floats, complex or bools, got %s",
					rt_type_of(list));
		d = (RtDtype)list.u.list->v[0].u.t->dtype;
	}
	r = rt_result(cx, 0, rt_dtype_or(dtype, d), n, dims, 0);
	RT_RESULT(cx, r, out[0]);
	if (requires_grad)
		r->flags |= RT_REQUIRES_GRAD;
	p = rt_data(r);
	return store_list(cx, r, 0, list, &p);
}

KERNEL(make_tensor, from_list(cx, in[0], in[1], in[3].u.i, out))
KERNEL(as_tensor_list, from_list(cx, in[0], in[1], false, out))
KERNEL(_list_to_tensor, from_list(cx, in[0], rt_none(), false, out))

/* ---- complex numbers from two parts -------------------------------------------------------------------------- */

static void
join_block(void *arg, int64_t n, void *const *x)
{
	RtC128 *r = x[0];
	const double *a = x[1], *b = x[2];

	(void)arg;
	for (int64_t i = 0; i < n; i++)
		r[i] = (RtC128){ a[i], b[i] };
}

static void
polar_block(void *arg, int64_t n, void *const *x)
{
	RtC128 *r = x[0];
	const double *a = x[1], *b = x[2];

	(void)arg;
	for (int64_t i = 0; i < n; i++)
		r[i] = (RtC128){ a[i] * cos(b[i]), a[i] * sin(b[i]) };
}

static int
from_parts(RtCx *cx, RtBlockFn *fn, const IValue *in, IValue *out)
{
	static const RtDtype as[3] = { RT_c128, RT_f64, RT_f64 };
	RtTensor *x[3] = { 0, rt_tensor(in[0]), rt_tensor(in[1]) };
	RtDtype d = (RtDtype)x[1]->dtype;
	RtIter it;

	if (!rt_is_floating(d) || d == RT_bf16)
		return rt_raise(cx, "Expected both inputs to be Half, Float or Double tensors but got %s and %s",
				rt_dtypes[d].brief, rt_dtypes[x[2]->dtype].brief);
	if (d != x[2]->dtype)
		return rt_raise(cx, "Expected object of scalar type %s but got scalar type %s for second argument",
				rt_dtypes[d].brief, rt_dtypes[x[2]->dtype].brief);
	x[0] = rt_elementwise(cx, 0, rt_complex_type(d), 2, x + 1);
	RT_RESULT(cx, x[0], out[0]);
	rt_iter_init(&it, 3, 1, x, as, 0);
	rt_iter_run(cx, &it, fn, 0);
	return RT_OK;
}

KERNEL(tensor_of_parts, from_parts(cx, join_block, in, out))
KERNEL(polar, from_parts(cx, polar_block, in, out))

/* ---- classes ----------------------------------------------------------------------------------------------------- */

/* Finds the greatest class of a contiguous int64 tensor. Raises an error for negative classes, and, if n >= 0, for
 * classes >= n. */
static int
check_classes(RtCx *cx, const RtTensor *t, int64_t n, int64_t *most)
{
	const int64_t *x = (const int64_t *)(const void *)rt_data(t);

	*most = -1;
	for (int64_t i = 0; i < rt_numel(t); i++) {
		if (x[i] < 0)
			return rt_raise(cx, "Class values must be non-negative.");
		if (x[i] > *most)
			*most = x[i];
	}
	return n >= 0 && *most >= n ? rt_raise(cx, "Class values must be smaller than num_classes.") : RT_OK;
}

int
rt_one_hot(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]), *r;
	int64_t n = rt_integer(in[1]), most = -1, dims[RT_MAX_RANK + 1];

	if (t->dtype != RT_i64)
		return rt_raise(cx, "one_hot is only applicable to index tensor.");
	if (t->ndim == RT_MAX_RANK)
		return rt_raise(cx, "tensor has too many dimensions");
	if (rt_numel(t) == 0 && n <= 0)
		return rt_raise(cx, "Can not infer total number of classes from empty tensor.");
	if (cx->meta && n < 0)
		return rt_no_meta(cx);
	if (!cx->meta) {
		if (!(t = rt_temp(cx, rt_contiguous(cx, t))) || check_classes(cx, t, n, &most))
			return RT_ERROR;
	}
	memcpy(dims, t->dims, t->ndim * sizeof *dims);
	dims[t->ndim] = n = n < 0 ? most + 1 : n;
	r = rt_result(cx, 0, RT_i64, t->ndim + 1, dims, 0);
	RT_RESULT(cx, r, out[0]);
	if (rt_fill(cx, r, rt_int(0)))
		return RT_ERROR;
	for (int64_t i = 0; i < rt_numel(t); i++)
		((int64_t *)(void *)rt_data(r))[i * n + ((const int64_t *)(const void *)rt_data(t))[i]] = 1;
	return RT_OK;
}

int
rt__tensor_to_list(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]);
	RtList *list;

	if (cx->meta)
		return rt_no_meta(cx);
	if (!(t = rt_temp(cx, rt_to_dtype(cx, t, RT_i64))) || !(t = rt_temp(cx, rt_contiguous(cx, t)))
			|| !(list = rt_list_new(cx, &rt_type_int, rt_numel(t))))
		return RT_ERROR;
	out[0] = rt_ref(RT_LIST, list);
	for (int64_t i = 0; i < rt_numel(t); i++)
		if (rt_list_push(cx, list, rt_int(((const int64_t *)(const void *)rt_data(t))[i])))
			return RT_ERROR;
	return RT_OK;
}
