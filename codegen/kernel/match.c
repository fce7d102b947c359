/*
 * Axes, operands and windows of kernels by name.
 */
#include "../../ir/row.h"
#include "match.h"

#include <string.h>

const Size *
match_constant(const Match *m, int64_t n)
{
	return size_number(m->kernel->sizes, n);
}

const Size *
match_times(const Match *m, const Size *a, const Size *b)
{
	return size_times(m->kernel->sizes, a, b);
}

bool
match_fits_int(Match *m, const Size *size)
{
	int64_t n;

	if (size_at_most(m->kernel->sizes, size, INT32_MAX))
		return true;
	m->narrow = size;
	return !size_const(size, &n) && kernel_typical(m->kernel, size, &n) && n <= INT32_MAX;
}

const Operand *
match_operand(const Match *m, int name)
{
	return &m->kernel->operand.at[m->operand[name]];
}

const Size *
match_extent(const Match *m, int axis)
{
	return m->axis[axis] < 0 ? match_constant(m, 1) : m->kernel->extent[m->axis[axis]];
}

const Size *
match_stride(const Match *m, int name, int axis)
{
	return match_operand(m, name)->stride[m->axis[axis]];
}

void
match_name_axes(Match *m, const int *names, int n)
{
	for (int i = 0; i < n; i++)
		m->axis[names[i]] = i;
}

const Bound *
match_input_bound(const Match *m, int i)
{
	return m->adaptive ? NULL : &match_operand(m, X)->bound.at[i];
}

/* Does a window run over dim i of x by steps, within a bound? */
static bool
is_window(const Match *m, int i)
{
	const Bound *in = &match_operand(m, X)->bound.at[i];

	for (int a = 0; a < m->kernel->naxis; a++)
		if (a != m->axis[m->out + i] && a != m->axis[m->tap + i] && !size_is(in->stride[a], 0))
			return false;
	return in->unit && !kernel_range(m->kernel, m->axis[m->tap + i]) &&
	       size_is(match_stride(m, X, m->out + i), 0) && size_is(match_stride(m, X, m->tap + i), 0);
}

/* Is dim i divided among the results' positions? */
static bool
is_divided(const Match *m, int i)
{
	const AxisRange *r = kernel_range(m->kernel, m->axis[m->tap + i]);
	const int out = m->axis[m->out + i];

	return r && r->first.of == out && r->end.of == out && !r->first.up && r->end.up && r->first.plus &&
	       size_is(r->first.plus, 0) && r->first.times == r->end.times && r->end.plus == r->end.times &&
	       r->first.per == match_extent(m, m->out + i) && r->end.per == match_extent(m, m->out + i) &&
	       size_is(match_stride(m, X, m->out + i), 0);
}

bool
match_has_windows(Match *m, int n, int out, int tap)
{
	const Operand *x = match_operand(m, X);

	if (x->access != ACCESS_READ || x->ngather || (x->bound.n && x->bound.n != n))
		return false;
	m->adaptive = !x->bound.n;
	m->out = out;
	m->tap = tap;
	for (int i = 0; i < n; i++)
		if (!(m->adaptive ? is_divided : is_window)(m, i))
			return false;
	return true;
}

const Size *
match_taps(const Match *m, int i)
{
	return m->adaptive ? match_constant(m, 1) : match_extent(m, m->tap + i);
}

const Size *
match_input_size(const Match *m, int i)
{
	return m->adaptive ? kernel_range(m->kernel, m->axis[m->tap + i])->first.times : match_input_bound(m, i)->limit;
}

const Size *
match_step(const Match *m, int i)
{
	return m->adaptive ? match_constant(m, 1) : match_input_bound(m, i)->stride[m->axis[m->out + i]];
}

const Size *
match_dilation(const Match *m, int i)
{
	return m->adaptive ? match_constant(m, 1) : match_input_bound(m, i)->stride[m->axis[m->tap + i]];
}

const Size *
match_padding(const Match *m, int i)
{
	const Size *none = match_constant(m, 0);

	return m->adaptive ? none : size_minus(m->kernel->sizes, none, match_input_bound(m, i)->offset);
}

const Size *
match_input_stride(const Match *m, int i)
{
	return m->adaptive ? match_stride(m, X, m->tap + i) : match_input_bound(m, i)->unit;
}

bool
match_refers_to(const Ref *r, RefKind kind, int at)
{
	return r->kind == kind && r->at == at && !r->part;
}

bool
match_runs_on(const Match *m, int name, int axis)
{
	return match_stride(m, name, G) == match_times(m, match_stride(m, name, axis), match_extent(m, axis));
}

int64_t
match_known(const Size *s)
{
	int64_t n;

	return size_const(s, &n) ? n : 0;
}

bool
match_is_number_size(const Size *s)
{
	int64_t n;

	return size_const(s, &n);
}

int64_t
match_typical(const Match *m, const Size *s)
{
	int64_t n;

	return kernel_typical(m->kernel, s, &n) ? n : 0;
}

bool
match_is_alike(const Match *m, int a, int b)
{
	return !memcmp(match_operand(m, a)->stride, match_operand(m, b)->stride, sizeof match_operand(m, a)->stride);
}

int64_t
match_at_most(const Size *s, int64_t most)
{
	int64_t n;

	return size_const(s, &n) && n < most ? n : most;
}

const Size *
match_blocks(const Match *m, const Size *size, int64_t each)
{
	return size_ceil(m->kernel->sizes, size, match_constant(m, each));
}
