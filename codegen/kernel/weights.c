/* codegen/kernel/weights.c - the weights of a program: one blob; elf.c brings it into the executable */
#include "kernel.h"

#include <string.h>

const char *const weight_forms[] = { "plain", "panels", "winograd", "taps", "bias", "gpu" };

const char *const forms_names[] = { [FORMS_MADE] = "made", [FORMS_FAST] = "fast", [FORMS_SMALL] = "small", NULL };

enum { LINE = 64 };                      /* of the cache: where a part may begin */

static const char *
content_key(Weights *w, const void *data, int64_t bytes)
{
	return arena_printf(w->cx->arena, "%016llx:%lld", (unsigned long long)hash_bytes(data, bytes),
			    (long long)bytes);
}

int64_t
weights_add(Weights *w, WeightForm form, const void *data, int64_t bytes)
{
	static const char zeros[LINE];
	const char *key = content_key(w, data, bytes);
	const intptr_t known = (intptr_t)map_get(&w->known, key);
	int64_t at;

	if (known && !memcmp(w->bytes.at + known - 1, data, (size_t)bytes))
		return known - 1;
	buf_add(&w->bytes, zeros, -w->bytes.n & (LINE - 1));
	at = w->bytes.n;
	w->form_bytes[form] += bytes;
	if (bytes)
		buf_add(&w->bytes, data, bytes);
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
	vec_push(w->cx->arena, &w->originals, o);
	if (!known)
		map_put(&w->original_of, key, (void *)(intptr_t)w->originals.n);
	return w->originals.n - 1;
}

int
weights_storage(Weights *w, RtStorage *s)
{
	const char *key = arena_printf(w->cx->arena, "%p", (const void *)s);
	const intptr_t known = (intptr_t)map_get(&w->storage_of, key);
	Stored stored = { .storage = s };

	if (known)
		return (int)known - 1;
	rt_count_up(&s->h);
	stored.original = original_of(w, s->data, s->bytes);
	vec_push(w->cx->arena, &w->storages, stored);
	map_put(&w->storage_of, key, (void *)(intptr_t)w->storages.n);
	return w->storages.n - 1;
}

Original *
weights_original(Weights *w, RtStorage *s)
{
	const int at = weights_storage(w, s);

	return &w->originals.at[w->storages.at[at].original];
}

/* Floats, or bytes. */
static int64_t
elements_in(const RtPacking *p)
{
	return (int64_t)p->n * p->k * p->taps;
}

void
weights_note(Weights *w, RtStorage *s, RtPacking p, int64_t zeros)
{
	Original *o = weights_original(w, s);
	const int64_t n = elements_in(&p);

	for (int i = 0; i < o->parts.n; i++) {
		const RtPacking *q = &o->parts.at[i];

		if (p.to < q->to + elements_in(q) && q->to < p.to + n)
			return;
	}
	vec_push(w->cx->arena, &o->parts, p);
	o->covered += (n + zeros) * (p.quad && !p.scales ? 1 : (int64_t)sizeof(float));
}

bool
original_is_packed(const Original *o)
{
	return o->parts.n && !o->needed && o->covered == o->bytes;
}

void
weights_finish(Weights *w)
{
	for (int i = 0; i < w->originals.n; i++) {
		Original *o = &w->originals.at[i];

		if (!original_is_packed(o))
			o->offset = weights_add(w, WEIGHT_PLAIN, o->data, o->bytes);
	}
}
