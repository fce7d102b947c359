/* codegen/kernel/kernel.h - what a launch computes, and what it is written from
 *
 *   a plan says where values live (program/plan.c makes it); planned.c is what kernels ask of it
 *   families.c      the form of an operator; kern_*.c, lower_*.c: forms
 *   emit.c          a kernel's C, in the program that is being written
 */
#ifndef CODEGEN_KERNEL_H
#define CODEGEN_KERNEL_H

#include "../../opt/opt.h"

typedef Vec(const char *) Texts;

/* ---- out.c: text ------------------------------------------------------------------------------ */

typedef struct Out {
	Buf text;
	int indent;
} Out;

void out_line(Out *, const char *fmt, ...) RT_PRINTF(2, 3);
void out_blank(Out *);
void out_open(Out *, const char *fmt, ...) RT_PRINTF(2, 3);     /* ends the line with " {" and indents */
void out_close(Out *);
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

typedef struct Spill {           /* spill.c */
	char   *at;              /* the bytes; valid until the next are added */
	int64_t n, room;         /* room: bytes that are mapped; 0: they are on the heap */
	int     file;            /* its descriptor + 1; 0: none */
} Spill;

void     spill_add(Cx *, Spill *, const void *, int64_t n);
void     spill_free(Spill *);
void     spill_forget(const Spill *);             /* pages that were read take no memory */
bool     spill_write(const Spill *, FILE *);      /* false: errno */
uint64_t spill_hash(const Spill *);               /* hash_bytes */

typedef struct Weights {
	Cx   *cx;
	Spill bytes;             /* each part starts at a multiple of 64 */
	int64_t form_bytes[NWEIGHT_FORM];
	Map   known;             /* content hash -> offset + 1 */
	Vec(struct Original) originals;  /* contents of the model's storages */
	Map   original_of;       /* content hash -> its index there + 1 */
	Vec(struct Stored) storages;     /* the model's storages: equal bytes do not make two of them one */
	Map   storage_of;        /* RtStorage -> its index there + 1 */
} Weights;

typedef struct Original {
	const void *data;        /* null: floats of weights of 16 bits, */
	const Widened *widened;  /* which these are; or null */
	int64_t bytes, offset;   /* offset: in the weights, set by weights_finish */
	bool    used;            /* a constant of the program is in it */
	bool    needed;          /* as it is: it is read where it cannot be unpacked first */
	bool    packed;          /* only its parts are stored; set by weights_finish */
	Vec(RtPacking) parts;    /* what of it is in the weights packed */
} Original;

typedef struct Stored {
	RtStorage *storage;      /* retained, so that no other gets its address */
	int        original;
} Stored;

enum { WEIGHTS_LINE = 64 };              /* of the cache: where a part may begin, and what is made of one */

/* The index of a storage in the program's table.  Each has its own, since a write to one must not be seen in another;
 * the bytes, which are read-only there, may be the same. */
int weights_storage(Weights *, RtStorage *);
/* The program has a constant in the storage, whose content weights_finish stores, unless it is there packed and that is
 * enough.  needed: the constant is read where it cannot be unpacked first. */
void weights_use(Weights *, RtStorage *, bool needed);
/* A part of it is there packed, and so are the elements of the storage that they were moved from (storage_moved). */
void weights_note(Weights *, RtStorage *, RtPacking);
/* Nothing reads a constant's data for now: it takes no memory if it can be made, or read from the archive, again. */
struct Emit;
void weights_read(struct Emit *, const RtTensor *);
/* Stores originals as they are, but for those that the program can make of their parts when it needs them. */
void weights_finish(Weights *);
int64_t weights_add(Weights *, WeightForm, const void *data, int64_t bytes);   /* offset; equal bytes are stored once */

/* ---- the program that is being written ---------------------------------------------------- */

