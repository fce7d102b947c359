/* Statements that compute tensors. */
#include "gen.h"

#include <string.h>

static void
made(Gen *x, const char *op, Ten a, bool rough)
{
	a.spread = false;
	a.rough |= rough;
	put(x, CALL(x, op, a.v), a);
}

void
unary(Gen *x)
{
	static const char *const same[] = { "aten::neg", "aten::clone", "aten::contiguous", "aten::detach",
		"aten::relu", "aten::abs" };
	static const char *const smooth[] = { "aten::sigmoid", "aten::tanh", "aten::floor", "aten::sign" };
	const Ten a = any(x);
	const int which = below(x, category(a) == 'C' ? 4 : 6);

	if (category(a) == 'B')
		made(x, chance(x, 60) ? "aten::logical_not" : "aten::clone", a, false);
	else if (is_float(a) && chance(x, 30))
		made(x, smooth[below(x, 4)], a, true);
	else if (which == 2 || which == 3)
		put(x, CALL(x, same[which], a.v), a);
	else
		made(x, same[which], a, false);
}

static bool
same_dtype(Ten a, Ten b)
{
	bool same = true;

	for (int k = 0; k < NSET; k++)
		same &= a.in[k].t == b.in[k].t;
	return same;
}

void
binary(Gen *x)
{
	static const char *const ops[] = { "aten::add", "aten::sub", "aten::mul", "aten::maximum", "aten::minimum" };
	static const char *const compares[] = { "aten::eq", "aten::ne", "aten::lt", "aten::ge" };
	const Ten a = any(x), b = any(x);
	const char c = category(a);
	Ten t;

	if (!same_dtype(a, b) || !broadcast(a, b, &t))
		return;
	if (c == 'B') {
		put(x, CALL(x, chance(x, 50) ? "aten::logical_and" : "aten::__or__", a.v, b.v), t);
	} else if (!t.rough && !x->rough && chance(x, 25)) {
		set_dtype(&t, RT_b8);
		put(x, CALL(x, compares[below(x, c == 'C' ? 2 : 4)], a.v, b.v), t);
	} else if (chance(x, 20)) {
		NamedValue args[3] = { { NULL, a.v, nowhere }, { NULL, b.v, nowhere },
			{ "alpha", number(x, 1 + below(x, 2)), nowhere } };

		put(x, emit_builtin(x->g, chance(x, 50) ? "aten::add" : "aten::sub", nowhere, args, 3, 10), t);
	} else {
		put(x, CALL(x, ops[below(x, c == 'C' ? 3 : 5)], a.v, b.v), t);
	}
}

/* Emits an operator on two dtypes.  Within a category, a tensor without dims does not determine the result's dtype. */
void
mixed(Gen *x)
{
	static const char order[] = "BIFC";
	const Ten a = any(x), b = any(x);
	Ten t;

	if (category(a) == 'B' && category(b) == 'B')
		return;
	if (!broadcast(a, b, &t))
		return;
	for (int k = 0; k < NSET; k++) {
		const RtDtype p = a.in[k].t, q = b.in[k].t;
		const int over = (int)(strchr(order, category(a)) - strchr(order, category(b)));

		if (!a.n == !b.n || (over > 0 && !b.n) || (over < 0 && !a.n))
			t.in[k].t = over && !a.n != !b.n ? over > 0 ? p : q : rt_promote(p, q);
		else if (!over)
			t.in[k].t = a.n ? p : q;
		else
			return; /* for a 0-d tensor of the higher category the default dtype matters, too */
	}
	put(x, CALL(x, chance(x, 50) ? "aten::add" : "aten::mul", a.v, b.v), t);
}

Value *
scalar_for(Gen *x, Ten t)
{
	static const double some[] = { 0.5, 2, -1, 0, -0., 1, 3.25 };

	if (strchr("FC", category(t)) && chance(x, 60))
		return constant(x, rt_double(some[below(x, 7)]));
	return chance(x, 50) ? number(x, below(x, 4) - 1) : any_int(x);
}

void
with_number(Gen *x)
{
	static const char *const ops[] = { "aten::add", "aten::sub", "aten::mul" };
	Ten a = any(x);
	const char *op = ops[below(x, 3)];

	a.spread = false;
	if (category(a) == 'B')
		return;
	if (is_float(a) && chance(x, 20))
		put(x, CALL(x, "aten::div", a.v, constant(x, rt_double(chance(x, 50) ? 2 : -0.5))), a);
	else if (!a.rough && !x->rough && category(a) != 'C' && chance(x, 15)) {
		Value *v = CALL(x, chance(x, 50) ? "aten::gt" : "aten::ne", a.v, scalar_for(x, a));

		set_dtype(&a, RT_b8);
		put(x, v, a);
	} else
		put(x, CALL(x, op, a.v, scalar_for(x, a)), a);
}

