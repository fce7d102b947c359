/*
 * Replaces convolutions by forms that have kernels.  lines.c does so for those over one dim, volumes.c for three dims.
 *
 * Padding "same" and "valid" becomes numbers.  If "same" needs an odd number of zeros, the input gets the extra one at
 * the end.
 */
#include "specialize.h"

/* Returns the convolution with its padding as numbers.  Null if its padding is no word, or is not supported. */
static Value *
with_numbers(Spec *s, Scope *c, const Node *m)
{
	const bool any = node_is(m, aten__convolution_mode);
	const Value *word = node_arg(m, "padding");
	const Known *k = word ? known_at(s->k, word) : NULL, *w;
	int64_t pad[3], extra[6] = { 0 }, dilation[3];
	bool uneven = false;
	int nd;

	if (!k || !k->is || k->v.tag != RT_STR || !known_is(s->k, m->out[0]))
		return NULL;
	w = known_at(s->k, m->in[1]);
	nd = w->is && w->v.tag == RT_TENSOR ? w->v.u.t->ndim - 2 : 0;
	if (nd < 1 || nd > 3 || !spec_known_ints(s, m, "dilation", nd, dilation))
		return NULL;
	for (int i = 0; i < nd; i++) {
		const int64_t total = k->v.u.str->s[0] == 's' ? dilation[i] * (w->v.u.t->dims[2 + i] - 1) : 0;

		pad[i] = total / 2;
		extra[2 * (nd - 1 - i) + 1] = total % 2;
		uneven |= total % 2 != 0;
	}
	Value *const zeros[] = { m->in[0], spec_put_list(s, extra, 2 * nd, m->at),
				 spec_put_constant(s, rt_double(0), m->at) };
	Value *x = uneven ? spec_put_op(s, c, "aten::constant_pad_nd", zeros, 3, m->at) : m->in[0];
	Value *const padding = spec_put_list(s, pad, nd, m->at);

	x = spec_channels_last(s, c, x, false, m->at);
	if (any) {
		Value *const conv[] = { x, m->in[1], m->in[2], m->in[3], padding, m->in[5],
					spec_put_constant(s, rt_bool(false), m->at),
					spec_put_list(s, (const int64_t[3]){ 0 }, nd, m->at), m->in[6] };

		return spec_put_op(s, c, "aten::convolution", conv, 9, m->at);
	}
	Value *const conv[] = { x, m->in[1], m->in[2], m->in[3], padding, m->in[5], m->in[6] };

	return spec_put_op(s, c, m->kind->name, conv, 7, m->at);
}

Value *
spec_convolution(Spec *s, Scope *c, const Node *m)
{
	Value *numbered = with_numbers(s, c, m), *better;

	if (!numbered && (better = spec_convolution_of_bytes(s, c, m)))
		return better;
	if (!numbered && (numbered = spec_convolution_transposed(s, c, m)))
		return numbered;
	m = numbered ? numbered->node : m;
	if ((better = spec_convolution_volume(s, c, m)) || (better = spec_convolution_line(s, c, m)))
		return better;
	return numbered;
}
