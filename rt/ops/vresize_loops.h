/* rt/ops/vresize_loops.h - nearest interpolation of images for elements of one size. T: their type. N(name) is the name
 * of a function for T. */
#include "short.h"

/* Computes rows [begin, end) of the result. A row with the same source as the row before it is a copy of that one, if
 * this call computed it. If the result is twice as wide as the input, loads and stores are consecutive, and no table is
 * read. Addresses are computed before the innermost loop, because to the compiler a store might change the table.
 * room: vz_copy_room() bytes, or null. */
VZ_INLINE void
N(vz_copy)(int64_t begin, int64_t end, const VzResize *v, void *room, const T *x, T *y)
{
	const int64_t channels = v->lanes ? v->c : 1, planes = v->lanes ? 1 : v->c;
	const int in_order = !v->lanes && v->xw == 1 && v->yw == 1;
	int64_t *rows = room, *columns = rows + v->oh;
	int doubles;

	if (!room)
		return;
	vz_nearest(v->oh, v->h, v->exact, v->given_h, rows);
	vz_nearest(v->ow, v->w, v->exact, v->given_w, columns);
	doubles = in_order && vz_doubles(columns, v->ow, v->w);
	for (int64_t row = begin; row < end; row++) {
		const int64_t i = row % v->oh, c = row / v->oh % planes, n = row / v->oh / planes;
		const T *from = x + n * v->xn + c * v->xc + rows[i] * v->xh;
		T *to = y + n * v->yn + c * v->yc + i * v->yh;

		if (v->yw == channels && row > begin && i > 0 && rows[i] == rows[i - 1]) {
			memcpy(to, to - v->yh, v->ow * channels * sizeof *to);
			continue;
		}
		if (doubles) {
			IVDEP
			for (int64_t j = 0; j < v->w; j++) {
				to[2 * j] = from[j];
				to[2 * j + 1] = from[j];
			}
			continue;
		}
		if (!v->lanes) {
			IVDEP
			for (int64_t j = 0; j < v->ow; j++)
				to[j * v->yw] = from[columns[j] * v->xw];
			continue;
		}
		for (int64_t j = 0; j < v->ow; j++) {
			const T *pixel = from + columns[j] * v->xw;
			T *at = to + j * v->yw;

			IVDEP
			for (int64_t k = 0; k < channels; k++)
				at[k] = pixel[k];
		}
	}
}

#undef T
#undef N
