/*
 * Products and convolutions with constant weights: packed at compile time, computed in register blocks
 * (rt/ops/vblock.h, rt/ops/vconv.h).
 *
 * A pointwise group that reads the result, and no other value made later, becomes the epilogue: it runs over each block
 * while that is in the L1 cache, and writes the group's result in place of the product's.
 *
 *    y = conv(x, w, b); z = add(y, r); u = relu(z)    one kernel: conv writes u's memory, the epilogue adds r and clips
 */
#include "dense.h"

#include <stdlib.h>
#include <string.h>

enum {
	CHUNK = 72,              /* rows of activations that fit in the second-level cache */
	FEW_ROWS = 4,            /* a product of so few rows is bound by reading weights */
	STEP = 6,                /* rows, or tiles: a register block's */
	FEW_STEPS = 8,           /* fewer blocks of rows do not divide well among threads, */
	FEW_PANELS = 4,          /* nor do fewer panels */
	TILES = 72,              /* Winograd tiles of 4 x 4 of a block, likewise */
	MEMORY_FLOPS = 6,        /* flops of a core for each byte from memory: 190 GFLOP/s, 31 GB/s */
	NEAR_BYTES = 1 << 20,    /* weights that stay in a cache between blocks: */
	NEAR_FLOPS = 2,          /* flops for each byte from there */
	CACHE_FLOPS = 4,         /* flops for each byte that the transforms read or write */
	CALL_FLOPS = 2000,       /* of a product's begin and end */
	CALL_COLUMNS = 64,
	ROW_INPUTS = 64, WIDE_INPUTS = 192,     /* most input channels of rows; with vectors of 16 floats */
	ROW_PIXELS = 4,          /* fewest pixels of a row */
	FEW_INPUTS = 8,          /* at stride 2 panels take 0.89 to 0.94 of the time; 0.70 to 0.84 for a vector of 8 */
	LANES_MOST = 12,         /* channels of a result computed in lanes of the input's */
	LANES_SUM = 20,          /* and what it takes to sum up lanes, in products of vectors */
	STRIP_INPUTS = 16,       /* fewer channels are computed in strips of rows */
	DILATED = 64,            /* up to this dilation blocks of strips grow with it */
	PIECE = 56,              /* pixels of a unit of work where rows are few */
	APART_BYTES = 2048,      /* of sums whose place is not that of the result */
};

static const struct { const char *micro, *name, *packed; } forms[] = {
	[IN_PANELS] = { "vc_conv", "in panels", "in panels" },
	[BY_PRODUCT] = { "vc_product", "in panels", "in panels" },
	[WINOGRAD] = { "vc_winograd", "winograd", "transformed and in panels" },
	[BY_TAPS] = { "vc_depthwise", "by taps", "by taps" },
	[IN_LANES] = { "vc_conv_lanes", "in lanes", "by channel" },
	[IN_GROUPS] = { "vc_groups", "in groups", "in panels of groups" },
	[IN_ROWS] = { "vc_three", "in rows", "in panels" },
	[IN_BOXES] = { "vc_conv", "in boxes", "in panels" },
	[COARSE] = { "vk_product", "of few bits", "of few bits" },
};

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static int64_t
taps_of(const Dense *d)
{
	return d->conv ? d->geometry[FRAME_TAPS] * d->geometry[7] * d->geometry[8] : 1;
}

/* Pixels of the input. */
static int64_t
pixels_of(const Dense *d)
{
	const int64_t *g = d->geometry;

	return d->conv ? g[0] * g[FRAMES] * g[1] * g[2] : d->m;
}

/* The weights of the first group in the layout of the kernel. */
static RtPacking
packing(const Emit *e, const Dense *d)
{
	const int64_t *s = d->w->strides, *g = d->geometry, kw = d->conv ? g[8] : 1;
	const int down = d->volume && g[7] > 1 ? 3 : 2;          /* of w: the dim of rows of taps */
	const int row = d->conv || d->transposed ? 0 : 1, vector = e->vf == 16 && d->form != WINOGRAD ? 8 : e->vf;
	const int64_t wide = d->form == BY_TAPS ? d->n : d->form == IN_LANES ? 1 : d->form == IN_GROUPS ? e->vf : 0;

	return (RtPacking){ .to = d->w->offset, .n = d->n, .k = d->k, .taps = taps_of(d),
			    .kw = kw, .width = wide ? wide : e->panel,
			    .last = wide ? wide : panel_last(e, d->n, vector),
			    .sn = s[row], .sk = s[!row], .sr = d->conv ? s[down] : 0,
			    .ss = d->conv ? s[d->w->ndim - 1] : 0, .kh = d->volume ? g[7] : 0,
			    .sd = d->volume ? s[2] : 0 };
}

static const char *
packed(Emit *e, const Dense *d)
{
	const RtPacking p = packing(e, d);

	return d->form == COARSE ? arena_printf(e->cx->arena, "(kiln_weights + %lld)", (long long)d->coarse->words) :
	       d->form == WINOGRAD ? pack_winograd(e, d->tile, d->w, p) :
	       pack_panels(e, d->form == BY_TAPS ? WEIGHT_TAPS : WEIGHT_PANELS, d->w, p, d->groups,
			   d->form == IN_GROUPS ? e->vf / d->n : 1);
}

static int64_t
winograd_tiles(const Dense *d, int tile)
{
	return d->geometry[0] * ((d->geometry[4] + tile - 1) / tile) * ((d->geometry[5] + tile - 1) / tile);
}

