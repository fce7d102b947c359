/*
 * A specialized graph as a C function.
 *
 *    static int forward_0(RtCx *cx, IValue *reg)
 *
 * Steps stand in the order of the graph, each under the line of the model that it comes from.  Planned tensors are
 * addresses (arena + offset, weights, an argument's data); all other values are IValues in v[].  A kernel takes an array
 * of addresses; a call of the runtime takes boxes.  A failed guard puts what is live into registers and goes on in the
 * generic code.  What a loop carries, or an If gives, has a place of its own and is copied there at the end of a block.
 *
 * The function for the GPU has the same steps.  m[] are the buffers' mirrors there (rt/cuda.c): only what lies in the arena
 * may be newer on the device than here; all else is written through, so that boxes are always true.  Where the host reads
 * the arena, it asks for it (rt_cuda_home); what the host writes makes the mirror stale.
 */
#include "codegen.h"

#include <math.h>
#include <string.h>

typedef struct Writer {
	Emit *e;
	Plan *p;
	Out   out;
	Arena *a;
	const char *code;        /* C name of the generic code */
	Buf   head;              /* of a dynamic function: arrays of sizes */
	int   nhead;
	uint32_t line;           /* of the node being written, in code->place */
	int   ntemp;
} Writer;

static void write_block(Writer *, Block *);
static void write_op(Writer *, const Node *);

/* ---- names of things ------------------------------------------------------------------------------------------------- */

/* dims, then strides, as a static array. */
static const char *
geometry(Writer *w, const RtTensor *t)
{
	const char *name;
	Buf b = { 0 };

	if (!w->p->dynamic || !t->ndim)
		return emit_geometry(w->e, t->ndim, t->dims, t->strides);
	for (int i = 0; i < t->ndim; i++)
		buf_printf(&b, " %lld,", (long long)t->dims[i]);
	for (int i = 0; i < t->ndim; i++)
		buf_printf(&b, " %lld,", (long long)t->strides[i]);
	name = arena_printf(w->a, "g%d", w->nhead++);
	buf_printf(&w->head, "\tconst int64_t %s[] = {%s };\n", name, b.at);
	buf_free(&b);
	return name;
}

static int64_t
offset_bytes(const RtTensor *t)
{
	return t->offset * rt_dtypes[t->dtype].bytes;
}

static int
add_constant(void *arg, IValue v)
{
	return emit_value(((Writer *)arg)->e, v);
}

/* The index of a constant's value in kiln_values. */
static int
constant_index(Writer *w, IValue v)
{
	if (w->p->dynamic)
		return plan_constant(w->p, v, add_constant, w);

	const char *key = rt_counted(v) ? arena_printf(w->a, "%p", v.u.p) : NULL;
	const intptr_t known = key ? (intptr_t)map_get(&w->e->constant_index, key) : 0;
	int index;

	if (known)
		return (int)known - 1;
	index = emit_value(w->e, v);
	if (key)
		map_put(&w->e->constant_index, key, (void *)(intptr_t)(index + 1));
	return index;
}

static const char *
plus(Writer *w, const char *base, int64_t bytes)
{
	return bytes ? arena_printf(w->a, "%s + %lld", base, (long long)bytes) : base;
}

/* Where a buffer of the arena begins. */
static const char *
spot(Writer *w, const Buffer *b, int64_t at)
{
	return w->p->dynamic ? plus(w, arena_printf(w->a, "arena + at[%d]", b->spot), at) : plus(w, "arena", b->offset + at);
}

/* C expression of the address of a planned tensor's first element, and `more` bytes behind it. */
static const char *
address_at(Writer *w, const Value *v, int64_t more)
{
	const RtTensor *t = plan_tensor(w->p, v);
	const Buffer *b = plan_buffer(w->p, v);
	const int64_t at = offset_bytes(t) + more;

	switch (b->home) {
	case HOME_ARENA:
		return spot(w, b, at);
	case HOME_CONSTANT:
		return plus(w, arena_printf(w->a, "rt_data(kiln_values[%d].u.t)", constant_index(w, b->constant)), at - b->base);
	case HOME_INPUT:
		return plus(w, arena_printf(w->a, "rt_data(%s.u.t)", b->place), at - b->base);
	default:
		return plus(w, arena_printf(w->a, "rt_data(v[%d].u.t)", b->slot), at - b->base);
	}
}

static const char *
address(Writer *w, const Value *v)
{
	return address_at(w, v, 0);
}

/* The same where the host is going to read it. */
static const char *
host_address(Writer *w, const Value *v)
{
	const Buffer *b = plan_buffer(w->p, v);

	if (!w->p->gpu || b->home != HOME_ARENA)
		return address(w, v);
	return arena_printf(w->a, "rt_cuda_home(cx, &m[%d]) + %lld", b->index, (long long)offset_bytes(plan_tensor(w->p, v)));
}

/* The box that a buffer's tensors are views of. */
static const char *
base_box(Writer *w, const Buffer *b)
{
	if (b->home == HOME_CONSTANT)
		return arena_printf(w->a, "kiln_values[%d]", constant_index(w, b->constant));
	if (b->home == HOME_INPUT)
		return b->place;
	return arena_printf(w->a, "v[%d]", b->slot);
}

static bool
same_geometry(const RtTensor *a, const RtTensor *b)
{
	return a->dtype == b->dtype && a->ndim == b->ndim && a->offset == b->offset &&
	       !memcmp(a->dims, b->dims, (size_t)a->ndim * sizeof *a->dims) &&
	       !memcmp(a->strides, b->strides, (size_t)a->ndim * sizeof *a->strides);
}

