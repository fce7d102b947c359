/*
 * Writes a specialized graph as a C function.
 *
 *    static int spec_0_forward(RtCx *cx, IValue *reg)
 *
 * Steps are in the order of the graph, each below a comment with its line of the model. Planned tensors are addresses
 * (arena + offset, weights, an argument's data). All other values are IValues in v[]. A kernel takes an array of
 * addresses, a call of the runtime takes boxes. A failed guard stores the live values in registers and continues in
 * generic code. Values that a loop carries and results of an If have their own buffers or slots, and are copied there
 * at the end of a block.
 *
 * The function for the GPU has the same steps. Any buffer may be newer on the device (rt/cuda_memory.c). rt_cuda_home
 * fetches a buffer before the host reads it. rt_cuda_settle fetches all buffers before a step that may read any tensor.
 * rt_cuda_written marks what the host writes. Results and arguments are fetched once, at the end. State stays on the
 * device.
 */
#include "writer.h"

#include <string.h>

static void write_block(Writer *, Block *);

/* ---- guards ------------------------------------------------------------------------------------------------- */

/* Returns the index of v's buffer among the arena buffers that several live values share. -1 if it is not among
 * them. */
static int
shared_at(Writer *w, Buffer *const *shared, int n, const Value *v)
{
	const Buffer *b = plan_buffer(w->plan, v);

	for (int i = 0; i < n && b; i++)
		if (shared[i] == b)
			return i;
	return -1;
}

static int
find_shared(Writer *w, const Node *n, Buffer **shared)
{
	int count = 0;

	for (int i = 1; i < n->nin; i++) {
		Buffer *b = plan_buffer(w->plan, n->in[i]);

		for (int k = 1; k < i && b && b->home == HOME_ARENA; k++)
			if (plan_buffer(w->plan, n->in[k]) == b && shared_at(w, shared, count, n->in[i]) < 0)
				shared[count++] = b;
	}
	return count;
}

/* Writes copies of the arena buffers that several live tensors share. Sets boxed[] to expressions that make these
 * tensors from the copies. Returns the number of copies. */
static int
write_shared(Writer *w, const Node *n, const char **boxed)
{
	Buffer **shared = new(w->arena, Buffer *, n->nin + 1);
	const int count = find_shared(w, n, shared);

	for (int i = 0; i < count; i++)
		out_line(&w->out, "const IValue boxed_%d = rt_box_copy(cx, RT_u8, 0, 0, %s, %s);", i, w->plan->gpu ?
			 arena_printf(w->arena, "rt_cuda_home(&c, %d, %s)", shared[i]->index, c_spot(w, shared[i], 0)) :
			 c_spot(w, shared[i], 0), c_number(w, shared[i]->bytes));
	for (int i = 1; i < n->nin; i++) {
		const RtTensor *t = plan_tensor(w->plan, n->in[i]);
		const int at = shared_at(w, shared, count, n->in[i]);

		if (at >= 0)
			boxed[i] = arena_printf(w->arena, "rt_box_view(cx, boxed_%d, RT_%s, %d, %s, %s)", at,
						rt_dtypes[t->dtype].name, t->ndim, c_geometry(w, t),
						c_number(w, t->offset));
	}
	return count;
}

/* Returns a C expression for the truth of an int or bool. */
static const char *
truth_text(Writer *w, const Value *v)
{
	int64_t i;

	if (known_int(w->plan->known, v, &i))
		return i ? "true" : "false";
	if (v->node == w->plan->graph->top->param)
		return arena_printf(w->arena, "reg[%d].u.i", v->index);
	return arena_printf(w->arena, "v[%d].u.i", w->plan->slot[v->id]);
}

/* Opens the branch for a tensor whose type is not the expected one. */
static void
open_type_guard(Writer *w, const Node *n)
{
	const RtTensor *t = plan_tensor(w->plan, n->out[0]);
	Buffer *b = plan_buffer(w->plan, n->out[0]);

	write_assign(w, n->out[0], c_box(w, n->in[0], true));
	b->slot = w->plan->slot[n->out[0]->id];
	b->home = HOME_BOX;
	b->owner = n->out[0];
	write_stale(w, b);
	out_open(&w->out, "if (!rt_is_tensor_of(v[%d], RT_%s, %d, %s, %s%s%d))", b->slot, rt_dtypes[t->dtype].name,
		 t->ndim, c_geometry(w, t), c_geometry(w, t), t->ndim ? " + " : " + 0*", t->ndim);
}

