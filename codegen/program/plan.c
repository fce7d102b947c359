/*
 * Makes the plan: decides where every tensor of a specialized graph is stored.
 *
 * Known tensors have storages. A storage becomes a buffer with a home: an argument, the weights, the arena, or a tensor
 * of its own on the heap if it may outlive the call (results, parts of containers, values that calls could keep).
 * Unknown tensors are IValues in slots of the frame. offsets.c assigns offsets to the arena's buffers.
 */
#include "program.h"
#include "../kernel/lower.h"

#include <stdlib.h>
#include <string.h>

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

static Buffer *
add_buffer(Plan *p, const RtTensor *t, Home home, int step)
{
	Buffer *b = new(p->cx->arena, Buffer, 1);

	RT_ASSERT(t->storage && t->storage->bytes >= 0);
	b->meta = t->storage;
	b->home = home;
	b->bytes = t->storage->bytes;
	b->slot = -1;
	b->first = b->last = step;
	b->base = t->offset * rt_dtypes[t->dtype].bytes;
	b->index = p->buffers.n;
	vec_push(p->cx->arena, &p->buffers, b);
	*ptrmap_at(p->cx->arena, &p->buffer_at, b->meta) = (intptr_t)b;
	return b;
}

/* Adds the tensors of an argument, also inside containers. Their home is the argument. */
static void
add_argument(Plan *p, IValue v, const char *place)
{
	if (v.tag == RT_TENSOR && !plan_buffer_of(p, v.u.t->storage))
		add_buffer(p, v.u.t, HOME_INPUT, -1)->place = place;
	for (int i = 0; v.tag == RT_LIST && i < v.u.list->n; i++)
		add_argument(p, v.u.list->v[i], arena_printf(p->cx->arena, "%s.u.list->v[%d]", place, i));
	for (int i = 0; v.tag == RT_TUPLE && i < v.u.tuple->n; i++)
		add_argument(p, v.u.tuple->v[i], arena_printf(p->cx->arena, "%s.u.tuple->v[%d]", place, i));
}

static void
add_constant(Plan *p, Value *v)
{
	const RtTensor *t = plan_tensor(p, v);

	if (t && !plan_buffer_of(p, t->storage))
		add_buffer(p, t, HOME_CONSTANT, -1)->constant = known_at(p->known, v)->v;
}

static int
value_slot(Plan *p, const Value *v)
{
	if (p->slot[v->id] < 0)
		p->slot[v->id] = p->nslot++;
	return p->slot[v->id];
}

/* Assigns storage to the result of a node: a new buffer, a view of an old one, or a slot. */
static void
add_result(Plan *p, const Node *n, Value *v, bool kernel)
{
	const RtTensor *t = plan_tensor(p, v);
	Buffer *b;

	if (!t || (n->op && !t->storage)) {
		value_slot(p, v);
		return;
	}
	if (plan_buffer_of(p, t->storage))
		return;
	b = add_buffer(p, t, kernel ? HOME_ARENA : HOME_BOX, p->step[n->id]);
	if (!kernel)
		b->slot = value_slot(p, v);
}

/* Replaces a group by its nodes if too little is known of its tensors for a kernel. */
static void
dissolve(Plan *p, Node *group)
{
	Graph *sub = node_attr(group, "Subgraph")->g;
	Map clones = { .arena = p->cx->arena };

	for (int i = 0; i < group->nin; i++)
		graph_set_cloned(&clones, graph_inputs(sub)[i], group->in[i]);
	for NODES(n, sub->top) {
		Node *clone = node_clone(p->graph, n, &clones);

		node_insert_before(clone, group);
		if (p->beyond == group)
			p->beyond = clone;
	}
	for (int i = 0; i < group->nout; i++)
		value_replace_uses(group->out[i], graph_cloned(&clones, sub->top->ret->in[i]));
	node_destroy(group);
}

