/* codegen/program/cgen_class.c - defines the classes that types, values and codes name
 *
 * A class refers to the codes of its methods, a code to constants, and their types to classes. So emit_class only names
 * a class, and emit_classes defines all of them last. */
#include "program.h"

static void
put_methods(Emit *e, const char *name, const RtClass *c)
{
	const char **codes = new(e->cx->arena, const char *, c->nmethod);
	Buf b = { 0 };

	for (int i = 0; i < c->nmethod; i++)
		codes[i] = c->code[i] ? emit_code(e, c->code[i]) : "0";
	put_c_texts(&b, name, "method", c->method, c->nmethod);
	buf_printf(&b, "static const RtCode *%s_code[] = {", name);
	for (int i = 0; i < c->nmethod; i++)
		buf_printf(&b, " %s,", codes[i]);
	out_line(&e->tail, "%s };", b.at);
	buf_free(&b);
}

static void
put_members(Emit *e, const char *name, const RtClass *c)
{
	Buf b = { 0 };

	buf_printf(&b, "static const RtMember %s_member[] = {", name);
	for (int i = 0; i < c->nmember; i++) {
		buf_puts(&b, " { ");
		put_c_text(&b, c->member[i].name);
		buf_puts(&b, ", ");
		put_c_int(&b, c->member[i].i);
		buf_puts(&b, ", ");
		put_c_double(&b, c->member[i].f);
		buf_puts(&b, ", ");
		put_c_text(&b, c->member[i].text);
		buf_puts(&b, " },");
	}
	out_line(&e->tail, "%s };", b.at);
	buf_free(&b);
}

/* Writes the definition of a class. Slots of a module that no code reads have no values. Their type is written as Any,
 * so that their classes are not needed. */
static void
put_class(Emit *e, const char *name, const RtClass *c)
{
	const char *type = emit_type(e, c->type);
	Buf b = { 0 };

	if (c->nslot) {
		put_c_texts(&b, name, "slot", c->slot, c->nslot);
		buf_printf(&b, "static const RtType *%s_slot_type[] = {", name);
		for (int i = 0; i < c->nslot; i++)
			buf_printf(&b, " %s,", emit_is_unread(e, c, i) ? "&rt_type_any" :
				   emit_type(e, type_unshaped(e->cx, c->slot_type[i])));
		buf_puts(&b, " };\n");
	}
	if (c->nmethod)
		put_methods(e, name, c);
	if (c->nmember)
		put_members(e, name, c);
	buf_printf(&b, "static RtClass %s = { ", name);
	put_c_text(&b, c->name);
	buf_printf(&b, ", %d, ", c->nslot);
	buf_printf(&b, c->nslot ? "%s_slot, %s_slot_type, " : "0, 0, ", name, name);
	buf_printf(&b, "%d, ", c->nmethod);
	buf_printf(&b, c->nmethod ? "%s_method, %s_code, " : "0, 0, ", name, name);
	buf_printf(&b, "%s, %d, ", type, c->nmember);
	buf_printf(&b, c->nmember ? "%s_member" : "0", name);
	out_line(&e->tail, "%s, 0 };", b.at);
	buf_free(&b);
}

void
emit_classes(Emit *e)
{
	for (; e->nclass < e->classes.n; e->nclass++)
		put_class(e, map_get(&e->class_names, emit_key(e, e->classes.at[e->nclass])), e->classes.at[e->nclass]);
}
