/*
 * Prints stages that select points of a row by a key.
 *
 * In C, the keys of a row are 64-bit integers in scratch memory, from which vr_select picks.  In CUDA, a block compares
 * each key of a row with all others: the rank of a point is the number of points before it.
 *
 *    for (int64_t i1 = 0; i1 < 100; i1++)
 *            key[i1] = ~vr_key(x2[i0 * 100 + i1]);
 *    vr_select(key, 100, 5, 1, best);
 *    for (int64_t rank = 0; rank < 5; rank++) {
 *            const int64_t i1 = best[rank];
 *            y0[i0 * 5 + rank] = x2[i0 * 100 + i1];
 */
#include "print.h"

/* Returns C of the key of the point whose indices are declared: a 64-bit integer. Lesser ones come first. */
static const char *
key_text(const Printer *p, const Select *s)
{
	const Operand *o = &p->kernel->operand.at[s->key.at];
	Arena *a = p->kernel->arena;
	const char *value = element_loaded(a, o->dtype, kernel_place(p->kernel, s->key.at));
	const char *cast = o->dtype == RT_u64 ? "vr_key_unsigned" : rt_dtypes[o->dtype].category != 'F' ? "(int64_t)" :
			   o->dtype == RT_f64 ? "vr_key_double" : "vr_key";

	return arena_printf(a, "%s%s(%s)", s->greatest ? "~" : "", cast, value);
}

void
put_select_scratch(Printer *p)
{
	const char *n = c_size(p, p->kernel->extent[p->kernel->naxis - 1]);

	put_line(p, "int64_t *key = rt_thread_scratch(3 * %s * (int64_t)sizeof *key), *best = key + %s;", n, n);
	buf_puts(&p->text, "\n");
	put_line(p, "if (!key)");
	put_line(p, "\treturn;");
}

/* Prints the stores of a point, whose rank is in the variable `rank`. at: C of the point's index. */
static void
put_picked(Printer *p, int stage, const char *at)
{
	const Into to = { .at = "", .lane = "" };

	put_line(p, "const int64_t i%d = %s;", p->kernel->naxis - 1, at);
	put_lines(p, kernel_stage_element(p->kernel, stage, &to));
}

void
put_select(Printer *p, int stage)
{
	const Select *s = &p->kernel->stage.at[stage].select;
	const int last = p->kernel->naxis - 1;
	const char *n = c_size(p, p->kernel->extent[last]), *count = c_size(p, s->count);

	put_line(p, "IVDEP");
	open_loop(p, loop_head(p, last));
	put_line(p, "key[i%d] = %s;", last, key_text(p, s));
	close_loop(p);
	if (s->order < SELECT_ALL)
		put_line(p, "vr_select(key, %s, %s, %d, best);", n, count, s->order == SELECT_TOP);
	else
		put_line(p, "vr_sort(key, %s, %d, best);", n, s->order == SELECT_STABLE);
	open_loop(p, arena_printf(p->kernel->arena, "for (int64_t rank = 0; rank < %s; rank++)", count));
	put_picked(p, stage, "best[rank]");
	close_loop(p);
}

void
put_select_cuda(Printer *p, int stage)
{
	const Select *s = &p->kernel->stage.at[stage].select;
	const int last = p->kernel->naxis - 1;
	const char *n = c_size(p, p->kernel->extent[last]), *count = c_size(p, s->count), *key = key_text(p, s);
	Arena *a = p->kernel->arena;

	open_loop(p, arena_printf(a, "const auto key = [=](int64_t i%d)", last));
	put_line(p, "return %s;", key);
	p->indent--;
	put_line(p, "};");
	open_loop(p, arena_printf(a, "for (int64_t at = t; at < %s; at += %d)", n, CUDA_BLOCK));
	put_line(p, "const int64_t own = key(at);");
	put_line(p, "int64_t rank = 0;\n");
	open_loop(p, arena_printf(a, "for (int64_t i = 0; i < %s && rank < %s; i++)", n, count));
	put_line(p, "const int64_t other = key(i);\n");
	put_line(p, "rank += other < own || (other == own && i < at);");
	close_loop(p);
	put_line(p, "if (rank >= %s)", count);
	put_line(p, "\tcontinue;");
	put_picked(p, stage, "at");
	close_loop(p);
}
