/* frontend/script/emit.h - shared by the files of the emitter, and private to them
 *
 * One walk over a function's tree builds the graph, in SSA form.  Names are in scopes (env.c), one per block; the
 * meaning of a name is a Sugar: a value of the graph, or something of compile time (a namespace, a class, range()).
 *
 * Where control flow merges, names that differ in the scopes of the two branches become outputs of the If or Loop
 * (ssa.c).  Emitting statements returns the ways in which they may end (Ways); statements after such that may not fall
 * through go into the branch that does, or under a test of a flag (exit.c).
 */
#ifndef EMIT_H
#define EMIT_H

#include "../frontend.h"

/* ---- sugar.c: the meaning of a name or expression ------------------------------------------------ */

typedef struct Emit Emit;
typedef struct Sugar Sugar;
typedef struct Closure Closure;

typedef enum SugarKind {
	SUGAR_VALUE,       /* v */
	SUGAR_NAMESPACE,   /* name: torch, torch.jit, ops.prim, __torch__.a.b, CONSTANTS */
	SUGAR_BUILTIN,     /* operator name; v: its self, or null */
	SUGAR_FUNCTION,    /* fn; v: its self, or null */
	SUGAR_INTERFACE,   /* method name of the interface type of v */
	SUGAR_CLASS,       /* type: class, NamedTuple, enum */
	SUGAR_TYPE,        /* type: torch.Tensor, List ...: what annotations name */
	SUGAR_FORM,        /* name of a special form; v: its self, or null */
	SUGAR_TUPLE,       /* items */
	SUGAR_RANGE,       /* items: start, end, step; or end alone */
	SUGAR_ZIP,         /* items: iterated in parallel */
	SUGAR_CLOSURE,     /* a nested def: only fork can use it */
	SUGAR_EXCEPTION,   /* name: an exception class, for raise */
	SUGAR_SUPER,       /* super(): has only __init__, which does nothing */
	SUGAR_CAST,        /* x.float(): v is the tensor, name the dtype */
} SugarKind;

struct Sugar {
	SugarKind   kind;
	Value      *v;
	const char *name;
	const Type *type;
	Function   *fn;
	Sugar     **item;
	int         n;         /* of item */
	Closure    *closure;
};

Sugar *sugar_new(Emit *, SugarKind);
Sugar *sugar_value(Emit *, Value *);
Sugar *sugar_named(Emit *, SugarKind, const char *name);
const char *sugar_kind(Emit *, const Sugar *);                      /* for messages */
Value *sugar_as_value(Emit *, Range, Sugar *);                      /* fails if it is not a value of the graph */
Sugar *sugar_global(Emit *, Range, const char *name);               /* null: not known */
Sugar *sugar_attr(Emit *, Range, Sugar *, const char *name);        /* x.name; fails */
Sugar *sugar_attr_try(Emit *, Range, Sugar *, const char *name);    /* null when there is none */
void   sugar_set_attr(Emit *, Range, Sugar *, const char *name, Value *);
int    sugar_static_length(Emit *, Sugar *);                        /* of an iterable; -1: known at run time only */
Value *sugar_length(Emit *, Range, Sugar *);
Sugar *sugar_item(Emit *, Range, Sugar *, Value *index);            /* item of an iterable, at a run-time index */
Sugar *sugar_iterable(Emit *, Range, Sugar *);                      /* the iterable of a for: a dict's keys ... */
void   sugar_unpack(Emit *, Range, Sugar *, int want, Sugar ***items, int *n);   /* want -1: any number */

/* ---- suggest.c: the end of a message: "; did you mean x?", or "" ------------------------------------- */

const char *suggest_variable(Emit *, const char *name);
const char *suggest_member(Emit *, const Sugar *, const char *name);
const char *suggest_torch(Emit *, const char *op);                  /* an operator, or one of torch's constants */
bool        value_has_method(Emit *, const Type *, const char *op);  /* sugar.c: aten::add of values of the type? */
const char *tensor_field_name(int);                                 /* sugar.c: x.shape ...; null: no more */
const char *torch_constant_name(int);                               /* sugar.c: torch.float ...; null: no more */
const char *global_name(int);                                       /* emit_call.c: len, print ...; null: no more */

/* ---- env.c: scopes ------------------------------------------------------------------------------- */

