/* rt/bare.h - support for generated code without the runtime; needs only C11's types, and libm for some kernels
 *
 * The generated text defines these macros before it includes this header:
 *
 *     KILN_STATE    number of bytes of an instance's own tensors
 *     KILN_ARENA    number of bytes of planned memory
 *     KILN_SCRATCH  largest number of bytes of scratch memory of a kernel
 *     KILN_ARGS     largest number of addresses that a kernel takes
 *     KILN_POOL     whether kernels may run in several threads */
#ifndef RT_BARE_H
#define RT_BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "half.h"
#include "order.h"

#define RT_BARE

#ifdef __GNUC__                          /* avoids warnings: a program need not use all functions of this header */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

/* ---- instances --------------------------------------------------------------------------------------------------- */

enum { BARE_OK, BARE_RAISED, BARE_ARGUMENT, BARE_BUSY = 6 };     /* values of NAME.h */

#define BARE_LINES(bytes) (((size_t)(bytes) + 63) & ~(size_t)63)
#define BARE_HEAD BARE_LINES(sizeof(Bare))
#define BARE_BEHIND (BARE_LINES(KILN_STATE) + BARE_LINES(KILN_ARENA))    /* offset of the scratch memory from `state` */

/* An instance, at the start of its memory.  Its state, its arena and the kernels' scratch memory follow it. */
typedef struct Bare {
	int   busy, began;
	int   status;            /* status of the last call */
	int   parts;             /* largest number of parts of a parallel loop */
	void (*parallel)(void *pool, int parts, void (*part)(void *arg, int i), void *arg);
	void *pool;
	char *state, *arena, *scratch;
} Bare;

typedef struct BareOptions {             /* NAME_options, with the same members */
	int   threads;
	void (*parallel)(void *pool, int parts, void (*part)(void *arg, int i), void *arg);
	void *pool;
} BareOptions;

#if defined __GNUC__ && !defined __TINYC__ && __GCC_ATOMIC_INT_LOCK_FREE == 2
static int  bare_exchange(int *at, int v) { return __atomic_exchange_n(at, v, __ATOMIC_ACQUIRE); }
static void bare_store(int *at, int v) { __atomic_store_n(at, v, __ATOMIC_RELEASE); }
#else
static int  bare_exchange(int *at, int v) { const int was = *at; *at = v; return was; }
static void bare_store(int *at, int v) { *at = v; }
#endif

/* Returns a message about wrong options. Null if they are valid. */
static const char *
bare_refusal(const BareOptions *o)
{
	if (o && !KILN_POOL && (o->parallel || (o->threads && o->threads != 1)))
		return "this library runs in one thread";
	if (o && !o->parallel && o->threads && o->threads != 1)
		return "without a pool of yours (parallel) there is one thread";
	if (o && o->parallel && (o->threads < 1 || o->threads > 4096))
		return "with a pool of yours, threads says how many parts a loop has: 1 to 4096";
	return NULL;
}

static size_t
bare_bytes(const BareOptions *o)
{
	const int parts = o && o->parallel ? o->threads : 1;

	return bare_refusal(o) ? 0 : BARE_HEAD + BARE_BEHIND + BARE_LINES(KILN_SCRATCH) * (size_t)parts;
}

static void *
bare_open(void *memory, size_t bytes, const BareOptions *o, char *why, size_t n)
{
	const char *wrong = bare_refusal(o);
	const size_t least = bare_bytes(o);
	char *const at = memory;
	Bare *m = memory;
	size_t i = 0;

	if (!wrong && (!at || (uintptr_t)at % 64))
		wrong = at ? "the memory's address is none that 64 divides" : "the memory is null";
	if (!wrong && bytes < least)
		wrong = "the memory is too small: see the function that says how many bytes are needed";
	for (; why && i + 1 < n && wrong && wrong[i]; i++)
		why[i] = wrong[i];
	if (why && n)
		why[i] = 0;
	if (wrong)
		return NULL;
	memset(m, 0, sizeof *m);
	m->parts = o && o->parallel ? o->threads : 1;
	m->parallel = m->parts > 1 ? o->parallel : NULL;
	m->pool = m->parts > 1 ? o->pool : NULL;
	m->state = at + BARE_HEAD;
	m->arena = m->state + BARE_LINES(KILN_STATE);
	m->scratch = m->state + BARE_BEHIND;
	return m;
}

