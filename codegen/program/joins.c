/*
 * Avoids copies in concatenations: the operands of a cat are computed directly in the cat's result.
 *
 *    a = conv(x); b = conv(y); c = cat([a, b], 1)      a and b are parts of c's memory: the convolutions write there
 *    d = cat([a, b, e], 1)                             then c is a part of d's memory, too
 *
 * Cats are processed from the last to the first. So of a growing list, as in DenseNets, the longest cat owns the memory
 * and the earlier ones are prefixes of it. An operand is moved by giving its known tensor other strides and another
 * storage. This is valid if no other value is in its storage and nothing writes to it later. Also, the nodes that make
 * and read it must be kernels that support the new layout, which is checked again. A cat still copies its other
 * operands.
 *
 * The result's memory is live as soon as its first part is computed. If this would make the arena larger, the parts
 * that are computed first are copied as before, such as the skip connections of U-nets.
 */
#include "program.h"
#include "../kernel/lower.h"

#include <string.h>

enum {
	/* least length of a part's contiguous runs; parts with shorter ones are copied, except on the GPU */
	LEAST_RUN = 64,
	MOST_TRIES = 4,
};

typedef struct Move {            /* State before a move, to undo it. */
	const Value *value;
	IValue  lay;
	Buffer *from;
	Home    home;
} Move;

typedef struct Joins {
	Plan   *plan;
	int    *lodgers;         /* number of values in each buffer */
	bool   *written;         /* whether some node updates the buffer in place, by buffer */
	int64_t least;           /* lower bound of the arena */
	bool   *is_cat; /* by node id: whether it is a cat with a kernel; such a cat accepts operands of any layout */
	Vec(Move) moves;         /* moves of the current cat */
} Joins;

/* Returns a decision. The first sample of a dynamic plan decides, and the other samples follow it. */
static bool
agreed(Joins *j, bool mine)
{
	DynamicPlan *d = j->plan->dynamic;

	if (!d)
		return mine;
	if (d->is_first) {
		vec_push(j->plan->cx->arena, &d->joins->at, mine);
		return mine;
	}
	return d->njoin < d->joins->at.n ? d->joins->at.at[d->njoin++] : mine;
}

/* ---- producers and readers --------------------------------------------------------------------------------------- */

/* Returns the product that has the group as its epilogue, or the reduction that has it as its prologue. */
static const Node *
carrier_of(Plan *p, const Node *group)
{
	for (int i = 0; i < group->nin; i++)
		if (p->epilogue[group->in[i]->node->id] == group)
			return group->in[i]->node;
	return group->out[0]->uses.at[0].node;
}

/* Whether the node can still be a kernel with the current layouts, as planned. In a plan for the GPU, a kernel that
 * runs there. */
static bool
still_fits(Plan *p, const Node *n)
{
	const Node *product = p->absorbed[n->id] ? carrier_of(p, n) : p->epilogue[n->id] ? n : NULL;

	if (p->gpu && !node_is_cuda(p, product ? product : n))
		return false;
	if (product && p->epilogue[product->id])
		return node_is_dense(p, product) &&
		       epilogue_fits(p, p->epilogue[product->id], product->out[0], dense_columns(p, product));
	return plan_is_kernel(p, n) && (!product || plan_is_kernel(p, product));
}

static bool
is_fast(Plan *p, const Node *n)
{
	return node_is_dense(p, p->absorbed[n->id] ? carrier_of(p, n) : n);
}

/* Whether yes() holds for every reader of v, including readers through lists. Cats count as yes. */
static bool
all_readers(const Joins *j, const Value *v, bool (*yes)(Plan *, const Node *))
{
	for (int i = 0; i < v->uses.n; i++) {
		const Node *user = v->uses.at[i].node;

		if (!node_is(user, prim_ListConstruct)) {
			if (!j->is_cat[user->id] && !yes(j->plan, user))
				return false;
			continue;
		}
		if (!plan_list_is_read(user->out[0]) || !all_readers(j, user->out[0], yes))
			return false;
	}
	return true;
}

