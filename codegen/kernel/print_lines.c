/*
 * Lines, loops and sizes of printed C.
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

	kernel_put_size(p->k, s, true, &b);
	return arena_text(p->k->arena, &b);
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

const char *
loop_head(Printer *p, int axis)
{
	return arena_printf(p->k->arena, "for (int64_t i%d = 0; i%d < %s; i%d++)", axis, axis,
			    c_size(p, p->k->extent[axis]), axis);
}

void
put_tried(Printer *p, int stage, const char *head, Print *print)
{
	if (!kernel_has_near(p->k, stage)) {
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
