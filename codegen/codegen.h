/* codegen/codegen.h - graphs in, programs out
 *
 *   emit_program    prepared functions and their specializations -> C text and the weights' bytes
 *   build_program   C text and weights -> executable, by a C compiler or libtcc
 *   cmd_*           the commands of kiln; main.c has the table
 */
#ifndef CODEGEN_H
#define CODEGEN_H

#include "../opt/opt.h"

/* ---- out.c: text ------------------------------------------------------------------------------ */

typedef struct Out {
	Buf text;
	int indent;
} Out;

void out_line(Out *, const char *fmt, ...) RT_PRINTF(2, 3);
void out_blank(Out *);
void out_open(Out *, const char *fmt, ...) RT_PRINTF(2, 3);     /* ends the line with " {" and indents */
void out_close(Out *, const char *after);
void out_comment(Buf *, const char *text, int64_t n);
void out_string(Buf *, const char *text, int64_t n);
void out_bytes(Buf *, const char *text, int64_t n);    /* numbers, and a final 0: what initializes an array */
enum { OUT_STRING_MOST = 4095 };                        /* bytes of a literal that every compiler must take */
const char *out_literal(Arena *, const char *text);    /* the same of a whole text */
void out_json(Buf *, const char *text);                /* in quotes */
const char *out_name(Arena *, const char *prefix, const char *text);

/* ---- weights.c: the bytes of constants, and the object file that holds them -------------------------- */

typedef enum WeightForm {        /* what bytes are: RtWeightForm */
	WEIGHT_PLAIN, WEIGHT_PANELS, WEIGHT_WINOGRAD, WEIGHT_TAPS, WEIGHT_BIAS, WEIGHT_GPU, NWEIGHT_FORM
} WeightForm;

extern const char *const weight_forms[];

/* Forms larger than the weights: made by the program when it is opened; in it; not taken. */
typedef enum Forms { FORMS_MADE, FORMS_FAST, FORMS_SMALL } Forms;
extern const char *const forms_names[];          /* as --forms has them; a null behind the last */

typedef struct Weights {
	Cx   *cx;
	Buf   bytes;             /* each part starts at a multiple of 64 */
	int64_t form_bytes[NWEIGHT_FORM];
	Map   known;             /* content hash -> offset + 1 */
	Vec(struct Original) originals;  /* contents of the model's storages */
	Map   original_of;       /* content hash -> its index there + 1 */
	Vec(struct Stored) storages;     /* the model's storages: equal bytes do not make two of them one */
	Map   storage_of;        /* RtStorage -> its index there + 1 */
} Weights;

typedef struct Original {
	const void *data;
	int64_t bytes, offset;   /* offset: in the weights, set by weights_finish */
	bool    needed;          /* as it is: somebody reads it without asking for it */
	Vec(RtPacking) parts;    /* of it that are there packed; they do not overlap */
	int64_t covered;         /* floats in them */
} Original;

typedef struct Stored {
	RtStorage *storage;      /* retained, so that no other gets its address */
	int        original;
} Stored;

/* The index of a storage in the program's table.  Each has its own, since a write to one must not be seen in another;
 * the bytes, which are read-only there, may be the same. */
int weights_storage(Weights *, RtStorage *);
/* Its content, which is stored by weights_finish, unless it is there packed and that is enough. */
Original *weights_original(Weights *, RtStorage *);
/* A part of it is there packed, its elements side by side in the original. */
void weights_note(Weights *, RtStorage *, RtPacking);
bool original_is_packed(const Original *);       /* ... and only its parts are needed */
void weights_finish(Weights *);
int64_t weights_add(Weights *, WeightForm, const void *data, int64_t bytes);   /* offset; equal bytes are stored once */

/* ---- elf.c: object files of targets -------------------------------------------------------------------- */

typedef struct ElfKind { int machine, bits; uint32_t flags; } ElfKind;     /* bits: 32 or 64 */
/* A relocatable object with the bytes in .rodata under the name kiln_weights. */
bool    weights_write_object(const Weights *, const char *path, const ElfKind *, const char *name, const char **why);
/* Machine code in a built file; 0: it is no ELF file.  mixed: constants are within, and are counted, too. */
int64_t elf_code_bytes(Cx *, const char *path, bool mixed);
typedef Vec(const char *) Texts;
/* Adds the names that other objects see, and those that they are to define. */
void    elf_symbols(Cx *, const char *path, Texts *defined, Texts *undefined);

/* ---- cgen_data.c, cgen_code.c, cgen.c: the emitted C ---------------------------------------------------- */

typedef struct DoorSpec {        /* a specialization of a library, for its header */
	const char *method;
	Function   *fn;
	const Specialization *spec;
	struct Plan *plan;
	int first;
	uint64_t written;        /* a bit for each argument that it writes to */
} DoorSpec;

