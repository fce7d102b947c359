/* rt/ops/vml.c - the loops of vml.h's functions, by the rows whose values they are */
#include "mkl.h"
#include "vml.h"

#include <string.h>

#define LOOP(f) \
	static void \
	loop_##f(void *arg, int64_t n, void *const *x) \
	{ \
		float *y = x[0]; \
		const float *a = x[1]; \
		(void)arg; \
		for (int64_t i = 0; i < n; i++) \
			y[i] = ml_##f(a[i]); \
	}
LOOP(tanh)
LOOP(exp)
LOOP(intel_exp)
LOOP(intel_log)
LOOP(intel_tan)
LOOP(intel_atan)
LOOP(erf)
LOOP(erfc)
LOOP(log2)
LOOP(log10)
#undef LOOP

RtBlockFn *
vml_loop(RtCx *cx, const char *schema)
{
	static const struct { const char *start; RtBlockFn *loop, *intel; } of[] = {
		{ "aten::tanh(", loop_tanh, loop_tanh }, { "aten::exp(", loop_exp, loop_intel_exp },
		{ "aten::log(", 0, loop_intel_log }, { "aten::tan(", 0, loop_intel_tan }, { "aten::atan(", 0, loop_intel_atan },
		{ "aten::erf(", loop_erf, loop_erf }, { "aten::erfc(", loop_erfc, loop_erfc },
		{ "aten::log2(", loop_log2, loop_log2 }, { "aten::log10(", loop_log10, loop_log10 },
	};

	for (size_t i = 0; i < sizeof of / sizeof *of; i++)
		if (!strncmp(schema, of[i].start, strlen(of[i].start)))
			return rt_host(cx).maker == RT_INTEL ? of[i].intel : of[i].loop;
	return 0;
}
