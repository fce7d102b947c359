/* rt/ops/fft_loops.h - the loops of fft.c for one element type T. N(name) is the name of a function for T.
 *
 * Real and imaginary parts are in two arrays. Each element of the transform is `lanes` contiguous numbers, one of each
 * line.
 */

/* A stage of Stockham's algorithm. With radix r and m = len / r, elements p, p + m, p + 2m, ... of `len` elements are
 * combined into elements r p, r p + 1, ... All s * lanes numbers of an element share one factor. */
typedef struct N(Stage) {
	const T *root;            /* roots of unity of the plan: n pairs */
	int64_t  n, r, m, s, width;   /* width: s * lanes */
} N(Stage);

typedef struct N(Parts) { T *re, *im; } N(Parts);

INLINE void
N(radix2)(const N(Stage) *g, int64_t by, const T *restrict xr, const T *restrict xi, T *restrict yr, T *restrict yi)
{
	const int64_t w = g->width, far = g->m * w;

	for (int64_t p = 0; p < g->m; p++, xr += w, xi += w, yr += 2 * w, yi += 2 * w) {
		const T c = g->root[2 * p * g->s], d = g->root[2 * p * g->s + 1];

		EACH_OF(q, w, by) {
			const T re = xr[q] - xr[q + far], im = xi[q] - xi[q + far];

			yr[q] = xr[q] + xr[q + far];
			yi[q] = xi[q] + xi[q + far];
			yr[q + w] = re * c - im * d;
			yi[q + w] = re * d + im * c;
		}
	}
}

INLINE void
N(radix4)(const N(Stage) *g, int64_t by, const T *restrict xr, const T *restrict xi, T *restrict yr, T *restrict yi)
{
	const int64_t w = g->width, far = g->m * w;

	for (int64_t p = 0; p < g->m; p++, xr += w, xi += w, yr += 4 * w, yi += 4 * w) {
		const T *one = g->root + 2 * p * g->s, *two = one + 2 * p * g->s, *three = two + 2 * p * g->s;
		const T c1 = one[0], d1 = one[1], c2 = two[0], d2 = two[1], c3 = three[0], d3 = three[1];

		EACH_OF(q, w, by) {
			const T ar = xr[q] + xr[q + 2 * far], ai = xi[q] + xi[q + 2 * far];
			const T br = xr[q] - xr[q + 2 * far], bi = xi[q] - xi[q + 2 * far];
			const T er = xr[q + far] + xr[q + 3 * far], ei = xi[q + far] + xi[q + 3 * far];
			const T fr = xr[q + far] - xr[q + 3 * far], fi = xi[q + far] - xi[q + 3 * far];
			const T gr = br + fi, gi = bi - fr, hr = ar - er, hi = ai - ei, kr = br - fi, ki = bi + fr;

			yr[q] = ar + er;
			yi[q] = ai + ei;
			yr[q + w] = gr * c1 - gi * d1;
			yi[q + w] = gr * d1 + gi * c1;
			yr[q + 2 * w] = hr * c2 - hi * d2;
			yi[q + 2 * w] = hr * d2 + hi * c2;
			yr[q + 3 * w] = kr * c3 - ki * d3;
			yi[q + 3 * w] = kr * d3 + ki * c3;
		}
	}
}

/* Computes a stage of a small odd radix r, which is a constant of the caller. The sums e and differences f of elements
 * j and r - j are combined into elements k and r - k, by the cosine and sine of j k / r turns. */
INLINE void
N(odd)(const N(Stage) *g, int r, int64_t by, const T *restrict xr, const T *restrict xi, T *restrict yr, T *restrict yi)
{
	const int64_t w = g->width, far = g->m * w, turn = g->n / r;
	const T *root = g->root;

	for (int64_t p = 0; p < g->m; p++, xr += w, xi += w, yr += r * w, yi += r * w) {
		EACH_OF(q, w, by) {
			T er[MOST_ODD], ei[MOST_ODD], fr[MOST_ODD], fi[MOST_ODD], ar = xr[q], ai = xi[q];

			RT_UNROLL
			for (int j = 1; j <= r / 2; j++) {
				const int64_t a = q + j * far, b = q + (r - j) * far;

				er[j] = xr[a] + xr[b], ei[j] = xi[a] + xi[b];
				fr[j] = xr[a] - xr[b], fi[j] = xi[a] - xi[b];
				ar += er[j], ai += ei[j];
			}
			yr[q] = ar, yi[q] = ai;
			RT_UNROLL
			for (int k = 1; k <= r / 2; k++) {
				const T *one = root + 2 * k * p * g->s, *two = root + 2 * (r - k) * p * g->s;
				T ur = xr[q], ui = xi[q], vr = 0, vi = 0;

				RT_UNROLL
				for (int j = 1; j <= r / 2; j++) {
					const T c = root[2 * (j * k % r * turn)], d = root[2 * (j * k % r * turn) + 1];

					ur += er[j] * c, ui += ei[j] * c;
					vr += fr[j] * d, vi += fi[j] * d;
				}
				yr[q + k * w] = (ur - vi) * one[0] - (ui + vr) * one[1];
				yi[q + k * w] = (ur - vi) * one[1] + (ui + vr) * one[0];
				yr[q + (r - k) * w] = (ur + vi) * two[0] - (ui - vr) * two[1];
				yi[q + (r - k) * w] = (ur + vi) * two[1] + (ui - vr) * two[0];
			}
		}
	}
}

