/* ir/ir.h - the graph: types, symbols, values, nodes, blocks, schemas, the operator registry
 *
 * A Graph owns its blocks, a Block its nodes, a Node its outputs.  All live in the arena of the compile and die with
 * it; destroying a node only unlinks it.  A value is in scope from its node to the end of the block, nested blocks
 * included.  lint() checks all of this.  The text form is described in il.txt.
 */
#ifndef IR_H
#define IR_H

#include "../rt/base.h"
#include "../rt/rt.h"

#include <string.h>

typedef RtType Type;                /* interned by type.c: compare with == */
typedef RtTensorInfo TensorInfo;
typedef const struct Sym *Symbol;   /* interned: compare with ==; null: none */
typedef struct Graph Graph;
typedef struct Block Block;
typedef struct Node Node;
typedef struct Value Value;
typedef struct Schema Schema;
typedef struct Op Op;
typedef struct Function Function;
typedef struct ClassInfo ClassInfo;

/* ---- symbol.c ---------------------------------------------------------------------------------- */

struct Sym { const char *name; int n; };            /* "aten::add", "value"; n bytes */
Symbol sym(Cx *, const char *name);
Symbol sym_n(Cx *, const char *name, int n);
/* By text: names of attributes, kinds that are data. */
static inline bool
sym_is(Symbol s, const char *name)
{
	return s && s->n == (int)strlen(name) && !memcmp(s->name, name, (size_t)s->n);
}

/* Kinds that the code names: aten_relu is what sym(cx, "aten::relu") gives in every context. */
#define KIND(space_, name_) extern const struct Sym space_##_##name_[1];
#include "kinds.def"
#undef KIND

/* ---- type.c -------------------------------------------------------------------------------------- */

/* A dim or stride: a number >= 0, DIM_ANY, or a symbol of a dynamic size: DIM_SYMBOL(k), k >= 0. */
enum { DIM_ANY = -1 };
#define DIM_SYMBOL(k)    (-2 - (int64_t)(k))
#define DIM_IS_SYMBOL(d) ((d) <= -2)
#define DIM_INDEX(d)     ((int)(-2 - (d)))

struct RtTensorInfo {
	int     dtype;             /* RtDtype, or -1: any */
	int     rank;              /* -1: any */
	const int64_t *dims;       /* (rank), or null: any */
	const int64_t *strides;    /* (rank), or null: any */
	int     grad;              /* requires_grad: 0, 1, -1 any */
	int     device;            /* 0 cpu, -1 any */
	int     undefined;         /* 1: certainly undefined; 0: defined; -1 any */
};

const Type *type_list(Cx *, const Type *elem);
const Type *type_dict(Cx *, const Type *key, const Type *value);
/* Optional[Optional[T]] is Optional[T], of None is None, of Any is Any */
const Type *type_optional(Cx *, const Type *);
const Type *type_future(Cx *, const Type *);
const Type *type_await(Cx *, const Type *);
const Type *type_tuple(Cx *, const Type *const *, int n);
const Type *type_named_tuple(Cx *, const char *name, const char *const *field, const Type *const *, int n);
const Type *type_union(Cx *, const Type *const *, int n);    /* flattened, sorted, without what another one covers */
const Type *type_var(Cx *, const char *name);
const Type *type_class(Cx *, const char *name, bool interface);   /* the one of that name; made empty when new */
const Type *type_named_at(Cx *, int i);      /* classes, interfaces and enums in order of their making; null: no more */
const Type *type_named(Cx *, const char *name);      /* class, interface or enum that exists already, or null */
const Type *type_enum(Cx *, const char *name, const Type *value);
const Type *type_function(Cx *, Function *);
const Type *type_tensor(Cx *, const TensorInfo *);   /* copied; null: Tensor */
const Type *type_unshaped(Cx *, const Type *);       /* Tensor without what is known of it, also inside */
/* rt's constants are the basic types: &rt_type_int, &rt_type_tensor ... ; type_canonical gives the interned one of a
 * foreign RtType */
const Type *type_canonical(Cx *, const RtType *);

