/* rt/ops/scatter.c - gather, scatter and their kin: index_select, index_add, index_copy, index_fill, index_reduce,
 * take, put
 *
 * All walk an index tensor; a Walk keeps the byte offsets of the position in the other tensors, so that each may have
 * any strides.  Values are combined with those in the destination by a small function per operation and dtype
 * (combine_of).
 */
#include "scatter.h"

#include <math.h>

RT_FAST

/* ---- combining ----------------------------------------------------------------------------------------------- */

#define WRAP(T, a, op, b) ((T)((uint64_t)(a) op (uint64_t)(b)))
/* name: n elements; name_at: of which each goes at[i] * step further on.  x is an element of dst, y one of src;
 * consecutive elements have a loop that vectorises. */
#define RUN(name, T, body) \
	static void run_##name(int64_t n, char *d, int64_t ds, const char *s, int64_t ss) \
	{ \
		if (ds == sizeof(T) && ss == sizeof(T)) \
			for (int64_t i = 0; i < n; i++) { \
				T *x = (T *)(void *)d + i; \
				const T y = ((const T *)(const void *)s)[i]; \
				body; \
			} \
		else \
			for (; n > 0; n--, d += ds, s += ss) { \
				T *x = (T *)(void *)d; \
				const T y = *(const T *)(const void *)s; \
				body; \
			} \
	} \
	static void \
	at_##name(int64_t n, char *d, int64_t ds, const char *s, int64_t ss, const int64_t *at, int64_t step) \
	{ \
		for (int64_t i = 0; i < n; i++, d += ds, s += ss) { \
			T *x = (T *)(void *)(d + at[i] * step); \
			const T y = *(const T *)(const void *)s; \
			body; \
		} \
	} \
	static const Combine name = { run_##name, at_##name };
#define INTEGER(name, T) \
	RUN(add_##name, T, *x = WRAP(T, *x, +, y)) \
	RUN(mul_##name, T, *x = WRAP(T, *x, *, y)) \
	RUN(min_##name, T, *x = y < *x ? y : *x) \
	RUN(max_##name, T, *x = y > *x ? y : *x)
INTEGER(u8, uint8_t)
INTEGER(i8, int8_t)
INTEGER(i16, int16_t)
INTEGER(i32, int32_t)
INTEGER(i64, int64_t)
#undef INTEGER

/* Not a number wins. */
#define FLOATING(name, T) \
	RUN(add_##name, T, *x += y) \
	RUN(mul_##name, T, *x *= y) \
	RUN(min_##name, T, *x = y < *x || y != y ? y : *x) \
	RUN(max_##name, T, *x = y > *x || y != y ? y : *x)
FLOATING(f32, float)
FLOATING(f64, double)
#undef FLOATING

#define SHORT(name, load, store) \
	RUN(add_##name, uint16_t, *x = store(load(*x) + load(y))) \
	RUN(mul_##name, uint16_t, *x = store(load(*x) * load(y))) \
	RUN(min_##name, uint16_t, *x = load(y) < load(*x) || load(y) != load(y) ? y : *x) \
	RUN(max_##name, uint16_t, *x = load(y) > load(*x) || load(y) != load(y) ? y : *x)
SHORT(f16, rt_half_to_float, rt_float_to_half)
SHORT(bf16, rt_bf16_to_float, rt_float_to_bf16)
#undef SHORT

#define COMPLEX(name, T) \
	RUN(add_##name, T, (x->re += y.re, x->im += y.im)) \
	RUN(mul_##name, T, *x = ((T){ x->re * y.re - x->im * y.im, x->re * y.im + x->im * y.re }))
COMPLEX(c64, RtC64)
COMPLEX(c128, RtC128)
#undef COMPLEX

RUN(or_b8, uint8_t, *x |= y)
RUN(and_b8, uint8_t, *x &= y)

/* The same that only sets, by the bytes of an element. */
RUN(set_1, uint8_t, *x = y)
RUN(set_2, uint16_t, *x = y)
RUN(set_4, uint32_t, *x = y)
RUN(set_8, uint64_t, *x = y)
RUN(set_16, RtC128, *x = y)
#undef RUN

/* n elements, each at[i] * step further on in s. */
typedef void Take(int64_t n, char *d, int64_t ds, const char *s, int64_t ss, const int64_t *at, int64_t step);
#define TAKE(name, T) \
	static void \
	name(int64_t n, char *d, int64_t ds, const char *s, int64_t ss, const int64_t *at, int64_t step) \
	{ \
		for (int64_t i = 0; i < n; i++, d += ds, s += ss) \
			*(T *)(void *)d = *(const T *)(const void *)(s + at[i] * step); \
	}
TAKE(take_1, uint8_t)
TAKE(take_2, uint16_t)
TAKE(take_4, uint32_t)
TAKE(take_8, uint64_t)
TAKE(take_16, RtC128)
#undef TAKE

const Combine *
combine_of(int op, int dtype)
{
#define ROW(name) [RT_##name] = { NULL, &add_##name, &mul_##name, &min_##name, &max_##name }
	static const Combine *const table[RT_NDTYPE][5] = {
		ROW(u8), ROW(i8), ROW(i16), ROW(i32), ROW(i64), ROW(f32), ROW(f64), ROW(f16), ROW(bf16),
		[RT_c64] = { NULL, &add_c64, &mul_c64, NULL, NULL },
		[RT_c128] = { NULL, &add_c128, &mul_c128, NULL, NULL },
		[RT_b8] = { NULL, &or_b8, &and_b8, &and_b8, &or_b8 },
	};
#undef ROW
	return table[dtype][op];
}

static const Combine *
set_of(int64_t bytes)
{
	return bytes == 1 ? &set_1 : bytes == 2 ? &set_2 : bytes == 4 ? &set_4 : bytes == 8 ? &set_8 : &set_16;
}

static Take *
take_of(int64_t bytes)
{
	return bytes == 1 ? take_1 : bytes == 2 ? take_2 : bytes == 4 ? take_4 : bytes == 8 ? take_8 : take_16;
}

/* ---- walking --------------------------------------------------------------------------------------------------- */

enum { WALK_MAX = 3 };

typedef struct Walk {
	int     n, m;                       /* dims; tensors followed */
	int64_t dims[RT_MAX_RANK], at[RT_MAX_RANK];
	int64_t step[WALK_MAX][RT_MAX_RANK];    /* bytes */
	int64_t off[WALK_MAX];
} Walk;

static void
walk_begin(Walk *w, int n, const int64_t *dims)
{
	memset(w, 0, sizeof *w);
	w->n = n;
	memcpy(w->dims, dims, sizeof *dims * n);
}

/* Follows t: its first n dims' strides; `without`: a dim along which it stays (-1: none). */
static void
walk_follow(Walk *w, const RtTensor *t, int without)
{
	for (int d = 0; d < w->n; d++)
		w->step[w->m][d] = d == without || d >= t->ndim ? 0 : t->strides[d] * rt_dtypes[t->dtype].bytes;
	w->m++;
}

static bool
walk_next(Walk *w)
{
	for (int d = w->n - 1; d >= 0; d--) {
		for (int i = 0; i < w->m; i++)
			w->off[i] += w->step[i][d];
		if (++w->at[d] < w->dims[d])
			return true;
		for (int i = 0; i < w->m; i++)
			w->off[i] -= w->step[i][d] * w->dims[d];
		w->at[d] = 0;
	}
	return false;
}

void
combine_block(const Combine *combine, int n, const int64_t *dims, char *dst, const int64_t *ds, const char *src,
	      const int64_t *ss)
{
	const int last = n - 1;
	Walk w;

	if (product(dims, 0, n) == 0)
		return;
	if (n < 2) {
		combine->run(n ? dims[0] : 1, dst, n ? ds[0] : 0, src, n ? ss[0] : 0);
		return;
	}
	walk_begin(&w, last, dims);
	w.m = 2;
	memcpy(w.step[0], ds, sizeof *ds * last);
	memcpy(w.step[1], ss, sizeof *ss * last);
	do
		combine->run(dims[last], dst + w.off[0], ds[last], src + w.off[1], ss[last]);
	while (walk_next(&w));
}

/* ---- shared with index.c ----------------------------------------------------------------------------------------- */

RtTensor *
expanded(RtCx *cx, RtTensor *t, int n, const int64_t *dims)
{
	Geom g = { .n = n, .offset = t->offset };
	int lead = n - t->ndim;

	if (lead == 0 && (n == 0 || !memcmp(dims, t->dims, sizeof *dims * n)))
		return dense(cx, t);
	for (int i = 0; i < -lead; i++)
		if (t->dims[i] != 1)
			return NULL;
	for (int i = 0; i < n; i++) {
		int64_t size = i < lead ? 1 : t->dims[i - lead];
		if (size != dims[i] && size != 1)
			return NULL;
		g.dims[i] = dims[i];
		g.strides[i] = size == dims[i] && i >= lead ? t->strides[i - lead] : 0;
	}
	t = rt_temp(cx, rt_tensor_view(cx, t, g.n, g.dims, g.strides, g.offset));
	return t ? dense(cx, t) : NULL;
}

RtTensor *
result_copy(RtCx *cx, RtTensor *self, bool keep, IValue *out)
{
	int64_t strides[RT_MAX_RANK];
	RtTensor *r;

	rt_result_strides(self->ndim, self->dims, 1, &self, strides);
	r = rt_result(cx, 0, (RtDtype)self->dtype, self->ndim, self->dims, keep ? strides : NULL);
	if (!r)
		return NULL;
	out[0] = rt_of(r);
	return cx->meta || !rt_copy_into(cx, r, self) ? r : NULL;
}

int
check_target(RtCx *cx, const IValue *in, const RtTensor *dst, int n)
{
	if (dst != in[0].u.t)
		return RT_OK;
	if (rt_check_itself(cx, dst))
		return RT_ERROR;
	for (int i = 1; i < n; i++)
		if (in[i].tag == RT_TENSOR && rt_check_apart(cx, dst, in[i].u.t))
			return RT_ERROR;
	return RT_OK;
}

/* ---- gather, scatter --------------------------------------------------------------------------------------------- */

/* dim and index of gather and scatter; index becomes contiguous. */
static int
check_index(RtCx *cx, const char *name, const RtTensor *self, int64_t wanted, const IValue *index, int *dim,
	    RtTensor **at)
{
	const RtTensor *t = index->u.t;

	*dim = rt_dim(cx, wanted, self->ndim);
	if (*dim < 0)
		return RT_ERROR;
	if (t->dtype != RT_i64 && rt_numel(t))
		return rt_raise(cx, "%s(): Expected dtype int64 for index", name);
	*at = dense(cx, index->u.t);
	return *at ? RT_OK : RT_ERROR;
}

/* A size of what has at least one dim. */
static int64_t
size_at(const RtTensor *t, int d)
{
	return t->ndim ? t->dims[d] : 1;
}

static int
check_rank(RtCx *cx, const RtTensor *index, const RtTensor *t, const char *what)
{
	return (index->ndim ? index->ndim : 1) == (t->ndim ? t->ndim : 1) ? RT_OK
		: rt_raise(cx, "Index tensor must have the same number of dimensions as %s tensor", what);
}

static int
check_gathered(RtCx *cx, const RtTensor *self, const RtTensor *index, int dim)
{
	char a[SIZES_TEXT], b[SIZES_TEXT];

	if (!rt_numel(index))
		return RT_OK;
	if (check_rank(cx, index, self, "input"))
		return RT_ERROR;
	for (int d = 0; d < index->ndim; d++)
		if (d != dim && index->dims[d] > size_at(self, d))
			return rt_raise(cx, "Size does not match at dimension %d expected index %s to be smaller than "
				"self %s apart from dimension %d", d, sizes_text(a, index->ndim, index->dims),
				sizes_text(b, self->ndim, self->dims), dim);
	return RT_OK;
}

static int
out_of_bounds(RtCx *cx, int64_t i, int dim, int64_t size)
{
	return rt_raise(cx, "index %lld is out of bounds for dimension %d with size %lld", (long long)i, dim,
			(long long)size);
}

/* The first of n indices that is none into `size` elements; n: all are. */
static int64_t
first_outside(const int64_t *at, int64_t n, int64_t size)
{
	int64_t i = 0;

	while (i < n && at[i] >= 0 && at[i] < size)
		i++;
	return i;
}

/* A run of the last dim at a time. */
int
rt_gather(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = in[0].u.t, *index, *r;
	int dim;

	if (check_index(cx, "gather", self, in[1].u.i, &in[2], &dim, &index) || check_gathered(cx, self, index, dim))
		return RT_ERROR;
	r = rt_result(cx, 0, (RtDtype)self->dtype, index->ndim, index->dims, NULL);
	RT_RESULT(cx, r, out[0]);
	if (rt_numel(r) == 0)
		return RT_OK;

	const int64_t bytes = rt_dtypes[self->dtype].bytes, size = size_at(self, dim),
		      step = self->ndim ? self->strides[dim] * bytes : 0;
	const int last = index->ndim - 1;
	const int64_t run = last < 0 ? 1 : index->dims[last],
		      ss = last < 0 || last == dim || !self->ndim ? 0 : self->strides[last] * bytes;
	const int64_t *at = (const int64_t *)(const void *)rt_data(index);
	Walk w;

	walk_begin(&w, last < 0 ? 0 : last, index->dims);
	walk_follow(&w, self, dim);
	walk_follow(&w, r, -1);
	do {
		const int64_t wrong = first_outside(at, run, size);

		if (wrong < run)
			return out_of_bounds(cx, at[wrong], dim, size);
		take_of(bytes)(run, rt_data(r) + w.off[1], bytes, rt_data(self) + w.off[0], ss, at, step);
		at += run;
	} while (walk_next(&w));
	return RT_OK;
}

/* dst[.. index ..] op= src, for every position of index; src null: the one element at `value`.  A run of the last dim
 * at a time. */
static int
scatter(RtCx *cx, RtTensor *dst, int dim, RtTensor *index, const RtTensor *src, const char *value,
	const Combine *combine)
{
	const int64_t bytes = rt_dtypes[dst->dtype].bytes, size = size_at(dst, dim),
		      step = dst->ndim ? dst->strides[dim] * bytes : 0;
	const int last = index->ndim - 1;
	const int64_t run = last < 0 ? 1 : index->dims[last];
	const int64_t ds = last < 0 || last == dim || !dst->ndim ? 0 : dst->strides[last] * bytes;
	const int64_t ss = last < 0 || !src || !src->ndim ? 0 : src->strides[last] * bytes;
	const int64_t *at;
	Walk w;

	if (cx->meta || rt_numel(index) == 0)
		return RT_OK;
	combine = combine ? combine : set_of(bytes);
	at = (const int64_t *)(const void *)rt_data(index);
	walk_begin(&w, last < 0 ? 0 : last, index->dims);
	walk_follow(&w, dst, dim);
	if (src)
		walk_follow(&w, src, -1);
	do {
		const int64_t wrong = first_outside(at, run, size);

		if (wrong < run)
			return out_of_bounds(cx, at[wrong], dim, size);
		combine->at(run, rt_data(dst) + w.off[0], ds, src ? rt_data(src) + w.off[1] : value, ss, at, step);
		at += run;
	} while (walk_next(&w));
	return RT_OK;
}

/* Is index no larger than dst but in dim, and than src (or null)? */
static int
check_sizes(RtCx *cx, const RtTensor *dst, int dim, const RtTensor *index, const RtTensor *src)
{
	char a[SIZES_TEXT], b[SIZES_TEXT], c[SIZES_TEXT];
	const int n = dst->ndim ? dst->ndim : 1;
	bool wrong = false;

	if (!rt_numel(index))
		return RT_OK;
	if (check_rank(cx, index, dst, "self"))
		return RT_ERROR;
	for (int d = 0; d < n; d++)
		wrong |= d != dim && size_at(index, d) > size_at(dst, d);
	for (int d = 0; src && d < n && !wrong; d++) {
		if (src->ndim && d >= src->ndim)
			return rt_dim(cx, d, src->ndim) < 0 ? RT_ERROR : RT_OK;
		wrong = size_at(index, d) > size_at(src, d);
	}
	if (src && check_rank(cx, index, src, "src"))
		return RT_ERROR;
	if (!wrong)
		return RT_OK;
	sizes_text(a, index->ndim, index->dims);
	sizes_text(b, dst->ndim, dst->dims);
	return src ? rt_raise(cx, "Expected index %s to be smaller than self %s apart from dimension %d and to be "
			      "smaller size than src %s", a, b, dim, sizes_text(c, src->ndim, src->dims))
		: rt_raise(cx, "Expected index %s to be smaller than self %s apart from dimension %d", a, b, dim);
}

/* What scatter and its kin ask before they write.  src: or null. */
static int
check_scatter(RtCx *cx, const char *name, const IValue *in, const RtTensor *dst, const RtTensor *src, int *dim,
	      RtTensor **index)
{
	if (check_index(cx, name, dst, in[1].u.i, &in[2], dim, index))
		return RT_ERROR;
	if (src && dst->dtype != src->dtype)
		return rt_raise(cx, "%s(): Expected self.dtype to be equal to src.dtype", name);
	return check_sizes(cx, dst, *dim, in[2].u.t, src) || check_target(cx, in, dst, src ? 4 : 3) ? RT_ERROR : RT_OK;
}

static int
scatter_op(RtCx *cx, const RtStr *name, int dtype, const Combine **combine)
{
	if (strcmp(name->s, "add") && strcmp(name->s, "multiply"))
		return rt_raise(cx, "reduce argument must be either add or multiply.");
	*combine = combine_of(name->s[0] == 'a' ? SCATTER_ADD : SCATTER_MUL, dtype);
	return *combine ? RT_OK : rt_lacks(cx, "scatter with a reduction on %s", rt_dtypes[dtype].torch);
}

static int
write_src(RtCx *cx, const IValue *in, RtTensor *dst, const Combine *combine)
{
	RtTensor *index, *src = in[3].u.t;
	int dim;

	if (check_scatter(cx, "scatter", in, dst, src, &dim, &index))
		return RT_ERROR;
	if (rt_may_overlap(dst, src) && !(src = rt_temp(cx, rt_clone(cx, src))))
		return RT_ERROR;
	return scatter(cx, dst, dim, index, src, NULL, combine);
}

static int
write_value(RtCx *cx, const IValue *in, RtTensor *dst, const Combine *combine)
{
	RtTensor *index, *value = rt_temp(cx, rt_scalar_tensor(cx, (RtDtype)dst->dtype, in[3]));
	int dim;

	if (!value || check_scatter(cx, "scatter", in, dst, NULL, &dim, &index))
		return RT_ERROR;
	return scatter(cx, dst, dim, index, NULL, cx->meta ? NULL : rt_data(value), combine);
}

static int
scatter_src(RtCx *cx, const IValue *in, RtTensor *dst)
{
	return write_src(cx, in, dst, NULL);
}

static int
scatter_value(RtCx *cx, const IValue *in, RtTensor *dst)
{
	return write_value(cx, in, dst, NULL);
}

static int
scatter_src_reduce(RtCx *cx, const IValue *in, RtTensor *dst)
{
	const Combine *combine;

	return scatter_op(cx, in[4].u.str, dst->dtype, &combine) ? cx->status : write_src(cx, in, dst, combine);
}

static int
scatter_value_reduce(RtCx *cx, const IValue *in, RtTensor *dst)
{
	const Combine *combine;

	return scatter_op(cx, in[4].u.str, dst->dtype, &combine) ? cx->status : write_value(cx, in, dst, combine);
}

static int
scatter_add(RtCx *cx, const IValue *in, RtTensor *dst)
{
	const Combine *combine = combine_of(SCATTER_ADD, dst->dtype);

	return combine ? write_src(cx, in, dst, combine)
		       : rt_lacks(cx, "scatter_add on %s", rt_dtypes[dst->dtype].torch);
}

BOTH_FORMS(scatter_src, scatter__src, false, scatter_src)
BOTH_FORMS(scatter_value, scatter__value, false, scatter_value)
BOTH_FORMS(scatter_reduce, scatter__reduce, false, scatter_src_reduce)
BOTH_FORMS(scatter_value_reduce, scatter__value_reduce, false, scatter_value_reduce)
BOTH_FORMS(scatter_add, scatter_add_, false, scatter_add)

/* ---- scatter_reduce, index_reduce -------------------------------------------------------------------------------- */

/* The neutral element of a reduction, as a number that converts to dtype. */
static IValue
neutral(int op, int dtype)
{
	static const int64_t low[] = { [RT_u8] = 0, [RT_i8] = INT8_MIN, [RT_i16] = INT16_MIN, [RT_i32] = INT32_MIN,
		[RT_i64] = INT64_MIN };
	static const int64_t high[] = { [RT_u8] = UINT8_MAX, [RT_i8] = INT8_MAX, [RT_i16] = INT16_MAX,
		[RT_i32] = INT32_MAX, [RT_i64] = INT64_MAX };
	bool floating = rt_dtypes[dtype].category == 'F';

	if (op == SCATTER_ADD || op == SCATTER_MUL || dtype == RT_b8)
		return rt_int(op == SCATTER_MUL || op == SCATTER_MIN);
	if (floating)
		return rt_double(op == SCATTER_MIN ? INFINITY : -INFINITY);
	return rt_int(op == SCATTER_MIN ? high[dtype] : low[dtype]);
}

/* dst /= n, elementwise, rounding integers down; where n is 0, as if it were 1.  All contiguous. */
static int
divide_by_count(RtCx *cx, RtTensor *dst, RtTensor *count)
{
	RtTensor *a = dense_as(cx, dst, compute_of((RtDtype)dst->dtype));
	const int64_t *n = (const int64_t *)(const void *)rt_data(count);

	if (!a)
		return RT_ERROR;
	for (int64_t i = 0, m = rt_numel(a); i < m; i++) {
		int64_t by = n[i] ? n[i] : 1;
		void *p = rt_data(a) + i * rt_dtypes[a->dtype].bytes;
		switch (a->dtype) {
		case RT_f32: *(float *)p /= (float)by; break;
		case RT_f64: *(double *)p /= (double)by; break;
		case RT_i64: *(int64_t *)p = *(int64_t *)p / by - (*(int64_t *)p % by < 0); break;
		case RT_c64: ((RtC64 *)p)->re /= (float)by; ((RtC64 *)p)->im /= (float)by; break;
		case RT_c128: ((RtC128 *)p)->re /= (double)by; ((RtC128 *)p)->im /= (double)by; break;
		default: break;
		}
	}
	return a == dst ? RT_OK : rt_copy_into(cx, dst, a);
}

/* Common to scatter_reduce and index_reduce: index has src's dims (expanded along all but dim for the latter). */
static int
reduce_into(RtCx *cx, RtTensor *dst, int dim, RtTensor *index, RtTensor *src, int op, bool mean, bool include_self)
{
	const Combine *combine = combine_of(op, dst->dtype);
	RtTensor *count = NULL, *one, *start;

	if (!combine)
		return rt_lacks(cx, "a scattered reduction on %s", rt_dtypes[dst->dtype].torch);
	if (cx->meta)
		return RT_OK;
	if (!include_self) {
		start = rt_temp(cx, rt_scalar_tensor(cx, (RtDtype)dst->dtype, neutral(op, dst->dtype)));
		if (!start || scatter(cx, dst, dim, index, NULL, rt_data(start), NULL))
			return RT_ERROR;
	}
	if (rt_may_overlap(dst, src) && !(src = rt_temp(cx, rt_clone(cx, src))))
		return RT_ERROR;
	if (scatter(cx, dst, dim, index, src, NULL, combine))
		return RT_ERROR;
	if (!mean)
		return RT_OK;
	count = temp_new(cx, RT_i64, dst->ndim, dst->dims);
	one = rt_temp(cx, rt_scalar_tensor(cx, RT_i64, rt_int(1)));
	if (!count || !one || rt_fill(cx, count, rt_int(include_self)))
		return RT_ERROR;
	if (scatter(cx, count, dim, index, NULL, rt_data(one), combine_of(SCATTER_ADD, RT_i64)))
		return RT_ERROR;
	return divide_by_count(cx, dst, count);
}

static int
reduction_of(RtCx *cx, const RtStr *name, int *op, bool *mean)
{
	static const struct { const char *name; int op; } table[] = {
		{ "sum", SCATTER_ADD }, { "mean", SCATTER_ADD }, { "prod", SCATTER_MUL }, { "amin", SCATTER_MIN },
		{ "amax", SCATTER_MAX },
	};

	for (int i = 0; i < 5; i++)
		if (!strcmp(table[i].name, name->s)) {
			*op = table[i].op;
			*mean = i == 1;
			return RT_OK;
		}
	return rt_raise(cx, "reduce argument must be either sum, prod, mean, amax or amin.");
}

/* Complex numbers have no order. */
static int
check_ordered(RtCx *cx, int op, const RtTensor *dst, const char *kernel, const char *reduction)
{
	if ((op != SCATTER_MIN && op != SCATTER_MAX) || !rt_is_complex((RtDtype)dst->dtype))
		return RT_OK;
	return rt_raise(cx, "\"%s%s\" not implemented for '%s'", kernel, reduction, rt_dtypes[dst->dtype].brief);
}

static int
scatter_reduce(RtCx *cx, const IValue *in, RtTensor *dst)
{
	RtTensor *index, *src = in[3].u.t;
	int dim = 0, op = 0;
	bool mean = false;

	if (reduction_of(cx, in[4].u.str, &op, &mean) || check_scatter(cx, "scatter", in, dst, src, &dim, &index) ||
	    check_ordered(cx, op, dst, "scatter_gather_tensor_cpu_reduce_", in[4].u.str->s))
		return RT_ERROR;
	return reduce_into(cx, dst, dim, index, src, op, mean, in[5].u.i);
}
BOTH_FORMS(scatter_reduce_two, scatter_reduce__two, false, scatter_reduce)

/* ---- one vector of positions along dim --------------------------------------------------------------------------- */

static int
check_vector(RtCx *cx, const char *name, const RtTensor *index)
{
	char text[SIZES_TEXT];

	if (index->ndim > 1)
		return rt_raise(cx, "%s(): Index is supposed to be a vector, but got dim: %d with type: %s and size: %s",
			name, index->ndim, rt_dtypes[index->dtype].brief, sizes_text(text, index->ndim, index->dims));
	if (index->dtype != RT_i64 && index->dtype != RT_i32)
		return rt_raise(cx, "%s(): Expected dtype int32/int64 for index but got: %s", name,
				rt_dtypes[index->dtype].brief);
	return RT_OK;
}

/* The slices themselves; where there is none nobody looks at them. */
static int
check_slice_sizes(RtCx *cx, const char *name, const RtTensor *src, const RtTensor *dst, int dim)
{
	if (dst->ndim <= 1 && src->ndim > 1)
		return rt_raise(cx, "source.dim() (%d) must one or zero for given self.dim() (%d)", src->ndim, dst->ndim);
	if (dst->ndim > 1 && !src->ndim)
		return rt_raise(cx, "select() cannot be applied to a 0-dim tensor.");
	for (int d = 0; d < src->ndim && dst->ndim > 1; d++) {
		if (dst->ndim != src->ndim)
			return rt_raise(cx, "%s(): Source/destination tensor must have same slice shapes except at "
				"dimension %d", name, dim);
		if (d != dim && dst->dims[d] != src->dims[d])
			return rt_raise(cx, "The size of tensor a (%lld) must match the size of tensor b (%lld) at "
				"non-singleton dimension %d", (long long)dst->dims[d], (long long)src->dims[d],
				d - (d > dim));
	}
	return RT_OK;
}

/* What index_add and index_reduce ask of their vector, source and self. */
static int
check_added(RtCx *cx, const char *name, const IValue *in, const RtTensor *dst, int dim)
{
	const RtTensor *index = in[2].u.t, *src = in[3].u.t;
	const long long n = rt_numel(index);

	if (check_vector(cx, name, index))
		return RT_ERROR;
	if (dst->dtype != src->dtype)
		return rt_raise(cx, "%s(): self (%s) and source (%s) must have the same scalar type", name,
				rt_dtypes[dst->dtype].brief, rt_dtypes[src->dtype].brief);
	if (dim && dim >= src->ndim)
		return rt_raise(cx, "%s(): Indexing dim %d is out of bounds of the source tensor with dim %d", name, dim,
				src->ndim);
	if (!src->ndim && n != 1)
		return rt_raise(cx, "Dimension specified as %d but tensor has no dimensions", dim);
	if (n != size_at(src, dim))
		return rt_raise(cx, "%s(): Number of indices (%lld) should be equal to source.size(dim): (%lld), for "
			"dim: %d", name, n, (long long)size_at(src, dim), dim);
	if (check_target(cx, in, dst, 4))
		return RT_ERROR;
	return n || dst->ndim <= 1 ? check_slice_sizes(cx, name, src, dst, dim) : RT_OK;
}

/* The dims but for one, as ATen writes vectors. */
static void
slice_text(Buf *b, const RtTensor *t, int dim)
{
	for (int d = 0, n = 0; d < t->ndim; d++)
		if (d != dim)
			buf_printf(b, "%s%lld", n++ ? " " : "", (long long)t->dims[d]);
}

static bool
same_slices(const RtTensor *a, const RtTensor *b, int dim)
{
	const int n = a->ndim ? a->ndim - 1 : 0;

	if (n != (b->ndim ? b->ndim - 1 : 0))
		return false;
	for (int d = 0; d < a->ndim && n; d++)
		if (d != dim && a->dims[d] != b->dims[d])
			return false;
	return true;
}

/* The same of index_copy. */
static int
check_copied(RtCx *cx, const IValue *in, const RtTensor *dst, int dim)
{
	const RtTensor *index = in[2].u.t, *src = in[3].u.t;
	const long long n = rt_numel(index);
	Buf b = { 0 };

	if (check_target(cx, in, dst, 4))
		return RT_ERROR;
	if (index->ndim > 1)
		return rt_raise(cx, "index_copy_(): Index should have dimension 1 or 0 (got %d)", index->ndim);
	if (!src->ndim && n != 1)
		return rt_raise(cx, "index_copy_(): When source is scalar, index should have one element (got %lld)",
				n);
	if (src->ndim != dst->ndim && src->ndim && dst->ndim)
		return rt_raise(cx, "index_copy_(): When source and destination are not scalars, their dimensionality "
			"must match. Source dimensionality (%d), destination dimensionality (%d)", src->ndim,
			dst->ndim);
	if (index->dtype != RT_i64)
		return rt_raise(cx, "index_copy_(): Expected a long tensor for index, but got %s",
				rt_dtypes[index->dtype].brief);
	if (dst->dtype != src->dtype)
		return rt_raise(cx, "index_copy_(): self and source expected to have the same dtype, but got (self) %s "
			"and (source) %s", rt_dtypes[dst->dtype].brief, rt_dtypes[src->dtype].brief);
	if (!same_slices(dst, src, dim)) {
		buf_puts(&b, "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice "
			 "shape: ");
		slice_text(&b, dst, dim);
		buf_printf(&b, " at dimension %d and source slice shape: ", dim);
		slice_text(&b, src, dim);
		rt_raise(cx, "%s at dimension 0.", b.at);
		buf_free(&b);
		return RT_ERROR;
	}
	if (src->ndim && n != src->dims[dim])
		return rt_raise(cx,
				"index_copy_(): Number of indices (%lld) should be equal to source.size(dim) (%lld)", n,
				(long long)src->dims[dim]);
	return RT_OK;
}

/* The vector of index_add and its kin, as int64, expanded to source's dims; null: no memory. */
static RtTensor *
vector_index(RtCx *cx, RtTensor *index, const RtTensor *src, int dim)
{
	Geom g = geom_of(src);

	if (!(index = dense_as(cx, index, RT_i64)))
		return NULL;
	for (int d = 0; d < g.n; d++)
		g.strides[d] = d == dim;
	index = rt_temp(cx, rt_tensor_view(cx, index, g.n, g.dims, g.strides, index->offset));
	return index ? dense(cx, index) : NULL;
}

typedef struct Slices {
	int       dim;
	RtTensor *index, *dst;   /* dense int64 */
	const RtTensor *src;     /* null: every slice is full of what is at value */
	const char *value;
	const Combine *combine;
	bool      wraps;         /* indices may count from the end */
	const char *message;     /* of an index out of range: with the index, dim and size */
} Slices;

static int
check_slices(RtCx *cx, const Slices *g)
{
	const int64_t n = rt_numel(g->index), size = size_at(g->dst, g->dim);
	const int64_t *at = (const int64_t *)(const void *)rt_data(g->index);

	for (int64_t i = 0; i < n; i++)
		if (at[i] < (g->wraps ? -size : 0) || at[i] >= size)
			return rt_raise(cx, g->message, (long long)at[i], g->dim, (long long)size);
	return RT_OK;
}

/* dst's slice at index[i] along dim op= src's slice i, in order. */
static int
write_slices(RtCx *cx, const Slices *g)
{
	const RtTensor *dst = g->dst, *src = g->src && g->src->ndim ? g->src : NULL;
	const int64_t bytes = rt_dtypes[dst->dtype].bytes, n = rt_numel(g->index), size = size_at(dst, g->dim);
	const int64_t step = dst->ndim ? dst->strides[g->dim] * bytes : 0,
		      from = src ? src->strides[g->dim] * bytes : 0;
	const int64_t *at = (const int64_t *)(const void *)rt_data(g->index);
	int64_t dims[RT_MAX_RANK], ds[RT_MAX_RANK], ss[RT_MAX_RANK];
	int m = 0;

	if (check_slices(cx, g))
		return RT_ERROR;
	for (int d = 0; d < dst->ndim; d++) {
		if (d == g->dim)
			continue;
		dims[m] = dst->dims[d];
		ds[m] = dst->strides[d] * bytes;
		ss[m++] = src ? src->strides[d] * bytes : 0;
	}
	for (int64_t i = 0; i < n; i++)
		combine_block(g->combine, m, dims, rt_data(dst) + (at[i] + (at[i] < 0 ? size : 0)) * step, ds,
			g->src ? rt_data(g->src) + i * from : g->value, ss);
	return RT_OK;
}

/* combine: null to set */
static int
index_write(RtCx *cx, int dim, const IValue *in, RtTensor *dst, RtTensor *src, const Combine *combine)
{
	Slices g = { .dim = dim, .index = dense_as(cx, in[2].u.t, RT_i64), .dst = dst,
		.combine = combine ? combine : set_of(rt_dtypes[dst->dtype].bytes),
		.message = combine ? "index out of range in self" : "index_copy_(): index %lld is out of bounds for "
		"dimension %d with size %lld" };

	if (!g.index)
		return RT_ERROR;
	if (cx->meta)
		return RT_OK;
	g.src = rt_may_overlap(dst, src) ? rt_temp(cx, rt_clone(cx, src)) : src;
	return g.src ? write_slices(cx, &g) : RT_ERROR;
}

/* t times a number, a temporary. */
static RtTensor *
scaled(RtCx *cx, RtTensor *t, IValue by)
{
	RtDtype wide = compute_of((RtDtype)t->dtype);
	RtTensor *r = rt_temp(cx, rt_clone(cx, t)), *factor = rt_temp(cx, rt_scalar_tensor(cx, wide, by));
	const Combine *mul = combine_of(SCATTER_MUL, wide);

	if (r && r->dtype != wide)
		r = rt_temp(cx, rt_to_dtype(cx, r, wide));
	r = r ? dense(cx, r) : NULL;
	if (!r || !factor)
		return NULL;
	for (int64_t i = 0, n = cx->meta ? 0 : rt_numel(r); i < n; i++)
		mul->run(1, rt_data(r) + i * rt_dtypes[wide].bytes, 0, rt_data(factor), 0);
	return dense_as(cx, r, (RtDtype)t->dtype);
}

static int
index_add(RtCx *cx, const IValue *in, RtTensor *dst)
{
	const Combine *combine = combine_of(SCATTER_ADD, dst->dtype);
	const bool plain = in[4].tag != RT_COMPLEX && rt_number(in[4]) == 1;
	const int dim = rt_dim(cx, in[1].u.i, dst->ndim);
	RtTensor *src;

	if (dim < 0 || check_added(cx, "index_add_", in, dst, dim))
		return RT_ERROR;
	if (!combine)
		return rt_lacks(cx, "index_add on %s", rt_dtypes[dst->dtype].torch);
	if (!rt_numel(in[2].u.t))
		return RT_OK;
	src = plain ? in[3].u.t : scaled(cx, in[3].u.t, in[4]);
	return src ? index_write(cx, dim, in, dst, src, combine) : RT_ERROR;
}

static int
index_copy(RtCx *cx, const IValue *in, RtTensor *dst)
{
	const int dim = rt_dim(cx, in[1].u.i, dst->ndim);
	RtTensor *at;

	if (dim < 0 || check_copied(cx, in, dst, dim) || !(at = dense(cx, in[2].u.t)))
		return RT_ERROR;
	for (int64_t i = 0, n = cx->meta ? 0 : rt_numel(at), *p = (int64_t *)(void *)rt_data(at); i < n; i++)
		if (p[i] < 0 || p[i] >= size_at(dst, dim))
			return rt_raise(cx,
					"index_copy_(): index %lld is out of bounds for dimension %d with size %lld",
					(long long)p[i], dim, (long long)size_at(dst, dim));
	return index_write(cx, dim, in, dst, in[3].u.t, NULL);
}

static int
index_reduce(RtCx *cx, const IValue *in, RtTensor *dst)
{
	RtTensor *at, *src = in[3].u.t;
	int dim = rt_dim(cx, in[1].u.i, dst->ndim), op = 0;
	bool mean = false;

	if (dim < 0 || reduction_of(cx, in[4].u.str, &op, &mean) || check_added(cx, "index_reduce_", in, dst, dim) ||
	    check_ordered(cx, op, dst, in[5].u.i ? "index_func_" : "index_reduce_func_exclude_input_init", ""))
		return RT_ERROR;
	if (!rt_numel(in[2].u.t))
		return RT_OK;
	if (!(at = vector_index(cx, in[2].u.t, src, dim)))
		return RT_ERROR;
	return reduce_into(cx, dst, dim, at, src, op, mean, in[5].u.i);
}

/* value: a number, or a 0-d tensor */
static int
index_fill(RtCx *cx, const IValue *in, RtTensor *dst)
{
	RtTensor *index = in[2].u.t, *value, *at;
	int dim;

	if (in[3].tag == RT_TENSOR && in[3].u.t->ndim)
		return rt_raise(cx, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d "
			"dimension(s).", in[3].u.t->ndim);
	if (index->dtype != RT_i64)
		return rt_raise(cx, "index_fill_(): Expected dtype int64 for index.");
	if (rt_dtypes[dst->dtype].category != 'C' &&
	    (in[3].tag == RT_COMPLEX || (in[3].tag == RT_TENSOR && rt_dtypes[in[3].u.t->dtype].category == 'C')))
		return rt_raise(cx, "index_fill_(): Converting complex Scalar to non-complex type is not supported");
	if ((dst == in[0].u.t && rt_check_apart(cx, dst, index)) || (dim = rt_dim(cx, in[1].u.i, dst->ndim)) < 0)
		return RT_ERROR;
	if (index->ndim > 1)
		return rt_raise(cx, "Index has to be a vector/scalar");
	value = in[3].tag == RT_TENSOR ? dense_as(cx, in[3].u.t, (RtDtype)dst->dtype)
		: rt_temp(cx, rt_scalar_tensor(cx, (RtDtype)dst->dtype, in[3]));
	at = value ? dense(cx, index) : NULL;
	if (!at)
		return RT_ERROR;
	if (cx->meta)
		return RT_OK;
	return write_slices(cx, &(Slices){ .dim = dim, .index = at, .dst = dst, .value = rt_data(value), .wraps = true,
		.combine = set_of(rt_dtypes[dst->dtype].bytes), .message = "index %lld is out of bounds for dimension "
		"%d with size %lld" });
}

BOTH_FORMS(index_add, index_add_, false, index_add)
BOTH_FORMS(index_copy, index_copy_, false, index_copy)
BOTH_FORMS(index_reduce, index_reduce_, false, index_reduce)
BOTH_FORMS(index_fill_int_Scalar, index_fill__int_Scalar, true, index_fill)
BOTH_FORMS(index_fill_int_Tensor, index_fill__int_Tensor, true, index_fill)

#define PICK(T) \
	for (int64_t i = 0; i < n; i++) \
		((T *)(void *)to)[i] = ((const T *)(const void *)from)[at[i]]; \
	break

/* Block i becomes block at[i] of `from`, of so many bytes each. */
static void
pick_blocks(char *restrict to, const char *restrict from, int64_t n, const int64_t *restrict at, int64_t bytes)
{
	switch (bytes) {
	case 1: PICK(uint8_t);
	case 2: PICK(uint16_t);
	case 4: PICK(uint32_t);
	case 8: PICK(uint64_t);
	default:
		for (int64_t i = 0; i < n; i++)
			rt_copy_bytes(to + i * bytes, from + at[i] * bytes, (size_t)bytes);
	}
}

/* The first of n positions that is none in `size` elements, from 0 on or, negative, from the end; n: all are. */
static int64_t
first_beyond(const int64_t *at, int64_t n, int64_t size)
{
	int64_t i = 0;

	while (i < n && at[i] >= -size && at[i] < size)
		i++;
	return i;
}

static void
wrap_positions(int64_t *to, const int64_t *at, int64_t n, int64_t size)
{
	for (int64_t i = 0; i < n; i++)
		to[i] = at[i] < 0 ? at[i] + size : at[i];
}

int
rt_index_select(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = in[0].u.t, *index = in[2].u.t, *r;
	int dim = rt_dim(cx, in[1].u.i, self->ndim);
	int64_t n = rt_numel(index), bytes = rt_dtypes[self->dtype].bytes, outer, block, size;
	const int64_t *at;
	Geom g = geom_of(self);

	if (dim < 0)
		return RT_ERROR;
	if (index->ndim > 1)
		return rt_raise(cx, "index_select(): Index is supposed to be a vector");
	if (index->dtype != RT_i64 && index->dtype != RT_i32)
		return rt_raise(cx, "index_select(): Expected dtype int32 or int64 for index");
	if (self->ndim == 0 && n != 1)
		return rt_raise(cx, "index_select(): Index to scalar can have only 1 value, got %lld value(s)",
				(long long)n);
	if (g.n)
		g.dims[dim] = n;
	index = dense_as(cx, index, RT_i64);
	self = index ? dense(cx, self) : NULL;
	if (!self)
		return RT_ERROR;
	r = rt_result(cx, 0, (RtDtype)self->dtype, g.n, g.dims, NULL);
	RT_RESULT(cx, r, out[0]);
	at = (const int64_t *)(const void *)rt_data(index);
	size = g.n ? self->dims[dim] : 1;
	if (g.n > 1 && rt_numel(r) && size == 0)
		return rt_raise(cx, "index_select(): self indexing axis dim should be positive");
	for (int64_t i = 0; i < n; i++)
		if (at[i] < 0 || at[i] >= size)
			return g.n > 1 && dim == 1 && rt_numel(self)
				? rt_raise(cx, "INDICES element is out of DATA bounds, id=%lld axis_dim=%lld",
					   (long long)at[i], (long long)size)
				: rt_raise(cx, "index out of range in self");
	if (rt_numel(r) == 0)
		return RT_OK;
	outer = product(g.dims, 0, dim);
	block = product(g.dims, dim + 1, g.n) * bytes;
	for (int64_t o = 0; o < outer; o++)
		pick_blocks(rt_data(r) + o * n * block, rt_data(self) + o * size * block, n, at, block);
	return RT_OK;
}

/* ---- flat positions ---------------------------------------------------------------------------------------------- */

/* Positions in n elements, from 0 on; null: error raised. */
static const int64_t *
flat_positions(RtCx *cx, RtTensor *index, int64_t n)
{
	const int64_t count = rt_numel(index), *at;
	int64_t *flat = rt_scratch(cx, (count + 1) * 8), outside;

	index = flat ? dense(cx, index) : NULL;
	if (!index)
		return NULL;
	at = (const int64_t *)(const void *)rt_data(index);
	outside = first_beyond(at, count, n);
	if (outside < count) {
		rt_raise(cx, "out of range: tried to access index %lld on a tensor of %lld elements.",
			(long long)at[outside], (long long)n);
		return NULL;
	}
	wrap_positions(flat, at, count, n);
	return flat;
}

int
rt_take(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = in[0].u.t, *index = in[1].u.t, *r;
	const int64_t n = rt_numel(self), *at;

	if (index->dtype != RT_i64)
		return rt_raise(cx, "take(): Expected a long tensor for index, but got %s",
				rt_dtypes[index->dtype].brief);
	if (n == 0 && rt_numel(index))
		return rt_raise(cx, "take(): tried to take from an empty tensor");
	r = rt_result(cx, 0, (RtDtype)self->dtype, index->ndim, index->dims, NULL);
	RT_RESULT(cx, r, out[0]);
	self = dense(cx, self);
	at = self ? flat_positions(cx, index, n) : NULL;
	if (!at)
		return RT_ERROR;
	pick_blocks(rt_data(r), rt_data(self), rt_numel(index), at, rt_dtypes[self->dtype].bytes);
	return RT_OK;
}

static int
put_flat(RtCx *cx, const IValue *in, RtTensor *dst)
{
	RtTensor *index = in[1].u.t, *src = in[2].u.t;
	const int64_t n = rt_numel(dst), bytes = rt_dtypes[dst->dtype].bytes, *at;
	const Combine *combine = in[3].u.i ? combine_of(SCATTER_ADD, dst->dtype) : set_of(bytes);

	if (index->dtype != RT_i64)
		return rt_raise(cx, "put_(): Expected a long tensor for index, but got %s",
				rt_dtypes[index->dtype].brief);
	if (dst->dtype != src->dtype)
		return rt_raise(cx, "put_(): self and source expected to have the same dtype, but got self.dtype = %s "
			"and source.dtype = %s", rt_dtypes[dst->dtype].brief, rt_dtypes[src->dtype].brief);
	if (rt_numel(index) != rt_numel(src))
		return rt_raise(cx, "put_(): Expected source and index to have the same number of elements, but got "
			"source.numel() = %lld, index.numel() = %lld", (long long)rt_numel(src),
			(long long)rt_numel(index));
	if (!n && rt_numel(index))
		return rt_raise(cx, "put_(): Tried to put elements into an empty tensor");
	if (check_target(cx, in, dst, 3))
		return RT_ERROR;
	if (cx->meta)
		return RT_OK;
	src = dense(cx, src);
	at = src ? flat_positions(cx, index, n) : NULL;
	for (int64_t i = 0, m = at ? rt_numel(index) : 0; i < m; i++)
		combine->run(1, rt_data(dst) + byte_offset(dst, at[i]), 0, rt_data(src) + i * bytes, 0);
	return at ? RT_OK : RT_ERROR;
}
BOTH_FORMS(put, put_, true, put_flat)
