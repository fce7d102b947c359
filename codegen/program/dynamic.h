/* codegen/program/dynamic.h - a dynamic specialization in progress: dynamic.c, formulas.c, promise.c */
#ifndef CODEGEN_PROGRAM_DYNAMIC_H
#define CODEGEN_PROGRAM_DYNAMIC_H

#include "../kernel/lower.h"
#include "program.h"

typedef struct Dynamic {
	Emit *emit;
	Cx   *cx;
	Function *fn;
	const Specialization *spec;
	Sizes *sample_sizes;
	struct SizeTable *sizes; /* symbols of the specialization and the sizes of its kernels */
	Map   measured;          /* Size of each number of the graph that differs, by its values on the samples */
	int   n;                 /* number of samples */
	Plan *plan[SIZE_SAMPLES];
	DynamicPlan shared[SIZE_SAMPLES];
	Vec(const Node *) node[SIZE_SAMPLES];  /* all nodes except constants, in the same order */
	bool  changed;           /* whether a kernel was refused, so that plans must be made again */
	bool  gpu;               /* whether it is a plan for the GPU */
	bool  unjoined;          /* whether cats are copied and not joined in place */
	struct Proof *proof;     /* null until the kernels are settled */
	const char *why;         /* description of how the last texts differed */
} Dynamic;

/* ---- formulas.c ---- */

typedef struct Formulas {        /* The formulas in one text. */
	Dynamic *dynamic;
	Sizes   sizes;               /* sizes of the samples, and those that plan_ceil added */
	int16_t of[SIZE_ATOMS];  /* index in s[], by atom; counts come after all atoms of the function */
	Vec(const char *) text;  /* C text of size0, size1 ... */
	Vec(int) real;           /* atom of real0 ...; the atom's value has the bits of a double */
} Formulas;

/* Begins formulas over the values that plan_ceil was called with on the samples. Returns false if the samples made
 * different numbers of such calls. */
bool  formulas_begin(Dynamic *, Formulas *);
/* Returns a formula for v, which has one value for each sample. Null if v is not a product of sizes. */
const char *formulas_of(Formulas *, const int64_t *v);
/* Replaces the marks in the samples' texts by numbers and formulas. Returns null and sets d->why if the texts differ or
 * a number has no formula. */
const char *formulas_replace(Formulas *, const char *const *text);
/* Returns the lines that define size0, size1 ... and real0 ... */
char *formulas_locals(const Formulas *);

/* ---- measures.c ---- */

const Measures *node_measures(Dynamic *, int);       /* numbers that the operands of the i-th node have */

/* ---- proof.c ---- */

typedef enum DemandKind { DEMAND_ZERO, DEMAND_NOT_ZERO, DEMAND_NATURAL } DemandKind;
typedef struct Demand { DemandKind kind; const Size *size; } Demand;
/* Proof that a specialization's numbers have their formulas: what they are over the symbols, by rules of operators. */
typedef struct Proof {
	struct SizeTable *sizes;                /* symbols of the function, from their least value on */
	const Size *atom[SIZE_ATOMS];    /* atoms over the symbols */
	Vec(Demand) demand;              /* conditions that the sizes of a call have to meet */
	int proved, checked;             /* number of numbers that are proved, and that are not */
	const Node *lacks;               /* first node whose result is not proved; null if there is none */
	bool wrong;                      /* whether the rules contradict the operators */
} Proof;
Proof *sizes_prove(Dynamic *);
/* Does the program's C compute all of it in 64 bits, up to the ends of the ranges, and up to `open` for symbols whose
 * range is open? */
bool  proof_fits_in_words(const Sizes *, const Proof *, int64_t open);
void   proof_drop(Proof *);          /* leaves all numbers to be checked, because the rules are wrong for the model */
/* Do the symbols meet the demands?  Computes the atoms from the symbols, the first of s. */
bool  proof_values(const Sizes *, const Proof *, int64_t *s);

/* ---- promise.c ---- */

typedef struct RtSizeBuffers { RtSizeBuffer *at; int n, cap; } RtSizeBuffers;
/* Lists the arena's buffers, which must be alike in all samples' plans. Returns false and sets d->why if they are not,
 * or if their bytes are not products of sizes. */
bool  dynamic_buffers(Dynamic *, RtSizeBuffers *);
/* Cuts the symbols' ranges to the sizes that the program will accept. All relations between sizes must be known.
 * Returns the reason if too few sizes remain, otherwise null. */
const char *promise_check(Dynamic *);

#endif
