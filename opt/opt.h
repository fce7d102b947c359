/* opt/opt.h - the optimizer: graph in, better graph out
 *
 *   prepare      inline, freeze, fold: the graph that is profiled and that the generic code runs
 *   profile_*    records values on the user's inputs
 *   specialize   prepared graph + signature -> a graph in which every size is a number
 */
#ifndef OPT_H
#define OPT_H

#include "../frontend/frontend.h"

/* ---- profile.c -------------------------------------------------------------------------------------- */

typedef struct ValueProfile {      /* observations of one value of the prepared graph, at its uses */
	int64_t     count;         /* number of uses that ran; 0: none was reached */
	int64_t     none;          /* number of these at which it was None */
	const Type *type;          /* for tensors: all observed types merged */
	RtTag       tag;           /* kind of the last value */
	bool        mixed;         /* whether values of different kinds were seen */
	bool        int_same;      /* whether every value was the int or bool i */
	int64_t     i, ntrue;      /* the last int or bool; number of values other than 0 */
} ValueProfile;

typedef struct Profile {
	Cx       *cx;
	Function *fn, *instrumented;
	Graph    *graph;           /* the prepared graph */
	int       nvalue, nrun;
	ValueProfile *value;       /* (nvalue), by value id */
	ValueProfile *also;        /* likewise, for the runs of one signature; null: not recorded */
	struct State *state;       /* attributes that are part of a signature */
	const struct Pattern *found;       /* values of these in the runs of one signature; null: not recorded */
	struct Written *written;
} Profile;

Profile *profile_new(Cx *, Function *);                     /* requires fn->prepared */
int      profile_run(Profile *, RtCx *, const IValue *args);        /* the run's status; records also runs that raise */

/* ---- written.c: constant tensors of a graph, or of functions that it calls, that are written to --------------- */

typedef struct Written Written;
Written *written_constants(Cx *, const Function *, Graph *);   /* saves their contents */
void     written_restore(const Written *);                  /* restores them */

/* ---- signature.c: what a specialization requires of a call's arguments ------------------------------------ */

typedef struct Pattern Pattern;
struct Pattern {
	enum { PATTERN_ANY, PATTERN_VALUE, PATTERN_TENSOR, PATTERN_LIST, PATTERN_TUPLE } form;
	IValue      value;         /* VALUE: int, bool, str, device or None that the argument equals */
	const Type *type;          /* TENSOR: complete, except for symbols */
	int         n;
	Pattern    *part;
};
Pattern *pattern_of(Cx *, const IValue *args, int n);       /* one pattern for each argument */
bool     pattern_equal(const Pattern *, const Pattern *);
bool     patterns_equal(const Pattern *, const Pattern *, int n);
bool     patterns_are_alike(const Pattern *, const Pattern *, int n);      /* equal but for strides and requires_grad */
/* Merges signatures of n arguments each to what they have in common.  Sizes that differ become symbols. */
Pattern *pattern_merge(Cx *, const Pattern *const *signature, int nsignature, int n);
/* The merged pattern with 1 or 0 for the symbols that are so in this signature.  Null if no symbol is, or all are. */
Pattern *pattern_with_ones(Cx *, const Pattern *merged, const Pattern *one, int n);
/* The merged pattern with 1 for the batch: the first symbol that is a tensor's first size.  Null if there is none. */
Pattern *pattern_with_batch_of_one(Cx *, const Pattern *merged, int n);
bool     pattern_is_open(const Pattern *, int n);           /* does every call match? */
int      pattern_nsymbol(const Pattern *, int n);
void     pattern_print(Cx *, Buf *, const Pattern *);
/* n patterns with these values (nsymbol) for their symbols.  Tensors with symbols are contiguous. */
Pattern *pattern_at(Cx *, const Pattern *, int n, const int64_t *value);

/* ---- state.c: attributes of the instance that a call reads ------------------------------------------------------- */

