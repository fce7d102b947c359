/*
 * Types are interned: equal types are the same pointer.
 *
 * A type is built on the stack and looked up in a table by its parts, which are interned already. Only a new type is
 * copied to the arena. The basic types and a few lists are constants of rt. They are entered at the start, so that
 * values of the runtime have the same pointers. Classes, interfaces and enums are found by name.
 *
 * Invariants: an Optional holds no None, Any, Optional or Union. The Optional of a Union is a Union with None. A Union
 * has two members or more, in ATen's order of kinds, and none is a subtype of another. If int, float and complex are
 * all members, Scalar replaces them. A TensorInfo is normalised: with a known rank, dims is not null. Its strides are
 * null if all are unknown.
 */
#include "ir.h"

#include <string.h>

typedef struct FunctionType { Type type; Function *fn; } FunctionType;

struct Types {
	const Type **slot;         /* Hash table with open addressing. Null if the slot is free. */
	int nslot, n;
	Map named;                 /* Class, interface or enum type, by qualified name. */
	Vec(FunctionType *) functions;
};

static const Type *const basic[] = {
	&rt_type_any, &rt_type_none, &rt_type_tensor, &rt_type_int, &rt_type_float, &rt_type_bool, &rt_type_complex,
	&rt_type_number, &rt_type_str, &rt_type_device, &rt_type_generator, &rt_type_storage, &rt_type_stream,
	&rt_type_any_list, &rt_type_any_tuple, &rt_type_any_class, &rt_type_any_enum, &rt_type_list_int,
	&rt_type_list_float, &rt_type_list_bool, &rt_type_list_str, &rt_type_list_tensor,
};

/* ---- interning ---------------------------------------------------------------------------------- */

static uint64_t
tensor_hash(const TensorInfo *t)
{
	uint64_t h = hash_mix((uint64_t)t->dtype, (uint64_t)t->rank);

	h = hash_mix(h, (uint64_t)(t->grad * 9 + t->undefined));
	h = hash_mix(h, (uint64_t)t->device);
	for (int i = 0; i < t->rank; i++)
		h = hash_mix(hash_mix(h, (uint64_t)t->dims[i]), t->strides ? (uint64_t)t->strides[i] : 7);
	return h;
}

static uint64_t
type_hash(const Type *t)
{
	uint64_t h = hash_mix(t->kind, (uint64_t)t->n);

	for (int i = 0; i < t->n; i++)
		h = hash_mix(h, (uintptr_t)t->of[i]);
	if (t->name)
		h = hash_mix(h, hash_bytes(t->name, (int64_t)strlen(t->name)));
	return t->tensor ? hash_mix(h, tensor_hash(t->tensor)) : h;
}

