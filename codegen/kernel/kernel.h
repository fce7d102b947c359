/* codegen/kernel/kernel.h - plans, calls of kernels, weights, and the program being written
 *
 *   planned.c       questions of kernels to a plan, which program/plan.c makes: where values are
 *   families.c      chooses the form of an operator; kern_*.c and lower_*.c are the forms
 *   emit.c          adds a kernel's C to the program being written
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
/* writes an array initializer: the bytes as numbers, and a final 0 */
void out_bytes(Buf *, const char *text, int64_t n);
enum { OUT_STRING_MOST = 4095 };                        /* length of a string literal that every compiler must accept */
const char *out_literal(Arena *, const char *text);    /* C string literal for a whole text */
void out_json(Buf *, const char *text);                /* writes a quoted JSON string */
const char *out_name(Arena *, const char *prefix, const char *text);

/* ---- weights.c: the bytes of constants, and the object file that holds them -------------------------- */

typedef enum WeightForm {        /* Contents of a part of the weights, as RtWeightForm. */
	WEIGHT_PLAIN, WEIGHT_PANELS, WEIGHT_WINOGRAD, WEIGHT_TAPS, WEIGHT_BIAS, WEIGHT_GPU, NWEIGHT_FORM
} WeightForm;

extern const char *const weight_forms[];

/* Transformed weights, which are larger than the original ones. MADE: computed when the program is opened. FAST: stored
 * in the program. SMALL: not used. */
typedef enum Forms { FORMS_MADE, FORMS_FAST, FORMS_SMALL } Forms;
extern const char *const forms_names[];          /* values of --forms, by Forms; ends with null */

typedef struct Spill {           /* spill.c */
	char   *at;              /* the bytes; valid until the next spill_add */
	int64_t n, room;         /* number of bytes; number of mapped bytes, 0 if they are on the heap */
	int     file;            /* file descriptor + 1; 0 if there is no file */
} Spill;

void     spill_add(Cx *, Spill *, const void *, int64_t n);
void     spill_free(Spill *);
void     spill_forget(const Spill *);             /* returns pages that were read to the system */
bool     spill_write(const Spill *, FILE *);      /* returns false and sets errno on failure */
uint64_t spill_hash(const Spill *);               /* hash_bytes */

typedef struct Weights {
	Cx   *cx;
	Spill bytes;             /* each part is aligned to 64 bytes */
	int64_t form_bytes[NWEIGHT_FORM];
	Map   known;             /* content hash -> offset + 1 */
	Vec(struct Original) originals;  /* contents of the model's storages */
	Map   original_of;       /* content hash -> index in originals + 1 */
	Vec(struct Stored) storages;     /* storages of the model; two storages with equal bytes stay separate */
	Map   storage_of;        /* RtStorage -> index in storages + 1 */
} Weights;

typedef struct Original {
	const void *data;        /* Contents. Null for floats that are computed from 16-bit weights. */
	const Widened *widened;  /* the 16-bit weights behind these floats, or null */
	int64_t bytes, offset;   /* length; offset in the weights, set by weights_finish */
	bool    used;            /* whether a constant of the program uses this storage */
	bool    called;          /* whether specialized code unpacks it: a call of the runtime, or a guard */
	bool    needed;          /* whether it must be stored in plain form, because code reads it without unpacking */
	bool    packed;          /* whether only its packed parts are stored; set by weights_finish */
	Vec(RtPacking) parts;    /* parts of it that the weights contain in packed form */
} Original;

typedef struct Stored {
	RtStorage *storage;      /* retained, so that no other storage gets its address */
	int        original;
} Stored;

enum { WEIGHTS_LINE = 64 };              /* Cache line in bytes: alignment of parts and of weights computed at open. */

/* Returns the index of a storage in the program's table. Each storage has its own entry, because a write to one must
 * not change another. Entries may share bytes, which are read-only there. */
