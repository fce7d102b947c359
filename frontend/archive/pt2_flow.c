/*
 * Higher-order operators: control flow, and regions.
 *
 * A sub-graph is a scope of its own. Its inputs are the operands, by position. It is inlined where it runs: into the
 * blocks of an If or a Loop or, for calls and regions, in place of the node.
 *
 *  cond(p, t, f, xs)              prim::If
 *  while_loop(c, f, xs, more)     prim::Loop, its condition at the start and at the end of the body
 *  map, scan, vmap                prim::Loop over the rows, whose results are collected in lists and stacked
 */
#include "../script/emit.h"
#include "pt2.h"

#include <string.h>

/* ---- inlined graphs -------------------------------------------------------------------------------------- */

static const Json *vmap_region(Builder *, const Json *node);
static void build_higher(Builder *, const Json *node);

/* Builds the nodes from `node` up to `until`. If `until` is null, builds all. The first node of a vmap region builds
 * the whole region. */
static void
build_nodes(Builder *b, const Json *node, const Json *until)
{
	while (node && node != until) {
		if (!strcmp(json_text(&b->exported->doc, node, "target"),
			    "torch._functorch.predispatch._vmap_increment_nesting")) {
			node = vmap_region(b, node);
		} else {
			if (!node_build(b, node))
				build_higher(b, node);
			node = json_next(node);
		}
	}
}

void
flow_nodes(Builder *b, const Json *graph)
{
	build_nodes(b, json_first(json_list(&b->exported->doc, graph, "nodes")), NULL);
}

static void
bind_operands(Builder *b, const Json *graph, Value *const *args, int n)
{
	const Json *inputs = json_list(&b->exported->doc, graph, "inputs");
	int i = 0;

	if (json_count(inputs) != n)
		fail(b->cx, b->at, "a sub-graph with %d inputs gets %d operands", json_count(inputs), n);
	for JSON_EACH(in, inputs) {
		const Json *is = json_union(&b->exported->doc, in, "input"), *name = json_get(is, "name");

		name = name ? name : json_get(is, "as_name");
		if (name)
			build_name(b, json_text_of(&b->exported->doc, name, "name"), args[i]);
		i++;
	}
}

static void
flow_inline(Builder *b, const Json *graph, Value *const *args, int n, Values *results)
{
	Names names = { .map.arena = b->cx->arena }, *outside = b->names;
	const Range at = b->at;

	cx_enter(b->cx, at);
	b->names = &names;
	bind_operands(b, graph, args, n);
	flow_nodes(b, graph);
	b->at = at;
	for JSON_EACH(o, json_list(&b->exported->doc, graph, "outputs")) {
		Value *v = arg_value(b, o, NULL);

		vec_push(b->cx->arena, results, v);
	}
	b->names = outside;
	cx_leave(b->cx);
}

/* ---- operands ----------------------------------------------------------------------------------------------- */

typedef struct Hop {
	const char *name;
	const Json *node;
	Vec(const Json *) arg;          /* Arguments, in order. */
} Hop;

static Hop
hop_of(Builder *b, const char *name, const Json *node)
{
	Hop h = { .name = name, .node = node };

	for JSON_EACH(i, json_get(node, "inputs"))
		vec_push(b->cx->arena, &h.arg, json_need(&b->exported->doc, i, "arg"));
	return h;
}

static const Json *
hop_arg(Builder *b, const Hop *h, int i)
{
	if (i >= h->arg.n)
		fail(b->cx, b->at, "%s has %d arguments", h->name, h->arg.n);
	return h->arg.at[i];
}

static const Json *
hop_graph(Builder *b, const Hop *h, int i)
{
	const Json *g = json_get(hop_arg(b, h, i), "as_graph");

	if (!g)
		fail(b->cx, b->at, "%s: argument %d is no graph", h->name, i);
	return json_need(&b->exported->doc, g, "graph");
}

/* Appends the operands from i on. */
static void
hop_rest(Builder *b, const Hop *h, int i, Values *out)
{
	for (; i < h->arg.n; i++) {
		Value *v = arg_value(b, h->arg.at[i], NULL);

		vec_push(b->cx->arena, out, v);
	}
}

static void
append(Builder *b, Values *to, const Value *const *from, int n)
{
	for (int i = 0; i < n; i++)
		vec_push(b->cx->arena, to, (Value *)from[i]);
}

static Value *
as_condition(Builder *b, Value *v)
{
	return v->type->kind == TYPE_BOOL ? v : build_op(b, "aten::Bool", 1, v);
}

