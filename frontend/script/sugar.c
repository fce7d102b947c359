/* frontend/script/sugar.c - meanings of names and expressions: values, namespaces, classes, methods, ranges
 *
 * Most expressions are values of the graph. Others exist only at compile time: namespaces such as `torch` and
 * `ops.prim`, classes and functions of the archive, and `range(n)`, whose items the loop over it computes. This file
 * defines x.name, iteration and unpacking for each of them.
 */
#include "emit.h"

#include <math.h>
#include <string.h>

Sugar *
sugar_new(Emit *e, SugarKind kind)
{
	Sugar *s = new(e->cx->arena, Sugar, 1);

	s->kind = kind;
	return s;
}

Sugar *
sugar_value(Emit *e, Value *v)
{
	Sugar *s = sugar_new(e, SUGAR_VALUE);

	s->v = v;
	return s;
}

Sugar *
sugar_named(Emit *e, SugarKind kind, const char *name)
{
	Sugar *s = sugar_new(e, kind);

	s->name = name;
	return s;
}

static Sugar *
typed(Emit *e, SugarKind kind, const Type *t)
{
	Sugar *s = sugar_new(e, kind);

	s->type = t;
	return s;
}

static Sugar *
method(Emit *e, SugarKind kind, const char *name, Value *self)
{
	Sugar *s = sugar_named(e, kind, name);

	s->v = self;
	return s;
}

static Sugar *
function(Emit *e, Function *fn, Value *self)
{
	Sugar *s = sugar_new(e, SUGAR_FUNCTION);

	s->fn = fn;
	s->v = self;
	return s;
}

const char *
sugar_kind(Emit *e, const Sugar *s)
{
	switch (s->kind) {
	case SUGAR_VALUE:      return type_python(e->cx, s->v->type);
	case SUGAR_NAMESPACE:  return "module";
	case SUGAR_BUILTIN:    return "builtin";
	case SUGAR_FUNCTION:   return s->v ? "method" : "function";
	case SUGAR_INTERFACE:  return "method";
	case SUGAR_CLASS:      return "class";
	case SUGAR_TYPE:       return "type";
	case SUGAR_TUPLE:      return "Tuple";
	case SUGAR_RANGE:      return "range";
	case SUGAR_ZIP:        return "iterabletree";
	case SUGAR_CLOSURE:    return "closure";
	case SUGAR_EXCEPTION:  return "exception";
	default:               return "special form";
	}
}

static Value *
range_as_list(Emit *e, Range at, Sugar *s)
{
	if (s->n == 1)
		return emit_op(e, at, "prim::rangelist", 1, s->item[0]->v);
	fail(e->cx, at, "range cannot be used as a value");
}

Value *
sugar_as_value(Emit *e, Range at, Sugar *s)
{
	const Type **types;
	Value **vs;

	switch (s->kind) {
	case SUGAR_VALUE:
		return s->v;
	case SUGAR_TUPLE:
		vs = new(e->cx->arena, Value *, s->n);
		types = new(e->cx->arena, const Type *, s->n);
		for (int i = 0; i < s->n; i++) {
			vs[i] = sugar_as_value(e, at, s->item[i]);
			types[i] = vs[i]->type;
		}
		return emit_node(e, at, "prim::TupleConstruct", type_tuple(e->cx, types, s->n), s->n, vs);
	case SUGAR_RANGE:
		return range_as_list(e, at, s);
	default:
		if (s->kind == SUGAR_BUILTIN && !op_first(e->cx, s->name) && builtin_next(s->name, -1) < 0)
			fail(e->cx, at, "Unknown builtin op: %s%s", s->name, suggest_torch(e, s->name));
		fail(e->cx, at, "%s cannot be used as a value", sugar_kind(e, s));
	}
}

/* ---- global names and namespaces ------------------------------------------------------------------------ */

static Value *
number_constant(Emit *e, Range at, double re, double im)
{
	return graph_constant(e->graph, im != 0 ? value_complex(e->cx, re, im) : rt_double(re), at);
}

