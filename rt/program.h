/* rt/program.h - tables of an emitted program, functions that specialized code calls, dynamic sizes, the GPU
 *
 * Emitted C includes it, and so do the files of the runtime that run programs.  Ownership is as in rt.h.
 */
#ifndef RT_PROGRAM_H
#define RT_PROGRAM_H

#include "rt.h"

/* ---- program.c: tables of an emitted program ---------------------------------------------------------------- */

/* A row of a flattened constant.  The rows of a container's parts follow it (dict: key, value, ...; object: slots). */
typedef struct RtConst {
	uint8_t tag;             /* an RtTag, or RT_AGAIN */
	uint8_t dtype, rank, flags;   /* tensors */
	int32_t n;               /* number of parts; bytes of a string; tensor: index of its storage */
	union {
		int64_t i;       /* int, bool, device; tensor: offset in elements; RT_AGAIN: index of an earlier row */
		double  f;       /* float; complex: re.  The row with im follows */
	} u;
	const void *p;           /* string: text; tensor: dims, then strides; otherwise the RtType */
} RtConst;
enum { RT_AGAIN = 255 };

/* A part of a packed storage.  A program has some weights only in the packed form that its kernels read.  Unpacking
 * their parts rebuilds the storage; elements that are in no part are zero.  A part has n columns of k inputs times
 * `taps`, stored as [panel][tap][k][column of the panel].  rt_packing_place computes the index of an element in the
 * storage.  Strides are in elements.  Members that do not apply are 0. */
typedef struct RtPacking {
	int64_t at;                      /* offset of the part in the program's weights, in bytes */
	int64_t to;                      /* index of its first element in the storage */
	int32_t n, k, taps, kw;          /* kw: width of the filter in taps */
	int32_t width, last;             /* columns of a panel; of the last panel */
	int32_t sn, sk, sr, ss;          /* strides in the storage: of columns, k, rows of taps, taps */
	int32_t kh, sd;                  /* 3-d filters: rows of a plane; stride of planes */
	int32_t quad;                    /* 8-bit weights (vint8.h): number of k stored side by side */
	/* Weights of few bits (vcoarse.h), `quad` to a word, in groups of `group` of k.  With scales they unpack to
	 * floats by `scales`, and by centres if centred.  Without scales they unpack to bytes: the integer + centred.
	 * quad 2: halves.  quad 4: integers, or floats of 8 bits if `from` is their dtype. */
	int32_t group, centred;
	int32_t from, as;                /* 16-bit dtype of the part; of the storage.  0: 4 bytes, float if the other is
	                                  * a 16-bit dtype */
	int32_t skip;                    /* columns that precede the part in its first panel */
	int32_t inner, so;               /* k advances by sk within runs of `inner`, by so from run to run */
	int64_t scales;                  /* offset of the scales in the program's weights, in bytes */
} RtPacking;

static inline int64_t
rt_packing_place(const RtPacking *p, int64_t column, int64_t k, int64_t tap)
{
	const int64_t row = p->inner ? k / p->inner * p->so + k % p->inner * p->sk : k * p->sk;
	const int64_t y = tap / p->kw, down = p->kh ? y / p->kh * p->sd + y % p->kh * p->sr : y * p->sr;

	return p->to + column * p->sn + row + down + tap % p->kw * p->ss;
}

/* unpack.c: writes columns [first, end) of the part to the storage's bytes, which are zero at first.  Returns whether
 * any byte changed. */
typedef bool RtUnpack(const char *weights, const RtPacking *, int64_t first, int64_t end, void *to);
RtUnpack rt_unpack_columns;
typedef struct RtSpan {                  /* a storage in the weights */
	int64_t offset, bytes;           /* offset; if packed, the number of parts */
	const RtPacking *packing;        /* packed parts of the storage; null if it is stored as plain elements */
} RtSpan;

/* Weights in a form that is too large to store in a program, such as Winograd filters.  They are computed from panels
 * when the program is opened. */
typedef struct RtMaking {
	int64_t from, to;                /* offsets in bytes: of the panels in the weights; of the result in `made` */
	int64_t alone;                   /* number of bytes at `from` that nothing else reads, or 0 */
	int64_t floats;                  /* number of elements of the panels */
	int32_t half;                    /* 16-bit dtype of the panels.  0: floats */
	int32_t n, k, panels, tile;      /* columns, rows; side of Winograd's output tile: 4, 2; 0: widen to float */
} RtMaking;
/* Converts n numbers of bfloat16 or float16 to float. */
void rt_widen(RtDtype, const uint16_t *from, float *to, int64_t n);
/* Makes panels [begin, end). */
typedef void RtMake(const RtMaking *, const float *from, float *to, int64_t begin, int64_t end);

