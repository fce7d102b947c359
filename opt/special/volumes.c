/*
 * Computes convolutions and pools over three dims by kernels over two.
 *
 * A channels-last volume is stored as (N, D, H, W, C).  So a view makes it a batch of N D images, or an image of height
 * D and width H W:
 *
 *   kernel (1, h, w)     frames: (N D, C, H, W), conv2d by (h, w)
 *   kernel (k, 1, 1)     lines:  (N, C, D, H W), conv2d by (k, 1)
 *   kernel (k, h, w)     the k frames that a result frame is made from become channels, in one copy:
 *                        (N D', g k C / g, H, W), conv2d by (h, w)
 *     of narrow groups   prim::convolution over the volume itself
 *   pool (k, h, w)       a pool of frames, then one of lines
 *
 * Pointwise operators after such views move before the view that restores the volume, so that a convolution's store
 * computes them.
 */
#include "specialize.h"

#include <string.h>

enum {
	WIDE_GROUP = 16,         /* least number of channels of a group for which frames are gathered */
	DIMS = 5, DEPTH = 2,     /* rank and depth dim of a volume (N, C, D, H, W) */
};

typedef enum Form { NOT_SEEN, FRAMES, LINES } Form;

/* ---- views ------------------------------------------------------------------------------------------------------ */

static const int64_t frames_first[] = { 0, 2, 1, 3, 4 };

/* Views (N, C, D, H, W) as (N D, C, H, W). */
static Value *
as_frames(Spec *s, Scope *c, Value *x, Range at)
{
	return spec_put_merge(s, c, spec_put_permute(s, c, x, frames_first, DIMS, at), 0, at);
}

/* Views (N, C, D, H, W) as (N, C, D, H W). */
static Value *
as_lines(Spec *s, Scope *c, Value *x, Range at)
{
	return spec_put_merge(s, c, x, 3, at);
}

/* Reshapes y to a volume: dim i gets the size of dim dim[i] of of[i]. */
static Value *
shaped(Spec *s, Scope *c, Value *y, Value *const *of, const int64_t *dim, Range at)
{
	Value *const in[] = { y, spec_put_sizes(s, c, of, dim, DIMS, at) };

	return spec_put_op(s, c, "aten::reshape", in, 2, at);
}

/* Views (N D, C, H, W) as (N, C, D, H, W).  N and D are those of x. */
static Value *
from_frames(Spec *s, Scope *c, Value *y, Value *x, Range at)
{
	Value *const of[] = { x, x, y, y, y };
	Value *v = shaped(s, c, y, of, (const int64_t[]){ 0, 2, 1, 2, 3 }, at);

	v = spec_put_permute(s, c, v, frames_first, DIMS, at);
	spec_alter(s, v);
	return v;
}

/* Views (N, C, D, H W) as (N, C, D, H, W).  H and W are those of x. */
static Value *
from_lines(Spec *s, Scope *c, Value *y, Value *x, Range at)
{
	Value *const of[] = { y, y, y, x, x };
	Value *v = shaped(s, c, y, of, (const int64_t[]){ 0, 1, 2, 3, 4 }, at);

	spec_alter(s, v);
	return v;
}

/* Makes the volume channels last. */
static Value *
channels_last(Spec *s, Scope *c, Value *x, Range at)
{
	const RtTensor *t = known_at(s->k, x)->v.u.t;
	Value *const in[] = { x, spec_put_int(s, 3, at) }; /* memory format: channels last with three spatial dims */
	Value *y;

	if (rt_is_channels_last(t))
		return x;
	y = spec_put_op(s, c, "aten::contiguous", in, 2, at);
	spec_alter(s, y);
	return y;
}

/* ---- convolutions ----------------------------------------------------------------------------------------------- */

/* Emits weights with four dims: `taps` taps of each channel of a group, from tap `first` on, as (O, taps C / g,
 * ...). */
