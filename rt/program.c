/*
 * Builds values from the tables of an emitted program, and calls its methods.
 *
 * A constant is a flat sequence of RtConst entries: that of a container is followed by those of its parts. An entry
 * RT_AGAIN refers to an earlier one by its index, so that values shared in the model are shared in the program. Tensors
 * are views of the weights and are not copied. The image of the instance, if there is one, is built in the same way.
 * Each fresh instance is a deep copy of it, since methods write to it.
 */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct RtLoader {
	RtCx *cx;
	const RtProgram *program;
	RtStorage **storage;     /* (nstorage) storages, made on first use */
	IValue *made;            /* (nconstant) value of each entry, for RT_AGAIN; borrowed */
	int at;                  /* index of the next entry */
} Loader;

static int build(Loader *, IValue *out);

/* ---- weights -------------------------------------------------------------------------------------------------- */

/* Returns the storage of weights. Packed weights get memory that is filled at their first use. Until then the system
 * need not provide its pages. */
static RtStorage *
storage_of(Loader *l, const RtSpan *span)
{
	RtStorage *s;
	char *data;

	if (!span->packing)
		return rt_storage_over(l->cx, l->program->weights + span->offset, span->bytes, true);
	data = rt_mem_line(span->bytes);
	s = data ? rt_storage_over(l->cx, data, span->bytes, true) : NULL;
	if (!s) {
		rt_mem_back(data);
		rt_raise(l->cx, "out of memory");
		return NULL;
	}
	s->kind = RT_PACKED;
	s->packed = span;
	return s;
}

static int
build_tensor(Loader *l, const RtConst *c, IValue *out)
{
	const int64_t *geometry = c->p;
	const RtSpan *span = &l->program->storage[c->n];
	RtTensor *t;

	if (!l->storage[c->n] && !(l->storage[c->n] = storage_of(l, span)))
		return RT_ERROR;
	t = rt_tensor_over(l->cx, l->storage[c->n], c->dtype,
			   &(RtGeometry){ c->rank, geometry, geometry + c->rank, c->u.i });
	if (!t)
		return RT_ERROR;
	t->flags = c->flags;
	*out = rt_of(t);
	return RT_OK;
}

/* Reads the parameters of a quantized tensor from the two entries after its own: scheme, axis and zero point in the
 * first, scale in the second. If it is quantized per channel, the entries of the tensors of scales and zero points
 * follow. */
static int
build_quant(Loader *l, RtTensor *t)
{
	const RtConst *c = &l->program->constant[l->at++];
	RtQuant *q = rt_mem_counted(l->cx, sizeof *q);
	IValue scales, zeros;

	if (!q)
		return RT_ERROR;
	q->scheme = c->flags;
	q->scale = l->program->constant[l->at++].u.f;
	q->zero = c->u.i;
	q->axis = c->n;
	t->quant = q;
	if (c->flags != 1 && c->flags != 3 && c->flags != 4)
		return RT_OK;
	if (build(l, &scales))
		return RT_ERROR;
	q->scales = scales.u.t;
	if (build(l, &zeros))
		return RT_ERROR;
	q->zeros = zeros.u.t;
	return RT_OK;
}

static int
build_parts(Loader *l, IValue *v, int n)
{
	for (int i = 0; i < n; i++)
		if (build(l, &v[i]))
			return RT_ERROR;
	return RT_OK;
}

static int
build_list(Loader *l, const RtConst *c, IValue *out)
{
	const RtType *type = c->p;
	RtList *list = rt_list_new(l->cx, type ? type->of[0] : &rt_type_any, c->n);

	if (!list)
		return RT_ERROR;
	*out = rt_ref(RT_LIST, list);
	for (int i = 0; i < c->n; i++) {
		IValue v = rt_none();

		if (build(l, &v) || rt_list_push(l->cx, list, v))
			return RT_ERROR;
	}
	return RT_OK;
}

static int
build_dict(Loader *l, const RtConst *c, IValue *out)
{
	const RtType *type = c->p;
	RtDict *dict = rt_dict_new(l->cx, type->of[0], type->of[1]);

	if (!dict)
		return RT_ERROR;
	*out = rt_ref(RT_DICT, dict);
	for (int i = 0; i < c->n; i += 2) {
		IValue key = rt_none(), v = rt_none();

		if (build(l, &key) || build(l, &v) || rt_dict_set(l->cx, dict, key, v))
			return RT_ERROR;
	}
	return RT_OK;
}

