/* rt/ops/norm_loops.h - the loops of norm.c for one element type T. N(name) is the name of a function for T. */

/* Returns the sum of x - mean, or of its squares, over a run. */
static double
N(run_sum)(const T *x, int64_t n, double mean, bool squares)
{
	double part[8] = { 0 }, sum = 0;
	int64_t i = 0;

	for (; i + 8 <= n && squares; i += 8)
		RT_UNROLL
		for (int k = 0; k < 8; k++)
			part[k] += ((double)x[i + k] - mean) * ((double)x[i + k] - mean);
	for (; i + 8 <= n; i += 8)
		RT_UNROLL
		for (int k = 0; k < 8; k++)
			part[k] += (double)x[i + k] - mean;
	for (; i < n; i++)
		part[0] += squares ? ((double)x[i] - mean) * ((double)x[i] - mean) : (double)x[i] - mean;
	for (int k = 0; k < 8; k++)
		sum += part[k];
	return sum;
}

/* Computes moments. Sums are relative to the first element, so that the mean of equal elements is their value. Squares
 * of an rms norm overflow T, as in PyTorch, where results are 0 above 1e19. */
static void
N(moments)(void *arg, int64_t begin, int64_t end)
{
	const Norm *g = arg;

	for (int64_t i = begin; i < end; i++) {
		const T *x = (const T *)g->x + i * g->run;
		const double n = (double)(g->pieces * g->run), first = g->run && isfinite(x[0]) ? (double)x[0] : 0;
		double sum = 0, square = 0, mean;

		for (int64_t p = 0; p < g->pieces && !g->uncentered; p++)
			sum += N(run_sum)(x + p * g->step, g->run, first, false);
		mean = g->uncentered ? 0 : first + sum / n;
		for (int64_t p = 0; p < g->pieces; p++)
			square += N(run_sum)(x + p * g->step, g->run, mean, true);
		g->mean[i] = mean;
		g->var[i] = (g->uncentered ? (double)(T)square : square) / n;
	}
}

/* Factors of a line: y = (x - mean) * scale + bias. */
typedef struct N(Line) { double mean, scale, bias; } N(Line);

static N(Line)
N(line)(const Norm *g, int64_t i, T weight, T bias)
{
	return (N(Line)){ g->mean[i], (double)weight * inverse(g, i), (double)bias };
}

static void
N(scaled)(T *restrict y, const T *restrict x, int64_t n, N(Line) a)
{
	for (int64_t j = 0; j < n; j++)
		y[j] = (T)(((double)x[j] - a.mean) * a.scale + a.bias);
}

/* Normalizes a row. Each element has its own weight. */
static void
N(weighted)(const Norm *g, T *restrict y, const T *restrict x, N(Line) a)
{
	const T *restrict w = g->weight, *restrict b = g->bias;
	const int64_t n = g->run;

	for (int64_t j = 0; j < n && w && b; j++)
		y[j] = (T)(((double)x[j] - a.mean) * a.scale * (double)w[j] + (double)b[j]);
	for (int64_t j = 0; j < n && w && !b; j++)
		y[j] = (T)(((double)x[j] - a.mean) * a.scale * (double)w[j]);
	for (int64_t j = 0; j < n && !w && b; j++)
		y[j] = (T)(((double)x[j] - a.mean) * a.scale + (double)b[j]);
	if (!w && !b)
		N(scaled)(y, x, n, a);
}

static void
N(apply)(void *arg, int64_t begin, int64_t end)
{
	const Norm *g = arg;
	const T *w = g->weight, *b = g->bias;

	for (int64_t at = begin * g->pieces; at < end * g->pieces; at++) {
		const int64_t i = at / g->pieces, channel = g->modulo ? i % g->modulo * (g->run / g->per) : 0;
		const T *x = (const T *)g->x + i * g->run + at % g->pieces * g->step;
		T *y = (T *)g->y + i * g->run + at % g->pieces * g->step;

		if (!g->modulo)
			N(weighted)(g, y, x, N(line)(g, i, 1, 0));
		for (int64_t q = 0; q < g->run / g->per && g->modulo; q++)
			N(scaled)(y + q * g->per, x + q * g->per, g->per,
				  N(line)(g, i, w ? w[channel + q] : 1, b ? b[channel + q] : 0));
	}
}

/* Computes gradients. With v = (x - mean) rstd and d = dy w: dx = rstd (d - mean(d) - v mean(d v)), without the means
 * if the statistics are fixed. Adds the sums of dy and dy v to the gradients of bias and weight. */
