/*
 * Makes and prints trees of the source language.
 *
 * A tree is printed as (KIND child ...), a null child as -, a leaf with its text or number.
 */
#include "../frontend.h"

#include <string.h>

const char *const tree_names[TREE_NKIND] = {
#define TREE(name, children) #name,
#include "tree.def"
#undef TREE
};

Tree *
tree_of(Cx *cx, TreeKind kind, Range at, const Tree *const *kid, int n)
{
	Tree *t = new(cx->arena, Tree, 1);

	RT_ASSERT(n >= 0);
	t->kind = kind;
	t->at = at;
	t->n = n;
	if (n) {
		t->kid = new(cx->arena, const Tree *, n);
		memcpy(t->kid, kid, (size_t)n * sizeof *kid);
	}
	return t;
}

Tree *
tree_new(Cx *cx, TreeKind kind, Range at, int n, ...)
{
	const Tree *kid[TREE_NEW_MOST];
	va_list ap;

	RT_ASSERT(n >= 0 && n <= TREE_NEW_MOST);
	va_start(ap, n);
	for (int i = 0; i < n; i++)
		kid[i] = va_arg(ap, const Tree *);
	va_end(ap);
	return tree_of(cx, kind, at, kid, n);
}

Tree *
tree_text(Cx *cx, TreeKind kind, Range at, const char *text, int len)
{
	Tree *t = tree_of(cx, kind, at, 0, 0);

	RT_ASSERT(len >= 0);
	t->text = kind == TREE_STRING ? arena_strndup(cx->arena, text, len) : sym_n(cx, text, len)->name;
	t->len = len;
	return t;
}

static void
print_string(const Tree *t, Buf *b)
{
	buf_puts(b, " \"");
	for (int i = 0; i < t->len; i++) {
		unsigned char c = (unsigned char)t->text[i];

		if (c < ' ' || c > 126 || c == '"' || c == '\\')
			buf_printf(b, "\\%03o", c);
		else
			buf_printf(b, "%c", c);
	}
	buf_puts(b, "\"");
}

void
tree_print(const Tree *t, Buf *b)
{
	if (!t) {
		buf_puts(b, "-");
		return;
	}
	buf_printf(b, "(%s", tree_names[t->kind]);
	if (t->kind == TREE_STRING)
		print_string(t, b);
	else if (t->text)
		buf_printf(b, " %s", t->text);
	else if (t->kind == TREE_INT)
		buf_printf(b, " %lld", (long long)t->num.i);
	else if (t->kind == TREE_FLOAT || t->kind == TREE_IMAG)
		buf_printf(b, " %.17g", t->num.f);
	if (t->kind == TREE_AUG_ASSIGN)
		buf_printf(b, " %s", tree_names[t->op]);
	if (t->kind == TREE_PARAM && t->op)
		buf_puts(b, " *");
	for (int i = 0; i < t->n; i++) {
		buf_puts(b, " ");
		tree_print(t->kid[i], b);
	}
	buf_puts(b, ")");
}
