/*
 * Products and convolutions with constant weights, as dense.c finds them and kern_conv.c computes them.
 */
#ifndef CODEGEN_DENSE_H
#define CODEGEN_DENSE_H

#include "lower.h"

enum {
	BOXES = 16,              /* parts of a convolution with zeros among its taps, at most */
};

/* How it is computed. */
typedef enum Form {
	IN_PANELS, BY_PRODUCT, WINOGRAD, BY_TAPS, IN_LANES, IN_GROUPS, IN_ROWS, IN_BOXES, COARSE
} Form;

/* Weights of few bits (coarse.c): numbers of bfloat16 or float16, or integers from least to most, times a step, of each
 * group of so many inputs. */
typedef struct Step { float by; int least, most; } Step;
typedef struct Coarse {
	int     bits;                    /* 16, 8 or 4; 0: it has more */
	RtDtype half;                    /* 16 bits: of what type */
	int64_t group;
	Step   *step;                    /* of all groups of a column, column after column */
	bool    packed, centred;         /* centred: all have a centre, which is added to what is stored */
	int64_t words, scales;           /* where in the weights these are, packed */
	RtPacking lies;                  /* of what, when that is all of a storage; or zeros */
} Coarse;

enum { BOX_CHANNELS, BOX_ROWS, BOX_COLUMNS, BOX_SIDES };
/* Columns [first, first + n) of the result, whose weights are zeros but for these inputs, rows and columns of taps. */
typedef struct Box {
	int64_t first, n, from[BOX_SIDES], to[BOX_SIDES];
} Box;

/* Places in Dense.geometry. */
enum { FRAMES = 16, OUT_FRAMES, FRAME_TAPS, FRAME_STEP, FRAME_PADDING, FRAME_DILATION };

typedef struct Dense {           /* y (m, n) = x (m, k) * w (k, n) + bias, for each group */
	const Value *x, *y, *weight;
	const RtTensor *w, *bias;        /* weights as the model has them; bias (n) or null */
	bool    transposed;              /* product: w is (n, k) and not (k, n) */
	bool    conv;
	bool    transformable;           /* Winograd's form can compute it */
	Form    form;
	int     tile;                    /* Winograd: of tile x tile outputs, 4 or 2 */
	int64_t m, n, k, lda, ldc;       /* n, k: of a group; depthwise: n counts all channels, and k is 1 */
	Windows v;                       /* convolution */
	int64_t geometry[22];            /* the same: the members of VcConv, but for groups */
	bool    volume;                  /* over three dims */
	Box     box[BOXES];              /* IN_BOXES */
	int     nbox;
	int64_t groups;                  /* depthwise: 1 */
	Coarse *coarse;                  /* COARSE */
	int     chunk, tiles;            /* CHUNK and TILES, */
	bool    turned;                  /* and what step_of says, or others that are faster */
} Dense;

/* Is the node one, by what the model says?  Fills all members but those that a choice of forms sets. */
bool dense_take(Plan *, const Node *, Dense *);

/* What a column's weights lie on, found once, or null; the packing says how they lie in the model. */
Coarse *coarse_of(Emit *, const RtTensor *, const RtPacking *);
void    coarse_pack(Emit *, const RtTensor *, RtPacking, Coarse *);

#endif
