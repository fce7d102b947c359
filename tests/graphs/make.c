/*
 * A random graph: typed values, views, writes in place, control flow, containers, attributes.
 *
 * Nodes are emitted one after the other from pools of what is in scope; a block gives back what it added to the pools.
 * Of every tensor dtype and sizes are followed, so that most graphs run without an error: `spread` says that two of its
 * elements may be one (it must not be written to), `rough` that its values may differ in the last bits between
 * implementations (it must not be compared).
 */
#include "graphs.h"

#include <math.h>
#include <string.h>

enum { RANK = 4, MOST_STATEMENTS = 34, DEEPEST = 3 };

typedef struct Ten { Value *v; RtDtype t; int n; int64_t d[RANK]; bool spread, rough; } Ten;
typedef struct Seq { Value *v; Ten like; int least, depth; } Seq;      /* a list: elements like this one, at least so many */
typedef struct Dic { Value *v; Ten like; int keys; } Dic;              /* keys k0, k1 ... are there */

typedef struct Gen {
	Cx    *cx;
	Graph *g;
	uint64_t seed;
	int    depth, left;
	bool   tame;             /* see graph_make */
	bool   rough;            /* all tensors are: something rough was written */
	Value *self;
	Vec(Ten) tens;
	Vec(Seq) seqs;
	Vec(Dic) dics;
	Vec(Value *) ints, bools, floats;
} Gen;

static const Range nowhere;

/* xorshift64* */
static int
below(Gen *x, int n)
{
	x->seed ^= x->seed >> 12;
	x->seed ^= x->seed << 25;
	x->seed ^= x->seed >> 27;
	return (int)((x->seed * 0x2545f4914f6cdd1d >> 33) % (uint64_t)n);
}

static bool
chance(Gen *x, int percent)
{
	return below(x, 100) < percent;
}

/* ---- emitting ------------------------------------------------------------------------------------------ */

static Value *
constant(Gen *x, IValue v)
{
	return graph_constant(x->g, v, nowhere);
}

static Value *
number(Gen *x, int64_t i)
{
	return constant(x, rt_int(i));
}

static Value *
call_list(Gen *x, const char *op, int n, Value *const *in)
{
	NamedValue args[8];

	for (int i = 0; i < n; i++)
		args[i] = (NamedValue){ NULL, in[i], nowhere };
	return emit_builtin(x->g, op, nowhere, args, n, 10);
}

#define CALL(x, op, ...) \
	call_list((x), (op), (int)(sizeof((Value *[]){ __VA_ARGS__ }) / sizeof(Value *)), (Value *[]){ __VA_ARGS__ })

static Value *
list_of(Gen *x, const Type *elem, int n, Value *const *in)
{
	Node *node = graph_emit(x->g, "prim::ListConstruct", nowhere, n, in, 1);

	node->out[0]->type = type_list(x->cx, elem);
	return node->out[0];
}

static Value *
ints_of(Gen *x, int n, const int64_t *d)
{
	Value *v[RANK + 1];

	for (int i = 0; i < n; i++)
		v[i] = number(x, d[i]);
	return list_of(x, &rt_type_int, n, v);
}

static Ten *
put(Gen *x, Value *v, Ten t)
{
	t.v = v;
	t.rough |= x->rough;
	vec_push(x->cx->arena, &x->tens, t);
	return &vec_last(&x->tens);
}

/* ---- choosing ------------------------------------------------------------------------------------------- */

/* Recent ones more often. */
static Ten
any(Gen *x)
{
	const int n = x->tens.n, back = below(x, 3) ? below(x, n < 6 ? n : 6) : below(x, n);

	return x->tens.at[n - 1 - back];
}

static Value *
any_int(Gen *x)
{
	return chance(x, 30) ? number(x, below(x, 7) - 2) : x->ints.at[below(x, x->ints.n)];
}

static Value *
any_bool(Gen *x)
{
	return x->bools.at[below(x, x->bools.n)];
}

static bool
is_float(RtDtype t)
{
	return t == RT_f32 || t == RT_f64;
}

static int64_t
numel(Ten t)
{
	int64_t n = 1;

	for (int i = 0; i < t.n; i++)
		n *= t.d[i];
	return n;
}

static bool
alike(Ten a, Ten b)
{
	return a.t == b.t && a.n == b.n && !memcmp(a.d, b.d, (size_t)a.n * sizeof *a.d);
}

