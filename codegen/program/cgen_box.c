/*
 * Writes C expressions in the steps of a specialized function: addresses and boxes of values, and lines of the model.
 *
 * A planned tensor is an address: arena + offset, the weights, or an argument's data. As an IValue it needs a box. If
 * the step does not keep the box, it is borrowed. Otherwise it is a view of its storage's box, or a copy if the tensor
 * is in the arena. Numbers that depend on sizes are in arrays at the beginning of the function.
 */
#include "writer.h"

#include <string.h>

const char *
c_number(Writer *w, int64_t n)
{
	return plan_number(w->plan, n);
}

const char *
c_geometry(Writer *w, const RtTensor *t)
{
	const char *name;
	Buf b = { 0 };

	if (!w->plan->dynamic || !t->ndim)
		return emit_geometry(w->emit, t->ndim, t->dims, t->strides);
	for (int i = 0; i < t->ndim; i++)
		buf_printf(&b, " %s,", c_number(w, t->dims[i]));
	for (int i = 0; i < t->ndim; i++)
		buf_printf(&b, " %s,", c_number(w, t->strides[i]));
	name = arena_printf(w->arena, "g%d", w->nhead++);
	buf_printf(&w->head, "\tconst int64_t %s[] = {%s };\n", name, b.at);
	buf_free(&b);
	return name;
}

int64_t
tensor_offset(const RtTensor *t)
{
	return t->offset * rt_dtypes[t->dtype].bytes;
}

static int
add_constant(Writer *w, IValue v)
{
	int index;

	w->emit->lazy = w->packed;
	index = emit_value(w->emit, v);
	w->emit->lazy = false;
	return index;
}

/* Returns the index of a constant of a dynamic specialization. All samples ask for the same constants in the same
 * order. */
static int
shared_constant(Writer *w, IValue v)
{
	Plan *p = w->plan;
	struct Lockstep *l = p->dynamic->constants;
	const int at = p->dynamic->nconstant++;

	if (at < l->at.n) {
		const KnownConstant *k = &l->at.at[at];

		if (k->value.tag != v.tag || (k->value.u.p != v.u.p && !value_identical(k->value, v)))
			fail_lacks(p->cx, (Range){ 0 }, "a constant depends on dynamic sizes");
		return k->index;
	}
	/* A constant that was requested before has the same index. */
	for (int i = 0; i < l->at.n; i++)
		if (l->at.at[i].value.tag == v.tag && l->at.at[i].value.u.p == v.u.p && rt_counted(v)) {
			vec_push(p->cx->arena, &l->at, l->at.at[i]);
			return l->at.at[i].index;
		}
	vec_push(p->cx->arena, &l->at, ((KnownConstant){ v, add_constant(w, v) }));
	return l->at.at[at].index;
}

static int
known_constant(Writer *w, IValue v)
{
	if (w->plan->dynamic)
		return shared_constant(w, v);

	const char *key = rt_counted(v) ? arena_printf(w->arena, "%p", v.u.p) : NULL;
	const intptr_t known = key ? (intptr_t)map_get(&w->emit->constant_index, key) : 0;
	int index;

	if (known)
		return (int)known - 1;
	index = add_constant(w, v);
	if (key)
		map_put(&w->emit->constant_index, key, (void *)(intptr_t)(index + 1));
	return index;
}

int
c_constant(Writer *w, IValue v)
{
	const int index = known_constant(w, v);

	if (!w->packed)
		emit_use(w->emit, v, WEIGHT_NEEDED);
	return index;
}

int
c_weight(Writer *w, IValue v)
{
	const bool packed = w->packed;
	int index;

	w->packed = packed || rt_unpacks(v);
	index = c_constant(w, v);
	if (!packed && rt_unpacks(v))
		emit_use(w->emit, v, WEIGHT_CALLED);
	w->packed = packed;
	return index;
}

static const char *
plus(Writer *w, const char *base, int64_t bytes)
{
	return bytes ? arena_printf(w->arena, "%s + %s", base, c_number(w, bytes)) : base;
}

const char *
c_spot(Writer *w, const Buffer *b, int64_t at)
{
	RT_ASSERT(b->home == HOME_ARENA && b->spot >= 0);
	return w->plan->dynamic ? plus(w, arena_printf(w->arena, "arena + at[%d]", b->spot), at)
			     : plus(w, "arena", b->offset + at);
}

/* Returns the address of a constant in the weights, without a runtime. */
static const char *
bare_constant(Writer *w, const RtTensor *t, int64_t at)
{
	int64_t offset;

	widened_fill(w->emit->cx, t->storage);
	offset = weights_add(&w->emit->weights, WEIGHT_PLAIN, t->storage->data, t->storage->bytes);
	widened_trim(w->emit->cx);
	return arena_printf(w->arena, "(char *)kiln_weights + %lld", (long long)(offset + at));
}

