/*
 * Makes a function that computes a method's result and its gradients.
 *
 *   forward(self, x)   --grad params,x   ->   forward(self, x, conv.weight = ..., out = None) -> (out, loss, (grads))
 *
 * The new function starts as a copy of the method's graph with more inputs.  One is added for each parameter, whose
 * default is the value in the archive.  One is added for the incoming gradient of each tensor of the result.  None
 * stands for ones.  The pass `lift` lets the graph read its parameters from these inputs, so that nothing folds or
 * packs them.  `autodiff` then adds the backward pass.  After that it is a function like any other: profiled,
 * specialized and planned.
 */
#include "../opt.h"

#include <string.h>

typedef struct Making {
	Cx       *cx;
	Gradient *gradient;
	Function *fn;              /* the new function */
	Vec(Arg)  args;
	Map       seen;            /* addresses of parameters that were found already */
} Making;

/* ---- parameters -------------------------------------------------------------------------------------- */

static const char *
joined(Cx *cx, const char *prefix, const char *name)
{
	return *prefix ? arena_printf(cx->arena, "%s.%s", prefix, name) : name;
}

/* Calls `found` once for each parameter, with the first name that it has in the order of the modules' attributes. */
static void
each_parameter(Making *m, const RtObject *o, const char *prefix, void (*found)(Making *, const char *, RtTensor *))
{
	const int depth = cx_enter_nested(m->cx, (Range){ 0 });

	for (int i = 0; i < o->cls->nslot; i++) {
		const IValue v = o->slot[i];
		const char *name = joined(m->cx, prefix, o->cls->slot[i]);
		const char *key = arena_printf(m->cx->arena, "%p", v.tag == RT_TENSOR ? (void *)v.u.t : NULL);

		if (v.tag == RT_OBJECT && class_info(type_canonical(m->cx, o->cls->slot_type[i]))) {
			each_parameter(m, v.u.obj, name, found);
		} else if (v.tag == RT_TENSOR && (v.u.t->flags & RT_PARAMETER) && !map_get(&m->seen, key)) {
			map_put(&m->seen, key, o->cls);
			found(m, name, v.u.t);
		}
	}
	cx_leave_nested(m->cx, depth);
}

static void
add_input(Making *m, const char *name, const Type *t, IValue deflt)
{
	Arg a = { .name = name, .type = t, .has_default = true, .deflt = deflt };

	graph_add_input(m->fn->graph, t, sym(m->cx, name));
	vec_push(m->cx->arena, &m->args, a);
}

static int
find_argument(const Making *m, const char *name)
{
	for (int i = function_first(m->fn); i < m->args.n; i++)
		if (!strcmp(m->args.at[i].name, name))
			return i;
	return -1;
}

/* Makes a parameter an input.  If an argument has the same name, the input's name starts with "self.". */
static void
lift_parameter(Making *m, const char *name, RtTensor *t)
{
	const char *key = find_argument(m, name) >= 0 ? arena_printf(m->cx->arena, "self.%s", name) : name;
	GradientInput in = { key, m->args.n, t };

	vec_push(m->cx->arena, &m->gradient->inputs, in);
	add_input(m, key, &rt_type_tensor, rt_retain(rt_of(t)));
}

static bool
is_trained(const RtTensor *t)
{
	return (t->flags & RT_REQUIRES_GRAD) &&
	       (rt_dtypes[t->dtype].category == 'F' || rt_dtypes[t->dtype].category == 'C');
}

static void
lift_if_trained(Making *m, const char *name, RtTensor *t)
{
	if (is_trained(t))
		lift_parameter(m, name, t);
}

typedef struct Wanted { const char *name; bool found; } Wanted;
static void
lift_if_called(Making *m, const char *name, RtTensor *t)
{
	Wanted *w = (Wanted *)m->gradient->wanted;

	if (strcmp(w->name, name) && (strncmp(w->name, "self.", 5) || strcmp(w->name + 5, name)))
		return;
	w->found = true;
	lift_parameter(m, name, t);
}

static void
want(Making *m, const char *name, IValue self)
{
	const int at = find_argument(m, name);
	Wanted w = { name, false };
	GradientInput in = { name, at, NULL };

	if (at >= 0 && strncmp(name, "self.", 5)) {
		vec_push(m->cx->arena, &m->gradient->inputs, in);
		return;
	}
	m->seen = (Map){ .arena = m->cx->arena };
	m->gradient->wanted = &w;
	if (self.tag == RT_OBJECT)
		each_parameter(m, self.u.obj, "", lift_if_called);
	m->gradient->wanted = NULL;
	if (!w.found)
		fail_status(m->cx, EXIT_USAGE, (Range){ 0 }, "--grad: %s has no argument and no parameter '%s'",
			    m->fn->name, name);
}

/* ---- the result ------------------------------------------------------------------------------------------ */

