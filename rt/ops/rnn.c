/*
 * Recurrent networks: LSTM, GRU and plain ones, their cells, and packing of sequences.
 *
 * A batch of sequences is rows in order of time, batch[t] of them at step t, never more than at the step before; a
 * padded batch is the case where all are equal.  Then both directions are the same loop: at step t the first batch[t]
 * rows of the state are updated, the others keep theirs (final, or still initial).  The input's product is computed for
 * all steps at once.
 */
#include "gemm.h"
#include "quant.h"

#include <math.h>
#include <string.h>

RT_FAST
#define T float
#define N(name) name##_f32
#define EXP expf
#define TANH tanhf
#include "vcell.h"
#undef T
#undef N
#undef EXP
#undef TANH
#define T double
#define N(name) name##_f64
#define EXP exp
#define TANH tanh
#include "vcell.h"
#undef T
#undef N
#undef EXP
#undef TANH
RT_SMALL

static const int gates_of[] = { 4, 3, 1, 1 };

typedef struct Linear {
	RtTensor *weight, *bias;         /* (out, in), (out) or null */
	bool      dynamic, narrow;       /* 8-bit activations quantised at run time; in 7 bits of range */
	struct Int8Layer *bytes;         /* such a weight as bytes, or null */
	void     *dense;                 /* (out, in) */
	void     *shift;                 /* dense bias or null */
	int64_t   in, out;
} Linear;

typedef struct Direction {
	Linear    ih, hh, hr;            /* hr: projection, weight null when there is none */
	int64_t   hidden, state;         /* of c; of h: the projection's size, or hidden */
} Direction;

typedef struct Rnn {
	RnnKind kind;
	RtDtype  ct;
	int64_t  steps, rows, n, layers, dirs, *batch;   /* rows: sum of batch[0 .. steps); n = batch[0] */
	double   dropout;                /* between layers; 0 outside training */
	Direction *dir;                  /* (layers, dirs) */
} Rnn;

/* ---- weights -------------------------------------------------------------------------------------------- */

/* rows: of its other operand */
static int
check_linear(RtCx *cx, const Linear *l, int64_t rows, int64_t in, int64_t out)
{
	DenseText text;

	if (!l->weight || l->weight->ndim != 2)
		return rt_raise(cx, "rnn: weights must have 2 dimensions, but got %s",
				l->weight ? dense_text(l->weight, &text) : "nothing");
	if (l->weight->dims[1] != in)
		return rt_raise(cx, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
				(long long)rows, (long long)in, (long long)l->weight->dims[1],
				(long long)l->weight->dims[0]);
	if (l->weight->dims[0] != out)
		return rt_raise(cx, "rnn: a weight should have size [%lld, %lld], but got %s", (long long)out,
				(long long)in, dense_text(l->weight, &text));
	if (l->bias && rt_numel(l->bias) != out)
		return rt_raise(cx, "rnn: a bias should have %lld elements, but got %s", (long long)out,
				dense_text(l->bias, &text));
	return RT_OK;
}

/* The weight, or its bytes packed, and the bias as dense arrays. */
static int
load_linear(RtCx *cx, Linear *l, RtDtype ct)
{
	RtTensor *w, *b = l->bias ? dense_in(cx, l->bias, ct) : 0;

	if (!l->weight)
		return RT_OK;
	l->out = l->weight->dims[0];
	l->in = l->weight->dims[1];
	if (l->bias && !b)
		return RT_ERROR;
	l->shift = b ? rt_data(b) : 0;
	if (l->bytes)
		return rt_quantized->pack(cx, l->bytes);
	w = dense_in(cx, l->weight, ct);
	if (!w)
		return RT_ERROR;
	l->dense = rt_data(w);
	return RT_OK;
}

/* x quantised to 8 bits over its own range, and dequantised */
static void
requantise(RtDtype ct, const void *x, void *y, int64_t n, bool narrow)
{
	double low = 0, high = 0, scale;
	int64_t zero, es = rt_dtypes[ct].bytes;

	for (int64_t i = 0; i < n; i++) {
		double v = rt_load_f64(ct, (const char *)x + i * es);

		low = v < low ? v : low;
		high = v > high ? v : high;
	}
	quant_choose(low, high, 0, narrow ? 127 : 255, &scale, &zero);
	for (int64_t i = 0; i < n; i++) {
		float q = nearbyintf((float)rt_load_f64(ct, (const char *)x + i * es) * (1 / (float)scale)) +
			(float)zero;

		q = ((q < 0 ? 0 : q > 255 ? 255 : q) - (float)zero) * (float)scale;
		if (ct == RT_f32)
			((float *)y)[i] = q;
		else
			((double *)y)[i] = q;
	}
}

