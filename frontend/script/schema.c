/*
 * Reads schemas, and types in IR syntax.
 *
 *   schema := name ["." overload] "(" args ")" "->" returns
 *   args   := [ arg { "," arg } ]           arg := "*" | "..." | type ident ["=" default]
 *   returns:= "..." | type [ident] | "(" [ ("..." | type [ident]) { "," ... } ] ")"
 *   type   := base [alias] { "[" [N] "]" [alias] | "?" }
 *   alias  := "(" set { "|" set } ["!"] ["->" set { "|" set }] ")" | "!"
 *
 * There are thousands of schemas, each read on demand. Therefore this reads characters, not tokens. The types of graphs
 * (`ir` is true) have no alias sets. In them a parenthesis after a tensor's name holds its TensorInfo, and names of
 * classes are looked up.
 */
#include "../frontend.h"

#include <string.h>

typedef struct Typed {             /* A type with the parts that only schemas have. */
	const Type *type;
	AliasSet   *alias;
	const char *word;
	int         size;          /* Declared length of the list: 2 for int[2]. */
} Typed;

typedef Vec(Arg) Args;

static Typed read_type(Reader *);

/* ---- alias sets -------------------------------------------------------------------------------------- */

/* Appends set { "|" set }. */
#define READ_SETS(r, v) \
	do { \
		Symbol s_ = read_word(r, "*$"); \
		vec_push((r)->cx->arena, v, s_); \
	} while (read_accept(r, "|"))

/* Reads an alias. Null if there is none. */
static AliasSet *
read_alias(Reader *r)
{
	AliasSet *a;

	if (r->ir)
		return 0;
	if (*r->p == '!') {
		r->p++;
		a = new(r->cx->arena, AliasSet, 1);
		a->write = true;
		vec_push(r->cx->arena, &a->before, sym(r->cx, "$0"));
		return a;
	}
	if (*r->p != '(')
		return 0;
	r->p++;
	a = new(r->cx->arena, AliasSet, 1);
	READ_SETS(r, &a->before);
	a->write = read_accept(r, "!");
	if (read_accept(r, "->"))
		READ_SETS(r, &a->after);
	read_expect(r, ")");
	return a;
}

/* Reads the alias of a container whose elements have the alias `inner`. Null if there is neither. */
static AliasSet *
read_outer_alias(Reader *r, AliasSet *inner)
{
	AliasSet *a = read_alias(r);

	if (inner && !a)
		a = new(r->cx->arena, AliasSet, 1);
	if (a)
		a->inner = inner;
	return a;
}

/* ---- types ---------------------------------------------------------------------------------------------- */

static const struct Word { const char *word; const Type *type; bool alias; } words[] = {
	{ "Tensor", &rt_type_tensor, false },        { "int", &rt_type_int, false },
	{ "bool", &rt_type_bool, false },            { "Scalar", &rt_type_number, false },
	{ "float", &rt_type_float, false },          { "str", &rt_type_str, false },
	{ "complex", &rt_type_complex, false },      { "ScalarType", &rt_type_int, true },
	{ "Layout", &rt_type_int, true },            { "Device", &rt_type_device, false },
	{ "MemoryFormat", &rt_type_int, true },      { "Generator", &rt_type_generator, false },
	{ "SymInt", &rt_type_int, true },            { "Any", &rt_type_any, false },
	{ "NoneType", &rt_type_none, false },        { "None", &rt_type_none, true },
	{ "number", &rt_type_number, true },         { "string", &rt_type_str, true },
	{ "Dimname", &rt_type_str, true },           { "QScheme", &rt_type_int, true },
	{ "Storage", &rt_type_storage, false },      { "Stream", &rt_type_stream, false },
	{ "AnyClassType", &rt_type_any_class, false }, { "AnyEnumType", &rt_type_any_enum, false },
	{ "AnyListType", &rt_type_any_list, false }, { "AnyTupleType", &rt_type_any_tuple, false },
	{ "SymFloat", &rt_type_float, true },        { "SymBool", &rt_type_bool, true },
	{ "DeviceIndex", &rt_type_int, true },       { "AnyType", &rt_type_any, true },
};

