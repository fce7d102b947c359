/* opt/opt.h - graph in, better graph out
 *
 *   prepare      inline, freeze, fold: what is profiled and what the generic code runs
 *   profile_*    what values are on the user's inputs
 *   specialize   prepared graph + signature -> a graph in which every size is a number
 */
#ifndef OPT_H
#define OPT_H

#include "../frontend/frontend.h"

/* ---- profile.c -------------------------------------------------------------------------------------- */

typedef struct ValueProfile {      /* what was seen of one value of the prepared graph, at its uses */
	int64_t     count;         /* times; 0: never reached */
	int64_t     none;          /* of them None */
	const Type *type;          /* of tensors: merged */
	RtTag       tag;           /* of the last one */
	bool        mixed;         /* different kinds */
	bool        int_same;      /* int or bool, always i */
	int64_t     i, ntrue;
} ValueProfile;

typedef struct Profile {
	Cx       *cx;
	Function *fn, *instrumented;
	Graph    *graph;           /* the prepared one */
	int       nvalue, nrun;
	ValueProfile *value;       /* (nvalue), by id */
	ValueProfile *also;        /* the same of the runs of one signature; null: not kept */
	struct State *state;       /* attributes that are part of a signature */
	const struct Pattern *found;       /* of them, in the runs of one signature; null: not kept */
	struct Written *written;
} Profile;

Profile *profile_new(Cx *, Function *);                     /* fn->prepared must be there */
int      profile_run(Profile *, RtCx *, const IValue *args);        /* status of the run; what was seen is kept */

/* ---- written.c: tensors that stand in a graph, or in what it calls, and are written to ------------------------- */

typedef struct Written Written;
Written *written_constants(Cx *, const Function *, Graph *);   /* as they are now */
void     written_restore(const Written *);                  /* as they were then */

/* ---- signature.c: what a call's arguments must be for a specialization ------------------------------------ */

typedef struct Pattern Pattern;
struct Pattern {
	enum { PATTERN_ANY, PATTERN_VALUE, PATTERN_TENSOR, PATTERN_LIST, PATTERN_TUPLE, PATTERN_DICT } form;
	IValue      value;         /* VALUE: int, bool, str, None: equal to this.  DICT: list of keys */
	const Type *type;          /* TENSOR: complete but for symbols */
	int         n;
	Pattern    *part;
};
Pattern *pattern_of(Cx *, const IValue *args, int n);       /* n patterns */
bool     pattern_equal(const Pattern *, const Pattern *);
bool     patterns_equal(const Pattern *, const Pattern *, int n);
/* What the signatures of n arguments each have in common: sizes that differ become symbols. */
Pattern *pattern_merge(Cx *, const Pattern *const *signature, int nsignature, int n);
/* A merged pattern with 1 for the symbols that are 1 in this signature; null: none is, or all are. */
Pattern *pattern_with_ones(Cx *, const Pattern *merged, const Pattern *one, int n);
bool     pattern_is_open(const Pattern *, int n);           /* anything will do */
int      pattern_nsymbol(const Pattern *, int n);

/* ---- state.c: what a call finds in its instance ------------------------------------------------------------------ */

typedef struct StateSlot {
	const char *path, *name;   /* encoder.cache, cache */
	Vec(int) slot;             /* of each object on the way, from self on */
} StateSlot;
typedef struct State {             /* attributes that a prepared graph reads */
	Graph *graph;
	Vec(StateSlot) at;
	Map index;                 /* by path, + 1 */
} State;
State   *state_of(Graph *, bool has_self);
int      state_index(const State *, const Node *);          /* which of them a prim::GetAttr reads; -1: none */
Pattern *state_patterns(const State *, IValue self);        /* what they are now */
void     state_settle(Pattern *, const Pattern *, int n);   /* what differs becomes PATTERN_ANY */
void     state_leave_out(Pattern *, const Pattern *settled, int n);         /* so does what is PATTERN_ANY in settled */

/* ---- known.c: what is known of a graph's values -------------------------------------------------------------- */