bool        type_is_subtype(Cx *, const Type *, const Type *of);  /* reference 3.5 */
const Type *type_unify(Cx *, const Type *, const Type *);         /* common supertype by TorchScript's rules, or null */
/* IR syntax: int[], Tensor?, Dict(str, Tensor), Float(2, 3, strides=[3, 1]) */
const char *type_print(Cx *, const Type *);
const char *type_python(Cx *, const Type *);         /* List[int], Optional[Tensor] */
bool        type_is_mutable(const Type *);           /* tensors and containers of them, objects: what may alias */
bool        type_has_vars(const Type *);
const Type *tensor_info_merge(Cx *, const Type *, const Type *);  /* profile merge, reference 9.3 */
const Type *type_of_tensor(Cx *, const RtTensor *);  /* complete */
const Type *type_of_value(Cx *, IValue);             /* dynamic type; tensors complete */

/* ---- const.c: values made while compiling; owned by the compile, never released -------------------------- */

RtCx  *cx_rt(Cx *);                                   /* its runtime context: for constants and folding */
IValue value_str(Cx *, const char *, int64_t n);      /* n < 0: to the final 0 */
IValue value_list(Cx *, const Type *elem, const IValue *, int n);
IValue value_tuple(Cx *, const Type *named, const IValue *, int n);   /* named: NamedTuple or null */
IValue value_complex(Cx *, double re, double im);
bool   value_any(IValue, bool (*is)(IValue));         /* is it so of the value, or of one in a list or tuple in it? */
bool   value_enum(Cx *, const Type *, const char *name, IValue *);    /* the member of that name, as an RT_ENUM */
void   tensor_note(Cx *, uint64_t hash, RtTensor *);  /* printed by its hash: kept for who reads the text back */
RtTensor *tensor_noted(Cx *, const char *hash);       /* 16 hexadecimal digits; null: not known */
int    object_note(Cx *, RtObject *);                 /* the same by a number: which of the objects that were printed */
RtObject *object_noted(const Cx *, int64_t number);   /* null: not known */
/* A storage whose elements are another's, in other places: element e has the bits of element from[e] of `of`, or is
 * zero where from[e] < 0.  Both are retained; from, an entry for each element, is kept by reference. */
typedef struct Moved { RtStorage *of; const int64_t *from; } Moved;
void         storage_moved(Cx *, RtStorage *, RtStorage *of, const int64_t *from);
const Moved *storage_source(const Cx *, const RtStorage *);     /* null: its elements are its own */

/* ---- widen.c: floats of weights of 16 bits ------------------------------------------------------------------ */

typedef struct Widened {           /* n floats, the numbers of `of` from element `from` on, which has that dtype */
	RtStorage *storage, *of;
	int64_t from, n;
	RtDtype dtype;
} Widened;

/* t, of bfloat16 or float16, in float: one tensor for the whole compile, without data.  Null: t is small, or its
 * elements are not side by side, or something may write to it. */
RtTensor *widened(Cx *, const RtTensor *t);
const Widened *storage_widened(const Cx *, const RtStorage *);  /* null: it is none of these */
void widened_row(const Widened *, int64_t first, int64_t n, int64_t apart, float *to);  /* n elements, some apart */
void widened_fill(Cx *, RtStorage *);       /* makes the data of such a storage, until the next widened_trim */
void widened_fill_value(Cx *, IValue);      /* ... of a tensor, or of all in a list or tuple */
void widened_trim(Cx *);                    /* frees all data that was made */
bool tensor_has_data(const RtTensor *);     /* false: sizes alone are known, or its data would have to be made */
bool value_lacks_data(IValue);              /* would it have to be made, of a tensor in it? */

/* ---- class.c ---------------------------------------------------------------------------------------- */

typedef struct Attribute {
	const char *name;
	const Type *type;
	bool   parameter, buffer, is_constant;
	IValue constant;
	int    slot;               /* -1 of a constant; class_add_attr sets it */
} Attribute;
typedef struct EnumMember { const char *name; IValue value; } EnumMember;     /* value: of the member, no RT_ENUM */

/* An instruction that reads or writes that slot of a class's objects; code that was lowered again has others. */
typedef struct SlotUse { const RtCode *code; int pc, slot; } SlotUse;
bool slot_use_holds(const SlotUse *);                /* does the code still have it? */

struct ClassInfo {                 /* behind RtClass.info */
	RtClass   *cls;            /* slots are the attributes that are no constants, in order */
	const Type *type;
	bool       module, interface;
	bool       defined;        /* its source has been read */
	Vec(Attribute) attrs;
	Map        attr_index;     /* name -> index of the first of that name, + 1 */
	Vec(Function *) methods;
	Vec(const char *) pre_hooks, hooks;
	Vec(EnumMember) members;   /* enums */
	Vec(SlotUse) slot_uses;
	const void *tree;          /* frontend's */
};
ClassInfo *class_info(const Type *);                 /* of class, interface or enum */
Attribute *class_attr(const ClassInfo *, const char *name);
void       class_add_attr(Cx *, ClassInfo *, Attribute);   /* keeps RtClass.slot in step */
int        class_slot(const RtClass *, const char *name);   /* -1: no attribute, or a constant */
Function  *class_method(const ClassInfo *, const char *name);
const char *method_key(Arena *, const Type *interface, const char *name);   /* by which a program finds it: rt_method */

