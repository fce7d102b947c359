/* rt/type.c - types of values at run time: the basic ones, and when two are equal
 */
#include "rt.h"

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
	*const of_bool[] = { &rt_type_bool }, *const of_str[] = { &rt_type_str }, *const of_tensor[] = { &rt_type_tensor };

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

/* What is known of tensors does not count: at run time every tensor type is Tensor. */
bool
rt_type_equal(const RtType *a, const RtType *b)
{
	return equal(a, b, 0);
}
