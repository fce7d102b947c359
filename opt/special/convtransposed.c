/*
 * Computes transposed convolutions as convolutions of stride 1.  Every output belongs to one phase of the stride.  A
 * phase is a convolution of the input by every stride-th tap of the kernel, flipped.
 *
 *   out[p] = sum over taps k of x[(p + pad - k) / s] w[k];   p + pad = s a + r,  k = r + s t:
 *   phase r at a = sum over t of x[a - t] w[r + s t],        t < T = ceil(K / s)
 *
 * One convolution with an output channel for every (group, phase, channel) computes all phases; a copy interleaves
 * them, and the padding is cut off.  Taps beyond the kernel's end are zeros.  There are none if s divides K.
 *
 *   z = conv2d(x, w', b', 1, T - 1, 1, g)                                       (N, g r_h r_w c, A_h, A_w)
 *   y = z as (N, A_h, A_w, g, r_h, r_w, c) -> (N, A_h, r_h, A_w, r_w, g, c) -> (N, s A_h, s A_w, g c), cut, permuted
 *
 * Pixels in the padding are computed and then cut off: a third of all for 4 x 4 inputs, 4 taps, stride 2, padding 1.
 * With enough channels (`close`) phases are counted from the first pixel of the result instead, p = s b + q, so that
 * nothing is cut.  A phase then extends to both sides of b.  The window has one tap more, which is zero in each phase.
 * Kernels skip zero taps (dense_boxes.c).
 *
 * Over three dims conv3d does the same (volumes.c), for integers prim::conv_int8 (quantforms.c).  After Shi et al., "Is
 * the deconvolution layer the same as a convolutional layer?", 2016.
 */
#include "specialize.h"

#include <string.h>

enum { CLOSE_CHANNELS = 16, CLOSE_PHASES = 16 };

static bool
constant_f32(const Value *v, const RtTensor **out)
{
	IValue c;

	*out = NULL;
	if (!v || !value_constant(v, &c))
		return false;
	if (c.tag == RT_TENSOR && c.u.t->dtype == RT_f32)
		*out = c.u.t;
	return *out || c.tag == RT_NONE;
}

/* If `close`, computes the window of dim d over n pixels of x.  It extends as far before a pixel as after the last one,
 * so that the convolution has as many pixels as the result. */
static void
close_window(Transposed *v, int d, int64_t n)
{
	const int64_t s = v->s[d], places = (v->out[d] + s - 1) / s;
	int64_t side = 0;

	for (int64_t q = 0; q < s; q++) {
		const int64_t place = (q + v->pad[d]) / s, tap = (q + v->pad[d]) % s;
		const int64_t before = tap < v->k[d] ? (v->k[d] - 1 - tap) / s - place : 0,
			      behind = tap < v->k[d] ? place + places - n : 0;

		side = before > side ? before : side;
		side = behind > side ? behind : side;
	}
	v->a[d] = places;
	v->side[d] = side;
	v->t[d] = 2 * side + n - places + 1;
	v->shift[d] = v->pad[d];
}

bool
spec_phases(Transposed *v, const int64_t *x, const int64_t *y)
{
	RT_ASSERT(v->nd >= 1 && v->nd <= 3 && v->w->ndim == v->nd + 2);
	v->in = v->w->dims[0] / v->groups;
	v->c = v->w->dims[1];
	for (int d = 0; d < 3; d++) {
		const int at = d + v->nd - 1;                     /* index of the dim in x, y and w */

		v->t[d] = v->a[d] = v->out[d] = 1;
		v->side[d] = v->shift[d] = 0;
		if (at < 2)
			continue;
		v->k[d] = v->w->dims[at];
		v->out[d] = y[at];
		v->t[d] = (v->k[d] + v->s[d] - 1) / v->s[d];
		v->side[d] = v->t[d] - 1;
		v->a[d] = x[at] + v->side[d];
		if ((v->out[d] - 1 + v->pad[d]) / v->s[d] >= v->a[d])
			return false;
		if (v->close)
			close_window(v, d, x[at]);
	}
	return true;
}

static int64_t
phases(const Transposed *v)
{
	return v->s[0] * v->s[1] * v->s[2];
}

