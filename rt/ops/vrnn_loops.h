/* rt/ops/vrnn_loops.h - steps of a recurrent layer for one element type T (vrnn.h) */

/* Returns a dot product. b has the stride bk. */
static inline T
N(vn_sum)(int64_t k, const T *a, const T *b, int64_t bk)
{
	T sum = 0;

	if (bk == 1)
		return N(vm_dot)(k, a, b);
	for (int64_t i = 0; i < k; i++)
		sum += a[i] * b[i * bk];
	return sum;
}

/* Computes rows [row, row + some) of the state times column panel `at` of gate g, plus its bias. */
VC_INLINE void
N(vn_part)(const VnStep *s, int g, int64_t at, int64_t row, int64_t some, T *part)
{
	const int64_t col = at * VC_NR, left = s->hidden - col < VC_NR ? s->hidden - col : VC_NR;
	const T *h = (const T *)s->h + row * s->ldh, *bias = (const T *)s->bias + g * s->hidden + col;

	if (sizeof(T) == sizeof(float) && s->panel)
		(left < VC_NR && s->rest ? s->rest : VC_WHOLE_OF(s->rows))(some, s->k, (const float *)h, s->ldh,
			(const float *)s->panel[g] + at * s->k * VC_NR, s->k, 0, (float *)part, VC_NR, left, 0);
	else
		for (int64_t i = 0; i < some; i++)
			for (int64_t j = 0; j < left; j++)
				part[i * VC_NR + j] = N(vn_sum)(s->k, h + i * s->ldh,
					(const T *)s->w + (g * s->hidden + col + j) * s->ws, s->wk);
	for (int64_t i = 0; s->bias && i < some; i++)
		for (int64_t j = 0; j < left; j++)
			part[i * VC_NR + j] += bias[j];
}

/* Returns the arguments of rnn_cell for some rows and hidden columns. `part` has the state's products, VN_ROWS rows of
 * ld elements. */
VC_INLINE RnnCell
N(vn_cell)(const VnStep *s, int64_t row, int64_t col, const T *part, int64_t ld)
{
	return (RnnCell){
		.x = (const T *)s->gates + row * s->ldg + col, .ldx = s->ldg, .gx = s->hidden,
		.y = part, .ldy = ld, .gy = VN_ROWS * ld,
		.h = (const T *)s->h + row * s->ldh + col, .ldh = s->ldh,
		.c = (const T *)s->c + row * s->ldc + col, .ldc = s->ldc,
		.to_h = (T *)s->to_h + row * s->ld_to_h + col, .ld_to_h = s->ld_to_h,
		.to_c = (T *)s->to_c + row * s->ld_to_c + col, .ld_to_c = s->ld_to_c,
	};
}

/* Computes panels [begin, end) of hidden columns. */
VC_INLINE void
N(vn_step)(RnnKind kind, int64_t begin, int64_t end, const VnStep *s)
{
	const int gates = kind == RNN_LSTM ? 4 : kind == RNN_GRU ? 3 : 1;
	T part[4 * VN_ROWS * VC_NR];

	for (int64_t at = begin; at < end; at++)
		for (int64_t row = 0; row < s->rows; row += VN_ROWS) {
			const int64_t col = at * VC_NR, some = s->rows - row < VN_ROWS ? s->rows - row : VN_ROWS;
			const RnnCell cell = N(vn_cell)(s, row, col, part, VC_NR);

			for (int g = 0; g < gates; g++)
				N(vn_part)(s, g, at, row, some, part + g * VN_ROWS * VC_NR);
			N(rnn_cell)(kind, some, s->hidden - col < VC_NR ? s->hidden - col : VC_NR, &cell);
		}
}

#define WALK(name, kind) \
	VC_SHARED void \
	name(int64_t begin, int64_t end, const VnStep *s) \
	{ \
		N(vn_step)(kind, begin, end, s); \
	}

WALK(N(vn_lstm), RNN_LSTM)
WALK(N(vn_gru), RNN_GRU)
WALK(N(vn_tanh), RNN_TANH)
WALK(N(vn_relu), RNN_RELU)