/* A tensor of the same dtype and sizes; itself when there is no other. */
static Ten
like(Gen *x, Ten t)
{
	for (int i = 0; i < 6; i++) {
		const Ten other = any(x);

		if (alike(other, t))
			return other;
	}
	return t;
}

/* ---- tensors --------------------------------------------------------------------------------------------- */

static void
made(Gen *x, const char *op, Ten a, bool rough)
{
	a.spread = false;
	a.rough |= rough;
	put(x, CALL(x, op, a.v), a);
}

static void
unary(Gen *x)
{
	static const char *const same[] = { "aten::relu", "aten::neg", "aten::abs", "aten::clone", "aten::contiguous", "aten::detach" };
	static const char *const smooth[] = { "aten::sigmoid", "aten::tanh", "aten::floor", "aten::sign" };
	const Ten a = any(x);
	const int which = below(x, 6);

	if (a.t == RT_b8)
		made(x, chance(x, 60) ? "aten::logical_not" : "aten::clone", a, false);
	else if (is_float(a.t) && chance(x, 30))
		made(x, smooth[below(x, 4)], a, true);
	else if (which < 4)
		made(x, same[which], a, false);
	else
		put(x, CALL(x, same[which], a.v), a);
}

/* Sizes of both together; false: they do not fit. */
static bool
broadcast(Ten a, Ten b, Ten *out)
{
	*out = a.n >= b.n ? a : b;
	for (int i = 0; i < out->n; i++) {
		const int64_t p = i < out->n - a.n ? 1 : a.d[i - (out->n - a.n)], q = i < out->n - b.n ? 1 : b.d[i - (out->n - b.n)];

		if (p != q && p != 1 && q != 1)
			return false;
		out->d[i] = p == 1 ? q : p;
	}
	out->t = a.t;
	out->spread = false;
	out->rough = a.rough || b.rough;
	return a.t == b.t && numel(*out) < 2000;
}

static void
binary(Gen *x)
{
	static const char *const ops[] = { "aten::add", "aten::sub", "aten::mul", "aten::maximum", "aten::minimum" };
	static const char *const compares[] = { "aten::lt", "aten::ge", "aten::eq", "aten::ne" };
	const Ten a = any(x), b = any(x);
	Ten t;

	if (!broadcast(a, b, &t))
		return;
	if (a.t == RT_b8) {
		put(x, CALL(x, chance(x, 50) ? "aten::logical_and" : "aten::__or__", a.v, b.v), t);
	} else if (!t.rough && !x->rough && chance(x, 25)) {
		t.t = RT_b8;
		put(x, CALL(x, compares[below(x, 4)], a.v, b.v), t);
	} else if (chance(x, 20)) {
		NamedValue args[3] = { { NULL, a.v, nowhere }, { NULL, b.v, nowhere }, { "alpha", number(x, 1 + below(x, 2)), nowhere } };

		put(x, emit_builtin(x->g, chance(x, 50) ? "aten::add" : "aten::sub", nowhere, args, 3, 10), t);
	} else {
		put(x, CALL(x, ops[below(x, 5)], a.v, b.v), t);
	}
}

static Value *
scalar_for(Gen *x, RtDtype t)
{
	static const double some[] = { 0.5, 2, -1, 0, -0., 1, 3.25 };

	if (is_float(t) && chance(x, 60))
		return constant(x, rt_double(some[below(x, 7)]));
	return chance(x, 50) ? number(x, below(x, 4) - 1) : any_int(x);
}

static void
with_number(Gen *x)
{
	static const char *const ops[] = { "aten::add", "aten::sub", "aten::mul" };
	Ten a = any(x);
	const char *op = ops[below(x, 3)];

	a.spread = false;
	if (a.t == RT_b8)
		return;
	if (is_float(a.t) && chance(x, 20))
		put(x, CALL(x, "aten::div", a.v, constant(x, rt_double(chance(x, 50) ? 2 : -0.5))), a);
	else
		put(x, CALL(x, op, a.v, scalar_for(x, a.t)), a);
}

static void
choose(Gen *x)
{
	const Ten c = any(x), a = any(x), b = like(x, a);
	Ten t, u;

	if (c.t != RT_b8 || !broadcast(a, b, &t) || c.n > t.n)
		return;
	u = c;
	u.t = t.t;
	if (broadcast(u, t, &u) && u.n == t.n && !memcmp(u.d, t.d, sizeof *t.d * (size_t)t.n))
		put(x, CALL(x, "aten::where", c.v, a.v, b.v), t);
}