/* dim := "*" | INT | "s" INT */
static int64_t
read_dim(Reader *r)
{
	int64_t i;

	if (read_accept(r, "*"))
		return DIM_ANY;
	if (read_accept(r, "s")) {
		i = read_int(r);
		if (i < 0 || i > INT32_MAX)
			read_expected(r, "a symbol");
		return DIM_SYMBOL(i);
	}
	i = read_int(r);
	if (i < 0)
		read_expected(r, "a size");
	return i;
}

/* device := "cpu" | "cuda" [":" INT] */
static int
read_device(Reader *r)
{
	int64_t index;

	if (read_accept_word(r, "cpu"))
		return 0;
	if (!read_accept_word(r, "cuda"))
		read_expected(r, "a device");
	if (*r->p != ':')
		return 1 << 8;
	r->p++;
	index = read_int(r);
	if (index < 0 || index > 127)
		read_expected(r, "the number of a device");
	return 1 << 8 | (int)(index + 1);
}

static void
read_strides(Reader *r, int64_t *strides, int rank)
{
	int n = 0;

	read_expect(r, "=");
	read_expect(r, "[");
	while (!read_accept(r, "]")) {
		if (n == rank)
			read_expected(r, "as many strides as dims");
		strides[n++] = read_dim(r);
		if (!read_accept(r, ","))
			read_blanks(r);
	}
	if (n != rank)
		read_expected(r, "as many strides as dims");
}

/* item := dim | "strides=[" dims "]" | "requires_grad=" INT | "device=" device | "rank=0" | "undefined" ... */
static void
read_tensor_item(Reader *r, TensorInfo *t, int64_t *dims, int64_t *strides)
{
	if (read_accept_word(r, "strides")) {
		read_strides(r, strides, t->rank);
		t->strides = strides;
	} else if (read_accept_word(r, "requires_grad")) {
		read_expect(r, "=");
		t->grad = read_int(r) != 0;
	} else if (read_accept_word(r, "device")) {
		read_expect(r, "=");
		t->device = read_device(r);
	} else if (read_accept_word(r, "rank")) {
		read_expect(r, "=");
		read_expect(r, "0");
		t->rank = 0;
	} else if (read_accept_word(r, "undefined")) {
		t->undefined = 1;
	} else if (read_accept_word(r, "defined")) {
		t->undefined = 0;
	} else if (read_accept_word(r, "maybe_undefined")) {
		t->undefined = -2;
	} else {
		if (t->rank < 0)
			t->rank = 0;
		if (t->rank == RT_MAX_RANK)
			read_expected(r, "at most 64 dims");
		dims[t->rank++] = read_dim(r);
	}
}

/* tensor := dtype ["Tensor"] ["(" [ item { "," item } ] ")"]. Reads the parenthesis. */
static const Type *
read_tensor(Reader *r, int dtype, bool ranked)
{
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];
	TensorInfo t = { .dtype = dtype, .rank = ranked ? 0 : -1, .grad = -1, .device = -1, .undefined = -1 };

	t.dims = dims;
	if (read_accept(r, "(")) {
		while (!read_accept(r, ")")) {
			read_tensor_item(r, &t, dims, strides);
			if (!read_accept(r, ","))
				read_blanks(r);
			if (!*r->p)
				read_expected(r, ")");
		}
	}
	if (t.undefined == -1 && (t.dtype >= 0 || t.rank >= 0))
		t.undefined = 0;
	if (t.undefined == -2)
		t.undefined = -1;
	return type_tensor(r->cx, &t);
}

