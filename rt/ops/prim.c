/*
 * Other operators: properties of tensors, tensors as numbers, identity, enums, devices, printing, and the state of a
 * call.
 */
#include <stdio.h>
#include <string.h>

#include "../base.h"
#include "kernel.h"

static int
give_text(RtCx *cx, const char *s, IValue *out)
{
	RtStr *r = rt_str_new(cx, s, -1);

	if (!r)
		return RT_ERROR;
	*out = rt_ref(RT_STR, r);
	return RT_OK;
}

/* ---- tensors as numbers ------------------------------------------------------------------------------------ */

static int
item(RtCx *cx, const RtTensor *t, IValue *out)
{
	int64_t n = rt_numel(t);

	if (n != 1)
		return rt_raise(cx, "a Tensor with %lld elements cannot be converted to Scalar", (long long)n);
	if (cx->meta)
		return rt_no_meta(cx);
	*out = rt_item(cx, t);
	return cx->status;
}

KERNEL(aten_item, item(cx, in[0].u.t, out))

/* Returns the value of a tensor of one element as a real number. A complex number is accepted only if its imaginary
 * part is 0. */
static int
real_item(RtCx *cx, const RtTensor *t, const char *type, IValue *out)
{
	int status = item(cx, t, out);
	double im;

	if (status || out->tag != RT_COMPLEX)
		return status;
	im = out->u.c->im;
	rt_assign(out, rt_double(out->u.c->re));
	if (im == 0)
		return RT_OK;
	*out = rt_none();
	return rt_raise(cx, "value cannot be converted to type %s without overflow", type);
}

static int
to_int(RtCx *cx, const RtTensor *t, IValue *out)
{
	int status = real_item(cx, t, "int64_t", out);

	if (!status)
		*out = rt_int(out->tag != RT_DOUBLE ? out->u.i
			: out->u.f >= -0x1p63 && out->u.f < 0x1p63 ? (int64_t)out->u.f : INT64_MIN);
	return status;
}

static int
to_float(RtCx *cx, const RtTensor *t, IValue *out)
{
	int status = real_item(cx, t, "double", out);

	if (!status && out->tag != RT_DOUBLE)
		*out = rt_double((double)out->u.i);
	return status;
}

KERNEL(Int_Tensor, to_int(cx, in[0].u.t, out))
KERNEL(Float_Tensor, to_float(cx, in[0].u.t, out))

static int
tensor_truth(RtCx *cx, const RtTensor *t, IValue *out)
{
	int64_t n = rt_numel(t);
	int status;
	bool is;

	if (n != 1)
		return rt_raise(cx, "Boolean value of Tensor with %s is ambiguous",
				n ? "more than one value" : "no values");
	if ((status = item(cx, t, out)))
		return status;
	is = out->tag == RT_COMPLEX ? out->u.c->re != 0 || out->u.c->im != 0 : out->tag == RT_DOUBLE ? out->u.f != 0
		: out->u.i != 0;
	rt_assign(out, rt_bool(is));
	return RT_OK;
}

KERNEL(Bool_Tensor, tensor_truth(cx, in[0].u.t, out))
KERNEL(is_nonzero, tensor_truth(cx, in[0].u.t, out))

static int
check_implicit(RtCx *cx, const RtTensor *t, bool integral)
{
	if (t->flags & RT_REQUIRES_GRAD)
		return rt_raise(cx, "Cannot input a tensor that requires grad as a scalar argument");
	if (t->ndim)
		return rt_raise(cx, "Cannot input a tensor of dimension other than 0 as a scalar argument");
	if (integral && !rt_is_integral((RtDtype)t->dtype, false))
		return rt_raise(cx, "Cannot input a tensor of type %s as an integral argument",
				rt_dtypes[t->dtype].brief);
	return RT_OK;
}

KERNEL(IntImplicit, check_implicit(cx, in[0].u.t, true) ? RT_ERROR : to_int(cx, in[0].u.t, out))
KERNEL(FloatImplicit, check_implicit(cx, in[0].u.t, false) ? RT_ERROR : to_float(cx, in[0].u.t, out))
KERNEL(ScalarImplicit, check_implicit(cx, in[0].u.t, false) ? RT_ERROR : item(cx, in[0].u.t, out))

