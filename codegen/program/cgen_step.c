/*
 * Writes calls of the runtime as entries of a table (rt/steps.c), instead of as C.
 *
 * An operand is one word. If no word can name it, the function computes it into made[] before the step. Such operands
 * are tensors of dynamic sizes and tensors with a newer copy on the GPU. One call runs consecutive entries:
 *
 *    { .run = rt_step_row, .by.kernel = rt_topk, .line = 2149, .in = 30, .nin = 5, .nout = 2 },
 *    ...
 *    if (rt_steps(&f, 12, 3))
 *            goto failed;
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* Returns the register of an argument that is a tensor in buffer b. -1 if no argument is one, for example if b belongs
 * to a container. */
static int
register_of(Writer *w, const Buffer *b)
{
	for (int i = 0; i < graph_ninputs(w->plan->graph); i++)
		if (plan_buffer(w->plan, graph_inputs(w->plan->graph)[i]) == b)
			return i;
	return -1;
}

/* Returns the operand for a constant. Weights are unpacked, unless the step reads them packed. */
static const char *
value_operand(Writer *w, IValue v)
{
	return arena_printf(w->arena, w->packed || !rt_unpacks(v) ? "RT_IN_VALUE(%d)" : "RT_IN_WEIGHT(%d)",
			    c_weight(w, v));
}

/* Returns the operand for the box of which a buffer's tensors are views. Null if no operand word can name it. */
static const char *
base_operand(Writer *w, const Buffer *b)
{
	if (b->home == HOME_CONSTANT)
		return value_operand(w, b->constant);
	if (b->home == HOME_BOX)
		return arena_printf(w->arena, "RT_IN_SLOT(%d)", b->slot);
	if (b->home == HOME_INPUT && register_of(w, b) >= 0)
		return arena_printf(w->arena, "RT_IN_REGISTER(%d)", register_of(w, b));
	return NULL;
}

/* Adds a box to the table unless the table has it, and returns its operand. */
static const char *
add_box(Writer *w, const char *row)
{
	StepTables *r = &w->tables;
	intptr_t at = (intptr_t)map_get(&r->box_at, row);

	if (!at) {
		at = ++r->nbox;
		map_put(&r->box_at, row, (void *)at);
		buf_printf(&r->box, "\t\t{ %s },\n", row);
	}
	return arena_printf(w->arena, "RT_IN_BOX(%d)", (int)at - 1);
}

static const char *
tensor_operand(Writer *w, const Value *v, const Buffer *b, bool keep)
{
	const RtTensor *t = plan_tensor(w->plan, v);
	const char *base = b->home == HOME_ARENA ? NULL : base_operand(w, b);
	const char *type;

	if (base && c_is_base(w, v, b))
		return base;
	if (w->plan->dynamic || w->plan->gpu || (b->home != HOME_ARENA && !base))
		return NULL;
	type = arena_printf(w->arena, "RT_%s, .ndim = %d", rt_dtypes[t->dtype].name, t->ndim);
	if (base)
		return add_box(w, arena_printf(w->arena, "%s, %lld, 0, %s, RT_BOX_VIEW, %s", c_geometry(w, t),
			(long long)((tensor_offset(t) - b->base) / rt_dtypes[t->dtype].bytes), base, type));
	return add_box(w, arena_printf(w->arena, "%s, %lld, %lld, 0, %s, %s", c_geometry(w, t),
		(long long)(b->offset + tensor_offset(t)), keep ? (long long)(b->bytes - tensor_offset(t)) : 0LL,
		keep ? "RT_BOX_COPY" : "RT_BOX_BORROW", type));
}

/* Adds a number that may depend on sizes, and returns its operand. */
static const char *
add_number(Writer *w, const char *expression)
{
	buf_printf(&w->tables.number, "%s, ", expression);
	return arena_printf(w->arena, "RT_IN_NUMBER(%d)", w->tables.nnumber++);
}

static const char *
add_numbers(Writer *w, const RtList *l)
{
	const int first = w->tables.nnumber;

	if (l->n > RT_NUMBERS_MOST || first >> RT_NUMBERS_BITS)
		return NULL;
	for (int64_t i = 0; i < l->n; i++)
		add_number(w, arena_printf(w->arena, "rt_int(%s)", c_number(w, l->v[i].u.i)));
	return arena_printf(w->arena, "RT_IN_NUMBERS(%d, %d)", first, (int)l->n);
}

