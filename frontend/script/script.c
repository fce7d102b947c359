/* frontend/script/script.c - units, in which names of source text are looked up, and entry points of the emitter
 *
 * A Unit is the code/ folder of an archive, or a source text. A file is parsed when one of its names is first looked
 * up, a class is declared when it is first named, a function is compiled when it is first called. Classes are declared
 * before any body is compiled. Since they refer to each other, a class can be found by name while it is being declared.
 *
 * Operators with a body in TorchScript are compiled here too, once each, without a unit. */
#include "emit.h"
#include "../archive/pt2.h"

#include <stdlib.h>
#include <ctype.h>
#include <string.h>

typedef struct Def { const Tree *tree; const char *prefix; } Def;
typedef struct Defaults { IValue *at; int n; } Defaults;
typedef struct InterfaceCall { const Type *type; const char *method; } InterfaceCall;

struct Unit {
	Cx         *cx;
	Archive    *archive;       /* Archive whose code/ folder it is. Null for source texts. */
	int         version;
	/* Prefix under which names without a dot are looked up, for a source text. Null for archives. */
	const char *prefix;
	bool        qualified;     /* Whether functions have the prefix in their names. */
	IValue      constants;     /* Tuple of the constants, or None. */
	Map files;                 /* Unit, by name of each record that was read. */
	Map defs;                  /* Def, by qualified name. */
	Map types;                 /* Type, by qualified name. */
	Map functions;             /* Function, by qualified name. */
	Map defaults;              /* Defaults, by name of a NamedTuple. */
	Map aliases;               /* Tree of the dotted name, by the name that an import gives it. */
	Vec(InterfaceCall) calls;
};

Unit *
unit_new(Cx *cx, Archive *archive, int version)
{
	Unit *u = new(cx->arena, Unit, 1);

	u->cx = cx;
	u->archive = archive;
	u->version = version;
	u->constants = rt_none();
	u->files.arena = u->defs.arena = u->types.arena = u->functions.arena = u->defaults.arena = u->aliases.arena =
		cx->arena;
	return u;
}

void
unit_set_constants(Unit *u, IValue tuple)
{
	u->constants = tuple;
}

const char *
unit_prefix(const Unit *u)
{
	return u->prefix ? u->prefix : "__torch__";
}

bool
unit_constant_value(const Unit *u, const char *name, IValue *out)
{
	char *end;
	long i;

	if (!*name || u->constants.tag != RT_TUPLE)
		return false;
	i = strtol(name + 1, &end, 10);
	if (end == name + 1 || *end || i < 0 || i >= u->constants.u.tuple->n)
		return false;
	*out = u->constants.u.tuple->v[i];
	if (out->tag == RT_TENSOR)
		/* Marks it as written until all code that uses it is known: opt/passes/places.c. */
		out->u.t->storage->written = true;
	return true;
}

/* ---- definitions by name -------------------------------------------------------------------------------- */

/* Records the names that imports define: F for torch.nn.functional. */
static void
add_aliases(Unit *u, const Tree *names)
{
	for (int i = 0; i < names->n; i++)
		map_put(&u->aliases, names->kid[i]->kid[0]->text, (void *)(uintptr_t)names->kid[i]->kid[1]);
}

const Tree *
unit_alias(Unit *u, const char *name)
{
	return map_get(&u->aliases, name);
}

static void
add_defs(Unit *u, const Source *text, const char *prefix)
{
	const Tree *file = parse_file(u->cx, text);
	Def *d;

	for (int i = 0; i < file->n; i++) {
		if (file->kid[i]->kind == TREE_IMPORT)
			add_aliases(u, file->kid[i]->kid[0]);
		if (file->kid[i]->kind != TREE_DEF && file->kid[i]->kind != TREE_CLASS)
			continue;
		d = new(u->cx->arena, Def, 1);
		d->tree = file->kid[i];
		d->prefix = prefix;
		map_put(&u->defs, arena_printf(u->cx->arena, "%s.%s", prefix, d->tree->kid[0]->text), d);
	}
}

void
unit_define(Cx *cx, Unit *u, const Source *text, const char *prefix)
{
	(void)cx;
	u->prefix = prefix;
	add_defs(u, text, prefix);
}