/* Returns the first node that -L kernels=N leaves without a kernel. Null if all nodes keep theirs. */
static const Node *
find_beyond(Plan *p, Pass *kernels, const Block *b)
{
	for ALL_NODES(n, b)
		if (plan_is_kernel(p, n)) {
			if (!pass_may(kernels))
				return n;
			pass_note(kernels, n, "it gets a kernel");
		}
	return NULL;
}

static bool
dissolve_groups(Plan *p, Block *b)
{
	bool did = false;

	for INNER_FIRST(n, b)
		if (node_is(n, prim_FusionGroup) && !plan_is_kernel(p, n)) {
			dissolve(p, n);
			did = true;
		}
	return did;
}

static void
number_block(Plan *p, Block *b)
{
	for (int i = 0; i < b->param->nout; i++)
		p->slot[b->param->out[i]->id] = -1;
	for NODES(n, b) {
		p->step[n->id] = node_is(n, prim_Constant) ? p->nstep : p->nstep++;
		for (int i = 0; i < n->nsub; i++)
			number_block(p, n->sub[i]);
	}
	p->step[b->ret->id] = p->nstep++;
}

/* ---- epilogues --------------------------------------------------------------------------------------------------- */

/* Whether everything that the group reads, except `made`, is computed before node n. */
static bool
ready_before(const Node *group, const Value *made, const Node *n)
{
	for (int i = 0; i < group->nin; i++) {
		const Node *from = group->in[i]->node;

		if (group->in[i] != made && from->block == n->block && from != from->block->param &&
		    !node_is(from, prim_Constant) && !node_is_before(from, n))
			return false;
	}
	return true;
}

/* Returns the product that can compute the group as its epilogue. It must be the last of the group's inputs to be
 * computed. */
static const Node *
carrier(Plan *p, const Node *group)
{
	for (int i = 0; i < group->nin; i++) {
		const Value *v = group->in[i];
		const Node *n = v->node;

		if (v->uses.n == 1 && n->block == group->block && node_is_dense(p, n) && plan_is_kernel(p, n) &&
		    !p->epilogue[n->id] && ready_before(group, v, n) && epilogue_fits(p, group, v, dense_columns(p, n)))
			return n;
	}
	return NULL;
}

static void
find_epilogues(Plan *p, Block *b)
{
	for INNER_FIRST(n, b) {
		const Node *product;

		if (node_is(n, prim_FusionGroup) && plan_is_kernel(p, n) && (product = carrier(p, n))) {
			p->epilogue[product->id] = n;
			p->absorbed[n->id] = true;
		}
	}
}

/* ---- prologues --------------------------------------------------------------------------------------------------- */

enum { MANY_ROWS = 16, ONE_TURN = 1 << 16 };

/* Whether a prologue is faster than a separate kernel for the group. Threads divide the reduction's rows, so it must
 * have many rows or few elements. */
static bool
divides(Plan *p, const Node *group, const Node *n)
{
	const RtTensor *x = plan_tensor(p, group->out[0]), *y = plan_tensor(p, n->out[0]);

	return p->dynamic ? y->ndim > 0 : rt_numel(y) >= MANY_ROWS || rt_numel(x) <= ONE_TURN;
}

/* Whether no node between the two writes to memory. Then the second node still sees what the first one read. */
static bool
all_stays(const Node *from, const Node *to)
{
	for (const Node *n = from; n != to; n = n->next)
		if (n->nsub || node_writes(n) || node_has_effect(n))
			return false;
	return true;
}

/* Returns the reduction that can compute the group as its prologue. It must be the only reader of the group's
 * result. */
static const Node *
reader(Plan *p, const Node *group)
{
	const Value *v = group->out[0];
	const Node *n = group->nout == 1 && v->uses.n == 1 ? v->uses.at[0].node : NULL;

	return n && n->block == group->block && node_reads_once(n) && node_arg(n, "self") == v &&
	       plan_is_kernel(p, n) && divides(p, group, n) && all_stays(group, n) ? n : NULL;
}

