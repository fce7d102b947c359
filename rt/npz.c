/* rt/npz.c - reads and writes .npz files, zip archives of arrays: inputs and results of a model
 *
 * The reader reads the whole file, follows the central directory (with zip64), and checks every offset and size against
 * the file before use. Inflated sizes are bounded by deflate's largest ratio. The writer stores without compression,
 * aligns data to 64 bytes, writes no time, and renames the finished file to its name. */
#include "host.h"
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALIGN = 64, INFLATE_MOST = 1100 };

typedef struct File {
	const char *path;
	unsigned char *at;
	int64_t n;
} File;

typedef struct Member {
	char    *name;             /* name of the member, which ends with .npy; on the heap */
	int      method, flags;
	uint32_t crc;
	int64_t  packed, size, offset;
} Member;

/* These read little-endian numbers of 2, 4 and 8 bytes. Compilers make single loads of them. */
static int64_t
little2(const unsigned char *p)
{
	return p[0] | p[1] << 8;
}

static int64_t
little4(const unsigned char *p)
{
	return little2(p) | little2(p + 2) << 16;
}

static int64_t
little8(const unsigned char *p)
{
	return (int64_t)((uint64_t)little4(p) | (uint64_t)little4(p + 4) << 32);
}

/* ---- arrays ------------------------------------------------------------------------------------------------ */

void
rt_arrays_free(RtArrays *a)
{
	for (int i = 0; i < a->n; i++) {
		rt_mem_back(a->at[i].key);
		rt_tensor_release(a->at[i].tensor);
		if (a->at[i].text)
			rt_release(rt_ref(RT_STR, a->at[i].text));
	}
	for (int i = 0; i < a->nnone; i++)
		rt_mem_back(a->none[i].key);
	rt_mem_back(a->at);
	rt_mem_back(a->none);
	memset(a, 0, sizeof *a);
}

RtArray *
rt_arrays_find(const RtArrays *a, const char *key)
{
	for (int i = 0; i < a->n; i++)
		if (!strcmp(a->at[i].key, key))
			return &a->at[i];
	return 0;
}

/* Adds a tensor or a text under a new key.  Takes the reference, even on failure. */
static int
append(RtCx *cx, RtArrays *a, const char *key, RtTensor *t, RtStr *s)
{
	RtArray *more = a->at;
	char *own = 0;

	if (a->n == a->cap) {
		more = a->cap > INT32_MAX / 2 ? 0 : rt_mem_more(a->at,
			(int64_t)sizeof *more * (a->cap ? a->cap * 2 : RT_LIMIT_ARRAYS));
		if (more) {
			a->at = more;
			a->cap = a->cap ? a->cap * 2 : RT_LIMIT_ARRAYS;
		}
	}
	if (more && (own = rt_mem((int64_t)strlen(key) + 1))) {
		strcpy(own, key);
		a->at[a->n++] = (RtArray){ own, t ? (RtDtype)t->dtype : RT_NDTYPE, t, s };
		return RT_OK;
	}
	rt_tensor_release(t);
	if (s)
		rt_release(rt_ref(RT_STR, s));
	return rt_raise(cx, "out of memory");
}

int
rt_arrays_put(RtCx *cx, RtArrays *a, const char *key, RtTensor *t, RtStr *s)
{
	if (!rt_arrays_find(a, key))
		return append(cx, a, key, t, s);
	rt_tensor_release(t);
	if (s)
		rt_release(rt_ref(RT_STR, s));
	return rt_raise(cx, "'%s' is there twice", key);
}

int
rt_arrays_add_none(RtCx *cx, RtArrays *a, const char *key)
{
	char *own;

	if (a->nnone == a->none_cap) {
		const int cap = a->none_cap ? a->none_cap * 2 : 4;
		RtNone *more = cap > INT32_MAX / 2 ? NULL : rt_mem_more(a->none, (int64_t)sizeof *more * cap);

		if (!more)
			return rt_raise(cx, "out of memory");
		a->none = more;
		a->none_cap = cap;
	}
	if (!(own = rt_mem((int64_t)strlen(key) + 1)))
		return rt_raise(cx, "out of memory");
	strcpy(own, key);
	a->none[a->nnone++] = (RtNone){ own, a->n };
	return RT_OK;
}

