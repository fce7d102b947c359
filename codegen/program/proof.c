/*
 * Proves the numbers of a dynamic specialization: evaluates the recorded operators (opt/special/shapes.c) over symbols.
 *
 * Each observed number has a formula that was fitted to samples.  If the rules of the operators (proof_rules.c,
 * proof_views.c) give a Size for it, the program computes it from the symbols and runs no operator.  A Size that
 * differs from a number on a sample proves nothing: the rule does not fit the node.
 */
#include "proof.h"

#include <string.h>

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static const Size *
symbol(const Prover *p, int i)
{
	const int64_t least = p->samples->range[i][0];

	return size_symbol(p->sizes, i, (SizeRange){ least > 2 ? least : 2, INT64_MAX });
}

static Sized *
argument(Prover *p, const Pattern *from)
{
	const TensorInfo *t = from->form == PATTERN_TENSOR ? from->type->tensor : NULL;
	Sized *v = t ? sized_tensor(p, t->rank) : sized_parts(p, from->n);

	for (int i = 0; t && i < t->rank; i++)
		v->dim[i] = DIM_IS_SYMBOL(t->dims[i]) ? symbol(p, DIM_INDEX(t->dims[i])) :
			    size_number(p->sizes, t->dims[i]);
	if (t) {
		v->stride = contiguous_strides(p, v);
		for (int i = 0; t->strides && i < t->rank; i++)
			v->stride[i] = size_number(p->sizes, t->strides[i]);
		return v;
	}
	if (from->form == PATTERN_VALUE)
		return sized_constant(p, from->value);
	for (int i = 0; i < from->n; i++)
		v->part[i] = argument(p, &from->part[i]);
	v->kind = from->form == PATTERN_ANY ? SIZED_UNKNOWN : SIZED_PARTS;
	v->value.tag = from->form == PATTERN_TUPLE ? RT_TUPLE : RT_LIST;
	return v;
}

/* ---- observed numbers -------------------------------------------------------------------------------------------- */

enum { FORM_ROWS, FORM_CHANNELS_LAST, FORM_OTHER };      /* as rt/sizes.c has them */

/* Computes number i on a sample. */
static bool
number_at(const Prover *p, int i, int sample, int64_t *out)
{
	const RtSizeExpr *e = &p->samples->expr.at[p->samples->number.at[i]];
	int64_t v = e->c;

	if (e->n < 0) {
		*out = p->samples->atom[e->atom[0]][sample];
		return true;
	}
	for (int k = 0; k < e->n; k++)
		v *= p->samples->atom[e->atom[k]][sample];
	*out = e->n ? v + e->d : e->d;
	return true;
}

/* Proves number *at if the Size has its values on all samples. */
static bool
see_number(Prover *p, const Size *s, int *at)
{
	const int i = (*at)++;
	int64_t want, is;

	if (i >= p->nnumber || !s || size_lost(s))
		return false;
	for (int k = 0; k < p->samples->nsample; k++)
		if (!number_at(p, i, k, &want) || !sized_value(p, s, k, &is) || is != want)
			return false;
	p->number[i] = s;
	return true;
}

/* Reads a number that is equal on all samples. */
static bool
fixed_number(Prover *p, int *at, int64_t *out)
{
	const int i = (*at)++;
	int64_t v;

	if (i >= p->nnumber)
		return false;
	*out = p->seen[i].i;
	for (int k = 0; k < p->samples->nsample; k++)
		if (!number_at(p, i, k, &v) || v != *out)
			return false;
	return true;
}

/* Do the strides differ on all samples? */
static bool
must_differ(Prover *p, const Sized *t, const Size *const *stride)
{
	bool is;

	for (int i = 0; i < t->n; i++) {
		int64_t a, b;

		if (size_const(t->stride[i], &a) && size_const(stride[i], &b) && a != b)
			return true;
	}
	for (int i = 0; i < t->n; i++)
		if (t->stride[i] != stride[i] && prove_equal(p, t->stride[i], stride[i], &is) && !is)
			return true;
	return false;
}

