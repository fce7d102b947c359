/* ir/ir.h - the graph: types, symbols, values, nodes, blocks, schemas, the operator registry
 *
 * A Graph owns its blocks, a Block its nodes, a Node its outputs. All are allocated in the arena of the compile and
 * freed with it; destroying a node only unlinks it. A value is in scope from its node to the end of the block,
 * including nested blocks. lint() checks all of this. il.txt describes the text form. */
#ifndef IR_H
#define IR_H

#include "../rt/base.h"
#include "../rt/rt.h"

#include <string.h>

typedef RtType Type;                /* Type. Interned by type.c, so equal types are the same pointer. */
typedef RtTensorInfo TensorInfo;
typedef const struct Sym *Symbol;   /* Interned name, compared by ==. Null for none. */
typedef struct Graph Graph;
typedef struct Block Block;
typedef struct Node Node;
typedef struct Value Value;
typedef struct Schema Schema;
typedef struct Op Op;
typedef struct Function Function;
typedef struct ClassInfo ClassInfo;

/* ---- symbol.c ---------------------------------------------------------------------------------- */

struct Sym { const char *name; int n; };            /* Interned name. n: length in bytes. */
Symbol sym(Cx *, const char *name);
Symbol sym_n(Cx *, const char *name, int n);
/* Compares by text, for attribute names and for kinds that are read from files. */
static inline bool
sym_is(Symbol s, const char *name)
{
	return s && s->n == (int)strlen(name) && !memcmp(s->name, name, (size_t)s->n);
}

/* Symbols of the kinds in kinds.def: aten_relu is the Symbol that sym(cx, "aten::relu") returns in every context. */
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
	int     dtype;             /* RtDtype. -1 if unknown. */
	int     rank;              /* Number of dims. -1 if unknown. */
	const int64_t *dims;       /* Sizes, `rank` of them. Null if none is known. */
	const int64_t *strides;    /* Strides in elements, `rank` of them. Null if none is known. */
	int     grad;              /* requires_grad: 0 or 1. -1 if unknown. */
	int     device;            /* Device: 0 for the CPU, -1 if unknown. */
	int     undefined;         /* 1 if certainly undefined, 0 if defined, -1 if unknown. */
};

const Type *type_list(Cx *, const Type *elem);
const Type *type_dict(Cx *, const Type *key, const Type *value);
/* The Optional of an Optional, of None or of Any is that type itself. */
const Type *type_optional(Cx *, const Type *);
const Type *type_future(Cx *, const Type *);
const Type *type_await(Cx *, const Type *);
const Type *type_tuple(Cx *, const Type *const *, int n);
const Type *type_named_tuple(Cx *, const char *name, const char *const *field, const Type *const *, int n);
/* Flattens nested Unions, sorts the members, and drops those that are subtypes of others. */
const Type *type_union(Cx *, const Type *const *, int n);
const Type *type_var(Cx *, const char *name);
/* Returns the class of that name. Makes one without members if it is new. */
const Type *type_class(Cx *, const char *name, bool interface);
/* Returns the i-th class, interface or enum, in the order in which they were made. Null past the last one. */
const Type *type_named_at(Cx *, int i);
const Type *type_named(Cx *, const char *name); /* The class, interface or enum of that name. Null if there is none. */
const Type *type_enum(Cx *, const char *name, const Type *value);
const Type *type_function(Cx *, Function *);
/* Returns the tensor type with a copy of the info. Plain Tensor if the info is null. */
const Type *type_tensor(Cx *, const TensorInfo *);
/* Returns the type with every tensor type replaced by plain Tensor, also inside of containers. */
const Type *type_unshaped(Cx *, const Type *);
/* type_canonical returns the interned type that equals an RtType of the runtime. The basic types are constants of rt:
 * &rt_type_int, &rt_type_tensor ... */
const Type *type_canonical(Cx *, const RtType *);

/* Whether the first type is a subtype of `of`, by TorchScript's rules. */
bool        type_is_subtype(Cx *, const Type *, const Type *of);
/* Returns the common supertype by TorchScript's rules. Null if there is none. */
const Type *type_unify(Cx *, const Type *, const Type *);
/* Prints the type in IR syntax: int[], Tensor?, Dict(str, Tensor), Float(2, 3, strides=[3, 1]). */
const char *type_print(Cx *, const Type *);
const char *type_python(Cx *, const Type *); /* Prints the type in Python's syntax: List[int], Optional[Tensor]. */
/* Whether values of the type may alias: tensors, containers of them, objects. */
bool        type_is_mutable(const Type *);
bool        type_has_vars(const Type *);
/* Returns the facts that both profiled tensor types share. Dtypes, ranks, sizes and strides that differ become
 * unknown. */
const Type *tensor_info_merge(Cx *, const Type *, const Type *);
/* Returns the type with dtype, sizes, strides and all other facts of the tensor. */
const Type *type_of_tensor(Cx *, const RtTensor *);
const Type *type_of_value(Cx *, IValue);             /* Type of the value at run time, with all facts of tensors. */

/* ---- const.c: values made while compiling; owned by the compile, never released -------------------------- */

