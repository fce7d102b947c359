/*
 * Writes the generic program: the interpreter's Code as constant data.
 *
 * A Code becomes an RtCode and a few arrays. Every instruction has a comment with its text. The first instruction of a
 * model's line also has the text of that line. Kernels are referred to by name, so that only the kernels used are
 * linked.
 */
#include "program.h"
#include "../../ir/row.h"

#include <string.h>

static const char *const opcode_names[RT_NOPCODE] = {
	[RT_DO_KERNEL] = "KERNEL", [RT_DO_CALL] = "CALL", [RT_DO_CALL_METHOD] = "CALL_METHOD",
	[RT_DO_CALL_VALUE] = "CALL_VALUE", [RT_DO_CONSTANT] = "CONSTANT", [RT_DO_MOVE] = "MOVE",
	[RT_DO_JUMP] = "JUMP", [RT_DO_BRANCH] = "BRANCH", [RT_DO_LOOP] = "LOOP", [RT_DO_NEXT] = "NEXT",
	[RT_DO_RETURN] = "RETURN", [RT_DO_TUPLE] = "TUPLE", [RT_DO_UNPACK] = "UNPACK", [RT_DO_INDEX] = "INDEX",
	[RT_DO_TUPLE_SLICE] = "TUPLE_SLICE", [RT_DO_NEW_LIST] = "NEW_LIST", [RT_DO_LIST_UNPACK] = "LIST_UNPACK",
	[RT_DO_NEW_DICT] = "NEW_DICT", [RT_DO_GET_ATTR] = "GET_ATTR", [RT_DO_SET_ATTR] = "SET_ATTR",
	[RT_DO_NEW_OBJECT] = "NEW_OBJECT", [RT_DO_ISINSTANCE] = "ISINSTANCE", [RT_DO_CAST] = "CAST",
	[RT_DO_UNSET] = "UNSET", [RT_DO_FORK] = "FORK", [RT_DO_AWAIT] = "AWAIT", [RT_DO_WAIT] = "WAIT",
	[RT_DO_PROFILE] = "PROFILE", [RT_DO_RAISE] = "RAISE", [RT_DO_ENTER] = "ENTER", [RT_DO_EXIT] = "EXIT",
	[RT_DO_RERAISE] = "RERAISE", [RT_DO_CLEAR] = "CLEAR",
};

/* Returns the C name of an operator's kernel. */
static const char *
op_kernel_symbol(Cx *cx, const Op *op)
{
	return op->form == OP_USER ? op->id : arena_printf(cx->arena, "rt_%s", op->id);
}

const char *
emit_symbol(Emit *e, const Op *op)
{
	const char *symbol = op_kernel_symbol(e->cx, op);

	if (!map_get(&e->kernel_names, symbol)) {
		map_put(&e->kernel_names, symbol, (void *)(uintptr_t)symbol);
		out_line(&e->types, "RtKernel %s;", symbol);
		e->quantized |= op_has(op, TRAIT_QUANTIZED);
		e->prints |= op->row == ROW_prim_Print;
		e->bits |= op_has(op, TRAIT_LAZY);
	}
	return symbol;
}

/* Returns the C name of the kernel of operator i of the Code. */
static const char *
kernel_symbol(Emit *e, const RtCode *c, int i)
{
	const Op *op = op_named(e->cx, c->kernel_name[i]);

	if (!op)
		BUG("no row for the kernel %s", c->kernel_name[i]);
	return emit_symbol(e, op);
}

void
emit_instructions(Emit *e)
{
	out_line(&e->tail, "RtDo *const rt_do[RT_NOPCODE] = {");
	for (int op = 0; op < RT_NOPCODE; op++) {
		char *name = arena_strdup(e->cx->arena, opcode_names[op]);

		for (char *c = name; *c; c++)
			*c = (char)(*c == '_' ? '_' : *c | 32);
		if (e->opcodes >> op & 1)
			out_line(&e->tail, "\t[RT_DO_%s] = rt_do_%s,", opcode_names[op], name);
	}
	out_line(&e->tail, "};");
}

static void
put_operands(Buf *b, const RtCode *c, uint32_t first, int n)
{
	for (int i = 0; i < n; i++)
		buf_printf(b, "%sr%u", i ? ", " : "", RT_REG(c->operand[first + (uint32_t)i]));
}

