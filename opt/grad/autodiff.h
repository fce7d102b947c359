/* opt/grad/autodiff.h - the way back: what autodiff.c, adjoint.c and backflow.c share; private to them */
#ifndef OPT_AUTODIFF_H
#define OPT_AUTODIFF_H

#include "../opt.h"

typedef struct Auto {
	Pass    *p;
	Cx      *cx;
	Graph   *g;
	AliasDb *alias;          /* of the forward graph as it was */
	Active  *active;
	bool    *nothing;        /* by value id: may be left open, where control flow gives none */
	Vec(Node *) writers;     /* what writes to memory, but through .data */
	Vec(const Value *) unnoticed;   /* whose memory is written to through .data */
	Map      pruned;         /* gradient functions with only the outputs that are wanted */
} Auto;

typedef Vec(Value *) Values;

typedef struct Back Back;
struct Back {                    /* the way back through one block */
	Auto   *a;
	Back   *up;
	Block  *from, *to;       /* the same at the top; from: the blocks around `to` in turn, where there is a stop */
	Node   *stop;            /* at the top: the way back stands before it, and is of what is before; null: of all */
	Node   *node;            /* the If or Loop around `from` */
	Node   *front;           /* in `to`: what is taken from forward values goes before it */
	Values  adjoint;         /* gradients of values in and around `from`, by value id; null: none */
	Values  given;           /* those of them that have one, in order */
	Values  seen;            /* forward values at hand in `to`, by value id */
	Values *parts;           /* of tuples and lists that are taken apart: gradients of their elements */
	int     nparts;
	Value  *trip;            /* Loop: which trip of the forward loop this is */
};

/* ---- adjoint.c: forward values on the way back, gradients of values ----------------------------------- */

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
bool back_list_write(const Node *n);               /* does it change a list in a way that has a way back? */
void reverse_write(Back *b, Node *n);
void check_lists(const Auto *a);                   /* that a list which changes has one name */

/* ---- backflow.c: If and Loop -------------------------------------------------------------------------------- */

void reverse_if(Back *b, Node *n);
void reverse_maybe(Back *b, Node *n);
void reverse_loop(Back *b, Node *n);

/* ---- autodiff.c -------------------------------------------------------------------------------------------- */

bool back_has_gradient(Back *b, const Node *n);
void reverse_node(Back *b, Node *n);
void reverse_block(Back *b);
/* Infers what is known of the forward graph; the backward part goes behind it.  False: the call that it was for is
 * gone, as its loop was unrolled. */
bool back_begin(Auto *a, Back *b);

#endif
