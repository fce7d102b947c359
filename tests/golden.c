/*
 * Golden tests of passes: golden [-u] FILE.ir...
 *
 * A test is one file: what it shows, the passes to run, the graph before, a line of three dashes, the graph after.
 *     # A write through a view of a live tensor is kept.
 *     # passes: dce
 * -u writes the last part anew.  Every graph is also printed, read and printed again, which must change nothing.
 */
#include "../opt/opt.h"

#include <stdlib.h>
#include <string.h>

typedef struct Test { Cx *cx; const char *path; char *text; int64_t n; bool update, ok; } Test;

static char *
read_file(Cx *cx, const char *path, int64_t *n)
{
	FILE *f = fopen(path, "rb");
	char *text;

	if (!f || fseek(f, 0, SEEK_END) || (*n = ftell(f)) < 0)
		fail(cx, (Range){0}, "cannot read %s", path);
	rewind(f);
	text = new(cx->arena, char, *n + 1);
	if (fread(text, 1, (size_t)*n, f) != (size_t)*n)
		fail(cx, (Range){0}, "cannot read %s", path);
	fclose(f);
	return text;
}

static Graph *
parse(Test *t, const char *text, int64_t n)
{
	Source *s = new(t->cx->arena, Source, 1);

	*s = (Source){ .text = arena_strndup(t->cx->arena, text, n), .n = n, .name = t->path, .line = 1 };
	return ir_parse(t->cx, s, unit_new(t->cx, NULL, 0));
}

static const char *
print(Test *t, Graph *g)
{
	Buf b = {0};

	graph_lint(g);
	graph_print(g, &b, false);
	return arena_text(t->cx->arena, &b);
}

static void
check_round_trip(Test *t, const char *text)
{
	const char *again = print(t, parse(t, text, (int64_t)strlen(text)));

	if (!strcmp(text, again))
		return;
	fprintf(stderr, "%s: printed, read and printed again:\n%s---\n%s", t->path, text, again);
	t->ok = false;
}

static void
run_passes(Test *t, Graph *g, const char *line)
{
	while (*line && *line != '\n') {
		const int n = (int)strcspn(line, ", \n");

		if (n) {
			pass_run(t->cx, arena_strndup(t->cx->arena, line, n), NULL, g, rt_none());
			graph_lint(g);
		}
		line += n;
		line += *line == ',' || *line == ' ';
	}
}

static void
compare(Test *t, const char *want, const char *got)
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
		fail(t->cx, (Range){0}, "cannot write %s", t->path);
	fwrite(t->text, 1, (size_t)(want - t->text), f);
	fputs(got, f);
	fclose(f);
}

static void
run(Cx *cx, void *arg)
{
	Test *t = arg;
	const char *passes, *dashes;
	Graph *g;

	t->cx = cx;
	t->text = read_file(cx, t->path, &t->n);
	passes = strstr(t->text, "# passes:");
	dashes = strstr(t->text, "\n---\n");
	if (!passes || !dashes)
		fail(cx, (Range){0}, "%s: no line '# passes:' or no line '---'", t->path);
	g = parse(t, t->text, dashes + 1 - t->text);
	check_round_trip(t, print(t, g));
	run_passes(t, g, passes + strlen("# passes:"));
	check_round_trip(t, print(t, g));
	compare(t, dashes + 5, print(t, g));
}

static bool
run_test(const char *path, bool update)
{
	Arena arena = {0};
	Cx cx = { .arena = &arena };
	Test t = { .path = path, .update = update, .ok = true };

	schema_parser = schema_parse;
	if (!cx_try(&cx, run, &t)) {
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
