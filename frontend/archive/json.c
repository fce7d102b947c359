/*
 * Reads archives of PyTorch 1.0 to 1.2: model.json has a tree of modules, a table of tensors and the names of code
 * files.
 *
 * A module's code is a file of functions with `self`. They become methods of a class that is made for the module, named
 * __torch__ and the path of submodules. Attributes are in attributes.pkl, by index. CONSTANTS.cN are tensors of the
 * table. int64 values are strings in this JSON.
 */
#include "../frontend.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

enum { NESTED_MAX = 100, NAME_MAX_ = 1000 };

typedef struct Legacy {
	Cx       *cx;
	Archive  *archive;
	Unit     *unit;
	RtCx      rt;
	Storages *storages;
	Fits      fits;
	Source   *json;         /* Text of model.json. */
	IValue    tensors;      /* Table of tensors, a tuple. */
	IValue    attributes;   /* List or tuple of attributes.pkl, or None. */
	int       proto;
} Legacy;

static PickleAt
at_json(const Legacy *l)
{
	return (PickleAt){ l->cx, l->json, 0 };
}

RT_NORETURN static void
bad(const Legacy *l, const char *what, const char *name)
{
	fail(l->cx, (Range){ 0 }, "%s: %s '%s'", l->json->name, what, name);
}

/* ---- JSON ------------------------------------------------------------------------------------------------- */

static const char *
text(const Legacy *l, const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	if (!cJSON_IsString(v))
		bad(l, "lacks the text", key);
	if (strlen(v->valuestring) > NAME_MAX_)
		bad(l, "has a text that is too long:", key);
	return arena_strdup(l->cx->arena, v->valuestring);
}

static const char *
text_or(const Legacy *l, const cJSON *o, const char *key, const char *absent)
{
	return cJSON_GetObjectItemCaseSensitive(o, key) ? text(l, o, key) : absent;
}

static int64_t
number_of(const Legacy *l, const cJSON *v, const char *key)
{
	char *end;
	long long n;

	if (cJSON_IsNumber(v) && v->valuedouble >= -9e15 && v->valuedouble <= 9e15)
		return (int64_t)v->valuedouble;
	if (!cJSON_IsString(v) || !v->valuestring[0])
		bad(l, "lacks the number", key);
	n = strtoll(v->valuestring, &end, 10);
	if (*end)
		bad(l, "has no number for", key);
	return n;
}

/* Protobuf leaves out zeros, so an absent number is 0. */
static int64_t
number(const Legacy *l, const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	return v ? number_of(l, v, key) : 0;
}

static bool
flag(const cJSON *o, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, key));
}

static int
numbers(const Legacy *l, const cJSON *o, const char *key, int64_t *to)
{
	const cJSON *v;
	int n = 0;

	cJSON_ArrayForEach(v, cJSON_GetObjectItemCaseSensitive(o, key)) {
		if (n == RT_MAX_RANK)
			bad(l, "has too many dimensions in", key);
		to[n++] = number_of(l, v, key);
	}
	return n;
}

/* ---- tensors ------------------------------------------------------------------------------------------------ */

static RtDtype
dtype_named(const Legacy *l, const char *name)
{
	static const struct { const char *name; RtDtype dtype; } rows[] = {
		{ "FLOAT", RT_f32 }, { "DOUBLE", RT_f64 }, { "FLOAT16", RT_f16 }, { "BFLOAT16", RT_bf16 },
		{ "INT64", RT_i64 }, { "INT32", RT_i32 }, { "INT16", RT_i16 }, { "INT8", RT_i8 }, { "UINT8", RT_u8 },
		{ "BYTE", RT_u8 }, { "BOOL", RT_b8 }, { "QINT8", RT_qi8 }, { "QUINT8", RT_qu8 }, { "QINT32", RT_qi32 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(rows[i].name, name))
			return rows[i].dtype;
	bad(l, "has tensors of an unknown type", name);
}

/* Reads a tensor. Its storage is the whole record, and the tensor must be inside of it. */
static IValue
read_tensor(Legacy *l, const cJSON *o)
{
	RtDtype d = dtype_named(l, text(l, o, "dataType"));
	const cJSON *data = cJSON_GetObjectItemCaseSensitive(o, "data");
	const char *key = data ? text(l, data, "key") : NULL, *file;
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];
	int ndim = numbers(l, o, "dims", dims);
	PickleAt at = at_json(l);
	IValue all;
	RtTensor *t;

	if (flag(o, "isQuantized"))
		fail_lacks(l->cx, (Range){ 0 }, "%s: Kiln lacks quantized tensors in archives of this age",
			   l->json->name);
	if (!key || strncmp(key, "tensors/", 8))
		bad(l, "has a tensor whose data are at", key ? key : "");
	if (numbers(l, o, "strides", strides) != ndim)
		bad(l, "has a tensor with more sizes or more strides:", key);
	file = key + 8;
	all = storage_tensor(&at, l->storages, d, file, archive_record(l->archive, key).n / rt_dtypes[d].bytes);
	t = tensor_over(&at, &l->rt, all.u.t->storage, d,
			(RtGeometry){ ndim, dims, strides, number(l, o, "offset") });
	if (flag(o, "requiresGrad"))
		t->flags |= RT_REQUIRES_GRAD;
	rt_release(all);
	return rt_of(t);
}