RtCx  *cx_rt(Cx *);                                   /* Runtime context of the compile, for constants and folding. */
IValue value_str(Cx *, const char *, int64_t n);      /* n: length in bytes. Negative: up to the final 0. */
IValue value_list(Cx *, const Type *elem, const IValue *, int n);
/* named: NamedTuple type. Null for a plain tuple. */
IValue value_tuple(Cx *, const Type *named, const IValue *, int n);
IValue value_complex(Cx *, double re, double im);
/* Whether the predicate holds for the value or for any value inside of lists and tuples. */
bool   value_any(IValue, bool (*is)(IValue));
/* Sets *value to the RT_ENUM of the member of that name. Returns false if there is none. */
bool   value_enum(Cx *, const Type *, const char *name, IValue *);
/* Keeps a tensor that was printed by its hash, so that the text can be read back. */
void   tensor_note(Cx *, uint64_t hash, RtTensor *);
/* Returns the kept tensor with that hash of 16 hexadecimal digits. Null if there is none. */
RtTensor *tensor_noted(Cx *, const char *hash);
/* Keeps an object that was printed. Returns its number in the text. */
int    object_note(Cx *, RtObject *);
RtObject *object_noted(const Cx *, int64_t number);   /* The kept object with that number. Null if there is none. */
/* Storage that permutes the elements of another one: element e is element from[e] of storage `of`, or zero where
 * from[e] is negative. storage_moved retains both storages. `from` has one entry for each element and is not copied. */
typedef struct Moved { RtStorage *of; const int64_t *from; } Moved;
void         storage_moved(Cx *, RtStorage *, RtStorage *of, const int64_t *from);
/* Returns the description of a permuted storage. Null if s owns its elements. */
const Moved *storage_source(const Cx *, const RtStorage *);

/* ---- widen.c: floats of weights of 16 bits ------------------------------------------------------------------ */

/* n elements of storage `of` of that dtype, from element `from` on, that are converted to floats. */
typedef struct Widened {
	RtStorage *storage, *of;
	int64_t from, n;
	RtDtype dtype;
} Widened;

/* Returns the float version of a bfloat16 or float16 tensor: one for the whole compile, without data. Null if t is
 * small, not dense, or may be written to. */
RtTensor *widened(Cx *, const RtTensor *t);
/* Returns the description of a widened storage. Null if s is no widened storage. */
const Widened *storage_widened(const Cx *, const RtStorage *);
/* Converts n elements to floats. The first is element `first`, each next one is `apart` elements further. */
void widened_row(const Widened *, int64_t first, int64_t n, int64_t apart, float *to);
/* Computes the floats of such a storage. They stay until the next widened_trim. */
void widened_fill(Cx *, RtStorage *);
void widened_fill_value(Cx *, IValue); /* Calls widened_fill for a tensor, or for all tensors in a list or tuple. */
void widened_trim(Cx *);                    /* Frees all floats that widened_fill computed. */
/* Whether the data can be read. False if only sizes are known, or if widened_fill has to compute it first. */
bool tensor_has_data(const RtTensor *);
/* Whether the value, or a value inside of it, is a tensor whose floats widened_fill would have to compute. */
bool value_lacks_data(IValue);

/* ---- class.c ---------------------------------------------------------------------------------------- */

typedef struct Attribute {
	const char *name;
	const Type *type;
	bool   parameter, buffer, is_constant;
	IValue constant;
	int    slot;               /* Index of the attribute's slot, set by class_add_attr. -1 for a constant. */
} Attribute;
typedef struct EnumMember { const char *name; IValue value; } EnumMember;     /* Value of the member, not an RT_ENUM. */

/* Instruction that reads or writes a slot of a class's objects. It is outdated if the code was lowered again. */
typedef struct SlotUse { const RtCode *code; int pc, slot; } SlotUse;
bool slot_use_holds(const SlotUse *);                /* Whether the code still has that instruction. */

struct ClassInfo {                 /* Compiler's part of a class, pointed to by RtClass.info. */
	RtClass   *cls;            /* Runtime's part. Its slots are the attributes that are not constants, in order. */
	const Type *type;
	bool       module, interface;
	bool       defined;        /* Whether the source of the class has been read. */
	Vec(Attribute) attrs;
	Map        attr_index;     /* Name -> index + 1 of the first attribute of that name. */
	Vec(Function *) methods;
	Vec(const char *) pre_hooks, hooks;
	Vec(EnumMember) members;   /* Members of an enum. */
	Vec(SlotUse) slot_uses;
	const void *tree;          /* Class definition that the frontend parsed. */
};
/* Returns the compiler's part of a class, interface or enum. Null for other types. */
ClassInfo *class_info(const Type *);
Attribute *class_attr(const ClassInfo *, const char *name);
void       class_add_attr(Cx *, ClassInfo *, Attribute);   /* Adds the attribute, and its slot to the RtClass. */
/* Returns the index of the slot. -1 for a constant, or if there is no such attribute. */
int        class_slot(const RtClass *, const char *name);
Function  *class_method(const ClassInfo *, const char *name);
/* Returns the key under which a program finds the method of an interface (rt_method). */
const char *method_key(Arena *, const Type *interface, const char *name);

/* ---- schemaprint.c -------------------------------------------------------------------------------------- */

typedef struct AliasSet {          /* Alias annotation of a schema: (a! -> b|*). */
	bool write;
	Vec(Symbol) before, after; /* Alias sets before and after the call. "*" is the wildcard. */
	struct AliasSet *inner;    /* Annotation of a container's elements. Null if there is none. */
} AliasSet;

typedef struct Arg {
	const char *name;          /* Name of the argument or result. "" if a result has none. */
	const Type *type;
	bool        has_default, kwonly;
	IValue      deflt;
	int         size_hint;     /* Declared length of the list: 2 for int[2]. 0 if none. */
	AliasSet   *alias;         /* Alias annotation. Null if the value is fresh or not mutable. */
	/* Name of the innermost type if it stands for another type: ScalarType, SymInt. Null otherwise. */
	const char *word;
} Arg;

