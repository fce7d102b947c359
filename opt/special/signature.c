/*
 * Signatures: requirements on a call's arguments for a specialization to accept the call.
 *
 * A tensor must have the same dtype, sizes and strides.  Ints, bools and strings must be equal, since shapes and
 * branches depend on them.  Floats need only be floats.  Containers must have the same length, and elements that match.
 *
 * Merged signatures describe several calls.  A size that differs becomes a symbol; sizes that were equal in every call
 * become one symbol.  For example (2, 7), (7) and (3, 9), (9) become (s0, s1), (s1).
 */
#include "../opt.h"

#include <string.h>

static Pattern
pattern_value(Cx *cx, IValue v)
{
	Pattern p = { .form = PATTERN_ANY };

	switch (v.tag) {
	case RT_TENSOR:
		p.type = type_of_tensor(cx, v.u.t);
		p.form = type_is_complete(p.type) ? PATTERN_TENSOR : PATTERN_ANY;
		return p;
	case RT_INT: case RT_BOOL: case RT_STR: case RT_NONE: case RT_DEVICE:
		p.form = PATTERN_VALUE;
		p.value = rt_retain(v);
		return p;
	case RT_LIST:
		p.form = PATTERN_LIST;
		p.n = (int)v.u.list->n;
		p.part = new(cx->arena, Pattern, p.n + 1);
		for (int i = 0; i < p.n; i++)
			p.part[i] = pattern_value(cx, v.u.list->v[i]);
		return p;
	case RT_TUPLE:
		p.form = PATTERN_TUPLE;
		p.n = (int)v.u.tuple->n;
		p.part = new(cx->arena, Pattern, p.n + 1);
		for (int i = 0; i < p.n; i++)
			p.part[i] = pattern_value(cx, v.u.tuple->v[i]);
		return p;
	default:
		return p;
	}
}

Pattern *
pattern_of(Cx *cx, const IValue *args, int n)
{
	Pattern *p = new(cx->arena, Pattern, n + 1);

	for (int i = 0; i < n; i++)
		p[i] = pattern_value(cx, args[i]);
	return p;
}

bool
pattern_equal(const Pattern *a, const Pattern *b)
{
	bool same;

	if (a->form != b->form || a->n != b->n || a->type != b->type)
		return false;
	if (a->form == PATTERN_VALUE &&
	    (a->value.tag != b->value.tag || rt_equal(NULL, a->value, b->value, &same) || !same))
		return false;
	return patterns_equal(a->part, b->part, a->n);
}

bool
patterns_equal(const Pattern *a, const Pattern *b, int n)
{
	for (int i = 0; i < n; i++)
		if (!pattern_equal(&a[i], &b[i]))
			return false;
	return true;
}

