/* codegen/cli/bench_kernels.c - measures each launch of a program, and compares it with the machine's peak
 *
 * The times come from the program's own --trace of calls on one input. All calls must take the same path. With
 * --bench-code, launches are numbered and described, and the table has a row for each launch. Otherwise it has a row
 * for each kernel. A row's time is the sum over its launches in a call. The rest of a call is launching, guards and
 * dispatch. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

typedef struct Span { const char *name; double begin, end; } Span;       /* begin and end in ms */
typedef struct Spans { Vec(Span) at; } Spans;

static cJSON *
parsed(Cx *cx, const char *text, const char *what)
{
	cJSON *o = cJSON_Parse(text);

	if (!o)
		fail_status(cx, EXIT_BUG, (Range){ 0 }, "the program's %s is not valid JSON", what);
	return o;
}

static double
json_number(const cJSON *o, const char *key, double absent)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsNumber(v) ? v->valuedouble : absent;
}

static const char *
text(Cx *cx, const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsString(v) ? arena_strdup(cx->arena, v->valuestring) : "";
}

static int
by_begin(const void *a, const void *b)
{
	const Span *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

/* Returns the events of a trace, outer ones before inner ones. Sets *call to the name of the event that ends last,
 * which is a call. */
static Spans
read_spans(Cx *cx, const char *trace, const char **call)
{
	cJSON *o = parsed(cx, trace, "trace");
	const cJSON *event;
	Spans s = { 0 };

	*call = "";
	cJSON_ArrayForEach(event, cJSON_GetObjectItemCaseSensitive(o, "traceEvents")) {
		const double begin = json_number(event, "ts", 0) / 1e3;
		const Span span = { text(cx, event, "name"), begin, begin + json_number(event, "dur", 0) / 1e3 };

		vec_push(cx->arena, &s.at, span);
		*call = span.name;
	}
	cJSON_Delete(o);
	if (s.at.n)
		qsort(s.at.at, (size_t)s.at.n, sizeof *s.at.at, by_begin);
	return s;
}

/* ---- rows of the table ------------------------------------------------------------------------------------------- */

typedef struct Table {
	Cx   *cx;
	CallTimes times;
	Map   row_of;            /* a span's name -> index of its row + 1 */
	Vec(KernelTimes) rows;
	const cJSON *launches;   /* launches of --info; null if the program has none */
	int   calls;
} Table;

/* Returns the index of the span's row in the table. The name "conv_3#17" stands for launch 17 of --info. */
static int
table_row(Table *r, const char *name)
{
	const intptr_t known = (intptr_t)map_get(&r->row_of, name);
	const char *mark = strrchr(name, '#');
	const cJSON *l = mark ? cJSON_GetArrayItem(r->launches, atoi(mark + 1)) : NULL;
	KernelTimes k = { .kernel = name, .line = "", .source = "", .what = "", .form = "", .launch = -1, .flops = -1,
			  .bytes = -1, .turns = 1, .ms = new(r->cx->arena, double, r->calls) };

	if (known)
		return (int)known - 1;
	if (l) {
		k.launch = atoi(mark + 1);
		k.kernel = text(r->cx, l, "kernel");
		k.line = text(r->cx, l, "line");
		k.source = text(r->cx, l, "source");
		k.what = text(r->cx, l, "what");
		k.form = text(r->cx, l, "form");
		k.flops = json_number(l, "flops", -1);
		k.bytes = json_number(l, "bytes", -1);
		k.turns = json_number(l, "turns", 1);
	}
	vec_push(r->cx->arena, &r->rows, k);
	map_put(&r->row_of, name, (void *)(intptr_t)r->rows.n);
	return r->rows.n - 1;
}

/* Adds the times of the spans directly inside span `at`, which is a call. Sets *rest to the time outside of them. */
static void
take_call(Table *r, const Spans *s, int at, int call, double *rest)
{
	const Span *whole = &s->at.at[at];
	double end = whole->begin;

	*rest = whole->end - whole->begin;
	for (int i = at + 1; i < s->at.n && s->at.at[i].begin < whole->end; i++) {
		const Span *x = &s->at.at[i];
		const int row = x->begin >= end ? table_row(r, x->name) : -1;

		if (row < 0)
			continue;
		end = x->end;
		r->rows.at[row].ms[call] += x->end - x->begin;
		*rest -= x->end - x->begin;
		r->rows.at[row].count += call == 0;
		r->times.launches += call == 0;
	}
}

static int
by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int
by_time(const void *a, const void *b)
{
	const KernelTimes *x = a, *y = b;

	return x->median != y->median ? (x->median < y->median) - (x->median > y->median)
				      : strcmp(x->kernel, y->kernel);
}

/* Sorts the row's times. Scales flops and bytes to all launches of a call: --info gives them for `turns` launches, but
 * a loop of the model may have made more. */
static void
finish_row(KernelTimes *k, int calls)
{
	k->flops *= k->flops > 0 ? (double)k->count / k->turns : 1;
	k->bytes *= k->bytes > 0 ? (double)k->count / k->turns : 1;
	qsort(k->ms, (size_t)calls, sizeof *k->ms, by_value);
	k->least = k->ms[0];
	k->median = k->ms[calls / 2];
	k->p90 = k->ms[(calls - 1) * 9 / 10];
}

static int
guards_in(const cJSON *info)
{
	const cJSON *s;
	int n = 0;

	cJSON_ArrayForEach(s, cJSON_GetObjectItemCaseSensitive(info, "specializations"))
		n += (int)json_number(s, "guards", 0);
	return n;
}

CallTimes
bench_kernels(Cx *cx, const char *trace, const char *info, int calls)
{
	const char *call;
	const Spans s = read_spans(cx, trace, &call);
	cJSON *about = parsed(cx, info, "--info");
	Table r = { .cx = cx, .calls = calls, .launches = cJSON_GetObjectItemCaseSensitive(about, "launches") };
	double *rest = new(cx->arena, double, calls + 1), *whole = new(cx->arena, double, calls + 1);
	int all = 0, n = 0;

	RT_ASSERT(calls > 0);
	for (int i = 0; i < s.at.n; i++)
		all += !strcmp(s.at.at[i].name, call);
	for (int i = 0, seen = 0; i < s.at.n; i++)
		if (!strcmp(s.at.at[i].name, call) && seen++ >= all - calls) {
			whole[n] = s.at.at[i].end - s.at.at[i].begin;
			take_call(&r, &s, i, n, &rest[n]);
			n++;
		}
	for (int i = 0; i < r.rows.n; i++)
		finish_row(&r.rows.at[i], n);
	if (r.rows.n)
		qsort(r.rows.at, (size_t)r.rows.n, sizeof *r.rows.at, by_time);
	qsort(rest, (size_t)n, sizeof *rest, by_value);
	qsort(whole, (size_t)n, sizeof *whole, by_value);
	r.times.guards = guards_in(about);
	r.times.at = r.rows.at;
	r.times.n = r.rows.n;
	r.times.calls = n;
	r.times.median = whole[n / 2];
	r.times.rest = rest[n / 2];
	cJSON_Delete(about);
	return r.times;
}

/* ---- comparison with the machine --------------------------------------------------------------------------------- */

/* smallest steadiness in percent at which a measurement of the machine can be compared with a kernel */
enum { STEADY = 90 };

/* Returns the smallest memory level that holds everything a launch reads and writes. */
static const MachineLevel *
level_of(const KernelTimes *k, const Machine *m)
{
	const double bytes = k->bytes / (k->count ? k->count : 1);
	int i = 0;

	while (i < m->nlevel - 1 && bytes > (double)m->level[i].size)
		i++;
	return &m->level[i];
}

/* Returns the time in ms that the machine needs for the kernel's bytes. 0 if their memory level was not measured. */
static double
memory_ms(const KernelTimes *k, const MachineLevel *l)
{
	return k->bytes > 0 && l->bytes > 0 ? 1e3 * k->bytes / l->bytes : 0;
}

static double
compute_ms(const KernelTimes *k, const Machine *m)
{
	return k->flops > 0 && m->flops > 0 ? 1e3 * k->flops / m->flops : 0;
}

/* Returns the percentage of the roofline that the kernel reaches in its least time. The roofline is that of the memory
 * level that holds the kernel's bytes. Negative if it is unknown, if the machine was unsteady, or if that level was not
 * measured. */
static double
percent_of(const KernelTimes *k, const Machine *m)
{
	const MachineLevel *l = level_of(k, m);
	const double compute = compute_ms(k, m), memory = memory_ms(k, l);

	if (k->flops < 0 || k->bytes < 0 || k->least <= 0 || compute + memory <= 0 || (k->bytes > 0 && !memory) ||
	    (compute > memory ? m->flops_steady : l->steady) < STEADY)
		return -1;
	return 100 * (compute > memory ? compute : memory) / k->least;
}

/* Returns what limits a kernel: launching, computing, or the memory level that holds its bytes. Launching, if the
 * kernel takes no longer than a few empty launches. */
static const char *
bound_of(const KernelTimes *k, const Machine *m)
{
	const MachineLevel *l = level_of(k, m);

	if (k->least <= 3 * k->count * m->launch_ns / 1e6)
		return "launch";
	if (k->flops < 0 || k->bytes < 0)
		return "-";
	return compute_ms(k, m) > memory_ms(k, l) ? "compute" : l->name;
}

/* Returns the text of a figure, written to `to`. "-" if the figure is unknown (negative). */
static const char *
figure(char *to, double x)
{
	if (x < 0)
		return "-";
	snprintf(to, 32, x < 10 ? "%.2f" : x < 100 ? "%.1f" : "%.0f", x);
	return to;
}

static double
rate(double of, double ms)
{
	return of < 0 || ms <= 0 ? -1 : of / ms / 1e6;
}

static double
share(const CallTimes *t, double ms)
{
	return t->median > 0 ? 100 * ms / t->median : 0;
}

/* Whether --info describes what the program's kernels compute. */
static bool
is_explained(const CallTimes *t)
{
	for (int i = 0; i < t->n; i++)
		if (*t->at[i].what)
			return true;
	return t->n == 0;
}

void
bench_kernels_print(FILE *f, const CallTimes *t, const Machine *m)
{
	char a[32], b[32], c[32];

	fprintf(f, "\n%8s %8s %8s %6s %5s %8s %7s %6s %-8s kernel: operators, form, line of the model\n", "least ms",
		"median", "p90", "share", "turns", "GFLOP/s", "GB/s", "of max", "bound by");
	for (int i = 0; i < t->n; i++) {
		const KernelTimes *k = &t->at[i];

		fprintf(f, "%8.4f %8.4f %8.4f %4.1f %% %5d %8s %7s %4s %% %-8s %s%s%s%s%s%s%s", k->least, k->median,
			k->p90, share(t, k->median), k->count, figure(a, rate(k->flops, k->least)),
			figure(b, rate(k->bytes, k->least)), figure(c, percent_of(k, m)), bound_of(k, m), k->kernel,
			*k->what ? ": " : "", k->what, *k->form ? ", " : "", k->form, *k->line ? ", " : "", k->line);
		fprintf(f, "%s%s\n", *k->source ? ", made from " : "", k->source);
	}
	fprintf(f, "%8s %8.4f %8s %4.1f %%       launches, guards and dispatch: %d launches, %d guards; an empty "
		"launch takes %.3g us\n", "", t->rest,
		"", share(t, t->rest), t->launches, t->guards, m->launch_ns / 1e3);
	fprintf(f, "from %d calls with a trace. of max: speed at the least time as a share of this machine's peak, for "
		"the same\noperations per byte and the memory level that holds a launch's bytes; -: unknown or "
		"unsteady\n",
		t->calls);
	if (!is_explained(t))
		fprintf(f, "operations, bytes and lines of kernels are printed by `kiln bench MODEL`, and for a "
			"program that was built with --bench-code\n");
}

static void
put_figure(Buf *b, const char *key, double x, int decimals)
{
	if (x < 0)
		buf_printf(b, ",\"%s\":null", key);
	else
		buf_printf(b, ",\"%s\":%.*f", key, decimals, x);
}

void
bench_kernels_json(Buf *b, const CallTimes *t, const Machine *m)
{
	buf_puts(b, "\"kernels\":[");
	for (int i = 0; i < t->n; i++) {
		const KernelTimes *k = &t->at[i];
		const char *const texts[][2] = { { "line", k->line }, { "source", k->source }, { "what", k->what },
			{ "form", k->form }, { "bound", bound_of(k, m) } };

		buf_puts(b, i ? ",{\"kernel\":" : "{\"kernel\":");
		out_json(b, k->kernel);
		for (int j = 0; j < (int)(sizeof texts / sizeof *texts); j++) {
			buf_printf(b, ",\"%s\":", texts[j][0]);
			out_json(b, texts[j][1]);
		}
		buf_printf(b, ",\"turns\":%d,\"min_ms\":%.6g,\"median_ms\":%.6g,\"p90_ms\":%.6g,\"share\":%.4g",
			   k->count, k->least, k->median, k->p90, share(t, k->median) / 100);
		put_figure(b, "flops", k->flops, 0);
		put_figure(b, "bytes", k->bytes, 0);
		put_figure(b, "gflops", rate(k->flops, k->least), 6);
		put_figure(b, "gbytes", rate(k->bytes, k->least), 6);
		put_figure(b, "percent", percent_of(k, m), 3);
		buf_puts(b, "}");
	}
	buf_printf(b, "],\"rest_ms\":%.6g,\"launches\":%d,\"guards\":%d,\"traced_calls\":%d,\"traced_median_ms\":%.6g",
		   t->rest, t->launches, t->guards, t->calls, t->median);
}
