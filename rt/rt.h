/* rt/rt.h - the runtime: values, tensors, kernels, the interpreter, the thread pool
 *
 * Ownership: a function borrows its arguments and returns a new reference, unless its comment says otherwise. A null
 * pointer or a non-zero status means that it failed; the error is then in the RtCx.
 *
 * Operators, Kiln's own and users' (kiln.h), are written against this header. It includes no system header that tcc
 * lacks. */
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

/* Qualifier of data that threads share without a lock: every access is atomic. Programs built by tcc have no
 * threads. */
#ifdef __TINYC__
#define RT_ATOMIC
#else
#define RT_ATOMIC _Atomic
#endif

/* rt is compiled for size. Loops over elements are compiled for speed: they are between RT_FAST and RT_SMALL or the end
 * of the file. `ninja tiny` does not optimize them, because that would take most of the time of its build. */
#if defined __GNUC__ && !defined __clang__ && !defined __TINYC__ && !defined KILN_TEST
#define RT_FAST _Pragma("GCC optimize(\"O2\", \"tree-vectorize\", \"vect-cost-model=dynamic\", \"no-trapping-math\", \
	\"no-math-errno\", \"no-align-functions\", \"no-align-jumps\", \"no-align-labels\", \"tree-ch\", \
	\"tree-loop-im\", \"move-loop-invariants\", \"caller-saves\")")
/* Precedes a short loop over an array of accumulators. The loop is unrolled, so that the array is in registers. */
#define RT_UNROLL _Pragma("GCC unroll 32")
#define RT_SMALL _Pragma("GCC reset_options")
/* Options for emitted code. The generic program is between RT_STEPS and RT_STEPS_END. Specializations are below
 * RT_LISTS and are compiled for size, because they are long lists of addresses and launches. In such long functions
 * gcc's points-to analysis takes most of the time and finds nothing, so it is off. RT_LISTS also switches off passes
 * that remove redundant loads and stores: the code has the same size and compiles in two thirds of the time. */
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
	const char *name, *torch, *numpy, *brief;   /* names as in f32, float32, <f4, Float */
	uint8_t bytes;
	char    category;                           /* one of B I F C Q U E; ? for a NO_DTYPE entry */
	uint8_t compute;                            /* an RtDtype */
} RtDtypeInfo;
extern const RtDtypeInfo rt_dtypes[RT_NDTYPE + 1];    /* by RtDtype; the last entry is for invalid codes */

/* Returns the category to which a dtype's numbers belong. U counts as I, and E as F. */
static inline char
rt_kind(RtDtype d)
{
	const char category = rt_dtypes[d].category;

	return category == 'U' ? 'I' : category == 'E' ? 'F' : category;
}

float    rt_half_to_float(uint16_t);
uint16_t rt_float_to_half(float);               /* rounds to nearest even */
float    rt_bf16_to_float(uint16_t);
uint16_t rt_float_to_bf16(float);
float    rt_f8_to_float(RtDtype, uint8_t);      /* the dtype must be one of category E */
uint8_t  rt_float_to_f8(RtDtype, float);        /* rounds to nearest even; overflows as PyTorch 2.15 does */
/* Converts n contiguous elements as ATen's copy does. A conversion from complex to real drops the imaginary part. */
void     rt_cast(RtDtype to, void *dst, RtDtype from, const void *src, int64_t n);
typedef struct RtRun { RtDtype dtype; int64_t step; } RtRun;     /* elements at equal distances; step is in bytes */
void     rt_cast_strided(void *dst, RtRun to, const void *src, RtRun from, int64_t n);
RtDtype  rt_promote(RtDtype, RtDtype);          /* promotes by ATen's table; RT_NDTYPE if there is no common type */
bool     rt_can_cast(RtDtype from, RtDtype to); /* whether a result of `from` may be written to a tensor of `to` */
double   rt_largest(RtDtype);                   /* returns the largest finite number of a floating or complex dtype */
/* returns float64 for a floating dtype, complex128 for a complex one, and any other dtype itself */
RtDtype  rt_in_double(RtDtype);

/* ---- types of values at run time; the compiler uses the same struct ------------------------------- */

typedef enum RtKind {
	TYPE_ANY, TYPE_NONE, TYPE_TENSOR, TYPE_INT, TYPE_FLOAT, TYPE_BOOL, TYPE_COMPLEX, TYPE_NUMBER, TYPE_STR,
	TYPE_DEVICE, TYPE_GENERATOR, TYPE_STORAGE, TYPE_STREAM,
	TYPE_LIST, TYPE_DICT, TYPE_OPTIONAL, TYPE_TUPLE, TYPE_UNION, TYPE_FUTURE, TYPE_AWAIT,   /* these use `of` */
	TYPE_CLASS, TYPE_INTERFACE, TYPE_ENUM, TYPE_FUNCTION, TYPE_VAR,                         /* these use `name` */
	TYPE_ANY_LIST, TYPE_ANY_TUPLE, TYPE_ANY_CLASS, TYPE_ANY_ENUM,
	TYPE_NKIND,
} RtKind;

/* Dtype, sizes and other facts of a tensor that are known at compile time. Unknown ones are RT_UNKNOWN or null.
 * Programs have no such facts. */
typedef struct RtTensorInfo RtTensorInfo;

struct RtType {
	RtKind              kind;
	int                 n;        /* number of elements of `of` */
	/* types of parts. List: element. Dict: key, value. Tuple, Union: members. Enum: its values. */
	const RtType *const *of;
	const char         *name;     /* qualified name of a class, interface, enum or NamedTuple; name of a variable */
	const char *const  *field;    /* n names of a NamedTuple's fields; null for other types */
	RtClass            *cls;      /* of a class, interface or enum */
	const RtTensorInfo *tensor;   /* static facts about a tensor; null for any tensor */
};

/* A member of an enum. The type of its value, which is the enum's of[0], tells which of i, f and text contains it. */
typedef struct RtMember {
	const char *name;
	int64_t     i;
	double      f;
	const char *text;
} RtMember;

