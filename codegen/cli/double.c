/* codegen/cli/double.c - runs the interpreter in float and in double in lockstep
 *
 * Two threads run the same code on copies of the same values. At each operator the float run calls the kernel first.
 * Then the double run calls the same kernel on its own arguments.
 *
 * All floating tensors of the double run are float64 (complex128), whatever their dtype in the float run. Queries of
 * dtypes give the float run's answer. Results that depend on types alone are copied from the float run. A dtype
 * argument that names a floating dtype becomes float64 when the kernel is called. Random numbers, and results of
 * kernels that do not support double, are the float run's, widened. A kernel that rounds to float itself, as
 * torch.tensor does with numbers, rounds in both runs.
 *
 * Integers, bools, sizes and texts are the same in both runs. If an operator gives different ones, or if a
 * discontinuous one such as floor jumps, the runs have decided differently on their data. Later results cannot be
 * compared, so both runs end, and the operator is reported with the margin.
 *
 * A different tensor counts only once an operator reads it, or when it is a result, because indices that come with a
 * maximum are often unused. A second run, up to the operator that made the tensor, finds its line. Masks within the
 * body of an operator are not decisions: prelu is continuous at zero, however it is written. */
#include "cli.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef enum Side { SIDE_DOUBLE, SIDE_FLOAT } Side;

/* Properties of an operator. */
typedef struct Form {
	const char   *name;
	const Schema *schema;    /* null if it has no schema */
	/* whether it has neither float nor tensor arguments or results, so that the runs need not synchronize */
	bool plain;
	bool jumps;              /* whether it is discontinuous, so that float results may differ by a jump */
	bool draws;
	bool in_float;           /* whether its kernel does not support double */
} Form;

/* A tensor that differs between the runs and has not been read. */
typedef struct Undecided {
	RtTensor *tensor;
	Decision  decision;
	/* whether it is a mask in the body of an operator; such a mask may choose between equal values */
	bool      inner;
} Undecided;

typedef struct Pair {
	Cli            *cli;
	Copies         *copies;
	RtTwin          twin[2];         /* hooks of the interpreter, by side */
	RtCx           *rt[2];
	const RtCode   *code;
	IValue         *args[2];
	Answer          answer[2];
	pthread_mutex_t lock;
	pthread_cond_t  passed;
	Side            turn;
	bool            over[2];         /* whether the run has ended, by side */
	PtrMap          forms;           /* kernel's name -> Form */
	Buf             in_float;        /* names of operators that ran only in float */
	Decision       *decision;
	/* Number of operators that both runs have reached, and the number at which to stop. stop is 0 for no limit. */
	int64_t         nmeeting, stop;
	Vec(Undecided)  undecided;
	/* Context, instruction and arguments at which the float run waits. */
	RtCx           *at_rt;
	const RtInsn   *at;
	const IValue   *in;
	IValue         *out;
	int             status;
} Pair;

/* An operator that both runs have reached. The float run has already called its kernel. */
typedef struct Step {
	Pair         *pair;
	RtCx         *rt;                /* context of the double run, or of one of its tasks */
	const RtCode *code;
	const RtInsn *insn;
	Form         *form;
	const IValue *in;
	IValue       *out;
} Step;

/* ---- turns of the two threads ------------------------------------------------------------------- */