typedef struct RtParam {                 /* an argument of the model */
	const char   *name;
	const RtType *type;
	bool          has_default;
	IValue        deflt;
	int           value;     /* index of the default in cx->value, plus 1, in a program; 0: deflt has it */
} RtParam;

struct RtGradients;
typedef struct RtMethod {
	const char    *name;     /* forward */
	const RtCode  *code;
	const RtParam *param;    /* (nparam) without self */
	int            nparam;
	const RtType  *result;
	bool           takes_self;    /* whether argument 0 of the code is the instance */
	const struct RtGradients *gradients;   /* null unless built with --grad (gradient.c) */
	const RtCode  *reference;              /* code of the unoptimized graph, for --selfcheck-code; or null */
	const char    *generic;  /* Reason why it has only generic code.  Null if it has a specialization. */
} RtMethod;

/* An option of a program.  place: offset of its member in the struct of options.  as: the member's type. */
enum { RT_OPTION_FLAG, RT_OPTION_TEXT, RT_OPTION_REST };    /* bool; text of --x T or --x=T; text of --x= */
typedef struct RtOption { const char *name; unsigned short place, as; } RtOption;

struct RtArrays;
struct RtTrain;
/* Gradients of a method. They are pointers, so that other programs do not link the functions. */
typedef struct RtGradients {
	const char *const *name;     /* (n) names of the gradients that it returns */
	int     n;
	int   (*write)(RtCx *, const char *path, const char *const *names, int n, IValue result);
	int   (*read)(RtCx *, const char *path, struct RtArrays *);
	int   (*train)(RtCx *, const RtMethod *, struct RtTrain *);
	const RtOption *options;     /* members of RtTrain; the last row has no name */
	const char *usage;           /* lines of --help about the options */
} RtGradients;
int  rt_gradients_write(RtCx *, const char *path, const char *const *names, int n, IValue result);
int  rt_gradients_read(RtCx *, const char *path, struct RtArrays *to);   /* gradients of the result: keys grad.* */
int  rt_train(RtCx *, const RtMethod *, struct RtTrain *);                    /* train.c, host.h */
extern const RtOption rt_train_options[];
extern const char rt_train_usage[];

typedef struct RtSpecialization {    /* facts for --info, in the order of the plan's specializations */
	const char *method, *kind;   /* exact, dynamic */
	const char *signature;       /* x: Float(1, 3, 224, 224), ... */
	int kernels, runtime_calls, guards;
	int64_t arena_bytes, arena_least;        /* least: largest sum of buffers alive at one step */
	const char *symbols;         /* ranges of dynamic sizes, "s0 from 2 to 113, ...".  Null if there are none. */
	const char *arena_at;        /* sizes to which arena_bytes applies, "s0 = 7, ...".  Null if it is constant. */
} RtSpecialization;

typedef struct RtWeightForm { const char *name; int64_t bytes; } RtWeightForm;

/* cuda.c: linked only into programs with code for the GPU */
typedef struct RtCudaImage { int arch; int64_t offset; } RtCudaImage;   /* arch: 90 machine code, -90 PTX */
/* A kind of step that leaves the device, or the reason why a specialization has no device code (name is null). */
typedef struct RtCudaStep {
	int specialization, times;
	const char *name, *why;
} RtCudaStep;
typedef struct RtCudaWant {
	const char *name;                /* cuda or cuda:1.  Null: the CPU if there is no device */
	int   index;                     /* index of the device where the name has none */
	void *stream;                    /* the caller's CUstream.  Null: one of its own */
} RtCudaWant;
typedef struct RtCudaProgram {
	const RtCudaImage *image;
	const char *const *kernel;       /* names */
	int nimage, nkernel;
	const int *launches;             /* kernels launched by each specialization; -1: no device code */
	const RtCudaStep *host;          /* (nhost) steps of device code that the host computes */
	int nhost;
	const int *constant;             /* nconstant: indices in cx->value of tensors that kernels read */
	int nconstant;
	int  (*start)(RtCx *, const struct RtProgram *, const RtCudaWant *);     /* rt_cuda_start */
	void (*stop)(RtCx *);
	/* Takes the device from the context when the state on it has been fetched: rt_cuda_leave. */
	struct RtCuda *(*leave)(RtCx *);
	/* prints, for --info, what of a specialization runs on the device: a member of a JSON object, or lines */
	void (*about)(void *file, const struct RtCudaProgram *, int specialization, bool json);
	const struct RtCudaDoor *door;   /* tensors in the caller's device memory: door.h.  Null: no library */
} RtCudaProgram;