/* Writes an instruction as text: "r4 = aten::mm(r1, r2)". */
static void
describe_insn(Buf *b, const RtCode *c, const RtInsn *insn)
{
	if (insn->nout) {
		put_operands(b, c, insn->in + insn->nin, insn->nout);
		buf_puts(b, " = ");
	}
	if (insn->op == RT_DO_KERNEL)
		out_comment(b, c->kernel_name[insn->arg], 200);
	else if (insn->op == RT_DO_CALL || insn->op == RT_DO_FORK || insn->op == RT_DO_AWAIT)
		out_comment(b, c->callee[insn->arg]->name, 200);
	else
		buf_puts(b, opcode_names[insn->op]);
	buf_puts(b, "(");
	put_operands(b, c, insn->in, insn->nin);
	buf_puts(b, ")");
	if (insn->op == RT_DO_JUMP || insn->op == RT_DO_BRANCH || insn->op == RT_DO_LOOP || insn->op == RT_DO_NEXT)
		buf_printf(b, " -> %u", insn->arg);
}

/* Whether the instruction can raise. If not, it needs no place. */
static bool
may_fail(const RtInsn *i)
{
	switch (i->op) {
	case RT_DO_CONSTANT: case RT_DO_MOVE: case RT_DO_JUMP: case RT_DO_NEXT: case RT_DO_RETURN: case RT_DO_CLEAR:
		return false;
	default:
		return true;
	}
}

/* Adds entries for place i, its original and its callers to the table of places. Equal places share one entry. */
static void
take_place(Emit *e, const RtCode *c, int i, CodePlaces *p)
{
	const RtPlaceName *n = &c->place[i];
	const char *key = arena_printf(e->cx->arena, "%u:%d:%d:%d:%d:%d:%u", n->file, n->line, n->column, n->width,
				       n->original, n->caller, n->function);
	const uintptr_t known = (uintptr_t)map_get(&p->known, key);

	p->row[i] = known ? (uint32_t)known - 1 : (uint32_t)p->of.n;
	if (known)
		return;
	vec_push(e->cx->arena, &p->of, i);
	map_put(&p->known, key, (void *)(uintptr_t)p->of.n);
	take_place(e, c, n->original, p);
	take_place(e, c, n->caller, p);
}

const PlaceList *
emit_line(Emit *e, const CodePlaces *p, int line, int caller)
{
	return map_get(&p->lines, arena_printf(e->cx->arena, "%d:%d", line, caller));
}

static void
note_place(Emit *e, CodePlaces *p, int line, int caller, int place)
{
	const char *key = arena_printf(e->cx->arena, "%d:%d", line, caller);
	PlaceList *l = map_get(&p->lines, key);

	if (!l) {
		l = new(e->cx->arena, PlaceList, 1);
		map_put(&p->lines, key, l);
	}
	vec_push(e->cx->arena, l, place);
}

const CodePlaces *
emit_places(Emit *e, const RtCode *c)
{
	const char *key = arena_printf(e->cx->arena, "%p", (const void *)c);
	CodePlaces *p = map_get(&e->code_places, key);

	if (p)
		return p;
	p = new(e->cx->arena, CodePlaces, 1);
	p->known.arena = p->lines.arena = e->cx->arena;
	for (int i = 1; i < c->nplace_name; i++) {
		note_place(e, p, c->place[i].line, -1, i);
		note_place(e, p, c->place[i].line, c->place[i].caller, i);
	}
	p->row = new(e->cx->arena, uint32_t, c->nplace_name + 1);
	take_place(e, c, 0, p);
	for (int pc = 0; pc < c->ninsn; pc++)
		if (c->insn[pc].line && may_fail(&c->insn[pc]))
			take_place(e, c, (int)c->insn[pc].line, p);
	map_put(&e->code_places, key, p);
	return p;
}

static void
put_insns(Emit *e, const char *name, const RtCode *c)
{
	const uint32_t *place = emit_places(e, c)->row;
	uint32_t line = 0;

	out_line(&e->code, "static const RtInsn %s_insn[] = {", name);
	for (int pc = 0; pc < c->ninsn; pc++) {
		const RtInsn *i = &c->insn[pc];
		Buf b = { 0 };

		if (e->source && i->line && i->line != line && c->place[i->line].line_text) {
			buf_puts(&b, "\t/* ");
			out_comment(&b, c->text + c->place[i->line].line_text, 160);
			out_line(&e->code, "%s */", b.at);
			b.n = 0;
			line = i->line;
		}
		e->opcodes |= UINT64_C(1) << i->op;
		describe_insn(&b, c, i);
		out_line(&e->code, "/* %3d */ { RT_DO_%s, %u, %u, %u, %u, %u },\t/* %s */", pc,
			 opcode_names[i->op], place[i->line], i->nin, i->nout, i->in, i->arg, b.at);
		buf_free(&b);
	}
	out_line(&e->code, "};");
}

