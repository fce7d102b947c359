/* codegen/kernel/form.h - a kernel as data: what it touches, over what it runs, what it computes for each point
 *
 *   lower_*.c     nodes to kernels, a file a family
 *   unify.c       the kernels of several samples as one, of symbols
 *   form.c        simplification: axes by the result's strides, merged where all operands allow it
 *   schedule.c    how it runs: what one unit of work is, what goes in tiles
 *   element.c     what is computed for one point, as C and CUDA both have it
 *   print_c.c, print_cuda.c     loops and threads round it; they decide nothing
 *   text.c                      the text form
 *
 * A kernel runs over the product of its axes.  For each point it computes its lets in order, then its stores.  Points
 * are independent of each other, except along the serial axis: a store is read only by the point that makes it.
 *
 * The last axes may be reduced.  Then a point of the others is a row, and what is done for a row is divided in stages,
 * one after the other.  A stage runs for each of the row's points or once for the row.  Where it runs for each, it may
 * join their values in states; what states hold, and what is computed once for a row, later stages take as values, and
 * they may read what an earlier stage has stored at the same point.  Softmax over i1:
 *
 *    each   r0 = max(x1)
 *    each   t0 = exp(x1 - r0), r1 = sum(t0), y0 = t0
 *    once   t1 = 1 / r1
 *    each   y0 = y0 * t1
 */
#ifndef CODEGEN_FORM_H
#define CODEGEN_FORM_H

#include "../../rt/ops/kernel.h"
#include "size.h"

enum { KERNEL_AXES = 2 * RT_MAX_RANK, KERNEL_GATHERS = 4 };

typedef enum Access {
	ACCESS_READ, ACCESS_WRITE,
	ACCESS_UPDATE,           /* read, then stored to at the same place */
	ACCESS_NUMBER,           /* a number that a call brings, a double: no axes */
	ACCESS_BITS,             /* no memory: a double; its bits are the offset, a symbol */
	ACCESS_INDEX,            /* no memory: its value is its place, an int64 */
	ACCESS_MADE              /* an epilogue's input: what the kernel has just stored at this place */
} Access;

/* An element exists where 0 <= offset + sum of stride[axis] * axis < limit; elsewhere, in padding, it is zero, and
 * nothing is read. */
typedef struct Bound { const Size *offset, *stride[KERNEL_AXES], *limit; } Bound;

/* An operand of ints: its element times the stride is added to the place. */
typedef struct Gather {
	int         by;          /* the operand */
	const Size *stride;
	const Size *limit;       /* that element is in [0, limit), else the kernel fails and stores nothing here */
	bool        wraps;       /* or at least -limit: it counts from the end */
} Gather;

/* Where its element lies for a point: at offset + sum of stride[axis] * axis elements from its address. */
typedef struct Operand {
	const char *name;        /* unique in the kernel: y0, x1, s2 */
	RtDtype     dtype;       /* of elements in memory */
	Access      access;
	const Size *offset, *stride[KERNEL_AXES];
	int         along;       /* 0: along the outermost axis each place is a tensor with an address of its own; -1 */
	int         ngather;
	Gather      gather[KERNEL_GATHERS];
	Vec(Bound)  bound;       /* all of them hold where it is read */
} Operand;

typedef enum RefKind { REF_NONE, REF_OPERAND, REF_LET, REF_NUMBER, REF_STATE } RefKind;
typedef struct Ref {             /* a value at a point */
	RefKind kind;            /* none: an argument that is None */
	int     at;              /* of operands, lets or states */
	int     part;            /* of a state: 0, or 1 for the place */
	IValue  number;          /* int, float or bool */
} Ref;

typedef struct Let {             /* the value of a pointwise row */
	const Op  *op;
	RtMapTypes types;        /* of its operands together, its arithmetic, its result */
	Ref        arg[RT_MAP_MAX];
	int        narg;
} Let;

typedef struct Store { int operand; Ref value; } Store;

/* How values are joined: associative and commutative but for rounding, so that parts may be joined in any order.  An
 * element is a state of its own, of value x at place y. */
