/*
 * Writes a Module as an archive that PyTorch and archive_load read.
 *
 * Printed code refers to classes and functions, which refer to others; a worklist finds them all. Each is written to
 * the file of its prefix: __torch__.a.C to code/__torch__/a.py. Objects are written to data.pkl, the constants that the
 * code names to constants.pkl, and storages to members of their own.
 *
 * A whole archive has every attribute and method. Otherwise modules keep the attributes that a printed graph reads or
 * sets, and the methods that are called. Objects are written as their attributes, so __getstate__ and __setstate__ are
 * left out. Operators are those of version 10, the newest. Reading an archive has replaced older ones.
 */
#include "../script/emit.h"

#include <string.h>

typedef struct Save {
	Cx       *cx;
	Module   *module;
	const SaveOptions *options;
	PyNeeds  *needs;
	Map       wanted;        /* Names of the functions to write. */
	Map       files;         /* Buf, by prefix. */
	Vec(Record) members;
} Save;

static const char *
last_part(const char *qualified)
{
	const char *dot = strrchr(qualified, '.');

	return dot ? dot + 1 : qualified;
}

/* ---- needed attributes and functions ------------------------------------------------------------------- */

static bool
keeps_attribute(void *arg, const RtClass *c, const char *name)
{
	Save *s = arg;

	return s->options->whole || !c->info || !c->info->module || !strcmp(name, "training") ||
	       map_get(&s->needs->attributes, py_attribute_key(s->cx, c->type, name));
}

static bool
restores_itself(const ClassInfo *info, const char *method)
{
	return (!strcmp(method, "__getstate__") || !strcmp(method, "__setstate__")) &&
	       class_method(info, "__getstate__") && class_method(info, "__setstate__");
}

/* Whether a method of this name is called through an interface, or by `with`. */
static bool
called_by_name(Save *s, const ClassInfo *info, const char *method)
{
	if (map_get(&s->needs->attributes, py_attribute_key(s->cx, info->type, method)))
		return true;
	for (int i = 0; i < s->needs->types.n; i++) {
		const Type *t = s->needs->types.at[i];

		if (t->kind == TYPE_INTERFACE && map_get(&s->needs->attributes, py_attribute_key(s->cx, t, method)) &&
		    type_is_subtype(s->cx, info->type, t))
			return true;
	}
	return false;
}

static bool
is_hook(const ClassInfo *info, const char *method)
{
	for (int i = 0; i < info->hooks.n; i++)
		if (!strcmp(info->hooks.at[i], method))
			return true;
	for (int i = 0; i < info->pre_hooks.n; i++)
		if (!strcmp(info->pre_hooks.at[i], method))
			return true;
	return false;
}

/* Returns the function that runs forward with its hooks (hooks.c), which is no method of the class. Null if it is not
 * saved. */
static Function *
hooked_entry(Save *s)
{
	for (int i = 0; i < s->options->nentry; i++)
		if (class_method(class_info(s->module->type), last_part(s->options->entry[i]->name)) !=
		    s->options->entry[i])
			return s->options->entry[i];
	return NULL;
}

/* Whether hooks are written as hooks. If not, the entry with hooks is written as forward, unless code calls forward
 * itself. */
static bool
keeps_hooks(Save *s, const ClassInfo *info)
{
	const Function *forward = class_method(info, "forward");

	return s->options->whole ||
	       (info->type == s->module->type && hooked_entry(s) && forward && map_get(&s->wanted, forward->name));
}

static bool
wants_method(Save *s, const ClassInfo *info, const Function *fn)
{
	const char *name = last_part(fn->name);

	if (restores_itself(info, name))
		return false;
	return s->options->whole || info->interface || map_get(&s->wanted, fn->name) || called_by_name(s, info, name) ||
	       (keeps_hooks(s, info) && is_hook(info, name));
}