typedef struct Emit {            /* one program */
	Cx      *cx;
	Out      types, kernels, data, code, plans, tail;   /* parts of the text, in this order */
	Weights  weights;
	Vec(RtMaking) making;    /* what the program makes of its weights, */
	Vec(const char *) made_of;       /* of which (pack_panels), */
	Map      panels_read;    /* these by kernels, too; */
	/* weights -> "yes", "no": do kernels for sizes that were profiled read them transformed? */
	Map      winograd;
	int64_t  made_bytes;     /* and how large what is made is, */
	int64_t  alone_bytes;    /* of what nothing else reads */
	int64_t  packed_bytes;   /* of the weights in the forms that kernels read: they come first */
	int64_t  streamed;       /* bytes of weights, the most that products of few rows read in a call */
	Map      type_names;     /* a type's text -> its C name */
	Map      class_names, code_names, kernel_names;
	Map      code_places;    /* a Code -> emit_places */
	Map      plan_names;     /* a Code -> the C function that enters its specializations */
	Vec(const RtClass *) classes;   /* named; the first nclass have been defined */
	int      nclass;
	Buf      rows;           /* rows of RtConst */
	int      nrow, nvalue;
	Map      row_of;         /* identity of a counted value -> its row + 1 */
	Vec(bool) reads;         /* by number of a slot: some code reads or writes that slot of some object */
	bool     lazy;           /* the value being emitted is a constant of a Code, unpacked when it is read */
	bool     source;         /* print the model's own lines */
	bool     verbose;        /* say what dynamic sizes leave to the runtime */
	Forms    forms;
	Map      geometry_names, constant_index;
	Map      kernel_texts;   /* a kernel's text -> its name: equal ones are emitted once */
	Texts    launched;       /* names of those that specializations launch */
	const Texts *levels;     /* of several processors, the least first, that kernels are compiled for; or null */
	struct Capture *capture; /* kernels' texts go there: dynamic.c; or null */
	Buf      provenance;     /* lines of key: value */
	Vec(RtSpecialization) specializations;
	Vec(DoorSpec) door_specs;
	int      vf, nr;         /* floats in a vector of the target, and in a panel of packed weights (vconv.h) */
	int64_t  zeros;          /* floats of kiln_zeros */
	int64_t  scratch;        /* bytes: what one of its kernels asks for at most */
	bool     outside;        /* the last kernel calls a function of the runtime */
	bool     clamps;         /* some kernel of a product has a range (rt/ops/vconv.h) */
	bool     quantized;      /* the program may meet quantized tensors */
	bool     bits;           /* conjugate and negative views */
	bool     gpu;            /* plans are emitted for the GPU, too */
	Out      cuda;           /* its kernels */
	Map      cuda_texts;     /* a kernel's text -> its index + 1 */
	Vec(const char *) cuda_kernels;
	bool     bench_code;     /* launches are numbered, and described for kiln bench */
	Buf      launches;       /* ... so: elements of a JSON array */
	Buf     *listing;        /* gets the text form of each launch: launch_print; or null */
	int      nlaunch;
} Emit;

typedef struct EmitMethod {
	const char *name;
	Function   *fn;
	bool        takes_self;
	const RtCode *reference;   /* for --selfcheck; or null */
	const Specialization *const *spec;   /* nspec, tried in this order */
	int         nspec;
} EmitMethod;

const char *emit_type(Emit *, const RtType *);         /* C expression: &type_3, &rt_type_int */
const char *emit_class(Emit *, const RtClass *);
void        emit_classes(Emit *);                      /* defines those that were named; last of all */
/* names the classes of modules in it whose methods are called by name */
void        emit_method_classes(Emit *, IValue);
/* C name of an array of both; 0: null */
const char *emit_geometry(Emit *, int n, const int64_t *dims, const int64_t *strides);
int         emit_value(Emit *, IValue);                /* adds a top-level constant; its index in cx->value */
const char *emit_symbol(Emit *, const Op *);           /* C name of its kernel, which is declared */
const char *emit_code(Emit *, const RtCode *);         /* C name; codes that it calls too */
typedef struct PlaceList { int *at, n, cap; } PlaceList;
typedef struct CodePlaces {       /* the places of a Code that its program has */
	uint32_t *row;           /* by index in the Code: the row there, 0: none */
	Vec(int)  of;            /* by row: the index in the Code */
	Map       known;
	Map       lines;         /* of emit_line */
} CodePlaces;
const CodePlaces *emit_places(Emit *, const RtCode *);
const PlaceList *emit_line(Emit *, const CodePlaces *, int line, int caller);  /* of the Code; -1: of any; null: none */
/* A kernel in braces under a new name, or the name that this text has.  epilogue: of a part of a row, see
 * emit_map_epilogue; else it takes (void *arg, int64_t begin, int64_t end). */
const char *emit_kernel(Emit *, const char *prefix, const char *comment, const char *text, bool epilogue);

/* ---- plan.c: where the values of a specialized graph live ------------------------------------------------------- */

