/* rt/dtype.c - element types: table, floats of 16 and 8 bits, conversion, promotion
 *
 * A conversion goes block by block through one of three wide types: int64 for integers and bool, double for floats,
 * pairs of double for complex. So the code grows with the number of types and not with its square. Floats of 16 and 8
 * bits go through float. Contiguous elements are converted to and from the wide types in vectors. Rounding is ATen's:
 * half is rounded from float, int64 is converted to float directly. Floats out of an integer's range become what x86
 * computes: the smallest int64, or the smallest int32, which narrower types truncate. uint64 is int64 with the same
 * bits, except in conversions from and to floats. */
#include "rt.h"
#include "half.h"

#include <string.h>
#ifdef __F16C__
#include <immintrin.h>
#endif

const RtDtypeInfo rt_dtypes[RT_NDTYPE + 1] = {
#define DTYPE(name, c, bytes, torch, numpy, cat, compute, brief) \
	{ #name, torch, numpy, brief, bytes, #cat[0], RT_##compute },
#define NO_DTYPE(name, torch, brief) { #name, torch, "", brief, 1, '?', RT_u8 },
#include "dtype.def"
#undef DTYPE
	{ "unknown", "unknown", "", "unknown", 1, '?', RT_u8 },
};

/* Qualifier of functions for single numbers, which are not inlined. Loops use the inline functions of half.h. */
#if defined __GNUC__ && !defined __TINYC__
#define ONCE __attribute__((noinline))
#else
#define ONCE
#endif

ONCE float
rt_half_to_float(uint16_t h)
{
	return half_to_float(h);
}

ONCE uint16_t
rt_float_to_half(float f)
{
	return float_to_half(f);
}

float
rt_bf16_to_float(uint16_t h)
{
	return bf16_to_float(h);
}

uint16_t
rt_float_to_bf16(float f)
{
	return float_to_bf16(f);
}

float
rt_f8_to_float(RtDtype d, uint8_t code)
{
	switch (d) {
#define FLOAT8(name, ...) case RT_##name: return name##_to_float(code);
	FLOAT8_FORMATS(FLOAT8)
#undef FLOAT8
	default: return 0;
	}
}

uint8_t
rt_float_to_f8(RtDtype d, float f)
{
	switch (d) {
#define FLOAT8(name, ...) case RT_##name: return float_to_##name(f);
	FLOAT8_FORMATS(FLOAT8)
#undef FLOAT8
	default: return 0;
	}
}

/* ---- conversion ------------------------------------------------------------------------------------ */

enum { BLOCK = RT_LIMIT_CAST_BLOCK };

typedef enum Wide { WIDE_INT, WIDE_REAL, WIDE_COMPLEX } Wide;
typedef union Block { int64_t i[BLOCK]; double f[BLOCK]; RtC128 c[BLOCK]; } Block;

static Wide
wide_of(RtDtype d)
{
	switch (rt_kind(d)) {
	case 'F': return WIDE_REAL;
	case 'C': return WIDE_COMPLEX;
	default:  return WIDE_INT;
	}
}

RT_FAST

static int64_t
real_to_i64(double x)
{
	return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

/* Converts n halves to floats, with the processor's conversion instructions if it has them. */
static void
halves_to_floats(RtDtype from, float *restrict d, const uint16_t *restrict s, int64_t n)
{
	int64_t k = 0;

#ifdef __F16C__
	for (; k + 8 <= n && from == RT_f16; k += 8)
		_mm256_storeu_ps(d + k, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(s + k))));
#endif
	for (; k < n && from == RT_f16; k++)
		d[k] = rt_half_to_float(s[k]);
	for (; k < n; k++)
		d[k] = bf16_to_float(s[k]);
}

static void
floats_to_halves(RtDtype to, uint16_t *restrict d, const float *restrict s, int64_t n)
{
	int64_t k = 0;

#ifdef __F16C__
	for (; k + 8 <= n && to == RT_f16; k += 8)
		_mm_storeu_si128((void *)(d + k), _mm256_cvtps_ph(_mm256_loadu_ps(s + k), _MM_FROUND_TO_NEAREST_INT));
#endif
	for (; k < n && to == RT_f16; k++)
		d[k] = rt_float_to_half(s[k]);
	for (; k < n; k++)
		d[k] = float_to_bf16(s[k]);
}

