/*
 * Writes NAME.h, the documentation of a library for its users.  The part that all libraries share is the template
 * rt/name.h, or rt/name_bare.h for plain C functions (bare.c).
 */
#include "door.h"
#include "../kernel/form.h"

#include <string.h>

void
header_put(Buf *b, const char *text, const char *name)
{
	for (const char *at; (at = strstr(text, "NAME")); text = at + 4) {
		buf_add(b, text, at - text);
		buf_puts(b, name);
	}
	buf_puts(b, text);
}

/* ---- methods ----------------------------------------------------------------------------------------------------- */

static void
put_leaf(Buf *b, const DoorLeaf *l)
{
	buf_puts(b, " *     ");
	out_comment(b, l->key, (int64_t)strlen(l->key));
	buf_puts(b, ": ");
	if (l->kind == LEAF_TEXT || l->kind == LEAF_OPEN) {
		if (l->kind == LEAF_OPEN)
			rt_type_print(b, l->type);
		buf_puts(b, l->kind == LEAF_TEXT ? "text\n" : ", part by part\n");
		return;
	}
	buf_puts(b, l->kind == LEAF_TENSOR ? rt_dtypes[l->dtype].torch : "tensor of any dtype");
	for (int i = 0; i < l->ndim; i++)
		if (l->dims[i] < 0)
			buf_printf(b, "%s?", i ? ", " : " [");
		else
			buf_printf(b, "%s%lld", i ? ", " : " [", (long long)l->dims[i]);
	buf_puts(b, l->ndim > 0 ? "]\n" : "\n");
}

static void
put_leaves(Buf *b, const char *what, const DoorLeaves *l)
{
	buf_printf(b, " *   %s%s\n", what, l->n ? "" : " none, or not known here");
	for (int i = 0; i < l->n; i++)
		put_leaf(b, &l->at[i]);
}

static void
put_methods(Buf *b, const Door *door)
{
	buf_puts(b, "\n/*\n * The methods; ? is any size, or one of several.\n *\n");
	for (int i = 0; i < door->method.n; i++) {
		const DoorMethod *m = &door->method.at[i];

		buf_puts(b, " * ");
		out_comment(b, m->name, (int64_t)strlen(m->name));
		buf_puts(b, "\n");
		put_leaves(b, "arguments:", &m->in);
		put_leaves(b, "results:", &m->out);
	}
	buf_puts(b, " */\n");
}

/* ---- functions of C types ---------------------------------------------------------------------------------------- */

static const char *
c_type(RtDtype d)
{
	return d == RT_b8 ? "bool" : element_type(rt_real_type(d));
}

const char *
door_sizes(Arena *a, const DoorTensor *t)
{
	Buf b = { 0 };

	for (int i = 0; i < t->ndim; i++)
		buf_printf(&b, "[%lld]", (long long)t->dims[i]);
	if (!t->ndim)
		buf_puts(&b, "[1]");
	if (rt_dtypes[t->dtype].category == 'C')
		buf_puts(&b, "[2]");
	return arena_text(a, &b);
}

static void
put_parameter(Cx *cx, Buf *b, const DoorTensor *t, bool result)
{
	buf_printf(b, ", %s%s %s%s", result || t->written ? "" : "const ", c_type(t->dtype), t->name,
		   door_sizes(cx->arena, t));
}

void
door_parameters(Cx *cx, Buf *b, const DoorTyped *t)
{
	for (int i = 0; i < t->in.n; i++)
		put_parameter(cx, b, &t->in.at[i], false);
	for (int i = 0; i < t->out.n; i++)
		put_parameter(cx, b, &t->out.at[i], true);
}

void
door_arguments(Buf *b, const DoorTyped *t)
{
	for (int i = 0; i < t->in.n; i++)
		buf_printf(b, "%s, ", t->in.at[i].name);
	for (int i = 0; i < t->out.n; i++)
		buf_printf(b, "%s, ", t->out.at[i].name);
}

static void
put_typed(Cx *cx, Buf *b, const Door *door)
{
	if (door->typed.n)
		buf_puts(b, "\n/*\n"
			 " * The same for the sizes that it was compiled for, in C's types: arrays one element\n"
			 " * after the other, floats of 16 and 8 bits as bits, complex numbers as pairs.  Results\n"
			 " * go to the caller's arrays.  With one thread these take nothing from the system after\n"
			 " * opening where nothing but kernels runs; else after the first call.\n"
			 " */\n");
	for (int i = 0; i < door->typed.n; i++) {
		const DoorTyped *t = &door->typed.at[i];

		buf_printf(b, "int %s_%s(%s *m", door->name, t->name, door->name);
		door_parameters(cx, b, t);
		buf_puts(b, ");\n");
	}
}

static const char marker[] = "\n/* METHODS */\n";        /* marker in the template */

char *
door_header(Cx *cx, const Door *door)
{
	Buf b = { 0 };
	char *text = strchr(carry_text(cx, "rt/name.h"), '\n') + 1, *end = strstr(text, marker);

	buf_printf(&b, "/* %s.h - ", door->name);
	out_comment(&b, door->model, 200);
	buf_puts(&b, " as a library, by Kiln: ");
	out_comment(&b, door->file, 200);
	buf_puts(&b, " */\n");
	*end = 0;
	header_put(&b, text, door->name);
	put_methods(&b, door);
	put_typed(cx, &b, door);
	header_put(&b, end + strlen(marker), door->name);
	return arena_text(cx->arena, &b);
}
