/*
 * The graph of an exported program.
 *
 *   graph(self, x):
 *     parameters, buffers and constants: GetAttr
 *     leaves of the arguments, and their checks
 *     the nodes
 *     copy_ into the buffers and arguments that the program changes
 *     the results, packed
 */
#include "pt2.h"

#include <string.h>

/* ---- making values --------------------------------------------------------------------------------------------- */

/* ---- state ------------------------------------------------------------------------------------------------------- */


/* Reads self.a.b. Each object on the way is read once. */
static Value *
read_attribute(Builder *b, Map *objects, const char *path)
{
	const char *dot = strrchr(path, '.'), *name = dot ? dot + 1 : path;
	Value *owner = map_get(objects, ""), *v = map_get(objects, path);

	if (v)
		return v;
	if (dot)
		owner = read_attribute(b, objects, arena_strndup(b->cx->arena, path, dot - path));
	v = build_part(b, owner, name);
	map_put(objects, path, v);
	return v;
}

static void
read_state(Builder *b, Value *self)
{
	Map objects = { .arena = b->cx->arena };

	map_put(&objects, "", self);
	for (int i = 0; i < b->exported->inputs.n; i++) {
		const Input *in = &b->exported->inputs.at[i];
		Value *v = NULL;

		if (in->kind == INPUT_STATE)
			v = read_attribute(b, &objects,
					   arena_printf(b->cx->arena, "%s%s", b->exported->prefix, in->target));
		else if (in->kind == INPUT_TOKEN)
			v = graph_constant_typed(b->graph, rt_none(), &rt_type_none, b->at);
		if (v)
			build_name(b, in->name, v);
	}
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* Adds the arguments to the graph. Returns their leaves in the order of the program's inputs. */
static Value **
read_arguments(Builder *b)
{
	Value **leaf = new(b->cx->arena, Value *, b->exported->inputs.n + 1), **at = leaf, **arg;
	int n = 1;

	arg = new(b->cx->arena, Value *, b->exported->schema->nargs + 1);
	for (int i = 1; i < b->exported->schema->nargs; i++)
		arg[i] = graph_add_input(b->graph, b->exported->schema->args[i].type,
					 sym(b->cx, b->exported->schema->args[i].name));
	for (int k = 0; k < b->exported->in->n; k++)
		for (int i = 0; i < b->exported->in->kid[k]->n; i++)
			spec_unpack(b->graph, b->exported->in->kid[k]->kid[i], arg[n++], b->at, &at);
	n = 0;
	for (int i = 0; i < b->exported->inputs.n; i++) {
		const Input *in = &b->exported->inputs.at[i];

		if (in->kind != INPUT_USER && in->kind != INPUT_CONSTANT)
			continue;
		if (in->kind == INPUT_USER)
			build_name(b, in->name, leaf[n]);
		n++;
	}
	return leaf;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

typedef struct Output { const char *kind; const Json *spec, *value; } Output;

static Output
output_at(Builder *b, const Json *spec, const Json *value)
{
	const Json *is = json_union(&b->exported->doc, spec, "output_spec");

	return (Output){ json_key(is), is, value };
}

static Value *
mutated(Builder *b, const Output *o)
{
	const char *target;
	const Input *in;

	if (!strcmp(o->kind, "user_input_mutation"))
		return build_named(b, json_text(&b->exported->doc, o->spec, "user_input_name"));
	target = json_text(&b->exported->doc, o->spec, *o->kind == 'b' ? "buffer_name" : "parameter_name");
	if (!(in = map_get(&b->exported->states, target)))
		json_bad(&b->exported->doc, "changes '%s', which is no input", target);
	return build_named(b, in->name);
}

/* Copies the new value of a buffer or argument that the program changes into it. */
static void
mutate(Builder *b, const Output *o)
{
	Value *to = mutated(b, o), *from = arg_value(b, o->value, NULL);

	if (to != from)
		build_op(b, "aten::copy_", 3, to, from, build_bool(b, false));
}

static void
read_outputs(Builder *b, Values *results)
{
	const Json *spec = json_first(json_list(&b->exported->doc, b->exported->signature, "output_specs"));

	for JSON_EACH(value, json_list(&b->exported->doc, b->exported->graph, "outputs")) {
		Output o;

		if (!spec)
			json_bad(&b->exported->doc, "has more outputs than output_specs");
		o = output_at(b, spec, value);
		spec = json_next(spec);
		if (strstr(o.kind, "_mutation")) {
			mutate(b, &o);
		} else if (!strcmp(o.kind, "user_output") || !strcmp(o.kind, "loss_output")) {
			Value *v = arg_value(b, value, NULL);

			vec_push(b->cx->arena, results, v);
		} else if (strcmp(o.kind, "token")) {
			pt2_lacks(b, "Kiln lacks outputs of the kind '%s'", o.kind);
		}
	}
}

static void
return_results(Builder *b, const Values *results, int nleaf)
{
	const Type **t = new(b->cx->arena, const Type *, results->n + 1), *const *types = t;
	Value *const *leaf = results->at;

	if (results->n != nleaf)
		json_bad(&b->exported->doc, "has %d results, but a tree of %d", results->n, nleaf);
	for (int i = 0; i < results->n; i++)
		t[i] = results->at[i]->type;
	spec_type(b->cx, b->exported->out, &types,
		  arena_printf(b->cx->arena, "%s_Result", b->exported->self->name), true);
	graph_add_output(b->graph, spec_pack(b->graph, b->exported->out, &leaf, b->at));
	b->exported->schema->rets[0].type = b->exported->out->type;
}

/* ---- the whole graph --------------------------------------------------------------------------------------------- */

/* Returns the range for values that are not nodes: the line that declares the arguments. */
static Range
first_line(const Exported *p)
{
	return (Range){ p->text, 0, (uint32_t)strcspn(p->text->text, "\n") };
}

Graph *
exported_graph(Cx *cx, Function *fn)
{
	Exported *p = fn->exported;
	Names names = { .map.arena = cx->arena };
	Builder b = { .exported = p, .cx = cx, .names = &names, .top = &names, .autocast = -1 };
	Values results = { 0 };
	Value *self, **leaf;

	if (!p->text)
		text_write(p);
	b.at = first_line(p);
	b.graph = graph_new(cx, fn->name);
	self = graph_add_input(b.graph, p->self, sym(cx, "self"));
	graph_set_insert_end(b.graph, b.graph->top);
	leaf = read_arguments(&b);
	read_state(&b, self);
	check_inputs(&b, leaf);
	flow_nodes(&b, p->graph);
	b.at = first_line(p);
	read_outputs(&b, &results);
	return_results(&b, &results, p->nresult);
	return b.graph;
}