struct RtClass {
	const char          *name;    /* such as __torch__.a.b.C */
	int                  nslot;
	const char  **slot;           /* names of the attributes */
	const RtType **slot_type;
	int                  nmethod;
	const char  **method;         /* names "interface.name", for calls whose method is found at run time */
	const RtCode **code;
	const RtType        *type;    /* type of its objects */
	int                  nmember; /* number of members of an enum */
	const RtMember      *member;
	struct ClassInfo    *info;    /* the compiler's facts (ir.h); null in programs */
};

extern const RtType rt_type_any, rt_type_none, rt_type_tensor, rt_type_int, rt_type_float, rt_type_bool,
	rt_type_complex, rt_type_number, rt_type_str, rt_type_device, rt_type_generator, rt_type_storage,
	rt_type_stream, rt_type_any_list, rt_type_any_tuple, rt_type_any_class, rt_type_any_enum, rt_type_list_int,
	rt_type_list_float, rt_type_list_bool, rt_type_list_str, rt_type_list_tensor;
bool rt_type_equal(const RtType *, const RtType *);            /* compares structures; classes by name */
struct Buf;
void rt_type_print(struct Buf *, const RtType *);              /* prints as Python does: List[int], Optional[Tensor] */

/* ---- ivalue.c ------------------------------------------------------------------------------------ */

typedef enum RtTag {
	RT_NONE, RT_INT, RT_DOUBLE, RT_BOOL, RT_DEVICE,       /* stored in the value itself */
	RT_TENSOR, RT_STR, RT_LIST, RT_DICT, RT_TUPLE, RT_OBJECT, RT_ENUM, RT_COMPLEX, RT_FUTURE, RT_FUNCTION,
	RT_GENERATOR, RT_STORAGE,                             /* reference-counted */
} RtTag;

typedef struct RtHead { int32_t refs; } RtHead;               /* first member of reference-counted types; atomic */

