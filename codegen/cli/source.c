/* codegen/cli/source.c - a plain TorchScript source, or the text of a graph, as a model: functions without an object
 *
 * Commands get a module whose function the text is.  To be saved, a text gets a class:
 *
 *   def forward(x: Tensor, n: int=2):   class SourceModule(Module):
 *     ...                                    def forward(self, x: Tensor, n: int=2):
 *                                              return forward(x=x, n=n, )
 */
#include "cli.h"

#include <string.h>

bool
is_source(const char *path)
{
	const size_t n = strlen(path);

	return n > 3 && !strcmp(path + n - 3, ".py");
}

static Source *
new_source(Cx *cx, const char *text, const char *name)
{
	Source *s = new(cx->arena, Source, 1);

	*s = (Source){ .text = text, .n = (int64_t)strlen(text), .name = name, .line = 1, .arena = cx->arena };
	return s;
}

Module *
source_load(Cx *cx, const char *path)
{
	const char *text = file_text(cx, path);
	const size_t n = strlen(text);
	Module *m = new(cx->arena, Module, 1);

	if (n && text[n - 1] != '\n')
		text = arena_printf(cx->arena, "%s\n", text);
	*m = (Module){ .unit = unit_new(cx, NULL, 0), .self = rt_none(), .path = path,
		.hash = hash_bytes(text, (int64_t)strlen(text)) };
	unit_define(cx, m->unit, new_source(cx, text, path), "__torch__");
	return m;
}

/* ---- IR text: one function ------------------------------------------------------------------------------- */

bool
is_graph_text(const char *path)
{
	const size_t n = strlen(path);

	return n > 3 && !strcmp(path + n - 3, ".ir");
}

/* Makes the schema of a graph. Arguments are named like the graph's inputs, without the number behind the name. An
 * argument is arg0 ... if its input has no name or the name is used already. */
static Schema *
graph_schema(Cx *cx, Graph *g)
{
	Schema *s = new(cx->arena, Schema, 1);

	*s = (Schema){ .name = "forward", .overload = "", .args = new(cx->arena, Arg, graph_ninputs(g) + 1),
		.rets = new(cx->arena, Arg, 1) };
	for (int i = 0; i < graph_ninputs(g); i++) {
		const Value *v = graph_inputs(g)[i];
		const char *name = v->name ? v->name->name : "";

		name = arena_strndup(cx->arena, name, (int64_t)strcspn(name, "."));
		if (!*name || schema_find(s, name) >= 0)
			name = arena_printf(cx->arena, "arg%d", i);
		s->args[s->nargs++] = (Arg){ .name = name, .type = type_unshaped(cx, v->type) };
	}
	s->nrets = 1;
	s->rets[0] = (Arg){ .name = "", .type = type_unshaped(cx, g->top->ret->in[0]->type) };
	return s;
}

/* Makes the graph return exactly one value: a tuple if it returned several, None if it returned nothing. */
static void
return_one(Graph *g)
{
	Node *ret = g->top->ret, *made;
	const Type **t = new(g->cx->arena, const Type *, ret->nin + 1);

	if (ret->nin == 1)
		return;
	graph_set_insert_end(g, g->top);
	if (!ret->nin) {
		graph_add_output(g, graph_constant(g, rt_none(), ret->at));
		return;
	}
	for (int i = 0; i < ret->nin; i++)
		t[i] = ret->in[i]->type;
	made = graph_emit(g, "prim::TupleConstruct", ret->at, ret->nin, ret->in, 1);
	made->out[0]->type = type_tuple(g->cx, t, ret->nin);
	while (ret->nin)
		block_remove_output(g->top, ret->nin - 1);
	graph_add_output(g, made->out[0]);
}

