/* rt/cx.c - the state of one call of a model: errors, results, scratch memory, arguments
 *
 * Scratch memory is a stack of blocks. rt_scratch_mark and rt_scratch_reset bracket each kernel: its scratch memory and
 * the tensors that it passed to rt_temp are released when it returns, even after an error. Blocks are kept for the next
 * kernel. */
#include "program.h"
#include "base.h"
#include "ops/quant.h"

#include <stdlib.h>
#include <string.h>

typedef struct ScratchBlock ScratchBlock;
struct ScratchBlock {
	ScratchBlock *older, *newer;
	int64_t room, used;
	char   *data;             /* aligned to 64 */
};

struct RtScratch {
	ScratchBlock *top;        /* block from which memory is allocated; newer blocks are empty */
	IValue *temp;
	int     ntemp, cap;
};

int
rt_cx_init(RtCx *cx)
{
	memset(cx, 0, sizeof *cx);
	cx->nthread = 1;
	cx->grad = true;
	cx->steps = -1;
	cx->scratch = rt_mem_zeroed(sizeof *cx->scratch);
	cx->account = cx->scratch ? rt_mem_counted(cx, sizeof *cx->account) : 0;
	if (!cx->account)
		return rt_raise(cx, "out of memory");
	cx->gen = rt_generator_new(cx, RT_SEED);
	return cx->gen ? RT_OK : RT_ERROR;
}

int
rt_cx_child(RtCx *child, const RtCx *parent)
{
	*child = *parent;
	child->status = RT_OK;
	child->message = child->cls = child->trace = 0;
	child->visit = 0;
	child->nvisit = 0;
	child->place = 0;
	child->arena = 0;
	child->arena_bytes = 0;
	child->sizes = 0;
	child->cuda = 0;
	child->events = 0;
	child->child = true;
	child->scratch = rt_mem_zeroed(sizeof *child->scratch);
	rt_count_up(&child->account->h);
	rt_count_up(&child->gen->h);
	return child->scratch ? RT_OK : RT_ERROR;
}

static void
free_blocks(ScratchBlock *b)
{
	ScratchBlock *newer;

	for (; b; b = newer) {
		newer = b->newer;
		rt_mem_back(b->data);
		rt_mem_back(b);
	}
}

static void
free_sizes(RtCx *cx)
{
	for (RtKnownSizes *k = cx->sizes, *next; k; k = next) {
		next = k->next;
		free(k);
	}
	cx->sizes = NULL;
}

void
rt_cx_free(RtCx *cx)
{
	ScratchBlock *b;

	if (cx->pool && !cx->child)
		rt_threads(cx, 1);
	if (!cx->child)
		rt_thread_end();
	if (cx->scratch) {
		rt_scratch_reset(cx, (RtMark){ 0, 0, 0 });
		b = cx->scratch->top;
		while (b && b->older)
			b = b->older;
		free_blocks(b);
		rt_mem_back(cx->scratch->temp);
		rt_mem_back(cx->scratch);
	}
	if (cx->account && rt_count_down(&cx->account->h))
		rt_mem_back(cx->account);
	if (cx->gen)
		rt_release(rt_ref(RT_GENERATOR, cx->gen));
	rt_mem_back(cx->arena);
	free_sizes(cx);
	rt_clear_error(cx);
	if (!cx->child)
		rt_mem_end();
	memset(cx, 0, sizeof *cx);
}

/* ---- errors ------------------------------------------------------------------------------------------------ */

void
rt_clear_error(RtCx *cx)
{
	rt_mem_back(cx->message);
	free(cx->cls);
	rt_mem_back(cx->trace);
	free(cx->visit);
	cx->message = cx->cls = cx->trace = 0;
	cx->visit = 0;
	cx->nvisit = 0;
	cx->status = RT_OK;
}

RtError
rt_take_error(RtCx *cx)
{
	const RtError e = { cx->status, cx->nvisit, cx->message, cx->cls, cx->trace, cx->visit };

	cx->message = cx->cls = cx->trace = NULL;
	cx->visit = NULL;
	rt_clear_error(cx);
	return e;
}

void
rt_restore_error(RtCx *cx, RtError e)
{
	rt_clear_error(cx);
	cx->status = e.status;
	cx->message = e.message;
	cx->cls = e.cls;
	cx->trace = e.trace;
	cx->visit = e.visit;
	cx->nvisit = e.nvisit;
}

static int
set_error(RtCx *cx, int status, const char *cls, const char *fmt, va_list ap)
{
	Buf b = { 0 }, clean = { 0 };

	buf_vprintf(&b, fmt, ap);
	buf_clean(&clean, b.at, b.n);
	buf_free(&b);
	rt_clear_error(cx);
	cx->status = status;
	cx->message = clean.at;
	cx->cls = cls ? strdup(cls) : 0;
	return status;
}

