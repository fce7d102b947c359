/*
 * Loads modules: reads constants.pkl and data.pkl, and gives each object the class that its code declares.
 *
 * A class is read from code/ when the pickle first names it. An object's attributes are checked against the declared
 * types before they are used. The state of an object with __getstate__ and __setstate__ is set by running __setstate__,
 * with a limit of steps and memory. Objects that are shared in PyTorch are shared here, too, through the pickle's memo.
 */
#include "../frontend.h"

#include <stdlib.h>
#include <string.h>

enum { VERSION_MIN = 1, VERSION_MAX = 10 };
enum { SETSTATE_STEPS = 20 * 1000 * 1000 };

typedef struct Loader {
	Cx       *cx;
	Archive  *archive;
	Unit     *unit;
	RtCx      rt;
	Storages *storages;
	Fits      fits;
} Loader;

/* ---- kinds of archives ------------------------------------------------------------------------------------ */

/* Whether the pickle of an eager checkpoint begins with an object of a Python class, not with a table or a tensor. */
static bool
pickles_an_object(Record r)
{
	const char *global = r.data + 3;

	return r.n > 20 && r.data[2] == 'c' && strncmp(global, "collections\n", 12) &&
	       strncmp(global, "torch._utils\n", 13);
}

static const char *
say_what_is_inside(Archive *a)
{
	const char *const *names;
	int n = archive_names(a, &names);

	if (archive_has(a, "data.pkl") && pickles_an_object(archive_record(a, "data.pkl")))
		return "is a checkpoint of torch.save with a pickled Python module: its program is Python source that "
			"is not in the file; save torch.jit.script(model) or a trace by torch.jit.save";
	if (archive_has(a, "data.pkl"))
		return "is a checkpoint of torch.save (a state_dict?): weights without a program; load it in PyTorch, "
			"and save torch.jit.script(model) or a trace by torch.jit.save";
	for (int i = 0; i < n; i++)
		if (strlen(names[i]) > 4 && !strcmp(names[i] + strlen(names[i]) - 4, ".npy"))
			return "is an .npz of arrays, not a TorchScript archive";
	return "is a zip archive, but not one of torch.jit.save: it has no constants.pkl and no data.pkl";
}

static int
read_version(Cx *cx, Archive *a)
{
	const char *name = archive_has(a, ".data/version") ? ".data/version" : "version";
	Record r = archive_record(a, name);
	int64_t v = 0, i = 0;

	while (i < r.n && i < 9 && r.data[i] >= '0' && r.data[i] <= '9')
		v = 10 * v + r.data[i++] - '0';
	if (i == 0 || (i < r.n && r.data[i] != '\n' && r.data[i] != '\r' && r.data[i] != ' '))
		fail(cx, (Range){ 0 }, "%s: %s: is no version number", archive_path(a), name);
	if (v < VERSION_MIN)
		fail(cx, (Range){ 0 },
		     "%s: %s: Attempted to read a PyTorch file with version %lld, but the minimum supported "
		     "version for reading is %d. Your PyTorch script module file is too old.",
		     archive_path(a), name, (long long)v, VERSION_MIN);
	if (v > VERSION_MAX)
		fail(cx, (Range){ 0 }, "%s: %s: Attempted to read a PyTorch file with version %lld, but the maximum "
			"supported version for reading is %d.", archive_path(a), name, (long long)v, VERSION_MAX);
	return (int)v;
}

/* ---- callbacks of the pickle machine ------------------------------------------------------------------------ */

static bool
host_known(void *arg, const char *cls)
{
	(void)arg;
	return !strncmp(cls, "__torch__.", 10);
}

static const Type *
class_named(const PickleAt *at, Loader *l, const char *name)
{
	const Type *t = unit_is_builtin_class(name) ? packed_class(at, name) : unit_type(l->cx, l->unit, name);

	if (!t)
		pickle_bad(at, "the archive has no class %s", name);
	return t;
}

