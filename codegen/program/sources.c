/*
 * Collects the runtime's files that emitted text needs: those that define the names in the text, and all files that
 * these need.
 *
 * The symbols of a file's object in the carried library show what it needs. variant.c, which has the in-place and out=
 * operators (ALSO and OUT entries of rt/ops), would need nearly all other files. So its list of them (forms.def) is
 * written with only the operators that are called.
 */
#include "build.h"
#include "../../ir/row.h"

#include <stdlib.h>
#include <string.h>

static const char forms[] = "variant";           /* file of the in-place and out= operators */

typedef struct Sources {
	Build *build;
	Cx    *cx;
	Needs  needs;
	Map    base;             /* base of each in-place or out= operator: "rt_add_out" -> "rt_add" */
	/* set of base operators such as "rt_add"; set of in-place and out= operators that are called */
	Map    is_base, called;
} Sources;

/* ---- in-place and out= operators --------------------------------------------------------------------------------- */

static void
note_forms(Sources *s)
{
	for (int i = 0; i < NROW; i++) {
		const Op *op = op_at(s->cx, i);
		const char *base;

		if (op->form != OP_ALSO)
			continue;
		base = arena_printf(s->cx->arena, "rt_%s", op->base);
		map_put(&s->base, arena_printf(s->cx->arena, "rt_%s", op->id), (void *)(uintptr_t)base);
		map_put(&s->is_base, base, "yes");
	}
}

/* Writes forms.def with the in-place and out= operators that are called. */
static void
write_forms(Sources *s)
{
	Arena *a = s->cx->arena;
	Buf b = { 0 };

	for (int i = 0; i < NROW; i++) {
		const Op *op = op_at(s->cx, i);

		if (op->form == OP_ALSO && map_get(&s->called, arena_printf(a, "rt_%s", op->id)))
			buf_printf(&b, "FORM(%s, %s, %s, %s)\n", op->id, out_literal(a, op->text), op->base,
				op->exact ? "true" : "false");
	}
	write_text(s->cx, arena_printf(a, "%s/rt/ops/forms.def", s->build->dir), b.at ? b.at : "", b.n);
	buf_free(&b);
}

/* ---- needed members ---------------------------------------------------------------------------------------------- */

static void
need_symbol(Sources *s, const char *symbol)
{
	const char *base = map_get(&s->base, symbol);

	needs_symbol(&s->needs, symbol);
	if (!base || map_get(&s->called, symbol))
		return;
	map_put(&s->called, symbol, "yes");
	need_symbol(s, base);
}

/* Adds the names of the runtime that occur in a text. */
static void
need_words(Sources *s, const char *text)
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	for (size_t n = 0; *(text += strcspn(text, word)); text += n) {
		n = strspn(text, word);
		if (!strncmp(text, "rt_", 3))
			need_symbol(s, arena_strndup(s->cx->arena, text, (int64_t)n));
	}
}

/* Adds the files that a file needs, by the symbols of its object in this machine's library. */
static void
need_file(Sources *s, const char *name)
{
	const char *path = arena_printf(s->cx->arena, "%s/rt-%s.o", s->build->dir, name);
	Texts defined = { 0 }, undefined = { 0 };
	int64_t n;
	const char *object = needs_member(&s->needs, name, &n);

	write_text(s->cx, path, object, n);
	elf_symbols(s->cx, path, &defined, &undefined);
	for (int i = 0; i < defined.n; i++)
		map_put(&s->needs.defined, defined.at[i], "yes");
	for (int i = 0; i < undefined.n; i++)
		if (strcmp(name, forms) || !map_get(&s->is_base, undefined.at[i]))
			need_symbol(s, undefined.at[i]);
}

/* ---- the whole list ---------------------------------------------------------------------------------------------- */

static const char *
source_path(Sources *s, const char *name)
{
	const char *ops = arena_printf(s->cx->arena, "rt/ops/%s.c", name);

	return carry_has(s->cx, ops) ? ops : arena_printf(s->cx->arena, "rt/%s.c", name);
}

void
runtime_sources(Build *b, const char *text, Texts *files)
{
	Sources s = { .build = b, .cx = b->cx };

	note_forms(&s);
	needs_open(&s.needs, b->cx);
	for (int i = 0; emit_own[i]; i++)
		map_put(&s.needs.defined, emit_own[i], "yes");
	need_words(&s, text);
	for (int i = 0; i < b->options->ops.n; i++)
		need_words(&s, file_text(b->cx, b->options->ops.at[i]));
	for (int i = 0; i < s.needs.names.n; i++)
		need_file(&s, s.needs.names.at[i]);
	for (int i = 0; i < s.needs.names.n; i++)
		carry_add(b->cx, source_path(&s, s.needs.names.at[i]), files);
	carry_files(b->cx, files, b->dir);
	write_forms(&s);
}
