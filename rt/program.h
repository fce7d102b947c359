/* rt/program.h - what an emitted program is made of: its tables, what specialized code calls, sizes, the device
 *
 * Emitted C includes it, and of the runtime what runs programs.  Ownership as in rt.h.
 */
#ifndef RT_PROGRAM_H
#define RT_PROGRAM_H

#include "rt.h"

/* ---- program.c: what an emitted program is made of --------------------------------------------------------- */

/* A constant, flattened: a container is followed by its parts (dict: key, value, ...; object: its slots). */
typedef struct RtConst {
	uint8_t tag;             /* an RtTag, or RT_AGAIN */
	uint8_t dtype, rank, flags;   /* tensors */
	int32_t n;               /* parts that follow; bytes of a string; tensor: index of its storage */
	union {
		int64_t i;       /* int, bool, device; tensor: offset in elements; RT_AGAIN: index of the row meant */
		double  f;       /* float; complex: re, a row with im follows */
	} u;
	const void *p;           /* string: text; tensor: dims then strides; else its RtType */
} RtConst;
enum { RT_AGAIN = 255 };

/* Weights that a program has only in the form that its kernels read: a storage is made of parts, and elements that no
 * part has are zero.  A part has n columns of k inputs times `taps`, stored as [panel][tap][k][column of the panel];
 * rt_packing_place says where an element is in the storage.  Distances are in elements; 0 where a member does not
 * apply. */
typedef struct RtPacking {
	int64_t at;                      /* where the part is: bytes from the beginning of the program's weights */
	int64_t to;                      /* its first element in the storage */
	int32_t n, k, taps, kw;          /* kw: taps of a row */
	int32_t width, last;             /* columns of a panel, and of the last one */
	int32_t sn, sk, sr, ss;          /* distances in the storage: of columns, k, rows of taps, taps of a row */
	int32_t kh, sd;                  /* taps over three dims: rows of a plane; from plane to plane */
	int32_t quad;                    /* weights of 8 bits (vint8.h): so many of k are side by side */
	/* weights of few bits (vcoarse.h), `quad` to a word, in groups of so many of k: floats, by `scales`, and by
	 * centres if centred; without scales they are bytes, each the integer + centred.  Two to a word: halves.
	 * Four to a word: integers, or floats of 8 bits if `from` is their dtype. */
	int32_t group, centred;
	int32_t from, as;                /* dtypes of 16 bits: of the part, of the storage; 0: 4 bytes, floats where the
	                                  * other has one */
	int32_t skip;                    /* columns of the first panel before the part's own */
	int32_t inner, so;               /* k by sk for `inner` of them, then by so from each such run to the next */
	int64_t scales;                  /* bytes from the beginning of the program's weights */
} RtPacking;

static inline int64_t
rt_packing_place(const RtPacking *p, int64_t column, int64_t k, int64_t tap)
{
	const int64_t row = p->inner ? k / p->inner * p->so + k % p->inner * p->sk : k * p->sk;
	const int64_t y = tap / p->kw, down = p->kh ? y / p->kh * p->sd + y % p->kh * p->sr : y * p->sr;

	return p->to + column * p->sn + row + down + tap % p->kw * p->ss;
}

/* packed.c: writes columns [first, end) of the part to their places in the storage's bytes, which begin as zeros.
 * Returns whether any element was not there already. */
typedef bool RtUnpack(const char *weights, const RtPacking *, int64_t first, int64_t end, void *to);
RtUnpack rt_unpack_columns;
typedef struct RtSpan {                  /* a storage in the weights */
	int64_t offset, bytes;           /* packed: how many parts, and not its offset */
	const RtPacking *packing;        /* null: as it is */
} RtSpan;

/* Weights in a form that would make a program too large: made of its panels when it is opened. */
typedef struct RtMaking {
	int64_t from, to;                /* bytes: of the panels in the weights, and of the result in what is made */
	int64_t alone;                   /* bytes at `from` that nothing else reads; or 0 */
	int64_t floats;                  /* elements of the panels, */
	int32_t half;                    /* which are numbers of this dtype of 16 bits; 0: floats */
	int32_t n, k, panels, tile;      /* columns, rows; Winograd's outputs, tile x tile: 4, 2; 0: panels of floats */
} RtMaking;
/* n numbers of bfloat16 or float16 as floats */
void rt_widen(RtDtype, const uint16_t *from, float *to, int64_t n);
/* Makes panels [begin, end). */
typedef void RtMake(const RtMaking *, const float *from, float *to, int64_t begin, int64_t end);

