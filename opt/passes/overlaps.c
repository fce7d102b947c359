/*
 * Keeps writes that may overlap memory which they read, since these raise: y[1:].add_(y[:-1]).
 *
 *   v.add_(v[0])  where only a branch uses v, and a constant attribute disables this branch
 *
 * Nodes that are dead in the graph as it was read are removed before this pass (dce), as PyTorch removes them.  Nodes
 * that become dead when attributes and sizes are constants still have to raise.
 */
#include "../opt.h"

/* Does the node write to one of its inputs and read another one that may share its memory? */
static bool
may_overlap(AliasDb *alias, const Node *n)
{
	for (int i = 0; i < n->nin; i++)
		for (int k = 0; k < n->nin && node_writes_input(n, i); k++)
			if (k != i && n->in[k] != n->in[i] && n->in[k]->type->kind == TYPE_TENSOR &&
			    alias_may(alias, n->in[i], n->in[k]))
				return true;
	return false;
}

bool
overlaps(Pass *p, Graph *g)
{
	AliasDb *alias = pass_alias(p, g);
	bool changed = false;

	for INNER_FIRST(n, g->top)
		if (n->op && !node_attr(n, "stays") && may_overlap(alias, n) && pass_may(p)) {
			node_set_int(n, "stays", 1);
			changed = true;
		}
	return changed;
}
