/* rt/ops/host.c - the processor as which PyTorch's libraries would see this one: Intel's alone have MKL's best kernels, and blocks
 * of convolutions fill a core's second cache */
#include "kernel.h"

#if defined __x86_64__ && defined __GNUC__ && !defined __TINYC__
#include <cpuid.h>

/* KB of the data cache of level 2, by CPUID's leaf of caches; 0: it does not say. */
static int32_t
second_cache(unsigned leaf)
{
	unsigned a, b, c, d;

	for (unsigned i = 0; __get_cpuid_count(leaf, i, &a, &b, &c, &d) && a & 31; i++)
		if ((a >> 5 & 7) == 2)
			return (int32_t)((uint64_t)((b >> 22) + 1) * ((b >> 12 & 1023) + 1) * ((b & 4095) + 1) * ((uint64_t)c + 1) / 1024);
	return 0;
}

static RtHost
host(void)
{
	const unsigned intel = 0x756e6547;                       /* "Genu" */
	unsigned a, b = 0, c, d;
	RtHost h = RT_HOST_AMD;
	int32_t cache;

	__get_cpuid(0, &a, &b, &c, &d);
	if (b == intel)
		h.maker = RT_INTEL;
	cache = second_cache(b == intel ? 4 : 0x8000001d);
	if (cache)
		h.cache = cache;
	return h;
}

#else

static RtHost
host(void)
{
	return RT_HOST_AMD;
}

#endif

RtHost
rt_host(RtCx *cx)
{
	if (cx->host.maker == RT_HERE)
		cx->host = host();
	return cx->host;
}