/* Finds prologues. Moves such a group to the step of its reduction, so that its inputs stay live until then. */
static void
find_prologues(Plan *p, Block *b)
{
	for INNER_FIRST(n, b) {
		const Node *reduction;

		if (!node_is_map(n) || p->absorbed[n->id] || !plan_is_kernel(p, n) || !(reduction = reader(p, n)))
			continue;
		p->prologue[reduction->id] = n;
		p->absorbed[n->id] = plan_is_kernel(p, reduction);
		if (p->absorbed[n->id])
			p->step[n->id] = p->step[reduction->id];
		else
			p->prologue[reduction->id] = NULL;
	}
}

static void
place_block(Plan *p, Block *b)
{
	for NODES(n, b) {
		if (node_is(n, prim_Constant) || p->absorbed[n->id])
			continue;
		if (p->epilogue[n->id]) {
			add_result(p, n, p->epilogue[n->id]->out[0], true);
			continue;
		}
		for (int k = 0; k < n->nsub; k++) {
			Node *param = n->sub[k]->param;

			for (int i = 0; i < param->nout; i++)
				if (plan_tensor(p, param->out[i]))
					add_buffer(p, plan_tensor(p, param->out[i]), HOME_ARENA, p->step[n->id]);
				else
					value_slot(p, param->out[i]);
			place_block(p, n->sub[k]);
		}
		for (int i = 0; i < n->nout; i++)
			add_result(p, n, n->out[i], n->nsub || plan_is_kernel(p, n));
	}
}

/* ---- escapes and live ranges ------------------------------------------------------------------------------------- */

/* Whether the user of v may keep it beyond the step, or write to it through an alias. */
static bool
keeps(Plan *p, const Node *user, int index)
{
	const Schema *s = node_schema(user);

	/* A guard returns v itself. */
	for (int i = 0; node_is(user, prim_BailOut) && index < user->nout && i < user->out[index]->uses.n; i++) {
		const Use *u = &user->out[index]->uses.at[i];

		if (node_writes_input(u->node, u->index) || keeps(p, u->node, u->index))
			return true;
	}
	if (node_is(user, prim_BailOut) || node_is(user, prim_FusionGroup) || node_is(user, prim_Return))
		return node_is(user, prim_Return) && !user->block->owner;
	if (node_is(user, prim_ListConstruct))
		return !plan_list_is_read(user->out[0]);
	if (user->nsub)
		return false;
	if (!s || index >= s->nargs || !user->op || !user->op->kernel)
		return true;
	if (s->args[index].type->kind != TYPE_TENSOR && s->args[index].type->kind != TYPE_OPTIONAL)
		return true;
	if (!s->args[index].alias)
		return false;
	/* The result may be a view of v. This is harmless if the view is known, or in a list that is only unpacked. */
	for (int i = 0; i < user->nout; i++)
		if (!plan_is_planned(p, user->out[i]) && !plan_was_there(p, user->out[i], p->step[user->id]))
			return true;
	return user->nout == 0;
}

/* Whether a value that leaves a block is stored in a slot. Otherwise it is copied to the planned buffer of the node's
 * result. */
static bool
leaves_in_slot(Plan *p, const Node *ret, int index)
{
	const Node *owner = ret->block->owner;
	const int out = owner && node_is(owner, prim_Loop) ? index - 1 : index;

	return !owner || (out >= 0 && !plan_is_planned(p, owner->out[out]));
}

/* Returns the step at which a use of the buffer ends. In loops this is the end of the outermost loop that begins after
 * the buffer. */
static int
use_step(Plan *p, const Buffer *b, const Node *user)
{
	int at = p->step[user->id];

	for (const Block *in = user->block; in->owner; in = in->owner->block)
		if (node_is(in->owner, prim_Loop) && b->first < p->step[in->owner->id] + 1)
			at = p->step[in->ret->id] > at ? p->step[in->ret->id] : at;
	return at;
}

