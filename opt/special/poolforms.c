/*
 * Replaces pools of the result of a convolution over one dim by pools over two dims before its squeeze (convforms.c),
 * which keep it channels last.
 *
 *   y = max_pool1d(x.squeeze(2), [3], [1], [1])  ->  y = max_pool2d(x, [1, 3], [1, 1], [0, 1]).squeeze(2)
 */
#include "specialize.h"

/* Emits the list of one int that is m's argument `name`, with `height` before the int.  Null if it is not known. */
static Value *
with_height(Spec *s, const Node *m, const char *name, int64_t height)
{
	int64_t two[2] = { height };

	return spec_known_ints(s, m, name, 1, two + 1) ? spec_put_list(s, two, 2, m->at) : NULL;
}

Value *
spec_pool_line(Spec *s, Scope *c, const Node *m)
{
	Value *const high = spec_squeezed(s, m->in[0]), *y, *in[8] = { high };
	const char *name;
	int64_t none;
	int n = 1;

	if (!high || !known_at(s->k, high)->altered || !known_is(s->k, m->out[0]))
		return NULL;
	if (m->op->lowering == LOWER_ADAPTIVE_AVG_POOL) {
		name = "aten::adaptive_avg_pool2d";
		in[n++] = with_height(s, m, "output_size", 1);
	} else {
		const bool max = m->op->lowering == LOWER_MAX_POOL;
		Value *const stride = with_height(s, m, "stride", 1);

		name = max ? "aten::max_pool2d" : "aten::avg_pool2d";
		in[n++] = with_height(s, m, "kernel_size", 1);
		/* An empty stride stands for the kernel's size. */
		in[n++] = spec_known_ints(s, m, "stride", 0, &none) ? in[1] : stride;
		in[n++] = with_height(s, m, "padding", 0);
		if (max)
			in[n++] = with_height(s, m, "dilation", 1);
		in[n++] = node_arg(m, "ceil_mode");
		if (!max) {
			in[n++] = node_arg(m, "count_include_pad");
			in[n++] = spec_put_constant(s, rt_none(), m->at);
		}
	}
	for (int i = 0; i < n; i++)
		if (!in[i])
			return NULL;
	y = spec_put_op(s, c, name, in, n, m->at);
	return spec_put_op(s, c, "aten::squeeze.dim", (Value *const[]){ y, spec_put_int(s, 2, m->at) }, 2, m->at);
}