typedef struct Known {
	IValue v;           /* tensors without data: sizes, strides, and what shares storage with what */
	bool   is;
	bool   mutable;     /* a list or dict that something writes to: known as long as writes are followed in order */
	bool   by_data;     /* not known, and nobody can: its sizes follow from data */
	bool   altered;     /* a tensor that lies differently here than in the prepared graph */
	RtTensor *model;    /* altered: the prepared graph's, without data; null: it is contiguous */
	bool   suggests;    /* not altered, but strides of dims of size 1, contiguous there, suggest channels last */
} Known;
typedef struct KnownTable {
	Cx  *cx;
	RtCx rt;
	Vec(Known) at;             /* by id */
	AliasDb *alias;            /* of the finished graph */
} KnownTable;
KnownTable *known_table(Cx *);
KnownTable *known_graph(Cx *, const Function *, Graph *, const Pattern *args);       /* of a specialized graph */
/* of a group's graph, from what is known of its inputs */
KnownTable *known_subgraph(Cx *, Graph *, const IValue *in, const bool *is);
Known  *known_at(KnownTable *, const Value *);
bool    known_is(KnownTable *, const Value *);
bool    known_int(KnownTable *, const Value *, int64_t *);
void    known_set(KnownTable *, Value *, IValue v);       /* takes v; types the value when it is a tensor */
/* lists and dicts that are written to, of this type; null: all */
void    known_forget_mutable(KnownTable *, const Type *);
void    known_forget(KnownTable *, const Value *);        /* what a list or dict holds, wherever it is known */
bool    known_has_members(IValue);                        /* a list or dict: what it holds can change */
bool    known_has_meta(IValue);                           /* is a tensor without data in it? */
bool    known_never(IValue);                              /* a conjugate or negative view, or what holds one */
bool    node_is_call(const Node *);                       /* of code that may write to what it is given */
bool    type_is_complete(const Type *);
IValue  known_meta(KnownTable *, const Type *);           /* a tensor of this complete type, in a storage of its own */
/* Does the node write to an attribute and read another, or the same by another read?  Both may be one memory: whether
 * they overlap only the kernel can tell, when it is called, so that nothing is said of what it gives. */
bool    known_attributes_meet(const Node *);
/* arguments as the kernel wants them, borrowed; null: not all known */
IValue *known_gather(KnownTable *, const Node *, int *n);

typedef struct KnownArgs {        /* arguments for a kernel, borrowed */
	IValue *v;
	int     n;
	bool    exact;            /* no number stands in for an unknown one */
} KnownArgs;

/* The same for a kernel that is only asked for types: another number of the same kind stands in for an unknown one,
 * where the results' types cannot depend on it. */
bool    known_gather_types(KnownTable *, const Node *, KnownArgs *);
/* what stands there for input i; false: nothing may */
bool    known_stand_in(KnownTable *, const Node *, int i, IValue *);
bool    known_run(KnownTable *, Op *, const IValue *args, IValue *out, int nout, bool meta);
/* Has the one result of a node, whose inputs have known types, are constants or numbers, this complete type? */
bool    known_gives(Cx *, const Node *, const Type *want);
bool    known_of_pattern(KnownTable *, const Pattern *, const Type *, IValue *out);

/* ---- shapes.c: what a specialization rests on, as a graph of calls on tensors without data ----------------------- */

typedef struct SizeNumber { int64_t i; RtSeenKind kind; } SizeNumber;
typedef struct RolledLoops { const Node **at; int n, cap; } RolledLoops;   /* not to be unrolled: their trips vary */
typedef struct Shapes Shapes;                    /* of one sample.  Null where it is an argument: nothing is recorded */
typedef struct ShapesMark { Node *last; int nnumber, nstorage, ntrips, nfailed; } ShapesMark;

Shapes *shapes_new(Cx *, const char *name, const RolledLoops *);
/* `to` are values of the specialized graph.  node: has just run, or was made; same: is another value; like: a new
 * tensor of another's type; type: of this type. */