/* y (rows, out) = x (rows, in) W' + b */
static int
project(RtCx *cx, const Linear *l, RtDtype ct, int64_t rows, const void *x, void *y)
{
	int64_t es = rt_dtypes[ct].bytes;
	RtMark mark = rt_scratch_mark(cx);
	int status;

	for (int64_t i = 0; i < rows; i++)
		if (l->shift)
			rt_copy_bytes((char *)y + i * l->out * es, l->shift, (size_t)(l->out * es));
		else
			memset((char *)y + i * l->out * es, 0, (size_t)(l->out * es));
	if (l->bytes) {
		status = rt_quantized->project(cx, l->bytes, rows, x, l->narrow, y);
		rt_scratch_reset(cx, mark);
		return status;
	}
	if (l->dynamic) {
		void *q = rt_scratch(cx, rows * l->in * es + 1);

		if (!q)
			return RT_ERROR;
		requantise(ct, x, q, rows * l->in, l->narrow);
		x = q;
	}
	status = gemm(cx, ct, &(Product){ rows, l->out, l->in, x, l->dense, l->in, 1, 1, l->in, y, .added = true });
	rt_scratch_reset(cx, mark);
	return status;
}

/* ---- running ------------------------------------------------------------------------------------------------ */

/* What a direction of a layer writes: its output y (rows, state), whose rows are `wide` apart, from the last step to
 * the first if `reverse`; and its state h (n, state) and c (n, hidden; null but for LSTM) in place. */
typedef struct Writes {
	bool    reverse;
	char   *y;
	int64_t wide;
	char   *h, *c;
} Writes;

/* The steps of one direction, from the input's part of the gates. */
static int
walk(RtCx *cx, const Rnn *g, const Direction *d, const char *gates, const Writes *to)
{
	const bool reverse = to->reverse;
	const int64_t n = d->hidden, width = gates_of[g->kind] * n;
	int64_t es = rt_dtypes[g->ct].bytes, at = reverse ? g->rows : 0;
	char *side = rt_scratch(cx, g->n * width * es + 1), *h = to->h;
	char *full = d->hr.weight ? rt_scratch(cx, g->n * n * es + 1) : h;
	RnnCell cell = { .y = side, .h = full, .c = to->c, .to_h = full, .to_c = to->c, .ldx = width, .gx = n,
		.ldy = width, .gy = n, .ldh = n, .ldc = n, .ld_to_h = n, .ld_to_c = n };

	if (!side || !full)
		return RT_ERROR;
	for (int64_t i = 0; i < g->steps; i++) {
		int64_t t = reverse ? g->steps - 1 - i : i, rows = g->batch[t];

		at -= reverse ? rows : 0;
		if (project(cx, &d->hh, g->ct, rows, h, side))
			return RT_ERROR;
		cell.x = gates + at * width * es;
		(g->ct == RT_f32 ? rnn_cell_f32 : rnn_cell_f64)(g->kind, rows, n, &cell);
		if (full != h && project(cx, &d->hr, g->ct, rows, full, h))
			return RT_ERROR;
		for (int64_t r = 0; r < rows; r++)
			rt_copy_bytes(to->y + (at + r) * to->wide * es, h + r * d->state * es, (size_t)(d->state * es));
		at += reverse ? 0 : rows;
	}
	return RT_OK;
}

/* One direction of one layer, from x (rows, in) */
static int
run_direction(RtCx *cx, const Rnn *g, const Direction *d, const void *x, const Writes *to)
{
	char *gates = rt_scratch(cx, g->rows * gates_of[g->kind] * d->hidden * rt_dtypes[g->ct].bytes + 1);

	if (!gates || project(cx, &d->ih, g->ct, g->rows, x, gates))
		return RT_ERROR;
	return walk(cx, g, d, gates, to);
}

/* x (rows, in) through all layers; the last one's output goes to y (rows, dirs * state); h and c as in the arguments */
static int
run_layers(RtCx *cx, const Rnn *g, const void *x, void *y, char *h, char *c)
{
	int64_t es = rt_dtypes[g->ct].bytes, wide = g->dirs * g->dir[0].state;

	for (int64_t l = 0; l < g->layers; l++) {
		void *to = l == g->layers - 1 ? y : rt_scratch(cx, g->rows * wide * es + 1);

		if (!to)
			return RT_ERROR;
		for (int64_t d = 0; d < g->dirs; d++) {
			int64_t i = l * g->dirs + d;
			const Direction *w = &g->dir[i];
			const Writes writes = { d == 1, (char *)to + d * w->state * es, wide,
				h + i * g->n * w->state * es, c ? c + i * g->n * w->hidden * es : 0 };
			RtMark mark = rt_scratch_mark(cx);

			if (run_direction(cx, g, w, x, &writes))
				return RT_ERROR;
			rt_scratch_reset(cx, mark);
		}
		if (g->dropout > 0 && l < g->layers - 1)
			rt_drop_out(cx, g->ct, to, g->rows * wide, g->dropout);
		x = to;
	}
	return RT_OK;
}

/* ---- arguments -------------------------------------------------------------------------------------------------- */

typedef struct RnnArgs {
	RtTensor *input, *batch_sizes;   /* batch_sizes: packed, else null */
	RtTensor *h, *c;                 /* c: null but for LSTM */
	RtList   *params;
	bool      biases, train, bidirectional, batch_first;
	bool      packed;                /* params are objects of CellParamsBase */
	int64_t   layers;
	double    dropout;
} RnnArgs;

static int64_t
input_rows(const RnnArgs *a)
{
	return a->batch_sizes ? a->input->dims[0] : a->input->dims[0] * a->input->dims[1];
}

