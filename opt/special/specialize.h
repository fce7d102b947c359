/* opt/special/specialize.h - the partial evaluator: what specialize.c (its walk), evalop.c (operators), evalflow.c (If,
 * Loop), bailouts.c (guards), layouts.c (channels last) and convforms.c share; private to them */
#ifndef OPT_SPECIALIZE_H
#define OPT_SPECIALIZE_H

#include "../opt.h"

typedef struct Shadow {          /* a known list, and the values that are its elements */
	RtList *list;
	Vec(Value *) items;
} Shadow;

typedef struct Scope Scope;
struct Scope {                   /* one graph that is being walked: the function's, or an operator's body */
	Graph   *from;
	Value  **value;          /* by id in `from`: the value of the new graph */
	AliasDb *alias;
	bool     top;            /* the function's own: has resume points */
};

typedef struct Spec {
	Cx   *cx;
	Function *fn;
	const Profile *profile;
	Graph *to;
	/* the operator whose body is evaluated: its nodes raise at the operator's place; or null */
	const Node *body;
	KnownTable *k;           /* of values of `to` */
	Vec(Shadow) shadows;
	Value **in_register;     /* by register: the value of the prepared graph that it holds */
	CodeLive *live;          /* registers of the function's Code */
	Shapes *shapes;          /* of a sample: what is known is recorded there; or null */
	bool  *state_written;    /* by attribute of the profile's state: it may not be what it was at entry */
	/* by id in the prepared graph, once asked for: may change from call to call where no run shows it */
	bool  *unsteady;
	bool   grad_stays;       /* nothing here changes whether gradients are on: they are, at a call's begin */
	bool   padded;           /* some value may have padded rows: attention.def */
	int    nguard;
	Pass   known;            /* each result whose type is inferred is a change of it */
} Spec;

/* ---- specialize.c: values and the walk ------------------------------------------------------------------------- */

Shadow *spec_shadow(Spec *, IValue list);                        /* null: its elements are not followed */
bool    spec_reads_by_data(Spec *, const Node *);                /* is it given what follows from data? */
/* is the container itself (not what it contains) written anywhere? */
bool    spec_is_changed(Scope *, const Value *);
Value  *spec_value(Scope *, const Value *from);                  /* what stands for it in the new graph */
void    spec_bind(Spec *, Scope *, const Value *from, Value *to);
void    spec_bind_constant(Spec *, Scope *, const Value *from, IValue, Range);     /* takes the value */
Node   *spec_copy_node(Spec *, const Node *);                    /* kind, overload and attributes; not linked */
/* the node itself, with inputs mapped; outputs have the static types */
Node   *spec_emit_copy(Spec *, Scope *, Node *);
/* The elements of a list whose contents are known, as a list made on the spot: then nothing depends on its history. */
Value  *spec_fresh_list(Spec *, Value *, Range);
void    spec_block(Spec *, Scope *, Block *);

/* ---- evalop.c, evalflow.c ---------------------------------------------------------------------------------------- */

void    spec_op(Spec *, Scope *, Node *);
/* May the block make tensors with padded rows; may it get some from code that it calls, or from an earlier call? */
bool    spec_makes_padding(const Block *);
bool    spec_gets_padding(Cx *, const Block *);
/* What the kernel says of the results of m, the copy of n: outputs become known where they can be. */
void    spec_infer(Spec *, Scope *, const Node *n, Node *m);
/* Are all results of n, of which m is the copy, constants, such as numbers, strings and small tensors?  Then they are
 * bound as such, and m is not needed. */
