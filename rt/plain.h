/* rt/plain.h - a program of plain C functions (--no-generic): the tables that its text has for plain.c
 *
 * Nothing of rt.h is named here, whose words bare.h has for itself.
 */
#ifndef RT_PLAIN_H
#define RT_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

/* An argument or a result, by its key in an .npz; dtype: an RtDtype. */
typedef struct PlainTensor { const char *key; int dtype, ndim; const int64_t *dims; } PlainTensor;

/* An argument that a function was built for one value of: a number of no dimensions (n: -1), or the one at an index of
 * a list of n.  tag: an RtTag; None: there is to be no such key. */
typedef struct PlainNumber {
	const char *key;
	int     tag, n, at;
	bool    has_default;
	int64_t bits;            /* of the int64, the double or the bool */
} PlainNumber;

typedef struct PlainFunction {
	const char *method;
	const PlainTensor *in, *out;
	const PlainNumber *number;
	int nin, nout, nnumber;
	const int *result;       /* 0: the next of out; 1 + n: a tuple of n that follow, -1 - n: a list */
	int (*call)(const void *const *in, void *const *out);    /* 0, or 1: an index is out of range */
} PlainFunction;

typedef struct PlainProgram {
	const char *level, *needs;       /* of processors, as an RtLevel has them */
	const PlainFunction *function;
	int nfunction;
} PlainProgram;

int rt_plain_main(const PlainProgram *, int argc, char **argv);

#endif
