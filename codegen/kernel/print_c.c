/*
 * Prints kernels as C: loops around the computation of a point (element.c).  print_rows.c prints reductions.
 *
 *    units are points of one axis        rows: units are points of all axes except the inner one
 *
 *    for (int64_t i0 = begin; ...)       for (int64_t row = begin; row < end; row++) {
 *            element                             int64_t rest = row; const int64_t i1 = rest % 14; rest /= 14; ...
 *                                                for (int64_t i2 = 0; i2 < 64; i2++)
 *                                                        element
 */
#include "print.h"

static void
put_element(Printer *p, const Size *columns)
{
	put_lines(p, kernel_element(p->kernel, columns, p->trial));
}

/* ---- addresses ------------------------------------------------------------------------------------------------- */

/* Declares an operand's pointer: "const float *restrict x1 = p[1];". It is restrict in kernels without lets, which
 * never write to what they read. */
static void
put_pointer(Printer *p, int operand, int place)
{
	const Operand *o = &p->kernel->operand.at[operand];
	Arena *a = p->kernel->arena;
	const char *from = o->along < 0 ? arena_printf(a, "p[%d]", place)
					: arena_printf(a, "p[%d + i%d]", place, o->along);

	if (o->access == ACCESS_NUMBER)
		put_line(p, "const double %s = *(const double *)%s;", o->name, from);
	else
		put_line(p, "%s%s *%s%s = %s;", o->access == ACCESS_READ ? "const " : "", element_type(o->dtype),
			 p->kernel->let.n ? "" : "restrict ", o->name, from);
}

/* Declares the pointers of operands. along: only those with an address for each point of the outermost axis, once its
 * index exists; else only the others. */
static void
put_pointers(Printer *p, bool along, const int *place)
{
	int at = 0;

	for (int i = 0; i < p->kernel->operand.n; i++) {
		if ((p->kernel->operand.at[i].along >= 0) == along && kernel_has_address(p->kernel, i))
			put_pointer(p, i, place ? place[i] : at);
		at += kernel_has_address(p->kernel, i);
	}
}

typedef void PutIndex(Printer *, const Operand *, int gather);

/* Prints gathers by operands: those whose index is constant along a row, or only the others. */
static void
put_gathers(Printer *p, bool of_rows, PutIndex *put)
{
	for (int i = 0; i < p->kernel->operand.n; i++) {
		const Operand *o = &p->kernel->operand.at[i];

		for (int g = 0; g < o->ngather; g++) {
			const Operand *by = &p->kernel->operand.at[o->gather[g].by.at];

			if (o->gather[g].by.kind != REF_OPERAND)
				continue;
			if ((p->schedule->rows && (p->schedule->inner < 0 ||
						   size_is(by->stride[p->schedule->inner], 0))) == of_rows)
				put(p, o, g);
		}
	}
}

static void
put_index(Printer *p, const Operand *o, int gather)
{
	put_gather(p, o, gather, "continue");
}

/* Loads the indices of a tile's points along the innermost axis before its loops, which use them repeatedly. A wrong
 * index ends the kernel, because the generic kernel then starts anew and raises. */
static void
put_tile_array(Printer *p, const Operand *o, int gather)
{
	put_line(p, "int64_t %s_tile[%d];", kernel_index_name(p->kernel->arena, o, gather), KERNEL_TILE);
}

static void
put_tile_index(Printer *p, const Operand *o, int gather)
{
	const char *name = kernel_index_name(p->kernel->arena, o, gather);

	put_gather(p, o, gather, "return");
	put_line(p, "%s_tile[i%d - at] = %s;", name, p->kernel->naxis - 1, name);
}

static void
put_tile_indices(Printer *p)
{
	const int last = p->kernel->naxis - 1;

	put_gathers(p, false, put_tile_array);
	open_loop(p, arena_printf(p->kernel->arena, "for (int64_t i%d = at; i%d < to; i%d++)", last, last, last));
	put_gathers(p, false, put_tile_index);
	close_loop(p);
}

static void
put_index_of_tile(Printer *p, const Operand *o, int gather)
{
	const char *name = kernel_index_name(p->kernel->arena, o, gather);

	put_line(p, "const int64_t %s = %s_tile[i%d - at];", name, name, p->kernel->naxis - 1);
}

/* ---- loops ----------------------------------------------------------------------------------------------------- */

