/* tests/graphs/graphs.h - random graphs: make.c makes one from a seed, graphs.c runs it in all ways */
#ifndef GRAPHS_H
#define GRAPHS_H

#include "../../opt/opt.h"

enum { NIN = 5 };                        /* x, y, z tensors; n int; b bool */
/* Sets of inputs: the first, other values of the same sizes, other sizes, and other sizes, dtypes and strides. */
enum { NSET = 4 };

typedef struct Made {
	Function *fn;            /* forward of __torch__.M */
	Module    module;
	IValue    in[NSET][NIN]; /* inputs, without self */
} Made;

/* The same seed gives the same graph and inputs, in any context.  tame: what PyTorch itself does wrong is left out
 * (what a loop carries begins as memory of its own: PyTorch forgets that a loop that does not run gives back what it
 * was given, and loses writes to it), and dtypes that its CPU has few kernels for. */
Made *graph_make(Cx *, uint64_t seed, bool tame);
IValue graph_self(Cx *, const Made *);   /* a new instance: attributes are made anew */

#endif
