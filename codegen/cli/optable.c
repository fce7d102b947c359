/*
 * codegen/cli/optable.c - finds what operators support by running their kernels
 *
 * Only a kernel's code determines which dtypes it accepts. So the kernel runs on small tensors of ones of each dtype,
 * and accepts the dtypes for which it does not raise. Other arguments are their defaults or small numbers. Several
 * ranks, sizes, flags and dtypes of the further tensors are tried. If all these raise, the kernel runs on tensors
 * without data (cx->meta), for which kernels stop once the result's type is known. If an operator raises in all trials,
 * its dtypes are unknown. This happens if it needs related sizes or texts.
 */
#include "cli.h"

#include <string.h>

enum { SIDE = 2, RANKS = 6 };

typedef struct Trial {
	RtCx    rt;
	const Schema *schema;
	RtDtype dtype;
	int     rank;
	int64_t size;            /* value in lists of ints without a default */
	bool    flag;            /* value of bools without a default */
	/* Dtypes of the tensors. ALIKE: all of `dtype`. INDICES: the first one of `dtype`, the others int64. CONDITION:
	 * the first one bool, the others of `dtype`. */
	enum { ALIKE, INDICES, CONDITION, KINDS } kind;
	bool    meta;            /* whether the tensors have no data */
	bool    makes;    /* whether the operator makes tensors from nothing, so that its argument `dtype` is tried */
	int     ntensor;         /* number of tensors made so far */
} Trial;

static IValue
trial_tensor(Trial *t)
{
	const int64_t dims[RANKS] = { SIDE, SIDE, SIDE, SIDE, SIDE, SIDE };
	const int at = t->ntensor++;
	RtTensor *r;

	t->rt.meta = t->meta;
	r = rt_tensor_new(&t->rt, at && t->kind == INDICES ? RT_i64 : !at && t->kind == CONDITION ? RT_b8 : t->dtype,
			  t->rank, dims);
	t->rt.meta = false;
	if (r && !t->meta)
		rt_fill(&t->rt, r, rt_int(1));
	return r ? rt_of(r) : rt_none();
}

static IValue
trial_list(Trial *t, const Arg *a)
{
	const int kind = a->type->of[0]->kind;
	const int n = a->size_hint ? a->size_hint : kind == TYPE_TENSOR ? 2 : t->rank;
	RtList *l = rt_list_new(&t->rt, a->type->of[0], n);

	for (int i = 0; l && i < n; i++)
		rt_list_push(&t->rt, l, kind == TYPE_TENSOR ? trial_tensor(t) : kind == TYPE_FLOAT ? rt_double(1) :
			     rt_int(t->size));
	return l ? rt_ref(RT_LIST, l) : rt_none();
}

/* Generates an argument. Returns false if no value of its type can be generated. */
static bool
trial_argument(Trial *t, const Arg *a, IValue *out)
{
	if (t->makes && a->word && !strcmp(a->word, "ScalarType")) {
		*out = rt_int(t->dtype);
		return true;
	}
	if (a->has_default || a->type->kind == TYPE_OPTIONAL) {
		*out = a->has_default ? rt_retain(a->deflt) : rt_none();
		return true;
	}
	switch (a->type->kind) {
	case TYPE_TENSOR: *out = trial_tensor(t); return true;
	case TYPE_INT:    *out = rt_int(strncmp(a->name, "dim", 3) != 0); return true;
	case TYPE_NUMBER: *out = rt_int(1); return true;
	case TYPE_FLOAT:  *out = rt_double(1); return true;
	case TYPE_BOOL:   *out = rt_bool(t->flag); return true;
	case TYPE_LIST:
		if (a->type->of[0]->kind != TYPE_TENSOR && a->type->of[0]->kind != TYPE_INT &&
		    a->type->of[0]->kind != TYPE_FLOAT)
			return false;
		*out = trial_list(t, a);
		return true;
	default:
		return false;
	}
}

static bool
takes(Trial *t, RtKernel *kernel, Arena *arena)
{
	IValue *in = new(arena, IValue, t->schema->nargs + 1), *out = new(arena, IValue, t->schema->nrets + 1);
	bool ok = true;

	t->ntensor = 0;
	for (int i = 0; i < t->schema->nargs && ok; i++)
		ok = trial_argument(t, &t->schema->args[i], &in[i]);
	ok = ok && (t->kind == ALIKE || t->ntensor > 1);
	if (ok) {
		t->rt.meta = t->meta;
		ok = rt_call_kernel(&t->rt, kernel, in, out, t->schema->nrets) == RT_OK;
		t->rt.meta = false;
		rt_clear_error(&t->rt);
		for (int i = 0; ok && i < t->schema->nrets; i++)
			rt_release(out[i]);
	}
	for (int i = 0; i < t->schema->nargs; i++)
		rt_release(in[i]);
	return ok;
}

static bool
is_of_tensors(const Arg *a)
{
	return a->type->kind == TYPE_TENSOR || (a->type->kind == TYPE_LIST && a->type->of[0]->kind == TYPE_TENSOR);
}

static bool
any_of_tensors(const Arg *a, int n)
{
	for (int i = 0; i < n; i++)
		if (is_of_tensors(&a[i]))
			return true;
	return false;
}

static uint32_t
taken(Trial *t, RtKernel *kernel)
{
	Arena scratch = { 0 };
	uint32_t set = 0;

	for (t->dtype = 0; t->dtype < RT_NDTYPE; t->dtype++)
		if (!strchr("Q?", rt_dtypes[t->dtype].category) && takes(t, kernel, &scratch))
			set |= 1u << t->dtype;
	arena_free(&scratch);
	return set;
}

uint32_t
op_dtypes(Cx *cx, Op *op)
{
	Op *base = op->form == OP_ALSO ? op_by_id(cx, op->base) : op;
	const Schema *s = base && base->kernel ? op_schema(cx, base) : NULL;
	Trial t = { .schema = s, .makes = s && !any_of_tensors(s->args, s->nargs) };
	uint32_t set = 0;

	if (!s || base->effect == EFFECT_IO || s->vararg || s->varret ||
	    (t.makes && !any_of_tensors(s->rets, s->nrets)))
		return 0;
	if (rt_cx_init(&t.rt))
		return 0;
	for (int ask = 0; ask < 2 && !set; ask++)
		for (int choice = 0; choice < RANKS * KINDS * 4; choice++) {
			t.meta = ask;
			t.rank = choice % RANKS;
			t.kind = choice / RANKS % KINDS;
			t.flag = choice / (RANKS * KINDS) & 1;
			t.size = choice / (RANKS * KINDS) & 2 ? SIDE : 1;
			set |= taken(&t, base->kernel);
		}
	rt_cx_free(&t.rt);
	return set;
}

/* ---- what operators become in specialized code ------------------------------------------------------------------- */

static bool
is_view(const Schema *s)
{
	return s->nrets == 1 && s->rets[0].alias && !s->rets[0].alias->write;
}

bool
op_is_sparse(const Op *op)
{
	return !strcmp(op->family, "sparse");
}

const char *
op_specialized(Cx *cx, Op *op)
{
	if (op_is_sparse(op))
		return "";
	if (op->form == OP_MAP || op_is_row(op))
		return "kernel";
	if (op->form == OP_BODY || op_is_expanded(op))
		return "its parts";
	if (op_is_formed(op))
		return "other kernels";
	if (op->form == OP_ALSO)
		return "as its base, when nobody else sees the write";
	return is_view(op_schema(cx, op)) ? "no code: a view" : "runtime call";
}
