/*
 * Prints reductions as C: their stages, one after the other, for one row or for several rows side by side.
 *
 * Values that exist once for a row are r0, r1 ... (states), q0 ... (their indices) and u0 ... (lets).  For rows side by
 * side they are arrays, and the innermost loop runs over their index j.  Along a row, partial states are in a0[j], one
 * for each of the schedule's lanes, and are joined in a tree at the end.  The compiler keeps these arrays in registers
 * if the loop over the j of one vector is inside a loop that it unrolls.  Measured, this is as fast as explicit
 * vectors, and faster with exp.
 *
 *    float a0[64];
 *    for (; at + 64 <= to; at += 64)
 *            for (int v = 0; v < 64; v += 16)
 *                    for (int j = v; j < v + 16; j++)
 *                            a0[j] = a0[j] + x1[at + j];
 */
#include "print.h"

#include <string.h>

static const Into of_row = { .at = "", .lane = "" }, of_lanes = { .parts = true, .at = "[j]", .lane = "" };
static const Into of_rows = { .at = "[j]", .lane = "[j]" }, of_parts = { .parts = true, .at = "[j]", .lane = "[j]" };

static bool
is_beside(const Printer *p)
{
	return p->schedule->inner >= 0 && p->schedule->inner < p->kernel->naxis - p->kernel->nreduce;
}

/* Returns the lines of the stage for an element. In a trial nothing is folded or stored. */
static char *
element_of(const Printer *p, int stage, const Into *to)
{
	Into into = *to;

	into.trial = p->trial;
	return kernel_stage_element(p->kernel, stage, &into);
}

static void
put_element(Printer *p, int stage, const Into *to)
{
	put_lines(p, element_of(p, stage, to));
}

/* ---- values that exist once for a row -------------------------------------------------------------------------- */

/* Declares values that exist once for a row: "double r0 = 0;", or for rows side by side "double r0[64];". */
static void
declare(Printer *p)
{
	const bool beside = is_beside(p);
	Arena *a = p->kernel->arena;
	/* gcc 12 aligns the stack for vectors of carried states only if it is told to (GCC bug 109780) */
	const char *aligned = kernel_carries(p->kernel) ? " __attribute__((aligned(32)))" : "";
	const char *many = beside ? arena_printf(a, "[%d]%s", p->schedule->columns, aligned) : "";

	for (int i = 0; i < p->kernel->state.n; i++) {
		const Folded *s = &p->kernel->state.at[i];
		const char *none = beside ? "" : arena_printf(a, " = %s", kernel_start(p->kernel, i, false));

		put_line(p, "%s r%d%s%s;", element_type(s->total), i, many, none);
		none = beside ? "" : arena_printf(a, " = %s", kernel_start(p->kernel, i, true));
		if (s->fold->places)
			put_line(p, "%s q%d%s%s;", element_type(s->place), i, many, none);
	}
	for (int i = 0; i < p->kernel->let.n; i++)
		if (kernel_let_is_kept(p->kernel, i))
			put_line(p, "%s u%d%s;", compute_type(p->kernel->let.at[i].types.result), i,
				 beside && kernel_let_is_shared(p->kernel, i) ? "" : many);
}

/* Initializes the stage's states, or their parts, to the state of an empty row, in a loop over `count`. */
static void
put_starts(Printer *p, int stage, bool parts, const char *count)
{
	open_loop(p, arena_printf(p->kernel->arena, "for (int j = 0; j < %s; j++)", count));
	for (int i = p->kernel->stage.at[stage].state; i < kernel_stage_end(p->kernel, stage).state; i++) {
		put_line(p, "%c%d[j] = %s;", parts ? 'a' : 'r', i, kernel_start(p->kernel, i, false));
		if (p->kernel->state.at[i].fold->places)
			put_line(p, "%c%d[j] = %s;", parts ? 'b' : 'q', i, kernel_start(p->kernel, i, true));
	}
	close_loop(p);
}

