/*
 * Writes steps that run a kernel: an array of addresses, then rt_launch, or rt_cuda_launch for the GPU.
 */
#include "../kernel/lower.h"
#include "writer.h"

#include <string.h>

/* Writes a check of the flag for an index out of range. If it is set, the runtime's kernel runs and raises the
 * error. */
static void
write_check(Writer *w, const Node *n)
{
	if (w->plan->bare) {
		out_line(&w->out, "if (wrong)");
		out_line(&w->out, "\treturn 1;");
		return;
	}
	out_open(&w->out, "if (wrong)");
	write_op(w, n);
	w->plan->calls.n--;
	w->plan->host.n -= w->plan->gpu;
	out_close(&w->out);
}

/* Returns a comment for an address: "h0 (3, 64)". Dynamic plans have no such comments, because the samples' texts must
 * agree. */
static const char *
remark(Writer *w, const KernelArg *arg)
{
	const RtTensor *t = arg->value ? plan_tensor(w->plan, arg->value) : NULL;
	const char *text;
	Buf b = { 0 };

	if (w->plan->dynamic)
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
	text = b.n > 6 ? arena_strdup(w->arena, b.at) : "";
	buf_free(&b);
	return text;
}

/* Returns the address of an argument. With dynamic sizes, the offset is written as a sum: each summand has a formula,
 * but the sum has none. */
static const char *
argument_address(Writer *w, const KernelArg *arg)
{
	const char *text;

	if (!w->plan->dynamic || !arg->part)
		return c_home(w, arg->value, arg->offset);
	text = c_address(w, arg->value, 0);
	for (int i = 0; i < arg->npart; i++) {
		const char *at = c_number(w, arg->part[i].at);

		text = arena_printf(w->arena, "%s + %s * %s", text, at, c_number(w, arg->part[i].bytes));
	}
	return text;
}

/* Returns the C expression of an argument's address. Stores numbers in variables first. */
static const char *
launch_argument(Writer *w, const KernelArg *arg, int *scalars)
{
	const Value *v = arg->value;

	if (!v)
		return !strcmp(arg->text, "0") ? arg->text : arena_printf(w->arena, "(void *)%s", arg->text);
	if (plan_is_planned(w->plan, v))
		return argument_address(w, arg);
	if (w->plan->bare)
		fail_lacks(w->emit->cx, v->node->at, "a function without a runtime that takes a number which is not "
			   "known");
	out_line(&w->out, "double s%d = rt_number(%s);", *scalars, c_slot(w, v));
	return arena_printf(w->arena, "&s%d", (*scalars)++);
}

/* Returns the number of bytes of a launch's tensors. -1 if it also reads packed weights. */
static double
bytes_named(Writer *w, const KernelCall *call)
{
	double bytes = 0;

	for (int i = 0; i < call->args.n; i++) {
		const KernelArg *arg = &call->args.at[i];
		const RtTensor *t = arg->value ? plan_tensor(w->plan, arg->value) : NULL;

		if (t)
			bytes += (double)(rt_numel(t) * rt_dtypes[t->dtype].bytes);
		else if (!arg->value && strncmp(arg->text, "kiln_zeros", 10) && *arg->text == 'k')
			return -1;
	}
	return bytes;
}

static void
put_count(Buf *b, const char *key, double x)
{
	if (x < 0)
		buf_printf(b, ",\"%s\":null", key);
	else
		buf_printf(b, ",\"%s\":%.0f", key, x);
}

/* Returns the name of a launch in the program's trace. With --bench-code the name ends with the launch's number in
 * --info. */
static const char *
launch_name(Writer *w, const Node *n, const KernelCall *call, bool alone)
{
	Buf *b = &w->emit->launches;
	const Counts *work = &call->work;

	if (!w->emit->bench_code || w->plan->dynamic)
		return call->name;
	begin_launch_row(w, n, call->name);
	buf_puts(b, ",\"what\":");
	out_json(b, work->what ? work->what : "");
	buf_puts(b, ",\"form\":");
	out_json(b, work->form ? work->form : "");
	put_count(b, "flops", work->form ? work->flops : -1);
	put_count(b, "bytes", work->form && work->bytes >= 0 ? work->bytes : alone ? bytes_named(w, call) : -1);
	buf_printf(b, ",\"turns\":%lld}", (long long)(call->repeat ? call->repeat : 1));
	if (w->emit->tuning)
		vec_push(w->arena, &w->emit->tuning->launched,
			 call->tuned ? (int)(intptr_t)map_get(&w->emit->tuning->index, call->tuned) - 1 : -1);
	return arena_printf(w->arena, "%s#%d", call->name, w->emit->nlaunch++);
}

