/* rt/rt.h - the runtime: values, tensors, kernels, the interpreter, the thread pool
 *
 * Ownership: a function borrows its arguments and returns a new reference, unless its comment says otherwise.  A null
 * pointer or a non-zero status means that it failed; the error is then in the RtCx.
 *
 * Operators, Kiln's own and users' (kiln.h), are written against this header.  It includes no system header that tcc
 * lacks.
 */
#ifndef RT_H
#define RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limits.h"
#include "order.h"

#if defined __GNUC__ && !defined __TINYC__
#define RT_FORMAT(f, a) __attribute__((format(printf, f, a)))
#else
#define RT_FORMAT(f, a)
#endif

/* Qualifier of data that threads share without a lock: every access is atomic.  Programs built by tcc have no
 * threads. */
#ifdef __TINYC__
#define RT_ATOMIC
#else
#define RT_ATOMIC _Atomic
#endif

/* rt is compiled for size.  Loops over elements are compiled for speed: they stand below RT_FAST, down to RT_SMALL or
 * the end of the file.  `ninja tiny` does not optimize them: that would take most of the time of its build. */
#if defined __GNUC__ && !defined __clang__ && !defined __TINYC__ && !defined KILN_TEST
#define RT_FAST _Pragma("GCC optimize(\"O2\", \"tree-vectorize\", \"vect-cost-model=dynamic\", \"no-trapping-math\", \
	\"no-math-errno\", \"no-align-functions\", \"no-align-jumps\", \"no-align-labels\", \"tree-ch\", \
	\"tree-loop-im\", \"move-loop-invariants\", \"caller-saves\")")
/* Before a short loop over an array of accumulators: unrolled, the array lives in registers. */
#define RT_UNROLL _Pragma("GCC unroll 32")
#define RT_SMALL _Pragma("GCC reset_options")
/* Options for emitted code.  The generic program stands between RT_STEPS and RT_STEPS_END.  Specializations stand below
 * RT_LISTS and are compiled for size: they are long lists of addresses and launches.  In such long functions gcc's
 * points-to analysis takes most of the time and finds nothing, so it is off.  RT_LISTS also switches off passes that
 * remove redundant loads and stores: the code has the same size and compiles in two thirds of the time. */
#define RT_STEPS _Pragma("GCC push_options") _Pragma("GCC optimize(\"no-tree-pta\")")
#define RT_STEPS_END _Pragma("GCC pop_options")
#define RT_LISTS _Pragma("GCC optimize(\"Os\", \"no-tree-slp-vectorize\", \"no-tree-pta\", \"no-tree-dse\", \
	\"no-tree-fre\", \"no-tree-pre\", \"no-gcse\")")
#else
#define RT_FAST
#define RT_UNROLL
#define RT_SMALL
#define RT_STEPS
#define RT_STEPS_END
#define RT_LISTS
#endif

typedef struct RtCx RtCx;
typedef struct RtType RtType;
typedef struct RtClass RtClass;
typedef struct RtTensor RtTensor;
typedef struct RtStorage RtStorage;
typedef struct RtCode RtCode;
typedef struct RtInsn RtInsn;

/* ---- dtype.c ----------------------------------------------------------------------------------- */

typedef struct { uint16_t re, im; } RtC32;
typedef struct { float re, im; } RtC64;
typedef struct { double re, im; } RtC128;

typedef enum RtDtype {                  /* ORDER dtype: the codes of ATen's ScalarType, which archives store */
#define DTYPE(name, c, bytes, torch, numpy, cat, compute, brief) RT_##name,
#define NO_DTYPE(name, torch, brief) RT_##name,
#include "dtype.def"
#undef DTYPE
	RT_NDTYPE,
} RtDtype;

typedef struct RtDtypeInfo {
	const char *name, *torch, *numpy, *brief;   /* f32, float32, <f4, Float */
	uint8_t bytes;
	char    category;                           /* B I F C Q U E; a NO_DTYPE row has ? */
	uint8_t compute;                            /* an RtDtype */
} RtDtypeInfo;
extern const RtDtypeInfo rt_dtypes[RT_NDTYPE + 1];    /* by RtDtype; the last row is for invalid codes */

/* The category to which a dtype's numbers belong: U counts as I, E as F. */
static inline char
rt_kind(RtDtype d)
{
	const char category = rt_dtypes[d].category;

	return category == 'U' ? 'I' : category == 'E' ? 'F' : category;
}

float    rt_half_to_float(uint16_t);
uint16_t rt_float_to_half(float);               /* round to nearest even */
float    rt_bf16_to_float(uint16_t);
uint16_t rt_float_to_bf16(float);
float    rt_f8_to_float(RtDtype, uint8_t);      /* the dtype is one of category E */
uint8_t  rt_float_to_f8(RtDtype, float);        /* rounds to nearest even; overflows as PyTorch 2.15 does */
/* Converts n contiguous elements as ATen's copy does; complex -> real drops the imaginary part. */
void     rt_cast(RtDtype to, void *dst, RtDtype from, const void *src, int64_t n);
typedef struct RtRun { RtDtype dtype; int64_t step; } RtRun;     /* elements at equal distances; step in bytes */
void     rt_cast_strided(void *dst, RtRun to, const void *src, RtRun from, int64_t n);
RtDtype  rt_promote(RtDtype, RtDtype);          /* by ATen's table; RT_NDTYPE: no common type */
bool     rt_can_cast(RtDtype from, RtDtype to); /* may a result of `from` be written into a tensor of `to`? */
double   rt_largest(RtDtype);                   /* largest finite number of a floating or complex dtype */
/* float64 for a floating dtype, complex128 for a complex one; other dtypes are returned as they are */
RtDtype  rt_in_double(RtDtype);

/* ---- types: of values at run time; the compiler uses the same struct ------------------------------ */

typedef enum RtKind {
	TYPE_ANY, TYPE_NONE, TYPE_TENSOR, TYPE_INT, TYPE_FLOAT, TYPE_BOOL, TYPE_COMPLEX, TYPE_NUMBER, TYPE_STR,
	TYPE_DEVICE, TYPE_GENERATOR, TYPE_STORAGE, TYPE_STREAM,
	TYPE_LIST, TYPE_DICT, TYPE_OPTIONAL, TYPE_TUPLE, TYPE_UNION, TYPE_FUTURE, TYPE_AWAIT,   /* use `of` */
	TYPE_CLASS, TYPE_INTERFACE, TYPE_ENUM, TYPE_FUNCTION, TYPE_VAR,                         /* use `name` */
	TYPE_ANY_LIST, TYPE_ANY_TUPLE, TYPE_ANY_CLASS, TYPE_ANY_ENUM,
	TYPE_NKIND,
} RtKind;

