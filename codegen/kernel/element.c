/*
 * Prints the computation of one point, which C and CUDA share.
 *
 * The value text of each row is pasted unchanged.  If all rows compute in one type T, its a, b, c ... are replaced by
 * the operands.  Else each row is a block in which they are variables of the row's type.  A result has the type in
 * which it is stored, so it is rounded where the eager kernels round it.
 *
 *    const float v1 = x1[i0 * 64 + i1];
 *    const float t0 = v1 + s2;
 *    y0[i0 * 64 + i1] = t0;
 */
#include "form.h"

#include <string.h>

typedef struct Element {
	const Kernel *kernel;
	Arena *arena;
	Stage from, end;         /* range of the stage's own lets, states and stores */
	int   stage;
	const char *lane;        /* suffix of a row's values: "[j]", or "" */
	const Size *columns;     /* extent that the variable n holds, or null */
	const char *type;        /* the common type T of all lets; null if they differ */
	bool  trial;             /* whether to print only lets */
	Buf   body;
	int   nnumber;           /* number of variables for numbers so far */
} Element;

/* ---- types ----------------------------------------------------------------------------------------------------- */

const char *
element_type(RtDtype dtype)
{
	static const char *const names[RT_NDTYPE] = {
#define DTYPE(name, c, bytes, torch, numpy, cat, compute, brief) [RT_##name] = #c,
#include "../../rt/dtype.def"
#undef DTYPE
	};

	return strchr("CQ", rt_dtypes[dtype].category) ? NULL : names[dtype];
}

const char *
compute_type(RtDtype dtype)
{
	switch (rt_dtypes[dtype].compute) {
	case RT_f32: return "float";
	case RT_f64: return "double";
	case RT_b8:  return "bool";
	case RT_u64: return "uint64_t";
	default:     return "int64_t";
	}
}

void
kernel_put_size(const Kernel *k, const Size *s, bool factor, Buf *b)
{
	Naming *names = k->naming;
	int64_t n;
	int at = 0;

	if (!names || size_const(s, &n)) {
		size_print(s, SIZE_C, factor, b);
		return;
	}
	while (at < names->at.n && names->at.at[at] != s)
		at++;
	if (at == names->at.n)
		vec_push(k->arena, &names->at, s);
	buf_printf(b, "size%d", at);
}

const char *
element_loaded(Arena *a, RtDtype dtype, const char *element)
{
	RT_ASSERT(dtype >= 0 && dtype < RT_NDTYPE);
	if (dtype == RT_f16)
		return arena_printf(a, "half_to_float(%s)", element);
	if (dtype == RT_bf16)
		return arena_printf(a, "bf16_to_float(%s)", element);
	if (rt_dtypes[dtype].category == 'E')
		return arena_printf(a, "%s_to_float(%s)", rt_dtypes[dtype].name, element);
	if (dtype == RT_b8)
		return arena_printf(a, "(%s != 0)", element);
	return element;
}

/* Returns the C type of a value at a point: the compute type, but int for small integers, which convert faster to
 * floats. */
static const char *
value_type(RtDtype dtype)
{
	if (dtype == RT_u16 || dtype == RT_u32)
		return dtype == RT_u16 ? "int" : "uint32_t";
	return rt_dtypes[dtype].category == 'I' && rt_dtypes[dtype].bytes <= 4 ? "int" : compute_type(dtype);
}

/* Returns C of a number of the row's compute type, rounded to the values of this dtype. */
static const char *
rounded_text(Arena *a, RtDtype dtype, const char *x)
{
	switch (dtype) {
	case RT_f16:  return arena_printf(a, "half_rounded((float)(%s))", x);
	case RT_bf16: return arena_printf(a, "bf16_rounded((float)(%s))", x);
	case RT_b8:   return arena_printf(a, "((%s) != 0)", x);
	case RT_f32: case RT_f64: case RT_i64: case RT_u32: case RT_u64:
		return arena_printf(a, "(%s)(%s)", element_type(dtype), x);
	case RT_f8_e5m2: case RT_f8_e4m3fn: case RT_f8_e5m2fnuz: case RT_f8_e4m3fnuz:
		return arena_printf(a, "%s_rounded((float)(%s))", rt_dtypes[dtype].name, x);
	default:
		return arena_printf(a, "(int)(%s)(%s)", element_type(dtype), x);
	}
}