int
rt_ComplexImplicit(RtCx *cx, const IValue *in, IValue *out)
{
	int status;

	if (check_implicit(cx, in[0].u.t, false))
		return RT_ERROR;
	if ((status = item(cx, in[0].u.t, out)) || out->tag == RT_COMPLEX)
		return status;
	*out = rt_complex(cx, rt_number(*out), 0);
	return cx->status;
}

static int
number_to_tensor(RtCx *cx, const IValue *in, IValue *out)
{
	RtDtype d = in[0].tag == RT_INT ? RT_i64 : in[0].tag == RT_BOOL ? RT_b8 : in[0].tag == RT_DOUBLE ? RT_f64 :
		RT_c128;
	RtTensor *r = rt_result(cx, 0, d, 0, NULL, NULL);

	if (r)
		r->flags |= RT_WRAPPED;
	RT_RESULT(cx, r, out[0]);
	return rt_fill(cx, r, in[0]);
}

KERNEL(prim_NumToTensor_Scalar, number_to_tensor(cx, in, out))
KERNEL(prim_NumToTensor_bool, number_to_tensor(cx, in, out))

/* ---- tolist --------------------------------------------------------------------------------------------------- */

enum { TOLIST_MAX = 6 };

#define NESTED(name, inner) \
	static const RtType *const of_##name[1] = { inner }; \
	static const RtType name = { .kind = TYPE_LIST, .n = 1, .of = of_##name };
#define NESTS(t) \
	NESTED(t##1, &rt_type_##t) NESTED(t##2, &t##1) NESTED(t##3, &t##2) NESTED(t##4, &t##3) NESTED(t##5, &t##4)
NESTS(int)
NESTS(float)
NESTS(bool)
NESTS(complex)

/* Types of nested lists, by the element's code of prim::tolist and the depth. */
static const RtType *const nested[4][TOLIST_MAX] = {
	{ &rt_type_int, &int1, &int2, &int3, &int4, &int5 },
	{ &rt_type_float, &float1, &float2, &float3, &float4, &float5 },
	{ &rt_type_bool, &bool1, &bool2, &bool3, &bool4, &bool5 },
	{ &rt_type_complex, &complex1, &complex2, &complex3, &complex4, &complex5 },
};

static IValue
element_value(RtCx *cx, RtDtype d, int code, const char *p)
{
	IValue v = rt_none();
	RtC128 z;

	if (code == 0)
		return rt_int(rt_load_i64(d, p));
	if (code == 1)
		return rt_double(rt_load_f64(d, p));
	if (code == 2)
		return rt_bool(*p != 0);
	rt_cast(RT_c128, &z, d, p, 1);
	v = rt_complex(cx, z.re, z.im);
	return v;
}

static int
to_list(RtCx *cx, const RtTensor *t, int dim, const char *p, int code, IValue *out)
{
	const int bytes = rt_dtypes[t->dtype].bytes;
	RtList *l;
	IValue v;

	if (dim == t->ndim) {
		*out = element_value(cx, (RtDtype)t->dtype, code, p);
		return cx->status;
	}
	l = rt_list_new(cx, nested[code][t->ndim - 1 - dim], t->dims[dim]);
	if (!l)
		return RT_ERROR;
	for (int64_t i = 0; i < t->dims[dim]; i++)
		if (to_list(cx, t, dim + 1, p + i * t->strides[dim] * bytes, code, &v) || rt_list_push(cx, l, v)) {
			rt_release(rt_ref(RT_LIST, l));
			return RT_ERROR;
		}
	*out = rt_ref(RT_LIST, l);
	return RT_OK;
}

/* Arguments, in one list: tensor, depth of the lists, code of their elements (0 int, 1 float, 2 bool, 3 complex). */
int
rt_prim_tolist(RtCx *cx, const IValue *in, IValue *out)
{
	const IValue *arg = in[0].u.list->v;
	const RtTensor *t = arg[0].u.t;
	int64_t code = arg[2].u.i;
	bool fits;

	if (code < 0 || code > 3)
		return rt_raise(cx, "tolist() to an unknown type");
	fits = code == 0 ? t->dtype == RT_i64 : code == 1 ? rt_is_floating((RtDtype)t->dtype) :
		code == 2 ? t->dtype == RT_b8 : rt_is_complex((RtDtype)t->dtype);
	if (!fits)
		return rt_raise(cx, "Output annotation element type and runtime tensor element type must match for "
			"tolist()");
	if (arg[1].u.i != t->ndim)
		return rt_raise(cx, "Output annotation list dimension and runtime tensor dimension must match for "
			"tolist()");
	if (t->ndim > TOLIST_MAX)
		return rt_lacks(cx, "tolist() of more than %d dimensions", TOLIST_MAX);
	if (cx->meta)
		return rt_no_meta(cx);
	return to_list(cx, t, 0, rt_data(t), (int)code, out);
}

/* ---- queries of tensors ------------------------------------------------------------------------------------------ */

#define ASK_INT(id, answer) \
	int \
	rt_##id(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		const RtTensor *t = in[0].u.t; \
		(void)cx, (void)t; \
		return put_int((answer), out); \
	}
#define ASK(id, answer) \
	int \
	rt_##id(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		const RtTensor *t = in[0].u.t; \
		(void)cx, (void)t; \
		return put_bool((answer), out); \
	}