typedef enum Home {
	HOME_NONE,
	HOME_INPUT,              /* in an argument: `place` is the C expression of its IValue */
	HOME_CONSTANT,           /* in the weights: at `offset` */
	HOME_ARENA,              /* planned: at `offset` of the arena */
	HOME_BOX,                /* in the tensor that step or frame made: v[slot] */
	HOME_STATIC,             /* without a runtime: in memory of the model's own, at the C expression `place` */
} Home;

typedef struct Buffer {          /* a storage of the specialized graph */
	int     index;           /* in the plan's buffers; m[index] in a function for the GPU */
	const RtStorage *meta;   /* of the known tensors that lie in it */
	Home    home;
	int64_t bytes, offset;
	int     slot;            /* BOX */
	int64_t base;            /* INPUT, BOX: where the box's first element lies in the storage, in bytes */
	const char *place;
	IValue  constant;
	bool    escapes;         /* outlives the call, or is visible to code that might keep it */
	int     first, last;     /* steps between which it is alive */
	const Value *owner;      /* BOX: the value that the box itself is */
	int     spot;            /* ARENA: its number among those in the arena */
} Buffer;

typedef enum Joined { JOINED_NONE, JOINED_SOME, JOINED_ALL } Joined;       /* made in their places in the result */
typedef struct Plan {
	Cx         *cx;
	Function   *fn;
	const Specialization *spec;
	Graph      *graph;
	KnownTable *known;
	struct SizeTable *sizes; /* those of its kernels */
	int        *slot;        /* by value id: v[slot], -1: none */
	int         nslot, nstep;
	int        *step;        /* by node id: its place in the order */
	Vec(Buffer *) buffers;
	PtrMap      buffer_at;   /* by storage: the buffer */
	int64_t     arena;       /* bytes */
	int64_t     least;       /* bytes: no plan for these tensors and lives could have less */
	const Node **epilogue;   /* by node id: the group that a product's kernel computes, too */
	bool       *absorbed;    /* by node id: it is such a group */
	bool       *part;        /* by value id: it is made in its place in a larger tensor: joins.c */
	Joined     *joined;      /* by node id: of a cat's operands */
	const Node *beyond;      /* from here on no node gets a kernel: -L kernels=N; or null */
	int         kernels, guards;
	Vec(const Node *) calls;         /* of the runtime */
	int64_t     streamed;    /* bytes of weights that products of few rows read */
	bool        gpu;         /* of the program's GPU: more nodes are kernels */
	bool        bare;        /* of a function without a runtime: results lie in the caller's arrays or the arena */
	struct DynamicPlan *dynamic;     /* of a sample of a dynamic specialization: dynamic.c; or null */
	int         nspot;       /* buffers in the arena */
} Plan;

typedef Vec(const Value *) ValueVec;
typedef enum PlanKind { PLAN_CPU, PLAN_GPU, PLAN_BARE } PlanKind;
Plan   *plan_make(Cx *, Function *, const Specialization *, int first, PlanKind, struct DynamicPlan *);
/* The tensors that a graph returns, those in tuples, too, in order; false: it returns something else. */
bool    plan_results(const Graph *, ValueVec *, Arena *);
bool    plan_is_planned(Plan *, const Value *);         /* a tensor whose type and buffer are known */
Buffer *plan_buffer(Plan *, const Value *);             /* null when it is not planned */
const RtTensor *plan_tensor(Plan *, const Value *);     /* its sizes and strides; offset in its buffer's storage */
bool    plan_needs_step(Plan *, const Node *);          /* false: a view, or nothing to do */
bool    plan_is_part(const Plan *, const Value *);      /* is it made in its place in a larger tensor? */
bool    plan_is_kernel(Plan *, const Node *);           /* generated code, not a call of the runtime */
bool    plan_list_is_read(const Value *list);           /* no user keeps it, changes it, or takes it apart */
bool    node_is_map(const Node *);                      /* a pointwise row, or a group of them */

typedef struct KernelCall KernelCall;

/* ---- joins.c: parts of what a cat joins are made in their places ------------------------------------------------- */

void    plan_joins(Plan *);

/* ---- offsets.c: places in the arena ------------------------------------------------------------------------------ */

int64_t plan_offsets(Cx *, Buffer *const *, int n);     /* by bytes, first and last; how large the arena is */
int64_t plan_least_arena(Cx *, Buffer *const *, int n); /* the largest sum of what is alive at one step */

/* ---- cgen_plan.c, cgen_launch.c (writer.h) ---------------------------------------------------------------------- */

/* Emits a specialized function; its C name.  code: C expression of the generic code's address. */
const char *emit_plan(Emit *, Plan *, int index, const char *code);
/* The kernel, or kernels, of a node, with its epilogue; false: not a form that is generated. */
bool emit_kernel_calls(Emit *, Plan *, const Node *, KernelCall *calls, int *ncall);
/* The text of the same for a sample: without name and braces. */
char *plan_text(Emit *, Plan *, const char *code);