void
unit_define_qualified(Cx *cx, Unit *u, const Source *text)
{
	RT_ASSERT(u->prefix);
	(void)cx;
	u->qualified = true;
	add_defs(u, text, u->prefix);
}

/* Reads code/a/b.py for the prefix a.b. */
static void
read_file(Unit *u, const char *prefix)
{
	char *name = arena_printf(u->cx->arena, "code/%s.py", prefix);
	Source *text;
	Record r;

	if (map_get(&u->files, name))
		return;
	map_put(&u->files, name, u);
	for (char *c = name + 5; c[3]; c++)
		if (*c == '.')
			*c = '/';
	if (!u->archive || !archive_has(u->archive, name))
		return;
	r = archive_record(u->archive, name);
	text = new(u->cx->arena, Source, 1);
	text->text = arena_strndup(u->cx->arena, r.data, r.n);
	text->n = r.n;
	text->name = arena_printf(u->cx->arena, "%s:%s", archive_path(u->archive), name);
	text->line = 1;
	text->arena = u->cx->arena;
	text->map = source_map_new(u->cx, u->archive, name);
	add_defs(u, text, prefix);
}

static const Def *
find_def(Unit *u, const char *qualified)
{
	const char *dot = strrchr(qualified, '.');
	const Def *d = map_get(&u->defs, qualified);

	if (d || !dot || !u->archive)
		return d;
	read_file(u, arena_strndup(u->cx->arena, qualified, dot - qualified));
	return map_get(&u->defs, qualified);
}

/* ---- classes that PyTorch has in Python ---------------------------------------------------------------------- */

static const char grad_mode_text[] =
	"class no_grad:\n"
	"    def __init__(self):\n"
	"        self.prev = False\n"
	"    def __enter__(self):\n"
	"        self.prev = torch.is_grad_enabled()\n"
	"        torch.set_grad_enabled(False)\n"
	"    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any):\n"
	"        torch.set_grad_enabled(self.prev)\n"
	"class enable_grad:\n"
	"    def __init__(self):\n"
	"        self.prev = False\n"
	"    def __enter__(self):\n"
	"        self.prev = torch.is_grad_enabled()\n"
	"        torch.set_grad_enabled(True)\n"
	"    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any):\n"
	"        torch.set_grad_enabled(self.prev)\n";

static const char profiler_text[] =
	"class record_function:\n"
	"    def __init__(self, name: str, args: Optional[str]=None):\n"
	"        self.name = name\n"
	"    def __enter__(self):\n"
	"        return self\n"
	"    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any):\n"
	"        pass\n";

static Source *source_of_text(Cx *cx, const char *text, const char *name);

const Type *
unit_context(Cx *cx, Unit *u, const char *name)
{
	const bool profiler = !strcmp(name, "record_function");
	const char *module = profiler ? "profiler" : "grad_mode";
	const char *prefix = arena_printf(cx->arena, "__torch__.torch.autograd.%s", module);
	const char *qualified = arena_printf(cx->arena, "%s.%s", prefix, name);

	if (!u)
		return 0;
	if (!find_def(u, qualified))
		add_defs(u, source_of_text(cx, profiler ? profiler_text : grad_mode_text,
			arena_printf(cx->arena, "<%s>", module)), prefix);
	return unit_type(cx, u, qualified);
}

/* ---- classes ------------------------------------------------------------------------------------------------ */

typedef struct Declare {
	Unit       *unit;
	const char *name;
	const Type *type;
	ClassInfo  *info;
	const Tree *parameters, *buffers;
} Declare;

static bool
names_contain(const Tree *list, const char *name)
{
	for (int i = 0; list && i < list->kid[0]->n; i++)
		if (list->kid[0]->kid[i]->kind == TREE_STRING && !strcmp(list->kid[0]->kid[i]->text, name))
			return true;
	return false;
}

/* Returns the packed class for an attribute of a quantized module of an old archive, which declares packed objects as
 * Tensor. Otherwise returns t. */