Module *
graph_load(Cx *cx, const char *path, Function **fn)
{
	const char *text = file_text(cx, path);
	Module *m = new(cx->arena, Module, 1);
	Function *f = new(cx->arena, Function, 1);

	*m = (Module){ .unit = unit_new(cx, NULL, 0), .self = rt_none(), .path = path,
		.hash = hash_bytes(text, (int64_t)strlen(text)) };
	*f = (Function){ .name = "forward", .unit = m->unit, .state = 2 };
	f->graph = ir_parse(cx, new_source(cx, text, path), m->unit);
	ir_check_types(cx, f->graph, path);
	return_one(f->graph);
	f->schema = graph_schema(cx, f->graph);
	*fn = f;
	return m;
}

/* ---- source: functions by name ---------------------------------------------------------------------------- */

/* Returns definition i of the text if it is a function. Null if it is a class or there is none; then *name is null if
 * there is none. */
static Function *
function_at(Cx *cx, Module *m, int i, const char **name)
{
	*name = unit_source_name(m->unit, i);
	return *name ? unit_function(cx, m->unit, arena_printf(cx->arena, "__torch__.%s", *name)) : NULL;
}

static int
source_functions(Cx *cx, Module *m, Function *const **out)
{
	Vec(Function *) all = { 0 };
	const char *name;
	Function *f;

	for (int i = 0; (f = function_at(cx, m, i, &name)) || name; i++)
		if (f)
			vec_push(cx->arena, &all, f);
	*out = all.at;
	return all.n;
}

int
text_functions(Cx *cx, const char *path, Function *const **out)
{
	Function **one = new(cx->arena, Function *, 1);

	if (is_source(path))
		return source_functions(cx, source_load(cx, path), out);
	graph_load(cx, path, one);
	*out = one;
	return 1;
}

Function *
source_function(Cx *cx, Module *m, const char *name)
{
	Function *f = unit_function(cx, m->unit, arena_printf(cx->arena, "__torch__.%s", name ? name : "forward")),
		 *const * all;
	int n;

	if (f)
		return f;
	n = source_functions(cx, m, &all);
	if (!n)
		fail(cx, (Range){ 0 }, "%s has no function", m->path);
	if (name) {
		Near near = { .name = name };

		for (int i = 0; i < n; i++)
			near_try(&near, all[i]->name);
		fail(cx, (Range){ 0 }, "%s has no function '%s'%s", m->path, name, near_hint(cx, &near));
	}
	return all[n - 1];
}

/* Writes a method that calls the function. Its parameters are those of the source. */
static void
put_wrapper(const Function *f, Buf *b)
{
	const Tree *params = ((const Tree *)f->tree)->kid[1];
	const char *text = params->n ? params->at.src->text : "";
	bool keyword = false;

	buf_puts(b, "class SourceModule(Module):\n  def forward(self");
	for (int i = 0; i < params->n; i++) {
		const Range at = params->kid[i]->at;

		buf_printf(b, params->kid[i]->op && !keyword ? ", *, %.*s" : ", %.*s", (int)(at.end - at.beg),
			   text + at.beg);
		keyword |= params->kid[i]->op;
	}
	buf_printf(b, "):\n    return %s(", f->name);
	for (int i = 0; i < f->schema->nargs; i++)
		buf_printf(b, "%s=%s, ", f->schema->args[i].name, f->schema->args[i].name);
	buf_puts(b, ")\n");
}

Module *
source_module(Cx *cx, const char *path, const char *name)
{
	Module *m = source_load(cx, path);
	Buf b = { 0 };
	RtObject *o;

	put_wrapper(source_function(cx, m, name), &b);
	m = source_load(cx, path);
	unit_define_qualified(cx, m->unit, new_source(cx, arena_text(cx->arena, &b), path));
	m->type = unit_type(cx, m->unit, "__torch__.SourceModule");
	o = rt_object_new(cx_rt(cx), m->type->cls);
	if (!o)
		out_of_memory();
	m->self = rt_ref(RT_OBJECT, o);
	return m;
}
