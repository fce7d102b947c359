/*
 * Profiles as files: JSON that can be read, compared by diff, merged, and used by later builds.
 *
 *  { "graph": hash of the prepared graph, "method": name, "runs": n,
 *    "signatures": [ { "count": n, "arguments": [ pattern ... ], "state": { path: pattern ... }, "again": bool,
 *                      "values": { name: value ... } } ... ],
 *    "merged": { name: value ... }, "branches": { name: { "then": n, "else": n } }, "loops": { name: trips } }
 *  value   := { "count": n [, "none": n] [, "kind": text] [, "type": tensor] [, "int": always] [, "true": n]
 *               [, "mixed": true] }
 *  pattern := { "tensor": type } | { "int"|"bool"|"str"|"device"|"none": value } |
 *             { "list"|"tuple": [ pattern ... ] } | {}
 *
 * Names of values are those in the graph's print.  Only "graph" and "signatures" are read.  The other members follow
 * from these, and are only for human readers.  archive/json.c reads the tables of contents of archives; it shares only
 * the JSON library with this file.
 */
#include "../opt.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#define NOWHERE ((Range){ 0 })

static const char *const kinds[] = { "None", "int", "float", "bool", "device", "tensor", "str", "list", "dict", "tuple",
				     "object", "enum", "complex", "future", "function", "generator", "storage" };
enum { NKIND = sizeof kinds / sizeof *kinds };

/* ---- merging ------------------------------------------------------------------------------------------------ */

void
profile_merge(const Profile *p, ValueProfile *to, const ValueProfile *from)
{
	for (int i = 0; i < p->nvalue; i++) {
		ValueProfile *t = &to[i];
		const ValueProfile *f = &from[i];

		if (!f->count)
			continue;
		t->mixed |= f->mixed || (t->count && t->tag != f->tag);
		t->int_same = f->int_same && (!t->count || (t->int_same && t->i == f->i));
		t->type = t->type && f->type ? tensor_info_merge(p->cx, t->type, f->type) : f->type ? f->type : t->type;
		t->tag = f->tag;
		t->i = f->i;
		t->ntrue += f->ntrue;
		t->none += f->none;
		t->count += f->count;
	}
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

/* Converts an int to JSON.  One with more than 53 bits becomes a string, since JSON numbers are doubles. */
static cJSON *
json_int(int64_t i)
{
	char text[32];

	if (i > -(INT64_C(1) << 53) && i < INT64_C(1) << 53)
		return cJSON_CreateNumber((double)i);
	snprintf(text, sizeof text, "%lld", (long long)i);
	return cJSON_CreateString(text);
}

static cJSON *
json_value(Cx *cx, const ValueProfile *v)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddItemToObject(o, "count", json_int(v->count));
	if (v->none)
		cJSON_AddItemToObject(o, "none", json_int(v->none));
	cJSON_AddStringToObject(o, "kind", kinds[v->tag]);
	if (v->type)
		cJSON_AddStringToObject(o, "type", type_print(cx, v->type));
	if (v->tag == RT_INT || v->tag == RT_BOOL)
		cJSON_AddItemToObject(o, v->int_same ? "int" : "last", json_int(v->i));
	if (v->ntrue)
		cJSON_AddItemToObject(o, "true", json_int(v->ntrue));
	if (v->mixed)
		cJSON_AddTrueToObject(o, "mixed");
	return o;
}

static cJSON *
json_values(const Profile *p, const char *const *names, const ValueProfile *v)
{
	cJSON *o = cJSON_CreateObject();

	for (int i = 0; i < p->nvalue; i++)
		if (v[i].count && names[i])
			cJSON_AddItemToObject(o, names[i], json_value(p->cx, &v[i]));
	return o;
}

