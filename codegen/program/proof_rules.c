/* codegen/program/proof_rules.c - rules for the sizes of new tensors, and the table of rules */
#include "proof.h"

#include <string.h>

/* a - b */
static const Size *
less_by(const Call *c, const Size *a, const Size *b)
{
	return size_minus(c->prover->sizes, a, b);
}

/* a * b */
static const Size *
times(const Call *c, const Size *a, const Size *b)
{
	return size_times(c->prover->sizes, a, b);
}

/* An operator may require sizes of its arguments to be equal.  Demands that for all that are equal on the samples. */
static bool
equal_sizes_hold(Call *c)
{
	Vec(const Size *) dim = { 0 };

	for (int i = 0; i < c->node->nin; i++) {
		const Sized *v = sized_of(c->prover, c->node->in[i]);

		for (int k = 0; k < v->n && v->kind == SIZED_TENSOR; k++)
			vec_push(c->prover->arena, &dim, v->dim[k]);
	}
	for (int i = 0; i < dim.n; i++)
		for (int k = 0; k < i; k++)
			if (is_equal_on_samples(c->prover, dim.at[i], dim.at[k]) &&
			    !must_equal(c->prover, dim.at[i], dim.at[k]))
				return false;
	return true;
}

static void
prove_same(Call *c)
{
	const Sized *t = call_tensor(c);

	if (t && equal_sizes_hold(c))
		call_results(c, t->dim, t->n);
}

static void
prove_itself(Call *c)
{
	const Sized *t = call_tensor(c);

	prove_same(c);
	if (t && t->stride)
		c->out[0]->or = t;
}

/* contiguous(): a tensor that has the strides of the format is the result itself. */
static void
prove_contiguous(Call *c)
{
	Sized *t = call_tensor(c);
	const Size **stride;
	int64_t format;
	bool is = true;

	if (!t || !t->stride || !arg_int(c, "memory_format", &format) || (format != 0 && format != 2) ||
	    (format == 2 && t->n != 4))
		return;
	stride = format ? channels_last_strides(c->prover, t) : contiguous_strides(c->prover, t);
	for (int i = 0; i < t->n && is; i++)
		if (!size_is(t->dim[i], 1) && !prove_equal(c->prover, t->stride[i], stride[i], &is))
			return;
	c->out[0] = is ? t : call_new(c, t->dim, t->n);
	if (!is && c->out[0]->kind == SIZED_TENSOR)
		c->out[0]->stride = stride;
}

/* An operator that writes its first argument, to which the others broadcast. */
static void
prove_written(Call *c)
{
	Sized *t = call_tensor(c);

	if (!t || t != sized_of(c->prover, c->node->in[0]) || call_lacks_tensor(c) || c->node->nout != 1)
		return;
	for (int i = 1; i < c->node->nin; i++) {
		const Sized *v = sized_of(c->prover, c->node->in[i]);

		for (int k = 0; k < v->n && v->kind == SIZED_TENSOR; k++)
			if (v->n > t->n || (!size_is(v->dim[k], 1) &&
					    !must_equal(c->prover, v->dim[k], t->dim[t->n - v->n + k])))
				return;
	}
	c->out[0] = t;
}

/* ---- joins ------------------------------------------------------------------------------------------------------- */

/* Returns a list of known tensors of one rank. Null if there is none. */
static const Sized *
arg_tensors(const Call *c)
{
	const Sized *list = arg_of(c, "tensors");

	if (list->kind != SIZED_PARTS || !list->n)
		return NULL;
	for (int i = 0; i < list->n; i++)
		if (list->part[i]->kind != SIZED_TENSOR || list->part[i]->n != list->part[0]->n)
			return NULL;
	return list;
}

static void
prove_cat(Call *c)
{
	const Sized *list = arg_tensors(c);
	const Size *dim[RT_MAX_RANK];
	int axis;

	if (!list || !arg_axis(c, "dim", list->part[0]->n, &axis))
		return;
	for (int i = 0; i < list->part[0]->n; i++) {
		dim[i] = list->part[0]->dim[i];
		for (int k = 1; k < list->n; k++)
			if (i == axis)
				dim[i] = size_plus(c->prover->sizes, dim[i], list->part[k]->dim[i]);
			else if (!must_equal(c->prover, dim[i], list->part[k]->dim[i]))
				return;
	}
	call_results(c, dim, list->part[0]->n);
}

