/* rt/program.h - tables of an emitted program, functions that specialized code calls, dynamic sizes, the GPU
 *
 * Emitted C includes this header, and so do the files of the runtime that run programs. Ownership is as in rt.h. */
#ifndef RT_PROGRAM_H
#define RT_PROGRAM_H

#include "rt.h"

/* ---- program.c: tables of an emitted program ---------------------------------------------------------------- */

/* An entry of a flattened constant. The entries of a container's parts follow its own: key, value, ... of a dict, the
 * slots of an object. */
typedef struct RtConst {
	uint8_t tag;             /* an RtTag, or RT_AGAIN */
	uint8_t dtype, rank, flags;   /* for tensors */
	int32_t n;               /* number of parts; of a string: number of bytes; of a tensor: index of its storage */
	union {
		/* int, bool, device; of a tensor: offset in elements; of RT_AGAIN: index of an earlier entry */
		int64_t i;
		double  f;    /* float; of a complex number: its real part, and the next entry has the imaginary part */
	} u;
	const void *p;           /* of a string: text; of a tensor: dims, then strides; otherwise the RtType */
} RtConst;
enum { RT_AGAIN = 255 };

/* A part of a packed storage. A program may have weights only in the packed form that its kernels read. Unpacking their
 * parts rebuilds the storage; elements that are in no part are zero. A part has n columns of k inputs times `taps`,
 * stored as [panel][tap][k][column of the panel]. rt_packing_place computes the index of an element in the storage.
 * Strides are in elements. Members that do not apply are 0. */
typedef struct RtPacking {
	int64_t at;                      /* offset in bytes of the part in the program's weights */
	int64_t to;                      /* index of the part's first element in the storage */
	int32_t n, k, taps, kw;          /* kw: width of the filter in taps */
	int32_t width, last;             /* number of columns of a panel, and of the last panel */
	int32_t sn, sk, sr, ss;          /* strides in the storage of columns, of k, of rows of taps, and of taps */
	int32_t kh, sd;                  /* for 3-d filters: number of rows of a plane; stride of planes */
	int32_t quad;    /* for 8-bit weights (vint8.h): number of consecutive k that are stored side by side */
	/* Weights of few bits (vcoarse.h), `quad` to a word, in groups of `group` of k. With scales they unpack to
	 * floats: by `scales`, and by centres if `centred` is set. Without scales they unpack to bytes: the integer +
	 * centred. If quad is 2, they are halves. If quad is 4, they are integers, or floats of 8 bits if `from` is
	 * their dtype. */
	int32_t group, centred;
	/* 16-bit dtype of the part, and of the storage. 0 stands for 4 bytes: float if the other one is a 16-bit
	 * dtype. */
	int32_t from, as;
	int32_t skip;                    /* number of columns before the part in its first panel */
	int32_t inner, so;               /* k advances by sk within runs of `inner`, and by so from run to run */
	int64_t scales;                  /* offset in bytes of the scales in the program's weights */
} RtPacking;

static inline int64_t
rt_packing_place(const RtPacking *p, int64_t column, int64_t k, int64_t tap)
{
	const int64_t row = p->inner ? k / p->inner * p->so + k % p->inner * p->sk : k * p->sk;
	const int64_t y = tap / p->kw, down = p->kh ? y / p->kh * p->sd + y % p->kh * p->sr : y * p->sr;

	return p->to + column * p->sn + row + down + tap % p->kw * p->ss;
}

/* unpack.c: writes columns [first, end) of the part to the storage's bytes, which are zero at first. Returns whether
 * any byte changed. */
typedef bool RtUnpack(const char *weights, const RtPacking *, int64_t first, int64_t end, void *to);
RtUnpack rt_unpack_columns;
typedef struct RtSpan {                  /* A storage in the weights. */
	int64_t offset, bytes;           /* offset in bytes; if the storage is packed, the number of its parts */
	const RtPacking *packing;        /* packed parts of the storage; null if it is stored as plain elements */
} RtSpan;

/* Weights in a form that is too large to store in a program, such as Winograd filters. They are computed from panels
 * when the program is opened. */