static Value *
put_weights(Spec *s, const Conv *v, int64_t first, int64_t taps)
{
	const RtTensor *w = v->w;
	const int64_t dims[4] = { w->dims[0], taps * w->dims[1], w->dims[3], w->dims[4] }, *st = w->strides;
	int64_t *const from = new(s->cx->arena, int64_t, dims[0] * dims[1] * dims[2] * dims[3] + 1), *at = from;

	for (int64_t o = 0; o < dims[0]; o++)
		for (int64_t i = 0; i < dims[1]; i++)
			for (int64_t y = 0; y < dims[2]; y++)
				for (int64_t x = 0; x < dims[3]; x++)
					*at++ = w->offset + o * st[0] + i % w->dims[1] * st[1] +
						(first + i / w->dims[1]) * st[2] + y * st[3] + x * st[4];
	return spec_put_moved(s, w, &(RtGeometry){ .ndim = 4, .dims = dims }, from, v->at);
}

/* Emits a conv2d of x, which holds frames or lines.  For lines the kernel covers D, and one element of H W. */
static Value *
over_two(Spec *s, Scope *c, const Conv *v, Form form, Value *x, Value *w)
{
	const bool lines = form == LINES;
	const int d = lines ? 0 : 1;
	const int64_t stride[] = { v->stride[d], lines ? 1 : v->stride[2] };
	const int64_t padding[] = { v->padding[d], lines ? 0 : v->padding[2] };
	const int64_t dilation[] = { v->dilation[d], lines ? 1 : v->dilation[2] };
	Value *const in[] = { spec_channels_last(s, c, x, padding[0] || padding[1], v->at), w, v->bias,
			      spec_put_list(s, stride, 2, v->at), spec_put_list(s, padding, 2, v->at),
			      spec_put_list(s, dilation, 2, v->at), spec_put_int(s, v->groups, v->at) };

	return spec_put_op(s, c, "aten::conv2d", in, 7, v->at);
}

static Value *
padded(Spec *s, Scope *c, const Conv *v, Value *x)
{
	const int64_t pad[] = { 0, 0, 0, 0, v->padding[0], v->padding[0] };
	Value *const in[] = { x, spec_put_list(s, pad, 6, v->at), spec_put_constant(s, rt_double(0), v->at) };

	return v->padding[0] ? spec_put_op(s, c, "aten::constant_pad_nd", in, 3, v->at) : x;
}

static Value *
by_frames(Spec *s, Scope *c, const Conv *v, Value *x)
{
	x = spec_put_slice(s, c, x, DEPTH, (Slice){ 0, 0, v->stride[0] }, v->at);
	return from_frames(s, c, over_two(s, c, v, FRAMES, as_frames(s, c, x, v->at), put_weights(s, v, 0, 1)), x,
			   v->at);
}

static Value *
by_lines(Spec *s, Scope *c, const Conv *v, Value *x)
{
	const RtTensor *w = v->w;
	const int64_t dims[4] = { w->dims[0], w->dims[1], w->dims[2], 1 };
	const int64_t strides[4] = { w->strides[0], w->strides[1], w->strides[2], w->strides[2] };
	IValue view = { .tag = RT_TENSOR, .u.t = rt_tensor_view(&s->k->rt, v->w, 4, dims, strides, w->offset) };

	return from_lines(s, c, over_two(s, c, v, LINES, as_lines(s, c, x, v->at), spec_put_constant(s, view, v->at)),
			  x, v->at);
}

/* Gathers the frames that contribute to a result frame as channels of an image, (N D', g k C / g, H, W), and convolves
 * these images. */