/* Float(2, 3), FloatTensor, Tensor(requires_grad=0). Null if the word is no tensor type. */
static const Type *
tensor_of_word(Reader *r, Symbol word)
{
	for (int d = 0; d < RT_NDTYPE; d++) {
		int n = (int)strlen(rt_dtypes[d].brief);

		if (strncmp(word->name, rt_dtypes[d].brief, (size_t)n) != 0)
			continue;
		if (!word->name[n])
			return read_tensor(r, d, true);
		if (strcmp(word->name + n, "Tensor") == 0)
			return read_tensor(r, d, false);
	}
	if (strcmp(word->name, "Tensor") != 0)
		return 0;
	if (strncmp(r->p, "[Undefined]", 11) == 0) {             /* PyTorch's text for Tensor(undefined). */
		TensorInfo t = { .dtype = -1, .rank = -1, .grad = -1, .device = -1, .undefined = 1 };

		r->p += 11;
		return type_tensor(r->cx, &t);
	}
	return read_tensor(r, -1, false);
}

typedef Vec(const Type *) TypeVec;

/* Reads type { "," type } close. */
static void
read_types(Reader *r, TypeVec *v, const char *close)
{
	while (!read_accept(r, close)) {
		Typed t = read_type(r);

		vec_push(r->cx->arena, v, t.type);
		if (!read_accept(r, ",")) {
			read_expect(r, close);
			break;
		}
	}
}

/* Reads Dict(K, V), Future(T), RRef(T), Await(T) or Union(T, ...). Null if the word is none of these. */
static const Type *
generic_of_word(Reader *r, Symbol word, const char **alias)
{
	static const struct { const char *name; int n; } generic[] = {
		{ "Dict", 2 }, { "Future", 1 }, { "RRef", 1 }, { "Await", 1 }, { "Union", -1 },
	};
	const char *beg = r->p - word->n;
	TypeVec v = { 0 };
	int i = 0;

	while (strcmp(word->name, generic[i].name) != 0)
		if (++i == sizeof generic / sizeof *generic)
			return 0;
	if (read_accept(r, "["))
		read_types(r, &v, "]");
	else {
		read_expect(r, "(");
		read_types(r, &v, ")");
	}
	if (generic[i].n > 0 ? v.n != generic[i].n : !v.n)
		read_expected(r, "one type (two for a Dict, one or more for a Union)");
	switch (i) {
	case 0:  return type_dict(r->cx, v.at[0], v.at[1]);
	case 1:  return type_future(r->cx, v.at[0]);
	case 2:  *alias = sym_n(r->cx, beg, (int)(r->p - beg))->name;
		 return type_class(r->cx, "RRef", false);
	case 3:  return type_await(r->cx, v.at[0]);
	default: return type_union(r->cx, v.at, v.n);
	}
}

/* Whether the name of a field is next. */
static bool
at_field(Reader *r)
{
	int n = read_word_length(r, "");

	return n && (r->p[n] == ':' || (r->p[n] == ' ' && r->p[n + 1] == ':'));
}

/* Reads (x : T, ...) after the name of a NamedTuple. name: null for the results of operators. */
static const Type *
read_named_tuple(Reader *r, const char *name)
{
	Vec(const char *) fields = { 0 };
	TypeVec v = { 0 };

	while (!read_accept(r, ")")) {
		Symbol field = read_word(r, "");
		Typed t;

		read_expect(r, ":");
		t = read_type(r);
		vec_push(r->cx->arena, &fields, field->name);
		vec_push(r->cx->arena, &v, t.type);
		if (!read_accept(r, ",")) {
			read_expect(r, ")");
			break;
		}
	}
	return type_named_tuple(r->cx, name, fields.at ? fields.at : new(r->cx->arena, const char *, 1), v.at, v.n);
}

static const Type *
class_of_name(Reader *r, Symbol name)
{
	const Type *t;

	if (r->ir && read_accept(r, "("))
		return read_named_tuple(r, name->name);
	t = r->unit ? unit_type(r->cx, r->unit, name->name) : packed_type(r->cx, name->name);
	return t ? t : type_class(r->cx, name->name, false);
}

/* Returns a function for `Function` without a name. PyTorch does not print which one it is. */
static Function *
unnamed_function(Cx *cx)
{
	Function *f = new(cx->arena, Function, 1);

	f->name = "";
	return f;
}

