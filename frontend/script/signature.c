/*
 * Signatures of source functions, and values of constant expressions: defaults of parameters, constants of classes,
 * members of enums.
 *
 * Only the constants that archives contain are accepted: literals, containers of them, CONSTANTS.cN, members of enums,
 * NamedTuples, annotate() and torch.device().
 */
#include "../frontend.h"

#include <math.h>
#include <string.h>

RT_NORETURN static void
not_constant(Cx *cx, const Tree *t)
{
	fail(cx, t->at, "this is not a constant expression");
}

/* Converts an int, float or complex to complex. Returns false for other values. */
static bool
as_complex(IValue v, double *re, double *im)
{
	*im = v.tag == RT_COMPLEX ? v.u.c->im : 0;
	*re = v.tag == RT_COMPLEX ? v.u.c->re : v.tag == RT_DOUBLE ? v.u.f : (double)v.u.i;
	return v.tag == RT_COMPLEX || v.tag == RT_DOUBLE || v.tag == RT_INT;
}

/* Adds or subtracts constants, as in 1.+3.j or -inf. */
static IValue
sum(Cx *cx, const Tree *t, IValue a, IValue b, double sign)
{
	double are, aim, bre, bim;

	if (!as_complex(a, &are, &aim) || !as_complex(b, &bre, &bim))
		not_constant(cx, t);
	if (a.tag == RT_COMPLEX || b.tag == RT_COMPLEX)
		return value_complex(cx, are + sign * bre, aim + sign * bim);
	if (a.tag == RT_DOUBLE || b.tag == RT_DOUBLE)
		return rt_double(are + sign * bre);
	return rt_int((int64_t)((uint64_t)a.u.i + (sign < 0 ? 0 - (uint64_t)b.u.i : (uint64_t)b.u.i)));
}

static IValue
named_constant(Cx *cx, const Tree *t)
{
	const char *name = t->kid[0]->text;

	if (strcmp(name, "inf") == 0)
		return rt_double(HUGE_VAL);
	if (strcmp(name, "nan") == 0)
		return rt_double((double)NAN);
	if (strcmp(name, "infj") == 0)
		return value_complex(cx, 0, HUGE_VAL);
	if (strcmp(name, "nanj") == 0)
		return value_complex(cx, 0, (double)NAN);
	not_constant(cx, t);
}

static IValue
enum_member(Cx *cx, Unit *unit, const Tree *t)
{
	const char *owner = tree_dotted(cx, t->kid[0]);
	const Type *type = owner && unit ? unit_type(cx, unit, owner) : 0;
	const ClassInfo *c = type && type->kind == TYPE_ENUM ? class_info(type) : 0;

	for (int i = 0; c && i < c->members.n; i++)
		if (strcmp(c->members.at[i].name, t->kid[1]->text) == 0)
			return enum_constant(cx, type, &c->members.at[i]);
	not_constant(cx, t);
}

/* Returns the value of CONSTANTS.c3, torch.float32, torch.strided or __torch__.Color.RED. */
static IValue
attribute_constant(Cx *cx, Unit *unit, const Tree *t)
{
	const char *owner = tree_dotted(cx, t->kid[0]), *name = t->kid[1]->text;
	IValue v;

	if (owner && strcmp(owner, "CONSTANTS") == 0) {
		if (!unit || !unit_constant_value(unit, name, &v))
			fail(cx, t->at, "the archive has no constant '%s'", name);
		return v;
	}
	if (owner && strcmp(owner, "torch") == 0) {
		for (int d = 0; d < RT_NDTYPE; d++)
			if (strcmp(rt_dtypes[d].torch, name) == 0)
				return rt_int(d);
		if (strcmp(name, "strided") == 0)
			return rt_int(0);
	}
	return enum_member(cx, unit, t);
}

static IValue *
constants_of(Cx *cx, Unit *unit, const Tree *list, const Type *const *hint, int nhint)
{
	IValue *v = new(cx->arena, IValue, list->n + 1);

	for (int i = 0; i < list->n; i++)
		v[i] = constant_of_tree(cx, unit, list->kid[i], nhint == 1 ? hint[0] : i < nhint ? hint[i] : 0);
	return v;
}

static IValue
list_constant(Cx *cx, Unit *unit, const Tree *t, const Type *hint)
{
	const Tree *list = t->kid[0];
	const Type *elem = hint && hint->kind == TYPE_LIST ? hint->of[0] : 0;
	IValue *v = constants_of(cx, unit, list, &elem, elem != 0);

	if (!elem)
		elem = list->n ? type_unshaped(cx, type_of_value(cx, v[0])) : &rt_type_tensor;
	return value_list(cx, elem, v, list->n);
}