static Value *
by_gathering(Spec *s, Scope *c, const Conv *v, Value *x)
{
	static const int64_t images[] = { 0, 3, 4, 5, 1, 6, 2 }, first[] = { 0, 3, 1, 2 };
	const int64_t k = v->w->dims[2], reach = (k - 1) * v->dilation[0] + 1;
	Value *const unfold[] = { padded(s, c, v, x), spec_put_int(s, 2, v->at), spec_put_int(s, reach, v->at),
				  spec_put_int(s, v->stride[0], v->at) };
	Value *y = spec_put_op(s, c, "aten::unfold", unfold, 4, v->at), *frames = y;
	Value *const of[] = { y, NULL, NULL, y, y, y, NULL };
	const int64_t dim[] = { 0, v->groups, v->w->dims[1], 2, 3, 4, k };

	y = spec_put_slice(s, c, y, DIMS, (Slice){ 0, 0, v->dilation[0] }, v->at);
	y = spec_put_op(s, c, "aten::reshape", (Value *const[]){ y, spec_put_sizes(s, c, of, dim, 7, v->at) }, 2,
			v->at);
	y = spec_put_permute(s, c, y, images, 7, v->at);
	y = spec_put_op(s, c, "aten::contiguous", (Value *const[]){ y, spec_put_int(s, 0, v->at) }, 2, v->at);
	y = spec_put_merge(s, c, spec_put_merge(s, c, spec_put_merge(s, c, y, 5, v->at), 4, v->at), 0, v->at);
	y = spec_put_permute(s, c, y, first, 4, v->at);
	spec_alter(s, y);
	return from_frames(s, c, over_two(s, c, v, FRAMES, y, put_weights(s, v, 0, k)), frames, v->at);
}

/* Convolves a channels-last volume directly. */
static Value *
by_volume(Spec *s, Scope *c, const Conv *v, Value *x, Value *w)
{
	static const int64_t none[3];
	Value *const in[] = { x, w, v->bias, spec_put_list(s, v->stride, 3, v->at),
			      spec_put_list(s, v->padding, 3, v->at), spec_put_list(s, v->dilation, 3, v->at),
			      spec_put_constant(s, rt_bool(false), v->at), spec_put_list(s, none, 3, v->at),
			      spec_put_int(s, v->groups, v->at) };
	Value *y = spec_put_op(s, c, "prim::convolution", in, 9, v->at);

	spec_alter(s, y);
	return y;
}

Value *
spec_convolution_volume(Spec *s, Scope *c, const Node *m)
{
	Conv v;
	Value *x;
	bool plane, point;

	if (!spec_plain_convolution(s, m, 3, &v))
		return NULL;
	plane = v.w->dims[2] == 1 && !v.padding[0];
	point = v.w->dims[3] == 1 && v.w->dims[4] == 1 && v.stride[1] == 1 && v.stride[2] == 1 && !v.padding[1] &&
		!v.padding[2];
	if (!plane && !point && (v.w->dims[1] >= WIDE_GROUP || v.groups == 1))
		return by_gathering(s, c, &v, v.x);
	x = channels_last(s, c, v.x, v.at);
	return plane ? by_frames(s, c, &v, x) : point ? by_lines(s, c, &v, x) :
	       by_volume(s, c, &v, x, node_arg(m, "weight"));
}

/* ---- pools ------------------------------------------------------------------------------------------------------ */

typedef struct Pool {
	Value  *x, *ceil, *padding_counts;               /* padding_counts is null for max pools */
	int64_t kernel[3], stride[3], padding[3], dilation[3];
	Range   at;
} Pool;

static bool
recognise_pool(Spec *s, const Node *m, Pool *p)
{
	const bool max = node_is(m, aten_max_pool3d);
	const Known *k, *divisor;

	if ((!max && !node_is(m, aten_avg_pool3d)) || !known_is(s->k, m->in[0]) || !known_is(s->k, m->out[0]))
		return false;
	*p = (Pool){ .x = m->in[0], .ceil = node_arg(m, "ceil_mode"), .dilation = { 1, 1, 1 }, .at = m->at };
	k = known_at(s->k, node_arg(m, "stride"));
	if (!spec_known_ints(s, m, "kernel_size", 3, p->kernel) || !spec_known_ints(s, m, "padding", 3, p->padding) ||
	    (max && !spec_known_ints(s, m, "dilation", 3, p->dilation)))
		return false;
	if (k->is && k->v.tag == RT_LIST && !k->v.u.list->n)
		memcpy(p->stride, p->kernel, sizeof p->stride);
	else if (!spec_known_ints(s, m, "stride", 3, p->stride))
		return false;
	if (max)
		return true;
	p->padding_counts = node_arg(m, "count_include_pad");
	divisor = known_at(s->k, node_arg(m, "divisor_override"));
	return divisor->is && divisor->v.tag == RT_NONE;
}