static void
reduce(Gen *x)
{
	Ten a = any(x);
	int64_t dim;

	a.spread = false;
	if (a.t == RT_b8 || !a.n || !numel(a))
		return;
	dim = below(x, a.n);
	if (chance(x, 25)) {
		a.rough |= is_float(a.t);
		a.n = 0;
		put(x, CALL(x, "aten::sum", a.v), a);
		return;
	}
	if (chance(x, 50)) {
		a.rough |= is_float(a.t);
		a.d[dim] = 1;
		put(x, CALL(x, "aten::sum", a.v, ints_of(x, 1, &dim), constant(x, rt_bool(true))), a);
		return;
	}
	memmove(a.d + dim, a.d + dim + 1, sizeof *a.d * (size_t)(a.n - dim - 1));
	a.n--;
	put(x, CALL(x, "aten::amax", a.v, ints_of(x, 1, &dim), constant(x, rt_bool(false))), a);
}

static void
product(Gen *x)
{
	Ten a = any(x), b = any(x), t = a;

	if (a.n != 2 || b.n != 2 || a.t != b.t || !is_float(a.t))
		return;
	if (a.d[1] != b.d[0]) {
		b = a;
		b.v = CALL(x, "aten::t", a.v);
		b.d[0] = a.d[1], b.d[1] = a.d[0];
	}
	t.d[1] = b.d[1];
	t.rough = true;
	t.spread = false;
	put(x, CALL(x, "aten::matmul", a.v, b.v), t);
}

static void
convert(Gen *x)
{
	Ten a = any(x);
	const RtDtype to = a.t == RT_f32 ? RT_f64 : RT_f32;

	a.v = CALL(x, "aten::to", a.v, number(x, to));
	a.t = to;
	a.spread = false;
	put(x, a.v, a);
}

static void
fresh(Gen *x)
{
	Ten t = { .t = chance(x, 70) ? RT_f32 : RT_i64, .n = below(x, 3) };
	NamedValue args[3];

	for (int i = 0; i < t.n; i++)
		t.d[i] = chance(x, 8) ? 0 : 1 + below(x, 3);
	args[0] = (NamedValue){ NULL, ints_of(x, t.n, t.d), nowhere };
	args[1] = (NamedValue){ NULL, scalar_for(x, t.t), nowhere };
	args[2] = (NamedValue){ "dtype", number(x, t.t), nowhere };
	put(x, emit_builtin(x->g, "aten::full", nowhere, args, 3, 10), t);
}

/* ---- views ------------------------------------------------------------------------------------------------ */

static void
drop_dim(Ten *t, int dim)
{
	memmove(t->d + dim, t->d + dim + 1, sizeof *t->d * (size_t)(t->n - dim - 1));
	t->n--;
}

static void
view_select(Gen *x, Ten a, int dim)
{
	const int64_t size = a.d[dim];
	Value *v;

	if (!size)
		return;
	v = CALL(x, "aten::select", a.v, number(x, dim), number(x, below(x, 2) ? -1 : below(x, (int)size)));
	drop_dim(&a, dim);
	put(x, v, a);
}

static void
view_slice(Gen *x, Ten a, int dim)
{
	const int64_t size = a.d[dim], beg = below(x, (int)size + 1), end = beg + below(x, (int)(size - beg) + 1), step = 1 + below(x, 2);
	Value *v = CALL(x, "aten::slice", a.v, number(x, dim), number(x, beg), number(x, end), number(x, step));

	a.d[dim] = (end - beg + step - 1) / step;
	put(x, v, a);
}

static void
view_transpose(Gen *x, Ten a, int p, int q)
{
	const int64_t size = a.d[p];

	a.v = CALL(x, "aten::transpose", a.v, number(x, p), number(x, q));
	a.d[p] = a.d[q];
	a.d[q] = size;
	put(x, a.v, a);
}

static void
view_expand(Gen *x, Ten a)
{
	int64_t sizes[RANK];

	if (a.n >= 3)
		return;
	sizes[0] = 1 + below(x, 2);
	memcpy(sizes + 1, a.d, sizeof *a.d * (size_t)a.n);
	a.v = CALL(x, "aten::expand", a.v, ints_of(x, a.n + 1, sizes));
	memcpy(a.d, sizes, sizeof *a.d * (size_t)(a.n + 1));
	a.n++;
	a.spread |= sizes[0] > 1;
	put(x, a.v, a);
}

