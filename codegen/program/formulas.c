/* codegen/program/formulas.c - the texts of a dynamic specialization's samples as one text, in which a number
 * that differs between them is a formula of sizes
 */
#include "dynamic.h"

#include <stdlib.h>
#include <string.h>

static const char *
formula_text(Formulas *f, const RtSizeExpr *e)
{
	Arena *a = f->d->cx->arena;
	const char *text = e->c == 1 && e->n ? "" : arena_printf(a, "%lld", (long long)(e->n ? e->c : e->d));

	for (int i = 0; i < e->n; i++)
		text = arena_printf(a, "%s%ss[%d]", text, *text ? " * " : "", e->atom[i]);
	if (e->n && e->d)
		text = arena_printf(a, "%s %c %lld", text, e->d < 0 ? '-' : '+', (long long)(e->d < 0 ? -e->d : e->d));
	return text;
}

/* Tries a product of the function's sizes before one with a count, and no summand before one. */
static bool
express(const Formulas *f, const int64_t *v, RtSizeExpr *e)
{
	const Sizes *const z[] = { f->d->z, &f->z };

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

/* Adds ties for a count with the values v of x.  Where v also has a formula in the function's sizes, or x always has
 * the same remainder, the samples do not tell the two apart. */
static void
tie_count(Dynamic *d, const RtSizeCount *count, const int64_t *x, const int64_t *v)
{
	bool same_rest = true;
	RtSizeExpr e;

	if (sizes_express(d->z, v, true, &e))
		sizes_tie(d->cx, d->z, (RtSizeTie){ RT_TIE_CEIL, count->x, count->q, e });
	for (int k = 1; k < d->n; k++)
		same_rest &= x[k] % count->q == x[0] % count->q;
	if (same_rest)
		sizes_tie(d->cx, d->z, (RtSizeTie){ RT_TIE_REST, count->x, count->q, { .d = x[0] % count->q } });
}

/* The values v are those of the count at s[at]: an atom of this text. */
static bool
add_counted(Formulas *f, const int64_t *v, int at)
{
	const int atom = sizes_add_atom(&f->z, v);

	if (atom < 0 || at < 0)
		return false;
	f->of[atom] = (int16_t)at;
	return true;
}

/* x, c * size + d, is a factor of numbers in this text and in the function's. */
static bool
add_factor(Formulas *f, const int64_t *x)
{
	Dynamic *d = f->d;
	Factor factor;
	RtSizeExpr e;

	for (int k = 0; k < d->n; k++)
		if (x[k] < 0)
			return true;
	if (sizes_express(d->z, x, false, &e) || !sizes_express(d->z, x, true, &e))
		return true;
	factor.at = sizes_count(d->cx, d->z, (RtSizeCount){ .x = e, .q = 1 });
	memcpy(factor.v, x, sizeof factor.v[0] * (size_t)d->n);
	vec_push(d->cx->arena, &d->factor, factor);
	return add_counted(f, x, factor.at);
}

/* What plan_ceil was asked on the samples: its values become an atom of this text, unless they are the same. */
static bool
add_count(Formulas *f, const int64_t *x, int64_t q)
{
	RtSizeCount count = { .q = q };
	int64_t v[SIZE_SAMPLES];
	bool same = true;

	if (q == 1)
		return add_factor(f, x);
	for (int k = 0; k < f->d->n; k++) {
		v[k] = (x[k] + q - 1) / q;
		same &= v[k] == v[0];
	}
	if (!express(f, x, &count.x))
		return false;
	if (same)
		return true;
	tie_count(f->d, &count, x, v);
	return add_counted(f, v, sizes_count(f->d->cx, f->d->z, count));
}

bool
formulas_begin(Dynamic *d, Formulas *f)
{
	*f = (Formulas){ .d = d, .z = *d->z };
	for (int i = 0; i < d->z->natom; i++)
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

void
formulas_add_factors(Formulas *f)
{
	for (int i = 0; i < f->d->factor.n; i++) {
		const Factor *factor = &f->d->factor.at[i];
		bool known = false;

		for (int k = 0; k < i && !known; k++)
			known = f->d->factor.at[k].at == factor->at;
		if (!known)
			add_counted(f, factor->v, factor->at);
	}
}

static const char *
local_for(Formulas *f, const int64_t *v)
{
	const char *text = formulas_of(f, v);

	if (!text)
		return NULL;
	for (int i = 0; i < f->text.n; i++)
		if (!strcmp(f->text.at[i], text))
			return arena_printf(f->d->cx->arena, "size%d", i);
	vec_push(f->d->cx->arena, &f->text, text);
	return arena_printf(f->d->cx->arena, "size%d", f->text.n - 1);
}

static bool
is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Reads the number at t, and returns its length with suffix; 0: it cannot be a size. */
static int
number_at(const char *t, int64_t *v)
{
	char *end;

	*v = strtoll(t, &end, 10);
	while (*end == 'L' || *end == 'u')
		end++;
	return *end == '.' || is_word(*end) ? 0 : (int)(end - t);
}

/* Reads the float at t, and returns its length; 0: there is none. */
static int
float_at(const char *t, int64_t *bits)
{
	const int n = (int)strspn(t, "0123456789.e+-");
	char *end;
	double x;

	if (*t < '0' || *t > '9' || !memchr(t, '.', (size_t)n))
		return 0;
	x = strtod(t, &end);
	memcpy(bits, &x, sizeof x);
	return is_word(*end) ? 0 : (int)(end - t);
}

/* A float that was seen among the sizes: real0. */
static const char *
real_for(Formulas *f, const int64_t *bits)
{
	int atom = 0, at = 0;

	while (atom < f->z.natom && memcmp(f->z.atom[atom], bits, (size_t)f->d->n * sizeof *bits))
		atom++;
	if (atom == f->z.natom)
		return NULL;
	while (at < f->real.n && f->real.at[at] != atom)
		at++;
	if (at == f->real.n)
		vec_push(f->d->cx->arena, &f->real, atom);
	return arena_printf(f->d->cx->arena, "real%d", at);
}

/* Notes how the samples differ; null. */
static const char *
differ(Formulas *f, const char *const *text)
{
	f->d->why = ": ";
	for (int k = 0; k < f->d->n; k++)
		f->d->why = arena_printf(f->d->cx->arena, "%s%s'%s'", f->d->why, k ? ", " : "", text[k]);
	return NULL;
}

/* What stands for mark i: a number that is the same on all samples, a formula, an epilogue; null: there is nothing. */
static const char *
marked_text(Formulas *f, int i, const Capture *capture)
{
	const Dynamic *d = f->d;
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
	if (m->kind == MARKED_EPILOGUE)
		return same ? capture->at.at[v[0]].name : NULL;
	found = same ? text[0] : m->kind == MARKED_INT ? local_for(f, v) : real_for(f, v);
	return found ? found : differ(f, text);
}

/* Where the texts begin to differ, as far as the next space or comma. */
static const char *
texts_differ(Formulas *f, const char *const *text)
{
	const char *rest[SIZE_SAMPLES];
	size_t same = 0;

	for (bool all = true; all && text[0][same]; same += all)
		for (int k = 1; k < f->d->n; k++)
			all &= text[k][same] == text[0][same];
	for (int k = 0; k < f->d->n; k++)
		rest[k] = arena_printf(f->d->cx->arena, "%.*s", (int)strcspn(text[k] + same, " ,;)\n\1"), text[k] + same);
	return differ(f, rest);
}

const char *
formulas_replace(Formulas *f, const char *const *text, const Capture *capture)
{
	const Dynamic *d = f->d;
	const char *at = text[0];
	Buf b = { 0 };

	for (int k = 1; k < d->n; k++)
		if (d->shared[k].marked.n != d->shared[0].marked.n || strcmp(text[k], text[0]))
			return texts_differ(f, text);
	for (const char *mark; (mark = strchr(at, MARK));) {
		char *end;
		const char *by = marked_text(f, (int)strtol(mark + 1, &end, 10), capture);

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
formulas_unify(Formulas *f, const char *const *text)
{
	const int n = f->d->n;
	const char *t[SIZE_SAMPLES] = { 0 };
	char before = 0;
	Buf b = { 0 };

	for (int k = 0; k < n; k++)
		t[k] = text[k];
	while (*t[0]) {
		int64_t v[SIZE_SAMPLES];
		int length[SIZE_SAMPLES];
		bool numbers = !is_word(before) && before != '.', differ = false, real = false;

		for (int k = 0; k < n && numbers; k++) {
			real |= (length[k] = float_at(t[k], &v[k])) > 0;
			numbers = *t[k] >= '0' && *t[k] <= '9' &&
				  (length[k] || (!real && (length[k] = number_at(t[k], &v[k])) > 0));
			differ |= numbers && v[k] != v[0];
		}
		if (numbers && differ) {
			const char *name = real ? real_for(f, v) : local_for(f, v);

			if (!name)
				goto failed;
			buf_puts(&b, name);
			for (int k = 0; k < n; k++)
				t[k] += length[k];
			before = '0';
			continue;
		}
		for (int k = 1; k < n; k++)
			if (*t[k] != *t[0])
				goto failed;
		before = *t[0];
		buf_add(&b, t[0], 1);
		for (int k = 0; k < n; k++)
			t[k]++;
	}
	for (int k = 1; k < n; k++)
		if (*t[k])
			goto failed;
	return b.at;
failed:
	f->d->why = ": ";
	for (int k = 0; k < n; k++)
		f->d->why = arena_printf(f->d->cx->arena, "%s%s'%.*s'", f->d->why, k ? ", " : "",
					 (int)strcspn(t[k], " ,;)\n"), t[k]);
	buf_free(&b);
	return NULL;
}

char *
formulas_locals(const Formulas *f)
{
	Buf b = { 0 };

	for (int i = 0; i < f->text.n; i++)
		buf_printf(&b, "\tconst int64_t size%d = %s;\n", i, f->text.at[i]);
	for (int i = 0; i < f->real.n; i++)
		buf_printf(&b, "\tconst double real%d = rt_double_of(s[%d]);\n", i, f->of[f->real.at[i]]);
	return arena_text(f->d->cx->arena, &b);
}