/* Opens the branch for a number that is not the expected one. */
static void
open_value_guard(Writer *w, const Node *n, IValue is)
{
	if (is.tag == RT_BOOL)
		out_open(&w->out, "if (%s%s)", is.u.i ? "!" : "", truth_text(w, n->in[0]));
	else
		out_open(&w->out, "if (%s != %s)", truth_text(w, n->in[0]), c_number(w, is.u.i));
}

/* Returns the expected type for a guard's message, without sizes if they are dynamic. */
static const char *
wanted_text(Writer *w, const Node *n, const Attr *value)
{
	const Type *type = n->nout ? n->out[0]->type : NULL;

	if (!value)
		return type_print(w->emit->cx, w->plan->dynamic ? type_unshaped(w->emit->cx, type) : type);
	if (value->v.tag == RT_INT)
		return w->plan->dynamic ? "the value that follows from the sizes" :
			arena_printf(w->arena, "%lld", (long long)value->v.u.i);
	return value->v.u.i ? "True" : "False";
}

void
write_return_apart(Out *o, bool gpu, const char *call)
{
	if (!gpu) {
		out_line(o, "return %s;", call);
		return;
	}
	out_line(o, "struct RtCuda *const device = rt_cuda_leave(cx);");
	out_line(o, "const int status = cx->status ? cx->status : %s;\n", call);
	out_line(o, "cx->cuda = device;");
	out_line(o, "return status;");
}

static void
write_bailout(Writer *w, const Node *n)
{
	const Attr *value = node_attr(n, "value");
	const char **boxed = new(w->arena, const char *, n->nin + 1);
	int guard, count;

	if (value)
		open_value_guard(w, n, value->v);
	else
		open_type_guard(w, n);
	if (w->plan->gpu)
		write_unless(w, "rt_cuda_finish(&c, true)");
	write_trust_guard(w);
	count = write_shared(w, n, boxed);
	guard = add_guard(w, n, boxed, wanted_text(w, n, value));
	for (int i = 0; i < count; i++)
		out_line(&w->out, "rt_release(boxed_%d);", i);
	if (w->plan->gpu)
		out_line(&w->out, "rt_cuda_end(&c);");
	write_return_apart(&w->out, w->plan->gpu, arena_printf(w->arena, "rt_bail(&f, %d)", guard));
	out_close(&w->out);
	w->plan->guards++;
}

/* ---- control flow ------------------------------------------------------------------------------------------------ */

/* Writes an allocation of a new tensor on every trip for a tensor that the loop carries, if a list may keep it. */
static void
renew_box(Writer *w, const Value *carried)
{
	const Buffer *b = plan_buffer(w->plan, carried);

	if (b->home == HOME_BOX && b->escapes && carried->node == carried->node->block->param)
		write_new_box(w, b, plan_tensor(w->plan, carried));
}

/* A parallel move of planned tensors that copies bytes. Each source is read before it is overwritten. */
typedef struct Moves {
	Value *const *to, *const *from;
	int n;
	bool *waits;             /* whether the move is still to be written, by move */
	const char **kept;    /* C name of the box with a copy of the move's source, by move; null if there is none */
} Moves;

/* Returns a pending move that reads what move i overwrites. -1 if no move does. */
static int
reader_of(Writer *w, const Moves *m, int i)
{
	for (int k = 0; k < m->n; k++)
		if (k != i && m->waits[k] && !m->kept[k] &&
		    plan_buffer(w->plan, m->from[k]) == plan_buffer(w->plan, m->to[i]))
			return k;
	return -1;
}