const char *
element_stored(Arena *a, RtDtype dtype, const char *x)
{
	if (dtype == RT_f16)
		return arena_printf(a, "float_to_half((float)%s)", x);
	if (dtype == RT_bf16)
		return arena_printf(a, "float_to_bf16((float)%s)", x);
	if (rt_dtypes[dtype].category == 'E')
		return arena_printf(a, "float_to_%s((float)%s)", rt_dtypes[dtype].name, x);
	return strcmp(element_type(dtype), compute_type(dtype)) ? arena_printf(a, "(%s)%s", element_type(dtype), x) : x;
}

/* ---- operands -------------------------------------------------------------------------------------------------- */

/* Writes the sum of axes times strides: "i0 * 56 + i1". columns: an extent that the variable n holds, or null. ranked:
 * whether the index of the last axis is the variable `rank`. */
static void
put_axes(const Kernel *k, const Size *const *stride, const Size *columns, bool ranked, Buf *b)
{
	for (int i = 0; i < k->naxis; i++) {
		if (size_is(stride[i], 0))
			continue;
		if (ranked && i == k->naxis - 1)
			buf_printf(b, "%srank", b->n ? " + " : "");
		else
			buf_printf(b, "%si%d", b->n ? " + " : "", i);
		if (stride[i] == columns && i < k->naxis - 1) {
			buf_puts(b, " * n");
		} else if (!size_is(stride[i], 1)) {
			buf_puts(b, " * ");
			kernel_put_size(k, stride[i], true, b);
		}
	}
}

static void
put_offset(const Kernel *k, const Size *offset, Buf *b)
{
	if (b->n && size_is(offset, 0))
		return;
	buf_puts(b, b->n ? " + " : "");
	kernel_put_size(k, offset, false, b);
}

static const char *ref_text(Element *, const Ref *);

/* Returns the conditions for the operand's element to exist: "(uint64_t)(i0 + i2 + -1) < 56 && (uint64_t)t3 < 7". An
 * empty text if it always does. */
static const char *
bounds_text(Element *e, const Operand *o)
{
	Buf b = { 0 };

	for (const Gather *g = o->gather; g < o->gather + o->ngather; g++) {
		if (g->by.kind != REF_LET || g->outside == OUTSIDE_CLAMPS)
			continue;
		buf_printf(&b, "%s(uint64_t)%s < ", b.n ? " && " : "", ref_text(e, &g->by));
		kernel_put_size(e->kernel, g->limit, true, &b);
	}

	for (int i = 0; i < o->bound.n; i++) {
		const Bound *in = &o->bound.at[i];
		Buf at = { 0 };

		put_axes(e->kernel, in->stride, NULL, false, &at);
		put_offset(e->kernel, in->offset, &at);
		buf_printf(&b, "%s(uint64_t)(%s) < ", b.n ? " && " : "", at.at);
		kernel_put_size(e->kernel, in->limit, true, &b);
		buf_free(&at);
	}
	return b.n ? arena_text(e->arena, &b) : "";
}

const char *
kernel_index_name(Arena *a, const Operand *o, int gather)
{
	return gather ? arena_printf(a, "%s_at%d", o->name, gather) : arena_printf(a, "%s_at", o->name);
}

/* Writes an index: the variable that holds it, or the let, which may have to be clamped: "t_clamp(t3, 0, 56 - 1)". */
static void
put_index(Element *e, const Operand *o, int gather, Buf *b)
{
	const Gather *g = &o->gather[gather];
	const bool clamps = g->outside == OUTSIDE_CLAMPS;

	if (g->by.kind == REF_OPERAND) {
		buf_puts(b, kernel_index_name(e->arena, o, gather));
		return;
	}
	buf_printf(b, clamps ? "t_clamp(%s, 0, " : "%s", ref_text(e, &g->by));
	if (clamps)
		kernel_put_size(e->kernel, g->limit, true, b);
	buf_puts(b, clamps ? " - 1)" : "");
}

static bool
is_selection(const Element *e)
{
	return e->stage < e->kernel->stage.n && e->kernel->stage.at[e->stage].select.count;
}