static IValue
host_object(const PickleAt *at, void *arg, const char *name)
{
	Loader *l = arg;
	const Type *t = class_named(at, l, name);
	RtObject *o;

	if (t->kind != TYPE_CLASS)
		pickle_bad(at, "%s is no class of objects", name);
	o = rt_object_new(&l->rt, t->cls);
	if (!o)
		pickle_bad(at, "%s", l->rt.message);
	return rt_ref(RT_OBJECT, o);
}

static IValue
host_enumerator(const PickleAt *at, void *arg, const char *name, IValue value)
{
	Loader *l = arg;
	const Type *t = class_named(at, l, name);
	const ClassInfo *info = t->kind == TYPE_ENUM ? class_info(t) : NULL;
	bool same;

	if (!info)
		pickle_bad(at, "%s is no enum", name);
	for (int i = 0; i < info->members.n; i++)
		if (value.tag == info->members.at[i].value.tag &&
		    !rt_equal(&l->rt, value, info->members.at[i].value, &same) && same)
			return rt_ref(RT_ENUM, rt_enum_new(&l->rt, t, info->members.at[i].name, rt_retain(value)));
	pickle_bad(at, "enum %s has no member of this value", name);
}

static IValue
host_storage(const PickleAt *at, void *arg, RtDtype d, const char *key, int64_t numel)
{
	return storage_tensor(at, ((Loader *)arg)->storages, d, key, numel);
}

static const Type *
host_tag(const PickleAt *at, void *arg, const char *text)
{
	Loader *l = arg;
	Source *s = new(l->cx->arena, Source, 1);

	s->text = arena_strdup(l->cx->arena, text);
	s->n = (int64_t)strlen(text);
	s->name = arena_printf(l->cx->arena, "%s: type tag at byte %lld", at->src->name, (long long)at->byte);
	s->line = 1;
	return type_from_text(l->cx, l->unit, s->text, (Range){ s, 0, (uint32_t)s->n });
}

/* ---- state of objects ----------------------------------------------------------------------------------------- */

static void
check_slots(const PickleAt *at, Loader *l, RtObject *o, const char *why)
{
	const RtClass *c = o->cls;

	for (int i = 0; i < c->nslot; i++)
		if (!value_fits(&l->fits, o->slot[i], c->slot_type[i]))
			pickle_bad(at, "attribute '%s' of %s is declared %s, but %s %s", c->slot[i], c->name,
				type_python(l->cx, c->slot_type[i]), why, rt_is_none(o->slot[i]) ? "None" :
				rt_type_of(o->slot[i]));
}

/* Looks for an attribute. Attributes usually have the order of the slots, so index `guess` is tried first. */
static IValue *
find_attribute(const PickleAt *at, RtCx *rt, RtDict *d, const char *name, int64_t guess)
{
	RtDictEntry *e = guess < d->used ? &d->at[guess] : NULL;
	RtStr *key;
	IValue *v;

	if (e && !e->dead && e->key.tag == RT_STR && !strcmp(e->key.u.str->s, name))
		return &e->value;
	if (!(key = rt_str_new(rt, name, -1)))
		pickle_bad(at, "out of memory");
	v = rt_dict_get(d, rt_ref(RT_STR, key));
	rt_release(rt_ref(RT_STR, key));
	return v;
}

static void
set_attributes(const PickleAt *at, Loader *l, RtObject *o, IValue state)
{
	const RtClass *c = o->cls;

	if (state.tag != RT_DICT)
		pickle_bad(at, "the state of an object of %s is a %s, but the class has no __setstate__", c->name,
			   rt_type_of(state));
	for (int i = 0; i < c->nslot; i++) {
		const IValue *v = find_attribute(at, &l->rt, state.u.dict, c->slot[i], i);

		if (!v)
			pickle_bad(at, "an object of %s lacks attribute '%s'", c->name, c->slot[i]);
		rt_assign(&o->slot[i], rt_retain(*v));
	}
}

