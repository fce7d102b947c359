/*
 * Makes a random graph: typed values, views, in-place writes, control flow, containers, attributes, tasks.
 *
 * Nodes are emitted one after the other on values from the pools of values in scope.  At its end a block removes the
 * values that it added to the pools.  This file has shared functions, and makes the whole: inputs, result, class.
 * tensors.c, views.c, values.c, flow.c and decided.c have the statements.
 */
#include "gen.h"

#include <math.h>
#include <string.h>

const Range nowhere;

/* Returns a random number below n (xorshift64*). */
int
below(Gen *x, int n)
{
	x->seed ^= x->seed >> 12;
	x->seed ^= x->seed << 25;
	x->seed ^= x->seed >> 27;
	return (int)((x->seed * 0x2545f4914f6cdd1d >> 33) % (uint64_t)n);
}

bool
chance(Gen *x, int percent)
{
	return below(x, 100) < percent;
}

/* ---- emitting ------------------------------------------------------------------------------------------ */

Value *
constant(Gen *x, IValue v)
{
	return graph_constant(x->g, v, nowhere);
}

Value *
number(Gen *x, int64_t i)
{
	return constant(x, rt_int(i));
}

Value *
call_list(Gen *x, const char *op, int n, Value *const *in)
{
	NamedValue args[8];

	for (int i = 0; i < n; i++)
		args[i] = (NamedValue){ NULL, in[i], nowhere };
	return emit_builtin(x->g, op, nowhere, args, n, 10);
}

Value *
list_of(Gen *x, const Type *elem, int n, Value *const *in)
{
	Node *node = graph_emit(x->g, "prim::ListConstruct", nowhere, n, in, 1);

	node->out[0]->type = type_list(x->cx, elem);
	return node->out[0];
}

Value *
ints_of(Gen *x, int n, const int64_t *d)
{
	Value *v[RANK + 1];

	for (int i = 0; i < n; i++)
		v[i] = number(x, d[i]);
	return list_of(x, &rt_type_int, n, v);
}

void
put(Gen *x, Value *v, Ten t)
{
	t.v = v;
	t.rough |= x->rough;
	PUSH(x, tens, t);
}

/* ---- dtypes and sizes, in every set --------------------------------------------------------------------- */

char
category(Ten t)
{
	switch (t.in[0].t) {
	case RT_b8:  return 'B';
	case RT_f16: case RT_bf16: case RT_f32: case RT_f64: return 'F';
	case RT_c64: case RT_c128: return 'C';
	default:     return 'I';
	}
}

bool
is_float(Ten t)
{
	return category(t) == 'F';
}

bool
is_dtype(Ten t, RtDtype d)
{
	bool is = true;

	for (int k = 0; k < NSET; k++)
		is &= t.in[k].t == d;
	return is;
}

bool
alike(Ten a, Ten b)
{
	bool same = a.n == b.n;

	for (int k = 0; k < NSET && same; k++)
		same = a.in[k].t == b.in[k].t && !memcmp(a.in[k].d, b.in[k].d, sizeof a.in[k].d);
	return same;
}

void
set_dtype(Ten *t, RtDtype d)
{
	for (int k = 0; k < NSET; k++)
		t->in[k].t = d;
}

void
set_size(Ten *t, int dim, int64_t size)
{
	for (int k = 0; k < NSET; k++)
		t->in[k].d[dim] = size;
}

int64_t
most(Ten t, int dim)
{
	int64_t n = 0;

	for (int k = 0; k < NSET; k++)
		n = t.in[k].d[dim] > n ? t.in[k].d[dim] : n;
	return n;
}

int64_t
least(Ten t, int dim)
{
	int64_t n = INT64_MAX;

	for (int k = 0; k < NSET; k++)
		n = t.in[k].d[dim] < n ? t.in[k].d[dim] : n;
	return n;
}

static int64_t
numel(const Ten *t, int k)
{
	int64_t n = 1;

	for (int i = 0; i < t->n; i++)
		n *= t->in[k].d[i];
	return n;
}