typedef struct Binding {
	Sugar      *s;         /* null: it cannot be used, see why */
	const char *why;       /* the message of an error then */
	bool        refined;   /* a narrower type of the same variable: no assignment */
	Range       at;        /* the place for that message */
	const Type *fall;      /* its narrower type where no exit flag has been set; or null */
} Binding;

typedef struct Scope Scope;
struct Scope {
	Scope   *up;
	Scope   *outer;        /* the scope whose variables must keep their types when assigned here */
	Block   *block;
	Map      names;        /* -> Binding */
	Closure *closure;      /* of the top scope of a nested function */
};

struct Closure {               /* a nested def: its graph, whose inputs are values from outside */
	Graph *g;
	Vec(Value *) captured;
	const char  *name;
};

Scope   *scope_push(Emit *, Block *);                      /* a new scope, which inserts at the block's end */
void     scope_enter(Emit *, Scope *);                     /* inserts at the end of its block */
void     scope_pop(Emit *);
void     scope_fall(Emit *, Range);                        /* no exit flag is set: variables get their narrower types */
Binding *scope_here(Scope *, const char *name);            /* in this scope alone; or null */
Binding *scope_binding(Scope *, const char *name);         /* up to the function's top, without closures; or null */
Sugar   *scope_find(Emit *, const char *name);             /* through closures, capturing; null: not bound */
Sugar   *scope_load(Emit *, Range, const char *name);      /* locals, then globals; fails */
void     scope_put(Emit *, const char *name, Sugar *, bool refined);              /* unchecked */
void     scope_put_error(Emit *, const char *name, Range, const char *why);
void     scope_assign(Emit *, Range, const char *name, Sugar *, const Type *annotated);   /* with TorchScript's rules */

/* ---- refine.c: narrowing of types by conditions ---------------------------------------------------------- */

typedef struct Refine Refine;
struct Refine { const char *name; const Type *type; Refine *next; };

typedef struct Cond {
	Value  *v;
	int     known;         /* 0 or 1: decided at compile time; -1: at run time */
	Refine *yes, *no;      /* narrower types where it is true, false */
} Cond;

Cond cond_of_value(Value *);
Cond cond_static(Emit *, Range, bool);
Cond cond_not(Emit *, Range, Cond);
Refine *refine_both(Emit *, Refine *, Refine *);             /* both hold */
Refine *refine_either(Emit *, Refine *, Refine *);           /* one of them holds */
void    refine_apply(Emit *, Range, Refine *);               /* in the current scope */
Cond    refine_is_none(Emit *, const Tree *, bool is);       /* x is None, x is not None */
Cond    refine_isinstance(Emit *, const Tree *call);

/* ---- exit.c, ssa.c: statements that end early; merging of control flow -------------------------------------- */

typedef enum Ways { WAY_FALL = 1, WAY_RETURN = 2, WAY_BREAK = 4, WAY_CONTINUE = 8, WAY_RAISE = 16 } Ways;
enum { WAYS_FLAGGED = WAY_RETURN | WAY_BREAK | WAY_CONTINUE };

typedef struct Work Work;      /* statements to be emitted one after the other */
struct Work {
	const Tree *t;         /* a statement; null: the next step of an unrolled loop */
	const Tree *target;
	Sugar      *item;
	Work       *next;
};

typedef struct Branch { Scope *scope; unsigned ways; } Branch;

unsigned exit_run(Emit *, Work *);                            /* emits the work; the ways in which it may end */
unsigned exit_under(Emit *, Range, unsigned ways, Work *rest);        /* rest, under a test that none was taken */
unsigned exit_ways(unsigned a, unsigned b);                   /* of two branches together */
Value   *exit_flag(Emit *, Range, unsigned ways, unsigned way);       /* at run time: did it end in this way? */
Value   *exit_any(Emit *, Range, unsigned ways, unsigned of);         /* in one of these ways? */
unsigned ssa_join(Emit *, Range, Node *branching, Branch yes, Branch no);  /* outputs of an If; scope: the one around */
typedef struct LoopVars { int n; const char **name; const Type **type; } LoopVars;
LoopVars ssa_loop_vars(Emit *, const Tree *target, const Tree *body);      /* variables that the body assigns */
void     ssa_loop_enter(Emit *, Node *loop, LoopVars);                     /* inputs; current scope: the body's */
void     ssa_loop_leave(Emit *, Range, Node *loop, LoopVars, Scope *body, unsigned ways);   /* outputs; scope: around */
void     ssa_tidy(Graph *);                                                /* drops unused outputs */

/* ---- emit_*.c ---------------------------------------------------------------------------------------------- */

