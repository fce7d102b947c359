/* rt/table.c - maps from strings to pointers, in insertion order, and from addresses to numbers
 *
 * Entries are in an array, in insertion order. An open-addressed table contains their indices. A removed entry loses
 * its key but keeps its slot, so that probes pass it. Growing drops such entries. Invariant: nslot is a power of two
 * and more than half of the slots are free. */
#include "base.h"

#include <stdlib.h>
#include <string.h>

uint64_t
hash_bytes(const void *p, int64_t n)
{
	return hash_more((uint64_t)n, p, n);
}

uint64_t
hash_more(uint64_t h, const void *p, int64_t n)
{
	const char *at = p;
	uint64_t word;

	for (; n > 0; at += sizeof word, n -= (int64_t)sizeof word) {
		word = 0;
		if (n >= (int64_t)sizeof word)
			memcpy(&word, at, sizeof word);
		else
			memcpy(&word, at, (size_t)n);
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 32;
	}
	return h;
}

uint64_t
hash_mix(uint64_t h, uint64_t x)
{
	h ^= x + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
	return h * 0xff51afd7ed558ccdu;
}

uint32_t
hash_address(const void *p)
{
	return (uint32_t)((uint64_t)(uintptr_t)p * 0x9e3779b97f4a7c15u >> 33);   /* the low bits of an address are 0 */
}

static uint32_t
hash_key(const char *key)
{
	return (uint32_t)hash_bytes(key, (int64_t)strlen(key)); /* hash_bytes mixes its upper half into the lower one */
}

/* Returns the slot of the key, or the free slot in which to insert it. */
static int
find_slot(const Map *m, const char *key, uint32_t hash)
{
	int i = (int)(hash & (uint32_t)(m->nslot - 1));
	const MapEntry *e;

	for (; m->slot[i] >= 0; i = (i + 1) & (m->nslot - 1)) {
		e = &m->at[m->slot[i]];
		if (e->key && e->hash == hash && !strcmp(e->key, key))
			break;
	}
	return i;
}

static void *
map_allocate(Map *m, int64_t bytes)
{
	return m->arena ? arena_take(m->arena, bytes) : heap_grow(0, bytes);
}

static void
free_block(Map *m, void *p)
{
	if (!m->arena)
		free(p);
}

/* Makes room for one more entry. */
static void
grow_map(Map *m)
{
	int live = 0, cap;
	MapEntry *at;

	for (int i = 0; i < m->n; i++)
		live += m->at[i].key != 0;
	if (live > INT32_MAX / 8)
		out_of_memory();
	cap = live * 2 > RT_LIMIT_MAP ? live * 2 : RT_LIMIT_MAP;
	at = map_allocate(m, (int64_t)sizeof *at * cap);
	live = 0;
	for (int i = 0; i < m->n; i++)
		if (m->at[i].key)
			at[live++] = m->at[i];
	free_block(m, m->at);
	free_block(m, m->slot);
	m->at = at;
	m->n = live;
	m->cap = cap;
	for (m->nslot = RT_LIMIT_MAP_SLOTS; m->nslot <= cap * 2; m->nslot *= 2)
		;
	m->slot = map_allocate(m, (int64_t)sizeof *m->slot * m->nslot);
	for (int i = 0; i < m->nslot; i++)
		m->slot[i] = -1;
	for (int i = 0; i < m->n; i++)
		m->slot[find_slot(m, m->at[i].key, m->at[i].hash)] = i;
}

void *
map_get(const Map *m, const char *key)
{
	int i;

	if (!m->nslot)
		return 0;
	i = m->slot[find_slot(m, key, hash_key(key))];
	return i < 0 ? 0 : m->at[i].value;
}

void
map_put(Map *m, const char *key, void *value)
{
	uint32_t hash = hash_key(key);
	int at;

	if (m->nslot && (at = m->slot[find_slot(m, key, hash)]) >= 0) {
		m->at[at].value = value;
		return;
	}
	if (m->n == m->cap)
		grow_map(m);
	m->slot[find_slot(m, key, hash)] = m->n;
	m->at[m->n++] = (MapEntry){ key, value, hash };
}

/* ---- maps from addresses -------------------------------------------------------------------------------- */

static int
address_slot(const PtrMap *m, const void *key)
{
	int i = (int)hash_address(key) & (m->cap - 1);

	while (m->key[i] && m->key[i] != key)
		i = (i + 1) & (m->cap - 1);
	return i;
}

static void
grow_addresses(Arena *a, PtrMap *m)
{
	PtrMap old = *m;

	m->cap = old.cap ? 2 * old.cap : 64;
	m->key = new(a, const void *, m->cap);
	m->value = new(a, int64_t, m->cap);
	for (int i = 0; i < old.cap; i++)
		if (old.key[i]) {
			int to = address_slot(m, old.key[i]);

			m->key[to] = old.key[i];
			m->value[to] = old.value[i];
		}
}

int64_t *
ptrmap_at(Arena *a, PtrMap *m, const void *key)
{
	int i;

	if (2 * (m->n + 1) > m->cap)
		grow_addresses(a, m);
	i = address_slot(m, key);
	if (!m->key[i]) {
		m->key[i] = key;
		m->n++;
	}
	return &m->value[i];
}

int64_t
ptrmap_get(const PtrMap *m, const void *key)
{
	return m->cap ? m->value[address_slot(m, key)] : 0;
}