static void
declare_parts(Printer *p, int stage, int n)
{
	for (int i = p->kernel->stage.at[stage].state; i < kernel_stage_end(p->kernel, stage).state; i++) {
		const Folded *s = &p->kernel->state.at[i];

		put_line(p, "%s a%d[%d];", element_type(s->part), i, n);
		if (s->fold->places)
			put_line(p, "%s b%d[%d];", element_type(s->place), i, n);
	}
}

/* Joins the stage's states. to, from: "a[j]" and the like, to which the state's number is added. Indices use the next
 * letter. */
static void
put_joins(Printer *p, int stage, const char *to, const char *from)
{
	Arena *a = p->kernel->arena;

	for (int i = p->kernel->stage.at[stage].state; i < kernel_stage_end(p->kernel, stage).state; i++) {
		const char *r = arena_printf(a, "%c%d%s", *to, i, to + 1);
		const char *x = arena_printf(a, "%c%d%s", *from, i, from + 1);
		const char *q = arena_printf(a, "%c%d%s", *to + (*to == 'r' ? -1 : 1), i, to + 1);
		const char *y = arena_printf(a, "%c%d%s", *from + 1, i, from + 1);

		put_lines(p, kernel_join(p->kernel, i, r, q, x, y));
	}
}

/* Are parts of a row folded in another type than the whole? */
static bool
has_parts(const Printer *p, int stage)
{
	for (int i = p->kernel->stage.at[stage].state; i < kernel_stage_end(p->kernel, stage).state; i++)
		if (p->kernel->state.at[i].part != p->kernel->state.at[i].total)
			return true;
	return false;
}

/* ---- along a row ----------------------------------------------------------------------------------------------- */

/* Prints a loop over the lanes j of one vector. */
static void
put_lanes(Printer *p, int stage, const char *head)
{
	put_line(p, "IVDEP");
	open_loop(p, head);
	put_line(p, "const int64_t i%d = at + j;", p->schedule->inner);
	put_element(p, stage, &of_lanes);
	close_loop(p);
}

/* Joins the lanes in a tree, and the result with the row's states. A remainder of the row is folded in when the tree
 * has that many lanes. */
static void
put_tree(Printer *p, int stage, int64_t rest)
{
	for (int n = p->schedule->lanes / 2; n >= LEAST_VECTOR; n /= 2) {
		const char *head = arena_printf(p->kernel->arena, "for (int j = 0; j < %d; j++)", n);

		put_line(p, "IVDEP");
		open_loop(p, head);
		put_joins(p, stage, "a[j]", arena_printf(p->kernel->arena, "a[j + %d]", n));
		close_loop(p);
		if (!(rest & n) || n >= KERNEL_LANES)
			continue;
		open_loop(p, arena_printf(p->kernel->arena, "if (at + %d <= to)", n));
		put_lanes(p, stage, head);
		put_line(p, "at += %d;", n);
		close_loop(p);
	}
	put_joins(p, stage, "a[0]", "a[1]");
	put_joins(p, stage, "a[2]", "a[3]");
	put_joins(p, stage, "a[0]", "a[2]");
	put_joins(p, stage, "r", "a[0]");
}

/* Number of elements left after full groups of lanes. If the length is unknown, all bits that it may have. */
static int64_t
rest_of(const Printer *p)
{
	int64_t n;

	return size_const(p->kernel->extent[p->schedule->inner], &n) ? n % p->schedule->lanes : p->schedule->lanes - 1;
}

/* Folds the elements from `at` to `to`: by all lanes, by one vector, by half and a quarter of one, one by one. */
static void
put_part(Printer *p, int stage)
{
	const int64_t rest = rest_of(p);

	declare_parts(p, stage, p->schedule->lanes);
	put_starts(p, stage, true, arena_printf(p->kernel->arena, "%d", p->schedule->lanes));
	if (p->schedule->lanes > KERNEL_LANES) {
		put_line(p, "for (; at + %d <= to; at += %d)", p->schedule->lanes, p->schedule->lanes);
		p->indent++;
		put_line(p, "VC_UNROLL");
		put_line(p, "for (int v = 0; v < %d; v += 16)", p->schedule->lanes);
		p->indent++;
		put_lanes(p, stage, "for (int j = v; j < v + 16; j++)");
		p->indent -= 2;
	}
	if (p->schedule->lanes <= KERNEL_LANES || rest >= KERNEL_LANES) {
		put_line(p, "for (; at + 16 <= to; at += 16)");
		p->indent++;
		put_lanes(p, stage, "for (int j = 0; j < 16; j++)");
		p->indent--;
	}
	put_tree(p, stage, rest);
	if (rest % LEAST_VECTOR == 0)
		return;
	open_loop(p, "for (; at < to; at++)");
	put_line(p, "const int64_t i%d = at;", p->schedule->inner);
	put_element(p, stage, &of_row);
	close_loop(p);
}

