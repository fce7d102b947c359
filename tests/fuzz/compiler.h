/* tests/fuzz/compiler.h - what targets that run parts of the compiler have in common
 */
#ifndef FUZZ_COMPILER_H
#define FUZZ_COMPILER_H

#include "fuzz.h"

#include "../../ir/ir.h"

#include <stdlib.h>

/* A message is a good end; our own mistake is the finding. */
static void
check(const Cx *cx)
{
	if (cx->err.status == EXIT_INPUT || cx->err.status == EXIT_LACKS)
		return;
	fprintf(stderr, "status %d: %s\n", cx->err.status, cx->err.text);
	abort();
}

static void
finish(Cx *cx)
{
	if (cx->rt)
		rt_cx_free(cx->rt);
	arena_free(cx->arena);
}

#endif
