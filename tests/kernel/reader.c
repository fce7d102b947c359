/*
 * Kernels from text, as codegen/kernel/text.c writes them, for tests.
 *
 *   kernel   := { comment } "kernel" NAME [ comment ] [ "symbols" SYMBOL ":" INT ".." [ INT ] { "," ... } ]
 *               "operands" link { "then" link } schedule "end"            links behind the first one have its operands
 *   link     := { operand } "axes" ( "none" | axis { "," axis } ) [ "first" ] stage { stage }
 *   operand  := NAME "number" | NAME "index" place [ bounds ]
 *             | NAME TYPE ( "read" | "constant" | "write" | "update" | "local" ) [ "from i0:" ] place
 *                 [ bounds ]
 *             | NAME TYPE "made" [ place ]
 *   bounds   := [ "where" place "<" size { "," place "<" size } ] [ "else" number ]    the value outside of them
 *   place    := [ "-" ] part { ( "+" | "-" ) part }
 *   part     := factor { "*" factor }, of which one may be an AXIS, a gather or a position
 *   position := "[" place "<" size "]"                                         of an operand's bounds; it has axes only
 *   gather   := "[" ( NAME | "t" N ) "<" size [ ", wraps" | ", clamps" | ", zero" ] "]"
 *   axis     := AXIS ":" size [ "serial" | "shared" | "steps" | "reduce" [ "from" edge ] [ "to" edge ] [ "checked" ] ]
 *   edge     := ( "floor" | "ceil" ) "(" place "," size ")" | "t" N            its place has one axis, not reduced
 *   stage    := ( "do" | "each" | "once" ) { let } { state } { store }              "do": the only one, without states
 *             | "select" size ( "greatest" | "least" ) "(" NAME ")" [ "sorted" | "all" | "stable" ] { store }
 *   let      := "t" N "=" OPERATOR "(" [ ref { "," ref } ] ")" TYPE [ TYPE TYPE ]   result, or result, compute, common
 *   state    := "r" N "=" [ "carried" ] FOLD "(" ref [ "," ref ] ")" TYPE TYPE [ TYPE ]   of all, of parts, of places
 *   store    := NAME "=" ref
 *   ref      := NAME | "t" N | "r" N | "q" N | number | "true" | "false" | "none"
 *   schedule := "schedule" ( ( "rows" | "points" ) [ "of" AXIS ]
 *               [ "by" LANES | "by" "table" | [ "beside" COLUMNS ] [ "whole" ] ] [ "; tile" AXIS ]
 *               | "microkernel" NAME ) "; units" size "; grain" INT
 *
 * Sizes and factors are size_text.c's.  A comment goes from # to the end of its line.
 */
#include "../../frontend/frontend.h"
#include "reader.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_OPERANDS = 256, MOST_LETS = 4096, MOST_STAGES = 64 };

typedef struct Indices { const char *name[KERNEL_GATHERS]; } Indices;

typedef struct KernelReader {
	Reader  r;
	Kernel *k;
	Map     operands;        /* index + 1, by name */
	Vec(Indices) by;         /* names in the gathers of each operand */
} KernelReader;

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Fails at the last word that was read, which begins at `beg`. */
#define fail_at(kr, beg, ...) fail((kr)->r.cx, range_from(kr, beg), __VA_ARGS__)

static Range
range_from(const KernelReader *kr, const char *beg)
{
	return (Range){ kr->r.src, (uint32_t)(beg - kr->r.src->text), (uint32_t)(kr->r.p - kr->r.src->text) };
}

/* Returns the start of the next word. */
static const char *
next_word(KernelReader *kr)
{
	read_blanks(&kr->r);
	return kr->r.p;
}

static void
expect_word(KernelReader *kr, const char *word)
{
	if (!read_accept_word(&kr->r, word))
		read_expected(&kr->r, word);
}

/* Returns the text from # to the end of the line, without blanks.  "" if there is none. */
static const char *
read_comment(KernelReader *kr)
{
	const char *beg, *end;

	read_blanks(&kr->r);
	if (*kr->r.p != '#')
		return "";
	beg = kr->r.p + 1;
	beg += strspn(beg, " ");
	kr->r.p += strcspn(kr->r.p, "\n");
	for (end = kr->r.p; end > beg && end[-1] == ' ';)
		end--;
	return end > beg ? arena_strndup(kr->k->arena, beg, end - beg) : "";
}

/* Is a letter and a digit next? */
static bool
is_numbered(const char *word, char letter)
{
	return *word == letter && word[1] >= '0' && word[1] <= '9';
}

/* Reads a letter and a number below `most`: "i3". */
static int
read_numbered(KernelReader *kr, char letter, int most, const char *what)
{
	const char *beg = next_word(kr), *word = read_word(&kr->r, "")->name;
	int n = 0;

	if (*word != letter || !word[1])
		fail_at(kr, beg, "expected %s here", what);
	for (const char *c = word + 1; *c; c++) {
		if (*c < '0' || *c > '9' || (n = n * 10 + *c - '0') >= most)
			fail_at(kr, beg, "expected %s below %c%d here", what, letter, most);
	}
	return n;
}

