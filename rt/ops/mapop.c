/* rt/ops/mapop.c - pointwise operators that are not one expression
 *
 * They prepare the arguments of a pointwise operator (float_power, nan_to_num) or have two results (frexp). */
#include "kernel.h"

double frexp(double, int *);

/* Converts the argument, a tensor or a number, to double or complex128. */
static int
to_double(RtCx *cx, IValue in, RtDtype d, IValue *out)
{
	RtTensor *t = rt_tensor(in);

	*out = in;
	if (t) {
		if (!(t = rt_temp(cx, rt_to_dtype(cx, t, d))))
			return RT_ERROR;
		*out = rt_of(t);
	} else if (d == RT_f64) {
		*out = rt_double(rt_number(in));
	}
	return RT_OK;
}

static int
float_power(RtCx *cx, RtKernel *pow, const IValue *in, IValue *out)
{
	bool c = false;
	IValue x[2];

	for (int i = 0; i < 2; i++)
		c = c || in[i].tag == RT_COMPLEX || (rt_tensor(in[i]) && rt_is_complex((RtDtype)in[i].u.t->dtype));
	for (int i = 0; i < 2; i++)
		if (to_double(cx, in[i], c ? RT_c128 : RT_f64, &x[i]))
			return RT_ERROR;
	return pow(cx, x, out);
}

KERNEL(float_power_Tensor_Tensor, float_power(cx, rt_pow_Tensor_Tensor, in, out))
KERNEL(float_power_Tensor_Scalar, float_power(cx, rt_pow_Tensor_Scalar, in, out))
KERNEL(float_power_Scalar, float_power(cx, rt_pow_Scalar, in, out))

int
rt_nan_to_num(RtCx *cx, const IValue *in, IValue *out)
{
	RtTensor *t = rt_tensor(in[0]);
	double most = rt_largest((RtDtype)t->dtype);
	IValue x[4] = { in[0], rt_double(rt_number_or(in[1], 0)), rt_double(rt_number_or(in[2], most)),
		rt_double(rt_number_or(in[3], -most)) };

	if (rt_is_integral((RtDtype)t->dtype, true) || rt_category((RtDtype)t->dtype) == 'U')
		x[1] = x[2] = x[3] = rt_double(0);
	return rt_prim_nan_to_num(cx, x, out);
}

static void
frexp_block(void *arg, int64_t n, void *const *x)
{
	double *mantissa = x[0];
	const double *a = x[2];
	int64_t *exponent = x[1];

	(void)arg;
	for (int64_t i = 0; i < n; i++) {
		int e = 0;
		mantissa[i] = frexp(a[i], &e);
		exponent[i] = a[i] - a[i] == 0 ? e : 0;
	}
}

int
rt_frexp_Tensor(RtCx *cx, const IValue *in, IValue *out)
{
	static const RtDtype as[3] = { RT_f64, RT_i64, RT_f64 };
	RtTensor *t = rt_tensor(in[0]), *x[3] = { 0, 0, t };
	RtIter it;

	if (!rt_is_floating((RtDtype)t->dtype))
		return rt_raise(cx, "torch.frexp() only supports floating-point dtypes");
	x[0] = rt_elementwise(cx, 0, (RtDtype)t->dtype, 1, &t);
	RT_PUT(x[0], out[0]);
	x[1] = rt_elementwise(cx, 1, RT_i32, 1, &t);
	RT_RESULT(cx, x[1], out[1]);
	rt_iter_init(&it, 3, 2, x, as, 0);
	rt_iter_run(cx, &it, frexp_block, 0);
	return RT_OK;
}
