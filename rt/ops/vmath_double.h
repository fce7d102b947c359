/* rt/ops/vmath_double.h - functions of vmath.h, which includes this file, for double
 *
 * v_sin, v_cos, v_sinc, v_tan and v_fmod have a fast path for arguments of small magnitude, as described in vmath.h. */
V_INLINE double
v_bits_d(int64_t i)
{
	union { int64_t i; double f; } u = { i };

	return u.f;
}

V_INLINE int64_t
v_int_d(double f)
{
	union { double f; int64_t i; } u = { f };

	return u.i;
}

/* Returns 2^n, where n is in the last bits of k. */
V_INLINE double
v_two_to(double k)
{
	return v_bits_d((int64_t)(((uint64_t)v_int_d(k) + 1023) << 52));
}

/* exp, with an error of at most 1 ulp. */
V_INLINE double
v_exp(double x)
{
	const double magic = 0x1.8p52, most = 750;
	const int64_t size = v_int_d(x) & INT64_MAX;
	const int64_t near = size < v_int_d(most) ? size : v_int_d(most);
	const double c = v_bits_d(near | (v_int_d(x) & INT64_MIN)), n = (c * 1.4426950408889634 + magic) - magic;
	const double half = n * 0.5 + magic, rest = (n - (half - magic)) + magic;
	const double r = (c - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33, s = r * r, q = s * s;
	const double p0 = 1.0 / 6 * r + 1.0 / 2, p1 = 1.0 / 120 * r + 1.0 / 24, p2 = 1.0 / 5040 * r + 1.0 / 720;
	const double p3 = 1.0 / 362880 * r + 1.0 / 40320, p4 = 1.0 / 39916800 * r + 1.0 / 3628800;
	const double p5 = 1.0 / 6227020800 * r + 1.0 / 479001600;
	const double p = (((p5 * s + p4) * q + (p3 * s + p2)) * q + (p1 * s + p0)) * s + r + 1;
	const double y = p * v_two_to(half) * v_two_to(rest);

	return v_bits_d(v_int_d(y) | -(int64_t)(size > 0x7ff0000000000000));
}

/* log, with an error of at most 1.5 ulp, by fdlibm's polynomial. x = m 2^e, where e is read from the bits of a number
 * near 2^52. */
V_INLINE double
v_log(double x)
{
	const bool tiny = x < 0x1p-1022;
	const double y = tiny ? x * 0x1p54 : x;
	const int64_t least = 0x3fe6a09e667f3bcd, bits = v_int_d(y) - least + (1023LL << 52);
	const double e = v_bits_d((int64_t)((uint64_t)bits >> 52) | 0x4330000000000000) -
			 (0x1p52 + (tiny ? 1077 : 1023));
	const double f = v_bits_d((bits & 0xfffffffffffff) + least) - 1, s = f / (2 + f), z = s * s, w = z * z;
	const double t1 = w * (3.999999999940941908e-01 +
			       w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
	const double t2 = w * (2.857142874366239149e-01 +
			       w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01));
	const double h = 0.5 * f * f, r = t1 + z * (6.666666666666735130e-01 + t2);
	const double v = e * 6.93147180369123816490e-01 - ((h - (s * (h + r) + e * 1.90821492927058770002e-10)) - f);

	return x > 0 ? (x - x == 0 ? v : x) : x == 0 ? -1.0 / 0.0 : 0.0 / 0.0;
}

V_INLINE double
v_log1p(double x)
{
	const double u = 1 + x, lost = x < 1 ? x - (u - 1) : 1 - (u - x), v = v_log(u);

	return x == 0 ? x : u > 0 && u - u == 0 ? v + lost / u : v;              /* keeps -0 */
}

V_INLINE double
v_signed_d(double size, double x)
{
	return v_bits_d((v_int_d(size) & INT64_MAX) | (v_int_d(x) & INT64_MIN));
}

V_INLINE double
v_tanh(double x)
{
	const double a = v_bits_d(v_int_d(x) & INT64_MAX), s = x * x, far = 1 - 2 / (v_exp(2 * a) + 1);
	const double p = (-9.64399179425052238628e-1 * s - 9.92877231001918586564e1) * s - 1.61468768441708447952e3;
	const double q = ((s + 1.12811678491632931402e2) * s + 2.23548839060100448583e3) * s + 4.84406305325125486048e3;

	return v_signed_d(a >= 0.625 ? far : a + a * s * (p / q), x);
}

/* erf. Below 1, a quotient of polynomials. Above 1, 1 - exp(-x * x) times a quotient. Both are Cephes's. */
V_INLINE double
v_erf(double x)
{
	const double size = v_bits_d(v_int_d(x) & INT64_MAX), a = size > 7 ? 7 : size, s = a * a;
	double t = 9.60497373987051638749e0, u = s + 3.35617141647503099647e1;
	double p = 2.46196981473530512524e-10, q = a + 1.32281951154744992508e1;

	t = (((t * s + 9.00260197203842689217e1) * s + 2.23200534594684319226e3) * s + 7.00332514112805075473e3) * s +
	    5.55923013010394962768e4;
	u = (((u * s + 5.21357949780152679795e2) * s + 4.59432382970980127987e3) * s + 2.26290000613890934246e4) * s +
	    4.92673942608635921086e4;
	p = (((p * a + 5.64189564831068821977e-1) * a + 7.46321056442269912687e0) * a + 4.86371970985681366614e1) * a;
	p = (((p + 1.96520832956077098242e2) * a + 5.26445194995477358631e2) * a + 9.34528527171957607540e2) * a;
	p = (p + 1.02755188689515710272e3) * a + 5.57535335369399327526e2;
	q = (((q * a + 8.67072140885989742329e1) * a + 3.54937778887819891062e2) * a + 9.75708501743205489753e2) * a;
	q = (((q + 1.82390916687909736289e3) * a + 2.24633760818710981792e3) * a + 1.65666309194161350182e3) * a +
	    5.57535340817727675546e2;
	return size == size ? v_signed_d(a < 1 ? a * (t / u) : 1 - v_exp(-s) * (p / q), x) : x;
}

/* Whether x is finite with |x| >= 2^20. */
V_INLINE int32_t
v_is_large_d(double x)
{
	return (uint64_t)((v_int_d(x) & INT64_MAX) - 0x4130000000000000) < 0x3ec0000000000000u;
}

/* Computes the same as v_quarter, with pi/2 in four parts. Products with the first three are exact. */
V_INLINE int64_t
v_quarter_d(double x, double *sine, double *cosine)
{
	const double k = x * 0.63661977236758134308 + 0x1.8p52, n = k - 0x1.8p52;
	const double near = x - n * 0x1.921fb544p0 - n * 0x1.0b4611a6p-34 - n * 0x1.3198a2ep-69;
	const double r = near - n * 0x1.b839a252049c1p-104, z = r * r, h = 0.5 * z, w = 1 - h;
	const double s = (1.58969099521155010221e-10 * z - 2.50507602534068634195e-08) * z + 2.75573137070700676789e-06;
	const double c = (-1.13596475577881948265e-11 * z + 2.08757232129817482790e-09) * z -
			 2.75573143513906633035e-07;

	*sine = ((s * z - 1.98412698298579493134e-04) * z + 8.33333333332248946124e-03) * z;
	*sine = (*sine - 1.66666666666666324348e-01) * z * r + r;
	*cosine = ((c * z + 2.48015872894767294178e-05) * z - 1.38888888888741095749e-03) * z +
		  4.16666666666666019037e-02;
	*cosine = w + (((1 - w) - h) + *cosine * z * z);
	return v_int_d(k);
}

V_INLINE double
v_sine_d(double x, int64_t more)
{
	double s, c;
	const int64_t q = v_quarter_d(x, &s, &c) + more, odd = -(q & 1);

	return v_bits_d(((v_int_d(c) & odd) | (v_int_d(s) & ~odd)) ^ (int64_t)((uint64_t)(q & 2) << 62));
}

V_INLINE double
v_sin(double x, int32_t *far)
{
	return v_is_far(v_is_large_d(x), far) ? __builtin_sin(x) : x == 0 ? x : v_sine_d(x, 0);
}

V_INLINE double
v_cos(double x, int32_t *far)
{
	return v_is_far(v_is_large_d(x), far) ? __builtin_cos(x) : v_sine_d(x, 1);
}

V_INLINE double
v_sinc(double x, int32_t *far)
{
	const double a = 3.14159265358979323846 * x;

	return x == 0 ? 1 : v_sin(a, far) / a;
}

V_INLINE double
v_tan(double x, int32_t *far)
{
	double s, c;
	const int64_t odd = -(v_quarter_d(x, &s, &c) & 1);

	if (v_is_far(v_is_large_d(x), far))
		return __builtin_tan(x);
	return x == 0 ? x : v_bits_d((v_int_d(-c) & odd) | (v_int_d(s) & ~odd)) /
			    v_bits_d((v_int_d(s) & odd) | (v_int_d(c) & ~odd));
}

/* x modulo y, with the sign of x. It has a fast form only with an FMA instruction: without it, an exact product of
 * doubles takes too many instructions. */
V_INLINE double
v_fmod(double x, double y, int32_t *far)
{
	const double by = x / y, q = __builtin_trunc(by), r = V_FMA ? __builtin_fma(-q, y, x) : x;
	const double over = v_signed_d(y, x);

	if (v_is_far(!V_FMA | !(v_bits_d(v_int_d(by) & INT64_MAX) < 0x1p52) | !(y - y == 0), far))
		return __builtin_fmod(x, y);
	return v_signed_d((x < 0) != (r < 0) && r != 0 ? r + over : r, x);
}