typedef struct StateSlot {
	const char *path, *name;   /* encoder.cache and its last name, cache */
	Vec(int) slot;             /* slot in each object along the path, from self on */
} StateSlot;
typedef struct State {             /* attributes that a prepared graph reads */
	Graph *graph;
	Vec(StateSlot) at;
	Map index;                 /* path -> index in `at`, + 1 */
} State;
State   *state_of(Graph *, bool has_self);
int      state_index(const State *, const Node *);    /* index of the attribute that a prim::GetAttr reads; -1: none */
Pattern *state_patterns(const State *, IValue self);        /* patterns of their current values */
void     state_settle(Pattern *, const Pattern *, int n);   /* makes those that differ PATTERN_ANY */
void     state_leave_out(Pattern *, const Pattern *settled, int n);         /* those that are so in settled, too */

/* ---- known.c: values that are known at compile time ---------------------------------------------------------- */

typedef struct Known {
	IValue v;           /* tensors have dtype, sizes and strides, but no data; those that alias share a storage */
	bool   is;          /* whether it is known */
	bool   mutable;     /* whether it is a list or dict that is written to: known while writes are followed */
	bool   by_data;     /* whether its sizes depend on data, so that it cannot be known */
	bool   altered;     /* whether it is a tensor with another layout than in the prepared graph */
	RtTensor *model;    /* altered: the prepared graph's tensor, without data; null: a contiguous one */
	Value *place;       /* altered: the part of a tensor that the prepared graph writes it to; null: none */
	bool   suggests;    /* whether, not altered and contiguous, strides of dims of size 1 suggest channels last */
} Known;
typedef struct KnownTable {
	Cx  *cx;
	RtCx rt;
	Vec(Known) at;             /* entries by value id */
	AliasDb *alias;            /* aliases of a finished graph; else null */
} KnownTable;
KnownTable *known_table(Cx *);
/* Table of the known values of fn's specialized graph. */
KnownTable *known_graph(Cx *, const Function *, Graph *, const Pattern *args);
/* Table of the known values of a group's graph.  in: its inputs; those with `is` are known. */
KnownTable *known_subgraph(Cx *, Graph *, const IValue *in, const bool *is);
Known  *known_at(KnownTable *, const Value *);
bool    known_is(KnownTable *, const Value *);
bool    known_int(KnownTable *, const Value *, int64_t *);
bool    known_double(KnownTable *, const Value *, double *);     /* an int counts, too */
RtTensor *known_tensor(KnownTable *, const Value *);    /* borrowed; null if it is not a known tensor */
void    known_set(KnownTable *, Value *, IValue v);       /* takes v; gives a tensor's Value its type */
/* Forgets lists and dicts of this type that are written to.  Null: of any type. */
void    known_forget_mutable(KnownTable *, const Type *);
void    known_forget(KnownTable *, const Value *);        /* forgets the members of a list or dict, in all values */
bool    known_has_members(IValue);                        /* is it a list or dict, whose members can change? */
bool    known_has_meta(IValue);                           /* does it contain a tensor without data? */
bool    known_never(IValue);      /* is it a conjugate or negative view, or does it contain one? */
bool    node_is_call(const Node *);                       /* is it a call of code that may write to its arguments? */
bool    type_is_complete(const Type *);
IValue  known_meta(KnownTable *, const Type *);           /* a tensor of this complete type, with its own storage */
/* Does the node write to an attribute and read another, or the same one by another read?  They may share memory;
 * whether they overlap is only found when the kernel runs, so its results stay unknown. */
bool    known_attributes_meet(const Node *);
/* The node's n arguments for its kernel, borrowed.  Null if not all are known. */
IValue *known_gather(KnownTable *, const Node *, int *n);

typedef struct KnownArgs {        /* arguments for a kernel, borrowed */
	IValue *v;
	int     n;
	bool    exact;            /* whether no argument is a stand-in */
} KnownArgs;

/* Arguments for a kernel that only has to say types: an unknown number on which these cannot depend gets a stand-in,
 * another number of its kind.  False: an argument is not known. */
