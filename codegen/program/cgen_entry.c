/*
 * Writes the choice at entry: tries the specializations of a function, the most specific first, then runs the generic
 * code.
 *
 * A pattern becomes one C condition on the registers that hold the arguments. Arguments that a specialization writes to
 * must not overlap others, because the order of its reads and writes assumes this.
 */
#include "program.h"

#include <string.h>

static bool
has_symbol(const TensorInfo *t)
{
	for (int i = 0; i < t->rank; i++)
		if (t->dims[i] < 0)
			return true;
	return false;
}

static void
put_value_condition(Buf *b, IValue v, const char *place)
{
	if (v.tag == RT_NONE) {
		buf_printf(b, " &&\n\t    %s.tag == RT_NONE", place);
	} else if (v.tag == RT_STR) {
		buf_printf(b, " &&\n\t    rt_is_text(%s, ", place);
		out_string(b, v.u.str->s, v.u.str->n);
		buf_printf(b, ", %lld)", (long long)v.u.str->n);
	} else {
		buf_printf(b, " &&\n\t    %s.tag == %d && %s.u.i == %lldLL", place, (int)v.tag, place,
			   (long long)v.u.i);
	}
}

static void
put_tensor_condition(Emit *e, Buf *b, const TensorInfo *t, const char *place, bool contiguous)
{
	const char *g = emit_geometry(e, t->rank, t->dims, t->strides);

	e->doubles |= t->dtype == RT_f64;
	if (t->strides || !t->rank) {
		buf_printf(b, " &&\n\t    rt_is_tensor_of(%s, RT_%s, %d, %s, %s + %d)", place,
			   rt_dtypes[t->dtype].name, t->rank, g, g, t->rank);
		return;
	}
	buf_printf(b, " &&\n\t    rt_is_tensor_sized(%s, RT_%s, %d, %s, %s)", place, rt_dtypes[t->dtype].name,
		   t->rank, g, has_symbol(t) ? "size" : "0");
	if (contiguous)
		buf_printf(b, " &&\n\t    rt_is_contiguous(%s.u.t)", place);
}

static void
put_condition(Emit *e, Buf *b, const Pattern *p, const char *place, bool contiguous)
{
	switch (p->form) {
	case PATTERN_VALUE:
		put_value_condition(b, p->value, place);
		return;
	case PATTERN_TENSOR:
		put_tensor_condition(e, b, p->type->tensor, place, contiguous);
		return;
	case PATTERN_LIST: case PATTERN_TUPLE: {
		const char *of = p->form == PATTERN_LIST ? "list" : "tuple";

		buf_printf(b, " &&\n\t    %s.tag == %s && %s.u.%s->n == %d", place,
			   p->form == PATTERN_LIST ? "RT_LIST" : "RT_TUPLE", place, of, p->n);
		for (int i = 0; i < p->n; i++)
			put_condition(e, b, &p->part[i], arena_printf(e->cx->arena, "%s.u.%s->v[%d]", place, of, i),
				      contiguous);
		return;
	}
	default:
		return;
	}
}

/* A specialization that is being written. If it cannot be written, generic code serves its arguments. */
typedef struct OnePlan {
	DynamicNames dynamic;    /* names of a dynamic specialization, which is made from samples */
	DynamicNames dynamic_gpu;        /* names of its GPU form, if `cuda` is not null */
	Emit *emit;
	Function *fn;
	const Specialization *spec;
	int index;
	const char *code, *name, *cuda;
	/* plans for the CPU and the GPU; `gpu` is null if there is no GPU code, for the reason why_gpu */
	Plan *plan, *gpu;
	Specialization *taken;   /* dynamic specialization that was written, with its last samples */
	const char *why_gpu;
	Cause why;               /* why the last dynamic specialization tried was refused; empty if none was refused */
} OnePlan;

/* Returns a text of the symbols' ranges. If a symbol has the same remainder in all samples, the text says so, because
 * sizes with another remainder run generic code. */