static void
write_move(Writer *w, const Moves *m, int i)
{
	Value *const to = m->to[i], *const from = m->from[i];
	const Buffer *t = plan_buffer(w->plan, to), *f = plan_buffer(w->plan, from);
	const int64_t at = tensor_offset(plan_tensor(w->plan, to)), bytes = t->bytes - at;

	renew_box(w, to);
	if (m->kept[i]) {
		out_line(&w->out, "rt_move(%s, rt_data(%s.u.t), %s);", c_address(w, to, 0), m->kept[i],
			 c_number(w, bytes));
		write_stale(w, t);
	} else if (w->plan->gpu) {
		out_line(&w->out, "rt_cuda_move(&c, (RtCudaPart){ %d, %s, %s }, "
			 "(RtCudaPart){ %d, %s, %s }, %s);", t->index, c_buffer(w, to), c_number(w, at),
			 f->index, c_buffer(w, from), c_number(w, tensor_offset(plan_tensor(w->plan, from))),
			 c_number(w, bytes));
	} else {
		out_line(&w->out, "rt_move(%s, %s, %s);", c_address(w, to, 0), c_address(w, from, 0),
			 c_number(w, bytes));
	}
	m->waits[i] = false;
}

static void
put_aside(Writer *w, const Moves *m, int i)
{
	const RtTensor *t = plan_tensor(w->plan, m->to[i]);

	m->kept[i] = arena_printf(w->arena, "kept_%d", w->nkept++);
	out_line(&w->out, "const IValue %s = rt_box_copy(cx, RT_u8, 0, 0, %s, %s);", m->kept[i],
		 c_home(w, m->from[i], 0), c_number(w, plan_buffer(w->plan, m->to[i])->bytes - tensor_offset(t)));
	write_unless(w, "cx->status");
}

static void
write_planned_moves(Writer *w, Value *const *to, Value *const *from, int n)
{
	const Moves m = { to, from, n, new(w->arena, bool, n + 1), new(w->arena, const char *, n + 1) };
	int first, free;

	for (int i = 0; i < n; i++)
		m.waits[i] = plan_buffer(w->plan, to[i]) &&
			     plan_buffer(w->plan, to[i]) != plan_buffer(w->plan, from[i]);
	do {
		first = free = -1;
		for (int i = n - 1; i >= 0; i--)
			if (m.waits[i]) {
				first = i;
				free = reader_of(w, &m, i) < 0 ? i : free;
			}
		if (free >= 0)
			write_move(w, &m, free);
		else if (first >= 0)
			put_aside(w, &m, reader_of(w, &m, first));       /* breaks a cycle of moves */
	} while (first >= 0);
	for (int i = 0; i < n; i++)
		if (m.kept[i])
			out_line(&w->out, "rt_release(%s);", m.kept[i]);
}

/* Assigns from[] to to[] in parallel: planned tensors by copying bytes, others by reference. */
static void
write_moves(Writer *w, Value *const *to, Value *const *from, int n)
{
	Buf b = { 0 };
	bool slots = false;

	for (int i = 0; i < n; i++) {
		const Buffer *t = plan_buffer(w->plan, to[i]);

		buf_printf(&b, "%s, ", t ? "rt_none()" : c_box(w, from[i], true));
		slots |= !t;
	}
	if (slots) {
		out_line(&w->out, "{");
		w->out.indent++;
		out_line(&w->out, "const IValue next[%d] = { %s };", n, b.at);
	}
	write_planned_moves(w, to, from, n);
	for (int i = 0; i < n; i++)
		if (!plan_buffer(w->plan, to[i]))
			out_line(&w->out, "rt_assign(&v[%d], next[%d]);", w->plan->slot[to[i]->id], i);
	if (slots) {
		w->out.indent--;
		out_line(&w->out, "}");
	}
	buf_free(&b);
}

static void
write_if(Writer *w, const Node *n)
{
	write_boxes(w, n, w->plan->step[n->id]);
	trust_branches(w, 1);
	out_open(&w->out, "if (%s)", c_truth(w, n->in[0]));
	write_block(w, n->sub[0]);
	write_moves(w, n->out, n->sub[0]->ret->in, n->nout);
	w->out.indent--;
	out_open(&w->out, "} else");
	write_block(w, n->sub[1]);
	write_moves(w, n->out, n->sub[1]->ret->in, n->nout);
	out_close(&w->out);
	trust_branches(w, -1);
}

static const char *
trip_count(Writer *w, const Value *v)
{
	int64_t i;

	return known_int(w->plan->known, v, &i) ? c_number(w, i) : c_truth(w, v);
}

