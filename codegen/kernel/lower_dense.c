/*
 * Products and convolutions with constant weights as contractions.
 *
 * A pointwise group becomes the epilogue if it reads the result, and no other value that is computed later.
 *
 * Neighbouring columns with nonzero weights in the same inputs and taps form a box (dense_boxes.c).  Each box is a
 * contraction of its own, with these taps only.
 */
#include "dense.h"

/* Returns the box of all weights. */
static Box
whole(const DenseNode *d)
{
	const Windows *v = &d->windows;

	return (Box){ .n = d->n, .to = { d->k, v->places ? v->taps[v->places - 2] : 1,
					 v->places ? v->taps[v->places - 1] : 1 } };
}

/* Returns the box's window, with the strides of pixels that are lda and ldc apart. */
static Windows
windows_of(const DenseNode *d, const Box *b)
{
	Windows v = d->windows;

	for (int i = v.places - 1, side = BOX_COLUMNS; i >= 0; i--, side--) {
		v.x[i] = i == v.places - 1 ? d->lda : v.x[i + 1] * v.in[i + 1];
		v.y[i] = i == v.places - 1 ? d->ldc : v.y[i + 1] * v.out[i + 1];
		if (side < BOX_ROWS)
			continue;
		v.taps[i] = b->to[side] - b->from[side];
		v.pad[i] -= b->from[side] * v.wide[i];
	}
	return v;
}

/* Adds the axes: rows, or images and positions; groups, columns; inputs and taps are summed. */
static void
add_axes(Contract *c, const DenseNode *d, const Box *b)
{
	const Windows v = windows_of(d, b);
	const int64_t *s = d->w->strides, row = v.places || d->transposed ? 0 : 1;
	const int64_t k = b->to[BOX_CHANNELS] - b->from[BOX_CHANNELS];
	const int64_t images = v.places ? d->images : d->m, pixels = v.places ? v.x[0] * v.in[0] : d->lda;

	contract_axis(c, images, false, (int64_t[4]){ v.places ? v.y[0] * v.out[0] : d->ldc, pixels });
	if (v.places)
		contract_windows(c, &v, false);
	contract_axis(c, d->groups, false, (int64_t[4]){ b->n, k, b->n * s[row], b->n });
	contract_axis(c, b->n, false, (int64_t[4]){ 1, 0, s[row], 1 });
	contract_axis(c, k, true, (int64_t[4]){ 0, 1, s[!row] });
	if (v.places)
		contract_windows(c, &v, true);
}

/* Sets the first element of each operand. */
static void
set_offsets(Kernel *k, const DenseNode *d, const Box *b)
{
	const int64_t *s = d->w->strides, *from = b->from;
	const int oc = k->naxis / 2;

	for (int i = 0; i < k->operand.n; i++)
		k->operand.at[i].offset = size_plus(k->sizes, k->operand.at[i].offset,
						    size_times(k->sizes, k->operand.at[i].stride[oc],
							       size_number(k->sizes, b->first)));
	if (d->windows.places == 2)
		k->operand.at[CONTRACT_W].offset =
			size_number(k->sizes, b->first * s[0] + from[0] * s[1] + from[1] * s[2] + from[2] * s[3]);
	k->operand.at[CONTRACT_X].offset = size_number(k->sizes, from[BOX_CHANNELS]);
}

/* Lowers the node's columns in the box. after: its epilogue, or null. */
static void
lower_box(Plan *p, const Node *n, const DenseNode *d, const Box *b, const Lowered *after, Lowered *out)
{
	const Value *const value[] = { n->out[0], d->x, d->weight, d->bias };
	Contract c;

	contract_begin(&c, p, n, RT_f32, d->bias != NULL);
	add_axes(&c, d, b);
	*out = (Lowered){ .kernel = contract_end(&c, after, 1 + d->windows.places) };
	out->kernel->name = d->windows.places ? "conv" : "product";
	set_offsets(out->kernel, d, b);
	out->kernel->operand.at[CONTRACT_W].constant = d->w;
	if (d->bias)
		out->kernel->operand.at[CONTRACT_BIAS].constant = dense_constant(p, d->bias);
	for (int i = 0; i <= CONTRACT_W + c.bias; i++)
		vec_push(p->cx->arena, &out->value, value[i]);
	contract_pass(p, after, &out->value);
}

/* Finds the boxes that are computed one by one, or the box of all weights. Returns their number. */
static int
find_boxes(const Emit *e, Plan *p, const Node *n, const DenseNode *d, bool apart, Box *box)
{
	const int count = apart ? 0 : boxes_find(e, d, box);
	const Box all = whole(d);
	Lowered l;
	Dense of;

	if (count && boxes_are_sparse(d, box, count))
		return count;
	lower_box(p, n, d, &all, NULL, &l);
	if (count && dense_of(l.kernel, &of) && !plan_choice(p, dense_is_winograd(e, &of)))
		return count;
	box[0] = all;
	return 1;
}

bool
emit_dense(Emit *e, Plan *p, const Node *n, const Node *group, KernelCall *calls, int *ncall)
{
	const Value *result = group ? group->out[0] : n->out[0];
	Lowered after, l;
	Box box[BOXES];
	DenseNode d;
	bool apart;

	if (!dense_take(p, n, &d) || (group && !lower_epilogue(p, group, n->out[0], true, &after)))
		return false;
	apart = group && plan_buffer(p, result)->over;
	*ncall = find_boxes(e, p, n, &d, apart, box);
	for (int i = 0; i < *ncall; i++) {
		lower_box(p, n, &d, &box[i], group ? &after : NULL, &l);
		l.value.at[CONTRACT_Y] = result;
		l.apart = apart;
		emit_lowered(e, p, &l, &calls[i]);
	}
	return true;
}
