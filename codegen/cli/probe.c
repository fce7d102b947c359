/* codegen/cli/probe.c - measures this machine's peak: multiplications per second, bytes per second, launches
 *
 * The peak of fused multiply-adds is measured with enough independent chains in registers to fill every unit. Read
 * bandwidth is measured by sums over a working set in each cache, and over more memory than the caches hold. Both use
 * as many threads as the measured program. The best of several short runs counts, since interruptions only make runs
 * slower. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined __x86_64__
#include <immintrin.h>
#endif

enum { CHAINS = 12, ROUNDS = 200000, RUNS = 7 };
/* Bytes of the working set in memory. The set has at least probe_bytes and twice the last cache, but at most
 * probe_most. */
static const int64_t probe_bytes = (int64_t)256 << 20, probe_most = (int64_t)1 << 30;

/* ---- floating point ------------------------------------------------------------------------------------------- */

/* Measures chains of fused multiply-adds. The loops over at most CHAINS chains are unrolled so that the sums stay in
 * registers. */
#define PEAK(name, attribute, V, set, fma, store, n)                       \
	attribute static double name(void)                                 \
	{                                                                  \
		V sum[CHAINS], a = set(0.999999f), b = set(1e-9f);         \
		float out[n];                                              \
		_Pragma("GCC unroll 12")                                   \
		for (int i = 0; i < CHAINS; i++)                           \
			sum[i] = set((float)i);                            \
		for (int r = 0; r < ROUNDS; r++)                           \
			_Pragma("GCC unroll 12")                           \
			for (int i = 0; i < CHAINS; i++)                   \
				sum[i] = fma(sum[i], a, b);                \
		_Pragma("GCC unroll 12")                                   \
		for (int i = 1; i < CHAINS; i++)                           \
			sum[0] = fma(sum[0], a, sum[i]);                   \
		store(out, sum[0]);                                        \
		return out[0];                                             \
	}

#if defined __x86_64__
PEAK(peak_512, __attribute__((target("avx512f"))), __m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps, 16)
PEAK(peak_256, __attribute__((target("avx2,fma"))), __m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps, 8)
#endif
typedef float Four __attribute__((vector_size(16)));
#define FOUR(x) ((Four){ (x), (x), (x), (x) })
#define FOUR_FMA(s, a, b) ((s) * (a) + (b))
#define FOUR_STORE(to, s) (*(to) = (s)[0])
PEAK(peak_128, __attribute__((optimize("fp-contract=fast"))), Four, FOUR, FOUR_FMA, FOUR_STORE, 4)

typedef struct Peak { double (*run)(void); int floats; volatile double sum; } Peak;

static Peak
peak_here(void)
{
#if defined __x86_64__
	if (__builtin_cpu_supports("avx512f"))
		return (Peak){ peak_512, 16, 0 };
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return (Peak){ peak_256, 8, 0 };
#endif
	return (Peak){ peak_128, 4, 0 };
}

static void
run_peak(void *arg, int64_t begin, int64_t end)
{
	Peak *p = arg;

	for (int64_t i = begin; i < end; i++)
		p->sum = p->run();
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

typedef uint64_t Wide __attribute__((vector_size(64)));
typedef uint64_t SumOf(const Wide *, int64_t);
typedef struct Stream {          /* A working set for each thread, which is read `turns` times. */
	const Wide *at;
	int64_t n, turns;        /* n: number of elements in a set, a multiple of 4 */
	SumOf *read;
	volatile uint64_t sum;
} Stream;

#define READ(name, attribute)                                              \
	attribute static uint64_t name(const Wide *at, int64_t n)          \
	{                                                                  \
		Wide sum[4] = { { 0 } };                                   \
		for (int64_t i = 0; i < n; i += 4)                         \
			for (int k = 0; k < 4; k++)                        \
				sum[k] += at[i + k];                       \
		sum[0] += sum[1] + sum[2] + sum[3];                        \
		return sum[0][0] + sum[0][1];                              \
	}

#if defined __x86_64__
READ(read_512, __attribute__((target("avx512f"))))
READ(read_256, __attribute__((target("avx2"))))
#endif
READ(read_128, )

static SumOf *
reader_here(void)
{
#if defined __x86_64__
	if (__builtin_cpu_supports("avx512f"))
		return read_512;
	if (__builtin_cpu_supports("avx2"))
		return read_256;
#endif
	return read_128;
}

static void
run_stream(void *arg, int64_t begin, int64_t end)
{
	Stream *s = arg;

	for (int64_t i = begin; i < end; i++)
		for (int64_t t = 0; t < s->turns; t++)
			s->sum += s->read(s->at + i * s->n, s->n);
}

/* ---- both measurements ------------------------------------------------------------------------------------------- */

static int64_t
best_time(RtCx *rt, int64_t n, int64_t grain, void (*body)(void *, int64_t, int64_t), void *arg)
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < RUNS; i++) {
		const int64_t begin = rt_now();

		rt_parallel(rt, n, grain, body, arg);
		best = rt_now() - begin < best ? rt_now() - begin : best;
	}
	return best > 0 ? best : 1;
}

