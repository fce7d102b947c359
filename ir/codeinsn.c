/*
 * Instructions and their operands: the tables of a code, in which each entry is unique, the registers of values, and
 * the source places that messages show. All instructions of a node have the same place.
 */
#include "lower.h"

#include <stdlib.h>
#include <string.h>

/* ---- tables --------------------------------------------------------------------------------------- */

/* Returns the index stored for the key. Stores `next` if the key is new. */
static int
table_index(Lower *l, const char *key, int next, bool *is_new)
{
	const intptr_t have = (intptr_t)map_get(&l->index, key);

	*is_new = !have;
	if (have)
		return (int)have - 1;
	map_put(&l->index, arena_strdup(l->cx->arena, key), (void *)(intptr_t)(next + 1));
	return next;
}

/* Returns the index of the entry with that address in a table of n entries. kind: letter of the table. */
static int
index_of_address(Lower *l, char kind, const void *p, int n, bool *fresh)
{
	char key[32];

	snprintf(key, sizeof key, "%c%p", kind, p);
	return table_index(l, key, n, fresh);
}

int
index_of_kernel(Lower *l, Op *op, const char *name)
{
	bool fresh;
	int i = index_of_address(l, 'k', *(void **)&op->kernel, l->kernel.n, &fresh);

	if (fresh) {
		vec_push(l->cx->arena, &l->kernel, op->kernel);
		vec_push(l->cx->arena, &l->kernel_name, name);
		vec_push(l->cx->arena, &l->kernel_use, op_use(l->cx, op));
	}
	return i;
}

int
index_of_type(Lower *l, const Type *t)
{
	bool fresh;
	int i = index_of_address(l, 't', t, l->type.n, &fresh);

	if (fresh)
		vec_push(l->cx->arena, &l->type, t);
	return i;
}

int
index_of_callee(Lower *l, const RtCode *c)
{
	bool fresh;
	int i = index_of_address(l, 'c', c, l->callee.n, &fresh);

	if (fresh)
		vec_push(l->cx->arena, &l->callee, c);
	return i;
}

int
index_of_string(Lower *l, const char *s)
{
	bool fresh;
	int i = table_index(l, arena_printf(l->cx->arena, "s%s", s), l->string.n, &fresh);

	if (fresh)
		vec_push(l->cx->arena, &l->string, s);
	return i;
}

int
index_of_constant(Lower *l, IValue v)
{
	char key[48];
	bool fresh = true;
	int i = l->constant.n;

	if (!rt_counted(v)) {
		snprintf(key, sizeof key, "v%d:%llx", (int)v.tag, (unsigned long long)v.u.i);
		i = table_index(l, key, l->constant.n, &fresh);
	}
	if (fresh)
		vec_push(l->cx->arena, &l->constant, v);
	return i;
}

/* ---- places --------------------------------------------------------------------------------------------- */

/* Returns the name of the file in the archive: code/__torch__/net.py for net.pt:code/__torch__/net.py. */
static const char *
file_of(const Source *s)
{
	const char *code = s->name ? strstr(s->name, ":code/") : NULL;

	return code ? code + 1 : s->name;
}

/* Returns the offset of the text in the code's texts. Equal texts are stored once. */
static uint32_t
text_index(Lower *l, const char *s, int64_t n)
{
	bool fresh;
	const int at = table_index(l, arena_printf(l->cx->arena, "x%.*s", (int)n, s), l->text.n, &fresh);

	for (int64_t i = 0; fresh && i < n; i++)
		vec_push(l->cx->arena, &l->text, s[i]);
	if (fresh)
		vec_push(l->cx->arena, &l->text, 0);
	return (uint32_t)at;
}

static uint32_t
text_of(Lower *l, const char *s)
{
	return s ? text_index(l, s, (int64_t)strlen(s)) : 0;
}

/* Returns the index of the text of the line that begins at `begin`. Each line is copied once. */
static uint32_t
line_text(Lower *l, Range at, int64_t begin)
{
	char key[48];
	intptr_t known;

	snprintf(key, sizeof key, "l%p:%lld", (const void *)at.src, (long long)begin);
	known = (intptr_t)map_get(&l->index, key);
	if (!known) {
		known = (intptr_t)text_index(l, at.src->text + begin, range_line_end(at) - begin) + 1;
		map_put(&l->index, arena_strdup(l->cx->arena, key), (void *)known);
	}
	return (uint32_t)(known - 1);
}

static int place_index(Lower *l, Range at, const char *function, int caller);

