/*
 * Kernels over rows: reductions, softmax, normalisation.  Like pointwise kernels they are emitted for tensors of known
 * type, with every extent a constant; what they do to one row is in rt/ops/vrow.h.
 *
 * A form looks at a node, decides whether it is one that is generated, and then adds launches of kernels; with e null it
 * goes the same way and emits nothing, so that the plan's question and the answer cannot differ.
 */
#include "row.h"

#include <string.h>

/* ---- arguments ------------------------------------------------------------------------------------------------------- */

const Value *
row_arg(const Row *r, const char *name)
{
	const Value *v = node_arg(r->n, name);

	return v && !value_is_none(v) ? v : NULL;
}

const RtTensor *
row_tensor(const Row *r, const char *name)
{
	const Value *v = row_arg(r, name);
	const RtTensor *t = v ? plan_tensor(r->p, v) : NULL;

	return t && t->storage && !t->quant ? t : NULL;
}

const RtTensor *
row_result(const Row *r, int i)
{
	const RtTensor *t = plan_tensor(r->p, r->n->out[i]);

	return t && t->storage && !t->quant ? t : NULL;
}

bool
row_list(const Row *r, const char *name, int64_t *out, int *n)
{
	const Value *v = row_arg(r, name);
	const Known *k = v ? known_at(r->p->known, v) : NULL;

	*n = 0;
	if (!v)
		return true;
	if (k->is && k->v.tag == RT_INT) {
		out[(*n)++] = k->v.u.i;
		return true;
	}
	if (!k->is || k->v.tag != RT_LIST || k->v.u.list->n > RT_MAX_RANK)
		return false;
	for (; *n < k->v.u.list->n; ++*n) {
		if (k->v.u.list->v[*n].tag != RT_INT)
			return false;
		out[*n] = k->v.u.list->v[*n].u.i;
	}
	return true;
}

bool
row_ints(const Row *r, const char *name, int64_t *out, int n)
{
	int64_t all[RT_MAX_RANK];
	int count;

	if (!row_list(r, name, all, &count) || (count != n && count != 1))
		return false;
	for (int i = 0; i < n; i++)
		out[i] = all[count == 1 ? 0 : i];
	return true;
}

bool
row_int(const Row *r, const char *name, int64_t *out)
{
	const Value *v = row_arg(r, name);

	return v && known_int(r->p->known, v, out);
}

bool
row_double(const Row *r, const char *name, double *out)
{
	const Value *v = row_arg(r, name);
	const Known *k = v ? known_at(r->p->known, v) : NULL;

	if (!k || !k->is || (k->v.tag != RT_INT && k->v.tag != RT_DOUBLE && k->v.tag != RT_BOOL))
		return false;
	*out = k->v.tag == RT_DOUBLE ? k->v.u.f : (double)k->v.u.i;
	return true;
}

/* ---- nests --------------------------------------------------------------------------------------------------------------- */

void
nest_drop(RowNest *nest, int at)
{
	nest->ndim--;
	for (int i = at; i < nest->ndim; i++) {
		nest->dims[i] = nest->dims[i + 1];
		for (int k = 0; k < nest->n; k++)
			nest->stride[k][i] = nest->stride[k][i + 1];
	}
}

static void
swap_ints(int64_t *a, int64_t *b)
{
	const int64_t t = *a;

	*a = *b;
	*b = t;
}

static bool
merges(const RowNest *nest, int outer)
{
	for (int k = 0; k < nest->n; k++)
		if (nest->stride[k][outer] != nest->stride[k][outer + 1] * nest->dims[outer + 1])
			return false;
	return true;
}

void
nest_simplify(RowNest *nest, int by)
{
	for (int i = nest->ndim - 1; i >= 0; i--)
		if (nest->dims[i] == 1)
			nest_drop(nest, i);
	for (int i = 1; i < nest->ndim; i++)
		for (int k = i; k > 0 && nest->stride[by][k - 1] < nest->stride[by][k]; k--) {
			swap_ints(&nest->dims[k - 1], &nest->dims[k]);
			for (int j = 0; j < nest->n; j++)
				swap_ints(&nest->stride[j][k - 1], &nest->stride[j][k]);
		}
	for (int i = nest->ndim - 2; i >= 0; i--)
		if (merges(nest, i)) {
			nest->dims[i + 1] *= nest->dims[i];
			nest_drop(nest, i);
		}
}

int64_t
nest_count(const RowNest *nest)
{
	int64_t n = 1;

	for (int i = 0; i < nest->ndim; i++)
		n *= nest->dims[i];
	return n;
}

