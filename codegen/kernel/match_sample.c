/*
 * Recognizes reads at computed coordinates: interpolation, grid_sample, roi_align.
 */
#include "../../ir/row.h"
#include "match.h"

const Let *
match_let_of(const Match *m, OpRow row, int i)
{
	for (int at = 0; at < m->kernel->let.n; at++)
		if (m->kernel->let.at[at].op->row == (int)row && !i--)
			return &m->kernel->let.at[at];
	return NULL;
}

bool
match_computed(Match *m, OpRow row, int indices, int axes)
{
	static const int names[] = { N, C, OH, OW };
	const Kernel *k = m->kernel;

	match_name_axes(m, names, 4);
	m->operand[Y] = 0;
	for (int i = k->operand.n - 1; i > 0; i--) {
		if (k->operand.at[i].ngather)
			m->operand[X] = i;
		else if (k->operand.at[i].access == ACCESS_READ)
			m->operand[AT] = i;
	}
	return m->operand[X] && k->let.n && k->let.at[0].op->row == (int)row &&
	       match_operand(m, X)->ngather == indices && k->naxis == axes;
}

bool
match_has_dtype(const Match *m, RtDtype dtype)
{
	return match_operand(m, X)->dtype == dtype && match_operand(m, Y)->dtype == dtype;
}

/* The last argument of the row's first let: its flags. They may be no number if they differ with the sizes. */
static const Ref *
last_argument(const Match *m, OpRow row)
{
	const Let *l = match_let_of(m, row, 0);

	RT_ASSERT(l && l->narg);
	return &l->arg[l->narg - 1];
}

bool
match_has_flags(const Match *m, OpRow row)
{
	return last_argument(m, row)->kind == REF_NUMBER;
}

int64_t
match_flags_of(const Match *m, OpRow row)
{
	return last_argument(m, row)->number.u.i;
}

const Size *
match_int_size(const Match *m, const Ref *r)
{
	return r->kind == REF_OPERAND ? m->kernel->operand.at[r->at].offset : match_constant(m, r->number.u.i);
}

bool
match_has_lanes(const Match *m)
{
	return !size_is(match_extent(m, C), 1) && size_is(match_stride(m, X, C), 1) &&
	       size_is(match_stride(m, Y, C), 1);
}

const Size *
match_planes(const Match *m)
{
	return match_has_lanes(m) ? match_constant(m, 1) : match_extent(m, C);
}

bool
match_is_line(const Match *m)
{
	return (match_flags_of(m, ROW_prim_resize_source) & 7) == VZ_LINEAR &&
	       size_is(match_operand(m, X)->gather[0].limit, 1) && size_is(match_extent(m, OH), 1);
}

static VzDim
resize_dim(const Match *m, int i)
{
	const Ref *given = &match_let_of(m, ROW_prim_resize_scale, i)->arg[2];
	const int64_t how = match_flags_of(m, ROW_prim_resize_source);

	return (VzDim){ match_known(match_operand(m, X)->gather[i].limit), match_known(match_extent(m, OH + i)),
			how >> 3 & 1, given->kind == REF_NUMBER ? given->number.u.f : 0 };
}

int64_t
match_weighed_scratch(const Match *m)
{
	const VzDim h = resize_dim(m, 0), w = resize_dim(m, 1);
	const int64_t channels = match_has_lanes(m) ? match_known(match_extent(m, C)) : 1;

	return !h.in || !h.out || !w.in || !w.out || !channels ? 0 :
	       vs_resize((VzKind)(match_flags_of(m, ROW_prim_resize_source) & 7), &h, &w, channels);
}

int64_t
match_copy_scratch(const Match *m)
{
	return (match_known(match_extent(m, OH)) + match_known(match_extent(m, OW))) * 8;
}

int64_t
match_regions_scratch(const Match *m)
{
	const Gather *x = match_operand(m, X)->gather;

	return vs_regions(match_known(x[1].limit), match_known(x[2].limit), match_known(match_extent(m, OW)),
			  match_known(match_extent(m, C)));
}

int
match_grid_dims(const Match *m)
{
	return match_operand(m, X)->ngather;
}

static int
grid_dim(const Match *m, int i)
{
	return i - (3 - match_grid_dims(m));
}

const Size *
match_grid_in(const Match *m, int i)
{
	return grid_dim(m, i) < 0 ? match_constant(m, 1) : match_operand(m, X)->gather[grid_dim(m, i)].limit;
}

const Size *
match_grid_x(const Match *m, int i)
{
	return grid_dim(m, i) < 0 ? match_constant(m, 0) : match_operand(m, X)->gather[grid_dim(m, i)].stride;
}

const Size *
match_grid_out(const Match *m, int i)
{
	return grid_dim(m, i) < 0 ? match_constant(m, 1) : m->kernel->extent[2 + grid_dim(m, i)];
}

const Size *
match_grid_along(const Match *m, int name, int i)
{
	return grid_dim(m, i) < 0 ? match_constant(m, 0) : match_operand(m, name)->stride[2 + grid_dim(m, i)];
}

const Size *
match_grid_step(const Match *m)
{
	const Size *least = NULL;

	for (int i = 1; i < m->kernel->operand.n; i++) {
		const Operand *o = &m->kernel->operand.at[i];

		if (o->access == ACCESS_READ && !o->ngather && !size_is(o->offset, 0))
			least = o->offset;
	}
	return least ? least : match_constant(m, 0);
}

const Size *
match_region_step(const Match *m)
{
	return m->kernel->operand.at[m->operand[AT] + 1].offset;
}