typedef struct Emit {            /* one program */
	Cx      *cx;
	Out      types, kernels, data, code, plans, tail;   /* parts of the text, in this order */
	Weights  weights;
	Vec(RtMaking) making;    /* what the program makes of its weights when it is opened, */
	Vec(struct Panels *) made_of;    /* and the panels that each is made of (pack.c); */
	Map      winograd;       /* weights -> 1 + the tile for which kernels of profiled sizes transform them, or 1 */
	int64_t  made_bytes;     /* of what is made, */
	int64_t  alone_bytes;    /* and of panels that nothing else reads */
	int64_t  packed_bytes;   /* of the weights in the forms that kernels read: they come first */
	int64_t  streamed;       /* bytes of weights, the most that products of few rows read in a call */
	Map      type_names;     /* a type's text -> its C name */
	Map      class_names, code_names, kernel_names;
	Map      code_places;    /* a Code -> emit_places */
	Map      code_arrays;    /* content -> the name of an array of it */
	Map      plan_names;     /* a Code -> the C function that enters its specializations */
	Vec(const RtClass *) classes;   /* named; the first nclass have been defined */
	int      nclass;
	Buf      rows;           /* rows of RtConst */
	int      nrow, nvalue;
	Map      row_of;         /* identity of a counted value -> its row + 1 */
	bool     lazy;           /* the value being emitted is a constant of a Code, unpacked when it is read */
	bool     source;         /* print the model's own lines */
	bool     library;        /* it has functions of C types */
	bool     verbose;        /* say what dynamic sizes leave to the runtime */
	Forms    forms;
	Map      geometry_names, constant_index;
	Map      kernel_texts;   /* a kernel's text -> its name: equal ones are emitted once */
	Texts    launched;       /* names of those that specializations launch, */
	bool     busy;           /* one of which does so much that it matters for which processor it is */
	const Texts *levels;     /* of several processors, the least first, that kernels are compiled for; or null */
	bool     ops_by_level;   /* ... and operators: specializations call those of the level that runs, */
	Texts    called;         /* by these names */
	Buf      provenance;     /* lines of key: value */
	Vec(RtSpecialization) specializations;
	Texts    notes;          /* which calls run in generic code, and why */
	Vec(struct DoorSpec) door_specs;
	int      vf, nr, panel;  /* floats of a vector, of a unit of work, of a panel of weights (vblock.h) */
	bool     in_order;       /* the processor executes instructions in order; with several levels false */
	int64_t  zeros;          /* floats of kiln_zeros */
	int64_t  scratch;        /* bytes: what one of its kernels asks for at most */
	bool     pool;           /* without a runtime: kernels may run in threads of the caller's */
	int      most_args;      /* addresses that one of those takes at most */
	bool     int8;           /* some kernel multiplies 8-bit integers (rt/ops/vint8.h) */
	Vec(struct Coarse *) coarse;     /* weights of few bits that kernels read (rt/ops/vcoarse.h) */
	bool     clamps;         /* some kernel of a product has a range (rt/ops/vblock.h) */
	bool     volumes;        /* some kernel is a convolution over three dims (rt/ops/vconv.h) */
	bool     dilated;        /* some is one of few channels by dilated rows, likewise */
	int      beside;         /* taps that convolutions in rows take at a time (VC_TAPS_BESIDE of rt/ops/vruns.h) */
	int64_t  tall;           /* the most rows that a product by panels has (VC_TALL of rt/ops/vblock.h) */
	int64_t  deep;           /* the most products that one of its sums has (VC_DEEP) */
	bool     quantized;      /* the program may meet quantized tensors */
	bool     prints;         /* the model may print */
	bool     doubles;        /* some argument, constant or operand of a call is of doubles */
	bool     bits;           /* conjugate and negative views */
	bool     holders;        /* constants other than tensors, lists and what needs no memory */
	uint64_t opcodes;        /* of the generic program's instructions: a bit for each RtOpcode */
	bool     gpu;            /* plans are emitted for the GPU, too */
	Out      cuda;           /* its kernels */
	Map      cuda_texts;     /* a kernel's text -> its index + 1 */
	Vec(const char *) cuda_kernels;
	Vec(RtCudaStep) host_steps;      /* steps of device code that the host computes */
	Vec(int) gpu_launches;           /* by specialization; -1: it has no device code */
	bool     bench_code;     /* launches are numbered, and described for kiln bench */
	Buf      launches;       /* ... so: elements of a JSON array */
	Buf     *listing;        /* gets the text form of each launch: launch_print; or null */
	int      nlaunch;
	struct Tuning *tuning;   /* how choices are made that speed alone decides; null: by the usual rules */
} Emit;