int weights_storage(Weights *, RtStorage *);
/* How a constant is read: by generic code, which unpacks it; by specialized code that unpacks it; without unpacking. */
typedef enum WeightUse { WEIGHT_GENERIC, WEIGHT_CALLED, WEIGHT_NEEDED } WeightUse;
/* Notes that the program uses a constant in the storage. weights_finish then stores its contents, unless they are
 * packed and that suffices. */
void weights_use(Weights *, RtStorage *, WeightUse);
/* Returns the number of bytes that specialized code unpacks. */
int64_t weights_called(const Weights *);
/* Notes that the weights contain a part of the storage in packed form. Also notes the storage from which these elements
 * were moved (storage_moved). */
void weights_note(Weights *, RtStorage *, RtPacking);
/* Frees the memory of a constant's data until its next use, if it can be computed or read from the archive again. */
struct Emit;
void weights_read(struct Emit *, const RtTensor *);
/* Stores originals in plain form, except those that the program can rebuild from packed parts. */
void weights_finish(Weights *);
/* returns the offset; stores equal bytes once */
int64_t weights_add(Weights *, WeightForm, const void *data, int64_t bytes);

/* ---- the program being written ------------------------------------------------------------ */

typedef struct Emit {            /* The program that is being written. */
	Cx      *cx;
	Out      types, kernels, data, code, plans, tail;   /* sections of the text, in this order */
	Weights  weights;
	Vec(RtMaking) making;    /* weights that the program computes from panels when it is opened */
	Vec(struct Panels *) made_of;    /* by entry of making: the panels it is computed from (pack.c) */
	/* Weights -> 1 + the tile size for which kernels on profiled sizes transform them. 1 if none does. */
	Map      winograd;
	int64_t  made_bytes;     /* bytes of the weights computed at open */
	int64_t  alone_bytes;    /* bytes of panels that are read only to compute those */
	int64_t  packed_bytes;   /* Bytes of weights in packed forms. They come first in the file. */
	int64_t  streamed;       /* most bytes of weights that small-batch products read in one call */
	Map      type_names;     /* a type's text -> its C name */
	Map      class_names, code_names, kernel_names;
	Map      code_places;    /* Code -> its CodePlaces (emit_places) */
	Map      code_arrays;    /* contents -> C name of the array with these contents */
	Map      plan_names;     /* Code -> C function that enters its specializations */
	Vec(const RtClass *) classes;   /* classes that the text names; the first nclass are defined */
	int      nclass;
	Buf      rows;           /* rows of RtConst */
	int      nrow, nvalue;
	Map      row_of;         /* address of a reference-counted value -> its row + 1 */
	/* whether the value being emitted is a constant of a Code, which is unpacked on its first read */
	bool     lazy;
	bool     source;         /* whether to print the model's own lines as comments */
	bool     library;        /* whether the result is a library with typed functions */
	bool     verbose;        /* whether to print which nodes dynamic sizes leave to the runtime */
	Forms    forms;
	Map      geometry_names, constant_index;
	Map      kernel_texts;   /* kernel's text -> its name, so that equal kernels are emitted once */
	Texts    launched;       /* names of the kernels that specializations launch */
	Texts    headers;        /* headers of rt/ops with the functions that kernels call (micro.def) */
	bool     busy;           /* whether one of them is so heavy that its processor level matters */
	/* Processors that kernels are compiled for, the lowest first. Null if there is only one. */
	const Texts *levels;
	bool     ops_by_level;   /* whether specializations call operators of the level that runs */
	Texts    called;         /* names of these operators */
	Buf      provenance;     /* build information: lines of "key: value" */
	Vec(RtSpecialization) specializations;
	Texts    notes;          /* calls that run in generic code, each with the reason */
	Vec(struct DoorSpec) door_specs;
	int      vf, nr, panel;  /* number of floats in a vector, a unit of work and a panel of weights (vblock.h) */
	bool     in_order;       /* whether the processor executes in order; false with several levels */
	int64_t  zeros;          /* number of floats in kiln_zeros */
	int64_t  scratch;        /* most bytes of scratch memory that one of its kernels requests */
	bool     pool;           /* without a runtime: whether kernels may run in the caller's threads */
	int      most_args;      /* most addresses that one of those kernels takes */
	bool     int8;           /* whether a kernel multiplies 8-bit integers (rt/ops/vint8.h) */
	Vec(struct Coarse *) coarse;     /* low-bit weights that kernels read (rt/ops/vcoarse.h) */
	bool     clamps;         /* whether a product's kernel clamps its result (rt/ops/vblock.h) */
	bool     volumes;        /* whether a kernel is a 3-d convolution (rt/ops/vconv.h) */
	bool     dilated;        /* whether a kernel is a convolution of few channels with dilated rows */
	int      beside; /* numbers of taps that IN_ROWS kernels process at once (VC_TAPS_BESIDE of rt/ops/vruns.h) */
	int64_t  tall;           /* most rows of a product by panels (VC_TALL of rt/ops/vblock.h) */
	int64_t  deep;           /* most products in one of its sums (VC_DEEP) */
	bool     quantized;      /* whether the program may handle quantized tensors */
	bool     prints;         /* whether the model may print */
	bool     doubles;        /* whether an argument, constant or operand of a call has dtype double */
	bool     bits;           /* whether tensors may have conjugate or negative bits */
	bool     holders;        /* whether there are constants other than tensors, lists and values without memory */
	uint64_t opcodes;        /* set of the generic program's instructions: a bit for each RtOpcode */
	bool     gpu;            /* whether plans are also emitted for the GPU */
	Out      cuda;           /* text of the GPU's kernels */
	Map      cuda_texts;     /* kernel's text -> its index + 1 */
	Vec(const char *) cuda_kernels;
	Buf      gpu_timing;             /* first launch of each kernel, for the program that times them */
	int      ngpu_timing;            /* number of kernels in gpu_timing */
	Vec(int) gpu_constants;          /* indices of constants that GPU kernels read */
	Vec(RtCudaStep) host_steps;      /* steps of GPU plans that the host computes */
	Vec(int) gpu_launches;           /* by specialization: number of launches; -1 if it has no GPU code */
	bool     bench_code;     /* whether launches are numbered and described for kiln bench */
	Buf      launches;       /* descriptions of launches as elements of a JSON array, without its brackets */
	Buf     *listing;        /* receives the text form of each launch (launch_print); or null */
	int      nlaunch;
	struct Tuning *tuning;   /* measured choices between kernels of equal results; null for the default choices */
} Emit;