/* A view, or a copy when it cannot be one. */
static void
view_flat(Gen *x, Ten a)
{
	const int64_t all = -1;

	if (!numel(a))
		return;
	a.v = CALL(x, "aten::reshape", a.v, ints_of(x, 1, &all));
	a.d[0] = numel(a);
	a.n = 1;
	put(x, a.v, a);
}

static void
view(Gen *x)
{
	Ten a = any(x);
	const int dim = a.n ? below(x, a.n) : 0, other = a.n ? below(x, a.n) : 0;

	switch (a.n ? below(x, 6) : 5) {
	case 0:
		view_select(x, a, dim);
		return;
	case 1:
		view_slice(x, a, dim);
		return;
	case 2:
		view_transpose(x, a, dim, other);
		return;
	case 3:
		view_flat(x, a);
		return;
	case 4:
		view_expand(x, a);
		return;
	default:
		if (a.n == RANK)
			return;
		a.v = CALL(x, "aten::unsqueeze", a.v, number(x, 0));
		memmove(a.d + 1, a.d, sizeof *a.d * (size_t)a.n);
		a.d[0] = 1;
		a.n++;
		put(x, a.v, a);
	}
}

/* ---- writes ------------------------------------------------------------------------------------------------ */

static void
write(Gen *x)
{
	static const char *const plain[] = { "aten::relu_", "aten::zero_", "aten::neg_", "aten::abs_" };
	static const char *const numbers[] = { "aten::add_", "aten::mul_", "aten::fill_", "aten::sub_" };
	const Ten a = any(x);
	Ten b = like(x, a);
	Value *v;

	if (a.spread || a.t == RT_b8)
		return;
	if (chance(x, 35)) {
		v = CALL(x, plain[below(x, 4)], a.v);
	} else if (chance(x, 60)) {
		v = CALL(x, numbers[below(x, 4)], a.v, is_float(a.t) ? scalar_for(x, a.t) : number(x, below(x, 3)));
	} else {
		if (chance(x, 70))
			b.v = CALL(x, "aten::neg", b.v);         /* memory of its own */
		v = CALL(x, chance(x, 50) ? "aten::copy_" : "aten::add_", a.v, b.v);
		x->rough |= b.rough;
	}
	x->rough |= a.rough;
	put(x, v, a);
}

/* ---- numbers ------------------------------------------------------------------------------------------------- */

static void
integer(Gen *x)
{
	const Ten a = any(x);
	Value *v;

	switch (below(x, 7)) {
	case 0:
		v = a.n ? CALL(x, "aten::size", a.v, number(x, below(x, a.n))) : CALL(x, "aten::dim", a.v);
		break;
	case 1:
		v = CALL(x, "aten::add", any_int(x), any_int(x));
		break;
	case 2:
		v = CALL(x, "aten::sub", any_int(x), any_int(x));
		break;
	case 3:
		v = CALL(x, "aten::mul", any_int(x), number(x, below(x, 4) - 1));
		break;
	case 4:
		v = CALL(x, "aten::floordiv", any_int(x), number(x, chance(x, 50) ? 2 : -3));
		break;
	case 5:
		v = CALL(x, "aten::remainder", any_int(x), number(x, chance(x, 50) ? 3 : -2));
		break;
	default:
		if (!x->seqs.n)
			return;
		v = CALL(x, "aten::len", x->seqs.at[below(x, x->seqs.n)].v);
	}
	vec_push(x->cx->arena, &x->ints, v);
}

static void
truth(Gen *x)
{
	static const char *const ops[] = { "aten::lt", "aten::gt", "aten::eq", "aten::ne" };
	const Ten a = any(x);
	Value *v;

	if (a.t == RT_b8 && chance(x, 40))
		v = CALL(x, "aten::Bool", CALL(x, "aten::any", a.v));
	else if (chance(x, 25))
		v = CALL(x, "aten::__not__", any_bool(x));
	else if (chance(x, 20))
		v = CALL(x, chance(x, 50) ? "aten::__and__" : "aten::__or__", any_bool(x), any_bool(x));
	else
		v = CALL(x, ops[below(x, 4)], any_int(x), any_int(x));
	vec_push(x->cx->arena, &x->bools, v);
}

static void
floating(Gen *x)
{
	Value *v;

	if (!x->floats.n || chance(x, 40))
		v = CALL(x, "aten::Float", any_int(x));
	else
		v = CALL(x, chance(x, 50) ? "aten::add" : "aten::mul", x->floats.at[below(x, x->floats.n)], constant(x, rt_double(0.75)));
	vec_push(x->cx->arena, &x->floats, v);
	if (chance(x, 50)) {
		Ten a = any(x);

		if (!is_float(a.t))
			return;
		a.spread = false;
		put(x, CALL(x, "aten::mul", a.v, v), a);
	}
}