typedef struct IValue {                                       /* 16 bytes */
	uint64_t tag;
	union {
		int64_t i;    /* int, bool; device: kind << 8 | index + 1, where kind is 0 for cpu and 1 for cuda */
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

typedef struct RtStr     { RtHead h; int64_t n; char s[]; } RtStr;    /* n bytes of UTF-8 and a final 0 */
typedef struct RtList    { RtHead h; const RtType *elem; int64_t n, cap; IValue *v; } RtList;
/* type: the NamedTuple; null for a plain tuple */
typedef struct RtTuple   { RtHead h; const RtType *type; int64_t n; IValue v[]; } RtTuple;
typedef struct RtObject  { RtHead h; RtClass *cls; IValue slot[]; } RtObject;
typedef struct RtEnum    { RtHead h; const RtType *type; struct RtStr *name; IValue value; } RtEnum;
typedef struct RtComplex { RtHead h; double re, im; } RtComplex;
typedef struct RtFunction { RtHead h; const RtCode *code; int n; IValue bound[]; } RtFunction;
typedef struct RtDictEntry { IValue key, value; uint64_t hash; bool dead; } RtDictEntry;
typedef struct RtDict {                                       /* A dict, in insertion order. */
	RtHead h;
	const RtType *key, *value;
	int64_t n, used, cap;        /* number of live entries, number of entries in use, capacity */
	RtDictEntry *at;
	int32_t *slot;               /* open-addressed table of indices in `at`; -1 for a free slot */
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
/* returns the previous count */
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
rt_count_down(RtHead *h)             /* whether it was the last reference */
{
	const int32_t before = rt_count_add(h, -1);

	RT_ASSERT(before > 0);
	return before == 1;
}

IValue rt_retain(IValue);                 /* counts a reference; returns the same value */
void   rt_release(IValue);    /* drops a reference, and frees the value at the last one; does not recurse deeply */
void   rt_assign(IValue *place, IValue v); /* takes v and releases the old value */
bool   rt_same(IValue, IValue);           /* Python's `is` */
int    rt_equal(RtCx *, IValue, IValue, bool *out);   /* Python's `==` for containers; bool(a == b) for tensors */
bool   rt_isinstance(IValue, const RtType *);
/* Whether the value can be used as one of the type. A list whose element type is not known yet can be used if its
 * elements can. */
bool   rt_may_be(IValue, const RtType *);
int    rt_need(RtCx *, IValue, const RtType *);       /* raises an error unless rt_may_be, then calls rt_settle */
void   rt_settle(IValue, const RtType *);  /* sets the unknown element types of lists inside the value */
IValue rt_some(RtCx *, const RtType *);    /* returns an empty value of the type; None if the type has no such value */
typedef struct RtTypeName { char text[256]; } RtTypeName;
RtTypeName rt_type_name(IValue);          /* type for messages: "int", "Tensor", "List[int]" ... */
#define rt_type_of(v) (rt_type_name(v).text)      /* valid until the end of the full expression */
IValue rt_deep_copy(RtCx *, IValue);      /* clones tensors, and keeps sharing between parts */

RtStr    *rt_str_new(RtCx *, const char *, int64_t n);        /* if n < 0, the text ends with a 0 */
RtList   *rt_list_new(RtCx *, const RtType *elem, int64_t room);
int       rt_list_push(RtCx *, RtList *, IValue v);           /* takes v, even on failure */
RtDict   *rt_dict_new(RtCx *, const RtType *key, const RtType *value);
int       rt_dict_set(RtCx *, RtDict *, IValue key, IValue value);   /* takes both, even on failure */
IValue   *rt_dict_get(RtDict *, IValue key);                  /* returns null if the key is absent; borrowed */
bool      rt_dict_remove(RtDict *, IValue key);
RtTuple  *rt_tuple_new(RtCx *, const RtType *named, int64_t n);      /* returns a tuple of n None */
RtObject *rt_object_new(RtCx *, RtClass *);                   /* all slots are None */
RtEnum   *rt_enum_new(RtCx *, const RtType *, const char *name, IValue value);   /* takes the value */
IValue    rt_complex(RtCx *, double re, double im);
RtFunction *rt_function_new(RtCx *, const RtCode *, int nbound);
uint64_t  rt_hash(IValue);

/* ---- tensor.c -------------------------------------------------------------------------------------- */

struct RtStorage {
	RtHead  h;
	/* RT_HEAP: owned. RT_BORROWED: in an arena or mapped, not freed. RT_META: no data. RT_PACKED: not unpacked
	 * yet. */
	RT_ATOMIC uint8_t kind;
	bool    readonly;        /* whether it has weights: rt_writable makes a private copy before a write */
	bool    written;    /* used only by the compiler: whether some code may write to this constant of the archive */
	int64_t bytes;
	char   *data;
	struct RtAccount *account;   /* account that counts its bytes on the heap; null if there is none */
	const struct RtSpan *packed; /* of RT_PACKED: the weights from which its data will be unpacked */
};
enum { RT_HEAP, RT_BORROWED, RT_META, RT_PACKED };

typedef struct RtQuant {                 /* Scale and zero point of a quantized tensor. */
	RtHead  h;
	int     scheme;          /* ATen's QScheme: 0 per tensor affine, 1 per channel affine, ... */
	double  scale;
	int64_t zero;
	int64_t axis;            /* dim of scales and zero points, if quantized per channel */
	RtTensor *scales, *zeros;
} RtQuant;

enum { RT_MAX_RANK = 64 };
enum {                                   /* Bits of RtTensor.flags. */
	RT_WRAPPED = 1,          /* a Python number as a 0-d tensor, which is weaker in type promotion */
	RT_REQUIRES_GRAD = 2,
	RT_UNSET = 4,            /* a placeholder of rt_some, which is never read; profiles ignore it */
	RT_PARAMETER = 8,
	RT_CONJ = 16,            /* a lazy conjugate view, whose elements are the conjugates of those stored: bits.c */
	RT_NEG = 32,             /* a lazy negative view: bits.c */
	RT_BITS = RT_CONJ | RT_NEG,
};

struct RtTensor {
	RtHead     h;
	uint8_t    dtype, ndim, flags, layout;   /* layout: 0 for strided */
	uint16_t   room;         /* number of dims that fit in geom */
	int64_t    offset;       /* index of the first element in the storage */
	int64_t   *dims;         /* (ndim) */
	int64_t   *strides;      /* (ndim) strides in elements; may be 0, never negative */
	RtStorage *storage;
	RtQuant   *quant;        /* null unless quantized */
	int64_t   *more;         /* memory on the heap for dims and strides that do not fit in geom; null if they fit */
	int64_t    geom[];
};

static inline char *
rt_data(const RtTensor *t)
{
	RT_ASSERT(rt_refs(&t->h) > 0 && rt_refs(&t->storage->h) > 0 && t->storage->kind != RT_META);
	return t->storage->data + t->offset * rt_dtypes[t->dtype].bytes;
}

int64_t   rt_numel(const RtTensor *);
bool      rt_same_dims(const RtTensor *, const RtTensor *);
bool      rt_is_contiguous(const RtTensor *);
bool      rt_is_channels_last(const RtTensor *);              /* of rank 4 or 5 */
bool      rt_is_dense(const RtTensor *);    /* whether it is dense and does not overlap itself, in some order of dims */
void      rt_contiguous_strides(int ndim, const int64_t *dims, int64_t *strides);
void      rt_channels_last_strides(int ndim, const int64_t *dims, int64_t *strides);
/* Sets the strides of the result of an elementwise operator with n operands. By ATen's rule, the result keeps a dense
 * permutation that all operands share. */
void      rt_result_strides(int ndim, const int64_t *dims, int n, RtTensor *const *operands, int64_t *strides);

RtTensor *rt_tensor_new(RtCx *, RtDtype, int ndim, const int64_t *dims);    /* contiguous; data is not initialized */
/* Returns a tensor with a new storage, whose data is not initialized. It is contiguous if strides is null. */
RtTensor *rt_tensor_strided(RtCx *, RtDtype, int ndim, const int64_t *dims, const int64_t *strides);
/* Returns a view of base with its storage, dtype, layout, quantization and flags (except RT_WRAPPED and RT_PARAMETER).
 * offset: in elements from the start of the storage. */
RtTensor *rt_tensor_view(RtCx *, const RtTensor *base, int ndim, const int64_t *dims, const int64_t *strides,
			 int64_t offset);
/* Sets t's scales and zero points to those of another tensor. */
void      rt_tensor_share_quant(RtTensor *t, const RtTensor *of);
/* Layout of a tensor in its storage, in elements, as in RtTensor. */
typedef struct RtGeometry {
	int ndim;
	const int64_t *dims;
	const int64_t *strides;  /* null for contiguous ones */
	int64_t offset;
} RtGeometry;
/* Returns a tensor that shares the storage. Null, with an error raised, if a size is negative or the storage is too
 * small. */
RtTensor *rt_tensor_over(RtCx *, RtStorage *, RtDtype, const RtGeometry *);
/* Returns a contiguous tensor over the caller's memory, which must outlive it. With `readonly`, a write makes a private
 * copy. */
RtTensor *rt_tensor_borrow(RtCx *, RtDtype, int ndim, const int64_t *dims, const void *data, bool readonly);
RtTensor *rt_tensor_retain(RtTensor *);
void      rt_tensor_release(RtTensor *);
/* Changes a tensor in place, for resize_ and squeeze_. */
int       rt_tensor_set_geometry(RtCx *, RtTensor *, int ndim, const int64_t *dims, const int64_t *strides,
				 int64_t offset);
int       rt_tensor_set_storage(RtCx *, RtTensor *, RtStorage *);    /* changes a tensor in place, for set_ and .data */
/* makes it contiguous; its storage may grow */
int       rt_tensor_resize(RtCx *, RtTensor *, int ndim, const int64_t *dims);
/* copy.c */
RtTensor *rt_scalar_tensor(RtCx *, RtDtype, IValue number);                              /* returns a 0-d tensor */
/* returns a 0-d tensor with RT_WRAPPED: int64, float64, bool or complex128 */
RtTensor *rt_wrapped(RtCx *, IValue number);
RtTensor *rt_contiguous(RtCx *, RtTensor *);        /* returns t itself if it is contiguous and has no RT_BITS */
RtTensor *rt_to_dtype(RtCx *, RtTensor *, RtDtype); /* returns t itself if it has the dtype and no RT_BITS */
RtTensor *rt_clone(RtCx *, RtTensor *);             /* copies with preserve_format */
int       rt_copy_into(RtCx *, RtTensor *dst, RtTensor *src);   /* broadcasts and casts; overlap is allowed */
/* Raises an error if an element of the dtype cannot hold the number: too large, complex for a real dtype, NaN for an
 * integer. */
int       rt_check_number(RtCx *, IValue number, RtDtype);
int       rt_fill(RtCx *, RtTensor *, IValue number);
/* Whether two indices have the same address. Then the tensor must not be written to. */
bool      rt_overlaps_itself(const RtTensor *);
bool      rt_may_overlap(const RtTensor *, const RtTensor *);
/* ATen's checks before a write. */
int       rt_check_itself(RtCx *, const RtTensor *to);    /* raises an error if two indices share memory */
/* raises an error unless they do not overlap or are the same view */
int       rt_check_overlap(RtCx *, const RtTensor *to, const RtTensor *from);
int       rt_check_apart(RtCx *, const RtTensor *to, const RtTensor *from);    /* raises an error if they overlap */
int       rt_writable(RtCx *, RtTensor *);       /* prepares an in-place write: copies read-only storage */
/* strides of preserve_format: for empty_like, clone, to */
void      rt_dense_strides(const RtTensor *, int64_t *strides);
RtStorage *rt_storage_new(RtCx *, int64_t bytes);   /* on the heap, aligned to 64; RT_META if cx->meta */
RtStorage *rt_storage_over(RtCx *, const void *data, int64_t bytes, bool readonly);
void      rt_storage_release(RtStorage *);
/* Moves the heap memory of a storage with one reference to the caller, who frees it with rt_mem_free. Null if the
 * storage is shared, or if its memory is not on the heap. */
char     *rt_storage_take(RtStorage *);
double    rt_load_f64(RtDtype, const void *);    /* returns one element as a number; the real part if it is complex */
int64_t   rt_load_i64(RtDtype, const void *);
/* returns the value of a tensor of one element as int, float, bool or complex */
IValue    rt_item(RtCx *, const RtTensor *);

/* Whether the value is an object of PyTorch's own classes, such as a quantized layer's packed parameters. */
bool rt_holds_weights(IValue);
/* weights.c: unpacks the data of an RT_PACKED storage at the first call. */
void rt_unpack(RtCx *, RtStorage *);
/* weights.c: unpacks all tensors of v: v itself, the elements of a list, or the slots of packed parameters. */
void rt_unpack_all(RtCx *, IValue v);
/* Unpacks one row of a contiguous matrix over an RT_PACKED storage. Returns false if the parts are not rows of the
 * matrix; then the caller must unpack all of it by rt_unpack. */
bool rt_packed_row(RtCx *, const RtTensor *, int64_t row, void *to);

/* returns 0, or a status with the error in cx; then all results are None */
typedef int RtKernel(RtCx *, const IValue *in, IValue *out);

/* A kernel with its numbers of arguments and results. `use` has two bits for each of the first 16 arguments. Bit i: the
 * kernel gets a copy of argument i if the argument has RT_BITS. Bit 16 + i: the kernel writes to argument i, so such a
 * copy is written back. */
typedef struct RtCall {
	RtKernel *kernel;
	uint32_t  use;
	int       nin, nout;
} RtCall;
#define RT_USE_WRITES(use, i) ((use) >> (16 + (i)) & 1)

/* ---- bits.c: conjugate and negative views ------------------------------------------------------------- */

bool rt_has_bits(IValue);    /* whether it is a tensor with RT_BITS, or a list that contains one */
typedef struct RtLazy {
	void (*apply)(RtTensor *, unsigned bits);     /* conjugates or negates the elements in place */
	int  (*call)(RtCx *, const RtCall *, const IValue *in, IValue *out);     /* rt_call_using */
	RtTensor *(*contiguous)(RtCx *, RtTensor *);
} RtLazy;
extern const RtLazy *const rt_lazy;    /* null if no tensor has bits; all.c sets it, and programs define their own */
extern const RtLazy rt_lazy_all;

/* ---- cx.c: one call of a model ---------------------------------------------------------------------- */

typedef struct RtGenerator {                  /* The CPU generator of ATen: mt19937 and a cached normal number. */
	RtHead   h;
	uint64_t seed;
	uint32_t state[624];
	int      at;
	bool     has_normal;
	RT_ATOMIC bool shared;       /* whether forked calls draw from it, too */
	RT_ATOMIC bool locked;
	double   normal;
} RtGenerator;

/* Number of bytes on the heap of live tensors. It outlives the RtCx. */
typedef struct RtAccount { RtHead h; RT_ATOMIC int64_t bytes; } RtAccount;

typedef struct RtPlace { void *data; int64_t bytes; } RtPlace;    /* planned memory for a result */

enum { RT_OK = 0, RT_ERROR = 1, RT_UNKNOWN_META = 2, RT_LACKS = 7 };

typedef struct RtVisit { const RtCode *code; uint32_t place; } RtVisit;

/* Hooks for a second run of the same code in lockstep (kiln check's run in double). */
typedef struct RtTwin {
	/* replaces rt_call_using */
	int    (*kernel)(RtCx *, const RtCode *, const RtInsn *, const IValue *in, IValue *out);
	IValue (*constant)(RtCx *, IValue);      /* replaces a constant of the code; returns a new reference */
	void   *arg;
} RtTwin;

/* Version of PyTorch that wrote the archive (module.c). RT_TORCH_1 if the input is not an archive. Few operators have
 * changed their meaning: search for RT_TORCH_2. */
typedef enum RtTorch {
	RT_TORCH_1,              /* up to 2.0 */
	RT_TORCH_2,              /* 2.1 and newer */
} RtTorch;

/* PyTorch's engine of quantized operators.  The process that runs the model chooses it; archives do not name it. */
typedef enum RtEngine {
	RT_X86,                  /* also fbgemm and onednn, whose integers are the same */
	RT_QNNPACK,
} RtEngine;

/* Addresses of a thread's own stack. All are null if it is unknown. */
typedef struct RtStack {
	const char *low, *top;   /* bounds of its frames */
	const char *end;         /* lowest address to which it can grow */
} RtStack;

struct RtCx {
	int      status;         /* RT_OK, RT_ERROR or RT_LACKS */
	char    *message;        /* text of the error without "RuntimeError: "; on the heap */
	char    *cls;            /* Python class of the exception; null for RuntimeError */
	/* TorchScript traceback, innermost call last. Made when the outermost call fails. Null if there is none. */
	char    *trace;
	RtVisit *visit;          /* (nvisit) source positions that the error has left, innermost first */
	int      nvisit;
	bool     meta;    /* whether kernels compute only dtype, sizes and strides of results; tensors have no data */
	/* Whether only some tensors have data. If an argument of a kernel lacks data, the interpreter calls the kernel
	 * with `meta` set. */
	bool     partial;
	bool     grad;           /* torch.is_grad_enabled() */
	uint8_t  torch;          /* an RtTorch */
	uint8_t  engine;         /* an RtEngine */
	int      depth;          /* number of nested calls; an error is raised beyond RT_DEPTH */
	const char *stack_end;   /* lowest address for call frames on the stack of the outermost call */
	uintptr_t stack_thread;  /* the thread that made the outermost call */
	RtStack  stack;          /* that thread's own stack: stack.c */
	int      nthread;
	RtGenerator *gen;        /* the default generator */
	RtPlace *place;          /* (nplace) planned memory for results of the next kernel; null if there is none */
	int      nplace;
	/* destination of the next pointwise kernel's result, which the kernel checks first; null if there is none */
	const struct RtInto *into;
	struct RtScratch *scratch;   /* scratch memory and temporaries of the running kernel */
	struct RtPool    *pool;      /* the thread pool */
	struct RtOuter   *outer;     /* thread pool of a library's caller; null if there is none */
	int      vector_bytes;   /* width in bytes of the processor's widest vectors; 0 if not yet known (ops/gemm.c) */
	const struct RtProgram *program;   /* tables of the emitted program; null in kiln */
	IValue  *value;          /* (program->nvalue) constants of the program, then the image of the instance */
	const char *weights;     /* address of the weights for specialized code, unless they are linked and not moved */
	const char *made;        /* forms of weights computed when the program was opened */
	const void *kernels;     /* RtLevel.kernels of the level chosen at start */
	/* receives text of prim::Print; if null, it goes to standard output */
	void   (*print)(RtCx *, const char *, int64_t n);
	void    *print_arg;
	/* receives text of aten::warn; if null, it goes to standard error */
	void   (*warn)(RtCx *, const char *, int64_t n);
	/* profiling hook, called by RT_DO_PROFILE, branches (v is the condition), loops, and methods called by name */
	void   (*probe)(RtCx *, const RtCode *, int pc, int index, IValue v);
	void    *probe_arg;
	struct RtTrace *events;  /* events of --trace (trace.c); null without --trace */
	const RtTwin *twin;      /* hooks of a second run; null if there is none */
	int64_t  steps;          /* number of instructions left before the error "step limit"; negative for no limit */
	int64_t  deadline;       /* in ns of the monotonic clock; 0 for no limit */
	RtAccount *account;
	int64_t  memory_limit;   /* largest number of bytes of live tensors on the heap; 0 for no limit */
	void    *arena;          /* planned memory of the running specialization */
	int64_t  arena_bytes;
	struct RtKnownSizes *sizes;   /* cache of dynamic sizes, by symbol values: sizes.c */
	struct RtCuda *cuda;     /* GPU on which specializations run; null for the CPU */
	void    *instance;       /* state of the model, in emitted programs */
	bool     child;          /* whether it is the context of a forked task, whose pool belongs to its parent */
	/* --guards: whether to print which code runs; --strict: whether a miss is an error */
	bool     show_guards, strict;
	bool     dry;    /* whether launches run only one part: a trial call that allocates all memory of later calls */
	int64_t  calls;          /* number of calls of the program's methods */
	bool     warned[64];     /* warnings that are printed once, by call site modulo 64 */
};
enum { RT_DEPTH = 2000 };

/* Makes the context of a task. It shares the parent's settings and generator, but has its own scratch memory and
 * error. */
int   rt_cx_child(RtCx *child, const RtCx *parent);
int   rt_cx_init(RtCx *);    /* initializes a context with one thread and a generator seeded with RT_SEED */
void  rt_cx_free(RtCx *);
int   rt_raise(RtCx *, const char *fmt, ...) RT_FORMAT(2, 3);    /* raises a RuntimeError; returns RT_ERROR */
int   rt_raise_as(RtCx *, const char *cls, const char *fmt, ...) RT_FORMAT(3, 4);
/* raises an error that Kiln lacks something, with exit status 7 */
int   rt_lacks(RtCx *, const char *fmt, ...) RT_FORMAT(2, 3);
int   rt_no_meta(RtCx *);                  /* for kernels whose result types depend on data: returns RT_UNKNOWN_META */
void  rt_clear_error(RtCx *);
/* Error of a call. rt_take_error takes it out of the context, which then has none; rt_restore_error puts it back and
 * drops a later one. */
typedef struct RtError { int status, nvisit; char *message, *cls, *trace; RtVisit *visit; } RtError;
RtError rt_take_error(RtCx *);
void  rt_restore_error(RtCx *, RtError);
void  rt_visits_add(RtCx *, RtVisit);      /* records that the error in cx has left a call at this position */

/* Returns a new tensor for result i of the running kernel, in its planned memory or on the heap. The kernel must return
 * it in out[i]. It is contiguous if strides is null. Null if an error was raised. */
RtTensor *rt_result(RtCx *, int i, RtDtype, int ndim, const int64_t *dims, const int64_t *strides);
/* Stores the last result in out, then returns from the kernel if only types are needed:
 *    RtTensor *r = rt_result(...);  RT_RESULT(cx, r, out[0]);  ... fill r ...; return 0; */
#define RT_RESULT(cx, r, place) \
	do { if (!(r)) return RT_ERROR; (place) = rt_of(r); if ((cx)->meta) return RT_OK; } while (0)
/* aligned to 64; freed when the kernel returns; null if an error was raised */
void     *rt_scratch(RtCx *, int64_t bytes);
/* takes a reference, which may be null, and releases it when the kernel returns */
RtTensor *rt_temp(RtCx *, RtTensor *);
IValue    rt_temp_value(RtCx *, IValue);
typedef struct RtMark { void *block; int64_t used; int ntemp; } RtMark;
RtMark    rt_scratch_mark(RtCx *);             /* callers of kernels call these two before and after each call */
void      rt_scratch_reset(RtCx *, RtMark);
/* Calls a kernel between rt_scratch_mark and rt_scratch_reset. `out` must be None before the call, and is None after an
 * error. */
int       rt_call_kernel(RtCx *, RtKernel *, const IValue *in, IValue *out, int nout);

/* Calls a kernel with arguments that may have RT_BITS, without mark and reset. `out` must be None before the call. */
int       rt_call_using(RtCx *, const RtCall *, const IValue *in, IValue *out);
/* calls rt_call_using between mark and reset */
int       rt_call(RtCx *, const RtCall *, const IValue *in, IValue *out);

/* Arguments */
static inline RtTensor *
rt_tensor(IValue v)                  /* borrowed; null if v is not a tensor */
{
	RT_ASSERT(v.tag != RT_TENSOR || rt_refs(v.u.head) > 0);
	return v.tag == RT_TENSOR ? v.u.t : 0;
}
double  rt_number(IValue);                                 /* converts an int, float or bool to double */
int64_t rt_integer(IValue);                                /* converts an int, bool or float, which is truncated */
/* Copies a List[int] (or an int, as one element) to buf and returns the number of elements. -1, with an error raised,
 * if there are more than cap. */
int     rt_ints(RtCx *, IValue list, int64_t *buf, int cap);
/* Normalizes a dim, which counts from the end if negative, with ATen's check (rank 0 counts as 1). -1 if an error was
 * raised. */
int     rt_dim(RtCx *, int64_t dim, int ndim);

/* ---- rng.c -------------------------------------------------------------------------------------------- */

#define RT_SEED 67280421310721             /* value of c10::detail::default_rng_seed_val */
RtGenerator *rt_generator_new(RtCx *, uint64_t seed);
void     rt_generator_seed(RtGenerator *, uint64_t seed);
uint32_t rt_random32(RtGenerator *);
double   rt_uniform53(RtGenerator *);      /* returns a number in [0, 1) */
float    rt_uniform24(RtGenerator *);
double   rt_normal(RtGenerator *); /* returns a normal number; the second one of each pair is kept for the next call */

/* ---- recycle.c: memory of values; threads keep freed blocks for later allocations -------------------------------- */

void *rt_mem(int64_t bytes);                              /* aligned to 16; null if memory is exhausted */
void *rt_mem_zeroed(int64_t bytes);
void *rt_mem_counted(RtCx *, int64_t bytes);              /* zeroed; begins with an RtHead, whose count is one */
void *rt_mem_line(int64_t bytes);                         /* aligned to 64 */
void *rt_mem_more(void *, int64_t bytes);                 /* like realloc */
void  rt_mem_back(void *);    /* frees a block of these functions, or null; the thread may keep the block */
void  rt_mem_free(void *);                                /* frees a block to the system; may be called on any thread */
void  rt_mem_end(void);                                   /* frees the blocks that this thread keeps */
/* Replaces the set of blocks that this thread keeps, and returns the previous one. Null stands for an empty set. */
struct RtMem *rt_mem_switch(struct RtMem *);
/* For libraries, where lack of memory must not end the process. A text that cannot grow gets one of a few spare blocks
 * or is cut short, and the call returns an error. */
bool  rt_mem_spares(void);             /* fills up this thread's spare blocks; returns false if memory is exhausted */
bool  rt_mem_cut(struct Buf *); /* whether this text may be cut, or left out if null; if false, the process must end */
bool  rt_mem_was_lost(void);           /* whether a text was cut since the last call of this function */
char **rt_mem_block(void);             /* returns the place of rt_thread_scratch's block; null if memory is exhausted */

/* ---- stack.c --------------------------------------------------------------------------------- */

enum { RT_STACK_BYTES = 8 << 20 };                          /* stack size of the pool's threads */
void rt_stack_note(RtCx *);               /* sets stack_end, at an outermost call, for the calling thread */
const char *rt_stack_end(void);    /* returns the lowest address for frames on the caller's stack; null if unknown */

/* ---- thread.c, task.c: the thread pool ------------------------------------------------------------------- */

/* A caller's thread pool. `run` must call part(arg, i) for all i below parts, on any threads, and return when all have
 * returned. */
typedef struct RtOuter {
	void (*run)(void *pool, int parts, void (*part)(void *arg, int i), void *arg);
	void  *pool;
	/* rt_outer_loop; it is a pointer so that only libraries link the function */
	bool (*loop)(RtCx *, int64_t n, int parts, void (*body)(void *, int64_t begin, int64_t end), void *arg);
	RT_ATOMIC int busy;          /* whether the pool runs a loop */
} RtOuter;
/* Runs a parallel loop on the caller's pool. Returns false, and does nothing, if the loop is nested in another one. */
bool rt_outer_loop(RtCx *, int64_t n, int parts, void (*body)(void *, int64_t begin, int64_t end), void *arg);
int  rt_threads(RtCx *, int n);                         /* starts or stops workers; 0 for one thread for each core */
/* Splits [0, n) into at most cx->nthread parts of at least `grain`, and calls body(arg, begin, end) for them in
 * parallel. A nested loop runs in the calling thread. A body must only read cx. */
void rt_parallel(RtCx *, int64_t n, int64_t grain, void (*body)(void *, int64_t begin, int64_t end), void *arg);
typedef struct RtFuture RtFuture;
/* queues a call; sets *out to its future */
int  rt_fork(RtCx *, const RtCode *, const IValue *args, int n, IValue *out);
/* sets *out to an awaitable; its first wait makes the call */
int  rt_await(RtCx *, const RtCode *, const IValue *args, int n, IValue *out);
int  rt_awaited(RtCx *, IValue v, IValue *out);         /* sets *out to a completed future of v */
int  rt_wait(RtCx *, RtFuture *, IValue *out);          /* runs queued tasks while it waits; raises the task's error */
/* Like rt_wait, but raises an error if the result is not of the type. */
int  rt_wait_for(RtCx *, IValue future, const RtType *, IValue *out);
IValue   rt_future_take(RtFuture *);                    /* for rt_release: frees the future and returns its value */
void rt_drain(RtCx *);                                  /* completes the tasks that nothing has waited for */
int64_t rt_now(void);                                   /* returns the monotonic time in ns */

/* returns the thread's block, which is kept between calls; null if memory is exhausted */
void *rt_thread_scratch(int64_t bytes);
void rt_thread_end(void);                             /* frees that block; the pool's threads call this themselves */

/* ---- interp.c: Code and its interpreter -------------------------------------------------------------------- */

typedef enum RtOpcode {
	RT_DO_KERNEL,       /* out[0..nout) = kernel[arg](in[0..nin)) */
	RT_DO_CALL,         /* out[0..nout) = callee[arg](in...) */
	/* calls the method string[arg], which is "interface.name", of in[0]'s class; probed with the object and index =
	 * pc */
	RT_DO_CALL_METHOD,
	RT_DO_CALL_VALUE,   /* in[0] is a function value, which is called with the other operands */
	RT_DO_CONSTANT,     /* out[0] = constant[arg] */
	RT_DO_MOVE,         /* out[i] = in[i], all at once (parallel move) */
	RT_DO_JUMP,         /* pc = arg */
	RT_DO_BRANCH,       /* if !in[0]: pc = arg; probed with index = pc */
	/* in: trip index, max trip count, condition; if !(cond && index < max): pc = arg; probed with index = pc and
	 * whether the loop continues */
	RT_DO_LOOP,
	RT_DO_NEXT,         /* in[0] = index register, out[0] the same: index + 1; pc = arg */
	RT_DO_RETURN,       /* results are in[0..nin) */
	RT_DO_TUPLE,        /* out[0] = tuple of in; it is plain if arg is 0, otherwise of type[arg - 1] */
	RT_DO_UNPACK,       /* out[0..nout) = elements of tuple in[0] */
	RT_DO_INDEX,        /* out[0] = element arg (an int32) of tuple in[0] */
	RT_DO_TUPLE_SLICE,  /* out[0] = elements lo to hi of tuple in[0], where arg is lo << 16 | hi */
	RT_DO_NEW_LIST,     /* out[0] = list of in, whose element type is type[arg] */
	RT_DO_LIST_UNPACK,  /* out[0..nout) = elements of list in[0]; raises an error if its length is not nout */
	RT_DO_NEW_DICT,     /* out[0] = dict of in: key, value, ...; type[arg] is the Dict type */
	RT_DO_GET_ATTR,     /* out[0] = in[0].slot[arg] */
	RT_DO_SET_ATTR,     /* in[0].slot[arg] = in[1] */
	RT_DO_NEW_OBJECT,   /* out[0] = object of type[arg]'s class */
	RT_DO_ISINSTANCE,   /* out[0] = isinstance(in[0], type[arg]) */
	RT_DO_CAST,         /* out[0] = in[0], which must be a type[arg] */
	RT_DO_UNSET,        /* out[0] = a placeholder of type[arg], which is never read */
	RT_DO_FORK,         /* out[0] = future of callee[arg](in...) */
	RT_DO_AWAIT,        /* out[0] = awaitable of callee[arg](in...), which the first wait calls */
	RT_DO_WAIT,         /* out[0] = result of future in[0], which must be a type[arg] */
	RT_DO_PROFILE,      /* out[0] = in[0], probed with index = arg */
	RT_DO_RAISE,        /* in[0] is the message, in[1] the class name or None */
	/* pushes a with-scope of object in[0]; arg is the pc of its handler, which calls __exit__, then
	 * RT_DO_RERAISE */
	RT_DO_ENTER,
	RT_DO_EXIT,         /* pops the innermost with-scope */
	RT_DO_RERAISE,
	RT_DO_CLEAR,        /* releases the operands */
	RT_NOPCODE,
} RtOpcode;

struct RtInsn {
	uint32_t op : 8;
	uint32_t line : 24;      /* index in code->place; 0 if there is none */
	uint16_t nin, nout;
	uint32_t in;             /* index in code->operand of nin operands, which nout results follow */
	uint32_t arg;
};

/* The function of each opcode. It returns a status, or one of interp.c's own codes. A program defines its own table,
 * with null for opcodes that it does not use (cgen.c: put_parts); all.c has the full table. */
struct RtActivation;
typedef int RtDo(struct RtActivation *, const RtInsn *);
extern RtDo *const rt_do[RT_NOPCODE];
RtDo rt_do_kernel, rt_do_call, rt_do_call_method, rt_do_call_value, rt_do_constant, rt_do_move, rt_do_jump,
     rt_do_branch, rt_do_loop, rt_do_next, rt_do_return, rt_do_tuple, rt_do_unpack, rt_do_index, rt_do_tuple_slice,
     rt_do_new_list, rt_do_list_unpack, rt_do_new_dict, rt_do_get_attr, rt_do_set_attr, rt_do_new_object,
     rt_do_isinstance, rt_do_cast, rt_do_unset, rt_do_fork, rt_do_await, rt_do_wait, rt_do_profile, rt_do_raise,
     rt_do_enter, rt_do_exit, rt_do_reraise, rt_do_clear;

/* bodies.c: implementations of instructions, for the interpreter and for specialized code. `out` must be None before
 * the call, and has new references after RT_OK. */
typedef union RtWhat {
	int64_t       n;    /* for unpack: the RtTag of in[0]; for index, slice, get, set: as in the instruction */
	const RtType *type;           /* for dict, object, isinstance, cast, wait */
	const RtCode *code;           /* for fork, await */
} RtWhat;
typedef int RtBody(RtCx *, RtWhat, const IValue *in, int nin, IValue *out, int nout);
RtBody rt_body_unpack, rt_body_index, rt_body_slice, rt_body_dict, rt_body_get, rt_body_set, rt_body_object,
       rt_body_isinstance, rt_body_cast, rt_body_fork, rt_body_await, rt_body_wait, rt_body_raise;

/* An operand is the index of a register. The top bit marks the register's last use: its value is moved and not
 * copied. */
#define RT_LAST 0x80000000u
#define RT_REG(o) ((o) & 0x7fffffffu)

typedef struct RtPlaceName {          /* A source position. Texts are offsets in RtCode.text; 0 if there is none. */
	uint32_t file;                /* such as "code/__torch__/net.py" */
	uint32_t function;            /* such as "forward" */
	uint32_t line_text;           /* text of the line; 0 with --no-source */
	int line, column, width;
	int original;                 /* index of the position in the original source; 0 if there is none */
	int caller;    /* index of the position of the call, if the function was inlined; 0 if it was not */
} RtPlaceName;

struct RtCode {
	const char   *name;           /* qualified name: __torch__.Net.forward */
	const RtInsn *insn;
	const uint32_t *operand;
	RtKernel *const *kernel;
	const char *const *kernel_name;    /* names for messages: aten::add.Tensor */
	const uint32_t *kernel_use;        /* RtCall.use of each kernel */
	const IValue *constant;       /* constants; if null, they are at cx->value + first_value */
	const RtType *const *type;
	const RtCode *const *callee;
	const char *const *string;
	const RtPlaceName *place;
	const unsigned char *packed_place; /* positions in compressed form, in a program: see rt_place */
	const char   *text;           /* texts of the positions */
	int ninsn, nreg, narg, nresult;    /* registers 0 .. narg-1 are the arguments */
	int nkernel, nconstant, ntype, ncallee, nstring, nplace_name, first_value;
	int (*plan)(RtCx *, IValue *reg);  /* entry of specialized code; null if there is none */
};

/* Returns position i. A packed position is eight numbers of seven bits a byte; the last byte of a number lacks bit 7.
 * They are: the indices of the texts of the file, of the function and of the line (0 for no text); line, column, width;
 * the distances to `original` and `caller`. A distance is 2 n for n positions on, 2 n - 1 for n positions back, and 0
 * for no position. */
RtPlaceName rt_place(const RtCode *, int i);

/* Returns the method "interface.name" of self's class. The interface is part of the name, so that a call through it
 * only finds methods that it declares. Null if an error was raised. */
const RtCode *rt_method(RtCx *, IValue self, const char *name);
void rt_traceback(RtCx *);               /* sets cx->trace from cx->visit */
bool rt_in_operator(RtVisit); /* whether it is in the body of an operator; PyTorch's traceback omits such positions */

/* Runs code on args (borrowed) and fills results (new references). If the status is not 0, the error is in cx. */
int rt_run(RtCx *, const RtCode *, const IValue *args, IValue *results);
void rt_say_place(const RtCode *, uint32_t line);      /* plan.c: prints the position of a line to standard error */
/* records that the error in cx passes a line; 0 for an unknown line */
void rt_visit(RtCx *, const RtCode *, uint32_t line);
/* Resumes generic code at pc after a failed guard. `reg` has nreg registers; takes them and releases them at the end.
 * Results are left in reg[0 .. nresult). */
int rt_resume(RtCx *, const RtCode *, int pc, IValue *reg);

/* ---- trace.c: --trace -------------------------------------------------------------------------------------------- */

/* begin and end in ns; the name is kept by reference */
void rt_trace_add(RtCx *, const char *name, int64_t begin, int64_t end);

/* ---- cpu.c: processor features ----------------------------------------------------------------------------------- */

/* Whether the processor has all features in `needs`, which are words of needs.h. Writes the missing ones to lacks[n],
 * each after a space. Writes nothing if n is 0. */
bool rt_cpu_runs(const char *needs, char *lacks, size_t n);
extern const char rt_ops_needs[];        /* ops/level.c: the features that the operators of this level need */

/* ---- print.c: printing as in PyTorch ------------------------------------------------------------------- */

struct Buf;
void rt_format_double(struct Buf *, double);             /* TorchScript's form: 1., 0.10000000000000001, 1e-10, inf */
/* for print(), str(), format(); depth is 0 for the outermost value */
void rt_format_value(struct Buf *, IValue, int depth);
void rt_format_tensor(struct Buf *, const RtTensor *);   /* ATen's stream form, with [ CPUFloatType{2} ] */

/* ---- engines.c ------------------------------------------------------------------------------------------------- */

/* Operators whose results the engines round differently. */
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
typedef struct RtRounding { uint8_t how; bool last; } RtRounding;        /* last: whether the result is channels last */
/* Returns how a result is rounded. t is the argument. `list` has the dims that a mean reduces, or the output_size of an
 * adaptive pool. */
RtRounding rt_rounding(const RtCx *, RtQuantOp, const RtTensor *t, IValue list);
/* whether dynamic activations have 7 bits; asked: the argument reduce_range */
bool       rt_reduces_range(const RtCx *, bool asked);

/* ---- ops/parts.c ----------------------------------------------------------------------------------------------- */

/* Parts of kernels for special operands, called by pointers. ops/parts.c sets all pointers. A program sets only those
 * that it needs. */
typedef struct RtTiles RtTiles;
typedef struct RtQuantized RtQuantized;
extern const RtTiles *const rt_tiles[];              /* tiles of matrix products, widest first; ends with null */
extern const RtQuantized *const rt_quantized;        /* null if the program has no quantized tensors */
/* for vectors of 64, 32 and 16 bytes; those of 64 and 32 only on x86 */
extern const RtTiles rt_tiles_64, rt_tiles_32, rt_tiles_16;
extern const RtTiles rt_tiles_64_floats, rt_tiles_32_floats, rt_tiles_16_floats;      /* without tiles for doubles */
extern const RtQuantized rt_quantized_all;

/* Converts contiguous elements directly, for the pairs of dtypes that kernels convert most. Returns false, and does
 * nothing, for other pairs, which rt_cast converts through wide types. If rt_cast_dense is null, rt_cast converts all
 * pairs in that way. */
typedef bool RtCastDense(RtDtype to, char *restrict d, RtDtype from, const char *restrict s, int64_t n);
extern RtCastDense *const rt_cast_dense;
RtCastDense rt_cast_dense_all;

#endif
