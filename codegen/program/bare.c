/*
 * Writes plain C functions for the sizes of a model's inputs (--no-generic): no runtime, no heap, no files, no generic
 * code.
 *
 *    int NAME_forward(const float x[1][4], float out[1][3]);
 *    int NAME_forward_in(NAME *m, const float x[1][4], float out[1][3]);
 *
 * Each exact specialization becomes such a function if all its steps are kernels. Otherwise the message names all steps
 * that are not kernels. Tensors are in the caller's arrays, in the weights, or in an instance's memory (rt/bare.h),
 * whose size is in NAME.h. Functions without an instance parameter use a static instance.
 */
#include "../kernel/form.h"
#include "door.h"
#include "writer.h"

#include <string.h>

enum { NAMED_MOST = 12 };                /* largest number of steps without a kernel that a message names */

typedef struct Bare {
	Emit *emit;
	const BuildOptions *options;
	Door *door;
	Buf   lacks; /* steps without a kernel, a line each: "aten::sort (net.py:3)" */
	int   nlacking;
	int64_t arena;           /* size in bytes of the largest arena of all functions */
	BareState *state;
	Out   functions;
	bool  folder;            /* whether the text is a folder's, which other compilers build */
	bool  program;           /* whether it has a main and no header */
} Bare;

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* Names the arguments in[0], in[1], ... in the order of the function's parameters. */
static void
name_arguments(Plan *p)
{
	int n = 0;

	for (int i = 0; i < p->buffers.n; i++) {
		Buffer *b = p->buffers.at[i];

		if (b->home == HOME_INPUT && !strncmp(b->place, "reg[", 4))
			b->place = arena_printf(p->cx->arena, "in[%d]", n++);
	}
}

static void
add_plan(Bare *b, const EmitMethod *m, const Specialization *s)
{
	uint64_t written;
	Plan *p;
	int n;

	p = plan_make(b->emit->cx, m->fn, s,
		      target_is_bare(b->options->target) || b->options->max_ram ? PLAN_SMALL : PLAN_BARE, NULL);
	bare_state_place(b->state, p);
	emit_written(b->emit, s, p, &n, &written);
	name_arguments(p);
	vec_push(b->emit->cx->arena, &b->emit->door_specs, ((DoorSpec){ m->name, m->fn, s, p, written }));
}

static void
note_lack(Bare *b, const Node *n, const char *why)
{
	if (b->nlacking++ < NAMED_MOST)
		buf_printf(&b->lacks, "\n  %s%s", node_place(b->emit->cx, n), why);
}

/* Whether the node writes to a constant. */
static bool
writes_state(Plan *p, const Node *n)
{
	for (int i = 0; i < n->nin; i++) {
		const Buffer *b = node_writes_input(n, i) ? plan_buffer(p, n->in[i]) : NULL;

		if (b && b->home == HOME_CONSTANT)
			return true;
	}
	return false;
}

static void
write_step(Bare *b, Writer *w, const Node *n)
{
	if (!plan_needs_step(w->plan, n) || node_makes_parts(n) || node_is(n, prim_TupleUnpack))
		return;    /* nothing to report: each node that reads the list is a kernel or is reported itself */
	note_line(w, n);
	write_remark(w);
	if (writes_state(w->plan, n))
		note_lack(b, n, ": writes to a constant");
	else if (!plan_is_kernel(w->plan, n) || !write_kernel(w, n))
		note_lack(b, n, "");
}

/* Writes a copy of result i to out[i]. Writes nothing if it was computed there. */
static void
put_result_copy(Writer *w, int i, const Value *v)
{
	const RtTensor *t = plan_tensor(w->plan, v);
	const char *type = element_type((RtDtype)t->dtype), *from = c_address(w, v, 0), *at = "0";

	if (!strcmp(from, arena_printf(w->arena, "(char *)out[%d]", i)))
		return;
	out_line(&w->out, "{");
	w->out.indent++;
	out_line(&w->out, "const %s *from = (const %s *)(%s);", type, type, from);
	out_line(&w->out, "%s *to = out[%d];", type, i);
	out_blank(&w->out);
	for (int k = 0; k < t->ndim; k++) {
		out_open(&w->out, "for (int64_t i%d = 0; i%d < %lld; i%d++)", k, k, (long long)t->dims[k], k);
		at = arena_printf(w->arena, "%s + i%d * %lld", at, k, (long long)t->strides[k]);
	}
	out_line(&w->out, "*to++ = from[%s];", at);
	for (int k = 0; k < t->ndim; k++)
		out_close(&w->out);
	w->out.indent--;
	out_line(&w->out, "}");
}

