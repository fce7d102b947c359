/*
 * Reads IR text as graphs: the output of ir/print.c, and PyTorch's own prints as far as they are complete.
 *
 *  file  := { comment } graph { "with" name "=" graph }
 *  graph := "graph(" params "):" nodes "return (" values ")"
 *  node  := [ outs "=" ] kind [ "[" attrs "]" ] "(" values ")" [ place ] { block }
 *  block := "block" N "(" params "):" nodes "-> (" values ")"
 *
 * The language is described in ir/il.txt. Overloads are not printed: a node gets the first one that accepts exactly its
 * inputs. Places become sources of one blank line, so that they are printed unchanged. Subgraphs follow the graph, and
 * are matched with their nodes by name.
 *
 * Invariant: a value is defined once, before its uses. The graph passes graph_lint.
 */
#include "../frontend.h"

#include <stdlib.h>
#include <string.h>

typedef struct Waiting { const char *name; Node *node; } Waiting; /* Node that waits for the subgraph of that name. */

typedef struct Ir {
	Reader reader;
	Graph *graph;
	Map    values;             /* Value of the graph that is being read, by name. */
	Map    subgraphs;          /* Names in lines `with name = graph(`. */
	Vec(Waiting) waiting;
} Ir;

static IValue read_value(Ir *, const Type *hint);
static void read_nodes(Ir *, Block *, const char *end);

static Range
range_at(Ir *ir, const char *beg)
{
	return (Range){ ir->reader.src, (uint32_t)(beg - ir->reader.src->text),
			(uint32_t)(ir->reader.p - ir->reader.src->text) };
}

/* Skips comments on lines of their own. */
static void
skip_comments(Ir *ir)
{
	for (read_blanks(&ir->reader); *ir->reader.p == '#'; read_blanks(&ir->reader))
		while (*ir->reader.p && *ir->reader.p != '\n')
			ir->reader.p++;
}

static const Type *
read_type(Ir *ir)
{
	uint32_t at;
	const Type *t;

	read_blanks(&ir->reader);
	at = (uint32_t)(ir->reader.p - ir->reader.src->text);
	t = schema_type_parse(ir->reader.cx, ir->reader.unit, ir->reader.src, &at);
	ir->reader.p = ir->reader.src->text + at;
	return t;
}

/* ---- values ------------------------------------------------------------------------------------------ */

/* Reads "%" name. */
static const char *
read_name(Ir *ir)
{
	read_expect(&ir->reader, "%");
	return read_word(&ir->reader, ".")->name;
}

static Value *
read_use(Ir *ir)
{
	const char *beg = ir->reader.p, *name = read_name(ir);
	Value *v = map_get(&ir->values, name);

	if (!v)
		fail(ir->reader.cx, range_at(ir, beg), "%%%s is not defined", name);
	return v;
}

static void
define(Ir *ir, const char *beg, const char *name, Value *v)
{
	if (map_get(&ir->values, name))
		fail(ir->reader.cx, range_at(ir, beg), "%%%s is defined twice", name);
	map_put(&ir->values, name, v);
	if (name[0] < '0' || name[0] > '9')
		v->name = sym(ir->reader.cx, name);
}

/* Reads "(" [ name ":" type { "," name ":" type } ] ")" ":". */
static void
read_params(Ir *ir, Block *b)
{
	read_expect(&ir->reader, "(");
	while (!read_accept(&ir->reader, ")")) {
		const char *beg = ir->reader.p, *name = read_name(ir);
		const Type *t = read_accept(&ir->reader, ":") ? read_type(ir) : &rt_type_tensor;

		define(ir, beg, name, block_add_input(b, t, 0));
		if (!read_accept(&ir->reader, ",")) {
			read_expect(&ir->reader, ")");
			break;
		}
	}
	read_expect(&ir->reader, ":");
}

/* Reads "(" [ name { "," name } ] ")" as the inputs of n. */
static void
read_inputs(Ir *ir, Node *n)
{
	read_expect(&ir->reader, "(");
	while (!read_accept(&ir->reader, ")")) {
		node_add_input(n, read_use(ir));
		if (!read_accept(&ir->reader, ",")) {
			read_expect(&ir->reader, ")");
			break;
		}
	}
}

