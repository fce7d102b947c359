/* rt/rt.h - what a compiled model runs on: values, tensors, the interpreter, the pool
 *
 * Ownership: a function borrows its arguments and returns a new reference, unless its comment says otherwise.  A null
 * pointer or a non-zero status means that it failed; the error is in the RtCx then.
 *
 * This is what operators are written with, Kiln's own and users' (kiln.h).  It includes no system header that tcc
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

/* For data that threads share without a lock.  The qualifier makes every access atomic.  Programs built by tcc have no
 * threads. */
#ifdef __TINYC__
#define RT_ATOMIC
#else
#define RT_ATOMIC _Atomic
#endif

/* rt is compiled for size.  Loops over elements are compiled for speed: they stand below RT_FAST, down to RT_SMALL or
 * the end of the file.  In `ninja tiny` they are not: that takes most of the time of its build. */
#if defined __GNUC__ && !defined __clang__ && !defined __TINYC__ && !defined KILN_TEST
#define RT_FAST _Pragma("GCC optimize(\"O2\", \"tree-vectorize\", \"vect-cost-model=dynamic\", \"no-trapping-math\", \
	\"no-math-errno\", \"no-align-functions\", \"no-align-jumps\", \"no-align-labels\", \"tree-ch\", \
	\"tree-loop-im\", \"move-loop-invariants\", \"caller-saves\")")
/* Before a short loop over an array of accumulators: unrolled, the array lives in registers. */
#define RT_UNROLL _Pragma("GCC unroll 32")
#define RT_SMALL _Pragma("GCC reset_options")
/* In emitted code.  The generic program stands between the first two; specializations, long lists of addresses and
 * launches, stand below the third and are compiled for size.  In functions of such length gcc's points-to analysis
 * takes most of the time and finds nothing, so it is off.  So are, below the third, passes that remove redundant loads
 * and stores: without them the code has the same size and compiles in two thirds of the time. */
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

typedef enum RtDtype {                  /* ORDER dtype: the codes of ATen's ScalarType, as models hold them */
#define DTYPE(name, c, bytes, torch, numpy, cat, compute, brief) RT_##name,
#define NO_DTYPE(name, torch, brief) RT_##name,
#include "dtype.def"
#undef DTYPE
	RT_NDTYPE,
} RtDtype;

