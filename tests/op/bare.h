/* tests/op/bare.h - values in which some tensors have no data, for matrix.c and rows.c */
#ifndef TESTS_OP_BARE_H
#define TESTS_OP_BARE_H

#include "../../opt/opt.h"

/* Number of tensors in v and its lists. */
int    bare_count(IValue v);
/* Returns a new reference to a copy of v whose i-th tensor has no data if bit i of `bare` is set. *at: number of
 * tensors so far. */
IValue bare_some(RtCx *, IValue v, uint64_t bare, int *at);
/* Do two values have the same dtypes, sizes and strides? */
bool   bare_same(IValue a, IValue b);
/* Returns the set of those of `count` tensors that lack data in trial i: first all, then each alone, then all but each
 * one.  0 if there is no such trial. */
uint64_t bare_trial(int i, int count);

#endif