typedef struct RtParam {                 /* an argument of the model */
	const char   *name;
	const RtType *type;
	bool          has_default;
	IValue        deflt;
	int           value;     /* of a program: 1 + the index of the default in cx->value; 0: deflt */
} RtParam;

struct RtGradients;
typedef struct RtMethod {
	const char    *name;     /* forward */
	const RtCode  *code;
	const RtParam *param;    /* nparam, without self */
	int            nparam;
	const RtType  *result;
	bool           takes_self;    /* argument 0 of the code is the instance */
	const struct RtGradients *gradients;   /* made with --grad (gradient.c), or null */
	const RtCode  *reference;              /* of the graph as it was read: --selfcheck-code; or null */
	const char    *generic;  /* Reason why it has generic code only. Null if it has a specialization. */
} RtMethod;

/* An option of a program: where in a struct it goes, and as what. */
enum { RT_OPTION_FLAG, RT_OPTION_TEXT, RT_OPTION_REST };    /* bool; const char *: --x T or --x=T; behind --x= */
typedef struct RtOption { const char *name; unsigned short place, as; } RtOption;

struct RtArrays;
struct RtTrain;
typedef struct RtGradients {         /* of a method; the functions are here so that other programs do not link them */
	const char *const *name;     /* of the gradients that it returns, n */
	int     n;
	int   (*write)(RtCx *, const char *path, const char *const *names, int n, IValue result);
	int   (*read)(RtCx *, const char *path, struct RtArrays *);
	int   (*train)(RtCx *, const RtMethod *, struct RtTrain *);
	const RtOption *options;     /* in an RtTrain; the last has no name */
	const char *usage;           /* of these, lines of --help */
} RtGradients;
int  rt_gradients_write(RtCx *, const char *path, const char *const *names, int n, IValue result);
int  rt_gradients_read(RtCx *, const char *path, struct RtArrays *to);   /* of the result: keys with grad. in front */
int  rt_train(RtCx *, const RtMethod *, struct RtTrain *);                    /* train.c, host.h */
extern const RtOption rt_train_options[];
extern const char rt_train_usage[];

typedef struct RtSpecialization {    /* for --info; chosen by the code's plan */
	const char *method, *kind;   /* exact, dynamic */
	const char *signature;       /* x: Float(1, 3, 224, 224), ... */
	int kernels, runtime_calls, guards;
	int64_t arena_bytes, arena_least;        /* least: what is alive at one step, the largest sum */
	const char *symbols;         /* ranges of dynamic sizes, "s0 from 2 to 113, ..."; null: there are none */
	const char *arena_at;        /* the arena grows with them: arena_bytes is for these, "s0 = 7, ..."; else null */
} RtSpecialization;

typedef struct RtWeightForm { const char *name; int64_t bytes; } RtWeightForm;

/* cuda.c, linked into programs with code for the GPU only */
typedef struct RtCudaImage { int arch; int64_t offset; } RtCudaImage;   /* 90: machine code; -90: PTX; in the weights */
/* A kind of step that leaves the device, or the reason why a specialization has no device code (name is null). */
typedef struct RtCudaStep {
	int specialization, times;
	const char *name, *why;
} RtCudaStep;
typedef struct RtCudaProgram {
	const RtCudaImage *image;
	const char *const *kernel;       /* names */
	int nimage, nkernel;
	const int *launches;             /* by specialization: kernels launched there; -1: it has no device code */
	const RtCudaStep *host;          /* nhost: steps of device code that the host computes */
	int nhost;
	int  (*start)(RtCx *, const struct RtProgram *);
	void (*stop)(RtCx *);
	/* prints, for --info, what of a specialization runs on the device: a member of a JSON object, or lines */
	void (*about)(struct Buf *, const struct RtCudaProgram *, int specialization, bool json);
} RtCudaProgram;

/* What all contexts that have loaded a program share, under one lock: a program's only data that is written. */
typedef struct RtShared {
	int   loads;                     /* contexts that have loaded it */
	char *made, *moved;              /* weights made at the first load, and moved by rt_warm; or null */
} RtShared;