/* ---- constants ------------------------------------------------------------------------------------------ */

typedef Vec(IValue) IValues;

static void
read_items(Ir *ir, const Type *const *hint, int nhint, const char *close, IValues *v)
{
	while (!read_accept(&ir->reader, close)) {
		IValue one = read_value(ir, nhint == 1 ? hint[0] : v->n < nhint ? hint[v->n] : 0);

		vec_push(ir->reader.cx->arena, v, one);
		if (!read_accept(&ir->reader, ",")) {
			read_expect(&ir->reader, close);
			break;
		}
	}
}

static IValue
read_list(Ir *ir, const Type *hint)
{
	bool known = hint && hint->kind == TYPE_LIST;
	IValues v = { 0 };
	const Type *elem;

	read_items(ir, known ? hint->of : 0, known, "]", &v);
	elem = known ? hint->of[0] : v.n ? type_unshaped(ir->reader.cx, type_of_value(ir->reader.cx, v.at[0])) :
	       &rt_type_tensor;
	return value_list(ir->reader.cx, elem, v.at, v.n);
}

static IValue
read_tuple(Ir *ir, const Type *hint)
{
	bool known = hint && hint->kind == TYPE_TUPLE;
	const Type *const *of = known ? hint->of : 0;
	IValues v = { 0 };

	if (known && hint->n == 1) {                     /* A single hint applies to all elements. */
		const Type **two = new(ir->reader.cx->arena, const Type *, 2);

		two[0] = hint->of[0];
		of = two;
	}
	read_items(ir, of, known ? hint->n == 1 ? 2 : hint->n : 0, ")", &v);
	return value_tuple(ir->reader.cx, known && hint->name ? hint : 0, v.at, v.n);
}

static IValue
read_dict(Ir *ir, const Type *t)
{
	RtDict *d = rt_dict_new(cx_rt(ir->reader.cx), t->of[0], t->of[1]);

	read_expect(&ir->reader, "{");
	while (d && !read_accept(&ir->reader, "}")) {
		IValue key = read_value(ir, t->of[0]), value;

		read_expect(&ir->reader, ":");
		value = read_value(ir, t->of[1]);
		if (rt_dict_set(cx_rt(ir->reader.cx), d, key, value) != RT_OK)
			read_expected(&ir->reader, "a key that can be hashed");
		if (!read_accept(&ir->reader, ",")) {
			read_expect(&ir->reader, "}");
			break;
		}
	}
	if (!d)
		fail(ir->reader.cx, (Range){ 0 }, "out of memory");
	return rt_ref(RT_DICT, d);
}

typedef struct Elements {          /* Elements of a tensor, in nested brackets. */
	int     rank;              /* Depth of the brackets. -1 until the first element is read. */
	int64_t dims[RT_MAX_RANK];
	IValues values;
} Elements;

/* Reads elements := value | "[" [ elements { "," elements } ] "]". */
static void
read_elements(Ir *ir, Elements *e, int depth)
{
	int64_t n = 0;

	if (!read_accept(&ir->reader, "[")) {
		IValue one = read_value(ir, 0);

		if (e->rank >= 0 && e->rank != depth)
			read_expected(&ir->reader, "brackets of equal depth");
		e->rank = depth;
		vec_push(ir->reader.cx->arena, &e->values, one);
		return;
	}
	if (depth == RT_MAX_RANK)
		read_expected(&ir->reader, "at most 64 dims");
	while (!read_accept(&ir->reader, "]")) {
		read_elements(ir, e, depth + 1);
		n++;
		if (!read_accept(&ir->reader, ",")) {
			read_expect(&ir->reader, "]");
			break;
		}
	}
	if (!n && e->rank < 0)
		e->rank = depth + 1;
	if (e->dims[depth] >= 0 && e->dims[depth] != n)
		read_expected(&ir->reader, "rows of equal length");
	e->dims[depth] = n;
}