static int
noperand(const RtCode *c)
{
	uint32_t n = 0;

	for (int pc = 0; pc < c->ninsn; pc++) {
		const RtInsn *i = &c->insn[pc];
		const uint32_t end = i->in + i->nin + i->nout;

		n = end > n ? end : n;
	}
	return (int)n;
}

static void
put_operand_table(Emit *e, const char *name, const RtCode *c)
{
	const int n = noperand(c);
	Buf b = { 0 };

	for (int i = 0; i < n; i++)
		buf_printf(&b, "%s%s%u,", i % 16 ? " " : "\n\t", c->operand[i] & RT_LAST ? "LAST|" : "",
			   RT_REG(c->operand[i]));
	out_line(&e->code, "static const uint32_t %s_operand[] = {%s 0\n};", name, b.at ? b.at : "");
	buf_free(&b);
}

/* Texts in the table of places, one after the other. */
typedef struct PlaceTexts { Arena *arena; PtrMap at; Buf literals, bytes; int n; } PlaceTexts;

/* Returns the number of a text in the table. 0 for an empty text. Equal texts of a Code have the same address, so
 * addresses are compared. */
static uint32_t
text_number(PlaceTexts *t, const RtCode *c, uint32_t text)
{
	const char *s = c->text + text;
	int64_t *number = text ? ptrmap_at(t->arena, &t->at, s) : NULL;

	if (!text || *number)
		return text ? (uint32_t)*number : 0;
	*number = ++t->n;
	buf_puts(&t->literals, "\n\t");
	out_string(&t->literals, s, (int64_t)strlen(s));
	buf_puts(&t->literals, " \"\\0\"");
	buf_add(&t->bytes, s, (int64_t)strlen(s) + 1);
	return (uint32_t)t->n;
}

static void
put_packed(Buf *b, uint32_t n)
{
	for (; n >= 128; n >>= 7)
		buf_printf(b, "%u,", (n & 127) | 128);
	buf_printf(b, "%u, ", n);
}

/* Returns the encoded distance from entry i to entry `to`. 0 if there is no entry (`to` is 0). */
static uint32_t
near(int i, int to)
{
	return to == 0 ? 0 : to > i ? 2 * (uint32_t)(to - i) : 2 * (uint32_t)(i - to) - 1;
}

/* Returns the name of an array with this content: NAME_what, or the array of an earlier Code with the same content. */
static const char *
put_array(Emit *e, const char *type, const char *name, const char *what, const char *content)
{
	const char *key = arena_printf(e->cx->arena, "%s %s", type, content), *known = map_get(&e->code_arrays, key);

	if (known)
		return known;
	known = arena_printf(e->cx->arena, "%s_%s", name, what);
	out_line(&e->code, "static const %s %s[] = %s;", type, known, content);
	map_put(&e->code_arrays, key, (void *)(uintptr_t)known);
	return known;
}

/* Writes places in the form that rt_place reads, and returns them as members of the Code. */
static const char *
put_places(Emit *e, const char *name, const RtCode *c)
{
	const CodePlaces *places = emit_places(e, c);
	PlaceTexts texts = { .arena = e->cx->arena };
	const char *place, *text;
	Buf b = { 0 };

	buf_puts(&b, "{");
	buf_puts(&texts.literals, "\"\\0\"");
	buf_add(&texts.bytes, "", 1);
	for (int i = 0; i < places->of.n; i++) {
		const RtPlaceName *p = &c->place[places->of.at[i]];
		const uint32_t numbers[] = {
			text_number(&texts, c, p->file), text_number(&texts, c, p->function),
			text_number(&texts, c, e->source ? p->line_text : 0),
			(uint32_t)p->line, (uint32_t)p->column, (uint32_t)p->width,
			near(i, (int)places->row[p->original]), near(i, (int)places->row[p->caller]),
		};

		buf_printf(&b, "\n\t/* %3d */ ", i);
		for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
			put_packed(&b, numbers[k]);
	}
	buf_puts(&b, "\n}");
	place = put_array(e, "unsigned char", name, "place", b.at);
	if (texts.bytes.n > OUT_STRING_MOST) {
		buf_free(&texts.literals);
		out_bytes(&texts.literals, texts.bytes.at, texts.bytes.n);
	}
	text = put_array(e, "char", name, "text", texts.literals.at);
	buf_free(&texts.bytes);
	buf_free(&texts.literals);
	buf_free(&b);
	return arena_printf(e->cx->arena, ".packed_place = %s, .text = %s", place, text);
}

/* Writes an array of n C expressions. Writes nothing if n is 0. */
static void
put_table(Emit *e, const char *type, const char *name, const char *what, const char *const *item, int n)
{
	if (!n)
		return;
	out_line(&e->code, "%s %s_%s[] = {", type, name, what);
	for (int i = 0; i < n; i++)
		out_line(&e->code, "\t%s,", item[i]);
	out_line(&e->code, "};");
}

