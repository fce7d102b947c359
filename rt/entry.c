/* rt/entry.c - opens an instance of a program and calls its methods, for main() and for the functions of a library
 *
 * start.c takes options, arguments and results from a command line and files, door.c from the caller's memory.  Both
 * call the functions of this file.
 */
#include "host.h"

#include <string.h>

/* ---- opening ----------------------------------------------------------------------------------------------------- */

int
rt_entry_load(RtCx *cx, RtProgram *own, RtEntry *e)
{
	const int built = own->threads < 0 ? 0 : own->threads ? own->threads : 1;
	const int n = e->threads < 0 ? built : e->threads;
	int64_t begin;
	int status;

	if ((own->beside && own->beside(cx, own, &e->weights)) || (!cx->outer && n != 1 && rt_threads(cx, n)))
		return RT_ERROR;
	begin = rt_now();
	status = rt_program_load(cx, own);
	e->load_ns = rt_now() - begin;
	return status;
}

int
rt_entry_device(RtCx *cx, const RtProgram *own, const RtEntry *e)
{
	const char *name = e->device.name;

	if (name ? !strcmp(name, "cpu") : !own->cuda)
		return RT_OK;
	if (!own->cuda)
		return rt_raise(cx, "no device '%s': cpu, or cuda of kiln build --gpu", name);
	return own->cuda->start(cx, own, &e->device);
}

void
rt_entry_seed(RtCx *cx, const RtProgram *own, const RtEntry *e)
{
	if (e->seeded || own->seeded)
		rt_generator_seed(cx->gen, e->seeded ? e->seed : own->seed);
}

void
rt_entry_end(RtCx *cx, RtProgram *own)
{
	if (own->cuda)
		own->cuda->stop(cx);
	rt_program_free(cx);
	if (own->unmap)
		own->unmap(own);
	rt_cx_free(cx);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

int
rt_invocation_bind(RtCx *cx, const RtMethod *m, const RtArrays *in, RtInvocation *c)
{
	*c = (RtInvocation){ .method = m, .result = rt_none() };
	if (!(c->args = rt_mem_zeroed((int64_t)sizeof *c->args * (m->nparam + 1))))
		return rt_raise(cx, "out of memory");
	return rt_args_from_arrays(cx, m->param, m->nparam, in, c->args);
}

int
rt_invocation_run(RtCx *cx, RtInvocation *c)
{
	rt_assign(&c->result, rt_none());
	return rt_program_call(cx, c->method, c->args, &c->result);
}

IValue
rt_invocation_result(const RtInvocation *c)
{
	return c->method->gradients ? c->result.u.tuple->v[0] : c->result;
}

void
rt_invocation_end(RtInvocation *c)
{
	for (int i = 0; c->args && i < c->method->nparam; i++)
		rt_release(c->args[i]);
	rt_mem_back(c->args);
	rt_release(c->result);
	*c = (RtInvocation){ .result = rt_none() };
}