/* Returns a constant number as C. */
static const char *
number_text(Arena *a, IValue v)
{
	if (v.tag == RT_DOUBLE) {
		const bool whole = v.u.f < 1e15 && v.u.f > -1e15 && v.u.f == (double)(int64_t)v.u.f;

		if (v.u.f != v.u.f)
			return "KILN_NAN";
		if (v.u.f - v.u.f != 0)
			return v.u.f < 0 ? "KILN_MINUS_INF" : "KILN_INF";
		return arena_printf(a, "%.17g%s", v.u.f, whole ? ".0" : "");
	}
	if (v.u.i == INT64_MIN)
		return "(-0x7fffffffffffffffLL - 1)";
	return arena_printf(a, v.u.i > INT32_MAX || v.u.i < INT32_MIN ? "%lldLL" : "%lld", (long long)v.u.i);
}

/* Returns C of the operand's value outside of its bounds. */
static const char *
outside_text(Arena *a, const Operand *o)
{
	if (o->outside.tag == RT_NONE)
		return "0";
	return arena_printf(a, "(%s)%s", element_type(o->dtype), number_text(a, o->outside));
}

/* Returns C of an operand's element: "x1[i0 * 56 + i1]", or another value outside its bounds. For operands without
 * memory, only the text in the brackets. */
static const char *
place_text(Element *e, int operand)
{
	const Operand *o = &e->kernel->operand.at[operand];
	const char *at, *bounds;
	Buf b = { 0 };

	put_axes(e->kernel, o->stride, e->columns, o->access == ACCESS_WRITE && is_selection(e), &b);
	for (int g = 0; g < o->ngather; g++) {
		buf_puts(&b, b.n ? " + " : "");
		put_index(e, o, g, &b);
		buf_puts(&b, " * ");
		kernel_put_size(e->kernel, o->gather[g].stride, true, &b);
	}
	put_offset(e->kernel, o->offset, &b);
	at = arena_text(e->arena, &b);
	if (o->access != ACCESS_INDEX && o->access != ACCESS_BITS)
		at = arena_printf(e->arena, "%s[%s]", o->name, at);
	bounds = bounds_text(e, o);
	return *bounds ? arena_printf(e->arena, "(%s ? %s : %s)", bounds, at, outside_text(e->arena, o)) : at;
}

static const char *
ref_text(Element *e, const Ref *r)
{
	const Operand *o = r->kind == REF_OPERAND ? &e->kernel->operand.at[r->at] : NULL;

	if (r->kind == REF_NUMBER)
		return number_text(e->arena, r->number);
	if (r->kind == REF_LET && r->at >= e->from.let)
		return arena_printf(e->arena, "t%d", r->at);
	if (r->kind == REF_LET)
		return arena_printf(e->arena, "u%d%s", r->at, kernel_let_is_shared(e->kernel, r->at) ? "" : e->lane);
	if (r->kind == REF_STATE)
		return arena_printf(e->arena, "%c%d%s", r->part ? 'q' : 'r', r->at, e->lane);
	if (!o)
		return "0";
	if (o->access == ACCESS_NUMBER)
		return o->name;
	if (o->access == ACCESS_BITS)
		return arena_printf(e->arena, "rt_double_of(%s)", place_text(e, r->at));
	return o->access == ACCESS_MADE ? "made" : arena_printf(e->arena, "v%d", r->at);
}

/* Sets the dtype of a value's elements. Returns false for a number. */
static bool
ref_dtype(const Kernel *k, const Ref *r, RtDtype *dtype)
{
	if (r->kind == REF_NUMBER || r->kind == REF_NONE ||
	    (r->kind == REF_OPERAND && (k->operand.at[r->at].access == ACCESS_NUMBER ||
					k->operand.at[r->at].access == ACCESS_BITS)))
		return false;
	if (r->kind == REF_STATE)
		*dtype = r->part ? RT_i64 : k->state.at[r->at].total;
	else
		*dtype = r->kind == REF_LET ? k->let.at[r->at].types.result : k->operand.at[r->at].dtype;
	return true;
}

/* Converts a bool to a number of this C type. gcc does not vectorize conversions of bools to float, but does vectorize
 * a selection by them. For double it is the other way round. */
static const char *
selected(Arena *a, const char *type, const char *text)
{
	return !strcmp(type, "float") ? arena_printf(a, "(%s ? 1.0f : 0.0f)", text) : text;
}

/* Returns a value's C, converted to this C type. */
static const char *
wanted_text(Element *e, const Ref *r, const char *type)
{
	const char *text = ref_text(e, r);
	RtDtype dtype;

	return ref_dtype(e->kernel, r, &dtype) && dtype == RT_b8 ? selected(e->arena, type, text) : text;
}

