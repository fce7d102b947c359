/* frontend/script/emit.h - declarations of the emitter, private to its files
 *
 * One walk over a function's tree builds the graph in SSA form. Names are in scopes (env.c), one per block. The meaning
 * of a name is a Sugar: a value of the graph, or an entity that exists only at compile time, such as a namespace, a
 * class or range().
 *
 * Where control flow merges, names that differ in the scopes of the two branches become outputs of the If or Loop
 * (ssa.c). Emitting statements returns the Ways in which they may end. If they may end early, later statements are
 * emitted into the branch that falls through, or under a test of a flag (exit.c). */
#ifndef EMIT_H
#define EMIT_H

#include "../frontend.h"

/* ---- sugar.c: the meaning of a name or expression ------------------------------------------------ */

typedef struct Emit Emit;
typedef struct Sugar Sugar;
typedef struct Closure Closure;

typedef enum SugarKind {
	SUGAR_VALUE,       /* v: a value of the graph. */
	SUGAR_NAMESPACE,   /* name: the namespace, such as torch, ops.prim, __torch__.a.b or CONSTANTS. */
	SUGAR_BUILTIN,     /* name: the operator. v: its self, or null. */
	SUGAR_FUNCTION,    /* fn: the function. v: its self, or null. */
	SUGAR_INTERFACE,   /* name: a method of the interface that is the type of v. */
	SUGAR_CLASS,       /* type: a class, NamedTuple or enum. */
	SUGAR_TYPE,        /* type: a type that annotations name, such as torch.Tensor or List. */
	SUGAR_FORM,        /* name: the special form. v: its self, or null. */
	SUGAR_TUPLE,       /* item: the members of the tuple. */
	SUGAR_RANGE,       /* item: start, end and step, or the end alone. */
	SUGAR_ZIP,         /* item: iterables that are iterated in parallel. */
	SUGAR_CLOSURE,     /* closure: a nested def, which only fork can use. */
	SUGAR_EXCEPTION,   /* name: an exception class, for raise. */
	SUGAR_SUPER,       /* super(), which has only __init__, which does nothing. */
	SUGAR_CAST,        /* x.float(). v: the tensor x. name: the dtype. */
} SugarKind;

struct Sugar {
	SugarKind   kind;
	Value      *v;
	const char *name;
	const Type *type;
	Function   *fn;
	Sugar     **item;
	int         n;         /* Number of items. */
	Closure    *closure;
};

Sugar *sugar_new(Emit *, SugarKind);
Sugar *sugar_value(Emit *, Value *);
Sugar *sugar_named(Emit *, SugarKind, const char *name);
const char *sugar_kind(Emit *, const Sugar *);                      /* Name of the kind, for messages. */
Value *sugar_as_value(Emit *, Range, Sugar *); /* Returns the value. Fails if it is not a value of the graph. */
Sugar *sugar_global(Emit *, Range, const char *name); /* Meaning of a global name. Null if the name is not known. */
Sugar *sugar_attr(Emit *, Range, Sugar *, const char *name);        /* The meaning of x.name. Fails if there is none. */
Sugar *sugar_attr_try(Emit *, Range, Sugar *, const char *name);    /* Like sugar_attr. Null if there is none. */
void   sugar_set_attr(Emit *, Range, Sugar *, const char *name, Value *);
int    sugar_static_length(Emit *, Sugar *); /* Number of items of an iterable. -1 if it is known only at run time. */
Value *sugar_length(Emit *, Range, Sugar *);
Sugar *sugar_item(Emit *, Range, Sugar *, Value *index);            /* Item of an iterable at a run-time index. */
/* Returns the items over which a for loop iterates: for a dict, its keys. */
Sugar *sugar_iterable(Emit *, Range, Sugar *);
/* Unpacks s into items. want: required number of items. -1 stands for any number. */
void   sugar_unpack(Emit *, Range, Sugar *, int want, Sugar ***items, int *n);

/* ---- suggest.c: ends of messages, "; did you mean x?" or "" ------------------------------------------ */

const char *suggest_variable(Emit *, const char *name);
const char *suggest_member(Emit *, const Sugar *, const char *name);
const char *suggest_torch(Emit *, const char *op); /* Suggests an operator or one of torch's constants. */
/* sugar.c: whether the operator has an overload whose self has the type. */
bool        value_has_method(Emit *, const Type *, const char *op);
const char *tensor_field_name(int); /* sugar.c: shape ... of x.shape. Null past the last one. */
const char *torch_constant_name(int); /* sugar.c: float ... of torch.float. Null past the last one. */
const char *global_name(int); /* Name of a global function: len, print ... Null past the last one. */

/* ---- env.c: scopes ------------------------------------------------------------------------------- */

typedef struct Binding {
	Sugar      *sugar;         /* Meaning of the name. Null if the name cannot be used; then `why` is the reason. */
	const char *why;       /* Message of the error if the name is used. */
	bool        refined;   /* Whether it is the same variable with a narrower type, not an assignment. */
	Range       at;        /* Place of the error in `why`. */
	const Type *fall;      /* Narrower type that holds while no exit flag is set. Null if there is none. */
} Binding;

