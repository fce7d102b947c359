/*
 * Assembles a program as C text.
 *
 * The parts are written in any order and joined in the order of Emit: declarations of types, data, the generic codes,
 * kernels and specializations, and last the tables from which rt_main starts.
 */
#include "door.h"

#include <string.h>

static const char head[] =
	"#include \"rt/program.h\"\n"
	"#include \"rt/half.h\"\n"
	"#include \"rt/ops/tmath.h\"\n"
	"#include \"rt/ops/vmath.h\"\n"
	"#include \"rt/ops/vscratch.h\"\n"
	"#include \"rt/ops/vconv.h\"\n"
	"#include \"rt/ops/vwino.h\"\n"
	"#include \"rt/ops/vdepth.h\"\n"
	"#include \"rt/ops/vlanes.h\"\n"
	"#include \"rt/ops/vgroups.h\"\n"
	"#include \"rt/ops/vruns.h\"\n"
	"#include \"rt/ops/vrow.h\"\n"
	"#include \"rt/ops/vmul.h\"\n"
	"#include \"rt/ops/vpool.h\"\n"
	"#include \"rt/ops/vattend.h\"\n"
	"#include \"rt/ops/vresize.h\"\n"
	"#include \"rt/ops/vtable.h\"\n"
	"#include \"rt/ops/vturn.h\"\n"
	"#include \"rt/ops/vgrid.h\"\n"
	"#include \"rt/ops/vroi.h\"\n"
	"#include \"rt/ops/vrnn.h\"\n"
	"#include \"rt/ops/vdirect.h\"\n"
	"#include \"rt/ops/vback.h\"\n"
	"\n"
	"#define KILN_INF (1e300 * 1e300)\n"
	"#define KILN_MINUS_INF (-1e300 * 1e300)\n"
	"#define KILN_NAN (0.0 / 0.0)\n"
	"#define LAST RT_LAST\n";

/* How specialized code accesses weights. Weights in the program have a linked address. Weights in a file, and large
 * ones that rt_warm moves, are accessed through the context. */
static const char weights_inside[] = "extern const char kiln_weights[];\n";
static const char weights_beside[] = "#define kiln_weights cx->weights\n";
static const char weights_moved[] = "extern const char kiln_weights[];\n#define kiln_weights cx->weights\n";

static void
put_param(Emit *e, const char *name, const Arg *a)
{
	const int value = a->has_default ? emit_value(e, a->deflt) + 1 : 0;
	Buf b = { 0 };

	out_string(&b, a->name, (int64_t)strlen(a->name));
	out_line(&e->tail, "\t{ %s, %s, %d, { 0 }, %d },\t/* %s */", b.at,
		 emit_type(e, type_unshaped(e->cx, a->type)), a->has_default, value, name);
	buf_free(&b);
}

/* Writes the parameters of a method, with constants as their defaults. */
static void
put_params(Emit *e, int index, const EmitMethod *m)
{
	const Schema *s = m->fn->schema;

	out_line(&e->tail, "static const RtParam param_%d[] = {", index);
	for (int i = function_first(m->fn); i < s->nargs; i++)
		put_param(e, m->name, &s->args[i]);
	out_line(&e->tail, "\t{ 0 }\n};");
}

static const Type *
result_type(Emit *e, const Schema *s)
{
	const Type **of;

	if (s->nrets == 1)
		return s->rets[0].type;
	of = new(e->cx->arena, const Type *, s->nrets + 1);
	for (int i = 0; i < s->nrets; i++)
		of[i] = s->rets[i].type;
	return type_tuple(e->cx, of, s->nrets);
}

/* Writes the table of a method's gradients. Returns false if the method has none. */
static bool
put_gradients(Emit *e, int i, const Gradient *d)
{
	Buf b = { 0 };

	if (!d)
		return false;
	for (int k = 0; k < d->inputs.n; k++) {
		out_string(&b, d->inputs.at[k].name, (int64_t)strlen(d->inputs.at[k].name));
		buf_puts(&b, ", ");
	}
	out_line(&e->tail, "static const char *const grad_name_%d[] = { %s};", i, b.at);
	out_line(&e->tail, "static const RtGradients grad_%d = { grad_name_%d, %d, rt_gradients_write, "
		 "rt_gradients_read, rt_train, rt_train_options, rt_train_usage };", i, i, d->inputs.n);
	buf_free(&b);
	return true;
}