/* ---- tuning.c: measured choices ---------------------------------------------------------------------------------- */

typedef struct Recorded {        /* A measured choice for one kernel. */
	const char *way;
	double      ratio;       /* time relative to the default way; 0 if unknown */
} Recorded;
typedef struct Tuned {           /* A choice between ways to compute a kernel, all of them correct. */
	const char *kernel;      /* description of what the kernel computes, with its sizes */
	Texts       ways;        /* names of the ways, the default one first */
	int         taken;
	double      ratio;       /* recorded time ratio of the chosen way */
} Tuned;
typedef struct Tuning {
	Map   recorded;          /* kernel -> Recorded */
	int   turn;              /* during measurement: index of the way that each kernel takes; 0: the recorded way */
	Vec(Tuned) at;           /* choices made in this program */
	Map   index;             /* kernel -> index in at + 1 */
	Vec(int) launched;       /* by launch number (--bench-code): index in at; -1 if the kernel has no choice */
} Tuning;
/* Returns the index of the way to use, and notes the choice. */
int tuned_way(Emit *, const char *kernel, const Texts *ways);
Tuning *tuning_new(Cx *);
void    tuning_note(Cx *, Tuning *, const char *kernel, const char *way, double ratio);  /* records a choice */
Tuning *tuning_read(Cx *, const char *path, const char *text);   /* fails if the text is no tuning file */
void    tuning_put(const Tuning *, Buf *);               /* writes the choices as a JSON array */

/* ---- planned.c: buffers of a specialized graph's values ------------------------------------------------------ */