bool    known_gather_types(KnownTable *, const Node *, KnownArgs *);
/* The stand-in for input i.  False if there may be none. */
bool    known_stand_in(KnownTable *, const Node *, int i, IValue *);
/* Runs the operator's kernel.  meta: only for the results' types.  False if it raised, if a result has RT_BITS, or if
 * it would read data of a tensor that has none. */
bool    known_run(KnownTable *, Op *, const IValue *args, IValue *out, int nout, bool meta);
bool    known_lack_data(const IValue *, int n);             /* does value_lacks_data hold for any? */
/* Does each result share an argument's storage? */
bool    known_are_views(const IValue *args, int n, const IValue *out, int nout);
/* Has the only result of the node this complete type?  Its inputs have complete types, or are constants or numbers. */
bool    known_gives(Cx *, const Node *, const Type *want);
/* A value that matches the pattern, without data.  False if the pattern does not determine one. */
bool    known_of_pattern(KnownTable *, const Pattern *, const Type *, IValue *out);
/* Likewise; else any number of the type, or None.  For an argument on whose value no size depends. */
IValue  known_argument(KnownTable *, const Pattern *, const Type *);

/* ---- causes.c: why code is generic ------------------------------------------------------------------------------ */

typedef struct Cause {
	Range       at;            /* line of the model that decides it; src null: none */
	const char *what;          /* a further reason, or null */
	bool        refused;       /* whether the model raises there */
} Cause;
typedef struct FixedSize {         /* a size of an argument's dim that did not become a symbol */
	const char *arg;
	int         axis, rank;
	int64_t     size;
	Cause       why;
} FixedSize;
typedef struct FixedSizes {
	FixedSize *at;
	int n, cap;
	Cause all;                 /* why no size was tried; none if sizes were */
} FixedSizes;
Range       range_original(Range);         /* range in the source that an archive was made from, if records tell it */
const char *range_says(Cx *, Range);       /* "net.py:12: x.view(4, -1)", of that source; null: no range */
const char *cause_says(Cx *, const Cause *);
bool        cause_is_same(const Cause *, const Cause *);
/* Says, once for each cause, at which sizes the code is generic. */
void        fixed_say(Cx *, const FixedSizes *, void (*say)(void *, const char *), void *arg);

/* ---- shapes.c: the calls that a sample's sizes come from, recorded as a graph on tensors without data ------------ */

typedef struct SizeNumber { int64_t i; RtSeenKind kind; } SizeNumber;
/* Loops that are not unrolled, since their trips vary. */
typedef struct RolledLoops { const Node **at; int n, cap; } RolledLoops;
typedef struct Shapes Shapes;                    /* records one sample; null as an argument: records nothing */
typedef struct ShapesMark { Node *last; int nnumber, nstorage, ntrips, nfailed; } ShapesMark;

Shapes *shapes_new(Cx *, const char *name, const RolledLoops *);
/* These record values `to` of the specialized graph: an input; the results of a node that has just run, or was made; a
 * value that equals another one; a new tensor with the type of another one; a new tensor of the type; an element of a
 * tensor at any index. */
void    shapes_input(Shapes *, const Value *to);
void    shapes_node(Shapes *, KnownTable *, const Node *, bool now);    /* now: it ran on data: numbers in tensors */
void    shapes_same(Shapes *, const Value *to, const Value *as);
void    shapes_like(Shapes *, KnownTable *, const Value *to, const Value *as);
void    shapes_type(Shapes *, KnownTable *, const Value *to, const Type *);
void    shapes_element(Shapes *, KnownTable *, const Value *to, const Node *select);
bool    shapes_has(Shapes *, const Value *to);
bool    shapes_varies(Shapes *, const Value *to);         /* does it depend on the arguments? */
/* Records that the node raises, or that its kernel cannot tell result types.  at: its line in the model. */
void    shapes_fail(Shapes *, const Node *, Range at);
bool    shapes_fail_within(const Shapes *, const Shapes *);      /* does the second fail only where the first does? */
ShapesMark shapes_mark(const Shapes *);
void    shapes_back(Shapes *, ShapesMark);                /* removes what was recorded since the mark */
bool    shapes_may_unroll(Shapes *, const Node *loop, int64_t trips);
bool    shapes_roll(const Shapes *, const Shapes *, RolledLoops *);
bool    shapes_agree(const Shapes *, const Shapes *);
Cause   shapes_differ(const Shapes *, const Shapes *);    /* why they do not agree, or fail at different nodes */
const SizeNumber *shapes_numbers(const Shapes *, int *n);
Graph  *shapes_graph(Shapes *);                           /* finishes the graph: call once */

