/* Main function of golden tests (tests/golden.h): PROGRAM [-u] FILE... */
#include "golden.h"
#include "../frontend/frontend.h"

#include <stdlib.h>
#include <string.h>

static void
read_file(Golden *t)
{
	FILE *f = fopen(t->path, "rb");

	if (!f || fseek(f, 0, SEEK_END) || (t->n = ftell(f)) < 0)
		fail(t->cx, (Range){ 0 }, "cannot read %s", t->path);
	rewind(f);
	t->text = new(t->cx->arena, char, t->n + 1);
	if (fread(t->text, 1, (size_t)t->n, f) != (size_t)t->n)
		fail(t->cx, (Range){ 0 }, "cannot read %s", t->path);
	fclose(f);
}

void
golden_compare(Golden *t, const char *want, const char *got)
{
	FILE *f;

	if (!strcmp(want, got))
		return;
	if (!t->update) {
		fprintf(stderr, "%s: want\n%s%s: got\n%s", t->path, want, t->path, got);
		t->ok = false;
		return;
	}
	f = fopen(t->path, "wb");
	if (!f)
		fail(t->cx, (Range){ 0 }, "cannot write %s", t->path);
	fwrite(t->text, 1, (size_t)(want - t->text), f);
	fputs(got, f);
	fclose(f);
}

static void
read_and_run(Cx *cx, void *arg)
{
	Golden *t = arg;

	t->cx = cx;
	read_file(t);
	golden_run(t);
}

static bool
run_test(const char *path, bool update)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	Golden t = { .path = path, .update = update, .ok = true };

	schema_parser = schema_parse;
	if (!cx_try(&cx, read_and_run, &t)) {
		fprintf(stderr, "%s\n", cx.err.text);
		t.ok = false;
	}
	arena_free(&arena);
	return t.ok;
}

int
main(int argc, char **argv)
{
	bool update = false, ok = true;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-u"))
			update = true;
		else
			ok &= run_test(argv[i], update);
	}
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
