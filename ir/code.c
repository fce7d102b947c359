/*
 * Graph -> RtCode: what the interpreter runs and what a failed guard resumes in.
 *
 * Registers.  A value gets a register where it is made and gives it back at its last use (lastuse.c), where the
 * operand's top bit tells the interpreter to move and not to copy.  Values die early, so memory does too.  What dies
 * without a use (a branch that does not need it, an output nobody wants) is cleared, if it can hold memory.
 *
 * An If's outputs have registers that are set aside before its branches; a value made in a branch for that output goes
 * there at once, else a move at the branch's end brings it.  A Loop's carried values live in one register each, from
 * the start through every trip to the output; the body's value goes there at once when the old one is dead by then.
 *
 *      BRANCH c -> else                         MOVE carried <- inits, again <- cond;  CONSTANT index <- 0
 *      ... MOVE outs; JUMP end            head: LOOP index, max, again -> end
 * else: ... MOVE outs                           ... MOVE carried, again <- the body's;  NEXT index -> head
 * end:                                    end:
 *
 * Functions that are called are lowered once each; a reference to a Code may be taken before it is filled in, so
 * recursion needs no care.  Methods called through an interface are lowered for all classes that implement it.
 */
#include "ir.h"
#include <stdlib.h>
#include <string.h>

Graph *(*function_compiler)(Cx *, Function *);
bool (*range_original)(Range, Range *original);

/* All that one code_lower lowers. */
typedef struct Work {
	Cx         *cx;
	LackingVec *lacking;
	Vec(Function *) todo;
	Vec(const char *) virtual_name;        /* methods called through interfaces */
	Vec(const Type *) virtual_type;
	Range       counted;     /* a place whose line is known: the next one is mostly near */
	int         counted_line;
} Work;

typedef struct Handler {         /* of a with-scope */
	int          enter;      /* its RT_DO_ENTER */
	const Value *object;
	Range        at;
} Handler;

typedef struct Lower {
	Work    *w;
	Cx      *cx;
	Function *fn;
	Graph   *g;
	RtCode  *code;
	LastUse *last;
	int     *hint;           /* by value id: the register where it is wanted, + 1 */
	Vec(bool) busy;          /* by register: holds a value that lives */
	Vec(bool) kept;          /* by register: belongs to an If or Loop in progress */
	Vec(int) spare;          /* registers to be given out again */
	Range    at;             /* of the node being lowered */
	Frame   *inlined;
	Range    placed;         /* the same of the latest instruction, and the index of its place */
	Frame   *placed_in;
	int      place_now;
	Map      index;          /* of all tables: a letter and the thing -> its index + 1 */
	Vec(RtInsn) insn;
	Vec(uint32_t) operand;
	Vec(RtKernel *) kernel;
	Vec(const char *) kernel_name;
	Vec(IValue) constant;
	Vec(const RtType *) type;
	Vec(const RtCode *) callee;
	Vec(const char *) string;
	Vec(RtPlaceName) place;
	Vec(Handler) handler;    /* still to be written */
} Lower;

/* ---- tables --------------------------------------------------------------------------------------- */

/* The index that was given to the key; `next` when it is new. */
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

static int
kernel_index(Lower *l, RtKernel *k, const char *name)
{
	char key[32];
	bool fresh;
	int i;

	snprintf(key, sizeof key, "k%p", *(void **)&k);
	i = table_index(l, key, l->kernel.n, &fresh);
	if (fresh) {
		vec_push(l->cx->arena, &l->kernel, k);
		vec_push(l->cx->arena, &l->kernel_name, name);
	}
	return i;
}

static int
type_index(Lower *l, const Type *t)
{
	char key[32];
	bool fresh;
	int i;

	snprintf(key, sizeof key, "t%p", (const void *)t);
	i = table_index(l, key, l->type.n, &fresh);
	if (fresh)
		vec_push(l->cx->arena, &l->type, t);
	return i;
}

static int
callee_index(Lower *l, const RtCode *c)
{
	char key[32];
	bool fresh;
	int i;

	snprintf(key, sizeof key, "c%p", (const void *)c);
	i = table_index(l, key, l->callee.n, &fresh);
	if (fresh)
		vec_push(l->cx->arena, &l->callee, c);
	return i;
}

static int
string_index(Lower *l, const char *s)
{
	bool fresh;
	int i = table_index(l, arena_printf(l->cx->arena, "s%s", s), l->string.n, &fresh);

	if (fresh)
		vec_push(l->cx->arena, &l->string, s);
	return i;
}

static int
constant_index(Lower *l, IValue v)
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

/* "net.pt:code/__torch__/net.py" -> "code/__torch__/net.py" */
static const char *
file_of(const Source *s)
{
	const char *code = s->name ? strstr(s->name, ":code/") : NULL;

	return code ? code + 1 : s->name;
}