/* Whether a launch takes less than about a microsecond on every processor. With dynamic sizes, the largest sizes
 * decide. */
static bool
is_short(const Writer *w, const KernelCall *call)
{
	enum { FLOPS = 1 << 12, BYTES = 1 << 14, MORE = 16 };
	const Counts *work = &call->work;
	const bool product = call->schedule && call->schedule->micro;
	const double flops = (product ? 1 : 16) * work->flops, /* loops count more, because they may call functions */
		     more = w->plan->dynamic && !w->plan->dynamic->is_first ? MORE : 1;

	return work->form && flops >= 0 && work->bytes >= 0 && flops <= more * FLOPS && work->bytes <= more * BYTES;
}

/* Writes a launch without a runtime. The kernel's scratch memory is p[-1]. */
static void
write_bare_launch(Writer *w, const KernelCall *call)
{
	const bool scratch = call->scratch > 0;

	if (w->emit->pool)
		out_line(&w->out, "bare_launch(m, %s, p%s, %d, %lld, %lld);", call->name, scratch ? " + 1" : "",
			 scratch ? call->args.n : 0, (long long)call->n, (long long)call->grain);
	else
		out_line(&w->out, "%s(p%s, 0, %lld);", call->name, scratch ? " + 1" : "", (long long)call->n);
	if (scratch && call->args.n > w->emit->most_args)
		w->emit->most_args = call->args.n;
}

/* Writes a launch: void *p[] = { addresses }; rt_launch(...) */
static void
write_launch(Writer *w, const Node *n, const KernelCall *call, bool alone)
{
	const char **text = new(w->arena, const char *, call->args.n + 1);
	int scalars = 0;

	if (w->emit->listing)
		launch_print(w->plan, n, call, w->emit->listing);
	out_line(&w->out, "{");
	w->out.indent++;
	for (int i = 0; i < call->args.n; i++)
		text[i] = launch_argument(w, &call->args.at[i], &scalars);
	if (call->checked)
		out_line(&w->out, "int wrong = 0;");
	out_line(&w->out, "void *p[] = {");
	if (w->plan->bare && call->scratch > 0)
		out_line(&w->out, "\tm->scratch,");
	for (int i = 0; i < call->args.n; i++) {
		const char *what = remark(w, &call->args.at[i]);

		out_line(&w->out, *what ? "\t%-34s %s" : "\t%s", arena_printf(w->arena, "%s,", text[i]), what);
	}
	out_line(&w->out, "};");
	write_trust(w, n, 0);
	if (w->plan->bare)
		write_bare_launch(w, call);
	else
		out_line(&w->out, "rt_launch(cx, \"%s\", %s, %lld, %s, p);", launch_name(w, n, call, alone),
			 call->n_text ? call->n_text : arena_printf(w->arena, "%lld", (long long)call->n),
			 (long long)call->grain, call->name);
	if (call->checked)
		write_check(w, n);
	w->out.indent--;
	out_line(&w->out, "}");
	w->emit->busy |= !is_short(w, call);
	w->plan->streamed += call->streamed;
	w->plan->kernels++;
	if (call->scratch > w->emit->scratch)
		w->emit->scratch = call->scratch;
}

/* Writes the launches from i on that are repeated together as a C loop. Returns the index of the last one. */
static int
write_turns(Writer *w, const Node *n, const KernelCall *calls, int i, int ncall)
{
	out_open(&w->out, "for (int64_t turn = 0; turn < %s; turn++)",
		 calls[i].repeat_text ? calls[i].repeat_text : c_number(w, calls[i].repeat));
	do
		write_launch(w, n, &calls[i], false);
	while (++i < ncall && calls[i].repeat);
	out_close(&w->out);
	return i - 1;
}

/* Notes a constant that kernels read. The program copies it to the device when it is opened. */
static void
note_gpu_constant(Writer *w, IValue v)
{
	const int index = c_constant(w, v);

	for (int i = 0; i < w->emit->gpu_constants.n; i++)
		if (w->emit->gpu_constants.at[i] == index)
			return;
	vec_push(w->arena, &w->emit->gpu_constants, index);
}