/* Is it faster to cut nothing and to have zeros among the taps?  It is if the channels of a phase fill vectors. */
static bool
is_close(const Transposed *v)
{
	return v->n == 2 && v->groups == 1 && (v->pad[1] || v->pad[2]) && v->w->dims[1] % CLOSE_CHANNELS == 0 &&
	       phases(v) <= CLOSE_PHASES;
}

static bool
recognise(Spec *s, const Node *m, Transposed *v)
{
	const Value *flag = node_arg(m, "transposed");
	const RtTensor *x, *y;
	int64_t on = 1, dilation[3] = { 1, 1, 1 };

	if (!op_has(m->op, TRAIT_TRANSPOSED) &&
	    !(op_has(m->op, TRAIT_GENERAL_CONV) && known_int(s->k, flag, &on) && on))
		return false;
	*v = (Transposed){ .x = m->in[0], .k = { 1, 1, 1 }, .s = { 1, 1, 1 } };
	if (!known_is(s->k, v->x) || !known_is(s->k, m->out[0]) || !constant_f32(m->in[1], &v->w) || !v->w ||
	    !constant_f32(m->in[2], &v->bias))
		return false;
	x = known_at(s->k, v->x)->v.u.t;
	y = known_at(s->k, m->out[0])->v.u.t;
	v->nd = v->w->ndim - 2;
	v->n = v->nd < 3 ? 2 : 3;
	if (v->nd < 1 || v->nd > 3 || x->ndim != v->w->ndim || x->dtype != RT_f32 || !rt_numel(y) ||
	    !known_int(s->k, node_arg(m, "groups"), &v->groups) ||
	    !spec_known_ints(s, m, "stride", v->nd, v->s + 3 - v->nd) ||
	    !spec_known_ints(s, m, "padding", v->nd, v->pad + 3 - v->nd) ||
	    !spec_known_ints(s, m, "dilation", v->nd, dilation + 3 - v->nd) ||
	    dilation[0] != 1 || dilation[1] != 1 || dilation[2] != 1)
		return false;
	v->close = is_close(v);
	return spec_phases(v, x->dims, y->dims);
}

/* Returns the index in w's storage of an element of the new weights: row o, channel i of its group, tap `tap`.  -1 if
 * the element is zero, since the tap is beyond the kernel's end. */
static int64_t
source(const Transposed *v, int64_t o, int64_t i, int64_t tap)
{
	int64_t phase = o / v->c, from = v->w->offset + o % v->c * v->w->strides[1];

	for (int d = 2; d >= 0; d--) {
		const int64_t p = phase % v->s[d] + v->shift[d];
		const int64_t t = p / v->s[d] + v->side[d] - tap % v->t[d], k = p % v->s[d] + v->s[d] * t;
		const int at = d + v->nd - 1;

		if (t < 0 || k >= v->k[d])
			return -1;
		from += at >= 2 ? k * v->w->strides[at] : 0;
		phase /= v->s[d];
		tap /= v->t[d];
	}
	return from + (phase * v->in + i) * v->w->strides[0];    /* phase is now the group */
}

Value *
spec_phase_weights(Spec *s, const Transposed *v, Range at)
{
	const int64_t rows = v->groups * phases(v) * v->c, taps = v->t[0] * v->t[1] * v->t[2],
		      n = rows * v->in * taps;
	int64_t dims[5] = { rows, v->in }, *from = new(s->cx->arena, int64_t, n + 1);

	memcpy(dims + 2, v->t + 3 - v->n, sizeof *dims * (size_t)v->n);
	for (int64_t e = 0; e < n; e++)
		from[e] = source(v, e / taps / v->in, e / taps % v->in, e % taps);
	return spec_put_moved(s, v->w, &(RtGeometry){ .ndim = 2 + v->n, .dims = dims }, from, at);
}

Value *
spec_phase_channels(Spec *s, const Transposed *v, const RtTensor *of, Range at)
{
	const int64_t n = v->groups * phases(v) * v->c;
	IValue value = { .tag = RT_TENSOR };

	RT_ASSERT(of->ndim == 1 && of->dims[0] == v->groups * v->c);
	value.u.t = rt_tensor_new(&s->k->rt, RT_f32, 1, &n);
	if (!value.u.t)
		fail(s->cx, at, "out of memory");
	for (int64_t o = 0; o < n; o++)
		((float *)rt_data(value.u.t))[o] =
			((const float *)rt_data(of))[(o / v->c / phases(v) * v->c + o % v->c) * of->strides[0]];
	return spec_put_constant(s, value, at);
}

