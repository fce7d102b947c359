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

typedef struct ValueProfile {      /* observations of one value of the prepared graph at its uses */
	int64_t     count;         /* Number of times that a use ran.  0 if none was reached. */
	int64_t     none;          /* number of times that the value was None */
	const Type *type;          /* for tensors: all observed types merged */
	RtTag       tag;           /* tag of the last value */
	bool        mixed;         /* whether values of different kinds were seen */
	bool        int_same;      /* whether every value was the same int or bool, which is i */
	int64_t     i, ntrue;      /* the last int or bool; number of values other than 0 */
} ValueProfile;

typedef struct Profile {
	Cx       *cx;
	Function *fn, *instrumented;
	Graph    *graph;           /* the prepared graph */
	int       nvalue, nrun;
	ValueProfile *value;       /* (nvalue), by value id */
	ValueProfile *also;        /* Likewise, for the runs of one signature.  Null if not recorded. */
	struct State *state;       /* attributes that are part of a signature */
	/* Values of these attributes in the runs of one signature.  Null if not recorded. */
	const struct Pattern *found;
	struct Written *written;
} Profile;

Profile *profile_new(Cx *, Function *);                     /* requires fn->prepared */
/* Runs the function and returns the run's status.  Also records runs that raise. */
int      profile_run(Profile *, RtCx *, const IValue *args);

/* ---- written.c: constant tensors of a graph, or of functions that it calls, that are written to --------------- */

typedef struct Written Written;
Written *written_constants(Cx *, const Function *, Graph *);   /* Finds the tensors and saves their contents. */
void     written_restore(const Written *);                  /* restores the saved contents */

/* ---- signature.c: what a specialization requires of a call's arguments ------------------------------------ */

typedef struct Pattern Pattern;
struct Pattern {
	enum { PATTERN_ANY, PATTERN_VALUE, PATTERN_TENSOR, PATTERN_LIST, PATTERN_TUPLE } form;
	IValue      value;         /* PATTERN_VALUE: the int, bool, str, device or None that the argument equals */
	const Type *type;          /* PATTERN_TENSOR: complete type, except for symbols */
	int         n;
	Pattern    *part;
};
Pattern *pattern_of(Cx *, const IValue *args, int n);       /* one pattern for each argument */
bool     pattern_equal(const Pattern *, const Pattern *);
bool     patterns_equal(const Pattern *, const Pattern *, int n);
/* Are they equal except for strides and requires_grad? */
bool     patterns_are_alike(const Pattern *, const Pattern *, int n);
/* Merges one or more signatures of n arguments each to what they have in common.  Sizes that differ become symbols. */
Pattern *pattern_merge(Cx *, const Pattern *const *signature, int nsignature, int n);
/* Returns the merged pattern with 1 or 0 for those symbols whose size is 1 or 0 in the signature `one`.  Null if this
 * is true of no symbol or of all symbols. */
Pattern *pattern_with_ones(Cx *, const Pattern *merged, const Pattern *one, int n);
/* Returns the merged pattern with 1 for the batch, which is the first symbol that is a tensor's first size.  Null if
 * there is none. */
Pattern *pattern_with_batch_of_one(Cx *, const Pattern *merged, int n);
bool     pattern_is_open(const Pattern *, int n);           /* does every call match? */
int      pattern_nsymbol(const Pattern *, int n);
void     pattern_print(Cx *, Buf *, const Pattern *);
/* Returns n patterns in which the symbols are replaced by these values (nsymbol).  Tensors with symbols are
 * contiguous. */
Pattern *pattern_at(Cx *, const Pattern *, int n, const int64_t *value);

/* ---- state.c: attributes of the instance that a call reads ------------------------------------------------------- */

