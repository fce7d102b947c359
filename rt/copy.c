/* rt/copy.c - copies elements from one tensor to another, and numbers to tensors
 *
 * A copy first orders the dims by the destination's strides and merges neighbouring dims if both sides allow it.
 * Elements along the innermost dim form a row. If the source is dense along another dim (a transpose), rows are cut
 * into tiles that fit in a cache. Rows that are too short for a call each are copied in blocks, column by column. */
#include "rt.h"
#include "base.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRAIN = 32768, TILE = RT_LIMIT_COPY_TILE, SHORT = RT_LIMIT_COPY_SHORT, COLUMN = RT_LIMIT_COPY_COLUMN };

typedef struct Plan {
	int     n;                       /* number of dims, at least 1 */
	int64_t dim[RT_MAX_RANK + 1];
	int64_t to[RT_MAX_RANK + 1], from[RT_MAX_RANK + 1];   /* strides in bytes */
	char   *dst;
	const char *src;
	RtDtype dtype, src_dtype;
	int64_t block, tile;    /* number of rows of dim[n - 2] in a block; number of elements of a row in a tile */
	bool    across;                  /* whether blocks are copied column by column */
} Plan;

static void
swap_dims(Plan *p, int i, int j)
{
	int64_t d = p->dim[i], t = p->to[i], f = p->from[i];

	p->dim[i] = p->dim[j], p->to[i] = p->to[j], p->from[i] = p->from[j];
	p->dim[j] = d, p->to[j] = t, p->from[j] = f;
}

static void
plan_sort(Plan *p)
{
	for (int i = 1; i < p->n; i++)
		for (int k = i; k > 0 && (p->to[k - 1] < p->to[k] ||
		     (p->to[k - 1] == p->to[k] && p->from[k - 1] < p->from[k])); k--)
			swap_dims(p, k, k - 1);
}

/* Drops dims of size 1 and merges neighbouring dims that are contiguous on both sides. */
static void
plan_merge(Plan *p)
{
	int n = 0;

	for (int i = 0; i < p->n; i++) {
		if (p->dim[i] == 1)
			continue;
		if (n && p->to[n - 1] == p->to[i] * p->dim[i] && p->from[n - 1] == p->from[i] * p->dim[i]) {
			p->dim[n - 1] *= p->dim[i];
			p->to[n - 1] = p->to[i];
			p->from[n - 1] = p->from[i];
			continue;
		}
		p->dim[n] = p->dim[i], p->to[n] = p->to[i], p->from[n] = p->from[i];
		n++;
	}
	if (!n) {
		p->dim[0] = 1;
		p->to[0] = p->from[0] = 0;
		n = 1;
	}
	p->n = n;
}

/* Plans to copy by columns if rows are short, or if they are shorter than a tile and not dense in the source. Columns
 * run along a dim that is dense in the source, or else along the longest one. Returns whether it has done so. */
static bool
plan_columns(Plan *p)
{
	const int64_t size = rt_dtypes[p->src_dtype].bytes;
	const int last = p->n - 1;
	int best = last;

	if (p->dim[last] >= SHORT && (p->dim[last] >= TILE || p->from[last] == size))
		return false;
	for (int i = last - 1; i >= 0 && (best == last || p->from[best] != size); i--)
		if (p->dim[i] > p->dim[best] || (p->from[i] == size && p->dim[i] >= SHORT))
			best = i;
	if (best == last)
		return false;
	swap_dims(p, best, last - 1);
	p->block = COLUMN;
	return p->across = true;
}

/* If the source is dense along another dim, moves that dim next to the last one, and plans tiles. */
static void
plan_tiles(Plan *p)
{
	int64_t size = rt_dtypes[p->src_dtype].bytes;
	int last = p->n - 1;

	p->block = 1;
	p->tile = p->dim[last];
	if (plan_columns(p) || p->from[last] <= 2 * size || p->dim[last] < TILE)
		return;
	for (int i = 0; i < last; i++)
		if (p->from[i] == size && p->dim[i] >= 4) {
			swap_dims(p, i, last - 1);
			p->block = p->tile = TILE;
			return;
		}
}

RT_FAST