typedef enum FoldStart { FOLD_ZERO, FOLD_ONE, FOLD_LEAST, FOLD_MOST } FoldStart;
typedef struct Fold {
	const char *name;
	FoldStart   start;       /* no elements */
	bool        logic;       /* of bools, and of nothing else */
	bool        places;      /* it has a second value, a place; for no elements that is the largest */
	const char *join;        /* C: state a (and b) joined with x (and y) */
	const char *takes;       /* of states with places instead: whether x and y replace a and b */
} Fold;

typedef struct Folded {          /* a state: elements of a row, joined */
	const Fold *fold;
	RtDtype     part, total; /* types that parts of a row, and whole rows, are joined in */
	RtDtype     place;       /* i32 or i64 */
	Ref         x, y;        /* of a point */
} Folded;

typedef struct Phase {           /* a stage */
	bool each;               /* it runs for each point of the row, or once; with no reduced axis for each */
	int  let, state, store;  /* the first ones that are its own; those of the next one follow */
} Phase;

typedef struct Kernel {
	SizeTable      *sizes;
	Arena      *arena;
	const char *name;        /* a prefix: map, copy */
	const char *comment;     /* for the reader: "add, relu" */
	int         naxis;
	const Size *extent[KERNEL_AXES];         /* outermost first */
	/* the axis whose points store to the same places, in order: the innermost once simplified; -1: none */
	int         serial;
	int         nreduce;     /* so many of the last axes are reduced; with a serial one none */
	const int64_t *typical;  /* with symbols: values of theirs, for choices by speed; or null */
	struct Naming *naming;   /* while it is printed as C: names of its sizes; or null, they are written out */
	Vec(Operand) operand;    /* those that are stored to come first */
	Vec(Let)     let;
	Vec(Folded)  state;
	Vec(Store)   store;
	Vec(Phase)   stage;      /* one at least */
} Kernel;

/* How a kernel is run.  Units of work are shared by threads; within a unit the inner axis is a loop that vectorises,
 * in which the axes behind it, of a few points, are unrolled; a serial axis is a loop around it.  Where axes are
 * reduced, it is one of two: the innermost of them, along which `lanes` sums are kept side by side; or the innermost
 * of the others, and a unit is KERNEL_COLUMNS rows side by side. */
typedef struct Schedule {
	bool    rows;          /* a unit: a point of the axes before the inner one; else of axis 0, the inner one */
	int     inner;         /* the vectorised axis; -1: there is none */
	int     lanes;         /* sums along a row: 1, KERNEL_LANES, or these times 2 or 4; 0: rows side by side */
	bool    whole;         /* rows side by side: each unit has exactly KERNEL_COLUMNS */
	bool    table;         /* of bytes: by a table of what each of 256 gives */
	int     tile;          /* an axis in tiles with the innermost, consecutive on different sides; -1: none */
	const Size *units;
	int64_t grain;         /* the fewest units that are worth a thread */
	const char *micro;     /* what computes a unit: a function of rt/ops; null: loops that are printed */
} Schedule;

enum {
	KERNEL_TILE = 16,
	KERNEL_UNROLLED = 4,     /* an axis of no more points is unrolled: compilers interleave 2, 3 and 4 vectors */
	KERNEL_LANES = 16,       /* a sum's vector */
	LEAST_VECTOR = 4,        /* the shortest that is used for what is left of a row */
	KERNEL_COLUMNS = 64,     /* rows side by side */
	KERNEL_PART = 2048,      /* elements that are joined in the type of parts, of all rows side by side together */
};

/* ---- form.c ---------------------------------------------------------------------------------------------------- */