typedef struct RtMaking {
	int64_t from, to;    /* offset in bytes of the panels in the weights; offset in bytes of the result in `made` */
	int64_t alone;                   /* number of bytes at `from` that nothing else reads */
	int64_t floats;                  /* number of elements of the panels */
	int32_t half;                    /* 16-bit dtype of the panels; 0 for float */
	/* number of columns and rows; side of Winograd's output tile, 4 or 2; 0 for widening to float */
	int32_t n, k, panels, tile;
} RtMaking;
/* Converts n numbers of bfloat16 or float16 to float. */
void rt_widen(RtDtype, const uint16_t *from, float *to, int64_t n);
/* A function that computes panels [begin, end). */
typedef void RtMake(const RtMaking *, const float *from, float *to, int64_t begin, int64_t end);

typedef struct RtParam {                 /* An argument of the model. */
	const char   *name;
	const RtType *type;
	bool          has_default;
	IValue        deflt;
	/* in a program: 1 + the index of the default in cx->value; if it is 0, the default is `deflt` */
	int           value;
} RtParam;

struct RtGradients;
typedef struct RtMethod {
	const char    *name;     /* such as "forward" */
	const RtCode  *code;
	const RtParam *param;    /* (nparam) arguments without self */
	int            nparam;
	const RtType  *result;
	bool           takes_self;    /* whether argument 0 of the code is the instance */
	const struct RtGradients *gradients;   /* null unless the program was built with --grad (gradient.c) */
	const RtCode  *reference;    /* code of the unoptimized graph, for --selfcheck-code; null if there is none */
	const char    *generic;  /* reason why the method has only generic code; null if it has a specialization */
} RtMethod;

/* An option of a program. `place` is the offset of its member in the struct of options, `as` the member's type. */
/* RT_OPTION_FLAG: bool. RT_OPTION_TEXT: text of --x T or --x=T. RT_OPTION_REST: text of --x=. */
enum { RT_OPTION_FLAG, RT_OPTION_TEXT, RT_OPTION_REST };
typedef struct RtOption { const char *name; unsigned short place, as; } RtOption;

struct RtArrays;
struct RtTrain;
/* The gradients of a method. The functions are pointers, so that programs without gradients do not link them. */
typedef struct RtGradients {
	const char *const *name;     /* (n) names of the gradients that the method returns */
	int     n;
	int   (*write)(RtCx *, const char *path, const char *const *names, int n, IValue result);
	int   (*read)(RtCx *, const char *path, struct RtArrays *);
	int   (*train)(RtCx *, const RtMethod *, struct RtTrain *);
	const RtOption *options;     /* options that set members of RtTrain; the last entry has no name */
	const char *usage;           /* lines of --help about these options */
} RtGradients;
int  rt_gradients_write(RtCx *, const char *path, const char *const *names, int n, IValue result);
int  rt_gradients_read(RtCx *, const char *path, struct RtArrays *to); /* reads gradients of the result: keys grad.* */
int  rt_train(RtCx *, const RtMethod *, struct RtTrain *);                    /* train.c, host.h */
extern const RtOption rt_train_options[];
extern const char rt_train_usage[];

typedef struct RtSpecialization {    /* Facts for --info, in the order of the plan's specializations. */
	const char *method, *kind;   /* kind: exact or dynamic */
	const char *signature;       /* such as "x: Float(1, 3, 224, 224), ..." */
	int kernels, runtime_calls, guards;
	/* arena_least: largest number of bytes of buffers that are live at one step */
	int64_t arena_bytes, arena_least;
	/* Ranges of dynamic sizes, "s0 from 2 to 113, ...", and after "; " how many sizes are proved. Null if all sizes
	 * are constant. */
	const char *symbols;
	const char *arena_at; /* sizes to which arena_bytes applies, "s0 = 7, ..."; null if arena_bytes is constant */
} RtSpecialization;

typedef struct RtWeightForm { const char *name; int64_t bytes; } RtWeightForm;

/* cuda.c; only programs with code for the GPU link it */
typedef struct RtCudaImage { int arch; int64_t offset; } RtCudaImage;   /* arch: 90 for machine code, -90 for PTX */
/* A kind of step that runs on the host. If `name` is null, the reason why a specialization has no code for the
 * device. */
