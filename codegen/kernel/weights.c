/* codegen/kernel/weights.c - the weights of a program: one sequence of bytes, which elf.c makes an object file */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

const char *const weight_forms[] = { "plain", "panels", "winograd", "taps", "bias", "gpu" };

const char *const forms_names[] = { [FORMS_MADE] = "made", [FORMS_FAST] = "fast", [FORMS_SMALL] = "small", NULL };

static const char *
content_key(Weights *w, const void *data, int64_t bytes)
{
	return arena_printf(w->cx->arena, "%016llx:%lld", (unsigned long long)hash_bytes(data, bytes),
			    (long long)bytes);
}

int64_t
weights_add(Weights *w, WeightForm form, const void *data, int64_t bytes)
{
	static const char zeros[WEIGHTS_LINE];
	const char *key = content_key(w, data, bytes);
	const intptr_t known = (intptr_t)map_get(&w->known, key);
	int64_t at;

	RT_ASSERT(form >= 0 && form < NWEIGHT_FORM && bytes >= 0);
	if (known && !memcmp(w->bytes.at + known - 1, data, (size_t)bytes))
		return known - 1;
	spill_add(w->cx, &w->bytes, zeros, -w->bytes.n & (WEIGHTS_LINE - 1));
	at = w->bytes.n;
	RT_ASSERT(at % WEIGHTS_LINE == 0);
	w->form_bytes[form] += bytes;
	spill_add(w->cx, &w->bytes, data, bytes);
	if (!known)
		map_put(&w->known, key, (void *)(intptr_t)(at + 1));
	return at;
}

static int
original_of(Weights *w, const void *data, int64_t bytes)
{
	const char *key = content_key(w, data, bytes);
	const intptr_t known = (intptr_t)map_get(&w->original_of, key);
	Original o = { .data = data, .bytes = bytes };

	if (known && !memcmp(w->originals.at[known - 1].data, data, (size_t)bytes))
		return (int)known - 1;
	archive_forget(w->cx, data, bytes);
	vec_push(w->cx->arena, &w->originals, o);
	if (!known)
		map_put(&w->original_of, key, (void *)(intptr_t)w->originals.n);
	return w->originals.n - 1;
}

static int
widened_original(Weights *w, const Widened *floats)
{
	Original o = { .widened = floats, .bytes = floats->storage->bytes };

	vec_push(w->cx->arena, &w->originals, o);
	return w->originals.n - 1;
}

int
weights_storage(Weights *w, RtStorage *s)
{
	const char *key = arena_printf(w->cx->arena, "%p", (const void *)s);
	const intptr_t known = (intptr_t)map_get(&w->storage_of, key);
	const Widened *floats = storage_widened(w->cx, s);
	Stored stored = { .storage = s };

	if (known)
		return (int)known - 1;
	rt_count_up(&s->h);
	stored.original = floats ? widened_original(w, floats) : original_of(w, s->data, s->bytes);
	vec_push(w->cx->arena, &w->storages, stored);
	map_put(&w->storage_of, key, (void *)(intptr_t)w->storages.n);
	return w->storages.n - 1;
}

static Original *
original_at(Weights *w, RtStorage *s)
{
	const int at = weights_storage(w, s);

	return &w->originals.at[w->storages.at[at].original];
}

void
weights_use(Weights *w, RtStorage *s, WeightUse use)
{
	Original *o = original_at(w, s);

	o->used = true;
	o->called |= use == WEIGHT_CALLED;
	o->needed |= use == WEIGHT_NEEDED;
}

int64_t
weights_called(const Weights *w)
{
	int64_t bytes = 0;

	for (int i = 0; i < w->storages.n; i++) {
		const Original *o = &w->originals.at[w->storages.at[i].original];

		bytes += o->packed && o->called ? o->bytes : 0;
	}
	return bytes;
}

