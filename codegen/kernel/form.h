/* codegen/kernel/form.h - a kernel as data: its axes, its operands, and the computation of each point
 *
 *   lower_*.c     translate nodes to kernels, a file for each family of operators
 *   unify.c       combines the kernels of several samples into one over symbols
 *   form.c        builds kernels
 *   simplify.c    orders axes by the result's strides and merges them where all operands allow it
 *   schedule.c    chooses the unit of work, the vectorized axis and tiles
 *   element.c     the computation of one point, shared by C and CUDA
 *   print_c.c, print_cuda.c     print loops and threads around it, without decisions of their own
 *   text.c                      the text form
 *
 * A kernel runs over the product of its axes.  For each point it computes its lets in order, then its stores.  Points
 * are independent of each other, except along the serial axis: a store is read only by the point that makes it.
 *
 * The last axes may be reduced.  A point of the other axes is then a row, and the work on a row is divided into stages,
 * which run one after the other.  A stage runs for each of the row's points, or once for the row.  If it runs for each,
 * it may fold their values into states.  Later stages read states, values that were computed once for the row, and
 * values that an earlier stage stored at the same point.  Softmax over i1:
 *
 *    each   r0 = max(x1)
 *    each   t0 = exp(x1 - r0), r1 = sum(t0), y0 = t0
 *    once   t1 = 1 / r1
 *    each   y0 = y0 * t1
 *
 * A carried state passes from each point of the row to the next, in order.  Stores of its own stage read it as folded
 * up to their point.  A running sum over i1:
 *
 *    each   r0 = carried sum(x1), y0 = r0
 *
 * A stage may select points of the row: it orders them by a key, and runs for the first ones.  Its stores read at a
 * point, and write at the point's rank.  The five greatest elements and their indices:
 *
 *    select 5 greatest(x2) sorted   y0 = x2, y1 = n3
 *
 * A chain is several kernels, its links, which share their first axes.  Links run in order for each point of the shared
 * axes.  A local operand is scratch memory: it holds the results of a link for later links.  Attention of a query i0:
 *
 *    axes i0, i1: keys, i2 reduce           each   t0 = x1 * x2, r0 = sum(t0)     once   l5 = r0
 *    then i0, i1: keys reduce               the stages of a softmax of l5, into l6
 *    then i0, i1: columns, i2: keys reduce  each   t0 = l6 * x3, r0 = sum(t0)     once   y0 = r0
 *
 * The last shared axis may be the steps of a recurrence, which run in order.  Local operands keep the state.
 */
#ifndef CODEGEN_FORM_H
#define CODEGEN_FORM_H

#include "../../rt/ops/kernel.h"
#include "size.h"

enum { KERNEL_AXES = 2 * RT_MAX_RANK, KERNEL_GATHERS = 4 };

typedef enum Access {
	ACCESS_READ, ACCESS_WRITE,
	ACCESS_UPDATE,           /* read, then stored to at the same address */
	ACCESS_NUMBER,           /* a double passed by the call; it has no axes */
	ACCESS_BITS,             /* A double whose bits are the offset, a symbol. It has no memory. */
	ACCESS_INDEX,            /* An operand whose value is its own index, an int64. It has no memory. */
	ACCESS_MADE,             /* an epilogue's input: the value that the kernel has just stored at this point */
	ACCESS_LOCAL             /* scratch memory for a point of a chain's shared axes, stored and read by links */
} Access;

/* A position is offset + sum of stride[axis] * axis. An element exists if 0 <= position < limit. Otherwise it is in
 * padding: it has the value Operand.outside, and nothing is read. The element for a point is `unit` * position elements
 * further. In simplified kernels the operand's strides and offset contain that, and unit is null. */
typedef struct Bound { const Size *offset, *stride[KERNEL_AXES], *limit, *unit; } Bound;


typedef enum RefKind { REF_NONE, REF_OPERAND, REF_LET, REF_NUMBER, REF_STATE } RefKind;
typedef struct Ref {             /* A value at a point. */
	RefKind kind;            /* REF_NONE: an argument that is None */
	int     at;              /* index in operand, let or state */
	int     part;            /* for a state: 0 for its value, 1 for its index */
	IValue  number;          /* REF_NUMBER: int, float or bool */
} Ref;

