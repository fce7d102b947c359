/*
 * Gradients of a call. A method built with --grad returns (result, loss or None, a gradient or None for each name).
 *
 * Each gradient is written as an array with the name of its argument or parameter. An undefined gradient is left out.
 * Gradients of the result that the user gives are arguments named grad.out, grad.out.0 ...
 */
#include "host.h"
#include "base.h"

IValue
rt_gradient_part(IValue result, int i)
{
	return result.tag == RT_TUPLE && i < result.u.tuple->n ? result.u.tuple->v[i] : rt_none();
}

int
rt_gradients_write(RtCx *cx, const char *path, const char *const *names, int n, IValue result)
{
	const IValue all = rt_gradient_part(result, 2);
	RtArrays out = { 0 };
	int status = RT_OK;

	for (int i = 0; i < n && !status; i++)
		if (!rt_is_none(rt_gradient_part(all, i)))
			status = rt_arrays_add(cx, &out, names[i], rt_gradient_part(all, i));
	if (!status && !rt_is_none(rt_gradient_part(result, 1)))
		status = rt_arrays_add(cx, &out, "loss", rt_gradient_part(result, 1));
	if (!status)
		status = rt_npz_write(cx, path, &out);
	rt_arrays_free(&out);
	return status;
}

int
rt_gradients_read(RtCx *cx, const char *path, RtArrays *to)
{
	RtArrays in = { 0 };
	Buf key = { 0 };
	int status = rt_npz_read(cx, path, &in);

	for (int i = 0; i < in.n && !status; i++) {
		key.n = 0;
		buf_printf(&key, "grad.%s", in.at[i].key);
		status = in.at[i].tensor ? rt_arrays_add(cx, to, key.at, rt_of(in.at[i].tensor)) :
			rt_raise(cx, "%s: %s is no array of numbers", path, in.at[i].key);
	}
	buf_free(&key);
	rt_arrays_free(&in);
	return status;
}
