/*
 * Adds lowered kernels to a program: schedules, prints and calls them.
 */
#include "dense.h"

#include <string.h>

const char *
emit_kernel(Emit *e, const char *prefix, const char *comment, const char *text, bool epilogue)
{
	const char *name = map_get(&e->kernel_texts, text);

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

/* Notes that the program needs a header of rt/ops. */
static void
emit_header(Emit *e, const char *name)
{
	for (int i = 0; i < e->headers.n; i++)
		if (!strcmp(e->headers.at[i], name))
			return;
	vec_push(e->cx->arena, &e->headers, name);
}

static void
note_tall(Emit *e, bool varies, int64_t rows, int64_t depth)
{
	if (varies || rows > e->tall)
		e->tall = varies ? INT64_MAX : rows;
	if (depth > e->deep)
		e->deep = depth;
}

void
emit_tall(Emit *e, const Plan *p, int64_t rows, int64_t depth)
{
	RT_ASSERT(rows >= 0 && depth >= 0);
	if (e)
		note_tall(e, p->dynamic, rows, depth);
}

/* The size as a number. -1 if it is not constant. */
static double
count_of(const Size *s)
{
	int64_t n;

	return size_const(s, &n) ? (double)n : -1;
}

/* Replaces a size by its typical value. */
static void
settle(const Kernel *k, const Size **s)
{
	int64_t n;

	if (*s && kernel_typical(k, *s, &n))
		*s = size_number(k->sizes, n);
}

static void
settle_edge(const Kernel *k, AxisEdge *e)
{
	settle(k, &e->times);
	settle(k, &e->plus);
	settle(k, &e->per);
}

static void
settle_operand(const Kernel *k, Operand *x)
{
	settle(k, &x->offset);
	for (int g = 0; g < x->ngather; g++) {
		settle(k, &x->gather[g].stride);
		settle(k, &x->gather[g].limit);
	}
	for (int i = 0; i < k->naxis; i++)
		settle(k, &x->stride[i]);
	for (int b = 0; b < x->bound.n; b++) {
		settle(k, &x->bound.at[b].offset);
		settle(k, &x->bound.at[b].limit);
		settle(k, &x->bound.at[b].unit);
		for (int i = 0; i < k->naxis; i++)
			settle(k, &x->bound.at[b].stride[i]);
	}
}

static void
settle_link(const Kernel *from, Kernel *k)
{
	for (int i = 0; i < k->naxis; i++)
		settle(from, &k->extent[i]);
	for (int i = 0; i < k->range.n; i++) {
		settle_edge(from, &k->range.at[i].first);
		settle_edge(from, &k->range.at[i].end);
	}
	for (int o = 0; o < k->operand.n; o++)
		settle_operand(from, &k->operand.at[o]);
	for (int i = 0; i < k->stage.n; i++)
		settle(from, &k->stage.at[i].select.count);
}

static const Kernel *
typical(const Kernel *from)
{
	Kernel *k = kernel_copy(from);

	for (Kernel *link = k; link; link = link->next)
		settle_link(from, link);
	kernel_simplify(k, 0);
	return k;
}

/* Returns the name of a kernel of loops: "add, relu: 3136 x 64, 9c01d2...". A kernel over symbols has the name of the
 * one for the profiled sizes. */
static const char *
loops_name(const Kernel *k)
{
	const Schedule none = { .inner = -1, .tile = -1, .units = size_number(k->sizes, 1) };
	const char *comment = kernel_comment(k = typical(k));
	Buf b = { 0 };
	uint64_t hash;

	kernel_print(k, &none, &b);
	hash = hash_bytes(b.at, b.n);
	buf_free(&b);
	return arena_printf(k->arena, "%s, %016llx", comment, (unsigned long long)hash);
}

/* Returns the schedule that was measured or recorded for the kernel. */
static Scheduled
choose_way(Emit *e, Kernel *k, KernelCall *call)
{
	const Scheduled *way;
	Texts names = { 0 };
	const int n = kernel_schedules(k, &way);

	for (int i = 0; i < n; i++)
		vec_push(e->cx->arena, &names, way[i].name);
	call->tuned = loops_name(k);
	return way[tuned_way(e, call->tuned, &names)];
}

/* Sets the call's kernel, schedule and number of units. text: C of the kernel. */
static void
set_launch(Emit *e, Kernel *k, const Schedule *s, const char *text, KernelCall *call)
{
	call->kernel = k;
	call->schedule = s;
	call->name = emit_kernel(e, k->name, call->work.what, text, false);
	call->grain = s->grain;
	if (!size_const(s->units, &call->n)) {
		Buf b = { 0 };

		size_print(s->units, SIZE_C, false, &b);
		call->n_text = arena_text(e->cx->arena, &b);
	}
}

/* Passes packed weights instead of the constant. */
static void
pass_packed(Emit *e, const Micro *m, const RtTensor *w, KernelCall *call)
{
	const char *packed[2];

	pack_int8(e, w, m->packed, packed);
	call->args.at[m->weights] = (KernelArg){ .text = packed[0], .what = "packed weights" };
	vec_push(e->cx->arena, &call->args, ((KernelArg){ .text = packed[1], .what = "terms of zero points" }));
}

/* Chooses the form of a contraction with constant weights. Emits its epilogue, unless the microkernel clamps results.
 * Returns false if the epilogue does not go over rows at all sizes. */
static bool
begin_dense(Emit *e, const Kernel *k, KernelCall *call, Calling *how)
{
	Dense *d = new(e->cx->arena, Dense, 1);
	const int *place;
	Kernel *after;
	int extra;

	if (!dense_of(k, d))
		return true;
	dense_begin(e, k, call, d);
	if (d->form == BY_PRODUCT || d->form == COARSE || d->form == WINOGRAD)
		note_tall(e, d->varies, d->form == WINOGRAD ? INT64_MAX : d->m, d->form == COARSE ? INT64_MAX : d->k);
	how->dense = d;
	if (!dense_follows(k) || d->range[0])
		return true;
	extra = call->args.n + dense_adds(d);
	after = dense_epilogue(k, d->apart ? extra : 0, &place);
	if (!kernel_ends_rows(after))
		return false;
	d->epilogue = emit_block(e, after, place, k->typical ? extra : -1);
	return true;
}

/* Launches the call for each turn, whose number is an argument. */
static void
set_turns(Emit *e, const Kernel *k, const Size *turns, KernelCall *call)
{
	Buf b = { 0 };

	vec_push(e->cx->arena, &call->args, ((KernelArg){ .text = "&turn" }));
	if (!kernel_typical(k, turns, &call->repeat))
		BUG("%s: the number of its turns is no number", k->name);
	size_print(turns, SIZE_C, false, &b);
	call->repeat_text = arena_text(e->cx->arena, &b);
}

/* Emits the kernel as a call of a hand-written function. Returns false if none computes it. */
static bool
emit_micro(Emit *e, Kernel *k, KernelCall *call)
{
	Schedule *s = new(e->cx->arena, Schedule, 1);
	Calling how = { .symbols = call->args.n, .nr = e->nr, .vf = e->vf };
	Micro m;

	if (!begin_dense(e, k, call, &how) || !kernel_micro(k, &how, &m))
		return false;
	call->work = (Counts){ .form = k->name, .flops = count_of(m.steps), .bytes = -1 };
	if (how.dense)
		dense_end(e, k, call, how.dense);
	if (m.packed)
		pass_packed(e, &m, k->operand.at[m.weights].constant, call);
	if (m.zeros)
		vec_push(e->cx->arena, &call->args, ((KernelArg){ .text = "kiln_zeros", .what = "for padding" }));
	if (e->zeros < m.zeros)
		e->zeros = m.zeros;
	if (m.tall > e->tall)
		e->tall = m.tall;
	if (m.tall)
		e->deep = INT64_MAX;
	if (m.turns)
		set_turns(e, k, m.turns, call);
	call->scratch = m.scratch;
	call->narrow = m.narrow;
	*s = (Schedule){ .inner = -1, .tile = -1, .units = m.units, .grain = m.grain, .micro = m.name };
	kernel_simplify(k, 0);
	call->work.what = call->work.what ? call->work.what : kernel_comment(k);
	set_launch(e, k, s, m.text, call);
	emit_header(e, m.header);
	return true;
}

bool
emit_scheduled(Emit *e, Kernel *k, KernelCall *call)
{
	Schedule *s;
	Scheduled way;
	Dense packed;

	if (emit_micro(e, k, call))
		return true;
	if (dense_of(k, &packed))
		return false;
	s = new(e->cx->arena, Schedule, 1);
	kernel_simplify(k, 0);
	kernel_check(k);
	*s = kernel_schedule(k, TILE_IF_LONG, kernel_inner(k));
	if (e->tuning) {
		way = choose_way(e, k, call);
		*s = way.schedule;
		k = way.kernel;
	}
	call->work = (Counts){ .form = s->tile >= 0 ? "tiles" : "loops", .what = kernel_comment(k),
			     .flops = count_of(kernel_lets(k)), .bytes = count_of(kernel_bytes(k)) };
	set_launch(e, k, s, kernel_print_c(k, s, call->args.n), call);
	size_const(kernel_scratch(k), &call->scratch);
	return true;
}

void
emit_lowered(Emit *e, Plan *p, const Lowered *l, KernelCall *call)
{
	*call = (KernelCall){ .kernel = l->kernel, .apart = l->apart };
	for (int i = 0; i < l->value.n; i++)
		vec_push(p->cx->arena, &call->args,
			 ((KernelArg){ .value = l->value.at[i],
				       .text = l->text && !l->value.at[i] ? l->text[i] : NULL }));
	if (e && !p->dynamic && !emit_scheduled(e, l->kernel, call))
		BUG("no microkernel reads the weights of %s", l->kernel->comment);
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

/* Writes an argument by its sizes and strides, for forms with unknown axes: " x1 f32 read (2, 64) by (64, 1)". */
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

/* Writes the numbers in the form's C that depend on sizes: "numbers n 1, c 64". */
static void
put_params(const Printed *made, Buf *b)
{
	for (int i = 0; i < made->param.n; i++) {
		const Param *x = &made->param.at[i];

		buf_printf(b, "%s%s %lld", !i ? "numbers " : i % 12 ? ", " : ",\n  ", x->name, (long long)x->value);
	}
	buf_puts(b, made->param.n ? "\n" : "");
}

/* Writes the text form of a kernel that its form printed at once. */
static void
put_printed(Plan *p, const Node *n, const KernelCall *call, Buf *b)
{
	const Node *last = p->epilogue[n->id] ? p->epilogue[n->id] : n;

	buf_printf(b, "kernel %s  # %s\noperands\n", call->work.form, call->work.what);
	for (int i = 0; i < call->args.n; i++)
		put_passed(p, i, &call->args.at[i], is_written(last, call->args.at[i].value), b);
	put_params(call->printed, b);
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
emit_block(Emit *e, const Kernel *k, const int *place, int symbols)
{
	return emit_kernel(e, "epilogue", k->comment, kernel_print_block(k, place, symbols), true);
}
