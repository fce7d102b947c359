/* codegen/kernel/print.h - printing kernels as C: print_c.c over print_rows.c over print_lines.c */
#ifndef CODEGEN_KERNEL_PRINT_H
#define CODEGEN_KERNEL_PRINT_H

#include "form.h"

typedef struct Printer {
	const Kernel *kernel;
	const Schedule *schedule;
	Buf text;
	int indent;
	bool trial;              /* whether the loops only test if all arguments are near */
} Printer;

/* ---- print_lines.c */

void put_line(Printer *, const char *format, ...) RT_PRINTF(2, 3);
void put_lines(Printer *, char *text);                   /* prints each line of a text, which is cut into pieces */
void open_loop(Printer *, const char *head);
void close_loop(Printer *);
const char *loop_head(Printer *, int axis);              /* C head of a loop over the whole axis */
const char *axis_first(Printer *, int axis);             /* C of its first index, and of the one behind its last */
const char *axis_end(Printer *, int axis);
const char *c_size(Printer *, const Size *);
void put_named_sizes(Printer *, int symbols);            /* declares the names of sizes (Kernel.naming) */
/* Declares the variable of an index that is an operand, "int64_t x1_at = x2[i0];". If the index is out of range, the C
 * sets the flag `wrong` and runs the statement `leave`. */
void put_gather(Printer *, const Operand *, int gather, const char *leave);
/* Declares the variables of indices that differ for the points of a row, or only of the others. */
void put_row_gathers(Printer *, bool moving, const char *leave);
/* Checks ranges whose ends are known once this stage has run. */
void put_range_checks(Printer *, int stage, const char *leave);

/* Prints the loops of a stage with print(). head: head of the outermost loop, or null. If the stage calls functions
 * with a fast range, prints the loops three times: as a trial, for near arguments, and for all. */
typedef void Print(Printer *, int stage, const char *head);
void put_tried(Printer *, int stage, const char *head, Print *print);

/* ---- print_rows.c: the stages of one row or of rows side by side; their indices are already declared */

void put_row(Printer *);

/* ---- print_cuda.c: parts of CUDA kernels that call functions with lambdas */

/* Declares the indices of axes [first, end), computed from a number. */
void put_cuda_indices(Printer *, int first, int end, const char *from);
/* Prints a lambda that reads an operand of a link at the indices of two axes: "[=](int64_t i1, int64_t i3) {...},". */
void put_cuda_load(Printer *, const Kernel *link, int operand, int a, int b);
/* Prints a lambda that computes the last let of a link's first stage, for its last shared axis, its reduced axis and
 * the value of a local operand. */
void put_cuda_value(Printer *, const Kernel *link, int local);
/* Prints a lambda that runs a link's last stage, for its last shared axis, its own axis and the value of its state. */
void put_cuda_store(Printer *, const Kernel *link);

/* ---- print_select.c: stages that select points, as C and as CUDA */

void put_select_scratch(Printer *);              /* declares `key` and `best`, with room for all points of a row */
void put_select(Printer *, int stage);
void put_select_cuda(Printer *, int stage);      /* for a block whose thread's number is t */

#endif
