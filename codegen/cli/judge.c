/* codegen/cli/judge.c - judges answers in float by their errors against the answer in double (double.c)
 *
 * A program adds in another order than the interpreter, so the answers differ most for ill-conditioned inputs. The
 * error of a result, relative to its largest element, decides whether this is a difference. */
#include "cli.h"

#include <math.h>
#include <string.h>

/* The largest error of a result, relative to its largest element, must be at most `least`, or `times` the error of a
 * second answer. The second answer is the recorded one, or else the interpreter's. */
static const struct { double times, least; } bound = { 3, 5e-6 };

static const char *const who_names[NWHO] = { "program", "interpreter", "reference" };

static bool
same_number(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* Returns the largest error of an element. Infinity if only one of two elements is finite, or if both are infinite and
 * differ. */
static double
error_of(RtCx *rt, RtTensor *got, RtTensor *exact)
{
	const RtMark m = rt_scratch_mark(rt);
	const RtC128 *x = tensor_numbers(rt, got), *y = tensor_numbers(rt, exact);
	double most = 0, largest = 0;

	if (!x || !y)
		most = INFINITY;
	for (int64_t i = 0; x && y && i < rt_numel(exact); i++) {
		const double off = hypot(x[i].re - y[i].re, x[i].im - y[i].im), size = hypot(y[i].re, y[i].im);

		if (isfinite(size))
			largest = fmax(largest, size);
		if (!same_number(x[i].re, y[i].re) || !same_number(x[i].im, y[i].im))
			most = fmax(most, isfinite(off) ? off : INFINITY);
	}
	rt_scratch_reset(rt, m);
	return most / (largest > 0 ? largest : 1);
}

/* Whether it is an empty list. Its array has no element type. */
static bool
is_empty_list(const RtArray *a)
{
	return a && a->tensor && a->tensor->ndim == 1 && !a->tensor->dims[0];
}

static bool
is_alike(const RtArray *a, const RtArray *b)
{
	if (!a || !a->tensor != !b->tensor || a->dtype != b->dtype)
		return false;
	return !a->tensor || (a->tensor->ndim == b->tensor->ndim &&
		!memcmp(a->tensor->dims, b->tensor->dims, sizeof *a->tensor->dims * a->tensor->ndim));
}

static void
put_measure(Buf *b, const Cli *cli, const char *name, double x)
{
	if (!cli->as_json)
		buf_printf(b, ", %s %.2g", name, x);
	else
		buf_printf(b, isfinite(x) ? ",\"%s\":%.4g" : ",\"%s\":null", name, x);
}

/* Adds a row to the report for a result with these errors. */
static void
judge_errors(const Cli *cli, Judgement *j, const char *key, const double *error)
{
	const Who beside = j->answer[WHO_REFERENCE] ? WHO_REFERENCE : WHO_INTERPRETER;
	const double least = fmax(bound.least, bound.times * error[beside]);
	const bool over = error[j->answer[WHO_PROGRAM] ? WHO_PROGRAM : WHO_INTERPRETER] > least;
	Buf *b = &j->rows;

	if (cli->as_json) {
		buf_puts(b, j->n ? ",{\"key\":" : "{\"key\":");
		out_json(b, key);
	} else {
		buf_printf(b, "  %s", key);
	}
	for (int who = 0; who < NWHO; who++)
		if (j->answer[who]) {
			put_measure(b, cli, who_names[who], error[who]);
			j->worst[who] = fmax(j->worst[who], error[who]);
		}
	put_measure(b, cli, "bound", least);
	buf_puts(b, cli->as_json ? "}" : over ? ": over\n" : "\n");
	j->over |= over;
	j->n++;
}

/* Judges one result. Floats are judged by their errors; other results must equal the interpreter's. */
static void
judge(const Cli *cli, RtCx *rt, Judgement *j, const RtArray *exact)
{
	const RtArray *own = rt_arrays_find(j->answer[WHO_INTERPRETER], exact->key);
	const bool floating = own->tensor && strchr("FC", rt_dtypes[own->dtype].category);
	double error[NWHO] = { 0 };

	for (int who = 0; who < NWHO && !j->why.n; who++) {
		const RtArray *a = j->answer[who] ? rt_arrays_find(j->answer[who], exact->key) : NULL;

		if (!j->answer[who] || (is_empty_list(a) && is_empty_list(own)))
			continue;
		if (!is_alike(a, own))
			buf_printf(&j->why, "%s is missing in the result of the %s, or has another dtype or shape",
				exact->key, who_names[who]);
		else if (floating)
			error[who] = error_of(rt, a->tensor, exact->tensor);
		else
			answer_same_array(rt, a, own, &j->why);
	}
	if (floating && !j->why.n)
		judge_errors(cli, j, exact->key, error);
}

void
judge_results(const Cli *cli, RtCx *rt, Judgement *j, const RtArrays *exact)
{
	for (int who = 0; who < NWHO && !j->why.n; who++)
		if (j->answer[who] && j->answer[who]->n != exact->n)
			buf_printf(&j->why, "the %s has %d results instead of %d", who_names[who], j->answer[who]->n,
				exact->n);
	for (int i = 0; i < exact->n && !j->why.n; i++)
		judge(cli, rt, j, &exact->at[i]);
}

void
judge_report(const Cli *cli, const Judgement *j, const DoubleAnswer *a, Buf *more)
{
	if (cli->as_json) {
		buf_printf(more, ",\"times\":%g,\"least\":%g,\"results\":[%s],\"in_float\":", bound.times,
			bound.least, j->n ? j->rows.at : "");
		out_json(more, a->in_float ? a->in_float : "");
	} else {
		buf_puts(more, j->n ? j->rows.at : "");
		if (a->in_float)
			buf_printf(more, "  only in float: %s\n", a->in_float);
	}
}

bool
judge_within_bound(const Cli *cli, RtCx *rt, Judgement *j, const RtArrays *got, const DoubleAnswer *a)
{
	if (a->decision.name || a->of_float.status || a->of_double.status)
		return false;
	j->answer[WHO_PROGRAM] = got;
	j->answer[WHO_INTERPRETER] = &a->of_float.result;
	judge_results(cli, rt, j, &a->of_double.result);
	return !j->over && !j->why.n && isfinite(j->worst[WHO_PROGRAM]) && isfinite(j->worst[WHO_INTERPRETER]);
}

void
judgement_free(Judgement *j)
{
	buf_free(&j->rows);
	buf_free(&j->why);
}