static const char *
constant_operand(Writer *w, const Value *v)
{
	IValue c = known_at(w->plan->known, v)->v;

	if (c.tag == RT_NONE || !value_constant(v, &c) || c.tag == RT_NONE)
		return "RT_IN_NONE";
	if (c.tag == RT_BOOL)
		return arena_printf(w->arena, "RT_IN_BOOL(%d)", c.u.i != 0);
	if (w->plan->dynamic && c.tag == RT_INT && c.u.i > INT32_MIN && c.u.i <= INT32_MAX)
		return add_number(w, arena_printf(w->arena, "rt_int(%s)", c_number(w, c.u.i)));
	if (w->plan->dynamic && c.tag == RT_DOUBLE && c.u.f - c.u.f == 0)
		return add_number(w, arena_printf(w->arena, "rt_double(%s)", plan_real(w->plan, c.u.f)));
	if (w->plan->dynamic && c.tag == RT_LIST && c.u.list->elem->kind == TYPE_INT)
		return add_numbers(w, c.u.list);
	if (c.tag == RT_INT && llabs(c.u.i) >> (RT_INT_BITS - 1) == 0)
		return arena_printf(w->arena, "RT_IN_INT(%lld)", (long long)c.u.i);
	return value_operand(w, c);
}

/* Returns an operand whose value the function computes before the step. */
static const char *
made_operand(Writer *w, const char *expression)
{
	out_line(&w->out, "made[%d] = %s;", w->tables.nmade_now, expression);
	return arena_printf(w->arena, "RT_IN_MADE(%d)", w->tables.nmade_now++);
}

static const char *
operand(Writer *w, const Value *v, bool keep)
{
	const RtTensor *t = plan_tensor(w->plan, v);
	const Buffer *b = plan_buffer(w->plan, v);
	const char *word;

	if (!b && v->node == w->plan->graph->top->param)
		return arena_printf(w->arena, "RT_IN_REGISTER(%d)", v->index);
	if (!b && !node_is(v->node, prim_Constant))
		return arena_printf(w->arena, "RT_IN_SLOT(%d)", slot_of(w, v));
	w->emit->doubles |= t && t->dtype == RT_f64;
	word = b ? tensor_operand(w, v, b, keep) : constant_operand(w, v);
	return word ? word : made_operand(w, c_box(w, v, keep));
}

static void
add_word(Writer *w, const char *word)
{
	buf_printf(&w->tables.operand, "%s, ", word);
	w->tables.noperand++;
}