static void
prove_stack(Call *c)
{
	const Sized *list = arg_tensors(c);
	const Size *dim[RT_MAX_RANK];
	int axis;

	if (!list || !arg_axis(c, "dim", list->part[0]->n + 1, &axis))
		return;
	for (int i = 0; i < list->part[0]->n; i++) {
		dim[i + (i >= axis)] = list->part[0]->dim[i];
		for (int k = 1; k < list->n; k++)
			if (!must_equal(c->prover, list->part[0]->dim[i], list->part[k]->dim[i]))
				return;
	}
	dim[axis] = call_number(c, list->n);
	call_results(c, dim, list->part[0]->n + 1);
}

static void
prove_pad(Call *c)
{
	const Sized *t = call_tensor(c), *by = arg_of(c, "pad"), *mode = arg_of(c, "mode");
	const Size *dim[RT_MAX_RANK];

	if (!t || by->kind != SIZED_PARTS || by->n % 2 || by->n > 2 * t->n ||
	    (mode->kind == SIZED_VALUE && (mode->value.tag != RT_STR || strcmp(mode->value.u.str->s, "constant"))))
		return;
	for (int i = 0; i < t->n; i++) {
		const int at = 2 * (t->n - 1 - i);

		dim[i] = t->dim[i];
		for (int k = at; k < at + 2 && k < by->n; k++) {
			if (by->part[k]->kind != SIZED_NUMBER)
				return;
			dim[i] = size_plus(c->prover->sizes, dim[i], by->part[k]->number);
		}
		if (!must_be_at_least(c->prover, dim[i], 1))
			return;
	}
	call_results(c, dim, t->n);
}

