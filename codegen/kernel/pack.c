/*
 * Weights in the form that kernels read (rt/ops/vblock.h): panels of columns, transformed filters, padded vectors.
 *
 * A panel has `width` columns side by side: [panel][tap][k][column].  This is a permutation.  If the packed parts cover
 * a storage of the model, the original is not stored, and the program unpacks it when generic code, or a call of
 * the runtime, reads it.
 * Specializations share packed weights.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

typedef double WinoWide;
#include "../../rt/ops/vfilter.h"
#include "../../rt/ops/vint8.h"

enum { BLOCK = 16 };             /* block along k: a cache line of each column */

/* Is the last unit of work of n columns filled up with empty columns? As VC_IS_WHOLE of vblock.h. */
static bool
last_unit_is_whole(const Emit *e, int64_t n)
{
	return n > 0 && (e->nr - 1 - (n - 1) % e->nr) * 16 < n;
}

/* Returns the width of the last panel, as VC_UNIT_COLUMNS and, for products, VC_COLUMNS of vblock.h. */
int64_t
panel_last(const Emit *e, int64_t n, int vector)
{
	const int64_t left = n ? (n - 1) % e->panel + 1 : 0;

	RT_ASSERT(n >= 0 && vector > 0);
	return last_unit_is_whole(e, n) ? e->panel : (left + vector - 1) / vector * vector;
}

/* Returns the columns of all panels, including empty ones of the last unit of work. */
static int64_t
columns_of(const Emit *e, const RtPacking *p)
{
	if (p->width == e->panel && last_unit_is_whole(e, p->n))
		return (p->n + e->nr - 1) / e->nr * e->nr;
	return p->n ? (p->n - 1) / p->width * p->width + p->last : 0;
}

/* Adds n floats to the weights, frees them, and returns their address as a C expression. */
static const char *
add_weights(Emit *e, WeightForm form, float *at, int64_t n)
{
	const int64_t offset = weights_add(&e->weights, form, at, n * (int64_t)sizeof *at);

	free(at);
	return arena_printf(e->cx->arena, "(kiln_weights + %lld)", (long long)offset);
}

static float *
zeros(int64_t n)
{
	float *at = calloc((size_t)n + 1, sizeof *at);

	if (!at)
		out_of_memory();
	return at;
}

/* Returns the floats of the tensor's storage. If it has 16-bit numbers, they are valid until widened_trim. */
static const float *
data_of(Emit *e, const RtTensor *t)
{
	widened_fill(e->cx, t->storage);
	return (const float *)t->storage->data;
}

/* ---- panels ------------------------------------------------------------------------------------------------------ */

static void
fill_panels(const RtPacking *p, const float *from, float *to)
{
	for (int64_t col = 0; col < p->n; col += p->width) {
		const int64_t left = p->n - col, width = left >= p->width ? p->width : p->last,
			      some = left < width ? left : width;

		for (int64_t t = 0; t < p->taps; t++, to += p->k * width)
			for (int64_t k = 0; k < p->k; k += BLOCK)
				for (int64_t j = 0; j < some; j++) {
					const float *at = from + rt_packing_place(p, col + j, 0, t);

					for (int64_t i = k; i < k + BLOCK && i < p->k; i++)
						to[i * width + j] = at[i * p->sk];
				}
	}
}

/* Returns the offset in floats of group i if `together` groups share a panel. 1: each group has its own panels. */
static int64_t
group_at(const Emit *e, const RtPacking *p, int64_t together, int64_t i)
{
	return i / together * columns_of(e, p) * p->k * p->taps + i % together * p->n;
}

/* Panels in the weights. */
typedef struct Panels {
	int64_t at, n;           /* offset in bytes in the weights; number of elements */
	int     half;            /* 16-bit dtype of the elements; 0 for floats */
	bool    read;            /* whether kernels read them in this form */
	const char *text;        /* C expression for the floats that kernels read */
} Panels;

/* Adds n floats to the weights. Equal floats share panels. A 16-bit copy may have the same bytes as one of another
 * dtype. */
static Panels *
add_panels(Emit *e, WeightForm form, const float *all, int64_t n)
{
	const int half = halves_are_made(e, n) ? halves_type(all, n) : 0;
	const int64_t at = half ? halves_add(e, form, half, all, n) :
		weights_add(&e->weights, form, all, n * (int64_t)sizeof *all);
	const char *key = arena_printf(e->cx->arena, "packed %lld %lld %d", (long long)at, (long long)n, half);
	Panels *panels = map_get(&e->kernel_names, key);

	if (!panels) {
		panels = new(e->cx->arena, Panels, 1);
		*panels = (Panels){ .at = at, .n = n, .half = half };
		map_put(&e->kernel_names, key, panels);
	}
	return panels;
}

