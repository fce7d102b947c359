/* Statements that compute numbers, and that make and change containers. */
#include "gen.h"

/* ---- numbers ------------------------------------------------------------------------------------------------- */

static Value *
int_of_containers(Gen *x)
{
	if (x->in.dics.n && chance(x, 30))
		return CALL(x, "aten::len", x->in.dics.at[below(x, x->in.dics.n)].v);
	if (x->in.nests.n && chance(x, 30))
		return CALL(x, "aten::len", x->in.nests.at[below(x, x->in.nests.n)].v);
	return x->in.seqs.n ? CALL(x, "aten::len", x->in.seqs.at[below(x, x->in.seqs.n)].v) : NULL;
}

/* Emits an int: a small element of an integer tensor. */
static Value *
int_of_tensor(Gen *x)
{
	Ten a = any(x);

	if (category(a) != 'I' || !fewest(a) || x->rough || a.rough)
		return NULL;
	return CALL(x, "aten::remainder", CALL(x, "aten::Int", CALL(x, "aten::amax", a.v)), number(x, 5));
}

void
integer(Gen *x)
{
	const Ten a = any(x);
	Value *v;

	switch (below(x, 9)) {
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
	case 6:
		v = CALL(x, "aten::numel", a.v);
		break;
	case 7:
		v = int_of_tensor(x);
		break;
	default:
		v = int_of_containers(x);
	}
	if (v)
		PUSH(x, ints, v);
}

/* Emits a bool that depends on data. */
static Value *
truth_of_tensor(Gen *x, Ten a)
{
	if (category(a) == 'C' || (category(a) != 'B' && (a.rough || x->rough)))
		return any_bool(x);
	if (category(a) != 'B')
		a.v = CALL(x, "aten::gt", a.v, number(x, below(x, 3) - 1));
	return CALL(x, "aten::Bool", CALL(x, chance(x, 50) ? "aten::any" : "aten::all", a.v));
}

void
truth(Gen *x)
{
	static const char *const ops[] = { "aten::lt", "aten::gt", "aten::eq", "aten::ne" };
	Value *v;

	if (chance(x, 50))
		v = truth_of_tensor(x, any(x));
	else if (chance(x, 25))
		v = CALL(x, "aten::__not__", any_bool(x));
	else if (chance(x, 20))
		v = CALL(x, chance(x, 50) ? "aten::__and__" : "aten::__or__", any_bool(x), any_bool(x));
	else
		v = CALL(x, ops[below(x, 4)], any_int(x), any_int(x));
	PUSH(x, bools, v);
}

void
floating(Gen *x)
{
	Value *v;

	if (!x->in.floats.n || chance(x, 40))
		v = CALL(x, "aten::Float", any_int(x));
	else
		v = CALL(x, chance(x, 50) ? "aten::add" : "aten::mul", x->in.floats.at[below(x, x->in.floats.n)],
			 constant(x, rt_double(0.75)));
	PUSH(x, floats, v);
	if (chance(x, 50)) {
		Ten a = any(x);

		if (!is_float(a))
			return;
		a.spread = false;
		put(x, CALL(x, "aten::mul", a.v, v), a);
	}
}

/* ---- lists of tensors ------------------------------------------------------------------------------------------ */

static void
put_list(Gen *x, Value *v, Ten element, int least_, bool shared)
{
	PUSH(x, seqs,
	     (Seq){ .v = v, .like = element, .least = least_ > 0 ? least_ : 0, .depth = x->depth, .shared = shared });
}

void
new_list(Gen *x)
{
	Ten t = any(x);
	const int n = below(x, 4);
	Value *v[4];

	for (int i = 0; i < n; i++) {
		const Ten e = like(x, t);

		t.rough |= e.rough;
		t.spread |= e.spread;
		v[i] = e.v;
	}
	put_list(x, list_of(x, &rt_type_tensor, n, v), t, n, false);
}

static void
grow(Gen *x, Seq *s)
{
	const Ten t = like(x, s->like);

	if (!fits(t, s->like))
		return;
	if (chance(x, 70))
		CALL(x, "aten::append", s->v, t.v);
	else
		CALL(x, "aten::insert", s->v, any_int(x), t.v);
	s->least += s->depth == x->depth;
}

