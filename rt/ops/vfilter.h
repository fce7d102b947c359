/* rt/ops/vfilter.h - filters for Winograd F(m x m, 3 x 3), m = 4 or 2, with the same bits in the compiler and in
 * programs
 *
 * The points of m = 4 are 0, +-5/8, +-3/2 and infinity, measured as the best among sixteenths and eighths. They have
 * 2.4 times less rounding error than the usual 0, +-1, +-2 (1.8 times the direct form's), for as many multiplications.
 * All constants that follow from them are exact in a float (Barabasz, Anderson, Soodhalter and Gregg, 2020, on the
 * choice of points). The points of m = 2 are 0, +-1 and infinity. */
#ifndef RT_OPS_VFILTER_H
#define RT_OPS_VFILTER_H

#define WINO_P 0.625f
#define WINO_Q 1.5f
#define WINO_PP (WINO_P * WINO_P)
#define WINO_QQ (WINO_Q * WINO_Q)

/* Forbids fused multiply-add, so that rounding does not depend on the machine and its flags. */
#ifdef __clang__
#define WINO_EXACT _Pragma("clang fp contract(off)")
#define WINO_BEGIN
#define WINO_END
#else
#define WINO_EXACT
#define WINO_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"fp-contract=off\")")
#define WINO_END _Pragma("GCC pop_options")
#endif

enum { WINO_MOST = 6 };                  /* side of the largest transformed tile, m + 2 */

WINO_BEGIN

/* The including file defines WinoWide: double, or a vector of doubles with a filter in each lane. It is double because
 * a filter's error is in every result. Functions that call these must be before WINO_END, too. */

/* Computes G g for m = 2: maps three numbers with stride gs to four with stride os. */
static inline __attribute__((always_inline)) void
wino_side_2(const WinoWide *g, int gs, WinoWide *o, int os)
{
	WINO_EXACT
	const WinoWide a = (g[0] + g[2 * gs]) * 0.5, b = g[gs] * 0.5;

	o[0] = g[0];
	o[os] = a + b;
	o[2 * os] = a - b;
	o[3 * os] = g[2 * gs];
}

/* Computes G g for m = 4: maps three numbers with stride gs to six with stride os. */
static inline __attribute__((always_inline)) void
wino_side_4(const WinoWide *g, int gs, WinoWide *o, int os)
{
	WINO_EXACT
	const double p = WINO_P, q = WINO_Q, pp = p * p, qq = q * q, np = 0.5 / (pp * (pp - qq)),
		     nq = 0.5 / (qq * (qq - pp));
	const WinoWide a = g[0] * np + g[2 * gs] * (pp * np), b = g[gs] * (p * np);
	const WinoWide c = g[0] * nq + g[2 * gs] * (qq * nq), d = g[gs] * (q * nq);

	o[0] = g[0] * (1 / (pp * qq));
	o[os] = a + b;
	o[2 * os] = a - b;
	o[3 * os] = c + d;
	o[4 * os] = c - d;
	o[5 * os] = g[2 * gs];
}

/* Computes G g G': maps a filter g[9], three rows of three, to t, m + 2 rows of m + 2. For m = 4 this needs more
 * registers than there are: rolled loops are as fast as unrolled ones, and a third of the size. */
static inline __attribute__((always_inline)) void
wino_filter(int m, const WinoWide *g, WinoWide *t)
{
	WinoWide h[3 * WINO_MOST];

	if (m == 4) {
		for (int s = 0; s < 3; s++)
			wino_side_4(g + s, 3, h + s, 3);
		for (int r = 0; r < 6; r++)
			wino_side_4(h + 3 * r, 1, t + 6 * r, 1);
		return;
	}
	_Pragma("GCC unroll 3")
	for (int s = 0; s < 3; s++)
		wino_side_2(g + s, 3, h + s, 3);
	_Pragma("GCC unroll 4")
	for (int r = 0; r < 4; r++)
		wino_side_2(h + 3 * r, 1, t + 4 * r, 1);
}

#endif