static bool
dims_equal(const int64_t *a, const int64_t *b, int n)
{
	if (!a || !b)
		return a == b;
	return n <= 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static bool
tensor_equal(const TensorInfo *a, const TensorInfo *b)
{
	if (!a || !b)
		return a == b;
	return a->dtype == b->dtype && a->rank == b->rank && a->grad == b->grad && a->device == b->device &&
	       a->undefined == b->undefined && dims_equal(a->dims, b->dims, a->rank) &&
	       dims_equal(a->strides, b->strides, a->rank);
}

static bool
fields_equal(const Type *a, const Type *b)
{
	if (!a->field || !b->field)
		return a->field == b->field;
	for (int i = 0; i < a->n; i++)
		if (strcmp(a->field[i], b->field[i]) != 0)
			return false;
	return true;
}

static bool
parts_equal(const Type *a, const Type *b)
{
	if (a->kind != b->kind || a->n != b->n || !a->name != !b->name)
		return false;
	for (int i = 0; i < a->n; i++)
		if (a->of[i] != b->of[i])
			return false;
	return (!a->name || strcmp(a->name, b->name) == 0) && fields_equal(a, b) && tensor_equal(a->tensor, b->tensor);
}

static const Type **
find_slot(struct Types *s, const Type *t)
{
	uint64_t i = type_hash(t) & (uint64_t)(s->nslot - 1);

	while (s->slot[i] && !parts_equal(s->slot[i], t))
		i = (i + 1) & (uint64_t)(s->nslot - 1);
	return &s->slot[i];
}

static void
grow(Cx *cx, struct Types *s)
{
	const Type **old = s->slot;
	int nold = s->nslot;

	s->nslot = nold ? nold * 2 : 256;
	s->slot = new(cx->arena, const Type *, s->nslot);
	for (int i = 0; i < nold; i++)
		if (old[i])
			*find_slot(s, old[i]) = old[i];
}

static struct Types *
types(Cx *cx)
{
	struct Types *s = cx->types;

	if (s)
		return s;
	cx->types = s = new(cx->arena, struct Types, 1);
	s->named.arena = cx->arena;
	grow(cx, s);
	for (size_t i = 0; i < sizeof basic / sizeof *basic; i++, s->n++)
		*find_slot(s, basic[i]) = basic[i];
	return s;
}

static int64_t *
copy_dims(Cx *cx, const int64_t *d, int n)
{
	int64_t *r = new(cx->arena, int64_t, n ? n : 1);

	if (n)
		memcpy(r, d, (size_t)n * sizeof *r);
	return r;
}

/* Returns the interned type that equals t. t and its parts may be on the caller's stack. */
static const Type *
intern(Cx *cx, const Type *t)
{
	struct Types *s = types(cx);
	const Type **at = find_slot(s, t);
	Type *r;

	if (*at)
		return *at;
	r = new(cx->arena, Type, 1);
	*r = *t;
	if (t->name)
		r->name = sym(cx, t->name)->name;
	if (t->n) {
		const Type **of = new(cx->arena, const Type *, t->n);

		memcpy(of, t->of, (size_t)t->n * sizeof *of);
		r->of = of;
	}
	if (t->field) {
		const char **field = new(cx->arena, const char *, t->n + 1);

		for (int i = 0; i < t->n; i++)
			field[i] = sym(cx, t->field[i])->name;
		r->field = field;
	}
	if (t->tensor) {
		TensorInfo *info = new(cx->arena, TensorInfo, 1);

		*info = *t->tensor;
		info->dims = info->dims ? copy_dims(cx, info->dims, info->rank) : 0;
		info->strides = info->strides ? copy_dims(cx, info->strides, info->rank) : 0;
		r->tensor = info;
	}
	*at = r;
	if (++s->n * 4 > s->nslot * 3)
		grow(cx, s);
	return r;
}

static const Type *
intern_of(Cx *cx, RtKind kind, const Type *const *of, int n)
{
	Type t = { .kind = kind, .n = n, .of = of };

	return intern(cx, &t);
}

/* ---- making -------------------------------------------------------------------------------------- */

const Type *
type_list(Cx *cx, const Type *elem)
{
	return intern_of(cx, TYPE_LIST, &elem, 1);
}

const Type *
type_dict(Cx *cx, const Type *key, const Type *value)
{
	const Type *of[2] = { key, value };

	return intern_of(cx, TYPE_DICT, of, 2);
}

const Type *
type_optional(Cx *cx, const Type *t)
{
	const Type *of[2] = { t, &rt_type_none };

	if (t->kind == TYPE_OPTIONAL || t->kind == TYPE_NONE || t->kind == TYPE_ANY)
		return t;
	if (t->kind == TYPE_UNION)
		return type_union(cx, of, 2);
	return intern_of(cx, TYPE_OPTIONAL, &t, 1);
}

const Type *
type_future(Cx *cx, const Type *t)
{
	return intern_of(cx, TYPE_FUTURE, &t, 1);
}

const Type *
type_await(Cx *cx, const Type *t)
{
	return intern_of(cx, TYPE_AWAIT, &t, 1);
}

const Type *
type_tuple(Cx *cx, const Type *const *of, int n)
{
	return intern_of(cx, TYPE_TUPLE, of, n);
}

const Type *
type_named_tuple(Cx *cx, const char *name, const char *const *field, const Type *const *of, int n)
{
	Type t = { .kind = TYPE_TUPLE, .n = n, .of = of, .name = name, .field = field };

	return intern(cx, &t);
}

const Type *
type_var(Cx *cx, const char *name)
{
	Type t = { .kind = TYPE_VAR, .name = name };

	return intern(cx, &t);
}

typedef struct Members { const Type **at; int n; } Members;

static void
add_member(Cx *cx, Members *m, const Type *t)
{
	int keep = 0;

	for (int i = 0; i < m->n; i++)
		if (type_is_subtype(cx, t, m->at[i]))
			return;
	for (int i = 0; i < m->n; i++)
		if (!type_is_subtype(cx, m->at[i], t))
			m->at[keep++] = m->at[i];
	m->n = keep;
	m->at[m->n++] = t;
}

static int
count_members(const Type *const *of, int n)
{
	int count = 0;

	for (int i = 0; i < n; i++)
		count += of[i]->kind == TYPE_UNION ? of[i]->n : of[i]->kind == TYPE_OPTIONAL ? 2 : 1;
	return count;
}

static void
flatten(Cx *cx, Members *m, const Type *const *of, int n)
{
	for (int i = 0; i < n; i++) {
		if (of[i]->kind == TYPE_UNION || of[i]->kind == TYPE_OPTIONAL)
			flatten(cx, m, of[i]->of, of[i]->n);
		else
			add_member(cx, m, of[i]);
		if (of[i]->kind == TYPE_OPTIONAL)
			add_member(cx, m, &rt_type_none);
	}
}

/* Replaces int, float and complex together by Scalar. */
static void
join_numbers(Cx *cx, Members *m)
{
	int count = 0;

	for (int i = 0; i < m->n; i++)
		count += type_is_subtype(cx, m->at[i], &rt_type_number);
	if (count == 3)
		add_member(cx, m, &rt_type_number);
}

/* Whether a comes after b in the order of Union members: ATen's order of kinds, then by name. */
static bool
comes_after(Cx *cx, const Type *a, const Type *b)
{
	static const char order[TYPE_NKIND] = {
		[TYPE_ENUM] = 1, [TYPE_ANY_ENUM] = 2, [TYPE_TENSOR] = 3, [TYPE_STORAGE] = 4, [TYPE_TUPLE] = 5,
		[TYPE_LIST] = 6, [TYPE_DICT] = 7, [TYPE_NUMBER] = 8, [TYPE_FLOAT] = 9, [TYPE_COMPLEX] = 10,
		[TYPE_FUTURE] = 11, [TYPE_AWAIT] = 12, [TYPE_INT] = 13, [TYPE_NONE] = 14, [TYPE_STR] = 15,
		[TYPE_GENERATOR] = 16, [TYPE_BOOL] = 17, [TYPE_VAR] = 18, [TYPE_DEVICE] = 19, [TYPE_STREAM] = 20,
		[TYPE_FUNCTION] = 21, [TYPE_CLASS] = 22, [TYPE_INTERFACE] = 23, [TYPE_ANY_LIST] = 24,
		[TYPE_ANY_TUPLE] = 25, [TYPE_ANY_CLASS] = 26,
	};

	if (order[a->kind] != order[b->kind])
		return order[a->kind] > order[b->kind];
	return strcmp(type_print(cx, a), type_print(cx, b)) > 0;
}

const Type *
type_union(Cx *cx, const Type *const *of, int n)
{
	Members m = { new(cx->arena, const Type *, count_members(of, n) + 1), 0 };

	flatten(cx, &m, of, n);
	join_numbers(cx, &m);
	if (m.n == 1)
		return m.at[0];
	if (m.n == 2 && (m.at[0] == &rt_type_none || m.at[1] == &rt_type_none))
		return type_optional(cx, m.at[m.at[0] == &rt_type_none]);
	for (int i = 1; i < m.n; i++)
		for (int j = i; j && comes_after(cx, m.at[j - 1], m.at[j]); j--) {
			const Type *t = m.at[j];

			m.at[j] = m.at[j - 1];
			m.at[j - 1] = t;
		}
	return intern_of(cx, TYPE_UNION, m.at, m.n);
}

static Type *
named(Cx *cx, RtKind kind, const char *name)
{
	Type *t = new(cx->arena, Type, 1);
	RtClass *c = new(cx->arena, RtClass, 1);

	t->kind = kind;
	t->name = c->name = sym(cx, name)->name;
	t->cls = c;
	c->type = t;
	c->info = new(cx->arena, ClassInfo, 1);
	c->info->cls = c;
	c->info->type = t;
	c->info->interface = kind == TYPE_INTERFACE;
	map_put(&types(cx)->named, t->name, t);
	return t;
}

const Type *
type_class(Cx *cx, const char *name, bool interface)
{
	const Type *t = map_get(&types(cx)->named, name);

	return t ? t : named(cx, interface ? TYPE_INTERFACE : TYPE_CLASS, name);
}

const Type *
type_named_at(Cx *cx, int i)
{
	const Map *m = &types(cx)->named;

	return i < m->n ? m->at[i].value : 0;
}

const Type *
type_named(Cx *cx, const char *name)
{
	return map_get(&types(cx)->named, name);
}

const Type *
type_enum(Cx *cx, const char *name, const Type *value)
{
	Type *t = map_get(&types(cx)->named, name);
	const Type **of;

	if (t)
		return t;
	t = named(cx, TYPE_ENUM, name);
	t->of = of = new(cx->arena, const Type *, 1);
	of[0] = value;
	t->n = 1;
	return t;
}

const Type *
type_function(Cx *cx, Function *fn)
{
	struct Types *s = types(cx);
	FunctionType *t;

	for (int i = 0; i < s->functions.n; i++)
		if (s->functions.at[i]->fn == fn)
			return &s->functions.at[i]->type;
	t = new(cx->arena, FunctionType, 1);
	t->type.kind = TYPE_FUNCTION;
	t->type.name = fn->name;
	t->fn = fn;
	vec_push(cx->arena, &s->functions, t);
	return &t->type;
}

const Type *
type_tensor(Cx *cx, const TensorInfo *given)
{
	TensorInfo info;
	int64_t any[RT_MAX_RANK];
	bool known = false;
	Type t = { .kind = TYPE_TENSOR };

	if (!given)
		return &rt_type_tensor;
	info = *given;
	if (info.rank > RT_MAX_RANK)
		BUG("a tensor type of rank %d", info.rank);
	for (int i = 0; i < RT_MAX_RANK; i++)
		any[i] = DIM_ANY;
	if (info.rank < 0) {
		info.rank = -1;
		info.dims = info.strides = 0;
	} else {
		if (!info.dims)
			info.dims = any;
		for (int i = 0; info.strides && i < info.rank; i++)
			known |= info.strides[i] != DIM_ANY;
		if (!known && info.rank)
			info.strides = 0;
		else if (!info.rank)
			info.strides = any;
	}
	if (info.rank < 0 && info.dtype < 0 && info.grad < 0 && info.device < 0 && info.undefined < 0)
		return &rt_type_tensor;
	t.tensor = &info;
	return intern(cx, &t);
}

/* Returns the type with f applied to its parts. */
static const Type *
rebuild(Cx *cx, const Type *t, const Type *(*f)(Cx *, const Type *))
{
	const Type **of;
	Type r = *t;

	if (!t->n || t->kind == TYPE_ENUM)
		return intern(cx, t);
	of = new(cx->arena, const Type *, t->n);
	for (int i = 0; i < t->n; i++)
		of[i] = f(cx, t->of[i]);
	if (t->kind == TYPE_UNION)
		return type_union(cx, of, t->n);
	r.of = of;
	return intern(cx, &r);
}

static bool
has_shapes(const Type *t)
{
	if (t->kind == TYPE_TENSOR)
		return t->tensor;
	for (int i = 0; i < t->n; i++)
		if (has_shapes(t->of[i]))
			return true;
	return false;
}

const Type *
type_unshaped(Cx *cx, const Type *t)
{
	if (!has_shapes(t))
		return t;
	return t->kind == TYPE_TENSOR ? &rt_type_tensor : rebuild(cx, t, type_unshaped);
}

const Type *
type_canonical(Cx *cx, const RtType *t)
{
	switch (t->kind) {
	case TYPE_CLASS:
	case TYPE_INTERFACE:
		return t->cls && t->cls->info ? t : type_class(cx, t->name, t->kind == TYPE_INTERFACE);
	case TYPE_ENUM:
		return t->cls && t->cls->info ? t : type_enum(cx, t->name, type_canonical(cx, t->of[0]));
	case TYPE_FUNCTION:
		return t;
	default:
		return rebuild(cx, t, type_canonical);
	}
}

/* ---- relations ------------------------------------------------------------------------------------ */

static bool
dims_cover(const int64_t *a, const int64_t *of, int n)
{
	for (int i = 0; of && i < n; i++)
		if (of[i] != DIM_ANY && (!a || a[i] != of[i]))
			return false;
	return true;
}

static bool
tensor_is_subtype(const TensorInfo *a, const TensorInfo *of)
{
	if (!of)
		return true;
	if (!a)
		return false;
	return (of->dtype < 0 || a->dtype == of->dtype) && (of->grad < 0 || a->grad == of->grad) &&
	       (of->device < 0 || a->device == of->device) && (of->undefined < 0 || a->undefined == of->undefined) &&
	       (of->rank < 0 || a->rank == of->rank) && dims_cover(a->dims, of->dims, of->rank) &&
	       dims_cover(a->strides, of->strides, of->rank);
}

static bool
tuple_is_subtype(Cx *cx, const Type *a, const Type *of)
{
	if (a->n != of->n || (of->name && (!a->name || strcmp(a->name, of->name) != 0)) ||
	    (of->field && !fields_equal(a, of)))
		return false;
	for (int i = 0; i < a->n; i++)
		if (!type_is_subtype(cx, a->of[i], of->of[i]))
			return false;
	return true;
}

/* Whether f implements the interface's method m. Arguments are contravariant, results covariant. self is not
 * compared. */
static bool
method_fits(Cx *cx, const Function *f, const Function *m)
{
	const Schema *a = f->schema, *b = m->schema;

	if (!a || !b || a->nargs != b->nargs || a->nrets != b->nrets)
		return false;
	for (int i = 1; i < a->nargs; i++)
		if (strcmp(a->args[i].name, b->args[i].name) != 0 ||
		    !type_is_subtype(cx, b->args[i].type, a->args[i].type))
			return false;
	for (int i = 0; i < a->nrets; i++)
		if (!type_is_subtype(cx, a->rets[i].type, b->rets[i].type))
			return false;
	return true;
}

static bool
class_implements(Cx *cx, const Type *t, const Type *interface)
{
	const ClassInfo *c = class_info(t), *in = class_info(interface);

	if (in->module && !c->module)
		return false;
	for (int i = 0; i < in->methods.n; i++) {
		const char *dot = strrchr(in->methods.at[i]->name, '.');
		Function *f = class_method(c, dot ? dot + 1 : in->methods.at[i]->name);

		if (!f || !method_fits(cx, f, in->methods.at[i]))
			return false;
	}
	return true;
}

static bool
all_subtypes(Cx *cx, const Type *a, const Type *of)
{
	for (int i = 0; i < a->n; i++)
		if (!type_is_subtype(cx, a->of[i], of))
			return false;
	return true;
}

static bool
any_supertype(Cx *cx, const Type *a, const Type *of)
{
	for (int i = 0; i < of->n; i++)
		if (type_is_subtype(cx, a, of->of[i]))
			return true;
	return false;
}

static bool
kind_is_subtype(Cx *cx, const Type *a, const Type *of)
{
	switch (of->kind) {
	case TYPE_TENSOR:
		return a->kind == TYPE_TENSOR && tensor_is_subtype(a->tensor, of->tensor);
	case TYPE_NUMBER:
		return a->kind == TYPE_INT || a->kind == TYPE_FLOAT || a->kind == TYPE_COMPLEX;
	case TYPE_ANY_LIST:
		return a->kind == TYPE_LIST;
	case TYPE_ANY_TUPLE:
		return a->kind == TYPE_TUPLE;
	case TYPE_ANY_CLASS:
		return a->kind == TYPE_CLASS;
	case TYPE_ANY_ENUM:
		return a->kind == TYPE_ENUM;
	case TYPE_LIST:
	case TYPE_DICT:
		return a->kind == of->kind && type_unshaped(cx, a) == type_unshaped(cx, of);
	case TYPE_FUTURE:
	case TYPE_AWAIT:
		return a->kind == of->kind && type_is_subtype(cx, a->of[0], of->of[0]);
	case TYPE_TUPLE:
		return a->kind == TYPE_TUPLE && tuple_is_subtype(cx, a, of);
	case TYPE_INTERFACE:
		return (a->kind == TYPE_CLASS || a->kind == TYPE_INTERFACE) && class_implements(cx, a, of);
	default:
		return false;
	}
}

bool
type_is_subtype(Cx *cx, const Type *a, const Type *of)
{
	if (a == of || of->kind == TYPE_ANY)
		return true;
	if (a->kind == TYPE_UNION)
		return all_subtypes(cx, a, of);
	if (a->kind == TYPE_OPTIONAL)
		return type_is_subtype(cx, a->of[0], of) && type_is_subtype(cx, &rt_type_none, of);
	if (of->kind == TYPE_OPTIONAL)
		return a->kind == TYPE_NONE || type_is_subtype(cx, a, of->of[0]);
	if (of->kind == TYPE_UNION)
		return any_supertype(cx, a, of);
	return kind_is_subtype(cx, a, of);
}

static const Type *
unify_tuples(Cx *cx, const Type *a, const Type *b)
{
	const Type **of;

	if (a->n != b->n)
		return 0;
	of = new(cx->arena, const Type *, a->n + 1);
	for (int i = 0; i < a->n; i++)
		if (!(of[i] = type_unify(cx, a->of[i], b->of[i])))
			return 0;
	return type_tuple(cx, of, a->n);
}

/* Returns the element type of an Optional, and other types unchanged. */
static const Type *
present(const Type *t)
{
	return t->kind == TYPE_OPTIONAL ? t->of[0] : t;
}

const Type *
type_unify(Cx *cx, const Type *a, const Type *b)
{
	const Type *u;

	if (type_is_subtype(cx, a, b))
		return b;
	if (type_is_subtype(cx, b, a))
		return a;
	if (a->kind == TYPE_TENSOR && b->kind == TYPE_TENSOR)
		return tensor_info_merge(cx, a, b);
	if (a->kind == TYPE_NONE || b->kind == TYPE_NONE)
		return type_optional(cx, a->kind == TYPE_NONE ? b : a);
	if (a->kind == TYPE_OPTIONAL || b->kind == TYPE_OPTIONAL) {
		u = type_unify(cx, present(a), present(b));
		return u ? type_optional(cx, u) : 0;
	}
	if (a->kind == TYPE_TUPLE && b->kind == TYPE_TUPLE)
		return unify_tuples(cx, a, b);
	if (a->kind == TYPE_FUTURE && b->kind == TYPE_FUTURE) {
		u = type_unify(cx, a->of[0], b->of[0]);
		return u ? type_future(cx, u) : 0;
	}
	a = type_unshaped(cx, a);
	b = type_unshaped(cx, b);
	return type_is_subtype(cx, a, b) ? b : type_is_subtype(cx, b, a) ? a : 0;
}

bool
type_is_mutable(const Type *t)
{
	switch (t->kind) {
	case TYPE_ANY: case TYPE_TENSOR: case TYPE_GENERATOR: case TYPE_STORAGE: case TYPE_LIST: case TYPE_DICT:
	case TYPE_FUTURE: case TYPE_AWAIT: case TYPE_CLASS: case TYPE_INTERFACE: case TYPE_VAR: case TYPE_ANY_LIST:
	case TYPE_ANY_TUPLE: case TYPE_ANY_CLASS: case TYPE_FUNCTION:
		return true;
	case TYPE_OPTIONAL: case TYPE_TUPLE: case TYPE_UNION:
		for (int i = 0; i < t->n; i++)
			if (type_is_mutable(t->of[i]))
				return true;
		return false;
	default:
		return false;
	}
}

bool
type_has_vars(const Type *t)
{
	if (t->kind == TYPE_VAR)
		return true;
	for (int i = 0; i < t->n; i++)
		if (type_has_vars(t->of[i]))
			return true;
	return false;
}

/* ---- facts of tensor types --------------------------------------------------------------------------- */

static int
merge_int(int a, int b)
{
	return a == b ? a : -1;
}

static const int64_t *
merge_dims(Cx *cx, const int64_t *a, const int64_t *b, int n)
{
	int64_t *r;

	if (!a || !b || n < 0)
		return 0;
	r = new(cx->arena, int64_t, n ? n : 1);
	for (int i = 0; i < n; i++)
		r[i] = a[i] == b[i] ? a[i] : DIM_ANY;
	return r;
}

const Type *
tensor_info_merge(Cx *cx, const Type *ta, const Type *tb)
{
	const TensorInfo *a = ta->tensor, *b = tb->tensor;
	TensorInfo r;

	if (!a || !b)
		return &rt_type_tensor;
	if (a->undefined == 1 || b->undefined == 1) {
		r = a->undefined == 1 ? *b : *a;
		r.undefined = merge_int(a->undefined, b->undefined);
		return type_tensor(cx, &r);
	}
	r.dtype = merge_int(a->dtype, b->dtype);
	r.grad = merge_int(a->grad, b->grad);
	r.device = merge_int(a->device, b->device);
	r.undefined = merge_int(a->undefined, b->undefined);
	r.rank = merge_int(a->rank, b->rank);
	r.dims = merge_dims(cx, a->dims, b->dims, r.rank);
	r.strides = merge_dims(cx, a->strides, b->strides, r.rank);
	return type_tensor(cx, &r);
}

const Type *
type_of_tensor(Cx *cx, const RtTensor *t)
{
	TensorInfo r = { .dtype = -1, .rank = -1, .grad = -1, .device = -1, .undefined = 1 };

	if (t && t->flags & RT_BITS) {
		/* Leaves facts of a view with RT_BITS unknown: passes would read its elements without conjugating or
		 * negating them. */
		r.undefined = 0;
	} else if (t) {
		r.dtype = t->dtype;
		r.rank = t->ndim;
		r.dims = t->dims;
		r.strides = t->strides;
		r.grad = (t->flags & RT_REQUIRES_GRAD) != 0;
		r.device = 0;
		r.undefined = 0;
	}
	return type_tensor(cx, &r);
}

static const Type *
type_of_tuple(Cx *cx, const RtTuple *t)
{
	const Type **of = new(cx->arena, const Type *, t->n + 1);

	for (int64_t i = 0; i < t->n; i++)
		of[i] = type_of_value(cx, t->v[i]);
	if (t->type)
		return type_named_tuple(cx, t->type->name, t->type->field, of, (int)t->n);
	return type_tuple(cx, of, (int)t->n);
}

const Type *
type_of_value(Cx *cx, IValue v)
{
	switch ((RtTag)v.tag) {
	case RT_NONE:      return &rt_type_none;
	case RT_INT:       return &rt_type_int;
	case RT_DOUBLE:    return &rt_type_float;
	case RT_BOOL:      return &rt_type_bool;
	case RT_DEVICE:    return &rt_type_device;
	case RT_TENSOR:    return type_of_tensor(cx, v.u.t);
	case RT_STR:       return &rt_type_str;
	case RT_LIST:      return type_list(cx, type_canonical(cx, v.u.list->elem));
	case RT_DICT:      return type_dict(cx, type_canonical(cx, v.u.dict->key), type_canonical(cx, v.u.dict->value));
	case RT_TUPLE:     return type_of_tuple(cx, v.u.tuple);
	case RT_OBJECT:    return v.u.obj->cls->type;
	case RT_ENUM:      return v.u.en->type;
	case RT_COMPLEX:   return &rt_type_complex;
	case RT_GENERATOR: return &rt_type_generator;
	case RT_STORAGE:   return &rt_type_storage;
	case RT_FUTURE:
	case RT_FUNCTION:  break;
	}
	return &rt_type_any;
}
