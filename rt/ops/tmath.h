/* rt/ops/tmath.h - what the value column of pointwise rows may call, in C and in CUDA
 *
 * libm's names work on float, double and complex alike: tanh(x) is tanhf(x) for a float.  CUDA's overloads do that by
 * themselves.  Includes no system header.  T is the type that the row is computed in.
 */
#ifndef RT_OPS_TMATH_H
#define RT_OPS_TMATH_H

#define isnan(x) ((x) != (x))

#ifndef __CUDACC__
#define TMATH static inline

#define TM_REAL1(X) X(acosh) X(asinh) X(atanh) X(exp) X(tanh) X(log1p) X(expm1) X(sqrt) X(floor) X(ceil)
#define TM_DECLARE1(fn) double fn(double); float fn##f(float);
TM_REAL1(TM_DECLARE1)
float _Complex cexpf(float _Complex); double _Complex cexp(double _Complex);
float _Complex ctanhf(float _Complex); double _Complex ctanh(double _Complex);
float _Complex csqrtf(float _Complex); double _Complex csqrt(double _Complex);
#define TM_F(fn, x)  _Generic((x), float: fn##f, default: fn)(x)
#define TM_FC(fn, x) _Generic((x), float: fn##f, float _Complex: c##fn##f, double _Complex: c##fn, default: fn)(x)
#define exp(x) TM_FC(exp, x)
#define tanh(x) TM_FC(tanh, x)
#define sqrt(x) TM_FC(sqrt, x)
#endif

#endif
