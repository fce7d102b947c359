/* codegen/program/sized_call.c - arguments and results of a node that a rule evaluates */
#include "proof.h"

/* ---- arguments --------------------------------------------------------------------------------------------------- */

Sized *
arg_of(const Call *c, const char *name)
{
	const Value *v = node_arg(c->node, name);

	return v ? sized_of(c->prover, v) : sized_new(c->prover);
}

Sized *
arg_tensor(const Call *c, const char *name)
{
	Sized *v = arg_of(c, name);

	return v->kind == SIZED_TENSOR ? v : NULL;
}

bool
arg_int(const Call *c, const char *name, int64_t *out)
{
	const Sized *v = arg_of(c, name);

	return v->kind == SIZED_NUMBER && size_const(v->number, out);
}

bool
arg_is_none(const Call *c, const char *name)
{
	const Sized *v = arg_of(c, name);

	return v->kind == SIZED_VALUE && v->value.tag == RT_NONE;
}

bool
wrap_axis(int64_t at, int n, int *axis)
{
	RT_ASSERT(n >= 0);
	*axis = (int)(at < 0 ? at + n : at);
	return at >= -n && at < n;
}

bool
arg_axis(const Call *c, const char *name, int n, int *axis)
{
	int64_t at;

	return arg_int(c, name, &at) && wrap_axis(at, n, axis);
}

int
arg_sizes(const Call *c, const char *name, int n, const Size **out)
{
	const Sized *v = arg_of(c, name);
	const int count = v->kind == SIZED_PARTS && v->n != 1 ? v->n : n;

	if ((v->kind != SIZED_PARTS && v->kind != SIZED_NUMBER) || count > RT_MAX_RANK)
		return -1;
	for (int i = 0; i < count; i++) {
		const Sized *part = v->kind == SIZED_NUMBER ? v : v->part[v->n == 1 ? 0 : i];

		if (part->kind != SIZED_NUMBER)
			return -1;
		out[i] = part->number;
	}
	return count;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

const Size *
call_number(const Call *c, int64_t v)
{
	return size_number(c->prover->sizes, v);
}

/* The first argument that is a known tensor. */
Sized *
call_tensor(const Call *c)
{
	for (int i = 0; i < c->node->nin; i++) {
		Sized *v = sized_of(c->prover, c->node->in[i]);

		if (v->kind == SIZED_TENSOR)
			return v;
	}
	return NULL;
}

Sized *
call_new(Call *c, const Size *const *dim, int n)
{
	Sized *v = sized_tensor(c->prover, n);

	for (int i = 0; i < n; i++) {
		if (size_lost(dim[i]))
			return sized_new(c->prover);
		v->dim[i] = dim[i];
	}
	return v;
}

/* A new tensor's strides follow from the order of the operand's.  Demands that this order is the same for all sizes. */
static bool
order_holds(Call *c, const Sized *t)
{
	SizeTable *z = c->prover->sizes;
	const Size **rows;
	bool is = true;

	if (!t->stride)
		return true;
	rows = contiguous_strides(c->prover, t);
	for (int i = 0; i < t->n; i++)
		is &= rows[i] == t->stride[i];
	for (int i = 0; i < t->n && !is; i++)
		for (int k = 0; k < t->n; k++) {
			const Size *next = size_times(z, t->stride[k], t->dim[k]);
			bool less;

			if (i == k)
				continue;
			if (!prove_at_least(c->prover, size_minus(z, t->stride[i], t->stride[k]), 0, &less) ||
			    !prove_equal(c->prover, t->stride[i], next, &less))
				return false;
		}
	return true;
}

bool
call_orders_hold(Call *c)
{
	for (int i = 0; i < c->node->nin; i++) {
		const Sized *v = sized_of(c->prover, c->node->in[i]);

		if (v->kind == SIZED_TENSOR && !order_holds(c, v))
			return false;
		for (int k = 0; k < v->n && v->kind == SIZED_PARTS; k++)
			if (v->part[k]->kind == SIZED_TENSOR && !order_holds(c, v->part[k]))
				return false;
	}
	return true;
}

/* Is the type of an argument a tensor whose sizes are unknown? */
bool
call_lacks_tensor(const Call *c)
{
	for (int i = 0; i < c->node->nin; i++)
		if (c->node->in[i]->type->kind == TYPE_TENSOR &&
		    sized_of(c->prover, c->node->in[i])->kind != SIZED_TENSOR)
			return true;
	return false;
}

/* Sets all results to new tensors of these sizes. With one dim they have rows whatever the operands have. */
void
call_results(Call *c, const Size *const *dim, int n)
{
	for (int i = 0; i < c->node->nout && (n <= 1 || call_orders_hold(c)); i++)
		c->out[i] = call_new(c, dim, n);
}

/* ---- pointwise --------------------------------------------------------------------------------------------------- */

/* Broadcasts two sizes. Null if that depends on them. */
const Size *
common_size(Call *c, const Size *a, const Size *b)
{
	if (a == b || size_is(b, 1))
		return a;
	if (size_is(a, 1))
		return b;
	return must_equal(c->prover, a, b) ? a : NULL;
}

/* Broadcasts the sizes of t into dim, of *n dims, aligned at the end. */
bool
broadcast_into(Call *c, const Size **dim, int *n, const Sized *t)
{
	for (int more = t->n - *n; more > 0; more--, ++*n) {
		for (int i = *n; i > 0; i--)
			dim[i] = dim[i - 1];
		dim[0] = call_number(c, 1);
	}
	RT_ASSERT(*n >= t->n && *n <= RT_MAX_RANK);
	for (int i = 0; i < t->n; i++) {
		const Size **at = &dim[*n - t->n + i];

		if (!(*at = common_size(c, *at, t->dim[i])))
			return false;
	}
	return true;
}

void
prove_broadcast(Call *c)
{
	const Size *dim[RT_MAX_RANK];
	int n = 0;

	if (call_lacks_tensor(c) || !call_tensor(c))
		return;
	for (int i = 0; i < c->node->nin; i++) {
		const Sized *v = sized_of(c->prover, c->node->in[i]);

		if (v->kind == SIZED_TENSOR && !broadcast_into(c, dim, &n, v))
			return;
	}
	call_results(c, dim, n);
}
