/*
 * Reductions over dims: sums, products, extremes with and without indices, logic, norms, variances, logsumexp.
 *
 * The axes are the kept dims, then the reduced ones.  Sums of floats are in float within parts, whose sums are added in
 * double.  Other sums are in double or int64.  Work on a row's sum is done once for the row.
 */
#include "row.h"
#include "lower.h"

#include <string.h>

/* ---- dims and operands ------------------------------------------------------------------------------------------- */

static bool
is_kind(const RtTensor *t, const char *categories)
{
	return t && strchr(categories, rt_dtypes[t->dtype].category) && element_type((RtDtype)t->dtype);
}

static const RtTensor *
self_of(const Rows *g)
{
	return row_tensor(g->row, "self");
}

/* Reads the dims that the argument `dim` names. Returns false if it is not known or names no dim of x. */
static bool
find_dims(Rows *g, const RtTensor *x)
{
	int64_t dims[RT_MAX_RANK];
	const int ndim = x->ndim ? x->ndim : 1;
	int n;

	if (!row_list(g->row, "dim", dims, &n))
		return false;
	g->ndim = x->ndim;
	memcpy(g->dims, x->dims, (size_t)x->ndim * sizeof *x->dims);
	for (int i = 0; i < x->ndim; i++)
		g->gone[i] = !n;
	for (int i = 0; i < n; i++) {
		const int64_t d = dims[i] + (dims[i] < 0 ? ndim : 0);

		if (d < 0 || d >= ndim)
			return false;
		g->gone[d] = true;
	}
	return true;
}

/* Checks that the results have the sizes of the dims that are not reduced. */
static bool
add_results(Rows *g)
{
	for (int i = 0; i < g->row->n->nout; i++) {
		const RtTensor *y = row_result(g->row, i);
		int64_t stride[RT_MAX_RANK] = { 0 };
		int k = 0;

		if (!y || !element_type((RtDtype)y->dtype) || !rt_numel(y))
			return false;
		for (int d = 0; d < g->ndim; d++) {
			const int at = y->ndim == g->ndim ? d : k;

			if (g->gone[d])
				continue;
			if (at >= y->ndim || y->dims[at] != g->dims[d])
				return false;
			stride[d] = y->strides[at];
			k++;
		}
		rows_operand(g, ACCESS_WRITE, (RtDtype)y->dtype, stride, g->row->n->out[i]);
	}
	return true;
}

/* Adds the reduced tensor: an operand, or the result of a prologue. */
static bool
add_self(Rows *g, const RtTensor *x)
{
	const Node **prologue = g->row->p->prologue;

	if (prologue && prologue[g->row->n->id])
		return rows_prologue(g, prologue[g->row->n->id]);
	g->x = ref_operand(rows_operand(g, ACCESS_READ, (RtDtype)x->dtype, x->strides, row_arg(g->row, "self")));
	return true;
}

/* Makes a kernel with its axes, results and self. */
static bool
begin_reduction(Rows *g, Row *r, const char *name)
{
	const RtTensor *x = row_tensor(r, "self");

	*g = (Rows){ .row = r };
	if (!is_kind(x, "FIB") || !find_dims(g, x))
		return false;
	rows_begin(g, name);
	return add_results(g) && add_self(g, x);
}

/* x != 0 */
static Ref
is_some(Rows *g, Ref x)
{
	const RtMapTypes types = rows_types((RtDtype)self_of(g)->dtype, RT_b8);

	return rows_let(g, ROW_ne_Scalar, types, x, ref_number(rt_int(0)), x);
}

/* ---- sums and products ----------------------------------------------------------------------------------------- */

enum { FEW = 16 };               /* most elements that are summed in double from the start */

/* Returns the dtype to which elements are cast and in which they are folded. RT_NDTYPE if there is none, because the
 * cast would round each element. */
static RtDtype
summed_as(const RtTensor *x, const RtTensor *y)
{
	const char to = rt_dtypes[y->dtype].category;

	if (to == 'I')
		return rt_dtypes[x->dtype].category == 'F' ? y->dtype == RT_i64 ? RT_i64 : RT_NDTYPE :
		       rt_dtypes[x->dtype].bytes < 4 ? RT_i32 : RT_i64;
	if (to != 'F' || (rt_dtypes[y->dtype].bytes < 4 && x->dtype != y->dtype))
		return RT_NDTYPE;
	return y->dtype == RT_f64 ? RT_f64 : RT_f32;
}

static Ref
without_nan(Rows *g, RtDtype type, Ref x)
{
	const Ref is_nan = rows_let(g, ROW_isnan, rows_types((RtDtype)self_of(g)->dtype, RT_b8), x, x, x);

	return rows_let(g, ROW_where_self, rows_types(type, type), is_nan, ref_number(rt_int(0)), x);
}

