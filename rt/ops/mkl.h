/* rt/ops/mkl.h - what PyTorch's wheels leave to MKL: archives of RT_TORCH_2 have its bits, as far as they are known */
#ifndef RT_OPS_MKL_H
#define RT_OPS_MKL_H

#include "gemm.h"

struct RtMkl {
	int (*product)(RtCx *, Product *, bool *done);   /* of floats, ldc set; not done: runs may be set, and gemm goes on */
	bool (*runs)(RtCx *, Product *);                 /* sets run and halves; false: it has another order */
	RtBlockFn *(*loop)(RtCx *, const char *schema);  /* of a row of map.def, for floats; null: as for RT_TORCH_1 */
};

RtBlockFn *vml_loop(RtCx *, const char *schema);           /* vml.c */

#endif