/* An index outside of [0, limit). FAILS: the kernel sets its flag, and the operator then raises. If the index is an
 * operand, the point stores nothing. CLAMPS: the nearest index is read. ZERO: the element is 0. */
typedef enum Outside { OUTSIDE_FAILS, OUTSIDE_CLAMPS, OUTSIDE_ZERO } Outside;
/* An index that is computed or read at each point: the index times the stride is added to the operand's offset. */
typedef struct Gather {
	Ref         by;          /* an operand of ints, or a let of type int64 */
	const Size *stride, *limit;
	Outside     outside;     /* OUTSIDE_FAILS if the index is an operand */
	bool        wraps;       /* whether an index may be negative, down to -limit, and then counts from the end */
} Gather;

/* The element for a point is at offset + sum of stride[axis] * axis elements from the operand's address. */
typedef struct Operand {
	const char *name;        /* unique in the kernel: y0, x1, s2 */
	RtDtype     dtype;       /* dtype of elements in memory */
	Access      access;
	const Size *offset, *stride[KERNEL_AXES];
	int         along;       /* 0 if each point of the outermost axis is a tensor with its own address. Else -1. */
	int         ngather;
	Gather      gather[KERNEL_GATHERS];
	Vec(Bound)  bound;       /* conditions that must all hold for an element to exist */
	IValue      outside;     /* value of an element that does not exist; RT_NONE for 0 */
	const RtTensor *constant;        /* weights that a microkernel reads packed; or null */
} Operand;

typedef struct Let {             /* The result of a pointwise row. */
	const Op  *op;
	RtMapTypes types;        /* types of the promoted operands, the arithmetic and the result */
	Ref        arg[RT_MAP_MAX];
	int        narg;
} Let;

typedef struct Store { int operand; Ref value; } Store;

/* How values are folded. Joining is associative and commutative except for rounding, so parts may be joined in any
 * order. An element is itself a state, with value x at index y. */
typedef enum FoldStart { FOLD_ZERO, FOLD_ONE, FOLD_LEAST, FOLD_MOST } FoldStart;
typedef struct Fold {
	const char *name;
	FoldStart   start;       /* state of an empty row */
	bool        logic;       /* whether it folds bools only */
	bool        calls;       /* whether joining calls functions */
	bool        ordered;     /* whether only points in order may be folded, so that its states are carried */
	/* Whether the state also has an index (argmax). For an empty row, the index is the largest one. */
	bool        places;
	const char *join;        /* C that joins state a (and index b) with x (and y) */
	const char *takes;       /* C condition for x and y to replace a and b, in states with an index; else null */
} Fold;

typedef struct Folded {          /* A state: the folded elements of a row. */
	const Fold *fold;
	RtDtype     part, total; /* dtypes in which a part of a row is folded, and in which parts are joined */
	RtDtype     place;       /* dtype of the index: i32 or i64 */
	/* Whether points are folded in order, and stores of its stage may read it. Then `part` is `total`. */
	bool        carried;
	Ref         x, y;        /* value and index of a point */
} Folded;

/* Ranks of selected points. C orders equal keys as PyTorch's operators do, CUDA by index. */
typedef enum SelectOrder {
	SELECT_ANY,              /* Any of the first `count` points has any rank. */
	SELECT_TOP,              /* Ranks follow the keys. Equal keys are in the order of topk. */
	SELECT_ALL,              /* The same for all points. Equal keys are in the order of sort. */
	SELECT_STABLE            /* The same for all points. Equal keys are in order of index. */
} SelectOrder;
typedef struct Select {          /* A selection of points. */
	const Size *count;       /* number of selected points, at most the row's; null if the stage selects none */
	Ref         key;         /* operand whose element is a point's key. NaN is the greatest. */
	bool        greatest;    /* whether the greatest keys come first */
	SelectOrder order;
} Select;

typedef struct Stage {           /* A stage. */
	bool each;               /* Whether it runs for each point of the row, not once. True if no axis is reduced. */
	int  let, state, store;  /* indices of its first let, state and store; it ends where the next stage begins */
	Select select;           /* A stage that selects has no lets or states. The row is its only reduced axis. */
} Stage;