struct Schema {
	const char *name;          /* Operator, such as aten::add. */
	const char *overload;      /* Overload, such as Tensor. May be "". */
	Arg *args, *rets;
	int  nargs, nrets;
	bool vararg, varret;
};
const char *schema_print(Cx *, const Schema *);
int schema_find(const Schema *, const char *arg); /* Index of the argument of that name. -1 if there is none. */

/* ---- op.c: the registry, from rt/ops/ops.h --------------------------------------------------------------- */

typedef enum OpForm { OP_MAP, OP_KERNEL, OP_BODY, OP_ALSO, OP_USER } OpForm;
/* What the kernel of specialized code computes for an operator: LOWER in rt/ops/ops.h. Operators that differ only in
 * how their arguments are passed share one Lowering. */
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
	LOWER_NEAREST, LOWER_NEAREST_EXACT,
	LOWER_GRID_SAMPLE,
	LOWER_GRID_SAMPLE_LAST, LOWER_ROI_ALIGN, LOWER_RNN, LOWER_CUMSUM, LOWER_CUMPROD, LOWER_LOGCUMSUMEXP,
	LOWER_CUMMAX, LOWER_CUMMIN, LOWER_TOPK, LOWER_SORT, LOWER_EMBEDDING_BAG, LOWER_EMBEDDING_BAG_RAW,
	LOWER_ATTENTION, LOWER_SDPA, LOWER_CONV_INT8, LOWER_LINEAR_INT8, LOWER_LINEAR_SUMS, LOWER_CONV_SUMS,
	/* Pointwise operators on complex numbers. */
	LOWER_COMPLEX_ADD, LOWER_COMPLEX_SUB, LOWER_COMPLEX_RSUB, LOWER_COMPLEX_MUL, LOWER_COMPLEX_DIV,
	LOWER_COMPLEX_NEG, LOWER_COMPLEX_CONJ, LOWER_COMPLEX_ABS, LOWER_COMPLEX_ANGLE, LOWER_COMPLEX_EXP,
	LOWER_COMPLEX_RECIPROCAL,
	NLOWERING
} Lowering;
/* How the sizes of an operator's results follow from those of its arguments: SIZES in rt/ops/ops.h. */
typedef enum SizesRule {
	SIZES_NONE,
	SIZES_BROADCAST,           /* New tensors of the tensors' common sizes. */
	SIZES_SAME,                /* New tensors of the first tensor's sizes. */
	SIZES_ITSELF,              /* The first tensor, or a copy of it, depending on dtypes. */
	SIZES_CONTIGUOUS,          /* The first tensor if it is contiguous, else a copy. */
	SIZES_WRITTEN,             /* The first tensor, to which the others broadcast. */
	SIZES_SELF,                /* The first tensor, which is written by indices. */
	SIZES_SCATTERED, SIZES_SCATTERED_SELF,     /* scatter: a new tensor of the first one's sizes, or it itself. */
	SIZES_PUT,                 /* index_put: a new tensor of the first one's sizes, or it itself. */
	/* Fourier transforms: the sizes as given; n / 2 + 1, or 2 * (n - 1), in the last dim. */
	SIZES_TRANSFORM, SIZES_TRANSFORM_HALF, SIZES_TRANSFORM_BACK,
	SIZES_FIXED,               /* A number that does not depend on sizes. */
	/* Views. */
	SIZES_ALIAS, SIZES_VIEW_AS, SIZES_FLATTEN, SIZES_UNFLATTEN, SIZES_PERMUTE, SIZES_TRANSPOSE, SIZES_UNSQUEEZE,
	SIZES_SQUEEZE, SIZES_UNFOLD, SIZES_SLICE, SIZES_NARROW, SIZES_SELECT, SIZES_EXPAND, SIZES_CHUNK, SIZES_SPLIT,
	SIZES_UNBIND, SIZES_CAT, SIZES_STACK, SIZES_PAD, SIZES_REPEAT,
	SIZES_WINDOW, SIZES_POOL, SIZES_ADAPTIVE, SIZES_RESIZE,
	SIZES_LINEAR, SIZES_MATMUL, SIZES_ADDMM, SIZES_ATTENTION, SIZES_WALK,
	SIZES_REDUCE,              /* New tensors without the dims `dim`, or with 1 there if keepdim. */
	SIZES_LOOKUP, SIZES_BAG, SIZES_SELECTED, SIZES_LIKE_INDEX, SIZES_INDEX, SIZES_TOP,
	SIZES_FILL, SIZES_RANGE, SIZES_STEPS, SIZES_EYE,
	SIZES_SCALAR,              /* A new tensor without dims. */
	/* Ints and lists. */
	SIZES_TRIPS, SIZES_TO_TENSOR, SIZES_TO_INT, SIZES_SIZE, SIZES_SHAPE, SIZES_STRIDES, SIZES_NUMEL, SIZES_STRIDED,
	SIZES_PLUS, SIZES_MINUS, SIZES_TIMES, SIZES_FLOORDIV, SIZES_REMAINDER, SIZES_NEGATIVE, SIZES_LEAST, SIZES_MOST,
	SIZES_EQUAL, SIZES_DIFFERENT, SIZES_LESS, SIZES_LESS_EQUAL, SIZES_GREATER, SIZES_GREATER_EQUAL,
	SIZES_APPEND, SIZES_EXTEND, SIZES_ITEM, SIZES_SET_ITEM, SIZES_PART, SIZES_JOIN, SIZES_COPY_LIST,
	NSIZES
} SizesRule;
/* Properties that all overloads of an operator share: TRAIT in rt/ops/ops.h. */
typedef enum OpTrait {
	/* It raises for some values of arguments whose types and sizes are valid, and so do its in-place forms. */
	TRAIT_CHECKS_DATA,
	TRAIT_NEVER_RAISES,        /* Its kernel cannot fail if the types of its tensors are known. */
	TRAIT_MAY_RETURN_INPUT,    /* The result may alias an argument, although the schema does not say so. */
	TRAIT_SPLITS,              /* The result is a list of views of the first argument. */
	TRAIT_READS_LIST,          /* It only reads a list of tensors, and returns none of its elements. */
	TRAIT_READS_CONTAINER,     /* It reads a container, but not what the members hold. */
	TRAIT_ASKS_LAYOUT,         /* The result depends on strides. */
	TRAIT_ASKS_TYPE,           /* The result depends on the argument's sizes, dtype or device alone. */
	TRAIT_JUMPS,               /* A float result is discontinuous in the arguments. */
	TRAIT_CONVOLVES,           /* It is a convolution with arguments input, weight, bias, stride, padding ... */
	TRAIT_TRANSPOSED,          /* It is a transposed convolution. */
	TRAIT_GENERAL_CONV,        /* It is a convolution with an argument `transposed`; its input has a batch. */
	TRAIT_RESIZES,             /* It resizes images over two dims. */
	TRAIT_VIEWS,               /* The result is a view of the first argument, a tensor. */
	TRAIT_NEW_VIEW,            /* The same, and the result is never the argument's own tensor object. */
	TRAIT_SAME_OR_NEW,         /* The result is the first argument itself if nothing is to do. */
	TRAIT_RESHAPES,            /* It turns its first argument into a view of itself, in place. */
	TRAIT_SETS_MEMORY,         /* It gives its first argument other sizes or other memory, in place. */
	TRAIT_SETS_STRIDES,        /* The result is a view with the strides that an argument gives. */
	TRAIT_KEEPS_RANK,          /* The result has as many dims as the first argument. */
	TRAIT_DROPS,               /* It is a dropout with arguments input, p, train. */
	TRAIT_IDEMPOTENT,          /* Applying it twice is the same as once. */
	TRAIT_CHEAP,               /* On numbers, it costs less than a branch. */
	TRAIT_CONVERTS,            /* It is a conversion that Python writes as a call of a type: int(x). */
	TRAIT_IMPLICIT,            /* It makes a number of a tensor where a schema wants a number. */
	TRAIT_TAKES_BITS,          /* Its kernel accepts conjugate and negative views, without reading elements. */
	TRAIT_LAZY,                /* It returns, accepts or asks for conjugate or negative views. */
	TRAIT_QUANTIZED,           /* Arguments or results may be quantized tensors. */
	TRAIT_DEQUANTIZES,         /* The result is the floats that integers stand for, with a scale. */
	TRAIT_ENDS_IN_RELU,        /* It is a quantized layer followed by a relu. */
	/* In training it writes running statistics or noise, which its schema does not show. */
	TRAIT_TRAINS,
	TRAIT_MAKES_TENSOR,        /* It makes a tensor of a list of numbers. */
	/* How it changes a list. */
	TRAIT_APPENDS, TRAIT_EXTENDS, TRAIT_SETS_ITEM, TRAIT_INSERTS, TRAIT_REMOVES, TRAIT_CLEARS, TRAIT_REVERSES,
} OpTrait;
typedef enum OpEffect { EFFECT_PURE, EFFECT_RANDOM, EFFECT_IO } OpEffect;
/* How result types are computed. OP_MAP and OP_BODY operators have rules of their own. */
typedef enum OpRule { RULE_META, RULE_SAME, RULE_VALUE, RULE_DATA, RULE_MAP, RULE_BODY } OpRule;

