/*
 * Shared code of operators' forms: arguments of a node, launches.
 */
#include "lower.h"
#include "row.h"

#include <string.h>

/* ---- arguments --------------------------------------------------------------------------------------------------- */

const Value *
row_arg(const Row *r, const char *name)
{
	const Value *v = node_arg(r->n, name);

	return v && !value_is_none(v) ? v : NULL;
}

const RtTensor *
row_tensor(const Row *r, const char *name)
{
	const Value *v = row_arg(r, name);
	const RtTensor *t = v ? plan_tensor(r->p, v) : NULL;

	return t && t->storage && !t->quant ? t : NULL;
}

const RtTensor *
row_constant(const Row *r, const char *name, RtDtype dtype)
{
	const RtTensor *t = row_tensor(r, name);
	const Buffer *b = t ? plan_buffer(r->p, row_arg(r, name)) : NULL;

	return b && b->home == HOME_CONSTANT && t->dtype == dtype && t->storage->kind != RT_META &&
	       !t->storage->written ? t : NULL;
}

const RtTensor *
row_result(const Row *r, int i)
{
	const RtTensor *t = plan_tensor(r->p, r->n->out[i]);

	RT_ASSERT(i >= 0 && i < r->n->nout);
	return t && t->storage && !t->quant ? t : NULL;
}

bool
row_list(const Row *r, const char *name, int64_t *out, int *n)
{
	const Value *v = row_arg(r, name);
	const Known *k = v ? known_at(r->p->known, v) : NULL;

	*n = 0;
	if (!v)
		return true;
	if (k->is && k->v.tag == RT_INT) {
		out[(*n)++] = k->v.u.i;
		return true;
	}
	if (!k->is || k->v.tag != RT_LIST || k->v.u.list->n > RT_MAX_RANK)
		return false;
	for (; *n < k->v.u.list->n; ++*n) {
		if (k->v.u.list->v[*n].tag != RT_INT)
			return false;
		out[*n] = k->v.u.list->v[*n].u.i;
	}
	return true;
}

bool
row_ints(const Row *r, const char *name, int64_t *out, int n)
{
	int64_t all[RT_MAX_RANK];
	int count;

	if (!row_list(r, name, all, &count) || (count != n && count != 1))
		return false;
	for (int i = 0; i < n; i++)
		out[i] = all[count == 1 ? 0 : i];
	return true;
}

bool
row_int(const Row *r, const char *name, int64_t *out)
{
	const Value *v = row_arg(r, name);

	return v && known_int(r->p->known, v, out);
}

bool
row_double(const Row *r, const char *name, double *out)
{
	const Value *v = row_arg(r, name);
	const Known *k = v ? known_at(r->p->known, v) : NULL;

	if (!k || !k->is || (k->v.tag != RT_INT && k->v.tag != RT_DOUBLE && k->v.tag != RT_BOOL))
		return false;
	*out = k->v.tag == RT_DOUBLE ? k->v.u.f : (double)k->v.u.i;
	return true;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

const char *
row_type(int dtype)
{
	switch (dtype) {
	case RT_f32: return "float";
	case RT_f64: return "double";
	case RT_i64: return "int64_t";
	case RT_i32: return "int32_t";
	case RT_i16: return "int16_t";
	case RT_i8:  return "int8_t";
	case RT_u8: case RT_b8: return "uint8_t";
	default:     return NULL;
	}
}

/* Returns the grain for parts of about 16,000 elements. Smaller parts are not worth waking another thread. */
int64_t
row_grain(int64_t elements)
{
	return 1 + 16384 / (elements > 0 ? elements : 1);
}

void
row_scratch(Body *b, const char *type, const char *name, const char *bytes)
{
	out_line(&b->out, "%s *%s = rt_thread_scratch(%s);", type, name, bytes);
	out_blank(&b->out);
	out_line(&b->out, "if (!%s)", name);
	out_line(&b->out, "\treturn;");
}

KernelCall *
row_call(Row *r, const char *prefix, const char *comment, Body *b, int64_t n, int64_t grain)
{
	KernelCall *c = &r->calls[r->ncall++];

	RT_ASSERT(r->ncall < MAX_KERNEL_CALLS && n >= 0 && grain > 0);
	*c = (KernelCall){ .n = n, .grain = grain, .work = { prefix, comment, -1, -1 } };
	if (r->e)
		emit_body(r->e, prefix, comment, b, c);
	else
		buf_free(&b->out.text);
	return c;
}

bool
row_kernel(Row *r, Kernel *k, const Value *const *value, int n)
{
	Lowered l = { .kernel = k };

	if (r->ncall == MAX_KERNEL_CALLS)
		return false;
	kernel_check(k);
	for (int i = 0; i < n; i++)
		vec_push(r->p->cx->arena, &l.value, value[i]);
	emit_lowered(r->e, r->p, &l, &r->calls[r->ncall++]);
	return true;
}

void
row_checks(Row *r)
{
	KernelCall *c = &r->calls[r->ncall - 1];

	RT_ASSERT(r->ncall > 0);
	row_pass_text(r, c, "&wrong");
	c->checked = true;
}

void
row_pass(Row *r, KernelCall *c, const Value *v)
{
	vec_push(r->p->cx->arena, &c->args, ((KernelArg){ .value = v }));
}

void
row_pass_text(Row *r, KernelCall *c, const char *text)
{
	vec_push(r->p->cx->arena, &c->args, ((KernelArg){ .text = text }));
}
