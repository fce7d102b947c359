/*
 * Sizes and windows of pooling. They are checked in PyTorch's order, so that the same error is raised if there are
 * several. Pooling over one dim is pooling over two with a height of 1, also in messages. Only max_pool1d without
 * indices has its own checks. It returns an empty result in cases for which the others raise an error.
 */
#include "block.h"
#include "pool.h"
#include "../base.h"

#include <stdio.h>
#include <string.h>

/* ---- texts ---------------------------------------------------------------------------------------------- */

/* Returns sizes of the input as in messages: "[2, 1, 5]" for one dim, with the height inserted. */
static const char *
input_text(const Pool *g, DenseText *text)
{
	const RtTensor *t = g->self;
	RtTensor shown;
	int64_t dims[6];

	if (g->nd > 1 || t->ndim > 5)
		return dense_text(t, text);
	memcpy(dims, t->dims, (size_t)t->ndim * 8);
	dims[t->ndim] = dims[t->ndim - 1];
	dims[t->ndim - 1] = 1;
	shown = *t;
	shown.dims = dims;
	shown.ndim++;
	return dense_text(&shown, text);
}

/* Returns a text of channels and sizes: "3x1x5". */
static const char *
plane_text(char text[SIZES_TEXT], const Pool *g, const int64_t *size)
{
	int at = snprintf(text, SIZES_TEXT, "%lld", (long long)g->channels);

	for (int i = g->nd < 3; i < 3; i++)
		at += snprintf(text + at, SIZES_TEXT - at, "x%lld", (long long)size[i]);
	return text;
}

/* Returns a text of named sizes: "kH: 1 kW: 5". */
static const char *
named_text(char text[SIZES_TEXT], const Pool *g, const char *name, const int64_t *size)
{
	int at = 0;

	for (int i = g->nd < 3; i < 3; i++)
		at += snprintf(text + at, SIZES_TEXT - at, "%s%s%c: %lld", at ? " " : "", name, "THW"[i],
			       (long long)size[i]);
	return text;
}

/* ---- arguments ------------------------------------------------------------------------------------------ */

Pool
pool_input(const char *op, const RtTensor *t, int nd)
{
	Pool g = { .op = op, .nd = nd, .self = t, .planes = 1 };

	g.channels = t->ndim > nd ? t->dims[t->ndim - nd - 1] : 1;
	for (int i = 0; i < t->ndim - nd; i++)
		g.planes *= t->dims[i];
	for (int i = 0; i < 3; i++) {
		g.in[i] = i < 3 - nd || i < 3 - t->ndim ? 1 : t->dims[t->ndim - 3 + i];
		g.out[i] = g.k[i] = g.s[i] = g.d[i] = 1;
	}
	g.in_plane = g.in[0] * g.in[1] * g.in[2];
	return g;
}

static int
check_dtype(RtCx *cx, const Pool *g, const char *kinds, const char *name)
{
	RtDtype dtype = (RtDtype)g->self->dtype;

	if (strchr(kinds, rt_dtypes[dtype].category))
		return RT_OK;
	return rt_raise(cx, "\"%s\" not implemented for '%s'", name, rt_dtypes[dtype].brief);
}

int
pool_plain(RtCx *cx, const Pool *g, const char *kinds)
{
	const RtTensor *t = g->self;
	const int nd = g->nd, batch = t->ndim == nd + 2;
	DenseText text;

	if (!batch && t->ndim != nd + 1)
		return rt_raise(cx, "%s: Expected %dD or %dD input tensor, but got: %s", g->op, nd + 1, nd + 2,
				dense_text(t, &text));
	for (int i = batch; i < t->ndim; i++)
		if (t->dims[i] == 0)
			return rt_raise(cx, "%s: Expected %dD or %dD (batch mode) tensor with optional 0 dim batch "
				"size for input, but got: %s", g->op, nd + 1, nd + 2, dense_text(t, &text));
	return check_dtype(cx, g, kinds, g->op);
}

static int64_t
list_length(IValue v)
{
	return v.tag == RT_LIST ? v.u.list->n : v.tag != RT_NONE;
}

/* Reads one number for each of the nd dims, or one for all. `must` has the family's words for the error. */
static int
read_pool_list(RtCx *cx, const Pool *g, const char *what, const char *must, IValue list, int64_t size[3])
{
	const int64_t n = list_length(list);

	if (n == 1 || n == g->nd)
		return dense_sizes(cx, list, g->op, what, g->nd, size + 3 - g->nd);
	if (g->nd == 1)
		return rt_raise(cx, "%s() argument '%s' should contain one int (got %lld)", g->op, what, (long long)n);
	return rt_raise(cx, "%s: %s must %s, or a tuple of %s ints", g->op, what, must, g->nd == 2 ? "two" : "three");
}

