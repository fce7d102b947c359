/* rt/ops/ops.h - the operator table: all entries of all families
 *
 * An entry (row) has everything that Kiln knows about an operator. To read entries, define the macros of the kinds that
 * you need and include this file. Macros that are not defined expand to nothing.
 *
 * MAP(id, "schema", domain, result, value, "gradient")
 *     A pointwise operator. `value` is an element of the result, as an expression of C and CUDA over a, b, c, ...:
 *     the schema's tensors and numbers in order. The preprocessor makes the eager kernel rt_<id> from it (map.c). Its
 *     text is pasted into fused kernels. It may only call functions of rt/ops/tmath.h. T is the type in which it is
 *     computed; numbers are converted to T. DTYPE is the common dtype (a TM_ of tmath.h), for functions whose result
 *     depends on more than rounding to T.
 *     domain: the types for which it is defined. F is float and double, I int64, B bool, C complex: FI, FIBC, ...
 *             N  I whose values fit in 32 bits if the common dtype is int32: eager kernels have a loop of int32
 *             Z  I that raises ZeroDivisionError for a zero in b; the value itself must not trap
 *             P  I that raises an error for a negative Scalar b
 *             U  uint16, uint32 and uint64, computed in uint64
 *             8  floats of 8 bits, computed in float. Entries without U or 8 raise an error for these dtypes.
 *             1  8 if b has several elements. If it has one, the eager kernel raises an error, and there is no fused
 *                kernel.
 *             L  integers accept Scalars that their dtype cannot hold, from PyTorch 2 on: they count as its nearest
 *                value. There is no fused kernel for uint16, uint32 and uint64.
 *             M  after F: functions with a fast path for arguments of small magnitude (vmath.h)
 *             E  after F: exponentials
 *     result: promote      common dtype of the tensor arguments, by ATen's rules
 *             floating     the same, but integral types and bool become the default dtype
 *             boolean      bool; the value is computed in the common dtype
 *             real         as promote; if it is complex, the type of its real part (abs)
 *             part         as floating; if it is complex, the type of its real part (angle)
 *             uint8, int8  this dtype; the value is computed in the common dtype and must fit
 *             asked        the dtype that the second argument, an int, names; computed in the first one's (casts)
 *     Among numbers, only self, other, exponent, min, max, x and n take part in promotion (rt_map_args). condition
 *     never does. has_<letter> tells whether an optional argument is not None.
 * OP(id, "schema", rule, effect, "gradient")
 *     An operator with an eager kernel rt_<id> in <family>.c.
 *     rule: how the types of the results are computed:
 *             meta     by the kernel with cx->meta, which stops at RT_RESULT
 *             same     dtype and sizes of the first tensor      (named rules: rt/ops/shape.c)
 *             value    by the schema: the result is no tensor
 *             data     not at all: sizes depend on data, and a guard checks them
 *     effect: pure; random (draws numbers); io (print, raise: their order is kept). The schema declares writes: (a!).
 * SHARED(id, "schema", function)
 *     An OP with rule value and effect pure, without a gradient. Its kernel is a static function of the family's .c,
 *     which overloads that differ only in types share.
 * BODY(id, "schema", "gradient", "text")
 *     A decomposition. Its text is TorchScript statements over the schema's arguments, ending in return. Surplus
 *     arguments of a schema with `...` are in the list `rest`.
 * ALSO(id, "schema", base)
 *     The in-place or out= variant of operator `base`. It has the same arguments, and the result is copied into self or
 *     out (variant.c). A schema without arguments has those of the base. If its overload ends in "out", it also has a
 *     Tensor out. Otherwise it is in place and writes to its first argument. If the base is a BODY, the arguments of
 *     rt_<id> follow the body's results, and ir/code.c runs the body first.
 * OUT(id, "schema", base)
 *     An ALSO whose `out` must have the result's dtype, because the result is not cast.
 * FORMS(base, ALSO), FORMS_OF(name, overload, ALSO)
 *     Both variants of operator base or name_overload: in place by ALSO, and out= by the argument, ALSO or OUT.
 * LOWER(id, WHAT)
 *     The kernel that specialized code computes for operator `id`, which must precede it: LOWER_WHAT of ir.h. Its form
 *     is in codegen/kernel/families.c. MAP entries have kernels without a LOWER, except for complex numbers. Other
 *     operators without a LOWER stay calls.
 * SIZES(id, RULE)
 *     The rule by which the sizes of results follow from those of the arguments of operator `id`, which must precede
 *     it: SIZES_RULE of ir.h. MAP entries have BROADCAST without a SIZES. Without a rule, programs of dynamic sizes run
 *     the kernel without data.
 * EFFECT(id, effect)
 *     The strongest effect of the operators that BODY `id`, which must precede it, calls. Left out if it is pure. A
 *     raised error is no effect: if a result is unused, its error may be lost.
 * TRAIT(space, name, WHAT)
 *     TRAIT_WHAT of ir.h holds for all overloads of operator space::name, which must precede it.
 *
 * A gradient is TorchScript. frontend compiles it (gradient.c), and opt inserts it into graphs (autodiff.c). It is one
 * of
 *     "grad * other; grad * self"
 *             expressions, one for each argument that is a tensor, an optional tensor or a list of tensors. They may
 *             use the arguments, grad (grad1, ... of further results) and result (result1, ...). None: that argument
 *             has no gradient. The expression of an optional argument that is None is not used.
 *     statements that end in a return of such expressions
 *     "body\n" and statements over the arguments: the operator in terms of others, which is differentiated instead
 *     "None"  the results have no gradient
 *     ""      for a BODY, its body is differentiated. For others, Kiln lacks the gradient and fails if one is needed.
 * The gradient of a MAP entry is summed over broadcast dims and cast to the argument's dtype. Gradients of unused
 * results are zeros.
 *
 * id is the schema's name: the namespace with _ for ::, without aten, and the overload at its end. Examples:
 * add_Tensor, relu_, prim_dtype, quantized_linear. order.def has the order of overloads.
 */
