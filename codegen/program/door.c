/*
 * Writes a library: tables for rt/door.c, and the functions of NAME.h that pass them to it.
 *
 * Arguments and results are leaves in the order of their keys, as rt/args.c reads and writes them. Their dtypes and
 * sizes are those of the first specialization. If another specialization accepts other values of a size, the size is
 * "any". Facts that no specialization knows come from the declared types.
 */
#include "door.h"

#include <string.h>

enum { TYPED_MOST = 16 };                /* largest number of parameters of a typed function, as in rt/door.c */

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

typedef struct Leaves {
	Arena *arena;
	DoorLeaves *to;
	bool open;               /* whether sizes other than those of the first specialization are accepted */
} Leaves;

static RtDtype
dtype_of_number(const RtType *t)
{
	return t->kind == TYPE_INT ? RT_i64 : t->kind == TYPE_FLOAT ? RT_f64 : t->kind == TYPE_BOOL ? RT_b8 : RT_c128;
}

static bool
is_number_type(const RtType *t)
{
	return t->kind == TYPE_INT || t->kind == TYPE_FLOAT || t->kind == TYPE_BOOL || t->kind == TYPE_COMPLEX;
}

static void
add_leaf(Leaves *l, DoorLeaf leaf)
{
	int64_t *any;

	if (leaf.kind == LEAF_TENSOR && l->open && leaf.ndim > 0) {
		any = new(l->arena, int64_t, leaf.ndim);
		for (int i = 0; i < leaf.ndim; i++)
			any[i] = -1;
		leaf.dims = any;
	}
	vec_push(l->arena, l->to, leaf);
}

static void
add_number(Leaves *l, const char *key, const RtType *t, int ndim)
{
	static const int64_t any[] = { -1 };

	vec_push(l->arena, l->to, ((DoorLeaf){ key, LEAF_TENSOR, dtype_of_number(t), ndim, any, t }));
}

/* Adds a leaf if a value of this type is always one array. Returns false if the value's parts are the leaves. */
static bool
add_whole(Leaves *l, const char *key, const RtType *t)
{
	switch (t->kind) {
	case TYPE_NONE:
		return true;
	case TYPE_STR: case TYPE_DEVICE:
		add_leaf(l, (DoorLeaf){ key, LEAF_TEXT, RT_NDTYPE, 0, NULL, t });
		return true;
	case TYPE_LIST:
		if (is_number_type(t->of[0]))
			add_number(l, key, t->of[0], 1);
		return is_number_type(t->of[0]);
	case TYPE_TUPLE: case TYPE_DICT: case TYPE_CLASS: case TYPE_OPTIONAL:
		return false;
	case TYPE_INT: case TYPE_FLOAT: case TYPE_BOOL: case TYPE_COMPLEX:
		add_number(l, key, t, 0);
		return true;
	default:
		add_leaf(l, (DoorLeaf){ key, LEAF_ANY, RT_NDTYPE, -1, NULL, t });
		return true;
	}
}

static void
add_tensor(Leaves *l, const char *key, const RtType *t, const TensorInfo *info)
{
	int64_t *dims = new(l->arena, int64_t, info->rank + 1);

	for (int i = 0; i < info->rank; i++)
		dims[i] = info->dims[i] < 0 ? -1 : info->dims[i];
	vec_push(l->arena, l->to, ((DoorLeaf){ key, LEAF_TENSOR, info->dtype, info->rank, dims, t }));
}

static const char *
part_key(Leaves *l, const char *key, int i)
{
	return arena_printf(l->arena, "%s.%d", key, i);
}

static void
add_open(Leaves *l, const char *key, const RtType *t)
{
	vec_push(l->arena, l->to, ((DoorLeaf){ key, LEAF_OPEN, RT_NDTYPE, -1, NULL, t }));
}