static void
want(Save *s, Function *fn)
{
	Buf nowhere = { 0 };

	if (map_get(&s->wanted, fn->name))
		return;
	map_put(&s->wanted, fn->name, fn);
	if (fn->self && fn->self->kind == TYPE_INTERFACE)
		py_function(s->needs, fn->schema, NULL, "stub", 0, &nowhere);
	else
		py_function(s->needs, fn->schema, s->options->graph(s->cx, fn), "method", 0, &nowhere);
	buf_free(&nowhere);
}

static void
want_of_class(Save *s, const Type *t)
{
	ClassInfo *info = class_info(t);

	for (int i = 0; i < info->attrs.n; i++)
		if (info->attrs.at[i].is_constant || keeps_attribute(s, t->cls, info->attrs.at[i].name))
			py_type(s->needs, info->attrs.at[i].type);
	for (int i = 0; i < info->methods.n; i++)
		if (wants_method(s, info, info->methods.at[i]))
			want(s, info->methods.at[i]);
}

static bool
is_class(const Type *t)
{
	return (t->kind == TYPE_CLASS || t->kind == TYPE_INTERFACE) && !unit_is_builtin_class(t->name);
}

/* Adds the classes of objects, which may differ from the declared types of attributes. */
static void
note_objects(Save *s, IValue v)
{
	const RtObject *o = v.tag == RT_OBJECT ? v.u.obj : NULL;
	int depth;

	if (!o || unit_is_builtin_class(o->cls->name))
		return;
	depth = cx_enter_nested(s->cx, (Range){ 0 });
	py_type(s->needs, o->cls->type);
	for (int i = 0; i < o->cls->nslot; i++)
		if (keeps_attribute(s, o->cls, o->cls->slot[i]))
			note_objects(s, o->slot[i]);
	cx_leave_nested(s->cx, depth);
}

static void
find_needs(Save *s)
{
	int before = -1, now = 0;

	py_type(s->needs, s->module->type);
	for (int i = 0; i < s->options->nentry; i++)
		want(s, s->options->entry[i]);
	for (; before != now;
	     before = now, now = s->needs->types.n + s->needs->functions.n + s->needs->attributes.n + s->wanted.n) {
		note_objects(s, s->module->self);
		for (int i = 0; i < s->needs->functions.n; i++)
			want(s, s->needs->functions.at[i]);
		for (int i = 0; i < s->needs->types.n; i++)
			if (is_class(s->needs->types.at[i]))
				want_of_class(s, s->needs->types.at[i]);
	}
}

/* ---- source ---------------------------------------------------------------------------------------------- */

static Buf *
file_of(Save *s, const char *qualified)
{
	const char *dot = strrchr(qualified, '.'),
		   *prefix = arena_strndup(s->cx->arena, qualified, dot ? dot - qualified : 0);
	Buf *b = map_get(&s->files, prefix);

	if (!dot)
		fail_lacks(s->cx, (Range){ 0 }, "saving %s, which is in no file", qualified);
	if (!b)
		map_put(&s->files, prefix, b = new(s->cx->arena, Buf, 1));
	return b;
}

static void
print_names(Buf *out, const char *what, const char *const *names, int n)
{
	buf_printf(out, "  %s = [", what);
	for (int i = 0; i < n; i++) {
		py_quoted(out, names[i]);
		buf_puts(out, ", ");
	}
	buf_puts(out, "]\n");
}

/* Prints a list of names, such as __parameters__ = ["weight", ]. */
static void
print_kind_of_names(Save *s, const ClassInfo *info, const char *what, bool parameters, Buf *out)
{
	Vec(const char *) names = { 0 };

	for (int i = 0; i < info->attrs.n; i++) {
		const Attribute *a = &info->attrs.at[i];

		if ((parameters ? a->parameter : a->buffer) && !a->is_constant &&
		    keeps_attribute(s, info->cls, a->name))
			vec_push(s->cx->arena, &names, a->name);
	}
	print_names(out, what, names.at, names.n);
}

