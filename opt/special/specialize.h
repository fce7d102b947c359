/* opt/special/specialize.h - the partial evaluator: specialize.c (its walk), evalop.c (operators), evalflow.c (If,
 * Loop), infer.c (results), bailouts.c (guards), layouts.c (channels last) and the files that replace operators by
 * others with kernels; private to opt/special */
#ifndef OPT_SPECIALIZE_H
#define OPT_SPECIALIZE_H

#include "../opt.h"

typedef struct Shadow {          /* a known list, and the values of its elements */
	RtList *list;
	Vec(Value *) items;
} Shadow;

typedef struct Scope Scope;
struct Scope {                   /* a graph that is walked: the function's own or the body of an operator */
	Graph   *from;
	Value  **value;          /* value of the new graph, by id of the value in `from` */
	AliasDb *alias;
	bool     top;            /* whether it is the function's own graph, which has resume points for guards */
};

typedef struct Spec {
	Cx   *cx;
	Function *fn;
	const Profile *profile;
	Graph *to;
	/* Evaluates the nodes of a block.  Operators with bodies, Ifs and Loops call it through spec_block. */
	void (*walk)(struct Spec *, Scope *, Block *);
	/* Operator whose body is evaluated.  An error in the body counts as raised by the operator.  Null outside of
	 * bodies. */
	const Node *body;
	KnownTable *k;           /* known values of `to` */
	Vec(Shadow) shadows;
	Value **in_register;     /* value of the prepared graph that each register holds at this point of the walk */
	CodeLive *live;          /* liveness of the registers of the function's Code */
	Shapes *shapes;          /* Records the known values of a sample.  Null if nothing is recorded. */
	bool  *state_written; /* whether the attribute may have changed since entry, by index in the profile's state */
	/* Whether a value may change from call to call although all runs had the same, by id in the prepared graph.
	 * Null until first asked for. */
	bool  *unsteady;
	const char *declined;    /* why the last form of a node was not made; null if nothing is to say */
	bool   grad_stays;       /* whether nothing in the graph turns gradients on or off */
	bool   padded;           /* whether some value may have padded rows (attention.def) */
	int    nguard;
	Pass   known;            /* counts each node of the model with inferred results as a change, for -L known */
} Spec;

/* ---- scope.c: values --------------------------------------------------------------------------------------------- */

Shadow *spec_shadow(Spec *, IValue list); /* Shadow of the list.  Null if its elements are not followed. */
bool    spec_reads_by_data(Spec *, const Node *);                /* does an input of the node depend on data? */
/* Is the container itself (not what it contains) written anywhere? */
bool    spec_is_changed(Scope *, const Value *);
Value  *spec_value(Scope *, const Value *from);                  /* the value of the new graph that replaces `from` */
void    spec_bind(Spec *, Scope *, const Value *from, Value *to);
void    spec_bind_constant(Spec *, Scope *, const Value *from, IValue, Range);     /* takes ownership of the IValue */
Node   *spec_copy_node(Spec *, const Node *); /* a node of the same kind, overload and attributes, not yet inserted */
/* Makes a new list of the elements of a list whose contents are known.  It does not depend on the old list's
 * history. */
Value  *spec_fresh_list(Spec *, Value *, Range);
void    spec_block(Spec *, Scope *, Block *);                    /* evaluates the nodes of the block */

/* ---- inmodel.c: layouts in the model ----------------------------------------------------------------------------- */

bool    spec_lies_like(const RtTensor *, const RtTensor *);      /* do they have the same sizes and strides? */
void    spec_lies_in_model(Spec *, const Value *, RtTensor *);       /* in the model the value is this tensor */
void    spec_alter(Spec *, const Value *);      /* in the model the value is a contiguous tensor */
/* Marks results of m, which were just inferred, if the model has another layout for them. */
void    spec_mark_altered(Spec *, const Node *m);
bool    spec_is_view(const Node *);             /* is it a view that depends on dims, and not on strides? */
/* Returns the result that m has if its inputs have the model's layouts.  Null if it is not known. */
RtTensor *spec_result_in_model(Spec *, const Node *m);

/* ---- infer.c ----------------------------------------------------------------------------------------------------- */

/* Runs the kernel of n without data.  The results of m, its copy, become known if the kernel tells them. */
void    spec_infer(Spec *, Scope *, const Node *n, Node *m);
/* Binds n's results to constants if all results of m, its copy, are known numbers, strings, small tensors and the like.
 * Returns true if it did, so that m is not needed. */
