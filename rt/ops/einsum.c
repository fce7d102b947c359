/* rt/ops/einsum.c - einsum and cdist
 *
 * Every operand is brought to the same order of dims, one per label (of size 1 where it does not have the label; a
 * repeated label takes the diagonal): output labels first, then summed ones.  Operands are then contracted from left to
 * right; a label that only one operand is left to have is summed at once.  A contraction in which no label of both is
 * summed is a product by elements, of any dtypes, and else a bmm: labels of both operands that are kept are the batch,
 * labels of one operand rows or columns, labels of both that are summed the inner dim.
 */
#include "gemm.h"
#include "scatter.h"

#include "../base.h"

#include <ctype.h>
#include <math.h>

enum { DOTS = 52, LABELS = DOTS + RT_MAX_RANK };     /* a letter's label is 0 .. 51, dims of the ellipsis come after */

typedef struct Equation {
	int labels[RT_MAX_RANK], n;      /* of the operand or output at hand */
} Equation;

static int
label_of(int c)
{
	/* Implicit outputs are sorted with upper case first. */
	return isupper(c) ? c - 'A' : 26 + c - 'a';
}

/* Reads one operand's labels from *s; dots: how many dims an ellipsis stands for, aligned to the right of `most`. */
static int
read_labels(RtCx *cx, const char **s, int dots, int most, Equation *e)
{
	bool ellipsis = false;

	e->n = 0;
	for (; **s && **s != ',' && !(**s == '-' && (*s)[1] == '>'); ++*s) {
		int count = 1, label = 0;
		if (**s == ' ')
			continue;
		if (**s == '.') {
			if ((*s)[1] != '.' || (*s)[2] != '.' || ellipsis)
				return rt_raise(cx, "einsum(): found '.' that is not part of any ellipsis");
			*s += 2;
			ellipsis = true;
			count = dots;
			label = DOTS + most - dots;
		} else if (isalpha((unsigned char)**s)) {
			label = label_of(**s);
		} else {
			return rt_raise(cx,
					"einsum(): invalid subscript given at index, subscripts must be in [a-zA-Z]");
		}
		for (int i = 0; i < count; i++) {
			if (e->n == RT_MAX_RANK)
				return rt_raise(cx, "einsum(): too many subscripts");
			e->labels[e->n++] = label + i;
		}
	}
	return RT_OK;
}

/* The number of labels of the operand at s, without its ellipsis; -1 - that when it has one. */
static int
count_labels(const char *s)
{
	int n = 0;
	bool ellipsis = false;

	for (; *s && *s != ',' && !(*s == '-' && s[1] == '>'); s++) {
		ellipsis = ellipsis || *s == '.';
		n += isalpha((unsigned char)*s) != 0;
	}
	return ellipsis ? -1 - n : n;
}

typedef struct Sums {
	int      order[LABELS];      /* dim of a label in the common order, -1: unused */
	int      count[LABELS];      /* of operands that have it, at any size */
	int      ndim, nout;         /* labels in use; of the output: they come first */
	int64_t  size[LABELS];
} Sums;

/* The operand as a view with one dim per label in use. */
static RtTensor *
arranged(RtCx *cx, RtTensor *t, const Equation *e, const Sums *sums, int operand)
{
	Geom g = { .n = sums->ndim, .offset = t->offset };
	uint64_t had = 0;

	for (int i = 0; i < g.n; i++) {
		g.dims[i] = 1;
		g.strides[i] = 0;
	}
	for (int i = 0; i < e->n; i++) {
		int d = sums->order[e->labels[i]];
		if (g.dims[d] != 1 && g.dims[d] != t->dims[i]) {
			rt_raise(cx, "einsum(): subscript is repeated for operand %d but the sizes don't match, %lld "
				"!= %lld", operand, (long long)t->dims[i], (long long)g.dims[d]);
			return NULL;
		}
		g.dims[d] = t->dims[i];
		g.strides[d] += t->strides[i];
		had |= UINT64_C(1) << d;
	}
	for (int i = 0; i < g.n; i++)
		g.strides[i] = had >> i & 1 ? g.strides[i] : 1;
	return rt_temp(cx, rt_tensor_view(cx, t, g.n, g.dims, g.strides, g.offset));
}