/* Dtype, sizes and other facts of a tensor known at compile time; unknown ones are RT_UNKNOWN or null.  Programs have
 * no such info. */
typedef struct RtTensorInfo RtTensorInfo;

struct RtType {
	RtKind              kind;
	int                 n;        /* number of elements of `of` */
	const RtType *const *of;      /* List: element; Dict: key, value; Tuple, Union: members; Enum: type of values */
	const char         *name;     /* class, interface, enum, NamedTuple: qualified; variable: its name */
	const char *const  *field;    /* NamedTuple: n names; else null */
	RtClass            *cls;      /* class, interface, enum */
	const RtTensorInfo *tensor;   /* static facts about a tensor; null: any tensor */
};

/* A member of an enum.  The type of its value, the enum's of[0], says which of i, f and text holds it. */
typedef struct RtMember {
	const char *name;
	int64_t     i;
	double      f;
	const char *text;
} RtMember;

struct RtClass {
	const char          *name;    /* __torch__.a.b.C */
	int                  nslot;
	const char  **slot;           /* attribute names */
	const RtType **slot_type;
	int                  nmethod;
	const char  **method;         /* "interface.name", for calls that are resolved at run time */
	const RtCode **code;
	const RtType        *type;    /* type of its objects */
	int                  nmember; /* number of members of an enum */
	const RtMember      *member;
	struct ClassInfo    *info;    /* facts of the compiler (ir.h); null in programs */
};

extern const RtType rt_type_any, rt_type_none, rt_type_tensor, rt_type_int, rt_type_float, rt_type_bool,
	rt_type_complex, rt_type_number, rt_type_str, rt_type_device, rt_type_generator, rt_type_storage,
	rt_type_stream, rt_type_any_list, rt_type_any_tuple, rt_type_any_class, rt_type_any_enum, rt_type_list_int,
	rt_type_list_float, rt_type_list_bool, rt_type_list_str, rt_type_list_tensor;
bool rt_type_equal(const RtType *, const RtType *);            /* structural; classes by name */
struct Buf;
void rt_type_print(struct Buf *, const RtType *);              /* as Python: List[int], Optional[Tensor] */

/* ---- ivalue.c ------------------------------------------------------------------------------------ */

typedef enum RtTag {
	RT_NONE, RT_INT, RT_DOUBLE, RT_BOOL, RT_DEVICE,       /* held in the value itself */
	RT_TENSOR, RT_STR, RT_LIST, RT_DICT, RT_TUPLE, RT_OBJECT, RT_ENUM, RT_COMPLEX, RT_FUTURE, RT_FUNCTION,
	RT_GENERATOR, RT_STORAGE,                             /* reference-counted */
} RtTag;

typedef struct RtHead { int32_t refs; } RtHead;               /* first member of reference-counted types; atomic */

typedef struct IValue {                                       /* 16 bytes */
	uint64_t tag;
	union {
		int64_t i;                   /* int, bool; device: kind << 8 | index + 1, cpu is 0, cuda 1 */
		double  f;
		void   *p;
		RtHead *head;
		RtTensor *t;
		struct RtStr *str;
		struct RtList *list;
		struct RtDict *dict;
		struct RtTuple *tuple;
		struct RtObject *obj;
		struct RtEnum *en;
		struct RtComplex *c;
		struct RtFuture *fut;
		struct RtFunction *fn;
		struct RtGenerator *gen;
		RtStorage *storage;
	} u;
} IValue;

typedef struct RtStr     { RtHead h; int64_t n; char s[]; } RtStr;                   /* UTF-8, final 0 after n bytes */
typedef struct RtList    { RtHead h; const RtType *elem; int64_t n, cap; IValue *v; } RtList;
/* type: NamedTuple or null */
typedef struct RtTuple   { RtHead h; const RtType *type; int64_t n; IValue v[]; } RtTuple;
typedef struct RtObject  { RtHead h; RtClass *cls; IValue slot[]; } RtObject;
typedef struct RtEnum    { RtHead h; const RtType *type; struct RtStr *name; IValue value; } RtEnum;
typedef struct RtComplex { RtHead h; double re, im; } RtComplex;
typedef struct RtFunction { RtHead h; const RtCode *code; int n; IValue bound[]; } RtFunction;
typedef struct RtDictEntry { IValue key, value; uint64_t hash; bool dead; } RtDictEntry;
typedef struct RtDict {                                       /* A dict, in order of insertion. */
	RtHead h;
	const RtType *key, *value;
	int64_t n, used, cap;        /* live entries, entries in use, room */
	RtDictEntry *at;
	int32_t *slot;               /* open addressing into at, -1 free */
	int64_t nslot;
} RtDict;

static inline IValue rt_none(void)        { IValue v; v.tag = RT_NONE; v.u.i = 0; return v; }
static inline IValue rt_int(int64_t i)    { IValue v; v.tag = RT_INT; v.u.i = i; return v; }
static inline IValue rt_double(double f)  { IValue v; v.tag = RT_DOUBLE; v.u.f = f; return v; }
static inline IValue rt_bool(bool b)      { IValue v; v.tag = RT_BOOL; v.u.i = b; return v; }
/* takes the reference */
static inline IValue rt_ref(RtTag tag, void *p) { IValue v; v.tag = tag; v.u.p = p; return v; }
/* takes the reference */
static inline IValue rt_of(RtTensor *t)   { return rt_ref(RT_TENSOR, t); }
static inline bool   rt_is_none(IValue v) { return v.tag == RT_NONE; }
static inline bool   rt_counted(IValue v) { return v.tag >= RT_TENSOR; }

/* Reference counts are atomic, except for tcc, which has no threads. */
#if defined __GNUC__ && !defined __TINYC__
/* returns the count before */
static inline int32_t rt_count_add(RtHead *h, int32_t n) { return __atomic_fetch_add(&h->refs, n, __ATOMIC_ACQ_REL); }
static inline int32_t rt_refs(const RtHead *h) { return __atomic_load_n(&h->refs, __ATOMIC_RELAXED); }
#else
static inline int32_t rt_count_add(RtHead *h, int32_t n) { h->refs += n; return h->refs - n; }
static inline int32_t rt_refs(const RtHead *h) { return h->refs; }
#endif
static inline void
rt_count_up(RtHead *h)
{
	const int32_t before = rt_count_add(h, 1);

	RT_ASSERT(before > 0);
}
static inline bool
rt_count_down(RtHead *h)             /* was it the last reference? */
{
	const int32_t before = rt_count_add(h, -1);

	RT_ASSERT(before > 0);
	return before == 1;
}

