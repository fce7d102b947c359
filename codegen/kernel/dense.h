/*
 * Products and convolutions with constant weights: found by dense.c, printed by kern_conv.c in the form that
 * dense_form.c chooses.
 */
#ifndef CODEGEN_DENSE_H
#define CODEGEN_DENSE_H

#include "lower.h"

enum {
	BOXES = 16,              /* parts of a convolution with zeros among its taps, at most */
	CHUNK = 72,              /* rows of activations that fit in the second-level cache */
	STEP = 6,                /* rows, or Winograd tiles, of a register block */
	STRIP_INPUTS = 16,       /* IN_PANELS: fewer input channels are computed in strips of rows (vconv.h) */
};

typedef enum Form {              /* how it is computed */
	IN_PANELS,               /* pixels by panels of weights, tap by tap: vconv.h */
	BY_PRODUCT,              /* a product by panels of weights, so 1 x 1 windows, too: vblock.h */
	WINOGRAD,                /* 3 x 3 windows by transformed tiles: vwino.h */
	BY_TAPS,                 /* depthwise: vdepth.h */
	IN_LANES,                /* to few channels: lanes are channels of the input: vlanes.h */
	IN_GROUPS,               /* groups of few channels: vgroups.h */
	IN_ROWS,                 /* few channels: runs of a row in registers: vruns.h */
	IN_BOXES,                /* zeros among the taps: box after box, each IN_PANELS: dense_boxes.c */
	COARSE,                  /* a product by weights of few bits: vcoarse.h */
} Form;

/* Weights of few bits (coarse.c): numbers of bfloat16 or float16, or integers from least to most or floats of 8 bits,
 * times a step, of each group of so many inputs. */
typedef struct Step { float by; int least, most; } Step;
typedef struct Coarse {
	int     bits;                    /* 16, 8 or 4; 0: it has more */
	int     dtype;                   /* of floats of 16 or 8 bits; 0: integers */
	int64_t group;
	Step   *step;                    /* of all groups of a column, column after column */
	bool    packed, centred;         /* centred: all have a centre, which is added to what is stored */
	int64_t words, scales;           /* where in the weights these are, packed */
	RtPacking lies;                  /* of the weights in the model, when they are all of a storage; or zeros */
} Coarse;

enum { BOX_CHANNELS, BOX_ROWS, BOX_COLUMNS, BOX_SIDES };         /* of the input; of taps, both */
/* Columns [first, first + n) of the result, whose weights are zeros but for these inputs, rows and columns of taps. */
typedef struct Box {
	int64_t first, n, from[BOX_SIDES], to[BOX_SIDES];
} Box;

/* A convolution's sizes: the members of VcConv (rt/ops/vconv.h), by the same names.  The last six are of frames; of
 * images they say one frame. */
typedef struct ConvSizes {
	int64_t n, h, w, ic, oh, ow, oc, kh, kw, sh, sw, ph, pw, dh, dw, xs;
	int64_t d, od, kd, sd, pd, dd;
} ConvSizes;

typedef struct Dense {           /* y (m, n) = x (m, k) * w (k, n) + bias, for each group */
	const Value *x, *y, *weight;
	const RtTensor *w, *bias;        /* weights as the model has them; bias (n) or null */
	bool    transposed;              /* product: w is (n, k) and not (k, n) */
	bool    conv;
	bool    transformable;           /* Winograd's form can compute it */
	Form    form;
	int     tile;                    /* Winograd: of tile x tile outputs, TILE_LARGE or TILE_SMALL */
	int64_t m, n, k, lda, ldc;       /* n, k: of a group; depthwise: n counts all channels, and k is 1 */
	Windows v;                       /* convolution */
	ConvSizes geometry;              /* the same; of a product zeros */
	bool    volume;                  /* over three dims */
	Box     box[BOXES];              /* IN_BOXES */
	int     nbox;
	int64_t groups;                  /* depthwise: 1 */
	Coarse *coarse;                  /* COARSE */
	int     chunk, tiles;            /* rows and Winograd tiles of a block: the usual, or as --tune found */
	bool    turned;                  /* threads divide the other side than usual: --tune found that faster */
} Dense;

/* Is the node one, by what the model says?  Fills all members but those that a choice of forms sets. */
bool dense_take(Plan *, const Node *, Dense *);
int64_t dense_taps(const Dense *);       /* of a window; 1 of a product */
int64_t dense_pixels(const Dense *);     /* of the input; rows of a product */
/* The weights of the first group in the layout that the form reads. */
RtPacking dense_packing(const Emit *, const Dense *);

/* ---- dense_boxes.c: convolutions with zeros among their taps ----------------------------------------------------- */

/* Sets box and nbox: does it pay to compute them one after the other? */
bool  boxes_find(const Emit *, Dense *);
/* Are more than half of the weights in boxes zeros? Then Winograd's form, which needs all of them, is too large. */
bool  boxes_are_sparse(const Dense *);
Dense boxes_one(const Dense *, const Box *);     /* the convolution of one box */
double boxes_products(const Dense *);    /* products of all boxes, for each weight of the whole window */
const char *boxes_pack(Emit *, const Dense *, const Box *);      /* its weights, as a C expression */

/* ---- dense_form.c: the form in which it is computed, and its blocks ---------------------------------------------- */

/* By Form: the microkernel, and for the reader what is computed how, and how its weights lie. */
typedef struct FormText { const char *micro, *name, *packed; } FormText;
extern const FormText dense_forms[];
/* "convolution 3 x 3, 16 -> 32 channels, (1, 8, 8) -> (8, 8)" */
const char *dense_comment(const Emit *, const Dense *);
/* Sets form, tile and blocks: the usual ones, or those that --tune measures or has recorded.  Returns its name there;
 * null: nothing is tuned. */
const char *dense_choose(Emit *, Plan *, Dense *);
int     dense_beside(const Dense *);     /* taps that it takes at a time in rows: bits of VC_TAPS_BESIDE (vruns.h) */
bool    dense_by_rows(const Dense *);    /* are units of work rows of the result? */
/* Rows, or Winograd tiles, of a unit of work; 0: threads divide panels of weights.  Of forms by rows of the result:
 * pixels of a unit; 0: it is a whole row. */
int     dense_step(const Emit *, Plan *, const Dense *);
int64_t winograd_tiles(const Dense *, int tile);         /* all, of tile x tile outputs */
int64_t dense_block_tiles(Plan *, const Dense *);        /* of a unit of work that threads divide by panels, at most */

/* ---- coarse.c: weights of few bits ------------------------------------------------------------------------------- */

/* What a column's weights lie on, found once, or null; the packing says how they lie in the model. */
Coarse *coarse_of(Emit *, const RtTensor *, const RtPacking *);
void    coarse_pack(Emit *, const RtTensor *, RtPacking, Coarse *);

#endif
