/*
 * State: the attributes that a method reads from its instance when it is called.
 *
 * Freezing leaves reads of an attribute in the prepared graph only if some method may write the attribute.  An
 * attribute that a call may read before it writes it is part of the call's signature, as the arguments are.  The first
 * call of a recurrent model finds an empty tensor or None; every later call finds the value that the call before it
 * stored.  So a profiling run that changed its instance is followed by others on the same instance.  An attribute that
 * still differs from call to call (a counter, a cache that grows) is not part of the signature.
 */
#include "../opt.h"

#include <string.h>

/* Returns the path of attributes from the graph's first input to the attribute that n reads or sets.  Null if there is
 * none. */
static const char *
path_of(const Graph *g, Arena *a, const Node *n)
{
	const Value *object = n->in[0];
	const char *path = node_str(n, "name"), *before;

	if (object->type->kind != TYPE_CLASS || class_slot(object->type->cls, path) < 0)
		return NULL;
	if (object == graph_inputs(g)[0])
		return path;
	before = node_is(object->node, prim_GetAttr) ? path_of(g, a, object->node) : NULL;
	return before ? arena_printf(a, "%s.%s", before, path) : NULL;
}

static void
add_slots(StateSlot *s, const Node *n, Arena *a)
{
	if (node_is(n->in[0]->node, prim_GetAttr))
		add_slots(s, n->in[0]->node, a);
	vec_push(a, &s->slot, class_slot(n->in[0]->type->cls, node_str(n, "name")));
}

typedef struct Finder {
	State *state;
	Arena *arena;
	Vec(const char *) written;        /* attributes written before the current node */
} Finder;

static bool
was_written(const Finder *f, const char *path)
{
	for (int i = 0; i < f->written.n; i++)
		if (!strcmp(f->written.at[i], path))
			return true;
	return false;
}

static void
add_read(Finder *f, const Node *n, const char *path)
{
	StateSlot slot = { .path = path, .name = node_str(n, "name") };

	if (map_get(&f->state->index, path))
		return;
	add_slots(&slot, n, f->arena);
	vec_push(f->arena, &f->state->at, slot);
	map_put(&f->state->index, path, (void *)(intptr_t)f->state->at.n);
}

/* Adds the attributes that are read before they are written. */
static void
find_reads(Finder *f, const Block *b)
{
	const int before = f->written.n;

	for NODES(n, b) {
		const bool get = node_is(n, prim_GetAttr);
		const char *path = get || node_is(n, prim_SetAttr) ? path_of(f->state->graph, f->arena, n) : NULL;

		if (path && !get)
			vec_push(f->arena, &f->written, path);
		else if (path && n->out[0]->type->kind != TYPE_CLASS && !was_written(f, path))
			add_read(f, n, path);
		for (int i = 0; i < n->nsub; i++)
			find_reads(f, n->sub[i]);
	}
	if (b != f->state->graph->top)
		f->written.n = before;
}

State *
state_of(Graph *g, bool has_self)
{
	State *s = new(g->cx->arena, State, 1);

	RT_ASSERT(!has_self || (graph_ninputs(g) && graph_inputs(g)[0]->type->kind == TYPE_CLASS));
	s->graph = g;
	s->index.arena = g->cx->arena;
	if (has_self)
		find_reads(&(Finder){ .state = s, .arena = g->cx->arena }, g->top);
	return s;
}

int
state_index(const State *s, const Node *n)
{
	const char *path = s->at.n ? path_of(s->graph, s->graph->cx->arena, n) : NULL;

	RT_ASSERT(node_is(n, prim_GetAttr));
	return path ? (int)(intptr_t)map_get(&s->index, path) - 1 : -1;
}

Pattern *
state_patterns(const State *s, IValue self)
{
	Cx *cx = s->graph->cx;
	IValue *v = new(cx->arena, IValue, s->at.n + 1);

	for (int i = 0; i < s->at.n; i++) {
		v[i] = self;
		for (int k = 0; k < s->at.at[i].slot.n; k++)
			v[i] = v[i].tag == RT_OBJECT ? v[i].u.obj->slot[s->at.at[i].slot.at[k]] : rt_none();
	}
	return pattern_of(cx, v, s->at.n);
}

void
state_settle(Pattern *a, const Pattern *b, int n)
{
	for (int i = 0; i < n; i++) {
		if (a[i].form == b[i].form && a[i].n == b[i].n && a[i].n)
			state_settle(a[i].part, b[i].part, a[i].n);
		else if (!pattern_equal(&a[i], &b[i]))
			a[i] = (Pattern){ .form = PATTERN_ANY };
	}
}

void
state_leave_out(Pattern *a, const Pattern *settled, int n)
{
	for (int i = 0; i < n; i++) {
		if (settled[i].form == PATTERN_ANY)
			a[i] = (Pattern){ .form = PATTERN_ANY };
		else if (a[i].form == settled[i].form && a[i].n == settled[i].n)
			state_leave_out(a[i].part, settled[i].part, a[i].n);
	}
}

const char *
specialization_signature(Cx *cx, const Specialization *s)
{
	const Graph *g = s->fn->prepared;
	const int first = function_first(s->fn);
	const State *state = state_of(s->fn->prepared, first);
	Buf b = { 0 };

	for (int i = first; i < graph_ninputs(g); i++) {
		buf_printf(&b, "%s%s: ", b.n ? ", " : "", s->fn->schema->args[i].name);
		pattern_print(cx, &b, &s->pattern[i - first]);
	}
	for (int i = 0; s->found && i < state->at.n; i++)
		if (s->found[i].form != PATTERN_ANY) {
			buf_printf(&b, "%sself.%s: ", b.n ? ", " : "", state->at.at[i].path);
			pattern_print(cx, &b, &s->found[i]);
		}
	return arena_text(cx->arena, &b);
}