int
rt_raise(RtCx *cx, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = set_error(cx, RT_ERROR, 0, fmt, ap);
	va_end(ap);
	return r;
}

int
rt_raise_as(RtCx *cx, const char *cls, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = set_error(cx, RT_ERROR, cls, fmt, ap);
	va_end(ap);
	return r;
}

int
rt_lacks(RtCx *cx, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = set_error(cx, RT_LACKS, 0, fmt, ap);
	va_end(ap);
	return r;
}

int
rt_no_meta(RtCx *cx)
{
	rt_clear_error(cx);
	return cx->status = RT_UNKNOWN_META;
}

/* ---- results and scratch ------------------------------------------------------------------------------------- */

void *
rt_mem_counted(RtCx *cx, int64_t bytes)
{
	RtHead *h = rt_mem_zeroed(bytes);

	if (h)
		h->refs = 1;
	else
		rt_raise(cx, "out of memory");
	return h;
}

/* Returns a tensor for result i in its planned memory. The memory is used once: kernels that this kernel calls must not
 * get it again. */
static RtTensor *
planned(RtCx *cx, int i, RtDtype dtype, int ndim, const int64_t *dims, const int64_t *strides)
{
	RtStorage *s = rt_storage_over(cx, cx->place[i].data, cx->place[i].bytes, false);
	RtTensor *t = s ? rt_tensor_over(cx, s, dtype, &(RtGeometry){ ndim, dims, strides, 0 }) : 0;

	rt_storage_release(s);
	cx->place[i].data = 0;
	return t;
}

RtTensor *
rt_result(RtCx *cx, int i, RtDtype dtype, int ndim, const int64_t *dims, const int64_t *strides)
{
	RtTensor *t;

	if (cx->place && i < cx->nplace && cx->place[i].data && !cx->meta) {
		if ((t = planned(cx, i, dtype, ndim, dims, strides)))
			return t;
		rt_clear_error(cx);                     /* the result is larger than planned: it goes to the heap */
	}
	return rt_tensor_strided(cx, dtype, ndim, dims, strides);
}

static ScratchBlock *
block_new(RtCx *cx, int64_t bytes)
{
	ScratchBlock *b = rt_mem(sizeof *b);
	int64_t room = bytes < RT_LIMIT_BLOCK ? RT_LIMIT_BLOCK : bytes;

	if (b && (cx->memory_limit && room > cx->memory_limit ? 1 : !(b->data = rt_mem_line(room)))) {
		rt_mem_back(b);
		b = 0;
	}
	if (!b) {
		rt_raise(cx, "DefaultCPUAllocator: can't allocate memory: you tried to allocate %lld bytes. "
			"Error code 12 (Cannot allocate memory)", (long long)bytes);
		return 0;
	}
	b->older = b->newer = 0;
	b->room = room;
	b->used = 0;
	return b;
}

/* Pushes a block with room for `bytes`. */
static bool
push_block(RtCx *cx, int64_t bytes)
{
	struct RtScratch *s = cx->scratch;
	ScratchBlock *b = s->top ? s->top->newer : 0;

	if (!b || b->room < bytes) {
		if (!(b = block_new(cx, bytes)))
			return false;
		if (s->top) {
			free_blocks(s->top->newer);
			s->top->newer = b;
		}
		b->older = s->top;
	}
	b->used = 0;
	s->top = b;
	return true;
}

void *
rt_scratch(RtCx *cx, int64_t bytes)
{
	struct RtScratch *s = cx->scratch;
	int64_t want;
	char *p;

	if (!size_add(bytes, 63, &want)) {
		rt_raise(cx, "Storage size calculation overflowed");
		return 0;
	}
	want = want / 64 * 64;
	if (!want)
		want = 64;
	if ((!s->top || s->top->room - s->top->used < want) && !push_block(cx, want))
		return 0;
	p = s->top->data + s->top->used;
	s->top->used += want;
	return p;
}

IValue
rt_temp_value(RtCx *cx, IValue v)
{
	struct RtScratch *s = cx->scratch;
	IValue *more;

	if (!rt_counted(v))
		return v;
	if (s->ntemp == s->cap) {
		more = s->cap > INT32_MAX / 4 ? 0 : rt_mem_more(s->temp,
			(int64_t)sizeof *more * (s->cap ? s->cap * 2 : RT_LIMIT_TEMPS));
		if (!more) {
			rt_release(v);
			rt_raise(cx, "out of memory");
			return rt_none();
		}
		s->temp = more;
		s->cap = s->cap ? s->cap * 2 : RT_LIMIT_TEMPS;
	}
	s->temp[s->ntemp++] = v;
	return v;
}