/* Does the base box itself have this tensor's type? */
static bool
is_base(Writer *w, const Value *v, const Buffer *b)
{
	const RtTensor *t = plan_tensor(w->p, v);

	if (b->home == HOME_CONSTANT)
		return same_geometry(t, b->constant.u.t);
	for (int i = 0; i < graph_ninputs(w->p->graph); i++) {
		const Value *in = graph_inputs(w->p->graph)[i];

		if (b->home == HOME_INPUT && plan_buffer(w->p, in) == b)
			return same_geometry(t, plan_tensor(w->p, in));
	}
	return b->owner && plan_tensor(w->p, b->owner) && same_geometry(t, plan_tensor(w->p, b->owner));
}

/* A list in which there may be dynamic sizes. */
static const char *
list_of_ints(Writer *w, const RtList *l)
{
	Buf b = { 0 };
	const char *text;

	buf_printf(&b, "rt_list_of(cx, &rt_type_int, (IValue[%lld]){ ", (long long)l->n + 1);
	for (int64_t i = 0; i < l->n; i++)
		buf_printf(&b, "rt_int(%lld), ", (long long)l->v[i].u.i);
	buf_printf(&b, "rt_none() }, %lld)", (long long)l->n);
	text = arena_strdup(w->a, b.at);
	buf_free(&b);
	return text;
}

/* A C expression for a new reference to v as an IValue; `keep`: it may outlive this step. */
static const char *
box(Writer *w, const Value *v, bool keep)
{
	const RtTensor *t = plan_tensor(w->p, v);
	const Buffer *b = plan_buffer(w->p, v);
	const Known *k = known_at(w->p->known, v);

	if (!b) {
		if (node_is(v->node, "prim::Constant")) {
			IValue c = k->v;

			if (c.tag == RT_NONE || !value_constant(v, &c) || c.tag == RT_NONE)
				return "rt_none()";
			if (c.tag == RT_INT && c.u.i > INT32_MIN && c.u.i <= INT32_MAX)
				return arena_printf(w->a, "rt_int(%lld)", (long long)c.u.i);
			if (w->p->dynamic && c.tag == RT_DOUBLE && c.u.f - c.u.f == 0)
				return arena_printf(w->a, "rt_double(%.17g%s)", c.u.f, c.u.f == floor(c.u.f) ? ".0" : "");
			if (w->p->dynamic && c.tag == RT_LIST && c.u.list->elem->kind == TYPE_INT)
				return list_of_ints(w, c.u.list);
			if (c.tag == RT_BOOL)
				return arena_printf(w->a, "rt_bool(%d)", c.u.i != 0);
			return arena_printf(w->a, "rt_retain(kiln_values[%d])", constant_index(w, c));
		}
		if (v->node == w->p->graph->top->param)
			return arena_printf(w->a, "rt_retain(reg[%d])", v->index);
		if (w->p->slot[v->id] < 0)
			BUG("no place for a value of %s", v->node->kind->name);
		return arena_printf(w->a, "rt_retain(v[%d])", w->p->slot[v->id]);
	}
	if (b->home == HOME_ARENA)
		return arena_printf(w->a, keep ? "rt_box_copy(cx, RT_%s, %d, %s, %s, %lld)" : "rt_box_borrow(cx, RT_%s, %d, %s, %s)",
				    rt_dtypes[t->dtype].name, t->ndim, geometry(w, t), host_address(w, v),
				    (long long)(b->bytes - offset_bytes(t)));
	if (is_base(w, v, b))
		return arena_printf(w->a, "rt_retain(%s)", base_box(w, b));
	return arena_printf(w->a, "rt_box_view(cx, %s, RT_%s, %d, %s, %lld)", base_box(w, b), rt_dtypes[t->dtype].name, t->ndim,
			    geometry(w, t), (long long)((offset_bytes(t) - b->base) / rt_dtypes[t->dtype].bytes));
}

/* ---- steps ---------------------------------------------------------------------------------------------------------------- */

/* Index of the node's line in the generic code's places: the errors' and guards' source. */
static uint32_t
place_of(Writer *w, const Node *n)
{
	const RtCode *c = w->p->fn->code;
	const int line = n->at.src ? range_line(n->at) : 0;
	const uint32_t *row = emit_places(w->e, c)->row;
	uint32_t found = 0;

	/* One that the program has, if there is one. */
	for (int i = 1; line && i < c->nplace_name && !row[found]; i++)
		if (c->place[i].line == line && c->place[i].text && c->place[i].file &&
		    strstr(n->at.src->name, c->place[i].file) && (!found || row[i]))
			found = (uint32_t)i;
	return found;
}

/* The same in the program. */
static uint32_t
place_row(Writer *w)
{
	return emit_places(w->e, w->p->fn->code)->row[w->line];
}

static void
comment_node(Writer *w, const Node *n)
{
	const RtCode *c = w->p->fn->code;
	const uint32_t line = place_of(w, n);
	Buf b = { 0 };

	if (line && line != w->line && w->e->source && c->place[line].text) {
		const char *text = c->place[line].text;

		while (*text == ' ')
			text++;
		out_comment(&b, text, 110);
		out_line(&w->out, "/* %s */", b.at ? b.at : "");
	}
	w->line = line;
	buf_free(&b);
}