/* What a convolution costs, in flops: products, and weights, which come from memory once a call unless they are few.
 * Of two costs at the same time the smaller one is hidden but for a quarter (kernel notes, 2), all of it in the direct
 * form.  Measured, Winograd's time over the direct form's, and by this measure, 7 x 7 pixels: tiles of 2 x 2, 512
 * channels 0.70 (0.71), 128 0.72 (0.71), 64 0.78 (0.80); tiles of 4 x 4, whose filters of 512 channels had left the
 * caches, 1.02 (1.08), 64 channels 0.44 (0.53), and 512 of 14 x 14 0.41 (0.40).  Where channels are few, a product's
 * begin and end count, too: 32 of 7 x 7 0.72 (0.72), 16 of 14 x 14 0.60 (0.90) and of 56 x 56 0.45 (0.76). */
static double
direct_cost(const Dense *d)
{
	const double area = (double)d->k * (double)d->n, bytes = 4 * 9 * area, taps = 2 * 9 * (double)d->m * area;
	const int rate = 4 * bytes > NEAR_BYTES ? MEMORY_FLOPS : NEAR_FLOPS;

	return taps > bytes * rate ? taps : bytes * rate;
}

static double
winograd_cost(const Dense *d, int tile)
{
	const double tiles = (double)winograd_tiles(d, tile), area = (double)d->k * (double)d->n,
		     bytes = 4 * winograd_elements(tile) * area;
	const int rate = bytes > NEAR_BYTES ? MEMORY_FLOPS : NEAR_FLOPS;
	const double products = 2 * winograd_elements(tile) * tiles * area, weights = bytes * rate;
	const double moved = 4 * (winograd_elements(tile) + tile * tile) * tiles * (double)(d->k + d->n),
		     transforms = moved * CACHE_FLOPS;
	const double calls = winograd_elements(tile) * (double)((d->n + CALL_COLUMNS - 1) / CALL_COLUMNS) * CALL_FLOPS;

	return (products > weights ? products + weights / 4 : weights + products / 4) + transforms + calls;
}

/* The tile with which Winograd's form pays most; 0: it does not pay. */
static int
best_tile(const Dense *d)
{
	const double four = winograd_cost(d, 4), two = winograd_cost(d, 2), direct = direct_cost(d);

	return four <= two ? (four < direct ? 4 : 0) : two < direct ? 2 : 0;
}

/* Filters that one call has made serve all for which they pay.  A dynamic specialization uses transformed filters only
 * if an exact one has them: they are not made for it alone. */
static int
choose_tile(Emit *e, Plan *p, const Dense *d)
{
	const char *key = arena_printf(e->cx->arena, "%p %lld", (const void *)d->w->storage, (long long)d->w->offset);
	const char *known = map_get(&e->winograd, key);
	const int was = known ? *known - '0' : 0;
	int tile = best_tile(d);

	if (p->dynamic) {
		tile = known ? was : tile;
		return plan_choice(p, tile == 4) ? 4 : plan_choice(p, tile == 2) ? 2 : 0;
	}
	if (was && tile && winograd_cost(d, was) < direct_cost(d))
		return was;
	if (tile || !known)
		map_put(&e->winograd, key, tile == 4 ? "4" : tile ? "2" : "0");
	return tile;
}

/* ---- zeros among the taps -----------------------------------------------------------------------------------------
 *
 * Where a transposed convolution's stride does not divide its window, its phases have fewer taps than the convolution
 * that computes all of them (convtransposed.c), at one end of the window.  Columns with the same taps are computed by
 * these, one after the other.
 */

static bool
same_sides(const Box *a, const Box *b)
{
	return !memcmp(a->from, b->from, sizeof a->from) && !memcmp(a->to, b->to, sizeof a->to);
}

/* Are the weights of the column in the box all zeros? */
static bool
all_zeros(const RtTensor *w, int64_t column, const Box *b)
{
	const float *at = (const float *)w->storage->data + w->offset + column * w->strides[0];

	for (int64_t k = b->from[0]; k < b->to[0]; k++)
		for (int64_t r = b->from[1]; r < b->to[1]; r++)
			for (int64_t s = b->from[2]; s < b->to[2]; s++)
				if (at[k * w->strides[1] + r * w->strides[2] + s * w->strides[3]] != 0)
					return false;
	return true;
}

/* The least box round what a column has. */
static Box
box_of(const RtTensor *w, int64_t column)
{
	Box b = { .first = column, .n = 1, .to = { w->dims[1], w->dims[2], w->dims[3] } };

	for (int side = 0; side < BOX_SIDES; side++) {
		Box slice = b;

		for (; b.to[side] - b.from[side] > 1; b.from[side]++) {
			slice.from[side] = b.from[side];
			slice.to[side] = b.from[side] + 1;
			if (!all_zeros(w, column, &slice))
				break;
		}
		for (; b.to[side] - b.from[side] > 1; b.to[side]--) {
			slice.from[side] = b.to[side] - 1;
			slice.to[side] = b.to[side];
			if (!all_zeros(w, column, &slice))
				break;
		}
	}
	return b;
}

/* Lanes times products of a pixel. */
static int64_t
box_cost(const Emit *e, const Box *b)
{
	const int64_t some = e->vf == 16 ? 8 : e->vf, lanes = (b->n + some - 1) / some * some;

	return lanes * (b->to[0] - b->from[0]) * (b->to[1] - b->from[1]) * (b->to[2] - b->from[2]);
}