/* ---- dynamic.c: a dynamic specialization from the texts of its samples ------------------------------------------- */

typedef struct Joinings { Vec(bool) at; } Joinings;
typedef struct DynamicPlan {     /* shared by the plans of all samples */
	bool       *refused;     /* by node id: its kernel is not the same on all samples */
	bool       *as_first;    /* by node id: it is a kernel on the first sample */
	KernelCall **calls;      /* by node id: (ncall) of its kernel, when that has been settled */
	int        *ncall;
	Vec(int64_t) derived;    /* x, q of every plan_ceil of the kernel being written */
	struct Choices *choices; /* of the kernel being written on the first sample */
	int         nchoice;     /* made so far; < 0: no kernel is being written */
	bool        is_first;
	struct Lockstep *constants;
	int         nconstant;   /* asked for so far */
	struct Joinings *joins;  /* what joins.c did on the first sample; null: nothing is joined */
	int         njoin;       /* looked at so far */
} DynamicPlan;
/* Keeps the text; its name until it has one. */
const char *capture_kernel(struct Capture *, const char *prefix, const char *comment, const char *text, bool epilogue);
/* (x + q - 1) / q: for a number in a kernel's text that is no product of sizes. */
int64_t plan_ceil(Plan *, int64_t x, int64_t q);
/* A choice between forms that are right for all sizes: all samples make that of the first. */
bool    plan_choice(Plan *, bool);
/* The same of whether a node is a kernel at all. */
bool    plan_worth(Plan *, const Node *, bool);
/* The index of a constant, which must be the same in all samples; `add` gives it to a new one. */
int     plan_constant(Plan *, IValue, int (*add)(void *, IValue), void *arg);
/* Emits the kernels, the function and what says whether sizes fit: two C names; false: it has no such form. */
typedef struct DynamicNames {
	const char *function, *sizes;
	const Plan *plan;        /* of this sample of these sizes */
	const Sizes *of;
	int sample;
} DynamicNames;
bool    emit_dynamic(Emit *, Function *, const Specialization *, int first, int index, const char *code,
		     DynamicNames *);

/* ---- cgen_entry.c: the choice at entry --------------------------------------------------------------------------- */

/* Emits the specializations of a function and what chooses among them; noted in e->plan_names. */
void emit_entry(Emit *, const char *method, Function *, const Specialization *const *, int n, int first);

/* ---- calls of kernels -------------------------------------------------------------------------------------------- */

typedef struct KernelArg {       /* an address: a planned tensor's, a number's (const double *), or a C expression */
	const Value *value;
	const char  *text;       /* when there is no value */
	int64_t      offset;     /* bytes */
	const char  *what;       /* for the reader, when there is no value */
} KernelArg;
/* of all of a launch's turns, as its form counts them, each address once; < 0: it does not say */
typedef struct Counts {
	const char *form, *what; /* the schedule or form, and sizes, for the reader; null: nothing is known */
	double      flops, bytes;
} Counts;
struct KernelCall {      /* one use of an emitted kernel */
	const char *name;        /* static void name(void *arg, int64_t begin, int64_t end) */
	const char *n_text;      /* n as C, where it depends on dynamic sizes; or null */
	int64_t     n, grain;    /* [0, n) in parts of at least grain */
	/* so many launches, in turn with those after it that are repeated; their number is at &turn, among the args.
	 * 0: one */
	int64_t     repeat;
	Vec(KernelArg) args;     /* p[0..]: outputs, then inputs */
	Counts      work;
	/* what it runs, and how; null: the form printed its C at once, and nothing is known but its operands */
	const struct Kernel *kernel;
	const struct Schedule *schedule;
	int64_t     scratch;     /* bytes of a thread's scratch memory that it asks for */
	bool        outside;     /* it calls a function of the runtime */
	/* has set `wrong` (an int, among the args) when the arguments are bad: the generic kernel raises */
	bool        checked;
};
typedef struct CudaCall {        /* one launch of an emitted CUDA kernel */
	int     kernel;          /* index in Emit.cuda_kernels */
	int64_t grid[3];         /* blocks; of 256 threads each */
	int     nout;            /* so many of args are written, the first ones */
	ValueVec args;
} CudaCall;

/* ---- kern_cuda.c: the same and more as CUDA ---------------------------------------------------------------------- */

/* Can this node, which is no pointwise group, be a kernel of the GPU? */
bool node_is_cuda(Plan *, const Node *);
bool emit_cuda(Emit *, Plan *, const Node *, const Node *epilogue, CudaCall *);

/* ---- nvrtc.c: CUDA text to PTX and cubin ------------------------------------------------------------------------- */

/* Adds the images for --gpu to the weights and their rows to the text; null list: nothing. */
typedef Vec(int) Archs;                                  /* 90: a cubin for sm_90; -90: PTX for compute_90 */
Archs cuda_archs(Cx *, const char *list);                /* of --gpu; fails on what it does not know */
char *cuda_compile(Cx *, const char *text, int arch, int64_t *n);     /* in the arena, with a zero behind it */

