/* rt/ops/resample_loops.h - the loops of resample.c for one element type T. N(name) is the name of a function for T. */

/* Computes the taps of widened antialiasing filters. Taps beyond the window have weight 0. */
static void
N(make_wide_taps)(Taps *g, const Rule *rule)
{
	T scale = rule->align ? (g->out > 1 ? (T)(g->in - 1) / (T)(g->out - 1) : 0) :
		rule->scale > 0 ? (T)(1.0 / rule->scale) : (T)g->in / (T)g->out;
	const T half = (T)vz_reach(smooth(rule->kind)), support = scale >= 1 ? half * scale : half;
	const T inverse = scale >= 1 ? 1 / scale : 1;

	for (int64_t o = 0; o < g->out; o++) {
		T centre = scale * ((T)o + (T)0.5), total = 0, *w = (T *)g->weight + o * g->width;
		int64_t lo = (int64_t)(centre - support + (T)0.5), hi = (int64_t)(centre + support + (T)0.5);

		lo = lo < 0 ? 0 : lo;
		hi = hi > g->in ? g->in : hi;
		for (int64_t k = 0; k < g->width; k++) {
			double t = (double)(((T)(k + lo) - centre + (T)0.5) * inverse);

			g->at[o * g->width + k] = lo + k < g->in ? lo + k : g->in - 1;
			w[k] = k >= hi - lo ? 0 : (T)vz_filter(smooth(rule->kind), t);
			total += w[k];
		}
		for (int64_t k = 0; k < g->width && total != 0; k++)
			w[k] /= total;
	}
}

/* Runs the adjoint of a pass: adds w y to x, which the caller has zeroed. */
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
#undef T
#undef N