/* Does it pay to compute columns with the same taps apart? */
static bool
takes_boxes(const Emit *e, Dense *d)
{
	const RtTensor *w = d->w;
	Box all = { .n = d->n, .to = { d->k, d->geometry[7], d->geometry[8] } };
	int64_t cost = 0;

	d->nbox = 0;
	if (d->form != IN_PANELS || w->ndim != 4 || d->groups > 1 || (all.to[1] == 1 && all.to[2] == 1))
		return false;
	for (int64_t column = 0; column < d->n; column++) {
		const Box b = box_of(w, column);

		if (d->nbox && same_sides(&d->box[d->nbox - 1], &b))
			d->box[d->nbox - 1].n++;
		else if (d->nbox == BOXES)
			return false;
		else
			d->box[d->nbox++] = b;
	}
	for (int i = 0; i < d->nbox; i++)
		cost += box_cost(e, &d->box[i]);
	return d->nbox > 1 && cost * 8 < box_cost(e, &all) * 7;
}

/* Are more than half of the weights of boxes zeros? Then Winograd's form, which needs all of them, is too large. */
static bool
is_sparse(const Dense *d)
{
	int64_t weights = 0;

	for (int i = 0; i < d->nbox; i++) {
		const Box *b = &d->box[i];

		weights += b->n * (b->to[0] - b->from[0]) * (b->to[1] - b->from[1]) * (b->to[2] - b->from[2]);
	}
	return 2 * weights < d->n * d->k * taps_of(d);
}

/* The convolution of one box. */
static Dense
box_dense(const Dense *d, const Box *b)
{
	Dense one = *d;
	int64_t *g = one.geometry;

	one.form = IN_PANELS;
	one.n = g[6] = b->n;
	one.k = g[3] = b->to[BOX_CHANNELS] - b->from[BOX_CHANNELS];
	g[7] = b->to[BOX_ROWS] - b->from[BOX_ROWS];
	g[8] = b->to[BOX_COLUMNS] - b->from[BOX_COLUMNS];
	g[11] -= b->from[BOX_ROWS] * g[13];
	g[12] -= b->from[BOX_COLUMNS] * g[14];
	return one;
}

static const char *
packed_box(Emit *e, const Dense *d, const Box *b)
{
	const Dense one = box_dense(d, b);
	const int64_t *s = d->w->strides;
	RtPacking p = packing(e, &one);

	p.to += b->first * s[0] + b->from[0] * s[1] + b->from[1] * s[2] + b->from[2] * s[3];
	return pack_panels(e, WEIGHT_PANELS, d->w, p, 1, 1);
}

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

/* Groups with at most a vector of output channels and of input channels: one or several side by side (vgroups.h). */
static bool
takes_groups(const Emit *e, const Dense *d)
{
	return d->groups > 1 && 2 * d->n <= e->vf && e->vf / d->n * d->k <= e->vf;
}

/* Windows three columns wide with few input and output channels: a run of a row fits in registers (vthree.h). */
static bool
may_rows(const Emit *e, const Dense *d)
{
	const int64_t *g = d->geometry;

	return d->form == IN_PANELS && e->vf > 1 && g[8] == 3 && g[10] <= 2 && g[14] == 1 &&
	       d->k <= (e->vf == 16 ? WIDE_INPUTS : ROW_INPUTS) && d->n <= (e->vf == 16 ? 3 : 2) * e->vf;
}

static bool
takes_rows(const Emit *e, Plan *p, const Dense *d)
{
	const bool apart = d->geometry[10] == 2 && d->k <= FEW_INPUTS &&
			   (e->vf == 16 || d->n <= e->vf || d->k == 1);

	return may_rows(e, d) && !apart && plan_choice(p, d->geometry[5] >= ROW_PIXELS);
}

/* Convolutions of a vector of input channels or more that give so few channels that more lanes of a panel would be
 * empty (vlanes.h).  A vector of a panel costs the same however many of its lanes are in use: a sixth less than one of
 * these; of 16 floats a third more, but in rows as much. */
static bool
may_lanes(const Emit *e, const Dense *d)
{
	return d->form == IN_PANELS && d->n <= LANES_MOST && d->k >= e->vf;
}

static bool
takes_lanes(const Emit *e, Plan *p, const Dense *d)
{
	const int64_t taps = taps_of(d), vectors = taps * d->k * ((d->n + e->vf - 1) / e->vf);
	const int64_t sums = d->n * (taps * ((d->k + e->vf - 1) / e->vf) + LANES_SUM);

	return may_lanes(e, d) && 6 * sums < (e->vf < 16 ? 5 : takes_rows(e, p, d) ? 6 : 8) * vectors;
}

/* Its transforms take eight channels or more at once; no panel of outputs may have fewer than a vector. */
static bool
may_winograd(const Emit *e, const Dense *d)
{
	return d->transformable && e->vf > 1 && e->forms != FORMS_SMALL && d->k % 8 == 0 && d->n % 8 == 0 &&
	       (d->n % e->nr == 0 || d->n % e->nr >= e->vf);
}

/* Chooses among the forms that can compute it. */
static Form
usual_form(Emit *e, Plan *p, Dense *d)
{
	const RtPacking lies = packing(e, d);

	if (d->form == BY_PRODUCT && !d->conv && (d->coarse = coarse_of(e, d->w, &lies)))
		return COARSE;
	const bool boxes = takes_boxes(e, d);

	if (boxes && is_sparse(d))
		return IN_BOXES;
	if (may_winograd(e, d) && (d->tile = choose_tile(e, p, d)))
		return WINOGRAD;
	return boxes ? IN_BOXES : takes_groups(e, d) ? IN_GROUPS : takes_lanes(e, p, d) ? IN_LANES :
	       takes_rows(e, p, d) ? IN_ROWS : d->form;
}

