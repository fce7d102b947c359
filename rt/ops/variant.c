/*
 * The kernels of in-place and out= operators (ALSO and OUT entries of the operator table).
 *
 *    add_.Tensor(self!, other)      runs add.Tensor, then copies the result into self
 *    add.out(self, other, *, out!)  runs add.Tensor, then copies the result into out, which gets its sizes
 *
 * The `out` of an OUT entry must have the result's dtype. ALSO entries cast the result to out's dtype.
 *
 * Each entry gets its own function, so that programs can name it like any kernel. Arguments of the base operator are
 * found by name among those of the entry. Missing ones (layout, device ...) are None, but dtype is that of `out`. If
 * the base is a body, the caller runs the body first and passes its results before the arguments.
 */
#include "geom.h"
#include <stdio.h>
#include <string.h>

enum { ARGS_MAX = 48, OUTS_MAX = 8 };

typedef struct ArgText { const char *name; int n; bool written; } ArgText;

typedef struct Texts {           /* Arguments, in the words of a schema's text. */
	int     n;
	ArgText at[ARGS_MAX];
} Texts;

/* ---- reading a schema's text: only the names of arguments -------------------------------------------------------- */

static bool
in_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Reads an argument in [s, end). Its name is before `=`, or at the end. */
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

/* Reads the arguments of an entry. An entry without arguments has those of its base, and writes the first of them or
 * its `out`. */