enum { BATCH, ROWS, GONE, COLUMNS };

typedef struct Kinds {           /* dims by what a product of matrices makes of them */
	int order[4][RT_MAX_RANK], n[4];
} Kinds;

/* t as a stack of matrices: batch, and two more kinds of dims. */
static RtTensor *
as_matrices(RtCx *cx, RtTensor *t, const Kinds *k, const int kind[3])
{
	int64_t dims[3] = { 1, 1, 1 }, strides[3];
	Geom to = { .n = 0 };

	for (int m = 0; m < 3; m++)
		for (int i = 0; i < k->n[kind[m]]; i++) {
			const int d = k->order[kind[m]][i];

			to.dims[to.n] = t->dims[d];
			to.strides[to.n++] = t->strides[d];
			dims[m] *= t->dims[d];
		}
	t = rt_temp(cx, rt_tensor_view(cx, t, to.n, to.dims, to.strides, t->offset));
	t = t ? dense(cx, t) : NULL;
	if (!t)
		return NULL;
	rt_contiguous_strides(3, dims, strides);
	return rt_temp(cx, rt_tensor_view(cx, t, 3, dims, strides, t->offset));
}

/* The product r, whose dims are batch, rows and columns, with those of a and b in their own order; between rows and
 * columns stand those that are gone, which are 1. */
static RtTensor *
in_order(RtCx *cx, RtTensor *r, const Kinds *k, const RtTensor *a, const RtTensor *b)
{
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];
	int back[RT_MAX_RANK], at = 0;
	Geom g = { .n = a->ndim };

	for (int kind = 0; kind < 4; kind++)
		for (int i = 0; i < k->n[kind]; i++, at++) {
			const int d = k->order[kind][i];

			back[d] = at;
			dims[at] = kind == GONE ? 1 : kind == COLUMNS ? b->dims[d] : a->dims[d];
		}
	rt_contiguous_strides(g.n, dims, strides);
	for (int d = 0; d < g.n; d++) {
		g.dims[d] = dims[back[d]];
		g.strides[d] = strides[back[d]];
	}
	return rt_temp(cx, rt_tensor_view(cx, r, g.n, g.dims, g.strides, r->offset));
}

/* t summed over these dims, which become 1, or are left out. */
static RtTensor *
summed(RtCx *cx, RtTensor *t, uint64_t dims, bool keep)
{
	RtList *const list = rt_list_new(cx, &rt_type_int, 0);
	IValue r;

	if (!list)
		return NULL;
	for (int d = 0; d < t->ndim; d++)
		if (dims >> d & 1 && rt_list_push(cx, list, rt_int(d)))
			return rt_release(rt_ref(RT_LIST, list)), NULL;
	r = rt_temp_value(cx, rt_ref(RT_LIST, list));
	return CALL(cx, sum_dim_IntList, &r, rt_of(t), r, rt_bool(keep), rt_none()) ? NULL : r.u.t;
}

/* The product of a and b, summed over the dims in `gone`, which both have and which become 1. */
static RtTensor *
product_of(RtCx *cx, RtTensor *a, RtTensor *b, uint64_t gone)
{
	static const int left[3] = { BATCH, ROWS, GONE }, right[3] = { BATCH, GONE, COLUMNS };
	Kinds k = { .n = { 0 } };
	RtTensor *x, *y;
	IValue r;

	if (!gone)
		return CALL(cx, mul_Tensor, &r, rt_of(a), rt_of(b)) ? NULL : r.u.t;
	for (int d = 0; d < a->ndim; d++) {
		const bool in_a = a->dims[d] != 1, in_b = b->dims[d] != 1;
		const int kind = gone >> d & 1 ? GONE : in_a && in_b ? BATCH : in_a ? ROWS : COLUMNS;

		k.order[kind][k.n[kind]++] = d;
	}
	x = as_matrices(cx, a, &k, left);
	y = x ? as_matrices(cx, b, &k, right) : NULL;
	return !y || CALL(cx, bmm, &r, rt_of(x), rt_of(y)) ? NULL : in_order(cx, r.u.t, &k, a, b);
}