/* ---- schemaprint.c -------------------------------------------------------------------------------------- */

typedef struct AliasSet {          /* (a! -> b|*) */
	bool write;
	Vec(Symbol) before, after; /* "*": wildcard */
	struct AliasSet *inner;    /* of a container's elements, or null */
} AliasSet;

typedef struct Arg {
	const char *name;          /* "" for unnamed results */
	const Type *type;
	bool        has_default, kwonly;
	IValue      deflt;
	int         size_hint;     /* int[2]: 2; else 0 */
	AliasSet   *alias;         /* null: fresh, or not mutable */
	/* innermost type as the schema has it when that is an alias: ScalarType, SymInt; or null */
	const char *word;
} Arg;

struct Schema {
	const char *name;          /* aten::add */
	const char *overload;      /* Tensor, or "" */
	Arg *args, *rets;
	int  nargs, nrets;
	bool vararg, varret;
};
const char *schema_print(Cx *, const Schema *);
int schema_find(const Schema *, const char *arg);           /* its index; -1: there is none of that name */

/* ---- op.c: the registry, from rt/ops/ops.h --------------------------------------------------------------- */

typedef enum OpForm { OP_MAP, OP_KERNEL, OP_BODY, OP_ALSO, OP_USER } OpForm;
/* What a kernel of specialized code computes for a row (LOWER in rt/ops/ops.h): rows that differ only in how their
 * arguments are given have the same. */
typedef enum Lowering {
	LOWER_NONE, LOWER_SUM, LOWER_MEAN, LOWER_NANSUM, LOWER_PROD, LOWER_COUNT_NONZERO, LOWER_MAX, LOWER_MIN,
	LOWER_MIN_MAX, LOWER_ALL, LOWER_ANY, LOWER_ARGMAX, LOWER_ARGMIN, LOWER_VECTOR_NORM, LOWER_VAR, LOWER_STD,
	LOWER_LOGSUMEXP, LOWER_LAYER_NORM, LOWER_RMS_NORM, LOWER_GROUP_NORM, LOWER_INSTANCE_NORM, LOWER_BATCH_NORM,
	LOWER_SOFTMAX, LOWER_LOG_SOFTMAX, LOWER_COPY, LOWER_CAST, LOWER_COPY_INTO, LOWER_REPEAT, LOWER_CAT,
	LOWER_STACK, LOWER_ROLL, LOWER_FLIP, LOWER_PAD, LOWER_PAD_REFLECT, LOWER_PAD_REPLICATE, LOWER_PAD_CIRCULAR,
	LOWER_ZEROS, LOWER_ONES, LOWER_FULL, LOWER_ARANGE, LOWER_TRIU, LOWER_TRIL, LOWER_EMBEDDING,
	LOWER_INDEX_SELECT, LOWER_GATHER, LOWER_INDEX,
	LOWER_MATMUL, LOWER_LINEAR, LOWER_ADDMM, LOWER_CONTRACT, LOWER_CONVOLUTION, LOWER_CONVOLUTION_BACKWARD,
	LOWER_MAX_POOL, LOWER_AVG_POOL, LOWER_ADAPTIVE_AVG_POOL, LOWER_ADAPTIVE_MAX_POOL, LOWER_MAX_POOL_PLACES,
	LOWER_MAX_POOL_BACKWARD, LOWER_INDEX_ADD, LOWER_INDEX_COPY, LOWER_INDEX_FILL, LOWER_SCATTER_ADD,
	LOWER_SCATTER, LOWER_INDEX_PUT,
	LOWER_BILINEAR, LOWER_BICUBIC, LOWER_BILINEAR_SMOOTH, LOWER_BICUBIC_SMOOTH, LOWER_LANCZOS_SMOOTH,
	LOWER_NEAREST, LOWER_NEAREST_EXACT,                     /* these seven: op_is_resize */
	LOWER_GRID_SAMPLE,
	LOWER_GRID_SAMPLE_LAST, LOWER_ROI_ALIGN, LOWER_RNN, LOWER_CUMSUM, LOWER_CUMPROD, LOWER_LOGCUMSUMEXP,
	LOWER_CUMMAX, LOWER_CUMMIN, LOWER_TOPK, LOWER_EMBEDDING_BAG, LOWER_EMBEDDING_BAG_RAW, LOWER_ATTENTION,
	LOWER_SDPA, LOWER_CONV_INT8, LOWER_LINEAR_INT8, LOWER_LINEAR_SUMS, LOWER_CONV_SUMS,
	/* pointwise rows, of complex numbers */
	LOWER_COMPLEX_ADD, LOWER_COMPLEX_SUB, LOWER_COMPLEX_RSUB, LOWER_COMPLEX_MUL, LOWER_COMPLEX_DIV,
	LOWER_COMPLEX_NEG, LOWER_COMPLEX_CONJ, LOWER_COMPLEX_ABS, LOWER_COMPLEX_ANGLE, LOWER_COMPLEX_EXP,
	LOWER_COMPLEX_RECIPROCAL,
	NLOWERING
} Lowering;
typedef enum OpEffect { EFFECT_PURE, EFFECT_RANDOM, EFFECT_IO } OpEffect;