static void
read_tensors(Legacy *l, const cJSON *model)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(model, "tensors"), *o;
	RtTuple *t = rt_tuple_new(&l->rt, NULL, cJSON_GetArraySize(list));
	int64_t n = 0;

	if (!t)
		bad(l, "has too many", "tensors");
	l->tensors = rt_ref(RT_TUPLE, t);
	cJSON_ArrayForEach(o, list)
		t->v[n++] = read_tensor(l, o);
}

static IValue
tensor_at(const Legacy *l, int64_t id)
{
	if (id < 0 || id >= l->tensors.u.tuple->n)
		fail(l->cx, (Range){ 0 }, "%s: there is no tensor %lld", l->json->name, (long long)id);
	return rt_retain(l->tensors.u.tuple->v[id]);
}

/* ---- attributes.pkl ------------------------------------------------------------------------------------------- */

static IValue
host_tensor(const PickleAt *at, void *arg, int64_t id)
{
	(void)at;
	return tensor_at(arg, id);
}

static const Type *
host_tag(const PickleAt *at, void *arg, const char *tag)
{
	(void)at;
	return type_from_text(((Legacy *)arg)->cx, ((Legacy *)arg)->unit, tag, (Range){ 0 });
}

static void
read_attributes(Legacy *l)
{
	PickleHost host = { .arg = l, .tensor = host_tensor, .tag = host_tag, .fits = &l->fits, .legacy = true };
	Source *s = new(l->cx->arena, Source, 1);
	Record r;

	if (!archive_has(l->archive, "attributes.pkl"))
		return;
	r = archive_record(l->archive, "attributes.pkl");
	s->text = r.data;
	s->n = r.n;
	s->name = arena_printf(l->cx->arena, "%s: attributes.pkl", archive_path(l->archive));
	l->attributes = pickle_load(l->cx, s, &host);
}

static IValue
attribute_at(const Legacy *l, int64_t id, const char *name)
{
	IValue a = l->attributes;
	int64_t n = a.tag == RT_TUPLE ? a.u.tuple->n : a.tag == RT_LIST ? a.u.list->n : 0;

	if (id < 0)
		return rt_none();
	if (id >= n)
		bad(l, "has an attribute that is not in attributes.pkl:", name);
	return rt_retain(a.tag == RT_TUPLE ? a.u.tuple->v[id] : a.u.list->v[id]);
}

/* Converts numbers to the declared type: an old pickle may have 1 for True, or True for 1 or 1.0. */
static void
declare_numbers(IValue *v, const Type *t)
{
	const Type *part = t->n ? t->of[t->n - 1] : NULL;

	if (t->kind == TYPE_OPTIONAL) {
		declare_numbers(v, part);
	} else if (t->kind == TYPE_LIST && v->tag == RT_LIST) {
		for (int64_t i = 0; i < v->u.list->n; i++)
			declare_numbers(&v->u.list->v[i], part);
	} else if (t->kind == TYPE_DICT && v->tag == RT_DICT) {
		for (int64_t i = 0; i < v->u.dict->used; i++)
			declare_numbers(&v->u.dict->at[i].value, part);
	} else if (t->kind == TYPE_TUPLE && v->tag == RT_TUPLE && v->u.tuple->n == t->n) {
		for (int i = 0; i < t->n; i++)
			declare_numbers(&v->u.tuple->v[i], t->of[i]);
	} else if (t->kind == TYPE_INT && v->tag == RT_BOOL) {
		*v = rt_int(v->u.i);
	} else if (t->kind == TYPE_BOOL && v->tag == RT_INT) {
		*v = rt_bool(v->u.i != 0);
	} else if (t->kind == TYPE_FLOAT && (v->tag == RT_INT || v->tag == RT_BOOL)) {
		*v = rt_double((double)v->u.i);
	}
}