/* Declares the indices of a row: those of all axes except the inner one. The tiled axis gets the tile's number. */
static void
open_rows(Printer *p)
{
	const bool has_rows = kernel_has_rows(p->kernel);
	const int points = p->schedule->inner >= 0 ? p->schedule->inner : p->kernel->serial > 0 ? p->kernel->serial : 0;
	const int outer = p->kernel->next ? p->kernel->shared - (p->kernel->serial >= 0) :
			  has_rows ? p->kernel->naxis - p->kernel->nreduce : points;
	const int tile = has_rows && p->schedule->inner < outer ? p->schedule->inner : p->schedule->tile;
	const Size *width = size_number(p->kernel->sizes, has_rows ? p->schedule->columns : KERNEL_TILE);

	if (outer == 1 && tile < 0) {
		open_loop(p, "for (int64_t i0 = begin; i0 < end; i0++)");
		return;
	}
	open_loop(p, "for (int64_t row = begin; row < end; row++)");
	if (outer > 0)
		put_line(p, "int64_t rest = row;");
	for (int i = outer - 1; i >= 0; i--) {
		const Size *n = p->kernel->extent[i];
		const char *name = i == tile ? "tile" : arena_printf(p->kernel->arena, "i%d", i);

		if (i == tile)
			n = size_ceil(p->kernel->sizes, n, width);
		if (!i)
			put_line(p, "const int64_t %s = rest;", name);
		else
			put_line(p, "const int64_t %s = rest %% %s; rest /= %s;", name, c_size(p, n), c_size(p, n));
	}
}

static void
put_innermost_loops(Printer *p, int stage, const char *head)
{
	int64_t n;

	(void)stage;
	put_line(p, "IVDEP");
	open_loop(p, head);
	if (!p->schedule->rows)
		put_pointers(p, true, NULL);
	put_gathers(p, false, put_index);
	for (int i = p->schedule->inner + 1; i < p->kernel->naxis && p->kernel->serial < 0; i++) {
		if (size_const(p->kernel->extent[i], &n))
			put_line(p, "UNROLL");
		open_loop(p, loop_head(p, i));
	}
	put_element(p, NULL);
	for (int i = p->schedule->inner + 1; i < p->kernel->naxis && p->kernel->serial < 0; i++)
		close_loop(p);
	close_loop(p);
}

static void
put_innermost(Printer *p, const char *head)
{
	put_tried(p, 0, head, put_innermost_loops);
}

/* Are whole tiles transposed by vector code (vturn.h)? */
static bool
turns_squares(const Printer *p)
{
	const Operand *y = &p->kernel->operand.at[0], *x = &p->kernel->operand.at[1];

	return p->kernel->operand.n == 2 && !p->kernel->let.n && y->dtype == x->dtype &&
	       rt_dtypes[x->dtype].bytes == 4 && !x->bound.n;
}

static void
put_whole_square(Printer *p)
{
	const int t = p->schedule->tile, last = p->kernel->naxis - 1;

	put_line(p, "const int64_t i%d = tile * %d, i%d = at;", t, KERNEL_TILE, last);
	buf_puts(&p->text, "\n");
	put_line(p, "vq_square(&%s, %s, &%s, %s);", kernel_place(p->kernel, 0),
		 c_size(p, p->kernel->operand.at[0].stride[t]),
		 kernel_place(p->kernel, 1), c_size(p, p->kernel->operand.at[1].stride[last]));
}

/* Copies a tile so that the inner loop reads consecutive elements and vectorizes. If it already does, only takes the
 * tile's address. */
static void
put_tile_operand(Printer *p, int operand)
{
	const Operand *o = &p->kernel->operand.at[operand];
	const char *first = kernel_place(p->kernel, operand), *step = c_size(p, o->stride[p->kernel->naxis - 1]),
		   *type = element_type(o->dtype);

	switch (kernel_copied(p->kernel, operand, p->schedule->tile)) {
	case COPIED_NOT:
		put_line(p, "%s%s *%s_tile = &%s;", o->access == ACCESS_READ ? "const " : "", type, o->name, first);
		break;
	case COPIED_SQUARE:
		put_line(p, "%s %s_tile[%d];", type, o->name, KERNEL_TILE * KERNEL_TILE);
		if (o->access != ACCESS_WRITE)
			put_line(p, "vq_square(%s_tile, %d, &%s, %s);", o->name, KERNEL_TILE, first, step);
		break;
	case COPIED_COLUMN:
		put_line(p, "%s %s_tile[%d];", type, o->name, KERNEL_TILE);
		put_line(p, "for (int i = 0; i < %d; i++)", KERNEL_TILE);
		put_line(p, "\t%s_tile[i] = (&%s)[i * %s];", o->name, first, step);
	}
}