/* Writes a loop. Each carried tensor has one buffer. */
static void
write_loop(Writer *w, const Node *n)
{
	Block *body = n->sub[0];
	const int id = w->nloop++;

	write_boxes(w, n, w->plan->step[n->id]);
	for (int i = 1; i < body->param->nout; i++) {
		Buffer *b = plan_buffer(w->plan, body->param->out[i]);

		if (b && b->home == HOME_BOX)
			write_boxes(w, body->param, w->plan->step[n->id]);
	}
	write_moves(w, body->param->out + 1, n->in + 2, n->nout);
	out_line(&w->out, "bool go_%d = %s;", id, c_truth(w, n->in[1]));
	trust_loop(w, 1);
	out_open(&w->out, "for (int64_t i_%d = 0, n_%d = %s; go_%d && i_%d < n_%d; i_%d++)", id, id,
		 trip_count(w, n->in[0]), id, id, id, id);
	write_assign(w, body->param->out[0], arena_printf(w->arena, "rt_int(i_%d)", id));
	write_block(w, body);
	out_line(&w->out, "go_%d = %s;", id, c_truth(w, body->ret->in[0]));
	write_moves(w, body->param->out + 1, body->ret->in + 1, n->nout);
	out_close(&w->out);
	trust_loop(w, -1);
	write_moves(w, n->out, body->param->out + 1, n->nout);
}

/* Whether n returns new tensors in planned buffers. A call of the runtime would not fill these. */
static bool
has_place(Plan *p, const Node *n)
{
	const Schema *schema = node_schema(n);

	for (int i = 0; i < n->nout && schema && i < schema->nrets; i++) {
		const Buffer *b = plan_buffer(p, n->out[i]);

		if (b && b->home == HOME_ARENA && !schema->rets[i].alias)
			return true;
	}
	return false;
}

static void
write_node(Writer *w, Node *n)
{
	if (!plan_needs_step(w->plan, n))
		return;
	note_line(w, n);
	if (n->nsub || node_is(n, prim_BailOut) || plan_is_kernel(w->plan, n))
		write_remark(w);
	if (node_is(n, prim_If))
		write_if(w, n);
	else if (node_is(n, prim_Loop))
		write_loop(w, n);
	else if (node_is(n, prim_BailOut))
		write_bailout(w, n);
	else if (plan_is_kernel(w->plan, n)) {
		if (!write_kernel(w, n))
			fail_lacks(w->emit->cx, n->at, "a kernel for %s of this form", n->kind->name);
	} else if (n->op) {
		if (has_place(w->plan, n))
			BUG("%s has a planned place, but no kernel", n->kind->name);
		write_op(w, n);
	} else {
		write_prim(w, n);
	}
}

static void
write_block(Writer *w, Block *b)
{
	for NODES(n, b)
		write_node(w, n);
}

/* ---- the function ------------------------------------------------------------------------------------------- */

/* Marks the buffers of a value that the function returns. Returns false if the value may contain other tensors, too. */
static bool
mark_returned(Plan *p, const Value *v, bool *returned)
{
	const Buffer *b = plan_buffer(p, v);
	bool all = true;

	if (b)
		returned[b->index] = true;
	else if (node_makes_parts(v->node))
		for (int i = 0; i < v->node->nin; i++)
			all &= mark_returned(p, v->node->in[i], returned);
	else
		all = !type_holds_tensors(v->type);
	return all;
}

/* Returns the offset of the buffer in the arena. "-1" if the buffer is elsewhere. */
static const char *
place_offset(Writer *w, const Buffer *b)
{
	if (b->home != HOME_ARENA)
		return "-1";
	return w->plan->dynamic ? arena_printf(w->arena, "at[%d]", b->spot) :
	       arena_printf(w->arena, "%lld", (long long)b->offset);
}

/* Writes const RtCudaPlace place[], with the size, arena offset and slot of every buffer, and whether it stays on the
 * device. */
static void
write_places(Writer *w, Out *o, const bool *returned)
{
	const Plan *p = w->plan;

	out_line(o, "\t%sconst RtCudaPlace place[] = {", p->dynamic ? "" : "static ");
	for (int i = 0; i < p->buffers.n; i++) {
		const Buffer *b = p->buffers.at[i];

		out_line(o, "\t\t{ %s, %s, %d, %d },", c_number(w, b->bytes), place_offset(w, b),
			 b->home == HOME_BOX ? b->slot : -1, b->home == HOME_BOX && !returned[i]);
	}
	out_line(o, "\t\t{ 0, 0, 0, 0 }\n\t};");
}