struct Op {
	const char *id;            /* Id in the operator table, such as add_Tensor. */
	const char *text;          /* Text of the schema. May be only the name for ALSO: see op_schema_text. */
	const char *name;          /* Operator, such as aten::add. */
	const char *overload;
	OpForm      form;
	OpEffect    effect;        /* Effect. For ALSO operators, the first look-up of the name sets it. */
	const char *family;        /* Name of the file in rt/ops that lists it: map, nn ... */
	OpRule      rule;
	const char *domain, *value;     /* Columns of OP_MAP operators: domain and formula. */
	int         result;        /* RtMapResult of rt/ops/kernel.h, for OP_MAP operators. */
	const char *gradient;      /* Text of the gradient. "" if the operator has none. */
	const char *body;          /* Text of the body, for OP_BODY operators. */
	const char *base;          /* Id of the operator whose result it stores, for OP_ALSO operators. */
	bool        exact;         /* Whether it is an OUT operator, whose out= tensor must have the result's dtype. */
	RtKernel   *kernel;        /* Eager kernel. Null if the operator has a body. */
	Lowering    lowering;
	SizesRule   sizes;
	uint64_t    traits;        /* Bit 1 << t for each OpTrait t. */
	int         row;           /* OpRow of row.h. -1 for an operator of --op-schema. */
	Schema     *schema;        /* Parsed schema. Null until op_schema parses it. */
	Function   *function;      /* Function of the body, compiled by the frontend's ops_compile_bodies. */
	Function   *gradient_function;       /* Function compiled from `gradient` by the frontend's op_gradient. */
	Op         *next;          /* Next overload to try. Null after the last one. */
	bool        met;           /* Whether a model or a body calls it. */
};
/* Parser of schema texts. frontend/script/schema.c sets it before the first look-up. */
extern Schema *(*schema_parser)(Cx *, const char *text);
/* Kernels in the order of the operator table, used instead of the table's own. Null if there are none. Must be set
 * before the first look-up of an operator. */
