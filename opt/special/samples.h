/* opt/special/samples.h - a function specialized for chosen values of the symbols; private to samples.c and
 * symbols.c */
#ifndef OPT_SAMPLES_H
#define OPT_SAMPLES_H

#include "../opt.h"

enum { SIZE_POOL = 16 };

typedef struct Samples {
	Cx *cx;
	Specialization *d;               /* its pattern has the symbols */
	const Profile *profile;
	int narg, nsymbol;
	RolledLoops rolled;
	int64_t value[SIZE_SAMPLES][SIZE_ATOMS];
	int64_t least[SIZE_ATOMS], most[SIZE_ATOMS];     /* least and largest profiled value of each symbol */
	Shapes *shapes[SIZE_SAMPLES];
	int64_t left;      /* number of nodes that trials may still make: the graph of each stays in memory */
	int begun;                       /* number of rolled loops when shapes[0] was made for value[0]; -1: not yet */
	int n;
	int64_t more[SIZE_POOL][SIZE_ATOMS];     /* other values that work, from which the last samples are taken */
	Shapes *more_shapes[SIZE_POOL];
	int nmore;
	Cause why;                       /* why the last values did not work */
} Samples;

enum { TRIAL_NODES = 300000 };   /* the initial budget */
bool samples_may_try(Samples *);         /* is there room for one more? */
/* Makes a and b the first two samples if the function takes the same path on both.  Loops with different trip counts on
 * them are no longer unrolled. */
bool samples_begin(Samples *, const int64_t *a, const int64_t *b);

#endif
