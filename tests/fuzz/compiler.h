/* tests/fuzz/compiler.h - code that targets which run parts of the compiler share */
#ifndef FUZZ_COMPILER_H
#define FUZZ_COMPILER_H

#include "fuzz.h"

#include "../../ir/ir.h"

#include <stdlib.h>

/* Accepts an error message as a good end.  An internal error (BUG) is a finding. */
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