/* Boxes that heap buffers need before a kernel writes to them. */
static void
make_boxes(Writer *w, const Node *n, int step)
{
	for (int i = 0; i < n->nout; i++) {
		Buffer *b = plan_buffer(w->p, n->out[i]);
		const RtTensor *t = plan_tensor(w->p, n->out[i]);

		if (!b || b->home != HOME_BOX || b->first != step)
			continue;
		b->owner = n->out[i];
		out_line(&w->out, "rt_assign(&v[%d], rt_box_new(cx, RT_%s, %d, %s));", b->slot, rt_dtypes[t->dtype].name, t->ndim,
			 geometry(w, t));
		out_line(&w->out, "if (cx->status)");
		out_line(&w->out, "\tgoto failed;");
	}
}

/* The kernel met an index out of range: the generic one says so. */
static void
write_check(Writer *w, const Node *n)
{
	out_open(&w->out, "if (wrong)");
	write_op(w, n);
	w->p->calls--;
	out_close(&w->out, "");
}

/* What an address is, for the reader: "h0 (3, 64)".  Texts of several samples must agree: nothing in a dynamic plan. */
static const char *
remark(Writer *w, const KernelArg *arg)
{
	const RtTensor *t = arg->value ? plan_tensor(w->p, arg->value) : NULL;
	const char *text;
	Buf b = { 0 };

	if (w->p->dynamic)
		return "";
	buf_puts(&b, "/* ");
	if (arg->what)
		out_comment(&b, arg->what, 100);
	if (arg->value && arg->value->name)
		out_comment(&b, arg->value->name->name, 60);
	if (t) {
		buf_puts(&b, arg->value->name ? " (" : "(");
		for (int i = 0; i < t->ndim; i++)
			buf_printf(&b, "%s%lld", i ? ", " : "", (long long)t->dims[i]);
		buf_puts(&b, ")");
	}
	buf_puts(&b, " */");
	text = b.n > 6 ? arena_strdup(w->a, b.at) : "";
	buf_free(&b);
	return text;
}

/* An argument of a kernel as the C expression of an address; numbers are put into variables before. */
static const char *
launch_argument(Writer *w, const KernelArg *arg, int *scalars)
{
	const Value *v = arg->value;

	if (!v)
		return !strcmp(arg->text, "0") || !strcmp(arg->text, "kiln_zeros") ? arg->text : arena_printf(w->a, "(void *)%s", arg->text);
	if (plan_is_planned(w->p, v))
		return address_at(w, v, arg->offset);
	out_line(&w->out, "double s%d = rt_number(%s);", *scalars,
		 v->node == w->p->graph->top->param ? arena_printf(w->a, "reg[%d]", v->index) :
						      arena_printf(w->a, "v[%d]", w->p->slot[v->id]));
	return arena_printf(w->a, "&s%d", (*scalars)++);
}

/* One launch: void *p[] = { addresses }; rt_launch(...) */
static void
write_launch(Writer *w, const Node *n, const KernelCall *call)
{
	const char **text = new(w->a, const char *, call->args.n + 1);
	int scalars = 0;

	out_line(&w->out, "{");
	w->out.indent++;
	for (int i = 0; i < call->args.n; i++)
		text[i] = launch_argument(w, &call->args.at[i], &scalars);
	if (call->checked)
		out_line(&w->out, "int wrong = 0;");
	out_line(&w->out, "void *p[] = {");
	for (int i = 0; i < call->args.n; i++) {
		const char *what = remark(w, &call->args.at[i]);

		out_line(&w->out, *what ? "\t%-34s %s" : "\t%s", arena_printf(w->a, "%s,", text[i]), what);
	}
	out_line(&w->out, "};");
	out_line(&w->out, "rt_launch(cx, \"%s\", %s, %lld, %s, p);", call->name, call->n_text ? call->n_text :
		 arena_printf(w->a, "%lld", (long long)call->n), (long long)call->grain, call->name);
	if (call->checked)
		write_check(w, n);
	w->out.indent--;
	out_line(&w->out, "}");
	w->p->kernels++;
}

/* The first byte of a planned tensor's buffer on the host. */
static const char *
buffer_address(Writer *w, const Value *v)
{
	return arena_printf(w->a, "%s - %lld", address(w, v), (long long)offset_bytes(plan_tensor(w->p, v)));
}

/* RtCudaArg p[] = { mirrors and numbers }; rt_cuda_launch(...) */
static void
write_cuda_launch(Writer *w, const Node *n, const CudaCall *call)
{
	out_line(&w->out, "{");
	w->out.indent++;
	out_line(&w->out, "const RtCudaArg p[%d] = {", call->args.n);
	for (int i = 0; i < call->args.n; i++) {
		const Value *v = call->args.at[i];
		const Buffer *b = plan_buffer(w->p, v);
		const char *use = i >= call->nout ? "RT_CUDA_READ" : b->first >= w->p->step[n->id] ? "RT_CUDA_FILL" : "RT_CUDA_WRITE";

		if (b)
			out_line(&w->out, "\t{ &m[%d], %s, %lld, 0, %s },", b->index, buffer_address(w, v),
				 (long long)offset_bytes(plan_tensor(w->p, v)), use);
		else
			out_line(&w->out, "\t{ 0, 0, 0, rt_number(%s), RT_CUDA_READ },", v->node == w->p->graph->top->param ?
				 arena_printf(w->a, "reg[%d]", v->index) : arena_printf(w->a, "v[%d]", w->p->slot[v->id]));
	}
	out_line(&w->out, "};");
	out_line(&w->out, "if (rt_cuda_launch(cx, %d, %lld, %lld, %lld, p, %d))\t/* %s */", call->kernel, (long long)call->grid[0],
		 (long long)call->grid[1], (long long)call->grid[2], call->args.n, w->e->cuda_kernels.at[call->kernel]);
	out_line(&w->out, "\tgoto failed;");
	w->out.indent--;
	out_line(&w->out, "}");
	w->p->kernels++;
}