IValue rt_retain(IValue);                 /* the same value; counts a reference */
void   rt_release(IValue);                /* drops a reference, frees at the last one; does not recurse deeply */
void   rt_assign(IValue *place, IValue v); /* takes v, releases the old value */
bool   rt_same(IValue, IValue);           /* `is` */
int    rt_equal(RtCx *, IValue, IValue, bool *out);   /* `==` of containers; tensors by bool(a == b) */
bool   rt_isinstance(IValue, const RtType *);
/* Can the value be used as one of the type?  A list whose element type is not known yet can if its elements can. */
bool   rt_may_be(IValue, const RtType *);
int    rt_need(RtCx *, IValue, const RtType *);       /* rt_may_be, then rt_settle; raises if not */
void   rt_settle(IValue, const RtType *);  /* sets unknown element types of lists inside the value */
IValue rt_some(RtCx *, const RtType *);    /* an empty value of the type; None when the type has none */
typedef struct RtTypeName { char text[256]; } RtTypeName;
RtTypeName rt_type_name(IValue);          /* for messages: "int", "Tensor", "List[int]"... */
#define rt_type_of(v) (rt_type_name(v).text)      /* valid until the end of the full expression */
IValue rt_deep_copy(RtCx *, IValue);      /* tensors cloned, sharing between parts kept */

RtStr    *rt_str_new(RtCx *, const char *, int64_t n);        /* n < 0: to the final 0 */
RtList   *rt_list_new(RtCx *, const RtType *elem, int64_t room);
int       rt_list_push(RtCx *, RtList *, IValue v);           /* takes v, even on failure */
RtDict   *rt_dict_new(RtCx *, const RtType *key, const RtType *value);
int       rt_dict_set(RtCx *, RtDict *, IValue key, IValue value);   /* takes both */
IValue   *rt_dict_get(RtDict *, IValue key);                  /* null when absent; borrowed */
bool      rt_dict_remove(RtDict *, IValue key);
RtTuple  *rt_tuple_new(RtCx *, const RtType *named, int64_t n);      /* a tuple of n None */
RtObject *rt_object_new(RtCx *, RtClass *);                   /* slots None */
RtEnum   *rt_enum_new(RtCx *, const RtType *, const char *name, IValue value);   /* takes value */
IValue    rt_complex(RtCx *, double re, double im);
RtFunction *rt_function_new(RtCx *, const RtCode *, int nbound);
uint64_t  rt_hash(IValue);

/* ---- tensor.c -------------------------------------------------------------------------------------- */

struct RtStorage {
	RtHead  h;
	/* RT_HEAP; RT_BORROWED: arena or mapped, not freed; RT_META: no data at all; RT_PACKED: not unpacked yet */
	RT_ATOMIC uint8_t kind;
	bool    readonly;        /* weights: rt_writable makes a private copy first */
	bool    written;         /* compiler only: a constant of the archive that some code may write to */
	int64_t bytes;
	char   *data;
	struct RtAccount *account;   /* account that counts its heap bytes, or null */
	const struct RtSpan *packed; /* RT_PACKED: weights from which its data will be unpacked */
};
enum { RT_HEAP, RT_BORROWED, RT_META, RT_PACKED };

typedef struct RtQuant {                 /* scale and zero point of a quantized tensor */
	RtHead  h;
	int     scheme;          /* ATen's QScheme: 0 per tensor affine, 1 per channel affine, ... */
	double  scale;
	int64_t zero;
	int64_t axis;            /* dim of scales and zeros, if per channel */
	RtTensor *scales, *zeros;
} RtQuant;

enum { RT_MAX_RANK = 64 };
enum {                                   /* RtTensor.flags */
	RT_WRAPPED = 1,          /* a Python number as a 0-d tensor: weaker in type promotion */
	RT_REQUIRES_GRAD = 2,
	RT_UNSET = 4,            /* a placeholder of rt_some: never read, and ignored by profiles */
	RT_PARAMETER = 8,
	RT_CONJ = 16,            /* a lazy conjugate view: its elements are the conjugates of those stored; bits.c */
	RT_NEG = 32,             /* a lazy negative view: bits.c */
	RT_BITS = RT_CONJ | RT_NEG,
};

struct RtTensor {
	RtHead     h;
	uint8_t    dtype, ndim, flags, layout;   /* layout: 0 strided */
	uint16_t   room;         /* number of dims that fit in geom */
	int64_t    offset;       /* index of the first element in the storage */
	int64_t   *dims;         /* (ndim) */
	int64_t   *strides;      /* (ndim), in elements, may be 0; never negative */
	RtStorage *storage;
	RtQuant   *quant;        /* null unless quantized */
	int64_t   *more;         /* heap memory of dims and strides if they outgrew geom; otherwise null */
	int64_t    geom[];
};

static inline char *
rt_data(const RtTensor *t)
{
	RT_ASSERT(rt_refs(&t->h) > 0 && rt_refs(&t->storage->h) > 0 && t->storage->kind != RT_META);
	return t->storage->data + t->offset * rt_dtypes[t->dtype].bytes;
}

int64_t   rt_numel(const RtTensor *);
bool      rt_is_contiguous(const RtTensor *);
bool      rt_is_channels_last(const RtTensor *);              /* rank 4 or 5 */
bool      rt_is_dense(const RtTensor *);                      /* non-overlapping and dense, in some order of dims */
void      rt_contiguous_strides(int ndim, const int64_t *dims, int64_t *strides);
void      rt_channels_last_strides(int ndim, const int64_t *dims, int64_t *strides);
/* Strides of an elementwise result of n operands.  ATen's rule keeps a dense permutation that all operands share. */
void      rt_result_strides(int ndim, const int64_t *dims, int n, RtTensor *const *operands, int64_t *strides);

RtTensor *rt_tensor_new(RtCx *, RtDtype, int ndim, const int64_t *dims);                 /* contiguous, uninitialised */
/* A tensor with a new storage, uninitialised.  strides null: contiguous */
RtTensor *rt_tensor_strided(RtCx *, RtDtype, int ndim, const int64_t *dims, const int64_t *strides);
/* A view of base with its storage, dtype, layout, quantization and flags (except RT_WRAPPED and RT_PARAMETER).  offset:
 * in elements from the start of the storage. */