static bool
must_be(Prover *p, const Sized *t, const Size *const *stride)
{
	for (int i = 0; i < t->n; i++)
		if (!must_equal(p, t->stride[i], stride[i]))
			return false;
	return size_is(t->offset, 0) || must_equal(p, t->offset, size_number(p->sizes, 0));
}

/* Does a tensor of known strides have this form, for all sizes? */
static bool
has_form(Prover *p, const Sized *t, int form)
{
	const bool begins = size_is(t->offset, 0), is_image = t->n == 4 && begins;
	bool is = true;

	if (form == FORM_ROWS)
		return must_be(p, t, contiguous_strides(p, t));
	if (!begins && (!prove_equal(p, t->offset, size_number(p->sizes, 0), &is) || is))
		return false;
	if (begins && !must_differ(p, t, contiguous_strides(p, t)))
		return false;
	return form == FORM_CHANNELS_LAST ? is_image && must_be(p, t, channels_last_strides(p, t))
					  : !is_image || must_differ(p, t, channels_last_strides(p, t));
}

/* Finds the strides of a new dense tensor, whose strides on the samples are the numbers from `at` on.  Null if it is
 * not dense. */
static const Size **
dense_strides(Prover *p, const Sized *t, int at)
{
	const Size **stride = new(p->arena, const Size *, t->n + 1), *step = size_number(p->sizes, 1);
	bool *done = new(p->arena, bool, t->n + 1);

	for (int left = t->n; left > 0; left--) {
		int best = -1;

		for (int i = 0; i < t->n; i++) {
			bool is = !done[i] && at + i < p->nnumber;
			int64_t want, v;

			for (int k = 0; k < p->samples->nsample && is; k++)
				is = number_at(p, at + i, k, &want) && sized_value(p, step, k, &v) && v == want;
			if (is && (best < 0 || size_is(t->dim[i], 1)))
				best = i;
		}
		if (best < 0)
			return NULL;
		done[best] = true;
		stride[best] = step;
		step = size_times(p->sizes, step, t->dim[best]);
	}
	return stride;
}

/* Distance in observed tensors to the last one with this storage; 0: there is none. */
static int
age_of(const Prover *p, int storage)
{
	for (int i = p->storage.n; i-- > 0;)
		if (p->storage.at[i] == storage)
			return p->storage.n - i;
	return 0;
}

/* Notes the storage of an observed tensor. */
static bool
see_age(Prover *p, const Sized *v, int *at)
{
	const int age = age_of(p, v->storage);
	int64_t want;
	const bool is = fixed_number(p, at, &want) && want == age;

	vec_push(p->arena, &p->storage, v->storage);
	if (is)
		p->proved[*at - 1] = true;
	return is;
}

/* Sizes of 0 and 1 have other strides and broadcast: the proof holds from 2 on. */
static bool
demand_two(Prover *p, const Sized *v)
{
	int64_t n;

	for (int i = 0; i < v->n; i++)
		if (!size_const(v->dim[i], &n) && !must_be_at_least(p, v->dim[i], 2))
			return false;
	return true;
}

static bool
see_strides(Prover *p, Sized *v, int form, int *at)
{
	if (form != FORM_OTHER)
		return true;
	for (int i = 0; i < v->n; i++)
		if (!see_number(p, v->stride[i], at))
			return false;
	return see_number(p, v->offset, at);
}

/* Is the tensor the one that it may be instead?  Its storage tells that. */
static const Sized *
resolve(Prover *p, Sized *v, int ndim, int form, int at)
{
	int64_t age;

	at += 1 + ndim + (form == FORM_OTHER ? ndim + 1 : 0);
	return v->or && fixed_number(p, &at, &age) && age && age == age_of(p, v->or->storage) ? v->or : NULL;
}