/* a and b have the same dims but for 1s; left: how many operands are left in which a dim is not 1. */
static RtTensor *
contract(RtCx *cx, RtTensor *a, RtTensor *b, const Sums *sums, int *left)
{
	uint64_t of_a = 0, of_b = 0, gone = 0;

	for (int d = sums->nout; d < sums->ndim; d++) {
		const bool in_a = a->dims[d] != 1, in_b = b->dims[d] != 1;
		const uint64_t bit = UINT64_C(1) << d;

		left[d] -= in_a && in_b;
		if (left[d] != 1 || !(in_a || in_b))
			continue;
		*(in_a && in_b ? &gone : in_a ? &of_a : &of_b) |= bit;
		left[d] = 0;
	}
	a = of_a ? summed(cx, a, of_a, true) : a;
	b = of_b && a ? summed(cx, b, of_b, true) : b;
	return a && b ? product_of(cx, a, b, gone) : NULL;
}

/* Has each operand as many labels as dims?  most: the dims of the longest ellipsis. */
static int
check_counts(RtCx *cx, const char *s, const char *arrow, const RtList *operands, int *most)
{
	*most = 0;
	for (int i = 0; i < operands->n; i++) {
		const int n = count_labels(s), dots = operands->v[i].u.t->ndim - (n < 0 ? -1 - n : n);

		if (n < 0 ? dots < 0 : dots != 0)
			return rt_raise(cx, "einsum(): the number of subscripts in the equation (%d) does not match "
				"the number of dimensions (%d) for operand %d%s", n < 0 ? -1 - n : n,
				operands->v[i].u.t->ndim, i, n < 0 ? "" : " and no ellipsis was given");
		*most = n < 0 && dots > *most ? dots : *most;
		while (*s && *s != ',' && s != arrow)
			s++;
		if (i + 1 < operands->n && *s != ',')
			return rt_raise(cx, "einsum(): fewer operands were provided than specified in the equation");
		s += *s == ',';
	}
	return *s && s != arrow ? rt_raise(cx, "einsum(): more operands were provided than specified in the equation")
				: RT_OK;
}

/* The sizes of operand i's labels, and how often each is met. */
static int
note_sizes(RtCx *cx, const RtTensor *t, int i, const Equation *e, Sums *sums)
{
	for (int d = 0; d < t->ndim; d++) {
		const int label = e->labels[d];

		if (sums->size[label] != 1 && t->dims[d] != 1 && sums->size[label] != t->dims[d])
			return rt_raise(cx, "einsum(): subscript %c has size %lld for operand %d which does not "
				"broadcast with previously seen size %lld", label < 26 ? 'A' + label :
				label < DOTS ? 'a' + label - 26 : '.', (long long)t->dims[d], i,
				(long long)sums->size[label]);
		if (t->dims[d] != 1)
			sums->size[label] = t->dims[d];
		sums->count[label]++;
	}
	return RT_OK;
}

/* Without an arrow: the ellipsis, then labels that stand once, in alphabetical order. */
static Equation
implied_output(int most, const int *count)
{
	Equation output = { .n = 0 };

	for (int i = 0; i < most; i++)
		output.labels[output.n++] = DOTS + i;
	for (int i = 0; i < DOTS; i++)
		if (count[i] == 1 && output.n < RT_MAX_RANK)
			output.labels[output.n++] = i;
	return output;
}

/* The output's labels come first, then the others. */
static int
order_labels(RtCx *cx, const Equation *output, Sums *sums)
{
	for (int i = 0; i < output->n; i++) {
		const int label = output->labels[i];

		if (sums->order[label] >= 0)
			return rt_raise(cx, "einsum(): output subscript appears more than once in the output");
		if (!sums->count[label])
			return rt_raise(cx, "einsum(): output subscript does not appear in the equation for any input "
				"operand");
		sums->order[label] = sums->ndim++;
	}
	sums->nout = sums->ndim;
	for (int i = 0; i < LABELS; i++)
		if (sums->count[i] && sums->order[i] < 0) {
			if (sums->ndim == RT_MAX_RANK)
				return rt_raise(cx, "einsum(): too many subscripts");
			sums->order[i] = sums->ndim++;
		}
	return RT_OK;
}

