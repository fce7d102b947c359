/*
 * Pointwise rows and groups of them.  Axes are the result's dims, operands are broadcast, and each row is a let.
 *
 * A complex tensor becomes two operands, its real and its imaginary parts, and a complex row several lets
 * (lower_pair.c).  A complex result has one more axis of extent 2, which is unrolled: the real part is at 0, the
 * imaginary part at 1.
 */
#include "lower.h"

#include <string.h>

enum { MOST_OPERANDS = 48 };             /* most addresses that a launch passes */

typedef struct MapLowering {
	Plan   *plan;
	const Node *node;
	Graph  *sub;             /* graph of the group; null for a single node */
	KnownTable *known;       /* known values inside the group */
	Kernel *kernel;
	Lowered *out;
	int     axis[KERNEL_AXES];       /* by dim of the result: axis of the kernel */
	Map     refs;            /* value id inside the group -> Pair */
} MapLowering;

/* ---- values inside --------------------------------------------------------------------------------------------- */

static const char *
key_of(MapLowering *m, const Value *v)
{
	return arena_printf(m->plan->cx->arena, "%d", v->id);
}

static void
set_ref(MapLowering *m, const Value *v, Pair r)
{
	Pair *kept = new(m->plan->cx->arena, Pair, 1);

	*kept = r;
	map_put(&m->refs, key_of(m, v), kept);
}

