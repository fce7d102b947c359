/*
 * Lowered kernels in a program: scheduled, printed, called.
 */
#include "lower.h"

#include <string.h>

static const char *
capture_kernel(Capture *c, const char *prefix, const char *comment, const char *text, bool epilogue)
{
	const char *name = arena_printf(c->cx->arena, "captured_%d", c->at.n);

	vec_push(c->cx->arena, &c->at,
		 ((Captured){ prefix, comment, arena_strdup(c->cx->arena, text), NULL, epilogue }));
	return name;
}

const char *
emit_kernel(Emit *e, const char *prefix, const char *comment, const char *text, bool epilogue)
{
	const char *name = e->capture ? capture_kernel(e->capture, prefix, comment, text, epilogue)
				      : map_get(&e->kernel_texts, text);

	if (name)
		return name;
	name = arena_printf(e->cx->arena, "%s_%d", prefix, e->kernel_texts.n);
	map_put(&e->kernel_texts, arena_strdup(e->cx->arena, text), (void *)(uintptr_t)name);
	if (!epilogue)
		vec_push(e->cx->arena, &e->launched, name);
	if (epilogue)
		out_line(&e->kernels, "/* %s, over a block that is still near */\nstatic void\n%s(void *const *p, "
			 "ptrdiff_t row, ptrdiff_t end, ptrdiff_t c0, ptrdiff_t c1, ptrdiff_t n)\n%s", comment, name,
			 text);
	else
		out_line(&e->kernels, "/* %s */\nstatic void\n%s(void *arg, int64_t begin, int64_t end)\n%s", comment,
			 name, text);
	return name;
}

void
emit_tall(Emit *e, const Plan *p, int64_t rows)
{
	if (e && (p->dynamic || rows > e->tall))
		e->tall = p->dynamic ? INT64_MAX : rows;
}

/* The schedule that all samples of a dynamic specialization can have: each sample's kernel is printed on its own. */
static Schedule
agreed_rows(Plan *p, const Kernel *k)
{
	const bool beside = plan_choice(p, kernel_rows_beside(k));
	const int best = kernel_row_lanes(k);
	const int lanes = plan_choice(p, best > KERNEL_LANES) ? 2 * KERNEL_LANES :
			  plan_choice(p, best == KERNEL_LANES) ? KERNEL_LANES : 1;
	const Schedule s = kernel_schedule_rows(k, beside, lanes);
	int64_t n;

	if (beside && size_const(k->extent[s.inner], &n))
		plan_ceil(p, n, KERNEL_COLUMNS);
	return s;
}

/* The choice of the first sample; the others may have more or fewer short axes. */
static int
agreed_inner(Plan *p, const Kernel *k)
{
	const int best = kernel_inner(k);
	int inner = k->naxis - 1 - (k->serial >= 0);

	if (k->serial >= 0)
		return best;
	while (inner > 0 && plan_choice(p, inner > best))
		inner--;
	return inner;
}

static Schedule
agreed(Plan *p, const Kernel *k)
{
	Schedule s = kernel_schedule(k, TILE_IF_LONG, kernel_inner(k));
	int64_t n;
	int inner;

	if (!p->dynamic)
		return s;
	if (kernel_has_rows(k))
		return agreed_rows(p, k);
	inner = agreed_inner(p, k);
	s = kernel_schedule(k, plan_choice(p, s.tile >= 0) ? TILE_ALWAYS : TILE_NEVER, inner);
	if (s.tile >= 0 && size_const(k->extent[s.tile], &n))
		plan_ceil(p, n, KERNEL_TILE);
	return s;
}

/* -1: it is not a constant. */
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
	Schedule *at = new(e->cx->arena, Schedule, 1), s = agreed(p, k);

	*at = s;
	*call = (KernelCall){ .kernel = k, .schedule = at };
	call->name = emit_kernel(e, k->name, kernel_comment(k), kernel_print_c(k, &s), false);
	if (!size_const(s.units, &call->n))
		BUG("%s: the number of its units is no number", call->name);
	call->grain = s.grain;
	call->work = (Counts){ .form = s.tile >= 0 ? "tiles" : "loops", .what = kernel_comment(k),
			     .flops = count_of(kernel_lets(k)), .bytes = count_of(kernel_bytes(k)) };
	for (int i = 0; i < l->value.n; i++)
		vec_push(e->cx->arena, &call->args, ((KernelArg){ .value = l->value.at[i] }));
}

/* ---- text ------------------------------------------------------------------------------------------------------ */

static void
put_ints(const char *before, const int64_t *at, int n, Buf *b)
{
	buf_puts(b, before);
	for (int i = 0; i < n; i++)
		buf_printf(b, "%s%lld", i ? ", " : "", (long long)at[i]);
	buf_puts(b, ")");
}

/* " x1 f32 read (2, 64) by (64, 1)": an argument by its sizes and strides, for forms whose axes are not known. */
static void
put_passed(Plan *p, int index, const KernelArg *arg, bool writes, Buf *b)
{
	const RtTensor *t = arg->value ? plan_tensor(p, arg->value) : NULL;

	if (t) {
		buf_printf(b, "  %c%d %s %s ", writes ? 'y' : 'x', index, rt_dtypes[t->dtype].name,
			   writes ? "write" : "read");
		put_ints("(", t->dims, t->ndim, b);
		put_ints(" by (", t->strides, t->ndim, b);
	} else if (arg->value) {
		buf_printf(b, "  s%d number", index);
	} else {
		const char *what = arg->what ? arg->what : arg->text;

		buf_printf(b, "  p%d ", index);
		buf_clean(b, what, (int64_t)strlen(what));
	}
	if (arg->offset)
		buf_printf(b, " from byte %lld", (long long)arg->offset);
	buf_puts(b, "\n");
}

/* Is the value the node's result, or written by the node? */
static bool
is_written(const Node *n, const Value *v)
{
	for (int i = 0; i < n->nout; i++)
		if (n->out[i] == v)
			return true;
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] == v && node_writes_input(n, i))
			return true;
	return false;
}

/* A form that prints its C at once. */
static void
put_printed(Plan *p, const Node *n, const KernelCall *call, Buf *b)
{
	const Node *last = p->epilogue[n->id] ? p->epilogue[n->id] : n;

	buf_printf(b, "kernel %s  # %s\noperands\n", call->work.form, call->work.what);
	for (int i = 0; i < call->args.n; i++)
		put_passed(p, i, &call->args.at[i], is_written(last, call->args.at[i].value), b);
	buf_printf(b, "schedule printed; units %lld; grain %lld", (long long)call->n, (long long)call->grain);
	if (call->repeat)
		buf_printf(b, "; turns %lld", (long long)call->repeat);
	buf_puts(b, "\nend\n");
}

void
launch_print(Plan *p, const Node *n, const KernelCall *call, Buf *b)
{
	buf_printf(b, "%s# %s: %s", b->n ? "\n" : "", call->name, n->kind->name);
	if (n->at.src)
		buf_printf(b, ", line %d", range_line(n->at));
	buf_puts(b, "\n");
	if (!call->kernel) {
		put_printed(p, n, call, b);
		return;
	}
	kernel_print(call->kernel, call->schedule, b);
	for (int i = 0; i < call->args.n; i++)
		if (call->args.at[i].what)
			buf_printf(b, "# p[%d]: %s\n", i, call->args.at[i].what);
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
