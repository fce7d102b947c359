/* codegen/program/door.h - what a library offers: collected from the plans, printed as tables (door.c) and as NAME.h
 * (header.c)
 */
#ifndef DOOR_TABLES_H
#define DOOR_TABLES_H

#include "program.h"

/* A place for a tensor or a text in the arguments or the result of a method, by its key. */
typedef struct DoorLeaf {
	const char *key;
	/* any: the dtype is not known; open: parts that are not known, a line in the header alone */
	enum { LEAF_TENSOR, LEAF_TEXT, LEAF_ANY, LEAF_OPEN } kind;
	RtDtype dtype;
	int     ndim;                    /* -1: not known */
	const int64_t *dims;             /* -1: any size */
	const RtType *type;              /* as it is declared */
} DoorLeaf;
typedef Vec(DoorLeaf) DoorLeaves;

typedef struct DoorTensor {              /* a parameter of a function of C types */
	const char *name, *key;          /* in C, in an .npz */
	RtDtype dtype;
	bool    written;
	int     ndim;
	const int64_t *dims;
} DoorTensor;

/* As an RtTypedNode. */
typedef struct DoorNode { IValue v; int n; const Type *type; } DoorNode;

/* An argument that must be this number or None; n: the length of the list of which it is element `at`, else -1. */
typedef struct DoorNumber { const char *key; IValue v; int n, at; bool has_default; } DoorNumber;

typedef struct DoorTyped {
	const char *name;                /* forward, forward_1 */
	int   method;
	Vec(DoorTensor) in, out;
	Vec(DoorNumber) number;
	Vec(DoorNode) arg, result;
	const DoorSpec *spec;
	const char *why;                 /* why there is no such function: the part without a C type; or null */
	bool  plain;
	const char *direct;              /* as Plan's */
} DoorTyped;

typedef struct DoorMethod { const char *name; const Schema *schema; int first; DoorLeaves in, out; } DoorMethod;

typedef struct Door {
	const char *name;                /* NAME */
	const char *model, *file;        /* for the reader: what was built, into which file */
	Vec(DoorMethod) method;
	Vec(DoorTyped) typed;
	const char *why;                 /* of the last specialization that has no function of C types; or null */
} Door;

Door *door_make(Emit *, const EmitMethod *, int n, const BuildOptions *, const char *model);
/* Tables and functions, at the end of the program's text; the names of these. */
void  door_put(Emit *, const Door *, Texts *exported);
char *door_header(Cx *, const Door *);           /* NAME.h */
/* The parameters of a function of C types: ", const float x[1][4], float out[1][3]" */
void  door_parameters(Cx *, Buf *, const DoorTyped *);
/* The same as arguments, with commas behind them: "x, out, " */
void  door_arguments(Buf *, const DoorTyped *);
/* A text in which NAME becomes the name. */
void  header_put(Buf *, const char *text, const char *name);
/* Sizes in C: [1][3][224][224] */
const char *door_sizes(Arena *, const DoorTensor *);

#endif