bool    spec_fold(Spec *, Scope *, const Node *n, const Node *m);
/* likewise, where n writes to what is its own and m computes what it leaves there */
bool    spec_fold_written(Spec *, Scope *, const Node *n, const Node *m);
bool    spec_types_known(Spec *, const Node *m);                 /* of all tensors that m is given */
bool    op_is_resize(const Op *);                         /* of images over two dims */
bool    op_is_convolution_form(const Op *);              /* a convolution, however its arguments say it */
/* The graph that m, the copy of an operator's node, becomes; null: it stays. */
Graph  *spec_expansion(Spec *, const Node *m);
void    spec_inline_body(Spec *, Scope *, Node *n, Node *m, Graph *);    /* n becomes that graph, on m's inputs */
void    spec_if(Spec *, Scope *, Node *);
void    spec_loop(Spec *, Scope *, Node *);

/* ---- bailouts.c -------------------------------------------------------------------------------------------------- */

/* Results of n, of which m is the copy, that are not known get the profile's type under a guard. */
void    spec_guard_outputs(Spec *, Scope *, const Node *n, const Node *m);
void    spec_guard_joined(Spec *, Scope *, const Node *n);       /* the same for an If or a Loop */

/* ---- layouts.c --------------------------------------------------------------------------------------------------- */

Value  *spec_argument(Spec *, Scope *, const Node *, int i);     /* what input i is in the new graph */
Value  *spec_body_argument(Spec *, Scope *, const Node *, int i);
Value  *spec_as_in_model(Spec *, Scope *, Value *, Range);       /* a value that leaves: what the model has there */
/* As convolutions want their input; grows: their result has more places than it. */
Value  *spec_channels_last(Spec *, Scope *, Value *, bool grows, Range);
/* What is written to has the model's layout from the start: all views of it then are views of one memory. */
void    spec_keep_layout(Spec *, Scope *, const Node *);
void    spec_mark_altered(Spec *, const Node *m);         /* m's results, just inferred: do they lie as in the model? */
void    spec_lies_in_model(Spec *, const Value *, RtTensor *);       /* the model has such a tensor there */
void    spec_alter(Spec *, const Value *);                /* in the model it is contiguous, here it need not be */
bool    spec_contiguous(Spec *, Scope *, const Node *);   /* a node that makes contiguous: was nothing to do? */
bool    spec_lies_like(const RtTensor *, const RtTensor *);      /* the same sizes and strides? */
/* A node that divides channels: were they taken as they lie? */
bool    spec_parts(Spec *, Scope *, const Node *);

/* ---- put.c ------------------------------------------------------------------------------------------------------- */

Value  *spec_put_constant(Spec *, IValue, Range at);     /* takes it */
/* Contiguous: element e is element from[e] of the storage of w, or zero where that is negative (storage_moved); keeps
 * from. */
Value  *spec_put_moved(Spec *, const RtTensor *w, const RtGeometry *, const int64_t *from, Range at);
Value  *spec_put_int(Spec *, int64_t, Range at);
enum { PUT_MOST = 10 };          /* numbers of a list */

Value  *spec_put_list(Spec *, const int64_t *, int n, Range at);         /* n <= PUT_MOST */
/* A list of n ints, at most PUT_MOST: the size of of[i] at dims[i], which may be dynamic, or dims[i] where of[i] is
 * null. */
Value  *spec_put_sizes(Spec *, Scope *, Value *const *of, const int64_t *dims, int n, Range);
/* A list of n tensors, of the type of `like`, which holds others. */
Value  *spec_put_tensors(Spec *, Value *const *of, int n, const Value *like, Range at);
/* The result of an operator of one result; name: with its overload, such as aten::slice.Tensor. */
Value  *spec_put_op(Spec *, Scope *, const char *name, Value *const *in, int nin, Range at);
Value  *spec_put_write(Spec *, Scope *, Value *to, Value *v, Range);     /* aten::copy_: `to` with v in it */
Value  *spec_put_permute(Spec *, Scope *, Value *, const int64_t *dims, int n, Range);
/* x in a memory format, 0: contiguous, 2 and 3: channels last of so many dims; x itself where it is. */
Value  *spec_put_contiguous(Spec *, Scope *, Value *x, int format, Range);
Value  *spec_put_merge(Spec *, Scope *, Value *, int dim, Range);        /* dims dim and dim + 1 as one */