static void
N(radix)(const N(Stage) *g, const T *restrict xr, const T *restrict xi, T *restrict yr, T *restrict yi)
{
	const int64_t w = g->width, far = g->m * w, r = g->r, n = g->n, turn = n / r;

	for (int64_t p = 0; p < g->m; p++, xr += w, xi += w)
		for (int64_t k = 0; k < r; k++, yr += w, yi += w) {
			IVDEP
			for (int64_t q = 0; q < w; q++)
				yr[q] = yi[q] = 0;
			for (int64_t j = 0; j < r; j++) {
				const T *root = g->root + 2 * ((j * k % r * turn + k * p * g->s) % n);
				const T c = root[0], d = root[1];

				IVDEP
				for (int64_t q = 0; q < w; q++) {
					yr[q] += xr[q + j * far] * c - xi[q + j * far] * d;
					yi[q] += xr[q + j * far] * d + xi[q + j * far] * c;
				}
			}
		}
}

/* Computes a stage. `by` is the number of numbers of an element that are computed together. */
INLINE void
N(stage)(const N(Stage) *g, int64_t by, const T *xr, const T *xi, T *yr, T *yi)
{
	switch (g->r) {
	case 2:  N(radix2)(g, by, xr, xi, yr, yi); break;
	case 3:  N(odd)(g, 3, by, xr, xi, yr, yi); break;
	case 4:  N(radix4)(g, by, xr, xi, yr, yi); break;
	case 5:  N(odd)(g, 5, by, xr, xi, yr, yi); break;
	default: N(radix)(g, xr, xi, yr, yi);
	}
}

/* Computes a stage of a single line, which does not fill vectors. */
SCALAR void
N(stage_of_one)(const N(Stage) *g, const T *xr, const T *xi, T *yr, T *yi)
{
	N(stage)(g, 1, xr, xi, yr, yi);
}

/* Transforms x (re, im). Returns true if the result is in y, and false if it is in x. */
static bool
N(stages)(const Plan *p, int64_t lanes, T *xr, T *xi, T *yr, T *yi)
{
	int64_t len = p->n, s = 1;
	bool turned = false;

	for (int i = 0; i < p->nfactor; i++) {
		const int r = p->factor[i];
		const N(Stage) g = { p->root, p->n, r, len / r, s, s * lanes };
		T *t;

		if (g.width % LANES == 0)
			N(stage)(&g, LANES, xr, xi, yr, yi);
		else
			N(stage_of_one)(&g, xr, xi, yr, yi);
		t = xr, xr = yr, yr = t;
		t = xi, xi = yi, yi = t;
		turned = !turned;
		len /= r, s *= r;
	}
	return turned;
}

/* Multiplies (re, im) by f for each of n elements. */
static void
N(multiply)(int64_t n, int64_t lanes, T *re, T *im, const T *f)
{
	for (int64_t k = 0; k < n; k++, re += lanes, im += lanes)
		IVDEP
		for (int64_t l = 0; l < lanes; l++) {
			const T a = re[l], b = im[l];

			re[l] = a * f[2 * k] - b * f[2 * k + 1];
			im[l] = a * f[2 * k + 1] + b * f[2 * k];
		}
}

/* Transforms x. Sets *xr and *xi to the arrays of the result, which are x's or y's. Each array must have room for
 * rooms(p) * lanes numbers. */
