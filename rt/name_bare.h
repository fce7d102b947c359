/* rt/name_bare.h - the NAME.h of every library of plain C functions; FUNCTIONS and INSTANCES mark where they go */
#ifndef NAME_H
#define NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* SIZES */

enum {                               /* returned by every function of type int */
	NAME_OK = 0,
	NAME_RAISED = 1,             /* an index in an argument is out of range */
	NAME_ARGUMENT = 2,           /* an argument or a result is null */
	NAME_BUSY = 6                /* the instance is in another call */
};

/*
 * Arrays are contiguous and row-major; float16 and bfloat16 are stored as their bits.  A result, or an argument
 * that is written to, may not overlap another array.  The functions use no heap and no system calls, and run in
 * the caller's thread.
 *
 * All of these functions share NAME_RAM_BYTES of static memory: make one call at a time.
 */
/* FUNCTIONS */

/*
 * The same functions on instances in your memory.  Each instance has its own state and serves one call at a time, from
 * any thread; constants are shared.  An instance takes NAME_RAM_BYTES at an address that is a multiple of 64; the
 * next one may follow directly.  With your own thread pool it takes NAME_bytes: each part of a loop has its own scratch
 * memory.  Instances need not be closed.
 */
typedef struct NAME NAME;

typedef struct NAME_options {        /* all zero, or a null pointer: the defaults */
	int threads;                 /* with a pool: number of parts of a loop; otherwise 0 or 1 */
	/* Your thread pool: calls part(arg, i) for each i below parts, on any threads, and returns when all end. */
	void (*parallel)(void *pool, int parts, void (*part)(void *arg, int i), void *arg);
	void *pool;
} NAME_options;

size_t NAME_bytes(const NAME_options *options);    /* 0: the options are invalid */
/* The memory need not be cleared; the instance owns it from now on.  Null: failed, and why (n bytes; may be null) has
 * the reason. */
NAME *NAME_open_in(void *memory, size_t bytes, const NAME_options *options, char *why, size_t n);
const char *NAME_error(const NAME *m);             /* error of the last call of m that was not busy; "": none */
/* INSTANCES */

#ifdef __cplusplus
}
#endif

#endif
