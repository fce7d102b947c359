/* tests/frontend/bodies.c - compiles every operator body and gradient, and checks the invariants of its graph.  An
 * operator's effect must be that of the operators that its body calls. */
#include "../../frontend/frontend.h"

static void
compile(Cx *cx, void *arg)
{
	Op *op = arg;

	ops_compile_body(cx, op);
	graph_lint(op->function->graph);
	if (block_effect(op->function->graph->top) != op->effect)
		fail(cx, (Range){0}, "row %s has effect %d, its body %d", op->id, (int)op->effect,
		     (int)block_effect(op->function->graph->top));
}

static void
compile_gradient(Cx *cx, void *arg)
{
	Op *op = arg;
	Function *f = op_gradient(cx, op);

	if (!f)
		f = op_expansion(cx, op);
	if (f)
		graph_lint(f->graph);
}

int
main(void)
{
	Arena arena = {0};
	Cx cx = {.arena = &arena};
	int failed = 0;

	schema_parser = schema_parse;
	for (int i = 0; i < op_count(&cx); i++) {
		Op *op = op_at(&cx, i);
		if ((op->form != OP_BODY || cx_try(&cx, compile, op)) &&
		    (!*op->gradient || cx_try(&cx, compile_gradient, op)))
			continue;
		printf("%s\n\n", cx.err.text);
		failed++;
	}
	if (failed)
		printf("%d bodies do not compile\n", failed);
	return failed != 0;
}