Kernel *kernel_new(SizeTable *, Arena *, const char *name, const char *comment);
Kernel *kernel_copy(const Kernel *);
int     kernel_operand(Kernel *, Operand);               /* its index; a name of its own when it has none */
int     kernel_strided(Kernel *, Access, RtDtype, const int64_t *stride);   /* one with these strides; null: it stays */
Ref     kernel_let(Kernel *, Let);
void    kernel_store(Kernel *, int operand, Ref);
void    kernel_bound(Kernel *, int operand, Bound);      /* strides that are null are 0 */
Ref     kernel_state(Kernel *, Folded);                  /* its value; with .part = 1 its place */
void    kernel_stage(Kernel *, bool each);               /* what is added later belongs to a new stage */
Phase   kernel_stage_end(const Kernel *, int stage);     /* behind its last let, state and store */
/* By name: sum, prod, max, min, argmax, argmin, any, all; null: none. */
const Fold *fold_find(const char *name);
Ref     ref_operand(int);
Ref     ref_number(IValue);
/* Orders axes by the first operand's strides, largest outermost, except that an axis along which more than twice as
 * many operands are consecutive becomes innermost; drops axes of 1; merges neighbours where each operand's strides
 * allow it, except the innermost `keep` axes.  Reduced axes are separate, in the order of the first input's. */
void    kernel_simplify(Kernel *, int keep);
void    kernel_drop_ones(Kernel *);                      /* only drops axes of 1 */
void    kernel_move_axis(Kernel *, int from, int to);    /* outwards, or to the same place */
/* Are the operand's elements one after the other along this axis? */
bool    kernel_consecutive(const Kernel *, int operand, int axis);
bool    kernel_has_rows(const Kernel *);                 /* does it reduce, or go through stages? */
/* The size, or what it typically is; false: it is not known. */
bool    kernel_typical(const Kernel *, const Size *, int64_t *out);
bool    kernel_is_long(const Kernel *, const Size *, int64_t least);     /* Is it typically, else always, so large? */
bool    kernel_has_gathers(const Kernel *);              /* Are places of an operand named by another one? */
/* Does the stage call functions that are fast for near arguments (rt/ops/vmath.h), in a loop that may be tried? */
bool    kernel_has_near(const Kernel *, int stage);
const Size *kernel_points(const Kernel *);               /* the product of all extents */
/* Bytes of all operands that the axes reach, each element once, and how many lets are computed. */
const Size *kernel_bytes(const Kernel *);
const Size *kernel_lets(const Kernel *);
const char *kernel_comment(const Kernel *);              /* "add, relu: 3136 x 64" */
bool    kernel_has_address(const Kernel *, int operand); /* does a call pass it? */
int     kernel_addresses(const Kernel *);                /* of how many operands it does */
int     kernel_stage_of(const Kernel *, RefKind, int at);        /* the stage of a let or state */
bool    kernel_moves_in_row(const Kernel *, int operand);        /* does its place depend on reduced axes? */
/* Is the value available to the stage? Of lets: those below nlet. */
bool    kernel_may_read(const Kernel *, int stage, const Ref *, int nlet);
/* Invariants of any kernel: operands, axes and refs in range, stores to written operands, gathers by ints. */
void    kernel_check(const Kernel *);

/* ---- schedule.c ------------------------------------------------------------------------------------------------ */

/* Tiles are correct for all sizes, and pay where both axes are long. */
typedef enum Tiling { TILE_IF_LONG, TILE_NEVER, TILE_ALWAYS } Tiling;
Schedule kernel_schedule(const Kernel *, Tiling, int inner);
/* With this axis in tiles, does it compute whole ones from and into copies of operands, and is this one of them: its
 * elements lie along that axis, or it has one for each point of the innermost, far apart? */
typedef enum Copied { COPIED_NOT, COPIED_SQUARE, COPIED_COLUMN } Copied;
bool     kernel_copies_tiles(const Kernel *, int axis);
bool     kernel_has_table(const Kernel *);               /* Does it go from bytes to small elements, in a row? */
Copied   kernel_copied(const Kernel *, int operand, int axis);
int      kernel_inner(const Kernel *);                   /* the best inner axis of a kernel without rows */
/* Of these: rows side by side, or along each.  Both are valid for all sizes; the choice is by speed. */
Schedule kernel_schedule_rows(const Kernel *, bool beside, int lanes);
bool     kernel_rows_beside(const Kernel *);
int      kernel_row_lanes(const Kernel *);               /* the best number of sums along a row */

/* ---- schedules.c: all legal schedules ---------------------------------------------------------------------------- */

typedef struct Scheduled {
	const char *name;
	Kernel  *kernel;         /* with axes in another order, or as it was */
	Schedule schedule;
} Scheduled;
int      kernel_schedules(Kernel *, const Scheduled **);      /* that of kernel_schedule first; their C differs */

