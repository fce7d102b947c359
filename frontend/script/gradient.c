/*
 * Gradients of operators: compiles the gradient text of an operator's table entry to a function.
 *
 *   mul_Tensor   "grad * other; grad * self"
 *   ->           def (self, other, grad, result):
 *                    return grad * other, grad * self
 *
 * Its inputs are the operator's arguments, the gradients of its results and the results. Only results that are tensors
 * or lists of tensors have gradients. Its outputs are the gradients, in order, of the arguments that are tensors,
 * optional tensors or lists of tensors. A text with a `return` is used unchanged. A text that begins with the line
 * `body` expresses the operator by others, which are differentiated instead. rt/ops/ops.h has the rules for table
 * entries.
 */
#include "../frontend.h"

#include "../../rt/ops/kernel.h"
#include <string.h>

/* Returns 1 for Tensor and Tensor?, 2 for Tensor[] and Tensor?[], 0 for other types. */
int
gradient_rank(const Type *t)
{
	int lists = 0;

	for (;; t = t->of[0]) {
		if (t->kind == TYPE_LIST)
			lists++;
		else if (t->kind != TYPE_OPTIONAL)
			return t->kind == TYPE_TENSOR && lists <= 1 ? 1 + lists : 0;
	}
}

static Arg
new_argument(const char *name, const Type *t)
{
	return (Arg){ .name = name, .type = t };
}

static const char *
numbered(Cx *cx, const char *stem, int i)
{
	return i ? arena_printf(cx->arena, "%s%d", stem, i) : stem;
}

static Schema *
gradient_schema(Cx *cx, Op *op)
{
	const Schema *of = op_schema(cx, op);
	Schema *s = new(cx->arena, Schema, 1);

	s->name = arena_printf(cx->arena, "the gradient of %s", op->name);
	s->overload = "";
	s->args = new(cx->arena, Arg, of->nargs + 2 * of->nrets + 1);
	s->rets = new(cx->arena, Arg, of->nargs + 1);
	for (int i = 0; i < of->nargs; i++) {
		s->args[s->nargs++] = new_argument(of->args[i].name, of->args[i].type);
		if (gradient_rank(of->args[i].type))
			s->rets[s->nrets++] = new_argument("", type_optional(cx, gradient_rank(of->args[i].type) == 2 ?
				type_list(cx, &rt_type_tensor) : &rt_type_tensor));
	}
	for (int i = 0; i < of->nrets; i++)
		if (gradient_rank(of->rets[i].type))
			s->args[s->nargs++] = new_argument(numbered(cx, "grad", i), of->rets[i].type);
	for (int i = 0; i < of->nrets; i++)
		s->args[s->nargs++] = new_argument(numbered(cx, "result", i), of->rets[i].type);
	return s;
}

static bool
is_statements(const char *text)
{
	return !strncmp(text, "return ", 7) || strstr(text, "\nreturn ") != NULL;
}

/* Returns expressions separated by `;` as one return statement. Sets *n to their number. */
static const char *
as_statement(Cx *cx, const char *text, int *n)
{
	Buf b = { 0 };

	buf_puts(&b, "return ");
	for (*n = 0; *text; (*n)++) {
		const int length = (int)strcspn(text, ";"), blanks = (int)strspn(text, " ");

		buf_printf(&b, "%s%.*s", *n ? ", " : "", length - blanks, text + blanks);
		text += length + (text[length] == ';');
	}
	return arena_text(cx->arena, &b);
}

/* Makes the graph return the elements of tuples that are packed and unpacked at once, since these have more precise
 * types. */
static void
return_parts(Graph *g)
{
	Node *ret = g->top->ret;

	for (int i = 0; i < ret->nin; i++) {
		const Value *v = ret->in[i];

		if (node_is(v->node, prim_TupleUnpack) && node_is(v->node->in[0]->node, prim_TupleConstruct))
			node_set_input(ret, i, v->node->in[0]->node->in[v->index]);
	}
}

static Function *
compile(Cx *cx, Op *op, const char *what, Schema *s, const char *text)
{
	Source *src = new(cx->arena, Source, 1);
	Function *f = new(cx->arena, Function, 1);
	Frame frame;

	f->name = arena_printf(cx->arena, "%s of %s", what, op->name);
	f->schema = s;
	*src = (Source){ .name = arena_printf(cx->arena, "<%s of %s>", what, op->id), .line = 1 };
	src->text = arena_printf(cx->arena, "%s\n", text);
	src->n = (int64_t)strlen(src->text);
	cx_push(cx, &frame, arena_printf(cx->arena, "while compiling %s of operator '%s'", f->name, op->id),
		(Range){ 0 });
	f->tree = parse_file(cx, src);
	op->gradient_function = f;
	return_parts(function_graph(cx, f));
	ops_compile_bodies(cx, f->graph);
	cx_pop(cx);
	return f;
}

static bool
is_body(const Op *op)
{
	return !strncmp(op->gradient, "body\n", 5);
}

bool
op_is_flat(const Op *op)
{
	return !strcmp(op->gradient, "None") ||
	       (op->form == OP_MAP && (op->result == RT_MAP_boolean || !strpbrk(op->domain, "FC")));
}

Function *
op_gradient(Cx *cx, Op *op)
{
	const char *text = op->gradient;
	Schema *s;
	int n;

	if (!*text || is_body(op) || op_is_flat(op))
		return NULL;
	if (op->gradient_function)
		return op->gradient_function;
	s = gradient_schema(cx, op);
	if (!is_statements(text)) {
		text = as_statement(cx, text, &n);
		if (n != s->nrets)
			fail(cx, (Range){ 0 }, "the gradient of %s has %d expressions for %d tensors", op->id, n,
			     s->nrets);
	}
	return compile(cx, op, "the gradient", s, text);
}

Function *
op_expansion(Cx *cx, Op *op)
{
	if (op->form == OP_BODY && !*op->gradient) {
		ops_compile_body(cx, op);
		return op->function;
	}
	if (!is_body(op))
		return NULL;
	return op->gradient_function ? op->gradient_function :
		compile(cx, op, "the body", op_schema(cx, op), op->gradient + 5);
}