static bool
is_planned_kernel(Plan *p, const Node *n)
{
	return p->absorbed[n->id] || (!n->nsub && plan_needs_step(p, n) && plan_is_kernel(p, n));
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* Returns the part of `whole` that has x's sizes and begins at index `at` of dim. */
static RtTensor *
cat_part(Plan *p, const RtTensor *whole, const RtTensor *x, int64_t dim, int64_t at)
{
	return rt_tensor_view(&p->known->rt, whole, x->ndim, x->dims, whole->strides,
			      whole->offset + at * whole->strides[dim]);
}

/* Whether the contiguous runs of a part are at least a cache line long. */
static bool
has_runs(const RtTensor *t)
{
	int64_t run = 1;
	bool more = true;

	while (more && rt_numel(t) > run) {
		more = false;
		for (int i = 0; i < t->ndim; i++)
			if (t->dims[i] > 1 && t->strides[i] == run) {
				run *= t->dims[i];
				more = true;
			}
	}
	return run * rt_dtypes[t->dtype].bytes >= LEAST_RUN;
}

/* Returns the dim of a cat, counted from the front. -1 if unknown. */
static int64_t
joined_dim(Plan *p, const Node *cat, const RtTensor *y)
{
	const Value *v = node_arg(cat, "dim");
	int64_t dim;

	if (!v || !known_int(p->known, v, &dim))
		return -1;
	return dim + (dim < 0 ? y->ndim : 0);
}

/* Returns the list of a cat with a generated kernel. Null for other nodes. */
static const Node *
operands_of(const Joins *j, const Node *n)
{
	return j->is_cat[n->id] ? n->in[0]->node : NULL;
}

/* Whether v is in the arena, fills its storage, is the only value of its buffer, and is never written to. */
static bool
is_alone(Joins *j, const Value *v)
{
	const RtTensor *t = plan_tensor(j->plan, v);
	const Buffer *b = plan_buffer(j->plan, v);

	return b && b->home == HOME_ARENA && !b->escapes && j->lodgers[b->index] == 1 && !j->written[b->index] &&
	       !t->offset && !t->quant && rt_is_dense(t) && rt_numel(t);
}

static int64_t
least_arena(Plan *p)
{
	Buffer **b = new(p->cx->arena, Buffer *, p->buffers.n + 1);
	int n = 0;

	for (int i = 0; i < p->buffers.n; i++)
		if (p->buffers.at[i]->home == HOME_ARENA)
			b[n++] = p->buffers.at[i];
	return plan_least_arena(p->cx, b, n);
}

/* Sets the layout and storage of v, and of the intermediate values of its node, to those of t. */
static void
lay(Plan *p, const Value *v, IValue t, bool part)
{
	const Node *product = p->absorbed[v->node->id] ? carrier_of(p, v->node) : NULL;

	known_at(p->known, v)->v = t;
	p->part[v->id] = part;
	if (product) {
		known_at(p->known, product->out[0])->v = t;
		p->part[product->out[0]->id] = part;
	}
}

/* Tries to move v to `part`, a part of the memory of `whole`. */
static bool
move(Joins *j, const Value *v, RtTensor *part, Buffer *whole)
{
	Plan *p = j->plan;
	Buffer *const from = plan_buffer(p, v);
	const Move m = { v, known_at(p->known, v)->v, from, from->home };
	const bool fast = is_fast(p, v->node);

	lay(p, v, rt_of(part), true);
	if (!agreed(j, (p->gpu || has_runs(part)) && still_fits(p, v->node) && is_fast(p, v->node) == fast &&
			       all_readers(j, v, still_fits))) {
		lay(p, v, m.lay, false);
		return false;
	}
	from->home = HOME_NONE;
	whole->first = from->first < whole->first ? from->first : whole->first;
	whole->last = from->last > whole->last ? from->last : whole->last;
	j->lodgers[whole->index]++;
	vec_push(p->cx->arena, &j->moves, m);
	return true;
}

static void
undo(Joins *j, Buffer *whole, Buffer was)
{
	while (j->moves.n) {
		const Move *m = &j->moves.at[--j->moves.n];

		m->from->home = m->home;
		j->lodgers[whole->index]--;
		lay(j->plan, m->value, m->lay, false);
	}
	*whole = was;
}

static bool
lies_at(Plan *p, const Value *v, const RtTensor *part)
{
	const RtTensor *t = plan_tensor(p, v);

	return t->storage == part->storage && t->offset == part->offset && rt_same_dims(t, part) &&
	       !memcmp(t->strides, part->strides, (size_t)t->ndim * sizeof *t->strides);
}

/* ---- cats -------------------------------------------------------------------------------------------------------- */

/* Handles another cat of the same block whose operands are this cat's from `first` on. The other cat's result becomes a
 * part of this one's. */
static void
take_cat(Joins *j, const Node *list, const Node *other, const RtTensor *y, int64_t dim, Buffer *whole)
{
	Plan *p = j->plan;
	const Node *some = operands_of(j, other);
	const Value *v = other->out[0];
	const RtTensor *t;
	int64_t at = 0;

	if (!some || other->block != list->block || !is_alone(j, v) || !(t = plan_tensor(p, v)) || t->ndim != y->ndim ||
	    t->dtype != y->dtype || joined_dim(p, other, t) != dim || !all_readers(j, v, is_planned_kernel))
		return;
	for (int first = 0; first + some->nin <= list->nin; first++) {
		bool same = true;
		RtTensor *part;

		for (int i = 0; i < some->nin && same; i++)
			same = list->in[first + i] == some->in[i];
		part = same ? cat_part(p, y, t, dim, at) : NULL;
		if (part && move(j, v, part, whole))
			return;
		at += plan_tensor(p, list->in[first])->dims[dim];
	}
}

/* Moves the operands that can be moved and are computed at step `since` or later. Returns the number of operands in
 * place. */
static int
take_operands(Joins *j, const Node *cat, const Node *list, int64_t dim, Buffer *whole, int since)
{
	Plan *p = j->plan;
	const RtTensor *y = plan_tensor(p, cat->out[0]);
	int64_t at = 0;
	int placed = 0;

	for (int i = 0; i < list->nin; i++) {
		const Value *v = list->in[i];
		const RtTensor *t = plan_tensor(p, v);
		RtTensor *part = cat_part(p, y, t, dim, at);

		at += t->dims[dim];
		if (lies_at(p, v, part))
			placed++;
		else if (is_alone(j, v) && v->node->block == cat->block && v->node != cat->block->param &&
			 p->step[v->node->id] >= since && t->dtype == y->dtype &&
			 (j->is_cat[v->node->id] || is_planned_kernel(p, v->node)) &&
			 all_readers(j, v, is_planned_kernel) && move(j, v, part, whole))
			placed++;
	}
	return placed;
}

/* Returns the step behind the first one at which a moved operand is computed. */
static int
behind_first(const Joins *j)
{
	int first = INT32_MAX;

	for (int i = 0; i < j->moves.n; i++) {
		const int step = j->plan->step[j->moves.at[i].value->node->id];

		first = step < first ? step : first;
	}
	return first + 1;
}

static void
join_cat(Joins *j, const Node *cat, const Node *list)
{
	Plan *p = j->plan;
	const RtTensor *y = plan_tensor(p, cat->out[0]);
	Buffer *whole = plan_buffer(p, cat->out[0]);
	const int64_t dim = joined_dim(p, cat, y);
	int since = 0;

	if (!whole || whole->home != HOME_ARENA || whole->escapes || j->written[whole->index] || dim < 0 ||
	    dim >= y->ndim || !rt_numel(y))
		return;
	for (int i = 0; i < list->nin; i++)
		if (plan_tensor(p, list->in[i])->ndim != y->ndim)    /* skips an empty operand of another rank */
			return;
	for (int tries = 0; tries < MOST_TRIES; tries++) {
		const Buffer was = *whole;
		const int placed = take_operands(j, cat, list, dim, whole, since);
		int64_t least;

		for (const Node *n = cat->prev; placed > 1 && n != cat->block->ret; n = n->prev)
			if (node_is(n, aten_cat))
				take_cat(j, list, n, y, dim, whole);
		least = j->moves.n ? least_arena(p) : j->least;
		if (agreed(j, least <= j->least && (!j->moves.n || still_fits(p, cat)))) {
			j->least = least;
			j->moves.n = 0;
			p->joined[cat->id] = placed == list->nin ? JOINED_ALL : placed ? JOINED_SOME : JOINED_NONE;
			return;
		}
		since = behind_first(j);
		undo(j, whole, was);
	}
}

static void
join_block(Joins *j, Block *b)
{
	for NODES_REV(n, b) {
		const Node *list = operands_of(j, n);

		for (int i = 0; i < n->nsub; i++)
			join_block(j, n->sub[i]);
		if (list)
			join_cat(j, n, list);
	}
}

static void
count_lodgers(Joins *j, Node *n)
{
	for (int i = 0; i < n->nout; i++) {
		const Buffer *b = plan_buffer(j->plan, n->out[i]);

		if (b)
			j->lodgers[b->index]++;
	}
}

static void
count_block(Joins *j, Block *b)
{
	count_lodgers(j, b->param);
	for NODES(n, b) {
		j->is_cat[n->id] = node_is(n, aten_cat) && node_is(n->in[0]->node, prim_ListConstruct) &&
				   n->in[0]->node->block == n->block && plan_is_kernel(j->plan, n);
		for (int i = 0; i < n->nin; i++)
			if (node_writes_input(n, i) && plan_buffer(j->plan, n->in[i]))
				j->written[plan_buffer(j->plan, n->in[i])->index] = true;
		/* A product's result has no memory if its epilogue is its only reader. */
		if (!j->plan->epilogue[n->id])
			count_lodgers(j, n);
		for (int i = 0; i < n->nsub; i++)
			count_block(j, n->sub[i]);
	}
}

void
plan_joins(Plan *p)
{
	Joins j = { .plan = p };

	if (p->dynamic && !p->dynamic->joins)
		return;
	if (p->dynamic) {
		p->dynamic->njoin = 0;
		if (p->dynamic->is_first)
			p->dynamic->joins->at.n = 0;
	}
	j.lodgers = new(p->cx->arena, int, p->buffers.n + 1);
	j.written = new(p->cx->arena, bool, p->buffers.n + 1);
	j.is_cat = new(p->cx->arena, bool, p->graph->nnode + 1);
	count_block(&j, p->graph->top);
	j.least = least_arena(p);
	join_block(&j, p->graph->top);
}
