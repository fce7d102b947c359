/*
 * Archives of torch.export (.pt2): programs become methods of one object that holds their state.
 *
 *   models/NAME.json             a program: a graph over lifted state and arguments
 *   data/weights, data/constants its parameters, buffers and constants
 *
 * A parameter l.weight becomes the attribute `weight` of an object that is the attribute `l`, as in TorchScript. So
 * names, gradients and instances work as for TorchScript. A single program is the method forward. Of several programs,
 * each is a method of its name, and its state is below the attribute of that name.
 */
#include "pt2.h"

#include <stdlib.h>
#include <string.h>

enum { NEWEST_MAJOR = 8, NEWEST_MINOR = 20, NESTED_MAX = 100, ARGUMENTS_MAX = 4000 };

/* ---- state as objects -------------------------------------------------------------------------------------- */

typedef struct Place Place;
struct Place {                   /* Attribute of an object that is to be made. Its value is an object or a tensor. */
	const char *name;
	bool        parameter, buffer;
	/* Whether it is a tensor of a Python class, stored as an object of the tensors that it contains. */
	bool        parts;
	IValue      v;           /* The tensor. None if it is an object. */
	Map         index;       /* Place, by name. */
	Vec(Place *) kids;
};

typedef struct Loader {
	Cx      *cx;
	Archive *archive;
	Unit    *unit;
	int64_t  version;        /* Version of the newest program. */
	int      renamed;        /* Number of classes that were renamed because their name was taken. */
	RtCx     rt;
	Place   *root;
	Vec(Exported *) programs;
} Loader;

static Place *
place_below(Loader *l, Place *p, const char *name)
{
	Place *kid = map_get(&p->index, name);

	if (kid)
		return kid;
	kid = new(l->cx->arena, Place, 1);
	kid->name = name;
	kid->v = rt_none();
	p->index.arena = kid->index.arena = l->cx->arena;
	map_put(&p->index, name, kid);
	vec_push(l->cx->arena, &p->kids, kid);
	return kid;
}

/* Returns the place of a.b.c. Makes a and b objects. */
static Place *
find_or_make_place(Loader *l, const JsonDoc *d, const char *path)
{
	const char *from = path, *dot;
	Place *p = l->root;
	int depth = 0;

	for (; (dot = strchr(from, '.')); from = dot + 1) {
		if (dot == from || ++depth > NESTED_MAX)
			json_bad(d, "'%s' is no valid name of a parameter, buffer or constant", path);
		p = place_below(l, p, arena_strndup(l->cx->arena, from, dot - from));
		if (!rt_is_none(p->v))
			json_bad(d, "'%s' is a part of the name of a tensor", path);
	}
	if (!*from)
		json_bad(d, "'%s' is no valid name of a parameter, buffer or constant", path);
	return place_below(l, p, from);
}

/* Makes p an object whose attributes are the tensors in dict. Releases dict. */
static void
put_parts(Loader *l, Place *p, IValue dict)
{
	p->parts = true;
	for (int64_t i = 0; i < dict.u.dict->used; i++) {
		const RtDictEntry *e = &dict.u.dict->at[i];
		Place *kid;

		if (e->dead || e->key.tag != RT_STR || e->value.tag != RT_TENSOR)
			continue;
		kid = place_below(l, p, arena_strndup(l->cx->arena, e->key.u.str->s, e->key.u.str->n));
		kid->v = rt_retain(e->value);
		kid->buffer = true;
	}
	rt_release(dict);
}

static void
put_state(Loader *l, Exported *e, const Input *in, Payloads *payloads, const Attribute *kind, bool constant)
{
	Place *p = find_or_make_place(l, &e->doc, arena_printf(l->cx->arena, "%s%s", e->prefix, in->target));

	if (p->parts)
		return;
	if (p->kids.n)
		json_bad(&e->doc, "'%s' is a tensor, and has tensors below it", in->target);
	if (!rt_is_none(p->v))                                  /* The same tensor may be lifted twice. */
		return;
	p->v = payload_tensor(payloads, in->target, constant);
	if (p->v.tag == RT_DICT) {
		IValue parts = p->v;

		p->v = rt_none();
		put_parts(l, p, parts);
		return;
	}
	p->parameter = kind->parameter;
	p->buffer = kind->buffer;
	if (p->parameter)
		p->v.u.t->flags |= RT_PARAMETER;
}

