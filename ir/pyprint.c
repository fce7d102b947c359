/*
 * Prints a graph as TorchScript: source text that PyTorch's importer and Kiln's own read back to the same graph.
 *
 * Nodes are walked in order. A value waits as the text of an expression if it is used once, in its own block, and has
 * no name from the source. Waiting values form a stack. A node pops its inputs from the top of the stack, from the last
 * to the first. If an input waits below the top, all values up to it become statements before the node. If the node
 * itself is a statement, all waiting values do. So operators are evaluated in the order of the graph.
 *
 *  %5 : Tensor = aten::relu(%x)
 *  %y : Tensor = aten::add(%5, %x, %1)       ->      y = torch.add(torch.relu(x), x)
 *
 * Every value has a variable of its own. Only a carried value of a loop shares one variable before, in and after the
 * loop. A loop with both a condition and a maximum becomes a `while` with a counter, as PyTorch prints it.
 */
#include "ir.h"

#include <string.h>

enum { WIDEST = 60 };            /* Longest expression, in characters. A longer one becomes a statement. */

typedef struct Printer {
	PyNeeds *needs;
	Cx      *cx;
	Buf     *out;
	int      indent;
	Map     *used;           /* Names that are used in this function. */
	Map     *count;          /* Number of times that a base name was requested, by base name. */
	int     *ntemp;
	const char **name;       /* Variable of each value, by value id. */
	const char **text;       /* Expression of each waiting value, by value id. */
	Vec(Value *) waiting;
	const Node *folded;      /* A TupleUnpack that was printed with the statement of its operator. */
	int64_t opened;          /* Length of the text after the last `with` line. */
} Printer;

/* ---- names --------------------------------------------------------------------------------------------- */

