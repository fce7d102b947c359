/*
 * Converts arguments of nodes to values of the graph.
 *
 * An argument is an object with one key, which is its kind. If the archive leaves the type open, the type of the
 * operator's argument (formal) decides. Examples are a whole number for a float, and an empty list. Enumerations have
 * numbers of their own, which differ from those of ATen.
 */
#include "pt2.h"

#include <string.h>

/* ---- enumerations ------------------------------------------------------------------------------------------- */

typedef struct DtypeRow { int dtype; const char *name; } DtypeRow;

static const DtypeRow dtypes[] = {
	[1] = { RT_u8, "uint8" }, [2] = { RT_i8, "int8" }, [3] = { RT_i16, "int16" }, [4] = { RT_i32, "int32" },
	[5] = { RT_i64, "int64" }, [6] = { RT_f16, "float16" }, [7] = { RT_f32, "float32" },
	[8] = { RT_f64, "float64" }, [9] = { RT_c32, "complex32" }, [10] = { RT_c64, "complex64" },
	[11] = { RT_c128, "complex128" }, [12] = { RT_b8, "bool" }, [13] = { RT_bf16, "bfloat16" },
	[28] = { RT_u16, "uint16" }, [29] = { RT_f8_e4m3fn, "float8_e4m3fn" }, [30] = { RT_f8_e5m2, "float8_e5m2" },
	[31] = { RT_f8_e4m3fnuz, "float8_e4m3fnuz" }, [32] = { RT_f8_e5m2fnuz, "float8_e5m2fnuz" },
	[33] = { -1, "float8_e8m0fnu" }, [34] = { RT_u32, "uint32" }, [35] = { RT_u64, "uint64" },
};

const char *
dtype_name_of_export(int64_t number)
{
	return number >= 0 && number < (int64_t)(sizeof dtypes / sizeof *dtypes) ? dtypes[number].name : NULL;
}

int
dtype_of_export(int64_t number)
{
	return dtype_name_of_export(number) ? dtypes[number].dtype : -1;
}

static int64_t
scalar_type(Builder *b, const Json *v)
{
	const int64_t n = json_int(&b->exported->doc, v, "as_scalar_type");
	const char *name = dtype_name_of_export(n);

	if (!name || dtype_of_export(n) < 0)
		pt2_lacks(b, "Kiln lacks the dtype %s",
			  name ? name : arena_printf(b->cx->arena, "of number %lld", (long long)n));
	return dtype_of_export(n);
}

/* Returns the number of a c10::Layout or c10::MemoryFormat. `to` has it by the number in the archive. */
static int64_t
enumerated(Builder *b, const Json *v, const int8_t *to, int n)
{
	const int64_t i = json_int(&b->exported->doc, v, json_key(v));

	if (i < 0 || i >= n || to[i] < 0)
		pt2_lacks(b, "Kiln does not know %s %lld", json_key(v) + 3, (long long)i);
	return to[i];
}

static Value *
device(Builder *b, const Json *v, const Type *formal)
{
	const char *type = json_text(&b->exported->doc, v, "type");
	const Json *index = json_get(v, "index");
	IValue d = { .tag = RT_DEVICE };

	(void)formal;
	if (index)
		type = arena_printf(b->cx->arena, "%s:%lld", type,
				    (long long)json_int(&b->exported->doc, index, "index"));
	if (!strncmp(type, "cpu:", 4))
		type = "cpu";
	if (!device_of_text(type, &d.u.i))
		pt2_lacks(b, "Kiln lacks the device '%s'", type);
	return graph_constant(b->graph, d, b->at);
}

/* ---- numbers ------------------------------------------------------------------------------------------------ */

static const Type *
wanted(const Type *formal)
{
	return formal && formal->kind == TYPE_OPTIONAL ? formal->of[0] : formal;
}

static Value *
constant(Builder *b, IValue v, const Type *t)
{
	return graph_constant_typed(b->graph, v, t, b->at);
}

static Value *
whole(Builder *b, int64_t i, const Type *formal)
{
	const Type *t = wanted(formal);

	if (t == &rt_type_float)
		return constant(b, rt_double((double)i), t);
	return constant(b, rt_int(i), &rt_type_int);
}

