/* rt/ops/vcell.h - gates of recurrent cells for one element type T, in eager and generated kernels. N(name) is the name
 * of a function for T. EXP and TANH are T's functions. */
#ifndef RT_OPS_VCELL_H
#define RT_OPS_VCELL_H

typedef enum RnnKind { RNN_LSTM, RNN_GRU, RNN_TANH, RNN_RELU } RnnKind;

/* Some columns of a time step. x is the input's product, y the state's. Their gates are gx and gy elements apart. h and
 * c are the old state. to_h and to_c are the new state, which may be the same memory. Only an LSTM has c. All pointers
 * are to the first column; ld* are row strides in elements. */
typedef struct RnnCell {
	const void *x, *y, *h, *c;
	void       *to_h, *to_c;
	int64_t     ldx, gx, ldy, gy, ldh, ldc, ld_to_h, ld_to_c;
} RnnCell;

#ifndef IVDEP
#if defined __GNUC__ && !defined __clang__ && !defined __TINYC__
#define IVDEP _Pragma("GCC ivdep")
#else
#define IVDEP
#endif
#endif

#endif

static inline T
N(sigmoid)(T v)
{
	return 1 / (1 + EXP(-v));
}

static inline void
N(lstm)(int64_t n, const RnnCell *s)
{
	const T *x = s->x, *y = s->y, *c = s->c;
	const int64_t gx = s->gx, gy = s->gy;
	T *to_h = s->to_h, *to_c = s->to_c;

	IVDEP
	for (int64_t j = 0; j < n; j++) {
		const T in = N(sigmoid)(x[j] + y[j]), keep = N(sigmoid)(x[gx + j] + y[gy + j]);
		const T out = N(sigmoid)(x[3 * gx + j] + y[3 * gy + j]);
		const T v = keep * c[j] + in * TANH(x[2 * gx + j] + y[2 * gy + j]);

		to_c[j] = v;
		to_h[j] = out * TANH(v);
	}
}

static inline void
N(gru)(int64_t n, const RnnCell *s)
{
	const T *x = s->x, *y = s->y, *h = s->h;
	const int64_t gx = s->gx, gy = s->gy;
	T *to_h = s->to_h;

	IVDEP
	for (int64_t j = 0; j < n; j++) {
		const T reset = N(sigmoid)(x[j] + y[j]), update = N(sigmoid)(x[gx + j] + y[gy + j]);
		const T fresh = TANH(x[2 * gx + j] + reset * y[2 * gy + j]);

		to_h[j] = (h[j] - fresh) * update + fresh;
	}
}

static inline void
N(plain)(bool relu, int64_t n, const RnnCell *s)
{
	const T *x = s->x, *y = s->y;
	T *to_h = s->to_h;

	if (relu)
		for (int64_t j = 0; j < n; j++) {
			const T v = x[j] + y[j];

			to_h[j] = v > 0 || v != v ? v : 0;
		}
	else
		IVDEP
		for (int64_t j = 0; j < n; j++)
			to_h[j] = TANH(x[j] + y[j]);
}

/* Computes n columns of `rows` rows. */
static inline void
N(rnn_cell)(RnnKind kind, int64_t rows, int64_t n, const RnnCell *cell)
{
	for (int64_t i = 0; i < rows; i++) {
		RnnCell s = *cell;

		s.x = (const T *)s.x + i * s.ldx, s.y = (const T *)s.y + i * s.ldy;
		s.h = (const T *)s.h + i * s.ldh, s.to_h = (T *)s.to_h + i * s.ld_to_h;
		if (kind == RNN_LSTM) {
			s.c = (const T *)s.c + i * s.ldc, s.to_c = (T *)s.to_c + i * s.ld_to_c;
			N(lstm)(n, &s);
		} else if (kind == RNN_GRU) {
			N(gru)(n, &s);
		} else {
			N(plain)(kind == RNN_RELU, n, &s);
		}
	}
}
