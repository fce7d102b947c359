/* rt/ops/exp_loops.h - the exponentials of a row and their sum for one element type T; N(name) is the function's name
 * for it, EXPS its exponentials, in place */

/* exp(x - top) of n elements, into y if that is not null */
static T
N(exp_row)(const T *x, T *y, int64_t n, T top)
{
	T e[EXP_CHUNK], sum[EXP_CHUNK] = { 0 };

	for (int64_t at = 0; at < n; at += EXP_CHUNK) {
		const int64_t some = n - at < EXP_CHUNK ? n - at : EXP_CHUNK;

		for (int64_t j = 0; j < some; j++)
			e[j] = x[at + j] - top;
		EXPS(e, some);
		for (int64_t j = 0; j < some; j++)
			sum[j] += e[j];
		if (y)
			memcpy(y + at, e, (size_t)some * sizeof(T));
	}
	for (int64_t half = EXP_CHUNK / 2; half; half /= 2)
		for (int64_t j = 0; j < half; j++)
			sum[j] += sum[j + half];
	return sum[0];
}