typedef enum Home {
	HOME_NONE,
	HOME_INPUT,              /* argument of the call; `place` is the C expression of its IValue */
	HOME_CONSTANT,           /* in the weights, at `offset` */
	HOME_ARENA,              /* in the arena, at `offset` */
	HOME_BOX,                /* tensor v[slot], allocated by a step or the frame */
	HOME_STATIC,             /* without a runtime: in the model's static memory, at the C expression `place` */
} Home;

typedef struct Buffer {          /* a storage of the specialized graph */
	int     index;           /* index in Plan.buffers; the address is m[index] in a GPU function */
	const RtStorage *meta;   /* storage of the known tensors in this buffer */
	Home    home;
	int64_t bytes, offset;
	int     slot;            /* BOX: index in v[] */
	int64_t base;            /* INPUT, BOX: offset in bytes of the box's first element in its storage */
	const char *place;
	IValue  constant;
	bool    escapes;         /* whether it outlives the call or is visible to code that may keep it */
	int     first, last;     /* first and last step at which it is live */
	const Value *owner;      /* BOX: the value whose tensor owns the storage */
	/* Index of the buffer. ARENA: among the arena's buffers. INPUT and BOX of a direct plan: in in[] or out[]. */
	int     spot;
	/* ARENA: the buffer whose memory it reuses, and whose live range includes its own; or null */
	struct Buffer *over;
} Buffer;

/* Operands of a cat that are computed directly in its result: none, some or all. */
typedef enum Joined { JOINED_NONE, JOINED_SOME, JOINED_ALL } Joined;
/* A node of a plan for the GPU that has no CUDA kernel, and the reason. */
typedef struct HostStep { const Node *node; const char *why; } HostStep;
typedef struct Plan {
	Cx         *cx;
	Function   *fn;
	const Specialization *spec;
	Graph      *graph;
	KnownTable *known;
	struct SizeTable *sizes; /* symbols of its kernels' sizes */
	int        *slot;        /* by value id: index in v[]; -1 if it has none */
	int         nslot, nstep;
	int        *step;        /* by node id: index of its step */
	Vec(Buffer *) buffers;
	PtrMap      buffer_at;   /* storage -> its buffer */
	int64_t     arena;       /* size in bytes */
	int64_t     least;       /* lower bound in bytes of the arena for these tensors and live ranges */
	const Node **epilogue;   /* group that a node's kernel computes as its epilogue, by node id */
	const Node **prologue;   /* group that a node's kernel computes as its prologue, by node id */
	bool       *absorbed;    /* by node id: whether the node is such a group */
	/* By node id: whether the node is an embedding that reads panels. Null before dense_note_tables. */
	bool       *by_panels;
	bool       *part;        /* whether a value is computed directly in a larger tensor (joins.c), by value id */
	Joined     *joined;      /* by node id of a cat: which of its operands are computed in its result */
	const Node *beyond;      /* first node that gets no kernel, by -L kernels=N; or null */
	int         kernels, guards;
	int         launches;    /* GPU plan: number of kernels that run on the GPU */
	Vec(const Node *) calls;         /* calls of the runtime */
	Vec(HostStep) host;              /* GPU plan: steps that the host computes */
	int64_t     streamed;    /* bytes of weights that small-batch products read */
	bool        gpu;         /* whether the plan is for the program's GPU, where more nodes are kernels */
	/* whether the function has no runtime; results are then in the caller's arrays or the arena */
	bool        bare;
	bool        small;       /* ... and prefers a small arena to speed */
	struct DynamicPlan *dynamic; /* state shared by the samples of a dynamic specialization (dynamic.c); or null */
	const char *direct;      /* C function that runs only its kernels, on the caller's memory (direct.c); or null */
	int         nspot;       /* number of buffers in the arena */
} Plan;

typedef Vec(const Value *) ValueVec;