/* Returns the reason why a method has only generic code. Null if one of its specializations was emitted. */
static const char *
why_generic(const Emit *e, const EmitMethod *m)
{
	for (int i = 0; i < e->specializations.n; i++)
		if (!strcmp(e->specializations.at[i].method, m->name))
			return NULL;
	return m->generic ? m->generic : "no input has specialized code; the build said why";
}

static void
put_methods(Emit *e, const EmitMethod *m, int n)
{
	Buf b = { 0 };

	for (int i = 0; i < n; i++)
		put_params(e, i, &m[i]);
	for (int i = 0; i < n; i++) {
		const Schema *s = m[i].fn->schema;
		const bool gradients = put_gradients(e, i, m[i].fn->gradient);

		buf_puts(&b, "\t{ ");
		out_string(&b, m[i].name, (int64_t)strlen(m[i].name));
		buf_printf(&b, ", %s, param_%d, %d, %s, %d", emit_code(e, m[i].fn->code), i,
			   s->nargs - function_first(m[i].fn), emit_type(e, type_unshaped(e->cx, result_type(e, s))),
			   function_first(m[i].fn));
		buf_printf(&b, ", .gradients = %s", gradients ? arena_printf(e->cx->arena, "&grad_%d", i) : "0");
		if (m[i].reference)
			buf_printf(&b, ", .reference = %s", emit_code(e, m[i].reference));
		if (why_generic(e, &m[i]))
			buf_printf(&b, ", .generic = \"%s\"", why_generic(e, &m[i]));
		buf_puts(&b, " },\n");
	}
	emit_classes(e);
	out_line(&e->tail, "static const RtMethod methods[] = {\n%s};", b.at);
	buf_free(&b);
}

/* Writes an entry of the table of packings. Names the members that are not zero. */
static void
put_packing(Emit *e, const RtPacking *p)
{
	const Param member[] = {
		{ "at", p->at }, { "to", p->to }, { "n", p->n }, { "k", p->k }, { "taps", p->taps }, { "kw", p->kw },
		{ "width", p->width }, { "last", p->last }, { "sn", p->sn }, { "sk", p->sk }, { "sr", p->sr },
		{ "ss", p->ss }, { "kh", p->kh }, { "sd", p->sd }, { "quad", p->quad }, { "group", p->group },
		{ "centred", p->centred }, { "from", p->from }, { "as", p->as }, { "skip", p->skip },
		{ "inner", p->inner }, { "so", p->so }, { "scales", p->scales },
	};
	Buf b = { 0 };

	for (size_t i = 0; i < sizeof member / sizeof *member; i++)
		if (member[i].value || !i)
			buf_printf(&b, "%s.%s = %lld", i ? ", " : "", member[i].name, (long long)member[i].value);
	out_line(&e->tail, "\t{ %s },", b.at);
	buf_free(&b);
}

/* Writes, for each storage that exists only in packed form, a table of its parts. */
static void
put_packings(Emit *e)
{
	for (int i = 0; i < e->weights.originals.n; i++) {
		const Original *o = &e->weights.originals.at[i];

		if (!o->packed)
			continue;
		out_line(&e->tail, "static const RtPacking packing_%d[] = {", i);
		for (int k = 0; k < o->parts.n; k++)
			put_packing(e, &o->parts.at[k]);
		out_line(&e->tail, "};");
	}
}

/* Writes the model's storages. */
static void
put_storages(Emit *e)
{
	put_packings(e);
	out_line(&e->tail, "static const RtSpan storages[] = {");
	for (int i = 0; i < e->weights.storages.n; i++) {
		const int at = e->weights.storages.at[i].original;
		const Original *o = &e->weights.originals.at[at];

		out_line(&e->tail, "\t{ %lld, %lld, %s },", (long long)(o->packed ? o->parts.n : o->offset),
			 (long long)o->bytes, o->packed ? arena_printf(e->cx->arena, "packing_%d", at) : "0");
	}
	out_line(&e->tail, "\t{ 0 }\n};");
}