typedef struct RtCudaStep {
	int specialization, times;
	const char *name, *why;
} RtCudaStep;
typedef struct RtCudaWant {
	const char *name;    /* requested device: cuda or cuda:1; if null, the CPU is used if there is no device */
	int   index;                     /* index of the device, if `name` has no number */
	void *stream;                    /* the caller's CUstream; if null, the program makes its own */
} RtCudaWant;
typedef struct RtCudaProgram {
	const RtCudaImage *image;
	const char *const *kernel;       /* names */
	int nimage, nkernel;
	/* number of kernels that each specialization launches; -1 if it has no code for the device */
	const int *launches;
	const RtCudaStep *host;          /* (nhost) steps of device code that run on the host */
	int nhost;
	const int *constant;             /* (nconstant) indices in cx->value of the tensors that kernels read */
	int nconstant;
	int  (*start)(RtCx *, const struct RtProgram *, const RtCudaWant *);     /* rt_cuda_start */
	void (*stop)(RtCx *);
	/* rt_cuda_leave: takes the device from the context after fetching the state on it. */
	struct RtCuda *(*leave)(RtCx *);
	/* prints, for --info, which steps of a specialization run on the device: as a member of a JSON object, or as
	 * lines */
	void (*about)(void *file, const struct RtCudaProgram *, int specialization, bool json);
	/* door.h: functions for tensors in the caller's device memory; null if the program is not a library */
	const struct RtCudaDoor *door;
} RtCudaProgram;

/* State that all contexts of a loaded program share, under one lock. It is the only data of its own that a program
 * writes to. */
typedef struct RtShared {
	int   loads;                     /* number of contexts that have loaded the program */
	char *made, *moved; /* weights computed at the first load; weights moved by rt_warm; null if there are none */
} RtShared;

/* Code of a program for processors with the features in `needs` (needs.h). */
typedef struct RtLevel {
	const char *name, *needs;        /* name: argument of --cpu */
	const void *kernels;             /* struct Kernels of the level, if there are several levels; otherwise null */
} RtLevel;

/* A file that was saved with the model (_extra_files).  Its content is at an offset in the weights. */
typedef struct RtExtra { const char *name; int64_t offset, bytes; } RtExtra;

struct RtWeightsFrom;
typedef struct RtProgram {
	const char *name, *provenance;   /* provenance: lines "key: value" */
	const RtLevel *const *levels;    /* levels, the most demanding one first; ends with null */
	/* the level that runs on this processor, chosen by rt_cpu_choose; null if there is none */
	const RtLevel *level;
	const RtMethod *method;
	/* constants of all codes, of which nvalue are not parts of others, then the image of the instance */
	const RtConst *constant;
	const RtSpan *storage;
	RtUnpack *unpack;                /* rt_unpack_columns; null if no storage is packed */
	RtShared *shared;
	const RtSpecialization *specialization;
	const RtExtra *extra;            /* (nextra) files that were saved with the model */
	const RtWeightForm *form;        /* number of bytes of weights in each form; the last entry has no name */
	const char *weights;             /* the linked weights; null if they are in the file `weights_file` */
	const char *weights_file;
	/* rt_beside, which maps the file of weights; null if the weights are linked */
	int  (*beside)(RtCx *, struct RtProgram *, const struct RtWeightsFrom *);
	void (*unmap)(struct RtProgram *);       /* rt_beside_end; null if the weights are linked */
	/* rt_beside_watch. Null if the weights are linked, and in libraries, which handle no signals. */
	void (*watch)(void);
	/* whether the caller owns the memory of the weights; then no page is given back to the system */
	bool weights_lent;
	uint64_t weights_hash, weights_sample;   /* hash_bytes and rt_weights_sample of the file's content */
	/* Number of bytes of weights that small-batch products stream from memory on each call. 0 if the weights fit in
	 * cache. */
	int64_t streamed;
	/* computes the weights in `making` when the first context loads the program; null if there are none */
	int  (*open)(RtCx *);
	int  (*warm)(RtCx *);            /* rt_warm, which moves streamed weights; null if they are not moved */
	void (*cool)(const struct RtProgram *);          /* frees the memory of moved weights */
	const char *forms;               /* value of --forms: made, fast, small */
	/* alone_bytes: number of bytes of weights that are read only to compute others */
	int64_t weights_bytes, made_bytes, alone_bytes;
	int64_t unpacked_bytes;          /* number of bytes of packed weights that specialized code may unpack */
	const RtMaking *making;          /* (nmaking) weights to compute at the first load */
	RtMake *make;
	/* rt_widen; null if there are no 16-bit panels */
	void  (*widen)(RtDtype, const uint16_t *from, float *to, int64_t n);
	int nmaking, nextra;
	int nmethod, nconstant, nvalue, nstorage, nspecialization;
	/* with kiln build --bench-code: JSON objects that describe the launches; otherwise null */
	const char *launches;
	const RtCudaProgram *cuda;       /* code for the GPU; null if there is none */
	/* rt_close_text, which compares what the model prints. Null if the model prints nothing. */
	bool (*close_text)(const char *got, const char *want, struct Buf *why);
	/* rt_instance_fresh, which copies the model's object, the last constant; null if methods write to no
	 * attributes */
	int  (*fresh)(RtCx *);
	uint64_t seed;
	bool seeded;
	uint8_t torch;                   /* an RtTorch */
	uint8_t engine;                  /* an RtEngine */
	bool no_grad;                    /* whether torch.is_grad_enabled() is False when a call begins */
	int threads;                     /* default of --threads; 0 for one thread; -1 for one for each core */
} RtProgram;