/* Returns the address of an argument or a result. */
static const char *
outside(Writer *w, const Buffer *b)
{
	if (w->direct)
		return arena_printf(w->arena, "(char *)%s[%d]", b->home == HOME_INPUT ? "in" : "out", b->spot);
	if (w->plan->bare)
		return arena_printf(w->arena, "(char *)%s", b->place);
	return arena_printf(w->arena, "rt_data(%s.u.t)", c_base_box(w, b));
}

const char *
c_address(Writer *w, const Value *v, int64_t more)
{
	const RtTensor *t = plan_tensor(w->plan, v);
	const Buffer *b = plan_buffer(w->plan, v);
	const int64_t at = tensor_offset(t) + more;

	switch (b->home) {
	case HOME_ARENA:
		return c_spot(w, b, at);
	case HOME_CONSTANT:
		if (w->plan->bare)
			return bare_constant(w, b->constant.u.t, at);
		return plus(w, arena_printf(w->arena, "rt_data(cx->value[%d].u.t)", c_constant(w, b->constant)),
			    at - b->base);
	case HOME_STATIC:
		return plus(w, b->place, at - b->base);
	default:
		return plus(w, outside(w, b), at - b->base);
	}
}

const char *
c_home(Writer *w, const Value *v, int64_t more)
{
	const Buffer *b = plan_buffer(w->plan, v);

	if (!w->plan->gpu)
		return c_address(w, v, more);
	return plus(w, arena_printf(w->arena, "rt_cuda_home(&c, %d, %s)", b->index, c_buffer(w, v)),
		    tensor_offset(plan_tensor(w->plan, v)) + more);
}

const char *
c_buffer(Writer *w, const Value *v)
{
	return arena_printf(w->arena, "%s - %s", c_address(w, v, 0),
			    c_number(w, tensor_offset(plan_tensor(w->plan, v))));
}

/* Returns the box of which a buffer's tensors are views. */
const char *
c_base_box(Writer *w, const Buffer *b)
{
	if (b->home == HOME_CONSTANT)
		return arena_printf(w->arena, "rt_weight(cx, %d)", c_weight(w, b->constant));
	if (b->home == HOME_INPUT)
		return b->place;
	return arena_printf(w->arena, "v[%d]", b->slot);
}

static bool
same_geometry(const RtTensor *a, const RtTensor *b)
{
	return a->dtype == b->dtype && a->offset == b->offset && rt_same_dims(a, b) &&
	       !memcmp(a->strides, b->strides, (size_t)a->ndim * sizeof *a->strides);
}

/* Returns whether the buffer's base box has v's type, so that v needs no view. A view that overlaps itself must not be
 * written to, although its base may be. So it needs its own box. */
bool
c_is_base(Writer *w, const Value *v, const Buffer *b)
{
	const RtTensor *t = plan_tensor(w->plan, v);

	if (v->node->op && rt_overlaps_itself(t))
		return false;
	if (b->home == HOME_CONSTANT)
		return same_geometry(t, b->constant.u.t);
	for (int i = 0; i < graph_ninputs(w->plan->graph); i++) {
		const Value *in = graph_inputs(w->plan->graph)[i];

		if (b->home == HOME_INPUT && plan_buffer(w->plan, in) == b)
			return same_geometry(t, plan_tensor(w->plan, in));
	}
	return b->owner && plan_tensor(w->plan, b->owner) && same_geometry(t, plan_tensor(w->plan, b->owner));
}

/* Returns an expression for a list of ints. The numbers may depend on sizes. */
static const char *
list_of_ints(Writer *w, const RtList *l)
{
	Buf b = { 0 };

	buf_printf(&b, "rt_list_of(cx, &rt_type_int, (IValue[%lld]){ ", (long long)l->n + 1);
	for (int64_t i = 0; i < l->n; i++)
		buf_printf(&b, "rt_int(%s), ", c_number(w, l->v[i].u.i));
	buf_printf(&b, "rt_none() }, %lld)", (long long)l->n);
	return arena_text(w->arena, &b);
}

int
slot_of(Writer *w, const Value *v)
{
	if (w->plan->slot[v->id] < 0)
		BUG("no place for a value of %s", v->node->kind->name);
	return w->plan->slot[v->id];
}

const char *
c_slot(Writer *w, const Value *v)
{
	return v->node == w->plan->graph->top->param ? arena_printf(w->arena, "reg[%d]", v->index) :
						    arena_printf(w->arena, "v[%d]", slot_of(w, v));
}