#define DENSE(F, T, value) \
	for (int64_t k = 0; k < n; k++) { \
		const F x = ((const F *)s)[k]; \
		((T *)d)[k] = (value); \
	} \
	return true
#define PAIR(from, to) ((from) * RT_NDTYPE + (to))

/* Converts n contiguous elements directly. Supports conversions of integers to and from int64, and the pairs of dtypes
 * that kernels convert most. Returns false for other pairs. */
bool
rt_cast_dense_all(RtDtype to, char *restrict d, RtDtype from, const char *restrict s, int64_t n)
{
	switch (PAIR((int)from, (int)to)) {
	case PAIR(RT_f32, RT_f64):  DENSE(float, double, (double)x);
	case PAIR(RT_f64, RT_f32):  DENSE(double, float, (float)x);
	case PAIR(RT_i64, RT_f32):  DENSE(int64_t, float, (float)x);
	case PAIR(RT_b8, RT_i64):   DENSE(uint8_t, int64_t, x != 0);
	case PAIR(RT_u8, RT_i64):   DENSE(uint8_t, int64_t, x);
	case PAIR(RT_i8, RT_i64):   DENSE(int8_t, int64_t, x);
	case PAIR(RT_i16, RT_i64):  DENSE(int16_t, int64_t, x);
	case PAIR(RT_i32, RT_i64):  DENSE(int32_t, int64_t, x);
	case PAIR(RT_i64, RT_u8):   case PAIR(RT_i64, RT_i8): DENSE(int64_t, uint8_t, (uint8_t)x);
	case PAIR(RT_i64, RT_i16):  DENSE(int64_t, uint16_t, (uint16_t)x);
	case PAIR(RT_i64, RT_i32):  DENSE(int64_t, uint32_t, (uint32_t)x);
	case PAIR(RT_u8, RT_f32):   DENSE(uint8_t, float, (float)x);
	case PAIR(RT_f16, RT_f32):  case PAIR(RT_bf16, RT_f32):
		halves_to_floats(from, (float *)d, (const uint16_t *)s, n);
		return true;
	case PAIR(RT_f32, RT_f16):  case PAIR(RT_f32, RT_bf16):
		floats_to_halves(to, (uint16_t *)d, (const float *)s, n);
		return true;
	default:                    return false;
	}
}

/* Truncates numbers to integers in place. A number out of range becomes the smallest int64, or the smallest int32 if
 * `small`. */
static void
truncate_reals(Block *w, int64_t n, bool small)
{
	for (int64_t k = 0; k < n; k++)
		w->i[k] = real_to_i64(w->f[k]);
	for (int64_t k = 0; k < n && small; k++)
		w->i[k] = w->i[k] >= INT32_MIN && w->i[k] <= INT32_MAX ? w->i[k] : INT32_MIN;
}

RT_SMALL

/* Converts uint64 to double in place, rounded once: to float if `single`, otherwise to double. */
static void
unsigned_to_reals(Block *w, int64_t n, bool single)
{
	for (int64_t k = 0; k < n; k++)
		w->f[k] = single ? (double)(float)(uint64_t)w->i[k] : (double)(uint64_t)w->i[k];
}

/* Truncates numbers to uint64 in place. Numbers from 2^63 on have the highest bit set. */
static void
truncate_to_unsigned(Block *w, int64_t n)
{
	for (int64_t k = 0; k < n; k++)
		w->i[k] = w->f[k] >= 0x1p63 ? real_to_i64(w->f[k] - 0x1p63) ^ INT64_MIN : real_to_i64(w->f[k]);
}

static bool
cast_dense(RtDtype to, char *restrict d, RtDtype from, const char *restrict s, int64_t n)
{
	return rt_cast_dense && rt_cast_dense(to, d, from, s, n);
}

