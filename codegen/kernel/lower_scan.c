/*
 * Running sums, products and extremes along a dim: cumsum, cumprod, logcumsumexp, cummax, cummin.
 *
 * The dim is the only reduced axis, and its state is carried from point to point.  Elements are cast to the result's
 * dtype.  Sums and products are in double or int64, as in the operators.
 */
#include "row.h"
#include "lower.h"

#include <string.h>

typedef struct Running {
	Lowering    what;
	const char *fold;
	const char *narrow;      /* fold for results narrower than double; null if it is the same */
	bool        extreme;     /* whether the second result is the extreme's index */
} Running;

static const Running runnings[] = {
	{ LOWER_CUMSUM, "sum", NULL, false },
	{ LOWER_CUMPROD, "prod", NULL, false },
	{ LOWER_LOGCUMSUMEXP, "log_add", "log_addf", false },
	{ LOWER_CUMMAX, "lastmax", NULL, true },
	{ LOWER_CUMMIN, "lastmin", NULL, true },
};

static const Running *
running_of(const Row *r)
{
	for (size_t i = 0; i < sizeof runnings / sizeof *runnings; i++)
		if (r->n->op->lowering == runnings[i].what)
			return &runnings[i];
	return NULL;
}

static bool
is_scanned(const RtTensor *t)
{
	return t && strchr("FIB", rt_dtypes[t->dtype].category) && element_type((RtDtype)t->dtype);
}

/* Sets the dims. Returns false if the argument `dim` is unknown or names no dim. */
static bool
find_dim(Rows *g, const RtTensor *x)
{
	const int ndim = x->ndim ? x->ndim : 1;
	int64_t dim;

	if (!row_int(g->row, "dim", &dim) || dim < -ndim || dim >= ndim)
		return false;
	g->ndim = x->ndim;
	memcpy(g->dims, x->dims, (size_t)x->ndim * sizeof *x->dims);
	g->gone[dim + (dim < 0 ? ndim : 0)] = x->ndim > 0;
	return true;
}

/* Adds the results, which have self's dims. */
static bool
add_running(Rows *g)
{
	for (int i = 0; i < g->row->n->nout; i++) {
		const RtTensor *y = row_result(g->row, i);

		if (!is_scanned(y) || y->ndim != g->ndim ||
		    memcmp(y->dims, g->dims, (size_t)g->ndim * sizeof *g->dims) != 0)
			return false;
		rows_operand(g, ACCESS_WRITE, (RtDtype)y->dtype, y->strides, g->row->n->out[i]);
	}
	return true;
}

/* Casts the element to the result's dtype, unless its conversion to the state's dtype does so, too. Returns false if C
 * does not define the cast for all values. */
static bool
cast_element(Rows *g, RtDtype state, const RtTensor *x, const RtTensor *y)
{
	const Ref to = ref_number(rt_int(y->dtype));

	if (x->dtype == y->dtype)
		return true;
	if (rt_dtypes[x->dtype].category == 'F' && rt_dtypes[y->dtype].category == 'I' && y->dtype != RT_i64)
		return false;
	if (y->dtype != state)
		g->x = rows_let(g, ROW_prim_cast, rows_types((RtDtype)x->dtype, (RtDtype)y->dtype), g->x, to, to);
	return true;
}

bool
row_scan(Row *r)
{
	const Running *how = running_of(r);
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	Folded s = { .place = RT_i64, .carried = true };
	Rows g = { .row = r };
	Ref state;

	if (!is_scanned(x) || !is_scanned(y) || !find_dim(&g, x) ||
	    (how->narrow && rt_dtypes[y->dtype].category != 'F'))
		return false;
	rows_begin(&g, "scan");
	if (!add_running(&g))
		return false;
	s.total = how->extreme ? rows_compared(x) : rt_dtypes[y->dtype].category == 'F' ? RT_f64 : RT_i64;
	s.part = s.total;
	s.fold = fold_find(how->narrow && y->dtype != RT_f64 ? how->narrow : how->fold);
	g.x = ref_operand(rows_operand(&g, ACCESS_READ, (RtDtype)x->dtype, x->strides, row_arg(r, "self")));
	if (!how->extreme && !cast_element(&g, s.total, x, y))
		return false;
	if (how->extreme) {
		s.place = rows_place_type(&g);
		s.y = rows_place(&g);
	}
	s.x = g.x;
	state = kernel_state(g.kernel, s);
	kernel_store(g.kernel, 0, state);
	state.part = 1;
	if (how->extreme)
		kernel_store(g.kernel, 1, state);
	return rows_finish(&g);
}
