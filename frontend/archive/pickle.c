/*
 * The pickle machine: a stack, a memo, and the instructions and globals of pickle.def. It builds values and never calls
 * anything that the pickle names. A global must be listed in pickle.def or be a class that the host knows. Any other
 * global is an error.
 *
 * Bounds. Bytes are checked before they are read. Since a few bytes can copy much through the memo, work and memory are
 * limited by a budget in proportion to the length of the pickle. A value is sealed before it is passed to a host, put
 * into a typed container or returned. A sealed value has no cycle and is at most CX_NESTED deep. It holds no global and
 * no object without state, and no later instruction may change it. So code that walks values later needs no limits of
 * its own.
 *
 * Stack and memo own references. An instruction reads its operands on the stack and drops them afterwards. If it fails,
 * pickle_load releases everything that is left on the stack.
 */
#include "../frontend.h"

#include <string.h>

enum { KEY_MAX = 1024, NAME_MAX_ = 1024 };      /* Longest key of a storage and longest name of a global, in bytes. */

/* States in Machine.seals. Other entries are SEALED(height, size). */
enum { SEAL_OPEN = -1, SEAL_NEW = -2, SEAL_BUILT = -3 };

typedef struct Machine {
	Cx         *cx;
	const PickleHost *host;
	PickleAt    at;
	RtCx        rt;
	const unsigned char *p;
	int64_t     n, pos;
	int64_t     budget;
	int64_t     unfolded;                /* Largest size that a sealed value may have. */
	bool        stopped;
	Vec(IValue) stack, memo, held; /* held: references that keep the addresses in `seals` from being reused. */
	Vec(int)    marks;
	PtrMap      seals, tags; /* seals: state of each value. tags: type of each tag's text. Both by address. */
	IValue      result;
} Machine;

/* A global on the stack is an RtEnum of one of these types. Its value is an index in `globals`, or its name is the name
 * of a class. */
static const RtType type_global = { .kind = TYPE_ENUM, .name = "pickle global" };
static const RtType type_class_global = { .kind = TYPE_ENUM, .name = "pickle class" };

/* ---- budget, bytes -------------------------------------------------------------------------------------------- */

static void
spend(Machine *m, int64_t units)
{
	if (units > m->budget)
		pickle_bad(&m->at, "the pickle unfolds to more values than its length allows");
	m->budget -= units;
}

/* Fails if p is null. The runtime's only error here is lack of memory. */
static void *
need(Machine *m, void *p)
{
	if (!p)
		pickle_bad(&m->at, "%s", m->rt.message ? m->rt.message : "out of memory");
	return p;
}

static const unsigned char *
take_bytes(Machine *m, int64_t n)
{
	const unsigned char *p = m->p + m->pos;

	if (n > m->n - m->pos)
		pickle_bad(&m->at, "the pickle ends inside an instruction");
	m->pos += n;
	return p;
}

static int64_t
take_int(Machine *m, int bytes)
{
	const unsigned char *p = take_bytes(m, bytes);
	uint64_t v = 0;

	for (int i = bytes - 1; i >= 0; i--)
		v = v << 8 | p[i];
	return (int64_t)v;
}

/* ---- stack ------------------------------------------------------------------------------------------------ */

static void
push(Machine *m, IValue v)
{
	spend(m, 1);
	vec_push(m->cx->arena, &m->stack, v);
}

static int
floor_of_stack(const Machine *m)
{
	return m->marks.n ? vec_last(&m->marks) : 0;
}

/* Returns the i-th value from the top, above the last mark, borrowed. */
static IValue *
top(Machine *m, int i)
{
	if (m->stack.n - i <= floor_of_stack(m))
		pickle_bad(&m->at, "the pickle reads a value that is not on its stack");
	return &m->stack.at[m->stack.n - 1 - i];
}

static void
pop_values(Machine *m, int n)
{
	for (; n > 0; n--) {
		IValue v = m->stack.at[--m->stack.n];

		rt_release(v);
	}
}

static void
replace(Machine *m, int n, IValue v)
{
	pop_values(m, n);
	push(m, v);
}

/* Removes the last mark and returns the number of values above it. */
static int
since_mark(Machine *m)
{
	int n;

	if (!m->marks.n)
		pickle_bad(&m->at, "the pickle lacks a mark");
	n = m->stack.n - vec_last(&m->marks);
	m->marks.n--;
	return n;
}

/* ---- seals ----------------------------------------------------------------------------------------------- */

static bool
is_global(IValue v)
{
	return v.tag == RT_ENUM && (v.u.en->type == &type_global || v.u.en->type == &type_class_global);
}

/* Seal of a value: its height, and the number of values in it. Shared values count once for each occurrence. */
#define SEALED(height, size) ((int64_t)(height) | (int64_t)(size) << 11)
#define HEIGHT(seal)         ((seal) & 2047)
#define SIZE(seal)           ((seal) >> 11)

