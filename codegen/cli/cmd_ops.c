/* codegen/cli/cmd_ops.c - kiln ops: lists Kiln's operators, or those that a model needs, with what each becomes
 *
 * With a model, compiles every method that its class exports and all functions that these call. A missing operator is
 * recorded and becomes a node without an overload, so that compilation continues and finds all missing operators at
 * once. Later errors in that function may be its consequence. Lowering to Code records operators without a kernel. */
#include "cli.h"

#include <string.h>

typedef Vec(Range) Ranges;
typedef struct Need {            /* An operator of a model. */
	const Op   *op;          /* null if Kiln lacks the operator */
	const char *name, *state;
	Ranges      at;
} Need;

typedef struct Needs {
	Cli    *cli;
	Map     index;           /* name -> Need */
	PtrMap  seen;            /* functions visited so far */
	Vec(Need *) all;
	int     nlacking, nraising; /* number of operators that Kiln lacks, and of operators that only raise an error */
	const char *broken;    /* the first error that does not follow from a missing operator; null if there is none */
} Needs;

static const char *
full_name(Cx *cx, const Op *op)
{
	return op->overload[0] ? arena_printf(cx->arena, "%s.%s", op->name, op->overload) : op->name;
}

static const char *
form_text(const Op *op)
{
	static const char *const forms[] = { [OP_MAP] = "pointwise", [OP_KERNEL] = "kernel",
					     [OP_BODY] = "decomposition", [OP_ALSO] = "form of another",
					     [OP_USER] = "yours" };

	return op_is_sparse(op) ? "raises: sparse" : forms[op->form];
}

/* Returns the source of an operator's gradient. A decomposition has the gradients of its parts, a variant (in place,
 * out=) that of its base operator. Comparisons and roundings have gradient zero. */
static const char *
gradient_of(const Op *op)
{
	if (op->form != OP_ALSO && op->gradient && op_is_flat(op))
		return "zero";
	return op->gradient && op->gradient[0] ? "formula" :
	       op->form == OP_BODY && !op_is_sparse(op) ? "its parts" : "";
}

/* ---- all operators ----------------------------------------------------------------------------------------------- */

static void
put_field(Buf *b, const char *name, const char *text)
{
	buf_printf(b, "%s\"%s\":", b->at[b->n - 1] == '{' ? "" : ",", name);
	out_json(b, text);
}

static void
put_json_op(Buf *b, Cx *cx, Op *op)
{
	const uint32_t dtypes = op_dtypes(cx, op);
	const char *comma = "";

	buf_puts(b, "{");
	put_field(b, "name", op->name);
	put_field(b, "overload", op->overload);
	put_field(b, "form", form_text(op));
	if (op->base)
		put_field(b, "base", op->base);
	put_field(b, "specialized", op_specialized(cx, op));
	put_field(b, "gradient", gradient_of(op));
	buf_puts(b, ",\"dtypes\":[");
	for (int d = 0; d < RT_NDTYPE; d++)
		if (dtypes >> d & 1) {
			buf_printf(b, "%s\"%s\"", comma, rt_dtypes[d].torch);
			comma = ",";
		}
	buf_puts(b, "]");
	put_field(b, "schema", op_schema_text(cx, op));
	buf_puts(b, "}");
}

/* Returns dtypes as letters, which are the categories of rt/dtype.def: B bool, I integers, F floating, C complex, U
 * unsigned integers of 16 bits and more, E floats of 8 bits. A lower-case letter means that only some dtypes of the
 * category are supported. */
static const char *
dtype_letters(Cx *cx, uint32_t dtypes)
{
	static const char kinds[] = "BIFCUE";
	char *letters = arena_strdup(cx->arena, "......");

	for (int k = 0; kinds[k]; k++) {
		int all = 0, has = 0;

		for (int d = 0; d < RT_NDTYPE; d++)
			if (rt_dtypes[d].category == kinds[k]) {
				all++;
				has += dtypes >> d & 1;
			}
		if (has)
			letters[k] = has == all ? kinds[k] : (char)(kinds[k] + 'a' - 'A');
	}
	return letters;
}

static void
list_all(Cli *cli)
{
	const int n = op_count(cli->cx);
	Buf b = { 0 };

	buf_puts(&b, cli->as_json ? "[\n" : "");
	for (int i = 0; i < n; i++) {
		Op *op = op_at(cli->cx, i);

		if (cli->as_json) {
			put_json_op(&b, cli->cx, op);
			buf_puts(&b, i + 1 < n ? ",\n" : "\n");
		} else {
			buf_printf(&b, "%-44s %-15s %-6s %-12s %s\n", full_name(cli->cx, op), form_text(op),
				   dtype_letters(cli->cx, op_dtypes(cli->cx, op)),
				   op->form == OP_ALSO ? "" : op_specialized(cli->cx, op),
				   *gradient_of(op) ? "gradient" : "");
		}
	}
	buf_puts(&b, cli->as_json ? "]\n" : "");
	fputs(b.at ? b.at : "", stdout);
	buf_free(&b);
}

/* ---- operators of a model ---------------------------------------------------------------------------------------- */

static void
note_need(Needs *s, const Op *op, const char *name, const char *state, Range at)
{
	Cx *cx = s->cli->cx;
	Need *n = map_get(&s->index, name);

	if (!n) {
		n = new(cx->arena, Need, 1);
		*n = (Need){ .op = op, .name = name, .state = state };
		map_put(&s->index, name, n);
		vec_push(cx->arena, &s->all, n);
		s->nlacking += !op;
		s->nraising += op && op_is_sparse(op);
	}
	for (int i = 0; i < n->at.n; i++)
		if (n->at.at[i].src == at.src && n->at.at[i].beg == at.beg)
			return;
	vec_push(cx->arena, &n->at, at);
}