void
nest_open(Out *o, const RowNest *nest)
{
	out_open(o, "for (int64_t row = begin; row < end; row++)");
	if (nest->ndim > 1)
		out_line(o, "int64_t rest = row;");
	for (int i = nest->ndim - 1; i > 0; i--)
		out_line(o, "const int64_t i%d = rest %% %lld; rest /= %lld;", i, (long long)nest->dims[i], (long long)nest->dims[i]);
	if (nest->ndim > 0)
		out_line(o, "const int64_t i0 = %s;", nest->ndim > 1 ? "rest" : "row");
}

const char *
nest_at(Arena *a, const RowNest *nest, int operand)
{
	Buf b = { 0 };
	const char *text;

	for (int i = 0; i < nest->ndim; i++)
		if (nest->stride[operand][i] == 1)
			buf_printf(&b, "%si%d", b.n ? " + " : "", i);
		else if (nest->stride[operand][i])
			buf_printf(&b, "%s%lld * i%d", b.n ? " + " : "", (long long)nest->stride[operand][i], i);
	text = arena_strdup(a, b.at ? b.at : "0");
	buf_free(&b);
	return text;
}

/* ---- launches ------------------------------------------------------------------------------------------------------------ */

const char *
row_type(int dtype)
{
	switch (dtype) {
	case RT_f32: return "float";
	case RT_f64: return "double";
	case RT_i64: return "int64_t";
	case RT_i32: return "int32_t";
	case RT_i16: return "int16_t";
	case RT_i8:  return "int8_t";
	case RT_u8: case RT_b8: return "uint8_t";
	default:     return NULL;
	}
}

/* Parts of about 16,000 elements: less is not worth waking another thread. */
int64_t
row_grain(int64_t elements)
{
	return 1 + 16384 / (elements > 0 ? elements : 1);
}

KernelCall *
row_call(Row *r, const char *prefix, const char *comment, Out *o, int64_t n, int64_t grain)
{
	KernelCall *c = &r->calls[r->ncall++];

	*c = (KernelCall){ .n = n, .grain = grain };
	if (r->e)
		c->name = emit_kernel(r->e, prefix, comment, arena_printf(r->p->cx->arena, "{\n\tvoid *const *p = arg;\n\n%s}\n", o->text.at), false);
	buf_free(&o->text);
	return c;
}

void
row_pass(Row *r, KernelCall *c, const Value *v, int64_t offset)
{
	vec_push(r->p->cx->arena, &c->args, ((KernelArg){ v, NULL, offset, NULL }));
}

void
row_pass_text(Row *r, KernelCall *c, const char *text)
{
	vec_push(r->p->cx->arena, &c->args, ((KernelArg){ NULL, text, 0, NULL }));
}

static const char *
sizes(Arena *a, const RtTensor *t)
{
	Buf b = { 0 };
	const char *text;

	for (int i = 0; i < t->ndim; i++)
		buf_printf(&b, "%s%lld", i ? " x " : "", (long long)t->dims[i]);
	text = arena_strdup(a, b.at ? b.at : "one");
	buf_free(&b);
	return text;
}

static bool
is_float(const RtTensor *t)
{
	return t && t->dtype == RT_f32;
}

/* A dim counted from the end; false: out of range. */
static bool
wrap_dim(int64_t *dim, int ndim)
{
	const int n = ndim ? ndim : 1;

	*dim += *dim < 0 ? n : 0;
	return *dim >= 0 && *dim < n;
}

/* ---- reductions ------------------------------------------------------------------------------------------------------------ */

typedef struct Reduction {
	const char *id;
	const char *row;         /* of vrow.h, for consecutive floats; its second part is the step between such rows */
	const char *start, *step, *finish;       /* acc from v; finish: of acc over n elements */
	bool order;              /* an extreme: has no value for no elements */
	bool index;              /* gives the index, too (two results), or only (argmax) */
} Reduction;

#define SUM "acc += v"
#define MAX "acc = v > acc || v != v ? v : acc"
#define MIN "acc = v < acc || v != v ? v : acc"

static const Reduction reductions[] = {
	{ "sum", "vr_sum", "0", SUM, "acc", false, false },
	{ "sum_dim_IntList", "vr_sum", "0", SUM, "acc", false, false },
	{ "mean", "vr_sum", "0", SUM, "acc / n", false, false },
	{ "mean_dim", "vr_sum", "0", SUM, "acc / n", false, false },
	{ "prod", NULL, "1", "acc *= v", "acc", false, false },
	{ "prod_dim_int", NULL, "1", "acc *= v", "acc", false, false },
	{ "amax", "vr_max", "*x", MAX, "acc", true, false },
	{ "amin", "vr_min", "*x", MIN, "acc", true, false },
	{ "max", "vr_max", "*x", MAX, "acc", true, false },
	{ "min", "vr_min", "*x", MIN, "acc", true, false },
	{ "all", NULL, "1", "acc = v != 0 ? acc : 0", "acc", false, false },
	{ "all_dim", NULL, "1", "acc = v != 0 ? acc : 0", "acc", false, false },
	{ "any", NULL, "0", "acc = v != 0 ? 1 : acc", "acc", false, false },
	{ "any_dim", NULL, "0", "acc = v != 0 ? 1 : acc", "acc", false, false },
	{ "max_dim", NULL, "*x", ">", "acc", true, true },
	{ "min_dim", NULL, "*x", "<", "acc", true, true },
	{ "argmax", NULL, "*x", ">", "acc", true, true },
	{ "argmin", NULL, "*x", "<", "acc", true, true },
};