static IValue
dict_constant(Cx *cx, Unit *unit, const Tree *t, const Type *hint)
{
	const Type *of[2] = { &rt_type_str, &rt_type_tensor };
	bool known = hint && hint->kind == TYPE_DICT;
	IValue *key = constants_of(cx, unit, t->kid[0], known ? &hint->of[0] : 0, known);
	IValue *value = constants_of(cx, unit, t->kid[1], known ? &hint->of[1] : 0, known);
	RtDict *d;

	if (known || t->kid[0]->n) {
		of[0] = known ? hint->of[0] : type_of_value(cx, key[0]);
		of[1] = known ? hint->of[1] : type_unshaped(cx, type_of_value(cx, value[0]));
	}
	d = rt_dict_new(cx_rt(cx), of[0], of[1]);
	for (int i = 0; d && i < t->kid[0]->n; i++)
		if (rt_dict_set(cx_rt(cx), d, rt_retain(key[i]), rt_retain(value[i])) != RT_OK)
			d = 0;
	if (!d)
		fail(cx, t->at, "this dict cannot be made: %s",
		     cx_rt(cx)->message ? cx_rt(cx)->message : "out of memory");
	return rt_ref(RT_DICT, d);
}

static IValue
tuple_constant(Cx *cx, Unit *unit, const Tree *list, const Type *type)
{
	bool known = type && type->kind == TYPE_TUPLE && type->n == list->n;
	IValue *v = new(cx->arena, IValue, list->n + 1);

	for (int i = 0; i < list->n; i++)
		v[i] = constant_of_tree(cx, unit, list->kid[i], known ? type->of[i] : 0);
	return value_tuple(cx, known && type->name ? type : 0, v, list->n);
}

/* Reads a device such as "cpu", "cuda" or "cuda:1". Returns false if Kiln does not know it. */
bool
device_of_text(const char *text, int64_t *device)
{
	int64_t index = 0;

	if (strncmp(text, "cpu", 3) == 0 && (!text[3] || strcmp(text + 3, ":0") == 0)) {
		*device = 0;
		return true;
	}
	if (strncmp(text, "cuda", 4) != 0 || (text[4] && text[4] != ':'))
		return false;
	*device = 1 << 8;
	if (!text[4])
		return true;
	for (text += 5; *text >= '0' && *text <= '9' && index < 128; text++)
		index = index * 10 + *text - '0';
	*device |= index + 1;
	return text[-1] != ':' && !*text && index < 128;
}

/* Returns the value of annotate(T, v), torch.device("cpu") or __torch__.P(1, 2). */
static IValue
call_constant(Cx *cx, Unit *unit, const Tree *t)
{
	const char *name = tree_dotted(cx, t->kid[0]);
	const Tree *args = t->kid[1];
	const Type *type;
	int64_t device;

	if (name && strcmp(name, "annotate") == 0 && args->n == 2) {
		type = type_of_annotation(cx, unit, args->kid[0]);
		return constant_of_tree(cx, unit, args->kid[1], type);
	}
	if (name && strcmp(name, "torch.device") == 0 && args->n == 1 && args->kid[0]->kind == TREE_STRING) {
		if (!device_of_text(args->kid[0]->text, &device))
			fail_lacks(cx, t->at, "Kiln has no device '%s'", args->kid[0]->text);
		return (IValue){ .tag = RT_DEVICE, .u.i = device };
	}
	type = name && unit ? unit_type(cx, unit, name) : 0;
	if (!type || type->kind != TYPE_TUPLE || type->n != args->n)
		not_constant(cx, t);
	return tuple_constant(cx, unit, args, type);
}

