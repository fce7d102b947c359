/* rt/ops/vml.h - functions of floats as MKL's vector library has them, or nearly
 *
 * Measured against PyTorch 2.15: exp equal everywhere, tanh but for a few in a million; the others are the double's result,
 * rounded: 0.1 % of log2 and log10 differ, 1 % of erf, 5 % of erfc.  MKL's sqrt, log, sin, cos, tan, asin, acos and atan are as
 * far from exact ones as from those of RT_TORCH_1, which therefore stay.
 *
 * On Intel's processors MKL has others, ml_intel_*: exp equal but for one in a million, 1 % of tanh differs, 0.6 % of tan, 0.06 % of
 * log, 0.02 % of atan, 3 % of erf.
 */
#ifndef RT_OPS_VML_H
#define RT_OPS_VML_H

#include "amath.h"

/* 2^(n/128) of a table of floats with their rests, times a polynomial of what is left of x: P. T. P. Tang, "Table-driven
 * implementation of the exponential function in IEEE floating-point arithmetic", 1989. */
AMATH float
ml_exp(float x)
{
	enum { STEPS = 128 };
	const float near = 87.3365f, step_high = 0.00541687011f, step_low = -1.6577691e-06f;      /* ln 2 / STEPS */
	const float n = rintf(x * 184.664963f), r = (x - n * step_high) - n * step_low;
	const int32_t i = (int32_t)n;
	double t;
	float high;

	if (!(x >= -near && x <= near))
		return (float)(exp)((double)x);
	t = (exp2)((double)(i & (STEPS - 1)) / STEPS);
	high = (float)t;
	return a_scaled(high + (high * (r + r * r * 0.5f) + (float)(t - (double)high)), (i - (i & (STEPS - 1))) / STEPS);
}

/* The same with fewer entries, relative rests, and the cell at or below x: the polynomial's two last coefficients are those of the
 * least relative error on it, as measured. */
AMATH float
ml_intel_exp(float x)
{
	enum { STEPS = 32 };
	const float near = 87.3365f, log2_e = 1.44269502f, ln2_high = 0.693147182f, ln2_low = -1.90465421e-09f;
	const double cell = floor((double)x * log2_e * STEPS);
	const float n = (float)(cell / STEPS), r = a_fma(-n, ln2_low, a_fma(-n, ln2_high, x));
	double t;
	float high, rest;
	int32_t i;

	if (!(x >= -near && x <= near))
		return (float)(exp)((double)x);
	i = (int32_t)cell;
	t = (exp2)((double)(i & (STEPS - 1)) / STEPS);
	high = (float)t;
	rest = (float)(t - (double)high) / high;
	return a_scaled(a_fma(high, a_fma(a_fma(0.16667155f, r, 0.500014663f), r * r, r + rest), high), (i - (i & (STEPS - 1))) / STEPS);
}

/* Polynomials of the sixth degree: in x up to 1/8; then about the middles of four cells from each power of two to the next, and
 * of [8, 10).  Their coefficients are those of the least relative error (Remez' exchange), which are MKL's: where they are off
 * by more than rounding hides, so is it.  From 1/8 to 1 they are as good as exact. */
