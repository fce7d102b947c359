/* tests/op/bare.h - values of which some tensors have no data, for matrix.c and rows.c */
#ifndef TESTS_OP_BARE_H
#define TESTS_OP_BARE_H

#include "../../opt/opt.h"

/* Number of tensors in v and its lists. */
int    bare_count(IValue v);
/* A new reference: v, whose i-th tensor has no data if bit i of `bare` is set.  Other tensors are copies.  *at: number
 * of tensors so far. */
IValue bare_some(RtCx *, IValue v, uint64_t bare, int *at);
/* Do two values have the same dtypes, sizes and strides? */
bool   bare_same(IValue a, IValue b);
/* Set of the tensors, of `count`, that lack data in trial i: all, then each alone, then all but each.  0: there is no
 * such trial. */
uint64_t bare_trial(int i, int count);

#endif
