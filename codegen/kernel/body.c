/*
 * The C of kernels that their form prints at once: lines, with parameters for the numbers in them that sizes may
 * decide.
 */
#include "kernel.h"

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