static cJSON *
json_pattern(Cx *cx, const Pattern *p)
{
	cJSON *o = cJSON_CreateObject(), *list;
	Buf b = { 0 };

	switch (p->form) {
	case PATTERN_TENSOR:
		cJSON_AddStringToObject(o, "tensor", type_print(cx, p->type));
		break;
	case PATTERN_VALUE:
		if (p->value.tag == RT_STR) {
			cJSON_AddStringToObject(o, "str", p->value.u.str->s);
		} else if (p->value.tag == RT_NONE) {
			cJSON_AddNullToObject(o, "none");
		} else if (p->value.tag == RT_DEVICE) {
			value_print(cx, p->value, &b);
			cJSON_AddItemToObject(o, "device", cJSON_CreateRaw(b.at));
		} else {
			cJSON_AddItemToObject(o, p->value.tag == RT_BOOL ? "bool" : "int", json_int(p->value.u.i));
		}
		break;
	case PATTERN_LIST: case PATTERN_TUPLE:
		list = cJSON_AddArrayToObject(o, p->form == PATTERN_LIST ? "list" : "tuple");
		for (int i = 0; i < p->n; i++)
			cJSON_AddItemToArray(list, json_pattern(cx, &p->part[i]));
		break;
	default:
		break;
	}
	buf_free(&b);
	return o;
}

static cJSON *
json_state(const Profile *p, const Pattern *found)
{
	cJSON *o = cJSON_CreateObject();

	for (int i = 0; i < p->state->at.n; i++)
		cJSON_AddItemToObject(o, p->state->at.at[i].path, json_pattern(p->cx, &found[i]));
	return o;
}

/* Adds counts of branches taken, and trip counts of loops, if observed values determine them. */
static void
add_flow(const Profile *p, const char *const *names, const Block *b, cJSON *branches, cJSON *loops)
{
	for NODES(n, b) {
		const Value *v = node_is(n, prim_If) ? if_cond(n) : node_is(n, prim_Loop) ?
			loop_body(n)->ret->in[0] : NULL;
		const ValueProfile *at = v ? &p->value[v->id] : NULL;

		if (node_is(n, prim_Loop) && !at->count)
			at = &p->value[loop_index(n)->id];
		if (at && at->count && node_is(n, prim_If)) {
			cJSON *o = cJSON_AddObjectToObject(branches, names[v->id]);

			cJSON_AddItemToObject(o, "then", json_int(at->ntrue));
			cJSON_AddItemToObject(o, "else", json_int(at->count - at->ntrue));
		} else if (at && at->count) {
			cJSON_AddItemToObject(loops, names[loop_index(n)->id], json_int(at->count));
		}
		for (int i = 0; i < n->nsub; i++)
			add_flow(p, names, n->sub[i], branches, loops);
	}
}

static const char *
hash_text(Cx *cx, Graph *g)
{
	return arena_printf(cx->arena, "%016llx", (unsigned long long)graph_hash(g));
}

const char *
profile_print(Profile *p, const Specialization *const *s, int n)
{
	const char *const *names = graph_names(p->graph);
	const int nargs = graph_ninputs(p->graph) - function_first(p->fn);
	cJSON *o = cJSON_CreateObject(), *list, *flow[2];
	char *text;

	cJSON_AddStringToObject(o, "graph", hash_text(p->cx, p->graph));
	cJSON_AddStringToObject(o, "method", p->fn->name);
	cJSON_AddItemToObject(o, "runs", json_int(p->nrun));
	list = cJSON_AddArrayToObject(o, "signatures");
	for (int i = 0; i < n; i++) {
		cJSON *one = cJSON_CreateObject(), *args;

		cJSON_AddItemToObject(one, "count", json_int(s[i]->count));
		args = cJSON_AddArrayToObject(one, "arguments");
		for (int k = 0; k < nargs; k++)
			cJSON_AddItemToArray(args, json_pattern(p->cx, &s[i]->pattern[k]));
		if (p->state->at.n)
			cJSON_AddItemToObject(one, "state", json_state(p, s[i]->found));
		if (s[i]->again)
			cJSON_AddTrueToObject(one, "again");
		cJSON_AddItemToObject(one, "values", json_values(p, names, s[i]->seen));
		cJSON_AddItemToArray(list, one);
	}
	cJSON_AddItemToObject(o, "merged", json_values(p, names, p->value));
	flow[0] = cJSON_AddObjectToObject(o, "branches");
	flow[1] = cJSON_AddObjectToObject(o, "loops");
	add_flow(p, names, p->graph->top, flow[0], flow[1]);
	text = cJSON_Print(o);
	cJSON_Delete(o);
	return text ? arena_strdup(p->cx->arena, text) : NULL;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

typedef struct ProfileReader {
	Profile    *profile;
	const char *path;
	Map         ids;           /* value id + 1, by name */
} ProfileReader;

RT_NORETURN static void
bad(const ProfileReader *r, const char *what, const char *name)
{
	fail(r->profile->cx, NOWHERE, "%s: %s '%s': this is no profile, or a damaged one", r->path, what, name);
}

static int64_t
read_int_of(const ProfileReader *r, const cJSON *o, const char *key, int64_t least)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	int64_t i = 0;
	char *end;

	if (cJSON_IsNumber(v) && v->valuedouble >= -9e15 && v->valuedouble <= 9e15) {
		i = (int64_t)v->valuedouble;
	} else if (cJSON_IsString(v) && v->valuestring[0]) {
		i = strtoll(v->valuestring, &end, 10);
		if (*end)
			bad(r, "no number for", key);
	} else if (v) {
		bad(r, "no number for", key);
	}
	if (i < least)
		bad(r, "a negative", key);
	return i;
}

