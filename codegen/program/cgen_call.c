/*
 * Steps that call the runtime: an operator's kernel or body, or the body of one of the interpreter's instructions.
 *
 * All have one form: in[] are new references that the call takes, got[] the results, which go to their slots in v[].
 */
#include "writer.h"

#include <string.h>

/* ---- lines that many steps have ------------------------------------------------------------------------------ */

void
write_unless(Writer *w, const char *failed)
{
	out_line(&w->out, "if (%s)", failed);
	out_line(&w->out, "\tgoto failed;");
}

void
write_assign(Writer *w, const Value *v, const char *expression)
{
	out_line(&w->out, "rt_assign(&v[%d], %s);", w->p->slot[v->id], expression);
}

void
write_new_box(Writer *w, const Buffer *b, const RtTensor *t)
{
	out_line(&w->out, "rt_assign(&v[%d], rt_box_new(cx, RT_%s, %d, %s));", b->slot, rt_dtypes[t->dtype].name,
		 t->ndim, c_geometry(w, t));
	write_unless(w, "cx->status");
}

void
write_boxes(Writer *w, const Node *n, int step)
{
	for (int i = 0; i < n->nout; i++) {
		Buffer *b = plan_buffer(w->p, n->out[i]);
		const RtTensor *t = plan_tensor(w->p, n->out[i]);

		if (!b || b->home != HOME_BOX || b->first != step)
			continue;
		b->owner = n->out[i];
		write_new_box(w, b, t);
	}
}

void
write_stale(Writer *w, const Buffer *b)
{
	if (w->p->gpu)
		out_line(&w->out, "rt_cuda_stale(&m[%d], 1);", b->index);
}

static void
write_all_stale(Writer *w)
{
	if (w->p->gpu)
		out_line(&w->out, "rt_cuda_stale(m, %d);", w->p->buffers.n);
}

/* ---- operators ---------------------------------------------------------------------------------------------- */

/* IValue in[n] = { ... };  count of them.  (tcc cannot count the elements of an array of structs itself.) */
static int
write_inputs(Writer *w, const Node *n, bool keep)
{
	const Schema *s = n->op ? node_schema(n) : NULL;
	const int fixed = s && s->vararg ? s->nargs : n->nin;
	int count;
	Buf b = { 0 };

	for (int i = 0; i < fixed; i++) {
		w->packed = i == 0 && w->p->by_panels[n->id];
		buf_printf(&b, "%s%s", i ? ", " : "", c_box(w, n->in[i], keep));
		w->packed = false;
	}
	if (s && s->vararg) {
		buf_printf(&b, "%srt_list_of(cx, &rt_type_any, (IValue[%d]){ ", fixed ? ", " : "", n->nin - fixed + 1);
		for (int i = fixed; i < n->nin; i++)
			buf_printf(&b, "%s, ", c_box(w, n->in[i], true));
		buf_printf(&b, "rt_none() }, %d)", n->nin - fixed);
	}
	count = fixed + (s && s->vararg);
	if (b.n)
		out_line(&w->out, "IValue in[%d] = { %s };", count, b.at);
	else
		out_line(&w->out, "IValue in[1];");
	buf_free(&b);
	return count;
}

/* Does a call of the runtime leave all existing values unchanged? */
static bool
changes_nothing(const Node *n)
{
	return n->op && !node_writes(n) && n->op->form != OP_BODY && !node_has_effect(n);
}

/* A test build compares results with what was known of them at compile time. */
static void
write_known(Writer *w, const Node *n, int i)
{
	const RtTensor *t = RT_LIMIT(false, true) && !w->p->dynamic ? plan_tensor(w->p, n->out[i]) : NULL;

	if (t)
		out_line(&w->out, "RT_ASSERT(rt_is_tensor_of(got[%d], RT_%s, %d, %s, %s + %d));", i,
			 rt_dtypes[t->dtype].name, t->ndim, c_geometry(w, t), c_geometry(w, t), t->ndim);
}

/* Results of a call go to got[], then to their slots; results that are views of something planned are dropped. */
static void
write_outputs(Writer *w, const Node *n)
{
	for (int i = 0; i < n->nout; i++) {
		Buffer *b = plan_buffer(w->p, n->out[i]);

		write_known(w, n, i);
		if (node_is_loose(n))
			out_line(&w->out, "rt_settle(got[%d], %s);", i,
				 emit_type(w->e, type_unshaped(w->e->cx, n->out[i]->type)));
		if (b && b->home == HOME_BOX && b->slot >= 0 && !b->owner) {
			b->owner = n->out[i];
			out_line(&w->out, "rt_assign(&v[%d], got[%d]);", b->slot, i);
			write_stale(w, b);
		} else if (!b) {
			out_line(&w->out, "rt_assign(&v[%d], got[%d]);", w->p->slot[n->out[i]->id], i);
		} else {
			out_line(&w->out, "rt_release(got[%d]);", i);
		}
	}
}