void    shapes_input(Shapes *, const Value *to);
void    shapes_node(Shapes *, KnownTable *, const Node *, bool now);    /* now: on data, which are numbers in tensors */
void    shapes_same(Shapes *, const Value *to, const Value *as);
void    shapes_like(Shapes *, KnownTable *, const Value *to, const Value *as);
void    shapes_type(Shapes *, KnownTable *, const Value *to, const Type *);
bool    shapes_has(Shapes *, const Value *to);
bool    shapes_varies(Shapes *, const Value *to);         /* depends on the arguments */
void    shapes_fail(Shapes *, const Node *);              /* it raises, or its kernel cannot say what it gives */
bool    shapes_fail_alike(const Shapes *, const Shapes *);        /* the same nodes, in order? */
ShapesMark shapes_mark(const Shapes *);
void    shapes_back(Shapes *, ShapesMark);                /* what came since is undone */
bool    shapes_may_unroll(Shapes *, const Node *loop, int64_t trips);
bool    shapes_roll(const Shapes *, const Shapes *, RolledLoops *);
bool    shapes_agree(const Shapes *, const Shapes *);
const SizeNumber *shapes_numbers(const Shapes *, int *n);
Graph  *shapes_graph(Shapes *);                           /* finished: call once */

/* ---- sizes.c: numbers on samples -> what they are of the symbols ------------------------------------------------- */

enum { SIZE_SAMPLES = 8, SIZE_ATOMS = 200, SYMBOLS_MOST = SIZE_ATOMS / 4 };
typedef struct Sizes {
	int     nsample, nsymbol, natom;
	int64_t atom[SIZE_ATOMS][SIZE_SAMPLES];           /* the symbols first */
	int64_t range[SIZE_ATOMS][2];                     /* of symbols */
	Vec(RtSizeExpr) expr;
	Vec(uint16_t) number;                             /* what the numbers of the shapes have to be: index of expr */
	Vec(RtSizeCount) count;                           /* behind the atoms, by order */
	Vec(RtSizeTie) tie;                               /* what all samples have in common, beside formulas */
} Sizes;
bool sizes_learn(Cx *, Sizes *, const Shapes *const *);   /* of nsample samples; false: these have nothing in common */
/* The vector v (nsample) as a product of atoms, with offset: and a constant added; false: it is none. */
bool sizes_express(const Sizes *, const int64_t *v, bool offset, RtSizeExpr *);
int  sizes_add_atom(Sizes *, const int64_t *v);           /* -1: no room */
void sizes_tie(Cx *, Sizes *, RtSizeTie);                 /* once */
int  sizes_count(Cx *, Sizes *, RtSizeCount);             /* the place of that s; -1: no room */
int64_t sizes_gcd(int64_t, int64_t);                      /* 0 or more */

/* ---- specialize.c ------------------------------------------------------------------------------------------- */

typedef struct Specialization {
	Function *fn;
	Graph    *graph;
	Pattern  *pattern;         /* of the arguments, self not counted */
	ValueProfile *seen;        /* by its runs */
	bool      dynamic;
	Pattern  *found;           /* of the profile's state; null: nothing is asked of it */
	bool      again;           /* of later calls on one instance */
	int64_t   count;           /* runs with this signature */
	bool      bounded;         /* dynamic: its sizes are within those profiled */
	bool      varied;          /* dynamic: all calls had one signature, and the other is symbols.c's */
	/* varied: what is tried when it has no kernels, with fewer symbols; null: there is nothing */
	const struct Specialization *(*instead)(void *);
	void     *instead_of;
	int       nprofiled;       /* the first so many samples are profiled ones */
	/* dynamic: (sizes->nsample) the same for sizes chosen, as graphs of numbers; or null */
	struct Specialization *sample;
	Sizes    *sizes;
	struct Samples *samples;   /* how they were found */
	Function *shapes;          /* the graph that tells whether a call's sizes fit */
} Specialization;

/* What it asks of arguments and state, as text: "x: Float(1, 3, strides=[3, 1]), self.count: 2". */
const char *specialization_signature(Cx *, const Specialization *);

/* Walks the prepared graph with what the pattern says and writes what is left to do into a new graph.  Its
 * prim::BailOut nodes have attributes pc and regs (registers of fn->code, parallel to inputs 1..); input 0 is the
 * guarded value: a tensor with the type of the output, or a number with the attribute value and no output. */
Graph *specialize(Cx *, Function *, const Profile *, const Pattern *args, Shapes *);
/* a kernel that is taken apart there, where its arguments fit: layers and cells of RNNs */
bool op_is_expanded(const Op *);
bool op_is_formed(const Op *);           /* does it become others, which have kernels, where it can? */

/* ---- samples.c: a dynamic specialization from specializations of samples ----------------------------------------- */