/* Writes the tables that --info prints. */
static void
put_about(Emit *e)
{
	out_line(&e->tail, "static const RtSpecialization specializations[] = {");
	for (int i = 0; i < e->specializations.n; i++) {
		const RtSpecialization *s = &e->specializations.at[i];
		Buf b = { 0 };

		out_string(&b, s->method, (int64_t)strlen(s->method));
		buf_printf(&b, ", \"%s\", ", s->kind);
		out_string(&b, s->signature, (int64_t)strlen(s->signature));
		out_line(&e->tail, "\t{ %s, %d, %d, %d, %lldLL, %lldLL, %s, %s },", b.at, s->kernels, s->runtime_calls,
			 s->guards, (long long)s->arena_bytes, (long long)s->arena_least, emit_quoted(e, s->symbols),
			 emit_quoted(e, s->arena_at));
		buf_free(&b);
	}
	out_line(&e->tail, "\t{ 0 }\n};\nstatic const RtWeightForm weight_forms[] = {");
	for (int i = 0; i < NWEIGHT_FORM; i++)
		out_line(&e->tail, "\t{ \"%s\", %lldLL },", weight_forms[i], (long long)e->weights.form_bytes[i]);
	out_line(&e->tail, "\t{ 0 }\n};");
}

enum { VERY_TALL = 12, VERY_DEEP = 64 }; /* largest number of a block's rows and of a run's products: VC_MOST, VC_RUN */
enum { STREAMED = 32 << 20 };            /* least bytes of weights worth moving to large pages: fewer stay in caches */

/* Whether the weights are so large that small pages cost time. */
static bool
is_streamed(const Emit *e)
{
	return e->streamed >= STREAMED;
}

/* Writes the table of weights that are computed when the program is opened. */
static void
put_making(Emit *e)
{
	out_line(&e->tail, "static const RtMaking making[] = {");
	for (int i = 0; i < e->making.n; i++) {
		const RtMaking *m = &e->making.at[i];

		out_line(&e->tail, "\t{ .from = %lld, .to = %lld, .alone = %lld, .floats = %lld, .half = %d, .n = %d, "
			 ".k = %d, .panels = %d, .tile = %d },", (long long)m->from, (long long)m->to,
			 (long long)m->alone, (long long)m->floats, m->half, m->n, m->k, m->panels, m->tile);
	}
	out_line(&e->tail, "};");
}

/* Returns the name of the function that computes Winograd filters when the program is opened. The function for both
 * tile sizes is used only if both occur. It is the lowest level's, because it runs only once. */
static const char *
maker(const Emit *e)
{
	int first = 0;

	for (int i = 0; i < e->making.n; i++) {
		const int tile = e->making.at[i].tile;

		if (first && tile && tile != first)
			return "vc_wino_filters";
		first = first ? first : tile;
	}
	return !first ? "0" : first == 4 ? "vc_wino_filters_4" : "vc_wino_filters_2";
}

static bool
any_has_halves(const Emit *e)
{
	for (int i = 0; i < e->making.n; i++)
		if (e->making.at[i].half)
			return true;
	return false;
}

static void
put_string_member(Emit *e, const char *member, const char *text, int64_t n)
{
	Buf b = { 0 };

	out_string(&b, text, n);
	out_line(&e->tail, "\t.%s = %s,", member, b.at);
	buf_free(&b);
}

static bool
any_is_packed(const Emit *e)
{
	for (int i = 0; i < e->weights.originals.n; i++)
		if (e->weights.originals.at[i].packed)
			return true;
	return false;
}

/* Writes the members that say where weights are and how they are computed and moved at run time. */
static void
put_weights_members(Emit *e, const BuildOptions *o)
{
	const char *file = o->weights_file;
	const bool streamed = is_streamed(e);

	out_line(&e->tail, "\t.form = weight_forms, .weights_bytes = %lldLL,", (long long)e->weights.bytes.n);
	if (file) {
		put_string_member(e, "weights_file", file, (int64_t)strlen(file));
		out_line(&e->tail, "\t.weights_hash = %lluULL, .weights_sample = %lluULL,",
			 (unsigned long long)spill_hash(&e->weights.bytes),
			 (unsigned long long)rt_weights_sample(e->weights.bytes.at, e->weights.bytes.n));
	}
	out_line(&e->tail, "\t%s,", file ? ".beside = rt_beside, .unmap = rt_beside_end" : ".weights = kiln_weights");
	if (file && !o->name)
		out_line(&e->tail, "\t.watch = rt_beside_watch,");
	if (any_is_packed(e))
		out_line(&e->tail, "\t.unpack = rt_unpack_columns,");
	if (streamed)
		out_line(&e->tail, "\t.streamed = %lldLL,", (long long)e->packed_bytes);
	if (streamed)
		out_line(&e->tail, "\t.warm = rt_warm,");
	if (e->making.n)
		out_line(&e->tail, "\t.open = rt_make_weights, .making = making, .nmaking = %d, "
			 ".make = %s, .widen = %s,", e->making.n, maker(e), any_has_halves(e) ? "rt_widen" : "0");
	if (streamed || e->making.n)
		out_line(&e->tail, "\t.cool = rt_cool,");
	out_line(&e->tail, "\t.forms = \"%s\", .made_bytes = %lldLL, .alone_bytes = %lldLL, .unpacked_bytes = %lldLL,",
		 forms_names[e->forms], (long long)e->made_bytes, (long long)e->alone_bytes,
		 (long long)weights_called(&e->weights));
}