/* State that all contexts of a loaded program share, under one lock.  A program writes to no other data of its own. */
typedef struct RtShared {
	int   loads;                     /* number of contexts that have loaded it */
	char *made, *moved;              /* weights computed at the first load; weights moved by rt_warm.  Or null */
} RtShared;

/* Code of a program for processors with the features in `needs` (needs.h). */
typedef struct RtLevel {
	const char *name, *needs;        /* name: argument of --cpu */
	const void *kernels;             /* the level's struct Kernels if there are several levels; otherwise null */
} RtLevel;

/* A file that was saved with the model (_extra_files).  Its content is at an offset in the weights. */
typedef struct RtExtra { const char *name; int64_t offset, bytes; } RtExtra;

struct RtWeightsFrom;
typedef struct RtProgram {
	const char *name, *provenance;   /* provenance: lines of key: value */
	const RtLevel *const *levels;    /* the most demanding one first; ends with null */
	const RtLevel *level;            /* the level that runs here, chosen by rt_cpu_choose; or null */
	const RtMethod *method;
	/* constants of all codes, nvalue at the top level, then the image of the instance */
	const RtConst *constant;
	const RtSpan *storage;
	RtUnpack *unpack;                /* rt_unpack_columns. Null if no storage is packed. */
	RtShared *shared;
	const RtSpecialization *specialization;
	const RtExtra *extra;            /* (nextra) */
	const RtWeightForm *form;        /* bytes of weights in each form; the last has no name */
	const char *weights;             /* linked in.  Null: they are in the file `weights_file` */
	const char *weights_file;
	/* rt_beside, which maps the file of weights, or null */
	int  (*beside)(RtCx *, struct RtProgram *, const struct RtWeightsFrom *);
	void (*unmap)(struct RtProgram *);       /* rt_beside_end, or null */
	/* rt_beside_watch.  Null if weights are linked in, or in a library, which handles no signals. */
	void (*watch)(void);
	bool weights_lent;               /* the caller owns their memory: no page is given back to the system */
	uint64_t weights_hash, weights_sample;   /* hash_bytes and rt_weights_sample of the file's content */
	/* Length in bytes of the weights that small-batch products stream from memory on each call. 0 if they fit in
	 * cache. */
	int64_t streamed;
	/* computes the weights in `making` when the first context loads the program, or null */
	int  (*open)(RtCx *);
	int  (*warm)(RtCx *);            /* moves streamed weights (rt_warm).  Null: they are not moved */
	void (*cool)(const struct RtProgram *);          /* frees the memory of moved weights */
	const char *forms;               /* --forms: made, fast, small */
	int64_t weights_bytes, made_bytes, alone_bytes;  /* alone_bytes: bytes of weights read only to make others */
	int64_t unpacked_bytes;          /* number of bytes of packed weights that specialized code may unpack */
	const RtMaking *making;          /* (nmaking) */
	RtMake *make;
	void  (*widen)(RtDtype, const uint16_t *from, float *to, int64_t n);     /* rt_widen.  Null: no 16-bit panels */
	int nmaking, nextra;
	int nmethod, nconstant, nvalue, nstorage, nspecialization;
	const char *launches;            /* kiln build --bench-code: JSON objects of the launches; or null */
	const RtCudaProgram *cuda;       /* code for the GPU; null if there is none */
	/* rt_close_text, which compares what the model prints.  Null if it prints nothing. */
	bool (*close_text)(const char *got, const char *want, struct Buf *why);
	/* rt_instance_fresh, if one more value is the model's object with all attributes that methods may write; or
	 * null */
	int  (*fresh)(RtCx *);
	uint64_t seed;
	bool seeded;
	uint8_t torch;                   /* an RtTorch */
	uint8_t engine;                  /* an RtEngine */
	bool no_grad;                    /* whether torch.is_grad_enabled() is False when a call begins */
	int threads;                     /* default of --threads.  0: one; -1: one per core */
} RtProgram;

