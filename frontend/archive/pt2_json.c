/*
 * JSON of torch.export archives, parsed by cJSON.
 *
 * Before a text is parsed, one walk limits its nesting and its number of values, since each value is a node in memory.
 * The walk also puts integers of 16 digits and more in quotes, since cJSON stores numbers as doubles. A document and
 * its texts live as long as the compile.
 */
#include "pt2.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

enum { NESTED_MAX = 200, VALUES_MAX = 30 * 1000 * 1000, EXACT_DIGITS = 15 };

void
json_bad(const JsonDoc *d, const char *fmt, ...)
{
	va_list ap;
	const char *text;

	va_start(ap, fmt);
	text = arena_vprintf(d->cx->arena, fmt, ap);
	va_end(ap);
	fail(d->cx, (Range){ 0 }, "%s: %s", d->name, text);
}

/* ---- the walk before parsing -------------------------------------------------------------------------- */

typedef struct Walk {
	const JsonDoc *doc;
	const char *p, *end;
	Buf     out;             /* Text with long integers in quotes. */
	int64_t nested, values;
} Walk;

static void
walk_string(Walk *w)
{
	const char *from = w->p++;

	while (w->p < w->end && *w->p != '"')
		w->p += *w->p == '\\' && w->p + 1 < w->end ? 2 : 1;
	if (w->p < w->end)
		w->p++;
	buf_add(&w->out, from, w->p - from);
}

static void
walk_number(Walk *w)
{
	const char *from = w->p;
	int64_t digits = 0;
	bool whole = true, quoted;

	while (w->p < w->end && *w->p && strchr("+-.0123456789eE", *w->p)) {
		whole &= !strchr(".eE", *w->p);
		digits += *w->p >= '0' && *w->p <= '9';
		w->p++;
	}
	quoted = whole && digits > EXACT_DIGITS;
	buf_puts(&w->out, quoted ? "\"" : "");
	buf_add(&w->out, from, w->p - from);
	buf_puts(&w->out, quoted ? "\"" : "");
}

/* Puts the numbers Infinity and NaN, which JSON lacks, in quotes. Python writes them as words, newer archives as
 * texts. */
static bool
walk_word(Walk *w)
{
	static const char *const words[] = { "Infinity", "-Infinity", "NaN" };

	for (int i = 0; i < 3; i++) {
		const size_t n = strlen(words[i]);

		if ((size_t)(w->end - w->p) < n || memcmp(w->p, words[i], n))
			continue;
		buf_printf(&w->out, "\"%s\"", words[i]);
		w->p += n;
		return true;
	}
	return false;
}

static void
walk_json(Walk *w)
{
	while (w->p < w->end) {
		const char c = *w->p;

		if (c == '"') {
			walk_string(w);
			continue;
		}
		if (walk_word(w))
			continue;
		if (c == '-' || (c >= '0' && c <= '9')) {
			walk_number(w);
			continue;
		}
		w->nested += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
		w->values += c == '[' || c == '{' || c == ',';
		if (w->nested > NESTED_MAX || w->values > VALUES_MAX)
			break;
		buf_add(&w->out, w->p++, 1);
	}
}

static void
end_of_document(void *json)
{
	cJSON_Delete(json);
}

const Json *
json_parse(const JsonDoc *d, const char *text, int64_t n)
{
	Walk w = { .doc = d, .p = text, .end = text + n };
	cJSON *json;

	buf_puts(&w.out, "");
	walk_json(&w);
	if (w.p < w.end) {
		buf_free(&w.out);
		json_bad(d, w.nested > NESTED_MAX ? "nests more than %d deep" : "has more than %d values",
			w.nested > NESTED_MAX ? (int)NESTED_MAX : (int)VALUES_MAX);
	}
	json = cJSON_ParseWithLength(w.out.at, (size_t)w.out.n);
	buf_free(&w.out);
	if (!json)
		json_bad(d, "is no JSON");
	arena_at_end(d->cx->arena, end_of_document, json);
	return json;
}

/* ---- parts ----------------------------------------------------------------------------------------------- */

const Json *
json_get(const Json *o, const char *key)
{
	const Json *v = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsNull(v) ? NULL : v;
}

const Json *
json_need(const JsonDoc *d, const Json *o, const char *key)
{
	const Json *v = json_get(o, key);

	if (!v)
		json_bad(d, "lacks '%s'", key);
	return v;
}

const Json *
json_list(const JsonDoc *d, const Json *o, const char *key)
{
	const Json *v = json_need(d, o, key);

	if (!cJSON_IsArray(v))
		json_bad(d, "'%s' is no list", key);
	return v;
}

const Json *
json_first(const Json *v)
{
	return v && (cJSON_IsArray(v) || cJSON_IsObject(v)) ? v->child : NULL;
}

const Json *
json_next(const Json *v)
{
	return v->next;
}

int
json_count(const Json *v)
{
	return cJSON_IsArray(v) || cJSON_IsObject(v) ? cJSON_GetArraySize(v) : 0;
}

const char *
json_key(const Json *v)
{
	return v->string ? v->string : "";
}

bool
json_is_text(const Json *v)
{
	return cJSON_IsString(v);
}

bool
json_is_number(const Json *v)
{
	return cJSON_IsNumber(v);
}

bool
json_is_bool(const Json *v)
{
	return cJSON_IsBool(v);
}

const char *
json_text_of(const JsonDoc *d, const Json *v, const char *what)
{
	if (!cJSON_IsString(v))
		json_bad(d, "'%s' is no text", what);
	return v->valuestring;
}

const char *
json_text(const JsonDoc *d, const Json *o, const char *key)
{
	return json_text_of(d, json_need(d, o, key), key);
}

const char *
json_text_or(const JsonDoc *d, const Json *o, const char *key, const char *absent)
{
	const Json *v = json_get(o, key);

	return v ? json_text_of(d, v, key) : absent;
}

int64_t
json_int(const JsonDoc *d, const Json *v, const char *what)
{
	long long n;
	char *end;

	if (cJSON_IsNumber(v) && v->valuedouble == floor(v->valuedouble) && fabs(v->valuedouble) < 1e15)
		return (int64_t)v->valuedouble;
	if (!cJSON_IsString(v) || !v->valuestring[0])
		json_bad(d, "'%s' is no whole number", what);
	errno = 0;
	n = strtoll(v->valuestring, &end, 10);
	if (*end || errno)
		json_bad(d, "'%s' is no number of 64 bits: %.40s", what, v->valuestring);
	return n;
}

/* Reads a number, or a text that contains one: JSON has no inf or nan, and long integers are in quotes. */
double
json_float(const JsonDoc *d, const Json *v, const char *what)
{
	double f;
	char *end;

	if (cJSON_IsNumber(v))
		return v->valuedouble;
	if (!cJSON_IsString(v) || !v->valuestring[0])
		json_bad(d, "'%s' is no number", what);
	f = strtod(v->valuestring, &end);
	if (*end)
		json_bad(d, "'%s' is no number: %.40s", what, v->valuestring);
	return f;
}

bool
json_flag(const JsonDoc *d, const Json *v, const char *what)
{
	if (!cJSON_IsBool(v))
		json_bad(d, "'%s' is neither true nor false", what);
	return cJSON_IsTrue(v);
}

const Json *
json_union(const JsonDoc *d, const Json *v, const char *what)
{
	if (!cJSON_IsObject(v) || !v->child || v->child->next)
		json_bad(d, "'%s' is no object of one key", what);
	return v->child;
}