/* Checks an input with one spatial dim, which one or two dims precede. */
static int
check_line(RtCx *cx, const Pool *g)
{
	const int ndim = g->self->ndim;

	if (g->nd > 1 || ndim == 2 || ndim == 3)
		return RT_OK;
	return rt_raise(cx, "Expected 2 to 3 dimensions, but got %d-dimensional tensor for argument #1 'self' (while "
		"checking arguments for %s)", ndim, g->op);
}

/* Raises an error if there is no dim -3. avg_pool2d of PyTorch reads its size before it checks the number of dims, so
 * this is its error. */
static int
check_third_dim(RtCx *cx, const Pool *g)
{
	const int ndim = g->self->ndim;

	if (ndim >= 3)
		return RT_OK;
	if (!ndim)
		return rt_raise(cx, "Dimension specified as -3 but tensor has no dimensions");
	return rt_raise(cx, "Dimension out of range (expected to be in range of [%d, %d], but got -3)", -ndim,
		ndim - 1);
}

static IValue
stride_or_kernel(const PoolCall *call)
{
	return list_length(call->stride) ? call->stride : call->kernel;
}

/* ---- windows of given sizes ------------------------------------------------------------------------------- */

/* Returns the number of windows. Below 1 if the input is too small. */
static int64_t
windows_in(const Pool *g, int i, bool ceil_mode)
{
	const int64_t s = g->s[i], reach = g->d[i] * (g->k[i] - 1) + 1;
	const int64_t room = g->in[i] + 2 * g->p[i] - reach + (ceil_mode ? s - 1 : 0);
	const int64_t n = room / s - (room % s != 0 && (room ^ s) < 0) + 1;

	return n - (ceil_mode && (n - 1) * s >= g->in[i] + g->p[i]);
}

static int
set_out(RtCx *cx, Pool *g, bool ceil_mode)
{
	for (int i = 3 - g->nd; i < 3; i++) {
		if (g->s[i] == 0)
			return rt_raise(cx, "stride should not be zero");
		if (g->p[i] < 0)
			return rt_raise(cx, "pad must be non-negative, but got pad: %lld", (long long)g->p[i]);
		if (g->p[i] > g->k[i] / 2)
			return rt_raise(cx, "pad should be at most half of kernel size, but got pad=%lld and "
				"kernel_size=%lld", (long long)g->p[i], (long long)g->k[i]);
		g->out[i] = windows_in(g, i, ceil_mode);
	}
	return RT_OK;
}

static int
check_positive(RtCx *cx, const Pool *g, const char *what, const char *name, const int64_t *size)
{
	char text[SIZES_TEXT];

	if (size[0] > 0 && size[1] > 0 && size[2] > 0)
		return RT_OK;
	return rt_raise(cx, "%s should be greater than zero, but got %s", what, named_text(text, g, name, size));
}

/* Raises an error if a dim other than the batch is empty, or if the rank is wrong. */
static int
check_dims(RtCx *cx, const Pool *g, const char *function)
{
	const RtTensor *t = g->self;
	const int nd = g->nd < 3 ? 2 : 3, ndim = t->ndim + (g->nd == 1);
	DenseText text;

	for (int i = t->ndim == g->nd + 2; i < t->ndim; i++) {
		if (t->dims[i] == 0 && nd == 3)
			return rt_raise(cx, "%s(): Expected input's non-batch dimensions to have positive length, but "
				"input has a shape of %s and non-batch dimension 0 has length zero!", function,
				dense_text(t, &text));
		if (t->dims[i] == 0)
			goto wrong;
	}
	if (ndim == nd + 1 || ndim == nd + 2)
		return RT_OK;
wrong:
	return rt_raise(cx, "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but "
			"got:%s", input_text(g, &text));
}

static int
check_sizes(RtCx *cx, const Pool *g, const char *function)
{
	return check_positive(cx, g, "kernel size", "k", g->k) || check_positive(cx, g, "stride", "d", g->s) ||
		check_positive(cx, g, "dilation", "dilation", g->d) || check_dims(cx, g, function);
}

static int
check_out(RtCx *cx, const Pool *g)
{
	char in[SIZES_TEXT], out[SIZES_TEXT];

	if (g->out[0] > 0 && g->out[1] > 0 && g->out[2] > 0)
		return RT_OK;
	return rt_raise(cx, "Given input size: (%s). Calculated output size: (%s). Output size is too small",
		plane_text(in, g, g->in), plane_text(out, g, g->out));
}