/* Pools x, which has four dims, over dims d and e of the three.  -1 stands for no dim. */
static Value *
pool_two(Spec *s, Scope *c, const Pool *p, Value *x, int d, int e)
{
	Value *const window[] = {
		spec_put_list(s, (const int64_t[]){ p->kernel[d], e < 0 ? 1 : p->kernel[e] }, 2, p->at),
		spec_put_list(s, (const int64_t[]){ p->stride[d], e < 0 ? 1 : p->stride[e] }, 2, p->at),
		spec_put_list(s, (const int64_t[]){ p->padding[d], e < 0 ? 0 : p->padding[e] }, 2, p->at),
		spec_put_list(s, (const int64_t[]){ p->dilation[d], e < 0 ? 1 : p->dilation[e] }, 2, p->at),
	};
	Value *const greatest[] = { x, window[0], window[1], window[2], window[3], p->ceil };
	Value *const none = spec_put_constant(s, rt_none(), p->at);
	Value *const average[] = { x, window[0], window[1], window[2], p->ceil, p->padding_counts, none };

	return p->padding_counts ? spec_put_op(s, c, "aten::avg_pool2d", average, 7, p->at) :
				   spec_put_op(s, c, "aten::max_pool2d", greatest, 6, p->at);
}

/* Pools a contiguous volume, viewed as C D planes. */
static Value *
pool_planes(Spec *s, Scope *c, const Pool *p, Value *x)
{
	Value *y = pool_two(s, c, p, spec_put_merge(s, c, x, 1, p->at), 1, 2);
	Value *const of[] = { x, x, x, y, y };

	y = shaped(s, c, y, of, (const int64_t[]){ 0, 1, 2, 2, 3 }, p->at);
	Value *const z = pool_two(s, c, p, as_lines(s, c, y, p->at), 0, -1);
	Value *const back[] = { z, z, z, y, y };

	return shaped(s, c, z, back, (const int64_t[]){ 0, 1, 2, 3, 4 }, p->at);
}

Value *
spec_pool_volume(Spec *s, Scope *c, const Node *m)
{
	static const int64_t all[] = { -1, -2, -3 };
	int64_t size[3];
	const Known *x;
	Pool p;
	Value *y, *lines;

	if (node_is(m, aten_adaptive_avg_pool3d) && spec_known_ints(s, m, "output_size", 3, size) && size[0] == 1 &&
	    size[1] == 1 && size[2] == 1 && known_is(s->k, m->out[0])) {
		Value *const in[] = { m->in[0], spec_put_list(s, all, 3, m->at),
				      spec_put_constant(s, rt_bool(true), m->at),
				      spec_put_constant(s, rt_none(), m->at) };

		return spec_put_op(s, c, "aten::mean.dim", in, 4, m->at);
	}
	if (!recognise_pool(s, m, &p))
		return NULL;
	x = known_at(s->k, p.x);
	if (x->v.u.t->ndim != DIMS || x->v.u.t->dtype != RT_f32 || !rt_numel(known_at(s->k, m->out[0])->v.u.t))
		return NULL;
	if (x->model)
		return NULL;
	if (!x->altered && !rt_is_channels_last(x->v.u.t))
		return pool_planes(s, c, &p, spec_put_contiguous(s, c, p.x, 0, p.at));
	y = channels_last(s, c, p.x, p.at);
	y = from_frames(s, c, pool_two(s, c, &p, spec_channels_last(s, c, as_frames(s, c, y, p.at), false, p.at), 1, 2),
			y, p.at);
	lines = spec_channels_last(s, c, as_lines(s, c, y, p.at), false, p.at);
	return from_lines(s, c, pool_two(s, c, &p, lines, 0, -1), y, p.at);
}

/* ---- pointwise operators under the views ------------------------------------------------------------------------ */

/* Does u have the dims of volume t in this form? */
static bool
lies_so(const RtTensor *u, const RtTensor *t, Form form)
{
	const int64_t *a = u->dims, *b = t->dims;

	return u->ndim == 4 && (form == FRAMES ? a[1] == b[1] && a[2] == b[3] && a[3] == b[4] :
						 a[0] == b[0] && a[1] == b[1] && a[2] == b[2]);
}