/* ---- sizes.c: numbers of the samples -> formulas of the symbols -------------------------------------------------- */

enum { SIZE_SAMPLES = 8, SIZE_ATOMS = 200, SYMBOLS_MOST = SIZE_ATOMS / 4 };
struct Specialization;
typedef struct Sizes {
	int     nsample, nsymbol, natom;
	int64_t atom[SIZE_ATOMS][SIZE_SAMPLES];           /* values on the samples; the symbols come first */
	int64_t range[SIZE_ATOMS][2];                     /* least and largest value of each symbol */
	Vec(RtSizeExpr) expr;
	Vec(uint16_t) number;      /* index in expr of the formula of each number of the shapes */
	Vec(RtSizeCount) count;                           /* counts; they follow the atoms in the program's array s */
	Vec(RtSizeTie) tie;                               /* further relations that hold on all samples */
} Sizes;
bool sizes_learn(Cx *, Sizes *, const Shapes *const *);   /* fits formulas to nsample samples; false: none fit */
/* The checks that a program of d makes at entry, without offsets of buffers. */
RtSizes sizes_at_entry(const struct Specialization *d);
/* Would a program of d accept a call whose symbols have these values?  Runs the shapes as it does, on tensors without
 * data. */
bool sizes_are_taken(Cx *, const struct Specialization *d, const RtSizes *, const int64_t *symbol);
/* Index of the first sample that it would refuse.  -1 if there is none. */
int  sizes_refused(Cx *, const struct Specialization *d, const RtSizes *);
/* Expresses v (nsample) as a product of atoms, with offset plus a constant.  False if it is no such number. */
bool sizes_express(const Sizes *, const int64_t *v, bool offset, RtSizeExpr *);
int  sizes_add_atom(Sizes *, const int64_t *v);           /* index of the new atom; -1: no room */
void sizes_tie(Cx *, Sizes *, RtSizeTie);                 /* adds the tie, unless it is there */
int  sizes_count(Cx *, Sizes *, RtSizeCount);      /* index of this count in the program's array s; -1: no room */
int64_t sizes_gcd(int64_t, int64_t);                      /* greatest common divisor, >= 0 */
/* Greatest common divisor of the differences between the symbol's sizes. */
int64_t sizes_step(const Sizes *, int symbol);

/* ---- specialize.c ------------------------------------------------------------------------------------------- */

typedef struct Specialization {
	Function *fn;
	Graph    *graph;
	Pattern  *pattern;         /* patterns of the arguments, without self */
	ValueProfile *seen;        /* observations in its runs */
	bool      dynamic;
	Pattern  *found;           /* patterns of the profile's state; null: no state is required */
	bool      again;           /* whether it is for later calls on an instance, not the first */
	int64_t   count;           /* number of runs with this signature */
	bool      bounded;         /* dynamic: whether sizes stay within the profiled ones */
	bool      varied;          /* dynamic: whether all calls had one signature, so that symbols.c made the other */
	/* Varied: makes one with fewer symbols, if this one gets no kernels.  Null if there is none. */
	const struct Specialization *(*instead)(void *);
	void     *instead_of;
	int       nprofiled;       /* number of profiled samples, which come first */
	/* Dynamic: (sizes->nsample) specializations for chosen sizes, whose graphs have numbers.  Else null. */
	struct Specialization *sample;
	Sizes    *sizes;
	struct Samples *samples;   /* how the samples were found */
	Function *shapes;          /* the graph that checks whether a call's sizes fit */
} Specialization;