static void
shrink(Gen *x, Seq *s)
{
	if (!s->least || s->depth != x->depth || s->shared)
		return;
	s->least--;
	if (chance(x, 70))
		put(x, CALL(x, "aten::pop", s->v), s->like);
	else
		CALL(x, "aten::Delete", s->v, number(x, 0));
}

static void
whole_list(Gen *x, Seq s)
{
	const Seq other = x->in.seqs.at[below(x, x->in.seqs.n)];

	switch (below(x, 5)) {
	case 0:
		put_list(x, CALL(x, "aten::slice", s.v, number(x, 1), constant(x, rt_none()), number(x, 1)), s.like,
			 s.least - 1, false);
		return;
	case 1:
		if (fits(other.like, s.like))
			put_list(x, CALL(x, "aten::add", s.v, other.v), s.like, s.least + other.least, false);
		return;
	case 2:
		if (fits(other.like, s.like) && other.v != s.v)
			CALL(x, "aten::extend", s.v, other.v);
		return;
	case 3:
		CALL(x, "aten::reverse", s.v);
		return;
	default:
		put_list(x, CALL(x, "aten::list", s.v), s.like, s.least, false);
	}
}

static void
together(Gen *x, Seq s)
{
	Ten t = s.like;

	if (!s.least || category(t) == 'B')
		return;
	if (t.n && chance(x, 40)) {
		t.v = CALL(x, "aten::cat", s.v, number(x, 0));
		drop_dim(&t, 0);
	} else {
		t.v = CALL(x, "aten::stack", s.v);
	}
	t.v = CALL(x, "aten::sum", t.v, ints_of(x, 1, (int64_t[]){ 0 }));
	t.rough |= category(t) != 'I';
	t.spread = false;
	if (category(t) == 'I')
		set_dtype(&t, RT_i64);
	put(x, t.v, t);
}

void
use_list(Gen *x)
{
	Seq *s = x->in.seqs.n ? &x->in.seqs.at[below(x, x->in.seqs.n)] : NULL;
	Ten t;

	if (!s)
		return;
	t = like(x, s->like);
	switch (below(x, 8)) {
	case 0:
	case 1:
		grow(x, s);
		return;
	case 2:
		if (s->least && fits(t, s->like))
			CALL(x, "aten::_set_item", s->v, number(x, below(x, s->least)), t.v);
		return;
	case 3:
		shrink(x, s);
		return;
	case 4:
		together(x, *s);
		return;
	case 5:
		whole_list(x, *s);
		return;
	default:
		if (s->least)
			put(x, CALL(x, "aten::__getitem__", s->v, number(x, chance(x, 30) ? -1 : below(x, s->least))),
			    s->like);
	}
}

/* ---- lists of lists ---------------------------------------------------------------------------------------------- */

static void
new_nest(Gen *x)
{
	Nest n = { .least = 1 + below(x, 2) };
	Value *v[2];

	if (!x->in.seqs.n)
		return;
	for (int i = 0; i < n.least; i++) {
		Seq *s = &x->in.seqs.at[below(x, x->in.seqs.n)];

		if (i && (!alike(s->like, n.like) || s->like.rough != n.like.rough || s->like.spread != n.like.spread))
			s = NULL;
		if (s)
			s->shared = true;
		n.inner = i && (!s || n.inner < s->least) ? n.inner : s->least;
		n.like = i ? n.like : s->like;
		v[i] = s ? s->v : v[0];
	}
	n.v = list_of(x, type_list(x->cx, &rt_type_tensor), n.least, v);
	PUSH(x, nests, n);
}

void
nested(Gen *x)
{
	Nest *n = x->in.nests.n ? &x->in.nests.at[below(x, x->in.nests.n)] : NULL;
	Seq *s = x->in.seqs.n ? &x->in.seqs.at[below(x, x->in.seqs.n)] : NULL;

	if (!n || chance(x, 25)) {
		new_nest(x);
	} else if (chance(x, 40) && s && fits(s->like, n->like) && s->least >= n->inner) {
		s->shared = true;
		if (chance(x, 50))
			CALL(x, "aten::append", n->v, s->v);
		else
			CALL(x, "aten::_set_item", n->v, number(x, below(x, n->least)), s->v);
	} else {
		put_list(x, CALL(x, "aten::__getitem__", n->v, number(x, below(x, n->least))), n->like, n->inner, true);
	}
}

