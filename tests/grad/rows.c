/* tests/grad/rows.c - checks gradients of operators against finite differences in double, or against recorded ones:
 * rows SAMPLES [ID...]
 *
 * A line of SAMPLES is   ID | x[2,3] y[3]+ n[4]i5 | expression   : the operator's id in the table, the arguments, a
 * call of it.  An argument is a float64 tensor of these sizes with values in (-2, 2), of which none is near 0 or near
 * another.  A suffix changes that: + positive, in (0.4, 1.6); u in (0.1, 0.9); = the same values as the first argument;
 * iN int64 below N; b bool.  The gradients by float64 arguments are checked, except by those with the suffix ' or =.
 * The result is a tensor or a tuple of tensors.  The graph of the expression must contain the operator; every operator
 * with a gradient must have a line.  In a file that begins with "# with FILE.py", expressions call functions of that
 * file instead, and after "# printed by FILE.py ARGUMENT..." functions that this program prints.  ID then has no
 * meaning, except that for "lacks" Kiln must report that it lacks the gradient.
 *
 * In a file that begins with "# recorded" (tests/oracle/ties.py) lines have two more parts: | PyTorch's gradients in
 * double | those in float.  There the values of an argument are given: x[3](0,nan,1).  The gradient of the result's
 * element i is 0.5 + 0.25 i.  A recorded part has the gradients of the arguments, "x 1 0 nan; y none", or "raises
 * TEXT".  In the float part "same" means equal to the double part.  An empty part is not checked.  A line
 * "smooth | ID ..." names operators without ties and boundaries. */
#include "../../opt/opt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGS = 8 };

typedef struct Sample {
	const char *id, *expression, *recorded, *in_float;
	int   n;
	char  name[MOST_ARGS][16];
	RtTensor *value[MOST_ARGS];
	bool  floating[MOST_ARGS];
} Sample;

typedef struct Test {
	Cx   *cx;
	RtCx *rt;
	const char *with;        /* Source text before the expression's function.  Null if there is none. */
	bool  recorded;          /* whether the file contains PyTorch's gradients */
	Sample *s;
	uint64_t random;
	char  why[400];
} Test;

static double
next_random(Test *t)
{
	t->random ^= t->random >> 12;
	t->random ^= t->random << 25;
	t->random ^= t->random >> 27;
	return (double)((t->random * 0x2545F4914F6CDD1DULL) >> 11) / 9007199254740992.0;
}

/* ---- samples ------------------------------------------------------------------------------------------ */

/* Fills p with distinct values.  In small tensors they are at least 0.02 from zero and from each other. */
static void
fill_values(Test *t, double *p, int64_t n, char kind)
{
	int *order = new(t->cx->arena, int, n + 1);

	for (int64_t i = 0; i < n; i++)
		order[i] = (int)i;
	for (int64_t i = n - 1; i > 0; i--) {
		const int k = (int)(next_random(t) * (double)(i + 1)), o = order[i];

		order[i] = order[k];
		order[k] = o;
	}
	for (int64_t i = 0; i < n; i++) {
		const double u = ((double)order[i] + 0.25 + 0.5 * next_random(t)) / (double)n;

		p[i] = kind == '+' ? 0.4 + 1.2 * u : kind == 'u' ? 0.1 + 0.8 * u :
			u < 0.5 ? -2 + 3.9 * u : -1.9 + 3.9 * u;
	}
}

/* Reads values of x written as (1,nan,...). */
static const char *
parse_values(RtTensor *x, const char *p)
{
	for (int64_t i = 0; i < rt_numel(x); i++) {
		char *end;
		const double v = strtod(p + 1, &end);

		if (end == p + 1)
			break;
		p = end;
		if (x->dtype == RT_f64)
			((double *)rt_data(x))[i] = v;
		else if (x->dtype == RT_i64)
			((int64_t *)rt_data(x))[i] = (int64_t)v;
		else
			rt_data(x)[i] = v != 0;
	}
	return strchr(p, ')') + 1;
}