static const Reduction *
reduction_of(const Node *n)
{
	for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
		if (!strcmp(n->op->id, reductions[i].id))
			return &reductions[i];
	return NULL;
}

/* The type that is accumulated in; null: no form. */
static const char *
accumulator(const Reduction *d, const RtTensor *x, const RtTensor *y)
{
	const char c = rt_dtypes[x->dtype].category;

	if (!row_type(x->dtype) || !row_type(y->dtype))
		return NULL;
	if (d->order)
		return row_type(x->dtype);
	if (c == 'F')
		return y->dtype == RT_f32 || y->dtype == RT_f64 || y->dtype == RT_b8 ? "double" : NULL;
	return y->dtype == RT_i64 || y->dtype == RT_b8 || (y->dtype == RT_u8 && strchr(d->step, '!')) ? "int64_t" : NULL;
}

/* Splits x into the dims that stay (operands y, x) and those that go (operand x). */
static bool
split_dims(const Row *r, const RtTensor *x, const RtTensor *y, RowNest *kept, RowNest *gone)
{
	bool goes[RT_MAX_RANK] = { false };
	int64_t dims[RT_MAX_RANK];
	int n, k = 0;
	const bool keepdim = y->ndim == x->ndim;

	if (!row_list(r, "dim", dims, &n))
		return false;
	for (int i = 0; i < n; i++) {
		if (!wrap_dim(&dims[i], x->ndim))
			return false;
		goes[dims[i]] = true;
	}
	*kept = (RowNest){ .n = 2 };
	*gone = (RowNest){ .n = 1 };
	for (int i = 0; i < x->ndim; i++)
		if (!n || goes[i]) {
			gone->dims[gone->ndim] = x->dims[i];
			gone->stride[0][gone->ndim++] = x->strides[i];
		} else {
			if ((keepdim ? i : k) >= y->ndim || y->dims[keepdim ? i : k] != x->dims[i])
				return false;
			kept->dims[kept->ndim] = x->dims[i];
			kept->stride[0][kept->ndim] = y->strides[keepdim ? i : k++];
			kept->stride[1][kept->ndim++] = x->strides[i];
		}
	return nest_count(kept) == rt_numel(y);
}

/* for (k0 ...) for (k1 ...): over all of `gone` but the innermost `but` dims; returns the offset's text. */
static const char *
open_loops(Out *o, Arena *a, const RowNest *gone, int but)
{
	const char *at = "0";

	for (int i = 0; i < gone->ndim - but; i++) {
		out_open(o, "for (int64_t k%d = 0; k%d < %lld; k%d++)", i, i, (long long)gone->dims[i], i);
		at = arena_printf(a, "%s + %lld * k%d", at, (long long)gone->stride[0][i], i);
	}
	return at;
}

static void
close_loops(Out *o, const RowNest *gone, int but)
{
	for (int i = 0; i < gone->ndim - but; i++)
		out_close(o, "");
}

/* One result from runs of consecutive floats. */
static void
put_runs(Out *o, Arena *a, const Reduction *d, const RowNest *gone)
{
	const bool sum = !strcmp(d->step, SUM);
	const char *at;

	out_line(o, "%s acc = %s;", sum ? "double" : "float", d->start);
	at = open_loops(o, a, gone, 1);
	out_line(o, "const %s v = %s(%lld, x + %s);", sum ? "double" : "float", d->row, (long long)gone->dims[gone->ndim - 1], at);
	out_line(o, "%s;", d->step);
	close_loops(o, gone, 1);
}

static void
put_scalar(Out *o, Arena *a, const Reduction *d, const RowNest *gone, const char *type)
{
	const char *at;

	out_line(o, "%s acc = %s;", type, d->start);
	at = open_loops(o, a, gone, 0);
	out_line(o, "const %s v = x[%s];", type, at);
	out_line(o, "%s;", d->step);
	close_loops(o, gone, 0);
}