/* Runs __setstate__ within limits, since it may contain any TorchScript. */
static void
run_setstate(const PickleAt *at, Loader *l, Function *fn, IValue object, IValue state)
{
	const Schema *schema = fn->schema;
	IValue args[2] = { object, state }, result = rt_none();

	if (!schema || schema->nargs != 2)
		pickle_bad(at, "%s must have the parameters self and state, and no other", fn->name);
	if (!value_fits(&l->fits, state, schema->args[1].type))
		pickle_bad(at, "%s takes a %s, but the state is a %s", fn->name,
			   type_python(l->cx, schema->args[1].type), rt_type_of(state));
	function_graph(l->cx, fn);
	ops_compile_all(l->cx, fn);
	code_lower(l->cx, fn, NULL);
	l->rt.steps = SETSTATE_STEPS;
	if (rt_run(&l->rt, fn->code, args, &result)) {
		if (l->rt.status == RT_LACKS)
			pickle_lacks(at, "%s: %s", fn->name, l->rt.message);
		pickle_bad(at, "%s: %s", fn->name, l->rt.message);
	}
	rt_release(result);
}

static void
flag_parameters(RtObject *o, const ClassInfo *info)
{
	for (int i = 0; info && i < info->attrs.n; i++) {
		const Attribute *a = &info->attrs.at[i];

		if (a->parameter && a->slot >= 0 && o->slot[a->slot].tag == RT_TENSOR)
			o->slot[a->slot].u.t->flags |= RT_PARAMETER;
	}
}

static void
host_build(const PickleAt *at, void *arg, IValue object, IValue state)
{
	Loader *l = arg;
	RtObject *o = object.u.obj;
	const ClassInfo *info = o->cls->info;
	Function *set = info ? class_method(info, "__setstate__") : NULL;

	if (unit_is_builtin_class(o->cls->name)) {
		packed_build(at, &l->rt, &l->fits, o, state);
		return;
	}
	if (set && class_method(info, "__getstate__")) {
		run_setstate(at, l, set, object, state);
		check_slots(at, l, o, "__setstate__ left it");
	} else {
		set_attributes(at, l, o, state);
		check_slots(at, l, o, "is");
	}
	flag_parameters(o, info);
}

/* ---- the archive ------------------------------------------------------------------------------------------------- */

static IValue
load_pickle(Loader *l, const char *member, const char *folder)
{
	Record r = archive_record(l->archive, member);
	Source *s = new(l->cx->arena, Source, 1);
	PickleHost host = { .arg = l, .known = host_known, .object = host_object, .build = host_build,
		.enumerator = host_enumerator, .storage = host_storage, .tag = host_tag, .fits = &l->fits };

	s->text = r.data;
	s->n = r.n;
	s->name = arena_printf(l->cx->arena, "%s: %s", archive_path(l->archive), member);
	l->storages = storages_new(l->cx, &l->rt, l->archive, folder);
	return pickle_load(l->cx, s, &host);
}

static IValue
load_constants(Loader *l)
{
	IValue v = load_pickle(l, "constants.pkl", "constants");

	if (v.tag != RT_TUPLE)
		fail(l->cx, (Range){ 0 }, "%s: constants.pkl: holds a %s instead of a tuple", archive_path(l->archive),
		     rt_type_of(v));
	value_settle(&l->fits, v);
	for (int64_t i = 0; i < v.u.tuple->n; i++) {
		RtTensor *t = rt_tensor(v.u.tuple->v[i]);

		if (t && t->ndim == 0)          /* In type promotion, a 0-d constant of a graph counts as a number. */
			t->flags |= RT_WRAPPED;
	}
	return v;
}

static bool
is_training(IValue self)
{
	int i = class_slot(self.u.obj->cls, "training");

	return i >= 0 && self.u.obj->slot[i].tag == RT_BOOL && self.u.obj->slot[i].u.i;
}

