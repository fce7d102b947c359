/*
 * Prints sizes in the text form of kernels and as C.
 */
#include "size_inside.h"

static void
print_atom(const Atom *x, SizeStyle style, bool factor, Buf *b)
{
	if (style == SIZE_TEXT) {
		buf_puts(b, x->text);
		return;
	}
	if (x->kind == ATOM_SYMBOL) {
		buf_printf(b, "s[%d]", x->index);
		return;
	}
	if (x->kind == ATOM_MIN) {
		buf_puts(b, "(");
		size_print(x->a, style, true, b);
		buf_puts(b, " < ");
		size_print(x->b, style, true, b);
		buf_puts(b, " ? ");
		size_print(x->a, style, true, b);
		buf_puts(b, " : ");
		size_print(x->b, style, true, b);
		buf_puts(b, ")");
		return;
	}
	factor |= !x->natural;
	buf_puts(b, factor ? "(" : "");
	size_print(x->a, style, true, b);
	buf_puts(b, " / ");
	size_print(x->b, style, true, b);
	if (!x->natural) {                               /* C's division rounds towards 0, so: a / b - (a % b < 0) */
		buf_puts(b, " - (");
		size_print(x->a, style, true, b);
		buf_puts(b, " % ");
		size_print(x->b, style, true, b);
		buf_puts(b, " < 0)");
	}
	buf_puts(b, factor ? ")" : "");
}

void
terms_print(const Term *t, int n, SizeStyle style, Buf *b)
{
	for (int i = 0; i < n; i++, t++) {
		const bool number = magnitude(t->times) != 1 || !t->n;

		buf_puts(b, i ? t->times < 0 ? " - " : " + " : t->times < 0 ? "-" : "");
		if (number)
			buf_printf(b, "%lld", (long long)magnitude(t->times));
		for (int k = 0; k < t->n; k++) {
			buf_puts(b, !k && !number ? "" : style == SIZE_C ? " * " : "*");
			print_atom(t->factor[k], style, number || t->n > 1 || t->times < 0, b);
		}
	}
	buf_puts(b, n ? "" : "0");
}

void
size_print(const Size *s, SizeStyle style, bool factor, Buf *b)
{
	const Term *t = s->term;
	const bool single = s->n == 0 || (s->n == 1 && t->times > 0 && (style == SIZE_TEXT || !t->n ||
		(t->n == 1 && t->times == 1 && t->factor[0]->kind == ATOM_SYMBOL)));

	buf_puts(b, factor && !single ? "(" : "");
	if (s->lost)
		buf_puts(b, "?");
	else
		terms_print(s->term, s->n, style, b);
	buf_puts(b, factor && !single ? ")" : "");
}
