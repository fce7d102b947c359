/* codegen/cli/cmd_info.c - kiln info: lists methods, arguments with npz keys, parameters and extra files, as text or
 * JSON */
#include "cli.h"

#include <string.h>

/* ---- arguments ------------------------------------------------------------------------------------------ */

static const char *
type_text(Cx *cx, const Type *t)
{
	return type_python(cx, t);
}

/* Returns a text of the archive without control characters, for the terminal. */
static const char *
clean(Cx *cx, const char *s)
{
	Buf b = { 0 };

	buf_clean(&b, s, (int64_t)strlen(s));
	return arena_text(cx->arena, &b);
}

/* A listing in progress. */
typedef struct Info {
	Cx     *cx;
	bool    json;
	PtrMap  seen;            /* objects printed so far */
	int64_t ntensor, elements, bytes;
} Info;

/* Prints `before`, then text of the archive as a JSON string. */
static void
put_json(const char *before, const char *text)
{
	Buf b = { 0 }, safe = { 0 };

	buf_clean(&safe, text, (int64_t)strlen(text));
	buf_puts(&b, before);
	out_json(&b, safe.n ? safe.at : "");
	fputs(b.at, stdout);
	buf_free(&b);
	buf_free(&safe);
}

static void add_keys(Cx *, const Type *, const char *key, int depth, Texts *keys);

/* Adds the keys of a value with any number of parts. For each end of `ends`, adds key.END and the keys below it; then
 * "..." once. */
static void
add_open(Cx *cx, const Type *part, const char *key, const char *const *ends, int depth, Texts *keys)
{
	for (; *ends; ends++)
		add_keys(cx, part, arena_printf(cx->arena, "%s.%s", key, *ends), depth + 1, keys);
	if (!keys->n || strcmp(keys->at[keys->n - 1], "..."))
		vec_push(cx->arena, keys, "...");
}

/* Whether a list of these elements is stored as one array. */
static bool
in_one_array(const Type *elem)
{
	return elem->kind == TYPE_INT || elem->kind == TYPE_FLOAT || elem->kind == TYPE_BOOL ||
	       elem->kind == TYPE_COMPLEX || elem->kind == TYPE_NUMBER || elem->kind == TYPE_STR;
}

/* Adds the keys of a class's attributes. */
static void
add_attributes(Cx *cx, const Type *t, const char *key, int depth, Texts *keys)
{
	for (int i = 0; t->cls && i < t->cls->nslot; i++)
		add_keys(cx, t->cls->slot_type[i], arena_printf(cx->arena, "%s.%s", key, t->cls->slot[i]), depth + 1,
			 keys);
	if (!t->cls)
		vec_push(cx->arena, keys, arena_printf(cx->arena, "%s.ATTRIBUTE", key));
}

/* Adds the keys of all arrays of a value of this type, in the form that kiln run and programs read, such as d.KEY.0.
 * The keys of a recursive type end in "...". */
static void
add_keys(Cx *cx, const Type *t, const char *key, int depth, Texts *keys)
{
	enum { DEEP = 8 };
	static const char *const numbers[] = { "0", "1", NULL }, *const entry[] = { "KEY", NULL };
	const Type *elem = t->n ? t->of[0] : NULL;

	if (depth > DEEP)
		vec_push(cx->arena, keys, arena_printf(cx->arena, "%s...", key));
	else if (t->kind == TYPE_OPTIONAL)
		add_keys(cx, elem, key, depth, keys);
	else if (t->kind == TYPE_TUPLE)
		for (int i = 0; i < t->n; i++)
			add_keys(cx, t->of[i], t->field ? arena_printf(cx->arena, "%s.%s", key, t->field[i])
				: arena_printf(cx->arena, "%s.%d", key, i), depth + 1, keys);
	else if (t->kind == TYPE_LIST && !in_one_array(elem))
		add_open(cx, elem, key, numbers, depth, keys);
	else if (t->kind == TYPE_DICT)
		add_open(cx, t->of[1], key, entry, depth, keys);
	else if (t->kind == TYPE_CLASS)
		add_attributes(cx, t, key, depth, keys);
	else
		vec_push(cx->arena, keys, key);
}