static RtPlaceName
make_place_name(Lower *l, Range at, const char *function)
{
	const int64_t begin = range_line_start(at);
	const uint32_t text = line_text(l, at, begin);
	const char *dot = function ? strrchr(function, '.') : NULL;
	const int column = (int)(at.beg - begin) + 1, room = (int)(range_line_end(at) - at.beg);
	RtPlaceName p = { .file = text_of(l, file_of(at.src)), .function = text_of(l, dot ? dot + 1 : function),
			  .line_text = text, .line = range_line(at), .column = column,
			  .width = (int)(at.end - at.beg) };
	Range original;

	if (p.width > room)
		p.width = room > 0 ? room : 0;
	if (at.src->map && at.src->map->find(at.src->map, at.beg, &original))
		p.original = place_index(l, original, function, 0);
	return p;
}

enum { PLACE_KEY = 96 };

static const char *
place_key(char *key, Range at, const char *function, int caller)
{
	snprintf(key, PLACE_KEY, "p%p:%u:%u:%p:%d", (const void *)at.src, at.beg, at.end, (const void *)function,
		 caller);
	return key;
}

static int
place_index(Lower *l, Range at, const char *function, int caller)
{
	char key[PLACE_KEY];
	bool fresh;
	int i;
	RtPlaceName p;

	if (!at.src || at.beg > at.src->n || at.end > at.src->n)
		return 0;
	place_key(key, at, function, caller);
	i = table_index(l, key, l->place.n, &fresh);
	if (!fresh)
		return i;
	vec_push(l->cx->arena, &l->place, (RtPlaceName){0});
	p = make_place_name(l, at, function);
	p.caller = caller;
	l->place.at[i] = p;
	return i;
}

/* Returns the index of the place of the call that inlined a node. A frame's `what` is the inlined function, its `at`
 * the call. */
static int
caller_index(Lower *l, const Frame *f)
{
	if (!f)
		return 0;
	return place_index(l, f->at, f->up ? f->up->what : l->fn->name, caller_index(l, f->up));
}

static int
find_place(const Function *fn, Range at, const char *function, int caller)
{
	char key[PLACE_KEY];
	const intptr_t found = (intptr_t)map_get(fn->places, place_key(key, at, function, caller));

	return found ? (int)found - 1 : 0;
}

int
code_caller(const Function *fn, const Frame *f)
{
	return f ? find_place(fn, f->at, f->up ? f->up->what : fn->name, code_caller(fn, f->up)) : 0;
}

int
code_place(const Function *fn, Range at, const Frame *inlined)
{
	return find_place(fn, at, inlined ? inlined->what : fn->name, code_caller(fn, inlined));
}

/* Returns the index of the current node's place. */
static int
place_here(Lower *l)
{
	if (l->at.src != l->placed.src || l->at.beg != l->placed.beg || l->at.end != l->placed.end ||
	    l->inlined != l->placed_in) {
		l->place_now = place_index(l, l->at, l->inlined ? l->inlined->what : l->fn->name,
					   caller_index(l, l->inlined));
		l->placed = l->at;
		l->placed_in = l->inlined;
	}
	return l->place_now;
}

/* ---- registers ---------------------------------------------------------------------------------------------- */

int
reg_take(Lower *l)
{
	if (l->spare.n) {
		const int r = l->spare.at[--l->spare.n];

		l->busy.at[r] = true;
		return r;
	}
	vec_push(l->cx->arena, &l->busy, true);
	vec_push(l->cx->arena, &l->kept, false);
	return l->busy.n - 1;
}

/* Frees a register, whose value must be dead. */
void
reg_free(Lower *l, int r)
{
	l->busy.at[r] = false;
	if (!l->kept.at[r])
		vec_push(l->cx->arena, &l->spare, r);
}

uint32_t
reg_define(Lower *l, Value *v)
{
	const int wanted = l->hint[v->id] - 1;

	if (wanted >= 0 && !l->busy.at[wanted]) {
		l->busy.at[wanted] = true;
		v->reg = wanted;
	} else {
		v->reg = reg_take(l);
	}
	return (uint32_t)v->reg;
}

static bool
holds_memory(const Value *v)
{
	switch (v->type->kind) {
	case TYPE_INT: case TYPE_FLOAT: case TYPE_BOOL: case TYPE_NONE: case TYPE_DEVICE:
		return false;
	default:
		return true;
	}
}

/* Whether only the lowering reads input i, not the code at run time. */
bool
use_is_static(const Node *n, int i)
{
	const bool constant = sym_is(n->in[i]->node->kind, "prim::Constant");

	if (i == 0 && constant && node_is(n, prim_CallFunction) && node_function(n))
		return !node_attr(n, "function");
	return i == 1 && constant && node_is(n, prim_TupleIndex);
}

/* ---- instructions --------------------------------------------------------------------------------------------- */

