/*
 * Writes a trace as methods, which replace those of the modules' classes.
 *
 *  def forward(self, x):                      def forward(self, x):
 *    if self.first: x = self.a(x)       ->      _0 = (self.a).forward(x, )
 *    return self.b(x)                           return (self.b).forward(_0, )
 *
 * A method that runs on two different paths, or on two objects of a class, becomes two methods: forward and forward1.
 * Functions that kept calls need keep their names, so their traced variants get other names.
 */
#include "trace.h"

/* ---- names ------------------------------------------------------------------------------------------------------ */

typedef struct Names {
	Cx  *cx;
	Map  functions;            /* functions that are still called unchanged, by name */
	Map  by_name;              /* names of methods that these functions call on any object */
	bool kept;
} Names;

static void note_calls(Names *, const Block *);

static void
note_function(Names *s, Function *fn)
{
	if (map_get(&s->functions, fn->name))
		return;
	map_put(&s->functions, fn->name, fn);
	if (!fn->self || !class_info(fn->self)->interface)
		note_calls(s, function_graph(s->cx, fn)->top);
}

/* Records kept calls: calls in a traced graph that are not calls of a variant. */
static void
note_calls(Names *s, const Block *b)
{
	for NODES(n, b) {
		Function *fn = node_function(n);
		const Attr *sub = node_attr(n, "Subgraph");

		if (fn && fn->state == 2 && fn->tree)
			note_function(s, fn);
		else if (!fn && node_is(n, prim_CallMethod))
			map_put(&s->by_name, node_str(n, "name"), n);
		for (int i = 0; i < n->nsub; i++)
			note_calls(s, n->sub[i]);
		if (sub)
			note_calls(s, sub->g->top);
	}
}

static bool
is_taken(Names *s, const ClassInfo *info, const char *name)
{
	Function *other = class_method(info, name);

	return class_attr(info, name) || (other && map_get(&s->functions, other->name)) ||
	       map_get(&s->by_name, name);
}

/* Adds the method fn to the class under this name.  Replaces a method of the same name. */
static void
put_method(Cx *cx, ClassInfo *info, Function *fn, const char *name)
{
	fn->name = arena_printf(cx->arena, "%s.%s", info->type->name, name);
	for (int i = 0; i < info->methods.n; i++)
		if (!strcmp(info->methods.at[i]->name, fn->name)) {
			info->methods.at[i] = fn;
			return;
		}
	vec_push(cx->arena, &info->methods, fn);
}

/* Gives a variant the first free name among forward, forward1, forward2, ... */
static void
name_variant(Names *s, Map *given, Variant *v, const char *wanted)
{
	ClassInfo *info = class_info(v->of->self);
	const char *name = wanted;

	for (int k = 1; is_taken(s, info, name) ||
	     map_get(given, arena_printf(s->cx->arena, "%s.%s", info->type->name, name)); k++)
		name = arena_printf(s->cx->arena, "%s%d", wanted, k);
	map_put(given, arena_printf(s->cx->arena, "%s.%s", info->type->name, name), v);
	put_method(s->cx, info, v->fn, name);
}

static void
name_all(Tracer *t, Function *entry, const char *name)
{
	Names s = { .cx = t->cx, .functions.arena = t->cx->arena, .by_name.arena = t->cx->arena };
	Map given = { .arena = t->cx->arena };

	note_calls(&s, entry->graph->top);
	for (int i = 0; i < t->variants.n; i++)
		note_calls(&s, t->variants.at[i]->fn->graph->top);
	if (entry->self) {
		put_method(t->cx, class_info(entry->self), entry, name);
		map_put(&given, entry->name, entry);
	}
	for (int i = 0; i < t->variants.n; i++)
		name_variant(&s, &given, t->variants.at[i], strrchr(t->variants.at[i]->of->name, '.') + 1);
	for (int i = 0; i < t->calls.n; i++)
		node_set_str(t->calls.at[i].node, "name", strrchr(t->calls.at[i].to->fn->name, '.') + 1);
}

static void
clean(Cx *cx, Function *fn)
{
	pass_run(cx, "dce", NULL, fn->graph, rt_none());
}

Function *
trace_methods(Cx *cx, Function *fn, const char *name, const Way *way, const char *const *kept)
{
	Tracer *t = trace_new(cx, way, kept);
	Function *entry = trace_copy(cx, fn);

	RT_ASSERT(fn->unchanged);
	entry->graph = trace_walk(t, fn);
	trace_end(t);
	name_all(t, entry, name);
	for (int i = 0; i < t->variants.n; i++)
		clean(cx, t->variants.at[i]->fn);
	clean(cx, entry);
	return entry;
}