static void
read_row_args(Texts *t, const char *schema, const Texts *base)
{
	if (strchr(schema, '(')) {
		read_args(t, schema);
		return;
	}
	*t = *base;
	if (!strcmp(schema + strlen(schema) - 3, "out"))
		t->at[t->n++] = (ArgText){ "out", 3, true };
	else
		t->at[0].written = true;
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

/* ---- memory that a write may overlap ----------------------------------------------------------------------------- */

/* Requirements of ATen's kernels on the written memory. PARTLY: operands are the same view or do not overlap it. APART:
 * operands do not overlap it. In both cases the memory must not overlap itself. */
typedef enum Asks { ASKS_NOTHING, ASKS_PARTLY, ASKS_APART } Asks;

typedef struct Memory {
	const char *name;
	Asks asks;
	int args;        /* number of arguments that are checked; 0 for all */
	bool again;      /* whether the memory may overlap itself, because the same value is written */
	bool keeps;      /* whether the result has self's dtype if the operator is in place */
	bool exact;      /* whether the result is not cast */
	bool typed;      /* whether the same holds in place, with another error */
	bool composed;   /* whether out= first computes the result, then copies it to any dtype */
	bool asked;      /* whether the computation uses out's dtype if no dtype is given */
} Memory;

/* Exceptions. Otherwise, pointwise operators require PARTLY and other operators nothing. */
static const Memory memories[] = {
	{ .name = "addr", .asks = ASKS_PARTLY }, { .name = "logcumsumexp", .asks = ASKS_PARTLY },
	{ .name = "cumsum", .asks = ASKS_PARTLY, .asked = true },
	{ .name = "cumprod", .asks = ASKS_PARTLY, .asked = true },
	{ .name = "sum", .asked = true }, { .name = "nansum", .asked = true }, { .name = "prod", .asked = true },
	{ .name = "float_power", .asks = ASKS_PARTLY, .keeps = true }, { .name = "ldexp", .asks = ASKS_PARTLY },
	{ .name = "cat", .asks = ASKS_APART }, { .name = "stack", .asks = ASKS_APART },
	{ .name = "gather", .asks = ASKS_APART }, { .name = "index_select", .asks = ASKS_APART },
	{ .name = "take", .asks = ASKS_APART }, { .name = "masked_select", .asks = ASKS_APART },
	{ .name = "nonzero", .asks = ASKS_APART }, { .name = "scatter", .asks = ASKS_APART },
	{ .name = "scatter_add", .asks = ASKS_APART }, { .name = "scatter_reduce", .asks = ASKS_APART },
	{ .name = "index_add", .asks = ASKS_APART }, { .name = "index_copy", .asks = ASKS_APART },
	{ .name = "index_reduce", .asks = ASKS_APART }, { .name = "outer", .asks = ASKS_PARTLY },
	{ .name = "ger", .asks = ASKS_PARTLY },
	{ .name = "masked_fill", .asks = ASKS_PARTLY, .again = true, .args = 2 },
	{ .name = "tril", .again = true }, { .name = "triu", .again = true },
	{ .name = "threshold", .asks = ASKS_PARTLY, .again = true },
	{ .name = "square", .asks = ASKS_PARTLY, .exact = true },
	{ .name = "pow_.Scalar", .asks = ASKS_PARTLY, .exact = true }, { .name = "addmv", .typed = true },
	{ .name = "baddbmm", .typed = true }, { .name = "add.Scalar_out", .composed = true },
	{ .name = "sub.Scalar_out", .composed = true }, { .name = "rsub.Scalar_out", .composed = true },
	{ .name = "mul.Scalar_out", .composed = true }, { .name = "div.Scalar_out", .composed = true },
};

/* Whether the operator has this name, in any overload and variant. A name with a dot only matches that overload. */
static bool
is_row(const char *row_text, const char *name)
{
	const char *at = strstr(row_text, "::") + 2;
	const size_t n = strlen(name);

	if (strncmp(at, name, n))
		return false;
	at += n;
	if (!strchr(name, '.'))
		at += *at == '_';
	return !*at || *at == '(' || (*at == '.' && !strchr(name, '.'));
}

static Memory
memory_of(const char *row_text, bool pointwise)
{
	for (size_t i = 0; i < sizeof memories / sizeof *memories; i++)
		if (is_row(row_text, memories[i].name))
			return memories[i];
	return (Memory){ .asks = pointwise ? ASKS_PARTLY : ASKS_NOTHING };
}

static int
check_one(RtCx *cx, Asks asks, const RtTensor *to, IValue from)
{
	if (from.tag == RT_LIST) {
		for (int64_t i = 0; i < from.u.list->n; i++)
			if (check_one(cx, asks, to, from.u.list->v[i]))
				return RT_ERROR;
		return RT_OK;
	}
	if (from.tag != RT_TENSOR)
		return RT_OK;
	return asks == ASKS_APART ? rt_check_apart(cx, to, from.u.t) : rt_check_overlap(cx, to, from.u.t);
}

/* Checks the memory of `to`, which is in[at], or an element of it if that is a list. */
static int
check_memory(RtCx *cx, const Memory *m, const RtTensor *to, int at, int n, const IValue *in)
{
	if (m->asks == ASKS_NOTHING)
		return RT_OK;
	if (!m->again && rt_check_itself(cx, to))
		return RT_ERROR;
	for (int i = 0; i < n && (!m->args || i < m->args); i++)
		if (i != at && check_one(cx, m->asks, to, in[i]))
			return RT_ERROR;
	return RT_OK;
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
	if (into->sizes && into->memory && into->memory->typed && to != dtype)
		return rt_raise(cx, "Bad in-place call: input tensor dtype %s and output tensor dtype %s should match",
				rt_type_text(to), rt_type_text(dtype));
	if (into->same_dtype && to != dtype)
		return rt_raise(cx, "Found dtype %s but expected %s", rt_dtypes[to].brief, rt_dtypes[dtype].brief);
	if (rt_can_cast(dtype, to))
		return RT_OK;
	return rt_raise(cx, "result type %s can't be cast to the desired output type %s", rt_dtypes[dtype].brief,
			rt_dtypes[to].brief);
}

/* Destination of the results. `in` has the arguments. */
typedef enum Into { INTO_SELF, INTO_OUT, INTO_EXACT } Into;
typedef struct Store {
	Into into;
	Memory memory;
	const IValue *in;
	int at, n;       /* at: index of the written argument */
} Store;

/* Writes only elements that change, because others may share the same memory. */
static int
store_changed(RtCx *cx, RtTensor *self, RtTensor *result)
{
	const int64_t bytes = rt_dtypes[self->dtype].bytes;
	RtTensor *was = rt_temp(cx, rt_tensor_new(cx, (RtDtype)self->dtype, self->ndim, self->dims));
	RtTensor *now = rt_temp(cx, rt_tensor_new(cx, (RtDtype)self->dtype, self->ndim, self->dims));

	if (!was || !now || rt_writable(cx, self) || rt_copy_into(cx, was, self) || rt_copy_into(cx, now, result))
		return RT_ERROR;
	for (int64_t i = 0, n = rt_numel(self); i < n; i++)
		if (memcmp(rt_data(was) + i * bytes, rt_data(now) + i * bytes, (size_t)bytes))
			rt_copy_bytes(rt_data(self) + byte_offset(self, i), rt_data(now) + i * bytes, (size_t)bytes);
	return RT_OK;
}

static int
store_in_self(RtCx *cx, const Store *s, RtTensor *self, RtTensor *result)
{
	const RtInto into = { .t = self, .sizes = true, .same_dtype = s->memory.exact, .memory = &s->memory };
	const bool again = s->memory.again && rt_overlaps_itself(self);

	if (self == result)
		return RT_OK;
	if (s->memory.keeps && self->dtype != result->dtype)
		return rt_raise(cx, "the base given to %s_ has dtype %s but the operation's result requires dtype %s",
				s->memory.name, rt_dtypes[self->dtype].brief, rt_dtypes[result->dtype].brief);
	if (check_memory(cx, &s->memory, self, s->at, s->n, s->in) || (!again && rt_check_itself(cx, self)) ||
	    check_into(cx, &into, (RtDtype)result->dtype, result->ndim, result->dims))
		return RT_ERROR;
	return cx->meta ? RT_OK : again ? store_changed(cx, self, result) : rt_copy_into(cx, self, result);
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
store_in_out(RtCx *cx, const Store *s, RtTensor *to, RtTensor *result)
{
	const RtInto into = { .t = to };

	if (to == result)
		return RT_OK;
	if (s->into == INTO_EXACT && to->dtype != result->dtype)
		return rt_raise(cx, "Expected out tensor to have dtype %s, but got %s instead",
				rt_dtypes[result->dtype].torch, rt_dtypes[to->dtype].torch);
	if (!s->memory.composed && check_into(cx, &into, (RtDtype)result->dtype, result->ndim, result->dims))
		return RT_ERROR;
	if (check_memory(cx, &s->memory, to, s->at, s->n, s->in))
		return RT_ERROR;
	if (!rt_same_dims(to, result) && (rt_tensor_resize(cx, to, result->ndim, result->dims) ||
	    check_memory(cx, &s->memory, to, s->at, s->n, s->in)))
		return RT_ERROR;
	return cx->meta ? RT_OK : rt_copy_into(cx, to, result);
}

static int
store_results(RtCx *cx, const Store *s, IValue to, IValue result)
{
	if (to.tag == RT_LIST && result.tag == RT_LIST) {
		for (int64_t i = 0; i < to.u.list->n && i < result.u.list->n; i++)
			if (store_results(cx, s, to.u.list->v[i], result.u.list->v[i]))
				return RT_ERROR;
		return RT_OK;
	}
	if (to.tag != RT_TENSOR || result.tag != RT_TENSOR)
		return rt_raise(cx, "a result is %s where %s is written", rt_type_of(result), rt_type_of(to));
	return s->into == INTO_SELF ? store_in_self(cx, s, to.u.t, result.u.t)
				    : store_in_out(cx, s, to.u.t, result.u.t);
}

/* ---- the wrapper ------------------------------------------------------------------------------------------------ */

/* Finds the base's arguments among those of the entry. `out` is the destination, if its dtype may matter. */
static void
map_args(const Texts *row, const Texts *base, const Store *s, const IValue *out, IValue *args)
{
	const IValue *in = s->in;

	for (int i = 0; i < base->n; i++) {
		const int at = find_arg(row, &base->at[i]);

		if (out && out->tag == RT_TENSOR && name_is(&base->at[i], "dtype") &&
		    (at < 0 || (s->memory.asked && rt_is_none(in[at]))))
			args[i] = rt_int(out->u.t->dtype);
		else if (at >= 0)
			args[i] = in[at];
		else if (is_option(&base->at[i]) || i >= row->n)
			args[i] = rt_none();
		else
			args[i] = in[i];
	}
}

static int
store_all(RtCx *cx, const Texts *row, const Store *s, const IValue *result, bool returns, IValue *out)
{
	int nout = 0;

	for (int i = 0; i < row->n; i++) {
		if (!row->at[i].written)
			continue;
		if (store_results(cx, s, s->in[i], result[nout]))
			return RT_ERROR;
		if (returns)
			out[nout] = rt_retain(s->in[i]);
		nout++;
	}
	return RT_OK;
}

/* Checks overlap for a pointwise operator, before it computes. */
static int
check_overlaps(RtCx *cx, const RtInto *into)
{
	return check_memory(cx, into->memory, into->t, into->at, into->n, into->in);
}

typedef struct Base {            /* The base operator, whose results are written to an argument. */
	RtKernel   *kernel;              /* kernel of the base; null if it has a body */
	bool        pointwise;           /* whether it is a pointwise operator (MAP) */
	const char *schema;
} Base;

/* Returns the number of arguments that are written. Sets *first to the index of the first one. */
static int
count_written(const Texts *row, int *first)
{
	int n = 0;

	for (int i = row->n - 1; i >= 0; i--)
		if (row->at[i].written) {
			n++;
			*first = i;
		}
	return n;
}

/* Runs the base operator. Its results are not in planned memory, because they are copied to the written arguments. */
static int
run_base(RtCx *cx, const Base *base, const RtInto *into, const IValue *args, IValue *result, int n)
{
	RtPlace *const place = cx->place;
	const int nplace = cx->nplace;
	int status;

	cx->place = NULL;
	cx->nplace = 0;
	cx->into = base->pointwise && !into->memory->composed && into->in[into->at].tag == RT_TENSOR ? into : NULL;
	status = rt_call_kernel(cx, base->kernel, args, result, n);
	cx->into = NULL;
	cx->place = place;
	cx->nplace = nplace;
	return status;
}

/* Runs the entry of this schema. If the base has a body, the body has already run, and its results precede the
 * arguments in `in`. It is inline so that programs without such operators do not link it. */
static inline int
variant(RtCx *cx, const Base *base, const char *schema, bool exact, const IValue *in, IValue *out)
{
	const bool returns = !strstr(schema, "-> ()");
	IValue args[ARGS_MAX], result[OUTS_MAX];
	int n, first = 0, status;
	Texts row, of;
	RtInto into;
	Store s;

	read_args(&of, base->schema);
	read_row_args(&row, schema, &of);
	n = count_written(&row, &first);
	if (!n || n > OUTS_MAX)
		return rt_raise(cx, "internal: %s writes %d arguments", schema, n);
	s = (Store){ .into = row.at[0].written ? INTO_SELF : exact ? INTO_EXACT : INTO_OUT,
		     .memory = memory_of(schema, base->pointwise),
		     .in = base->kernel ? in : in + n, .at = first, .n = row.n };
	if (!base->kernel)
		return store_all(cx, &row, &s, in, returns, out);
	into = (RtInto){ .t = in[first].u.t, .sizes = row.at[0].written, .same_dtype = exact || s.memory.exact,
		.at = first, .n = row.n, .in = in,
		.memory = &s.memory, .check = check_into, .overlaps = check_overlaps };
	map_args(&row, &of, &s, row.at[0].written ? NULL : &in[first], args);
	status = run_base(cx, base, &into, args, result, n);
	if (status)
		return status;
	status = store_all(cx, &row, &s, result, returns, out);
	for (int i = 0; i < n; i++)
		rt_release(result[i]);
	return status;
}

/* ---- a function for each entry; the base's kind decides what it runs --------------------------------------------- */

#define BASE(id, kernel, pointwise, schema)                                                                            \
	static inline const Base *                                                                                     \
	base_##id(void)                                                                                                \
	{                                                                                                              \
		static const Base base = { kernel, pointwise, schema };                                                \
		return &base;                                                                                          \
	}
#define MAP(id, schema, domain, result, value, gradient) RtKernel rt_##id; BASE(id, rt_##id, true, schema)
#define OP(id, schema, rule, effect, gradient) RtKernel rt_##id; BASE(id, rt_##id, false, schema)
#define BODY(id, schema, gradient, text) BASE(id, NULL, false, schema)
#include "ops.h"

#define FORM(id, schema, base, exact)                                                                                  \
	RtKernel rt_##id;                                                                                              \
	int                                                                                                            \
	rt_##id(RtCx *cx, const IValue *in, IValue *out)                                                               \
	{                                                                                                              \
		return variant(cx, base_##base(), schema, exact, in, out);                                             \
	}
#include "forms.def"
