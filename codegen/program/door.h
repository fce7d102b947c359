/* codegen/program/door.h - description of a library: collected from the plans, printed as tables (door.c) and as NAME.h
 * (header.c) */
#ifndef DOOR_TABLES_H
#define DOOR_TABLES_H

#include "program.h"

/* A tensor or string within the arguments or the result of a method, named by its key. */
typedef struct DoorLeaf {
	const char *key;
	/* LEAF_ANY is a tensor of unknown dtype. LEAF_OPEN is a part of unknown structure, which only the header
	 * mentions. */
	enum { LEAF_TENSOR, LEAF_TEXT, LEAF_ANY, LEAF_OPEN } kind;
	RtDtype dtype;
	int     ndim;                    /* number of dims; -1 if unknown */
	const int64_t *dims;             /* sizes; -1 for any size */
	const RtType *type;              /* declared type */
} DoorLeaf;
typedef Vec(DoorLeaf) DoorLeaves;

typedef struct DoorTensor {              /* A parameter of a typed function. */
	const char *name, *key;          /* name in C; key in an .npz */
	RtDtype dtype;
	bool    written;
	int     ndim;
	const int64_t *dims;
} DoorTensor;

/* An RtTypedNode before it is emitted. */
typedef struct DoorNode { IValue value; int n; const Type *type; } DoorNode;

/* An argument that must have this number, or None, as its value. n is the length of the list of which it is element
 * `at`. n is -1 if it is not in a list. */
typedef struct DoorNumber { const char *key; IValue value; int n, at; bool has_default; } DoorNumber;

typedef struct DoorTyped {
	const char *name;                /* name of the function: forward, forward_1 */
	int   method;
	Vec(DoorTensor) in, out;
	Vec(DoorNumber) number;
	Vec(DoorNode) arg, result;
	const DoorSpec *spec;
	const char *why;    /* part without a C type, which prevents a typed function; null if there is none */
	bool  plain;
	const char *direct;              /* Plan.direct */
} DoorTyped;

typedef struct DoorMethod { const char *name; const Schema *schema; int first; DoorLeaves in, out; } DoorMethod;

typedef struct Door {
	const char *name;                /* name of the library */
	const char *model, *file;        /* names of the model and of the built file, for comments */
	Vec(DoorMethod) method;
	Vec(DoorTyped) typed;
	const char *why;    /* why the last specialization without a typed function has none; null if all have one */
} Door;

Door *door_make(Emit *, const EmitMethod *, int n, const BuildOptions *, const char *model);
/* Writes tables and functions at the end of the program's text. Adds the names of the functions to `exported`. */
void  door_put(Emit *, const Door *, Texts *exported);
char *door_header(Cx *, const Door *);           /* returns the text of NAME.h */
/* Writes the parameters of a typed function: ", const float x[1][4], float out[1][3]" */
void  door_parameters(Cx *, Buf *, const DoorTyped *);
/* Writes the same names as arguments, each followed by a comma: "x, out, " */
void  door_arguments(Buf *, const DoorTyped *);
/* Writes a text in which `name` replaces NAME. */
void  header_put(Buf *, const char *text, const char *name);
/* Returns the sizes in C: [1][3][224][224] */
const char *door_sizes(Arena *, const DoorTensor *);

#endif
