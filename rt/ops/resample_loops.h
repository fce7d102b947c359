/* rt/ops/resample_loops.h - the loops of resample.c for one element type T; N(name) is the function's name for it */

/* The widened filters of antialiasing: taps past the window have weight 0. */
static void
N(make_wide_taps)(Taps *g, const Rule *rule)
{
	T scale = rule->align ? (g->out > 1 ? (T)(g->in - 1) / (T)(g->out - 1) : 0) :
		rule->scale > 0 ? (T)(1.0 / rule->scale) : (T)g->in / (T)g->out;
	T half = (T)reach(rule->kind), support = scale >= 1 ? half * scale : half, inverse = scale >= 1 ? 1 / scale : 1;

	for (int64_t o = 0; o < g->out; o++) {
		T centre = scale * ((T)o + (T)0.5), total = 0, *w = (T *)g->weight + o * g->width;
		int64_t lo = (int64_t)(centre - support + (T)0.5), hi = (int64_t)(centre + support + (T)0.5);

		lo = lo < 0 ? 0 : lo;
		hi = hi > g->in ? g->in : hi;
		for (int64_t k = 0; k < g->width; k++) {
			double t = (double)(((T)(k + lo) - centre + (T)0.5) * inverse);

			g->at[o * g->width + k] = lo + k < g->in ? lo + k : g->in - 1;
			w[k] = k >= hi - lo ? 0 : (T)wide_filter(rule->kind, t);
			total += w[k];
		}
		for (int64_t k = 0; k < g->width && total != 0; k++)
			w[k] /= total;
	}
}

/* The adjoint: x += w y; x was zeroed */
static void
N(taps_backward)(void *arg, int64_t begin, int64_t end)
{
	const Pass *g = arg;
	const Taps *a = g->taps;

	for (int64_t i = begin; i < end; i++)
		for (int64_t o = 0; o < a->out; o++) {
			T *x = (T *)g->x + i * a->in * g->inner;
			const T *w = (const T *)a->weight + o * a->width,
				*y = (const T *)g->y + (i * a->out + o) * g->inner;
			const int64_t *at = a->at + o * a->width;

			for (int64_t k = 0; k < a->width; k++)
				for (int64_t j = 0; j < g->inner; j++)
					x[at[k] * g->inner + j] += w[k] * y[j];
		}
}

/* ---- grid_sampler ------------------------------------------------------------------------------------ */

static T
N(reflect)(T v, T low, T high)
{
	T span = high - low, rest, flips;

	if (span <= 0)
		return 0;
	v = FABS(v - low);
	rest = FMOD(v, span);
	flips = FLOOR(v / span);
	return FMOD(flips, 2) == 0 ? rest + low : span - rest + low;
}

static T
N(pad_coordinate)(const Grid *g, T v, int64_t n)
{
	if (g->padding == 2)
		v = g->align ? N(reflect)(v, 0, (T)(n - 1)) : N(reflect)(v, (T)-0.5, (T)n - (T)0.5);
	if (g->padding)
		v = v < (T)(n - 1) ? (v > 0 ? v : 0) : v >= (T)(n - 1) ? (T)(n - 1) : 0;
	return v == v && v < (T)9e15 && v > (T)-9e15 ? v : -100;
}

/* Taps of one coordinate: indices (-1 outside) and weights; returns their number. */
static int
N(grid_taps)(const Grid *g, T v, int64_t n, int64_t *at, T *w)
{
	T s = g->align ? (v + 1) / 2 * (T)(n - 1) : ((v + 1) * (T)n - 1) / 2;
	int64_t first;

	if (g->mode == 2) {
		T base = FLOOR(s == s && s < (T)9e15 && s > (T)-9e15 ? s : -100), t = s - base;

		for (int k = 0; k < 4; k++) {
			T c = N(pad_coordinate)(g, base - 1 + (T)k, n);

			at[k] = c < 0 || c >= (T)n ? -1 : (int64_t)c;
			w[k] = (T)cubic((double)t + 1 - k, -0.75);
		}
		return 4;
	}
	s = N(pad_coordinate)(g, s, n);
	first = (int64_t)(g->mode == 1 ? RINT(s) : FLOOR(s));
	at[0] = first < 0 || first >= n ? -1 : first;
	at[1] = first + 1 < 0 || first + 1 >= n ? -1 : first + 1;
	w[0] = g->mode == 1 ? 1 : (T)(first + 1) - s;
	w[1] = s - (T)first;
	return g->mode == 1 ? 1 : 2;
}

/* Output points [begin, end) of all images. */
static void
N(sample_grid)(void *arg, int64_t begin, int64_t end)
{
	const Grid *g = arg;
	int64_t plane = g->in[0] * g->in[1] * g->in[2];

	for (int64_t i = begin; i < end; i++) {
		const T *p = (const T *)g->grid + i * g->nd, *x = (const T *)g->x + i / g->points * g->channels * plane;
		T *y = (T *)g->y + i / g->points * g->channels * g->points + i % g->points,
		  w[3][4] = { { 1 }, { 1 }, { 1 } };
		int64_t at[3][4] = { { 0 }, { 0 }, { 0 } };
		int n[3] = { 1, 1, 1 };

		for (int d = 3 - g->nd; d < 3; d++)       /* the grid's last coordinate is of the first dim */
			n[d] = N(grid_taps)(g, p[2 - d], g->in[d], at[d], w[d]);
		for (int64_t c = 0; c < g->channels; c++) {
			T sum = 0;

			for (int a = 0; a < n[0]; a++)
				for (int b = 0; b < n[1] && at[0][a] >= 0; b++)
					for (int e = 0; e < n[2] && at[1][b] >= 0; e++)
						if (at[2][e] >= 0)
							sum += w[0][a] * w[1][b] * w[2][e] *
								x[c * plane + (at[0][a] * g->in[1] + at[1][b]) *
								g->in[2] + at[2][e]];
			y[c * g->points] = sum;
		}
	}
}

#undef T
#undef N
#undef FLOOR
#undef FABS
#undef FMOD
#undef RINT