static const char *
line_text(Lower *l, Range at)
{
	const char *s = at.src->text;
	int64_t from = at.beg, to = at.beg;

	while (from > 0 && s[from - 1] != '\n')
		from--;
	while (to < at.src->n && s[to] != '\n')
		to++;
	return arena_strndup(l->cx->arena, s + from, to - from);
}

/* range_line, counted from the place before: a file's instructions come in its order. */
static int
line_of(Lower *l, Range at)
{
	Work *w = l->w;

	if (w->counted.src != at.src)
		w->counted_line = range_line(at);
	else if (w->counted.beg <= at.beg)
		for (uint32_t i = w->counted.beg; i < at.beg; i++)
			w->counted_line += at.src->text[i] == '\n';
	else
		for (uint32_t i = at.beg; i < w->counted.beg; i++)
			w->counted_line -= at.src->text[i] == '\n';
	w->counted = at;
	return w->counted_line;
}

static int place_index(Lower *l, Range at, const char *function, int caller);

static RtPlaceName
place_of(Lower *l, Range at, const char *function)
{
	const char *text = line_text(l, at);
	const int column = range_column(at), room = (int)strlen(text) - column + 1;
	RtPlaceName p = { .file = file_of(at.src), .function = function, .text = text, .line = line_of(l, at),
			  .column = column, .width = (int)(at.end - at.beg) };
	Range original;

	if (p.width > room)
		p.width = room > 0 ? room : 0;
	if (range_original && range_original(at, &original) && original.src && original.src != at.src)
		p.original = place_index(l, original, function, 0);
	return p;
}

static int
place_index(Lower *l, Range at, const char *function, int caller)
{
	char key[96];
	bool fresh;
	int i;
	RtPlaceName p;

	if (!at.src || at.beg > at.src->n || at.end > at.src->n)
		return 0;
	snprintf(key, sizeof key, "p%p:%u:%u:%p:%d", (const void *)at.src, at.beg, at.end, (const void *)function, caller);
	i = table_index(l, key, l->place.n, &fresh);
	if (!fresh)
		return i;
	vec_push(l->cx->arena, &l->place, (RtPlaceName){0});
	p = place_of(l, at, function);
	p.caller = caller;
	l->place.at[i] = p;
	return i;
}

/* A frame's `what` is the function that was inlined, its `at` the call. */
static int
caller_index(Lower *l, const Frame *f)
{
	if (!f)
		return 0;
	return place_index(l, f->at, f->up ? f->up->what : l->fn->name, caller_index(l, f->up));
}

/* Instructions of one node have one place. */
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

static int
take_register(Lower *l)
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

/* The value in it is dead. */
static void
free_register(Lower *l, int r)
{
	l->busy.at[r] = false;
	if (!l->kept.at[r])
		vec_push(l->cx->arena, &l->spare, r);
}