/* Returns the number of bytes from a tensor's first element to the end of its last. */
static int64_t
span_of(const RtTensor *t)
{
	int64_t n = 1;

	for (int i = 0; i < t->ndim; i++)
		n += (t->dims[i] - 1) * t->strides[i];
	return rt_numel(t) ? n * rt_dtypes[t->dtype].bytes : 0;
}

/* Returns the offset in bytes of the argument's first element in its buffer. With dynamic sizes, it is a sum as in
 * argument_address. */
static const char *
argument_offset(Writer *w, const KernelArg *arg)
{
	const int64_t at = tensor_offset(plan_tensor(w->plan, arg->value));
	const char *text = c_number(w, at + (w->plan->dynamic && arg->part ? 0 : arg->offset));

	for (int i = 0; w->plan->dynamic && i < arg->npart; i++) {
		const char *step = c_number(w, arg->part[i].at);

		text = arena_printf(w->arena, "%s + %s * %s", text, step, c_number(w, arg->part[i].bytes));
	}
	return text;
}

/* Writes an RtCudaArg: { buffer, its first byte, offset of the element, 0, use, range of bytes that may be written }.
 * With dynamic sizes, the length of a tensor with gaps is not a product of sizes. Then the range is the whole buffer.
 * */
static void
write_cuda_tensor(Writer *w, const Node *n, const KernelArg *arg, bool written)
{
	const RtTensor *t = plan_tensor(w->plan, arg->value);
	const Buffer *b = plan_buffer(w->plan, arg->value);
	const bool all = w->plan->dynamic && !rt_is_contiguous(t), fills = b->first >= w->plan->step[n->id] && !all;
	const char *use = !written ? "RT_CUDA_READ" : fills ? "RT_CUDA_FILL" : "RT_CUDA_WRITE";
	const char *offset = argument_offset(w, arg), *from = "0", *to = "0";

	if (written && all) {
		to = c_number(w, b->bytes);
	} else if (written) {
		from = c_number(w, tensor_offset(t));
		to = w->plan->dynamic ? arena_printf(w->arena, "%s + %s", from, c_number(w, span_of(t))) :
			c_number(w, tensor_offset(t) + span_of(t));
	}
	out_line(&w->out, "\t{ %d, %s, %s, 0, %s, %s, %s },", b->index, c_buffer(w, arg->value), offset, use, from, to);
	if (b->home == HOME_CONSTANT && !written)
		note_gpu_constant(w, b->constant);
}

/* Writes a GPU launch: RtCudaArg p[] = { tensors and numbers }; rt_cuda_launch(...) */
static void
write_cuda_launch(Writer *w, const Node *n, const CudaCall *call)
{
	const bool waits = write_trust_launch(w, call);

	out_line(&w->out, "{");
	w->out.indent++;
	if (waits)
		out_line(&w->out, "bool wrong = false;");
	out_line(&w->out, "%sconst RtCudaLaunch launch = { %d, %d, %u, %s, %s, %s, %s };   /* %s */",
		 w->plan->dynamic ? "" : "static ", call->kernel, call->args.n, place_row(w),
		 call->checked ? "true" : "false", call->grid_text[0], call->grid_text[1], call->grid_text[2],
		 w->emit->cuda_kernels.at[call->kernel]);
	out_line(&w->out, "const RtCudaArg p[%d] = {", call->args.n);
	for (int i = 0; i < call->args.n; i++) {
		const KernelArg *arg = &call->args.at[i];

		if (plan_buffer(w->plan, arg->value))
			write_cuda_tensor(w, n, arg, i < call->nout);
		else
			out_line(&w->out, "\t{ -1, 0, 0, rt_number(%s), RT_CUDA_READ, 0, 0 },", c_slot(w, arg->value));
	}
	out_line(&w->out, "};");
	write_unless(w, arena_printf(w->arena, "rt_cuda_launch(&c, &launch, p, %s)", waits ? "&wrong" : "0"));
	if (waits)
		write_check(w, n);
	w->out.indent--;
	out_line(&w->out, "}");
	w->plan->kernels++;
	w->plan->launches++;
}