bool    plan_is_planned(Plan *, const Value *);         /* whether the value is a tensor with a known type and buffer */
Buffer *plan_buffer_of(Plan *, const RtStorage *meta);
Buffer *plan_buffer(Plan *, const Value *);             /* null if the value is not planned */
/* the value's sizes, strides, and offset in its storage; null if unknown */
const RtTensor *plan_tensor(Plan *, const Value *);
/* Notes the embeddings that read rows of panels. Their table is also a product's weight and is stored only once. */
void    dense_note_tables(Plan *);
bool    plan_is_part(const Plan *, const Value *);      /* Is it computed directly in a larger tensor? */
/* Do all users only read the list, so that none keeps, changes or unpacks it? */
bool    plan_list_is_read(const Value *list);
bool    node_is_map(const Node *);                      /* Is it a pointwise operator or a group of them? */
/* reads a constant list of n ints, or of one int that is repeated */
bool    constant_ints(Plan *, const Value *, int64_t *out, int n);

typedef struct KernelCall KernelCall;

/* State shared by the plans of all samples of a dynamic specialization (program/dynamic.c). */
typedef struct Joinings { Vec(bool) at; } Joinings;
struct Choices { Vec(bool) at; };
enum { MARK = '\1' };            /* Character before and after the index of a mark in a text. */
typedef struct Marked {
	enum { MARKED_INT, MARKED_REAL } kind;
	int64_t value;           /* the number; a double by its bits */
} Marked;
typedef struct DynamicPlan {
	bool       *refused;     /* by node id: whether its kernel differs among the samples */
	bool       *as_first;    /* by node id: whether it is a kernel on the first sample */
	KernelCall **calls;      /* by node id: the ncall launches of its kernel, once they are final */
	int        *ncall;
	struct CudaCall **cuda;  /* final launches on the GPU, by node id */
	int        *ncuda;
	const char **why_host;   /* by node id: why a kernel of a plan for the GPU is computed on the host; or null */
	Vec(int64_t) derived;    /* x and q of each plan_ceil call for the kernel being written */
	Vec(Marked) marked;      /* numbers behind the marks in the text being written */
	struct Choices *choices; /* choices of the first sample for the kernel being written */
	int         nchoice;     /* number of choices made so far; < 0 if no kernel is being written */
	bool        is_first;
	struct Lockstep *constants;
	int         nconstant;   /* number of constants requested so far */
	struct Joinings *joins;  /* decisions of joins.c on the first sample; null if nothing is joined */
	int         njoin;       /* number of these decisions read so far */
} DynamicPlan;
/* Returns (x + q - 1) / q, for a number in a kernel's text that is no product of sizes. */
int64_t plan_ceil(Plan *, int64_t x, int64_t q);
/* Returns C for a number that sizes may decide. On a sample of dynamic sizes it returns a mark instead. Then the texts
 * of all samples are equal, and their numbers are compared separately (program/dynamic.c). */
const char *plan_number(Plan *, int64_t);
const char *plan_real(Plan *, double);
/* Makes a choice between forms that are correct for all sizes. All samples follow the first one. */
bool    plan_choice(Plan *, bool);
/* Decides whether a node is a kernel. All samples follow the first one. */
bool    plan_worth(Plan *, const Node *, bool);

/* ---- calls of kernels -------------------------------------------------------------------------------------------- */