RtTensor *rt_tensor_view(RtCx *, const RtTensor *base, int ndim, const int64_t *dims, const int64_t *strides,
			 int64_t offset);
/* Gives t the scales and zero points of another tensor, or none. */
void      rt_tensor_share_quant(RtTensor *t, const RtTensor *of);
/* Layout of a tensor in its storage, in elements, as in RtTensor. */
typedef struct RtGeometry {
	int ndim;
	const int64_t *dims;
	const int64_t *strides;  /* strides; null: contiguous */
	int64_t offset;
} RtGeometry;
/* A tensor that shares the storage.  Null: raised, as a size is negative or the storage is too small. */
RtTensor *rt_tensor_over(RtCx *, RtStorage *, RtDtype, const RtGeometry *);
/* A contiguous tensor over the caller's memory, which has to outlive it.  readonly: a write makes a private copy. */
RtTensor *rt_tensor_borrow(RtCx *, RtDtype, int ndim, const int64_t *dims, const void *data, bool readonly);
RtTensor *rt_tensor_retain(RtTensor *);
void      rt_tensor_release(RtTensor *);
/* Changes a tensor in place: resize_, squeeze_ */
int       rt_tensor_set_geometry(RtCx *, RtTensor *, int ndim, const int64_t *dims, const int64_t *strides,
				 int64_t offset);
int       rt_tensor_set_storage(RtCx *, RtTensor *, RtStorage *);                        /* set_, data */
int       rt_tensor_resize(RtCx *, RtTensor *, int ndim, const int64_t *dims);           /* contiguous; storage grows */
/* copy.c */
RtTensor *rt_scalar_tensor(RtCx *, RtDtype, IValue number);                              /* 0-d */
RtTensor *rt_wrapped(RtCx *, IValue number);        /* 0-d, flag RT_WRAPPED: int64, float64, bool or complex128 */
RtTensor *rt_contiguous(RtCx *, RtTensor *);        /* t itself if it is contiguous and has no RT_BITS */
RtTensor *rt_to_dtype(RtCx *, RtTensor *, RtDtype); /* t itself if it has the dtype and no RT_BITS */
RtTensor *rt_clone(RtCx *, RtTensor *);             /* preserve_format */
int       rt_copy_into(RtCx *, RtTensor *dst, RtTensor *src);   /* broadcasts and casts; overlap is allowed */
/* Raises when an element of the dtype cannot hold the number: too large, complex for a real, NaN for an integer. */
int       rt_check_number(RtCx *, IValue number, RtDtype);
int       rt_fill(RtCx *, RtTensor *, IValue number);
/* Do two indices share an address? Then the tensor must not be written to. */
bool      rt_overlaps_itself(const RtTensor *);
bool      rt_may_overlap(const RtTensor *, const RtTensor *);
/* ATen's checks before a write. */
int       rt_check_itself(RtCx *, const RtTensor *to);                         /* raises if two indices share memory */
int       rt_check_overlap(RtCx *, const RtTensor *to, const RtTensor *from);  /* raises unless apart or one view */
int       rt_check_apart(RtCx *, const RtTensor *to, const RtTensor *from);    /* raises if they overlap */
int       rt_writable(RtCx *, RtTensor *);       /* call before an in-place write: copies read-only storage */
void      rt_dense_strides(const RtTensor *, int64_t *strides);   /* preserve_format: empty_like, clone, to */
RtStorage *rt_storage_new(RtCx *, int64_t bytes);   /* heap, aligned to 64; RT_META if cx->meta */
RtStorage *rt_storage_over(RtCx *, const void *data, int64_t bytes, bool readonly);
void      rt_storage_release(RtStorage *);
/* Moves the heap memory of a storage with one reference to the caller, who frees it with rt_mem_free.  Null: the
 * storage is shared, or its memory is not on the heap. */
char     *rt_storage_take(RtStorage *);
double    rt_load_f64(RtDtype, const void *);       /* one element as a number; the real part if it is complex */
int64_t   rt_load_i64(RtDtype, const void *);
IValue    rt_item(RtCx *, const RtTensor *);        /* the value of a 1-element tensor as int, float, bool or complex */

/* Is it an object of PyTorch's own classes, such as a quantized layer's packed parameters? */
bool rt_holds_weights(IValue);
/* program.c: unpacks the data of an RT_PACKED storage at the first call */
void rt_unpack(RtCx *, RtStorage *);
/* program.c: unpacks all tensors of v: v itself, the elements of a list, or the slots of packed parameters */
void rt_unpack_all(RtCx *, IValue v);
/* Unpacks one row of a contiguous matrix over an RT_PACKED storage.  False: the parts are not rows of the matrix; the
 * caller has to unpack all of it by rt_unpack. */
bool rt_packed_row(RtCx *, const RtTensor *, int64_t row, void *to);

typedef int RtKernel(RtCx *, const IValue *in, IValue *out);     /* 0, or an error is in cx; out: all set or all None */

/* A kernel with its numbers of arguments and results.  use: flags of the first 16 arguments.  Bit i: if argument i has
 * RT_BITS, the kernel gets a copy without them.  Bit 16 + i: the kernel writes to the argument; a copy is written
 * back. */
typedef struct RtCall {
	RtKernel *kernel;
	uint32_t  use;
	int       nin, nout;
} RtCall;
#define RT_USE_WRITES(use, i) ((use) >> (16 + (i)) & 1)

/* ---- bits.c: conjugate and negative views ------------------------------------------------------------- */

bool rt_has_bits(IValue);                             /* is it a tensor with RT_BITS, or a list that has one? */
typedef struct RtLazy {
	void (*apply)(RtTensor *, unsigned bits);     /* conjugates or negates the elements in place */
	int  (*call)(RtCx *, const RtCall *, const IValue *in, IValue *out);     /* rt_call_using */
	RtTensor *(*contiguous)(RtCx *, RtTensor *);
} RtLazy;
extern const RtLazy *const rt_lazy;          /* null if no tensor has bits. all.c sets it; programs define their own */
extern const RtLazy rt_lazy_all;

/* ---- cx.c: one call of a model ---------------------------------------------------------------------- */

typedef struct RtGenerator {                  /* mt19937 and the cached normal: the CPU generator of ATen */
	RtHead   h;
	uint64_t seed;
	uint32_t state[624];
	int      at;
	bool     has_normal;
	RT_ATOMIC bool shared;       /* forked calls draw from it, too */
	RT_ATOMIC bool locked;
	double   normal;
} RtGenerator;