/* Sets *r to the value at a point. Returns false if it has no C. */
static bool
ref_of(MapLowering *m, const Value *v, Pair *r)
{
	const Known *k = known_at(m->known, v);
	const Pair *kept = map_get(&m->refs, key_of(m, v));

	*r = (Pair){ { .kind = REF_NONE }, { .kind = REF_NONE } };
	if (kept)
		*r = *kept;
	else if (value_is_none(v) || v->type->kind == TYPE_NONE)
		return true;
	else if (k->is && (k->v.tag == RT_INT || k->v.tag == RT_DOUBLE || k->v.tag == RT_BOOL))
		r->re = ref_number(k->v);
	else if (k->is && k->v.tag == RT_COMPLEX)
		*r = (Pair){ ref_number(rt_double(k->v.u.c->re)), ref_number(rt_double(k->v.u.c->im)) };
	else
		return false;
	return true;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* Returns an example of an argument for rt_map_types. For an unknown number only its kind matters. */
static IValue
sample_of(MapLowering *m, const Value *v)
{
	const Known *k = known_at(m->known, v);

	if (k->is)
		return k->v;
	switch (v->type->kind) {
	case TYPE_INT:   return rt_int(1);
	case TYPE_BOOL:  return rt_bool(true);
	case TYPE_FLOAT: return rt_double(1);
	default:         return rt_none();
	}
}

/* Sets the types in which a pointwise row computes. Returns false if it has no C. */
static bool
row_types(MapLowering *m, const Node *n, const RtMapArg *arg, int narg, RtMapTypes *types)
{
	IValue in[64];

	for (int i = 0; i < n->nin; i++)
		in[i] = sample_of(m, n->in[i]);
	rt_map_types(arg, narg, (RtMapResult)n->op->result, in, types);
	if (rt_dtypes[types->common].category == 'U' && strchr(n->op->domain, 'L'))
		return false;                            /* a negative bound counts as 0 */
	return types->compute != RT_NDTYPE && rt_map_takes(n->op->domain, types->common);
}

static bool
lower_row(MapLowering *m, const Node *n)
{
	RtMapArg arg[RT_MAP_MAX];
	Pair in[RT_MAP_MAX], out = { .im = { .kind = REF_NONE } };
	Let l = { .op = n->op };

	if (!n->op || n->op->form != OP_MAP || n->nin > 64)
		return false;
	l.narg = rt_map_args(n->op->text, arg);
	if (!row_types(m, n, arg, l.narg, &l.types))
		return false;
	for (int i = 0; i < l.narg; i++) {
		if (!ref_of(m, n->in[arg[i].arg], &in[i]))
			return false;
		l.arg[i] = in[i].re;
	}
	if (rt_dtypes[l.types.compute].category != 'C')
		out.re = kernel_let(m->kernel, l);
	else if (!lower_pair(m->plan, m->kernel, &l, in, &out))
		return false;
	set_ref(m, n->out[0], out);
	return true;
}

static bool
lower_rows(MapLowering *m)
{
	if (!m->sub)
		return lower_row(m, m->node);
	for NODES(n, m->sub->top)
		if (!node_is(n, prim_Constant) && !lower_row(m, n))
			return false;
	return true;
}

/* Returns the operators' names: "add, relu". */
static const char *
operator_names(MapLowering *m)
{
	Buf b = { 0 };

	if (!m->sub)
		return m->node->op->name;
	for NODES(n, m->sub->top)
		if (n->op)
			buf_printf(&b, "%s%s", b.n ? ", " : "",
				   n->op->name + (strncmp(n->op->name, "aten::", 6) ? 0 : 6));
	return arena_text(m->plan->cx->arena, &b);
}

/* ---- operands -------------------------------------------------------------------------------------------------- */

static bool
is_complex(const RtTensor *t)
{
	return rt_dtypes[t->dtype].category == 'C';
}

/* Returns t as an operand over the result's dims, with stride 0 along broadcast dims. Complex tensors: the real
 * parts. */
static Operand
broadcast(MapLowering *m, const RtTensor *t, const RtTensor *result, Access access)
{
	Operand o = { .dtype = rt_real_type((RtDtype)t->dtype), .access = access, .along = -1 };

	for (int i = 0; i < result->ndim; i++) {
		const int k = i - (result->ndim - t->ndim);
		const bool stays = k < 0 || (t->dims[k] == 1 && result->dims[i] != 1) || result->dims[i] == 1;

		o.stride[m->axis[i]] = size_number(m->kernel->sizes,
						   stays ? 0 : t->strides[k] * (is_complex(t) ? 2 : 1));
	}
	return o;
}

static bool
add_operand(MapLowering *m, const Value *v, Operand o)
{
	if (m->kernel->operand.n == MOST_OPERANDS || !element_type(o.dtype))
		return false;
	kernel_operand(m->kernel, o);
	vec_push(m->plan->cx->arena, &m->out->value, v);
	return true;
}

/* Returns the group's value for the node's input i. */
static const Value *
inside(const MapLowering *m, int i)
{
	return m->sub ? graph_inputs(m->sub)[i] : m->node->in[i];
}

static bool
add_results(MapLowering *m)
{
	const RtTensor *first = plan_tensor(m->plan, m->node->out[0]);
	const int n = first->ndim;

	m->kernel->naxis = n + is_complex(first);
	m->kernel->extent[n] = size_number(m->kernel->sizes, 2);
	for (int i = 0; i < n; i++)
		m->kernel->extent[i] = size_number(m->kernel->sizes, first->dims[i]);
	for (int i = 0; i < m->node->nout; i++) {
		const RtTensor *t = plan_tensor(m->plan, m->node->out[i]);
		Operand o = broadcast(m, t, first, ACCESS_WRITE);

		o.stride[n] = size_number(m->kernel->sizes, is_complex(t));
		if (t->ndim != n || memcmp(t->dims, first->dims, (size_t)n * sizeof *t->dims) ||
		    is_complex(t) != is_complex(first) || !add_operand(m, m->node->out[i], o))
			return false;
	}
	return true;
}

/* Returns an operand for a tensor or number argument. */
static Operand
argument_operand(MapLowering *m, const Value *v, const Value *made)
{
	const RtTensor *t = plan_tensor(m->plan, v);

	if (!t)
		return (Operand){ .dtype = RT_f64, .access = ACCESS_NUMBER, .along = -1 };
	return broadcast(m, t, plan_tensor(m->plan, m->node->out[0]), v == made ? ACCESS_MADE : ACCESS_READ);
}

/* Adds an operand for a value unless there is one. Sets *r to its value. */
static bool
add_argument(MapLowering *m, const Value *v, const Value *made, Pair *r)
{
	const RtTensor *t = plan_tensor(m->plan, v);
	Operand o = argument_operand(m, v, made);
	int at = 0;

	while (at < m->out->value.n && (m->out->value.at[at] != v || at < m->node->nout))
		at++;
	*r = (Pair){ ref_operand(at), { .kind = REF_NONE } };
	if (t && is_complex(t))
		r->im = ref_operand(at + 1);
	if (at < m->out->value.n)
		return true;
	if (!add_operand(m, v, o))
		return false;
	o.offset = size_number(m->kernel->sizes, 1);
	return !pair_is_complex(*r) || add_operand(m, v, o);
}

/* Adds tensors and unknown numbers as operands, each once. */
static bool
add_arguments(MapLowering *m, const Value *made)
{
	for (int i = 0; i < m->node->nin; i++) {
		const Value *v = m->node->in[i];
		const bool number = v->type->kind == TYPE_INT || v->type->kind == TYPE_FLOAT ||
				    v->type->kind == TYPE_BOOL;
		Pair r;

		if (!plan_tensor(m->plan, v) && (!number || known_is(m->plan->known, v)))
			continue;
		if (!add_argument(m, v, made, &r))
			return false;
		set_ref(m, inside(m, i), r);
	}
	return true;
}

/* ---- kernels --------------------------------------------------------------------------------------------------- */

static MapLowering
begin_in(Plan *p, const Node *n, Lowered *out)
{
	const Attr *sub = node_attr(n, "Subgraph");
	MapLowering m = {
		.plan = p, .node = n, .sub = sub ? sub->g : NULL, .known = p->known, .out = out,
		.kernel = out->kernel, .refs = { .arena = p->cx->arena },
	};

	for (int i = 0; i < KERNEL_AXES; i++)
		m.axis[i] = i;
	if (m.sub) {
		IValue *in = new(p->cx->arena, IValue, n->nin + 1);
		bool *is = new(p->cx->arena, bool, n->nin + 1);

		for (int i = 0; i < n->nin; i++) {
			in[i] = known_at(p->known, n->in[i])->v;
			is[i] = known_is(p->known, n->in[i]);
		}
		m.known = known_subgraph(p->cx, m.sub, in, is);
	}
	return m;
}

/* Begins to lower a node to its own kernel. */
static MapLowering
begin_map(Plan *p, const Node *n, Lowered *out)
{
	MapLowering m;

	*out = (Lowered){ 0 };
	m = begin_in(p, n, out);
	out->kernel = m.kernel = kernel_new(p->sizes, p->cx->arena, "map", operator_names(&m));
	return m;
}

/* Sets *r to the value to store in output i. A complex output has both parts along the last axis. */
static bool
stored_value(MapLowering *m, int i, Ref *r)
{
	const bool complex = is_complex(plan_tensor(m->plan, m->node->out[i]));
	Operand part = { .dtype = RT_i64, .access = ACCESS_INDEX, .along = -1 };
	Pair v;

	if (!ref_of(m, m->sub ? m->sub->top->ret->in[i] : m->node->out[i], &v) || pair_is_complex(v) != complex)
		return false;
	*r = v.re;
	if (complex) {
		part.stride[m->kernel->naxis - 1] = size_number(m->kernel->sizes, 1);
		*r = kernel_let(m->kernel, lower_let(m->plan, ROW_where_self, m->kernel->operand.at[i].dtype,
						     (Ref[]){ ref_operand(kernel_operand(m->kernel, part)),
							      v.im, v.re }));
	}
	return true;
}

static bool
lower(MapLowering *m, const Value *made)
{
	if (!add_results(m) || !add_arguments(m, made) || !lower_rows(m))
		return false;
	for (int i = 0; i < m->node->nout; i++) {
		Ref r;

		if (!stored_value(m, i, &r))
			return false;
		kernel_store(m->kernel, i, r);
	}
	return true;
}

bool
lower_map(Plan *p, const Node *n, Lowered *out)
{
	MapLowering m = begin_map(p, n, out);

	if (!lower(&m, NULL))
		return false;
	kernel_check(m.kernel);
	return true;
}

bool
kernel_ends_rows(Kernel *k)
{
	kernel_simplify(k, 1);
	kernel_check(k);
	return k->naxis > 0 && k->naxis <= 2 && kernel_consecutive(k, 0, k->naxis - 1);
}

bool
lower_epilogue(Plan *p, const Node *group, const Value *made, bool in_registers, Lowered *out)
{
	MapLowering m = begin_map(p, group, out);

	if (group->nout != 1 || !lower(&m, in_registers ? made : NULL))
		return false;
	return kernel_ends_rows(m.kernel);
}

bool
lower_prologue(Plan *p, const Node *group, const int *axis, Lowered *l, Ref *made)
{
	MapLowering m = begin_in(p, group, l);
	Pair x;

	memcpy(m.axis, axis, (size_t)plan_tensor(p, group->out[0])->ndim * sizeof *axis);
	if (!add_arguments(&m, NULL) || !lower_rows(&m) ||
	    !ref_of(&m, m.sub ? m.sub->top->ret->in[0] : group->out[0], &x) || pair_is_complex(x))
		return false;
	l->kernel->comment = arena_printf(p->cx->arena, "%s, %s", operator_names(&m), l->kernel->comment);
	*made = x.re;
	return true;
}