const char *
processor_name(Arena *a, const BuildOptions *o, const Texts *levels)
{
	const char *all = levels ? levels->at[0] : NULL;

	for (int i = 1; levels && i < levels->n; i++)
		all = arena_printf(a, "%s,%s", all, levels->at[i]);
	return all ? all : o->cpu ? o->cpu : o->march ? o->march : o->mcpu ? o->mcpu :
		o->target == target_host() ? "native" : target_triple(o->target);
}

/* Writes the table of levels. Each level lists the processor features that the compiler may assume. */
static void
put_levels(Emit *e, const BuildOptions *o)
{
	if (!e->levels) {
		out_line(&e->tail, "static const RtLevel level = { %s,\n#include \"rt/needs.h\"\n\t, 0\n};",
			 out_literal(e->cx->arena, processor_name(e->cx->arena, o, NULL)));
		out_line(&e->tail, "static const RtLevel *const levels[] = { &level, 0 };");
		return;
	}
	out_line(&e->tail, "static const RtLevel *const levels[] = {");
	for (int i = e->levels->n; i-- > 0;)
		out_line(&e->tail, "\t&kiln_level_%d,", i);
	out_line(&e->tail, "\t0\n};");
}

/* Defines the names of kernels as the functions of the level that was chosen at start. */
static void
put_chosen(Out *o, const Texts *names)
{
	for (int i = 0; i < names->n; i++)
		out_line(o, "#define %s (((const struct Kernels *)cx->kernels)->%s)", names->at[i], names->at[i]);
}

/* Whether the program launches few kernels, and none takes long. Then kernels are compiled only for the lowest level.
 * In a net of a few hundred parameters, register blocks for each level would triple its code. */
static bool
is_short(const Emit *e)
{
	enum { FEW = 8 };

	return !e->busy && e->launched.n <= FEW;
}

/* Writes the table of kernels of each level. A program with several levels is compiled once for each, with KILN_LEVEL
 * and KILN_OPS, the suffix of the level's operators. The rest of the program, which names no kernel, is compiled with
 * the lowest level, with KILN_ALL. There a kernel's name stands for that of the chosen level. Entries of the table of
 * steps contain an operator's offset in struct Kernels. */
static void
put_kernel_tables(Emit *e)
{
	const Texts none = { 0 }, *launched = is_short(e) ? &none : &e->launched;
	Out *o = &e->kernels;

	out_line(o, "#define KILN_JOIN_(a, b) a##b\n#define KILN_JOIN(a, b) KILN_JOIN_(a, b)\n");
	out_line(o, "struct Kernels {");
	for (int i = 0; i < launched->n; i++)
		out_line(o, "\tvoid (*%s)(void *, int64_t, int64_t);", launched->at[i]);
	for (int i = 0; i < e->called.n; i++)
		out_line(o, "\tRtKernel *%s;", e->called.at[i]);
	out_line(o, "\tint none;\n};");
	for (int i = 0; i < e->called.n; i++)
		out_line(o, "RtKernel KILN_JOIN(%s, KILN_OPS);", e->called.at[i]);
	out_line(o, "static const struct Kernels kernels = {");
	for (int i = 0; i < launched->n; i++)
		out_line(o, "\t%s,", launched->at[i]);
	for (int i = 0; i < e->called.n; i++)
		out_line(o, "\tKILN_JOIN(%s, KILN_OPS),", e->called.at[i]);
	out_line(o, "\t0\n};");
	for (int i = 0; i < e->levels->n; i++)
		out_line(o, "#define KILN_NAME_%d %s\nextern const RtLevel kiln_level_%d;", i,
			 out_literal(e->cx->arena, e->levels->at[i]), i);
	out_line(o, "const RtLevel KILN_JOIN(kiln_level_, KILN_LEVEL) = { KILN_JOIN(KILN_NAME_, KILN_LEVEL),\n"
		 "#include \"rt/needs.h\"\n\t, &kernels\n};");
	put_chosen(o, launched);
}