/* Adds the leaves of an argument. Only a specialization knows the parts of a list. The parts of a dict are unknown. */
static void
add_argument(Leaves *l, const char *key, const RtType *t, const Pattern *p)
{
	if (p && p->form == PATTERN_TENSOR) {
		add_tensor(l, key, t, p->type->tensor);
		return;
	}
	if (add_whole(l, key, t))
		return;
	if (t->kind == TYPE_OPTIONAL)
		add_argument(l, key, t->of[0], p);
	for (int i = 0; t->kind == TYPE_TUPLE && i < t->n; i++)
		add_argument(l, part_key(l, key, i), t->of[i],
			     p && p->form == PATTERN_TUPLE ? &p->part[i] : NULL);
	for (int i = 0; t->kind == TYPE_CLASS && t->cls && i < t->cls->nslot; i++)
		add_argument(l, arena_printf(l->arena, "%s.%s", key, t->cls->slot[i]), t->cls->slot_type[i], NULL);
	for (int i = 0; t->kind == TYPE_LIST && p && p->form == PATTERN_LIST && i < p->n; i++)
		add_argument(l, part_key(l, key, i), t->of[0], &p->part[i]);
	if (t->kind == TYPE_DICT || (t->kind == TYPE_LIST && (!p || p->form != PATTERN_LIST)))
		add_open(l, key, t);
}

static const RtTensor *
tensor_of(Plan *p, const Value *v)
{
	const RtTensor *t = plan_tensor(p, v);
	const Known *k = known_at(p->known, v);

	return t ? t : k->is && k->v.tag == RT_TENSOR ? k->v.u.t : NULL;
}

/* Adds the leaves of a result. v is null if no specialization has it. */
static void
add_result(Leaves *l, const char *key, const RtType *t, Plan *p, const Value *v)
{
	const RtTensor *tensor = v ? tensor_of(p, v) : NULL;
	const bool tuple = v && node_is(v->node, prim_TupleConstruct);

	if (t->kind == TYPE_TENSOR && tensor) {
		add_leaf(l, (DoorLeaf){ key, LEAF_TENSOR, (RtDtype)tensor->dtype, tensor->ndim, tensor->dims, t });
		return;
	}
	if (add_whole(l, key, t))
		return;
	if (t->kind == TYPE_OPTIONAL)
		add_result(l, key, t->of[0], p, v);
	for (int i = 0; t->kind == TYPE_TUPLE && i < t->n; i++)
		add_result(l, part_key(l, key, i), t->of[i], p,
			   tuple && i < v->node->nin ? v->node->in[i] : NULL);
	for (int i = 0; t->kind == TYPE_CLASS && t->cls && i < t->cls->nslot; i++)
		add_result(l, arena_printf(l->arena, "%s.%s", key, t->cls->slot[i]), t->cls->slot_type[i], p, NULL);
	if (t->kind == TYPE_LIST || t->kind == TYPE_DICT)
		add_open(l, key, t);
}

/* Returns a method's first exact specialization. Sets *open to whether other specializations accept other sizes. */
static const DoorSpec *
first_of(const Emit *e, const char *method, bool *open, const DoorSpec **dynamic)
{
	const DoorSpec *found = NULL;
	int n = 0;

	*dynamic = NULL;
	for (int i = 0; i < e->door_specs.n; i++) {
		const DoorSpec *s = &e->door_specs.at[i];

		if (strcmp(s->method, method))
			continue;
		n++;
		if (s->spec->dynamic)
			*dynamic = s;
		else if (!found)
			found = s;
	}
	*open = n > 1 || *dynamic;
	return found ? found : *dynamic;
}

static void
add_door_method(Emit *e, Door *door, const EmitMethod *em)
{
	const Schema *s = em->fn->schema;
	DoorMethod m = { .name = em->name, .schema = s, .first = function_first(em->fn) };
	const DoorSpec *dynamic, *spec;
	Leaves in = { e->cx->arena, &m.in, false }, out = { e->cx->arena, &m.out, false };
	const Node *ret;

	spec = first_of(e, em->name, &out.open, &dynamic);
	for (int i = m.first; i < s->nargs; i++) {
		const DoorSpec *from = dynamic ? dynamic : spec;
		const Pattern *p = from ? &from->spec->pattern[i - m.first] : NULL;

		add_argument(&in, s->args[i].name, type_unshaped(e->cx, s->args[i].type), p);
	}
	ret = spec ? spec->plan->graph->top->ret : NULL;
	if (s->nrets == 1)
		add_result(&out, "out", type_unshaped(e->cx, s->rets[0].type), spec ? spec->plan : NULL,
			   ret && ret->nin == 1 ? ret->in[0] : NULL);
	for (int i = 0; s->nrets > 1 && i < s->nrets; i++)
		add_result(&out, arena_printf(e->cx->arena, "out.%d", i), type_unshaped(e->cx, s->rets[i].type), NULL,
			   NULL);
	vec_push(e->cx->arena, &door->method, m);
}