/* ---- pack.c: weights as kernels read them; C expressions --------------------------------------------------------- */

/* width of the last panel of n columns, in vectors of so many */
int64_t panel_last(const Emit *, int64_t n, int vector);
const char *pack_panels(Emit *, WeightForm, const RtTensor *, RtPacking);
const char *pack_winograd(Emit *, const RtTensor *, RtPacking);
const char *pack_vector(Emit *, const RtTensor *, int64_t first, int64_t n);
/* says of all that is made whether kernels read its weights, too; bytes that none does */
int64_t pack_finish(Emit *);

/* ---- kern_conv.c: products and convolutions with constant weights ------------------------------------------------ */

enum { MAX_KERNEL_CALLS = 64 };
bool dense_nhwc(const RtTensor *);                       /* channels last, with nothing between */
bool constant_ints(Plan *, const Value *, int64_t *out, int n);     /* of a list of n ints, or of one, repeated */
bool node_is_dense(Plan *, const Node *);
const RtTensor *dense_constant(Plan *, const Value *);   /* constant floats, or null */
int64_t dense_columns(Plan *, const Node *);             /* of its result's rows; 0: its kernel takes no epilogue */
bool emit_dense(Emit *, Plan *, const Node *, const Node *epilogue, KernelCall *calls, int *ncall);

/* ---- kern_row.c: reductions, normalisation, copies, pooling, products of what is not constant -------------------- */

bool node_is_row(Plan *, const Node *);
bool op_is_row(const Op *);                              /* is there a form for it, whatever its arguments are? */
bool emit_row(Emit *, Plan *, const Node *, KernelCall *calls, int *ncall);

typedef struct ProgramText {
	char *c;                 /* the whole of the program's C, for cc */
	int64_t n;
	char *cuda, *ptx;        /* --emit cuda, ptx; null: not asked for */
	Weights *weights;
	RtProgram about;         /* what rt/info.c prints of it */
	int64_t code_bytes;      /* of the file that was built; 0: it has none */
	char *header;            /* NAME.h of a library; else null */
	Texts exported;          /* its functions */
	bool  bare;              /* C without a runtime: bare.c */
	int64_t ram;             /* ... bytes that it has for itself */
} ProgramText;

typedef struct Target Target;    /* build.h */

typedef struct BuildOptions {
	const Target *target;
	const char *out, *emit, *cc, *gpu;
	const char *cpu, *march, *mcpu, *sysroot;        /* for the compiler; null: not given */
	Texts levels;            /* --cpu with several names, the least processor first; cpu is null then */
	int level_floats[8];     /* of each, by target_ask: floats in a vector */
	const char *name;        /* of a library; else null */
	bool fixed;              /* a program linked statically: --static */
	int  opt, threads, max_specializations;
	int  vector_floats;      /* of the target: 16, 8, 4; 1: no vectors (tcc); by target_ask, */
	uint64_t macros;         /* as this: a hash of what the compiler defines; 0: none was asked */
	const char *weights_file;        /* beside the program; null: in it */
	bool source, verbose, bench_code;
	bool bare;               /* no generic code: plain C functions, */
	struct BareState *state; /* and what they keep */
	Forms forms;
	Texts ops;               /* C files of the user's operators */
	uint64_t seed;
	bool seeded;
} BuildOptions;

bool is_c_word(const char *);                          /* of C or C++: no name for anything */
void emit_program(Cx *, Module *, const EmitMethod *, int n, const BuildOptions *, ProgramText *);
/* Registers of the arguments that the graph writes to, with commas; how many, and a bit for each. */
const char *emit_written(Emit *, const Specialization *, Plan *, int first, int *n, uint64_t *bits);
const char *emit_signature(Emit *, const DoorSpec *);         /* what it asks of arguments and state */
Emit *emit_new(Cx *, const Module *, const BuildOptions *);
RtProgram emit_about(Emit *);            /* what rt/info.c prints of it */

/* ---- folder.c: C for others to compile --------------------------------------------------------------------------- */


/* ---- bare.c: plain C functions without a runtime ----------------------------------------------------------------- */

void emit_bare(Cx *, Module *, const EmitMethod *, int n, const BuildOptions *, ProgramText *);

/* ---- bare_state.c: what such functions keep from call to call ---------------------------------------------------- */

/* A storage of the instance that a method reads or writes as it is now; stand: the same without data, in graphs. */
typedef struct BareStorage { RtStorage *real, *stand; int64_t offset; } BareStorage;
typedef struct BareState { Vec(BareStorage) at; int64_t bytes; } BareState;

/* In a graph that no pass has changed yet: reads of attributes become constants; what writes in place computes, and
 * copies. */
void bare_bind(Cx *, BareState *, Graph *, IValue self);
void bare_state_place(BareState *, Plan *);                              /* whose buffers lie in kiln_state */
void bare_state_put(const BareState *, Emit *, const char *name, Out *); /* NAME_reset, when there is any */