/* Returns which buffers the function returns. Sets w->all_returned. */
static const bool *
find_returned(Writer *w)
{
	const Node *ret = w->plan->graph->top->ret;
	bool *returned = new(w->arena, bool, w->plan->buffers.n + 1);

	for (int i = 0; i < ret->nin; i++)
		w->all_returned |= !mark_returned(w->plan, ret->in[i], returned);
	if (w->all_returned)
		memset(returned, true, (size_t)w->plan->buffers.n * sizeof *returned);
	return returned;
}

/* Whether a value of the type is one result of a library's call. */
static bool
is_one_result(const Type *t)
{
	switch (t->kind) {
	case TYPE_TENSOR: case TYPE_INT: case TYPE_FLOAT: case TYPE_BOOL: case TYPE_COMPLEX: case TYPE_STR:
		return true;
	case TYPE_LIST:
		return t->of[0]->kind == TYPE_INT || t->of[0]->kind == TYPE_FLOAT || t->of[0]->kind == TYPE_BOOL;
	default:
		return false;
	}
}

/* Writes the rows of the results in a value: tensors in memory that the function allocates. *index is the number of
 * results before it, as rt/args.c counts them. It is -1 once that number is unknown. Returns the number of rows. */
static int
write_results(Writer *w, Out *o, const Value *v, int *index)
{
	const RtTensor *t = plan_tensor(w->plan, v);
	const Buffer *b = plan_buffer(w->plan, v);
	int n = 0;

	if (*index < 0 || v->type->kind == TYPE_NONE)
		return 0;
	if (is_one_result(v->type)) {
		if ((n = t && b && b->home == HOME_BOX && trust_is_fresh(w, b)))
			out_line(o, "\t\t{ %d, %d, RT_%s, %d, %s },", b->index, *index, rt_dtypes[t->dtype].name,
				 t->ndim, c_geometry(w, t));
		++*index;
	} else if (node_makes_parts(v->node) && v->node->nin) {
		for (int i = 0; i < v->node->nin; i++)
			n += write_results(w, o, v->node->in[i], index);
	} else {
		*index = -1;
	}
	return n;
}

/* Writes const RtCudaResult result[]. Returns its number of rows. */
static int
write_result_table(Writer *w, Out *o)
{
	const Node *ret = w->plan->graph->top->ret;
	int n = 0, index = 0;

	out_line(o, "\t%sconst RtCudaResult result[] = {", w->plan->dynamic ? "" : "static ");
	for (int i = 0; i < ret->nin; i++)
		n += write_results(w, o, ret->in[i], &index);
	out_line(o, "\t\t{ 0, 0, 0, 0, 0 }\n\t};");
	return n;
}

/* Writes the frame of a function for the GPU. The arena must be declared before it; with dynamic sizes, s and at[],
 * too. */
static void
write_frame(Writer *w, Out *o)
{
	const int n = w->plan->buffers.n;
	int results;

	write_places(w, o, find_returned(w));
	results = write_result_table(w, o);
	out_line(o, "\tRtMirror m[%d];", n + 1);
	out_line(o, "\tRtCudaFrame c = { cx, %s, m, place, result, v, %d, %d, 0, %s };", w->code, n, results,
		 w->plan->dynamic ? "s, (int)(at - s)" : "0, 0");
	out_line(o, "\n\tif (rt_cuda_begin(&c, arena, %s))\n\t\treturn cx->status;", w->plan->dynamic ?
		 arena_printf(w->arena, "at[%d]", w->plan->nspot) :
		 arena_printf(w->arena, "%lld", (long long)w->plan->arena));
}

static int
count_scopes(const Block *b)
{
	int n = 0;

	for NODES(m, b) {
		n += node_is(m, prim_Enter);
		for (int i = 0; i < m->nsub; i++)
			n += count_scopes(m->sub[i]);
	}
	return n;
}

