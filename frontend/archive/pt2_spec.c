/*
 * Pytrees: how the flat arguments and results of a program were nested in Python.
 *
 * The method gets a TorchScript signature with the same nesting, so that arguments have the same keys as those of any
 * other model. A list whose elements have one type becomes a List, a dict a Dict. Other lists and dicts, and those that
 * contain a None, become a tuple or a NamedTuple, which has the same keys. In results, lists of numbers become tuples,
 * so that each number has its own key. Dicts in results have a Union as the type of their values. A dict with int and
 * text keys does not become a Dict. A class that a library registered becomes a dict if it names its values, as
 * transformers' results do, else a tuple.
 */
#include "pt2.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading ----------------------------------------------------------------------------------------------- */

static bool
is_dict(const char *type)
{
	return !strcmp(type, "builtins.dict") || !strcmp(type, "collections.OrderedDict") ||
	       !strcmp(type, "torch.fx.immutable_collections.immutable_dict");
}

static bool
is_list(const char *type)
{
	return !strcmp(type, "builtins.list") || !strcmp(type, "torch.fx.immutable_collections.immutable_list");
}

static void
read_keys(const JsonDoc *d, const Json *keys, Spec *s)
{
	Map seen = { .arena = d->cx->arena };
	int i = 0, nnumber = 0;

	if (json_count(keys) != s->n)
		json_bad(d, "a dict has %d values and %d keys", s->n, json_count(keys));
	s->key = new(d->cx->arena, const char *, s->n + 1);
	for JSON_EACH(k, keys) {
		nnumber += json_is_number(k);
		s->key[i++] = !json_is_number(k) ? json_text_of(d, k, "key") :
			arena_printf(d->cx->arena, "%lld", (long long)json_int(d, k, "key"));
	}
	s->mixed = nnumber && nnumber < s->n;
	s->numbered = nnumber && !s->mixed;
	for (i = 0; i < s->n; i++) {
		if (map_get(&seen, s->key[i]))
			json_bad(d, "a dict has the key '%s' twice", s->key[i]);
		map_put(&seen, s->key[i], s);
	}
}

static const Json *
keys_of(const JsonDoc *d, const Json *dict)
{
	const char *context = json_text(d, dict, "context");

	return json_parse(d, context, (int64_t)strlen(context));
}

/* Returns the names of n values in the context of a registered class. It is a list of names (transformers'
 * ModelOutput), or a pair of that list and the names of fields that were None (register_dataclass). Null if there are
 * none. */
static const Json *
names_of(const JsonDoc *d, const Json *node, int n)
{
	const char *context = json_is_text(json_get(node, "context")) ? json_text(d, node, "context") : "";
	const Json *names = *context == '[' ? json_parse(d, context, (int64_t)strlen(context)) : NULL;

	if (json_count(names) == 2 && json_first(json_first(names)))
		names = json_first(names);
	if (!n || json_count(names) != n)
		return NULL;
	for JSON_EACH(k, names)
		if (!json_is_text(k))
			return NULL;
	return names;
}

static Spec *
read_node(const JsonDoc *d, const Json *node, int *nleaf)
{
	Spec *s = new(d->cx->arena, Spec, 1);
	const char *type = json_text_or(d, node, "type", NULL);
	const Json *kids = json_get(node, "children_spec"), *keys;
	int i = 0;

	if (!type) {
		++*nleaf;
		return s;
	}
	s->n = json_count(kids);
	s->kid = new(d->cx->arena, Spec *, s->n + 1);
	keys = is_dict(type) ? keys_of(d, node) : names_of(d, node, s->n);
	s->kind = is_list(type) ? SPEC_LIST : keys ? SPEC_DICT : SPEC_TUPLE;
	if (s->kind == SPEC_DICT)
		read_keys(d, keys, s);
	for JSON_EACH(k, kids)
		s->kid[i++] = read_node(d, k, nleaf);
	return s;
}

Spec *
spec_parse(const JsonDoc *d, const char *text, int *nleaf)
{
	const Json *all = json_parse(d, text, (int64_t)strlen(text)), *version = json_first(all);

	if (json_count(all) != 2 || !json_is_number(version))
		json_bad(d, "a tree of arguments or results is described in an unknown way");
	if (json_int(d, version, "version") != 1)
		fail_lacks(d->cx, (Range){ 0 }, "%s: Kiln lacks version %lld of trees of arguments (known is 1)",
			   d->name, (long long)json_int(d, version, "version"));
	*nleaf = 0;
	return read_node(d, json_next(version), nleaf);
}

/* ---- types --------------------------------------------------------------------------------------------------- */