/* ---- dicts ------------------------------------------------------------------------------------------------------- */

static Value *
key(Gen *x, const Dic *d, int i)
{
	return d->ints ? number(x, i) : constant(x, value_str(x->cx, arena_printf(x->cx->arena, "k%d", i), -1));
}

static void
new_dict(Gen *x)
{
	Dic d = { .like = any(x), .keys = 1 + below(x, 2), .ints = chance(x, 30) };
	Value *in[4];

	for (int i = 0; i < d.keys; i++) {
		in[2 * i] = key(x, &d, i);
		in[2 * i + 1] = d.like.v;
	}
	d.v = graph_emit(x->g, "prim::DictConstruct", nowhere, 2 * d.keys, in, 1)->out[0];
	d.v->type = type_dict(x->cx, d.ints ? &rt_type_int : &rt_type_str, &rt_type_tensor);
	PUSH(x, dics, d);
}

static void
change_dict(Gen *x, Dic *d)
{
	const Ten t = like(x, d->like);
	const Dic other = x->in.dics.at[below(x, x->in.dics.n)];

	if (!fits(t, d->like))
		return;
	switch (below(x, 4)) {
	case 0:
		put(x, CALL(x, "aten::setdefault", d->v, key(x, d, below(x, 4)), t.v), d->like);
		return;
	case 1:
		put(x, CALL(x, "aten::pop", d->v, key(x, d, d->keys + below(x, 2)), t.v), d->like);
		return;
	case 2:
		if (other.ints == d->ints && fits(other.like, d->like))
			CALL(x, "aten::update", d->v, other.v);
		return;
	default:
		CALL(x, "aten::_set_item", d->v, key(x, d, below(x, 4)), t.v);
	}
}

void
dictionary(Gen *x)
{
	Dic *d = x->in.dics.n ? &x->in.dics.at[below(x, x->in.dics.n)] : NULL, copy;

	switch (d ? below(x, 8) : 0) {
	case 0:
		new_dict(x);
		return;
	case 1:
	case 2:
	case 3:
		change_dict(x, d);
		return;
	case 4:
		PUSH(x, bools, CALL(x, "aten::__contains__", d->v, key(x, d, below(x, 4))));
		return;
	case 5:
		put_list(x, CALL(x, "aten::values", d->v), d->like, d->keys, false);
		return;
	case 6:
		copy = *d;
		copy.v = CALL(x, "aten::copy", d->v);
		PUSH(x, dics, copy);
		return;
	default:
		put(x, CALL(x, "aten::__getitem__", d->v, key(x, d, below(x, d->keys))), d->like);
	}
}

/* ---- lists of ints ----------------------------------------------------------------------------------------------- */

static void
new_row(Gen *x)
{
	Value *v[3];
	const int n = below(x, 4);

	for (int i = 0; i < n; i++)
		v[i] = any_int(x);
	PUSH(x, rows, (Row){ list_of(x, &rt_type_int, n, v), n });
}

void
row(Gen *x)
{
	Row *r = x->in.rows.n ? &x->in.rows.at[below(x, x->in.rows.n)] : NULL;

	switch (r ? below(x, 7) : 0) {
	case 0:
		new_row(x);
		return;
	case 1:
		CALL(x, "aten::append", r->v, any_int(x));
		return;
	case 2:
		if (r->least)
			CALL(x, "aten::_set_item", r->v, number(x, below(x, r->least)), any_int(x));
		return;
	case 3:
		PUSH(x, bools, CALL(x, "aten::eq", r->v, x->in.rows.at[below(x, x->in.rows.n)].v));
		return;
	case 4:
		PUSH(x, ints, CALL(x, "aten::len", r->v));
		return;
	case 5:
		PUSH(x, bools, CALL(x, "aten::__contains__", r->v, any_int(x)));
		return;
	default:
		if (r->least)
			PUSH(x, ints, CALL(x, "aten::__getitem__", r->v, number(x, below(x, r->least))));
	}
}

/* Emits a tuple and unpacks it again. */
void
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
	PUSH(x, ints, n->out[1]);
	put(x, n->out[2], b);
}