typedef struct KernelArg {       /* An address: of a planned tensor, of a number (const double *), or a C expression. */
	const Value *value;
	const char  *text;       /* C expression, if there is no value */
	int64_t      offset;     /* bytes */
	const char  *what;       /* description in a launch's text form, if there is no value */
	const struct Summand { int64_t at, bytes; } *part;       /* the offset as npart summands at * bytes; or null */
	int          npart;
} KernelArg;
/* Operations and bytes of all turns of a launch, as its form counts them. Each address counts once. < 0 if unknown. */
typedef struct Counts {
	const char *form, *what; /* description of the schedule or form, and of the sizes; null if unknown */
	double      flops, bytes;
} Counts;
typedef struct Param { const char *name; int64_t value; } Param;     /* A name and a number, as in a printed kernel. */
typedef struct Printed {         /* A kernel that its form printed at once, without loops from a Kernel. */
	/* name prefix, comment and lines of the function's body, behind the numbers that sizes decide */
	const char *prefix, *comment, *lines;
	Vec(Param)  param;
} Printed;
struct KernelCall {      /* One use of an emitted kernel. */
	const char *name;        /* static void name(void *arg, int64_t begin, int64_t end) */
	const char *n_text;      /* C expression for n if it depends on dynamic sizes; or null */
	int64_t     n, grain;    /* the pool divides [0, n) into parts of at least grain */
	/* Number of launches, in turn with the following calls that repeat. An argument points to the turn's number
	 * (&turn). 0 for a single launch. */
	int64_t     repeat;
	const char *repeat_text; /* C expression for `repeat`; null if it is a number */
	Vec(KernelArg) args;     /* p[0..]: outputs, then inputs */
	Counts      work;
	const char *tuned;       /* key of the kernel in Tuning; null if it has no choice */
	/* Kernel and schedule. Null if the form printed its C at once, so only operands are known. On a sample of a
	 * dynamic specialization, this is the lowered kernel, and nothing is printed. */
	const struct Kernel *kernel;
	const struct Schedule *schedule;
	const Printed *printed;
	int64_t     scratch;     /* bytes of scratch memory that it requests for a thread */
	const struct Size *narrow;       /* size that must be at most INT32_MAX in a call; or null */
	int64_t     streamed;    /* bytes of weights that it reads for few rows */
	bool        apart;       /* Lowered.apart */
	/* Whether the kernel sets `wrong` (an int, one of the arguments) on bad arguments. The generic kernel then
	 * raises. */
	bool        checked;
};
enum { CU_SIZES = 64 };          /* most sizes that a kernel for the GPU reads, as in rt/ops/cutile.h */
typedef struct CudaCall {        /* One launch of an emitted CUDA kernel. */
	int     kernel;          /* index in Emit.cuda_kernels */
	int64_t grid[3];         /* number of blocks of 256 threads; on the first sample if sizes are dynamic */
	const char *grid_text[3];        /* the same as C */
	const int64_t *symbol;   /* (CU_SIZES) values on the first sample; null: sizes are constant */
	int     nout;            /* number of arguments that are written, the first ones */
	Vec(KernelArg) args;
	bool    checked;         /* as KernelCall.checked */
} CudaCall;

/* ---- body.c: kernels that their form prints at once -------------------------------------------------------- */

typedef struct Body {
	Plan   *p;
	Out     out; /* lines of the kernel; numbers that sizes may decide are parameters, and no array length is one */
	Printed made;
} Body;
Body  body_begin(Plan *);
/* Adds a parameter and returns its C. The name is for readers. */
const char *body_number(Body *, const char *name, int64_t);
/* Returns the function's body in braces: declarations of numbers that sizes decide, and the lines. */
const char *body_function(Arena *, const char *locals, const char *lines);
/* Ends the body, in which all braces are closed, and emits it for the call. On a sample of a dynamic specialization,
 * the call only gets the lines. */
void  emit_body(Emit *, const char *prefix, const char *comment, Body *, KernelCall *);

/* ---- emit.c: texts of kernels -------------------------------------------------------------------------------- */

/* Emits a kernel (text in braces) and returns its name. Equal texts share one name. An epilogue's function takes a part
 * of a row (emit_block), any other (void *arg, int64_t begin, int64_t end). */
const char *emit_kernel(Emit *, const char *prefix, const char *comment, const char *text, bool epilogue);
/* Notes the number of rows of a product by panels and the length of its sums. Does nothing if Emit is null. */
void emit_tall(Emit *, const Plan *, int64_t rows, int64_t depth);

/* ---- kern_cuda.c: the same as CUDA ------------------------------------------------------------------------------- */

enum { MAX_KERNEL_CALLS = 64 };
bool node_is_cuda(Plan *, const Node *);                 /* Is each launch of the node a Kernel with a form in CUDA? */
/* Emits the node's launches on the GPU, with its epilogue. Returns their number. 0: it has no kernels there; *why is
 * the reason. calls has room for MAX_KERNEL_CALLS. */
