/*
 * Plain C functions for the sizes of a model's inputs (--no-generic): no runtime, no heap, no files, no generic code.
 *
 *    int NAME_forward(const float x[1][4], float out[1][3]);
 *
 * Each exact specialization becomes such a function when all of its steps are kernels; what is not is named, all of it.
 * Tensors lie in the caller's arrays, among the weights, or in one static arena, whose size NAME.h says.
 */
#include "../kernel/form.h"
#include "door.h"
#include "writer.h"

#include <string.h>

enum { NAMED_MOST = 12 };                /* steps that are no kernels, in a message */

typedef struct Bare {
	Emit *e;
	Door *door;
	Buf   lacks;             /* "aten::sort (net.py:3)", a line each */
	int   nlacking;
	int64_t arena;           /* bytes: the largest of all functions */
	BareState *state;
	Out   functions;
	bool  folder;            /* the text is for others to compile */
} Bare;

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* Arguments are in[0], in[1], ... in the order of the function's parameters. */
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
	const int first = m->takes_self;
	uint64_t written;
	Plan *p;
	int n;

	p = plan_make(b->e->cx, m->fn, s, first, PLAN_BARE, NULL);
	bare_state_place(b->state, p);
	emit_written(b->e, s, p, first, &n, &written);
	name_arguments(p);
	vec_push(b->e->cx->arena, &b->e->door_specs, ((DoorSpec){ m->name, m->fn, s, p, first, written }));
}

static void
note_lack(Bare *b, const Node *n, const char *why)
{
	const char *name = n->at.src && n->at.src->name ? n->at.src->name : "", *slash = strrchr(name, '/');

	if (b->nlacking++ < NAMED_MOST)
		buf_printf(&b->lacks, "\n  %s%s (%s:%d)", n->kind->name, why, slash ? slash + 1 : name,
			   n->at.src ? range_line(n->at) : 0);
}

/* Does it write to a constant? */
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
	if (!plan_needs_step(w->p, n) || node_is(n, "prim::TupleConstruct") || node_is(n, "prim::TupleUnpack"))
		return;
	write_comment(w, n);
	if (writes_state(w->p, n))
		note_lack(b, n, " writes to a constant");
	else if (!plan_is_kernel(w->p, n) || !write_kernel(w, n) || w->e->outside)
		note_lack(b, n, "");
	w->e->outside = false;
}

/* out[i] = what it is, where it was not made there. */
static void
write_result(Writer *w, int i, const Value *v)
{
	const RtTensor *t = plan_tensor(w->p, v);
	const char *type = element_type((RtDtype)t->dtype), *from = c_address(w, v, 0), *at = "0";

	if (!strcmp(from, arena_printf(w->a, "(char *)out[%d]", i)))
		return;
	out_line(&w->out, "{");
	w->out.indent++;
	out_line(&w->out, "const %s *from = (const %s *)(%s);", type, type, from);
	out_line(&w->out, "%s *to = out[%d];", type, i);
	out_blank(&w->out);
	for (int k = 0; k < t->ndim; k++) {
		out_open(&w->out, "for (int64_t i%d = 0; i%d < %lld; i%d++)", k, k, (long long)t->dims[k], k);
		at = arena_printf(w->a, "%s + i%d * %lld", at, k, (long long)t->strides[k]);
	}
	out_line(&w->out, "*to++ = from[%s];", at);
	for (int k = 0; k < t->ndim; k++)
		out_close(&w->out, "");
	w->out.indent--;
	out_line(&w->out, "}");
}

