/* rt/recycle.c - memory of values: freed blocks are kept for later requests of the same size
 *
 * A call of a compiled model makes the same values every time: tensors, strings, lists. A freed block is put on the
 * free list for its size of the thread that frees it. Later requests take blocks from these lists, so calls after the
 * first one allocate nothing from the system. Size classes are multiples of 16 up to 1 KB, then four to each doubling.
 * A thread keeps at most KEPT bytes. Under sanitizers, and if KILN_NO_RECYCLE is in the environment (for valgrind),
 * nothing is kept and blocks have exactly the requested size, so that these tools see each block and its end.
 *
 * An instance of a library has its own lists (rt_mem_switch), which are freed with it.
 *
 * The two words before a block are its size in bytes and the index of its list. With assertions, the second word of a
 * freed block is negative. */
#include "base.h"
#include "rt.h"

#include <stdlib.h>
#include <string.h>

#if defined __TINYC__ && !defined RT_SINGLE
#define RT_SINGLE
#endif
#ifndef RT_SINGLE
#include <pthread.h>
#endif

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { KEPT = 0 };
#else
enum { KEPT = RT_LIMIT_RECYCLED };
#endif

enum { SMALL = 1024, NSMALL = SMALL / 16, DOUBLINGS = 40, NSIZE = NSMALL + 4 * DOUBLINGS, HEAD = 16, LINE = 64,
	GIVEN_BACK = -1, LARGE = 64 << 20,
	SPARES = 8, SPARE = 512 };

typedef struct Kept { struct Kept *next; } Kept;
typedef struct RtMem {
	Kept   *first[2][NSIZE];         /* free lists: of blocks aligned to 16, and to 64 */
	int64_t bytes, most;             /* number of bytes kept, and its limit */
	char   *block;                   /* block of rt_thread_scratch */
	void   *spare[SPARES];           /* spare blocks of an instance, for texts of errors when memory is exhausted */
	bool  (*cut)(struct RtMem *, Buf *);     /* hands out spare blocks; null if the lists belong to no instance */
	bool    lost;                    /* whether a text was cut or got a spare block */
	bool    full;                    /* whether all spare blocks are present */
} Lists;

void (*rt_mem_none)(void);

/* Returns the number of bytes of a block of size class i. */
static int64_t
class_bytes(int i)
{
	return i < NSMALL ? 16 * (i + 1) : (int64_t)(5 + (i - NSMALL) % 4) << (8 + (i - NSMALL) / 4);
}

/* Returns the smallest size class of at least `bytes`. NSIZE if no class is large enough. */
static int
class_of(int64_t bytes)
{
	int doubling = 0, i;

	if (bytes <= SMALL)
		return bytes <= 0 ? 0 : (int)((bytes - 1) / 16);
	while (doubling < DOUBLINGS && bytes > (int64_t)(2 * SMALL) << doubling)
		doubling++;
	for (i = NSMALL + 4 * doubling; i < NSIZE && class_bytes(i) < bytes;)
		i++;
	return i;
}

/* ---- the lists of a thread --------------------------------------------------------------------------------------- */

static void
lists_free(void *arg)
{
	Lists *l = arg;

	for (int aligned = 0; l && aligned < 2; aligned++)
		for (int i = 0; i < NSIZE; i++)
			for (Kept *k = l->first[aligned][i], *next; k; k = next) {
				next = k->next;
				free((char *)k - (aligned ? LINE : HEAD));
			}
	for (int i = 0; l && i < SPARES; i++)
		if (l->spare[i])
			free((char *)l->spare[i] - HEAD);
	if (l)
		free(l->block);
	free(l);
}

static Lists *
lists_new(void)
{
	Lists *l = calloc(1, sizeof *l);

	if (l)
		l->most = getenv("KILN_NO_RECYCLE") ? 0 : KEPT;
	return l;
}

#ifdef RT_SINGLE

static Lists *single;

static void
set_lists(Lists *l)
{
	single = l;
}

static Lists *
lists(bool make)
{
	if (!single && make)
		single = lists_new();
	return single;
}

#else

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
key_init(void)
{
	if (pthread_key_create(&key, lists_free))
		abort();
}

static Lists *
lists(bool make)
{
	Lists *l;

	pthread_once(&once, key_init);
	l = pthread_getspecific(key);
	if (!l && make && (l = lists_new()))
		pthread_setspecific(key, l);
	return l;
}

static void
set_lists(Lists *l)
{
	pthread_setspecific(key, l);
}

#endif

void
rt_mem_end(void)
{
	Lists *l = lists(false);

	set_lists(NULL);
	lists_free(l);
}

