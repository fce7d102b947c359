/* rt/plain.h - tables that a program of plain C functions (--no-generic) has for plain.c
 *
 * It includes nothing of rt.h: bare.h, which the same program includes, defines some of its names differently.
 */
#ifndef RT_PLAIN_H
#define RT_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

/* An argument or a result.  key: its name in an .npz.  dtype: an RtDtype. */
typedef struct PlainTensor { const char *key; int dtype, ndim; const int64_t *dims; } PlainTensor;

/* A number in the arguments that was fixed when the function was built: a 0-d array (n: -1), or element `at` of a list
 * of n.  tag: an RtTag.  RT_NONE: the input may not have the key. */
typedef struct PlainNumber {
	const char *key;
	int     tag, n, at;
	bool    has_default;
	int64_t bits;            /* bit pattern of the int64, the double or the bool */
} PlainNumber;

typedef struct PlainFunction {
	const char *method;
	const PlainTensor *in, *out;
	const PlainNumber *number;
	int nin, nout, nnumber;
	/* structure of the result in prefix order. 0: the next array of out; 1 + n: a tuple of n; -1 - n: a list of
	 * n */
	const int *result;
	int (*call)(const void *const *in, void *const *out);    /* 0, or 1: an index is out of range */
} PlainFunction;

typedef struct PlainProgram {
	const char *level, *needs;       /* as in RtLevel (program.h) */
	const PlainFunction *function;
	int nfunction;
} PlainProgram;

int rt_plain_main(const PlainProgram *, int argc, char **argv);

#endif
