/*
 * Elements stored or combined at positions given by indices: scatter, scatter_add, scatter_reduce, index_add,
 * index_copy, index_fill, index_put.  Self is copied, then every element of the source goes to the position that its
 * index gives.  Kernels that write to self check all indices first: when one is wrong, the operator itself runs to
 * raise, and needs self unchanged.
 *
 * Elements with equal indices are handled in order, by one thread: the index's axis is serial.  Along all other axes
 * positions are distinct.
 */
#include "row.h"
#include "lower.h"

#include <string.h>

typedef enum Joining { PUT, ADD, MULTIPLY, GREATEST, LEAST } Joining;

typedef struct Segments {
	bool in_place;
	Joining how;
	const Value *source;     /* tensor source; null if the source is a number */
	double  number, factor;  /* numeric source; factor of the source in index_add */
	bool    wraps;           /* whether indices may count from the end */
	bool    fresh;           /* whether the old values are excluded */
	bool    narrow;          /* whether indices may be int32 */
	const Value *index;
	/* The used part of the source, and strides over it: of the target (along dim: of a position there), the index
	 * and the source. */
	int     ndim, dim;
	int64_t dims[RT_MAX_RANK], to[RT_MAX_RANK], by[RT_MAX_RANK], from[RT_MAX_RANK];
	int64_t limit;           /* size of the target along dim */
} Segments;

/* ---- kernels --------------------------------------------------------------------------------------------------- */

static const RtTensor *
target(const Row *r, const Segments *s)
{
	return s->in_place ? row_tensor(r, "self") : row_result(r, 0);
}

/* Makes a kernel over the used part. Operand 0 is stored to, operand 1 is the index. */
static Kernel *
begin_launch(const Row *r, const Segments *s, const char *name, Access access, RtDtype dtype)
{
	Kernel *k = lower_over(r->p, r->n, name, s->ndim, s->dims);
	Operand *o;

	kernel_strided(k, access, dtype, s->to);
	kernel_strided(k, ACCESS_READ, (RtDtype)plan_tensor(r->p, s->index)->dtype, s->by);
	o = &k->operand.at[0];
	o->gather[o->ngather++] = (Gather){ .by = ref_operand(1), .stride = o->stride[s->dim],
					    .limit = size_number(k->sizes, s->limit), .wraps = s->wraps };
	o->stride[s->dim] = size_number(k->sizes, 0);
	return k;
}

/* Adds a launch of a kernel that reads indices. */
static bool
launch_segments(Row *r, const Segments *s, Kernel *k)
{
	const Value *const value[] = { s->in_place ? row_arg(r, "self") : r->n->out[0], s->index, s->source };

	if (!row_kernel(r, k, value, k->operand.n))
		return false;
	row_checks(r);
	return true;
}

/* Checks all indices before anything is written that is visible outside. */
static bool
check_indices(Row *r, const Segments *s)
{
	return launch_segments(r, s, begin_launch(r, s, "check", ACCESS_READ, (RtDtype)target(r, s)->dtype));
}

/* Converts a number to a value of dtype. Returns false if the dtype cannot hold it. */
static bool
number_ref(double x, int dtype, Ref *to)
{
	const char c = rt_kind((RtDtype)dtype);

	if (c == 'F')
		*to = ref_number(rt_double(x));
	else if (dtype == RT_b8)
		*to = ref_number(rt_int(x != 0));
	else if (x < 9e15 && x > (rt_dtypes[dtype].category == 'U' ? -1 : -9e15) && x == (double)(int64_t)x)
		*to = ref_number(rt_int((int64_t)x));
	else
		return false;
	return element_type((RtDtype)dtype);
}

/* Returns the neutral element: combined with x, it gives x. */
static Ref
neutral(Joining how, int dtype)
{
	const int bits = 8 * (int)rt_dtypes[dtype].bytes;
	const bool is_float = rt_dtypes[dtype].category == 'F', has_sign = dtype != RT_u8;
	const int64_t most = has_sign ? (int64_t)(UINT64_MAX >> (65 - bits)) : UINT8_MAX,
		      least = has_sign ? -most - 1 : 0;

	if (how == ADD || how == MULTIPLY)
		return ref_number(is_float ? rt_double(how == MULTIPLY) : rt_int(how == MULTIPLY));
	if (is_float)
		return ref_number(rt_double(how == LEAST ? 1e300 * 1e300 : -1e300 * 1e300));
	return ref_number(rt_int(how == LEAST ? most : least));
}

