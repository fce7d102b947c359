/*
 * Cells of recurrent layers, and their chains: which operands and links they have.
 */
#include "recurrence.h"

#include <string.h>

#define X(gate) (CELL_X + (gate))
#define S(gate) (CELL_S + (gate))
#define L(let) (CELL_LET + (let))
#define ADD(a, b) { ROW_add_Tensor, a, b }
#define SUB(a, b) { ROW_sub_Tensor, a, b }
#define MUL(a, b) { ROW_mul_Tensor, a, b }
#define SIGMOID(a) { ROW_sigmoid, a, -1 }
#define TANH(a) { ROW_tanh, a, -1 }

const Cell *
cell_find(const char *name)
{
	static const Cell cells[] = {
		{ "lstm", 4, 13, 12, 10, {
			ADD(X(0), S(0)), SIGMOID(L(0)), ADD(X(1), S(1)), SIGMOID(L(2)), ADD(X(2), S(2)), TANH(L(4)),
			ADD(X(3), S(3)), SIGMOID(L(6)), MUL(L(3), CELL_C), MUL(L(1), L(5)), ADD(L(8), L(9)),
			TANH(L(10)), MUL(L(7), L(11)) } },
		{ "gru", 3, 10, 9, -1, {
			ADD(X(0), S(0)), SIGMOID(L(0)), ADD(X(1), S(1)), SIGMOID(L(2)), MUL(L(1), S(2)),
			ADD(X(2), L(4)), TANH(L(5)), SUB(CELL_H, L(6)), MUL(L(7), L(3)), ADD(L(8), L(6)) } },
		{ "tanh", 1, 2, 1, -1, { ADD(X(0), S(0)), TANH(L(0)) } },
		{ "relu", 1, 2, 1, -1, { ADD(X(0), S(0)), { ROW_relu, L(0), -1 } } },
	};

	for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
		if (!strcmp(cells[i].name, name))
			return &cells[i];
	return NULL;
}

Recurrence
recurrence_of(const Cell *cell, bool bias, bool projected)
{
	Recurrence r = { .cell = cell, .bias = bias, .projected = projected };
	int n = 0;

#define TAKE(has, many) ((has) ? (n += (many)) - (many) : -1)
	r.y = TAKE(true, 1);
	r.c = TAKE(cell->c >= 0, 1);
	r.x = TAKE(true, cell->gates);
	r.w = TAKE(true, cell->gates);
	r.b = TAKE(bias, cell->gates);
	r.h0 = TAKE(true, 1);
	r.c0 = TAKE(cell->c >= 0, 1);
	r.p = TAKE(projected, 1);
	r.h = TAKE(true, 1);
	r.old = TAKE(cell->c >= 0, 1);
	r.s = TAKE(true, cell->gates);
	r.u = TAKE(projected, 1);
#undef TAKE
	r.noperand = n;
	return r;
}

Ref
recurrence_ref(const Recurrence *r, int code)
{
	return code >= CELL_LET ? (Ref){ .kind = REF_LET, .at = code - CELL_LET } :
	       ref_operand(code == CELL_H ? r->h : code == CELL_C ? r->old : code >= CELL_S ? r->s + code - CELL_S :
			   r->x + code - CELL_X);
}

/* ---- matching ---------------------------------------------------------------------------------------------------- */

static bool
is_ref(const Ref *r, RefKind kind, int at)
{
	return r->kind == kind && r->at == at && !r->part;
}

static bool
is_let(const Kernel *k, int at, OpRow row, RefKind a, int of, RefKind b, int by)
{
	const Let *l = at < k->let.n ? &k->let.at[at] : NULL;

	return l && l->op->row == (int)row && is_ref(&l->arg[0], a, of) && (b == REF_NONE || is_ref(&l->arg[1], b, by));
}

static bool
is_store(const Kernel *k, int at, int operand, RefKind kind, int of)
{
	return at < k->store.n && k->store.at[at].operand == operand && is_ref(&k->store.at[at].value, kind, of);
}

/* Does the link copy an operand to a local one at the first step? */
static bool
is_start(const Kernel *k, int from, int to)
{
	return k && k->first && k->naxis == k->shared + 1 && !k->nreduce && !k->let.n && k->stage.n == 1 &&
	       k->store.n == 1 && is_store(k, 0, to, REF_OPERAND, from);
}

/* Does the link sum products of two operands for `many` gates, perhaps with a bias? b: -1 without one. */
static bool
is_products(const Kernel *k, int many, int a, int w, int b)
{
	if (!k || k->first || k->naxis != k->shared + 2 || k->nreduce != 1 || k->stage.n != 2 || k->state.n != many ||
	    k->let.n != many * (1 + (b >= 0)) || k->stage.at[1].each || k->stage.at[1].let != many)
		return false;
	for (int g = 0; g < many; g++) {
		const Folded *s = &k->state.at[g];

		if (!is_let(k, g, ROW_mul_Tensor, REF_OPERAND, a, REF_OPERAND, w + g) || strcmp(s->fold->name, "sum") ||
		    !is_ref(&s->x, REF_LET, g) ||
		    (b >= 0 && !is_let(k, many + g, ROW_add_Tensor, REF_STATE, g, REF_OPERAND, b + g)))
			return false;
	}
	return true;
}