/* Sets cx->value and cx->instance. The first context that loads a program also computes its weights, on that context's
 * threads. May be called on any thread. After an error nothing is loaded. */
int  rt_program_load(RtCx *, const RtProgram *);
int  rt_program_fresh(RtCx *);                        /* makes a fresh instance, with private copies of the state */
int  rt_instance_fresh(RtCx *);
int  rt_program_again(RtCx *); /* also resets constants, because calls may write to them; changes nothing if it fails */
/* Runs a method: its specialized code, or the interpreter. `args` are nparam arguments without self, borrowed.
 * `results` are new references. */
int  rt_program_call(RtCx *, const RtMethod *, const IValue *args, IValue *results);
/* Fetches state that is newer on a GPU. Call this before reading or writing the instance's tensors on the host. */
int  rt_host_reads_state(RtCx *);
void rt_program_free(RtCx *);
IValue rt_default(const RtCx *, const RtParam *);     /* returns a borrowed value */
int  rt_main(const RtProgram *, int argc, char **argv);      /* start.c */

/* Functions for arguments, results and constants that are containers or other objects. A program sets the pointers that
 * it does not need to null (cgen.c: put_parts); all.c sets all of them. `depth` is the nesting depth of the value. */
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
/* Functions for texts in an .npz (npz_text.c). If rt_texts is null, only tensors are read and written. */
typedef struct RtTexts {
	/* Adds an array of n bytes with the dtype `descr`, such as '<U5'. If count is null, the array is 0-d; otherwise
	 * it has *count texts. */
	int  (*read)(RtCx *, struct RtArrays *, const char *key, const char *descr, const int64_t *count,
		     const unsigned char *bytes, int64_t n);
	void (*write)(const RtStr *, char descr[32], struct Buf *bytes);
} RtTexts;
extern const RtTexts *const rt_texts, rt_texts_all;
/* Whether two printed texts are the same (compare.c). Ignores blanks, and compares floating numbers to four digits. */
bool rt_close_text(const char *got, const char *want, struct Buf *why);
RtReadOther rt_read_any;
RtWriteOther rt_write_any;
RtCloseOther rt_close_any;
RtBuildOther rt_build_any;

/* ---- cpu.c: choice of the level of a program that runs here ------------------------------------------------------ */

/* Sets p->level to the first level that runs on this processor, and returns null. If there is no such level, returns
 * the reason, which it writes to `text`. */
const char *rt_cpu_choose(RtProgram *, char *text, size_t n);

/* ---- beside.c: weights in a file of their own -------------------------------------------------------------------- */

typedef struct RtWeightsHead {           /* The first bytes of the file of weights. */
	char     magic[8];
	int64_t  bytes;                  /* number of bytes after the head */
	uint64_t hash;                   /* hash_bytes of these bytes */
	char     zeros[40];
} RtWeightsHead;
RtWeightsHead rt_weights_head(int64_t bytes, uint64_t hash);
uint64_t rt_weights_sample(const char *at, int64_t bytes);   /* returns a hash of at most 64 KB of these bytes */
typedef struct RtWeightsFrom {
	const char *path;                /* file of the weights; if null, the file beside the program */
	const void *memory;              /* content of the file, aligned to 64 bytes; null if it is to be mapped */
	int64_t bytes;
	bool all;                        /* whether all bytes are checked, not only a sample */
} RtWeightsFrom;
/* Maps the file and sets p->weights. Raises an error if the file was not built with the program: checks its length,
 * head and sample. */
int  rt_beside(RtCx *, RtProgram *p, const RtWeightsFrom *);
void rt_beside_end(RtProgram *);
/* Installs a signal handler. If another process truncates the mapped file, this process ends with a message. */
void rt_beside_watch(void);