static void
put_program(Emit *e, const Module *m, int nmethod, const BuildOptions *o, bool instance)
{
	const char *slash = strrchr(m->path, '/'), *name = slash ? slash + 1 : m->path;

	out_line(&e->tail, "static RtShared shared;");
	out_line(&e->tail, "static const RtConst constants[] = {\n%s\t{ 0 }\n};", e->rows.at ? e->rows.at : "");
	put_storages(e);
	put_about(e);
	if (e->making.n)
		put_making(e);
	if (is_streamed(e) && !o->weights_file)
		out_line(&e->tail, "#undef kiln_weights");
	put_levels(e, o);
	out_line(&e->tail, "static const RtProgram program = {");
	put_string_member(e, "name", name, (int64_t)strlen(name));
	put_string_member(e, "provenance", e->provenance.at, e->provenance.n);
	out_line(&e->tail, "\t.levels = levels,");
	out_line(&e->tail, "\t.method = methods, .constant = constants, .storage = storages, .shared = &shared,");
	out_line(&e->tail, "\t.specialization = specializations,");
	if (e->prints && !o->name)
		out_line(&e->tail, "\t.close_text = rt_close_text,");
	put_weights_members(e, o);
	out_line(&e->tail, "\t.extra = extra, .nextra = (int)(sizeof extra / sizeof *extra) - 1,");
	out_line(&e->tail, "\t.nmethod = %d, .nconstant = %d, .nvalue = %d, .nstorage = %d, .nspecialization = %d,",
		 nmethod, e->nrow, e->nvalue - instance, e->weights.storages.n, e->specializations.n);
	if (e->gpu)
		out_line(&e->tail, "\t.cuda = &cuda,");
	if (e->bench_code)
		put_string_member(e, "launches", e->launches.at ? e->launches.at : "", e->launches.n);
	out_line(&e->tail, "\t.fresh = %s, .seed = %lluULL, .seeded = %d, .threads = %d, .torch = %d, "
		 ".engine = %d, .no_grad = %d,\n};",
		 instance ? "rt_instance_fresh" : "0", (unsigned long long)o->seed, o->seeded, o->threads,
		 cx_rt(e->cx)->torch, cx_rt(e->cx)->engine, !cx_rt(e->cx)->grad);
}

/* Writes main for a program, or the functions of NAME.h for a library. */
static void
put_start(Emit *e, const Module *m, const EmitMethod *methods, int n, const BuildOptions *o, ProgramText *text)
{
	const char *slash = strrchr(m->path, '/');
	const Door *door;

	if (!o->name) {
		out_line(&e->tail, "\nconst RtProgram *\nkiln_program(void)\n{\n\treturn &program;\n}");
		out_line(&e->tail, "\nint\nmain(int argc, char **argv)\n{\n\treturn rt_main(&program, argc, argv);\n}");
		return;
	}
	door = door_make(e, methods, n, o, slash ? slash + 1 : m->path);
	door_put(e, door, &text->exported);
	text->header = door_header(e->cx, door);
}

const char *const emit_own[] = { "rt_tiles", "rt_cast_dense", "rt_quantized", "rt_lazy", "rt_do", "rt_read_other",
	"rt_write_other", "rt_format_other", "rt_close_other", "rt_build_other", "rt_texts", NULL };

/* Whether the type is Tensor or Optional[Tensor]. */
static bool
is_tensor_type(const Type *t)
{
	return t->kind == TYPE_TENSOR || (t->kind == TYPE_OPTIONAL && is_tensor_type(t->of[0]));
}

/* Notes which kinds of arguments, results and constants occur besides tensors. Only main() prints results and compares
 * them. */
