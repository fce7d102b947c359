/* codegen/program/proof_numbers.c - rules for ints, lists, and tensors that are made of ints */
#include "proof.h"

/* ---- new tensors ------------------------------------------------------------------------------------------------- */

void
prove_fill(Call *c)
{
	const Sized *list = arg_of(c, "size");
	const Size *dim[RT_MAX_RANK];

	if (list->kind != SIZED_PARTS || arg_sizes(c, "size", list->n, dim) != list->n)
		return;
	for (int i = 0; i < list->n; i++)
		if (!must_be_at_least(c->prover, dim[i], 1))
			return;
	c->out[0] = call_new(c, dim, list->n);
	if (c->out[0]->kind == SIZED_TENSOR)
		c->out[0]->stride = contiguous_strides(c->prover, c->out[0]);
}

/* Returns the number of ints from start to before end.  Null if the step is not known to be positive. */
static const Size *
range_length(const Call *c, const Size *start, const Size *end, const Size *step)
{
	SizeTable *z = c->prover->sizes;

	return size_at_least(z, step, 1) ? size_ceil(z, size_minus(z, end, start), step) : NULL;
}

/* Returns an argument that is an int.  Returns `none` if the operator has no such parameter, and null if the argument
 * is no known int. */
static const Size *
arg_number(const Call *c, const char *name, const Size *none)
{
	const Sized *v = arg_of(c, name);

	return !node_arg(c->node, name) ? none : v->kind == SIZED_NUMBER ? v->number : NULL;
}

void
prove_range(Call *c)
{
	const Size *start = arg_number(c, "start", call_number(c, 0)), *end = arg_number(c, "end", NULL),
		   *step = arg_number(c, "step", call_number(c, 1));
	const Size *n = start && end && step ? range_length(c, start, end, step) : NULL;

	if (n && must_be_at_least(c->prover, n, 1))
		call_results(c, &n, 1);
}

/* linspace and logspace */
void
prove_steps(Call *c)
{
	const Size *n = arg_number(c, "steps", NULL);

	if (n && must_be_at_least(c->prover, n, 1))
		call_results(c, &n, 1);
}

void
prove_eye(Call *c)
{
	const Size *rows = arg_number(c, "n", NULL);
	const Size *dim[] = { rows, arg_number(c, "m", rows) };

	if (dim[0] && dim[1] && must_be_at_least(c->prover, dim[0], 1) && must_be_at_least(c->prover, dim[1], 1))
		call_results(c, dim, 2);
}

void
prove_scalar(Call *c)
{
	call_results(c, NULL, 0);
}

/* The number of trips of a loop over a range. */
void
prove_trips(Call *c)
{
	const Size *start = arg_number(c, "lo", NULL), *end = arg_number(c, "hi", NULL),
		   *step = arg_number(c, "step", NULL);
	const Size *n = start && end && step ? range_length(c, start, end, step) : NULL;
	bool some;

	if (n && prove_at_least(c->prover, n, 0, &some))
		c->out[0] = sized_number(c->prover, some ? n : call_number(c, 0));
}

/* empty_strided, which stands for a tensor of known sizes and strides. */
void
prove_strided(Call *c)
{
	const Sized *dims = arg_of(c, "size"), *strides = arg_of(c, "stride");
	Sized *v;

	if (dims->kind != SIZED_PARTS || strides->kind != SIZED_PARTS || dims->n != strides->n)
		return;
	v = sized_tensor(c->prover, dims->n);
	v->stride = new(c->prover->arena, const Size *, dims->n + 1);
	for (int i = 0; i < dims->n; i++) {
		if (dims->part[i]->kind != SIZED_NUMBER || strides->part[i]->kind != SIZED_NUMBER)
			return;
		v->dim[i] = dims->part[i]->number;
		v->stride[i] = strides->part[i]->number;
	}
	c->out[0] = v;
}

/* ---- questions and numbers --------------------------------------------------------------------------------------- */

void
prove_size(Call *c)
{
	const Sized *t = call_tensor(c);
	int axis;

	if (t && arg_axis(c, "dim", t->n, &axis))
		c->out[0] = sized_number(c->prover, t->dim[axis]);
}

static void
ints_list(Call *c, const Size *const *size, int n)
{
	c->out[0] = sized_parts(c->prover, n);
	c->out[0]->value.tag = RT_LIST;
	for (int i = 0; i < n; i++)
		c->out[0]->part[i] = sized_number(c->prover, size[i]);
}

void
prove_shape(Call *c)
{
	const Sized *t = call_tensor(c);

	if (t)
		ints_list(c, t->dim, t->n);
}

void
prove_strides(Call *c)
{
	const Sized *t = call_tensor(c);

	if (t && t->stride)
		ints_list(c, t->stride, t->n);
}

void
prove_numel(Call *c)
{
	const Sized *t = call_tensor(c);

	if (t)
		c->out[0] = sized_number(c->prover, sized_numel(c->prover, t));
}