static Module *
load_modern(Cx *cx, Archive *a)
{
	Loader *l = new(cx->arena, Loader, 1);
	Module *m = new(cx->arena, Module, 1);

	l->cx = cx;
	l->archive = a;
	l->fits.cx = cx;
	rt_cx_init(&l->rt);
	m->version = read_version(cx, a);
	m->unit = l->unit = unit_new(cx, a, m->version);
	unit_set_constants(l->unit, load_constants(l));
	m->self = load_pickle(l, "data.pkl", "data");
	if (m->self.tag != RT_OBJECT)
		fail(cx, (Range){ 0 }, "%s: data.pkl: holds a %s instead of a module", archive_path(a),
		     rt_type_of(m->self));
	m->type = m->self.u.obj->cls->type;
	m->training = is_training(m->self);
	fits_free(&l->fits);
	rt_cx_free(&l->rt);
	return m;
}

static bool
says(Record r, const char *word)
{
	const int64_t n = (int64_t)strlen(word);

	return r.n >= n && !memcmp(r.data, word, (size_t)n) && (r.n == n || (r.n == n + 1 && r.data[n] == '\n'));
}

/* Checks the member byteorder. storage.c swaps the bytes of storages. The weights of an exported program are raw bytes,
 * so big-endian ones are refused. */
static void
check_byteorder(Cx *cx, Archive *a)
{
	const Record order = archive_has(a, "byteorder") ? archive_record(a, "byteorder") : (Record){ .n = 0 };

	if (!archive_has(a, "byteorder") || says(order, "little"))
		return;
	if (!says(order, "big"))
		fail(cx, (Range){ 0 }, "%s: its member byteorder says neither little nor big", archive_path(a));
	if (is_exported(a))
		fail_lacks(cx, (Range){ 0 }, "%s: Kiln lacks exported programs with weights of byte order big",
			   archive_path(a));
}

Module *
archive_load(Cx *cx, const char *path)
{
	Archive *a = archive_open(cx, path);
	Module *m;

	check_byteorder(cx, a);
	if (is_exported(a))
		m = exported_load(cx, a);
	else if (archive_has(a, "model.json"))
		m = legacy_load(cx, a);
	else if (archive_has(a, "constants.pkl") && archive_has(a, "data.pkl"))
		m = load_modern(cx, a);
	else
		fail(cx, (Range){ 0 }, "%s: %s", path, say_what_is_inside(a));
	cx_rt(cx)->torch = archive_has(a, "byteorder") || is_exported(a) ? RT_TORCH_2 : RT_TORCH_1;
	m->archive = a;
	m->path = archive_path(a);
	m->hash = archive_hash(a);
	return m;
}

/* ---- methods ----------------------------------------------------------------------------------------------------- */

/* Returns the last part of a qualified name. */
static const char *
short_name(const Function *fn)
{
	const char *dot = strrchr(fn->name, '.');

	return dot ? dot + 1 : fn->name;
}

Function *
module_method(Cx *cx, Module *m, const char *name)
{
	const ClassInfo *info = class_info(m->type);
	Function *fn = class_method(info, name), *near = NULL;
	Buf all = { 0 };
	int best = 3;

	if (fn)
		return strcmp(name, "forward") ? fn : forward_with_hooks(cx, m->unit, m->type, fn);
	for (int i = 0; i < info->methods.n; i++) {
		const char *other = short_name(info->methods.at[i]);
		int d = name_distance(name, other);

		buf_printf(&all, "%s%s", i ? ", " : "", other);
		if (d < best || (!strncmp(other, name, strlen(name)) && best == 3)) {
			best = d;
			near = info->methods.at[i];
		}
	}
	if (near)
		fail(cx, (Range){ 0 }, "%s: no method '%s'; did you mean '%s'?", m->path, name, short_name(near));
	fail(cx, (Range){ 0 }, "%s: no method '%s'; there are: %s", m->path, name, all.n ? all.at : "none");
}
