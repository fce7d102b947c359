/* rt/ops/exp_loops.h - exponentials of a row and their sum for one element type T. N(name) is the name of a function
 * for T. EXPS(y, x, n, top) computes y = exp(x - top). SUM(n, x) is the sum of n elements. */

/* Returns the sum of exp(x - top) over n elements. Stores the exponentials in y, unless it is null. y may be x. */
static T
N(exp_row)(const T *x, T *y, int64_t n, T top)
{
	T e[EXP_CHUNK];
	double sum = 0;

	for (int64_t at = 0; at < n; at += EXP_CHUNK) {
		const int64_t some = n - at < EXP_CHUNK ? n - at : EXP_CHUNK;
		T *to = y ? y + at : e;

		EXPS(to, x + at, some, top);
		sum += SUM(some, to);
	}
	return (T)sum;
}