static const char *
default_text(Cx *cx, const Arg *a)
{
	Buf b = { 0 };
	const char *text;

	rt_format_value(&b, a->deflt, 0);
	text = b.n ? clean(cx, b.at) : "''";
	buf_free(&b);
	return text;
}

static void
print_argument(const Info *o, const Arg *a, bool first)
{
	Texts keys = { 0 };

	add_keys(o->cx, a->type, a->name, 0, &keys);
	if (o->json) {
		put_json(first ? "{\"name\":" : ",{\"name\":", a->name);
		put_json(",\"type\":", type_text(o->cx, a->type));
		if (a->has_default)
			put_json(",\"default\":", default_text(o->cx, a));
		for (int i = 0; i < keys.n; i++)
			put_json(i ? "," : ",\"keys\":[", keys.at[i]);
		printf(keys.n ? "]}" : ",\"keys\":[]}");
		return;
	}
	printf("    %-16s %s", a->name, type_text(o->cx, a->type));
	if (a->has_default)
		printf(" = %s", default_text(o->cx, a));
	printf("    npz:");
	for (int i = 0; i < keys.n; i++)
		printf(" %s", clean(o->cx, keys.at[i]));
	printf("\n");
}

static void
print_method(const Info *o, Function *fn, bool first)
{
	const char *dot = strrchr(fn->name, '.'), *name = dot ? dot + 1 : fn->name;
	const int self = function_first(fn);

	if (o->json) {
		put_json(first ? "{\"name\":" : ",\n{\"name\":", name);
		printf(",\"arguments\":[");
	} else {
		printf("  %s\n", name);
	}
	for (int i = self; i < fn->schema->nargs; i++)
		print_argument(o, &fn->schema->args[i], i == self);
	printf(o->json ? "]" : "");
	for (int i = 0; i < fn->schema->nrets && fn->schema->rets[i].type; i++) {
		if (o->json)
			put_json(",\"result\":", type_text(o->cx, fn->schema->rets[i].type));
		else
			printf("    -> %s\n", type_text(o->cx, fn->schema->rets[i].type));
	}
	printf(o->json ? "}" : "");
}

static void
print_methods(const Info *o, const char *title, Function *const *fn, int n)
{
	printf(o->json ? ",\"%s\":[" : "%s:\n", title);
	for (int i = 0; i < n; i++)
		print_method(o, fn[i], !i);
	printf(o->json ? "]" : "");
}

/* Compiles the functions whose results have no annotation, because their result types follow from the bodies. Does so
 * before anything is printed. Annotated functions are not compiled, so they are listed even if they use an operator
 * that Kiln lacks. */
static void
know_results(Cx *cx, Function *const *fn, int n)
{
	for (int i = 0; i < n; i++)
		if (!fn[i]->schema || (fn[i]->schema->nrets == 1 && !fn[i]->schema->rets[0].type))
			function_graph(cx, fn[i]);
}

/* ---- parameters ------------------------------------------------------------------------------------------- */

static void
print_tensor(Info *o, const char *name, const RtTensor *t, const char *what)
{
	if (o->json) {
		put_json(o->ntensor ? ",\n{\"name\":" : "{\"name\":", name);
		printf(",\"kind\":\"%s\",\"dtype\":\"%s\",\"dims\":[", what, rt_dtypes[t->dtype].torch);
	} else {
		printf("  %-9s %-40s %s[", what, clean(o->cx, name), rt_dtypes[t->dtype].torch);
	}
	for (int i = 0; i < t->ndim; i++)
		printf("%s%lld", !i ? "" : o->json ? "," : "x", (long long)t->dims[i]);
	printf(o->json ? "]}" : "]\n");
	o->ntensor++;
	o->elements += rt_numel(t);
	o->bytes += rt_numel(t) * rt_dtypes[t->dtype].bytes;
}