#define LOAD(T, member, value) \
	for (int64_t k = 0; k < n; k++) { \
		T x = *(const T *)(s + k * stride); \
		w->member[k] = (value); \
	} \
	break

static void
load_block(RtDtype d, const char *s, int64_t stride, int64_t n, Block *w)
{
	if (stride == rt_dtypes[d].bytes && cast_dense(wide_of(d) == WIDE_INT ? RT_i64 : RT_f64, (char *)w, d, s, n))
		return;
	switch (d) {
	case RT_u8:  case RT_qu8: LOAD(uint8_t, i, x);
	case RT_i8:  case RT_qi8: LOAD(int8_t, i, x);
	case RT_i16:              LOAD(int16_t, i, x);
	case RT_i32: case RT_qi32: LOAD(int32_t, i, x);
	case RT_u16:              LOAD(uint16_t, i, x);
	case RT_u32:              LOAD(uint32_t, i, x);
	case RT_i64: case RT_u64: LOAD(int64_t, i, x);
	case RT_b8:               LOAD(uint8_t, i, x != 0);
	case RT_f32:              LOAD(float, f, (double)x);
	case RT_f64:              LOAD(double, f, x);
	case RT_c32:              LOAD(RtC32, c, ((RtC128){ rt_half_to_float(x.re), rt_half_to_float(x.im) }));
	case RT_c64:              LOAD(RtC64, c, ((RtC128){ x.re, x.im }));
	case RT_c128:             LOAD(RtC128, c, x);
	default:                  break;
	}
}

/* Converts a number x, which is an int64 or a double, to each type. */
#define STORE(T, value) \
	for (int64_t k = 0; k < n; k++) { \
		const NUMBER x = w->MEMBER[k]; \
		*(T *)(d + k * stride) = (value); \
	} \
	break
#define STORE_REALS \
	case RT_b8:                STORE(uint8_t, x != 0); \
	case RT_f32:               STORE(float, (float)x); \
	case RT_f64:               STORE(double, (double)x); \
	case RT_c32:               STORE(RtC32, ((RtC32){ rt_float_to_half((float)x), 0 })); \
	case RT_c64:               STORE(RtC64, ((RtC64){ (float)x, 0 })); \
	case RT_c128:              STORE(RtC128, ((RtC128){ (double)x, 0 }));

#define NUMBER int64_t
#define MEMBER i
static void
store_int(RtDtype to, char *d, int64_t stride, int64_t n, const Block *w)
{
	if (stride == rt_dtypes[to].bytes && cast_dense(to, d, RT_i64, (const char *)w, n))
		return;
	switch (to) {
	STORE_REALS
	case RT_u8:  case RT_qu8: case RT_i8: case RT_qi8: STORE(uint8_t, (uint8_t)x);
	case RT_i16: case RT_u16:                          STORE(uint16_t, (uint16_t)x);
	case RT_i32: case RT_qi32: case RT_u32:            STORE(uint32_t, (uint32_t)x);
	case RT_i64: case RT_u64:                          STORE(int64_t, x);
	default:                                           break;
	}
}
#undef NUMBER
#undef MEMBER

#define NUMBER double
#define MEMBER f
static void
store_real(RtDtype to, char *d, int64_t stride, int64_t n, Block *w)
{
	if (stride == rt_dtypes[to].bytes && cast_dense(to, d, RT_f64, (const char *)w, n))
		return;
	switch (to) {
	STORE_REALS
	case RT_u64:
		truncate_to_unsigned(w, n);
		store_int(to, d, stride, n, w);
		break;
	default:
		truncate_reals(w, n, to != RT_i64 && to != RT_u8 && to != RT_qu8 && to != RT_u32);
		store_int(to, d, stride, n, w);
	}
}
#undef NUMBER
#undef MEMBER