extern RtKernel *const *op_kernels;
void    ops_init(Cx *);                             /* Builds the index of names. */
Op     *op_first(Cx *, const char *name);           /* First overload of "aten::add". Null if there is none. */
Op     *op_find(Cx *, const char *name, const char *overload);     /* Overload of that name. Null if there is none. */
/* Operator by name and overload: "aten::add.Tensor". Null if there is none. */
Op     *op_named(Cx *, const char *name);
Op     *op_by_id(Cx *, const char *id);
/* Whether PyTorch has overloads of the name that Kiln lacks. */
bool    op_lacks_overloads(Cx *, const char *name);
const char *op_schema_text(Cx *, Op *);             /* Complete text of the schema. */
Schema *op_schema(Cx *, Op *);
static inline bool
op_has(const Op *op, OpTrait t)
{
	return op && op->traits >> t & 1;
}
uint32_t op_use(Cx *, Op *); /* Returns how the kernel uses its arguments: bits of RT_USE_WRITES in rt.h. */
int     op_count(Cx *);
Op     *op_at(Cx *, int);                           /* i-th operator of the table, then those of --op-schema */
/* Returns the operator whose body this one runs: itself, or the base of an ALSO operator. Null if it has a kernel. */
Op     *op_body(Cx *, Op *);
/* Adds the operator of an --op-schema. body: TorchScript text. Null if a C function computes it. */
Op     *op_add_user(Cx *, const char *schema, const char *symbol, const char *body);
const char *op_name_at(Cx *, int); /* The i-th name of all operators, each once. Null past the last one. */
const char *op_suggest(Cx *, const char *name);     /* Similar name of an operator. Null if there is none. */

enum { NAME_NEAR = 2 };                                /* Largest edit distance of a suggestion. */
/* Returns the edit distance of two names: letters changed, added, dropped or swapped with the next one. NAME_NEAR + 1
 * if they are too different for a suggestion. */
int name_distance(const char *name, const char *);

/* ---- graph.c, node.c, value.c ---------------------------------------------------------------------------- */

typedef struct Use { Node *node; int index; } Use;     /* Input `index` of `node`. */

struct Value {
	const Type *type;
	Node       *node;          /* Node that computes it. For a block's input, the block's param node. */
	int         index;         /* Index in node->out. */
	Vec(Use)    uses;          /* Uses, in no particular order. */
	Symbol      name;          /* Name from the source. print.c makes it unique. Null if there is none. */
	int         id;            /* Number that is unique in the graph. */
	int         reg;           /* Register in the Code (code.c). -1 if it has none. Read it by value_register. */
	void       *mark;          /* Scratch of the current pass. */
};

typedef enum AttrKind { ATTR_VALUE, ATTR_GRAPH, ATTR_TYPE, ATTR_TYPES, ATTR_FUNCTION } AttrKind;
typedef struct Attr {
	Symbol   name;
	AttrKind kind;
	IValue   v;                /* Constant of an ATTR_VALUE, owned by the compile and never released. */
	Graph   *g;
	const Type *type;
	const Type *const *types;
	int      ntypes;
	Function *fn;
} Attr;

struct Node {
	Symbol  kind;              /* Kind, such as aten::add or prim::If. */
	Op     *op;                /* Overload. Null for prim kinds that are no operators. */
	Graph  *graph;             /* Graph of the node, set even while the node is unlinked. */
	Value **in, **out;
	int    *use;               /* For each input, the index of this use in the `uses` of its value. */
	int     nin, nout, in_cap, use_cap;
	Block **sub;               /* Nested blocks. */
	int     nsub;
	Vec(Attr) attrs;
	Block  *block;             /* Block that holds the node. Null while unlinked. */
	Node   *prev, *next;       /* Neighbours in the block. The ring passes through block->ret. */
	Range   at;
	/* Call frames of inlined code, innermost first: function (what) and place of the call (at). Null if not
	 * inlined. */
	Frame  *inlined;
	int64_t position;          /* Number that grows along the block. node_is_before compares it. */
	int     pc;                /* Index of the node's first instruction in the Code (code.c). -1 if it has none. */
	int     end; /* Index of the instruction after the node's last one, where its results are defined. */
	int     id;                /* Number that is unique in the graph. */
	bool    mark;              /* Scratch of the current pass. */
};

struct Block {
	Graph *graph;
	Node  *owner;              /* Node that has the block, such as a prim::If. Null for the top block. */
	Node  *param;              /* Node whose outputs are the block's inputs. Not in the ring. */
	Node  *ret; /* Node whose inputs are the block's outputs. End of the ring: ret->next is the first node. */
};

struct Graph {
	Cx    *cx;
	Arena *arena;
	Block *top;
	int    nvalue, nnode;      /* Next ids of values and nodes. */
	const char *name;          /* Name of the function, for messages. */
	Block *at_block;           /* Insertion point: before at_node in at_block. */
	Node  *at_node;
	bool   differentiated;     /* Whether it contains its backward pass. */
};

struct Function {
	const char *name;          /* Qualified name: __torch__.Net.forward. */
	Schema     *schema;
	const Type *self;          /* Class of a method. Null for a function. */
	Graph      *graph;         /* Graph as it was read. Null until compiled. */
	Graph      *prepared;      /* Graph that opt's prepare made. Null until then. */
	RtCode     *code;          /* Code lowered from `prepared`, or from `graph` if that is null. */
	Function   *unchanged;     /* Copy that no pass changes, made by code_lower_unchanged. Null if there is none. */
	const Map  *places;        /* Index of source places in the code, for code_place. */
	const void *tree;          /* Definition that the frontend parsed. function_graph() compiles it on first use. */
	/* Program of torch.export that function_graph() compiles instead. Null for TorchScript. */
	struct Exported *exported;
	const struct Gradient *gradient;     /* Gradients that opt computes of it. Null if none are requested. */
	struct Unit *unit;
	int         state;         /* 0: not compiled. 1: being compiled. 2: compiled. */
};
/* Returns the index of the first argument after self: 1 for a method, 0 for a function. */
static inline int
function_first(const Function *fn)
{
	return fn->self != NULL;
}