static const char *
class_path(Loader *l, const char *above, const char *name)
{
	char *path = arena_printf(l->cx->arena, *name >= '0' && *name <= '9' ? "%s._%s" : "%s.%s", above, name);

	for (char *p = path + strlen(above) + 1; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *p))
			*p = '_';
	while (type_named(l->cx, path))
		path = arena_printf(l->cx->arena, "%s_%d", path, ++l->renamed);
	return path;
}

static IValue
make_object(Loader *l, Place *p, const char *path)
{
	ClassInfo *info = class_info(type_class(l->cx, path, false));
	RtObject *o;

	info->defined = info->module = true;
	for (int i = 0; i < p->kids.n; i++) {
		Place *k = p->kids.at[i];

		if (rt_is_none(k->v))
			k->v = make_object(l, k, class_path(l, path, k->name));
		class_add_attr(l->cx, info, (Attribute){ .name = k->name, .parameter = k->parameter,
			.buffer = k->buffer, .type = k->v.tag == RT_OBJECT ? k->v.u.obj->cls->type : &rt_type_tensor });
	}
	if (!(o = rt_object_new(&l->rt, info->cls)))
		out_of_memory();
	for (int i = 0; i < p->kids.n; i++)
		o->slot[i] = p->kids.at[i]->v;
	return rt_ref(RT_OBJECT, o);
}

/* ---- inputs --------------------------------------------------------------------------------------------------- */

typedef struct SpecRow { const char *kind, *name; bool parameter, buffer, constant; } SpecRow;

static const SpecRow spec_rows[] = {
	{ "parameter", "parameter_name", true, false, false },
	{ "buffer", "buffer_name", false, true, false },
	{ "tensor_constant", "tensor_constant_name", false, false, true },
};

static const char *
graph_name(Exported *e, const Json *input)
{
	const Json *is = json_union(&e->doc, input, "input"), *name = json_get(is, "name");

	name = name ? name : json_get(is, "as_name");
	return name ? json_text_of(&e->doc, name, "name") : "";
}

static const Type *
type_of_kind(Exported *e, const char *kind)
{
	static const struct { const char *kind; const Type *type; } rows[] = {
		{ "as_tensor", &rt_type_tensor }, { "as_sym_int", &rt_type_int }, { "as_sym_float", &rt_type_float },
		{ "as_sym_bool", &rt_type_bool }, { "as_int", &rt_type_int }, { "as_float", &rt_type_float },
		{ "as_bool", &rt_type_bool }, { "as_string", &rt_type_str }, { "as_complex", &rt_type_complex },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(rows[i].kind, kind))
			return rows[i].type;
	if (!strcmp(kind, "as_none"))
		return type_optional(e->cx, &rt_type_tensor);
	fail_lacks(e->cx, (Range){ 0 }, "%s: Kiln lacks arguments of the kind '%s'", e->doc.name, kind);
}

static void
read_state_input(Loader *l, Exported *e, Payloads *payloads, const Json *spec, Input *in)
{
	const SpecRow *row = NULL;
	const Json *persistent = json_get(spec, "persistent");

	for (size_t i = 0; i < sizeof spec_rows / sizeof *spec_rows; i++)
		if (!strcmp(spec_rows[i].kind, json_key(spec)))
			row = &spec_rows[i];
	if (!row)
		fail_lacks(e->cx, (Range){ 0 }, "%s: Kiln lacks inputs of the kind '%s'", e->doc.name, json_key(spec));
	in->kind = INPUT_STATE;
	in->target = json_text(&e->doc, spec, row->name);
	if (!map_get(&e->states, in->target))
		map_put(&e->states, in->target, in);
	put_state(l, e, in, payloads, &(Attribute){ .parameter = row->parameter, .buffer = row->buffer },
		row->constant || (row->buffer && persistent && !json_flag(&e->doc, persistent, "persistent")));
}

