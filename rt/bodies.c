/* rt/bodies.c - implements instructions on values, for the interpreter and for specialized code
 *
 * A body borrows its inputs in[] and stores new references in out[]. After an error, out[] contains no references. */
#include "rt.h"
#include "base.h"

#include <string.h>

const RtCode *
rt_method(RtCx *cx, IValue self, const char *name)
{
	const RtClass *cls = self.tag == RT_OBJECT ? self.u.obj->cls : NULL;

	for (int i = 0; cls && i < cls->nmethod; i++)
		if (!strcmp(cls->method[i], name) && cls->code[i])
			return cls->code[i];
	rt_raise(cx, "'%s' object has no method '%s'", cls ? cls->name : rt_type_of(self), strrchr(name, '.') + 1);
	return NULL;
}

static int
wrong(RtCx *cx, const char *wanted, IValue v)
{
	return rt_raise(cx, "expected a %s, but got a value of type %s", wanted, rt_type_of(v));
}

int
rt_body_unpack(RtCx *cx, RtWhat what, const IValue *in, int nin, IValue *out, int nout)
{
	const bool list = what.n == RT_LIST;
	const IValue *v;
	int64_t n;

	(void)nin;
	if (in[0].tag != (RtTag)what.n)
		return wrong(cx, list ? "list" : "tuple", in[0]);
	v = list ? in[0].u.list->v : in[0].u.tuple->v;
	n = list ? in[0].u.list->n : in[0].u.tuple->n;
	if (n != nout)
		return rt_raise(cx, list ? "Expected %d elements in a list but found %lld" :
			"Expected a tuple of %d elements, but got %lld", nout, (long long)n);
	for (int i = 0; i < nout; i++)
		out[i] = rt_retain(v[i]);
	return RT_OK;
}

int
rt_body_index(RtCx *cx, RtWhat what, const IValue *in, int nin, IValue *out, int nout)
{
	const RtTuple *t = in[0].u.tuple;
	int64_t i = what.n;

	(void)nin, (void)nout;
	if (in[0].tag != RT_TUPLE)
		return wrong(cx, "tuple", in[0]);
	if (i < 0)
		i += t->n;
	if (i < 0 || i >= t->n)
		return rt_raise(cx, "tuple index out of range");
	out[0] = rt_retain(t->v[i]);
	return RT_OK;
}

int
rt_body_slice(RtCx *cx, RtWhat what, const IValue *in, int nin, IValue *out, int nout)
{
	int64_t lo = what.n >> 16, hi = what.n & 0xffff;
	RtTuple *t;

	(void)nin, (void)nout;
	if (in[0].tag != RT_TUPLE)
		return wrong(cx, "tuple", in[0]);
	if (hi > in[0].u.tuple->n)
		hi = in[0].u.tuple->n;
	if (lo > hi)
		lo = hi;
	if (!(t = rt_tuple_new(cx, NULL, hi - lo)))
		return RT_ERROR;
	for (int64_t i = lo; i < hi; i++)
		t->v[i - lo] = rt_retain(in[0].u.tuple->v[i]);
	out[0] = rt_ref(RT_TUPLE, t);
	return RT_OK;
}

int
rt_body_dict(RtCx *cx, RtWhat what, const IValue *in, int nin, IValue *out, int nout)
{
	RtDict *d = rt_dict_new(cx, what.type->of[0], what.type->of[1]);

	(void)nout;
	if (!d)
		return RT_ERROR;
	for (int i = 0; i + 1 < nin; i += 2)
		if (rt_dict_set(cx, d, rt_retain(in[i]), rt_retain(in[i + 1]))) {
			rt_release(rt_ref(RT_DICT, d));
			return RT_ERROR;
		}
	out[0] = rt_ref(RT_DICT, d);
	return RT_OK;
}

static bool
may_be_none(const RtType *t)
{
	return !t || t->kind == TYPE_NONE || t->kind == TYPE_OPTIONAL || t->kind == TYPE_ANY || t->kind == TYPE_UNION;
}