/* Returns the row's value rounded as its result stores it. */
static const char *
result_text(Element *e, const Let *l, const char *text)
{
	if (!strcmp(compute_type(l->types.compute), "bool"))
		text = selected(e->arena, compute_type(l->types.result), arena_printf(e->arena, "(%s)", text));
	return rounded_text(e->arena, l->types.result, text);
}

/* Is the operand's element used in arithmetic, and not only moved or used as an index? */
static bool
is_loaded(const Element *e, int operand)
{
	const Kernel *k = e->kernel;

	for (int i = e->from.let; i < e->end.let; i++)
		for (int a = 0; a < k->let.at[i].narg; a++)
			if (ref_reads(&k->let.at[i].arg[a], operand))
				return true;
	for (int i = e->from.state; i < e->end.state && !e->trial; i++)
		if (ref_reads(&k->state.at[i].x, operand) || ref_reads(&k->state.at[i].y, operand))
			return true;
	for (int i = e->from.store; i < e->end.store && !e->trial; i++)
		if (ref_reads(&k->store.at[i].value, operand) &&
		    (k->operand.at[k->store.at[i].operand].dtype != k->operand.at[operand].dtype ||
		     k->operand.at[operand].access == ACCESS_INDEX))
			return true;
	return false;
}

/* The last of the stage's lets that the operand's indices need. -1 if there is none. */
static int
last_index(const Element *e, const Operand *o)
{
	int last = -1;

	for (const Gather *g = o->gather; g < o->gather + o->ngather; g++)
		if (g->by.kind == REF_LET && g->by.at >= e->from.let && g->by.at > last)
			last = g->by.at;
	return last;
}

/* Loads operands whose indices are known once this let is computed; -1: before any let. */
static void
put_loads(Element *e, int let)
{
	const Kernel *k = e->kernel;

	for (int i = 0; i < k->operand.n; i++) {
		const Access access = k->operand.at[i].access;

		if (access != ACCESS_NUMBER && access != ACCESS_BITS && access != ACCESS_MADE && is_loaded(e, i) &&
		    last_index(e, &k->operand.at[i]) == let)
			buf_printf(&e->body, "const %s v%d = %s;\n", value_type(k->operand.at[i].dtype), i,
				   element_loaded(e->arena, k->operand.at[i].dtype, place_text(e, i)));
	}
}

/* ---- lets ------------------------------------------------------------------------------------------------------ */

static bool
says(const Let *l, const char *word)
{
	return strstr(l->op->value, word) != NULL;
}

/* Is it a cast, which computes nothing? */
static bool
is_cast(const Let *l)
{
	return l->op->result == RT_MAP_asked;
}

/* Returns a constant as a literal of the common type T. Null if it has none. */
static const char *
literal(Element *e, IValue v)
{
	const bool single = !strcmp(e->type, "float");
	const double f = v.tag == RT_DOUBLE ? v.u.f : (double)v.u.i;
	const char *text;

	if ((!single && strcmp(e->type, "double")) || (v.tag != RT_DOUBLE && v.tag != RT_INT) || f - f != 0 ||
	    (single && (double)(float)f != f) || (v.tag == RT_INT && (f > 1e6 || f < -1e6)))
		return NULL;
	text = arena_printf(e->arena, single ? "%.9g" : "%.17g", f);
	return arena_printf(e->arena, f < 0 ? "(%s%s%s)" : "%s%s%s", text, strpbrk(text, ".e") ? "" : ".0",
			    single ? "f" : "");
}

/* An argument of a row as an operand of type T. */
static const char *
operand_text(Element *e, const Let *l, const Ref *r, bool joins)
{
	const char *text = wanted_text(e, r, e->type), *temp;
	RtDtype dtype;
	const bool known = ref_dtype(e->kernel, r, &dtype);

	if (r->kind == REF_NONE)
		return text;
	joins = joins && l->types.common != RT_NDTYPE && !(known && dtype == l->types.common);
	if (known && !joins)
		return strcmp(value_type(dtype), e->type) && !is_cast(l) ? arena_printf(e->arena, "(T)%s", text) : text;
	if (r->kind == REF_NUMBER && (!joins || !strcmp(compute_type(l->types.common), e->type)) &&
	    literal(e, r->number))
		return literal(e, r->number);
	temp = arena_printf(e->arena, "n%d", e->nnumber++);
	buf_printf(&e->body, "const T %s = (T)%s;\n", temp,
		   joins ? rounded_text(e->arena, l->types.common, text) : text);
	return temp;
}