/* Whether there is an array with the key, or with the key of a part. */
static bool
has_key(const RtArrays *a, const char *key)
{
	const size_t n = strlen(key);

	for (int i = 0; i < a->n; i++)
		if (!strncmp(a->at[i].key, key, n) && (!a->at[i].key[n] || a->at[i].key[n] == '.'))
			return true;
	return false;
}

int
rt_arrays_put_texts(RtCx *cx, RtArrays *a, const char *key, const IValue *texts, int64_t n)
{
	Buf b = { 0 };
	RtTensor *t;
	int status = has_key(a, key) ? rt_raise(cx, "'%s' is there twice", key) : RT_OK;

	for (int64_t i = 0; i < n && !status; i++) {
		b.n = 0;
		buf_printf(&b, "%s.%lld", key, (long long)i);
		status = append(cx, a, b.at, NULL, rt_retain(texts[i]).u.str);
	}
	if (!n && !status)
		status = (t = rt_tensor_new(cx, RT_f32, 1, &n)) ? append(cx, a, key, t, NULL) : RT_ERROR;
	buf_free(&b);
	return status;
}

int
rt_arrays_add(RtCx *cx, RtArrays *a, const char *key, IValue v)
{
	RtTensor *t = 0;

	if (v.tag == RT_STR)
		return rt_arrays_put(cx, a, key, 0, rt_retain(v).u.str);
	if (v.tag == RT_TENSOR)
		t = rt_tensor_retain(v.u.t);
	else if (v.tag == RT_INT || v.tag == RT_DOUBLE || v.tag == RT_BOOL || v.tag == RT_COMPLEX)
		t = rt_wrapped(cx, v);
	else
		rt_raise(cx, "'%s': a value of type %s is no array", key, rt_type_of(v));
	return t ? rt_arrays_put(cx, a, key, t, 0) : RT_ERROR;
}

bool
rt_read_int(const char **s, const char *end, int64_t *out)
{
	const char *p = *s, sign = p != end && (*p == '-' || *p == '+') ? *p++ : '+';
	const uint64_t most = (uint64_t)INT64_MAX + (sign == '-');
	const char *const begin = p;
	uint64_t v = 0;

	for (; p != end && *p >= '0' && *p <= '9'; p++) {
		const unsigned digit = (unsigned)(*p - '0');

		if (v > (most - digit) / 10)
			return false;
		v = 10 * v + digit;
	}
	*s = p;
	*out = (int64_t)(sign == '-' ? 0 - v : v);
	return p != begin;
}

/* ---- the header of a .npy --------------------------------------------------------------------------------------- */

typedef struct Header {
	char    descr[48];
	bool    fortran, has_descr, has_order, has_shape;
	RtDtype dtype;          /* dtype of descr; RT_NDTYPE if it is not a tensor's dtype */
	bool    swapped;        /* whether numbers are big-endian */
	int     ndim;
	int64_t dims[RT_MAX_RANK];
} Header;

typedef struct Text { const char *p, *end; } Text;     /* the remaining text of a header, which is a Python literal */

static bool
skip_to(Text *t, char c)
{
	while (t->p < t->end && (*t->p == ' ' || *t->p == '\n' || *t->p == '\t'))
		t->p++;
	if (t->p == t->end || *t->p != c)
		return false;
	t->p++;
	return true;
}

static bool
read_string(Text *t, char *out, int room)
{
	char quote;
	int n = 0;

	if (!skip_to(t, '\'') && !skip_to(t, '"'))
		return false;
	quote = t->p[-1];
	while (t->p < t->end && *t->p != quote) {
		if (n + 1 == room || *t->p == '\\')
			return false;
		out[n++] = *t->p++;
	}
	out[n] = 0;
	return skip_to(t, quote);
}

/* Parses a descr: a string, or the text of a list in brackets, which describes a structured array. */
static bool
read_descr(Text *t, char *out, int room)
{
	const char *from, *end;

	if (!skip_to(t, '['))
		return read_string(t, out, room < 32 ? room : 32);
	from = t->p - 1;
	end = memchr(from, ']', (size_t)(t->end - from));
	if (!end || end + 1 - from >= room)
		return false;
	memcpy(out, from, (size_t)(end + 1 - from));
	out[end + 1 - from] = 0;
	t->p = end + 1;
	return true;
}

static bool
read_word(Text *t, const char *word)
{
	int64_t n = (int64_t)strlen(word);

	while (t->p < t->end && *t->p == ' ')
		t->p++;
	if (t->end - t->p < n || memcmp(t->p, word, (size_t)n))
		return false;
	t->p += n;
	return true;
}