/* ---- functions of C types ---------------------------------------------------------------------------------------- */

bool
is_c_word(const char *name)
{
	static const char *const words[] = {
		"asm", "auto", "bool", "break", "case", "catch", "char", "class", "const", "continue", "default",
		"delete", "do", "double", "else", "enum", "explicit", "export", "extern", "false", "float", "for",
		"friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "operator", "private",
		"protected", "public", "register", "restrict", "return", "short", "signed", "sizeof", "static",
		"struct", "switch", "template", "this", "throw", "true", "try", "typedef", "typename", "union",
		"unsigned", "using", "virtual", "void", "volatile", "while", "and", "or", "not", "xor", "near", "far",
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(name, words[i]))
			return true;
	return false;
}

static const char *
parameter_name(Arena *a, const char *given)
{
	const char *name = out_name(a, "", given);

	if (name[0] >= '0' && name[0] <= '9')
		return arena_printf(a, "_%s", name);
	return is_c_word(name) || !strcmp(name, "m") || !strncmp(name, "out", 3) || !name[0] ?
		arena_printf(a, "%s_", name) : name;
}

/* Whether the tensor's memory is a C array of its elements. */
static bool
is_c_array(RtDtype dtype, int ndim, const int64_t *dims, const int64_t *strides)
{
	int64_t step = 1;

	if (rt_dtypes[dtype].category == 'Q')
		return false;
	for (int i = ndim - 1; i >= 0; i--) {
		if (dims[i] < 1 || (strides && dims[i] != 1 && strides[i] != step))
			return false;
		step *= dims[i];
	}
	return true;
}

static void
add_node(Cx *cx, DoorTyped *t, bool result, DoorNode node)
{
	if (result)
		vec_push(cx->arena, &t->result, node);
	else
		vec_push(cx->arena, &t->arg, node);
}

/* An argument or a part of one. */
/* n is the length of the list that contains the argument, and `at` its index in it. n is -1 if it is not in a list. */
typedef struct Place { const char *name, *key; int n, at; bool has_default, written; } Place;

static Place
place_part(Arena *a, const Place *of, bool list, int n, int i)
{
	return (Place){ arena_printf(a, "%s_%d", of->name, i), list ? of->key : arena_printf(a, "%s.%d", of->key, i),
			list ? n : -1, i, of->has_default, of->written };
}

static bool
typed_argument(Cx *cx, DoorTyped *t, const Place *at, const Type *type, const Pattern *p)
{
	const TensorInfo *info = p->form == PATTERN_TENSOR ? p->type->tensor : NULL;
	const bool list = p->form == PATTERN_LIST;

	while (type->kind == TYPE_OPTIONAL)
		type = type->of[0];
	if (p->form == PATTERN_VALUE && p->value.tag <= RT_BOOL) {
		add_node(cx, t, false, (DoorNode){ p->value, 0, NULL });
		vec_push(cx->arena, &t->number, ((DoorNumber){ at->key, p->value, at->n, at->n < 0 ? 0 : at->at,
							       at->has_default }));
		return true;
	}
	if ((list && type->kind == TYPE_LIST) || (p->form == PATTERN_TUPLE && type->kind == TYPE_TUPLE)) {
		add_node(cx, t, false, (DoorNode){ rt_ref(list ? RT_LIST : RT_TUPLE, NULL), p->n, type });
		for (int i = 0; i < p->n; i++) {
			const Place part = place_part(cx->arena, at, list && is_number_type(type->of[0]), p->n, i);

			if (!typed_argument(cx, t, &part, type->of[list ? 0 : i], &p->part[i]))
				return false;
		}
		return true;
	}
	if (!info || !is_c_array(info->dtype, info->rank, info->dims, info->strides)) {
		t->why = arena_printf(cx->arena, "argument '%s' of type %s is not one of these", at->key,
				      type_print(cx, info ? p->type : type));
		return false;
	}
	add_node(cx, t, false, (DoorNode){ rt_of(NULL), 0, NULL });
	vec_push(cx->arena, &t->in, ((DoorTensor){ parameter_name(cx->arena, at->name), at->key, info->dtype,
						   at->written, info->rank, info->dims }));
	return true;
}