/* The weights of one direction, which begin at p in the flat list. */
static int
direction_of(RtCx *cx, const RnnArgs *a, RnnKind kind, const IValue *p, int64_t in, Direction *d)
{
	int64_t gates = gates_of[kind];
	bool projected = a->c && a->c->dims[2] != a->h->dims[2];

	memset(d, 0, sizeof *d);
	d->ih.weight = rt_tensor(p[0]);
	d->hh.weight = rt_tensor(p[1]);
	d->ih.bias = a->biases ? rt_tensor(p[2]) : 0;
	d->hh.bias = a->biases ? rt_tensor(p[3]) : 0;
	d->hr.weight = projected ? rt_tensor(p[a->biases ? 4 : 2]) : 0;
	d->state = a->h->dims[2];
	d->hidden = a->c ? a->c->dims[2] : d->state;
	return check_linear(cx, &d->ih, input_rows(a), in, gates * d->hidden) ||
		check_linear(cx, &d->hh, a->h->dims[1], d->state, gates * d->hidden) ||
		(projected && check_linear(cx, &d->hr, a->h->dims[1], d->hidden, d->state)) ? RT_ERROR : RT_OK;
}

/* A layer on packed parameters: the values of its weight, and how its activations are quantised. */
static int
packed_linear(RtCx *cx, IValue packed, bool narrow, Linear *l)
{
	RtTensor *w;

	if (packed.tag != RT_OBJECT || packed.u.obj->cls->nslot < 2 || packed.u.obj->slot[0].tag != RT_TENSOR)
		return rt_raise(cx, "expected packed parameters, got %s", rt_type_of(packed));
	w = packed.u.obj->slot[0].u.t;
	l->bias = rt_tensor(packed.u.obj->slot[1]);
	l->dynamic = w->quant != 0;
	l->narrow = narrow;
	if (w->quant && rt_quantized->bytes(cx, w, NULL, &l->bytes))
		return RT_ERROR;
	l->weight = l->bytes ? w : w->quant ? quant_values(cx, w) : rt_temp(cx, rt_to_dtype(cx, w, RT_f16));
	return l->weight ? RT_OK : RT_ERROR;
}

/* One direction from an object of CellParamsBase: w_ih, w_hh (packed), their biases again, reduce_range */
static int
packed_direction(RtCx *cx, const RnnArgs *a, RnnKind kind, IValue cell, int64_t in, Direction *d)
{
	IValue *slot = cell.tag == RT_OBJECT ? cell.u.obj->slot : 0;
	int64_t width;

	memset(d, 0, sizeof *d);
	if (!slot || cell.u.obj->cls->nslot < 5)
		return rt_raise(cx, "expected parameters of a recurrent cell, got %s", rt_type_of(cell));
	d->hidden = d->state = a->h->dims[2];
	width = gates_of[kind] * d->hidden;
	return packed_linear(cx, slot[0], slot[4].u.i != 0, &d->ih) ||
		packed_linear(cx, slot[1], slot[4].u.i != 0, &d->hh) ||
		check_linear(cx, &d->ih, input_rows(a), in, width) ||
		check_linear(cx, &d->hh, a->h->dims[1], d->state, width) ? RT_ERROR : RT_OK;
}

static int
set_directions(RtCx *cx, const RnnArgs *a, Rnn *g)
{
	int64_t in = a->input->dims[a->input->ndim - 1];
	bool projected = a->c && a->c->dims[2] != a->h->dims[2];
	int64_t each = a->packed ? 1 : (a->biases ? 4 : 2) + projected;

	if (a->params->n != g->layers * g->dirs * each)
		return rt_raise(cx, "got an incorrect number of RNN parameters");
	g->dir = rt_scratch(cx, g->layers * g->dirs * (int64_t)sizeof *g->dir + 1);
	if (!g->dir)
		return RT_ERROR;
	for (int64_t i = 0; i < g->layers * g->dirs; i++) {
		int64_t width = i < g->dirs ? in : g->dirs * a->h->dims[2];

		if (a->packed ? packed_direction(cx, a, g->kind, a->params->v[i], width, &g->dir[i]) :
		    direction_of(cx, a, g->kind, a->params->v + i * each, width, &g->dir[i]))
			return RT_ERROR;
	}
	return RT_OK;
}

static int
check_state(RtCx *cx, const RtTensor *t, int64_t layers, int64_t n, const char *name)
{
	DenseText text;

	if (!t || t->ndim != 3 || t->dims[0] != layers || t->dims[1] != n)
		return rt_raise(cx, "Expected hidden %s size (%lld, %lld, *), got %s", name, (long long)layers,
				(long long)n, t ? dense_text(t, &text) : "nothing");
	return RT_OK;
}

