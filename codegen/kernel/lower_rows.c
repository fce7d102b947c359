/*
 * Shared code of reductions: axes of dims, operands, pointwise steps.
 */
#include "row.h"
#include "lower.h"

#include <string.h>

/* ---- axes and operands ------------------------------------------------------------------------------------------- */

/* Returns the kernel's axis of a dim. */
static int
axis_of(const Rows *g, int dim)
{
	int axis = 0;

	RT_ASSERT(dim >= 0 && dim < g->ndim);
	for (int i = 0; i < g->ndim; i++)
		axis += g->gone[dim] ? !g->gone[i] || i < dim : !g->gone[i] && i < dim;
	return axis;
}

void
rows_begin(Rows *g, const char *name)
{
	RT_ASSERT(g->ndim >= 0 && g->ndim <= KERNEL_AXES);
	g->kernel = lower_over(g->row->p, g->row->n, name, g->ndim, g->dims);
	for (int i = 0; i < g->ndim; i++) {
		g->kernel->extent[axis_of(g, i)] = size_number(g->kernel->sizes, g->dims[i]);
		g->kernel->nreduce += g->gone[i];
	}
}

int
rows_operand(Rows *g, Access access, RtDtype dtype, const int64_t *stride, const Value *v)
{
	Operand o = { .dtype = dtype, .access = access, .along = -1 };

	for (int i = 0; i < g->ndim; i++)
		o.stride[axis_of(g, i)] = size_number(g->kernel->sizes, stride[i]);
	if (v)
		vec_push(g->row->p->cx->arena, &g->value, v);
	return kernel_operand(g->kernel, o);
}

bool
rows_prologue(Rows *g, const Node *group)
{
	Lowered l = { .kernel = g->kernel, .value = g->value };
	int axis[KERNEL_AXES];

	for (int i = 0; i < g->ndim; i++)
		axis[i] = axis_of(g, i);
	if (!lower_prologue(g->row->p, group, axis, &l, &g->x))
		return false;
	g->value = l.value;
	return true;
}

Ref
rows_place(Rows *g)
{
	int64_t stride[KERNEL_AXES], n = 1;

	for (int i = g->ndim - 1; i >= 0; i--) {
		stride[i] = g->gone[i] ? n : 0;
		n *= g->gone[i] ? g->dims[i] : 1;
	}
	return ref_operand(rows_operand(g, ACCESS_INDEX, RT_i64, stride, NULL));
}

RtDtype
rows_place_type(const Rows *g)
{
	return !g->row->p->dynamic && rows_count(g) < INT32_MAX ? RT_i32 : RT_i64;
}

Ref
rows_number(Rows *g, int64_t n)
{
	Operand o = { .dtype = RT_i64, .access = ACCESS_INDEX, .along = -1 };

	o.offset = size_number(g->kernel->sizes, n);
	return ref_operand(kernel_operand(g->kernel, o));
}

int64_t
rows_count(const Rows *g)
{
	int64_t n = 1;

	for (int i = 0; i < g->ndim; i++)
		n *= g->gone[i] ? g->dims[i] : 1;
	return n;
}

bool
rows_finish(Rows *g)
{
	return row_kernel(g->row, g->kernel, g->value.at, g->value.n);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

Ref
rows_join(Rows *g, const char *fold, RtDtype total, RtDtype part, Ref x)
{
	const Folded s = { .fold = fold_find(fold), .part = part, .total = total, .place = RT_i64, .x = x };

	return kernel_state(g->kernel, s);
}

RtDtype
rows_compared(const RtTensor *x)
{
	if (rt_dtypes[x->dtype].category == 'F')
		return x->dtype == RT_f64 ? RT_f64 : RT_f32;
	return x->dtype == RT_i64 ? RT_i64 : RT_i32;
}

RtMapTypes
rows_types(RtDtype common, RtDtype result)
{
	return (RtMapTypes){ common, (RtDtype)rt_dtypes[common].compute, result };
}

Ref
rows_let(Rows *g, OpRow row, RtMapTypes t, Ref a, Ref b, Ref c)
{
	Let l = { .op = op_at(g->row->p->cx, row), .types = t, .arg = { a, b, c } };
	RtMapArg arg[RT_MAP_MAX];

	RT_ASSERT(l.op->form == OP_MAP);
	l.narg = rt_map_args(l.op->text, arg);
	return kernel_let(g->kernel, l);
}

Ref
rows_let1(Rows *g, OpRow row, RtDtype type, Ref a)
{
	const Ref none = { .kind = REF_NONE };

	return rows_let(g, row, rows_types(type, type), a, none, none);
}

Ref
rows_let2(Rows *g, OpRow row, RtDtype type, Ref a, Ref b)
{
	return rows_let(g, row, rows_types(type, type), a, b, ref_number(rt_int(1)));
}