/* Sets cx->value and cx->instance.  The first context that loads a program makes its weights, on that context's
 * threads.  May be called on any thread; after an error nothing is loaded. */
int  rt_program_load(RtCx *, const RtProgram *);
int  rt_program_fresh(RtCx *);                        /* a fresh instance: private copies of the state */
int  rt_instance_fresh(RtCx *);
int  rt_program_again(RtCx *);       /* also resets constants, which calls may write; on error changes nothing */
/* Runs a method by its specialized code, or interprets it.  args: (nparam), without self, borrowed; results: new. */
int  rt_program_call(RtCx *, const RtMethod *, const IValue *args, IValue *results);
/* Fetches state that is newer on a GPU: the caller reads or writes the instance's tensors. */
int  rt_host_reads_state(RtCx *);
void rt_program_free(RtCx *);
IValue rt_default(const RtCx *, const RtParam *);     /* borrowed */
int  rt_main(const RtProgram *, int argc, char **argv);      /* start.c */

/* Functions for arguments, results and constants that are containers or other objects.  A program sets the pointers
 * that it does not need to null (cgen.c: put_parts); all.c sets all.  depth: nesting depth of the value. */
struct RtReader;
struct RtLoader;
typedef int  RtReadOther(struct RtReader *, const RtType *, const char *key, IValue *out, int depth);
typedef int  RtWriteOther(RtCx *, struct RtArrays *, const char *key, IValue, int depth);
typedef void RtFormatOther(struct Buf *, IValue, int depth);
typedef bool RtCloseOther(RtCx *, const char *name, IValue got, IValue want, struct Buf *why, int depth);
typedef int  RtBuildOther(struct RtLoader *, const RtConst *, int row, IValue *out);
extern RtReadOther *const rt_read_other;              /* reads arguments from an .npz (args.c) */
extern RtWriteOther *const rt_write_other;            /* writes results to an .npz */
extern RtFormatOther *const rt_format_other;          /* prints results (print.c) */
extern RtCloseOther *const rt_close_other;            /* compares results and instances (compare.c) */
extern RtBuildOther *const rt_build_other;            /* builds constants other than lists (program.c) */
struct RtArray;
/* Texts in an .npz (npz_text.c).  rt_texts null: only tensors are read and written. */
typedef struct RtTexts {
	/* Adds an array of n bytes with the dtype descr, such as '<U5'.  count null: it is 0-d; otherwise it has
	 * *count texts. */
	int  (*read)(RtCx *, struct RtArrays *, const char *key, const char *descr, const int64_t *count,
		     const unsigned char *bytes, int64_t n);
	void (*write)(const RtStr *, char descr[32], struct Buf *bytes);
} RtTexts;
extern const RtTexts *const rt_texts, rt_texts_all;
/* Are two printed texts the same (compare.c)?  Ignores blanks, and compares floating numbers to four digits. */
bool rt_close_text(const char *got, const char *want, struct Buf *why);
RtReadOther rt_read_any;
RtWriteOther rt_write_any;
RtCloseOther rt_close_any;
RtBuildOther rt_build_any;

/* ---- cpu.c: the level of a program that runs here ---------------------------------------------------------------- */

/* Sets p->level to the first level that runs on this processor, and returns null.  If there is none, returns the reason
 * in text. */
const char *rt_cpu_choose(RtProgram *, char *text, size_t n);

/* ---- beside.c: weights in a file of their own -------------------------------------------------------------------- */

typedef struct RtWeightsHead {           /* first bytes of the file */
	char     magic[8];
	int64_t  bytes;                  /* number of bytes after the head */
	uint64_t hash;                   /* hash_bytes of them */
	char     zeros[40];
} RtWeightsHead;
RtWeightsHead rt_weights_head(int64_t bytes, uint64_t hash);
uint64_t rt_weights_sample(const char *at, int64_t bytes);   /* hash of at most 64 KB of them */
typedef struct RtWeightsFrom {
	const char *path;                /* file of the weights; null: next to the program */
	const void *memory;              /* the file's content, aligned to 64; or null */
	int64_t bytes;
	bool all;                        /* whether all bytes are checked, not only a sample */
} RtWeightsFrom;
/* Maps the file and sets p->weights.  Raises an error if it is not the file that was built with the program: checks its
 * length, head and sample. */
int  rt_beside(RtCx *, RtProgram *p, const RtWeightsFrom *);
void rt_beside_end(RtProgram *);
/* Installs a signal handler: if another process truncates the mapped file, this process ends with a message. */
void rt_beside_watch(void);