/* Sets *to to the value to store: the source, or the old value combined with it. */
static bool
combined_value(Row *r, const Segments *s, Kernel *k, int dtype, Ref from, Ref *to)
{
	static const OpRow rows[] = { [ADD] = ROW_add_Tensor, [MULTIPLY] = ROW_mul_Tensor, [GREATEST] = ROW_maximum,
		[LEAST] = ROW_minimum };
	Ref arg[3] = { ref_operand(0), from };

	*to = from;
	if (s->how == PUT)
		return true;
	if (!strchr("IF", rt_dtypes[dtype].category) || !element_type((RtDtype)dtype) ||
	    !number_ref(s->factor, dtype, &arg[2]))
		return false;
	*to = kernel_let(k, lower_let(r->p, rows[s->how], dtype, arg));
	return true;
}

static bool
store_all(Row *r, const Segments *s)
{
	const RtTensor *y = target(r, s);
	const RtDtype moved = lower_carrier(y->dtype);
	const bool moves = s->how == PUT && s->source;
	Ref from = ref_operand(2), to;
	Kernel *k;

	if ((!s->source && !number_ref(s->number, y->dtype, &from)) || (moves && moved == RT_NDTYPE))
		return false;
	k = begin_launch(r, s, s->how == PUT ? "put" : "join", s->how == PUT ? ACCESS_WRITE : ACCESS_UPDATE,
			 moves ? moved : (RtDtype)y->dtype);
	if (s->source)
		kernel_strided(k, ACCESS_READ, moves ? moved : (RtDtype)y->dtype, s->from);
	if (!combined_value(r, s, k, y->dtype, from, &to))
		return false;
	k->serial = s->dim;
	kernel_store(k, 0, to);
	return launch_segments(r, s, k);
}

static bool
store_neutral(Row *r, const Segments *s)
{
	const RtTensor *y = target(r, s);
	Kernel *k = begin_launch(r, s, "put", ACCESS_WRITE, (RtDtype)y->dtype);

	kernel_store(k, 0, neutral(s->how, y->dtype));
	k->serial = s->dim;
	return launch_segments(r, s, k);
}

/* ---- checks before writing --------------------------------------------------------------------------------------- */

/* May self be written in place? No other input may share its memory. */
static bool
can_write_self(const Row *r, const Segments *s)
{
	const Value *const read[] = { s->index, s->source };
	const RtTensor *self = row_tensor(r, "self");

	for (int i = 0; i < 2; i++)
		if (read[i] && (plan_tensor(r->p, read[i])->storage == self->storage || row_may_be_one(r, read[i])))
			return false;
	return !rt_overlaps_itself(self) && !self->storage->readonly;
}

/* Would each step be rounded, although the operator rounds a sum or product of 16-bit numbers only once? */
static bool
rounds_steps(const Segments *s, const RtTensor *y)
{
	return (s->how == ADD || s->how == MULTIPLY) && (y->dtype == RT_f16 || y->dtype == RT_bf16);
}

