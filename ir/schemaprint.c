/*
 * Prints schemas in the form that frontend/script/schema.c reads: alias sets, sizes and defaults included.
 */
#include "ir.h"

#include <string.h>

static void
print_set(Buf *b, const AliasSet *a)
{
	if (!a || !a->before.n)
		return;
	buf_puts(b, "(");
	for (int i = 0; i < a->before.n; i++)
		buf_printf(b, i ? "|%s" : "%s", a->before.at[i]->name);
	if (a->write)
		buf_puts(b, "!");
	for (int i = 0; i < a->after.n; i++)
		buf_printf(b, i ? "|%s" : " -> %s", a->after.at[i]->name);
	buf_puts(b, ")");
}

/* word: name to print for the innermost type. Null stands for the type's own name. */
static void
print_type(Cx *cx, Buf *b, const Type *t, const char *word, const AliasSet *a, int size)
{
	if (t->kind == TYPE_LIST) {
		print_type(cx, b, t->of[0], word, a ? a->inner : 0, 0);
		if (size)
			buf_printf(b, "[%d]", size);
		else
			buf_puts(b, "[]");
	} else if (t->kind == TYPE_OPTIONAL) {
		print_type(cx, b, t->of[0], word, a, size);
		buf_puts(b, "?");
		return;
	} else {
		buf_puts(b, word ? word : type_print(cx, t));
	}
	print_set(b, a);
}

static void
print_string(Buf *b, const RtStr *s)
{
	static const char plain[] = "\n\t\f\v\a\b\"\\'", escaped[] = "ntfvab\"\\'";

	buf_puts(b, "\"");
	for (int64_t i = 0; i < s->n; i++) {
		const char *p = s->s[i] ? strchr(plain, s->s[i]) : 0;

		if (p)
			buf_printf(b, "\\%c", escaped[p - plain]);
		else if ((unsigned char)s->s[i] < ' ')
			buf_printf(b, "\\%03o", (unsigned char)s->s[i]);
		else
			buf_add(b, &s->s[i], 1);
	}
	buf_puts(b, "\"");
}

static bool
all_equal(const RtList *l)
{
	for (int64_t i = 1; i < l->n; i++)
		if (l->v[i].tag != l->v[0].tag || l->v[i].u.i != l->v[0].u.i)
			return false;
	return true;
}

static void
print_default(Buf *b, IValue v, int size)
{
	switch ((RtTag)v.tag) {
	case RT_STR:
		print_string(b, v.u.str);
		break;
	case RT_LIST:
		if (size > 1 && v.u.list->n == size && all_equal(v.u.list)) {
			print_default(b, v.u.list->v[0], 0);
			break;
		}
		buf_puts(b, "[");
		for (int64_t i = 0; i < v.u.list->n; i++) {
			if (i)
				buf_puts(b, ", ");
			print_default(b, v.u.list->v[i], 0);
		}
		buf_puts(b, "]");
		break;
	default:
		rt_format_value((struct Buf *)b, v, 1);
	}
}

static void
print_arg(Cx *cx, Buf *b, const Arg *a)
{
	print_type(cx, b, a->type, a->word, a->alias, a->size_hint);
	if (*a->name)
		buf_printf(b, " %s", a->name);
	if (a->has_default) {
		buf_puts(b, "=");
		print_default(b, a->deflt, a->size_hint);
	}
}

static void
print_args(Cx *cx, Buf *b, const Schema *s)
{
	bool star = false;

	for (int i = 0; i < s->nargs; i++) {
		if (i)
			buf_puts(b, ", ");
		if (s->args[i].kwonly && !star)
			buf_puts(b, "*, ");
		star |= s->args[i].kwonly;
		print_arg(cx, b, &s->args[i]);
	}
	if (s->vararg)
		buf_puts(b, s->nargs ? ", ..." : "...");
}

/* Parentheses around a single result are omitted, unless its text begins with one. */
static void
print_rets(Cx *cx, Buf *b, const Schema *s)
{
	Buf one = { 0 };
	bool bare = s->nrets == 1 && !s->varret;

	for (int i = 0; i < s->nrets; i++) {
		if (i)
			buf_puts(&one, ", ");
		print_arg(cx, &one, &s->rets[i]);
	}
	if (s->varret)
		buf_puts(&one, s->nrets ? ", ..." : "...");
	if ((bare && *one.at != '(') || (s->varret && !s->nrets))
		buf_puts(b, one.at);
	else
		buf_printf(b, "(%s)", one.at ? one.at : "");
	buf_free(&one);
}

const char *
schema_print(Cx *cx, const Schema *s)
{
	Buf b = { 0 };

	buf_printf(&b, *s->overload ? "%s.%s(" : "%s%s(", s->name, s->overload);
	print_args(cx, &b, s);
	buf_puts(&b, ") -> ");
	print_rets(cx, &b, s);
	return arena_text(cx->arena, &b);
}
