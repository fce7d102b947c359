/* rt/ops/rnn_loops.h - one step of a cell for one element type T; N(name) is the function's name for it
 *
 * x (rows, gates * hidden): W_ih x + b_ih, y likewise: W_hh h + b_hh; h, c (rows, hidden) are replaced. */

static T
N(sigmoid)(T v)
{
	return 1 / (1 + EXP(-v));
}

static void
N(cell)(CellKind kind, int64_t rows, int64_t hidden, const T *x, const T *y, T *h, T *c)
{
	for (int64_t i = 0; i < rows; i++, h += hidden, c += c ? hidden : 0) {
		int64_t n = hidden;

		switch (kind) {
		case LSTM:
			for (int64_t j = 0; j < n; j++) {
				T in = N(sigmoid)(x[j] + y[j]), forget = N(sigmoid)(x[n + j] + y[n + j]);
				T out = N(sigmoid)(x[3 * n + j] + y[3 * n + j]);

				c[j] = forget * c[j] + in * TANH(x[2 * n + j] + y[2 * n + j]);
				h[j] = out * TANH(c[j]);
			}
			x += 4 * n, y += 4 * n;
			break;
		case GRU:
			for (int64_t j = 0; j < n; j++) {
				T reset = N(sigmoid)(x[j] + y[j]), update = N(sigmoid)(x[n + j] + y[n + j]);
				T fresh = TANH(x[2 * n + j] + reset * y[2 * n + j]);

				h[j] = (h[j] - fresh) * update + fresh;
			}
			x += 3 * n, y += 3 * n;
			break;
		case TANH_CELL:
			for (int64_t j = 0; j < n; j++)
				h[j] = TANH(x[j] + y[j]);
			x += n, y += n;
			break;
		case RELU_CELL:
			for (int64_t j = 0; j < n; j++) {
				T v = x[j] + y[j];

				h[j] = v > 0 || v != v ? v : 0;
			}
			x += n, y += n;
			break;
		}
	}
}

#undef T
#undef N
#undef EXP
#undef TANH
