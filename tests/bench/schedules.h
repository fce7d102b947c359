/* tests/bench/schedules.h - what programs that schedules.c prints include: operands, turns, times */
#include "rt/program.h"
#include "rt/ops/tmath.h"
#include "rt/ops/vmath.h"
#include "rt/ops/vscratch.h"
#include "rt/ops/vconv.h"
#include "rt/ops/vturn.h"
#include "rt/ops/vrow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KILN_INF (1e300 * 1e300)
#define KILN_MINUS_INF (-1e300 * 1e300)
#define KILN_NAN (0.0 / 0.0)
#define LENGTH(a) ((int)(sizeof(a) / sizeof *(a)))

enum { MOST_OPERANDS = 64, ROUNDS = 9 };

typedef struct Operand { int bytes; int64_t before, behind; int real; } Operand;  /* real: bytes of a float, or 0 */
typedef struct Job { const char *name; const Operand *operand; int noperand; } Job;
typedef struct Way { void (*run)(void *, int64_t, int64_t); int job; int64_t units; const char *how; } Way;

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Floats are 0.5, all others 0. */
static void
make_operands(const Job *job, void **p, void **memory)
{
	static int failed[4];

	for (int i = 0; i < job->noperand; i++) {
		const Operand *o = &job->operand[i];
		const size_t n = (size_t)(o->before + o->behind);
		char *at = aligned_alloc(64, (n * (size_t)o->bytes + 127) / 64 * 64);

		if (!at)
			exit(1);
		memset(at, 0, n * (size_t)o->bytes);
		for (size_t k = 0; k < n; k++)
			if (o->real == 4)
				((float *)at)[k] = 0.5f;
			else if (o->real == 8)
				((double *)at)[k] = 0.5;
		memory[i] = at;
		p[i] = at + o->before * o->bytes;
	}
	p[job->noperand] = failed;
}

/* The least time of a call; each turn takes at least a tenth of a millisecond. */
static double
least_time(const Way *way, void **p, int64_t *times, double least)
{
	const double start = seconds();
	double took;

	for (int64_t i = 0; i < *times; i++)
		way->run(p, 0, way->units);
	took = seconds() - start;
	if (took < 1e-4 && *times < 1 << 20) {
		*times *= 2;
		return least_time(way, p, times, least);
	}
	took /= (double)*times;
	return took < least ? took : least;
}

/* A line for each job: its name, and for each way the ns of a call. */
static int
time_ways(const Job *jobs, const Way *ways, int n)
{
	for (int first = 0, end; first < n; first = end) {
		void *p[MOST_OPERANDS + 1], *memory[MOST_OPERANDS];
		double least[64];
		int64_t times[64];

		make_operands(&jobs[ways[first].job], p, memory);
		for (end = first; end < n && ways[end].job == ways[first].job; end++)
			least[end - first] = 1e9, times[end - first] = 1;
		for (int round = 0; round < ROUNDS; round++)
			for (int i = first; i < end; i++)
				least[i - first] = least_time(&ways[i], p, &times[i - first], least[i - first]);
		printf("%s", jobs[ways[first].job].name);
		for (int i = first; i < end; i++)
			printf(" %s=%.0f", ways[i].how, 1e9 * least[i - first]);
		printf("\n");
		fflush(stdout);
		for (int i = 0; i < jobs[ways[first].job].noperand; i++)
			free(memory[i]);
	}
	return 0;
}
