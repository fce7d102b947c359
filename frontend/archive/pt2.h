/* frontend/archive/pt2.h - what the readers of torch.export archives (.pt2) share; private to them
 *
 *   pt2.c           the archive: which layout, which programs; their state as objects; methods
 *   pt2_json.c      JSON
 *   pt2_weights.c   payloads as tensors
 *   pt2_spec.c      pytrees of arguments and results, and the TorchScript signature that says the same
 *   pt2_text.c      the program as text, a line for each node: the place of errors
 *   pt2_arg.c       arguments of nodes as values; enumerations
 *   pt2_node.c      nodes of the program as nodes of a graph
 *   pt2_flow.c      higher-order operators
 *   pt2_mutate.c    operators that write, made functional
 *   pt2_expr.c      expressions over sizes
 *   pt2_check.c     what inputs must be like
 *   pt2_build.c     a program's graph: state, arguments, checks, nodes, mutations, results
 */
#ifndef PT2_H
#define PT2_H

#include "../frontend.h"

/* ---- pt2_json.c ----------------------------------------------------------------------------------------- */

typedef struct cJSON Json;
typedef struct JsonDoc { Cx *cx; const char *name; } JsonDoc;     /* name: "net.pt2: models/model.json", for messages */

RT_NORETURN void json_bad(const JsonDoc *, const char *fmt, ...) RT_PRINTF(2, 3);
const Json *json_parse(const JsonDoc *, const char *text, int64_t n);     /* fails; lives as long as the compile */
const Json *json_get(const Json *object, const char *key);                /* null when it is absent, or null */
const Json *json_need(const JsonDoc *, const Json *object, const char *key);
const Json *json_list(const JsonDoc *, const Json *object, const char *key);       /* that must be a list */
const Json *json_first(const Json *);                                     /* of a list or an object, or null */
const Json *json_next(const Json *);
#define JSON_EACH(v, all) (const Json *v = json_first(all); v; v = json_next(v))
int         json_count(const Json *);
const char *json_key(const Json *);
bool        json_is_text(const Json *);
bool        json_is_number(const Json *);
bool        json_is_bool(const Json *);
/* `what` is for messages. */
const char *json_text_of(const JsonDoc *, const Json *, const char *what);
const char *json_text(const JsonDoc *, const Json *object, const char *key);
const char *json_text_or(const JsonDoc *, const Json *object, const char *key, const char *absent);
int64_t     json_int(const JsonDoc *, const Json *, const char *what);    /* exact */
double      json_float(const JsonDoc *, const Json *, const char *what);
bool        json_flag(const JsonDoc *, const Json *, const char *what);
const Json *json_union(const JsonDoc *, const Json *, const char *what);  /* the only member: its key says what it is */

/* ---- pt2_spec.c: pytrees ---------------------------------------------------------------------------------- */

typedef enum SpecKind { SPEC_LEAF, SPEC_TUPLE, SPEC_LIST, SPEC_DICT } SpecKind;
typedef struct Spec Spec;
struct Spec {
	SpecKind kind;
	int      n;
	Spec   **kid;
	const char **key;          /* of a dict */
	bool     numbered, mixed;  /* its keys are ints; ints and texts */
	const Type *type;          /* once spec_type was asked */
};
Spec  *spec_parse(const JsonDoc *, const char *text, int *nleaf);
/* The TorchScript type of a tree of such leaves, which are taken from *leaf on; `name` is that of a NamedTuple, if it
 * has to be one. */
const Type *spec_type(Cx *, Spec *, const Type *const **leaf, const char *name, bool result);
void   spec_unpack(Graph *, const Spec *, Value *, Range, Value ***leaf);          /* *leaf is moved past its leaves */
Value *spec_pack(Graph *, const Spec *, Value *const **leaf, Range);

/* ---- a program --------------------------------------------------------------------------------------------- */

typedef enum InputKind { INPUT_STATE, INPUT_USER, INPUT_CONSTANT, INPUT_TOKEN } InputKind;
typedef struct Input {               /* of the program's graph */
	InputKind kind;
	const char *name;            /* in the graph; of a constant: "" */
	const char *target;          /* of state: its name */
	const Json *value;           /* of a constant: an Argument */
	const Type *type;            /* of what users give */
	const char *path;            /* where it is among the arguments, by names: ['d']['key'] */
	const char *place;           /* and as torch.export says it without samples: *args[1]['key'], key['x'] */
} Input;
typedef Vec(Input) Inputs;

typedef struct Exported {            /* a program of an archive: models/NAME.json */
	Cx       *cx;
	JsonDoc   doc;
	const char *name;            /* of the method */
	const char *prefix;          /* before the names of its state: "" or "NAME." */
	const Json *json, *graph, *signature;
	const Type *self;            /* of the top object */
	Spec     *in, *out;          /* (args, kwargs) and result */
	int       nleaf, nresult;    /* their leaves */
	Inputs    inputs;
	const char *samples;         /* the member with the arguments that it was exported with; null: there is none */
	bool functional;             /* writes to nothing */
	Schema   *schema;            /* the result's type is known once the graph is there */
	Source   *text;              /* pt2_text.c */
	PtrMap    lines;             /* Json of a node -> index of its line, + 1 */
	Vec(struct Line) line;
	Map       metas;             /* name -> Json of its tensor_value, or sym_int_value */
	Map       states;            /* name of state -> the one of `inputs` that has it first */
	Unit     *unit;
	Function **texts;            /* of pt2.def's rows, once they were needed */
} Exported;