static const Type *
container_type(Cx *cx, Spec *s, const char *name, bool result)
{
	const Type **of = new(cx->arena, const Type *, s->n + 1), *one = s->n ? s->kid[0]->type : NULL;

	for (int i = 0; i < s->n; i++) {
		of[i] = s->kid[i]->type;
		if (of[i] != one || of[i]->kind == TYPE_OPTIONAL || of[i]->kind == TYPE_NONE)
			one = NULL;
	}
	if (s->kind == SPEC_LIST && one && (!result || one->kind >= TYPE_LIST || one->kind == TYPE_TENSOR))
		return type_list(cx, one);
	if (s->kind == SPEC_DICT && one && !s->mixed)
		return type_dict(cx, s->numbered ? &rt_type_int : &rt_type_str, one);
	if (s->kind == SPEC_DICT && s->n && result && !s->mixed)
		return type_dict(cx, s->numbered ? &rt_type_int : &rt_type_str, type_union(cx, of, s->n));
	if (s->kind == SPEC_DICT && s->n)
		return type_named_tuple(cx, name, s->key, of, s->n);
	return type_tuple(cx, of, s->n);
}

const Type *
spec_type(Cx *cx, Spec *s, const Type *const **leaf, const char *name, bool result)
{
	if (s->kind == SPEC_LEAF)
		return s->type = *(*leaf)++;
	for (int i = 0; i < s->n; i++)
		spec_type(cx, s->kid[i], leaf, arena_printf(cx->arena, "%s_%d", name, i), result);
	return s->type = container_type(cx, s, name, result);
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static Value *
emit_value(Graph *g, const char *kind, Range at, int n, Value *const *in)
{
	return graph_emit(g, kind, at, n, in, 1)->out[0];
}

static Value *
dict_key(Graph *g, const Spec *s, int i, Range at)
{
	if (s->numbered)
		return graph_constant(g, rt_int(strtoll(s->key[i], NULL, 10)), at);
	return graph_constant(g, value_str(g->cx, s->key[i], -1), at);
}

/* Emits a check that a dict has as many keys as the spec. */
static void
check_length(Graph *g, const Spec *s, Value *v, Range at)
{
	NamedValue len = { .v = v, .at = at }, ne[2] = { { .at = at }, { .at = at } };
	Value *raise[2];
	Node *n;

	ne[0].v = emit_builtin(g, "aten::len", at, &len, 1, 0);
	ne[1].v = graph_constant(g, rt_int(s->n), at);
	n = graph_insert(g, if_new(g, at, emit_builtin(g, "aten::ne", at, ne, 2, 0), 0));
	graph_set_insert_end(g, if_then(n));
	raise[0] = graph_constant(g, value_str(g->cx, "ValueError: Trying to flatten user inputs with exported input "
		"tree spec: the dict has other keys", -1), at);
	raise[1] = graph_constant_typed(g, rt_none(), &rt_type_none, at);
	graph_emit(g, "prim::RaiseException", at, 2, raise, 0);
	graph_set_insert_end(g, n->block);
}

static void
unpack_dict(Graph *g, const Spec *s, Value *v, Range at, Value **out)
{
	check_length(g, s, v, at);
	for (int i = 0; i < s->n; i++) {
		NamedValue in[2] = { { .v = v, .at = at }, { .at = at } };

		in[1].v = dict_key(g, s, i, at);
		out[i] = emit_builtin(g, "aten::__getitem__", at, in, 2, 0);
	}
}

void
spec_unpack(Graph *g, const Spec *s, Value *v, Range at, Value ***leaf)
{
	Value **part;

	RT_ASSERT(s->type);
	if (s->kind == SPEC_LEAF) {
		*(*leaf)++ = v;
		return;
	}
	part = new(g->arena, Value *, s->n + 1);
	if (s->type->kind == TYPE_DICT) {
		unpack_dict(g, s, v, at, part);
	} else if (s->n) {
		Node *n = graph_emit(g, s->type->kind == TYPE_LIST ? "prim::ListUnpack" : "prim::TupleUnpack", at, 1,
				     &v, s->n);

		for (int i = 0; i < s->n; i++) {
			part[i] = n->out[i];
			part[i]->type = s->kid[i]->type;
		}
	}
	for (int i = 0; i < s->n; i++)
		spec_unpack(g, s->kid[i], part[i], at, leaf);
}

Value *
spec_pack(Graph *g, const Spec *s, Value *const **leaf, Range at)
{
	const bool dict = s->type->kind == TYPE_DICT;
	Value **in, *v;
	int n = 0;

	if (s->kind == SPEC_LEAF)
		return *(*leaf)++;
	in = new(g->arena, Value *, 2 * s->n + 1);
	for (int i = 0; i < s->n; i++) {
		if (dict)
			in[n++] = dict_key(g, s, i, at);
		in[n++] = spec_pack(g, s->kid[i], leaf, at);
	}
	v = emit_value(g, dict ? "prim::DictConstruct" : s->type->kind == TYPE_LIST ? "prim::ListConstruct" :
		"prim::TupleConstruct", at, n, in);
	v->type = s->type;
	return v;
}