struct Op {
	const char *id;            /* add_Tensor */
	const char *text;          /* the schema's text; of an ALSO row maybe its name alone (op_schema_text) */
	const char *name;          /* aten::add */
	const char *overload;
	OpForm      form;
	OpEffect    effect;        /* of a BODY or ALSO row: known once it was looked up by name */
	const char *family;        /* map, nn ... */
	const char *rule;          /* meta, same, value, data, ... ; MAP: "map" */
	const char *domain, *result, *value;     /* MAP */
	const char *gradient;      /* "" none */
	const char *body;          /* BODY */
	const char *base;          /* ALSO: id of the row */
	bool        exact;         /* it is an OUT row */
	RtKernel   *kernel;        /* null: BODY */
	Lowering    lowering;
	int         row;           /* an OpRow (row.h); -1: the user's */
	Schema     *schema;        /* parsed on first use: op_schema */
	Function   *function;      /* BODY, compiled by frontend's ops_compile_bodies */
	Function   *gradient_function;       /* compiled from gradient: frontend's op_gradient */
	Op         *next;          /* overload that is tried after this one */
	bool        met;           /* a model, or a body, calls it */
};
/* Parses schema text; set by frontend/script/schema.c before the first look-up, since text is read there. */
extern Schema *(*schema_parser)(Cx *, const char *text);
/* Kernels in order of the rows, in place of those that the rows name; null: none.  Set before the first look-up. */
extern RtKernel *const *op_kernels;
void    ops_init(Cx *);                             /* builds the index; cheap */
Op     *op_first(Cx *, const char *name);           /* "aten::add": first overload in order, or null */
Op     *op_find(Cx *, const char *name, const char *overload);     /* null: there is none */
Op     *op_named(Cx *, const char *name);           /* with its overload: "aten::add.Tensor"; null: there is none */
Op     *op_by_id(Cx *, const char *id);
bool    op_lacks_overloads(Cx *, const char *name); /* has PyTorch overloads of it that have no row? */
const char *op_schema_text(Cx *, Op *);             /* the schema's whole text */
Schema *op_schema(Cx *, Op *);
uint32_t op_use(Cx *, Op *);                        /* what its kernel does with its arguments: RT_USE_WRITES in rt.h */
int     op_count(Cx *);
Op     *op_at(Cx *, int);                           /* in order of the rows */
Op     *op_body(Cx *, Op *);             /* the row whose body it runs: itself, or an ALSO row's base; null: a kernel */
/* --op-schema; body null: a C function */
Op     *op_add_user(Cx *, const char *schema, const char *symbol, const char *body);
const char *op_name_at(Cx *, int);                  /* names, once each; null: no more */
const char *op_suggest(Cx *, const char *name);     /* a near name, or null */

enum { NAME_NEAR = 2 };                                /* names of this distance may be meant */
/* How many letters of name are to be changed, added, dropped or swapped with the next for the other one; NAME_NEAR + 1
 * when that is too much of it. */
int name_distance(const char *name, const char *);

/* ---- graph.c, node.c, value.c ---------------------------------------------------------------------------- */

typedef struct Use { Node *node; int index; } Use;     /* node->in[index] */

