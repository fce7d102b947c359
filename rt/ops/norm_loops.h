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
		double rstd = 1 / sqrt(g->var[i] + g->eps), sum = 0, dot = 0, n = (double)(g->pieces * g->run);

		for (int64_t p = 0; p < g->pieces; p++)
			for (int64_t j = 0; j < g->run; j++) {
				int64_t o = at + p * g->step + j, k = base + j / g->per;
				double v = ((double)((const T *)g->x)[o] - g->mean[i]) * rstd, d = (double)dy[o];

				if (dw)
					dw[k] += d * v;
				if (db)
					db[k] += d;
				d *= w ? (double)w[k] : 1;
				sum += d;
				dot += d * v;
			}
		if (g->fixed || !dx)
			sum = dot = 0;
		for (int64_t p = 0; p < g->pieces && dx; p++)
			for (int64_t j = 0; j < g->run; j++) {
				int64_t o = at + p * g->step + j, k = base + j / g->per;
				double v = ((double)((const T *)g->x)[o] - g->mean[i]) * rstd;

				dx[o] = (T)(rstd * ((double)dy[o] * (w ? (double)w[k] : 1) - sum / n - v * dot / n));
			}
	}
}

#undef T
#undef N
