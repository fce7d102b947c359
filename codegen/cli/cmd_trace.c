/* codegen/cli/cmd_trace.c - kiln trace: writes the operators that a run executes as an archive
 *
 * The method runs once, as it was read, on a fresh instance. The trace contains the path of that run through the method
 * and the methods that it calls (opt/trace). The archive has the model's state from before the run.
 *
 * A branch or loop that depends on data gets a warning, because another input may need another path. One that depends
 * on a number argument gets a note. --check runs the model on further inputs and warns if the path or the trace's
 * answer differs. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct Trace {
	Cli      *cli;
	Model    *model;
	const RtCode *code;
	WayChoices   choices;
	Buf       json;            /* JSON elements of "warnings" */
	Map       said;            /* messages printed so far; each is printed once */
} Trace;

/* ---- warnings --------------------------------------------------------------------------------------------------- */

static Range
original_range(Range at)
{
	SourceMap *map = at.src ? at.src->map : NULL;
	Range found;

	return map && map->find(map, at.beg, &found) ? found : at;
}

static void
say_json(Trace *t, const char *kind, const char *input, Range at, const char *what)
{
	buf_puts(&t->json, t->json.n ? ",\n {\"kind\":" : "\n {\"kind\":");
	out_json(&t->json, kind);
	buf_puts(&t->json, ",\"input\":");
	out_json(&t->json, input);
	if (at.src) {
		buf_puts(&t->json, ",\"file\":");
		out_json(&t->json, at.src->name ? at.src->name : "<string>");
		buf_printf(&t->json, ",\"line\":%d", range_line(at));
	}
	buf_puts(&t->json, ",\"what\":");
	out_json(&t->json, what);
	buf_puts(&t->json, "}");
}

/* Prints "file:line:col: warning: what" and the source line. Without a place (`at` is empty) prints only the
 * message. */
static void
say(Trace *t, const char *kind, const char *input, Range at, const char *what)
{
	Buf b = { 0 }, clean = { 0 };

	at = original_range(at);
	range_print(&b, at, kind, what);
	buf_clean(&clean, b.at, b.n);
	if (!map_get(&t->said, clean.at)) {
		map_put(&t->said, arena_strdup(t->cli->cx->arena, clean.at), t);
		fprintf(stderr, "%s\n", clean.at);
		say_json(t, kind, input, at, what);
	}
	buf_free(&b);
	buf_free(&clean);
}

static const char *
reasons(Cx *cx, int on)
{
	static const struct { int on; const char *name; } names[] = {
		{ ON_DATA, "data" }, { ON_RANDOM, "random numbers" }, { ON_STATE, "state that a call changes" },
		{ ON_NUMBERS, "arguments that are not tensors" }, { ON_SIZES, "sizes that depend on data" },
	};
	Buf b = { 0 };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (on & names[i].on)
			buf_printf(&b, "%s%s", b.n ? " and " : "", names[i].name);
	return arena_text(cx->arena, &b);
}

static const char *
subject(const WayChoice *c)
{
	return node_is(c->node, prim_If) ? "branch" : node_is(c->node, prim_Loop) ? "loop" : "call";
}

static void
say_choices(Trace *t)
{
	for (int i = 0; i < t->choices.n; i++) {
		const WayChoice *c = &t->choices.at[i];

		if (c->on)
			say(t, c->on == ON_NUMBERS ? "note" : "warning", input_name(t->cli, 0), c->at,
			    arena_printf(t->cli->cx->arena, "this %s depends on %s; the trace keeps only the path of "
					 "this run", subject(c), reasons(t->cli->cx, c->on)));
	}
}

/* ---- runs ------------------------------------------------------------------------------------------------------- */

/* Runs the method and records its path. An error ends the command with the model's traceback. */
static void
watch_run(Trace *t, Way *way)
{
	Cli *cli = t->cli;
	RtCx *rt = model_context(cli);
	RtArrays *in = new(cli->cx->arena, RtArrays, 1);
	IValue result = rt_none();

	if (cli->as_json || rt_is_stdout(cli->out))
		rt->print = rt_print_aside;
	if (input_count(cli) && input_read(cli, rt, 0, in))
		fail_runtime(cli, rt);
	if (!input_count(cli))
		exported_samples(t->model->module, t->model->fn, rt, in);
	way_watch(way, cli->cx, rt);
	if (model_answer(cli, t->model, t->code, rt, in, &result))
		fail_raised(cli, rt);
	rt_release(result);
	rt_arrays_free(in);
}

static Answer
answer_to(Trace *t, const RtCode *code, const char *path, Way *way)
{
	RtCx *rt = model_context(t->cli);
	RtArrays in = { 0 };
	Answer a;
	int n;

	if (rt_npz_read(rt, path, &in))
		fail_runtime(t->cli, rt);
	if (way)
		way_watch(way, t->cli->cx, rt);
	a = answer_of(t->cli, rt, code, model_args(t->cli, t->model, rt, &in, &n));
	rt_arrays_free(&in);
	return a;
}