/* Writes the row's value text with its arguments in place of a, b, ... Omits a factor of 1 in a sum. */
static void
put_row_text(Buf *b, const char *value, const char *const *operand, int n)
{
	for (const char *at = value; *at;) {
		const size_t word = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.");
		const int which = *at - 'a';

		if (word == 1 && which >= 0 && which < n) {
			const char *by = operand[which];
			const bool is_one = !strcmp(by, "1.0f") || !strcmp(by, "1.0");

			if (is_one && at > value + 1 && strchr("+-", at[-2]) && !strncmp(at + 1, " * ", 3))
				at += 4;
			else
				buf_puts(b, by), at++;
			continue;
		}
		buf_add(b, at, word ? (int64_t)word : 1);
		at += word ? word : 1;
	}
}

/* Writes a let of the common type: "const float t3 = tanh(v2);" */
static void
put_plain_let(Element *e, int at, const RtMapArg *arg)
{
	const Let *l = &e->kernel->let.at[at];
	const char *operand[RT_MAP_MAX];
	const RtDtype result = l->types.result;
	Buf b = { 0 };

	for (int i = 0; i < l->narg; i++)
		operand[i] = operand_text(e, l, &l->arg[i], arg[i].joins);
	put_row_text(&b, l->op->value, operand, l->narg);
	buf_printf(&e->body, "const %s t%d = %s;\n", value_type(result), at,
		   (result == RT_f32 || result == RT_f64) && strcmp(e->type, "bool") ? b.at :
		   result_text(e, l, b.at));
	buf_free(&b);
}

/* Writes a let with a type of its own: "float t3; { typedef float T; const T a = ...; t3 = (value); }" */
static void
put_let_of_own_type(Element *e, int at, const RtMapArg *arg)
{
	const Let *l = &e->kernel->let.at[at];

	buf_printf(&e->body, "%s t%d; { typedef %s T; ", value_type(l->types.result), at,
		   is_cast(l) ? value_type(l->types.common) : compute_type(l->types.compute));
	for (int i = 0; i < l->narg; i++) {
		const bool has = l->arg[i].kind != REF_NONE;
		const char *text = wanted_text(e, &l->arg[i], compute_type(l->types.compute));

		/* Operands are cast to the common type first, and may lose precision there. */
		if (has && arg[i].joins && l->types.common != RT_NDTYPE)
			text = rounded_text(e->arena, l->types.common, text);
		buf_printf(&e->body, "const T %c = (T)%s; ", 'a' + i, text);
		if (says(l, "has_"))
			buf_printf(&e->body, "enum { has_%c = %d }; ", 'a' + i, has);
	}
	if (says(l, "DTYPE"))
		buf_printf(&e->body, "enum { DTYPE = %d }; ", (int)l->types.common);
	buf_printf(&e->body, "t%d = %s; }\n", at, result_text(e, l, l->op->value));
}

/* Sets the kernel's flag if the let is an index that must be in range, and is not. */
static void
put_check(Element *e, int let)
{
	const Kernel *k = e->kernel;

	for (int i = 0; i < k->operand.n; i++)
		for (int j = 0; j < k->operand.at[i].ngather; j++) {
			const Gather *g = &k->operand.at[i].gather[j];

			if (g->by.kind != REF_LET || g->by.at != let || g->outside != OUTSIDE_FAILS)
				continue;
			buf_printf(&e->body, "if ((uint64_t)t%d >= ", let);
			kernel_put_size(k, g->limit, true, &e->body);
			buf_puts(&e->body, ")\n\t*wrong = 1;\n");
		}
}

static void
put_lets(Element *e)
{
	for (int i = e->from.let; i < e->end.let; i++) {
		const Let *l = &e->kernel->let.at[i];
		RtMapArg arg[RT_MAP_MAX];

		rt_map_args(l->op->text, arg);
		if (e->type && !says(l, "has_") && !says(l, "DTYPE"))
			put_plain_let(e, i, arg);
		else
			put_let_of_own_type(e, i, arg);
		if (e->trial)
			buf_printf(&e->body, "(void)t%d;\n", i);
		else if (kernel_let_is_kept(e->kernel, i))
			buf_printf(&e->body, "u%d%s = t%d;\n", i, kernel_let_is_shared(e->kernel, i) ? "" : e->lane, i);
		put_check(e, i);
		put_loads(e, i);
	}
}

