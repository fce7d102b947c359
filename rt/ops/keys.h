/* rt/ops/keys.h - maps elements to 64-bit integers of the same order, and sorts these integers: sort.c, order.c */
#ifndef RT_OPS_KEYS_H
#define RT_OPS_KEYS_H

#include "block.h"

/* Returns the keys of t's elements in C order: a < b if and only if key(a) < key(b). NaN is the greatest, and -0 equals
 * 0. Null if an error was raised, as for complex numbers, which have no order. */
int64_t *keys_of(RtCx *, const char *name, RtTensor *t);
int64_t  key_of_double(double);

/* select.c: sorts stably. order[i] becomes the position of the i-th smallest key. work has room for n positions. */
void rt_sort_positions(const int64_t *key, int64_t n, int64_t *order, int64_t *work);

/* Sorts as PyTorch does without `stable`. Equal keys get the same order as there. work has room for n positions. */
void rt_sort_unstably(const int64_t *key, int64_t n, int64_t *at, int64_t *work);
/* Sets at[0 .. k) to the positions of the k smallest keys, ascending if `sorted`. Equal keys are in the order of
 * PyTorch's topk. `at` has room for n. */
void rt_select_positions(const int64_t *key, int64_t n, int64_t k, bool sorted, int64_t *at);

#endif