static void
read_input(Loader *l, Exported *e, Payloads *payloads, const Json *spec, Input *in)
{
	const char *kind = json_key(spec);

	if (!strcmp(kind, "user_input")) {
		const Json *arg = json_need(&e->doc, spec, "arg");

		in->kind = INPUT_USER;
		in->type = type_of_kind(e, json_key(json_union(&e->doc, arg, "arg")));
		if (!*in->name) {
			in->kind = INPUT_CONSTANT;
			in->value = arg;
		}
	} else if (!strcmp(kind, "constant_input")) {
		in->kind = INPUT_CONSTANT;
		in->value = json_need(&e->doc, spec, "value");
		in->type = type_of_kind(e, json_key(json_union(&e->doc, in->value, "value")));
	} else if (!strcmp(kind, "token")) {
		in->kind = INPUT_TOKEN;
	} else {
		read_state_input(l, e, payloads, spec, in);
	}
}

static void
read_inputs(Loader *l, Exported *e, Payloads *payloads)
{
	const Json *spec = json_first(json_list(&e->doc, e->signature, "input_specs"));
	const Json *inputs = json_list(&e->doc, e->graph, "inputs");

	e->states.arena = e->cx->arena;
	e->inputs.at = new(e->cx->arena, Input, json_count(inputs) + 1);
	for JSON_EACH(i, inputs) {
		Input *in = &e->inputs.at[e->inputs.n++];

		if (!spec)
			json_bad(&e->doc, "has more inputs than input_specs");
		in->name = graph_name(e, i);
		read_input(l, e, payloads, json_union(&e->doc, spec, "input_spec"), in);
		spec = json_next(spec);
	}
	if (spec)
		json_bad(&e->doc, "has more input_specs than inputs");
}

/* ---- the signature ----------------------------------------------------------------------------------------------- */

static const Json *
call_signature(Exported *e, const Json *module)
{
	for JSON_EACH(c, json_list(&e->doc, module, "module_call_graph"))
		if (!*json_text_or(&e->doc, c, "fqn", ""))
			return json_need(&e->doc, c, "signature");
	json_bad(&e->doc, "has no call signature of the whole program");
}

/* Sets the paths of an argument's leaves: `path` as ['d']['key'] and, for messages, `place` as *args[0]['key']. */
static void
name_leaves(Exported *e, const Spec *s, const char *path, const char *place, int *at)
{
	Arena *a = e->cx->arena;

	if (s->kind == SPEC_LEAF) {
		while (*at < e->inputs.n && e->inputs.at[*at].kind != INPUT_USER &&
		       e->inputs.at[*at].kind != INPUT_CONSTANT)
			++*at;
		if (*at == e->inputs.n)
			json_bad(&e->doc, "has fewer inputs than arguments");
		e->inputs.at[*at].path = path;
		e->inputs.at[(*at)++].place = place;
		return;
	}
	for (int i = 0; i < s->n; i++) {
		const char *part = s->kind != SPEC_DICT ? arena_printf(a, "[%d]", i)
			: arena_printf(a, s->numbered ? "[%s]" : "['%s']", s->key[i]);

		name_leaves(e, s->kid[i], arena_printf(a, "%s%s", path, part), arena_printf(a, "%s%s", place, part),
			    at);
	}
}

typedef struct Signing { const Json *names; int input; const Type *const *leaf; } Signing;

/* Returns the name of a keyword argument, or the next name of the original forward. If there is neither, makes up a
 * name. */
static const char *
next_name(Exported *e, Signing *s, int k, int i)
{
	const Json *name = s->names;

	if (k)
		return e->in->kid[1]->key[i];
	if (!name)
		return arena_printf(e->cx->arena, "arg_%d", i);
	s->names = json_next(name);
	return json_text_of(&e->doc, name, "forward_arg_names");
}

