/* rt/ops/pool_loops.h - the loops of pool.c for one element type T. N(name) is the name of a function for T. IS_NAN(v)
 * tells whether v is NaN. LOWEST is the result of a window that dilation moves entirely into the padding. With RUNS,
 * results of a row whose windows are alike are computed together. */

#ifdef RUNS

/* Computes n results from o on. Their windows have c2 columns and are s apart. */
static void
N(max_run)(const Pool *g, const Window *w, const T *x, int64_t o, T *y, int64_t *at)
{
	const Run *r = &g->run;
	const int64_t first = (w->lo[0] * g->in[1] + w->lo[1]) * g->in[2] + w->lo[2];
	const bool empty = w->lo[0] >= w->hi[0] || w->lo[1] >= w->hi[1] || w->lo[2] >= w->hi[2];

	if (empty)
		for (int64_t k = 0; k < r->n; k++)
			y[o + k] = LOWEST;
	else
		first_elements(x + first, y + o, r->n, r->s);
	for (int64_t k = 0; k < r->n && at; k++)
		at[o + k] = first + k * r->s;
	for (int64_t a = w->lo[0]; a < w->hi[0]; a += g->d[0])
		for (int64_t b = w->lo[1]; b < w->hi[1]; b += g->d[1])
			for (int64_t c = w->lo[2]; c < w->hi[2]; c += g->d[2]) {
				const int64_t here = (a * g->in[1] + b) * g->in[2] + c;

				if (here == first)
					continue;
				if (at || r->s > 2)
					max_any(x + here, y + o, at ? at + o : 0, r->n, r->s, here);
				else
					max_elements(x + here, y + o, r->n, r->s);
			}
}

#endif

static void
N(max_planes)(void *arg, int64_t begin, int64_t end)
{
	const Pool *g = arg;

	for (int64_t i = begin; i < end; i++) {
		const T *x = (const T *)g->x + i * g->in_plane;
		T *y = (T *)g->y + i * g->out_plane;
		int64_t *at = g->index ? g->index + i * g->out_plane : 0;

		EACH_OUTPUT(g, o) {
			Window w = window_of(g, oz, oy, ox);
			int64_t best = (w.lo[0] * g->in[1] + w.lo[1]) * g->in[2] + w.lo[2];
			bool empty = w.lo[0] >= w.hi[0] || w.lo[1] >= w.hi[1] || w.lo[2] >= w.hi[2];
			T top = empty ? LOWEST : x[best];

#ifdef RUNS
			if (begins_run(g, ox)) {
				N(max_run)(g, &w, x, o, y, at);
				o += g->run.n - 1;
				ox += g->run.n - 1;
				continue;
			}
#endif
			for (int64_t a = w.lo[0]; a < w.hi[0]; a += g->d[0])
				for (int64_t b = w.lo[1]; b < w.hi[1]; b += g->d[1])
					for (int64_t c = w.lo[2]; c < w.hi[2]; c += g->d[2]) {
						int64_t here = (a * g->in[1] + b) * g->in[2] + c;
						T v = x[here];

						if (v > top || IS_NAN(v)) {
							top = v;
							best = here;
						}
					}
			y[o] = top;
			if (at)
				at[o] = best;
		}
	}
}

#ifdef RUNS

static void
N(average_run)(const Pool *g, const Window *w, const T *x, T *y)
{
	const Run *r = &g->run;
	const T by = (T)w->by[0];

	for (int64_t k = 0; k < r->n; k++)
		y[k] = 0;
	for (int64_t a = w->lo[0]; a < w->hi[0]; a++)
		for (int64_t b = w->lo[1]; b < w->hi[1]; b++)
			for (int64_t c = w->lo[2]; c < w->hi[2]; c++)
				(r->s > 2 ? add_any : add_elements)(x + (a * g->in[1] + b) * g->in[2] + c, y, r->n,
					r->s);
	for (int64_t k = 0; k < r->n; k++)
		y[k] /= by;
	for (int64_t k = 0; k < r->n && g->apart; k++)
		y[k] = y[k] / (T)w->by[1] / (T)w->by[2];
}

#endif

static void
N(average_planes)(void *arg, int64_t begin, int64_t end)
{
	const Pool *g = arg;

	for (int64_t i = begin; i < end; i++) {
		const T *x = (const T *)g->x + i * g->in_plane;
		T *y = (T *)g->y + i * g->out_plane;

		EACH_OUTPUT(g, o) {
			Window w = window_of(g, oz, oy, ox);
			T sum = 0;

#ifdef RUNS
			if (begins_run(g, ox)) {
				N(average_run)(g, &w, x, y + o);
				o += g->run.n - 1;
				ox += g->run.n - 1;
				continue;
			}
#endif
			for (int64_t a = w.lo[0]; a < w.hi[0]; a++)
				for (int64_t b = w.lo[1]; b < w.hi[1]; b++) {
					const T *row = x + (a * g->in[1] + b) * g->in[2];

					for (int64_t c = w.lo[2]; c < w.hi[2]; c++)
						sum += row[c];
				}
			y[o] = sum / (T)w.by[0] / (T)w.by[1] / (T)w.by[2];
		}
	}
}

/* The adjoint of average_planes: adds y / divisor to x over each window. */
static void
N(spread_planes)(void *arg, int64_t begin, int64_t end)
{
	const Pool *g = arg;

	for (int64_t i = begin; i < end; i++) {
		T *x = (T *)g->x + i * g->in_plane;
		const T *y = (const T *)g->y + i * g->out_plane;

		EACH_OUTPUT(g, o) {
			Window w = window_of(g, oz, oy, ox);
			T part = y[o] / (T)w.divisor;

			for (int64_t a = w.lo[0]; a < w.hi[0]; a++)
				for (int64_t b = w.lo[1]; b < w.hi[1]; b++)
					for (int64_t c = w.lo[2]; c < w.hi[2]; c++)
						x[(a * g->in[1] + b) * g->in[2] + c] += part;
		}
	}
}

/* Sets x[index[o]] to y[o], or adds y[o] to it. The indices must be checked. */
static void
N(scatter_planes)(void *arg, int64_t begin, int64_t end)
{
	const Pool *g = arg;

	for (int64_t i = begin; i < end; i++) {
		T *x = (T *)g->x + i * g->in_plane;
		const T *y = (const T *)g->y + i * g->out_plane;
		const int64_t *at = g->index + i * g->out_plane;

		for (int64_t o = 0; o < g->out_plane; o++)
			x[at[o]] = g->add ? x[at[o]] + y[o] : y[o];
	}
}

#undef T
#undef N
#undef IS_NAN
#undef LOWEST
#undef RUNS
