/* rt/ops/keys.h - elements as 64-bit integers in the same order, and stable sorting of them: sort.c, order.c */
#ifndef RT_OPS_KEYS_H
#define RT_OPS_KEYS_H

#include "block.h"

/* t's elements in C order, as int64 keys: a < b as elements exactly when key(a) < key(b); not a number is greatest, -0
 * equals 0. Null: an error is raised (complex numbers have no order). */
int64_t *keys_of(RtCx *, const char *name, RtTensor *t);
int64_t  key_of_double(double);

/* order[i]: position of the i-th smallest key; equal keys in order of position.  work: n positions. */
void sort_positions(const int64_t *key, int64_t n, int64_t *order, int64_t *work);

/* select.c.  As sort_positions, but equal keys end as PyTorch's sort leaves them without `stable`. */
void sort_unstably(const int64_t *key, int64_t n, int64_t *at);
/* at: room for n positions; the k smallest keys' come first, ascending when sorted; equal keys as PyTorch's topk has
 * them. */
void select_positions(const int64_t *key, int64_t n, int64_t k, bool sorted, int64_t *at);

#endif
