/*
 * Float weights that are exact in 16 bits, as in models of bfloat16 and float16 and in float models converted from
 * these. The program stores 16 bits of each.  If kernels read panels of floats, it makes these when it is opened
 * (RtMaking).
 */
#include "dense.h"

#include <stdlib.h>
#include <string.h>

enum { HALVES_LEAST = 1 << 14 }; /* fewest floats of a panel that are worth expanding when the program is opened */

static bool
half_of(float x, int type, uint16_t *to)
{
	*to = type == RT_bf16 ? rt_float_to_bf16(x) : rt_float_to_half(x);
	return x - x == 0 && (type == RT_bf16 ? rt_bf16_to_float(*to) : rt_half_to_float(*to)) == x;
}

uint16_t
halves_bits(float x, int type)
{
	uint16_t bits;

	half_of(x, type, &bits);
	return bits;
}

bool
halves_are(const float *at, int64_t n, int64_t apart, int type)
{
	uint16_t unused;

	for (int64_t i = 0; i < n; i++)
		if (!half_of(at[i * apart], type, &unused))
			return false;
	return true;
}

int
halves_type(const float *at, int64_t n)
{
	return halves_are(at, n, 1, RT_bf16) ? RT_bf16 : halves_are(at, n, 1, RT_f16) ? RT_f16 : 0;
}

bool
halves_are_made(const Emit *e, int64_t n)
{
	return e->forms == FORMS_MADE && n >= HALVES_LEAST;
}

int64_t
halves_add(Emit *e, WeightForm form, int type, const float *at, int64_t n)
{
	uint16_t *to = calloc((size_t)n, sizeof *to);
	int64_t offset;

	if (!to)
		out_of_memory();
	for (int64_t i = 0; i < n; i++)
		half_of(at[i], type, to + i);
	offset = weights_add(&e->weights, form, to, n * (int64_t)sizeof *to);
	free(to);
	return offset;
}

/* ---- the same numbers in the model ------------------------------------------------------------------------------- */

static bool
are_same(const uint16_t *halves, const float *floats, int64_t n, int type)
{
	uint16_t half;

	for (int64_t i = 0; i < n; i++)
		if (!half_of(floats[i], type, &half) || half != halves[i])
			return false;
	return true;
}

static bool
has_floats(const RtPacking *p)
{
	return !p->quad || p->from || p->scales;
}

/* If floats and 16-bit numbers of the model are equal, the parts of the floats also rebuild the latter. */
static void
share_parts(Weights *w, const Original *floats, Original *halves)
{
	static const int types[] = { RT_bf16, RT_f16 };

	if (floats->bytes != 2 * halves->bytes || floats->widened || halves->widened || !floats->parts.n ||
	    floats->parts.at[0].as ||
	    !has_floats(&floats->parts.at[0]))
		return;
	for (size_t i = 0; i < sizeof types / sizeof *types && !halves->parts.n; i++)
		if (are_same(halves->data, floats->data, halves->bytes / 2, types[i]))
			for (int k = 0; k < floats->parts.n; k++) {
				vec_push(w->cx->arena, &halves->parts, floats->parts.at[k]);
				vec_last(&halves->parts).as = types[i];
			}
}

void
halves_finish(Weights *w)
{
	for (int i = 0; i < w->originals.n; i++)
		for (int k = 0; k < w->originals.n && !w->originals.at[i].parts.n; k++)
			share_parts(w, &w->originals.at[k], &w->originals.at[i]);
}
