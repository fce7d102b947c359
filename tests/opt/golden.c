/*
 * Golden tests of passes: golden [-u] FILE.ir... (tests/golden.h)
 *
 * A test is one file: a comment, the passes to run, the graph before, a line of three dashes, the graph after. |   # A
 * write through a view of a live tensor is kept. |   # passes: dce Every graph is also printed, read and printed again.
 * Both texts must be equal.
 */
#include "../golden.h"
#include "../../opt/opt.h"

#include <string.h>

static Graph *
parse(Golden *t, const char *text, int64_t n)
{
	Source *s = new(t->cx->arena, Source, 1);

	*s = (Source){ .text = arena_strndup(t->cx->arena, text, n), .n = n, .name = t->path, .line = 1 };
	return ir_parse(t->cx, s, unit_new(t->cx, NULL, 0));
}

static const char *
print(Golden *t, Graph *g)
{
	Buf b = { 0 };

	graph_lint(g);
	graph_print(g, &b, false);
	return arena_text(t->cx->arena, &b);
}

static void
check_round_trip(Golden *t, const char *text)
{
	const char *again = print(t, parse(t, text, (int64_t)strlen(text)));

	if (!strcmp(text, again))
		return;
	fprintf(stderr, "%s: printed, read and printed again:\n%s---\n%s", t->path, text, again);
	t->ok = false;
}

static void
run_passes(Golden *t, Graph *g, const char *line)
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

void
golden_run(Golden *t)
{
	const char *passes = strstr(t->text, "# passes:"), *dashes = strstr(t->text, "\n---\n");
	Graph *g;

	if (!passes || !dashes)
		fail(t->cx, (Range){ 0 }, "%s: no line '# passes:' or no line '---'", t->path);
	g = parse(t, t->text, dashes + 1 - t->text);
	check_round_trip(t, print(t, g));
	run_passes(t, g, passes + strlen("# passes:"));
	check_round_trip(t, print(t, g));
	golden_compare(t, dashes + 5, print(t, g));
}