static void
store_element(RtTensor *t, int64_t i, IValue v)
{
	char *to = rt_data(t) + i * rt_dtypes[t->dtype].bytes;
	double pair[2] = { 0, 0 };

	if (v.tag == RT_COMPLEX) {
		pair[0] = v.u.c->re;
		pair[1] = v.u.c->im;
		rt_cast((RtDtype)t->dtype, to, RT_c128, pair, 1);
	} else if (v.tag == RT_DOUBLE) {
		rt_cast((RtDtype)t->dtype, to, RT_f64, &v.u.f, 1);
	} else {
		rt_cast((RtDtype)t->dtype, to, RT_i64, &v.u.i, 1);
	}
}

/* Reads the dtype before a "{". -1 if there is none, as before a long or float tensor. */
static int
read_dtype(Ir *ir)
{
	const char *beg = ir->reader.p;

	for (int d = 0; d < RT_NDTYPE; d++)
		if (read_accept_word(&ir->reader, rt_dtypes[d].brief)) {
			if (*ir->reader.p == '{')
				return d;
			ir->reader.p = beg;
		}
	return -1;
}

/* Reads [ dtype ] "{" elements "}" [ "w" ], which are numbers in nested brackets. */
static IValue
read_tensor(Ir *ir, int dtype)
{
	Elements e = { .rank = -1 };
	RtTensor *t;

	memset(e.dims, -1, sizeof e.dims);
	read_expect(&ir->reader, "{");
	read_elements(ir, &e, 0);
	read_expect(&ir->reader, "}");
	if (dtype < 0)
		dtype = e.values.n && e.values.at[0].tag == RT_INT ? RT_i64 : RT_f32;
	for (int i = 0; i < e.rank; i++)
		if (e.dims[i] < 0)
			e.dims[i] = 0;
	t = rt_tensor_new(cx_rt(ir->reader.cx), (RtDtype)dtype, e.rank < 0 ? 0 : e.rank, e.dims);
	if (!t || rt_numel(t) != e.values.n)
		read_expected(&ir->reader, "rows of equal length before this");
	for (int i = 0; i < e.values.n; i++)
		store_element(t, i, e.values.at[i]);
	if (*ir->reader.p == 'w') {
		ir->reader.p++;
		t->flags |= RT_WRAPPED;
	}
	return rt_of(t);
}

/* Reads the rest of an object: class "#" number ">". */
static IValue
read_object(Ir *ir, const char *beg)
{
	RtObject *o;

	ir->reader.p += strcspn(ir->reader.p, "#>\n");
	read_expect(&ir->reader, "#");
	o = object_noted(ir->reader.cx, read_number(&ir->reader, false).u.i);
	read_expect(&ir->reader, ">");
	if (!o)
		fail(ir->reader.cx, range_at(ir, beg), "only the compile that printed this object can read it");
	return rt_retain(rt_ref(RT_OBJECT, o));
}

/* Reads "<Tensor #" hash ">" or "<object " class "#" number ">". */
static IValue
read_hashed(Ir *ir)
{
	const char *beg = ir->reader.p;
	const char *hash;
	RtTensor *t;

	read_expect(&ir->reader, "<");
	if (read_accept_word(&ir->reader, "object"))
		return read_object(ir, beg);
	if (!read_accept_word(&ir->reader, "Tensor"))
		fail(ir->reader.cx, range_at(ir, beg), "this value is only printed and cannot be read back");
	read_expect(&ir->reader, "#");
	hash = read_word(&ir->reader, "")->name;
	read_expect(&ir->reader, ">");
	t = tensor_noted(ir->reader.cx, hash);
	if (!t)
		fail(ir->reader.cx, range_at(ir, beg), "only the compile that printed this tensor can read it");
	return rt_of(rt_tensor_retain(t));
}

/* Reads number [ "+" number "j" ]. */
static IValue
read_numeric(Ir *ir, const Type *hint)
{
	IValue re = read_number(&ir->reader, hint && hint->kind == TYPE_FLOAT), im;

	if (hint && hint->kind == TYPE_BOOL)
		return rt_bool(re.u.i != 0);
	if (*ir->reader.p != '+')
		return re;
	ir->reader.p++;
	im = read_number(&ir->reader, true);
	read_expect(&ir->reader, "j");
	return value_complex(ir->reader.cx, re.tag == RT_DOUBLE ? re.u.f : (double)re.u.i, im.u.f);
}