/* Adds an input for the incoming gradient of each tensor in the result.  Its name is the key of the result's array. */
static void
add_seeds(Making *m, const Type *t, const char *key)
{
	cx_enter(m->cx, (Range){ 0 });
	if (t->kind == TYPE_TENSOR)
		add_input(m, key, type_optional(m->cx, &rt_type_tensor), rt_none());
	for (int i = 0; t->kind == TYPE_TUPLE && i < t->n; i++)
		add_seeds(m, t->of[i],
			  t->field ? joined(m->cx, key, t->field[i]) : arena_printf(m->cx->arena, "%s.%d", key, i));
	cx_leave(m->cx);
}

/* Appends loss(out, target) to the graph.  The target becomes an argument of the function. */
static void
add_loss(Making *m, const char *loss)
{
	Graph *g = m->fn->graph;
	Value *out = g->top->ret->in[0];
	const char *op = !strcmp(loss, "cross_entropy") ? "aten::cross_entropy_loss" : !strcmp(loss, "mse") ?
		"aten::mse_loss" : !strcmp(loss, "nll") ? "aten::nll_loss" : !strcmp(loss, "l1") ? "aten::l1_loss" :
		!strcmp(loss, "bce") ? "aten::binary_cross_entropy" : !strcmp(loss, "bce_with_logits") ?
		"aten::binary_cross_entropy_with_logits" : NULL;
	NamedValue args[2] = { { .v = out }, { 0 } };
	Arg target = { .name = "target", .type = &rt_type_tensor };

	if (!op)
		fail_status(m->cx, EXIT_USAGE, (Range){ 0 },
			    "--loss wants cross_entropy, nll, mse, l1, bce or bce_with_logits, not '%s'", loss);
	if (out->type->kind != TYPE_TENSOR)
		fail_status(m->cx, EXIT_USAGE, (Range){ 0 }, "--loss: %s does not return one tensor", m->fn->name);
	if (find_argument(m, "target") >= 0)
		fail_status(m->cx, EXIT_USAGE, (Range){ 0 }, "--loss: %s has an argument 'target' already",
			    m->fn->name);
	args[1].v = graph_add_input(g, &rt_type_tensor, sym(m->cx, "target"));
	vec_push(m->cx->arena, &m->args, target);
	graph_set_insert_end(g, g->top);
	m->gradient->loss = emit_builtin(g, op, g->top->ret->at, args, 2, 0)->type != NULL;
	block_add_output(g->top, g->at_node->prev->out[0]);
}

static const Type *
result_type(Making *m, const Type *out)
{
	const int n = m->gradient->inputs.n;
	const Type **grads = new(m->cx->arena, const Type *, n + 1), *parts[3],
		*optional = type_optional(m->cx, &rt_type_tensor);

	for (int i = 0; i < n; i++)
		grads[i] = optional;
	parts[0] = out;
	parts[1] = optional;
	parts[2] = type_tuple(m->cx, grads, n);
	return type_tuple(m->cx, parts, 3);
}

/* ---- the function ------------------------------------------------------------------------------------------ */

static Function *
copy_function(Cx *cx, Function *fn, const Gradient *d)
{
	Function *copy = new(cx->arena, Function, 1);

	function_graph(cx, fn);
	*copy = *fn;
	copy->graph = graph_clone(fn->graph, NULL);
	copy->prepared = NULL;
	copy->code = NULL;
	copy->gradient = d;
	return copy;
}

static void
want_all(Making *m, const char *names, IValue self)
{
	char *text = arena_strdup(m->cx->arena, names), *state = NULL;

	for (char *name = strtok_r(text, ",", &state); name; name = strtok_r(NULL, ",", &state)) {
		m->seen = (Map){ .arena = m->cx->arena };
		if (!strcmp(name, "params") && self.tag == RT_OBJECT)
			each_parameter(m, self.u.obj, "", lift_if_trained);
		else
			want(m, name, self);
	}
	if (!m->gradient->inputs.n)
		fail_status(m->cx, EXIT_USAGE, (Range){ 0 }, "--grad %s: %s has no tensor to differentiate by", names,
			    m->fn->name);
}

Function *
gradient_function(Cx *cx, Function *fn, IValue self, const char *names, const char *loss)
{
	Gradient *d = new(cx->arena, Gradient, 1);
	Making m = { .cx = cx, .gradient = d };
	Schema *s = new(cx->arena, Schema, 1);
	const Type *out;

	m.fn = copy_function(cx, fn, d);
	for (int i = 0; i < fn->schema->nargs; i++)
		vec_push(cx->arena, &m.args, fn->schema->args[i]);
	out = m.fn->graph->top->ret->in[0]->type;
	if (loss)
		add_loss(&m, loss);
	want_all(&m, names, self);
	d->seeds = m.args.n;
	if (!loss)
		add_seeds(&m, out, "grad.out");
	*s = *fn->schema;
	s->args = m.args.at;
	s->nargs = m.args.n;
	s->rets = new(cx->arena, Arg, 1);
	s->rets[0] = fn->schema->rets[0];
	s->rets[0].type = result_type(&m, out);
	m.fn->schema = s;
	return m.fn;
}

