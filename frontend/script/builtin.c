/*
 * Operators that are TorchScript functions: overloads that the registry lacks, and upgraders, which compute the meaning
 * that operators had in older archives. Entries of builtin.def are compiled on demand, and calls are inlined.
 */
#include "../frontend.h"

#include <string.h>

static const struct { const char *name, *text; } builtins[] = {
#define BUILTIN(name, text) { name, text },
#include "builtin.def"
#define BUILTIN(name, text) { name, text },
#include "functional.def"
};

static const struct { const char *name, *reason; } refused[] = {
#define REFUSED(name, reason) { name, reason },
#include "builtin.def"
};

static const struct Upgrader { const char *name, *overload; int version; const char *schema, *text; } upgraders[] = {
#define UPGRADER(name, overload, version, schema, text) { name, overload, version, schema, text },
#include "builtin.def"
};

enum { NBUILTIN = sizeof builtins / sizeof *builtins, NUPGRADER = sizeof upgraders / sizeof *upgraders };

struct Builtins {                  /* Compiled functions, by entry of builtin.def. */
	Function *builtin[NBUILTIN];
	Function *upgrader[NUPGRADER];
	Schema   *schema[NUPGRADER];
};

static struct Builtins *
compiled(Cx *cx)
{
	if (!cx->builtins)
		cx->builtins = new(cx->arena, struct Builtins, 1);
	return cx->builtins;
}

int
builtin_next(const char *op, int row)
{
	RT_ASSERT(row >= -1);
	while (++row < NBUILTIN)
		if (strcmp(builtins[row].name, op) == 0)
			return row;
	return -1;
}

Function *
builtin_row(Cx *cx, int row)
{
	Function **f = &compiled(cx)->builtin[row];

	RT_ASSERT(row >= 0 && row < NBUILTIN);
	if (!*f)
		*f = script_compile(cx, builtins[row].text, builtins[row].name);
	return *f;
}

const char *
builtin_refused(const char *op)
{
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (!strcmp(refused[i].name, op))
			return refused[i].reason;
	return NULL;
}

int
upgrader_find(const char *op, const char *overload, int version)
{
	for (int i = 0; i < NUPGRADER; i++)
		if (version > 0 && version < upgraders[i].version && strcmp(upgraders[i].name, op) == 0 &&
		    strcmp(upgraders[i].overload, overload) == 0)
			return i;
	return -1;
}

const Schema *
upgrader_schema(Cx *cx, int row)
{
	Schema **s = &compiled(cx)->schema[row];

	RT_ASSERT(row >= 0 && row < NUPGRADER);
	if (!*s)
		*s = schema_parse(cx, upgraders[row].schema);
	return *s;
}

Function *
upgrader_function(Cx *cx, int row)
{
	Function **f = &compiled(cx)->upgrader[row];

	RT_ASSERT(row >= 0 && row < NUPGRADER);
	if (!*f)
		*f = script_compile(cx, upgraders[row].text, upgraders[row].name);
	return *f;
}

static void
set_places(Node *n, Range at)
{
	n->at = at;
	for (int i = 0; i < n->nsub; i++)
		for NODES(m, n->sub[i])
			set_places(m, at);
}

Value *
inline_function(Graph *g, Function *fn, Range at, Value *const *args)
{
	Graph *body = function_graph(g->cx, fn);
	Map values = { .arena = g->arena };
	Value *result = body->top->ret->in[0], *copy;

	RT_ASSERT(body->top->ret->nin == 1);
	for (int i = 0; i < graph_ninputs(body); i++)
		graph_set_cloned(&values, graph_inputs(body)[i], args[i]);
	for NODES(n, body->top) {
		Node *c = node_clone(g, n, &values);

		set_places(c, at);
		graph_insert(g, c);
	}
	copy = graph_cloned(&values, result);
	return copy ? copy : result;
}