static const char *
ranges_text(Arena *a, const Sizes *z)
{
	const char *text = "";

	for (int i = 0; i < z->nsymbol; i++) {
		text = arena_printf(a, "%s%ss%d from %lld %s", text, i ? ", " : "", i, (long long)z->range[i][0],
				    sizes_is_open(z, i) ? "on" :
				    arena_printf(a, "to %lld", (long long)z->range[i][1]));
		if (sizes_step(z, i) > 1)
			text = arena_printf(a, "%s in steps of %lld", text, (long long)sizes_step(z, i));
	}
	return text;
}

static const char *
values_text(Arena *a, const Sizes *z, int sample)
{
	const char *text = "";

	for (int i = 0; i < z->nsymbol; i++)
		text = arena_printf(a, "%s%ss%d = %lld", text, i ? ", " : "", i, (long long)z->atom[i][sample]);
	return text;
}

/* Returns a description of a step without a generated kernel: its operator and the types of its arguments. */
static const char *
call_text(Emit *e, const Node *n)
{
	const char *text = arena_printf(e->cx->arena, "%s(", n->kind->name);

	for (int k = 0; k < n->nin; k++)
		text = arena_printf(e->cx->arena, "%s%s%s", text, k ? ", " : "", type_print(e->cx, n->in[k]->type));
	text = arena_printf(e->cx->arena, "%s)", text);
	return node_str(n, "why") ? arena_printf(e->cx->arena, "%s: %s", text, node_str(n, "why")) : text;
}

/* Adds a step of GPU code that runs on the host. Equal steps are counted. */
static void
add_host_step(Emit *e, RtCudaStep step)
{
	for (int i = 0; i < e->host_steps.n; i++) {
		RtCudaStep *s = &e->host_steps.at[i];

		if (s->specialization == step.specialization && s->name && !strcmp(s->name, step.name) &&
		    !strcmp(s->why, step.why)) {
			s->times++;
			return;
		}
	}
	vec_push(e->cx->arena, &e->host_steps, step);
}

/* Notes which steps of specialization `index` run on the GPU. */
static void
note_device(Emit *e, const OnePlan *o, int index)
{
	const Plan *p = o->gpu;

	vec_push(e->cx->arena, &e->gpu_launches, p ? p->launches : -1);
	if (!p)
		add_host_step(e, (RtCudaStep){ index, 1, NULL, o->why_gpu });
	for (int i = 0; p && i < p->host.n; i++)
		add_host_step(e, (RtCudaStep){ index, 1, p->host.at[i].node->kind->name, p->host.at[i].why });
}

/* Prints the steps that call the runtime, each different step once with its number. An unrolled loop has hundreds of
 * equal ones. */
static void
say_calls(Emit *e, const char *method, int index, const Plan *p)
{
	Arena *a = e->cx->arena;
	Map times = { .arena = a };

	for (int i = 0; i < p->calls.n; i++) {
		const char *text = call_text(e, p->calls.at[i]);
		int *n = map_get(&times, text);

		if (!n)
			map_put(&times, text, n = new(a, int, 1));
		++*n;
	}
	for (int i = 0; i < times.n; i++) {
		const int n = *(int *)times.at[i].value;

		fprintf(stderr, "kiln: %s: specialization %d calls the runtime%s: %s\n", method, index,
			n == 1 ? "" : arena_printf(a, ", %d times", n), times.at[i].key);
	}
}

static void
note(Emit *e, const char *method, const OnePlan *o)
{
	const Specialization *s = o->spec;
	const Plan *p = o->plan;
	const Sizes *z = o->dynamic.sizes ? o->dynamic.of : NULL;
	const RtSpecialization row = {
		.method = method, .kind = s->dynamic ? "dynamic" : "exact",
		.signature = specialization_signature(e->cx, s),
		.kernels = p->kernels, .runtime_calls = p->calls.n, .guards = p->guards,
		.arena_bytes = p->arena, .arena_least = p->least, 
		.symbols = z ? arena_printf(e->cx->arena, "%s; %d sizes proved, %d checked",
					    ranges_text(e->cx->arena, z), o->dynamic.proved, o->dynamic.checked) : NULL,
		.arena_at = z && !s->bounded ? values_text(e->cx->arena, z, o->dynamic.sample) : NULL,
	};

	vec_push(e->cx->arena, &e->specializations, row);
	if (e->gpu)
		note_device(e, o, e->specializations.n - 1);
	if (e->verbose)
		say_calls(e, method, o->index, p);
}