/* Writes code that gives a tensor its own memory before a kernel updates it, if it still shares the memory of the
 * weights. */
static void
write_unshare(Writer *w, const Node *n)
{
	for (int i = 0; i < n->nin; i++) {
		const Buffer *b = node_writes_input(n, i) ? plan_buffer(w->plan, n->in[i]) : NULL;

		if (!b || (b->home != HOME_INPUT && b->home != HOME_BOX && b->home != HOME_CONSTANT))
			continue;
		write_unless(w, arena_printf(w->arena, "rt_writable(cx, %s.u.t)", c_base_box(w, b)));
	}
}

/* Returns the node's launches on the GPU: those that dynamic.c made, or new ones. */
static int
find_launches(Writer *w, const Node *n, CudaCall **calls, const char **why)
{
	const DynamicPlan *d = w->plan->dynamic;

	if (d) {
		*calls = d->cuda[n->id];
		*why = d->why_host[n->id] ? d->why_host[n->id] : "it is a call of the runtime";
		return d->ncuda[n->id];
	}
	*calls = new(w->arena, CudaCall, MAX_KERNEL_CALLS);
	return emit_cuda(w->emit, w->plan, n, *calls, why);
}

/* Writes the node's kernels for the GPU. Returns false if it has none and runs on the CPU. */
static bool
write_cuda_kernels(Writer *w, const Node *n)
{
	const Node *group = w->plan->epilogue[n->id];
	CudaCall *calls;
	HostStep step = { .node = n };
	const int ncall = find_launches(w, n, &calls, &step.why);

	if (!ncall) {
		vec_push(w->arena, &w->plan->host, step);
		return false;
	}
	write_boxes(w, group ? group : n, w->plan->step[n->id]);
	write_unshare(w, n);
	for (int i = 0; i < ncall; i++) {
		if (!trust_covers(w, &calls[i]))
			write_cuda_launch(w, n, &calls[i]);
		emit_gpu_launch(w->emit, w->plan, &calls[i]);
	}
	return true;
}

/* Writes C that marks the buffers written by a CPU kernel as newer than the GPU's copies. */
static void
write_stale_results(Writer *w, const Node *n)
{
	const Node *last = w->plan->epilogue[n->id] ? w->plan->epilogue[n->id] : n;

	for (int i = 0; i < last->nout; i++)
		if (plan_buffer(w->plan, last->out[i]))
			write_stale(w, plan_buffer(w->plan, last->out[i]));
	for (int i = 0; i < n->nin; i++)
		if (node_writes_input(n, i) && plan_buffer(w->plan, n->in[i]))
			write_stale(w, plan_buffer(w->plan, n->in[i]));
}

bool
emit_kernel_calls(Emit *e, Plan *p, const Node *n, KernelCall *calls, int *ncall)
{
	const Node *group = p->epilogue[n->id];

	*ncall = 1;
	if (node_is_map(n)) {
		Lowered l;

		if (!lower_map(p, n, &l))
			return false;
		emit_lowered(e, p, &l, calls);
		return true;
	}
	if (node_is_dense(p, n) ? emit_dense(e, p, n, group, calls, ncall) : emit_row(e, p, n, calls, ncall))
		return true;
	if (group)
		BUG("the epilogue of %s does not fit", n->kind->name);
	return false;
}

bool
write_kernel(Writer *w, const Node *n)
{
	const Node *group = w->plan->epilogue[n->id];
	KernelCall *calls;
	int ncall = 1;

	if (w->plan->gpu && write_cuda_kernels(w, n))
		return true;
	if (w->plan->dynamic) {
		calls = w->plan->dynamic->calls[n->id];
		ncall = w->plan->dynamic->ncall[n->id];
	} else {
		calls = new(w->arena, KernelCall, MAX_KERNEL_CALLS);
		if (!emit_kernel_calls(w->emit, w->plan, n, calls, &ncall))
			return false;
	}
	if (!w->plan->bare && !w->direct) {
		write_boxes(w, group ? group : n, w->plan->step[n->id]);
		write_unshare(w, n);
	}
	for (int i = 0; i < ncall; i++)
		if (calls[i].repeat)
			i = write_turns(w, n, calls, i, ncall);
		else
			write_launch(w, n, &calls[i], ncall == 1);
	write_stale_results(w, n);
	return true;
}