int64_t
fewest(Ten t)
{
	int64_t n = INT64_MAX;

	for (int k = 0; k < NSET; k++)
		n = numel(&t, k) < n ? numel(&t, k) : n;
	return n;
}

bool
small(Ten t)
{
	bool ok = true;

	for (int k = 0; k < NSET; k++)
		ok &= numel(&t, k) < MOST_ELEMENTS;
	return ok;
}

void
drop_dim(Ten *t, int dim)
{
	for (int k = 0; k < NSET; k++) {
		int64_t *d = t->in[k].d;

		memmove(d + dim, d + dim + 1, sizeof *d * (size_t)(RANK - dim - 1));
		d[RANK - 1] = 0;
	}
	t->n--;
}

void
add_dim(Ten *t, int64_t size)
{
	for (int k = 0; k < NSET; k++) {
		int64_t *d = t->in[k].d;

		memmove(d + 1, d, sizeof *d * (RANK - 1));
		d[0] = size;
	}
	t->n++;
}

bool
broadcast(Ten a, Ten b, Ten *out)
{
	*out = a.n >= b.n ? a : b;
	for (int k = 0; k < NSET; k++) {
		out->in[k].t = a.in[k].t;
		for (int i = 0; i < out->n; i++) {
			const int ia = i - (out->n - a.n), ib = i - (out->n - b.n);
			const int64_t p = ia < 0 ? 1 : a.in[k].d[ia], q = ib < 0 ? 1 : b.in[k].d[ib];

			if (p != q && p != 1 && q != 1)
				return false;
			out->in[k].d[i] = p == 1 ? q : p;
		}
	}
	out->spread = false;
	out->rough = a.rough || b.rough;
	return small(*out);
}

bool
fits(Ten t, Ten into)
{
	return alike(t, into) && (!t.spread || into.spread) && (!t.rough || into.rough);
}

/* ---- choosing ------------------------------------------------------------------------------------------- */

Ten
any(Gen *x)
{
	const int n = x->in.tens.n, back = below(x, 3) ? below(x, n < 6 ? n : 6) : below(x, n);

	return x->in.tens.at[n - 1 - back];
}

Ten
like(Gen *x, Ten t)
{
	for (int i = 0; i < 6; i++) {
		const Ten other = any(x);

		if (alike(other, t))
			return other;
	}
	return t;
}

Value *
any_int(Gen *x)
{
	return chance(x, 30) || !x->in.ints.n ? number(x, below(x, 7) - 2) : x->in.ints.at[below(x, x->in.ints.n)];
}

Value *
any_bool(Gen *x)
{
	return x->in.bools.n ? x->in.bools.at[below(x, x->in.bools.n)] : CALL(x, "aten::lt", any_int(x), any_int(x));
}

static void
statement(Gen *x)
{
	static Statement *const kinds[] = { unary, unary, binary, binary, mixed, with_number, with_number, choose,
		reduce, product,
		convert, fresh, counted, counted, view, view, view, view_unknown, write, write, write, write_part,
		integer, integer, truth,
		truth, floating, new_list, use_list, use_list, use_list, nested, dictionary, dictionary, row, tuple,
		attribute,
		attribute, optional, either, branch, branch, branch, loop, loop, loop, task, wait, check, around,
		around, around, repeated,
		repeated, chosen, chosen, refused };
	Statement *const which = kinds[below(x, (int)(sizeof kinds / sizeof *kinds))];

	if (x->depth < DEEPEST ||
	    (which != branch && which != loop && which != task && which != around && which != repeated))
		which(x);
}

