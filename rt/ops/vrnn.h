/* rt/ops/vrnn.h - one step of an LSTM in generated kernels
 *
 * A unit of work is a panel of hidden columns: four products with the state, one for each gate, then the gates.
 */
#ifndef RT_OPS_VRNN_H
#define RT_OPS_VRNN_H

enum { VN_ROWS = 8 };            /* of the batch that are computed together */

VC_INLINE float
vn_sigmoid(float x)
{
	return 1 / (1 + exp(-x));
}

/* [begin, end) of panels of `hidden` columns.  gates (rows, 4 hidden): the input's part, whose rows are ldg apart; h: the
 * state before; w: of each gate (panels, hidden, VC_NR), zero behind the last column; bias (4 hidden) or null; cb: c before. */
VC_SHARED void
vn_lstm(int64_t begin, int64_t end, int64_t rows, int64_t hidden, const float *gates, int64_t ldg, const float *h, int64_t ldh,
	void *const *w, const float *bias, const float *cb, int64_t ldc, float *y, float *c)
{
	float part[4][VN_ROWS * VC_NR];

	for (int64_t at = begin; at < end; at++)
		for (int64_t row = 0; row < rows; row += VN_ROWS) {
			const int64_t col = at * VC_NR, left = hidden - col < VC_NR ? hidden - col : VC_NR;
			const int64_t some = rows - row < VN_ROWS ? rows - row : VN_ROWS;

			for (int g = 0; g < 4; g++) {
				VC_WHOLE(vc_panel)(some, hidden, h + row * ldh, ldh, (const float *)w[g] + at * hidden * VC_NR, 0, part[g],
						   VC_NR, VC_NR, 0);
				for (int64_t i = 0; bias && i < some; i++)
					for (int64_t j = 0; j < left; j++)
						part[g][i * VC_NR + j] += bias[g * hidden + col + j];
			}
			for (int64_t i = 0; i < some; i++) {
				const float *x = gates + (row + i) * ldg + col, *before = cb + (row + i) * ldc + col;
				const float *in = part[0] + i * VC_NR, *keep = part[1] + i * VC_NR, *new = part[2] + i * VC_NR;
				const float *out = part[3] + i * VC_NR;
				float *to = c + (row + i) * hidden + col, *state = y + (row + i) * hidden + col;

				IVDEP
				for (int64_t j = 0; j < left; j++) {
					const float v = vn_sigmoid(x[hidden + j] + keep[j]) * before[j] +
							vn_sigmoid(x[j] + in[j]) * tanh(x[2 * hidden + j] + new[j]);

					to[j] = v;
					state[j] = vn_sigmoid(x[3 * hidden + j] + out[j]) * tanh(v);
				}
			}
		}
}

#endif