/* Returns the meaning of an import's dotted name. Null if its first part is unknown (typing) or is the name itself. */
static Sugar *
imported(Emit *e, Range at, const char *name, const Tree *dotted)
{
	Sugar *s;

	if (!dotted)
		return 0;
	if (dotted->kind == TREE_ATTR)
		return (s = imported(e, at, name, dotted->kid[0])) ? sugar_attr_try(e, at, s, dotted->kid[1]->text) : 0;
	return strcmp(dotted->kid[0]->text, name) ? sugar_global(e, at, dotted->kid[0]->text) : 0;
}

/* Returns the qualified name of an exception class: one of Python, or a class of the source that derives from one. Null
 * if it is none. */
static const char *
exception(Emit *e, const char *name, int depth)
{
	static const char *const builtins[] = {"AssertionError", "BaseException", "Exception", "StopIteration",
		"Warning", "ArithmeticError", "AttributeError", "EOFError", "FloatingPointError", "ImportError",
		"IndexError", "KeyError", "LookupError", "MemoryError", "NameError", "NotImplementedError", "OSError",
		"OverflowError", "RecursionError", "RuntimeError", "TypeError", "UnicodeError", "UserWarning",
		"ValueError", "ZeroDivisionError"};
	const Tree *t = unit_source_class(e->cx, e->unit, name);
	const char *file, *slash;

	for (size_t i = 0; !t && i < sizeof builtins / sizeof *builtins; i++)
		if (!strcmp(name, builtins[i]))
			return arena_printf(e->cx->arena, "builtins.%s", name);
	if (!t || !depth || !t->kid[1] || t->kid[1]->kind != TREE_VAR ||
	    !exception(e, t->kid[1]->kid[0]->text, depth - 1))
		return 0;
	file = t->at.src->name;
	slash = strrchr(file, '/');
	file = slash ? slash + 1 : file;
	return arena_printf(e->cx->arena, "%.*s.%s", (int)strcspn(file, "."), file, name);
}

Sugar *
sugar_global(Emit *e, Range at, const char *name)
{
	static const char *const spaces[] = {"torch", "ops", "CONSTANTS", "__torch__", "math", "cmath"};
	const char *op = builtin_function(name), *cls;
	Function *fn;
	const Type *t;

	if (form_known(name))
		return sugar_named(e, SUGAR_FORM, name);
	if (op)
		return sugar_named(e, SUGAR_BUILTIN, op);
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
		if (!strcmp(name, spaces[i]))
			return sugar_named(e, SUGAR_NAMESPACE, spaces[i]);
	if ((fn = unit_source_function(e->cx, e->unit, name)))
		return function(e, fn, 0);
	if ((cls = exception(e, name, 9)))
		return sugar_named(e, SUGAR_EXCEPTION, cls);
	if (e->unit && (t = unit_type(e->cx, e->unit, arena_printf(e->cx->arena, "%s.%s", unit_prefix(e->unit), name))))
		return typed(e, SUGAR_CLASS, t);
	if (!strcmp(name, "inf") || !strcmp(name, "nan"))
		return sugar_value(e, number_constant(e, at, *name == 'i' ? (double)INFINITY : (double)NAN, 0));
	if (!strcmp(name, "infj") || !strcmp(name, "nanj"))
		return sugar_value(e, number_constant(e, at, 0, *name == 'i' ? (double)INFINITY : (double)NAN));
	return e->unit ? imported(e, at, name, unit_alias(e->unit, name)) : 0;
}

static const struct { const char *name; int code; } torch_numbers[] = {
	{"float", RT_f32}, {"double", RT_f64}, {"half", RT_f16}, {"int", RT_i32}, {"long", RT_i64}, {"short", RT_i16},
	{"cfloat", RT_c64}, {"cdouble", RT_c128}, {"chalf", RT_c32},
	{"strided", 0}, {"sparse_coo", 1}, {"contiguous_format", 0}, {"preserve_format", 1}, {"channels_last", 2},
	{"channels_last_3d", 3}, {"per_tensor_affine", 0}, {"per_channel_affine", 1}, {"per_tensor_symmetric", 2},
	{"per_channel_symmetric", 3},
};

const char *
torch_constant_name(int i)
{
	const int n = sizeof torch_numbers / sizeof *torch_numbers;

	RT_ASSERT(i >= 0);
	return i < n ? torch_numbers[i].name : i - n < RT_NDTYPE ? rt_dtypes[i - n].torch : NULL;
}

