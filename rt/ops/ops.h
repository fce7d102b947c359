/* rt/ops/ops.h - the operator room: every row of every family
 *
 * A row says all that Kiln knows of an operator.  Include this file with the row macros that are wanted defined;
 * those left out are empty.
 *
 * MAP(id, "schema", domain, result, value, "gradient")
 *     pointwise.  value: an element of the result as an expression of C and CUDA over a, b, c, ...: the arguments of
 *     the schema in order (Tensor or number; others are skipped).  The preprocessor makes the eager kernel rt_<id> of
 *     it (map.c), and its text goes into fused kernels.  It may call what rt/ops/tmath.h declares, and nothing else.
 *     It may also say T: the type that it is computed in.  A number is of type T there, like an element.  DTYPE: the
 *     common dtype (a TM_ of tmath.h), for functions that are not those of T rounded.
 *     domain: types it exists for: F float and double, I int64, B bool, C complex: FI, FIBC, ...
 *             N is I that 32 bits are enough for where the common dtype is int32: eager kernels have a loop of them;
 *             Z is I where a zero in b raises ZeroDivisionError (the value then only must not trap);
 *             P is I where a negative Scalar b raises;
 *             U uint16, uint32 and uint64, in uint64; 8 floats of 8 bits, as float: other rows raise for these dtypes
 *             M behind F: functions that are fast for near arguments (vmath.h); E: floats are exponentials
 *     result: promote  common dtype of the tensor arguments, by ATen's rules
 *             floating likewise, but integral and bool become the default dtype
 *             boolean  computed in the common dtype, result bool
 *             real     promote; complex gives its real type (abs)
 *             part     floating; complex gives its real type (angle)
 *             uint8, int8  computed in the common dtype, the value fits
 *             asked    the type that the second argument, an int, names; computed in the first's (casts)
 *     Of numbers only self, other, exponent, min, max, x, n take part in promotion (rt_map_args); condition never does.
 *     An optional number or tensor that is None: value may ask has_<letter>.
 * OP(id, "schema", rule, effect, "gradient")
 *     has an eager kernel rt_<id> in <family>.c.
 *     rule: how the type of results follows from the arguments:
 *             meta     run the kernel with cx->meta: it stops at RT_RESULT
 *             same     dtype, sizes as the first tensor      (rules with names: rt/ops/shape.c)
 *             value    the result is no tensor, the schema's type says all
 *             data     sizes depend on data: a guard has to say
 *     effect: pure; random (draws numbers); io (print, raise: order is kept).  Writes are in the schema: (a!).
 * SHARED(id, "schema", function)
 *     an OP of value, pure, without a gradient, whose kernel is a static function of the family's .c (overloads that
 *     differ by types only have one).
 * BODY(id, "schema", "gradient", "text")
 *     a decomposition: TorchScript statements over the schema's argument names, ending in return.  Surplus arguments of
 *     a schema with `...` are the list `rest`.
 * ALSO(id, "schema", base)
 *     the in-place or out= form of row `base`: same arguments, the result is copied into self or out (variant.c).
 *     A schema without arguments has the base's: its overload ends in "out", and it has a Tensor out besides; or it is
 *     in place, and the first is written to.
 *     When the base is a BODY, rt_<id> takes the body's results before the arguments; ir/code.c runs the body first.
 * OUT(id, "schema", base)
 *     likewise, of an out that has to have the result's dtype: it is not cast into.
 * FORMS(base, ALSO), FORMS_OF(name, overload, ALSO)
 *     both forms of row base or name_overload: ALSO in place, and out=, which is ALSO or OUT.
 * LOWER(id, WHAT)
 *     stands behind row `id`: what a kernel of specialized code computes for it, LOWER_WHAT of ir.h; its form is in
 *     codegen/kernel/families.c.  Rows of MAP are kernels without it, but for complex
 *     numbers.  All others stay calls.
 * TRAIT(space, name, WHAT)
 *     stands behind the rows of operator space::name: what is true of all its overloads, TRAIT_WHAT of ir.h.
 * The gradient is TorchScript, compiled by frontend (gradient.c) and put into graphs by opt (autodiff.c).  It is one of
 *     "grad * other; grad * self"     expressions, one for each argument that is a tensor, an optional tensor or a
 *             list of tensors, over the arguments, grad (grad1, ... of further results) and result (result1, ...);
 *             None: that argument has none.  An optional argument's may be anything when it is None.
 *     statements that end in a return of them
 *     "body\n" and statements over the arguments: the operator in terms of others, which is differentiated instead
 *     "None"  results do not depend on the arguments in a way that has a gradient
 *     ""      a BODY: its body is differentiated; else Kiln lacks it, and says so when a gradient arrives.
 * Of a MAP row the sum over what was broadcast and the cast to the argument's dtype are added.  Gradients of unused
 * results are zeros.
 *
 * id is the schema's name with _ for ::'s namespace aten dropped and the overload after it: add_Tensor, relu_,
 * prim_dtype, quantized_linear.  ORDER of overloads: order.def.
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
#undef TRAIT
