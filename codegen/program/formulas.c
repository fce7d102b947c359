/* codegen/program/formulas.c - merges the texts of a dynamic specialization's samples into one
 *
 * The texts are equal except for the numbers at marks. A number that differs becomes a formula over sizes. */
#include "dynamic.h"

#include <stdlib.h>
#include <string.h>

static const char *
formula_text(Formulas *f, const RtSizeExpr *e)
{
	Arena *a = f->dynamic->cx->arena;
	const char *text = e->c == 1 && e->n ? "" : arena_printf(a, "%lld", (long long)(e->n ? e->c : e->d));

	for (int i = 0; i < e->n; i++)
		text = arena_printf(a, "%s%ss[%d]", text, *text ? " * " : "", e->atom[i]);
	if (e->n && e->d)
		text = arena_printf(a, "%s %c %lld", text, e->d < 0 ? '-' : '+', (long long)(e->d < 0 ? -e->d : e->d));
	return text;
}

/* Finds an expression for v. Prefers a product of the function's sizes to a product with a count, and both to a sum. */
static bool
express(const Formulas *f, const int64_t *v, RtSizeExpr *e)
{
	const Sizes *const z[] = { f->dynamic->sample_sizes, &f->sizes };

	for (int offset = 0; offset < 2; offset++)
		for (int i = 0; i < 2; i++)
			if (sizes_express(z[i], v, offset, e)) {
				for (int k = 0; k < e->n; k++)
					e->atom[k] = f->of[e->atom[k]];
				return true;
			}
	return false;
}

const char *
formulas_of(Formulas *f, const int64_t *v)
{
	RtSizeExpr e;

	return express(f, v, &e) ? formula_text(f, &e) : NULL;
}

/* Adds conditions on a count whose argument has the values x and whose result has the values v. Needed if v also has a
 * formula in the function's sizes, or if x always has the same remainder: then the samples cannot tell count and
 * formula apart. */
static void
tie_count(Dynamic *d, const RtSizeCount *count, const int64_t *x, const int64_t *v)
{
	bool same_rest = true;
	RtSizeExpr e;

	if (sizes_express(d->sample_sizes, v, true, &e))
		sizes_tie(d->cx, d->sample_sizes, (RtSizeTie){ RT_TIE_CEIL, count->x, count->q, e });
	for (int k = 1; k < d->n; k++)
		same_rest &= x[k] % count->q == x[0] % count->q;
	if (same_rest)
		sizes_tie(d->cx, d->sample_sizes, (RtSizeTie){ RT_TIE_REST, count->x, count->q,
							     { .d = x[0] % count->q } });
}

/* Adds an atom to this text for the count at s[at], which has the values v. */
static bool
add_counted(Formulas *f, const int64_t *v, int at)
{
	const int atom = sizes_add_atom(&f->sizes, v);

	if (atom < 0 || at < 0)
		return false;
	f->of[atom] = (int16_t)at;
	return true;
}

/* Adds a call of plan_ceil. Its results on the samples become an atom of this text, unless they are equal. */
static bool
add_count(Formulas *f, const int64_t *x, int64_t q)
{
	RtSizeCount count = { .q = q };
	int64_t v[SIZE_SAMPLES];
	bool same = true;

	for (int k = 0; k < f->dynamic->n; k++) {
		v[k] = (x[k] + q - 1) / q;
		same &= v[k] == v[0];
	}
	if (!express(f, x, &count.x))
		return false;
	if (same)
		return true;
	tie_count(f->dynamic, &count, x, v);
	return add_counted(f, v, sizes_count(f->dynamic->cx, f->dynamic->sample_sizes, count));
}

bool
formulas_begin(Dynamic *d, Formulas *f)
{
	RT_ASSERT(d->n > 0 && d->n <= SIZE_SAMPLES && d->shared[0].derived.n % 2 == 0);
	*f = (Formulas){ .dynamic = d, .sizes = *d->sample_sizes };
	for (int i = 0; i < d->sample_sizes->natom; i++)
		f->of[i] = (int16_t)i;
	for (int k = 1; k < d->n; k++)
		if (d->shared[k].derived.n != d->shared[0].derived.n)
			return false;
	for (int i = 0; i < d->shared[0].derived.n; i += 2) {
		const int64_t q = d->shared[0].derived.at[i + 1];
		int64_t x[SIZE_SAMPLES];

		for (int k = 0; k < d->n; k++) {
			x[k] = d->shared[k].derived.at[i];
			if (d->shared[k].derived.at[i + 1] != q)
				return false;
		}
		if (!add_count(f, x, q))
			return false;
	}
	return true;
}

