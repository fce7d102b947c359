/* rt/ops/map.c - the eager kernels of pointwise operators
 *
 * Each entry of a pointwise family becomes a loop over plain arrays for each compute type of its domain, into which the
 * value column is compiled unchanged. A kernel promotes types, broadcasts, and runs the loop in the element
 * iterator. */
#include <string.h>

#include "quant.h"
#include "tmath.h"
#define V_EAGER
#include "vmath.h"

#undef t_exp_near                        /* eager kernels also compute results beyond 1e38 */
#define t_exp_near(x) exp(x)

/* Complex products and quotients are computed by the plain formulas, as in PyTorch, without C's correction of infinite
 * results. */
#if defined __GNUC__ && !defined __clang__ && !defined __TINYC__
#pragma GCC optimize("cx-fortran-rules")
#endif

/* ---- arguments of a pointwise operator ------------------------------------------------------------- */

static bool
is_one_of(const char *name, int n, const char *const *names)
{
	for (; *names; names++)
		if ((int)strlen(*names) == n && !strncmp(*names, name, (size_t)n))
			return true;
	return false;
}

/* Whether numbers of this name take part in promotion. alpha, value, weight ... do not. */
static bool
number_joins(const char *name, int n)
{
	static const char *const joining[] = { "self", "other", "exponent", "min", "max", "x", "n", 0 };

	return is_one_of(name, n, joining);
}

/* Whether the number must fit in the common type. Operands are cast without a check; all other numbers must fit. */
static bool
number_fits(const char *name, int n)
{
	static const char *const operands[] = { "self", "other", "x", "n", 0 };

	return !is_one_of(name, n, operands);
}

static bool
read_arg(const char *type, int n, RtMapArg *a)
{
	const char *space = memchr(type, ' ', (size_t)n), *name;
	int len = 0;

	*a = (RtMapArg){ .arg = a->arg };
	if (!space)
		return false;
	name = space + 1;
	while (name[len] == '_' || (name[len] >= 'a' && name[len] <= 'z') || (name[len] >= '0' && name[len] <= '9'))
		len++;
	a->tensor = !strncmp(type, "Tensor", 6);
	if (a->tensor)
		a->joins = !(len == 9 && !strncmp(name, "condition", 9));
	else if (!strncmp(type, "Scalar", 6) && type[6] != 'T') {
		a->joins = number_joins(name, len);
		a->fits = number_fits(name, len);
	} else if (!strncmp(type, "int", 3) || !strncmp(type, "float", 5))
		a->joins = false;
	else
		return false;
	return true;
}

int
rt_map_args(const char *schema, RtMapArg arg[RT_MAP_MAX])
{
	const char *p = strchr(schema, '(') + 1;
	const bool where = !strncmp(schema, "aten::where.", 12);
	int n = 0, index = 0;

	while (*p != ')' && n < RT_MAP_MAX) {
		int len = 0, depth = 0;
		for (; p[len] && (depth || (p[len] != ',' && p[len] != ')')); len++)
			depth += (p[len] == '(') - (p[len] == ')');
		if (*p != '*') {
			if (read_arg(p, len, &arg[n])) {
				arg[n].fits |= where && !arg[n].tensor;
				arg[n++].arg = (uint8_t)index;
			}
			index++;
		}
		p += len;
		while (*p == ',' || *p == ' ')
			p++;
	}
	return n;
}

bool
rt_map_holds(const RtMapArg *a, RtDtype common)
{
	return !a->fits || rt_kind(common) != 'I' || common == RT_i64;
}

bool
rt_map_takes(const char *domain, RtDtype common)
{
	const char category = rt_category(common);

	return category == 'U' ? strchr(domain, 'U') != NULL : category != 'E' || strchr(domain, '8');
}

void
rt_map_types(const RtMapArg *a, int n, RtMapResult result, const IValue *in, RtMapTypes *t)
{
	RtPromotion p = rt_promotion();

	for (int i = 0; i < n; i++)
		if (a[i].joins && rt_tensor(in[a[i].arg]))
			rt_promote_tensor(&p, in[a[i].arg].u.t);
		else if (a[i].joins)
			rt_promote_number(&p, in[a[i].arg]);
	t->common = rt_promoted(&p);
	if (t->common == RT_NDTYPE)
		return;
	if (result == RT_MAP_floating || result == RT_MAP_part)
		t->common = rt_to_floating(t->common);
	t->compute = (RtDtype)rt_dtypes[t->common].compute;
	t->result = t->common;
	if (result == RT_MAP_boolean)
		t->result = RT_b8;
	if (result == RT_MAP_uint8 || result == RT_MAP_int8)
		t->result = result == RT_MAP_uint8 ? RT_u8 : RT_i8;
	if (result == RT_MAP_real || result == RT_MAP_part)
		t->result = rt_real_type(t->common);
	if (result == RT_MAP_asked)
		t->result = (RtDtype)in[1].u.i;
}

/* ---- kernels ------------------------------------------------------------------------------------------ */

