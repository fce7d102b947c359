/*
 * The kernels of ALSO rows: operators that write their result somewhere.
 *
 *   add_.Tensor(self!, other)      runs add.Tensor, then copies the result into self
 *   add.out(self, other, *, out!)  runs add.Tensor, then copies the result into out, which takes its sizes
 *
 * An OUT row's out has to have the result's dtype; others' is cast into.
 *
 * Each row gets a function of its own, so that programs can name it like any kernel.  Arguments of the base row are
 * found by name among those of the row; what the row lacks (dtype, layout, device ...) is None, but for dtype, which is
 * that of `out`.  Where the base is a body, whoever calls runs the body first: the results come before the arguments.
 */
#include "kernel.h"
#include <stdio.h>
#include <string.h>

enum { ARGS_MAX = 48, OUTS_MAX = 8 };

typedef struct ArgText { const char *name; int n; bool written; } ArgText;

typedef struct Texts {           /* arguments, as the text of a schema names them */
	int     n;
	ArgText at[ARGS_MAX];
} Texts;

/* ---- reading a schema's text: all that is wanted are the names ----------------------------------------- */

static bool
in_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* One argument between s and end: the name stands before `=` or at the end. */
static void
read_arg(Texts *t, const char *s, const char *end)
{
	const char *stop = memchr(s, '=', end - s), *name;

	if (!stop)
		stop = end;
	while (stop > s && !in_name(stop[-1]) && stop[-1] != '*')
		stop--;
	name = stop;
	while (name > s && in_name(name[-1]))
		name--;
	if (name == stop || t->n == ARGS_MAX)
		return;                          /* the star before keyword-only arguments */
	t->at[t->n++] = (ArgText){ name, (int)(stop - name), memchr(s, '!', name - s) != NULL };
}

static void
read_args(Texts *t, const char *schema)
{
	const char *s = strchr(schema, '(') + 1, *from = s;
	int depth = 0;

	t->n = 0;
	for (; depth >= 0; s++) {
		if (*s == '(' || *s == '[')
			depth++;
		else if (*s == ']' || (*s == ')' && depth > 0))
			depth--;
		else if (*s == ')' || *s == ',') {
			if (depth)
				continue;
			read_arg(t, from, s);
			from = s + 1;
			depth -= *s == ')';
		}
	}
}

static bool
name_is(const ArgText *a, const char *name)
{
	return a->n == (int)strlen(name) && !memcmp(a->name, name, a->n);
}

static int
find_arg(const Texts *t, const ArgText *a)
{
	for (int i = 0; i < t->n; i++)
		if (t->at[i].n == a->n && !memcmp(t->at[i].name, a->name, a->n))
			return i;
	return -1;
}

static bool
is_option(const ArgText *a)
{
	static const char *const options[] = { "dtype", "layout", "device", "pin_memory", "memory_format", "generator",
					       "names", "requires_grad" };

	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (name_is(a, options[i]))
			return true;
	return false;
}

/* ---- storing results --------------------------------------------------------------------------------------- */

static void
format_dims(char *buf, size_t room, int ndim, const int64_t *dims)
{
	size_t n = (size_t)snprintf(buf, room, "[");

	for (int i = 0; i < ndim && n < room; i++)
		n += (size_t)snprintf(buf + n, room - n, "%s%lld", i ? ", " : "", (long long)dims[i]);
	if (n < room)
		snprintf(buf + n, room - n, "]");
}

static bool
same_dims(const RtTensor *a, const RtTensor *b)
{
	return a->ndim == b->ndim && !memcmp(a->dims, b->dims, a->ndim * sizeof *a->dims);
}

static int
check_itself(RtCx *cx, const RtTensor *to)
{
	return !rt_overlaps_itself(to) ? RT_OK : rt_raise(cx, "unsupported operation: more than one element of the written-to tensor "
		"refers to a single memory location. Please clone() the tensor before performing the operation.");
}

