/* rt/ops/norm_loops.h - the loops of norm.c for one element type T; N(name) is the function's name for it */

/* Of a run: the sum of x - mean, or of its squares. */
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

/* v, but infinite or 0 where T has no such number. */
static double
N(ranged)(double v)
{
	return isnormal((T)v) ? v : (double)(T)v;
}

static void
N(moments)(void *arg, int64_t begin, int64_t end)
{
	const Norm *g = arg;

	for (int64_t i = begin; i < end; i++) {
		const T *x = (const T *)g->x + i * g->run;
		double sum = 0, square = 0, n = (double)(g->pieces * g->run), mean;

		for (int64_t p = 0; p < g->pieces && !g->uncentered; p++)
			sum += N(run_sum)(x + p * g->step, g->run, 0, false);
		mean = g->uncentered ? 0 : sum / n;
		for (int64_t p = 0; p < g->pieces; p++)
			square += N(run_sum)(x + p * g->step, g->run, mean, true);
		g->mean[i] = mean;
		g->var[i] = N(ranged)(square) / n + (g->batch ? 0 : 0 * N(ranged)(mean * mean));
	}
}

/* y = x * scale + shift; an error of these is the same at every place of a channel, so they are doubles */
static void
N(line)(const Norm *g, int64_t i, T weight, T bias, double *scale, double *shift)
{
	*scale = N(ranged)((double)weight * inverse(g, i));
	*shift = N(ranged)((double)bias - g->mean[i] * *scale);
}

static void
N(scaled)(T *restrict y, const T *restrict x, int64_t n, double scale, double shift)
{
	for (int64_t j = 0; j < n; j++)
		y[j] = (T)((double)x[j] * scale + shift);
}

/* A row, each of whose elements has a weight of its own */
static void
N(weighted)(const Norm *g, T *restrict y, const T *restrict x, double scale, double shift)
{
	const T *restrict w = g->weight, *restrict b = g->bias;
	const int64_t n = g->run;

	for (int64_t j = 0; j < n && w && b; j++)
		y[j] = (T)(((double)x[j] * scale + shift) * (double)w[j] + (double)b[j]);
	for (int64_t j = 0; j < n && w && !b; j++)
		y[j] = (T)(((double)x[j] * scale + shift) * (double)w[j]);
	for (int64_t j = 0; j < n && !w && b; j++)
		y[j] = (T)((double)x[j] * scale + shift + (double)b[j]);
	if (!w && !b)
		N(scaled)(y, x, n, scale, shift);
}

static void
N(apply_row)(const Norm *g, int64_t i, const T *x, T *y)
{
	double scale, shift;

	N(line)(g, i, 1, 0, &scale, &shift);
	N(weighted)(g, y, x, scale, shift);
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
			N(apply_row)(g, i, x, y);
		for (int64_t q = 0; q < g->run / g->per && g->modulo; q++) {
			double scale, shift;

			N(line)(g, i, w ? w[channel + q] : 1, b ? b[channel + q] : 0, &scale, &shift);
			N(scaled)(y + q * g->per, x + q * g->per, g->per, scale, shift);
		}
	}
}

/* With v = (x - mean) rstd and d = dy w:  dx = rstd (d - mean(d) - v mean(d v)), the means absent when fixed;
 * sums of dy and dy v go to the weight's and the bias's gradients. */
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

/* ---- columns side by side ---- */

/* In one pass, relative to the first row's values, so that values far from zero lose no accuracy. */
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
			const double off = sum[c] / n, squares = N(ranged)(square[c] - sum[c] * off),
				     mean = N(ranged)((double)x[c] * n + sum[c]) / n;

			g->mean[first + c] = g->pieces ? mean : 0 / n;
			g->var[first + c] = isinf(mean) ? mean * mean : squares < 0 ? 0 : squares / n;
		}
	}
}

static void
N(lane_apply)(void *arg, int64_t begin, int64_t end)
{
	const Norm *g = arg;
	const T *w = g->weight, *b = g->bias;
	double scale[LANES], shift[LANES];

	for (int64_t first = 0; first < g->groups; first += LANES) {
		const int64_t some = g->groups - first < LANES ? g->groups - first : LANES;

		for (int64_t c = 0; c < some; c++)
			N(line)(g, first + c, w ? w[first + c] : 1, b ? b[first + c] : 0, &scale[c], &shift[c]);
		for (int64_t p = begin; p < end; p++) {
			const T *x = (const T *)g->x + p * g->step + first;
			T *restrict y = (T *)g->y + p * g->step + first;

			for (int64_t c = 0; c < some; c++)
				y[c] = (T)((double)x[c] * scale[c] + shift[c]);
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