/* ---- calls and regions ------------------------------------------------------------------------------------------ */

/* Binds the results of a region. PyTorch 2.6 names them as one list. */
static void
bind_region(Builder *b, const Json *outputs, const Values *results)
{
	const Json *list = json_count(outputs) == 1 ? json_get(json_first(outputs), "as_tensors") : NULL;
	bool tensors = list && json_count(list) == results->n;
	Value *one;

	for (int i = 0; i < results->n && tensors; i++)
		tensors = results->at[i]->type->kind == TYPE_TENSOR;
	if (!tensors) {
		node_bind(b, outputs, results->at, results->n);
		return;
	}
	one = build_list(b, &rt_type_tensor, results->at, results->n);
	node_bind(b, outputs, &one, 1);
}

/* Builds a call fn(graph, ..., operands). first: index of the first operand. */
static void
call_graph(Builder *b, const Hop *h, int graph, int first)
{
	Values args = { 0 }, results = { 0 };

	hop_rest(b, h, first, &args);
	flow_inline(b, hop_graph(b, h, graph), args.at, args.n, &results);
	bind_region(b, json_get(h->node, "outputs"), &results);
}

static void
invoke_subgraph(Builder *b, const Hop *h)
{
	call_graph(b, h, 0, 2);
}

static void
plain_call(Builder *b, const Hop *h)
{
	call_graph(b, h, 0, 1);
}

/* Builds a region like one under `with torch.no_grad()`. */
static void
set_grad_enabled(Builder *b, const Hop *h)
{
	const Json *on = json_get(hop_arg(b, h, 0), "as_bool");
	const Type *t;
	Node *scope, *init;
	Function *fn;

	if (!on)
		fail(b->cx, b->at, "%s lacks the bool that turns gradients on or off", h->name);
	t = unit_context(b->cx, b->exported->unit,
			 json_flag(&b->exported->doc, on, "as_bool") ? "enable_grad" : "no_grad");
	fn = class_method(class_info(t), "__init__");
	unit_call(b->cx, fn, b->at);
	scope = graph_emit(b->graph, "prim::CreateObject", b->at, 0, NULL, 1);
	scope->out[0]->type = t;
	init = graph_emit(b->graph, "prim::CallMethod", b->at, 1, scope->out, 1);
	init->out[0]->type = &rt_type_none;
	node_set_str(init, "name", "__init__");
	node_attr_new(init, "function", ATTR_FUNCTION)->fn = fn;
	unit_call(b->cx, class_method(class_info(t), "__enter__"), b->at);
	unit_call(b->cx, class_method(class_info(t), "__exit__"), b->at);
	graph_emit(b->graph, "prim::Enter", b->at, 1, scope->out, 1)->out[0]->type = &rt_type_none;
	call_graph(b, h, 1, 2);
	graph_emit(b->graph, "prim::Exit", b->at, 1, scope->out, 1)->out[0]->type = &rt_type_none;
}

/* Builds the region (device, dtype, enabled, cache, graph, ...). It has no effect if the device is not the CPU. */
static void
autocast(Builder *b, const Hop *h)
{
	const Json *device = json_get(hop_arg(b, h, 0), "as_string"),
		   *dtype = json_get(hop_arg(b, h, 1), "as_scalar_type");
	const Json *on = json_get(hop_arg(b, h, 2), "as_bool");
	const int outside = b->autocast;

	if (!device || !on)
		fail(b->cx, b->at, "%s lacks its device, or the bool that turns autocast on or off", h->name);
	if (!strcmp(json_text_of(&b->exported->doc, device, "device"), "cpu")) {
		b->autocast = !json_flag(&b->exported->doc, on, "enabled") ? -1
			: dtype ? dtype_of_export(json_int(&b->exported->doc, dtype, "dtype")) : RT_bf16;
	}
	call_graph(b, h, 4, 5);
	b->autocast = outside;
}

/* Builds the operator of with_effects(token, operator, ...). The token is not needed, since nodes with effects keep
 * their order. */
static void
with_effects(Builder *b, const Hop *h)
{
	const Json *op = json_get(hop_arg(b, h, 1), "as_operator"), *token = json_first(json_get(h->node, "inputs"));
	Values results = { 0 };
	Value *none = graph_constant_typed(b->graph, rt_none(), &rt_type_none, b->at);

	vec_push(b->cx->arena, &results, none);
	if (!op)
		op = json_get(hop_arg(b, h, 1), "as_string");
	if (!op)
		fail(b->cx, b->at, "%s names no operator", h->name);
	operator_call(b, json_text_of(&b->exported->doc, op, "operator"), json_next(json_next(token)), &results,
		json_get(h->node, "outputs"));
	node_bind(b, json_get(h->node, "outputs"), results.at, results.n);
}

