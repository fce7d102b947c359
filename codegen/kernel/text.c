/*
 * Kernels as text; tests/kernel/reader.c has the grammar.
 */
#include "form.h"

#include <string.h>

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void
put_constant(IValue v, Buf *b)
{
	if (v.tag == RT_BOOL)
		buf_puts(b, v.u.i ? "true" : "false");
	else if (v.tag == RT_INT)
		buf_printf(b, "%lld", (long long)v.u.i);
	else if (v.u.f != v.u.f)
		buf_puts(b, "nan");
	else if (v.u.f - v.u.f != 0)
		buf_puts(b, v.u.f < 0 ? "-inf" : "inf");
	else
		buf_printf(b, "%.17g%s", v.u.f,
			   v.u.f < 1e15 && v.u.f > -1e15 && v.u.f == (double)(int64_t)v.u.f ? ".0" : "");
}

static void
put_ref(const Kernel *k, const Ref *r, Buf *b)
{
	switch (r->kind) {
	case REF_NONE:    buf_puts(b, "none"); break;
	case REF_OPERAND: buf_puts(b, k->operand.at[r->at].name); break;
	case REF_LET:     buf_printf(b, "t%d", r->at); break;
	case REF_NUMBER:  put_constant(r->number, b); break;
	case REF_STATE:   buf_printf(b, "%c%d", r->part ? 'q' : 'r', r->at); break;
	}
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* Writes one summand of an offset: " + 64*i0". */
static void
put_part(const Kernel *k, const Size *stride, const char *what, bool first, Buf *b)
{
	int64_t number;
	const bool negative = size_const(stride, &number) && number < 0;

	buf_puts(b, first ? negative ? "-" : "" : negative ? " - " : " + ");
	stride = negative ? size_minus(k->sizes, size_number(k->sizes, 0), stride) : stride;
	if (*what && size_is(stride, 1)) {
		buf_puts(b, what);
		return;
	}
	size_print(stride, SIZE_TEXT, true, b);
	buf_printf(b, "%s%s", *what ? "*" : "", what);
}

static bool
has_place(const Kernel *k, const Operand *o)
{
	for (int i = 0; i < k->naxis; i++)
		if (!size_is(o->stride[i], 0))
			return true;
	return o->ngather || !size_is(o->offset, 0);
}

/* Writes a sum over axes: "64*i0 + i1". Returns whether it is empty. */
static bool
put_along(const Kernel *k, const Size *const *stride, Buf *b)
{
	Buf what = { 0 };
	bool first = true;

	for (int i = 0; i < k->naxis; i++) {
		if (size_is(stride[i], 0))
			continue;
		what.n = 0;
		buf_printf(&what, "i%d", i);
		put_part(k, stride[i], what.at, first, b);
		first = false;
	}
	buf_free(&what);
	return first;
}

/* Writes a bound: "i0 + i2 - 1 < 56". The position must also be at least 0. */
static void
put_bound(const Kernel *k, const Bound *in, Buf *b)
{
	const bool first = put_along(k, in->stride, b);

	if (first || !size_is(in->offset, 0))
		put_part(k, in->offset, "", first, b);
	buf_puts(b, " < ");
	size_print(in->limit, SIZE_TEXT, false, b);
}

/* Writes the bounds: " where i0 + i2 - 1 < 56, i1 + i3 - 1 < 56 else -inf", except those that the place contains. */
static void
put_bounds(const Kernel *k, const Operand *o, Buf *b)
{
	const char *before = " where ";

	for (int i = 0; i < o->bound.n; i++) {
		if (o->bound.at[i].unit)
			continue;
		buf_puts(b, before);
		put_bound(k, &o->bound.at[i], b);
		before = ", ";
	}
	if (o->outside.tag != RT_NONE) {
		buf_puts(b, " else ");
		put_constant(o->outside, b);
	}
}

/* Writes an operand's offset: "64*i0 + i1 + 512*[x2 < 20000] + 3"; with positions "i0 + 8*[2*i2 + i4 - 1 < 56]". */
static void
put_place(const Kernel *k, const Operand *o, Buf *b)
{
	static const char *const outside[] = {
		[OUTSIDE_FAILS] = "]", [OUTSIDE_CLAMPS] = ", clamps]", [OUTSIDE_ZERO] = ", zero]",
	};
	bool first = put_along(k, o->stride, b);
	Buf what = { 0 };

	for (int i = 0; i < o->bound.n; i++) {
		if (!o->bound.at[i].unit)
			continue;
		what.n = 0;
		buf_puts(&what, "[");
		put_bound(k, &o->bound.at[i], &what);
		buf_puts(&what, "]");
		put_part(k, o->bound.at[i].unit, what.at, first, b);
		first = false;
	}
	for (const Gather *g = o->gather; g < o->gather + o->ngather; g++) {
		what.n = 0;
		buf_puts(&what, "[");
		put_ref(k, &g->by, &what);
		buf_puts(&what, " < ");
		size_print(g->limit, SIZE_TEXT, false, &what);
		buf_puts(&what, g->wraps ? ", wraps]" : outside[g->outside]);
		put_part(k, g->stride, what.at, first, b);
		first = false;
	}
	if (first || !size_is(o->offset, 0))
		put_part(k, o->offset, "", first, b);
	put_bounds(k, o, b);
	buf_free(&what);
}

static void
put_operand(const Kernel *k, const Operand *o, Buf *b)
{
	static const char *const access[] = {
		[ACCESS_READ] = "read", [ACCESS_WRITE] = "write", [ACCESS_UPDATE] = "update", [ACCESS_MADE] = "made",
		[ACCESS_LOCAL] = "local",
	};

	if (o->access == ACCESS_NUMBER) {
		buf_printf(b, "  %s number\n", o->name);
		return;
	}
	if (o->access == ACCESS_INDEX || o->access == ACCESS_BITS) {
		buf_printf(b, "  %s %s ", o->name, o->access == ACCESS_BITS ? "bits" : "index");
		put_place(k, o, b);
		buf_puts(b, "\n");
		return;
	}
	buf_printf(b, "  %s %s %s", o->name, rt_dtypes[o->dtype].name, o->constant ? "constant" : access[o->access]);
	if (o->along >= 0)
		buf_printf(b, " from i%d:", o->along);
	if (o->access != ACCESS_MADE || has_place(k, o)) {
		buf_puts(b, " ");
		put_place(k, o, b);
	}
	buf_puts(b, "\n");
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

static void
put_let(const Kernel *k, int at, Buf *b)
{
	const Let *l = &k->let.at[at];
	const RtMapTypes *t = &l->types;

	buf_printf(b, "  t%d = %s%s%s(", at, l->op->name, *l->op->overload ? "." : "", l->op->overload);
	for (int i = 0; i < l->narg; i++) {
		buf_puts(b, i ? ", " : "");
		put_ref(k, &l->arg[i], b);
	}
	buf_printf(b, ") %s", rt_dtypes[t->result].name);
	if (t->compute != t->result || t->common != t->result)
		buf_printf(b, " %s %s", rt_dtypes[t->compute].name, rt_dtypes[t->common].name);
	buf_puts(b, "\n");
}

static void
put_state(const Kernel *k, int at, Buf *b)
{
	const Folded *s = &k->state.at[at];

	buf_printf(b, "  r%d = %s%s(", at, s->carried ? "carried " : "", s->fold->name);
	put_ref(k, &s->x, b);
	buf_puts(b, s->fold->places ? ", " : "");
	if (s->fold->places)
		put_ref(k, &s->y, b);
	buf_printf(b, ") %s %s", rt_dtypes[s->total].name, rt_dtypes[s->part].name);
	if (s->fold->places)
		buf_printf(b, " %s", rt_dtypes[s->place].name);
	buf_puts(b, "\n");
}

/* Writes "select 5 greatest(x2) sorted". */
static void
put_selection(const Kernel *k, const Select *s, Buf *b)
{
	static const char *const order[] = {
		[SELECT_ANY] = "", [SELECT_TOP] = " sorted", [SELECT_ALL] = " all", [SELECT_STABLE] = " stable",
	};

	buf_puts(b, "select ");
	size_print(s->count, SIZE_TEXT, false, b);
	buf_puts(b, s->greatest ? " greatest(" : " least(");
	put_ref(k, &s->key, b);
	buf_printf(b, ")%s\n", order[s->order]);
}

static void
put_stage(const Kernel *k, int stage, Buf *b)
{
	const Stage from = k->stage.at[stage], end = kernel_stage_end(k, stage);

	if (from.select.count)
		put_selection(k, &from.select, b);
	else
		buf_puts(b, !kernel_has_rows(k) ? "do\n" : from.each ? "each\n" : "once\n");
	for (int i = from.let; i < end.let; i++)
		put_let(k, i, b);
	for (int i = from.state; i < end.state; i++)
		put_state(k, i, b);
	for (int i = from.store; i < end.store; i++) {
		buf_printf(b, "  %s = ", k->operand.at[k->store.at[i].operand].name);
		put_ref(k, &k->store.at[i].value, b);
		buf_puts(b, "\n");
	}
}

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

static void
mark_edge(const AxisEdge *e, bool *seen)
{
	if (!e->per)
		return;
	size_symbols(e->times, seen);
	size_symbols(e->plus, seen);
	size_symbols(e->per, seen);
}

static void
mark_symbols(const Kernel *k, const Schedule *s, bool *seen)
{
	for (int i = 0; i < k->naxis; i++)
		size_symbols(k->extent[i], seen);
	for (int i = 0; i < k->range.n; i++) {
		mark_edge(&k->range.at[i].first, seen);
		mark_edge(&k->range.at[i].end, seen);
	}
	for (int i = 0; i < k->operand.n; i++) {
		const Operand *o = &k->operand.at[i];

		for (int d = 0; d < k->naxis; d++)
			size_symbols(o->stride[d], seen);
		size_symbols(o->offset, seen);
		for (int j = 0; j < o->bound.n; j++) {
			for (int d = 0; d < k->naxis; d++)
				size_symbols(o->bound.at[j].stride[d], seen);
			size_symbols(o->bound.at[j].offset, seen);
			size_symbols(o->bound.at[j].limit, seen);
			if (o->bound.at[j].unit)
				size_symbols(o->bound.at[j].unit, seen);
		}
		for (int g = 0; g < o->ngather; g++) {
			size_symbols(o->gather[g].stride, seen);
			size_symbols(o->gather[g].limit, seen);
		}
	}
	for (int i = 0; i < k->stage.n; i++)
		if (k->stage.at[i].select.count)
			size_symbols(k->stage.at[i].select.count, seen);
	size_symbols(s->units, seen);
	if (k->next)
		mark_symbols(k->next, s, seen);
}

/* Writes the symbols and their ranges: "symbols s0: 2..64, s1: 2.." */
static void
put_symbols(const Kernel *k, const Schedule *s, Buf *b)
{
	bool seen[SIZE_SYMBOLS] = { false };
	const char *before = "symbols";
	SizeRange range;

	mark_symbols(k, s, seen);
	for (int i = 0; i < SIZE_SYMBOLS; i++)
		if (seen[i] && size_range(k->sizes, i, &range)) {
			buf_printf(b, "%s s%d: %lld..", before, i, (long long)range.least);
			if (range.most != INT64_MAX)
				buf_printf(b, "%lld", (long long)range.most);
			before = ",";
		}
	buf_puts(b, *before == ',' ? "\n" : "");
}

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

/* Writes an edge of an axis: " to ceil(7*i2 + 7, 5)", or " to t3". */
static void
put_edge(const Kernel *k, const AxisEdge *e, const char *what, Buf *b)
{
	const Size *stride[KERNEL_AXES];

	if (e->let.kind)
		buf_printf(b, " %s t%d", what, e->let.at);
	if (!e->per)
		return;
	for (int i = 0; i < k->naxis; i++)
		stride[i] = i == e->of ? e->times : size_number(k->sizes, 0);
	buf_printf(b, " %s %s(", what, e->up ? "ceil" : "floor");
	put_along(k, stride, b);
	if (!size_is(e->plus, 0))
		put_part(k, e->plus, "", false, b);
	buf_puts(b, ", ");
	size_print(e->per, SIZE_TEXT, false, b);
	buf_puts(b, ")");
}

static void
put_axes(const Kernel *k, Buf *b)
{
	buf_puts(b, k->naxis ? "axes" : "axes none");
	for (int i = 0; i < k->naxis; i++) {
		buf_printf(b, "%s i%d: ", i ? "," : "", i);
		size_print(k->extent[i], SIZE_TEXT, false, b);
		buf_puts(b, i == k->serial ? i < k->shared ? " steps" : " serial" :
			 i >= k->naxis - k->nreduce ? " reduce" : i < k->shared ? " shared" : "");
		if (kernel_range(k, i)) {
			put_edge(k, &kernel_range(k, i)->first, "from", b);
			put_edge(k, &kernel_range(k, i)->end, "to", b);
			buf_puts(b, kernel_range(k, i)->checked ? " checked" : "");
		}
	}
	buf_puts(b, "\n");
}

static void
put_schedule(const Schedule *s, Buf *b)
{
	if (s->micro)
		buf_printf(b, "schedule microkernel %s", s->micro);
	else
		buf_printf(b, "schedule %s", s->rows ? "rows" : "points");
	if (!s->micro && s->inner >= 0)
		buf_printf(b, " of i%d", s->inner);
	if (s->lanes)
		buf_printf(b, " by %d", s->lanes);
	if (s->columns && s->columns != KERNEL_COLUMNS)
		buf_printf(b, " beside %d", s->columns);
	if (s->whole)
		buf_puts(b, " whole");
	if (s->table)
		buf_puts(b, " by table");
	if (!s->micro && s->tile >= 0)
		buf_printf(b, "; tile i%d", s->tile);
	buf_puts(b, "; units ");
	size_print(s->units, SIZE_TEXT, false, b);
	buf_printf(b, "; grain %lld\n", (long long)s->grain);
}

void
kernel_print(const Kernel *k, const Schedule *s, Buf *b)
{
	buf_printf(b, "kernel %s", k->name);
	if (k->comment && *k->comment) {
		buf_puts(b, "  # ");
		buf_clean(b, k->comment, (int64_t)strlen(k->comment));
	}
	buf_puts(b, "\n");
	put_symbols(k, s, b);
	for (const Kernel *link = k; link; link = link->next) {
		buf_puts(b, link == k ? "operands\n" : "then\n");
		for (int i = 0; i < link->operand.n; i++)
			if (link == k || kernel_uses(link, i))
				put_operand(link, &link->operand.at[i], b);
		put_axes(link, b);
		buf_puts(b, link->first ? "first\n" : "");
		for (int i = 0; i < link->stage.n; i++)
			put_stage(link, i, b);
	}
	put_schedule(s, b);
	buf_puts(b, "end\n");
}
