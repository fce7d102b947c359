/*
 * Products and convolutions with constant weights: found by dense.c, printed by kern_conv.c in the form that
 * dense_form.c chooses.
 */
#ifndef CODEGEN_DENSE_H
#define CODEGEN_DENSE_H

#include "lower.h"

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
	IN_BOXES, /* convolutions with zeros among their taps, box by box, each IN_PANELS: dense_boxes.c */
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

/* Sizes of a convolution, named as the members of VcConv (rt/ops/vconv.h). The last six are those of frames; 2-d
 * convolutions have one frame. */
typedef struct ConvSizes {
	int64_t n, h, w, ic, oh, ow, oc, kh, kw, sh, sw, ph, pw, dh, dw, xs;
	int64_t d, od, kd, sd, pd, dd;
} ConvSizes;

typedef struct Dense {           /* y (m, n) = x (m, k) * w (k, n) + bias, for each group */
	const Value *x, *y, *weight;
	const RtTensor *w, *bias;        /* weights in the model's layout; bias (n) or null */
	bool    transposed;              /* product: whether w is (n, k), not (k, n) */
	bool    conv;
	bool    transformable;           /* whether WINOGRAD can compute it */
	Form    form;
	int     tile;                    /* WINOGRAD: outputs of a tile in each dim, TILE_LARGE or TILE_SMALL */
	int64_t m, n, k, lda, ldc; /* n and k are those of a group. Depthwise: n counts all channels, and k is 1. */
	Windows windows;                       /* the window of a convolution */
	ConvSizes geometry;              /* sizes of a convolution; zeros for a product */
	bool    volume;                  /* whether it is a 3-d convolution */
	Box     box[BOXES];              /* IN_BOXES */
	int     nbox;
	int64_t groups;                  /* depthwise: 1 */
	Coarse *coarse;                  /* COARSE */
	int     chunk, tiles;            /* rows and Winograd tiles of a block: the default, or the choice of --tune */
	/* whether threads divide columns instead of rows or rows instead of columns; chosen by --tune */
	bool    turned;
} Dense;

/* Is the node such a product or convolution? Fills all members except those that depend on the choice of a form. */
bool dense_take(Plan *, const Node *, Dense *);
int64_t dense_taps(const Dense *);       /* number of taps of the window; 1 for a product */
int64_t dense_pixels(const Dense *);     /* number of the input's pixels, or rows of a product */
/* Returns the packing of the first group's weights in the form's layout. */
RtPacking dense_packing(const Emit *, const Dense *);

/* ---- dense_boxes.c: convolutions with zeros among their taps ----------------------------------------------------- */

/* Sets box and nbox. Returns whether computing the boxes one by one is faster. */
bool  boxes_find(const Emit *, Dense *);
/* Are more than half of the weights in the boxes zero? Then WINOGRAD, which needs all weights, is too large. */
bool  boxes_are_sparse(const Dense *);
Dense boxes_one(const Dense *, const Box *);     /* returns the convolution of one box */
double boxes_products(const Dense *);    /* products of all boxes, divided by the weights of one tap */
const char *boxes_pack(Emit *, const Dense *, const Box *); /* packs the box's weights; returns their C expression */

/* ---- dense_form.c: choice of the form and its blocks ------------------------------------------------------------- */

/* By Form: name of the microkernel, and descriptions of the form and of its weights' layout. */
typedef struct FormText { const char *micro, *name, *packed; } FormText;
extern const FormText dense_forms[];
/* "convolution 3 x 3, 16 -> 32 channels, (1, 8, 8) -> (8, 8)" */
const char *dense_comment(const Emit *, const Dense *);
/* Sets form, tile and blocks: the default ones, or those that --tune measures or has recorded. Returns the kernel's key
 * in Tuning. Null if nothing is tuned. */
const char *dense_choose(Emit *, Plan *, Dense *);
/* numbers of taps that IN_ROWS processes at once: bits of VC_TAPS_BESIDE (vruns.h) */
int     dense_beside(const Dense *);
bool    dense_by_rows(const Dense *);    /* Are units of work rows of the result? */
/* Returns the rows or Winograd tiles of a unit of work. 0: threads divide panels of weights. If units are rows of the
 * result: returns the pixels of a unit; 0 for a whole row. */
int     dense_step(const Emit *, Plan *, const Dense *);
int64_t winograd_tiles(const Dense *, int tile);         /* number of tiles of tile x tile outputs */
int64_t dense_block_tiles(Plan *, const Dense *);        /* most tiles of a block when threads divide panels */

/* ---- coarse.c: weights of few bits ------------------------------------------------------------------------------- */

/* Returns the low-bit form of the weights, or null. The packing describes their layout in the model. The result is
 * cached. */
Coarse *coarse_of(Emit *, const RtTensor *, const RtPacking *);
void    coarse_pack(Emit *, const RtTensor *, RtPacking, Coarse *);

#endif
