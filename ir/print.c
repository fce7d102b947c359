/*
 * Prints a graph as IR text, which il.txt describes: PyTorch's form, with additions so that everything can be read
 * back.
 *
 * Names are canonical: equal graphs print alike. A named value keeps its name up to a final `.digits`. The second and
 * later values of a name get .1, .2 ... Other values are numbered in order of definition. Subgraphs follow the graph as
 * `with prim::fork_0 = graph(...)`, numbered in order of their nodes. Each has names of its own.
 */
#include "ir.h"

#include <math.h>
#include <string.h>

/* Largest number of elements of a tensor that is printed in full. Other tensors are printed by hash. */
enum { TENSOR_ELEMENTS = 64 };

typedef struct Printer {
	Graph *graph;
	Buf   *out;
	const char **name;       /* Name of each value, by value id. */
	Map    seen;             /* Number of values that have a base name, stored as a pointer, by base name. */
	int    unnamed;
	bool   places;
	/* Nodes whose subgraphs are still to be printed. The index is the number after their kind. */
	Vec(const Node *) pending;
	int   *nsub;             /* Number of subgraphs so far. */
} Printer;

/* ---- constants ------------------------------------------------------------------------------------ */

static void
print_string(Buf *out, const char *s, int64_t n)
{
	buf_puts(out, "\"");
	for (int64_t i = 0; i < n; i++) {
		const unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c == '\n')
			buf_puts(out, "\\n");
		else if (c == '\t')
			buf_puts(out, "\\t");
		else if (c < ' ' || c == 127)
			buf_printf(out, "\\x%02x", c);
		else
			buf_add(out, &s[i], 1);
	}
	buf_puts(out, "\"");
}

/* Unlike the str() of TorchScript, keeps the sign of zero and prints NaN without a sign. */
void
double_print(Buf *out, double d)
{
	if (isnan(d))
		buf_puts(out, "nan");
	else if (d == 0 && signbit(d))
		buf_puts(out, "-0.");
	else
		rt_format_double(out, d);
}

static void
print_complex(Buf *out, double re, double im)
{
	double_print(out, re);
	buf_puts(out, "+");
	double_print(out, im);
	buf_puts(out, "j");
}

static void
print_element(Buf *out, const RtTensor *t, const char *p)
{
	double re, im;

	switch (rt_kind((RtDtype)t->dtype)) {
	case 'F':
		double_print(out, rt_load_f64(t->dtype, p));
		break;
	case 'C':
		rt_cast(RT_f64, &re, t->dtype, p, 1);
		im = t->dtype == RT_c128 ? ((const double *)(const void *)p)[1]
		   : t->dtype == RT_c64 ? ((const float *)(const void *)p)[1]
					: rt_half_to_float(((const uint16_t *)(const void *)p)[1]);
		print_complex(out, re, im);
		break;
	default:
		buf_printf(out, "%lld", (long long)rt_load_i64(t->dtype, p));
	}
}

static void
print_elements(Buf *out, const RtTensor *t, int dim, const char *p)
{
	const int64_t step = dim < t->ndim ? t->strides[dim] * rt_dtypes[t->dtype].bytes : 0;

	if (dim == t->ndim) {
		print_element(out, t, p);
		return;
	}
	buf_puts(out, "[");
	for (int64_t i = 0; i < t->dims[dim]; i++) {
		if (i)
			buf_puts(out, ", ");
		print_elements(out, t, dim + 1, p + i * step);
	}
	buf_puts(out, "]");
}

/* Whether the tensor is small, has data, and has the sizes and strides that nested brackets imply. */
static bool
prints_whole(const RtTensor *t)
{
	if (t->quant || !tensor_has_data(t) || !rt_is_contiguous(t))
		return false;
	return rt_numel(t) ? rt_numel(t) <= TENSOR_ELEMENTS : t->ndim == 1;
}