/* ---- element.c: what a point computes -------------------------------------------------------------------------- */

/* Lines of C: loads, lets, stores; indices are i0, i1, ..., an operand's address is its name.  columns: an extent
 * that a variable n holds, or null.  trial: only lets. */
char *kernel_element(const Kernel *, const Size *columns, bool trial);
/* A size as C: a number, an expression of symbols, or the name that this has in Kernel.naming, size0, size1 ... */
typedef struct Naming { Vec(const Size *) at; } Naming;
void  kernel_put_size(const Kernel *, const Size *, bool factor, Buf *);
/* The same of a stage.  Its states are in variables r0, r1 ... and of places q0 ..., with parts in a0 and b0 ..., each
 * with the suffix `at`: "[j]" or "".  lane: the suffix of a row's values; only_if: a condition of stores, or null;
 * trial: only lets. */
typedef struct Into { bool parts, trial; const char *at, *lane, *only_if; } Into;
char *kernel_stage_element(const Kernel *, int stage, const Into *);
const char *kernel_index_name(Arena *, const Operand *, int gather);      /* of the variable: "x1_at" */
const char *kernel_place(const Kernel *, int operand);   /* "x1[i0 * 64 + i1]", in its bounds */
/* "a0[j] = a0[j] + x;": lines that join the state's a and b with x and y, all of them texts. */
char *kernel_join(const Kernel *, int state, const char *a, const char *b, const char *x, const char *y);
const char *kernel_start(const Kernel *, int state, bool place);       /* the value, or place, of no elements */
bool  kernel_let_is_kept(const Kernel *, int let);       /* is it computed once for a row, and read by a later stage? */
const char *element_type(RtDtype);                       /* C type of an element in memory; null: it has none here */
const char *compute_type(RtDtype);                       /* of a number that is computed with */
/* An element in memory as a number of its compute type, and such a number as it is stored. */
const char *element_loaded(Arena *, RtDtype, const char *element);
const char *element_stored(Arena *, RtDtype, const char *number);

/* ---- print_c.c, print_cuda.c ------------------------------------------------------------------------------------- */

/* The body of static void NAME(void *arg, int64_t begin, int64_t end), with braces: units begin to end.  symbols: which
 * argument holds their values; < 0: sizes are written out, as expressions of s[0], s[1] ... */
char *kernel_print_c(const Kernel *, const Schedule *, int symbols);
/* The body of static void NAME(void *const *p, ptrdiff_t row, ptrdiff_t end, ptrdiff_t c0, ptrdiff_t c1, ptrdiff_t n),
 * with braces: rows and columns of a block that has just been made.  The kernel has two axes at most; place:
 * p[place[k]] is operand k's address. */
char *kernel_print_block(const Kernel *, const int *place, int symbols);
/* Parameters of a CUDA kernel, behind those that are there: "float *y0, const float *x1, double s2"; of one with
 * gathers "int *wrong", too, which it sets. */
void  kernel_cuda_params(const Kernel *, Buf *);
/* Has it a form in CUDA?  Addresses along an axis, and rows that are reduced over gathers, have none. */
bool  kernel_has_cuda(const Kernel *);
/* Parameters and body of a CUDA kernel, "(float *y0, ...)\n{\n...}\n", for blocks of CUDA_BLOCK threads: each a point;
 * of rows that are reduced each a row where these are side by side, else a block for each row. */
enum { CUDA_BLOCK = 256 };
char *kernel_print_cuda(const Kernel *, const Schedule *);
const Size *kernel_cuda_blocks(const Kernel *, const Schedule *);
/* The same of a sum of products as tiles in shared memory: its axes are rows, of which the second input does not
 * depend, groups, and columns, of which the first does not.  False: it is no such kernel. */
bool  kernel_cuda_tiles(const Kernel *, const Size *grid[3]);
char *kernel_print_cuda_tiles(const Kernel *);

/* ---- text.c ------------------------------------------------------------------------------------------------------ */

void    kernel_print(const Kernel *, const Schedule *, Buf *);

#endif