static void
sign_argument(Exported *e, Signing *s, int k, int i)
{
	Spec *spec = e->in->kid[k]->kid[i];
	const char *name = next_name(e, s, k, i);
	Arg *a = &e->schema->args[e->schema->nargs];

	if (!py_is_identifier(name))
		json_bad(&e->doc, "has an argument '%s', which is no name", name);
	if (schema_find(e->schema, name) >= 0)
		json_bad(&e->doc, "has two arguments '%s'", name);
	name_leaves(e, spec, arena_printf(e->cx->arena, "['%s']", name),
		k ? name : arena_printf(e->cx->arena, "*args[%d]", i), &s->input);
	a->name = name;
	a->type = spec_type(e->cx, spec, &s->leaf, arena_printf(e->cx->arena, "%s_%d", e->self->name, e->schema->nargs),
			    false);
	a->kwonly = k;
	a->has_default = a->type->kind == TYPE_OPTIONAL;
	e->schema->nargs++;
}

static bool
calls_with_arguments(const Spec *in)
{
	return in->kind == SPEC_TUPLE && in->n == 2 && in->kid[0]->kind == SPEC_TUPLE &&
	       in->kid[1]->kind == SPEC_DICT && !in->kid[1]->numbered;
}

static void
sign(Exported *e, const char *qualified)
{
	const Json *call = call_signature(e, json_need(&e->doc, e->json, "graph_module"));
	const Type **leaf = new(e->cx->arena, const Type *, e->inputs.n + 1);
	Signing s = { .names = json_first(json_get(call, "forward_arg_names")), .leaf = leaf };
	int n = 0;

	e->in = spec_parse(&e->doc, json_text(&e->doc, call, "in_spec"), &e->nleaf);
	e->out = spec_parse(&e->doc, json_text(&e->doc, call, "out_spec"), &e->nresult);
	for (int i = 0; i < e->inputs.n; i++)
		if (e->inputs.at[i].kind == INPUT_USER || e->inputs.at[i].kind == INPUT_CONSTANT)
			leaf[n++] = e->inputs.at[i].type;
	if (!calls_with_arguments(e->in) || e->nleaf != n)
		json_bad(&e->doc, "has %d inputs, but arguments of %d parts", n, e->nleaf);
	if (e->in->kid[0]->n > ARGUMENTS_MAX || e->in->kid[1]->n > ARGUMENTS_MAX)
		json_bad(&e->doc, "has more than %d arguments", (int)ARGUMENTS_MAX);
	e->schema = new(e->cx->arena, Schema, 1);
	*e->schema = (Schema){ .name = qualified, .overload = "", .nargs = 1, .nrets = 1,
		.rets = new(e->cx->arena, Arg, 1),
		.args = new(e->cx->arena, Arg, e->in->kid[0]->n + e->in->kid[1]->n + 1) };
	e->schema->args[0] = (Arg){ .name = "self", .type = e->self };
	e->schema->rets[0].name = "";
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < e->in->kid[k]->n; i++)
			sign_argument(e, &s, k, i);
}

/* ---- a program --------------------------------------------------------------------------------------------------- */

/* Reads {"major": 8, "minor": 20}, or a number in the oldest archives. Returns the major version. */
static int64_t
check_version(Exported *e)
{
	const Json *v = json_need(&e->doc, e->json, "schema_version"), *major = json_get(v, "major"),
		   *minor = json_get(v, "minor");
	const int64_t n = json_int(&e->doc, major ? major : v, "schema_version");

	if (n > NEWEST_MAJOR)
		fail_lacks(e->cx, (Range){ 0 },
			   "%s: Kiln lacks version %lld.%lld of exported programs: the newest known is %d.%d",
			   e->doc.name, (long long)n, (long long)(minor ? json_int(&e->doc, minor, "minor") : 0),
			   (int)NEWEST_MAJOR, (int)NEWEST_MINOR);
	return n;
}