/* Heap bytes of live tensors.  It outlives the RtCx. */
typedef struct RtAccount { RtHead h; RT_ATOMIC int64_t bytes; } RtAccount;

typedef struct RtPlace { void *data; int64_t bytes; } RtPlace;    /* planned memory for a result */

enum { RT_OK = 0, RT_ERROR = 1, RT_UNKNOWN_META = 2, RT_LACKS = 7 };

typedef struct RtVisit { const RtCode *code; uint32_t place; } RtVisit;

/* Hooks for a second run of the same code in lockstep (kiln check's run in double). */
typedef struct RtTwin {
	/* replaces rt_call_using */
	int    (*kernel)(RtCx *, const RtCode *, const RtInsn *, const IValue *in, IValue *out);
	IValue (*constant)(RtCx *, IValue);      /* replaces a constant of the code; a new reference */
	void   *arg;
} RtTwin;

/* Version of PyTorch that wrote the archive (module.c).  RT_TORCH_1 if the input is not an archive.  Few operators
 * changed their meaning: grep for RT_TORCH_2. */
typedef enum RtTorch {
	RT_TORCH_1,              /* up to 2.0 */
	RT_TORCH_2,              /* 2.1 and newer */
} RtTorch;

/* PyTorch's engine of quantized operators.  The process that runs the model chooses it; archives do not name it. */
typedef enum RtEngine {
	RT_X86,                  /* also fbgemm and onednn, whose integers are the same */
	RT_QNNPACK,
} RtEngine;

/* Addresses of a thread's own stack.  All null: unknown. */
typedef struct RtStack {
	const char *low, *top;   /* bounds of the addresses of its frames */
	const char *end;         /* lowest address to which it can grow */
} RtStack;

struct RtCx {
	int      status;         /* RT_ERROR: raised; RT_LACKS */
	char    *message;        /* text of the error without "RuntimeError: "; on the heap */
	char    *cls;            /* Python class of the exception, or null */
	/* TorchScript traceback, innermost call last; made when the outermost call fails.  Or null */
	char    *trace;
	RtVisit *visit;          /* (nvisit) source positions of the calls that the error has left, innermost first */
	int      nvisit;
	bool     meta;           /* kernels only compute dtype, sizes and strides of results; tensors have no data */
	/* Only some tensors have data.  If an argument of a kernel lacks data, the interpreter calls the kernel with
	 * meta on. */
	bool     partial;
	bool     grad;           /* torch.is_grad_enabled() */
	uint8_t  torch;          /* an RtTorch */
	uint8_t  engine;         /* an RtEngine */
	int      depth;          /* number of nested calls; more than RT_DEPTH is an error */
	const char *stack_end;   /* lowest address for call frames on the stack of the outermost call */
	uintptr_t stack_thread;  /* the thread that made the outermost call */
	RtStack  stack;          /* own stack of that thread: stack.c */
	int      nthread;
	RtGenerator *gen;        /* the default generator */
	RtPlace *place;          /* (nplace) planned memory for results of the next kernel, or null */
	int      nplace;
	/* destination of the next pointwise kernel's result, which the kernel checks first; or null */
	const struct RtInto *into;
	struct RtScratch *scratch;   /* scratch memory and temporaries of the running kernel */
	struct RtPool    *pool;      /* threads */
	struct RtOuter   *outer;     /* thread pool of a library's caller, or null */
	int      vector_bytes;   /* width of the processor's widest vectors; 0: not asked yet (ops/gemm.c) */
	const struct RtProgram *program;   /* tables of the emitted program; null in kiln */
	IValue  *value;          /* the program's (program->nvalue) constants, then the image of the instance */
	const char *weights;     /* base of weights for specialized code, unless they are linked and not moved */
	const char *made;        /* forms of weights computed when the program was opened */
	const void *kernels;     /* RtLevel.kernels of the level that runs here */
	void   (*print)(RtCx *, const char *, int64_t n);      /* for prim::Print; null: standard output */
	void    *print_arg;
	void   (*warn)(RtCx *, const char *, int64_t n);       /* for aten::warn; null: standard error */
	/* profiling hook, called by RT_DO_PROFILE, branches (v: the condition), loops, and methods called by name */
	void   (*probe)(RtCx *, const RtCode *, int pc, int index, IValue v);
	void    *probe_arg;
	struct RtTrace *events;  /* events of --trace (trace.c), or null */
	const RtTwin *twin;      /* the twin run, or null */
	int64_t  steps;          /* instructions left before "step limit"; < 0: no limit */
	int64_t  deadline;       /* nanoseconds of the monotonic clock; 0: none */
	RtAccount *account;
	int64_t  memory_limit;   /* most heap bytes of live tensors; 0: no limit */
	void    *arena;          /* planned memory of the running specialization */
	int64_t  arena_bytes;
	struct RtKnownSizes *sizes;   /* cache of dynamic sizes by symbol values: sizes.c */
	struct RtCuda *cuda;     /* GPU that specializations run on; null: CPU */
	void    *instance;       /* state of the model, in emitted programs */
	bool     child;          /* context of a forked task: the pool belongs to its parent */
	bool     show_guards, strict;     /* --guards: print which path runs; --strict: a miss is an error */
	bool     dry;            /* launches run only one part: a trial call that allocates all memory of later calls */
	int64_t  calls;          /* number of calls of the program's methods */
	bool     warned[64];     /* warn-once by call site, modulo 64 */
};
enum { RT_DEPTH = 2000 };

/* Makes the context of a task: shares the parent's settings and generator, but has its own scratch memory and error. */
int   rt_cx_child(RtCx *child, const RtCx *parent);
int   rt_cx_init(RtCx *);                  /* initializes: one thread, generator seeded with RT_SEED */
void  rt_cx_free(RtCx *);
int   rt_raise(RtCx *, const char *fmt, ...) RT_FORMAT(2, 3);               /* RuntimeError; returns RT_ERROR */
int   rt_raise_as(RtCx *, const char *cls, const char *fmt, ...) RT_FORMAT(3, 4);
int   rt_lacks(RtCx *, const char *fmt, ...) RT_FORMAT(2, 3);               /* not supported by Kiln: exit status 7 */
int   rt_no_meta(RtCx *);                  /* for types that depend on data: returns RT_UNKNOWN_META */
void  rt_clear_error(RtCx *);
void  rt_visits_add(RtCx *, RtVisit);      /* records that the error in cx has left a call there */