/* Prints the tensors of an object and of the objects that it contains, each object once. */
static void
print_object(Info *o, const RtObject *object, const char *prefix)
{
	int64_t *been = ptrmap_at(o->cx->arena, &o->seen, object);
	const RtClass *cls = object->cls;

	if ((*been)++)
		return;
	for (int i = 0; i < cls->nslot; i++) {
		const char *name = arena_printf(o->cx->arena, "%s%s%s", prefix, *prefix ? "." : "", cls->slot[i]);
		const Attribute *a = cls->info ? class_attr(cls->info, cls->slot[i]) : NULL;

		if (object->slot[i].tag == RT_OBJECT)
			print_object(o, object->slot[i].u.obj, name);
		else if (object->slot[i].tag == RT_TENSOR)
			print_tensor(o, name, object->slot[i].u.t, a && a->parameter ? "parameter" : a &&
				     a->buffer ? "buffer" : "attribute");
	}
}

/* ---- the command -------------------------------------------------------------------------------------------- */

static void
print_extra_files(const Info *o, Module *m)
{
	const char *const *names;
	const int n = archive_names(m->archive, &names);
	bool title = false;

	for (int i = 0; i < n; i++) {
		const char *name = archive_extra(names[i]);

		if (!name)
			continue;
		if (o->json)
			put_json(title ? ",{\"name\":" : ",\"extra_files\":[{\"name\":", name);
		else
			printf("%s  %-49s", title ? "" : "extra files:\n", clean(o->cx, name));
		title = true;
		printf(o->json ? ",\"bytes\":%lld}" : " %lld bytes\n",
		       (long long)archive_record(m->archive, names[i]).n);
	}
	printf(o->json && title ? "]" : "");
}

/* Lists a source or a graph's text. It has functions but no object. */
static void
info_text(const Info *o, const char *path)
{
	Function *const *fn;
	const int n = text_functions(o->cx, path, &fn);
	const char *kind = is_source(path) ? "TorchScript source" : "a graph";

	know_results(o->cx, fn, n);
	if (o->json) {
		put_json("{\"model\":", path);
		put_json(",\"type\":", kind);
	} else {
		printf("%s: %s\n", path, kind);
	}
	print_methods(o, "functions", fn, n);
}

static void
info_archive(Info *o, const char *path)
{
	Module *m = archive_load(o->cx, path);
	const ClassInfo *info = class_info(m->type);

	know_results(o->cx, info->methods.at, info->methods.n);
	if (o->json) {
		put_json("{\"model\":", m->path);
		put_json(",\"type\":", m->type->name);
		printf(",\"version\":%d,\"training\":%s", m->version, m->training ? "true" : "false");
	} else {
		printf("%s: %s, file format version %d%s\n", m->path, m->type->name, m->version,
			m->training ? ", saved in training mode" : "");
	}
	print_methods(o, "methods", info->methods.at, info->methods.n);
	printf(o->json ? ",\"tensors\":[" : "tensors:\n");
	print_object(o, m->self.u.obj, "");
	printf(o->json ? "],\"count\":%lld,\"elements\":%lld,\"bytes\":%lld"
		       : "  %lld tensors, %lld elements, %lld bytes\n",
	       (long long)o->ntensor, (long long)o->elements, (long long)o->bytes);
	print_extra_files(o, m);
}

int
cmd_info(Cli *cli)
{
	Info o = { .cx = cli->cx, .json = cli->as_json };

	if (cli->args.n != 1)
		usage_error(cli, "info wants one model");
	if (is_source(cli->args.at[0]) || is_graph_text(cli->args.at[0]))
		info_text(&o, cli->args.at[0]);
	else
		info_archive(&o, cli->args.at[0]);
	printf(o.json ? "}\n" : "");
	return EXIT_OK;
}