/* Are units of work rows of the result? */
static bool
of_rows(const Dense *d)
{
	return d->form == BY_TAPS || d->form == IN_GROUPS || d->form == IN_ROWS;
}

/* Of as many multiplications as TILES of 4 x 4. */
static int64_t
most_tiles(const Dense *d)
{
	return d->tiles * winograd_elements(4) / winograd_elements(d->tile);
}

static int64_t
block_tiles(Plan *p, const Dense *d)
{
	const int64_t tiles = winograd_tiles(d, d->tile);

	return tiles < most_tiles(d) && !p->dynamic ? tiles : most_tiles(d);
}

/* Rows, or Winograd tiles, of a unit of work; 0: threads divide panels of weights.  Of forms by rows of the result:
 * pixels of a unit; 0: it is a whole row.  The larger side is divided:
 * activations are then read by the thread that wrote them, weights once.  Few tiles and few panels do not divide
 * well. */
static int
step_of(const Emit *e, Plan *p, const Dense *d)
{
	const int64_t taps = taps_of(d);
	const int64_t columns = d->k * d->groups, panels = (d->n + e->nr - 1) / e->nr * d->groups;
	const int64_t in = pixels_of(d) * columns, out = d->m * d->n * d->groups;
	const bool few = panels * ((d->m + d->chunk - 1) / d->chunk) < FEW_PANELS;

	if (of_rows(d))
		return plan_choice(p, d->m / d->geometry[5] >= FEW_STEPS) != d->turned ? 0 :
		       PIECE * (int)d->geometry[14];
	if (d->form == WINOGRAD)
		return plan_choice(p, winograd_tiles(d, d->tile) > most_tiles(d)) != d->turned ? STEP : 0;
	if (d->form == IN_LANES || d->form == IN_BOXES)
		return STEP;
	if (d->form == COARSE)
		return 0;                /* weights become floats once */
	return plan_choice(p, (few || in + out > taps * columns * d->n) && d->m >= FEW_STEPS * STEP) != d->turned ?
	       STEP : 0;
}

/* What follows a product: a clamp in registers, or a function over the stored block. */
typedef struct After {
	const char *range[2];
	Epilogue epilogue;
} After;

static const char *
comment_of(const Emit *e, const Dense *d, const After *after)
{
	const bool followed = after->range[0] || strcmp(after->epilogue.name, "0");
	const char *tiles = d->form == WINOGRAD && d->tile == 2 ? ", in tiles of 2 x 2" : "";
	const char *more = arena_printf(e->cx->arena, "%s%s", tiles, followed ? ", with what follows" : "");
	const long long *g = (const long long *)d->geometry;
	const long long out = (long long)(d->n * d->groups), in = d->form == BY_TAPS ? out : d->k * d->groups;
	const char *groups = d->groups > 1 ? arena_printf(e->cx->arena, " in %lld groups", (long long)d->groups) : "";

	if (d->volume)
		return arena_printf(e->cx->arena, "convolution %lld x %lld x %lld, %lld -> %lld channels%s, "
				    "(%lld, %lld, %lld, %lld) -> (%lld, %lld, %lld)%s", g[FRAME_TAPS], g[7], g[8], in,
				    out, groups, g[0], g[FRAMES], g[1], g[2], g[OUT_FRAMES], g[4], g[5], more);
	if (d->conv)
		return arena_printf(e->cx->arena, "convolution %lld x %lld, %lld -> %lld channels%s, "
				    "(%lld, %lld, %lld) -> (%lld, %lld)%s", g[7], g[8], in, out, groups, g[0], g[1],
				    g[2], g[4], g[5], more);
	return arena_printf(e->cx->arena, "product (%lld, %lld) x (%lld, %lld)%s", (long long)d->m, (long long)d->k,
			    (long long)d->k, (long long)d->n, more);
}

/* Over all boxes, so many as if all columns had them. */
static double
box_products(const Dense *d)
{
	double sum = 0;

	for (int i = 0; i < d->nbox; i++) {
		const Dense one = box_dense(d, &d->box[i]);

		sum += (double)(one.n * one.k * one.geometry[7] * one.geometry[8]);
	}
	return sum * (double)d->m / (double)(d->n * d->k);
}

/* ---- ways that are measured -------------------------------------------------------------------------------------- */

typedef struct Ways { Vec(Dense) at; Texts names; } Ways;

static void
add_way(Emit *e, Ways *w, const Dense *from, Form form, int tile)
{
	const char *blocks = "";
	Dense d = *from;

	for (int i = 0; i < w->at.n && form != from->form; i++)
		if (w->at.at[i].form == form && w->at.at[i].tile == tile)
			return;
	d.form = form;
	d.tile = tile;
	if (from->form == COARSE && form != COARSE)
		d.chunk = CHUNK;
	vec_push(e->cx->arena, &w->at, d);
	if (d.chunk != CHUNK || d.tiles != TILES)
		blocks = arena_printf(e->cx->arena, ", %d %s a block", form == WINOGRAD ? (int)most_tiles(&d) : d.chunk,
				      form == WINOGRAD ? "tiles" : "rows");
	vec_push(e->cx->arena, &w->names,
		 arena_printf(e->cx->arena, "%s%s%s%s", forms[form].name,
			      form != WINOGRAD ? "" : tile == 4 ? " of 4 x 4" : " of 2 x 2", blocks,
			      d.turned ? ", divided by the other side" : ""));
}