/* Up to 64 results side by side, whose elements are side by side too. */
static void
put_lanes(Out *o, Arena *a, const Reduction *d, const RowNest *gone, const char *type, const char *to, int64_t lanes, int64_t n)
{
	const char *at;

	out_open(o, "for (int64_t c = 0; c < %lld; c += 64)", (long long)lanes);
	out_line(o, "const int64_t some = %lld - c < 64 ? %lld - c : 64;", (long long)lanes, (long long)lanes);
	out_line(o, "%s sums[64];", type);
	out_blank(o);
	out_line(o, "for (int64_t j = 0; j < some; j++)");
	out_line(o, "\tsums[j] = %s;", !strcmp(d->start, "*x") ? "x[c + j]" : d->start);
	at = open_loops(o, a, gone, 0);
	out_line(o, "IVDEP");
	out_open(o, "for (int64_t j = 0; j < some; j++)");
	out_line(o, "const %s v = x[%s + c + j];", type, at);
	out_line(o, "%s acc = sums[j];", type);
	out_line(o, "%s;", d->step);
	out_line(o, "sums[j] = acc;");
	out_close(o, "");
	close_loops(o, gone, 0);
	out_open(o, "for (int64_t j = 0; j < some; j++)");
	out_line(o, "const %s acc = sums[j];", type);
	out_line(o, "const int64_t n = %lld;", (long long)n);
	out_line(o, "y[c + j] = (%s)(%s);", to, d->finish);
	out_close(o, "");
	out_close(o, "");
}

/* The dim of `kept` along which both have stride 1; -1: none. */
static int
lane_dim(Plan *p, const RowNest *kept)
{
	for (int i = 0; i < kept->ndim; i++)
		if (kept->stride[0][i] == 1 && kept->stride[1][i] == 1 && plan_choice(p, kept->dims[i] >= 4))
			return i;
	return -1;
}

static bool
row_reduce(Row *r)
{
	const Reduction *d = reduction_of(r->n);
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	Arena *a = r->p->cx->arena;
	const char *type, *to;
	RowNest kept, gone;
	int64_t n, lanes = 1;
	int lane;
	Out o = { .indent = 1 };
	KernelCall *c;

	if (!d || !x || !y || !(type = accumulator(d, x, y)) || !split_dims(r, x, y, &kept, &gone))
		return false;
	n = nest_count(&gone);
	to = row_type(y->dtype);
	if (!rt_numel(y) || (!n && d->order))
		return false;
	nest_simplify(&kept, 1);
	nest_simplify(&gone, 0);
	lane = gone.ndim && gone.stride[0][gone.ndim - 1] == 1 ? -1 : lane_dim(r->p, &kept);
	if (lane >= 0) {
		lanes = kept.dims[lane];
		nest_drop(&kept, lane);
	}
	nest_open(&o, &kept);
	out_line(&o, "const %s *x = (const %s *)p[1] + %s;", row_type(x->dtype), row_type(x->dtype), nest_at(a, &kept, 1));
	out_line(&o, "%s *y = (%s *)p[0] + %s;", to, to, nest_at(a, &kept, 0));
	if (lane >= 0) {
		put_lanes(&o, a, d, &gone, type, to, lanes, n);
	} else {
		out_line(&o, "const int64_t n = %lld;", (long long)n);
		if (d->row && x->dtype == RT_f32 && y->dtype == RT_f32 && gone.ndim && gone.stride[0][gone.ndim - 1] == 1)
			put_runs(&o, a, d, &gone);
		else
			put_scalar(&o, a, d, &gone, type);
		out_line(&o, "y[0] = (%s)(%s);", to, d->finish);
	}
	out_close(&o, "");
	c = row_call(r, "reduce", arena_printf(a, "%s of %s to %s", r->n->op->id, sizes(a, x), sizes(a, y)), &o, nest_count(&kept),
		     row_grain(n * lanes));
	row_pass(r, c, r->n->out[0], 0);
	row_pass(r, c, row_arg(r, "self"), 0);
	return true;
}

/* The extreme of one dim, or of all elements in their order, and where it first is. */
static bool
row_extreme(Row *r)
{
	const Reduction *d = reduction_of(r->n);
	const bool both = r->n->nout == 2;
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	Arena *a = r->p->cx->arena;
	RowNest kept, gone;
	Out o = { .indent = 1 };
	KernelCall *c;

	if (!d || !x || !y || !row_type(x->dtype) || !split_dims(r, x, y, &kept, &gone) || !rt_numel(y))
		return false;
	if (both && (!row_result(r, 1) || !rt_is_contiguous(y) || !rt_is_contiguous(row_result(r, 1))))
		return false;
	if (gone.ndim > 1 && rt_is_contiguous(x))
		nest_simplify(&gone, 0);
	if (gone.ndim > 1 || !nest_count(&gone))
		return false;
	nest_simplify(&kept, 0);
	nest_open(&o, &kept);
	out_line(&o, "const %s *x = (const %s *)p[%d] + %s;", row_type(x->dtype), row_type(x->dtype), 1 + both, nest_at(a, &kept, 1));
	out_line(&o, "%s acc = *x;", row_type(x->dtype));
	out_line(&o, "int64_t at = 0;");
	out_blank(&o);
	out_open(&o, "for (int64_t k = 1; k < %lld && acc == acc; k++)", (long long)nest_count(&gone));
	out_line(&o, "const %s v = x[k * %lld];", row_type(x->dtype), (long long)(gone.ndim ? gone.stride[0][0] : 0));
	out_open(&o, "if (v %s acc || v != v)", d->step);
	out_line(&o, "acc = v;");
	out_line(&o, "at = k;");
	out_close(&o, "");
	out_close(&o, "");
	if (both)
		out_line(&o, "((%s *)p[0])[%s] = acc;", row_type(x->dtype), nest_at(a, &kept, 0));
	out_line(&o, "((int64_t *)p[%d])[%s] = at;", both, nest_at(a, &kept, 0));
	out_close(&o, "");
	c = row_call(r, "extreme", arena_printf(a, "%s of %s", r->n->op->id, sizes(a, x)), &o, nest_count(&kept),
		     row_grain(nest_count(&gone)));
	for (int i = 0; i < r->n->nout; i++)
		row_pass(r, c, r->n->out[i], 0);
	row_pass(r, c, row_arg(r, "self"), 0);
	return true;
}