/* Waits while it is `side`'s turn and that run has not ended. */
static void
wait_for(Pair *p, Side side)
{
	pthread_mutex_lock(&p->lock);
	while (p->turn == side && !p->over[side])
		pthread_cond_wait(&p->passed, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

static void
give_turn(Pair *p, Side to)
{
	pthread_mutex_lock(&p->lock);
	p->turn = to;
	pthread_cond_broadcast(&p->passed);
	pthread_mutex_unlock(&p->lock);
}

/* Gives the turn to `to` and waits until that run gives it back or ends. */
static void
pass_turn(Pair *p, Side to)
{
	give_turn(p, to);
	wait_for(p, to);
}

static void
end_run(Pair *p, Side side)
{
	pthread_mutex_lock(&p->lock);
	p->over[side] = true;
	pthread_mutex_unlock(&p->lock);
	give_turn(p, side == SIDE_FLOAT ? SIDE_DOUBLE : SIDE_FLOAT);
}

/* ---- properties of operators -------------------------------------------------------------------- */

static bool
type_is_plain(const Type *t)
{
	switch (t->kind) {
	case TYPE_INT: case TYPE_BOOL: case TYPE_STR: case TYPE_NONE: case TYPE_DEVICE:
		return true;
	case TYPE_LIST: case TYPE_OPTIONAL: case TYPE_TUPLE:
		for (int i = 0; i < t->n; i++)
			if (!type_is_plain(t->of[i]))
				return false;
		return true;
	default:
		return false;
	}
}

static bool
schema_is_plain(const Schema *s)
{
	for (int i = 0; i < s->nargs; i++)
		if (!type_is_plain(s->args[i].type))
			return false;
	for (int i = 0; i < s->nrets; i++)
		if (!type_is_plain(s->rets[i].type))
			return false;
	return !s->vararg && !s->varret;
}

static Form *
form_new(Cx *cx, const char *kernel)
{
	Form *f = new(cx->arena, Form, 1);
	Op *op = op_named(cx, kernel);

	f->name = kernel;
	f->schema = op ? op_schema(cx, op) : NULL;
	f->draws = op && op->effect == EFFECT_RANDOM;
	f->plain = f->schema && !f->draws && schema_is_plain(f->schema);
	f->jumps = op_has(op && op->form == OP_ALSO ? op_by_id(cx, op->base) : op, TRAIT_JUMPS);
	return f;
}

static Form *
find_form(Pair *p, const RtCode *code, const RtInsn *n)
{
	const char *name = code->kernel_name[n->arg];
	int64_t *at = ptrmap_at(p->cli->cx->arena, &p->forms, name);

	if (!*at)
		*at = (intptr_t)form_new(p->cli->cx, name);
	return (Form *)(intptr_t)*at;
}

static int
call_kernel(RtCx *rt, const RtCode *code, const RtInsn *n, const IValue *in, IValue *out)
{
	const RtCall c = { code->kernel[n->arg], code->kernel_use[n->arg], n->nin, n->nout };

	return rt_call_using(rt, &c, in, out);
}

/* ---- comparison of tensors ---------------------------------------------------------------------- */

static bool
is_floating(RtDtype d)
{
	return rt_in_double(d) == RT_f64 || rt_in_double(d) == RT_c128;
}

const RtC128 *
tensor_numbers(RtCx *rt, RtTensor *t)
{
	RtTensor *c = rt_temp(rt, rt_to_dtype(rt, t, RT_c128));
	RtTensor *flat = c ? rt_temp(rt, rt_contiguous(rt, c)) : NULL;

	return flat ? (const RtC128 *)rt_data(flat) : NULL;
}

/* Returns the largest finite element of |t|. If `other` is not null, of |t - other|; both have the same sizes. */
static double
largest(RtCx *rt, RtTensor *t, RtTensor *other)
{
	const RtC128 *x = tensor_numbers(rt, t), *y = other ? tensor_numbers(rt, other) : NULL;
	double most = 0, size;

	for (int64_t i = 0; x && (y || !other) && i < rt_numel(t); i++) {
		size = y ? hypot(x[i].re - y[i].re, x[i].im - y[i].im) : hypot(x[i].re, x[i].im);
		if (isfinite(size) && size > most)
			most = size;
	}
	return most;
}

/* Returns the first element in which two integer tensors of the same sizes differ. -1 if there is none. */
static int64_t
first_difference(RtCx *rt, RtTensor *a, RtTensor *b)
{
	const int64_t size = rt_dtypes[a->dtype].bytes, n = rt_numel(a);
	RtTensor *x = rt_temp(rt, rt_contiguous(rt, a)), *y = x ? rt_temp(rt, rt_contiguous(rt, b)) : NULL;

	for (int64_t i = 0; y && i < n; i++)
		if (memcmp(rt_data(x) + i * size, rt_data(y) + i * size, (size_t)size))
			return i;
	return -1;
}

/* ---- margins of decisions ----------------------------------------------------------------------- */

/* Sets *x to element `at` of v, a number or a tensor that is broadcast to these sizes. */
static bool
broadcast_element(IValue v, int ndim, const int64_t *dims, int64_t at, double *x)
{
	const RtTensor *t = rt_tensor(v);
	int64_t offset = 0;

	if (v.tag == RT_DOUBLE || v.tag == RT_INT || v.tag == RT_BOOL) {
		*x = rt_number(v);
		return true;
	}
	if (!t || t->ndim > ndim || !rt_numel(t))
		return false;
	for (int d = ndim, e = t->ndim; d-- > 0; at /= dims[d])
		if (e-- > 0 && t->dims[e] != 1) {
			if (t->dims[e] != dims[d])
				return false;
			offset += at % dims[d] * t->strides[e];
		}
	*x = rt_load_f64((RtDtype)t->dtype, rt_data(t) + offset * rt_dtypes[t->dtype].bytes);
	return true;
}

/* Sets *value to the element of x whose index along dim is index[at]. `index` has x's sizes except along dim, or lacks
 * dim. Returns false if index has other sizes or the index is out of range. */
static bool
chosen(const RtTensor *x, int dim, const RtTensor *index, int64_t at, double *value)
{
	int64_t where[RT_MAX_RANK] = { 0 }, offset = 0;
	double place;

	if (index->ndim != x->ndim && index->ndim != x->ndim - 1)
		return false;
	broadcast_element(rt_of((RtTensor *)(uintptr_t)index), index->ndim, index->dims, at, &place);
	for (int d = x->ndim, e = index->ndim; d-- > 0;)
		if (d != dim || index->ndim == x->ndim) {
			where[d] = at % index->dims[--e];
			at /= index->dims[e];
		}
	where[dim] = (int64_t)place;
	for (int d = 0; d < x->ndim; d++) {
		if (where[d] < 0 || where[d] >= x->dims[d])
			return false;
		offset += where[d] * x->strides[d];
	}
	*value = rt_load_f64((RtDtype)x->dtype, rt_data(x) + offset * rt_dtypes[x->dtype].bytes);
	return true;
}

/* Handles result i as indices along the operator's dim. Sets *margin to the distance between the elements of x that the
 * two runs chose. Returns false if result i is no such index. */
static bool
apart(const Step *s, const RtTensor *x, int i, int64_t at, double *margin)
{
	const RtTensor *mine = rt_tensor(s->out[i]), *theirs = rt_tensor(s->pair->out[i]);
	const int place = s->form->schema ? schema_find(s->form->schema, "dim") : -1;
	double a, b;
	int64_t dim;

	if (!mine || mine->dtype != RT_i64 || place < 0 || place >= s->insn->nin || s->in[place].tag != RT_INT)
		return false;
	dim = s->in[place].u.i < 0 ? s->in[place].u.i + x->ndim : s->in[place].u.i;
	if (dim < 0 || dim >= x->ndim || !chosen(x, (int)dim, mine, at, &a) || !chosen(x, (int)dim, theirs, at, &b))
		return false;
	*margin = fabs(a - b);
	return true;
}

/* Handles result i as a comparison of two numbers or elements. Returns their distance relative to the larger one.
 * Negative if result i is no such comparison. */
static double
between(const Step *s, int i, int64_t at)
{
	const RtTensor *r = rt_tensor(s->out[i]);
	double x[2], size;
	int n = 0;

	if (s->out[i].tag != RT_BOOL && (!r || r->dtype != RT_b8))
		return -1;
	for (int k = 0; k < s->insn->nin && n < 2; k++)
		n += broadcast_element(s->in[k], r ? r->ndim : 0, r ? r->dims : NULL, at, &x[n]);
	size = n == 2 ? fmax(fabs(x[0]), fabs(x[1])) : 0;
	return size > 0 ? fabs(x[0] - x[1]) / size : -1;
}

/* Returns the margin of a decision at element `at` of result i, relative to the largest number involved. The margin is
 * the distance in double of the two numbers that were compared or chosen from. If there are none, or i is -1, it is the
 * distance between the two runs' operands. */
static double
margin(const Step *s, int i, int64_t at)
{
	double size = 0, difference = 0, d = i >= 0 ? between(s, i, at) : -1;

	if (d >= 0)
		return d;
	for (int k = 0; k < s->insn->nin; k++) {
		RtTensor *mine = rt_tensor(s->in[k]), *theirs = rt_tensor(s->pair->in[k]);

		if (s->in[k].tag == RT_DOUBLE) {
			size = fmax(size, fabs(s->in[k].u.f));
			difference = fmax(difference, fabs(s->in[k].u.f - s->pair->in[k].u.f));
		}
		if (!mine || !theirs || !is_floating((RtDtype)mine->dtype) || !rt_same_dims(mine, theirs))
			continue;
		size = fmax(size, largest(s->rt, mine, NULL));
		if (i >= 0 && apart(s, mine, i, at, &d))
			return size > 0 ? d / size : 0;
		difference = fmax(difference, largest(s->rt, mine, theirs));
	}
	return size > 0 ? difference / size : 0;
}

static Decision
decision_of(const Step *s, int i, int64_t at)
{
	return (Decision){ .name = s->form->name, .margin = margin(s, i, at), .meeting = s->pair->nmeeting };
}

/* Records that the runs decided differently at element `at` of result i, and ends both. i is -1 if the decision is not
 * in a result. */
static void
decide(const Step *s, int i, int64_t at)
{
	if (s->pair->decision->name)
		return;
	*s->pair->decision = decision_of(s, i, at);
	s->pair->decision->meeting = 0;
}

static bool
in_operator(const RtCode *code, const RtInsn *n)
{
	return code->place && rt_in_operator((RtVisit){ code, n->line });
}

/* Records a tensor that differs between the runs. It counts as a decision once an operator reads it. */
static void
leave_undecided(const Step *s, RtTensor *t, int i, int64_t at)
{
	const bool inner = t->dtype == RT_b8 && in_operator(s->code, s->insn);

	if (s->pair->nmeeting == s->pair->stop)
		decide(s, i, at);
	else
		vec_push(s->pair->cli->cx->arena, &s->pair->undecided,
			((Undecided){ rt_tensor_retain(t), decision_of(s, i, at), inner }));
}

/* Ends the runs if an operator reads a tensor that differs. `inner` tells whether the operator is in the body of
 * another one. */
static void
note_read(Pair *p, IValue v, bool inner)
{
	for (int64_t i = 0; v.tag == RT_LIST && i < v.u.list->n; i++)
		note_read(p, v.u.list->v[i], inner);
	for (int i = 0; i < p->undecided.n && rt_tensor(v); i++) {
		const Undecided *u = &p->undecided.at[i];

		if (u->tensor->storage == v.u.t->storage && !(u->inner && inner) && !p->decision->name)
			*p->decision = u->decision;
	}
}

/* ---- results ------------------------------------------------------------------------------------ */

/* Returns a widened copy of a tensor of the float run. Null on an error. */
static RtTensor *
in_double(RtCx *rt, RtTensor *t)
{
	RtTensor *r;

	if (!is_floating((RtDtype)t->dtype))
		return rt_clone(rt, t);
	r = rt_tensor_strided(rt, rt_in_double((RtDtype)t->dtype), t->ndim, t->dims,
		rt_overlaps_itself(t) ? NULL : t->strides);
	if (r && rt_copy_into(rt, r, t)) {
		rt_tensor_release(r);
		return NULL;
	}
	return r;
}

/* Returns the double run's counterpart of a result of the float run. For an argument of the float run, or a view of
 * one, this is the double run's own argument or a view of it. Other results are copied and widened. */
static IValue
adopted(const Step *s, IValue theirs)
{
	RtTensor *t = rt_tensor(theirs), *mine;

	if (theirs.tag == RT_LIST) {
		RtList *list = rt_list_new(s->rt, theirs.u.list->elem, theirs.u.list->n);

		for (int64_t i = 0; list && i < theirs.u.list->n; i++)
			rt_list_push(s->rt, list, adopted(s, theirs.u.list->v[i]));
		return list ? rt_ref(RT_LIST, list) : rt_none();
	}
	for (int k = 0; k < s->insn->nin && t; k++) {
		RtTensor *arg = rt_tensor(s->pair->in[k]);

		mine = rt_tensor(s->in[k]);
		if (arg == t)
			return rt_retain(s->in[k]);
		if (!arg || arg->storage != t->storage || arg->dtype != t->dtype)
			continue;
		mine = rt_tensor_view(s->rt, mine, t->ndim, t->dims, t->strides,
			t->offset - arg->offset + mine->offset);
		return mine ? rt_of(mine) : rt_none();
	}
	if (!t)
		return rt_retain(theirs);
	mine = in_double(s->rt, t);
	return mine ? rt_of(mine) : rt_none();
}

/* Copies the float run's results to the double run, and what its kernel wrote to arguments. */
static int
adopt(const Step *s)
{
	for (int k = 0; k < s->insn->nin && k < 16; k++)
		if (RT_USE_WRITES(s->code->kernel_use[s->insn->arg], k) && rt_tensor(s->in[k]) &&
				rt_tensor(s->pair->in[k]) && rt_copy_into(s->rt, s->in[k].u.t, s->pair->in[k].u.t))
			return s->rt->status;
	for (int i = 0; i < s->insn->nout; i++)
		rt_assign(&s->out[i], adopted(s, s->pair->out[i]));
	return s->rt->status;
}

/* Whether the operator is a query of a dtype: its result depends only on the types of the arguments. */
static bool
follows_from_types(const Step *s)
{
	RtCx *rt = s->rt;
	IValue *in = rt_mem_zeroed((int64_t)sizeof *in * (s->insn->nin + s->insn->nout + 1)), *out;
	RtMark m = rt_scratch_mark(rt);
	bool does = false;

	if (!in)
		return false;
	out = in + s->insn->nin;
	rt->meta = true;
	for (int k = 0; k < s->insn->nin; k++) {
		in[k] = rt_without_data(rt, s->pair->in[k]);
		does |= in[k].tag == RT_TENSOR;
	}
	does = does && !rt->status && !call_kernel(rt, s->code, s->insn, in, out);
	rt->meta = false;
	rt_clear_error(rt);
	rt_scratch_reset(rt, m);
	rt_values_drop(in, s->insn->nin + s->insn->nout);
	rt_mem_back(in);
	return does;
}

/* Returns the index of an element of a floating result that jumps although the runs' operands are close. -1 if there is
 * none. */
static int64_t
jump(const Step *s, RtTensor *mine, RtTensor *theirs)
{
	const double unit = theirs->dtype == RT_bf16 ? 0x1p-8 : theirs->dtype == RT_f16 ? 0x1p-11 : 0x1p-24;
	const RtC128 *x = tensor_numbers(s->rt, mine), *y = tensor_numbers(s->rt, theirs);
	double slack = 0;

	for (int k = 0; k < s->insn->nin; k++) {
		RtTensor *a = rt_tensor(s->in[k]), *b = rt_tensor(s->pair->in[k]);

		if (a && b && is_floating((RtDtype)a->dtype) && rt_same_dims(a, b))
			slack = fmax(slack, fmax(largest(s->rt, a, b), unit * largest(s->rt, a, NULL)));
	}
	for (int64_t i = 0; x && y && i < rt_numel(mine); i++)
		if (fabs(x[i].re - y[i].re) > 16 * slack + unit)
			return i;
	return -1;
}

/* Makes result i agree in both runs, or records a decision. The result is a tensor in both. */
static int
settle_tensor(const Step *s, int i, IValue *v, RtTensor *theirs)
{
	RtTensor *mine = v->u.t;
	const RtDtype want = rt_in_double((RtDtype)theirs->dtype);
	int64_t at = -1;

	if (!rt_same_dims(mine, theirs) || is_floating((RtDtype)mine->dtype) != is_floating(want)) {
		leave_undecided(s, mine, -1, 0);
	} else if (is_floating(want)) {
		if (mine->dtype != want && !(mine = rt_to_dtype(s->rt, mine, want)))
			return RT_ERROR;
		if (mine != v->u.t)
			rt_assign(v, rt_of(mine));
		if (s->form->jumps && (at = jump(s, mine, theirs)) >= 0)
			decide(s, i, at);
	} else if (mine->dtype != theirs->dtype) {
		leave_undecided(s, mine, -1, 0);
	} else if ((at = first_difference(s->rt, mine, theirs)) >= 0) {
		leave_undecided(s, mine, i, at);
	}
	return s->rt->status;
}

static int settle(const Step *s, int i, IValue *v, IValue theirs);

static int
settle_all(const Step *s, IValue *v, const IValue *theirs, int64_t n)
{
	int status = RT_OK;

	for (int64_t k = 0; k < n && !status; k++)
		status = settle(s, -1, &v[k], theirs[k]);
	return status;
}

/* Makes the values *v of the double run and `theirs` of the float run agree in everything but floats, or records a
 * decision. */
static int
settle(const Step *s, int i, IValue *v, IValue theirs)
{
	const bool same_kind = v->tag == theirs.tag && (v->tag != RT_LIST || v->u.list->n == theirs.u.list->n);

	if (!same_kind) {
		decide(s, -1, 0);
		return RT_OK;
	}
	switch ((RtTag)v->tag) {
	case RT_TENSOR:
		return settle_tensor(s, i, v, theirs.u.t);
	case RT_INT: case RT_BOOL:
		if (v->u.i != theirs.u.i && !follows_from_types(s))
			decide(s, i, 0);
		*v = theirs;
		return RT_OK;
	case RT_STR:
		rt_assign(v, rt_retain(theirs));
		return RT_OK;
	case RT_LIST:
		return settle_all(s, v->u.list->v, theirs.u.list->v, theirs.u.list->n);
	case RT_TUPLE:
		return settle_all(s, v->u.tuple->v, theirs.u.tuple->v, theirs.u.tuple->n);
	default:
		return RT_OK;
	}
}

/* ---- calls -------------------------------------------------------------------------------------- */

/* Returns the dtype of the first floating tensor among the results. RT_NDTYPE if there is none. */
static RtDtype
result_dtype(const Step *s)
{
	for (int i = 0; i < s->insn->nout; i++)
		if (rt_tensor(s->pair->out[i]) && is_floating((RtDtype)s->pair->out[i].u.t->dtype))
			return rt_in_double((RtDtype)s->pair->out[i].u.t->dtype);
	return RT_NDTYPE;
}

/* Returns argument k for the double run's kernel. A dtype argument becomes `want`. Default limits are those of the
 * float run's dtype. With `ints`, integers become doubles. */
static IValue
kernel_argument(const Step *s, int k, RtDtype want, bool ints)
{
	const Schema *schema = s->form->schema;
	const Arg *a = schema && k < schema->nargs ? &schema->args[k] : NULL;
	const RtTensor *theirs = rt_tensor(s->pair->in[0]);
	RtTensor *t = rt_tensor(s->in[k]);

	if (a && a->word && !strcmp(a->word, "ScalarType") && want != RT_NDTYPE)
		return rt_int(want);
	if (ints && t && rt_dtypes[t->dtype].category == 'I' && (t = rt_temp(s->rt, rt_to_dtype(s->rt, t, RT_f64))))
		return rt_of(t);
	if (a && rt_is_none(s->in[k]) && theirs && !strcmp(a->name, "posinf"))
		return rt_double(rt_largest((RtDtype)theirs->dtype));
	if (a && rt_is_none(s->in[k]) && theirs && !strcmp(a->name, "neginf"))
		return rt_double(-rt_largest((RtDtype)theirs->dtype));
	return s->in[k];
}

static int
call_in_double(const Step *s, RtDtype want, bool ints)
{
	IValue *in = rt_scratch(s->rt, (int64_t)sizeof *in * (s->insn->nin + 1));

	for (int k = 0; in && k < s->insn->nin; k++)
		in[k] = kernel_argument(s, k, want, ints);
	for (int i = 0; i < s->insn->nout; i++)
		rt_assign(&s->out[i], rt_none());
	return in && !s->rt->status ? call_kernel(s->rt, s->code, s->insn, in, s->out) : RT_ERROR;
}

/* Whether a floating result is narrower than `want`. Kernels that make floats from integers return the default
 * dtype. */
static bool
is_narrow(const Step *s, RtDtype want)
{
	for (int i = 0; i < s->insn->nout; i++) {
		const RtTensor *t = rt_tensor(s->out[i]);

		if (t && is_floating((RtDtype)t->dtype) && t->dtype != want)
			return true;
	}
	return false;
}

static RtGenerator *
generator(RtCx *rt, const RtInsn *n, const IValue *in)
{
	for (int k = 0; k < n->nin; k++)
		if (in[k].tag == RT_GENERATOR)
			return in[k].u.gen;
	return rt->gen;
}

/* Returns whether both runs have drawn the same random numbers. Sets the double run's generator to the state of the
 * float run's. */
static bool
same_draws(const Step *s)
{
	RtGenerator *mine = generator(s->rt, s->insn, s->in);
	const RtGenerator *theirs = generator(s->pair->at_rt, s->insn, s->pair->in);
	const bool same = mine->at == theirs->at && mine->has_normal == theirs->has_normal &&
		mine->normal == theirs->normal && !memcmp(mine->state, theirs->state, sizeof mine->state);

	mine->seed = theirs->seed;
	memcpy(mine->state, theirs->state, sizeof mine->state);
	mine->at = theirs->at;
	mine->has_normal = theirs->has_normal;
	mine->normal = theirs->normal;
	return same;
}

static void
note_in_float(const Step *s)
{
	if (s->form->in_float)
		return;
	s->form->in_float = true;
	buf_printf(&s->pair->in_float, "%s%s", s->pair->in_float.n ? ", " : "", s->form->name);
}

static int
step_in_double(const Step *s)
{
	const RtDtype want = result_dtype(s);
	int status = call_in_double(s, want, false);

	if (!status && want != RT_NDTYPE && !s->form->draws && is_narrow(s, want) && call_in_double(s, want, true)) {
		rt_clear_error(s->rt);
		status = call_in_double(s, want, false);
	}
	if (s->form->draws && (!same_draws(s) || status)) {
		rt_clear_error(s->rt);
		return adopt(s);
	}
	if (status) {
		rt_clear_error(s->rt);
		note_in_float(s);
		return adopt(s);
	}
	for (int i = 0; i < s->insn->nout && !status; i++)
		status = settle(s, i, &s->out[i], s->pair->out[i]);
	return status;
}

static int
part(RtCx *rt)
{
	return rt_raise(rt, "the runs in float and in double part here");
}

/* Implements RtTwin.kernel for the double run. The double run reaches an operator first, so that it copies constants
 * before the float run writes to them. */
static int
kernel_in_double(RtCx *rt, const RtCode *code, const RtInsn *n, const IValue *in, IValue *out)
{
	Pair *p = rt->twin->arg;
	const Step s = { .pair = p, .rt = rt, .code = code, .insn = n, .form = find_form(p, code, n), .in = in,
			 .out = out };
	int status;

	if (s.form->plain)
		return call_kernel(rt, code, n, in, out);
	for (int k = 0; k < n->nin && p->undecided.n; k++)
		note_read(p, in[k], in_operator(code, n));
	if (p->decision->name)
		return part(rt);
	pass_turn(p, SIDE_FLOAT);
	p->nmeeting++;
	if (p->over[SIDE_FLOAT] || p->at != n)
		return part(rt);
	if (p->status)
		return p->status == RT_LACKS ? rt_lacks(rt, "%s", p->at_rt->message) :
			rt_raise_as(rt, p->at_rt->cls, "%s", p->at_rt->message);
	status = step_in_double(&s);
	return p->decision->name ? part(rt) : status;
}

static int
kernel_in_float(RtCx *rt, const RtCode *code, const RtInsn *n, const IValue *in, IValue *out)
{
	Pair *p = rt->twin->arg;
	const int status = call_kernel(rt, code, n, in, out);

	if (find_form(p, code, n)->plain || p->over[SIDE_DOUBLE] || p->decision->name)
		return status;
	p->at_rt = rt;
	p->at = n;
	p->in = in;
	p->out = out;
	p->status = status;
	pass_turn(p, SIDE_DOUBLE);
	return status || !p->decision->name ? status : part(rt);
}

static IValue
constant_in_float(RtCx *rt, IValue v)
{
	(void)rt;
	return rt_retain(v);
}

static IValue
constant_in_double(RtCx *rt, IValue v)
{
	return copies_of(((Pair *)rt->twin->arg)->copies, v);
}

/* ---- both runs ---------------------------------------------------------------------------------- */

static void
run_side(Pair *p, Side side)
{
	p->rt[side]->twin = &p->twin[side];
	p->answer[side] = answer_of(p->cli, p->rt[side], p->code, p->args[side]);
	p->rt[side]->twin = NULL;
	end_run(p, side);
}

static void *
run_double(void *arg)
{
	run_side(arg, SIDE_DOUBLE);
	rt_thread_end();
	rt_mem_end();
	return NULL;
}

static void
no_warning(RtCx *rt, const char *text, int64_t n)
{
	(void)rt;
	(void)text;
	(void)n;
}

/* Runs the float run on this thread and the double run on another one. */
static void
run_both(Pair *p)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->passed, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, RT_STACK_BYTES);
	if (pthread_create(&thread, &attr, run_double, p))
		fail(p->cli->cx, (Range){ 0 }, "no thread can be started");
	wait_for(p, SIDE_DOUBLE);
	run_side(p, SIDE_FLOAT);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	pthread_cond_destroy(&p->passed);
	pthread_mutex_destroy(&p->lock);
}

