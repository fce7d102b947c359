/*
 * Types from annotations in Python's syntax, of sources and of the tags of pickled containers.
 *
 * A name is a basic type or a type that the unit defines. A dotted name may begin with torch. A generic type has
 * members in brackets. Quoted types are parsed from their text.
 */
#include "parse.h"

#include <string.h>

static const struct { const char *name; const Type *type; } names[] = {
	{ "Tensor", &rt_type_tensor },       { "int", &rt_type_int },          { "float", &rt_type_float },
	{ "bool", &rt_type_bool },           { "str", &rt_type_str },          { "complex", &rt_type_complex },
	{ "number", &rt_type_number },       { "NoneType", &rt_type_none },    { "Any", &rt_type_any },
	{ "Device", &rt_type_device },       { "Stream", &rt_type_stream },    { "Generator", &rt_type_generator },
	{ "Storage", &rt_type_storage },     { "Layout", &rt_type_int },       { "ScalarType", &rt_type_int },
	{ "MemoryFormat", &rt_type_int },    { "QScheme", &rt_type_int },      { "Dimname", &rt_type_str },
	{ "Scalar", &rt_type_number },       { "AnyListType", &rt_type_any_list },
	{ "AnyTupleType", &rt_type_any_tuple }, { "AnyClassType", &rt_type_any_class },
	{ "AnyEnumType", &rt_type_any_enum },   { "torch.Tensor", &rt_type_tensor },
	{ "torch.device", &rt_type_device }, { "torch.dtype", &rt_type_int },  { "torch.layout", &rt_type_int },
	{ "torch.memory_format", &rt_type_int }, { "torch.qscheme", &rt_type_int },
	{ "torch.Generator", &rt_type_generator }, { "torch.Stream", &rt_type_stream },
	{ "torch.Size", &rt_type_list_int }, { "torch.nn.Parameter", &rt_type_tensor },
	{ "__torch__.torch.classes.profiler._RecordFunction", &rt_type_tensor }, /* No operator looks inside. */
};

typedef enum Generic {
	GENERIC_LIST, GENERIC_OPTIONAL, GENERIC_DICT, GENERIC_TUPLE, GENERIC_UNION, GENERIC_FUTURE, GENERIC_AWAIT,
	GENERIC_FINAL, GENERIC_RREF,
} Generic;

/* Number of members. -1 stands for any number. */
static const struct { const char *name; Generic generic; int members; } generics[] = {
	{ "List", GENERIC_LIST, 1 },         { "list", GENERIC_LIST, 1 },      { "Optional", GENERIC_OPTIONAL, 1 },
	{ "Dict", GENERIC_DICT, 2 },         { "dict", GENERIC_DICT, 2 },      { "Tuple", GENERIC_TUPLE, -1 },
	{ "tuple", GENERIC_TUPLE, -1 },      { "Union", GENERIC_UNION, -1 },   { "Future", GENERIC_FUTURE, 1 },
	{ "torch.jit.Future", GENERIC_FUTURE, 1 }, { "Await", GENERIC_AWAIT, 1 }, { "Final", GENERIC_FINAL, 1 },
	{ "RRef", GENERIC_RREF, 1 },
};

static bool
add_dotted(const Tree *t, Buf *b)
{
	if (t->kind == TREE_VAR) {
		buf_puts(b, t->kid[0]->text);
		return true;
	}
	if (t->kind != TREE_ATTR || !add_dotted(t->kid[0], b))
		return false;
	buf_printf(b, ".%s", t->kid[1]->text);
	return true;
}

const char *
tree_dotted(Cx *cx, const Tree *t)
{
	const char *name = 0;
	Buf b = { 0 };
	int depth = 0;

	for (const Tree *p = t; p->kind == TREE_ATTR; p = p->kid[0])
		if (++depth > CX_DEPTH)
			return 0;
	if (add_dotted(t, &b))
		name = sym_n(cx, b.at, (int)b.n)->name;
	buf_free(&b);
	return name;
}

/* torch.FloatTensor and the like are Tensor too. */
static bool
is_legacy_tensor(const char *name)
{
	size_t n = strlen(name);

	return strncmp(name, "torch.", 6) == 0 && n > 12 && !strchr(name + 6, '.') &&
	       strcmp(name + n - 6, "Tensor") == 0;
}

static int
find_generic(const char *name)
{
	if (strncmp(name, "typing.", 7) == 0)
		name += 7;
	for (int i = 0; i < (int)(sizeof generics / sizeof *generics); i++)
		if (strcmp(generics[i].name, name) == 0)
			return i;
	return -1;
}

static const Type *
named_type(Cx *cx, Unit *unit, const char *name, Range at)
{
	const Type *t;
	Near near = { .name = name };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].type;
	if (is_legacy_tensor(name))
		return &rt_type_tensor;
	if (strncmp(name, "torch.classes.", 14) == 0)
		name = arena_printf(cx->arena, "__torch__.%s", name);
	if (unit && (t = unit_type(cx, unit, name)))
		return t;
	if (find_generic(name) >= 0) {
		name = strrchr(name, '.') ? strrchr(name, '.') + 1 : name;
		fail(cx, at, "Attempted to use %s without a contained type. Please add a contained type, e.g. %s[int]",
		     name, name);
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		near_try(&near, names[i].name);
	fail(cx, at, "Unknown type name '%s'%s", name, near_hint(cx, &near));
}

