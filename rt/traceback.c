/* rt/traceback.c - records the source positions that an error leaves, and prints them as a traceback */
#include "rt.h"
#include "base.h"

#include <stdlib.h>
#include <string.h>

void
rt_visits_add(RtCx *cx, RtVisit v)
{
	RtVisit *more;

	if (cx->nvisit >= RT_DEPTH)
		return;
	if (!(cx->nvisit & (cx->nvisit - 1))) {             /* capacity doubles at powers of two */
		more = realloc(cx->visit, sizeof *more * (size_t)(cx->nvisit ? cx->nvisit * 2 : 1));
		if (!more)
			return;
		cx->visit = more;
	}
	cx->visit[cx->nvisit++] = v;
}

void
rt_visit(RtCx *cx, const RtCode *code, uint32_t line)
{
	if ((!code->place && !code->packed_place) || cx->status == RT_UNKNOWN_META)
		return;
	for (; line; line = (uint32_t)rt_place(code, (int)line).caller)
		rt_visits_add(cx, (RtVisit){ code, line });
}

static uint32_t
read_varint(const unsigned char **at)
{
	uint32_t n = 0;

	for (int shift = 0; ; shift += 7) {
		n |= (uint32_t)(**at & 127) << shift;
		if (*(*at)++ < 128)
			return n;
	}
}

static int
unpack_near(const unsigned char **at, int i)
{
	const uint32_t n = read_varint(at);

	return n ? i + (n % 2 ? -(int)(n + 1) / 2 : (int)n / 2) : 0;
}

/* Returns the offset of the first byte of text n. */
static uint32_t
text_begin(const char *text, uint32_t n)
{
	const char *at = text;

	while (n-- > 0)
		at += strlen(at) + 1;
	return (uint32_t)(at - text);
}

RtPlaceName
rt_place(const RtCode *code, int i)
{
	const unsigned char *at = code->packed_place;
	RtPlaceName p = { 0 };

	if (!at)
		return code->place ? code->place[i] : p;
	for (int k = 0; k <= i; k++) {
		p.file = read_varint(&at);
		p.function = read_varint(&at);
		p.line_text = read_varint(&at);
		p.line = (int)read_varint(&at);
		p.column = (int)read_varint(&at);
		p.width = (int)read_varint(&at);
		p.original = unpack_near(&at, k);
		p.caller = unpack_near(&at, k);
	}
	p.file = text_begin(code->text, p.file);
	p.function = text_begin(code->text, p.function);
	p.line_text = text_begin(code->text, p.line_text);
	return p;
}

static void
print_place(Buf *b, const RtCode *code, int place)
{
	const RtPlaceName p = rt_place(code, place);

	buf_printf(b, "  File \"%s\", line %d, in %s\n", p.file ? code->text + p.file : "<string>", p.line,
		p.function ? code->text + p.function : "<unknown>");
	if (!p.line_text)
		return;
	buf_printf(b, "%s\n%*s", code->text + p.line_text, p.column > 1 ? p.column - 1 : 0, "");
	for (int i = 0; i < p.width; i++)
		buf_puts(b, "~");
	buf_puts(b, " <--- HERE\n");
}

static int
original_place(RtVisit v)
{
	return rt_place(v.code, (int)v.place).original;
}

bool
rt_in_operator(RtVisit v)
{
	const RtPlaceName p = rt_place(v.code, (int)v.place);

	/* such as aten::...; a method's name has no colon */
	return p.function && strchr(v.code->text + p.function, ':');
}

void
rt_traceback(RtCx *cx)
{
	Buf b = { 0 }, clean = { 0 };
	bool original = false;
	int n = 0;

	if (!cx->nvisit || cx->trace)
		return;
	if (rt_in_operator(cx->visit[0])) {
		free(cx->cls);
		cx->cls = NULL;
	}
	for (int i = 0; i < cx->nvisit; i++)
		if (!rt_in_operator(cx->visit[i]))
			cx->visit[n++] = cx->visit[i];
	cx->nvisit = n;
	for (int i = 0; i < cx->nvisit; i++)
		original |= original_place(cx->visit[i]) != 0;
	buf_printf(&b, "Traceback of TorchScript%s (most recent call last):\n", original ? ", serialized code" : "");
	for (int i = cx->nvisit; i-- > 0;)
		print_place(&b, cx->visit[i].code, (int)cx->visit[i].place);
	if (original)
		buf_puts(&b, "\nTraceback of TorchScript, original code (most recent call last):\n");
	for (int i = cx->nvisit; i-- > 0;)
		if (original_place(cx->visit[i]))
			print_place(&b, cx->visit[i].code, original_place(cx->visit[i]));
	buf_clean(&clean, b.at, b.n);
	buf_free(&b);
	cx->trace = clean.at;
}