/* Code of a program for processors that have what it needs (needs.h). */
typedef struct RtLevel {
	const char *name, *needs;        /* name: what --cpu said */
	const void *kernels;             /* of a program with several levels: its struct Kernels; or null */
} RtLevel;

/* A file that was saved beside the model (_extra_files): its bytes are among the weights. */
typedef struct RtExtra { const char *name; int64_t offset, bytes; } RtExtra;

struct RtWeightsFrom;
typedef struct RtProgram {
	const char *name, *provenance;   /* provenance: lines of key: value */
	const RtLevel *const *levels;    /* the one that needs most first; null behind the last */
	const RtLevel *level;            /* the one that runs here, once it was chosen (rt_cpu_choose); or null */
	const RtMethod *method;
	/* all constants of all codes, nvalue at the top level, then the instance's image */
	const RtConst *constant;
	const RtSpan *storage;
	RtUnpack *unpack;                /* rt_unpack_columns. Null if no storage is packed. */
	RtShared *shared;
	const RtSpecialization *specialization;
	const RtExtra *extra;            /* nextra */
	const RtWeightForm *form;        /* of which the weights' bytes are; the last has no name */
	const char *weights;             /* linked in, or null: in the file `weights_file` beside the program */
	const char *weights_file;
	/* rt_beside, which maps it, or null */
	int  (*beside)(RtCx *, struct RtProgram *, const struct RtWeightsFrom *);
	void (*unmap)(struct RtProgram *);       /* rt_beside_end, or null */
	/* rt_beside_watch; null: weights are linked in, or this is a library, which handles no signals */
	void (*watch)(void);
	bool weights_lent;               /* they are the caller's memory: no page of it is given back to the system */
	uint64_t weights_hash, weights_sample;   /* of the file: hash_bytes of all, rt_weights_sample */
	/* of the first so many bytes of weights, products of few rows read more a call than caches hold; or 0 */
	int64_t streamed;
	/* makes the weights in `making`, when the first context loads the program; or null */
	int  (*open)(RtCx *);
	int  (*warm)(RtCx *);            /* moves weights that are streamed (rt_warm); null: they stay where they are */
	void (*cool)(const struct RtProgram *);          /* gives that memory back */
	const char *forms;               /* --forms: made, fast, small */
	int64_t weights_bytes, made_bytes, alone_bytes;  /* alone_bytes: of the weights, read only to make others */
	const RtMaking *making;          /* nmaking */
	RtMake *make;
	void  (*widen)(RtDtype, const uint16_t *from, float *to, int64_t n);     /* rt_widen, if any has halves */
	int nmaking, nextra;
	int nmethod, nconstant, nvalue, nstorage, nspecialization;
	const char *launches;            /* of kiln build --bench-code: a JSON object for each, with commas; or null */
	const RtCudaProgram *cuda;       /* null: for the cpu only */
	/* rt_close_text, of what the model prints; or null: it prints nothing */
	bool (*close_text)(const char *got, const char *want, struct Buf *why);
	/* rt_instance_fresh: there is one more value, the model's object with all that methods may write; or null */
	int  (*fresh)(RtCx *);
	uint64_t seed;
	bool seeded;
	uint8_t torch;                   /* an RtTorch */
	uint8_t engine;                  /* an RtEngine */
	bool no_grad;                    /* torch.is_grad_enabled() is False when a call begins */
	int threads;                     /* unless --threads says otherwise; 0: one, -1: one per core */
} RtProgram;

/* Sets cx->value and cx->instance.  The first context that loads a program makes its weights, on that context's
 * threads.  May be called on any thread; after an error nothing is loaded. */
int  rt_program_load(RtCx *, const RtProgram *);
int  rt_program_fresh(RtCx *);                        /* a fresh instance: private copies of the state */
int  rt_instance_fresh(RtCx *);
int  rt_program_again(RtCx *);       /* the same of constants, too, which calls may write; on error nothing changes */
/* Runs a method by its specialized code, or interprets it.  args: (nparam), without self, borrowed; results: new. */
int  rt_program_call(RtCx *, const RtMethod *, const IValue *args, IValue *results);
void rt_program_free(RtCx *);
IValue rt_default(const RtCx *, const RtParam *);     /* borrowed */
int  rt_main(const RtProgram *, int argc, char **argv);      /* start.c */