/* Defines functions that transpose a square of 16 bytes by as many elements, by interleaving halves of vectors. */
#if defined __GNUC__ && !defined __TINYC__
#define TURN(name, T, N, LOW, HIGH) \
	static void \
	name(char *d, int64_t to, const char *s, int64_t from) \
	{ \
		typedef T V __attribute__((vector_size(16), aligned(sizeof(T)), may_alias)); \
		V a[N], b[N]; \
		\
		RT_UNROLL \
		for (int i = 0; i < N; i++) \
			a[i] = *(const V *)(s + i * from); \
		RT_UNROLL \
		for (int half = N; half > 1; half /= 2) { \
			RT_UNROLL \
			for (int i = 0; i < N / 2; i++) { \
				b[2 * i] = __builtin_shufflevector(a[i], a[i + N / 2], LOW); \
				b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + N / 2], HIGH); \
			} \
			RT_UNROLL \
			for (int i = 0; i < N; i++) \
				a[i] = b[i]; \
		} \
		RT_UNROLL \
		for (int i = 0; i < N; i++) \
			*(V *)(d + i * to) = a[i]; \
	}
#define LOW2 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH2 4, 12, 5, 13, 6, 14, 7, 15
#define LOW4 0, 4, 1, 5
#define HIGH4 2, 6, 3, 7
#define LOW8 0, 2
#define HIGH8 1, 3
TURN(turn_2, uint16_t, 8, LOW2, HIGH2)
TURN(turn_4, uint32_t, 4, LOW4, HIGH4)
TURN(turn_8, uint64_t, 2, LOW8, HIGH8)
#undef TURN

RT_SMALL

/* Transposes a tile of `rows` rows of n elements, dense on both sides, by whole squares. Returns the number of rows
 * copied. */
static int64_t
turn_tile(const Plan *p, char *d, const char *s, int64_t rows, int64_t n)
{
	const int64_t bytes = rt_dtypes[p->dtype].bytes, side = 16 / bytes;
	void (*square)(char *, int64_t, const char *, int64_t) = bytes == 2 ? turn_2 : bytes == 4 ? turn_4 : turn_8;
	int64_t r = 0;

	if (p->dtype != p->src_dtype || (bytes != 2 && bytes != 4 && bytes != 8) || n % side ||
	    p->to[p->n - 1] != bytes || p->from[p->n - 2] != bytes)
		return 0;
	for (; r + side <= rows; r += side)
		for (int64_t x = 0; x < n; x += side)
			square(d + r * p->to[p->n - 2] + x * bytes, p->to[p->n - 2],
			       s + r * bytes + x * p->from[p->n - 1], p->from[p->n - 1]);
	return r;
}
#else
#define turn_tile(p, d, s, rows, n) 0
#endif

static void
copy_line(void *arg, int64_t beg, int64_t end)
{
	const Plan *p = arg;

	rt_cast_strided(p->dst + beg * p->to[0], (RtRun){ p->dtype, p->to[0] },
			p->src + beg * p->from[0], (RtRun){ p->src_dtype, p->from[0] }, end - beg);
}

/* Copies a block of n rows, the first of which is at d and s. */
static void
copy_rows(const Plan *p, char *d, const char *s, int64_t n)
{
	const int last = p->n - 1;
	const int64_t d_row = p->to[last - 1], s_row = p->from[last - 1], d_step = p->to[last], s_step = p->from[last];

	for (int64_t x = 0; x < p->dim[last] && p->across; x++)
		rt_cast_strided(d + x * d_step, (RtRun){ p->dtype, d_row },
				s + x * s_step, (RtRun){ p->src_dtype, s_row }, n);
	for (int64_t x = 0; x < p->dim[last] && !p->across; x += p->tile) {
		const int64_t some = p->dim[last] - x < p->tile ? p->dim[last] - x : p->tile;

		for (int64_t r = turn_tile(p, d + x * d_step, s + x * s_step, n, some); r < n; r++)
			rt_cast_strided(d + r * d_row + x * d_step, (RtRun){ p->dtype, d_step },
					s + r * s_row + x * s_step, (RtRun){ p->src_dtype, s_step }, some);
	}
}

/* Copies blocks [beg, end). Block b has the outer index b / per and begins at row (b % per) * block. */
static void
copy_blocks(void *arg, int64_t beg, int64_t end)
{
	const Plan *p = arg;
	int last = p->n - 1;
	int64_t rows = p->dim[last - 1], per = (rows + p->block - 1) / p->block, at, row;

	for (int64_t b = beg; b < end; b++) {
		char *d = p->dst;
		const char *s = p->src;

		at = b / per;
		for (int i = last - 2; i >= 0; at /= p->dim[i--]) {
			d += at % p->dim[i] * p->to[i];
			s += at % p->dim[i] * p->from[i];
		}
		row = b % per * p->block;
		copy_rows(p, d + row * p->to[last - 1], s + row * p->from[last - 1],
			rows - row < p->block ? rows - row : p->block);
	}
}