/* ---- warm.c --------------------------------------------------------------------------------------------------- */

int  rt_make_weights(RtCx *);    /* RtProgram.open: computes the weights in `making` */
int  rt_warm(RtCx *);            /* moves streamed weights to pages of 2 MB, once */
void rt_cool(const RtProgram *);

/* ---- plan.c: functions that specialized code calls ----------------------------------------------------------- */

/* A specialization works on the frame's registers (arguments at first, results at the end), on its own values v, and on
 * one arena.  Its planned tensors are pointers; rt_box_* make tensor values of them. */
/* Guard on a tensor's dtype and geometry.  Strides of sizes of 1 do not count. */
bool   rt_is_tensor_of(IValue, RtDtype, int ndim, const int64_t *dims, const int64_t *strides);
/* dims[i] <= -2 is the symbol size[-2 - dims[i]].  A symbol that is still 0 is bound to the first size met, but not to
 * 0 or 1. */
bool   rt_is_tensor_sized(IValue, RtDtype, int ndim, const int64_t *dims, int64_t *size);
bool   rt_is_text(IValue, const char *, int64_t n);
const IValue *rt_parts(IValue, int64_t *n);             /* elements of a list or tuple; n 0 for other values */
/* Checks that no written tensor overlaps a tensor of args, including those inside containers. */
bool   rt_none_overlap(const IValue *written, int n, const IValue *args, int narg);
char  *rt_arena(RtCx *, int64_t bytes);                 /* the thread's arena of at least `bytes`; null: error */
/* A tensor over planned memory, which must outlive it.  geometry: dims, then strides */
IValue rt_box_borrow(RtCx *, RtDtype, int ndim, const int64_t *geometry, void *data);
/* A view of base.  offset: in elements from base's first element */
IValue rt_box_view(RtCx *, IValue base, RtDtype, int ndim, const int64_t *geometry, int64_t offset);
IValue rt_box_new(RtCx *, RtDtype, int ndim, const int64_t *geometry);
/* A tensor that owns a copy of the span bytes at data. */
IValue rt_box_copy(RtCx *, RtDtype, int ndim, const int64_t *geometry, const void *data, int64_t span);
/* Runs a generated kernel by rt_parallel.  name: its name in --trace */
void   rt_launch(RtCx *, const char *name, int64_t n, int64_t grain, void (*body)(void *, int64_t, int64_t), void *arg);
/* An open with-scope: the object's __exit__ and the object (borrowed). */
typedef struct RtWith { const RtCode *exit; IValue object; } RtWith;
/* Calls the __exit__ of n scopes after an error, innermost first.  An error in an __exit__ replaces the first one. */
void   rt_exit_all(RtCx *, const RtWith *, int n);
IValue rt_list_of(RtCx *, const RtType *elem, const IValue *v, int n);         /* takes the values; None: no memory */
IValue rt_tuple_of(RtCx *, const RtType *named, const IValue *v, int n);
void   rt_move(void *to, const void *from, int64_t bytes);
/* No specialization fits these arguments: runs the generic code from its start, or raises an error under --strict. */
int    rt_miss(RtCx *, const RtCode *, IValue *reg);
void   rt_plan_taken(RtCx *, const RtCode *, const char *kind, int index);       /* prints for --guards */
void   rt_values_drop(IValue *v, int n);
void   rt_finish(IValue *reg, int nreg, IValue *result, int n);      /* moves results to the first registers */

/* ---- steps.c: calls of the runtime in specialized code, as data ------------------------------------------------- */

