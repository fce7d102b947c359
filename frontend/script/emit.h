/* frontend/script/emit.h - what the files of the emitter share; private to them
 *
 * A function's tree is walked once and SSA is made on the way.  Names live in scopes (env.c), one per block; what a
 * name means is a Sugar: a value of the graph, or something only the compiler knows (a namespace, a class, range()).
 *
 * Where control flow meets, the scopes of the two branches are compared and the names that differ become outputs of
 * the If or Loop (ssa.c).  A list of statements tells in which ways it may end (Ways); statements after one that may
 * end otherwise than by falling through go into the branch that falls through, or under a test of a flag (exit.c).
 */
#ifndef EMIT_H
#define EMIT_H

#include "../frontend.h"

/* ---- sugar.c: what a name or expression means -------------------------------------------------- */

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
	SUGAR_ZIP,         /* items are walked side by side */
	SUGAR_CLOSURE,     /* a nested def: usable by fork only */
	SUGAR_EXCEPTION,   /* name: an exception class, for raise */
	SUGAR_SUPER,       /* super(): only its __init__ is known, which does nothing */
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
Value *sugar_as_value(Emit *, Range, Sugar *);                      /* fails when it is not first class */
Sugar *sugar_global(Emit *, Range, const char *name);               /* null: not known */
Sugar *sugar_attr(Emit *, Range, Sugar *, const char *name);        /* x.name; fails */
Sugar *sugar_attr_try(Emit *, Range, Sugar *, const char *name);    /* null when there is none */
void   sugar_set_attr(Emit *, Range, Sugar *, const char *name, Value *);
int    sugar_static_length(Emit *, Sugar *);                        /* of an iterable; -1: not known when compiling */
Value *sugar_length(Emit *, Range, Sugar *);
Sugar *sugar_item(Emit *, Range, Sugar *, Value *index);            /* item of an iterable, at a run-time index */
Sugar *sugar_iterable(Emit *, Range, Sugar *);                      /* what `for` walks: dict -> its keys ... */
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
	Sugar      *s;         /* null: not usable, see why */
	const char *why;       /* message for who uses it */
	bool        refined;   /* the same variable, its type narrowed: no assignment */
	Range       at;        /* of why */
	const Type *fall;      /* the narrower type that it has where no flag was raised on the way; or null */
} Binding;

typedef struct Scope Scope;
struct Scope {
	Scope   *up;
	Scope   *outer;        /* the scope whose variables must keep their types when assigned here */
	Block   *block;
	Map      names;        /* -> Binding */
	Closure *closure;      /* this scope begins a nested function */
};

struct Closure {               /* a nested def: its graph, with the values that it uses from outside as inputs */
	Graph *g;
	Vec(Value *) captured;
	const char  *name;
};

Scope   *scope_push(Emit *, Block *);                      /* and goes on at the block's end */
void     scope_enter(Emit *, Scope *);                     /* goes on at the end of its block */
void     scope_pop(Emit *);
void     scope_fall(Emit *, Range);                        /* no flag was raised: variables have their narrower types */
Binding *scope_here(Scope *, const char *name);            /* in this very scope, or null */
Binding *scope_binding(Scope *, const char *name);         /* up to the top of the function, not over closures */
Sugar   *scope_find(Emit *, const char *name);             /* over closures, capturing; null: not bound */
Sugar   *scope_load(Emit *, Range, const char *name);      /* locals, then globals; fails */
void     scope_put(Emit *, const char *name, Sugar *, bool refined);              /* unchecked */
void     scope_put_error(Emit *, const char *name, Range, const char *why);
void     scope_assign(Emit *, Range, const char *name, Sugar *, const Type *annotated);   /* with TorchScript's rules */

/* ---- refine.c: what conditions tell about types ---------------------------------------------------------- */

typedef struct Refine Refine;
struct Refine { const char *name; const Type *type; Refine *next; };

typedef struct Cond {
	Value  *v;
	int     known;         /* 0 or 1: decided when compiling; -1: at run time */
	Refine *yes, *no;      /* what holds where it is true, false */
} Cond;