static bool
read_size(Text *t, int64_t *out)
{
	while (t->p < t->end && *t->p == ' ')
		t->p++;
	return rt_read_int(&t->p, t->end, out) && *out >= 0;
}

static bool
read_shape(Text *t, Header *h)
{
	if (!skip_to(t, '('))
		return false;
	while (!skip_to(t, ')')) {
		if (h->ndim == RT_MAX_RANK || !read_size(t, &h->dims[h->ndim++]))
			return false;
		if (!skip_to(t, ','))
			return h->ndim > 1 && skip_to(t, ')');
	}
	return true;
}

/* Parses { 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } with the keys in any order. */
static bool
read_header(Text t, Header *h)
{
	char key[16];

	memset(h, 0, sizeof *h);
	if (!skip_to(&t, '{'))
		return false;
	while (!skip_to(&t, '}')) {
		if (!read_string(&t, key, sizeof key) || !skip_to(&t, ':'))
			return false;
		if (!strcmp(key, "descr") && !h->has_descr)
			h->has_descr = read_descr(&t, h->descr, sizeof h->descr);
		else if (!strcmp(key, "fortran_order") && !h->has_order)
			h->has_order = (h->fortran = read_word(&t, "True")) || read_word(&t, "False");
		else if (!strcmp(key, "shape") && !h->has_shape)
			h->has_shape = read_shape(&t, h);
		else
			return false;
		if (!skip_to(&t, ',') && (t.p == t.end || *t.p != '}'))
			return false;
	}
	while (t.p < t.end && (*t.p == ' ' || *t.p == '\n'))
		t.p++;
	return t.p == t.end && h->has_descr && h->has_order && h->has_shape;
}

/* ---- reading a member -------------------------------------------------------------------------------------------- */

/* Returns the dtype of a NumPy text such as '<f4'. Sets *swap to whether numbers are big-endian. RT_NDTYPE if Kiln has
 * no such dtype. */
static RtDtype
dtype_of(const char *descr, bool *swap)
{
	char order = descr[0];

	*swap = order == '>';
	for (int d = 0; d < RT_NDTYPE; d++)
		if (!strchr("Q?", rt_dtypes[d].category) && !strcmp(rt_dtypes[d].numpy + 1, descr + 1) &&
		    (order == rt_dtypes[d].numpy[0] || order == '=' || (*swap && rt_dtypes[d].numpy[0] == '<') ||
		     (order == '<' && rt_dtypes[d].bytes == 1)))
			return (RtDtype)d;
	return RT_NDTYPE;
}

static void
swap_bytes(char *p, int64_t n, RtDtype d)
{
	int size = rt_dtypes[d].bytes / (rt_dtypes[d].category == 'C' ? 2 : 1);
	char c;

	for (int64_t i = 0; i + size <= n; i += size, p += size)
		for (int k = 0; k < size / 2; k++) {
			c = p[k];
			p[k] = p[size - 1 - k];
			p[size - 1 - k] = c;
		}
}

/* Copies t's elements in C order. It does not use copy.c, because plain programs do not link that file. */
static void
gather(const RtTensor *t, char *to)
{
	const int64_t bytes = rt_dtypes[t->dtype].bytes;
	int64_t at[RT_MAX_RANK] = { 0 };
	const char *from = rt_data(t);

	for (int64_t n = rt_numel(t); n > 0; n--, to += bytes) {
		memcpy(to, from, (size_t)bytes);
		for (int i = t->ndim - 1; i >= 0; i--) {
			from += t->strides[i] * bytes;
			if (++at[i] < t->dims[i])
				break;
			from -= t->dims[i] * t->strides[i] * bytes;
			at[i] = 0;
		}
	}
}

/* Returns a new reference to a contiguous tensor with the same elements. Null if an error was raised. */
static RtTensor *
in_order(RtCx *cx, RtTensor *t)
{
	RtTensor *r;

	if (t->flags & RT_BITS)
		return rt_lazy->contiguous(cx, t);
	if (rt_is_contiguous(t))
		return rt_tensor_retain(t);
	r = rt_tensor_new(cx, (RtDtype)t->dtype, t->ndim, t->dims);
	if (r)
		gather(t, rt_data(r));
	return r;
}