bool
row_sum(Row *r)
{
	const Lowering what = r->n->op->lowering;
	const bool mean = what == LOWER_MEAN, product = what == LOWER_PROD;
	const RtTensor *y = row_result(r, 0);
	RtDtype part, total;
	Rows g;
	Ref x;

	if (!begin_reduction(&g, r, product ? "prod" : mean ? "mean" : "sum") ||
	    (part = summed_as(self_of(&g), y)) == RT_NDTYPE)
		return false;
	if (self_of(&g)->dtype == RT_b8 && g.x.kind == REF_OPERAND)
		g.kernel->operand.at[g.x.at].dtype = RT_u8;        /* 0 or 1 */
	total = part == RT_i32 ? RT_i64 : part;
	if (part == RT_f32)
		total = RT_f64;
	if (part == RT_f32 && plan_choice(r->p, rows_count(&g) <= FEW))
		part = RT_f64;
	x = g.x;
	if (what == LOWER_NANSUM && rt_dtypes[part].category == 'F')
		x = without_nan(&g, part, x);
	x = rows_join(&g, product ? "prod" : "sum", total, product ? total : part, x);
	kernel_stage(g.kernel, false);
	if (mean)
		x = rows_let2(&g, ROW_div_Tensor, y->dtype == RT_f64 ? RT_f64 : RT_f32, x,
			      rows_number(&g, rows_count(&g)));
	kernel_store(g.kernel, 0, x);
	return rows_finish(&g);
}

/* count_nonzero */
bool
row_count(Row *r)
{
	Rows g;
	Ref x;

	if (!begin_reduction(&g, r, "count"))
		return false;
	x = rows_join(&g, "sum", RT_i64, RT_i32, is_some(&g, g.x));
	kernel_stage(g.kernel, false);
	kernel_store(g.kernel, 0, x);
	return rows_finish(&g);
}

/* any, all */
bool
row_logic(Row *r)
{
	const Value *dim = row_arg(r, "dim");
	Rows g;
	int64_t dims[RT_MAX_RANK];
	int n;
	Ref x;

	/* With an empty list of dims each element is a row of its own. */
	if (!begin_reduction(&g, r, "logic") || (dim && (!row_list(r, "dim", dims, &n) || !n)))
		return false;
	x = g.x;
	if (self_of(&g)->dtype != RT_b8)
		x = is_some(&g, x);
	x = rows_join(&g, r->n->op->lowering == LOWER_ANY ? "any" : "all", RT_b8, RT_b8, x);
	kernel_stage(g.kernel, false);
	kernel_store(g.kernel, 0, x);
	return rows_finish(&g);
}

/* ---- extremes -------------------------------------------------------------------------------------------------- */

/* amax, amin; max and min over all dims; aminmax */
bool
row_extreme(Row *r)
{
	const bool both = r->n->nout == 2;
	Rows g;
	RtDtype type;
	Ref x;

	if (!begin_reduction(&g, r, "extreme") || !rows_count(&g))
		return false;
	type = rows_compared(self_of(&g));
	x = rows_join(&g, r->n->op->lowering != LOWER_MAX ? "min" : "max", type, type, g.x);
	if (both)
		rows_join(&g, "max", type, type, g.x);
	kernel_stage(g.kernel, false);
	kernel_store(g.kernel, 0, x);
	if (both)
		kernel_store(g.kernel, 1, (Ref){ .kind = REF_STATE, .at = 1 });
	return rows_finish(&g);
}

/* max and min over a dim, with indices; argmax, argmin. */
bool
row_arg_extreme(Row *r)
{
	Folded s = { 0 };
	Rows g;
	Ref x;

	if (!begin_reduction(&g, r, "extreme") || !rows_count(&g))
		return false;
	s.fold = fold_find(r->n->op->lowering == LOWER_ARGMIN ? "argmin" : "argmax");
	s.part = s.total = rows_compared(self_of(&g));
	s.place = rows_place_type(&g);
	s.x = g.x;
	s.y = rows_place(&g);
	x = kernel_state(g.kernel, s);
	kernel_stage(g.kernel, false);
	if (r->n->nout == 2)
		kernel_store(g.kernel, 0, x);
	x.part = 1;
	kernel_store(g.kernel, r->n->nout - 1, x);
	return rows_finish(&g);
}

/* ---- norms, variances ------------------------------------------------------------------------------------------ */

static Ref
power(Rows *g, RtDtype type, Ref x, double p)
{
	return rows_let(g, ROW_pow_Tensor_Scalar, rows_types(type, type), x, ref_number(rt_double(p)), x);
}

/* norm, linalg_vector_norm. Powers are in float, except for doubles, because powers that overflow are infinite in
 * PyTorch, too. Their sum is in double. */
