/* rt/name_bare.h - what is in every NAME.h of plain C functions, which go to FUNCTIONS and INSTANCES */
#ifndef NAME_H
#define NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* SIZES */

enum {                               /* what functions return that return an int */
	NAME_OK = 0,
	NAME_RAISED = 1,             /* an index in an argument is out of range */
	NAME_ARGUMENT = 2,           /* an argument or a result is null */
	NAME_BUSY = 6                /* the instance is in another call */
};

/*
 * Arrays hold one element after the other, float16 and bfloat16 as their bits.  Results, and
 * arguments that are written to, may not overlap others.  Nothing is taken from a heap or from the system, and all
 * run in the thread that calls.
 *
 * These share NAME_RAM_BYTES of static memory: one call at a time.
 */
/* FUNCTIONS */

/*
 * The same with instances in memory of yours: each has its state for itself and serves one call at a time, from any
 * thread; constants are shared.  NAME_RAM_BYTES are enough for one, at an address that 64 divides; the next one may
 * begin there.  With a pool of yours, NAME_bytes says how many: each part of a loop has its own scratch memory.
 * There is nothing to close.
 */
typedef struct NAME NAME;

typedef struct NAME_options {        /* all zero: the defaults, as null */
	int threads;                 /* with a pool: how many parts a loop has; else 0 or 1 */
	/* Your threads: calls part(arg, i) for each i below parts, on any threads, and returns when all are done. */
	void (*parallel)(void *pool, int parts, void (*part)(void *arg, int i), void *arg);
	void *pool;
} NAME_options;

size_t NAME_bytes(const NAME_options *options);    /* 0: options that are wrong */
/* Null: why (n bytes; may be null) says why.  The memory need not be cleared, and is the instance's from now on. */
NAME *NAME_open_in(void *memory, size_t bytes, const NAME_options *options, char *why, size_t n);
const char *NAME_error(const NAME *m);             /* of the last call of m that was not busy; "": there was none */
/* INSTANCES */

#ifdef __cplusplus
}
#endif

#endif
