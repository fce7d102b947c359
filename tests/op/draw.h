/* tests/op/draw.h - random arguments of operator rows, for rows.c and traits.c */
#ifndef TESTS_OP_DRAW_H
#define TESTS_OP_DRAW_H

#include "../../opt/opt.h"

enum { DRAW_RANK = 5 };

typedef struct Draw {
	RtCx    *rt;
	uint64_t random;                 /* state of the generator */
	int64_t  dims[DRAW_RANK];        /* sizes of the trial's tensors */
	int      rank;
	RtDtype  dtype;
} Draw;

/* A number below n. */
int  draw_below(Draw *, int n);
/* Random elements that the dtype holds exactly. */
void draw_fill(Draw *, RtTensor *);
/* Arguments of the schema's types. False if there is no value of a type here. */
bool draw_arguments(Draw *, const Schema *, IValue *args);
/* Whether an argument is, or holds, tensors. */
bool draw_has_tensors(const Schema *);

#endif