struct RtMem *
rt_mem_switch(struct RtMem *to)
{
	Lists *before = lists(false);

	set_lists(to);
	return before;
}

char **
rt_mem_block(void)
{
	Lists *l = lists(true);

	return l ? &l->block : NULL;
}

/* ---- allocating and freeing -------------------------------------------------------------------------------------- */

static void *
take_block(int64_t bytes, int aligned)
{
	const int i = class_of(bytes), lead = aligned ? LINE : HEAD;
	Lists *l = i < NSIZE ? lists(true) : NULL;
	const bool keeps = l && l->most;
	void *base;
	int64_t *p;

	if (keeps && l->first[aligned][i]) {
		Kept *k = l->first[aligned][i];

		RT_ASSERT(((int64_t *)k)[-1] == GIVEN_BACK - (2 * i + aligned));
		if (RT_ASSERTS)
			((int64_t *)k)[-1] = 2 * i + aligned;
		l->first[aligned][i] = k->next;
		l->bytes -= class_bytes(i);
		return k;
	}
	if (i == NSIZE)
		return NULL;
	bytes = keeps ? class_bytes(i) : bytes < 0 ? 0 : bytes;
	if (posix_memalign(&base, (size_t)lead, (size_t)(lead + bytes))) {
		if (rt_mem_none && bytes <= LARGE)
			rt_mem_none();
		return NULL;
	}
	p = (int64_t *)((char *)base + lead);
	p[-2] = bytes;
	p[-1] = 2 * i + aligned;
	return p;
}

void *
rt_mem(int64_t bytes)
{
	return take_block(bytes, 0);
}

void *
rt_mem_line(int64_t bytes)
{
	return take_block(bytes, 1);
}

void *
rt_mem_zeroed(int64_t bytes)
{
	void *p = take_block(bytes, 0);

	if (p)
		memset(p, 0, (size_t)bytes);
	return p;
}

void *
rt_mem_more(void *old, int64_t bytes)
{
	const int64_t has = old ? ((int64_t *)old)[-2] : 0;
	void *p;

	if (old && bytes <= has)
		return old;
	if (!(p = take_block(bytes, 0)))
		return NULL;
	if (old)
		memcpy(p, old, (size_t)has);
	rt_mem_back(old);
	return p;
}

/* Overwrites a freed block, so that uses after free are noticed: no reference count has these bytes. */
static void
spoil(void *p, int64_t id)
{
	memset(p, 0xdd, (size_t)((int64_t *)p)[-2]);
	((int64_t *)p)[-1] = GIVEN_BACK - id;
}

void
rt_mem_back(void *p)
{
	const int64_t id = p ? ((int64_t *)p)[-1] : 0;
	const int aligned = id & 1, i = (int)(id / 2);
	Lists *l = p ? lists(true) : NULL;
	Kept *k = p;

	if (!p)
		return;
	RT_ASSERT(id >= 0 && id < 2 * NSIZE);
	if (RT_ASSERTS)
		spoil(p, id);
	if (!l || l->bytes + class_bytes(i) > l->most) {
		free((char *)p - (aligned ? LINE : HEAD));
		return;
	}
	k->next = l->first[aligned][i];
	l->first[aligned][i] = k;
	l->bytes += class_bytes(i);
}

void
rt_mem_free(void *p)
{
	if (p)
		free((char *)p - (((int64_t *)p)[-1] & 1 ? LINE : HEAD));
}

/* ---- texts when there is no memory ------------------------------------------------------------------------------- */

bool
rt_mem_cut(Buf *b)
{
	Lists *l = lists(false);

	return l && l->cut && l->cut(l, b);
}

/* Gives a spare block to a text that has no block yet. Does not change other texts. Returns whether the text may be
 * cut. */
static bool
cut(Lists *l, Buf *b)
{
	l->lost = true;
	l->full = false;
	for (int i = 0; i < SPARES && b && !b->at; i++) {
		b->at = l->spare[i];
		b->cap = b->at ? SPARE : 0;
		l->spare[i] = NULL;
	}
	return !b || b->at;
}

bool
rt_mem_spares(void)
{
	Lists *l = lists(true);

	if (!l || l->full)
		return l;
	l->full = true;
	for (int i = 0; i < SPARES; i++)
		l->full &= l->spare[i] || (l->spare[i] = rt_mem(SPARE));
	l->cut = cut;
	return l->full;
}

bool
rt_mem_was_lost(void)
{
	Lists *l = lists(false);
	const bool lost = l && l->lost;

	if (lost)
		l->lost = false;
	return lost;
}