/* ---- containers ------------------------------------------------------------------------------------------------ */

static void
new_list(Gen *x)
{
	Seq s = { .like = any(x), .least = below(x, 4), .depth = x->depth };
	Value *v[4];

	for (int i = 0; i < s.least; i++) {
		const Ten t = like(x, s.like);

		s.like.rough |= t.rough;
		s.like.spread |= t.spread;
		v[i] = t.v;
	}
	s.v = list_of(x, &rt_type_tensor, s.least, v);
	vec_push(x->cx->arena, &x->seqs, s);
}

static void
use_list(Gen *x)
{
	Seq *s = x->seqs.n ? &x->seqs.at[below(x, x->seqs.n)] : NULL;
	Ten t;

	if (!s)
		return;
	t = like(x, s->like);
	switch (below(x, 6)) {
	case 0:
	case 1:
		if (!alike(t, s->like) || (t.spread && !s->like.spread) || (t.rough && !s->like.rough))
			return;
		CALL(x, "aten::append", s->v, t.v);
		s->least += s->depth == x->depth;
		return;
	case 2:
		if (!s->least || !alike(t, s->like) || (t.spread && !s->like.spread) || (t.rough && !s->like.rough))
			return;
		CALL(x, "aten::_set_item", s->v, number(x, below(x, s->least)), t.v);
		return;
	case 3:
		if (!s->least || s->depth != x->depth)
			return;
		s->least--;
		put(x, CALL(x, "aten::pop", s->v), s->like);
		return;
	case 4:
		if (!s->least || s->like.n >= RANK)
			return;
		t = s->like;
		t.v = CALL(x, "aten::stack", s->v);
		t.v = CALL(x, "aten::sum", t.v, ints_of(x, 1, (int64_t[]){ 0 }));
		t.rough = is_float(t.t) ? true : t.rough;
		t.spread = false;
		if (t.t != RT_b8)
			put(x, t.v, t);
		return;
	default:
		if (s->least)
			put(x, CALL(x, "aten::__getitem__", s->v, number(x, chance(x, 30) ? -1 : below(x, s->least))), s->like);
	}
}

static Value *
key(Gen *x, int i)
{
	return constant(x, value_str(x->cx, arena_printf(x->cx->arena, "k%d", i), -1));
}

static void
dictionary(Gen *x)
{
	Dic *d = x->dics.n ? &x->dics.at[below(x, x->dics.n)] : NULL;
	Ten t;

	if (!d || chance(x, 30)) {
		Dic made_ = { .like = any(x), .keys = 1 + below(x, 2) };
		Value *in[4];

		for (int i = 0; i < made_.keys; i++) {
			in[2 * i] = key(x, i);
			in[2 * i + 1] = made_.like.v;
		}
		made_.v = graph_emit(x->g, "prim::DictConstruct", nowhere, 2 * made_.keys, in, 1)->out[0];
		made_.v->type = type_dict(x->cx, &rt_type_str, &rt_type_tensor);
		vec_push(x->cx->arena, &x->dics, made_);
		return;
	}
	t = like(x, d->like);
	if (chance(x, 40) && (!t.spread || d->like.spread) && (!t.rough || d->like.rough))
		CALL(x, "aten::_set_item", d->v, key(x, below(x, 3)), t.v);
	else if (chance(x, 40))
		vec_push(x->cx->arena, &x->bools, CALL(x, "aten::__contains__", d->v, key(x, below(x, 3))));
	else
		put(x, CALL(x, "aten::__getitem__", d->v, key(x, below(x, d->keys))), d->like);
}

/* A tuple, perhaps by way of an If, taken apart again. */
static void
tuple(Gen *x)
{
	const Ten a = any(x), b = any(x);
	Value *in[3] = { a.v, any_int(x), b.v }, *v;
	const Type *types[3] = { &rt_type_tensor, &rt_type_int, &rt_type_tensor };
	Node *n = graph_emit(x->g, "prim::TupleConstruct", nowhere, 3, in, 1);

	v = n->out[0];
	v->type = type_tuple(x->cx, types, 3);
	if (chance(x, 40)) {
		Value *index[2] = { v, number(x, 2) };

		n = graph_emit(x->g, "prim::TupleIndex", nowhere, 2, index, 1);
		n->out[0]->type = &rt_type_tensor;
		put(x, n->out[0], b);
		return;
	}
	n = graph_emit(x->g, "prim::TupleUnpack", nowhere, 1, &v, 3);
	n->out[1]->type = &rt_type_int;
	put(x, n->out[0], a);
	vec_push(x->cx->arena, &x->ints, n->out[1]);
	put(x, n->out[2], b);
}