typedef struct StateSlot {
	const char *path, *name;   /* path from self, such as encoder.cache, and its last name, cache */
	Vec(int) slot;             /* index of the slot in each object along the path, starting at self */
} StateSlot;
typedef struct State {             /* attributes that a prepared graph reads */
	Graph *graph;
	Vec(StateSlot) at;
	Map index;                 /* index in `at` + 1, by path */
} State;
State   *state_of(Graph *, bool has_self);                  /* has_self: whether the first input is the instance */
/* Index of the attribute that a prim::GetAttr reads.  -1 if it is none of these. */
int      state_index(const State *, const Node *);
Pattern *state_patterns(const State *, IValue self);        /* patterns of the attributes' current values */
/* Sets the patterns that differ from those of the second array to PATTERN_ANY. */
void     state_settle(Pattern *, const Pattern *, int n);
/* Sets the patterns to PATTERN_ANY that are PATTERN_ANY in settled. */
void     state_leave_out(Pattern *, const Pattern *settled, int n);

/* ---- known.c: values that are known at compile time ---------------------------------------------------------- */

typedef struct Known {
	/* Known value.  Tensors have dtype, sizes and strides, but no data.  Tensors that alias share a storage. */
	IValue v;
	bool   is;          /* whether the value is known */
	/* Whether it is a list or dict that is written to.  It is known as long as all writes are followed. */
	bool   mutable;
	bool   by_data;     /* whether its sizes depend on data, so that it cannot be known */
	bool   altered;     /* whether it is a tensor whose layout differs from that in the prepared graph */
	RtTensor *model;    /* If altered: the prepared graph's tensor, without data.  Null if that is contiguous. */
	/* If altered: the part of a tensor that the prepared graph writes it to.  Null if there is none. */
	Value *place;
	bool   suggests; /* If contiguous and not altered: whether strides of dims of size 1 suggest channels last. */
} Known;
typedef struct KnownTable {
	Cx  *cx;
	RtCx rt;
	Vec(Known) at;             /* entries by value id */
	AliasDb *alias;            /* Aliases of a finished graph.  Null while the graph is built. */
} KnownTable;
KnownTable *known_table(Cx *);
/* Makes the table of known values of fn's specialized graph. */
KnownTable *known_graph(Cx *, const Function *, Graph *, const Pattern *args);
/* Makes the table of known values of a group's graph.  in: its inputs.  is: whether each input is known. */
KnownTable *known_subgraph(Cx *, Graph *, const IValue *in, const bool *is);
Known  *known_at(KnownTable *, const Value *);
bool    known_is(KnownTable *, const Value *);
bool    known_int(KnownTable *, const Value *, int64_t *);
bool    known_double(KnownTable *, const Value *, double *);     /* converts an int */
/* The tensor, borrowed.  Null if the value is not a known tensor. */
RtTensor *known_tensor(KnownTable *, const Value *);
/* Records v as the known value and takes ownership of it.  If v is a tensor, sets the type of the Value. */
void    known_set(KnownTable *, Value *, IValue v);
/* Forgets lists and dicts of this type that are written to.  Null stands for all types. */
void    known_forget_mutable(KnownTable *, const Type *);
/* Forgets the members of a list or dict, also where other values contain it. */
void    known_forget(KnownTable *, const Value *);
bool    known_has_members(IValue);                        /* is it a list or dict, whose members can change? */
bool    known_has_meta(IValue);                           /* does it contain a tensor without data? */
/* Is it a conjugate or negative view, or does it contain one?  Such values are never known. */
bool    known_never(IValue);
bool    node_is_call(const Node *);                       /* is it a call of code that may write to its arguments? */
bool    type_is_complete(const Type *);
IValue  known_meta(KnownTable *, const Type *);           /* a tensor of this complete type, with its own storage */
/* Does the node write to an attribute and read an attribute through another read?  They may share memory.  Whether they
 * overlap is found only when the kernel runs, so the node's results stay unknown. */
bool    known_attributes_meet(const Node *);
/* Returns the node's n arguments for its kernel, borrowed.  Null if one is not known. */
IValue *known_gather(KnownTable *, const Node *, int *n);