/* Steps and batch sizes; with meta the batch sizes of packed data are unknown, and so not looked at. */
static int
set_batches(RtCx *cx, const RnnArgs *a, Rnn *g)
{
	const RtTensor *x = a->input;
	RtTensor *sizes;
	int64_t sum = 0;

	if (!a->batch_sizes) {
		if (x->ndim != 3)
			return rt_raise(cx, "input must have 3 dimensions, got %d", x->ndim);
		g->steps = x->dims[a->batch_first ? 1 : 0];
		g->n = x->dims[a->batch_first ? 0 : 1];
		g->rows = g->steps * g->n;
		if (g->steps == 0)
			return rt_raise(cx, "Expected sequence length to be larger than 0 in RNN");
		g->batch = rt_scratch(cx, g->steps * 8);
		for (int64_t t = 0; g->batch && t < g->steps; t++)
			g->batch[t] = g->n;
		return g->batch ? RT_OK : RT_ERROR;
	}
	if (x->ndim != 2 || a->batch_sizes->ndim != 1)
		return rt_raise(cx, "rnn: packed data must have 2 dimensions and batch_sizes 1");
	g->steps = a->batch_sizes->dims[0];
	g->rows = x->dims[0];
	g->n = a->h && a->h->ndim == 3 ? a->h->dims[1] : 0;
	if (cx->meta)
		return RT_OK;
	sizes = dense_in(cx, a->batch_sizes, RT_i64);
	if (!sizes)
		return RT_ERROR;
	g->batch = (int64_t *)rt_data(sizes);
	for (int64_t t = 0; t < g->steps; t++) {
		if (g->batch[t] <= 0 || g->batch[t] > (t ? g->batch[t - 1] : g->n))
			return rt_raise(cx, "rnn: batch_sizes must be positive and must not increase");
		sum += g->batch[t];
	}
	return sum == g->rows ? RT_OK : rt_raise(cx, "rnn: the sum of batch_sizes must be the number of rows");
}

/* out[0]: the output, out[1]: h_n, out[2]: c_n of an LSTM.  A batch_first output lies in memory in order of time. */
static int
ask_results(RtCx *cx, const RnnArgs *a, const Rnn *g, RtTensor **r, IValue *out)
{
	int64_t wide = g->dirs * a->h->dims[2], dims[3] = { g->steps, g->n, wide },
		strides[3] = { g->n * wide, wide, 1 };
	int64_t first[3] = { g->n, g->steps, wide }, first_strides[3] = { wide, g->n * wide, 1 },
		packed[2] = { g->rows, wide };
	RtDtype dtype = (RtDtype)a->input->dtype;

	r[0] = a->batch_sizes ? rt_result(cx, 0, dtype, 2, packed, 0) :
		rt_result(cx, 0, dtype, 3, a->batch_first ? first : dims, a->batch_first ? first_strides : strides);
	r[1] = r[0] ? rt_result(cx, 1, dtype, 3, a->h->dims, 0) : 0;
	r[2] = a->c && r[1] ? rt_result(cx, 2, dtype, 3, a->c->dims, 0) : 0;
	for (int i = 0; i < (a->c ? 3 : 2); i++) {
		if (!r[i])
			return RT_ERROR;
		out[i] = rt_of(r[i]);
	}
	return RT_OK;
}

/* The input's rows in order of time, dense. */
static RtTensor *
time_major(RtCx *cx, const RnnArgs *a, RtDtype ct)
{
	RtTensor *x = a->input;

	if (a->batch_first && !a->batch_sizes) {
		int64_t dims[3] = { x->dims[1], x->dims[0], x->dims[2] },
			strides[3] = { x->strides[1], x->strides[0], x->strides[2] };

		x = rt_temp(cx, rt_tensor_view(cx, x, 3, dims, strides, x->offset));
		if (!x)
			return 0;
	}
	return dense_in(cx, x, ct);
}

/* A private dense copy of a state, to be moved on in place; null is passed on with ok. */
static RtTensor *
state_copy(RtCx *cx, RtTensor *t, RtDtype ct)
{
	RtTensor *d = rt_temp(cx, rt_tensor_new(cx, ct, t->ndim, t->dims));

	return d && !rt_copy_into(cx, d, t) ? d : 0;
}

static int
finish(RtCx *cx, const RnnArgs *a, Rnn *g, RtTensor **r)
{
	int64_t n = rt_numel(r[0]), es = rt_dtypes[g->ct].bytes;
	RtTensor *x = time_major(cx, a, g->ct), *h = state_copy(cx, a->h, g->ct),
		 *c = a->c ? state_copy(cx, a->c, g->ct) : 0;
	void *y = r[0]->dtype == g->ct ? (void *)rt_data(r[0]) : rt_scratch(cx, n * es + 1);

	if (!x || !h || (a->c && !c) || !y)
		return RT_ERROR;
	for (int64_t i = 0; i < g->layers * g->dirs; i++)
		if (load_linear(cx, &g->dir[i].ih, g->ct) || load_linear(cx, &g->dir[i].hh, g->ct) ||
		    load_linear(cx, &g->dir[i].hr, g->ct))
			return RT_ERROR;
	if (run_layers(cx, g, rt_data(x), y, rt_data(h), c ? rt_data(c) : 0))
		return RT_ERROR;
	if (r[0]->dtype != g->ct)
		rt_cast((RtDtype)r[0]->dtype, rt_data(r[0]), g->ct, y, n);
	return rt_copy_into(cx, r[1], h) || (c && rt_copy_into(cx, r[2], c)) ? RT_ERROR : RT_OK;
}