/* Copies the arguments for both runs, because the interpreter may write to them. */
static void
make_args(Pair *p, Model *m, const RtArrays *in)
{
	RtCx *rt = p->rt[SIDE_FLOAT];
	const int self = function_first(m->fn);
	int n;

	p->args[SIDE_FLOAT] = model_args(p->cli, m, rt, in, &n);
	p->args[SIDE_DOUBLE] = new(p->cli->cx->arena, IValue, n + 1);
	for (int i = 0; i < n; i++) {
		IValue *arg = &p->args[SIDE_FLOAT][i];

		if (i >= self)
			rt_assign(arg, rt_deep_copy(rt, *arg));
		if (rt->status)
			fail_runtime(p->cli, rt);
		p->args[SIDE_DOUBLE][i] = copies_of(p->copies, *arg);
	}
}

/* Handles undecided tensors among the results: they count as read. */
static void
read_results(const Pair *p, const DoubleAnswer *a)
{
	Buf why = { 0 };

	for (int i = 0; i < a->of_double.result.n && i < a->of_float.result.n; i++) {
		const RtArray *mine = &a->of_double.result.at[i], *theirs = &a->of_float.result.at[i];

		if (p->undecided.n && !p->decision->name && !why.n && mine->tensor && !is_floating(mine->dtype) &&
				!answer_same_array(p->rt[SIDE_FLOAT], mine, theirs, &why))
			*p->decision = p->undecided.at[0].decision;
	}
	buf_free(&why);
}