static void
write_call(Writer *w, const Node *n, const char *how, bool keep)
{
	int nin;

	out_line(&w->out, "{");
	w->out.indent++;
	nin = write_inputs(w, n, keep);
	out_line(&w->out, "IValue got[%d] = { { 0 } };", n->nout + 1);
	if (w->e->bench_code)
		out_line(&w->out, "const int64_t begin = cx->events ? rt_now() : 0;");
	write_unless(w, arena_printf(w->a, "%s, in, got, (RtSite){ %s, %u, %d, %d })", how, w->code, place_row(w), nin,
				     n->nout));
	if (w->e->bench_code)
		out_line(&w->out, "if (cx->events)\n\t\trt_trace_add(cx, \"%s\", begin, rt_now());", call_name(w, n));
	write_outputs(w, n);
	if (!changes_nothing(n))
		write_all_stale(w);
	w->out.indent--;
	out_line(&w->out, "}");
	vec_push(w->a, &w->p->calls, n);
}

/* How the kernel uses arguments that may be conjugate or negative views; `first` results of a body precede them. */
static uint32_t
unknown_use(Writer *w, const Node *n, int first)
{
	uint32_t use = op_use(w->e->cx, n->op);

	for (int i = 0; i < n->nin && first + i < 16; i++)
		if (known_is(w->p->known, n->in[i]))
			use &= ~(0x10001u << (first + i));
	return use;
}

/* A kernel that a specialization calls, of the level that runs.  One whose results are no tensors is the same for all:
 * it has no loops, and would bring what prints and converts values once more. */
static const char *
called_symbol(Emit *e, const Op *op)
{
	const char *symbol = emit_symbol(e, op);

	for (int i = 0; i < e->called.n; i++)
		if (!strcmp(e->called.at[i], symbol))
			return symbol;
	if (e->ops_by_level && op->form != OP_USER && strcmp(op->rule, "value"))
		vec_push(e->cx->arena, &e->called, symbol);
	return symbol;
}

/* An in-place or out= row over a body. */
static void
write_stored_body(Writer *w, const Node *n, Op *base)
{
	const Schema *row = node_schema(n), *of = op_schema(w->e->cx, base);
	const char *from = "";

	if (!base->function || !base->function->code || of->nargs + of->nrets > 32 || n->nin > 24)
		fail_lacks(w->e->cx, n->at, "a specialization with %s", n->kind->name);
	for (int i = 0; i < of->nargs; i++) {
		int at = row->nargs;

		while (at-- > 0 && strcmp(row->args[at].name, of->args[i].name) != 0)
			;
		from = arena_printf(w->a, "%s%s%d", from, i ? ", " : "", at);
	}
	write_call(w, n, arena_printf(w->a, "rt_step_store(cx, &(RtStored){ %s, (const int[%d]){ %s }, %d, %d, 0x%x, "
				      "%s }",
				      emit_code(w->e, base->function->code), of->nargs + !of->nargs, of->nargs ? from :
				      "0", of->nargs, of->nrets, unknown_use(w, n, of->nrets),
				      called_symbol(w->e, n->op)), false);
}

static bool
is_wait(const Node *n)
{
	return node_is(n, aten_wait) || node_is(n, prim_awaitable_wait);
}

/* A step that has the body of an instruction (rt/bodies.c); what: a member of RtWhat, and its value. */
static void
write_body(Writer *w, const Node *n, const char *name, const char *what, bool keep)
{
	write_call(w, n, arena_printf(w->a, "rt_step_body(cx, rt_body_%s, (RtWhat){ %s }", name, what), keep);
}

static const char *
what_type(Writer *w, const Type *t)
{
	return arena_printf(w->a, ".type = %s", emit_type(w->e, type_unshaped(w->e->cx, t)));
}

static const char *
what_number(Writer *w, int64_t n)
{
	return arena_printf(w->a, ".n = %s", c_number(w, n));
}

/* The value is checked, which a row's kernel does not do. */
static void
write_wait(Writer *w, const Node *n)
{
	write_body(w, n, "wait", what_type(w, n->out[0]->type), false);
}

static void
write_row(Writer *w, const Node *n)
{
	const uint32_t use = unknown_use(w, n, 0);
	const char *kernel = called_symbol(w->e, n->op);

	if (use)
		write_call(w, n, arena_printf(w->a, "rt_step_using(cx, 0x%x, %s", use, kernel), false);
	else
		write_call(w, n, arena_printf(w->a, "rt_step(cx, %s", kernel), false);
}