/* Are dtype and sizes equal? */
static bool
tensors_are_alike(const TensorInfo *a, const TensorInfo *b)
{
	return a->dtype == b->dtype && a->rank == b->rank && a->dims && b->dims &&
	       !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

static bool
pattern_is_like(const Pattern *a, const Pattern *b)
{
	if (a->form == PATTERN_TENSOR && b->form == PATTERN_TENSOR)
		return tensors_are_alike(a->type->tensor, b->type->tensor);
	if (a->n && a->form == b->form && a->n == b->n)
		return patterns_are_alike(a->part, b->part, a->n);
	return pattern_equal(a, b);
}

bool
patterns_are_alike(const Pattern *a, const Pattern *b, int n)
{
	for (int i = 0; i < n; i++)
		if (!pattern_is_like(&a[i], &b[i]))
			return false;
	return true;
}

/* ---- merging --------------------------------------------------------------------------------------- */

typedef struct Merge {
	Cx *cx;
	int n;                               /* number of signatures */
	Vec(const int64_t *) symbols;        /* sizes of each symbol in all signatures */
} Merge;

static Pattern merge(Merge *, const Pattern *const *);

static int64_t
merge_dim(Merge *m, const int64_t *seen)
{
	int64_t *copy;
	bool same = true;

	for (int i = 1; i < m->n; i++)
		same &= seen[i] == seen[0];
	if (same)
		return seen[0];
	for (int i = 0; i < m->symbols.n; i++)
		if (!memcmp(m->symbols.at[i], seen, (size_t)m->n * sizeof *seen))
			return DIM_SYMBOL(i);
	copy = new(m->cx->arena, int64_t, m->n);
	memcpy(copy, seen, (size_t)m->n * sizeof *seen);
	vec_push(m->cx->arena, &m->symbols, copy);
	return DIM_SYMBOL(m->symbols.n - 1);
}

static Pattern
merge_tensors(Merge *m, const Pattern *const *p)
{
	TensorInfo t = *p[0]->type->tensor;
	int64_t *dims = new(m->cx->arena, int64_t, t.rank + 1), *seen = new(m->cx->arena, int64_t, m->n);
	Pattern r = *p[0];
	bool same = true;

	for (int i = 1; i < m->n; i++) {
		if (p[i]->type->tensor->dtype != t.dtype || p[i]->type->tensor->rank != t.rank)
			return (Pattern){ .form = PATTERN_ANY };
		same &= p[i]->type == r.type;
	}
	if (same)
		return r;
	for (int k = 0; k < t.rank; k++) {
		for (int i = 0; i < m->n; i++)
			seen[i] = p[i]->type->tensor->dims[k];
		dims[k] = merge_dim(m, seen);
	}
	t.dims = dims;
	t.strides = NULL;
	t.grad = -1;
	r.type = type_tensor(m->cx, &t);
	return r;
}

static Pattern
merge_parts(Merge *m, const Pattern *const *p)
{
	const Pattern **part = new(m->cx->arena, const Pattern *, m->n);
	Pattern r = *p[0];

	r.part = new(m->cx->arena, Pattern, r.n + 1);
	for (int k = 0; k < r.n; k++) {
		for (int i = 0; i < m->n; i++)
			part[i] = &p[i]->part[k];
		r.part[k] = merge(m, part);
	}
	return r;
}

static Pattern
merge(Merge *m, const Pattern *const *p)
{
	for (int i = 1; i < m->n; i++)
		if (p[i]->form != p[0]->form || p[i]->n != p[0]->n ||
		    (p[0]->form == PATTERN_VALUE && !pattern_equal(p[i], p[0])))
			return (Pattern){ .form = PATTERN_ANY };
	return p[0]->form == PATTERN_TENSOR ? merge_tensors(m, p) : p[0]->n ? merge_parts(m, p) : *p[0];
}

Pattern *
pattern_merge(Cx *cx, const Pattern *const *signature, int nsignature, int n)
{
	Merge m = { .cx = cx, .n = nsignature };
	const Pattern **at = new(cx->arena, const Pattern *, nsignature);
	Pattern *r = new(cx->arena, Pattern, n + 1);

	RT_ASSERT(nsignature > 0);
	for (int k = 0; k < n; k++) {
		for (int i = 0; i < nsignature; i++)
			at[i] = &signature[i][k];
		r[k] = merge(&m, at);
	}
	return r;
}

/* ---- sizes of 1 and 0 -------------------------------------------------------------------------------------------- */

/* Symbols that one signature replaces by sizes of 1 or 0, for which a symbol never stands.  A batch of 1 profiled at
 * one image size and of 2 at another gives symbols for batch, height and width, and a second signature: a batch of 1
 * with symbols for height and width.  The steps of a decoder have such a signature, and so has its first call, with
 * empty caches. */
typedef struct Ones {
	Cx *cx;
	bool is_fixed[64];       /* whether a number replaces the symbol, by symbol */
	int64_t dim[64];         /* this number, or the symbol's new DIM_SYMBOL */
} Ones;

static void
find_ones(Ones *o, const Pattern *merged, const Pattern *one, int n)
{
	for (int i = 0; i < n; i++) {
		const TensorInfo *t = merged[i].form == PATTERN_TENSOR ? merged[i].type->tensor : NULL;

		RT_ASSERT(merged[i].form == PATTERN_ANY || (merged[i].form == one[i].form && merged[i].n == one[i].n));
		if (merged[i].form != PATTERN_ANY)
			find_ones(o, merged[i].part, one[i].part, merged[i].n);
		for (int k = 0; t && k < t->rank; k++)
			if (DIM_IS_SYMBOL(t->dims[k]) && one[i].type->tensor->dims[k] < 2) {
				o->is_fixed[DIM_INDEX(t->dims[k])] = true;
				o->dim[DIM_INDEX(t->dims[k])] = one[i].type->tensor->dims[k];
			}
	}
}

static Pattern *
put_ones(Ones *o, const Pattern *merged, int n)
{
	Pattern *r = new(o->cx->arena, Pattern, n + 1);

	for (int i = 0; i < n; i++) {
		const TensorInfo *info = merged[i].form == PATTERN_TENSOR ? merged[i].type->tensor : NULL;

		r[i] = merged[i];
		if (merged[i].n)
			r[i].part = put_ones(o, merged[i].part, merged[i].n);
		if (info && !info->strides && info->rank) {
			TensorInfo t = *info;
			int64_t *dims = new(o->cx->arena, int64_t, t.rank);

			for (int k = 0; k < t.rank; k++)
				dims[k] = DIM_IS_SYMBOL(t.dims[k]) ? o->dim[DIM_INDEX(t.dims[k])] : t.dims[k];
			t.dims = dims;
			r[i].type = type_tensor(o->cx, &t);
		}
	}
	return r;
}

/* Returns the merged pattern with these sizes of 1 and 0.  The other symbols get new numbers. */
static Pattern *
with_ones(Ones *o, const Pattern *merged, int n, int nsymbol)
{
	int left = 0;

	for (int i = 0; i < nsymbol; i++)
		if (!o->is_fixed[i])
			o->dim[i] = DIM_SYMBOL(left++);
	return left < nsymbol ? put_ones(o, merged, n) : NULL;
}

Pattern *
pattern_with_ones(Cx *cx, const Pattern *merged, const Pattern *one, int n)
{
	const int nsymbol = pattern_nsymbol(merged, n);
	Ones o = { .cx = cx };
	Pattern *p = NULL;

	if (nsymbol <= (int)(sizeof o.dim / sizeof *o.dim)) {
		find_ones(&o, merged, one, n);
		p = with_ones(&o, merged, n, nsymbol);
	}
	return p && pattern_nsymbol(p, n) ? p : NULL;
}

/* Returns the first symbol that is a tensor's first size.  -1 if there is none. */
static int
batch_symbol(const Pattern *p, int n)
{
	int found = -1;

	for (int i = 0; i < n && found < 0; i++) {
		const TensorInfo *t = p[i].form == PATTERN_TENSOR ? p[i].type->tensor : NULL;

		found = t && t->rank && DIM_IS_SYMBOL(t->dims[0]) ? (int)DIM_INDEX(t->dims[0])
								  : batch_symbol(p[i].part, p[i].n);
	}
	return found;
}

Pattern *
pattern_with_batch_of_one(Cx *cx, const Pattern *merged, int n)
{
	const int nsymbol = pattern_nsymbol(merged, n), batch = batch_symbol(merged, n);
	Ones o = { .cx = cx };

	if (batch < 0 || nsymbol > (int)(sizeof o.dim / sizeof *o.dim))
		return NULL;
	o.is_fixed[batch] = true;
	o.dim[batch] = 1;
	return with_ones(&o, merged, n, nsymbol);
}

bool
pattern_is_open(const Pattern *p, int n)
{
	for (int i = 0; i < n; i++)
		if (p[i].form != PATTERN_ANY)
			return false;
	return true;
}

int
pattern_nsymbol(const Pattern *p, int n)
{
	int most = 0;

	for (int i = 0; i < n; i++) {
		const TensorInfo *t = p[i].form == PATTERN_TENSOR ? p[i].type->tensor : NULL;
		const int inside = pattern_nsymbol(p[i].part, p[i].n);

		most = inside > most ? inside : most;
		for (int k = 0; t && k < t->rank; k++)
			if (DIM_IS_SYMBOL(t->dims[k]) && DIM_INDEX(t->dims[k]) >= most)
				most = DIM_INDEX(t->dims[k]) + 1;
	}
	return most;
}

Pattern *
pattern_at(Cx *cx, const Pattern *merged, int n, const int64_t *value)
{
	Pattern *out = new(cx->arena, Pattern, n + 1);

	for (int i = 0; i < n; i++) {
		out[i] = merged[i];
		if (merged[i].n)
			out[i].part = pattern_at(cx, merged[i].part, merged[i].n, value);
		if (merged[i].form == PATTERN_TENSOR && !merged[i].type->tensor->strides &&
		    merged[i].type->tensor->rank) {
			TensorInfo t = *merged[i].type->tensor;
			int64_t *dims = new(cx->arena, int64_t, 2 * t.rank);

			for (int k = 0; k < t.rank; k++) {
				dims[k] = DIM_IS_SYMBOL(t.dims[k]) ? value[DIM_INDEX(t.dims[k])] : t.dims[k];
				RT_ASSERT(dims[k] >= 0);
			}
			rt_contiguous_strides(t.rank, dims, dims + t.rank);
			t.dims = dims;
			t.strides = dims + t.rank;
			out[i].type = type_tensor(cx, &t);
		}
	}
	return out;
}

/* ---- printing ------------------------------------------------------------------------------------- */

void
pattern_print(Cx *cx, Buf *b, const Pattern *p)
{
	switch (p->form) {
	case PATTERN_ANY:    buf_puts(b, "any"); break;
	case PATTERN_VALUE:  value_print(cx, p->value, b); break;
	case PATTERN_TENSOR: buf_puts(b, type_print(cx, p->type)); break;
	default:
		buf_puts(b, p->form == PATTERN_TUPLE ? "(" : "[");
		for (int i = 0; i < p->n; i++) {
			buf_puts(b, i ? ", " : "");
			pattern_print(cx, b, &p->part[i]);
		}
		buf_puts(b, p->form == PATTERN_TUPLE ? ")" : "]");
	}
}