/* Appends an instruction without operands and returns its index. */
int
insn_emit(Lower *l, RtOpcode op, uint32_t arg)
{
	const int place = place_here(l);
	const RtInsn i = { .op = (uint8_t)op, .arg = arg, .in = (uint32_t)l->operand.n, .line = place < 1 << 24 ?
		(unsigned)place & 0xffffff : 0 };

	vec_push(l->cx->arena, &l->insn, i);
	return l->insn.n - 1;
}

void
insn_in(Lower *l, uint32_t operand)
{
	RtInsn *i = &vec_last(&l->insn);

	if (i->nin == UINT16_MAX)
		fail_lacks(l->cx, l->at, "more than %d operands of one node", UINT16_MAX);
	vec_push(l->cx->arena, &l->operand, operand);
	i->nin++;
}

/* Adds an output to the last instruction. Must be called after its last insn_in. */
void
insn_out(Lower *l, uint32_t operand)
{
	RtInsn *i = &vec_last(&l->insn);

	if (i->nout == UINT16_MAX)
		fail_lacks(l->cx, l->at, "more than %d results of one node", UINT16_MAX);
	vec_push(l->cx->arena, &l->operand, operand);
	i->nout++;
}

/* Returns input i as an operand. Frees its register after the last use. */
uint32_t
insn_use(Lower *l, const Node *n, int i)
{
	const Value *v = n->in[i];

	if (v->reg < 0)
		BUG("%s uses a value without a register", n->kind->name);
	if (!l->last[n->id].input[i])
		return (uint32_t)v->reg;
	reg_free(l, v->reg);
	return (uint32_t)v->reg | RT_LAST;
}

void
insn_use_from(Lower *l, const Node *n, int first)
{
	for (int i = first; i < n->nin; i++)
		insn_in(l, insn_use(l, n, i));
}

void
insn_define_all(Lower *l, Node *n)
{
	for (int i = 0; i < n->nout; i++)
		insn_out(l, reg_define(l, n->out[i]));
}

/* Emits op out... <- in..., the form of most instructions. */
void
insn_node(Lower *l, Node *n, RtOpcode op, uint32_t arg)
{
	insn_emit(l, op, arg);
	insn_use_from(l, n, 0);
	insn_define_all(l, n);
}

void
insn_target(Lower *l, int insn)
{
	l->insn.at[insn].arg = (uint32_t)l->insn.n;
}

/* Clears and frees the registers of values that die at node n. If n is a block's param node, these die at the start of
 * the block. */
void
insn_clear_dead(Lower *l, const Node *n)
{
	const LastUse *u = &l->last[n->id];
	bool begun = false;

	for (int i = 0; i < u->dead.n; i++) {
		const Value *v = u->dead.at[i];

		if (v->reg < 0)
			continue;
		if (holds_memory(v)) {
			if (!begun)
				insn_emit(l, RT_DO_CLEAR, 0);
			begun = true;
			insn_in(l, (uint32_t)v->reg);
		}
		reg_free(l, v->reg);
	}
}

uint32_t
insn_constant(Lower *l, IValue v)
{
	const uint32_t r = (uint32_t)reg_take(l);

	insn_emit(l, RT_DO_CONSTANT, (uint32_t)index_of_constant(l, v));
	insn_out(l, r);
	return r;
}

/* ---- callees ----------------------------------------------------------------------------------------------------- */

static Function *
unchanged_copy(Cx *cx, Function *fn)
{
	if (!fn->unchanged) {
		fn->unchanged = new(cx->arena, Function, 1);
		*fn->unchanged = *fn;
		fn->unchanged->prepared = NULL;
		fn->unchanged->code = NULL;
		fn->unchanged->unchanged = fn->unchanged;
	}
	return fn->unchanged;
}

RtCode *
lower_code_of(Work *w, Function *fn)
{
	if (w->unchanged)
		fn = unchanged_copy(w->cx, fn);
	if (!fn->code) {
		fn->code = new(w->cx->arena, RtCode, 1);
		fn->code->name = fn->name;
		vec_push(w->cx->arena, &w->todo, fn);
	}
	return fn->code;
}

/* Returns the key of the method in a class's table. Unchanged code has keys of its own, so that it calls unchanged
 * code. */
const char *
lower_key_of(const Work *w, const Type *interface, const char *name)
{
	const char *key = method_key(w->cx->arena, interface, name);

	return w->unchanged ? arena_printf(w->cx->arena, "%s, unchanged", key) : key;
}

uint32_t
need_method(Lower *l, const Type *interface, const char *name)
{
	vec_push(l->cx->arena, &l->work->virtual_name, name);
	vec_push(l->cx->arena, &l->work->virtual_type, interface);
	return (uint32_t)index_of_string(l, lower_key_of(l->work, interface, name));
}
