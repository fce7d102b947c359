/*
 * The operator registry: finds operators of the table in rt/ops/ops.h by name. A row is an operator's entry in this
 * table.
 *
 * A row refers to its kernel by address, so that a missing kernel fails to link. ops_init only reads the names in the
 * schemas' texts; op_schema parses a schema when it is first needed. Overloads of a name form a list in the order in
 * which PyTorch tries them (order.def). The first look-up of a name sorts its list.
 */
#include "ir.h"
#include "row.h"
#include "../rt/ops/kernel.h"
#include <string.h>

Schema *(*schema_parser)(Cx *, const char *text);
RtKernel *const *op_kernels;

/* ---- the rows ------------------------------------------------------------------------------------ */

#define MAP(id_, schema_, domain_, result_, value_, gradient_) RtKernel rt_##id_;
#define OP(id_, schema_, rule_, effect_, gradient_) RtKernel rt_##id_;
#define ALSO(id_, schema_, base_) RtKernel rt_##id_;
#include "../rt/ops/ops.h"

#define EFFECT_pure   EFFECT_PURE
#define EFFECT_random EFFECT_RANDOM
#define EFFECT_io     EFFECT_IO

#define RULE_meta     RULE_META
#define RULE_same     RULE_SAME
#define RULE_value    RULE_VALUE
#define RULE_data     RULE_DATA