const char *
c_peek(Writer *w, const Value *v)
{
	IValue c;

	if (node_is(v->node, prim_Constant) && value_constant(v, &c))
		return arena_printf(w->arena, "cx->value[%d]", c_constant(w, c));
	return c_slot(w, v);
}

const char *
c_truth(Writer *w, const Value *v)
{
	int64_t i;

	if (known_int(w->plan->known, v, &i))
		return i ? "true" : "false";
	return arena_printf(w->arena, "%s.u.i", c_slot(w, v));
}

static const char *
box_constant(Writer *w, const Value *v)
{
	IValue c = known_at(w->plan->known, v)->v;

	if (c.tag == RT_NONE || !value_constant(v, &c) || c.tag == RT_NONE)
		return "rt_none()";
	if (c.tag == RT_INT && c.u.i > INT32_MIN && c.u.i <= INT32_MAX)
		return arena_printf(w->arena, "rt_int(%s)", c_number(w, c.u.i));
	if (w->plan->dynamic && c.tag == RT_DOUBLE && c.u.f - c.u.f == 0)
		return arena_printf(w->arena, "rt_double(%s)", plan_real(w->plan, c.u.f));
	if (w->plan->dynamic && c.tag == RT_LIST && c.u.list->elem->kind == TYPE_INT)
		return list_of_ints(w, c.u.list);
	if (c.tag == RT_BOOL)
		return arena_printf(w->arena, "rt_bool(%d)", c.u.i != 0);
	return arena_printf(w->arena, "rt_retain(rt_weight(cx, %d))", c_weight(w, c));
}

const char *
c_box(Writer *w, const Value *v, bool keep)
{
	const RtTensor *t = plan_tensor(w->plan, v);
	const Buffer *b = plan_buffer(w->plan, v);

	w->emit->doubles |= t && t->dtype == RT_f64;
	if (!b && node_is(v->node, prim_Constant))
		return box_constant(w, v);
	if (!b)
		return arena_printf(w->arena, "rt_retain(%s)", c_slot(w, v));
	if (b->home == HOME_ARENA)
		return arena_printf(w->arena, keep ? "rt_box_copy(cx, RT_%s, %d, %s, %s, %s)" :
				    "rt_box_borrow(cx, RT_%s, %d, %s, %s)", rt_dtypes[t->dtype].name, t->ndim,
				    c_geometry(w, t), c_home(w, v, 0), c_number(w, b->bytes - tensor_offset(t)));
	if (c_is_base(w, v, b))
		return arena_printf(w->arena, "rt_retain(%s)", c_base_box(w, b));
	return arena_printf(w->arena, "rt_box_view(cx, %s, RT_%s, %d, %s, %s)", c_base_box(w, b),
			    rt_dtypes[t->dtype].name, t->ndim, c_geometry(w, t),
			    c_number(w, (tensor_offset(t) - b->base) / rt_dtypes[t->dtype].bytes));
}

/* ---- the model's lines -------------------------------------------------------------------------------------- */

/* Whether the place is in the same file and line as the range. */
static bool
is_line(const RtCode *c, int place, Range at, int line)
{
	const RtPlaceName *p = &c->place[place];

	return p->line == line && p->file && p->line_text && at.src->name && strstr(at.src->name, c->text + p->file);
}

/* Rates how well a place fits a node. 0 if it is on another line. The rating is higher if the program has the place
 * already, if it has the same callers as the node, and if it is in the same column. */
static int
fitness(const RtCode *c, const uint32_t *row, int place, const Node *n, int line)
{
	const Frame *f = n->inlined;
	int caller;

	if (!is_line(c, place, n->at, line))
		return 0;
	for (caller = c->place[place].caller; caller && f; caller = c->place[caller].caller, f = f->up)
		if (!f->at.src || !is_line(c, caller, f->at, range_line(f->at)))
			break;
	return 1 + (row[place] ? 4 : 0) + (!caller && !f ? 2 : 0) + (c->place[place].column == range_column(n->at));
}

/* Returns the place with the best rating, the first one among equals. */
static uint32_t
best_place(const RtCode *c, const uint32_t *row, const PlaceList *of, const Node *n, int line)
{
	uint32_t found = 0;

	for (int i = 0, best = 0, fit; of && i < of->n && best < 8; i++)
		if ((fit = fitness(c, row, of->at[i], n, line)) > best) {
			best = fit;
			found = (uint32_t)of->at[i];
		}
	return found;
}

/* Returns the index of the node's line among the generic code's places, for errors and guards. Prefers the node's own
 * place, then one of its line with the same caller, then any of its line. */
