/*
 * Prints kernels as CUDA, with a thread for each point. In reductions, a thread computes a row if rows are side by
 * side. Else a block computes it: its threads read every 256th element and join their partial results in shared memory,
 * in a tree.
 */
#include "../../ir/row.h"
#include "print.h"

#include <string.h>

void
kernel_cuda_params(const Kernel *k, Buf *b)
{
	for (int i = 0; i < k->operand.n; i++) {
		const Operand *o = &k->operand.at[i];

		if (!kernel_has_address(k, i))
			continue;
		buf_puts(b, b->n ? ", " : "");
		if (o->access == ACCESS_NUMBER)
			buf_printf(b, "double %s", o->name);
		else
			buf_printf(b, "%s%s *%s", o->access == ACCESS_READ ? "const " : "",
				   element_type(o->dtype), o->name);
	}
	if (kernel_may_fail(k) || kernel_cuda_symbols(k))
		buf_printf(b, "%sint *wrong", b->n ? ", " : "");
	if (kernel_cuda_symbols(k))
		buf_puts(b, ", const CuSizes s");
}

bool
kernel_cuda_symbols(const Kernel *k)
{
	SizeRange range;

	for (int i = 0; i < SIZE_SYMBOLS; i++)
		if (size_range(k->sizes, i, &range))
			return true;
	return false;
}

static const Size *
product(const Kernel *k, int first, int end)
{
	const Size *n = size_number(k->sizes, 1);

	for (int i = first; i < end; i++)
		n = size_times(k->sizes, n, k->extent[i]);
	return n;
}

/* Declares the indices of axes [first, end), computed from a number. Numbers that fit in 32 bits are divided in 32
 * bits. */
void
put_cuda_indices(Printer *p, int first, int end, const char *from)
{
	const bool narrow = size_at_most(p->kernel->sizes, product(p->kernel, first, end), INT32_MAX);
	const char *type = narrow ? "unsigned" : "int64_t";

	if (end - first == 1) {
		put_line(p, "const int64_t i%d = %s;", first, from);
		return;
	}
	if (end > first)
		put_line(p, "%s rest_%d = (%s)%s;", type, first, type, from);
	for (int i = end - 1; i > first; i--) {
		const char *n = c_size(p, p->kernel->extent[i]);

		put_line(p, "const int64_t i%d = rest_%d %% %s; rest_%d /= %s;", i, first, n, first, n);
	}
	if (end > first)
		put_line(p, "const int64_t i%d = rest_%d;", first, first);
}

/* Are a chain's local operands small enough for shared memory? */
static bool
has_small_locals(const Kernel *k)
{
	int64_t n;

	return size_const(kernel_scratch(k), &n) && n <= CUDA_LOCAL;
}