enum { AS_b8, AS_i32, AS_i64, AS_u64, AS_f32, AS_f64, AS_c64, AS_c128, NAS };

/* An operator's own checks. ATen makes them before it checks the written tensor. `into` is null if no tensor is
 * written. */
typedef struct MapRow MapRow;
typedef int First(RtCx *, const IValue *in, const RtMapTypes *t, const RtInto *into);

struct MapRow {
	const char *schema, *domain;
	RtMapResult result;
	First      *first;       /* the operator's own checks; null if it has none */
	RtBlockFn  *loop[NAS];
};

typedef struct MapState {
	bool has[RT_MAP_MAX];    /* whether the argument is not None */
	bool zero;               /* whether an integer was divided by zero */
	RtDtype dtype;           /* the common dtype */
} MapState;

static int
loop_index(RtDtype d)
{
	switch (d) {
	case RT_b8:  return AS_b8;
	case RT_i32: return AS_i32;
	case RT_i64: return AS_i64;
	case RT_u64: return AS_u64;
	case RT_f32: return AS_f32;
	case RT_f64: return AS_f64;
	case RT_c64: return AS_c64;
	default:     return AS_c128;
	}
}

static bool
is_named(const MapRow *row, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(row->schema, "aten::", 6) && !strncmp(row->schema + 6, name, n) &&
	       strchr(".(", row->schema[6 + n]);
}

static int
not_for(RtCx *cx, const MapRow *row, RtDtype d)
{
	const char *name = strchr(row->schema, ':') + 2;

#ifdef __TINYC__
	if (rt_is_complex(d) && strchr(row->domain, 'C'))
		return rt_lacks(cx, "arithmetic of complex numbers where tcc compiles the runtime");
#endif
	if (is_named(row, "neg") && d == RT_b8)
		return rt_raise(cx, "Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
				"to invert a mask, use the `~` or `logical_not()` operator instead.");
	return rt_raise(cx, "\"%.*s_cpu%s\" not implemented for '%s'", (int)strcspn(name, ".("), name,
		strchr(row->domain, '1') ? "_reduced_float" : "", rt_dtypes[d].brief);
}

/* Stores a number's bytes and returns their type. */
static RtDtype
number_bytes(IValue v, double bytes[2])
{
	switch (v.tag) {
	case RT_DOUBLE:
		bytes[0] = v.u.f;
		return RT_f64;
	case RT_COMPLEX:
		bytes[0] = v.u.c->re, bytes[1] = v.u.c->im;
		return RT_c128;
	case RT_INT:
	case RT_BOOL:
		memcpy(bytes, &v.u.i, 8);
		return RT_i64;
	default:
		bytes[0] = 0;
		return RT_f64;
	}
}

/* Returns a dtype's name as C++ prints it in ATen's messages. */
const char *
rt_type_text(RtDtype d)
{
	switch (d) {
	case RT_b8:   return "bool";
	case RT_u8:   return "unsigned char";
	case RT_i8:   return "signed char";
	case RT_i16:  return "short int";
	case RT_i32:  return "int";
	case RT_i64:  return "long int";
	case RT_f16:  return "c10::Half";
	case RT_bf16: return "c10::BFloat16";
	case RT_f32:  return "float";
	case RT_f64:  return "double";
	case RT_c64:  return "c10::complex<float>";
	case RT_c128: return "c10::complex<double>";
	default:      return rt_dtypes[d].brief;
	}
}

/* ---- operators' own checks: FIRST_id, each below its function ---------------------------------------------------- */

/* Returns the dtype of the first argument. If that is a number, the common dtype. */
static RtDtype
self_type(const IValue *in, const RtMapTypes *t)
{
	return rt_tensor(in[0]) ? (RtDtype)in[0].u.t->dtype : t->common;
}

static int
no_complex(RtCx *cx, const IValue *in, const RtMapTypes *t, const char *text)
{
	return rt_is_complex(self_type(in, t)) ? rt_raise(cx, "%s", text) : RT_OK;
}

static int
no_bool(RtCx *cx, const IValue *in, const RtMapTypes *t, const char *text)
{
	return self_type(in, t) == RT_b8 ? rt_raise(cx, "%s", text) : RT_OK;
}

static const char no_complex_clamp[] = "clamp is not supported for complex types";

/* Raises an error for bounds that would force every integer out of the dtype's range. */
static int
check_limits(RtCx *cx, RtDtype d, IValue least, IValue most)
{
	const bool from_zero = d == RT_u8 || rt_category(d) == 'U';
	const double half = (double)(UINT64_C(1) << (8 * rt_dtypes[d].bytes - 1)), low = from_zero ? 0 : -half;
	const double high = (from_zero ? 2 * half : half) - 1;

	if (rt_category(d) != 'U' && (cx->torch != RT_TORCH_2 || rt_kind(d) != 'I'))
		return RT_OK;
	if (rt_number_or(least, low) > high)
		return rt_raise(cx, "Clamp min value %g is outside the representable range of %s", rt_number(least),
				rt_dtypes[d].brief);
	return rt_number_or(most, high) >= low ? RT_OK :
		rt_raise(cx, "Clamp max value %g is outside the representable range of %s", rt_number(most),
			 rt_dtypes[d].brief);
}