static uint32_t
code_place_of(Writer *w, const Node *n)
{
	const RtCode *c = w->plan->fn->code;
	const CodePlaces *places = emit_places(w->emit, c);
	const int line = n->at.src ? range_line(n->at) : 0;
	uint32_t found;

	if (!line)
		return 0;
	found = (uint32_t)code_place(w->plan->fn, n->at, n->inlined);
	if (found && places->row[found])
		return found;
	found = best_place(c, places->row, emit_line(w->emit, places, line, code_caller(w->plan->fn, n->inlined)), n,
			   line);
	return found ? found : best_place(c, places->row, emit_line(w->emit, places, line, -1), n, line);
}

uint32_t
place_row(Writer *w)
{
	return emit_places(w->emit, w->plan->fn->code)->row[w->line];
}

void
note_line(Writer *w, const Node *n)
{
	const RtCode *c = w->plan->fn->code;
	const uint32_t line = code_place_of(w, n);
	Buf b = { 0 };

	if (line && line != w->line && w->emit->source && c->place[line].line_text) {
		const char *text = c->text + c->place[line].line_text;

		while (*text == ' ')
			text++;
		out_comment(&b, text, 110);
		w->remark = arena_strdup(w->arena, b.at ? b.at : "");
	}
	w->line = line;
	buf_free(&b);
}

void
write_remark(Writer *w)
{
	if (w->remark)
		out_line(&w->out, "/* %s */", w->remark);
	w->remark = NULL;
}

/* ---- descriptions of steps for --info --------------------------------------------------------------------------- */

/* Returns the node's file and line without paths of this machine: "code/__torch__/net.py:12". */
static const char *
line_of(Writer *w, const Node *n)
{
	const char *name = n->at.src ? n->at.src->name : "", *member = strstr(name, ":code/"),
		   *slash = strrchr(name, '/');

	if (!n->at.src || !w->emit->source)
		return "";
	return arena_printf(w->arena, "%s:%d", member ? member + 1 : slash ? slash + 1 : name, range_line(n->at));
}

/* Returns the file and line that the archive was made from: "net.py:7". "" if the archive does not record them. */
static const char *
source_line(Writer *w, const Node *n)
{
	const Range from = range_original(n->at);
	const char *name = from.src && from.src->name ? from.src->name : "", *slash = strrchr(name, '/');

	if (from.src == n->at.src || !w->emit->source)
		return "";
	return arena_printf(w->arena, "%s:%d", slash ? slash + 1 : name, range_line(from));
}

void
begin_launch_row(Writer *w, const Node *n, const char *kernel)
{
	Buf *b = &w->emit->launches;

	buf_puts(b, w->emit->nlaunch ? ",{\"kernel\":" : "{\"kernel\":");
	out_json(b, kernel);
	buf_puts(b, ",\"line\":");
	out_json(b, line_of(w, n));
	buf_puts(b, ",\"source\":");
	out_json(b, source_line(w, n));
}

const char *
call_name(Writer *w, const Node *n)
{
	if (w->plan->dynamic)
		return n->kind->name;
	begin_launch_row(w, n, n->kind->name);
	buf_puts(&w->emit->launches, ",\"what\":\"\",\"form\":\"\",\"flops\":null,\"bytes\":null,\"turns\":1}");
	if (w->emit->tuning)
		vec_push(w->arena, &w->emit->tuning->launched, -1);
	return arena_printf(w->arena, "%s#%d", n->kind->name, w->emit->nlaunch++);
}

/* ---- C that many steps share ------------------------------------------------------------------------------------- */

void
write_unless(Writer *w, const char *failed)
{
	out_line(&w->out, "if (%s)", failed);
	out_line(&w->out, "\tgoto failed;");
	w->may_fail = true;
}

void
write_stale(Writer *w, const Buffer *b)
{
	if (w->plan->gpu)
		out_line(&w->out, "rt_cuda_written(&c, %d);", b->index);
}

void
write_settle(Writer *w)
{
	if (w->plan->gpu)
		write_unless(w, "rt_cuda_settle(cx)");
}

bool
type_holds_tensors(const Type *t)
{
	bool holds = false;

	switch (t->kind) {
	case TYPE_NONE: case TYPE_INT: case TYPE_FLOAT: case TYPE_BOOL: case TYPE_COMPLEX: case TYPE_NUMBER:
	case TYPE_STR: case TYPE_DEVICE: case TYPE_GENERATOR: case TYPE_ENUM: case TYPE_FUNCTION:
		return false;
	case TYPE_LIST: case TYPE_OPTIONAL: case TYPE_TUPLE:
		for (int i = 0; i < t->n; i++)
			holds |= type_holds_tensors(t->of[i]);
		return holds;
	default:
		return true;
	}
}