void
choose(Gen *x)
{
	const Ten c = any(x), a = any(x), b = like(x, a);
	Ten t, u;

	if (category(c) != 'B' || !broadcast(a, b, &t) || !broadcast(t, c, &u))
		return;
	u.rough = t.rough;
	put(x, CALL(x, "aten::where", c.v, a.v, b.v), u);
}

void
reduce(Gen *x)
{
	Ten a = any(x);
	int64_t dim;

	a.spread = false;
	if (category(a) == 'B' || !a.n || !fewest(a))
		return;
	dim = below(x, a.n);
	if (category(a) != 'C' && chance(x, 40)) {
		drop_dim(&a, (int)dim);
		put(x, CALL(x, "aten::amax", a.v, ints_of(x, 1, &dim), constant(x, rt_bool(false))), a);
		return;
	}
	a.rough |= strchr("FC", category(a)) != NULL;
	if (category(a) == 'I')
		set_dtype(&a, RT_i64);
	if (chance(x, 30)) {
		while (a.n)
			drop_dim(&a, 0);
		put(x, CALL(x, "aten::sum", a.v), a);
		return;
	}
	set_size(&a, (int)dim, 1);
	put(x, CALL(x, "aten::sum", a.v, ints_of(x, 1, &dim), constant(x, rt_bool(true))), a);
}

void
product(Gen *x)
{
	Ten a = any(x), b = any(x), t = a;
	bool fit = true;

	if (a.n != 2 || b.n != 2 || !same_dtype(a, b) || !is_float(a) || a.in[0].t == RT_f16)
		return;
	for (int k = 0; k < NSET; k++)
		fit &= a.in[k].d[1] == b.in[k].d[0];
	if (!fit) {
		b = a;
		b.v = CALL(x, "aten::t", a.v);
		for (int k = 0; k < NSET; k++)
			b.in[k].d[0] = a.in[k].d[1], b.in[k].d[1] = a.in[k].d[0];
	}
	for (int k = 0; k < NSET; k++)
		t.in[k].d[1] = b.in[k].d[1];
	t.rough = true;
	t.spread = false;
	put(x, CALL(x, "aten::matmul", a.v, b.v), t);
}

/* Emits a conversion.  Not from floats to integers, where the result for NaN is undefined, and not from complex
 * numbers. */
void
convert(Gen *x)
{
	static const RtDtype floats[] = { RT_f32, RT_f64, RT_f32, RT_bf16, RT_c64 },
			     all[] = { RT_i64, RT_i32, RT_u8, RT_i8, RT_b8, RT_f32, RT_f64 };
	Ten a = any(x);
	RtDtype to = is_float(a) ? floats[below(x, 5)] : all[below(x, 7)];

	if (category(a) == 'C')
		to = chance(x, 50) ? RT_c64 : RT_c128;
	a.v = CALL(x, "aten::to", a.v, number(x, to));
	for (int k = 0; k < NSET; k++)
		a.spread &= a.in[k].t == to;
	set_dtype(&a, to);
	a.rough |= to == RT_bf16;
	put(x, a.v, a);
}

void
fresh(Gen *x)
{
	static const RtDtype dtypes[] = { RT_f32, RT_f32, RT_f32, RT_i64, RT_f64, RT_i32 };
	Ten t = { .n = below(x, 3) };
	NamedValue args[3];
	int64_t d[RANK];

	set_dtype(&t, dtypes[below(x, 6)]);
	for (int i = 0; i < t.n; i++)
		set_size(&t, i, d[i] = chance(x, 8) ? 0 : 1 + below(x, 3));
	args[0] = (NamedValue){ NULL, ints_of(x, t.n, d), nowhere };
	args[1] = (NamedValue){ NULL, scalar_for(x, t), nowhere };
	args[2] = (NamedValue){ "dtype", number(x, t.in[0].t), nowhere };
	put(x, emit_builtin(x->g, "aten::full", nowhere, args, 3, 10), t);
}

/* Emits an operator whose result size depends on data: elements that are selected, counted or summed. */
void
counted(Gen *x)
{
	const Ten a = any(x), mask = any(x);
	Ten t, none = { .n = 0, .rough = a.rough };
	Value *v;

	if (category(mask) != 'B' || !broadcast(a, mask, &t))
		return;
	if (chance(x, 40)) {
		v = CALL(x, "aten::size", CALL(x, "aten::nonzero", mask.v), number(x, 0));
		PUSH(x, ints, v);
		return;
	}
	if (category(a) == 'B')
		return;
	v = CALL(x, "aten::masked_select", a.v, mask.v);
	if (chance(x, 50))
		v = CALL(x, "aten::mul", v, number(x, 2));
	if (chance(x, 50))
		v = CALL(x, "aten::add", v, v);
	for (int k = 0; k < NSET; k++)
		none.in[k].t = category(a) == 'I' ? RT_i64 : a.in[k].t;
	none.rough |= category(a) != 'I';
	put(x, CALL(x, "aten::sum", v), none);
}