struct Emit {
	Cx       *cx;
	Unit     *unit;
	Function *fn;
	Graph    *g;
	Scope    *scope;
	const Type *result;        /* declared, or unified from the returns so far; null: not known */
	bool      declared;
	Vec(Value *) results;      /* values of $v whose type follows `result` */
	bool      in_loop;
	int       version;         /* of the archive: which schemas old operators had */
};

unsigned emit_statement(Emit *, Work *, Work **next);         /* *next: the following statements, which it may change */
Work    *emit_work(Emit *, const Tree *list, Work *next);     /* the statements of a list, then next */
void     emit_assign_to(Emit *, const Tree *target, Sugar *, Range);
Sugar   *emit_sugar(Emit *, const Tree *, const Type *hint);
Value   *emit_expression(Emit *, const Tree *, const Type *hint);
Cond     emit_condition(Emit *, const Tree *);
Value   *emit_bool(Emit *, Range, Value *);                   /* truth of a value */
Sugar   *emit_subscript(Emit *, const Tree *, const Type *hint);
void     emit_set_subscript(Emit *, const Tree *, Sugar *, Range);
Value   *emit_list(Emit *, Range, Value **, int n, const Type *elem);
void     emit_delete_item(Emit *, const Tree *target);
void     emit_set_item(Emit *, Range, Value *dict, Value *k, Value *v);
Value   *emit_unify_list(Emit *, Range, Value **, int n, const Type *hint);
void     emit_loop_over(Emit *, Range, const Tree *target, Sugar *iterable, void (*body)(Emit *, void *), void *arg);
Sugar   *emit_call(Emit *, const Tree *, const Type *hint);
Sugar   *emit_apply(Emit *, Range, Sugar *callee, NamedValue *, int n);
Sugar   *emit_sort(Emit *, Range, const char *op, NamedValue *, int n);       /* of objects; null: there are none */
Value   *emit_op(Emit *, Range, const char *op, int n, ...);  /* positional values: aten::add, ... */
Value   *emit_int(Emit *, Range, int64_t);
Value   *emit_none(Emit *, Range);
Value   *emit_str(Emit *, Range, const char *, int64_t n);
Value   *emit_node(Emit *, Range, const char *kind, const Type *out, int n, Value *const *in);   /* one output */
Value   *emit_convert(Emit *, Range, Value *, const Type *, bool implicit);   /* null: it cannot be converted */
Value   *emit_cast(Emit *, Range, Value *, const Type *);     /* unchecked_cast */
Value   *emit_result(Emit *, Range, unsigned ways);           /* of a function whose body ended in these ways */
Value   *emit_inplace(Emit *, Range, TreeKind op, Value *, Value *by);        /* x op= by */
Value   *emit_updated(Emit *, Range, TreeKind op, Value *, Value *by);        /* d[key] op= by: a new value */
void     emit_raise(Emit *, Range, Value *message, const char *cls);
bool     form_known(const char *name);
const char *builtin_function(const char *name);               /* len -> aten::len; null: none */
const char *operator_kind(TreeKind, const char **magic);      /* ADD -> aten::add, __add__ */

/* ---- script.c -------------------------------------------------------------------------------------------------- */

Value   *unit_constant(Emit *, Range, const char *name);      /* CONSTANTS.cN */
Sugar   *unit_name(Emit *, Range, const char *qualified);     /* class, function or deeper namespace of __torch__ */
const Tree *unit_alias(Unit *, const char *name);     /* the name that an import gives to it; or null */
/* The class no_grad, enable_grad or record_function; null: there is no unit. */
const Type *unit_context(Cx *, Unit *, const char *name);
const char *unit_prefix(const Unit *);
Function *unit_source_function(Cx *, Unit *, const char *name);   /* a function of the same source text, or null */
const Tree *unit_source_class(Cx *, const Unit *, const char *name);      /* a class of it, as a tree */
Function *unit_text_function(Cx *, Unit *, const char *key, const char *text);     /* one def, compiled once per key */
/* A key for unit_text_function from a type's name or the like. */
const char *unit_text_name(Cx *, const char *what, const char *name);
/* Compiles a function that is called, for its errors and the type of its result. */
void     unit_call(Cx *, Function *, Range);
int      unit_field_defaults(const Unit *, const Type *named_tuple, const IValue **); /* of its last fields; how many */
void     unit_interface_call(Cx *, Unit *, const Type *, const char *method);

#endif