static int
read_axis(KernelReader *kr, int most)
{
	return read_numbered(kr, 'i', most, "an axis");
}

static const Size *
read_size(KernelReader *kr)
{
	const Size *s;

	read_blanks(&kr->r);
	s = size_read(kr->k->sizes, &kr->r.p);
	if (!s)
		read_expected(&kr->r, "a size");
	return s;
}

static RtDtype
read_dtype(KernelReader *kr)
{
	const char *beg = next_word(kr), *word = read_word(&kr->r, "")->name;

	for (int d = 0; d < RT_NDTYPE; d++)
		if (!strcmp(rt_dtypes[d].name, word) && element_type((RtDtype)d))
			return (RtDtype)d;
	fail_at(kr, beg, "no type of elements: %s", word);
}

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

static void
read_symbol(KernelReader *kr)
{
	const char *beg = next_word(kr);
	const int index = read_numbered(kr, 's', SIZE_SYMBOLS, "a symbol");
	SizeRange range = { 0, INT64_MAX }, known;

	read_expect(&kr->r, ":");
	range.least = read_int(&kr->r);
	read_expect(&kr->r, "..");
	if (*kr->r.p >= '0' && *kr->r.p <= '9')
		range.most = read_int(&kr->r);
	if (range.least < 2 || range.most < range.least)
		fail_at(kr, beg, "a symbol is 2 or more, and its last value not below the first");
	if (size_range(kr->k->sizes, index, &known) && (known.least != range.least || known.most != range.most))
		fail_at(kr, beg, "s%d has another range", index);
	size_symbol(kr->k->sizes, index, range);
}