static Sugar *
torch_constant(Emit *e, Range at, const char *name)
{
	static const struct { const char *name; double value; } reals[] = {
		{"pi", 3.141592653589793}, {"e", 2.718281828459045}, {"inf", INFINITY}, {"nan", NAN},
		{"tau", 6.283185307179586},
	};

	for (int i = 0; i < RT_NDTYPE; i++)
		if (!strcmp(name, rt_dtypes[i].torch))
			return sugar_value(e, emit_int(e, at, i));
	for (size_t i = 0; i < sizeof torch_numbers / sizeof *torch_numbers; i++)
		if (!strcmp(name, torch_numbers[i].name))
			return sugar_value(e, emit_int(e, at, torch_numbers[i].code));
	for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
		if (!strcmp(name, reals[i].name))
			return sugar_value(e, number_constant(e, at, reals[i].value, 0));
	return 0;
}

/* Members of torch and of its parts that are not operators. */
static const struct {
	const char *space, *name;
	SugarKind   kind;
	const char *of;
} torch_members[] = {
	{"torch", "ops", SUGAR_NAMESPACE, "ops"},
	{"torch", "classes", SUGAR_NAMESPACE, "__torch__.torch.classes"},
	{"torch", "profiler", SUGAR_NAMESPACE, "torch.autograd.profiler"},
	{"torch.autograd", "profiler", SUGAR_NAMESPACE, "torch.autograd.profiler"},
	{"torch", "jit", SUGAR_NAMESPACE, "torch.jit"},
	{"torch", "nn", SUGAR_NAMESPACE, "torch.nn"},
	{"torch.nn", "functional", SUGAR_NAMESPACE, "torch.nn.functional"},
	{"torch", "autograd", SUGAR_NAMESPACE, "torch.autograd"},
	{"torch", "linalg", SUGAR_NAMESPACE, "torch.linalg"},
	{"torch", "special", SUGAR_NAMESPACE, "torch.special"},
	{"torch", "fft", SUGAR_NAMESPACE, "torch.fft"},
	{"torch", "utils", SUGAR_NAMESPACE, "torch.utils"},
	{"torch", "_C", SUGAR_NAMESPACE, "torch._C"},
	{"torch._C", "_nn", SUGAR_NAMESPACE, "torch._C._nn"},
	{"torch", "cuda", SUGAR_NAMESPACE, "torch.cuda"},
	{"torch.jit", "annotate", SUGAR_FORM, "annotate"},
	{"torch.jit", "fork", SUGAR_FORM, "fork"},
	{"torch.jit", "_fork", SUGAR_FORM, "fork"},
	{"torch.jit", "is_scripting", SUGAR_FORM, "is_scripting"},
	{"torch.jit", "is_tracing", SUGAR_FORM, "is_tracing"},
	{"torch.jit", "isinstance", SUGAR_FORM, "isinstance"},
	{"torch.jit", "unchecked_cast", SUGAR_FORM, "unchecked_cast"},
	{"torch.jit", "_awaitable", SUGAR_FORM, "awaitable"},
	{"torch.jit", "Await", SUGAR_FORM, "Await"},
	{"torch.jit", "_awaitable_nowait", SUGAR_BUILTIN, "prim::awaitable_nowait"},
};

/* Returns the class of a context manager. Null if it is none, or if the unit has no class for it. */
static const Type *
torch_context(Emit *e, const char *space, const char *name)
{
	const bool is = !strcmp(space, "torch") ? !strcmp(name, "no_grad") || !strcmp(name, "enable_grad") :
		!strcmp(space, "torch.autograd.profiler") && !strcmp(name, "record_function");

	return is ? unit_context(e->cx, e->unit, name) : NULL;
}