/* Whether the node makes a tuple or list that is returned unchanged. */
static bool
is_fixed(const Node *n)
{
	for (int i = 0; node_is(n, prim_ListConstruct) && i < n->out[0]->uses.n; i++) {
		const Node *user = n->out[0]->uses.at[i].node;

		if (!node_is(user, prim_Return) && !node_makes_parts(user))
			return false;
	}
	return node_makes_parts(n);
}

/* Adds the parameters of v, which is a tensor or nested tuples and lists of tensors. Returns false if v is anything
 * else. */
static bool
typed_result(Cx *cx, DoorTyped *t, Plan *p, const Value *v, const char *name, const char *key)
{
	const RtTensor *r = v->type->kind == TYPE_TENSOR ? tensor_of(p, v) : NULL;
	const Node *tuple = v->node;

	if (is_fixed(tuple)) {
		add_node(cx, t, true, (DoorNode){ rt_ref(node_is(tuple, prim_ListConstruct) ? RT_LIST : RT_TUPLE,
							 NULL), tuple->nin, NULL });
		for (int i = 0; i < tuple->nin; i++)
			if (!typed_result(cx, t, p, tuple->in[i], arena_printf(cx->arena, "%s_%d", name, i),
					  arena_printf(cx->arena, "%s.%d", key, i)))
				return false;
		return true;
	}
	if (!r || !is_c_array((RtDtype)r->dtype, r->ndim, r->dims, NULL)) {
		t->why = arena_printf(cx->arena, "result '%s' of type %s is not one of these", key,
				      type_print(cx, v->type));
		return false;
	}
	add_node(cx, t, true, (DoorNode){ rt_of(NULL), 0, NULL });
	vec_push(cx->arena, &t->out, ((DoorTensor){ name, key, (RtDtype)r->dtype, true, r->ndim, r->dims }));
	return true;
}

static bool
typed_results(Cx *cx, DoorTyped *t, const DoorSpec *s)
{
	const Node *ret = s->plan->graph->top->ret;

	return ret->nin == 1 && s->fn->schema->nrets == 1 && !s->fn->gradient &&
	       typed_result(cx, t, s->plan, ret->in[0], "out", "out");
}

/* Whether the plan is a sequence of kernels, without calls of the runtime, guards, branches and loops. */
static bool
is_straight_line(const Plan *p)
{
	for NODES(n, p->graph->top)
		if (n->nsub && !node_is(n, prim_FusionGroup))
			return false;
	return !p->calls.n && !p->guards;
}

/* Returns the function's name for a method. The name differs from those of functions that every library has. */
static const char *
function_name(Arena *a, const Door *door, const char *method)
{
	static const char *const taken[] = { "open", "close", "reset", "call", "inputs", "outputs", "results", "result",
		"result_text", "result_none", "result_take", "set", "set_text", "state_get", "state_set", "error",
		"options", "leaf", "status", "bytes", "extra" };
	const char *name = out_name(a, "", method), *made;
	const size_t length = strlen(name);
	/* such as open_in; every plain function has a variant with this ending */
	bool is_taken = length > 3 && !strcmp(name + length - 3, "_in");
	int n = 0;

	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		is_taken |= !strcmp(name, taken[i]);
	if (is_taken)
		name = arena_printf(a, "method_%s", name);
	made = name;
	for (int i = 0; i < door->typed.n; i++)
		if (!strcmp(door->typed.at[i].name, made)) {
			made = arena_printf(a, "%s_%d", name, ++n);
			i = -1;
		}
	return made;
}