/* ---- along one dim ------------------------------------------------------------------------------------------------------------ */

/* Operands y and x of the same sizes, but for dims [from, to). */
static RowNest
nest_around(const RtTensor *y, const RtTensor *x, int from, int to)
{
	RowNest nest = { .n = 2 };

	for (int i = 0; i < x->ndim; i++)
		if (i < from || i >= to) {
			nest.dims[nest.ndim] = x->dims[i];
			nest.stride[0][nest.ndim] = y->strides[i];
			nest.stride[1][nest.ndim++] = x->strides[i];
		}
	nest_simplify(&nest, 0);
	return nest;
}

static void
put_row_pointers(Out *o, Arena *a, const RowNest *nest)
{
	nest_open(o, nest);
	out_line(o, "const float *x = (const float *)p[1] + %s;", nest_at(a, nest, 1));
	out_line(o, "float *y = (float *)p[0] + %s;", nest_at(a, nest, 0));
}

static bool
row_softmax(Row *r)
{
	const RtTensor *x = row_tensor(r, "self"), *y = row_result(r, 0);
	const bool logarithm = strstr(r->n->op->id, "log") != NULL;
	Arena *a = r->p->cx->arena;
	Out o = { .indent = 1 };
	int64_t dim, n, xs, ys;
	KernelCall *c;
	RowNest nest;

	if (!is_float(x) || !is_float(y) || !row_int(r, "dim", &dim) || !wrap_dim(&dim, x->ndim) || !x->ndim || !rt_numel(x))
		return false;
	n = x->dims[dim];
	xs = n == 1 ? 1 : x->strides[dim];
	ys = n == 1 ? 1 : y->strides[dim];
	nest = nest_around(y, x, (int)dim, (int)dim + 1);
	put_row_pointers(&o, a, &nest);
	if (xs == 1 && ys == 1)
		out_line(&o, "%s(%lld, x, y);", logarithm ? "vr_log_softmax" : "vr_softmax", (long long)n);
	else
		out_line(&o, "vr_softmax_far(%lld, %lld, %lld, %d, x, y);", (long long)n, (long long)xs, (long long)ys, logarithm);
	out_close(&o, "");
	c = row_call(r, "softmax", arena_printf(a, "%s of %s, dim %lld", r->n->op->id, sizes(a, x), (long long)dim), &o, nest_count(&nest),
		     row_grain(n * 8));
	row_pass(r, c, r->n->out[0], 0);
	row_pass(r, c, row_arg(r, "self"), 0);
	return true;
}

/* Are the last n dims consecutive in memory? */
static bool
runs(const RtTensor *t, int n)
{
	int64_t stride = 1;

	for (int i = t->ndim - 1; i >= t->ndim - n; i--) {
		if (t->dims[i] != 1 && t->strides[i] != stride)
			return false;
		stride *= t->dims[i];
	}
	return true;
}

/* A weight of n floats, consecutive; *v null when there is none. */
static bool
take_weight(const Row *r, const char *name, int64_t n, const Value **v)
{
	const RtTensor *t = row_tensor(r, name);

	*v = row_arg(r, name);
	return !*v || (is_float(t) && rt_is_contiguous(t) && rt_numel(t) == n);
}

static void
pass_weights(Row *r, KernelCall *c, const Value *x, const Value *w, const Value *b)
{
	row_pass(r, c, r->n->out[0], 0);
	row_pass(r, c, x, 0);
	if (w)
		row_pass(r, c, w, 0);
	if (b)
		row_pass(r, c, b, 0);
}