/* What is done with arguments, results and constants other than tensors and what needs no memory.  A program that has
 * none such says null (cgen.c: put_parts); all.c has all.  depth: how far inside other values it is. */
struct RtReader;
struct RtLoader;
typedef int  RtReadOther(struct RtReader *, const RtType *, const char *key, IValue *out, int depth);
typedef int  RtWriteOther(RtCx *, struct RtArrays *, const char *key, IValue, int depth);
typedef void RtFormatOther(struct Buf *, IValue, int depth);
typedef bool RtCloseOther(RtCx *, const char *name, IValue got, IValue want, struct Buf *why, int depth);
typedef int  RtBuildOther(struct RtLoader *, const RtConst *, int row, IValue *out);
extern RtReadOther *const rt_read_other;              /* arguments, of an .npz (args.c) */
extern RtWriteOther *const rt_write_other;            /* results, to an .npz */
extern RtFormatOther *const rt_format_other;          /* results, as text (print.c) */
extern RtCloseOther *const rt_close_other;            /* both, and the instance (compare.c) */
extern RtBuildOther *const rt_build_other;            /* constants, but lists (program.c) */
struct RtArray;
/* Texts in an .npz (npz_text.c); null: only tensors are read and written. */
typedef struct RtTexts {
	/* Adds an array of type descr, '<U5', n bytes in all: of no dimensions, or a list of `count` texts. */
	int  (*read)(RtCx *, struct RtArrays *, const char *key, const char *descr, const int64_t *count,
		     const unsigned char *bytes, int64_t n);
	void (*write)(const RtStr *, char descr[32], struct Buf *bytes);
} RtTexts;
extern const RtTexts *const rt_texts, rt_texts_all;
/* Is what was printed the same (compare.c)?  Blanks do not count, and floating numbers are compared as they are
 * printed, to four digits. */
bool rt_close_text(const char *got, const char *want, struct Buf *why);
RtReadOther rt_read_any;
RtWriteOther rt_write_any;
RtCloseOther rt_close_any;
RtBuildOther rt_build_any;

/* ---- cpu.c: the level of a program that runs here ---------------------------------------------------------------- */

/* Sets the first level that runs here.  Null; or, in text, why the program does not. */
const char *rt_cpu_choose(RtProgram *, char *text, size_t n);

/* ---- beside.c: weights in a file of their own -------------------------------------------------------------------- */

typedef struct RtWeightsHead {           /* the file begins with it */
	char     magic[8];
	int64_t  bytes;                  /* behind it */
	uint64_t hash;                   /* of these */
	char     zeros[40];
} RtWeightsHead;
RtWeightsHead rt_weights_head(int64_t bytes, uint64_t hash);
uint64_t rt_weights_sample(const char *at, int64_t bytes);   /* a hash of some of them: of no more than 64 KB */
typedef struct RtWeightsFrom {
	const char *path;                /* null: beside the program */
	const void *memory;              /* what the file has, at an address that 64 divides; or null */
	int64_t bytes;
	bool all;                        /* every byte is looked at */
} RtWeightsFrom;
/* Maps the file and sets p->weights.  What is not the file that was built with the program is an error: its length,
 * head and sample are looked at. */
int  rt_beside(RtCx *, RtProgram *p, const RtWeightsFrom *);
void rt_beside_end(RtProgram *);
/* From now on the end of a mapped file that another process cuts short ends this one with a message. */
void rt_beside_watch(void);

/* ---- warm.c --------------------------------------------------------------------------------------------------- */

int  rt_make_weights(RtCx *);    /* what specialized code wants made: RtProgram.open; on the context's threads */
int  rt_warm(RtCx *);            /* weights that are streamed go to pages of 2 MB; once */
void rt_cool(const RtProgram *);

/* ---- plan.c: what specialized code stands on ----------------------------------------------------------------- */

/* A specialization works on the frame's registers (arguments at first, results at the end), on values v of its own, and
 * on one arena.  Tensors that it planned are pointers; where a value is wanted they are boxed by these. */