/* One end of a range: a let of type int64 that is computed once for a row. If `let` is REF_NONE, it is
 * (times * i + plus) / per for the index i of axis `of`, which is not reduced, rounded down, or up. If per is null,
 * too, there is no such edge. */
typedef struct AxisEdge { Ref let; int of; bool up; const Size *times, *plus, *per; } AxisEdge;

/* Range of a reduced axis's index: from `first` (else 0) up to `end` (else the extent), which is not included. The
 * extent is then the greatest number of its points. */
typedef struct AxisRange {
	int axis;
	AxisEdge first, end;
	/* Whether the kernel fails unless 0 <= first <= end <= extent. If an edge is a let that is not checked, the
	 * extent is 1, which only choices by speed read. */
	bool checked;
} AxisRange;

typedef struct Kernel {
	SizeTable      *sizes;
	Arena      *arena;
	const char *name;        /* prefix of its C name: map, copy */
	const char *comment;     /* comment for the emitted C: "add, relu" */
	int         naxis;
	const Size *extent[KERNEL_AXES];         /* outermost first */
	Vec(AxisRange) range;    /* of some reduced axes */
	/* Axis whose points store to the same elements, in order. It is the innermost once simplified. -1 if there is
	 * none. */
	int         serial;
	int         nreduce;     /* number of reduced axes, the last ones; 0 with a serial axis */
	const int64_t *typical;  /* typical values of the symbols, for choices by speed; or null */
	struct Naming *naming;   /* Names of its sizes while it is printed as C. If null, sizes are written out. */
	Vec(Operand) operand;    /* stored operands come first */
	Vec(Let)     let;
	Vec(Folded)  state;
	Vec(Store)   store;
	Vec(Stage)   stage;      /* at least one */
	/* Next link of a chain, or null. All links have the same operands with addresses and local ones, in the same
	 * order; strides of operands that a link does not use are 0. */
	struct Kernel *next;
	/* Number of axes, the first ones, that all links of a chain have; 0 without a chain. The last of them may be
	 * serial: its points are steps, and a step reads what earlier ones have stored to local operands. */
	int         shared;
	bool        first;       /* whether the link only runs at the first step */
} Kernel;

/* How a kernel is run.  Threads share units of work.  Within a unit, the inner axis is a loop that vectorizes.  Short
 * axes inside it are unrolled, and a serial axis is a loop around it.  If axes are reduced, the inner axis is one of
 * two.  It is the innermost reduced axis, along which `lanes` partial sums are kept.  Or it is the innermost other
 * axis, and a unit is `columns` rows side by side. */
typedef struct Schedule {
	/* whether a unit is a point of the axes outside the inner one; else units divide axis 0, the inner one */
	bool    rows;
	int     inner;         /* vectorized axis; -1 if there is none */
	/* number of partial sums along a row: KERNEL_LANES times 1, 2 or 4, or 1; 0 if rows are side by side */
	int     lanes;
	/* Most rows side by side in a unit. It is KERNEL_COLUMNS unless states are carried. */
	int     columns;
	bool    whole;         /* rows side by side: whether each unit has exactly `columns` rows */
	bool    table;         /* whether it reads bytes and looks results up in a table of 256 entries */
	/* Axis that is tiled with the innermost one, because different operands are consecutive along the two. -1 if
	 * none. */
	int     tile;
	const Size *units;
	int64_t grain;         /* least number of units worth a thread */
	const char *micro;     /* microkernel of rt/ops that computes a unit; null if loops are printed */
} Schedule;

enum {
	KERNEL_TILE = 16,
	KERNEL_UNROLLED = 4,     /* longest axis that is unrolled: compilers interleave 2, 3 and 4 vectors */
	KERNEL_LANES = 16,       /* lanes of a partial sum */
	LEAST_VECTOR = 4,        /* shortest vector used for the remainder of a row */
	KERNEL_COLUMNS = 64,     /* number of rows side by side in a unit */
	KERNEL_PART = 2048,      /* number of elements folded in the type of parts, over all rows side by side */
};

