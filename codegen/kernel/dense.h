/*
 * Products and convolutions with constant weights: found by dense.c, lowered to contractions by lower_dense.c. Their
 * microkernels read packed weights, in the form that dense_form.c chooses.
 */
#ifndef CODEGEN_DENSE_H
#define CODEGEN_DENSE_H

#include "lower.h"
#include "micro.h"

enum {
	BOXES = 16,              /* most boxes of a convolution with zeros among its taps */
	CHUNK = 72,              /* rows of activations that fit in the second-level cache */
	STEP = 6,                /* rows, or Winograd tiles, of a register block */
	STRIP_INPUTS = 16,       /* IN_PANELS: fewer input channels are computed in strips of rows (vconv.h) */
};

typedef enum Form {              /* How the node is computed. */
	IN_PANELS,               /* pixels by panels of weights, tap by tap: vconv.h */
	BY_PRODUCT,              /* a product by panels of weights, also for 1 x 1 windows: vblock.h */
	WINOGRAD,                /* 3 x 3 windows by transformed tiles: vwino.h */
	BY_TAPS,                 /* depthwise: vdepth.h */
	IN_LANES,                /* convolutions to few channels, with the input's channels in vector lanes: vlanes.h */
	IN_GROUPS,               /* groups of few channels: vgroups.h */
	IN_ROWS,                 /* convolutions of few channels, with a run of pixels in registers: vruns.h */
	COARSE,                  /* a product by low-bit weights: vcoarse.h */
} Form;

/* Low-bit weights (coarse.c): bfloat16 or float16 numbers; or integers from least to most, or 8-bit floats, times the
 * step of their group. A group is `group` inputs of a column. centre: added to stored values. */
typedef struct Step { float by; int least, most, centre; } Step;
typedef struct Coarse {
	int     bits;                    /* 16, 8 or 4; 0 if the weights are not low-bit */
	int     dtype;                   /* dtype of 16-bit or 8-bit floats; 0 for integers */
	int64_t group;
	Step   *step;                    /* steps of all groups, column by column */
	const uint8_t *codes;            /* the model's bytes in the layout of the weights; or null */
	int     base;                    /* subtracted from codes of integers before they are stored */
	bool    packed, centred;         /* whether they are in the weights; whether groups have centres */
	int64_t words, scales;           /* offsets in the weights of the packed values and of the steps */
	RtPacking lies; /* location in the model of the weights, if they are a whole storage; or zeros */
} Coarse;

/* Sides of a box: channels of the input, rows and columns of taps. */
enum { BOX_CHANNELS, BOX_ROWS, BOX_COLUMNS, BOX_SIDES };
/* Columns [first, first + n) of the result. Their weights are zero except for this range of input channels, rows and
 * columns of taps. */
typedef struct Box {
	int64_t first, n, from[BOX_SIDES], to[BOX_SIDES];
} Box;

typedef struct DenseNode {       /* A node that computes y (m, n) = x (m, k) * w (k, n) + bias, for each group. */
	const Value *x, *weight, *bias;  /* bias: null if there is none */
	const RtTensor *w;               /* weights in the model's layout */
	bool    transposed;              /* product: whether w is (n, k), not (k, n) */
	int64_t m, n, k, lda, ldc;       /* n and k are those of a group; lda and ldc are strides of rows, or pixels */
	int64_t groups, images;
	Windows windows;                 /* the window of a convolution; it has no places for a product */
} DenseNode;

/* Is the node such a product or convolution? */
bool dense_take(Plan *, const Node *, DenseNode *);
/* May the sums of a block be in scratch memory (Lowered.apart)? */
bool dense_may_be_apart(Plan *, const Node *);

/* ---- dense_boxes.c: convolutions with zeros among their taps ----------------------------------------------------- */

/* Splits the columns into at most BOXES boxes by their taps. Returns their number, or 0 if computing them one by one is
 * not faster. */
int  boxes_find(const Emit *, const DenseNode *, Box *);
/* Are more than half of the weights in n boxes zero? Then WINOGRAD, which needs all weights, is too large. */
bool boxes_are_sparse(const DenseNode *, const Box *, int n);

/* ---- dense_form.c: choice of the form and its blocks ------------------------------------------------------------- */

