/* rt/err.c - errors of the compiler: ranges, messages, the long jump
 *
 * fail() writes the whole message (position, source line, carets, chain of "while compiling") to the arena of the
 * compile and jumps to the innermost cx_try. The message contains names and text of the user, so control characters are
 * replaced in all of it. */
#include "base.h"

#include <stdlib.h>
#include <string.h>

enum { SHOW_MAX = 240 };     /* largest number of bytes of a source line in a message */

typedef struct SourceLines SourceLines;
struct SourceLines { int n; int64_t *at; };      /* at[i] is the offset of line i, at[n] that of the end */

static void
find_lines(Source *s)
{
	SourceLines *l = new(s->arena, SourceLines, 1);

	l->n = 1;
	for (int64_t i = 0; i < s->n; i++)
		l->n += s->text[i] == '\n';
	l->at = new(s->arena, int64_t, l->n + 1);
	l->n = 1;
	for (int64_t i = 0; i < s->n; i++)
		if (s->text[i] == '\n')
			l->at[l->n++] = i + 1;
	l->at[l->n] = s->n + 1;
	s->lines = l;
}

static const SourceLines *
lines_of(const Source *s)
{
	if (!s->lines)
		find_lines((Source *)s);
	return s->lines;
}

/* Returns the index of the line in which the range begins. */
static int
line_index(Range r)
{
	const int64_t beg = r.beg < r.src->n ? r.beg : r.src->n;
	const SourceLines *l = lines_of(r.src);
	int low = 0, high = l->n;

	while (high - low > 1) {
		const int middle = low + (high - low) / 2;

		if (l->at[middle] <= beg)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int
range_line(Range r)
{
	int line;

	if (!r.src)
		return 0;
	line = r.src->line ? r.src->line : 1;
	if (r.src->arena)
		return line + line_index(r);
	for (int64_t i = 0; i < r.beg && i < r.src->n; i++)
		line += r.src->text[i] == '\n';
	return line;
}

int64_t
range_line_start(Range r)
{
	int64_t i = r.beg < r.src->n ? r.beg : r.src->n;

	if (r.src->arena)
		return lines_of(r.src)->at[line_index(r)];
	while (i > 0 && r.src->text[i - 1] != '\n')
		i--;
	return i;
}

int64_t
range_line_end(Range r)
{
	int64_t i = r.beg < r.src->n ? r.beg : r.src->n;

	if (r.src->arena)
		return lines_of(r.src)->at[line_index(r) + 1] - 1;
	while (i < r.src->n && r.src->text[i] != '\n')
		i++;
	return i;
}

int
range_column(Range r)
{
	return r.src ? (int)(r.beg - range_line_start(r)) + 1 : 0;
}

/* Prints the line in which the range begins, with carets under the characters of the range. */
static void
print_line(Buf *out, Range r)
{
	int64_t beg = range_line_start(r), end = range_line_end(r), at = r.beg < end ? r.beg : end, stop = r.end;
	const char *text = r.src->text;

	if (at - beg > SHOW_MAX / 2)
		beg = at - SHOW_MAX / 4;
	if (end - beg > SHOW_MAX)
		end = beg + SHOW_MAX;
	buf_puts(out, "\n");
	buf_add(out, text + beg, end - beg);
	buf_puts(out, "\n");
	for (int64_t i = beg; i < at; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80)         /* one blank for each character of UTF-8 */
			buf_add(out, text[i] == '\t' ? "\t" : " ", 1);
	buf_puts(out, "^");
	for (int64_t i = at + 1; i < stop && i < end; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			buf_puts(out, "~");
}

void
range_print(Buf *out, Range r, const char *kind, const char *what)
{
	if (r.src)
		buf_printf(out, "%s:%d:%d: ", r.src->name ? r.src->name : "<string>", range_line(r), range_column(r));
	buf_printf(out, "%s: %s", kind, what);
	if (r.src && r.src->text && r.src->n)
		print_line(out, r);
}

bool
cx_try(Cx *cx, void (*body)(Cx *, void *), void *arg)
{
	jmp_buf *const outer = cx->catch, here;
	Frame *const frames = cx->frames;
	const int depth = cx->depth, nested = cx->nested;
	volatile bool ok = false;

	cx->catch = &here;
	if (!setjmp(*cx->catch)) {
		body(cx, arg);
		ok = true;
	}
	cx->catch = outer;
	cx->frames = frames;
	cx->depth = depth;
	cx->nested = nested;
	return ok;
}

/* Prints the frames as notes, innermost first. If there are more than 2 * SHOWN, prints only the first and the last
 * SHOWN. */
static void
print_frames(const Cx *cx, Buf *out)
{
	enum { SHOWN = 20 };
	int n = 0, i = 0;

	for (const Frame *f = cx->frames; f; f = f->up)
		n++;
	for (const Frame *f = cx->frames; f; f = f->up, i++) {
		if (i >= SHOWN && i < n - SHOWN) {
			if (i == SHOWN)
				buf_printf(out, "\nnote: (%d more)", n - 2 * SHOWN);
			continue;
		}
		buf_puts(out, "\n");
		range_print(out, f->at, "note", f->what);
	}
}

RT_NORETURN static void
raise(Cx *cx, int status, Range at, const char *fmt, va_list ap)
{
	Buf what = { 0 }, raw = { 0 }, text = { 0 };

	buf_vprintf(&what, fmt, ap);
	range_print(&raw, at, "error", what.at);
	print_frames(cx, &raw);
	buf_clean(&text, raw.at, raw.n);
	buf_free(&raw);
	if (!cx->catch) {
		fprintf(stderr, "%s\n", text.at);
		exit(status);
	}
	cx->err.status = status;
	cx->err.at = at;
	buf_clean(&raw, what.at, what.n);
	cx->err.what = arena_text(cx->arena, &raw);
	cx->err.text = arena_text(cx->arena, &text);
	buf_free(&what);
	longjmp(*cx->catch, 1);
}

void
fail(Cx *cx, Range at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	raise(cx, EXIT_INPUT, at, fmt, ap);
}

void
fail_status(Cx *cx, int status, Range at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	raise(cx, status, at, fmt, ap);
}

void
fail_lacks(Cx *cx, Range at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	raise(cx, EXIT_LACKS, at, fmt, ap);
}

void
fail_again(Cx *cx)
{
	if (!cx->catch) {
		fprintf(stderr, "%s\n", cx->err.text);
		exit(cx->err.status);
	}
	longjmp(*cx->catch, 1);
}

void
bug(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "%s:%d: internal error: ", file, line);
	vfprintf(stderr, fmt, ap);
	fputs("\n", stderr);
	va_end(ap);
	exit(EXIT_BUG);
}

void
rt_assert_failed(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, what);
	abort();
}

void
cx_push(Cx *cx, Frame *f, const char *what, Range at)
{
	*f = (Frame){ what, at, cx->frames };
	cx->frames = f;
}

void
cx_pop(Cx *cx)
{
	cx->frames = cx->frames->up;
}

static void
check_nesting(Cx *cx, int depth, int most, Range at)
{
	if (depth > most)
		fail_lacks(cx, at, "nested too deep: Kiln takes %d levels", most);
	if ((const char *)__builtin_frame_address(0) < cx->stack_end)
		fail_lacks(cx, at, "nested too deep for the stack: see ulimit -s");
}

void
cx_enter(Cx *cx, Range at)
{
	check_nesting(cx, ++cx->depth, CX_DEPTH, at);
}

void
cx_leave(Cx *cx)
{
	cx->depth--;
}

int
cx_enter_nested(Cx *cx, Range at)
{
	const int depth = cx->depth;

	check_nesting(cx, ++cx->nested, CX_NESTED, at);
	cx->depth = 0;
	return depth;
}

void
cx_leave_nested(Cx *cx, int depth)
{
	cx->nested--;
	cx->depth = depth;
}