/* Allocates the tables. `out` must be known. */
int
pool_tables(RtCx *cx, Pool *g)
{
	g->out_plane = g->out[0] * g->out[1] * g->out[2];
	for (int i = 0; i < 3; i++) {
		int64_t *at = rt_scratch(cx, (3 * g->out[i] + 1) * 8);

		if (!at)
			return RT_ERROR;
		g->lo[i] = at;
		g->hi[i] = at + g->out[i];
		g->count[i] = at + 2 * g->out[i];
	}
	return RT_OK;
}

static int
fixed_tables(RtCx *cx, Pool *g, bool count_pad)
{
	if (pool_tables(cx, g))
		return RT_ERROR;
	for (int i = 0; i < 3; i++)
		for (int64_t o = 0; o < g->out[i]; o++) {
			int64_t start = o * g->s[i] - g->p[i], end = start + g->d[i] * (g->k[i] - 1) + 1;
			int64_t padded = end < g->in[i] + g->p[i] ? end : g->in[i] + g->p[i];

			g->hi[i][o] = end < g->in[i] ? end : g->in[i];
			g->lo[i][o] = start >= 0 ? start : start + (-start + g->d[i] - 1) / g->d[i] * g->d[i];
			g->count[i][o] = count_pad ? padded - start : g->hi[i][o] - g->lo[i][o];
		}
	return RT_OK;
}

/* ---- max -------------------------------------------------------------------------------------------------- */

static const char *
max_kinds(const RtCx *cx)
{
	return cx->torch == RT_TORCH_2 ? "FI" : "F";
}

static int
read_line_list(RtCx *cx, const char *what, const char *may_be, IValue list, int64_t *size)
{
	if (list_length(list) == 1)
		return rt_ints(cx, list, size, 1) < 0 ? RT_ERROR : RT_OK;
	return rt_raise(cx, "max_pool1d() %s must be %s of size 1 but got size %lld", what, may_be,
		(long long)list_length(list));
}

static int
check_line_positive(RtCx *cx, const char *what, int64_t n)
{
	if (n > 0)
		return RT_OK;
	return rt_raise(cx, "max_pool1d() %s must be greater than zero, but got %lld", what, (long long)n);
}

static int
check_line_padding(RtCx *cx, int64_t padding, int64_t kernel)
{
	if (padding < 0)
		return rt_raise(cx, "max_pool1d() padding must be non-negative, but got %lld", (long long)padding);
	if (padding > kernel / 2)
		return rt_raise(cx, "max_pool1d() padding should be at most half of kernel size, but got padding=%lld "
			"and kernel_size=%lld", (long long)padding, (long long)kernel);
	return RT_OK;
}

int
pool_max_line(RtCx *cx, Pool *g, const PoolCall *call)
{
	const RtTensor *t = g->self;
	DenseText text;

	if ((t->ndim != 2 && t->ndim != 3) || !t->dims[t->ndim - 1] || !t->dims[t->ndim - 2])
		return rt_raise(cx, "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size "
			"for input, but got:%s", dense_text(t, &text));
	if (read_line_list(cx, "kernel_size", "an int, list of ints or tuple of ints", call->kernel, g->k + 2) ||
	    read_line_list(cx, "stride", "None, an int, list of ints, or tuple of ints", stride_or_kernel(call),
			   g->s + 2) ||
	    read_line_list(cx, "padding", "an int, list of ints, or tuple of ints", call->padding, g->p + 2) ||
	    read_line_list(cx, "dilation", "an int, list of ints or tuple of ints", call->dilation, g->d + 2) ||
	    check_line_positive(cx, "kernel_size", g->k[2]) || check_line_positive(cx, "stride", g->s[2]) ||
	    check_line_padding(cx, g->p[2], g->k[2]) || check_line_positive(cx, "dilation", g->d[2]))
		return RT_ERROR;
	g->out[2] = windows_in(g, 2, call->ceil_mode);
	if (g->out[2] < 0)
		return rt_raise(cx, "max_pool1d() Invalid computed output size: %lld", (long long)g->out[2]);
	return check_dtype(cx, g, max_kinds(cx), "max_pool1d_impl") || fixed_tables(cx, g, false);
}