static const Type *
read_tensor_type(const ProfileReader *r, const char *text)
{
	Source *s = new(r->profile->cx->arena, Source, 1);
	const Type *t;
	uint32_t at = 0;

	*s = (Source){ .text = arena_strdup(r->profile->cx->arena, text), .n = (int64_t)strlen(text), .name = r->path,
		.line = 1 };
	t = schema_type_parse(r->profile->cx, NULL, s, &at);
	if (!t || t->kind != TYPE_TENSOR || at != s->n)
		bad(r, "no type of tensors:", text);
	return t;
}

static RtTag
read_kind(const ProfileReader *r, const cJSON *o)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "kind");

	for (int i = 0; cJSON_IsString(v) && i < NKIND; i++)
		if (!strcmp(kinds[i], v->valuestring))
			return (RtTag)i;
	bad(r, "an unknown", "kind");
}

static void
read_value(const ProfileReader *r, const cJSON *o, ValueProfile *v)
{
	const cJSON *type = cJSON_GetObjectItemCaseSensitive(o, "type"),
		    *same = cJSON_GetObjectItemCaseSensitive(o, "int");

	v->count = read_int_of(r, o, "count", 0);
	v->none = read_int_of(r, o, "none", 0);
	v->ntrue = read_int_of(r, o, "true", 0);
	v->tag = read_kind(r, o);
	v->type = cJSON_IsString(type) ? read_tensor_type(r, type->valuestring) : NULL;
	v->int_same = same != NULL;
	v->i = read_int_of(r, o, same ? "int" : "last", INT64_MIN);
	v->mixed = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "mixed"));
	if (v->tag == RT_TENSOR && !v->type && !v->mixed)
		bad(r, "a tensor without", "type");
}

static void
read_values(const ProfileReader *r, const cJSON *o, ValueProfile *v)
{
	const cJSON *one;

	cJSON_ArrayForEach(one, o) {
		const intptr_t id = one->string ? (intptr_t)map_get(&r->ids, one->string) : 0;

		if (!id)
			bad(r, "no value of the graph is", one->string ? one->string : "");
		read_value(r, one, &v[id - 1]);
	}
}

static Pattern read_pattern(const ProfileReader *, const cJSON *);

static Pattern
read_parts(const ProfileReader *r, const cJSON *list, bool tuple)
{
	Pattern p = { .form = tuple ? PATTERN_TUPLE : PATTERN_LIST, .n = cJSON_GetArraySize(list) };
	const cJSON *one;
	int i = 0;

	p.part = new(r->profile->cx->arena, Pattern, p.n + 1);
	cJSON_ArrayForEach(one, list)
		p.part[i++] = read_pattern(r, one);
	return p;
}