void
prove_fixed(Call *c)
{
	for (int i = 0; i < c->node->nout && call_orders_hold(c); i++)
		if (c->node->out[i]->type->kind == TYPE_FLOAT)
			*c->out[i] = (Sized){ .kind = SIZED_VALUE, .value = { .tag = RT_DOUBLE } };
		else
			c->out[i]->kind = SIZED_FIXED;
}

/* An int as a tensor, whose value is known until it is written. */
void
prove_to_tensor(Call *c)
{
	const Sized *v = sized_of(c->prover, c->node->in[0]);

	if (v->kind != SIZED_NUMBER)
		return;
	c->out[0] = sized_tensor(c->prover, 0);
	c->out[0]->number = v->number;
}

void
prove_to_int(Call *c)
{
	const Sized *t = call_tensor(c);

	if (t && t->number && !sized_is_written(c->prover, t))
		c->out[0] = sized_number(c->prover, t->number);
}

/* Returns input i as a number: an int, or a tensor of one int. Null if it is none. */
static const Size *
number_in(const Call *c, int i)
{
	const Sized *v = i < c->node->nin ? sized_of(c->prover, c->node->in[i]) : NULL;

	if (!v || (v->kind == SIZED_TENSOR && sized_is_written(c->prover, v)))
		return NULL;
	return v->kind == SIZED_NUMBER || v->kind == SIZED_TENSOR ? v->number : NULL;
}

void
prove_negative(Call *c)
{
	const Size *a = number_in(c, 0);

	if (a)
		c->out[0] = sized_number(c->prover, size_minus(c->prover->sizes, call_number(c, 0), a));
}

/* The quotient rounded down, or what it leaves. */
static const Size *
quotient(Call *c, const Size *a, const Size *b, bool rest)
{
	SizeTable *z = c->prover->sizes;

	if (!size_at_least(z, b, 1))
		return NULL;
	return rest ? size_minus(z, a, size_times(z, size_floor(z, a, b), b)) : size_floor(z, a, b);
}

static const Size *
lesser(Call *c, const Size *a, const Size *b, bool most)
{
	SizeTable *z = c->prover->sizes;
	const Size *min;
	bool is;

	if (prove_at_least(c->prover, size_minus(z, a, b), 0, &is))
		return is == most ? a : b;
	min = size_min(z, a, b);
	return most ? size_minus(z, size_plus(z, a, b), min) : min;
}

static const Size *
truth(Call *c, bool known, bool is)
{
	return known ? call_number(c, is) : NULL;
}

/* An operator on two ints. */
static const Size *
int_result(Call *c, SizesRule rule, const Size *a, const Size *b)
{
	SizeTable *z = c->prover->sizes;
	Prover *p = c->prover;
	bool is = false, known;

	switch (rule) {
	case SIZES_PLUS: return size_plus(z, a, b);
	case SIZES_MINUS: return size_minus(z, a, b);
	case SIZES_TIMES: return size_times(z, a, b);
	case SIZES_FLOORDIV: return quotient(c, a, b, false);
	case SIZES_REMAINDER: return quotient(c, a, b, true);
	case SIZES_LEAST: return lesser(c, a, b, false);
	case SIZES_MOST: return lesser(c, a, b, true);
	case SIZES_EQUAL: known = prove_equal(p, a, b, &is); return truth(c, known, is);
	case SIZES_DIFFERENT: known = prove_equal(p, a, b, &is); return truth(c, known, !is);
	case SIZES_LESS: known = prove_at_least(p, size_minus(z, b, a), 1, &is); return truth(c, known, is);
	case SIZES_LESS_EQUAL: known = prove_at_least(p, size_minus(z, b, a), 0, &is); return truth(c, known, is);
	case SIZES_GREATER: known = prove_at_least(p, size_minus(z, a, b), 1, &is); return truth(c, known, is);
	case SIZES_GREATER_EQUAL: known = prove_at_least(p, size_minus(z, a, b), 0, &is); return truth(c, known, is);
	default: return NULL;
	}
}

/* Combines all ints of a list, such as min([a, b]).  Null if one is unknown. */
static const Size *
list_result(Call *c, const Sized *list)
{
	const Size *all = NULL;

	for (int i = 0; i < list->n; i++) {
		const Size *part = list->part[i]->kind == SIZED_NUMBER ? list->part[i]->number : NULL;

		all = !part ? NULL : i ? int_result(c, c->node->op->sizes, all, part) : part;
		if (!all)
			return NULL;
	}
	return all;
}

void
prove_listed(Call *c)
{
	const Sized *list = sized_of(c->prover, c->node->in[0]);
	const Size *all = list->kind == SIZED_PARTS ? list_result(c, list) : NULL;

	if (!all)
		prove_computed(c);
	else
		c->out[0] = sized_number(c->prover, all);
}

void
prove_computed(Call *c)
{
	const Size *a = number_in(c, 0), *b = number_in(c, 1),
		   *to = a && b ? int_result(c, c->node->op->sizes, a, b) : NULL;
	const bool tensors = c->node->op->form == OP_MAP;
	int64_t alpha = 1;

	if (tensors)
		prove_broadcast(c);
	if (!to || size_lost(to) || (node_arg(c->node, "alpha") && (!arg_int(c, "alpha", &alpha) || alpha != 1)))
		return;
	if (!tensors)
		c->out[0] = sized_number(c->prover, to);
	else if (c->out[0]->kind == SIZED_TENSOR)
		c->out[0]->number = to;
}

