/* rt/ops/mkl.h - what PyTorch's wheels leave to MKL: archives of RT_TORCH_2 have its bits, as far as they are known */
#ifndef RT_OPS_MKL_H
#define RT_OPS_MKL_H

#include "gemm.h"

struct RtMkl {
	bool (*product)(RtCx *, Product *);              /* of floats, ldc set; false: run may be set, and gemm goes on */
	bool (*runs)(Product *);                         /* sets run; false: GEMM_OWN */
	RtBlockFn *(*loop)(const char *schema);          /* of a row of map.def, for floats; null: as for RT_TORCH_1 */
};

RtBlockFn *vml_loop(const char *schema);                 /* vml.c */

#endif