#define NUMBER RtC128
#define MEMBER c
/* Stores complex numbers. Real types get the real parts. */
static void
store_complex(RtDtype to, char *d, int64_t stride, int64_t n, Block *w)
{
	switch (to) {
	case RT_c32:  STORE(RtC32, ((RtC32){ rt_float_to_half((float)x.re), rt_float_to_half((float)x.im) }));
	case RT_c64:  STORE(RtC64, ((RtC64){ (float)x.re, (float)x.im }));
	case RT_c128: STORE(RtC128, x);
	default:
		for (int64_t k = 0; k < n; k++)
			w->f[k] = w->c[k].re;
		store_real(to, d, stride, n, w);
	}
}
#undef NUMBER
#undef MEMBER

#define COPY(T) \
	for (int64_t k = 0; k < n; k++) \
		*(T *)(d + k * dstride) = *(const T *)(s + k * sstride); \
	break

RT_FAST

/* Copies every second one of 2 n elements of 4 or 8 bytes, such as one part of complex numbers. */
static void
copy_half(int bytes, char *d, const char *s, int64_t n)
{
	for (int64_t k = 0; k < n && bytes == 4; k++)
		((uint32_t *)d)[k] = ((const uint32_t *)s)[2 * k];
	for (int64_t k = 0; k < n && bytes == 8; k++)
		((uint64_t *)d)[k] = ((const uint64_t *)s)[2 * k];
}

#define FILL(T) \
	for (int64_t k = 0; k < n; k++) \
		((T *)d)[k] = *(const T *)s; \
	break

/* Fills n contiguous elements with the element at s. */
static void
fill_same(int bytes, char *restrict d, const char *restrict s, int64_t n)
{
	switch (bytes) {
	case 1:  FILL(uint8_t);
	case 2:  FILL(uint16_t);
	case 4:  FILL(uint32_t);
	case 8:  FILL(uint64_t);
	default: FILL(RtC128);
	}
}

RT_SMALL

static void
copy_same(int bytes, char *d, int64_t dstride, const char *s, int64_t sstride, int64_t n)
{
	if (dstride == bytes && sstride == bytes) {
		memmove(d, s, (size_t)(n * bytes));
		return;
	}
	if (dstride == bytes && !sstride) {
		fill_same(bytes, d, s, n);
		return;
	}
	if (dstride == bytes && sstride == 2 * bytes && (bytes == 4 || bytes == 8)) {
		copy_half(bytes, d, s, n);
		return;
	}
	switch (bytes) {
	case 1:  COPY(uint8_t);
	case 2:  COPY(uint16_t);
	case 4:  COPY(uint32_t);
	case 8:  COPY(uint64_t);
	default: COPY(RtC128);
	}
}

/* Whether the dtype is a float of 16 or 8 bits. */
static bool
is_short_float(RtDtype d)
{
	return d == RT_f16 || d == RT_bf16 || rt_dtypes[d].category == 'E';
}

/* Converts n contiguous elements to float. */
static void
load_short_floats(RtDtype from, float *restrict d, const char *restrict s, int64_t n)
{
	const uint16_t *const half = (const uint16_t *)(const void *)s;

	if (cast_dense(RT_f32, (char *)d, from, s, n))
		return;
	for (int64_t k = 0; k < n; k++)
		d[k] = from == RT_f16 ? rt_half_to_float(half[k]) : from == RT_bf16 ? rt_bf16_to_float(half[k]) :
		       rt_f8_to_float(from, (uint8_t)s[k]);
}

static void
store_short_floats(RtDtype to, char *restrict d, const float *restrict s, int64_t n)
{
	uint16_t *const half = (uint16_t *)(void *)d;

	if (cast_dense(to, d, RT_f32, (const char *)s, n))
		return;
	for (int64_t k = 0; k < n; k++)
		if (to == RT_f16)
			half[k] = rt_float_to_half(s[k]);
		else if (to == RT_bf16)
			half[k] = rt_float_to_bf16(s[k]);
		else
			d[k] = (char)rt_float_to_f8(to, s[k]);
}

