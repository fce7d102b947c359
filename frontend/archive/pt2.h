/* frontend/archive/pt2.h - readers of torch.export archives (.pt2), private to them
 *
 *   pt2.c           the archive: its layout, its programs, their state as objects, methods
 *   pt2_json.c      JSON
 *   pt2_weights.c   payloads as tensors
 *   pt2_spec.c      pytrees of arguments and results, and the TorchScript signature for them
 *   pt2_text.c      the program as text, a line for each node, to which errors refer
 *   pt2_arg.c       arguments of nodes as values; enumerations
 *   pt2_emit.c      values in the graph, and their names
 *   pt2_node.c      nodes of the program as nodes of a graph
 *   pt2_flow.c      higher-order operators
 *   pt2_mutate.c    operators that write, made functional
 *   pt2_expr.c      expressions over sizes
 *   pt2_check.c     checks of inputs
 *   pt2_build.c     a program's graph: state, arguments, checks, nodes, mutations, results
 */
#ifndef PT2_H
#define PT2_H

#include "../frontend.h"

/* ---- pt2_json.c ----------------------------------------------------------------------------------------- */

typedef struct cJSON Json;
typedef struct JsonDoc { Cx *cx; const char *name; } JsonDoc;     /* name: "net.pt2: models/model.json", for messages */

RT_NORETURN void json_bad(const JsonDoc *, const char *fmt, ...) RT_PRINTF(2, 3);
/* Fails on bad JSON. The result lives as long as the compile. */
const Json *json_parse(const JsonDoc *, const char *text, int64_t n);
/* Value of the key. Null if the key is absent or its value is null. */
const Json *json_get(const Json *object, const char *key);
const Json *json_need(const JsonDoc *, const Json *object, const char *key);
const Json *json_list(const JsonDoc *, const Json *object, const char *key); /* Fails unless the value is a list. */
const Json *json_first(const Json *); /* First member of a list or object. Null if it is empty or neither. */
const Json *json_next(const Json *);
#define JSON_EACH(v, all) (const Json *v = json_first(all); v; v = json_next(v))
int         json_count(const Json *);
const char *json_key(const Json *);
bool        json_is_text(const Json *);
bool        json_is_number(const Json *);
bool        json_is_bool(const Json *);
/* In these functions `what` names the value in messages. */
const char *json_text_of(const JsonDoc *, const Json *, const char *what);
const char *json_text(const JsonDoc *, const Json *object, const char *key);
const char *json_text_or(const JsonDoc *, const Json *object, const char *key, const char *absent);
/* Fails unless the value is an integer of 64 bits. */
int64_t     json_int(const JsonDoc *, const Json *, const char *what);
double      json_float(const JsonDoc *, const Json *, const char *what);
bool        json_flag(const JsonDoc *, const Json *, const char *what);
/* Returns the only member of the object, whose key is the kind of the value. */
const Json *json_union(const JsonDoc *, const Json *, const char *what);

/* ---- pt2_spec.c: pytrees ---------------------------------------------------------------------------------- */

typedef enum SpecKind { SPEC_LEAF, SPEC_TUPLE, SPEC_LIST, SPEC_DICT } SpecKind;
typedef struct Spec Spec;
struct Spec {
	SpecKind kind;
	int      n;
	Spec   **kid;
	const char **key;          /* Keys of a dict. */
	bool     numbered, mixed;  /* numbered: all keys are ints. mixed: keys are ints and texts. */
	const Type *type;          /* Type of the tree. Null until spec_type is called. */
};
Spec  *spec_parse(const JsonDoc *, const char *text, int *nleaf);
/* Returns the TorchScript type of a tree whose leaves have the types from *leaf on. Moves *leaf past them. name: name
 * of the NamedTuple, if the tree needs one. */
const Type *spec_type(Cx *, Spec *, const Type *const **leaf, const char *name, bool result);
/* Writes the leaves of a value to *leaf, and moves *leaf past them. */
void   spec_unpack(Graph *, const Spec *, Value *, Range, Value ***leaf);
Value *spec_pack(Graph *, const Spec *, Value *const **leaf, Range);

/* ---- a program --------------------------------------------------------------------------------------------- */

typedef enum InputKind { INPUT_STATE, INPUT_USER, INPUT_CONSTANT, INPUT_TOKEN } InputKind;
typedef struct Input {               /* Input of the program's graph. */
	InputKind kind;
	const char *name;            /* Name in the graph. "" for a constant. */
	const char *target;          /* Name of the parameter, buffer or constant. */
	const Json *value;           /* Argument that holds a constant's value. */
	const Type *type;            /* Type of a user's input. */
	const char *path;            /* Path among the arguments: ['d']['key']. */
	/* The path as torch.export prints it in archives without samples: *args[1]['key'], key['x']. */
	const char *place;
} Input;
typedef Vec(Input) Inputs;

typedef struct Exported {            /* Program of an archive: models/NAME.json. */
	Cx       *cx;
	JsonDoc   doc;
	const char *name;            /* Name of the method. */
	const char *prefix;          /* Prefix of the names of its state: "" or "NAME.". */
	const Json *json, *graph, *signature;
	const Type *self;            /* Class of the top object. */
	Spec     *in, *out;          /* Trees of (args, kwargs) and of the result. */
	int       nleaf, nresult;    /* Numbers of their leaves. */
	Inputs    inputs;
	const char *samples;         /* Member with the arguments that it was exported with. Null if there is none. */
	bool functional;             /* Whether no node of the program writes. */
	Schema   *schema;            /* Schema of the method. The result's type is set when the graph is built. */
	Source   *text;              /* Text that pt2_text.c wrote. */
	PtrMap    lines;             /* Index of the line of a node + 1, by Json of the node. */
	Vec(struct Line) line;
	Map       metas;             /* Json of a tensor_value or sym_int_value, by name. */
	Map       states;            /* First Input of a parameter, buffer or constant, by its name. */
	Unit     *unit;
	Function **texts;            /* Functions of the TEXT entries of pt2.def. Null until needed. */
} Exported;