bool    spec_fold(Spec *, Scope *, const Node *n, const Node *m);
/* Likewise for an in-place operator n on memory of its own.  m computes the value that n writes. */
bool    spec_fold_written(Spec *, Scope *, const Node *n, const Node *m);
bool    spec_types_known(Spec *, const Node *m);                 /* are the types of all tensor inputs known? */

/* ---- evalop.c, evalflow.c, expand.c ------------------------------------------------------------------------------ */

void    spec_op(Spec *, Scope *, Node *);
void    spec_if(Spec *, Scope *, Node *);
void    spec_loop(Spec *, Scope *, Node *);
bool    spec_is_quantized(const Spec *, const Value *);
/* Replaces n by the nodes of its body or its expansion, if its arguments' types are known. */
bool    spec_expand(Spec *, Scope *, Node *n);
/* Returns the graph that replaces the operator of m, the copy of a node.  Null if the operator is not replaced. */
Graph  *spec_expansion(Spec *, const Node *m);
void    spec_inline_body(Spec *, Scope *, Node *n, Node *m, Graph *);    /* replaces n by the graph, on m's inputs */

/* ---- bailouts.c -------------------------------------------------------------------------------------------------- */

/* Inserts guards for results of n that are unknown.  They then have the profile's types.  m: the copy of n. */
void    spec_guard_outputs(Spec *, Scope *, const Node *n, const Node *m);
void    spec_guard_joined(Spec *, Scope *, const Node *n);       /* likewise for an If or a Loop */

/* ---- layouts.c --------------------------------------------------------------------------------------------------- */

/* Value of input i in the new graph, in a layout that the node can read. */
Value  *spec_argument(Spec *, Scope *, const Node *, int i);
Value  *spec_body_argument(Spec *, Scope *, const Node *, int i);
/* The value in the model's layout, for one that leaves the graph. */
Value  *spec_as_in_model(Spec *, Scope *, Value *, Range);
/* Returns v in channels last, the layout that convolutions read.  grows: whether the convolution's result has more
 * pixels than v. */
Value  *spec_channels_last(Spec *, Scope *, Value *, bool grows, Range);
/* Converts results that are written to to the model's layout right away, so that all their views share one memory. */
void    spec_keep_layout(Spec *, Scope *, const Node *);
/* Replaces an aten::contiguous by its input if the copy may keep the input's layout.  Else returns false. */
bool    spec_contiguous(Spec *, Scope *, const Node *);
/* Replaces a split of channels by slices of the tensor as it is stored.  Returns false if that is not possible. */
bool    spec_parts(Spec *, Scope *, const Node *);
/* Copies the node, with inputs mapped.  Its outputs have the static types. */
Node   *spec_emit_copy(Spec *, Scope *, Node *);
/* Emits n's copy, with of[i] in place of argument i if of[i] is not null.  n must have one result.  Null if this result
 * is not inferred, as for operands that do not broadcast. */
Value  *spec_put_with(Spec *, Scope *, const Node *n, Value *const *of);

/* ---- put.c ------------------------------------------------------------------------------------------------------- */

Value  *spec_put_constant(Spec *, IValue, Range at);     /* takes ownership of the IValue */
/* Emits a contiguous constant.  Its element e is element from[e] of the storage of w, or zero if from[e] is negative
 * (storage_moved).  `from` must stay valid. */
Value  *spec_put_moved(Spec *, const RtTensor *w, const RtGeometry *, const int64_t *from, Range at);
Value  *spec_put_int(Spec *, int64_t, Range at);
enum { PUT_MOST = 10 };          /* largest length of a list */

Value  *spec_put_list(Spec *, const int64_t *, int n, Range at);         /* n <= PUT_MOST */
/* Emits a list of n ints, at most PUT_MOST.  Int i is the size of dim dims[i] of tensor of[i], which may be dynamic.
 * If of[i] is null, int i is dims[i]. */
