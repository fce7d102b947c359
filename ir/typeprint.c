/*
 * Types as text: as in IR (`Tensor`, `int[]`, `Float(2, 3, strides=[3, 1])`) and as in Python (`List[int]`).
 */
#include "ir.h"

#include <stdlib.h>
#include <string.h>

static const char *
basic_name(const Type *t, bool python)
{
	switch (t->kind) {
	case TYPE_ANY:       return "Any";
	case TYPE_NONE:      return "NoneType";
	case TYPE_TENSOR:    return "Tensor";
	case TYPE_INT:       return "int";
	case TYPE_FLOAT:     return "float";
	case TYPE_BOOL:      return "bool";
	case TYPE_COMPLEX:   return "complex";
	case TYPE_NUMBER:    return python ? "number" : "Scalar";
	case TYPE_STR:       return "str";
	case TYPE_DEVICE:    return "Device";
	case TYPE_GENERATOR: return "Generator";
	case TYPE_STORAGE:   return "Storage";
	case TYPE_STREAM:    return "Stream";
	case TYPE_ANY_LIST:  return python ? "list" : "AnyListType";
	case TYPE_ANY_TUPLE: return python ? "tuple" : "AnyTupleType";
	case TYPE_ANY_CLASS: return "AnyClassType";
	case TYPE_ANY_ENUM:  return "AnyEnumType";
	default:             return t->name ? t->name : "?";
	}
}

static void
print_dim(Buf *b, int64_t d)
{
	if (d == DIM_ANY)
		buf_puts(b, "*");
	else if (DIM_IS_SYMBOL(d))
		buf_printf(b, "s%d", DIM_INDEX(d));
	else
		buf_printf(b, "%lld", (long long)d);
}

/* Prints what precedes an item of a parenthesised list: "(" or ", ". */
static void
item(Buf *b, bool *any)
{
	buf_puts(b, *any ? ", " : "(");
	*any = true;
}

static void
print_device(Buf *b, int device)
{
	if (device == 0)
		buf_puts(b, "cpu");
	else if (device & 0xff)
		buf_printf(b, "cuda:%d", (device & 0xff) - 1);
	else
		buf_puts(b, "cuda");
}

static void
print_strides(Buf *b, const TensorInfo *t)
{
	buf_puts(b, "strides=[");
	for (int i = 0; i < t->rank; i++) {
		if (i)
			buf_puts(b, ", ");
		print_dim(b, t->strides[i]);
	}
	buf_puts(b, "]");
}

static void
print_tensor(Buf *b, const TensorInfo *t)
{
	bool any = false;

	buf_puts(b, t->dtype < 0 ? "Tensor" : rt_dtypes[t->dtype].brief);
	if (t->dtype >= 0 && t->rank < 0)
		buf_puts(b, "Tensor");
	if (t->dtype < 0 && t->rank == 0) {
		item(b, &any);
		buf_puts(b, "rank=0");
	}
	for (int i = 0; i < t->rank; i++) {
		item(b, &any);
		print_dim(b, t->dims[i]);
	}
	if (t->rank > 0 && t->strides) {
		item(b, &any);
		print_strides(b, t);
	}
	if (t->grad >= 0) {
		item(b, &any);
		buf_printf(b, "requires_grad=%d", t->grad);
	}
	if (t->device >= 0) {
		item(b, &any);
		buf_puts(b, "device=");
		print_device(b, t->device);
	}
	if (t->undefined == 1 || (t->undefined == 0) != (t->dtype >= 0 || t->rank >= 0)) {
		item(b, &any);
		buf_puts(b, t->undefined == 1 ? "undefined" : t->undefined == 0 ? "defined" : "maybe_undefined");
	}
	if (any)
		buf_puts(b, ")");
	else if (t->rank == 0)
		buf_puts(b, "()");
}

static void print_type(Buf *b, const Type *t, bool python);

static void
print_parts(Buf *b, const Type *t, bool python)
{
	for (int i = 0; i < t->n; i++) {
		if (i)
			buf_puts(b, ", ");
		if (t->field && !python)
			buf_printf(b, "%s : ", t->field[i]);
		print_type(b, t->of[i], python);
	}
}

static void
print_generic(Buf *b, const char *name, const Type *t, bool python)
{
	buf_puts(b, name);
	buf_puts(b, python ? "[" : "(");
	print_parts(b, t, python);
	if (python && !t->n)
		buf_puts(b, "()");
	buf_puts(b, python ? "]" : ")");
}

static void
print_suffixed(Buf *b, const char *name, const char *suffix, const Type *t, bool python)
{
	if (python) {
		print_generic(b, name, t, true);
	} else {
		print_type(b, t->of[0], false);
		buf_puts(b, suffix);
	}
}

static void
print_type(Buf *b, const Type *t, bool python)
{
	switch (t->kind) {
	case TYPE_TENSOR:
		if (t->tensor && !python)
			print_tensor(b, t->tensor);
		else
			buf_puts(b, "Tensor");
		break;
	case TYPE_LIST:      print_suffixed(b, "List", "[]", t, python); break;
	case TYPE_OPTIONAL:  print_suffixed(b, "Optional", "?", t, python); break;
	case TYPE_DICT:      print_generic(b, "Dict", t, python); break;
	case TYPE_UNION:     print_generic(b, "Union", t, python); break;
	case TYPE_FUTURE:    print_generic(b, "Future", t, python); break;
	case TYPE_AWAIT:     print_generic(b, "Await", t, python); break;
	case TYPE_TUPLE:
		if (t->name && python)
			buf_puts(b, t->name);
		else
			print_generic(b, t->name ? t->name : python ? "Tuple" : "", t, python);
		break;
	case TYPE_ENUM:      buf_printf(b, python ? "%s" : "Enum<%s>", t->name); break;
	case TYPE_FUNCTION:  buf_printf(b, *t->name ? "Function<%s>" : "Function%s", t->name); break;
	default:
		buf_puts(b, basic_name(t, python));
	}
}

static const char *
printed(Cx *cx, const Type *t, bool python)
{
	Buf b = { 0 };
	const char *s;

	if (!t->n && t->kind != TYPE_TUPLE && !t->tensor && t->kind != TYPE_FUNCTION)
		return basic_name(t, python);
	print_type(&b, t, python);
	s = sym_n(cx, b.at, (int)b.n)->name;
	buf_free(&b);
	return s;
}

const char *
type_print(Cx *cx, const Type *t)
{
	return printed(cx, t, false);
}

const char *
type_python(Cx *cx, const Type *t)
{
	return printed(cx, t, true);
}