void
statements(Gen *x, int n)
{
	while (n-- > 0 && x->left-- > 0)
		statement(x);
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static double
some_value(Gen *x, const Ten *t)
{
	static const double some[] = { 0, 1, -1, 2, 0.5, -0.25, 3, -2, -0., 4 };

	if (!is_float(*t) || !chance(x, 2))
		return some[below(x, 10)];
	return chance(x, 50) ? (double)NAN : (double)INFINITY;
}

/* Returns a copy with other strides: with the last two dims swapped, or every second element of a larger tensor. */
static RtTensor *
strided(Gen *x, RtTensor *t)
{
	RtCx *rt = cx_rt(x->cx);
	int64_t dims[RANK] = { 0 }, strides[RANK];
	RtTensor *own, *to;
	bool swap = t->ndim > 1 && chance(x, 50);

	memcpy(dims, t->dims, sizeof *dims * t->ndim);
	if (swap)
		dims[0] = t->dims[t->ndim - 1], dims[t->ndim - 1] = t->dims[0];
	else
		dims[t->ndim - 1] *= 2;
	own = rt_tensor_new(rt, (RtDtype)t->dtype, t->ndim, dims);
	memset(rt_data(own), 0, (size_t)(rt_numel(own) * rt_dtypes[t->dtype].bytes));
	memcpy(strides, own->strides, sizeof *strides * t->ndim);
	if (swap)
		strides[0] = own->strides[t->ndim - 1], strides[t->ndim - 1] = own->strides[0];
	else
		strides[t->ndim - 1] = 2;
	to = rt_tensor_view(rt, own, t->ndim, t->dims, strides, 0);
	rt_copy_into(rt, to, t);
	rt_tensor_release(own);
	rt_tensor_release(t);
	return to;
}

static IValue
tensor_of(Gen *x, const Ten *t, int k)
{
	const RtDtype d = t->in[k].t;
	RtTensor *v = rt_tensor_new(cx_rt(x->cx), d, t->n, t->in[k].d);

	for (int64_t i = 0; i < numel(t, k); i++) {
		const double f = some_value(x, t);

		rt_cast(d, rt_data(v) + i * rt_dtypes[d].bytes, RT_f64, &f, 1);
	}
	return rt_of(k == NSET - 1 && t->n && numel(t, k) && chance(x, 60) ? strided(x, v) : v);
}

static const Ten weight = { .n = 2, .in = { { RT_f32, { 2, 3 } }, { RT_f32, { 2, 3 } }, { RT_f32, { 2, 3 } },
	{ RT_f32, { 2, 3 } } } };

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
	RtTensor *w = rt_tensor_new(cx_rt(cx), RT_f32, weight.n, weight.in[0].d);

	(void)m;
	for (int i = 0; i < 6; i++)
		((float *)(void *)rt_data(w))[i] = (float)(i - 2) / 2;
	o->slot[0] = rt_bool(false);
	o->slot[1] = rt_of(w);
	o->slot[2] = rt_int(2);
	return rt_ref(RT_OBJECT, o);
}

void
attribute(Gen *x)
{
	const bool tensor = chance(x, 60);
	Value *in[2] = { x->self, NULL };
	Node *n;

	if (!x->self)
		return;
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
		PUSH(x, ints, n->out[0]);
}