static void need_function(Needs *, Function *);

static void
need_block(Needs *s, const Block *b)
{
	for NODES(n, b) {
		const Attr *sub = node_attr(n, "Subgraph");
		Function *fn = node_function(n);

		if (n->op)
			note_need(s, n->op, full_name(s->cli->cx, n->op), form_text(n->op), n->at);
		if (fn)
			need_function(s, fn);
		if (sub && sub->kind == ATTR_GRAPH)
			need_block(s, sub->g->top);
		for (int i = 0; i < n->nsub; i++)
			need_block(s, n->sub[i]);
	}
}

static void
compile(Cx *cx, void *fn)
{
	function_graph(cx, fn);
}

static void
need_function(Needs *s, Function *fn)
{
	Cx *cx = s->cli->cx;
	int64_t *been = ptrmap_at(cx->arena, &s->seen, fn);
	const int before = cx->lacking->n;

	if ((*been)++)
		return;
	if (cx_try(cx, compile, fn)) {
		need_block(s, fn->graph->top);
	} else if (cx->lacking->n == before) {
		s->broken = s->broken ? s->broken : arena_strdup(cx->arena, cx->err.text);
	}
}

/* Lowers a function to Code, and records nodes without an overload and operators without a kernel. */
static void
lower(Cx *cx, void *arg)
{
	Needs *s = arg;
	LackingVec lacking = { 0 };

	for (int i = 0; i < s->seen.cap; i++) {
		Function *fn = (Function *)(uintptr_t)s->seen.key[i];

		if (fn && fn->graph && !fn->code) {
			ops_compile_all(cx, fn);
			code_lower(cx, fn, &lacking);
		}
	}
	for (int i = 0; i < lacking.n; i++)
		note_need(s, NULL, lacking.at[i].name, "lacking", lacking.at[i].at);
}

/* Appends the line of the original source, if the archive has debug records. */
static void
put_original(Buf *b, Range at)
{
	Range original;

	if (!at.src || !at.src->map || !at.src->map->find(at.src->map, at.beg, &original))
		return;
	buf_puts(b, "\n");
	range_print(b, original, "note", "made from");
}

static void
print_needs(Needs *s)
{
	Buf b = { 0 }, clean = { 0 };

	for (int i = 0; i < s->all.n; i++) {
		const Need *n = s->all.at[i];

		if (s->cli->as_json) {
			buf_puts(&b, i ? ",\n{\"name\":" : "[\n{\"name\":");
			out_json(&b, n->name);
			buf_puts(&b, ",\"state\":");
			out_json(&b, n->op ? n->state : "lacking");
			buf_printf(&b, ",\"uses\":%d}", n->at.n);
			continue;
		}
		if (n->op)
			buf_printf(&b, "%-44s %-26s %d use%s\n", n->name, n->state, n->at.n, n->at.n == 1 ? "" : "s");
	}
	if (s->cli->as_json)
		buf_puts(&b, s->all.n ? "\n]\n" : "[]\n");
	for (int i = 0; i < s->all.n && !s->cli->as_json; i++) {
		const Need *n = s->all.at[i];

		if (n->op)
			continue;
		for (int k = 0; k < n->at.n; k++) {
			range_print(&b, n->at.at[k], "lacking", n->name);
			put_original(&b, n->at.at[k]);
			buf_puts(&b, "\n");
		}
		if (!n->at.n)
			buf_printf(&b, "lacking: %s\n", n->name);
	}
	buf_clean(&clean, b.at ? b.at : "", b.n);
	fputs(clean.at ? clean.at : "", stdout);
	buf_free(&b);
	buf_free(&clean);
}

/* Returns the number of functions that can be called from outside, and sets *fn to them. In a graph's text, nodes of
 * PyTorch's executor are replaced by operators. */
static int
functions_of(Cx *cx, const char *path, Function *const **fn)
{
	const ClassInfo *info;
	int n;

	if (is_source(path) || is_graph_text(path)) {
		Pass p = pass_outside(cx, "executor");

		n = text_functions(cx, path, fn);
		for (int i = 0; i < n && is_graph_text(path); i++)
			executor(&p, (*fn)[i]->graph);
		return n;
	}
	info = class_info(archive_load(cx, path)->type);
	*fn = info->methods.at;
	return info->methods.n;
}

int
cmd_ops(Cli *cli)
{
	Cx *cx = cli->cx;
	LackingVec lacking = { 0 };
	Needs s = { .cli = cli, .index = { .arena = cx->arena } };
	Function *const *fn;
	int n;

	if (cli->args.n > 1)
		usage_error(cli, "ops wants one model, or none");
	if (!cli->args.n) {
		list_all(cli);
		return EXIT_OK;
	}
	n = functions_of(cx, cli->args.at[0], &fn);
	cx->lacking = &lacking;
	for (int i = 0; i < n; i++)
		need_function(&s, fn[i]);
	for (int i = 0; i < lacking.n; i++)
		note_need(&s, NULL, lacking.at[i].name, "lacking", lacking.at[i].at);
	if (!cx_try(cx, lower, &s) && !s.nlacking && !s.broken)
		fail_again(cx);
	cx->lacking = NULL;
	print_needs(&s);
	if (s.broken && !s.nlacking)
		fprintf(stderr, "%s\n", s.broken);
	if (s.nraising)
		fprintf(stderr, "kiln: %d operator%s of sparse tensors, which Kiln lacks: calls raise\n",
			s.nraising, s.nraising == 1 ? "" : "s");
	return s.nlacking || s.nraising ? EXIT_LACKS : s.broken ? EXIT_INPUT : EXIT_OK;
}
