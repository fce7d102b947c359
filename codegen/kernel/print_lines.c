/*
 * Prints lines, loops, sizes and indices of C.
 */
#include "print.h"

#include <string.h>

void
put_line(Printer *p, const char *format, ...)
{
	va_list args;

	for (int i = 0; i < p->indent; i++)
		buf_puts(&p->text, "\t");
	va_start(args, format);
	buf_vprintf(&p->text, format, args);
	va_end(args);
	buf_puts(&p->text, "\n");
}

const char *
c_size(Printer *p, const Size *s)
{
	Buf b = { 0 };

	kernel_put_size(p->kernel, s, true, &b);
	return arena_text(p->kernel->arena, &b);
}

void
put_named_sizes(Printer *p, int symbols)
{
	const Naming *names = p->kernel->naming;

	if (names && names->at.n)
		put_line(p, "const int64_t *const s = p[%d];", symbols);
	for (int i = 0; names && i < names->at.n; i++) {
		Buf size = { 0 };

		size_print(names->at.at[i], SIZE_C, false, &size);
		put_line(p, "const int64_t size%d = %s;", i, size.at);
		buf_free(&size);
	}
}

void
put_lines(Printer *p, char *text)
{
	char *state = NULL;

	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		put_line(p, "%s", line);
}

void
open_loop(Printer *p, const char *head)
{
	put_line(p, *head ? "%s {" : "%s{", head);
	p->indent++;
}

void
close_loop(Printer *p)
{
	p->indent--;
	put_line(p, "}");
}

/* C of an edge: "(i2 * 7 + 11) / 5", or "u3" */
static const char *
c_edge(Printer *p, const AxisEdge *e, const Size *otherwise)
{
	const Kernel *k = p->kernel;
	const Size *more;
	const char *plus;

	if (e->let.kind)
		return arena_printf(k->arena, "u%d", e->let.at);
	if (!e->per)
		return c_size(p, otherwise);
	more = e->up ? size_plus(k->sizes, e->plus, size_minus(k->sizes, e->per, size_number(k->sizes, 1))) : e->plus;
	plus = size_is(more, 0) ? "" : arena_printf(k->arena, " + %s", c_size(p, more));
	return arena_printf(k->arena, "(i%d * %s%s) / %s", e->of, c_size(p, e->times), plus, c_size(p, e->per));
}

const char *
axis_first(Printer *p, int axis)
{
	const AxisRange *r = kernel_range(p->kernel, axis);

	return r ? c_edge(p, &r->first, size_number(p->kernel->sizes, 0)) : "0";
}

const char *
axis_end(Printer *p, int axis)
{
	const AxisRange *r = kernel_range(p->kernel, axis);

	return r ? c_edge(p, &r->end, p->kernel->extent[axis]) : c_size(p, p->kernel->extent[axis]);
}

const char *
loop_head(Printer *p, int axis)
{
	return arena_printf(p->kernel->arena, "for (int64_t i%d = %s; i%d < %s; i%d++)", axis, axis_first(p, axis),
			    axis, axis_end(p, axis), axis);
}

void
put_gather(Printer *p, const Operand *o, int gather, const char *leave)
{
	const Gather *g = &o->gather[gather];
	const Operand *by = &p->kernel->operand.at[g->by.at];
	const char *name = kernel_index_name(p->kernel->arena, o, gather);
	Buf b = { 0 };

	for (int d = 0; d < p->kernel->naxis; d++)
		if (!size_is(by->stride[d], 0))
			buf_printf(&b, "%si%d%s%s", b.n ? " + " : "", d, size_is(by->stride[d], 1) ? "" : " * ",
				   size_is(by->stride[d], 1) ? "" : c_size(p, by->stride[d]));
	if (!size_is(by->offset, 0) || !b.n)
		buf_printf(&b, "%s%s", b.n ? " + " : "", c_size(p, by->offset));
	put_line(p, "%sint64_t %s = %s[%s];", g->wraps ? "" : "const ", name, by->name, b.at);
	if (g->wraps)
		put_line(p, "%s += %s < 0 ? %s : 0;", name, name, c_size(p, g->limit));
	put_line(p, "if ((uint64_t)%s >= (uint64_t)%s) {", name, c_size(p, g->limit));
	put_line(p, "\t*wrong = 1;");
	put_line(p, "\t%s;", leave);
	put_line(p, "}");
	buf_free(&b);
}

void
put_row_gathers(Printer *p, bool moving, const char *leave)
{
	for (int i = 0; i < p->kernel->operand.n; i++) {
		const Operand *o = &p->kernel->operand.at[i];

		for (int g = 0; g < o->ngather; g++)
			if (o->gather[g].by.kind == REF_OPERAND &&
			    kernel_moves_in_row(p->kernel, o->gather[g].by.at) == moving)
				put_gather(p, o, g, leave);
	}
}

void
put_range_checks(Printer *p, int stage, const char *leave)
{
	const Kernel *k = p->kernel;

	for (int i = 0; i < k->range.n; i++) {
		const AxisRange *r = &k->range.at[i];
		const int first = r->first.let.kind ? kernel_stage_of(k, REF_LET, r->first.let.at) : 0;
		const int end = r->end.let.kind ? kernel_stage_of(k, REF_LET, r->end.let.at) : 0;
		const char *from = axis_first(p, r->axis), *to = axis_end(p, r->axis);

		if (!r->checked || stage != (first > end ? first : end))
			continue;
		open_loop(p, arena_printf(k->arena, "if (%s < 0 || %s > %s || %s > %s)", from, from, to, to,
					  c_size(p, k->extent[r->axis])));
		put_line(p, "*wrong = 1;");
		put_line(p, "%s;", leave);
		close_loop(p);
	}
}

void
put_tried(Printer *p, int stage, const char *head, Print *print)
{
	if (!kernel_has_near(p->kernel, stage)) {
		print(p, stage, head);
		return;
	}
	open_loop(p, "");
	put_line(p, "int32_t far = V_FAR;");
	for (int trial = 1; trial >= 0; trial--) {
		open_loop(p, "if (!far)");
		put_line(p, "V_NEAR(far)");
		p->trial = trial;
		print(p, stage, head);
		close_loop(p);
	}
	open_loop(p, "else");
	print(p, stage, head);
	close_loop(p);
	close_loop(p);
}
