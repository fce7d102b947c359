/*
 * Makes a dynamic specialization from the plans of its samples.
 *
 * Every sample is planned by the code that plans exact specializations. The kernels of a node on all samples are
 * combined as data (kernel/unify.c) and printed once. Forms that print their kernel at once, and the function itself,
 * write a mark for each number that may depend on sizes. Then the samples' texts are equal, and their numbers are lists
 * of the same length. A number that differs must be a product of sizes (opt/special/sizes.c), and its formula replaces
 * the mark.
 *
 *    .rows = @0,   20, 66, 15   ->   const int64_t size0 = s[0] * s[1];  ...
 *
 * If the kernels of a node differ in another way, they are refused: the node becomes a call of the runtime, and the
 * plans are made again. The samples include both ends of the range in which the program uses the function. So a form
 * that is only valid for small or large sizes is noticed.
 */
#include "dynamic.h"

/* ---- comparison of the samples' graphs --------------------------------------------------------------------------- */

typedef struct Alignment { Dynamic *dynamic; int *ordinal[SIZE_SAMPLES], count; } Alignment;

/* Records at which nodes the samples' graphs differ. Returns false. */
static bool
parts(Alignment *a, const Node *const *n, int k)
{
	a->dynamic->why = arena_printf(a->dynamic->cx->arena, ": %s, %s", n[0]->kind->name, n[k]->kind->name);
	return false;
}

static bool
same_node(Alignment *a, const Node *const *n)
{
	for (int k = 1; k < a->dynamic->n; k++) {
		if (n[k]->kind != n[0]->kind || n[k]->op != n[0]->op || n[k]->nin != n[0]->nin ||
		    n[k]->nout != n[0]->nout || n[k]->nsub != n[0]->nsub)
			return parts(a, n, k);
		for (int i = 0; i < n[0]->nin; i++)
			if (a->ordinal[k][n[k]->in[i]->id] != a->ordinal[0][n[0]->in[i]->id])
				return parts(a, n, k);
	}
	return true;
}

static void
number_outputs(Alignment *a, const Node *const *n)
{
	for (int i = 0; i < n[0]->nout; i++) {
		a->count++;
		for (int k = 0; k < a->dynamic->n; k++)
			a->ordinal[k][n[k]->out[i]->id] = a->count;
	}
}

static const Node *
skip_constants(const Node *n, const Block *b)
{
	while (n != b->ret && node_is(n, prim_Constant))
		n = n->next;
	return n;
}

static bool
align_blocks(Alignment *a, const Block *const *b)
{
	const Node *n[SIZE_SAMPLES];

	for (int k = 0; k < a->dynamic->n; k++) {
		n[k] = b[k]->param;
		if (n[k]->nout != n[0]->nout)
			return false;
	}
	number_outputs(a, n);
	for (int k = 0; k < a->dynamic->n; k++)
		n[k] = skip_constants(b[k]->ret->next, b[k]);
	while (n[0] != b[0]->ret) {
		for (int k = 1; k < a->dynamic->n; k++)
			if (n[k] == b[k]->ret)
				return false;
		if (!same_node(a, n))
			return false;
		for (int k = 0; k < a->dynamic->n; k++)
			vec_push(a->dynamic->cx->arena, &a->dynamic->node[k], n[k]);
		for (int i = 0; i < n[0]->nsub; i++) {
			const Block *sub[SIZE_SAMPLES];

			for (int k = 0; k < a->dynamic->n; k++)
				sub[k] = n[k]->sub[i];
			if (!align_blocks(a, sub))
				return false;
		}
		number_outputs(a, n);
		for (int k = 0; k < a->dynamic->n; k++)
			n[k] = skip_constants(n[k]->next, b[k]);
	}
	for (int k = 1; k < a->dynamic->n; k++)
		if (n[k] != b[k]->ret)
			return false;
	return same_node(a, n);
}