static int
check_into(RtCx *cx, const RtInto *into, RtDtype dtype, int ndim, const int64_t *dims)
{
	const RtDtype to = (RtDtype)into->t->dtype;
	char want[256], have[256];

	if (into->sizes && (into->t->ndim != ndim || memcmp(into->t->dims, dims, (size_t)ndim * sizeof *dims))) {
		format_dims(have, sizeof have, into->t->ndim, into->t->dims);
		format_dims(want, sizeof want, ndim, dims);
		return rt_raise(cx, "output with shape %s doesn't match the broadcast shape %s", have, want);
	}
	if (into->same_dtype && to != dtype)
		return rt_raise(cx, "Found dtype %s but expected %s", rt_dtypes[to].brief, rt_dtypes[dtype].brief);
	if (rt_can_cast(dtype, to))
		return RT_OK;
	return rt_raise(cx, "result type %s can't be cast to the desired output type %s", rt_dtypes[dtype].brief, rt_dtypes[to].brief);
}

static int
store_in_self(RtCx *cx, RtTensor *self, RtTensor *result)
{
	const RtInto into = { .t = self, .sizes = true };

	if (self == result)
		return RT_OK;
	if (check_itself(cx, self) || check_into(cx, &into, (RtDtype)result->dtype, result->ndim, result->dims))
		return RT_ERROR;
	return cx->meta ? RT_OK : rt_copy_into(cx, self, result);
}

int
rt_prim_stored(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *self = in[0].u.t, *src = in[1].u.t, *r;
	const RtInto into = { .t = self, .sizes = true };
	int64_t strides[RT_MAX_RANK];

	if (check_into(cx, &into, (RtDtype)src->dtype, src->ndim, src->dims))
		return RT_ERROR;
	rt_result_strides(self->ndim, self->dims, 1, &self, strides);
	r = rt_result(cx, 0, (RtDtype)self->dtype, self->ndim, self->dims, strides);
	RT_RESULT(cx, r, out[0]);
	return rt_copy_into(cx, r, src);
}

static int
store_in_out(RtCx *cx, bool exact, RtTensor *to, RtTensor *result)
{
	const RtInto into = { .t = to };

	if (to == result)
		return RT_OK;
	if (exact && to->dtype != result->dtype)
		return rt_raise(cx, "Expected out tensor to have dtype %s, but got %s instead", rt_dtypes[result->dtype].torch,
			rt_dtypes[to->dtype].torch);
	if (check_into(cx, &into, (RtDtype)result->dtype, result->ndim, result->dims))
		return RT_ERROR;
	if (!same_dims(to, result) && rt_tensor_resize(cx, to, result->ndim, result->dims))
		return RT_ERROR;
	return cx->meta ? RT_OK : rt_copy_into(cx, to, result);
}

typedef enum Into { INTO_SELF, INTO_OUT, INTO_EXACT } Into;

static int
store(RtCx *cx, Into into, IValue to, IValue result)
{
	if (to.tag == RT_LIST && result.tag == RT_LIST) {
		for (int64_t i = 0; i < to.u.list->n && i < result.u.list->n; i++)
			if (store(cx, into, to.u.list->v[i], result.u.list->v[i]))
				return RT_ERROR;
		return RT_OK;
	}
	if (to.tag != RT_TENSOR || result.tag != RT_TENSOR)
		return rt_raise(cx, "a result is %s where %s is written", rt_type_of(result), rt_type_of(to));
	return into == INTO_SELF ? store_in_self(cx, to.u.t, result.u.t)
		: store_in_out(cx, into == INTO_EXACT, to.u.t, result.u.t);
}

/* ---- the wrapper ------------------------------------------------------------------------------------------------ */

/* The base's arguments among the row's. */
static void
map_args(const Texts *row, const Texts *base, const IValue *in, const IValue *out, IValue *args)
{
	for (int i = 0; i < base->n; i++) {
		const int at = find_arg(row, &base->at[i]);

		if (at >= 0)
			args[i] = in[at];
		else if (out && out->tag == RT_TENSOR && name_is(&base->at[i], "dtype"))
			args[i] = rt_int(out->u.t->dtype);
		else if (is_option(&base->at[i]) || i >= row->n)
			args[i] = rt_none();
		else
			args[i] = in[i];
	}
}

static int
store_all(RtCx *cx, const Texts *row, bool exact, const IValue *in, const IValue *result, bool returns, IValue *out)
{
	const Into into = row->at[0].written ? INTO_SELF : exact ? INTO_EXACT : INTO_OUT;
	int nout = 0;

	for (int i = 0; i < row->n; i++) {
		if (!row->at[i].written)
			continue;
		if (store(cx, into, in[i], result[nout]))
			return RT_ERROR;
		if (returns)
			out[nout] = rt_retain(in[i]);
		nout++;
	}
	return RT_OK;
}