/* ---- form.c, simplify.c ------------------------------------------------------------------------------------------ */

Kernel *kernel_new(SizeTable *, Arena *, const char *name, const char *comment);
Kernel *kernel_copy(const Kernel *);
int     kernel_operand(Kernel *, Operand); /* adds an operand and returns its index; names it if it has no name */
/* adds one with these strides; null: strides are 0 */
int     kernel_strided(Kernel *, Access, RtDtype, const int64_t *stride);
Ref     kernel_let(Kernel *, Let);
void    kernel_store(Kernel *, int operand, Ref);
/* Appends a link that has the shared axes and the same operands, with strides of 0. */
Kernel *kernel_then(Kernel *last);
bool    kernel_uses(const Kernel *, int operand);        /* Does this link read or store to the operand? */
bool    kernel_stores(const Kernel *, int operand);      /* Does it store to the operand? */
void    kernel_bound(Kernel *, int operand, Bound);      /* null strides are 0 */
Ref     kernel_state(Kernel *, Folded);                  /* returns its value; set .part = 1 for its index */
void    kernel_stage(Kernel *, bool each);               /* begins a new stage for everything added later */
void    kernel_select(Kernel *, Select);                 /* makes the last stage, which is empty, a selection */
Stage   kernel_stage_end(const Kernel *, int stage);     /* returns the indices after its last let, state and store */
/* Returns the fold with this name: sum, prod, max, min, argmax, argmin, poolmax, any, all, log_add, log_addf, lastmax,
 * lastmin, firstmax. Null if there is none. */
const Fold *fold_find(const char *name);
Ref     ref_operand(int);
Ref     ref_number(IValue);
bool    ref_reads(const Ref *, int operand);
/* Orders axes by the first operand's strides, the largest outermost. If more than twice as many operands are
 * consecutive along another axis, that axis becomes innermost. Drops axes of extent 1. Merges neighbouring axes if each
 * operand's strides allow it, except the innermost `keep` axes. Reduced axes are handled separately, by the first
 * input's strides. */
void    kernel_simplify(Kernel *, int keep);
void    kernel_drop_ones(Kernel *);                      /* only drops axes of extent 1 */
void    kernel_swap_axes(Kernel *, int a, int b);
/* Divides n elements among the points i of axis `of`, as adaptive pooling does: the reduced axis runs from
 * floor(n * i / parts) to ceil(n * (i + 1) / parts), where parts is the extent of axis `of`. */
void    kernel_divide(Kernel *, int axis, int of, const Size *n);
void    kernel_count(Kernel *, int axis, Ref let);       /* makes the let the number of points of a reduced axis */
/* Returns the range of a reduced axis. Null if it has none. */
AxisRange *kernel_range(const Kernel *, int axis);
bool    range_has_sizes(const AxisRange *);              /* Are both edges sizes? */
const Size *range_most_points(const Kernel *, const AxisRange *);        /* most points of a range with both of them */
bool    kernel_has_ranges_of(const Kernel *, int of);    /* Does a range depend on this axis? */
/* Does the value differ along an axis that is not reduced? States do. */
bool    kernel_moves(const Kernel *, const Ref *, int axis);
void    kernel_move_axis(Kernel *, int from, int to);    /* moves an axis outwards; to <= from */
/* Are the operand's elements consecutive along this axis? */
bool    kernel_consecutive(const Kernel *, int operand, int axis);
bool    kernel_has_rows(const Kernel *);                 /* Does it reduce axes or have more than one stage? */
bool    kernel_carries(const Kernel *);                  /* Is a state carried from point to point? */
bool    kernel_selects(const Kernel *);                  /* Does a stage select points? */
/* Returns the bytes of scratch memory that a thread needs. kernel_local: bytes of a local operand of a chain. */
const Size *kernel_scratch(const Kernel *);
const Size *kernel_local(const Kernel *chain, int operand);
/* Sets *out to the size or its typical value. Returns false if that is unknown. */
bool    kernel_typical(const Kernel *, const Size *, int64_t *out);
/* Is the typical value at least this? If unknown: is it always? */
bool    kernel_is_long(const Kernel *, const Size *, int64_t least);
bool    kernel_has_gathers(const Kernel *);              /* Does an operand have indices? */
bool    kernel_has_lets_as_indices(const Kernel *);      /* Are indices computed by lets? */
bool    kernel_may_fail(const Kernel *);                 /* May an index or a range be wrong, so that it fails? */
/* Does the stage call functions with a fast range (rt/ops/vmath.h), in a loop that may be run as a trial first? */
bool    kernel_has_near(const Kernel *, int stage);
const Size *kernel_points(const Kernel *);               /* the product of all extents */
/* Returns the number of bytes of all operand elements that the axes reach, and the number of lets computed. */
const Size *kernel_bytes(const Kernel *);
const Size *kernel_lets(const Kernel *);
const Size *kernel_steps(const Kernel *);        /* number of lets and folds of all points; not those once for a row */
const char *kernel_comment(const Kernel *);              /* "add, relu: 3136 x 64" */
bool    kernel_has_address(const Kernel *, int operand); /* Does a call pass its address? */
int     kernel_addresses(const Kernel *);                /* number of operands whose address a call passes */
int     kernel_stage_of(const Kernel *, RefKind, int at);        /* stage that computes a let or state */
bool    kernel_moves_in_row(const Kernel *, int operand);        /* Does its address depend on reduced axes? */
/* May the stage read the value? Only lets below nlet are available. After its last let, so are its carried states. */
bool    kernel_may_read(const Kernel *, int stage, const Ref *, int nlet);
/* Checks invariants of any kernel: operands, axes and refs in range, stores to written operands, gathers by integer
 * operands. */