#define NODES(n, b)     (Node *n = (b)->ret->next, *n##_; n != (b)->ret && (n##_ = n->next, 1); n = n##_)
#define NODES_REV(n, b) (Node *n = (b)->ret->prev, *n##_; n != (b)->ret && (n##_ = n->prev, 1); n = n##_)
/* for NODES(n, block) { ... }: the body may destroy n. */
#define ALL_NODES(n, b) (Node *n = NULL; (n = block_next((b), n));)
/* for ALL_NODES(n, block) { ... }: visits nested nodes too, each after its owner. The body must keep n in its block. */
#define INNER_FIRST(n, b) (Node *n, *n##_ = block_after((b), NULL); (n = n##_) && (n##_ = block_after((b), n), 1);)
/* for INNER_FIRST(n, block) { ... }: visits nested nodes too, each before its owner. The body may destroy n. */

Graph *graph_new(Cx *, const char *name);
/* Values: map from "%id" to the clone's Value, see graph_cloned. May be null. */
Graph *graph_clone(Graph *, Map *values);
Value *graph_cloned(Map *values, const Value *);
/* Records the Value of the clone that replaces `from`. */
void   graph_set_cloned(Map *values, const Value *from, Value *to);
Value *graph_add_input(Graph *, const Type *, Symbol name);
void   graph_add_output(Graph *, Value *);
#define graph_inputs(g)  ((g)->top->param->out)
#define graph_ninputs(g) ((g)->top->param->nout)
void   graph_set_insert_before(Graph *, Node *);   /* Sets the insertion point. */
void   graph_set_insert_end(Graph *, Block *);
Node  *graph_insert(Graph *, Node *);              /* Inserts the node at the insertion point. */
/* Makes a node and inserts it at the insertion point. */
Node  *graph_emit(Graph *, const char *kind, Range, int nin, Value *const *in, int nout);
/* Emits an operator, named with its overload, such as "aten::add.Tensor". Returns its result, of type t. */
Value *graph_emit_op(Graph *, const char *op, Range, int nin, Value *const *in, const Type *t);
Value *graph_uninitialized(Graph *, const Type *, Range);                /* Emits a value that nothing reads. */
Value *graph_constant(Graph *, IValue, Range);     /* Emits a prim::Constant, typed by the value. */
Value *graph_constant_typed(Graph *, IValue, const Type *, Range);
uint64_t graph_hash(Graph *);                      /* Hash of the canonical text. */

Node  *node_new(Graph *, Symbol kind, Range, int nout);        /* Makes a node whose outputs have type Tensor. */
Block *block_new(Graph *, Node *owner); /* Null owner: the top block. Other blocks are made by node_add_block. */
Block *node_add_block(Node *);
Value *block_add_input(Block *, const Type *, Symbol name);
void   block_remove_input(Block *, int);
void   block_add_output(Block *, Value *);
void   block_remove_output(Block *, int);
/* Clones the node and its blocks, without inserting it. Inputs found in `values` are replaced. */
Node  *node_clone(Graph *to, Node *, Map *values);
void   node_insert_before(Node *, Node *at);
void   node_insert_after(Node *, Node *at);
void   node_append(Node *, Block *);
void   node_move_before(Node *, Node *at);
void   node_move_after(Node *, Node *at);
void   node_destroy(Node *);                           /* Destroys the node. No output may have a use. */
Value *node_add_input(Node *, Value *);
void   node_set_input(Node *, int, Value *);
int    node_input_index(const Node *, const Value *); /* Index of the first input that is this value. -1 if none is. */
void   node_remove_input(Node *, int);
Value *node_add_output(Node *, const Type *);
void   node_remove_output(Node *, int);
/* Whether the first node runs before the second. If they are in different blocks, compares their owners in the nearest
 * common block. */
bool   node_is_before(const Node *, const Node *);
bool   node_in_block(const Node *, const Block *);     /* Whether the block, or one nested in it, holds the node. */
Attr  *node_attr(const Node *, const char *name);      /* Attribute of that name. Null if the node has none. */
Attr  *node_attr_new(Node *, const char *name, AttrKind);   /* Adds an attribute, or replaces the one of that name. */
void   node_set_int(Node *, const char *name, int64_t);
void   node_set_str(Node *, const char *name, const char *);
void   node_set_value(Node *, const char *name, IValue);
int64_t     node_int(const Node *, const char *name, int64_t absent);
const char *node_str(const Node *, const char *name);
static inline bool node_is(const Node *n, Symbol kind) { return n->kind == kind; }
/* Whether the kernel leaves the element type of its result open, so that the result needs rt_settle. */
/* Whether the node is this operator, or its in-place form: aten::add or aten::add_. */
bool   node_computes(const Node *, Symbol kind);
bool   node_is_loose(const Node *);
/* Whether the node must keep its order: print, raise, calls, writes to attributes, random numbers. */
bool   node_has_effect(const Node *);
bool   node_is_nondeterministic(const Node *);
/* Whether it raises for some values of indices, keys, divisors or strings, even if their types are valid. */
bool   node_may_refuse_data(const Node *);
/* Whether it is a pointwise node on integers whose divisor may be zero, so that it may raise. */
bool   node_may_divide_by_zero(const Node *);
/* Whether it is a pointwise node that raises if a bound or factor does not fit its integer type. */
bool   node_may_overflow(const Node *);
/* Returns the function of a call or constant: the attribute "function", a method of the class, or a constant callee.
 * Null if it is not known. */