typedef struct Slice { int64_t from, to, step; } Slice;                  /* to: negative from the end; 0: the end */

Value  *spec_put_slice(Spec *, Scope *, Value *, int dim, Slice, Range); /* x itself where that is all of it */
/* n's copy, with of[i] in place of its i-th argument where that is not null; n has one result */
Value  *spec_put_with(Spec *, Scope *, const Node *n, Value *const *of);
bool    spec_known_ints(Spec *, const Node *m, const char *arg, int n, int64_t *out);    /* is it a list of n? */

/* ---- convforms.c ------------------------------------------------------------------------------------------------- */

typedef struct Conv {                    /* over up to three dims, of floats by constant weights, not transposed */
	Value    *x, *bias;
	RtTensor *w;                     /* (out, in / groups, kernel...) */
	int64_t   stride[3], padding[3], dilation[3], groups;
	Range     at;
} Conv;

bool    spec_plain_convolution(Spec *, const Node *m, int nd, Conv *);   /* is m such a one, over nd dims? */

/* What stands for the result of m, a convolution; null: it stays. */
Value  *spec_convolution(Spec *, Scope *, const Node *m);
Value  *spec_convolution_volume(Spec *, Scope *, const Node *m);         /* volumes.c: likewise, over three dims */

/* What is squeezed here from four dims, of height 1; null: it is no such value. */
Value  *spec_squeezed(Spec *, const Value *);
/* Does n, a pointwise operator, where its tensors were squeezed so, or have an element for each channel, before the
 * squeeze; false: it is not done. */
bool    spec_under_squeeze(Spec *, Scope *, Node *n);
/* volumes.c: likewise of m, a pool over three dims */
Value  *spec_pool_volume(Spec *, Scope *, const Node *m);
/* volumes.c: spec_under_squeeze where its tensors were viewed as volumes. */
bool    spec_under_volume(Spec *, Scope *, Node *n);

/* ---- convtransposed.c -------------------------------------------------------------------------------------------- */

typedef struct Transposed {
	Value *x;
	const RtTensor *w, *bias;        /* (g * in, c, K...); bias or null */
	int64_t groups, in, c;           /* channels of a group */
	/* depth, height and width; missing dims have 1 */
	int64_t k[3], s[3], pad[3], out[3];
	int64_t t[3], a[3];              /* taps of the convolution's window, and its output places */
	int64_t side[3];                 /* how far the window reaches before its place: the convolution's padding */
	int64_t shift[3];                /* of the first phase from the result's begin, before it is cut */
	bool close;                      /* asked for: phases begin where the result does, nothing is cut */
	int nd;                          /* spatial dims of the model */
	int n;                           /* spatial dims of the convolution: 2 or 3 */
} Transposed;

Value  *spec_convolution_transposed(Spec *, Scope *, const Node *m);     /* what stands for it; null: it stays */
/* Channels, taps and places of each dim, from the sizes of x and y; false: some results are reached by no tap. */
bool    spec_phases(Transposed *, const int64_t *x, const int64_t *y);
/* Constants of the convolution that computes all phases: its weights; floats by channel of the result. */
Value  *spec_phase_weights(Spec *, const Transposed *, Range);
Value  *spec_phase_channels(Spec *, const Transposed *, const RtTensor *of, Range);
Value  *spec_phases_joined(Spec *, Scope *, const Transposed *, Value *z, Range);        /* its phases side by side */

/* ---- writes.c ---------------------------------------------------------------------------------------------------- */

/* n, a copy into what self is, is bound to what it copies */
bool    spec_stored_already(Spec *, Scope *, Node *n);
/* n, a clone only for the write behind it, is made there if at all */
bool    spec_left_out(Spec *, Scope *, Node *n);
bool    spec_write(Spec *, Scope *, Node *n);                    /* n, an in-place operator, is computed as a value */

/* ---- distances.c ------------------------------------------------------------------------------------------------- */

