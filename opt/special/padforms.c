/*
 * Reflection and replication padding of a channels-last tensor, such as a convolution's result.  It keeps the layout.
 *
 *   y = reflection_pad2d(x, [l, r, t, b])   ->   y = reflection_pad3d(x.permute(0, 2, 3, 1), [0, 0, l, r, t, b])
 *                                                     .permute(0, 3, 1, 2)
 *   of one dim, before the squeeze behind a convolution (convforms.c): [l, r, 0, 0]
 *
 * In the model the result is contiguous.
 */
#include "specialize.h"

#include <string.h>

/* mode: value of aten::pad's argument.  lowering: that of operators without a mode.  name: the operator over three
 * dims. */
typedef struct Edges { const char *mode; Lowering lowering; const char *name; } Edges;

static const Edges edges[] = {
	{ "reflect", LOWER_PAD_REFLECT, "aten::reflection_pad3d" },
	{ "replicate", LOWER_PAD_REPLICATE, "aten::replication_pad3d" },
};

static const char *
padding_of(Spec *s, const Node *m)
{
	const Value *mode = node_arg(m, "mode");
	const Known *k = mode ? known_at(s->k, mode) : NULL;

	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
		if (mode ? k->is && k->v.tag == RT_STR && !strcmp(k->v.u.str->s, edges[i].mode) :
			   m->op->lowering == edges[i].lowering)
			return edges[i].name;
	return NULL;
}

/* Emits the padding of x, viewed as (N, H, W, C). */
static Value *
padded(Spec *s, Scope *c, Value *x, const char *name, const int64_t *pad, Range at)
{
	Value *const last = spec_put_list(s, (const int64_t[]){ 0, 2, 3, 1 }, 4, at);
	Value *const back = spec_put_list(s, (const int64_t[]){ 0, 3, 1, 2 }, 4, at);
	Value *const sides = spec_put_list(s, pad, 6, at);
	Value *y = spec_put_op(s, c, "aten::permute", (Value *const[]){ x, last }, 2, at);

	y = spec_put_op(s, c, name, (Value *const[]){ y, sides }, 2, at);
	y = spec_put_op(s, c, "aten::permute", (Value *const[]){ y, back }, 2, at);
	spec_alter(s, y);
	return y;
}

Value *
spec_pad_edges(Spec *s, Scope *c, const Node *m)
{
	Value *const high = spec_squeezed(s, m->in[0]), *const x = high ? high : m->in[0], *y;
	const Known *k = known_at(s->k, x);
	const char *name = padding_of(s, m), *list = node_arg(m, "pad") ? "pad" : "padding";
	int64_t pad[6] = { 0 };

	if (!name || !known_is(s->k, m->out[0]) || !k->is || !k->altered || k->v.u.t->ndim != 4 ||
	    !rt_is_channels_last(k->v.u.t) || !spec_known_ints(s, m, list, high ? 2 : 4, pad + 2))
		return NULL;
	y = padded(s, c, x, name, pad, m->at);
	if (!high)
		return y;
	return spec_put_op(s, c, "aten::squeeze.dim", (Value *const[]){ y, spec_put_int(s, 2, m->at) }, 2, m->at);
}