/* Reads a slot. A slot is None until it is set. Reading it before that is an error if its type excludes None, because
 * code was compiled for that type. */
int
rt_body_get(RtCx *cx, RtWhat what, const IValue *in, int nin, IValue *out, int nout)
{
	const int i = (int)what.n;
	const RtClass *c;
	IValue v;

	(void)nin, (void)nout;
	if (in[0].tag != RT_OBJECT || (uint32_t)i >= (uint32_t)in[0].u.obj->cls->nslot)
		return rt_raise(cx, "expected an object with attribute number %d, but got a value of type %s", i,
				rt_type_of(in[0]));
	c = in[0].u.obj->cls;
	v = in[0].u.obj->slot[i];
	if (v.tag == RT_NONE && c->slot_type && !may_be_none(c->slot_type[i]))
		return rt_raise(cx, "attribute '%s' of %s is read before it is set", c->slot[i], c->name);
	out[0] = rt_retain(v);
	return RT_OK;
}

int
rt_body_set(RtCx *cx, RtWhat what, const IValue *in, int nin, IValue *out, int nout)
{
	(void)nin, (void)out, (void)nout;
	if (in[0].tag != RT_OBJECT || (uint32_t)what.n >= (uint32_t)in[0].u.obj->cls->nslot)
		return wrong(cx, "object with this attribute", in[0]);
	rt_assign(&in[0].u.obj->slot[what.n], rt_retain(in[1]));
	return RT_OK;
}

int
rt_body_object(RtCx *cx, RtWhat what, const IValue *in, int nin, IValue *out, int nout)
{
	RtObject *o = rt_object_new(cx, what.type->cls);

	(void)in, (void)nin, (void)nout;
	if (!o)
		return RT_ERROR;
	out[0] = rt_ref(RT_OBJECT, o);
	return RT_OK;
}

int
rt_body_isinstance(RtCx *cx, RtWhat what, const IValue *in, int nin, IValue *out, int nout)
{
	(void)cx, (void)nin, (void)nout;
	out[0] = rt_bool(rt_isinstance(in[0], what.type));
	return RT_OK;
}

int
rt_body_cast(RtCx *cx, RtWhat what, const IValue *in, int nin, IValue *out, int nout)
{
	(void)nin, (void)nout;
	if (rt_need(cx, in[0], what.type))
		return RT_ERROR;
	out[0] = rt_retain(in[0]);
	return RT_OK;
}

static int
check_count(RtCx *cx, const RtCode *callee, int n)
{
	return n == callee->narg ? RT_OK : rt_raise(cx, "%s takes %d arguments, but %d were given", callee->name,
						     callee->narg, n);
}

int
rt_body_fork(RtCx *cx, RtWhat what, const IValue *in, int nin, IValue *out, int nout)
{
	(void)nout;
	return check_count(cx, what.code, nin) ? cx->status : rt_fork(cx, what.code, in, nin, out);
}

int
rt_body_await(RtCx *cx, RtWhat what, const IValue *in, int nin, IValue *out, int nout)
{
	(void)nout;
	return check_count(cx, what.code, nin) ? cx->status : rt_await(cx, what.code, in, nin, out);
}

int
rt_body_wait(RtCx *cx, RtWhat what, const IValue *in, int nin, IValue *out, int nout)
{
	(void)nin, (void)nout;
	return rt_wait_for(cx, in[0], what.type, out);
}

/* Raises an exception. `in` has the message, and the name of the exception's class or None. */
int
rt_body_raise(RtCx *cx, RtWhat what, const IValue *in, int nin, IValue *out, int nout)
{
	Buf b = { 0 };

	(void)what, (void)out, (void)nout;
	buf_puts(&b, "");
	rt_format_value(&b, in[0], 0);
	rt_raise_as(cx, nin > 1 && in[1].tag == RT_STR ? in[1].u.str->s : NULL, "%s", b.at);
	buf_free(&b);
	return RT_ERROR;
}