/* Converts column-major elements to row-major ones: by a view with reversed strides, then a copy. */
static RtTensor *
from_fortran(RtCx *cx, RtTensor *t, const Header *h)
{
	int64_t strides[RT_MAX_RANK], step = 1;
	RtTensor *view, *r;

	for (int i = 0; i < h->ndim; i++) {
		strides[i] = step;
		step *= h->dims[i] > 1 ? h->dims[i] : 1;
	}
	view = rt_tensor_view(cx, t, h->ndim, h->dims, strides, 0);
	rt_tensor_release(t);
	r = view ? in_order(cx, view) : 0;
	rt_tensor_release(view);
	return r;
}

static int
add_tensor(RtCx *cx, RtArrays *a, const char *key, const Header *h, const unsigned char *p, int64_t n)
{
	const RtDtype d = h->dtype;
	int64_t bytes = rt_dtypes[d].bytes;
	bool fits = true;
	RtTensor *t;
	char *data;

	for (int i = 0; i < h->ndim; i++)
		fits &= size_mul(bytes, h->dims[i], &bytes);
	if (!fits || bytes != n)
		return rt_raise(cx, "'%s': its shape and its %lld bytes of data do not agree", key, (long long)n);
	if (!(t = rt_tensor_new(cx, d, h->ndim, h->dims)))
		return RT_ERROR;
	data = rt_data(t);
	if (n)
		memcpy(data, p, (size_t)n);
	if (h->swapped)
		swap_bytes(data, n, d);
	if (d == RT_b8)
		for (int64_t i = 0; i < n; i++)
			data[i] = data[i] != 0;
	if (h->fortran && h->ndim > 1 && !(t = from_fortran(cx, t, h)))
		return RT_ERROR;
	return rt_arrays_put(cx, a, key, t, 0);
}

static int
add_npy(RtCx *cx, RtArrays *a, const char *key, const unsigned char *p, int64_t n)
{
	Header h;
	int64_t head, skip;

	if (n < 12 || memcmp(p, "\x93NUMPY", 6) || p[6] < 1 || p[6] > 3 || p[7])
		return rt_raise(cx, "'%s' is no .npy array", key);
	skip = p[6] == 1 ? 10 : 12;
	head = p[6] == 1 ? little2(p + 8) : little4(p + 8);
	if (head > n - skip || !read_header((Text){ (const char *)p + skip, (const char *)p + skip + head }, &h))
		return rt_raise(cx, "'%s': the header of the .npy is damaged", key);
	p += skip + head;
	n -= skip + head;
	if (h.descr[0] && h.descr[1] == 'U' && rt_texts)
		return h.ndim < 2 ? rt_texts->read(cx, a, key, h.descr, h.ndim ? h.dims : NULL, p, n) :
			rt_raise(cx, "'%s': texts are read from arrays of no or one dimension, not %d", key, h.ndim);
	h.dtype = dtype_of(h.descr, &h.swapped);
	if (h.dtype == RT_NDTYPE && !strcmp(h.descr, "|V1"))
		return rt_raise(cx, "'%s': the array has single bytes (|V1) without their format; 8-bit floats "
				"are read from an array of type %s", key, rt_dtypes[RT_f8_e4m3fn].numpy);
	if (h.dtype == RT_NDTYPE)
		return rt_raise(cx, "'%s': arrays of type %s are not known", key, h.descr);
	return add_tensor(cx, a, key, &h, p, n);
}

/* ---- reading the zip --------------------------------------------------------------------------------------------- */

static int
damaged(RtCx *cx, const File *f, const char *what)
{
	return rt_raise(cx, "%s: is no .npz file or damaged: %s", f->path, what);
}

static int
damaged_member(RtCx *cx, const File *f, const Member *m, const char *what)
{
	return rt_raise(cx, "%s: member '%s' is damaged: %s", f->path, m->name, what);
}

/* Prefixes the error of a member with the file's name. Returns the status. */
static int
in_file(RtCx *cx, const File *f, int status)
{
	char *why = cx->message;

	if (!status || !why)
		return status;
	cx->message = 0;
	rt_raise(cx, "%s: %s", f->path, why);
	rt_mem_back(why);
	return status;
}

/* Writes all n bytes. Returns false, with errno set, on failure. */
static bool
write_all(int fd, const char *at, ssize_t n)
{
	ssize_t some = 0;

	for (; n > 0 && some >= 0; at += some, n -= some)
		if ((some = write(fd, at, (size_t)n)) < 0 && errno == EINTR)
			some = 0;
	return some >= 0;
}