Function *node_function(const Node *);
const Schema *node_schema(const Node *);               /* Operator schema. Null for kinds that are no operators. */
bool   node_writes_input(const Node *, int i);            /* Whether the schema says that the node writes to input i. */
bool   node_writes(const Node *); /* Whether it writes to any input. Nested nodes do not count. */
/* Returns the input for the schema's argument of that name. Null if there is none. */
Value *node_arg(const Node *, const char *name);

void   value_replace_uses(Value *, Value *with);
void   value_replace_uses_after(Value *, Value *with, const Node *); /* Replaces only uses by nodes after that one. */
void   value_set_name(Value *, const char *);
/* Whether it is a prim::Constant. Sets *value to its value, borrowed. */
bool   value_constant(const Value *, IValue *);
bool   value_is_none(const Value *);                   /* Whether it is the constant None or has type None. */
bool   value_int(const Value *, int64_t *);            /* Whether it is a constant int or bool. Sets *i to its value. */

/* ---- cflow.c: If and Loop by their parts ---------------------------------------------------------------------- */

#define if_cond(n)     ((n)->in[0])
#define if_then(n)     ((n)->sub[0])
#define if_else(n)     ((n)->sub[1])
#define loop_max(n)    ((n)->in[0])
#define loop_cond(n)   ((n)->in[1])
#define loop_body(n)   ((n)->sub[0])
#define loop_index(n)  ((n)->sub[0]->param->out[0])     /* Index of the current trip. */
/* Carried value i is in[2 + i], param->out[1 + i], ret->in[1 + i] and out[i]. */
Node  *if_new(Graph *, Range, Value *cond, int nout);                 /* Makes both blocks. Does not insert the node. */
/* Makes the body with its trip index. Does not insert the node. */
Node  *loop_new(Graph *, Range, Value *max, Value *cond);
/* Adds a carried value. The caller has to add the body's output. */
void   loop_add_carried(Node *, Value *init, Symbol name);
void   if_remove_output(Node *, int);                                 /* Removes an output, which must have no use. */
/* Removes a carried value. Neither the output nor the body's input may have a use. */
void   loop_remove_carried(Node *, int);
/* Replaces the If by the nodes of that branch. */
void   if_take_branch(Node *, int which);
bool   loop_is_for(const Node *); /* Whether only the maximum ends the loop, since its condition is always true. */
void   block_splice_before(Block *, Node *at); /* Moves all nodes of the block except param and ret. */
bool   block_raises(const Block *);                                       /* Whether every run of the block raises. */
/* Returns the node after n in the order of ALL_NODES. If n is null, the first one. Null after the last one. */
Node  *block_next(const Block *, const Node *n);
/* Returns the node after n in the order of INNER_FIRST. If n is null, the first one. Null after the last one. */
Node  *block_after(const Block *, const Node *n);
bool   block_has(const Block *, Symbol kind); /* Whether the block or one nested in it has a node of that kind. */
/* Returns the strongest effect of the operators and nodes in the block. */
OpEffect block_effect(const Block *);
int    block_size(const Block *);                                        /* Number of nodes, nested ones included. */
/* Returns the node of the block that is n or contains n. Null if there is none. */
Node  *block_owner_in(const Node *, const Block *);

/* ---- hash.c: equal nodes ----------------------------------------------------------------------------------------- */

uint64_t node_hash(const Node *); /* Hash of kind, overload, inputs, attributes and output types. Ignores blocks. */
bool     attr_equal(const Attr *, const Attr *);
/* Compares the same facts as node_hash. Equal nodes compute equal values unless something writes to their inputs. */
bool     node_equal(const Node *, const Node *);
/* Whether two constants have the same type and bits: tensors by dtype, sizes, strides and data. */
bool     value_identical(IValue, IValue);
/* Hashes dtype, sizes and every byte. node_hash reads only the first bytes. */
uint64_t contents_hash(const RtTensor *);

/* ---- lint.c, print.c, pyprint.c --------------------------------------------------------------------------- */

void   graph_lint(Graph *); /* Ends with BUG and the graph's text if an invariant is broken. */
/* Prints the canonical text, with values renumbered. places: append # file:line:col. */
void   graph_print(Graph *, Buf *, bool places);
void   node_print(Node *, Buf *);
const char *const *graph_names(Graph *); /* Names of values in that text, by id. Null for values that are not in it. */
void   value_print(Cx *, IValue, Buf *);               /* Prints a constant in IR syntax. */
void   double_print(Buf *, double); /* Prints 1., -0., nan ... so that it reads back as the same bits. */

/* ---- pyprint.c, pyconst.c: Graph -> TorchScript ------------------------------------------------------------------ */

typedef struct PyNeeds {           /* Things that the printed text refers to, in order of first use. */
	Cx  *cx;
	Vec(IValue)       constants;    /* Entries of the table CONSTANTS.cN. */
	Vec(const Type *) types;        /* Classes, interfaces, enums and NamedTuples. */
	Vec(Function *)   functions;    /* Functions that are called. */
	Map  seen;                      /* Names of these types and functions. */
	/* Keys (py_attribute_key) of each attribute that is read or set, and of each method that is called by name. */
	Map  attributes;
	Map  constant;                  /* Number N + 1 in the table, by identity of a constant. */
} PyNeeds;
PyNeeds *py_needs(Cx *);
/* Prints def name(...) -> T: and its body. If g is null, prints a stub, as interfaces have it. */
void   py_function(PyNeeds *, const Schema *, const Graph *, const char *name, int indent, Buf *);
const char *py_type(PyNeeds *, const Type *);
void   py_constant(PyNeeds *, IValue, const Type *declared, Buf *);
const char *py_attribute_key(Cx *, const Type *cls, const char *name);
bool   py_is_identifier(const char *);
void   py_quoted(Buf *, const char *);
void   py_note_type(PyNeeds *, const Type *);
void   py_note_function(PyNeeds *, Function *);