/* Whether no variable may have the name, since it is a keyword or a name that printed text uses. */
static bool
is_reserved(const char *name)
{
	static const char words[] =
		" False None True and as assert async await break class continue def del elif else except finally for "
		"from global if import in is lambda nonlocal not or pass raise return try while with yield"
		" CONSTANTS __torch__ annotate aten attribute awaitable bool complex float fork getattr inf infj int "
		"isinstance len nan nanj ops print range str torch unchecked_cast uninitialized _ ";
	const char *at = words;
	const size_t n = strlen(name);

	while ((at = strstr(at, name))) {
		if (at > words && at[-1] == ' ' && at[n] == ' ')
			return true;
		at += n;
	}
	return false;
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool
py_is_identifier(const char *s)
{
	const char *c = s;

	while (is_letter(*c) || (c > s && *c >= '0' && *c <= '9'))
		c++;
	return c > s && !*c && !is_reserved(s);
}

static const char *
temporary(Printer *p)
{
	char *name;

	do
		name = arena_printf(p->cx->arena, "_%d", (*p->ntemp)++);
	while (map_get(p->used, name));
	map_put(p->used, name, p);
	return name;
}

/* Returns the base name if it is unused. Else the base name with a number. */
static const char *
unused_name(Printer *p, const char *base)
{
	const char *name = base;
	intptr_t n;

	while (map_get(p->used, name) || is_reserved(name)) {
		n = (intptr_t)map_get(p->count, base);
		map_put(p->count, base, (void *)(n + 1));
		name = arena_printf(p->cx->arena, "%s%d", base, (int)n);
	}
	map_put(p->used, name, p);
	return name;
}

/* Returns the name from the source without a final .digits. Characters other than letters and digits become `_`. Null
 * if there is none, or if the name is one that PyTorch generates. */
static const char *
source_name(Cx *cx, const Value *v)
{
	char *name = v->name ? arena_strdup(cx->arena, v->name->name) : NULL, *dot = name ? strrchr(name, '.') : NULL;

	if (dot && dot > name && dot[1] && strspn(dot + 1, "0123456789") == strlen(dot + 1))
		*dot = 0;
	for (char *c = name; name && *c; c++)
		if (!is_letter(*c) && (*c < '0' || *c > '9'))
			*c = '_';
	if (!name || !*name || (*name >= '0' && *name <= '9'))
		return NULL;
	return name[0] == '_' && strspn(name + 1, "0123456789") == strlen(name + 1) ? NULL : name;
}

static const char *
variable(Printer *p, const Value *v)
{
	const char *base;

	if (p->name[v->id])
		return p->name[v->id];
	base = source_name(p->cx, v);
	return p->name[v->id] = base ? unused_name(p, base) : temporary(p);
}

/* ---- lines --------------------------------------------------------------------------------------------- */

static void
line(Printer *p, const char *fmt, ...)
{
	va_list ap;

	buf_printf(p->out, "%*s", p->indent, "");
	va_start(ap, fmt);
	buf_vprintf(p->out, fmt, ap);
	va_end(ap);
	buf_puts(p->out, "\n");
}

/* Prints the first n waiting values as statements. */
static void
flush_first(Printer *p, int n)
{
	for (int i = 0; i < n; i++) {
		const Value *v = p->waiting.at[i];

		line(p, "%s = %s", variable(p, v), p->text[v->id]);
	}
	p->waiting.n -= n;
	if (p->waiting.n)
		memmove(p->waiting.at, p->waiting.at + n, (size_t)p->waiting.n * sizeof *p->waiting.at);
}

static void
flush(Printer *p)
{
	flush_first(p, p->waiting.n);
}

static const char *
text_of(Cx *cx, Buf *b)
{
	const char *s = arena_strndup(cx->arena, b->at ? b->at : "", b->n);

	buf_free(b);
	return s;
}

static const char *
constant_text(Printer *p, const Value *v, bool declared)
{
	Buf b = { 0 };
	IValue c;

	value_constant(v, &c);
	py_constant(p->needs, c, declared || !rt_is_none(c) ? v->type : &rt_type_none, &b);
	return text_of(p->cx, &b);
}

/* Returns the texts of the values and pops those that wait from the stack. as_argument: print None without a type. */
static const char **
take_operands(Printer *p, Value *const *v, int n, bool as_argument)
{
	const char **text = new(p->cx->arena, const char *, n);
	IValue c;

	for (int i = n; i-- > 0;) {
		int at = p->waiting.n;

		if (value_constant(v[i], &c))
			continue;
		while (at > 0 && p->waiting.at[at - 1] != v[i])
			at--;
		if (at && at == p->waiting.n) {
			p->waiting.n--;
			text[i] = p->text[v[i]->id];
			continue;
		}
		flush_first(p, at);
		text[i] = variable(p, v[i]);
	}
	for (int i = 0; i < n; i++)
		if (!text[i])
			text[i] = constant_text(p, v[i], !as_argument);
	return text;
}

/* ---- expressions --------------------------------------------------------------------------------------- */

typedef void PrintForm(Printer *, const Node *, const char *const *in, Buf *);

static void
print_list_of(Buf *out, const char *const *in, int n)
{
	for (int i = 0; i < n; i++)
		buf_printf(out, "%s%s", i ? ", " : "", in[i]);
}

static bool
same_type(Printer *p, const Value *v, const Type *t)
{
	return type_unshaped(p->cx, v->type) == type_unshaped(p->cx, t);
}

static void
form_list(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	const Type *t = n->out[0]->type;
	bool tells = n->nin > 0;

	for (int i = 0; i < n->nin; i++)
		tells &= same_type(p, n->in[i], t->of[0]);
	if (!tells)
		buf_printf(out, "annotate(%s, ", py_type(p->needs, t));
	buf_puts(out, "[");
	print_list_of(out, in, n->nin);
	buf_puts(out, tells ? "]" : "])");
}

static void
form_dict(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	const Type *t = n->out[0]->type;
	bool tells = n->nin > 0;

	for (int i = 0; i < n->nin; i++)
		tells &= same_type(p, n->in[i], t->of[i % 2]);
	if (!tells)
		buf_printf(out, "annotate(%s, ", py_type(p->needs, t));
	buf_puts(out, "{");
	for (int i = 0; i + 1 < n->nin; i += 2)
		buf_printf(out, "%s%s: %s", i ? ", " : "", in[i], in[i + 1]);
	buf_puts(out, tells ? "}" : "})");
}

static void
form_tuple(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	const Type *t = n->out[0]->type;

	if (t->name)
		buf_puts(out, py_type(p->needs, t));
	buf_puts(out, "(");
	print_list_of(out, in, n->nin);
	buf_puts(out, n->nin == 1 && !t->name ? ",)" : ")");
}

static void
form_index(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	(void)p, (void)n;
	buf_printf(out, "(%s)[%s]", in[0], in[1]);
}

static void
form_slice(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	(void)p;
	buf_printf(out, "(%s)[%lld:%lld]", in[0], (long long)node_int(n, "beg", 0),
		   (long long)node_int(n, "end", n->in[0]->type->n));
}

static void
form_item(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	(void)p, (void)n;
	buf_printf(out, "%s[%s]", in[0], in[1]);
}

static void
form_attribute(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	const char *name = node_str(n, "name");

	py_note_type(p->needs, n->in[0]->type);
	map_put(&p->needs->attributes, py_attribute_key(p->cx, n->in[0]->type, name), p);
	if (py_is_identifier(name)) {
		buf_printf(out, "%s.%s", in[0], name);
		return;
	}
	buf_printf(out, "getattr(%s, ", in[0]);
	py_quoted(out, name);
	buf_puts(out, ")");
}

static void
form_method(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	Function *fn = node_function(n);

	py_note_type(p->needs, n->in[0]->type);
	if (fn)
		py_note_function(p->needs, fn);
	else
		map_put(&p->needs->attributes, py_attribute_key(p->cx, n->in[0]->type, node_str(n, "name")), p);
	buf_printf(out, "(%s).%s(", in[0], node_str(n, "name"));
	for (int i = 1; i < n->nin; i++)
		buf_printf(out, "%s, ", in[i]);
	buf_puts(out, ")");
}

static void
form_function(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	Function *fn = node_function(n);

	if (!fn)
		fail_lacks(p->cx, n->at, "a call of an unknown function in TorchScript");
	py_note_function(p->needs, fn);
	buf_printf(out, "%s(", fn->name);
	for (int i = 0; i < n->nin; i++)
		buf_printf(out, "%s, ", in[i]);
	buf_puts(out, ")");
}

static void
form_object(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	const char *name = py_type(p->needs, n->out[0]->type);

	(void)in;
	buf_printf(out, "%s.__new__(%s)", name, name);
}

static void
form_isinstance(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	const Attr *a = node_attr(n, "types");

	buf_printf(out, "isinstance(%s, ", in[0]);
	buf_puts(out, a->ntypes == 1 ? "" : "(");
	for (int i = 0; i < a->ntypes; i++)
		buf_printf(out, "%s%s", i ? ", " : "", py_type(p->needs, a->types[i]));
	buf_puts(out, a->ntypes == 1 ? ")" : "))");
}

static void
form_cast(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	buf_printf(out, "unchecked_cast(%s, %s)", py_type(p->needs, n->out[0]->type), in[0]);
}

static void
form_annotated(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	buf_printf(out, "annotate(%s, %s)", py_type(p->needs, n->out[0]->type), in[0]);
}

static void
form_uninitialized(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	(void)in;
	buf_printf(out, "uninitialized(%s)", py_type(p->needs, n->out[0]->type));
}

static void
form_raise(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	(void)p;
	buf_puts(out, "ops.prim.RaiseException(");
	print_list_of(out, in, n->nin > 1 && value_is_none(n->in[1]) ? 1 : n->nin);
	buf_puts(out, ")");
}

static void
form_print(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	(void)p;
	buf_puts(out, "print(");
	print_list_of(out, in, n->nin);
	buf_puts(out, ")");
}

static void
form_tolist(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	buf_printf(out, "annotate(%s, (%s).tolist())", py_type(p->needs, n->out[0]->type), in[0]);
}

static void
form_enum(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	py_note_type(p->needs, n->in[0]->type);
	buf_printf(out, "(%s).%s", in[0], node_is(n, prim_EnumName) ? "name" : "value");
}

/* Prints int(x). If a parameter is called int, prints torch.Int(x). */
static void
form_number(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	const char *word = type_print(p->cx, n->out[0]->type);

	if (map_get(p->used, word))
		buf_printf(out, "torch.%s(%s)", n->kind->name + 6, in[0]);
	else
		buf_printf(out, "%s(%s)", word, in[0]);
}

/* STANDS_ALONE: the node is always a statement. IS_CALL: it may be a statement without a variable. */
enum { STANDS_ALONE = 1, IS_CALL = 2 };

/* The first two are forms of operators with a trait, not of a node kind. */
enum { FORM_IMPLICIT, FORM_CONVERTS };
static const struct { Symbol kind; PrintForm *print; int how; } forms[] = {
	{ NULL, form_annotated, 0 }, { NULL, form_number, 0 },
	{ prim_ListConstruct, form_list, 0 }, { prim_DictConstruct, form_dict, 0 },
	{ prim_TupleConstruct, form_tuple, 0 }, { prim_TupleIndex, form_index, 0 },
	{ prim_TupleSlice, form_slice, 0 }, { aten___getitem__, form_item, 0 },
	{ prim_GetAttr, form_attribute, 0 }, { prim_CallMethod, form_method, IS_CALL },
	{ prim_CallFunction, form_function, IS_CALL }, { prim_CreateObject, form_object, 0 },
	{ prim_isinstance, form_isinstance, STANDS_ALONE }, { prim_unchecked_cast, form_cast, 0 },
	{ prim_Uninitialized, form_uninitialized, 0 }, { prim_RaiseException, form_raise, IS_CALL },
	{ prim_Print, form_print, IS_CALL }, { prim_tolist, form_tolist, 0 },
	{ prim_EnumName, form_enum, 0 }, { prim_EnumValue, form_enum, 0 },
};

static int
form_of(const Node *n)
{
	for (int i = 0; i < (int)(sizeof forms / sizeof *forms); i++)
		if (node_is(n, forms[i].kind))
			return i;
	return op_has(n->op, TRAIT_IMPLICIT) ? FORM_IMPLICIT : op_has(n->op, TRAIT_CONVERTS) ? FORM_CONVERTS : -1;
}

/* Returns the number of arguments to print. Those after them equal the schema's defaults. */
static int
needed_arguments(const Node *n, const Schema *s)
{
	int most = n->nin;
	IValue c;

	while (s && !s->vararg && most > 0 && most <= s->nargs && s->args[most - 1].has_default &&
	       value_constant(n->in[most - 1], &c) && value_identical(c, s->args[most - 1].deflt))
		most--;
	return most;
}

/* Prints a call such as torch.add(x, y, alpha=2). */
static void
print_operator(Printer *p, const Node *n, const char *const *in, Buf *out)
{
	const Schema *s = node_schema(n);
	const int most = needed_arguments(n, s), space = (int)(strchr(n->kind->name, ':') - n->kind->name);
	const char *name = n->kind->name + space + 2;

	if (n->nsub || n->attrs.n > (node_attr(n, "stays") ? 1 : 0) ||
	    (!s && strcmp(name, "wait") && strcmp(name, "awaitable_wait") && strcmp(name, "unchecked_unwrap_optional")))
		fail_lacks(p->cx, n->at, "%s in TorchScript", n->kind->name);
	if (!strncmp(n->kind->name, "aten::", 6))
		buf_printf(out, "torch.%s(", name);
	else
		buf_printf(out, "ops.%.*s.%s(", space, n->kind->name, name);
	for (int i = 0; i < most; i++) {
		buf_puts(out, i ? ", " : "");
		if (s && i < s->nargs && s->args[i].kwonly)
			buf_printf(out, "%s=", s->args[i].name);
		buf_puts(out, in[i]);
	}
	buf_puts(out, ")");
}

/* ---- statements ---------------------------------------------------------------------------------------- */

static void print_block(Printer *, const Block *);

/* Whether the variable must be declared, since the expression alone has another type. */
static bool
needs_declaration(Printer *p, const Node *n)
{
	const Type *t = n->nout == 1 ? n->out[0]->type : NULL;

	if (!node_is(n, prim_TupleConstruct) || t->name)
		return false;
	for (int i = 0; i < n->nin; i++)
		if (!same_type(p, n->in[i], t->of[i]))
			return true;
	return false;
}

/* Whether a branch or a loop's body returns v for a variable of the same name. */
static bool
gives_its_name(Printer *p, const Value *v)
{
	const Use u = v->uses.at[0];
	const Block *b = u.node->block;
	const Node *owner = b && u.node == b->ret ? b->owner : NULL;
	const int out = owner && node_is(owner, prim_Loop) ? u.index - 1 : u.index;
	const char *name = owner && out >= 0 && out < owner->nout ? source_name(p->cx, owner->out[out]) : NULL;

	return name && !strcmp(name, source_name(p->cx, v));
}

/* Whether the value may stay on the stack of waiting expressions until it is used. */
static bool
may_wait(Printer *p, const Node *n, int form)
{
	const Value *v = n->nout == 1 ? n->out[0] : NULL;
	const Node *user = v && v->uses.n == 1 ? v->uses.at[0].node : NULL;

	return user && user->block == n->block && (!source_name(p->cx, v) || gives_its_name(p, v)) &&
	       (form < 0 || !(forms[form].how & STANDS_ALONE)) && !node_is(user, prim_Loop) &&
	       !node_attr(user, "Subgraph") && !node_is(user, prim_Enter) && !node_is(user, prim_Exit) &&
	       !needs_declaration(p, n);
}

/* Returns the TupleUnpack that unpacks the results of n at once: a, b = torch.max(x, 0). Null if there is none. */
static const Node *
unpacked_at_once(const Node *n)
{
	const Node *tuple = n->next, *unpack = tuple->next;
	bool same = n->nout > 1 && node_is(tuple, prim_TupleConstruct) && tuple->nin == n->nout &&
		    tuple->out[0]->uses.n == 1 && node_is(unpack, prim_TupleUnpack) &&
		    unpack->in[0] == tuple->out[0];

	for (int i = 0; same && i < n->nout; i++)
		same = tuple->in[i] == n->out[i] && n->out[i]->uses.n == 1;
	return same ? unpack : NULL;
}

/* Whether the node is evaluated only for its effect. */
static bool
is_bare(const Node *n, int form)
{
	return !n->nout || (n->nout == 1 && !n->out[0]->uses.n && (form < 0 || (forms[form].how & IS_CALL)));
}

static void
print_expression(Printer *p, const Node *n)
{
	const int form = form_of(n);
	const Node *to = n;
	const char **in = take_operands(p, n->in, n->nin, form < 0 || (forms[form].how & IS_CALL) ||
					node_is(n, prim_ListConstruct));
	Buf text = { 0 };

	if (form >= 0)
		forms[form].print(p, n, in, &text);
	else
		print_operator(p, n, in, &text);
	if (may_wait(p, n, form) && text.n <= WIDEST) {
		p->text[n->out[0]->id] = text_of(p->cx, &text);
		vec_push(p->cx->arena, &p->waiting, n->out[0]);
		return;
	}
	flush(p);
	if (unpacked_at_once(n))
		to = p->folded = unpacked_at_once(n);
	buf_printf(p->out, "%*s", p->indent, "");
	for (int i = 0; i < n->nout && !is_bare(n, form); i++)
		buf_printf(p->out, "%s%s", i ? ", " : "", variable(p, to->out[i]));
	if (needs_declaration(p, n))
		buf_printf(p->out, " : %s", py_type(p->needs, n->out[0]->type));
	buf_puts(p->out, is_bare(n, form) ? "" : " = ");
	buf_printf(p->out, "%s\n", text.at);
	buf_free(&text);
}

/* Prints the statement a, b, = t. */
static void
print_unpack(Printer *p, const Node *n)
{
	const char **in = take_operands(p, n->in, 1, false);

	flush(p);
	if (!n->nout)
		return;
	buf_printf(p->out, "%*s", p->indent, "");
	for (int i = 0; i < n->nout; i++)
		buf_printf(p->out, "%s, ", variable(p, n->out[i]));
	buf_printf(p->out, "= %s\n", in[0]);
}

static void
print_set_attribute(Printer *p, const Node *n)
{
	const char **in = take_operands(p, n->in, 2, false), *name = node_str(n, "name");

	if (!py_is_identifier(name))
		fail_lacks(p->cx, n->at, "setting attribute '%s' in TorchScript", name);
	flush(p);
	py_note_type(p->needs, n->in[0]->type);
	map_put(&p->needs->attributes, py_attribute_key(p->cx, n->in[0]->type, name), p);
	line(p, "%s.%s = %s", in[0], name, in[1]);
}

/* Whether the variable gets its type from `from`. other: value of the other branch of an If. Null if there is none. */
static bool
types_itself(Printer *p, const Value *to, const Value *from, const Value *other)
{
	const Type *both = other ? type_unify(p->cx, from->type, other->type) : from->type;

	return both && type_unshaped(p->cx, both) == type_unshaped(p->cx, to->type);
}

/* Prints a parallel assignment to = from. declare: declare variables whose value has another type. other: values of the
 * other branch, as in types_itself. May be null. */
static void
print_assignment(Printer *p, Value *const *to, Value *const *from, int n, bool declare, Value *const *other)
{
	const char **in = take_operands(p, from, n, false);
	bool apart = false;

	flush(p);
	for (int i = 0; i < n; i++)
		apart |= declare && !types_itself(p, to[i], from[i], other ? other[i] : NULL);
	for (int i = 0; i < n && apart; i++) {
		if (types_itself(p, to[i], from[i], other ? other[i] : NULL))
			line(p, "%s = %s", variable(p, to[i]), in[i]);
		else
			line(p, "%s : %s = %s", variable(p, to[i]), py_type(p->needs, to[i]->type), in[i]);
	}
	if (apart || !n)
		return;
	buf_printf(p->out, "%*s", p->indent, "");
	for (int i = 0; i < n; i++)
		buf_printf(p->out, "%s%s", i ? ", " : "", variable(p, to[i]));
	buf_puts(p->out, " = ");
	print_list_of(p->out, in, n);
	buf_puts(p->out, "\n");
}

static void
print_branch(Printer *p, const Node *n, const Block *b, const Block *other)
{
	const int64_t before = p->out->n;

	p->indent += 2;
	print_block(p, b);
	print_assignment(p, n->out, b->ret->in, n->nout, true, other->ret->in);
	if (p->out->n == before)
		line(p, "pass");
	p->indent -= 2;
}

static void
print_if(Printer *p, const Node *n)
{
	const char **in = take_operands(p, n->in, 1, false);

	flush(p);
	for (int i = 0; i < n->nout; i++)
		variable(p, n->out[i]);
	line(p, "if %s:", in[0]);
	print_branch(p, n, if_then(n), if_else(n));
	line(p, "else:");
	print_branch(p, n, if_else(n), if_then(n));
}

/* Gives each carried value one variable for before, in and after the loop. */
static void
share_names(Printer *p, const Node *n)
{
	for (int i = 0; i < n->nout; i++) {
		const Value *in = loop_body(n)->param->out[1 + i];
		const Value *named = source_name(p->cx, n->out[i]) ? n->out[i] : in;

		p->name[in->id] = p->name[n->out[i]->id] = variable(p, named);
	}
}

static void
print_for(Printer *p, const Node *n, const char *max)
{
	const Block *b = loop_body(n);
	int64_t before;

	line(p, "for %s in range(%s):", variable(p, loop_index(n)), max);
	before = p->out->n;
	p->indent += 2;
	print_block(p, b);
	print_assignment(p, b->param->out + 1, b->ret->in + 1, n->nout, false, NULL);
	if (p->out->n == before)
		line(p, "pass");
	p->indent -= 2;
}

/* Prints the end of a loop's body: one assignment to the condition, the carried values and the counter. */
static void
print_next(Printer *p, const Node *n, const char *cond, const char *counter, const char *max)
{
	const Block *b = loop_body(n);
	const char **in = take_operands(p, b->ret->in, b->ret->nin, false), *next = NULL, *go = in[0];

	flush(p);
	if (counter) {
		next = temporary(p);
		line(p, "%s = torch.add(%s, 1)", next, counter);
	}
	if (max)
		go = arena_printf(p->cx->arena, "torch.__and__(torch.lt(%s, %s), %s)", next, max, in[0]);
	buf_printf(p->out, "%*s%s", p->indent, "", cond);
	for (int i = 0; i < n->nout; i++)
		buf_printf(p->out, ", %s", variable(p, n->out[i]));
	if (counter)
		buf_printf(p->out, ", %s", counter);
	buf_printf(p->out, " = %s", go);
	for (int i = 0; i < n->nout; i++)
		buf_printf(p->out, ", %s", in[1 + i]);
	if (counter)
		buf_printf(p->out, ", %s", next);
	buf_puts(p->out, "\n");
}

static void
print_while(Printer *p, const Node *n, const char *max, const char *first)
{
	const char *cond = temporary(p), *counter = NULL;
	int64_t most;

	if (value_int(loop_max(n), &most) && most == INT64_MAX)
		max = NULL;
	if (max || loop_index(n)->uses.n) {
		counter = variable(p, loop_index(n));
		line(p, "%s = 0", counter);
	}
	if (max)
		line(p, "%s = torch.__and__(torch.lt(0, %s), %s)", cond, max, first);
	else
		line(p, "%s = %s", cond, first);
	line(p, "while %s:", cond);
	p->indent += 2;
	print_block(p, loop_body(n));
	print_next(p, n, cond, counter, max);
	p->indent -= 2;
}

static void
print_loop(Printer *p, const Node *n)
{
	const char **head = take_operands(p, n->in, 2, false);

	share_names(p, n);
	print_assignment(p, n->out, n->in + 2, n->nout, true, NULL);
	if (loop_is_for(n))
		print_for(p, n, head[0]);
	else
		print_while(p, n, head[0], head[1]);
}

static Printer
printer_for(const Printer *p, const Graph *g)
{
	Printer q = *p;

	q.name = new(p->cx->arena, const char *, g->nvalue);
	q.text = new(p->cx->arena, const char *, g->nvalue);
	memset(&q.waiting, 0, sizeof q.waiting);
	return q;
}

/* Prints a fork: def __forked_function(): ... */
static void
print_fork(Printer *p, const Node *n)
{
	Graph *g = node_attr(n, "Subgraph")->g;
	const char **in = take_operands(p, n->in, n->nin, false), *name = unused_name(p, "__forked_function");
	const char *word = node_is(n, prim_fork) ? "fork" : "awaitable";
	Printer q = printer_for(p, g);

	if (!node_is(n, prim_fork) && !node_is(n, prim_awaitable))
		fail_lacks(p->cx, n->at, "%s in TorchScript", n->kind->name);
	flush(p);
	for (int i = 0; i < n->nin; i++)
		q.name[graph_inputs(g)[i]->id] = in[i];
	line(p, "def %s() -> %s:", name, py_type(p->needs, g->top->ret->in[0]->type));
	q.indent += 2;
	print_block(&q, g->top);
	in = take_operands(&q, g->top->ret->in, 1, false);
	flush(&q);
	line(&q, "return %s", in[0]);
	line(p, "%s = %s(%s)", variable(p, n->out[0]), word, name);
}

/* Prints a with statement: with x as v: ... */
static void
print_enter(Printer *p, const Node *n)
{
	const char **in = take_operands(p, n->in, 1, false);

	flush(p);
	if (n->out[0]->uses.n)
		line(p, "with %s as %s:", in[0], variable(p, n->out[0]));
	else
		line(p, "with %s:", in[0]);
	py_note_type(p->needs, n->in[0]->type);
	map_put(&p->needs->attributes, py_attribute_key(p->cx, n->in[0]->type, "__enter__"), p);
	map_put(&p->needs->attributes, py_attribute_key(p->cx, n->in[0]->type, "__exit__"), p);
	p->indent += 2;
	p->opened = p->out->n;
}

static const struct { Symbol kind; void (*print)(Printer *, const Node *); } statements[] = {
	{ prim_If, print_if }, { prim_Loop, print_loop }, { prim_TupleUnpack, print_unpack },
	{ prim_ListUnpack, print_unpack }, { prim_SetAttr, print_set_attribute }, { prim_fork, print_fork },
	{ prim_awaitable, print_fork }, { prim_Enter, print_enter },
};

static void
print_node(Printer *p, const Node *n)
{
	if (node_is(n, prim_Constant) || (p->folded && (n == p->folded || n->next == p->folded)))
		return;
	if (node_is(n, prim_Exit)) {
		flush(p);
		if (p->out->n == p->opened)
			line(p, "pass");
		p->indent -= 2;
		return;
	}
	for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
		if (node_is(n, statements[i].kind)) {
			statements[i].print(p, n);
			return;
		}
	print_expression(p, n);
}

static void
print_block(Printer *p, const Block *b)
{
	const int indent = p->indent;

	cx_enter(p->cx, b->ret->at);
	for NODES(n, b)
		print_node(p, n);
	if (p->indent != indent)
		fail_lacks(p->cx, b->ret->at, "a `with` that does not end in its block, in TorchScript");
	cx_leave(p->cx);
}

/* ---- functions ------------------------------------------------------------------------------------------- */

/* Whether to print the default of argument i. TorchScript allows no default before an argument without one. Programs of
 * torch.export have such defaults. */
static bool
has_default(const Schema *s, int i)
{
	bool has = s->args[i].has_default;

	for (int k = i + 1; k < s->nargs; k++)
		has &= s->args[k].has_default || s->args[k].kwonly;
	return has;
}

static void
print_parameters(Printer *p, const Schema *s, const Graph *g)
{
	for (int i = 0; i < s->nargs; i++)
		if (py_is_identifier(s->args[i].name))
			map_put(p->used, s->args[i].name, p);
	for (int i = 0; i < s->nargs; i++) {
		const Arg *a = &s->args[i];
		const char *name = py_is_identifier(a->name) ? a->name : unused_name(p, "argument");

		if (g)
			p->name[graph_inputs(g)[i]->id] = name;
		buf_printf(p->out, "%s%s: %s", i ? (g ? ",\n    " : ", ") : "", name, py_type(p->needs, a->type));
		if (has_default(s, i)) {
			buf_puts(p->out, "=");
			py_constant(p->needs, a->deflt, rt_is_none(a->deflt) ? &rt_type_none : a->type, p->out);
		}
	}
}

void
py_function(PyNeeds *d, const Schema *s, const Graph *g, const char *name, int indent, Buf *out)
{
	Map used = { .arena = d->cx->arena }, count = { .arena = d->cx->arena };
	int ntemp = 0;
	Printer p = { .needs = d, .cx = d->cx, .out = out, .indent = indent, .used = &used, .count = &count,
		.ntemp = &ntemp };
	const char **result;

	if (g)
		p = printer_for(&p, g);
	buf_printf(out, "%*sdef %s(", indent, "", name);
	print_parameters(&p, s, g);
	buf_printf(out, ") -> %s:\n", py_type(d, s->rets[0].type));
	p.indent += 2;
	if (!g) {
		line(&p, "pass");
		return;
	}
	print_block(&p, g->top);
	result = take_operands(&p, g->top->ret->in, 1, false);
	flush(&p);
	line(&p, "return %s", result[0]);
}