static bool
is_let(const Ref *r, int let)
{
	return r->kind == REF_LET && r->at == let;
}

/* Is the let an index of an operand that a later stage reads, or an edge of an axis's range? */
static bool
is_kept_as_index(const Kernel *k, int let)
{
	for (int i = 0; i < k->range.n; i++)
		if (is_let(&k->range.at[i].first.let, let) || is_let(&k->range.at[i].end.let, let))
			return true;
	for (int i = 0; i < k->operand.n; i++)
		for (int g = 0; g < k->operand.at[i].ngather; g++)
			if (is_let(&k->operand.at[i].gather[g].by, let))
				return !k->stage.at[kernel_stage_of(k, REF_LET, let)].each;
	return false;
}

bool
kernel_let_is_kept(const Kernel *k, int let)
{
	const int end = kernel_stage_end(k, kernel_stage_of(k, REF_LET, let)).let;

	RT_ASSERT(let >= 0 && let < k->let.n);
	if (is_kept_as_index(k, let))
		return true;
	for (int i = end; i < k->let.n; i++)
		for (int a = 0; a < k->let.at[i].narg; a++)
			if (is_let(&k->let.at[i].arg[a], let))
				return true;
	for (int i = 0; i < k->state.n; i++)
		if (is_let(&k->state.at[i].x, let) &&
		    kernel_stage_of(k, REF_STATE, i) != kernel_stage_of(k, REF_LET, let))
			return true;
	for (int i = kernel_stage_end(k, kernel_stage_of(k, REF_LET, let)).store; i < k->store.n; i++)
		if (is_let(&k->store.at[i].value, let))
			return true;
	return false;
}

bool
kernel_let_is_shared(const Kernel *k, int let)
{
	return !kernel_moves(k, &(Ref){ .kind = REF_LET, .at = let }, k->naxis - k->nreduce - 1);
}

/* ---- states ---------------------------------------------------------------------------------------------------- */

/* Writes the text with its words a, b, x, y replaced. */
static void
put_joined(Buf *b, const char *text, const char *const by[4])
{
	for (const char *at = text; *at;) {
		const size_t word = strspn(at, "abcdefghijklmnopqrstuvwxyz");
		const char *which = word == 1 ? strchr("abxy", *at) : NULL;

		if (which)
			buf_puts(b, by[which - "abxy"]);
		else
			buf_add(b, at, word ? (int64_t)word : 1);
		at += word ? word : 1;
	}
}

char *
kernel_join(const Kernel *k, int state, const char *a, const char *b, const char *x, const char *y)
{
	const Fold *f = k->state.at[state].fold;
	const char *const by[4] = { a, b, x, y };
	Buf text = { 0 };

	RT_ASSERT(state >= 0 && state < k->state.n);
	buf_puts(&text, f->places ? "{\nconst bool takes = " : "");
	if (!f->places)
		buf_printf(&text, "%s = ", a);
	put_joined(&text, f->places ? f->takes : f->join, by);
	if (f->places)
		buf_printf(&text, ";\n%s = takes ? %s : %s;\n%s = takes ? %s : %s;\n}", a, x, a, b, y, b);
	else
		buf_puts(&text, ";");
	return arena_text(k->arena, &text);
}

const char *
kernel_start(const Kernel *k, int state, bool place)
{
	const Folded *s = &k->state.at[state];
	const bool floating = rt_dtypes[s->total].category == 'F', narrow = s->total == RT_i32;

	RT_ASSERT(state >= 0 && state < k->state.n);
	if (place)
		return number_text(k->arena, rt_int(s->place == RT_i32 ? INT32_MAX : INT64_MAX));
	switch (s->fold->start) {
	case FOLD_ZERO:  return "0";
	case FOLD_ONE:   return "1";
	case FOLD_LEAST:
		return floating ? "KILN_MINUS_INF" : number_text(k->arena, rt_int(narrow ? INT32_MIN : INT64_MIN));
	default:
		return floating ? "KILN_INF" : number_text(k->arena, rt_int(narrow ? INT32_MAX : INT64_MAX));
	}
}

/* Returns an element's value in the type in which parts are folded. */
static const char *
joined_value(Element *e, const Ref *r, RtDtype part)
{
	const char *text = wanted_text(e, r, element_type(part));
	RtDtype dtype;

	if (!ref_dtype(e->kernel, r, &dtype) || !strcmp(compute_type(dtype), element_type(part)) || dtype == RT_b8)
		return text;
	return arena_printf(e->arena, "(%s)%s", element_type(part), text);
}