/* Writes the tables of one Code. What their entries refer to must be written already. */
static void
put_tables(Emit *e, const char *name, const RtCode *c)
{
	Arena *a = e->cx->arena;
	const char **kernel = new(a, const char *, c->nkernel + 1),
		**kernel_name = new(a, const char *, c->nkernel + 1);
	const char **type = new(a, const char *, c->ntype + 1), **callee = new(a, const char *, c->ncallee + 1);
	const char **string = new(a, const char *, c->nstring + 1), **use = new(a, const char *, c->nkernel + 1);

	for (int i = 0; i < c->nkernel; i++) {
		kernel[i] = kernel_symbol(e, c, i);
		kernel_name[i] = arena_printf(a, "\"%s\"", c->kernel_name[i]);
		use[i] = arena_printf(a, "0x%x", c->kernel_use[i]);
	}
	for (int i = 0; i < c->ntype; i++)
		type[i] = emit_type(e, type_unshaped(e->cx, c->type[i]));
	for (int i = 0; i < c->ncallee; i++)
		callee[i] = emit_code(e, c->callee[i]);
	for (int i = 0; i < c->nstring; i++)
		string[i] = out_literal(a, c->string[i]);
	put_table(e, "static RtKernel *const", name, "kernel", kernel, c->nkernel);
	put_table(e, "static const char *const", name, "kernel_name", kernel_name, c->nkernel);
	put_table(e, "static const uint32_t", name, "kernel_use", use, c->nkernel);
	put_table(e, "static const RtType *const", name, "type", type, c->ntype);
	put_table(e, "static const RtCode *const", name, "callee", callee, c->ncallee);
	put_table(e, "static const char *const", name, "string", string, c->nstring);
}

static void
put_code(Emit *e, const char *name, const RtCode *c, int first_value)
{
	const char *places;
	Buf b = { 0 };

	out_line(&e->code, "\n/* %s */", name);
	put_tables(e, name, c);
	put_insns(e, name, c);
	put_operand_table(e, name, c);
	places = put_places(e, name, c);
	out_string(&b, c->name, (int64_t)strlen(c->name));
	out_line(&e->code, "static const RtCode %s = {\n\t.name = %s,\n\t.insn = %s_insn, .operand = %s_operand, "
		 "%s,", name, b.at, name, name, places);
	if (c->nkernel)
		out_line(&e->code, "\t.kernel = %s_kernel, .kernel_name = %s_kernel_name, .kernel_use = %s_kernel_use,",
			 name, name, name);
	if (c->nconstant)
		out_line(&e->code, "\t.first_value = %d,", first_value);
	if (c->ntype)
		out_line(&e->code, "\t.type = %s_type,", name);
	if (c->ncallee)
		out_line(&e->code, "\t.callee = %s_callee,", name);
	if (c->nstring)
		out_line(&e->code, "\t.string = %s_string,", name);
	out_line(&e->code, "\t.ninsn = %d, .nreg = %d, .narg = %d, .nresult = %d,", c->ninsn, c->nreg, c->narg,
		 c->nresult);
	out_line(&e->code,
		 "\t.nkernel = %d, .nconstant = %d, .ntype = %d, .ncallee = %d, .nstring = %d, .nplace_name = %d,",
		 c->nkernel, c->nconstant, c->ntype, c->ncallee, c->nstring, emit_places(e, c)->of.n);
	if (map_get(&e->plan_names, arena_printf(e->cx->arena, "%p", (const void *)c)))
		out_line(&e->code, "\t.plan = %s,",
			 (const char *)map_get(&e->plan_names, arena_printf(e->cx->arena, "%p", (const void *)c)));
	out_line(&e->code, "};");
	buf_free(&b);
}

const char *
emit_code(Emit *e, const RtCode *c)
{
	const char *key = arena_printf(e->cx->arena, "%p", (const void *)c), *name = map_get(&e->code_names, key);
	int first;

	if (name)
		return arena_printf(e->cx->arena, "&%s", name);
	name = out_name(e->cx->arena, arena_printf(e->cx->arena, "code_%d_", e->code_names.n), c->name);
	map_put(&e->code_names, key, (void *)(uintptr_t)name);
	out_line(&e->types, "static const RtCode %s;", name);
	first = e->nvalue;
	for (int i = 0; i < c->nconstant; i++) {
		e->lazy = rt_unpacks(c->constant[i]);
		emit_value(e, c->constant[i]);
		e->lazy = false;
	}
	put_code(e, name, c, first);
	return arena_printf(e->cx->arena, "&%s", name);
}