static int
rnn(RtCx *cx, const RnnArgs *a, RnnKind kind, IValue *out)
{
	Rnn g = { .kind = kind, .ct = compute_type(a->input), .layers = a->layers, .dirs = 1 + a->bidirectional,
		.dropout = a->train ? a->dropout : 0 };
	RtTensor *r[3];

	if (!is_floating(a->input))
		return rt_raise(cx, "rnn: input must be floating, got %s", rt_dtypes[a->input->dtype].torch);
	if (a->layers <= 0 || a->layers > 1 << 16)
		return rt_raise(cx, "rnn: num_layers must be positive");
	if (set_batches(cx, a, &g) || check_state(cx, a->h, g.layers * g.dirs, g.n, "[0]") ||
	    (kind == RNN_LSTM && check_state(cx, a->c, g.layers * g.dirs, g.n, "[1]")) || set_directions(cx, a, &g) ||
	    ask_results(cx, a, &g, r, out))
		return RT_ERROR;
	return cx->meta || rt_numel(r[0]) == 0 ? RT_OK : finish(cx, a, &g, r);
}

static int
read_states(RtCx *cx, IValue hx, RnnArgs *a)
{
	if (hx.tag == RT_TENSOR) {
		a->h = hx.u.t;
		return RT_OK;
	}
	if (hx.u.list->n != 2)
		return rt_raise(cx, "lstm expects two hidden states");
	a->h = rt_tensor(hx.u.list->v[0]);
	a->c = rt_tensor(hx.u.list->v[1]);
	return RT_OK;
}

/* input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first */
static int
padded(RtCx *cx, RnnKind kind, const IValue *in, IValue *out)
{
	RnnArgs a = { .input = rt_tensor(in[0]), .params = in[2].u.list, .biases = in[3].u.i != 0, .layers = in[4].u.i,
		.dropout = rt_number(in[5]), .train = in[6].u.i != 0, .bidirectional = in[7].u.i != 0,
		.batch_first = in[8].u.i != 0 };

	a.packed = a.params->n && a.params->v[0].tag == RT_OBJECT;
	return read_states(cx, in[1], &a) ? RT_ERROR : rnn(cx, &a, kind, out);
}

/* data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional */
static int
packed(RtCx *cx, RnnKind kind, const IValue *in, IValue *out)
{
	RnnArgs a = { .input = rt_tensor(in[0]), .batch_sizes = rt_tensor(in[1]), .params = in[3].u.list,
		.biases = in[4].u.i != 0, .layers = in[5].u.i, .dropout = rt_number(in[6]), .train = in[7].u.i != 0,
		.bidirectional = in[8].u.i != 0 };

	a.packed = a.params->n && a.params->v[0].tag == RT_OBJECT;
	return read_states(cx, in[2], &a) ? RT_ERROR : rnn(cx, &a, kind, out);
}

KERNEL(lstm_input, padded(cx, RNN_LSTM, in, out))
KERNEL(gru_input, padded(cx, RNN_GRU, in, out))
KERNEL(rnn_tanh_input, padded(cx, RNN_TANH, in, out))
KERNEL(rnn_relu_input, padded(cx, RNN_RELU, in, out))
KERNEL(lstm_data, packed(cx, RNN_LSTM, in, out))
KERNEL(gru_data, packed(cx, RNN_GRU, in, out))
KERNEL(rnn_tanh_data, packed(cx, RNN_TANH, in, out))
KERNEL(rnn_relu_data, packed(cx, RNN_RELU, in, out))
KERNEL(quantized_lstm_input, padded(cx, RNN_LSTM, in, out))
KERNEL(quantized_gru_input, padded(cx, RNN_GRU, in, out))
KERNEL(quantized_lstm_data, packed(cx, RNN_LSTM, in, out))
KERNEL(quantized_gru_data, packed(cx, RNN_GRU, in, out))

/* ---- cells ------------------------------------------------------------------------------------------------------- */

/* Products of a cell want one dtype; the state of an LSTM is only multiplied. */
static int
check_dtypes(RtCx *cx, const RnnArgs *a, const Direction *d)
{
	const RtTensor *const t[2][2] = { { a->input, d->ih.weight }, { a->h, d->hh.weight } };

	for (int i = 0; i < 2; i++)
		if (t[i][0]->dtype != t[i][1]->dtype)
			return d->ih.bias ? rt_raise(cx, "mat1 and mat2 must have the same dtype") :
				rt_raise(cx, "expected m1 and m2 to have the same dtype, but got: %s != %s",
					rt_dtypes[t[i][0]->dtype].torch, rt_dtypes[t[i][1]->dtype].torch);
	return RT_OK;
}

static int
check_sizes(RtCx *cx, const RnnArgs *a, const Direction *d)
{
	const long long in = a->input->dims[1], hidden = a->h->dims[1];

	if (d->ih.weight->ndim == 2 && d->ih.weight->dims[1] != in)
		return rt_raise(cx, "input has inconsistent input_size: got %lld expected %lld", in,
				(long long)d->ih.weight->dims[1]);
	if (d->hh.weight->ndim == 2 && d->hh.weight->dims[1] != hidden)
		return rt_raise(cx, "hidden0 has inconsistent hidden_size: got %lld, expected %lld", hidden,
				(long long)d->hh.weight->dims[1]);
	return RT_OK;
}

