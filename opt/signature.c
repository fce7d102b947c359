/*
 * Signatures: what the arguments of a call must be for a specialization to take it.
 *
 * Tensors by dtype, sizes and strides; ints, bools and strings by value, since shapes and branches follow from them;
 * floats by nothing; containers by their length and parts.
 */
#include "opt.h"

#include <string.h>

static Pattern
pattern_value(Cx *cx, IValue v)
{
	Pattern p = { .form = PATTERN_ANY };

	switch (v.tag) {
	case RT_TENSOR:
		p.form = PATTERN_TENSOR;
		p.type = type_of_tensor(cx, v.u.t);
		return p;
	case RT_INT: case RT_BOOL: case RT_STR: case RT_NONE: case RT_DEVICE:
		p.form = PATTERN_VALUE;
		p.value = rt_retain(v);
		return p;
	case RT_LIST:
		p.form = PATTERN_LIST;
		p.n = (int)v.u.list->n;
		p.part = new(cx->arena, Pattern, p.n + 1);
		for (int i = 0; i < p.n; i++)
			p.part[i] = pattern_value(cx, v.u.list->v[i]);
		return p;
	case RT_TUPLE:
		p.form = PATTERN_TUPLE;
		p.n = (int)v.u.tuple->n;
		p.part = new(cx->arena, Pattern, p.n + 1);
		for (int i = 0; i < p.n; i++)
			p.part[i] = pattern_value(cx, v.u.tuple->v[i]);
		return p;
	default:
		return p;
	}
}

Pattern *
pattern_of(Cx *cx, const IValue *args, int n, const Type *const *types)
{
	Pattern *p = new(cx->arena, Pattern, n + 1);

	(void)types;
	for (int i = 0; i < n; i++)
		p[i] = pattern_value(cx, args[i]);
	return p;
}

bool
pattern_equal(const Pattern *a, const Pattern *b)
{
	bool same;

	if (a->form != b->form || a->n != b->n || a->type != b->type)
		return false;
	if (a->form == PATTERN_VALUE && (a->value.tag != b->value.tag || rt_equal(NULL, a->value, b->value, &same) || !same))
		return false;
	for (int i = 0; i < a->n; i++)
		if (!pattern_equal(&a->part[i], &b->part[i]))
			return false;
	return true;
}

static void
print(Cx *cx, Buf *b, const Pattern *p)
{
	switch (p->form) {
	case PATTERN_ANY:    buf_puts(b, "any"); break;
	case PATTERN_VALUE:  value_print(cx, p->value, b); break;
	case PATTERN_TENSOR: buf_puts(b, type_print(cx, p->type)); break;
	default:
		buf_puts(b, p->form == PATTERN_TUPLE ? "(" : "[");
		for (int i = 0; i < p->n; i++) {
			buf_puts(b, i ? ", " : "");
			print(cx, b, &p->part[i]);
		}
		buf_puts(b, p->form == PATTERN_TUPLE ? ")" : "]");
	}
}

const char *
pattern_print(Cx *cx, const Pattern *p, int n, const Schema *s, int first)
{
	Buf b = { 0 };
	const char *text;

	for (int i = 0; i < n; i++) {
		buf_printf(&b, "%s%s: ", i ? ", " : "", s->args[first + i].name);
		print(cx, &b, &p[i]);
	}
	text = arena_strdup(cx->arena, b.at ? b.at : "");
	buf_free(&b);
	return text;
}