static void
print_tensor(Cx *cx, Buf *out, RtTensor *t)
{
	if (!prints_whole(t)) {
		uint64_t hash;

		widened_fill(cx, t->storage);
		hash = contents_hash(t);
		widened_trim(cx);
		tensor_note(cx, hash, t);
		buf_printf(out, "<Tensor #%016llx>", (unsigned long long)hash);
		return;
	}
	if (t->dtype != RT_f32 && t->dtype != RT_i64)
		buf_puts(out, rt_dtypes[t->dtype].brief);
	buf_puts(out, t->dtype == RT_i64 && !rt_numel(t) ? "Long{" : "{");
	if (rt_numel(t))
		print_elements(out, t, 0, rt_data(t));
	else
		buf_puts(out, "[]");
	buf_puts(out, t->flags & RT_WRAPPED ? "}w" : "}");
}

static void
print_members(Cx *cx, const char *open, const IValue *v, int64_t n, const char *close, Buf *out)
{
	buf_puts(out, open);
	for (int64_t i = 0; i < n; i++) {
		if (i)
			buf_puts(out, ", ");
		value_print(cx, v[i], out);
	}
	buf_puts(out, close);
}

static void
print_dict(Cx *cx, const RtDict *d, Buf *out)
{
	const char *comma = "";

	buf_puts(out, "{");
	for (int64_t i = 0; i < d->used; i++) {
		if (d->at[i].dead)
			continue;
		buf_puts(out, comma);
		value_print(cx, d->at[i].key, out);
		buf_puts(out, ": ");
		value_print(cx, d->at[i].value, out);
		comma = ", ";
	}
	buf_puts(out, "}");
}

static void
print_device(Buf *out, int64_t device)
{
	static const char *const kinds[] = { "cpu", "cuda" };
	const int64_t kind = device >> 8, index = (device & 255) - 1;

	if (kind < 0 || kind > 1)
		buf_printf(out, "\"device:%lld\"", (long long)device);
	else if (index < 0)
		buf_printf(out, "\"%s\"", kinds[kind]);
	else
		buf_printf(out, "\"%s:%lld\"", kinds[kind], (long long)index);
}

void
value_print(Cx *cx, IValue v, Buf *out)
{
	switch ((RtTag)v.tag) {
	case RT_NONE:      buf_puts(out, "None"); return;
	case RT_INT:       buf_printf(out, "%lld", (long long)v.u.i); return;
	case RT_BOOL:      buf_puts(out, v.u.i ? "True" : "False"); return;
	case RT_DOUBLE:    double_print(out, v.u.f); return;
	case RT_DEVICE:    print_device(out, v.u.i); return;
	case RT_TENSOR:    print_tensor(cx, out, v.u.t); return;
	case RT_STR:       print_string(out, v.u.str->s, v.u.str->n); return;
	case RT_LIST:      print_members(cx, "[", v.u.list->v, v.u.list->n, "]", out); return;
	case RT_TUPLE:
		print_members(cx, "(", v.u.tuple->v, v.u.tuple->n, v.u.tuple->n == 1 ? ",)" : ")", out);
		return;
	case RT_DICT:      print_dict(cx, v.u.dict, out); return;
	case RT_ENUM:      buf_printf(out, "%s.%s", v.u.en->type->name, v.u.en->name->s); return;
	case RT_COMPLEX:   print_complex(out, v.u.c->re, v.u.c->im); return;
	case RT_OBJECT:    buf_printf(out, "<object %s #%d>", v.u.obj->cls->name, object_note(cx, v.u.obj)); return;
	case RT_FUNCTION:  buf_printf(out, "<function %s>", v.u.fn->code->name); return;
	case RT_FUTURE:    buf_puts(out, "<future>"); return;
	case RT_GENERATOR: buf_puts(out, "<generator>"); return;
	case RT_STORAGE:   buf_puts(out, "<storage>"); return;
	}
}

/* ---- names -------------------------------------------------------------------------------------------- */