static void
read_metas(Exported *e)
{
	static const char *const tables[] = { "tensor_values", "sym_int_values" };

	e->metas.arena = e->cx->arena;
	for (int i = 0; i < 2; i++)
		for JSON_EACH(m, json_get(e->graph, tables[i]))
			map_put(&e->metas, json_key(m), (void *)(uintptr_t)m);
}

static const char *
samples_of(Archive *a, const char *program)
{
	const char *member = arena_printf(archive_cx(a)->arena, "data/sample_inputs/%s.pt", program);

	if (!archive_has(a, member))
		member = "serialized_example_inputs.pt";
	return archive_has(a, member) && archive_record(a, member).n > 0 ? member : NULL;
}

/* Whether no node of the program writes. Operators such as aten::add_ write, and any operator with a sub-graph may
 * write. */
static bool
is_functional(const Exported *e)
{
	const Json *verifier = json_first(json_get(e->json, "verifiers"));

	if (verifier && json_is_text(verifier) && !strcmp(json_text_of(&e->doc, verifier, "verifiers"), "ATEN"))
		return true;
	for JSON_EACH(n, json_get(e->graph, "nodes")) {
		const char *target = json_text_or(&e->doc, n, "target", ""), *dot = strrchr(target, '.');

		if (!strncmp(target, "torch.ops.higher_order.", 23))
			return false;
		if (dot && dot > target && dot[-1] == '_' && !strstr(target, ".detach_."))
			return false;
	}
	return true;
}

static void
read_program(Loader *l, const char *member, const char *program, bool only)
{
	Exported *e = new(l->cx->arena, Exported, 1);
	Record r = archive_record(l->archive, member);
	const Json *module;

	e->cx = l->cx;
	e->unit = l->unit;
	e->doc = (JsonDoc){ l->cx, arena_printf(l->cx->arena, "%s: %s", archive_path(l->archive), member) };
	e->name = only ? "forward" : program;
	e->prefix = only ? "" : arena_printf(l->cx->arena, "%s.", program);
	e->json = json_parse(&e->doc, r.data, r.n);
	l->version = check_version(e);
	module = json_need(&e->doc, e->json, "graph_module");
	e->graph = json_need(&e->doc, module, "graph");
	e->signature = json_need(&e->doc, module, "signature");
	e->samples = samples_of(l->archive, program);
	e->functional = is_functional(e);
	read_metas(e);
	read_inputs(l, e, payloads_new(e, &l->rt, l->archive, program));
	vec_push(l->cx->arena, &l->programs, e);
}

/* ---- the archive ------------------------------------------------------------------------------------------------- */

/* Returns the name of the program in models/NAME.json. Null for other members. */
static const char *
program_name(Cx *cx, const char *member)
{
	const size_t n = strlen(member);

	if (strncmp(member, "models/", 7) || n < 13 || strcmp(member + n - 5, ".json") || strchr(member + 7, '/'))
		return NULL;
	return arena_strndup(cx->arena, member + 7, (int64_t)n - 12);
}

static int
count_programs(Loader *l)
{
	const char *const *names;
	const int n = archive_names(l->archive, &names);
	int found = 0;

	for (int i = 0; i < n; i++)
		found += program_name(l->cx, names[i]) != NULL;
	return found;
}

RT_NORETURN static void
no_program(Loader *l)
{
	const char *const *names;
	const int n = archive_names(l->archive, &names);

	for (int i = 0; i < n; i++)
		if (!strncmp(names[i], "data/aotinductor/", 17))
			fail_lacks(l->cx, (Range){ 0 }, "%s: is a package of AOTInductor: compiled code and no "
				"program; save the exported program by torch.export.save", archive_path(l->archive));
	fail(l->cx, (Range){ 0 }, "%s: is a torch.export package without a program (models/NAME.json)",
		archive_path(l->archive));
}