/* Rows that are no runs are copied to where the result belongs, and normalised there. */
static bool
row_layer_norm(Row *r)
{
	const RtTensor *x = row_tensor(r, "input"), *y = row_result(r, 0);
	const Value *from = row_arg(r, "input");
	Arena *a = r->p->cx->arena;
	int64_t shape[RT_MAX_RANK], n = 1;
	const Value *w, *b;
	Out o = { .indent = 1 };
	RowNest nest;
	KernelCall *c;
	double eps;
	int ndim;

	if (!is_float(x) || !is_float(y) || !row_list(r, "normalized_shape", shape, &ndim) || ndim < 1 || ndim > x->ndim ||
	    !row_double(r, "eps", &eps) || !rt_numel(x) || !runs(y, ndim))
		return false;
	for (int i = x->ndim - ndim; i < x->ndim; i++)
		n *= x->dims[i];
	if (!take_weight(r, "weight", n, &w) || !take_weight(r, "bias", n, &b))
		return false;
	if (!runs(x, ndim)) {
		if (!row_copy_layout(r, x, from))
			return false;
		x = y;
		from = r->n->out[0];
	}
	nest = nest_around(y, x, x->ndim - ndim, x->ndim);
	put_row_pointers(&o, a, &nest);
	out_line(&o, "vr_layer_norm(%lld, %.17g, x, %s, %s, y);", (long long)n, eps, w ? "p[2]" : "0", b ? w ? "p[3]" : "p[2]" : "0");
	out_close(&o, "");
	c = row_call(r, "layer_norm", arena_printf(a, "layer_norm of %s", sizes(a, x)), &o, nest_count(&nest), row_grain(n * 3));
	pass_weights(r, c, from, w, b);
	return true;
}

/* The distance of places after dim 2, when they are one dim: -1: not so. */
static int64_t
place_stride(const RtTensor *t)
{
	RowNest nest = { .n = 1 };

	for (int i = 2; i < t->ndim; i++) {
		nest.dims[nest.ndim] = t->dims[i];
		nest.stride[0][nest.ndim++] = t->strides[i];
	}
	for (int i = nest.ndim - 1; i >= 0; i--)
		if (nest.dims[i] == 1)
			nest_drop(&nest, i);
	for (int i = nest.ndim - 2; i >= 0; i--)
		if (nest.stride[0][i] != nest.stride[0][i + 1] * nest.dims[i + 1])
			return -1;
	return nest.ndim ? nest.stride[0][nest.ndim - 1] : 1;
}

/* Of another layout than the result it is copied to where that belongs, and normalised there. */
static bool
row_group_norm(Row *r)
{
	const Value *from = row_arg(r, "input");
	const bool instance = !strcmp(r->n->op->id, "instance_norm");
	const RtTensor *x = row_tensor(r, "input"), *y = row_result(r, 0);
	Arena *a = r->p->cx->arena;
	int64_t groups = 0, places, each, far, stats;
	const Value *w, *b;
	Out o = { .indent = 1 };
	KernelCall *c;
	double eps;

	if (!is_float(x) || !is_float(y) || x->ndim < 2 || !rt_numel(x) || !row_double(r, "eps", &eps))
		return false;
	if (instance ? !row_int(r, "use_input_stats", &stats) || !stats || row_arg(r, "running_mean") : !row_int(r, "num_groups", &groups))
		return false;
	groups = instance ? x->dims[1] : groups;
	far = place_stride(y);
	if (groups < 1 || x->dims[1] % groups || far < 0)
		return false;
	if (place_stride(x) != far || (x->dims[1] != 1 && x->strides[1] != y->strides[1]) || (x->dims[0] != 1 && x->strides[0] != y->strides[0])) {
		if (!row_copy_layout(r, x, from))
			return false;
		x = y;
		from = r->n->out[0];
	}
	if (!take_weight(r, "weight", x->dims[1], &w) || !take_weight(r, "bias", x->dims[1], &b))
		return false;
	each = x->dims[1] / groups;
	places = rt_numel(x) / x->dims[0] / x->dims[1];
	out_open(&o, "for (int64_t row = begin; row < end; row++)");
	out_line(&o, "const int64_t g = row %% %lld, at = row / %lld * %lld + g * %lld;", (long long)groups, (long long)groups,
		 (long long)x->strides[0], (long long)(each * x->strides[1]));
	out_line(&o, "vr_group_norm(%lld, %lld, %lld, %lld, %.17g, (const float *)p[1] + at, %s, %s, (float *)p[0] + at);", (long long)each,
		 (long long)x->strides[1], (long long)places, (long long)far, eps,
		 w ? arena_printf(a, "(const float *)p[2] + g * %lld", (long long)each) : "0",
		 b ? arena_printf(a, "(const float *)p[%d] + g * %lld", w ? 3 : 2, (long long)each) : "0");
	out_close(&o, "");
	c = row_call(r, "group_norm", arena_printf(a, "%s of %s", r->n->op->id, sizes(a, x)), &o, x->dims[0] * groups,
		     row_grain(each * places * 3));
	pass_weights(r, c, from, w, b);
	return true;
}

