/*
 * Writes steps that call the runtime: an operator's kernel or body, or the body of one of the interpreter's
 * instructions.
 *
 * All of them are entries of the specialization's table of steps (cgen_step.c).
 */
#include "writer.h"

#include <string.h>

/* ---- C that many steps share --------------------------------------------------------------------------------- */

void
write_assign(Writer *w, const Value *v, const char *expression)
{
	out_line(&w->out, "rt_assign(&v[%d], %s);", w->plan->slot[v->id], expression);
}

void
write_new_box(Writer *w, const Buffer *b, const RtTensor *t)
{
	trust_allocated(w, b);
	out_line(&w->out, "rt_assign(&v[%d], rt_box_new(cx, RT_%s, %d, %s));", b->slot, rt_dtypes[t->dtype].name,
		 t->ndim, c_geometry(w, t));
	write_unless(w, "cx->status");
}

void
write_boxes(Writer *w, const Node *n, int step)
{
	for (int i = 0; i < n->nout; i++) {
		Buffer *b = plan_buffer(w->plan, n->out[i]);
		const RtTensor *t = plan_tensor(w->plan, n->out[i]);

		if (!b || b->home != HOME_BOX || b->first != step)
			continue;
		b->owner = n->out[i];
		write_new_box(w, b, t);
	}
}

/* ---- operators ---------------------------------------------------------------------------------------------- */

/* Writes C before a step of the runtime that copies from the GPU what the step may read and the host does not have. */
static void
write_before_call(Writer *w, const Node *n)
{
	if (!w->plan->gpu || moves_references(n))
		return;
	if (!is_confined(w, n)) {
		write_settle(w);
		return;
	}
	for (int i = 0; i < n->nin; i++) {
		const Buffer *b = plan_buffer(w->plan, n->in[i]);

		if (b && b->home != HOME_ARENA)
			out_line(&w->out, "rt_cuda_home(&c, %d, %s);", b->index, c_buffer(w, n->in[i]));
	}
}

/* Writes C after a step of the runtime: marks what the step may have written as newer on the host. */
static void
write_behind_call(Writer *w, const Node *n)
{
	if (!w->plan->gpu || moves_references(n))
		return;
	for (int i = 0; i < n->nin; i++)
		if (node_writes_input(n, i) && plan_buffer(w->plan, n->in[i]))
			write_stale(w, plan_buffer(w->plan, n->in[i]));
	if (!is_confined(w, n))
		out_line(&w->out, "rt_cuda_all_written(cx);");
}

/* Writes a call of the runtime. `keep` tells whether the operands may outlive the step. */
static void
write_call(Writer *w, const Node *n, const char *how, bool keep)
{
	bool *kept = new(w->arena, bool, n->nin + 1);

	memset(kept, keep, (size_t)n->nin);
	write_before_call(w, n);
	if (w->emit->bench_code)
		out_line(&w->out, "{\n\t\tconst int64_t begin = cx->events ? rt_now() : 0;");
	write_call_row(w, n, how, kept);
	if (w->emit->bench_code)
		out_line(&w->out, "if (cx->events)\n\t\trt_trace_add(cx, \"%s\", begin, rt_now());\n\t}",
			 call_name(w, n));
	write_behind_call(w, n);
	vec_push(w->arena, &w->plan->calls, n);
	if (w->plan->gpu && !moves_references(n))
		vec_push(w->arena, &w->plan->host, ((HostStep){ n, "it is a call of the runtime" }));
}

/* Returns how the kernel uses arguments that may be conjugate or negative views. `first` is the number of a body's
 * results before them. */
static uint32_t
unknown_use(Writer *w, const Node *n, int first)
{
	uint32_t use = op_use(w->emit->cx, n->op);

	for (int i = 0; i < n->nin && first + i < 16; i++)
		if (known_is(w->plan->known, n->in[i]))
			use &= ~(0x10001u << (first + i));
	return use;
}

/* Returns the C name of a kernel that a specialization calls, for the level chosen at start. Kernels without tensor
 * results are the same for all levels. They have no loops, and a copy of each would also copy the code that prints and
 * converts values. */
static const char *
called_symbol(Emit *e, const Op *op)
{
	const char *symbol = emit_symbol(e, op);

	for (int i = 0; i < e->called.n; i++)
		if (!strcmp(e->called.at[i], symbol))
			return symbol;
	if (e->ops_by_level && op->form != OP_USER && op->rule != RULE_VALUE)
		vec_push(e->cx->arena, &e->called, symbol);
	return symbol;
}

/* Returns the members of an RtStep that name the operator's kernel. */
static const char *
by_kernel(Writer *w, const Op *op, uint32_t use)
{
	const char *symbol = called_symbol(w->emit, op);
	const char *text = arena_printf(w->arena, ".by.kernel = %s", symbol);

	for (int i = 0; i < w->emit->called.n; i++)
		if (!strcmp(w->emit->called.at[i], symbol))
			text = arena_printf(w->arena, ".by.level = offsetof(struct Kernels, %s), .by_level = 1",
					    symbol);
	return use ? arena_printf(w->arena, "%s, .use = 0x%x", text, use) : text;
}