static const Type *
old_packed_type(Unit *u, const char *cls, const char *attr, const Type *t)
{
	static const struct { const char *part, *packed; } old[] = {
		{"modules.linear.LinearPackedParams", "Linear"}, {"modules.linear.Linear", "Linear"},
		{"modules.conv.Conv2d", "Conv2d"}, {"modules.conv.Conv3d", "Conv3d"},
		{"modules.conv_relu.ConvReLU2d", "Conv2d"}, {"modules.conv_relu.ConvReLU3d", "Conv3d"},
	};
	const char *mangle = strstr(cls, ".___torch_mangle_"), *last = strrchr(cls, '.');
	const char *plain = mangle ? arena_printf(u->cx->arena, "%.*s%s", (int)(mangle - cls), cls, last) : cls;
	size_t n = strlen(plain), k;

	if (strcmp(attr, "_packed_params") || t->kind != TYPE_TENSOR || !strstr(plain, "quantized"))
		return t;
	for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
		k = strlen(old[i].part);
		if (n > k && !strcmp(plain + n - k, old[i].part))
			return unit_type(u->cx, u, arena_printf(u->cx->arena,
				"__torch__.torch.classes.quantized.%sPackedParamsBase", old[i].packed));
	}
	return t;
}

static void
add_attribute(Declare *d, const char *name, const Tree *note, const Tree *value)
{
	Cx *cx = d->unit->cx;
	Attribute a = {.name = name};

	a.type = old_packed_type(d->unit, d->name, name, type_of_annotation(cx, d->unit, note));
	if (value) {
		a.is_constant = true;
		a.constant = constant_of_tree(cx, d->unit, value, a.type);
	}
	a.parameter = names_contain(d->parameters, name);
	a.buffer = names_contain(d->buffers, name);
	class_add_attr(cx, d->info, a);
}

static void
add_hooks(Declare *d, const char *name, const Tree *list)
{
	for (int i = 0; i < list->kid[0]->n; i++) {
		if (list->kid[0]->kid[i]->kind != TREE_STRING)
			fail(d->unit->cx, list->kid[0]->kid[i]->at, "expected the name of a hook as a string");
		if (!strcmp(name, "__forward_pre_hooks__"))
			vec_push(d->unit->cx->arena, &d->info->pre_hooks, list->kid[0]->kid[i]->text);
		else
			vec_push(d->unit->cx->arena, &d->info->hooks, list->kid[0]->kid[i]->text);
	}
}

/* Handles declarations: x : T, x : Final[T] = v, __annotations__["0"] = T or __parameters__ = [...]. */
static void
declare_attribute(Declare *d, const Tree *t)
{
	const Tree *target = t->kid[0]->kid[0], *value = t->kid[1], *note = t->kid[2];
	const char *name;

	if (target->kind == TREE_SUBSCRIPT) {
		if (value && target->kid[1]->n == 1 && target->kid[1]->kid[0]->kind == TREE_STRING)
			add_attribute(d, target->kid[1]->kid[0]->text, value, 0);
		return;
	}
	if (target->kind != TREE_VAR)
		fail(d->unit->cx, t->at, "unexpected statement in a class");
	name = target->kid[0]->text;
	if (note) {
		add_attribute(d, name, note, value);
	} else if (value && value->kind == TREE_LIST_LITERAL) {
		if (!strcmp(name, "__parameters__"))
			d->parameters = value;
		else if (!strcmp(name, "__buffers__"))
			d->buffers = value;
		else if (strstr(name, "_hooks__"))
			add_hooks(d, name, value);
	}
}

/* Whether a method has no self, since its first parameter has another type than the class. */
static bool
is_static(Cx *cx, const char *cls, const Tree *def)
{
	const Tree *first = def->kid[1]->n ? def->kid[1]->kid[0] : 0;
	const char *type;

	if (!first)
		return true;
	if (!first->kid[1])
		return false;
	type = tree_dotted(cx, first->kid[1]);
	return !type || (strcmp(type, cls) != 0 && (!strrchr(cls, '.') || strcmp(type, strrchr(cls, '.') + 1) != 0));
}

static Function *
new_function(Unit *u, const char *name, const Tree *def, const Type *self)
{
	Function *f = new(u->cx->arena, Function, 1);

	f->name = name;
	f->tree = def;
	f->unit = u;
	f->self = self;
	return f;
}