/* Returns torch.name. space: torch, or a part of it whose operators have a prefix, such as torch.linalg. */
static Sugar *
torch_member(Emit *e, Range at, const char *space, const char *name)
{
	const bool source = e->unit && !e->version, top = !strcmp(space, "torch");
	const Type *context = torch_context(e, space, name);
	Arena *a = e->cx->arena;
	const char *builtin;
	Sugar *s;

	if (context)
		return typed(e, SUGAR_CLASS, context);
	for (size_t i = 0; i < sizeof torch_members / sizeof *torch_members; i++)
		if (!strcmp(space, torch_members[i].space) && !strcmp(name, torch_members[i].name))
			return sugar_named(e, torch_members[i].kind, torch_members[i].of);
	if (top && (source || strcmp(name, "chalf")) && (s = torch_constant(e, at, name)))
		return s;                                /* torch.chalf is a dtype in Python, an operator in archives */
	if (top && source && !strcmp(name, "functional"))
		return sugar_named(e, SUGAR_NAMESPACE, "torch.functional");
	builtin = arena_printf(a, "%s::%s", strcmp(space, "torch.nn.functional") ? "torch" : "functional", name);
	if (source && builtin_next(builtin, -1) >= 0)
		return sugar_named(e, SUGAR_BUILTIN, builtin);
	if (!strcmp(space, "torch.linalg") || !strcmp(space, "torch.special") || !strcmp(space, "torch.fft"))
		return sugar_named(e, SUGAR_BUILTIN, arena_printf(a, "aten::%s_%s", space + 6, name));
	if (top && !strcmp(name, "Tensor"))
		return typed(e, SUGAR_TYPE, &rt_type_tensor);
	return sugar_named(e, SUGAR_BUILTIN, arena_printf(a, "aten::%s", name));
}

static Sugar *
namespace_member(Emit *e, Range at, const char *space, const char *name)
{
	Arena *a = e->cx->arena;
	Sugar *s;

	if (!strcmp(space, "CONSTANTS"))
		return sugar_value(e, unit_constant(e, at, name));
	if (!strcmp(space, "ops"))
		return sugar_named(e, SUGAR_NAMESPACE, arena_printf(a, "ops.%s", name));
	if (!strncmp(space, "ops.", 4))
		return sugar_named(e, SUGAR_BUILTIN, arena_printf(a, "%s::%s", space + 4, name));
	if (!strcmp(space, "math") || !strcmp(space, "cmath")) {
		if (*space == 'c' && (!strcmp(name, "infj") || !strcmp(name, "nanj")))
			return sugar_value(e, number_constant(e, at, 0, *name == 'i' ? (double)INFINITY : (double)NAN));
		if ((s = torch_constant(e, at, name)))
			return s;
		return sugar_named(e, SUGAR_BUILTIN, !strcmp(name, "remainder") ? "aten::mathremainder"
			: !strcmp(name, "phase") ? "aten::angle" : arena_printf(a, "aten::%s", name));
	}
	if (!strncmp(space, "__torch__", 9))
		return unit_name(e, at, arena_printf(a, "%s.%s", space, name));
	return torch_member(e, at, space, name);
}

/* ---- x.name of values -------------------------------------------------------------------------------------- */

static const struct { const char *name, *op; } tensor_fields[] = {
	{"dtype", "prim::dtype"}, {"device", "prim::device"}, {"grad", "prim::grad"}, {"data", "prim::data"},
	{"shape", "aten::size"}, {"ndim", "aten::dim"}, {"requires_grad", "prim::requires_grad"},
	{"layout", "prim::layout"}, {"is_cuda", "prim::is_cuda"}, {"is_cpu", "prim::is_cpu"},
	{"is_xpu", "prim::is_xpu"}, {"is_sparse", "prim::is_sparse"}, {"is_sparse_csr", "prim::is_sparse_csr"},
	{"is_mkldnn", "prim::is_mkldnn"}, {"is_mps", "prim::is_mps"}, {"is_quantized", "prim::is_quantized"},
	{"is_vulkan", "prim::is_vulkan"}, {"is_ipu", "prim::is_ipu"}, {"is_meta", "prim::is_meta"},
	{"is_nested", "prim::is_nested"}, {"is_xla", "prim::is_xla"}, {"is_mtia", "prim::is_mtia"},
	{"is_maia", "prim::is_maia"}, {"is_leaf", "aten::is_leaf"}, {"name", "prim::name"}, {"T", "aten::numpy_T"},
	{"H", "aten::matrix_H"}, {"mT", "aten::mT"}, {"mH", "aten::mH"}, {"real", "aten::real"}, {"imag", "aten::imag"},
	{"itemsize", "aten::element_size"}, {"nbytes", "prim::nbytes"}, {"retains_grad", "aten::retains_grad"},
};

const char *
tensor_field_name(int i)
{
	RT_ASSERT(i >= 0);
	return i < (int)(sizeof tensor_fields / sizeof *tensor_fields) ? tensor_fields[i].name : NULL;
}