static void
run_nothing(void *arg, int64_t begin, int64_t end)
{
	(void)arg, (void)begin, (void)end;
}

/* Returns the bytes per second that `threads` threads read from working sets of `bytes` bytes in all. */
static double
rate_of(RtCx *rt, const Wide *at, int64_t bytes, int threads)
{
	enum { LEAST = 1 << 24 };    /* smallest number of bytes whose reading takes long enough to measure */
	Stream s = { .at = at, .n = bytes / threads / (int64_t)sizeof(Wide) & ~(int64_t)3, .read = reader_here() };
	const int64_t set = s.n * threads * (int64_t)sizeof(Wide);

	if (!set)
		return 0;
	s.turns = set < LEAST ? LEAST / set + 1 : 1;
	run_stream(&s, 0, threads);
	return (double)set * (double)s.turns / ((double)best_time(rt, threads, 1, run_stream, &s) / 1e9);
}

static void
add_level(Machine *m, const char *name, int64_t size)
{
	if (size > 0)
		m->level[m->nlevel++] = (MachineLevel){ name, size, 0, 100 };
}

/* Measures each cache with a working set of half its size. The working set for memory is larger than all caches. If it
 * cannot be allocated, memory's rate stays unknown. */
static void
measure_levels(RtCx *rt, Machine *m)
{
	int64_t last = 0, all;
	void *at = NULL;

	add_level(m, "L1", m->threads * (int64_t)sysconf(_SC_LEVEL1_DCACHE_SIZE));
	add_level(m, "L2", m->threads * (int64_t)sysconf(_SC_LEVEL2_CACHE_SIZE));
	add_level(m, "L3", (int64_t)sysconf(_SC_LEVEL3_CACHE_SIZE));
	last = m->nlevel ? m->level[m->nlevel - 1].size : 0;
	add_level(m, "memory", INT64_MAX);
	all = 2 * last > probe_bytes ? 2 * last : probe_bytes;
	all = all > probe_most ? probe_most : all;
	if (posix_memalign(&at, 64, (size_t)all))
		return;
	memset(at, 1, (size_t)all);
	for (int i = 0; i < m->nlevel; i++) {
		MachineLevel *l = &m->level[i];
		const bool memory = i == m->nlevel - 1;

		if (memory ? all > last : l->size / 2 <= all)
			l->bytes = rate_of(rt, at, memory ? all : l->size / 2, m->threads);
	}
	free(at);
	m->bytes = m->level[m->nlevel - 1].bytes;
}

Machine
machine_probe(RtCx *rt)
{
	const int threads = rt->nthread > 0 ? rt->nthread : 1;
	Peak peak = peak_here();
	Machine m = { .threads = threads, .flops_steady = 100, .bytes_steady = 100 };

	m.flops = 2.0 * peak.floats * CHAINS * ROUNDS * threads /
		  ((double)best_time(rt, threads, 1, run_peak, &peak) / 1e9);
	measure_levels(rt, &m);
	m.launch_ns = (double)best_time(rt, threads, 1, run_nothing, NULL);
	return m;
}

/* Returns the better of two measurements. Lowers *steady to the worse one's percentage of it. */
static double
best_of(double a, double b, double *steady)
{
	const double best = a > b ? a : b, other = a > b ? b : a, percent = best > 0 ? 100 * other / best : 100;

	if (percent < *steady)
		*steady = percent;
	return best;
}

Machine
machine_again(RtCx *rt, Machine m)
{
	const Machine now = machine_probe(rt);

	m.flops = best_of(m.flops, now.flops, &m.flops_steady);
	m.bytes = best_of(m.bytes, now.bytes, &m.bytes_steady);
	for (int i = 0; i < m.nlevel; i++)
		m.level[i].bytes = best_of(m.level[i].bytes, now.level[i].bytes, &m.level[i].steady);
	m.launch_ns = now.launch_ns < m.launch_ns ? now.launch_ns : m.launch_ns;
	return m;
}

bool
machine_is_steady(const Machine *m)
{
	return m->flops_steady >= 90 && m->bytes_steady >= 90;
}