/* input (n, in), hx, w_ih, w_hh, b_ih, b_hh: one step of one layer */
static int
single(RtCx *cx, RnnKind kind, const IValue *in, IValue *out)
{
	RnnArgs a = { .input = rt_tensor(in[0]) };
	RtTensor *r[2] = { 0, 0 }, *x, *h, *c = 0;
	Rnn g = { .kind = kind, .ct = compute_type(a.input), .steps = 1, .layers = 1, .dirs = 1 };
	Direction d = { .ih = { .weight = rt_tensor(in[2]), .bias = rt_tensor(in[4]) },
		.hh = { .weight = rt_tensor(in[3]), .bias = rt_tensor(in[5]) } };
	void *y;

	if (read_states(cx, in[1], &a))
		return RT_ERROR;
	if (a.input->ndim != 2 || !a.h || a.h->ndim != 2 || a.h->dims[0] != a.input->dims[0] || !is_floating(a.input) ||
	    (a.c && (a.c->ndim != 2 || a.c->dims[0] != a.h->dims[0] || a.c->dims[1] != a.h->dims[1])))
		return rt_raise(cx, "rnn cell: Input batch size %lld doesn't match hidden's",
			(long long)(a.input->ndim ? a.input->dims[0] : 0));
	if (in[2].tag == RT_TENSOR && check_dtypes(cx, &a, &d))
		return RT_ERROR;
	d.hidden = d.state = a.h->dims[1];
	g.n = g.rows = a.input->dims[0];
	g.batch = &g.n;
	g.dir = &d;
	if (in[2].tag == RT_OBJECT && (packed_linear(cx, in[2], true, &d.ih) || packed_linear(cx, in[3], true, &d.hh)))
		return RT_ERROR;
	if (check_sizes(cx, &a, &d) || check_linear(cx, &d.ih, g.n, a.input->dims[1], gates_of[kind] * d.hidden) ||
	    check_linear(cx, &d.hh, g.n, d.hidden, gates_of[kind] * d.hidden))
		return RT_ERROR;
	for (int i = 0; i < (a.c ? 2 : 1); i++) {
		r[i] = rt_result(cx, i, (RtDtype)a.input->dtype, 2, a.h->dims, 0);
		if (!r[i])
			return RT_ERROR;
		out[i] = rt_of(r[i]);
	}
	if (cx->meta || rt_numel(r[0]) == 0)
		return RT_OK;
	x = dense_in(cx, a.input, g.ct);
	h = state_copy(cx, a.h, g.ct);
	c = a.c ? state_copy(cx, a.c, g.ct) : 0;
	y = rt_scratch(cx, g.n * d.hidden * rt_dtypes[g.ct].bytes + 1);
	if (!x || !h || (a.c && !c) || !y || load_linear(cx, &d.ih, g.ct) || load_linear(cx, &d.hh, g.ct) ||
	    run_layers(cx, &g, rt_data(x), y, rt_data(h), c ? rt_data(c) : 0))
		return RT_ERROR;
	return rt_copy_into(cx, r[0], h) || (c && rt_copy_into(cx, r[1], c)) ? RT_ERROR : RT_OK;
}

KERNEL(lstm_cell, single(cx, RNN_LSTM, in, out))
KERNEL(gru_cell, single(cx, RNN_GRU, in, out))
KERNEL(rnn_tanh_cell, single(cx, RNN_TANH, in, out))
KERNEL(rnn_relu_cell, single(cx, RNN_RELU, in, out))
KERNEL(quantized_quantized_lstm_cell_dynamic, single(cx, RNN_LSTM, in, out))
KERNEL(quantized_quantized_gru_cell_dynamic, single(cx, RNN_GRU, in, out))
KERNEL(quantized_quantized_rnn_tanh_cell_dynamic, single(cx, RNN_TANH, in, out))
KERNEL(quantized_quantized_rnn_relu_cell_dynamic, single(cx, RNN_RELU, in, out))

static RnnKind
kind_of(const char *name)
{
	return !strcmp(name, "lstm") ? RNN_LSTM : !strcmp(name, "gru") ? RNN_GRU : !strcmp(name, "tanh") ? RNN_TANH :
	       RNN_RELU;
}

/* y (steps, n, state), c (n, hidden) of an LSTM, and room (n, hidden) for what is projected; null: error raised. */
static int
ask_walked(RtCx *cx, const Rnn *g, const Direction *d, RtDtype dtype, RtTensor **r, IValue *out)
{
	const int64_t n = g->kind == RNN_LSTM ? g->n : 0, room = d->hr.weight ? g->n : 0;
	const int64_t dims[3][3] = { { g->steps, g->n, d->state }, { n, d->hidden }, { room, d->hidden } };

	for (int i = 0; i < 3; i++) {
		r[i] = rt_result(cx, i, dtype, i ? 2 : 3, dims[i], 0);
		if (!r[i])
			return RT_ERROR;
		out[i] = rt_of(r[i]);
	}
	return RT_OK;
}

/* kind, gates (steps, n, gates * hidden), h (n, state), c (n, hidden) of an LSTM: a direction, after the product with
 * its input */