void    kernel_check(const Kernel *);

/* ---- schedule.c ------------------------------------------------------------------------------------------------ */

/* Whether to tile. Tiles are correct for all sizes and pay off if both axes are long. */
typedef enum Tiling { TILE_IF_LONG, TILE_NEVER, TILE_ALWAYS } Tiling;
Schedule kernel_schedule(const Kernel *, Tiling, int inner);
Schedule kernel_schedule_link(const Kernel *);           /* schedule of a link at a point of the shared axes */
/* kernel_copies_tiles: if this axis is tiled, does the kernel compute whole tiles from and into copies of operands?
 * kernel_copied: is the operand copied? SQUARE: it is consecutive along that axis. COLUMN: it has one element for each
 * point of the innermost axis, far apart. */
typedef enum Copied { COPIED_NOT, COPIED_SQUARE, COPIED_COLUMN } Copied;
bool     kernel_copies_tiles(const Kernel *, int axis);
bool     kernel_has_table(const Kernel *);               /* Does it map bytes to small consecutive elements? */
Copied   kernel_copied(const Kernel *, int operand, int axis);
int      kernel_inner(const Kernel *);                   /* returns the best inner axis of a kernel without rows */
/* Returns the schedule for rows: side by side, or along each row. Both are correct for all sizes; only their speed
 * differs. */
Schedule kernel_schedule_rows(const Kernel *, bool beside, int lanes);
bool     kernel_rows_beside(const Kernel *);
int      kernel_row_lanes(const Kernel *);               /* returns the best number of partial sums along a row */

/* ---- schedules.c: all legal schedules ---------------------------------------------------------------------------- */

typedef struct Scheduled {
	const char *name;
	Kernel  *kernel;         /* the kernel, possibly with reordered axes */
	Schedule schedule;
} Scheduled;
/* returns the number of schedules, all with different C; kernel_schedule's is the first */
int      kernel_schedules(Kernel *, const Scheduled **);

/* ---- element.c: the computation of a point --------------------------------------------------------------------- */

/* Returns lines of C: loads, lets, stores. Indices are i0, i1, ..., and an operand's name is its address. columns: the
 * extent that a variable n holds, or null. trial: only lets. */
char *kernel_element(const Kernel *, const Size *columns, bool trial);
/* Writes a size as C: a number, an expression over symbols, or its name in Kernel.naming, size0, size1 ... */
typedef struct Naming { Vec(const Size *) at; } Naming;
void  kernel_put_size(const Kernel *, const Size *, bool factor, Buf *);
/* Returns the lines of one stage. States are in variables r0, r1 ... and their indices in q0 ... Their parts are in a0
 * and b0 ..., each with the suffix `at`, "[j]" or "". lane: suffix of a row's values. only_if: condition of stores, or
 * null. trial: only lets. */