typedef struct RtDtypeInfo {
	const char *name, *torch, *numpy, *brief;   /* f32, float32, <f4, Float */
	uint8_t bytes;
	char    category;                           /* B I F C Q U E; ? of a NO_DTYPE row */
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
uint8_t  rt_float_to_f8(RtDtype, float);        /* round to nearest even; what is too large: as PyTorch 2.15 */
/* n contiguous elements, converted as ATen's copy does; complex -> real drops the imaginary part. */
void     rt_cast(RtDtype to, void *dst, RtDtype from, const void *src, int64_t n);
typedef struct RtRun { RtDtype dtype; int64_t step; } RtRun;     /* elements at equal distances; step in bytes */
void     rt_cast_strided(void *dst, RtRun to, const void *src, RtRun from, int64_t n);
RtDtype  rt_promote(RtDtype, RtDtype);          /* ATen's table; RT_NDTYPE when there is no common type */
bool     rt_can_cast(RtDtype from, RtDtype to); /* may a result of `from` be written into a tensor of `to`? */
double   rt_largest(RtDtype);                   /* the largest finite number of a floating or complex dtype */
/* float64 for a floating dtype, complex128 for a complex one; other dtypes are returned as they are */
RtDtype  rt_in_double(RtDtype);

/* ---- types: of values at run time; the compiler's own types are the same struct ------------------- */

typedef enum RtKind {
	TYPE_ANY, TYPE_NONE, TYPE_TENSOR, TYPE_INT, TYPE_FLOAT, TYPE_BOOL, TYPE_COMPLEX, TYPE_NUMBER, TYPE_STR,
	TYPE_DEVICE, TYPE_GENERATOR, TYPE_STORAGE, TYPE_STREAM,
	TYPE_LIST, TYPE_DICT, TYPE_OPTIONAL, TYPE_TUPLE, TYPE_UNION, TYPE_FUTURE, TYPE_AWAIT,   /* have `of` */
	TYPE_CLASS, TYPE_INTERFACE, TYPE_ENUM, TYPE_FUNCTION, TYPE_VAR,                         /* have `name` */
	TYPE_ANY_LIST, TYPE_ANY_TUPLE, TYPE_ANY_CLASS, TYPE_ANY_ENUM,
	TYPE_NKIND,
} RtKind;

/* What is known of a tensor at compile time; what is unknown is RT_UNKNOWN or null.  Programs have none. */
typedef struct RtTensorInfo RtTensorInfo;

struct RtType {
	RtKind              kind;
	int                 n;        /* elements of `of` */
	const RtType *const *of;      /* List: element; Dict: key, value; Tuple, Union: all; Enum: the value's type */
	const char         *name;     /* class, interface, enum, NamedTuple: qualified; variable: its name */
	const char *const  *field;    /* NamedTuple: n names; else null */
	RtClass            *cls;      /* class, interface, enum */
	const RtTensorInfo *tensor;   /* null: any tensor */
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
	const RtType        *type;    /* of its objects */
	int                  nmember; /* of an enum */
	const RtMember      *member;
	struct ClassInfo    *info;    /* the compiler's: ir.h; null in programs */
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
	RT_GENERATOR, RT_STORAGE,                             /* counted */
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
typedef struct RtDict {                                       /* in order of insertion */
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

/* Counting; a target without threads (tcc) counts plainly. */
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
void   rt_release(IValue);                /* drops a reference; frees at the last one; bounded recursion */
void   rt_assign(IValue *place, IValue v); /* takes v, releases what was there */
bool   rt_same(IValue, IValue);           /* `is` */
int    rt_equal(RtCx *, IValue, IValue, bool *out);   /* `==` of containers; tensors by bool(a == b) */
bool   rt_isinstance(IValue, const RtType *);
/* Can the value be used as one of the type?  A list whose element type is not known yet can if its elements can. */
bool   rt_may_be(IValue, const RtType *);
int    rt_need(RtCx *, IValue, const RtType *);       /* the same, raised when not; then rt_settle */
void   rt_settle(IValue, const RtType *);  /* lists in it whose element type is not known yet take it from the type */
IValue rt_some(RtCx *, const RtType *);    /* an empty value of the type; None when the type has none */
typedef struct RtTypeName { char text[256]; } RtTypeName;
RtTypeName rt_type_name(IValue);          /* for messages: "int", "Tensor", "List[int]"... */
#define rt_type_of(v) (rt_type_name(v).text)      /* until the end of the whole expression */
IValue rt_deep_copy(RtCx *, IValue);      /* tensors cloned, sharing between parts kept */

RtStr    *rt_str_new(RtCx *, const char *, int64_t n);        /* n < 0: to the final 0 */
RtList   *rt_list_new(RtCx *, const RtType *elem, int64_t room);
int       rt_list_push(RtCx *, RtList *, IValue v);           /* takes v, also on failure */
RtDict   *rt_dict_new(RtCx *, const RtType *key, const RtType *value);
int       rt_dict_set(RtCx *, RtDict *, IValue key, IValue value);   /* takes both */
IValue   *rt_dict_get(RtDict *, IValue key);                  /* null when absent; borrowed */
bool      rt_dict_remove(RtDict *, IValue key);
RtTuple  *rt_tuple_new(RtCx *, const RtType *named, int64_t n);      /* n times None */
RtObject *rt_object_new(RtCx *, RtClass *);                   /* slots None */
RtEnum   *rt_enum_new(RtCx *, const RtType *, const char *name, IValue value);   /* takes value */
IValue    rt_complex(RtCx *, double re, double im);
RtFunction *rt_function_new(RtCx *, const RtCode *, int nbound);
uint64_t  rt_hash(IValue);

/* ---- tensor.c -------------------------------------------------------------------------------------- */

struct RtStorage {
	RtHead  h;
	/* RT_HEAP, RT_BORROWED (arena or mapped: not freed), RT_META (no data at all), RT_PACKED */
	RT_ATOMIC uint8_t kind;
	bool    readonly;        /* weights: rt_writable makes a private copy first */
	bool    written;         /* of the compiler: a constant of the archive that some code may write to */
	int64_t bytes;
	char   *data;
	struct RtAccount *account;   /* where its heap bytes are counted, or null */
	const struct RtSpan *packed; /* RT_PACKED: what its data, not filled yet, will be unpacked from */
};
enum { RT_HEAP, RT_BORROWED, RT_META, RT_PACKED };

typedef struct RtQuant {                 /* of quantized tensors */
	RtHead  h;
	int     scheme;          /* ATen's QScheme: 0 per tensor affine, 1 per channel affine, ... */
	double  scale;
	int64_t zero;
	int64_t axis;            /* per channel */
	RtTensor *scales, *zeros;
} RtQuant;

enum { RT_MAX_RANK = 64 };
enum {                                   /* RtTensor.flags */
	RT_WRAPPED = 1,          /* a Python number as a 0-d tensor: weaker in type promotion */
	RT_REQUIRES_GRAD = 2,
	RT_UNSET = 4,            /* a placeholder of rt_some: never read, and ignored by profiles */
	RT_PARAMETER = 8,
	RT_CONJ = 16,            /* a lazy conjugate view: its elements are the conjugates of those stored; bits.c */
	RT_NEG = 32,             /* a lazy negative view, likewise */
	RT_BITS = RT_CONJ | RT_NEG,
};

struct RtTensor {
	RtHead     h;
	uint8_t    dtype, ndim, flags, layout;   /* layout: 0 strided */
	uint16_t   room;         /* dims that fit into geom */
	int64_t    offset;       /* of the first element in its storage, in elements */
	int64_t   *dims;         /* (ndim) */
	int64_t   *strides;      /* (ndim), in elements, may be 0; never negative */
	RtStorage *storage;
	RtQuant   *quant;        /* null unless quantized */
	int64_t   *more;         /* heap geometry when it outgrew geom; dims and strides point into it then */
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
/* Strides of an elementwise result of these n operands, by ATen's rule: a dense permutation that they share is kept. */
void      rt_result_strides(int ndim, const int64_t *dims, int n, RtTensor *const *operands, int64_t *strides);

RtTensor *rt_tensor_new(RtCx *, RtDtype, int ndim, const int64_t *dims);                 /* contiguous, uninitialised */
/* with a storage of its own, uninitialised; strides null: contiguous */
RtTensor *rt_tensor_strided(RtCx *, RtDtype, int ndim, const int64_t *dims, const int64_t *strides);
/* Shares the storage of base, whose dtype, layout, flags (but RT_WRAPPED, RT_PARAMETER) and quantization it has.  The
 * offset counts from the start of the storage. */
RtTensor *rt_tensor_view(RtCx *, const RtTensor *base, int ndim, const int64_t *dims, const int64_t *strides,
			 int64_t offset);
/* Gives t the scales and zero points of another tensor, or none. */
void      rt_tensor_share_quant(RtTensor *t, const RtTensor *of);
/* Where a tensor's elements lie in its storage: counted in elements, as in RtTensor. */
typedef struct RtGeometry {
	int ndim;
	const int64_t *dims;
	const int64_t *strides;  /* null: contiguous */
	int64_t offset;
} RtGeometry;
/* A tensor that shares the storage.  Null, and raised: a size is negative, or the storage is too small. */
RtTensor *rt_tensor_over(RtCx *, RtStorage *, RtDtype, const RtGeometry *);
/* A contiguous tensor over the caller's memory, which has to outlive it.  readonly: a write makes a private copy. */
RtTensor *rt_tensor_borrow(RtCx *, RtDtype, int ndim, const int64_t *dims, const void *data, bool readonly);
RtTensor *rt_tensor_retain(RtTensor *);
void      rt_tensor_release(RtTensor *);
/* in place: resize_, squeeze_ */
int       rt_tensor_set_geometry(RtCx *, RtTensor *, int ndim, const int64_t *dims, const int64_t *strides,
				 int64_t offset);
int       rt_tensor_set_storage(RtCx *, RtTensor *, RtStorage *);                        /* set_, data */
int       rt_tensor_resize(RtCx *, RtTensor *, int ndim, const int64_t *dims);           /* contiguous; storage grows */
/* copy.c */
RtTensor *rt_scalar_tensor(RtCx *, RtDtype, IValue number);                              /* 0-d */
RtTensor *rt_wrapped(RtCx *, IValue number);        /* 0-d, flag RT_WRAPPED: int64, float64, bool or complex128 */
RtTensor *rt_contiguous(RtCx *, RtTensor *);        /* the same tensor if it is contiguous and has no RT_BITS */
RtTensor *rt_to_dtype(RtCx *, RtTensor *, RtDtype); /* the same tensor if it has the dtype and no RT_BITS */
RtTensor *rt_clone(RtCx *, RtTensor *);             /* preserve_format */
int       rt_copy_into(RtCx *, RtTensor *dst, RtTensor *src);   /* broadcasts and casts; overlap is allowed */
/* Raises when an element of the dtype cannot hold the number: too large, complex for a real, NaN for an integer. */
int       rt_check_number(RtCx *, IValue number, RtDtype);
int       rt_fill(RtCx *, RtTensor *, IValue number);
bool      rt_overlaps_itself(const RtTensor *);     /* two indices have one address: it must not be written to */
bool      rt_may_overlap(const RtTensor *, const RtTensor *);
/* ATen's checks of a write, which raise. */
int       rt_check_itself(RtCx *, const RtTensor *to);                         /* unless no two indices share memory */
int       rt_check_overlap(RtCx *, const RtTensor *to, const RtTensor *from);  /* unless the same view, or disjoint */
int       rt_check_apart(RtCx *, const RtTensor *to, const RtTensor *from);    /* unless disjoint */
int       rt_writable(RtCx *, RtTensor *);       /* before a write in place: read-only storage becomes a private copy */
void      rt_dense_strides(const RtTensor *, int64_t *strides);   /* of empty_like, clone, to with preserve_format */
RtStorage *rt_storage_new(RtCx *, int64_t bytes);   /* heap, aligned to 64; meta while cx->meta */
RtStorage *rt_storage_over(RtCx *, const void *data, int64_t bytes, bool readonly);
void      rt_storage_release(RtStorage *);
/* Takes the heap memory out of a storage with one reference; the caller frees it with rt_mem_free.  Null: the storage
 * is shared, or its memory is not on the heap. */
char     *rt_storage_take(RtStorage *);
double    rt_load_f64(RtDtype, const void *);       /* one element, as a number; complex: real part */
int64_t   rt_load_i64(RtDtype, const void *);
IValue    rt_item(RtCx *, const RtTensor *);        /* the value of a 1-element tensor as int, float, bool or complex */

/* Is it an object of PyTorch's own classes, such as a quantized layer's packed parameters? */
bool rt_holds_weights(IValue);
/* program.c: unpacks the data of an RT_PACKED storage, the first time that it is called for one */
void rt_unpack(RtCx *, RtStorage *);
/* Writes a row of a contiguous matrix over an RT_PACKED storage.  False: its parts are not rows of the matrix, and
 * rt_unpack has to make all of it. */
bool rt_packed_row(RtCx *, const RtTensor *, int64_t row, void *to);

typedef int RtKernel(RtCx *, const IValue *in, IValue *out);     /* 0, or an error is in cx; out: all set or all None */

/* A kernel, how many arguments and results it has, and what it does with the first 16 arguments: bit i of use: it wants
 * a copy of argument i without RT_BITS; bit 16 + i, too: it writes to that. */
typedef struct RtCall {
	RtKernel *kernel;
	uint32_t  use;
	int       nin, nout;
} RtCall;
#define RT_USE_WRITES(use, i) ((use) >> (16 + (i)) & 1)

/* ---- bits.c: conjugate and negative views ------------------------------------------------------------- */

bool rt_has_bits(IValue);                             /* a tensor with RT_BITS, or a list with such a tensor in it */
typedef struct RtLazy {
	void (*apply)(RtTensor *, unsigned bits);     /* conjugates, negates the elements in place */
	int  (*call)(RtCx *, const RtCall *, const IValue *in, IValue *out);     /* rt_call_using */
	RtTensor *(*contiguous)(RtCx *, RtTensor *);
} RtLazy;
extern const RtLazy *const rt_lazy;          /* null: no tensor has bits (all.c has all; a program defines its own) */
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

/* heap bytes of tensors alive; outlives the cx that counts */
typedef struct RtAccount { RtHead h; RT_ATOMIC int64_t bytes; } RtAccount;

typedef struct RtPlace { void *data; int64_t bytes; } RtPlace;    /* planned memory for a result */

enum { RT_OK = 0, RT_ERROR = 1, RT_UNKNOWN_META = 2, RT_LACKS = 7 };

typedef struct RtVisit { const RtCode *code; uint32_t place; } RtVisit;

/* Hooks of a run in lockstep with another run of the same code (kiln check's run in double). */
typedef struct RtTwin {
	/* in place of rt_call_using */
	int    (*kernel)(RtCx *, const RtCode *, const RtInsn *, const IValue *in, IValue *out);
	IValue (*constant)(RtCx *, IValue);      /* in place of a constant of the code: a new reference */
	void   *arg;
} RtTwin;

/* Which PyTorch wrote the archive (module.c); RT_TORCH_1 for anything but an archive.  Few operators have changed
 * their meaning: grep for RT_TORCH_2. */
typedef enum RtTorch {
	RT_TORCH_1,              /* to 2.0 */
	RT_TORCH_2,              /* 2.1 and newer */
} RtTorch;

/* PyTorch's engine of quantized operators.  The process that runs the model chooses it; archives do not name it. */
typedef enum RtEngine {
	RT_X86,                  /* and fbgemm, onednn: their integers are the same */
	RT_QNNPACK,
} RtEngine;

/* Addresses of a thread's own stack.  All null: not known. */
typedef struct RtStack {
	const char *low, *top;   /* a frame between these is on it */
	const char *end;         /* where it can not grow further */
} RtStack;

struct RtCx {
	int      status;         /* RT_ERROR: raised; RT_LACKS */
	char    *message;        /* of the error, heap; "RuntimeError: ..." is not part of it */
	char    *cls;            /* Python class of the exception, or null */
	/* TorchScript traceback, innermost last, or null; made when the outermost call fails */
	char    *trace;
	RtVisit *visit;          /* (nvisit) places of the calls an error has left, innermost first */
	int      nvisit;
	bool     meta;           /* kernels only say dtype, sizes and strides of results; tensors have no data */
	/* some tensors have data and others none: while meta is off, the interpreter calls a kernel whose arguments
	 * lack data as if meta were on */
	bool     partial;
	bool     grad;           /* torch.is_grad_enabled() */
	uint8_t  torch;          /* an RtTorch */
	uint8_t  engine;         /* an RtEngine */
	int      depth;          /* calls in progress; past RT_DEPTH is an error */
	const char *stack_end;   /* call frames must stay above it; of the stack that the outermost call is on */
	uintptr_t stack_thread;  /* the thread that made the outermost call */
	RtStack  stack;          /* its own stack: stack.c */
	int      nthread;
	RtGenerator *gen;        /* the default generator */
	RtPlace *place;          /* planned places of the results of the kernel that runs next, or null */
	int      nplace;
	/* where the result of the pointwise kernel that runs next will be written, which it checks first; or null */
	const struct RtInto *into;
	struct RtScratch *scratch;   /* memory and temporaries of the kernel that runs */
	struct RtPool    *pool;      /* threads */
	struct RtOuter   *outer;     /* the caller's, of a library; or null */
	int      vector_bytes;   /* of the widest vectors that the host has; 0: not asked yet (ops/gemm.c) */
	const struct RtProgram *program;   /* the emitted program's tables, or null in kiln */
	IValue  *value;          /* its constants: (program->nvalue), then the instance's image */
	const char *weights;     /* where specialized code reads weights, unless they are linked and stay in place */
	const char *made;        /* the forms of weights that were made when the program was opened */
	const void *kernels;     /* of the program's level that runs here: RtLevel */
	void   (*print)(RtCx *, const char *, int64_t n);      /* prim::Print; null: standard output */
	void    *print_arg;
	void   (*warn)(RtCx *, const char *, int64_t n);       /* aten::warn; null: standard error */
	/* profiling: RT_DO_PROFILE, branches with their condition, loops, methods called by name */
	void   (*probe)(RtCx *, const RtCode *, int pc, int index, IValue v);
	void    *probe_arg;
	struct RtTrace *events;  /* what ran when, or null: trace.c */
	const RtTwin *twin;      /* or null */
	int64_t  steps;          /* instructions left before "step limit"; < 0: no limit */
	int64_t  deadline;       /* nanoseconds of the monotonic clock; 0: none */
	RtAccount *account;
	int64_t  memory_limit;   /* most heap bytes of tensors alive at once; 0: no limit */
	void    *arena;          /* planned memory of the specialization that runs */
	int64_t  arena_bytes;
	struct RtKnownSizes *sizes;   /* of dynamic specializations, by symbols: sizes.c */
	struct RtCuda *cuda;     /* the device that specializations run on, or null: cpu */
	void    *instance;       /* state of the model: emitted programs */
	bool     child;          /* of a forked task: the pool belongs to the context that forked it */
	bool     show_guards, strict;     /* --guards: say which path runs; --strict: a miss is an error */
	bool     dry;            /* kernels do one part of their work only: a run to learn what memory a call takes */
	int64_t  calls;          /* of the program's methods */
	bool     warned[64];     /* warn-once by call site, modulo 64 */
};
enum { RT_DEPTH = 2000 };

/* For a task: shares the parent's settings and generator, has scratch memory and an error of its own. */
int   rt_cx_child(RtCx *child, const RtCx *parent);
int   rt_cx_init(RtCx *);                  /* zeroes first; one thread, generator seeded as torch does (RT_SEED) */
void  rt_cx_free(RtCx *);
int   rt_raise(RtCx *, const char *fmt, ...) RT_FORMAT(2, 3);               /* RuntimeError; returns RT_ERROR */
int   rt_raise_as(RtCx *, const char *cls, const char *fmt, ...) RT_FORMAT(3, 4);
int   rt_lacks(RtCx *, const char *fmt, ...) RT_FORMAT(2, 3);               /* not supported by Kiln: exit status 7 */
int   rt_no_meta(RtCx *);                  /* this result depends on data: returns RT_UNKNOWN_META */
void  rt_clear_error(RtCx *);
void  rt_visits_add(RtCx *, RtVisit);      /* the error in cx has left a call there */

/* A new tensor for result i of the running kernel, in its planned place or on the heap; the kernel returns it in
 * out[i].  strides null: contiguous.  Null: an error was raised. */
RtTensor *rt_result(RtCx *, int i, RtDtype, int ndim, const int64_t *dims, const int64_t *strides);
/* Stores the last result in its place, then ends the kernel when only types are wanted:
 *     RtTensor *r = rt_result(...);  RT_RESULT(cx, r, out[0]);  ... fill r ...; return 0; */
#define RT_RESULT(cx, r, place) \
	do { if (!(r)) return RT_ERROR; (place) = rt_of(r); if ((cx)->meta) return RT_OK; } while (0)
void     *rt_scratch(RtCx *, int64_t bytes);   /* aligned to 64; freed when the kernel returns; null: error raised */
RtTensor *rt_temp(RtCx *, RtTensor *);         /* takes the reference, released when the kernel returns; or null */
IValue    rt_temp_value(RtCx *, IValue);
typedef struct RtMark { void *block; int64_t used; int ntemp; } RtMark;
RtMark    rt_scratch_mark(RtCx *);             /* callers of kernels bracket each call with these two */
void      rt_scratch_reset(RtCx *, RtMark);
/* Calls a kernel with its scratch memory bracketed.  out is None before the call, and on error. */
int       rt_call_kernel(RtCx *, RtKernel *, const IValue *in, IValue *out, int nout);

/* The same for arguments that may have RT_BITS; not bracketed, and out holds None before. */
int       rt_call_using(RtCx *, const RtCall *, const IValue *in, IValue *out);
int       rt_call(RtCx *, const RtCall *, const IValue *in, IValue *out);  /* likewise, bracketed; out is None before */

/* Arguments */
static inline RtTensor *
rt_tensor(IValue v)                  /* borrowed; null: not a tensor */
{
	RT_ASSERT(v.tag != RT_TENSOR || rt_refs(v.u.head) > 0);
	return v.tag == RT_TENSOR ? v.u.t : 0;
}
double  rt_number(IValue);                                 /* int, float or bool as double */
int64_t rt_integer(IValue);                                /* int, bool, or a float truncated */
/* List[int] (or an int: one element) into buf; returns the count, or -1 with an error when it is more than cap. */
int     rt_ints(RtCx *, IValue list, int64_t *buf, int cap);
/* dim, counted from the end when negative, checked as ATen does (rank 0 counts as 1): -1 with an error raised */
int     rt_dim(RtCx *, int64_t dim, int ndim);

/* ---- rng.c -------------------------------------------------------------------------------------------- */

#define RT_SEED 67280421310721             /* c10::detail::default_rng_seed_val */
RtGenerator *rt_generator_new(RtCx *, uint64_t seed);
void     rt_generator_seed(RtGenerator *, uint64_t seed);
uint32_t rt_random32(RtGenerator *);
double   rt_uniform53(RtGenerator *);      /* [0, 1) */
float    rt_uniform24(RtGenerator *);
double   rt_normal(RtGenerator *);         /* one at a time, cached partner */

/* ---- recycle.c: memory of values; freed blocks are kept for the next --------------------------------------------- */

void *rt_mem(int64_t bytes);                              /* aligned to 16; null: out of memory */
void *rt_mem_zeroed(int64_t bytes);
void *rt_mem_counted(RtCx *, int64_t bytes);              /* zeroed; begins with an RtHead of one reference */
void *rt_mem_line(int64_t bytes);                         /* aligned to 64 */
void *rt_mem_more(void *, int64_t bytes);                 /* realloc */
void  rt_mem_back(void *);                                /* frees one of these, or null; the thread keeps it */
void  rt_mem_free(void *);                                /* the same, but to the system, and on any thread */
void  rt_mem_end(void);                                   /* frees the blocks that this thread keeps */
/* Changes the set of blocks that this thread keeps; returns the one before.  Null: an empty one. */
struct RtMem *rt_mem_switch(struct RtMem *);
/* For libraries, where no memory must not end the process: a text that finds none gets one of a few spare blocks, or is
 * cut short, and the call returns an error. */
bool  rt_mem_spares(void);             /* (re)fills this thread's spare blocks; false: out of memory */
bool  rt_mem_cut(struct Buf *);        /* may this text be cut (null: left out)?  False: the process has to end */
bool  rt_mem_was_lost(void);           /* was a text cut since the last time this was asked? */
char **rt_mem_block(void);             /* where rt_thread_scratch keeps its block; null: out of memory */

/* ---- stack.c --------------------------------------------------------------------------------- */

enum { RT_STACK_BYTES = 8 << 20 };                          /* of a thread that the pool starts */
void rt_stack_note(RtCx *);               /* sets stack_end for an outermost call by the caller */
const char *rt_stack_end(void);           /* lowest address for frames of the caller's stack; null: unknown */

/* ---- thread.c: the pool ---------------------------------------------------------------------------------- */

/* A caller's thread pool: run calls part(arg, i) for all i below parts, on any threads, and returns when all have
 * returned. */
typedef struct RtOuter {
	void (*run)(void *pool, int parts, void (*part)(void *arg, int i), void *arg);
	void  *pool;
	/* rt_outer_loop; by a pointer, so that only libraries link it */
	bool (*loop)(RtCx *, int64_t n, int parts, void (*body)(void *, int64_t begin, int64_t end), void *arg);
	RT_ATOMIC int busy;          /* a loop in it is going on */
} RtOuter;
/* A parallel loop on the caller's pool.  False, and nothing done: one is running there, in which this one is nested. */
bool rt_outer_loop(RtCx *, int64_t n, int parts, void (*body)(void *, int64_t begin, int64_t end), void *arg);
int  rt_threads(RtCx *, int n);                         /* starts or stops workers; 0: as many as cores */
/* Calls body(arg, begin, end) for [0, n) in at most cx->nthread parts of at least `grain`, side by side; in line when
 * nested.  A body only reads cx. */
void rt_parallel(RtCx *, int64_t n, int64_t grain, void (*body)(void *, int64_t begin, int64_t end), void *arg);
typedef struct RtFuture RtFuture;
int  rt_fork(RtCx *, const RtCode *, const IValue *args, int n, IValue *out);    /* queues a call; out: the future */
int  rt_await(RtCx *, const RtCode *, const IValue *args, int n, IValue *out);   /* a call that the first wait makes */
int  rt_awaited(RtCx *, IValue v, IValue *out);         /* out: a completed future of v */
int  rt_wait(RtCx *, RtFuture *, IValue *out);          /* runs queued tasks while it waits; its error is raised here */
/* the same; raises when the result is not of the type */
int  rt_wait_for(RtCx *, IValue future, const RtType *, IValue *out);
IValue   rt_future_take(RtFuture *);                    /* for rt_release: frees the future, returns its value */
void rt_drain(RtCx *);                                  /* completes the tasks that nobody waited for */
int64_t rt_now(void);                                   /* nanoseconds, monotonic */

void *rt_thread_scratch(int64_t bytes);                /* one block a thread, kept; null: out of memory */
void rt_thread_end(void);                             /* frees it; threads of the pool do so themselves */

/* ---- interp.c: Code and its interpreter -------------------------------------------------------------------- */

typedef enum RtOpcode {
	RT_DO_KERNEL,       /* out[0..nout) = kernel[arg](in[0..nin)) */
	RT_DO_CALL,         /* out[0..nout) = callee[arg](in...) */
	/* in[0] is the object, probed with index = pc; "interface.name" string[arg], looked up in its class */
	RT_DO_CALL_METHOD,
	RT_DO_CALL_VALUE,   /* in[0] is a function value */
	RT_DO_CONSTANT,     /* out[0] = constant[arg] */
	RT_DO_MOVE,         /* out[i] = in[i], all at once (parallel move) */
	RT_DO_JUMP,         /* pc = arg */
	RT_DO_BRANCH,       /* if !in[0]: pc = arg; probed with index = pc */
	/* in: trip index, max trip count, condition; if !(cond && index < max): pc = arg; probed with index = pc and
	 * whether it goes on */
	RT_DO_LOOP,
	RT_DO_NEXT,         /* in[0] = index register, out[0] the same: index + 1; pc = arg */
	RT_DO_RETURN,       /* results are in[0..nin) */
	RT_DO_TUPLE,        /* out[0] = tuple of in; type[arg] when named (arg + 1, 0: plain) */
	RT_DO_UNPACK,       /* tuple in[0] -> out[0..nout) */
	RT_DO_INDEX,        /* out[0] = tuple in[0] [arg as int32] */
	RT_DO_TUPLE_SLICE,  /* out[0] = in[0][aux16 lo : hi] packed in arg: lo << 16 | hi */
	RT_DO_NEW_LIST,     /* out[0] = list of in, element type type[arg] */
	RT_DO_LIST_UNPACK,  /* checks the length */
	RT_DO_NEW_DICT,     /* in: key, value, ...; type[arg] is the Dict type */
	RT_DO_GET_ATTR,     /* out[0] = in[0].slot[arg] */
	RT_DO_SET_ATTR,     /* in[0].slot[arg] = in[1] */
	RT_DO_NEW_OBJECT,   /* class of type[arg] */
	RT_DO_ISINSTANCE,   /* out[0] = isinstance(in[0], type[arg]) */
	RT_DO_CAST,         /* out[0] = in[0], which must be a type[arg] */
	RT_DO_UNSET,        /* out[0] = a placeholder of type[arg], which is never read */
	RT_DO_FORK,         /* out[0] = future of callee[arg](in...) */
	RT_DO_AWAIT,        /* out[0] = awaitable that calls callee[arg](in...) when it is waited for */
	RT_DO_WAIT,         /* out[0] = wait(in[0]), a type[arg] */
	RT_DO_PROFILE,      /* out[0] = in[0], probed with index = arg */
	RT_DO_RAISE,        /* in: message, class name or None */
	/* pushes a with-scope: object in[0]; arg: pc of its handler, which calls __exit__ and RT_RERAISE */
	RT_DO_ENTER,
	RT_DO_EXIT,         /* pops it */
	RT_DO_RERAISE,
	RT_DO_CLEAR,        /* releases in[...] */
	RT_NOPCODE,
} RtOpcode;

struct RtInsn {
	uint32_t op : 8;
	uint32_t line : 24;      /* index into code->place, 0: none */
	uint16_t nin, nout;
	uint32_t in;             /* the first of nin entries of code->operand, which nout for the results follow */
	uint32_t arg;
};

/* The function of each instruction; it returns a status or one of interp.c's own codes.  A program has a table of its
 * own, with null for instructions that it lacks (cgen.c: put_parts); all.c has the full one. */
struct RtActivation;
typedef int RtDo(struct RtActivation *, const RtInsn *);
extern RtDo *const rt_do[RT_NOPCODE];
RtDo rt_do_kernel, rt_do_call, rt_do_call_method, rt_do_call_value, rt_do_constant, rt_do_move, rt_do_jump,
     rt_do_branch, rt_do_loop, rt_do_next, rt_do_return, rt_do_tuple, rt_do_unpack, rt_do_index, rt_do_tuple_slice,
     rt_do_new_list, rt_do_list_unpack, rt_do_new_dict, rt_do_get_attr, rt_do_set_attr, rt_do_new_object,
     rt_do_isinstance, rt_do_cast, rt_do_unset, rt_do_fork, rt_do_await, rt_do_wait, rt_do_profile, rt_do_raise,
     rt_do_enter, rt_do_exit, rt_do_reraise, rt_do_clear;

/* bodies.c: what instructions compute, for the interpreter and for specialized code.  out holds None before, and new
 * references when the status is RT_OK. */
typedef union RtWhat {
	int64_t       n;              /* unpack: the RtTag of in[0]; index, slice, get, set: as in the instruction */
	const RtType *type;           /* dict, object, isinstance, cast, wait */
	const RtCode *code;           /* fork, await */
} RtWhat;
typedef int RtBody(RtCx *, RtWhat, const IValue *in, int nin, IValue *out, int nout);
RtBody rt_body_unpack, rt_body_index, rt_body_slice, rt_body_dict, rt_body_get, rt_body_set, rt_body_object,
       rt_body_isinstance, rt_body_cast, rt_body_fork, rt_body_await, rt_body_wait, rt_body_raise;

/* An operand is a register; the top bit says that this is the register's last use: it is moved, not copied. */
#define RT_LAST 0x80000000u
#define RT_REG(o) ((o) & 0x7fffffffu)

typedef struct RtPlaceName {          /* a line of the model's source; texts are bytes of the code's, 0: none */
	uint32_t file;                /* "code/__torch__/net.py" */
	uint32_t function;            /* "forward" */
	uint32_t line_text;           /* none with --no-source */
	int line, column, width;
	int original;                 /* index of the place in the original source, 0: none */
	int caller;                   /* index of the call's place when the function was inlined there, 0: none */
} RtPlaceName;

struct RtCode {
	const char   *name;           /* qualified: __torch__.Net.forward */
	const RtInsn *insn;
	const uint32_t *operand;
	RtKernel *const *kernel;
	const char *const *kernel_name;    /* aten::add.Tensor, for messages */
	const uint32_t *kernel_use;        /* RT_USE_WRITES */
	const IValue *constant;       /* null: the context's, value + first_value */
	const RtType *const *type;
	const RtCode *const *callee;
	const char *const *string;
	const RtPlaceName *place;
	const unsigned char *packed_place; /* the same in a program; see rt_place */
	const char   *text;           /* what places name */
	int ninsn, nreg, narg, nresult;    /* arguments are registers 0 .. narg-1 */
	int nkernel, nconstant, ntype, ncallee, nstring, nplace_name, first_value;
	int (*plan)(RtCx *, IValue *reg);  /* codegen's entry, or null: interpret */
};

/* Place i.  Packed ones are numbers of seven bits a byte, the last without 128, eight for each place: which text names
 * the file, the function and the line (0: none); line, column, width; how far on the original and the caller are (2 n,
 * or 2 n - 1 back; 0: none). */
RtPlaceName rt_place(const RtCode *, int i);

/* The class's method by "interface.name": what an interface does not declare is not called through it.  Null: an error
 * was raised. */
const RtCode *rt_method(RtCx *, IValue self, const char *name);
void rt_traceback(RtCx *);               /* cx->trace, of the places that the error in cx has left */
bool rt_in_operator(RtVisit);            /* is it in the body of an operator?  PyTorch has none, only the operator */

/* Runs code on args (borrowed) and fills results (new references).  Non-zero: the error is in cx. */
int rt_run(RtCx *, const RtCode *, const IValue *args, IValue *results);
void rt_say_place(const RtCode *, uint32_t line);              /* plan.c: to standard error, on a line of its own */
void rt_visit(RtCx *, const RtCode *, uint32_t line);          /* the error in cx passes that line; 0: none */
/* Goes on at pc with these registers (nreg of them; taken, all released at the end): where a failed guard lands.
 * Results are left in reg[0 .. nresult). */
int rt_resume(RtCx *, const RtCode *, int pc, IValue *reg);

/* ---- trace.c: what ran when -------------------------------------------------------------------------------------- */

void rt_trace_add(RtCx *, const char *name, int64_t begin, int64_t end);    /* nanoseconds; name is kept by reference */

/* ---- cpu.c: does this processor have what code needs? ------------------------------------------------------------ */

/* Has the processor all features in `needs`, words of needs.h?  Those that it lacks are written to lacks[n], each
 * after a space; n 0: not wanted. */
bool rt_cpu_runs(const char *needs, char *lacks, size_t n);
extern const char rt_ops_needs[];        /* ops/level.c: what the operators of this level need */

/* ---- print.c: as PyTorch prints ------------------------------------------------------------------------ */

struct Buf;
void rt_format_double(struct Buf *, double);             /* 1., 0.10000000000000001, 1e-10, inf: the TorchScript form */
void rt_format_value(struct Buf *, IValue, int depth);   /* print(), str(), format(); depth 0 at the top */
void rt_format_tensor(struct Buf *, const RtTensor *);   /* ATen's stream form, with [ CPUFloatType{2} ] */

/* ---- engines.c ------------------------------------------------------------------------------------------------- */

/* Operators whose results engines round differently */
typedef enum RtQuantOp {
	RT_Q_MEAN, RT_Q_AVG_POOL, RT_Q_AVG_POOL3D, RT_Q_ADAPTIVE3D, RT_Q_GRID_SAMPLER, RT_Q_HARDSWISH, RT_Q_ADD,
	RT_Q_OTHER,
} RtQuantOp;
enum {
	RT_ROUND_FIRST,          /* round(value / scale) + zero point, halves to even */
	RT_ROUND_WITH_ZERO,      /* round(value / scale + zero point), halves to even */
	RT_ROUND_FLOATS,         /* as RT_ROUND_FIRST, of values computed in float32 */
	RT_ROUND_AWAY,           /* round(value / scale) + zero point, halves away from zero */
};
typedef struct RtRounding { uint8_t how; bool last; } RtRounding;        /* last: the result lies channels last */
/* t: the argument.  dims: what a mean reduces, as its argument */
RtRounding rt_rounding(const RtCx *, RtQuantOp, const RtTensor *t, IValue dims);
bool       rt_reduces_range(const RtCx *, bool asked);   /* are dynamic activations of 7 bits?  asked: by the model */

/* ---- ops/parts.c ----------------------------------------------------------------------------------------------- */

/* Parts of kernels for special operands, by pointers: ops/parts.c sets all; a program, only those that it needs. */
typedef struct RtTiles RtTiles;
typedef struct RtQuantized RtQuantized;
extern const RtTiles *const rt_tiles[];              /* of products, widest first; ends with null */
extern const RtQuantized *const rt_quantized;        /* null: the program has no quantized tensors */
extern const RtTiles rt_tiles_64, rt_tiles_32, rt_tiles_16;       /* vectors of so many bytes; the larger two: x86 */
extern const RtTiles rt_tiles_64_floats, rt_tiles_32_floats, rt_tiles_16_floats;      /* doubles without tiles */
extern const RtQuantized rt_quantized_all;

/* Converts contiguous elements fast, for the pairs of dtypes that kernels convert most; false, and nothing done, for
 * others, which rt_cast converts by way of wide types.  rt_cast_dense null: all pairs go that way. */
typedef bool RtCastDense(RtDtype to, char *restrict d, RtDtype from, const char *restrict s, int64_t n);
extern RtCastDense *const rt_cast_dense;
RtCastDense rt_cast_dense_all;

#endif