/* Reads a member of an enum: __torch__.Color.RED. */
static IValue
read_enum(Ir *ir)
{
	const char *beg = (read_blanks(&ir->reader), ir->reader.p), *name = read_word(&ir->reader, ".")->name,
		   *dot = strrchr(name, '.');
	const char *owner = dot ? arena_strndup(ir->reader.cx->arena, name, dot - name) : name;
	const Type *t = ir->reader.unit && dot ? unit_type(ir->reader.cx, ir->reader.unit, owner) : 0;
	IValue v;

	if (t && t->kind == TYPE_ENUM && value_enum(ir->reader.cx, t, dot + 1, &v))
		return v;
	fail(ir->reader.cx, range_at(ir, beg), "expected a value but found '%s' here", name);
}

static IValue
read_text(Ir *ir, const Type *hint)
{
	IValue v = read_string(&ir->reader);
	int64_t device;

	if (!hint || hint->kind != TYPE_DEVICE)
		return v;
	if (!device_of_text(v.u.str->s, &device))
		read_expected(&ir->reader, "a device before this");
	return (IValue){ .tag = RT_DEVICE, .u.i = device };
}

static IValue
read_value_of(Ir *ir, const Type *hint)
{
	char c;
	int dtype;

	read_blanks(&ir->reader);
	c = *ir->reader.p;
	if (c == '"')
		return read_text(ir, hint);
	if (read_accept(&ir->reader, "["))
		return read_list(ir, hint);
	if (read_accept(&ir->reader, "("))
		return read_tuple(ir, hint);
	if (c == '{' && hint && hint->kind == TYPE_DICT)
		return read_dict(ir, hint);
	if (c == '{')
		return read_tensor(ir, -1);
	if (c == '<')
		return read_hashed(ir);
	if (read_accept_word(&ir->reader, "None"))
		return rt_none();
	if (read_accept_word(&ir->reader, "True"))
		return rt_bool(true);
	if (read_accept_word(&ir->reader, "False"))
		return rt_bool(false);
	if ((c >= '0' && c <= '9') || c == '-' || c == '.' || strncmp(ir->reader.p, "inf", 3) == 0 ||
	    strncmp(ir->reader.p, "nan", 3) == 0)
		return read_numeric(ir, hint);
	if ((dtype = read_dtype(ir)) >= 0)
		return read_tensor(ir, dtype);
	return read_enum(ir);
}

static IValue
read_value(Ir *ir, const Type *hint)
{
	IValue v;

	cx_enter(ir->reader.cx, range_at(ir, ir->reader.p));
	v = read_value_of(ir, hint && hint->kind == TYPE_OPTIONAL ? hint->of[0] : hint);
	cx_leave(ir->reader.cx);
	return v;
}

/* ---- attributes ------------------------------------------------------------------------------------------- */

static bool
ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

static void
read_types(Ir *ir, Attr *a)
{
	Vec(const Type *) v = { 0 };

	read_expect(&ir->reader, "[");
	while (!read_accept(&ir->reader, "]")) {
		const Type *t = read_type(ir);

		vec_push(ir->reader.cx->arena, &v, t);
		if (!read_accept(&ir->reader, ",")) {
			read_expect(&ir->reader, "]");
			break;
		}
	}
	a->types = v.at;
	a->ntypes = v.n;
}

/* Reads the name of a free function, or of a method of a class. */
static Function *
read_function(Ir *ir)
{
	const char *beg = ir->reader.p;
	IValue v = read_string(&ir->reader);
	const char *name = v.u.str->s, *dot = strrchr(name, '.');
	Function *f = ir->reader.unit ? unit_function(ir->reader.cx, ir->reader.unit, name) : 0;
	const Type *t = f || !dot ? 0 : type_named(ir->reader.cx,
						   arena_strndup(ir->reader.cx->arena, name, dot - name));

	if (t)
		f = class_method(class_info(t), dot + 1);
	if (!f)
		fail(ir->reader.cx, range_at(ir, beg), "there is no function '%s'", name);
	return f;
}

