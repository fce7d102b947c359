/*
 * Chooses the form in which a product or convolution with constant weights is computed, and its blocks.
 *
 * Several forms may be possible.  Measured costs, the sizes and the processor predict the fastest one.  --tune measures
 * the others, too.  If sizes depend on symbols, their typical values count.  All forms are correct for all sizes.
 */
#include "dense.h"

#include <string.h>

enum {
	WINOGRAD_LEAST = 16, /* fewest channels for which Winograd's savings exceed the cost of its transforms */
	APART_BYTES = 2048,      /* bytes of scratch memory for sums of a block (Dense.apart) */
	TILES = 72,              /* 4 x 4 Winograd tiles of a block that fit in the second-level cache */
	FEW_STEPS = 8,           /* fewest blocks of rows that divide well among threads */
	FEW_PANELS = 4,          /* fewest panels that divide well among threads */
	MEMORY_FLOPS = 6,        /* flops of a core for each byte from memory: 190 GFLOP/s, 31 GB/s */
	NEAR_BYTES = 1 << 20,    /* most bytes of weights that stay in a cache between blocks */
	NEAR_FLOPS = 2,          /* flops of a core for each byte from that cache */
	CACHE_FLOPS = 4,         /* flops for each byte that Winograd's transforms read or write */
	CALL_FLOPS = 2000,       /* cost of a product's begin and end, for each CALL_COLUMNS columns */
	CALL_COLUMNS = 64,
	ROW_INPUTS = 64, WIDE_INPUTS = 192,     /* most input channels of IN_ROWS; the same with vectors of 16 floats */
	ROW_PIXELS = 4,          /* fewest pixels of a row for IN_ROWS */
	FEW_INPUTS = 8, /* up to this many input channels, at stride 2, IN_PANELS takes 0.70 to 0.94 of IN_ROWS' time */
	/* up to this many, for windows other than three columns wide, IN_ROWS takes up to 1.4 of IN_PANELS' time */
	BESIDE_INPUTS = 4,
	LANES_MOST = 12,         /* most output channels of IN_LANES */
	LANES_SUM = 20,          /* cost of summing lanes, in products of vectors */
	DILATED = 64,            /* largest dilation for which a strip's block grows with the dilation */
	PIECE = 56,              /* pixels of a unit of work if rows are few */
};

const FormText dense_forms[] = {
	[IN_PANELS] = { "in panels", "in panels" },
	[BY_PRODUCT] = { "in panels", "in panels" },
	[WINOGRAD] = { "winograd", "transformed and in panels" },
	[BY_TAPS] = { "by taps", "by taps" },
	[IN_LANES] = { "in lanes", "by channel" },
	[IN_GROUPS] = { "in groups", "in panels of groups" },
	[IN_ROWS] = { "in rows", "in panels" },
	[COARSE] = { "of few bits", "of few bits" },
};

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* The size, or its typical value. */
static int64_t
typical_number(const Kernel *k, const Size *s)
{
	int64_t n;

	if (!kernel_typical(k, s, &n))
		BUG("%s: a size has no typical value", k->name);
	return n;
}

/* Sets the window. */
static void
set_window(const Kernel *k, Dense *d)
{
	const Operand *x = &k->operand.at[CONTRACT_X], *w = &k->operand.at[CONTRACT_W];
	Windows *v = &d->window;

	for (int i = 0; i < 3; i++)
		v->in[i] = v->out[i] = v->taps[i] = v->step[i] = v->wide[i] = 1;
	for (int i = 0; i < v->places; i++) {
		const Bound *in = &x->bound.at[i];
		const int out = 1 + i, tap = 4 + v->places + i, at = 3 - v->places + i;

		v->in[at] = typical_number(k, in->limit);
		v->out[at] = typical_number(k, k->extent[out]);
		v->taps[at] = typical_number(k, k->extent[tap]);
		v->step[at] = typical_number(k, in->stride[out]);
		v->wide[at] = typical_number(k, in->stride[tap]);
		v->pad[at] = -typical_number(k, in->offset);
		v->w[at] = typical_number(k, w->stride[tap]);
	}
}