/* Notes the offset of each group. */
static void
note_panels(Emit *e, const Panels *panels, const RtTensor *w, RtPacking p, int64_t groups, int64_t together)
{
	const int size = panels->half ? 2 : 4;

	p.from = panels->half;
	for (int64_t i = 0; i < groups; i++, p.to += p.n * (int64_t)p.sn) {
		p.at = panels->at + group_at(e, &p, together, i) * size;
		weights_note(&e->weights, w->storage, p);
	}
}

static Panels *
panels_of(Emit *e, WeightForm form, const RtTensor *w, RtPacking p, int64_t groups, int64_t together)
{
	const char *key = arena_printf(e->cx->arena, "panels %p %lld %d %d %d %d %d %d %d %d %d %d %lld",
				       (const void *)w->storage, (long long)p.to, p.n, p.k, p.taps, p.width, p.last,
				       p.sn, p.sk, p.sr, p.ss, p.sd, (long long)together);
	Panels *panels = map_get(&e->kernel_names, key);
	const int64_t n = group_at(e, &p, together, (groups + together - 1) / together * together);
	RtPacking group = p;
	float *all;

	if (panels)
		return panels;
	all = zeros(n);
	for (int64_t i = 0; i < groups; i++, group.to += p.n * (int64_t)p.sn)
		fill_panels(&group, data_of(e, w), all + group_at(e, &p, together, i));
	weights_read(e, w);
	panels = add_panels(e, form, all, n);
	free(all);
	map_put(&e->kernel_names, key, panels);
	note_panels(e, panels, w, p, groups, together);
	return panels;
}

/* Notes that the program computes so many floats from the panels when it is opened. Returns a C expression of their
 * address. */
static const char *
make(Emit *e, Panels *panels, RtMaking row, int64_t floats)
{
	e->made_bytes += -e->made_bytes & (WEIGHTS_LINE - 1);
	row.from = panels->at;
	row.to = e->made_bytes;
	row.floats = panels->n;
	row.half = panels->half;
	vec_push(e->cx->arena, &e->making, row);
	vec_push(e->cx->arena, &e->made_of, panels);
	e->made_bytes += floats * (int64_t)sizeof(float);
	return arena_printf(e->cx->arena, "(cx->made + %lld)", (long long)row.to);
}

const char *
pack_panels(Emit *e, WeightForm form, const RtTensor *w, RtPacking p, int64_t groups, int64_t together)
{
	Panels *panels = panels_of(e, form, w, p, groups, together);

	if (!panels->text)
		panels->text = panels->half ? make(e, panels, (RtMaking){ 0 }, panels->n) :
			arena_printf(e->cx->arena, "(kiln_weights + %lld)", (long long)panels->at);
	panels->read |= !panels->half;
	return panels->text;
}

/* ---- Winograd ---------------------------------------------------------------------------------------------------- */

int
winograd_elements(int tile)
{
	return (tile + 2) * (tile + 2);
}

static void
transform(int tile, const RtTensor *w, int64_t n, int64_t k, double *u)
{
	const float *from = (const float *)w->storage->data + w->offset + n * w->strides[0] + k * w->strides[1];
	double g[9];

	for (int i = 0; i < 9; i++)
		g[i] = from[i / 3 * w->strides[2] + i % 3 * w->strides[3]];
	wino_filter(tile, g, u);
}
WINO_END

/* Stores transformed filters: [element][panel][k][width]. Each filter is transformed once. */
static const char *
store_filters(Emit *e, int tile, const RtTensor *w, const RtPacking *p)
{
	const int64_t plane = columns_of(e, p) * p->k, elements = winograd_elements(tile);
	float *const u = zeros(elements * plane), *at = u;

	data_of(e, w);
	for (int64_t col = 0; col < p->n; col += p->width) {
		const int64_t left = p->n - col, width = left >= p->width ? p->width : p->last;

		for (int64_t k = 0; k < p->k; k++, at += width)
			for (int64_t j = 0; j < width && j < left; j++) {
				double filter[WINO_MOST * WINO_MOST];

				transform(tile, w, col + j, k, filter);
				for (int x = 0; x < elements; x++)
					at[x * plane + j] = (float)filter[x];
			}
	}
	weights_read(e, w);
	return add_weights(e, WEIGHT_WINOGRAD, u, elements * plane);
}