static bool
is_cell(const Kernel *k, const Recurrence *r)
{
	const Cell *cell = r->cell;
	const int nh = 2 - r->projected;         /* stores of the state */

	if (k->first || k->naxis != k->shared + 1 || k->nreduce || k->stage.n != 1 || k->let.n != cell->nlet ||
	    k->store.n != nh + (cell->c < 0 ? 0 : 2))
		return false;
	for (int i = 0; i < cell->nlet; i++) {
		const CellLet *l = &cell->let[i];
		const Ref none = { .kind = REF_NONE };
		const Ref a = recurrence_ref(r, l->a), b = l->b < 0 ? none : recurrence_ref(r, l->b);

		if (!is_let(k, i, l->row, a.kind, a.at, b.kind, b.at))
			return false;
	}
	return is_store(k, 0, r->projected ? r->u : r->h, REF_LET, cell->h) &&
	       (r->projected || is_store(k, 1, r->y, REF_LET, cell->h)) &&
	       (cell->c < 0 || (is_store(k, nh, r->old, REF_LET, cell->c) &&
				is_store(k, nh + 1, r->c, REF_LET, cell->c)));
}

/* Does the link store products of the cell's states as the state? */
static bool
is_projection(const Kernel *k, const Recurrence *r)
{
	return is_products(k, 1, r->u, r->p, -1) && k->store.n == 2 && is_store(k, 0, r->h, REF_STATE, 0) &&
	       is_store(k, 1, r->y, REF_STATE, 0);
}

/* Are local elements consecutive along an axis that is not shared, and the same ones for all points of shared axes? */
static bool
has_vectors(const Kernel *k, const Recurrence *r)
{
	for (int i = r->h; i < r->noperand; i++) {
		const Operand *o = &k->operand.at[i];
		int axes = 0;

		for (int a = 0; a < k->naxis; a++)
			if (!size_is(o->stride[a], 0))
				axes += a >= k->shared && size_is(o->stride[a], 1) ? 1 : 2;
		if (kernel_uses(k, i) && (axes != 1 || !size_is(o->offset, 0) || o->bound.n))
			return false;
	}
	return true;
}

/* Are the gates of an operand `size` elements apart, times the stride? */
static bool
are_apart(const Kernel *k, int first, int many, const Size *size)
{
	const Operand *o = &k->operand.at[first];

	for (int g = 0; g < many; g++)
		if (o[g].offset != size_times(k->sizes, size_number(k->sizes, g), size) ||
		    memcmp(o[g].stride, o->stride, sizeof o->stride) || o[g].dtype != o->dtype)
			return false;
	return true;
}

static bool
fits(const Kernel *k, Recurrence *r)
{
	const int gates = r->cell->gates;
	const Kernel *link = k;

	if (k->operand.n < r->noperand || k->shared != 2 || k->serial != 1)
		return false;
	for (; link; link = link->next)
		if (!has_vectors(link, r))
			return false;
	link = k->next;
	if (!is_start(k, r->h0, r->h) || (r->c0 >= 0 && !is_start(k->next, r->c0, r->old)))
		return false;
	r->products = r->c0 >= 0 ? link->next : link;
	r->step = r->products ? r->products->next : NULL;
	r->last = r->step && r->projected ? r->step->next : r->step;
	if (!is_products(r->products, gates, r->h, r->w, r->b) || !r->last || !is_cell(r->step, r) ||
	    (r->projected && !is_projection(r->last, r)) || r->last->next)
		return false;
	for (int g = 0; g < gates; g++)
		if (!is_store(r->products, g, r->s + g, r->bias ? REF_LET : REF_STATE, r->bias ? gates + g : g))
			return false;
	return are_apart(r->products, r->w, gates,
			 size_times(k->sizes, r->products->operand.at[r->w].stride[2], r->products->extent[2])) &&
	       are_apart(r->step, r->x, gates, r->step->extent[2]) &&
	       (!r->bias || are_apart(r->products, r->b, gates, r->products->extent[2]));
}

bool
recurrence_find(const Kernel *k, Recurrence *out)
{
	const Cell *cell = k->next && k->first ? cell_find(k->name) : NULL;

	for (int i = 0; cell && i < 4; i++) {
		*out = recurrence_of(cell, i & 1, i & 2);
		if (fits(k, out))
			return true;
	}
	return false;
}