static bool
write_cuda_kernel(Writer *w, const Node *n)
{
	const Node *group = w->p->epilogue[n->id];
	CudaCall call;

	if (!emit_cuda(w->e, w->p, n, group, &call)) {
		if (group || plan_buffer(w->p, n->out[0])->home == HOME_ARENA)
			fail_lacks(w->e->cx, n->at, "a CUDA kernel of %s", n->kind->name);
		return false;
	}
	make_boxes(w, group ? group : n, w->p->step[n->id]);
	write_cuda_launch(w, n, &call);
	return true;
}

bool
emit_kernel_calls(Emit *e, Plan *p, const Node *n, KernelCall *calls, int *ncall)
{
	const Node *group = p->epilogue[n->id];

	*ncall = 1;
	if (node_is_map(n) ? emit_map(e, p, n, calls) :
	    node_is_dense(p, n) ? emit_dense(e, p, n, group, calls, ncall) : emit_row(e, p, n, calls, ncall))
		return true;
	if (group)
		BUG("the epilogue of %s does not fit", n->kind->name);
	return false;
}

static bool
write_kernel(Writer *w, const Node *n)
{
	const Node *group = w->p->epilogue[n->id];
	KernelCall *calls;
	int ncall = 1;

	if (w->p->gpu)
		return write_cuda_kernel(w, n);
	if (w->p->dynamic) {
		calls = w->p->dynamic->calls[n->id];
		ncall = w->p->dynamic->ncall[n->id];
	} else {
		calls = new(w->a, KernelCall, MAX_KERNEL_CALLS);
		if (!emit_kernel_calls(w->e, w->p, n, calls, &ncall))
			return false;
	}
	make_boxes(w, group ? group : n, w->p->step[n->id]);
	for (int i = 0; i < ncall; i++)
		write_launch(w, n, &calls[i]);
	return true;
}

static void
failed_unless(Writer *w, const char *call)
{
	out_line(&w->out, "if (%s)", call);
	out_line(&w->out, "\tgoto failed;");
}