static void
N(transform)(const Plan *p, int64_t lanes, T **xr, T **xi, T *yr, T *yi)
{
	T *r = *xr, *i = *xi;
	bool turned;

	if (!p->long_) {
		if (N(stages)(p, lanes, r, i, yr, yi))
			*xr = yr, *xi = yi;
		return;
	}
	N(multiply)(p->n, lanes, r, i, p->chirp);
	memset(r + p->n * lanes, 0, sizeof(T) * (p->long_->n - p->n) * lanes);
	memset(i + p->n * lanes, 0, sizeof(T) * (p->long_->n - p->n) * lanes);
	if (N(stages)(p->long_, lanes, r, i, yr, yi)) {
		T *t = r;

		r = yr, yr = t;
		t = i, i = yi, yi = t;
	}
	N(multiply)(p->long_->n, lanes, r, i, p->spectrum);
	turned = N(stages)(p->long_, lanes, i, r, yi, yr);       /* backward: exchanges real and imaginary parts */
	*xr = turned ? yr : r;
	*xi = turned ? yi : i;
	N(multiply)(p->n, lanes, *xr, *xi, p->chirp);
}

/* ---- lines ---------------------------------------------------------------------------------------------------- */

/* Some lines. at: offset of each line. step: stride of elements. part: distance of the imaginary from the real part.
 * apart: distance of lines, or 0 if it varies. */
typedef struct N(Side) { int64_t at[LANES], some, lanes, step, part, apart; } N(Side);

/* Whether the lines are whole squares of adjacent pairs, which vectors can transpose. */
static bool
N(in_squares)(const N(Side) *s)
{
	return sizeof(T) == 4 && s->some == VQ_SIDE && s->step == 2 && s->part == 1 && s->apart;
}

/* Load and store n elements of lines of x. */
static void
N(load)(const N(Side) *s, const T *x, int64_t n, N(Parts) to)
{
	int64_t k = 0;

	for (; N(in_squares)(s) && k + VQ_SIDE / 2 <= n; k += VQ_SIDE / 2) {
		T square[VQ_SIDE * VQ_SIDE];

		vq_square(square, VQ_SIDE, x + s->at[0] + 2 * k, s->apart);
		for (int64_t j = 0; j < VQ_SIDE / 2; j++) {
			memcpy(to.re + (k + j) * LANES, square + 2 * j * LANES, sizeof(T) * LANES);
			memcpy(to.im + (k + j) * LANES, square + (2 * j + 1) * LANES, sizeof(T) * LANES);
		}
	}
	for (; k < n; k++) {
		const T *from = x + s->at[0] + k * s->step;
		T *re = to.re + k * s->lanes, *im = to.im + k * s->lanes;

		if (s->apart == 2 && s->some == LANES)
			IVDEP
			for (int64_t l = 0; l < LANES; l++)
				re[l] = from[2 * l], im[l] = from[2 * l + 1];
		else
			for (int64_t l = 0; l < s->some; l++)
				re[l] = from[s->at[l] - s->at[0]], im[l] = from[s->at[l] - s->at[0] + s->part];
	}
}

static void
N(store)(const N(Side) *s, T *y, int64_t n, N(Parts) from)
{
	int64_t k = 0;

	for (; N(in_squares)(s) && k + VQ_SIDE / 2 <= n; k += VQ_SIDE / 2) {
		T square[VQ_SIDE * VQ_SIDE];

		for (int64_t j = 0; j < VQ_SIDE / 2; j++) {
			memcpy(square + 2 * j * LANES, from.re + (k + j) * LANES, sizeof(T) * LANES);
			memcpy(square + (2 * j + 1) * LANES, from.im + (k + j) * LANES, sizeof(T) * LANES);
		}
		vq_square(y + s->at[0] + 2 * k, s->apart, square, VQ_SIDE);
	}
	for (; k < n; k++) {
		const T *re = from.re + k * s->lanes, *im = from.im + k * s->lanes;
		T *to = y + s->at[0] + k * s->step;

		if (s->apart == 2 && s->some == LANES)
			IVDEP
			for (int64_t l = 0; l < LANES; l++)
				to[2 * l] = re[l], to[2 * l + 1] = im[l];
		else
			for (int64_t l = 0; l < s->some; l++)
				to[s->at[l] - s->at[0]] = re[l], to[s->at[l] - s->at[0] + s->part] = im[l];
	}
}

/* Converts the transform z of h pairs to the h + 1 elements of the transform of reals. If forward is false, converts
 * them back, times 2. */
