/* rt/ops/kernel.h - declarations that all kernels use; private to rt/ops
 *
 * They are for access to arguments, type promotion and broadcasting (promote.c), the element iterator (iter.c), and
 * calls from one kernel to another. */
#ifndef RT_OPS_KERNEL_H
#define RT_OPS_KERNEL_H

#include "../rt.h"

/* ---- every eager kernel, by its id in the operator table ---------------------------------------- */

#define MAP(id, schema, domain, result, value, gradient) RtKernel rt_##id;
#define OP(id, schema, rule, effect, gradient) RtKernel rt_##id;
#include "ops.h"

/* KERNEL defines the kernel of operator `id` by one expression of cx, in and out. KERNEL_FN defines any such
 * function. */
#define KERNEL(id, ...) KERNEL_FN(rt_##id, __VA_ARGS__)
#define KERNEL_FN(name, ...) \
	int \
	name(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		(void)cx, (void)in, (void)out; \
		return __VA_ARGS__; \
	}

/* ---- call.c ---------------------------------------------------------------------------------------- */

/* Calls rt_NAME on the listed values: `if (CALL(cx, add_Tensor, &sum, rt_of(a), rt_of(b), rt_int(1))) return RT_ERROR;`
 * The results are temporaries of the running kernel, which must not release them. If it returns one, it must call
 * rt_retain. */
#define CALL(cx, name, out, ...) rt_call_temp((cx), rt_##name, (out), 1, RT_VALUES(__VA_ARGS__))
/* An array of up to 24 values. The length is explicit, because tcc does not count the elements of an array of
 * structs. */
#define RT_VALUES(...) (const IValue[RT_COUNT(__VA_ARGS__)]){ __VA_ARGS__ }
#define RT_COUNT(...) \
	RT_COUNT_(__VA_ARGS__, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define RT_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, count, ...) count
int rt_call_temp(RtCx *, RtKernel *, IValue *out, int nout, const IValue *in);
/* Ends a kernel with a copy of a temporary as its result 0.  If the last step is a kernel, call it directly:
 * `return rt_NAME(cx, args, out)` writes to the planned memory without a copy. */
int rt_return(RtCx *, RtTensor *, IValue *out);

/* Stores a result that is not the last one.  The last one is stored by RT_RESULT. */
#define RT_PUT(r, place) do { if (!(r)) return RT_ERROR; (place) = rt_of(r); } while (0)

/* ---- results that are numbers ---------------------------------------------------------------------- */

static inline int
put_int(int64_t i, IValue *out)
{
	*out = rt_int(i);
	return RT_OK;
}

static inline int
put_bool(bool b, IValue *out)
{
	*out = rt_bool(b);
	return RT_OK;
}

static inline int
put_same(IValue v, IValue *out)
{
	*out = rt_retain(v);
	return RT_OK;
}

/* Ends a kernel that returns the list l. If an error is in cx, releases l and returns the status. */
static inline int
put_list(RtCx *cx, RtList *l, IValue *out)
{
	if (l && cx->status) {
		rt_release(rt_ref(RT_LIST, l));
		l = NULL;
	}
	if (!l)
		return cx->status;
	*out = rt_ref(RT_LIST, l);
	return RT_OK;
}

/* ---- random.c --------------------------------------------------------------------------------------- */

/* Drops each of n floats or doubles with probability p and scales the others. Draws one number for each, as
 * bernoulli_(1 - p) does. */
void rt_drop_out(RtCx *, RtDtype, void *, int64_t n, double p);

/* ---- bytes -------------------------------------------------------------------------------------------- */

/* memcpy for a variable number of bytes. In code compiled for size, gcc makes a string instruction of memcpy, which
 * takes as long to start as copying a hundred bytes. The other name prevents that. */
void *rt_copy_bytes(void *restrict to, const void *restrict from, size_t n) __asm__("memcpy");

/* ---- arguments ------------------------------------------------------------------------------------ */

static inline bool
rt_is_number(IValue v)
{
	return v.tag == RT_INT || v.tag == RT_DOUBLE || v.tag == RT_BOOL || v.tag == RT_COMPLEX;
}

/* Returns an optional int or bool argument, or `otherwise` if it is None. */
static inline int64_t
rt_int_or(IValue v, int64_t otherwise)
{
	return rt_is_none(v) ? otherwise : rt_integer(v);
}