/* An operand of a step: its kind in the top four bits, an index or a number in the low 28. */
enum {
	RT_FROM_NONE,                    /* None */
	RT_FROM_SLOT,                    /* v[] */
	RT_FROM_REGISTER,                /* reg[] */
	RT_FROM_VALUE,                   /* cx->value[] */
	RT_FROM_WEIGHT,                  /* cx->value[], whose packed tensors are unpacked first */
	RT_FROM_INT, RT_FROM_BOOL,       /* the number itself */
	RT_FROM_BOX,                     /* box[] of the steps */
	RT_FROM_MADE,                    /* made[] of the frame; the step takes the reference */
	RT_FROM_NUMBER,                  /* number[] of the frame */
	RT_FROM_LIST,                    /* a list of the next n operands */
	RT_FROM_NUMBERS,                 /* a list of ints from number[]: count in bits 20-27, first index below */
};
#define RT_FROM(kind, i) ((uint32_t)(kind) << 28 | ((uint32_t)(i) & 0xfffffffu))
#define RT_IN_NONE RT_FROM(RT_FROM_NONE, 0)
#define RT_IN_SLOT(i) RT_FROM(RT_FROM_SLOT, i)
#define RT_IN_REGISTER(i) RT_FROM(RT_FROM_REGISTER, i)
#define RT_IN_VALUE(i) RT_FROM(RT_FROM_VALUE, i)
#define RT_IN_WEIGHT(i) RT_FROM(RT_FROM_WEIGHT, i)
#define RT_IN_INT(i) RT_FROM(RT_FROM_INT, i)
#define RT_IN_BOOL(i) RT_FROM(RT_FROM_BOOL, i)
#define RT_IN_BOX(i) RT_FROM(RT_FROM_BOX, i)
#define RT_IN_MADE(i) RT_FROM(RT_FROM_MADE, i)
#define RT_IN_NUMBER(i) RT_FROM(RT_FROM_NUMBER, i)
#define RT_IN_LIST(n) RT_FROM(RT_FROM_LIST, n)
#define RT_IN_NUMBERS(i, n) RT_FROM(RT_FROM_NUMBERS, (uint32_t)(n) << 20 | (uint32_t)(i))
enum { RT_INT_BITS = 28, RT_NUMBERS_BITS = 20, RT_NUMBERS_MOST = 255 };
#define RT_DROP 0xffffffffu              /* Slot of a result that is dropped. */

/* A tensor operand of known type: over the arena, a copy, or a view of another value's storage. */
typedef enum RtBoxKind { RT_BOX_BORROW, RT_BOX_COPY, RT_BOX_VIEW } RtBoxKind;
typedef struct RtBox {
	const int64_t *geometry;         /* dims, then strides */
	int64_t  at;                     /* Offset in the arena in bytes.  Of a view: offset in its base in elements. */
	int64_t  span;                   /* Number of bytes that a copy owns. */
	uint32_t base;                   /* Base operand of a view: a slot, a register, a value. */
	uint8_t  kind, dtype;
	int8_t   ndim;
} RtBox;

struct RtFrame;
struct RtStep;
typedef int RtStepRun(const struct RtFrame *, const struct RtStep *, IValue *in, IValue *got);
typedef struct RtStored {                /* an in-place or out= operator whose base is a BODY */
	const RtCode *body;
	const int *from;                 /* (nfrom) Index in in[] of each argument of the body. -1: None. */
	int nfrom, nresult;
} RtStored;
typedef struct RtStep {
	RtStepRun *run;
	union {
		RtKernel   *kernel;
		size_t      level;       /* Offset of the kernel in the program's struct Kernels, if by_level. */
		RtBody     *body;
		const char *method;
	} by;
	union { RtWhat what; const RtStored *stored; } with;
	uint32_t use;                    /* RtCall.use of the kernel */
	uint32_t line : 31;              /* line of the generic code, for tracebacks */
	uint32_t by_level : 1;           /* Whether the kernel is chosen by the level that runs. */
	uint32_t in;                     /* Index of its operands; the slots of its results follow. */
	uint16_t nin, nout;
} RtStep;
RtStepRun rt_step_row, rt_step_call, rt_step_method, rt_step_store, rt_step_body, rt_step_list, rt_step_tuple;

typedef struct RtGuard {                 /* a guard: where the generic code resumes if it fails */
	const char *why;
	int pc, n;
	uint32_t live;                   /* Index of its n live operands.  Their registers follow. */
	uint32_t line;
} RtGuard;

typedef struct RtSteps {                 /* tables of one specialization */
	const RtStep   *step;
	const uint32_t *operand;
	const RtBox    *box;
	const RtGuard  *guard;
	const RtCode   *code;            /* the generic code */
	int             nv;              /* Number of slots. */
} RtSteps;
typedef struct RtFrame {                 /* a call of a specialization */
	const RtSteps *of;
	RtCx   *cx;
	IValue *reg, *v;
	IValue *given, *got;             /* Room for the operands and results of one step. */
	IValue *made;                    /* Operands of the next step that the function computes itself. */
	const IValue *number;            /* Numbers that depend on sizes. */
	char   *arena;
} RtFrame;
/* Runs n steps from `first` on.  If one fails, returns its status and adds its line to the error's trace. */
int    rt_steps(const RtFrame *, int first, int n);
/* A lock of a process. A child that was forked while a thread of its parent held the lock takes it over, because that
 * thread is not in the child. So guarded data is changed only by single stores, each of which leaves it whole. */