int emit_cuda(Emit *, Plan *, const Node *, CudaCall *calls, const char **why);
/* Finds the node's launches on the GPU as emit_cuda, and emits nothing. */
int cuda_launches(Plan *, const Node *, KernelCall *calls, const char **why);
/* Emits a launch whose kernel, of dynamic sizes, stands for those of all samples. */
void emit_cuda_unified(Emit *, const KernelCall *, struct Kernel *, CudaCall *);
/* Sets whether launch i of the node checks indices. */
void cuda_checks_once(const Node *, const KernelCall *calls, CudaCall *, int i);

/* ---- pack.c: weights as kernels read them; C expressions --------------------------------------------------------- */

/* Returns the width of the last panel of n columns, a multiple of `vector`. */
int64_t panel_last(const Emit *, int64_t n, int vector);
/* Packs groups of columns, each with the first group's layout. `together`: number of groups that share a panel, or
 * 1. */
const char *pack_panels(Emit *, WeightForm, const RtTensor *, RtPacking, int64_t groups, int64_t together);
/* Packs 3 x 3 filters transformed for tiles of tile x tile outputs (4 or 2): [element][panel][k][column]. */
const char *pack_winograd(Emit *, int tile, const RtTensor *, RtPacking);
/* Returns the number of elements of a transformed tile of one channel, and of a transformed filter. */
int winograd_elements(int tile);
/* Packs 8-bit weights by vi_pack (vint8.h). packed: C of the weights, and of the terms that zero points add to each
 * column's sums. */
struct ViConv;
void pack_int8(Emit *, const RtTensor *, const struct ViConv *, const char *packed[2]);
/* Stores a vector of n floats and fills its last panel with zeros. `past`: number of floats that may be read past the
 * end. */
const char *pack_vector(Emit *, const RtTensor *, int64_t n, int64_t past);
/* Notes for all weights computed at open whether kernels also read their source. Returns the bytes that none reads. */
int64_t pack_finish(Emit *);

/* ---- halves.c: weights that are exact in 16 bits ----------------------------------------------------------------- */

/* Returns bfloat16 or float16 if all of these numbers are finite and exact in it. Else 0. */
int halves_type(const float *, int64_t n);
/* Are n floats at stride `apart` exact in that dtype? */
bool halves_are(const float *, int64_t n, int64_t apart, int type);
uint16_t halves_bits(float, int type);
/* Are n such weights stored in 16 bits, and expanded to floats when the program is opened? */
bool halves_are_made(const Emit *, int64_t n);
/* Adds floats to the weights as 16-bit numbers of that type, which is exact. Returns their offset. */
int64_t halves_add(Emit *, WeightForm, int type, const float *, int64_t n);
/* Rebuilds 16-bit storages of the model from packed parts with the same numbers. */
void halves_finish(Weights *);

/* ---- coarse.c: weights of few bits ------------------------------------------------------------------------------- */

/* Omits the plain form of storages that kernels read as packed low-bit weights. */
void coarse_finish(Emit *);

/* ---- dense.c, lower_dense.c: products and convolutions with constant weights ------------------------------------- */

bool dense_nhwc(const RtTensor *);                       /* Is it channels-last and dense? */
bool node_is_dense(Plan *, const Node *);
const RtTensor *dense_constant(Plan *, const Value *);   /* the value's constant floats, or null */
int64_t dense_columns(Plan *, const Node *); /* number of columns of its result; 0 if its kernel takes no epilogue */
bool emit_dense(Emit *, Plan *, const Node *, const Node *group, KernelCall *calls, int *ncall);

/* ---- families.c: reductions, normalization, copies, pooling, products of computed tensors ------------------------ */

bool node_is_row(Plan *, const Node *);
bool op_is_row(const Op *);                              /* Is there a form for the operator, for some arguments? */
bool emit_row(Emit *, Plan *, const Node *, KernelCall *calls, int *ncall);

#endif