_Static_assert(CX_NESTED < 2047, "a height has 11 bits");

static int64_t seal(Machine *, IValue, int level);

static int64_t
seal_all(Machine *m, const IValue *v, int64_t n, int64_t sum, int level)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t part = seal(m, v[i], level), height = HEIGHT(part) + 1, size = SIZE(sum) + SIZE(part);

		if (size > m->unfolded)
			pickle_bad(&m->at, "the pickle unfolds to more values than its length allows");
		sum = SEALED(height > HEIGHT(sum) ? height : HEIGHT(sum), size);
	}
	return sum;
}

static int64_t
seal_parts(Machine *m, IValue v, int level)
{
	int64_t sum = SEALED(1, 1);

	spend(m, 1);
	if (v.tag == RT_LIST)
		return seal_all(m, v.u.list->v, v.u.list->n, sum, level);
	if (v.tag == RT_TUPLE)
		return seal_all(m, v.u.tuple->v, v.u.tuple->n, sum, level);
	if (v.tag == RT_OBJECT)
		return seal_all(m, v.u.obj->slot, v.u.obj->cls->nslot, sum, level);
	for (int64_t i = 0; i < v.u.dict->used; i++)
		if (!v.u.dict->at[i].dead) {
			sum = seal_all(m, &v.u.dict->at[i].key, 1, sum, level);
			sum = seal_all(m, &v.u.dict->at[i].value, 1, sum, level);
		}
	return sum;
}

static int64_t
seal(Machine *m, IValue v, int level)
{
	int64_t *state, sum;

	if (is_global(v))
		pickle_bad(&m->at, "%s is used as a value", v.u.en->name->s);
	if (v.tag != RT_LIST && v.tag != RT_TUPLE && v.tag != RT_DICT && v.tag != RT_OBJECT)
		return SEALED(0, 1);
	state = ptrmap_at(m->cx->arena, &m->seals, v.u.p);
	if (*state == SEAL_OPEN)
		pickle_bad(&m->at, "a value contains itself");
	if (v.tag == RT_OBJECT && *state == SEAL_NEW)
		pickle_bad(&m->at, "an object of class %s is used before it has its state", v.u.obj->cls->name);
	if (level + (*state > 0 ? HEIGHT(*state) : 0) > CX_NESTED)
		pickle_lacks(&m->at, "values are nested too deep (more than %d)", CX_NESTED);
	if (*state > 0)
		return *state;
	if (*state == 0)
		vec_push(m->cx->arena, &m->held, rt_retain(v));
	*state = SEAL_OPEN;
	sum = seal_parts(m, v, level + 1);
	*ptrmap_at(m->cx->arena, &m->seals, v.u.p) = sum;
	return sum;
}

static void
check_open(Machine *m, IValue container)
{
	if (*ptrmap_at(m->cx->arena, &m->seals, container.u.p))
		pickle_bad(&m->at, "a %s is changed after it was used", container.tag == RT_LIST ? "list" : "dict");
}

/* ---- plain values ------------------------------------------------------------------------------------------ */

static void
op_proto(Machine *m, int64_t version)
{
	if (version < 2 || version > 4)
		pickle_bad(&m->at, "pickle protocol %d (known is 2)", (int)version);
}

static void
op_skip(Machine *m, int64_t n)
{
	take_bytes(m, n);
}

static void
op_none(Machine *m, int64_t n)
{
	(void)n;
	push(m, rt_none());
}

static void
op_bool(Machine *m, int64_t n)
{
	push(m, rt_bool(n));
}

static void
op_int(Machine *m, int64_t n)
{
	push(m, rt_int(n));
}

/* PyTorch 1.0 to 1.2 wrote -128 to 127 with this opcode. Newer ones write 0 to 255. */
static void
op_byte(Machine *m, int64_t n)
{
	op_int(m, m->host->legacy ? (int8_t)n : n);
}

/* Reads n bytes in two's complement. Fails if the number does not fit into 64 bits. */
static void
op_long(Machine *m, int64_t n)
{
	const unsigned char *p = take_bytes(m, n);
	unsigned char fill = n && p[n - 1] & 0x80 ? 0xff : 0;
	uint64_t v = fill ? UINT64_MAX : 0;

	for (int64_t i = n - 1; i >= 8; i--)
		if (p[i] != fill)
			pickle_bad(&m->at, "an integer does not fit into 64 bits");
	if (n > 8 && (p[7] & 0x80) != (fill & 0x80))
		pickle_bad(&m->at, "an integer does not fit into 64 bits");
	for (int64_t i = (n < 8 ? n : 8) - 1; i >= 0; i--)
		v = v << 8 | p[i];
	push(m, rt_int((int64_t)v));
}

static void
op_float(Machine *m, int64_t n)
{
	const unsigned char *p = take_bytes(m, n);
	uint64_t bits = 0;
	double f;

	for (int64_t i = 0; i < n; i++)
		bits = bits << 8 | p[i];
	memcpy(&f, &bits, sizeof f);
	push(m, rt_double(f));
}