static const char *
parse_argument(Test *t, const char *p)
{
	Sample *s = t->s;
	int64_t dims[8], n;
	int ndim = 0, length = (int)strcspn(p, "[");
	RtTensor *x;

	memcpy(s->name[s->n], p, (size_t)length);
	s->name[s->n][length] = 0;
	for (p += length + 1; *p != ']'; p += *p == ',')
		dims[ndim++] = strtoll(p, (char **)(uintptr_t)&p, 10);
	p++;
	s->floating[s->n] = *p != 'i' && *p != 'b';
	x = rt_tensor_new(t->rt, s->floating[s->n] ? RT_f64 : *p == 'i' ? RT_i64 : RT_b8, ndim, dims);
	n = rt_numel(x);
	if (t->recorded) {
		p = parse_values(x, p + (*p != '('));
		s->floating[s->n] &= *p != '\'';
		p += *p == '\'';
	} else if (s->floating[s->n]) {
		fill_values(t, (double *)rt_data(x), n, *p);
		if (*p == '=')
			memcpy(rt_data(x), rt_data(s->value[0]), (size_t)n * sizeof(double));
		s->floating[s->n] = *p != '=';
		p += *p == '+' || *p == 'u' || *p == '=';
		if (*p == '\'')
			s->floating[s->n] = *p++ == 0;
	} else if (*p == 'i') {
		const int64_t below = strtoll(p + 1, (char **)(uintptr_t)&p, 10);

		for (int64_t i = 0; i < n; i++)
			((int64_t *)rt_data(x))[i] = (int64_t)(next_random(t) * (double)below);
	} else {
		for (int64_t i = 0; i < n; i++)
			rt_data(x)[i] = next_random(t) < 0.5;
		p++;
	}
	s->value[s->n++] = x;
	return p;
}

static void
parse_sample(Test *t, char *line)
{
	char *state = NULL, *id = strtok_r(line, "|", &state), *args = strtok_r(NULL, "|", &state), *rest = state;

	t->s = new(t->cx->arena, Sample, 1);
	t->random = 88172645463325252ULL;
	id[strcspn(id, " ")] = 0;
	t->s->id = arena_strdup(t->cx->arena, id);
	for (const char *p = args; *(p += strspn(p, " "));)
		p = parse_argument(t, p);
	rest += strspn(rest, " ");
	t->s->expression = arena_strndup(t->cx->arena, rest, (int)strcspn(rest, "\n"));
	if (t->recorded) {
		t->s->expression = strtok_r(rest, "|\n", &state);
		t->s->recorded = strtok_r(NULL, "|\n", &state);
		t->s->in_float = strtok_r(NULL, "|\n", &state);
	}
}

/* ---- running ------------------------------------------------------------------------------------------------ */

static Function *
function_of(Test *t)
{
	Cx *cx = t->cx;
	Source *src = new(cx->arena, Source, 1);
	Unit *u = unit_new(cx, NULL, 0);
	Buf b = { 0 };

	buf_puts(&b, t->with ? t->with : "");
	buf_puts(&b, "def forward(");
	for (int i = 0; i < t->s->n; i++)
		buf_printf(&b, "%s%s: Tensor", i ? ", " : "", t->s->name[i]);
	buf_printf(&b, "):\n    return %s\n", t->s->expression);
	*src = (Source){ .text = arena_strndup(cx->arena, b.at, b.n), .n = b.n, .name = t->s->id, .line = 1 };
	buf_free(&b);
	unit_define(cx, u, src, "__torch__");
	return unit_function(cx, u, "__torch__.forward");
}

static bool
holds_row(const Block *b, const char *id)
{
	for NODES(n, b) {
		if (n->op && !strcmp(n->op->id, id))
			return true;
		for (int i = 0; i < n->nsub; i++)
			if (holds_row(n->sub[i], id))
				return true;
	}
	return false;
}

static RtCode *
lower(Test *t, Function *f)
{
	ops_compile_all(t->cx, f);
	prepare(t->cx, f, rt_none());
	ops_compile_bodies(t->cx, f->prepared);
	return code_lower(t->cx, f, NULL);
}

static IValue
run(Test *t, const RtCode *code, const IValue *args)
{
	IValue result = rt_none();

	rt_generator_seed(t->rt->gen, 1);
	if (rt_run(t->rt, code, (IValue *)(uintptr_t)args, &result))
		fail(t->cx, (Range){ 0 }, "%s: raised: %s", t->s->id, t->rt->message);
	return result;
}