/* The arguments and the state that it requires, as text: "x: Float(1, 3, strides=[3, 1]), self.count: 2". */
const char *specialization_signature(Cx *, const Specialization *);

/* Evaluates the prepared graph partially, for arguments that match the pattern: the new graph computes the rest.  Its
 * prim::BailOut nodes have attributes pc and regs (registers of fn->code, parallel to inputs 1..); input 0 is the
 * guarded value: a tensor with the type of the output, or a number with the attribute value and no output. */
Graph *specialize(Cx *, Function *, const Profile *, const Pattern *args, Shapes *);
/* Can specialize replace it by its expansion, or by that of another row? */
bool op_is_expanded(const Op *);
bool op_is_formed(const Op *);           /* can specialize replace it by operators with generated kernels? */

/* ---- samples.c: a dynamic specialization from specializations of samples ----------------------------------------- */

/* Sides of the square tiles in which kernels may compute a convolution (Winograd's form).  Among the samples the number
 * of tiles must have several remainders, as it may have in later calls. */
enum { TILE_LARGE = 4, TILE_SMALL = 2 };
/* Fills sample, sizes and shapes of d.  False if it cannot; the cause tells why.  signature: the n profiled ones. */
bool samples_make(Cx *, Specialization *d, const Profile *, Specialization *const *signature, int n, Cause *);
/* Makes it again without the sample of the least sizes, where derived sizes may be 0 or 1.  False if too few are
 * left. */
bool samples_narrow(Cx *, Specialization *d);
const Shapes *samples_shapes(const Specialization *d);     /* shapes of its first sample; null: it has none */

/* ---- symbols.c: which sizes may differ when all calls had the same ones ------------------------------------------ */

typedef struct Varied {
	int  without;            /* the symbol found as this number is left out; -1: none */
	bool batch;              /* whether only first sizes change */
} Varied;
/* The signature with another size wherever the function takes the same path at other sizes, found without running it.
 * Null if there is none.  Sizes that the function relates change together.  fixed gets the other sizes and their
 * causes. */
Pattern *signature_varied(Cx *, Function *, const Profile *, const Pattern *signature, Varied, FixedSizes *fixed);

/* ---- profile_json.c: profiles as files -------------------------------------------------------------------------- */

/* The profile as JSON, with its n signatures and their values. */
const char *profile_print(Profile *, const Specialization *const *, int n);
/* Reads that text and merges it into the profile; returns the number of its signatures.  Fails if it is of another
 * graph. */
int         profile_parse(Profile *, const char *path, const char *text, Specialization ***);
void        profile_merge(const Profile *, ValueProfile *to, const ValueProfile *from);

/* ---- trace/: a run as graphs without branches --------------------------------------------------------------- */

/* way.c: the path of a run.  Each turn is a branch or a further trip of a loop (went: was it taken?), or the class of
 * an object whose method was called by name. */
typedef struct Turn { const RtCode *code; int pc; bool went; const RtClass *cls; } Turn;
typedef struct Way {
	Cx  *cx;
	Vec(Turn) at;
	bool cut;                  /* whether there were more turns */
} Way;
/* Records runs of unchanged code (code_lower_unchanged) in this context from now on. */
void way_watch(Way *w, Cx *, RtCx *);

/* methods.c: reduces the method, and the methods of other modules that it calls, to the path.  Returns the method under
 * this name, for module_save.  kept: names of functions, methods, and classes with all their methods, whose calls stay;
 * ends with null. */
Function *trace_methods(Cx *, Function *, const char *name, const Way *, const char *const *kept);