typedef struct KnownArgs {        /* arguments of a kernel, borrowed */
	IValue *v;
	int     n;
	bool    exact;            /* whether no argument is a stand-in */
} KnownArgs;

/* Gathers arguments for a kernel that only computes the types of its results.  If an unknown number cannot influence
 * these, a stand-in replaces it: another number of its kind.  Returns false if an argument is not known. */
bool    known_gather_types(KnownTable *, const Node *, KnownArgs *);
/* Sets the stand-in for input i.  Returns false if the input must not have one. */
bool    known_stand_in(KnownTable *, const Node *, int i, IValue *);
/* Runs the operator's kernel.  meta: compute only the types of the results.  Returns false if it raised, if a result
 * has RT_BITS, or if it would read data of a tensor that has none. */
bool    known_run(KnownTable *, Op *, const IValue *args, IValue *out, int nout, bool meta);
bool    known_lack_data(const IValue *, int n);             /* does value_lacks_data hold for any of n values? */
/* Does each result share an argument's storage? */
bool    known_are_views(const IValue *args, int n, const IValue *out, int nout);
/* Does the only result of the node have this complete type?  The node's inputs have complete types, or are constants or
 * numbers. */
bool    known_gives(Cx *, const Node *, const Type *want);
/* A value that matches the pattern, without data.  False if the pattern does not determine one. */
bool    known_of_pattern(KnownTable *, const Pattern *, const Type *, IValue *out);
/* Likewise, but if the pattern does not determine a value, makes any number of the type, or None.  For an argument on
 * whose value no size depends. */
IValue  known_argument(KnownTable *, const Pattern *, const Type *);

/* ---- causes.c: why code is generic ------------------------------------------------------------------------------ */

typedef struct Cause {
	Range       at;            /* Line of the model that decides it.  Its src is null if there is no line. */
	const char *what;          /* A further reason.  Null if there is none. */
	bool        refused;       /* whether the model raises at this line */
} Cause;
typedef struct FixedSize {         /* size of an argument's dim that did not become a symbol */
	const char *arg;
	int         axis, rank;
	int64_t     size;
	Cause       why;
} FixedSize;
typedef struct FixedSizes {
	FixedSize *at;
	int n, cap;
	Cause all;                 /* Reason why no sizes were tried.  Empty if sizes were tried. */
} FixedSizes;
/* Returns the range in the source from which an archive was made, if the archive's debug records contain it. */
Range       range_original(Range);
/* "net.py:12: x.view(4, -1)", from the original source.  Null if there is no range. */
const char *range_says(Cx *, Range);
const char *cause_says(Cx *, const Cause *);
bool        cause_is_same(const Cause *, const Cause *);
/* Reports, once for each cause, the sizes at which the code is generic. */
void        fixed_say(Cx *, const FixedSizes *, void (*say)(void *, const char *), void *arg);

/* ---- shapes.c: the calls that a sample's sizes come from, recorded as a graph on tensors without data ------------ */

typedef struct SizeNumber { int64_t i; RtSeenKind kind; } SizeNumber;
/* Loops that are not unrolled, since their trips vary. */
typedef struct RolledLoops { const Node **at; int n, cap; } RolledLoops;
typedef struct Shapes Shapes; /* Records one sample.  A null argument stands for a recorder that records nothing. */
typedef struct ShapesMark { Node *last; int nnumber, nstorage, ntrips, nfailed; } ShapesMark;

Shapes *shapes_new(Cx *, const char *name, const RolledLoops *);
/* Record values `to` of the specialized graph.  In order: an input; the results of a node that has just run or was
 * made; a value that equals another one; a new tensor with the type of another one; a new tensor of the type; an
 * element of a tensor at any index. */