/* Returns the kernel of a whole tile, whose indices count from the tile's first point. */
static Kernel *
tile_kernel(Printer *p)
{
	Kernel *near = kernel_copy(p->kernel);
	const Size *none = size_number(near->sizes, 0);
	const int t = p->schedule->tile, last = near->naxis - 1;

	for (int i = 0; i < near->operand.n; i++) {
		Operand *o = &near->operand.at[i];

		if (!kernel_has_address(near, i))
			continue;
		o->name = arena_printf(near->arena, "%s_tile", o->name);
		if (kernel_copied(p->kernel, i, t) == COPIED_SQUARE)
			o->stride[t] = size_number(near->sizes, KERNEL_TILE);
		if (kernel_copied(p->kernel, i, t) != COPIED_NOT)
			o->stride[last] = size_number(near->sizes, 1);
		o->offset = none;
		for (int a = 0; a < near->naxis; a++)
			if (a != t && a != last)
				o->stride[a] = none;
	}
	return near;
}

/* Prints the loops of the kernel within a whole tile. */
static void
put_square_loops(Printer *p, int stage, const char *head)
{
	const int t = p->schedule->tile, last = p->kernel->naxis - 1;

	(void)stage, (void)head;
	open_loop(p, arena_printf(p->kernel->arena, "for (int64_t i%d = 0; i%d < %d; i%d++)", t, t, KERNEL_TILE, t));
	put_line(p, "IVDEP");
	open_loop(p, arena_printf(p->kernel->arena, "for (int64_t i%d = 0; i%d < %d; i%d++)", last, last, KERNEL_TILE,
				  last));
	put_element(p, NULL);
	close_loop(p);
	close_loop(p);
}

static void
put_turned_square(Printer *p)
{
	const int t = p->schedule->tile, last = p->kernel->naxis - 1;
	const Kernel *all = p->kernel;

	put_line(p, "const int64_t i%d = tile * %d, i%d = at;", t, KERNEL_TILE, last);
	for (int i = 0; i < all->operand.n; i++)
		if (kernel_has_address(all, i))
			put_tile_operand(p, i);
	buf_puts(&p->text, "\n");
	p->kernel = tile_kernel(p);
	put_tried(p, 0, NULL, put_square_loops);
	p->kernel = all;
	for (int i = 0; i < all->operand.n; i++)
		if (kernel_copied(all, i, t) == COPIED_SQUARE && all->operand.at[i].access != ACCESS_READ)
			put_line(p, "vq_square(&%s, %s, %s_tile, %d);", kernel_place(all, i),
				 c_size(p, all->operand.at[i].stride[last]), all->operand.at[i].name, KERNEL_TILE);
}

static void
put_part_loops(Printer *p, int stage, const char *m)
{
	const int t = p->schedule->tile, last = p->kernel->naxis - 1;
	Arena *a = p->kernel->arena;

	(void)stage;
	put_line(p, "for (int64_t i%d = tile * %d; i%d < tile * %d + %d && i%d < %s; i%d++)", t, KERNEL_TILE, t,
		 KERNEL_TILE, KERNEL_TILE, t, m, t);
	p->indent++;
	put_line(p, "IVDEP");
	open_loop(p, arena_printf(a, "for (int64_t i%d = at; i%d < to; i%d++)", last, last, last));
	put_gathers(p, false, put_index_of_tile);
	put_element(p, NULL);
	close_loop(p);
	p->indent--;
}

static void
put_part_square(Printer *p, const char *m, const char *n)
{
	put_line(p, "const int64_t to = at + %d < %s ? at + %d : %s;", KERNEL_TILE, n, KERNEL_TILE, n);
	if (kernel_has_gathers(p->kernel))
		put_tile_indices(p);
	put_tried(p, 0, m, put_part_loops);
}

/* has_whole_tile: may a tile of the axis be whole? has_part_tile: may one be partial? */
static bool
has_whole_tile(const Printer *p, int axis)
{
	return !size_at_most(p->kernel->sizes, p->kernel->extent[axis], KERNEL_TILE - 1);
}

static bool
has_part_tile(const Printer *p, int axis)
{
	return !size_divides(p->kernel->sizes, size_number(p->kernel->sizes, KERNEL_TILE), p->kernel->extent[axis]);
}

