/*
 * State without a runtime. Attributes that a model writes to are memory of the instance, which NAME_reset fills with
 * their initial values.
 *
 * A read of such an attribute becomes a constant that refers to memory without data, with one such memory for each
 * storage of the model. So all reads of the attribute share one buffer, and no pass or kernel assumes that its contents
 * stay the same.
 */
#include "program.h"
#include "../../ir/row.h"

#include <string.h>

enum { LINE = 64 };

/* Returns the attribute that a chain of prim::GetAttr reads. None if v is no such chain. */
static IValue
attribute(const Graph *g, IValue self, const Value *v)
{
	IValue object;
	int slot;

	if (v == graph_inputs(g)[0])
		return self;
	if (!node_is(v->node, prim_GetAttr) || v->node->in[0]->type->kind != TYPE_CLASS)
		return rt_none();
	object = attribute(g, self, v->node->in[0]);
	slot = class_slot(v->node->in[0]->type->cls, node_str(v->node, "name"));
	return object.tag == RT_OBJECT && slot >= 0 ? object.u.obj->slot[slot] : rt_none();
}

static BareStorage *
find_storage(BareState *s, const RtStorage *real, const RtStorage *stand)
{
	for (int i = 0; i < s->at.n; i++)
		if (s->at.at[i].real == real || s->at.at[i].stand == stand)
			return &s->at.at[i];
	return NULL;
}

static RtStorage *
stand_in(Cx *cx, BareState *s, RtStorage *real)
{
	const BareStorage *known = find_storage(s, real, NULL);
	RtCx *rt = cx_rt(cx);
	const bool meta = rt->meta;
	BareStorage made = { .real = real, .offset = s->bytes };

	if (known)
		return known->stand;
	rt->meta = true;
	made.stand = rt_storage_new(rt, real->bytes);
	rt->meta = meta;
	if (!made.stand)
		fail(cx, (Range){ 0 }, "%s", rt->message);
	s->bytes += (real->bytes ? real->bytes + LINE - 1 : LINE) & ~(int64_t)(LINE - 1);
	vec_push(cx->arena, &s->at, made);
	return made.stand;
}

static void
bind(Cx *cx, BareState *s, Graph *g, Node *n, const RtTensor *t)
{
	RtTensor *stand = rt_tensor_over(cx_rt(cx), stand_in(cx, s, t->storage), (RtDtype)t->dtype,
					 &(RtGeometry){ t->ndim, t->dims, t->strides, t->offset });

	if (!stand)
		fail(cx, n->at, "%s", cx_rt(cx)->message);
	graph_set_insert_before(g, n);
	value_replace_uses(n->out[0], graph_constant_typed(g, rt_of(stand), n->out[0]->type, n->at));
	stand->storage->readonly = false;        /* the instance's memory is writable */
	node_destroy(n);
}

/* Replaces a write without a kernel by x.copy_(value). */
static void
become_copy(Graph *g, Node *n, Value *from)
{
	Value *in[] = { n->in[0], from, graph_constant(g, rt_bool(false), n->at) };

	value_replace_uses(n->out[0], graph_emit_op(g, "aten::copy_", n->at, 3, in, n->out[0]->type));
	node_destroy(n);
}

/* Replaces x.mul_(y) by x.copy_(x.mul(y)). */
static void
split(Cx *cx, Graph *g, Node *n, Op *base)
{
	Node *made = node_new(g, sym(cx, base->name), n->at, 1);

	made->out[0]->type = n->out[0]->type;
	made->op = base;
	for (int i = 0; i < n->nin; i++)
		node_add_input(made, n->in[i]);
	graph_set_insert_before(g, n);
	graph_insert(g, made);
	become_copy(g, n, made->out[0]);
}

/* Returns a tensor of one number, so that x.copy_() can replace x.zero_() and x.fill_(2). Null if n is neither of these
 * or x cannot hold the number. */