/* Raises an error if clamp is in place and its bounds would change the dtype. */
static int
first_clamp_bound(RtCx *cx, const IValue *in, const RtMapTypes *t, const RtInto *into)
{
	if (no_complex(cx, in, t, no_complex_clamp))
		return RT_ERROR;
	if (!into || into->t != rt_tensor(in[0]) || into->t->dtype == t->result || in[1].tag == RT_TENSOR ||
	    in[2].tag == RT_TENSOR)
		return RT_OK;
	return rt_raise(cx, "result type %s can't be cast to the desired output type %s", rt_dtypes[t->result].brief,
			rt_type_text((RtDtype)into->t->dtype));
}
#define FIRST_clamp_min_Tensor , first_clamp_bound
#define FIRST_clamp_max_Tensor , first_clamp_bound

static int
first_clamp_min(RtCx *cx, const IValue *in, const RtMapTypes *t, const RtInto *into)
{
	return first_clamp_bound(cx, in, t, into) || check_limits(cx, t->common, in[1], rt_none());
}
#define FIRST_clamp_min , first_clamp_min

static int
first_clamp_max(RtCx *cx, const IValue *in, const RtMapTypes *t, const RtInto *into)
{
	return first_clamp_bound(cx, in, t, into) || check_limits(cx, t->common, rt_none(), in[1]);
}
#define FIRST_clamp_max , first_clamp_max

static int
first_clamp(RtCx *cx, const IValue *in, const RtMapTypes *t, const RtInto *into)
{
	if (rt_is_none(in[1]) && rt_is_none(in[2]))
		return rt_raise(cx, "torch.clamp: At least one of 'min' or 'max' must not be None");
	if (first_clamp_bound(cx, in, t, into))
		return RT_ERROR;
	return in[1].tag == RT_TENSOR || in[2].tag == RT_TENSOR ? RT_OK : check_limits(cx, t->common, in[1], in[2]);
}
#define FIRST_clamp        , first_clamp
#define FIRST_clamp_Tensor , first_clamp

static int
first_relu(RtCx *cx, const IValue *in, const RtMapTypes *t, const RtInto *into)
{
	(void)into;
	return no_complex(cx, in, t, no_complex_clamp) || no_bool(cx, in, t, "Boolean inputs not supported for relu");
}
#define FIRST_relu , first_relu

static int
first_relu6(RtCx *cx, const IValue *in, const RtMapTypes *t, const RtInto *into)
{
	(void)into;
	return no_complex(cx, in, t, no_complex_clamp) || no_bool(cx, in, t, "Bool inputs not supported for hardtanh");
}
#define FIRST_relu6 , first_relu6

static int
first_hardtanh(RtCx *cx, const IValue *in, const RtMapTypes *t, const RtInto *into)
{
	if (first_relu6(cx, in, t, into))
		return RT_ERROR;
	if (cx->torch != RT_TORCH_2 && rt_tensor(in[0])->dtype == RT_u8 &&
	    (rt_integer(in[1]) < 0 || rt_integer(in[2]) < 0))
		return rt_raise(cx, "cannot do hardtanh on an unsigned type with negative limits");
	return check_limits(cx, t->common, in[1], in[2]);
}
#define FIRST_hardtanh , first_hardtanh

#define NO_COMPLEX(id, text) \
	static int first_##id(RtCx *cx, const IValue *in, const RtMapTypes *t, const RtInto *into) \
	{ \
		(void)into; \
		return no_complex(cx, in, t, text); \
	}
NO_COMPLEX(ceil, "ceil is not supported for complex inputs")
#define FIRST_ceil , first_ceil
NO_COMPLEX(floor, "floor is not supported for complex inputs")
#define FIRST_floor , first_floor
NO_COMPLEX(trunc, "trunc is not supported for complex inputs")
#define FIRST_trunc , first_trunc
NO_COMPLEX(sign, "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.")
#define FIRST_sign , first_sign
NO_COMPLEX(deg2rad, "deg2rad is not supported for complex tensors.")
#define FIRST_deg2rad , first_deg2rad
NO_COMPLEX(rad2deg, "rad2deg is not supported for complex tensors.")
#define FIRST_rad2deg , first_rad2deg

static int
first_where(RtCx *cx, const IValue *in, const RtMapTypes *t, const RtInto *into)
{
	(void)t, (void)into;
	if (in[0].u.t->dtype != RT_b8 && in[0].u.t->dtype != RT_u8)
		return rt_raise(cx, "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
				rt_dtypes[in[0].u.t->dtype].brief);
	return RT_OK;
}
#define FIRST_where_self        , first_where
#define FIRST_where_ScalarSelf  , first_where
#define FIRST_where_ScalarOther , first_where
#define FIRST_where_Scalar      , first_where

