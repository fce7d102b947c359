/*
 * Unpacks weights: rebuilds a storage of the model from the packed form that kernels read (RtPacking).
 */
#include "program.h"

#include <string.h>

/* Returns the bits of a float in the storage's dtype. */
static uint32_t
element_of(const RtPacking *p, float number)
{
	union { float number; uint32_t word; } x = { number };

	if (p->as)
		return p->as == RT_bf16 ? rt_float_to_bf16(number) : rt_float_to_half(number);
	return x.word;
}

/* Loads an element of `size` bytes of a part and converts it to the storage's dtype. */
static uint32_t
load_element(const RtPacking *p, const void *from, int size)
{
	union { uint32_t word; float number; } x = { 0 };

	memcpy(&x, from, (size_t)size);
	if (p->from == p->as)
		return x.word;
	return element_of(p, p->from ? (float)rt_load_f64((RtDtype)p->from, from) : x.number);
}

/* Stores an element. Returns whether any byte has changed. */
static bool
put_element(char *to, uint32_t x, int size)
{
	if (!memcmp(to, &x, (size_t)size))
		return false;
	memcpy(to, &x, (size_t)size);
	return true;
}

/* Unpacks columns [first, end) of a part. Zeros are not written: they may be padding, which has no element in the
 * storage. Returns whether any byte has changed. */
static bool
unpack_columns(const char *from, const RtPacking *p, int64_t first, int64_t end, char *to)
{
	const int whole = p->quad ? 1 : 4, in = p->from ? 2 : whole, out = p->as ? 2 : whole;
	const int64_t quad = p->quad ? p->quad : 1, skipped = (first + p->skip) / p->width * p->width;
	bool lacked = false;

	from += skipped * p->k * p->taps * in;
	for (int64_t col = skipped - p->skip; col < end; col += p->width) {
		const int64_t left = p->n - col, width = left >= p->width ? p->width : p->last;
		const int64_t begin = col < first ? first - col : 0, most = end - col < width ? end - col : width;

		for (int64_t t = 0; t < p->taps; t++, from += p->k * width * in)
			for (int64_t k = 0; k < p->k; k++) {
				const char *row = from + (k / quad * quad * width + k % quad) * in;

				for (int64_t j = begin; j < most; j++) {
					const uint32_t x = load_element(p, row + j * quad * in, in);

					if (x)
						lacked |= put_element(to + rt_packing_place(p, col + j, k, t) * out, x,
								      out);
				}
			}
	}
	return lacked;
}

/* Returns the number for a code of a panel's 8-bit floats, in which 0x80 is minus zero. */
static float
float8_of(const RtPacking *p, uint8_t code)
{
	return code == 0x80 ? -0.0f : rt_f8_to_float((RtDtype)p->from, code);
}

static bool
unpack_coarse(const char *weights, const RtPacking *p, int64_t first, int64_t end, char *to)
{
	const uint32_t *word = (const uint32_t *)(const void *)(weights + p->at);
	const float *const scales = (const float *)(const void *)(weights + p->scales);
	const int64_t words = (p->k + p->quad - 1) / p->quad, groups = p->k / p->group,
		      all = (p->n + p->width - 1) / p->width * groups * p->width;
	const int bits = 32 / p->quad, half = 1 << (bits - 1), out = p->as ? 2 : 4;

	for (int64_t col = first; col < end; col++)
		for (int64_t k = 0; k < p->k; k++) {
			const int64_t panel = col / p->width, lane = col % p->width, i = k % p->quad,
				      at = (panel * groups + k / p->group) * p->width + lane,
				      place = p->to + col * p->sn + k * p->sk;
			const uint32_t number = word[(panel * words + k / p->quad) * p->width + lane] >> bits * i;
			const uint32_t q = number + (uint32_t)(i < p->quad - 1 ? 0 : half); /* the last one is signed */
			const int x = (int)(q & (2 * (uint32_t)half - 1)) - half;
			const float y = p->from && p->quad > 2 ? float8_of(p, (uint8_t)number) :
				(float)x + (p->centred && p->scales ? scales[all + at] : 0);

			if (p->quad == 2)
				put_element(to + place * out, load_element(p, &number, 2), out);
			else if (!p->scales)
				to[place] = (char)((p->from ? (int)number : x) + p->centred);
			else
				put_element(to + place * out, element_of(p, y * scales[at]), out);
		}
	return true;
}

bool
rt_unpack_columns(const char *weights, const RtPacking *p, int64_t first, int64_t end, void *to)
{
	if (p->group)
		return unpack_coarse(weights, p, first, end, to);
	return unpack_columns(weights + p->at, p, first, end, to);
}
