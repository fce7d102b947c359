/*
 * Emitted text.
 *
 * Text from an archive reaches emitted C only through out_name, out_string and out_comment.  A name becomes an
 * identifier with our prefix.  A string becomes a literal without trigraphs or escapes that could end it.  A comment
 * becomes one line that cannot end early.  Characters other than printable ASCII are replaced.
 */
#include "kernel.h"

#include <string.h>

static void
indented(Out *o, const char *fmt, va_list ap, const char *end)
{
	for (int i = 0; i < o->indent; i++)
		buf_puts(&o->text, "\t");
	buf_vprintf(&o->text, fmt, ap);
	buf_puts(&o->text, end);
}

void
out_line(Out *o, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	indented(o, fmt, ap, "\n");
	va_end(ap);
}

void
out_blank(Out *o)
{
	buf_puts(&o->text, "\n");
}

void
out_open(Out *o, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	indented(o, fmt, ap, " {\n");
	va_end(ap);
	o->indent++;
}

void
out_close(Out *o)
{
	RT_ASSERT(o->indent > 0);
	o->indent--;
	out_line(o, "}");
}

/* Writes comment text: one line of printable ASCII, without comment delimiters, backslashes and trigraphs. */
void
out_comment(Buf *b, const char *text, int64_t n)
{
	for (int64_t i = 0; i < n && text[i]; i++) {
		const unsigned char c = (unsigned char)text[i];

		if (c < 32 || c > 126)
			buf_puts(b, c == '\t' ? " " : "?");
		else if (c == '\\')
			buf_puts(b, "|");
		else if ((c == '*' && text[i + 1] == '/') || (c == '/' && (text[i + 1] == '*' || text[i + 1] == '/')) ||
			 (c == '?' && text[i + 1] == '?'))
			buf_printf(b, "%c ", c);
		else
			buf_printf(b, "%c", c);
	}
}

void
out_bytes(Buf *b, const char *text, int64_t n)
{
	buf_puts(b, "{");
	for (int64_t i = 0; i < n; i++)
		buf_printf(b, "%s%d,", i % 32 ? "" : "\n\t", (signed char)text[i]);
	buf_puts(b, " 0\n}");
}

/* Writes a C string literal of n bytes with its quotes. One that is longer than compilers must accept becomes an array
 * of numbers. */
void
out_string(Buf *b, const char *text, int64_t n)
{
	if (n > OUT_STRING_MOST) {
		buf_puts(b, "(const char[])");
		out_bytes(b, text, n);
		return;
	}
	buf_puts(b, "\"");
	for (int64_t i = 0; i < n; i++) {
		const unsigned char c = (unsigned char)text[i];

		if (c < 32 || c > 126 || c == '"' || c == '\\' || c == '?')
			buf_printf(b, "\\%03o", c);
		else
			buf_printf(b, "%c", c);
	}
	buf_puts(b, "\"");
}

const char *
out_literal(Arena *a, const char *text)
{
	Buf b = { 0 };

	out_string(&b, text, (int64_t)strlen(text));
	return arena_text(a, &b);
}

void
out_json(Buf *b, const char *text)
{
	buf_puts(b, "\"");
	for (const char *p = text; *p; p++) {
		if ((unsigned char)*p < 32)
			buf_printf(b, "\\u%04x", *p);
		else
			buf_printf(b, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
	}
	buf_puts(b, "\"");
}

/* Returns a readable identifier: our prefix, then letters, digits and _ of the text's last part. */
const char *
out_name(Arena *a, const char *prefix, const char *text)
{
	const char *last = strrchr(text, '.');
	Buf b = { 0 };

	buf_puts(&b, prefix);
	for (const char *p = last && last[1] ? last + 1 : text; *p && b.n < 60; p++) {
		const bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');

		buf_add(&b, plain ? p : "_", 1);
	}
	return arena_text(a, &b);
}