struct Value {
	const Type *type;
	Node       *node;          /* that makes it; a block's param node for its inputs */
	int         index;         /* node->out[index] */
	Vec(Use)    uses;          /* in no particular order */
	Symbol      name;          /* from the source, or null; print.c makes it unique */
	int         id;            /* unique in the graph */
	int         reg;           /* its register in the Code (code.c), -1: none; see value_register */
	void       *mark;          /* scratch of the pass that runs */
};

typedef enum AttrKind { ATTR_VALUE, ATTR_GRAPH, ATTR_TYPE, ATTR_TYPES, ATTR_FUNCTION } AttrKind;
typedef struct Attr {
	Symbol   name;
	AttrKind kind;
	IValue   v;                /* owned by the compile: never released */
	Graph   *g;
	const Type *type;
	const Type *const *types;
	int      ntypes;
	Function *fn;
} Attr;

struct Node {
	Symbol  kind;              /* aten::add, prim::If */
	Op     *op;                /* the overload; null for prim kinds without a row */
	Graph  *graph;             /* also while unlinked */
	Value **in, **out;
	int    *use;               /* by input: its index among the uses of its value */
	int     nin, nout, in_cap, use_cap;
	Block **sub;               /* nested blocks */
	int     nsub;
	Vec(Attr) attrs;
	Block  *block;             /* that holds it; null: unlinked */
	Node   *prev, *next;       /* in the block; the ring goes through block->ret */
	Range   at;
	/* of inlined code, innermost first: the function (what), where it was called (at); or null */
	Frame  *inlined;
	int64_t position;          /* order in its block: node_is_before */
	int     pc;                /* prepared graphs: its instruction in the Code (code.c), -1: none */
	int     end;               /* the instruction after it: where its results are there */
	int     id;                /* unique in the graph */
	bool    mark;              /* scratch */
};

struct Block {
	Graph *graph;
	Node  *owner;              /* prim::If ...; null at the top */
	Node  *param;              /* its outputs are the block's inputs; not in the ring */
	Node  *ret;                /* its inputs are the block's outputs; the ring's end: ret->next is the first node */
};

struct Graph {
	Cx    *cx;
	Arena *arena;
	Block *top;
	int    nvalue, nnode;      /* next ids */
	const char *name;          /* of the function, for messages */
	Block *at_block;           /* insertion point: before at_node in at_block */
	Node  *at_node;
};

struct Function {
	const char *name;          /* qualified: __torch__.Net.forward */
	Schema     *schema;
	const Type *self;          /* of methods */
	Graph      *graph;         /* null until compiled */
	Graph      *prepared;      /* after opt's prepare */
	RtCode     *code;          /* lowered from prepared, or from graph when there is none */
	Function   *unchanged;     /* its copy that is never prepared: code_lower_unchanged; or null */
	const Map  *places;        /* code.c's: what finds a place in the code */
	const void *tree;          /* frontend's, compiled on first use by function_graph() */
	struct Exported *exported; /* the same of a program of torch.export; or null */
	const struct Gradient *gradient;     /* opt's: what of it is differentiated; null: nothing */
	struct Unit *unit;
	int         state;         /* 0 not compiled, 1 being compiled, 2 done */
};
/* The index of the first argument behind self: 1 of a method, 0 of a function. */
static inline int
function_first(const Function *fn)
{
	return fn->self != NULL;
}

#define NODES(n, b)     (Node *n = (b)->ret->next, *n##_; n != (b)->ret && (n##_ = n->next, 1); n = n##_)
#define NODES_REV(n, b) (Node *n = (b)->ret->prev, *n##_; n != (b)->ret && (n##_ = n->prev, 1); n = n##_)
/* for NODES(n, block) { ... }: n may be destroyed in the body */
#define ALL_NODES(n, b) (Node *n = NULL; (n = block_next((b), n));)
/* for ALL_NODES(n, block) { ... }: also those of inner blocks, each after the node that has them; n must stay there */
#define INNER_FIRST(n, b) (Node *n, *n##_ = block_after((b), NULL); (n = n##_) && (n##_ = block_after((b), n), 1);)
/* for INNER_FIRST(n, block) { ... }: also those of inner blocks, each before the node that has them; n may be
 * destroyed */