static bool
bare_enter(Bare *m)
{
	return !bare_exchange(&m->busy, 1);
}

static int
bare_leave(Bare *m, int status)
{
	m->status = status;
	bare_store(&m->busy, 0);
	return status;
}

typedef struct BareFunction {
	int  (*run)(Bare *, const void *const *in, void *const *out);
	void (*begin)(Bare *);    /* initializes the instance at its first call; null if nothing is to be initialized */
	int    nin, nout;
} BareFunction;

/* Calls a function of the model. Returns BARE_ARGUMENT if an argument or a result is null. */
static int
bare_call(const BareFunction *f, Bare *m, const void *const *in, void *const *out)
{
	bool good = true;

	for (int i = 0; i < f->nin; i++)
		good &= in[i] != NULL;
	for (int i = 0; i < f->nout; i++)
		good &= out[i] != NULL;
	if (!m)
		return BARE_ARGUMENT;
	if (!bare_enter(m))
		return BARE_BUSY;
	if (!good)
		return bare_leave(m, BARE_ARGUMENT);
	if (f->begin && !m->began)
		f->begin(m);
	return bare_leave(m, f->run(m, in, out));
}

static const char *
bare_error(const Bare *m)
{
	return !m ? "there is no instance" : !m->status ? "" :
	       m->status == BARE_ARGUMENT ? "an argument or a result is null" :
	       "an index in an argument is out of range";
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* Returns the scratch memory of the running kernel. Its address is stored before the kernel's addresses. The loop never
 * runs: it tells the compiler that no kernel asks for more than KILN_SCRATCH bytes. */
#define rt_thread_scratch(bytes) bare_scratch((int64_t)(bytes), arg)

static inline void *
bare_scratch(int64_t bytes, void *p)
{
	while (bytes > KILN_SCRATCH)
		;                                /* a bug of Kiln, which cannot be reported here */
	return bytes > 0 ? ((void **)p)[-1] : p;
}

typedef struct BareLaunch {
	void  (*kernel)(void *arg, int64_t begin, int64_t end);
	void  **p;
	char   *scratch;
	int64_t n;
	int     parts, np;
} BareLaunch;

/* Runs part i of a parallel loop. Each part has its own scratch memory. */
static void
bare_part(void *arg, int i)
{
	const BareLaunch *l = arg;
	const int64_t begin = l->n / l->parts * i + (i < l->n % l->parts ? i : l->n % l->parts),
		      end = begin + l->n / l->parts + (i < l->n % l->parts);
	void *own[KILN_ARGS + 1] = { l->scratch + BARE_LINES(KILN_SCRATCH) * (size_t)i };

	memcpy(own + 1, l->p, sizeof *own * (size_t)l->np);
	l->kernel(l->np ? own + 1 : l->p, begin, end);
}

/* Runs a kernel for all of [0, n). np is the number of addresses at p, and p[-1] is the scratch memory. np is 0 if the
 * kernel takes no addresses. */
static void
bare_launch(Bare *m, void (*kernel)(void *arg, int64_t begin, int64_t end), void **p, int np, int64_t n, int64_t grain)
{
	const int64_t parts = m->parallel ? n / (grain > 0 ? grain : 1) : 1;
	BareLaunch l = { kernel, p, m->scratch, n, parts < m->parts ? (int)parts : m->parts, np };

	if (parts > 1)
		m->parallel(m->pool, l.parts, bare_part, &l);
	else
		kernel(p, 0, n);
}

#endif