/* Returns the name up to a final .digits. Null if the rest cannot be a name. */
static const char *
base_name(Arena *a, const Value *v)
{
	int n = v->name ? v->name->n : 0, digits = n;

	while (digits > 0 && v->name->name[digits - 1] >= '0' && v->name->name[digits - 1] <= '9')
		digits--;
	if (digits > 0 && digits < n && v->name->name[digits - 1] == '.')
		n = digits - 1;
	if (!n || (v->name->name[0] >= '0' && v->name->name[0] <= '9'))
		return NULL;
	return arena_strndup(a, v->name->name, n);
}

static const char *
name_of(Printer *p, const Value *v)
{
	const char *base;
	intptr_t count;

	if (p->name[v->id])
		return p->name[v->id];
	base = base_name(p->graph->arena, v);
	if (!base)
		return p->name[v->id] = arena_printf(p->graph->arena, "%d", p->unnamed++);
	count = (intptr_t)map_get(&p->seen, base);
	map_put(&p->seen, base, (void *)(count + 1));
	return p->name[v->id] = count ? arena_printf(p->graph->arena, "%s.%d", base, (int)count) : base;
}

/* ---- nodes ------------------------------------------------------------------------------------------------ */

static void
print_attr(Printer *p, const Node *n, const Attr *a)
{
	const bool is_bool = a->kind == ATTR_VALUE && a->v.tag == RT_BOOL;

	buf_printf(p->out, "%s=", a->name->name);
	switch (a->kind) {
	case ATTR_VALUE:
		if (is_bool && n->nout == 1 && n->out[0]->type->kind == TYPE_BOOL)
			buf_puts(p->out, a->v.u.i ? "1" : "0");
		else
			value_print(p->graph->cx, a->v, p->out);
		break;
	case ATTR_TYPE:
		buf_puts(p->out, type_print(p->graph->cx, a->type));
		break;
	case ATTR_TYPES:
		buf_puts(p->out, "[");
		for (int i = 0; i < a->ntypes; i++)
			buf_printf(p->out, "%s%s", i ? ", " : "", type_print(p->graph->cx, a->types[i]));
		buf_puts(p->out, "]");
		break;
	case ATTR_FUNCTION:
		print_string(p->out, a->fn->name, (int64_t)strlen(a->fn->name));
		break;
	case ATTR_GRAPH:
		break;
	}
}

/* Prints the kind with its attributes: aten::add, prim::fork_0[...]. */
static void
print_kind(Printer *p, const Node *n)
{
	const char *sep = "[";

	buf_puts(p->out, n->kind->name);
	for (int i = 0; i < n->attrs.n; i++)
		if (n->attrs.at[i].kind == ATTR_GRAPH) {       /* A node has at most one graph, Subgraph. */
			buf_printf(p->out, "_%d", (*p->nsub)++);
			vec_push(p->graph->arena, &p->pending, n);
		}
	for (int i = 0; i < n->attrs.n; i++) {
		const Attr *a = &n->attrs.at[i];

		/* A function without a name is code of the generic program, which has no text form. */
		if (a->kind == ATTR_GRAPH || (a->kind == ATTR_FUNCTION && !a->fn->name))
			continue;
		buf_puts(p->out, sep);
		print_attr(p, n, a);
		sep = ", ";
	}
	if (*sep == ',')
		buf_puts(p->out, "]");
}

/* Returns the type's text, with as many facts of a tensor as cx->type_detail selects. */
static const char *
type_text(Cx *cx, const Type *t)
{
	TensorInfo info;

	if (!cx->type_detail || t->kind != TYPE_TENSOR || !t->tensor)
		return type_print(cx, t);
	info = *t->tensor;
	info.grad = info.device = -1;
	if (cx->type_detail < 3)
		info.strides = NULL;
	return type_print(cx, cx->type_detail < 2 ? &rt_type_tensor : type_tensor(cx, &info));
}

static void
print_values(Printer *p, Value *const *v, int n, bool typed, const char *sep)
{
	for (int i = 0; i < n; i++) {
		buf_printf(p->out, "%s%%%s", i ? sep : "", name_of(p, v[i]));
		if (typed)
			buf_printf(p->out, " : %s", type_text(p->graph->cx, v[i]->type));
	}
}