static Sugar *
tensor_attr(Emit *e, Range at, Value *v, const char *name)
{
	for (size_t i = 0; i < sizeof tensor_fields / sizeof *tensor_fields; i++)
		if (!strcmp(name, tensor_fields[i].name))
			return sugar_value(e, emit_op(e, at, tensor_fields[i].op, 1, v));
	return 0;
}

/* x.float() and the like are calls x.to(dtype). */
static Sugar *
tensor_cast(Emit *e, Value *v, const char *name)
{
	static const char *const names[] = {"byte", "char", "short", "int", "long", "half", "float", "double", "bool",
		"cfloat", "cdouble", "bfloat16"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return method(e, SUGAR_CAST, name, v);
	return 0;
}

static Sugar *
tuple_attr(Emit *e, Range at, Value *v, const char *name)
{
	Value *in[2];

	for (int i = 0; v->type->field && i < v->type->n; i++)
		if (!strcmp(name, v->type->field[i])) {
			in[0] = v;
			in[1] = emit_int(e, at, i);
			return sugar_value(e, emit_node(e, at, "prim::TupleIndex", v->type->of[i], 2, in));
		}
	return 0;
}

static Sugar *
object_attr(Emit *e, Range at, Value *v, const char *name)
{
	ClassInfo *info = class_info(v->type);
	Attribute *a = class_attr(info, name);
	Function *fn;
	Node *n;

	if (a && a->is_constant)
		return sugar_value(e, graph_constant_typed(e->graph, a->constant, a->type, at));
	if (a) {
		n = graph_emit(e->graph, "prim::GetAttr", at, 1, &v, 1);
		node_set_str(n, "name", a->name);
		n->out[0]->type = a->type;
		return sugar_value(e, n->out[0]);
	}
	if ((fn = class_method(info, name))) {
		if (v->type->kind == TYPE_INTERFACE)
			return method(e, SUGAR_INTERFACE, name, v);
		return function(e, fn, fn->self ? v : 0);
	}
	if ((fn = class_method(info, arena_printf(e->cx->arena, "__%s_getter", name))))
		return emit_apply(e, at, function(e, fn, v), 0, 0);
	return 0;
}

static Sugar *
enum_attr(Emit *e, Range at, Value *v, const char *name)
{
	Value *value;

	if (!strcmp(name, "name"))
		return sugar_value(e, emit_node(e, at, "prim::EnumName", &rt_type_str, 1, &v));
	if (strcmp(name, "value") != 0)
		return 0;
	value = emit_node(e, at, "prim::EnumValue", v->type->of[0], 1, &v);
	value->node->op = op_find(e->cx, "prim::EnumValue", type_print(e->cx, v->type->of[0]));
	return sugar_value(e, value);
}

/* Whether t matches the formal type, whose type variables match any type. */
static bool
is_like(Cx *cx, const Type *t, const Type *formal)
{
	if (formal->kind == TYPE_VAR)
		return true;
	if (!type_has_vars(formal))
		return type_is_subtype(cx, t, formal);
	if (t->kind != formal->kind || t->n != formal->n)
		return false;
	for (int i = 0; i < t->n; i++)
		if (!is_like(cx, t->of[i], formal->of[i]))
			return false;
	return true;
}

/* Whether the operator has an overload whose argument `self` accepts this type. */
bool
value_has_method(Emit *e, const Type *t, const char *name)
{
	const Schema *s;

	if (t->kind == TYPE_FUTURE && !strcmp(name, "aten::wait"))
		return true;
	for (Op *op = op_first(e->cx, name); op; op = op->next) {
		s = op_schema(e->cx, op);
		for (int i = 0; i < s->nargs; i++)
			if (!strcmp(s->args[i].name, "self") && is_like(e->cx, t, s->args[i].type))
				return true;
	}
	return false;
}

static Sugar *
value_attr(Emit *e, Range at, Value *v, const char *name)
{
	Sugar *s = 0;

	switch (v->type->kind) {
	case TYPE_TENSOR:
		s = tensor_attr(e, at, v, name);
		break;
	case TYPE_TUPLE:
		s = tuple_attr(e, at, v, name);
		break;
	case TYPE_CLASS:
	case TYPE_INTERFACE:
		return object_attr(e, at, v, name);
	case TYPE_ENUM:
		return enum_attr(e, at, v, name);
	case TYPE_DEVICE:
		if (!strcmp(name, "type") || !strcmp(name, "index"))
			return sugar_value(e, emit_op(e, at, arena_printf(e->cx->arena, "prim::%s", name), 1, v));
		break;
	default:
		break;
	}
	if (s)
		return s;
	if (v->type->kind == TYPE_TENSOR && (s = tensor_cast(e, v, name)))
		return s;
	if (!strcmp(name, "tolist") && v->type->kind == TYPE_TENSOR)
		return method(e, SUGAR_FORM, "tolist", v);
	if (!strcmp(name, "type") && v->type->kind == TYPE_TENSOR)
		return method(e, SUGAR_BUILTIN, "aten::to", v);
	name = arena_printf(e->cx->arena, "aten::%s", name);
	return value_has_method(e, v->type, name) ? method(e, SUGAR_BUILTIN, name, v) : 0;
}

IValue
enum_constant(Cx *cx, const Type *t, const EnumMember *m)
{
	RtEnum *v = rt_enum_new(cx_rt(cx), t, m->name, rt_retain(m->value));

	if (!v)
		fail(cx, (Range){0}, "out of memory");
	return rt_ref(RT_ENUM, v);
}

static Sugar *
class_member(Emit *e, Range at, Sugar *s, const char *name)
{
	ClassInfo *info = s->type->cls ? class_info(s->type) : 0;
	Attribute *a;
	Function *fn;
	IValue v;

	if (!strcmp(name, "__new__")) {
		s = typed(e, SUGAR_FORM, s->type);
		s->name = "__new__";
		return s;
	}
	if (!info)
		return 0;
	for (int i = 0; i < info->members.n; i++)
		if (!strcmp(info->members.at[i].name, name)) {
			v = enum_constant(e->cx, s->type, &info->members.at[i]);
			return sugar_value(e, graph_constant_typed(e->graph, v, s->type, at));
		}
	if ((fn = class_method(info, name)))
		return function(e, fn, 0);
	a = class_attr(info, name);
	return a && a->is_constant ? sugar_value(e, graph_constant_typed(e->graph, a->constant, a->type, at)) : 0;
}

Sugar *
sugar_attr_try(Emit *e, Range at, Sugar *s, const char *name)
{
	switch (s->kind) {
	case SUGAR_VALUE:
		return value_attr(e, at, s->v, name);
	case SUGAR_NAMESPACE:
		return namespace_member(e, at, s->name, name);
	case SUGAR_CLASS:
		return class_member(e, at, s, name);
	case SUGAR_SUPER:
		return strcmp(name, "__init__") ? 0 : sugar_named(e, SUGAR_FORM, "super_init");
	case SUGAR_TUPLE:
	case SUGAR_RANGE:
		return value_attr(e, at, sugar_as_value(e, at, s), name);
	default:
		return 0;
	}
}

Sugar *
sugar_attr(Emit *e, Range at, Sugar *s, const char *name)
{
	Sugar *r = sugar_attr_try(e, at, s, name);
	const char *hint;

	if (r)
		return r;
	hint = suggest_member(e, s, name);
	if (!*hint && s->kind == SUGAR_VALUE)
		hint = s->v->type->kind == TYPE_CLASS ? ". Did you forget to initialize an attribute in __init__()?"
						      : ".";
	if (s->kind == SUGAR_VALUE)
		fail(e->cx, at, "'%s' object has no attribute or method '%s'%s", type_python(e->cx, s->v->type), name,
		     hint);
	if (s->kind == SUGAR_BUILTIN)
		fail(e->cx, at, "attribute lookup is not defined on builtin");
	fail(e->cx, at, "%s has no attribute '%s'%s", s->type && s->type->name ? s->type->name : sugar_kind(e, s), name,
	     hint);
}

/* Whether `self.x = v` declares x: it does in the __init__ of a class without annotations. */
static bool
declares(Emit *e, Value *self)
{
	const char *dot = strrchr(e->fn->name, '.');

	return dot && !strcmp(dot, ".__init__") && e->fn->self == self->type && self == graph_inputs(e->graph)[0]
		&& e->scope->block == e->graph->top;
}

void
sugar_set_attr(Emit *e, Range at, Sugar *s, const char *name, Value *v)
{
	Value *in[2], *self = sugar_as_value(e, at, s), *given = v;
	ClassInfo *info;
	Attribute *a;
	Function *fn;
	Node *n;

	if (self->type->kind != TYPE_CLASS)
		fail(e->cx, at, "Tried to set an attribute: %s on a non-class: %s", name,
		     type_python(e->cx, self->type));
	info = class_info(self->type);
	a = class_attr(info, name);
	if (!a && (fn = class_method(info, arena_printf(e->cx->arena, "__%s_setter", name)))) {
		emit_apply(e, at, function(e, fn, self), &(NamedValue){0, v, at}, 1);
		return;
	}
	if (!a && declares(e, self)) {
		class_add_attr(e->cx, info, (Attribute){.name = name, .type = type_unshaped(e->cx, v->type)});
		a = class_attr(info, name);
	}
	if (!a) {
		const char *hint = suggest_member(e, s, name);

		fail(e->cx, at, "Tried to set nonexistent attribute: %s%s", name,
		     *hint ? hint : ". Did you forget to initialize it in __init__()?");
	}
	if (a->is_constant)
		fail(e->cx, at, "Tried to set constant attribute: %s", name);
	v = emit_convert(e, at, v, a->type, false);
	if (!v || !type_is_subtype(e->cx, v->type, a->type))
		fail(e->cx, at, "Wrong type for attribute assignment. Expected %s but got %s",
		     type_python(e->cx, a->type), type_python(e->cx, given->type));
	in[0] = self;
	in[1] = v;
	n = graph_emit(e->graph, "prim::SetAttr", at, 2, in, 0);
	node_set_str(n, "name", a->name);
}

/* ---- iteration -------------------------------------------------------------------------------------------------- */

/* Returns all members of an enum as a list. */
static Value *
members(Emit *e, Range at, const Type *t)
{
	const ClassInfo *info = class_info(t);
	Value **vs = new(e->cx->arena, Value *, info->members.n);

	for (int i = 0; i < info->members.n; i++)
		vs[i] = graph_constant_typed(e->graph, enum_constant(e->cx, t, &info->members.at[i]), t, at);
	return emit_list(e, at, vs, info->members.n, t);
}

Sugar *
sugar_iterable(Emit *e, Range at, Sugar *s)
{
	Sugar *f;

	if (s->kind == SUGAR_TUPLE || s->kind == SUGAR_RANGE || s->kind == SUGAR_ZIP)
		return s;
	if (s->kind == SUGAR_CLASS && s->type->kind == TYPE_ENUM)
		return sugar_value(e, members(e, at, s->type));
	if (s->kind == SUGAR_VALUE) {
		switch (s->v->type->kind) {
		case TYPE_LIST:
		case TYPE_TUPLE:
		case TYPE_TENSOR:
		case TYPE_STR:
			return s;
		case TYPE_DICT:
			return sugar_value(e, emit_op(e, at, "aten::keys", 1, s->v));
		case TYPE_CLASS:
			if ((f = sugar_attr_try(e, at, s, "__iter__")))
				return sugar_iterable(e, at, emit_apply(e, at, f, 0, 0));
			break;
		default:
			break;
		}
	}
	fail(e->cx, at, "'%s' object is not iterable", sugar_kind(e, s));
}

int
sugar_static_length(Emit *e, Sugar *s)
{
	int n, best = -1;

	if (s->kind == SUGAR_TUPLE)
		return s->n;
	if (s->kind == SUGAR_VALUE && s->v->type->kind == TYPE_TUPLE)
		return s->v->type->n;
	if (s->kind == SUGAR_ZIP)
		for (int i = 0; i < s->n; i++) {
			n = sugar_static_length(e, s->item[i]);
			if (n >= 0 && (best < 0 || n < best))
				best = n;
		}
	return best;
}

Value *
sugar_length(Emit *e, Range at, Sugar *s)
{
	Value **lengths;
	int n = 0;

	if (s->kind == SUGAR_RANGE) {
		if (s->n == 1)
			return s->item[0]->v;
		return emit_op(e, at, "aten::__range_length", 3, s->item[0]->v, s->item[1]->v, s->item[2]->v);
	}
	if (s->kind != SUGAR_ZIP)
		return emit_op(e, at, "aten::len", 1, sugar_as_value(e, at, s));
	lengths = new(e->cx->arena, Value *, s->n);
	for (int i = 0; i < s->n; i++)
		if (s->item[i]->kind != SUGAR_RANGE || s->item[i]->n != 2)
			lengths[n++] = sugar_length(e, at, s->item[i]);
	if (n == 1)
		return lengths[0];
	return emit_op(e, at, "prim::min", 1, emit_list(e, at, lengths, n, &rt_type_int));
}

static Sugar *
static_item(Emit *e, Range at, Sugar *s, int64_t i)
{
	Value *in[2];

	if (s->kind == SUGAR_TUPLE)
		return s->item[i];
	in[0] = s->v;
	in[1] = emit_int(e, at, i);
	return sugar_value(e, emit_node(e, at, "prim::TupleIndex", s->v->type->of[i], 2, in));
}

/* Emits the item of a range at an index. A range of two items has start and step but no end, for enumerate. */
static Value *
range_item(Emit *e, Range at, Sugar *s, Value *index)
{
	IValue zero;

	if (s->n == 1)
		return index;
	if (s->n == 3)
		return emit_op(e, at, "aten::__derive_index", 3, index, s->item[0]->v, s->item[2]->v);
	if (value_constant(s->item[0]->v, &zero) && zero.tag == RT_INT && !zero.u.i)
		return index;
	return emit_op(e, at, "aten::__derive_index", 3, index, s->item[0]->v, s->item[1]->v);
}

Sugar *
sugar_item(Emit *e, Range at, Sugar *s, Value *index)
{
	Sugar *r;
	int64_t i;

	switch (s->kind) {
	case SUGAR_RANGE:
		return sugar_value(e, range_item(e, at, s, index));
	case SUGAR_ZIP:
		r = sugar_new(e, SUGAR_TUPLE);
		r->item = new(e->cx->arena, Sugar *, s->n);
		for (r->n = 0; r->n < s->n; r->n++)
			r->item[r->n] = sugar_item(e, at, s->item[r->n], index);
		return r;
	default:
		break;
	}
	if (s->kind == SUGAR_TUPLE || s->v->type->kind == TYPE_TUPLE) {
		if (!value_int(index, &i))
			fail(e->cx, at, "a loop over a tuple needs a length that is known at compile time");
		return static_item(e, at, s, i);
	}
	if (s->v->type->kind == TYPE_TENSOR)
		return sugar_value(e, emit_op(e, at, "aten::select", 3, s->v, emit_int(e, at, 0), index));
	return sugar_value(e, emit_op(e, at, "aten::__getitem__", 2, s->v, index));
}

/* ---- unpacking --------------------------------------------------------------------------------------------------- */

static void
unpack_node(Emit *e, Range at, const char *kind, Value *v, int n, Sugar **items)
{
	Node *node = graph_emit(e->graph, kind, at, 1, &v, n);

	for (int i = 0; i < n; i++) {
		node->out[i]->type = v->type->kind == TYPE_TUPLE ? v->type->of[i] : v->type->of[0];
		items[i] = sugar_value(e, node->out[i]);
	}
}

void
sugar_unpack(Emit *e, Range at, Sugar *s, int want, Sugar ***items, int *n)
{
	RT_ASSERT(want >= -1);
	if (s->kind == SUGAR_TUPLE) {
		*items = s->item;
		*n = s->n;
		return;
	}
	if (s->kind != SUGAR_VALUE)
		s = sugar_value(e, sugar_as_value(e, at, s));
	if (s->v->type->kind == TYPE_TUPLE) {
		*n = s->v->type->n;
		*items = new(e->cx->arena, Sugar *, *n);
		unpack_node(e, at, "prim::TupleUnpack", s->v, *n, *items);
		return;
	}
	if (s->v->type->kind != TYPE_LIST)
		fail(e->cx, at, "%s cannot be used as a tuple", type_python(e->cx, s->v->type));
	if (want < 0)
		fail(e->cx, at, "cannot statically infer the expected size of a list in this context");
	*n = want;
	*items = new(e->cx->arena, Sugar *, want);
	unpack_node(e, at, "prim::ListUnpack", s->v, want, *items);
}