ASK_INT(prim_dtype, t->dtype)

int
rt_prim_dtype_name(RtCx *cx, const IValue *in, IValue *out)
{
	const char *name = rt_dtypes[in[0].u.t->dtype].brief;

	*out = rt_ref(RT_STR, rt_str_new(cx, name, (int64_t)strlen(name)));
	return out->u.p ? RT_OK : RT_ERROR;
}

int
rt_prim_not_implemented(RtCx *cx, const IValue *in, IValue *out)
{
	Buf b = { 0 };

	buf_printf(&b, "\"%s\" not implemented for '%s'", in[1].u.str->s, rt_dtypes[in[0].u.t->dtype].brief);
	*out = rt_ref(RT_STR, rt_str_new(cx, b.at, b.n));
	buf_free(&b);
	return out->u.p ? RT_OK : RT_ERROR;
}

ASK_INT(prim_layout, 0)
ASK_INT(element_size, rt_dtypes[t->dtype].bytes)
ASK_INT(get_device, -1)
ASK_INT(output_nr, 0)
ASK_INT(_version, 0)
ASK(prim_is_cpu, true)
ASK(prim_is_cuda, false)
ASK(prim_is_ipu, false)
ASK(prim_is_meta, false)
ASK(prim_is_mkldnn, false)
ASK(prim_is_mps, false)
ASK(prim_is_nested, false)
ASK(prim_is_ort, false)
ASK(prim_is_quantized, t->quant != NULL)
ASK(prim_is_sparse, false)
ASK(prim_is_sparse_csr, false)
ASK(prim_is_vulkan, false)
ASK(prim_is_xpu, false)
ASK(prim_requires_grad, (t->flags & RT_REQUIRES_GRAD) != 0)
ASK(is_leaf, true)
ASK(is_distributed, false)
ASK(retains_grad, false)
ASK(_is_zerotensor, false)
ASK(_has_compatible_shallow_copy_type, true)

int
rt_prim_no_sparse(RtCx *cx, const IValue *in, IValue *out)
{
	(void)out;
	return rt_lacks(cx, "%s: Kiln has no sparse tensors", in[0].u.str->s);
}

int
rt_len_Tensor(RtCx *cx, const IValue *in, IValue *out)
{
	if (in[0].u.t->ndim == 0)
		return rt_raise(cx, "len() of a 0-d tensor");
	return put_int(in[0].u.t->dims[0], out);
}

int
rt_prim_device(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx, (void)in;
	out->tag = RT_DEVICE;
	out->u.i = 0;
	return RT_OK;
}

/* Returns None, which stands for an undefined tensor. */
int
rt_prim_grad(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx, (void)in;
	*out = rt_none();
	return RT_OK;
}

KERNEL(prim_name, rt_prim_grad(cx, in, out))