/* Sets the default form. */
static void
set_form(const Kernel *k, Dense *d)
{
	bool point = !d->part;

	for (int i = 0; i < 3; i++)
		point &= d->window.taps[i] == 1 && d->window.step[i] == 1 && !d->window.pad[i];
	d->form = point ? BY_PRODUCT : IN_PANELS;
	if (d->window.places && d->groups > 1 && d->k == 1 && d->n == 1) {
		d->form = BY_TAPS;
		d->sn = typical_number(k, k->operand.at[CONTRACT_W].stride[1 + d->window.places]);
		d->n = d->groups;
		d->groups = 1;
	}
}

bool
dense_of(const Kernel *k, Dense *d)
{
	const Operand *w = k->operand.n > CONTRACT_W ? &k->operand.at[CONTRACT_W] : NULL;
	const int oc = k->naxis / 2;

	if (!w || !w->constant || w->dtype != RT_f32 || !kernel_is_contract(k))
		return false;
	*d = (Dense){ .w = w->constant, .window.places = oc - 2, .varies = k->typical, .m = 1,
		      .images = typical_number(k, k->extent[0]), .groups = typical_number(k, k->extent[oc - 1]),
		      .n = typical_number(k, k->extent[oc]), .k = typical_number(k, k->extent[oc + 1]),
		      .sn = typical_number(k, w->stride[oc]), .sk = typical_number(k, w->stride[oc + 1]),
		      .from = w->constant->offset + typical_number(k, w->offset) };
	for (int i = 0; i <= d->window.places; i++)
		d->m *= typical_number(k, k->extent[i]);
	set_window(k, d);
	d->part = d->groups * d->n * d->k * dense_taps(d) != rt_numel(d->w);
	set_form(k, d);
	return true;
}

int64_t
dense_taps(const Dense *d)
{
	return d->window.taps[0] * d->window.taps[1] * d->window.taps[2];
}

int64_t
dense_pixels(const Dense *d)
{
	return d->window.places ? d->images * d->window.in[0] * d->window.in[1] * d->window.in[2] : d->m;
}

RtPacking
dense_packing(const Emit *e, const Dense *d)
{
	const Windows *v = &d->window;
	const bool volume = v->places == 3;
	const int vector = e->vf == 16 && d->form != WINOGRAD ? 8 : e->vf;
	const int64_t wide = d->form == BY_TAPS ? d->n : d->form == IN_LANES ? 1 : d->form == IN_GROUPS ? e->vf : 0;

	return (RtPacking){ .to = d->from, .n = d->n, .k = d->k, .taps = dense_taps(d), .kw = v->taps[WIDTH],
			    .width = wide ? wide : e->panel, .last = wide ? wide : panel_last(e, d->n, vector),
			    .sn = d->sn, .sk = d->sk, .sr = v->w[volume && v->taps[HEIGHT] == 1 ? DEPTH : HEIGHT],
			    .ss = v->w[WIDTH], .kh = volume ? v->taps[HEIGHT] : 0, .sd = volume ? v->w[DEPTH] : 0 };
}

/* Returns the n numbers with the text between them: "3 x 3". */
static const char *
join_numbers(const Emit *e, const int64_t *at, int n, const char *between)
{
	Buf b = { 0 };
	const char *text;

	for (int i = 0; i < n; i++)
		buf_printf(&b, "%s%lld", i ? between : "", (long long)at[i]);
	text = arena_strdup(e->cx->arena, b.at);
	buf_free(&b);
	return text;
}

const char *
dense_comment(const Emit *e, const Dense *d)
{
	const Windows *v = &d->window;
	const int dims = v->places, first = 3 - dims;
	const int64_t to = d->n * d->groups, from = d->form == BY_TAPS ? to : d->k * d->groups;

	if (!dims)
		return arena_printf(e->cx->arena, "product (%lld, %lld) x (%lld, %lld)", (long long)d->m,
				    (long long)d->k, (long long)d->k, (long long)d->n);
	return arena_printf(e->cx->arena, "convolution %s, %lld -> %lld channels%s, (%lld, %s) -> (%s)",
			    join_numbers(e, v->taps + first, dims, " x "), (long long)from, (long long)to,
			    d->groups > 1 ? arena_printf(e->cx->arena, " in %lld groups", (long long)d->groups) : "",
			    (long long)d->images, join_numbers(e, v->in + first, dims, ", "),
			    join_numbers(e, v->out + first, dims, ", "));
}