bool
kernel_has_cuda(const Kernel *k)
{
	if (k->next)
		return has_small_locals(k);
	for (int i = 0; i < k->operand.n; i++)
		if (k->operand.at[i].along >= 0)
			return false;
	return !kernel_selects(k) || size_at_most(k->sizes, k->extent[k->naxis - 1], CUDA_SELECTED);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static int
outer_axes(const Kernel *k)
{
	return k->serial >= k->shared ? k->serial : k->naxis - k->nreduce;
}

/* Does a block reduce a row, not a thread? A thread walks a row whose states are carried. */
static bool
is_shared(const Printer *p)
{
	return p->kernel->nreduce && !p->kernel->range.n && p->schedule->inner == p->kernel->naxis - 1 &&
	       !kernel_carries(p->kernel) && !kernel_has_lets_as_indices(p->kernel);
}

static void
declare(Printer *p)
{
	for (int i = 0; i < p->kernel->state.n; i++) {
		const Folded *s = &p->kernel->state.at[i];

		put_line(p, "%s r%d = %s;", element_type(s->total), i, kernel_start(p->kernel, i, false));
		if (s->fold->places)
			put_line(p, "%s q%d = %s;", element_type(s->place), i, kernel_start(p->kernel, i, true));
	}
	for (int i = 0; i < p->kernel->let.n; i++)
		if (kernel_let_is_kept(p->kernel, i))
			put_line(p, "%s u%d;", compute_type(p->kernel->let.at[i].types.result), i);
}

/* Joins the threads' parts of a state in shared memory. Each thread gets the result. */
static void
put_tree(Printer *p, int state)
{
	const Folded *s = &p->kernel->state.at[state];
	const bool places = s->fold->places;
	Arena *a = p->kernel->arena;
	char *join = kernel_join(p->kernel, state, arena_printf(a, "all%d[t]", state),
				 arena_printf(a, "at%d[t]", state), arena_printf(a, "all%d[t + n]", state),
				 arena_printf(a, "at%d[t + n]", state));

	put_line(p, "__shared__ %s all%d[%d];", element_type(s->total), state, CUDA_BLOCK);
	if (places)
		put_line(p, "__shared__ %s at%d[%d];", element_type(s->place), state, CUDA_BLOCK);
	put_line(p, "all%d[t] = a%d;", state, state);
	if (places)
		put_line(p, "at%d[t] = b%d;", state, state);
	open_loop(p, arena_printf(a, "for (int n = %d; n; n /= 2)", CUDA_BLOCK / 2));
	put_line(p, "__syncthreads();");
	open_loop(p, "if (t < n)");
	put_lines(p, join);
	close_loop(p);
	close_loop(p);
	put_line(p, "__syncthreads();");
	put_line(p, "r%d = all%d[0];", state, state);
	if (places)
		put_line(p, "q%d = at%d[0];", state, state);
}

/* Prints a thread's loop over every 256th point of the row. */
static void
put_points(Printer *p, int stage)
{
	const Into to = { .parts = true, .at = "", .lane = "" };
	const Stage from = p->kernel->stage.at[stage], end = kernel_stage_end(p->kernel, stage);

	open_loop(p, "");
	for (int i = from.state; i < end.state; i++) {
		const Folded *s = &p->kernel->state.at[i];

		put_line(p, "%s a%d = %s;", element_type(s->part), i, kernel_start(p->kernel, i, false));
		if (s->fold->places)
			put_line(p, "%s b%d = %s;", element_type(s->place), i, kernel_start(p->kernel, i, true));
	}
	open_loop(p, arena_printf(p->kernel->arena, "for (int64_t at = t; at < %s; at += %d)",
				  c_size(p, product(p->kernel, outer_axes(p->kernel), p->kernel->naxis)), CUDA_BLOCK));
	put_cuda_indices(p, outer_axes(p->kernel), p->kernel->naxis, "at");
	put_row_gathers(p, true, "continue");
	put_lines(p, kernel_stage_element(p->kernel, stage, &to));
	close_loop(p);
	for (int i = from.state; i < end.state; i++)
		put_tree(p, i);
	close_loop(p);
}

static void
put_stage(Printer *p, int stage)
{
	const Into to = { .at = "", .lane = "", .only_if = is_shared(p) ? "if (t == 0)\n\t" : NULL };
	const bool each = p->kernel->stage.at[stage].each;

	if (p->kernel->stage.at[stage].select.count) {
		put_select_cuda(p, stage);
		return;
	}
	if (each && is_shared(p)) {
		put_points(p, stage);
		return;
	}
	open_loop(p, "");
	for (int i = outer_axes(p->kernel); each && i < p->kernel->naxis; i++)
		open_loop(p, loop_head(p, i));
	if (each)
		put_row_gathers(p, true, "return");
	put_lines(p, kernel_stage_element(p->kernel, stage, &to));
	for (int i = outer_axes(p->kernel); each && i < p->kernel->naxis; i++)
		close_loop(p);
	close_loop(p);
	put_range_checks(p, stage, "return");
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

enum { TILE = 64 };              /* cutile.h: CU_TILE */

/* First axis of the groups, columns and summed axes. Rows come first, at axis 0. */
typedef struct Tiles { int group, column, outer; } Tiles;

static bool
moves(const Kernel *k, int operand, int axis)
{
	return !size_is(k->operand.at[operand].stride[axis], 0);
}

bool
kernel_is_contract(const Kernel *k)
{
	const Let *times = k->let.n ? &k->let.at[0] : NULL;

	return times && !k->next && !k->shared && k->stage.n == 2 && k->state.n == 1 &&
	       !strcmp(k->state.at[0].fold->name, "sum") &&
	       k->state.at[0].total == k->state.at[0].part && times->op->row == ROW_mul_Tensor &&
	       times->types.compute == k->state.at[0].part && times->arg[0].kind == REF_OPERAND &&
	       times->arg[0].at == 1 && times->arg[1].kind == REF_OPERAND && times->arg[1].at == 2 &&
	       k->stage.at[1].let == 1 && k->state.at[0].x.kind == REF_LET;
}

static bool
tiles_of(const Kernel *k, Tiles *t)
{
	t->outer = k->naxis - k->nreduce;
	if (!kernel_is_contract(k) || k->let.at[0].types.compute != RT_f32 || k->range.n)
		return false;
	for (t->group = 0; t->group < t->outer && !moves(k, 2, t->group);)
		t->group++;
	for (t->column = t->group; t->column < t->outer && moves(k, 1, t->column) && moves(k, 2, t->column);)
		t->column++;
	for (int i = t->column; i < t->outer; i++)
		if (moves(k, 1, i) || !moves(k, 2, i))
			return false;
	return true;
}

bool
kernel_cuda_tiles(const Kernel *k, const Size *grid[3])
{
	const Size *tile = size_number(k->sizes, TILE);
	Tiles t;

	if (!tiles_of(k, &t))
		return false;
	grid[0] = size_ceil(k->sizes, product(k, 0, t.group), tile);
	grid[1] = size_ceil(k->sizes, product(k, t.column, t.outer), tile);
	grid[2] = product(k, t.group, t.column);
	return size_at_most(k->sizes, grid[1], UINT16_MAX) && size_at_most(k->sizes, grid[2], UINT16_MAX);
}

/* Writes the lambda that loads an input: "[=](int64_t row, int64_t k) { indices; return x1[...]; }," */
static void
put_input(Printer *p, const Tiles *t, int operand)
{
	const bool first = operand == 1;

	open_loop(p, first ? "[=](int64_t row, int64_t k)" : "[=](int64_t k, int64_t column)");
	put_cuda_indices(p, first ? 0 : t->column, first ? t->group : t->outer, first ? "row" : "column");
	put_cuda_indices(p, t->outer, p->kernel->naxis, "k");
	put_line(p, "return %s;", kernel_place(p->kernel, operand));
	p->indent--;
	put_line(p, "},");
}

char *
kernel_print_cuda_tiles(const Kernel *k)
{
	const Into to = { .at = "", .lane = "" };
	Printer p = { .kernel = k, .indent = 1 };
	Buf params = { 0 };
	bool along;              /* whether the second input is consecutive along the summed axes */
	Tiles t;

	if (!tiles_of(k, &t))
		BUG("%s: no sum of products", k->name);
	kernel_cuda_params(k, &params);
	buf_printf(&p.text, "(%s)\n{\n", params.at);
	buf_free(&params);
	put_cuda_indices(&p, t.group, t.column, "blockIdx.z");
	along = t.outer == t.column || !kernel_consecutive(k, 2, t.outer - 1);
	put_line(&p, "cu_product<%s>(%s, %s, %s,", along ? "true" : "false", c_size(&p, product(k, 0, t.group)),
		 c_size(&p, product(k, t.column, t.outer)), c_size(&p, product(k, t.outer, k->naxis)));
	put_input(&p, &t, 1);
	put_input(&p, &t, 2);
	open_loop(&p, "[=](int64_t row, int64_t column, float r0)");
	put_cuda_indices(&p, 0, t.group, "row");
	put_cuda_indices(&p, t.column, t.outer, "column");
	put_lines(&p, kernel_stage_element(k, 1, &to));
	p.indent--;
	put_line(&p, "});");
	buf_puts(&p.text, "}\n");
	return arena_text(k->arena, &p.text);
}

/* ---- links as arguments ------------------------------------------------------------------------------------------ */

void
put_cuda_load(Printer *p, const Kernel *link, int operand, int a, int b)
{
	put_line(p, "[=](int64_t i%d, int64_t i%d) { return %s; },", a, b, kernel_place(link, operand));
}

void
put_cuda_value(Printer *p, const Kernel *link, int local)
{
	const Into to = { .trial = true, .at = "", .lane = "" };
	Kernel *made = kernel_copy(link);

	made->operand.at[local].access = ACCESS_MADE;
	open_loop(p, arena_printf(link->arena, "[=](int64_t i%d, int64_t i%d, float made)", link->shared - 1,
				  link->naxis - 1));
	put_lines(p, kernel_stage_element(made, 0, &to));
	put_line(p, "return t%d;", kernel_stage_end(link, 0).let - 1);
	p->indent--;
	put_line(p, "},");
}

void
put_cuda_store(Printer *p, const Kernel *link)
{
	const Into to = { .at = "", .lane = "" };

	open_loop(p, arena_printf(link->arena, "[=](int64_t i%d, int64_t i%d, float r0)", link->shared - 1,
				  link->shared));
	put_lines(p, kernel_stage_element(link, link->stage.n - 1, &to));
	p->indent--;
	put_line(p, "});");
}

/* ---- kernels --------------------------------------------------------------------------------------------------- */

const Size *
kernel_cuda_blocks(const Kernel *k, const Schedule *s)
{
	const Printer p = { .kernel = k, .schedule = s };
	const Size *n = product(k, 0, outer_axes(k));

	if (k->next)
		return product(k, 0, k->shared - (k->serial >= 0));
	return is_shared(&p) ? n : size_ceil(k->sizes, n, size_number(k->sizes, CUDA_BLOCK));
}

/* Prints parameters, the thread's row and its index. */
static void
put_head(Printer *p)
{
	const int outer = outer_axes(p->kernel);
	Buf params = { 0 };

	kernel_cuda_params(p->kernel, &params);
	buf_printf(&p->text, "(%s)\n{\n", params.n ? params.at : "");
	buf_free(&params);
	if (is_shared(p) || p->kernel->next) {
		put_line(p, "const int64_t row = blockIdx.x;");
		put_line(p, "const int t = (int)threadIdx.x;\n");
		put_cuda_indices(p, 0, p->kernel->next ? p->kernel->shared - (p->kernel->serial >= 0) : outer, "row");
		return;
	}
	put_line(p, "const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;\n");
	put_line(p, "if (at >= %s)", c_size(p, product(p->kernel, 0, outer)));
	put_line(p, "\treturn;");
	put_cuda_indices(p, 0, outer, "at");
}

/* Prints the computation of a thread's element, or of all elements of a serial axis in order. */
static void
put_thread(Printer *p)
{
	if (p->kernel->serial >= 0)
		open_loop(p, loop_head(p, p->kernel->serial));
	for (int i = 0; i < p->kernel->operand.n; i++)
		for (int g = 0; g < p->kernel->operand.at[i].ngather; g++)
			if (p->kernel->operand.at[i].gather[g].by.kind == REF_OPERAND)
				put_gather(p, &p->kernel->operand.at[i], g, "return");
	put_lines(p, kernel_element(p->kernel, NULL, false));
	if (p->kernel->serial >= 0)
		close_loop(p);
}

/* Prints a link. A thread computes every 256th row of its own axes. If it has none, the block reduces the row. */
static void
put_link(Printer *p)
{
	const int shared = p->kernel->shared, outer = outer_axes(p->kernel);

	open_loop(p, p->kernel->first && p->kernel->serial >= 0 ?
		  arena_printf(p->kernel->arena, "if (i%d == 0)", p->kernel->serial) : "");
	if (outer > shared) {
		open_loop(p, arena_printf(p->kernel->arena, "for (int64_t at = t; at < %s; at += %d)",
					  c_size(p, product(p->kernel, shared, outer)), CUDA_BLOCK));
		put_cuda_indices(p, shared, outer, "at");
	}
	declare(p);
	for (int i = 0; i < p->kernel->stage.n; i++)
		put_stage(p, i);
	if (outer > shared)
		close_loop(p);
	close_loop(p);
	put_line(p, "__syncthreads();");
}

/* Prints the links of a chain for a point of the shared axes. Local operands are in shared memory. */
static void
put_links(Printer *p)
{
	const bool steps = p->kernel->serial >= 0;

	for (int i = 0; i < p->kernel->operand.n; i++) {
		const Operand *o = &p->kernel->operand.at[i];
		int64_t bytes = 0;

		if (o->access != ACCESS_LOCAL)
			continue;
		size_const(kernel_local(p->kernel, i), &bytes);
		put_line(p, "__shared__ %s %s[%lld];", element_type(o->dtype), o->name,
			 (long long)(bytes / rt_dtypes[o->dtype].bytes));
	}
	if (steps)
		open_loop(p, loop_head(p, p->kernel->serial));
	for (; p->kernel; p->kernel = p->kernel->next) {
		const bool apart = outer_axes(p->kernel) > p->kernel->shared;
		const Schedule s = { .rows = true, .inner = apart ? -1 : p->kernel->naxis - 1, .tile = -1 };

		p->schedule = &s;
		put_link(p);
	}
	if (steps)
		close_loop(p);
}

char *
kernel_print_cuda(const Kernel *k, const Schedule *s)
{
	Printer p = { .kernel = k, .schedule = s, .indent = 1 };

	RT_ASSERT(kernel_has_cuda(k));
	put_head(&p);
	if (k->next) {
		put_links(&p);
	} else if (!kernel_has_rows(k)) {
		put_thread(&p);
	} else {
		put_row_gathers(&p, false, "return");
		declare(&p);
		for (int i = 0; i < k->stage.n; i++)
			put_stage(&p, i);
	}
	buf_puts(&p.text, "}\n");
	return arena_text(k->arena, &p.text);
}