static void
put_others(Emit *e, const EmitMethod *methods, int n, bool instance, bool has_main)
{
	bool args = false, results = false;

	for (int i = 0; i < n; i++) {
		const Schema *s = methods[i].fn->schema;

		for (int k = function_first(methods[i].fn); k < s->nargs; k++)
			args |= !is_tensor_type(s->args[k].type);
		results |= methods[i].fn->gradient || s->nrets != 1 || !is_tensor_type(s->rets[0].type);
	}
	out_line(&e->tail, "RtReadOther *const rt_read_other = %s;", args ? "rt_read_any" : "0");
	out_line(&e->tail, "RtWriteOther *const rt_write_other = %s;", results ? "rt_write_any" : "0");
	out_line(&e->tail, "const RtTexts *const rt_texts = %s;", args || results ? "&rt_texts_all" : "0");
	out_line(&e->tail, "RtFormatOther *const rt_format_other = %s;", has_main && results ? "rt_format_value" : "0");
	out_line(&e->tail, "RtCloseOther *const rt_close_other = %s;",
		 has_main && (args || results || instance) ? "rt_close_any" : "0");
	out_line(&e->tail, "RtBuildOther *const rt_build_other = %s;", e->holders ? "rt_build_any" : "0");
}

/* Whether specialized code calls kernels of the runtime. Also true if there is no specialized code. */
static bool
calls_runtime(const Emit *e)
{
	bool calls = !e->specializations.n;

	for (int i = 0; i < e->specializations.n; i++)
		calls |= e->specializations.at[i].runtime_calls > 0;
	return calls;
}

/* Chooses the runtime's tiles for products. A program for wide vectors runs only on machines that have them, so it
 * needs one tile size. A program for narrow vectors, or emitted text, may run on any machine. tcc links objects that
 * gcc has compiled, except for emitted text, which then only has the smallest tile. Tiles for doubles are left out if
 * no specialization has doubles; results are the same without them. If the program has several levels, its launches are
 * short and no specialization calls the runtime, products in generic code only have the smallest tile. */
static void
put_tiles(Emit *e, bool text)
{
	const bool any = e->levels || text || e->vf < 8;
	const char *which = e->specializations.n && !e->doubles ? "_floats" : "";

	if (text)
		out_line(&e->tail, "#if defined __x86_64__ && !defined __TINYC__");
	else
		out_line(&e->tail, "#if defined __x86_64__ && %d", !e->levels || !is_short(e) ||
			 !e->specializations.n || calls_runtime(e));
	if (any)
		out_line(&e->tail, "const RtTiles *const rt_tiles[] = "
			 "{ &rt_tiles_64%s, &rt_tiles_32%s, &rt_tiles_16%s, 0 };", which, which, which);
	else
		out_line(&e->tail, "const RtTiles *const rt_tiles[] = { &rt_tiles_%d%s, 0 };", 4 * e->vf, which);
	out_line(&e->tail, "#else\nconst RtTiles *const rt_tiles[] = { &rt_tiles_16%s, 0 };\n#endif", which);
}

/* Leaves out parts of the runtime that handle operands which cannot occur in this program. Also leaves out parts that
 * only generic code would use, if other parts do the same work. */
static void
put_runtime_parts(Emit *e, const EmitMethod *methods, int n, const BuildOptions *o, bool instance)
{
	put_tiles(e, !strcmp(o->emit, "c"));
	out_line(&e->tail, "RtCastDense *const rt_cast_dense = %s;", calls_runtime(e) ? "rt_cast_dense_all" : "0");
	out_line(&e->tail, "const RtQuantized *const rt_quantized = %s;", e->quantized ? "&rt_quantized_all" : "0");
	out_line(&e->tail, "const RtLazy *const rt_lazy = %s;", e->bits ? "&rt_lazy_all" : "0");
	emit_instructions(e);
	put_others(e, methods, n, instance, !o->name);
}

static void
append_section(Buf *text, const Out *part, const char *title)
{
	const char *at = part->text.at;
	int64_t n = part->text.n;

	if (!n)
		return;
	for (; n && *at == '\n'; n--)
		at++;
	while (n > 1 && at[n - 1] == '\n' && at[n - 2] == '\n')
		n--;
	buf_printf(text, "\n/* ---- %s ---- */\n\n", title);
	buf_add(text, at, n);
}

/* Returns the names of the methods, each with the reason why it has only generic code, for rt/info.c. */
static const RtMethod *
about_methods(const Emit *e, const EmitMethod *m, int n)
{
	RtMethod *about = new(e->cx->arena, RtMethod, n);

	for (int i = 0; i < n; i++)
		about[i] = (RtMethod){ .name = m[i].name, .generic = why_generic(e, &m[i]) };
	return about;
}

