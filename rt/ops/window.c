/* rt/ops/window.c - window functions of signal processing
 *
 * w(i) for i in [0, n). A periodic window of n is the first n elements of a symmetric window of n + 1. A window of one
 * element is 1. */
#include "kernel.h"
#include "tmath.h"

RT_FAST

enum { COSINES, BARTLETT, KAISER };

typedef struct Window {                  /* a window a - b cos + c cos 2; of KAISER: beta is in a */
	const char *name;                /* name of the operator */
	int kind;
	double a, b, c;
} Window;

static double
window_at(const Window *w, double x)          /* x is in [0, 1] */
{
	double u = 2 * x - 1;

	switch (w->kind) {
	case BARTLETT: return 1 - fabs(u);
	case KAISER:   return t_bessel_ie(0, w->a * sqrt(1 - u * u)) *
			      exp(w->a * sqrt(1 - u * u) - w->a) / t_bessel_ie(0, w->a);
	default:       return w->a - w->b * cos(2 * T_PI * x) + w->c * cos(4 * T_PI * x);
	}
}

/* Makes a window. options: dtype, layout, ... */
static int
window(RtCx *cx, Window w, IValue length, bool periodic, const IValue *options, IValue *out)
{
	const char *name = w.name;
	int64_t n = rt_integer(length), last = periodic ? n : n - 1;
	RtDtype d = rt_dtype_or(options[0], RT_f32);
	RtTensor *r;

	if (!rt_is_floating(d) && !rt_is_complex(d))
		return rt_raise(cx, "%s expects floating point dtypes, got: %s", name, rt_dtypes[d].brief);
	if (n < 0)
		return rt_raise(cx, "%s requires non-negative window_length, got window_length=%lld", name,
				(long long)n);
	r = rt_result(cx, 0, d, 1, &n, 0);
	RT_RESULT(cx, r, out[0]);
	for (int64_t i = 0, bytes = rt_dtypes[d].bytes; i < n; i++) {
		double v = n == 1 ? 1 : window_at(&w, (double)i / (double)last);
		rt_cast(d, rt_data(r) + i * bytes, RT_f64, &v, 1);
	}
	return RT_OK;
}

#define WINDOW(id, ...) \
	int rt_##id(RtCx *cx, const IValue *in, IValue *out) \
	{ \
		return window(cx, __VA_ARGS__, out); \
	}
#define HANN             (Window){ "hann_window", COSINES, 0.5, 0.5, 0 }
#define HAMMING(a, b)    (Window){ "hamming_window", COSINES, (a), (b), 0 }
#define BLACKMAN         (Window){ "blackman_window", COSINES, 0.42, 0.5, 0.08 }
#define TRIANGLE         (Window){ "bartlett_window", BARTLETT, 0, 0, 0 }
#define KAISER_OF(beta)  (Window){ "kaiser_window", KAISER, (beta), 0, 0 }
WINDOW(hann_window, HANN, in[0], true, in + 1)
WINDOW(hann_window_periodic, HANN, in[0], in[1].u.i, in + 2)
WINDOW(hamming_window, HAMMING(0.54, 0.46), in[0], true, in + 1)
WINDOW(hamming_window_periodic, HAMMING(0.54, 0.46), in[0], in[1].u.i, in + 2)
WINDOW(hamming_window_periodic_alpha, HAMMING(rt_number(in[2]), 0.46), in[0], in[1].u.i, in + 3)
WINDOW(hamming_window_periodic_alpha_beta, HAMMING(rt_number(in[2]), rt_number(in[3])), in[0],
       in[1].u.i, in + 4)
WINDOW(blackman_window, BLACKMAN, in[0], true, in + 1)
WINDOW(blackman_window_periodic, BLACKMAN, in[0], in[1].u.i, in + 2)
WINDOW(bartlett_window, TRIANGLE, in[0], true, in + 1)
WINDOW(bartlett_window_periodic, TRIANGLE, in[0], in[1].u.i, in + 2)
WINDOW(kaiser_window, KAISER_OF(12), in[0], true, in + 1)
WINDOW(kaiser_window_periodic, KAISER_OF(12), in[0], in[1].u.i, in + 2)
WINDOW(kaiser_window_beta, KAISER_OF(rt_number(in[2])), in[0], in[1].u.i, in + 3)
