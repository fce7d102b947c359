/* codegen/kernel/match.h - kernels whose axes and operands have names: the patterns of micro.def */
#ifndef CODEGEN_KERNEL_MATCH_H
#define CODEGEN_KERNEL_MATCH_H

#include "dense.h"
#include "micro_chain.h"
#include "micro_int8.h"
#include "print.h"
#include "recurrence.h"
#include "../../rt/ops/vscratch.h"

enum { ROW_GRAIN = 16384 };      /* number of points that are worth waking a thread */

/* Operands by name. None is 0, so it ends a list. START: terms of zero points, packed beside 8-bit weights. */
enum { END, Y, AT, X, W, BIAS, FACTOR, ZERO, Q, K, V, MASK, WRONG, ZEROS, START, SCALES, SCRATCH, EPILOGUE, ALL };

/* Axes by name. */
enum { N, C, G, OC, OD, OH, OW, P, IC, KD, KH, KW, ROWS, COLUMNS, SUMMED, BATCH, AXES = BATCH + VM_BATCH };

typedef struct Match {
	const Kernel *kernel;
	int axis[AXES], operand[WRONG];  /* indices in the kernel, by name; -1 if there is none */
	int places;                      /* number of dims of the windows of a contraction with constant weights */
	bool adaptive;                   /* whether windows are parts of the input */
	int out, tap;                    /* first of the axes of positions, and of taps */
	int vf, nr;                      /* floats of a vector, columns of a panel (Emit) */
	const Dense *dense;              /* form of a contraction with constant weights; or null */
	Buf text;
	int nmember;
	const char *scratch;             /* C of the bytes of scratch memory; null if there is none */
	int64_t bytes;                   /* the same as a number, if sizes are constant */
	const Size *zeros;               /* number of zeros that it reads; or null */
	int64_t grain;                   /* least number of units worth a thread; 0: as for loops over points */
	int64_t tall;                    /* most rows of a product by panels; 0 if there is none */
	const Size *narrow;              /* size that must be at most INT32_MAX in a call; or null */
	AttentionChain attention;
	Recurrence recurrence;
	const Size *turns;               /* number of launches, or null */
	bool cuda;                       /* whether members are assigned, as statements of CUDA */
	Printer *printer;                /* prints the accessors of a CUDA function */
	const ViConv *packed;            /* sizes by which 8-bit weights W are packed; null if they are not */
	const Size *steps;               /* number of operations; null: all lets and folds */
} Match;

/* ---- match.c: axes, operands, windows ---------------------------------------------------------------------------- */

const Size *match_constant(const Match *m, int64_t n);
const Size *match_times(const Match *m, const Size *a, const Size *b);
/* Is the size at most INT32_MAX?  If it depends on symbols, only a call can tell. */
bool match_fits_int(Match *m, const Size *size);
const Operand *match_operand(const Match *m, int name);
/* The extent of an axis; 1 if there is no such axis. */
const Size *match_extent(const Match *m, int axis);
const Size *match_stride(const Match *m, int name, int axis);
/* Names axes in order. */
void match_name_axes(Match *m, const int *names, int n);
/* The bound of the input along dim i of the windows. Null in adaptive pooling. */
const Bound *match_input_bound(const Match *m, int i);
/* Do windows, or parts, run over n dims of x? `out` and `tap` are the first axes of positions and of taps. */
bool match_has_windows(Match *m, int n, int out, int tap);
const Size *match_taps(const Match *m, int i);
const Size *match_input_size(const Match *m, int i);
const Size *match_step(const Match *m, int i);
const Size *match_dilation(const Match *m, int i);
const Size *match_padding(const Match *m, int i);
const Size *match_input_stride(const Match *m, int i);
bool match_refers_to(const Ref *r, RefKind kind, int at);
/* Do the channels of the next group follow those of a group? axis: a group's input or output channels. */
bool match_runs_on(const Match *m, int name, int axis);
/* The size as a number, or 0 if it is not constant. */
int64_t match_known(const Size *s);
/* Is the size a number? */
bool match_is_number_size(const Size *s);
/* The size on the typical sizes; 0 if it is unknown. */
int64_t match_typical(const Match *m, const Size *s);
/* Have both operands the same strides? */
bool match_is_alike(const Match *m, int a, int b);
/* The size, or `most` if it is larger or not constant. */
int64_t match_at_most(const Size *s, int64_t most);
const Size *match_blocks(const Match *m, const Size *size, int64_t each);

/* ---- match_pool.c ------------------------------------------------------------------------------------------------ */