static bool
emit_segments(Row *r, const Segments *s)
{
	const RtTensor *self = row_tensor(r, "self"), *y = target(r, s),
		       *x = s->source ? plan_tensor(r->p, s->source) : NULL;
	const RtTensor *index = plan_tensor(r->p, s->index);
	bool empty = false;

	if (!y || self->dtype != y->dtype || (x && x->dtype != y->dtype) ||
	    (index->dtype != RT_i64 && !(s->narrow && index->dtype == RT_i32)) || !rt_numel(self) ||
	    !element_type((RtDtype)y->dtype) || rounds_steps(s, y))
		return false;
	for (int i = 0; i < s->ndim; i++)
		empty |= !s->dims[i];
	if (s->in_place ? !can_write_self(r, s) : !row_copy_layout(r, self, row_arg(r, "self")))
		return false;
	if (empty)
		return true;
	if (s->in_place && !check_indices(r, s))
		return false;
	return (!s->fresh || store_neutral(r, s)) && store_all(r, s);
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* Reads self, index and dim. Returns false if they are not tensors of known types, or if self has no dims. */
static bool
begin_segments(const Row *r, Segments *s)
{
	const RtTensor *self = row_tensor(r, "self");
	int64_t dim;

	*s = (Segments){ .index = row_arg(r, "index"), .factor = 1, .in_place = node_writes_input(r->n, 0) };
	if (!self || !self->ndim || !target(r, s) || !s->index || !plan_tensor(r->p, s->index) ||
	    !row_int(r, "dim", &dim))
		return false;
	dim += dim < 0 ? self->ndim : 0;
	if (dim < 0 || dim >= self->ndim)
		return false;
	s->ndim = self->ndim;
	s->dim = (int)dim;
	s->limit = self->dims[dim];
	memcpy(s->to, target(r, s)->strides, (size_t)self->ndim * sizeof *s->to);
	return true;
}

/* Reads the source: a tensor, whose strides are not checked here, or a known number. */
static bool
take_source(const Row *r, const char *name, Segments *s)
{
	const Value *v = row_arg(r, name);
	const RtTensor *t = v ? plan_tensor(r->p, v) : NULL;

	if (t && t->storage && !t->quant)
		s->source = v;
	return v && (s->source || row_double(r, name, &s->number));
}

static bool
take_joining(const Row *r, Segments *s)
{
	static const struct { const char *name; Joining how; } ways[] = {
		{ "add", ADD }, { "multiply", MULTIPLY }, { "sum", ADD }, { "prod", MULTIPLY }, { "amax", GREATEST },
		{ "amin", LEAST },
	};
	const Value *v = row_arg(r, "reduce");
	const Known *k = v ? known_at(r->p->known, v) : NULL;
	int64_t include = 1;

	for (size_t i = 0; k && k->is && k->v.tag == RT_STR && i < sizeof ways / sizeof *ways; i++)
		if (!strcmp(k->v.u.str->s, ways[i].name))
			s->how = ways[i].how;
	if (node_arg(r->n, "include_self") && !row_int(r, "include_self", &include))
		return false;
	s->fresh = !include;
	return s->how != PUT;
}

/* scatter, scatter_add, scatter_reduce: an index for each element. */
bool
row_scatter(Row *r)
{
	const RtTensor *index = row_tensor(r, "index"), *self = row_tensor(r, "self"), *x;
	Segments s;

	if (!begin_segments(r, &s) || !take_source(r, node_arg(r->n, "src") ? "src" : "value", &s) ||
	    (node_arg(r->n, "reduce") && !take_joining(r, &s)) || index->ndim != self->ndim)
		return false;
	s.how = r->n->op->lowering == LOWER_SCATTER_ADD ? ADD : s.how;
	x = s.source ? plan_tensor(r->p, s.source) : NULL;
	if (x && x->ndim != self->ndim)
		return false;
	for (int i = 0; i < index->ndim; i++) {
		if ((x && index->dims[i] > x->dims[i]) || (i != s.dim && index->dims[i] > self->dims[i]))
			return false;
		s.dims[i] = index->dims[i];
		s.by[i] = index->strides[i];
		s.from[i] = x ? x->strides[i] : 0;
	}
	return emit_segments(r, &s);
}

/* index_add, index_copy, index_fill: an index for each slice. */
bool
row_index_slices(Row *r)
{
	const char *source = node_arg(r->n, "source") ? "source" : "value";
	const RtTensor *index = row_tensor(r, "index"), *self = row_tensor(r, "self"), *x;
	const bool fills = r->n->op->lowering == LOWER_INDEX_FILL;
	Segments s;

	/* A fill has no known result if the dtype cannot hold the number. */
	if ((fills && !row_result(r, 0)) || !begin_segments(r, &s) || !take_source(r, source, &s) ||
	    index->ndim != 1)
		return false;
	s.how = r->n->op->lowering == LOWER_INDEX_ADD ? ADD : PUT;
	s.wraps = fills;
	s.narrow = s.how == ADD;
	x = s.source ? plan_tensor(r->p, s.source) : NULL;
	if ((s.how == ADD && !row_double(r, "alpha", &s.factor)) || (x && x->ndim != (fills ? 0 : self->ndim)) ||
	    (!x && !fills))
		return false;
	for (int i = 0; i < self->ndim; i++) {
		s.dims[i] = i == s.dim ? index->dims[0] : self->dims[i];
		s.by[i] = i == s.dim ? index->strides[0] : 0;
		s.from[i] = x && !fills ? x->strides[i] : 0;
		if (x && !fills && x->dims[i] != s.dims[i])
			return false;
	}
	return emit_segments(r, &s);
}

/* ---- index_put --------------------------------------------------------------------------------------------------- */

/* Sets strides of values, broadcast to the part's sizes. Returns false if they do not fit. */
static bool
spread(const RtTensor *x, Segments *s)
{
	for (int i = 0; i < s->ndim; i++) {
		const int k = i - (s->ndim - x->ndim);

		if (k >= 0 && x->dims[k] != 1 && x->dims[k] != s->dims[i])
			return false;
		s->from[i] = k < 0 || x->dims[k] == 1 ? 0 : x->strides[k];
	}
	return x->ndim <= s->ndim;
}

/* Merges the index's dims [dim, dim + n), along which sources are in order. Returns false if the strides do not allow
 * it. */
static bool
join_dims(Segments *s, int n)
{
	const int gone = n - 1, last = s->dim + gone;

	for (int i = s->dim; i < last; i++) {
		if (s->by[i] != s->by[i + 1] * s->dims[i + 1] || s->from[i] != s->from[i + 1] * s->dims[i + 1])
			return false;
		s->dims[last] *= s->dims[i];
	}
	for (int i = s->dim; i + gone < s->ndim; i++) {
		s->dims[i] = s->dims[i + gone];
		s->by[i] = s->by[i + gone];
		s->from[i] = s->from[i + gone];
	}
	s->ndim -= gone;
	return true;
}

/* index_put with one integer index: the target has self's dims before it, the index's dims, then self's other dims. */
bool
row_index_put(Row *r)
{
	const RtTensor *self = row_tensor(r, "self"), *values = row_tensor(r, "values"), *index;
	const Node *list = row_list_node(r, "indices");
	Segments s = { .factor = 1, .wraps = true, .dim = -1, .source = row_arg(r, "values"),
		.in_place = node_writes_input(r->n, 0) };
	int64_t accumulate;

	if (!self || !values || !list || !target(r, &s) || !row_int(r, "accumulate", &accumulate))
		return false;
	for (int i = 0; i < list->nin; i++) {
		if (value_is_none(list->in[i]) || list->in[i]->type->kind == TYPE_NONE)
			continue;
		if (s.dim >= 0)
			return false;
		s.dim = i;
		s.index = list->in[i];
	}
	index = s.index ? plan_tensor(r->p, s.index) : NULL;
	if (!index || s.dim >= self->ndim || index->ndim < 1 || self->ndim + index->ndim - 1 > RT_MAX_RANK)
		return false;
	s.how = accumulate ? ADD : PUT;
	s.limit = self->dims[s.dim];
	s.ndim = self->ndim + index->ndim - 1;
	for (int i = 0; i < s.ndim; i++) {
		const int k = i < s.dim ? i : i - index->ndim + 1;
		const bool by = i >= s.dim && i < s.dim + index->ndim;

		s.dims[i] = by ? index->dims[i - s.dim] : self->dims[k];
		s.by[i] = by ? index->strides[i - s.dim] : 0;
	}
	if (!spread(values, &s) || !join_dims(&s, index->ndim))
		return false;
	memcpy(s.to, target(r, &s)->strides, (size_t)self->ndim * sizeof *s.to);
	return emit_segments(r, &s);
}