/* Returns the four-dim tensor that the volume v is a view of, and sets its form.  Null if there is none. */
static Value *
seen(Spec *s, const Value *v, Form *form)
{
	const RtTensor *t = known_is(s->k, v) ? known_at(s->k, v)->v.u.t : NULL;
	int64_t order[DIMS];

	*form = NOT_SEEN;
	if (!t || t->ndim != DIMS || !known_at(s->k, v)->altered || known_at(s->k, v)->model)
		return NULL;
	if (node_is(v->node, aten_permute) && spec_known_ints(s, v->node, "dims", DIMS, order) &&
	    !memcmp(order, frames_first, sizeof order)) {
		*form = FRAMES;
		v = v->node->in[0];
	} else {
		*form = LINES;
	}
	return node_is(v->node, aten_reshape) && known_at(s->k, v->node->in[0])->altered &&
	       lies_so(known_at(s->k, v->node->in[0])->v.u.t, t, *form) ? v->node->in[0] : NULL;
}

/* Returns the operand v of a result with the dims of t, in the form before the view.  Null if that is impossible. */
static Value *
operand_in(Spec *s, Scope *c, Value *v, const RtTensor *t, Form form, Range at)
{
	const RtTensor *u = known_is(s->k, v) ? known_at(s->k, v)->v.u.t : NULL;
	const int d = u ? u->ndim - 4 : 0;               /* index of the channel dim: 1 if u has five dims */
	Form own;
	Value *of;

	if (!u || u->ndim > DIMS)
		return NULL;
	if (!u->ndim)
		return v;
	if (u->ndim == DIMS && !memcmp(u->dims, t->dims, sizeof *u->dims * DIMS)) {
		if (!rt_is_channels_last(u))
			return NULL;
		of = seen(s, v, &own);
		if (of && own == form)
			return of;
		return form == FRAMES ? as_frames(s, c, v, at) : as_lines(s, c, v, at);
	}
	if (d < 0 || (form == FRAMES && (u->dims[d + 1] != 1 || (d == 1 && u->dims[0] != 1))) ||
	    (form == LINES && (u->dims[d + 2] != 1 || u->dims[d + 3] != 1)))
		return NULL;
	Value *const in[] = { v, spec_put_int(s, form == FRAMES ? d + 1 : d + 2, at) };

	return spec_put_op(s, c, "aten::squeeze.dim", in, 2, at);
}

/* Returns the operand whose view decides the form: a convolution's result, if there is one. */
static Value *
leading(Spec *s, Scope *c, const Node *n, Form *form)
{
	Value *first = NULL;

	for (int i = 0; i < n->nin; i++) {
		Value *v = spec_value(c, n->in[i]), *of;
		Form f;

		if (v->type->kind != TYPE_TENSOR || !(of = seen(s, v, &f)))
			continue;
		if (!first || node_is(of->node, aten_conv2d)) {
			first = v;
			*form = f;
		}
	}
	return first;
}

bool
spec_under_volume(Spec *s, Scope *c, Node *n)
{
	Value *of[8] = { 0 }, *first, *y;
	Form form = NOT_SEEN;

	if (n->op->form != OP_MAP || n->nout != 1 || n->nin > (int)(sizeof of / sizeof *of) ||
	    !(first = leading(s, c, n, &form)))
		return false;
	for (int i = 0; i < n->nin; i++) {
		Value *v = spec_value(c, n->in[i]);

		if (v->type->kind == TYPE_TENSOR &&
		    !(of[i] = operand_in(s, c, v, known_at(s->k, first)->v.u.t, form, n->at)))
			return false;
	}
	if (!(y = spec_put_with(s, c, n, of)))
		return false;
	spec_bind(s, c, n->out[0], form == FRAMES ? from_frames(s, c, y, first, n->at) :
						    from_lines(s, c, y, first, n->at));
	spec_keep_layout(s, c, n);
	return true;
}