static const Ten weight = { .t = RT_f32, .n = 2, .d = { 2, 3 } };

static void
attribute(Gen *x)
{
	const bool tensor = chance(x, 60);
	Value *in[2] = { x->self, NULL };
	Node *n;

	if (chance(x, 35)) {
		const Ten t = like(x, weight);

		if (tensor && (!t.v || t.spread || t.rough))
			return;
		in[1] = tensor ? t.v : any_int(x);
		node_set_str(graph_emit(x->g, "prim::SetAttr", nowhere, 2, in, 0), "name", tensor ? "w" : "n");
		return;
	}
	n = graph_emit(x->g, "prim::GetAttr", nowhere, 1, in, 1);
	node_set_str(n, "name", tensor ? "w" : "n");
	n->out[0]->type = tensor ? &rt_type_tensor : &rt_type_int;
	if (tensor)
		put(x, n->out[0], weight);
	else
		vec_push(x->cx->arena, &x->ints, n->out[0]);
}

/* ---- control flow ------------------------------------------------------------------------------------------------ */

typedef struct Mark { int tens, seqs, dics, ints, bools, floats; } Mark;

static Mark
enter(Gen *x, Block *b)
{
	const Mark m = { x->tens.n, x->seqs.n, x->dics.n, x->ints.n, x->bools.n, x->floats.n };

	graph_set_insert_end(x->g, b);
	x->depth++;
	return m;
}

static void
leave(Gen *x, Mark m)
{
	x->tens.n = m.tens, x->seqs.n = m.seqs, x->dics.n = m.dics;
	x->ints.n = m.ints, x->bools.n = m.bools, x->floats.n = m.floats;
	x->depth--;
}

static void statements(Gen *x, int n);

static void
branch(Gen *x)
{
	Block *const around = x->g->at_block;
	Node *n = graph_emit(x->g, "prim::If", nowhere, 1, (Value *[]){ any_bool(x) }, 0);
	Ten t = any(x);
	const bool tensor = chance(x, 80), integer_too = chance(x, 50), lists = x->seqs.n && chance(x, 15);
	const int which = lists ? below(x, x->seqs.n) : 0;

	for (int i = 0; i < 2; i++) {
		const Mark m = enter(x, node_add_block(n));
		Ten end;

		statements(x, below(x, 5));
		end = like(x, t);
		t.spread |= end.spread;
		t.rough |= end.rough;
		if (tensor)
			block_add_output(n->sub[i], end.v);
		if (integer_too)
			block_add_output(n->sub[i], any_int(x));
		if (lists)
			block_add_output(n->sub[i], x->seqs.at[which].v);
		leave(x, m);
	}
	graph_set_insert_end(x->g, around);
	if (tensor)
		put(x, node_add_output(n, &rt_type_tensor), t);
	if (integer_too)
		vec_push(x->cx->arena, &x->ints, node_add_output(n, &rt_type_int));
	if (lists) {
		Seq s = x->seqs.at[which];

		s.v = node_add_output(n, s.v->type);
		s.depth = -1;
		vec_push(x->cx->arena, &x->seqs, s);
	}
}

static Value *
trips(Gen *x)
{
	if (chance(x, 60))
		return number(x, below(x, 4));
	return CALL(x, "prim::min", CALL(x, "prim::abs", any_int(x)), number(x, 3));
}

