/*
 * Interpolation of images over the last two dims: nearest, bilinear, bicubic, antialiased.
 *
 * A kernel first computes tables: for each row and column of its part of the result, the inputs that it reads. Then it
 * runs over rows of the result. The inner loop runs along the width, or along the channels of each pixel if these are
 * consecutive in both tensors. Weighted kinds first interpolate rows of the input along the width, and keep those that
 * one row of the result needs (vresize.h).
 */
#include "row.h"

#include <string.h>

typedef struct Resize {
	const RtTensor *x, *y;
	const char *type;        /* C type of an element */
	double  given[2];        /* scale factors of height and width; 0 if not given */
	int64_t align;
	/* whether it is nearest-exact, which samples at pixel centres; whether channels are consecutive, in lanes */
	bool    exact, lanes;
	RowNest nest;    /* operands y, x; the last loop is over the result's rows, and only y has a stride along it */
} Resize;

static const Value *
input_of(const Row *r)
{
	return row_arg(r, node_arg(r->n, "input") ? "input" : "self");
}

/* Reads scale_factors, or scales_h and scales_w. */
static bool
take_scales(const Row *r, Resize *d)
{
	const Value *list = row_arg(r, "scale_factors");
	const Known *k = list ? known_at(r->p->known, list) : NULL;

	if (list && (!k->is || k->v.tag != RT_LIST || k->v.u.list->n != 2))
		return false;
	for (int i = 0; list && i < 2; i++)
		d->given[i] = rt_number(k->v.u.list->v[i]);
	return (!row_arg(r, "scales_h") || row_double(r, "scales_h", &d->given[0])) &&
	       (!row_arg(r, "scales_w") || row_double(r, "scales_w", &d->given[1]));
}

static bool
read_resize(Row *r, Resize *d)
{
	const Value *in = input_of(r);
	const RtTensor *x = in ? plan_tensor(r->p, in) : NULL, *y = row_result(r, 0);

	if (!x || !y || x->quant || x->ndim != 4 || y->ndim != 4 || x->dtype != y->dtype || !rt_numel(x) ||
	    !rt_numel(y) || !take_scales(r, d))
		return false;
	d->x = x;
	d->y = y;
	d->type = row_type(y->dtype);
	d->lanes = x->dims[1] > 1 && x->strides[1] == 1 && y->strides[1] == 1;
	d->nest = (RowNest){ .n = 2 };
	for (int i = 0; i < 3; i++) {
		if (i == 1 && d->lanes)
			continue;
		d->nest.dims[d->nest.ndim] = y->dims[i];
		d->nest.stride[0][d->nest.ndim] = y->strides[i];
		d->nest.stride[1][d->nest.ndim++] = i == 2 ? 0 : x->strides[i];
	}
	return d->type != NULL;
}

static int64_t
place_numbers(const Resize *d)
{
	return d->lanes ? d->y->dims[1] : 1;
}

static void
launch(Row *r, Resize *d, Body *b, int64_t scratch)
{
	Arena *a = r->p->cx->arena;
	KernelCall *c = row_call(r, "resize", arena_printf(a, "%s: %lld x %lld to %lld x %lld", r->n->op->id,
				 (long long)d->x->dims[2], (long long)d->x->dims[3], (long long)d->y->dims[2],
				 (long long)d->y->dims[3]), b, nest_count(&d->nest),
				 row_grain(d->y->dims[3] * place_numbers(d)));

	c->scratch = scratch;
	row_pass(r, c, r->n->out[0]);
	row_pass(r, c, input_of(r));
}

/* ---- weighted kinds ---------------------------------------------------------------------------------------------- */

static VzKind
kind_of(const Row *r)
{
	switch (r->n->op->lowering) {
	case LOWER_BICUBIC:          return VZ_CUBIC;
	case LOWER_BILINEAR_SMOOTH:  return VZ_SMOOTH_LINEAR;
	case LOWER_BICUBIC_SMOOTH:   return VZ_SMOOTH_CUBIC;
	case LOWER_LANCZOS_SMOOTH:   return VZ_SMOOTH_LANCZOS;
	default:                     return VZ_LINEAR;
	}
}

static VzDim
dim_of(const Resize *d, int i)
{
	return (VzDim){ d->x->dims[2 + i], d->y->dims[2 + i], d->align, d->given[i] };
}

static void
put_dim(Body *b, const Resize *d, int i)
{
	out_line(&b->out, "const VzDim %s = { %s, %s, %d, %s };", i ? "across" : "down",
		 body_number(b, i ? "w" : "h", d->x->dims[2 + i]), body_number(b, i ? "ow" : "oh", d->y->dims[2 + i]),
		 (int)d->align, body_real(b, i ? "scale_w" : "scale_h", d->given[i]));
}

/* Prints the kernel of a weighted kind. If the image is one row before and after, stores the interpolated row
 * directly. */
static void
put_weighed(Body *b, const Resize *d, VzKind kind)
{
	const bool line = kind == VZ_LINEAR && d->x->dims[2] == 1 && d->y->dims[2] == 1;
	const char *x = nest_at(b, &d->nest, 1), *y = nest_at(b, &d->nest, 0);
	Out *o = &b->out;

	put_dim(b, d, 0);
	put_dim(b, d, 1);
	row_scratch(b, "char", "room", "vs_resize(shape.kind, &down, &across, shape.channels)");
	out_line(o, "VzTable of[2];");
	out_blank(o);
	out_line(o, "of[0] = vz_table(shape.kind, &down, &room);");
	out_line(o, "of[1] = vz_table(shape.kind, &across, &room);");
	if (!line)
		out_line(o, "VzWide wide = vz_slots(of[0].taps, room);");
	nest_open(b, &d->nest);
	out_line(o, "const float *x = (const float *)p[1] + %s;", x);
	out_line(o, "float *y = (float *)p[0] + %s;", y);
	out_blank(o);
	if (line)
		out_line(o, "vz_widen(&shape, &of[1], x, shape.ystep, y);");
	else
		out_line(o, "vz_row(&wide, &shape, of, i%d, x, y);", d->nest.ndim - 1);
	out_close(o);
}