/* Writes the conditions on the state of the instance, reg[0]. */
static void
put_state(Emit *e, Buf *b, Function *fn, const Specialization *s, bool contiguous)
{
	const State *state = state_of(fn->prepared, true);

	for (int i = 0; s->found && i < state->at.n; i++) {
		const char *place = "reg[0]";

		for (int k = 0; k < state->at.at[i].slot.n; k++)
			place = arena_printf(e->cx->arena, "%s.u.obj->slot[%d]", place, state->at.at[i].slot.at[k]);
		put_condition(e, b, &s->found[i], place, contiguous);
	}
}

/* Whether w, which a node writes to, may share memory with the argument. Tensors with known storages share it only if
 * these are equal. */
static bool
may_be(Plan *p, const Value *w, const Value *argument)
{
	const RtTensor *t = plan_tensor(p, w), *a = plan_tensor(p, argument);
	const Known *k = known_at(p->known, argument);

	return (!k->is || k->v.tag != RT_NONE) && (!t || !a || t->storage == a->storage);
}

static bool
writes_argument(Plan *p, AliasDb *db, const Block *b, const Value *argument)
{
	for NODES(n, b) {
		const Schema *s = node_schema(n);
		bool named = false;

		for (int i = 0; i < n->nsub; i++)
			if (writes_argument(p, db, n->sub[i], argument))
				return true;
		if (!alias_node_writes(db, n))
			continue;
		for (int i = 0; i < n->nin && s && i < s->nargs; i++) {
			/* Running statistics are written to, although the schema does not declare it. */
			const bool written = node_writes_input(n, i) || !strncmp(s->args[i].name, "running_", 8);

			if (written && may_be(p, n->in[i], argument))
				return true;
			named |= written;
		}
		if (!named)
			return true;
	}
	return false;
}

/* Returns the registers of the arguments that the specialization writes to. An argument that is a number or None has no
 * memory. */
const char *
emit_written(Emit *e, const Specialization *s, Plan *p, int *n, uint64_t *bits)
{
	const int first = function_first(p->fn);
	Graph *g = p->graph;    /* the graph whose values the plan knows; for a dynamic plan, a sample's graph */
	AliasDb *db = alias_db(g, e->cx->arena);
	Buf b = { 0 };

	*n = 0;
	*bits = 0;
	for (int i = first; i < graph_ninputs(g); i++)
		if (s->pattern[i - first].form != PATTERN_VALUE && alias_has_writers(db, graph_inputs(g)[i]) &&
		    writes_argument(p, db, g->top, graph_inputs(g)[i])) {
			buf_printf(&b, "reg[%d], ", i);
			++*n;
			*bits |= i - first < 64 ? (uint64_t)1 << (i - first) : 0;
		}
	return arena_text(e->cx->arena, &b);
}

static void
plan_one(Cx *cx, void *arg)
{
	OnePlan *o = arg;

	for (const Specialization *s = o->spec; s; s = s->instead ? s->instead(s->instead_of) : NULL) {
		Specialization d = *s;

		o->spec = s;
		for (bool more = d.sample != NULL; more; more = samples_narrow(cx, &d))
			if (emit_dynamic(o->emit, o->fn, &d, &(DynamicOf){ o->index, o->code, false }, &o->dynamic)) {
				o->taken = new(cx->arena, Specialization, 1);
				*o->taken = d;
				o->name = o->dynamic.function;
				o->plan = (Plan *)(uintptr_t)o->dynamic.plan;
				return;
			} else {
				o->why = (Cause){ .at = cx->err.at, .what = arena_strdup(cx->arena, cx->err.what) };
			}
	}
	o->dynamic.sizes = NULL;
	if (o->spec->varied)
		return;
	o->plan = plan_make(cx, o->fn, o->spec, PLAN_CPU, NULL);
	o->name = emit_plan(o->emit, o->plan, o->index, o->code);
}