/* dims: the sizes, then the strides, of which those of sizes of 1 do not count */
bool   rt_is_tensor_of(IValue, RtDtype, int ndim, const int64_t *dims, const int64_t *strides);
/* dims[i] <= -2 is a symbol: size[-2 - dims[i]], bound to the first size met when it is 0; never to 0 or 1. */
bool   rt_is_tensor_sized(IValue, RtDtype, int ndim, const int64_t *dims, int64_t *size);
bool   rt_is_text(IValue, const char *, int64_t n);
const IValue *rt_parts(IValue, int64_t *n);             /* elements of a list or tuple; of any other value 0 */
/* tensors of args, inside containers too */
bool   rt_none_overlap(const IValue *written, int n, const IValue *args, int narg);
char  *rt_arena(RtCx *, int64_t bytes);                 /* the thread's arena, at least so large; null: error */
/* over planned memory: must not outlive it; geometry: dims, strides */
IValue rt_box_borrow(RtCx *, RtDtype, int ndim, const int64_t *geometry, void *data);
/* offset in elements from base's first */
IValue rt_box_view(RtCx *, IValue base, RtDtype, int ndim, const int64_t *geometry, int64_t offset);
IValue rt_box_new(RtCx *, RtDtype, int ndim, const int64_t *geometry);
/* owns a copy of span bytes from data on */
IValue rt_box_copy(RtCx *, RtDtype, int ndim, const int64_t *geometry, const void *data, int64_t span);
/* A generated kernel, by rt_parallel; name: for --trace. */
void   rt_launch(RtCx *, const char *name, int64_t n, int64_t grain, void (*body)(void *, int64_t, int64_t), void *arg);
/* A with-scope that is open: the object's __exit__, and the object (borrowed). */
typedef struct RtWith { const RtCode *exit; IValue object; } RtWith;
/* an error leaves n scopes, innermost first; one of an __exit__ takes its place */
void   rt_exit_all(RtCx *, const RtWith *, int n);
IValue rt_list_of(RtCx *, const RtType *elem, const IValue *v, int n);         /* takes the values; None: no memory */
IValue rt_tuple_of(RtCx *, const RtType *named, const IValue *v, int n);
void   rt_move(void *to, const void *from, int64_t bytes);
/* No specialization fits these arguments: the generic code from its start, or an error under --strict. */
int    rt_miss(RtCx *, const RtCode *, IValue *reg);
void   rt_plan_taken(RtCx *, const RtCode *, const char *kind, int index);       /* for --guards */
void   rt_values_drop(IValue *v, int n);
void   rt_finish(IValue *reg, int nreg, IValue *result, int n);      /* results (taken) into the first registers */

/* ---- steps.c: calls of the runtime in specialized code, as data ------------------------------------------------- */

/* An operand of a step: its kind in the top four bits, an index or a number in the others. */
enum {
	RT_FROM_NONE,                    /* None */
	RT_FROM_SLOT,                    /* v[] */
	RT_FROM_REGISTER,                /* reg[] */
	RT_FROM_VALUE,                   /* cx->value[] */
	RT_FROM_INT, RT_FROM_BOOL,       /* the number itself */
	RT_FROM_BOX,                     /* box[] of the steps */
	RT_FROM_MADE,                    /* made[] of the frame, whose reference the step takes */
	RT_FROM_NUMBER,                  /* number[] of the frame */
	RT_FROM_LIST,                    /* a list of the next so many operands */
	RT_FROM_NUMBERS,                 /* a list of so many ints, the top 8 bits, of number[] from the others on */
};
#define RT_FROM(kind, i) ((uint32_t)(kind) << 28 | ((uint32_t)(i) & 0xfffffffu))
#define RT_IN_NONE RT_FROM(RT_FROM_NONE, 0)
#define RT_IN_SLOT(i) RT_FROM(RT_FROM_SLOT, i)
#define RT_IN_REGISTER(i) RT_FROM(RT_FROM_REGISTER, i)
#define RT_IN_VALUE(i) RT_FROM(RT_FROM_VALUE, i)
#define RT_IN_INT(i) RT_FROM(RT_FROM_INT, i)
#define RT_IN_BOOL(i) RT_FROM(RT_FROM_BOOL, i)
#define RT_IN_BOX(i) RT_FROM(RT_FROM_BOX, i)
#define RT_IN_MADE(i) RT_FROM(RT_FROM_MADE, i)
#define RT_IN_NUMBER(i) RT_FROM(RT_FROM_NUMBER, i)
#define RT_IN_LIST(n) RT_FROM(RT_FROM_LIST, n)
#define RT_IN_NUMBERS(i, n) RT_FROM(RT_FROM_NUMBERS, (uint32_t)(n) << 20 | (uint32_t)(i))
enum { RT_INT_BITS = 28, RT_NUMBERS_BITS = 20, RT_NUMBERS_MOST = 255 };
#define RT_DROP 0xffffffffu              /* Slot of a result that goes nowhere. */