static int
build_object(Loader *l, const RtConst *c, int row, IValue *out)
{
	const RtType *type = c->p;
	RtObject *o = rt_object_new(l->cx, type->cls);

	if (!o)
		return RT_ERROR;
	*out = l->made[row] = rt_ref(RT_OBJECT, o);
	return build_parts(l, o->slot, c->n);
}

static int
build_tuple(Loader *l, const RtConst *c, IValue *out)
{
	RtTuple *t = rt_tuple_new(l->cx, c->p, c->n);

	if (!t)
		return RT_ERROR;
	*out = rt_ref(RT_TUPLE, t);
	return build_parts(l, t->v, c->n);
}

static int
build_text(Loader *l, const RtConst *c, IValue *out)
{
	RtStr *s = rt_str_new(l->cx, c->p, c->n);

	if (!s)
		return RT_ERROR;
	*out = rt_ref(RT_STR, s);
	return RT_OK;
}

/* Builds an enum. Its entry has its type, and is followed by those of the name and of the value. */
static int
build_enum(Loader *l, const RtConst *c, IValue *out)
{
	IValue name = rt_none(), v = rt_none();
	RtEnum *e;

	if (build(l, &name) || build(l, &v))
		return RT_ERROR;
	e = rt_enum_new(l->cx, c->p, name.u.str->s, v);
	rt_release(name);
	if (!e)
		return RT_ERROR;
	*out = rt_ref(RT_ENUM, e);
	return RT_OK;
}

int
rt_build_any(Loader *l, const RtConst *c, int row, IValue *out)
{
	switch (c->tag) {
	case RT_COMPLEX: *out = rt_complex(l->cx, c->u.f, l->program->constant[l->at++].u.f); return l->cx->status;
	case RT_STR:     return build_text(l, c, out);
	case RT_DICT:    return build_dict(l, c, out);
	case RT_TUPLE:   return build_tuple(l, c, out);
	case RT_OBJECT:  return build_object(l, c, row, out);
	case RT_ENUM:    return build_enum(l, c, out);
	default:
		return rt_raise(l->cx, "constant %d of the program has no kind (%d)", row, c->tag);
	}
}

/* Builds the value of the next entry and of the entries of its parts. */
static int
build(Loader *l, IValue *out)
{
	const int row = l->at++;
	const RtConst *c = &l->program->constant[row];
	int status = RT_OK;

	*out = rt_none();
	switch (c->tag) {
	case RT_NONE:    break;
	case RT_INT:     *out = rt_int(c->u.i); break;
	case RT_BOOL:    *out = rt_bool(c->u.i != 0); break;
	case RT_DOUBLE:  *out = rt_double(c->u.f); break;
	case RT_DEVICE:  *out = rt_int(c->u.i); out->tag = RT_DEVICE; break;
	case RT_LIST:    status = build_list(l, c, out); break;
	case RT_AGAIN:   *out = rt_retain(l->made[c->u.i]); break;
	case RT_TENSOR:
		status = build_tensor(l, c, out);
		if (!status && rt_dtypes[c->dtype].category == 'Q')
			status = build_quant(l, out->u.t);
		break;
	default:
		status = rt_build_other(l, c, row, out);
	}
	l->made[row] = *out;
	return status;
}

static int
build_values(RtCx *cx, const RtProgram *p)
{
	const int n = p->nvalue + (p->fresh != NULL);
	Loader l = { cx, p, NULL, NULL, 0 };
	int status = RT_OK;

	cx->value = rt_mem_zeroed((int64_t)sizeof *cx->value * (n + 1));
	l.storage = calloc((size_t)p->nstorage + 1, sizeof *l.storage);
	l.made = calloc((size_t)p->nconstant + 1, sizeof *l.made);
	if (!cx->value || !l.storage || !l.made)
		status = rt_raise(cx, "out of memory");
	for (int i = 0; i < n && !status; i++)
		status = build(&l, &cx->value[i]);
	for (int i = 0; l.storage && i < p->nstorage; i++)
		if (l.storage[i])
			rt_storage_release(l.storage[i]);
	free(l.storage);
	free(l.made);
	return status;
}

IValue
rt_default(const RtCx *cx, const RtParam *p)
{
	return p->value ? cx->value[p->value - 1] : p->deflt;
}