static void
put_reduction(Printer *p, int stage)
{
	const char *n = c_size(p, p->kernel->extent[p->schedule->inner]);

	if (p->schedule->lanes == 1) {
		open_loop(p, loop_head(p, p->schedule->inner));
		put_row_gathers(p, true, "continue");
		put_element(p, stage, &of_row);
		close_loop(p);
		return;
	}
	if (has_parts(p, stage)) {
		open_loop(p,
			  arena_printf(p->kernel->arena, "for (int64_t part = 0; part < %s; part += %d)", n,
				       KERNEL_PART));
		put_line(p, "const int64_t to = part + %d < %s ? part + %d : %s;", KERNEL_PART, n, KERNEL_PART, n);
		put_line(p, "int64_t at = part;");
	} else {
		open_loop(p, "");
		put_line(p, "const int64_t to = %s;", n);
		put_line(p, "int64_t at = 0;");
	}
	put_part(p, stage);
	close_loop(p);
}

/* ---- rows side by side ----------------------------------------------------------------------------------------- */

/* Prints a loop over the rows side by side, from one number to another, that runs the stage for each. Their index is
 * declared only if the stage uses it. */
static void
put_some_beside(Printer *p, int stage, const Into *to, const char *from, const char *end)
{
	const char *name = arena_printf(p->kernel->arena, "i%d", p->schedule->inner);
	char *lines = element_of(p, stage, to);

	put_line(p, "IVDEP");
	open_loop(p, arena_printf(p->kernel->arena, "for (int j = %s; j < %s; j++)", from, end));
	if (strstr(lines, name))
		put_line(p, "const int64_t %s = tile * %d + j;", name, p->schedule->columns);
	put_lines(p, lines);
	close_loop(p);
}

static void
put_beside(Printer *p, int stage, const Into *to, const char *count)
{
	put_some_beside(p, stage, to, "0", count);
}

/* Prints a whole unit's rows, one vector after the other, as along a row: states stay in registers. */
static void
put_vectors_beside(Printer *p, int stage)
{
	const int n = p->schedule->columns, vectors = n / KERNEL_LANES * KERNEL_LANES;
	Arena *a = p->kernel->arena;

	if (vectors) {
		put_line(p, "VC_UNROLL");
		put_line(p, "for (int v = 0; v < %d; v += %d)", vectors, KERNEL_LANES);
		p->indent++;
		put_some_beside(p, stage, &of_rows, "v", arena_printf(a, "v + %d", KERNEL_LANES));
		p->indent--;
	}
	if (vectors < n)
		put_some_beside(p, stage, &of_rows, arena_printf(a, "%d", vectors), arena_printf(a, "%d", n));
}

/* Prints the points of rows side by side, in order. full: whether there are as many rows as the schedule's columns. */
static void
put_rows_beside(Printer *p, int stage, bool full)
{
	open_loop(p, loop_head(p, p->kernel->naxis - 1));
	put_row_gathers(p, true, "continue");
	if (full)
		put_vectors_beside(p, stage);
	else
		put_beside(p, stage, &of_rows, "some");
	close_loop(p);
}

/* Prints the points of all rows with carried states. The compiler keeps the states of a full unit in registers if their
 * number is constant. */
static void
put_carried(Printer *p, int stage)
{
	if (p->schedule->whole) {
		put_rows_beside(p, stage, true);
		return;
	}
	open_loop(p, arena_printf(p->kernel->arena, "if (some == %d)", p->schedule->columns));
	put_rows_beside(p, stage, true);
	close_loop(p);
	open_loop(p, "else");
	put_rows_beside(p, stage, false);
	close_loop(p);
}