/* Reads Enum<name> or Function<name>. */
static const Type *
read_angled(Reader *r, Symbol word)
{
	Symbol name = (read_expect(r, "<"), read_word(r, ".:"));
	Function *f;

	read_expect(r, ">");
	if (strcmp(word->name, "Enum") == 0)
		return type_enum(r->cx, name->name, &rt_type_int);
	f = r->unit ? unit_function(r->cx, r->unit, name->name) : 0;
	if (!f) {
		f = new(r->cx->arena, Function, 1);
		f->name = name->name;
	}
	return type_function(r->cx, f);
}

/* Reads a tuple type after its opening parenthesis. */
static const Type *
read_tuple(Reader *r)
{
	TypeVec v = { 0 };

	if (r->ir && at_field(r))
		return read_named_tuple(r, 0);
	read_types(r, &v, ")");
	return type_tuple(r->cx, v.at, v.n);
}

static Typed
read_base(Reader *r)
{
	Typed t = { 0 };
	Symbol word;

	if (read_accept(r, "(")) {
		t.type = read_tuple(r);
		return t;
	}
	word = read_word(r, ".");
	if (r->ir && (t.type = tensor_of_word(r, word)))
		return t;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strcmp(words[i].word, word->name) == 0) {
			t.type = words[i].type;
			t.word = words[i].alias ? words[i].word : 0;
			return t;
		}
	}
	if ((t.type = generic_of_word(r, word, &t.word)))
		return t;
	if (r->ir && *r->p == '<')
		t.type = read_angled(r, word);
	else if (r->ir && strcmp(word->name, "Function") == 0)
		t.type = type_function(r->cx, unnamed_function(r->cx));
	else if (strchr(word->name, '.'))
		t.type = class_of_name(r, word);
	else if (word->name[0] >= 'a' && word->name[0] <= 'z')
		t.type = type_var(r->cx, word->name);
	else {
		r->p -= word->n;
		fail(r->cx, (Range){ r->src, (uint32_t)(r->p - r->src->text), (uint32_t)(r->p - r->src->text) +
		     (uint32_t)word->n }, "unknown type '%s'", word->name);
	}
	return t;
}

static Typed
read_type(Reader *r)
{
	uint32_t at = (uint32_t)(r->p - r->src->text);
	Typed t;

	cx_enter(r->cx, (Range){ r->src, at, at });
	t = read_base(r);
	t.alias = read_alias(r);
	for (;;) {
		if (*r->p == '[') {
			r->p++;
			t.size = *r->p == ']' ? 0 : (int)read_int(r);
			read_expect(r, "]");
			if (t.size < 0 || t.size > RT_MAX_RANK)
				read_expected(r, "a number of elements");
			t.type = type_list(r->cx, t.type);
			t.alias = read_outer_alias(r, t.alias);
		} else if (*r->p == '?') {
			r->p++;
			t.type = type_optional(r->cx, t.type);
		} else {
			break;
		}
	}
	cx_leave(r->cx);
	return t;
}

const Type *
schema_type_parse(Cx *cx, Unit *unit, const Source *src, uint32_t *at)
{
	Reader r = { .cx = cx, .src = src, .p = src->text + *at, .unit = unit, .ir = true };
	Typed t = read_type(&r);

	*at = (uint32_t)(r.p - src->text);
	return t.type;
}

/* ---- defaults --------------------------------------------------------------------------------------------- */

static const struct { const char *name; int value; } enumerators[] = {
	{ "Mean", 1 }, { "contiguous_format", 0 }, { "strided", 0 }, { "long", 4 }, { "float", 6 },
};

static IValue
read_enumerator(Reader *r)
{
	for (size_t i = 0; i < sizeof enumerators / sizeof *enumerators; i++)
		if (read_accept_word(r, enumerators[i].name))
			return rt_int(enumerators[i].value);
	read_expected(r, "a default value");
}

static IValue read_default(Reader *, const Type *, int size);

/* Reads "[" [ value { "," value } ] "]", or one value for all elements. */
static IValue
read_list(Reader *r, const Type *elem, int size)
{
	Vec(IValue) v = { 0 };
	IValue one;

	if (!read_accept(r, "[")) {
		if (size < 1)
			read_expected(r, "[");
		one = read_default(r, elem, 0);
		for (int i = 0; i < size; i++)
			vec_push(r->cx->arena, &v, one);
		return value_list(r->cx, elem, v.at, v.n);
	}
	while (!read_accept(r, "]")) {
		one = read_default(r, elem, 0);
		vec_push(r->cx->arena, &v, one);
		if (!read_accept(r, ",")) {
			read_expect(r, "]");
			break;
		}
	}
	return value_list(r->cx, elem, v.at, v.n);
}

