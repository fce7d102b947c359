/* rt/ops/vint8_rnn.h - one step of a recurrent layer with 8-bit integer weights, in generated kernels
 *
 * The state is quantized by its own range. Each thread quantizes all of it, which costs little compared with the
 * products. A unit of work is VI_PART hidden columns: their sums for each gate (vint8.h), then the gates (vcell.h).
 */
#ifndef RT_OPS_VINT8_RNN_H
#define RT_OPS_VINT8_RNN_H

#include "vint8.h"
#include "vrnn.h"

/* A step without float panels. w has panels gate by gate; start and scale are by column of all gates. bytes has room
 * for the quantized rows of the state, each rounded up to whole quads. */
typedef struct ViStep {
	const VnStep    *s;
	const ViWeights *w;
	int              most;           /* largest value of the state's bytes */
	uint8_t         *bytes;
} ViStep;

enum { VI_SIDE = 16 };           /* number of extremes that are computed side by side */

/* Sets the range of the state, extended to include 0. NaN is skipped. */
VI_INLINE void
vi_range(const VnStep *s, float *least, float *most)
{
	float low[VI_SIDE] = { 0 }, high[VI_SIDE] = { 0 };

	for (int64_t i = 0; i < s->rows; i++) {
		const float *const h = (const float *)s->h + i * s->ldh;

		for (int64_t j = 0; j < s->k; j += VI_SIDE)
			for (int64_t l = 0; l < (s->k - j < VI_SIDE ? s->k - j : VI_SIDE); l++) {
				low[l] = h[j + l] < low[l] ? h[j + l] : low[l];
				high[l] = h[j + l] > high[l] ? h[j + l] : high[l];
			}
	}
	for (int l = 1; l < VI_SIDE; l++) {
		low[0] = low[l] < low[0] ? low[l] : low[0];
		high[0] = high[l] > high[0] ? high[l] : high[0];
	}
	*least = low[0];
	*most = high[0];
}

/* Quantizes the state to rows that are lda bytes apart. Returns scale and zero point. */
VI_INLINE TAffine
vi_bytes(const ViStep *t, ptrdiff_t lda)
{
	const VnStep *s = t->s;
	float low, high, inverse;
	int32_t zero;
	TAffine by;

	vi_range(s, &low, &high);
	by = t_affine((double)low, (double)high, 0, t->most);
	inverse = 1 / (float)by.scale;
	low = (float)-by.zero;
	high = (float)(255 - by.zero);
	zero = (int32_t)by.zero - VI_BITS;
	for (int64_t i = 0; i < s->rows; i++) {
		const float *const h = (const float *)s->h + i * s->ldh;
		uint8_t *const to = t->bytes + i * lda;

		for (int64_t j = 0; j < s->k; j++)
			to[j] = vi_byte(h[j] * inverse, low, high, zero);
		memset(to + s->k, 0, (size_t)(lda - s->k));
	}
	return by;
}

/* Computes n columns of some rows, from column col of gate g on. */
VI_INLINE void
vi_gate(const ViStep *t, const ViConv *v, float x_scale, int g, ptrdiff_t col, ptrdiff_t n, const uint8_t *x,
	ptrdiff_t some, float *part)
{
	const ptrdiff_t quads = vi_quads(v), at = g * v->oc + col, column = g * vi_columns(v) + col;
	const ViPart w = {
		.n = n,
		.panels = t->w->panels + column * VI_QUAD * quads,
		.heavy = vi_heavy(t->w->panels, v->groups * vi_columns(v), quads, column),
		.start = t->w->start + at,
	};
	const float *const scale = t->w->scale + at, *const bias = (const float *)t->s->bias + at;
	int32_t sum[VN_ROWS * VI_PART];

	vi_product(v, some, x, quads * VI_QUAD, quads, &w, (uint8_t *)sum);
	for (ptrdiff_t i = 0; i < some; i++)
		for (ptrdiff_t j = 0; j < n; j++)
			part[i * VI_PART + j] = (float)sum[i * VI_PART + j] * (x_scale * scale[j]) +
						(t->s->bias ? bias[j] : 0);
}

/* Computes units [begin, end). */
VI_INLINE void
vi_step(RnnKind kind, int64_t begin, int64_t end, const ViStep *t)
{
	const VnStep *s = t->s;
	const int gates = kind == RNN_LSTM ? 4 : kind == RNN_GRU ? 3 : 1;
	ViConv v = VI_LINE;
	float part[4 * VN_ROWS * VI_PART];
	TAffine by;

	v.sums = true;
	v.groups = gates;
	v.ic = s->k;
	v.oc = s->hidden;
	v.ys = VI_PART;
	by = vi_bytes(t, vi_quads(&v) * VI_QUAD);
	v.x_zero = (int32_t)by.zero;
	for (int64_t at = begin; at < end; at++)
		for (int64_t row = 0; row < s->rows; row += VN_ROWS) {
			const int64_t col = at * VI_PART, some = s->rows - row < VN_ROWS ? s->rows - row : VN_ROWS;
			const int64_t n = s->hidden - col < VI_PART ? s->hidden - col : VI_PART;
			const RnnCell cell = vn_cell_float(s, row, col, part, VI_PART);

			for (int g = 0; g < gates; g++)
				vi_gate(t, &v, (float)by.scale, g, col, n, t->bytes + row * vi_quads(&v) * VI_QUAD,
					some, part + g * VN_ROWS * VI_PART);
			rnn_cell_float(kind, some, n, &cell);
		}
}

#define VI_WALK(name, kind) \
	VI_SHARED void \
	name(int64_t begin, int64_t end, const ViStep *t) \
	{ \
		vi_step(kind, begin, end, t); \
	}

VI_WALK(vi_lstm, RNN_LSTM)
VI_WALK(vi_gru, RNN_GRU)
VI_WALK(vi_tanh, RNN_TANH)
VI_WALK(vi_relu, RNN_RELU)
#undef VI_WALK

#endif
