/* tests/golden.h - golden tests: a file of text whose last part is what its first part becomes
 *
 * golden.c has main: PROGRAM [-u] FILE...; -u writes the last part of a file anew.  A program defines golden_run.
 */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include "../ir/ir.h"

typedef struct Golden {
	Cx         *cx;
	const char *path;
	char       *text;                /* of the file, with a zero behind */
	int64_t     n;
	bool        update, ok;
} Golden;

void golden_run(Golden *);
/* want: the last part of t->text.  A difference is printed, or written to the file. */
void golden_compare(Golden *t, const char *want, const char *got);

#endif