static void
declare_methods(Declare *d, const Tree *body)
{
	Cx *cx = d->unit->cx;
	Function *f;
	int first = d->info->methods.n;

	for (int i = 0; i < body->n; i++) {
		const Tree *def = body->kid[i];
		if (def->kind != TREE_DEF)
			continue;
		f = new_function(d->unit, arena_printf(cx->arena, "%s.%s", d->name, def->kid[0]->text), def,
			is_static(cx, d->name, def) ? 0 : d->type);
		vec_push(cx->arena, &d->info->methods, f);
	}
	for (int i = first; i < d->info->methods.n; i++) {
		f = d->info->methods.at[i];
		f->schema = schema_of_def(cx, d->unit, f->tree, f->name, f->self);
	}
}

static const Type *
declare_class(Unit *u, const char *name, const Tree *t, const char *base)
{
	Cx *cx = u->cx;
	bool interface = strstr(base, "Interface") != 0;
	const Type *type = type_class(cx, name, interface);
	Declare d = {u, name, type, class_info(type), 0, 0};
	Function *init;

	map_put(&u->types, name, (void *)type);
	if (d.info->defined)
		return type;
	d.info->defined = true;
	d.info->interface = interface;
	d.info->module = !strcmp(base, "Module") || !strcmp(base, "ModuleInterface");
	d.info->tree = t;
	for (int i = 0; i < t->kid[2]->n; i++)
		if (t->kid[2]->kid[i]->kind == TREE_ASSIGN)
			declare_attribute(&d, t->kid[2]->kid[i]);
	declare_methods(&d, t->kid[2]);
	init = class_method(d.info, "__init__");
	if (init && !u->archive)
		function_graph(cx, init);
	return type;
}

static const Type *
declare_named_tuple(Unit *u, const char *name, const Tree *t)
{
	Cx *cx = u->cx;
	const Tree *body = t->kid[2];
	const char **field = new(cx->arena, const char *, body->n);
	const Type **of = new(cx->arena, const Type *, body->n);
	Defaults *deflt = new(cx->arena, Defaults, 1);
	const Type *type;
	int n = 0;

	deflt->at = new(cx->arena, IValue, body->n);
	for (int i = 0; i < body->n; i++) {
		const Tree *s = body->kid[i];
		if (s->kind != TREE_ASSIGN || !s->kid[2] || s->kid[0]->kid[0]->kind != TREE_VAR)
			continue;
		field[n] = s->kid[0]->kid[0]->kid[0]->text;
		of[n] = type_of_annotation(cx, u, s->kid[2]);
		if (s->kid[1])
			deflt->at[deflt->n++] = constant_of_tree(cx, u, s->kid[1], of[n]);
		n++;
	}
	type = type_named_tuple(cx, name, field, of, n);
	map_put(&u->types, name, (void *)type);
	map_put(&u->defaults, name, deflt);
	return type;
}

/* Copies the members of an enum into the form that programs use. */
static void
add_members(Cx *cx, const ClassInfo *c)
{
	RtMember *m = new(cx->arena, RtMember, c->members.n);

	for (int i = 0; i < c->members.n; i++) {
		const IValue v = c->members.at[i].value;
		m[i] = (RtMember){ .name = c->members.at[i].name };
		if (v.tag == RT_STR)
			m[i].text = v.u.str->s;
		else if (v.tag == RT_DOUBLE)
			m[i].f = v.u.f;
		else
			m[i].i = v.u.i;
	}
	c->cls->member = m;
	c->cls->nmember = c->members.n;
}

static const Type *
declare_enum(Unit *u, const char *name, const Tree *t)
{
	Cx *cx = u->cx;
	const Tree *body = t->kid[2];
	const Type *type = 0;
	EnumMember m;
	IValue v;

	for (int i = 0; i < body->n; i++) {
		const Tree *s = body->kid[i];
		if (s->kind != TREE_ASSIGN || s->kid[0]->kid[0]->kind != TREE_VAR || !s->kid[1])
			continue;
		v = constant_of_tree(cx, u, s->kid[1], 0);
		if (!type)
			type = type_enum(cx, name, type_of_value(cx, v));
		if (type_of_value(cx, v) != type->of[0])
			fail(cx, s->at, "the values of enum '%s' have different types", name);
		m.name = s->kid[0]->kid[0]->kid[0]->text;
		m.value = v;
		vec_push(cx->arena, &class_info(type)->members, m);
	}
	if (!type)
		fail(cx, t->at, "enum '%s' has no members", name);
	add_members(cx, class_info(type));
	map_put(&u->types, name, (void *)type);
	return type;
}