void    shapes_input(Shapes *, const Value *to);
/* now: the node ran on real data, so the numbers in its tensors are known */
void    shapes_node(Shapes *, KnownTable *, const Node *, bool now);
void    shapes_same(Shapes *, const Value *to, const Value *as);
void    shapes_like(Shapes *, KnownTable *, const Value *to, const Value *as);
void    shapes_type(Shapes *, KnownTable *, const Value *to, const Type *);
void    shapes_element(Shapes *, KnownTable *, const Value *to, const Node *select);
bool    shapes_has(Shapes *, const Value *to);
bool    shapes_varies(Shapes *, const Value *to);         /* does the value depend on the arguments? */
/* Records that the node raises, or that its kernel cannot compute result types.  at: its line in the model. */
void    shapes_fail(Shapes *, const Node *, Range at);
bool    shapes_fail_within(const Shapes *, const Shapes *);      /* does the second raise only where the first does? */
ShapesMark shapes_mark(const Shapes *);
void    shapes_back(Shapes *, ShapesMark);                /* removes everything that was recorded since the mark */
bool    shapes_may_unroll(Shapes *, const Node *loop, int64_t trips);
bool    shapes_roll(const Shapes *, const Shapes *, RolledLoops *);
bool    shapes_agree(const Shapes *, const Shapes *);
/* Reason why two samples do not agree or fail at different nodes. */
Cause   shapes_differ(const Shapes *, const Shapes *);
const SizeNumber *shapes_numbers(const Shapes *, int *n);
Graph  *shapes_graph(Shapes *); /* Finishes the graph and returns it.  Must be called once only. */

/* ---- sizes.c: numbers of the samples -> formulas of the symbols -------------------------------------------------- */

enum {
	SIZE_SAMPLES = 8, SIZE_ATOMS = 200, SYMBOLS_MOST = SIZE_ATOMS / 4,
	SIZE_OPEN = 1 << 28,             /* end of a range that no fact about the function ends */
};
struct Specialization;
typedef struct Sizes {
	int     nsample, nsymbol, natom;
	int64_t atom[SIZE_ATOMS][SIZE_SAMPLES];           /* values on the samples; the symbols come first */
	int64_t range[SIZE_ATOMS][2];                     /* least and largest value of each symbol */
	/* Whether the function takes the same path on all larger values tried.  Kernels then rely on SIZE_OPEN only,
	 * and the range may end there. */
	bool    open[SIZE_ATOMS];
	Vec(RtSizeExpr) expr;
	Vec(uint16_t) number;      /* index in expr of the formula of each number of the shapes */
	Vec(RtSizeCount) count;                           /* counts; in the program's array s they follow the atoms */
	Vec(RtSizeTie) tie;                               /* further relations that hold on all samples */
} Sizes;
/* Fits formulas to nsample samples.  Returns false if no formulas fit. */
bool sizes_learn(Cx *, Sizes *, const Shapes *const *);
/* Returns the checks that a program of d makes at entry, without the offsets of buffers. */
RtSizes sizes_at_entry(const struct Specialization *d);
/* Would a program of d accept a call whose symbols have these values?  Runs the shapes function on tensors without
 * data, as the program does. */
bool sizes_are_taken(Cx *, const struct Specialization *d, const RtSizes *, const int64_t *symbol);
/* Index of the first sample that the program would refuse.  -1 if there is none. */
int  sizes_refused(Cx *, const struct Specialization *d, const RtSizes *);
/* Expresses v (nsample) as a product of atoms.  If `offset`, a constant may be added.  Returns false if that is
 * impossible. */
bool sizes_express(const Sizes *, const int64_t *v, bool offset, RtSizeExpr *);
int  sizes_add_atom(Sizes *, const int64_t *v);           /* Index of the new atom.  -1 if there is no room. */
void sizes_tie(Cx *, Sizes *, RtSizeTie);                 /* adds the tie unless it exists */
/* Index of this count in the program's array s.  -1 if there is no room. */
int  sizes_count(Cx *, Sizes *, RtSizeCount);
int64_t sizes_gcd(int64_t, int64_t);                      /* greatest common divisor, >= 0 */
/* Greatest common divisor of the differences between the symbol's sizes. */
int64_t sizes_step(const Sizes *, int symbol);
int64_t sizes_most(const Sizes *, int symbol);            /* the symbol's largest value on the samples */
bool    sizes_is_open(const Sizes *, int symbol);         /* Does the symbol's range end beyond that? */