/* ---- pt2_weights.c ------------------------------------------------------------------------------------------ */

typedef struct Payloads Payloads;            /* Payloads of one program. */
Payloads *payloads_new(const Exported *, RtCx *, Archive *, const char *program);
/* Returns a new reference to the tensor of that name, or to a dict of the parts of a tensor subclass of Python. Tensors
 * of one payload share its storage. Fails if there is none. */
IValue    payload_tensor(Payloads *, const char *name, bool constant);

/* ---- pt2_text.c --------------------------------------------------------------------------------------------- */

typedef struct Line { uint32_t beg, end; const Json *node; const Source *original; bool looked; } Line;
void  text_write(Exported *);                         /* Must be called once only. */
Range text_range(const Exported *, const Json *node); /* Range of the node's line. An empty Range if it has none. */

/* ---- building ------------------------------------------------------------------------------------------------ */

/* Enclosing scope, also searched. Null if the graph captures nothing. */
typedef struct Names { Map map; struct Names *up; } Names;

typedef struct Builder {
	Exported *exported;
	Cx       *cx;
	Graph    *graph;
	Names    *names;             /* Name -> Value of the graph that is being inlined. */
	const Names *top;            /* Names of the program's own graph. */
	Range     at;                /* Range of the node that is being read. */
	int       autocast;          /* RtDtype of autocast. -1 if it is off. */
	int64_t   work;              /* Number of steps so far. build_work limits it. */
} Builder;

RT_NORETURN void pt2_lacks(Builder *, const char *fmt, ...) RT_PRINTF(2, 3);
/* Counts a step. Fails after too many, since a graph that is inlined twice doubles its nodes at each level. */
void   build_work(Builder *);
/* Emits the operator on n values, selecting the overload by their types, and returns its result. */
Value *build_op(Builder *, const char *name, int n, ...);
Value *build_int(Builder *, int64_t);
Value *build_bool(Builder *, bool);
Value *build_text(Builder *, const char *);
Value *build_list(Builder *, const Type *elem, Value *const *, int n);
Value *build_named(Builder *, const char *name); /* Returns the value of that name. Fails if the graph defines none. */
/* Emits the read of an attribute. Fails if there is no attribute of that name. */
Value *build_part(Builder *, Value *owner, const char *name);
void   build_name(Builder *, const char *name, Value *); /* Gives the value a name. Fails if the name is taken. */
void   build_raise_unless(Builder *, Value *ok, const char *message);
Graph *exported_graph(Cx *, Function *); /* Builds the graph of a Function with `exported`. */

/* pt2_arg.c. */
typedef Vec(Value *) Values;
int    dtype_of_export(int64_t number); /* RtDtype of a dtype number. -1 if Kiln has no such dtype. */
const char *dtype_name_of_export(int64_t number); /* Name of a dtype number. Null if the number is unknown. */
/* Returns the value of an argument. formal: type of the operator's argument. May be null. */
Value *arg_value(Builder *, const Json *arg, const Type *formal);
void   arg_values(Builder *, const Json *arg, Values *); /* Appends the elements of a list, or the single value. */

/* pt2_node.c. */
/* Builds a node. Returns false for a higher-order operator, which pt2_flow.c builds. */
bool   node_build(Builder *, const Json *node);
void   node_bind(Builder *, const Json *outputs, Value *const *results, int n);
/* Emits a call of a function of Python. Null if the function is not known. */
Value *python_call(Builder *, const char *target, Value *const *args, int n);
typedef Vec(NamedValue) NamedValues;
/* Returns the operator of torch.ops.aten.add.Tensor and the like. Null if Kiln has none. */
Op    *operator_find(Builder *, const char *target, const char **name);
void   operator_apply(Builder *, const char *name, Op *, NamedValues *args, Values *results, const Json *outputs);
/* Emits a call of an operator with the inputs from `input` on. outputs: types of the results, for an operator that Kiln
 * lacks. */
void   operator_call(Builder *, const char *target, const Json *input, Values *results, const Json *outputs);

/* pt2_flow.c. */
void   flow_nodes(Builder *, const Json *graph); /* Builds all nodes of a graph in order, in the current names. */

/* pt2_mutate.c. */
/* Builds auto_functionalized. views: whether it is the second form. */
void   mutate_call(Builder *, const Json *node, bool views);

/* pt2_expr.c. */
/* The value factor * symbol + offset. If symbol is null, the number offset. */
typedef struct Linear { const char *symbol; int64_t factor, offset; } Linear;
/* Returns the value of a name in an expression. Null if the tree is no known name. */
typedef Value *ExprName(Builder *, void *, const Tree *);
const Tree *expr_parse(Builder *, const char *text, const char *what);
const char *expr_symbol(const Tree *);                               /* Symbol that the tree is. Null if it is none. */
bool   expr_linear(const Tree *, Linear *);
/* Emits the value of an expression. Null if it names something unknown. */
Value *expr_value(Builder *, const Tree *, ExprName *, void *);
/* Returns the text to print for a symbol. Null: print the symbol itself. */
typedef const char *ExprSource(void *, const char *symbol);
/* Prints an srepr expression as Python. If source is null, prints symbols unchanged. */
const char *expr_text(Builder *, const Tree *, ExprSource *, void *);

/* pt2_check.c. */
/* Emits the checks of all inputs. leaf: values of the user's inputs, in order. */
void   check_inputs(Builder *, Value *const *leaf);

#endif