Value  *spec_put_sizes(Spec *, Scope *, Value *const *of, const int64_t *dims, int n, Range);
/* Emits a list of n tensors with the type of the list `like`. */
Value  *spec_put_tensors(Spec *, Value *const *of, int n, const Value *like, Range at);
/* Emits an operator with one result, and returns the result.  name: with its overload, such as aten::slice.Tensor. */
Value  *spec_put_op(Spec *, Scope *, const char *name, Value *const *in, int nin, Range at);
Value  *spec_put_write(Spec *, Scope *, Value *to, Value *v, Range);     /* emits an aten::copy_ of v to `to` */
Value  *spec_put_permute(Spec *, Scope *, Value *, const int64_t *dims, int n, Range);   /* n: number of all its dims */
/* Returns x in a memory format: 0 is contiguous, 2 and 3 are channels last with 2 or 3 spatial dims.  Returns x itself
 * if it has this format. */
Value  *spec_put_contiguous(Spec *, Scope *, Value *x, int format, Range);
Value  *spec_put_merge(Spec *, Scope *, Value *, int dim, Range);        /* merges dims dim and dim + 1 */

typedef struct Slice { int64_t from, to, step; } Slice;      /* A negative `to` counts from the end.  0 is the end. */

Value  *spec_put_slice(Spec *, Scope *, Value *, int dim, Slice, Range); /* x itself if the slice is the whole dim */
/* Does m have a known list of n ints as this argument? */
bool    spec_known_ints(Spec *, const Node *m, const char *arg, int n, int64_t *out);

/* ---- lines.c: convolutions over one dim -------------------------------------------------------------------------- */

typedef struct Conv {      /* convolution of floats by constant weights, over up to three dims, not transposed */
	Value    *x, *bias;
	RtTensor *w;                     /* (out, in / groups, kernel...) */
	int64_t   stride[3], padding[3], dilation[3], groups;
	Range     at;
} Conv;

bool    spec_plain_convolution(Spec *, const Node *m, int nd, Conv *);   /* is m such a convolution? */
/* Returns the value that replaces the result of m, a convolution over one dim.  Null if m is none, or is not
 * replaced. */
Value  *spec_convolution_line(Spec *, Scope *, const Node *m);
/* Returns the tensor with four dims and height 1 that the value was squeezed from.  Null if there is none. */
Value  *spec_squeezed(Spec *, const Value *);
/* Computes n, a pointwise operator, before the squeeze of its tensors.  Returns false if a tensor was not squeezed and
 * has more than one element for each channel. */
bool    spec_under_squeeze(Spec *, Scope *, Node *n);

/* ---- volumes.c: convolutions and pools over three dims ----------------------------------------------------------- */

/* Return the value that replaces the result of m.  Null if m is no such operator, or is not replaced. */
Value  *spec_convolution_volume(Spec *, Scope *, const Node *m);
Value  *spec_pool_volume(Spec *, Scope *, const Node *m);
/* Computes n, a pointwise operator, before its tensors are viewed as volumes.  Returns false if they are no such
 * views. */
bool    spec_under_volume(Spec *, Scope *, Node *n);

/* ---- convforms.c ------------------------------------------------------------------------------------------------- */

/* Returns the value that replaces the result of m, a convolution.  Null if m is not replaced. */
Value  *spec_convolution(Spec *, Scope *, const Node *m);

/* ---- convtransposed.c -------------------------------------------------------------------------------------------- */

typedef struct Transposed {
	Value *x;
	const RtTensor *w, *bias;        /* (g * in, c, K...); bias may be null */
	int64_t groups, in, c;           /* input and output channels of a group */
	/* Kernel, stride, padding and output size by depth, height and width.  Missing dims have kernel, stride and
	 * size 1. */
	int64_t k[3], s[3], pad[3], out[3];
	int64_t t[3], a[3];              /* taps of the convolution's window, and its output pixels */
	int64_t side[3]; /* padding of the convolution: number of pixels before its own that the window covers */
	int64_t shift[3];                /* offset of the first phase from the result's first pixel, before cutting */
	bool close; /* If possible, let phases start at the result's first pixel, so that nothing is cut. */
	int nd;                          /* number of spatial dims of the model */
	int n;                           /* number of spatial dims of the convolution: 2 or 3 */
} Transposed;

/* Returns the value that replaces the result of m, a transposed convolution.  Null if m is not replaced. */
Value  *spec_convolution_transposed(Spec *, Scope *, const Node *m);
/* Computes channels, taps and output pixels of each dim from the sizes of x and y.  Returns false if no tap contributes
 * to some results. */
bool    spec_phases(Transposed *, const int64_t *x, const int64_t *y);
/* Emit constants of the convolution that computes all phases: its weights, and floats for each of its output
 * channels. */