Cond cond_of_value(Value *);
Cond cond_static(Emit *, Range, bool);
Cond cond_not(Emit *, Range, Cond);
Refine *refine_both(Emit *, Refine *, Refine *);             /* both hold */
Refine *refine_either(Emit *, Refine *, Refine *);           /* one of them holds */
void    refine_apply(Emit *, Range, Refine *);               /* in the current scope */
Cond    refine_is_none(Emit *, const Tree *, bool is);       /* x is None, x is not None */
Cond    refine_isinstance(Emit *, const Tree *call);

/* ---- exit.c, ssa.c: statements that end early; where control flow meets ------------------------------------ */

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

unsigned exit_run(Emit *, Work *);                            /* emits the work; in which ways does it end? */
unsigned exit_under(Emit *, Range, unsigned ways, Work *rest);        /* rest, unless one of the ways has been taken */
unsigned exit_ways(unsigned a, unsigned b);                   /* of two branches together */
Value   *exit_flag(Emit *, Range, unsigned ways, unsigned way);       /* at run time: did it end in this way? */
Value   *exit_any(Emit *, Range, unsigned ways, unsigned of);         /* in one of these ways? */
unsigned ssa_join(Emit *, Range, Node *branching, Branch yes, Branch no);  /* outputs of an If; scope: the one around */
typedef struct LoopVars { int n; const char **name; const Type **type; } LoopVars;
LoopVars ssa_loop_vars(Emit *, const Tree *target, const Tree *body);      /* what the body assigns and the scope has */
void     ssa_loop_enter(Emit *, Node *loop, LoopVars);                     /* inputs; current scope: the body's */
void     ssa_loop_leave(Emit *, Range, Node *loop, LoopVars, Scope *body, unsigned ways);   /* outputs; scope: around */
void     ssa_tidy(Graph *);                                                /* drops outputs that nobody uses */

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

unsigned emit_statement(Emit *, Work *, Work **next);         /* next: what is to follow; the statement may change it */
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
Sugar   *emit_sort(Emit *, Range, const char *op, NamedValue *, int n);       /* of objects; null: the kernel does it */
Value   *emit_op(Emit *, Range, const char *op, int n, ...);  /* positional values: aten::add, ... */
Value   *emit_int(Emit *, Range, int64_t);
Value   *emit_none(Emit *, Range);
Value   *emit_str(Emit *, Range, const char *, int64_t n);
Value   *emit_node(Emit *, Range, const char *kind, const Type *out, int n, Value *const *in);   /* one output */
Value   *emit_convert(Emit *, Range, Value *, const Type *, bool implicit);   /* null: not possible */
Value   *emit_cast(Emit *, Range, Value *, const Type *);     /* unchecked_cast */
Value   *emit_result(Emit *, Range, unsigned ways);           /* of a function whose body ended in these ways */
Value   *emit_inplace(Emit *, Range, TreeKind op, Value *, Value *by);        /* x op= by */
void     emit_raise(Emit *, Range, Value *message, const char *cls);
bool     form_known(const char *name);
const char *builtin_function(const char *name);               /* len -> aten::len; null: none */
const char *operator_kind(TreeKind, const char **magic);      /* ADD -> aten::add, __add__ */

/* ---- script.c -------------------------------------------------------------------------------------------------- */

Value   *unit_constant(Emit *, Range, const char *name);      /* CONSTANTS.cN */
Sugar   *unit_name(Emit *, Range, const char *qualified);     /* class, function or deeper namespace of __torch__ */
const Tree *unit_alias(Unit *, const char *name);     /* what an import says that the name is, or null */
/* the class no_grad, enable_grad or record_function; null without a unit */
const Type *unit_context(Cx *, Unit *, const char *name);
const char *unit_prefix(const Unit *);
Function *unit_source_function(Cx *, Unit *, const char *name);   /* a function of the same source text, or null */
const Tree *unit_source_class(Cx *, const Unit *, const char *name);      /* a class of it, as it is written */
Function *unit_text_function(Cx *, Unit *, const char *key, const char *text);     /* one def, compiled once per key */
/* a key that is a name: for a type and the like */
const char *unit_text_name(Cx *, const char *what, const char *name);
/* compiles what is called, for its errors and its result's type */
void     unit_call(Cx *, Function *, Range);
int      unit_field_defaults(const Unit *, const Type *named_tuple, const IValue **); /* of its last fields; how many */
void     unit_interface_call(Cx *, Unit *, const Type *, const char *method);

#endif