/* Returns an optional dtype argument. RT_NDTYPE if the integer is not a dtype's code; every allocation of that type
 * fails. */
static inline RtDtype
rt_dtype_or(IValue v, RtDtype otherwise)
{
	const int64_t code = rt_int_or(v, otherwise);

	return code < 0 || code > RT_NDTYPE ? RT_NDTYPE : (RtDtype)code;
}

static inline double
rt_number_or(IValue v, double otherwise)
{
	return rt_is_none(v) ? otherwise : rt_number(v);
}

static inline char
rt_category(RtDtype d)
{
	return rt_dtypes[d].category;
}

static inline bool
rt_is_floating(RtDtype d)
{
	return rt_category(d) == 'F';
}

static inline bool
rt_is_complex(RtDtype d)
{
	return rt_category(d) == 'C';
}

static inline bool
rt_is_integral(RtDtype d, bool with_bool)
{
	return rt_category(d) == 'I' || (with_bool && d == RT_b8);
}

/* Whether PyTorch stores, copies and casts this dtype, but seldom computes with it. */
static inline bool
rt_is_stored_only(RtDtype d)
{
	return rt_category(d) == 'U' || rt_category(d) == 'E';
}

/* Raises the error for a dtype of rt_is_stored_only. `kernel` is ATen's name of the kernel, for the message. */
int rt_not_stored_only(RtCx *, const char *kernel, RtDtype);                                        /* promote.c */

/* ---- seq.c ------------------------------------------------------------------------------------------- */

/* Computes Python's slice of n elements: returns its length, and sets *at to the first index and *by to the step. -1 if
 * the step is 0. */
int64_t rt_slice_range(int64_t n, IValue start, IValue end, int64_t step, int64_t *at, int64_t *by);

/* ---- promote.c: result types and broadcasting -------------------------------------------------------- */

/* State of ATen's result_type. Operands are added one by one. Tensors with dims outweigh 0-d tensors, which outweigh
 * numbers. */
typedef struct RtPromotion {
	RtDtype dims, zero, wrapped;
	RtDtype failed[2];           /* the first pair without a common type; RT_NDTYPE twice if there is none */
} RtPromotion;
static inline RtPromotion
rt_promotion(void)
{
	return (RtPromotion){ RT_NDTYPE, RT_NDTYPE, RT_NDTYPE, { RT_NDTYPE, RT_NDTYPE } };
}
void    rt_promote_tensor(RtPromotion *, const RtTensor *);
void    rt_promote_number(RtPromotion *, IValue);        /* adds an int, float, bool or complex; ignores other values */
RtDtype rt_promoted(RtPromotion *); /* returns the common type; RT_NDTYPE if there are no operands or no common type */
int     rt_no_promotion(RtCx *, RtDtype, RtDtype);       /* raises the error that these two have no common type */
int     rt_no_result_type(RtCx *, int n, const IValue *v);    /* raises that error for the first such pair among v */
RtDtype rt_result_type(int n, const IValue *v);    /* returns the result type of the tensors and numbers among v */
RtDtype rt_to_floating(RtDtype);    /* returns float32 for integral types and bool, and any other type itself */
RtDtype rt_real_type(RtDtype);    /* returns the type of a complex type's parts, and any other type itself */
RtDtype rt_complex_type(RtDtype);    /* returns complex32 for float16, ..., and complex64 for integral types */

/* Broadcasts (ndim, dims) with another shape, in place. dims has room for RT_MAX_RANK. Raises an error if they do not
 * fit. */
int     rt_broadcast(RtCx *, int *ndim, int64_t *dims, int ndim2, const int64_t *dims2);
/* Makes a new result of an elementwise operator. Dims and strides follow from the operands. Null operands are
 * skipped. */
RtTensor *rt_elementwise(RtCx *, int i, RtDtype, int n, RtTensor *const *operands);

/* ---- variant.c: results in existing tensors ---------------------------------------------------------------------- */

/* Destination of a pointwise result. sizes: whether it keeps its sizes (self); otherwise it gets those of the result
 * (out). */
