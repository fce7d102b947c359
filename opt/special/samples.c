/*
 * Makes a dynamic specialization from samples: the function specialized for several values of the symbols.
 *
 * The first samples have profiled sizes.  Others are chosen: for each symbol a small and a large value, as far apart as
 * the model takes the same path (shapes_agree), and one between.  A loop whose trip count is a symbol is not unrolled.
 * Each sample is a specialization like any other.  The samples differ in numbers.  The range of a symbol is the range
 * of its values in the samples: the code of a kernel may depend on a size, and is known to be the same at both ends.
 * It has no upper end if all sizes are proved and no larger size that was tried takes another path
 * (codegen/program/promise.c).
 */
#include "samples.h"

#include <math.h>
#include <string.h>

/* ---- patterns with numbers for symbols --------------------------------------------------------------------------- */

/* Finds the values that the symbols of the merged pattern have in one signature.  A value is 0 if the signature has no
 * such size.  Returns false if the signature cannot be a sample. */
static bool
values_of(const Pattern *merged, const Pattern *one, int n, int64_t *value)
{
	for (int i = 0; i < n; i++) {
		const TensorInfo *m = merged[i].form == PATTERN_TENSOR ? merged[i].type->tensor : NULL;
		const TensorInfo *t = m ? one[i].type->tensor : NULL;
		int64_t strides[RT_MAX_RANK];

		RT_ASSERT(merged[i].form == PATTERN_ANY || (merged[i].form == one[i].form && merged[i].n == one[i].n));
		if (merged[i].form != PATTERN_ANY && !values_of(merged[i].part, one[i].part, merged[i].n, value))
			return false;
		if (!m || m->strides || !m->rank)
			continue;
		rt_contiguous_strides(t->rank, t->dims, strides);
		for (int k = 0; k < t->rank; k++) {
			if (t->strides[k] != strides[k] && t->dims[k] != 1)
				return false;
			if (DIM_IS_SYMBOL(m->dims[k]) && t->dims[k] > 1)
				value[DIM_INDEX(m->dims[k])] = t->dims[k];
		}
	}
	return true;
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

typedef struct Trial {
	Samples *s;
	const int64_t *value;
	Shapes *shapes;
	Specialization *spec;
} Trial;

static void
run_trial(Cx *cx, void *arg)
{
	Trial *t = arg;
	Samples *s = t->s;
	Function *fn = s->d->fn;

	*t->spec = (Specialization){ .fn = fn, .seen = s->d->seen };
	t->spec->pattern = pattern_at(cx, s->d->pattern, s->narg, t->value);
	t->shapes = shapes_new(cx, fn->name, &s->rolled);
	t->spec->graph = specialize(cx, fn, s->profile, t->spec->pattern, t->shapes);
}

static Shapes *
try_values(Samples *s, const int64_t *value, Specialization *spec)
{
	Trial t = { .s = s, .value = value, .spec = spec };
	const bool done = cx_try(s->cx, run_trial, &t);

	if (!done)
		s->why = (Cause){ .at = s->cx->err.at, .what = arena_strdup(s->cx->arena, s->cx->err.what) };
	s->left -= done ? spec->graph->nnode : block_size(s->d->fn->prepared->top);
	return done ? t.shapes : NULL;
}

/* Do the samples take the same path?  If not, records the reason in s->why. */
static bool
agree(Samples *s, const Shapes *a, const Shapes *b)
{
	if (shapes_agree(a, b))
		return true;
	s->why = shapes_differ(a, b);
	return false;
}

static bool
is_sampled(const Samples *s, const int64_t *value)
{
	for (int i = 0; i < s->n; i++)
		if (!memcmp(s->value[i], value, (size_t)s->nsymbol * sizeof *value))
			return true;
	return false;
}

/* Adds a sample if the model takes the same path on it as on the first one.  Returns whether it did. */
static bool
add_sample(Samples *s, const int64_t *value)
{
	Specialization unused;
	Shapes *shapes;

	if (s->n == SIZE_SAMPLES || is_sampled(s, value))
		return false;
	if (!(shapes = try_values(s, value, &unused)) || (s->n && !agree(s, s->shapes[0], shapes)))
		return false;
	memcpy(s->value[s->n], value, (size_t)s->nsymbol * sizeof *value);
	s->shapes[s->n++] = shapes;
	return true;
}

/* Makes shapes[0] for the values a.  Keeps shapes[0] if values and rolled loops are unchanged. */
static bool
begin_at(Samples *s, const int64_t *a)
{
	Specialization unused;

	if (s->begun == s->rolled.n && !memcmp(s->value[0], a, sizeof s->value[0]))
		return true;
	s->begun = -1;
	if (!(s->shapes[0] = try_values(s, a, &unused)))
		return false;
	memcpy(s->value[0], a, sizeof s->value[0]);
	s->begun = s->rolled.n;
	return true;
}

bool
samples_begin(Samples *s, const int64_t *a, const int64_t *b)
{
	Specialization unused;

	for (int tries = 0; tries < 16; tries++) {
		if (!begin_at(s, a) || !(s->shapes[1] = try_values(s, b, &unused)))
			return false;
		if (!shapes_roll(s->shapes[0], s->shapes[1], &s->rolled)) {
			memcpy(s->value[1], b, sizeof s->value[1]);
			s->n = 2;
			return agree(s, s->shapes[0], s->shapes[1]);
		}
	}
	return false;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static int64_t
prime_from(int64_t n)
{
	for (;; n++) {
		bool prime = n > 1;

		for (int64_t i = 2; i * i <= n && prime; i++)
			prime = n % i != 0;
		if (prime)
			return n;
	}
}

/* Returns a prime >= n that is less than `most`.  If there is none, returns n, or about half of `most` if n is not less
 * than it. */
static int64_t
prime_within(int64_t n, int64_t most)
{
	const int64_t prime = prime_from(n);

	return prime < most ? prime : n < most ? n : most / 2 + 1;
}

bool
samples_may_try(Samples *s)
{
	return s->left >= 0;
}

/* Returns the number of elements of the largest tensor among the arguments. */
static double
most_elements(const Pattern *p, int n, const int64_t *value)
{
	double most = 0;

	for (int i = 0; i < n; i++) {
		const TensorInfo *t = p[i].form == PATTERN_TENSOR ? p[i].type->tensor : NULL;
		double all = most_elements(p[i].part, p[i].n, value);

		if (t && !t->strides && t->rank) {
			all = 1;
			for (int k = 0; k < t->rank; k++)
				all *= (double)(DIM_IS_SYMBOL(t->dims[k]) ? value[DIM_INDEX(t->dims[k])] : t->dims[k]);
		}
		most = all > most ? all : most;
	}
	return most;
}

/* Are the arguments small enough to evaluate a call?  Even without data an operator may use memory or time that grow
 * with sizes. */
static bool
is_callable(const Samples *s, const int64_t *value)
{
	return most_elements(s->d->pattern, s->narg, value) <= 0x1p31;
}

static bool
goes(Samples *s, int symbol, int64_t to)
{
	int64_t value[SIZE_ATOMS];
	Specialization unused;
	Shapes *shapes;

	memcpy(value, s->value[0], sizeof value);
	if (value[symbol] == to)
		return true;
	value[symbol] = to;
	if (!is_callable(s, value))
		return false;
	if (samples_may_try(s) && (shapes = try_values(s, value, &unused)) && agree(s, s->shapes[0], shapes))
		return true;
	s->limited[symbol] |= to > s->value[0][symbol];
	return false;
}

/* Is x the value of another symbol?  If it were chosen, passes would find two sizes equal that are equal in this sample
 * only. */
static bool
is_taken(const int64_t *value, int n, int symbol, int64_t x)
{
	for (int i = 0; i < n; i++)
		if (i != symbol && value[i] == x)
			return true;
	return false;
}

/* Returns the first of n values on which the model takes the same path and which does not end an earlier symbol's
 * range.  0 if there is none. */
static int64_t
first_end(Samples *s, int symbol, const int64_t *ends, const int64_t *to, int n)
{
	for (int i = 0; i < n; i++)
		if (!is_taken(ends, symbol, -1, to[i]) && goes(s, symbol, to[i]))
			return to[i];
	return 0;
}

/* Returns the largest value on which the model takes the same path.  Common sizes are tried first, if they exceed 16
 * times the profiled size, since models often have them as limits.  Then multiples of the profiled size are tried, from
 * 16 down.  0 if none is found. */
static int64_t
largest(Samples *s, int symbol, const int64_t *ends)
{
	const int64_t own = s->most[symbol];
	const int64_t common[] = { prime_from(1024 + 16 * symbol), 1024, 512, 256 };
	const int64_t far[] = { prime_from(16 * own + 16 * symbol), prime_from(8 * own + 16 * symbol),
				prime_from(4 * own + 16 * symbol), 4 * own, prime_from(2 * own + 8 * symbol), 2 * own,
				prime_from(own + own / 2 + symbol), own + own / 2, own + 1 };
	int64_t found = 0;

	for (int i = 0; i < (int)(sizeof common / sizeof *common) && !found && common[i] > far[0]; i++)
		found = first_end(s, symbol, ends, &common[i], 1);
	return found ? found : first_end(s, symbol, ends, far, (int)(sizeof far / sizeof *far));
}

static int64_t
least(Samples *s, int symbol, const int64_t *ends)
{
	const int64_t own = s->least[symbol];
	const int64_t near[] = { 2, 3, prime_from(3 + 2 * symbol), prime_from(own / 8 + symbol), own / 4,
				 prime_from(own / 4 + symbol), own / 2, prime_from(own / 2 + symbol), own - own / 4,
				 own - 1 };

	for (int i = 0; i < (int)(sizeof near / sizeof *near); i++)
		if (near[i] > 1 && near[i] < own && first_end(s, symbol, ends, &near[i], 1))
			return near[i];
	return 0;
}

/* Returns the largest or least value on which the model takes the same path and which does not end an earlier symbol's
 * range.  If there is none, returns the profiled value. */
static int64_t
extreme(Samples *s, int symbol, const int64_t *ends, bool large)
{
	const int64_t own = large ? s->most[symbol] : s->least[symbol];
	int64_t to;

	if (large && s->d->bounded)
		return own;
	to = large ? largest(s, symbol, ends) : least(s, symbol, ends);
	return to ? to : is_taken(ends, symbol, -1, own) ? s->value[0][symbol] : own;
}

/* Does the symbol have at least three different values?  Two would fit any line. */
static bool
symbol_is_sampled(const Samples *s, int symbol)
{
	int different = 0;

	for (int i = 0; i < s->n; i++) {
		bool again = false;

		for (int k = 0; k < i; k++)
			again |= s->value[k][symbol] == s->value[i][symbol];
		different += !again;
	}
	return different >= 3;
}

/* Returns the symbol whose value differs most from the profiled one, as a ratio.  -1 if all are equal to it. */
static int
farthest(const Samples *s, const int64_t *end, const int64_t *own)
{
	double most = 1;
	int at = -1;

	for (int i = 0; i < s->nsymbol; i++) {
		const double ratio = (double)own[i] / (double)end[i], far = ratio < 1 ? 1 / ratio : ratio;

		if (far > most) {
			most = far;
			at = i;
		}
	}
	return at;
}

/* Adds a sample at the ends of all ranges.  Values that are possible for each symbol alone may fail together.  Then the
 * symbol that differs most moves towards its profiled value. */
static void
add_end(Samples *s, int64_t *end, const int64_t *own)
{
	for (int tries = 0; tries < 4 * s->nsymbol; tries++) {
		const bool callable = is_callable(s, end),
			   is_end = callable && (is_sampled(s, end) || add_sample(s, end));
		const int i = is_end ? -1 : farthest(s, end, own);
		int64_t nearer;

		if (i < 0)
			return;
		s->limited[i] |= callable && end[i] > own[i];
		nearer = prime_from((int64_t)sqrt((double)end[i] * (double)own[i]) + 1);
		while (is_taken(end, s->nsymbol, i, nearer))
			nearer = prime_from(nearer + 1);
		end[i] = (nearer < own[i]) == (end[i] < own[i]) && nearer != end[i] ? nearer :
			 is_taken(end, s->nsymbol, i, own[i]) ? s->value[0][i] : own[i];
	}
}

enum { TRIES = 2 * SIZE_POOL };

/* Returns the t-th value to try between the profiled one and the end of the range.  It is a prime.  For sizes that must
 * be multiples of some number, it is a multiple of the profiled size, or a prime times a power of two that divides that
 * size, so that quotients are odd. */
static int64_t
between(int64_t own, int64_t high, int t, int symbol)
{
	const int64_t span = high > own ? high / own : 1, power = (own & -own) >> t / 3 % 3, two = power ? power : 1;
	const int part = (5 * t + 3 * symbol + TRIES / 2) % TRIES;
	const int64_t to = own + (high - own) * part / TRIES;

	if (t % 3 == 1)
		return own * (1 + (t / 3 + 2 * symbol + 1) % span);
	return t % 3 ? two * prime_within(to / two, high / two) : prime_within(to, high);
}

/* Finds values between the ends on which the model takes the same path. */
static void
find_more(Samples *s, const int64_t *high)
{
	Specialization unused;

	for (int t = 0; t < TRIES && s->nmore < SIZE_POOL && samples_may_try(s); t++) {
		int64_t *value = s->more[s->nmore];
		Shapes *shapes;

		memset(value, 0, sizeof s->more[0]);
		for (int i = 0; i < s->nsymbol; i++) {
			value[i] = between(s->least[i], high[i], t, i);
			while (is_taken(value, i, -1, value[i]))
				value[i] += t % 3 == 1 ? s->least[i] : s->least[i] & -s->least[i];
		}
		if (is_sampled(s, value) || !(shapes = try_values(s, value, &unused)) ||
		    !shapes_agree(s->shapes[0], shapes))
			continue;
		s->more_shapes[s->nmore++] = shapes;
	}
}

/* Returns number `at` of sample k.  From k = n on, returns that of further value k - n.  A negative `at` stands for
 * symbol ~at. */
static int64_t
number_of(const Samples *s, int at, int k)
{
	int n;

	RT_ASSERT(k >= 0 && k < s->n + s->nmore && at >= -s->nsymbol);
	if (at < 0)
		return k < s->n ? s->value[k][~at] : s->more[k - s->n][~at];
	return shapes_numbers(k < s->n ? s->shapes[k] : s->more_shapes[k - s->n], &n)[at].i;
}

/* Lists the symbols and the numbers that vary.  Lists only one of the numbers that are equal in all samples.  Returns
 * the length of the list. */
static int
different_numbers(const Samples *s, int *at)
{
	Map seen = { .arena = s->cx->arena };
	int n, all;

	shapes_numbers(s->shapes[0], &all);
	for (n = 0; n < s->nsymbol; n++)
		at[n] = ~n;
	for (int i = 0; i < all && n < SIZE_ATOMS; i++) {
		bool varies = false;
		Buf key = { 0 };

		for (int k = 0; k < s->n + s->nmore; k++) {
			varies |= number_of(s, i, k) != number_of(s, i, 0);
			buf_printf(&key, "%lld,", (long long)number_of(s, i, k));
		}
		if (varies && !map_get(&seen, key.at)) {
			map_put(&seen, arena_strdup(s->cx->arena, key.at), at);
			at[n++] = i;
		}
		buf_free(&key);
	}
	return n;
}

/* Is b a linear function of a in all samples, but not with further value v? */
static bool
tells_apart(const Samples *s, int a, int b, int v)
{
	const double a0 = (double)number_of(s, a, 0), b0 = (double)number_of(s, b, 0);
	double da = 0, db = 0;

	for (int k = 1; k < s->n; k++) {
		const double x = (double)number_of(s, a, k) - a0, y = (double)number_of(s, b, k) - b0;

		if (x * db != y * da)
			return false;
		if (x != 0 || y != 0) {
			da = x;
			db = y;
		}
	}
	return ((double)number_of(s, a, s->n + v) - a0) * db != ((double)number_of(s, b, s->n + v) - b0) * da;
}

/* Does a have the same remainder in all samples, but not with further value v? */
static bool
breaks_remainder(const Samples *s, int a, int v)
{
	int64_t divisor = 0;

	for (int k = 1; k < s->n; k++)
		divisor = sizes_gcd(divisor, number_of(s, a, k) - number_of(s, a, 0));
	return divisor && (number_of(s, a, s->n + v) - number_of(s, a, 0)) % divisor;
}

static int
told_apart(const Samples *s, const int *at, int n, int v)
{
	int count = 0;

	for (int i = 0; i < n; i++) {
		count += breaks_remainder(s, at[i], v);
		for (int k = 0; k < i; k++)
			count += tells_apart(s, at[i], at[k], v);
	}
	return count;
}

/* Makes further value v a sample. */
static void
take(Samples *s, int v)
{
	RT_ASSERT(v >= 0 && v < s->nmore && s->n < SIZE_SAMPLES);
	memcpy(s->value[s->n], s->more[v], sizeof s->value[0]);
	s->shapes[s->n++] = s->more_shapes[v];
	s->nmore--;
	memcpy(s->more[v], s->more[s->nmore], sizeof s->more[0]);
	s->more_shapes[v] = s->more_shapes[s->nmore];
}

/* Adds further values as samples, beginning with those that separate most numbers.  Numbers must not be linear
 * functions of each other by chance: if ceil(h / 4) = 2 ceil(h / 8) in all samples, a formula would confuse the two.
 * Returns false if some numbers are still not separated. */
static bool
take_more(Samples *s)
{
	int *at = new(s->cx->arena, int, SIZE_ATOMS);
	const int n = different_numbers(s, at);

	for (;;) {
		int best = -1, most = 0;

		for (int v = 0; v < s->nmore; v++) {
			const int count = told_apart(s, at, n, v);

			if (count > most || (best < 0 && s->n < 5)) {
				best = v;
				most = count;
			}
		}
		if (best < 0 || s->n == SIZE_SAMPLES)
			return !most;
		take(s, best);
	}
}

/* Returns the product of ceil(size / side) of the symbols in `set`, in sample k or further value k - n.  It is the
 * number of tiles of a convolution. */
static int64_t
tiles(const Samples *s, unsigned set, int64_t side, int k)
{
	int64_t n = 1;

	for (int i = 0; set >> i; i++)
		if (set >> i & 1)
			n *= (number_of(s, ~i, k) - 1) / side + 1;
	return n;
}

/* Returns the number of such products, of two symbols or more, that have the same remainder in all samples, but not
 * with further value v. */
static int
broken_tiles(const Samples *s, int v)
{
	static const int sides[] = { 1, TILE_SMALL, TILE_LARGE };
	const int nsymbol = s->nsymbol < 4 ? s->nsymbol : 4;
	int broken = 0;

	for (unsigned set = 3; set < 1u << nsymbol; set++)
		for (int i = 0; i < (int)(sizeof sides / sizeof *sides) && set & (set - 1); i++) {
			const int64_t first = tiles(s, set, sides[i], 0);
			int64_t divisor = 0;

			for (int k = 1; k < s->n; k++)
				divisor = sizes_gcd(divisor, tiles(s, set, sides[i], k) - first);
			broken += divisor && (tiles(s, set, sides[i], s->n + v) - first) % divisor;
		}
	return broken;
}

/* Adds further values as samples until the numbers of tiles have several remainders.  Kernels compute tiles in blocks,
 * and a formula for the number of blocks is fitted to the samples.  If all numbers had one remainder, the formula would
 * hold for such numbers of tiles only, and calls of other sizes would be refused. */
static void
take_remainders(Samples *s)
{
	for (;;) {
		int best = -1, most = 0;

		for (int v = 0; v < s->nmore; v++) {
			const int count = broken_tiles(s, v);

			best = count > most ? v : best;
			most = count > most ? count : most;
		}
		if (best < 0 || s->n == SIZE_SAMPLES)
			return;
		take(s, best);
	}
}

static bool
is_in_range(const Samples *s, int symbol, int64_t x)
{
	bool below = false, above = false;

	for (int k = 0; k < s->n; k++) {
		below |= s->value[k][symbol] <= x;
		above |= s->value[k][symbol] >= x;
	}
	return below && above;
}

/* Adds a sample with the sizes `wanted` that are outside of their ranges, and the other sizes at the ends of theirs.
 * They are outside because other symbols have the same size, and no sample has equal sizes.  Returns false if there
 * are none. */
static bool
add_outside(Samples *s, const int64_t *wanted, const int64_t *high)
{
	int64_t value[SIZE_ATOMS];
	bool any = false;

	memcpy(value, high, sizeof value);
	for (int i = 0; i < s->nsymbol; i++)
		if (!is_in_range(s, i, wanted[i]) && !is_taken(value, s->nsymbol, i, wanted[i])) {
			value[i] = wanted[i];
			any = true;
		}
	return any && add_sample(s, value);
}

static bool
choose(Samples *s)
{
	int64_t low[SIZE_ATOMS] = { 0 }, high[SIZE_ATOMS] = { 0 }, alone[SIZE_ATOMS] = { 0 };
	bool apart;

	for (int i = 0; i < s->nsymbol; i++) {
		low[i] = extreme(s, i, low, false);
		high[i] = extreme(s, i, high, true);
		alone[i] = is_taken(low, i, -1, 2) && goes(s, i, 2) ? 2 : low[i];
	}
	add_end(s, low, s->least);
	add_end(s, high, s->most);
	while (s->n < SIZE_SAMPLES - 2 && add_outside(s, s->least, high))
		;
	if (s->n < SIZE_SAMPLES - 2)
		add_outside(s, alone, high);
	find_more(s, high);
	apart = take_more(s);
	take_remainders(s);
	return apart;
}

/* Are there enough samples?  Formulas with up to three factors, a coefficient and a summand are fitted to them.  So
 * fewer than five suffice only if there are no more values between the ends. */
static bool
are_enough(const Samples *s)
{
	double all = 1;

	for (int i = 0; i < s->nsymbol; i++) {
		int64_t least = s->value[0][i], most = least;

		for (int k = 1; k < s->n; k++) {
			least = s->value[k][i] < least ? s->value[k][i] : least;
			most = s->value[k][i] > most ? s->value[k][i] : most;
		}
		all *= (double)(most - least + 1);
	}
	return s->n >= 5 || all <= s->n;
}

static void
set_ranges(const Samples *s, Sizes *z)
{
	for (int i = 0; i < s->nsymbol; i++) {
		z->range[i][0] = z->range[i][1] = s->value[0][i];
		z->open[i] = !s->limited[i] && !s->d->bounded;
		for (int k = 0; k < s->n; k++) {
			const int64_t v = s->value[k][i];

			z->atom[i][k] = v;
			z->range[i][0] = v < z->range[i][0] ? v : z->range[i][0];
			z->range[i][1] = v > z->range[i][1] ? v : z->range[i][1];
		}
		RT_ASSERT(z->range[i][0] >= 2);
	}
}

/* ---- profiled signatures ----------------------------------------------------------------------------------------- */

/* Sets the first two samples: two profiled ones, or a profiled one and one near it. */
static bool
take_profiled(Samples *s, Specialization *const *signature, int n)
{
	int64_t value[SIZE_SAMPLES][SIZE_ATOMS] = { { 0 } };
	int have = 0, other = 1;

	for (int i = 0; i < n && have < SIZE_SAMPLES; i++)
		if (values_of(s->d->pattern, signature[i]->pattern, s->narg, value[have]))
			have++;
		else
			memset(value[have], 0, sizeof value[have]);
	for (int i = 0; i < s->nsymbol; i++)
		for (int k = 0; k < have; k++) {
			s->most[i] = value[k][i] > s->most[i] ? value[k][i] : s->most[i];
			if (value[k][i] && (!s->least[i] || value[k][i] < s->least[i]))
				s->least[i] = value[k][i];
		}
	for (int i = 0; i < s->nsymbol; i++) {
		if (s->most[i] < 2) {
			s->why = (Cause){ .what = have ? "a size is 0 or 1 in all inputs" : "no input is contiguous" };
			return false;
		}
		for (int k = 0; k < have; k++)
			value[k][i] = value[k][i] ? value[k][i] : s->most[i];
	}
	for (int i = 1; i < s->nsymbol; i++)
		for (int k = 1; k < have && is_taken(value[0], i, -1, value[0][i]); k++)
			if (!is_taken(value[0], i, -1, value[k][i]))
				value[0][i] = value[k][i];
	while (other < have && !memcmp(value[0], value[other], sizeof value[0]))
		other++;
	for (int i = 0; i < s->nsymbol && other >= have; i++)
		value[SIZE_SAMPLES - 1][i] = value[0][i] > 4 ? value[0][i] - 1 : value[0][i] + 1;
	s->d->nprofiled = other < have && !s->d->varied ? 2 : 1;
	return samples_begin(s, value[0], value[other < have ? other : SIZE_SAMPLES - 1]);
}

/* Returns the profile without observations that only calls of one signature have made, since these do not hold at other
 * sizes. */
static Profile *
seen_by_several(Cx *cx, const Profile *profile, Specialization *const *signature, int n)
{
	Profile *p = new(cx->arena, Profile, 1);

	*p = *profile;
	p->value = new(cx->arena, ValueProfile, p->nvalue);
	for (int i = 0; i < p->nvalue; i++) {
		int by = 0;

		for (int k = 0; k < n; k++)
			by += signature[k]->seen && signature[k]->seen[i].count > 0;
		if (by > 1)
			p->value[i] = profile->value[i];
	}
	return p;
}

static Function *
shapes_function(Cx *cx, const Specialization *d, Shapes *shapes)
{
	Function *f = new(cx->arena, Function, 1);

	f->name = d->fn->name;
	f->schema = d->fn->schema;
	f->graph = f->prepared = shapes_graph(shapes);
	code_lower(cx, f, NULL);
	return f;
}

/* ---- numbers that vary ------------------------------------------------------------------------------------------- */

typedef Vec(Node *) Numbers;

static void
varying(Cx *cx, const Block *b, Numbers *out)
{
	for ALL_NODES(n, b)
		if (node_is(n, prim_Constant) && node_attr(n, "varies"))
			vec_push(cx->arena, out, n);
}

/* Gives each constant that varies a number.  Two constants get the same number only if they are equal in all samples.
 * So passes do not merge constants that are equal in one sample only. */
static void
tell_apart(Samples *s)
{
	Map first = { .arena = s->cx->arena };
	Numbers at[SIZE_SAMPLES] = { 0 };
	bool aligned = true;

	for (int k = 0; k < s->n; k++) {
		varying(s->cx, s->d->sample[k].graph->top, &at[k]);
		aligned &= at[k].n == at[0].n;
	}
	for (int i = 0; i < at[0].n && aligned; i++) {
		Buf key = { 0 };
		int64_t is;
		IValue v;

		for (int k = 0; k < s->n; k++)
			if (value_constant(at[k].at[i]->out[0], &v)) {
				value_print(s->cx, v, &key);
				buf_puts(&key, ";");
			}
		if (!(is = (int64_t)(intptr_t)map_get(&first, key.at)))
			map_put(&first, arena_strdup(s->cx->arena, key.at), (void *)(intptr_t)(is = i + 1));
		for (int k = 0; k < s->n; k++)
			node_set_int(at[k].at[i], "varies", is);
		buf_free(&key);
	}
}

/* ---- making samples ---------------------------------------------------------------------------------------------- */

/* Sets the cause if too few samples are possible: that of the last trial, if one failed. */
static bool
too_few(Samples *s)
{
	if (!s->why.what && !s->why.at.src)
		s->why = (Cause){ .what = samples_may_try(s) ? "the model takes the same path at too few other sizes" :
					  "the model is too large to try more sizes" };
	return false;
}

/* Finds samples that separate the numbers of the function. */
static bool
are_samples(Samples *s, Specialization *const *signature, int n)
{
	if (!s->nsymbol || s->nsymbol > SYMBOLS_MOST) {
		s->why = (Cause){ .what = "too many sizes differ" };
		return false;
	}
	if (!take_profiled(s, signature, n))
		return false;
	if (!choose(s) || !are_enough(s))
		return too_few(s);
	for (int i = 0; i < s->nsymbol; i++)
		if (!symbol_is_sampled(s, i))
			return too_few(s);
	return true;
}

bool
samples_make(Cx *cx, Specialization *d, const Profile *profile, Specialization *const *signature, int n, Cause *why)
{
	const int first = function_first(d->fn);
	Samples *s = new(cx->arena, Samples, 1);
	Sizes *z = new(cx->arena, Sizes, 1);
	RtSizes entry;

	RT_ASSERT(n > 0);
	*s = (Samples){ .cx = cx, .d = d, .profile = seen_by_several(cx, profile, signature, n),
			.narg = graph_ninputs(d->fn->prepared) - first, .begun = -1, .left = TRIAL_NODES };
	s->nsymbol = z->nsymbol = z->natom = pattern_nsymbol(d->pattern, s->narg);
	if (!are_samples(s, signature, n)) {
		*why = s->why;
		return false;
	}
	z->nsample = s->n;
	set_ranges(s, z);
	d->sample = new(cx->arena, Specialization, s->n);
	for (int i = 0; i < s->n; i++)
		if (!(s->shapes[i] = try_values(s, s->value[i], &d->sample[i])))
			return false;
	tell_apart(s);
	for (int i = 0; i < s->n; i++)
		passes_run(cx, STAGE_OPTIMIZE, d->fn, d->sample[i].graph, rt_none());
	if (!sizes_learn(cx, z, (const Shapes *const *)s->shapes)) {
		*why = (Cause){ .what = "some sizes are no products of others" };
		return false;
	}
	d->sizes = z;
	d->samples = s;
	d->shapes = shapes_function(cx, d, s->shapes[0]);
	d->graph = d->sample[0].graph;
	entry = sizes_at_entry(d);
	if (sizes_refused(cx, d, &entry) >= 0)
		fail_lacks(cx, (Range){ 0 }, "dynamic sizes here: they cannot be computed without data");
	return true;
}

const Shapes *
samples_shapes(const Specialization *d)
{
	return d->samples ? d->samples->shapes[0] : NULL;
}

/* Returns the chosen sample with the least symbol, compared with the profiled size.  0 if there is none. */
static int
least_sample(const Samples *s)
{
	double least = 1;
	int at = 0;

	for (int k = 2; k < s->n; k++)
		for (int i = 0; i < s->nsymbol; i++) {
			const double size = (double)s->value[k][i] / (double)s->least[i];

			if (size < least) {
				least = size;
				at = k;
			}
		}
	return at;
}

bool
samples_narrow(Cx *cx, Specialization *d)
{
	Samples *s = new(cx->arena, Samples, 1);
	Specialization *left = new(cx->arena, Specialization, d->samples->n);
	Sizes *z = new(cx->arena, Sizes, 1);
	int *at = new(cx->arena, int, SIZE_ATOMS);
	const int gone = least_sample(d->samples);

	RT_ASSERT(d->samples && d->samples->n == d->sizes->nsample);
	*s = *d->samples;
	if (!gone)
		return false;
	s->n = s->nmore = 0;
	memcpy(s->more[0], d->samples->value[gone], sizeof s->more[0]);
	s->more_shapes[s->nmore++] = d->samples->shapes[gone];
	for (int k = 0; k < d->samples->n; k++)
		if (k != gone) {
			left[s->n] = d->sample[k];
			s->shapes[s->n] = d->samples->shapes[k];
			memcpy(s->value[s->n++], d->samples->value[k], sizeof s->value[0]);
		}
	if (!are_enough(s) || told_apart(s, at, different_numbers(s, at), 0))
		return false;
	for (int i = 0; i < s->nsymbol; i++)
		if (!symbol_is_sampled(s, i))
			return false;
	z->nsymbol = z->natom = s->nsymbol;
	z->nsample = s->n;
	set_ranges(s, z);
	if (!sizes_learn(cx, z, (const Shapes *const *)s->shapes))
		return false;
	d->sample = left;
	d->sizes = z;
	d->samples = s;
	return true;
}