int
pool_max(RtCx *cx, Pool *g, const PoolCall *call)
{
	const int ndim = g->self->ndim, nd = g->nd;

	if (check_line(cx, g) || read_pool_list(cx, g, "kernel_size", "either be a single int", call->kernel, g->k) ||
	    read_pool_list(cx, g, "stride", "either be omitted, a single int", stride_or_kernel(call), g->s) ||
	    read_pool_list(cx, g, "padding", "be either be a single int", call->padding, g->p) ||
	    read_pool_list(cx, g, "dilation", "be either a single int", call->dilation, g->d))
		return RT_ERROR;
	if (ndim != nd + 1 && ndim != nd + 2)
		return rt_raise(cx, "non-empty %dD or %dD (batch mode) tensor expected for input", nd + 1, nd + 2);
	return set_out(cx, g, call->ceil_mode) || check_sizes(cx, g, "max_pool3d_with_indices_out_cpu_template") ||
		check_out(cx, g) ||
		check_dtype(cx, g, max_kinds(cx), nd < 3 ? "max_pool2d" : "max_pool3d_with_indices_cpu") ||
		fixed_tables(cx, g, false);
}

/* ---- average ---------------------------------------------------------------------------------------------- */

static int
average_lists(RtCx *cx, Pool *g, const PoolCall *call)
{
	const bool flat = g->nd < 3;

	return check_line(cx, g) ||
		read_pool_list(cx, g, "kernel_size", flat ? "either be a single int" : "be a single int", call->kernel,
			       g->k) ||
		read_pool_list(cx, g, "stride", flat ? "either be omitted, a single int" : "be omitted, a single int",
			       stride_or_kernel(call), g->s) ||
		read_pool_list(cx, g, "padding", flat ? "either be a single int" : "be a single int", call->padding,
			       g->p);
}

static int
read_divisor(RtCx *cx, Pool *g, IValue divisor)
{
	if (rt_is_none(divisor))
		return RT_OK;
	g->divisor = rt_integer(divisor);
	return g->divisor ? RT_OK : rt_raise(cx, "divisor must be not zero");
}

/* Raises an error if the kernel is larger than the input. Only with three dims, and whatever the padding. */
static int
check_larger(RtCx *cx, const Pool *g)
{
	char in[SIZES_TEXT], kernel[SIZES_TEXT];

	if (g->nd < 3 || (g->in[0] >= g->k[0] && g->in[1] >= g->k[1] && g->in[2] >= g->k[2]))
		return RT_OK;
	return rt_raise(cx, "input image (%s) smaller than kernel size (%s)", named_text(in, g, "", g->in),
		named_text(kernel, g, "k", g->k));
}

int
pool_average(RtCx *cx, Pool *g, const PoolCall *call)
{
	const int ndim = g->self->ndim;

	if (average_lists(cx, g, call))
		return RT_ERROR;
	if (g->nd == 3 && ndim != 4 && ndim != 5)
		return rt_raise(cx, "non-empty 4D or 5D (batch mode) tensor expected for input");
	if (read_divisor(cx, g, call->divisor) || (g->nd == 2 && check_third_dim(cx, g)))
		return RT_ERROR;
	return set_out(cx, g, call->ceil_mode) || check_sizes(cx, g, "avg_pool3d") || check_larger(cx, g) ||
		check_out(cx, g) ||
		check_dtype(cx, g, g->self->dtype == RT_i64 ? "FI" : "F",
			    g->nd < 3 ? "avg_pool2d" : "avg_pool3d_out_frame") ||
		fixed_tables(cx, g, call->count_pad);
}

/* ---- adaptive --------------------------------------------------------------------------------------------- */

int
pool_adaptive_tables(RtCx *cx, Pool *g)
{
	if (pool_tables(cx, g))
		return RT_ERROR;
	for (int i = 0; i < 3; i++)
		for (int64_t o = 0; o < g->out[i]; o++) {
			int64_t n = g->in[i], m = g->out[i];

			g->lo[i][o] = o / m * n + o % m * n / m;
			g->hi[i][o] = 1 + ((o + 1) * n - 1) / m;
			g->count[i][o] = g->hi[i][o] - g->lo[i][o];
		}
	return RT_OK;
}

/* Reads nd output sizes. `wrong` is the error for another number of sizes. */
static int
output_size(RtCx *cx, Pool *g, IValue size, const char *wrong)
{
	const int64_t n = list_length(size);

	if (n == g->nd)
		return rt_ints(cx, size, g->out + 3 - g->nd, g->nd) < 0 ? RT_ERROR : RT_OK;
	if (g->nd == 1)
		return rt_raise(cx, "%s() argument 'output_size' should contain one int (got %lld)", g->op,
				(long long)n);
	return rt_raise(cx, "%s%s must be %d", g->op, wrong, g->nd);
}