void
weights_read(Emit *e, const RtTensor *t)
{
	const Widened *floats = storage_widened(e->cx, t->storage);
	const RtStorage *s = floats ? floats->of : t->storage;

	widened_trim(e->cx);
	if (!s->written)
		archive_forget(e->cx, s->data, s->bytes);
}

/* ---- elements that were moved ------------------------------------------------------------------------------------ */

/* Returns the source's element at column `col`, (k, tap) of p. Negative: it has none and is zero. */
static int64_t
element_at(const Moved *m, const RtPacking *p, int64_t col, int64_t k, int64_t tap)
{
	return m->from[rt_packing_place(p, col, k, tap)];
}

/* Finds the first element of a column with a source. */
static bool
first_of(const Moved *m, const RtPacking *p, int64_t col, int64_t *k, int64_t *tap)
{
	for (*k = 0; *k < p->k; ++*k)
		for (*tap = 0; *tap < p->taps; ++*tap)
			if (element_at(m, p, col, *k, *tap) >= 0)
				return true;
	return false;
}

/* Sets q's strides between rows of column `col` in the source, from (k, tap) on. */
static void
find_rows(const Moved *m, const RtPacking *p, RtPacking *q, int64_t col, int64_t k, int64_t tap)
{
	const int64_t first = element_at(m, p, col, k, tap),
		      next = k + 1 < p->k ? element_at(m, p, col, k + 1, tap) : -1;
	int64_t end = k + 1, far;

	q->sk = next >= 0 ? (int32_t)(next - first) : 0;
	while (end < p->k && element_at(m, p, col, end, tap) == first + (end - k) * q->sk)
		end++;
	q->inner = q->so = 0;
	for (far = end; far < p->k && element_at(m, p, col, far, tap) < 0; far++)
		;
	if (far == p->k)
		return;
	q->inner = (int32_t)(end - k);
	q->so = (int32_t)((element_at(m, p, col, far, tap) - first) / ((far - k) / q->inner));
}

/* Returns the distance in the source of two taps `more` apart within one run of `span` taps. 0 if there are no two. */
static int32_t
tap_stride(const Moved *m, const RtPacking *p, const int64_t at[2], int64_t more, int64_t span)
{
	for (int64_t tap = 0; tap + more < p->taps; tap++) {
		const int64_t one = element_at(m, p, at[0], at[1], tap),
			      next = element_at(m, p, at[0], at[1], tap + more);

		if (one >= 0 && next >= 0 && tap % span + more < span)
			return (int32_t)(next - one);
	}
	return 0;
}

/* Are the elements of column `col` zeros or at the positions that q gives them? q begins with column `first` of p. */
static bool
follows(const Moved *m, const RtPacking *p, const RtPacking *q, int64_t first, int64_t col)
{
	for (int64_t tap = 0; tap < p->taps; tap++)
		for (int64_t k = 0; k < p->k; k++) {
			const int64_t from = element_at(m, p, col, k, tap);

			if (from >= 0 && from != rt_packing_place(q, col - first, k, tap))
				return false;
		}
	return true;
}

/* Returns the longest part of the source with regular strides that is in columns of p from `col` on. n is 0 if all are
 * zeros. */
static RtPacking
source_part(const Moved *m, const RtPacking *p, int64_t col)
{
	const int64_t at = p->skip + col, panel = at / p->width, bytes = p->quad ? 1 : p->from ? 2 : 4,
		      plane = p->kh ? p->kh * p->kw : p->taps;
	RtPacking q = *p;
	int64_t k, tap, first;

	q.n = 0;
	if (!first_of(m, p, col, &k, &tap))
		return q;
	first = element_at(m, p, col, k, tap);
	q.at += panel * p->width * p->k * p->taps * bytes;
	q.skip = (int32_t)(at % p->width);
	q.sn = col + 1 < p->n ? (int32_t)(element_at(m, p, col + 1, k, tap) - first) : 0;
	find_rows(m, p, &q, col, k, tap);
	q.ss = tap_stride(m, p, (int64_t[2]){ col, k }, 1, p->kw);
	q.sr = tap_stride(m, p, (int64_t[2]){ col, k }, p->kw, plane);
	q.sd = tap_stride(m, p, (int64_t[2]){ col, k }, plane, p->taps);
	q.to = 0;
	q.to = first - rt_packing_place(&q, 0, k, tap);
	while (col + q.n < p->n && follows(m, p, &q, col, col + q.n))
		q.n++;
	if ((at + q.n - 1) / p->width < (p->skip + p->n - 1) / p->width)
		q.last = p->width;
	return q;
}

