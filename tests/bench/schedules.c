/*
 * Is the chosen schedule the fastest?  schedules FILE... >bench.c, of what `kiln show --stage kernels` printed
 *
 * Each kernel that is printed as loops becomes C by its own schedule and by every other legal one: tiles or none, rows
 * side by side or along each with so many sums, any axis innermost.  The program that it prints runs them in turn, on
 * operands of the kernel's own sizes, and prints a line for each kernel: its line in FILE, and for each schedule the
 * least time of a call in ns; the chosen one comes first.  schedules.py compiles and runs it, and counts.
 */
#include "../kernel/reader.h"
#include "../../frontend/frontend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST = 48,               /* schedules of a kernel */
	LONGEST = 16 << 20       /* bytes of a file */
};

typedef struct Bench {
	Cx        *cx;
	SizeTable *sizes;
	Map        seen;         /* texts of kernels by their own schedules */
	int        nkernel;
	const char *text[MOST];  /* of the present kernel's schedules, all different */
	int        ntext;
	Buf        jobs, ways;   /* tables of the program */
} Bench;

/* ---- the legal schedules of a kernel --------------------------------------------------------------------------- */

static int64_t
number(const Size *s)
{
	int64_t n;

	return size_const(s, &n) ? n : -1;
}

/* "i1,by64", "i2,tile0". */
static const char *
described(const Kernel *k, const Schedule *s)
{
	const char *tile = s->tile < 0 ? "" : arena_printf(k->arena, ",tile%d", s->tile);
	const char *lanes = s->lanes ? arena_printf(k->arena, ",by%d", s->lanes) : "";

	return arena_printf(k->arena, "i%d%s%s", s->inner, lanes, tile);
}

static void
add_schedule(Bench *b, const Kernel *k, Schedule s, const char *order)
{
	const char *text = kernel_print_c(k, &s, -1);

	for (int i = 0; i < b->ntext; i++)
		if (!strcmp(b->text[i], text))
			return;
	if (b->ntext == MOST)
		return;
	b->text[b->ntext++] = text;
	printf("static void\nk%d_%d(void *arg, int64_t begin, int64_t end)\n%s\n", b->nkernel, b->ntext - 1, text);
	buf_printf(&b->ways, "\t{ k%d_%d, %d, %lld, \"%s%s\" },\n", b->nkernel, b->ntext - 1, b->nkernel,
		   (long long)number(s.units), described(k, &s), order);
}

static void
swap(const Size **at, int i, int j)
{
	const Size *s = at[i];

	at[i] = at[j];
	at[j] = s;
}

/* The kernel with two axes in each other's place. */
static Kernel *
swapped(const Kernel *k, int i, int j)
{
	Kernel *copy = new(k->arena, Kernel, 1);

	*copy = *k;
	swap(copy->extent, i, j);
	copy->operand.at = new(k->arena, Operand, k->operand.n);
	for (int o = 0; o < k->operand.n; o++) {
		Operand *to = &copy->operand.at[o];

		*to = k->operand.at[o];
		swap(to->stride, i, j);
		to->along = to->along == i ? j : to->along == j ? i : to->along;
		to->bound.at = new(k->arena, Bound, to->bound.n);
		for (int d = 0; d < to->bound.n; d++) {
			to->bound.at[d] = k->operand.at[o].bound.at[d];
			swap(to->bound.at[d].stride, i, j);
		}
	}
	return copy;
}

static void
add_rows(Bench *b, const Kernel *k, const char *order)
{
	Schedule s;

	for (int lanes = 1; lanes <= 4 * KERNEL_LANES; lanes = lanes == 1 ? KERNEL_LANES : 2 * lanes)
		add_schedule(b, k, kernel_schedule_rows(k, false, lanes), order);
	if (k->naxis == k->nreduce)
		return;
	s = kernel_schedule_rows(k, true, 1);
	s.whole = number(k->extent[s.inner]) % KERNEL_COLUMNS == 0;
	add_schedule(b, k, s, order);
}

static void
add_points(Bench *b, const Kernel *k, const char *order)
{
	add_schedule(b, k, kernel_schedule(k, TILE_NEVER, kernel_inner(k)), order);
	add_schedule(b, k, kernel_schedule(k, TILE_ALWAYS, k->naxis - 1 - (k->serial >= 0)), order);
	add_schedule(b, k, kernel_schedule(k, TILE_NEVER, k->naxis - 1 - (k->serial >= 0)), order);
}