/* Reads a pattern: an object with one member, whose name is the pattern's kind. */
static Pattern
read_pattern(const ProfileReader *r, const cJSON *o)
{
	const cJSON *v = o ? o->child : NULL;
	Pattern p = { .form = PATTERN_ANY };

	if (!cJSON_IsObject(o))
		bad(r, "no object among", "arguments");
	if (!v)
		return p;
	if (!strcmp(v->string, "list") || !strcmp(v->string, "tuple"))
		return read_parts(r, v, v->string[0] == 't');
	p.form = PATTERN_VALUE;
	if (!strcmp(v->string, "tensor") && cJSON_IsString(v)) {
		p.type = read_tensor_type(r, v->valuestring);
		p.form = type_is_complete(p.type) ? PATTERN_TENSOR : PATTERN_ANY;
	} else if (!strcmp(v->string, "str") && cJSON_IsString(v)) {
		p.value = value_str(r->profile->cx, v->valuestring, -1);
	} else if (!strcmp(v->string, "device") && cJSON_IsString(v)) {
		p.value.tag = RT_DEVICE;
		if (!device_of_text(v->valuestring, &p.value.u.i))
			bad(r, "no device:", v->valuestring);
	} else if (!strcmp(v->string, "none")) {
		p.value = rt_none();
	} else if (!strcmp(v->string, "int")) {
		p.value = rt_int(read_int_of(r, o, "int", INT64_MIN));
	} else if (!strcmp(v->string, "bool")) {
		p.value = rt_bool(read_int_of(r, o, "bool", 0) != 0);
	} else {
		bad(r, "an unknown argument", v->string);
	}
	return p;
}

static Pattern *
read_state(const ProfileReader *r, const cJSON *o)
{
	const State *state = r->profile->state;
	Pattern *found = new(r->profile->cx->arena, Pattern, state->at.n + 1);

	if (cJSON_GetArraySize(o) != state->at.n)
		bad(r, "another number of attributes in", "state");
	for (int i = 0; i < state->at.n; i++) {
		const cJSON *one = cJSON_GetObjectItemCaseSensitive(o, state->at.at[i].path);

		if (!one)
			bad(r, "lacks the attribute", state->at.at[i].path);
		found[i] = read_pattern(r, one);
	}
	return found;
}

static Specialization *
read_signature(const ProfileReader *r, const cJSON *o)
{
	const int nargs = graph_ninputs(r->profile->graph) - function_first(r->profile->fn);
	const cJSON *args = cJSON_GetObjectItemCaseSensitive(o, "arguments"), *one;
	Specialization *s = new(r->profile->cx->arena, Specialization, 1);
	int i = 0;

	*s = (Specialization){ .fn = r->profile->fn, .count = read_int_of(r, o, "count", 0) };
	s->pattern = new(r->profile->cx->arena, Pattern, nargs + 1);
	s->seen = new(r->profile->cx->arena, ValueProfile, r->profile->nvalue + 1);
	if (cJSON_GetArraySize(args) != nargs)
		bad(r, "another number of", "arguments");
	cJSON_ArrayForEach(one, args)
		s->pattern[i++] = read_pattern(r, one);
	s->found = read_state(r, cJSON_GetObjectItemCaseSensitive(o, "state"));
	s->again = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "again"));
	read_values(r, cJSON_GetObjectItemCaseSensitive(o, "values"), s->seen);
	return s;
}

int
profile_parse(Profile *p, const char *path, const char *text, Specialization ***out)
{
	ProfileReader r = { .profile = p, .path = path, .ids = { .arena = p->cx->arena } };
	const char *const *names = graph_names(p->graph);
	cJSON *o = cJSON_Parse(text);
	const cJSON *graph = cJSON_GetObjectItemCaseSensitive(o, "graph"), *one;
	Vec(Specialization *) all = { 0 };

	if (!cJSON_IsString(graph))
		bad(&r, "lacks", "graph");
	if (strcmp(graph->valuestring, hash_text(p->cx, p->graph)))
		fail(p->cx, NOWHERE,
		     "%s: this profile is of another graph (%.16s, here %s): the model, the method or the options of "
		     "passes are not those that it was collected with",
		     path, graph->valuestring, hash_text(p->cx, p->graph));
	for (int i = 0; i < p->nvalue; i++)
		if (names[i])
			map_put(&r.ids, names[i], (void *)(intptr_t)(i + 1));
	cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(o, "signatures")) {
		Specialization *s = read_signature(&r, one);

		vec_push(p->cx->arena, &all, s);
		profile_merge(p, p->value, s->seen);
		p->nrun += s->count > INT32_MAX - p->nrun ? 0 : (int)s->count;
	}
	cJSON_Delete(o);
	*out = all.at;
	return all.n;
}