/* attr := name "=" ( value | type | "[" types "]" | function ). The name determines which. */
static void
read_attr(Ir *ir, Node *n, const Type *out)
{
	const char *name = read_word(&ir->reader, "")->name;

	read_expect(&ir->reader, "=");
	if (ends_with(name, "types"))
		read_types(ir, node_attr_new(n, name, ATTR_TYPES));
	else if (ends_with(name, "type"))
		node_attr_new(n, name, ATTR_TYPE)->type = read_type(ir);
	else if (strcmp(name, "function") == 0)
		node_attr_new(n, name, ATTR_FUNCTION)->fn = read_function(ir);
	else
		node_set_value(n, name, read_value(ir, strcmp(name, "value") == 0 ? out : 0));
}

/* ---- nodes -------------------------------------------------------------------------------------------------- */

typedef struct Out { const char *name, *beg; const Type *type; } Out;
typedef Vec(Out) Outs;

/* Reads outs := name ":" type { "," name ":" type } "=". */
static void
read_outs(Ir *ir, Outs *v)
{
	do {
		Out o = { .beg = (read_blanks(&ir->reader), ir->reader.p), .type = &rt_type_tensor };

		o.name = read_name(ir);
		if (read_accept(&ir->reader, ":"))
			o.type = read_type(ir);
		vec_push(ir->reader.cx->arena, v, o);
	} while (read_accept(&ir->reader, ","));
	read_expect(&ir->reader, "=");
}

/* Reads a place: " # " file ":" line ":" column, to the end of the line. */
static Range
read_place(Ir *ir)
{
	const char *beg, *end, *colon[2] = { 0 };
	Source *src;
	char *text;
	long line, column;

	while (*ir->reader.p == ' ' || *ir->reader.p == ',')
		ir->reader.p++;
	for (beg = ir->reader.p; *ir->reader.p && *ir->reader.p != '\n'; ir->reader.p++)
		;
	end = ir->reader.p;
	if (*beg != '#')
		return (Range){ 0 };
	for (const char *c = beg; c < end; c++) {
		if (*c == ':') {
			colon[0] = colon[1];
			colon[1] = c;
		}
	}
	line = colon[0] ? strtol(colon[0] + 1, 0, 10) : 0;
	column = colon[0] ? strtol(colon[1] + 1, 0, 10) : 0;
	if (line < 1 || column < 1 || line > INT32_MAX || column > 10000)
		return (Range){ 0 };
	for (beg++; *beg == ' '; beg++)
		;
	text = new(ir->reader.cx->arena, char, column + 1);
	memset(text, ' ', (size_t)column);
	src = new(ir->reader.cx->arena, Source, 1);
	*src = (Source){ .text = text, .n = column, .line = (int)line,
	                 .name = arena_strndup(ir->reader.cx->arena, beg, colon[0] - beg) };
	return (Range){ src, (uint32_t)column - 1, (uint32_t)column };
}

/* Reads blocks: { "block" N params nodes "-> (" values ")" }. */
static void
read_blocks(Ir *ir, Node *n)
{
	Graph *g = ir->graph;

	for (;;) {
		int len = (skip_comments(ir), read_word_length(&ir->reader, ""));
		Block *b, *at_block = g->at_block;
		Node *at_node = g->at_node;

		if (len < 6 || memcmp(ir->reader.p, "block", 5) != 0 || ir->reader.p[5] < '0' || ir->reader.p[5] > '9')
			return;
		ir->reader.p += len;
		b = node_add_block(n);
		read_params(ir, b);
		graph_set_insert_end(g, b);
		read_nodes(ir, b, "->");
		g->at_block = at_block;
		g->at_node = at_node;
	}
}

/* Reads a kind: ns::name, or ns::name_3 for a node with a subgraph, whose number does not belong to the kind. */
static Symbol
read_kind(Ir *ir, const char **subgraph)
{
	Symbol s = read_word(&ir->reader, ":.");
	int n = s->n;

	*subgraph = 0;
	if (!strstr(s->name, "::"))
		read_expected(&ir->reader, "the name of an operator before this");
	if (!map_get(&ir->subgraphs, s->name))
		return s;
	*subgraph = s->name;
	while (n && s->name[n - 1] >= '0' && s->name[n - 1] <= '9')
		n--;
	return sym_n(ir->reader.cx, s->name, n && s->name[n - 1] == '_' ? n - 1 : s->n);
}