static void
put_joins(Element *e, const Into *to)
{
	for (int i = e->from.state; i < e->end.state; i++) {
		const Folded *s = &e->kernel->state.at[i];
		const char *a = arena_printf(e->arena, "%c%d%s", to->parts ? 'a' : 'r', i, to->at);
		const char *b = arena_printf(e->arena, "%c%d%s", to->parts ? 'b' : 'q', i, to->at);

		buf_printf(&e->body, "%s\n", kernel_join(e->kernel, i, a, b, joined_value(e, &s->x, s->part),
							 s->fold->places ? joined_value(e, &s->y, s->place) : ""));
	}
}

/* ---- stores ---------------------------------------------------------------------------------------------------- */

static void
put_stores(Element *e, const char *only_if)
{
	for (int i = e->from.store; i < e->end.store; i++) {
		const Store *s = &e->kernel->store.at[i];
		const Operand *to = &e->kernel->operand.at[s->operand];
		const Operand *from = s->value.kind == REF_OPERAND ? &e->kernel->operand.at[s->value.at] : NULL;
		const char *place = place_text(e, s->operand), *value = ref_text(e, &s->value);
		RtDtype dtype = to->dtype;
		const bool known = ref_dtype(e->kernel, &s->value, &dtype);

		if (to->dtype == RT_b8 && (from || s->value.kind == REF_STATE) && (dtype != RT_b8 || !known)) {
			buf_printf(&e->body, "%s%s = %s != 0;\n", only_if, place, value);
			continue;
		}
		if (from && known && dtype == to->dtype && from->access != ACCESS_MADE && from->access != ACCESS_INDEX)
			value = place_text(e, s->value.at);
		else
			value = element_stored(e->arena, to->dtype, wanted_text(e, &s->value, compute_type(to->dtype)));
		buf_printf(&e->body, "%s%s = %s;\n", only_if, place, value);
	}
}

/* Defines T, if the body or one of its macros (t_...) uses it. */
static void
name_type(Element *e)
{
	const char *body = e->body.at;
	Buf b = { 0 };

	if (!e->type || !e->body.n || (!strstr(body, "T)") && !strstr(body, "t_") && !strstr(body, "const T ")))
		return;
	buf_printf(&b, "typedef %s T;\n%s", e->type, body);
	buf_free(&e->body);
	e->body = b;
}

/* Do all lets of the stage compute in one type? Sets *type. False if there are no lets. */
static bool
is_of_one_type(const Element *e, RtDtype *type)
{
	const Let *let = e->kernel->let.at;

	if (e->from.let >= e->end.let)
		return false;
	*type = rt_dtypes[let[e->from.let].types.compute].compute;
	for (int i = e->from.let + 1; i < e->end.let; i++)
		if (rt_dtypes[let[i].types.compute].compute != *type)
			return false;
	return true;
}

static char *
element_text(Element *e, const Into *to)
{
	RtDtype type;

	e->from = e->kernel->stage.at[e->stage];
	e->end = kernel_stage_end(e->kernel, e->stage);
	if (is_of_one_type(e, &type))
		e->type = compute_type(type);
	put_loads(e, -1);
	put_lets(e);
	if (!e->trial) {
		put_joins(e, to);
		put_stores(e, to && to->only_if ? to->only_if : "");
	}
	name_type(e);
	return e->body.n ? arena_text(e->arena, &e->body) : arena_strdup(e->arena, "");
}

const char *
kernel_place(const Kernel *k, int operand)
{
	Element e = { .kernel = k, .arena = k->arena };

	RT_ASSERT(operand >= 0 && operand < k->operand.n);
	return place_text(&e, operand);
}

char *
kernel_element(const Kernel *k, const Size *columns, bool trial)
{
	Element e = { .kernel = k, .arena = k->arena, .columns = columns, .lane = "", .trial = trial };

	return element_text(&e, NULL);
}

char *
kernel_stage_element(const Kernel *k, int stage, const Into *to)
{
	Element e = { .kernel = k, .arena = k->arena, .stage = stage, .lane = to->lane, .trial = to->trial };

	RT_ASSERT(stage >= 0 && stage < k->stage.n);
	return element_text(&e, to);
}