static void
prove_repeat(Call *c)
{
	const Sized *t = call_tensor(c), *by = arg_of(c, "repeats");
	const Size *dim[RT_MAX_RANK];

	if (!t || by->kind != SIZED_PARTS || by->n < t->n || by->n > RT_MAX_RANK)
		return;
	for (int i = 0; i < by->n; i++) {
		const int at = i - (by->n - t->n);

		if (by->part[i]->kind != SIZED_NUMBER || !must_be_at_least(c->prover, by->part[i]->number, 1))
			return;
		dim[i] = at < 0 ? by->part[i]->number
				: size_times(c->prover->sizes, t->dim[at], by->part[i]->number);
	}
	call_results(c, dim, by->n);
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* Reads `n` constant ints, of a number as often as needed. missing: value of each if the list is empty, or null. */
static bool
arg_ints(const Call *c, const char *name, int n, const int64_t *missing, int64_t *out)
{
	const Sized *v = arg_of(c, name);
	const Size *size[RT_MAX_RANK];

	if (v->kind == SIZED_PARTS && !v->n && missing) {
		for (int i = 0; i < n; i++)
			out[i] = missing[i];
		return true;
	}
	if (arg_sizes(c, name, n, size) != n)
		return false;
	for (int i = 0; i < n; i++)
		if (!size_const(size[i], &out[i]))
			return false;
	return true;
}

enum { MOST_SPATIAL = 3 };

typedef struct Window {
	int64_t kernel[MOST_SPATIAL], stride[MOST_SPATIAL], padding[MOST_SPATIAL], dilation[MOST_SPATIAL],
		more[MOST_SPATIAL];      /* more: a transposed convolution's output padding */
	bool transposed, ceil;
} Window;

/* Number of places of a window along an axis. Null if it depends on sizes whether the last one is left out. */
static const Size *
window_count(Call *c, const Window *w, int i, const Size *in)
{
	SizeTable *z = c->prover->sizes;
	const int64_t reach = w->dilation[i] * (w->kernel[i] - 1), s = w->stride[i];
	const Size *n, *one = call_number(c, 1), *by = call_number(c, s);
	bool outside = false;

	if (s < 1 || w->kernel[i] < 1)
		return NULL;
	if (w->transposed)
		return size_plus(z, size_times(z, size_minus(z, in, one), by),
				 call_number(c, reach - 2 * w->padding[i] + w->more[i] + 1));
	n = size_plus(z, in, call_number(c, 2 * w->padding[i] - reach - 1));
	if (!must_be_at_least(c->prover, n, 0))
		return NULL;
	n = size_floor(z, size_plus(z, n, call_number(c, w->ceil ? s - 1 : 0)), by);
	in = size_plus(z, in, call_number(c, w->padding[i]));
	if (w->ceil && !prove_at_least(c->prover, size_minus(z, size_times(z, n, by), in), 0, &outside))
		return NULL;
	return outside ? n : size_plus(z, n, one);
}

/* Sets the results: the dims of t before the last n, with other channels unless null, and places of windows. */
static void
set_windows(Call *c, const Sized *t, const Window *w, int n, const Size *channels)
{
	const Size *dim[RT_MAX_RANK];

	for (int i = 0; i < t->n; i++)
		if (i < t->n - n)
			dim[i] = channels && i == t->n - n - 1 ? channels : t->dim[i];
		else if (!(dim[i] = window_count(c, w, i - (t->n - n), t->dim[i])) ||
			 !must_be_at_least(c->prover, dim[i], 1))
			return;
	call_results(c, dim, t->n);
}

static void
prove_window(Call *c)
{
	const Sized *x = arg_tensor(c, "input"), *k = arg_tensor(c, "weight");
	const int n = k ? k->n - 2 : 0;
	int64_t transposed = op_has(c->node->op, TRAIT_TRANSPOSED), groups;
	const Size *channels;
	Window w = { .more = { 0 } };

	if (!x || n < 1 || n > MOST_SPATIAL || (x->n != n + 1 && x->n != n + 2) || !arg_int(c, "groups", &groups) ||
	    (node_arg(c->node, "transposed") && !arg_int(c, "transposed", &transposed)) ||
	    !arg_ints(c, "stride", n, NULL, w.stride) || !arg_ints(c, "padding", n, NULL, w.padding) ||
	    !arg_ints(c, "dilation", n, NULL, w.dilation) ||
	    (transposed && !arg_ints(c, "output_padding", n, NULL, w.more)))
		return;
	for (int i = 0; i < n; i++)
		if (!size_const(k->dim[2 + i], &w.kernel[i]))
			return;
	w.transposed = transposed;
	channels = transposed ? size_times(c->prover->sizes, k->dim[1], call_number(c, groups)) : k->dim[0];
	if (must_equal(c->prover, x->dim[x->n - n - 1], transposed ? k->dim[0] :
		       size_times(c->prover->sizes, k->dim[1], call_number(c, groups))))
		set_windows(c, x, &w, n, channels);
}

static void
prove_pool(Call *c)
{
	static const int64_t one[] = { 1, 1, 1 };
	const Sized *x = arg_tensor(c, "self");
	int64_t ceil = 0;
	Window w = { .more = { 0 } };
	int n = 1;

	while (n < MOST_SPATIAL && !strchr(c->node->op->name, '0' + n))        /* max_pool2d has two spatial dims */
		n++;
	if (!x || (x->n != n + 1 && x->n != n + 2) || !arg_ints(c, "kernel_size", n, NULL, w.kernel) ||
	    !arg_ints(c, "stride", n, w.kernel, w.stride) || !arg_ints(c, "padding", n, NULL, w.padding) ||
	    (node_arg(c->node, "ceil_mode") && !arg_int(c, "ceil_mode", &ceil)))
		return;
	if (!node_arg(c->node, "dilation"))
		memcpy(w.dilation, one, sizeof one);
	else if (!arg_ints(c, "dilation", n, NULL, w.dilation))
		return;
	w.ceil = ceil;
	set_windows(c, x, &w, n, NULL);
}

/* Sets the results: the dims of t, of which the last n are these. */
static void
set_last(Call *c, const Sized *t, const Size *const *last, int n)
{
	const Size *dim[RT_MAX_RANK];

	if (n > t->n)
		return;
	for (int i = 0; i < t->n; i++) {
		dim[i] = i < t->n - n ? t->dim[i] : last[i - (t->n - n)];
		if (!must_be_at_least(c->prover, dim[i], 1))
			return;
	}
	call_results(c, dim, t->n);
}

static void
prove_adaptive(Call *c)
{
	const Sized *x = arg_tensor(c, "self"), *to = arg_of(c, "output_size");
	const Size *dim[MOST_SPATIAL];

	if (!x || to->kind != SIZED_PARTS || to->n < 1 || to->n > MOST_SPATIAL || to->n >= x->n)
		return;
	for (int i = 0; i < to->n; i++) {
		const Sized *part = to->part[i];

		if (part->kind != SIZED_NUMBER && !(part->kind == SIZED_VALUE && part->value.tag == RT_NONE))
			return;
		dim[i] = part->kind == SIZED_NUMBER ? part->number : x->dim[x->n - to->n + i];
	}
	set_last(c, x, dim, to->n);
}

/* floor(n * by), if `by` is an integer or the inverse of a power of two, so that no rounding differs. */
static const Size *
scaled(Call *c, const Size *n, double by)
{
	if (by >= 1 && by < 1e6 && by == (double)(int64_t)by)
		return times(c, n, call_number(c, (int64_t)by));
	for (int64_t d = 2; d <= 64; d *= 2)
		if (by * (double)d == 1)
			return size_floor(c->prover->sizes, n, call_number(c, d));
	return NULL;
}

static void
prove_resize(Call *c)
{
	const Sized *x = arg_tensor(c, "input"), *to = arg_of(c, "output_size"), *by = arg_of(c, "scale_factors");
	const Size *dim[MOST_SPATIAL];
	const int n = to->kind == SIZED_PARTS ? to->n : by->kind == SIZED_PARTS ? by->n : 0;

	if (!x || n < 1 || n > MOST_SPATIAL || x->n != n + 2)
		return;
	for (int i = 0; i < n; i++) {
		const Sized *part = to->kind == SIZED_PARTS ? to->part[i] : by->part[i];

		dim[i] = part->kind == SIZED_NUMBER ? part->number : NULL;
		if (part->kind == SIZED_VALUE && part->value.tag == RT_DOUBLE)
			dim[i] = scaled(c, x->dim[2 + i], part->value.u.f);
		if (!dim[i])
			return;
	}
	set_last(c, x, dim, n);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

static void
prove_linear(Call *c)
{
	const Sized *x = arg_tensor(c, "input"), *w = arg_tensor(c, "weight");

	if (x && w && x->n && w->n == 2 && must_equal(c->prover, x->dim[x->n - 1], w->dim[1]))
		set_last(c, x, &w->dim[0], 1);
}

static void
prove_matmul(Call *c)
{
	const Sized *a = arg_tensor(c, "self"), *b = arg_tensor(c, node_arg(c->node, "other") ? "other" : "mat2");
	const Size *dim[RT_MAX_RANK], *inner;
	Sized rest[2];
	int n = 0;

	if (!a || !b || !a->n || !b->n)
		return;
	inner = b->dim[b->n > 1 ? b->n - 2 : 0];
	rest[0] = (Sized){ .n = a->n > 2 ? a->n - 2 : 0, .dim = a->dim };
	rest[1] = (Sized){ .n = b->n > 2 ? b->n - 2 : 0, .dim = b->dim };
	if (!must_equal(c->prover, a->dim[a->n - 1], inner) || !broadcast_into(c, dim, &n, &rest[0]) ||
	    !broadcast_into(c, dim, &n, &rest[1]))
		return;
	if (a->n > 1)
		dim[n++] = a->dim[a->n - 2];
	if (b->n > 1)
		dim[n++] = b->dim[b->n - 1];
	call_results(c, dim, n);
}

static void
prove_addmm(Call *c)
{
	const bool batch = node_arg(c->node, "batch1") != NULL;
	const Sized *bias = arg_tensor(c, "self"), *a = arg_tensor(c, batch ? "batch1" : "mat1"),
		  *b = arg_tensor(c, batch ? "batch2" : "mat2");
	const Size *dim[3];
	const int n = batch ? 3 : 2;

	if (!bias || !a || !b || a->n != n || b->n != n || bias->n > n ||
	    !must_equal(c->prover, a->dim[n - 1], b->dim[n - 2]) ||
	    (batch && !must_equal(c->prover, a->dim[0], b->dim[0])))
		return;
	dim[0] = a->dim[0];
	dim[n - 2] = a->dim[n - 2];
	dim[n - 1] = b->dim[n - 1];
	for (int i = 0; i < bias->n; i++)
		if (!size_is(bias->dim[i], 1) && !must_equal(c->prover, bias->dim[i], dim[n - bias->n + i]))
			return;
	call_results(c, dim, n);
}

static void
prove_attention(Call *c)
{
	const Sized *q = arg_tensor(c, "query"), *k = arg_tensor(c, "key"), *v = arg_tensor(c, "value"),
		    *mask = arg_of(c, "attn_mask");
	const Size *dim[RT_MAX_RANK];
	int n;

	if (!q || !k || !v || q->n < 2 || k->n != q->n || v->n != q->n ||
	    (mask->kind != SIZED_TENSOR && !arg_is_none(c, "attn_mask")))
		return;
	n = q->n;
	for (int i = 0; i < n - 2; i++)
		if (!must_equal(c->prover, k->dim[i], v->dim[i]) || !(dim[i] = common_size(c, q->dim[i], k->dim[i])))
			return;
	if (!must_equal(c->prover, q->dim[n - 1], k->dim[n - 1]) ||
	    !must_equal(c->prover, k->dim[n - 2], v->dim[n - 2]))
		return;
	dim[n - 2] = q->dim[n - 2];
	dim[n - 1] = k->dim[n - 2];
	for (int i = 0; i < mask->n && mask->kind == SIZED_TENSOR; i++)
		if (mask->n > n || (!size_is(mask->dim[i], 1) &&
				    !must_equal(c->prover, mask->dim[i], dim[n - mask->n + i])))
			return;
	dim[n - 1] = v->dim[n - 1];
	call_results(c, dim, n);
}

/* A recurrent layer's walk over steps: states of all steps, an LSTM's last c, scratch memory of a projection. */
static void
prove_walk(Call *c)
{
	const Sized *gates = arg_tensor(c, "gates"), *h = arg_tensor(c, "h"), *cell = arg_tensor(c, "c"),
		  *kind = arg_of(c, "kind");
	const Size *y[3], *last[2];
	bool lstm;

	if (!gates || !h || gates->n != 3 || h->n != 2 || c->node->nout != 3 || kind->kind != SIZED_VALUE ||
	    kind->value.tag != RT_STR || !must_equal(c->prover, gates->dim[1], h->dim[0]))
		return;
	lstm = !strcmp(kind->value.u.str->s, "lstm");
	if (lstm && (!cell || cell->n != 2 || !must_equal(c->prover, cell->dim[0], h->dim[0])))
		return;
	y[0] = gates->dim[0];
	y[1] = h->dim[0];
	y[2] = h->dim[1];
	last[0] = lstm ? h->dim[0] : call_number(c, 0);
	last[1] = lstm ? cell->dim[1] : h->dim[1];
	c->out[0] = call_new(c, y, 3);
	c->out[1] = call_new(c, last, 2);
	last[0] = arg_is_none(c, "p") ? call_number(c, 0) : h->dim[0];
	c->out[2] = call_new(c, last, 2);
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

/* Notes the dims that are reduced. Returns false if they are unknown. */
static bool
reduced_dims(const Call *c, int n, bool *gone)
{
	const Sized *v = arg_of(c, "dim");
	const bool all = !node_arg(c->node, "dim") || arg_is_none(c, "dim") || (v->kind == SIZED_PARTS && !v->n);

	for (int i = 0; i < n; i++)
		gone[i] = all;
	if (all)
		return true;
	for (int i = 0; i < (v->kind == SIZED_PARTS ? v->n : 1); i++) {
		const Sized *part = v->kind == SIZED_PARTS ? v->part[i] : v;
		int64_t at;

		if (part->kind != SIZED_NUMBER || !size_const(part->number, &at) || at < -n || at >= n)
			return false;
		gone[at < 0 ? at + n : at] = true;
	}
	return true;
}

static void
prove_reduce(Call *c)
{
	const Sized *t = call_tensor(c);
	const Size *dim[RT_MAX_RANK];
	bool gone[RT_MAX_RANK];
	int64_t keep = 0;
	int n = 0;

	if (!t || !reduced_dims(c, t->n, gone) || (node_arg(c->node, "keepdim") && !arg_int(c, "keepdim", &keep)))
		return;
	for (int i = 0; i < t->n; i++)
		if (!gone[i])
			dim[n++] = t->dim[i];
		else if (keep)
			dim[n++] = call_number(c, 1);
	call_results(c, dim, n);
}

/* topk: the results have k elements along the dim. */
static void
prove_top(Call *c)
{
	const Sized *t = arg_tensor(c, "self"), *k = arg_of(c, "k");
	const Size *dim[RT_MAX_RANK];
	int axis;

	if (!t || !t->n || k->kind != SIZED_NUMBER || !arg_axis(c, "dim", t->n, &axis) ||
	    !must_be_at_least(c->prover, k->number, 1) ||
	    !must_be_at_least(c->prover, size_minus(c->prover->sizes, t->dim[axis], k->number), 0))
		return;
	for (int i = 0; i < t->n; i++)
		dim[i] = i == axis ? k->number : t->dim[i];
	call_results(c, dim, t->n);
}

/* ---- elements by index ------------------------------------------------------------------------------------------- */

static void
prove_lookup(Call *c)
{
	const Sized *w = arg_tensor(c, "weight"), *index = arg_tensor(c, "indices");
	const Size *dim[RT_MAX_RANK];

	if (!w || !index || w->n != 2 || index->n + 1 > RT_MAX_RANK)
		return;
	for (int i = 0; i < index->n; i++)
		dim[i] = index->dim[i];
	dim[index->n] = w->dim[1];
	call_results(c, dim, index->n + 1);
}

static void
prove_selected(Call *c)
{
	const Sized *t = arg_tensor(c, "self"), *index = arg_tensor(c, "index");
	const Size *dim[RT_MAX_RANK];
	int axis;

	if (!t || !index || index->n != 1 || !arg_axis(c, "dim", t->n, &axis))
		return;
	for (int i = 0; i < t->n; i++)
		dim[i] = i == axis ? index->dim[0] : t->dim[i];
	call_results(c, dim, t->n);
}

/* gather: the index is nowhere larger than the tensor, except along the dim. */
static void
prove_like_index(Call *c)
{
	const Sized *t = arg_tensor(c, "self"), *index = arg_tensor(c, "index");
	int axis;

	if (!t || !index || index->n != t->n || !arg_axis(c, "dim", t->n, &axis))
		return;
	for (int i = 0; i < t->n; i++)
		if (i != axis && !must_be_at_least(c->prover, less_by(c, t->dim[i], index->dim[i]), 0))
			return;
	call_results(c, index->dim, index->n);
}

/* Returns the tensor that an operator writes by indices, and demands what it requires of their sizes: the index is
 * nowhere larger than the source, nor than the tensor, except along the dim.  Null if they are unknown. */
static Sized *
scattered(Call *c)
{
	Sized *t = arg_tensor(c, "self");
	const Sized *index = arg_tensor(c, "index"), *from = node_arg(c->node, "src") ? arg_tensor(c, "src") : index;
	int axis;

	if (!t || !index || !from || index->n != t->n || from->n != t->n || !arg_axis(c, "dim", t->n, &axis))
		return NULL;
	for (int i = 0; i < t->n; i++)
		if (!must_be_at_least(c->prover, less_by(c, from->dim[i], index->dim[i]), 0) ||
		    (i != axis && !must_be_at_least(c->prover, less_by(c, t->dim[i], index->dim[i]), 0)))
			return NULL;
	return t;
}

static void
prove_scattered(Call *c)
{
	Sized *t = scattered(c);

	if (t && c->node->op->sizes == SIZES_SCATTERED_SELF)
		c->out[0] = t;
	else if (t)
		call_results(c, t->dim, t->n);
}

/* An operator that writes its first argument by indices. */
static void
prove_self(Call *c)
{
	Sized *t = arg_tensor(c, "self");

	if (t && equal_sizes_hold(c))
		c->out[0] = t;
}

/* embedding_bag: a row for each bag.  Whether sums list their indices depends on dtypes (rt/ops/nn.c). */
static void
prove_bag(Call *c)
{
	const Sized *w = arg_tensor(c, "weight"), *index = arg_tensor(c, "indices"),
		    *offsets = arg_tensor(c, "offsets"), *scale = arg_tensor(c, "per_sample_weights");
	const bool padded = node_arg(c->node, "padding_idx") && !arg_is_none(c, "padding_idx");
	const Size *row[2], *none[] = { call_number(c, 0) };
	int64_t mode, last;

	if (!w || !index || !offsets || w->n != 2 || index->n != 1 || offsets->n != 1 || c->node->nout != 4 ||
	    !arg_int(c, "mode", &mode) || !arg_int(c, "include_last_offset", &last) ||
	    (!scale && !arg_is_none(c, "per_sample_weights")) ||
	    (scale && (scale->n != 1 || !must_equal(c->prover, scale->dim[0], index->dim[0]))))
		return;
	row[0] = size_minus(c->prover->sizes, offsets->dim[0], call_number(c, last != 0));
	row[1] = w->dim[1];
	if (!must_be_at_least(c->prover, row[0], 1))
		return;
	c->out[0] = call_new(c, row, 2);
	if (mode || w->dtype)
		c->out[1] = call_new(c, mode || w->dtype == 1 + RT_f64 || padded ? index->dim : none, 1);
	c->out[2] = call_new(c, mode ? row : offsets->dim, 1);
	c->out[3] = mode == 2 ? call_new(c, row, 2) : call_new(c, mode ? row : offsets->dim, 1);
}

/* Sets *first and *last to the dims that have index tensors, and broadcasts their sizes. False if they are apart. */
static bool
broadcast_indices(Call *c, const Sized *list, int *first, int *last, const Size **dim, int *n)
{
	*first = -1;
	for (int i = 0; i < list->n; i++) {
		const Sized *index = list->part[i];

		if (index->kind == SIZED_VALUE && index->value.tag == RT_NONE)
			continue;
		if (index->kind != SIZED_TENSOR || (*first >= 0 && i != *last + 1) || !broadcast_into(c, dim, n, index))
			return false;
		*first = *first < 0 ? i : *first;
		*last = i;
	}
	return *first >= 0;
}

/* Adjacent dims of t are replaced by those of the index tensors.  A mask has no known sizes.  Returns the number of
 * dims, or -1. */
static int
indexed_dims(Call *c, const Sized *t, const Size **dim)
{
	const Sized *list = arg_of(c, "indices");
	const Size *index[RT_MAX_RANK];
	int first, last = 0, count = 0, n = 0;

	if (!t || list->kind != SIZED_PARTS || list->n > t->n ||
	    !broadcast_indices(c, list, &first, &last, index, &count) || t->n + count > RT_MAX_RANK)
		return -1;
	for (int i = 0; i < first; i++)
		dim[n++] = t->dim[i];
	for (int i = 0; i < count; i++)
		dim[n++] = index[i];
	for (int i = last + 1; i < t->n; i++)
		dim[n++] = t->dim[i];
	return n;
}

static void
prove_index(Call *c)
{
	const Size *dim[RT_MAX_RANK];
	const int n = indexed_dims(c, arg_tensor(c, "self"), dim);

	if (n >= 0)
		call_results(c, dim, n);
}

/* index_put: the values broadcast to the elements that index would return. */
static void
prove_put(Call *c)
{
	Sized *t = arg_tensor(c, "self");
	const Sized *y = arg_tensor(c, "values");
	const Size *dim[RT_MAX_RANK];
	const int n = indexed_dims(c, t, dim);

	if (!y || y->n > n)
		return;
	for (int i = 0; i < y->n; i++)
		if (!size_is(y->dim[i], 1) && !must_equal(c->prover, y->dim[i], dim[n - y->n + i]))
			return;
	if (node_writes_input(c->node, 0))
		c->out[0] = t;
	else
		call_results(c, t->dim, t->n);
}

/* ---- Fourier transforms ------------------------------------------------------------------------------------------ */

/* Lists the transformed dims: those of `dim`, else the last ones. Returns their number, or -1. */
static int
transformed_dims(Call *c, const Sized *t, const Sized *sizes, int *axis)
{
	const Sized *v = arg_of(c, "dim");
	const int n = v->kind == SIZED_PARTS ? v->n : v->kind == SIZED_NUMBER ? 1 :
		      sizes->kind == SIZED_PARTS ? sizes->n : t->n;

	for (int i = 0; i < n && n <= t->n; i++) {
		const Sized *part = v->kind == SIZED_PARTS ? v->part[i] : v;
		int64_t at = t->n - n + i;

		if ((part->kind == SIZED_NUMBER && !size_const(part->number, &at)) || !wrap_axis(at, t->n, &axis[i]))
			return -1;
	}
	return n <= t->n ? n : -1;
}

static void
prove_transform(Call *c)
{
	const Sized *t = arg_tensor(c, "self"), *sizes = arg_of(c, node_arg(c->node, "n") ? "n" : "s");
	const SizesRule rule = c->node->op->sizes;
	SizeTable *z = c->prover->sizes;
	const Size *dim[RT_MAX_RANK], *one = call_number(c, 1), *two = call_number(c, 2);
	int axis[RT_MAX_RANK];
	const int n = t ? transformed_dims(c, t, sizes, axis) : -1;

	if (n < 1 || (sizes->kind == SIZED_PARTS && sizes->n != n))
		return;
	for (int i = 0; i < t->n; i++)
		dim[i] = t->dim[i];
	for (int i = 0; i < n; i++) {
		const Sized *given = sizes->kind == SIZED_PARTS ? sizes->part[i] : sizes;
		const bool known = given->kind == SIZED_NUMBER;
		const Size *own = dim[axis[i]];

		if (i == n - 1 && rule == SIZES_TRANSFORM_BACK)
			own = times(c, two, less_by(c, own, one));
		own = known ? given->number : own;
		if ((!known && sizes->kind != SIZED_VALUE) || !must_be_at_least(c->prover, own, 1))
			return;
		dim[axis[i]] = i == n - 1 && rule == SIZES_TRANSFORM_HALF ?
			       size_plus(z, size_floor(z, own, two), one) : own;
	}
	call_results(c, dim, t->n);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static SizesRuleFn *const rules[NSIZES] = {
	[SIZES_BROADCAST] = prove_broadcast, [SIZES_SAME] = prove_same, [SIZES_ITSELF] = prove_itself,
	[SIZES_CONTIGUOUS] = prove_contiguous, [SIZES_FIXED] = prove_fixed,
	[SIZES_ALIAS] = prove_alias, [SIZES_VIEW_AS] = prove_view_as, [SIZES_FLATTEN] = prove_flatten,
	[SIZES_UNFLATTEN] = prove_unflatten, [SIZES_PERMUTE] = prove_permute, [SIZES_TRANSPOSE] = prove_transpose,
	[SIZES_UNSQUEEZE] = prove_unsqueeze, [SIZES_SQUEEZE] = prove_squeeze, [SIZES_SLICE] = prove_slice,
	[SIZES_NARROW] = prove_narrow, [SIZES_SELECT] = prove_select, [SIZES_EXPAND] = prove_expand,
	[SIZES_CHUNK] = prove_chunk, [SIZES_SPLIT] = prove_split, [SIZES_UNBIND] = prove_unbind,
	[SIZES_CAT] = prove_cat, [SIZES_STACK] = prove_stack, [SIZES_PAD] = prove_pad, [SIZES_REPEAT] = prove_repeat,
	[SIZES_WINDOW] = prove_window, [SIZES_POOL] = prove_pool, [SIZES_ADAPTIVE] = prove_adaptive,
	[SIZES_RESIZE] = prove_resize, [SIZES_LINEAR] = prove_linear, [SIZES_MATMUL] = prove_matmul,
	[SIZES_ADDMM] = prove_addmm, [SIZES_ATTENTION] = prove_attention, [SIZES_WALK] = prove_walk,
	[SIZES_REDUCE] = prove_reduce, [SIZES_LOOKUP] = prove_lookup, [SIZES_SELECTED] = prove_selected,
	[SIZES_LIKE_INDEX] = prove_like_index, [SIZES_INDEX] = prove_index, [SIZES_TOP] = prove_top,
	[SIZES_SCATTERED] = prove_scattered, [SIZES_SCATTERED_SELF] = prove_scattered, [SIZES_SELF] = prove_self,
	[SIZES_BAG] = prove_bag, [SIZES_STEPS] = prove_steps, [SIZES_SCALAR] = prove_scalar,
	[SIZES_PUT] = prove_put, [SIZES_TRANSFORM] = prove_transform, [SIZES_TRANSFORM_HALF] = prove_transform,
	[SIZES_TRANSFORM_BACK] = prove_transform, [SIZES_EYE] = prove_eye,
	[SIZES_TRIPS] = prove_trips,
	[SIZES_WRITTEN] = prove_written, [SIZES_UNFOLD] = prove_unfold, [SIZES_TO_TENSOR] = prove_to_tensor,
	[SIZES_TO_INT] = prove_to_int, [SIZES_FILL] = prove_fill, [SIZES_RANGE] = prove_range,
	[SIZES_SIZE] = prove_size, [SIZES_SHAPE] = prove_shape, [SIZES_STRIDES] = prove_strides,
	[SIZES_NUMEL] = prove_numel, [SIZES_STRIDED] = prove_strided,
	[SIZES_PLUS] = prove_computed, [SIZES_MINUS] = prove_computed, [SIZES_TIMES] = prove_computed,
	[SIZES_FLOORDIV] = prove_computed, [SIZES_REMAINDER] = prove_computed, [SIZES_NEGATIVE] = prove_negative,
	[SIZES_LEAST] = prove_listed, [SIZES_MOST] = prove_listed, [SIZES_EQUAL] = prove_compared,
	[SIZES_DIFFERENT] = prove_compared, [SIZES_LESS] = prove_computed, [SIZES_LESS_EQUAL] = prove_computed,
	[SIZES_GREATER] = prove_computed, [SIZES_GREATER_EQUAL] = prove_computed,
	[SIZES_APPEND] = prove_append, [SIZES_EXTEND] = prove_extend, [SIZES_ITEM] = prove_item,
	[SIZES_SET_ITEM] = prove_set_item,
	[SIZES_PART] = prove_part, [SIZES_JOIN] = prove_copy_list, [SIZES_COPY_LIST] = prove_copy_list,
};

/* Evaluates an in-place form by the rule of the operator that it is a form of. */
static void
prove_in_place(Call *c)
{
	const Op *base = op_by_id(c->prover->dynamic->cx, c->node->op->base);

	if (base && (base->form == OP_MAP || base->sizes == SIZES_BROADCAST))
		prove_written(c);
	else if (base && base->sizes == SIZES_SAME && c->node->nout == 1 && call_tensor(c) && equal_sizes_hold(c))
		c->out[0] = sized_of(c->prover, c->node->in[0]);
}

/* Does the node compute numbers of constants, without effects? */
static bool
is_of_constants(const Call *c)
{
	int64_t number;

	for (int i = 0; i < c->node->nin; i++) {
		const Sized *v = sized_of(c->prover, c->node->in[i]);

		if (v->kind != SIZED_VALUE && !(v->kind == SIZED_NUMBER && size_const(v->number, &number)))
			return false;
	}
	return c->node->op->rule == RULE_VALUE && c->node->op->effect == EFFECT_PURE;
}

void
prove_node(Call *c)
{
	const Op *op = c->node->op;
	bool known;

	if (!op)
		return;
	if (op->form == OP_ALSO && !op->exact)
		prove_in_place(c);
	else if (rules[op->sizes])
		rules[op->sizes](c);
	else if (is_of_constants(c))
		prove_fixed(c);
	known = c->node->nout && c->out[0]->kind != SIZED_UNKNOWN;
	for (int i = 0; i < c->node->nin && !known; i++)
		if (node_writes_input(c->node, i))
			sized_of(c->prover, c->node->in[i])->kind = SIZED_UNKNOWN;
}