/* Prints the loop over tiles along the innermost axis. */
static void
put_tiles(Printer *p)
{
	const int t = p->schedule->tile, last = p->kernel->naxis - 1;
	const char *m = c_size(p, p->kernel->extent[t]), *n = c_size(p, p->kernel->extent[last]);
	const bool square = turns_squares(p), fits = has_whole_tile(p, t) && has_whole_tile(p, last);
	const bool whole = fits && (square || kernel_copies_tiles(p->kernel, t));
	const bool part = !whole || has_part_tile(p, t) || has_part_tile(p, last);
	Arena *a = p->kernel->arena;

	open_loop(p, arena_printf(a, "for (int64_t at = 0; at < %s; at += %d)", n, KERNEL_TILE));
	if (whole && part)
		open_loop(p, arena_printf(a, "if (tile * %d + %d <= %s && at + %d <= %s)", KERNEL_TILE, KERNEL_TILE, m,
					  KERNEL_TILE, n));
	if (square && whole)
		put_whole_square(p);
	else if (whole)
		put_turned_square(p);
	if (whole && part) {
		put_line(p, "continue;");
		close_loop(p);
	}
	if (part)
		put_part_square(p, m, n);
	close_loop(p);
}

/* Declares the pointers of local operands, which share the thread's scratch memory. */
static void
put_locals(Printer *p)
{
	const Kernel *k = p->kernel;
	const Size *at = size_number(k->sizes, 0);

	put_line(p, "char *scratch = rt_thread_scratch(%s);\n", c_size(p, kernel_scratch(k)));
	put_line(p, "if (!scratch)");
	put_line(p, "\treturn;");
	for (int i = 0; i < k->operand.n; i++) {
		const Operand *o = &k->operand.at[i];

		if (o->access != ACCESS_LOCAL)
			continue;
		put_line(p, "%s *const %s = (%s *)(scratch + %s);", element_type(o->dtype), o->name,
			 element_type(o->dtype), c_size(p, at));
		at = size_plus(k->sizes, at, kernel_local(k, i));
	}
}

/* Prints a link at a point of the shared axes: loops over its own axes, or over tiles of rows side by side. */
static void
put_link(Printer *p)
{
	const Kernel *k = p->kernel;
	const int outer = k->naxis - k->nreduce;

	open_loop(p, k->first && k->serial >= 0 ? arena_printf(k->arena, "if (i%d == 0)", k->serial) : "");
	for (int i = k->shared; i < outer; i++) {
		const Size *tiles = size_ceil(k->sizes, k->extent[i], size_number(k->sizes, p->schedule->columns));

		open_loop(p, i != p->schedule->inner ? loop_head(p, i) :
			  arena_printf(k->arena, "for (int64_t tile = 0; tile < %s; tile++)", c_size(p, tiles)));
	}
	put_row(p);
	for (int i = k->shared; i < outer; i++)
		close_loop(p);
	close_loop(p);
}

static void
put_links(Printer *p)
{
	const Kernel *chain = p->kernel;
	const Schedule *schedule = p->schedule;

	if (chain->serial >= 0)
		open_loop(p, loop_head(p, chain->serial));
	for (const Kernel *k = chain; k; k = k->next) {
		const Schedule s = kernel_schedule_link(k);
		Kernel link = *k;

		link.naming = chain->naming;
		p->kernel = &link;
		p->schedule = &s;
		put_link(p);
	}
	p->kernel = chain;
	p->schedule = schedule;
	if (chain->serial >= 0)
		close_loop(p);
}

/* Prints a unit's body: pointers, the serial loop, the inner loop. */
static void
put_unit(Printer *p)
{
	put_pointers(p, true, NULL);
	if (p->kernel->next) {
		put_links(p);
		return;
	}
	if (kernel_has_rows(p->kernel)) {
		put_row_gathers(p, false, "continue");
		put_row(p);
		return;
	}
	if (p->kernel->serial >= 0)
		open_loop(p, loop_head(p, p->kernel->serial));
	put_gathers(p, true, put_index);
	if (p->schedule->tile >= 0)
		put_tiles(p);
	else if (p->schedule->inner >= 0)
		put_innermost(p, loop_head(p, p->schedule->inner));
	else
		put_element(p, NULL);
	if (p->kernel->serial >= 0)
		close_loop(p);
}

/* Prints a kernel that looks bytes up in a table. It first computes the result of each byte, in arrays that replace the
 * operands. */