/* ---- carry.c: the runtime that Kiln carries inside itself ------------------------------------------------- */

/* The prebuilt library for the host; all sources of rt for another target. */
void carry_library(Cx *, const char *path);
const char *carry_library_text(int64_t *n);
const char *carry_support_text(int64_t *n);              /* an object: what the library calls of libgcc */
void carry_sources(Cx *, const char *dir);
char *carry_text(Cx *, const char *name);               /* of one file: rt/ops/tmath.h */
bool carry_has(Cx *, const char *name);
/* A file and all that it includes, those that are not there yet; what a text in a folder includes; into a folder. */
void carry_add(Cx *, const char *path, Texts *files);
void carry_add_included(Cx *, const char *text, const char *dir, Texts *files);
void carry_files(Cx *, const Texts *files, const char *dir);
void make_parents(const char *path, size_t from);       /* the folders on the way to it, below its first bytes */
void operators_header(Cx *, const char *dir);            /* kiln.h, for the user's operators */
uint64_t carry_hash(void);

/* ---- build.c ------------------------------------------------------------------------------------------------ */

/* A finished file takes its place by a rename, from another file system by a copy beside it; false, and errno. */
bool build_move(Cx *, const char *from, const char *to);
void build_program(Cx *, ProgramText *, const BuildOptions *);       /* fails with the compiler's message */
/* The user's C as a shared object for this machine; the headers are in dir. False: there is no such compiler. */
bool build_operators(Cx *, const char *dir, const char *cc, const Texts *files, const char *out);
void write_text(Cx *, const char *path, const char *text, int64_t n);

/* ---- targets.c: the machines that programs are built for --------------------------------------------------------- */

const Target *target_at(int);                          /* null: no more */
const Target *target_host(void);                       /* this machine's */
const Target *target_find(Cx *, const char *triple);   /* fails with the names that there are: EXIT_USAGE */
const char *target_triple(const Target *);
bool target_is_bare(const Target *);                   /* without a system to run on */
const char *target_levels(const Target *);             /* processors of --cpu portable, with commas; null: none */
const char *target_runner(Cx *, const Target *);       /* what runs its programs here; null: nothing is needed */
bool command_is_there(Cx *, const char *name);         /* in PATH */
/* Asks the compiler what it compiles for; fails when something is missing here that building needs: EXIT_LACKS. */
void target_ask(Cx *, BuildOptions *);
/* What is missing, and Debian's package with it; null: nothing.  cc: its compiler. */
const char *target_lacks_here(Cx *, const Target *, const char **cc);

/* ---- tcc.c: the compiler inside Kiln; paths in dir, a temporary folder that has the headers ---------------------- */

/* A program; with a name a shared library. */
void tcc_build(Cx *, const char *dir, const char *c, const char *weights, const Texts *operators, const char *name,
	       const char *out);
void tcc_shared(Cx *, const char *dir, const Texts *operators, const char *out);  /* a shared object for this process */

/* ---- userop.c: --op, --op-schema, --op-body ------------------------------------------------------------------- */

typedef struct Cli Cli;
void user_operators(Cli *);       /* into the registry, with kernels that run here */
const char *op_kernel_symbol(Cx *, const Op *);          /* C name of its kernel */

/* ---- main.c: what the command line said ---------------------------------------------------------- */

struct Cli {
	Cx         *cx;
	const char *command;
	Texts       args;          /* arguments that are no options: MODEL ... */
	Texts       inputs;        /* -i */
	Texts       profiles;      /* --profile */
	const char *out;           /* -o */
	Texts       outs;          /* of run: one for each input */
	const char *method;        /* --method; null: forward */
	const char *stage, *as;    /* show */
	Texts       dumps, limits; /* -d, -L */
	const char *passes, *stop, *without; /* -p, --stop */
	Texts       ops, op_schemas, op_bodies;
	const char *seed, *threads, *timeout, *json;
	const char *profiled;      /* bisect: how many inputs */
	const char *against;       /* bench: another program */
	const char *runner;        /* check, bench: what runs the program */
	Texts       references;    /* check: --reference */
	const char *name;      /* build */
	bool        is_static;
	const char *emit, *target, *cpu, *march, *mcpu, *sysroot, *cc, *gpu, *level;       /* build */
	const char *specializations, *weights, *forms;
	const char *params;        /* save */
	Texts       keep, checks;  /* trace */
	const char *grad, *loss, *grad_in, *grad_out;      /* --grad and what belongs to it */
	struct BareState *state;           /* of build --no-generic */
	bool        verbose, time, no_source, no_dynamic, no_generic, selfcheck_code, bench_code, reread, eval, no_grad,
			    as_json, in_double;
};

RT_NORETURN void usage_error(Cli *, const char *fmt, ...) RT_PRINTF(2, 3);    /* EXIT_USAGE */
int64_t cli_number(Cli *, const char *option, const char *text, int64_t least, int64_t most);