/* ---- specialize.c ------------------------------------------------------------------------------------------- */

typedef struct Specialization {
	Function *fn;
	Graph    *graph;
	Pattern  *pattern;         /* patterns of the arguments, without self */
	ValueProfile *seen;        /* observations in the runs with this signature */
	bool      dynamic;
	Pattern  *found;           /* Patterns of the profile's state.  Null if the specialization requires no state. */
	bool      again;           /* whether it is for later calls on an instance, not for the first call */
	int64_t   count;           /* number of runs with this signature */
	bool      bounded;         /* If dynamic: whether sizes must stay within the range of the profiled ones. */
	/* If dynamic: whether all calls had one signature, so that symbols.c made the other signature. */
	bool      varied;
	/* If varied: makes a specialization with fewer symbols, for the case that this one gets no kernels.  Null if
	 * there is none. */
	const struct Specialization *(*instead)(void *);
	void     *instead_of;
	int       nprofiled;       /* number of profiled samples, which come first */
	/* If dynamic: sizes->nsample specializations for chosen sizes, whose graphs contain numbers.  Else null. */
	struct Specialization *sample;
	Sizes    *sizes;
	struct Samples *samples;   /* how the samples were found */
	Function *shapes;          /* function with the graph that checks whether a call's sizes fit */
} Specialization;

/* Prints the arguments and the state that it requires: "x: Float(1, 3, strides=[3, 1]), self.count: 2". */
const char *specialization_signature(Cx *, const Specialization *);

/* Evaluates the prepared graph partially, for arguments that match the pattern.  The new graph computes everything that
 * these do not determine.  Input 0 of its prim::BailOut nodes is the guarded value.  A guarded tensor has the type of
 * the output.  For a guarded number the node has the attribute `value` and no output.  The attribute pc is an index in
 * fn->code.  The attribute regs lists registers of this code, parallel to inputs 1 and on. */
Graph *specialize(Cx *, Function *, const Profile *, const Pattern *args, Shapes *);
/* Can specialize replace the operator by its expansion, or by that of another operator? */
bool op_is_expanded(const Op *);
bool op_is_formed(const Op *);           /* can specialize replace it by operators with generated kernels? */

/* ---- samples.c: a dynamic specialization from specializations of samples ----------------------------------------- */

/* Sides of the square tiles in which kernels may compute a convolution by Winograd's method.  Among the samples the
 * number of tiles must have several remainders, since it may have any in later calls. */
enum { TILE_LARGE = 4, TILE_SMALL = 2 };
/* Fills sample, sizes and shapes of d.  Returns false if that is impossible, and sets the cause.  signature: the n
 * profiled ones. */
bool samples_make(Cx *, Specialization *d, const Profile *, Specialization *const *signature, int n, Cause *);
/* Makes d again without the sample of the least sizes, in which derived sizes may be 0 or 1.  Returns false if too few
 * samples are left. */
bool samples_narrow(Cx *, Specialization *d);
const Shapes *samples_shapes(const Specialization *d);     /* Shapes of its first sample.  Null if it has none. */

/* ---- symbols.c: which sizes may differ when all calls had the same ones ------------------------------------------ */

typedef struct Varied {
	int  without;            /* Symbol that is found if this number is left out.  -1 if there is none. */
	bool batch;              /* whether only first sizes may change */
} Varied;
/* Returns the signature with another size wherever the function takes the same path at other sizes.  This is found
 * without running the function.  Sizes that the function relates change together.  fixed receives the sizes that must
 * not change, and their causes.  Null if there is no such size. */