/* choices.c: what the turns of a path depend on. */
enum {                             /* kinds of things that a value may depend on */
	ON_DATA = 1,               /* elements of the arguments' tensors */
	ON_RANDOM = 2,
	ON_STATE = 4,              /* values that the run writes to the instance */
	ON_NUMBERS = 8,            /* arguments other than tensors */
	ON_SIZES = 16,             /* sizes that follow from data or random numbers */
};
typedef struct WayChoice {
	const Node *node;          /* a prim::If, prim::Loop or call by name, of the graphs as they were read */
	Range       at;            /* its line in the model */
	bool        went;
	const RtClass *cls;
	Value      *by[2];         /* the values that decide, in the trace's own graph; or null */
	int         on;            /* ON_ bits: what these depend on */
} WayChoice;
typedef struct WayChoices { WayChoice *at; int n, cap; } WayChoices;
/* Choices of a path, in order, without those inside kept calls.  self: the instance, or None. */
WayChoices trace_choices(Cx *, Function *, IValue self, const Way *, const char *const *kept);

/* ---- pass.c: the pipeline, passes.def -------------------------------------------------------------------- */

typedef enum PassStage {
	STAGE_PREPARE = 1,         /* once for each method: the graph that is profiled and that generic code runs */
	STAGE_OPTIMIZE = 2,        /* for each specialized graph */
} PassStage;

typedef struct Pass {              /* one run of one pass on one graph */
	Cx         *cx;
	Arena      *scratch;       /* memory that is freed when the pass ends */
	const char *name;
	Function   *fn;            /* the function that has the graph; or null */
	IValue      self;          /* the instance that the graph will run on, for freeze; or None */
	struct Run *run;           /* the passes over this graph, which share an alias database */
	int         ndone, limit;  /* changes by passes of this name so far, and allowed (-L); limit < 0: any number */
	int         log;           /* 2: prints each change with its reason (-d PASS:2) */
} Pass;
typedef bool PassRun(Pass *, Graph *);     /* returns whether anything changed */

#define PASS(name, stages, level, loses, what) PassRun name;
#include "passes/passes.def"
#undef PASS

void  passes_run(Cx *, PassStage, Function *, Graph *, IValue self);   /* the passes of the stage, or those of -p */
/* Runs one pass.  Fails if there is none of this name. */
bool  pass_run(Cx *, const char *name, Function *, Graph *, IValue self);
int   pass_stages(const char *name);       /* bits of the stages that have the pass; 0: no such pass */
const char *pass_name(int i);              /* name of the i-th pass; null: there are no more */
/* The i-th step of the whole pipeline at any level, as --stop names it: tuples:2.  Null if there are no more. */
const char *pass_step(Cx *, int i);
bool  pass_may(Pass *);                    /* asks before each change, and counts it; false: -L forbids it */
void  pass_note(Pass *, const Node *, const char *why, ...) RT_PRINTF(3, 4);       /* prints why, before the change */
/* Pass for pass_may and pass_note of "known" and "kernels".  These are no passes, but take -L and -d, and count from 0
 * for each specialization. */
Pass  pass_outside(Cx *, const char *name);
AliasDb *pass_alias(Pass *, Graph *);      /* made on demand; valid until pass_lost_alias */
void  pass_lost_alias(Pass *);             /* the graph's aliasing has changed */
/* Must be called before methods that share an instance are prepared: an attribute that one of them writes is constant
 * in none of them. */
void   prepare_peers(Cx *, Function *const *, int n);
typedef Vec(Graph *) Peers;
const Peers *prepare_peers_of(Cx *);
Graph *prepare(Cx *, Function *, IValue self);         /* makes fn->prepared; self: the instance, or None */
/* The code that all other code of the function is compared with: that of its graph as it was read.  Graphs that cannot
 * run so (with gradients, or nodes of PyTorch's executor) are prepared with the passes of -O0. */
RtCode *reference_code(Cx *, Function *, IValue self);

/* Options of the command line and the environment, as text. */
void config_dump(Cx *, const char *text);          /* -d dce, -d dce:2, -d all */
void config_limit(Cx *, const char *text);         /* -L dce=12 */
void config_passes(Cx *, const char *text);        /* -p inline,dce */
void config_without(Cx *, const char *text);       /* --no-pass cse,fuse */
void config_stop(Cx *, const char *text);          /* --stop cse, --stop cse:2: its second step */
/* For show --stage cse: ends the stage after the last run of the pass. */
void config_until(Cx *, PassStage, const char *pass);
void config_time(Cx *);                            /* --time: prints the time of each pass at the end of a stage */
void config_level(Cx *, int);                      /* -O0 .. -O3 */
void config_environment(Cx *);                     /* KILN_LOG KILN_OPT_LIMIT KILN_TYPE_VERBOSITY */