/* Fills sample, sizes and shapes of d; false: this function has no such form.  signature: n profiled ones. */
bool samples_make(Cx *, Specialization *d, const Profile *, Specialization *const *signature, int n);
/* The same without the sample of the least sizes, where derived sizes may be 0 or 1; false: too few are left. */
bool samples_narrow(Cx *, Specialization *d);

/* ---- symbols.c: which sizes may differ, when all calls had the same ---------------------------------------------- */

/* The signature with another size wherever the function goes the same way on others, without running it; null: nowhere.
 * Sizes that the function ties to each other change together.  batch: of each tensor the first size only.  fixed: the
 * other sizes are named there; or null. */
Pattern *signature_varied(Cx *, Function *, const Profile *, const Pattern *signature, bool batch, Buf *fixed);

/* ---- profile_json.c: profiles as files -------------------------------------------------------------------------- */

/* With its n signatures, the values that each saw; the text is JSON. */
const char *profile_print(Profile *, const Specialization *const *, int n);
/* Reads that text: what it saw is merged into the profile; returns how many signatures it has.  Fails when it is of
 * another graph. */
int         profile_parse(Profile *, const char *path, const char *text, Specialization ***);
void        profile_merge(const Profile *, ValueProfile *to, const ValueProfile *from);

/* ---- trace/: a run as graphs without branches --------------------------------------------------------------- */

/* way.c: which way a run went.  A branch, or a loop's next trip: went; or the class of an object whose method was
 * called by name. */
typedef struct Turn { const RtCode *code; int pc; bool went; const RtClass *cls; } Turn;
typedef struct Way {
	Cx  *cx;
	Vec(Turn) at;
	bool cut;                  /* there were more */
} Way;
/* Runs of unchanged code (code_lower_unchanged) in that context are noted in w from now on. */
void way_watch(Way *w, Cx *, RtCx *);

/* methods.c: the method, and those of other modules that it calls, of the classes that it comes by, become what the
 * way left of them, and so does the method itself, which is returned and has this name: to be saved (module_save).
 * kept: names of functions, methods and classes (of all methods) whose calls stay; null behind the last. */
Function *trace_methods(Cx *, Function *, const char *name, const Way *, const char *const *kept);

/* choices.c: what the way rests on. */
enum {                             /* what a value may depend on */
	ON_DATA = 1,               /* elements of the arguments' tensors */
	ON_RANDOM = 2,
	ON_STATE = 4,              /* what the run writes to the instance */
	ON_NUMBERS = 8,            /* arguments that are no tensors */
	ON_SIZES = 16,             /* sizes that follow from data or random numbers */
};
typedef struct WayChoice {
	const Node *node;          /* a prim::If, prim::Loop or call by name, of the graphs as they were read */
	Range       at;            /* its place in the model */
	bool        went;
	const RtClass *cls;
	Value      *by[2];         /* the values that decide, of the trace's own graph; or null */
	int         on;            /* ON_ bits: what these depend on */
} WayChoice;
typedef struct WayChoices { WayChoice *at; int n, cap; } WayChoices;
/* Those of a way, in order, without what is inside of kept calls.  self: the instance, or None. */
WayChoices trace_choices(Cx *, Function *, IValue self, const Way *, const char *const *kept);

/* ---- pass.c: the pipeline, passes.def -------------------------------------------------------------------- */

typedef enum Stage {
	STAGE_PREPARE = 1,         /* every method once: its graph is what is profiled and what the generic code runs */
	STAGE_OPTIMIZE = 2,        /* every specialized graph */
} Stage;

typedef struct Pass {              /* one run of one pass on one graph */
	Cx         *cx;
	Arena      *scratch;       /* memory until the pass ends */
	const char *name;
	Function   *fn;            /* whose graph it is; may be null */
	IValue      self;          /* the object that a method's graph is about to be run on, or None: freeze */
	struct Run *run;           /* see pass_alias */
	int         ndone, limit;  /* changes made by passes of this name so far, and allowed (-L); limit < 0: no end */
	int         log;           /* 2: each change with its reason (-d PASS:2) */
} Pass;
typedef bool PassRun(Pass *, Graph *);     /* returns whether anything changed */

#define PASS(name, stages, level, loses, what) PassRun name;
#include "passes/passes.def"
#undef PASS

