/* opt/grad/autodiff.h - the backward pass; private to the files of opt/grad */
#ifndef OPT_AUTODIFF_H
#define OPT_AUTODIFF_H

#include "../opt.h"

typedef struct Back Back;

typedef struct Auto {
	Pass    *pass;
	Cx      *cx;
	Graph   *graph;
	AliasDb *alias;          /* aliases of the forward graph, before changes */
	Active  *active;
	bool    *nothing;        /* whether control flow may leave the value uninitialized, by value id */
	Vec(Node *) writers;     /* nodes that write to memory, but not through .data */
	Vec(const Value *) unnoticed;   /* values whose memory is written to through .data */
	Map      pruned;         /* copies of gradient functions that compute only some outputs */
	void   (*reverse)(struct Back *, Node *); /* differentiates a node; called for the nodes of nested blocks */
} Auto;

typedef Vec(Value *) Values;

struct Back {                    /* the backward pass of one block */
	Auto   *diff;
	Back   *up;
	/* The forward and the backward block.  At the top level they are equal.  With a stop, `from` is each of the
	 * blocks around `to` in turn. */
	Block  *from, *to;
	/* At the top level: only nodes before this one are differentiated, and new nodes are inserted before it.  Null
	 * if all nodes are differentiated. */
	Node   *stop;
	Node   *node;            /* the If or Loop around `from` */
	Node   *front;           /* node in `to` before which reads of forward values are inserted */
	/* Gradients of values in `from` and its enclosing blocks, by value id.  Null if a value has none so far. */
	Values  adjoint;
	Values  given;           /* the values that have a gradient, in order */
	Values  seen;            /* values of `to` that hold forward values, by id of the forward value */
	Values *parts;           /* gradients of the elements of tuples and lists, by the id of the tuple or list */
	int     nparts;
	Value  *trip;            /* index of the forward trip.  Only for a Loop */
};

/* ---- adjoint.c: forward values in the backward pass, gradients of values ------------------------------- */

Value **back_slot(Auto *a, Values *t, const Value *v);
bool back_is_active(const Auto *a, const Value *v);
bool back_is_definite(const Value *v);
Value *back_emit_row(Graph *g, const char *id, Range at, int n, Value *const *in);
Value *back_row1(Back *b, const char *id, Range at, Value *x);
Value *back_row2(Back *b, const char *id, Range at, Value *x, Value *y);
void back_at_end(Back *b);
void back_at_front(Back *b);
Value *back_cast_to(Graph *g, Value *v, const Type *t, Range at);
Value *back_none(Graph *g, const Type *t, Range at);
Value *back_zeros_like(Graph *g, Value *v, Range at);
Value *back_emit_list(Graph *g, Value *const *v, int n, const Type *elem, Range at);
bool back_is_tensor(const Value *v);
bool back_is_in(const Block *b, const Value *v);
Value *back_capture(Back *b, Value *v);
void   back_find_writers(Auto *, const Block *);
Value *back_capture_at(Back *b, Value *v, Node *n, bool result);
Value *back_adjoint(Back *b, const Value *v);
Node *back_construction(const Auto *a, const Value *v);
bool back_is_unpacked(const Auto *a, const Value *v);
Values *back_parts_of(Back *b, const Value *v, int n);
Value *back_sum(Back *b, Value *x, Value *y, Range at);
bool *back_find_nothing(const Graph *g, Arena *memory);
bool back_may_be_nothing(const Auto *a, const Value *v);
bool back_may_be_undefined(const Auto *a, const Value *v);
Value *back_beside(Back *b, Value *list);
void back_give(Back *b, Value *v, Value *g, Range at);
void back_hand_in(Back *c, Value *v, Value *g, Range at);
Value *back_adjoint_or_zeros(Back *b, Value *v, Node *n);

/* ---- backlist.c: containers ----------------------------------------------------------------- */

void reverse_unpack(Back *b, Node *n);
void reverse_index(Back *b, Node *n);
void reverse_tuple(Back *b, Node *n);
void reverse_cast(Back *b, Node *n);
void reverse_construct(Back *b, Node *n);
void reverse_getitem(Back *b, Node *n);
void reverse_part(Back *b, Node *n);
void reverse_concat(Back *b, Node *n);
bool back_is_strange(Back *b, const Node *n);
bool back_list_write(const Node *n);               /* is it a write to a list that can be differentiated? */
void reverse_write(Back *b, Node *n);              /* requires back_list_write */
void check_lists(const Auto *a);                   /* fails if a list that changes may have a second name */

/* ---- backflow.c: blocks, If and Loop ------------------------------------------------------------------------ */

void reverse_block(Back *b);
void reverse_if(Back *b, Node *n);
void reverse_maybe(Back *b, Node *n);              /* requires back_has_gradient */
void reverse_loop(Back *b, Node *n);

/* ---- questions.c ------------------------------------------------------------------------------------------------ */

bool questions_any(const Block *);         /* does the block ask whether a computed tensor requires a gradient? */
bool questions_answer(Pass *, Graph *);    /* replaces these questions by bools; parameters are prim::leaf nodes */

/* ---- autodiff.c -------------------------------------------------------------------------------------------- */

bool back_has_gradient(Back *b, const Node *n);
/* Analyses the forward graph and prepares the backward pass behind it.  Returns false if the call of
 * torch.autograd.grad is gone because its loop was unrolled. */
bool back_begin(Auto *a, Back *b);

#endif