Pattern *signature_varied(Cx *, Function *, const Profile *, const Pattern *signature, Varied, FixedSizes *fixed);

/* ---- profile_json.c: profiles as files -------------------------------------------------------------------------- */

/* Returns the profile as JSON, with its n signatures and their values. */
const char *profile_print(Profile *, const Specialization *const *, int n);
/* Reads such text and merges it into the profile.  Returns the number of its signatures.  Fails if the text is of
 * another graph. */
int         profile_parse(Profile *, const char *path, const char *text, Specialization ***);
void        profile_merge(const Profile *, ValueProfile *to, const ValueProfile *from);

/* ---- trace/: a run as graphs without branches --------------------------------------------------------------- */

/* way.c: the path of a run.  Each turn is a branch, a further trip of a loop, or the class of an object whose method
 * was called by name.  went: whether the branch or the trip was taken. */
typedef struct Turn { const RtCode *code; int pc; bool went; const RtClass *cls; } Turn;
typedef struct Way {
	Cx  *cx;
	Vec(Turn) at;
	bool cut;                  /* whether there were more turns than recorded */
} Way;
/* From now on records runs of unchanged code (code_lower_unchanged) in this context. */
void way_watch(Way *w, Cx *, RtCx *);        /* Nothing else may watch the context. */

/* methods.c: reduces the method, and the methods of other modules that it calls, to the path.  Returns the reduced
 * method under this name, for module_save.  kept: names of functions, methods and classes whose calls stay.  A class
 * stands for all its methods.  The list ends with null. */
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
	Value      *by[2];         /* The values that decide, in the trace's own graph.  Null if there are fewer. */
	int         on;            /* ON_ bits: kinds of things that these values depend on */
} WayChoice;
typedef struct WayChoices { WayChoice *at; int n, cap; } WayChoices;
/* Returns the choices of a path, in order, without those inside kept calls.  self: the instance, or None. */
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
	Function   *fn;            /* Function that the graph belongs to.  Null if there is none. */
	IValue      self;          /* Instance that the graph will run on, for freeze.  None if there is none. */
	struct Run *run;           /* the run of all passes over this graph; it owns the alias database */
	/* Number of changes that passes of this name made so far, and their limit (-L).  A negative limit allows any
	 * number. */
	int         ndone, limit;
	int         log;           /* 2: prints each change with its reason (-d PASS:2) */
} Pass;
typedef bool PassRun(Pass *, Graph *);     /* returns whether anything changed */

#define PASS(name, stages, level, loses, what) PassRun name;
#include "passes/passes.def"
#undef PASS

void  passes_run(Cx *, PassStage, Function *, Graph *, IValue self); /* runs the passes of the stage, or those of -p */
/* Runs one pass.  Fails if no pass has this name. */
bool  pass_run(Cx *, const char *name, Function *, Graph *, IValue self);
int   pass_stages(const char *name);       /* Bits of the stages that run the pass.  0 if no pass has this name. */
const char *pass_name(int i);              /* Name of the i-th pass.  Null after the last one. */
/* Returns the name of the i-th step of the whole pipeline at any level, as --stop names it: tuples:2.  Null after the
 * last one. */
const char *pass_step(Cx *, int i);
bool  pass_may(Pass *); /* Must be called before each change, and counts it.  False if -L forbids the change. */
void  pass_note(Pass *, const Node *, const char *why, ...) RT_PRINTF(3, 4);       /* prints why, before the change */
/* Returns a Pass for pass_may and pass_note of "known" and "kernels".  These are no passes, but obey -L and -d, and
 * count from 0 for each specialization. */
Pass  pass_outside(Cx *, const char *name);
AliasDb *pass_alias(Pass *, Graph *);      /* makes the database if there is none; valid until pass_lost_alias */
void  pass_lost_alias(Pass *);             /* must be called when the graph's aliasing has changed */
/* Must be called before methods that share an instance are prepared.  An attribute that one of them writes is then
 * constant in none of them. */
