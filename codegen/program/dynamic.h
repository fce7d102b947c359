/* codegen/program/dynamic.h - a dynamic specialization while it is made: dynamic.c, formulas.c */
#ifndef CODEGEN_PROGRAM_DYNAMIC_H
#define CODEGEN_PROGRAM_DYNAMIC_H

#include "program.h"

typedef struct Dynamic {
	Emit *e;
	Cx   *cx;
	Function *fn;
	const Specialization *d;
	Sizes *z;
	struct SizeTable *sizes; /* of its kernels, over symbols */
	int   n;                 /* samples */
	Plan *plan[SIZE_SAMPLES];
	DynamicPlan shared[SIZE_SAMPLES];
	Vec(const Node *) node[SIZE_SAMPLES];  /* all nodes but constants, in the same order */
	bool  changed;           /* a kernel has been refused: plans are to be made again */
	bool  unjoined;          /* nothing is joined in its place */
	const char *why;         /* the last texts that did not agree */
} Dynamic;

/* ---- formulas.c ---- */

typedef struct Formulas {        /* of one text */
	Dynamic *d;
	Sizes   z;               /* d->z, and what plan_ceil has added */
	int16_t of[SIZE_ATOMS];  /* by atom: which s; counts stand behind all atoms of the function */
	Vec(const char *) text;  /* of size0, size1 ... */
	Vec(int) real;           /* of real0 ...: atoms whose bits are a double's */
	const char *epilogue;    /* the name for marks of one */
} Formulas;

/* With what plan_ceil was asked on the samples; false: it was asked different things. */
bool  formulas_begin(Dynamic *, Formulas *);
/* v: a value for each sample.  Null: it is no product of sizes. */
const char *formulas_of(Formulas *, const int64_t *v);
/* The samples' texts, which are equal, with what their marks stand for; null: they differ, or in a number that is no
 * formula (d->why). */
const char *formulas_replace(Formulas *, const char *const *text);
/* The lines that define size0, size1 ... and real0 ... */
char *formulas_locals(const Formulas *);

/* ---- promise.c ---- */

typedef struct RtSizeBuffers { RtSizeBuffer *at; int n, cap; } RtSizeBuffers;
/* The buffers of the arena, which all samples' plans have alike; false: they do not, or their bytes are no products of
 * sizes (d->why). */
bool  dynamic_buffers(Dynamic *, RtSizeBuffers *);
/* Cuts the symbols' ranges to what the program will take, once all relations of the sizes are known.  Returns why it
 * takes too few sizes; null: it does not. */
const char *promise_check(Dynamic *);

#endif
