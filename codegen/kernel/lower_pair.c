/*
 * Lowers pointwise rows to lets. Complex rows become pairs of real values, computed by real rows. The formulas are
 * those of PyTorch and of the eager kernels. A real number is a complex one there, too, and its zero imaginary part
 * takes part in products. So infinite numbers give the same results.
 */
#include "lower.h"

#include <math.h>
#include <string.h>

Let
lower_let(Plan *p, OpRow row, int dtype, const Ref *ref)
{
	int64_t one = 1, zero = 0;
	RtTensor like = { .h = { .refs = 1 }, .dtype = (uint8_t)dtype, .ndim = 1, .dims = &one, .strides = &zero };
	Let l = { .op = op_at(p->cx, row) };
	RtMapArg arg[RT_MAP_MAX];
	IValue in[RT_MAP_MAX];

	l.narg = rt_map_args(l.op->text, arg);
	for (int i = 0; i < l.narg; i++) {
		l.arg[i] = ref[i];
		in[arg[i].arg] = arg[i].tensor ? rt_of(&like) : ref[i].number;
	}
	rt_map_types(arg, l.narg, (RtMapResult)l.op->result, in, &l.types);
	return l;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

typedef struct Pairs { Plan *plan; Kernel *kernel; RtDtype part; } Pairs;

static Ref
let(Pairs *g, OpRow row, Ref a, Ref b, Ref c)
{
	const Ref ref[RT_MAP_MAX] = { a, b, c };

	return kernel_let(g->kernel, lower_let(g->plan, row, g->part, ref));
}

static Ref
let1(Pairs *g, OpRow row, Ref a)
{
	return let(g, row, a, a, a);
}

static Ref
let2(Pairs *g, OpRow row, Ref a, Ref b)
{
	return let(g, row, a, b, ref_number(rt_int(1)));         /* alpha of sums */
}

static Ref
times(Pairs *g, Ref a, Ref b)
{
	return let2(g, ROW_mul_Tensor, a, b);
}

static Ref
either(Pairs *g, Ref is, Ref a, Ref b)
{
	return let(g, ROW_where_self, is, a, b);
}

/* Computes each part separately: sums, differences. */
static Pair
by_parts(Pairs *g, OpRow row, Pair a, Pair b)
{
	return (Pair){ let2(g, row, a.re, b.re), let2(g, row, a.im, b.im) };
}

static Pair
product(Pairs *g, Pair a, Pair b)
{
	return (Pair){ let2(g, ROW_sub_Tensor, times(g, a.re, b.re), times(g, a.im, b.im)),
		       let2(g, ROW_add_Tensor, times(g, a.re, b.im), times(g, a.im, b.re)) };
}

/* Divides by Smith's method: both operands are first divided by the larger part of b. */
static Pair
quotient(Pairs *g, Pair a, Pair b)
{
	const Ref steep = let2(g, ROW_lt_Tensor, let1(g, ROW_abs, b.re), let1(g, ROW_abs, b.im));
	const Ref most = either(g, steep, b.im, b.re), least = either(g, steep, b.re, b.im);
	const Ref ratio = let2(g, ROW_div_Tensor, least, most);
	const Ref by = let2(g, ROW_add_Tensor, times(g, least, ratio), most);
	const Ref re = let2(g, ROW_add_Tensor, times(g, either(g, steep, a.re, a.im), ratio),
			    either(g, steep, a.im, a.re));
	const Ref im = either(g, steep, let2(g, ROW_sub_Tensor, times(g, a.im, ratio), a.re),
			      let2(g, ROW_sub_Tensor, a.im, times(g, a.re, ratio)));

	return (Pair){ let2(g, ROW_div_Tensor, re, by), let2(g, ROW_div_Tensor, im, by) };
}

/* Computes exp(a) with the root of exp(a.re), which stays finite when exp(a.re) times a small sine does. As in C: an
 * angle of 0 stays 0. If the angle is infinite or NaN, results of size zero or infinity stay as they are. */
static Pair
exponential(Pairs *g, Pair a)
{
	const Ref zero = ref_number(rt_double(0)), root = let1(g, ROW_exp, times(g, a.re, ref_number(rt_double(0.5))));
	const Ref none = let2(g, ROW_eq_Tensor, root, zero), flat = let2(g, ROW_eq_Tensor, a.im, zero);
	const Ref re = times(g, times(g, root, let1(g, ROW_cos, a.im)), root);
	const Ref im = times(g, times(g, root, let1(g, ROW_sin, a.im)), root);
	const Ref kept = either(g, let2(g, ROW_eq_Tensor, a.re, ref_number(rt_double(INFINITY))), a.re, re);
	const Ref size = either(g, let2(g, ROW_ne_Tensor, re, re), kept, re);

	return (Pair){ either(g, none, root, size), either(g, flat, a.im, either(g, none, root, im)) };
}

static Pair
complex_of(Pair a)
{
	return pair_is_complex(a) ? a : (Pair){ a.re, ref_number(rt_double(0)) };
}

bool
lower_pair(Plan *p, Kernel *k, const Let *l, const Pair *arg, Pair *y)
{
	const Pair a = complex_of(arg[0]), b = complex_of(arg[l->narg > 1 ? 1 : 0]);
	const Pair alpha = complex_of(arg[l->narg > 2 ? 2 : 0]);
	const Pair one = complex_of((Pair){ .re = ref_number(rt_double(1)) });
	Pairs g = { p, k, rt_real_type(l->types.common) };

	if (g.part != RT_f32 && g.part != RT_f64)
		return false;
	*y = (Pair){ .im = { .kind = REF_NONE } };
	switch (l->op->lowering) {
	case LOWER_COMPLEX_ADD:        *y = by_parts(&g, ROW_add_Tensor, a, product(&g, alpha, b)); break;
	case LOWER_COMPLEX_SUB:        *y = by_parts(&g, ROW_sub_Tensor, a, product(&g, alpha, b)); break;
	case LOWER_COMPLEX_RSUB:       *y = by_parts(&g, ROW_sub_Tensor, b, product(&g, alpha, a)); break;
	case LOWER_COMPLEX_MUL:        *y = product(&g, a, b); break;
	case LOWER_COMPLEX_DIV:        *y = quotient(&g, a, b); break;
	case LOWER_COMPLEX_RECIPROCAL: *y = quotient(&g, one, a); break;
	case LOWER_COMPLEX_NEG:        *y = (Pair){ let1(&g, ROW_neg, a.re), let1(&g, ROW_neg, a.im) }; break;
	case LOWER_COMPLEX_CONJ:       *y = (Pair){ a.re, let1(&g, ROW_neg, a.im) }; break;
	case LOWER_COMPLEX_EXP:        *y = exponential(&g, a); break;
	case LOWER_COMPLEX_ABS:        y->re = let2(&g, ROW_hypot, a.re, a.im); break;
	case LOWER_COMPLEX_ANGLE:      y->re = let2(&g, ROW_atan2, a.im, a.re); break;
	default:                       return false;
	}
	return true;
}