static void
loop(Gen *x)
{
	Block *const around = x->g->at_block;
	Value *max = trips(x), *go = chance(x, 75) ? constant(x, rt_bool(true)) : any_bool(x), *first = any_int(x);
	Node *n = loop_new(x->g, nowhere, max, go);
	Ten t = any(x), end;
	const bool tensor = !t.spread && chance(x, 80), integer_too = chance(x, 60);
	Mark m;

	if (tensor && x->tame)
		t.v = CALL(x, "aten::clone", t.v);
	graph_insert(x->g, n);
	t.rough = true;
	if (tensor)
		loop_add_carried(n, t.v, NULL);
	if (integer_too)
		loop_add_carried(n, first, NULL);
	m = enter(x, loop_body(n));
	vec_push(x->cx->arena, &x->ints, loop_index(n));
	if (tensor)
		put(x, loop_body(n)->param->out[1], t);
	if (integer_too)
		vec_push(x->cx->arena, &x->ints, loop_body(n)->param->out[1 + tensor]);
	statements(x, 1 + below(x, 5));
	end = like(x, t);
	if (end.spread || x->tame)
		end.v = CALL(x, "aten::clone", end.v);
	block_add_output(loop_body(n), chance(x, 75) ? constant(x, rt_bool(true)) : any_bool(x));
	if (tensor)
		block_add_output(loop_body(n), end.v);
	if (integer_too)
		block_add_output(loop_body(n), any_int(x));
	leave(x, m);
	graph_set_insert_end(x->g, around);
	if (tensor)
		put(x, n->out[0], t);
	if (integer_too)
		vec_push(x->cx->arena, &x->ints, n->out[tensor]);
}

/* A tensor or None, and what is done in either case. */
static void
optional(Gen *x)
{
	Block *const around = x->g->at_block;
	const Type *type = type_optional(x->cx, &rt_type_tensor);
	const Ten a = any(x), b = like(x, a);
	Node *n = graph_emit(x->g, "prim::If", nowhere, 1, (Value *[]){ any_bool(x) }, 0), *cast;
	Value *v, *none, *is;
	Ten out = a;

	graph_set_insert_end(x->g, node_add_block(n));
	block_add_output(n->sub[0], a.v);
	graph_set_insert_end(x->g, node_add_block(n));
	block_add_output(n->sub[1], graph_constant_typed(x->g, rt_none(), &rt_type_none, nowhere));
	graph_set_insert_end(x->g, around);
	v = node_add_output(n, type);
	none = constant(x, rt_none());
	is = CALL(x, "aten::__isnot__", v, none);
	n = graph_emit(x->g, "prim::If", nowhere, 1, &is, 0);
	graph_set_insert_end(x->g, node_add_block(n));
	cast = graph_emit(x->g, "prim::unchecked_cast", nowhere, 1, &v, 1);
	block_add_output(n->sub[0], cast->out[0]);
	node_add_block(n);
	block_add_output(n->sub[1], b.v);
	graph_set_insert_end(x->g, around);
	out.spread |= b.spread;
	out.rough |= b.rough;
	put(x, node_add_output(n, &rt_type_tensor), out);
}

static void
statement(Gen *x)
{
	static void (*const kinds[])(Gen *) = { unary, binary, binary, with_number, with_number, choose, reduce, product, convert, fresh,
		view, view, view, write, write, write, integer, integer, truth, truth, floating, new_list, use_list, use_list,
		dictionary, tuple, attribute, attribute, optional, branch, branch, loop, loop };
	const int which = below(x, (int)(sizeof kinds / sizeof *kinds));

	if (x->depth >= DEEPEST && (kinds[which] == branch || kinds[which] == loop))
		return;
	kinds[which](x);
}