/* ---- tuning.c: choices that were measured ------------------------------------------------------------------------ */

typedef struct Recorded {        /* of a kernel: what was faster, and its time over that of the usual way */
	const char *way;
	double      ratio;       /* 0: not known */
} Recorded;
typedef struct Tuned {           /* a choice between ways to compute the same, all of them right */
	const char *kernel;      /* what is computed, at its sizes */
	Texts       ways;        /* their names, the usual one first */
	int         taken;
	double      ratio;       /* recorded of what was taken */
} Tuned;
typedef struct Tuning {
	Map   recorded;          /* what is computed -> Recorded */
	int   turn;              /* while ways are measured: which each kernel takes; 0: what is recorded */
	Vec(Tuned) at;           /* what was chosen in this program */
	Map   index;             /* what is computed -> its index there + 1 */
	Vec(int) launched;       /* by number of a launch (--bench-code): the index there; -1: there is no choice */
} Tuning;
/* The index of the way to take. */
int tuned_way(Emit *, const char *kernel, const Texts *ways);
Tuning *tuning_new(Cx *);
void    tuning_note(Cx *, Tuning *, const char *kernel, const char *way, double ratio);  /* records it */
Tuning *tuning_read(Cx *, const char *path, const char *text);   /* fails when it is none */
void    tuning_put(const Tuning *, Buf *);               /* a JSON array of what was chosen */

/* ---- planned.c: where the values of a specialized graph live ------------------------------------------------- */

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
	int     spot;            /* its number: ARENA: in the arena; INPUT, BOX of a direct plan: in in[], out[] */
	struct Buffer *over;     /* ARENA: the one in whose place it lies, and whose life has its own in it; or null */
} Buffer;

typedef enum Joined { JOINED_NONE, JOINED_SOME, JOINED_ALL } Joined;       /* made in their places in the result */
/* A node of a plan for the GPU that has no CUDA kernel, and the reason. */
typedef struct HostStep { const Node *node; const char *why; } HostStep;
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
	const Node **prologue;   /* by node id: the group whose elements a reduction computes as it reads them */
	bool       *absorbed;    /* by node id: it is such a group */
	bool       *by_panels;   /* by node id: it is an embedding that reads panels: dense_note_tables; null before */
	bool       *part;        /* by value id: it is made in its place in a larger tensor: joins.c */
	Joined     *joined;      /* by node id: of a cat's operands */
	const Node *beyond;      /* from here on no node gets a kernel: -L kernels=N; or null */
	int         kernels, guards;
	int         launches;    /* kernels of a plan for the GPU that run there */
	Vec(const Node *) calls;         /* of the runtime */
	Vec(HostStep) host;              /* of a plan for the GPU: its steps that the host computes */
	int64_t     streamed;    /* bytes of weights that products of few rows read */
	bool        gpu;         /* of the program's GPU: more nodes are kernels */
	bool        bare;        /* of a function without a runtime: results lie in the caller's arrays or the arena */
	bool        small;       /* ... and its arena is small before it is fast */
	struct DynamicPlan *dynamic;     /* of a sample of a dynamic specialization: dynamic.c; or null */
	const char *direct;      /* the C function of its kernels alone, on the caller's memory; or null: direct.c */
	int         nspot;       /* buffers in the arena */
} Plan;

