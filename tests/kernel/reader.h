/* tests/kernel/reader.h - reads kernels and sizes from their text form, which the compiler only writes */
#ifndef TESTS_KERNEL_READER_H
#define TESTS_KERNEL_READER_H

#include "../../codegen/kernel/form.h"

/* Reads the kernel at *at, a position in the source, and moves *at past it.  Fails with a message that contains the
 * line.  Symbols must have the ranges that they have in the table. */
Kernel *kernel_read(Cx *, SizeTable *, const Source *, const char **at, Schedule *);
/* Reads the size at *at in the text form (it ends before a comma, a bracket or a keyword), and moves *at past it.  Null
 * if there is none or it is lost; *at then stays.  A new symbol gets the range from 2 to INT64_MAX. */
const Size *size_read(SizeTable *, const char **at);
const Size *size_read_factor(SizeTable *, const char **at);    /* reads a number, a symbol, a function or parentheses */

#endif
