/*
 * Builds dicts of constant keys at once, and replaces reads by the values if nothing changes the dict.
 *
 *  %d = aten::dict(); ...; aten::_set_item(%d, "a", %x)   ->   ...; %d = prim::DictConstruct("a", %x)
 *  %y = aten::__getitem__(%d, "a")                        ->   %x
 *
 * A write that is the first use of a dict becomes part of the node that makes it.  Keys are distinct strings or ints: a
 * write to a key that is present replaces its value.
 */
#include "../opt.h"

static bool
is_key(const Value *v)
{
	IValue c;

	return value_constant(v, &c) && (c.tag == RT_STR || c.tag == RT_INT);
}

static bool
same_key(const Value *a, const Value *b)
{
	IValue x, y;

	return value_constant(a, &x) && value_constant(b, &y) && value_identical(x, y);
}

/* Index of the input of `made` that is this key.  -1 if there is none. */
static int
key_at(const Node *made, const Value *key)
{
	for (int i = 0; i < made->nin; i += 2)
		if (same_key(made->in[i], key))
			return i;
	return -1;
}

static bool
makes_dict(const Node *n)
{
	if (!node_is(n, prim_DictConstruct) && !(node_is(n, aten_dict) && !n->nin))
		return false;
	for (int i = 0; i < n->nin; i += 2)
		if (!is_key(n->in[i]))
			return false;
	return true;
}

/* Returns the first node of the dict's block that uses the dict or contains a use of it. */
static Node *
first_use(const Node *dict)
{
	const Value *v = dict->out[0];
	Node *first = NULL;

	for (int i = 0; i < v->uses.n; i++) {
		Node *n = block_owner_in(v->uses.at[i].node, dict->block);

		if (n && n != dict->block->ret && (!first || node_is_before(n, first)))
			first = n;
	}
	return first;
}

/* Folds the first write into the node that makes the dict.  Returns the node that makes the dict afterwards. */
static Node *
fold_write(Pass *p, Graph *g, Node *dict)
{
	Node *n = first_use(dict), *made;
	int at;

	if (!n || !op_has(n->op, TRAIT_SETS_ITEM) || n->nin != 3 ||
	    n->in[0] != dict->out[0] || n->in[2] == dict->out[0] || !is_key(n->in[1]) || n->nout || !pass_may(p))
		return dict;
	pass_note(p, n, "the write is the first use of the dict");
	made = node_new(g, sym(p->cx, "prim::DictConstruct"), dict->at, 1);
	at = key_at(dict, n->in[1]);
	for (int i = 0; i < dict->nin; i++)
		node_add_input(made, i == at + 1 && at >= 0 ? n->in[2] : dict->in[i]);
	if (at < 0) {
		node_add_input(made, n->in[1]);
		node_add_input(made, n->in[2]);
	}
	made->out[0]->type = dict->out[0]->type;
	made->out[0]->name = dict->out[0]->name;
	made->inlined = dict->inlined;
	node_insert_before(made, n);
	node_destroy(n);
	value_replace_uses(dict->out[0], made->out[0]);
	node_destroy(dict);
	return made;
}

static bool
fold_writes(Pass *p, Graph *g, Block *b)
{
	bool changed = false;

	for (Node *n = b->ret->next, *next; n != b->ret; n = next) {
		for (int i = 0; i < n->nsub; i++)
			changed |= fold_writes(p, g, n->sub[i]);
		next = n->next;
		if (makes_dict(n) && fold_write(p, g, n) != n) {
			next = b->ret->next;         /* starts again, since the write may have been the next node */
			changed = true;
		}
	}
	return changed;
}

static bool
fold_reads(Pass *p, AliasDb *alias, Block *b)
{
	bool changed = false;

	for INNER_FIRST(n, b) {
		const Node *made = n->nin == 2 ? n->in[0]->node : NULL;
		int at;

		if (!node_is(n, aten___getitem__) || !node_is(made, prim_DictConstruct) || !makes_dict(made) ||
		    !is_key(n->in[1]) || alias_is_written(alias, n->in[0]) || (at = key_at(made, n->in[1])) < 0 ||
		    !pass_may(p))
			continue;
		pass_note(p, n, "the dict's values are known");
		value_replace_uses(n->out[0], made->in[at + 1]);
		node_destroy(n);
		changed = true;
	}
	return changed;
}

bool
dicts(Pass *p, Graph *g)
{
	bool changed = fold_writes(p, g, g->top);

	if (changed)
		pass_lost_alias(p);
	changed |= fold_reads(p, pass_alias(p, g), g->top);
	return changed;
}
