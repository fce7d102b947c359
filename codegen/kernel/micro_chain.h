/* codegen/kernel/micro_chain.h - chains that hand-written loops compute */
#ifndef CODEGEN_KERNEL_MICRO_CHAIN_H
#define CODEGEN_KERNEL_MICRO_CHAIN_H

#include "form.h"

enum { SCORES, WEIGHTS, SUMS };  /* links of attention */

typedef struct AttentionChain {
	const Kernel *link[3];
	bool mask, causal;
	bool zeros;              /* whether a row without keys is 0 instead of NaN */
	const Ref *scale;        /* number or operand of link[WEIGHTS] */
} AttentionChain;

/* Axes of a link: the last shared one, the first of its own, the last reduced one. */
typedef enum LinkAxis { LINK_ROW, LINK_OWN, LINK_REDUCED } LinkAxis;
int link_axis(const Kernel *, LinkAxis);
const Size *link_extent(const Kernel *, LinkAxis);

/* Is the kernel attention, as lower_attention.c makes it? Its operands are y, q, k, v, and perhaps a mask. */
bool attention_find(const Kernel *, AttentionChain *);
const Size *attention_heads(const AttentionChain *);     /* number of matrices of queries in the batch */
const Size *attention_block(const AttentionChain *);     /* most rows of a block */
int64_t attention_grain(const AttentionChain *);
/* Returns the bytes of scratch memory for vattend.h, or 0 if they depend on sizes. vf, nr: as for kernel_micro. */
int64_t attention_scratch(const AttentionChain *, int vf, int nr);

#endif