/* Returns what a program's --info would print, for emitted text that is not compiled yet. */
RtProgram
emit_about(Emit *e)
{
	RtWeightForm *form = new(e->cx->arena, RtWeightForm, NWEIGHT_FORM + 1);
	RtCudaProgram *cuda = new(e->cx->arena, RtCudaProgram, 1);

	for (int i = 0; i < NWEIGHT_FORM; i++)
		form[i] = (RtWeightForm){ weight_forms[i], e->weights.form_bytes[i] };
	*cuda = (RtCudaProgram){ .launches = e->gpu_launches.at, .host = e->host_steps.at, .nhost = e->host_steps.n,
				 .about = rt_cuda_about };
	return (RtProgram){ .specialization = e->specializations.at, .nspecialization = e->specializations.n,
			    .form = form, .forms = forms_names[e->forms], .weights_bytes = e->weights.bytes.n,
			    .made_bytes = e->made_bytes, .alone_bytes = e->alone_bytes,
			    .unpacked_bytes = weights_called(&e->weights),
			    .launches = e->launches.at ? e->launches.at : e->bench_code ? "" : NULL,
			    .streamed = is_streamed(e) ? e->packed_bytes : 0, .cuda = e->gpu ? cuda : NULL };
}

Emit *
emit_new(Cx *cx, const Module *m, const BuildOptions *o)
{
	Emit *e = new(cx->arena, Emit, 1);

	e->cx = cx;
	e->weights.cx = cx;
	e->source = o->source;
	e->library = o->name != NULL;
	e->verbose = o->verbose;
	e->forms = o->forms;
	e->bench_code = o->bench_code;
	e->tuning = o->tuning;
	e->gpu = o->gpu != NULL;
	e->levels = o->levels.n ? &o->levels : NULL;
	for (int i = 0; i < o->levels.n && strcmp(o->emit, "c"); i++)
		e->ops_by_level |= o->level_ops[i] != o->ops_level;
	e->vf = o->vector_floats;
	e->in_order = target_in_order(o->target, o->mcpu ? o->mcpu : o->cpu);
	e->nr = e->vf == 16 ? 64 : e->vf == 8 ? 16 : e->vf == 4 ? 8 : 4;
	e->panel = e->nr < 16 ? e->nr : 16;
	buf_printf(&e->provenance, "model: %016llx\ncompiler: kiln\noptimization: -O%d\n", (unsigned long long)m->hash,
		   o->opt);
	return e;
}

/* Defines the macros that set the sizes of vblock.h's products in this program. */
void
emit_panels(const Emit *e, Buf *b)
{
	buf_printf(b, "#define VC_CLAMPS %d\n", e->clamps);
	buf_printf(b, "#define VC_FRAMES %d\n", e->volumes);
	buf_printf(b, "#define VC_DILATED %d\n", e->dilated);
	buf_printf(b, "#define VC_TAPS_BESIDE %d\n", e->beside);
	if (e->tall < VERY_TALL)
		buf_printf(b, "#define VC_TALL %lld\n", (long long)e->tall);
	if (e->deep <= VERY_DEEP)
		buf_printf(b, "#define VC_DEEP %lld\n", (long long)e->deep);
}

/* Declares kernels. In levels above the lowest they are unused. */
static void
declare_kernels(const Emit *e, Buf *b)
{
	for (int i = 0; i < e->launched.n && is_short(e); i++)
		buf_printf(b, "static __attribute__((unused)) void %s(void *, int64_t, int64_t);\n",
			   e->launched.at[i]);
}