/* Raises an error unless the arguments of lerp have the same dtype, because lerp promotes nothing. */
static int
first_lerp(RtCx *cx, const IValue *in, const RtMapTypes *t, const RtInto *into)
{
	static const char *const names[] = { "self", "end", "weight" };

	(void)t, (void)into;
	for (int i = 1; i < 3; i++)
		if (in[i].tag == RT_TENSOR && in[i].u.t->dtype != in[0].u.t->dtype)
			return rt_raise(cx, "expected dtype %s for `%s` but got dtype %s",
					rt_type_text((RtDtype)in[0].u.t->dtype), names[i],
					rt_type_text((RtDtype)in[i].u.t->dtype));
	return RT_OK;
}
#define FIRST_lerp_Scalar , first_lerp
#define FIRST_lerp_Tensor , first_lerp

static int
first_abs(RtCx *cx, const IValue *in, const RtMapTypes *t, const RtInto *into)
{
	return into && into->t == rt_tensor(in[0]) && rt_is_complex(t->common) ?
		rt_raise(cx, "In-place abs is not supported for complex tensors.") : RT_OK;
}
#define FIRST_abs , first_abs

static bool
is_integral_tensor(const IValue *v)
{
	return v->tag == RT_TENSOR && rt_is_integral((RtDtype)v->u.t->dtype, true);
}

static int
first_addcdiv(RtCx *cx, const IValue *in, const RtMapTypes *t, const RtInto *into)
{
	(void)t, (void)into;
	if (is_integral_tensor(&in[1]) && is_integral_tensor(&in[2]))
		return rt_raise(cx, "Integer division with addcdiv is no longer supported, and in a future  release "
				"addcdiv will perform a true division of tensor1 and tensor2. The historic addcdiv "
				"behavior can be implemented as (input + value * torch.trunc(tensor1 / "
				"tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
				"tensor2) for float inputs. The future addcdiv behavior is just the latter "
				"implementation: (input + value * tensor1 / tensor2), for all dtypes.");
	return RT_OK;
}
#define FIRST_addcdiv , first_addcdiv

static int
first_sub(RtCx *cx, const IValue *in, const RtMapTypes *t, const RtInto *into)
{
	const bool a = rt_tensor(in[0]) && in[0].u.t->dtype == RT_b8, b = rt_tensor(in[1]) && in[1].u.t->dtype == RT_b8;

	(void)t, (void)into;
	if (a && b)
		return rt_raise(cx,
				"Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
				"`logical_xor()` operator instead.");
	if (a || b)
		return rt_raise(cx, "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
				"trying to invert a mask, use the `~` or `logical_not()` operator instead.");
	return RT_OK;
}
#define FIRST_sub_Tensor  , first_sub
#define FIRST_sub_Scalar  , first_sub
#define FIRST_rsub_Tensor , first_sub
#define FIRST_rsub_Scalar , first_sub

static int
first_pow(RtCx *cx, const IValue *in, const RtMapTypes *t, const RtInto *into)
{
	(void)into;
	if (t->compute == RT_i64 && in[1].tag == RT_INT && in[1].u.i < 0)
		return rt_raise(cx, "Integers to negative integer powers are not allowed.");
	return RT_OK;
}
#define FIRST_pow_Tensor_Scalar , first_pow

/* Expands to first_x if FIRST_x is defined, else to null. */
#define SECOND(a, b, ...) b
#define FIRST_OF(...)     SECOND(__VA_ARGS__, 0, 0)

/* ---- the kernel of any pointwise operator ------------------------------------------------------------------------ */

/* Checks alpha for add, sub and rsub. */
static int
check_alpha(RtCx *cx, IValue alpha, RtDtype common)
{
	if ((rt_kind(common) == 'I' || common == RT_b8) && alpha.tag == RT_DOUBLE)
		return rt_raise(cx, "For integral input tensors, argument alpha must not be a floating point number.");
	if (!rt_is_complex(common) && alpha.tag == RT_COMPLEX)
		return rt_raise(cx, "For non-complex input tensors, argument alpha must not be a complex number.");
	return RT_OK;
}

/* Whether the operator accepts any number. Those with L in their domain do, for integers. A power of floats accepts
 * every double. */
static bool
takes_any_number(const RtCx *cx, const MapRow *row, RtDtype common)
{
	if (is_named(row, "pow"))
		return common == RT_f32 || common == RT_f64 || rt_is_complex(common);
	return (cx->torch == RT_TORCH_2 || rt_category(common) == 'U') && strchr("IB", rt_kind(common)) &&
	       strchr(row->domain, 'L');
}

/* Whether ATen computes this operator on 8-bit floats with other code because b has several elements. */
static bool
has_several(const MapRow *row, const IValue *in, RtDtype common)
{
	return rt_category(common) == 'E' && strchr(row->domain, '1') && in[1].tag == RT_TENSOR &&
	       rt_numel(in[1].u.t) != 1;
}

