/*
 * The runtime's files that go with a program's text: those of the names that it has, and what these need.
 *
 * The symbols of its object in the carried library tell what a file needs. variant.c, which has the forms that write
 * (rows ALSO, OUT and FORMS of rt/ops), would need nearly all others, so the copy keeps only those rows that something calls.
 */
#include "build.h"

#include <stdlib.h>
#include <string.h>

static const char forms[] = "variant";           /* the file of these rows */

typedef struct Sources {
	Build *b;
	Cx    *cx;
	Needs  needs;
	Map    base;             /* "rt_add_out" -> "rt_add", of these rows */
	Map    is_base, called;  /* such a "rt_add"; the rows that stay */
} Sources;

/* ---- rows that write --------------------------------------------------------------------------------------------- */

/* Is there such a row? */
static bool
is_row(const char *line)
{
	return !strncmp(line, "ALSO(", 5) || !strncmp(line, "OUT(", 4) || !strncmp(line, "FORMS", 5);
}

/* The end of the row: its further lines begin with white space. */
static const char *
next_row(const char *line)
{
	const bool row = is_row(line);

	do {
		line += strcspn(line, "\n");
		line += *line != 0;
	} while (row && (*line == ' ' || *line == '\t'));
	return line;
}

/* The n-th of the row's words, from 0. */
static const char *
word_of(Sources *s, const char *line, int n)
{
	for (line = strchr(line, '(') + 1; n > 0; n--)
		line = strchr(line, ',') + 1;
	line += strspn(line, " \n\t");
	return arena_printf(s->cx->arena, "%.*s", (int)strcspn(line, " ,)\n"), line);
}

/* The kernels of the row's forms, one (form[1] is null) or two; returns that of their base. */
static const char *
row_forms(Sources *s, const char *line, const char *end, const char *form[2])
{
	Arena *a = s->cx->arena;
	const char *name = word_of(s, line, 0), *overload;

	form[1] = NULL;
	if (!strncmp(line, "FORMS(", 6)) {
		form[0] = arena_printf(a, "rt_%s_", name);
		form[1] = arena_printf(a, "rt_%s_out", name);
		return arena_printf(a, "rt_%s", name);
	}
	if (!strncmp(line, "FORMS_OF(", 9)) {
		overload = word_of(s, line, 1);
		form[0] = arena_printf(a, "rt_%s__%s", name, overload);
		form[1] = arena_printf(a, "rt_%s_%s_out", name, overload);
		return arena_printf(a, "rt_%s_%s", name, overload);
	}
	form[0] = arena_printf(a, "rt_%s", name);
	while (*end != ',')
		end--;
	end += 1 + strspn(end + 1, " \n\t");
	return arena_printf(a, "rt_%.*s", (int)strcspn(end, ")"), end);
}

static void
note_rows(Sources *s, const char *text)
{
	for (const char *line = text, *end, *form[2]; *line; line = end) {
		const char *base;

		end = next_row(line);
		if (!is_row(line))
			continue;
		base = row_forms(s, line, end, form);
		for (int i = 0; i < 2 && form[i]; i++)
			map_put(&s->base, form[i], (void *)(uintptr_t)base);
		map_put(&s->is_base, base, "yes");
	}
}

/* The text without rows that nothing calls. */
static void
put_rows(Sources *s, Buf *to, const char *text)
{
	for (const char *line = text, *end, *form[2]; *line; line = end) {
		end = next_row(line);
		if (is_row(line)) {
			row_forms(s, line, end, form);
			if (!map_get(&s->called, form[0]) && !(form[1] && map_get(&s->called, form[1])))
				continue;
		}
		buf_add(to, line, end - line);
	}
}

/* ---- needed members ---------------------------------------------------------------------------------------------- */

static void
need(Sources *s, const char *symbol)
{
	const char *base = map_get(&s->base, symbol);

	needs_symbol(&s->needs, symbol);
	if (!base || map_get(&s->called, symbol))
		return;
	map_put(&s->called, symbol, "yes");
	need(s, base);
}

/* Names of the runtime in a text. */
static void
need_words(Sources *s, const char *text)
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	for (size_t n = 0; *(text += strcspn(text, word)); text += n) {
		n = strspn(text, word);
		if (!strncmp(text, "rt_", 3))
			need(s, arena_strndup(s->cx->arena, text, (int64_t)n));
	}
}

/* Adds what a file needs, by its object in this machine's library. */
static void
need_file(Sources *s, const char *name)
{
	const char *path = arena_printf(s->cx->arena, "%s/rt-%s.o", s->b->dir, name);
	Texts defined = { 0 }, undefined = { 0 };
	int64_t n;
	const char *object = needs_member(&s->needs, name, &n);

	write_text(s->cx, path, object, n);
	elf_symbols(s->cx, path, &defined, &undefined);
	for (int i = 0; i < defined.n; i++)
		map_put(&s->needs.defined, defined.at[i], "yes");
	for (int i = 0; i < undefined.n; i++)
		if (strcmp(name, forms) || !map_get(&s->is_base, undefined.at[i]))
			need(s, undefined.at[i]);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static const char *
source_path(Sources *s, const char *name)
{
	const char *ops = arena_printf(s->cx->arena, "rt/ops/%s.c", name);

	return carry_has(s->cx, ops) ? ops : arena_printf(s->cx->arena, "rt/%s.c", name);
}

static void
write_rows(Sources *s, const Texts *rows)
{
	for (int i = 0; i < rows->n; i++) {
		const char *end = strrchr(rows->at[i], '.');
		Buf b = { 0 };

		if (strcmp(end, ".def"))
			continue;
		put_rows(s, &b, carry_text(s->cx, rows->at[i]));
		write_text(s->cx, arena_printf(s->cx->arena, "%s/%s", s->b->dir, rows->at[i]), b.at ? b.at : "", b.n);
		buf_free(&b);
	}
}

void
runtime_sources(Build *b, const char *text, Texts *files)
{
	Sources s = { .b = b, .cx = b->cx };
	Texts rows = { 0 };

	carry_add(b->cx, "rt/ops/ops.h", &rows);
	for (int i = 0; i < rows.n; i++)
		note_rows(&s, carry_text(b->cx, rows.at[i]));
	needs_open(&s.needs, b->cx);
	for (int i = 0; emit_own[i]; i++)
		map_put(&s.needs.defined, emit_own[i], "yes");
	need_words(&s, text);
	for (int i = 0; i < b->o->ops.n; i++)
		need_words(&s, file_text(b->cx, b->o->ops.at[i]));
	for (int i = 0; i < s.needs.names.n; i++)
		need_file(&s, s.needs.names.at[i]);
	for (int i = 0; i < s.needs.names.n; i++)
		carry_add(b->cx, source_path(&s, s.needs.names.at[i]), files);
	carry_files(b->cx, files, b->dir);
	write_rows(&s, &rows);
}
