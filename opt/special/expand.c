/* Expands operators that have a body, and operators that the body of another operator replaces. */
#include "specialize.h"
#include "../../ir/row.h"

/* Operators on floats, and the operators whose bodies replace them. */
static const struct Expansion { OpRow row, as; } expansions[] = {
	{ ROW_baddbmm, ROW_prim_baddbmm }, { ROW_addbmm, ROW_addbmm }, { ROW_outer, ROW_prim_outer },
	{ ROW_nan_to_num, ROW_prim_numbers }, { ROW_im2col, ROW_prim_windows },
	{ ROW_upsample_nearest1d, ROW_prim_nearest1d }, { ROW_upsample_nearest1d_vec, ROW_prim_nearest1d_vec },
	{ ROW_upsample_linear1d, ROW_prim_linear1d }, { ROW_upsample_linear1d_vec, ROW_prim_linear1d_vec },
	{ ROW__upsample_nearest_exact1d, ROW_prim_nearest_exact1d },
	{ ROW__upsample_nearest_exact1d_vec, ROW_prim_nearest_exact1d_vec },
	{ ROW_upsample_nearest3d, ROW_prim_nearest3d }, { ROW_upsample_nearest3d_vec, ROW_prim_nearest3d_vec },
	{ ROW__upsample_nearest_exact3d, ROW_prim_nearest_exact3d },
	{ ROW__upsample_nearest_exact3d_vec, ROW_prim_nearest_exact3d_vec },
	{ ROW_upsample_trilinear3d, ROW_prim_trilinear3d },
	{ ROW_upsample_trilinear3d_vec, ROW_prim_trilinear3d_vec },
};

/* Operators on tensors quantized per tensor, and the operators that replace them.  Those compute on the integers or on
 * the dequantized values. */
static const struct Expansion quantized[] = {
	{ ROW_clamp, ROW_quantized_clamp }, { ROW_max_pool1d, ROW_prim_quantized_max_pool1d },
	{ ROW_max_pool3d, ROW_prim_quantized_max_pool3d }, { ROW_avg_pool1d, ROW_prim_quantized_avg_pool1d },
	{ ROW_avg_pool3d, ROW_prim_quantized_avg_pool3d }, { ROW_upsample_nearest3d, ROW_prim_quantized_nearest3d },
	{ ROW_upsample_nearest3d_vec, ROW_prim_quantized_nearest3d_vec },
};

enum { EXPANDED_RESULTS = 4 };   /* largest number of results of an operator that is expanded */

/* Are the tensor arguments floats, all of one dtype?  If `integers`, is the first one quantized per tensor instead? */
static bool
can_expand(Spec *s, const Node *m, bool integers)
{
	const int nout = node_schema(m)->nrets;
	IValue *args, out[EXPANDED_RESULTS];
	int n;

	RT_ASSERT(nout <= EXPANDED_RESULTS);
	if (!(args = known_gather(s->k, m, &n)) || args[0].tag != RT_TENSOR)
		return false;
	if (integers)
		return args[0].u.t->quant && !args[0].u.t->quant->scales &&
		       known_run(s->k, m->op, args, out, nout, true);
	for (int i = 0; i < n; i++)
		if (args[i].tag == RT_TENSOR && args[i].u.t->dtype != args[0].u.t->dtype)
			return false;
	return (args[0].u.t->dtype == RT_f32 || args[0].u.t->dtype == RT_f64) &&
	       known_run(s->k, m->op, args, out, nout, true);
}

static const struct Expansion *
expansion_in(const struct Expansion *all, size_t n, const Op *op)
{
	for (size_t i = 0; i < n; i++)
		if (op->row == (int)all[i].row)
			return &all[i];
	return NULL;
}

static const struct Expansion *
expansion_for(const Op *op, bool integers)
{
	return integers ? expansion_in(quantized, sizeof quantized / sizeof *quantized, op) :
			  expansion_in(expansions, sizeof expansions / sizeof *expansions, op);
}

bool
op_is_expanded(const Op *op)
{
	return expansion_for(op, false);
}

bool
spec_is_quantized(const Spec *s, const Value *v)
{
	const RtTensor *t = known_tensor(s->k, v);

	return t && rt_dtypes[t->dtype].category == 'Q';
}

Graph *
spec_expansion(Spec *s, const Node *m)
{
	const bool integers = m->nin && spec_is_quantized(s, m->in[0]);
	const struct Expansion *e = expansion_for(m->op, integers);
	Function *f = m->op->form == OP_BODY ? m->op->function : NULL;

	if (!e)
		return f ? f->graph : NULL;
	if (!can_expand(s, m, integers))
		return NULL;
	f = op_expansion(s->cx, op_at(s->cx, e->as));
	return f ? function_graph(s->cx, f) : NULL;
}

/* Returns the aliases of n's body.  The body alone does not show that the graph around n writes to n's arguments and
 * results. */
static AliasDb *
body_aliases(Spec *s, Scope *c, const Node *n, Graph *g)
{
	AliasDb *db = alias_db(g, s->cx->arena);

	for (int i = 0; i < graph_ninputs(g) && i < n->nin; i++)
		if (alias_has_writers(c->alias, n->in[i]))
			alias_written_outside(db, graph_inputs(g)[i]);
	for (int i = 0; i < n->nout; i++)
		if (alias_has_writers(c->alias, n->out[i]))
			alias_written_outside(db, g->top->ret->in[i]);
	return db;
}

void
spec_inline_body(Spec *s, Scope *c, Node *n, Node *m, Graph *g)
{
	Scope body = { .from = g, .value = new(s->cx->arena, Value *, g->nvalue), .alias = body_aliases(s, c, n, g) };
	const Node *outer = s->body;

	RT_ASSERT(graph_ninputs(g) == m->nin && g->top->ret->nin >= n->nout);
	s->body = outer ? outer : n;
	for (int i = 0; i < graph_ninputs(g) && i < m->nin; i++)
		spec_bind(s, &body, graph_inputs(g)[i], m->in[i]);
	spec_block(s, &body, g->top);
	s->body = outer;
	for (int i = 0; i < n->nout; i++)
		spec_bind(s, c, n->out[i], spec_value(&body, g->top->ret->in[i]));
	spec_keep_layout(s, c, n);
}

/* Replaces an operator by the nodes of its body or expansion, if its arguments' types are known. */
bool
spec_expand(Spec *s, Scope *c, Node *n)
{
	bool good;
	Graph *g;
	Node *m;

	if ((n->op->form != OP_BODY && !expansion_for(n->op, false) && !expansion_for(n->op, true)) ||
	    node_schema(n)->vararg)
		return false;
	m = spec_copy_node(s, n);
	for (int i = 0; i < n->nin; i++)
		node_add_input(m, (n->op->form == OP_BODY ? spec_body_argument : spec_argument)(s, c, n, i));
	good = spec_types_known(s, m) && (g = spec_expansion(s, m)) && graph_ninputs(g) == n->nin;
	if (good) {
		spec_inline_body(s, c, n, m, g);
		spec_guard_outputs(s, c, n, m);
	}
	node_destroy(m);
	return good;
}