static uint32_t
define(Lower *l, Value *v)
{
	const int wanted = l->hint[v->id] - 1;

	if (wanted >= 0 && !l->busy.at[wanted]) {
		l->busy.at[wanted] = true;
		v->reg = wanted;
	} else {
		v->reg = take_register(l);
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

/* Is the input read while lowering, and not when the code runs? */
static bool
is_static_use(const Node *n, int i)
{
	const bool constant = sym_is(n->in[i]->node->kind, "prim::Constant");

	if (i == 0 && constant && node_is(n, "prim::CallFunction") && node_function(n))
		return !node_attr(n, "function");
	return i == 1 && constant && node_is(n, "prim::TupleIndex");
}

/* ---- instructions --------------------------------------------------------------------------------------------- */

/* Appends an instruction without operands; its index. */
static int
emit(Lower *l, RtOpcode op, uint32_t arg)
{
	const RtInsn i = { .op = (uint16_t)op, .arg = arg, .in = (uint32_t)l->operand.n, .out = (uint32_t)l->operand.n,
			   .line = (uint32_t)place_here(l) };

	vec_push(l->cx->arena, &l->insn, i);
	return l->insn.n - 1;
}

static void
add_in(Lower *l, uint32_t operand)
{
	RtInsn *i = &vec_last(&l->insn);

	if (i->nin == UINT16_MAX)
		fail_lacks(l->cx, l->at, "more than %d operands of one node", UINT16_MAX);
	vec_push(l->cx->arena, &l->operand, operand);
	i->nin++;
	i->out++;
}

/* After the last add_in. */
static void
add_out(Lower *l, uint32_t operand)
{
	RtInsn *i = &vec_last(&l->insn);

	if (i->nout == UINT16_MAX)
		fail_lacks(l->cx, l->at, "more than %d results of one node", UINT16_MAX);
	vec_push(l->cx->arena, &l->operand, operand);
	i->nout++;
}

/* Input i of the node as an operand; its register is free afterwards when this is the last use. */
static uint32_t
use(Lower *l, const Node *n, int i)
{
	const Value *v = n->in[i];

	if (v->reg < 0)
		BUG("%s uses a value without a register", n->kind->name);
	if (!l->last[n->id].input[i])
		return (uint32_t)v->reg;
	free_register(l, v->reg);
	return (uint32_t)v->reg | RT_LAST;
}

static void
use_from(Lower *l, const Node *n, int first)
{
	for (int i = first; i < n->nin; i++)
		add_in(l, use(l, n, i));
}

static void
define_all(Lower *l, Node *n)
{
	for (int i = 0; i < n->nout; i++)
		add_out(l, define(l, n->out[i]));
}

/* op out... <- in...: the shape of most instructions. */
static void
emit_node(Lower *l, Node *n, RtOpcode op, uint32_t arg)
{
	emit(l, op, arg);
	use_from(l, n, 0);
	define_all(l, n);
}

static void
set_target(Lower *l, int insn)
{
	l->insn.at[insn].arg = (uint32_t)l->insn.n;
}

/* Releases what dies with node n (or at the start of the block whose param node n is). */
static void
clear_dead(Lower *l, const Node *n)
{
	const LastUse *u = &l->last[n->id];
	bool begun = false;

	for (int i = 0; i < u->dead.n; i++) {
		const Value *v = u->dead.at[i];

		if (v->reg < 0)
			continue;
		if (holds_memory(v)) {
			if (!begun)
				emit(l, RT_DO_CLEAR, 0);
			begun = true;
			add_in(l, (uint32_t)v->reg);
		}
		free_register(l, v->reg);
	}
}

static uint32_t
load_constant(Lower *l, IValue v)
{
	const uint32_t r = (uint32_t)take_register(l);

	emit(l, RT_DO_CONSTANT, (uint32_t)constant_index(l, v));
	add_out(l, r);
	return r;
}

static void
lacks(Lower *l, const Node *n, const char *name, const char *schema)
{
	if (!l->w->lacking)
		fail_lacks(l->cx, n->at, "no kernel for %s", name);
	for (int i = 0; i < l->w->lacking->n; i++)
		if (!strcmp(l->w->lacking->at[i].name, name))
			return;
	vec_push(l->cx->arena, l->w->lacking, ((Lacking){ name, n->at, schema }));
}

/* What is lacking still makes its outputs, so that lowering goes on and finds the rest. */
static void
lower_lacking(Lower *l, Node *n, const char *name, const char *schema)
{
	lacks(l, n, name, schema);
	emit_node(l, n, RT_DO_RAISE, 0);
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

static RtCode *
code_of(Work *w, Function *fn)
{
	if (!fn->code) {
		fn->code = new(w->cx->arena, RtCode, 1);
		fn->code->name = fn->name;
		vec_push(w->cx->arena, &w->todo, fn);
	}
	return fn->code;
}

static void
emit_call(Lower *l, Node *n, Function *callee, int first)
{
	emit(l, RT_DO_CALL, (uint32_t)callee_index(l, code_of(l->w, callee)));
	use_from(l, n, first);
	define_all(l, n);
}

static void
lower_call_method(Lower *l, Node *n)
{
	const char *name = node_str(n, "name");
	const Type *self = n->in[0]->type;
	Function *m = node_function(n);

	if (m) {
		emit_call(l, n, m, 0);
		return;
	}
	vec_push(l->cx->arena, &l->w->virtual_name, name);
	vec_push(l->cx->arena, &l->w->virtual_type, self);
	emit_node(l, n, RT_DO_CALL_METHOD, (uint32_t)string_index(l, name));
}

static void
lower_call_function(Lower *l, Node *n)
{
	Function *fn = node_function(n);

	if (fn)
		emit_call(l, n, fn, !node_attr(n, "function"));
	else
		emit_node(l, n, RT_DO_CALL_VALUE, 0);
}

static void
lower_fork(Lower *l, Node *n)
{
	Function *fn = new(l->cx->arena, Function, 1);

	fn->name = arena_printf(l->cx->arena, "%s.<fork>", l->fn->name);
	fn->graph = node_attr(n, "Subgraph")->g;
	emit_node(l, n, RT_DO_FORK, (uint32_t)callee_index(l, code_of(l->w, fn)));
}

static int
find_arg(const Schema *s, const char *name)
{
	for (int i = 0; i < s->nargs; i++)
		if (!strcmp(s->args[i].name, name))
			return i;
	return -1;
}

/* An in-place or out= row over a body: the body runs, then the row's kernel stores what it gave. */
static void
lower_stored_body(Lower *l, Node *n, Op *base)
{
	const Schema *row = op_schema(l->cx, n->op), *of = op_schema(l->cx, base);
	uint32_t *in = new(l->cx->arena, uint32_t, of->nargs + 1), *result = new(l->cx->arena, uint32_t, of->nrets + 1);
	int none = -1;

	for (int i = 0; i < of->nargs; i++) {
		const int at = find_arg(row, of->args[i].name);

		if (at < 0 && none < 0)
			none = (int)load_constant(l, rt_none());
		in[i] = at < 0 ? (uint32_t)none : (uint32_t)n->in[at]->reg;
	}
	emit(l, RT_DO_CALL, (uint32_t)callee_index(l, code_of(l->w, base->function)));
	for (int i = 0; i < of->nargs; i++)
		add_in(l, in[i]);
	for (int i = 0; i < of->nrets; i++)
		add_out(l, result[i] = (uint32_t)take_register(l));
	if (none >= 0)
		free_register(l, none);
	emit(l, RT_DO_KERNEL, (uint32_t)kernel_index(l, n->op->kernel, n->op->id));
	for (int i = 0; i < of->nrets; i++) {
		add_in(l, result[i] | RT_LAST);
		free_register(l, (int)result[i]);
	}
	use_from(l, n, 0);
	define_all(l, n);
}

/* The inputs past the schema's become one list.  A value that is also a fixed argument must not be moved away. */
static int
pack_varargs(Lower *l, Node *n, int nfixed)
{
	const int list = take_register(l);

	emit(l, RT_DO_NEW_LIST, (uint32_t)type_index(l, &rt_type_any));
	for (int i = nfixed; i < n->nin; i++)
		add_in(l, (uint32_t)n->in[i]->reg);
	add_out(l, (uint32_t)list);
	return list;
}

static const char *
full_name(Lower *l, const Op *op)
{
	return *op->overload ? arena_printf(l->cx->arena, "%s.%s", op->name, op->overload) : op->name;
}

/* Sorting objects calls their __lt__, which the kernel looks up. */
static void
need_order(Lower *l, const Node *n)
{
	const Type *t = n->nin ? n->in[0]->type : NULL;

	if (!t || t->kind != TYPE_LIST || t->of[0]->kind != TYPE_CLASS ||
	    (!node_is(n, "aten::sort") && !node_is(n, "aten::sorted")))
		return;
	vec_push(l->cx->arena, &l->w->virtual_name, "__lt__");
	vec_push(l->cx->arena, &l->w->virtual_type, t->of[0]);
}

static void
lower_kernel(Lower *l, Node *n)
{
	const Schema *s = op_schema(l->cx, n->op);
	const int nfixed = s->vararg ? s->nargs : n->nin;
	const int list = s->vararg ? pack_varargs(l, n, nfixed) : -1;

	need_order(l, n);
	emit(l, RT_DO_KERNEL, (uint32_t)kernel_index(l, n->op->kernel, full_name(l, n->op)));
	for (int i = 0; i < nfixed; i++)
		add_in(l, s->vararg ? (uint32_t)n->in[i]->reg : use(l, n, i));
	if (list >= 0)
		add_in(l, (uint32_t)list | RT_LAST);
	define_all(l, n);
	if (list < 0)
		return;
	free_register(l, list);
	emit(l, RT_DO_CLEAR, 0);
	for (int i = 0; i < n->nin; i++)
		if (l->last[n->id].input[i])
			add_in(l, RT_REG(use(l, n, i)));
	if (!vec_last(&l->insn).nin)
		l->insn.n--;
}

static void
lower_op(Lower *l, Node *n)
{
	Op *body = op_body(l->cx, n->op);

	if (body && !body->function)
		lower_lacking(l, n, full_name(l, n->op), n->op->text);
	else if (body && body != n->op)
		lower_stored_body(l, n, body);
	else if (body)
		emit_call(l, n, body->function, 0);
	else if (n->op->kernel)
		lower_kernel(l, n);
	else
		lower_lacking(l, n, full_name(l, n->op), n->op->text);
}

/* ---- values, tuples, lists, objects ----------------------------------------------------------------------------------- */

static void
lower_constant(Lower *l, Node *n)
{
	Function *fn = node_function(n);
	IValue v = rt_none();
	RtFunction *f;

	if (l->last[n->id].unused[0])
		return;
	if (fn) {
		f = rt_function_new(cx_rt(l->cx), code_of(l->w, fn), 0);
		if (!f)
			BUG("no memory for a function value");
		v = rt_ref(RT_FUNCTION, f);
	} else if (!value_constant(n->out[0], &v)) {
		BUG("a Constant has no value");
	}
	emit_node(l, n, RT_DO_CONSTANT, (uint32_t)constant_index(l, v));
}

static void
lower_uninitialized(Lower *l, Node *n)
{
	emit_node(l, n, RT_DO_CONSTANT, (uint32_t)constant_index(l, rt_none()));
}

static void
lower_move(Lower *l, Node *n)
{
	emit_node(l, n, RT_DO_MOVE, 0);
}

static void
lower_tuple(Lower *l, Node *n)
{
	const Type *t = n->out[0]->type;

	emit_node(l, n, RT_DO_TUPLE, t->field ? (uint32_t)type_index(l, t) + 1 : 0);
}

static void
lower_tuple_unpack(Lower *l, Node *n)
{
	emit_node(l, n, RT_DO_UNPACK, 0);
}

static void
lower_tuple_index(Lower *l, Node *n)
{
	int64_t i;

	if (!value_int(n->in[1], &i)) {
		if (n->op)
			lower_op(l, n);
		else
			lower_lacking(l, n, "prim::TupleIndex with an index that is no constant", "");
		return;
	}
	if (i < 0)
		i += n->in[0]->type->n;
	emit(l, RT_DO_INDEX, (uint32_t)(int32_t)i);
	add_in(l, use(l, n, 0));
	define_all(l, n);
}

static void
lower_tuple_slice(Lower *l, Node *n)
{
	const int64_t lo = node_int(n, "beg", 0), hi = node_int(n, "end", 0);

	if (lo < 0 || hi < lo || hi > UINT16_MAX)
		fail_lacks(l->cx, n->at, "a slice %lld:%lld of a tuple", (long long)lo, (long long)hi);
	emit_node(l, n, RT_DO_TUPLE_SLICE, (uint32_t)(lo << 16 | hi));
}

static void
lower_list(Lower *l, Node *n)
{
	emit_node(l, n, RT_DO_NEW_LIST, (uint32_t)type_index(l, n->out[0]->type->n ? n->out[0]->type->of[0]
									       : &rt_type_any));
}

static void
lower_list_unpack(Lower *l, Node *n)
{
	emit_node(l, n, RT_DO_LIST_UNPACK, 0);
}

static void
lower_dict(Lower *l, Node *n)
{
	emit_node(l, n, RT_DO_NEW_DICT, (uint32_t)type_index(l, n->out[0]->type));
}

static int
slot_of(Lower *l, const Node *n)
{
	const Type *t = n->in[0]->type;
	const int slot = t->cls ? rt_slot(t->cls, node_str(n, "name")) : -1;

	if (slot < 0)
		fail(l->cx, n->at, "%s has no attribute %s", type_python(l->cx, t), node_str(n, "name"));
	return slot;
}

static void
lower_get_attr(Lower *l, Node *n)
{
	emit_node(l, n, RT_DO_GET_ATTR, (uint32_t)slot_of(l, n));
}

static void
lower_set_attr(Lower *l, Node *n)
{
	emit_node(l, n, RT_DO_SET_ATTR, (uint32_t)slot_of(l, n));
}

static void
lower_object(Lower *l, Node *n)
{
	emit_node(l, n, RT_DO_NEW_OBJECT, (uint32_t)type_index(l, n->out[0]->type));
}

static void
lower_isinstance(Lower *l, Node *n)
{
	const Attr *a = node_attr(n, "types");
	const Type *t = a->ntypes == 1 ? a->types[0] : type_union(l->cx, a->types, a->ntypes);

	emit_node(l, n, RT_DO_ISINSTANCE, (uint32_t)type_index(l, t));
}

static void
lower_raise(Lower *l, Node *n)
{
	uint32_t none = n->nin < 2 ? load_constant(l, rt_none()) : 0;

	emit(l, RT_DO_RAISE, 0);
	use_from(l, n, 0);
	if (n->nin < 2) {
		add_in(l, none | RT_LAST);
		free_register(l, (int)none);
	}
}

static void
lower_wait(Lower *l, Node *n)
{
	emit_node(l, n, RT_DO_WAIT, 0);
}

static void
lower_profile(Lower *l, Node *n)
{
	emit_node(l, n, RT_DO_PROFILE, (uint32_t)node_int(n, "index", 0));
}

/* ---- with ---------------------------------------------------------------------------------------------------------------- */

/* object.method(args...) -> result; arguments and result are registers. */
static void
emit_method(Lower *l, const Value *object, const char *method, const uint32_t *args, int nargs, uint32_t result)
{
	const Type *t = object->type;
	Function *m = t->kind == TYPE_CLASS ? class_method(class_info(t), method) : NULL;

	if (m) {
		emit(l, RT_DO_CALL, (uint32_t)callee_index(l, code_of(l->w, m)));
	} else {
		vec_push(l->cx->arena, &l->w->virtual_name, method);
		vec_push(l->cx->arena, &l->w->virtual_type, t);
		emit(l, RT_DO_CALL_METHOD, (uint32_t)string_index(l, method));
	}
	add_in(l, (uint32_t)object->reg);
	for (int i = 0; i < nargs; i++)
		add_in(l, args[i]);
	add_out(l, result);
}

/* The exit method is given what an exception would be described by: nothing. */
static void
emit_exit_call(Lower *l, const Value *object, uint32_t none, uint32_t result)
{
	const uint32_t args[3] = { none, none, none };

	emit(l, RT_DO_CONSTANT, (uint32_t)constant_index(l, rt_none()));
	add_out(l, none);
	emit_method(l, object, "__exit__", args, 3, result);
}

/* The scope is open before __enter__ runs, as PyTorch has it; prim::Exit keeps the object alive till the end. */
static void
lower_enter(Lower *l, Node *n)
{
	const Handler h = { emit(l, RT_DO_ENTER, 0), n->in[0], n->at };

	add_in(l, (uint32_t)n->in[0]->reg);
	vec_push(l->cx->arena, &l->handler, h);
	emit_method(l, n->in[0], "__enter__", NULL, 0, define(l, n->out[0]));
	if (l->last[n->id].input[0])
		free_register(l, n->in[0]->reg);
}

static void
lower_exit(Lower *l, Node *n)
{
	const uint32_t none = (uint32_t)take_register(l), result = (uint32_t)take_register(l);

	emit(l, RT_DO_EXIT, 0);
	emit_exit_call(l, n->in[0], none, result);
	free_register(l, (int)none);
	free_register(l, (int)result);
	if (n->nout) {
		emit(l, RT_DO_CONSTANT, (uint32_t)constant_index(l, rt_none()));
		define_all(l, n);
	}
	if (!l->last[n->id].input[0])
		return;
	emit(l, RT_DO_CLEAR, 0);
	add_in(l, RT_REG(use(l, n, 0)));
}

/* Behind the function's end.  Objects of outer scopes are still wanted, so the registers used here are new ones. */
static void
write_handlers(Lower *l)
{
	uint32_t none, result;

	if (!l->handler.n)
		return;
	l->spare.n = 0;
	none = (uint32_t)take_register(l);
	result = (uint32_t)take_register(l);
	for (int i = 0; i < l->handler.n; i++) {
		const Handler h = l->handler.at[i];

		l->at = h.at;
		set_target(l, h.enter);
		emit_exit_call(l, h.object, none, result);
		emit(l, RT_DO_RERAISE, 0);
	}
}

/* ---- control flow ------------------------------------------------------------------------------------------------------------ */

static void lower_nodes(Lower *l, Block *b);

/* Values that the block's own nodes make for its outputs want the registers that the outputs go to. */
static void
want(Lower *l, const Block *b, int i, int reg)
{
	const Value *v = b->ret->in[i];

	if (v->node->block == b && v->node != b->param && !l->hint[v->id])
		l->hint[v->id] = reg + 1;
}

/* Does v stay where it is, as one of the outputs? */
static bool
is_in_place(const Block *b, const Value *v, const int *reg, int n)
{
	for (int i = 0; i < n; i++)
		if (b->ret->in[i] == v && reg[i] == v->reg)
			return true;
	return false;
}

/* reg[i] <- the block's output i, all at once; -1: nobody needs it. */
static void
move_outputs(Lower *l, Block *b, const int *reg, int n)
{
	const int at = emit(l, RT_DO_MOVE, 0);

	for (int i = 0; i < n; i++) {
		const Value *v = b->ret->in[i];

		if (reg[i] >= 0 && v->reg != reg[i])
			add_in(l, is_in_place(b, v, reg, n) ? (uint32_t)v->reg : use(l, b->ret, i));
	}
	for (int i = 0; i < n; i++)
		if (reg[i] >= 0 && b->ret->in[i]->reg != reg[i])
			add_out(l, (uint32_t)reg[i]);
	for (int i = 0; i < n; i++)
		if (reg[i] >= 0)
			l->busy.at[reg[i]] = true;
	if (!l->insn.at[at].nin)
		l->insn.n = at;
}

/* Sets v's register aside until the construct has been lowered; kept: whether it was before. */
static int
keep_register(Lower *l, Value *v, bool *kept)
{
	const int r = (int)define(l, v);

	*kept = l->kept.at[r];
	l->kept.at[r] = true;
	return r;
}

static void
lower_branch(Lower *l, Node *n, int which, const int *reg)
{
	Block *b = n->sub[which];

	for (int i = 0; i < n->nout; i++)
		if (reg[i] >= 0) {
			l->busy.at[reg[i]] = false;
			want(l, b, i, reg[i]);
		}
	b->param->pc = l->insn.n;
	clear_dead(l, b->param);
	lower_nodes(l, b);
	b->ret->pc = l->insn.n;
	move_outputs(l, b, reg, n->nout);
}

/* Both branches start from the same registers: what the first one freed is busy again. */
static void
restore_busy(Lower *l, const bool *busy, int n)
{
	l->spare.n = 0;
	for (int r = l->busy.n - 1; r >= 0; r--) {
		l->busy.at[r] = r < n && busy[r];
		if (!l->busy.at[r] && !l->kept.at[r])
			vec_push(l->cx->arena, &l->spare, r);
	}
}

static void
lower_if(Lower *l, Node *n)
{
	int *reg = new(l->cx->arena, int, n->nout + 1), to_else, to_end, nreg;
	bool *kept = new(l->cx->arena, bool, n->nout + 1), *busy;

	to_else = emit(l, RT_DO_BRANCH, 0);
	add_in(l, use(l, n, 0));
	for (int i = 0; i < n->nout; i++)
		reg[i] = l->last[n->id].unused[i] ? -1 : keep_register(l, n->out[i], &kept[i]);
	nreg = l->busy.n;
	busy = new(l->cx->arena, bool, nreg + 1);
	memcpy(busy, l->busy.at, nreg * sizeof *busy);
	lower_branch(l, n, 0, reg);
	to_end = emit(l, RT_DO_JUMP, 0);
	set_target(l, to_else);
	restore_busy(l, busy, nreg);
	lower_branch(l, n, 1, reg);
	set_target(l, to_end);
	for (int i = 0; i < n->nout; i++)
		if (reg[i] >= 0)
			l->kept.at[reg[i]] = kept[i];
}

/* The registers of the condition (0) and of the carried values; an initial value that dies here gives its own. */
static void
place_carried(Lower *l, Node *n, int *reg, bool *kept)
{
	reg[0] = take_register(l);
	l->kept.at[reg[0]] = true;
	for (int i = 0; i < n->nout; i++) {
		const Value *init = n->in[2 + i];

		if (l->last[n->id].input[2 + i] && !l->kept.at[init->reg] && !l->hint[n->out[i]->id]) {
			reg[1 + i] = n->out[i]->reg = init->reg;
			l->kept.at[init->reg] = true;
		} else {
			reg[1 + i] = keep_register(l, n->out[i], &kept[1 + i]);
		}
	}
}

static void
move_inits(Lower *l, Node *n, const int *reg)
{
	emit(l, RT_DO_MOVE, 0);
	for (int i = 0; i <= n->nout; i++)
		if (n->in[1 + i]->reg != reg[i])
			add_in(l, use(l, n, 1 + i));
	for (int i = 0; i <= n->nout; i++)
		if (n->in[1 + i]->reg != reg[i])
			add_out(l, (uint32_t)reg[i]);
}

static void
lower_loop(Lower *l, Node *n)
{
	Block *b = loop_body(n);
	int *reg = new(l->cx->arena, int, n->nout + 1), index, head;
	bool *kept = new(l->cx->arena, bool, n->nout + 1);

	place_carried(l, n, reg, kept);
	index = b->param->out[0]->reg = take_register(l);
	l->kept.at[index] = true;
	move_inits(l, n, reg);
	emit(l, RT_DO_CONSTANT, (uint32_t)constant_index(l, rt_int(0)));
	add_out(l, (uint32_t)index);
	head = b->param->pc = emit(l, RT_DO_LOOP, 0);
	add_in(l, (uint32_t)index);
	add_in(l, (uint32_t)n->in[0]->reg);
	add_in(l, (uint32_t)reg[0]);
	l->busy.at[reg[0]] = false;
	for (int i = 0; i <= n->nout; i++) {
		if (i)
			b->param->out[i]->reg = reg[i];
		want(l, b, i, reg[i]);
	}
	clear_dead(l, b->param);
	lower_nodes(l, b);
	l->at = n->at;
	b->ret->pc = l->insn.n;
	move_outputs(l, b, reg, n->nout + 1);
	emit(l, RT_DO_NEXT, (uint32_t)head);
	add_in(l, (uint32_t)index);
	add_out(l, (uint32_t)index);
	set_target(l, head);
	l->kept.at[index] = false;
	for (int i = 0; i <= n->nout; i++)
		l->kept.at[reg[i]] = kept[i];
	free_register(l, index);
	free_register(l, reg[0]);
}

/* ---- functions ------------------------------------------------------------------------------------------------------------------ */

static const struct { const char *kind; void (*lower)(Lower *, Node *); } kinds[] = {
	{ "prim::Constant", lower_constant },
	{ "prim::If", lower_if },
	{ "prim::Loop", lower_loop },
	{ "prim::CallMethod", lower_call_method },
	{ "prim::CallFunction", lower_call_function },
	{ "prim::GetAttr", lower_get_attr },
	{ "prim::SetAttr", lower_set_attr },
	{ "prim::CreateObject", lower_object },
	{ "prim::TupleConstruct", lower_tuple },
	{ "prim::TupleUnpack", lower_tuple_unpack },
	{ "prim::TupleIndex", lower_tuple_index },
	{ "prim::TupleSlice", lower_tuple_slice },
	{ "prim::ListConstruct", lower_list },
	{ "prim::ListUnpack", lower_list_unpack },
	{ "prim::DictConstruct", lower_dict },
	{ "prim::isinstance", lower_isinstance },
	{ "prim::unchecked_cast", lower_move },
	{ "prim::unchecked_unwrap_optional", lower_move },
	{ "prim::Uninitialized", lower_uninitialized },
	{ "prim::RaiseException", lower_raise },
	{ "prim::fork", lower_fork },
	{ "prim::awaitable", lower_fork },
	{ "aten::wait", lower_wait },
	{ "aten::awaitable_wait", lower_wait },
	{ "prim::Enter", lower_enter },
	{ "prim::Exit", lower_exit },
	{ "prim::profile", lower_profile },
};

static void
lower_node(Lower *l, Node *n)
{
	l->at = n->at;
	l->inlined = n->inlined;
	n->pc = l->insn.n;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (node_is(n, kinds[i].kind)) {
			kinds[i].lower(l, n);
			clear_dead(l, n);
			n->end = l->insn.n;
			return;
		}
	if (n->op)
		lower_op(l, n);
	else
		lower_lacking(l, n, n->kind->name, "");
	clear_dead(l, n);
	n->end = l->insn.n;
}

static void
lower_nodes(Lower *l, Block *b)
{
	cx_enter(l->cx, b->ret->at);
	for NODES(n, b)
		lower_node(l, n);
	cx_leave(l->cx);
}

static void
forget_registers(Block *b)
{
	for (int i = 0; i < b->param->nout; i++)
		b->param->out[i]->reg = -1;
	for NODES(n, b) {
		n->pc = -1;
		for (int i = 0; i < n->nout; i++)
			n->out[i]->reg = -1;
		for (int i = 0; i < n->nsub; i++)
			forget_registers(n->sub[i]);
	}
}

static void
finish(Lower *l)
{
	RtCode *c = l->code;

	c->insn = l->insn.at;
	c->operand = l->operand.at;
	c->kernel = l->kernel.at;
	c->kernel_name = l->kernel_name.at;
	c->constant = l->constant.at;
	c->type = l->type.at;
	c->callee = l->callee.at;
	c->string = l->string.at;
	c->place = l->place.at;
	c->ninsn = l->insn.n;
	c->nreg = l->busy.n;
	c->narg = graph_ninputs(l->g);
	c->nresult = l->g->top->ret->nin;
	c->nkernel = l->kernel.n;
	c->nconstant = l->constant.n;
	c->ntype = l->type.n;
	c->ncallee = l->callee.n;
	c->nstring = l->string.n;
	c->nplace_name = l->place.n;
}

static Graph *
graph_of(Cx *cx, Function *fn)
{
	if (fn->prepared)
		return fn->prepared;
	if (!fn->graph && function_compiler)
		fn->graph = function_compiler(cx, fn);
	if (!fn->graph)
		BUG("%s has no graph", fn->name);
	return fn->graph;
}

static void
lower_function(Work *w, Function *fn)
{
	Graph *g = graph_of(w->cx, fn);
	Lower l = { .w = w, .cx = w->cx, .fn = fn, .g = g, .code = fn->code, .index = { .arena = w->cx->arena } };

	forget_registers(g->top);
	l.last = last_uses(g, is_static_use);
	l.hint = new(w->cx->arena, int, g->nvalue + 1);
	vec_push(w->cx->arena, &l.place, (RtPlaceName){0});
	for (int i = 0; i < graph_ninputs(g); i++)
		define(&l, graph_inputs(g)[i]);
	g->top->param->pc = 0;
	clear_dead(&l, g->top->param);
	lower_nodes(&l, g->top);
	l.at = g->top->ret->at;
	g->top->ret->pc = emit(&l, RT_DO_RETURN, 0);
	use_from(&l, g->top->ret, 0);
	write_handlers(&l);
	finish(&l);
}

/* ---- methods called through interfaces -------------------------------------------------------------------------------------------- */

static int
method_index(const RtClass *k, const char *name)
{
	for (int i = 0; i < k->nmethod; i++)
		if (!strcmp(k->method[i], name))
			return i;
	return -1;
}

static void
add_method(Work *w, RtClass *k, const char *name, Function *m)
{
	const char **names = new(w->cx->arena, const char *, k->nmethod + 1);
	const RtCode **codes = new(w->cx->arena, const RtCode *, k->nmethod + 1);

	for (int i = 0; i < k->nmethod; i++) {
		names[i] = k->method[i];
		codes[i] = k->code[i];
	}
	names[k->nmethod] = name;
	codes[k->nmethod++] = code_of(w, m);
	k->method = names;
	k->code = codes;
}

/* Every class that may be behind the interface gets the method; what is new goes on the list of what is to be lowered. */
static void
resolve_virtual(Work *w, const Type *interface, const char *name)
{
	const Type *t;

	for (int i = 0; (t = type_named_at(w->cx, i)); i++) {
		Function *m = t->kind == TYPE_CLASS && t->cls->info ? class_method(t->cls->info, name) : NULL;
		int at;

		if (!m || (interface->kind == TYPE_INTERFACE && !type_is_subtype(w->cx, t, interface)) ||
		    (interface->kind == TYPE_CLASS && t != interface))
			continue;
		at = method_index(t->cls, name);
		if (at < 0)
			add_method(w, t->cls, name, m);
		else if (t->cls->code[at] != code_of(w, m))
			t->cls->code[at] = m->code;
	}
}

RtCode *
code_lower(Cx *cx, Function *fn, LackingVec *lacking)
{
	Work w = { .cx = cx, .lacking = lacking };
	RtCode *code;

	if (fn->code)
		return fn->code;
	code = code_of(&w, fn);
	for (int done = 0, resolved = 0; done < w.todo.n || resolved < w.virtual_name.n;) {
		if (done < w.todo.n) {
			lower_function(&w, w.todo.at[done++]);
		} else {
			resolve_virtual(&w, w.virtual_type.at[resolved], w.virtual_name.at[resolved]);
			resolved++;
		}
	}
	return code;
}

int
value_register(const Value *v)
{
	return v->reg;
}
