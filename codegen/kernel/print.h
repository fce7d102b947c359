/* codegen/kernel/print.h - printing kernels as C: print_c.c over print_rows.c over print_lines.c */
#ifndef CODEGEN_KERNEL_PRINT_H
#define CODEGEN_KERNEL_PRINT_H

#include "form.h"

typedef struct Printer {
	const Kernel *k;
	const Schedule *s;
	Buf text;
	int indent;
	bool trial;              /* loops only look whether arguments are near */
} Printer;

/* ---- print_lines.c */

void put_line(Printer *, const char *format, ...) RT_PRINTF(2, 3);
void put_lines(Printer *, char *text);                   /* text is cut */
void open_loop(Printer *, const char *head);
void close_loop(Printer *);
const char *loop_head(Printer *, int axis);              /* over all of the axis */
const char *c_size(Printer *, const Size *);
/* Declares what an index of the operand holds, "int64_t x1_at = x2[i0];"; out of range, `wrong` is set, and the point
 * left by a statement. */
void put_gather(Printer *, const Operand *, int gather, const char *wrong, const char *leave);

/* Loops of a stage, which print() prints; head: of the outermost, or null.  Where functions are fast for near
 * arguments: as a trial, then for these or for all. */
typedef void Print(Printer *, int stage, const char *head);
void put_tried(Printer *, int stage, const char *head, Print *print);

/* ---- print_rows.c: what is done for a row, or for rows side by side, whose indices are there */

void put_row(Printer *);

#endif