static void
add_typed(Emit *e, Door *door, const DoorSpec *s)
{
	const Schema *schema = s->fn->schema;
	DoorTyped t = { .spec = s, .plain = is_straight_line(s->plan) };
	int placed = 0;
	const int first = function_first(s->fn);
	bool good = !s->spec->dynamic && !s->spec->again && schema->nargs - first <= TYPED_MOST;

	for (int i = first; i < schema->nargs && good; i++) {
		const Place at = { schema->args[i].name, schema->args[i].name, -1, 0, schema->args[i].has_default,
				   s->written >> (i - first) & 1 };

		good = typed_argument(e->cx, &t, &at, schema->args[i].type, &s->spec->pattern[i - first]);
	}
	if (!good || !typed_results(e->cx, &t, s) || t.in.n > TYPED_MOST || t.out.n > TYPED_MOST) {
		door->why = t.why ? t.why : arena_printf(e->cx->arena,
			"there are more than %d arguments or results", TYPED_MOST);
		return;
	}
	for (int i = 0; i < s->plan->buffers.n; i++)
		placed += s->plan->buffers.at[i]->home == HOME_INPUT;
	t.direct = placed == t.in.n ? s->plan->direct : NULL;
	while (t.method < door->method.n && strcmp(door->method.at[t.method].name, s->method))
		t.method++;
	t.name = function_name(e->cx->arena, door, s->method);
	vec_push(e->cx->arena, &door->typed, t);
}

