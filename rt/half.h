/* rt/half.h - conversions of 16-bit and 8-bit floats, which are passed as integers; for the runtime and generated
 * code */
#ifndef RT_HALF_H
#define RT_HALF_H

/* Forces inlining, also under -Os: a call inside a loop would keep the loop from being vectorized. */
#if defined __GNUC__ && !defined __TINYC__
#define HALF_INLINE static inline __attribute__((always_inline))
#else
#define HALF_INLINE static inline
#endif

HALF_INLINE uint32_t
half_bits(float f)
{
	union { float f; uint32_t u; } x = { f };

	return x.u;
}

HALF_INLINE float
half_float(uint32_t u)
{
	union { uint32_t u; float f; } x = { u };

	return x.f;
}

/* Converts a half to float. All functions here have no branches, so that loops over them vectorize. */
HALF_INLINE float
half_to_float(uint16_t h)
{
	const uint32_t sign = (uint32_t)(h & 0x8000) << 16, size = h & 0x7fff;

	return half_float(sign | half_bits(half_float(size << 13) * 0x1p112f) | (size < 0x7c00 ? 0 : 0x7f800000));
}

/* Rounds a float to the nearest half, ties to even. */
HALF_INLINE uint16_t
float_to_half(float f)
{
	const uint32_t bits = half_bits(f), sign = bits >> 16 & 0x8000, u = bits & 0x7fffffff, m = u - 0x38000000;
	const uint32_t small = half_bits(half_float(u) + 0.5f) - 0x3f000000;       /* subnormal: an addition rounds */
	const uint32_t half = u < 0x38800000 ? small : (m + 0xfff + (m >> 13 & 1)) >> 13;
	const uint32_t large = u > 0x7f800000 ? 0x7e00 : 0x7c00;                 /* from 2^16 on, infinity, NaN */

	return (uint16_t)(sign | (u < 0x47800000 ? half : large));
}

HALF_INLINE float
bf16_to_float(uint16_t h)
{
	return half_float((uint32_t)h << 16);
}

HALF_INLINE uint16_t
float_to_bf16(float f)
{
	const uint32_t u = half_bits(f), number = (u + 0x7fff + (u >> 16 & 1)) >> 16;

	return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : number);
}

/* Rounds a float to half precision: computes half_to_float(float_to_half(f)) in lanes of 32 bits only. bf16_rounded
 * does the same for bfloat16. */
HALF_INLINE float
half_rounded(float f)
{
	const uint32_t bits = half_bits(f), sign = bits & 0x80000000, u = bits & 0x7fffffff;
	const uint32_t small = half_bits(half_float(u) + 0.5f - 0.5f);
	const uint32_t number = (u + 0xfff + (u >> 13 & 1)) & 0xffffe000;
	const uint32_t large = u > 0x7f800000 ? 0x7fc00000 : 0x7f800000;

	return half_float(sign | (number < 0x47800000 ? u < 0x38800000 ? small : number : large));
}

HALF_INLINE float
bf16_rounded(float f)
{
	const uint32_t u = half_bits(f), number = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000;

	return half_float((u & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : number);
}

/* ---- 8 bits ------------------------------------------------------------------------------------------------ */

/* FLOAT8(name, bits of the mantissa, bias of the exponent, largest finite code, code of larger numbers, code of NaN)
 *
 * Bit 7 of a code is the sign.  The code 0x80 is NaN in the fnuz formats and minus zero in the others. */
#define FLOAT8_FORMATS(FLOAT8) \
	FLOAT8(f8_e5m2, 2, 15, 0x7b, 0x7c, 0x7f) \
	FLOAT8(f8_e4m3fn, 3, 7, 0x7e, 0x7e, 0x7f) \
	FLOAT8(f8_e5m2fnuz, 2, 16, 0x7f, 0x80, 0x80) \
	FLOAT8(f8_e4m3fnuz, 3, 8, 0x7f, 0x80, 0x80)

/* Defines conversions of an 8-bit float with the methods of half_to_float and float_to_half. The shift and the factor
 * follow from the format. Codes beyond `largest` become infinity or NaN. */
#define FLOAT8(name, mantissa, bias, largest, over, nan) \
	HALF_INLINE float \
	name##_to_float(uint8_t code) \
	{ \
		const uint32_t sign = (uint32_t)(code & 0x80) << 24, size = code & 0x7f; \
		const uint32_t scale = (uint32_t)(254 - (bias)) << 23, moved = size << (23 - (mantissa)); \
		const uint32_t bits = half_bits(half_float(moved) * half_float(scale)); \
		const uint32_t past = (nan) == 0x80 ? code == 0x80 : size > (largest); \
		const uint32_t special = (over) == 0x7c && size == 0x7c ? 0x7f800000 : 0x7fc00000; \
		\
		return half_float(past && (nan) == 0x80 ? special : sign | (past ? special : bits)); \
	} \
	HALF_INLINE uint8_t \
	float_to_##name(float f) \
	{ \
		const uint32_t bits = half_bits(f), sign = bits >> 24 & 0x80, u = bits & 0x7fffffff; \
		const uint32_t m = u - ((uint32_t)(127 - (bias)) << 23); \
		const uint32_t add = (uint32_t)(151 - (bias) - (mantissa)) << 23; \
		const uint32_t small = half_bits(half_float(u) + half_float(add)) - add, cut = 23 - (mantissa); \
		const uint32_t normal = (m + (1u << (cut - 1)) - 1 + (m >> cut & 1)) >> cut; \
		const uint32_t number = u < (uint32_t)(128 - (bias)) << 23 ? small : normal; \
		const uint32_t code = u > 0x7f800000 ? (nan) : number > (largest) ? (over) : number; \
		\
		return (uint8_t)((nan) == 0x80 && !(code & 0x7f) ? code : sign | code); \
	} \
	HALF_INLINE float \
	name##_rounded(float f) \
	{ \
		return name##_to_float(float_to_##name(f)); \
	}
FLOAT8_FORMATS(FLOAT8)
#undef FLOAT8

#endif