/* Reads the equation: sizes and order of labels, each operand's labels. */
static int
read_equation(RtCx *cx, const char *text, const RtList *operands, Equation *e, Sums *sums)
{
	const char *s = text, *arrow = strstr(text, "->");
	int most;
	Equation output;

	for (int i = 0; i < LABELS; i++)
		sums->order[i] = -1, sums->count[i] = 0, sums->size[i] = 1;
	if (check_counts(cx, text, arrow, operands, &most))
		return RT_ERROR;
	for (int i = 0; i < operands->n; i++) {
		const RtTensor *t = operands->v[i].u.t;
		const int n = count_labels(s);

		if (read_labels(cx, &s, n < 0 ? t->ndim + 1 + n : 0, most, &e[i]) ||
		    note_sizes(cx, t, i, &e[i], sums))
			return RT_ERROR;
		s += *s == ',';
	}
	if (!arrow)
		output = implied_output(most, sums->count);
	else if (s = arrow + 2, read_labels(cx, &s, most, most, &output))
		return RT_ERROR;
	return order_labels(cx, &output, sums);
}

/* r without the dims that are summed: of one operand they are, of more they are 1 by now. */
static RtTensor *
of_output(RtCx *cx, RtTensor *r, const Sums *sums, bool one)
{
	const uint64_t rest = (UINT64_C(1) << sums->ndim) - (UINT64_C(1) << sums->nout);
	IValue v;
	Geom g;

	if (!rest)
		return r;
	if (one)
		return summed(cx, r, rest, false);
	g = geom_of(r);
	g.n = sums->nout;
	v = rt_of(rt_temp(cx, rt_tensor_view(cx, r, g.n, g.dims, g.strides, g.offset)));
	return !v.u.t || CALL(cx, view_as, &v, rt_of(r), v) ? NULL : v.u.t;
}

int
rt_einsum(RtCx *cx, const IValue *in, IValue *out)
{
	const RtList *operands = in[1].u.list;
	Equation *e = rt_scratch(cx, (int64_t)sizeof *e * (operands->n + 1));
	RtTensor *r = NULL, **t = rt_scratch(cx, (int64_t)sizeof *t * (operands->n + 1));
	Sums sums = { .ndim = 0 };
	int left[RT_MAX_RANK] = { 0 };

	if (!e || !t)
		return RT_ERROR;
	if (operands->n == 0)
		return rt_raise(cx, "einsum(): must provide at least one operand");
	if (read_equation(cx, in[0].u.str->s, operands, e, &sums))
		return RT_ERROR;
	for (int i = 0; i < operands->n; i++) {
		if (!(t[i] = arranged(cx, operands->v[i].u.t, &e[i], &sums, i)))
			return RT_ERROR;
		for (int d = 0; d < sums.ndim; d++)
			left[d] += t[i]->dims[d] != 1;
	}
	r = t[0];
	for (int i = 1; r && i < operands->n; i++)
		r = contract(cx, r, t[i], &sums, left);
	r = r ? of_output(cx, r, &sums, operands->n == 1) : NULL;
	if (!r)
		return cx->status ? cx->status : RT_UNKNOWN_META;
	r = rt_tensor_view(cx, r, r->ndim, r->dims, r->strides, r->offset);
	RT_RESULT(cx, r, out[0]);
	return RT_OK;
}

/* Labels as numbers, 0 to 51, in the order of their letters. */
static int
put_labels(RtCx *cx, Buf *b, IValue v)
{
	if (v.tag != RT_LIST)
		return rt_raise(cx, "einsum(): a list of subscripts is wanted, not %s", rt_type_of(v));
	for (int64_t i = 0; i < v.u.list->n; i++) {
		int64_t label = v.u.list->v[i].tag == RT_INT ? v.u.list->v[i].u.i : -1;
		if (label < 0 || label >= DOTS)
			return rt_raise(cx, "einsum(): subscripts in list must be within range [0, 52), but got %lld",
					(long long)label);
		buf_printf(b, "%c", (int)(label < 26 ? 'A' + label : 'a' + label - 26));
	}
	return RT_OK;
}