typedef Vec(const Value *) ValueVec;

bool    plan_is_planned(Plan *, const Value *);         /* a tensor whose type and buffer are known */
Buffer *plan_buffer_of(Plan *, const RtStorage *meta);
Buffer *plan_buffer(Plan *, const Value *);             /* null when it is not planned */
const RtTensor *plan_tensor(Plan *, const Value *);     /* its sizes and strides; offset in its buffer's storage */
/* Notes which embeddings are calls that read rows of panels: their table is a product's weight, too, and is stored
 * once. */
void    dense_note_tables(Plan *);
bool    plan_is_part(const Plan *, const Value *);      /* is it made in its place in a larger tensor? */
bool    plan_list_is_read(const Value *list);           /* no user keeps it, changes it, or takes it apart */
bool    node_is_map(const Node *);                      /* a pointwise row, or a group of them */
bool    constant_ints(Plan *, const Value *, int64_t *out, int n);     /* of a list of n ints, or of one, repeated */

typedef struct KernelCall KernelCall;

/* A dynamic specialization has a plan for each of its samples (program/dynamic.c), which share this. */
typedef struct Joinings { Vec(bool) at; } Joinings;
struct Choices { Vec(bool) at; };
enum { MARK = '\1' };            /* before and behind the index of what a text has there */
typedef struct Marked {
	enum { MARKED_INT, MARKED_REAL, MARKED_EPILOGUE } kind;
	int64_t value;           /* of a double its bits */
} Marked;
typedef struct DynamicPlan {     /* shared by the plans of all samples */
	bool       *refused;     /* by node id: its kernel is not the same on all samples */
	bool       *as_first;    /* by node id: it is a kernel on the first sample */
	KernelCall **calls;      /* by node id: (ncall) of its kernel, when that has been settled */
	int        *ncall;
	Vec(int64_t) derived;    /* x, q of every plan_ceil of the kernel being written */
	Vec(Marked) marked;      /* what the text being written has marks for */
	struct Choices *choices; /* of the kernel being written on the first sample */
	int         nchoice;     /* made so far; < 0: no kernel is being written */
	bool        is_first;
	struct Lockstep *constants;
	int         nconstant;   /* asked for so far */
	struct Joinings *joins;  /* what joins.c did on the first sample; null: nothing is joined */
	int         njoin;       /* looked at so far */
} DynamicPlan;
/* (x + q - 1) / q: for a number in a kernel's text that is no product of sizes. */
int64_t plan_ceil(Plan *, int64_t x, int64_t q);
/* A number that sizes may decide, as C.  In what is printed of a sample of dynamic sizes it is a mark in place of the
 * number, so that the samples' texts are equal, and their numbers are compared by themselves (program/dynamic.c). */
const char *plan_number(Plan *, int64_t);
const char *plan_real(Plan *, double);
const char *plan_epilogue(Plan *);       /* on a sample: the name that its kernel's epilogue will have */
/* A choice between forms that are right for all sizes: all samples make that of the first. */
bool    plan_choice(Plan *, bool);
/* The same of whether a node is a kernel at all. */
bool    plan_worth(Plan *, const Node *, bool);

/* ---- calls of kernels -------------------------------------------------------------------------------------------- */

