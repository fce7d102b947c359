/* rt/ops/amath.c - functions of amath.h over arrays, for the kernels that share them */
#include "amath.h"
#include "kernel.h"

LOOPS_BEGIN

void
rt_exps(float *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		x[i] = a_expf(x[i]);
}

LOOPS_END

float
rt_ln(float x)
{
	return a_logf(x);
}