/* Makes the plan of a specialization for the GPU and emits it. Steps without a CUDA kernel run on the CPU. */
static void
plan_cuda(Cx *cx, void *arg)
{
	OnePlan *o = arg;

	o->gpu = plan_make(cx, o->fn, o->spec, PLAN_GPU, NULL);
	o->cuda = emit_plan(o->emit, o->gpu, o->index, o->code);
}

/* Writes the GPU form of a dynamic specialization. If it cannot be written, sets why_gpu. */
static void
plan_cuda_dynamic(OnePlan *o)
{
	const Cx *cx = o->emit->cx;

	if (emit_dynamic(o->emit, o->fn, o->taken, &(DynamicOf){ o->index, o->code, true }, &o->dynamic_gpu)) {
		o->cuda = o->dynamic_gpu.function;
		o->gpu = (Plan *)(uintptr_t)o->dynamic_gpu.plan;
	} else {
		o->why_gpu = arena_strdup(cx->arena, cx->err.what);
	}
}

/* Returns the C lines that run a specialization and return its status. */
static const char *
run_text(Emit *e, const OnePlan *o, int indent)
{
	Out run = { .indent = indent };

	if (o->cuda && !o->dynamic.sizes) {
		out_line(&run, "if (cx->cuda)");
		out_line(&run, "\treturn %s(cx, reg);", o->cuda);
	}
	write_return_apart(&run, e->gpu && (!o->cuda || o->dynamic.sizes),
			   arena_printf(e->cx->arena, o->dynamic.sizes ? "%s(cx, reg, s)" : "%s(cx, reg)", o->name));
	return arena_text(e->cx->arena, &run.text);
}

/* Writes the end of the condition and the branch that enters the specialization. */
static void
put_taken(Emit *e, Buf *b, const OnePlan *o, int i)
{
	const char *taken = arena_printf(e->cx->arena, "rt_plan_taken(cx, %s, \"%s\", %d);", o->code,
					 o->spec->dynamic ? "dynamic" : "exact", i);

	if (o->dynamic.sizes) {
		buf_puts(b, ") {\n\t\tconst int64_t *s;\n\n");
		if (o->cuda)
			buf_printf(b, "\t\tif (cx->cuda && (s = rt_sizes(cx, &%s, reg, size))) {\n\t\t\t%s\n"
				   "\t\t\treturn %s(cx, reg, s);\n\t\t}\n", o->dynamic_gpu.sizes, taken, o->cuda);
		buf_printf(b, "\t\tif ((s = rt_sizes(cx, &%s, reg, size))) {\n\t\t\t%s\n", o->dynamic.sizes, taken);
		buf_printf(b, "%s\t\t}\n\t\tif (cx->status)\n\t\t\treturn cx->status;\n\t}\n", run_text(e, o, 3));
		return;
	}
	buf_printf(b, ") {\n\t\t%s\n%s\t}\n", taken, run_text(e, o, 2));
}

static const char also[] = " &&\n\t    ";                /* Separator before each condition. */

/* Warns that code of the kind `what` is missing, with the reason. An error other than EXIT_LACKS ends the build. */
static void
warn_lacks(Emit *e, const Function *fn, const char *what)
{
	if (e->cx->err.status != EXIT_LACKS)
		fail_status(e->cx, e->cx->err.status, (Range){ 0 }, "%s", e->cx->err.what);
	fprintf(stderr, "kiln: warning: %s: %s: %s\n", fn->name, what, e->cx->err.what);
}

/* Notes for which sizes a dynamic specialization was refused, if one for fewer sizes replaced it. */
static void
note_refused(const OnePlan *one, const Specialization *first)
{
	Cx *cx = one->emit->cx;
	const char *instead;

	if (!one->why.what || (one->plan && one->spec == first && one->dynamic.sizes))
		return;
	instead = one->plan && one->dynamic.sizes ? specialization_signature(cx, one->spec) : NULL;
	vec_push(cx->arena, &one->emit->notes,
		 arena_printf(cx->arena, "%s: calls with %s%s%s run in generic code: %s", one->fn->name,
			      specialization_signature(cx, first), instead ? " that are not " : "",
			      instead ? instead : "", cause_says(cx, &one->why)));
}

/* Makes the plan of a specialization. Returns false if it cannot be written, or if it is for sizes that were never
 * profiled and has no kernels. */
