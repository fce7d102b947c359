/* codegen/program/promise.c - the ranges of a dynamic specialization, as its program will take them
 *
 * A range is what the samples span.  Whether a program takes a size between them is decided by rt_sizes when it is
 * called, which is asked here: about all samples, and about sizes spread over each symbol's range while the others are
 * as in a sample.  A range in which a size is refused is cut there; what is left holds the profiled size.
 */
#include "dynamic.h"

#include <string.h>

enum { ASKED = 8 };              /* sizes of each symbol, its ends aside */

typedef struct Promise {
	Dynamic *d;
	RtSizes of;              /* size checks that the program will make at entry */
	int narg;
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
		if (!sizes_express(d->z, v, true, &b.bytes)) {
			d->why = arena_printf(d->cx->arena, ": the bytes of a buffer, %lld, %lld", (long long)v[0],
					      (long long)v[1]);
			return false;
		}
		vec_push(d->cx->arena, out, b);
	}
	return true;
}

/* Arguments without data for these values of the symbols.  What is not known of them no size depends on. */
static IValue *
arguments(Promise *p, KnownTable *k, const int64_t *value)
{
	Cx *cx = p->d->cx;
	Graph *g = p->d->fn->prepared;
	const int first = function_first(p->d->fn);
	const Pattern *at = pattern_at(cx, p->d->d->pattern, p->narg, value);
	IValue *reg = new(cx->arena, IValue, first + p->narg + 1);

	for (int i = 0; i < p->narg; i++)
		reg[first + i] = known_argument(k, &at[i], type_unshaped(cx, graph_inputs(g)[first + i]->type));
	return reg;
}

static bool
is_taken(Promise *p, const int64_t *value)
{
	KnownTable *k = known_table(p->d->cx);
	IValue *reg = arguments(p, k, value);
	const bool is = rt_sizes(&k->rt, &p->of, reg, value);

	for (int i = 0; i < p->narg + function_first(p->d->fn); i++)
		rt_release(reg[i]);
	rt_cx_free(&k->rt);
	return is;
}

/* Is x the value of another symbol?  Samples have no equal ones, whose sizes would be confused. */
static bool
is_another(const Sizes *z, int symbol, const int64_t *value, int64_t x)
{
	for (int i = 0; i < z->nsymbol; i++)
		if (i != symbol && value[i] == x)
			return true;
	return false;
}

/* Cuts the symbol's range to the sizes around `own` that are taken, the other symbols being as in `value`. */
static void
cut_range(Promise *p, int symbol, const int64_t *value)
{
	int64_t *range = p->d->z->range[symbol], at[SIZE_ATOMS];
	const int64_t step = sizes_step(p->d->z, symbol), low = range[0], count = (range[1] - low) / step,
		      own = value[symbol];

	memcpy(at, value, sizeof at);
	for (int i = 1; i < ASKED; i++) {
		const int64_t x = at[symbol] = low + count * i / ASKED * step;

		if (x <= range[0] || x >= range[1] || x == own || is_another(p->d->z, symbol, value, x) ||
		    is_taken(p, at))
			continue;
		if (x < own)
			range[0] = x + step;
		else
			range[1] = x - step;
	}
}

/* Is every symbol still one of at least two sizes? */
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
	const Function *shapes = d->d->shapes;
	Sizes *z = d->z;
	RtSizeBuffers buffers = { 0 };
	Promise p = { .d = d, .narg = graph_ninputs(d->fn->prepared) - function_first(d->fn) };
	int64_t value[SIZE_ATOMS];

	if (!dynamic_buffers(d, &buffers))
		return "buffers differ";
	p.of = (RtSizes){ shapes->code, z->expr.at, z->number.at, buffers.at, z->count.at, z->tie.at,
			  (const int64_t (*)[2])z->range, z->number.n, z->nsymbol, z->natom, buffers.n, z->count.n,
			  z->tie.n };
	for (int k = 0; k < z->nsample; k++) {
		for (int i = 0; i < z->nsymbol; i++)
			value[i] = z->atom[i][k];
		if (!is_taken(&p, value))
			return arena_printf(d->cx->arena, "its program would not take a size of %lld, which it was "
					    "made for", (long long)value[0]);
	}
	for (int i = 0; i < z->nsymbol; i++)
		value[i] = z->atom[i][0];
	for (int i = 0; i < z->nsymbol; i++)
		cut_range(&p, i, value);
	return are_ranges(z) ? NULL : "its program would take few sizes between those that it was made for";
}