static int
walked(RtCx *cx, const IValue *in, Direction d, bool reverse, IValue *out)
{
	RtTensor *gates = rt_tensor(in[1]), *h = rt_tensor(in[2]), *c = rt_tensor(in[3]), *p = d.hr.weight, *r[3],
		 *x, *y, *state;
	Rnn g = { .kind = kind_of(in[0].u.str->s), .ct = compute_type(gates), .layers = 1, .dirs = 1 };
	const bool lstm = g.kind == RNN_LSTM;
	int64_t *batch;

	if (gates->ndim != 3 || h->ndim != 2 || c->ndim != 2 || h->dims[0] != gates->dims[1] ||
	    c->dims[0] != h->dims[0] || gates->dims[2] != gates_of[g.kind] * c->dims[1] ||
	    (!p && c->dims[1] != h->dims[1]) || !is_floating(gates))
		return rt_raise(cx, "rnn_walk: sizes of gates and states do not fit");
	d.hidden = c->dims[1];
	d.state = h->dims[1];
	g.steps = gates->dims[0];
	g.n = gates->dims[1];
	g.rows = g.steps * g.n;
	if (check_linear(cx, &d.hh, g.n, d.state, gates_of[g.kind] * d.hidden) ||
	    (p && check_linear(cx, &d.hr, g.n, d.hidden, d.state)) ||
	    ask_walked(cx, &g, &d, (RtDtype)gates->dtype, r, out))
		return RT_ERROR;
	if (cx->meta)
		return RT_OK;
	batch = rt_scratch(cx, g.steps * 8 + 8);
	x = dense_in(cx, gates, g.ct);
	h = state_copy(cx, h, g.ct);
	state = state_copy(cx, c, g.ct);
	y = dense_out(cx, r[0], g.ct);
	if (!batch || !x || !h || !state || !y || load_linear(cx, &d.hh, g.ct) || load_linear(cx, &d.hr, g.ct))
		return RT_ERROR;
	for (int64_t t = 0; t < g.steps; t++)
		batch[t] = g.n;
	g.batch = batch;
	if (rt_numel(y) &&
	    walk(cx, &g, &d, rt_data(x),
		 &(Writes){ reverse, rt_data(y), d.state, rt_data(h), rt_data(state) }))
		return RT_ERROR;
	return (lstm && rt_copy_into(cx, r[1], state)) || (p && rt_fill(cx, r[2], rt_double(0))) ? RT_ERROR :
	       dense_done(cx, r[0], y);
}

/* ..., w, b, p (state, hidden) or None, reverse, scale of the rows of w in int8 or None, narrow */
int
rt_prim_rnn_walk(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *w = rt_tensor(in[4]), *scale = rt_tensor(in[8]);
	Direction d = { .hh = { .weight = w, .bias = rt_tensor(in[5]), .narrow = in[9].u.i != 0 },
		.hr = { .weight = rt_tensor(in[6]) } };

	if (scale && (w->dtype != RT_i8 || w->ndim != 2 || rt_numel(scale) != w->dims[0] || w->dims[1] > INT8_PRODUCTS))
		return rt_raise(cx, "rnn_walk: expected a weight of int8, with a scale for each row");
	return scale && rt_quantized->bytes(cx, w, scale, &d.hh.bytes) ? RT_ERROR :
	       walked(cx, in, d, in[7].u.i != 0, out);
}