/* ---- warm.c --------------------------------------------------------------------------------------------------- */

int  rt_make_weights(RtCx *);    /* RtProgram.open: computes the weights in `making` */
int  rt_warm(RtCx *);            /* moves streamed weights to pages of 2 MB, once */
void rt_cool(const RtProgram *);

/* ---- plan.c: functions that specialized code calls ----------------------------------------------------------- */

/* A specialization works on the frame's registers (first the arguments, at the end the results), on its own values v,
 * and on one arena. Its planned tensors are pointers. rt_box_* make tensor values from them. */
/* Guard: whether the value is a tensor of this dtype and geometry. Strides along sizes of 1 are not compared. */
bool   rt_is_tensor_of(IValue, RtDtype, int ndim, const int64_t *dims, const int64_t *strides);
/* Guard like rt_is_tensor_of, with symbols: dims[i] <= -2 stands for the symbol size[-2 - dims[i]]. A symbol that is
 * still 0 is bound to the first size that it meets. No symbol is bound to 0 or 1. */
bool   rt_is_tensor_sized(IValue, RtDtype, int ndim, const int64_t *dims, int64_t *size);
bool   rt_is_text(IValue, const char *, int64_t n);
const IValue *rt_parts(IValue, int64_t *n);             /* elements of a list or tuple; n is 0 for other values */
/* Whether no written tensor overlaps another tensor of args. Tensors inside containers are included. */
bool   rt_none_overlap(const IValue *written, int n, const IValue *args, int narg);
/* returns the context's arena, with at least `bytes`; null if an error was raised */
char  *rt_arena(RtCx *, int64_t bytes);
/* Returns a tensor over planned memory, which must outlive it. geometry: dims, then strides. */
IValue rt_box_borrow(RtCx *, RtDtype, int ndim, const int64_t *geometry, void *data);
/* Returns a view of base. offset: in elements from base's first element. */
IValue rt_box_view(RtCx *, IValue base, RtDtype, int ndim, const int64_t *geometry, int64_t offset);
IValue rt_box_new(RtCx *, RtDtype, int ndim, const int64_t *geometry);
/* Returns a tensor that owns a copy of the `span` bytes at data. */
IValue rt_box_copy(RtCx *, RtDtype, int ndim, const int64_t *geometry, const void *data, int64_t span);
/* Runs a generated kernel by rt_parallel. name: its name in --trace. */
void   rt_launch(RtCx *, const char *name, int64_t n, int64_t grain, void (*body)(void *, int64_t, int64_t), void *arg);
/* An open with-scope: the object's __exit__ and the object (borrowed). */
typedef struct RtWith { const RtCode *exit; IValue object; } RtWith;
/* Calls the __exit__ of n scopes after an error, innermost first. An error in an __exit__ replaces the first one. */
void   rt_exit_all(RtCx *, const RtWith *, int n);
/* takes the values; None if memory is exhausted */
IValue rt_list_of(RtCx *, const RtType *elem, const IValue *v, int n);
IValue rt_tuple_of(RtCx *, const RtType *named, const IValue *v, int n);
void   rt_move(void *to, const void *from, int64_t bytes);
/* Handles arguments that fit no specialization: runs the generic code from its start, or raises an error under
 * --strict. */
int    rt_miss(RtCx *, const RtCode *, IValue *reg);
void   rt_plan_taken(RtCx *, const RtCode *, const char *kind, int index);       /* prints for --guards */
void   rt_values_drop(IValue *v, int n);
void   rt_finish(IValue *reg, int nreg, IValue *result, int n);      /* moves results to the first registers */

/* ---- steps.c: calls of the runtime in specialized code, as data ------------------------------------------------- */

/* Kinds of a step's operand. An operand has its kind in the top four bits, and an index or a number in the low 28. */
enum {
	RT_FROM_NONE,                    /* None */
	RT_FROM_SLOT,                    /* v[] */
	RT_FROM_REGISTER,                /* reg[] */
	RT_FROM_VALUE,                   /* cx->value[] */
	RT_FROM_WEIGHT,                  /* cx->value[]; its packed tensors are unpacked first */
	RT_FROM_INT, RT_FROM_BOOL,       /* the number itself */
	RT_FROM_BOX,                     /* box[] of the specialization */
	RT_FROM_MADE,                    /* made[] of the frame; the step takes the reference */
	RT_FROM_NUMBER,                  /* number[] of the frame */
	RT_FROM_LIST,                    /* list of the next n operands */
	RT_FROM_NUMBERS,                 /* list of ints from number[]: count in bits 20-27, first index below */
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
	int64_t  at;                     /* offset in bytes in the arena; of a view: offset in elements in its base */
	int64_t  span;                   /* number of bytes that a copy owns */
	uint32_t base;                   /* operand of which a view is taken: a slot, a register or a value */
	uint8_t  kind, dtype;
	int8_t   ndim;
} RtBox;

