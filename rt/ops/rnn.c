/*
 * The steps of recurrent networks (LSTM, GRU and plain ones) and packing of sequences. Layers are bodies: rnn.def.
 *
 * A batch of sequences is an array of rows in order of time. Step t has batch[t] rows, never more than step t - 1. In a
 * padded batch all are equal. So both directions are the same loop: step t updates the first batch[t] rows of the
 * state. The other rows keep their state, which is final, or still initial. The input's product for all steps is an
 * argument.
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
	RtTensor *weight, *bias;         /* (out, in) weight; (out) bias, or null */
	bool      dynamic, narrow;       /* whether activations are quantized to 8 bits; whether to 7 bits */
	struct Int8Layer *bytes;         /* a quantized weight as bytes; null for other weights */
	void     *dense;                 /* (out, in) dense weight */
	void     *shift;                 /* dense bias; null if there is none */
	int64_t   in, out;
} Linear;

typedef struct Direction {
	Linear    hh, hr;                /* hr: projection; its weight is null if there is none */
	int64_t   hidden, state;         /* sizes of c and of h; h has the projection's size or hidden */
} Direction;

/* Steps of one direction of a layer, over rows in order of time. */
typedef struct Rnn {
	RnnKind kind;
	RtDtype  ct;
	int64_t  steps, rows, n, *batch;                 /* rows: sum of batch[0 .. steps); n: batch[0] */
} Rnn;

/* ---- weights -------------------------------------------------------------------------------------------- */

/* Raises an error unless the sizes of the weight and bias fit. `rows` is the number of rows of the other operand. */
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

/* Loads the weight, or its packed bytes, and the bias as dense arrays. */
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

/* Quantizes x to 8 bits over its own range, and dequantizes it to y. */
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

/* Computes y (rows, out) = x (rows, in) W' + b. */
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

/* Outputs of one direction of a layer: y (rows, state), from the last step to the first if `reverse`. The states h (n,
 * state) and c (n, hidden) are updated in place. */
typedef struct Writes {
	bool    reverse;
	char   *y;
	char   *h, *c;
} Writes;

/* Runs the steps of one direction. `gates` is the input's product. */
static int
run_steps(RtCx *cx, const Rnn *g, const Direction *d, const char *gates, const Writes *to)
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
			rt_copy_bytes(to->y + (at + r) * d->state * es, h + r * d->state * es, (size_t)(d->state * es));
		at += reverse ? 0 : rows;
	}
	return RT_OK;
}

/* Returns a private dense copy of a state, which steps update in place. */
static RtTensor *
state_copy(RtCx *cx, RtTensor *t, RtDtype ct)
{
	RtTensor *d = rt_temp(cx, rt_tensor_new(cx, ct, t->ndim, t->dims));

	return d && !rt_copy_into(cx, d, t) ? d : 0;
}

static RnnKind
kind_of(const char *name)
{
	return !strcmp(name, "lstm") ? RNN_LSTM : !strcmp(name, "gru") ? RNN_GRU : !strcmp(name, "tanh") ? RNN_TANH :
	       RNN_RELU;
}

/* Sets the batch sizes. They are equal for gates (steps, n, ...), and otherwise those in sizes. Reads no data with
 * cx->meta. */
static int
set_batches(RtCx *cx, const RtTensor *gates, const RtTensor *h, RtTensor *sizes, Rnn *g)
{
	int64_t sum = 0;

	g->steps = sizes ? sizes->dims[0] : gates->dims[0];
	g->n = h->dims[0];
	g->rows = sizes ? gates->dims[0] : g->steps * g->n;
	if (cx->meta)
		return RT_OK;
	sizes = sizes ? dense_in(cx, sizes, RT_i64) : NULL;
	g->batch = sizes ? (int64_t *)rt_data(sizes) : rt_scratch(cx, g->steps * 8 + 8);
	if (!g->batch)
		return RT_ERROR;
	for (int64_t t = 0; t < g->steps; sum += g->batch[t++])
		if (!sizes)
			g->batch[t] = g->n;
		else if (g->batch[t] <= 0 || g->batch[t] > (t ? g->batch[t - 1] : g->n))
			return rt_raise(cx, "rnn: batch_sizes must be positive and must not increase");
	return sum == g->rows ? RT_OK : rt_raise(cx, "rnn: the sum of batch_sizes must be the number of rows");
}

/* Makes the results: y (steps, n, state), c (n, hidden) of an LSTM, and scratch memory (n, hidden) for a projection.
 * For rows: y (rows, state), h (n, state), c (n, hidden). Returns null after an error. */
