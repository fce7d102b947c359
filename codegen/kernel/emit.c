/*
 * Lowered kernels in a program: scheduled, printed, called.
 */
#include "lower.h"

/* What the samples of a dynamic specialization agree on: each is printed by itself until one kernel holds for all
 * sizes. */
static Schedule
agreed_rows(Plan *p, const Kernel *k)
{
	const bool beside = plan_choice(p, kernel_rows_beside(k));
	const int most = kernel_row_lanes(k);
	const int lanes = plan_choice(p, kernel_row_is_long(k, most)) ? most :
			  plan_choice(p, kernel_row_is_long(k, KERNEL_LANES)) ? KERNEL_LANES : 1;
	const Schedule s = kernel_schedule_rows(k, beside, lanes);
	int64_t n;

	if (beside && size_const(k->extent[s.inner], &n))
		plan_ceil(p, n, KERNEL_COLUMNS);
	return s;
}

static Schedule
agreed(Plan *p, const Kernel *k)
{
	Schedule s = kernel_schedule(k, TILE_IF_LONG);
	int64_t n;

	if (!p->dynamic)
		return s;
	if (kernel_has_rows(k))
		return agreed_rows(p, k);
	s = kernel_schedule(k, plan_choice(p, s.tile >= 0) ? TILE_ALWAYS : TILE_NEVER);
	if (s.tile >= 0 && size_const(k->extent[s.tile], &n))
		plan_ceil(p, n, KERNEL_TILE);
	return s;
}

/* -1: it is no number. */
static double
count_of(const Size *s)
{
	int64_t n;

	return size_const(s, &n) ? (double)n : -1;
}

void
emit_lowered(Emit *e, Plan *p, const Lowered *l, KernelCall *call)
{
	const Kernel *k = l->kernel;
	const Schedule s = agreed(p, k);

	*call = (KernelCall){ 0 };
	call->name = emit_kernel(e, k->name, kernel_comment(k), kernel_print_c(k, &s), false);
	if (!size_const(s.units, &call->n))
		BUG("%s: the number of its units is no number", call->name);
	call->grain = s.grain;
	call->work = (Counts){ .form = s.tile >= 0 ? "tiles" : "loops", .what = kernel_comment(k),
			     .flops = count_of(kernel_lets(k)), .bytes = count_of(kernel_bytes(k)) };
	for (int i = 0; i < l->value.n; i++)
		vec_push(e->cx->arena, &call->args, ((KernelArg){ l->value.at[i], NULL, 0, NULL }));
}

/* ---- epilogues ------------------------------------------------------------------------------------------------- */

bool
epilogue_fits(Plan *p, const Node *group, const Value *made, int64_t columns)
{
	const RtTensor *a = group->nout == 1 ? plan_tensor(p, group->out[0]) : NULL, *b = plan_tensor(p, made);
	Lowered l;

	if (!a || a->dtype != RT_f32 || a->ndim != b->ndim || a->ndim == 0)
		return false;
	for (int i = 0; i < a->ndim; i++)
		if (a->dims[i] != b->dims[i] || (a->strides[i] != b->strides[i] && a->dims[i] != 1))
			return false;
	return lower_epilogue(p, group, made, false, &l) && size_is(l.kernel->extent[l.kernel->naxis - 1], columns);
}

const char *
emit_epilogue(Emit *e, Plan *p, const Node *group, const Value *made, int first, ValueVec *more)
{
	Lowered l;
	int *place;

	if (!lower_epilogue(p, group, made, false, &l))
		return NULL;
	place = new(e->cx->arena, int, l.value.n);
	for (int i = 0; i < l.value.n; i++) {
		if (l.kernel->operand.at[i].access == ACCESS_WRITE || l.value.at[i] == made)
			continue;                                /* at p[0] */
		place[i] = first + more->n;
		vec_push(e->cx->arena, more, l.value.at[i]);
	}
	return emit_kernel(e, "epilogue", l.kernel->comment, kernel_print_block(l.kernel, place), true);
}