RtTensor *
rt_temp(RtCx *cx, RtTensor *t)
{
	return t ? rt_tensor(rt_temp_value(cx, rt_of(t))) : 0;
}

RtMark
rt_scratch_mark(RtCx *cx)
{
	struct RtScratch *s = cx->scratch;

	return (RtMark){ s->top, s->top ? s->top->used : 0, s->ntemp };
}

void
rt_scratch_reset(RtCx *cx, RtMark m)
{
	struct RtScratch *s = cx->scratch;

	while (s->ntemp > m.ntemp)
		rt_release(s->temp[--s->ntemp]);
	if (!m.block) {
		while (s->top && s->top->older)
			s->top = s->top->older;
	} else {
		s->top = m.block;
	}
	if (!s->top)
		return;
	s->top->used = m.used;
	if (s->top->newer && s->top->newer->room > RT_LIMIT_BLOCK_KEPT) {
		free_blocks(s->top->newer);
		s->top->newer = 0;
	}
}

/* Whether a kernel that does not support quantized tensors has returned one. Such a tensor has no scale and zero
 * point. */
static bool
lost_parameters(const IValue *out, int nout)
{
	for (int i = 0; rt_quantized && i < nout; i++)
		if (out[i].tag == RT_TENSOR && rt_dtypes[out[i].u.t->dtype].category == 'Q' && !out[i].u.t->quant)
			return true;
	return false;
}

int
rt_call_kernel(RtCx *cx, RtKernel *kernel, const IValue *in, IValue *out, int nout)
{
	RtMark m = rt_scratch_mark(cx);
	int r;

	for (int i = 0; i < nout; i++)
		out[i] = rt_none();
	r = kernel(cx, in, out);
	rt_scratch_reset(cx, m);
	if (!r && lost_parameters(out, nout))
		r = rt_lacks(cx, "this operator on quantized tensors");
	if (r)
		for (int i = 0; i < nout; i++)
			rt_assign(&out[i], rt_none());
	return r;
}

int
rt_call_using(RtCx *cx, const RtCall *c, const IValue *in, IValue *out)
{
	const int status = rt_lazy ? rt_lazy->call(cx, c, in, out) : c->kernel(cx, in, out);

	if (status || !lost_parameters(out, c->nout))
		return status;
	for (int i = 0; i < c->nout; i++)
		rt_assign(&out[i], rt_none());
	return rt_quantized->through(cx, c, in, out);
}

int
rt_call(RtCx *cx, const RtCall *c, const IValue *in, IValue *out)
{
	RtMark m = rt_scratch_mark(cx);
	int status;

	for (int i = 0; i < c->nout; i++)
		out[i] = rt_none();
	status = rt_call_using(cx, c, in, out);
	rt_scratch_reset(cx, m);
	for (int i = 0; i < c->nout && status; i++)
		rt_assign(&out[i], rt_none());
	return status;
}

/* ---- arguments -------------------------------------------------------------------------------------------------- */

double
rt_number(IValue v)
{
	switch ((RtTag)v.tag) {
	case RT_DOUBLE:  return v.u.f;
	case RT_COMPLEX: return v.u.c->re;
	case RT_INT:
	case RT_BOOL:    return (double)v.u.i;
	default:         BUG("a number was wanted, not %s", rt_type_of(v));
	}
}

int64_t
rt_integer(IValue v)
{
	switch ((RtTag)v.tag) {
	case RT_DOUBLE:  return v.u.f >= -0x1p63 && v.u.f < 0x1p63 ? (int64_t)v.u.f : INT64_MIN;
	case RT_COMPLEX: return rt_integer(rt_double(v.u.c->re));
	case RT_INT:
	case RT_DEVICE:
	case RT_BOOL:    return v.u.i;
	default:         BUG("an integer was wanted, not %s", rt_type_of(v));
	}
}

int
rt_ints(RtCx *cx, IValue v, int64_t *buf, int cap)
{
	const RtList *l = v.u.list;

	if (v.tag == RT_INT || v.tag == RT_BOOL) {
		buf[0] = v.u.i;
		return 1;
	}
	if (v.tag == RT_NONE)
		return 0;
	if (v.tag != RT_LIST)
		BUG("a list of ints was wanted, not %s", rt_type_of(v));
	if (l->n > cap) {
		rt_raise(cx, "expected at most %d values, but got %lld", cap, (long long)l->n);
		return -1;
	}
	for (int64_t i = 0; i < l->n; i++)
		buf[i] = rt_integer(l->v[i]);
	return (int)l->n;
}

int
rt_dim(RtCx *cx, int64_t dim, int ndim)
{
	int n = ndim ? ndim : 1;

	if (dim < -n || dim >= n) {
		rt_raise(cx, "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
			-n, n - 1, (long long)dim);
		return -1;
	}
	return (int)(dim < 0 ? dim + n : dim);
}