/* Joins all parts of the text in the order of the C file. */
static Buf
whole_text(Emit *e, const char *path, const BuildOptions *o)
{
	Buf b = { 0 };

	buf_puts(&b, "/* ");
	out_comment(&b, path, 200);
	buf_puts(&b, ", compiled by Kiln. */\n");
	if (e->levels)
		put_kernel_tables(e);
	buf_printf(&b, e->levels ? "#define VC_PACKED %d\n" : "#define VC_FLOATS %d\n", e->vf);
	buf_puts(&b, e->in_order ? "#define VC_IN_ORDER 1\n" : "");
	emit_panels(e, &b);
	buf_puts(&b, head);
	if (e->int8)
		buf_puts(&b, "#include \"rt/ops/vint8_depth.h\"\n#include \"rt/ops/vint8_rnn.h\"\n");
	buf_puts(&b, e->coarse.n ? "#include \"rt/ops/vcoarse.h\"\n" : "");
	if (!strcmp(o->emit, "c") && !o->weights_file)
		buf_printf(&b, "#define kiln_weights %s_weights\n", o->name);
	buf_puts(&b, o->weights_file ? weights_beside : is_streamed(e) ? weights_moved : weights_inside);
	if (e->levels) {
		declare_kernels(e, &b);
		buf_puts(&b, "\n#ifdef KILN_ALL\n");
	}
	if (e->zeros)
		buf_printf(&b, "static float kiln_zeros[%lld];\n", (long long)e->zeros);
	append_section(&b, &e->types, "declared");
	append_section(&b, &e->data, "types and geometry");
	buf_puts(&b, "\nRT_STEPS\n");
	append_section(&b, &e->code, "the generic program: the interpreter's code, assuming nothing");
	buf_puts(&b, e->levels ? "\nRT_STEPS_END\n\n#endif\n" : "\nRT_STEPS_END\n");
	append_section(&b, &e->kernels, "kernels");
	buf_puts(&b, e->levels ? "\n#ifdef KILN_ALL\n\nRT_LISTS\n" : "\nRT_LISTS\n");
	append_section(&b, &e->plans, "specializations");
	append_section(&b, &e->tail, "what the program starts from");
	if (e->levels)
		buf_puts(&b, "#endif\n");
	return b;
}

/* Whether the method reads its module. If not, the code's first instruction drops it: attributes that no code writes
 * are constants. */
static bool
needs_self(const EmitMethod *m)
{
	const RtCode *c = m->fn->code;
	const RtInsn *first = c->insn;

	if (!m->fn->self)
		return false;
	for (int i = 0; i < first->nin && first->op == RT_DO_CLEAR; i++)
		if (!RT_REG(c->operand[first->in + (uint32_t)i]))
			return m->fn->gradient || m->reference;
	return true;
}

/* Writes the files that were saved with the model. Their bytes are stored among the weights, because they may be
 * large. */
static void
put_extra(Emit *e, const Module *m)
{
	const char *const *names;
	const int n = m->archive ? archive_names(m->archive, &names) : 0;

	out_line(&e->tail, "static const RtExtra extra[] = {");
	for (int i = 0; i < n; i++) {
		const char *name = archive_extra(names[i]);
		Buf b = { 0 };
		Record r;

		if (!name)
			continue;
		r = archive_record(m->archive, names[i]);
		out_string(&b, name, (int64_t)strlen(name));
		out_line(&e->tail, "\t{ %s, %lldLL, %lldLL },", b.at, (long long)(r.n ? weights_add(&e->weights,
			 WEIGHT_PLAIN, r.data, r.n) : 0), (long long)r.n);
		buf_free(&b);
	}
	out_line(&e->tail, "\t{ 0 }\n};");
}

void
emit_program(Cx *cx, Module *m, const EmitMethod *methods, int n, const BuildOptions *o, ProgramText *text)
{
	Emit *e = emit_new(cx, m, o);
	RtLevel *level = new(cx->arena, RtLevel, 1);
	Texts levels = o->levels;
	bool instance = false;
	Buf whole;

	for (int i = 0; i < n; i++) {
		instance |= needs_self(&methods[i]);
		emit_entry(e, methods[i].name, methods[i].fn, methods[i].spec, methods[i].nspec);
	}
	if (o->int8_level && e->levels && !e->int8) {
		levels.n--;
		e->levels = &levels;
	}
	put_methods(e, methods, n);
	if (instance) {
		emit_method_classes(e, m->self);
		emit_classes(e);
		emit_value(e, m->self);
	}
	emit_classes(e);
	if (e->gpu)
		emit_gpu(e, m->path, o, text);
	e->packed_bytes = e->weights.bytes.n;
	e->alone_bytes = pack_finish(e);
	coarse_finish(e);
	halves_finish(&e->weights);
	weights_finish(&e->weights);
	put_extra(e, m);
	put_runtime_parts(e, methods, n, o, instance);
	put_program(e, m, n, o, instance);
	put_start(e, m, methods, n, o, text);
	whole = whole_text(e, m->path, o);
	text->source = whole.at;
	text->n = whole.n;
	text->weights = &e->weights;
	level->name = processor_name(e->cx->arena, o, e->levels);
	text->about = emit_about(e);
	text->about.method = about_methods(e, methods, n);
	text->about.nmethod = n;
	text->notes = e->notes;
	text->about.level = level;
	text->levels = levels;
}