void   prepare_peers(Cx *, Function *const *, int n);
typedef Vec(Graph *) Peers;
const Peers *prepare_peers_of(Cx *);
Graph *prepare(Cx *, Function *, IValue self); /* Makes fn->prepared and returns it.  self: the instance, or None. */
/* Returns the code that all other code of the function is compared with: that of the graph as it was read.  Graphs with
 * gradients or with nodes of PyTorch's executor cannot run so.  They are prepared with the passes of -O0. */
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
/* Returns the value of the attribute that v reads, borrowed, if nothing sets the attribute.  False if v is no such
 * read. */
bool freeze_resolves(Pass *, Graph *, const Value *, IValue *);

/* ---- gradient.c, active.c, autodiff.c: gradients ---------------------------------------------------------------- */

typedef struct GradientInput {     /* a tensor to differentiate with respect to */
	const char *name;          /* key of its gradient */
	int         input;         /* index of the function's input */
	RtTensor   *parameter;     /* Parameter in the archive.  Null if the input is an argument. */
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
/* Returns a copy of the method that returns (result, loss or None, gradients).  names: "params", parameters and
 * arguments, separated by commas.  loss: cross_entropy, nll, mse, l1, bce or bce_with_logits of the result and an
 * argument `target`.  Null if there is no loss. */
Function *gradient_function(Cx *, Function *, IValue self, const char *names, const char *loss);

typedef struct Active {
	bool *value;               /* (nvalue) whether it depends on a GradientInput, and the result depends on it */
	bool *depends;             /* (nvalue) whether it depends on a GradientInput */
	bool *silent;              /* (nnode) whether it runs under no_grad */
	int   nvalue, nnode;       /* sizes of the arrays, which lack values and nodes that were made later */
} Active;
Active *active_values(Cx *, Graph *, const Gradient *, Arena *);
/* Computes only `depends`, for the n values `from` */
Active *active_from(Cx *, Graph *, Value *const *from, int n, Arena *);
/* Does the operator have a gradient for argument i of the node?  Operators on containers pass on the gradients of the
 * elements. */
bool active_passes(Cx *, const Node *, int i);
/* Can a use of v see the write n?  It can if it is after n, or in a loop around n before which v was defined. */
bool value_used_after(const Value *, const Node *);
/* autoform.c: brings the graph of p->fn into the form that autodiff expects.  Returns its active values. */
Active *autodiff_form(Pass *, Graph *);
bool autograd_keeps(Pass *, Graph *);      /* keeps parameters that torch.autograd.grad may name from being folded */
bool    run_tasks_at_once(Graph *); /* replaces forks by the bodies of their tasks, futures by their results */
/* Replaces the node by a copy of the graph, which has the same inputs.  Its first outputs replace the node's
 * outputs. */
void    node_expand(Graph *, Node *, const Graph *body);
void    set_places(Node *, const Node *place);      /* gives the node and nested ones the source range of `place` */
/* Inserts copies of all nodes of `from`.  values maps values of `from` to their copies. */
void    insert_copy(Graph *, const Graph *from, const Node *place, Map *values);

/* ---- convbn.c: batch norms in evaluation ----------------------------------------------------------------------- */

typedef struct NormChannel { double weight, bias, mean, var; } NormChannel;
/* Expresses one channel of y = batch_norm(x) as y = x * scale + shift. */
void norm_line(const NormChannel *, double eps, double *scale, double *shift);

/* ---- reweigh.c: folds a scale and a shift of output channels into weights: convbn.c, affine.c, parallel.c -------- */

typedef struct Reweigh {           /* state of one run over a graph */
	Pass    *pass;
	Graph   *graph;
	AliasDb *alias;
	int      own;              /* lowest id of the constants that this run made */
} Reweigh;
typedef struct Outputs {          /* convolution or matrix product with constant weights, and its output channels */
	Node   *node;
	const RtTensor *w, *b;    /* Weight and bias.  The bias may be null. */
	int     weight_at, bias_at;        /* indices of weight and bias among the node's inputs */
	int     axis;             /* dim of w that holds the output channels */
	int     rank;      /* rank of a constant of sizes (n, 1, ...) that broadcasts along the result's channels */
	bool    last;             /* whether channels are the result's last dim */
	/* Number of output channels, and of the groups that the weight's first dim is divided into. */
	int64_t n, groups;
} Outputs;
typedef bool ReweighNode(Reweigh *, Node *);      /* Folds the node and returns true, or returns false. */
bool   reweigh_graph(Pass *, Graph *, ReweighNode *);
bool   reweigh_outputs(const Reweigh *, Node *, Outputs *);
bool   reweigh_only_reader(const Value *, const Node *by);         /* is `by` its only reader, and in the same block? */
/* Constant value.  Null if v is no constant or may be written to. */
const RtTensor *reweigh_constant(const Reweigh *, const Value *);
/* Element i of the vector, or `absent` if the vector is null. */
double reweigh_element(const RtTensor *vector, int64_t i, double absent);
bool   reweigh_store(RtTensor *, int64_t i, double x); /* Stores x rounded to the dtype.  Is the stored value finite? */
/* Multiplies the node's weights by scale and adds shift to its bias, for each of n channels.  The node's result
 * replaces that of `by`, which must be its only reader. */
bool   reweigh(Reweigh *, const Outputs *, Node *by, const double *scale, const double *shift);

/* ---- torchform.c ------------------------------------------------------------------------------------------ */

/* Changes the graph so that PyTorch can load and run the saved form.  loops: also rewrite loops where PyTorch's
 * interpreter would lose a carried value. */
Graph *graph_torch_form(Graph *, bool loops);

/* ---- reshapes.c --------------------------------------------------------------------------------------------- */

/* Does it change sizes or strides of a tensor that other nodes have seen? */
bool reshapes_input(const Node *);
bool node_gives_written(const Node *);        /* is its result the tensor that it writes to? */
bool node_keeps_sizes(const Node *);          /* does it keep the sizes of the tensor that it writes to? */
bool node_makes_view(const Node *); /* is its result a view, in a new tensor object, whatever the sizes are? */

/* ---- functional.c ------------------------------------------------------------------------------------------- */

bool use_makes_alias(const Use *);            /* may the user make an alias of the value, or keep it? */
/* Does `is` hold for a use of v that is neither n nor after n? */
bool has_use_before(const Value *v, const Node *n, bool (*is)(const Use *));
enum { FUNCTIONAL_ARGS = 48 };
/* Returns the operator that computes the value which the in-place operator n writes.  at[i]: index among n's inputs of
 * its argument i.  Null if there is no such operator. */
Op  *functional_row(Cx *, const Node *n, int at[FUNCTIONAL_ARGS]);
/* Is v a clone in the block of `write`, which is its only user? */
bool is_own_clone(const Value *v, const Node *write);
bool is_written_clone(const Value *v);        /* is v the result of a write in place to such a clone? */
/* Likewise, and does no use make an alias of it, as a write does? */
bool is_written_once(const Value *v);

/* ---- branches.c --------------------------------------------------------------------------------------------- */

bool node_is_cheap(const Node *);          /* is it arithmetic of a few numbers that cannot fail? */

/* ---- fold.c: nodes run while compiling ---------------------------------------------------------------------- */

/* Runs the node's operator on these values, within limits of size and time.  Returns false if that is impossible.
 * Results are new references.  A constant with the attribute `varies` is a size that differs among samples
 * (samples.c). */
bool fold_node(Cx *, const Node *, const IValue *in, IValue *out);
bool constant_may_be(IValue);              /* can a prim::Constant have this value? */

#endif