int
rt_stdin_keep(void)
{
	char block[1 << 14];
	ssize_t n;
	int fd;
	bool good = true;

	if (lseek(0, 0, SEEK_CUR) >= 0)
		return RT_OK;
	if ((fd = memfd_create("input", MFD_CLOEXEC)) < 0)
		return RT_ERROR;
	while (good && ((n = read(0, block, sizeof block)) > 0 || (n < 0 && errno == EINTR)))
		good = n < 0 || write_all(fd, block, n);
	good = good && !n && !lseek(fd, 0, SEEK_SET) && dup2(fd, 0) == 0;
	close(fd);
	return good ? RT_OK : RT_ERROR;
}

/* Reads the file's next bytes, at most `room`. Reads standard input at an offset and so keeps its position, so that it
 * can be read again. */
static ssize_t
read_more(const File *f, int fd, int64_t start, int64_t room)
{
	ssize_t n;

	do
		n = fd ? read(fd, f->at + f->n, (size_t)room) : pread(0, f->at + f->n, (size_t)room, start + f->n);
	while (n < 0 && errno == EINTR);
	return n;
}

/* Reads the file to its end. Stops if the bytes cannot be the beginning of an .npz, because a device may have no
 * end. */
static int
read_all(RtCx *cx, File *f, int fd)
{
	const int64_t start = fd ? 0 : lseek(0, 0, SEEK_CUR);
	int64_t cap = 0;
	unsigned char *more;
	ssize_t n = 1;

	while (n > 0 && (f->n < 1 << 17 || !memcmp(f->at, "PK", 2) || !memcmp(f->at, "\x93NUMPY", 6))) {
		if (f->n == cap) {
			cap = cap ? cap * 2 : 1 << 17;
			more = cap < INT64_MAX / 4 ? realloc(f->at, (size_t)cap) : NULL;
			if (!more)
				return rt_raise(cx, "%s: out of memory", f->path);
			f->at = more;
		}
		if ((n = read_more(f, fd, start, cap - f->n)) > 0)
			f->n += n;
	}
	return n < 0 ? rt_raise(cx, "%s: cannot be read: %s", f->path, strerror(errno)) : RT_OK;
}

static int
read_file(RtCx *cx, File *f, const char *path)
{
	const bool is_stdin = !strcmp(path, "-");
	const int fd = is_stdin ? 0 : open(path, O_RDONLY | O_CLOEXEC);
	int status;

	if (fd < 0 || (is_stdin && rt_stdin_keep()))
		return rt_raise(cx, "%s: %s", f->path, strerror(errno));
	status = read_all(cx, f, fd);
	if (!is_stdin)
		close(fd);
	return status;
}

/* Finds the central directory: its offset, its end and its number of entries. */
static int
find_directory(RtCx *cx, const File *f, int64_t *at, int64_t *end, int64_t *count)
{
	int64_t e = f->n - 22, low = f->n > 65557 ? f->n - 65557 : 0, far;
	const unsigned char *p;

	while (e >= low && memcmp(f->at + e, "PK\5\6", 4))
		e--;
	if (f->n >= 6 && !memcmp(f->at, "\x93NUMPY", 6))
		return rt_raise(cx, "%s: is a single array (.npy); expected an .npz, which names its arrays: "
				"numpy.savez(FILE, NAME=array)", f->path);
	if (f->n < 22 || e < low)
		return damaged(cx, f, "no end of a zip");
	p = f->at + e;
	*count = little2(p + 10);
	*end = little4(p + 12);
	*at = little4(p + 16);
	if ((*count == 0xffff || *end == 0xffffffff || *at == 0xffffffff) && e >= 20 && !memcmp(p - 20, "PK\6\7", 4)) {
		far = little8(p - 12);
		if (far < 0 || far > f->n - 56 || memcmp(f->at + far, "PK\6\6", 4))
			return damaged(cx, f, "no zip64 end");
		*count = little8(f->at + far + 32);
		*end = little8(f->at + far + 40);
		*at = little8(f->at + far + 48);
	}
	if (*at < 0 || *end < 0 || *count < 0 || *at > f->n || *end > f->n - *at || *count > *end / 46)
		return damaged(cx, f, "its directory lies outside");
	*end += *at;
	return RT_OK;
}

/* Replaces values with all bits set by those of the zip64 field. The field has only values for such members, in this
 * order. */
