/* codegen/cmd_info.c - kiln info: methods, their arguments and npz keys, parameters, extra files
 */
#include "codegen.h"

#include <string.h>

/* ---- arguments ------------------------------------------------------------------------------------------ */

static const char *
type_text(Cx *cx, const Type *t)
{
	return type_python(cx, t);
}

/* Text of the archive, so that it cannot drive the terminal. */
static const char *
clean(Cx *cx, const char *s)
{
	Buf b = { 0 };

	buf_clean(&b, s, (int64_t)strlen(s));
	return arena_text(cx->arena, &b);
}

/* Keys of the arrays that make up a value of this type, as kiln run and a program take them. */
static void
print_keys(Cx *cx, const Type *t, const char *key, int depth)
{
	const Type *elem = t->n ? t->of[0] : NULL;

	if (t->kind == TYPE_OPTIONAL)
		print_keys(cx, elem, key, depth);
	else if (t->kind == TYPE_TUPLE && depth < 4)
		for (int i = 0; i < t->n; i++)
			print_keys(cx, t->of[i], t->field ? arena_printf(cx->arena, "%s.%s", key, t->field[i])
				: arena_printf(cx->arena, "%s.%d", key, i), depth + 1);
	else if (t->kind == TYPE_LIST && elem->kind != TYPE_INT && elem->kind != TYPE_FLOAT && elem->kind != TYPE_BOOL)
		printf(" %s.0 %s.1 ...", key, key);
	else if (t->kind == TYPE_DICT)
		printf(" %s.KEY ...", key);
	else if (t->kind == TYPE_CLASS)
		printf(" %s.ATTRIBUTE ...", key);
	else
		printf(" %s", key);
}

static void
print_argument(Cx *cx, const Arg *a)
{
	Buf b = { 0 };

	printf("    %-16s %s", a->name, type_text(cx, a->type));
	if (a->has_default) {
		rt_format_value(&b, a->deflt, 0);
		printf(" = %s", b.n ? clean(cx, b.at) : "''");
		buf_free(&b);
	}
	printf("    npz:");
	print_keys(cx, a->type, a->name, 0);
	printf("\n");
}

static void
print_method(Cx *cx, Function *fn)
{
	const char *dot = strrchr(fn->name, '.');

	function_graph(cx, fn);
	printf("  %s\n", dot ? dot + 1 : fn->name);
	for (int i = fn->self != NULL; i < fn->schema->nargs; i++)
		print_argument(cx, &fn->schema->args[i]);
	for (int i = 0; i < fn->schema->nrets; i++)
		if (fn->schema->rets[i].type)
			printf("    -> %s\n", type_text(cx, fn->schema->rets[i].type));
}

/* ---- parameters ------------------------------------------------------------------------------------------- */

typedef struct Totals { int64_t parameters, elements, bytes; } Totals;

static void
print_tensor(const char *name, const RtTensor *t, const char *what, Totals *sum)
{
	printf("  %-9s %-40s %s[", what, name, rt_dtypes[t->dtype].torch);
	for (int i = 0; i < t->ndim; i++)
		printf(i ? "x%lld" : "%lld", (long long)t->dims[i]);
	printf("]\n");
	sum->parameters++;
	sum->elements += rt_numel(t);
	sum->bytes += rt_numel(t) * rt_dtypes[t->dtype].bytes;
}

/* Each object once, where it is first met. */
static void
print_object(Cx *cx, const RtObject *o, const char *prefix, PtrMap *seen, Totals *sum)
{
	int64_t *been = ptrmap_at(cx->arena, seen, o);
	const ClassInfo *info = o->cls->info;

	if ((*been)++)
		return;
	for (int i = 0; i < o->cls->nslot; i++) {
		const char *name = arena_printf(cx->arena, "%s%s%s", prefix, *prefix ? "." : "", o->cls->slot[i]);
		const Attribute *a = info ? class_attr(info, o->cls->slot[i]) : NULL;

		if (o->slot[i].tag == RT_OBJECT)
			print_object(cx, o->slot[i].u.obj, name, seen, sum);
		else if (o->slot[i].tag == RT_TENSOR)
			print_tensor(name, o->slot[i].u.t, a && a->parameter ? "parameter" : a && a->buffer ? "buffer" : "attribute", sum);
	}
}

/* ---- the command -------------------------------------------------------------------------------------------- */

static void
print_extra_files(Cx *cx, Module *m)
{
	const char *const *names;
	int n = archive_names(m->archive, &names);
	bool title = false;

	for (int i = 0; i < n; i++) {
		if (strncmp(names[i], "extra/", 6))
			continue;
		if (!title)
			printf("extra files:\n");
		title = true;
		printf("  %-49s %lld bytes\n", clean(cx, names[i] + 6), (long long)archive_record(m->archive, names[i]).n);
	}
}

/* Texts have no object: only functions. */
static int
info_text(Cx *cx, const char *path)
{
	Function *const *fn;
	const int n = text_functions(cx, path, &fn);

	printf("%s: %s\nfunctions:\n", path, is_source(path) ? "TorchScript source" : "a graph");
	for (int i = 0; i < n; i++)
		print_method(cx, fn[i]);
	return EXIT_OK;
}

int
cmd_info(Cli *cli)
{
	Cx *cx = cli->cx;
	PtrMap seen = { 0 };
	Totals sum = { 0 };
	const ClassInfo *info;
	Module *m;

	if (cli->args.n != 1)
		usage_error(cli, "info wants one model");
	if (is_source(cli->args.at[0]) || is_graph_text(cli->args.at[0]))
		return info_text(cx, cli->args.at[0]);
	m = archive_load(cx, cli->args.at[0]);
	info = class_info(m->type);
	printf("%s: %s, file format version %d%s\n", m->path, m->type->name, m->version,
		m->training ? ", saved in training mode" : "");
	printf("methods:\n");
	for (int i = 0; i < info->methods.n; i++)
		print_method(cx, info->methods.at[i]);
	printf("tensors:\n");
	print_object(cx, m->self.u.obj, "", &seen, &sum);
	printf("  %lld tensors, %lld elements, %lld bytes\n", (long long)sum.parameters, (long long)sum.elements,
		(long long)sum.bytes);
	print_extra_files(cx, m);
	return EXIT_OK;
}