bool
unit_is_builtin_class(const char *qualified)
{
	return !strncmp(qualified, "__torch__.torch.classes.", 24);
}

/* Returns the last part of a.b.Module. "" without a base. */
static const char *
base_name(Cx *cx, const Tree *base)
{
	const char *name = base ? tree_dotted(cx, base) : "", *dot;

	if (!name)
		fail(cx, base->at, "this base class is not a name");
	dot = strrchr(name, '.');
	return dot ? dot + 1 : name;
}

static const Type *
declare(Unit *u, const char *name, const Tree *t)
{
	const char *base = base_name(u->cx, t->kid[1]);
	const Type *type;
	Frame frame;
	const int depth = cx_enter_nested(u->cx, t->at);

	cx_push(u->cx, &frame, arena_printf(u->cx->arena, "while declaring class '%s'", name), t->kid[0]->at);
	if (!strcmp(base, "NamedTuple"))
		type = declare_named_tuple(u, name, t);
	else if (!strcmp(base, "Enum"))
		type = declare_enum(u, name, t);
	else if (!*base || !strcmp(base, "Module") || !strcmp(base, "Interface") || !strcmp(base, "ModuleInterface"))
		type = declare_class(u, name, t, base);
	else
		fail(u->cx, t->kid[1]->at, "Torchscript does not support class inheritance.");
	cx_pop(u->cx);
	cx_leave_nested(u->cx, depth);
	return type;
}

const Type *
unit_type(Cx *cx, Unit *u, const char *qualified)
{
	const Type *t = map_get(&u->types, qualified);
	const Def *d;

	if (t)
		return t;
	if (unit_is_builtin_class(qualified))
		return packed_type(cx, qualified);
	if (!strchr(qualified, '.')) {
		if (!u->prefix)
			return 0;
		qualified = arena_printf(cx->arena, "%s.%s", u->prefix, qualified);
		if ((t = map_get(&u->types, qualified)))
			return t;
	}
	d = find_def(u, qualified);
	return d && d->tree->kind == TREE_CLASS ? declare(u, arena_strdup(cx->arena, qualified), d->tree) : 0;
}

int
unit_field_defaults(const Unit *u, const Type *t, const IValue **out)
{
	const Defaults *d = u ? map_get(&u->defaults, t->name) : 0;

	*out = d ? d->at : 0;
	return d ? d->n : 0;
}

/* ---- functions -------------------------------------------------------------------------------------------------- */

Function *
unit_function(Cx *cx, Unit *u, const char *qualified)
{
	Function *f = map_get(&u->functions, qualified);
	const char *dot = strrchr(qualified, '.');
	const Type *owner;
	const Def *d;

	if (f)
		return f;
	d = find_def(u, qualified);
	if (d && d->tree->kind == TREE_DEF) {
		qualified = arena_strdup(cx->arena, qualified);
		f = new_function(u, u->archive || !u->prefix || u->qualified ? qualified : qualified +
				 strlen(u->prefix) + 1, d->tree, 0);
		map_put(&u->functions, qualified, f);
		f->schema = schema_of_def(cx, u, d->tree, f->name, 0);
		return f;
	}
	if (!dot)
		return 0;
	owner = unit_type(cx, u, arena_strndup(cx->arena, qualified, dot - qualified));
	return owner && class_info(owner) ? class_method(class_info(owner), dot + 1) : 0;
}

const char *
unit_source_name(const Unit *u, int i)
{
	const size_t n = u && u->prefix ? strlen(u->prefix) : 0;
	const char *name;

	RT_ASSERT(i >= 0);
	if (!n || i >= u->defs.n)
		return NULL;
	name = u->defs.at[i].key;
	return !strncmp(name, u->prefix, n) && name[n] == '.' ? name + n + 1 : "";
}

