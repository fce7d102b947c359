/* rt/name_bare.h - the NAME.h of every library of plain C functions; FUNCTIONS and INSTANCES mark their places */
#ifndef NAME_H
#define NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* SIZES */

enum {                               /* status, returned by every function of type int */
	NAME_OK = 0,
	NAME_RAISED = 1,             /* an index in an argument is out of range */
	NAME_ARGUMENT = 2,           /* an argument or a result is null */
	NAME_BUSY = 6                /* the instance is in another call */
};

/*
 * Arrays are contiguous and row-major. float16 and bfloat16 are stored as their bits. A result, or an argument that is
 * written to, must not overlap another array. The functions use no heap and no system calls, and run in the caller's
 * thread.
 *
 * All of these functions share NAME_RAM_BYTES of static memory, so make one call at a time.
 */
/* FUNCTIONS */

/*
 * The same functions for instances in your memory. Each instance has its own state and serves one call at a time, from
 * any thread. Constants are shared. An instance needs NAME_RAM_BYTES at an address that is a multiple of 64; the next
 * one may follow directly. With your own thread pool it needs NAME_bytes, because each part of a loop has its own
 * scratch memory. Instances need not be closed.
 */
typedef struct NAME NAME;

typedef struct NAME_options {        /* If all members are zero, or the pointer is null, the defaults apply. */
	int threads;                 /* with a pool: number of parts of a loop; otherwise 0 or 1 */
	/* Your thread pool. It must call part(arg, i) for each i below parts, on any threads, and return when all have
	 * returned. */
	void (*parallel)(void *pool, int parts, void (*part)(void *arg, int i), void *arg);
	void *pool;
} NAME_options;

/* returns the number of bytes of an instance; 0 if the options are invalid */
size_t NAME_bytes(const NAME_options *options);
/* Opens an instance in this memory, which need not be cleared and belongs to the instance from now on. Returns null on
 * failure, and writes the reason to why[n], which may be null. */
NAME *NAME_open_in(void *memory, size_t bytes, const NAME_options *options, char *why, size_t n);
/* returns the error of m's last call that was not refused as busy; "" if there was none */
const char *NAME_error(const NAME *m);
/* INSTANCES */

#ifdef __cplusplus
}
#endif

#endif
