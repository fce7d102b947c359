/* rt/ops/fft_loops.h - the loops of fft.c for one element type T; N(name) is the function's name for it
 *
 * Numbers are in two arrays, of real and imaginary parts; of each place `lanes` lines lie side by side.
 */

/* By stages (Stockham): with r the radix, of `len` places s apart those p and p + m, p + 2m, ... (m = len / r) are
 * joined to r p, r p + 1, ...  All s * lanes numbers of a place have one factor. */
typedef struct N(Stage) {
	const T *root;            /* of the plan: n pairs */
	int64_t  n, r, m, s, width;   /* width: s * lanes */
} N(Stage);

typedef struct N(Parts) { T *re, *im; } N(Parts);

static void
N(radix2)(const N(Stage) *g, const T *restrict xr, const T *restrict xi, T *restrict yr, T *restrict yi)
{
	const int64_t w = g->width, far = g->m * w;

	for (int64_t p = 0; p < g->m; p++, xr += w, xi += w, yr += 2 * w, yi += 2 * w) {
		const T c = g->root[2 * p * g->s], d = g->root[2 * p * g->s + 1];

		for (int64_t q = 0; q < w; q++) {
			const T re = xr[q] - xr[q + far], im = xi[q] - xi[q + far];

			yr[q] = xr[q] + xr[q + far];
			yi[q] = xi[q] + xi[q + far];
			yr[q + w] = re * c - im * d;
			yi[q + w] = re * d + im * c;
		}
	}
}