/* A new tensor for result i of the running kernel, in its planned memory or on the heap; the kernel returns it in
 * out[i].  strides null: contiguous.  Null: an error was raised. */
RtTensor *rt_result(RtCx *, int i, RtDtype, int ndim, const int64_t *dims, const int64_t *strides);
/* Stores the last result in out, then returns from the kernel if only types are asked for:
 *     RtTensor *r = rt_result(...);  RT_RESULT(cx, r, out[0]);  ... fill r ...; return 0; */
#define RT_RESULT(cx, r, place) \
	do { if (!(r)) return RT_ERROR; (place) = rt_of(r); if ((cx)->meta) return RT_OK; } while (0)
void     *rt_scratch(RtCx *, int64_t bytes);   /* aligned to 64; freed when the kernel returns; null: error raised */
RtTensor *rt_temp(RtCx *, RtTensor *);         /* takes the reference, released when the kernel returns; may be null */
IValue    rt_temp_value(RtCx *, IValue);
typedef struct RtMark { void *block; int64_t used; int ntemp; } RtMark;
RtMark    rt_scratch_mark(RtCx *);             /* callers of kernels bracket each call by these two */
void      rt_scratch_reset(RtCx *, RtMark);
/* Calls a kernel with its scratch memory bracketed.  out is None before the call, and on error. */
int       rt_call_kernel(RtCx *, RtKernel *, const IValue *in, IValue *out, int nout);

/* The same for arguments that may have RT_BITS, but not bracketed.  out holds None before the call. */
int       rt_call_using(RtCx *, const RtCall *, const IValue *in, IValue *out);
int       rt_call(RtCx *, const RtCall *, const IValue *in, IValue *out);  /* rt_call_using, bracketed */

/* Arguments */
static inline RtTensor *
rt_tensor(IValue v)                  /* borrowed; null: not a tensor */
{
	RT_ASSERT(v.tag != RT_TENSOR || rt_refs(v.u.head) > 0);
	return v.tag == RT_TENSOR ? v.u.t : 0;
}
double  rt_number(IValue);                                 /* int, float or bool as double */
int64_t rt_integer(IValue);                                /* int, bool, or a float truncated */
/* Copies a List[int] (or an int, as one element) to buf and returns the count.  -1: more than cap; raised. */
int     rt_ints(RtCx *, IValue list, int64_t *buf, int cap);
/* Normalizes a dim, which counts from the end if negative, with ATen's check (rank 0 counts as 1).  -1: raised. */
int     rt_dim(RtCx *, int64_t dim, int ndim);

/* ---- rng.c -------------------------------------------------------------------------------------------- */

#define RT_SEED 67280421310721             /* c10::detail::default_rng_seed_val */
RtGenerator *rt_generator_new(RtCx *, uint64_t seed);
void     rt_generator_seed(RtGenerator *, uint64_t seed);
uint32_t rt_random32(RtGenerator *);
double   rt_uniform53(RtGenerator *);      /* [0, 1) */
float    rt_uniform24(RtGenerator *);
double   rt_normal(RtGenerator *);         /* a normal number; the second one of each pair is kept for the next call */

/* ---- recycle.c: memory of values; threads keep freed blocks for later allocations -------------------------------- */

void *rt_mem(int64_t bytes);                              /* aligned to 16; null: out of memory */
void *rt_mem_zeroed(int64_t bytes);
void *rt_mem_counted(RtCx *, int64_t bytes);              /* zeroed; begins with an RtHead of one reference */
void *rt_mem_line(int64_t bytes);                         /* aligned to 64 */
void *rt_mem_more(void *, int64_t bytes);                 /* realloc */
void  rt_mem_back(void *);                                /* frees one of these, or null; the thread may keep it */
void  rt_mem_free(void *);                                /* frees it to the system; may be called on any thread */
void  rt_mem_end(void);                                   /* frees the blocks that this thread keeps */
/* Replaces the set of blocks that this thread keeps, and returns the previous one.  Null is an empty set. */
struct RtMem *rt_mem_switch(struct RtMem *);
/* For libraries, where lack of memory must not end the process.  A text that cannot grow gets one of a few spare blocks
 * or is cut short, and the call returns an error. */
bool  rt_mem_spares(void);             /* (re)fills this thread's spare blocks; false: out of memory */
bool  rt_mem_cut(struct Buf *);        /* may this text be cut (null: omitted)?  False: the process has to end */
bool  rt_mem_was_lost(void);           /* was a text cut since the last call of this? */
char **rt_mem_block(void);             /* pointer to rt_thread_scratch's block; null: out of memory */

/* ---- stack.c --------------------------------------------------------------------------------- */

enum { RT_STACK_BYTES = 8 << 20 };                          /* stack size of the pool's threads */
void rt_stack_note(RtCx *);               /* sets stack_end for an outermost call by the caller */
const char *rt_stack_end(void);           /* lowest address for frames of the caller's stack; null: unknown */

/* ---- thread.c, task.c: the thread pool ------------------------------------------------------------------- */

/* A caller's thread pool: run calls part(arg, i) for all i below parts, on any threads, and returns when all have
 * returned. */
typedef struct RtOuter {
	void (*run)(void *pool, int parts, void (*part)(void *arg, int i), void *arg);
	void  *pool;
	/* rt_outer_loop; a pointer, so that only libraries link it */
	bool (*loop)(RtCx *, int64_t n, int parts, void (*body)(void *, int64_t begin, int64_t end), void *arg);
	RT_ATOMIC int busy;          /* whether it runs a loop */
} RtOuter;
/* Runs a parallel loop on the caller's pool.  False: did nothing, as the loop is nested in another one. */
bool rt_outer_loop(RtCx *, int64_t n, int parts, void (*body)(void *, int64_t begin, int64_t end), void *arg);
int  rt_threads(RtCx *, int n);                         /* starts or stops workers; 0: one per core */
/* Splits [0, n) into at most cx->nthread parts of at least `grain`; calls body(arg, begin, end) for them in parallel.
 * A nested loop runs in the calling thread.  A body only reads cx. */