/* Writes an in-place or out= operator whose base operator has a body. */
static void
write_stored_body(Writer *w, const Node *n, Op *base)
{
	const Schema *row = node_schema(n), *of = op_schema(w->emit->cx, base);
	StepTables *r = &w->tables;

	if (!base->function || !base->function->code || of->nargs + of->nrets > 32 || n->nin > 24)
		fail_lacks(w->emit->cx, n->at, "a specialization with %s", n->kind->name);
	buf_printf(&r->stored, "\tstatic const int from_%d[] = { ", r->nstored);
	for (int i = 0; i < of->nargs; i++) {
		int at = row->nargs;

		while (at-- > 0 && strcmp(row->args[at].name, of->args[i].name) != 0)
			;
		buf_printf(&r->stored, "%d, ", at);
	}
	buf_printf(&r->stored, "0 };\n\tstatic const RtStored stored_%d = { %s, from_%d, %d, %d };\n", r->nstored,
		   emit_code(w->emit, base->function->code), r->nstored, of->nargs, of->nrets);
	write_call(w, n, arena_printf(w->arena, ".run = rt_step_store, %s, .with.stored = &stored_%d",
				      by_kernel(w, n->op, unknown_use(w, n, of->nrets)), r->nstored++), false);
}

static bool
is_wait(const Node *n)
{
	return node_is(n, aten_wait) || node_is(n, prim_awaitable_wait);
}

/* Writes a step that runs the body of an instruction (rt/bodies.c). `what` is a member of RtWhat with its value, such
 * as ".n = 3". */
static void
write_body(Writer *w, const Node *n, const char *name, const char *what, bool keep)
{
	write_call(w, n, arena_printf(w->arena, ".run = rt_step_body, .by.body = rt_body_%s, .with.what%s", name, what),
		   keep);
}

static const char *
what_type(Writer *w, const Type *t)
{
	return arena_printf(w->arena, ".type = %s", emit_type(w->emit, type_unshaped(w->emit->cx, t)));
}

static const char *
what_number(Writer *w, int64_t n)
{
	return arena_printf(w->arena, ".n = %lld", (long long)n);
}

/* Writes aten::wait. The instruction's body checks the value's type, which a kernel would not do. */
static void
write_wait(Writer *w, const Node *n)
{
	write_body(w, n, "wait", what_type(w, n->out[0]->type), false);
}

static void
write_row(Writer *w, const Node *n)
{
	const char *kernel = by_kernel(w, n->op, unknown_use(w, n, 0));

	write_call(w, n, arena_printf(w->arena, ".run = rt_step_row, %s", kernel), false);
}

static void
write_code_call(Writer *w, const Node *n, const char *code)
{
	write_call(w, n, arena_printf(w->arena, ".run = rt_step_call, .with.what.code = %s", code), true);
}

void
write_op(Writer *w, const Node *n)
{
	Op *base = op_body(w->emit->cx, n->op);

	if (is_wait(n))
		write_wait(w, n);
	else if (base && base != n->op)
		write_stored_body(w, n, base);
	else if (n->op->form == OP_BODY)
		write_code_call(w, n, emit_code(w->emit, n->op->function->code));
	else
		write_row(w, n);
}

/* ---- prim operators ----------------------------------------------------------------------------------------- */

/* Writes a list or tuple. If only a kernel reads a list, it is written at its use, so that its elements may be
 * borrowed. */
static void
write_sequence(Writer *w, const Node *n)
{
	const Type *t = type_unshaped(w->emit->cx, n->out[0]->type);
	const bool list = node_is(n, prim_ListConstruct);
	const char *type = list ? emit_type(w->emit, t->of[0]) : t->field ? emit_type(w->emit, t) : "0";
	bool *keep = new(w->arena, bool, n->nin + 1);

	for (int i = 0; i < n->nin; i++) {
		const Buffer *in = plan_buffer(w->plan, n->in[i]);

		keep[i] = in && in->escapes;
	}
	write_call_row(w, n, arena_printf(w->arena, ".run = rt_step_%s, .with.what.type = %s", list ? "list" : "tuple",
					  type), keep);
}

static const char *
method_code(Writer *w, const Node *n, const char *name)
{
	const Type *t = n->in[0]->type;
	const Function *f = t->kind == TYPE_CLASS ? class_method(class_info(t), name) : NULL;

	if (!f || !f->code)
		fail_lacks(w->emit->cx, n->at, "a specialization with %s of %s", n->kind->name,
			   type_print(w->emit->cx, t));
	return emit_code(w->emit, f->code);
}

/* Writes prim::Enter. The scope is open before __enter__ runs, as in the interpreter. */
static void
write_enter(Writer *w, const Node *n)
{
	write_remark(w);
	out_line(&w->out, "scope[nscope++] = (RtWith){ %s, %s };", method_code(w, n, "__exit__"), c_peek(w, n->in[0]));
	write_code_call(w, n, method_code(w, n, "__enter__"));
}