static IValue
read_default(Reader *r, const Type *t, int size)
{
	read_blanks(r);
	if (read_accept_word(r, "None"))
		return rt_none();
	if (t->kind == TYPE_OPTIONAL)
		t = t->of[0];
	if (t->kind == TYPE_LIST)
		return read_list(r, t->of[0], size);
	if (*r->p == '"' || *r->p == '\'')
		return read_string(r);
	if (read_accept_word(r, "True"))
		return rt_bool(true);
	if (read_accept_word(r, "False"))
		return rt_bool(false);
	if ((*r->p >= '0' && *r->p <= '9') || *r->p == '-' || *r->p == '.' || strncmp(r->p, "inf", 3) == 0)
		return read_number(r, t->kind == TYPE_FLOAT);
	return read_enumerator(r);
}

/* ---- schemas ------------------------------------------------------------------------------------------------ */

/* Reads type [ident]. */
static Arg
read_result(Reader *r)
{
	Typed t = read_type(r);
	Arg a = { .name = "", .type = t.type, .size_hint = t.size, .alias = t.alias, .word = t.word };

	if (read_word_length(r, ""))
		a.name = read_word(r, "")->name;
	return a;
}

/* Reads type ident ["=" default]. */
static Arg
read_arg(Reader *r, bool kwonly)
{
	Typed t = read_type(r);
	Arg a = { .type = t.type, .size_hint = t.size, .alias = t.alias, .word = t.word, .kwonly = kwonly };

	a.name = read_word(r, "")->name;
	if (read_accept(r, "=")) {
		a.has_default = true;
		a.deflt = read_default(r, a.type, a.size_hint);
	}
	return a;
}

static void
read_args(Reader *r, Args *v, bool *vararg)
{
	bool kwonly = false;
	Arg a;

	read_expect(r, "(");
	while (!read_accept(r, ")")) {
		if (read_accept(r, "...")) {
			*vararg = true;
		} else if (read_accept(r, "*")) {
			kwonly = true;
		} else {
			a = read_arg(r, kwonly);
			vec_push(r->cx->arena, v, a);
		}
		if (!read_accept(r, ",")) {
			read_expect(r, ")");
			break;
		}
	}
}

static void
read_results(Reader *r, Args *v, bool *varret)
{
	Arg a;

	if (read_accept(r, "...")) {
		*varret = true;
		return;
	}
	if (!read_accept(r, "(")) {
		a = read_result(r);
		vec_push(r->cx->arena, v, a);
		return;
	}
	while (!read_accept(r, ")")) {
		if (read_accept(r, "...")) {
			*varret = true;
		} else {
			a = read_result(r);
			vec_push(r->cx->arena, v, a);
		}
		if (!read_accept(r, ",")) {
			read_expect(r, ")");
			break;
		}
	}
}

Schema *
schema_parse(Cx *cx, const char *text)
{
	Source *src = new(cx->arena, Source, 1);
	Schema *s = new(cx->arena, Schema, 1);
	Reader r = { .cx = cx, .src = src, .p = text };
	Args args = { 0 }, rets = { 0 };

	*src = (Source){ .text = text, .n = (int64_t)strlen(text), .name = "<schema>", .line = 1 };
	s->name = read_word(&r, ":")->name;
	s->overload = read_accept(&r, ".") ? read_word(&r, "")->name : "";
	read_args(&r, &args, &s->vararg);
	read_expect(&r, "->");
	read_results(&r, &rets, &s->varret);
	read_blanks(&r);
	if (*r.p)
		read_expected(&r, "the end of the schema");
	s->args = args.at;
	s->nargs = args.n;
	s->rets = rets.at;
	s->nrets = rets.n;
	return s;
}