Value *
spec_phases_joined(Spec *s, Scope *c, const Transposed *v, Value *z, Range at)
{
	const int n = v->n, group = 1 + n, channel = 2 * n + 2;
	int64_t size[9], order[9] = { 0 }, last[5] = { 0 }, first[5] = { 0, 1 + n };
	Value *of[9] = { NULL }, *y;

	RT_ASSERT(known_tensor(s->k, z)->ndim == v->n + 2);
	for (int d = 0; d < n; d++) {
		last[1 + d] = 2 + d;
		first[2 + d] = 1 + d;
		order[1 + 2 * d] = 1 + d;
		order[2 + 2 * d] = group + 1 + d;
		size[group + 1 + d] = v->s[3 - n + d];
	}
	last[1 + n] = 1;
	order[2 * n + 1] = group;
	order[channel] = channel;
	size[group] = v->groups;
	size[channel] = v->c;
	y = spec_put_permute(s, c, z, last, 2 + n, at);
	for (int i = 0; i < group; i++) {
		of[i] = y;
		size[i] = i;
	}
	Value *const split[] = { y, spec_put_sizes(s, c, of, size, 2 * n + 3, at) };

	y = spec_put_op(s, c, "aten::reshape", split, 2, at);
	y = spec_put_permute(s, c, y, order, 2 * n + 3, at);
	y = spec_put_op(s, c, "aten::contiguous", (Value *const[]){ y, spec_put_int(s, 0, at) }, 2, at);
	for (int dim = 1; dim <= 1 + n; dim++)
		y = spec_put_merge(s, c, y, dim, at);
	for (int d = 0; d < n; d++) {
		const int k = 3 - n + d;
		const int64_t begin = v->pad[k] - v->shift[k], end = begin + v->out[k] - v->a[k] * v->s[k];

		y = spec_put_slice(s, c, y, 1 + d, (Slice){ begin, end, 1 }, at);    /* end <= 0 counts from the end */
	}
	return spec_put_permute(s, c, y, first, 2 + n, at);
}

/* Emits the convolution of x that computes all phases. */
static Value *
all_phases(Spec *s, Scope *c, const Transposed *v, Value *x, Range at)
{
	static const int64_t ones[] = { 1, 1, 1 };
	Value *const one = spec_put_list(s, ones, v->n, at);
	Value *const bias = v->bias ? spec_phase_channels(s, v, v->bias, at) : spec_put_constant(s, rt_none(), at);
	Value *const conv[] = { spec_channels_last(s, c, x, true, at), spec_phase_weights(s, v, at), bias, one,
				spec_put_list(s, v->side + 3 - v->n, v->n, at), one, spec_put_int(s, v->groups, at) };
	Value *y = spec_put_op(s, c, v->n == 3 ? "aten::conv3d" : "aten::conv2d", conv, 7, at), *volume;

	return (volume = spec_convolution_volume(s, c, y->node)) ? volume : y;
}

Value *
spec_convolution_transposed(Spec *s, Scope *c, const Node *m)
{
	Transposed v;
	Value *x, *y;

	if (!recognise(s, m, &v))
		return NULL;
	Value *const two = spec_put_int(s, 2, m->at);
	Value *const unsqueeze[] = { v.x, two };

	x = v.nd > 1 ? v.x : spec_put_op(s, c, "aten::unsqueeze", unsqueeze, 2, m->at);
	y = spec_phases_joined(s, c, &v, all_phases(s, c, &v, x, m->at), m->at);
	if (!rt_is_channels_last(known_at(s->k, y)->v.u.t)) {
		Value *const dense[] = { y, v.n == 3 ? spec_put_int(s, 3, m->at) : two };       /* channels last */

		y = spec_put_op(s, c, "aten::contiguous", dense, 2, m->at);
	}
	spec_alter(s, y);
	if (v.nd > 1)
		return y;
	Value *const squeeze[] = { y, two };

	return spec_put_op(s, c, "aten::squeeze.dim", squeeze, 2, m->at);
}