static bool
read_zip64(const unsigned char *extra, int64_t n, Member *m)
{
	int64_t *const value[] = { &m->size, &m->packed, &m->offset };
	const unsigned char *p;
	int64_t len;

	if (m->size != 0xffffffff && m->packed != 0xffffffff && m->offset != 0xffffffff)
		return true;
	for (; n >= 4; extra += 4 + len, n -= 4 + len) {
		len = little2(extra + 2);
		if (len > n - 4)
			return false;
		if (little2(extra) != 1)
			continue;
		p = extra + 4;
		for (int i = 0; i < 3; i++) {
			if (*value[i] != 0xffffffff)
				continue;
			if (extra + 4 + len - p < 8)
				return false;
			*value[i] = little8(p);
			p += 8;
		}
		return true;
	}
	return false;
}

/* Parses the directory entry at *at and moves *at behind it. */
static int
read_entry(RtCx *cx, const File *f, int64_t *at, int64_t end, Member *m)
{
	const unsigned char *p = f->at + *at;
	int64_t nname, nextra, all;

	if (end - *at < 46 || memcmp(p, "PK\1\2", 4))
		return damaged(cx, f, "an entry of its directory");
	nname = little2(p + 28);
	nextra = little2(p + 30);
	all = 46 + nname + nextra + little2(p + 32);
	if (all > end - *at || memchr(p + 46, 0, (size_t)nname))
		return damaged(cx, f, "an entry of its directory");
	*m = (Member){ .method = (int)little2(p + 10), .flags = (int)little2(p + 8),
		.crc = (uint32_t)little4(p + 16),
		.packed = little4(p + 20), .size = little4(p + 24),
		.offset = little4(p + 42) };
	if (!read_zip64(p + 46 + nname, nextra, m) || m->size < 0 || m->packed < 0 || m->offset < 0)
		return damaged(cx, f, "sizes of an entry");
	m->name = heap_grow(0, nname + 1);
	memcpy(m->name, p + 46, (size_t)nname);
	m->name[nname] = 0;
	*at += all;
	return RT_OK;
}

/* Sets *bytes to the member's bytes, in the file or inflated to *own. */
static int
member_bytes(RtCx *cx, const File *f, const Member *m, const unsigned char **bytes, unsigned char **own)
{
	const unsigned char *p = f->at + m->offset;
	int64_t skip;

	if (m->flags & 1)
		return damaged_member(cx, f, m, "it is encrypted");
	if (m->offset > f->n - 30 || memcmp(p, "PK\3\4", 4))
		return damaged_member(cx, f, m, "it lies outside the file");
	skip = 30 + little2(p + 26) + little2(p + 28);
	if (skip > f->n - m->offset || m->packed > f->n - m->offset - skip)
		return damaged_member(cx, f, m, "it lies outside the file");
	p += skip;
	*bytes = p;
	if (m->method == 8) {
		if (m->size / INFLATE_MOST > m->packed || (cx->memory_limit && m->size > cx->memory_limit) ||
		    !(*own = malloc((size_t)m->size + 1)))
			return damaged_member(cx, f, m, "it is too large");
		if (!rt_inflate(p, m->packed, *own, m->size))
			return damaged_member(cx, f, m, "its deflated data");
		*bytes = *own;
	} else if (m->method || m->packed != m->size) {
		return damaged_member(cx, f, m, "it is neither stored nor deflated");
	}
	if (rt_crc32(*bytes, m->size) != m->crc)
		return damaged_member(cx, f, m, "its CRC-32 is wrong");
	return RT_OK;
}

static int
read_member(RtCx *cx, const File *f, const Member *m, RtArrays *a)
{
	const unsigned char *bytes = 0;
	unsigned char *own = 0;
	size_t n = strlen(m->name);
	int status;

	if (n < 5 || strcmp(m->name + n - 4, ".npy"))
		return rt_raise(cx, "%s: member '%s' is no array (.npy)", f->path, m->name);
	m->name[n - 4] = 0;
	status = member_bytes(cx, f, m, &bytes, &own);
	if (!status)
		status = in_file(cx, f, add_npy(cx, a, m->name, bytes, m->size));
	free(own);
	return status;
}