Function *
unit_source_function(Cx *cx, Unit *u, const char *name)
{
	if (!u || !u->prefix)
		return 0;
	return unit_function(cx, u, arena_printf(cx->arena, "%s.%s", u->prefix, name));
}

const Tree *
unit_source_class(Cx *cx, const Unit *u, const char *name)
{
	const Def *d = u && u->prefix ? map_get(&u->defs, arena_printf(cx->arena, "%s.%s", u->prefix, name)) : 0;

	return d && d->tree->kind == TREE_CLASS ? d->tree : 0;
}

/* ---- plain sources ----------------------------------------------------------------------------------------------- */

static Source *
source_of_text(Cx *cx, const char *text, const char *name)
{
	Source *s = new(cx->arena, Source, 1);

	s->n = (int64_t)strlen(text);
	s->text = s->n && text[s->n - 1] == '\n' ? text : arena_printf(cx->arena, "%s\n", text);
	s->n = (int64_t)strlen(s->text);
	s->name = name;
	s->line = 1;
	s->arena = cx->arena;
	return s;
}

/* Returns a qualified name for a generated function. Characters of `what` that names cannot contain become _. */
const char *
unit_text_name(Cx *cx, const char *what, const char *name)
{
	char *s = arena_strdup(cx->arena, what);

	for (char *p = s; *p; p++)
		if (!isalnum((unsigned char)*p))
			*p = '_';
	return arena_printf(cx->arena, "__torch__.kiln.%s.%s", s, name);
}

Function *
unit_text_function(Cx *cx, Unit *u, const char *key, const char *text)
{
	Function *f = map_get(&u->functions, key);
	const Tree *def;

	if (f)
		return f;
	def = parse_file(cx, source_of_text(cx, text, arena_printf(cx->arena, "<%s>", key)))->kid[0];
	f = new_function(u, key, def, 0);
	map_put(&u->functions, key, f);
	f->schema = schema_of_def(cx, u, def, key, 0);
	return f;
}

Value *
unit_constant(Emit *e, Range at, const char *name)
{
	IValue v;

	if (!e->unit || !unit_constant_value(e->unit, name, &v))
		fail(e->cx, at, "the archive has no constant '%s'", name);
	return graph_constant_typed(e->graph, v, type_unshaped(e->cx, type_of_value(e->cx, v)), at);
}