typedef struct RtInto RtInto;
struct RtInto {
	const RtTensor *t;
	bool sizes, same_dtype;
	int at, n;                   /* index of the argument that is written; number of arguments */
	const IValue *in;
	const struct Memory *memory;
	/* Raises an error if a result of this dtype and these sizes cannot be written to the destination. It is a
	 * pointer, so that programs without writes do not link the function. */
	int (*check)(RtCx *, const RtInto *, RtDtype, int ndim, const int64_t *dims);
	int (*overlaps)(RtCx *, const RtInto *);
};

/* ---- map.c: arguments and types of a pointwise operator; the compiler calls it, too ------------------------- */

enum { RT_MAP_MAX = 6 };
typedef struct RtMapArg {
	uint8_t arg;         /* index of the argument in the schema */
	bool    tensor;      /* whether it is a tensor; otherwise it is a number */
	bool    joins;       /* whether it takes part in type promotion, and is cast to the common type first */
	bool    fits;    /* whether it is a number that must fit in the common type: alpha, value, bounds, exponents */
} RtMapArg;
typedef enum RtMapResult {
	RT_MAP_promote, RT_MAP_floating, RT_MAP_boolean, RT_MAP_real, RT_MAP_part,
	RT_MAP_uint8, RT_MAP_int8, RT_MAP_asked
} RtMapResult;
typedef struct RtMapTypes {
	RtDtype common;      /* promoted type of the operands */
	RtDtype compute;     /* type in which the expression is computed: b8 i64 f32 f64 c64 c128 */
	RtDtype result;
} RtMapTypes;
/* sets the arguments a, b, ... of the schema; returns their number */
int  rt_map_args(const char *schema, RtMapArg arg[RT_MAP_MAX]);
bool rt_map_holds(const RtMapArg *, RtDtype common);                   /* whether the number needs no check */
bool rt_map_takes(const char *domain, RtDtype common); /* whether the dtype is allowed; U and 8 must be in the domain */
const char *rt_type_text(RtDtype);                                      /* returns ATen's name of a type: "long int" */
void rt_map_types(const RtMapArg *, int n, RtMapResult, const IValue *in, RtMapTypes *);

/* ---- reduce.c ---------------------------------------------------------------------------------------------------- */

double rt_sum_floats(int64_t n, const float *);

/* ---- exps.c ------------------------------------------------------------------------------------------------------ */

/* Computes y = exp(x - top), with subnormal results as 0. top must be the greatest x. y may be x. */
void rt_exps(float *y, const float *x, int64_t n, float top);
float rt_greatest(const float *, int64_t n);    /* returns NaN if any element is NaN, and -infinity if n is 0 */
void rt_exps_f64(double *y, const double *x, int64_t n, double top);
double rt_greatest_f64(const double *, int64_t n);
double rt_sum_f64(int64_t n, const double *);

/* ---- iter.c: the element iterator ------------------------------------------------------------------------ */

enum { RT_ITER_MAX = 8, RT_BLOCK = RT_LIMIT_MAP_BLOCK };

/* Computes n elements: writes x[0 .. nout) and reads the other arrays. Each is an array of its operand's `as` type. */
typedef void RtBlockFn(void *arg, int64_t n, void *const *x);

typedef struct RtOperand {
	char   *data;
	RtDtype dtype;       /* dtype in memory */
	RtDtype via;         /* common type, to which inputs are cast first */
	RtDtype as;          /* type of the block function's array */
	int64_t stride[RT_MAX_RANK];   /* strides in bytes, innermost dim first */
} RtOperand;

typedef struct RtIter {
	int       n, nout, ndim;       /* dims are coalesced; the first operand's innermost dim comes first */
	int64_t   numel;
	int64_t   dims[RT_MAX_RANK];
	RtOperand op[RT_ITER_MAX];
} RtIter;

/* Sets up the iterator. Broadcasts all operands to the dims of operand[0]; rt_broadcast must have checked that they
 * fit. A null operand is a constant: the caller sets data and dtype of op[k], and data must outlive the iterator. as[i]
 * is the type of the block function's array. via[i] is the type to which operand i is cast first. If via is null, no
 * operand is. */
void rt_iter_init(RtIter *, int n, int nout, RtTensor *const *operand, const RtDtype *as, const RtDtype *via);
void rt_iter_run(RtCx *, const RtIter *, RtBlockFn *, void *arg);     /* runs in parallel if there are many elements */

#endif