/* Begins the operands of a step or guard. Returns the index of the first one. */
static int
begin_operands(Writer *w)
{
	w->tables.nmade_now = 0;
	buf_puts(&w->tables.operand, w->tables.noperand ? "\n\t\t" : "\t\t");
	return w->tables.noperand;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Adds the operands of a node. Returns their number. */
static int
add_inputs(Writer *w, const Node *n, const bool *keep)
{
	const Schema *s = n->op ? node_schema(n) : NULL;
	const int fixed = s && s->vararg ? s->nargs : n->nin;

	for (int i = 0; i < fixed; i++) {
		w->packed = i == 0 && w->plan->by_panels[n->id];
		add_word(w, operand(w, n->in[i], keep[i]));
		w->packed = false;
	}
	if (!s || !s->vararg)
		return fixed;
	add_word(w, arena_printf(w->arena, "RT_IN_LIST(%d)", n->nin - fixed));
	for (int i = fixed; i < n->nin; i++)
		add_word(w, operand(w, n->in[i], true));
	return fixed + 1;
}

/* Adds the slots of the results. Results that are views of planned buffers are dropped. */
static void
add_outputs(Writer *w, const Node *n)
{
	for (int i = 0; i < n->nout; i++) {
		Buffer *b = plan_buffer(w->plan, n->out[i]);

		if (b && b->home == HOME_BOX && b->slot >= 0 && !b->owner) {
			b->owner = n->out[i];
			add_word(w, arena_printf(w->arena, "%d", b->slot));
		} else if (!b) {
			add_word(w, arena_printf(w->arena, "%d", w->plan->slot[n->out[i]->id]));
		} else {
			add_word(w, "RT_DROP");
		}
	}
}

/* Writes the call of rt_steps that runs the step, or extends the last such call to run it, too. */
static void
write_run(Writer *w)
{
	StepTables *r = &w->tables;
	Buf *text = &w->out.text;

	if (r->first < r->nstep && r->end == text->n) {
		text->n = r->begin;
		text->at[text->n] = 0;
	} else {
		r->first = r->nstep;
		r->begin = text->n;
	}
	r->nstep++;
	write_unless(w, arena_printf(w->arena, "rt_steps(&f, %d, %d)", r->first, r->nstep - r->first));
	r->end = text->n;
}

/* Writes code that handles results once they are in their slots. Test builds also check the results' known types. */
static void
write_results(Writer *w, const Node *n)
{
	for (int i = 0; i < n->nout; i++) {
		const Buffer *b = plan_buffer(w->plan, n->out[i]);
		const RtTensor *t = RT_LIMIT(false, true) && !w->plan->dynamic ? plan_tensor(w->plan, n->out[i]) : NULL;

		if (t && b->home == HOME_BOX && b->owner == n->out[i])
			out_line(&w->out, "RT_ASSERT(rt_is_tensor_of(v[%d], RT_%s, %d, %s, %s + %d));", b->slot,
				 rt_dtypes[t->dtype].name, t->ndim, c_geometry(w, t), c_geometry(w, t), t->ndim);
		if (!b && node_is_loose(n))
			out_line(&w->out, "rt_settle(v[%d], %s);", w->plan->slot[n->out[i]->id],
				 emit_type(w->emit, type_unshaped(w->emit->cx, n->out[i]->type)));
		if (b && b->home == HOME_BOX && b->owner == n->out[i])
			write_stale(w, b);
	}
}

void
write_call_row(Writer *w, const Node *n, const char *how, const bool *keep)
{
	StepTables *r = &w->tables;
	const int in = begin_operands(w), nin = add_inputs(w, n, keep);

	add_outputs(w, n);
	r->made = r->nmade_now > r->made ? r->nmade_now : r->made;
	r->given = nin > r->given ? nin : r->given;
	r->got = n->nout > r->got ? n->nout : r->got;
	if (w->remark)
		buf_printf(&r->step, "\t\t/* %s */\n", w->remark);
	w->remark = NULL;
	buf_printf(&r->step, "\t\t{ %s, .line = %u, .in = %d, .nin = %d, .nout = %d },\n", how, place_row(w), in, nin,
		   n->nout);
	if (!node_makes_parts(n))
		write_trust(w, n, w->tables.nmade_now);
	write_run(w);
	write_results(w, n);
}

/* ---- guards ------------------------------------------------------------------------------------------------------ */

int
add_guard(Writer *w, const Node *n, const char *const *boxed, const char *why)
{
	StepTables *r = &w->tables;
	const RtList *regs = node_attr(n, "regs")->v.u.list;
	const int at = begin_operands(w);

	RT_ASSERT(node_is(n, prim_BailOut) && regs->n == n->nin - 1);
	for (int i = 1; i < n->nin; i++)
		add_word(w, boxed[i] ? made_operand(w, boxed[i]) : operand(w, n->in[i], true));
	for (int64_t i = 0; i < regs->n; i++)
		add_word(w, arena_printf(w->arena, "%lld", (long long)regs->v[i].u.i));
	r->made = r->nmade_now > r->made ? r->nmade_now : r->made;
	buf_printf(&r->guard, "\t\t{ %s, %lld, %d, %d, %u },\n", out_literal(w->arena, why),
		   (long long)node_int(n, "pc", 0), n->nin - 1, at, place_row(w));
	return r->nguard++;
}

/* ---- the tables -------------------------------------------------------------------------------------------------- */

/* Writes a table of n entries. n is written, because tcc cannot count the elements of an array of structs. */
static void
put_table(Out *o, const char *type, const char *name, int n, const Buf *rows)
{
	if (n)
		out_line(o, "\tstatic const %s %s[%d] = {\n%s\t};", type, name, n, rows->at);
}

static void
put_room(Out *o, const char *name, int n)
{
	if (n)
		out_line(o, "\tIValue %s[%d];", name, n);
}

void
write_tables(Writer *w, Out *o)
{
	StepTables *r = &w->tables;

	if (!r->nstep && !r->nguard)
		return;
	if (r->noperand)
		buf_puts(&r->operand, "\n");
	else
		buf_puts(&r->operand, "\t\t0\n");
	buf_puts(&o->text, r->stored.at ? r->stored.at : "");
	put_table(o, "RtStep", "step", r->nstep, &r->step);
	put_table(o, "uint32_t", "operand", r->noperand ? r->noperand : 1, &r->operand);
	put_table(o, "RtBox", "box", r->nbox, &r->box);
	put_table(o, "RtGuard", "guard", r->nguard, &r->guard);
	out_line(o, "\tstatic const RtSteps steps = { %s, operand, %s, %s, %s, NV };", r->nstep ? "step" : "0",
		 r->nbox ? "box" : "0", r->nguard ? "guard" : "0", w->code);
	if (r->nnumber)
		out_line(o, "\tconst IValue number[%d] = { %s};", r->nnumber, r->number.at);
	put_room(o, "given", r->given);
	put_room(o, "got", r->got);
	put_room(o, "made", r->made);
	out_line(o, "\tconst RtFrame f = { &steps, cx, reg, v, %s, %s, %s, %s, arena };\n", r->given ? "given" : "0",
		 r->got ? "got" : "0", r->made ? "made" : "0", r->nnumber ? "number" : "0");
}