/* Writes a function that takes addresses: static int run_forward(Bare *m, const void *const *in, void *const *out) */
static void
write_function(Bare *b, const DoorTyped *t)
{
	Plan *p = t->spec->plan;
	Writer w = { .emit = b->emit, .plan = p, .arena = b->emit->cx->arena, .out = { .indent = 1 } };
	ValueVec results = { 0 };

	for NODES(n, p->graph->top)
		write_step(b, &w, n);
	plan_results(p->graph, &results, w.arena);
	for (int i = 0; i < results.n; i++)
		put_result_copy(&w, i, results.at[i]);
	out_line(&b->functions, "\n/* %s: %d kernels, arena %lld bytes */", t->name, p->kernels, (long long)p->arena);
	out_line(&b->functions, "static int\nrun_%s(Bare *m, const void *const *in, void *const *out)\n{", t->name);
	if (p->arena)
		out_line(&b->functions, "\tchar *const arena = m->arena;\n");
	out_line(&b->functions, "\t(void)m, (void)in, (void)out%s;", p->arena ? ", (void)arena" : "");
	buf_puts(&b->functions.text, w.out.text.at ? w.out.text.at : "");
	out_line(&b->functions, "\treturn 0;\n}\n\nstatic const BareFunction function_%s = { run_%s, %s, %d, %d };",
		 t->name, t->name, b->state->at.n ? "begin" : "0", t->in.n, t->out.n);
	buf_free(&w.out.text);
	b->arena = p->arena > b->arena ? p->arena : b->arena;
	vec_push(w.arena, &b->emit->specializations,
		 ((RtSpecialization){ .method = t->spec->method, .kind = "exact", .kernels = p->kernels,
				      .signature = specialization_signature(b->emit->cx, t->spec->spec),
				      .arena_bytes = p->arena, .arena_least = p->least }));
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void
put_array(Bare *b, const char *type, const char *name, const DoorTensor *t, int n)
{
	out_line(&b->functions, "\t%s *const %s[] = {", type, name);
	for (int i = 0; i < n; i++)
		out_line(&b->functions, "\t\t%s,", t[i].name);
	out_line(&b->functions, "\t\t0\n\t};");
}

/* Writes the two public functions of a specialization: one for an instance, one for static memory. Both pass their
 * arrays on. */
static void
put_entry(Bare *b, const DoorTyped *t)
{
	const char *name = b->door->name;
	Buf head = { 0 }, args = { 0 };

	door_parameters(b->emit->cx, &head, t);
	door_arguments(&args, t);
	out_line(&b->functions, "\nint\n%s_%s_in(%s *m%s)\n{", name, t->name, name, head.n ? head.at : "");
	put_array(b, "const void", "kiln_in", t->in.at, t->in.n);
	put_array(b, "void", "kiln_out", t->out.at, t->out.n);
	out_line(&b->functions, "\n\treturn bare_call(&function_%s, (Bare *)m, kiln_in, kiln_out);\n}", t->name);
	out_line(&b->functions, "\nint\n%s_%s(%s)\n{\n\treturn %s_%s_in(&kiln_own%s%.*s);\n}", name, t->name,
		 head.n ? head.at + 2 : "void", name, t->name, args.n ? ", " : "", args.n ? (int)args.n - 2 : 0,
		 args.at ? args.at : "");
	buf_free(&head);
	buf_free(&args);
}

/* Writes the public functions that open, close and reset instances. */
static void
put_instances(Bare *b)
{
	const char *name = b->door->name;
	Buf *text = &b->functions.text;

	if (b->state->at.n)
		header_put(text, "\nint\nNAME_reset_in(NAME *m)\n{\n\tif (!m)\n\t\treturn BARE_ARGUMENT;\n"
			   "\tif (!bare_enter((Bare *)m))\n\t\treturn BARE_BUSY;\n"
			   "\tbegin((Bare *)m);\n\treturn bare_leave((Bare *)m, BARE_OK);\n}\n"
			   "\nint\nNAME_reset(void)\n{\n\treturn NAME_reset_in(&kiln_own);\n}\n", name);
	header_put(text, "\nsize_t\nNAME_bytes(const NAME_options *o)\n{\n"
		   "\treturn bare_bytes((const BareOptions *)o);\n}\n"
		   "\nNAME *\nNAME_open_in(void *memory, size_t bytes, const NAME_options *o, char *why, size_t n)\n{\n"
		   "\treturn bare_open(memory, bytes, (const BareOptions *)o, why, n);\n}\n"
		   "\nconst char *\nNAME_error(const NAME *m)\n{\n\treturn bare_error((const Bare *)m);\n}\n", name);
}

/* Headers with loops, and prefixes of names. A kernel's text needs the header if it contains one of its prefixes. */
static const struct { const char *name, *uses[3]; } headers[] = {
	{ "tmath.h", { "" } }, { "vmath.h", { "" } },
	{ "vblock.h", { "vc_", "Vc", "VC_" } },
	{ "vrow.h", { "vr_", "Vr", "VR_" } }, { "vmul.h", { "vm_" } },
	{ "vattend.h", { "va_" } }, { "vtaps.h", { "vz_" } }, { "vresize.h", { "vz_" } }, { "vturn.h", { "vq_" } },
	{ "vtable.h", { "vl_" } },
	{ "vgrid.h", { "vg_", "Vg" } }, { "vroi.h", { "roi_", "Roi" } }, { "vrnn.h", { "vn_", "Vn" } },
	{ "vint8.h", { "vi_", "Vi" } }, { "vint8_rnn.h", { "ViStep" } },
};

static bool
is_used(const char *kernels, const char *const uses[3])
{
	for (int i = 0; i < 3 && uses[i]; i++)
		if (strstr(kernels, uses[i]))
			return true;
	return false;
}

static void
put_includes(Bare *b, Buf *text)
{
	const char *kernels = b->emit->kernels.text.at ? b->emit->kernels.text.at : "";

	buf_puts(text, b->program ? "#include \"rt/bare.h\"\n#include \"rt/plain.h\"\n" :
		 "#include \"rt/bare.h\"\n");
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		if (is_used(kernels, headers[i].uses))
			buf_printf(text, "#include \"rt/ops/%s\"\n", headers[i].name);
	for (int i = 0; i < b->emit->headers.n; i++)
		buf_printf(text, "#include \"rt/ops/%s\"\n", b->emit->headers.at[i]);
}

/* Rounds bytes up to cache lines, in which rt/bare.h lays memory out. */
static int64_t
lines(int64_t bytes)
{
	return (bytes + 63) & ~(int64_t)63;
}

/* Returns the number of bytes of an instance behind its head. */
static int64_t
behind(const Bare *b)
{
	return lines(b->state->bytes) + lines(b->arena) + lines(b->emit->scratch);
}

/* Returns the number of bytes of an instance, with room for the head on any machine. */
static int64_t
ram(const Bare *b)
{
	return 64 + behind(b);
}

static void
put_size_macros(Bare *b, Buf *text)
{
	buf_printf(text, "#define KILN_STATE %lld\n#define KILN_ARENA %lld\n#define KILN_SCRATCH %lld\n"
		   "#define KILN_ARGS %d\n#define KILN_POOL %d\n", (long long)b->state->bytes, (long long)b->arena,
		   (long long)b->emit->scratch,
		   b->emit->most_args, b->emit->pool);
}

static void
put_memory(Bare *b, Buf *text)
{
	if (b->emit->weights.bytes.n)
		buf_printf(text, "%sextern const char kiln_weights[];\n", b->folder ?
			   arena_printf(b->emit->cx->arena, "#define kiln_weights %s_weights\n", b->door->name) : "");
	if (b->emit->zeros)
		buf_printf(text, "static const float kiln_zeros[%lld];\n", (long long)b->emit->zeros);
	buf_printf(text, "\nstruct %s {\n\tBare bare;\n};\n", b->door->name);
	buf_puts(text, "typedef char bare_fits[BARE_HEAD == 64 ? 1 : -1];\n");
	buf_printf(text, "static char kiln_memory[%lld] __attribute__((aligned(64)));\n",
		   (long long)(behind(b) ? behind(b) : 64));
	buf_printf(text, "static struct %s kiln_own = { { 0, 0, 0, 1, 0, 0, kiln_memory,\n"
		   "\tkiln_memory + BARE_LINES(KILN_STATE), kiln_memory + BARE_BEHIND } };\n", b->door->name);
}

static void
put_title(Bare *b, Buf *text, const char *end)
{
	buf_printf(text, "/* %s.%s - ", b->door->name, end);
	out_comment(text, b->door->model, 200);
	buf_puts(text, ", compiled by Kiln to plain C: no runtime, no heap */\n");
}

/* Writes the declarations of typed functions. `in` selects those with an instance parameter. */
static void
put_functions(Bare *b, Buf *text, bool in)
{
	const char *name = b->door->name;

	for (int i = 0; i < b->door->typed.n; i++) {
		Buf head = { 0 };

		door_parameters(b->emit->cx, &head, &b->door->typed.at[i]);
		if (in)
			buf_printf(text, "int %s_%s_in(%s *m%s);\n", name, b->door->typed.at[i].name, name,
				   head.n ? head.at : "");
		else
			buf_printf(text, "int %s_%s(%s);\n", name, b->door->typed.at[i].name,
				   head.n ? head.at + 2 : "void");
		buf_free(&head);
	}
	if (b->state->at.n)
		header_put(text, in ? "int NAME_reset_in(NAME *m);" : "int NAME_reset(void);", name);
	if (b->state->at.n)
		buf_puts(text, "      /* restores the initial values of the tensors that calls write */\n");
}

/* Copies the template up to a line, which is omitted. Returns the text after it. */
static char *
put_until(Bare *b, Buf *text, char *from, const char *line)
{
	char *end = strstr(from, line);

	*end = 0;
	header_put(text, from, b->door->name);
	return end + strlen(line);
}

static char *
header_text(Bare *b)
{
	char *at = strchr(carry_text(b->emit->cx, "rt/name_bare.h"), '\n') + 1;
	Buf text = { 0 };

	put_title(b, &text, "h");
	at = put_until(b, &text, at, "/* SIZES */\n");
	buf_printf(&text, "enum {\n\t%s_RAM_BYTES = %lld,\t/* memory of an instance */\n"
		   "\t%s_WEIGHTS_BYTES = %lld\t/* constants */\n};\n", b->door->name, (long long)ram(b), b->door->name,
		   (long long)b->emit->weights.bytes.n);
	at = put_until(b, &text, at, "/* FUNCTIONS */\n");
	put_functions(b, &text, false);
	at = put_until(b, &text, at, "/* INSTANCES */\n");
	put_functions(b, &text, true);
	header_put(&text, at, b->door->name);
	return arena_text(b->emit->cx->arena, &text);
}

static void
put_whole(Bare *b, ProgramText *text)
{
	Emit *e = b->emit;
	Buf c = { 0 };

	put_title(b, &c, "c");
	buf_puts(&c, e->in_order ? "#define VC_IN_ORDER 1\n" : "");
	buf_printf(&c, "#define VC_FLOATS %d\n", e->vf);
	emit_panels(e, &c);
	if (!b->program)
		buf_printf(&c, "#include \"%s.h\"\n", b->door->name);
	put_size_macros(b, &c);
	put_includes(b, &c);
	buf_puts(&c, "\n#define KILN_INF (1e300 * 1e300)\n#define KILN_MINUS_INF (-1e300 * 1e300)\n"
		 "#define KILN_NAN (0.0 / 0.0)\n");
	put_memory(b, &c);
	buf_puts(&c, "\n/* ---- kernels ---- */\n\n");
	buf_puts(&c, e->kernels.text.at ? e->kernels.text.at : "");
	buf_puts(&c, "\n/* ---- functions ---- */\n");
	buf_puts(&c, b->functions.text.at ? b->functions.text.at : "");
	text->n = c.n;
	text->source = arena_text(e->cx->arena, &c);
}

/* ---- the whole text ---------------------------------------------------------------------------------------------- */

static bool
has_function(const Door *d, int method)
{
	for (int i = 0; i < d->typed.n; i++)
		if (d->typed.at[i].method == method)
			return true;
	return false;
}

static void
check_lacks(Bare *b, const char *model)
{
	if (b->nlacking)
		fail_lacks(b->emit->cx, (Range){ 0 }, "%s: without a runtime (--no-generic) only kernels can be "
			   "compiled, and these steps are not kernels:%s%s", model, b->lacks.at,
			   b->nlacking > NAMED_MOST ? "\n  ..." : "");
	if (!b->door->typed.n)
		fail_lacks(b->emit->cx, (Range){ 0 }, "%s: without a runtime (--no-generic) a function takes and "
			   "returns contiguous tensors with elements, and tuples and lists of them; %s", model,
			   b->door->why ? b->door->why : "none of its inputs has a specialization");
	for (int i = 0; i < b->door->method.n; i++)
		if (!has_function(b->door, i))
			fail_lacks(b->emit->cx, (Range){ 0 }, "%s: without a runtime (--no-generic) only the first "
				   "method of --method has code, because inputs are given to it alone: leave out %s",
				   model, b->door->method.at[i].name);
}

/* ---- a program --------------------------------------------------------------------------------------------------- */

static void
put_plain_tensors(Bare *b, const char *what, const DoorTyped *t, const DoorTensor *at, int n)
{
	Out *o = &b->functions;
	Buf row = { 0 };

	for (int i = 0; i < n; i++) {
		out_line(o, "static const int64_t dims_%s_%s_%d[] = {", what, t->name, i);
		for (int k = 0; k < at[i].ndim; k++)
			out_line(o, "\t%lld,", (long long)at[i].dims[k]);
		out_line(o, "\t0\n};");
		buf_puts(&row, "\t{ ");
		out_string(&row, at[i].key, (int64_t)strlen(at[i].key));
		buf_printf(&row, ", %d, %d, dims_%s_%s_%d },\n", at[i].dtype, at[i].ndim, what, t->name, i);
	}
	out_line(o, "static const PlainTensor plain_%s_%s[] = {\n%s\t{ 0 }\n};", what, t->name, row.at ? row.at : "");
	buf_free(&row);
}

static void
put_plain_numbers(Bare *b, const DoorTyped *t)
{
	Buf row = { 0 };

	for (int i = 0; i < t->number.n; i++) {
		const DoorNumber *x = &t->number.at[i];

		buf_puts(&row, "\t{ ");
		out_string(&row, x->key, (int64_t)strlen(x->key));
		buf_printf(&row, ", %d, %d, %d, %d, (int64_t)%lluULL },\n", (int)x->value.tag, x->n, x->at,
			   x->has_default, x->value.tag == RT_NONE ? 0ULL : (unsigned long long)x->value.u.i);
	}
	out_line(&b->functions, "static const PlainNumber plain_number_%s[] = {\n%s\t{ 0 }\n};", t->name,
		 row.at ? row.at : "");
	buf_free(&row);
}

/* Writes the tables of a function, and its call. */
static void
put_plain_function(Bare *b, const DoorTyped *t)
{
	Out *o = &b->functions;

	out_blank(o);
	put_plain_tensors(b, "in", t, t->in.at, t->in.n);
	put_plain_tensors(b, "out", t, t->out.at, t->out.n);
	put_plain_numbers(b, t);
	out_line(o, "static const int plain_result_%s[] = {", t->name);
	for (int i = 0; i < t->result.n; i++) {
		const DoorNode *node = &t->result.at[i];

		out_line(o, "\t%d,", node->value.tag == RT_TENSOR ? 0 :
			 node->value.tag == RT_LIST ? -1 - node->n : 1 + node->n);
	}
	out_line(o, "};\n\nstatic int\ncall_%s(const void *const *in, void *const *out)\n{", t->name);
	out_line(o, "\treturn bare_call(&function_%s, &kiln_own.bare, in, out);\n}", t->name);
}

static void
put_main(Bare *b)
{
	Buf rows = { 0 }, level = { 0 };
	const char *name;

	for (int i = 0; i < b->door->typed.n; i++) {
		const DoorTyped *t = &b->door->typed.at[i];

		put_plain_function(b, t);
		buf_puts(&rows, "\t{ ");
		out_string(&rows, t->spec->method, (int64_t)strlen(t->spec->method));
		buf_printf(&rows, ", plain_in_%s, plain_out_%s, plain_number_%s, %d, %d, %d, plain_result_%s, call_%s "
			   "},\n", t->name, t->name, t->name, t->in.n, t->out.n, t->number.n, t->name, t->name);
	}
	name = processor_name(b->emit->cx->arena, b->options, NULL);
	out_string(&level, name, (int64_t)strlen(name));
	out_line(&b->functions, "\nstatic const PlainFunction plain[] = {\n%s};", rows.at ? rows.at : "");
	out_line(&b->functions, "static const PlainProgram program = { %s,\n#include \"rt/needs.h\"\n\t, plain, %d };",
		 level.at, b->door->typed.n);
	for (int i = 0; emit_own[i]; i++)
		out_line(&b->functions, "extern const void *const %s;\nconst void *const %s = 0;", emit_own[i],
			 emit_own[i]);
	out_line(&b->functions, "\nint\nmain(int argc, char **argv)\n{\n"
		 "\treturn rt_plain_main(&program, argc, argv);\n}");
	buf_free(&rows);
	buf_free(&level);
}

/* Returns a message that an instance needs more than --max-ram. Null if it does not. */
static const char *
over(Bare *b, const BuildOptions *o, const char *model)
{
	Buf text = { 0 };

	if (!o->max_ram || ram(b) <= o->max_ram)
		return NULL;
	buf_printf(&text, "%s: %lld bytes of RAM are needed, more than --max-ram %lld: tensors %lld, scratch memory "
		   "of kernels %lld, state %lld, the instance 64", model, (long long)ram(b), (long long)o->max_ram,
		   (long long)lines(b->arena), (long long)lines(b->emit->scratch), (long long)lines(b->state->bytes));
	for (int i = 0; i < b->door->typed.n; i++)
		if (b->door->typed.at[i].spec->plan->arena == b->arena) {
			fit_put_peak(&text, b->door->typed.at[i].spec->plan);
			break;
		}
	return arena_text(b->emit->cx->arena, &text);
}

static void
add_exported(Bare *b, ProgramText *text, const char *end)
{
	vec_push(b->emit->cx->arena, &text->exported, arena_printf(b->emit->cx->arena, "%s_%s", b->door->name, end));
}

static void
put_public(Bare *b, ProgramText *text)
{
	static const char *const ends[] = { "bytes", "open_in", "error", "reset", "reset_in" };

	for (int i = 0; i < b->door->typed.n; i++) {
		const char *name = b->door->typed.at[i].name;

		put_entry(b, &b->door->typed.at[i]);
		add_exported(b, text, name);
		add_exported(b, text, arena_printf(b->emit->cx->arena, "%s_in", name));
	}
	put_instances(b);
	for (int i = 0; i < (b->state->at.n ? 5 : 3); i++)
		add_exported(b, text, ends[i]);
}

void
emit_bare(Cx *cx, Module *m, const EmitMethod *methods, int n, const BuildOptions *o, ProgramText *text)
{
	const char *slash = strrchr(m->path, '/');
	Bare b = { .emit = emit_new(cx, m, o), .options = o, .folder = !strcmp(o->emit, "c"), .program = !o->name,
		   .state = o->state };

	b.emit->pool = !target_is_bare(o->target);
	if (b.emit->forms == FORMS_MADE)
		b.emit->forms = FORMS_SMALL;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < methods[i].nspec; k++)
			if (!methods[i].spec[k]->dynamic && !methods[i].spec[k]->again)
				add_plan(&b, &methods[i], methods[i].spec[k]);
	b.door = door_make(b.emit, methods, n, o, slash ? slash + 1 : m->path);
	if (b.program)
		b.door->name = "model";
	bare_state_put(b.state, b.emit, &b.functions);
	for (int i = 0; i < b.door->typed.n; i++)
		write_function(&b, &b.door->typed.at[i]);
	check_lacks(&b, m->path);
	if (b.program)
		put_main(&b);
	else
		put_public(&b, text);
	put_whole(&b, text);
	text->header = b.program ? NULL : header_text(&b);
	text->weights = &b.emit->weights;
	text->about = emit_about(b.emit);
	text->bare = true;
	text->ram = ram(&b);
	text->over = over(&b, o, m->path);
}