/* ---- Winograd's form --------------------------------------------------------------------------------------------- */

int64_t
winograd_tiles(const Dense *d, int tile)
{
	return d->images * ((d->window.out[HEIGHT] + tile - 1) / tile) * ((d->window.out[WIDTH] + tile - 1) / tile);
}

/* Estimates a convolution's cost in flops: its products, and its weights, which are read from memory on each call
 * unless they are few. When two costs overlap in time, the smaller one is hidden except for a quarter of it. In the
 * direct form it is hidden completely.
 *
 * Measured time of WINOGRAD over the direct form's, with this estimate in parentheses. 7 x 7 pixels, 2 x 2 tiles: 512
 * channels 0.70 (0.71), 128 channels 0.72 (0.71), 64 channels 0.78 (0.80). 4 x 4 tiles: 512 channels 1.02 (1.08), where
 * the filters had left the caches, 64 channels 0.44 (0.53), 512 channels of 14 x 14 pixels 0.41 (0.40). With few
 * channels, a product's begin and end matter: 32 channels of 7 x 7 0.72 (0.72), 16 of 14 x 14 0.60 (0.90), 16 of 56 x
 * 56 0.45 (0.76). */
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

/* Returns the fastest tile for WINOGRAD. 0 if the direct form is faster. */
static int
best_tile(const Dense *d)
{
	const double large = winograd_cost(d, TILE_LARGE), small = winograd_cost(d, TILE_SMALL);

	return (large <= small ? large : small) >= direct_cost(d) ? 0 : large <= small ? TILE_LARGE : TILE_SMALL;
}

/* Can WINOGRAD compute it? Its transforms process at least eight channels at once. No panel of outputs may have fewer
 * columns than a vector. */
static bool
may_winograd(const Emit *e, const Dense *d)
{
	const Windows *v = &d->window;
	bool plain = v->places == 2 && d->groups == 1;

	for (int i = HEIGHT; i <= WIDTH; i++)
		plain &= v->taps[i] == 3 && v->step[i] == 1 && v->wide[i] == 1;
	return plain && !d->part && d->k >= WINOGRAD_LEAST &&
	       d->n >= WINOGRAD_LEAST && e->vf > 1 && e->forms != FORMS_SMALL && d->k % 8 == 0 &&
	       d->n % 8 == 0 && (d->n % e->nr == 0 || d->n % e->nr >= e->vf);
}

bool
dense_is_winograd(const Emit *e, const Dense *d)
{
	return may_winograd(e, d) && best_tile(d);
}

/* Filters transformed for one call are reused by all calls for which they are faster. A dynamic specialization uses
 * transformed filters only if an exact one has them; none are made only for it. */
static int
choose_tile(Emit *e, const Dense *d)
{
	const char *key = arena_printf(e->cx->arena, "%p %lld", (const void *)d->w->storage, (long long)d->w->offset);
	const int known = (int)(intptr_t)map_get(&e->winograd, key), was = known - 1;
	const int tile = best_tile(d);

	if (d->varies)
		return known ? was : tile;
	if (was > 0 && tile && winograd_cost(d, was) < direct_cost(d))
		return was;
	if (tile || !known)
		map_put(&e->winograd, key, (void *)(intptr_t)(1 + tile));
	return tile;
}

/* ---- the other forms --------------------------------------------------------------------------------------------- */

/* Have the groups at most a vector of output channels and of input channels? One or several are computed side by side
 * (vgroups.h). */
static bool
takes_groups(const Emit *e, const Dense *d)
{
	return d->groups > 1 && 2 * d->n <= e->vf && e->vf / d->n * d->k <= e->vf;
}

/* Are there few input and output channels, so that a run of a row fits in registers (vruns.h)? */
static bool
may_rows(const Emit *e, const Dense *d)
{
	const Windows *v = &d->window;

	return d->form == IN_PANELS && e->vf > 1 && (v->taps[WIDTH] == 3 || (e->vf == 16 && dense_taps(d) > 1)) &&
	       v->step[WIDTH] <= 2 && v->wide[WIDTH] == 1 && d->k <= (e->vf == 16 ? WIDE_INPUTS : ROW_INPUTS) &&
	       d->n <= (e->vf == 16 ? 3 : 2) * e->vf;
}