static int
read_members(RtCx *cx, const File *f, RtArrays *a)
{
	int64_t at = 0, end = 0, count = 0, total = 0;
	Member m;
	int status;

	if (find_directory(cx, f, &at, &end, &count))
		return RT_ERROR;
	for (int64_t i = 0; i < count; i++) {
		if (read_entry(cx, f, &at, end, &m))
			return RT_ERROR;
		if (!size_add(total, m.size, &total) || total / INFLATE_MOST > f->n)
			status = damaged(cx, f, "its members are too large");
		else
			status = read_member(cx, f, &m, a);
		free(m.name);
		if (status)
			return status;
	}
	return RT_OK;
}

int
rt_npz_parse(RtCx *cx, const char *name, const void *bytes, int64_t n, RtArrays *a)
{
	const File f = { name, (unsigned char *)(uintptr_t)bytes, n };
	int status;

	rt_clear_error(cx);
	status = read_members(cx, &f, a);
	if (status)
		rt_arrays_free(a);
	return status;
}

int
rt_npz_read(RtCx *cx, const char *path, RtArrays *a)
{
	File f = { .path = strcmp(path, "-") ? path : "standard input" };
	int status = read_file(cx, &f, path);

	if (!status)
		status = rt_npz_parse(cx, f.path, f.at, f.n, a);
	free(f.at);
	return status;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void
put_le(Buf *b, uint64_t v, int n)
{
	char c;

	for (; n; n--, v >>= 8) {
		c = (char)(v & 255);
		buf_add(b, &c, 1);
	}
}

/* Writes magic, length and the literal, padded with blanks to a multiple of 64 bytes. */
static void
put_header(Buf *b, const char *descr, int ndim, const int64_t *dims)
{
	Buf h = { 0 };
	bool long_form;

	buf_printf(&h, *descr == '[' ? "{'descr': %s" : "{'descr': '%s'", descr);
	buf_puts(&h, ", 'fortran_order': False, 'shape': (");
	for (int i = 0; i < ndim; i++)
		buf_printf(&h, "%lld%s", (long long)dims[i], i + 1 < ndim ? ", " : ndim == 1 ? "," : "");
	buf_puts(&h, "), }");
	long_form = h.n > 60000;
	while ((h.n + (long_form ? 12 : 10) + 1) % ALIGN)
		buf_puts(&h, " ");
	buf_puts(&h, "\n");
	buf_add(b, "\x93NUMPY", 6);
	put_le(b, long_form ? 2 : 1, 1);
	put_le(b, 0, 1);
	put_le(b, (uint64_t)h.n, long_form ? 4 : 2);
	buf_add(b, h.at, h.n);
	buf_free(&h);
}

/* Writes the array as an .npy file. */
static int
npy_bytes(RtCx *cx, const RtArray *a, Buf *b)
{
	RtTensor *t;

	if (a->text) {
		Buf elements = { 0 };
		char descr[32];

		rt_texts->write(a->text, descr, &elements);
		put_header(b, descr, 0, NULL);
		buf_add(b, elements.at, elements.n);
		buf_free(&elements);
		return RT_OK;
	}
	if (!(t = in_order(cx, a->tensor)))
		return RT_ERROR;
	put_header(b, rt_dtypes[t->dtype].numpy, t->ndim, t->dims);
	buf_add(b, rt_data(t), rt_numel(t) * rt_dtypes[t->dtype].bytes);
	rt_tensor_release(t);
	return RT_OK;
}

/* Writes the fields that local header and directory entry share, from "version needed" on. */
static void
put_common(Buf *b, uint32_t crc, int64_t size, int64_t nname, int64_t nextra)
{
	put_le(b, 45, 2);
	put_le(b, 1 << 11, 2);                       /* names are UTF-8 */
	put_le(b, 0, 2);                             /* method: stored */
	put_le(b, 0, 2);                             /* time and date: midnight, 1 January 1980 */
	put_le(b, 0x21, 2);
	put_le(b, crc, 4);
	put_le(b, size < 0xffffffff ? (uint64_t)size : 0xffffffff, 4);
	put_le(b, size < 0xffffffff ? (uint64_t)size : 0xffffffff, 4);
	put_le(b, (uint64_t)nname, 2);
	put_le(b, (uint64_t)nextra, 2);
}

/* Writes the local header, with a zip64 field if sizes need it, padded so that the data is aligned. */
static void
put_local(Buf *out, int64_t offset, const char *name, uint32_t crc, int64_t size)
{
	int64_t nname = (int64_t)strlen(name) + 4, wide = size >= 0xffffffff ? 20 : 0, pad;

	pad = ALIGN - (offset + 30 + nname + wide + 4) % ALIGN;
	put_le(out, 0x04034b50, 4);
	put_common(out, crc, size, nname, wide + 4 + pad);
	buf_printf(out, "%s.npy", name);
	if (wide) {
		put_le(out, 1, 2);
		put_le(out, 16, 2);
		put_le(out, (uint64_t)size, 8);
		put_le(out, (uint64_t)size, 8);
	}
	put_le(out, 0x4246, 2);
	put_le(out, (uint64_t)pad, 2);
	for (int64_t i = 0; i < pad; i++)
		put_le(out, 0, 1);
}

static void
put_entry(Buf *dir, int64_t offset, const char *name, uint32_t crc, int64_t size)
{
	int64_t nname = (int64_t)strlen(name) + 4;
	bool wide = size >= 0xffffffff, far = offset >= 0xffffffff;

	put_le(dir, 0x02014b50, 4);
	put_le(dir, 45, 2);
	put_common(dir, crc, size, nname, wide || far ? 4 + wide * 16 + far * 8 : 0);
	put_le(dir, 0, 10);                          /* no comment, disk 0, no attributes */
	put_le(dir, far ? 0xffffffff : (uint64_t)offset, 4);
	buf_printf(dir, "%s.npy", name);
	if (!wide && !far)
		return;
	put_le(dir, 1, 2);
	put_le(dir, (uint64_t)(wide * 16 + far * 8), 2);
	for (int i = 0; i < 2 && wide; i++)
		put_le(dir, (uint64_t)size, 8);
	if (far)
		put_le(dir, (uint64_t)offset, 8);
}

static void
put_end(Buf *dir, int64_t at, int64_t size, int64_t count)
{
	if (count >= 0xffff || at >= 0xffffffff || size >= 0xffffffff) {
		put_le(dir, 0x06064b50, 4);
		put_le(dir, 44, 8);
		put_le(dir, 45, 2);
		put_le(dir, 45, 2);
		put_le(dir, 0, 8);
		put_le(dir, (uint64_t)count, 8);
		put_le(dir, (uint64_t)count, 8);
		put_le(dir, (uint64_t)size, 8);
		put_le(dir, (uint64_t)at, 8);
		put_le(dir, 0x07064b50, 4);
		put_le(dir, 0, 4);
		put_le(dir, (uint64_t)(at + size), 8);
		put_le(dir, 1, 4);
	}
	put_le(dir, 0x06054b50, 4);
	put_le(dir, 0, 4);
	put_le(dir, count < 0xffff ? (uint64_t)count : 0xffff, 2);
	put_le(dir, count < 0xffff ? (uint64_t)count : 0xffff, 2);
	put_le(dir, size < 0xffffffff ? (uint64_t)size : 0xffffffff, 4);
	put_le(dir, at < 0xffffffff ? (uint64_t)at : 0xffffffff, 4);
	put_le(dir, 0, 2);
}

static int
write_members(RtCx *cx, FILE *out, const RtArrays *a)
{
	Buf dir = { 0 }, head = { 0 }, data = { 0 };
	int64_t at = 0;
	uint32_t crc;
	int status = RT_OK;

	for (int i = 0; i < a->n && !status; i++) {
		head.n = data.n = 0;
		if (strlen(a->at[i].key) > 60000)
			status = rt_raise(cx, "a key is too long to be written");
		else
			status = npy_bytes(cx, &a->at[i], &data);
		if (status)
			break;
		crc = rt_crc32(data.at, data.n);
		put_entry(&dir, at, a->at[i].key, crc, data.n);
		put_local(&head, at, a->at[i].key, crc, data.n);
		fwrite(head.at, 1, (size_t)head.n, out);
		fwrite(data.at, 1, (size_t)data.n, out);
		at += head.n + data.n;
	}
	put_end(&dir, at, dir.n, a->n);
	fwrite(dir.at, 1, (size_t)dir.n, out);
	buf_free(&dir);
	buf_free(&head);
	buf_free(&data);
	return status;
}

int
rt_npz_write(RtCx *cx, const char *path, const RtArrays *a)
{
	RtWhole w;
	int status;

	if (!rt_whole_open(&w, path))
		return rt_raise(cx, "%s: %s", path, strerror(errno));
	status = write_members(cx, w.file, a);
	if (rt_whole_end(&w, !status) && !status)
		status = rt_raise(cx, "%s: cannot be written: %s", path, strerror(errno));
	return status;
}
