/*
 * Causes: why a size is fixed, or has no dynamic code, with the line of the model that decides it.
 *
 * Two samples are compared node by node.  The first node that differs, or has a number that must not differ, is the
 * cause.  If the model raises at the other sizes, the call that raises is the cause.
 */
#include "../opt.h"

#include <string.h>

enum { LINE_MOST = 72 };         /* maximum number of characters shown of a line of the model */

Range
range_original(Range at)
{
	SourceMap *map = at.src ? at.src->map : NULL;
	Range found;

	return map && map->find(map, at.beg, &found) && found.src ? found : at;
}

const char *
range_says(Cx *cx, Range at)
{
	const Range from = range_original(at);
	const char *name, *slash, *text;
	int64_t begin, end;
	bool cut;

	if (!from.src)
		return NULL;
	name = from.src->name ? from.src->name : "<string>";
	slash = strrchr(name, '/');
	begin = range_line_start(from);
	end = range_line_end(from);
	while (begin < end && strchr(" \t", from.src->text[begin]))
		begin++;
	cut = end - begin > LINE_MOST;
	text = arena_strndup(cx->arena, from.src->text + begin, cut ? LINE_MOST : end - begin);
	return arena_printf(cx->arena, "%s:%d: %s%s", slash ? slash + 1 : name, range_line(from), text,
			    cut ? "..." : "");
}

const char *
cause_says(Cx *cx, const Cause *c)
{
	const char *line = range_says(cx, c->at);

	return !line ? c->what ? c->what : "the model takes another path" :
	       c->what ? arena_printf(cx->arena, "%s (%s)", line, c->what) : line;
}

bool
cause_is_same(const Cause *a, const Cause *b)
{
	return a->refused == b->refused && a->at.src == b->at.src && a->at.beg == b->at.beg &&
	       (a->what == b->what || (a->what && b->what && !strcmp(a->what, b->what)));
}

enum { SIZES_NAMED = 4 };

/* Appends "x.size(0) = 2" for each of the first SIZES_NAMED fixed sizes with the same cause, then the number of the
 * others. */
static void
put_sizes(Buf *b, const FixedSizes *f, int first, bool *said)
{
	int n = 0;

	for (int i = first; i < f->n; i++) {
		if (said[i] || !cause_is_same(&f->at[i].why, &f->at[first].why))
			continue;
		said[i] = true;
		if (n++ < SIZES_NAMED)
			buf_printf(b, "%s%s.size(%d) = %lld", n > 1 ? ", " : "", f->at[i].arg, f->at[i].axis,
				   (long long)f->at[i].size);
	}
	if (n > SIZES_NAMED)
		buf_printf(b, " and %d more", n - SIZES_NAMED);
}

/* Is the size worth a note?  If the model raises at other sizes, only a batch size is: a trace or a buffer may have
 * fixed it. */
static bool
is_of_interest(const FixedSize *f)
{
	return (f->why.what || f->why.at.src) && (!f->why.refused || (f->axis == 0 && f->rank > 1));
}

void
fixed_say(Cx *cx, const FixedSizes *f, void (*say)(void *, const char *), void *arg)
{
	bool *said = new(cx->arena, bool, f->n + 1);

	for (int i = 0; i < f->n; i++)
		said[i] = !is_of_interest(&f->at[i]);
	for (int i = 0; i < f->n; i++) {
		Buf b = { 0 };

		if (said[i])
			continue;
		put_sizes(&b, f, i, said);
		buf_printf(&b, f->at[i].why.refused ? " only, the model raises at other sizes: %s" :
			   ", other sizes run in generic code: %s", cause_says(cx, &f->at[i].why));
		say(arg, arena_text(cx->arena, &b));
	}
}