static void
put_table(Printer *p)
{
	const Operand *y = &p->kernel->operand.at[0], *x = &p->kernel->operand.at[1];
	const char *to = element_type(y->dtype), *from = element_type(x->dtype);

	put_line(p, "%s table[256];", to);
	put_line(p, "%s all[256];", from);
	put_line(p, "for (int i = 0; i < 256; i++)");
	put_line(p, "\tall[i] = (%s)i;", from);
	open_loop(p, "");
	put_line(p, "%s *const %s = table;", to, y->name);
	put_line(p, "const %s *const %s = all;", from, x->name);
	buf_puts(&p->text, "\n");
	put_innermost(p, "for (int i0 = 0; i0 < 256; i0++)");
	close_loop(p);
	if (rt_dtypes[y->dtype].bytes == 1) {
		put_line(p, "vl_look_up(%s + begin, %s + begin, end - begin, table);", y->name, x->name);
		return;
	}
	put_line(p, "for (int64_t i0 = begin; i0 < end; i0++)");
	put_line(p, "\t%s[i0] = table[(uint8_t)%s[i0]];", y->name, x->name);
}

/* ---- functions ------------------------------------------------------------------------------------------------- */

/* Begins to print a kernel, with names for sizes that depend on symbols. */
static Printer
begin_printer(const Kernel *k, const Schedule *s, int symbols)
{
	Kernel *named = new(k->arena, Kernel, 1);

	*named = *k;
	named->naming = symbols >= 0 ? new(k->arena, Naming, 1) : NULL;
	return (Printer){ .kernel = named, .schedule = s, .indent = 1 };
}

/* Returns the whole function: pointers and sizes are declared before the printed body. */
static char *
print_function(Printer *body, const int *place, int symbols)
{
	const Kernel *k = body->kernel;
	Printer p = { .kernel = k, .schedule = body->schedule, .indent = 1 };

	buf_puts(&p.text, "{\n");
	if (!place)
		put_line(&p, "void *const *p = arg;");
	put_pointers(&p, false, place);
	put_named_sizes(&p, symbols);
	if (kernel_may_fail(k))
		put_line(&p, "int *const wrong = p[%d];", kernel_addresses(k));
	buf_puts(&p.text, "\n");
	buf_puts(&p.text, body->text.at);
	buf_puts(&p.text, "}\n");
	buf_free(&body->text);
	return arena_text(k->arena, &p.text);
}

char *
kernel_print_c(const Kernel *k, const Schedule *s, int symbols)
{
	Printer p = begin_printer(k, s, symbols);

	if (s->rows) {
		if (kernel_selects(k))
			put_select_scratch(&p);
		if (k->next)
			put_locals(&p);
		open_rows(&p);
		put_unit(&p);
		close_loop(&p);
	} else if (s->table) {
		put_table(&p);
	} else {
		put_innermost(&p, "for (int64_t i0 = begin; i0 < end; i0++)");
	}
	return print_function(&p, NULL, symbols);
}

static void
put_block_loops(Printer *p, int stage, const char *head)
{
	const int last = p->kernel->naxis - 1;

	(void)stage;
	open_loop(p, head);
	put_line(p, "IVDEP");
	open_loop(p, arena_printf(p->kernel->arena, "for (int64_t i%d = c0; i%d < c1; i%d++)", last, last, last));
	put_element(p, p->kernel->extent[last]);
	close_loop(p);
	close_loop(p);
}

/* Are the rows of a block consecutive in all operands? */
static bool
is_run(const Kernel *k)
{
	for (int i = 0; i < k->operand.n; i++) {
		const Operand *o = &k->operand.at[i];

		if (o->access != ACCESS_NUMBER &&
		    ((o->access != ACCESS_READ && o->access != ACCESS_WRITE) || o->along >= 0 || o->ngather ||
		     o->bound.n || !size_is(o->offset, 0) || o->stride[0] != k->extent[1] || !size_is(o->stride[1], 1)))
			return false;
	}
	return k->naxis == 2;
}

/* Prints one loop over consecutive rows, because short rows do not vectorize. */
static void
put_run(Printer *p)
{
	if (!is_run(p->kernel))
		return;
	open_loop(p, "if (c0 == 0 && c1 == n)");
	put_line(p, "c0 = row * n, c1 = end * n;");
	put_line(p, "row = 0, end = 1;");
	close_loop(p);
}

char *
kernel_print_block(const Kernel *k, const int *place, int symbols)
{
	const Schedule s = { .rows = true, .inner = k->naxis - 1, .tile = -1 };
	Printer p = begin_printer(k, &s, symbols);

	RT_ASSERT(k->naxis == 1 || k->naxis == 2);
	put_run(&p);
	put_tried(&p, 0, k->naxis == 2 ? "for (int64_t i0 = row; i0 < end; i0++)" :
		  "for (int64_t at = row; at < end; at++)", put_block_loops);
	return print_function(&p, place, symbols);
}