bool
row_norm(Row *r)
{
	const char *name = row_arg(r, "ord") ? "ord" : "p";
	const double inf = 1.0 / 0.0;
	const RtTensor *y = row_result(r, 0);
	const RtDtype type = y && y->dtype == RT_f64 ? RT_f64 : RT_f32;
	double p = 2;
	Rows g;
	Ref x;

	if (!begin_reduction(&g, r, "norm") || !is_kind(self_of(&g), "F") ||
	    (y->dtype != self_of(&g)->dtype && y->dtype != RT_f64) || (row_arg(r, name) && !row_double(r, name, &p)) ||
	    p != p || (!rows_count(&g) && (p < 0 || p == inf)))
		return false;
	x = g.x;
	if (p == 0) {
		x = rows_join(&g, "sum", RT_i64, RT_i32, is_some(&g, x));
	} else {
		x = p == 2 ? rows_let2(&g, ROW_mul_Tensor, type, x, x) : rows_let1(&g, ROW_abs, type, x);
		if (p != 1 && p != 2 && p - p == 0)
			x = power(&g, type, x, p);
		x = rows_join(&g, p == inf ? "max" : p == -inf ? "min" : "sum", RT_f64, RT_f64, x);
	}
	kernel_stage(g.kernel, false);
	if (p == 2)
		x = rows_let1(&g, ROW_sqrt, type, x);
	else if (p != 0 && p != 1 && p - p == 0)
		x = power(&g, type, x, 1 / p);
	kernel_store(g.kernel, 0, x);
	return rows_finish(&g);
}

/* Reads the correction, which is subtracted from the number of elements. It is 1 by default. */
static bool
find_correction(const Row *r, int64_t *correction)
{
	double x = 1;

	const char *name = row_arg(r, "unbiased") ? "unbiased" : "correction";

	if (row_arg(r, name) && !row_double(r, name, &x))
		return false;
	*correction = (int64_t)x;
	return x == (double)*correction;
}

/* Returns NaN if the mean is infinite. Welford's algorithm does so unless nothing comes after the infinity. */
static Ref
welford_mean(Rows *g, Ref mean)
{
	Ref zero = rows_let2(g, ROW_mul_Tensor, RT_f64, mean, ref_number(rt_double(0)));

	return rows_let2(g, ROW_add_Tensor, RT_f64, mean, zero);
}

/* var, std, var_mean, std_mean: in double; the mean is computed first */
bool
row_variance(Row *r)
{
	int64_t correction, n;
	Ref x, mean, square;
	Rows g;

	if (!begin_reduction(&g, r, "var") || !is_kind(self_of(&g), "F") || !find_correction(r, &correction))
		return false;
	n = rows_count(&g);
	mean = rows_join(&g, "sum", RT_f64, RT_f64, g.x);
	kernel_stage(g.kernel, false);
	mean = rows_let2(&g, ROW_div_Tensor, RT_f64, mean, rows_number(&g, n));
	kernel_stage(g.kernel, true);
	x = rows_let2(&g, ROW_sub_Tensor, RT_f64, g.x, mean);
	square = rows_join(&g, "sum", RT_f64, RT_f64, rows_let2(&g, ROW_mul_Tensor, RT_f64, x, x));
	kernel_stage(g.kernel, false);
	if (r->n->nout == 2)
		kernel_store(g.kernel, 1, n == 1 ? mean : welford_mean(&g, mean));
	x = rows_let2(&g, ROW_div_Tensor, RT_f64, square, rows_number(&g, n > correction ? n - correction : 0));
	if (r->n->op->lowering == LOWER_STD)
		x = rows_let1(&g, ROW_sqrt, RT_f64, x);
	kernel_store(g.kernel, 0, x);
	return rows_finish(&g);
}

/* logsumexp: the maximum, then the sum of exponentials relative to it. An infinite maximum is not subtracted. */
bool
row_logsumexp(Row *r)
{
	const Ref zero = ref_number(rt_int(0));
	RtDtype c;
	Rows g;
	Ref most, x;

	if (!begin_reduction(&g, r, "logsumexp") || !is_kind(self_of(&g), "F"))
		return false;
	c = rows_compared(self_of(&g));
	most = rows_join(&g, "max", c, c, g.x);
	kernel_stage(g.kernel, false);
	x = rows_let(&g, ROW_isinf, rows_types(c, RT_b8), most, most, most);
	most = rows_let(&g, ROW_where_self, rows_types(c, c), x, zero, most);
	kernel_stage(g.kernel, true);
	x = rows_let1(&g, ROW_exp, c, rows_let2(&g, ROW_sub_Tensor, c, g.x, most));
	x = rows_join(&g, "sum", RT_f64, c, x);
	kernel_stage(g.kernel, false);
	x = rows_let2(&g, ROW_add_Tensor, RT_f64, rows_let1(&g, ROW_log, RT_f64, x), most);
	kernel_store(g.kernel, 0, x);
	return rows_finish(&g);
}
