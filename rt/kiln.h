/* rt/kiln.h - operators of your own: the one header that C for `kiln build --op` includes
 *
 * A model that calls torch.ops.my.scaled(x, 3) is compiled by
 *
 *     kiln build model.pt --op scaled.c --op-schema 'my::scaled(Tensor x, int c) -> Tensor' ...
 *
 * The file defines a function my_scaled (my_scaled_out for an overload my::scaled.out):
 *
 *     #include "kiln.h"
 *
 *     int
 *     my_scaled(RtCx *cx, const IValue *in, IValue *out)
 *     {
 *             RtTensor *x = rt_temp(cx, rt_contiguous(cx, rt_tensor(in[0]))), *r;
 *             const int64_t c = rt_integer(in[1]);
 *
 *             if (!x)
 *                     return RT_ERROR;
 *             if (x->dtype != RT_f32)
 *                     return rt_raise(cx, "my::scaled: expected Float, got %s", rt_dtypes[x->dtype].brief);
 *             r = rt_result(cx, 0, RT_f32, x->ndim, x->dims, 0);
 *             RT_RESULT(cx, r, out[0]);
 *             for (int64_t i = 0, n = rt_numel(x); i < n; i++)
 *                     ((float *)rt_data(r))[i] = ((const float *)rt_data(x))[i] * (float)c;
 *             return RT_OK;
 *     }
 *
 * Kiln's own kernels follow the same convention. rt.h declares everything that they use.
 *
 * - `in` has all arguments of the schema in order, with defaults filled in. They are borrowed. `out` has room for
 *   each result. Results are new references. Return RT_OK, or RT_ERROR after an rt_raise.
 * - Check all arguments and allocate all results before you read or write data. With cx->meta the compiler only needs
 *   dtypes and sizes: tensors have no data, and RT_RESULT of the last result returns from the kernel. For earlier
 *   results, write `if (!r) return RT_ERROR; out[i] = rt_of(r);`. If sizes depend on data, write
 *   `if (cx->meta) return rt_no_meta(cx);`.
 * - Tensors have any strides, sizes of 0, and ranks from 0 to RT_MAX_RANK. Use rt_contiguous and rt_temp as above, or
 *   read with the strides.
 * - Take temporary memory from rt_scratch and run loops in threads by rt_parallel. Keep nothing in static variables,
 *   because several calls may run at once.
 * - The compiler relies on the schema. Write to an argument only if it is marked (a!), and call rt_writable(cx, x)
 *   first. A result may share memory with an argument only if both are marked (a). */
#ifndef KILN_H
#define KILN_H

#include "rt.h"

#endif
