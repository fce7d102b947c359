/* tests/golden.h - golden tests: a text file with an input and the expected output
 *
 * golden.c has main: PROGRAM [-u] FILE... With -u it writes the expected output of each file anew.  A program defines
 * golden_run. */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include "../ir/ir.h"

typedef struct Golden {
	Cx         *cx;
	const char *path;
	char       *text;                /* text of the file, with a final zero byte */
	int64_t     n;
	bool        update, ok;
} Golden;

void golden_run(Golden *);
/* Compares `got` with `want`, the expected output in t->text.  Prints a difference, or writes it to the file. */
void golden_compare(Golden *t, const char *want, const char *got);

#endif