/* Converts at most BLOCK elements from or to floats of 16 or 8 bits, by way of float. */
ONCE static void
cast_short_floats(char *d, RtRun to, const char *s, RtRun from, int64_t n)
{
	const int from_bytes = rt_dtypes[from.dtype].bytes, to_bytes = rt_dtypes[to.dtype].bytes;
	float wide[BLOCK], *floats = to.dtype == RT_f32 && to.step == 4 ? (float *)d : wide;
	const float *given = from.dtype == RT_f32 && from.step == 4 ? (const float *)s : floats;
	uint16_t dense[BLOCK];

	if (is_short_float(from.dtype)) {
		if (from.step != from_bytes)
			copy_same(from_bytes, (char *)dense, from_bytes, s, from.step, n);
		load_short_floats(from.dtype, floats, from.step != from_bytes ? (const char *)dense : s, n);
	} else if (given == floats) {
		rt_cast_strided(floats, (RtRun){ RT_f32, 4 }, s, from, n);
	}
	if (is_short_float(to.dtype)) {
		store_short_floats(to.dtype, to.step == to_bytes ? d : (char *)dense, given, n);
		if (to.step != to_bytes)
			copy_same(to_bytes, d, to.step, (const char *)dense, to_bytes, n);
	} else if (floats == wide) {
		rt_cast_strided(d, to, floats, (RtRun){ RT_f32, 4 }, n);
	}
}

/* Converts at most BLOCK elements through a wide type. */
static void
cast_through_wide(char *d, RtRun to, const char *s, RtRun from, int64_t n)
{
	Block w;

	load_block(from.dtype, s, from.step, n, &w);
	if (from.dtype == RT_u64 && wide_of(to.dtype) != WIDE_INT) {
		unsigned_to_reals(&w, n, to.dtype != RT_f64 && to.dtype != RT_c128);
		store_real(to.dtype, d, to.step, n, &w);
		return;
	}
	switch (wide_of(from.dtype)) {
	case WIDE_INT:     store_int(to.dtype, d, to.step, n, &w); break;
	case WIDE_REAL:    store_real(to.dtype, d, to.step, n, &w); break;
	case WIDE_COMPLEX: store_complex(to.dtype, d, to.step, n, &w); break;
	}
}

void
rt_cast_strided(void *dst, RtRun to, const void *src, RtRun from, int64_t n)
{
	char *d = dst;
	const char *s = src;

	if (to.dtype == from.dtype) {
		copy_same(rt_dtypes[to.dtype].bytes, d, to.step, s, from.step, n);
		return;
	}
	if (to.step == rt_dtypes[to.dtype].bytes && from.step == rt_dtypes[from.dtype].bytes &&
	    cast_dense(to.dtype, d, from.dtype, s, n))
		return;
	for (int64_t at = 0, m; at < n; at += m, d += m * to.step, s += m * from.step) {
		m = n - at < BLOCK ? n - at : BLOCK;
		if (is_short_float(from.dtype) || is_short_float(to.dtype))
			cast_short_floats(d, to, s, from, m);
		else
			cast_through_wide(d, to, s, from, m);
	}
}

RT_SMALL

void
rt_cast(RtDtype to, void *dst, RtDtype from, const void *src, int64_t n)
{
	rt_cast_strided(dst, (RtRun){ to, rt_dtypes[to].bytes }, src, (RtRun){ from, rt_dtypes[from].bytes }, n);
}

/* int_at loads an integer or bool. real_at loads an element of another type, or its real part. They do not use rt_cast,
 * which programs without conversions do not link. */
static int64_t
int_at(RtDtype d, const void *p)
{
	switch (d) {
	case RT_u8:  case RT_qu8:  return *(const uint8_t *)p;
	case RT_i8:  case RT_qi8:  return *(const int8_t *)p;
	case RT_i16:               return *(const int16_t *)p;
	case RT_i32: case RT_qi32: return *(const int32_t *)p;
	case RT_u16:               return *(const uint16_t *)p;
	case RT_u32:               return *(const uint32_t *)p;
	case RT_b8:                return *(const uint8_t *)p != 0;
	default:                   return *(const int64_t *)p;
	}
}