static const char *
local_for(Formulas *f, const int64_t *v)
{
	const char *text = formulas_of(f, v);

	if (!text)
		return NULL;
	for (int i = 0; i < f->text.n; i++)
		if (!strcmp(f->text.at[i], text))
			return arena_printf(f->dynamic->cx->arena, "size%d", i);
	vec_push(f->dynamic->cx->arena, &f->text, text);
	return arena_printf(f->dynamic->cx->arena, "size%d", f->text.n - 1);
}

/* Returns the name (real0 ...) of a float that was found among the sizes. */
static const char *
real_for(Formulas *f, const int64_t *bits)
{
	int atom = 0, at = 0;

	while (atom < f->sizes.natom && memcmp(f->sizes.atom[atom], bits, (size_t)f->dynamic->n * sizeof *bits))
		atom++;
	if (atom == f->sizes.natom)
		return NULL;
	while (at < f->real.n && f->real.at[at] != atom)
		at++;
	if (at == f->real.n)
		vec_push(f->dynamic->cx->arena, &f->real, atom);
	return arena_printf(f->dynamic->cx->arena, "real%d", at);
}

/* Records how the samples' texts differ. Returns null. */
static const char *
differ(Formulas *f, const char *const *text)
{
	f->dynamic->why = ": ";
	for (int k = 0; k < f->dynamic->n; k++)
		f->dynamic->why = arena_printf(f->dynamic->cx->arena, "%s%s'%s'", f->dynamic->why, k ? ", " : "",
					       text[k]);
	return NULL;
}

/* Returns the text that replaces mark i: a number that is equal on all samples, or a formula. Null if
 * there is none. */
static const char *
marked_text(Formulas *f, int i)
{
	const Dynamic *d = f->dynamic;
	const Marked *m = &d->shared[0].marked.at[i];
	const char *found, *text[SIZE_SAMPLES];
	int64_t v[SIZE_SAMPLES];
	bool same = true;

	for (int k = 0; k < d->n; k++) {
		if (d->shared[k].marked.at[i].kind != m->kind)
			return NULL;
		v[k] = d->shared[k].marked.at[i].value;
		same &= v[k] == v[0];
	}
	for (int k = 0; k < d->n; k++)
		text[k] = m->kind == MARKED_INT ? arena_printf(d->cx->arena, "%lld", (long long)v[k]) :
			arena_printf(d->cx->arena, "%.17g", rt_double_of(v[k]));
	found = same ? text[0] : m->kind == MARKED_INT ? local_for(f, v) : real_for(f, v);
	return found ? found : differ(f, text);
}

/* Records the first word or number in which the texts differ, up to the next space or comma. Returns null. */
static const char *
texts_differ(Formulas *f, const char *const *text)
{
	const char *rest[SIZE_SAMPLES];
	Arena *a = f->dynamic->cx->arena;
	size_t same = 0;

	for (bool all = true; all && text[0][same]; same += all)
		for (int k = 1; k < f->dynamic->n; k++)
			all &= text[k][same] == text[0][same];
	for (int k = 0; k < f->dynamic->n; k++)
		rest[k] = arena_printf(a, "%.*s", (int)strcspn(text[k] + same, " ,;)\n\1"), text[k] + same);
	return differ(f, rest);
}

const char *
formulas_replace(Formulas *f, const char *const *text)
{
	const Dynamic *d = f->dynamic;
	const char *at = text[0];
	Buf b = { 0 };

	for (int k = 1; k < d->n; k++)
		if (d->shared[k].marked.n != d->shared[0].marked.n || strcmp(text[k], text[0]))
			return texts_differ(f, text);
	for (const char *mark; (mark = strchr(at, MARK));) {
		char *end;
		const char *by = marked_text(f, (int)strtol(mark + 1, &end, 10));

		if (!by) {
			buf_free(&b);
			return NULL;
		}
		buf_add(&b, at, mark - at);
		buf_puts(&b, by);
		at = end + 1;
	}
	buf_puts(&b, at);
	return arena_text(d->cx->arena, &b);
}

char *
formulas_locals(const Formulas *f)
{
	Buf b = { 0 };

	for (int i = 0; i < f->text.n; i++)
		buf_printf(&b, "\tconst int64_t size%d = %s;\n", i, f->text.at[i]);
	for (int i = 0; i < f->real.n; i++)
		buf_printf(&b, "\tconst double real%d = rt_double_of(s[%d]);\n", i, f->of[f->real.at[i]]);
	return arena_text(f->dynamic->cx->arena, &b);
}
