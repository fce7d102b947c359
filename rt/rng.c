/* rt/rng.c - the CPU random generator of ATen: mt19937 and a cached normal number
 *
 * Matsumoto and Nishimura, "Mersenne Twister", 1998, seeded by the low 32 bits. Operators draw numbers in the order in
 * which PyTorch's CPU kernels do, so that the same seed gives the same results. Forked calls draw from the same
 * generator, as in PyTorch. With threads the order is not defined, but no number is drawn twice. */
#include "rt.h"
#include "base.h"

#include <math.h>
#include <stdlib.h>

enum { N = 624, M = 397 };

void
rt_generator_seed(RtGenerator *g, uint64_t seed)
{
	g->seed = seed;
	g->state[0] = (uint32_t)seed;
	for (uint32_t i = 1; i < N; i++)
		g->state[i] = 1812433253u * (g->state[i - 1] ^ g->state[i - 1] >> 30) + i;
	g->at = N;
	g->has_normal = false;
	g->normal = 0;
}

RtGenerator *
rt_generator_new(RtCx *cx, uint64_t seed)
{
	RtGenerator *g = rt_mem_counted(cx, sizeof *g);

	if (g)
		rt_generator_seed(g, seed);
	return g;
}

RT_FAST

#define TWIST(a, b) ((((a) & 0x80000000u) | ((b) & 0x7fffffffu)) >> 1 ^ (-((b) & 1) & 0x9908b0dfu))

static void
refill(RtGenerator *g)
{
	uint32_t *s = g->state;

	for (int i = 0; i < N - M; i++)
		s[i] = s[i + M] ^ TWIST(s[i], s[i + 1]);
	for (int i = N - M; i < N - 1; i++)
		s[i] = s[i + M - N] ^ TWIST(s[i], s[i + 1]);
	s[N - 1] = s[M - 1] ^ TWIST(s[N - 1], s[0]);
}

RT_SMALL

/* Locks the generator if forked calls may draw from it, too. */
static void
lock(RtGenerator *g)
{
#ifndef __TINYC__
	while (g->shared && __atomic_test_and_set(&g->locked, __ATOMIC_ACQUIRE))
		;
#else
	(void)g;
#endif
}

static void
unlock(RtGenerator *g)
{
#ifndef __TINYC__
	if (g->shared)
		g->locked = false;
#else
	(void)g;
#endif
}

static uint32_t
draw32(RtGenerator *g)
{
	uint32_t y;
	int at = g->at;

	if (at >= N) {
		refill(g);
		at = 0;
	}
	g->at = at + 1;
	y = g->state[at];
	y ^= y >> 11;
	y ^= y << 7 & 0x9d2c5680u;
	y ^= y << 15 & 0xefc60000u;
	return y ^ y >> 18;
}

static uint64_t
draw64(RtGenerator *g)
{
	uint64_t high = draw32(g);

	return high << 32 | draw32(g);
}

static double
draw53(RtGenerator *g)
{
	return (double)(draw64(g) & ((1ull << 53) - 1)) * 0x1p-53;
}

static double
draw_normal(RtGenerator *g)
{
	double u, v, radius, angle;

	if (g->has_normal) {
		g->has_normal = false;
		return g->normal;
	}
	u = draw53(g);
	v = draw53(g);
	radius = sqrt(-2 * log1p(-v));
	angle = 2 * 3.14159265358979323846 * u;
	g->normal = radius * sin(angle);
	g->has_normal = true;
	return radius * cos(angle);
}

#define LOCKED(type, expression) \
	type x; \
	lock(g); \
	x = (expression); \
	unlock(g); \
	return x

uint32_t
rt_random32(RtGenerator *g)
{
	LOCKED(uint32_t, draw32(g));
}

double
rt_uniform53(RtGenerator *g)
{
	LOCKED(double, draw53(g));
}

float
rt_uniform24(RtGenerator *g)
{
	return (float)(rt_random32(g) & ((1u << 24) - 1)) * 0x1p-24f;
}

double
rt_normal(RtGenerator *g)
{
	LOCKED(double, draw_normal(g));
}