INLINE void
N(split)(const Lines *g, int64_t lanes, N(Parts) z, N(Parts) y, bool forward)
{
	const int64_t h = g->plan->n;
	const T half = forward ? (T)0.5 : 1;

	for (int64_t k = 0; k < h + forward; k++, y.re += lanes, y.im += lanes) {
		const int64_t a = (forward ? k % h : k) * lanes, b = (forward ? (h - k) % h : h - k) * lanes;
		const T *root = (const T *)g->halves + 2 * k;
		const T c = forward ? root[0] : -root[0], d = root[1];

		EACH_OF(l, lanes, lanes) {
			const T er = (z.re[a + l] + z.re[b + l]) * half, ei = (z.im[a + l] - z.im[b + l]) * half;
			const T fr = (z.re[a + l] - z.re[b + l]) * half, fi = (z.im[a + l] + z.im[b + l]) * half;

			/* forward: e - i w f; backward: e + i f / w */
			y.re[l] = er + (fr * d + fi * c);
			y.im[l] = ei - (fr * c - fi * d);
		}
	}
}

static void
N(split_lanes)(const Lines *g, N(Parts) z, N(Parts) y, bool forward)
{
	if (g->lanes == LANES)
		N(split)(g, LANES, z, y, forward);
	else
		N(split)(g, 1, z, y, forward);
}

/* Returns the lines from `first` on. reals: whether numbers are real and not pairs. more: whether there is one more
 * element than in the plan, as in spectra of reals. */
static N(Side)
N(side)(const Lines *g, int64_t first, bool reals, bool more)
{
	const int64_t n = g->plan->n, left = g->lines - first;
	N(Side) s = { .some = left < g->lanes ? left : g->lanes, .lanes = g->lanes, .step = 2 * g->inner };
	bool even = true;

	s.part = reals ? g->inner : 1;

	for (int64_t l = 0; l < s.some; l++) {
		const int64_t o = (first + l) / g->inner, i = (first + l) % g->inner;

		s.at[l] = reals ? o * 2 * n * g->inner + i : 2 * (o * (n + more) * g->inner + i);
		even = even && (l < 2 || s.at[l] - s.at[l - 1] == s.at[1] - s.at[0]);
	}
	s.apart = even && s.some > 1 ? s.at[1] - s.at[0] : 0;
	return s;
}

/* Transforms the lines from `first` on that are computed together. `room` has four arrays. */
static void
N(run_some)(const Lines *g, int64_t first, T *room)
{
	const Plan *p = g->plan;
	const bool from_real = g->kind == LINES_FROM_REAL, to_real = g->kind == LINES_TO_REAL;
	const N(Side) in = N(side)(g, first, from_real, to_real), out = N(side)(g, first, to_real, from_real);
	/* APART avoids arrays that map to the same cache sets. */
	const int64_t size = g->room * g->lanes + APART, n = p->n + to_real;
	N(Parts) x = { room, room + size }, y = { room + 2 * size, room + 3 * size };

	if (in.some < g->lanes)
		memset(room, 0, sizeof(T) * 4 * size);
	N(load)(&in, g->x, n, x);
	if (to_real) {
		/* The first element, and the last one of a real signal's spectrum, are real. */
		memset(x.im, 0, sizeof(T) * g->lanes);
		memset(x.im + p->n * g->lanes, 0, sizeof(T) * g->lanes);
		N(split_lanes)(g, x, y, false);
		x = y, y = (N(Parts)){ room, room + size };
	}
	if (g->kind == LINES_BACK || to_real)
		N(transform)(p, g->lanes, &x.im, &x.re, y.im, y.re);
	else
		N(transform)(p, g->lanes, &x.re, &x.im, y.re, y.im);
	if (from_real) {
		y.re = x.re == room ? room + 2 * size : room;
		y.im = y.re + size;
		N(split_lanes)(g, x, y, true);
		x = y;
	}
	N(store)(&out, g->y, p->n + from_real, x);
}

/* Sets elements from `kept` on to the conjugates of elements n - k. An element has `inner` numbers. */
static void
N(mirror)(T *restrict to, const T *restrict from, int64_t kept, int64_t n, int64_t inner)
{
	for (int64_t k = kept; k < n; k++)
		for (int64_t i = 0; i < inner; i++) {
			to[2 * (k * inner + i)] = from[2 * ((n - k) * inner + i)];
			to[2 * (k * inner + i) + 1] = -from[2 * ((n - k) * inner + i) + 1];
		}
}

/* Separates half spectra (2 pairs, n / 2 + 1, inner) from transforms (pairs, n, inner). The real and imaginary
 * parts of each transform are two lines of reals. */