/* Returns the step of a turn. */
VC_INLINE VnStep
N(vn_turn)(RnnKind kind, const VnWalk *v, void *const *p)
{
	const int gates = kind == RNN_LSTM ? 4 : kind == RNN_GRU ? 3 : 1, c = kind == RNN_LSTM;
	void *const *x = p + 1 + c, *const *w = x + gates, *const *bias = w + gates;
	void *const *h = v->bias ? bias + gates : bias;
	const int64_t turn = *(const int64_t *)h[1 + c + (v->columns > 0)], t = v->reverse ? v->steps - 1 - turn : turn;
	T *const y = (T *)p[0] + t * v->y_step;
	VnStep s = { .rows = v->rows, .hidden = v->hidden, .k = v->k, .ldg = v->ldg, .to_h = y, .ld_to_h = v->ldy };

	s.gates = (const T *)x[0] + t * v->x_step;
	s.h = !turn ? h[0] : v->reverse ? y + v->y_step : y - v->y_step;
	s.ldh = turn ? v->ldy : v->ldh;
	if (c) {
		s.c = turn ? p[1] : h[1];
		s.ldc = turn ? v->hidden : v->ldc;
		s.to_c = p[1];
		s.ld_to_c = v->hidden;
	}
	if (v->bias)
		s.bias = bias[0];
	if (v->packed) {
		s.panel = w;
		s.rest = VC_REST(vc_panel, v->hidden);
	} else {
		s.w = w[0];
		s.ws = v->ws;
		s.wk = v->wk;
	}
	return s;
}

#define TURN(name, step, kind) \
	VC_INLINE void \
	name(int64_t begin, int64_t end, const VnWalk *v, void *const *p) \
	{ \
		const VnStep s = N(vn_turn)(kind, v, p); \
\
		step(begin, end, &s); \
	}

TURN(N(vn_walk_lstm), N(vn_lstm), RNN_LSTM)
TURN(N(vn_walk_gru), N(vn_gru), RNN_GRU)
TURN(N(vn_walk_tanh), N(vn_tanh), RNN_TANH)
TURN(N(vn_walk_relu), N(vn_relu), RNN_RELU)
#undef TURN

/* Computes the projection of a block's states u. p: its weights, in panels or as they are. */
VC_INLINE void
N(vn_project)(const VnWalk *v, void *const *p, int64_t rows, const T *u, T *y)
{
	T part[VN_ROWS * VC_NR];
	const VnStep s = {
		.rows = rows, .hidden = v->columns, .k = v->hidden, .h = u, .ldh = v->hidden,
		.panel = v->packed ? p : 0, .rest = VC_REST(vc_panel, v->columns), .w = p[0], .ws = v->ps, .wk = v->pk,
	};

	for (int64_t col = 0; col < v->columns; col += VC_NR) {
		N(vn_part)(&s, 0, col / VC_NR, 0, rows, part);
		for (int64_t i = 0; i < rows; i++)
			for (int64_t j = 0; j < VC_NR && col + j < v->columns; j++)
				y[i * v->ldy + col + j] = part[i * VC_NR + j];
	}
}

/* Computes blocks [begin, end) of VN_ROWS rows of an LSTM with a projection. u: room for the states of a block. */
VC_INLINE void
N(vn_walk_projected)(int64_t begin, int64_t end, const VnWalk *v, void *const *p, T *u)
{
	const VnStep all = N(vn_turn)(RNN_LSTM, v, p);
	void *const *weights = p + 10 + (v->bias ? 4 : 0) + 2;

	for (int64_t row = begin * VN_ROWS; row < v->rows && row < end * VN_ROWS; row += VN_ROWS) {
		VnStep s = all;

		s.rows = v->rows - row < VN_ROWS ? v->rows - row : VN_ROWS;
		s.gates = (const T *)all.gates + row * all.ldg;
		s.h = (const T *)all.h + row * all.ldh;
		s.c = (const T *)all.c + row * all.ldc;
		s.to_c = (T *)all.to_c + row * all.ld_to_c;
		s.to_h = u;
		s.ld_to_h = v->hidden;
		N(vn_lstm)(0, (v->hidden + VC_NR - 1) / VC_NR, &s);
		N(vn_project)(v, weights, s.rows, u, (T *)all.to_h + row * v->ldy);
	}
}

#undef T
#undef N
#undef WALK