/* Raises an error unless the number fits in the common type. sub and rsub are sums with -alpha, so -alpha must fit. */
static int
check_fits(RtCx *cx, const MapRow *row, IValue number, RtDtype common)
{
	if (number.tag == RT_INT && number.u.i > INT64_MIN && (is_named(row, "sub") || is_named(row, "rsub")))
		number.u.i = -number.u.i;
	return rt_is_none(number) ? RT_OK : rt_check_number(cx, number, common);
}

static int
check_types(RtCx *cx, const MapRow *row, const IValue *in, const RtMapTypes *t)
{
	RtMapArg arg[RT_MAP_MAX];

	if (rt_category(t->common) == 'Q' || !row->loop[loop_index(t->compute)] ||
	    !(rt_map_takes(row->domain, t->common) || has_several(row, in, t->common)))
		return not_for(cx, row, t->common);
	if ((is_named(row, "add") || is_named(row, "sub") || is_named(row, "rsub")) &&
	    check_alpha(cx, in[2], t->common))
		return RT_ERROR;
	if (takes_any_number(cx, row, t->common))
		return RT_OK;
	for (int i = 0, n = rt_map_args(row->schema, arg); i < n; i++)
		if (arg[i].fits && check_fits(cx, row, in[arg[i].arg], t->common))
			return RT_ERROR;
	return RT_OK;
}

/* Raises an error unless the operands' shapes broadcast, and the result fits its destination. */
static int
check_shapes(RtCx *cx, const RtInto *into, RtDtype result, int n, RtTensor *const *operands)
{
	int64_t dims[RT_MAX_RANK];
	int ndim = 0;

	for (int i = 0; i < n; i++)
		if (operands[i] && rt_broadcast(cx, &ndim, dims, operands[i]->ndim, operands[i]->dims))
			return RT_ERROR;
	return into ? into->check(cx, into, result, ndim, dims) : RT_OK;
}

/* Whether any of the arguments that take part in promotion is quantized. */
static bool
joins_quantized(const RtMapArg *a, int n, const IValue *in)
{
	for (int i = 0; i < n; i++)
		if (a[i].joins && rt_tensor(in[a[i].arg]) && rt_category((RtDtype)in[a[i].arg].u.t->dtype) == 'Q')
			return true;
	return false;
}

static int
no_common_type(RtCx *cx, const RtMapArg *a, int n, const IValue *in)
{
	IValue joined[RT_MAP_MAX];
	int k = 0;

	for (int i = 0; i < n; i++)
		if (a[i].joins)
			joined[k++] = in[a[i].arg];
	return rt_no_result_type(cx, k, joined);
}

static int
map(RtCx *cx, const MapRow *row, const IValue *in, IValue *out)
{
	const RtInto *into = cx->into;
	RtMapArg arg[RT_MAP_MAX];
	RtMapTypes t = { RT_NDTYPE, RT_NDTYPE, RT_NDTYPE };
	RtTensor *x[RT_MAP_MAX + 1] = { 0 };
	RtDtype as[RT_MAP_MAX + 1], via[RT_MAP_MAX + 1];
	double number[RT_MAP_MAX][2];
	MapState state = { .zero = false, .dtype = RT_f32 };
	RtIter it;
	int n = rt_map_args(row->schema, arg);
	bool limited;            /* whether numbers may be outside of the dtype's range */

	cx->into = NULL;
	if (joins_quantized(arg, n, in))
		return into && into->overlaps(cx, into) ? RT_ERROR : rt_quantized->map(cx, row, in, out);
	for (int i = 0; i < n; i++)
		x[i + 1] = rt_tensor(in[arg[i].arg]);
	rt_map_types(arg, n, row->result, in, &t);
	if (t.common == RT_NDTYPE)
		return no_common_type(cx, arg, n, in);
	if ((row->first && row->first(cx, in, &t, into)) || (into && into->overlaps(cx, into)) ||
	    check_shapes(cx, into, t.result, n, x + 1) || check_types(cx, row, in, &t))
		return RT_ERROR;
	state.dtype = t.common;
	limited = rt_kind(t.common) == 'I' && takes_any_number(cx, row, t.common);
	if (t.common == RT_i32 && row->loop[AS_i32])
		t.compute = as[0] = RT_i32;
	else
		as[0] = row->result == RT_MAP_asked ? t.compute : (RtDtype)rt_dtypes[t.result].compute;
	via[0] = as[0];
	for (int i = 0; i < n; i++) {
		as[i + 1] = t.compute;
		via[i + 1] = arg[i].joins && !(x[i + 1] == NULL && limited) ? t.common : t.compute;
		state.has[i] = !rt_is_none(in[arg[i].arg]);
	}
	x[0] = rt_elementwise(cx, 0, t.result, n, x + 1);
	RT_RESULT(cx, x[0], out[0]);
	rt_iter_init(&it, n + 1, 1, x, as, via);
	for (int i = 0; i < n; i++)
		if (!x[i + 1]) {
			it.op[i + 1].dtype = number_bytes(in[arg[i].arg], number[i]);
			if (limited && t.compute == RT_u64 && rt_number_or(in[arg[i].arg], 0) < 0)
				number[i][0] = 0;
			it.op[i + 1].data = (char *)number[i];
		}
	rt_iter_run(cx, &it, row->loop[loop_index(t.compute)], &state);
	return state.zero ? rt_raise(cx, "ZeroDivisionError") : RT_OK;
}

