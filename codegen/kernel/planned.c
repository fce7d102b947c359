/*
 * Answers questions of kernels to a plan: which tensor a value is, where it is, and which choices the samples of a
 * dynamic specialization share.
 */
#include "kernel.h"

const RtTensor *
plan_tensor(Plan *p, const Value *v)
{
	const Known *k = known_at(p->known, v);

	return k->is && k->v.tag == RT_TENSOR ? k->v.u.t : NULL;
}

Buffer *
plan_buffer_of(Plan *p, const RtStorage *meta)
{
	return (Buffer *)(intptr_t)ptrmap_get(&p->buffer_at, meta);
}

Buffer *
plan_buffer(Plan *p, const Value *v)
{
	const RtTensor *t = plan_tensor(p, v);

	return t ? plan_buffer_of(p, t->storage) : NULL;
}

bool
plan_is_planned(Plan *p, const Value *v)
{
	return plan_buffer(p, v) != NULL;
}

bool
plan_is_part(const Plan *p, const Value *v)
{
	return p->part && p->part[v->id];
}

bool
node_is_map(const Node *n)
{
	return node_is(n, prim_FusionGroup) || (n->op && n->op->form == OP_MAP);
}

bool
plan_list_is_read(const Value *list)
{
	for (int i = 0; i < list->uses.n; i++) {
		const Node *user = list->uses.at[i].node;
		const Schema *s = node_schema(user);
		const int k = list->uses.at[i].index;

		if (!s || k >= s->nargs || s->args[k].alias || s->nrets != 1 || s->rets[0].type->kind != TYPE_TENSOR)
			return false;
	}
	return list->node->block->graph && list->uses.n > 0;
}

bool
constant_ints(Plan *p, const Value *v, int64_t *out, int n)
{
	const Known *k = known_at(p->known, v);

	RT_ASSERT(n > 0);
	if (!k->is || k->v.tag != RT_LIST || (k->v.u.list->n != n && k->v.u.list->n != 1))
		return false;
	for (int i = 0; i < n; i++)
		out[i] = k->v.u.list->v[k->v.u.list->n == 1 ? 0 : i].u.i;
	return true;
}

/* ---- decisions that samples share ---------------------------------------------------------------------------- */

int64_t
plan_ceil(Plan *p, int64_t x, int64_t q)
{
	RT_ASSERT(q > 0);
	if (p->dynamic) {
		vec_push(p->cx->arena, &p->dynamic->derived, x);
		vec_push(p->cx->arena, &p->dynamic->derived, q);
	}
	return (x + q - 1) / q;
}

static const char *
mark(Plan *p, Marked m)
{
	vec_push(p->cx->arena, &p->dynamic->marked, m);
	return arena_printf(p->cx->arena, "%c%d%c", MARK, p->dynamic->marked.n - 1, MARK);
}

const char *
plan_number(Plan *p, int64_t v)
{
	return p->dynamic ? mark(p, (Marked){ MARKED_INT, v }) : arena_printf(p->cx->arena, "%lld", (long long)v);
}

const char *
plan_real(Plan *p, double v)
{
	return p->dynamic ? mark(p, (Marked){ MARKED_REAL, rt_double(v).u.i }) : arena_printf(p->cx->arena, "%.17g", v);
}

bool
plan_choice(Plan *p, bool choice)
{
	DynamicPlan *d = p->dynamic;

	if (!d || d->nchoice < 0)
		return choice;
	if (d->is_first) {
		vec_push(p->cx->arena, &d->choices->at, choice);
		return choice;
	}
	return d->nchoice < d->choices->at.n ? d->choices->at.at[d->nchoice++] : choice;
}

bool
plan_worth(Plan *p, const Node *n, bool worth)
{
	return p->dynamic && !p->dynamic->is_first ? p->dynamic->as_first[n->id] : worth;
}