typedef struct Into { bool parts, trial; const char *at, *lane, *only_if; } Into;
char *kernel_stage_element(const Kernel *, int stage, const Into *);
const char *kernel_index_name(Arena *, const Operand *, int gather); /* name of the variable for an index: "x1_at" */
/* C of an operand's element: "x1[i0 * 64 + i1]", or its value outside its bounds */
const char *kernel_place(const Kernel *, int operand);
/* Returns lines that join the state's a and b with x and y, all of them C texts: "a0[j] = a0[j] + x;". */
char *kernel_join(const Kernel *, int state, const char *a, const char *b, const char *x, const char *y);
const char *kernel_start(const Kernel *, int state, bool place);       /* value, or index, of an empty row */
bool  kernel_let_is_kept(const Kernel *, int let);       /* Is it computed once for a row and read by a later stage? */
bool  kernel_let_is_shared(const Kernel *, int let);     /* Is it the same for rows side by side? */
const char *element_type(RtDtype); /* C type of an element in memory; null if the dtype has none */
const char *compute_type(RtDtype);                       /* C type of the arithmetic on this dtype */
/* Convert C of an element in memory to its compute type, and a number back to its stored form. */
const char *element_loaded(Arena *, RtDtype, const char *element);
const char *element_stored(Arena *, RtDtype, const char *number);

/* ---- print_c.c, print_cuda.c ------------------------------------------------------------------------------------- */

/* Returns the body of static void NAME(void *arg, int64_t begin, int64_t end), in braces, for units begin to end.
 * symbols: index of the argument that holds the symbols' values. If < 0, sizes are expressions of s[0], s[1] ... */
char *kernel_print_c(const Kernel *, const Schedule *, int symbols);
/* Returns the body of static void NAME(void *const *p, ptrdiff_t row, ptrdiff_t end, ptrdiff_t c0, ptrdiff_t c1,
 * ptrdiff_t n), in braces, for rows and columns of a block that has just been computed. The kernel has at most two
 * axes. p[place[k]] is operand k's address. */
char *kernel_print_block(const Kernel *, const int *place, int symbols);
/* Appends parameters of a CUDA kernel: "float *y0, const float *x1, double s2". A kernel that
 * may fail also has "int *wrong", which it sets. */
void  kernel_cuda_params(const Kernel *, Buf *);
/* Does the kernel take sizes as arguments, "int *wrong, const CuSizes s"? */
bool  kernel_cuda_symbols(const Kernel *);
/* Has the kernel a form in CUDA? Operands with an address for each point of an axis have none, nor have selections from
 * rows that may be longer than CUDA_SELECTED, and chains whose local operands may have more than CUDA_LOCAL bytes. */
bool  kernel_has_cuda(const Kernel *);
/* Returns parameters and body of a CUDA kernel, "(float *y0, ...)\n{\n...}\n", for blocks of CUDA_BLOCK threads. A
 * thread computes a point. In reductions it computes a row if rows are side by side. Else a block computes a row. In a
 * chain, a block computes a point of the shared axes. */
enum { CUDA_BLOCK = 256, CUDA_SELECTED = 4096, CUDA_LOCAL = 32768 };
char *kernel_print_cuda(const Kernel *, const Schedule *);
const Size *kernel_cuda_blocks(const Kernel *, const Schedule *);
/* Is it a sum of products of its first two inputs? */
bool  kernel_is_contract(const Kernel *);
/* Is it a sum of products that can use tiles in shared memory? Its axes must be rows (the second input does not depend
 * on them), groups, and columns (the first input does not). Sets the grid. */
bool  kernel_cuda_tiles(const Kernel *, const Size *grid[3]);
char *kernel_print_cuda_tiles(const Kernel *);

/* ---- text.c ------------------------------------------------------------------------------------------------------ */

void    kernel_print(const Kernel *, const Schedule *, Buf *);

#endif
