/* rt/ops/promote.c - the result type and shape of several operands
 *
 * Operands are in three groups: tensors with dims, 0-d tensors, numbers. Within a group, types are promoted pairwise by
 * the table. A lower group only counts if its category (bool < integral < floating < complex) is higher. */
#include "kernel.h"

RtDtype
rt_real_type(RtDtype d)
{
	return d == RT_c32 ? RT_f16 : d == RT_c64 ? RT_f32 : d == RT_c128 ? RT_f64 : d;
}

RtDtype
rt_complex_type(RtDtype d)
{
	return rt_is_complex(d) ? d : d == RT_f16 ? RT_c32 : d == RT_f64 ? RT_c128 : RT_c64;
}

RtDtype
rt_to_floating(RtDtype d)
{
	return rt_kind(d) == 'I' || d == RT_b8 ? RT_f32 : d;
}

/* Returns the common type of two types. Records the first pair that has none. */
static RtDtype
promoted(RtPromotion *p, RtDtype a, RtDtype b)
{
	const RtDtype d = rt_promote(a, b);

	if (d == RT_NDTYPE && p->failed[0] == RT_NDTYPE)
		p->failed[0] = a, p->failed[1] = b;
	return d;
}

static void
promote_group(RtPromotion *p, RtDtype *group, RtDtype d)
{
	*group = *group == RT_NDTYPE ? d : promoted(p, *group, d);
}

/* Returns the smallest type of a number's category, because the width of its own type does not count. */
static RtDtype
wrapped_type(RtDtype d)
{
	return rt_is_floating(d) ? RT_f32 : rt_is_complex(d) ? RT_c64 : d;
}

void
rt_promote_tensor(RtPromotion *p, const RtTensor *t)
{
	if (t->flags & RT_WRAPPED)
		promote_group(p, &p->wrapped, wrapped_type(t->dtype));
	else
		promote_group(p, t->ndim ? &p->dims : &p->zero, t->dtype);
}

void
rt_promote_number(RtPromotion *p, IValue v)
{
	switch (v.tag) {
	case RT_INT:     promote_group(p, &p->wrapped, RT_i64); break;
	case RT_DOUBLE:  promote_group(p, &p->wrapped, RT_f32); break;
	case RT_BOOL:    promote_group(p, &p->wrapped, RT_b8); break;
	case RT_COMPLEX: promote_group(p, &p->wrapped, RT_c64); break;
	}
}

static RtDtype
combine(RtPromotion *p, RtDtype higher, RtDtype lower)
{
	if (lower == RT_NDTYPE || higher == RT_NDTYPE)
		return higher == RT_NDTYPE ? lower : higher;
	if (rt_is_complex(higher))
		return higher;
	if (rt_kind(higher) == 'F' && !rt_is_complex(lower))
		return higher;
	if (rt_is_floating(higher))
		return rt_complex_type(higher);
	if (rt_category(higher) == 'U' && rt_is_complex(lower))
		return lower;
	if (higher == RT_b8 || rt_kind(lower) == 'F' || rt_is_complex(lower))
		return promoted(p, higher, lower);
	return higher;
}

RtDtype
rt_promoted(RtPromotion *p)
{
	const RtDtype d = combine(p, p->dims, combine(p, p->zero, p->wrapped));

	return p->failed[0] == RT_NDTYPE ? d : RT_NDTYPE;
}

int
rt_not_stored_only(RtCx *cx, const char *kernel, RtDtype d)
{
	return rt_is_stored_only(d)
		? rt_raise(cx, "\"%s\" not implemented for '%s'", kernel, rt_dtypes[d].brief) : RT_OK;
}

int
rt_no_promotion(RtCx *cx, RtDtype a, RtDtype b)
{
	const char *of = rt_category(a) == 'E' || rt_category(b) == 'E' ? "Float8 Types is" :
		rt_category(a) == 'U' || rt_category(b) == 'U' ? "uint16, uint32, uint64 types is" : NULL;

	if (!of)
		return rt_raise(cx, "Promotion of these types is not supported");
	return rt_raise(cx, "Promotion for %s not supported, attempted to promote %s and %s", of, rt_dtypes[a].brief,
			rt_dtypes[b].brief);
}

static RtPromotion
promotion_of(int n, const IValue *v)
{
	RtPromotion p = rt_promotion();

	for (int i = 0; i < n; i++)
		if (rt_tensor(v[i]))
			rt_promote_tensor(&p, v[i].u.t);
		else
			rt_promote_number(&p, v[i]);
	rt_promoted(&p);
	return p;
}

RtDtype
rt_result_type(int n, const IValue *v)
{
	RtPromotion p = promotion_of(n, v);

	return rt_promoted(&p);
}

int
rt_no_result_type(RtCx *cx, int n, const IValue *v)
{
	const RtPromotion p = promotion_of(n, v);

	return rt_no_promotion(cx, p.failed[0], p.failed[1]);
}

int
rt_broadcast(RtCx *cx, int *ndim, int64_t *dims, int ndim2, const int64_t *dims2)
{
	int n = *ndim > ndim2 ? *ndim : ndim2;

	for (int i = 1; i <= n; i++) {
		int64_t a = i <= *ndim ? dims[*ndim - i] : 1, b = i <= ndim2 ? dims2[ndim2 - i] : 1;
		if (a != b && a != 1 && b != 1)
			return rt_raise(cx, "The size of tensor a (%lld) must match the size of tensor b (%lld) at "
					"non-singleton dimension %d", (long long)a, (long long)b, n - i);
	}
	for (int i = n - 1; i >= 0; i--) {
		int64_t a = i >= n - *ndim ? dims[i - (n - *ndim)] : 1, b = i >= n - ndim2 ? dims2[i - (n - ndim2)] : 1;
		dims[i] = a == 1 ? b : a;
	}
	*ndim = n;
	return RT_OK;
}

RtTensor *
rt_elementwise(RtCx *cx, int i, RtDtype d, int n, RtTensor *const *operands)
{
	RtTensor *some[RT_ITER_MAX];
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];
	int ndim = 0, k = 0;

	for (int j = 0; j < n; j++) {
		if (!operands[j])
			continue;
		if (rt_broadcast(cx, &ndim, dims, operands[j]->ndim, operands[j]->dims))
			return 0;
		some[k++] = operands[j];
	}
	rt_result_strides(ndim, dims, k, some, strides);
	return rt_result(cx, i, d, ndim, dims, strides);
}
