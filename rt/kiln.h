/* rt/kiln.h - operators of your own: the one header that C for `kiln build --op` includes
 *
 * A model that calls torch.ops.my.scaled(x, 3) wants
 *
 *     kiln build model.pt --op scaled.c --op-schema 'my::scaled(Tensor x, int c) -> Tensor' ...
 *
 * and the file a function my_scaled (my_scaled_out for an overload my::scaled.out):
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
 * It is the convention of Kiln's own kernels; rt.h has all that they use:
 *
 * - `in` has the schema's arguments in order, all of them, defaults filled in; they are borrowed.  `out` has room for
 *   each result; those are new references.  Return RT_OK, or RT_ERROR after an rt_raise.
 * - Check everything and ask for results before data is touched.  With cx->meta the compiler wants to know dtypes and
 *   sizes: tensors have no data then, and RT_RESULT returns when the last result is there (for the ones before it,
 *   write `if (!r) return RT_ERROR; out[i] = rt_of(r);`).  When sizes depend on data:
 *   `if (cx->meta) return rt_no_meta(cx);`
 * - Tensors have any strides, sizes of 0, rank 0 to RT_MAX_RANK: rt_contiguous and rt_temp as above, or the strides.
 * - Memory of the call is rt_scratch's, threads are rt_parallel's.  Keep nothing in static variables: calls run side by
 * side.
 * - What the schema says is relied upon: an argument is written only when it says (a!), and rt_writable(cx, x) comes
 *   first; a result shares memory with an argument only when both say (a).
 */
#ifndef KILN_H
#define KILN_H

#include "rt.h"

#endif