static void
N(radix4)(const N(Stage) *g, const T *restrict xr, const T *restrict xi, T *restrict yr, T *restrict yi)
{
	const int64_t w = g->width, far = g->m * w;

	for (int64_t p = 0; p < g->m; p++, xr += w, xi += w, yr += 4 * w, yi += 4 * w) {
		const T *one = g->root + 2 * p * g->s, *two = one + 2 * p * g->s, *three = two + 2 * p * g->s;
		const T c1 = one[0], d1 = one[1], c2 = two[0], d2 = two[1], c3 = three[0], d3 = three[1];

		for (int64_t q = 0; q < w; q++) {
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

static void
N(radix)(const N(Stage) *g, const T *restrict xr, const T *restrict xi, T *restrict yr, T *restrict yi)
{
	const int64_t w = g->width, far = g->m * w, r = g->r, n = g->n, turn = n / r;

	for (int64_t p = 0; p < g->m; p++, xr += w, xi += w)
		for (int64_t k = 0; k < r; k++, yr += w, yi += w) {
			for (int64_t q = 0; q < w; q++)
				yr[q] = yi[q] = 0;
			for (int64_t j = 0; j < r; j++) {
				const T *root = g->root + 2 * ((j * k % r * turn + k * p * g->s) % n);
				const T c = root[0], d = root[1];

				for (int64_t q = 0; q < w; q++) {
					yr[q] += xr[q + j * far] * c - xi[q + j * far] * d;
					yi[q] += xr[q + j * far] * d + xi[q + j * far] * c;
				}
			}
		}
}

/* x (re, im) transformed: in x itself, or in y; true: in y */
static bool
N(stages)(const Plan *p, int64_t lanes, T *xr, T *xi, T *yr, T *yi)
{
	int64_t len = p->n, s = 1;
	bool turned = false;

	for (int i = 0; i < p->nfactor; i++) {
		const int r = p->factor[i];
		const N(Stage) g = { p->root, p->n, r, len / r, s, s * lanes };
		T *t;

		if (r == 4)
			N(radix4)(&g, xr, xi, yr, yi);
		else if (r == 2)
			N(radix2)(&g, xr, xi, yr, yi);
		else
			N(radix)(&g, xr, xi, yr, yi);
		t = xr, xr = yr, yr = t;
		t = xi, xi = yi, yi = t;
		turned = !turned;
		len /= r, s *= r;
	}
	return turned;
}

/* (re, im) *= f at each of n places */
static void
N(multiply)(int64_t n, int64_t lanes, T *re, T *im, const T *f)
{
	for (int64_t k = 0; k < n; k++, re += lanes, im += lanes)
		for (int64_t l = 0; l < lanes; l++) {
			const T a = re[l], b = im[l];

			re[l] = a * f[2 * k] - b * f[2 * k + 1];
			im[l] = a * f[2 * k + 1] + b * f[2 * k];
		}
}

/* x transformed, there or in y: *xr, *xi say where.  Each has room for rooms(p) * lanes numbers. */
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
	turned = N(stages)(p->long_, lanes, i, r, yi, yr);       /* back: parts the other way round */
	*xr = turned ? yr : r;
	*xi = turned ? yi : i;
	N(multiply)(p->n, lanes, *xr, *xi, p->chirp);
}

/* ---- lines ---------------------------------------------------------------------------------------------------- */

/* Some lines: where each begins, and how far its places are apart */
typedef struct N(Side) { int64_t at[LANES], some, lanes, step; } N(Side);

/* n places of lines of x to an array; and back */
static void
N(load)(const N(Side) *s, const T *x, int64_t n, T *to)
{
	for (int64_t k = 0; k < n; k++)
		for (int64_t l = 0; l < s->some; l++)
			to[k * s->lanes + l] = x[s->at[l] + k * s->step];
}

static void
N(store)(const N(Side) *s, T *y, int64_t n, const T *from)
{
	for (int64_t k = 0; k < n; k++)
		for (int64_t l = 0; l < s->some; l++)
			y[s->at[l] + k * s->step] = from[k * s->lanes + l];
}

/* From the transform z of pairs, of h places, to the h + 1 places of that of reals; or back, times 2. */
static void
N(split)(const Lines *g, N(Parts) z, N(Parts) y, bool forward)
{
	const int64_t h = g->plan->n, lanes = g->lanes;
	const T half = forward ? (T)0.5 : 1;

	for (int64_t k = 0; k < h + forward; k++, y.re += lanes, y.im += lanes) {
		const int64_t a = (forward ? k % h : k) * lanes, b = (forward ? (h - k) % h : h - k) * lanes;
		const T c = ((const T *)g->halves)[2 * k], d = ((const T *)g->halves)[2 * k + 1];

		for (int64_t l = 0; l < lanes; l++) {
			const T er = (z.re[a + l] + z.re[b + l]) * half, ei = (z.im[a + l] - z.im[b + l]) * half;
			const T fr = (z.re[a + l] - z.re[b + l]) * half, fi = (z.im[a + l] + z.im[b + l]) * half;

			/* forward: e - i w f; back: e + i f / w */
			y.re[l] = forward ? er + (fr * d + fi * c) : er - (fi * c - fr * d);
			y.im[l] = forward ? ei - (fr * c - fi * d) : ei + (fr * c + fi * d);
		}
	}
}

/* Lines from `first` on; reals: not pairs.  more: a place more than the plan has, of spectra of reals */
static N(Side)
N(side)(const Lines *g, int64_t first, bool reals, bool more)
{
	const int64_t n = g->plan->n, left = g->lines - first;
	N(Side) s = { .some = left < g->lanes ? left : g->lanes, .lanes = g->lanes, .step = 2 * g->inner };

	for (int64_t l = 0; l < s.some; l++) {
		const int64_t o = (first + l) / g->inner, i = (first + l) % g->inner;

		s.at[l] = reals ? o * 2 * n * g->inner + i : 2 * (o * (n + more) * g->inner + i);
	}
	return s;
}

/* Lines from `first` on, as many as are done side by side; room: four arrays */
static void
N(run_some)(const Lines *g, int64_t first, T *room)
{
	const Plan *p = g->plan;
	const bool from_real = g->kind == LINES_FROM_REAL, to_real = g->kind == LINES_TO_REAL;
	const N(Side) in = N(side)(g, first, from_real, to_real), out = N(side)(g, first, to_real, from_real);
	const int64_t size = g->room * g->lanes + APART, n = p->n + to_real;       /* not all at one place of a cache */
	N(Parts) x = { room, room + size }, y = { room + 2 * size, room + 3 * size };

	if (in.some < g->lanes)
		memset(room, 0, sizeof(T) * 4 * size);
	N(load)(&in, g->x, n, x.re);
	N(load)(&in, (const T *)g->x + (from_real ? g->inner : 1), n, x.im);
	if (to_real) {
		memset(x.im, 0, sizeof(T) * g->lanes);           /* the first and the last of a real signal's */
		memset(x.im + p->n * g->lanes, 0, sizeof(T) * g->lanes);
		N(split)(g, x, y, false);
		x = y, y = (N(Parts)){ room, room + size };
	}
	if (g->kind == LINES_BACK || to_real)
		N(transform)(p, g->lanes, &x.im, &x.re, y.im, y.re);
	else
		N(transform)(p, g->lanes, &x.re, &x.im, y.re, y.im);
	if (from_real) {
		y.re = x.re == room ? room + 2 * size : room;
		y.im = y.re + size;
		N(split)(g, x, y, true);
		x = y;
	}
	N(store)(&out, g->y, p->n + from_real, x.re);
	N(store)(&out, (T *)g->y + (to_real ? g->inner : 1), p->n + from_real, x.im);
}

/* Places from `kept` on: the conjugate of that n - k; of `inner` numbers each */
static void
N(mirror)(T *restrict to, const T *restrict from, int64_t kept, int64_t n, int64_t inner)
{
	for (int64_t k = kept; k < n; k++)
		for (int64_t i = 0; i < inner; i++) {
			to[2 * (k * inner + i)] = from[2 * ((n - k) * inner + i)];
			to[2 * (k * inner + i) + 1] = -from[2 * ((n - k) * inner + i) + 1];
		}
}

/* Half spectra (2 pairs, n / 2 + 1, inner) from transforms (pairs, n, inner) of lines of reals, of which each has the
 * first half of them as real and the other half as imaginary parts */
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

/* (n) pairs: exp(-2 pi i k / whole) for k < n; null: no memory */
static T *
N(roots)(RtCx *cx, int64_t n, int64_t whole)
{
	T *root = rt_scratch(cx, (n + 1) * 2 * (int64_t)sizeof(T));

	for (int64_t k = 0; k < n && root; k++) {
		const double angle = -2 * PI * (double)k / (double)whole;

		root[2 * k] = (T)cos(angle);
		root[2 * k + 1] = (T)sin(angle);
	}
	return root;
}

static Plan *N(plan)(RtCx *, int64_t n);

/* A product with a chirp, exp(-pi i k k / n), and one with the spectrum of its conjugate. */
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
	/* square: k k modulo 2 n */
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