/* Of pointwise operators: what is written has each element once, and what is read is the same tensor or other memory. */
static int
check_overlaps(RtCx *cx, const Texts *row, const IValue *in)
{
	for (int i = 0; i < row->n; i++) {
		if (!row->at[i].written || in[i].tag != RT_TENSOR)
			continue;
		if (check_itself(cx, in[i].u.t))
			return RT_ERROR;
		for (int k = 0; k < row->n; k++)
			if (k != i && in[k].tag == RT_TENSOR && rt_check_overlap(cx, in[i].u.t, in[k].u.t))
				return RT_ERROR;
	}
	return RT_OK;
}

/* base null: the results are in[0 ..), the arguments follow.  Inline, since there may be no row at all. */
static inline int
variant(RtCx *cx, RtKernel *base, bool pointwise, const char *row_text, const char *base_text, bool exact, const IValue *in,
	IValue *out)
{
	Texts row, of;
	IValue args[ARGS_MAX], result[OUTS_MAX];
	const bool returns = !strstr(row_text, "-> ()");
	RtInto into;
	RtPlace *const place = cx->place;
	const int nplace = cx->nplace;
	int nwritten = 0, written = 0, status;

	read_args(&row, row_text);
	for (int i = row.n - 1; i >= 0; i--)
		if (row.at[i].written) {
			nwritten++;
			written = i;
		}
	if (!nwritten || nwritten > OUTS_MAX)
		return rt_raise(cx, "internal: %s writes %d arguments", row_text, nwritten);
	if (!base)
		return store_all(cx, &row, exact, in + nwritten, in, returns, out);
	if (pointwise && check_overlaps(cx, &row, in))
		return RT_ERROR;
	into = (RtInto){ .t = in[written].u.t, .sizes = row.at[0].written, .same_dtype = exact, .check = check_into };
	read_args(&of, base_text);
	map_args(&row, &of, in, row.at[0].written ? NULL : &in[written], args);
	cx->place = NULL;
	cx->nplace = 0;
	cx->into = pointwise && in[written].tag == RT_TENSOR ? &into : NULL;
	status = rt_call_kernel(cx, base, args, result, nwritten);
	cx->into = NULL;
	cx->place = place;
	cx->nplace = nplace;
	if (status)
		return status;
	status = store_all(cx, &row, exact, in, result, returns, out);
	for (int i = 0; i < nwritten; i++)
		rt_release(result[i]);
	return status;
}

/* ---- a function for each row: what its base is depends on the base's form ------------------------------------------ */

#define MAP(id, schema, domain, result, value, gradient)                                                               \
	RtKernel rt_##id;                                                                                              \
	enum { pointwise_##id = true };                                                                                \
	static inline RtKernel *kernel_of_##id(void) { return rt_##id; }                                               \
	static inline const char *text_of_##id(void) { return schema; }
#define OP(id, schema, rule, effect, gradient)                                                                         \
	RtKernel rt_##id;                                                                                              \
	enum { pointwise_##id = false };                                                                               \
	static inline RtKernel *kernel_of_##id(void) { return rt_##id; }                                               \
	static inline const char *text_of_##id(void) { return schema; }
#define BODY(id, schema, gradient, text)                                                                               \
	enum { pointwise_##id = false };                                                                               \
	static inline RtKernel *kernel_of_##id(void) { return NULL; }                                                  \
	static inline const char *text_of_##id(void) { return schema; }
#include "ops.h"

#define FORM(id, schema, base, exact)                                                                                  \
	RtKernel rt_##id;                                                                                              \
	int                                                                                                            \
	rt_##id(RtCx *cx, const IValue *in, IValue *out)                                                               \
	{                                                                                                              \
		return variant(cx, kernel_of_##base(), pointwise_##base, schema, text_of_##base(), exact, in, out);     \
	}
#define ALSO(id, schema, base) FORM(id, schema, base, false)
#define OUT(id, schema, base) FORM(id, schema, base, true)
#include "ops.h"