typedef RT_ATOMIC int RtProcessLock;     /* id of the process whose thread holds it; 0: free */
void   rt_process_lock(RtProcessLock *);
void   rt_process_unlock(RtProcessLock *);
IValue rt_weight(RtCx *, int i);         /* cx->value[i], borrowed, its weights unpacked (program.c) */
bool   rt_unpacks(IValue);               /* Whether rt_unpack_all may have something to unpack in such a value. */
IValue rt_step_operand(const RtFrame *, const uint32_t **at);        /* a new reference; *at: the next operand */
int    rt_step_exit(RtCx *, const RtWith *, const RtCode *, uint32_t line);
/* Bailout of a failed guard: fills the registers with its live values, drops the slots, resumes the generic code. */
int    rt_bail(const RtFrame *, int guard);

/* ---- sizes.c: dynamic specializations ---------------------------------------------------------------------------- */

/* c * s[atom[0]] * ... s[atom[n - 1]] + d.  n < 0: s[atom[0]] itself; the first number with this row defines it */
typedef struct RtSizeExpr {
	int64_t c, d;
	int16_t n, atom[4];
} RtSizeExpr;
typedef struct RtSizeBuffer { RtSizeExpr bytes; int first, last; } RtSizeBuffer;   /* live range: first, last step */
typedef struct RtSizeCount { RtSizeExpr x; int64_t q; } RtSizeCount;     /* ceil(x / q): number of tiles, panels */
typedef enum RtSizeTieKind { RT_TIE_CEIL, RT_TIE_REST } RtSizeTieKind;
/* A guard: ceil(x / q), or x mod q, equals y.  It held for all samples, and formulas may rely on it. */
typedef struct RtSizeTie {
	RtSizeTieKind kind;
	RtSizeExpr x;
	int64_t q;
	RtSizeExpr y;
} RtSizeTie;
typedef struct RtSizes {
	const RtCode *code;        /* the operators, run without data; RT_DO_PROFILE compares numbers */
	const RtSizeExpr *expr;
	const uint16_t *number;    /* (nnumber) index in expr of the expected value of each number, in order */
	const RtSizeBuffer *buffer;
	const RtSizeCount *count;        /* (ncount) s[natom + i]; x may use earlier ones */
	const RtSizeTie *tie;            /* (ntie) checked once all s are known */
	const int64_t (*range)[2];       /* (nsymbol) least, most */
	int nnumber, nsymbol, natom, nbuffer, ncount, ntie;
} RtSizes;
/* Index of an RT_DO_PROFILE whose next instruction runs on real data, because its tensors hold numbers of sizes. */
enum { RT_SIZES_RUN = 0x7fffffff };
typedef struct RtKnownSizes RtKnownSizes;
/* Returns s[0 .. natom + ncount), followed by the offset of each buffer and the arena's size in bytes.  The symbols are
 * the first of s.  Null: the specialization does not fit these symbols, or there was an error. */
const int64_t *rt_sizes(RtCx *, const RtSizes *, const IValue *reg, const int64_t *symbol);
void  rt_sizes_free(RtCx *);
static inline double rt_double_of(int64_t bits) { union { int64_t i; double f; } u = { bits }; return u.f; }
/* Visits a value as numbers: dtype, sizes, strides, and the earlier tensor whose storage it shares.  The elements of a
 * container are visited in order.  RT_SEEN_FIXED: a number that must be the same for all symbols. */
typedef enum RtSeenKind { RT_SEEN_INT, RT_SEEN_DIM, RT_SEEN_FIXED } RtSeenKind;
typedef struct RtSeenStorage {
	RtStorage *storage;              /* storage of tensor i */
	int before;                      /* 1 + previous tensor in the same bucket; 0: none */
	int newest;                      /* 1 + last tensor in bucket i; 0: none */
} RtSeenStorage;
typedef struct RtSeen {
	void (*put)(struct RtSeen *, int64_t, RtSeenKind);
	RtSeenStorage *at;               /* (n) the tensors so far */
	int n, cap;                      /* cap: a power of two */
} RtSeen;
/* A copy of the value whose tensors have no data.  cx->meta is set. */
IValue rt_without_data(RtCx *, IValue);
void  rt_see(RtSeen *, IValue);
void  rt_seen_back(RtSeen *, int n);     /* forgets all tensors after the first n */
void  rt_seen_free(RtSeen *);