/* static int forward_0(const void *const *in, void *const *out) */
static void
write_function(Bare *b, const DoorTyped *t)
{
	Plan *p = t->spec->plan;
	Writer w = { .e = b->e, .p = p, .a = b->e->cx->arena, .out = { .indent = 1 } };
	ValueVec results = { 0 };

	for NODES(n, p->graph->top)
		write_step(b, &w, n);
	plan_results(p->graph, &results, w.a);
	for (int i = 0; i < results.n; i++)
		write_result(&w, i, results.at[i]);
	out_line(&b->functions, "\n/* %s: %d kernels, arena %lld bytes */", t->name, p->kernels, (long long)p->arena);
	out_line(&b->functions, "static int\nrun_%s(const void *const *in, void *const *out)\n{", t->name);
	out_line(&b->functions, "\t(void)in, (void)out;");
	buf_puts(&b->functions.text, w.out.text.at ? w.out.text.at : "");
	out_line(&b->functions, "\treturn 0;\n}");
	buf_free(&w.out.text);
	b->arena = p->arena > b->arena ? p->arena : b->arena;
	vec_push(w.a, &b->e->specializations,
		 ((RtSpecialization){ .method = t->spec->method, .kind = "exact", .kernels = p->kernels,
				      .signature = emit_signature(b->e, t->spec),
				      .arena_bytes = p->arena, .arena_least = p->least }));
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* The public function: it hands its arrays on. */
static void
put_entry(Bare *b, const DoorTyped *t)
{
	Buf head = { 0 };

	door_parameters(b->e->cx, &head, t);
	out_line(&b->functions, "\nint\n%s_%s(%s)\n{", b->door->name, t->name, head.n ? head.at + 2 : "void");
	out_line(&b->functions, "\tconst void *const in[] = {");
	for (int i = 0; i < t->in.n; i++)
		out_line(&b->functions, "\t\t%s,", t->in.at[i].name);
	out_line(&b->functions, "\t\t0\n\t};\n\tvoid *const result[] = {");
	for (int i = 0; i < t->out.n; i++)
		out_line(&b->functions, "\t\t%s,", t->out.at[i].name);
	out_line(&b->functions, "\t\t0\n\t};\n");
	if (b->state->at.n)
		out_line(&b->functions, "\tif (!kiln_began)\n\t\t%s_reset();", b->door->name);
	out_line(&b->functions, "\treturn run_%s(in, result);\n}", t->name);
	buf_free(&head);
}

/* Loops of kernels by header, and what in a kernel's text is theirs. */
static const struct { const char *name, *uses[3]; } headers[] = {
	{ "tmath.h", { "" } }, { "vmath.h", { "" } },
	{ "vconv.h", { "vc_", "Vc", "VC_" } }, { "vwino.h", { "vc_winograd(" } }, { "vdepth.h", { "vc_depthwise(" } },
	{ "vlanes.h", { "vc_conv_lanes(" } },
	{ "vrow.h", { "vr_", "Vr", "VR_" } }, { "vmul.h", { "vm_" } }, { "vpool.h", { "vp_", "Vp" } },
	{ "vattend.h", { "va_" } }, { "vresize.h", { "vz_" } }, { "vrnn.h", { "vn_", "Vn" } },
	{ "vbag.h", { "bags_", "Bags" } }, { "vdirect.h", { "vd_" } }, { "vback.h", { "vb_" } },
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
	const char *kernels = b->e->kernels.text.at ? b->e->kernels.text.at : "";

	buf_puts(text, "#include \"rt/bare.h\"\n");
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		if (is_used(kernels, headers[i].uses))
			buf_printf(text, "#include \"rt/ops/%s\"\n", headers[i].name);
}

static const char aligned[] = "__attribute__((aligned(64), unused))";

static void
put_memory(Bare *b, Buf *text)
{
	if (b->e->weights.bytes.n)
		buf_printf(text, "%sextern const char kiln_weights[];\n", b->folder ?
			   arena_printf(b->e->cx->arena, "#define kiln_weights %s_weights\n", b->door->name) : "");
	if (b->arena)
		buf_printf(text, "static char arena[%lld] %s;\n", (long long)b->arena, aligned);
	if (b->e->scratch)
		buf_printf(text, "static char kiln_scratch[%lld] %s;\n", (long long)b->e->scratch, aligned);
	if (b->e->zeros)
		buf_printf(text, "static float kiln_zeros[%lld];\n", (long long)b->e->zeros);
	if (b->state->at.n)
		buf_printf(text, "static char kiln_state[%lld] %s;\nstatic bool kiln_began;\n",
			   (long long)b->state->bytes, aligned);
}

static void
put_title(Bare *b, Buf *text, const char *end)
{
	buf_printf(text, "/* %s.%s - ", b->door->name, end);
	out_comment(text, b->door->model, 200);
	buf_puts(text, ", compiled by Kiln to plain C: no runtime, no heap */\n");
}

static int64_t
ram(const Bare *b)
{
	return b->arena + b->e->scratch + b->e->zeros * (int64_t)sizeof(float) + b->state->bytes;
}

static char *
header_text(Bare *b)
{
	const char *name = b->door->name;
	Buf text = { 0 };

	put_title(b, &text, "h");
	buf_printf(&text, "#ifndef %s_H\n#define %s_H\n\n#include <stdbool.h>\n#include <stdint.h>\n\n", name, name);
	buf_printf(&text, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
		   "enum {\n\t%s_RAM_BYTES = %lld,\t/* static memory that all calls share: one call at a time */\n"
		   "\t%s_WEIGHTS_BYTES = %lld,\t/* constants */\n};\n\n", name, (long long)ram(b), name,
		   (long long)b->e->weights.bytes.n);
	buf_puts(&text, "/*\n * Arrays hold one element after the other, float16 and bfloat16 as their bits.  Results "
		 "may not overlap\n * arguments.  0: done; 1: an index in an argument is out of range.\n */\n");
	for (int i = 0; i < b->door->typed.n; i++) {
		Buf head = { 0 };

		door_parameters(b->e->cx, &head, &b->door->typed.at[i]);
		buf_printf(&text, "int %s_%s(%s);\n", name, b->door->typed.at[i].name, head.n ? head.at + 2 : "void");
		buf_free(&head);
	}
	if (b->state->at.n)
		buf_printf(&text, "void %s_reset(void);\t/* what calls have written to the model is as it was built */\n", name);
	buf_puts(&text, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
	return arena_text(b->e->cx->arena, &text);
}

static void
put_whole(Bare *b, ProgramText *text)
{
	Emit *e = b->e;
	Buf c = { 0 };

	put_title(b, &c, "c");
	buf_printf(&c, "#define VC_FLOATS %d\n#define VC_CLAMPS %d\n#include \"%s.h\"\n", e->vf, e->clamps,
		   b->door->name);
	put_includes(b, &c);
	buf_puts(&c, "\n#define KILN_INF (1e300 * 1e300)\n#define KILN_MINUS_INF (-1e300 * 1e300)\n"
		 "#define KILN_NAN (0.0 / 0.0)\n");
	put_memory(b, &c);
	buf_puts(&c, "\n/* ---- kernels ---- */\n\n");
	buf_puts(&c, e->kernels.text.at ? e->kernels.text.at : "");
	buf_puts(&c, "\n/* ---- functions ---- */\n");
	buf_puts(&c, b->functions.text.at ? b->functions.text.at : "");
	text->n = c.n;
	text->c = arena_text(e->cx->arena, &c);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void
check_lacks(Bare *b, const char *model)
{
	if (b->nlacking)
		fail_lacks(b->e->cx, (Range){ 0 }, "%s: without a runtime (--no-generic) there are only kernels, "
			   "and these steps are none:%s%s", model, b->lacks.at,
			   b->nlacking > NAMED_MOST ? "\n  ..." : "");
	if (!b->door->typed.n)
		fail_lacks(b->e->cx, (Range){ 0 }, "%s: without a runtime (--no-generic) a function takes tensors "
			   "that have elements, one after the other, and gives such and tuples of them; "
			   "give it inputs (-i)",
			   model);
}

void
emit_bare(Cx *cx, Module *m, const EmitMethod *methods, int n, const BuildOptions *o, ProgramText *text)
{
	const char *slash = strrchr(m->path, '/');
	Bare b = { .e = emit_new(cx, m, o), .folder = !strcmp(o->emit, "c"), .state = o->state };

	if (b.e->forms == FORMS_MADE)
		b.e->forms = FORMS_SMALL;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < methods[i].nspec; k++)
			if (!methods[i].spec[k]->dynamic && !methods[i].spec[k]->again)
				add_plan(&b, &methods[i], methods[i].spec[k]);
	b.door = door_make(b.e, methods, n, o, slash ? slash + 1 : m->path);
	bare_state_put(b.state, b.e, b.door->name, &b.functions);
	if (b.state->at.n)
		vec_push(cx->arena, &text->exported, arena_printf(cx->arena, "%s_reset", b.door->name));
	for (int i = 0; i < b.door->typed.n; i++) {
		write_function(&b, &b.door->typed.at[i]);
		put_entry(&b, &b.door->typed.at[i]);
		vec_push(cx->arena, &text->exported,
			 arena_printf(cx->arena, "%s_%s", b.door->name, b.door->typed.at[i].name));
	}
	check_lacks(&b, m->path);
	put_whole(&b, text);
	text->header = header_text(&b);
	text->weights = &b.e->weights;
	text->about = emit_about(b.e);
	text->bare = true;
	text->ram = ram(&b);
}