void  passes_run(Cx *, Stage, Function *, Graph *, IValue self);   /* those of the stage, or those asked for with -p */
bool  pass_run(Cx *, const char *name, Function *, Graph *, IValue self);    /* one of them; fails when there is none */
int   pass_stages(const char *name);       /* Stage bits of its rows; 0: there is no such pass */
const char *pass_name(int);                /* of row i, once each; null: no more */
/* of the whole pipeline at any level, as --stop takes it: tuples:2; null: no more */
const char *pass_step(Cx *, int);
bool  pass_may(Pass *);                    /* asked before each change: false when -L forbids it; counts */
void  pass_note(Pass *, const Node *, const char *why, ...) RT_PRINTF(3, 4);
/* For "known" and "kernels", which are no passes but take -L and -d: from 0 for each specialization.  Only to ask and
 * note. */
Pass  pass_outside(Cx *, const char *name);
AliasDb *pass_alias(Pass *, Graph *);      /* made when first asked for; good until the pass says pass_lost_alias */
void  pass_lost_alias(Pass *);
/* Methods that will share an instance: what one of them writes no other one has as a constant.  Before they are
 * prepared. */
void   prepare_peers(Cx *, Function *const *, int n);
typedef Vec(Graph *) Peers;
const Peers *prepare_peers_of(Cx *);
Graph *prepare(Cx *, Function *, IValue self);         /* fn->prepared; self: the instance, or None */
/* What every other code of the function is held against: its graph as it was read, which no pass has changed.  What
 * cannot run so (gradients, and what PyTorch's executor put in) is prepared with the passes of -O0. */
RtCode *reference_code(Cx *, Function *, IValue self);

/* Options of the command line and the environment; text as given there. */
void config_dump(Cx *, const char *text);          /* -d dce, -d dce:2, -d all */
void config_limit(Cx *, const char *text);         /* -L dce=12 */
void config_passes(Cx *, const char *text);        /* -p inline,dce */
void config_without(Cx *, const char *text);       /* --no-pass cse,fuse */
void config_stop(Cx *, const char *text);          /* --stop cse, --stop cse:2: its second step */
void config_until(Cx *, Stage, const char *pass); /* show --stage cse: in that stage nothing after the last row of it */
void config_time(Cx *);                            /* --time: of each pass, on standard error at the end of the stage */
void config_level(Cx *, int);                      /* -O0 .. -O3 */
void config_environment(Cx *);                     /* KILN_LOG KILN_OPT_LIMIT KILN_TYPE_VERBOSITY */

/* ---- places.c: attributes of the instance that a graph is about to run on --------------------------------------- */

AliasDb *freeze_alias(Pass *, Graph *);    /* as alias_db, with attributes told apart by their memory */
bool freeze_resolves(Pass *, Graph *, const Value *, IValue *);   /* what a read gives, when nobody sets it; borrowed */

/* ---- gradient.c, active.c, autodiff.c: gradients ---------------------------------------------------------------- */

typedef struct GradientInput {     /* a tensor by which is differentiated */
	const char *name;          /* key of its gradient */
	int         input;         /* of the function */
	RtTensor   *parameter;     /* in the archive; null: an argument */
} GradientInput;
struct Gradient {                  /* Function.gradient */
	Vec(GradientInput) inputs;
	const Node *call;          /* autograd.c: of torch.autograd.grad in the graph instead */
	int         seeds;         /* first input that is a gradient of the result; those of all its tensors follow */
	bool        loss;          /* the graph returns (result, loss) and the loss is differentiated */
	void       *wanted;        /* while it is made */
};
typedef struct Gradient Gradient;
/* A copy of the method that returns (result, loss or None, gradients).  names: "params", parameters and arguments, with
 * commas; loss: null, or cross_entropy, nll, mse, l1, bce of the result and a further argument `target`. */
void gradient_check_memory(Cx *, const Function *prepared, IValue self);     /* of a program */
Function *gradient_function(Cx *, Function *, IValue self, const char *names, const char *loss);