/* Finds windows over planes: axes n, c, the results' positions, then the taps, which are reduced. */
bool match_pool(Match *m);
bool match_is_maximum(const Match *m);
/* Maxima and their indices. */
bool match_is_places(const Match *m);
/* Does the mean count the elements within these bounds? */
bool match_counts(const Match *m, bool padding_too);
bool match_is_mean(const Match *m);
const Size *match_divisor_or_zero(const Match *m);
/* Finds y[at[p]] += x[p], for each p in order, over axes n, c and p. */
bool match_added(Match *m);

/* ---- match_sums.c: sums of products ------------------------------------------------------------------------------ */

/* Finds a convolution over planes: axes n, the result's positions, groups and their output channels; reduced are a
 * group's input channels and the taps. */
bool match_convolution(Match *m);
/* Finds the gradient of weights: axes groups, output and input channels, taps; reduced are images and positions of the
 * result's gradient, W. */
bool match_weight_gradient(Match *m);
/* The channels of all groups. */
const Size *match_channels(const Match *m, int axis);
/* Is x channels-last and dense? */
bool match_is_input_last(const Match *m);
/* Is the operand over positions channels-last and dense? */
bool match_is_output_last(const Match *m, int name);
/* Has each of several groups one input and one output channel? */
bool match_is_depthwise(const Match *m);
/* Finds a product of matrices for each point of some outer axes, in the simplified kernel. If results are not
 * consecutive along columns but along rows, it is the transposed product. */
bool match_product(Match *m, RtDtype dtype);
/* The stride along an axis; `alone` if there is no such axis. */
const Size *match_apart(const Match *m, int name, int axis, int64_t alone);
/* Number of axes of the batch. Extents and strides along axes behind them are null. */
int64_t match_batch_axes(const Match *m);
const Size *match_batch_extent(const Match *m, int i);
const Size *match_batch_along(const Match *m, int name, int i);
const Size *match_batch_points(const Match *m);
/* The rows of X that a unit copies, because their elements are not consecutive. */
int64_t match_copied_rows(const Match *m);
int64_t match_product_grain(const Match *m);
/* Stride of rows or pixels: of the input, and of the result. n: number of dims of the windows. */
const Size *match_input_row(const Match *m, int n);
const Size *match_output_row(const Match *m, int n);
/* Finds a contraction with constant weights that is computed in this form: axes rows, or images and positions, groups
 * and their columns; reduced are a group's inputs and the taps. */
bool match_dense(Match *m, Form form);
const Size *match_rows_of(const Match *m);
/* Units of work of a form that computes panels: blocks of rows; or panels, or chunks of rows of a panel. */
const Size *match_panel_units(const Match *m, const Size *rows, bool chunks);
/* Units of work of a form that computes rows of the result. */
const Size *match_row_units(const Match *m);
/* Tiles of the result, for Winograd's form. */
const Size *match_tiles_of(const Match *m);
/* Number of zeros in the padding of narrow groups: at least a vector. */
const Size *match_group_zeros(const Match *m);
/* Bytes of scratch memory of Winograd's form: planes with an odd number of groups of 16 floats. */
int64_t match_winograd_scratch(const Match *m);

/* ---- match_sample.c: computed coordinates ------------------------------------------------------------------------ */

/* Let i of those of a pointwise row. Null if there are not so many. */
const Let *match_let_of(const Match *m, OpRow row, int i);
/* Finds a kernel over axes n, c and positions, and perhaps reduced ones, that reads x at computed indices. This row
 * computes the first let. AT is the first operand that coordinates depend on. */
bool match_computed(Match *m, OpRow row, int indices, int axes);
bool match_has_dtype(const Match *m, RtDtype dtype);
bool match_has_flags(const Match *m, OpRow row);
int64_t match_flags_of(const Match *m, OpRow row);
/* An int argument as a size. */
const Size *match_int_size(const Match *m, const Ref *r);
/* Are the channels of a pixel consecutive in both images? */
bool match_has_lanes(const Match *m);
const Size *match_planes(const Match *m);
bool match_is_line(const Match *m);
/* Bytes of scratch memory; 0 if they depend on sizes. */
int64_t match_weighed_scratch(const Match *m);
int64_t match_copy_scratch(const Match *m);
int64_t match_regions_scratch(const Match *m);
/* Number of spatial dims of the grid, and its dim for depth, height or width (i: 0, 1, 2). -1 for an image's depth. */
int match_grid_dims(const Match *m);
const Size *match_grid_in(const Match *m, int i);
const Size *match_grid_x(const Match *m, int i);
const Size *match_grid_out(const Match *m, int i);
const Size *match_grid_along(const Match *m, int name, int i);
/* The step between the coordinates of a point: the first operand at another place than the grid's beginning has the
 * second one. */
const Size *match_grid_step(const Match *m);
/* The step between a region's numbers. */
const Size *match_region_step(const Match *m);

#endif