/* IValue in[n] = { ... };  count of them.  (tcc cannot count the elements of an array of structs itself.) */
static int
write_inputs(Writer *w, const Node *n, bool keep)
{
	const Schema *s = n->op ? node_schema(n) : NULL;
	const int fixed = s && s->vararg ? s->nargs : n->nin;
	int count;
	Buf b = { 0 };

	for (int i = 0; i < fixed; i++)
		buf_printf(&b, "%s%s", i ? ", " : "", box(w, n->in[i], keep));
	if (s && s->vararg) {
		buf_printf(&b, "%srt_list_of(cx, &rt_type_any, (IValue[%d]){ ", fixed ? ", " : "", n->nin - fixed + 1);
		for (int i = fixed; i < n->nin; i++)
			buf_printf(&b, "%s, ", box(w, n->in[i], true));
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

static void
host_wrote(Writer *w, const Buffer *b)
{
	if (w->p->gpu)
		out_line(&w->out, "rt_cuda_stale(&m[%d], 1);", b->index);
}

/* Does a call of the runtime change nothing that was there before? */
static bool
changes_nothing(const Node *n)
{
	return n->op && !node_writes(n) && n->op->form != OP_BODY && !node_has_effect(n);
}

/* Results of a call go to got[], then to their slots; results that are views of something planned are dropped. */
static void
write_outputs(Writer *w, const Node *n)
{
	for (int i = 0; i < n->nout; i++) {
		Buffer *b = plan_buffer(w->p, n->out[i]);

		if (b && b->home == HOME_BOX && b->first == w->p->step[n->id] && b->slot >= 0 && !b->owner) {
			b->owner = n->out[i];
			out_line(&w->out, "rt_assign(&v[%d], got[%d]);", b->slot, i);
			host_wrote(w, b);
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
	failed_unless(w, arena_printf(w->a, "%s, in, %d, got, %d, %s, %u)", how, nin, n->nout, w->code, place_row(w)));
	write_outputs(w, n);
	if (w->p->gpu && !changes_nothing(n))
		out_line(&w->out, "rt_cuda_stale(m, %d);", w->p->buffers.n);
	w->out.indent--;
	out_line(&w->out, "}");
	w->p->calls++;
}

static const char *
kernel_symbol(Writer *w, const Node *n)
{
	const char *symbol = op_kernel_symbol(w->e->cx, n->op);

	if (!map_get(&w->e->kernel_names, symbol)) {
		map_put(&w->e->kernel_names, symbol, (void *)(uintptr_t)symbol);
		out_line(&w->e->types, "RtKernel %s;", symbol);
	}
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
	write_call(w, n, arena_printf(w->a, "rt_step_store(cx, %s, (const int[%d]){ %s }, %d, %d, %s",
				      emit_code(w->e, base->function->code), of->nargs + !of->nargs, of->nargs ? from : "0", of->nargs,
				      of->nrets, kernel_symbol(w, n)), false);
}

static void
write_op(Writer *w, const Node *n)
{
	Op *base = op_body(w->e->cx, n->op);

	if (base && base != n->op)
		write_stored_body(w, n, base);
	else if (n->op->form == OP_BODY)
		write_call(w, n, arena_printf(w->a, "rt_step_call(cx, %s", emit_code(w->e, n->op->function->code)), true);
	else
		write_call(w, n, arena_printf(w->a, "rt_step(cx, %s", kernel_symbol(w, n)), false);
}

/* A C expression of a value that is no planned tensor, without a reference of its own. */
static const char *
peek(Writer *w, const Value *v)
{
	IValue c;

	if (node_is(v->node, "prim::Constant") && value_constant(v, &c))
		return arena_printf(w->a, "kiln_values[%d]", constant_index(w, c));
	if (v->node == w->p->graph->top->param)
		return arena_printf(w->a, "reg[%d]", v->index);
	return arena_printf(w->a, "v[%d]", w->p->slot[v->id]);
}

static int
count_scopes(const Block *b)
{
	int n = 0;

	for NODES(m, b) {
		n += node_is(m, "prim::Enter");
		for (int i = 0; i < m->nsub; i++)
			n += count_scopes(m->sub[i]);
	}
	return n;
}

/* ---- prim ------------------------------------------------------------------------------------------------------------------- */

static void
assign_slot(Writer *w, const Value *v, const char *expression)
{
	out_line(&w->out, "rt_assign(&v[%d], %s);", w->p->slot[v->id], expression);
}

static void
write_sequence(Writer *w, const Node *n)
{
	const bool list = node_is(n, "prim::ListConstruct");
	const Type *t = type_unshaped(w->e->cx, n->out[0]->type);
	Buf b = { 0 };

	/* A list that only a kernel reads is written where it is read: boxes may borrow then. */
	for (int i = 0; i < n->nin; i++) {
		const Buffer *in = plan_buffer(w->p, n->in[i]);

		buf_printf(&b, "%s, ", box(w, n->in[i], in && in->escapes));
	}
	if (list)
		assign_slot(w, n->out[0], arena_printf(w->a, "rt_list_of(cx, %s, (IValue[%d]){ %srt_none() }, %d)",
						       emit_type(w->e, t->of[0]), n->nin + 1, b.at ? b.at : "", n->nin));
	else
		assign_slot(w, n->out[0], arena_printf(w->a, "rt_tuple_of(cx, %s, (IValue[%d]){ %srt_none() }, %d)",
						       t->field ? emit_type(w->e, t) : "0", n->nin + 1, b.at ? b.at : "", n->nin));
	out_line(&w->out, "if (cx->status)");
	out_line(&w->out, "\tgoto failed;");
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
	out_line(&w->out, "scope[nscope++] = (RtWith){ %s, %s };", method_code(w, n, "__exit__"), peek(w, n->in[0]));
	write_call(w, n, arena_printf(w->a, "rt_step_call(cx, %s", method_code(w, n, "__enter__")), true);
}

static void
write_exit(Writer *w, const Node *n)
{
	failed_unless(w, arena_printf(w->a, "rt_step_exit(cx, &scope[--nscope], %s, %u)", w->code, place_row(w)));
	if (w->p->gpu)
		out_line(&w->out, "rt_cuda_stale(m, %d);", w->p->buffers.n);
	if (n->nout)
		assign_slot(w, n->out[0], "rt_none()");
}

static const char *
string_of(Writer *w, const char *text)
{
	Buf b = { 0 };
	const char *s;

	out_string(&b, text, (int64_t)strlen(text));
	s = arena_strdup(w->a, b.at);
	buf_free(&b);
	return s;
}

/* Anything else that the interpreter has an instruction for. */
static void
write_prim(Writer *w, const Node *n)
{
	const Type *t;

	if (node_is(n, "prim::TupleConstruct") || node_is(n, "prim::ListConstruct")) {
		write_sequence(w, n);
	} else if (node_is(n, "prim::TupleUnpack") || node_is(n, "prim::ListUnpack")) {
		write_call(w, n, node_is(n, "prim::TupleUnpack") ? "rt_step_unpack(cx, false" : "rt_step_unpack(cx, true", false);
	} else if (node_is(n, "prim::TupleIndex")) {
		write_call(w, n, "rt_step_index(cx, 0", false);
	} else if (node_is(n, "prim::TupleSlice")) {
		write_call(w, n, arena_printf(w->a, "rt_step_slice(cx, %lld", (long long)(node_int(n, "beg", 0) << 16 | node_int(n, "end", 0))), false);
	} else if (node_is(n, "prim::isinstance")) {
		const Attr *of = node_attr(n, "types");

		t = of->ntypes == 1 ? of->types[0] : type_union(w->e->cx, of->types, of->ntypes);
		write_call(w, n, arena_printf(w->a, "rt_step_isinstance(cx, %s", emit_type(w->e, type_unshaped(w->e->cx, t))), false);
	} else if (node_is(n, "prim::DictConstruct")) {
		t = type_unshaped(w->e->cx, n->out[0]->type);
		write_call(w, n, arena_printf(w->a, "rt_step_dict(cx, %s", emit_type(w->e, t)), true);
	} else if (node_is(n, "prim::GetAttr")) {
		write_call(w, n, arena_printf(w->a, "rt_step_get(cx, %d", rt_slot(n->in[0]->type->cls, node_str(n, "name"))), true);
	} else if (node_is(n, "prim::SetAttr")) {
		write_call(w, n, arena_printf(w->a, "rt_step_set(cx, %d", rt_slot(n->in[0]->type->cls, node_str(n, "name"))), true);
	} else if (node_is(n, "prim::unchecked_cast") || node_is(n, "prim::unchecked_unwrap_optional")) {
		write_call(w, n, "rt_step_same(cx, 0", true);
	} else if (node_is(n, "prim::Uninitialized")) {
		assign_slot(w, n->out[0], "rt_none()");
	} else if (node_is(n, "prim::RaiseException")) {
		write_call(w, n, "rt_step_raise(cx, 0", false);
	} else if (node_is(n, "prim::Enter")) {
		write_enter(w, n);
	} else if (node_is(n, "prim::Exit")) {
		write_exit(w, n);
	} else if (node_is(n, "prim::fork") || node_is(n, "prim::awaitable")) {
		write_call(w, n, arena_printf(w->a, "rt_step_fork(cx, %s", emit_code(w->e, node_attr(n, "function")->fn->code)), true);
	} else if (node_is(n, "aten::wait") || node_is(n, "aten::awaitable_wait")) {
		write_call(w, n, "rt_step_wait(cx, 0", false);
	} else if (node_is(n, "prim::CreateObject")) {
		write_call(w, n, arena_printf(w->a, "rt_step_object(cx, %s", emit_class(w->e, n->out[0]->type->cls)), false);
	} else if (node_is(n, "prim::CallMethod") && !node_attr(n, "function")) {
		write_call(w, n, arena_printf(w->a, "rt_step_method(cx, %s", string_of(w, node_str(n, "name"))), true);
	} else if (node_is(n, "prim::CallFunction") || node_is(n, "prim::CallMethod")) {
		const Attr *f = node_attr(n, "function");

		if (!f || !f->fn || !f->fn->code)
			fail_lacks(w->e->cx, n->at, "a specialization with %s", n->kind->name);
		write_call(w, n, arena_printf(w->a, "rt_step_call(cx, %s", emit_code(w->e, f->fn->code)), true);
	} else {
		fail_lacks(w->e->cx, n->at, "a specialization with %s", n->kind->name);
	}
}

/* ---- guards ------------------------------------------------------------------------------------------------------------------- */

/* The index of v's buffer among those in the arena that several live values lie in; -1: none. */
static int
shared_at(Writer *w, Buffer *const *shared, int n, const Value *v)
{
	const Buffer *b = plan_buffer(w->p, v);

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
		Buffer *b = plan_buffer(w->p, n->in[i]);

		for (int k = 1; k < i && b && b->home == HOME_ARENA; k++)
			if (plan_buffer(w->p, n->in[k]) == b && shared_at(w, shared, count, n->in[i]) < 0)
				shared[count++] = b;
	}
	return count;
}

/* What is live; tensors that share a buffer of the arena share the copy of it. */
static void
write_live(Writer *w, const Node *n)
{
	Buffer **shared = new(w->a, Buffer *, n->nin + 1);
	const int count = find_shared(w, n, shared);
	Buf b = { 0 };

	for (int i = 0; i < count; i++)
		out_line(&w->out, "const IValue copy_%d = rt_box_copy(cx, RT_u8, 0, 0, %s, %lld);", i, w->p->gpu ?
			 arena_printf(w->a, "rt_cuda_home(cx, &m[%d])", shared[i]->index) :
			 spot(w, shared[i], 0), (long long)shared[i]->bytes);
	for (int i = 1; i < n->nin; i++) {
		const RtTensor *t = plan_tensor(w->p, n->in[i]);
		const int at = shared_at(w, shared, count, n->in[i]);

		buf_printf(&b, "%s%s", i > 1 ? ", " : "", at < 0 ? box(w, n->in[i], true) :
			   arena_printf(w->a, "rt_box_view(cx, copy_%d, RT_%s, %d, %s, %lld)", at, rt_dtypes[t->dtype].name, t->ndim,
					geometry(w, t), (long long)t->offset));
	}
	out_line(&w->out, "const IValue live[%d] = { %s };", n->nin > 1 ? n->nin - 1 : 1, b.at ? b.at : "rt_none()");
	for (int i = 0; i < count; i++)
		out_line(&w->out, "rt_release(copy_%d);", i);
	buf_free(&b);
}

static void
write_bailout(Writer *w, const Node *n)
{
	const RtTensor *t = plan_tensor(w->p, n->out[0]);
	const Attr *regs = node_attr(n, "regs");
	Buffer *b = plan_buffer(w->p, n->out[0]);
	Buf list = { 0 };
	Buf why = { 0 };

	assign_slot(w, n->out[0], box(w, n->in[0], true));
	b->slot = w->p->slot[n->out[0]->id];
	b->home = HOME_BOX;
	b->owner = n->out[0];
	host_wrote(w, b);
	for (int64_t i = 0; i < regs->v.u.list->n; i++)
		buf_printf(&list, "%lld, ", (long long)regs->v.u.list->v[i].u.i);
	out_open(&w->out, "if (!rt_is_tensor_of(v[%d], RT_%s, %d, %s, %s%s%d))", b->slot, rt_dtypes[t->dtype].name, t->ndim,
		 geometry(w, t), geometry(w, t), t->ndim ? " + " : " + 0*", t->ndim);
	out_line(&w->out, "static const int regs[] = { %s0 };", list.at ? list.at : "");
	write_live(w, n);
	out_string(&why, type_print(w->e->cx, n->out[0]->type), (int64_t)strlen(type_print(w->e->cx, n->out[0]->type)));
	if (w->p->gpu)
		out_line(&w->out, "rt_cuda_end(cx, m, %d);", w->p->buffers.n);
	out_line(&w->out, "return rt_bail(cx, %s, %lld, reg, regs, live, %d, v, NV, %s, %u);", w->code,
		 (long long)node_int(n, "pc", 0), n->nin - 1, why.at, place_row(w));
	out_close(&w->out, "");
	w->p->guards++;
	buf_free(&list);
	buf_free(&why);
}

/* ---- control flow --------------------------------------------------------------------------------------------------------------- */

static const char *
truth(Writer *w, const Value *v)
{
	int64_t i;

	if (known_int(w->p->known, v, &i))
		return i ? "true" : "false";
	if (v->node == w->p->graph->top->param)
		return arena_printf(w->a, "reg[%d].u.i", v->index);
	return arena_printf(w->a, "v[%d].u.i", w->p->slot[v->id]);
}

/* A carried tensor that somebody may keep (a list) gets a tensor of its own on every trip. */
static void
renew_box(Writer *w, const Value *carried)
{
	const Buffer *b = plan_buffer(w->p, carried);
	const RtTensor *t = plan_tensor(w->p, carried);

	if (b->home != HOME_BOX || !b->escapes || carried->node != carried->node->block->param)
		return;
	out_line(&w->out, "rt_assign(&v[%d], rt_box_new(cx, RT_%s, %d, %s));", b->slot, rt_dtypes[t->dtype].name, t->ndim, geometry(w, t));
	out_line(&w->out, "if (cx->status)");
	out_line(&w->out, "\tgoto failed;");
}

/* Gives `to` the value of `from`: planned tensors by a copy of their bytes, others by a reference.  Several at once: all
 * are read before any is written. */
static void
write_moves(Writer *w, Value *const *to, Value *const *from, int n)
{
	Buf b = { 0 };
	bool slots = false;

	for (int i = 0; i < n; i++) {
		const Buffer *t = plan_buffer(w->p, to[i]);

		buf_printf(&b, "%s, ", t ? "rt_none()" : box(w, from[i], true));
		slots |= !t;
	}
	if (slots) {
		out_line(&w->out, "{");
		w->out.indent++;
		out_line(&w->out, "const IValue next[%d] = { %s };", n, b.at);
	}
	for (int i = 0; i < n; i++) {
		const Buffer *t = plan_buffer(w->p, to[i]);

		if (t && t != plan_buffer(w->p, from[i]) && w->p->gpu)
			out_line(&w->out, "rt_cuda_move(cx, &m[%d], %s, %lld, &m[%d], %s, %lld, %lld);", t->index,
				 buffer_address(w, to[i]), (long long)offset_bytes(plan_tensor(w->p, to[i])),
				 plan_buffer(w->p, from[i])->index, buffer_address(w, from[i]),
				 (long long)offset_bytes(plan_tensor(w->p, from[i])),
				 (long long)(t->bytes - offset_bytes(plan_tensor(w->p, to[i]))));
		else if (t && t != plan_buffer(w->p, from[i])) {
			renew_box(w, to[i]);
			out_line(&w->out, "rt_move(%s, %s, %lld);", address(w, to[i]), address(w, from[i]),
				 (long long)(t->bytes - offset_bytes(plan_tensor(w->p, to[i]))));
		}
	}
	for (int i = 0; i < n; i++)
		if (!plan_buffer(w->p, to[i]))
			out_line(&w->out, "rt_assign(&v[%d], next[%d]);", w->p->slot[to[i]->id], i);
	if (slots) {
		w->out.indent--;
		out_line(&w->out, "}");
	}
	buf_free(&b);
}

static void
write_if(Writer *w, const Node *n)
{
	make_boxes(w, n, w->p->step[n->id]);
	out_open(&w->out, "if (%s)", truth(w, n->in[0]));
	write_block(w, n->sub[0]);
	write_moves(w, n->out, n->sub[0]->ret->in, n->nout);
	w->out.indent--;
	out_open(&w->out, "} else");
	write_block(w, n->sub[1]);
	write_moves(w, n->out, n->sub[1]->ret->in, n->nout);
	out_close(&w->out, "");
}

static const char *
trip_count(Writer *w, const Value *v)
{
	int64_t i;

	return known_int(w->p->known, v, &i) ? arena_printf(w->a, "%lldLL", (long long)i) : truth(w, v);
}

/* Carried tensors have one place each; two that would read what the other has overwritten go through copies. */
static void
write_loop(Writer *w, const Node *n)
{
	Block *body = n->sub[0];
	const int id = w->ntemp++;

	make_boxes(w, n, w->p->step[n->id]);
	for (int i = 1; i < body->param->nout; i++) {
		Buffer *b = plan_buffer(w->p, body->param->out[i]);

		if (b && b->home == HOME_BOX)
			make_boxes(w, body->param, w->p->step[n->id]);
	}
	write_moves(w, body->param->out + 1, n->in + 2, n->nout);
	out_line(&w->out, "bool go_%d = %s;", id, truth(w, n->in[1]));
	out_open(&w->out, "for (int64_t i_%d = 0, n_%d = %s; go_%d && i_%d < n_%d; i_%d++)", id, id, trip_count(w, n->in[0]), id, id,
		 id, id);
	assign_slot(w, body->param->out[0], arena_printf(w->a, "rt_int(i_%d)", id));
	write_block(w, body);
	out_line(&w->out, "go_%d = %s;", id, truth(w, body->ret->in[0]));
	write_moves(w, body->param->out + 1, body->ret->in + 1, n->nout);
	out_close(&w->out, "");
	write_moves(w, n->out, body->param->out + 1, n->nout);
}

static void
write_node(Writer *w, Node *n)
{
	if (!plan_needs_step(w->p, n))
		return;
	comment_node(w, n);
	if (node_is(n, "prim::If"))
		write_if(w, n);
	else if (node_is(n, "prim::Loop"))
		write_loop(w, n);
	else if (node_is(n, "prim::BailOut"))
		write_bailout(w, n);
	else if (plan_is_kernel(w->p, n)) {
		/* Its result has a planned place that no call of the runtime would fill. */
		if (!write_kernel(w, n))
			fail_lacks(w->e->cx, n->at, "a kernel for %s of this form", n->kind->name);
	} else if (n->op)
		write_op(w, n);
	else
		write_prim(w, n);
}

static void
write_block(Writer *w, Block *b)
{
	for NODES(n, b)
		write_node(w, n);
}

/* ---- the function -------------------------------------------------------------------------------------------------------------------- */

/* static const RtCudaPlace places_..[]: of every buffer, its bytes and its place in the arena. */
static void
write_places(Emit *e, const Plan *p, const char *name)
{
	out_line(&e->plans, "static const RtCudaPlace %s_place[] = {", name);
	for (int i = 0; i < p->buffers.n; i++)
		out_line(&e->plans, "\t{ %lld, %lld },", (long long)p->buffers.at[i]->bytes,
			 p->buffers.at[i]->home == HOME_ARENA ? (long long)p->buffers.at[i]->offset : -1LL);
	out_line(&e->plans, "\t{ 0, 0 }\n};");
}

/* Everything between the braces, but for the arena. */
static void
write_rest(Writer *w, Out *o)
{
	const Plan *p = w->p;
	const char *end = p->gpu ? arena_printf(w->a, "\trt_cuda_end(cx, m, %d);\n", p->buffers.n) : "";
	const Node *ret = p->graph->top->ret;
	const int scopes = count_scopes(p->graph->top);
	Buf b = { 0 };

	for (int i = 0; i < ret->nin; i++)
		buf_printf(&b, "%s, ", box(w, ret->in[i], true));
	buf_puts(&o->text, w->out.text.at ? w->out.text.at : "");
	out_line(o, "\t{\n\t\tIValue result[%d] = { %srt_none() };\n", ret->nin + 1, b.at ? b.at : "");
	out_line(o, "%s%s\t\trt_values_drop(v, NV);\n\t\trt_finish(reg, %s.nreg, result, %d);\n\t\treturn cx->status;\n\t}",
		 *end ? "\t" : "", end, w->code + 1, ret->nin);
	if (w->out.text.at && strstr(w->out.text.at, "goto failed"))
		out_line(o, "failed:\n%s%s\trt_values_drop(v, NV);\n\treturn cx->status;", end,
			 scopes ? "\trt_exit_all(cx, scope, nscope);\n" : "");
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

const char *
emit_plan(Emit *e, Plan *p, int index, const char *code)
{
	const char *name = arena_printf(e->cx->arena, "%s_%d%s", out_name(e->cx->arena, "", p->fn->name), index, p->gpu ? "_cuda" : "");
	Writer w = { .e = e, .p = p, .a = e->cx->arena, .code = code, .out = { .indent = 1 } };
	Out *o = &e->plans;

	write_block(&w, p->graph->top);
	out_line(o, "\n/* Specialization %d of %s%s: %d kernels, %d runtime calls, %d guards inside, arena %lld bytes. */", index,
		 out_name(e->cx->arena, "", p->fn->name), p->gpu ? " on the GPU" : "", p->kernels, p->calls, p->guards, (long long)p->arena);
	if (p->gpu)
		write_places(e, p, name);
	out_line(o, "static int\n%s(RtCx *cx, IValue *reg)\n{", name);
	write_values(p, o);
	out_line(o, "\tchar *arena = rt_arena(cx, %lld);\n", (long long)p->arena);
	out_line(o, "\tif (!arena)\n\t\treturn RT_ERROR;");
	if (p->gpu) {
		out_line(o, "\tRtMirror m[%d];", p->buffers.n + 1);
		out_line(o, "\n\tif (rt_cuda_begin(cx, m, %s_place, %d, arena, %lld))\n\t\treturn cx->status;", name, p->buffers.n,
			 (long long)p->arena);
	}
	write_rest(&w, o);
	out_line(o, "}");
	return name;
}

char *
plan_text(Emit *e, Plan *p, const char *code)
{
	Writer w = { .e = e, .p = p, .a = e->cx->arena, .code = code, .out = { .indent = 1 } };
	Out rest = { 0 }, all = { 0 };

	p->kernels = p->calls = p->guards = 0;
	write_block(&w, p->graph->top);
	write_rest(&w, &rest);
	write_values(p, &all);
	buf_puts(&all.text, w.head.at ? w.head.at : "");
	out_line(&all, "\n\tif (!arena)\n\t\treturn RT_ERROR;");
	buf_puts(&all.text, rest.text.at);
	buf_free(&rest.text);
	buf_free(&w.head);
	return all.text.at;
}