/* Notes that the program transforms the filters in panels when it is opened (rt/ops/vwino.h), once for equal panels. */
static const char *
make_filters(Emit *e, int tile, const RtTensor *w, const RtPacking *p)
{
	Panels *panels = panels_of(e, WEIGHT_PANELS, w, *p, 1, 1);
	const char *key = arena_printf(e->cx->arena, "made %d %lld %d %d", tile, (long long)panels->at, p->n,
				       panels->half),
		   *text = map_get(&e->kernel_names, key);
	const RtMaking row = { .n = p->n, .k = p->k, .panels = (columns_of(e, p) + p->width - 1) / p->width,
			       .tile = tile };

	if (!text) {
		text = make(e, panels, row, winograd_elements(tile) * columns_of(e, p) * p->k);
		map_put(&e->kernel_names, key, (void *)(uintptr_t)text);
	}
	return text;
}

int64_t
pack_finish(Emit *e)
{
	int64_t sum = 0;

	for (int i = 0; i < e->making.n; i++) {
		Panels *panels = e->made_of.at[i];

		if (!panels->read)
			sum += e->making.at[i].alone = panels->n * (panels->half ? 2 : 4);
		panels->read = true;                    /* so the panels' memory is freed only once */
	}
	return sum;
}

const char *
pack_winograd(Emit *e, int tile, const RtTensor *w, RtPacking p)
{
	const char *key = arena_printf(e->cx->arena, "winograd %d %p", tile, (const void *)w),
		   *text = map_get(&e->kernel_names, key);

	if (!text) {
		text = e->forms == FORMS_MADE ? make_filters(e, tile, w, &p) : store_filters(e, tile, w, &p);
		map_put(&e->kernel_names, key, (void *)(uintptr_t)text);
	}
	return text;
}

/* ---- 8-bit integers ---------------------------------------------------------------------------------------------- */

/* Notes that the weights contain groups of w in packed form. If each run is a multiple of VI_QUAD, the layout is an
 * RtPacking. */
static void
note_bytes(Emit *e, const RtTensor *w, int64_t at, const ViConv *v)
{
	const int64_t *s = w->strides;
	const int rows = w->ndim - 2;                    /* dim of the rows of taps */
	const bool windows = w->ndim >= 4, follow = w->ndim < 5 || s[2] == w->dims[3] * s[3];
	RtPacking p = { .at = at, .to = w->offset, .n = (int32_t)v->oc, .k = (int32_t)v->ic,
			.taps = (int32_t)vi_window(v), .kw = (int32_t)v->kw, .width = VI_COLUMNS, .last = VI_COLUMNS,
			.sn = (int32_t)s[0], .sk = (int32_t)s[1], .sr = windows ? (int32_t)s[rows] : 0,
			.ss = windows ? (int32_t)s[rows + 1] : 0, .quad = VI_QUAD };

	for (int64_t g = 0; g < v->groups && follow && v->ic % VI_QUAD == 0; g++) {
		weights_note(&e->weights, w->storage, p);
		p.to += v->oc * s[0];
		p.at += vi_columns(v) * v->ic * vi_window(v);
	}
}

/* Adds bytes to the weights. Returns their C. */
static const char *
add_bytes(Emit *e, WeightForm form, const void *bytes, int64_t n, int64_t *at)
{
	*at = weights_add(&e->weights, form, bytes, n);
	return arena_printf(e->cx->arena, "(kiln_weights + %lld)", (long long)*at);
}

void
pack_int8(Emit *e, const RtTensor *w, const ViConv *v, const char *packed[2])
{
	const int64_t channels = v->groups * v->oc, *s = w->strides;
	ptrdiff_t stride[5] = { s[0], s[1] };
	int8_t *const panels = new(e->cx->arena, int8_t, vi_packed(v));
	int32_t *const start = new(e->cx->arena, int32_t, channels);
	int64_t at;

	for (int i = 2; i < w->ndim; i++)
		stride[5 - w->ndim + i] = s[i];
	vi_pack(v, (const int8_t *)rt_data(w), stride, panels, start);
	packed[1] = add_bytes(e, WEIGHT_BIAS, start, channels * (int64_t)sizeof *start, &at);
	packed[0] = add_bytes(e, WEIGHT_PANELS, panels, vi_packed(v), &at);
	if (!vi_is_depthwise(v))
		note_bytes(e, w, at, v);
	e->int8 = true;
}

/* ---- vectors ----------------------------------------------------------------------------------------------------- */

const char *
pack_vector(Emit *e, const RtTensor *t, int64_t n, int64_t past)
{
	const int64_t padded = (n + past + e->nr - 1) / e->nr * e->nr;
	const float *from = data_of(e, t);
	float *at = zeros(padded);

	for (int64_t i = 0; i < n; i++)
		at[i] = from[t->offset + i * t->strides[0]];
	widened_trim(e->cx);
	return add_weights(e, WEIGHT_BIAS, at, padded);
}
