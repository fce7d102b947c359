/* rt/ops/complex.c - views of complex tensors: conjugates, real and imaginary parts, pairs of reals (rt/bits.c) */
#include "kernel.h"
#include "geom.h"

/* ---- conjugates and negatives ------------------------------------------------------------------------------------ */

static int
give_flipped(RtCx *cx, const IValue *in, unsigned bit, IValue *out)
{
	Geom g = geom_of(in[0].u.t);
	RtTensor *r = rt_tensor_view(cx, in[0].u.t, g.n, g.dims, g.strides, g.offset);

	return give_with_bits(cx, r, in[0].u.t->flags ^ bit, out);
}

KERNEL(conj, rt_is_complex(in[0].u.t->dtype) ? give_flipped(cx, in, RT_CONJ, out) : give_self(in, out))
KERNEL(_conj, rt_conj(cx, in, out))

/* Replaces conj() in bodies and gradients, which do not write to the result and know its type. */
int
rt_prim_conj(RtCx *cx, const IValue *in, IValue *out)
{
	IValue view;

	if (!rt_is_complex(in[0].u.t->dtype))
		return give_self(in, out);
	return CALL(cx, conj, &view, in[0]) ? RT_ERROR : rt_tensor_clone(cx, RT_VALUES(view, rt_none()), out);
}

KERNEL(_neg_view, give_flipped(cx, in, RT_NEG, out))

static int
give_resolved(RtCx *cx, const IValue *in, unsigned bit, IValue *out)
{
	return in[0].u.t->flags & bit ? rt_tensor_clone(cx, RT_VALUES(in[0], rt_none()), out)
				      : give_self(in, out);
}

KERNEL(resolve_conj, give_resolved(cx, in, RT_CONJ, out))
KERNEL(resolve_neg, give_resolved(cx, in, RT_NEG, out))

/* ---- complex numbers as pairs ------------------------------------------------------------------------------------ */

static RtDtype
part_dtype(int dtype)
{
	return dtype == RT_c32 ? RT_f16 : dtype == RT_c64 ? RT_f32 : RT_f64;
}

/* Returns the geometry of t as a tensor of reals: the same dims, with strides in halves of an element. */
static Geom
halves(const RtTensor *t)
{
	Geom g = geom_of(t);

	for (int i = 0; i < g.n; i++)
		g.strides[i] *= 2;
	g.offset *= 2;
	return g;
}

static int
give_part(RtCx *cx, const RtTensor *t, const Geom *g, unsigned bits, IValue *out)
{
	return give_with_bits(cx, geom_over(cx, t, part_dtype(t->dtype), g), bits, out);
}

int
rt_view_as_real(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t;
	Geom g = halves(t);

	if (!rt_is_complex(t->dtype))
		return rt_raise(cx, "view_as_real is only supported for complex tensors");
	if (t->flags & RT_CONJ)
		return rt_raise(cx, "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the "
			"conjugate tensor so you can view it as real, use self.resolve_conj(); however, be warned that "
			"the resulting tensor will NOT alias the original.");
	if (g.n == RT_MAX_RANK)
		return rt_raise(cx, "tensors of more than %d dimensions are not supported", RT_MAX_RANK);
	geom_insert(&g, g.n, 2, 1);
	return give_part(cx, t, &g, t->flags, out);
}

int
rt_real(RtCx *cx, const IValue *in, IValue *out)
{
	Geom g = halves(in[0].u.t);

	return rt_is_complex(in[0].u.t->dtype) ? give_part(cx, in[0].u.t, &g, in[0].u.t->flags & RT_NEG, out)
					       : give_self(in, out);
}

int
rt_imag(RtCx *cx, const IValue *in, IValue *out)
{
	const unsigned flags = in[0].u.t->flags;
	Geom g = halves(in[0].u.t);

	if (!rt_is_complex(in[0].u.t->dtype))
		return rt_raise(cx, "imag is not implemented for tensors with non-complex dtypes.");
	g.offset++;
	return give_part(cx, in[0].u.t, &g, !(flags & RT_NEG) != !(flags & RT_CONJ) ? RT_NEG : 0, out);
}

int
rt_view_as_complex(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = in[0].u.t, *r;
	Geom g = geom_of(t);
	RtDtype to = t->dtype == RT_f16 ? RT_c32 : t->dtype == RT_f32 ? RT_c64 : RT_c128;

	if (t->dtype != RT_f16 && t->dtype != RT_f32 && t->dtype != RT_f64)
		return rt_raise(cx, "view_as_complex is only supported for half, float and double tensors, but got a "
			"tensor of scalar type: %s", rt_dtypes[t->dtype].brief);
	if (g.n == 0)
		return rt_raise(cx, "Input tensor must have one or more dimensions");
	if (g.dims[g.n - 1] != 2)
		return rt_raise(cx, "Tensor must have a last dimension of size 2");
	if (g.strides[g.n - 1] != 1)
		return rt_raise(cx, "Tensor must have a last dimension with stride 1");
	for (int i = 0; i < g.n - 1; i++) {
		if (g.strides[i] % 2)
			return rt_raise(cx, "Tensor must have a stride divisible by 2 for all but last dimension");
		g.strides[i] /= 2;
	}
	if (g.offset % 2)
		return rt_raise(cx, "Tensor must have a storage_offset divisible by 2");
	g.offset /= 2;
	g.n--;
	r = geom_over(cx, t, to, &g);
	return give_with_bits(cx, r, t->flags, out);
}