/* operand, labels, ... [, labels of the result]: written as an equation into b, the operands into l. */
static int
read_sublists(RtCx *cx, IValue first, const RtList *rest, Buf *b, RtList *l)
{
	IValue v = first;
	int64_t i = 0;

	buf_puts(b, "");
	for (; v.tag == RT_TENSOR && i < rest->n; i += 2) {
		buf_puts(b, i ? "," : "");
		if (rt_list_push(cx, l, rt_retain(v)) || put_labels(cx, b, rest->v[i]))
			return RT_ERROR;
		v = i + 1 < rest->n ? rest->v[i + 1] : rt_none();
	}
	if (rt_is_none(v))
		return RT_OK;
	buf_puts(b, "->");
	return put_labels(cx, b, v);
}

int
rt_einsum_sublist(RtCx *cx, const IValue *in, IValue *out)
{
	RtList *l = rt_list_new(cx, &rt_type_tensor, 0);
	RtStr *text = 0;
	IValue args[3];
	Buf b = { 0 };
	int status = RT_ERROR;

	if (l && !read_sublists(cx, in[0], in[1].u.list, &b, l) && (text = rt_str_new(cx, b.at, b.n))) {
		args[0] = rt_ref(RT_STR, text);
		args[1] = rt_ref(RT_LIST, l);
		args[2] = rt_none();
		status = rt_einsum(cx, args, out);
	}
	if (text)
		rt_release(rt_ref(RT_STR, text));
	if (l)
		rt_release(rt_ref(RT_LIST, l));
	buf_free(&b);
	return status;
}

/* ---- cdist ----------------------------------------------------------------------------------------------------- */

/* wide: of doubles; else powers are rounded to floats, in which too large ones are infinite. */
static double
distance(const double *a, const double *b, int64_t n, double p, bool wide)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++) {
		double d = fabs(a[i] - b[i]);

		if (isinf(p)) {
			sum = d > sum || d != d ? d : sum;
			continue;
		}
		d = p == 0 ? d != 0 : p == 1 ? d : p == 2 ? d * d : pow(d, p);
		sum += wide ? d : (double)(float)d;
	}
	sum = wide ? sum : (double)(float)sum;
	return p == 0 || p == 1 || isinf(p) ? sum : p == 2 ? sqrt(sum) : pow(sum, 1 / p);
}

typedef struct Distances {
	const double *a, *b;
	double *to;
	int64_t rows, columns, n;
	double  p;
	bool    wide;
} Distances;

/* Rows of distances, each by itself. */
static void
distances(void *arg, int64_t begin, int64_t end)
{
	const Distances *d = arg;

	for (int64_t i = begin; i < end; i++)
		for (int64_t j = 0; j < d->columns; j++)
			d->to[i * d->columns + j] = distance(d->a + i * d->n, d->b + j * d->n, d->n, d->p, d->wide);
}

static double
squared(const double *a, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += a[i] * a[i];
	return sum;
}

/* Euclidean distances as |a|^2 + |b|^2 - 2 a b, where `to` has the products.  Where that cancels or is out of range,
 * directly. */
static void
distances_of_products(void *arg, int64_t begin, int64_t end)
{
	const Distances *d = arg;
	const double *b_squared = d->to + d->rows * d->columns;

	for (int64_t i = begin; i < end; i++) {
		const double *a = d->a + i * d->n, a_squared = squared(a, d->n);
		double *to = d->to + i * d->columns;

		for (int64_t j = 0; j < d->columns; j++) {
			const double most = a_squared + b_squared[j], sum = most - 2 * to[j];
			const bool precise = sum > 1e-6 * most && (d->wide ? isnormal(most) : isnormal((float)most));

			to[j] = precise ? sqrt(sum) : distance(a, d->b + j * d->n, d->n, 2, d->wide);
		}
	}
}

enum { LEAST_PRODUCT = 16 };     /* of fewer numbers a product is not worth it */