static void
read_programs(Loader *l)
{
	static const char oldest[] = "serialized_exported_program.json";
	const char *const *names, *name;
	const int n = archive_names(l->archive, &names), count = count_programs(l);

	if (archive_has(l->archive, oldest)) {
		read_program(l, oldest, "model", true);
		return;
	}
	if (!count)
		no_program(l);
	for (int i = 0; i < n; i++)
		if ((name = program_name(l->cx, names[i])))
			read_program(l, names[i], name, count == 1);
}

static void
add_method(Loader *l, Module *m, Exported *e)
{
	Function *fn = new(l->cx->arena, Function, 1);

	e->self = m->type;
	*fn = (Function){ .name = arena_printf(l->cx->arena, "%s.%s", m->type->name, e->name),
			  .self = m->type,
			  .unit = l->unit };
	sign(e, fn->name);
	fn->schema = e->schema;
	fn->exported = e;
	vec_push(l->cx->arena, &class_info(m->type)->methods, fn);
}

static void
check_format(Archive *a)
{
	static const struct { const char *member, *text; } rows[] = { { "archive_format", "pt2" },
		{ "archive_version", "0" } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows && archive_has(a, "archive_format"); i++) {
		Record r = archive_record(a, rows[i].member);

		while (r.n && (r.data[r.n - 1] == '\n' || r.data[r.n - 1] == ' '))
			r.n--;
		if (r.n != (int64_t)strlen(rows[i].text) || memcmp(r.data, rows[i].text, (size_t)r.n))
			fail_lacks(archive_cx(a), (Range){ 0 }, "%s: %s is '%.*s' (known is '%s')", archive_path(a),
				   rows[i].member, (int)(r.n < 40 ? r.n : 40), r.data, rows[i].text);
	}
}

bool
is_exported(Archive *a)
{
	return archive_has(a, "archive_format") || archive_has(a, "serialized_exported_program.json");
}

static void
add_sample(const Function *fn, RtCx *rt, RtArrays *in, const char *name, IValue v)
{
	if (rt_arrays_from_value(rt, in, name, v))
		fail(fn->exported->cx, (Range){ 0 }, "%s: %s", name,
		     rt->message ? rt->message : "cannot be an argument");
}

bool
exported_samples(Module *m, const Function *fn, RtCx *rt, RtArrays *in)
{
	const Exported *e = fn->exported;
	IValue all, args, named;

	if (!e || !e->samples)
		return false;
	all = archive_data(archive_nested(m->archive, e->samples), rt, true);
	args = all.tag == RT_TUPLE && all.u.tuple->n == 2 ? all.u.tuple->v[0] : rt_none();
	named = args.tag == RT_TUPLE ? all.u.tuple->v[1] : rt_none();
	if (named.tag != RT_DICT || args.u.tuple->n >= fn->schema->nargs)
		fail(e->cx, (Range){ 0 }, "%s: %s holds no arguments", archive_path(m->archive), e->samples);
	for (int64_t i = 0; i < args.u.tuple->n; i++)
		add_sample(fn, rt, in, fn->schema->args[i + 1].name, args.u.tuple->v[i]);
	for (int64_t i = 0; i < named.u.dict->used; i++)
		if (!named.u.dict->at[i].dead && named.u.dict->at[i].key.tag == RT_STR)
			add_sample(fn, rt, in, named.u.dict->at[i].key.u.str->s, named.u.dict->at[i].value);
	rt_release(all);
	return true;
}

Module *
exported_load(Cx *cx, Archive *a)
{
	Loader *l = new(cx->arena, Loader, 1);
	Module *m = new(cx->arena, Module, 1);

	*l = (Loader){ .cx = cx, .archive = a };
	check_format(a);
	rt_cx_init(&l->rt);
	l->unit = m->unit = unit_new(cx, NULL, 0);
	l->root = new(cx->arena, Place, 1);
	read_programs(l);
	m->self = make_object(l, l->root, "__torch__.Exported");
	m->type = m->self.u.obj->cls->type;
	m->version = (int)l->version;
	for (int i = 0; i < l->programs.n; i++)
		add_method(l, m, l->programs.at[i]);
	rt_cx_free(&l->rt);
	return m;
}