Graph *graph_new(Cx *, const char *name);
Graph *graph_clone(Graph *, Map *values);          /* map (may be null): "%id" -> the clone's Value, see graph_cloned */
Value *graph_cloned(Map *values, const Value *);
void   graph_set_cloned(Map *values, const Value *from, Value *to);    /* what stands for `from` in the clone */
Value *graph_add_input(Graph *, const Type *, Symbol name);
void   graph_add_output(Graph *, Value *);
#define graph_inputs(g)  ((g)->top->param->out)
#define graph_ninputs(g) ((g)->top->param->nout)
void   graph_set_insert_before(Graph *, Node *);   /* insertion point */
void   graph_set_insert_end(Graph *, Block *);
Node  *graph_insert(Graph *, Node *);              /* at the insertion point */
Node  *graph_emit(Graph *, const char *kind, Range, int nin, Value *const *in, int nout);   /* makes and inserts */
/* The result, of type t, of an operator named with its overload, such as "aten::add.Tensor". */
Value *graph_emit_op(Graph *, const char *op, Range, int nin, Value *const *in, const Type *t);
Value *graph_uninitialized(Graph *, const Type *, Range);                /* a value that nobody will use */
Value *graph_constant(Graph *, IValue, Range);     /* prim::Constant at the insertion point; typed by the value */
Value *graph_constant_typed(Graph *, IValue, const Type *, Range);
uint64_t graph_hash(Graph *);                      /* of its canonical text */

Node  *node_new(Graph *, Symbol kind, Range, int nout);        /* outputs typed Tensor */
Block *block_new(Graph *, Node *owner);                /* owner null: the top one; else node_add_block */
Block *node_add_block(Node *);
Value *block_add_input(Block *, const Type *, Symbol name);
void   block_remove_input(Block *, int);
void   block_add_output(Block *, Value *);
void   block_remove_output(Block *, int);
/* inputs mapped when in values, else kept; blocks too; not inserted */
Node  *node_clone(Graph *to, Node *, Map *values);
void   node_insert_before(Node *, Node *at);
void   node_insert_after(Node *, Node *at);
void   node_append(Node *, Block *);
void   node_move_before(Node *, Node *at);
void   node_move_after(Node *, Node *at);
void   node_destroy(Node *);                           /* its outputs must have no uses */
Value *node_add_input(Node *, Value *);
void   node_set_input(Node *, int, Value *);
int    node_input_index(const Node *, const Value *);    /* the first input that is this value, or -1 */
void   node_remove_input(Node *, int);
Value *node_add_output(Node *, const Type *);
void   node_remove_output(Node *, int);
bool   node_is_before(const Node *, const Node *);     /* also across blocks: in the nearest common block */
bool   node_in_block(const Node *, const Block *);     /* nested counts */
Attr  *node_attr(const Node *, const char *name);      /* null when absent */
Attr  *node_attr_new(Node *, const char *name, AttrKind);   /* replaces */
void   node_set_int(Node *, const char *name, int64_t);
void   node_set_str(Node *, const char *name, const char *);
void   node_set_value(Node *, const char *name, IValue);
int64_t     node_int(const Node *, const char *name, int64_t absent);
const char *node_str(const Node *, const char *name);
static inline bool node_is(const Node *n, Symbol kind) { return n->kind == kind; }
bool   node_is_loose(const Node *);            /* does its kernel not know the type of what it makes?  rt_settle then */
/* print, raise, calls, writes to attributes, random: order is kept */
bool   node_has_effect(const Node *);
bool   node_is_nondeterministic(const Node *);
bool   node_may_refuse_data(const Node *);   /* raises for some indices, keys, divisors, texts, whatever the types */
bool   node_may_divide_by_zero(const Node *);          /* integers: pointwise, and raises then */
/* pointwise: integers of its type may not hold a bound or factor, and it raises then */
bool   node_may_overflow(const Node *);
/* Of a call or a constant, when it is known: attribute "function", the method of a class, a constant as input 0. */
Function *node_function(const Node *);
const Schema *node_schema(const Node *);               /* null for prim kinds without a row */
bool   node_writes_input(const Node *, int i);            /* as its schema says */
bool   node_writes(const Node *);                         /* any of them; nested nodes not counted */
Value *node_arg(const Node *, const char *name);       /* input of the schema's argument of that name, or null */

void   value_replace_uses(Value *, Value *with);
void   value_replace_uses_after(Value *, Value *with, const Node *);    /* in nodes that come after it */
void   value_set_name(Value *, const char *);
bool   value_constant(const Value *, IValue *);        /* is it a prim::Constant?  borrowed */
bool   value_is_none(const Value *);                   /* constant None, or typed None */
bool   value_int(const Value *, int64_t *);            /* constant int or bool */

/* ---- cflow.c: If and Loop by their parts ---------------------------------------------------------------------- */