/* ---- modules -------------------------------------------------------------------------------------------------- */

/* A module that is being built: its class, and the values of its slots. */
typedef struct Making {
	ClassInfo  *info;
	const char *path;
	int         depth;
	Map         names;
	Vec(IValue) slots;
} Making;

static void
add_attribute(const Legacy *l, Making *k, Attribute a, IValue v)
{
	if (map_get(&k->names, a.name))
		bad(l, "has two attributes of the name", a.name);
	map_put(&k->names, a.name, k);
	class_add_attr(l->cx, k->info, a);
	vec_push(l->cx->arena, &k->slots, v);
}

static void
add_parameters(Legacy *l, const cJSON *module, Making *k)
{
	const cJSON *p;

	cJSON_ArrayForEach(p, cJSON_GetObjectItemCaseSensitive(module, "parameters")) {
		bool buffer = flag(p, "isBuffer");
		IValue v = tensor_at(l, number(l, p, "tensorId"));

		if (!buffer)
			v.u.t->flags |= RT_PARAMETER;
		add_attribute(l, k, (Attribute){ .name = text(l, p, "name"), .type = &rt_type_tensor,
			.parameter = !buffer, .buffer = buffer }, v);
	}
}

static void
add_attributes(Legacy *l, const cJSON *module, Making *k)
{
	const cJSON *p;

	cJSON_ArrayForEach(p, cJSON_GetObjectItemCaseSensitive(module, "attributes")) {
		const char *name = text(l, p, "name"), *type = text(l, p, "type");
		Source *s = new(l->cx->arena, Source, 1);
		const Type *t;
		IValue v = attribute_at(l, number(l, p, "id"), name);

		*s = (Source){ .text = type, .n = (int64_t)strlen(type), .name = l->json->name, .line = 1 };
		t = type_from_text(l->cx, l->unit, type, (Range){ s, 0, (uint32_t)s->n });
		declare_numbers(&v, t);
		if (!value_fits(&l->fits, v, t))
			fail(l->cx, (Range){ 0 }, "%s: attribute '%s' is declared %s, but is %s", l->json->name, name,
			     type, rt_type_of(v));
		add_attribute(l, k, (Attribute){ .name = name, .type = t }, v);
	}
}

static void
add_method(Legacy *l, ClassInfo *info, const Tree *def)
{
	Function *fn = new(l->cx->arena, Function, 1);

	fn->name = arena_printf(l->cx->arena, "%s.%s", info->cls->name, def->kid[0]->text);
	fn->tree = def;
	fn->unit = l->unit;
	fn->self = info->type;
	fn->schema = schema_of_def(l->cx, l->unit, def, fn->name, info->type);
	vec_push(l->cx->arena, &info->methods, fn);
}

/* Adds the functions of a file as methods. Ignores imports and the assignment to op_version_set. */
static void
add_methods(Legacy *l, const cJSON *module, ClassInfo *info)
{
	const cJSON *code = cJSON_GetObjectItemCaseSensitive(module, "torchscriptArena");
	Source *s = new(l->cx->arena, Source, 1);
	const char *key;
	const Tree *file;
	Record r;

	if (!code)
		return;
	key = text(l, code, "key");
	r = archive_record(l->archive, key);
	*s = (Source){ .text = r.data, .n = r.n, .name = arena_printf(l->cx->arena, "%s:%s", archive_path(l->archive),
		key), .line = 1 };
	file = parse_file(l->cx, s);
	for (int i = 0; i < file->n; i++)
		if (file->kid[i]->kind == TREE_DEF)
			add_method(l, info, file->kid[i]);
}

static IValue read_module(Legacy *, const cJSON *, const char *path, int depth);

static const char *
submodule_path(const Legacy *l, const char *path, const char *name)
{
	bool digits = name[strspn(name, "0123456789")] == 0;

	return arena_printf(l->cx->arena, digits ? "%s._%s" : "%s.%s", path, name);
}