/* Raises an error if a dim from `first` on is empty. One spatial dim counts as two. */
static int
check_filled(RtCx *cx, const Pool *g, const char *function, int first)
{
	const RtTensor *t = g->self;
	DenseText text;

	for (int i = first; i < t->ndim; i++)
		if (t->dims[i] == 0)
			return rt_raise(cx, "%s(): Expected input to have non-zero size for non-batch dimensions, but "
				"input has sizes %s with dimension %d being empty", function, input_text(g, &text),
				i + (g->nd == 1 && i == t->ndim - 1));
	return RT_OK;
}

static int
check_rank(RtCx *cx, const Pool *g, const char *function, const char *colon)
{
	const int nd = g->nd < 3 ? 2 : 3, ndim = g->self->ndim + (g->nd == 1);
	DenseText text;

	if (ndim == nd + 1 || ndim == nd + 2)
		return RT_OK;
	return rt_raise(cx, "%s(): Expected %dD or %dD tensor, but got%s %s", function, nd + 1, nd + 2, colon,
		input_text(g, &text));
}

/* Raises an error for the first negative size of the result. */
static int
check_result(RtCx *cx, const Pool *g)
{
	const RtTensor *t = g->self;
	RtTensor result;
	int64_t dims[6], wrong = 0;
	DenseText text;
	Pool shown = *g;

	memcpy(dims, t->dims, (size_t)t->ndim * 8);
	for (int i = 3 - g->nd; i < 3; i++) {
		dims[t->ndim - 3 + i] = g->out[i];
		wrong = wrong < 0 ? wrong : g->out[i];
	}
	if (wrong >= 0)
		return RT_OK;
	result = *t;
	result.dims = dims;
	shown.self = &result;
	return rt_raise(cx, "Trying to create tensor with negative dimension %lld: %s", (long long)wrong,
		input_text(&shown, &text));
}

int
pool_adaptive_max(RtCx *cx, Pool *g, IValue size)
{
	const char *function = g->nd < 3 ? "adaptive_max_pool2d" : "adaptive_max_pool3d";

	if (check_line(cx, g) || (g->nd == 1 && output_size(cx, g, size, "")) || check_rank(cx, g, function, ":") ||
	    check_filled(cx, g, function, 1) ||
	    output_size(cx, g, size, "(): internal error: output_size.size()") || check_result(cx, g))
		return RT_ERROR;
	return check_dtype(cx, g, "F", function) || pool_adaptive_tables(cx, g);
}

/* Raises an error for a negative output size. The sizes are printed as "{1, -1}"; of three, PyTorch leaves out the
 * second space. */
static int
check_output_size(RtCx *cx, const Pool *g)
{
	const int64_t *n = g->out;

	if (n[0] >= 0 && n[1] >= 0 && n[2] >= 0)
		return RT_OK;
	if (g->nd < 3)
		return rt_raise(cx, "adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0 "
			"but received {%lld, %lld}", (long long)n[1], (long long)n[2]);
	return rt_raise(cx, "adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0 "
		"but received {%lld, %lld,%lld}", (long long)n[0], (long long)n[1], (long long)n[2]);
}

/* Sets up adaptive average pooling. A single window is a mean, of any rank, even of no elements. Without elements no
 * kernel runs, so the dtype is not checked. */
int
pool_adaptive_average(RtCx *cx, Pool *g, IValue size)
{
	const RtTensor *t = g->self;
	const char *function = g->nd < 3 ? "adaptive_avg_pool2d" : "adaptive_avg_pool3d";

	if (check_line(cx, g) || output_size(cx, g, size, ": output_size") || check_output_size(cx, g))
		return RT_ERROR;
	g->apart = g->out[0] != 1 || g->out[1] != 1 || g->out[2] != 1;
	if (!g->apart && !is_floating(t) && rt_dtypes[t->dtype].category != 'C')
		return rt_raise(cx, "mean(): could not infer output dtype. Input dtype must be either a floating point "
			"or complex dtype. Got: %s", rt_dtypes[t->dtype].brief);
	if (g->apart ? (g->nd == 3 && check_filled(cx, g, function, 1)) || check_rank(cx, g, function, "") ||
			(g->nd < 3 && check_filled(cx, g, function, t->ndim - g->nd)) : rt_dim(cx, -g->nd, t->ndim) < 0)
		return RT_ERROR;
	return check_dtype(cx, g, g->apart && g->nd < 3 && !rt_numel(t) ? "FIBCUE" : "F", function) ||
		pool_adaptive_tables(cx, g);
}