/* Returns the sum of all floating elements times their weights. */
static double
weighted(Test *t, IValue out, IValue *const weights, int *k)
{
	double sum = 0;
	RtTensor *x, *w;

	for (int64_t i = 0; out.tag == RT_TUPLE && i < out.u.tuple->n; i++)
		sum += weighted(t, out.u.tuple->v[i], weights, k);
	if (out.tag != RT_TENSOR)
		return sum;
	w = weights[(*k)++].u.t;
	if (out.u.t->dtype != RT_f64)
		return sum;
	x = rt_contiguous(t->rt, out.u.t);
	for (int64_t i = 0; i < rt_numel(x); i++)
		sum += ((double *)rt_data(x))[i] * ((double *)rt_data(w))[i];
	rt_tensor_release(x);
	return sum;
}

/* Makes weights for the elements of every result: random ones or, if `plain`, 0.5, 0.75, 1, ... */
static void
make_weights(Test *t, IValue out, bool plain, IValue *weights, int *k)
{
	RtTensor *w;

	for (int64_t i = 0; out.tag == RT_TUPLE && i < out.u.tuple->n; i++)
		make_weights(t, out.u.tuple->v[i], plain, weights, k);
	if (out.tag != RT_TENSOR)
		return;
	w = rt_tensor_new(t->rt, RT_f64, out.u.t->ndim, out.u.t->dims);
	for (int64_t i = 0; i < rt_numel(w); i++)
		((double *)rt_data(w))[i] = plain ? 0.5 + 0.25 * (double)i : 0.3 + next_random(t);
	weights[(*k)++] = rt_of(w);
}

static bool
compare(Test *t, const RtCode *code, IValue *args, IValue *weights, int which, IValue grad)
{
	const RtTensor *g = grad.tag == RT_TENSOR ? rt_contiguous(t->rt, grad.u.t) : NULL;
	RtTensor *x = t->s->value[which];
	double *p = (double *)rt_data(x);

	if (g &&
	    (g->dtype != RT_f64 || g->ndim != x->ndim || memcmp(g->dims, x->dims, (size_t)x->ndim * sizeof *x->dims))) {
		snprintf(t->why, sizeof t->why, "the gradient of %s is of another type", t->s->name[which]);
		return false;
	}
	for (int64_t i = 0; i < rt_numel(x); i++) {
		const double was = p[i], h = 1e-6, got = g ? ((double *)rt_data(g))[i] : 0;
		double up, down, want;
		IValue r;
		int k = 0;

		p[i] = was + h;
		up = weighted(t, r = run(t, code, args), weights, &k);
		rt_release(r);
		p[i] = was - h;
		k = 0;
		down = weighted(t, r = run(t, code, args), weights, &k);
		rt_release(r);
		p[i] = was;
		want = (up - down) / (2 * h);
		if (!(fabs(got - want) <= 2e-5 * (1 + fabs(want)))) {
			snprintf(t->why, sizeof t->why, "%s[%d]: %.9g instead of %.9g", t->s->name[which], (int)i, got,
				 want);
			return false;
		}
	}
	return true;
}

/* ---- recorded gradients --------------------------------------------------------------------------------------- */

static bool
is_near(double got, double want, RtDtype dtype)
{
	const double rel = dtype == RT_f32 ? 2e-4 : 1e-7;

	return got == want || (got != got && want != want) || fabs(got - want) <= rel * (1 + fabs(want));
}

/* Compares a gradient with `want`: "x 1 0 nan", up to a ; or the end. */
static bool
agrees(Test *t, const char *want, IValue grad, RtDtype dtype, Buf *got)
{
	const RtTensor *g = grad.tag == RT_TENSOR ? rt_contiguous(t->rt, rt_to_dtype(t->rt, grad.u.t, RT_f64)) : NULL;
	const char *p = want + strcspn(want, " ");
	bool same = g == NULL || grad.u.t->dtype == dtype;

	buf_printf(got, " %.*s", (int)(p - want), want);
	for (int64_t i = 0; g && i < rt_numel(g); i++) {
		const double v = ((double *)rt_data(g))[i];
		char *end;
		/* A recorded "none" also matches a gradient of zeros. */
		const double w = strncmp(p, " none", 5) ? strtod(p, &end) : (end = (char *)(uintptr_t)p, 0);

		same &= is_near(v, w, dtype) && (end != p || !strncmp(p, " none", 5));
		p = end;
		buf_printf(got, " %.10g", v);
	}
	if (!g) {
		buf_puts(got, " none");
		for (char *end; strtod(p, &end) == 0 && end != p; p = end)
			;
	}
	p += !strncmp(p, " none", 5) ? 5 : 0;
	buf_puts(got, ";");
	return same && (*(p += strspn(p, " ")) == ';' || !*p);
}