static void
plan_run(RtCx *cx, Plan *p)
{
	int64_t blocks = 1, per;

	plan_sort(p);
	plan_merge(p);
	if (p->n == 1) {
		rt_parallel(cx, p->dim[0], GRAIN, copy_line, p);
		return;
	}
	plan_tiles(p);
	per = p->block * p->dim[p->n - 1];
	for (int i = 0; i < p->n - 2; i++)
		blocks *= p->dim[i];
	blocks *= (p->dim[p->n - 2] + p->block - 1) / p->block;
	rt_parallel(cx, blocks, per < GRAIN ? GRAIN / per : 1, copy_blocks, p);
}

/* Raises an error if src cannot be broadcast to dst's shape. */
static int
check_shapes(RtCx *cx, const RtTensor *dst, const RtTensor *src)
{
	int n = dst->ndim > src->ndim ? dst->ndim : src->ndim, i, k;
	int64_t dims[RT_MAX_RANK], a, b;
	bool same = n == dst->ndim;
	Buf text = { 0 };

	for (int d = n - 1; d >= 0; d--) {
		i = d - (n - dst->ndim);
		k = d - (n - src->ndim);
		a = i < 0 ? 1 : dst->dims[i];
		b = k < 0 ? 1 : src->dims[k];
		if (a != b && a != 1 && b != 1)
			return rt_raise(cx, "The size of tensor a (%lld) must match the size of tensor b (%lld) at "
				"non-singleton dimension %d", (long long)a, (long long)b, d);
		dims[d] = a == 1 ? b : a;
		same &= dims[d] == a;
	}
	if (same)
		return RT_OK;
	buf_puts(&text, "output with shape ");
	buf_ints(&text, dst->ndim, dst->dims);
	buf_puts(&text, " doesn't match the broadcast shape ");
	buf_ints(&text, n, dims);
	rt_raise(cx, "%s", text.at);
	buf_free(&text);
	return RT_ERROR;
}

/* Computes the source's stride in bytes for each dim of dst. The stride is 0 along broadcast dims. */
static int
broadcast(RtCx *cx, Plan *p, const RtTensor *dst, const RtTensor *src)
{
	int k;

	if (check_shapes(cx, dst, src))
		return RT_ERROR;
	for (int i = 0; i < dst->ndim; i++) {
		k = i + src->ndim - dst->ndim;
		p->dim[i] = dst->dims[i];
		p->to[i] = dst->strides[i] * rt_dtypes[dst->dtype].bytes;
		p->from[i] = k < 0 || src->dims[k] == 1 ? 0 : src->strides[k] * rt_dtypes[src->dtype].bytes;
	}
	p->n = dst->ndim;
	return RT_OK;
}

static bool
without_data(RtCx *cx, const RtTensor *t)
{
	return cx->meta || t->storage->kind == RT_META;
}

static int
copy_into(RtCx *cx, RtTensor *dst, RtTensor *src, bool check)
{
	unsigned bits = (dst->flags ^ src->flags) & RT_BITS;
	Plan p = { .across = false };
	RtTensor *own = 0;

	if ((check && rt_check_itself(cx, dst)) || broadcast(cx, &p, dst, src) || (check && rt_writable(cx, dst)))
		return RT_ERROR;
	if (without_data(cx, dst) || without_data(cx, src) || !rt_numel(dst))
		return RT_OK;
	if (check && rt_may_overlap(dst, src)) {
		if (rt_data(dst) == rt_data(src) && dst->dtype == src->dtype && dst->ndim == src->ndim &&
		    !memcmp(dst->dims, src->dims, sizeof *dst->dims * dst->ndim) &&
		    !memcmp(dst->strides, src->strides, sizeof *dst->strides * dst->ndim)) {
			if (bits)
				rt_lazy->apply(dst, bits);
			return RT_OK;                                  /* nothing to do: a copy onto itself */
		}
		if (!(own = rt_clone(cx, src)) || broadcast(cx, &p, dst, own)) {
			rt_tensor_release(own);
			return RT_ERROR;
		}
		bits = dst->flags & RT_BITS;
	}
	p.dst = rt_data(dst);
	p.src = rt_data(own ? own : src);
	p.dtype = (RtDtype)dst->dtype;
	p.src_dtype = (RtDtype)src->dtype;
	plan_run(cx, &p);
	if (bits)
		rt_lazy->apply(dst, bits);
	rt_tensor_release(own);
	return RT_OK;
}