static Schema *
schema_new(Cx *cx, const Type *result)
{
	static const char *const names[] = { "self", "x", "y", "z", "n", "b" };
	const Type *types[] = { class_of(cx), &rt_type_tensor, &rt_type_tensor, &rt_type_tensor, &rt_type_int,
		&rt_type_bool };
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

/* Emits the result: a tuple of some values in scope, often with the inputs, which may have been written to. */
static void
finish(Gen *x)
{
	Value *out[16];
	const Type *types[16];
	int n = 0;
	Node *t;

	for (int i = 0; i < 4; i++)
		out[n++] = any(x).v;
	for (int i = 0; i < 3 && chance(x, 60); i++)
		out[n++] = graph_inputs(x->g)[1 + i];
	out[n++] = vec_last(&x->in.ints);
	out[n++] = vec_last(&x->in.bools);
	if (x->in.seqs.n)
		out[n++] = x->in.seqs.at[below(x, x->in.seqs.n)].v;
	if (x->in.nests.n)
		out[n++] = vec_last(&x->in.nests).v;
	if (x->in.dics.n)
		out[n++] = x->in.dics.at[below(x, x->in.dics.n)].v;
	if (x->in.rows.n)
		out[n++] = vec_last(&x->in.rows).v;
	if (x->in.floats.n)
		out[n++] = vec_last(&x->in.floats);
	for (int i = 0; i < n; i++)
		types[i] = out[i]->type;
	t = graph_emit(x->g, "prim::TupleConstruct", nowhere, n, out, 1);
	t->out[0]->type = type_tuple(x->cx, types, n);
	graph_add_output(x->g, t->out[0]);
}

/* Chooses the sizes of an input.  The last two sets have other sizes, but 1 stays 1. */
static void
shape_input(Gen *x, Ten *t, RtDtype first, RtDtype last)
{
	set_dtype(t, first);
	t->in[NSET - 1].t = last;
	for (int i = 0; i < t->n; i++) {
		set_size(t, i, chance(x, 3) ? 0 : 1 + below(x, 4));
		for (int k = 2; k < NSET; k++)
			if (t->in[0].d[i] > 1 && chance(x, 80))
				t->in[k].d[i] = chance(x, 4) ? 0 : 2 + below(x, 4);
	}
}

static void
inputs(Gen *x, Made *m)
{
	static const RtDtype pairs[][2] = { { RT_f32, RT_f64 }, { RT_f32, RT_f64 }, { RT_f32, RT_f64 },
		{ RT_f64, RT_f32 },
		{ RT_f32, RT_bf16 }, { RT_bf16, RT_f32 }, { RT_f16, RT_f32 }, { RT_i64, RT_i32 }, { RT_i32, RT_i64 },
		{ RT_u8, RT_i16 },
		{ RT_i8, RT_i64 }, { RT_c64, RT_c128 }, { RT_b8, RT_b8 } };
	const int any_pair = chance(x, 50) ? below(x, 4) : below(x, 13), z_pair = chance(x, 60) ? 7 : 7 + below(x, 4);
	const int pair = any_pair == 6 && x->tame ? 0 : any_pair;
	Ten in[3] = { { .n = 1 + below(x, 3) }, { .n = below(x, 3) }, { .n = 1 + below(x, 2) } };
	Value *v;

	shape_input(x, &in[0], pairs[pair][0], pairs[pair][1]);
	if (chance(x, 70))
		in[1] = in[0];
	else
		shape_input(x, &in[1], pairs[pair][0], pairs[pair][1]);
	shape_input(x, &in[2], pairs[z_pair][0], pairs[z_pair][1]);
	x->self = graph_add_input(x->g, class_of(x->cx), sym(x->cx, "self"));
	for (int i = 0; i < 3; i++) {
		in[i].rough = in[i].in[0].t == RT_f16 || in[i].in[0].t == RT_bf16;
		v = graph_add_input(x->g, &rt_type_tensor, sym(x->cx, i == 0 ? "x" : i == 1 ? "y" : "z"));
		put(x, v, in[i]);
		for (int k = 0; k < NSET; k++)
			m->in[k][i] = tensor_of(x, &in[i], k);
	}
	v = graph_add_input(x->g, &rt_type_int, sym(x->cx, "n"));
	PUSH(x, ints, v);
	v = graph_add_input(x->g, &rt_type_bool, sym(x->cx, "b"));
	PUSH(x, bools, v);
	/* Numbers are often the same in all sets, so that only data and sizes differ. */
	for (int k = 0; k < NSET; k++) {
		m->in[k][3] = k && chance(x, 60) ? m->in[0][3] : rt_int(below(x, 8) - 3);
		m->in[k][4] = k && chance(x, 70) ? m->in[0][4] : rt_bool(chance(x, 50));
	}
}

Made *
graph_make(Cx *cx, uint64_t seed, bool tame)
{
	Made *m = new(cx->arena, Made, 1);
	Gen x = { .cx = cx, .g = graph_new(cx, "forward"), .seed = seed * 0x9e3779b97f4a7c15 + 1,
		.left = MOST_STATEMENTS,
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
	m->module = (Module){ .unit = unit_new(cx, NULL, 10), .self = graph_self(cx, m), .type = class_of(cx),
		.path = "graphs" };
	m->fn->unit = m->module.unit;
	return m;
}
