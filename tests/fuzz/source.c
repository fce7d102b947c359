/* tests/fuzz/source.c - any bytes as a source of TorchScript: must give a message, or functions that are compiled,
 * prepared and lowered */
#include "compiler.h"

#include "../../opt/opt.h"

#include <stdlib.h>
#include <string.h>

typedef struct Job { Source src; Unit *unit; } Job;

static void
compile(Cx *cx, void *fn)
{
	function_graph(cx, fn);
	prepare(cx, fn, rt_none());
	graph_lint(((Function *)fn)->prepared);
	ops_compile_bodies(cx, ((Function *)fn)->prepared);
	code_lower(cx, fn, NULL);
}

static void
compile_named(Cx *cx, Unit *u, const char *name)
{
	Function *f = unit_function(cx, u, name);

	if (f && !cx_try(cx, compile, f))
		check(cx);
}

static void
read_source(Cx *cx, void *arg)
{
	Job *j = arg;
	const Tree *file = parse_file(cx, &j->src);

	j->unit = unit_new(cx, NULL, 0);
	unit_define(cx, j->unit, &j->src, "__torch__");
	for (int i = 0; i < file->n; i++)
		if (file->kid[i]->kind == TREE_DEF)
			compile_named(cx, j->unit, arena_printf(cx->arena, "__torch__.%s", file->kid[i]->kid[0]->text));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	Arena a = { .limit = 512 << 20 };
	Cx cx = { .arena = &a };
	char *text = malloc(n + 2);
	Job j = { .src = { .text = text, .n = (int64_t)n + 1, .name = "fuzz", .line = 1 } };

	memcpy(text, data, n);
	text[n] = '\n';
	text[n + 1] = 0;
	schema_parser = schema_parse;
	if (!cx_try(&cx, read_source, &j))
		check(&cx);
	finish(&cx);
	free(text);
	return 0;
}