static void
print_attribute(Save *s, const Attribute *a, bool *annotations, Buf *out)
{
	if (a->is_constant) {
		buf_printf(out, "  %s : Final[%s] = ", a->name, py_type(s->needs, a->type));
		py_constant(s->needs, a->constant, a->type, out);
		buf_puts(out, "\n");
	} else if (py_is_identifier(a->name)) {
		buf_printf(out, "  %s : %s\n", a->name, py_type(s->needs, a->type));
	} else {
		if (!*annotations)
			buf_puts(out, "  __annotations__ = []\n");
		buf_puts(out, "  __annotations__[");
		py_quoted(out, a->name);
		buf_printf(out, "] = %s\n", py_type(s->needs, a->type));
	}
	*annotations = true;
}

static void
print_method(Save *s, Function *fn, const char *name, int indent, Buf *out)
{
	const bool bodiless = fn->self && fn->self->kind == TYPE_INTERFACE;

	py_function(s->needs, fn->schema, bodiless ? NULL : s->options->graph(s->cx, fn), name, indent, out);
}

static void
print_methods(Save *s, const ClassInfo *info, Buf *out)
{
	for (int i = 0; i < info->methods.n; i++)
		if (map_get(&s->wanted, info->methods.at[i]->name))
			print_method(s, info->methods.at[i], last_part(info->methods.at[i]->name), 2, out);
	if (info->type == s->module->type && hooked_entry(s) && !keeps_hooks(s, info))
		print_method(s, hooked_entry(s), "forward", 2, out);
}

static void
print_class(Save *s, const Type *t, Buf *out)
{
	const ClassInfo *info = class_info(t);
	const int64_t before = out->n;
	const char *base = t->kind == TYPE_INTERFACE ? (info->module ? "(ModuleInterface)" : "(Interface)")
		: info->module ? "(Module)" : "";
	bool annotations = false;

	buf_printf(out, "class %s%s:\n", last_part(t->name), base);
	if (info->module && t->kind == TYPE_CLASS) {
		print_kind_of_names(s, info, "__parameters__", true, out);
		print_kind_of_names(s, info, "__buffers__", false, out);
	}
	if (info->pre_hooks.n && keeps_hooks(s, info))
		print_names(out, "__forward_pre_hooks__", info->pre_hooks.at, info->pre_hooks.n);
	if (info->hooks.n && keeps_hooks(s, info))
		print_names(out, "__forward_hooks__", info->hooks.at, info->hooks.n);
	for (int i = 0; i < info->attrs.n; i++)
		if (s->options->whole ? true
				: !info->attrs.at[i].is_constant && keeps_attribute(s, t->cls, info->attrs.at[i].name))
			print_attribute(s, &info->attrs.at[i], &annotations, out);
	print_methods(s, info, out);
	if (strchr(out->at + before, '\n') == out->at + out->n - 1)
		buf_puts(out, "  pass\n");
}

static void
print_named_tuple(Save *s, const Type *t, Buf *out)
{
	const IValue *deflt;
	const int ndefault = unit_field_defaults(s->module->unit, t, &deflt);

	buf_printf(out, "class %s(NamedTuple):\n", last_part(t->name));
	for (int i = 0; i < t->n; i++) {
		buf_printf(out, "  %s : %s", t->field[i], py_type(s->needs, t->of[i]));
		if (i >= t->n - ndefault) {
			buf_puts(out, " = ");
			py_constant(s->needs, deflt[i - (t->n - ndefault)], t->of[i], out);
		}
		buf_puts(out, "\n");
	}
}

static void
print_enum(Save *s, const Type *t, Buf *out)
{
	const ClassInfo *info = class_info(t);

	buf_printf(out, "class %s(Enum):\n", last_part(t->name));
	for (int i = 0; i < info->members.n; i++) {
		buf_printf(out, "  %s = ", info->members.at[i].name);
		py_constant(s->needs, info->members.at[i].value, t->of[0], out);
		buf_puts(out, "\n");
	}
}