/* In evaluation: what was measured in training, per channel. */
static bool
row_batch_norm(Row *r)
{
	static const char *const names[] = { "running_mean", "running_var", "weight", "bias" };
	const RtTensor *x = row_tensor(r, "input"), *y = row_result(r, 0);
	Arena *a = r->p->cx->arena;
	const Value *v[4];
	RowNest nest = { .n = 3 };
	Out o = { .indent = 1 };
	int64_t training, inner;
	KernelCall *c;
	int last;
	double eps;

	if (!is_float(x) || !is_float(y) || x->ndim < 2 || !rt_numel(x) || !row_int(r, "training", &training) || training ||
	    !row_double(r, "eps", &eps))
		return false;
	for (int i = 0; i < 4; i++)
		if (!take_weight(r, names[i], x->dims[1], &v[i]))
			return false;
	if (!v[0] || !v[1])
		return false;
	nest.ndim = x->ndim;
	for (int i = 0; i < x->ndim; i++) {
		nest.dims[i] = x->dims[i];
		nest.stride[0][i] = y->strides[i];
		nest.stride[1][i] = x->strides[i];
		nest.stride[2][i] = i == 1;
	}
	nest_simplify(&nest, 0);
	if (!nest.ndim)
		return false;
	last = --nest.ndim;
	inner = nest.dims[last];
	put_row_pointers(&o, a, &nest);
	out_line(&o, "const int64_t at = %s;", nest_at(a, &nest, 2));
	out_blank(&o);
	out_line(&o, "IVDEP");
	out_open(&o, "for (int64_t i = 0; i < %lld; i++)", (long long)inner);
	out_line(&o, "const int64_t k = at + i * %lld;", (long long)nest.stride[2][last]);
	out_line(&o, "const float scale = 1 / sqrtf(((const float *)p[3])[k] + (float)%.17g)%s;", eps,
		 v[2] ? " * ((const float *)p[4])[k]" : "");
	out_line(&o, "const float shift = %s((const float *)p[2])[k] * scale;",
		 v[3] ? v[2] ? "((const float *)p[5])[k] - " : "((const float *)p[4])[k] - " : "-");
	out_line(&o, "y[i * %lld] = x[i * %lld] * scale + shift;", (long long)nest.stride[0][last], (long long)nest.stride[1][last]);
	out_close(&o, "");
	out_close(&o, "");
	c = row_call(r, "batch_norm", arena_printf(a, "batch_norm of %s", sizes(a, x)), &o, nest_count(&nest), row_grain(inner * 2));
	row_pass(r, c, r->n->out[0], 0);
	row_pass(r, c, row_arg(r, "input"), 0);
	for (int i = 0; i < 4; i++)
		if (v[i])
			row_pass(r, c, v[i], 0);
	return true;
}

/* ---- the table ------------------------------------------------------------------------------------------------------------------ */

static const struct { const char *id; RowForm *form; } forms[] = {
	{ "sum", row_reduce }, { "sum_dim_IntList", row_reduce }, { "mean", row_reduce }, { "mean_dim", row_reduce },
	{ "prod", row_reduce }, { "prod_dim_int", row_reduce }, { "amax", row_reduce }, { "amin", row_reduce }, { "max", row_reduce },
	{ "min", row_reduce }, { "all", row_reduce }, { "all_dim", row_reduce }, { "any", row_reduce }, { "any_dim", row_reduce },
	{ "max_dim", row_extreme }, { "min_dim", row_extreme }, { "argmax", row_extreme }, { "argmin", row_extreme },
	{ "softmax_int", row_softmax }, { "log_softmax_int", row_softmax }, { "_softmax", row_softmax }, { "_log_softmax", row_softmax },
	{ "layer_norm", row_layer_norm }, { "group_norm", row_group_norm }, { "instance_norm", row_group_norm },
	{ "tensor_contiguous", row_copy }, { "clone", row_copy }, { "tensor_clone", row_copy }, { "to_dtype_of", row_cast }, { "to_dtype_layout", row_cast }, { "to_prim_dtype", row_cast },
	{ "to_device", row_cast }, { "to_other", row_cast }, { "type_as", row_cast }, { "reshape", row_copy }, { "reshape_as", row_copy },
	{ "flatten_using_ints", row_copy }, { "repeat", row_repeat }, { "cat", row_cat }, { "stack", row_stack }, { "pad", row_pad },
	{ "constant_pad_nd", row_pad }, { "zeros", row_fill }, { "ones", row_fill }, { "full", row_fill }, { "zeros_like", row_fill },
	{ "ones_like", row_fill }, { "full_like", row_fill }, { "new_zeros", row_fill }, { "embedding", row_embedding },
	{ "index_select", row_index_select }, { "matmul", row_matmul }, { "mm", row_matmul }, { "bmm", row_matmul },
	{ "linear", row_linear }, { "addmm", row_addmm }, { "max_pool1d", row_max_pool }, { "max_pool2d", row_max_pool },
	{ "avg_pool1d", row_avg_pool }, { "avg_pool2d", row_avg_pool }, { "adaptive_avg_pool1d", row_adaptive_avg_pool },
	{ "adaptive_avg_pool2d", row_adaptive_avg_pool }, { "conv1d", row_convolution }, { "conv2d", row_convolution },
	{ "_convolution", row_convolution }, { "convolution", row_convolution }, { "batch_norm", row_batch_norm },
	{ "convolution_backward", row_convolution_backward }, { "max_pool2d_with_indices", row_max_pool_places },
	{ "max_pool2d_with_indices_backward", row_max_pool_back },
	{ "roll", row_roll }, { "einsum", row_einsum }, { "upsample_bilinear2d", row_bilinear }, { "upsample_bilinear2d_vec", row_bilinear },
	{ "upsample_nearest2d", row_nearest }, { "upsample_nearest2d_vec", row_nearest }, { "_upsample_nearest_exact2d", row_nearest },
	{ "_upsample_nearest_exact2d_vec", row_nearest }, { "prim_lstm_walk", row_lstm_walk },
	{ "prim_attention", row_attention }, { "scaled_dot_product_attention", row_sdpa },
};