static void
add_submodules(Legacy *l, const cJSON *module, Making *k)
{
	const cJSON *p;

	cJSON_ArrayForEach(p, cJSON_GetObjectItemCaseSensitive(module, "submodules")) {
		const char *name = text(l, p, "name");
		IValue v = read_module(l, p, submodule_path(l, k->path, name), k->depth + 1);

		add_attribute(l, k, (Attribute){ .name = name, .type = v.u.obj->cls->type }, v);
	}
}

static IValue
read_module(Legacy *l, const cJSON *module, const char *path, int depth)
{
	Making k = { .info = class_info(type_class(l->cx, path, false)), .path = path, .depth = depth };
	RtObject *o;

	if (depth > NESTED_MAX)
		bad(l, "nests modules too deep at", path);
	if (unit_is_builtin_class(path))
		bad(l, "has a module with the name of a C++ class:", path);
	if (k.info->defined)
		bad(l, "has two modules named", path);
	k.info->defined = k.info->module = true;
	k.names.arena = l->cx->arena;
	add_submodules(l, module, &k);
	add_parameters(l, module, &k);
	add_attributes(l, module, &k);
	add_methods(l, module, k.info);
	o = rt_object_new(&l->rt, k.info->cls);
	if (!o)
		bad(l, "is too large:", path);
	for (int i = 0; i < k.slots.n; i++)
		o->slot[i] = k.slots.at[i];
	return rt_ref(RT_OBJECT, o);
}

/* ---- the archive ------------------------------------------------------------------------------------------------ */

typedef struct Job { Legacy *legacy; cJSON *json; Module *module; } Job;

static void
read_libraries(Legacy *l)
{
	const char *const *names;
	int n = archive_names(l->archive, &names);

	for (int i = 0; i < n; i++)
		if (!strncmp(names[i], "libs/", 5) && strlen(names[i]) > 8) {
			Record r = archive_record(l->archive, names[i]);
			Source *s = new(l->cx->arena, Source, 1);

			*s = (Source){ .text = r.data, .n = r.n, .name = arena_printf(l->cx->arena, "%s:%s",
				archive_path(l->archive), names[i]), .line = 1 };
			unit_define(l->cx, l->unit, s, "__torch__");
		}
}

static void
load(Cx *cx, void *arg)
{
	Job *job = arg;
	Legacy *l = job->legacy;
	const cJSON *main = cJSON_GetObjectItemCaseSensitive(job->json, "mainModule");
	Module *m = job->module;
	int i;

	(void)cx;
	l->proto = (int)number(l, job->json, "protoVersion");
	if (l->proto < 1 || l->proto > 5)
		fail(l->cx, (Range){ 0 }, "%s: protoVersion %d (known are 1 to 5)", l->json->name, l->proto);
	if (!main)
		bad(l, "lacks the module", "mainModule");
	read_tensors(l, job->json);
	unit_set_constants(l->unit, l->tensors);
	read_libraries(l);
	read_attributes(l);
	m->self = read_module(l, main, arena_printf(l->cx->arena, "__torch__.%s", text_or(l, main, "name", "Module")),
			      0);
	m->type = m->self.u.obj->cls->type;
	i = class_slot(m->self.u.obj->cls, "training");
	m->training = i >= 0 && m->self.u.obj->slot[i].tag == RT_BOOL && m->self.u.obj->slot[i].u.i;
}

Module *
legacy_load(Cx *cx, Archive *a)
{
	Legacy *l = new(cx->arena, Legacy, 1);
	Job job = { l, NULL, new(cx->arena, Module, 1) };
	Record r = archive_record(a, "model.json");
	bool ok;

	l->cx = cx;
	l->archive = a;
	l->fits.cx = cx;
	l->json = new(cx->arena, Source, 1);
	*l->json = (Source){ .text = r.data, .n = r.n,
		.name = arena_printf(cx->arena, "%s: model.json", archive_path(a)), .line = 1 };
	job.json = cJSON_ParseWithLength(r.data, (size_t)r.n);
	if (!job.json)
		fail(cx, (Range){ 0 }, "%s: is no JSON", l->json->name);
	rt_cx_init(&l->rt);
	job.module->version = 1;
	job.module->unit = l->unit = unit_new(cx, a, 1);
	l->storages = storages_new(cx, &l->rt, a, "tensors");
	ok = cx_try(cx, load, &job);
	cJSON_Delete(job.json);
	fits_free(&l->fits);
	rt_cx_free(&l->rt);
	if (!ok)
		fail_again(cx);
	return job.module;
}
