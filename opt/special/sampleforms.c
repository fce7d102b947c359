/*
 * Grid sampling of a channels-last tensor, such as a convolution's result.  Its result is channels last, too.
 *
 *   y = grid_sampler(x, grid, ...)   ->   y = grid_sampler_last(x.permute(0, 2, 3, 1), grid, ...).permute(0, 3, 1, 2)
 *
 * In the model the result is contiguous.
 */
#include "specialize.h"

Value *
spec_grid_sampler(Spec *s, Scope *c, const Node *m)
{
	const Known *k = known_at(s->k, m->in[0]);
	Value *in[5], *y;

	if (m->nin != 5 || !known_is(s->k, m->out[0]) || !k->is || !k->altered || k->v.u.t->ndim != 4 ||
	    !rt_is_channels_last(k->v.u.t))
		return NULL;
	for (int i = 0; i < m->nin; i++)
		in[i] = m->in[i];
	Value *const last = spec_put_list(s, (const int64_t[]){ 0, 2, 3, 1 }, 4, m->at);
	Value *const back = spec_put_list(s, (const int64_t[]){ 0, 3, 1, 2 }, 4, m->at);

	in[0] = spec_put_op(s, c, "aten::permute", (Value *const[]){ in[0], last }, 2, m->at);
	y = spec_put_op(s, c, "prim::grid_sampler_last", in, 5, m->at);
	y = spec_put_op(s, c, "aten::permute", (Value *const[]){ y, back }, 2, m->at);
	spec_alter(s, y);
	return y;
}
