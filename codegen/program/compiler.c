/* codegen/program/compiler.c - argument lists and processes of compilers, and options that all builds share */
#include "build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- arguments --------------------------------------------------------------------------------------------------- */

void
arg(Argv *a, const char *text)
{
	vec_push(a->cx->arena, &a->v, arena_strdup(a->cx->arena, text));
}

void
args_of(Argv *a, const char *words)
{
	char *copy = arena_strdup(a->cx->arena, words ? words : ""), *state = NULL;

	for (char *w = strtok_r(copy, " \t\n", &state); w; w = strtok_r(NULL, " \t\n", &state))
		arg(a, w);
}

char *const *
argv_of(Argv *a)
{
	vec_push(a->cx->arena, &a->v, NULL);
	return a->v.at;
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

bool
start(Build *b, char *const *argv, const char *log, Process *p)
{
	if (b->options->verbose) {
		for (int i = 0; argv[i]; i++)
			fprintf(stderr, "%s%s", i ? " " : "", argv[i]);
		fprintf(stderr, "\n");
	}
	return process_start(argv, NULL, log, p);
}

void
not_started(Build *b, const Process *p)
{
	fail(b->cx, (Range){ 0 }, "%s: %s (choose a compiler by --cc%s)", p->name, strerror(errno),
	     b->cross ? "" : "; --cc tcc needs none");
}

void
process_failed(Build *b, const Process *p, const char *what)
{
	process_fail(b->cx, p->name, EXIT_BUG, arena_printf(b->cx->arena, "failed %s", what), p->log);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

bool
is_made_of_code(const BuildOptions *o)
{
	return strcmp(o->emit, "c") && strcmp(o->emit, "ptx") && strcmp(o->emit, "cuda");
}

bool
is_fixed(const Build *b)
{
	return !b->options->name;
}

const char *
fma_option(const char *cc)
{
	return strstr(cc, "clang") || strstr(cc, "tcc") ? "" : "--param=avoid-fma-max-bits=0";
}

const char *
pic_option(const Target *t)
{
	return t->is_bare ? "-fno-pic" : "-fPIC";
}