struct RtFrame;
struct RtStep;
typedef int RtStepRun(const struct RtFrame *, const struct RtStep *, IValue *in, IValue *got);
typedef struct RtStored {                /* An in-place or out= operator whose base operator has a body. */
	const RtCode *body;
	const int *from;                 /* (nfrom) index in in[] of each argument of the body; -1 for None */
	int nfrom, nresult;
} RtStored;
typedef struct RtStep {
	RtStepRun *run;
	union {
		RtKernel   *kernel;
		size_t      level;       /* offset of the kernel in the program's struct Kernels, if by_level */
		RtBody     *body;
		const char *method;
	} by;
	union { RtWhat what; const RtStored *stored; } with;
	uint32_t use;                    /* RtCall.use of the kernel */
	uint32_t line : 31;              /* line of the generic code, for tracebacks */
	uint32_t by_level : 1;           /* whether the kernel is that of the level chosen at start */
	uint32_t in;                     /* index of the first operand; the slots of the results follow the operands */
	uint16_t nin, nout;
} RtStep;
RtStepRun rt_step_row, rt_step_call, rt_step_method, rt_step_store, rt_step_body, rt_step_list, rt_step_tuple;

typedef struct RtGuard {                 /* A guard: where generic code resumes if it fails. */
	const char *why;
	int pc, n;
	uint32_t live;                   /* index of the first of n live operands; their registers follow them */
	uint32_t line;
} RtGuard;

typedef struct RtSteps {                 /* The tables of one specialization. */
	const RtStep   *step;
	const uint32_t *operand;
	const RtBox    *box;
	const RtGuard  *guard;
	const RtCode   *code;            /* the generic code */
	int             nv;              /* number of slots */
} RtSteps;
typedef struct RtFrame {                 /* A call of a specialization. */
	const RtSteps *of;
	RtCx   *cx;
	IValue *reg, *v;
	IValue *given, *got;             /* room for the operands and results of one step */
	IValue *made;                    /* operands of the next step that the function has computed itself */
	const IValue *number;            /* numbers that depend on sizes */
	char   *arena;
} RtFrame;
/* Runs n steps from `first` on. If a step fails, returns its status and adds its line to the error's traceback. */
int    rt_steps(const RtFrame *, int first, int n);
/* A lock within a process. A child that was forked while a thread of its parent held the lock takes it over, because
 * that thread does not exist in the child. So guarded data is changed only by single stores, each of which leaves it
 * valid. */
typedef RT_ATOMIC int RtProcessLock;     /* id of the process whose thread holds the lock; 0 if it is free */
void   rt_process_lock(RtProcessLock *);
void   rt_process_unlock(RtProcessLock *);
IValue rt_weight(RtCx *, int i);         /* returns cx->value[i], borrowed, with its weights unpacked (weights.c) */
bool   rt_unpacks(IValue);               /* whether rt_unpack_all may have anything to unpack in such a value */
/* returns a new reference, and moves *at to the next operand */
IValue rt_step_operand(const RtFrame *, const uint32_t **at);
int    rt_step_exit(RtCx *, const RtWith *, const RtCode *, uint32_t line);
/* Bails out of specialized code after a failed guard: fills the registers with the guard's live values, drops the
 * slots, and resumes the generic code. */
int    rt_bail(const RtFrame *, int guard);

/* ---- sizes.c: dynamic specializations ---------------------------------------------------------------------------- */

/* A size: c * s[atom[0]] * ... s[atom[n - 1]] + d. If n < 0, it is s[atom[0]] itself, and the first number with this
 * expression defines that s. */
