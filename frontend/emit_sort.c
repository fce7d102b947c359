/* frontend/emit_sort.c - sorting lists of objects
 *
 * The kernels of sort and sorted compare numbers, strings, tensors and tuples of them.  Objects are compared by their
 * class's __lt__, which is TorchScript: for such a list a merge sort in TorchScript is compiled, once for each class.
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
	"                    if reverse:\n"
	"                        first = not (l[i] < l[j])\n"
	"                    else:\n"
	"                        first = not (l[j] < l[i])\n"
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
is_sortable(const Type *t)
{
	switch (t->kind) {
	case TYPE_INT:
	case TYPE_FLOAT:
	case TYPE_BOOL:
	case TYPE_STR:
	case TYPE_TENSOR:
		return true;
	case TYPE_CLASS:
		return class_method(class_info(t), "__lt__") != 0;
	case TYPE_TUPLE:
		for (int i = 0; i < t->n; i++)
			if (!is_sortable(t->of[i]))
				return false;
		return true;
	default:
		return false;
	}
}

static Function *
sort_of(Emit *e, const Type *t)
{
	Cx *cx = e->cx;

	return unit_text_function(cx, e->unit, arena_printf(cx->arena, "%s_sorting.sort_objects", t->name),
		arena_printf(cx->arena, sort_text, t->name, t->name, t->name));
}

Sugar *
emit_sort(Emit *e, Range at, const char *op, NamedValue *args, int n)
{
	bool copies = !strcmp(op, "aten::sorted");
	NamedValue all[2] = {{0}};
	const Type *t;
	Sugar *s;

	if ((!copies && strcmp(op, "aten::sort") != 0) || n < 1 || n > 2 || args[0].v->type->kind != TYPE_LIST)
		return 0;
	t = args[0].v->type->of[0];
	if (!is_sortable(t))
		fail(e->cx, at, "Only list of Tensors, ints, floats, bools, strs, a User Defined Class that defines the __lt__ "
			"compare method, or Tuples of such types can be sorted, got list of %s", type_python(e->cx, t));
	if (t->kind != TYPE_CLASS)
		return 0;
	all[0] = (NamedValue){0, copies ? emit_op(e, at, "aten::list", 1, args[0].v) : args[0].v, at};
	all[1] = (NamedValue){0, n > 1 ? args[1].v : graph_constant(e->g, rt_bool(false), at), at};
	s = sugar_new(e, SUGAR_FUNCTION);
	s->fn = sort_of(e, t);
	s = emit_apply(e, at, s, all, 2);
	return copies ? s : sugar_value(e, emit_none(e, at));
}
