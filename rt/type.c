/* rt/type.c - types of values at run time: basic types, equality, printing
 */
#include "rt.h"
#include "base.h"

#include <string.h>

#define BASIC(name, K) const RtType rt_type_##name = { .kind = TYPE_##K };
BASIC(any, ANY)
BASIC(none, NONE)
BASIC(tensor, TENSOR)
BASIC(int, INT)
BASIC(float, FLOAT)
BASIC(bool, BOOL)
BASIC(complex, COMPLEX)
BASIC(number, NUMBER)
BASIC(str, STR)
BASIC(device, DEVICE)
BASIC(generator, GENERATOR)
BASIC(storage, STORAGE)
BASIC(stream, STREAM)
BASIC(any_list, ANY_LIST)
BASIC(any_tuple, ANY_TUPLE)
BASIC(any_class, ANY_CLASS)
BASIC(any_enum, ANY_ENUM)

static const RtType *const of_int[] = { &rt_type_int }, *const of_float[] = { &rt_type_float },
	*const of_bool[] = { &rt_type_bool }, *const of_str[] = { &rt_type_str },
	*const of_tensor[] = { &rt_type_tensor };

#define LIST(name) const RtType rt_type_list_##name = { .kind = TYPE_LIST, .n = 1, .of = of_##name };
LIST(int)
LIST(float)
LIST(bool)
LIST(str)
LIST(tensor)

static bool
equal(const RtType *a, const RtType *b, int depth)
{
	if (a == b)
		return true;
	if (!a || !b || a->kind != b->kind || depth > 100)
		return false;
	if (a->name && b->name)
		return !strcmp(a->name, b->name);
	if ((a->name != 0) != (b->name != 0) || a->n != b->n)
		return false;
	for (int i = 0; i < a->n; i++)
		if (!equal(a->of[i], b->of[i], depth + 1))
			return false;
	return true;
}

/* Compares two types. Ignores shapes and dtypes: at run time every tensor type is Tensor. */
bool
rt_type_equal(const RtType *a, const RtType *b)
{
	return equal(a, b, 0);
}

static void
print_parts(struct Buf *b, const char *head, const RtType *t, int depth);

static void
print(struct Buf *b, const RtType *t, int depth)
{
	static const char *const name[TYPE_NKIND] = {
		[TYPE_ANY] = "Any", [TYPE_NONE] = "NoneType", [TYPE_TENSOR] = "Tensor", [TYPE_INT] = "int",
		[TYPE_FLOAT] = "float", [TYPE_BOOL] = "bool", [TYPE_COMPLEX] = "complex", [TYPE_NUMBER] = "number",
		[TYPE_STR] = "str", [TYPE_DEVICE] = "Device", [TYPE_GENERATOR] = "Generator",
		[TYPE_STORAGE] = "Storage", [TYPE_STREAM] = "Stream", [TYPE_LIST] = "List", [TYPE_DICT] = "Dict",
		[TYPE_OPTIONAL] = "Optional", [TYPE_TUPLE] = "Tuple", [TYPE_UNION] = "Union", [TYPE_FUTURE] = "Future",
		[TYPE_AWAIT] = "Await", [TYPE_CLASS] = "class", [TYPE_INTERFACE] = "interface", [TYPE_ENUM] = "Enum",
		[TYPE_FUNCTION] = "Function", [TYPE_VAR] = "t", [TYPE_ANY_LIST] = "list", [TYPE_ANY_TUPLE] = "tuple",
		[TYPE_ANY_CLASS] = "AnyClassType", [TYPE_ANY_ENUM] = "AnyEnumType",
	};

	if (!t)
		buf_puts(b, "Any");
	else if (t->name)
		buf_puts(b, t->name);
	else if (depth > 50)
		buf_puts(b, "...");
	else if (t->kind >= TYPE_LIST && t->kind <= TYPE_AWAIT)
		print_parts(b, name[t->kind], t, depth + 1);
	else
		buf_puts(b, name[t->kind]);
}

static void
print_parts(struct Buf *b, const char *head, const RtType *t, int depth)
{
	buf_printf(b, "%s[", head);
	for (int i = 0; i < t->n; i++) {
		buf_puts(b, i ? ", " : "");
		print(b, t->of[i], depth);
	}
	if (!t->n)
		buf_puts(b, "()");
	buf_puts(b, "]");
}

void
rt_type_print(struct Buf *b, const RtType *t)
{
	print(b, t, 0);
}