static bool
same_choice(const WayChoice *a, const WayChoice *b)
{
	return a->node == b->node && a->went == b->went && a->cls == b->cls;
}

/* Warns of the first decision at which the two paths differ. */
static void
say_other_way(Trace *t, const char *path, const Way *way)
{
	const WayChoices there = trace_choices(t->cli->cx, t->model->fn, t->model->module->self, way, t->cli->keep.at);
	int i = 0;

	while (i < there.n && i < t->choices.n && same_choice(&there.at[i], &t->choices.at[i]))
		i++;
	if (i < there.n && i < t->choices.n)
		say(t, "warning", path, t->choices.at[i].at,
		    arena_printf(t->cli->cx->arena, "this %s takes another path on %s, which the trace does not have",
				 subject(&t->choices.at[i]), path));
}

/* Returns the model's answers to the inputs of --check. Must run before the trace replaces the methods. */
static Answer *
check_ways(Trace *t)
{
	const Texts *path = &t->cli->checks;
	Answer *want = new(t->cli->cx->arena, Answer, path->n + 1);
	Way way;

	for (int i = 0; i < path->n; i++) {
		want[i] = answer_to(t, t->code, path->at[i], &way);
		if (!want[i].status)
			say_other_way(t, path->at[i], &way);
	}
	return want;
}

static void
check_answers(Trace *t, Function *traced, Answer *want)
{
	const Texts *path = &t->cli->checks;
	const RtCode *code = path->n ? code_lower_unchanged(t->cli->cx, traced, NULL) : NULL;

	for (int i = 0; i < path->n; i++) {
		Answer got = answer_to(t, code, path->at[i], NULL);
		Buf why = { 0 };

		if (!answer_equal(model_context(t->cli), &got, &want[i], &why))
			say(t, "warning", path->at[i], (Range){ 0 },
			    arena_printf(t->cli->cx->arena, "%s: the trace's result differs from the model's: %s",
					 path->at[i], why.at));
		buf_free(&why);
		answer_free(&want[i]);
		answer_free(&got);
	}
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

/* Returns the name of the method to trace. A source's function becomes the forward of a module. */
static const char *
method_name(const Cli *cli)
{
	return cli->method && !is_source(cli->args.at[0]) ? cli->method : "forward";
}

static Model *
load_traced(Cli *cli)
{
	Model *m = new(cli->cx->arena, Model, 1);
	const char *path = cli->args.at[0];

	cx_rt(cli->cx)->grad = !cli->no_grad;
	m->module = is_source(path) ? source_module(cli->cx, path, cli->method) : archive_load(cli->cx, path);
	if (cli->eval)
		module_eval(cli->cx, m->module);
	m->fn = module_method(cli->cx, m->module, method_name(cli));
	function_graph(cli->cx, m->fn);
	return m;
}

static Graph *
graph_as_traced(Cx *cx, Function *fn)
{
	return graph_torch_form(function_graph(cx, fn), false);
}

static void
report_trace(Trace *t, int nodes)
{
	if (t->cli->as_json)
		printf("{\"nodes\":%d,\"choices\":%d,\"warnings\":[%s]}\n", nodes, t->choices.n,
		       t->json.n ? t->json.at : "");
	buf_free(&t->json);
}

static void
check_usage(Cli *cli)
{
	if (cli->args.n != 1 || !cli->out || input_count(cli) > 1)
		usage_error(cli, "trace wants one model, -i IN.npz and -o OUT.pt");
	if (cli->as_json && rt_is_stdout(cli->out))
		usage_error(cli, "--json and -o %s both write to standard output", cli->out);
	if (is_graph_text(cli->args.at[0]))
		usage_error(cli, "trace wants an archive or a source");
}

int
cmd_trace(Cli *cli)
{
	Cx *cx = cli->cx;
	Trace t = { .cli = cli, .said.arena = cx->arena };
	SaveOptions o = { .graph = graph_as_traced, .nentry = 1 };
	Answer *answers;
	Function *entry;
	Way way;

	check_usage(cli);
	vec_push(cx->arena, &cli->keep, NULL);
	t.model = load_traced(cli);
	ops_compile_all(cx, t.model->fn);
	t.code = code_lower_unchanged(cx, t.model->fn, NULL);
	watch_run(&t, &way);
	t.choices = trace_choices(cx, t.model->fn, t.model->module->self, &way, cli->keep.at);
	say_choices(&t);
	answers = check_ways(&t);
	entry = trace_methods(cx, t.model->fn, method_name(cli), &way, cli->keep.at);
	check_answers(&t, entry, answers);
	o.entry = &entry;
	module_save(cx, t.model->module, &o, cli->out);
	report_trace(&t, block_size(entry->graph->top));
	return EXIT_OK;
}