int
rt_copy_into(RtCx *cx, RtTensor *dst, RtTensor *src)
{
	return copy_into(cx, dst, src, true);
}

/* Returns a new tensor with src's elements and the given strides. Contiguous if strides is null. */
static RtTensor *
copy_as(RtCx *cx, RtTensor *src, RtDtype dtype, const int64_t *strides)
{
	RtTensor *t = rt_tensor_strided(cx, dtype, src->ndim, src->dims, strides);

	if (!t)
		return 0;
	if (dtype == src->dtype)
		rt_tensor_share_quant(t, src);
	if (copy_into(cx, t, src, false)) {
		rt_tensor_release(t);
		return 0;
	}
	return t;
}

RtTensor *
rt_contiguous(RtCx *cx, RtTensor *t)
{
	return rt_is_contiguous(t) && !(t->flags & RT_BITS) ? rt_tensor_retain(t)
							    : copy_as(cx, t, (RtDtype)t->dtype, 0);
}

RtTensor *
rt_to_dtype(RtCx *cx, RtTensor *t, RtDtype dtype)
{
	int64_t strides[RT_MAX_RANK];

	if (t->dtype == dtype && !(t->flags & RT_BITS))
		return rt_tensor_retain(t);
	rt_dense_strides(t, strides);
	return copy_as(cx, t, dtype, strides);
}

RtTensor *
rt_clone(RtCx *cx, RtTensor *t)
{
	int64_t strides[RT_MAX_RANK];

	rt_dense_strides(t, strides);
	return copy_as(cx, t, (RtDtype)t->dtype, strides);
}

/* ---- numbers ----------------------------------------------------------------------------------------------- */

/* Stores the number as one element of dtype. */
static void
number_bytes(IValue v, RtDtype dtype, char *out)
{
	RtC128 c;

	switch ((RtTag)v.tag) {
	case RT_DOUBLE:  rt_cast(dtype, out, RT_f64, &v.u.f, 1); break;
	case RT_COMPLEX:
		c = (RtC128){ v.u.c->re, v.u.c->im };
		rt_cast(dtype, out, RT_c128, &c, 1);
		break;
	default:         rt_cast(dtype, out, RT_i64, &v.u.i, 1); break;
	}
}

/* Range of the numbers that an element can hold, and the type's name in C++. The name is null if every number fits. */
static const struct Limits { const char *type; double low, high; } limits[RT_NDTYPE] = {
	[RT_u8]   = { "uint8_t", -255, 255 },
	[RT_i8]   = { "int8_t", -128, 127 },
	[RT_i16]  = { "int16_t", -32768, 32767 },
	[RT_i32]  = { "int", -0x1p31, 0x1p31 - 1 },
	[RT_i64]  = { "int64_t", -0x1p63, 0x1p63 },
	[RT_f16]  = { "at::Half", -65504, 65504 },
	[RT_bf16] = { "at::BFloat16", -0x1.fep127, 0x1.fep127 },
	[RT_f32]  = { "float", -FLT_MAX, FLT_MAX },
	[RT_f64]  = { "double", -DBL_MAX, DBL_MAX },
	[RT_c64]  = { "c10::complex<float>", -FLT_MAX, FLT_MAX },
	[RT_u16]  = { "uint16_t", -65535, 65535 },
	[RT_u32]  = { "uint32_t", -0x1p32 + 1, 0x1p32 - 1 },
	[RT_u64]  = { "uint64_t", -0x1p63, 0x1p64 },
	[RT_f8_e5m2]     = { "c10::Float8_e5m2", -57344, 57344 },
	[RT_f8_e4m3fn]   = { "c10::Float8_e4m3fn", -448, 448 },
	[RT_f8_e5m2fnuz] = { "c10::Float8_e5m2fnuz", -57344, 57344 },
	[RT_f8_e4m3fnuz] = { "c10::Float8_e4m3fnuz", -240, 240 },
};