/* ---- places.c: attributes of the instance that a graph will run on ---------------------------------------------- */

/* Like alias_db, but attributes alias only if they share memory in the instance. */
AliasDb *freeze_alias(Pass *, Graph *);
/* The value of an attribute that v reads and nothing sets, borrowed.  False if v is no such read. */
bool freeze_resolves(Pass *, Graph *, const Value *, IValue *);

/* ---- gradient.c, active.c, autodiff.c: gradients ---------------------------------------------------------------- */

typedef struct GradientInput {     /* a tensor to differentiate with respect to */
	const char *name;          /* key of its gradient */
	int         input;         /* index of the function's input */
	RtTensor   *parameter;     /* parameter in the archive; null: an argument */
} GradientInput;
struct Gradient {                  /* Function.gradient */
	Vec(GradientInput) inputs;
	const Node *call;          /* autograd.c: the call of torch.autograd.grad that is differentiated instead */
	int         seeds;         /* index of the first input that is a gradient of the result's tensors */
	bool        loss;          /* whether the graph returns (result, loss), and the loss is differentiated */
	void       *wanted;        /* used by gradient.c while the graph is built */
};
typedef struct Gradient Gradient;
/* Fails if a parameter to differentiate with respect to shares memory with an attribute that is written to. */
void gradient_check_memory(Cx *, const Function *prepared, IValue self);
/* A copy of the method that returns (result, loss or None, gradients).  names: "params", parameters and arguments, with
 * commas; loss: null, or cross_entropy, nll, mse, l1, bce, bce_with_logits of the result and an argument `target`. */
Function *gradient_function(Cx *, Function *, IValue self, const char *names, const char *loss);

typedef struct Active {
	bool *value;               /* (nvalue) whether it depends on a GradientInput, and the result depends on it */
	bool *depends;             /* (nvalue) whether it depends on a GradientInput */
	bool *silent;              /* (nnode) whether it runs under no_grad */
	int   nvalue, nnode;       /* sizes of the arrays; later values and nodes are not in them */
} Active;
Active *active_values(Cx *, Graph *, const Gradient *, Arena *);
Active *active_from(Cx *, Graph *, Value *const *from, int n, Arena *);      /* `depends` alone: on these values */
/* Does the node's row give a gradient for argument i?  Rows of containers pass on what they hold. */
bool active_passes(Cx *, const Node *, int i);
/* Does a use of v see the write n: is it after n, or in a loop around n before which v was defined? */
bool value_used_after(const Value *, const Node *);
/* autoform.c: brings p->fn's graph into the form that autodiff expects.  Returns its active values. */
Active *autodiff_form(Pass *, Graph *);
bool autograd_keeps(Pass *, Graph *);      /* keeps parameters that torch.autograd.grad may ask for from being folded */
bool    run_tasks_at_once(Graph *);                        /* replaces forks by bodies, futures by results */
/* Replaces the node by the graph, which has the same inputs; its first outputs are the node's. */
void    node_expand(Graph *, Node *, const Graph *body);
void    set_places(Node *, const Node *place);      /* gives the node and nested ones the source range of `place` */
/* Inserts copies of all nodes of `from`; values: from its values to the copies. */
void    insert_copy(Graph *, const Graph *from, const Node *place, Map *values);

/* ---- convbn.c: batch norms in evaluation ----------------------------------------------------------------------- */

typedef struct NormChannel { double weight, bias, mean, var; } NormChannel;
/* One channel of y = batch_norm(x) as y = x * scale + shift. */
void norm_line(const NormChannel *, double eps, double *scale, double *shift);