/* The usual way, other forms, and the usual one in other blocks. */
static Ways
ways_of(Emit *e, const Dense *plain, const Dense *usual)
{
	Dense d = *usual;
	Ways w = { 0 };

	add_way(e, &w, usual, usual->form, usual->tile);
	if (usual->form != plain->form)
		add_way(e, &w, usual, plain->form, 0);
	for (int tile = 4; tile > 0 && may_winograd(e, plain); tile -= 2)
		if (usual->form != WINOGRAD || usual->tile != tile)
			add_way(e, &w, usual, WINOGRAD, tile);
	if (may_rows(e, plain) && usual->form != IN_ROWS)
		add_way(e, &w, usual, IN_ROWS, 0);
	if (may_lanes(e, plain) && usual->form != IN_LANES)
		add_way(e, &w, usual, IN_LANES, 0);
	d.turned = true;
	if (d.form != IN_LANES && d.form != IN_BOXES && d.form != COARSE)
		add_way(e, &w, &d, d.form, d.tile);
	if (of_rows(&d))
		return w;
	for (int i = 0; i < 4; i++) {
		static const int halves[] = { 1, 4, 8, 3 };

		d = *usual;
		d.chunk = usual->chunk * halves[i] / 2;
		d.tiles = TILES * halves[i] / 2;
		add_way(e, &w, &d, d.form, d.tile);
	}
	return w;
}

/* Pixels of a block.  Images of few channels are computed in strips of a row (vconv.h), few of which are short where a
 * block is whole rows, or an equal part of one; pixels of a strip lie as far apart as the dilation says. */
static int
block_rows(Plan *p, const Dense *d)
{
	const int64_t *g = d->geometry, ow = g[5];
	const int64_t most = CHUNK * (g[10] == 1 && g[14] <= DILATED ? g[14] : 1), parts = (ow + most - 1) / most;

	if (d->form == COARSE)
		return 4 * CHUNK;
	if (d->form != IN_PANELS || d->volume || d->k >= STRIP_INPUTS)
		return CHUNK;
	return (int)(p->dynamic ? most : ow <= most ? most / ow * ow : (ow + parts - 1) / parts);
}

/* How it is computed: the usual way, or that which was measured or recorded. */
static const char *
choose_form(Emit *e, Plan *p, Dense *d)
{
	const After none = { .epilogue.name = "0" };
	const Dense plain = *d;
	const char *name = comment_of(e, d, &none);
	Ways w;
	int taken;

	d->tiles = TILES;
	d->form = usual_form(e, p, d);
	d->chunk = block_rows(p, d);
	if (!e->tuning)
		return NULL;
	w = ways_of(e, &plain, d);
	taken = tuned_way(e, name, &w.names);
	for (int i = 1; i < w.at.n; i++)
		if (plan_choice(p, i == taken))
			*d = w.at.at[i];
	return name;
}

/* The cost of one launch; of an epilogue the bytes count, but not the flops. */
static Counts
work_of(const Emit *e, Plan *p, const Dense *d, const After *after)
{
	const int64_t taps = taps_of(d), out = d->n * d->groups,
		      in = d->form == BY_TAPS ? d->n : d->k * d->groups;
	const double products = d->form == IN_BOXES ? box_products(d) : d->form != WINOGRAD ? (double)(taps * d->m) :
			       winograd_elements(d->tile) * (double)winograd_tiles(d, d->tile);
	const double columns = (double)(out * d->k),
		     weights = (double)(d->form == WINOGRAD ? winograd_elements(d->tile) : taps) * columns;
	const int bits = d->form == COARSE ? d->coarse->bits : 32;
	const double moved = (double)(pixels_of(d) * in + d->m * out);
	const ValueVec *more = &after->epilogue.more;
	double others = 0;

	for (int i = 0; i < more->n; i++)       /* tensors and numbers */
		others += plan_tensor(p, more->at[i]) ? 4 * (double)rt_numel(plan_tensor(p, more->at[i])) : 0;
	return (Counts){ .form = forms[d->form].name, .what = comment_of(e, d, after), .flops = 2 * products * columns,
		       .bytes = 4 * moved + bits / 8. * weights + others };
}

/* Rows of sums that lie apart at a time. */
static int
apart_rows(const Dense *d)
{
	const int64_t rows = APART_BYTES / (4 * d->n * d->groups) / STEP * STEP;

	return rows < STEP ? STEP : rows > CHUNK ? CHUNK : (int)rows;
}

static int64_t
apart_scratch(const Dense *d)
{
	return apart_rows(d) * d->n * d->groups * 4;
}

/* As vc_winograd divides it: planes of an odd number of 16 floats. */
static int64_t
winograd_scratch(Plan *p, const Dense *d)
{
	const int64_t tiles = block_tiles(p, d);

	return winograd_elements(d->tile) * ((tiles * d->k | 16) + (tiles * d->n | 16)) * 4;
}