static void
print_place(Printer *p, const Node *n)
{
	if (p->places && n->at.src)
		buf_printf(p->out, " # %s:%d:%d", n->at.src->name, range_line(n->at), range_column(n->at));
}

static void print_nodes(Printer *p, const Block *b, int indent);

static void
print_block(Printer *p, const Block *b, int index, int indent)
{
	buf_printf(p->out, "%*sblock%d(", indent, "", index);
	print_values(p, b->param->out, b->param->nout, true, ", ");
	buf_puts(p->out, "):\n");
	print_nodes(p, b, indent + 2);
	buf_printf(p->out, "%*s-> (", indent + 2, "");
	print_values(p, b->ret->in, b->ret->nin, false, ", ");
	buf_puts(p->out, ")\n");
}

static void
print_node(Printer *p, const Node *n, int indent)
{
	buf_printf(p->out, "%*s", indent, "");
	print_values(p, n->out, n->nout, true, ", ");
	if (n->nout)
		buf_puts(p->out, " = ");
	print_kind(p, n);
	buf_puts(p->out, "(");
	print_values(p, n->in, n->nin, false, ", ");
	buf_puts(p->out, ")");
	print_place(p, n);
	buf_puts(p->out, "\n");
	for (int i = 0; i < n->nsub; i++)
		print_block(p, n->sub[i], i, indent + 2);
}

static void
print_nodes(Printer *p, const Block *b, int indent)
{
	for NODES(n, b)
		print_node(p, n, indent);
}

/* ---- graphs --------------------------------------------------------------------------------------------------- */

static Printer
printer(Graph *g, Buf *out, bool places, int *nsub)
{
	return (Printer){ .graph = g, .out = out, .name = new(g->arena, const char *, g->nvalue), .places = places,
			  .seen = { .arena = g->arena }, .nsub = nsub };
}

static void
print_graph(Graph *g, Buf *out, bool places, int *nsub)
{
	Printer p = printer(g, out, places, nsub);
	int first;

	buf_puts(out, "graph(");
	print_values(&p, graph_inputs(g), graph_ninputs(g), true, ",\n      ");
	buf_puts(out, "):\n");
	first = *nsub;
	print_nodes(&p, g->top, 2);
	buf_puts(out, "  return (");
	print_values(&p, g->top->ret->in, g->top->ret->nin, false, ", ");
	buf_puts(out, ")\n");
	for (int i = 0; i < p.pending.n; i++) {
		const Node *n = p.pending.at[i];

		buf_printf(out, "with %s_%d = ", n->kind->name, first + i);
		print_graph(node_attr(n, "Subgraph")->g, out, places, nsub);
	}
}

void
graph_print(Graph *g, Buf *out, bool places)
{
	int nsub = 0;

	print_graph(g, out, places, &nsub);
}

/* Returns a printer that has named all values as graph_print names them. To do so it prints the graph into a buffer
 * that is discarded. */
static Printer
named_printer(Graph *g, Buf *out, int *nsub)
{
	Buf nowhere = {0};
	Printer p = printer(g, &nowhere, false, nsub);

	print_values(&p, graph_inputs(g), graph_ninputs(g), true, ", ");
	print_nodes(&p, g->top, 0);
	buf_free(&nowhere);
	p.out = out;
	return p;
}

const char *const *
graph_names(Graph *g)
{
	int nsub = 0;
	Buf nowhere = {0};
	Printer p = named_printer(g, &nowhere, &nsub);

	return p.name;
}

void
node_print(Node *n, Buf *out)
{
	int nsub = 0;
	Printer p = named_printer(n->graph, out, &nsub);

	print_node(&p, n, 0);
}

uint64_t
graph_hash(Graph *g)
{
	Buf text = {0};
	uint64_t h;

	graph_print(g, &text, false);
	h = hash_bytes(text.at, text.n);
	buf_free(&text);
	return h;
}