static void
write_exit(Writer *w, const Node *n)
{
	write_remark(w);
	write_settle(w);
	write_unless(w, arena_printf(w->arena, "rt_step_exit(cx, &scope[--nscope], %s, %u)", w->code, place_row(w)));
	if (w->plan->gpu)
		out_line(&w->out, "rt_cuda_all_written(cx);");
	if (n->nout)
		write_assign(w, n->out[0], "rt_none()");
}

static void
write_call_function(Writer *w, const Node *n)
{
	const Attr *f = node_attr(n, "function");
	const char *name = f ? NULL : node_str(n, "name");

	if (f && f->fn && f->fn->code)
		write_code_call(w, n, emit_code(w->emit, f->fn->code));
	else if (f || !node_is(n, prim_CallMethod))
		fail_lacks(w->emit->cx, n->at, "a specialization with %s", n->kind->name);
	else if (n->in[0]->type->kind == TYPE_CLASS)
		write_code_call(w, n, method_code(w, n, name));
	else
		write_call(w, n, arena_printf(w->arena, ".run = rt_step_method, .by.method = %s",
					      out_literal(w->arena, method_key(w->arena, n->in[0]->type, name))), true);
}

static void
write_attribute(Writer *w, const Node *n, const char *body)
{
	write_body(w, n, body, what_number(w, class_slot(n->in[0]->type->cls, node_str(n, "name"))), true);
}

static void
write_isinstance(Writer *w, const Node *n)
{
	const Attr *of = node_attr(n, "types");

	write_body(w, n, "isinstance",
		   what_type(w, of->ntypes == 1 ? of->types[0] : type_union(w->emit->cx, of->types, of->ntypes)),
		   false);
}

static void
write_task(Writer *w, const Node *n, const char *body)
{
	write_body(w, n, body, arena_printf(w->arena, ".code = %s",
					    emit_code(w->emit, node_attr(n, "function")->fn->code)), true);
}

/* Writes a node that makes or unpacks values, as the body of an instruction. Returns false for other nodes. */
static bool
write_of_values(Writer *w, const Node *n)
{
	int64_t i;

	if (node_is(n, prim_TupleUnpack)) {
		write_body(w, n, "unpack", ".n = RT_TUPLE", false);
	} else if (node_is(n, prim_ListUnpack)) {
		write_body(w, n, "unpack", ".n = RT_LIST", false);
	} else if (node_is(n, prim_TupleIndex) && value_int(n->in[1], &i)) {
		write_body(w, n, "index", what_number(w, i), false);
	} else if (node_is(n, prim_TupleSlice)) {
		write_body(w, n, "slice", what_number(w, node_int(n, "beg", 0) << 16 | node_int(n, "end", 0)), false);
	} else if (node_is(n, prim_isinstance)) {
		write_isinstance(w, n);
	} else if (node_is(n, prim_DictConstruct)) {
		write_body(w, n, "dict", what_type(w, n->out[0]->type), true);
		w->plan->calls.n--;    /* not counted as a call: it only makes a container, like tuples and lists */
	} else if (node_is(n, prim_GetAttr)) {
		write_attribute(w, n, "get");
	} else if (node_is(n, prim_SetAttr)) {
		write_attribute(w, n, "set");
	} else if (node_is(n, prim_unchecked_cast) || node_is(n, prim_unchecked_unwrap_optional)) {
		write_body(w, n, "cast", what_type(w, n->out[0]->type), true);
	} else if (node_is(n, prim_CreateObject)) {
		write_body(w, n, "object", what_type(w, n->out[0]->type), false);
	} else {
		return false;
	}
	return true;
}

/* Writes any other node for which the interpreter has an instruction. */
void
write_prim(Writer *w, const Node *n)
{
	if (node_is(n, prim_TupleConstruct) || node_is(n, prim_ListConstruct))
		write_sequence(w, n);
	else if (node_is(n, prim_Uninitialized))
		write_assign(w, n->out[0], arena_printf(w->arena, "rt_some(cx, %s)",
			emit_type(w->emit, type_unshaped(w->emit->cx, n->out[0]->type))));
	else if (node_is(n, prim_RaiseException))
		write_body(w, n, "raise", ".n = 0", false);
	else if (node_is(n, prim_Enter))
		write_enter(w, n);
	else if (node_is(n, prim_Exit))
		write_exit(w, n);
	else if (node_is(n, prim_fork) || node_is(n, prim_awaitable))
		write_task(w, n, node_is(n, prim_fork) ? "fork" : "await");
	else if (is_wait(n))
		write_wait(w, n);
	else if (node_is(n, prim_CallFunction) || node_is(n, prim_CallMethod))
		write_call_function(w, n);
	else if (!write_of_values(w, n))
		fail_lacks(w->emit->cx, n->at, "a specialization with %s", n->kind->name);
}