static RtProcessLock loading;            /* lock of program->shared */

/* Counts a context that loads the program. The first context computes the weights in `making`. */
static int
join_shared(RtCx *cx, const RtProgram *p)
{
	int status = RT_OK;

	rt_process_lock(&loading);
	if (p->open && !p->shared->loads)
		status = p->open(cx);
	if (!status) {
		p->shared->loads++;
		cx->made = p->shared->made;
	}
	rt_process_unlock(&loading);
	return status;
}

static void
leave_shared(const RtProgram *p)
{
	rt_process_lock(&loading);
	if (!--p->shared->loads && p->cool)
		p->cool(p);
	rt_process_unlock(&loading);
}

static void
drop_values(RtCx *cx, const RtProgram *p)
{
	if (cx->instance)
		rt_release(rt_ref(RT_OBJECT, cx->instance));
	for (int i = 0; cx->value && i < p->nvalue + (p->fresh != NULL); i++)
		rt_release(cx->value[i]);
	rt_mem_back(cx->value);
	cx->instance = NULL;
	cx->value = NULL;
	cx->program = NULL;
}

int
rt_program_load(RtCx *cx, const RtProgram *p)
{
	cx->program = p;
	cx->torch = p->torch;
	cx->engine = p->engine;
	cx->grad = !p->no_grad;
	cx->weights = p->weights;
	cx->kernels = p->level ? p->level->kernels : NULL;
	if (build_values(cx, p) || rt_program_fresh(cx) || join_shared(cx, p)) {
		drop_values(cx, p);
		return RT_ERROR;
	}
	return RT_OK;
}

/* Implements RtProgram.fresh: sets the instance to a private copy of its image. */
int
rt_instance_fresh(RtCx *cx)
{
	const RtProgram *p = cx->program;
	const IValue copy = rt_deep_copy(cx, cx->value[p->nvalue]);

	if (rt_is_none(copy))
		return RT_ERROR;
	if (cx->instance)
		rt_release(rt_ref(RT_OBJECT, cx->instance));
	cx->instance = copy.u.obj;
	return RT_OK;
}

int
rt_program_fresh(RtCx *cx)
{
	return cx->program->fresh ? cx->program->fresh(cx) : RT_OK;
}

int
rt_program_again(RtCx *cx)
{
	const RtProgram *p = cx->program;
	const RtCx before = *cx;

	cx->value = NULL;
	cx->instance = NULL;
	if (!build_values(cx, p) && !rt_program_fresh(cx)) {
		RtCx old = before;

		drop_values(&old, p);
		return RT_OK;
	}
	drop_values(cx, p);
	cx->program = p;
	cx->value = before.value;
	cx->instance = before.instance;
	return RT_ERROR;
}

/* Handles a call of a method without specializations: prints the reason under --guards, and raises an error under
 * --strict. */
static int
note_generic(RtCx *cx, const RtMethod *m)
{
	const char *name = m->code->name;

	if (cx->show_guards)
		fprintf(stderr, "%s: generic code: %s\n", name, m->generic);
	return cx->strict ? rt_raise_as(cx, "GuardMiss", "%s has generic code only: %s", name, m->generic) : RT_OK;
}

int
rt_program_call(RtCx *cx, const RtMethod *m, const IValue *args, IValue *results)
{
	IValue full[256];

	if (cx->program->warm && ++cx->calls == RT_LIMIT_WARM_AFTER && cx->program->warm(cx))
		return RT_ERROR;
	if (m->nparam >= 255)
		return rt_raise(cx, "%s has too many parameters", m->name);
	if (m->generic && note_generic(cx, m))
		return RT_ERROR;
	if (m->takes_self)
		full[0] = cx->instance ? rt_ref(RT_OBJECT, cx->instance) : rt_none();
	memcpy(full + m->takes_self, args, (size_t)m->nparam * sizeof *args);
	return rt_run(cx, m->code, full, results);
}

int
rt_host_reads_state(RtCx *cx)
{
	if (!cx->cuda)
		return RT_OK;
	cx->cuda = cx->program->cuda->leave(cx);
	return cx->status;
}

void
rt_program_free(RtCx *cx)
{
	const RtProgram *p = cx->program;

	if (!p)
		return;
	drop_values(cx, p);
	leave_shared(p);
}