static RtTensor *
filling(Cx *cx, const Node *n)
{
	const TensorInfo *self = n->nin ? n->in[0]->type->tensor : NULL;
	const bool zero = n->op && n->op->row == ROW_zero_;
	IValue v = rt_int(0);
	RtTensor *t;

	if (!self || self->dtype < 0)
		return NULL;
	if (!zero && (!n->op || n->op->row != ROW_fill__Scalar || !value_constant(n->in[1], &v)))
		return NULL;
	if (rt_check_number(cx_rt(cx), v, (RtDtype)self->dtype)) {
		rt_clear_error(cx_rt(cx));
		return NULL;
	}
	if (!(t = rt_scalar_tensor(cx_rt(cx), (RtDtype)self->dtype, v)))
		fail(cx, n->at, "%s", cx_rt(cx)->message);
	return t;
}

/* Whether the value and the target are contiguous and have the same sizes and dtype. */
static bool
is_like_self(const Node *n)
{
	const TensorInfo *self = n->in[0]->type->tensor;
	int64_t step = 1;

	if (!self || self->rank < 0 || !self->dims || !self->strides)
		return false;
	for (int i = self->rank - 1; i >= 0; step *= self->dims[i--])
		if (self->dims[i] != 1 && self->strides[i] != step)
			return false;
	for (int i = 1; i < n->nin; i++) {
		const TensorInfo *t = n->in[i]->type->kind == TYPE_TENSOR ? n->in[i]->type->tensor : self;

		if (!t || t->dtype != self->dtype)
			return false;
	}
	return true;
}

static void
split_writes(Cx *cx, Graph *g)
{
	for NODES(n, g->top) {
		Op *base = n->op && n->op->form == OP_ALSO && n->nout == 1 && node_writes_input(n, 0) &&
			is_like_self(n) ?
			op_by_id(cx, n->op->base) : NULL;
		RtTensor *number = filling(cx, n);

		if (base && base->form != OP_BODY && op_schema(cx, base)->nargs == n->nin)
			split(cx, g, n, base);
		if (!number)
			continue;
		graph_set_insert_before(g, n);
		become_copy(g, n, graph_constant(g, rt_of(number), n->at));
	}
}

void
bare_bind(Cx *cx, BareState *s, Graph *g, IValue self)
{
	split_writes(cx, g);
	for NODES(n, g->top) {
		const IValue v = node_is(n, prim_GetAttr) ? attribute(g, self, n->out[0]) : rt_none();

		if (v.tag == RT_TENSOR && !v.u.t->quant && v.u.t->storage)
			bind(cx, s, g, n, v.u.t);
	}
	for NODES_REV(n, g->top)                 /* removes reads of the modules in between */
		if (node_is(n, prim_GetAttr) && !n->out[0]->uses.n)
			node_destroy(n);
}

void
bare_state_place(BareState *s, Plan *p)
{
	for (int i = 0; i < p->buffers.n; i++) {
		Buffer *b = p->buffers.at[i];
		const BareStorage *at = b->home != HOME_CONSTANT ? NULL :
					find_storage(s, NULL, b->constant.u.t->storage);

		if (!at)
			continue;
		b->home = HOME_STATIC;
		b->place = arena_printf(p->cx->arena, "(m->state + %lld)", (long long)(at->offset + b->base));
	}
}

static bool
is_zero(const RtStorage *s)
{
	const char *data = s->data;

	for (int64_t i = 0; i < s->bytes; i++)
		if (data[i])
			return false;
	return true;
}

void
bare_state_put(const BareState *s, Emit *e, Out *o)
{
	if (!s->at.n)
		return;
	out_line(o, "\nstatic void\nbegin(Bare *m)\n{\n\tmemset(m->state, 0, KILN_STATE);");
	for (int i = 0; i < s->at.n; i++) {
		const RtStorage *real = s->at.at[i].real;

		if (!is_zero(real))
			out_line(o, "\tmemcpy(m->state + %lld, kiln_weights + %lld, %lld);",
				 (long long)s->at.at[i].offset,
				 (long long)weights_add(&e->weights, WEIGHT_PLAIN, real->data, real->bytes),
				 (long long)real->bytes);
	}
	out_line(o, "\tm->began = true;\n}");
}
