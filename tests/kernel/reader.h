/* tests/kernel/reader.h - kernels and sizes from their text form, which the compiler only writes */
#ifndef TESTS_KERNEL_READER_H
#define TESTS_KERNEL_READER_H

#include "../../codegen/kernel/form.h"

/* The kernel at *at, a place in the source, which moves behind it; fails with a message that names the line.  Symbols
 * must have no other ranges than they have already. */
Kernel *kernel_read(Cx *, SizeTable *, const Source *, const char **at, Schedule *);
/* The size at *at in the text form (no wider than a comma, a bracket or a keyword); *at moves behind it.  Null: there
 * is none, or it is lost; *at stays.  A symbol that is new has the range from 2 to INT64_MAX. */
const Size *size_read(SizeTable *, const char **at);
const Size *size_read_factor(SizeTable *, const char **at);    /* a number, a symbol, a function or parentheses */

#endif