void rt_parallel(RtCx *, int64_t n, int64_t grain, void (*body)(void *, int64_t begin, int64_t end), void *arg);
typedef struct RtFuture RtFuture;
int  rt_fork(RtCx *, const RtCode *, const IValue *args, int n, IValue *out);    /* queues a call; out: the future */
int  rt_await(RtCx *, const RtCode *, const IValue *args, int n, IValue *out);   /* the first wait makes the call */
int  rt_awaited(RtCx *, IValue v, IValue *out);         /* out: a completed future of v */
int  rt_wait(RtCx *, RtFuture *, IValue *out);          /* runs queued tasks while it waits; raises the task's error */
/* The same, but raises an error if the result is not of the type. */
int  rt_wait_for(RtCx *, IValue future, const RtType *, IValue *out);
IValue   rt_future_take(RtFuture *);                    /* for rt_release: frees the future, returns its value */
void rt_drain(RtCx *);                                  /* completes the tasks that nothing waited for */
int64_t rt_now(void);                                   /* nanoseconds, monotonic */

void *rt_thread_scratch(int64_t bytes);                /* the thread's block, kept between calls; null: no memory */
void rt_thread_end(void);                             /* frees the block; the pool's threads call it themselves */

/* ---- interp.c: Code and its interpreter -------------------------------------------------------------------- */

typedef enum RtOpcode {
	RT_DO_KERNEL,       /* out[0..nout) = kernel[arg](in[0..nin)) */
	RT_DO_CALL,         /* out[0..nout) = callee[arg](in...) */
	/* calls the method string[arg], "interface.name", of in[0]'s class; probed with the object and index = pc */
	RT_DO_CALL_METHOD,
	RT_DO_CALL_VALUE,   /* in[0] is a function value */
	RT_DO_CONSTANT,     /* out[0] = constant[arg] */
	RT_DO_MOVE,         /* out[i] = in[i], all at once (parallel move) */
	RT_DO_JUMP,         /* pc = arg */
	RT_DO_BRANCH,       /* if !in[0]: pc = arg; probed with index = pc */
	/* in: trip index, max trip count, condition; if !(cond && index < max): pc = arg; probed with index = pc and
	 * whether the loop continues */
	RT_DO_LOOP,
	RT_DO_NEXT,         /* in[0] = index register, out[0] the same: index + 1; pc = arg */
	RT_DO_RETURN,       /* results are in[0..nin) */
	RT_DO_TUPLE,        /* out[0] = tuple of in; arg 0: plain, otherwise of type[arg - 1] */
	RT_DO_UNPACK,       /* tuple in[0] -> out[0..nout) */
	RT_DO_INDEX,        /* out[0] = tuple in[0] [arg as int32] */
	RT_DO_TUPLE_SLICE,  /* out[0] = tuple in[0] [lo : hi]; arg: lo << 16 | hi */
	RT_DO_NEW_LIST,     /* out[0] = list of in, element type type[arg] */
	RT_DO_LIST_UNPACK,  /* list in[0] -> out[0..nout); raises if its length is not nout */
	RT_DO_NEW_DICT,     /* out[0] = dict of in: key, value, ...; type[arg] is the Dict type */
	RT_DO_GET_ATTR,     /* out[0] = in[0].slot[arg] */
	RT_DO_SET_ATTR,     /* in[0].slot[arg] = in[1] */
	RT_DO_NEW_OBJECT,   /* out[0] = object of type[arg]'s class */
	RT_DO_ISINSTANCE,   /* out[0] = isinstance(in[0], type[arg]) */
	RT_DO_CAST,         /* out[0] = in[0], which must be a type[arg] */
	RT_DO_UNSET,        /* out[0] = a placeholder of type[arg], which is never read */
	RT_DO_FORK,         /* out[0] = future of callee[arg](in...) */
	RT_DO_AWAIT,        /* out[0] = awaitable of callee[arg](in...), called by the first wait */
	RT_DO_WAIT,         /* out[0] = wait(in[0]), a type[arg] */
	RT_DO_PROFILE,      /* out[0] = in[0], probed with index = arg */
	RT_DO_RAISE,        /* in: message, class name or None */
	/* pushes a with-scope of object in[0]; arg: pc of its handler, which calls __exit__, then RT_DO_RERAISE */
	RT_DO_ENTER,
	RT_DO_EXIT,         /* pops the innermost with-scope */
	RT_DO_RERAISE,
	RT_DO_CLEAR,        /* releases in[...] */
	RT_NOPCODE,
} RtOpcode;

struct RtInsn {
	uint32_t op : 8;
	uint32_t line : 24;      /* index into code->place, 0: none */
	uint16_t nin, nout;
	uint32_t in;             /* index in code->operand of nin operands, then nout results */
	uint32_t arg;
};

/* The function of each opcode.  It returns a status or one of interp.c's own codes.  A program defines its own table,
 * with null for opcodes that it does not use (cgen.c: put_parts); all.c has the full table. */
struct RtActivation;
typedef int RtDo(struct RtActivation *, const RtInsn *);
extern RtDo *const rt_do[RT_NOPCODE];
RtDo rt_do_kernel, rt_do_call, rt_do_call_method, rt_do_call_value, rt_do_constant, rt_do_move, rt_do_jump,
     rt_do_branch, rt_do_loop, rt_do_next, rt_do_return, rt_do_tuple, rt_do_unpack, rt_do_index, rt_do_tuple_slice,
     rt_do_new_list, rt_do_list_unpack, rt_do_new_dict, rt_do_get_attr, rt_do_set_attr, rt_do_new_object,
     rt_do_isinstance, rt_do_cast, rt_do_unset, rt_do_fork, rt_do_await, rt_do_wait, rt_do_profile, rt_do_raise,
     rt_do_enter, rt_do_exit, rt_do_reraise, rt_do_clear;

/* bodies.c: implementations of instructions, for the interpreter and for specialized code.  out holds None before the
 * call, and new references after RT_OK. */
typedef union RtWhat {
	int64_t       n;              /* unpack: the RtTag of in[0]; index, slice, get, set: as in the instruction */
	const RtType *type;           /* dict, object, isinstance, cast, wait */
	const RtCode *code;           /* fork, await */
} RtWhat;
typedef int RtBody(RtCx *, RtWhat, const IValue *in, int nin, IValue *out, int nout);
RtBody rt_body_unpack, rt_body_index, rt_body_slice, rt_body_dict, rt_body_get, rt_body_set, rt_body_object,
       rt_body_isinstance, rt_body_cast, rt_body_fork, rt_body_await, rt_body_wait, rt_body_raise;

/* An operand is a register.  The top bit marks the register's last use: the value is moved, not copied. */
#define RT_LAST 0x80000000u
#define RT_REG(o) ((o) & 0x7fffffffu)