/* ---- reweigh.c: folds a scale and a shift of output channels into weights: convbn.c, affine.c, parallel.c -------- */

typedef struct Reweigh {           /* one run over a graph */
	Pass    *p;
	Graph   *g;
	AliasDb *alias;
	int      own;              /* values from this id on are constants that this run made */
} Reweigh;
typedef struct Outputs {          /* a convolution or product with constant weights, and its output channels */
	Node   *node;
	const RtTensor *w, *b;    /* weight, and bias or null */
	int     weight_at, bias_at;        /* indices of weight and bias among the node's inputs */
	int     axis;             /* the dim of w that is the output channels */
	int     rank;      /* rank of a constant of sizes (n, 1, ...) that broadcasts along the result's channels */
	bool    last;             /* whether channels are the result's last dim */
	int64_t n, groups;        /* output channels; groups that the weight's first dim is divided into */
} Outputs;
typedef bool ReweighNode(Reweigh *, Node *);      /* did it fold the node? */
bool   reweigh_graph(Pass *, Graph *, ReweighNode *);
bool   reweigh_outputs(const Reweigh *, Node *, Outputs *);
bool   reweigh_only_reader(const Value *, const Node *by);         /* is `by` its only reader, in the same block? */
const RtTensor *reweigh_constant(const Reweigh *, const Value *);  /* null: not a constant, or it may be written to */
double reweigh_element(const RtTensor *vector, int64_t i, double absent);      /* absent: the value for a null vector */
bool   reweigh_store(RtTensor *, int64_t i, double x);     /* rounds x; is it finite then? */
/* Puts scale and shift of the n channels into the node's weights.  The node's result replaces that of `by`. */
bool   reweigh(Reweigh *, const Outputs *, Node *by, const double *scale, const double *shift);

/* ---- torchform.c ------------------------------------------------------------------------------------------ */

/* Changes the graph so that PyTorch loads and runs what is saved of it.  loops: also where PyTorch's interpreter would
 * lose a value that a loop carries. */
Graph *graph_torch_form(Graph *, bool loops);

/* ---- reshapes.c --------------------------------------------------------------------------------------------- */

/* Does it change sizes or strides of a tensor that other nodes have seen? */
bool reshapes_input(const Node *);
bool node_gives_written(const Node *);        /* is its result the tensor that it writes to? */
bool node_keeps_sizes(const Node *);          /* does it keep the sizes of the tensor that it writes to? */
bool node_makes_view(const Node *);           /* is its result a view, in a new tensor object for all sizes? */

/* ---- functional.c ------------------------------------------------------------------------------------------- */

bool use_makes_alias(const Use *);            /* may it make an alias of the value, or keep it? */
/* Does `is` hold for a use of v other than n and those after n? */
bool has_use_before(const Value *v, const Node *n, bool (*is)(const Use *));
enum { FUNCTIONAL_ARGS = 48 };
/* The row that computes the value that n, an in-place operator, writes.  at: index in n of each of the row's arguments.
 * Null if there is none. */
Op  *functional_row(Cx *, const Node *n, int at[FUNCTIONAL_ARGS]);
/* Is v a clone in the block of `write`, which is its only user? */
bool is_own_clone(const Value *v, const Node *write);
bool is_written_clone(const Value *v);        /* is v the result of a write in place to such a clone? */
/* Likewise, and does no use of it make an alias, as a write does? */
bool is_written_once(const Value *v);

/* ---- branches.c --------------------------------------------------------------------------------------------- */

bool node_is_cheap(const Node *);          /* is it arithmetic of a few numbers that cannot fail? */

/* ---- fold.c: nodes run while compiling ---------------------------------------------------------------------- */

/* Runs the node's operator on these values, within budgets of size and time.  False if it cannot.  Results are new
 * references.  A constant with the attribute `varies` is a size that differs among samples (samples.c). */
bool fold_node(Cx *, const Node *, const IValue *in, IValue *out);
bool constant_may_be(IValue);              /* can the value be a prim::Constant's? */

#endif
