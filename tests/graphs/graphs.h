/* tests/graphs/graphs.h - random graphs: make.c makes one from a seed, graphs.c runs it in all ways */
#ifndef GRAPHS_H
#define GRAPHS_H

#include "../../opt/opt.h"

enum { NIN = 5 };                        /* tensors x, y, z; int n; bool b */
/* Sets of inputs.  The second has other values of the same sizes as the first, the third other sizes, the fourth other
 * sizes, dtypes and strides. */
enum { NSET = 4 };

typedef struct Made {
	Function *fn;            /* forward of __torch__.M */
	Module    module;
	IValue    in[NSET][NIN]; /* inputs, without self */
} Made;

/* Makes a graph and inputs.  The same seed gives the same ones in any context.  tame: leaves out cases in which PyTorch
 * is wrong, and dtypes for which its CPU has few kernels.  PyTorch forgets that a loop without trips returns its
 * initial values, and loses writes to them.  So in tame graphs values that a loop carries have memory of their own. */
Made *graph_make(Cx *, uint64_t seed, bool tame);
IValue graph_self(Cx *, const Made *);   /* Makes a new instance, with new attributes. */

#endif