typedef struct RtSizeExpr {
	int64_t c, d;
	int16_t n, atom[4];
} RtSizeExpr;
/* live range from step `first` to step `last` */
typedef struct RtSizeBuffer { RtSizeExpr bytes; int first, last; } RtSizeBuffer;
typedef struct RtSizeCount { RtSizeExpr x; int64_t q; } RtSizeCount;     /* ceil(x / q): a number of tiles or panels */
typedef enum RtSizeTieKind { RT_TIE_CEIL, RT_TIE_REST } RtSizeTieKind;
/* A condition on sizes: ceil(x / q), or x mod q, equals y. It held for all samples, and formulas may rely on it. */
typedef struct RtSizeTie {
	RtSizeTieKind kind;
	RtSizeExpr x;
	int64_t q;
	RtSizeExpr y;
} RtSizeTie;
typedef struct RtSizes {
	const char *name;          /* name of the function */
	/* Computes the other s from the symbols. Returns false if the specialization does not accept them. If it is
	 * null, `code` runs instead. */
	bool (*prove)(int64_t *s);
	const RtCode *code;        /* operators, to be run without data; RT_DO_PROFILE compares their numbers */
	const RtSizeExpr *expr;
	/* (nnumber) index in expr of the expected value of each number, in the order in which they are computed */
	const uint16_t *number;
	const RtSizeBuffer *buffer;
	const RtSizeCount *count;        /* (ncount) s[natom + i]; x may use earlier counts */
	const RtSizeTie *tie;            /* (ntie) conditions, checked once all s are known */
	const int64_t (*range)[2];       /* (nsymbol) smallest and largest value */
	int nnumber, nsymbol, natom, nbuffer, ncount, ntie;
} RtSizes;
/* Special index of an RT_DO_PROFILE: the next instruction runs on real data, because its tensors contain sizes. */
enum { RT_SIZES_RUN = 0x7fffffff };
/* A layout that was computed for a call. A context keeps the last RT_LIMIT_SIZES_KEPT of them. */
typedef struct RtKnownSizes {
	struct RtKnownSizes *next;       /* next entry of the cache, which was used less recently */
	const RtSizes *of;
	bool    fits;
	int64_t s[];     /* natom values, of which the first are the symbols; then counts, then offsets */
} RtKnownSizes;
/* Returns s[0 .. natom + ncount), followed by the offset of each buffer and the arena's size in bytes. The first
 * elements of s are the symbols. Null if the specialization does not accept these symbols, or if an error was
 * raised. */
const int64_t *rt_sizes(RtCx *, const RtSizes *, const IValue *reg, const int64_t *symbol);
static inline double rt_double_of(int64_t bits) { union { int64_t i; double f; } u = { bits }; return u.f; }
/* rt_see passes a value to `put` as numbers: dtype, sizes, strides, and the earlier tensor whose storage it shares. The
 * elements of a container follow in order. RT_SEEN_FIXED marks a number that must be the same for all symbols. */
typedef enum RtSeenKind { RT_SEEN_INT, RT_SEEN_DIM, RT_SEEN_FIXED } RtSeenKind;
typedef struct RtSeenStorage {
	RtStorage *storage;              /* storage of tensor i */
	int before;                      /* 1 + index of the previous tensor in the same bucket; 0 if there is none */
	int newest;                      /* 1 + index of the last tensor in bucket i; 0 if there is none */
} RtSeenStorage;
typedef struct RtSeen {
	void (*put)(struct RtSeen *, int64_t, RtSeenKind);
	RtSeenStorage *at;               /* (n) the tensors visited so far */
	int n, cap;                      /* cap: a power of two */
} RtSeen;
/* Returns a copy of the value whose tensors have no data. cx->meta must be set. */
IValue rt_without_data(RtCx *, IValue);
void  rt_see(RtSeen *, IValue);
void  rt_seen_back(RtSeen *, int n);     /* forgets all tensors after the first n */
void  rt_seen_free(RtSeen *);

/* ---- cuda_info.c: --info of device code ------------------------------------------------------------------------- */

/* Prints which steps run on the device. `file` is a FILE; programs compiled by tcc have no header for it. */
void rt_cuda_about(void *file, const RtCudaProgram *, int specialization, bool json);

/* ---- cuda.c: the device ----------------------------------------------------------------------------------------- */

/* A buffer of a specialization. offset: offset in the arena, or -1 if it is elsewhere. slot: index in v[] of its
 * tensor, or -1 if it has none. stays: whether it may stay on the device, because the caller does not get the tensor
 * when the call ends. */
typedef struct RtCudaPlace { int64_t bytes, offset; int slot; bool stays; } RtCudaPlace;
/* A tensor that a specialization returns and that fills a buffer: index of the buffer, index among the call's results,
 * dtype, and geometry (dims, then strides). */