/* ---- alias.c ------------------------------------------------------------------------------------------------ */

/* Whether the operator returns freshly allocated memory, which aliases none of its inputs. */
bool value_is_fresh(const Value *);
/* Whether the operator may return an input although its schema does not say so. */
bool node_may_return_input(const Node *);
/* Whether the operator splits a tensor into views. They do not overlap if the input does not. */
bool node_divides(const Node *);
typedef struct AliasDb AliasDb;
AliasDb *alias_db(Graph *, Arena *);
/* Makes an alias_db that distinguishes attributes. `place` returns the memory that a prim::GetAttr reads, or null if it
 * is unknown. The graph must reach that memory in no other way, except as a constant (opt/passes/places.c). */
AliasDb *alias_db_placed(Graph *, Arena *, const void *(*place)(void *, const Value *), void *arg);
/* Declares that code outside of the graph writes to memory that v, an input or a result, may reach. Must be called
 * before any query. */
void alias_written_outside(AliasDb *, const Value *);
bool alias_may(AliasDb *, const Value *, const Value *); /* Whether both may share or overlap memory. */
/* Whether either value may be reachable from the other. */
bool alias_may_contain(AliasDb *, const Value *, const Value *);
/* Whether the graph writes to the value itself. Its members do not count. */
bool alias_is_written(AliasDb *, const Value *);
/* Whether the graph writes to the value or to anything that it contains. */
bool alias_has_writers(AliasDb *, const Value *);
bool alias_node_has_writers(AliasDb *, const Node *); /* Whether any input or result of the node has writers. */
/* Whether the node, or one nested in it, writes memory that v may reach. */
bool alias_writes(AliasDb *, const Node *, const Value *);
bool alias_node_writes(AliasDb *, const Node *);                           /* Whether the node writes to anything. */
/* Whether the value may be memory that the graph does not follow: a wildcard. */
bool alias_is_wild(AliasDb *, const Value *);
/* Whether the graph writes to a wildcard. tensors: a wildcard of tensors. Otherwise of containers. */
bool alias_wild_is_written(AliasDb *, bool tensors);
/* Whether the value's memory may outlive the graph: by an input, output, attribute, container, call or bailout. */
bool alias_escapes(AliasDb *, const Value *);
/* Moves the node before `at`, with the nodes between them that it depends on. Returns false if a dependence forbids
 * it. */
bool alias_move_before(AliasDb *, Node *, Node *at);
bool alias_can_move_before(AliasDb *, Node *, Node *at);
/* The live set: memory whose writes must be kept. It starts with all wildcards and constants. alias_live_add adds
 * memory that the value may reach. */
void alias_live_clear(AliasDb *);
void alias_live_add(AliasDb *, const Value *);
bool alias_writes_live(AliasDb *, const Node *); /* Whether the node, or one nested in it, writes to the live set. */
/* Gives a value `to`, made after the database, the aliases of the older value `from`. */
void alias_copy_value(AliasDb *, const Value *from, const Value *to);

/* Prints for every value which others may share its memory (aliasprint.c). */
void alias_print(AliasDb *, Graph *, Buf *);

/* ---- lastuse.c: where values die --------------------------------------------------------------------------------- */

/* Last uses at node n, in entry n->id of the array. Values that die at the start of a block are listed in the entry of
 * its param node. */
typedef struct LastUse {
	bool *input;           /* For each input, whether no path from here uses the value again. */
	Vec(Value *) dead;     /* Values that die at this node and are not last uses of its inputs. */
	/* For each output, whether no path needs it, so that the branches of an If need not compute it. */
	bool *unused;
} LastUse;
/* Finds the last uses. ignored: whether a use does not read the value at run time. */
LastUse *last_uses(Graph *, bool (*ignored)(const Node *, int input));

/* ---- code.c: Graph -> Code ------------------------------------------------------------------------------------ */

/* Lowers fn->prepared, or fn->graph if that is null, into fn->code. Does the same for each function that it calls. Sets
 * pc of every node, and the register of values that have one (value_register). Calls of operators with a body become
 * calls of op->function->code. Operators without a kernel are collected in `lacking`, each name once. If `lacking` is
 * null, the first one fails with EXIT_LACKS. */
typedef struct Lacking { const char *name; Range at; const char *schema; } Lacking;
typedef struct LackingVec { Lacking *at; int n, cap; } LackingVec;
RtCode *code_lower(Cx *, Function *, LackingVec *lacking);
/* Lowers the graph as it was read, and those of all callees, into separate code of graphs that no pass has changed. */
RtCode *code_lower_unchanged(Cx *, Function *, LackingVec *lacking);
/* Returns the index of a node's source place in the place names of fn->code, and of the call that inlined it. 0 if the
 * code has none. */
int     code_place(const Function *, Range at, const Frame *inlined);
int     code_caller(const Function *, const Frame *inlined);
/* Returns the register of the value. -1 if it has none. Valid after code_lower until the graph changes. */
int     value_register(const Value *);
/* codeprint.c: finds the registers that are read at pc or later. Writes them into regs, sorted, and returns their
 * number. regs must have room for code->nreg. */
typedef struct CodeLive CodeLive;                       /* Live registers at every instruction of one code. */
CodeLive *code_live(Arena *, const RtCode *);
int     code_live_at(const CodeLive *, int pc, int *regs);
void    code_print(Cx *, const RtCode *, Buf *);            /* Prints what `kiln show --as code` shows. */

#endif
