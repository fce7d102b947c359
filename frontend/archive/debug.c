/*
 * Debug records of a code file, which map its ranges to ranges of the original source.
 *
 * The file code/net.py.debug_pkl is a pickle of records (offset, range, tag) in order of offset. A range is ((pieces,
 * file, line), begin, end). The pieces are indices into a table of strings. Joined they are the text. In older files a
 * range is ((text, file, line), begin, end). A text is joined when a message first needs it. Records only improve
 * messages, so a damaged file is ignored.
 */
#include "../frontend.h"

#include <string.h>

typedef struct DebugRecord { uint32_t at; const RtTuple *range; } DebugRecord;

typedef struct Records {
	SourceMap   map;
	Cx         *cx;
	Archive    *archive;
	const char *member;
	bool        loaded;
	IValue      held;        /* The pickle, which owns the data that the other members point to. */
	const RtTuple *strings;  /* Table of strings. Null in older files. */
	DebugRecord *at;         /* Records, sorted by offset. */
	int         n;
	PtrMap      sources;     /* Source, by RtTuple of its text. */
} Records;

static const RtTuple *
tuple(IValue v, int64_t n)
{
	return v.tag == RT_TUPLE && v.u.tuple->n >= n ? v.u.tuple : NULL;
}

/* ---- reading ------------------------------------------------------------------------------------------------ */

/* Reads (offset, range, tag), (offset, tag, range) or (offset, range). */
static bool
read_record(DebugRecord *to, IValue v)
{
	const RtTuple *t = tuple(v, 2);

	if (!t || t->v[0].tag != RT_INT || t->v[0].u.i < 0 || t->v[0].u.i > UINT32_MAX)
		return false;
	to->at = (uint32_t)t->v[0].u.i;
	to->range = tuple(t->v[1], 3);
	if (!to->range && t->n > 2)
		to->range = tuple(t->v[2], 3);
	return to->range != NULL;
}

static void
read_records(Records *m, IValue v)
{
	const RtTuple *t = tuple(v, 0);

	if (t && t->n == 3 && t->v[0].tag == RT_STR && !strcmp(t->v[0].u.str->s, "FORMAT_WITH_STRING_TABLE")) {
		m->strings = tuple(t->v[1], 1);
		t = m->strings ? tuple(t->v[2], 0) : NULL;
	}
	if (!t)
		return;
	m->at = new(m->cx->arena, DebugRecord, t->n);
	for (int64_t i = 0; i < t->n; i++)
		if (read_record(&m->at[m->n], t->v[i]) && (!m->n || m->at[m->n].at >= m->at[m->n - 1].at))
			m->n++;
}

static void
release_records(void *arg)
{
	Records *m = arg;

	rt_release(m->held);
}

static void
load(Cx *cx, void *arg)
{
	Records *m = arg;
	const Record r = archive_record(m->archive, m->member);
	Source *s = new(cx->arena, Source, 1);
	PickleHost host = { 0 };

	*s = (Source){ .text = r.data, .n = r.n, .name = arena_printf(cx->arena, "%s: %s", archive_path(m->archive),
		m->member), .line = 1 };
	m->held = pickle_load(cx, s, &host);
	arena_at_end(cx->arena, release_records, m);
	read_records(m, m->held);
}

static void
load_once(Records *m)
{
	const Err err = m->cx->err;

	if (m->loaded)
		return;
	m->loaded = true;
	cx_try(m->cx, load, m);
	m->cx->err = err;
}

/* ---- looking up ---------------------------------------------------------------------------------------------- */

static const RtStr *
string_at(Records *m, IValue i)
{
	IValue v = i.tag == RT_INT && i.u.i >= 0 && i.u.i < m->strings->n ? m->strings->v[i.u.i] : rt_none();

	return v.tag == RT_STR ? v.u.str : NULL;
}

/* Joins the pieces of a text. Null if they are damaged or too long. */
static const char *
join_pieces(Records *m, IValue pieces, int64_t *n)
{
	enum { TEXT_MAX = 16 << 20 };
	const IValue *v = pieces.tag == RT_TUPLE ? pieces.u.tuple->v : pieces.tag == RT_LIST ? pieces.u.list->v : NULL;
	int64_t count = pieces.tag == RT_TUPLE ? pieces.u.tuple->n : pieces.tag == RT_LIST ? pieces.u.list->n : 0;
	Buf b = { 0 };
	const char *text;

	for (int64_t i = 0; i < count; i++) {
		const RtStr *s = string_at(m, v[i]);

		if (!s || b.n + s->n > TEXT_MAX) {
			buf_free(&b);
			return NULL;
		}
		buf_add(&b, s->s, s->n);
	}
	*n = b.n;
	text = b.n ? arena_strndup(m->cx->arena, b.at, b.n) : NULL;
	buf_free(&b);
	return text;
}

static Source *
make_source(Records *m, const RtTuple *t)
{
	Source *s = new(m->cx->arena, Source, 1);
	const RtStr *file = t->v[1].tag == RT_STR ? t->v[1].u.str : m->strings ? string_at(m, t->v[1]) : NULL;

	if (t->v[0].tag == RT_STR) {
		s->text = t->v[0].u.str->s;
		s->n = t->v[0].u.str->n;
	} else if (m->strings)
		s->text = join_pieces(m, t->v[0], &s->n);
	s->arena = m->cx->arena;
	s->name = file && file->n ? file->s : NULL;
	s->line = t->v[2].tag == RT_INT && t->v[2].u.i > 0 && t->v[2].u.i < INT32_MAX ? (int)t->v[2].u.i : 1;
	return s->text && s->n ? s : NULL;
}

static const Source *
source_of(Records *m, const RtTuple *t)
{
	int64_t *known = ptrmap_at(m->cx->arena, &m->sources, t);

	if (!*known) {
		Source *s = make_source(m, t);

		known = ptrmap_at(m->cx->arena, &m->sources, t);
		*known = s ? (intptr_t)s : -1;
	}
	return *known == -1 ? NULL : (const Source *)(intptr_t)*known;
}

static bool
find_record(SourceMap *map, uint32_t offset, Range *original)
{
	Records *m = (Records *)map;
	int lo = 0, hi;
	const RtTuple *range, *text;

	load_once(m);
	hi = m->n;
	while (lo < hi) {
		int mid = (lo + hi) / 2;

		if (m->at[mid].at <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return false;
	range = m->at[lo - 1].range;
	text = tuple(range->v[0], 3);
	if (!text || range->v[1].tag != RT_INT || range->v[2].tag != RT_INT || !(original->src = source_of(m, text)))
		return false;
	if (range->v[1].u.i < 0 || range->v[2].u.i < range->v[1].u.i || range->v[2].u.i > original->src->n)
		return false;
	original->beg = (uint32_t)range->v[1].u.i;
	original->end = (uint32_t)range->v[2].u.i;
	return true;
}

SourceMap *
source_map_new(Cx *cx, Archive *a, const char *code_name)
{
	const char *member = arena_printf(cx->arena, "%s.debug_pkl", code_name);
	Records *m;

	if (!archive_has(a, member))
		return NULL;
	m = new(cx->arena, Records, 1);
	*m = (Records){ .map.find = find_record, .cx = cx, .archive = a, .member = member };
	return &m->map;
}