/* Emits a bool constant. A bool for a Scalar stays a bool, since full and fill take their dtype from it. */
static Value *
truth(Builder *b, bool is, const Type *formal)
{
	const Type *t = wanted(formal);

	if (t == &rt_type_int)
		return constant(b, rt_int(is), t);
	return constant(b, rt_bool(is), t == &rt_type_number ? t : &rt_type_bool);
}

/* Reads {"as_name": n}, {"as_int": 4}, {"as_float": .5} or {"as_bool": true}. */
static Value *
symbolic(Builder *b, const Json *v, const Type *formal)
{
	const Json *one = json_union(&b->exported->doc, v, json_key(v));
	const char *kind = json_key(one);

	if (!strcmp(kind, "as_name"))
		return build_named(b, json_text_of(&b->exported->doc, one, kind));
	if (!strcmp(kind, "as_int"))
		return whole(b, json_int(&b->exported->doc, one, kind), formal);
	if (!strcmp(kind, "as_float"))
		return constant(b, rt_double(json_float(&b->exported->doc, one, kind)), &rt_type_float);
	if (!strcmp(kind, "as_bool"))
		return truth(b, json_flag(&b->exported->doc, one, kind), formal);
	pt2_lacks(b, "Kiln does not know what a symbolic number by '%s' is", kind);
}

static Value *
complex_number(Builder *b, const Json *v, const Type *formal)
{
	const double re = json_float(&b->exported->doc, json_need(&b->exported->doc, v, "real"), "real");
	const double im = json_float(&b->exported->doc, json_need(&b->exported->doc, v, "imag"), "imag");

	(void)formal;
	return graph_constant(b->graph, value_complex(b->cx, re, im), b->at);
}

/* ---- lists ---------------------------------------------------------------------------------------------------- */

typedef Value *Element(Builder *, const Json *, const Type *formal);

static Value *
tensor_or_none(Builder *b, const Json *v, const Type *formal)
{
	const Json *one = json_get(v, "name") ? v : json_union(&b->exported->doc, v, "tensor");

	(void)formal;
	if (!strcmp(json_key(one), "as_none"))
		return constant(b, rt_none(), &rt_type_none);
	return build_named(b, json_text(&b->exported->doc, one, "name"));
}

static Value *
named(Builder *b, const Json *v, const Type *formal)
{
	(void)formal;
	return build_named(b, json_text(&b->exported->doc, v, "name"));
}

static Value *
int_element(Builder *b, const Json *v, const Type *formal)
{
	return whole(b, json_int(&b->exported->doc, v, "as_ints"), formal);
}

static Value *
float_element(Builder *b, const Json *v, const Type *formal)
{
	(void)formal;
	return constant(b, rt_double(json_float(&b->exported->doc, v, "as_floats")), &rt_type_float);
}

static Value *
bool_element(Builder *b, const Json *v, const Type *formal)
{
	return truth(b, json_flag(&b->exported->doc, v, "as_bools"), formal);
}

static Value *
text_element(Builder *b, const Json *v, const Type *formal)
{
	(void)formal;
	return build_text(b, json_text_of(&b->exported->doc, v, "as_strings"));
}

typedef struct ListRow { const char *kind; Element *element; const Type *type; } ListRow;

static const ListRow lists[] = {
	{ "as_tensors", named, &rt_type_tensor },
	{ "as_optional_tensors", tensor_or_none, NULL },          /* A list of Tensor?. */
	{ "as_ints", int_element, &rt_type_int },
	{ "as_floats", float_element, &rt_type_float },
	{ "as_bools", bool_element, &rt_type_bool },
	{ "as_strings", text_element, &rt_type_str },
	{ "as_sym_ints", symbolic, &rt_type_int },
	{ "as_sym_floats", symbolic, &rt_type_float },
	{ "as_sym_bools", symbolic, &rt_type_bool },
};

static const ListRow *
list_row(const char *kind)
{
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (!strcmp(lists[i].kind, kind))
			return &lists[i];
	return NULL;
}

/* Converts 32-bit index tensors, which PyTorch accepts since 2.1, to long. Tensors of a list with None entries are
 * indices. Names in inner graphs are not converted: they may repeat those of the outer graph. */