enum { DEPTH, HEIGHT, WIDTH };           /* dims of windows */
typedef struct Dense {           /* A contraction with constant weights, on its typical sizes. */
	const RtTensor *w;               /* weights in the model's layout */
	int64_t from, sn, sk;            /* first element of the weights in `w`; strides of columns and inputs */
	bool    part;                    /* whether it reads a part of the weights */
	bool    varies;                  /* whether its sizes depend on symbols */
	bool    apart;                   /* Lowered.apart */
	Form    form;
	int     tile;                    /* WINOGRAD: outputs of a tile in each dim, TILE_LARGE or TILE_SMALL */
	int64_t m, n, k, groups; /* n and k are those of a group. Depthwise: n counts all channels, and k is 1. */
	int64_t images;
	/* Window of three dims. If the convolution has fewer, `places`, the first ones are 1. x and y are unset. */
	Windows window;
	Coarse *coarse;                  /* COARSE */
	/* rows, and Winograd tiles, of a block: the default or the choice of --tune. dense_choose sets `chunk` to the
	 * one of its form. */
	int     chunk, tiles;
	/* whether threads divide columns instead of rows or rows instead of columns; chosen by --tune */
	bool    turned;
	/* Rows or Winograd tiles of a unit of work. 0: threads divide panels of weights. If units are rows of the
	 * result: pixels of a unit; 0 for a whole row. */
	int     step;
	const char *range[2];            /* bounds of the result as C, if the epilogue is a clamp; else null */
	const char *epilogue;            /* C name of the epilogue's function; null if there is none */
} Dense;

/* Returns the number of arguments that its call adds to those of the kernel: zeros for the padding, or scales. */
static inline int
dense_adds(const Dense *d)
{
	return d->form == COARSE ? d->coarse->bits < 16 :
	       d->form != BY_PRODUCT && d->form != WINOGRAD && d->form != BY_TAPS;
}

/* By Form: descriptions of the form and of its weights' layout. */
typedef struct FormText { const char *name, *packed; } FormText;
extern const FormText dense_forms[];
/* Is the kernel a contraction with constant weights? Sets all members up to `window`; form is the default one. */
bool dense_of(const Kernel *, Dense *);
bool dense_is_winograd(const Emit *, const Dense *);     /* Is Winograd's form possible and faster than others? */
int64_t dense_taps(const Dense *);       /* number of taps of the window; 1 for a product */
int64_t dense_pixels(const Dense *);     /* number of the input's pixels, or rows of a product */
/* Returns the packing of the first group's weights in the form's layout. */
RtPacking dense_packing(const Emit *, const Dense *);
/* "convolution 3 x 3, 16 -> 32 channels, (1, 8, 8) -> (8, 8)" */
const char *dense_comment(const Emit *, const Dense *);
/* Sets form, tile, blocks and step: the default ones, or those that --tune measures or has recorded. Returns the
 * kernel's key in Tuning. Null if nothing is tuned. */
const char *dense_choose(Emit *, Dense *);
/* numbers of taps that IN_ROWS processes at once: bits of VC_TAPS_BESIDE (vruns.h) */
int     dense_beside(const Dense *);
bool    dense_by_rows(const Dense *);    /* Are units of work rows of the result? */
int64_t winograd_tiles(const Dense *, int tile);         /* number of tiles of tile x tile outputs */

/* ---- dense_call.c: the epilogue and the packed operands of a call ------------------------------------------------ */

/* Chooses the form of a contraction with constant weights, and notes what its microkernel needs. */
void dense_begin(Emit *, const Kernel *, KernelCall *, Dense *);
/* Returns the last stage as a kernel over a block that has just been stored. made: index of the argument that points to
 * the block. place: index of the argument of each operand. */
Kernel *dense_epilogue(const Kernel *, int made, const int **place);
bool dense_follows(const Kernel *);      /* Has it an epilogue? */
/* Packs the constant operands, and describes the work of the call. */
void dense_end(Emit *, const Kernel *, KernelCall *, const Dense *);

/* ---- coarse.c: weights of few bits ------------------------------------------------------------------------------- */

/* Returns the low-bit form of the weights, or null. The packing describes their layout in the model. The result is
 * cached. */
Coarse *coarse_of(Emit *, const RtTensor *, const RtPacking *);
void    coarse_pack(Emit *, const RtTensor *, RtPacking, Coarse *);

#endif