/* Whether it is a free function, not a method. */
static bool
is_free(Save *s, const Function *fn)
{
	const char *dot = strrchr(fn->name, '.');
	const Type *t = dot ? type_named(s->cx, arena_strndup(s->cx->arena, fn->name, dot - fn->name)) : NULL;

	if (!fn->self && t)
		py_type(s->needs, t);
	return !fn->self && !t;
}

static void
print_types(Save *s)
{
	for (int i = 0; i < s->needs->types.n; i++) {
		const Type *t = s->needs->types.at[i];

		if (is_class(t))
			print_class(s, t, file_of(s, t->name));
		else if (t->kind == TYPE_ENUM)
			print_enum(s, t, file_of(s, t->name));
		else if (t->kind == TYPE_TUPLE)
			print_named_tuple(s, t, file_of(s, t->name));
	}
}

static void
print_source(Save *s)
{
	for (int i = 0; i < s->needs->functions.n; i++)
		if (is_free(s, s->needs->functions.at[i]))
			print_method(s, s->needs->functions.at[i], last_part(s->needs->functions.at[i]->name), 0,
				file_of(s, s->needs->functions.at[i]->name));
	print_types(s);
}

/* ---- members ----------------------------------------------------------------------------------------------- */

static void
add_member(Save *s, const char *name, const char *data, int64_t n)
{
	vec_push(s->cx->arena, &s->members, ((Record){ .name = name, .data = data ? data : "", .n = n }));
}

/* Adds the pickle of v, and a member for each of its storages. */
static void
add_pickle(Save *s, IValue v, const char *name, const char *folder, bool constants)
{
	PickleOut out = { .cx = s->cx, .keeps = keeps_attribute, .arg = s, .constants = constants };
	const Buf bytes = pickle_bytes(&out, v);

	for (int i = 0; i < out.storages.n; i++)
		add_member(s, arena_printf(s->cx->arena, "%s/%d", folder, i), out.storages.at[i]->data,
			   out.storages.at[i]->bytes);
	add_member(s, name, bytes.at, bytes.n);
}

static void
add_source(Save *s)
{
	for (int i = 0; i < s->files.n; i++) {
		char *name = arena_printf(s->cx->arena, "code/%s.py", s->files.at[i].key);
		const Buf *b = s->files.at[i].value;

		for (char *c = name; c[3]; c++)
			if (*c == '.')
				*c = '/';
		add_member(s, name, b->at, b->n);
	}
}

static void
copy_extra(Save *s)
{
	const char *const *names;
	const int n = s->module->archive ? archive_names(s->module->archive, &names) : 0;

	for (int i = 0; i < n; i++)
		if (archive_extra(names[i])) {
			const Record r = archive_record(s->module->archive, names[i]);

			add_member(s, names[i], r.data, r.n);
		}
}

/* Returns the name of the file without folder and extension. */
static const char *
root_of(Cx *cx, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');

	return !*name || dot == name ? "archive"
				     : arena_strndup(cx->arena, name, dot ? dot - name : (int64_t)strlen(name));
}

void
module_save(Cx *cx, Module *m, const SaveOptions *o, const char *path)
{
	Save s = { .cx = cx, .module = m, .options = o, .needs = py_needs(cx), .wanted.arena = cx->arena,
		.files.arena = cx->arena };

	find_needs(&s);
	print_source(&s);
	copy_extra(&s);
	add_pickle(&s, m->self, "data.pkl", "data", false);
	add_source(&s);
	add_pickle(&s, value_tuple(cx, NULL, s.needs->constants.at, s.needs->constants.n), "constants.pkl", "constants",
		   true);
	add_member(&s, ".data/version", "10\n", 3);
	if (cx_rt(cx)->torch == RT_TORCH_2)
		add_member(&s, "byteorder", "little", 6);
	archive_write(cx, path, root_of(cx, path), s.members.at, s.members.n);
}
