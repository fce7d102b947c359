/* codegen/cli/levels.c - the operators compiled for the highest level of x86-64 that this processor has
 *
 * build.ninja compiles rt/ops for each level and adds a suffix to the names of the higher ones: rt_add_Tensor,
 * rt_add_Tensor_v3, rt_add_Tensor_v4. A kernel calls other kernels of its own level. On other architectures all three
 * levels are the same code. */
#include "cli.h"

#include <stdlib.h>

#define MAP(id, schema, domain, result, value, gradient) RtKernel rt_##id##_v3, rt_##id##_v4;
#define OP(id, schema, rule, effect, gradient) RtKernel rt_##id##_v3, rt_##id##_v4;
#define ALSO(id, schema, base) RtKernel rt_##id##_v3, rt_##id##_v4;
#include "../../rt/ops/ops.h"

static RtKernel *const kernels_v3[] = {
#define MAP(id, schema, domain, result, value, gradient) rt_##id##_v3,
#define OP(id, schema, rule, effect, gradient) rt_##id##_v3,
#define BODY(id, schema, gradient, body) NULL,
#define ALSO(id, schema, base) rt_##id##_v3,
#include "../../rt/ops/ops.h"
};

static RtKernel *const kernels_v4[] = {
#define MAP(id, schema, domain, result, value, gradient) rt_##id##_v4,
#define OP(id, schema, rule, effect, gradient) rt_##id##_v4,
#define BODY(id, schema, gradient, body) NULL,
#define ALSO(id, schema, base) rt_##id##_v4,
#include "../../rt/ops/ops.h"
};

extern const char rt_ops_needs_v3[], rt_ops_needs_v4[];

RtKernel *const *
level_kernels(void)
{
	const char *text = getenv("KILN_LEVEL");
	const int most = text ? atoi(text) : 4;

	if (most >= 4 && rt_cpu_runs(rt_ops_needs_v4, NULL, 0))
		return kernels_v4;
	return most >= 3 && rt_cpu_runs(rt_ops_needs_v3, NULL, 0) ? kernels_v3 : NULL;
}