typedef struct Active {
	bool *value;               /* by id: it depends on what is differentiated by, and the result depends on it */
	bool *depends;             /* by id: only the first */
	bool *silent;              /* by node id: runs where no gradient is wanted (no_grad) */
	int   nvalue, nnode;       /* those there were */
} Active;
Active *active_values(Cx *, Graph *, const Gradient *, Arena *);
Active *active_from(Cx *, Graph *, Value *const *from, int n, Arena *);      /* only what depends on these */
/* Is v used where the write n is seen: after it, or in a loop around it that v is older than? */
bool value_used_after(const Value *, const Node *);
/* autoform.c: brings p->fn's graph into the form that autodiff takes; what is active in it. */
Active *autodiff_form(Pass *, Graph *);
bool autograd_keeps(Pass *, Graph *);      /* parameters are not folded where torch.autograd.grad may ask for them */
bool    run_tasks_at_once(Graph *);                        /* forks become their bodies, futures their results */
/* the node becomes the graph, which has its inputs, and its outputs first */
void    node_expand(Graph *, Node *, const Graph *body);
void    set_places(Node *, const Node *place);             /* its place, also of nested nodes */
/* copies of all its nodes at the insertion point */
void    insert_copy(Graph *, const Graph *from, const Node *place, Map *values);

/* ---- convbn.c: batch norms in evaluation ----------------------------------------------------------------------- */

typedef struct NormChannel { double weight, bias, mean, var; } NormChannel;
/* A channel of y = batch_norm(x) = x * scale + shift. */
void norm_line(const NormChannel *, double eps, double *scale, double *shift);

/* ---- reweigh.c: outputs that are scaled and moved channel by channel, in the weights: convbn.c, affine.c --------- */

typedef struct Reweigh {           /* one run over a graph */
	Pass    *p;
	Graph   *g;
	AliasDb *alias;
	int      own;              /* values from this id on are constants made here */
} Reweigh;
typedef struct Outputs {          /* a convolution or product with constants, and what of them is an output channel */
	Node   *node;
	const RtTensor *w, *b;    /* b: may be null */
	int     weight_at, bias_at;        /* inputs of node */
	int     axis;             /* the channels' dim of w */
	int     rank;             /* of a constant with an element for each channel, one behind it for each dim there */
	bool    last;             /* channels are the result's last dim */
	int64_t n, groups;        /* channels; in which the weight's first dim is divided */
} Outputs;
typedef bool ReweighNode(Reweigh *, Node *);      /* did it fold the node? */
bool   reweigh_graph(Pass *, Graph *, ReweighNode *);
bool   reweigh_outputs(const Reweigh *, Node *, Outputs *);
bool   reweigh_only_reader(const Value *, const Node *by);         /* of what it holds; in the same block */
const RtTensor *reweigh_constant(const Reweigh *, const Value *);  /* null: none that stays as it is */
double reweigh_element(const RtTensor *vector, int64_t i, double absent);
/* by's result is the node's then */
bool   reweigh(Reweigh *, const Outputs *, Node *by, const double *scale, const double *shift);

/* ---- torchform.c ------------------------------------------------------------------------------------------ */

/* The graph itself, so that PyTorch loads and runs what is saved from it.  loops: where its interpreter would lose a
 * value. */
Graph *graph_torch_form(Graph *, bool loops);

/* ---- reshapes.c --------------------------------------------------------------------------------------------- */

/* Does it change the sizes or strides of a tensor that was seen with others? */
bool reshapes_input(const Node *);

/* ---- functional.c ------------------------------------------------------------------------------------------- */

/* Is a use of v, other than n and those after n, one of this kind? */
bool has_use_before(const Value *v, const Node *n, bool (*is)(const Use *));
enum { FUNCTIONAL_ARGS = 48 };
/* The row that computes what n, an in-place operator, writes; at: which argument of n is which of the row's.  Null:
 * there is none. */
Op  *functional_row(Cx *, const Node *n, int at[FUNCTIONAL_ARGS]);
/* Is v a clone in the block of `write`, its only use? */
bool is_own_clone(const Value *v, const Node *write);
/* Is v the result of a write to such a clone, and do no other uses of it write? */
bool is_written_once(const Value *v);

/* ---- branches.c --------------------------------------------------------------------------------------------- */

bool node_is_cheap(const Node *);          /* of a few numbers: cannot fail, and is done in no time */

/* ---- fold.c: nodes run while compiling ---------------------------------------------------------------------- */

/* Runs the node's operator on these values, within budgets of size and time; false: not possible.  Results are owned.
 * A constant with the attribute `varies` is a size of a sample (samples.c): another sample has another there. */
bool fold_node(Cx *, const Node *, const IValue *in, IValue *out);
bool constant_may_be(IValue);              /* can the value stand in a prim::Constant? */

#endif