static void
op_text(Machine *m, int64_t n)
{
	const unsigned char *p = take_bytes(m, n);

	push(m, rt_ref(RT_STR, need(m, rt_str_new(&m->rt, (const char *)p, n))));
}

/* ---- stack and memo ----------------------------------------------------------------------------------------- */

static void
op_mark(Machine *m, int64_t n)
{
	spend(m, 1);
	vec_push(m->cx->arena, &m->marks, m->stack.n - (int)n);
}

static void
op_pop(Machine *m, int64_t n)
{
	if (m->marks.n && vec_last(&m->marks) == m->stack.n) {
		m->marks.n--;
		return;
	}
	top(m, n - 1);
	pop_values(m, n);
}

static void
op_drop(Machine *m, int64_t n)
{
	pop_values(m, (int)n);
}

static void
op_dup(Machine *m, int64_t n)
{
	push(m, rt_retain(*top(m, n)));
}

static void
op_put(Machine *m, int64_t i)
{
	IValue v = *top(m, 0);

	if (i > m->n)
		pickle_bad(&m->at, "memo index %lld is too large for the pickle's length", (long long)i);
	while (m->memo.n <= i)
		vec_push(m->cx->arena, &m->memo, rt_none());
	rt_assign(&m->memo.at[i], rt_retain(v));
}

static void
op_get(Machine *m, int64_t i)
{
	if (i >= m->memo.n)
		pickle_bad(&m->at, "memo %lld was never filled", (long long)i);
	push(m, rt_retain(m->memo.at[i]));
}

/* ---- containers --------------------------------------------------------------------------------------------- */

static void
op_tuple(Machine *m, int64_t n)
{
	RtTuple *t;

	if (n)
		top(m, n - 1);
	spend(m, n);
	t = need(m, rt_tuple_new(&m->rt, NULL, n));
	for (int i = 0; i < n; i++)
		t->v[i] = rt_retain(m->stack.at[m->stack.n - n + i]);
	replace(m, n, rt_ref(RT_TUPLE, t));
}

/* Appends the n topmost values to the list below them. */
static void
op_append(Machine *m, int64_t n)
{
	IValue list = *top(m, n);

	if (list.tag != RT_LIST)
		pickle_bad(&m->at, "appends to a %s", rt_type_of(list));
	check_open(m, list);
	for (int i = 0; i < n; i++)
		if (rt_list_push(&m->rt, list.u.list, rt_retain(*top(m, n - 1 - i))))
			need(m, NULL);
	pop_values(m, n);
}

static void
op_list(Machine *m, int64_t n)
{
	RtList *l = need(m, rt_list_new(&m->rt, &rt_type_any, n));

	for (int64_t i = 0; i < n; i++)
		rt_list_push(&m->rt, l, rt_retain(*top(m, n - 1 - i)));
	replace(m, n, rt_ref(RT_LIST, l));
}

static IValue
new_dict(Machine *m)
{
	return rt_ref(RT_DICT, need(m, rt_dict_new(&m->rt, &rt_type_any, &rt_type_any)));
}

static bool
is_key(IValue v)
{
	return v.tag == RT_INT || v.tag == RT_DOUBLE || v.tag == RT_BOOL || v.tag == RT_STR || v.tag == RT_COMPLEX
		|| v.tag == RT_TENSOR || v.tag == RT_DEVICE || (v.tag == RT_ENUM && !is_global(v));
}

/* Sets n / 2 items. The cost of a text is its length, since it is hashed each time. */
static void
set_items(Machine *m, IValue dict, int n)
{
	if (n % 2)
		pickle_bad(&m->at, "a dict has a key without a value");
	for (int i = n - 1; i > 0; i -= 2) {
		IValue key = *top(m, i), value = *top(m, i - 1);

		if (!is_key(key))
			pickle_bad(&m->at, "%s is no key of a dict", is_global(key) ? "a global" : rt_type_of(key));
		spend(m, key.tag == RT_STR ? key.u.str->n / 16 : 1);
		if (rt_dict_set(&m->rt, dict.u.dict, rt_retain(key), rt_retain(value)))
			need(m, NULL);
	}
	pop_values(m, n);
}

static void
op_set_items(Machine *m, int64_t n)
{
	IValue dict = *top(m, n);

	if (dict.tag != RT_DICT)
		pickle_bad(&m->at, "sets items of a %s", rt_type_of(dict));
	check_open(m, dict);
	set_items(m, dict, n);
}

static void
op_dict(Machine *m, int64_t n)
{
	IValue d = new_dict(m);

	vec_push(m->cx->arena, &m->held, d);
	set_items(m, d, n);
	push(m, rt_retain(d));
}

/* ---- callables of REDUCE --------------------------------------------------------------------------------------- */

