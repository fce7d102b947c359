/*
 * Transposed convolutions as convolutions of stride 1: every output belongs to one phase of the stride, and what a
 * phase adds up is a convolution of the input by every stride-th tap of the kernel, flipped.
 *
 *    out[p] = sum over taps k of x[(p + pad - k) / s] w[k];   p + pad = s a + r,  k = r + s t:
 *    phase r at a = sum over t of x[a - t] w[r + s t],        t < T = ceil(K / s)
 *
 * One convolution with a channel for every (group, phase, channel) computes all phases; a copy puts them side by side,
 * and the padding is cut off. Taps beyond the kernel's end are zeros: none where s divides K.
 *
 *    z = conv2d(x, w', b', 1, T - 1, 1, g)                                       (N, g r_h r_w c, A_h, A_w)
 *    y = z as (N, A_h, A_w, g, r_h, r_w, c) -> (N, A_h, r_h, A_w, r_w, g, c) -> (N, s A_h, s A_w, g c), cut, permuted
 *
 * After Shi et al., "Is the deconvolution layer the same as a convolutional layer?", 2016.
 */
#include "specialize.h"

#include <string.h>

typedef struct Transposed {
	Value *x;
	const RtTensor *w, *bias;        /* (g * in, c, K_h, K_w); bias or null */
	int64_t groups, in, c;           /* channels of a group */
	int64_t k[2], s[2], pad[2], out[2];
	int64_t t[2], a[2];              /* taps of a phase; places that a phase has */
	int nd;
} Transposed;

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

static bool
recognise(Spec *s, const Node *m, Transposed *v)
{
	const Value *flag = node_arg(m, "transposed");
	const RtTensor *x, *y;
	int64_t on = 1, dilation[2] = { 1, 1 };

	if (!node_is(m, "aten::conv_transpose1d") && !node_is(m, "aten::conv_transpose2d") &&
	    !((node_is(m, "aten::_convolution") || node_is(m, "aten::convolution")) && known_int(s->k, flag, &on) &&
	      on))
		return false;
	*v = (Transposed){ .x = m->in[0], .k = { 1, 1 }, .s = { 1, 1 } };
	if (!known_is(s->k, v->x) || !known_is(s->k, m->out[0]) || !constant_f32(m->in[1], &v->w) || !v->w ||
	    !constant_f32(m->in[2], &v->bias))
		return false;
	x = known_at(s->k, v->x)->v.u.t;
	y = known_at(s->k, m->out[0])->v.u.t;
	v->nd = v->w->ndim - 2;
	if (v->nd < 1 || v->nd > 2 || x->ndim != v->w->ndim || x->dtype != RT_f32 || !rt_numel(y) ||
	    !known_int(s->k, node_arg(m, "groups"), &v->groups) ||
	    !spec_known_ints(s, m, "stride", v->nd, v->s + 2 - v->nd) ||
	    !spec_known_ints(s, m, "padding", v->nd, v->pad + 2 - v->nd) ||
	    !spec_known_ints(s, m, "dilation", v->nd, dilation + 2 - v->nd) || dilation[0] != 1 || dilation[1] != 1)
		return false;
	v->in = v->w->dims[0] / v->groups;
	v->c = v->w->dims[1];
	v->out[0] = 1;
	for (int i = 2 - v->nd; i < 2; i++) {
		const int64_t length = x->dims[i + v->nd];

		v->k[i] = v->w->dims[i + v->nd];
		v->out[i] = y->dims[i + v->nd];
		v->t[i] = (v->k[i] + v->s[i] - 1) / v->s[i];
		v->a[i] = length + v->t[i] - 1;
		if ((v->out[i] - 1 + v->pad[i]) / v->s[i] >= v->a[i])          /* output padding beyond all taps */
			return false;
	}
	if (v->nd == 1)
		v->t[0] = v->a[0] = 1;
	return true;
}

/* Row o of the new weights: which channel of which phase it is. */
static const float *
source(const Transposed *v, int64_t o, int64_t i, int64_t y, int64_t x)
{
	const int64_t c = o % v->c, rw = o / v->c % v->s[1], rh = o / v->c / v->s[1] % v->s[0],
		      g = o / v->c / v->s[1] / v->s[0];
	const int64_t kh = rh + v->s[0] * (v->t[0] - 1 - y), kw = rw + v->s[1] * (v->t[1] - 1 - x), *st = v->w->strides;

	if (kh >= v->k[0] || kw >= v->k[1])
		return NULL;
	return (const float *)rt_data(v->w) + (g * v->in + i) * st[0] + c * st[1] + (v->nd == 2 ? kh * st[2] : 0) +
	       kw * st[v->w->ndim - 1];
}