static void
put_geometry(Body *b, const Dense *d, const char *name, const After *after)
{
	const int64_t *g = d->geometry;
	const Member member[] = {
		{ "n", g[0] }, { "h", g[1] }, { "w", g[2] }, { "ic", g[3] }, { "oh", g[4] }, { "ow", g[5] },
		{ "oc", g[6] }, { "kh", g[7] }, { "kw", g[8] }, { "sh", g[9] }, { "sw", g[10] }, { "ph", g[11] },
		{ "pw", g[12] }, { "dh", g[13] }, { "dw", g[14] }, { "xs", g[15] }, { "ys", d->ldc },
		{ "groups", d->groups },
		{ "d", g[16] }, { "od", g[17] }, { "kd", g[18] }, { "sd", g[19] }, { "pd", g[20] }, { "dd", g[21] },
	};
	const int n = sizeof member / sizeof *member - (d->volume ? 0 : 6);
	const char *range = after->range[0] ? ".range = range, " : "";

	body_struct(b, arena_printf(b->p->cx->arena, "static const VcConv %s", name), member, n,
		    arena_printf(b->p->cx->arena, "%s%s", range, d->volume ? "" : "VC_IMAGE"));
}

static void
put_winograd(Body *b, Plan *p, const Dense *d, int step, const char *epilogue)
{
	out_line(&b->out, "float *scratch = rt_thread_scratch(%s);", body_number(b, "scratch", winograd_scratch(p, d)));
	out_blank(&b->out);
	out_line(&b->out, "if (scratch)");
	out_line(&b->out, "\tvc_winograd(%d, begin, end, %d, &v, %s, p[1], p[2], p[3], p[0], scratch, %s, p);", d->tile,
		 step, body_number(b, "tiles", block_tiles(p, d)), epilogue);
}

static void
put_product(Body *b, const Dense *d, int step, const After *after)
{
	const char *m = body_number(b, "m", d->m), *groups = body_number(b, "groups", d->groups);
	const char *n = body_number(b, "n", d->n), *k = body_number(b, "k", d->k);
	const char *lda = body_number(b, "lda", d->lda), *ldc = body_number(b, "ldc", d->ldc);

	out_line(&b->out, "vc_product(begin, end, %d, %s, %s, %s, %s, %d, p[1], %s, p[2], p[3], p[0], %s, %s, %s, p);",
		 step, m, groups, n, k, d->chunk, lda, ldc, after->range[0] ? "range" : "0", after->epilogue.name);
}

/* Weights of boxes but for the first one stand behind the zeros, before what the epilogue reads. */
static void
put_boxes(Body *b, const Dense *d, int step, const After *after)
{
	for (int i = 0; i < d->nbox; i++) {
		const Dense one = box_dense(d, &d->box[i]);

		put_geometry(b, &one, arena_printf(b->p->cx->arena, "v%d", i), after);
	}
	out_line(&b->out, "float *const y = p[0];");
	out_line(&b->out, "const float *const x = p[1], *const bias = p[3];");
	out_blank(&b->out);
	for (int i = 0; i < d->nbox; i++) {
		const Box *at = &d->box[i];
		const char *from = body_number(b, "from", at->from[BOX_CHANNELS]);
		const char *first = body_number(b, "first", at->first);

		out_line(&b->out, "vc_conv(begin, end, %d, &v%d, %d, x + %s, p[%d], bias ? bias + %s : 0, y + %s, "
			 "p[4], 0, p);", step, i, d->chunk, from, i ? 4 + i : 2, first, first);
	}
	if (strcmp(after->epilogue.name, "0")) {
		const char *m = body_number(b, "m", d->m), *n = body_number(b, "n", d->n);

		out_line(&b->out, "%s(p, begin * %d, end * %d < %s ? end * %d : %s, 0, %s, %s);",
			 after->epilogue.name, step, step, m, step, m, n, n);
	}
}

/* The result lies over what the epilogue reads: a block's sums are elsewhere, as if they were all sums. */
static void
put_apart(Body *b, const Dense *d, const After *after)
{
	const long long columns = d->n * d->groups;
	const int units = d->chunk / STEP;
	const char *more = "";

	for (int i = 0; i < after->epilogue.more.n; i++)
		more = arena_printf(b->p->cx->arena, "%s p[%d],", more, 5 + i);
	if (d->form != BY_PRODUCT)
		put_geometry(b, d, "v", after);
	out_line(&b->out, "float *const sums = rt_thread_scratch(%lld);", (long long)apart_scratch(d));
	out_blank(&b->out);
	out_open(&b->out, "for (int64_t at = begin; sums && at < end; at += %d)", units);
	out_line(&b->out, "const int64_t to = at + %d < end ? at + %d : end;", units, units);
	out_line(&b->out, "float *const all = sums - at * %lld;", STEP * columns);
	out_line(&b->out, "void *const q[] = { p[0], p[1], p[2], p[3], p[4],%s all };", more);
	out_blank(&b->out);
	if (d->form == BY_PRODUCT)
		out_line(&b->out, "vc_product(at, to, %d, %lld, %lld, %lld, %lld, %d, p[1], %lld, p[2], p[3], all, "
			 "%lld, 0, %s, q);", STEP, (long long)d->m, (long long)d->groups, (long long)d->n,
			 (long long)d->k, d->chunk, (long long)d->lda, columns, after->epilogue.name);
	else
		out_line(&b->out, "vc_conv(at, to, %d, &v, %d, p[1], p[2], p[3], all, p[4], %s, q);", STEP, d->chunk,
			 after->epilogue.name);
	out_close(&b->out);
}

/* What vcoarse.h calls it. */
static const char *
coarse_type(const Coarse *c)
{
	return c->bits == 16 ? c->half == RT_bf16 ? "bf16" : "f16" : c->bits == 8 ? "int8" : "int4";
}