/* __FILE__ is the name of the .def file, since the macro is expanded there. */
static const Op rows[] = {
#define MAP(id_, schema_, domain_, result_, value_, gradient_)                                                         \
	{ .id = #id_, .text = schema_, .form = OP_MAP, .family = __FILE__, .rule = RULE_MAP, .domain = #domain_,       \
	  .result = RT_MAP_##result_, .value = #value_, .gradient = gradient_, .kernel = rt_##id_ },
#define OP(id_, schema_, rule_, effect_, gradient_)                                                                    \
	{ .id = #id_, .text = schema_, .form = OP_KERNEL, .effect = EFFECT_##effect_, .family = __FILE__,              \
	  .rule = RULE_##rule_, .gradient = gradient_, .kernel = rt_##id_ },
#define BODY(id_, schema_, gradient_, body_)                                                                           \
	{ .id = #id_, .text = schema_, .form = OP_BODY, .family = __FILE__, .rule = RULE_BODY, .gradient = gradient_,  \
	  .body = body_ },
#define FORM(id_, schema_, base_, exact_)                                                                              \
	{ .id = #id_, .text = schema_, .form = OP_ALSO, .family = __FILE__, .rule = RULE_META, .gradient = "",         \
	  .base = #base_, .exact = exact_, .kernel = rt_##id_ },
#define ALSO(id_, schema_, base_) FORM(id_, schema_, base_, false)
#define OUT(id_, schema_, base_) FORM(id_, schema_, base_, true)
#include "../rt/ops/ops.h"
	{ .id = NULL },
};

static const uint8_t lowerings[NROW] = {
#define LOWER(id_, what_) [ROW_##id_] = LOWER_##what_,
#include "../rt/ops/ops.h"
};

static const uint8_t size_rules[NROW] = {
#define SIZES(id_, rule_) [ROW_##id_] = SIZES_##rule_,
#include "../rt/ops/ops.h"
};

/* Effects of BODY rows. The other rows have a column for it. */
static const uint8_t body_effects[NROW] = {
#define EFFECT(id_, effect_) [ROW_##id_] = EFFECT_##effect_,
#include "../rt/ops/ops.h"
};

typedef struct Trait { const char *name; OpTrait trait; } Trait;

static const Trait traits[] = {
#define TRAIT(space_, name_, what_) { #space_ "::" #name_, TRAIT_##what_ },
#include "../rt/ops/ops.h"
	{ NULL, 0 },
};

enum { NAME_MAX_BYTES = 63 };

typedef struct Order { const char *name, *overloads; } Order;

static const Order orders[] = {
#define ORDER(name_, overloads_) { name_, overloads_ },
#include "../rt/ops/order.def"
#undef ORDER
	{ NULL, NULL },
};

/* ---- the index ------------------------------------------------------------------------------------- */

typedef struct Name {
	Op         *first;      /* Overloads: at first in order of the rows, later sorted in PyTorch's order. */
	Op         *last;
	const char *order;      /* Overloads in PyTorch's order, from order.def. Null if it does not list the name. */
	bool        sorted;
} Name;

struct Ops {
	Op  *at;                /* Copy of the rows, in which schema and function are filled in. */
	int  n;
	Vec(Op *) user;         /* Operators of --op-schema. */
	Map  names;             /* Name, by operator such as "aten::add". */
	Map  ids;               /* Op by id, filled on first use. */
};

/* Returns the family of a row, which is the stem of its file: map for rt/ops/map.def. */
static const char *
family_of(Arena *a, const char *file)
{
	const char *slash = strrchr(file, '/'), *stem = slash ? slash + 1 : file, *dot = strrchr(stem, '.');

	return arena_strndup(a, stem, dot ? dot - stem : (int64_t)strlen(stem));
}

/* Reads name and overload: the text up to the arguments, as name[.overload]. */
static void
read_name(Arena *a, Op *op)
{
	const char *end = op->text + strcspn(op->text, "("), *colon = strstr(op->text, "::"), *dot;

	if (!colon || colon > end)
		BUG("operator %s has no name in its schema: %s", op->id, op->text);
	dot = memchr(colon, '.', end - colon);
	op->name = arena_strndup(a, op->text, (dot ? dot : end) - op->text);
	op->overload = dot ? arena_strndup(a, dot + 1, end - dot - 1) : "";
}

static void
index_op(Cx *cx, Op *op)
{
	Name *name;

	read_name(cx->arena, op);
	name = map_get(&cx->ops->names, op->name);
	if (!name) {
		name = new(cx->arena, Name, 1);
		map_put(&cx->ops->names, op->name, name);
	}
	if (name->last)
		name->last->next = op;
	else
		name->first = op;
	name->last = op;
	name->sorted = false;
}

void
ops_init(Cx *cx)
{
	struct Ops *ops = new(cx->arena, struct Ops, 1);
	const char *file = NULL, *family = NULL;

	if (cx->ops)
		return;
	cx->ops = ops;
	ops->names.arena = ops->ids.arena = cx->arena;
	ops->n = sizeof rows / sizeof *rows - 1;
	ops->at = new(cx->arena, Op, ops->n + 1);
	memcpy(ops->at, rows, sizeof rows);
	for (int i = 0; i < ops->n; i++) {
		Op *op = &ops->at[i];

		if (op->family != file) {
			file = op->family;
			family = family_of(cx->arena, file);
		}
		op->family = family;
		op->lowering = lowerings[i];
		op->sizes = op->form == OP_MAP && !size_rules[i] ? SIZES_BROADCAST : size_rules[i];
		if (op->form == OP_BODY)
			op->effect = (OpEffect)body_effects[i];
		op->row = i;
		op->kernel = op_kernels ? op_kernels[i] : op->kernel;
		index_op(cx, op);
	}
	for (const Trait *t = traits; t->name; t++) {
		const Name *name = map_get(&ops->names, t->name);

		if (!name)
			BUG("TRAIT names no operator: %s", t->name);
		for (Op *op = name->first; op; op = op->next)
			op->traits |= (uint64_t)1 << t->trait;
	}
	for (int i = 0; i < ops->n; i++)                     /* An in-place or out= form raises where its base does. */
		if (ops->at[i].form == OP_ALSO)
			ops->at[i].traits |= op_by_id(cx, ops->at[i].base)->traits & (uint64_t)1 << TRAIT_CHECKS_DATA;
	for (const Order *o = orders; o->name; o++) {
		Name *name = map_get(&ops->names, o->name);

		if (name)
			name->order = o->overloads;
	}
}

/* Moves the overload of that name from one list to the end of another. */
static void
take_overload(Op **from, Op ***to, const char *overload, int n)
{
	for (Op **p = from; *p; p = &(*p)->next) {
		Op *op = *p;

		if ((int)strlen(op->overload) != n || memcmp(op->overload, overload, n))
			continue;
		*p = op->next;
		op->next = NULL;
		**to = op;
		*to = &op->next;
		return;
	}
}

static void
sort_overloads(Name *name)
{
	Op *rest = name->first, **end = &name->first;

	name->sorted = true;
	if (!name->order)
		return;
	name->first = NULL;
	for (const char *s = name->order; *s;) {
		const int n = (int)strcspn(s, " ");

		take_overload(&rest, &end, s, n == 1 && *s == '-' ? 0 : n);
		s += n;
		s += *s == ' ';
	}
	*end = rest;
	for (name->last = name->first; name->last->next;)
		name->last = name->last->next;
}

/* ---- look-ups ------------------------------------------------------------------------------------------ */

Op *
op_first(Cx *cx, const char *name)
{
	Name *entry;

	ops_init(cx);
	entry = map_get(&cx->ops->names, name);
	if (!entry)
		return NULL;
	if (!entry->sorted) {
		sort_overloads(entry);
		for (Op *op = entry->first; op; op = op->next)
			if (op->form == OP_ALSO)
				op->effect = op_by_id(cx, op->base)->effect;
	}
	return entry->first;
}

Op *
op_find(Cx *cx, const char *name, const char *overload)
{
	Op *op = op_first(cx, name);

	while (op && strcmp(op->overload, overload))
		op = op->next;
	return op;
}

Op *
op_named(Cx *cx, const char *name)
{
	const char *space = strstr(name, "::"), *dot = strchr(space ? space : name, '.');

	return dot ? op_find(cx, arena_strndup(cx->arena, name, dot - name), dot + 1) : op_find(cx, name, "");
}

bool
op_lacks_overloads(Cx *cx, const char *name)
{
	Name *entry = op_first(cx, name) ? map_get(&cx->ops->names, name) : NULL;
	int have = 0, named = 0;

	if (!entry || !entry->order)
		return !entry;
	for (Op *op = entry->first; op; op = op->next)
		have++;
	for (const char *s = entry->order; *s; s += *s == ' ') {
		named++;
		s += strcspn(s, " ");
	}
	return have < named;
}

Op *
op_by_id(Cx *cx, const char *id)
{
	ops_init(cx);
	if (!cx->ops->ids.n)
		for (int i = 0; i < cx->ops->n; i++)
			map_put(&cx->ops->ids, cx->ops->at[i].id, &cx->ops->at[i]);
	return map_get(&cx->ops->ids, id);
}

Op *
op_body(Cx *cx, Op *op)
{
	if (op->form == OP_ALSO)
		op = op_by_id(cx, op->base);
	return op && op->form == OP_BODY ? op : NULL;
}

const char *
op_schema_text(Cx *cx, Op *op)
{
	const char *args;
	int n;

	if (op->form != OP_ALSO || strchr(op->text, '('))
		return op->text;
	args = strchr(op_by_id(cx, op->base)->text, '(') + 1;
	n = (int)(strstr(args, ") -> ") - args);
	if (!strcmp(op->text + strlen(op->text) - 3, "out"))
		op->text = arena_printf(cx->arena, "%s(%.*s, %sTensor(a!) out) -> Tensor(a!)", op->text, n, args,
					strstr(args, "*, ") ? "" : "*, ");
	else
		op->text = arena_printf(cx->arena, "%s(Tensor(a!)%.*s) -> Tensor(a!)", op->text,
					n - (int)strlen("Tensor"), args + strlen("Tensor"));
	return op->text;
}

Schema *
op_schema(Cx *cx, Op *op)
{
	if (!op->schema) {
		if (!schema_parser)
			BUG("no schema parser is set");
		op->schema = schema_parser(cx, op_schema_text(cx, op));
	}
	return op->schema;
}

static bool
holds_tensors(const Type *t)
{
	while (t->kind == TYPE_OPTIONAL || t->kind == TYPE_LIST)
		t = t->of[0];
	return t->kind == TYPE_TENSOR;
}

uint32_t
op_use(Cx *cx, Op *op)
{
	const Schema *s = op_schema(cx, op);
	const Op *body = op_body(cx, op);
	/* rt_<id> receives the results of the body before its own arguments. */
	const int first = body && body != op ? op_schema(cx, (Op *)body)->nrets : 0;
	const bool makes = op_has(op, TRAIT_MAKES_TENSOR);
	uint32_t use = 0;

	if (op_has(op, TRAIT_TAKES_BITS))
		return 0;
	for (int i = 0; i < s->nargs && first + i < 16; i++) {
		const AliasSet *a = s->args[i].alias;
		const bool list = s->args[i].type->kind == TYPE_LIST;

		if (!holds_tensors(s->args[i].type) && !(makes && list))
			continue;
		if (!a)
			use |= 1u << (first + i);
		else if (list ? a->inner && a->inner->write : a->write)
			use |= 0x10001u << (first + i);
	}
	return use;
}

int
op_count(Cx *cx)
{
	ops_init(cx);
	return cx->ops->n + cx->ops->user.n;
}

Op *
op_at(Cx *cx, int i)
{
	ops_init(cx);
	return i < cx->ops->n ? &cx->ops->at[i] : cx->ops->user.at[i - cx->ops->n];
}

/* The effect of the C function is unknown. So the operator is never evaluated at compile time or twice, and keeps its
 * order. A call without results is never removed. */
Op *
op_add_user(Cx *cx, const char *schema, const char *symbol, const char *body)
{
	Op *op = new(cx->arena, Op, 1);

	ops_init(cx);
	*op = (Op){ .id = symbol, .text = schema, .form = body ? OP_BODY : OP_USER, .effect = EFFECT_RANDOM,
		    .family = "user", .row = -1, .rule = body ? RULE_BODY : RULE_META, .gradient = "", .body = body };
	index_op(cx, op);
	vec_push(cx->arena, &cx->ops->user, op);
	if (!body && !op_schema(cx, op)->nrets)
		op->effect = EFFECT_IO;
	return op;
}

/* ---- suggestions ------------------------------------------------------------------------------------------ */

static int
least(int a, int b)
{
	return a < b ? a : b;
}

int
name_distance(const char *a, const char *b)
{
	int three[3][NAME_MAX_BYTES + 1], *two = three[0], *one = three[1], *row = three[2], *swap;
	const int na = (int)strlen(a), nb = (int)strlen(b);

	if (na > NAME_MAX_BYTES || nb > NAME_MAX_BYTES || na - nb > NAME_NEAR || nb - na > NAME_NEAR)
		return NAME_NEAR + 1;
	for (int j = 0; j <= nb; j++)
		row[j] = j;
	for (int i = 1; i <= na; i++) {
		swap = two, two = one, one = row, row = swap;
		row[0] = i;
		for (int j = 1; j <= nb; j++) {
			row[j] = least(one[j - 1] + (a[i - 1] != b[j - 1]), least(one[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], two[j - 2] + 1);
		}
	}
	return row[nb] * 3 > na + 1 ? NAME_NEAR + 1 : row[nb];
}

const char *
op_name_at(Cx *cx, int i)
{
	ops_init(cx);
	return i < cx->ops->names.n ? cx->ops->names.at[i].key : NULL;
}

const char *
op_suggest(Cx *cx, const char *name)
{
	const char *best = NULL, *known, *own = strstr(name, "::"), *theirs;
	int closest = NAME_NEAR + 1;

	for (int i = 0; own && (known = op_name_at(cx, i)); i++) {
		theirs = strstr(known, "::");
		if (theirs && theirs - known == own - name && !strncmp(known, name, (size_t)(own - name))) {
			const int d = name_distance(own + 2, theirs + 2);

			if (d < closest) {
				closest = d;
				best = known;
			}
		}
	}
	return best;
}