/* Makes new tensors for each run, since a run may write to them. */
static void
new_arguments(Test *t, RtDtype dtype, IValue *args)
{
	for (int i = 0; i < t->s->n; i++) {
		RtTensor *x = t->s->value[i], *copy = rt_tensor_new(t->rt, (RtDtype)x->dtype, x->ndim, x->dims);

		memcpy(rt_data(copy), rt_data(x), (size_t)rt_numel(x) * (size_t)rt_dtypes[x->dtype].bytes);
		args[i] = rt_of(x->dtype == RT_f64 ? rt_to_dtype(t->rt, copy, dtype) : copy);
	}
}

static void
check_recorded(Test *t, RtDtype dtype, const char *want)
{
	Sample *s = t->s;
	Function *f = function_of(t), *d;
	IValue args[MOST_ARGS + 64], out;
	Buf names = { 0 }, got = { 0 };
	bool same = true;
	int n = 0, k = 0;

	for (int i = 0; i < s->n; i++)
		if (s->floating[i])
			buf_printf(&names, "%s%s", n++ ? "," : "", s->name[i]);
	d = gradient_function(t->cx, f, rt_none(), names.at, NULL);
	new_arguments(t, dtype, args);
	make_weights(t, run(t, lower(t, f), args), true, args + s->n, &k);
	new_arguments(t, dtype, args);
	out = run(t, lower(t, d), args);
	for (int i = 0, at = 0; i < s->n; i++)
		if (s->floating[i]) {
			want += strspn(want, " ;");
			same &= agrees(t, want, out.u.tuple->v[2].u.tuple->v[at++], dtype, &got);
			want += strcspn(want, ";");
		}
	if (!same)
		fail(t->cx, (Range){ 0 }, "%s, %s: %.*s", s->id, rt_dtypes[dtype].name, (int)got.n, got.at);
	buf_free(&names);
	buf_free(&got);
}

static void
check_double(Cx *cx, void *arg)
{
	Test *t = arg;

	(void)cx;
	check_recorded(t, RT_f64, t->s->recorded);
}

static void
check_float(Cx *cx, void *arg)
{
	Test *t = arg;
	const char *want = t->s->in_float + strspn(t->s->in_float, " ");

	(void)cx;
	check_recorded(t, RT_f32, strncmp(want, "same", 4) ? want : t->s->recorded);
}

/* Does the sample fail?  If so, prints how. */
static bool
fails_as_recorded(Test *t)
{
	const char *want = t->s->recorded ? t->s->recorded + strspn(t->s->recorded, " ") : "";
	const bool raises = !strncmp(want, "raises ", 7);
	bool failed;

	if (!*want) {
		printf("%s\n  nothing is recorded\n", t->s->expression);
		return true;
	}
	failed = cx_try(t->cx, check_double, t) == raises;
	if (!failed && raises)
		failed = !strstr(t->cx->err.text, want + 7);
	if (failed)
		printf("%s\n  recorded %s\n  %s\n", t->s->expression, want, t->cx->err.text);
	else if (t->s->in_float && cx_try(t->cx, check_float, t) == 0) {
		failed = true;
		printf("%s\n  recorded %s |%s\n  %s\n", t->s->expression, want, t->s->in_float, t->cx->err.text);
	}
	return failed;
}