/* Quantizes a result in (-1, 1), or in [0, 1], to the full range of its dtype. */
static int
close_bounded(RtCx *cx, RtTensor *y, bool both_signs, RtDtype dtype, IValue *out)
{
	const double step = dtype == RT_qi32 ? 0x1p-32 : 0x1p-8;
	const int zero = dtype == RT_qu8 ? (both_signs ? 128 : 0) : dtype == RT_qi8 ? (both_signs ? 0 : -128) : 0;

	return quant_close(cx, y, both_signs ? 2 * step : step, zero, dtype, out);
}

/* Runs an operator on the values of quantized tensors. The result has the parameters of the first one, or those of its
 * bounded range. */
int
rt_map_quantized(RtCx *cx, const MapRow *row, const IValue *in, IValue *out)
{
	RtMapArg arg[RT_MAP_MAX];
	const int n = rt_map_args(row->schema, arg);
	IValue v[RT_MAP_MAX + 8], y;
	RtTensor *first = 0;
	RtMark mark = rt_scratch_mark(cx);
	const bool wide = is_named(row, "tanh"), sigmoid = is_named(row, "sigmoid");
	const bool fused = !sigmoid && row->result != RT_MAP_boolean;
	int status;

	for (int i = 0; i < RT_MAP_MAX + 8; i++)
		v[i] = rt_none();
	for (int i = 0; i < n; i++)
		if (arg[i].arg < RT_MAP_MAX + 8 && quant_open(cx, in[arg[i].arg], fused, &v[arg[i].arg], &first))
			return RT_ERROR;
	RT_ASSERT(first && first->quant);
	if (map(cx, row, v, &y))
		return RT_ERROR;
	y = rt_temp_value(cx, y);
	if (y.u.t->dtype != RT_f32) {
		*out = rt_retain(y);
		return RT_OK;
	}
	if (first->quant->scales)
		return rt_lacks(cx, "this operator on tensors quantized per channel");
	if (wide || sigmoid || is_named(row, "hardsigmoid"))
		status = close_bounded(cx, y.u.t, wide, (RtDtype)first->dtype, out);
	else
		status = quant_close(cx, y.u.t, first->quant->scale, first->quant->zero, (RtDtype)first->dtype, out);
	rt_scratch_reset(cx, mark);
	return status;
}

/* Expressions for all types also compare a bool with 0, which gcc would warn about. */
#if defined __GNUC__ && !defined __TINYC__
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wbool-compare"
#endif
#endif

RT_FAST

/* ---- magnitudes and powers in vectors ---------------------------------------------------------------------------- */

#ifndef __TINYC__
TM_INLINE float size_c64(TmC64 z) { return hypot(__real__ z, __imag__ z); }
#undef t_abs
#define t_abs(x) TM_ALL(x, fabsf, (fabs), t_iabs, t_babs, size_c64, cabs)(x)
#endif

/* Without optimization, gcc would warn that it ignores annotations of loops with two conditions. */
#ifndef __OPTIMIZE__
#undef IVDEP
#define IVDEP
#endif

/* Computes powers that are products, roots or their quotients. y is the exponent of all elements. Returns false for
 * other powers. */
#define POWERS(T, suffix) \
	static bool \
	power_##suffix(T *r, const T *a, T y, int64_t n, bool half) \
	{ \
		const bool cube = y == 3, product = fabs(y) == 2 || cube; \
		const bool root = !half && fabs(y) == (T)0.5; \
		\
		IVDEP \
		for (int64_t i = 0; i < n && product; i++) \
			r[i] = a[i] * a[i] * (cube ? a[i] : 1); \
		IVDEP \
		for (int64_t i = 0; i < n && root; i++) \
			r[i] = sqrt(a[i]); \
		a = product || root ? r : a; \
		IVDEP \
		for (int64_t i = 0; i < n && y < 0; i++) \
			r[i] = 1 / a[i]; \
		return product || root || y == -1; \
	}
POWERS(float, f32)
POWERS(double, f64)

#if defined __GNUC__ && !defined __clang__ && !defined __TINYC__
#pragma GCC optimize("unswitch-loops")   /* compiles a loop for each combination of given bounds */
#endif

/* ---- the loops of pointwise operators --------------------------------------------------------------------- */

#define TYPE_b8   bool
#define TYPE_i32  int32_t
#define TYPE_i64  int64_t
#define TYPE_u64  uint64_t
#define TYPE_f32  float
#define TYPE_f64  double
#define TYPE_c64  float _Complex
#define TYPE_c128 double _Complex

#define TO_promote(as)  TYPE_##as
#define TO_floating(as) TYPE_##as
#define TO_asked(as)    TYPE_##as
#define TO_boolean(as)  bool
#define TO_real(as)     REAL_##as
#define TO_part(as)     REAL_##as
#define TO_uint8(as)    int64_t
#define TO_int8(as)     int64_t
#define REAL_b8   bool
#define REAL_i64  int64_t
#define REAL_u64  uint64_t
#define REAL_f32  float
#define REAL_f64  double
#define REAL_c64  float
#define REAL_c128 double