static void
add_schedules(Bench *b, const Kernel *k)
{
	const int last = k->naxis - k->nreduce - (k->serial >= 0) - 1;

	b->ntext = 0;
	add_schedule(b, k, kernel_schedule(k, TILE_IF_LONG, kernel_inner(k)), ",chosen");
	for (int i = last; i >= 0 || i == last; i--) {
		const Kernel *other = i < last ? swapped(k, i, last) : k;
		const char *order = i < last ? arena_printf(k->arena, ",swap%d", i) : "";

		(kernel_has_rows(k) ? add_rows : add_points)(b, other, order);
	}
}

/* ---- what a kernel touches ------------------------------------------------------------------------------------- */

/* Elements before and behind its address; a place that an index names may be any in its limit. */
static void
put_operand(const Kernel *k, const Operand *o)
{
	int64_t before = 0, behind = number(o->offset);

	for (int i = 0; i < k->naxis; i++) {
		const int64_t far = number(o->stride[i]) * (number(k->extent[i]) - 1);

		*(far < 0 ? &before : &behind) += far;
	}
	if (o->by >= 0)
		behind += number(o->by_stride) * (number(o->by_limit) - 1);
	printf("\t{ %d, %lld, %lld, %d },\n", rt_dtypes[o->dtype].bytes, (long long)-before, (long long)behind + 1,
	       o->dtype == RT_f32 ? 4 : o->dtype == RT_f64 || o->access == ACCESS_NUMBER ? 8 : 0);
}

/* Are its sizes known, and all addresses its operands'? */
static bool
is_timed(const Kernel *k)
{
	for (int i = 0; i < k->operand.n; i++)
		if (k->operand.at[i].along >= 0 || k->operand.at[i].access == ACCESS_MADE)
			return false;
	for (int i = 0; i < k->naxis; i++)
		if (number(k->extent[i]) < 1)
			return false;
	return true;
}

static void
bench_kernel(Bench *b, const Kernel *k, const char *where)
{
	const Schedule chosen = kernel_schedule(k, TILE_IF_LONG, kernel_inner(k));
	char *text;

	if (!is_timed(k))
		return;
	text = arena_printf(b->cx->arena, "%s%s", kernel_print_c(k, &chosen, -1), k->name);
	if (map_get(&b->seen, text))
		return;
	map_put(&b->seen, text, text);
	printf("static const Operand operands_%d[] = {\n", b->nkernel);
	for (int i = 0; i < k->operand.n; i++)
		put_operand(k, &k->operand.at[i]);
	printf("};\n\n");
	add_schedules(b, k);
	buf_printf(&b->jobs, "\t{ \"%s %s\", operands_%d, LENGTH(operands_%d) },\n", where, k->name, b->nkernel,
		   b->nkernel);
	b->nkernel++;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

/* The texts of kernels that are loops, one after the other. */
static void
bench_texts(Bench *b, const Source *src)
{
	for (const char *at = src->text; (at = strstr(at, "\nkernel "));) {
		const char *text = at + 1, *schedule = strstr(at, "\nschedule ");
		int line = 1;
		Schedule s;

		if (!schedule)
			return;
		for (const char *c = src->text; c <= at; c++)
			line += *c == '\n';
		at = schedule;
		if (strncmp(schedule + 10, "printed", 7) && strncmp(schedule + 10, "microkernel", 11))
			bench_kernel(b, kernel_read(b->cx, b->sizes, src, &text, &s),
				     arena_printf(b->cx->arena, "%s:%d", src->name, line));
	}
}

static void
bench_file(Bench *b, const char *path)
{
	char *text = new(b->cx->arena, char, LONGEST + 1);
	FILE *f = fopen(path, "rb");
	Source src = { .name = path, .text = text, .line = 1 };

	if (!f)
		fail(b->cx, (Range){ 0 }, "cannot read %s", path);
	src.n = (int64_t)fread(text, 1, LONGEST, f);
	fclose(f);
	bench_texts(b, &src);
}

static void
bench_files(Cx *cx, void *arg)
{
	Bench b = { .cx = cx, .sizes = size_table(cx->arena), .seen.arena = cx->arena };

	printf("#include \"tests/bench/schedules.h\"\n\n");
	for (char **path = arg; *path; path++)
		bench_file(&b, *path);
	printf("static const Job jobs[] = {\n%s};\nstatic const Way ways[] = {\n%s};\n\nint\nmain(void)\n{\n"
	       "\treturn time_ways(jobs, ways, LENGTH(ways));\n}\n", b.jobs.n ? b.jobs.at : "",
	       b.ways.n ? b.ways.at : "");
	buf_free(&b.jobs);
	buf_free(&b.ways);
}

int
main(int argc, char **argv)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	bool ok;

	(void)argc;
	schema_parser = schema_parse;
	ok = cx_try(&cx, bench_files, argv + 1);
	if (!ok)
		fprintf(stderr, "%s\n", cx.err.text);
	arena_free(&arena);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