/* ---- pt2_weights.c ------------------------------------------------------------------------------------------ */

typedef struct Payloads Payloads;            /* of one program */
Payloads *payloads_new(const Exported *, RtCx *, Archive *, const char *program);
/* The tensor of that name, a new reference; those of one payload share its storage.  Of a class of Python over other
 * tensors, a dict of its parts.  Fails when there is none. */
IValue    payload_tensor(Payloads *, const char *name, bool constant);

/* ---- pt2_text.c --------------------------------------------------------------------------------------------- */

typedef struct Line { uint32_t beg, end; const Json *node; const Source *original; bool looked; } Line;
void  text_write(Exported *);
Range text_range(const Exported *, const Json *node);      /* of its line; nowhere when it has none */

/* ---- building ------------------------------------------------------------------------------------------------ */

typedef struct Names { Map map; struct Names *up; } Names;  /* up: seen from inside, too; null for a graph of its own */

typedef struct Builder {
	Exported *p;
	Cx       *cx;
	Graph    *g;
	Names    *names;             /* of the graph that is inlined now -> Value */
	const Names *top;            /* those of the program's own graph */
	Range     at;                /* the node that is read now */
	int       autocast;          /* an RtDtype; -1: off */
	int64_t   work;              /* see build_work */
} Builder;

RT_NORETURN void pt2_lacks(Builder *, const char *fmt, ...) RT_PRINTF(2, 3);
/* one step; fails after too many: what is inlined twice doubles */
void   build_work(Builder *);
/* of values, overload by their types; its result */
Value *build_op(Builder *, const char *name, int n, ...);
Value *build_int(Builder *, int64_t);
Value *build_bool(Builder *, bool);
Value *build_text(Builder *, const char *);
Value *build_list(Builder *, const Type *elem, Value *const *, int n);
Value *build_named(Builder *, const char *name);                     /* fails when the graph defines no such value */
Value *build_part(Builder *, Value *owner, const char *name);        /* an attribute; fails when there is no such */
void   build_name(Builder *, const char *name, Value *);             /* fails when it is taken */
void   build_raise_unless(Builder *, Value *ok, const char *message);
Graph *exported_graph(Cx *, Function *);                             /* of a Function with `exported` */

/* pt2_arg.c */
typedef Vec(Value *) Values;
int    dtype_of_export(int64_t number);                              /* an RtDtype, or -1: Kiln has none such */
const char *dtype_name_of_export(int64_t number);                    /* null: unknown */
Value *arg_value(Builder *, const Json *arg, const Type *formal);    /* formal: what its operator wants, or null */
void   arg_values(Builder *, const Json *arg, Values *);             /* a list's elements, or the one value */

/* pt2_node.c */
void   node_build(Builder *, const Json *node);
void   node_bind(Builder *, const Json *outputs, Value *const *results, int n);
Value *python_call(Builder *, const char *target, Value *const *args, int n);      /* null: not known */
typedef Vec(NamedValue) NamedValues;
/* of torch.ops.aten.add.Tensor; null: Kiln has none such */
Op    *operator_find(Builder *, const char *target, const char **name);
void   operator_apply(Builder *, const char *name, Op *, NamedValues *args, Values *results, const Json *outputs);
/* Its arguments are the inputs from this one on; outputs say of what types its results are, if it is lacking. */
void   operator_call(Builder *, const char *target, const Json *input, Values *results, const Json *outputs);

/* pt2_flow.c */
void   flow_node(Builder *, const char *name, const Json *node);
void   flow_nodes(Builder *, const Json *graph);               /* all nodes of a graph, in order, by its names so far */

/* pt2_mutate.c */
void   mutate_call(Builder *, const Json *node, bool views);         /* auto_functionalized; views: its second form */

/* pt2_expr.c */
/* factor * symbol + offset; symbol null: a number */
typedef struct Linear { const char *symbol; int64_t factor, offset; } Linear;
typedef Value *ExprName(Builder *, void *, const Tree *);            /* what a part of an expression names; or null */
const Tree *expr_parse(Builder *, const char *text, const char *what);
const char *expr_symbol(const Tree *);                               /* the symbol that it is; or null */
bool   expr_linear(const Tree *, Linear *);
Value *expr_value(Builder *, const Tree *, ExprName *, void *);      /* null: it names something unknown */
typedef const char *ExprSource(void *, const char *symbol);          /* what stands for a symbol; null: itself */
const char *expr_text(Builder *, const Tree *, ExprSource *, void *);    /* srepr as Python; no source: symbols */

/* pt2_check.c */
void   check_inputs(Builder *, Value *const *leaf);                  /* leaf i is user input i */

#endif