void
weights_note(Weights *w, RtStorage *s, RtPacking p)
{
	const Moved *m = storage_source(w->cx, s);
	const Widened *floats = storage_widened(w->cx, s);

	vec_push(w->cx->arena, &original_at(w, s)->parts, p);
	if (floats) {
		p.as = floats->dtype;
		p.to += floats->from;
		weights_note(w, floats->of, p);
	}
	for (int64_t col = 0; m && !p.group && col < p.n;) {
		const RtPacking q = source_part(m, &p, col);

		if (q.n)
			weights_note(w, m->of, q);
		col += q.n ? q.n : 1;
	}
}

/* ---- plain storages ---------------------------------------------------------------------------------------------- */

/* Can the program rebuild the original from its parts? Parts that are not needed for this are dropped. Floats of 16-bit
 * numbers are compared in 16 bits. */
static bool
is_packed(Weights *w, Original *o)
{
	const Widened *floats = o->widened;
	const int64_t bytes = floats ? o->bytes / 2 : o->bytes;
	const char *data = floats ? floats->of->data + 2 * floats->from : o->data;
	char *made;
	bool same;
	int n = 0;

	if (o->needed || !o->parts.n || !(made = calloc((size_t)bytes, 1)))
		return false;
	for (int i = 0; i < o->parts.n; i++) {
		RtPacking p = o->parts.at[i];

		p.as = floats ? (int32_t)floats->dtype : p.as;
		if (rt_unpack_columns(w->bytes.at, &p, 0, p.n, made))
			o->parts.at[n++] = o->parts.at[i];
	}
	o->parts.n = n;
	same = !memcmp(made, data, (size_t)bytes);
	free(made);
	archive_forget(w->cx, data, bytes);
	spill_forget(&w->bytes);
	return same && n * (int64_t)sizeof(RtPacking) < o->bytes;
}

/* Stores floats of 16-bit numbers in 16 bits, or as floats if they are needed in plain form. */
static void
store_widened(Weights *w, Original *o)
{
	const Widened *floats = o->widened;
	RtPacking p = { .n = 1, .k = (int32_t)floats->n, .taps = 1, .kw = 1, .width = 1, .last = 1, .sk = 1,
			.from = floats->dtype };

	o->packed = !o->needed && floats->n <= INT32_MAX;
	if (o->packed) {
		p.at = weights_add(w, WEIGHT_PLAIN, floats->of->data + 2 * floats->from, o->bytes / 2);
		o->parts.n = 0;
		vec_push(w->cx->arena, &o->parts, p);
		return;
	}
	widened_fill(w->cx, floats->storage);
	o->offset = weights_add(w, WEIGHT_PLAIN, floats->storage->data, o->bytes);
	widened_trim(w->cx);
}

void
weights_finish(Weights *w)
{
	for (int i = 0; i < w->originals.n; i++) {
		Original *o = &w->originals.at[i];

		o->packed = o->used && is_packed(w, o);
		if (o->used && !o->packed && o->widened)
			store_widened(w, o);
		else if (o->used && !o->packed)
			o->offset = weights_add(w, WEIGHT_PLAIN, o->data, o->bytes);
		if (o->data)
			archive_forget(w->cx, o->data, o->bytes);
	}
}
