/* rt/plain.h - tables in a program of plain C functions (--no-generic), which plain.c reads
 *
 * This header includes nothing of rt.h, because bare.h, which the same program includes, defines some of its names
 * differently. */
#ifndef RT_PLAIN_H
#define RT_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

/* An argument or a result. key is its name in an .npz, dtype an RtDtype. */
typedef struct PlainTensor { const char *key; int dtype, ndim; const int64_t *dims; } PlainTensor;

/* A number in the arguments that was fixed when the function was built. It is a 0-d array if n is -1, or else element
 * `at` of a list of n. tag is an RtTag. With RT_NONE, the input must not have the key. */
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
	/* Structure of the result in prefix order. 0 is the next array of out, 1 + n a tuple of n parts, -1 - n a list
	 * of n parts. */
	const int *result;
	int (*call)(const void *const *in, void *const *out);    /* returns 0, or 1 if an index is out of range */
} PlainFunction;

typedef struct PlainProgram {
	const char *level, *needs;       /* as in RtLevel (program.h) */
	const PlainFunction *function;
	int nfunction;
} PlainProgram;

int rt_plain_main(const PlainProgram *, int argc, char **argv);

#endif