#ifndef MAP
#define MAP(id, schema, domain, result, value, gradient)
#endif
#ifndef OP
#define OP(id, schema, rule, effect, gradient)
#endif
#ifndef SHARED
#define SHARED(id, schema, function) OP(id, schema, value, pure, "")
#endif
#ifndef BODY
#define BODY(id, schema, gradient, text)
#endif
#ifndef ALSO
#define ALSO(id, schema, base)
#endif
#ifndef OUT
#define OUT(id, schema, base) ALSO(id, schema, base)
#endif
#define FORMS(base, out) ALSO(base##_, "aten::" #base "_", base) out(base##_out, "aten::" #base ".out", base)
#define FORMS_OF(name, overload, out) \
	ALSO(name##__##overload, "aten::" #name "_." #overload, name##_##overload) \
	out(name##_##overload##_out, "aten::" #name "." #overload "_out", name##_##overload)
#ifndef LOWER
#define LOWER(id, what)
#endif
#ifndef SIZES
#define SIZES(id, rule)
#endif
#ifndef EFFECT
#define EFFECT(id, effect)
#endif
#ifndef TRAIT
#define TRAIT(space, name, what)
#endif
#include "map.def"
#include "pair.def"
#include "special.def"
#include "reduce.def"
#include "make.def"
#include "random.def"
#include "view.def"
#include "index.def"
#include "sort.def"
#include "linalg.def"
#include "fft.def"
#include "conv.def"
#include "pool.def"
#include "nn.def"
#include "loss.def"
#include "resample.def"
#include "rnn.def"
#include "attention.def"
#include "quant.def"
#include "vision.def"
#include "audio.def"
#include "recent.def"
#include "sparse.def"
#include "scalar.def"
#include "text.def"
#include "seq.def"
#include "dicts.def"
#include "prim.def"
#include "grad.def"
#include "backward.def"
#undef MAP
#undef OP
#undef SHARED
#undef BODY
#undef ALSO
#undef OUT
#undef FORMS
#undef FORMS_OF
#undef LOWER
#undef SIZES
#undef EFFECT
#undef TRAIT