typedef struct RtPlaceName {          /* a source position; texts are offsets in RtCode.text, 0: none */
	uint32_t file;                /* "code/__torch__/net.py" */
	uint32_t function;            /* "forward" */
	uint32_t line_text;           /* 0 with --no-source */
	int line, column, width;
	int original;                 /* index of the position in the original source, 0: none */
	int caller;                   /* index of the call's position if the function was inlined, 0: none */
} RtPlaceName;

struct RtCode {
	const char   *name;           /* qualified: __torch__.Net.forward */
	const RtInsn *insn;
	const uint32_t *operand;
	RtKernel *const *kernel;
	const char *const *kernel_name;    /* aten::add.Tensor, for messages */
	const uint32_t *kernel_use;        /* RT_USE_WRITES */
	const IValue *constant;       /* constants; null: cx->value + first_value */
	const RtType *const *type;
	const RtCode *const *callee;
	const char *const *string;
	const RtPlaceName *place;
	const unsigned char *packed_place; /* the places in compressed form, in a program; see rt_place */
	const char   *text;           /* the texts of the places */
	int ninsn, nreg, narg, nresult;    /* arguments are registers 0 .. narg-1 */
	int nkernel, nconstant, ntype, ncallee, nstring, nplace_name, first_value;
	int (*plan)(RtCx *, IValue *reg);  /* entry of specialized code; null: interpret */
};

/* Place i.  A packed place is eight numbers of seven bits a byte; the last byte of a number lacks bit 7.  They are: the
 * index of the text of the file, of the function and of the line (0: none); line, column, width; the distances to
 * `original` and `caller` (2 n: n places on, 2 n - 1: n places back, 0: none). */
RtPlaceName rt_place(const RtCode *, int i);

/* The method "interface.name" of self's class.  The interface is part of the name, so that a call through it only finds
 * methods that it declares.  Null: an error was raised. */
const RtCode *rt_method(RtCx *, IValue self, const char *name);
void rt_traceback(RtCx *);               /* sets cx->trace from cx->visit */
bool rt_in_operator(RtVisit);            /* is it in the body of an operator?  PyTorch's traceback omits those */

/* Runs code on args (borrowed) and fills results (new references).  Non-zero: the error is in cx. */
int rt_run(RtCx *, const RtCode *, const IValue *args, IValue *results);
void rt_say_place(const RtCode *, uint32_t line);      /* plan.c: prints the place of a line to standard error */
void rt_visit(RtCx *, const RtCode *, uint32_t line);          /* records that the error in cx passes a line; 0: none */
/* Resumes at pc after a failed guard.  reg: the nreg registers, which it takes and releases at the end.  Results are
 * left in reg[0 .. nresult). */
int rt_resume(RtCx *, const RtCode *, int pc, IValue *reg);

/* ---- trace.c: --trace -------------------------------------------------------------------------------------------- */

void rt_trace_add(RtCx *, const char *name, int64_t begin, int64_t end);    /* nanoseconds; name is kept by reference */

/* ---- cpu.c: processor features ----------------------------------------------------------------------------------- */

/* Does the processor have all features in `needs`, words of needs.h?  Writes the missing ones to lacks[n], each after a
 * space.  n 0: writes nothing. */
bool rt_cpu_runs(const char *needs, char *lacks, size_t n);
extern const char rt_ops_needs[];        /* ops/level.c: features that the operators of this level need */

/* ---- print.c: as PyTorch prints ------------------------------------------------------------------------ */

struct Buf;
void rt_format_double(struct Buf *, double);             /* 1., 0.10000000000000001, 1e-10, inf: the TorchScript form */
void rt_format_value(struct Buf *, IValue, int depth);   /* print(), str(), format(); depth 0 at the top */
void rt_format_tensor(struct Buf *, const RtTensor *);   /* ATen's stream form, with [ CPUFloatType{2} ] */

/* ---- engines.c ------------------------------------------------------------------------------------------------- */

/* Operators whose results are rounded differently by the engines */
typedef enum RtQuantOp {
	RT_Q_MEAN, RT_Q_AVG_POOL, RT_Q_AVG_POOL3D, RT_Q_ADAPTIVE2D, RT_Q_ADAPTIVE3D, RT_Q_GRID_SAMPLER, RT_Q_HARDSWISH,
	RT_Q_ADD, RT_Q_OTHER,
} RtQuantOp;
enum {
	RT_ROUND_FIRST,          /* round(value / scale) + zero point, halves to even */
	RT_ROUND_WITH_ZERO,      /* round(value / scale + zero point), halves to even */
	RT_ROUND_FLOATS,         /* RT_ROUND_FIRST of values computed in float32 */
	RT_ROUND_AWAY,           /* round(value / scale) + zero point, halves away from zero */
};
typedef struct RtRounding { uint8_t how; bool last; } RtRounding;        /* last: the result is channels last */
/* t: the argument.  list: the dims that a mean reduces, or the output_size of an adaptive pool */
RtRounding rt_rounding(const RtCx *, RtQuantOp, const RtTensor *t, IValue list);
bool       rt_reduces_range(const RtCx *, bool asked);   /* 7-bit dynamic activations?  asked: reduce_range */

/* ---- ops/parts.c ----------------------------------------------------------------------------------------------- */

/* Parts of kernels for special operands, called by pointers.  ops/parts.c sets all pointers; a program sets only those
 * that it needs. */
typedef struct RtTiles RtTiles;
typedef struct RtQuantized RtQuantized;
extern const RtTiles *const rt_tiles[];              /* tiles of matrix products, widest first; ends with null */
extern const RtQuantized *const rt_quantized;        /* null if the program has no quantized tensors */
extern const RtTiles rt_tiles_64, rt_tiles_32, rt_tiles_16;       /* 64-, 32-, 16-byte vectors; 64, 32: x86 */
extern const RtTiles rt_tiles_64_floats, rt_tiles_32_floats, rt_tiles_16_floats;      /* without tiles of doubles */
extern const RtQuantized rt_quantized_all;

/* Converts contiguous elements directly, for the pairs of dtypes that kernels convert most.  False: did nothing, as
 * rt_cast converts the other pairs through wide types.  rt_cast_dense null: so are all pairs. */
typedef bool RtCastDense(RtDtype to, char *restrict d, RtDtype from, const char *restrict s, int64_t n);
extern RtCastDense *const rt_cast_dense;
RtCastDense rt_cast_dense_all;

#endif