static IValue
make_dict(Machine *m, const IValue *arg, int n)
{
	(void)arg;
	if (n)
		pickle_lacks(&m->at, "an OrderedDict made of pairs");
	return new_dict(m);
}

static bool
is_numeric(IValue v)
{
	return v.tag == RT_INT || v.tag == RT_DOUBLE || v.tag == RT_BOOL;
}

/* Makes a list of the type and checks its elements. In legacy pickles numbers are not checked: they get the type that
 * the attribute declares. */
static IValue
typed_list(Machine *m, const IValue *arg, int n, const RtType *list)
{
	RtList *l = n == 1 && arg[0].tag == RT_LIST ? arg[0].u.list : NULL;

	if (!l)
		pickle_bad(&m->at, "a typed list is built from a value that is no list");
	seal(m, arg[0], 0);
	spend(m, l->n);
	for (int64_t i = 0; i < l->n; i++)
		if (!rt_isinstance(l->v[i], list->of[0]) && !(m->host->legacy && is_numeric(l->v[i])))
			pickle_bad(&m->at, "a typed list holds a %s", rt_type_of(l->v[i]));
	if (!m->host->legacy)
		l->elem = list->of[0];
	return rt_retain(arg[0]);
}

#define TYPED_LIST(of)                                                                                                 \
	static IValue                                                                                                  \
	make_##of##_list(Machine *m, const IValue *arg, int n)                                                         \
	{                                                                                                              \
		return typed_list(m, arg, n, &rt_type_list_##of);                                                      \
	}
TYPED_LIST(int)
TYPED_LIST(float)
TYPED_LIST(bool)
TYPED_LIST(tensor)
#undef TYPED_LIST

/* Returns the type of a tag. Its text is parsed once, however often the memo returns it. */
static const Type *
tag_type(Machine *m, IValue text)
{
	int64_t *known = ptrmap_at(m->cx->arena, &m->tags, text.u.p);
	const Type *t;

	if (*known)
		return (const Type *)(intptr_t)*known;
	if (!m->host->tag)
		pickle_bad(&m->at, "a type tag, but this pickle has no types");
	vec_push(m->cx->arena, &m->held, rt_retain(text));
	t = m->host->tag(&m->at, m->host->arg, text.u.str->s);
	*ptrmap_at(m->cx->arena, &m->tags, text.u.p) = (intptr_t)t;
	return t;
}

static IValue
make_tagged(Machine *m, const IValue *arg, int n)
{
	const Type *t;

	if (n != 2 || arg[1].tag != RT_STR || (arg[0].tag != RT_LIST && arg[0].tag != RT_DICT))
		pickle_bad(&m->at, "a type tag on a value that is no list or dict");
	t = tag_type(m, arg[1]);
	seal(m, arg[0], 0);
	if (t->kind != TYPE_LIST && t->kind != TYPE_DICT)
		pickle_bad(&m->at, "a %s is tagged as %s", rt_type_of(arg[0]), arg[1].u.str->s);
	if (!m->host->fits || !value_fits(m->host->fits, arg[0], t))
		pickle_bad(&m->at, "a container is tagged %s, but holds something else", arg[1].u.str->s);
	return rt_retain(arg[0]);
}

static IValue
make_tensor_by_id(Machine *m, const IValue *arg, int n)
{
	if (n != 1 || arg[0].tag != RT_INT || !m->host->tensor)
		pickle_bad(&m->at, "a tensor by number, but this archive has no table of tensors");
	return m->host->tensor(&m->at, m->host->arg, arg[0].u.i);
}

/* Makes a device value, which keeps its name. Tensors of all devices are loaded on the CPU. */
static IValue
make_device(Machine *m, const IValue *arg, int n)
{
	const char *s = n >= 1 && arg[0].tag == RT_STR ? arg[0].u.str->s : "";
	int64_t index = n == 2 && arg[1].tag == RT_INT ? arg[1].u.i : -1;
	IValue v = rt_int(0);
	int kind = !strncmp(s, "cpu", 3) ? 0 : !strncmp(s, "cuda", 4) ? 1 : -1;
	const char *rest = s + (kind == 1 ? 4 : 3);

	if (kind < 0)
		pickle_bad(&m->at, "a device that is neither cpu nor cuda");
	if (rest[0] == ':' && rest[1] >= '0' && rest[1] <= '9') {
		index = rest[1] - '0';
		if (rest[2] >= '0' && rest[2] <= '9')
			index = index * 10 + rest[2] - '0';
	}
	if (index < -1 || index > 126)
		pickle_bad(&m->at, "a device with the number %lld", (long long)index);
	v.tag = RT_DEVICE;
	v.u.i = kind << 8 | (index + 1);
	return v;
}

static IValue
make_size(Machine *m, const IValue *arg, int n)
{
	if (n != 1 || arg[0].tag != RT_TUPLE)
		pickle_bad(&m->at, "a torch.Size is built from a value that is no tuple");
	return rt_retain(arg[0]);
}

static IValue
make_complex(Machine *m, const IValue *arg, int n)
{
	IValue v;

	if (n != 2 || arg[0].tag != RT_DOUBLE || arg[1].tag != RT_DOUBLE)
		pickle_bad(&m->at, "a complex number is built from other values than two floats");
	v = rt_complex(&m->rt, arg[0].u.f, arg[1].u.f);
	if (v.tag != RT_COMPLEX)
		need(m, NULL);
	return v;
}

/* ---- globals ----------------------------------------------------------------------------------------------------- */

typedef IValue Reducer(Machine *, const IValue *arg, int n);

/* Wrappers for functions of storage.c, whose arguments are the position and the runtime, not the machine. */
#define TENSOR_REDUCER(name) \
	static IValue \
	reduce_##name(Machine *m, const IValue *arg, int n) \
	{ \
		return name(&m->at, &m->rt, arg, n); \
	}
TENSOR_REDUCER(tensor_rebuild)
TENSOR_REDUCER(tensor_rebuild_parameter)

static int qscheme_of(IValue);

static IValue
reduce_tensor_rebuild_quantized(Machine *m, const IValue *arg, int n)
{
	const RtTuple *q = n > 4 && arg[4].tag == RT_TUPLE ? arg[4].u.tuple : NULL;

	return tensor_rebuild_quantized(&m->at, &m->rt, arg, n, q && q->n ? qscheme_of(q->v[0]) : -1);
}

#define reduce_make_dict         make_dict
#define reduce_make_int_list     make_int_list
#define reduce_make_float_list   make_float_list
#define reduce_make_bool_list    make_bool_list
#define reduce_make_tensor_list  make_tensor_list
#define reduce_make_tagged       make_tagged
#define reduce_make_tensor_by_id make_tensor_by_id
#define reduce_make_device       make_device
#define reduce_make_size         make_size
#define reduce_make_complex      make_complex
#define reduce_make_of_type      make_of_type
#define reduce_make_of_parts     make_of_parts
#define reduce_make_of_dtype     make_of_dtype
#define reduce_make_sparse       make_sparse

typedef enum GlobalKind { GLOBAL_REDUCER, GLOBAL_ELEMENTS, GLOBAL_QSCHEME, GLOBAL_TENSOR_TYPE } GlobalKind;

static Reducer make_of_type, make_of_parts, make_of_dtype, make_sparse;

static const struct Global {
	const char *module, *name;
	GlobalKind  kind;
	int         value;         /* RtDtype, or a QScheme of ATen. */
	Reducer    *call;
} globals[] = {
#define REDUCER(module, name, function) { module, name, GLOBAL_REDUCER, 0, reduce_##function },
#define ELEMENTS(storage, dtype)        { "torch", storage, GLOBAL_ELEMENTS, dtype, NULL },
#define BYTES(module, name)             { module, name, GLOBAL_ELEMENTS, RT_u8, NULL },
#define QSCHEME(name, code)             { "torch", name, GLOBAL_QSCHEME, code, NULL },
#define TENSOR_TYPE(module, name)       { module, name, GLOBAL_TENSOR_TYPE, 0, NULL },
#include "pickle.def"
};
enum { NGLOBAL = sizeof globals / sizeof *globals };

/* Returns the path of the attribute or key whose value is being built, as "'block.weight': ". "" if no dict is open.
 * Above the mark of an open dict, the last text at an even index is a key without its value. */
static const char *
path_of_value(Machine *m)
{
	const char *path = "";

	for (int i = 0; i < m->marks.n; i++) {
		const int from = m->marks.at[i], to = i + 1 < m->marks.n ? m->marks.at[i + 1] : m->stack.n;
		int at = (to - from - 1) & ~1;

		if (!from || m->stack.at[from - 1].tag != RT_DICT)
			continue;
		while (at >= 0 && m->stack.at[from + at].tag != RT_STR)
			at -= 2;
		if (at >= 0)
			path = arena_printf(m->cx->arena, "%s%s%s", path, *path ? "." : "",
					    m->stack.at[from + at].u.str->s);
	}
	return *path ? arena_printf(m->cx->arena, "'%s': ", path) : "";
}

RT_NORETURN static void
lacks_dtype(Machine *m, const char *dtype)
{
	pickle_lacks(&m->at, "%sKiln lacks tensors of the dtype %s", path_of_value(m), dtype);
}

/* Fails if a global of torch is a storage type that pickle.def does not list, such as Float8_e5m2Storage for
 * float8_e5m2. */
static void
check_storage(Machine *m, const char *name)
{
	static const char end[] = "Storage";
	const int64_t n = (int64_t)strlen(name) - (int64_t)strlen(end);
	char *dtype;

	if (n <= 0 || strcmp(name + n, end) != 0)
		return;
	dtype = arena_strndup(m->cx->arena, name, n);
	for (char *c = dtype; *c; c++)
		*c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
	lacks_dtype(m, dtype);
}

/* Returns the text up to a newline, and moves past the newline. */
static const char *
take_line(Machine *m)
{
	const unsigned char *p = m->p + m->pos, *end = memchr(p, '\n', (size_t)(m->n - m->pos));

	if (!end)
		pickle_bad(&m->at, "the pickle ends inside the name of a global");
	if (end - p > NAME_MAX_ || memchr(p, 0, (size_t)(end - p)))
		pickle_bad(&m->at, "the name of a global is too long or contains a zero byte");
	m->pos += end - p + 1;
	return arena_strndup(m->cx->arena, (const char *)p, end - p);
}

static void
push_global(Machine *m, const RtType *type, const char *name, int64_t row)
{
	push(m, rt_ref(RT_ENUM, need(m, rt_enum_new(&m->rt, type, name, rt_int(row)))));
}

static void
op_global(Machine *m, int64_t n)
{
	const char *module = take_line(m), *name = take_line(m);
	const char *full = *module ? arena_printf(m->cx->arena, "%s.%s", module, name) : name;

	(void)n;
	for (int i = 0; i < NGLOBAL; i++)
		if (!strcmp(globals[i].module, module) && !strcmp(globals[i].name, name)) {
			push_global(m, &type_global, full, i);
			return;
		}
	if (!strcmp(module, "torch"))
		check_storage(m, name);
	/* A lower-case name of torch may be a dtype, which is a value and is not called. */
	if (!m->host->plain && (strcmp(module, "torch") != 0 || name[0] < 'a') &&
	    (!m->host->known || !m->host->known(m->host->arg, full)))
		pickle_bad(&m->at, "the pickle names %s, which is neither a class of this archive nor a type of data; "
			"nothing is ever called by name", full);
	push_global(m, &type_class_global, full, -1);
}

static const struct Global *
global_of(IValue v, GlobalKind kind)
{
	const struct Global *g = v.tag == RT_ENUM && v.u.en->type == &type_global ? &globals[v.u.en->value.u.i] : NULL;

	return g && g->kind == kind ? g : NULL;
}

/* Returns the QScheme that an argument names as a global. -1 if it names none. */
static int
qscheme_of(IValue v)
{
	const struct Global *g = global_of(v, GLOBAL_QSCHEME);

	return g ? g->value : -1;
}

static IValue
call(Machine *m, const struct Global *g, IValue args)
{
	const IValue *arg = args.tag == RT_TUPLE ? args.u.tuple->v : &args;
	int n = args.tag == RT_TUPLE ? (int)args.u.tuple->n : 1;

	spend(m, n);
	return g->call(m, arg, n);
}

static IValue
tensors_of(Machine *m, IValue dict)
{
	IValue r = new_dict(m);

	spend(m, dict.u.dict->used);
	for (int64_t i = 0; i < dict.u.dict->used; i++) {
		const RtDictEntry *e = &dict.u.dict->at[i];

		if (!e->dead && e->value.tag == RT_TENSOR &&
		    rt_dict_set(&m->rt, r.u.dict, rt_retain(e->key), rt_retain(e->value)))
			need(m, NULL);
	}
	return r;
}

/* Rebuilds a tensor with Python attributes, such as which of its sizes are dynamic. The attributes are dropped. The
 * inner reducer must be neither make_of_type nor make_of_parts, so calls do not nest. */
static IValue
make_of_type(Machine *m, const IValue *arg, int n)
{
	const struct Global *g = n == 4 ? global_of(arg[0], GLOBAL_REDUCER) : NULL;

	if (g && g->call == make_of_parts && m->host->calls && arg[3].tag == RT_DICT)
		return tensors_of(m, arg[3]);
	if (!g || g->call == make_of_type || g->call == make_of_parts || !global_of(arg[1], GLOBAL_TENSOR_TYPE) ||
	    arg[2].tag != RT_TUPLE)
		pickle_bad(&m->at, "a tensor of a type that is not known");
	return call(m, g, arg[2]);
}

/* Placeholder for the reducer of a tensor of a Python class over other tensors. make_of_type makes a dict of these
 * tensors itself, and never calls this function. */
static IValue
make_of_parts(Machine *m, const IValue *arg, int n)
{
	(void)arg;
	(void)n;
	pickle_bad(&m->at, "a tensor of a Python class lacks its type");
}

/* Builds a tensor from (storage, offset, sizes, strides, requires_grad, hooks, dtype, ...). PyTorch writes this form
 * for a dtype without a storage type. The storage is untyped bytes. */
static IValue
make_of_dtype(Machine *m, const IValue *arg, int n)
{
	const char *dtype = n > 6 && is_global(arg[6]) ? arg[6].u.en->name->s : NULL;

	if (!dtype)
		pickle_bad(&m->at, "a tensor is described in an unknown way");
	dtype += strncmp(dtype, "torch.", 6) ? 0 : 6;
	for (int d = 0; d < RT_NDTYPE; d++)
		if (!strcmp(rt_dtypes[d].torch, dtype) && !strchr("Q?", rt_dtypes[d].category))
			return tensor_rebuild_typed(&m->at, &m->rt, arg, n, (RtDtype)d);
	lacks_dtype(m, dtype);
}

static IValue
make_sparse(Machine *m, const IValue *arg, int n)
{
	(void)arg;
	(void)n;
	pickle_lacks(&m->at, "%sKiln lacks sparse tensors", path_of_value(m));
}

/* Makes an object without a class: the tuple of its arguments, as for a NamedTuple. Without arguments it is a dict, to
 * which BUILD adds the state. */
static void
new_plain(Machine *m, int n)
{
	IValue v = *top(m, 0);

	if (v.tag == RT_TUPLE && v.u.tuple->n) {
		replace(m, n, rt_retain(v));
		return;
	}
	v = new_dict(m);
	vec_push(m->cx->arena, &m->held, rt_retain(v));
	*ptrmap_at(m->cx->arena, &m->seals, v.u.p) = SEAL_NEW;
	replace(m, n, v);
}

static void
op_reduce(Machine *m, int64_t n)
{
	IValue args = *top(m, 0), fn = *top(m, 1), v;
	const struct Global *g = global_of(fn, GLOBAL_REDUCER);
	const bool named = fn.tag == RT_ENUM && fn.u.en->type == &type_class_global;

	if (!g && named && m->host->calls) {
		new_plain(m, (int)n);
		return;
	}
	if (g)
		v = call(m, g, args);
	else if (named && m->host->enumerator)
		v = m->host->enumerator(&m->at, m->host->arg, fn.u.en->name->s, args);
	else
		pickle_bad(&m->at, "calls %s", is_global(fn) ? fn.u.en->name->s : rt_type_of(fn));
	replace(m, n, v);
}

/* Makes an object without state. In legacy pickles tensors and lists are such objects, and their state is the argument
 * of the reducer. Their global stays on the stack until BUILD. */
static void
op_newobj(Machine *m, int64_t n)
{
	IValue cls = *top(m, 1), v;

	if (global_of(cls, GLOBAL_REDUCER)) {
		top(m, 0);
		pop_values(m, n - 1);
		return;
	}
	if (m->host->plain && cls.tag == RT_ENUM && cls.u.en->type == &type_class_global) {
		new_plain(m, (int)n);
		return;
	}
	if (cls.tag != RT_ENUM || cls.u.en->type != &type_class_global || !m->host->object)
		pickle_bad(&m->at, "makes an object of %s", is_global(cls) ? cls.u.en->name->s : rt_type_of(cls));
	v = m->host->object(&m->at, m->host->arg, cls.u.en->name->s);
	spend(m, v.u.obj->cls->nslot);
	vec_push(m->cx->arena, &m->held, rt_retain(v));
	*ptrmap_at(m->cx->arena, &m->seals, v.u.p) = SEAL_NEW;
	replace(m, n, v);
}

static void
build_object(Machine *m, IValue obj, IValue state)
{
	if (*ptrmap_at(m->cx->arena, &m->seals, obj.u.p) != SEAL_NEW)
		pickle_bad(&m->at, "an object gets its state twice");
	seal(m, state, 0);
	spend(m, obj.u.obj->cls->nslot);
	m->host->build(&m->at, m->host->arg, obj, state);
	*ptrmap_at(m->cx->arena, &m->seals, obj.u.p) = SEAL_BUILT;
}

/* Copies the state of an object without a class into its dict. */
static void
build_plain(Machine *m, IValue obj, IValue state)
{
	if (state.tag != RT_DICT)
		pickle_bad(&m->at, "an object's state is a %s", rt_type_of(state));
	seal(m, state, 0);
	spend(m, state.u.dict->used);
	for (int64_t i = 0; i < state.u.dict->used; i++) {
		const RtDictEntry *e = &state.u.dict->at[i];

		if (!e->dead && rt_dict_set(&m->rt, obj.u.dict, rt_retain(e->key), rt_retain(e->value)))
			need(m, NULL);
	}
	*ptrmap_at(m->cx->arena, &m->seals, obj.u.p) = SEAL_BUILT;
}

static void
op_build(Machine *m, int64_t n)
{
	IValue state = *top(m, 0), target = *top(m, 1);
	const struct Global *g = global_of(target, GLOBAL_REDUCER);

	if (g) {
		replace(m, n, call(m, g, state));
		return;
	}
	if (target.tag == RT_OBJECT)
		build_object(m, target, state);
	else if (target.tag == RT_DICT && *ptrmap_at(m->cx->arena, &m->seals, target.u.p) == SEAL_NEW)
		build_plain(m, target, state);
	/* Ignores the _metadata of an OrderedDict and the __dict__ of a tensor. */
	else if (target.tag != RT_DICT && target.tag != RT_TENSOR)
		pickle_bad(&m->at, "sets the state of a %s", rt_type_of(target));
	pop_values(m, n - 1);
}

/* Unpacks bytes of two elements each, the low one first, into one byte for each element. */
static IValue
unpack_nibbles(Machine *m, IValue packed)
{
	const RtTensor *from = packed.u.t;
	const int64_t n = rt_numel(from), twice = 2 * n;
	RtTensor *to = rt_tensor_new(&m->rt, (RtDtype)from->dtype, 1, &twice);
	uint8_t *b;

	if (!to)
		pickle_bad(&m->at, "%s", m->rt.message);
	b = (uint8_t *)rt_data(to);
	for (int64_t i = 0; i < n; i++) {
		const uint8_t x = ((const uint8_t *)rt_data(from))[i];
		b[2 * i] = x & 15;
		b[2 * i + 1] = x >> 4;
	}
	rt_release(packed);
	return rt_of(to);
}

/* Pushes the storage ("storage", element type, key, location, number of elements). */
static void
op_binpersid(Machine *m, int64_t n)
{
	IValue id = *top(m, 0);
	const IValue *v = id.tag == RT_TUPLE ? id.u.tuple->v : NULL;
	const struct Global *g;
	IValue s;

	if (!v || id.u.tuple->n < 5 || v[0].tag != RT_STR || strcmp(v[0].u.str->s, "storage") || v[2].tag != RT_STR
	    || v[3].tag != RT_STR || v[4].tag != RT_INT || !(g = global_of(v[1], GLOBAL_ELEMENTS)) || !m->host->storage)
		pickle_bad(&m->at, "a storage is described in an unknown way");
	if (!strcmp(v[3].u.str->s, "meta"))
		pickle_lacks(&m->at, "%sKiln lacks tensors without data (device meta)", path_of_value(m));
	if (v[2].u.str->n > KEY_MAX)
		pickle_bad(&m->at, "the name of a storage is too long");
	spend(m, v[2].u.str->n);
	s = m->host->storage(&m->at, m->host->arg, (RtDtype)g->value, v[2].u.str->s, v[4].u.i);
	replace(m, n, !strcmp(g->name, "QUInt4x2Storage") ? unpack_nibbles(m, s) : s);
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

/* Source of an instruction's operand: S4 to NEXT_MEMO, or the number itself. */
enum { S4 = -7, U4, U2, U1, MARKED, NEXT_MEMO };
#define EXACTLY(k) (k)

static const struct { const char *name; int operand; void (*run)(Machine *, int64_t n); } opcodes[256] = {
#define OPCODE(byte, name, operand, function) [byte] = { name, operand, op_##function },
#include "pickle.def"
};

static int64_t
operand_of(Machine *m, int operand)
{
	switch (operand) {
	case U1: return take_int(m, 1);
	case U2: return take_int(m, 2);
	case U4: return take_int(m, 4);
	case S4: return (int32_t)(uint32_t)take_int(m, 4);
	case MARKED: return since_mark(m);
	case NEXT_MEMO: return m->memo.n;
	}
	return operand;
}

static void
run(Cx *cx, void *arg)
{
	Machine *m = arg;

	(void)cx;
	for (;;) {
		int op;

		m->at.byte = m->pos;
		if (m->pos >= m->n)
			pickle_bad(&m->at, "the pickle ends before its STOP");
		op = m->p[m->pos++];
		if (op == '.')
			break;
		if (!opcodes[op].run)
			pickle_bad(&m->at, "unknown pickle instruction 0x%02x", op);
		opcodes[op].run(m, operand_of(m, opcodes[op].operand));
	}
	if (m->stack.n != 1 || m->marks.n)
		pickle_bad(&m->at, "the pickle leaves %d values instead of one", m->stack.n);
	seal(m, m->stack.at[0], 0);
	m->result = m->stack.at[0];
	m->stack.n = 0;
}

static void
release_all(Machine *m)
{
	pop_values(m, m->stack.n);
	for (int i = 0; i < m->memo.n; i++)
		rt_release(m->memo.at[i]);
	for (int i = 0; i < m->held.n; i++)
		rt_release(m->held.at[i]);
	rt_cx_free(&m->rt);
}

IValue
pickle_load(Cx *cx, const Source *bytes, const PickleHost *host)
{
	Machine *m = new(cx->arena, Machine, 1);
	bool ok;

	m->cx = cx;
	m->host = host;
	m->at = (PickleAt){ cx, bytes, 0 };
	m->p = (const unsigned char *)bytes->text;
	m->n = bytes->n;
	m->budget = 100000 + 64 * bytes->n;
	m->unfolded = 100000 + 1000 * bytes->n;
	rt_cx_init(&m->rt);
	if (m->n < 2 || m->p[0] != 0x80)
		pickle_bad(&m->at, m->n ? "is no pickle" : "is empty");
	ok = cx_try(cx, run, m);
	release_all(m);
	if (!ok)
		fail_again(cx);
	return m->result;
}