static void
put_coarse(Body *b, const Dense *d, const After *after)
{
	const Member member[] = {
		{ "m", d->m }, { "n", d->n }, { "k", d->k }, { "lda", d->lda }, { "ldc", d->ldc },
		{ "group", d->coarse->group }, { "centred", d->coarse->centred }, { "chunk", d->chunk },
	};

	body_struct(b, "static const VkProduct v", member, sizeof member / sizeof *member,
		    after->range[0] ? ".range = range" : "");
	out_line(&b->out, "const VkWeights w = { p[2], p[4] };");
	out_blank(&b->out);
	out_line(&b->out, "vk_product_%s(begin, end, &v, p[1], &w, p[3], p[0], %s, p);", coarse_type(d->coarse),
		 after->epilogue.name);
}

/* p[0] result, p[1] input, p[2] weights, p[3] bias, p[4] zeros, or scales, p[5..] what the epilogue reads. */
static void
put_kernel(Body *b, Plan *p, const Dense *d, int step, const After *after)
{
	const char *epilogue = after->epilogue.name, *across = step ? arena_printf(p->cx->arena, "%d", step) : "v.ow";

	if (after->epilogue.apart) {
		put_apart(b, d, after);
		return;
	}
	if (after->range[0])
		out_line(&b->out, "static const float range[] = { %s, %s };", after->range[0], after->range[1]);
	if (d->form == COARSE) {
		put_coarse(b, d, after);
		return;
	}
	if (d->form == BY_PRODUCT || d->form == IN_BOXES) {
		(d->form == BY_PRODUCT ? put_product : put_boxes)(b, d, step, after);
		return;
	}
	put_geometry(b, d, "v", after);
	out_blank(&b->out);
	if (d->form == WINOGRAD)
		put_winograd(b, p, d, step, epilogue);
	else if (d->form == BY_TAPS)
		out_line(&b->out, "vc_depthwise(begin, end, %s, &v, p[1], p[2], p[3], p[0], %s, p);", across, epilogue);
	else if (of_rows(d))
		out_line(&b->out, "%s(begin, end, %s, &v, p[1], p[2], p[3], p[0], p[4], %s, p);",
			 forms[d->form].micro, across, epilogue);
	else
		out_line(&b->out, "%s(begin, end, %d, &v, %d, p[1], p[2], p[3], p[0], p[4], %s, p);",
			 forms[d->form].micro, step, d->chunk, epilogue);
}

static int64_t
units(const Emit *e, Plan *p, const Dense *d, int step)
{
	const int64_t *g = d->geometry, panels = (d->n + e->nr - 1) / e->nr * d->groups;

	if (of_rows(d))
		return g[0] * g[OUT_FRAMES] * g[4] * (step ? plan_ceil(p, g[5], step) : 1);
	if (step && d->form == WINOGRAD)
		return plan_ceil(p, g[0] * plan_ceil(p, g[4], d->tile) * plan_ceil(p, g[5], d->tile), step);
	if (step)
		return plan_ceil(p, d->m, step);
	return d->form == WINOGRAD ? panels : panels * plan_ceil(p, d->m, d->chunk);
}

/* "weight_hh, in panels" */
static const char *
packed_name(const Emit *e, const Dense *d)
{
	const char *name = d->weight->name ? d->weight->name->name : "weight";

	return arena_printf(e->cx->arena, "%s, %s", name, forms[d->form].packed);
}

/* The zeros that taps in the padding read; null where a form does not look up taps one by one. */
static KernelArg
zeros_of(Emit *e, const Dense *d)
{
	const int64_t all = d->k * d->groups, n = d->form != IN_GROUPS ? d->k : all > e->vf ? all : e->vf;

	if (d->form == COARSE && d->coarse->bits == 16)
		return (KernelArg){ .text = "0", .what = "no scales" };
	if (d->form == COARSE)
		return (KernelArg){ .text = arena_printf(e->cx->arena, "(kiln_weights + %lld)",
				    (long long)d->coarse->scales), .what = "scales" };
	if (d->form == BY_PRODUCT || d->form == WINOGRAD || d->form == BY_TAPS)
		return (KernelArg){ .text = "0", .what = "no padding" };
	if (e->zeros < n)
		e->zeros = n;
	return (KernelArg){ .text = "kiln_zeros", .what = "for what lies in the padding" };
}

/* A finite number as a float constant; null: it is not one. */
static const char *
float_text(Plan *p, const Ref *r)
{
	const IValue v = r->number;
	const double f = v.tag == RT_DOUBLE ? v.u.f : v.tag == RT_INT ? (double)v.u.i : 0;

	if (r->kind != REF_NUMBER || (v.tag != RT_DOUBLE && v.tag != RT_INT) || f - f != 0)
		return NULL;
	return arena_printf(p->cx->arena, "(float)%.17g", f);
}

/* Is the group nothing but a clamp? lo and hi: its bounds, as C. */
static bool
is_clamp(Plan *p, const Node *group, const Value *made, const char *range[2])
{
	const Let *only;
	Lowered l;

	if (!lower_epilogue(p, group, made, false, &l) || l.kernel->let.n != 1)
		return false;
	only = &l.kernel->let.at[0];
	if (only->op->row == ROW_relu || only->op->row == ROW_relu6) {
		range[0] = "0";
		range[1] = only->op->row == ROW_relu6 ? "6" : "KILN_INF";
	} else if (only->op->row == ROW_hardtanh && float_text(p, &only->arg[1]) && float_text(p, &only->arg[2])) {
		range[0] = float_text(p, &only->arg[1]);
		range[1] = float_text(p, &only->arg[2]);
	}
	return range[0] != NULL;
}

