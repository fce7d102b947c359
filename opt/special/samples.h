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
	bool limited[SIZE_ATOMS];        /* whether the model took another path at some larger value of the symbol */
	Shapes *shapes[SIZE_SAMPLES];
	int64_t left;      /* Number of nodes that further trials may make.  The graphs of all trials stay in memory. */
	int begun; /* Number of rolled loops when shapes[0] was made for value[0].  -1 if it has not been made. */
	int n;
	/* more values on which the function takes the same path; the last samples are chosen from them */
	int64_t more[SIZE_POOL][SIZE_ATOMS];
	Shapes *more_shapes[SIZE_POOL];
	int nmore;
	Cause why;                       /* reason why the last values are no sample */
} Samples;

enum { TRIAL_NODES = 300000 };   /* initial value of Samples.left */
bool samples_may_try(Samples *);         /* may another sample be tried within the budget of nodes? */
/* Makes a and b the first two samples if the function takes the same path on both.  Loops whose trip counts differ
 * between them are no longer unrolled. */
bool samples_begin(Samples *, const int64_t *a, const int64_t *b);

#endif