/* ---- cuda_info.c: --info of device code ------------------------------------------------------------------------- */

/* file: a FILE, which programs compiled by tcc have no header for. */
void rt_cuda_about(void *file, const RtCudaProgram *, int specialization, bool json);

/* ---- cuda.c: the device ----------------------------------------------------------------------------------------- */

/* A buffer of a specialization. offset: in the arena; -1: elsewhere. slot: index in v[] of its tensor; -1: none.
 * stays: the caller does not get the tensor when the call ends, so that it may stay on the device. */
typedef struct RtCudaPlace { int64_t bytes, offset; int slot; bool stays; } RtCudaPlace;
typedef struct RtCopy {                  /* bytes of the host on the device: cuda_memory.c */
	RtStorage *storage;              /* a reference that keeps the host's bytes where they are; or null */
	char    *host;
	uint64_t device;
	int64_t  bytes;
	int64_t  from, to;               /* this range is newer on the device; empty: none is */
	bool     there;                  /* whether the device has all other bytes */
	bool     stays;                  /* as RtCudaPlace.stays, or a result whose device address the caller has */
	bool     lent;                   /* whether the device memory is the caller's, until the call ends */
	int      users;                  /* mirrors that are bound to it */
} RtCopy;
typedef struct RtMirror { RtCopy *copy, own; } RtMirror;         /* own: of the arena, or of a constant */
typedef struct RtCudaFrame {             /* a specialization that runs on the device */
	RtCx     *cx;
	const RtCode *code;
	RtMirror *m;                     /* n + 1, by buffer */
	const RtCudaPlace *place;
	IValue   *v;
	int       n;
	uint64_t  base;                  /* the arena on the device */
	const int64_t *size;             /* (nsize) sizes that kernels read.  Null: their sizes are constant */
	int       nsize;
} RtCudaFrame;
typedef enum RtCudaUse { RT_CUDA_READ, RT_CUDA_FILL, RT_CUDA_WRITE } RtCudaUse;   /* FILL: nothing of it is read */
typedef struct RtCudaArg {
	int      m;                      /* index of the buffer; -1: a number */
	char    *host;                   /* current address of the buffer's first byte */
	int64_t  at;                     /* offset in bytes of the element */
	double   number;
	RtCudaUse use;
	int64_t  from, to;               /* bytes that may be written */
} RtCudaArg;
typedef struct RtCudaPart { int m; char *host; int64_t at; } RtCudaPart;    /* A part of a buffer, as in RtCudaArg. */
typedef struct RtCudaLaunch { int kernel, nargs; uint32_t line; int64_t x, y, z; } RtCudaLaunch;   /* x, y, z: blocks */

/* Makes cx->cuda: driver, device, module, constants. If that fails, it raises an error if the device was named, and
 * warns otherwise. */
int   rt_cuda_start(RtCx *, const RtProgram *, const RtCudaWant *);
void  rt_cuda_stop(RtCx *);
int   rt_cuda_begin(RtCudaFrame *, char *arena, int64_t bytes);
/* Fetches results and arguments that were written. all: state, too. A library's call with tensors on the device leaves
 * results there (RtCuda.lazy). */
int   rt_cuda_finish(RtCudaFrame *, bool all);
void  rt_cuda_end(RtCudaFrame *);
/* wrong: of a kernel that checks indices, which sets it; or null */
int   rt_cuda_launch(RtCudaFrame *, const RtCudaLaunch *, const RtCudaArg *, int *wrong);
int   rt_cuda_move(RtCudaFrame *, RtCudaPart to, RtCudaPart from, int64_t bytes);
/* Returns host, the first byte of buffer i, when the host's bytes are up to date. Errors are in cx. */
char *rt_cuda_home(RtCudaFrame *, int i, char *host);
void  rt_cuda_written(RtCudaFrame *, int i);              /* the host may have written buffer i, or made it anew */
int   rt_cuda_settle(RtCx *);                             /* the host may read any tensor outside of arenas */
void  rt_cuda_all_written(RtCx *);                        /* the host may have written any of them */
/* Settles, and takes the device from the context, so that all runs on the host until the caller puts it back. */
struct RtCuda *rt_cuda_leave(RtCx *);

#endif