static bool
make_plan(OnePlan *one)
{
	Emit *e = one->emit;
	const Specialization *const first = one->spec;

	if (!cx_try(e->cx, plan_one, one)) {
		warn_lacks(e, one->fn, "no specialization");
		return false;
	}
	note_refused(one, first);
	if (one->plan && one->dynamic.sizes) {
		if (e->gpu)
			plan_cuda_dynamic(one);
	} else if (one->plan && e->gpu && !cx_try(e->cx, plan_cuda, one)) {
		warn_lacks(e, one->fn, "not on the GPU");
		one->gpu = NULL;
		one->why_gpu = arena_strdup(e->cx->arena, e->cx->err.what);
	}
	return one->plan;
}

/* Writes code that enters a specialization if its conditions hold. Returns the number of size symbols that the
 * conditions bind. */
static int
put_specialization(Emit *e, Buf *text, const char *method, const OnePlan *one)
{
	const int first = function_first(one->fn), ninput = graph_ninputs(one->spec->graph);
	const int nsize = pattern_nsymbol(one->spec->pattern, ninput - first);
	const bool dynamic = one->dynamic.sizes != NULL;
	Buf when = { 0 };
	uint64_t bits;
	int nwritten;
	const char *written = emit_written(e, one->spec, one->plan, &nwritten, &bits);

	if (nsize)
		buf_printf(text, "\tfor (int i = 0; i < %d; i++)\n\t\tsize[i] = 0;\n", nsize);
	for (int k = first; k < ninput; k++)
		put_condition(e, &when, &one->spec->pattern[k - first], arena_printf(e->cx->arena, "reg[%d]", k),
			      dynamic);
	if (first)
		put_state(e, &when, one->fn, one->spec, dynamic);
	if (nwritten)
		buf_printf(&when, "%srt_none_overlap((IValue[%d]){ %s rt_none() }, %d, reg, %d)", also, nwritten + 1,
			   written, nwritten, ninput);
	buf_printf(text, "\tif (%s", when.n ? when.at + strlen(also) : "true");
	buf_free(&when);
	put_taken(e, text, one, one->index);
	note(e, method, one);
	vec_push(e->cx->arena, &e->door_specs, ((DoorSpec){ method, one->fn, one->spec, one->plan, bits }));
	if (one->spec->bounded)
		fprintf(stderr, "kiln: %s: within these bounds the arena has %lld bytes\n", one->fn->name,
			(long long)one->plan->arena);
	return nsize;
}

void
emit_entry(Emit *e, const char *method, Function *fn, const Specialization *const *spec, int n)
{
	const char *name = arena_printf(e->cx->arena, "%s_entry", out_name(e->cx->arena, "", fn->name));
	const char *code;
	int most_sizes = 0;
	Buf text = { 0 };

	if (!n && !e->gpu)
		return;
	map_put(&e->plan_names, arena_printf(e->cx->arena, "%p", (const void *)fn->code), (void *)(uintptr_t)name);
	out_line(&e->types, "static int %s(RtCx *cx, IValue *reg);", name);
	code = emit_code(e, fn->code);
	for (int i = 0; i < n; i++) {
		OnePlan one = { .emit = e, .fn = fn, .spec = spec[i], .index = i, .code = code };
		const int nsize = make_plan(&one) ? put_specialization(e, &text, method, &one) : 0;

		most_sizes = nsize > most_sizes ? nsize : most_sizes;
	}
	out_line(&e->plans, "\n/* %s: the most special that fits, or the generic code. */", name);
	out_line(&e->plans, "static int\n%s(RtCx *cx, IValue *reg)\n{", name);
	if (most_sizes)
		out_line(&e->plans, "\tint64_t size[%d];       /* what the symbols of dynamic sizes stand for */\n",
			 most_sizes);
	buf_puts(&e->plans.text, text.at ? text.at : "");
	e->plans.indent++;
	write_return_apart(&e->plans, e->gpu, arena_printf(e->cx->arena, "rt_miss(cx, %s, reg)", code));
	e->plans.indent--;
	out_line(&e->plans, "}");
	buf_free(&text);
}
