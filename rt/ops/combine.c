/* rt/ops/combine.c - loops of `dst = dst op src` for each operation and dtype, and walks over several tensors
 *
 * A walk keeps the byte offsets of one position in several tensors, which may have any strides. */
#include "scatter.h"

#include <string.h>

RT_FAST

#define WRAP(T, a, op, b) ((T)((uint64_t)(a) op (uint64_t)(b)))
/* Defines run_NAME for n elements, and at_NAME, which adds at[i] * step bytes to the address of dst. `body` computes
 * *x, an element of dst, from y, an element of src. Contiguous elements have their own loop, which vectorizes. */
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

/* NaN propagates. */
#define FLOATING(name, T) \
	RUN(add_##name, T, *x += y) \
	RUN(mul_##name, T, *x *= y) \
	RUN(min_##name, T, *x = y < *x || y != y ? y : *x) \
	RUN(max_##name, T, *x = y > *x || y != y ? y : *x)
FLOATING(f32, float)
FLOATING(f64, double)
#undef FLOATING

#define SHORT(name, load) \
	RUN(min_##name, uint16_t, *x = load(y) < load(*x) || load(y) != load(y) ? y : *x) \
	RUN(max_##name, uint16_t, *x = load(y) > load(*x) || load(y) != load(y) ? y : *x)
SHORT(f16, rt_half_to_float)
SHORT(bf16, rt_bf16_to_float)
#undef SHORT

#define COMPLEX(name, T) \
	RUN(add_##name, T, (x->re += y.re, x->im += y.im)) \
	RUN(mul_##name, T, *x = ((T){ x->re * y.re - x->im * y.im, x->re * y.im + x->im * y.re }))
COMPLEX(c64, RtC64)
COMPLEX(c128, RtC128)
#undef COMPLEX

RUN(or_b8, uint8_t, *x |= y)
RUN(and_b8, uint8_t, *x &= y)

/* Copies, for SCATTER_SET: one function for each size of elements in bytes. */
RUN(set_1, uint8_t, *x = y)
RUN(set_2, uint16_t, *x = y)
RUN(set_4, uint32_t, *x = y)
RUN(set_8, uint64_t, *x = y)
RUN(set_16, RtC128, *x = y)
#undef RUN

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
		ROW(u8), ROW(i8), ROW(i16), ROW(i32), ROW(i64), ROW(f32), ROW(f64),
		[RT_f16] = { NULL, &add_f32, &mul_f32, &min_f16, &max_f16 },
		[RT_bf16] = { NULL, &add_f32, &mul_f32, &min_bf16, &max_bf16 },
		[RT_c64] = { NULL, &add_c64, &mul_c64, NULL, NULL },
		[RT_c128] = { NULL, &add_c128, &mul_c128, NULL, NULL },
		[RT_u16] = { NULL, &add_i16, &mul_i16, NULL, NULL },     /* the same bits as for signed numbers */
		[RT_u32] = { NULL, &add_i32, &mul_i32, NULL, NULL },
		[RT_u64] = { NULL, &add_i64, &mul_i64, NULL, NULL },
		[RT_b8] = { NULL, &or_b8, &and_b8, &and_b8, &or_b8 },
	};
#undef ROW
	return table[dtype][op];
}

const Combine *
set_of(int64_t bytes)
{
	return bytes == 1 ? &set_1 : bytes == 2 ? &set_2 : bytes == 4 ? &set_4 : bytes == 8 ? &set_8 : &set_16;
}

int
combined_begin(RtCx *cx, Combined *w, int op, RtTensor *dst, RtTensor *src)
{
	const bool wide = (op == SCATTER_ADD || op == SCATTER_MUL) && (dst->dtype == RT_f16 || dst->dtype == RT_bf16);

	*w = (Combined){ dst, src, wide ? dst : NULL };
	if (!wide || cx->meta)
		return RT_OK;
	w->dst = rt_temp(cx, rt_to_dtype(cx, dst, RT_f32));
	w->src = rt_temp(cx, rt_to_dtype(cx, src, RT_f32));
	return w->dst && w->src ? RT_OK : RT_ERROR;
}

int
combined_end(RtCx *cx, const Combined *w)
{
	return w->rounded && !cx->meta ? rt_copy_into(cx, w->rounded, w->dst) : RT_OK;
}

Take *
take_of(int64_t bytes)
{
	return bytes == 1 ? take_1 : bytes == 2 ? take_2 : bytes == 4 ? take_4 : bytes == 8 ? take_8 : take_16;
}

/* ---- walks ----------------------------------------------------------------------------------------------------- */

void
walk_begin(Walk *w, int n, const int64_t *dims)
{
	memset(w, 0, sizeof *w);
	w->n = n;
	memcpy(w->dims, dims, sizeof *dims * n);
}

void
walk_follow(Walk *w, const RtTensor *t, int without)
{
	for (int d = 0; d < w->n; d++)
		w->step[w->m][d] = d == without || d >= t->ndim ? 0 : t->strides[d] * rt_dtypes[t->dtype].bytes;
	w->m++;
}

bool
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
combine_block(const Combine *combine, const BlockPair *b, char *dst, const char *src)
{
	const int last = b->n - 1;
	Walk w;

	if (product(b->dims, 0, b->n) == 0)
		return;
	if (b->n < 2) {
		combine->run(b->n ? b->dims[0] : 1, dst, b->n ? b->to[0] : 0, src, b->n ? b->from[0] : 0);
		return;
	}
	walk_begin(&w, last, b->dims);
	w.m = 2;
	memcpy(w.step[0], b->to, sizeof *b->to * last);
	memcpy(w.step[1], b->from, sizeof *b->from * last);
	do
		combine->run(b->dims[last], dst + w.off[0], b->to[last], src + w.off[1], b->from[last]);
	while (walk_next(&w));
}