/* Those that write to an argument. */
static const struct { const char *id; RowForm *form; } writing_forms[] = {
	{ "copy_", row_copy_into }, { "copy__Tensor", row_copy_into },
};

/* Forms that write by their result's strides, so that it may be a part of a larger tensor. */
static RowForm *const by_strides[] = {
	row_copy, row_cast, row_cat, row_max_pool, row_avg_pool, row_bilinear, row_nearest, row_roll, row_repeat,
};

static bool
takes_parts(RowForm *form)
{
	for (size_t i = 0; i < sizeof by_strides / sizeof *by_strides; i++)
		if (by_strides[i] == form)
			return true;
	return false;
}

/* Generated kernels write what nothing else holds: results that are not views of the arguments. */
static bool
results_are_new(const Row *r, bool parts)
{
	for (int i = 0; i < r->n->nout; i++) {
		const RtTensor *y = row_result(r, i);

		if (parts && y && plan_is_part(r->p, r->n->out[i]))
			continue;
		if (!y || !rt_is_dense(y))
			return false;
		for (int k = 0; k < r->n->nin; k++) {
			const RtTensor *x = plan_tensor(r->p, r->n->in[k]);

			if (x && x->storage == y->storage)
				return false;
		}
	}
	return r->n->nout > 0;
}

/* Whose forms sum in an order of their own, or approximate a function in their own way. */
static bool
rounds_otherwise(RowForm *form)
{
	static RowForm *const those[] = {
		row_reduce, row_softmax, row_layer_norm, row_group_norm, row_matmul, row_linear, row_addmm, row_avg_pool, row_adaptive_avg_pool,
		row_convolution, row_batch_norm, row_convolution_backward, row_einsum, row_bilinear, row_lstm_walk, row_attention, row_sdpa,
	};

	for (size_t i = 0; i < sizeof those / sizeof *those; i++)
		if (those[i] == form)
			return true;
	return false;
}

static bool
form_of(Row *r)
{
	if (!r->n->op || r->n->op->form != OP_KERNEL)
		return false;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (!strcmp(r->n->op->id, forms[i].id))
			return !(config_is_exact(r->p->cx) && rounds_otherwise(forms[i].form)) &&
			       results_are_new(r, takes_parts(forms[i].form)) && forms[i].form(r);
	for (size_t i = 0; i < sizeof writing_forms / sizeof *writing_forms; i++)
		if (!strcmp(r->n->op->id, writing_forms[i].id))
			return writing_forms[i].form(r);
	return false;
}

bool
op_is_row(const Op *op)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (op->form == OP_KERNEL && !strcmp(op->id, forms[i].id))
			return true;
	for (size_t i = 0; i < sizeof writing_forms / sizeof *writing_forms; i++)
		if (!strcmp(op->id, writing_forms[i].id))
			return true;
	return false;
}

bool
node_is_row(Plan *p, const Node *n)
{
	KernelCall calls[MAX_KERNEL_CALLS];
	Row r = { .p = p, .n = n, .calls = calls };

	return form_of(&r);
}

bool
emit_row(Emit *e, Plan *p, const Node *n, KernelCall *calls, int *ncall)
{
	Row r = { .e = e, .p = p, .n = n, .calls = calls };
	const bool is = form_of(&r);

	*ncall = r.ncall;
	return is;
}