static IValue
literal(Cx *cx, Unit *unit, const Tree *t, const Type *hint)
{
	IValue zero = rt_int(0), v;

	switch (t->kind) {
	case TREE_INT:
		return hint && hint->kind == TYPE_FLOAT ? rt_double((double)t->num.i) : rt_int(t->num.i);
	case TREE_FLOAT:        return rt_double(t->num.f);
	case TREE_IMAG:         return value_complex(cx, 0, t->num.f);
	case TREE_STRING:       return value_str(cx, t->text, t->len);
	case TREE_TRUE:         return rt_bool(true);
	case TREE_FALSE:        return rt_bool(false);
	case TREE_NONE:         return rt_none();
	case TREE_VAR:          return named_constant(cx, t);
	case TREE_ATTR:         return attribute_constant(cx, unit, t);
	case TREE_LIST_LITERAL: return list_constant(cx, unit, t, hint);
	case TREE_DICT_LITERAL: return dict_constant(cx, unit, t, hint);
	case TREE_TUPLE:        return tuple_constant(cx, unit, t->kid[0], hint);
	case TREE_CALL:         return call_constant(cx, unit, t);
	case TREE_NEG:
		v = constant_of_tree(cx, unit, t->kid[0], hint);
		return sum(cx, t, v.tag == RT_DOUBLE ? rt_double(-0.0) : zero, v, -1);
	case TREE_ADD:
	case TREE_SUB:
		v = constant_of_tree(cx, unit, t->kid[0], 0);
		return sum(cx, t, v, constant_of_tree(cx, unit, t->kid[1], 0), t->kind == TREE_SUB ? -1 : 1);
	default:
		not_constant(cx, t);
	}
}

IValue
constant_of_tree(Cx *cx, Unit *unit, const Tree *t, const Type *hint)
{
	IValue v;

	cx_enter(cx, t->at);
	v = literal(cx, unit, t, hint && hint->kind == TYPE_OPTIONAL ? hint->of[0] : hint);
	cx_leave(cx);
	return v;
}

/* Checks that a default matches the annotation. An int may be the default of a float. */
static IValue
checked_default(Cx *cx, const Tree *t, IValue v, const Type *type)
{
	const Type *wanted = type->kind == TYPE_OPTIONAL && v.tag != RT_NONE ? type->of[0] : type;

	if (v.tag == RT_INT && wanted->kind == TYPE_FLOAT)
		return rt_double((double)v.u.i);
	if (!type_is_subtype(cx, type_unshaped(cx, type_of_value(cx, v)), type))
		fail(cx, t->at, "Expected a default value of type %s on parameter, but it is of type %s",
		     type_print(cx, type), type_print(cx, type_of_value(cx, v)));
	return v;
}

/* param := IDENT, annotation?, default?. A single number is the default of all N elements of a BroadcastingListN. */
static Arg
arg_of_param(Cx *cx, Unit *unit, const Tree *p)
{
	const Tree *type = p->kid[1], *deflt = p->kid[2];
	Arg a = { .name = p->kid[0]->text, .type = &rt_type_tensor, .kwonly = p->op != 0 };
	IValue v;

	if (type) {
		a.type = type_of_annotation(cx, unit, type);
		a.size_hint = broadcasting_list(type);
	}
	if (!deflt)
		return a;
	a.has_default = true;
	v = a.deflt = constant_of_tree(cx, unit, deflt, a.type);
	if (a.size_hint && v.tag != RT_LIST) {
		IValue *all = new(cx->arena, IValue, a.size_hint);

		for (int i = 0; i < a.size_hint; i++)
			all[i] = v;
		a.deflt = value_list(cx, a.type->of[0], all, a.size_hint);
	}
	a.deflt = checked_default(cx, deflt, a.deflt, a.type);
	return a;
}

static void
check_name(Cx *cx, const Tree *const *param, int i)
{
	for (int j = 0; j < i; j++)
		if (param[j]->kid[0]->text == param[i]->kid[0]->text)
			fail(cx, param[i]->at, "duplicate argument '%s' in function definition",
			     param[i]->kid[0]->text);
}

Schema *
schema_of_def(Cx *cx, Unit *unit, const Tree *def, const char *qualified, const Type *self)
{
	const Tree *params = def->kid[1], *result = def->kid[2];
	Schema *s = new(cx->arena, Schema, 1);

	RT_ASSERT(def->kind == TREE_DEF);
	s->name = qualified;
	s->overload = "";
	s->nargs = params->n;
	s->args = new(cx->arena, Arg, params->n + 1);
	if (self && !params->n)
		fail(cx, def->at, "methods must have a self argument");
	for (int i = 0; i < params->n; i++) {
		check_name(cx, params->kid, i);
		if (i || !self) {
			s->args[i] = arg_of_param(cx, unit, params->kid[i]);
		} else {
			s->args[0].name = params->kid[0]->kid[0]->text;
			s->args[0].type = self;
		}
	}
	s->nrets = 1;
	s->rets = new(cx->arena, Arg, 1);
	s->rets[0].name = "";
	s->rets[0].type = result ? type_of_annotation(cx, unit, result) : 0;
	return s;
}
