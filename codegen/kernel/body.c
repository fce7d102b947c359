/*
 * The C of kernels that their form prints at once: lines, with parameters for the numbers in them that sizes may
 * decide.
 */
#include "kernel.h"

#include <string.h>

Body
body_begin(Plan *p)
{
	return (Body){ .p = p, .out = { .indent = 1 } };
}

const char *
body_number(Body *b, const char *name, int64_t value)
{
	vec_push(b->p->cx->arena, &b->made.param, ((Param){ name, value }));
	return plan_number(b->p, value);
}

void
body_struct(Body *b, const char *declared, const Member *member, int n, const char *more)
{
	enum { LINE = 100 };
	const bool varies = b->p->dynamic && !strncmp(declared, "static ", 7);
	Buf line = { 0 };

	out_line(&b->out, "%s = {", declared + (varies ? 7 : 0));
	for (int i = 0; i < n; i++) {
		const char *number = body_number(b, member[i].name, member[i].value);

		if (line.n > LINE) {
			out_line(&b->out, "\t%s", line.at);
			line.n = 0;
		}
		buf_printf(&line, "%s.%s = %s,", line.n ? " " : "", member[i].name, number);
	}
	if (*more)
		buf_printf(&line, "%s%s", line.n ? " " : "", more);
	out_line(&b->out, "\t%s", line.at);
	out_line(&b->out, "};");
	buf_free(&line);
}

const char *
body_function(Arena *a, const char *locals, const char *lines)
{
	return arena_printf(a, "{\n\tvoid *const *p = arg;\n%s\n%s}\n", locals, lines);
}

void
emit_body(Emit *e, const char *prefix, const char *comment, Body *b, KernelCall *c)
{
	Arena *a = e->cx->arena;
	Printed *made = new(a, Printed, 1);

	RT_ASSERT(b->out.indent == 1 && !c->printed);
	*made = b->made;
	made->prefix = prefix;
	made->comment = comment;
	made->lines = arena_text(a, &b->out.text);
	c->printed = made;
	if (!b->p->dynamic)
		c->name = emit_kernel(e, prefix, comment, body_function(a, "", made->lines), false);
}