void
write_op(Writer *w, const Node *n)
{
	Op *base = op_body(w->e->cx, n->op);

	if (is_wait(n))
		write_wait(w, n);
	else if (base && base != n->op)
		write_stored_body(w, n, base);
	else if (n->op->form == OP_BODY)
		write_call(w, n, arena_printf(w->a, "rt_step_call(cx, %s", emit_code(w->e, n->op->function->code)),
			   true);
	else
		write_row(w, n);
}

/* ---- prim --------------------------------------------------------------------------------------------------- */

static void
write_sequence(Writer *w, const Node *n)
{
	const bool list = node_is(n, prim_ListConstruct);
	const Type *t = type_unshaped(w->e->cx, n->out[0]->type);
	Buf b = { 0 };

	/* A list that only a kernel reads is written at its use: then its boxes may borrow. */
	for (int i = 0; i < n->nin; i++) {
		const Buffer *in = plan_buffer(w->p, n->in[i]);

		buf_printf(&b, "%s, ", c_box(w, n->in[i], in && in->escapes));
	}
	if (list)
		write_assign(w, n->out[0],
			     arena_printf(w->a, "rt_list_of(cx, %s, (IValue[%d]){ %srt_none() }, %d)",
					  emit_type(w->e, t->of[0]), n->nin + 1, b.at ? b.at : "", n->nin));
	else
		write_assign(w, n->out[0],
			     arena_printf(w->a, "rt_tuple_of(cx, %s, (IValue[%d]){ %srt_none() }, %d)",
					  t->field ? emit_type(w->e, t) : "0", n->nin + 1, b.at ? b.at : "", n->nin));
	write_unless(w, "cx->status");
	buf_free(&b);
}

static const char *
method_code(Writer *w, const Node *n, const char *name)
{
	const Type *t = n->in[0]->type;
	const Function *f = t->kind == TYPE_CLASS ? class_method(class_info(t), name) : NULL;

	if (!f || !f->code)
		fail_lacks(w->e->cx, n->at, "a specialization with %s of %s", n->kind->name, type_print(w->e->cx, t));
	return emit_code(w->e, f->code);
}

/* The scope is open before __enter__ runs, as the interpreter has it. */
static void
write_enter(Writer *w, const Node *n)
{
	out_line(&w->out, "scope[nscope++] = (RtWith){ %s, %s };", method_code(w, n, "__exit__"), c_peek(w, n->in[0]));
	write_call(w, n, arena_printf(w->a, "rt_step_call(cx, %s", method_code(w, n, "__enter__")), true);
}

static void
write_exit(Writer *w, const Node *n)
{
	write_unless(w, arena_printf(w->a, "rt_step_exit(cx, &scope[--nscope], %s, %u)", w->code, place_row(w)));
	write_all_stale(w);
	if (n->nout)
		write_assign(w, n->out[0], "rt_none()");
}

static void
write_call_function(Writer *w, const Node *n)
{
	const Attr *f = node_attr(n, "function");
	const char *name = f ? NULL : node_str(n, "name");
	const char *how;

	if (f && f->fn && f->fn->code)
		how = arena_printf(w->a, "rt_step_call(cx, %s", emit_code(w->e, f->fn->code));
	else if (f || !node_is(n, prim_CallMethod))
		fail_lacks(w->e->cx, n->at, "a specialization with %s", n->kind->name);
	else if (n->in[0]->type->kind == TYPE_CLASS)
		how = arena_printf(w->a, "rt_step_call(cx, %s", method_code(w, n, name));
	else
		how = arena_printf(w->a, "rt_step_method(cx, %s",
				   out_literal(w->a, method_key(w->a, n->in[0]->type, name)));
	write_call(w, n, how, true);
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
		   what_type(w, of->ntypes == 1 ? of->types[0] : type_union(w->e->cx, of->types, of->ntypes)), false);
}

static void
write_task(Writer *w, const Node *n, const char *body)
{
	write_body(w, n, body, arena_printf(w->a, ".code = %s", emit_code(w->e, node_attr(n, "function")->fn->code)),
		   true);
}

/* Values made or taken apart, by the body of an instruction; false: another kind of node. */
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
		w->p->calls.n--;                       /* a container like tuples and lists */
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

/* Anything else that the interpreter has an instruction for. */
void
write_prim(Writer *w, const Node *n)
{
	if (node_is(n, prim_TupleConstruct) || node_is(n, prim_ListConstruct))
		write_sequence(w, n);
	else if (node_is(n, prim_Uninitialized))
		write_assign(w, n->out[0], arena_printf(w->a, "rt_some(cx, %s)",
			emit_type(w->e, type_unshaped(w->e->cx, n->out[0]->type))));
	else if (node_is(n, prim_RaiseException))
		write_body(w, n, "raise", "0", false);
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
		fail_lacks(w->e->cx, n->at, "a specialization with %s", n->kind->name);
}
