/*
 * Prints a Code, and finds its live registers.
 */
#include "ir.h"
#include <stdlib.h>
#include <string.h>

static const char *const names[RT_NOPCODE] = {         /* In the order of RtOpcode in rt.h. */
	"kernel", "call", "call_method", "call_value", "constant", "move", "jump", "branch", "loop", "next", "return",
	"tuple", "unpack", "index", "tuple_slice", "new_list", "list_unpack", "new_dict", "get_attr", "set_attr",
	"new_object", "isinstance", "cast", "unset", "fork", "await", "wait", "profile", "raise", "enter", "exit",
	"reraise", "clear",
};

/* ---- live registers ----------------------------------------------------------------------------------- */

struct CodeLive {
	const RtCode *code;
	int nword;
	uint64_t *in;            /* Registers that are live before each instruction, nword words each. */
	uint64_t *now;
};

static void
set_bits(const RtCode *c, uint64_t *set, uint32_t first, int n, bool on)
{
	for (int i = 0; i < n; i++) {
		const uint32_t r = RT_REG(c->operand[first + i]);

		if (on)
			set[r / 64] |= (uint64_t)1 << r % 64;
		else
			set[r / 64] &= ~((uint64_t)1 << r % 64);
	}
}

static void
unite_live(CodeLive *l, int pc)
{
	if (pc < 0 || pc >= l->code->ninsn)
		return;
	for (int i = 0; i < l->nword; i++)
		l->now[i] |= l->in[(size_t)pc * l->nword + i];
}

static void
join_successors(CodeLive *l, int pc)
{
	const RtInsn *i = &l->code->insn[pc];

	switch (i->op) {
	case RT_DO_RETURN: case RT_DO_RAISE: case RT_DO_RERAISE:
		return;
	case RT_DO_JUMP: case RT_DO_NEXT:
		unite_live(l, (int)i->arg);
		return;
	case RT_DO_BRANCH: case RT_DO_LOOP: case RT_DO_ENTER:
		unite_live(l, (int)i->arg);
		break;
	default:
		break;
	}
	unite_live(l, pc + 1);
}

/* One backward pass of the liveness analysis. Loops need several. Returns whether a set has changed. */
static bool
pass_once(CodeLive *l)
{
	bool changed = false;

	for (int pc = l->code->ninsn - 1; pc >= 0; pc--) {
		const RtInsn *i = &l->code->insn[pc];
		uint64_t *in = &l->in[(size_t)pc * l->nword];

		memset(l->now, 0, l->nword * sizeof *l->now);
		join_successors(l, pc);
		set_bits(l->code, l->now, i->in + i->nin, i->nout, false);
		if (i->op != RT_DO_CLEAR)
			set_bits(l->code, l->now, i->in, i->nin, true);
		if (memcmp(in, l->now, l->nword * sizeof *in)) {
			memcpy(in, l->now, l->nword * sizeof *in);
			changed = true;
		}
	}
	return changed;
}

CodeLive *
code_live(Arena *a, const RtCode *c)
{
	CodeLive *l = new(a, CodeLive, 1);

	*l = (CodeLive){ .code = c, .nword = c->nreg / 64 + 1 };
	l->in = new(a, uint64_t, (size_t)c->ninsn * l->nword + 1);
	l->now = new(a, uint64_t, l->nword);
	while (pass_once(l))
		;
	return l;
}

int
code_live_at(const CodeLive *l, int pc, int *regs)
{
	int n = 0;

	for (int r = 0; r < l->code->nreg; r++)
		if (l->in[(size_t)pc * l->nword + r / 64] >> (r % 64) & 1)
			regs[n++] = r;
	return n;
}

/* ---- text ---------------------------------------------------------------------------------------------------- */

static void
print_operands(const RtCode *c, uint32_t first, int n, Buf *out)
{
	for (int i = 0; i < n; i++) {
		const uint32_t o = c->operand[first + i];

		buf_printf(out, "%sr%u%s", i ? ", " : "", RT_REG(o), o & RT_LAST ? "!" : "");
	}
}

static void
print_type(Cx *cx, const RtType *t, Buf *out)
{
	buf_puts(out, type_print(cx, t));
}

static void
print_argument(Cx *cx, const RtCode *c, const RtInsn *i, Buf *out)
{
	switch (i->op) {
	case RT_DO_KERNEL:
		buf_printf(out, " %s", c->kernel_name[i->arg]);
		break;
	case RT_DO_CALL: case RT_DO_FORK: case RT_DO_AWAIT:
		buf_printf(out, " %s", c->callee[i->arg]->name);
		break;
	case RT_DO_CALL_METHOD:
		buf_printf(out, " %s", strrchr(c->string[i->arg], '.'));
		break;
	case RT_DO_CONSTANT:
		buf_puts(out, " ");
		value_print(cx, c->constant[i->arg], out);
		break;
	case RT_DO_JUMP: case RT_DO_BRANCH: case RT_DO_LOOP: case RT_DO_NEXT: case RT_DO_ENTER:
		buf_printf(out, " -> %u", i->arg);
		break;
	case RT_DO_TUPLE:
		if (i->arg)
			print_type(cx, c->type[i->arg - 1], out);
		break;
	case RT_DO_NEW_LIST: case RT_DO_NEW_DICT: case RT_DO_NEW_OBJECT: case RT_DO_ISINSTANCE: case RT_DO_CAST:
	case RT_DO_UNSET:
		buf_puts(out, " ");
		print_type(cx, c->type[i->arg], out);
		break;
	case RT_DO_INDEX: case RT_DO_GET_ATTR: case RT_DO_SET_ATTR: case RT_DO_PROFILE:
		buf_printf(out, " [%d]", (int)i->arg);
		break;
	case RT_DO_TUPLE_SLICE:
		buf_printf(out, " [%u:%u]", i->arg >> 16, i->arg & 0xffff);
		break;
	default:
		break;
	}
}

static void
print_insn(Cx *cx, const RtCode *c, int pc, Buf *out)
{
	const RtInsn *i = &c->insn[pc];

	buf_printf(out, "%5d  ", pc);
	if (i->nout) {
		print_operands(c, i->in + i->nin, i->nout, out);
		buf_puts(out, " = ");
	}
	buf_puts(out, names[i->op]);
	print_argument(cx, c, i, out);
	buf_puts(out, i->nin ? " (" : "");
	print_operands(c, i->in, i->nin, out);
	buf_puts(out, i->nin ? ")" : "");
	if (i->line)
		buf_printf(out, "  # %s:%d", c->text + c->place[i->line].file, c->place[i->line].line);
	buf_puts(out, "\n");
}

void
code_print(Cx *cx, const RtCode *c, Buf *out)
{
	buf_printf(out, "code %s: %d arguments, %d results, %d registers\n", c->name, c->narg, c->nresult, c->nreg);
	for (int pc = 0; pc < c->ninsn; pc++)
		print_insn(cx, c, pc, out);
}
