/* frontend/script/emit_sort.c - sorts lists of objects
 *
 * The kernels of sort and sorted compare numbers, strings, tensors and tuples of these. Objects are compared by the
 * __lt__ of their class, which is TorchScript code. For lists of objects, or of tuples with objects, a merge sort in
 * TorchScript is compiled, once for each type.
 */
#include "emit.h"

#include <string.h>

static const char sort_text[] =
	"def sort_objects(l: List[%s], reverse: bool) -> List[%s]:\n"
	"    n = len(l)\n"
	"    width = 1\n"
	"    while width < n:\n"
	"        out: List[%s] = []\n"
	"        for low in range(0, n, 2 * width):\n"
	"            i = low\n"
	"            middle = min(low + width, n)\n"
	"            j = middle\n"
	"            high = min(low + 2 * width, n)\n"
	"            while i < middle or j < high:\n"
	"                first = j >= high\n"
	"                if i < middle and j < high:\n"
	"                    a = l[i] if reverse else l[j]\n"
	"                    b = l[j] if reverse else l[i]\n"
	"                    less = False\n"
	"                    open = True\n"
	"%s"
	"                    first = not less\n"
	"                if first:\n"
	"                    out.append(l[i])\n"
	"                    i += 1\n"
	"                else:\n"
	"                    out.append(l[j])\n"
	"                    j += 1\n"
	"        for k in range(n):\n"
	"            l[k] = out[k]\n"
	"        width *= 2\n"
	"    return l\n";

static bool
has_objects(const Type *t)
{
	bool has = t->kind == TYPE_CLASS;

	for (int i = 0; i < t->n && t->kind == TYPE_TUPLE && !has; i++)
		has = has_objects(t->of[i]);
	return has;
}

/* Whether the class defines an order: def __lt__(self, other: the class) -> bool. */
static bool
has_less(Emit *e, Range at, const Type *t)
{
	Function *f = class_method(class_info(t), "__lt__");
	const Schema *s = f ? f->schema : 0;

	if (!s)
		return false;
	if (s->nrets && !s->rets[0].type)                       /* The body determines the type of the result. */
		unit_call(e->cx, f, at);
	return s->nargs == 2 && type_is_subtype(e->cx, t, s->args[1].type) && s->nrets == 1 &&
	       s->rets[0].type == &rt_type_bool;
}

/* Returns the first type, among this one and its parts, whose values cannot be sorted. Null if all can be sorted. */
static const Type *
unsortable(Emit *e, Range at, const Type *t)
{
	const Type *bad = 0;

	switch (t->kind) {
	case TYPE_INT:
	case TYPE_FLOAT:
	case TYPE_BOOL:
	case TYPE_STR:
	case TYPE_TENSOR:
		return 0;
	case TYPE_CLASS:
		return has_less(e, at, t) ? 0 : t;
	case TYPE_TUPLE:
		for (int i = 0; i < t->n && !bad; i++)
			bad = unsortable(e, at, t->of[i]);
		return bad;
	default:
		return t;
	}
}

/* Prints the comparison of two values. Tuples are compared by their first parts that differ. */
static void
put_order(Cx *cx, Buf *b, const Type *t, const char *part)
{
	static const char indent[] = "                    ";

	if (t->kind == TYPE_TUPLE) {
		for (int i = 0; i < t->n; i++)
			put_order(cx, b, t->of[i], arena_printf(cx->arena, "%s[%d]", part, i));
		return;
	}
	buf_printf(b, "%sif open and a%s < b%s:\n%s    less = True\n%s    open = False\n", indent, part, part, indent,
		   indent);
	buf_printf(b, "%sif open and b%s < a%s:\n%s    open = False\n", indent, part, part, indent);
}

static Function *
sort_of(Emit *e, const Type *t)
{
	Cx *cx = e->cx;
	const char *name = type_python(cx, t);
	Function *fn;
	Buf b = {0};

	if (t->kind == TYPE_CLASS)
		buf_puts(&b, "                    less = a < b\n");
	else
		put_order(cx, &b, t, "");
	fn = unit_text_function(cx, e->unit, unit_text_name(cx, name, "sort_objects"),
		arena_printf(cx->arena, sort_text, name, name, name, b.at));
	buf_free(&b);
	return fn;
}

Sugar *
emit_sort(Emit *e, Range at, const char *op, NamedValue *args, int n)
{
	bool copies = !strcmp(op, "aten::sorted");
	NamedValue all[2] = {{0}};
	const Type *t, *bad;
	const char *name;
	Sugar *s;

	if ((!copies && strcmp(op, "aten::sort") != 0) || n < 1 || n > 2 || args[0].v->type->kind != TYPE_LIST)
		return 0;
	t = args[0].v->type->of[0];
	if (!has_objects(t))
		return 0;
	if ((bad = unsortable(e, at, t)) && bad->kind != TYPE_CLASS)
		return 0;
	if (bad) {
		name = type_python(e->cx, bad);
		emit_raise(e, at, emit_str(e, at, arena_printf(e->cx->arena, "To sort a list of %s it must define a "
			"__lt__ method with two inputs of type %s that returns a bool", name, name), -1), 0);
		return sugar_value(e, copies ? args[0].v : emit_none(e, at));
	}
	all[0] = (NamedValue){0, copies ? emit_op(e, at, "aten::list", 1, args[0].v) : args[0].v, at};
	all[1] = (NamedValue){0, n > 1 ? args[1].v : graph_constant(e->graph, rt_bool(false), at), at};
	s = sugar_new(e, SUGAR_FUNCTION);
	s->fn = sort_of(e, t);
	s = emit_apply(e, at, s, all, 2);
	return copies ? s : sugar_value(e, emit_none(e, at));
}