int
broadcasting_list(const Tree *t)
{
	const char *name, *digits;
	int n = 0;

	if (t->kind != TREE_SUBSCRIPT || t->kid[0]->kind != TREE_VAR)
		return 0;
	name = t->kid[0]->kid[0]->text;
	if (strncmp(name, "BroadcastingList", 16) != 0)
		return 0;
	for (digits = name + 16; *digits >= '0' && *digits <= '9' && n <= RT_MAX_RANK; digits++)
		n = n * 10 + *digits - '0';
	return *digits || n > RT_MAX_RANK ? 0 : n;
}

static const Type *
dict_type(Cx *cx, const Type *key, const Type *value, Range at)
{
	switch (key->kind) {
	case TYPE_ANY: case TYPE_INT: case TYPE_BOOL: case TYPE_FLOAT: case TYPE_COMPLEX: case TYPE_STR:
	case TYPE_TENSOR: case TYPE_DEVICE: case TYPE_VAR:
		return type_dict(cx, key, value);
	default:
		fail(cx, at, "Cannot create dict for key type '%s', only int, float, complex, Tensor, device and "
		     "string keys are supported", type_print(cx, key));
	}
}

RT_NORETURN static void
unknown_generic(Cx *cx, Range at, const char *name)
{
	Near near = { .name = name };

	if (!name)
		fail(cx, at, "Subscripted type must be a type identifier");
	for (size_t i = 0; i < sizeof generics / sizeof *generics; i++)
		near_try(&near, generics[i].name);
	fail(cx, at, "Unknown type constructor %s%s", name, near_hint(cx, &near));
}

/* name "[" type { "," type } "]" */
static const Type *
generic_type(Cx *cx, Unit *unit, const Tree *t)
{
	const char *name = tree_dotted(cx, t->kid[0]);
	const Tree *members = t->kid[1];
	int i = name ? find_generic(name) : -1, n = members->n;
	const Type **of = new(cx->arena, const Type *, n + 1);

	if (n == 1 && members->kid[0]->kind == TREE_TUPLE) {
		members = members->kid[0]->kid[0];
		n = members->n;
		of = new(cx->arena, const Type *, n + 1);
	}
	if (i < 0 && !broadcasting_list(t))
		unknown_generic(cx, t->at, name);
	if (i >= 0 && generics[i].members >= 0 && n != generics[i].members)
		fail(cx, t->at, "expected exactly %s but found %d",
		     generics[i].members == 1 ? "one element type" : "two element types", n);
	for (int k = 0; k < n; k++)
		of[k] = type_of_annotation(cx, unit, members->kid[k]);
	if (i < 0 && n != 1)
		fail(cx, t->at, "expected exactly one element type but found %d", n);
	switch (i < 0 ? GENERIC_LIST : generics[i].generic) {
	case GENERIC_LIST:     return type_list(cx, of[0]);
	case GENERIC_OPTIONAL: return type_optional(cx, of[0]);
	case GENERIC_DICT:     return dict_type(cx, of[0], of[1], t->at);
	case GENERIC_TUPLE:    return type_tuple(cx, of, n);
	case GENERIC_FUTURE:   return type_future(cx, of[0]);
	case GENERIC_AWAIT:    return type_await(cx, of[0]);
	case GENERIC_FINAL:    return of[0];
	case GENERIC_RREF:     fail_lacks(cx, t->at, "Kiln has no remote references (RRef)");
	case GENERIC_UNION:    break;
	}
	if (!n)
		fail(cx, t->at, "a Union needs element types");
	return type_union(cx, of, n);
}

/* Spelling of an operator. */
static const char *
spelling(int kind)
{
	for (int i = 0; i < TOK_NKIND; i++)
		if (operators[i].binary && operators[i].binary_tree == kind)
			return tok_names[i];
	return tree_names[kind];
}

const Type *
type_of_annotation(Cx *cx, Unit *unit, const Tree *t)
{
	const Type *type;
	const char *name;

	cx_enter(cx, t->at);
	switch (t->kind) {
	case TREE_NONE:
		type = &rt_type_none;
		break;
	case TREE_STRING:
		type = type_from_text(cx, unit, t->text, t->at);
		break;
	case TREE_SUBSCRIPT:
		type = generic_type(cx, unit, t);
		break;
	default:
		name = tree_dotted(cx, t);
		if (!name)
			fail(cx, t->at, "Expression of type %s cannot be used in a type expression", spelling(t->kind));
		type = named_type(cx, unit, name, t->at);
	}
	cx_leave(cx);
	return type;
}

const Type *
type_from_text(Cx *cx, Unit *unit, const char *text, Range at)
{
	Source *src = new(cx->arena, Source, 1);

	*src = (Source){ .text = text, .n = (int64_t)strlen(text), .name = at.src ? at.src->name : "<type>",
		.line = 1 };
	return type_of_annotation(cx, unit, parse_expression(cx, src));
}