/* Writes the function's body except the arena's declaration. */
static void
write_rest(Writer *w, Out *o)
{
	const Plan *p = w->plan;
	const char *end = p->gpu ? "\trt_cuda_end(&c);\n" : "";
	const Node *ret = p->graph->top->ret;
	const int scopes = count_scopes(p->graph->top);
	Buf b = { 0 };

	for (int i = 0; i < ret->nin; i++)
		buf_printf(&b, "%s, ", c_box(w, ret->in[i], true));
	if (p->gpu)
		write_unless(w, arena_printf(w->arena, "rt_cuda_finish(&c, %s)", w->all_returned ? "true" : "false"));
	write_trust_now(w);
	write_tables(w, o);
	buf_puts(&o->text, w->out.text.at ? w->out.text.at : "");
	out_line(o, "\t{\n\t\tIValue result[%d] = { %srt_none() };\n", ret->nin + 1, b.at ? b.at : "");
	out_line(o, "%s%s\t\trt_values_drop(v, NV);\n\t\trt_finish(reg, %s.nreg, result, %d);\n\t\treturn cx->status;\n"
		 "\t}", *end ? "\t" : "", end, w->code + 1, ret->nin);
	if (w->may_fail)
		out_line(o, "failed:\n%s%s\trt_values_drop(v, NV);\n\treturn cx->status;", end,
			 scopes ? "\trt_exit_all(cx, scope, nscope);\n" : "");
	if (trust_restarts(w)) {
		out_line(o, "again:\n%s\trt_values_drop(v, NV);", end);
		o->indent++;
		write_return_apart(o, true, arena_printf(w->arena, "rt_resume(cx, %s, 0, reg)", w->code));
		o->indent--;
	}
	buf_free(&b);
	buf_free(&w->out.text);
}

static void
write_values(const Plan *p, Out *o)
{
	const int scopes = count_scopes(p->graph->top);

	out_line(o, "\tenum { NV = %d };", p->nslot + 1);
	out_line(o, "\tIValue v[NV] = { { 0 } };");
	if (scopes)
		out_line(o, "\tRtWith scope[%d];\n\tint nscope = 0;", scopes);
}

static void
write_needs(Out *o)
{
	out_line(o, "\tif (!arena)\n\t\treturn RT_ERROR;");
}

const char *
emit_name(const Emit *e, const Function *fn, int index, const char *what)
{
	return out_name(e->cx->arena, arena_printf(e->cx->arena, "%s_%d_", what, index), fn->name);
}

const char *
emit_plan(Emit *e, Plan *p, int index, const char *code)
{
	const char *name = emit_name(e, p->fn, index, p->gpu ? "cuda" : "spec");
	Writer w = { .emit = e, .plan = p, .arena = e->cx->arena, .code = code, .out = { .indent = 1 },
		     .trust = trust_new(p) };
	Out *o = &e->plans;

	if (!e->library || !write_direct(&w, name))
		write_block(&w, p->graph->top);
	e->streamed = p->streamed > e->streamed ? p->streamed : e->streamed;
	out_line(o, "\n/* Specialization %d of %s%s: %d kernels, %d runtime calls, %d guards inside, arena %lld "
		 "bytes. */", index, out_name(e->cx->arena, "", p->fn->name), p->gpu ? " on the GPU" : "", p->kernels,
		 p->calls.n, p->guards, (long long)p->arena);
	out_line(o, "static int\n%s(RtCx *cx, IValue *reg)\n{", name);
	write_values(p, o);
	out_line(o, "\tchar *arena = rt_arena(cx, %lld);\n", (long long)p->arena);
	write_needs(o);
	if (p->gpu)
		write_frame(&w, o);
	write_rest(&w, o);
	out_line(o, "}");
	return name;
}

char *
plan_text(Emit *e, Plan *p, const char *code)
{
	Writer w = { .emit = e, .plan = p, .arena = e->cx->arena, .code = code, .out = { .indent = 1 },
		     .trust = trust_new(p) };
	Out rest = { 0 }, all = { 0 }, frame = { 0 };

	p->kernels = p->calls.n = p->guards = p->launches = p->host.n = 0;
	p->streamed = 0;
	write_block(&w, p->graph->top);
	e->streamed = p->streamed > e->streamed ? p->streamed : e->streamed;
	if (p->gpu)
		write_frame(&w, &frame);
	write_rest(&w, &rest);
	write_values(p, &all);
	buf_puts(&all.text, w.head.at ? w.head.at : "");
	out_blank(&all);
	write_needs(&all);
	buf_puts(&all.text, frame.text.at ? frame.text.at : "");
	buf_puts(&all.text, rest.text.at);
	buf_free(&frame.text);
	buf_free(&rest.text);
	buf_free(&w.head);
	return all.text.at;
}