Sugar *
unit_name(Emit *e, Range at, const char *qualified)
{
	const Type *t = e->unit ? unit_type(e->cx, e->unit, qualified) : 0;
	Function *f;
	Sugar *s;

	(void)at;
	if (t) {
		s = sugar_new(e, SUGAR_CLASS);
		s->type = t;
		return s;
	}
	f = e->unit ? unit_function(e->cx, e->unit, qualified) : 0;
	if (!f)
		return sugar_named(e, SUGAR_NAMESPACE, qualified);
	s = sugar_new(e, SUGAR_FUNCTION);
	s->fn = f;
	return s;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

static bool
is_body(const Function *f)
{
	return ((const Tree *)f->tree)->kind != TREE_DEF;
}

/* Returns the type of the function's results as one value. Null if the returns determine it. */
static const Type *
declared_result(Cx *cx, const Schema *s)
{
	const Type **of;

	if (s->nrets == 1)
		return s->rets[0].type;
	if (!s->nrets)
		return &rt_type_none;
	of = new(cx->arena, const Type *, s->nrets);
	for (int i = 0; i < s->nrets; i++)
		of[i] = s->rets[i].type;
	return type_tuple(cx, of, s->nrets);
}

static void
add_parameters(Emit *e, const Schema *s)
{
	for (int i = 0; i < s->nargs; i++)
		scope_put(e, s->args[i].name,
			  sugar_value(e, graph_add_input(e->graph, s->args[i].type, sym(e->cx, s->args[i].name))),
			  false);
}

/* Adds an output for the result. The body of an operator with several results has an output for each of them. */
static void
add_result(Emit *e, Value *v)
{
	Node *n;

	if (!is_body(e->fn) || e->fn->schema->nrets == 1) {
		graph_add_output(e->graph, v);
		return;
	}
	if (!e->fn->schema->nrets)
		return;
	n = graph_emit(e->graph, "prim::TupleUnpack", v->node->at, 1, &v, e->fn->schema->nrets);
	for (int i = 0; i < n->nout; i++) {
		n->out[i]->type = e->fn->schema->rets[i].type;
		graph_add_output(e->graph, n->out[i]);
	}
}

static void
compile(Cx *cx, Function *f)
{
	const Tree *t = f->tree;
	Emit e = {.cx = cx, .unit = f->unit, .fn = f};
	Work *end = 0;
	unsigned ways;

	e.version = f->unit ? f->unit->version : 0;
	e.graph = f->graph = graph_new(cx, f->name);
	e.result = declared_result(cx, f->schema);
	e.declared = e.result != 0;
	scope_push(&e, e.graph->top);
	add_parameters(&e, f->schema);
	if (!e.declared)                                /* A path without a return returns None. */
		end = emit_work(&e, tree_new(cx, TREE_LIST, t->at, 1,
					     tree_new(cx, TREE_RETURN, t->at, 1, (const Tree *)0)), 0);
	ways = exit_run(&e, emit_work(&e, is_body(f) ? t : t->kid[3], end));
	add_result(&e, emit_result(&e, t->at, ways));
	if (!e.declared)
		f->schema->rets[0].type = e.result;
	ssa_tidy(e.graph);
}

Graph *
function_graph(Cx *cx, Function *f)
{
	int depth;

	if (f->state == 2)
		return f->graph;
	f->state = 1;
	if (f->exported) {
		f->graph = exported_graph(cx, f);
		f->state = 2;
		return f->graph;
	}
	if (!f->schema)
		fail(cx, ((const Tree *)f->tree)->at, "'%s' has no signature: its declaration has failed before",
		     f->name);
	if (f->self && class_info(f->self)->interface)
		fail(cx, ((const Tree *)f->tree)->at, "'%s' is a method of an interface: it has no body", f->name);
	depth = cx_enter_nested(cx, ((const Tree *)f->tree)->at);
	compile(cx, f);
	cx_leave_nested(cx, depth);
	f->state = 2;
	return f->graph;
}

void
unit_call(Cx *cx, Function *f, Range at)
{
	Frame frame;

	if (f->state == 2)
		return;
	if (f->state == 1)
		fail(cx, at, "function '%s' is called recursively. Recursive calls are not supported", f->name);
	cx_push(cx, &frame, arena_printf(cx->arena, "'%s' is being compiled since it was called from here", f->name),
		at);
	function_graph(cx, f);
	cx_pop(cx);
}

void
unit_interface_call(Cx *cx, Unit *u, const Type *t, const char *name)
{
	for (int i = 0; i < u->calls.n; i++)
		if (u->calls.at[i].type == t && !strcmp(u->calls.at[i].method, name))
			return;
	vec_push(cx->arena, &u->calls, ((InterfaceCall){t, name}));
}

/* ---- operator bodies --------------------------------------------------------------------------------------------- */

Function *
script_compile(Cx *cx, const char *text, const char *name)
{
	const Tree *file = parse_file(cx, source_of_text(cx, text, name));
	Function *f;

	if (file->n != 1 || file->kid[0]->kind != TREE_DEF)
		fail(cx, file->at, "expected one function");
	f = new(cx->arena, Function, 1);
	f->name = name;
	f->tree = file->kid[0];
	f->schema = schema_of_def(cx, 0, f->tree, name, 0);
	function_graph(cx, f);
	return f;
}

/* Returns the schema of an operator's body: the arguments of its entry in the operator table. Extra arguments become
 * the list `rest`. */
static Schema *
body_schema(Cx *cx, Op *op)
{
	Schema *of = op_schema(cx, op), *s = new(cx->arena, Schema, 1);

	if (!of->vararg)
		return of;
	*s = *of;
	s->vararg = false;
	s->args = new(cx->arena, Arg, of->nargs + 1);
	memcpy(s->args, of->args, (size_t)of->nargs * sizeof *of->args);
	s->args[s->nargs++] = (Arg){ .name = "rest", .type = type_list(cx, &rt_type_any) };
	return s;
}

void
ops_compile_body(Cx *cx, Op *op)
{
	Frame frame;
	Function *f;

	if (op->function)
		return;
	f = new(cx->arena, Function, 1);
	f->name = op->name;
	f->schema = body_schema(cx, op);
	f->tree = parse_file(cx, source_of_text(cx, op->body, arena_printf(cx->arena, "<%s>", op->id)));
	op->function = f;
	cx_push(cx, &frame, arena_printf(cx->arena, "while compiling the body of operator '%s'", op->id), (Range){0});
	function_graph(cx, f);
	ops_compile_bodies(cx, f->graph);
	if (op->row < 0)                 /* An operator of --op-schema has no effect column. */
		op->effect = block_effect(f->graph->top);
	cx_pop(cx);
}

typedef void Visit(Cx *, Node *, void *);

static void
visit_nodes(Cx *cx, Block *b, Visit *visit, void *arg)
{
	Attr *g;

	cx_enter(cx, (Range){0});
	for NODES(n, b) {
		visit(cx, n, arg);
		for (int i = 0; i < n->nsub; i++)
			visit_nodes(cx, n->sub[i], visit, arg);
		if (n->attrs.n && (g = node_attr(n, "Subgraph")) && g->kind == ATTR_GRAPH)
			visit_nodes(cx, g->g->top, visit, arg);
	}
	cx_leave(cx);
}

static void
visit_body(Cx *cx, Node *n, void *arg)
{
	Op *op = n->op ? op_body(cx, n->op) : 0;

	(void)arg;
	if (op)
		ops_compile_body(cx, op);
}

void
ops_compile_bodies(Cx *cx, Graph *g)
{
	visit_nodes(cx, g->top, visit_body, 0);
}

/* ---- callees of a function --------------------------------------------------------------------------------------- */

typedef struct Needs { Map seen; Unit *unit; } Needs;

static void need_function(Cx *, Function *, Needs *);

static void
need_method(Cx *cx, const Type *t, const char *name, Needs *needs)
{
	Function *f = t->kind == TYPE_CLASS ? class_method(class_info(t), name) : 0;

	if (f)
		need_function(cx, f, needs);
}

static void
visit_need(Cx *cx, Node *n, void *arg)
{
	Attr *f = n->attrs.n ? node_attr(n, "function") : 0;

	visit_body(cx, n, 0);
	if (f && f->kind == ATTR_FUNCTION)
		need_function(cx, f->fn, arg);
	else if (node_is(n, prim_Enter))
		need_method(cx, n->in[0]->type, "__enter__", arg);
	else if (node_is(n, prim_Exit))
		need_method(cx, n->in[0]->type, "__exit__", arg);
	else if ((node_is(n, aten_sort) || node_is(n, aten_sorted)) && n->in[0]->type->kind == TYPE_LIST)
		need_method(cx, n->in[0]->type->of[0], "__lt__", arg);
}

static void
need_function(Cx *cx, Function *f, Needs *needs)
{
	char *key = arena_printf(cx->arena, "%p", (void *)f);
	int depth;

	if (map_get(&needs->seen, key))
		return;
	map_put(&needs->seen, key, f);
	depth = cx_enter_nested(cx, (Range){ 0 });
	visit_nodes(cx, function_graph(cx, f)->top, visit_need, needs);
	cx_leave_nested(cx, depth);
}

/* Marks the methods of all classes that implement an interface through which they are called. */
static void
need_implementations(Cx *cx, Unit *u, Needs *needs)
{
	const Type *t;

	for (int i = 0; i < u->calls.n; i++)
		for (int k = 0; k < u->types.n; k++) {
			t = u->types.at[k].value;
			if (t && t->kind == TYPE_CLASS && type_is_subtype(cx, t, u->calls.at[i].type))
				need_method(cx, t, u->calls.at[i].method, needs);
		}
}

void
ops_compile_all(Cx *cx, Function *f)
{
	Needs needs = {.seen.arena = cx->arena};
	int before;

	need_function(cx, f, &needs);
	if (!f->unit)
		return;
	do {
		before = needs.seen.n;
		need_implementations(cx, f->unit, &needs);
	} while (needs.seen.n != before);
}