Value  *spec_phase_weights(Spec *, const Transposed *, Range);
Value  *spec_phase_channels(Spec *, const Transposed *, const RtTensor *of, Range);
Value  *spec_phases_joined(Spec *, Scope *, const Transposed *, Value *z, Range); /* interleaves the phases of z */

/* ---- writes.c ---------------------------------------------------------------------------------------------------- */

/* Binds n, a copy into a tensor, to the source if the source itself can be the result.  Else returns false. */
bool    spec_stored_already(Spec *, Scope *, Node *n);
/* Leaves out n, a clone that only the write after it uses.  The write emits the clone if it needs it. */
bool    spec_left_out(Spec *, Scope *, Node *n);
/* Computes n, an in-place operator, as a value; false if that is impossible. */
bool    spec_write(Spec *, Scope *, Node *n);

/* ---- distances.c ------------------------------------------------------------------------------------------------- */

/* Returns the value that replaces cdist's result.  Null if m is not replaced. */
Value  *spec_distances(Spec *, Scope *, const Node *m);

/* ---- rowforms.c -------------------------------------------------------------------------------------------------- */

/* Returns the value that replaces the result of a matrix product.  Null if m is not replaced. */
Value  *spec_rows(Spec *, Scope *, const Node *m);
Value  *spec_contract(Spec *, Scope *, const Node *m);   /* likewise for prim::contract */

/* ---- sdpa.c ------------------------------------------------------------------------------------------------------ */

/* Returns the value that replaces an attention's result.  Null if m is not replaced. */
Value  *spec_sdpa(Spec *, Scope *, const Node *m);

/* ---- normforms.c ------------------------------------------------------------------------------------------------- */

/* Returns the value that replaces the result of m, a batch norm.  Null if m is not replaced. */
Value  *spec_batch_norm(Spec *, Scope *, const Node *m);
Value  *spec_instance_norm(Spec *, Scope *, const Node *m);      /* likewise for an instance norm */
Value  *spec_group_norm(Spec *, Scope *, const Node *m);         /* likewise for a group norm */

/* ---- poolforms.c ------------------------------------------------------------------------------------------------- */

Value  *spec_pool_line(Spec *, Scope *, const Node *m);          /* likewise for a pool over one dim */

/* ---- floatforms.c ------------------------------------------------------------------------------------------------ */

/* Returns the value that replaces a cast's result.  Null if m is not replaced. */
Value  *spec_cast(Spec *, Scope *, const Node *m);
/* Returns a node on floats that computes m, a node on bfloat16 or float16.  Null if m is not replaced.  spec_rounded
 * rounds the new node's result to the type of m's result. */
Node   *spec_in_float(Spec *, Scope *, const Node *m);
Value  *spec_rounded(Spec *, Scope *, const Node *m, Value *);

/* ---- quantforms.c ------------------------------------------------------------------------------------------------ */

/* Returns the value that replaces the result of m, on quantized tensors whose scales are numbers.  Null if m is not
 * replaced.  If m has several results, the value is the first result of a node with as many. */
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
Value  *spec_quant_adaptive_pool(Spec *, Scope *, const Node *m);
Value  *spec_quant_mean_dim(Spec *, Scope *, const Node *m);
Value  *spec_quant_linear(Spec *, Scope *, const Node *m);
Value  *spec_quant_conv(Spec *, Scope *, const Node *m);
Value  *spec_quant_linear_by_range(Spec *, Scope *, const Node *m);      /* quantized::linear_dynamic */
Value  *spec_quant_linear_half(Spec *, Scope *, const Node *m);          /* quantized::linear_dynamic_fp16 */
Value  *spec_linear_of_bytes(Spec *, Scope *, const Node *m); /* byteforms.c; for other operands calls spec_rows */
Value  *spec_rows_of_bytes(Spec *, Scope *, const Node *m);              /* prim::dequantized_rows */
Value  *spec_convolution_of_bytes(Spec *, Scope *, const Node *m);
Value  *spec_quant_walk(Spec *, Scope *, const Node *m);                 /* prim::rnn_walk_packed */

/* ---- padforms.c -------------------------------------------------------------------------------------------------- */

/* Returns the value that replaces the result of m, a padding.  Null if m is not replaced. */
Value  *spec_pad_edges(Spec *, Scope *, const Node *m);

/* ---- sampleforms.c ----------------------------------------------------------------------------------------------- */

Value  *spec_grid_sampler(Spec *, Scope *, const Node *m);       /* likewise for sampling at the points of a grid */

#endif