static void
read_symbols(KernelReader *kr)
{
	if (!read_accept_word(&kr->r, "symbols"))
		return;
	do
		read_symbol(kr);
	while (read_accept(&kr->r, ","));
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

static void
read_gather(KernelReader *kr, Operand *o)
{
	Gather *g = &o->gather[o->ngather];

	*g = (Gather){ .stride = size_number(kr->k->sizes, 0) };
	vec_last(&kr->by).name[o->ngather++] = read_word(&kr->r, "")->name;
	read_expect(&kr->r, "<");
	g->limit = read_size(kr);
	if (read_accept(&kr->r, ",")) {
		if (read_accept_word(&kr->r, "clamps"))
			g->outside = OUTSIDE_CLAMPS;
		else if (read_accept_word(&kr->r, "zero"))
			g->outside = OUTSIDE_ZERO;
		else if ((g->wraps = true))
			expect_word(kr, "wraps");
	}
	read_expect(&kr->r, "]");
}

static void read_place(KernelReader *, Operand *);
static Operand no_operand(KernelReader *);

/* "2*i2 + i4 - 1 < 56": a position and its limit. */
static Bound
read_bound(KernelReader *kr, const Operand *o)
{
	const char *beg = next_word(kr);
	Operand at = no_operand(kr);
	Bound in;

	read_place(kr, &at);
	read_expect(&kr->r, "<");
	in = (Bound){ .offset = at.offset, .limit = read_size(kr) };
	memcpy(in.stride, at.stride, sizeof in.stride);
	if ((o->access != ACCESS_READ && o->access != ACCESS_INDEX && o->access != ACCESS_LOCAL) || o->ngather ||
	    at.ngather || at.bound.n)
		fail_at(kr, beg, "only what is read, and not by indices, has bounds");
	return in;
}

/* Is a gather next, by an operand or a let, and not a position? */
static bool
is_gather(const KernelReader *kr)
{
	return kr->r.p[1] && strchr("xymnt", kr->r.p[1]);
}

/* Reads a product.  It is added to the stride of the axis, gather or position in it, or to the offset if it has
 * none. */
static void
read_part(KernelReader *kr, Operand *o, bool negative)
{
	SizeTable *z = kr->k->sizes;
	const Size *size = size_number(z, negative ? -1 : 1), *factor, **to = &o->offset;
	const char *beg = next_word(kr);

	do {
		read_blanks(&kr->r);
		if (*kr->r.p == 'i' && to == &o->offset) {
			to = &o->stride[read_axis(kr, KERNEL_AXES)];
		} else if (*kr->r.p == '[' && to == &o->offset && !is_gather(kr)) {
			kr->r.p++;
			vec_push(kr->k->arena, &o->bound, read_bound(kr, o));
			read_expect(&kr->r, "]");
			vec_last(&o->bound).unit = size_number(z, 0);
			to = &vec_last(&o->bound).unit;
		} else if (*kr->r.p == '[' && to == &o->offset && o->ngather < KERNEL_GATHERS) {
			kr->r.p++;
			read_gather(kr, o);
			to = &o->gather[o->ngather - 1].stride;
		} else {
			factor = size_read_factor(z, &kr->r.p);
			if (!factor)
				read_expected(&kr->r, "a size, an axis or a gather");
			size = size_times(z, size, factor);
		}
	} while (read_accept(&kr->r, "*"));
	*to = size_plus(z, *to, size);
	if (size_lost(*to))
		fail_at(kr, beg, "a size that is too large");
}

static void
read_place(KernelReader *kr, Operand *o)
{
	bool negative = read_accept(&kr->r, "-");

	do {
		read_part(kr, o, negative);
		negative = read_accept(&kr->r, "-");
	} while (negative || read_accept(&kr->r, "+"));
}

static Operand
no_operand(KernelReader *kr)
{
	Operand o = { .dtype = RT_f64, .access = ACCESS_NUMBER, .along = -1 };

	for (int i = 0; i < KERNEL_AXES; i++)
		o.stride[i] = size_number(kr->k->sizes, 0);
	o.offset = size_number(kr->k->sizes, 0);
	return o;
}

/* Reads "where i0 + i2 - 1 < 56, i1 + i3 - 1 < 56 else -inf", behind a place that may have positions. */
static void
read_bounds(KernelReader *kr, Operand *o)
{
	if (read_accept_word(&kr->r, "where"))
		do
			vec_push(kr->k->arena, &o->bound, read_bound(kr, o));
		while (read_accept(&kr->r, ","));
	if (o->bound.n && read_accept_word(&kr->r, "else")) {
		const char *beg = next_word(kr);

		o->outside = read_number(&kr->r, false);
		if ((rt_dtypes[o->dtype].category != 'I' && rt_dtypes[o->dtype].compute != o->dtype) ||
		    (o->outside.tag == RT_DOUBLE) != (rt_dtypes[o->dtype].category == 'F'))
			fail_at(kr, beg, "no value of %s outside of bounds", rt_dtypes[o->dtype].name);
	}
}

/* Stands for the weights of any constant operand. Their bytes are not read. */
static const RtTensor some_weights;

static Access
read_access(KernelReader *kr)
{
	static const char *const access[] = {
		[ACCESS_READ] = "read", [ACCESS_WRITE] = "write", [ACCESS_UPDATE] = "update", [ACCESS_MADE] = "made",
		[ACCESS_LOCAL] = "local",
	};
	const char *beg = next_word(kr), *word = read_word(&kr->r, "")->name;

	for (int i = 0; i < (int)(sizeof access / sizeof *access); i++)
		if (access[i] && !strcmp(word, access[i]))
			return (Access)i;
	fail_at(kr, beg, "expected read, constant, write, update or made here");
}

/* Reads a letter and a number, as kernel_operand() makes them: "x1". */
static const char *
read_operand_name(KernelReader *kr)
{
	const char *beg = next_word(kr), *word = read_word(&kr->r, "")->name;
	const size_t digits = strspn(word + 1, "0123456789");

	if (!strchr("xysmnl", *word) || !digits || digits > 4 || word[1 + digits])
		fail_at(kr, beg, "no name of an operand: %s", word);
	if (map_get(&kr->operands, word) && !kr->k->shared)
		fail_at(kr, beg, "another operand has the name %s", word);
	return word;
}

/* Adds an operand. In a link behind the first one, it replaces the one with its name. */
static void
put_read(KernelReader *kr, const char *beg, Operand o)
{
	const int at = (int)(intptr_t)map_get(&kr->operands, o.name) - 1;

	if (at < 0) {
		if (kr->k->shared && o.access != ACCESS_INDEX && o.access != ACCESS_BITS)
			fail_at(kr, beg, "%s is no operand of the first link", o.name);
		map_put(&kr->operands, o.name, (void *)(intptr_t)(kernel_operand(kr->k, o) + 1));
		return;
	}
	if (kr->k->operand.at[at].access != o.access || kr->k->operand.at[at].dtype != o.dtype || o.ngather)
		fail_at(kr, beg, "%s differs from the first link's, or is gathered", o.name);
	kr->k->operand.at[at] = o;
}

static void
read_operand(KernelReader *kr)
{
	const char *beg = next_word(kr);
	Operand o = no_operand(kr);
	bool bits;

	if (kr->k->operand.n == MOST_OPERANDS)
		fail_at(kr, beg, "more than %d operands", MOST_OPERANDS);
	o.name = read_operand_name(kr);
	vec_push(kr->k->arena, &kr->by, (Indices){ { NULL } });
	bits = read_accept_word(&kr->r, "bits");
	if (bits || read_accept_word(&kr->r, "index")) {
		o.dtype = bits ? RT_f64 : RT_i64;
		o.access = bits ? ACCESS_BITS : ACCESS_INDEX;
		read_place(kr, &o);
		if (o.ngather)
			fail_at(kr, beg, "an index that is gathered");
		if (!bits)
			read_bounds(kr, &o);
	} else if (!read_accept_word(&kr->r, "number")) {
		o.dtype = read_dtype(kr);
		o.constant = read_accept_word(&kr->r, "constant") ? &some_weights : NULL;
		o.access = o.constant ? ACCESS_READ : read_access(kr);
		if (read_accept_word(&kr->r, "from")) {
			expect_word(kr, "i0");
			read_expect(&kr->r, ":");
			o.along = 0;
		}
		if (o.access != ACCESS_MADE || kr->r.p[strspn(kr->r.p, " ")] != '\n')
			read_place(kr, &o);
		read_bounds(kr, &o);
	}
	put_read(kr, beg, o);
}

/* The number of a let that comes later: "t3". */
static int
let_number(KernelReader *kr, const char *beg, const char *name)
{
	const long n = strtol(name + 1, NULL, 10);

	if (n >= MOST_LETS)
		fail_at(kr, beg, "values are t0, t1 ... in order, %d at most", MOST_LETS);
	return (int)n;
}

static void
find_index(KernelReader *kr, const char *beg, Operand *o, int gather, const char *name)
{
	const int at = (int)(intptr_t)map_get(&kr->operands, name) - 1;
	const Operand *by = at >= 0 ? &kr->k->operand.at[at] : NULL;

	if (is_numbered(name, 't') && o->access == ACCESS_READ && !o->gather[gather].wraps) {
		o->gather[gather].by = (Ref){ .kind = REF_LET, .at = let_number(kr, beg, name) };
		return;
	}
	if (!by || by->access != ACCESS_READ || by->ngather || by->bound.n || rt_dtypes[by->dtype].category != 'I' ||
	    o->access == ACCESS_MADE || o->gather[gather].outside != OUTSIDE_FAILS)
		fail_at(kr, beg, "%s is no operand of ints by which %s can be found", name, o->name);
	o->gather[gather].by = ref_operand(at);
}

/* Resolves the names in gathers, since they may name later operands. */
static void
find_indices(KernelReader *kr, const char *beg)
{
	for (int i = 0; i < kr->k->operand.n; i++)
		for (int k = 0; k < kr->k->operand.at[i].ngather; k++)
			find_index(kr, beg, &kr->k->operand.at[i], k, kr->by.at[i].name[k]);
}

static bool
is_bounded_along(const Operand *o, int axis)
{
	for (int i = 0; i < o->bound.n; i++)
		if (!size_is(o->bound.at[i].stride[axis], 0))
			return true;
	return false;
}

/* Checks that stored operands come first, and that places use only declared axes. */
static void
check_operands(KernelReader *kr, const char *beg)
{
	const Kernel *k = kr->k;
	bool reads = false;

	for (int i = 0; i < k->operand.n; i++) {
		const Operand *o = &k->operand.at[i];
		const bool writes = o->access == ACCESS_WRITE || o->access == ACCESS_UPDATE;

		if (writes && reads)
			fail_at(kr, beg, "%s is stored to and comes after what is not", o->name);
		reads |= !writes;
		if (o->along >= k->naxis)
			fail_at(kr, beg, "%s lies along an axis that there is not", o->name);
		for (int d = k->naxis; d < KERNEL_AXES; d++)
			if (!size_is(o->stride[d], 0) || is_bounded_along(o, d))
				fail_at(kr, beg, "%s lies along an axis that there is not: i%d", o->name, d);
	}
}

static void
read_operands(KernelReader *kr, const char *word)
{
	const char *beg = next_word(kr);

	expect_word(kr, word);
	while (next_word(kr), strncmp(kr->r.p, "axes", 4))
		read_operand(kr);
	find_indices(kr, beg);
}

/* ---- axes -------------------------------------------------------------------------------------------------------- */

static void
read_edge(KernelReader *kr, const char *what, AxisEdge *e)
{
	const char *beg;
	Operand at = no_operand(kr);

	if (!read_accept_word(&kr->r, what))
		return;
	beg = next_word(kr);
	if (is_numbered(beg, 't')) {
		e->let = (Ref){ .kind = REF_LET, .at = read_numbered(kr, 't', MOST_LETS, "a value") };
		return;
	}
	e->of = -1;
	e->up = read_accept_word(&kr->r, "ceil");
	if (!e->up)
		expect_word(kr, "floor");
	read_expect(&kr->r, "(");
	read_place(kr, &at);
	read_expect(&kr->r, ",");
	e->per = read_size(kr);
	read_expect(&kr->r, ")");
	for (int i = 0; i < KERNEL_AXES; i++) {
		if (size_is(at.stride[i], 0))
			continue;
		if (e->of >= 0 || i >= kr->k->naxis - kr->k->nreduce)
			fail_at(kr, beg, "an edge has one axis, which is not reduced");
		e->of = i;
		e->times = at.stride[i];
	}
	e->plus = at.offset;
	if (e->of < 0 || at.ngather || !size_at_least(kr->k->sizes, e->per, 1) ||
	    !size_at_least(kr->k->sizes, e->times, 0) || !size_at_least(kr->k->sizes, e->plus, 0))
		fail_at(kr, beg, "no edge of an axis");
}

static void
read_axes(KernelReader *kr, const Kernel *last)
{
	Kernel *k = kr->k;
	const char *beg;
	int shared = 0;

	expect_word(kr, "axes");
	k->serial = -1;
	k->naxis = 0;
	if (read_accept_word(&kr->r, "none"))
		return;
	do {
		beg = next_word(kr);
		if (k->naxis == KERNEL_AXES || k->serial >= shared || read_axis(kr, KERNEL_AXES) != k->naxis)
			fail_at(kr, beg, "axes are i0, i1 ..., the serial one last");
		read_expect(&kr->r, ":");
		k->extent[k->naxis] = read_size(kr);
		if (!size_at_least(k->sizes, k->extent[k->naxis], 0))
			fail_at(kr, beg, "an extent may be negative");
		k->naxis++;
		if (!k->nreduce && read_accept_word(&kr->r, "serial"))
			k->serial = k->naxis - 1;
		else if (shared == k->naxis - 1 && k->serial < 0 && read_accept_word(&kr->r, "shared"))
			shared++;
		else if (shared == k->naxis - 1 && k->serial < 0 && read_accept_word(&kr->r, "steps"))
			k->serial = shared++;
		else if (read_accept_word(&kr->r, "reduce"))
			k->nreduce++;
		else if (k->nreduce)
			fail_at(kr, beg, "axes that are reduced come last");
		if (k->nreduce) {
			AxisRange range = { .axis = k->naxis - 1 };

			read_edge(kr, "from", &range.first);
			read_edge(kr, "to", &range.end);
			range.checked = read_accept_word(&kr->r, "checked");
			if (range.first.per || range.end.per || range.first.let.kind || range.end.let.kind)
				vec_push(k->arena, &k->range, range);
		}
	} while (read_accept(&kr->r, ","));
	if (last && (shared != last->shared || k->serial != last->serial ||
		     memcmp(k->extent, last->extent, (size_t)shared * sizeof *k->extent)))
		fail_at(kr, beg, "links share other axes");
	k->shared = shared;
}

/* ---- what is computed -------------------------------------------------------------------------------------------- */

static Ref
read_ref(KernelReader *kr)
{
	const char *beg = next_word(kr), *word;
	Ref r = { .kind = REF_NUMBER };

	if (strchr("-+.0123456789", *beg) || !strncmp(beg, "inf", 3) || !strncmp(beg, "nan", 3))
		return ref_number(read_number(&kr->r, false));
	if (read_accept_word(&kr->r, "true") || read_accept_word(&kr->r, "false"))
		return ref_number(rt_bool(*beg == 't'));
	if (read_accept_word(&kr->r, "none"))
		return (Ref){ .kind = REF_NONE };
	if (is_numbered(beg, 't')) {
		r = (Ref){ .kind = REF_LET, .at = read_numbered(kr, 't', kr->k->let.n, "a value") };
	} else if (is_numbered(beg, 'r') || is_numbered(beg, 'q')) {
		r = (Ref){ .kind = REF_STATE, .part = *beg == 'q' };
		r.at = read_numbered(kr, *beg, kr->k->state.n, "a state");
	} else {
		word = read_word(&kr->r, "")->name;
		r = ref_operand((int)(intptr_t)map_get(&kr->operands, word) - 1);
		if (r.at < 0)
			fail_at(kr, beg, "%s is no operand that is read", word);
	}
	if (!kernel_may_read(kr->k, kr->k->stage.n - 1, &r, kr->k->let.n))
		fail_at(kr, beg, "%.*s is no operand that is read", (int)(kr->r.p - beg), beg);
	if (r.part && !kr->k->state.at[r.at].fold->places)
		fail_at(kr, beg, "%s has no places", kr->k->state.at[r.at].fold->name);
	return r;
}

/* Reads a pointwise operator by its qualified name: namespace::name.overload. */
static const Op *
read_operator(KernelReader *kr)
{
	const char *beg = next_word(kr), *word = read_word(&kr->r, ":.")->name;
	const Op *op = op_named(kr->r.cx, word);

	if (!op || op->form != OP_MAP)
		fail_at(kr, beg, "no pointwise operator: %s", word);
	return op;
}

/* Reads result, compute and common type.  One word stands for three equal ones. */
static RtMapTypes
read_types(KernelReader *kr)
{
	const char *beg = next_word(kr);
	RtMapTypes t;

	t.result = t.compute = t.common = read_dtype(kr);
	if (*(kr->r.p + strspn(kr->r.p, " ")) != '\n') {
		t.compute = read_dtype(kr);
		t.common = read_dtype(kr);
	}
	if (t.compute != (RtDtype)rt_dtypes[t.common].compute)
		fail_at(kr, beg, "%s is computed in %s", rt_dtypes[t.common].name,
			rt_dtypes[rt_dtypes[t.common].compute].name);
	return t;
}

static void
read_let(KernelReader *kr)
{
	const char *beg = next_word(kr);
	RtMapArg arg[RT_MAP_MAX];
	Let l = { .narg = 0 };
	int narg;

	if (kr->k->let.n == MOST_LETS || read_numbered(kr, 't', MOST_LETS, "a value") != kr->k->let.n)
		fail_at(kr, beg, "values are t0, t1 ... in order, %d at most", MOST_LETS);
	read_expect(&kr->r, "=");
	beg = next_word(kr);
	l.op = read_operator(kr);
	narg = rt_map_args(l.op->text, arg);
	read_expect(&kr->r, "(");
	while (!read_accept(&kr->r, ")")) {
		if (l.narg)
			read_expect(&kr->r, ",");
		if (l.narg == RT_MAP_MAX)
			read_expected(&kr->r, ")");
		l.arg[l.narg++] = read_ref(kr);
	}
	if (l.narg != narg)
		fail_at(kr, beg, "it takes %d values, not %d", narg, l.narg);
	l.types = read_types(kr);
	kernel_let(kr->k, l);
}

/* Do both dtypes have C arithmetic, and is the first one equal to the second or wider? */
static bool
joins_as(RtDtype total, RtDtype part)
{
	return total == part
		       ? total == RT_f32 || total == RT_f64 || total == RT_i32 || total == RT_i64 || total == RT_b8
		       : (total == RT_f64 && part == RT_f32) || (total == RT_i64 && part == RT_i32);
}

static void
read_state(KernelReader *kr)
{
	const char *beg = next_word(kr), *name;
	Folded s = { .place = RT_i64 };

	if (kr->k->state.n == MOST_LETS || read_numbered(kr, 'r', MOST_LETS, "a state") != kr->k->state.n)
		fail_at(kr, beg, "states are r0, r1 ... in order, %d at most", MOST_LETS);
	read_expect(&kr->r, "=");
	s.carried = read_accept_word(&kr->r, "carried");
	beg = next_word(kr);
	name = read_word(&kr->r, "")->name;
	if (!(s.fold = fold_find(name)))
		fail_at(kr, beg, "nothing is joined as %s", name);
	read_expect(&kr->r, "(");
	s.x = read_ref(kr);
	if (s.fold->places) {
		read_expect(&kr->r, ",");
		s.y = read_ref(kr);
	}
	read_expect(&kr->r, ")");
	s.total = read_dtype(kr);
	s.part = read_dtype(kr);
	if (s.fold->places)
		s.place = read_dtype(kr);
	if (!joins_as(s.total, s.part) || (s.place != RT_i32 && s.place != RT_i64) || s.x.kind == REF_NONE ||
	    (s.fold->places && s.y.kind == REF_NONE) || s.fold->logic != (s.total == RT_b8))
		fail_at(kr, beg, "no types to join %s in", name);
	if (s.carried ? s.part != s.total || kr->k->nreduce > 1 : s.fold->ordered)
		fail_at(kr, beg, "%s is carried along one axis in one type, or not at all", name);
	kernel_state(kr->k, s);
}

static void
read_store(KernelReader *kr)
{
	const char *beg = next_word(kr), *word = read_word(&kr->r, "")->name;
	const int to = (int)(intptr_t)map_get(&kr->operands, word) - 1;
	Ref value;

	if (to < 0 || (kr->k->operand.at[to].access != ACCESS_WRITE && kr->k->operand.at[to].access != ACCESS_UPDATE &&
		       (kr->k->operand.at[to].access != ACCESS_LOCAL || kr->k->operand.at[to].bound.n)))
		fail_at(kr, beg, "%s is not written to", word);
	for (int i = vec_last(&kr->k->stage).store; i < kr->k->store.n; i++)
		if (kr->k->store.at[i].operand == to)
			fail_at(kr, beg, "%s is stored to twice", word);
	if (!vec_last(&kr->k->stage).each && kernel_moves_in_row(kr->k, to))
		fail_at(kr, beg, "%s is stored to for each point, and not once", word);
	read_expect(&kr->r, "=");
	beg = next_word(kr);
	value = read_ref(kr);
	if (value.kind == REF_NONE)
		fail_at(kr, beg, "nothing can be stored");
	kernel_store(kr->k, to, value);
}

static void
read_stage(KernelReader *kr, bool each)
{
	while (is_numbered(next_word(kr), 't'))
		read_let(kr);
	while (each && is_numbered(next_word(kr), 'r'))
		read_state(kr);
	while (next_word(kr), strncmp(kr->r.p, "schedule", 8) && strncmp(kr->r.p, "each", 4) &&
			      strncmp(kr->r.p, "once", 4) && strncmp(kr->r.p, "select", 6) &&
			      strncmp(kr->r.p, "then", 4))
		read_store(kr);
}

/* The stage's key, and what of the points that are selected is stored. */
static void
read_selection(KernelReader *kr)
{
	const char *beg = next_word(kr);
	const int stored = kr->k->store.n;
	Select s = { .count = read_size(kr) };

	s.greatest = read_accept_word(&kr->r, "greatest");
	if (!s.greatest)
		expect_word(kr, "least");
	read_expect(&kr->r, "(");
	s.key = read_ref(kr);
	read_expect(&kr->r, ")");
	s.order = read_accept_word(&kr->r, "sorted") ? SELECT_TOP : read_accept_word(&kr->r, "all") ? SELECT_ALL :
		  read_accept_word(&kr->r, "stable") ? SELECT_STABLE : SELECT_ANY;
	kernel_select(kr->k, s);
	read_stage(kr, false);
	for (int i = stored; i < kr->k->store.n; i++)
		if (kr->k->store.at[i].value.kind != REF_OPERAND)
			fail_at(kr, beg, "operands of selected points are stored, not values");
	if (kr->k->nreduce != 1 || s.key.kind != REF_OPERAND || kr->k->operand.at[s.key.at].access != ACCESS_READ ||
	    !size_at_most(kr->k->sizes, size_minus(kr->k->sizes, s.count, kr->k->extent[kr->k->naxis - 1]), 0) ||
	    (s.order >= SELECT_ALL && s.count != kr->k->extent[kr->k->naxis - 1]))
		fail_at(kr, beg, "points of one reduced axis are selected by an operand, at most all of them");
}

static void
read_steps(KernelReader *kr)
{
	const char *beg = next_word(kr);
	int n = 0;

	if (!kr->k->nreduce && read_accept_word(&kr->r, "do")) {
		read_stage(kr, true);
		if (!kr->k->store.n || kr->k->state.n)
			fail_at(kr, beg, "nothing is stored");
		return;
	}
	kr->k->stage.n = 0;
	while (next_word(kr), strncmp(kr->r.p, "schedule", 8) && strncmp(kr->r.p, "then", 4)) {
		const bool selects = read_accept_word(&kr->r, "select");
		const bool each = selects || read_accept_word(&kr->r, "each");

		if (!each)
			expect_word(kr, "once");
		if (n++ == MOST_STAGES)
			fail_at(kr, beg, "more than %d stages", MOST_STAGES);
		kernel_stage(kr->k, each);
		if (selects)
			read_selection(kr);
		else
			read_stage(kr, each);
	}
	if (!kernel_has_rows(kr->k) || kr->k->serial >= kr->k->shared || !kr->k->store.n)
		fail_at(kr, beg, "no stages of rows that are reduced");
}

/* ---- how it runs ------------------------------------------------------------------------------------------------- */

/* Checks rows: they are reduced in lanes along the innermost reduced axis, or are adjacent along the innermost of the
 * other axes. */
static void
check_rows(KernelReader *kr, const Schedule *s, const char *beg)
{
	const Kernel *k = kr->k;
	const int outer = k->naxis - k->nreduce;
	const bool along = k->nreduce && s->inner == k->naxis - 1 && s->lanes > 0 &&
			   (s->lanes == 1 || !kernel_range(k, s->inner));
	const bool beside = s->inner >= 0 && s->inner == outer - 1 && !s->lanes && !kernel_has_ranges_of(k, s->inner),
		   carries = kernel_carries(k), selects = kernel_selects(k);

	for (int i = 0; i < k->operand.n; i++)
		if ((k->operand.at[i].ngather && k->operand.at[i].gather[0].by.kind == REF_OPERAND &&
		     (!carries || (beside && kernel_moves(k, &k->operand.at[i].gather[0].by, s->inner)))) ||
		    k->operand.at[i].along >= 0 || k->operand.at[i].access == ACCESS_MADE)
			fail_at(kr, beg, "%s is no operand of a kernel that reduces", k->operand.at[i].name);
	if (k->next) {
		if (!s->rows || s->inner >= 0 || s->tile >= 0 || s->grain < 1)
			fail_at(kr, beg, "no schedule for a chain");
		return;
	}
	if (!s->rows || s->table || s->tile >= 0 || s->grain < 1 || (s->whole && !beside) ||
	    (kernel_has_lets_as_indices(k) && (beside || s->lanes > 1)) ||
	    (!along && !beside && (k->nreduce || s->inner >= 0 || s->lanes)) ||
	    (carries && s->lanes > 1) || (selects && s->lanes != 1) ||
	    (s->columns != KERNEL_COLUMNS && (!carries || !beside || s->columns < 1)))
		fail_at(kr, beg, "no schedule for these axes");
}

/* A serial axis must be the innermost one.  Otherwise axes after the inner one are unrolled, unless places are looked
 * up in a table. */
static bool
has_loops_for(const Kernel *k, const Schedule *s)
{
	const int last = k->naxis - 1;

	if (k->serial >= 0)
		return s->inner < 0 || s->inner == last - 1;
	if (s->inner < last)
		return s->inner >= 0 && s->rows == (s->inner > 0) && s->tile < 0 && !kernel_has_gathers(k);
	return s->rows ? last >= 0 : last <= 0 && s->tile < 0;
}

static void
check_points(KernelReader *kr, const Schedule *s, const char *beg)
{
	if (s->lanes || s->whole || s->grain < 1 || (s->table && (s->rows || !kernel_has_table(kr->k))) ||
	    (s->tile >= 0 && (s->tile >= s->inner || kernel_has_lets_as_indices(kr->k))) || !has_loops_for(kr->k, s))
		fail_at(kr, beg, "no schedule for these axes");
}

/* Returns the number of lanes.  -1 if no schedule has so many. */
static int
lanes_of(int64_t n)
{
	return n == 1 || n == KERNEL_LANES || n == 2 * KERNEL_LANES || n == 4 * KERNEL_LANES ? (int)n : -1;
}

static void
read_units(KernelReader *kr, Schedule *s)
{
	expect_word(kr, "units");
	s->units = read_size(kr);
	read_expect(&kr->r, ";");
	expect_word(kr, "grain");
	s->grain = read_int(&kr->r);
}

static void
read_schedule(KernelReader *kr, Schedule *s)
{
	const char *beg = next_word(kr);

	*s = (Schedule){ .inner = -1, .tile = -1, .columns = KERNEL_COLUMNS };
	expect_word(kr, "schedule");
	if (read_accept_word(&kr->r, "microkernel")) {
		const char *micro = read_word(&kr->r, "")->name;

		read_expect(&kr->r, ";");
		read_units(kr, s);
		s->micro = micro;
		return;
	}
	s->rows = read_accept_word(&kr->r, "rows");
	if (!s->rows)
		expect_word(kr, "points");
	if (read_accept_word(&kr->r, "of"))
		s->inner = read_axis(kr, kr->k->naxis);
	if (read_accept_word(&kr->r, "by")) {
		s->table = read_accept_word(&kr->r, "table");
		s->lanes = s->table ? 0 : lanes_of(read_int(&kr->r));
	} else {
		if (read_accept_word(&kr->r, "beside"))
			s->columns = (int)read_int(&kr->r);
		s->whole = read_accept_word(&kr->r, "whole");
	}
	read_expect(&kr->r, ";");
	if (read_accept_word(&kr->r, "tile")) {
		s->tile = read_axis(kr, kr->k->naxis);
		read_expect(&kr->r, ";");
	}
	read_units(kr, s);
	if (kernel_has_rows(kr->k))
		check_rows(kr, s, beg);
	else
		check_points(kr, s, beg);
}

/* Skips comments on lines of their own. */
static void
skip_comments(KernelReader *kr)
{
	for (read_blanks(&kr->r); *kr->r.p == '#'; read_blanks(&kr->r))
		kr->r.p += strcspn(kr->r.p, "\n");
}

/* Indices and extents that are lets: ints that exist, extents once for a row. */
static void
check_edge(KernelReader *kr, const AxisRange *r, const AxisEdge *e, const char *beg)
{
	const Kernel *k = kr->k;

	if (e->let.kind && !r->checked && !size_is(k->extent[r->axis], 1))
		fail_at(kr, beg, "the extent of i%d is not checked", r->axis);
	if (e->let.kind && (e->let.at >= k->let.n || k->let.at[e->let.at].types.result != RT_i64 ||
			    k->stage.at[kernel_stage_of(k, REF_LET, e->let.at)].each))
		fail_at(kr, beg, "t%d is no number of points, computed once for a row", e->let.at);
}

static void
check_computed(KernelReader *kr, const char *beg)
{
	const Kernel *k = kr->k;

	for (int i = 0; i < k->operand.n; i++)
		for (int g = 0; g < k->operand.at[i].ngather; g++) {
			const Ref *by = &k->operand.at[i].gather[g].by;

			if (by->kind == REF_LET && (by->at >= k->let.n || k->let.at[by->at].types.result != RT_i64))
				fail_at(kr, beg, "t%d is no index of %s", by->at, k->operand.at[i].name);
		}
	for (int i = 0; i < k->range.n; i++) {
		check_edge(kr, &k->range.at[i], &k->range.at[i].first, beg);
		check_edge(kr, &k->range.at[i], &k->range.at[i].end, beg);
	}
}

/* Reads a link: its operands, axes and stages. */
static void
read_link(KernelReader *kr, const char *beg, const Kernel *last)
{
	read_operands(kr, last ? "then" : "operands");
	read_axes(kr, last);
	kr->k->first = read_accept_word(&kr->r, "first");
	check_operands(kr, beg);
	read_steps(kr);
	check_computed(kr, beg);
}

/* Reads the links of a chain behind the first one. */
static void
read_links(KernelReader *kr)
{
	Kernel *first = kr->k;

	for (const char *beg = next_word(kr); !strncmp(beg, "then", 4); beg = next_word(kr)) {
		Kernel *last = kr->k;

		if (!first->shared || kernel_has_gathers(last))
			fail_at(kr, beg, "links share axes and have no gathers");
		kr->k = kernel_then(last);
		read_link(kr, beg, last);
	}
	kr->k = first;
}

Kernel *
kernel_read(Cx *cx, SizeTable *sizes, const Source *src, const char **at, Schedule *schedule)
{
	KernelReader kr = { .r = { .cx = cx, .src = src, .p = *at } };
	const char *beg;

	kr.operands.arena = cx->arena;
	skip_comments(&kr);
	beg = next_word(&kr);
	expect_word(&kr, "kernel");
	kr.k = kernel_new(sizes, cx->arena, read_word(&kr.r, "")->name, "");
	kr.k->comment = read_comment(&kr);
	read_symbols(&kr);
	read_link(&kr, beg, NULL);
	read_links(&kr);
	read_schedule(&kr, schedule);
	expect_word(&kr, "end");
	kernel_check(kr.k);
	*at = kr.r.p;
	return kr.k;
}