typedef struct RtCudaResult { int buffer, index, dtype, ndim; const int64_t *geometry; } RtCudaResult;
typedef struct RtCopy {                  /* Device memory that mirrors bytes of the host: cuda_memory.c. */
	RtStorage *storage;    /* a reference that keeps the host's bytes at their address; null if there is none */
	char    *host;
	uint64_t device;
	int64_t  bytes;
	int64_t  from, to;               /* range of bytes that is newer on the device; empty if no bytes are */
	bool     there;                  /* whether the device has all other bytes */
	bool     stays;    /* as RtCudaPlace.stays; also set for a result whose device address the caller has */
	bool     lent;    /* whether the device memory belongs to the caller; such a copy ends with the call */
	int      result;    /* index of the result for which the caller lent the memory; -1 if it is none */
	int      users;                  /* number of mirrors that are bound to it */
} RtCopy;
typedef struct RtMirror { RtCopy *copy, own; } RtMirror;         /* own: a copy in the arena, or of a constant */
typedef struct RtCudaFrame {             /* A call of a specialization that runs on the device. */
	RtCx     *cx;
	const RtCode *code;
	RtMirror *mirror;                /* (n + 1) mirrors, by buffer */
	const RtCudaPlace *place;
	const RtCudaResult *result;      /* (nresult) results that fill a buffer */
	IValue   *v;
	int       n, nresult;
	uint64_t  base;                  /* address of the arena on the device */
	const int64_t *size;             /* (nsize) sizes that kernels read; null if all sizes are constant */
	int       nsize;
} RtCudaFrame;
/* RT_CUDA_FILL: the kernel writes without reading */
typedef enum RtCudaUse { RT_CUDA_READ, RT_CUDA_FILL, RT_CUDA_WRITE } RtCudaUse;
typedef struct RtCudaArg {
	int      m;                      /* index of the buffer; -1 for a number */
	char    *host;                   /* current address of the buffer's first byte */
	int64_t  at;                     /* offset in bytes of the first element */
	double   number;
	RtCudaUse use;
	int64_t  from, to;               /* range of bytes that may be written */
} RtCudaArg;
typedef struct RtCudaPart { int m; char *host; int64_t at; } RtCudaPart;    /* A part of a buffer, as in RtCudaArg. */
/* checks: whether the kernel checks indices; x, y, z: numbers of blocks */
typedef struct RtCudaLaunch { int kernel, nargs; uint32_t line; bool checks; int64_t x, y, z; } RtCudaLaunch;

/* Makes cx->cuda: driver, device, module, constants. On failure it raises an error if the device was named; otherwise
 * it warns. */
int   rt_cuda_start(RtCx *, const RtProgram *, const RtCudaWant *);
void  rt_cuda_stop(RtCx *);
int   rt_cuda_begin(RtCudaFrame *, char *arena, int64_t bytes);
/* Fetches results, and arguments that were written to. With `all`, also the state. If a library's call has tensors on
 * the device, its results stay there (RtCuda.lazy). */
int   rt_cuda_finish(RtCudaFrame *, bool all);
void  rt_cuda_end(RtCudaFrame *);
/* Launches a kernel. If `wrong` is not null, waits for it and sets *wrong to whether an index is out of range. */
int   rt_cuda_launch(RtCudaFrame *, const RtCudaLaunch *, const RtCudaArg *, bool *wrong);
/* Whether an index was out of range in a launch since the last call of this function, or an error was raised. Waits for
 * the stream if it was not waited for since that launch. */
bool  rt_cuda_index_failed(RtCudaFrame *);
int   rt_cuda_move(RtCudaFrame *, RtCudaPart to, RtCudaPart from, int64_t bytes);
/* Returns host, the first byte of buffer i, once the host's bytes are up to date. An error is raised in cx. */
char *rt_cuda_home(RtCudaFrame *, int i, char *host);
void  rt_cuda_written(RtCudaFrame *, int i);              /* marks buffer i as written, or made anew, by the host */
int   rt_cuda_settle(RtCx *);    /* fetches all tensors outside of arenas, so that the host may read any of them */
void  rt_cuda_all_written(RtCx *);    /* marks all tensors outside of arenas as written by the host */
/* Fetches all tensors and takes the device from the context. Until the caller puts it back, everything runs on the
 * host. */
struct RtCuda *rt_cuda_leave(RtCx *);

#endif