static bool
see_tensor(Prover *p, Sized *v, int *at)
{
	const int begin = *at;
	int64_t word;
	const Sized *as;
	int form;

	if (!fixed_number(p, at, &word) || (word >> 8 & 0xff) != v->n)
		return false;
	form = (int)(word >> 16 & 0xff);
	if ((as = resolve(p, v, v->n, form, begin)))
		*v = *as;
	if (!demand_two(p, v))
		return false;
	if (!v->stride)
		v->stride = form == FORM_ROWS ? contiguous_strides(p, v) : form == FORM_CHANNELS_LAST ?
			    channels_last_strides(p, v) : dense_strides(p, v, begin + 1 + v->n);
	else if (!has_form(p, v, form))
		return false;
	for (int i = 0; i < v->n; i++)
		if (!see_number(p, v->dim[i], at))
			return false;
	if (!v->stride || !see_strides(p, v, form, at))
		return false;
	p->proved[begin] = true;
	return see_age(p, v, at);
}

static bool
see(Prover *p, Sized *v, int *at)
{
	int64_t fixed;

	switch (v->kind) {
	case SIZED_TENSOR:
		return see_tensor(p, v, at);
	case SIZED_NUMBER:
		return see_number(p, v->number, at);
	case SIZED_PARTS:
		if (v->value.tag != RT_TUPLE && !(fixed_number(p, at, &fixed) && fixed == v->n))
			return false;
		p->proved[*at - 1] |= v->value.tag != RT_TUPLE;
		for (int i = 0; i < v->n; i++)
			if (!see(p, v->part[i], at))
				return false;
		return true;
	case SIZED_VALUE: case SIZED_FIXED:
		if (!fixed_number(p, at, &fixed))
			return false;
		p->proved[*at - 1] = true;
		if (v->kind == SIZED_FIXED)
			*v = *sized_number(p, size_number(p->sizes, fixed));
		return true;
	default:
		return false;
	}
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* Evaluates a node that makes or takes apart a list or tuple. Returns false if it is none. */
static bool
prove_parts(Prover *p, const Node *n, Sized **out)
{
	const bool tuple = node_is(n, prim_TupleConstruct);
	const Sized *from = n->nin ? sized_of(p, n->in[0]) : NULL;

	if (tuple || node_is(n, prim_ListConstruct)) {
		out[0] = sized_parts(p, n->nin);
		out[0]->value.tag = tuple ? RT_TUPLE : RT_LIST;
		for (int i = 0; i < n->nin; i++)
			out[0]->part[i] = sized_of(p, n->in[i]);
		return true;
	}
	if (node_is(n, prim_TupleIndex)) {
		const Sized *at = sized_of(p, n->in[1]);
		int64_t i;

		if (from->kind == SIZED_PARTS && at->kind == SIZED_NUMBER && size_const(at->number, &i) &&
		    i >= -from->n && i < from->n)
			out[0] = from->part[i < 0 ? i + from->n : i];
		return true;
	}
	if (!node_is(n, prim_ListUnpack) && !node_is(n, prim_TupleUnpack))
		return false;
	for (int i = 0; i < n->nout && from->kind == SIZED_PARTS && from->n == n->nout; i++)
		out[i] = from->part[i];
	return true;
}

/* Notes what an observed value is. If its numbers are not proved, it is unknown from here on. */
static void
prove_observed(Prover *p, const Node *n)
{
	int at = (int)node_int(n, "index", 0);
	Sized *v = sized_of(p, n->in[0]);

	p->of[n->out[0]->id] = v;
	if (node_int(n, "index", 0) == RT_SIZES_RUN || see(p, v, &at))
		return;
	p->of[n->out[0]->id] = p->of[n->in[0]->id] = sized_new(p);
	if (!p->proof->lacks)
		p->proof->lacks = n->in[0]->node;
}

static void
note_writes(Prover *p, const Node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (node_writes_input(n, i) && sized_of(p, n->in[i])->kind == SIZED_TENSOR)
			vec_push(p->arena, &p->written, sized_of(p, n->in[i])->storage);
}

static void
prove_graph(Prover *p, const Graph *g)
{
	for NODES(n, g->top) {
		Sized **out = new(p->arena, Sized *, n->nout + 1);

		if (node_is(n, prim_Constant))
			continue;
		if (node_is(n, prim_profile)) {
			prove_observed(p, n);
			continue;
		}
		for (int i = 0; i < n->nout; i++)
			out[i] = sized_new(p);
		if (!prove_parts(p, n, out))
			prove_node(&(Call){ p, n, out });
		note_writes(p, n);
		for (int i = 0; i < n->nout; i++)
			p->of[n->out[i]->id] = out[i];
	}
}

/* ---- formulas ---------------------------------------------------------------------------------------------------- */

/* Returns a formula over atoms as a Size of the symbols. Null if an atom is not proved. */
static const Size *
expression(const Prover *p, const RtSizeExpr *e)
{
	const Size *product = size_number(p->sizes, e->n ? e->c : 0);

	for (int i = 0; i < e->n; i++) {
		if (!p->proof->atom[e->atom[i]])
			return NULL;
		product = size_times(p->sizes, product, p->proof->atom[e->atom[i]]);
	}
	return size_plus(p->sizes, product, size_number(p->sizes, e->d));
}

/* Compares each number with its formula. A number without one defines an atom. */
static void
prove_formulas(Prover *p)
{
	for (int i = 0; i < p->nnumber; i++) {
		const RtSizeExpr *e = &p->samples->expr.at[p->samples->number.at[i]];
		const Size **atom = &p->proof->atom[e->n < 0 ? e->atom[0] : 0], *is;

		if (!p->number[i])
			continue;
		if (e->n < 0 && !*atom)
			*atom = p->number[i];
		is = e->n < 0 ? *atom : expression(p, e);
		if (!is || !must_equal(p, p->number[i], is))
			p->number[i] = NULL;
	}
}

bool
proof_fits_in_words(const Sizes *z, const Proof *proof, int64_t open)
{
	int64_t symbol[SIZE_ATOMS], v;

	for (int i = 0; i < z->nsymbol; i++)
		symbol[i] = 2 * (z->open[i] && open > z->range[i][1] ? open : z->range[i][1]);
	for (int i = 0; i < proof->demand.n; i++)
		if (!size_value(proof->demand.at[i].size, symbol, &v))
			return false;
	for (int i = 0; i < z->natom; i++)
		if (!proof->atom[i] || !size_value(proof->atom[i], symbol, &v))
			return false;
	return true;
}

Proof *
sizes_prove(Dynamic *d)
{
	const Graph *g = d->spec->shapes->graph;
	const int first = function_first(d->spec->fn);
	Proof *proof = new(d->cx->arena, Proof, 1);
	Prover p = { .proof = proof, .dynamic = d, .samples = d->sample_sizes, .arena = d->cx->arena,
		     .sizes = size_table(d->cx->arena), .of = new(d->cx->arena, Sized *, g->nvalue + 1) };

	proof->sizes = p.sizes;
	p.seen = shapes_numbers(samples_shapes(d->spec), &p.nnumber);
	p.number = new(p.arena, const Size *, p.nnumber + 1);
	p.proved = new(p.arena, bool, p.nnumber + 1);
	for (int i = 0; i < p.samples->nsymbol; i++)
		proof->atom[i] = symbol(&p, i);
	for (int i = first; i < graph_ninputs(g); i++)
		p.of[graph_inputs(g)[i]->id] = argument(&p, &d->spec->pattern[i - first]);
	prove_graph(&p, g);
	prove_formulas(&p);
	for (int i = 0; i < p.nnumber; i++)
		if (p.number[i] || p.proved[i])
			proof->proved++;
		else
			proof->checked++;
	if (!proof->checked && !proof_fits_in_words(p.samples, proof, 0))
		proof_drop(proof);
	proof->wrong = false;
	return proof;
}

bool
proof_values(const Sizes *z, const Proof *proof, int64_t *s)
{
	int64_t v;

	for (int i = 0; i < proof->demand.n; i++) {
		const Demand *d = &proof->demand.at[i];

		if (!size_value(d->size, s, &v) ||
		    (d->kind == DEMAND_NATURAL ? v < 0 : (v == 0) != (d->kind == DEMAND_ZERO)))
			return false;
	}
	for (int i = z->nsymbol; i < z->natom; i++)
		if (!size_value(proof->atom[i], s, &s[i]))
			return false;
	return true;
}

void
proof_drop(Proof *p)
{
	p->checked += p->proved;
	p->proved = 0;
	p->wrong = true;
}
