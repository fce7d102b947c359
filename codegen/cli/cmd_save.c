/* codegen/cli/cmd_save.c - kiln save: writes a model as an archive again
 *
 * -O0 saves the model as it was read. Higher levels save the requested methods as `prepare` leaves them: calls are
 * inlined, and attributes that are never written become constants. This holds for all inputs, so no guards are needed.
 * With several methods attributes stay attributes, since one method may set what another one reads. */
#include "cli.h"

#include <string.h>

static Graph *
graph_as_read(Cx *cx, Function *fn)
{
	return graph_torch_form(function_graph(cx, fn), false);
}

static Graph *
graph_prepared(Cx *cx, Function *fn)
{
	return graph_torch_form(fn->prepared ? fn->prepared : function_graph(cx, fn), true);
}

/* Returns the tensor with a key such as a.b.weight. */
static RtTensor *
find_tensor(Cli *cli, const Module *m, const char *key)
{
	const RtObject *o = m->self.u.obj;
	const char *rest = key;
	int slot;

	for (;;) {
		const size_t n = strcspn(rest, ".");

		slot = class_slot(o->cls, arena_strndup(cli->cx->arena, rest, (int64_t)n));
		if (slot < 0 || o->slot[slot].tag != (rest[n] ? RT_OBJECT : RT_TENSOR))
			fail(cli->cx, (Range){ 0 }, "%s: the model has no tensor '%s'", cli->params, key);
		if (!rest[n])
			return o->slot[slot].u.t;
		o = o->slot[slot].u.obj;
		rest += n + 1;
	}
}

static void
set_tensor(Cli *cli, RtCx *rt, const Module *m, const RtArray *a)
{
	RtTensor *to = find_tensor(cli, m, a->key);
	bool same = a->tensor && a->tensor->dtype == to->dtype && a->tensor->ndim == to->ndim;

	for (int i = 0; same && i < to->ndim; i++)
		same = a->tensor->dims[i] == to->dims[i];
	if (!same)
		fail(cli->cx, (Range){ 0 }, "%s: '%s' has another type or other sizes than the model's", cli->params,
		     a->key);
	if (rt_writable(rt, to) || rt_copy_into(rt, to, a->tensor))
		fail_runtime(cli, rt);
}

/* Replaces tensors by the arrays of --params. Objects that share a tensor see the new one. */
static void
set_tensors(Cli *cli, const Module *m)
{
	RtArrays *in = new(cli->cx->arena, RtArrays, 1);
	RtCx *rt = model_context(cli);

	if (rt_npz_read(rt, cli->params, in))
		fail_runtime(cli, rt);
	for (int i = 0; i < in->n; i++)
		set_tensor(cli, rt, m, &in->at[i]);
	rt_arrays_free(in);
	rt_cx_free(rt);
}

static Function **
prepared_methods(Cli *cli, Module *m, int *n)
{
	char *names = arena_strdup(cli->cx->arena, cli->method ? cli->method : "forward"), *state = NULL;
	Function **fn = new(cli->cx->arena, Function *, (int64_t)strlen(names) / 2 + 1);

	for (char *name = strtok_r(names, ",", &state); name; name = strtok_r(NULL, ",", &state))
		fn[(*n)++] = module_method(cli->cx, m, name);
	if (!*n)
		usage_error(cli, "--method wants names");
	for (int i = 0; i < *n; i++)
		prepare(cli->cx, fn[i], *n == 1 ? m->self : rt_none());
	return fn;
}

int
cmd_save(Cli *cli)
{
	const int level = cli->level ? (int)cli_number(cli, "optimize", cli->level, 0, 3) : 0;
	SaveOptions o = { .graph = level ? graph_prepared : graph_as_read, .whole = !level };
	Module *m;

	if (cli->args.n != 1 || !cli->out)
		usage_error(cli, "save wants one model and -o OUT.pt");
	if (!level && cli->method)
		usage_error(cli, "--method wants -O1 or more: -O0 saves all methods");
	if (is_graph_text(cli->args.at[0]))
		usage_error(cli,
			    "save wants an archive or a source: kiln show --as python makes one of a graph's text");
	m = is_source(cli->args.at[0]) ? source_module(cli->cx, cli->args.at[0], cli->method)
				       : archive_load(cli->cx, cli->args.at[0]);
	if (cli->eval)
		module_eval(cli->cx, m);
	if (cli->params)
		set_tensors(cli, m);
	if (level)
		o.entry = prepared_methods(cli, m, &o.nentry);
	module_save(cli->cx, m, &o, cli->out);
	return EXIT_OK;
}