static Value *
put_weights(Spec *s, const Transposed *v, Range at)
{
	const int64_t dims[4] = { v->groups * v->s[0] * v->s[1] * v->c, v->in, v->t[0], v->t[1] };
	IValue value = { .tag = RT_TENSOR, .u.t = rt_tensor_new(&s->k->rt, RT_f32, 4, dims) };
	float *to;

	if (!value.u.t)
		fail(s->cx, at, "out of memory");
	to = (float *)rt_data(value.u.t);
	for (int64_t o = 0; o < dims[0]; o++)
		for (int64_t i = 0; i < dims[1]; i++)
			for (int64_t y = 0; y < dims[2]; y++)
				for (int64_t x = 0; x < dims[3]; x++) {
					const float *from = source(v, o, i, y, x);

					*to++ = from ? *from : 0;
				}
	return spec_put_constant(s, value, at);
}

static Value *
put_bias(Spec *s, const Transposed *v, Range at)
{
	const int64_t phases = v->s[0] * v->s[1], n = v->groups * phases * v->c;
	IValue value = { .tag = RT_TENSOR };

	if (!v->bias)
		return spec_put_constant(s, rt_none(), at);
	value.u.t = rt_tensor_new(&s->k->rt, RT_f32, 1, &n);
	if (!value.u.t)
		fail(s->cx, at, "out of memory");
	for (int64_t o = 0; o < n; o++)
		((float *)rt_data(value.u.t))[o] =
			((const float *)rt_data(v->bias))[(o / v->c / phases * v->c + o % v->c) * v->bias->strides[0]];
	return spec_put_constant(s, value, at);
}

static Value *
with_ints(Spec *s, Scope *c, const char *name, Value *x, const int64_t *i, int n, Range at)
{
	Value *const in[] = { x, spec_put_list(s, i, n, at) };

	return spec_put_op(s, c, name, "", in, 2, at);
}

/* Without the first `from` and the last -to. */
static Value *
cut(Spec *s, Scope *c, Value *x, int dim, int64_t from, int64_t to, Range at)
{
	Value *const in[] = { x, spec_put_int(s, dim, at), spec_put_int(s, from, at),
			      spec_put_int(s, to ? to : INT64_MAX, at), spec_put_int(s, 1, at) };

	return from == 0 && to == 0 ? x : spec_put_op(s, c, "aten::slice", "Tensor", in, 5, at);
}

/* Dims dim and dim + 1 as one. */
static Value *
merged(Spec *s, Scope *c, Value *x, int dim, Range at)
{
	Value *const in[] = { x, spec_put_int(s, dim, at), spec_put_int(s, dim + 1, at) };

	return spec_put_op(s, c, "aten::flatten", "using_ints", in, 3, at);
}

/* z's phases side by side. */
static Value *
interleave(Spec *s, Scope *c, const Transposed *v, Value *z, Range at)
{
	const int64_t apart[] = { 0, 1, 2, v->groups, v->s[0], v->s[1], v->c };
	static const int64_t last[] = { 0, 2, 3, 1 }, order[] = { 0, 1, 4, 2, 5, 3, 6 }, first[] = { 0, 3, 1, 2 };
	Value *y = with_ints(s, c, "aten::permute", z, last, 4, at);
	Value *const of[] = { y, y, y, NULL, NULL, NULL, NULL };
	Value *const split[] = { y, spec_put_sizes(s, c, of, apart, 7, at) };

	y = with_ints(s, c, "aten::permute", spec_put_op(s, c, "aten::reshape", "", split, 2, at), order, 7, at);
	y = spec_put_op(s, c, "aten::contiguous", "", (Value *const[]){ y, spec_put_int(s, 0, at) }, 2, at);
	for (int dim = 1; dim <= 3; dim++)
		y = merged(s, c, y, dim, at);
	for (int d = 0; d < 2; d++)
		y = cut(s, c, y, 1 + d, v->pad[d], v->pad[d] + v->out[d] - v->a[d] * v->s[d], at);
	return with_ints(s, c, "aten::permute", y, first, 4, at);
}

Value *
spec_convolution_transposed(Spec *s, Scope *c, const Node *m)
{
	Transposed v;
	Value *x, *y;

	if (!recognise(s, m, &v))
		return NULL;
	Value *const two = spec_put_int(s, 2, m->at),
		*const one = spec_put_list(s, (const int64_t[]){ 1, 1 }, 2, m->at);
	Value *const unsqueeze[] = { v.x, two };

	x = v.nd == 2 ? v.x : spec_put_op(s, c, "aten::unsqueeze", "", unsqueeze, 2, m->at);
	Value *const conv[] = { spec_channels_last(s, c, x, true, m->at), put_weights(s, &v, m->at),
				put_bias(s, &v, m->at), one,
				spec_put_list(s, (const int64_t[]){ v.t[0] - 1, v.t[1] - 1 }, 2, m->at), one,
				spec_put_int(s, v.groups, m->at) };

	y = interleave(s, c, &v, spec_put_op(s, c, "aten::conv2d", "", conv, 7, m->at), m->at);
	if (!rt_is_channels_last(known_at(s->k, y)->v.u.t)) {
		Value *const dense[] = { y, two };       /* memory format: channels last */

		y = spec_put_op(s, c, "aten::contiguous", "", dense, 2, m->at);
	}
	spec_alter(s, y);
	if (v.nd == 2)
		return y;
	Value *const squeeze[] = { y, two };

	return spec_put_op(s, c, "aten::squeeze", "dim", squeeze, 2, m->at);
}