static bool
has_infinity(RtDtype dtype)
{
	return rt_dtypes[dtype].category != 'E' || dtype == RT_f8_e5m2;
}

int
rt_check_number(RtCx *cx, IValue v, RtDtype dtype)
{
	const struct Limits *l = &limits[dtype];
	const double re = v.tag == RT_COMPLEX ? v.u.c->re : v.tag == RT_DOUBLE ? v.u.f : (double)v.u.i;
	const double im = v.tag == RT_COMPLEX ? v.u.c->im : 0;
	bool bad;

	if (!l->type)
		return RT_OK;
	if (rt_kind(dtype) == 'I')                       /* integers have neither infinity nor NaN */
		bad = !(re >= l->low && re <= l->high) ||
		      (rt_dtypes[dtype].category == 'U' && v.tag != RT_INT && re < 0);
	else
		bad = (isfinite(re) || !has_infinity(dtype)) && (re < l->low || re > l->high);
	if (dtype == RT_c64)
		bad |= isfinite(im) && (im < l->low || im > l->high);
	else
		bad |= im != 0;
	return bad ? rt_raise(cx, "value cannot be converted to type %s without overflow", l->type) : RT_OK;
}

int
rt_fill(RtCx *cx, RtTensor *t, IValue number)
{
	_Alignas(16) char one[16] = { 0 };
	Plan p = { .n = t->ndim, .dtype = (RtDtype)t->dtype, .src_dtype = (RtDtype)t->dtype };

	if (rt_check_number(cx, number, p.dtype) || rt_writable(cx, t))
		return RT_ERROR;
	if (without_data(cx, t) || !rt_numel(t))
		return RT_OK;
	number_bytes(number, p.dtype, one);
	for (int i = 0; i < t->ndim; i++) {
		p.dim[i] = t->strides[i] ? t->dims[i] : 1;
		p.to[i] = t->strides[i] * rt_dtypes[t->dtype].bytes;
		p.from[i] = 0;
	}
	p.dst = rt_data(t);
	p.src = one;
	plan_run(cx, &p);
	if (t->flags & RT_BITS)
		rt_lazy->apply(t, t->flags & RT_BITS);
	return RT_OK;
}

RtTensor *
rt_scalar_tensor(RtCx *cx, RtDtype dtype, IValue number)
{
	RtTensor *t = rt_check_number(cx, number, dtype) ? NULL : rt_tensor_new(cx, dtype, 0, 0);

	if (t && !cx->meta)
		number_bytes(number, dtype, rt_data(t));
	return t;
}

RtTensor *
rt_wrapped(RtCx *cx, IValue number)
{
	RtDtype d = number.tag == RT_DOUBLE ? RT_f64 : number.tag == RT_BOOL ? RT_b8 :
		number.tag == RT_COMPLEX ? RT_c128 : RT_i64;
	RtTensor *t = rt_scalar_tensor(cx, d, number);

	if (t)
		t->flags |= RT_WRAPPED;
	return t;
}

IValue
rt_item(RtCx *cx, const RtTensor *t)
{
	const char *p = rt_data(t);
	RtTensor *own;
	IValue v;
	RtC128 c;

	if (t->flags & RT_BITS) {
		own = copy_as(cx, (RtTensor *)t, (RtDtype)t->dtype, 0);
		v = own ? rt_item(cx, own) : rt_none();
		rt_tensor_release(own);
		return v;
	}

	switch (rt_kind((RtDtype)t->dtype)) {
	case 'B': return rt_bool(*p != 0);
	case 'I':
		if (t->dtype == RT_u64 && *(const uint64_t *)(const void *)p > INT64_MAX) {
			rt_raise(cx, "value cannot be converted to type int64_t without overflow");
			return rt_none();
		}
		return rt_int(rt_load_i64((RtDtype)t->dtype, p));
	case 'F': return rt_double(rt_load_f64((RtDtype)t->dtype, p));
	case 'C':
		rt_cast(RT_c128, &c, (RtDtype)t->dtype, p, 1);
		return rt_complex(cx, c.re, c.im);
	default:
		if (t->quant && t->quant->scheme == 0)
			return rt_double((double)(float)((double)(rt_load_i64((RtDtype)t->dtype, p) - t->quant->zero) *
				t->quant->scale));
		return rt_int(rt_load_i64((RtDtype)t->dtype, p));
	}
}
