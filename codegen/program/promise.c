/* codegen/program/promise.c - finds the sizes that a dynamic specialization will accept
 *
 * At first, the range of a symbol is that of the samples. When the program is called, rt_sizes decides whether it
 * accepts a size. So the same function is asked here about all samples, and about sizes spread over each symbol's range
 * with the other symbols as in a sample. If it refuses a size, the range is cut there. The remaining range contains the
 * profiled size. */
#include "dynamic.h"

#include <string.h>

enum { ASKED = 8 };              /* number of sizes tested for each symbol, besides the ends of its range */

typedef struct Promise {
	Dynamic *dynamic;
	RtSizes of;              /* size checks that the program will make at entry */
} Promise;

bool
dynamic_buffers(Dynamic *d, RtSizeBuffers *out)
{
	for (int i = 0; i < d->plan[0]->buffers.n; i++) {
		const Buffer *first = d->plan[0]->buffers.at[i];
		RtSizeBuffer b = { .first = first->first, .last = first->last };
		int64_t v[SIZE_SAMPLES];

		for (int k = 0; k < d->n; k++) {
			const Buffer *other = i < d->plan[k]->buffers.n ? d->plan[k]->buffers.at[i] : NULL;

			if (!other || d->plan[k]->buffers.n != d->plan[0]->buffers.n || other->home != first->home ||
			    other->first != first->first || other->last != first->last || other->spot != first->spot)
				return false;
			v[k] = other->bytes;
		}
		if (first->home != HOME_ARENA)
			continue;
		if (!sizes_express(d->sample_sizes, v, true, &b.bytes)) {
			d->why = arena_printf(d->cx->arena, ": the bytes of a buffer, %lld, %lld", (long long)v[0],
					      (long long)v[1]);
			return false;
		}
		vec_push(d->cx->arena, out, b);
	}
	return true;
}

/* Whether x is the value of another symbol. No sample has equal sizes for two symbols, because they would be
 * confused. */
static bool
is_another(const Sizes *z, int symbol, const int64_t *value, int64_t x)
{
	for (int i = 0; i < z->nsymbol; i++)
		if (i != symbol && value[i] == x)
			return true;
	return false;
}

/* Does the program accept these sizes?  If the rules of the operators accept sizes that the operators refuse, the
 * rules are wrong for this model: the program then runs the operators. */
static bool
accepts_sizes(Promise *p, const int64_t *at)
{
	const Dynamic *d = p->dynamic;
	RtSizes numbers = p->of;
	int64_t s[SIZE_ATOMS];

	if (sizes_are_taken(d->cx, d->spec, &p->of, at))
		return true;
	numbers.ntie = numbers.nbuffer = 0;
	memcpy(s, at, sizeof s);
	if (!d->proof->checked && proof_values(d->sample_sizes, d->proof, s) &&
	    !sizes_are_taken(d->cx, d->spec, &numbers, at))
		proof_drop(d->proof);
	return false;
}

/* Cuts the symbol's range to the accepted sizes around its own value. The other symbols have the values `value`. */
static void
cut_range(Promise *p, int symbol, const int64_t *value)
{
	int64_t *range = p->dynamic->sample_sizes->range[symbol], at[SIZE_ATOMS];
	const int64_t step = sizes_step(p->dynamic->sample_sizes, symbol), low = range[0],
		      count = (range[1] - low) / step, own = value[symbol];

	memcpy(at, value, sizeof at);
	for (int i = 1; i < ASKED; i++) {
		const int64_t x = at[symbol] = low + count * i / ASKED * step;

		if (x <= range[0] || x >= range[1] || x == own ||
		    is_another(p->dynamic->sample_sizes, symbol, value, x) ||
		    accepts_sizes(p, at))
			continue;
		if (x < own)
			range[0] = x + step;
		else
			range[1] = x - step;
	}
}

/* Extends the open ranges that were not cut. If all sizes are proved, kernels and formulas hold for every size that
 * meets the demands, so only the width of the numbers ends a range. */
static void
open_ranges(const Dynamic *d)
{
	Sizes *z = d->sample_sizes;
	int64_t end = SIZE_OPEN;

	while (end && !proof_fits_in_words(z, d->proof, end))
		end /= 2;
	for (int i = 0; i < z->nsymbol; i++)
		if (z->open[i] && z->range[i][1] == sizes_most(z, i) && z->range[i][1] < end)
			z->range[i][1] = end;
}

/* Whether every symbol still has at least two sizes. */
static bool
are_ranges(const Sizes *z)
{
	for (int i = 0; i < z->nsymbol; i++)
		if (z->range[i][0] >= z->range[i][1])
			return false;
	return true;
}

const char *
promise_check(Dynamic *d)
{
	Sizes *z = d->sample_sizes;
	RtSizeBuffers buffers = { 0 };
	Promise p = { .dynamic = d, .of = sizes_at_entry(d->spec) };
	int64_t value[SIZE_ATOMS];
	int refused;

	if (!dynamic_buffers(d, &buffers))
		return "buffers differ";
	p.of.buffer = buffers.at;
	p.of.nbuffer = buffers.n;
	if ((refused = sizes_refused(d->cx, d->spec, &p.of)) >= 0)
		return arena_printf(d->cx->arena, "its formulas refuse the size %lld, which it was built for",
				    (long long)z->atom[0][refused]);
	for (int i = 0; i < z->nsymbol; i++)
		value[i] = z->atom[i][0];
	for (int i = 0; i < z->nsymbol; i++)
		cut_range(&p, i, value);
	if (!are_ranges(z))
		return "its formulas accept few of the sizes between those that it was built for";
	if (!d->proof->checked)
		open_ranges(d);
	return NULL;
}