int
dense_beside(const Dense *d)
{
	const int64_t kw = d->window.taps[WIDTH];

	return kw == 1 ? 1 << 1 : (kw == 2 || kw == 4 ? 0 : 1 << 3) | (kw % 3 ? 1 << 2 : 0) | (kw > 3);
}

/* Is IN_ROWS faster than IN_PANELS? Measured times of IN_ROWS over IN_PANELS, with vectors of 16 floats and windows
 * that are not three columns wide. From 16 input channels on: 0.50 to 0.91 with one vector of output channels, 0.60 to
 * 1.08 with two and three. With fewer, which IN_PANELS computes in strips (vconv.h): 0.87 to 1.05 with one vector, 1.00
 * to 1.13 with more. */
static bool
rows_pay(const Emit *e, const Dense *d)
{
	const int64_t kw = d->window.taps[WIDTH], sw = d->window.step[WIDTH];

	if (kw == 3)
		return sw == 1 || d->k > FEW_INPUTS || (e->vf < 16 && d->n > e->vf && d->k > 1);
	return d->k < STRIP_INPUTS ? kw > 1 && d->k > BESIDE_INPUTS && d->n <= e->vf :
	       d->n <= e->vf || kw != 2 || sw == 1;
}

static bool
takes_rows(const Emit *e, const Dense *d)
{
	return may_rows(e, d) && rows_pay(e, d) && d->window.out[WIDTH] >= ROW_PIXELS;
}

/* Has the convolution at least a vector of input channels, and so few output channels that most lanes of a panel would
 * be empty (vlanes.h)? A panel's vector costs the same however many lanes are used. It costs a sixth less than a vector
 * of IN_LANES. With 16 floats it costs a third more, but in IN_ROWS the same. */
static bool
may_lanes(const Emit *e, const Dense *d)
{
	return d->form == IN_PANELS && d->n <= LANES_MOST && d->k >= e->vf;
}

static bool
takes_lanes(const Emit *e, const Dense *d)
{
	const int64_t taps = dense_taps(d), vectors = taps * d->k * ((d->n + e->vf - 1) / e->vf);
	const int64_t sums = d->n * (taps * ((d->k + e->vf - 1) / e->vf) + LANES_SUM);

	return may_lanes(e, d) && 6 * sums < (e->vf < 16 ? 5 : takes_rows(e, d) ? 6 : 8) * vectors;
}