static void
functional(Builder *b, const Hop *h)
{
	mutate_call(b, h->node, !strcmp(h->name, "auto_functionalized_v2"));
}

/* ---- cond -------------------------------------------------------------------------------------------------------- */

static void
cond(Builder *b, const Hop *h)
{
	Value *p = as_condition(b, arg_value(b, hop_arg(b, h, 0), NULL));
	Values args = { 0 }, branch[2] = { { 0 }, { 0 } };
	Node *n;

	arg_values(b, hop_arg(b, h, 3), &args);
	n = graph_insert(b->graph, if_new(b->graph, b->at, p, 0));
	for (int i = 0; i < 2; i++) {
		graph_set_insert_end(b->graph, n->sub[i]);
		flow_inline(b, hop_graph(b, h, 1 + i), args.at, args.n, &branch[i]);
	}
	graph_set_insert_end(b->graph, n->block);
	if (branch[0].n != branch[1].n)
		fail(b->cx, b->at, "the branches of cond have %d and %d results", branch[0].n, branch[1].n);
	for (int i = 0; i < branch[0].n; i++) {
		const Type *t = type_unify(b->cx, branch[0].at[i]->type, branch[1].at[i]->type);

		if (!t)
			fail(b->cx, b->at, "result %d of cond is a %s or a %s", i,
			     type_python(b->cx, branch[0].at[i]->type), type_python(b->cx, branch[1].at[i]->type));
		block_add_output(n->sub[0], branch[0].at[i]);
		block_add_output(n->sub[1], branch[1].at[i]);
		node_add_output(n, t);
	}
	node_bind(b, json_get(h->node, "outputs"), n->out, n->nout);
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* Makes a loop with carried values and begins to build its body. Appends their values in the body, tensors of any rank,
 * to `inside`. */
static Node *
begin_loop(Builder *b, Value *most, Value *go, const Values *carried, Values *inside)
{
	Node *n = graph_insert(b->graph, loop_new(b->graph, b->at, most, go));

	for (int i = 0; i < carried->n; i++) {
		Value *in;

		loop_add_carried(n, carried->at[i], NULL);
		in = loop_body(n)->param->out[1 + i];
		in->type = n->out[i]->type = type_unshaped(b->cx, in->type);
		vec_push(b->cx->arena, inside, in);
	}
	graph_set_insert_end(b->graph, loop_body(n));
	return n;
}

static void
end_loop(Builder *b, Node *n, Value *go, Value *const *next)
{
	block_add_output(loop_body(n), go);
	for (int i = 0; i < n->nout; i++) {
		if (!type_is_subtype(b->cx, next[i]->type, n->out[i]->type))
			fail(b->cx, b->at, "value %d of a loop is a %s before it and a %s in it", i,
			     type_python(b->cx, n->out[i]->type), type_python(b->cx, next[i]->type));
		block_add_output(loop_body(n), next[i]);
	}
	graph_set_insert_end(b->graph, n->block);
}

static Value *
loop_goes_on(Builder *b, const Hop *h, const Values *carried, const Values *more)
{
	Values args = { 0 }, results = { 0 };

	append(b, &args, (const Value *const *)carried->at, carried->n);
	append(b, &args, (const Value *const *)more->at, more->n);
	flow_inline(b, hop_graph(b, h, 0), args.at, args.n, &results);
	if (results.n != 1)
		fail(b->cx, b->at, "the condition of a loop has %d results", results.n);
	return as_condition(b, results.at[0]);
}

static void
while_loop(Builder *b, const Hop *h)
{
	Values carried = { 0 }, more = { 0 }, inside = { 0 }, args = { 0 }, next = { 0 };
	Value *go;
	Node *n;

	arg_values(b, hop_arg(b, h, 2), &carried);
	arg_values(b, hop_arg(b, h, 3), &more);
	go = loop_goes_on(b, h, &carried, &more);
	n = begin_loop(b, build_int(b, INT64_MAX), go, &carried, &inside);
	append(b, &args, (const Value *const *)inside.at, inside.n);
	append(b, &args, (const Value *const *)more.at, more.n);
	flow_inline(b, hop_graph(b, h, 1), args.at, args.n, &next);
	if (next.n != carried.n)
		fail(b->cx, b->at, "the body of a loop over %d values has %d results", carried.n, next.n);
	go = loop_goes_on(b, h, &next, &more);
	end_loop(b, n, go, next.at);
	node_bind(b, json_get(h->node, "outputs"), n->out, n->nout);
}

/* ---- loops over rows --------------------------------------------------------------------------------------------- */

static void
empty_lists(Builder *b, int n, Values *out)
{
	for (int i = 0; i < n; i++) {
		Value *l = build_list(b, &rt_type_tensor, NULL, 0);

		vec_push(b->cx->arena, out, l);
	}
}

static Value *
stacked(Builder *b, Value *list, int64_t dim)
{
	return build_op(b, "aten::stack", 2, list, build_int(b, dim));
}

/* Emits the loop for f(carry.., row of each x.., more..) -> carry.., y... Appends the final carries and stacked ys to
 * `results`. */
static void
over_rows(Builder *b, const Json *f, const Values *init, const Values *xs, const Values *more, Values *results)
{
	const int ny = json_count(json_list(&b->exported->doc, f, "outputs")) - init->n;
	Values inside = { 0 }, next = { 0 }, lists = { 0 };
	Node *n;

	if (!xs->n || ny < 0)
		fail(b->cx, b->at, "a loop over rows has no tensor to iterate over, or too few results");
	empty_lists(b, ny, &lists);
	n = begin_loop(b, build_op(b, "aten::size", 2, xs->at[0], build_int(b, 0)), build_bool(b, true), init, &inside);
	for (int i = 0; i < xs->n; i++) {
		Value *row = build_op(b, "aten::select", 3, xs->at[i], build_int(b, 0), loop_index(n));

		vec_push(b->cx->arena, &inside, row);
	}
	append(b, &inside, (const Value *const *)more->at, more->n);
	flow_inline(b, f, inside.at, inside.n, &next);
	for (int i = 0; i < ny; i++)
		build_op(b, "aten::append", 2, lists.at[i], next.at[init->n + i]);
	end_loop(b, n, build_bool(b, true), next.at);
	append(b, results, (const Value *const *)n->out, n->nout);
	for (int i = 0; i < ny; i++) {
		Value *y = stacked(b, lists.at[i], 0);

		vec_push(b->cx->arena, results, y);
	}
}

static void
map_rows(Builder *b, const Hop *h)
{
	Values none = { 0 }, xs = { 0 }, more = { 0 }, results = { 0 };

	arg_values(b, hop_arg(b, h, 1), &xs);
	arg_values(b, hop_arg(b, h, 2), &more);
	over_rows(b, hop_graph(b, h, 0), &none, &xs, &more, &results);
	node_bind(b, json_get(h->node, "outputs"), results.at, results.n);
}

static void
scan(Builder *b, const Hop *h)
{
	Values init = { 0 }, xs = { 0 }, more = { 0 }, results = { 0 };

	arg_values(b, hop_arg(b, h, 1), &init);
	arg_values(b, hop_arg(b, h, 2), &xs);
	arg_values(b, hop_arg(b, h, 3), &more);
	over_rows(b, hop_graph(b, h, 0), &init, &xs, &more, &results);
	node_bind(b, json_get(h->node, "outputs"), results.at, results.n);
}

/* ---- vmap -------------------------------------------------------------------------------------------------------- */

/*
 * State for a vmap region: the nodes between _vmap_increment_nesting(n, how) and _vmap_decrement_nesting(). Inside it
 * _add_batch_dim(x, dim, level) makes every row of x a value, and _remove_batch_dim(y, level, n, dim) stacks the rows
 * again. So the region becomes the body of a loop over the rows.
 */
typedef struct Vmap {
	Node *loop;
	Vec(const Json *) out;          /* The _remove_batch_dim nodes. */
	Values lists;
} Vmap;

static const char batch[] = "torch._functorch.predispatch.";

static const char *
batch_name(Builder *b, const Json *node)
{
	const char *target = json_text(&b->exported->doc, node, "target");

	return strncmp(target, batch, sizeof batch - 1) ? "" : target + sizeof batch - 1;
}

/* Returns the last node of the region that begins after `node`. Fails if there is none. */
static const Json *
region_end(Builder *b, const Json *node)
{
	for (int depth = 1; (node = json_next(node));) {
		depth += !strcmp(batch_name(b, node), "_vmap_increment_nesting");
		depth -= !strcmp(batch_name(b, node), "_vmap_decrement_nesting");
		if (!depth)
			return node;
	}
	fail(b->cx, b->at, "a region of vmap has no end");
}

static void
find_results(Builder *b, Vmap *v, const Json *from, const Json *end)
{
	int depth = 0;

	for (const Json *n = from; n != end; n = json_next(n)) {
		const char *name = batch_name(b, n);

		depth += !strcmp(name, "_vmap_increment_nesting");
		depth -= !strcmp(name, "_vmap_decrement_nesting");
		if (!depth && !strcmp(name, "_remove_batch_dim")) {
			vec_push(b->cx->arena, &v->out, n);
			empty_lists(b, 1, &v->lists);
		}
	}
}

/* Builds a node that belongs to vmap. Returns false for other nodes. */
static bool
batch_node(Builder *b, Vmap *v, const Json *node)
{
	const char *name = batch_name(b, node);
	Hop h = hop_of(b, name, node);

	b->at = text_range(b->exported, node);
	if (!strcmp(name, "_add_batch_dim")) {
		Value *x = arg_value(b, hop_arg(b, &h, 0), NULL), *dim = arg_value(b, hop_arg(b, &h, 1), NULL);
		Value *row = build_op(b, "aten::select", 3, x, dim, loop_index(v->loop));

		node_bind(b, json_get(node, "outputs"), &row, 1);
		return true;
	}
	for (int i = 0; i < v->out.n && !strcmp(name, "_remove_batch_dim"); i++)
		if (v->out.at[i] == node) {
			build_op(b, "aten::append", 2, v->lists.at[i], arg_value(b, hop_arg(b, &h, 0), NULL));
			return true;
		}
	return false;
}

static void
vmap_results(Builder *b, const Vmap *v)
{
	for (int i = 0; i < v->out.n; i++) {
		Hop h = hop_of(b, "_remove_batch_dim", v->out.at[i]);
		const Json *dim = json_get(hop_arg(b, &h, 3), "as_int");
		Value *y = stacked(b, v->lists.at[i], dim ? json_int(&b->exported->doc, dim, "dim") : 0);

		node_bind(b, json_get(v->out.at[i], "outputs"), &y, 1);
	}
}

/* Builds the region and returns the node after it. */
static const Json *
vmap_region(Builder *b, const Json *node)
{
	const Json *end = region_end(b, node), *from = json_next(node);
	Names names = { .map.arena = b->cx->arena, .up = b->names };
	Hop h = hop_of(b, "_vmap_increment_nesting", node);
	Values none = { 0 };
	Vmap v = { 0 };
	Value *n;

	cx_enter(b->cx, b->at);
	b->at = text_range(b->exported, node);
	n = arg_value(b, hop_arg(b, &h, 0), NULL);
	find_results(b, &v, from, end);
	v.loop = begin_loop(b, n, build_bool(b, true), &none, &none);
	b->names = &names;
	while (from != end) {
		const Json *next = json_next(from);

		if (!batch_node(b, &v, from)) {
			next = !strcmp(batch_name(b, from), "_vmap_increment_nesting") ? json_next(region_end(b, from))
										       : next;
			build_nodes(b, from, next);
		}
		from = next;
	}
	b->names = names.up;
	end_loop(b, v.loop, build_bool(b, true), NULL);
	vmap_results(b, &v);
	cx_leave(b->cx);
	return json_next(end);
}

/* ---- table of operators ------------------------------------------------------------------------------------------ */

typedef struct FlowRow { const char *name; void (*build)(Builder *, const Hop *); } FlowRow;

static const FlowRow rows[] = {
	{ "cond", cond },
	{ "while_loop", while_loop },
	{ "map_impl", map_rows },
	{ "map", map_rows },
	{ "scan", scan },
	{ "invoke_subgraph", invoke_subgraph },
	{ "wrap_with_set_grad_enabled", set_grad_enabled },
	{ "wrap_with_autocast", autocast },
	{ "strict_mode", plain_call },
	{ "wrap", plain_call },
	{ "tag_activation_checkpoint", plain_call },
	{ "wrap_activation_checkpoint", plain_call },
	{ "with_effects", with_effects },
	{ "auto_functionalized", functional },
	{ "auto_functionalized_v2", functional },
};

static void
build_higher(Builder *b, const Json *node)
{
	const char *name = json_text(&b->exported->doc, node, "target") + strlen("torch.ops.higher_order.");
	Hop h = hop_of(b, name, node);

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(rows[i].name, name)) {
			rows[i].build(b, &h);
			return;
		}
	pt2_lacks(b, "Kiln lacks the higher-order operator %s", name);
}