static void
read_node(Ir *ir)
{
	Outs outs = { 0 };
	const char *subgraph;
	Symbol kind;
	Node *n;

	if (*ir->reader.p == '%')
		read_outs(ir, &outs);
	else
		read_accept(&ir->reader, "=");
	kind = read_kind(ir, &subgraph);
	n = node_new(ir->graph, kind, (Range){ 0 }, outs.n);
	if (*ir->reader.p == '[') {
		ir->reader.p++;
		while (!read_accept(&ir->reader, "]")) {
			read_attr(ir, n, outs.n ? outs.at[0].type : 0);
			if (!read_accept(&ir->reader, ",")) {
				read_expect(&ir->reader, "]");
				break;
			}
		}
	}
	read_inputs(ir, n);
	n->at = read_place(ir);
	for (int i = 0; i < outs.n; i++) {
		n->out[i]->type = outs.at[i].type;
		define(ir, outs.at[i].beg, outs.at[i].name, n->out[i]);
	}
	graph_insert(ir->graph, n);
	if (subgraph) {
		Waiting w = { subgraph, n };

		vec_push(ir->reader.cx->arena, &ir->waiting, w);
	}
	read_blocks(ir, n);
	n->op = op_of_inputs(ir->reader.cx, kind->name, n->in, n->nin, n->nout);
}

/* Reads nodes up to `end`, then "(" values ")". */
static void
read_nodes(Ir *ir, Block *b, const char *end)
{
	cx_enter(ir->reader.cx, range_at(ir, ir->reader.p));
	for (skip_comments(ir); !read_accept(&ir->reader, end); skip_comments(ir)) {
		if (!*ir->reader.p)
			read_expected(&ir->reader, end);
		read_node(ir);
	}
	read_inputs(ir, b->ret);
	cx_leave(ir->reader.cx);
}

/* ---- graphs ---------------------------------------------------------------------------------------------------- */

static Graph *
read_graph(Ir *ir)
{
	Graph *g = graph_new(ir->reader.cx, "graph");

	skip_comments(ir);
	if (!read_accept_word(&ir->reader, "graph"))
		read_expected(&ir->reader, "graph");
	ir->graph = g;
	ir->values = (Map){ .arena = ir->reader.cx->arena };
	read_params(ir, g->top);
	graph_set_insert_end(g, g->top);
	read_nodes(ir, g->top, "return");
	skip_comments(ir);
	return g;
}

/* Finds the names of subgraphs in lines `with name = graph(`. */
static void
find_subgraphs(Ir *ir)
{
	for (const char *p = ir->reader.src->text; (p = strstr(p, "\nwith ")); p += 6) {
		Reader r = ir->reader;
		Symbol s;

		r.p = p + 6;
		if (!read_word_length(&r, ":"))
			continue;
		s = read_word(&r, ":");
		map_put(&ir->subgraphs, s->name, (void *)(uintptr_t)1);
	}
}

static Node *
waiting_for(Ir *ir, const char *name)
{
	for (int i = 0; i < ir->waiting.n; i++)
		if (ir->waiting.at[i].node && strcmp(ir->waiting.at[i].name, name) == 0) {
			Node *n = ir->waiting.at[i].node;

			ir->waiting.at[i].node = 0;
			return n;
		}
	return 0;
}

Graph *
ir_parse(Cx *cx, const Source *src, Unit *unit)
{
	Ir ir = { .reader = { .cx = cx, .src = src, .p = src->text, .unit = unit, .ir = true } };
	Graph *g;

	ir.subgraphs.arena = cx->arena;
	find_subgraphs(&ir);
	g = read_graph(&ir);
	while (read_accept_word(&ir.reader, "with")) {
		const char *beg = ir.reader.p, *name = read_word(&ir.reader, ":")->name;
		Node *n = waiting_for(&ir, name);

		if (!n)
			fail(cx, range_at(&ir, beg), "no node has the subgraph %s", name);
		read_expect(&ir.reader, "=");
		node_attr_new(n, "Subgraph", ATTR_GRAPH)->g = read_graph(&ir);
	}
	for (int i = 0; i < ir.waiting.n; i++)
		if (ir.waiting.at[i].node)
			read_expected(&ir.reader, arena_printf(cx->arena, "the graph of %s", ir.waiting.at[i].name));
	if (*ir.reader.p)
		read_expected(&ir.reader, "the end");
	return g;
}