enum { ML_TERMS = 7, ML_CELL_BITS = 21, ML_FIRST_CELL = (127 << 2) - 1, ML_LAST_CELL = 13 };
static const double ml_tanh_terms[][ML_TERMS] = {
	{ 0, 1.0000000000960148, -5.5488772898779813e-08, -0.33332813577639914, -0.00017819411956728967, 0.13609947755026078, -0.019862200188006104 },
	{ 0.80930107020392061, 0.3450317767055554, -0.27923459089858238, 0.11097480548692186, 0.0032677611802956943, -0.032038430457545966, 0.018466281605826858 },
	{ 0.87982669965039872, 0.22590497659521178, -0.19875722971123216, 0.099571276000384998, -0.021352577074208057, -0.0095139862788634812, 0.010983227366836839 },
	{ 0.92534622531034505, 0.14373436208740042, -0.13300404848448949, 0.075163963081647925, -0.025217928622166357, 0.0013949850963545789, 0.0041260370660422463 },
	{ 0.9540452601792484, 0.089797641031412065, -0.085671013202108737, 0.051801732144072972, -0.020864223796088082, 0.0046009919521887085, 0.00065361150249946946 },
	{ 0.97802611469943057, 0.043464916060199095, -0.042509810065217112, 0.027087774702772294, -0.012323291574141476, 0.0039768584946346568, -0.0007151524687458537 },
	{ 0.99185972456917648, 0.0162142895879752, -0.016082298362210382, 0.010546261397777434, -0.0050999826233946608, 0.0019148146447851397, -0.00054556984072521306 },
	{ 0.99699763548947196, 0.0059957164944900894, -0.0059777146811440338, 0.0039609821597191555, -0.0019566533437145287, 0.00077049141236112809, -0.00024369522680070399 },
	{ 0.99889444272761319, 0.0022098929919444868, -0.0022074497107270811, 0.0014682882060222066, -0.0007308994999525477, 0.00029264654883842255, -9.5721073376192926e-05 },
	{ 0.99975321094324987, 0.00049352821114110907, -0.00049340510423264382, 0.00032842297096787027, -0.0001640641400201375, 6.8304197217766344e-05, -2.263410145488149e-05 },
	{ 0.99996659716955838, 6.6806056860490095e-05, -6.6803663052374796e-05, 4.4484523358342405e-05, -2.2241037589691284e-05, 9.2797840054734965e-06, -3.0868643056311747e-06 },
	{ 0.99999547935320476, 9.0414781609374318e-06, -9.0414155975338604e-06, 6.0210091354248754e-06, -3.0106819825471379e-06, 1.256538929033244e-06, -4.181959307247174e-07 },
	{ 0.99999938819578993, 1.2236357980667223e-06, -1.2236321190369291e-06, 8.1486749731356637e-07, -4.0746404347988765e-07, 1.7006608215789064e-07, -5.6604620534480292e-08 },
	{ 0.99999996954341952, 6.1013945960846864e-08, -6.1003756108018747e-08, 3.9869270050764099e-08, -1.9961900084749569e-08, 9.5768972115618581e-09, -3.1740790537828384e-09 },
};

AMATH float
ml_tanh(float x)
{
	const float size = fabsf(x);
	const int32_t cell = a_int(size) >> ML_CELL_BITS;
	const double *p = ml_tanh_terms[0];
	double middle = 0, y;

	if (x != x || (size >= 0.125f && size < 1))
		return (float)(tanh)((double)x);
	if (size >= 10)
		return copysignf(1, x);
	if (size >= 8) {
		p = ml_tanh_terms[ML_LAST_CELL];
		middle = 9;
	} else if (size >= 1) {
		p = ml_tanh_terms[cell - ML_FIRST_CELL];
		middle = (double)a_bits(cell << ML_CELL_BITS | 1 << (ML_CELL_BITS - 1));
	}
	y = p[ML_TERMS - 1];
	for (int i = ML_TERMS - 2; i >= 0; i--)
		y = y * ((double)size - middle) + p[i];
	return copysignf((float)y, x);
}

#define ML_NEAR(name, f) \
	AMATH float \
	ml_##name(float x) \
	{ \
		return (float)(f)((double)x); \
	}
ML_NEAR(erf, erf)
ML_NEAR(erfc, erfc)
ML_NEAR(log2, log2)
ML_NEAR(log10, log10)
ML_NEAR(intel_log, log)
ML_NEAR(intel_tan, tan)
ML_NEAR(intel_atan, atan)
#undef ML_NEAR
#define ml_intel_tanh  ml_tanh
#define ml_intel_erf   ml_erf
#define ml_intel_erfc  ml_erfc
#define ml_intel_log2  ml_log2
#define ml_intel_log10 ml_log10
#define ml_log         a_logf                                    /* those of RT_TORCH_1 */
#define ml_tan         tanf
#define ml_atan        atanf

#endif