static void
N(backward)(const Norm *g, const T *dy, T *dx, double *dw, double *db)
{
	const T *w = g->weight;

	for (int64_t i = 0; i < g->groups; i++) {
		int64_t base = g->modulo ? i % g->modulo * (g->run / g->per) : 0, at = i * g->run;
		double rstd = 1 / sqrt(g->var[i] + g->eps), mean = g->mean[i], sum = 0, dot = 0,
		       n = (double)(g->pieces * g->run);

		for (int64_t p = 0; p < g->pieces && (dw || db || !g->fixed); p++)
			for (int64_t k = 0; k < g->run / g->per; k++) {
				const T *x = (const T *)g->x + at + p * g->step + k * g->per,
					*y = dy + at + p * g->step + k * g->per;
				double d = 0, dv = 0, scale = w ? (double)w[base + k] : 1;

				for (int64_t j = 0; j < g->per; j++) {
					d += (double)y[j];
					dv += (double)y[j] * ((double)x[j] - mean);
				}
				dv *= rstd;
				if (dw)
					dw[base + k] += dv;
				if (db)
					db[base + k] += d;
				sum += d * scale;
				dot += dv * scale;
			}
		if (g->fixed)
			sum = dot = 0;
		for (int64_t p = 0; p < g->pieces && dx; p++)
			for (int64_t k = 0; k < g->run / g->per; k++) {
				const int64_t o = at + p * g->step + k * g->per;
				const T *x = (const T *)g->x + o;
				double a = rstd * (w ? (double)w[base + k] : 1), c = rstd * rstd * dot / n,
				       shift = rstd * sum / n;

				for (int64_t j = 0; j < g->per; j++)
					dx[o + j] = (T)(a * (double)dy[o + j] - shift -
							(g->fixed ? 0 : c * ((double)x[j] - mean)));
			}
	}
}

/* ---- contiguous columns ------------------------------------------------------------------------------------------ */

/* Computes moments in one pass, relative to the first row's values, so that values far from zero lose no accuracy. */
static void
N(lane_moments)(void *arg, int64_t begin, int64_t end)
{
	const Norm *g = arg;

	for (int64_t at = begin; at < end; at++) {
		const int64_t first = at * LANES, some = g->groups - first < LANES ? g->groups - first : LANES;
		const T *x = (const T *)g->x + first;
		double sum[LANES] = { 0 }, square[LANES] = { 0 }, n = (double)g->pieces;

		for (int64_t p = 0; p < g->pieces; p++)
			for (int64_t c = 0; c < some; c++) {
				const double v = (double)x[p * g->step + c] - (double)x[c];

				sum[c] += v;
				square[c] += v * v;
			}
		for (int64_t c = 0; c < some; c++) {
			const double off = sum[c] / n, squares = square[c] - sum[c] * off;

			g->mean[first + c] = g->pieces ? (double)x[c] + off : 0 / n;
			g->var[first + c] = squares < 0 ? 0 : squares / n;
		}
	}
}

static void
N(lane_apply)(void *arg, int64_t begin, int64_t end)
{
	const Norm *g = arg;
	const T *w = g->weight, *b = g->bias;
	double mean[LANES], scale[LANES], bias[LANES];

	for (int64_t first = 0; first < g->groups; first += LANES) {
		const int64_t some = g->groups - first < LANES ? g->groups - first : LANES;

		for (int64_t c = 0; c < some; c++) {
			const N(Line) a = N(line)(g, first + c, w ? w[first + c] : 1, b ? b[first + c] : 0);

			mean[c] = a.mean;
			scale[c] = a.scale;
			bias[c] = a.bias;
		}
		for (int64_t p = begin; p < end; p++) {
			const T *x = (const T *)g->x + p * g->step + first;
			T *restrict y = (T *)g->y + p * g->step + first;

			for (int64_t c = 0; c < some; c++)
				y[c] = (T)(((double)x[c] - mean[c]) * scale[c] + bias[c]);
		}
	}
}

static void
N(lane_backward)(const Norm *g, const T *dy, T *dx, double *dw, double *db)
{
	const T *w = g->weight;
	const double n = (double)g->pieces;

	for (int64_t first = 0; first < g->groups; first += LANES) {
		const int64_t some = g->groups - first < LANES ? g->groups - first : LANES;
		double d[LANES] = { 0 }, dv[LANES] = { 0 };
		T mean[LANES], a[LANES], along[LANES], shift[LANES];

		for (int64_t c = 0; c < some; c++)
			mean[c] = (T)g->mean[first + c];
		for (int64_t p = 0; p < g->pieces; p++) {
			const T *x = (const T *)g->x + p * g->step + first, *y = dy + p * g->step + first;

			for (int64_t c = 0; c < some; c++) {
				d[c] += (double)y[c];
				dv[c] += (double)(y[c] * (x[c] - mean[c]));
			}
		}
		for (int64_t c = 0; c < some; c++) {
			const double rstd = 1 / sqrt(g->var[first + c] + g->eps),
				     scale = rstd * (w ? (double)w[first + c] : 1);

			db[first + c] += d[c];
			dw[first + c] += dv[c] * rstd;
			a[c] = (T)scale;
			along[c] = g->fixed ? 0 : (T)(scale * dv[c] * rstd * rstd / n);
			shift[c] = g->fixed ? 0 : (T)(scale * d[c] / n);
		}
		for (int64_t p = 0; p < g->pieces && dx; p++) {
			const T *x = (const T *)g->x + p * g->step + first, *y = dy + p * g->step + first;
			T *restrict to = dx + p * g->step + first;

			for (int64_t c = 0; c < some; c++)
				to[c] = a[c] * y[c] - shift[c] - (g->fixed ? 0 : along[c] * (x[c] - mean[c]));
		}
	}
}

#undef T
#undef N
