/* rt/half.h - float16 and bfloat16 as their bits, by integers alone: of the runtime, and of functions without one */
#ifndef RT_HALF_H
#define RT_HALF_H

static inline uint32_t
half_bits(float f)
{
	union { float f; uint32_t u; } x = { f };

	return x.u;
}

static inline float
half_float(uint32_t u)
{
	union { uint32_t u; float f; } x = { u };

	return x.f;
}

static inline float
half_to_float(uint16_t h)
{
	const uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 1023;

	if (e == 31)
		return half_float(sign | 0x7f800000 | m << 13);
	if (e)
		return half_float(sign | (e + 112) << 23 | m << 13);
	return half_float(sign | half_bits((float)m * 0x1p-24f));
}

/* Rounds to nearest even. */
static inline uint16_t
float_to_half(float f)
{
	uint32_t u = half_bits(f), m;
	const uint32_t sign = u >> 16 & 0x8000;

	u &= 0x7fffffff;
	if (u > 0x7f800000)
		return (uint16_t)(sign | 0x7e00);
	if (u >= 0x47800000)                              /* 2^16 and above, infinity */
		return (uint16_t)(sign | 0x7c00);
	if (u < 0x38800000)                               /* subnormal: let an addition round */
		return (uint16_t)(sign | (half_bits(half_float(u) + 0.5f) - 0x3f000000));
	m = u - 0x38000000;
	return (uint16_t)(sign | (m + 0xfff + (m >> 13 & 1)) >> 13);
}

static inline float
bf16_to_float(uint16_t h)
{
	return half_float((uint32_t)h << 16);
}

static inline uint16_t
float_to_bf16(float f)
{
	const uint32_t u = half_bits(f);

	return f != f ? 0x7fc0 : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

#endif