/* ---- memory of parameters ------------------------------------------------------------------------------------- */

static bool
holds_memory(IValue v, const RtTensor *parameter)
{
	bool any = v.tag == RT_TENSOR && v.u.t != parameter && v.u.t->storage == parameter->storage;

	for (int64_t i = 0; v.tag == RT_LIST && i < v.u.list->n && !any; i++)
		any = holds_memory(v.u.list->v[i], parameter);
	return any;
}

/* Does an attribute with this name, in any module, share the parameter's memory? */
static bool
shares_memory(Cx *cx, const RtObject *o, const char *name, const RtTensor *parameter)
{
	const int depth = cx_enter_nested(cx, (Range){ 0 });
	bool any = false;

	for (int i = 0; i < o->cls->nslot && !any; i++)
		any = o->slot[i].tag == RT_OBJECT ? shares_memory(cx, o->slot[i].u.obj, name, parameter) :
		      !strcmp(o->cls->slot[i], name) && holds_memory(o->slot[i], parameter);
	cx_leave_nested(cx, depth);
	return any;
}

static void
check_block(Cx *cx, const Gradient *d, const RtObject *self, const Block *b)
{
	for ALL_NODES(n, b) {
		const char *name = node_is(n, prim_GetAttr) ? node_str(n, "name") : NULL;

		for (int i = 0; name && i < d->inputs.n; i++)
			if (d->inputs.at[i].parameter && shares_memory(cx, self, name, d->inputs.at[i].parameter))
				fail_lacks(cx, n->at, "a program with gradients of a parameter that shares memory "
					"with the attribute %s, which is written to", name);
	}
}

/* Fails if a parameter shares memory with an attribute that the method writes to.  In a program parameters are
 * arguments, but written attributes stay in the instance, so that shared memory would exist twice.  A prepared graph
 * reads only such attributes from the module. */
void
gradient_check_memory(Cx *cx, const Function *fn, IValue self)
{
	if (fn->gradient && self.tag == RT_OBJECT)
		check_block(cx, fn->gradient, self.u.obj, fn->prepared->top);
}

/* ---- the pass lift ------------------------------------------------------------------------------------------- */

/* Returns the input for a parameter.  Null if v is not a parameter that became an input. */
static Value *
input_of(const Gradient *d, Graph *g, IValue v)
{
	for (int i = 0; i < d->inputs.n && v.tag == RT_TENSOR; i++)
		if (d->inputs.at[i].parameter == v.u.t)
			return graph_inputs(g)[d->inputs.at[i].input];
	return NULL;
}

/* Returns the list with its parameters replaced by inputs.  Null if it contains no such parameter. */
static Value *
lifted_list(const Gradient *d, Graph *g, const Node *n, const RtList *list)
{
	Value **v = new(g->arena, Value *, list->n + 1), *made;
	bool any = false;

	for (int64_t i = 0; i < list->n; i++)
		any |= input_of(d, g, list->v[i]) != NULL;
	for (int64_t i = 0; i < list->n && any; i++) {
		v[i] = input_of(d, g, list->v[i]);
		if (!v[i])
			v[i] = graph_constant(g, list->v[i], n->at);
	}
	if (!any)
		return NULL;
	made = graph_emit(g, "prim::ListConstruct", n->at, (int)list->n, v, 1)->out[0];
	made->type = n->out[0]->type;
	return made;
}

/* Returns the value that replaces the read of an attribute.  Null if the attribute stays. */
static Value *
lifted(Pass *p, Graph *g, Node *n)
{
	IValue v;

	if (!node_is(n, prim_GetAttr) || n->out[0]->type->kind == TYPE_CLASS ||
	    !freeze_resolves(p, g, n->out[0], &v))
		return NULL;
	graph_set_insert_before(g, n);
	return v.tag == RT_LIST ? lifted_list(p->fn->gradient, g, n, v.u.list) : input_of(p->fn->gradient, g, v);
}

static bool
lift_parameters(Pass *p, Graph *g)
{
	bool changed = false;
	Value *in;

	for INNER_FIRST(n, g->top) {
		if (!(in = lifted(p, g, n)))
			continue;
		pass_note(p, n, "a parameter that is differentiated");
		value_replace_uses(n->out[0], in);
		node_destroy(n);
		changed = true;
	}
	return changed;
}

bool
lift(Pass *p, Graph *g)
{
	bool changed = false;

	if (!p->fn || g != p->fn->prepared)
		return false;
	if (p->fn->gradient)
		changed = run_tasks_at_once(g) | (p->self.tag == RT_OBJECT && lift_parameters(p, g));
	return changed | autograd_keeps(p, g);
}