#define if_cond(n)     ((n)->in[0])
#define if_then(n)     ((n)->sub[0])
#define if_else(n)     ((n)->sub[1])
#define loop_max(n)    ((n)->in[0])
#define loop_cond(n)   ((n)->in[1])
#define loop_body(n)   ((n)->sub[0])
#define loop_index(n)  ((n)->sub[0]->param->out[0])     /* the trip index */
/* carried value i: in[2 + i], param->out[1 + i], ret->in[1 + i], out[i] */
Node  *if_new(Graph *, Range, Value *cond, int nout);                 /* with both blocks; not inserted */
Node  *loop_new(Graph *, Range, Value *max, Value *cond);             /* with its body and trip index; not inserted */
/* the body's output is to be added by the caller */
void   loop_add_carried(Node *, Value *init, Symbol name);
void   if_remove_output(Node *, int);                                 /* nothing may use it */
void   loop_remove_carried(Node *, int);                              /* nothing may use its parts, inside and out */
/* its nodes take the place of the If, which goes */
void   if_take_branch(Node *, int which);
bool   loop_is_for(const Node *);                                     /* runs to its maximum: no condition of its own */
void   block_splice_before(Block *, Node *at);                        /* moves its nodes, without param and ret */
bool   block_raises(const Block *);                                       /* whenever it runs */
Node  *block_next(const Block *, const Node *n);          /* of ALL_NODES: after n; null: the first, none is left */
Node  *block_after(const Block *, const Node *n);         /* likewise of INNER_FIRST */
bool   block_has(const Block *, Symbol kind);             /* a node of the kind, in inner blocks too */
int    block_size(const Block *);                                        /* nodes, those of inner blocks too */
/* the node of that block in which (or which) n is; null: not there */
Node  *block_owner_in(const Node *, const Block *);

/* ---- hash.c: equal nodes ----------------------------------------------------------------------------------------- */

uint64_t node_hash(const Node *);                      /* kind, overload, inputs, attributes, output types; no blocks */
bool     attr_equal(const Attr *, const Attr *);
/* the same: equal nodes compute equal values when nothing is written */
bool     node_equal(const Node *, const Node *);
/* constants: same type and bits; tensors by dtype, sizes, strides and data */
bool     value_identical(IValue, IValue);
uint64_t contents_hash(const RtTensor *);   /* of dtype, sizes and every byte; node_hash looks only at the first ones */

/* ---- lint.c, print.c, pyprint.c --------------------------------------------------------------------------- */

void   graph_lint(Graph *);                            /* BUG, with the graph, when an invariant is broken */
void   graph_print(Graph *, Buf *, bool places);       /* canonical: values renumbered; places: # file:line:col */
void   node_print(Node *, Buf *);
const char *const *graph_names(Graph *);              /* of values in that text, by id; null: not in it */
void   value_print(Cx *, IValue, Buf *);               /* a constant, in IR syntax */
void   double_print(Buf *, double);                    /* 1., -0., nan: reads back as it was */

/* ---- pyprint.c, pyconst.c: Graph -> TorchScript ------------------------------------------------------------------ */

typedef struct PyNeeds {           /* what printed text refers to, in the order in which it was met */
	Cx  *cx;
	Vec(IValue)       constants;    /* CONSTANTS.cN */
	Vec(const Type *) types;        /* classes, interfaces, enums, NamedTuples */
	Vec(Function *)   functions;    /* that are called */
	Map  seen;                      /* their names */
	/* py_attribute_key of what is read or set, and of methods that are called by name */
	Map  attributes;
	Map  constant;                  /* identity -> N + 1 */
} PyNeeds;
PyNeeds *py_needs(Cx *);
/* def name(...) -> T: and its body; graph null: a stub, as interfaces have it. */
void   py_function(PyNeeds *, const Schema *, const Graph *, const char *name, int indent, Buf *);
const char *py_type(PyNeeds *, const Type *);
void   py_constant(PyNeeds *, IValue, const Type *declared, Buf *);
const char *py_attribute_key(Cx *, const Type *cls, const char *name);
bool   py_is_identifier(const char *);
void   py_quoted(Buf *, const char *);
void   py_note_type(PyNeeds *, const Type *);
void   py_note_function(PyNeeds *, Function *);

/* ---- alias.c ------------------------------------------------------------------------------------------------ */