/* Array of argument k. If the operator has no such argument, the array is not used; then it is that of the first
 * one. */
#define OPERAND(k) (x[k] ? x[k] : x[1])

#define ARRAYS(as, result) \
	typedef TYPE_##as T; \
	MapState *state = arg; \
	TO_##result(as) *r = x[0]; \
	const T *A = x[1], *B = OPERAND(2), *C = OPERAND(3), *D = OPERAND(4), *E = OPERAND(5); \
	const bool has_a = state->has[0], has_b = state->has[1], has_c = state->has[2]; \
	const int DTYPE = state->dtype; \
	(void)has_a, (void)has_b, (void)has_c, (void)DTYPE
#define ELEMENTS(as, result, value, after) \
	for (int64_t i = 0; i < count; i++) { \
		const T a = A[i], b = B[i], c = C[i], d = D[i], e = E[i]; \
		(void)a, (void)b, (void)c, (void)d, (void)e; \
		r[i] = (TO_##result(as))(value); \
		after \
	}

#define LOOP(id, as, result, value, after) \
	static void id##_##as(void *arg, int64_t count, void *const *x) \
	{ \
		ARRAYS(as, result); \
		ELEMENTS(as, result, value, after) \
	}

/* Loop of functions that are fast for arguments of small magnitude. If an argument is too large, runs the slow loop. */
#define LOOP_M(id, as, result, value) \
	static void id##_##as(void *arg, int64_t count, void *const *x) \
	{ \
		ARRAYS(as, result); \
		int32_t far = V_FAR; \
		if (!far) { \
			V_NEAR(far) \
			ELEMENTS(as, result, value, ) \
		} \
		if (far) \
			ELEMENTS(as, result, value, ) \
	}

/* Loop of exponentials of doubles, which softmax uses, too. */
#define LOOP_EXP(id) \
	static void id##_f64(void *arg, int64_t count, void *const *x) \
	{ \
		(void)arg; \
		rt_exps_f64(x[0], x[1], count, 0); \
	}

/* Loop of powers with one exponent for all elements. */
#define LOOP_POWER(id, as, result, value) \
	static void id##_##as(void *arg, int64_t count, void *const *x) \
	{ \
		ARRAYS(as, result); \
		if (!power_##as(r, A, *B, count, DTYPE == TM_F16)) \
			ELEMENTS(as, result, value, ) \
	}

#define LOOPS_F(id, result, value) LOOP(id, f32, result, value, ) LOOP(id, f64, result, value, )
#define LOOPS_I(id, result, value) LOOP(id, i64, result, value, )
#define LOOPS_N(id, result, value) LOOPS_I(id, result, value) LOOP(id, i32, result, value, )
#define LOOPS_U(id, result, value) LOOP(id, u64, result, value, )
#define LOOPS_B(id, result, value) LOOP(id, b8, result, value, )
#ifdef __TINYC__                         /* tcc has no complex numbers */
#define LOOPS_C(id, result, value)
#define FNS_C(id)
#else
#define LOOPS_C(id, result, value) LOOP(id, c64, result, value, ) LOOP(id, c128, result, value, )
#define FNS_C(id) [AS_c64] = id##_c64, [AS_c128] = id##_c128,
#endif
#define LOOPS_Z(id, result, value) LOOP(id, i64, result, value, state->zero |= b == 0;)
#define FNS_F(id) [AS_f32] = id##_f32, [AS_f64] = id##_f64,
#define FNS_I(id) [AS_i64] = id##_i64,
#define FNS_N(id) FNS_I(id) [AS_i32] = id##_i32,
#define FNS_U(id) [AS_u64] = id##_u64,
#define FNS_B(id) [AS_b8] = id##_b8,
#define FNS_Z(id) FNS_I(id)

#define LOOPS_P(id, r, v)    LOOPS_I(id, r, v)
#define LOOPS_FI(id, r, v)   LOOPS_F(id, r, v) LOOPS_I(id, r, v)
#define LOOPS_FZ(id, r, v)   LOOPS_F(id, r, v) LOOPS_Z(id, r, v)
#define LOOPS_FM(id, r, v)   LOOP_M(id, f32, r, v) LOOP_M(id, f64, r, v)
#define LOOPS_FMZ(id, r, v)  LOOPS_FM(id, r, v) LOOPS_Z(id, r, v)
#define LOOPS_FMC(id, r, v)  LOOPS_FM(id, r, v) LOOPS_C(id, r, v)
#define LOOPS_FC(id, r, v)   LOOPS_F(id, r, v) LOOPS_C(id, r, v)
#define LOOPS_FEC(id, r, v)  LOOP(id, f32, r, v, ) LOOP_EXP(id) LOOPS_C(id, r, v)
#define LOOPS_IB(id, r, v)   LOOPS_I(id, r, v) LOOPS_B(id, r, v)
#define LOOPS_NB(id, r, v)   LOOPS_N(id, r, v) LOOPS_B(id, r, v)
#define LOOPS_FNB(id, r, v)  LOOPS_F(id, r, v) LOOPS_NB(id, r, v)
#define LOOPS_FNC(id, r, v)  LOOPS_F(id, r, v) LOOPS_N(id, r, v) LOOPS_C(id, r, v)
#define LOOPS_FNBC(id, r, v) LOOPS_FNB(id, r, v) LOOPS_C(id, r, v)
#define LOOPS_FIB(id, r, v)  LOOPS_FI(id, r, v) LOOPS_B(id, r, v)
#define LOOPS_FIC(id, r, v)  LOOPS_FI(id, r, v) LOOPS_C(id, r, v)
#define LOOPS_FPC(id, r, v)  LOOP_POWER(id, f32, r, v) LOOP_POWER(id, f64, r, v) LOOPS_I(id, r, v) LOOPS_C(id, r, v)
#define LOOPS_FIBC(id, r, v) LOOPS_FIB(id, r, v) LOOPS_C(id, r, v)
#define LOOPS_FIU(id, r, v)    LOOPS_FI(id, r, v) LOOPS_U(id, r, v)
#define LOOPS_FIUL(id, r, v)  LOOPS_FIU(id, r, v)
#define LOOPS_IBU(id, r, v)    LOOPS_IB(id, r, v) LOOPS_U(id, r, v)
#define LOOPS_NBU(id, r, v)    LOOPS_NB(id, r, v) LOOPS_U(id, r, v)
#define LOOPS_FIBU(id, r, v)   LOOPS_FIB(id, r, v) LOOPS_U(id, r, v)
#define LOOPS_FNBU(id, r, v)   LOOPS_FNB(id, r, v) LOOPS_U(id, r, v)
#define LOOPS_FNBCU(id, r, v)  LOOPS_FNBC(id, r, v) LOOPS_U(id, r, v)
#define LOOPS_FIBCU(id, r, v)  LOOPS_FIBC(id, r, v) LOOPS_U(id, r, v)
#define LOOPS_FIBC8(id, r, v)  LOOPS_FIBC(id, r, v)       /* 8-bit floats are computed as float */
#define LOOPS_FIBU8(id, r, v)  LOOPS_FIBU(id, r, v)
#define LOOPS_FNBCU1(id, r, v) LOOPS_FNBCU(id, r, v)
#define LOOPS_FIBCU8(id, r, v) LOOPS_FIBCU(id, r, v)
#define FNS_FI(id)   FNS_F(id) FNS_I(id)
#define FNS_FZ(id)   FNS_F(id) FNS_I(id)
#define FNS_FMZ(id)  FNS_F(id) FNS_I(id)
#define FNS_FC(id)   FNS_F(id) FNS_C(id)
#define FNS_FMC(id)  FNS_FC(id)
#define FNS_FEC(id)  FNS_FC(id)
#define FNS_IB(id)   FNS_I(id) FNS_B(id)
#define FNS_NB(id)   FNS_N(id) FNS_B(id)
#define FNS_FNB(id)  FNS_F(id) FNS_NB(id)
#define FNS_FNC(id)  FNS_F(id) FNS_N(id) FNS_C(id)
#define FNS_FNBC(id) FNS_FNB(id) FNS_C(id)
#define FNS_FIB(id)  FNS_FI(id) FNS_B(id)
#define FNS_FIC(id)  FNS_FI(id) FNS_C(id)
#define FNS_FPC(id)  FNS_FI(id) FNS_C(id)
#define FNS_FIBC(id) FNS_FIB(id) FNS_C(id)
#define FNS_FIU(id)    FNS_FI(id) FNS_U(id)
#define FNS_FIUL(id)   FNS_FIU(id)
#define FNS_IBU(id)    FNS_IB(id) FNS_U(id)
#define FNS_NBU(id)    FNS_NB(id) FNS_U(id)
#define FNS_FIBU(id)   FNS_FIB(id) FNS_U(id)
#define FNS_FNBU(id)   FNS_FNB(id) FNS_U(id)
#define FNS_FNBCU(id)  FNS_FNBC(id) FNS_U(id)
#define FNS_FIBCU(id)  FNS_FIBC(id) FNS_U(id)
#define FNS_FIBC8(id)  FNS_FIBC(id)
#define FNS_FIBU8(id)  FNS_FIBU(id)
#define FNS_FNBCU1(id) FNS_FNBCU(id)
#define FNS_FIBCU8(id) FNS_FIBCU(id)

#define MAP(id, schema, domain, result, value, gradient) \
	LOOPS_##domain(id, result, value) \
	int rt_##id(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		static const char text[] = schema;   /* in its own section, which is dropped with the kernel */ \
		static const MapRow row = { text, #domain, RT_MAP_##result, FIRST_OF(FIRST_##id), \
			{ FNS_##domain(id) } }; \
		return map(cx, &row, in, out); \
	}
#include "ops.h"
