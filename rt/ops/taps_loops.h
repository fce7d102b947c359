/* rt/ops/taps_loops.h - the tables of resample.c and the passes over them
 *
 * T is the type of elements. N(name) is the name of a function for T. */

/* Makes the table of one dim. The taps of output o are entries [o * width, (o + 1) * width). */
static void
N(make_taps)(Taps *g, const Rule *rule)
{
	const T scale = rule->align ? (g->out > 1 ? (T)(g->in - 1) / (T)(g->out - 1) : 0) :
		rule->scale > 0 ? (T)(1.0 / rule->scale) : (T)g->in / (T)g->out;

	for (int64_t o = 0; o < g->out; o++) {
		int64_t *at = g->at + o * g->width;
		T *w = (T *)g->weight + o * g->width;
		const double middle = middle_of(rule, (double)scale, o);

		if (rule->kind == CUBIC) {
			int64_t first = (int64_t)floor(middle);
			const T t = (T)(middle - (double)first);

			for (int64_t k = 0; k < 4; k++) {
				int64_t i = first - 1 + k;

				at[k] = i < 0 ? 0 : i >= g->in ? g->in - 1 : i;
				w[k] = (T)vz_keys((double)t + 1 - (double)k, -0.75);
			}
		} else if (g->in == g->out) {
			at[0] = at[1] = o;
			w[0] = 1;
			w[1] = 0;
		} else {
			const double s = middle < 0 ? 0 : middle;

			at[0] = (int64_t)s < g->in - 1 ? (int64_t)s : g->in - 1;
			at[1] = at[0] + (at[0] < g->in - 1);
			w[1] = s - (double)at[0] < 1 ? (T)(s - (double)at[0]) : 1;
			w[0] = 1 - w[1];
		}
	}
}

/* Computes one line of elements; inner is 1. */
static void
N(taps_line)(const Taps *a, T *restrict y, const T *restrict x)
{
	const T *w = a->weight;
	const int64_t *at = a->at;

	for (int64_t o = 0; o < a->out; o++, at += a->width, w += a->width) {
		T sum = w[0] * x[at[0]];

		for (int64_t k = 1; k < a->width; k++)
			sum += w[k] * x[at[k]];
		y[o] = sum;
	}
}

/* Computes y (outer, out, inner) by taps over x (outer, in, inner). */
static void
N(taps_forward)(void *arg, int64_t begin, int64_t end)
{
	const Pass *g = arg;
	const Taps *a = g->taps;

	for (int64_t n = begin; n < end && g->inner == 1; n++)
		N(taps_line)(a, (T *)g->y + n * a->out, (const T *)g->x + n * a->in);
	for (int64_t n = begin; n < end && g->inner != 1; n++)
		for (int64_t o = 0; o < a->out; o++) {
			const T *x = (const T *)g->x + n * a->in * g->inner, *w = (const T *)a->weight + o * a->width;
			T *y = (T *)g->y + (n * a->out + o) * g->inner;
			const int64_t *at = a->at + o * a->width;

			for (int64_t k = 0; k < a->width; k++)
				for (int64_t j = 0; j < g->inner; j++)
					y[j] = (k ? y[j] : 0) + w[k] * x[at[k] * g->inner + j];
		}
}

#undef T
#undef N