bool value_is_fresh(const Value *);        /* is it memory of its own when its operator has made it? */
bool node_may_return_input(const Node *);  /* an operator that does though its schema does not say so */
bool node_divides(const Node *);           /* into a list of views that do not overlap, if its input does not */
typedef struct AliasDb AliasDb;
AliasDb *alias_db(Graph *, Arena *);
/* The same, but attributes are told apart: place says what memory a prim::GetAttr gives, or null when it is not known.
 * Memory that it names must reach the graph in no other way, except as a constant (opt/passes/places.c). */
AliasDb *alias_db_placed(Graph *, Arena *, const void *(*place)(void *, const Value *), void *arg);
/* Code outside of the graph writes to what the value, an input or a result, may reach. To be said before anything is
 * asked. */
void alias_written_outside(AliasDb *, const Value *);
bool alias_may(AliasDb *, const Value *, const Value *);                   /* may be the same memory, or overlap */
bool alias_may_contain(AliasDb *, const Value *, const Value *);           /* one may be reachable from the other */
/* is it written itself, its members not counted? */
bool alias_is_written(AliasDb *, const Value *);
/* is it, or what it contains, written anywhere? */
bool alias_has_writers(AliasDb *, const Value *);
bool alias_node_has_writers(AliasDb *, const Node *);                      /* the same of any input or result */
/* does the node (nested too) write memory v may reach? */
bool alias_writes(AliasDb *, const Node *, const Value *);
bool alias_node_writes(AliasDb *, const Node *);                           /* to anything at all */
/* may it be memory that the graph does not follow? */
bool alias_is_wild(AliasDb *, const Value *);
/* is such memory written: of tensors, of containers */
bool alias_wild_is_written(AliasDb *, bool tensors);
/* graph input, output, attribute, container, call, way out of a guard */
bool alias_escapes(AliasDb *, const Value *);
/* Moves the node before `at`, with what it depends on between them, unless a dependence forbids it: false then. */
bool alias_move_before(AliasDb *, Node *, Node *at);
bool alias_can_move_before(AliasDb *, Node *, Node *at);
/* What must not be lost: everything known outside, and what these values may reach. */
void alias_live_clear(AliasDb *);
void alias_live_add(AliasDb *, const Value *);
bool alias_writes_live(AliasDb *, const Node *);                    /* does the node (nested too) write to any of it? */
/* a value made later stands for an older one */
void alias_copy_value(AliasDb *, const Value *from, const Value *to);

void alias_print(AliasDb *, Graph *, Buf *);             /* aliasprint.c: for every value what may be the same memory */

/* ---- lastuse.c: where values die --------------------------------------------------------------------------------- */

/* Of node n, at index n->id.  What dies at the start of a block stands at the block's param node. */
typedef struct LastUse {
	bool *input;           /* (nin) is this the last use of the value on every path from here? */
	Vec(Value *) dead;     /* values nobody needs once the node has run, and no input says so */
	bool *unused;          /* (nout) no path from here needs this output; of an If: the branches need not make it */
} LastUse;
LastUse *last_uses(Graph *, bool (*ignored)(const Node *, int input));     /* ignored: uses that need no value */

/* ---- code.c: Graph -> Code ------------------------------------------------------------------------------------ */

/* Lowers fn->prepared (or graph) and, once each, all functions it calls; results are in fn->code.  Every node gets its
 * pc; every value that has one its register (value_register).  Operators with a body become calls of
 * op->function->code. What has no kernel is collected in `lacking` (names, once each); null: the first one fails with
 * EXIT_LACKS. */
typedef struct Lacking { const char *name; Range at; const char *schema; } Lacking;
typedef struct LackingVec { Lacking *at; int n, cap; } LackingVec;
RtCode *code_lower(Cx *, Function *, LackingVec *lacking);
/* The same from the graph as it was read, and so for all that it calls: a separate code that no pass has changed. */
RtCode *code_lower_unchanged(Cx *, Function *, LackingVec *lacking);
/* The index in fn->code of a node's place, and of the call that brought it there; 0: the code has none. */
int     code_place(const Function *, Range at, const Frame *inlined);
int     code_caller(const Function *, const Frame *inlined);
int     value_register(const Value *);                 /* after code_lower, until the graph changes; -1: none */
/* codeprint.c: registers that hold something needed from pc on: n of them into regs (room for code->nreg); sorted. */
typedef struct CodeLive CodeLive;                       /* of one code, for all its instructions */
CodeLive *code_live(Arena *, const RtCode *);
int     code_live_at(const CodeLive *, int pc, int *regs);
void    code_print(Cx *, const RtCode *, Buf *);            /* --as code */

#endif
