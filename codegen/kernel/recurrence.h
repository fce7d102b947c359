/* codegen/kernel/recurrence.h - the chain of a recurrent layer, for those who make and match it */
#ifndef CODEGEN_KERNEL_RECURRENCE_H
#define CODEGEN_KERNEL_RECURRENCE_H

#include "../../ir/row.h"
#include "form.h"

enum { MOST_GATES = 4 };

/* An argument of a cell's let: a product of the input or of the state, by gate; the old state; an earlier let. */
enum { CELL_X = 0, CELL_S = 4, CELL_H = 8, CELL_C, CELL_LET = 16 };
typedef struct CellLet { OpRow row; int a, b; } CellLet;        /* b: -1 if it has one argument */

typedef struct Cell {
	const char *name;
	int gates, nlet;
	int h, c;                /* lets that are the new state; c is -1 without one */
	CellLet let[13];
} Cell;

const Cell *cell_find(const char *name);                 /* lstm, gru, tanh, relu; null if there is none */

/* Indices of the chain's operands; those of gates are the first of them. -1 if there is none. */
typedef struct Recurrence {
	const Cell *cell;
	bool bias, projected;
	int y, c;                /* results: all states, the last c */
	int x, w, b, h0, c0, p;  /* operands that are read */
	int h, old, s, u;        /* local: state, c, products by gate, states before the projection */
	int noperand;
	const Kernel *products, *step, *last;    /* links; the last one stores y */
} Recurrence;

Recurrence recurrence_of(const Cell *, bool bias, bool projected);
Ref recurrence_ref(const Recurrence *, int code);        /* a let's argument, CELL_X ... */
/* Is the kernel such a chain? Sets *out. */
bool recurrence_find(const Kernel *, Recurrence *out);

#endif