int
rt_prim_data(RtCx *cx, const IValue *in, IValue *out)
{
	const RtTensor *t = in[0].u.t;
	RtTensor *r = rt_tensor_view(cx, t, t->ndim, t->dims, t->strides, t->offset);

	if (!r)
		return RT_ERROR;
	r->flags &= (uint8_t)~RT_REQUIRES_GRAD;
	*out = rt_of(r);
	return RT_OK;
}

/* ---- identity, enums, devices ------------------------------------------------------------------------------------ */

KERNEL(__is__, put_bool(rt_same(in[0], in[1]), out))
KERNEL(__isnot__, put_bool(!rt_same(in[0], in[1]), out))

/* Returns the id of a value. For a number it is its bits, for None 0, and for any other value its address. */
KERNEL(prim_id, put_int(rt_is_none(in[0]) ? 0 : (int64_t)(intptr_t)in[0].u.p, out))

int
rt__unwrap_optional(RtCx *cx, const IValue *in, IValue *out)
{
	if (rt_is_none(in[0]))
		return rt_raise(cx, "Unwrapping null optional");
	*out = rt_retain(in[0]);
	return RT_OK;
}

static bool
same_enum(IValue a, IValue b)
{
	return a.tag == RT_ENUM && b.tag == RT_ENUM && rt_type_equal(a.u.en->type, b.u.en->type) &&
	       !strcmp(a.u.en->name->s, b.u.en->name->s);
}

KERNEL(eq_enum, put_bool(same_enum(in[0], in[1]), out))
KERNEL(ne_enum, put_bool(!same_enum(in[0], in[1]), out))

int
rt_prim_EnumName(RtCx *cx, const IValue *in, IValue *out)
{
	if (in[0].tag != RT_ENUM)
		return rt_raise(cx, "expected an enum, but got a value of type %s", rt_type_of(in[0]));
	*out = rt_retain(rt_ref(RT_STR, in[0].u.en->name));
	return RT_OK;
}

static int
enum_value(RtCx *cx, const IValue *in, IValue *out)
{
	if (in[0].tag != RT_ENUM)
		return rt_raise(cx, "expected an enum, but got a value of type %s", rt_type_of(in[0]));
	*out = rt_retain(in[0].u.en->value);
	return RT_OK;
}

KERNEL(prim_EnumValue_int, enum_value(cx, in, out))
KERNEL(prim_EnumValue_float, enum_value(cx, in, out))
KERNEL(prim_EnumValue_str, enum_value(cx, in, out))
KERNEL(eq_device, put_bool(in[0].u.i == in[1].u.i, out))
KERNEL(ne_device, put_bool(in[0].u.i != in[1].u.i, out))

/* Parses "cpu", "cuda", "cuda:1". */
int
rt_device(RtCx *cx, const IValue *in, IValue *out)
{
	const char *s = in[0].u.str->s, *rest;
	int kind = !strncmp(s, "cpu", 3) ? 0 : !strncmp(s, "cuda", 4) ? 1 : -1, index = -1;

	rest = s + (kind == 1 ? 4 : 3);
	if (kind >= 0 && *rest == ':' && rest[1] >= '0' && rest[1] <= '9') {
		for (index = 0, rest++; *rest >= '0' && *rest <= '9' && index < 100; rest++)
			index = index * 10 + *rest - '0';
	}
	if (kind < 0 || *rest || index > 126)
		return rt_raise(cx, "Invalid device string: '%s'", s);
	out->tag = RT_DEVICE;
	out->u.i = kind << 8 | (index + 1);
	return RT_OK;
}

KERNEL(prim_type, give_text(cx, in[0].u.i >> 8 ? "cuda" : "cpu", out))

int
rt_prim_index(RtCx *cx, const IValue *in, IValue *out)
{
	int64_t index = (in[0].u.i & 255) - 1;

	(void)cx;
	*out = index < 0 ? rt_none() : rt_int(index);
	return RT_OK;
}

KERNEL(wait_future, rt_wait_for(cx, in[0], &rt_type_any, out))
KERNEL(prim_awaitable_nowait, rt_awaited(cx, in[0], out))

/* ---- printing ---------------------------------------------------------------------------------------------------- */