/* ---- inputs.c: what -i names --------------------------------------------------------------------------- */

int         input_count(Cli *);
bool        input_is_bounds(Cli *);            /* are all inputs made up, with sizes from .. to? */
const char *input_name(Cli *, int);
int         input_read(Cli *, RtCx *, int, RtArrays *);        /* status */

/* ---- process.c: children, temporary folders, progress ---------------------------------------------------- */

typedef struct Process {
	int   pid;                 /* 0: none */
	const char *name, *log;    /* its standard error goes to the file log */
	int64_t begin, ns, peak_bytes;
} Process;
/* Standard output goes to the file out; null: to log.  False: errno says why not. */
bool  process_start(char *const *argv, const char *out, const char *log, Process *);
int   process_end(Process *);            /* its exit status; 128 + the number of the signal that ended it */
bool  process_crashed(int status);       /* was that signal one of an error of its own? */
int   process_fork(Cx *, void (*body)(void *), void *arg, const char *log);  /* runs body in a child; its exit status */
/* argv behind the words of --runner, what runs programs of other machines; null: as it is */
char *const *process_by_runner(Cx *, const char *runner, char *const *argv);
/* both; fails when it does not start */
int   process_run(Cx *, char *const *argv, const char *out, const char *log, Process *);
/* With the status for its error output: out of memory, disk full, or else this status */
RT_NORETURN void process_fail(Cx *, const char *name, int status, const char *what, const char *log);
char *process_log(Cx *, const char *path, int64_t most);          /* the first bytes of a file; "" when there is none */
void  process_check(Cx *);               /* fails when a signal has asked to stop */
typedef void ProcessBody(Cx *, const char *dir, void *arg);
/* runs it with a temporary folder, which then goes; so do signals' */
void  process_folder(Cx *, ProcessBody *, void *arg);
void  say_time(const Cli *, const char *what, int64_t start);        /* --time: of what began then */
void  progress(const char *fmt, ...) RT_PRINTF(1, 2);        /* a line on a terminal; null: it goes */

/* ---- load.c: models for all commands ---------------------------------------------------------------- */

/* An archive, a TorchScript source (.py: its functions; `forward`, or the only one, is the entry), or a graph's text
 * (.ir). */
typedef struct Model {
	Module     *module;
	Function   *fn;            /* the method asked for, with everything that it needs compiled */
} Model;
const char *file_text(Cx *, const char *path);        /* all of a file, with a final 0; fails when it cannot be read */
Model   *model_load(Cli *, const char *path);
/* source.c */
bool     is_source(const char *path);
bool     is_graph_text(const char *path);
Module  *graph_load(Cx *, const char *path, Function **);      /* its self is None; the graph is the function's */
Module  *source_load(Cx *, const char *path);         /* its self is None */
Function *source_function(Cx *, Module *, const char *name);    /* null: forward, or the last one */
int      text_functions(Cx *, const char *path, Function *const **);    /* all of a source, the one of a graph's text */
Module  *source_module(Cx *, const char *path, const char *name);    /* with an object whose forward is that function */
void     module_eval(Cx *, Module *);                 /* leaves training mode */
void     model_lower(Cli *, Model *);                 /* fn->code */
RtCx    *model_context(Cli *);                        /* with the seed, threads and time that the options say */
RtParam *model_params(Cli *, Model *, int *n);        /* without self */
/* Input i of the command line; without any the arguments that the archive was exported with, if it has them. */
int      model_input(Cli *, Model *, RtCx *, int i, RtArrays *in);
IValue  *model_args(Cli *, Model *, RtCx *, const RtArrays *in, int *n);  /* with a fresh instance, when it takes one */
/* on a fresh instance */
int      model_answer(Cli *, Model *, const RtCode *, RtCx *, const RtArrays *in, IValue *result);
/* Runs it once on these arguments (without self); the results in one value. */
int      model_run(Cli *, Model *, RtCx *, const IValue *args, int n, IValue *result);
RT_NORETURN void fail_raised(Cli *, RtCx *);          /* the error of a model ends the command */
RT_NORETURN void fail_runtime(Cli *, RtCx *);         /* another error of the runtime: of a file, an input, memory */

/* ---- pipeline.c ------------------------------------------------------------------------------------------- */

void model_prepare(Cli *, Model *);                   /* fn->prepared and fn->code */
/* Profiles on cli->inputs; at most `most` specializations, most frequent first; `optimize`: after the passes. */
const char *model_profile(Cli *, Model *);            /* what its runs saw, as JSON; null when there is no input */
int  model_specialize(Cli *, Model *, int most, bool optimize, Specialization ***out);

/* ---- dot.c: a graph as a picture ------------------------------------------------------------------------- */

void graph_dot(Graph *, Buf *);

/* ---- probe.c: what the machine can do -------------------------------------------------------------------- */

/* A second, on that many threads; the least that a repetition of the measurement had, in percent of the most; of an
 * empty launch. */