static void
N(unpair)(T *restrict to, const T *restrict z, int64_t pairs, int64_t n, int64_t inner)
{
	const int64_t kept = n / 2 + 1;

	for (int64_t o = 0; o < pairs; o++)
		for (int64_t k = 0; k < kept; k++)
			for (int64_t i = 0; i < inner; i++) {
				const T *a = z + 2 * ((o * n + k) * inner + i);
				const T *b = z + 2 * ((o * n + (n - k) % n) * inner + i);
				T *re = to + 2 * ((o * kept + k) * inner + i), *im = re + 2 * pairs * kept * inner;

				re[0] = (a[0] + b[0]) / 2, re[1] = (a[1] - b[1]) / 2;
				im[0] = (a[1] + b[1]) / 2, im[1] = (b[0] - a[0]) / 2;
			}
}

static void
N(run_lines)(void *arg, int64_t begin, int64_t end)
{
	Lines *g = arg;
	T *room = rt_mem(4 * (g->room * g->lanes + APART) * (int64_t)sizeof(T));

	if (!room)
		g->failed = true;
	for (int64_t i = begin; i < end && room; i++)
		N(run_some)(g, i * g->lanes, room);
	rt_mem_back(room);
}

/* ---- plans ---------------------------------------------------------------------------------------------------- */

/* Returns n pairs exp(-2 pi i k / whole), k < n. Null if memory is exhausted. Mirrors the roots of the first eighth,
 * quarter or half of a turn. */
static T *
N(roots)(RtCx *cx, int64_t n, int64_t whole)
{
	T *root = rt_scratch(cx, (n + 1) * 2 * (int64_t)sizeof(T));

	for (int64_t k = 0; k < n && root; k++) {
		const double angle = -2 * PI * (double)k / (double)whole;
		T *to = root + 2 * k;

		if (2 * k > whole)
			to[0] = root[2 * (whole - k)], to[1] = -root[2 * (whole - k) + 1];
		else if (whole % 2 == 0 && 4 * k > whole)
			to[0] = -root[whole - 2 * k], to[1] = root[whole - 2 * k + 1];
		else if (whole % 4 == 0 && 8 * k > whole)
			to[0] = -root[whole / 2 - 2 * k + 1], to[1] = -root[whole / 2 - 2 * k];
		else
			to[0] = (T)cos(angle), to[1] = (T)sin(angle);
	}
	return root;
}

static Plan *N(plan)(RtCx *, int64_t n);

/* Makes the plan of Bluestein's algorithm: products with a chirp, exp(-pi i k k / n), and with the spectrum of its
 * conjugate. */
static bool
N(plan_chirp)(RtCx *cx, Plan *p)
{
	int64_t m = 1;
	T *chirp, *re, *im, *spectrum;

	while (m < 2 * p->n - 1)
		m *= 2;
	p->long_ = N(plan)(cx, m);
	p->chirp = chirp = p->long_ ? N(roots)(cx, p->n, p->n) : NULL;
	p->spectrum = spectrum = chirp ? rt_scratch(cx, 2 * m * (int64_t)sizeof(T)) : NULL;
	re = spectrum ? rt_scratch(cx, 4 * m * (int64_t)sizeof(T)) : NULL;
	if (!re)
		return false;
	memset(re, 0, 4 * m * sizeof(T));
	im = re + m;
	/* square is k k modulo 2 n. */
	for (int64_t k = 0, square = 0; k < p->n; square = (square + 2 * k + 1) % (2 * p->n), k++) {
		const double angle = -PI * (double)square / (double)p->n;
		const int64_t other = k ? m - k : 0;

		chirp[2 * k] = (T)cos(angle);
		chirp[2 * k + 1] = (T)sin(angle);
		re[k] = re[other] = chirp[2 * k] / (T)m;
		im[k] = im[other] = -chirp[2 * k + 1] / (T)m;
	}
	if (N(stages)(p->long_, 1, re, im, re + 2 * m, re + 3 * m))
		re += 2 * m, im += 2 * m;
	for (int64_t k = 0; k < m; k++)
		spectrum[2 * k] = re[k], spectrum[2 * k + 1] = im[k];
	return true;
}

static Plan *
N(plan)(RtCx *cx, int64_t n)
{
	Plan *p = rt_scratch(cx, sizeof *p);

	if (!p)
		return NULL;
	memset(p, 0, sizeof *p);
	p->n = n;
	if (!factorise(p))
		return N(plan_chirp)(cx, p) ? p : NULL;
	p->root = N(roots)(cx, n, n);
	return p->root ? p : NULL;
}

#undef T
#undef N