static void
check_sample(Cx *cx, void *arg)
{
	Test *t = arg;
	Sample *s = t->s;
	Function *f = function_of(t), *d;
	IValue args[MOST_ARGS + 64], weights[64], out;
	Buf names = { 0 };
	const RtCode *code, *back;
	int n = 0, k = 0;

	if (!t->with && !holds_row(function_graph(cx, f)->top, s->id))
		fail(cx, (Range){ 0 }, "%s: the expression does not hold the row", s->id);
	for (int i = 0; i < s->n; i++) {
		args[i] = rt_of(s->value[i]);
		if (s->floating[i])
			buf_printf(&names, "%s%s", n++ ? "," : "", s->name[i]);
	}
	d = gradient_function(cx, f, rt_none(), names.at, NULL);
	code = lower(t, f);
	back = lower(t, d);
	out = run(t, code, args);
	make_weights(t, out, false, weights, &k);
	for (int i = 0; i < k; i++)
		args[s->n + i] = weights[i];
	out = run(t, back, args);
	for (int i = 0, at = 0; i < s->n; i++)
		if (s->floating[i] && !compare(t, code, args, weights, i, out.u.tuple->v[2].u.tuple->v[at++]))
			fail(cx, (Range){ 0 }, "%s: %s", s->id, t->why);
}

static const char *
read_text(Arena *a, FILE *f)
{
	Buf b = { 0 };
	int c;

	while (f && (c = getc(f)) != EOF)
		buf_add(&b, &(char){ (char)c }, 1);
	return arena_strndup(a, b.at ? b.at : "", b.n);
}

/* Returns the text of the functions that a comment names, "# with FILE" or "# printed by FILE.py ARGUMENT...". Null for
 * other lines. */
static const char *
functions_of(Arena *a, const char *line)
{
	const char *text = NULL;
	FILE *f;

	if (!strncmp(line, "# with ", 7)) {
		f = fopen(line + 7, "r");
		text = read_text(a, f);
		if (f)
			fclose(f);
	} else if (!strncmp(line, "# printed by ", 13)) {
		f = popen(arena_printf(a, "python3 %s", line + 13), "r");
		text = read_text(a, f);
		if (f)
			pclose(f);
	}
	return text;
}

static bool
asked_for(int argc, char **argv, const char *id)
{
	for (int i = 2; i < argc; i++)
		if (!strcmp(argv[i], id))
			return true;
	return argc <= 2;
}

static int
rows_without(Cx *cx, const Map *seen)
{
	int missing = 0;

	for (int i = 0; i < op_count(cx); i++) {
		const Op *op = op_at(cx, i);

		if (!*op->gradient || op_is_flat(op) || map_get(seen, op->id))
			continue;
		printf("%s%s", missing++ ? " " : "no sample of: ", op->id);
	}
	if (missing)
		printf("\n");
	return missing;
}

static void
take_smooth(Arena *a, Map *seen, char *line)
{
	char *state = NULL;

	for (char *id = strtok_r(line, " \n", &state); id; id = strtok_r(NULL, " \n", &state))
		map_put(seen, arena_strdup(a, id), a);
}

int
main(int argc, char **argv)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	Map seen = { .arena = &arena };
	char line[16384];
	const char *with = NULL;
	bool recorded = false;
	int failed = 0, done = 0;
	FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;

	if (!file)
		return 2;
	schema_parser = schema_parse;
	ops_init(&cx);
	while (fgets(line, sizeof line, file)) {
		RtCx rt;
		Test t = { .cx = &cx, .rt = &rt, .with = with, .recorded = recorded };

		if (*line == '#') {
			const char *text;

			line[strcspn(line, "\n")] = 0;
			text = functions_of(&arena, line);
			with = text ? text : with;
		}
		recorded |= !strncmp(line, "# recorded", 10);
		if (!strncmp(line, "smooth |", 8)) {
			take_smooth(&arena, &seen, line + 8);
			continue;
		}
		if (*line == '#' || *line == '\n')
			continue;
		rt_cx_init(&rt);
		parse_sample(&t, line);
		map_put(&seen, t.s->id, t.s);
		if (!asked_for(argc, argv, t.s->id))
			continue;
		done++;
		if (recorded)
			failed += fails_as_recorded(&t);
		else if (cx_try(&cx, check_sample, &t) == !strcmp(t.s->id, "lacks")) {
			failed++;
			printf("%s\n  %s\n", t.s->expression,
			       strcmp(t.s->id, "lacks") ? cx.err.text : "was differentiated");
		}
	}
	fclose(file);
	if (argc <= 2 && !with)
		failed += rows_without(&cx, &seen);
	printf("%d samples, %d failed\n", done, failed);
	return failed != 0;
}