static void
statements(Gen *x, int n)
{
	while (n-- > 0 && x->left-- > 0)
		statement(x);
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static IValue
tensor_of(Gen *x, Ten t)
{
	static const double some[] = { 0, 1, -1, 2, 0.5, -0.25, 3, -2, -0., 4 };
	RtTensor *v = rt_tensor_new(cx_rt(x->cx), t.t, t.n, t.d);

	for (int64_t i = 0; i < numel(t); i++) {
		const double f = chance(x, 2) && is_float(t.t) ? (chance(x, 50) ? (double)NAN : (double)INFINITY) : some[below(x, 10)];

		rt_cast(t.t, rt_data(v) + i * rt_dtypes[t.t].bytes, 0, RT_f64, &f, 0, 1);
	}
	return rt_of(v);
}

static const Type *
class_of(Cx *cx)
{
	const Type *t = type_class(cx, "__torch__.M", false);
	ClassInfo *info = class_info(t);

	if (info->defined)
		return t;
	info->defined = info->module = true;
	class_add_attr(cx, info, (Attribute){ .name = "training", .type = &rt_type_bool });
	class_add_attr(cx, info, (Attribute){ .name = "w", .type = &rt_type_tensor, .parameter = true });
	class_add_attr(cx, info, (Attribute){ .name = "n", .type = &rt_type_int });
	return t;
}

IValue
graph_self(Cx *cx, const Made *m)
{
	RtObject *o = rt_object_new(cx_rt(cx), class_of(cx)->cls);
	RtTensor *w = rt_tensor_new(cx_rt(cx), RT_f32, weight.n, weight.d);

	(void)m;
	for (int i = 0; i < 6; i++)
		((float *)(void *)rt_data(w))[i] = (float)(i - 2) / 2;
	o->slot[0] = rt_bool(false);
	o->slot[1] = rt_of(w);
	o->slot[2] = rt_int(2);
	return rt_ref(RT_OBJECT, o);
}

static Schema *
schema_new(Cx *cx, const Type *result)
{
	static const char *const names[] = { "self", "x", "y", "z", "n", "b" };
	const Type *types[] = { class_of(cx), &rt_type_tensor, &rt_type_tensor, &rt_type_tensor, &rt_type_int, &rt_type_bool };
	Schema *s = new(cx->arena, Schema, 1);

	s->name = "forward";
	s->overload = "";
	s->nargs = NIN + 1;
	s->args = new(cx->arena, Arg, NIN + 1);
	for (int i = 0; i <= NIN; i++)
		s->args[i] = (Arg){ .name = names[i], .type = types[i] };
	s->nrets = 1;
	s->rets = new(cx->arena, Arg, 1);
	s->rets[0] = (Arg){ .name = "", .type = result };
	return s;
}

/* Some of what is there at the end, as a tuple. */
static void
finish(Gen *x)
{
	Value *out[8];
	const Type *types[8];
	int n = 0;
	Node *t;

	for (int i = 0; i < 4; i++)
		out[n++] = any(x).v;
	out[n++] = x->ints.at[x->ints.n - 1];
	out[n++] = x->bools.at[x->bools.n - 1];
	if (x->seqs.n)
		out[n++] = x->seqs.at[below(x, x->seqs.n)].v;
	if (x->floats.n)
		out[n++] = vec_last(&x->floats);
	for (int i = 0; i < n; i++)
		types[i] = out[i]->type;
	t = graph_emit(x->g, "prim::TupleConstruct", nowhere, n, out, 1);
	t->out[0]->type = type_tuple(x->cx, types, n);
	graph_add_output(x->g, t->out[0]);
}

static void
inputs(Gen *x, Made *m)
{
	Ten a = { .t = RT_f32, .n = 1 + below(x, 3) }, z = { .t = RT_i64, .n = 1 + below(x, 2) };
	Value *v;

	for (int i = 0; i < a.n; i++)
		a.d[i] = chance(x, 4) ? 0 : 1 + below(x, 4);
	for (int i = 0; i < z.n; i++)
		z.d[i] = 1 + below(x, 4);
	x->self = graph_add_input(x->g, class_of(x->cx), sym(x->cx, "self"));
	for (int i = 0; i < 3; i++) {
		v = graph_add_input(x->g, &rt_type_tensor, sym(x->cx, i == 0 ? "x" : i == 1 ? "y" : "z"));
		put(x, v, i < 2 ? a : z);
		m->in[i] = tensor_of(x, i < 2 ? a : z);
	}
	v = graph_add_input(x->g, &rt_type_int, sym(x->cx, "n"));
	vec_push(x->cx->arena, &x->ints, v);
	v = graph_add_input(x->g, &rt_type_bool, sym(x->cx, "b"));
	vec_push(x->cx->arena, &x->bools, v);
	m->in[3] = rt_int(below(x, 8) - 3);
	m->in[4] = rt_bool(chance(x, 50));
}

Made *
graph_make(Cx *cx, uint64_t seed, bool tame)
{
	Made *m = new(cx->arena, Made, 1);
	Gen x = { .cx = cx, .g = graph_new(cx, "forward"), .seed = seed * 0x9e3779b97f4a7c15 + 1, .left = MOST_STATEMENTS,
		  .tame = tame };

	m->fn = new(cx->arena, Function, 1);
	inputs(&x, m);
	graph_set_insert_end(x.g, x.g->top);
	statements(&x, 6 + below(&x, MOST_STATEMENTS));
	finish(&x);
	graph_lint(x.g);
	*m->fn = (Function){ .name = "__torch__.M.forward", .self = class_of(cx), .graph = x.g, .state = 2,
			     .schema = schema_new(cx, x.g->top->ret->in[0]->type) };
	vec_push(cx->arena, &class_info(class_of(cx))->methods, m->fn);
	m->module = (Module){ .unit = unit_new(cx, NULL, 10), .self = graph_self(cx, m), .type = class_of(cx), .path = "graphs" };
	m->fn->unit = m->module.unit;
	return m;
}
