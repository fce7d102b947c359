/* rt/ops/deform_loops.h - taps of deformable convolutions (vision.c) for one element type T. N(name) is the name of a
 * function for T. F(floor) is the function of math.h. */

/* Taps of some points: the four neighbours of each, and their weights. A neighbour outside is -1. */
typedef struct N(DeformTaps) {
	int64_t at[4][DEFORM_POINTS];
	T       weight[4][DEFORM_POINTS];
} N(DeformTaps);

/* Computes the taps of a point at (v, u). A point outside has no taps. */
static void
N(deform_point)(const Deform *d, T v, T u, int j, N(DeformTaps) *t)
{
	const bool in = v > -1 && v < (T)d->h && u > -1 && u < (T)d->w;
	const T fv = in ? F(floor)(v) : 0, fu = in ? F(floor)(u) : 0, dv = v - fv, du = u - fu;
	const int64_t v0 = (int64_t)fv, u0 = (int64_t)fu, at = v0 * d->w + u0;

	t->at[0][j] = in && v0 >= 0 && u0 >= 0 ? at : -1;
	t->at[1][j] = in && v0 >= 0 && u0 + 1 < d->w ? at + 1 : -1;
	t->at[2][j] = in && v0 + 1 < d->h && u0 >= 0 ? at + d->w : -1;
	t->at[3][j] = in && v0 + 1 < d->h && u0 + 1 < d->w ? at + d->w + 1 : -1;
	t->weight[0][j] = (1 - dv) * (1 - du);
	t->weight[1][j] = (1 - dv) * du;
	t->weight[2][j] = dv * (1 - du);
	t->weight[3][j] = dv * du;
}

/* Computes the points [first, first + n) of a tap. `offset` has planes of both coordinates. */
static void
N(deform_locate)(const Deform *d, int64_t tap, int64_t first, int n, const T *offset, N(DeformTaps) *t)
{
	const int64_t plane = d->ho * d->wo;

	for (int j = 0; j < n; j++) {
		const int64_t k = first + j, i = k / d->wo;
		const T v = (T)(i * d->stride_h - d->pad_h + tap / d->kw * d->dilation_h) + offset[k];
		const T u = (T)(k % d->wo * d->stride_w - d->pad_w + tap % d->kw * d->dilation_w) + offset[plane + k];

		N(deform_point)(d, v, u, j, t);
	}
}

static void
N(deform_take)(const N(DeformTaps) *t, int n, const T *x, const T *mask, T *y)
{
	for (int j = 0; j < n; j++) {
		T sum = 0;

		for (int k = 0; k < 4; k++) {
			const int64_t at = t->at[k][j];
			const T v = x[at < 0 ? 0 : at];

			sum += t->weight[k][j] * (at < 0 ? 0 : v);
		}
		y[j] = sum;
	}
	for (int j = 0; j < n && mask; j++)
		y[j] *= mask[j];
}

/* Computes the columns of taps [begin, end) of all groups of offsets. Coordinates are computed once for all
 * channels. */
static void
N(deform_columns)(const Deform *d, int64_t begin, int64_t end)
{
	const int64_t taps = d->kh * d->kw, plane = d->ho * d->wo, channels = d->c / d->offset_groups;
	const T none = 0;

	for (int64_t i = begin; i < end; i++) {
		const T *offset = (const T *)d->offset + i * 2 * plane;
		const T *mask = d->mask ? (const T *)d->mask + i * plane : NULL;

		for (int64_t first = 0; first < plane; first += DEFORM_POINTS) {
			const int n = (int)(plane - first < DEFORM_POINTS ? plane - first : DEFORM_POINTS);
			N(DeformTaps) t;

			N(deform_locate)(d, i % taps, first, n, offset, &t);
			for (int64_t k = 0; k < channels; k++) {
				const int64_t c = i / taps * channels + k;
				const T *x = d->h && d->w ? (const T *)d->x + c * d->h * d->w : &none;
				T *y = (T *)d->column + (c * taps + i % taps) * plane + first;

				N(deform_take)(&t, n, x, mask ? mask + first : NULL, y);
			}
		}
	}
}

static void
N(add_bias)(T *y, int64_t channels, int64_t plane, const T *bias)
{
	for (int64_t c = 0; c < channels; c++)
		for (int64_t k = 0; k < plane; k++)
			y[c * plane + k] += bias[c];
}

#undef T
#undef N
#undef F