static bool
align(Dynamic *d)
{
	Alignment a = { .dynamic = d };
	const Block *top[SIZE_SAMPLES];

	for (int k = 0; k < d->n; k++) {
		const Graph *g = d->spec->sample[k].graph;

		a.ordinal[k] = new(d->cx->arena, int, g->nvalue + 1);
		top[k] = g->top;
	}
	return align_blocks(&a, top);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

typedef struct Sampled {         /* The kernels of one node, on each sample. */
	KernelCall *calls;
	int        ncall;
	const Measures *own;     /* Numbers of the node's operands. Set for the first sample. */
} Sampled;

static bool
take_kernels(Dynamic *d, int k, const Node *n, Sampled *s)
{
	bool is;

	s->calls = new(d->cx->arena, KernelCall, MAX_KERNEL_CALLS);
	d->shared[k].derived.n = d->shared[k].marked.n = d->shared[k].nchoice = 0;
	if (!k)
		d->shared[0].choices->at.n = 0;
	is = emit_kernel_calls(d->emit, d->plan[k], n, s->calls, &s->ncall);
	d->shared[k].nchoice = -1;
	return is;
}

/* Ties the size to be at most INT32_MAX. Returns false if no tie can say that. */
static bool
tie_narrow(Dynamic *d, const Size *size)
{
	SizeProduct product;
	RtSizeExpr e;

	if (!size_product(size, &product))
		return false;
	e = (RtSizeExpr){ .c = product.times, .d = product.plus + 1, .n = (int16_t)product.n };
	for (int i = 0; i < product.n; i++)
		e.atom[i] = (int16_t)product.symbol[i];
	sizes_tie(d->cx, d->sample_sizes, (RtSizeTie){ RT_TIE_CEIL, e, (int64_t)INT32_MAX + 1, { .d = 1 } });
	return true;
}

/* Emits the kernel for call c that combines the samples' kernels. */
static bool
emit_unified(Dynamic *d, Sampled *s, int c)
{
	const Kernel *of[SIZE_SAMPLES];
	Kernel *k;

	for (int i = 0; i < d->n; i++)
		of[i] = s[i].calls[c].kernel;
	k = kernel_unify(d->sizes, s[0].own, of);
	return k && emit_scheduled(d->emit, k, &s[0].calls[c]) &&
	       (!s[0].calls[c].narrow || tie_narrow(d, s[0].calls[c].narrow));
}

/* Emits call c's kernel, which was printed at once, with formulas for numbers that differ. */
static bool
emit_common(Dynamic *d, Sampled *s, Formulas f, int c)
{
	KernelCall *call = &s[0].calls[c];
	const Printed *first = call->printed;
	const char *lines[SIZE_SAMPLES], *common, *locals = "";
	int64_t n[SIZE_SAMPLES];
	Arena *a = d->cx->arena;

	for (int k = 0; k < d->n; k++) {
		lines[k] = s[k].calls[c].printed->lines;
		n[k] = s[k].calls[c].n;
	}
	if (!(common = formulas_replace(&f, lines)) || !(call->n_text = formulas_of(&f, n)))
		return false;
	if (f.text.n || f.real.n)
		locals = arena_printf(a, "\tconst int64_t *const s = p[%d];\n%s", call->args.n, formulas_locals(&f));
	call->name = emit_kernel(d->emit, first->prefix, arena_printf(a, "%s, and other sizes", first->comment),
				 body_function(a, locals, common), false);
	return true;
}

static bool
same_call(Dynamic *d, const Sampled *s, int c)
{
	const KernelCall *x = &s[0].calls[c];

	for (int k = 1; k < d->n; k++) {
		const KernelCall *y = &s[k].calls[c];

		if (!x->printed != !y->printed || x->args.n != y->args.n || x->checked != y->checked)
			return false;
		for (int i = 0; i < x->args.n; i++)
			if ((x->args.at[i].text == NULL) != (y->args.at[i].text == NULL) ||
			    (x->args.at[i].text && strcmp(x->args.at[i].text, y->args.at[i].text)))
				return false;
	}
	return true;
}

/* Sets the work of a product on another sample. */
static void
set_work(KernelCall *call, const KernelCall *first)
{
	int64_t steps, bytes;

	call->schedule = first->schedule;
	if (!size_const(kernel_steps(call->kernel), &steps) || !size_const(kernel_bytes(call->kernel), &bytes))
		BUG("the kernel of a sample has no constant sizes");
	call->work = (Counts){ first->work.form, first->work.what, (double)steps, (double)bytes };
}

/* Sets the kernels of the node's calls to common ones on all samples. Returns false if there are none. */
static bool
settle(Dynamic *d, int i, Sampled *s)
{
	Formulas f;
	int n;

	s[0].own = node_measures(d, i);
	for (int k = 1; k < d->n; k++)
		if (s[k].ncall != s[0].ncall)
			return false;
	if (!formulas_begin(d, &f))
		return false;
	for (int c = 0; c < s[0].ncall; c++) {
		const KernelCall *first = &s[0].calls[c];

		if (!same_call(d, s, c) || !(first->printed ? emit_common(d, s, f, c) : emit_unified(d, s, c)))
			return false;
		n = first->args.n;
		for (int k = 0; k < d->n; k++) {
			KernelCall *call = &s[k].calls[c];

			for (int at = 0; at < n; at++)       /* the kernel's own, such as zeros and packed weights */
				if (at >= call->args.n)
					vec_push(d->cx->arena, &call->args, first->args.at[at]);
				else if (first->args.at[at].text)
					call->args.at[at] = first->args.at[at];
			call->name = first->name;
			call->n_text = first->n_text;
			call->n = first->n;
			if (first->repeat_text) {
				call->repeat = first->repeat;
				call->repeat_text = first->repeat_text;
			}
			call->grain = first->grain;
			if (k && first->schedule && first->schedule->micro && first->work.bytes >= 0)
				set_work(call, first);
			vec_push(d->cx->arena, &call->args, ((KernelArg){ .text = "(uintptr_t)s" }));
		}
	}
	return true;
}

/* ---- kernels for the GPU ----------------------------------------------------------------------------------------- */

/* Computes the node's launches on sample k. Returns their number. */
static int
take_launches(Dynamic *d, int k, const Node *n, KernelCall *calls)
{
	int count;

	d->shared[k].derived.n = d->shared[k].marked.n = d->shared[k].nchoice = 0;
	if (!k)
		d->shared[0].choices->at.n = 0;
	count = cuda_launches(d->plan[k], n, calls, &d->shared[k].why_host[n->id]);
	d->shared[k].nchoice = -1;
	return count;
}

/* Emits a common kernel for launch c, and sets it on every sample. */
static bool
emit_launches(Dynamic *d, int i, const Sampled *s, int c)
{
	const Kernel *of[SIZE_SAMPLES];
	CudaCall first;
	Kernel *k;

	for (int j = 0; j < d->n; j++)
		if (!(of[j] = s[j].calls[c].kernel))
			return false;
	if (!same_call(d, s, c) || !(k = kernel_unify(d->sizes, s[0].own, of)))
		return false;
	emit_cuda_unified(d->emit, &s[0].calls[c], k, &first);
	cuda_checks_once(d->node[0].at[i], s[0].calls, &first, c);
	for (int j = 0; j < d->n; j++) {
		CudaCall *to = &d->shared[j].cuda[d->node[j].at[i]->id][c];

		*to = first;
		to->args.at = NULL;
		to->args.n = to->args.cap = 0;
		for (int a = 0; a < first.args.n; a++)
			vec_push(d->cx->arena, &to->args, s[j].calls[c].args.at[a]);
	}
	return true;
}

/* Sets the node's launches on all samples. Returns false if it has none, or if they have no common kernels. */
static bool
settle_launches(Dynamic *d, int i)
{
	Sampled s[SIZE_SAMPLES] = { 0 };
	bool all = true;

	for (int k = 0; k < d->n; k++) {
		const Node *n = d->node[k].at[i];

		s[k].calls = new(d->cx->arena, KernelCall, MAX_KERNEL_CALLS);
		s[k].ncall = take_launches(d, k, n, s[k].calls);
		d->shared[k].cuda[n->id] = new(d->cx->arena, CudaCall, s[k].ncall + 1);
		all &= s[k].ncall && s[k].ncall == s[0].ncall;
	}
	s[0].own = node_measures(d, i);
	for (int c = 0; c < s[0].ncall && all; c++)
		all = emit_launches(d, i, s, c);
	for (int k = 0; k < d->n; k++) {
		const int id = d->node[k].at[i]->id;

		d->shared[k].ncuda[id] = all ? s[k].ncall : 0;
		if (!all && s[0].ncall)
			d->shared[k].why_host[id] = "its kernels for several sizes have no common form in CUDA";
	}
	return all;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void
refuse(Dynamic *d, int i)
{
	const Node *n = d->node[0].at[i];

	if (!n->op)
		fail_lacks(d->cx, n->at, "the kernels of %s have no common form%s", n->kind->name,
			   d->why ? d->why : "");
	if (d->emit->verbose)
		fprintf(stderr, "kiln: %s: %s stays a call of the runtime at dynamic sizes%s\n", d->fn->name,
			n->kind->name, d->why ? d->why : "");
	for (int k = 0; k < d->n; k++)
		d->shared[k].refused[d->node[k].at[i]->id] = true;
	d->changed = true;
}

static void
settle_node(Dynamic *d, int i)
{
	Sampled s[SIZE_SAMPLES] = { 0 };
	bool kernel = false, all = true;

	for (int k = 0; k < d->n; k++) {
		const Node *n = d->node[k].at[i];
		const bool is = !n->nsub && plan_needs_step(d->plan[k], n) && plan_is_kernel(d->plan[k], n);

		kernel |= is;
		all &= is;
	}
	if (!kernel || (d->gpu && all && settle_launches(d, i)))
		return;
	d->why = NULL;
	for (int k = 0; k < d->n && all; k++)
		all = take_kernels(d, k, d->node[k].at[i], &s[k]);
	if (!all || !settle(d, i, s)) {
		refuse(d, i);
		return;
	}
	for (int k = 0; k < d->n; k++) {
		d->shared[k].calls[d->node[k].at[i]->id] = s[k].calls;
		d->shared[k].ncall[d->node[k].at[i]->id] = s[k].ncall;
	}
}

/* ---- the function ------------------------------------------------------------------------------------------------ */

static void
make_plans(Dynamic *d)
{
	for (int k = 0; k < d->n; k++) {
		for (int i = 0; k && i < d->node[0].n; i++)
			d->shared[k].as_first[d->node[k].at[i]->id] = plan_is_kernel(d->plan[0], d->node[0].at[i]);
		d->shared[k].nconstant = 0;
		d->plan[k] = plan_make(d->cx, d->fn, &d->spec->sample[k], d->gpu ? PLAN_GPU : PLAN_CPU, &d->shared[k]);
	}
}

/* Makes the plans again until the kernels of all samples agree. */
static void
settle_all(Dynamic *d)
{
	const int ties = d->sample_sizes->tie.n, counts = d->sample_sizes->count.n;

	do {
		d->changed = false;
		d->sample_sizes->tie.n = ties;
		d->sample_sizes->count.n = counts;
		make_plans(d);
		for (int i = 0; i < d->node[0].n; i++)
			settle_node(d, i);
	} while (d->changed);
}

/* Returns the function's text. `most` is the size in bytes of the arena at the largest sizes. */
static const char *
function_text(Dynamic *d, const char *name, const char *code, const char *title, int64_t most)
{
	const char *text[SIZE_SAMPLES];
	Out *o = &d->emit->plans;
	const char *common;
	Formulas f;

	for (int k = 0; k < d->n; k++) {
		d->shared[k].nconstant = d->shared[k].marked.n = 0;
		text[k] = plan_text(d->emit, d->plan[k], code);
		d->shared[k].derived.n = 0;
	}
	if (!formulas_begin(d, &f) || !(common = formulas_replace(&f, text)))
		return NULL;
	out_line(o, "\n/* %s: %d kernels, %d runtime calls, %d guards inside.", title, d->plan[0]->kernels,
		 d->plan[0]->calls.n, d->plan[0]->guards);
	out_line(o, "   s: sizes, of which the first %d are symbols; behind them places in the arena, and how "
		 "large that is. */", d->sample_sizes->nsymbol);
	out_line(o, "static int\n%s(RtCx *cx, IValue *reg, const int64_t *s)\n{", name);
	buf_puts(&o->text, formulas_locals(&f));
	out_line(o, "\tconst int64_t *const at = s + %d;", d->sample_sizes->natom + d->sample_sizes->count.n);
	if (d->spec->bounded)
		out_line(o, "\tchar *arena = rt_arena(cx, at[%d] < %lld ? %lld : at[%d]);\n", d->plan[0]->nspot,
			 (long long)most, (long long)most, d->plan[0]->nspot);
	else
		out_line(o, "\tchar *arena = rt_arena(cx, at[%d]);\n", d->plan[0]->nspot);
	buf_puts(&o->text, common);
	out_line(o, "}");
	return name;
}

/* ---- the check of sizes at entry --------------------------------------------------------------------------------- */

static const char *
expr_text(Arena *a, const RtSizeExpr *e)
{
	return arena_printf(a, "{ %lldLL, %lldLL, %d, { %d, %d, %d, %d } }", (long long)e->c, (long long)e->d, e->n,
			    e->atom[0], e->atom[1], e->atom[2], e->atom[3]);
}

/* Writes the table of the arena's buffers. */
static void
put_buffers(Dynamic *d, const RtSizeBuffers *buffers, const char *name)
{
	out_line(&d->emit->plans, "static const RtSizeBuffer %s_buffers[] = {", name);
	for (int i = 0; i < buffers->n; i++)
		out_line(&d->emit->plans, "\t{ %s, %d, %d },", expr_text(d->cx->arena, &buffers->at[i].bytes),
			 buffers->at[i].first, buffers->at[i].last);
	out_line(&d->emit->plans, "\t{ { 0 }, 0, 0 }\n};");
}

static void
put_relations(Dynamic *d, const char *name)
{
	Arena *a = d->cx->arena;
	Out *o = &d->emit->plans;

	out_line(o, "static const RtSizeCount %s_counts[] = {", name);
	for (int i = 0; i < d->sample_sizes->count.n; i++)
		out_line(o, "\t{ %s, %lldLL },", expr_text(a, &d->sample_sizes->count.at[i].x),
			 (long long)d->sample_sizes->count.at[i].q);
	out_line(o, "\t{ { 0, 0, 0, { 0 } }, 1 }\n};\nstatic const RtSizeTie %s_ties[] = {", name);
	for (int i = 0; i < d->sample_sizes->tie.n; i++) {
		const RtSizeTie *t = &d->sample_sizes->tie.at[i];

		out_line(o, "\t{ %s, %s, %lldLL, %s },", t->kind == RT_TIE_REST ? "RT_TIE_REST" : "RT_TIE_CEIL",
			 expr_text(a, &t->x), (long long)t->q, expr_text(a, &t->y));
	}
	out_line(o, "\t{ RT_TIE_CEIL, { 0, 0, 0, { 0 } }, 1, { 0, 0, 0, { 0 } } }\n};");
}

/* Writes the numbers that operators without data have to compute. Returns the C name of their code. */
static const char *
put_checks(Dynamic *d, const char *name)
{
	const char *code = emit_code(d->emit, d->spec->shapes->code);
	Out *o = &d->emit->plans;

	out_line(o, "\n/* What the numbers in %s have to be: by order, which formula.  c * s[..] * .. + d; -1: "
		 "s[..] is defined there. */", code);
	out_line(o, "static const RtSizeExpr %s_exprs[] = {", name);
	for (int i = 0; i < d->sample_sizes->expr.n; i++)
		out_line(o, "\t%s,", expr_text(d->cx->arena, &d->sample_sizes->expr.at[i]));
	out_line(o, "\t{ 0, 0, 0, { 0 } }\n};\nstatic const uint16_t %s_numbers[] = {", name);
	for (int i = 0; i < d->sample_sizes->number.n; i += 24) {
		Buf b = { 0 };

		for (int k = i; k < i + 24 && k < d->sample_sizes->number.n; k++)
			buf_printf(&b, "%d, ", d->sample_sizes->number.at[k]);
		out_line(o, "\t%s", b.at);
		buf_free(&b);
	}
	out_line(o, "\t0\n};");
	return code;
}

/* Writes the function that computes the sizes from the symbols and tests the demands of the proof. */
static void
put_proof(Dynamic *d, const char *name)
{
	static const char *const fails[] = {
		[DEMAND_ZERO] = "!= 0", [DEMAND_NOT_ZERO] = "== 0", [DEMAND_NATURAL] = "< 0",
	};
	Out *o = &d->emit->plans;
	Buf b = { 0 };

	for (int i = 0; i < d->proof->demand.n; i++) {
		buf_puts(&b, "\tif (");
		size_print(d->proof->demand.at[i].size, SIZE_C, true, &b);
		buf_printf(&b, " %s)\n\t\treturn false;\n", fails[d->proof->demand.at[i].kind]);
	}
	for (int i = d->sample_sizes->nsymbol; i < d->sample_sizes->natom; i++) {
		buf_printf(&b, "\ts[%d] = ", i);
		size_print(d->proof->atom[i], SIZE_C, false, &b);
		buf_puts(&b, ";\n");
	}
	out_line(o, "\nstatic bool\n%s_prove(int64_t *s)\n{\n\t(void)s;\n%s\treturn true;\n}", name, b.at ? b.at : "");
	buf_free(&b);
}

/* Writes the table by which a program checks symbols at entry. */
static void
put_formulas(Dynamic *d, const char *name)
{
	const bool proved = !d->proof->checked;
	Arena *a = d->cx->arena;
	Out *o = &d->emit->plans;
	const char *checks = "0, 0, 0";
	RtSizeBuffers buffers = { 0 };

	dynamic_buffers(d, &buffers);
	if (proved)
		put_proof(d, name);
	else
		checks = arena_printf(a, "%s, %s_exprs, %s_numbers", put_checks(d, name), name, name);
	put_buffers(d, &buffers, name);
	put_relations(d, name);
	out_line(o, "static const int64_t %s_range[][2] = {", name);
	for (int i = 0; i < d->sample_sizes->nsymbol; i++)
		out_line(o, "\t{ %lld, %lld },", (long long)d->sample_sizes->range[i][0],
			 (long long)d->sample_sizes->range[i][1]);
	out_line(o, "\t{ 0, 0 }\n};\nstatic const RtSizes %s = {\n\t%s, %s,\n\t%s, %s_buffers, %s_counts, %s_ties, "
		 "%s_range, %d, %d, %d, %d, %d, %d\n};", name, emit_quoted(d->emit, d->fn->name),
		 proved ? arena_printf(a, "%s_prove", name) : "0", checks, name, name, name, name,
		 proved ? 0 : d->sample_sizes->number.n, d->sample_sizes->nsymbol, d->sample_sizes->natom, buffers.n,
		 d->sample_sizes->count.n, d->sample_sizes->tie.n);
}

static void
begin_shared(Dynamic *d)
{
	struct Lockstep *constants = new(d->cx->arena, struct Lockstep, 1);
	struct Choices *choices = new(d->cx->arena, struct Choices, 1);
	Joinings *joins = new(d->cx->arena, Joinings, 1);

	for (int k = 0; k < d->n; k++) {
		const int nnode = d->spec->sample[k].graph->nnode + 1;

		d->shared[k].refused = new(d->cx->arena, bool, nnode);
		d->shared[k].as_first = new(d->cx->arena, bool, nnode);
		d->shared[k].calls = new(d->cx->arena, KernelCall *, nnode);
		d->shared[k].ncall = new(d->cx->arena, int, nnode);
		d->shared[k].cuda = new(d->cx->arena, CudaCall *, nnode);
		d->shared[k].ncuda = new(d->cx->arena, int, nnode);
		d->shared[k].why_host = new(d->cx->arena, const char *, nnode);
		d->shared[k].constants = constants;
		d->shared[k].choices = choices;
		d->shared[k].joins = d->unjoined ? NULL : joins;
		d->shared[k].nchoice = -1;
		d->shared[k].is_first = k == 0;
	}
}

/* Says how many sizes are not proved, and why. */
static void
say_checked(const Dynamic *d)
{
	const Proof *p = d->proof;
	const char *why = p->wrong ? ": the rules of operators contradict the operators" : "";

	if (!d->emit->verbose || !p->checked)
		return;
	if (p->lacks && !p->wrong)
		why = arena_printf(d->cx->arena, ": no rule proves those of %s", node_place(d->cx, p->lacks));
	fprintf(stderr, "kiln: %s: %d of %d sizes are checked at entry%s\n", d->fn->name, p->checked,
		p->checked + p->proved, why);
}

typedef struct OneDynamic { Dynamic *dynamic; int index; const char *code; DynamicNames *names; } OneDynamic;

static void
emit_one(Cx *cx, void *arg)
{
	OneDynamic *o = arg;
	Dynamic *d = o->dynamic;
	const char *name = out_name(cx->arena, "", d->fn->name), *broken;

	for (int k = 0; k < d->n; k++)
		plan_dissolve(cx, d->fn, &d->spec->sample[k], d->gpu ? PLAN_GPU : PLAN_CPU);
	if (!align(d))
		fail_lacks(cx, (Range){ 0 }, "it is optimized differently for different sizes%s", d->why ? d->why : "");
	begin_shared(d);
	settle_all(d);
	*o->names = (DynamicNames){ emit_name(d->emit, d->fn, o->index, d->gpu ? "cuda" : "spec"),
				    emit_name(d->emit, d->fn, o->index, d->gpu ? "cuda_sizes" : "sizes"), d->plan[0],
				    d->sample_sizes, 0, 0, 0 };
	for (int k = 1; k < (d->spec->bounded ? d->n : d->spec->nprofiled); k++)
		if (d->plan[k]->arena > o->names->plan->arena) {
			o->names->plan = d->plan[k];
			o->names->sample = k;
		}
	if (!function_text(d, o->names->function, o->code,
			   arena_printf(cx->arena, "Specialization %d of %s, of dynamic sizes", o->index, name),
			   o->names->plan->arena) || !dynamic_buffers(d, &(RtSizeBuffers){ 0 }))
		fail_lacks(cx, (Range){ 0 }, "some sizes are not products of others%s", d->why ? d->why : "");
	if (d->gpu && d->sample_sizes->natom + d->sample_sizes->count.n > CU_SIZES)
		fail_lacks(cx, (Range){ 0 }, "its kernels would read more than %d sizes", CU_SIZES);
	d->proof = sizes_prove(d);
	if ((broken = promise_check(d)))
		fail_lacks(cx, (Range){ 0 }, "%s", broken);
	say_checked(d);
	o->names->proved = d->proof->proved;
	o->names->checked = d->proof->checked;
	put_formulas(d, o->names->sizes);
}

static void
take_back(Emit *e, int64_t before)
{
	if (e->plans.text.at) {
		e->plans.text.n = before;
		e->plans.text.at[before] = 0;
	}
}

/* Copies the sizes. The plan for the GPU has its own relations between sizes and its own ranges. These end at the
 * samples, because kernels of the GPU are faster for sizes that fit in 32 bits. */
static Sizes *
copy_sizes(Arena *a, const Sizes *z)
{
	Sizes *copy = new(a, Sizes, 1);

	*copy = *z;
	for (int i = 0; i < z->nsymbol; i++) {
		copy->open[i] = false;
		if (sizes_is_open(z, i))
			copy->range[i][1] = sizes_most(z, i);
	}
	copy->tie.cap = copy->tie.n;
	copy->count.cap = copy->count.n;
	copy->expr.cap = copy->expr.n;
	copy->number.cap = copy->number.n;
	return copy;
}

bool
emit_dynamic(Emit *e, Function *fn, const Specialization *spec, const DynamicOf *of, DynamicNames *names)
{
	Specialization *own = new(e->cx->arena, Specialization, 1);
	const Dynamic begin = { .emit = e, .cx = e->cx, .fn = fn, .spec = own, .gpu = of->gpu,
				.sample_sizes = of->gpu ? copy_sizes(e->cx->arena, spec->sizes) : spec->sizes,
				.n = spec->sizes->nsample, .sizes = size_table(e->cx->arena),
				.measured = { .arena = e->cx->arena } };
	Dynamic d = begin;
	OneDynamic one = { &d, of->index, of->code, names };
	const int64_t before = e->plans.text.n;

	*own = *spec;
	own->sizes = begin.sample_sizes;
	if (cx_try(e->cx, emit_one, &one))
		return true;
	if (e->cx->err.status == EXIT_LACKS) {
		d = begin;
		d.unjoined = true;
		take_back(e, before);
		if (cx_try(e->cx, emit_one, &one))
			return true;
	}
	if (e->cx->err.status != EXIT_LACKS)
		fail_again(e->cx);
	if (e->verbose)
		fprintf(stderr, "kiln: %s: no kernels %sfor dynamic sizes: %s\n", fn->name,
			of->gpu ? "of the GPU " : "", e->cx->err.what);
	take_back(e, before);
	return false;
}