/* A tensor operand whose type is known: over the arena, or a view of another value's storage. */
typedef enum RtBoxKind { RT_BOX_BORROW, RT_BOX_COPY, RT_BOX_VIEW } RtBoxKind;
typedef struct RtBox {
	const int64_t *geometry;         /* dims, then strides */
	int64_t  at;                     /* Offset in the arena in bytes. Of a view: in its base in elements. */
	int64_t  span;                   /* Number of bytes that a copy owns. */
	uint32_t base;                   /* Operand that a view is of: a slot, a register, a value. */
	uint8_t  kind, dtype;
	int8_t   ndim;
} RtBox;

struct RtFrame;
struct RtStep;
typedef int RtStepRun(const struct RtFrame *, const struct RtStep *, IValue *in, IValue *got);
typedef struct RtStored {                /* an in-place or out= row over a body */
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
	uint32_t use;                    /* as of RtCall, of the kernel */
	uint32_t line : 31;              /* line of the generic code, for tracebacks */
	uint32_t by_level : 1;           /* Whether the kernel is that of the level that runs. */
	uint32_t in;                     /* Index of its operands, behind which the slots of its results follow. */
	uint16_t nin, nout;
} RtStep;
RtStepRun rt_step_row, rt_step_call, rt_step_method, rt_step_store, rt_step_body, rt_step_list, rt_step_tuple;

