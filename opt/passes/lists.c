/*
 * Lists of known length that nothing changes become their elements.
 *
 *   %l = prim::ListConstruct(%a, %b)
 *   %n = aten::len(%l)                ->  2              likewise of a dict that stays empty
 *   %x = aten::__getitem__(%l, %one)  ->  %b
 *   %x, %y = prim::ListUnpack(%l)     ->  %a, %b
 *   %m = aten::add(%l, %k)            ->  prim::ListConstruct(%a, %b, ...)
 *
 * A list whose first uses are appends is made at once:
 *   %l = prim::ListConstruct(%a); ...; aten::append(%l, %b)   ->   ...; %l = prim::ListConstruct(%a, %b)
 */
#include "../opt.h"

#include <string.h>

typedef struct Lists {
	Pass    *pass;
	Graph   *graph;
	AliasDb *alias;
	bool     changed;
} Lists;

/* Returns the node that makes the list.  Null if something writes to the list. */
static const Node *
elements_of(Lists *l, const Value *v)
{
	return node_is(v->node, prim_ListConstruct) && !alias_is_written(l->alias, v) ? v->node : NULL;
}

static void
replace(Lists *l, Node *n, Value *with)
{
	pass_note(l->pass, n, "the list's elements are known");
	value_replace_uses(n->out[0], with);
	node_destroy(n);
	l->changed = true;
}

/* Is v a dict that is created empty and never written to? */
static bool
is_empty_dict(Lists *l, const Value *v)
{
	return node_is(v->node, prim_DictConstruct) && !v->node->nin && !alias_is_written(l->alias, v);
}

static void
fold_len(Lists *l, Node *n)
{
	const Node *made = is_empty_dict(l, n->in[0]) ? n->in[0]->node : elements_of(l, n->in[0]);

	if (!made || !pass_may(l->pass))
		return;
	graph_set_insert_before(l->graph, n);
	replace(l, n, graph_constant(l->graph, rt_int(made->nin), n->at));
}

static void
fold_item(Lists *l, Node *n)
{
	const Node *made = elements_of(l, n->in[0]);
	int64_t i;

	if (!made || !value_int(n->in[1], &i) || i >= made->nin || i < -made->nin || !pass_may(l->pass))
		return;
	replace(l, n, made->in[i < 0 ? i + made->nin : i]);
}

static void
fold_unpack(Lists *l, Node *n)
{
	const Node *made = elements_of(l, n->in[0]);

	if (!made || made->nin != n->nout || !pass_may(l->pass))
		return;
	pass_note(l->pass, n, "the list's elements are known");
	for (int i = 0; i < n->nout; i++)
		value_replace_uses(n->out[i], made->in[i]);
	node_destroy(n);
	l->changed = true;
}

static void
fold_add(Lists *l, Node *n)
{
	const Node *a = n->nin == 2 ? elements_of(l, n->in[0]) : NULL, *b = a ? elements_of(l, n->in[1]) : NULL;
	Node *made;

	if (!b || n->out[0]->type->kind != TYPE_LIST || !pass_may(l->pass))
		return;
	made = node_new(l->graph, sym(l->pass->cx, "prim::ListConstruct"), n->at, 1);
	for (int i = 0; i < a->nin; i++)
		node_add_input(made, a->in[i]);
	for (int i = 0; i < b->nin; i++)
		node_add_input(made, b->in[i]);
	made->out[0]->type = n->out[0]->type;
	made->inlined = n->inlined;
	node_insert_before(made, n);
	alias_copy_value(l->alias, n->out[0], made->out[0]);
	replace(l, n, made->out[0]);
}

/* Returns the first node of the block that uses the list or contains a use of it. */
static Node *
first_use(const Value *v, const Block *b)
{
	Node *first = NULL;

	for (int i = 0; i < v->uses.n; i++) {
		Node *n = block_owner_in(v->uses.at[i].node, b);

		if (n && (!first || n == b->ret || node_is_before(n, first)) && n != b->ret)
			first = n;
	}
	return first;
}

/* Moves the node that makes the list to its first append and adds the element, as long as the append is the list's
 * first use.  Returns the node that makes the list afterwards. */
static Node *
fold_append(Lists *l, Node *list)
{
	Node *n;

	while (list->out[0]->type->kind == TYPE_LIST && (n = first_use(list->out[0], list->block)) &&
	       op_has(n->op, TRAIT_APPENDS) && n->in[0] == list->out[0] && n->in[1] != list->out[0] &&
	       pass_may(l->pass)) {
		Node *made = node_new(l->graph, list->kind, list->at, 1);

		pass_note(l->pass, n, "the append is the first use of the list");
		for (int i = 0; i < list->nin; i++)
			node_add_input(made, list->in[i]);
		node_add_input(made, n->in[1]);
		made->out[0]->type = list->out[0]->type;
		made->out[0]->name = list->out[0]->name;
		made->inlined = list->inlined;
		node_insert_before(made, n);
		if (n->nout)
			value_replace_uses(n->out[0], made->out[0]);
		node_destroy(n);
		value_replace_uses(list->out[0], made->out[0]);
		node_destroy(list);
		list = made;
		l->changed = true;
	}
	return list;
}

static void
walk_appends(Lists *l, Block *b)
{
	for (Node *n = b->ret->next, *next; n != b->ret; n = next) {
		for (int i = 0; i < n->nsub; i++)
			walk_appends(l, n->sub[i]);
		next = n->next;
		if (node_is(n, prim_ListConstruct) && fold_append(l, n) != n)
			next = b->ret->next;         /* starts again, since the append may have been the next node */
	}
}

static void
fold_reads(Lists *l)
{
	for INNER_FIRST(n, l->graph->top) {
		if (n->nin && node_is(n, aten_len))
			fold_len(l, n);
		if (!n->nin || n->in[0]->type->kind != TYPE_LIST)
			continue;
		if (node_is(n, aten___getitem__))
			fold_item(l, n);
		else if (node_is(n, prim_ListUnpack))
			fold_unpack(l, n);
		else if (node_is(n, aten_add))
			fold_add(l, n);
	}
}

bool
lists(Pass *p, Graph *g)
{
	Lists l = { p, g, NULL, false };

	walk_appends(&l, g->top);
	if (l.changed)
		pass_lost_alias(p);
	l.alias = pass_alias(p, g);
	fold_reads(&l);
	return l.changed;
}