/* Chooses among the forms that can compute it. */
static Form
usual_form(Emit *e, Dense *d)
{
	const RtPacking packing = dense_packing(e, d);

	/* 16-bit weights that were moved use panels, which record their source. */
	if (d->form == BY_PRODUCT && !d->window.places && (d->coarse = coarse_of(e, d->w, &packing)) &&
	    (d->coarse->bits < 16 || !storage_source(e->cx, d->w->storage)))
		return COARSE;
	if (d->part)
		return d->form;
	if (may_winograd(e, d) && (d->tile = choose_tile(e, d)))
		return WINOGRAD;
	return takes_groups(e, d) ? IN_GROUPS : takes_lanes(e, d) ? IN_LANES : takes_rows(e, d) ? IN_ROWS : d->form;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

bool
dense_by_rows(const Dense *d)
{
	return d->form == BY_TAPS || d->form == IN_GROUPS || d->form == IN_ROWS;
}

/* Returns the tiles of a block, with as many multiplications as d->tiles 4 x 4 tiles. */
static int64_t
most_tiles(const Dense *d)
{
	return d->tiles * winograd_elements(TILE_LARGE) / winograd_elements(d->tile);
}

/* Returns the most tiles of a block. */
static int64_t
block_tiles(const Dense *d)
{
	const int64_t tiles = winograd_tiles(d, d->tile);

	return tiles < most_tiles(d) && !d->varies ? tiles : most_tiles(d);
}

/* Threads divide either activations or weights, the larger ones. Activations are then read by the thread that wrote
 * them, and weights are read once. Few blocks of rows, or few panels, do not divide well. */
static int
step_of(const Emit *e, const Dense *d)
{
	const int64_t taps = dense_taps(d);
	const int64_t columns = d->k * d->groups, panels = (d->n + e->nr - 1) / e->nr * d->groups;
	const int64_t in = dense_pixels(d) * columns, out = d->m * d->n * d->groups;
	const bool few = panels * ((d->m + d->chunk - 1) / d->chunk) < FEW_PANELS;

	if (dense_by_rows(d))
		return (d->m / d->window.out[WIDTH] >= FEW_STEPS) != d->turned ? 0 :
		       PIECE * (int)d->window.wide[WIDTH];
	if (d->form == WINOGRAD)
		return (winograd_tiles(d, d->tile) > most_tiles(d)) != d->turned ? STEP : 0;
	if (d->form == IN_LANES || d->part || d->apart)
		return STEP;
	if (d->form == COARSE)
		return 0;                /* weights are converted to floats only once */
	return ((few || in + out > taps * columns * d->n) && d->m >= FEW_STEPS * STEP) != d->turned ? STEP : 0;
}

/* Returns the pixels of a block. Images of few channels are computed in strips of a row (vconv.h). If a block is whole
 * rows or an equal part of one, few strips are short. Pixels of a strip are as far apart as the dilation. */
static int
block_rows(const Dense *d)
{
	const int64_t wide = d->window.wide[WIDTH];
	const int64_t most = CHUNK * (d->window.step[WIDTH] == 1 && wide <= DILATED ? wide : 1);
	const int64_t ow = d->window.out[WIDTH], parts = (ow + most - 1) / most;

	if (d->form == COARSE)
		return 4 * CHUNK;
	if (d->form != IN_PANELS || d->window.places == 3 || d->k >= STRIP_INPUTS)
		return CHUNK;
	return (int)(d->varies ? most : ow <= most ? most / ow * ow : (ow + parts - 1) / parts);
}

/* ---- ways that --tune measures ----------------------------------------------------------------------------------- */

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
		 arena_printf(e->cx->arena, "%s%s%s%s", dense_forms[form].name,
			      form != WINOGRAD ? "" : tile == TILE_LARGE ? " of 4 x 4" : " of 2 x 2", blocks,
			      d.turned ? ", divided by the other side" : ""));
}

/* Lists the default way, then other forms, then the default form with other blocks. */
static Ways
ways_of(Emit *e, const Dense *plain, const Dense *usual)
{
	Dense d = *usual;
	Ways w = { 0 };

	add_way(e, &w, usual, usual->form, usual->tile);
	if (usual->form != plain->form)
		add_way(e, &w, usual, plain->form, 0);
	for (int tile = TILE_LARGE; tile >= TILE_SMALL && may_winograd(e, plain); tile /= 2)
		if (usual->form != WINOGRAD || usual->tile != tile)
			add_way(e, &w, usual, WINOGRAD, tile);
	if (may_rows(e, plain) && usual->form != IN_ROWS)
		add_way(e, &w, usual, IN_ROWS, 0);
	if (may_lanes(e, plain) && usual->form != IN_LANES)
		add_way(e, &w, usual, IN_LANES, 0);
	d.turned = true;
	if (d.form != IN_LANES && !d.part && d.form != COARSE)
		add_way(e, &w, &d, d.form, d.tile);
	if (dense_by_rows(&d))
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

/* Returns the number of rows of a block whose sums are in scratch memory. */
static int
apart_rows(const Dense *d)
{
	const int64_t rows = APART_BYTES / (4 * d->n * d->groups) / STEP * STEP;

	return rows < STEP ? STEP : rows > CHUNK ? CHUNK : (int)rows;
}

/* Chooses form and blocks. Returns the kernel's key in Tuning, or null. */
static const char *
choose_form(Emit *e, Dense *d)
{
	const Dense plain = *d;
	const char *name;
	Ways w;

	d->tiles = TILES;
	d->form = usual_form(e, d);
	d->chunk = block_rows(d);
	if (!e->tuning)
		return NULL;
	name = dense_comment(e, d);
	w = ways_of(e, &plain, d);
	*d = w.at.at[tuned_way(e, name, &w.names)];
	return name;
}

const char *
dense_choose(Emit *e, Dense *d)
{
	const char *tuned = d->apart ? NULL : choose_form(e, d);

	if (d->apart)
		d->chunk = apart_rows(d);
	d->step = step_of(e, d);
	d->chunk = d->form == WINOGRAD ? (int)block_tiles(d) : d->chunk;
	return tuned;
}