static int
ask_walked(RtCx *cx, const Rnn *g, const Direction *d, const RtTensor *gates, RtTensor **r, IValue *out)
{
	const bool rows = gates->ndim == 2;
	const int64_t n = g->kind == RNN_LSTM ? g->n : 0, room = d->hr.weight ? g->n : 0;
	const int64_t dims[3][3] = { { rows ? g->rows : g->steps, rows ? d->state : g->n, d->state },
				     { rows ? g->n : n, rows ? d->state : d->hidden }, { rows ? n : room, d->hidden } };

	for (int i = 0; i < 3; i++) {
		r[i] = rt_result(cx, i, (RtDtype)gates->dtype, i ? 2 : gates->ndim, dims[i], 0);
		RT_PUT(r[i], out[i]);
	}
	return RT_OK;
}

/* Runs one direction, after the product with its input. Arguments: kind, gates (steps, n, gates * hidden) or rows with
 * batch sizes, h (n, state), c (n, hidden) of an LSTM. */
static int
walked(RtCx *cx, const IValue *in, Direction d, RtTensor *sizes, bool reverse, IValue *out)
{
	RtTensor *gates = rt_tensor(in[1]), *h = rt_tensor(in[2]), *c = rt_tensor(in[3]), *r[3], *x, *y, *state;
	Rnn g = { .kind = kind_of(in[0].u.str->s), .ct = compute_type(gates) };
	const int last = gates->ndim - 1;

	if (gates->ndim != (sizes ? 2 : 3))
		return rt_raise(cx, "input must have %d dimensions, got %d", sizes ? 2 : 3, gates->ndim);
	if (h->ndim != 2 || c->ndim != 2 || (sizes && sizes->ndim != 1) ||
	    (!sizes && h->dims[0] != gates->dims[1]) || c->dims[0] != h->dims[0] ||
	    gates->dims[last] != gates_of[g.kind] * c->dims[1] || (!d.hr.weight && c->dims[1] != h->dims[1]) ||
	    !is_floating(gates))
		return rt_raise(cx, "rnn_walk: sizes of gates and states do not fit");
	d.hidden = c->dims[1];
	d.state = h->dims[1];
	if (set_batches(cx, gates, h, sizes, &g) ||
	    check_linear(cx, &d.hh, g.n, d.state, gates_of[g.kind] * d.hidden) ||
	    (d.hr.weight && check_linear(cx, &d.hr, g.n, d.hidden, d.state)) ||
	    ask_walked(cx, &g, &d, gates, r, out))
		return RT_ERROR;
	if (cx->meta)
		return RT_OK;
	x = dense_in(cx, gates, g.ct);
	h = state_copy(cx, h, g.ct);
	state = state_copy(cx, c, g.ct);
	y = dense_out(cx, r[0], g.ct);
	if (!x || !h || !state || !y || load_linear(cx, &d.hh, g.ct) || load_linear(cx, &d.hr, g.ct))
		return RT_ERROR;
	if (rt_numel(y) &&
	    run_steps(cx, &g, &d, rt_data(x), &(Writes){ reverse, rt_data(y), rt_data(h), rt_data(state) }))
		return RT_ERROR;
	if ((g.kind == RNN_LSTM && rt_copy_into(cx, r[sizes ? 2 : 1], state)) || (sizes && rt_copy_into(cx, r[1], h)) ||
	    (!sizes && d.hr.weight && rt_fill(cx, r[2], rt_double(0))))
		return RT_ERROR;
	return dense_done(cx, r[0], y);
}

/* Further arguments: w, b, p (state, hidden) or None, reverse, scale of the rows of int8 w or None, narrow. */
int
rt_prim_rnn_walk(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *w = rt_tensor(in[4]), *scale = rt_tensor(in[8]);
	Direction d = { .hh = { .weight = w, .bias = rt_tensor(in[5]), .narrow = in[9].u.i != 0 },
		.hr = { .weight = rt_tensor(in[6]) } };

	if (scale && (w->dtype != RT_i8 || w->ndim != 2 || rt_numel(scale) != w->dims[0] || w->dims[1] > INT8_PRODUCTS))
		return rt_raise(cx, "rnn_walk: expected a weight of int8, with a scale for each row");
	return scale && rt_quantized->bytes(cx, w, scale, &d.hh.bytes) ? RT_ERROR :
	       walked(cx, in, d, NULL, in[7].u.i != 0, out);
}

/* Further arguments: w, b, p, reverse, batch_sizes. */
int
rt_prim_rnn_walk_rows(RtCx *cx, const IValue *in, IValue *out)
{
	const Direction d = { .hh = { .weight = rt_tensor(in[4]), .bias = rt_tensor(in[5]) },
		.hr = { .weight = rt_tensor(in[6]) } };

	return walked(cx, in, d, rt_tensor(in[8]), in[7].u.i != 0, out);
}

