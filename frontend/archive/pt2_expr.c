/*
 * Expressions over sizes: SymPy's text (srepr), and Python's in guards.
 *
 * Both are expressions of Python, so one parser reads them. Mul(Integer(2), Symbol('s0')) is a call, and emits the same
 * nodes as 2 * s0.
 */
#include "pt2.h"

#include <stdlib.h>
#include <string.h>

/* ---- names of functions and operators ----------------------------------------------------------------------- */

typedef struct FunctionRow { const char *name, *target; } FunctionRow;

static const FunctionRow functions[] = {
	{ "Add", "_operator.add" }, { "Mul", "_operator.mul" }, { "Pow", "_operator.pow" }, { "Max", "torch.sym_max" },
	{ "Min", "torch.sym_min" }, { "FloorDiv", "_operator.floordiv" }, { "CleanDiv", "_operator.floordiv" },
	{ "Mod", "_operator.mod" }, { "PythonMod", "_operator.mod" }, { "PowByNatural", "_operator.pow" },
	{ "FloatPow", "_operator.pow" }, { "IntTrueDiv", "_operator.truediv" }, { "FloatTrueDiv", "_operator.truediv" },
	{ "Rational", "_operator.truediv" }, { "ToFloat", "builtins.float" }, { "TruncToInt", "math.trunc" },
	{ "CeilToInt", "math.ceil" }, { "FloorToInt", "math.floor" }, { "RoundToInt", "builtins.round" },
	{ "LShift", "_operator.lshift" }, { "RShift", "_operator.rshift" }, { "Where", "torch.sym_ite" },
	{ "Equality", "_operator.eq" }, { "Unequality", "_operator.ne" }, { "GreaterThan", "_operator.ge" },
	{ "LessThan", "_operator.le" }, { "StrictGreaterThan", "_operator.gt" }, { "StrictLessThan", "_operator.lt" },
	{ "And", "_operator.and_" }, { "Or", "_operator.or_" }, { "Not", "torch.sym_not" },
	{ "max", "builtins.max" }, { "min", "builtins.min" }, { "abs", "builtins.abs" }, { "float", "builtins.float" },
	{ "int", "builtins.int" }, { "round", "builtins.round" },
};

static const char *
binary(TreeKind k)
{
	switch (k) {
	case TREE_ADD:      return "_operator.add";
	case TREE_SUB:      return "_operator.sub";
	case TREE_MUL:      return "_operator.mul";
	case TREE_DIV:      return "_operator.truediv";
	case TREE_FLOORDIV: return "_operator.floordiv";
	case TREE_MOD:      return "_operator.mod";
	case TREE_POW:      return "_operator.pow";
	case TREE_SHL:      return "_operator.lshift";
	case TREE_SHR:      return "_operator.rshift";
	case TREE_LT:       return "_operator.lt";
	case TREE_GT:       return "_operator.gt";
	case TREE_LE:       return "_operator.le";
	case TREE_GE:       return "_operator.ge";
	case TREE_EQ:       return "_operator.eq";
	case TREE_NE:       return "_operator.ne";
	case TREE_AND: case TREE_BIT_AND: return "_operator.and_";
	case TREE_OR:  case TREE_BIT_OR:  return "_operator.or_";
	default:            return NULL;
	}
}

static bool
compares(TreeKind k)
{
	return k == TREE_LT || k == TREE_GT || k == TREE_LE || k == TREE_GE || k == TREE_EQ || k == TREE_NE;
}

const Tree *
expr_parse(Builder *b, const char *text, const char *what)
{
	Source *s = new(b->cx->arena, Source, 1);

	*s = (Source){ .text = arena_strdup(b->cx->arena, text), .n = (int64_t)strlen(text), .line = 1,
		.name = arena_printf(b->cx->arena, "%s: %s", b->exported->doc.name, what) };
	return parse_expression(b->cx, s);
}

/* Returns the name of the function that the tree calls. Null if it is no such call. */
static const char *
called(const Tree *t)
{
	return t->kind == TREE_CALL && t->kid[0]->kind == TREE_VAR ? t->kid[0]->kid[0]->text : NULL;
}

static const Tree *
argument(const Tree *call, int i)
{
	return i < call->kid[1]->n ? call->kid[1]->kid[i] : NULL;
}

const char *
expr_symbol(const Tree *t)
{
	const char *name = called(t);

	if (t->kind == TREE_VAR)
		return t->kid[0]->text;
	if (!name || strcmp(name, "Symbol") || !argument(t, 0) || argument(t, 0)->kind != TREE_STRING)
		return NULL;
	return argument(t, 0)->text;
}

/* ---- factor * symbol + offset ------------------------------------------------------------------------------------ */