bool
row_weighed_resize(Row *r)
{
	const VzKind kind = kind_of(r);
	Body b = body_begin(r->p);
	Resize d = { 0 };
	VzDim h, w;

	if (!row_int(r, "align_corners", &d.align) || !read_resize(r, &d) || d.y->dtype != RT_f32)
		return false;
	h = dim_of(&d, 0);
	w = dim_of(&d, 1);
	body_struct(&b, "static const VzShape shape", (Member[]){ { "kind", kind }, { "width", w.out },
		    { "channels", place_numbers(&d) }, { "xrow", d.x->strides[2] }, { "xstep", d.x->strides[3] },
		    { "ystep", d.y->strides[3] } }, 6, "");
	put_weighed(&b, &d, kind);
	launch(r, &d, &b, vs_resize(kind, &h, &w, place_numbers(&d)));
	return true;
}

/* ---- nearest ----------------------------------------------------------------------------------------------------- */

/* Prints tables of the row and column that each row and column of the result reads. */
static void
put_tables(Body *b, const Resize *d)
{
	const char *h = body_number(b, "oh", d->y->dims[2]), *w = body_number(b, "ow", d->y->dims[3]);

	row_scratch(b, "int64_t", "rows", arena_printf(b->p->cx->arena, "(%s + %s) * (int64_t)sizeof *rows", h, w));
	out_line(&b->out, "int64_t *columns = rows + %s;", h);
	out_line(&b->out, "vz_nearest(%s, %s, %d, %s, rows);", h, body_number(b, "h", d->x->dims[2]), d->exact,
		 body_real(b, "scale_h", d->given[0]));
	out_line(&b->out, "vz_nearest(%s, %s, %d, %s, columns);", w, body_number(b, "w", d->x->dims[3]), d->exact,
		 body_real(b, "scale_w", d->given[1]));
}

/* Prints the copy of a row that has the same source as the row before it, if this thread computed that row. */
static void
put_repeated(Body *b, const Resize *d, const char *width, const char *places)
{
	const int last = d->nest.ndim - 1;
	Out *o = &b->out;

	if (d->y->strides[3] != place_numbers(d))
		return;
	out_open(o, "if (row > begin && i%d > 0 && rows[i%d] == rows[i%d - 1])", last, last, last);
	out_line(o, "memcpy(y, y - %s, %s * %s * sizeof *y);", body_number(b, "yh", d->y->strides[2]), width, places);
	out_line(o, "continue;");
	out_close(o);
}

/* Prints a row of a plane that is twice as wide as the input. Loads and stores are consecutive, and no table is
 * read. */
static void
put_doubled(Body *b, const Resize *d)
{
	Out *o = &b->out;

	out_open(o, "if (doubles)");
	out_line(o, "IVDEP");
	out_open(o, "for (int64_t j = 0; j < %s; j++)", body_number(b, "w", d->x->dims[3]));
	out_line(o, "y[2 * j] = x[j];");
	out_line(o, "y[2 * j + 1] = x[j];");
	out_close(o);
	out_line(o, "continue;");
	out_close(o);
}

/* Prints the loop over single pixels. Addresses are computed before the loop, because to the compiler a store might
 * change the table. */
static void
put_places(Body *b, const Resize *d, const char *width, const char *places)
{
	Out *o = &b->out;

	if (!d->lanes)
		out_line(o, "IVDEP");
	out_open(o, "for (int64_t j = 0; j < %s; j++)", width);
	out_line(o, "const %s *from = x + columns[j] * %s;", d->type, body_number(b, "xstep", d->x->strides[3]));
	out_line(o, "%s *to = y + j * %s;", d->type, body_number(b, "ystep", d->y->strides[3]));
	out_blank(o);
	if (d->lanes)
		out_line(o, "IVDEP");
	out_line(o, "for (int64_t c = 0; c < %s; c++)", places);
	out_line(o, "\tto[c] = from[c];");
	out_close(o);
}

bool
row_nearest(Row *r)
{
	Body b = body_begin(r->p);
	const char *width, *places;
	bool planes;
	Resize d = { 0 };

	d.exact = r->n->op->lowering == LOWER_NEAREST_EXACT;
	if (!read_resize(r, &d))
		return false;
	put_tables(&b, &d);
	width = body_number(&b, "ow", d.y->dims[3]);
	planes = !d.lanes && d.x->strides[3] == 1 && d.y->strides[3] == 1;
	if (planes)
		out_line(&b.out, "const int doubles = vz_doubles(columns, %s, %s);", width,
			 body_number(&b, "w", d.x->dims[3]));
	nest_open(&b, &d.nest);
	out_line(&b.out, "const %s *x = (const %s *)p[1] + %s + rows[i%d] * %s;", d.type, d.type,
		 nest_at(&b, &d.nest, 1), d.nest.ndim - 1, body_number(&b, "xh", d.x->strides[2]));
	out_line(&b.out, "%s *y = (%s *)p[0] + %s;", d.type, d.type, nest_at(&b, &d.nest, 0));
	out_blank(&b.out);
	places = body_number(&b, "channels", place_numbers(&d));
	put_repeated(&b, &d, width, places);
	if (planes)
		put_doubled(&b, &d);
	put_places(&b, &d, width, places);
	out_close(&b.out);
	launch(r, &d, &b, (d.y->dims[2] + d.y->dims[3]) * 8);
	return true;
}
