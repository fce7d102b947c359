/* rt/ops/norm_loops.h - the loops of norm.c for one element type T; N(name) is the function's name for it */

static void
N(moments)(void *arg, int64_t begin, int64_t end)
{
	const Norm *g = arg;

	for (int64_t i = begin; i < end; i++) {
		const T *x = (const T *)g->x + i * g->run;
		double sum = 0, square = 0, n = (double)(g->pieces * g->run), mean;

		for (int64_t p = 0; p < g->pieces && !g->uncentered; p++)
			for (int64_t j = 0; j < g->run; j++)
				sum += (double)x[p * g->step + j];
		mean = g->uncentered ? 0 : sum / n;
		for (int64_t p = 0; p < g->pieces; p++)
			for (int64_t j = 0; j < g->run; j++) {
				double v = (double)x[p * g->step + j] - mean;

				square += v * v;
			}
		g->mean[i] = mean;
		g->var[i] = square / n;
	}
}

static void
N(apply)(void *arg, int64_t begin, int64_t end)
{
	const Norm *g = arg;
	const T *w = g->weight, *b = g->bias;

	for (int64_t i = begin; i < end; i++) {
		int64_t base = g->modulo ? i % g->modulo * (g->run / g->per) : 0;
		double rstd = 1 / sqrt(g->var[i] + g->eps);

		for (int64_t p = 0; p < g->pieces; p++) {
			const T *x = (const T *)g->x + i * g->run + p * g->step;
			T *y = (T *)g->y + i * g->run + p * g->step;

			if (g->per == 1 && g->run > 1) {
				T m = (T)g->mean[i], r = (T)rstd;

				for (int64_t j = 0; j < g->run; j++)
					y[j] = (x[j] - m) * r * (w ? w[base + j] : 1) + (b ? b[base + j] : 0);
				continue;
			}
			for (int64_t q = 0; q < g->run / g->per; q++) {
				double scale = rstd * (w ? (double)w[base + q] : 1);
				T a = (T)scale, c = (T)((b ? (double)b[base + q] : 0) - g->mean[i] * scale);

				for (int64_t j = q * g->per; j < (q + 1) * g->per; j++)
					y[j] = x[j] * a + c;
			}
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
		double rstd = 1 / sqrt(g->var[i] + g->eps), mean = g->mean[i], sum = 0, dot = 0, n = (double)(g->pieces * g->run);

		for (int64_t p = 0; p < g->pieces && (dw || db || !g->fixed); p++)
			for (int64_t k = 0; k < g->run / g->per; k++) {
				const T *x = (const T *)g->x + at + p * g->step + k * g->per, *y = dy + at + p * g->step + k * g->per;
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
				double a = rstd * (w ? (double)w[base + k] : 1), c = rstd * rstd * dot / n, shift = rstd * sum / n;

				for (int64_t j = 0; j < g->per; j++)
					dx[o + j] = (T)(a * (double)dy[o + j] - shift - c * ((double)x[j] - mean));
			}
	}
}

#undef T
#undef N