static void
put_reduction_beside(Printer *p, int stage)
{
	const int last = p->kernel->naxis - 1, part = KERNEL_PART / KERNEL_COLUMNS;
	const char *n = axis_end(p, last);
	Arena *a = p->kernel->arena;

	if (!has_parts(p, stage)) {
		if (kernel_carries(p->kernel))
			put_carried(p, stage);
		else
			put_rows_beside(p, stage, false);
		return;
	}
	open_loop(p, arena_printf(a, "for (int64_t part = %s; part < %s; part += %d)", axis_first(p, last), n, part));
	put_line(p, "const int64_t to = part + %d < %s ? part + %d : %s;", part, n, part, n);
	declare_parts(p, stage, KERNEL_COLUMNS);
	put_starts(p, stage, true, "some");
	open_loop(p, arena_printf(a, "for (int64_t i%d = part; i%d < to; i%d++)", last, last, last));
	put_beside(p, stage, &of_parts, "some");
	close_loop(p);
	put_line(p, "IVDEP");
	open_loop(p, "for (int j = 0; j < some; j++)");
	put_joins(p, stage, "r[j]", "a[j]");
	close_loop(p);
	close_loop(p);
}

/* ---- stages ---------------------------------------------------------------------------------------------------- */

/* Are the stage's values the same for rows side by side? */
static bool
holds_for_unit(const Printer *p, int stage)
{
	const Stage from = p->kernel->stage.at[stage], end = kernel_stage_end(p->kernel, stage);

	for (int i = from.let; i < end.let; i++)
		if (!kernel_let_is_shared(p->kernel, i))
			return false;
	return from.state == end.state && from.store == end.store;
}

static void
put_once(Printer *p, int stage)
{
	if (is_beside(p) && !holds_for_unit(p, stage)) {
		put_beside(p, stage, &of_rows, "some");
		return;
	}
	open_loop(p, "");
	put_element(p, stage, &of_row);
	close_loop(p);
}

/* Prints a stage that runs for each point: the innermost loop is along the row or over rows side by side. */
static void
put_points(Printer *p, int stage, const char *head)
{
	const bool reduces = !p->trial && p->kernel->stage.at[stage].state < kernel_stage_end(p->kernel, stage).state;

	(void)head;
	if (is_beside(p) && reduces) {
		put_reduction_beside(p, stage);
	} else if (reduces) {
		put_reduction(p, stage);
	} else if (is_beside(p)) {
		put_rows_beside(p, stage, false);
	} else {
		put_line(p, "IVDEP");
		open_loop(p, loop_head(p, p->schedule->inner));
		put_element(p, stage, &of_row);
		close_loop(p);
	}
}

void
put_row(Printer *p)
{
	const int outer = p->kernel->naxis - p->kernel->nreduce;

	if (is_beside(p)) {
		const char *left = arena_printf(p->kernel->arena, "%s - tile * %d",
						c_size(p, p->kernel->extent[p->schedule->inner]), p->schedule->columns);

		if (p->schedule->whole)
			put_line(p, "enum { some = %d };", p->schedule->columns);
		else
			put_line(p, "const int64_t some = %s < %d ? %s : %d;", left, p->schedule->columns, left,
				 p->schedule->columns);
	}
	declare(p);
	for (int i = 0; i < p->kernel->stage.n; i++) {
		const bool starts = is_beside(p) && p->kernel->stage.at[i].state < kernel_stage_end(p->kernel, i).state;

		if (starts)
			put_starts(p, i, false, "some");
		if (p->kernel->stage.at[i].select.count) {
			put_select(p, i);
			continue;
		}
		if (!p->kernel->stage.at[i].each || !p->kernel->nreduce) {
			put_once(p, i);
			put_range_checks(p, i, "continue");
			continue;
		}
		for (int d = outer; d < p->kernel->naxis - 1; d++)
			open_loop(p, loop_head(p, d));
		put_tried(p, i, NULL, put_points);
		for (int d = outer; d < p->kernel->naxis - 1; d++)
			close_loop(p);
	}
}