/* Comparison of two lists of ints. */
static void
compare_lists(Call *c, const Sized *a, const Sized *b)
{
	bool same = a->n == b->n, is = true;

	for (int i = 0; i < a->n && same; i++) {
		if (a->part[i]->kind != SIZED_NUMBER || b->part[i]->kind != SIZED_NUMBER ||
		    !prove_equal(c->prover, a->part[i]->number, b->part[i]->number, &is))
			return;
		same = is;
	}
	c->out[0] = sized_number(c->prover, call_number(c, same == (c->node->op->sizes == SIZES_EQUAL)));
}

void
prove_compared(Call *c)
{
	const Sized *a = sized_of(c->prover, c->node->in[0]), *b = sized_of(c->prover, c->node->in[1]);

	if (a->kind == SIZED_PARTS && b->kind == SIZED_PARTS)
		compare_lists(c, a, b);
	else
		prove_computed(c);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* Returns input i as a list of known length. Null if it is none. */
static Sized *
list_in(const Call *c, int i)
{
	Sized *v = i < c->node->nin ? sized_of(c->prover, c->node->in[i]) : NULL;

	return v && v->kind == SIZED_PARTS ? v : NULL;
}

/* Appends the parts of a list. */
static void
extend(Call *c, Sized *list, Sized *const *part, int n)
{
	Sized **all = new(c->prover->arena, Sized *, list->n + n + 1);

	for (int i = 0; i < list->n; i++)
		all[i] = list->part[i];
	for (int i = 0; i < n; i++)
		all[list->n + i] = part[i];
	list->part = all;
	list->n += n;
}

void
prove_append(Call *c)
{
	Sized *list = list_in(c, 0), *part = sized_of(c->prover, c->node->in[1]);

	if (!list)
		return;
	extend(c, list, &part, 1);
	for (int i = 0; i < c->node->nout; i++)
		c->out[i] = list;
}

/* A list that gets all parts of another one, which may be itself. */
void
prove_extend(Call *c)
{
	Sized *list = list_in(c, 0);
	const Sized *more = list_in(c, 1);

	if (!list || !more)
		return;
	extend(c, list, more->part, more->n);
	for (int i = 0; i < c->node->nout; i++)
		c->out[i] = list;
}

void
prove_copy_list(Call *c)
{
	const Sized *a = list_in(c, 0), *b = c->node->op->sizes == SIZES_JOIN ? list_in(c, 1) : a;

	if (!a || !b)
		return;
	c->out[0] = sized_parts(c->prover, 0);
	c->out[0]->value.tag = RT_LIST;
	extend(c, c->out[0], a->part, a->n);
	if (c->node->op->sizes == SIZES_JOIN)
		extend(c, c->out[0], b->part, b->n);
}

/* Reads a constant index of a list. */
static bool
list_index(const Call *c, const Sized *list, int *at)
{
	const Size *i = number_in(c, 1);
	int64_t v;

	if (!list || !i || !size_const(i, &v))
		return false;
	*at = (int)(v < 0 ? v + list->n : v);
	return *at >= 0 && *at < list->n;
}

void
prove_item(Call *c)
{
	const Sized *list = list_in(c, 0);
	int at;

	if (list_index(c, list, &at))
		c->out[0] = list->part[at];
}

void
prove_set_item(Call *c)
{
	Sized *list = list_in(c, 0);
	int at;

	if (list && !list_index(c, list, &at)) {
		list->kind = SIZED_UNKNOWN;
		return;
	}
	if (!list)
		return;
	list->part[at] = sized_of(c->prover, c->node->in[2]);
	for (int i = 0; i < c->node->nout; i++)
		c->out[i] = list;
}

/* Reads an end of a slice of a list, clamped to its length. */
static bool
list_end(const Call *c, int i, int n, int none, int *out)
{
	const Sized *v = sized_of(c->prover, c->node->in[i]);
	int64_t at;

	*out = none;
	if (v->kind == SIZED_VALUE && v->value.tag == RT_NONE)
		return true;
	if (v->kind != SIZED_NUMBER || !size_const(v->number, &at))
		return false;
	at = at < 0 ? at + n : at;
	*out = at < 0 ? 0 : at > n ? n : (int)at;
	return true;
}

void
prove_part(Call *c)
{
	const Sized *list = list_in(c, 0);
	int64_t step;
	int begin, end;

	if (!list || c->node->nin != 4 || !list_end(c, 1, list->n, 0, &begin) ||
	    !list_end(c, 2, list->n, list->n, &end) || !arg_int(c, "step", &step) || step != 1)
		return;
	c->out[0] = sized_parts(c->prover, 0);
	c->out[0]->value.tag = RT_LIST;
	if (end > begin)
		extend(c, c->out[0], list->part + begin, end - begin);
}