/* Reads the linear layer of packed parameters: the values of its weight, and the quantization of its activations. */
static int
packed_linear(RtCx *cx, IValue packed, bool narrow, Linear *l)
{
	RtTensor *w;

	if (packed.tag != RT_OBJECT || packed.u.obj->cls->nslot < 2 || packed.u.obj->slot[0].tag != RT_TENSOR)
		return rt_raise(cx, "expected packed parameters, got %s", rt_type_of(packed));
	w = packed.u.obj->slot[0].u.t;
	l->bias = rt_tensor(packed.u.obj->slot[1]);
	l->dynamic = w->quant != 0;
	l->narrow = rt_reduces_range(cx, narrow);
	if (w->quant && rt_quantized->bytes(cx, w, NULL, &l->bytes))
		return RT_ERROR;
	l->weight = l->bytes ? w : w->quant ? quant_values(cx, w) : rt_temp(cx, rt_to_dtype(cx, w, RT_f16));
	return l->weight ? RT_OK : RT_ERROR;
}

/* Further arguments: w (packed), narrow, reverse. */
int
rt_prim_rnn_walk_packed(RtCx *cx, const IValue *in, IValue *out)
{
	Direction d = { .hidden = 0 };

	return packed_linear(cx, in[4], in[5].u.i != 0, &d.hh) ? RT_ERROR :
	       walked(cx, in, d, NULL, in[6].u.i != 0, out);
}

/* Further arguments: w (packed), narrow, reverse, batch_sizes. */
int
rt_prim_rnn_walk_packed_rows(RtCx *cx, const IValue *in, IValue *out)
{
	Direction d = { .hidden = 0 };

	return packed_linear(cx, in[4], in[5].u.i != 0, &d.hh) ? RT_ERROR :
	       walked(cx, in, d, rt_tensor(in[7]), in[6].u.i != 0, out);
}

/* Arguments: x, p. */
int
rt_prim_drop_out(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *x = rt_tensor(in[0]), *r, *y;

	if (!is_floating(x))
		return rt_raise(cx, "rnn: input must be floating, got %s", rt_dtypes[x->dtype].torch);
	r = rt_result(cx, 0, (RtDtype)x->dtype, x->ndim, x->dims, NULL);
	RT_RESULT(cx, r, out[0]);
	y = dense_out(cx, r, compute_type(x));
	if (!y || rt_copy_into(cx, y, x))
		return RT_ERROR;
	rt_drop_out(cx, (RtDtype)y->dtype, rt_data(y), rt_numel(y), rt_number(in[1]));
	return dense_done(cx, r, y);
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* Sets count[i] to the number of lengths that are larger than i. The n lengths must not increase. This converts lengths
 * of sequences to batch sizes, and batch sizes to lengths. */
static void
count_longer(const int64_t *length, int64_t n, int64_t *count)
{
	for (int64_t i = 0; i < length[0]; i++)
		for (count[i] = 0; count[i] < n && length[count[i]] > i;)
			count[i]++;
}

/* Returns the batch size of each step, from sorted lengths. Null if an error was raised. */
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
	if (batch)
		count_longer(l, n, batch);
	return batch;
}

/* Arguments: input (steps, n, ...) or (n, steps, ...), lengths, batch_first. Results: data, batch_sizes. */
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
	RT_PUT(r, out[0]);
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

/* Checks batch sizes b (steps). total: number of steps of the result; 0 or less for that of the longest sequence. */
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

/* Arguments: data, batch_sizes, batch_first, padding_value, total_length (0 or less for the length of the longest).
 * Results: padded, lengths. */
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
	RT_PUT(r, out[0]);
	lengths = rt_result(cx, 1, RT_i64, 1, &n, 0);
	RT_RESULT(cx, lengths, out[1]);
	x = rt_temp(cx, rt_contiguous(cx, data));
	y = dense_out(cx, lengths, RT_i64);
	if (!x || !y || rt_fill(cx, r, in[3]))
		return RT_ERROR;
	bytes = data->dims[0] ? rt_numel(data) / data->dims[0] * rt_dtypes[data->dtype].bytes : 0;
	for (int64_t t = 0; t < steps; row += b[t++])
		rt_copy_bytes(rt_data(r) + t * n * bytes, rt_data(x) + row * bytes, (size_t)(b[t] * bytes));
	count_longer(b, steps, (int64_t *)rt_data(y));
	return dense_done(cx, lengths, y);
}