static double
real_at(RtDtype d, const void *p)
{
	switch (d) {
	case RT_f16: case RT_c32: return (double)rt_half_to_float(*(const uint16_t *)p);
	case RT_bf16:             return (double)rt_bf16_to_float(*(const uint16_t *)p);
	case RT_f32: case RT_c64: return (double)*(const float *)p;
	case RT_f64: case RT_c128: return *(const double *)p;
	default:                  return (double)rt_f8_to_float(d, *(const uint8_t *)p);
	}
}

double
rt_load_f64(RtDtype d, const void *p)
{
	if (d == RT_u64)
		return (double)*(const uint64_t *)p;
	return wide_of(d) == WIDE_INT ? (double)int_at(d, p) : real_at(d, p);
}

int64_t
rt_load_i64(RtDtype d, const void *p)
{
	return wide_of(d) == WIDE_INT ? int_at(d, p) : real_to_i64(real_at(d, p));
}

double
rt_largest(RtDtype d)
{
	switch (d) {
	case RT_f16: case RT_c32: return 65504;
	case RT_bf16:             return 3.38953138925153547590e38;
	case RT_f32: case RT_c64: return 3.40282346638528859812e38;
#define FLOAT8(name, mantissa, bias, largest, ...) case RT_##name: return (double)name##_to_float(largest);
	FLOAT8_FORMATS(FLOAT8)
#undef FLOAT8
	default:                  return 1.79769313486231570815e308;
	}
}

RtDtype
rt_in_double(RtDtype d)
{
	const char kind = rt_dtypes[d].category;

	return kind == 'F' ? RT_f64 : kind == 'C' ? RT_c128 : d;
}

/* ---- promotion ---------------------------------------------------------------------------------------- */

static bool
is_wide_kind(RtDtype d)          /* whether it is floating or complex */
{
	return rt_dtypes[d].category == 'F' || rt_dtypes[d].category == 'C';
}

static RtDtype
promote_integers(RtDtype a, RtDtype b)
{
	if (a == RT_b8)
		return b;
	if (b == RT_b8)
		return a;
	if ((a == RT_u8 && b == RT_i8) || (a == RT_i8 && b == RT_u8))
		return RT_i16;
	return rt_dtypes[a].bytes >= rt_dtypes[b].bytes ? a : b;
}

/* Returns the precision of a floating or complex dtype: 1 for half, 2 for float, 3 for double. */
static int
precision(RtDtype d)
{
	switch (d) {
	case RT_f64: case RT_c128: return 3;
	case RT_f32: case RT_c64:  return 2;
	default:                   return 1;
	}
}

static RtDtype
promote_floats(RtDtype a, RtDtype b)
{
	static const RtDtype real[] = { RT_f16, RT_f32, RT_f64 }, complex[] = { RT_c32, RT_c64, RT_c128 };
	int p = precision(a) > precision(b) ? precision(a) : precision(b);

	if (p == 1 && (a == RT_bf16 || b == RT_bf16))   /* bfloat16 with half or complex half */
		p = 2;
	return rt_dtypes[a].category == 'C' || rt_dtypes[b].category == 'C' ? complex[p - 1] : real[p - 1];
}

RtDtype
rt_promote(RtDtype a, RtDtype b)
{
	if (a == b)
		return a;
	if (strchr("QE?", rt_dtypes[a].category) || strchr("QE?", rt_dtypes[b].category))
		return RT_NDTYPE;
	if (rt_dtypes[a].category == 'U' || rt_dtypes[b].category == 'U')
		return rt_dtypes[a].category == 'F' ? a : rt_dtypes[b].category == 'F' ? b : RT_NDTYPE;
	if (is_wide_kind(a) && is_wide_kind(b))
		return promote_floats(a, b);
	if (is_wide_kind(a))
		return a;
	return is_wide_kind(b) ? b : promote_integers(a, b);
}

bool
rt_can_cast(RtDtype from, RtDtype to)
{
	char f = rt_kind(from), t = rt_kind(to);

	if (f == 'C' && t != 'C')
		return false;
	if (f == 'F' && (t == 'I' || t == 'B'))
		return false;
	return t != 'B' || f == 'B';
}
