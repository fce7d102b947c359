/* codegen/cli/answers.c - computes the expected answer to an input, and compares a process with it
 *
 * The expected answer is that of the interpreter for the graph as it was read (reference_code). If the model raises,
 * the answer is the exception's type, its message, and the text printed before. Results are compared key by key, within
 * the tolerance of their dtype (rt/compare.c). */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static void
keep_print(RtCx *cx, const char *text, int64_t n)
{
	fwrite(text, 1, (size_t)n, cx->print_arg);    /* stdio locks the stream: tasks print from their own threads */
}

/* Returns the innermost line of the model in the traceback of the error in rt. Null if there is none. */
static const char *
error_line(Cx *cx, const RtCx *rt)
{
	RtPlaceName p;
	const char *text;

	if (!rt->nvisit)
		return NULL;
	text = rt->visit[0].code->text;
	p = rt_place(rt->visit[0].code, (int)rt->visit[0].place);
	if (p.original)
		p = rt_place(rt->visit[0].code, p.original);
	return arena_printf(cx->arena, "%s:%d: %s", p.file ? text + p.file : "<string>", p.line,
		p.line_text ? text + p.line_text + strspn(text + p.line_text, " \t") : "");
}

Answer
answer_of(Cli *cli, RtCx *rt, const RtCode *code, const IValue *args)
{
	Answer a = { 0 };
	IValue result = rt_none();
	size_t n;

	rt->print = keep_print;
	if (!(rt->print_arg = open_memstream(&a.printed, &n)))
		out_of_memory();
	a.status = rt_run(rt, code, args, &result);
	fclose(rt->print_arg);
	if (a.status) {
		a.error = arena_strdup(cli->cx->arena, rt->message ? rt->message : "unknown error");
		a.type = rt->cls ? arena_strdup(cli->cx->arena, rt->cls) : NULL;
		a.line = error_line(cli->cx, rt);
	} else if (rt_arrays_from_value(rt, &a.result, "out", result)) {
		fail_runtime(cli, rt);
	}
	rt_clear_error(rt);
	return a;
}

Answer
reference_answer(Cli *cli, Model *m, const RtCode *code, const RtArrays *in)
{
	RtCx *rt = model_context(cli);
	int n;

	return answer_of(cli, rt, code, model_args(cli, m, rt, in, &n));
}

void
answer_free(Answer *a)
{
	free(a->printed);
	rt_arrays_free(&a->result);
	memset(a, 0, sizeof *a);
}

bool
answer_same_array(RtCx *rt, const RtArray *got, const RtArray *want, Buf *why)
{
	if (got->text && want->text) {
		if (got->text->n == want->text->n && !memcmp(got->text->s, want->text->s, (size_t)got->text->n))
			return true;
		buf_printf(why, "%s: '%s' instead of '%s'", want->key, got->text->s, want->text->s);
		return false;
	}
	if (!got->tensor != !want->tensor) {
		buf_printf(why, "%s: %s instead of %s", want->key, got->text ? "text" : "an array",
			   want->text ? "text" : "an array");
		return false;
	}
	return rt_close(rt, want->key, rt_of(got->tensor), rt_of(want->tensor), why);
}

static bool
same_arrays(RtCx *rt, const RtArrays *got, const RtArrays *want, Buf *why)
{
	for (int i = 0; i < want->n; i++) {
		const RtArray *other = rt_arrays_find(got, want->at[i].key);

		if (!other) {
			buf_printf(why, "%s is missing", want->at[i].key);
			return false;
		}
		if (!answer_same_array(rt, other, &want->at[i], why))
			return false;
	}
	for (int i = 0; i < got->n; i++)
		if (!rt_arrays_find(want, got->at[i].key)) {
			buf_printf(why, "the interpreter returns no %s", got->at[i].key);
			return false;
		}
	return true;
}

/* Returns the length of s without its final newlines. */
static int64_t
text_length(const char *s)
{
	int64_t n = (int64_t)strlen(s);

	while (n && s[n - 1] == '\n')
		n--;
	return n;
}

const char *
last_line(char *text)
{
	text[text_length(text)] = 0;
	return strrchr(text, '\n') ? strrchr(text, '\n') + 1 : text;
}

/* Whether `said` ends with this error. The error must begin a line or follow a program's name. */
static bool
ends_with_error(const char *said, const char *type, const char *error)
{
	Buf want = { 0 };
	const int64_t n = text_length(said);
	bool is;

	buf_printf(&want, "%s: %.*s", type, (int)text_length(error), error);
	is = n >= want.n && !memcmp(said + n - want.n, want.at, (size_t)want.n) &&
	     (n == want.n || said[n - want.n - 1] == '\n' || said[n - want.n - 1] == ' ');
	buf_free(&want);
	return is;
}

static bool
same_error(const char *said, const Answer *want)
{
	return ends_with_error(said, want->type ? want->type : "RuntimeError", want->error) ||
	       (!want->type && ends_with_error(said, "error", want->error));
}

bool
answer_ends_same(const Run *got, const Answer *want, Buf *why)
{
	if (got->status && got->status != EXIT_INPUT)
		buf_printf(why, "the run ended with status %d: %s", got->status, last_line(got->said));
	else if (got->status && !want->status)
		buf_printf(why, "the run raised, the interpreter did not: %s", last_line(got->said));
	else if (!got->status && want->status)
		buf_printf(why, "the interpreter raised, the run did not: %s", want->error);
	else if (got->status && !same_error(got->said, want))
		buf_printf(why, "the run raised '%s', the interpreter '%s: %s'", last_line(got->said),
			want->type ? want->type : "RuntimeError", want->error);
	else
		rt_close_text(got->printed, want->printed, why);
	return !why->n;
}

bool
answer_same(RtCx *rt, const Run *got, const Answer *want, Buf *why)
{
	return answer_ends_same(got, want, why) && (got->status || same_arrays(rt, &got->result, &want->result, why));
}

bool
answer_equal(RtCx *rt, const Answer *got, const Answer *want, Buf *why)
{
	const char *type = got->type ? got->type : "RuntimeError", *other = want->type ? want->type : "RuntimeError";

	if (got->status && want->status) {
		if (strcmp(type, other) || strcmp(got->error, want->error))
			buf_printf(why, "it raises '%s: %s', and not '%s: %s'", type, got->error, other, want->error);
	} else if (got->status || want->status) {
		buf_printf(why, got->status ? "it raises '%s: %s'" : "it does not raise '%s: %s'",
			   got->status ? type : other, got->status ? got->error : want->error);
	} else if (rt_close_text(got->printed, want->printed, why)) {
		same_arrays(rt, &got->result, &want->result, why);
	}
	return !why->n;
}