typedef struct Machine { double flops, bytes; int threads; double flops_steady, bytes_steady, launch_ns; } Machine;
Machine machine_probe(RtCx *);
Machine machine_again(RtCx *, Machine before);      /* probed once more: the best of both, and how far they are apart */
bool    machine_is_steady(const Machine *);         /* within a tenth */

/* ---- bench_kernels.c: a program's launches, from its trace ----------------------------------------------------- */

typedef struct KernelTimes {     /* of one of a program's launches; ms of a call */
	/* line, what, form: "" where the program does not say (--bench-code) */
	const char *kernel, *line, *what, *form;
	int    count;            /* in a call */
	double least, median, p90;
	double flops, bytes;     /* in a call; < 0: not known */
	double turns;            /* that --info counts them for */
	double *ms;              /* (calls) */
} KernelTimes;
typedef struct CallTimes {
	KernelTimes *at;         /* n, those that take longest first */
	int    n, calls, launches, guards;
	double median, rest;     /* ms; rest: launches, guards and dispatch, the median of what is no kernel */
} CallTimes;
/* the last so many; JSON of --trace and --info */
CallTimes bench_kernels(Cx *, const char *trace, const char *info, int calls);
void      bench_kernels_print(FILE *, const CallTimes *, const Machine *);
void      bench_kernels_json(Buf *, const CallTimes *, const Machine *);         /* an array, and "rest" */

/* ---- cmd_build.c: also for bench ---------------------------------------------------------------------------- */

BuildOptions model_emit(Cli *, const char *path, ProgramText *);       /* its C, not compiled */
void model_build(Cli *, const char *path, ProgramText *);      /* the model there, to cli->out */
BuildOptions build_options(Cli *);                     /* what the command line says; fails as target_ask does */

/* ---- answers.c: the right answer, and whether another one is the same: check, bisect ------------------------- */

typedef struct Answer {
	int         status;        /* of the run: an RtStatus */
	const char *type, *error;  /* what was raised; type null: RuntimeError */
	const char *line;          /* of the model, where; or null */
	char       *printed;       /* by the model; owned */
	RtArrays    result;        /* owned */
} Answer;
/* On a fresh instance.  The code is the model's reference_code. */
enum { MOST_TEXT = 1 << 22 };                             /* bytes that are read of what a process said or printed */
Answer      answer_of(Cli *, RtCx *, const RtCode *, const IValue *args);      /* of a run on these */
Answer      reference_answer(Cli *, Model *, const RtCode *, const RtArrays *in);
void        answer_free(Answer *);
/* Of a process that ended so, said this of errors, and printed that; else `why` gets the first difference. */
bool        answer_same(RtCx *, int status, char *said, const char *printed, const RtArrays *got, const Answer *want,
			Buf *why);
/* both of runs here; else `why` gets the first difference */
bool        answer_equal(RtCx *, const Answer *got, const Answer *want, Buf *why);
/* without its results */
bool        answer_ends_same(int status, char *said, const char *printed, const Answer *want, Buf *why);
bool        answer_same_array(RtCx *, const RtArray *got, const RtArray *want, Buf *why);
const char *last_line(char *text);                       /* cuts newlines off its end */

/* ---- double.c: the interpreter in float and in double, in step: check --double ------------------------------- */

typedef struct Decision {
	const char *name;          /* of the operator that decides otherwise in double; null: none does */
	double      margin;        /* the difference that decides, over the largest number compared */
	int64_t     meeting;       /* it was made there, and read later: of_float.line is not its line; 0: it is */
} Decision;
typedef struct DoubleAnswer {
	Answer      of_float, of_double;       /* both raise where a decision is another one */
	Decision    decision;
	const char *in_float;      /* names of operators that only ran in float, whose results were widened; or null */
} DoubleAnswer;
const RtC128 *tensor_numbers(RtCx *, RtTensor *);        /* its elements in order; scratch; null: an error */
/* On a fresh instance; of reference_code.  stop: the meeting of a decision, where to end; 0: none. */
DoubleAnswer double_answer(Cli *, Model *, const RtCode *, const RtArrays *in, int64_t stop);

/* ---- optable.c: what operators can do ------------------------------------------------------------------- */

uint32_t    op_dtypes(Cx *, Op *);                       /* bits by RtDtype; 0: not known, or none */
const char *op_specialized(Cx *, Op *);                  /* what it becomes in specialized code */

/* ---- cmd_*.c ------------------------------------------------------------------------------------------ */

int cmd_bench(Cli *);
int cmd_bisect(Cli *);
int cmd_build(Cli *);
int cmd_check(Cli *);
int cmd_convert(Cli *);
int cmd_info(Cli *);
int cmd_ops(Cli *);
int cmd_profile(Cli *);
int cmd_run(Cli *);
int cmd_save(Cli *);
int cmd_show(Cli *);
int cmd_targets(Cli *);
int cmd_trace(Cli *);

#endif