typedef struct Scope Scope;
struct Scope {
	Scope   *up;
	Scope   *outer;        /* Scope whose variables must keep their types when they are assigned here. */
	Block   *block;
	Map      names;        /* Binding, by name. */
	Closure *closure;      /* Set in the top scope of a nested function. */
};

struct Closure {               /* A nested def. The inputs of its graph are values from outside. */
	Graph *graph;
	Vec(Value *) captured;
	const char  *name;
};

Scope   *scope_push(Emit *, Block *);                      /* Makes a scope that inserts at the end of the block. */
void     scope_enter(Emit *, Scope *); /* Makes the scope current, inserting at the end of its block. */
void     scope_pop(Emit *);
void     scope_fall(Emit *, Range); /* Casts variables to the narrower types that hold while no exit flag is set. */
Binding *scope_here(Scope *, const char *name);            /* Binding in this scope alone. Null if there is none. */
/* Returns the binding in this scope or one around it, up to the function's top. Null if there is none. */
Binding *scope_binding(Scope *, const char *name);
/* Searches enclosing functions of closures, too, and captures the value. Null if the name is not bound. */
Sugar   *scope_find(Emit *, const char *name);
Sugar   *scope_load(Emit *, Range, const char *name); /* Looks up locals, then globals. Fails if the name is unknown. */
void     scope_put(Emit *, const char *name, Sugar *, bool refined);              /* Binds the name without checks. */
void     scope_put_error(Emit *, const char *name, Range, const char *why);
/* Binds the name by TorchScript's rules of assignment. */
void     scope_assign(Emit *, Range, const char *name, Sugar *, const Type *annotated);

/* ---- refine.c: narrowing of types by conditions ---------------------------------------------------------- */

typedef struct Refine Refine;
struct Refine { const char *name; const Type *type; Refine *next; };

typedef struct Cond {
	Value  *value;
	int     known;         /* Value if it is known at compile time: 0 or 1. -1 if it is known only at run time. */
	Refine *yes, *no;      /* Narrower types that hold if it is true, and if it is false. */
} Cond;

Cond cond_of_value(Value *);
Cond cond_static(Emit *, Range, bool);
Cond cond_not(Emit *, Range, Cond);
Refine *refine_both(Emit *, Refine *, Refine *); /* Returns the refinements that hold if both conditions do. */
Refine *refine_either(Emit *, Refine *, Refine *); /* Returns the refinements that hold if either condition does. */
void    refine_apply(Emit *, Range, Refine *);               /* Narrows the variables in the current scope. */
Cond    refine_is_none(Emit *, const Tree *, bool is);       /* Condition of x is None or x is not None. */
Cond    refine_isinstance(Emit *, const Tree *call);

/* ---- exit.c, ssa.c: statements that end early; merging of control flow -------------------------------------- */

typedef enum Ways { WAY_FALL = 1, WAY_RETURN = 2, WAY_BREAK = 4, WAY_CONTINUE = 8, WAY_RAISE = 16 } Ways;
enum { WAYS_FLAGGED = WAY_RETURN | WAY_BREAK | WAY_CONTINUE };

typedef struct Work Work;      /* List of statements to emit in order. */
struct Work {
	const Tree *tree;         /* A statement. Null for the next step of an unrolled loop. */
	const Tree *target;
	Sugar      *item;
	Work       *next;
};

typedef struct Branch { Scope *scope; unsigned ways; } Branch;

unsigned exit_run(Emit *, Work *); /* Emits the work and returns the ways in which it may end. */
/* Emits `rest` under a test that none of the ways was taken. Returns the ways in which it may end. */
unsigned exit_under(Emit *, Range, unsigned ways, Work *rest);
unsigned exit_ways(unsigned a, unsigned b); /* Ways in which an If with these ways of its branches may end. */
/* Returns a bool value that tells at run time whether the code ended in this way. */
Value   *exit_flag(Emit *, Range, unsigned ways, unsigned way);
/* Returns a bool value that tells whether the code ended in one of the ways `of` */
Value   *exit_any(Emit *, Range, unsigned ways, unsigned of);
/* Makes the outputs of an If. The current scope must be the one around it. Returns the ways in which it may end. */
unsigned ssa_join(Emit *, Range, Node *branching, Branch yes, Branch no);
typedef struct LoopVars { int n; const char **name; const Type **type; } LoopVars;
LoopVars ssa_loop_vars(Emit *, const Tree *target, const Tree *body);      /* Variables that the body assigns. */
/* Makes the body's inputs; the current scope must be the body's. */
void     ssa_loop_enter(Emit *, Node *loop, LoopVars);
/* Makes the outputs. The current scope must be the one around the loop. */
void     ssa_loop_leave(Emit *, Range, Node *loop, LoopVars, Scope *body, unsigned ways);
void     ssa_tidy(Graph *); /* Drops unused outputs and finishes the graph. */