static Value *
long_index(Builder *b, const Json *e, Value *v)
{
	const Json *one = json_get(e, "as_tensor"), *name = json_get(one ? one : e, "name");
	const Json *meta = name && b->names == b->top ?
		map_get(&b->exported->metas, json_text_of(&b->exported->doc, name, "name")) : NULL;
	const Json *dtype = json_get(meta, "dtype");

	if (!dtype || dtype_of_export(json_int(&b->exported->doc, dtype, "dtype")) != RT_i32)
		return v;
	return build_op(b, "aten::to", 4, v, build_int(b, RT_i64), build_bool(b, false), build_bool(b, false));
}

static void
elements(Builder *b, const ListRow *row, const Json *v, const Type *formal, Values *out)
{
	for JSON_EACH(e, v) {
		Value *one = row->element(b, e, formal);

		if (formal && formal->kind == TYPE_OPTIONAL)
			one = long_index(b, e, one);
		vec_push(b->cx->arena, out, one);
	}
}

/* Makes a list. A list of constants becomes a constant, as in printed graphs. */
static Value *
list(Builder *b, const ListRow *row, const Json *v, const Type *formal)
{
	const Type *t = wanted(formal), *elem = t && t->kind == TYPE_LIST ? t->of[0] :
		row->type ? row->type : type_optional(b->cx, &rt_type_tensor);
	Values all = { 0 };
	IValue *c;
	int n = 0;

	elements(b, row, v, elem, &all);
	c = new(b->cx->arena, IValue, all.n + 1);
	while (n < all.n && value_constant(all.at[n], &c[n]) && elem->kind != TYPE_OPTIONAL)
		n++;
	if (n == all.n && n && elem->kind != TYPE_TENSOR && elem->kind != TYPE_NUMBER)
		return graph_constant(b->graph, value_list(b->cx, elem, c, n), b->at);
	return build_list(b, elem, all.at, all.n);
}

/* ---- one argument ------------------------------------------------------------------------------------------------ */

static Value *
none(Builder *b, const Json *v, const Type *formal)
{
	(void)v, (void)formal;
	return constant(b, rt_none(), &rt_type_none);
}

static Value *
int_argument(Builder *b, const Json *v, const Type *formal)
{
	return whole(b, json_int(&b->exported->doc, v, "as_int"), formal);
}

static Value *
enumeration(Builder *b, const Json *v, const Type *formal)
{
	static const int8_t layouts[] = { -1, 1, 2, 4, 5, 6, 3, 0 }, formats[] = { -1, 0, 2, 3, 1 };

	(void)formal;
	if (!strcmp(json_key(v), "as_scalar_type"))
		return build_int(b, scalar_type(b, v));
	return build_int(b, !strcmp(json_key(v), "as_layout") ? enumerated(b, v, layouts, 8)
							      : enumerated(b, v, formats, 5));
}

typedef struct ArgRow { const char *kind; Element *value; } ArgRow;

static const ArgRow rows[] = {
	{ "as_none", none }, { "as_tensor", named }, { "as_optional_tensor", tensor_or_none },
	{ "as_custom_obj", named }, { "as_int", int_argument }, { "as_float", float_element },
	{ "as_bool", bool_element }, { "as_string", text_element }, { "as_operator", text_element },
	{ "as_complex", complex_number }, { "as_sym_int", symbolic }, { "as_sym_float", symbolic },
	{ "as_sym_bool", symbolic }, { "as_scalar_type", enumeration }, { "as_layout", enumeration },
	{ "as_memory_format", enumeration }, { "as_device", device },
};

Value *
arg_value(Builder *b, const Json *arg, const Type *formal)
{
	const Json *v = json_union(&b->exported->doc, arg, "arg");
	const ListRow *row = list_row(json_key(v));

	if (row)
		return list(b, row, v, formal);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(rows[i].kind, json_key(v)))
			return rows[i].value(b, v, formal);
	pt2_lacks(b, "Kiln lacks arguments of the kind '%s'", json_key(v));
}

void
arg_values(Builder *b, const Json *arg, Values *out)
{
	const Json *v = json_union(&b->exported->doc, arg, "arg");
	const ListRow *row = list_row(json_key(v));

	if (row) {
		elements(b, row, v, NULL, out);
	} else {
		Value *one = arg_value(b, arg, NULL);

		vec_push(b->cx->arena, out, one);
	}
}