static bool
add_linear(Linear a, Linear c, int64_t sign, Linear *out)
{
	if (a.symbol && c.symbol && strcmp(a.symbol, c.symbol))
		return false;
	out->symbol = a.symbol ? a.symbol : c.symbol;
	return size_mul(c.factor, sign, &c.factor) && size_mul(c.offset, sign, &c.offset) &&
	       size_add(a.factor, c.factor, &out->factor) && size_add(a.offset, c.offset, &out->offset);
}

static bool
multiply(Linear a, Linear c, Linear *out)
{
	if (a.symbol && c.symbol)
		return false;
	if (c.symbol)
		return multiply(c, a, out);
	out->symbol = a.symbol;
	return size_mul(a.factor, c.offset, &out->factor) && size_mul(a.offset, c.offset, &out->offset);
}

static bool
fold_arguments(const Tree *call, bool sum, Linear *out)
{
	*out = (Linear){ .offset = !sum };
	for (int i = 0; i < call->kid[1]->n; i++) {
		Linear part, so_far = *out;

		if (!expr_linear(argument(call, i), &part) ||
		    !(sum ? add_linear(so_far, part, 1, out) : multiply(so_far, part, out)))
			return false;
	}
	return true;
}

bool
expr_linear(const Tree *t, Linear *out)
{
	const char *symbol = expr_symbol(t), *name = called(t);
	Linear a, c;

	if (symbol) {
		*out = (Linear){ symbol, 1, 0 };
		return true;
	}
	if (t->kind == TREE_INT) {
		*out = (Linear){ NULL, 0, t->num.i };
		return true;
	}
	if (name && (!strcmp(name, "Integer") || !strcmp(name, "Identity")) && argument(t, 0))
		return expr_linear(argument(t, 0), out);
	if (name && (!strcmp(name, "Add") || !strcmp(name, "Mul")))
		return fold_arguments(t, *name == 'A', out);
	if (t->kind == TREE_NEG)
		return expr_linear(t->kid[0], &a) && add_linear((Linear){ 0 }, a, -1, out);
	if (t->kind != TREE_ADD && t->kind != TREE_SUB && t->kind != TREE_MUL)
		return false;
	if (!expr_linear(t->kid[0], &a) || !expr_linear(t->kid[1], &c))
		return false;
	return t->kind == TREE_MUL ? multiply(a, c, out) : add_linear(a, c, t->kind == TREE_ADD ? 1 : -1, out);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

typedef struct Finder { ExprName *find; void *arg; } Finder;

static Value *value(Builder *, const Tree *, const Finder *);

/* Applies a function of two arguments to n arguments: f(f(a, b), c). */
static Value *
apply(Builder *b, const char *target, Value *const *args, int n)
{
	Value *two[2];

	if (n <= 2 || !strcmp(target, "torch.sym_ite"))
		return python_call(b, target, args, n);
	two[0] = args[0];
	for (int i = 1; i < n; i++) {
		two[1] = args[i];
		two[0] = python_call(b, target, two, 2);
	}
	return two[0];
}

/* Emits ModularIndexing as (x // d) % m, and CeilDiv as -(-a // b). Null for other names. */
static Value *
composed(Builder *b, const char *name, Value *const *a, int n)
{
	if (!strcmp(name, "ModularIndexing") && n == 3) {
		Value *in[2] = { python_call(b, "_operator.floordiv", a, 2), a[2] };

		return python_call(b, "_operator.mod", in, 2);
	}
	if (!strcmp(name, "CeilDiv") && n == 2) {
		Value *in[2] = { python_call(b, "_operator.neg", a, 1), a[1] };

		in[0] = python_call(b, "_operator.floordiv", in, 2);
		return python_call(b, "_operator.neg", in, 1);
	}
	return NULL;
}

static Value *
call_value(Builder *b, const Tree *t, const Finder *f)
{
	const char *name = tree_dotted(b->cx, t->kid[0]);
	const int n = t->kid[1]->n;
	Value **in = new(b->cx->arena, Value *, n + 1);

	if (!name)
		return NULL;
	if (!strcmp(name, "Float") && n && argument(t, 0)->kind == TREE_STRING)
		return graph_constant(b->graph, rt_double(strtod(argument(t, 0)->text, NULL)), b->at);
	for (int i = 0; i < n; i++)
		if (!(in[i] = value(b, argument(t, i), f)))
			return NULL;
	if (n && (!strcmp(name, "Integer") || !strcmp(name, "Identity")))
		return in[0];
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (!strcmp(functions[i].name, name))
			return n ? apply(b, functions[i].target, in, n) : NULL;
	return strchr(name, '.') ? python_call(b, name, in, n) : composed(b, name, in, n);
}

/* Emits a < b < c as a < b and b < c. */
static Value *
chain(Builder *b, const Tree *t, const Finder *f)
{
	Value *left = value(b, t->kid[0], f), *in[2] = { value(b, t->kid[0]->kid[1], f), value(b, t->kid[1], f) };

	if (!left || !in[0] || !in[1])
		return NULL;
	in[1] = python_call(b, binary(t->kind), in, 2);
	in[0] = left;
	return python_call(b, "_operator.and_", in, 2);
}

static Value *
value(Builder *b, const Tree *t, const Finder *f)
{
	Value *v = f->find(b, f->arg, t), *in[2];

	build_work(b);
	if (v)
		return v;
	switch (t->kind) {
	case TREE_INT:    return build_int(b, t->num.i);
	case TREE_FLOAT:  return graph_constant(b->graph, rt_double(t->num.f), b->at);
	case TREE_TRUE:   return build_bool(b, true);
	case TREE_FALSE:  return build_bool(b, false);
	case TREE_STRING: return build_text(b, t->text);
	case TREE_CALL:   return call_value(b, t, f);
	case TREE_NEG: case TREE_NOT:
		in[0] = value(b, t->kid[0], f);
		return in[0] ? python_call(b, t->kind == TREE_NEG ? "_operator.neg" : "torch.sym_not", in, 1) : NULL;
	default:
		break;
	}
	if (!binary(t->kind))
		return NULL;
	if (compares(t->kind) && compares(t->kid[0]->kind))
		return chain(b, t, f);
	in[0] = value(b, t->kid[0], f);
	in[1] = in[0] ? value(b, t->kid[1], f) : NULL;
	return in[1] ? python_call(b, binary(t->kind), in, 2) : NULL;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

typedef struct Writer { Buf *to; ExprSource *source; void *arg; } Writer;

static void write_expr(const Writer *, const Tree *, int outside);

static void
write_joined(const Writer *w, const Tree *call, const char *between, int outside)
{
	for (int i = 0; i < call->kid[1]->n; i++) {
		buf_puts(w->to, i ? between : "");
		write_expr(w, argument(call, i), outside);
	}
}

/* Prints a sum as SymPy does, 2*s0 - 1, since such texts are keys of the archive's ranges. */
static void
write_sum(const Writer *w, const Tree *call)
{
	for (int i = 0; i < call->kid[1]->n; i++) {
		Buf term = { 0 };
		const char *text;
		bool minus;

		buf_puts(&term, "");
		write_expr(&(Writer){ &term, w->source, w->arg }, argument(call, i), 0);
		minus = *term.at == '-';
		text = term.at + minus;
		text += minus && !strncmp(text, "1*", 2) ? 2 : 0;
		buf_puts(w->to, i ? minus ? " - " : " + " : minus ? "-" : "");
		buf_puts(w->to, text);
		buf_free(&term);
	}
}

static void
write_call(const Writer *w, const Tree *t, const char *name, int outside)
{
	static const char *const infix[][2] = { { "Add", " + " }, { "Mul", "*" }, { "Pow", "**" } };

	for (int i = 0; i < (int)(sizeof infix / sizeof *infix); i++)
		if (!strcmp(infix[i][0], name)) {
			buf_puts(w->to, i < outside ? "(" : "");
			if (i)
				write_joined(w, t, infix[i][1], i);
			else
				write_sum(w, t);
			buf_puts(w->to, i < outside ? ")" : "");
			return;
		}
	buf_printf(w->to, "%s(", name);
	write_joined(w, t, ", ", 0);
	buf_puts(w->to, ")");
}

/* outside: precedence of the enclosing expression: 0 for a sum, 1 for a product, 2 for a power. */
static void
write_expr(const Writer *w, const Tree *t, int outside)
{
	const char *symbol = expr_symbol(t), *name = called(t), *source;

	source = symbol && w->source ? w->source(w->arg, symbol) : NULL;
	if (symbol) {
		buf_puts(w->to, source ? source : symbol);
	} else if (t->kind == TREE_INT) {
		buf_printf(w->to, "%lld", (long long)t->num.i);
	} else if (t->kind == TREE_NEG) {
		buf_puts(w->to, "-");
		write_expr(w, t->kid[0], 1);
	} else if (name && (!strcmp(name, "Integer") || !strcmp(name, "Identity"))) {
		write_joined(w, t, "", outside);
	} else if (name) {
		write_call(w, t, name, outside);
	}
}

const char *
expr_text(Builder *b, const Tree *t, ExprSource *source, void *arg)
{
	Buf text = { 0 };

	buf_puts(&text, "");
	write_expr(&(Writer){ &text, source, arg }, t, 0);
	return arena_text(b->cx->arena, &text);
}

/* ---- entry points -------------------------------------------------------------------------------------------- */

Value *
expr_value(Builder *b, const Tree *t, ExprName *find, void *arg)
{
	const Finder f = { find, arg };

	return value(b, t, &f);
}