/* One batch; behind d->to there is room for a column of numbers. */
static int
batch_distances(RtCx *cx, const Distances *d)
{
	const Product product = { d->rows, d->columns, d->n, d->a, d->b, d->n, 1, 1, d->n, d->to, .ldc = 0 };
	Distances copy = *d;

	if (d->p != 2 || d->n < LEAST_PRODUCT || d->rows < LEAST_PRODUCT) {
		rt_parallel(cx, d->rows, 1 + 20000 / (d->columns * d->n + 1), distances, &copy);
		return RT_OK;
	}
	if (gemm(cx, RT_f64, &product))
		return RT_ERROR;
	for (int64_t j = 0; j < d->columns; j++)
		d->to[d->rows * d->columns + j] = squared(d->b + j * d->n, d->n);
	rt_parallel(cx, d->rows, 1 + 20000 / (d->columns * 4 + 1), distances_of_products, &copy);
	return RT_OK;
}

static int
check_cdist(RtCx *cx, const RtTensor *a, const RtTensor *b, double p)
{
	if (a->ndim < 2 || b->ndim < 2)
		return rt_raise(cx, "cdist only supports at least 2D tensors, %s got: %dD", a->ndim < 2 ? "X1" : "X2",
			a->ndim < 2 ? a->ndim : b->ndim);
	if (b->dims[b->ndim - 1] != a->dims[a->ndim - 1])
		return rt_raise(cx, "X1 and X2 must have the same number of columns. X1: %lld X2: %lld",
			(long long)a->dims[a->ndim - 1], (long long)b->dims[b->ndim - 1]);
	if (!rt_is_floating((RtDtype)a->dtype) || !rt_is_floating((RtDtype)b->dtype))
		return rt_raise(cx, "cdist only supports floating-point dtypes, X1 got: %s", rt_dtypes[a->dtype].brief);
	return p < 0 ? rt_raise(cx, "cdist only supports non-negative p values") : RT_OK;
}

int
rt__cdist_forward(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *a = in[0].u.t, *b = in[1].u.t, *r, *wide;
	double p = in[2].u.f, *to;
	int64_t dims[RT_MAX_RANK], rows, columns, n, batches;
	int rank = 0;
	Geom ga, gb;

	if (check_cdist(cx, a, b, p))
		return RT_ERROR;
	rows = a->dims[a->ndim - 2];
	columns = b->dims[b->ndim - 2];
	n = a->dims[a->ndim - 1];
	if (rt_broadcast(cx, &rank, dims, a->ndim - 2, a->dims) || rt_broadcast(cx, &rank, dims, b->ndim - 2, b->dims))
		return RT_ERROR;
	batches = product(dims, 0, rank);
	dims[rank] = rows;
	dims[rank + 1] = columns;
	r = rt_result(cx, 0, rt_promote((RtDtype)a->dtype, (RtDtype)b->dtype), rank + 2, dims, NULL);
	RT_RESULT(cx, r, out[0]);
	ga = geom_of(r);
	gb = ga;
	ga.dims[rank + 1] = gb.dims[rank + 1] = n;
	gb.dims[rank] = columns;
	wide = temp_new(cx, RT_f64, r->ndim, r->dims);
	a = wide ? rt_temp(cx, rt_to_dtype(cx, a, RT_f64)) : NULL;
	b = a ? rt_temp(cx, rt_to_dtype(cx, b, RT_f64)) : NULL;
	a = b ? expanded(cx, a, ga.n, ga.dims) : NULL;
	b = a ? expanded(cx, b, gb.n, gb.dims) : NULL;
	if (!b)
		return RT_ERROR;
	if (!(to = rt_scratch(cx, (rows + 1) * columns * 8 + 8)))
		return RT_ERROR;
	for (int64_t k = 0; k < batches; k++) {
		const double *from_a = (double *)(void *)rt_data(a) + k * rows * n;
		const double *from_b = (double *)(void *)rt_data(b) + k * columns * n;
		const Distances d = { from_a, from_b, to, rows, columns, n, p, r->dtype == RT_f64 };

		if (batch_distances(cx, &d))
			return RT_ERROR;
		memcpy(rt_data(wide) + k * rows * columns * 8, to, (size_t)(rows * columns) * 8);
	}
	return rt_copy_into(cx, r, wide);
}