/* Describes the launch as a sum of products, with its epilogue: the group, or null. */
static void
describe(KernelCall *call, Plan *p, const Node *n, const Node *group, const Dense *d)
{
	const int64_t *g = d->geometry, *s = d->w->strides, row = d->conv || d->transposed ? 0 : 1;
	Lowered after;
	const int64_t channel = d->form == BY_TAPS, bias = d->bias ? d->bias->strides[0] : 0;
	const bool follows = group && lower_epilogue(p, group, n->out[0], true, &after);
	Contract c;

	contract_begin(&c, p, n, RT_f32, d->bias != NULL);
	if (d->conv)
		contract_axis(&c, g[0], false, (int64_t[4]){ d->m / g[0] * d->ldc, pixels_of(d) / g[0] * d->lda });
	else
		contract_axis(&c, d->m, false, (int64_t[4]){ d->ldc, d->lda });
	if (d->conv)
		contract_windows(&c, &d->v, false);
	contract_axis(&c, d->groups, false, (int64_t[4]){ d->n, d->k, d->n * s[row], d->n * bias });
	contract_axis(&c, d->n, false, (int64_t[4]){ 1, channel, s[row], bias });
	contract_axis(&c, d->k, true, (int64_t[4]){ 0, 1, s[!row] });
	if (d->conv)
		contract_windows(&c, &d->v, true);
	contract_call(call, &c, follows ? &after : NULL, 1 + d->v.places, forms[d->form].micro);
}

static void
pass(Emit *e, KernelCall *call, const Dense *d, const Value *result)
{
	/* panels of the last group, or box, reach beyond the end of the bias */
	const int64_t past = d->form == IN_BOXES ? e->nr : d->groups > 1 ? e->vf : 0;
	const bool boxes = d->form == IN_BOXES;
	const KernelArg args[] = {
		{ .value = result }, { .value = d->x },
		{ .text = boxes ? packed_box(e, d, &d->box[0]) : packed(e, d), .what = packed_name(e, d) },
		{ .text = d->bias ? pack_vector(e, d->bias, d->n * d->groups, past) : "0",
		  .what = d->bias ? "bias" : "no bias" },
		zeros_of(e, d),
	};

	for (size_t i = 0; i < sizeof args / sizeof *args; i++)
		vec_push(e->cx->arena, &call->args, args[i]);
	for (int i = 1; boxes && i < d->nbox; i++)
		vec_push(e->cx->arena, &call->args, ((KernelArg){ .text = packed_box(e, d, &d->box[i]),
								  .what = packed_name(e, d) }));
}

/* The kernel of a dense node; `group`: the pointwise group that is its epilogue, or null. */
bool
emit_dense(Emit *e, Plan *p, const Node *n, const Node *group, KernelCall *call)
{
	After *after = new(e->cx->arena, After, 1);
	const ValueVec *more = &after->epilogue.more;
	const Value *result = group ? group->out[0] : n->out[0];
	Body body;
	const char *tuned;
	Dense d;
	int step;

	if (!dense_take(p, n, &d))
		return false;
	after->epilogue.name = "0";
	after->epilogue.apart = group && plan_buffer(p, result)->over;
	tuned = after->epilogue.apart ? NULL : choose_form(e, p, &d);
	if (after->epilogue.apart)
		d.chunk = apart_rows(&d);
	if (group && !is_clamp(p, group, n->out[0], after->range) &&
	    !emit_epilogue(e, p, group, n->out[0], 5 + (d.form == IN_BOXES ? d.nbox - 1 : 0), &after->epilogue))
		return false;
	e->clamps |= after->range[0] != NULL;
	e->volumes |= d.volume;
	e->dilated |= d.form == IN_PANELS && d.k < STRIP_INPUTS && d.geometry[14] > 1;
	if (d.form == COARSE)
		coarse_pack(e, d.w, packing(e, &d), d.coarse);
	if (d.form == BY_PRODUCT || d.form == COARSE || d.form == WINOGRAD)
		emit_tall(e, p, d.form == WINOGRAD ? INT64_MAX : d.m, d.form == COARSE ? INT64_MAX : d.k);
	p->streamed += d.m <= FEW_ROWS ? d.n * d.groups * d.k * (d.form == COARSE ? d.coarse->bits : 32) / 8 : 0;
	step = after->epilogue.apart ? STEP : step_of(e, p, &d);
	*call = (KernelCall){ .n = units(e, p, &d, step), .grain = 1, .work = work_of(e, p, &d, after), .tuned = tuned,
			      .scratch = d.form == WINOGRAD ? winograd_scratch(p, &d) :
					 after->epilogue.apart ? apart_scratch(&d) : 0 };
	body = body_begin(p);
	body.made.epilogue = after->epilogue.kernel ? &after->epilogue : NULL;
	put_kernel(&body, p, &d, step, after);
	emit_body(e, d.conv ? "conv" : "product", comment_of(e, &d, after), &body, call);
	pass(e, call, &d, result);
	for (int i = 0; i < more->n; i++)
		vec_push(e->cx->arena, &call->args, ((KernelArg){ .value = more->at[i] }));
	describe(call, p, n, group, &d);
	return true;
}