/* Prints all arguments, separated by blanks. */
int
rt_prim_Print(RtCx *cx, const IValue *in, IValue *out)
{
	const RtList *l = in[0].u.list;
	Buf b = { 0 };

	(void)out;
	if (cx->meta)
		return rt_no_meta(cx);
	for (int64_t i = 0; i < l->n; i++) {
		if (i)
			buf_puts(&b, " ");
		rt_format_value(&b, l->v[i], 0);
	}
	buf_puts(&b, "\n");
	if (cx->print)
		cx->print(cx, b.at, b.n);
	else {
		fwrite(b.at, 1, (size_t)b.n, stdout);
		fflush(stdout);
	}
	buf_free(&b);
	return RT_OK;
}

KERNEL(save, rt_lacks(cx, "torch.save in a model: it would write %s where it runs", in[1].u.str->s))

int
rt_prim_leaf(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx;
	*out = rt_retain(in[0]);
	return RT_OK;
}

static int
no_gradient(RtCx *cx)
{
	return rt_raise(cx, "element 0 of tensors does not require grad and does not have a grad_fn");
}

KERNEL(grad, no_gradient(cx))
KERNEL(backward, no_gradient(cx))
KERNEL(backward_TensorList, no_gradient(cx))
KERNEL(prim_lacks, rt_lacks(cx, "%s", in[0].u.str->s))

/* Prints a text once, because a model may warn at the same line on each call. */
int
rt_warn(RtCx *cx, const IValue *in, IValue *out)
{
	const RtStr *s = in[0].u.str;
	bool *said = &cx->warned[hash_bytes(s->s, s->n) % 64];

	(void)out;
	if (cx->meta || *said)
		return RT_OK;
	*said = true;
	if (cx->warn)
		cx->warn(cx, s->s, s->n);
	else
		fprintf(stderr, "UserWarning: %s\n", s->s);
	return RT_OK;
}

/* ---- the state of a call ----------------------------------------------------------------------------------------- */

KERNEL(is_grad_enabled, put_bool(cx->grad, out))

int
rt_set_grad_enabled(RtCx *cx, const IValue *in, IValue *out)
{
	(void)out;
	cx->grad = in[0].u.i;
	return RT_OK;
}

KERNEL(is_autocast_enabled, put_bool(false, out))
KERNEL(is_autocast_cpu_enabled, put_bool(false, out))
KERNEL(is_vulkan_available, put_bool(false, out))
KERNEL(_nnpack_available, put_bool(false, out))
KERNEL(_use_cudnn_rnn_flatten_weight, put_bool(false, out))
KERNEL(_get_tracing_state, put_bool(false, out))
KERNEL(has_torch_function, put_bool(false, out))

KERNEL(is_scripting, put_bool(true, out))
KERNEL(prim_TimePoint, put_int(rt_now(), out))
KERNEL(prim_AddStatValue, RT_OK)
KERNEL(torchvision__cuda_version, put_int(-1, out))

/* Returns the sum. If an operand is None, which is an undefined gradient, returns the other one. */
int
rt_prim_AutogradAdd(RtCx *cx, const IValue *in, IValue *out)
{
	IValue args[3] = { in[0], in[1], rt_int(1) };

	if (in[0].tag == RT_TENSOR && in[1].tag == RT_TENSOR)
		return rt_add_Tensor(cx, args, out);
	*out = rt_retain(in[0].tag == RT_TENSOR ? in[0] : in[1]);
	return RT_OK;
}

static int64_t
defined(const RtList *l)
{
	int64_t n = 0;

	for (int64_t i = 0; i < l->n; i++)
		n += l->v[i].tag == RT_TENSOR;
	return n;
}

KERNEL(prim_AutogradAnyNonZero, put_bool(defined(in[0].u.list) > 0, out))
KERNEL(prim_AutogradAllNonZero, put_bool(defined(in[0].u.list) == in[0].u.list->n, out))
KERNEL(prim_AutogradAllZero, put_bool(defined(in[0].u.list) == 0, out))
KERNEL(prim_AutogradZero, rt_prim_grad(cx, in, out))

int
rt_prim_IfThenElse(RtCx *cx, const IValue *in, IValue *out)
{
	(void)cx;
	*out = rt_retain(in[0].u.i ? in[1] : in[2]);
	return RT_OK;
}