typedef struct KernelArg {       /* an address: a planned tensor's, a number's (const double *), or a C expression */
	const Value *value;
	const char  *text;       /* when there is no value */
	int64_t      offset;     /* bytes */
	const char  *what;       /* for the reader, when there is no value */
	const struct Summand { int64_t at, bytes; } *part;       /* (npart) the offset as at * bytes + ..; or null */
	int          npart;
} KernelArg;
/* of all of a launch's turns, as its form counts them, each address once; < 0: it does not say */
typedef struct Counts {
	const char *form, *what; /* the schedule or form, and sizes, for the reader; null: nothing is known */
	double      flops, bytes;
} Counts;
typedef struct Param { const char *name; IValue value; } Param;      /* a number of a printed kernel, int or float */
typedef struct Epilogue {        /* what runs over a block that has just been stored */
	const char *name;        /* of its function; "0": none */
	const struct Kernel *kernel;     /* on a sample of dynamic sizes: before it is simplified */
	const int *place;        /* by its operand: which argument of the launch */
	ValueVec    more;        /* what it reads: arguments behind the others */
	bool        apart;       /* the product's sums are not where its result goes: an argument behind these */
} Epilogue;
typedef struct Printed {         /* a kernel that its form printed at once */
	const char *prefix, *comment, *lines;    /* the lines in the function's braces, behind what sizes decide */
	Vec(Param)  param;
	const Epilogue *epilogue;        /* on a sample of dynamic sizes; or null */
} Printed;
typedef struct CudaText {        /* a kernel that its form printed as CUDA at once */
	const char *name, *comment, *text;       /* a prefix; "(params)\n{\nbody}\n" */
	int64_t     grid[3];
} CudaText;
struct KernelCall {      /* one use of an emitted kernel */
	const char *name;        /* static void name(void *arg, int64_t begin, int64_t end) */
	const char *n_text;      /* n as C, where it depends on dynamic sizes; or null */
	int64_t     n, grain;    /* [0, n) in parts of at least grain */
	/* so many launches, in turn with those after it that are repeated; their number is at &turn, among the args.
	 * 0: one */
	int64_t     repeat;
	Vec(KernelArg) args;     /* p[0..]: outputs, then inputs */
	Counts      work;
	const char *tuned;       /* what Tuning has of it; null: nothing */
	/* what it runs, and how; null: the form printed its C at once, and nothing is known but its operands.  On a
	 * sample of a dynamic specialization this is what was lowered, where nothing was printed. */
	const struct Kernel *kernel;
	const struct Schedule *schedule;
	const Printed *printed;
	const CudaText *cuda;    /* of a form for the GPU, where `kernel` is null */
	int64_t     scratch;     /* bytes of a thread's scratch memory that it asks for */
	/* has set `wrong` (an int, among the args) when the arguments are bad: the generic kernel raises */
	bool        checked;
};
typedef struct CudaCall {        /* one launch of an emitted CUDA kernel */
	int     kernel;          /* index in Emit.cuda_kernels */
	int64_t grid[3];         /* blocks; of 256 threads each */
	int     nout;            /* so many of args are written, the first ones */
	Vec(KernelArg) args;     /* values */
	bool    checked;         /* as KernelCall.checked */
} CudaCall;

/* ---- body.c: kernels that forms print at once -------------------------------------------------------------- */

typedef struct Body {
	Plan   *p;
	Out     out;             /* its lines; numbers that sizes may decide are parameters, no array's length is one */
	Printed made;
} Body;
typedef struct Member { const char *name; int64_t value; } Member;
Body  body_begin(Plan *);
const char *body_number(Body *, const char *name, int64_t);     /* a parameter, as C; the name is for the reader */
const char *body_real(Body *, const char *name, double);
/* Declares "static const VpPool v" (static where sizes are constant) with these members, and more that sizes do not
 * decide. */
void  body_struct(Body *, const char *declared, const Member *, int n, const char *more);
/* The function's body in braces: declarations of what sizes decide, and the lines. */
const char *body_function(Arena *, const char *locals, const char *lines);
/* Ends it, and emits it for the call; on a sample of a dynamic specialization the call only has its lines. */
void  emit_body(Emit *, const char *prefix, const char *comment, Body *, KernelCall *);

/* ---- emit.c: texts of kernels -------------------------------------------------------------------------------- */

/* A kernel in braces under a new name, or the name that this text has.  epilogue: of a part of a row, see
 * emit_epilogue; else it takes (void *arg, int64_t begin, int64_t end). */