typedef struct RtGuard {                 /* where the generic code goes on when it fails */
	const char *why;
	int pc, n;
	uint32_t live;                   /* Index of its n live operands, behind which their registers follow. */
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
typedef struct RtFrame {                 /* a call of it */
	const RtSteps *of;
	RtCx   *cx;
	IValue *reg, *v;
	IValue *given, *got;             /* Room for the operands and results of one step. */
	IValue *made;                    /* Operands of the next step that the function computes itself. */
	const IValue *number;            /* Numbers that sizes decide. */
	char   *arena;
} RtFrame;
/* Runs n steps from `first` on. Returns the status of the one that fails, whose line is in the error's trace then. */
int    rt_steps(const RtFrame *, int first, int n);
IValue rt_step_operand(const RtFrame *, const uint32_t **at);        /* a new reference; *at: the next operand */
int    rt_step_exit(RtCx *, const RtWith *, const RtCode *, uint32_t line);
/* A guard failed: fills the registers with its live values, drops the slots, and goes on in the generic code. */
int    rt_bail(const RtFrame *, int guard);

/* ---- sizes.c: dynamic specializations ---------------------------------------------------------------------------- */

/* c * s[atom[0]] * ... s[atom[n - 1]] + d; n < 0: s[atom[0]] itself, defined where it is first seen */
typedef struct RtSizeExpr {
	int64_t c, d;
	int16_t n, atom[4];
} RtSizeExpr;
typedef struct RtSizeBuffer { RtSizeExpr bytes; int first, last; } RtSizeBuffer;   /* alive between these steps */
typedef struct RtSizeCount { RtSizeExpr x; int64_t q; } RtSizeCount;     /* ceil(x / q): tiles, panels */
typedef enum RtSizeTieKind { RT_TIE_CEIL, RT_TIE_REST } RtSizeTieKind;
/* ceil(x / q), or x mod q, is y: all samples have it, so formulas may rest on it. */
typedef struct RtSizeTie {
	RtSizeTieKind kind;
	RtSizeExpr x;
	int64_t q;
	RtSizeExpr y;
} RtSizeTie;
typedef struct RtSizes {
	const RtCode *code;        /* the operators on tensors without data; RT_DO_PROFILE where numbers are compared */
	const RtSizeExpr *expr;
	const uint16_t *number;    /* (nnumber) in the order in which they show: index of what it has to be */
	const RtSizeBuffer *buffer;
	const RtSizeCount *count;        /* (ncount) the s behind the atoms; x may have earlier ones */
	const RtSizeTie *tie;            /* (ntie) asked once all s are known */
	const int64_t (*range)[2];       /* (nsymbol) least, most */
	int nnumber, nsymbol, natom, nbuffer, ncount, ntie;
} RtSizes;
/* index of a RT_DO_PROFILE: the next instruction is run on data, numbers in tensors */
enum { RT_SIZES_RUN = 0x7fffffff };
typedef struct RtKnownSizes RtKnownSizes;
/* The numbers s[0 .. natom + ncount), places of buffers behind them, and the arena's bytes behind those; the symbols
 * are the first. Null: these symbols do not fit, or an error. */
const int64_t *rt_sizes(RtCx *, const RtSizes *, const IValue *reg, const int64_t *symbol);
void  rt_sizes_free(RtCx *);
static inline double rt_double_of(int64_t bits) { union { int64_t i; double f; } u = { bits }; return u.f; }
/* A value as numbers: dtype, sizes, strides, whose storage it shares; those of a container in order.  fixed: no size,
 * the same for all symbols. */
typedef enum RtSeenKind { RT_SEEN_INT, RT_SEEN_DIM, RT_SEEN_FIXED } RtSeenKind;
typedef struct RtSeenStorage {
	RtStorage *storage;              /* of the i-th tensor */
	int before;                      /* the tensor before it in the same bucket, + 1; 0: none */
	int newest;                      /* the last tensor of the i-th bucket, + 1 */
} RtSeenStorage;
typedef struct RtSeen {
	void (*put)(struct RtSeen *, int64_t, RtSeenKind);
	RtSeenStorage *at;               /* (n) of the tensors so far */
	int n, cap;                      /* cap: a power of two */
} RtSeen;
/* tensors like these, without data, in containers like these; cx->meta is set */
IValue rt_without_data(RtCx *, IValue);
void  rt_see(RtSeen *, IValue);
void  rt_seen_back(RtSeen *, int n);     /* what was seen behind the first n tensors is forgotten */
void  rt_seen_free(RtSeen *);

/* ---- cuda_info.c: what runs on the device, for --info ----------------------------------------------------------- */

void rt_cuda_about(struct Buf *, const RtCudaProgram *, int specialization, bool json);

/* ---- cuda.c: the device ----------------------------------------------------------------------------------------- */

typedef struct RtCudaPlace { int64_t bytes, offset; } RtCudaPlace;   /* a buffer; offset in the arena, -1: elsewhere */
typedef struct RtMirror {                /* a buffer of a specialization, here and there */
	char    *host;                   /* its first byte; null: not known yet */
	uint64_t device;
	int64_t  bytes;
	bool     in_arena, own, here, there;   /* own: the device memory; here, there: that copy is up to date */
} RtMirror;
typedef enum RtCudaUse { RT_CUDA_READ, RT_CUDA_FILL, RT_CUDA_WRITE } RtCudaUse;   /* FILL: all of a new buffer */
typedef struct RtCudaArg {
	RtMirror *m;                     /* null: a number */
	char    *host;                   /* of the buffer's first byte now */
	int64_t  at;                     /* of the element meant, in bytes */
	double   number;
	RtCudaUse use;
} RtCudaArg;
typedef struct RtCudaPart { RtMirror *m; char *host; int64_t at; } RtCudaPart;   /* of a buffer: as in RtCudaArg */
typedef struct RtCudaGrid { int64_t x, y, z; } RtCudaGrid;                       /* blocks of a launch */

int   rt_cuda_start(RtCx *, const RtProgram *);           /* driver, device, module, weights; cx->cuda */
void  rt_cuda_stop(RtCx *);
int   rt_cuda_begin(RtCx *, RtMirror *, const RtCudaPlace *, int n, char *arena, int64_t bytes);   /* n + 1 mirrors */
void  rt_cuda_end(RtCx *, RtMirror *, int n);
/* wrong: of a kernel that checks indices, which sets it; or null */
int   rt_cuda_launch(RtCx *, int kernel, RtCudaGrid, const RtCudaArg *, int n, int *wrong);
char *rt_cuda_home(RtCx *, RtMirror *);                   /* of the arena: the host's copy, up to date; errors in cx */
void  rt_cuda_stale(RtMirror *, int n);                   /* the host may have written to these */
int   rt_cuda_move(RtCx *, RtCudaPart to, RtCudaPart from, int64_t bytes);

#endif