Value  *spec_distances(Spec *, Scope *, const Node *m);          /* what stands for cdist's result; null: it stays */

/* ---- rowforms.c -------------------------------------------------------------------------------------------------- */

Value  *spec_rows(Spec *, Scope *, const Node *m);       /* what stands for a product's result; null: it stays */
Value  *spec_contract(Spec *, Scope *, const Node *m);   /* likewise */

/* ---- sdpa.c ------------------------------------------------------------------------------------------------------ */

/* What stands for an attention's result; null: it stays. */
Value  *spec_sdpa(Spec *, Scope *, const Node *m);

/* ---- normforms.c ------------------------------------------------------------------------------------------------- */

Value  *spec_batch_norm(Spec *, Scope *, const Node *m);         /* likewise of a batch norm */
Value  *spec_instance_norm(Spec *, Scope *, const Node *m);      /* likewise of an instance norm */
Value  *spec_group_norm(Spec *, Scope *, const Node *m);         /* likewise of a group norm */

/* ---- poolforms.c ------------------------------------------------------------------------------------------------- */

Value  *spec_pool_line(Spec *, Scope *, const Node *m);          /* likewise of a pool over one dim */

/* ---- floatforms.c ------------------------------------------------------------------------------------------------ */

Value  *spec_cast(Spec *, Scope *, const Node *m);               /* what stands for a cast's result; null: it stays */
/* The node m, of bfloat16 or float16, of floats; null: it stays.  What stands for its result is rounded to m's type. */
Node   *spec_in_float(Spec *, Scope *, const Node *m);
Value  *spec_rounded(Spec *, Scope *, const Node *m, Value *);

/* ---- quantforms.c ------------------------------------------------------------------------------------------------ */

/* What stands for the result of m, on quantized tensors whose scales are numbers; null: it stays.  Of several results
 * that is the first of a node that has as many. */
Value  *spec_quantize(Spec *, Scope *, const Node *m);
Value  *spec_dequantize(Spec *, Scope *, const Node *m);
Value  *spec_int_repr(Spec *, Scope *, const Node *m);
void    spec_quant_results(Spec *, Scope *, const Node *n, const Node *m);
void    spec_quant_arguments(Node *m);
Value  *spec_quant_view(Spec *, Scope *, const Node *m);
Value  *spec_quant_map(Spec *, Scope *, const Node *m);
Value  *spec_quant_parts(Spec *, Scope *, const Node *m);
Value  *spec_quant_cat(Spec *, Scope *, const Node *m);
Value  *spec_quant_linear_op(Spec *, Scope *, const Node *m);
Value  *spec_quant_avg_pool(Spec *, Scope *, const Node *m);
Value  *spec_quant_mean_dim(Spec *, Scope *, const Node *m);
Value  *spec_quant_linear(Spec *, Scope *, const Node *m);
Value  *spec_quant_conv(Spec *, Scope *, const Node *m);
Value  *spec_quant_linear_by_range(Spec *, Scope *, const Node *m);      /* quantized::linear_dynamic */
Value  *spec_quant_linear_half(Spec *, Scope *, const Node *m);          /* quantized::linear_dynamic_fp16 */
Value  *spec_linear_of_bytes(Spec *, Scope *, const Node *m);            /* byteforms.c: else spec_rows */
Value  *spec_rows_of_bytes(Spec *, Scope *, const Node *m);              /* prim::dequantized_rows */
Value  *spec_convolution_of_bytes(Spec *, Scope *, const Node *m);
Value  *spec_quant_walk(Spec *, Scope *, const Node *m);                 /* prim::rnn_walk_packed */

/* ---- padforms.c -------------------------------------------------------------------------------------------------- */

Value  *spec_pad_edges(Spec *, Scope *, const Node *m);          /* likewise of a padding */

/* ---- sampleforms.c ----------------------------------------------------------------------------------------------- */

Value  *spec_grid_sampler(Spec *, Scope *, const Node *m);       /* likewise of sampling at the points of a grid */

#endif