Door *
door_make(Emit *e, const EmitMethod *m, int n, const BuildOptions *o, const char *model)
{
	const char *slash = strrchr(o->out, '/');
	Door *door = new(e->cx->arena, Door, 1);

	*door = (Door){ .name = o->name, .model = model, .file = slash ? slash + 1 : o->out };
	for (int i = 0; i < n; i++)
		add_door_method(e, door, &m[i]);
	for (int i = 0; i < e->door_specs.n; i++)
		add_typed(e, door, &e->door_specs.at[i]);
	return door;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Returns the C name of an array of sizes. "0" if there are none. */
static const char *
sizes(Emit *e, int ndim, const int64_t *dims)
{
	return ndim > 0 ? emit_geometry(e, ndim, dims, NULL) : "0";
}

static const char *
dl_type(Arena *a, const DoorLeaf *leaf)
{
	const RtDtypeInfo *d = leaf->kind == LEAF_TENSOR ? &rt_dtypes[leaf->dtype] : NULL;
	const bool b16 = leaf->kind == LEAF_TENSOR && leaf->dtype == RT_bf16;

	if (!d)
		return leaf->kind == LEAF_TEXT ? "{ 255, 0, 0 }" : "{ 0, 0, 0 }";
	return arena_printf(a, "{ %d, %d, 1 }", d->category == 'B' ? 6 : b16 ? 4 : d->category == 'C' ? 5 :
			    d->category == 'F' ? 2 : leaf->dtype == RT_u8 ? 1 : 0, d->bytes * 8);
}

/* Writes a table of leaves. Returns their number. */
static int
put_leaves(Emit *e, const char *what, int i, const DoorLeaves *l)
{
	Buf b = { 0 };
	int n = 0;

	for (int k = 0; k < l->n; k++) {
		const DoorLeaf *leaf = &l->at[k];

		if (leaf->kind == LEAF_OPEN)
			continue;
		n++;
		buf_puts(&b, "\t{ ");
		out_string(&b, leaf->key, (int64_t)strlen(leaf->key));
		buf_printf(&b, ", %s, %d, %s },\n", dl_type(e->cx->arena, leaf), leaf->ndim,
			   sizes(e, leaf->ndim, leaf->dims));
	}
	out_line(&e->tail, "static const RtLeaf door_%s_%d[] = {\n%s\t{ 0 }\n};", what, i, b.at ? b.at : "");
	buf_free(&b);
	return n;
}

static const char *
value_text(Arena *a, IValue v)
{
	static const char *const tags[] = { "RT_NONE", "RT_INT", "RT_DOUBLE", "RT_BOOL", "RT_DEVICE", "RT_TENSOR",
					    "RT_STR", "RT_LIST", "RT_DICT", "RT_TUPLE" };

	return v.tag == RT_DOUBLE ? arena_printf(a, "{ RT_DOUBLE, { .f = %a } }", v.u.f) :
	       arena_printf(a, "{ %s, { %lldLL } }", tags[v.tag], v.tag <= RT_BOOL ? (long long)v.u.i : 0LL);
}

static void
put_nodes(Emit *e, const char *what, int i, const DoorNode *node, int n)
{
	Buf b = { 0 };

	for (int k = 0; k < n; k++)
		buf_printf(&b, "\t{ %s, %d, %s },\n", value_text(e->cx->arena, node[k].value), node[k].n,
			   node[k].type ? emit_type(e, type_unshaped(e->cx, node[k].type)) : "0");
	out_line(&e->tail, "static const RtTypedNode typed_%s_%d[] = {\n%s\t{ { 0, { 0 } }, 0, 0 }\n};", what, i,
		 b.at ? b.at : "");
	buf_free(&b);
}

static int64_t
bytes_of(const DoorTensor *t)
{
	int64_t n = rt_dtypes[t->dtype].bytes;

	for (int i = 0; i < t->ndim; i++)
		n *= t->dims[i];
	return n;
}

static void
put_tensors(Emit *e, const char *what, int i, const DoorTensor *t, int n)
{
	out_line(&e->tail, "static const RtTypedTensor typed_%s_%d[] = {", what, i);
	for (int k = 0; k < n; k++)
		out_line(&e->tail, "\t{ RT_%s, %d, %d, %s, %lldLL },", rt_dtypes[t[k].dtype].name, t[k].written,
			 t[k].ndim, sizes(e, t[k].ndim, t[k].dims), (long long)bytes_of(&t[k]));
	out_line(&e->tail, "\t{ 0 }\n};");
}

static void
put_typed_tables(Emit *e, const Door *door)
{
	for (int i = 0; i < door->typed.n; i++) {
		const DoorTyped *t = &door->typed.at[i];

		put_tensors(e, "in", i, t->in.at, t->in.n);
		put_tensors(e, "out", i, t->out.at, t->out.n);
		put_nodes(e, "arg", i, t->arg.at, t->arg.n);
		put_nodes(e, "result", i, t->result.at, t->result.n);
	}
	out_line(&e->tail, "static const RtTyped typed[] = {");
	for (int i = 0; i < door->typed.n; i++) {
		const DoorTyped *t = &door->typed.at[i];

		out_line(&e->tail,
			 "\t{ %d, typed_in_%d, typed_out_%d, typed_arg_%d, typed_result_%d, %d, %d, %d, %s },",
			 t->method, i, i, i, i, t->in.n, t->out.n, t->plain, t->direct ? t->direct : "0");
	}
	out_line(&e->tail, "\t{ 0 }\n};");
}

static void
put_typed_functions(Emit *e, const Door *door, Texts *exported)
{
	for (int i = 0; i < door->typed.n; i++) {
		const DoorTyped *t = &door->typed.at[i];
		Buf head = { 0 }, in = { 0 }, out = { 0 };

		for (int k = 0; k < t->in.n; k++) {
			buf_printf(&head, ", const void *in%d", k);
			buf_printf(&in, " in%d,", k);
		}
		for (int k = 0; k < t->out.n; k++) {
			buf_printf(&head, ", void *out%d", k);
			buf_printf(&out, " out%d,", k);
		}
		out_line(&e->tail, "\nDOOR int\n%s_%s(RtDoor *d%s)\n{", door->name, t->name, head.at ? head.at : "");
		out_line(&e->tail, "\tconst void *const in[] = {%s 0 };\n\tvoid *const out[] = {%s 0 };\n",
			 in.at ? in.at : "", out.at ? out.at : "");
		out_line(&e->tail, "\treturn rt_door_typed(d, %d, in, out);\n}", i);
		vec_push(e->cx->arena, exported, arena_printf(e->cx->arena, "%s_%s", door->name, t->name));
		buf_free(&head);
		buf_free(&in);
		buf_free(&out);
	}
}

/* result type, name, parameters, and the runtime's call to which they are passed */
static const char *const functions[][4] = {
	{ "RtDoor *", "open", "const RtDoorOptions *o, char *why, size_t n", "rt_door_open(&door, o, why, n)" },
	{ "size_t", "bytes", "const RtDoorOptions *o", "rt_door_bytes(o)" },
	{ "RtDoor *", "open_in", "void *memory, size_t bytes, const RtDoorOptions *o, char *why, size_t n",
	  "rt_door_open_in(memory, bytes, o, why, n)" },
	{ "void", "close", "RtDoor *d", "rt_door_close(d)" },
	{ "int", "reset", "RtDoor *d", "rt_door_reset(d)" },
	{ "int", "inputs", "const char *method, const RtLeaf **at", "rt_door_leaves(&door, method, false, at)" },
	{ "int", "outputs", "const char *method, const RtLeaf **at", "rt_door_leaves(&door, method, true, at)" },
	{ "int", "call", "RtDoor *d, const char *method, RtDlTensor *const *in, int nin, RtDlTensor *out, int nout",
	  "rt_door_call(d, method, in, nin, out, nout)" },
	{ "int", "set", "RtDoor *d, const char *key, const RtDlTensor *t", "rt_door_set(d, key, t)" },
	{ "int", "set_text", "RtDoor *d, const char *key, const char *text", "rt_door_set_text(d, key, text)" },
	{ "int", "results", "RtDoor *d", "rt_door_results(d)" },
	{ "int", "result", "RtDoor *d, int i, const char **key, RtDlTensor *t", "rt_door_result(d, i, key, t)" },
	{ "const char *", "result_text", "RtDoor *d, int i", "rt_door_text(d, i)" },
	{ "const char *", "result_none", "RtDoor *d, int i, int *before", "rt_door_none(d, i, before)" },
	{ "RtDlManaged *", "result_take", "RtDoor *d, int i", "rt_door_take(d, i)" },
	{ "const void *", "extra", "RtDoor *d, const char *name, size_t *bytes", "rt_door_extra(d, name, bytes)" },
	{ "int", "state_get", "RtDoor *d, const char *name, RtDlTensor *t", "rt_door_state_get(d, name, t)" },
	{ "int", "state_set", "RtDoor *d, const char *name, const RtDlTensor *t", "rt_door_state_set(d, name, t)" },
	{ "const char *", "error", "RtDoor *d", "rt_door_error(d)" },
};

void
door_put(Emit *e, const Door *door, Texts *exported)
{
	Buf methods = { 0 };

	out_line(&e->tail, "\n#include \"rt/door.h\"\n#define DOOR __attribute__((visibility(\"default\")))\n");
	for (int i = 0; i < door->method.n; i++) {
		const int nin = put_leaves(e, "in", i, &door->method.at[i].in);
		const int nout = put_leaves(e, "out", i, &door->method.at[i].out);

		buf_printf(&methods, "\t{ door_in_%d, door_out_%d, %d, %d },\n", i, i, nin, nout);
	}
	out_line(&e->tail, "static const RtDoorMethod door_methods[] = {\n%s};", methods.at ? methods.at : "");
	buf_free(&methods);
	put_typed_tables(e, door);
	out_line(&e->tail, "static const RtDoorProgram door = { &program, door_methods, typed, %d };", door->typed.n);
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		const char *name = arena_printf(e->cx->arena, "%s_%s", door->name, functions[i][1]);

		out_line(&e->tail, "\nDOOR %s\n%s(%s)\n{\n\t%s%s;\n}", functions[i][0], name, functions[i][2],
			 strcmp(functions[i][0], "void") ? "return " : "", functions[i][3]);
		vec_push(e->cx->arena, exported, name);
	}
	put_typed_functions(e, door, exported);
}