DoubleAnswer
double_answer(Cli *cli, Model *m, const RtCode *code, const RtArrays *in, int64_t stop)
{
	Pair p = { .cli = cli, .code = code, .turn = SIDE_DOUBLE, .stop = stop };
	jmp_buf *const catch = cli->cx->catch;
	DoubleAnswer a = { 0 };

	p.decision = &a.decision;
	p.twin[SIDE_FLOAT] = (RtTwin){ kernel_in_float, constant_in_float, &p };
	p.twin[SIDE_DOUBLE] = (RtTwin){ kernel_in_double, constant_in_double, &p };
	p.copies = copies_in_double(cli->cx);
	for (int side = 0; side < 2; side++) {
		p.rt[side] = model_context(cli);
		rt_threads(p.rt[side], 1);                   /* tasks run on the thread that forked them */
	}
	p.rt[SIDE_DOUBLE]->warn = no_warning;
	make_args(&p, m, in);
	cli->cx->catch = NULL;    /* an error on the double run's thread ends the command there */
	run_both(&p);
	cli->cx->catch = catch;
	a.of_float = p.answer[SIDE_FLOAT];
	a.of_double = p.answer[SIDE_DOUBLE];
	read_results(&p, &a);
	for (int i = 0; i < p.undecided.n; i++)
		rt_tensor_release(p.undecided.at[i].tensor);
	if (p.in_float.n)
		a.in_float = arena_text(cli->cx->arena, &p.in_float);
	buf_free(&p.in_float);
	copies_end(p.copies);
	return a;
}

void
double_free(DoubleAnswer *a)
{
	answer_free(&a->of_float);
	answer_free(&a->of_double);
}