static void
note_uses(Plan *p, const Value *v)
{
	Buffer *b = plan_buffer(p, v);

	for (int i = 0; b && i < v->uses.n; i++) {
		const Node *user = v->uses.at[i].node;
		const int step = use_step(p, b, user);

		b->last = step > b->last ? step : b->last;
		if (node_is(user, prim_Return) ? leaves_in_slot(p, user, v->uses.at[i].index) :
						    keeps(p, user, v->uses.at[i].index))
			b->escapes = true;
		if (node_is(user, prim_Loop) || node_is(user, prim_If))
			b->escapes |= v->uses.at[i].index >= 2 &&
				!plan_is_planned(p, user->out[v->uses.at[i].index - 2]);
		if (node_is(user, prim_ListConstruct))
			for (int k = 0; k < user->out[0]->uses.n; k++) {
				const int later = use_step(p, b, user->out[0]->uses.at[k].node);

				b->last = later > b->last ? later : b->last;
			}
	}
}

static void
lifetimes(Plan *p, Block *b)
{
	for (int i = 0; i < b->param->nout; i++)
		note_uses(p, b->param->out[i]);
	for NODES(n, b) {
		for (int i = 0; i < n->nsub; i++)
			lifetimes(p, n->sub[i]);
		for (int i = 0; i < n->nout; i++) {
			Buffer *out = plan_buffer(p, n->out[i]);

			/* Results of a Loop or If are written at the ends of its blocks. */
			if (out && n->nsub && out->home == HOME_ARENA) {
				const int end = p->step[n->sub[n->nsub - 1]->ret->id];

				out->last = end > out->last ? end : out->last;
			}
			note_uses(p, n->out[i]);
		}
		for (int k = 0; k < n->nsub; k++)
			for (int i = 0; i < n->sub[k]->param->nout; i++) {
				Buffer *in = plan_buffer(p, n->sub[k]->param->out[i]);

				if (in && in->home == HOME_ARENA)
					in->last = p->step[n->sub[k]->ret->id];
			}
	}
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

/* Gives tensors that outlive the call their own memory. */
static void
place_escaping(Plan *p)
{
	for (int i = 0; i < p->buffers.n; i++) {
		Buffer *b = p->buffers.at[i];

		if (b->home == HOME_ARENA && b->escapes) {
			b->home = HOME_BOX;
			b->slot = p->nslot++;
		}
	}
}

static bool
add_results(const Value *v, ValueVec *to, Arena *a)
{
	bool good = true;

	if (v->type->kind == TYPE_TENSOR)
		vec_push(a, to, v);
	else if (node_makes_parts(v->node))
		for (int i = 0; i < v->node->nin; i++)
			good &= add_results(v->node->in[i], to, a);
	else
		good = false;
	return good;
}

bool
plan_results(const Graph *g, ValueVec *to, Arena *a)
{
	const Node *ret = g->top->ret;
	bool good = true;

	for (int i = 0; i < ret->nin; i++)
		good &= add_results(ret->in[i], to, a);
	return good;
}

/* Without a runtime, a contiguous result that fills its buffer is computed in the caller's array. Any other result is
 * computed in the arena and stays live until the end. */
static void
place_results(Plan *p)
{
	ValueVec results = { 0 };

	plan_results(p->graph, &results, p->cx->arena);
	for (int i = 0; i < results.n; i++) {
		const RtTensor *t = plan_tensor(p, results.at[i]);
		Buffer *b = plan_buffer(p, results.at[i]);

		if (!b)
			continue;
		b->last = p->nstep;
		if (b->home == HOME_ARENA && !t->offset && rt_is_contiguous(t) &&
		    rt_numel(t) * rt_dtypes[t->dtype].bytes == b->bytes) {
			b->home = HOME_INPUT;
			b->place = arena_printf(p->cx->arena, "out[%d]", i);
		}
	}
}

/* ---- the whole plan ---------------------------------------------------------------------------------------------- */

static void
assign_offsets(Plan *p)
{
	Buffer **planned = new(p->cx->arena, Buffer *, p->buffers.n + 1);

	for (int i = 0; i < p->buffers.n; i++)
		if (p->buffers.at[i]->home == HOME_ARENA && !p->buffers.at[i]->over) {
			p->buffers.at[i]->spot = p->nspot;
			planned[p->nspot++] = p->buffers.at[i];
		}
	p->arena = plan_offsets(p->cx, planned, p->nspot);
	p->least = plan_least_arena(p->cx, planned, p->nspot);
	for (int i = 0; i < p->buffers.n; i++)
		if (p->buffers.at[i]->over)
			p->buffers.at[i]->offset = p->buffers.at[i]->over->offset;
}

/* Allocates the arrays that are indexed by values and nodes. */
static void
make_room(Plan *p)
{
	Arena *a = p->cx->arena;
	const Graph *g = p->graph;

	p->slot = new(a, int, g->nvalue + 1);
	p->step = new(a, int, g->nnode + 1);
	p->epilogue = new(a, const Node *, g->nnode + 1);
	p->prologue = new(a, const Node *, g->nnode + 1);
	p->absorbed = new(a, bool, g->nnode + 1);
	p->joined = new(a, Joined, g->nnode + 1);
	p->part = new(a, bool, g->nvalue + 1);
	for (int i = 0; i < g->nvalue; i++)
		p->slot[i] = -1;
}

static Plan *
begin_plan(Cx *cx, Function *fn, const Specialization *spec, PlanKind kind, DynamicPlan *dynamic)
{
	Plan *p = new(cx->arena, Plan, 1);

	p->cx = cx;
	p->fn = fn;
	p->spec = spec;
	p->graph = spec->graph;
	p->gpu = kind == PLAN_GPU;
	p->bare = kind >= PLAN_BARE;
	p->small = kind == PLAN_SMALL;
	p->dynamic = dynamic;
	p->sizes = size_table(cx->arena);
	p->known = known_graph(cx, fn, spec->graph, spec->pattern);
	return p;
}

void
plan_dissolve(Cx *cx, Function *fn, const Specialization *spec, PlanKind kind)
{
	dissolve_groups(begin_plan(cx, fn, spec, kind, NULL), spec->graph->top);
}

Plan *
plan_make(Cx *cx, Function *fn, const Specialization *spec, PlanKind kind, DynamicPlan *dynamic)
{
	Plan *p = begin_plan(cx, fn, spec, kind, dynamic);
	Graph *g = spec->graph;
	Pass kernels;

	kernels = pass_outside(cx, "kernels");
	if (kernels.limit >= 0 || kernels.log)
		p->beyond = find_beyond(p, &kernels, g->top);
	if (dissolve_groups(p, g->top))
		p->known = known_graph(cx, fn, g, spec->pattern);
	make_room(p);
	number_block(p, g->top);
	for (int i = 0; i < graph_ninputs(g); i++) {
		const Known *k = known_at(p->known, graph_inputs(g)[i]);

		if (k->is)
			add_argument(p, k->v, arena_printf(cx->arena, "reg[%d]", i));
	}
	for ALL_NODES(n, g->top)
		if (node_is(n, prim_Constant))
			add_constant(p, n->out[0]);
	dense_note_tables(p);
	find_epilogues(p, g->top);
	find_prologues(p, g->top);
	place_block(p, g->top);
	lifetimes(p, g->top);
	plan_joins(p);
	if (p->bare)
		place_results(p);
	else
		place_escaping(p);
	plan_in_place(p);
	assign_offsets(p);
	if (RT_ASSERTS)
		plan_check(p);
	return p;
}
