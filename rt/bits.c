/* rt/bits.c - lazy conjugate and negative views: their elements are the conjugates or negatives of those stored
 *
 * conj() of a complex tensor is a view with RT_CONJ. The imaginary part of that view has RT_NEG. View and tensor see
 * each other's writes. Most kernels ignore the bits: the caller passes copies of such arguments without bits, and
 * copies back what the kernel writes. Only kernels that make views, or read no elements, get the argument itself.
 * op_use (ir/op.c) decides this for each argument from the schema.
 *
 * The copies of copy.c resolve the bits of their source and respect those of their target.
 *
 * A program in which nothing makes such a view does not link this file. */
#include "rt.h"

enum { ARGS = 16 };

/* Negates one number in place. Floats of every kind have their sign in the highest bit. */
static void
negate(RtDtype dtype, char *p)
{
	const RtDtypeInfo *d = &rt_dtypes[dtype];
	int64_t i;

	if (d->category == 'I') {
		i = -rt_load_i64(dtype, p);
		rt_cast(dtype, p, RT_i64, &i, 1);
	} else if (d->category == 'F' || d->category == 'C') {
		p[d->bytes - 1] = (char)(p[d->bytes - 1] ^ 0x80);
	}
}

static void
apply_bits(RtTensor *t, unsigned bits)
{
	const bool complex = rt_dtypes[t->dtype].category == 'C', neg = bits & RT_NEG;
	const int64_t n = rt_numel(t), half = rt_dtypes[t->dtype].bytes / 2;

	for (int64_t i = 0; i < n && (neg || complex); i++) {
		int64_t at = 0, rest = i;
		char *p;

		for (int d = t->ndim; d-- > 0; rest /= t->dims[d])
			at += rest % t->dims[d] * t->strides[d];
		p = rt_data(t) + at * rt_dtypes[t->dtype].bytes;
		if (!complex || neg != ((bits & RT_CONJ) != 0))
			negate((RtDtype)t->dtype, p);    /* negates only the imaginary part of a complex number */
		if (complex && neg)
			p[half - 1] = (char)(p[half - 1] ^ 0x80);
	}
}

static RtList *
resolved_list(RtCx *cx, const RtList *from)
{
	RtList *l = rt_list_new(cx, from->elem, from->n);

	for (int64_t i = 0; l && i < from->n; i++) {
		IValue v = rt_has_bits(from->v[i]) ? rt_of(rt_clone(cx, from->v[i].u.t)) : rt_retain(from->v[i]);

		if (!v.u.p || rt_list_push(cx, l, v)) {
			rt_release(rt_ref(RT_LIST, l));
			l = 0;
		}
	}
	return l;
}

/* Returns a copy of v without bits, which is released like scratch memory. None if an error was raised. */
static IValue
resolved(RtCx *cx, IValue v)
{
	void *p = v.tag == RT_LIST ? (void *)resolved_list(cx, v.u.list) : rt_clone(cx, v.u.t);

	return p ? rt_temp_value(cx, rt_ref((RtTag)v.tag, p)) : rt_none();
}

static int
write_back(RtCx *cx, RtTensor *to, RtTensor *from)
{
	bool same = to->ndim == from->ndim;

	for (int i = 0; same && i < to->ndim; i++)
		same = to->dims[i] == from->dims[i];
	return (!same && rt_tensor_resize(cx, to, from->ndim, from->dims)) || rt_copy_into(cx, to, from);
}

static int
call_resolved(RtCx *cx, const RtCall *c, const IValue *in, IValue *out)
{
	IValue *args = rt_scratch(cx, (int64_t)sizeof *args * (c->nin ? c->nin : 1));
	int status;

	if (!args)
		return RT_ERROR;
	for (int i = 0; i < c->nin; i++) {
		args[i] = in[i];
		if (i >= ARGS || !(c->use >> i & 1) || !rt_has_bits(in[i]))
			continue;
		if (in[i].tag == RT_LIST && RT_USE_WRITES(c->use, i))
			return rt_raise(cx,
					"conjugate or negative views in a list that is written to are not supported");
		args[i] = resolved(cx, in[i]);
		if (rt_is_none(args[i]))
			return cx->status;
	}
	status = c->kernel(cx, args, out);
	for (int i = 0; i < c->nin && i < ARGS && !status; i++) {
		if (args[i].u.p == in[i].u.p || !RT_USE_WRITES(c->use, i))
			continue;
		status = write_back(cx, in[i].u.t, args[i].u.t);
		for (int k = 0; k < c->nout; k++)
			if (out[k].tag == RT_TENSOR && out[k].u.t == args[i].u.t)
				rt_assign(&out[k], rt_retain(in[i]));
	}
	return status;
}

static int
call_using(RtCx *cx, const RtCall *c, const IValue *in, IValue *out)
{
	bool some = false;
	RtMark m;
	int status;

	for (int i = 0; i < c->nin && i < ARGS && !some; i++)
		some = c->use >> i & 1 && rt_has_bits(in[i]);
	if (!some)
		return c->kernel(cx, in, out);
	m = rt_scratch_mark(cx);
	status = call_resolved(cx, c, in, out);
	rt_scratch_reset(cx, m);
	return status;
}

const RtLazy rt_lazy_all = { apply_bits, call_using, rt_contiguous };