/* ---- emit_*.c ---------------------------------------------------------------------------------------------- */

struct Emit {
	Cx       *cx;
	Unit     *unit;
	Function *fn;
	Graph    *graph;
	Scope    *scope;
	const Type *result; /* Result type: declared, or unified from the returns so far. Null if not known yet. */
	bool      declared;
	Vec(Value *) results;      /* Values of the variable $v, whose type follows `result`. */
	bool      in_loop;
	int       version;         /* Version of the archive, which selects the schemas of old operators. */
};

unsigned emit_statement(Emit *, Work *, Work **next);         /* *next: the statements after it, which may be changed */
Work    *emit_work(Emit *, const Tree *list, Work *next); /* Returns the statements of a list, followed by `next`. */
void     emit_assign_to(Emit *, const Tree *target, Sugar *, Range);
Sugar   *emit_sugar(Emit *, const Tree *, const Type *hint);
Value   *emit_expression(Emit *, const Tree *, const Type *hint);
Cond     emit_condition(Emit *, const Tree *);
Value   *emit_bool(Emit *, Range, Value *);                   /* Emits the truth value of a value. */
Sugar   *emit_subscript(Emit *, const Tree *, const Type *hint);
void     emit_set_subscript(Emit *, const Tree *, Sugar *, Range);
Value   *emit_list(Emit *, Range, Value **, int n, const Type *elem);
void     emit_delete_item(Emit *, const Tree *target);
void     emit_set_item(Emit *, Range, Value *dict, Value *k, Value *v);
Value   *emit_unify_list(Emit *, Range, Value **, int n, const Type *hint);
void     emit_loop_over(Emit *, Range, const Tree *target, Sugar *iterable, void (*body)(Emit *, void *), void *arg);
Sugar   *emit_call(Emit *, const Tree *, const Type *hint);
Sugar   *emit_apply(Emit *, Range, Sugar *callee, NamedValue *, int n);
/* Emits a sort of a list of objects. Null if the list has no objects. */
Sugar   *emit_sort(Emit *, Range, const char *op, NamedValue *, int n);
/* Emits an operator such as aten::add on n positional values. */
enum { EMIT_OP_MOST = 8 };
Value   *emit_op(Emit *, Range, const char *op, int n, ...); /* n: at most EMIT_OP_MOST */
Value   *emit_int(Emit *, Range, int64_t);
Value   *emit_none(Emit *, Range);
Value   *emit_str(Emit *, Range, const char *, int64_t n);
/* Emits a node with one output. */
Value   *emit_node(Emit *, Range, const char *kind, const Type *out, int n, Value *const *in);
/* Converts a value to the type. Null if it cannot be converted. */
Value   *emit_convert(Emit *, Range, Value *, const Type *, bool implicit);
Value   *emit_cast(Emit *, Range, Value *, const Type *);     /* Emits an unchecked_cast. */
Value   *emit_result(Emit *, Range, unsigned ways);           /* Result of a function whose body ended in these ways. */
Value   *emit_inplace(Emit *, Range, TreeKind op, Value *, Value *by);        /* Emits x op= by, in place. */
Value   *emit_updated(Emit *, Range, TreeKind op, Value *, Value *by); /* Emits the new value for d[key] op= by. */
void     emit_raise(Emit *, Range, Value *message, const char *cls);
bool     form_known(const char *name);
const char *builtin_function(const char *name);               /* len -> aten::len. Null if there is none. */
const char *operator_kind(TreeKind, const char **magic);      /* ADD -> aten::add. Sets *magic to __add__. */

/* ---- script.c -------------------------------------------------------------------------------------------------- */

Value   *unit_constant(Emit *, Range, const char *name);      /* Emits CONSTANTS.cN. */
/* Returns the class, function or deeper namespace of __torch__. */
Sugar   *unit_name(Emit *, Range, const char *qualified);
/* Returns the dotted name that an import renames. Null if there is none. */
const Tree *unit_alias(Unit *, const char *name);
/* Returns the class no_grad, enable_grad or record_function. Null if there is no unit. */
const Type *unit_context(Cx *, Unit *, const char *name);
const char *unit_prefix(const Unit *);
/* Returns a function of the same source text. Null if there is none. */
Function *unit_source_function(Cx *, Unit *, const char *name);
const Tree *unit_source_class(Cx *, const Unit *, const char *name); /* Class of the same source text, as a tree. */
Function *unit_text_function(Cx *, Unit *, const char *key, const char *text);     /* Compiles one def, once per key. */
/* Makes a key for unit_text_function from a text, such as a type's name. */
const char *unit_text_name(Cx *, const char *what, const char *name);
/* Compiles a function that is called, to find its errors and the type of its result. */
void     unit_call(Cx *, Function *, Range);
/* Sets *values to the defaults of the last fields, and returns their number. */
int      unit_field_defaults(const Unit *, const Type *named_tuple, const IValue **);
void     unit_interface_call(Cx *, Unit *, const Type *, const char *method);

#endif