const char *emit_kernel(Emit *, const char *prefix, const char *comment, const char *text, bool epilogue);
/* A product by panels has so many rows, and sums of so many products; null Emit: nothing. */
void emit_tall(Emit *, const Plan *, int64_t rows, int64_t depth);

/* ---- kern_cuda.c: the same as CUDA ------------------------------------------------------------------------------- */

enum { MAX_KERNEL_CALLS = 64 };
bool node_is_cuda(Plan *, const Node *);                 /* is all that the node launches data, with a form in CUDA? */
/* Emits the node's launches on the GPU, with its epilogue. Returns their number. 0: it has no kernels there; *why is
 * the reason. calls has room for MAX_KERNEL_CALLS. */
int emit_cuda(Emit *, Plan *, const Node *, CudaCall *calls, const char **why);

/* ---- pack.c: weights as kernels read them; C expressions --------------------------------------------------------- */

/* width of the last panel of n columns, in vectors of so many */
int64_t panel_last(const Emit *, int64_t n, int vector);
/* of so many groups of columns, each as the packing has the first; `together`: so many share a panel, or 1 */
const char *pack_panels(Emit *, WeightForm, const RtTensor *, RtPacking, int64_t groups, int64_t together);
/* filters of 3 x 3 transformed for tiles of tile x tile outputs, 4 or 2: [element][panel][k][column] */
const char *pack_winograd(Emit *, int tile, const RtTensor *, RtPacking);
/* of a transformed tile of one channel, and of a transformed filter */
int winograd_elements(int tile);
/* Weights of 8 bits, packed by vi_pack (vint8.h) */
struct ViConv;
const char *pack_bytes(Emit *, const RtTensor *, const void *packed, const struct ViConv *);
/* zeros fill the last panel; so many floats may be read past the n of them */
const char *pack_vector(Emit *, const RtTensor *, int64_t n, int64_t past);
/* says of all that is made whether kernels read its weights, too; bytes that none does */
int64_t pack_finish(Emit *);

/* ---- halves.c: weights that are numbers of 16 bits --------------------------------------------------------------- */

/* bfloat16 or float16, if all of these are finite numbers of it; else 0 */
int halves_type(const float *, int64_t n);
bool halves_are(const float *, int64_t n, int64_t apart, int type);      /* are n floats, some apart, of that dtype? */
uint16_t halves_bits(float, int type);
/* Are so many stored as such numbers, of which the program makes floats when it is opened? */
bool halves_are_made(const Emit *, int64_t n);
/* Adds them to the weights as numbers of 16 bits of that type, which they are; their offset. */
int64_t halves_add(Emit *, WeightForm, int type, const float *, int64_t n);
/* What the model has in 16 bits is made of the parts of floats that are the same numbers. */
void halves_finish(Weights *);

/* ---- coarse.c: weights of few bits ------------------------------------------------------------------------------- */

/* Bytes of the model that kernels have packed as such weights are not stored as well. */
void coarse_finish(Emit *);

/* ---- dense.c, kern_conv.c: products and convolutions with constant weights --------------------------------------- */

bool dense_nhwc(const RtTensor *);                       /* channels last, with nothing between */
bool node_is_dense(Plan *, const Node *);
const RtTensor *dense_constant(Plan *, const Value *);   /* constant floats, or null */
int64_t dense_columns(Plan *, const Node *);             /* of its result's rows; 0: its kernel takes no epilogue */
bool emit_dense(Emit *, Plan *, const Node *, const Node *epilogue, KernelCall *);

/* ---- families.c: reductions, normalisation, copies, pooling, products of what is not constant -------------------- */

bool node_is_row(Plan *, const Node *);
bool op_is_row(const Op *);                              /* is there a form for it, whatever its arguments are? */
bool emit_row(Emit *, Plan *, const Node *, KernelCall *calls, int *ncall);

#endif