/* ..., w (packed), narrow, reverse */
int
rt_prim_rnn_walk_packed(RtCx *cx, const IValue *in, IValue *out)
{
	Direction d = { .hidden = 0 };

	return packed_linear(cx, in[4], in[5].u.i != 0, &d.hh) ? RT_ERROR : walked(cx, in, d, in[6].u.i != 0, out);
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* Sorted lengths -> how many sequences are longer than t; null: error raised. */
static int64_t *
batches_of(RtCx *cx, RtTensor *lengths, int64_t n, int64_t most)
{
	RtTensor *t = dense_in(cx, lengths, RT_i64);
	int64_t *l, *batch;

	if (!t)
		return 0;
	l = (int64_t *)rt_data(t);
	if (lengths->ndim != 1 || lengths->dims[0] != n)
		return rt_raise(cx, "Expected `len(lengths)` to be equal to batch_size, but got %lld (batch_size=%lld)",
			(long long)rt_numel(lengths), (long long)n), (int64_t *)0;
	if (n == 0 || l[n - 1] <= 0)
		return rt_raise(cx, "Length of all samples has to be greater than 0, but found an element in 'lengths' "
			"that is <= 0"), (int64_t *)0;
	for (int64_t i = 1; i < n; i++)
		if (l[i] > l[i - 1])
			return rt_raise(cx, "`lengths` array must be sorted in decreasing order when `enforce_sorted` "
				"is True. You can pass `enforce_sorted=False` to pack_padded_sequence and/or "
				"pack_sequence to sidestep this requirement if you do not need ONNX exportability."),
				(int64_t *)0;
	if (l[0] > most)
		return rt_raise(cx, "Expected lengths of at most %lld, got %lld", (long long)most, (long long)l[0]),
		       (int64_t *)0;
	batch = rt_scratch(cx, l[0] * 8);
	for (int64_t s = 0; batch && s < l[0]; s++) {
		batch[s] = 0;
		while (batch[s] < n && l[batch[s]] > s)
			batch[s]++;
	}
	return batch;
}

/* input (steps, n, ...) or (n, steps, ...), lengths, batch_first -> data, batch_sizes */
int
rt__pack_padded_sequence(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = rt_tensor(in[0]), *lengths = rt_tensor(in[1]), *r, *sizes, *x;
	bool first = in[2].u.i != 0;
	int64_t *batch, steps = 0, rows = 0, bytes, dims[RT_MAX_RANK], n;

	if (self->ndim < 2)
		return rt_raise(cx, "pack_padded_sequence: input must have at least 2 dimensions");
	if (rt_numel(self) == 0)
		return rt_raise(cx, "Cannot pack empty tensors.");
	if (cx->meta)
		return rt_no_meta(cx);
	n = self->dims[first ? 0 : 1];
	batch = batches_of(cx, lengths, n, self->dims[first ? 1 : 0]);
	if (!batch)
		return RT_ERROR;
	steps = rt_load_i64((RtDtype)lengths->dtype, rt_data(lengths));
	for (int64_t t = 0; t < steps; t++)
		rows += batch[t];
	dims[0] = rows;
	memcpy(dims + 1, self->dims + 2, (size_t)(self->ndim - 2) * 8);
	r = rt_result(cx, 0, (RtDtype)self->dtype, self->ndim - 1, dims, 0);
	if (!r)
		return RT_ERROR;
	out[0] = rt_of(r);
	sizes = rt_result(cx, 1, RT_i64, 1, &steps, 0);
	RT_RESULT(cx, sizes, out[1]);
	x = rt_temp(cx, rt_contiguous(cx, self));
	if (!x)
		return RT_ERROR;
	bytes = rt_numel(self) / (self->dims[0] * self->dims[1]) * rt_dtypes[self->dtype].bytes;
	rows = 0;
	for (int64_t t = 0; t < steps; t++)
		for (int64_t b = 0; b < batch[t]; b++, rows++)
			memcpy(rt_data(r) + rows * bytes,
			       rt_data(x) + (first ? b * self->dims[1] + t : t * n + b) * bytes, (size_t)bytes);
	memcpy(rt_data(sizes), batch, (size_t)steps * 8);
	return RT_OK;
}

/* b: (steps) the sequences at each step; total: steps of the result; 0 or less: as many as there are */
static int
check_packed(RtCx *cx, const int64_t *b, int64_t steps, int64_t rows, int64_t total)
{
	int64_t sum = 0;

	for (int64_t t = 0; t < steps; sum += b[t++])
		if (b[t] <= 0 || b[t] > b[t ? t - 1 : 0])
			return rt_raise(cx, "pad_packed_sequence: batch_sizes must be positive and must not increase");
	if (sum != rows)
		return rt_raise(cx, "pad_packed_sequence: the sum of batch_sizes must be the number of rows");
	if (total > 0 && total < steps)
		return rt_raise(cx, "Expected total_length to be at least the length of the longest sequence in input, "
			"but got total_length=%lld and max sequence length being %lld", (long long)total,
			(long long)steps);
	return RT_OK;
}

/* length[i]: the steps that have more than i sequences, for all sequences of the first step */
static void
packed_lengths(const int64_t *b, int64_t steps, int64_t *length)
{
	for (int64_t i = 0; i < b[0]; i++)
		for (length[i] = 0; length[i] < steps && b[length[i]] > i;)
			length[i]++;
}

/* data, batch_sizes, batch_first, padding_value, total_length (0 or less: as long as the longest) -> padded, lengths */
int
rt__pad_packed_sequence(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *data = rt_tensor(in[0]), *sizes = rt_tensor(in[1]), *r, *lengths, *x, *batch, *y;
	bool first = in[2].u.i != 0;
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK], steps, total = rt_integer(in[4]), n, *b, bytes, row = 0;
	int ndim = data->ndim + 1;

	if (cx->meta)
		return rt_no_meta(cx);
	if (data->ndim < 1 || sizes->ndim != 1 || sizes->dims[0] == 0 || ndim > RT_MAX_RANK)
		return rt_raise(cx, "pad_packed_sequence: data must have at least 1 dimension and batch_sizes must not "
			"be empty");
	steps = sizes->dims[0];
	batch = dense_in(cx, sizes, RT_i64);
	if (!batch)
		return RT_ERROR;
	b = (int64_t *)rt_data(batch);
	n = b[0];
	if (check_packed(cx, b, steps, data->dims[0], total))
		return RT_ERROR;
	dims[0] = total > 0 ? total : steps;
	dims[1] = n;
	memcpy(dims + 2, data->dims + 1, (size_t)(data->ndim - 1) * 8);
	rt_contiguous_strides(ndim, dims, strides);
	if (first) {
		int64_t d = dims[0], s = strides[0];

		dims[0] = dims[1], dims[1] = d;
		strides[0] = strides[1], strides[1] = s;
	}
	r = rt_result(cx, 0, (RtDtype)data->dtype, ndim, dims, strides);
	if (!r)
		return RT_ERROR;
	out[0] = rt_of(r);
	lengths = rt_result(cx, 1, RT_i64, 1, &n, 0);
	RT_RESULT(cx, lengths, out[1]);
	x = rt_temp(cx, rt_contiguous(cx, data));
	y = dense_out(cx, lengths, RT_i64);
	if (!x || !y || rt_fill(cx, r, in[3]))
		return RT_ERROR;
	bytes = data->dims[0] ? rt_numel(data) / data->dims[0] * rt_dtypes[data->dtype].bytes : 0;
	for (int64_t t = 0; t < steps; row += b[t++])
		rt_copy_bytes(rt_data(r) + t * n * bytes, rt_data(x) + row * bytes, (size_t)(b[t] * bytes));
	packed_lengths(b, steps, (int64_t *)rt_data(y));
	return dense_done(cx, lengths, y);
}
