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
