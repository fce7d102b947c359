/* Statements that make views, also of views, and that write in place. */
#include "gen.h"

#include <string.h>

static void
view_select(Gen *x, Ten a, int dim)
{
	const int64_t size = least(a, dim);
	Value *v, *at;

	if (!size)
		return;
	if (chance(x, 25))
		at = CALL(x, "aten::remainder", any_int(x), CALL(x, "aten::size", a.v, number(x, dim)));
	else
		at = number(x, chance(x, 50) ? -1 : below(x, (int)size));
	v = CALL(x, "aten::select", a.v, number(x, dim), at);
	drop_dim(&a, dim);
	put(x, v, a);
}

static void
view_slice(Gen *x, Ten a, int dim)
{
	const int64_t size = most(a, dim), beg = below(x, (int)size + 1), end = beg + below(x, (int)(size - beg) + 1),
		      step = 1 + below(x, 2);
	Value *v = CALL(x, "aten::slice", a.v, number(x, dim), number(x, beg), number(x, end), number(x, step));

	for (int k = 0; k < NSET; k++) {
		int64_t *d = &a.in[k].d[dim], p = beg < *d ? beg : *d, q = end < *d ? end : *d;

		*d = (q - p + step - 1) / step;
	}
	put(x, v, a);
}

static void
view_transpose(Gen *x, Ten a, int p, int q)
{
	a.v = CALL(x, "aten::transpose", a.v, number(x, p), number(x, q));
	for (int k = 0; k < NSET; k++) {
		const int64_t size = a.in[k].d[p];

		a.in[k].d[p] = a.in[k].d[q];
		a.in[k].d[q] = size;
	}
	put(x, a.v, a);
}

static void
view_expand(Gen *x, Ten a)
{
	int64_t sizes[RANK] = { 1 + below(x, 2), -1, -1, -1 };

	if (a.n >= 3)
		return;
	a.v = CALL(x, "aten::expand", a.v, ints_of(x, a.n + 1, sizes));
	add_dim(&a, sizes[0]);
	a.spread |= sizes[0] > 1;
	put(x, a.v, a);
}

/* Emits a view, or a copy if a view is impossible. */
static void
view_flat(Gen *x, Ten a)
{
	const int64_t all = -1;
	Ten t = a;

	if (!fewest(a))
		return;
	t.n = 1;
	for (int k = 0; k < NSET; k++) {
		memset(t.in[k].d, 0, sizeof t.in[k].d);
		t.in[k].d[0] = 1;
		for (int i = 0; i < a.n; i++)
			t.in[k].d[0] *= a.in[k].d[i];
	}
	put(x, CALL(x, "aten::reshape", a.v, ints_of(x, 1, &all)), t);
}

/* Views a tensor with the sizes that it has, given as its list of sizes. */
static void
view_sizes(Gen *x, Ten a)
{
	Value *v = CALL(x, "aten::size", a.v);

	PUSH(x, rows, (Row){ v, a.n });
	put(x, CALL(x, chance(x, 50) ? "aten::reshape" : "aten::expand", a.v, v), a);
}

void
view(Gen *x)
{
	Ten a = any(x);
	const int dim = a.n ? below(x, a.n) : 0, other = a.n ? below(x, a.n) : 0;

	switch (a.n ? below(x, 7) : 6) {
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
	case 5:
		view_sizes(x, a);
		return;
	default:
		if (a.n == RANK)
			return;
		a.v = CALL(x, "aten::unsqueeze", a.v, number(x, 0));
		add_dim(&a, 1);
		put(x, a.v, a);
	}
}

/* ---- parts whose size only the run knows ---------------------------------------------------------------------- */

static Value *
unknown_part(Gen *x, Ten a)
{
	const int dim = below(x, a.n);
	Value *n = any_int(x), *zero = number(x, 0), *one = number(x, 1);

	if (chance(x, 50))
		return CALL(x, "aten::slice", a.v, number(x, dim), zero, n, one);
	return CALL(x, "aten::slice", a.v, number(x, dim), n, constant(x, rt_none()), one);
}

/* Computes on a view of unknown size, then sums to a known size. */
void
view_unknown(Gen *x)
{
	Ten a = any(x);
	const int64_t dim = 0;
	Value *v;

	if (a.n < 1 || category(a) == 'B')
		return;
	v = unknown_part(x, a);
	v = chance(x, 50) ? CALL(x, "aten::mul", v, number(x, 2)) : CALL(x, "aten::add", v, v);
	a.rough |= category(a) != 'I';
	a.spread = false;
	while (a.n)
		drop_dim(&a, 0);
	if (category(a) == 'I')
		set_dtype(&a, RT_i64);
	v = chance(x, 50) ? CALL(x, "aten::sum", v)
			  : CALL(x, "aten::sum", CALL(x, "aten::sum", v, ints_of(x, 1, &dim)));
	put(x, v, a);
}

/* ---- writes ------------------------------------------------------------------------------------------------ */

void
write(Gen *x)
{
	static const char *const plain[] = { "aten::zero_", "aten::neg_", "aten::relu_", "aten::abs_" };
	static const char *const numbers[] = { "aten::add_", "aten::mul_", "aten::fill_", "aten::sub_" };
	const Ten a = any(x);
	const int few = category(a) == 'C' ? 2 : 4;
	Ten b = like(x, a);
	Value *v;

	if (a.spread || category(a) == 'B')
		return;
	if (chance(x, 35)) {
		v = CALL(x, plain[below(x, few)], a.v);
	} else if (chance(x, 60)) {
		v = CALL(x, numbers[below(x, 4)], a.v, category(a) == 'I' ? number(x, below(x, 3)) : scalar_for(x, a));
	} else {
		if (chance(x, 70))
			b.v = CALL(x, "aten::neg", b.v);         /* memory of its own */
		v = CALL(x, chance(x, 50) ? "aten::copy_" : "aten::add_", a.v, b.v);
		x->rough |= b.rough;
	}
	x->rough |= a.rough;
	put(x, v, a);
}

/* Writes to a part: one of unknown size, or the elements that a mask selects. */
void
write_part(Gen *x)
{
	const Ten a = any(x), mask = any(x);
	Ten t;

	if (a.spread || category(a) == 'B')
		return;
	if (category(mask) == 'B' && broadcast(a, mask, &t) && t.n == a.n && fewest(t) == fewest(a)) {
		t.spread = a.spread, t.rough = a.rough;
		if (alike(t, a)) {
			put(x, CALL(x, "aten::masked_fill_", a.v, mask.v, number(x, below(x, 3))), a);
			return;
		}
	}
	if (a.n)
		CALL(x, chance(x, 50) ? "aten::add_" : "aten::mul_", unknown_part(x, a), number(x, 2));
	x->rough |= a.rough;
}
