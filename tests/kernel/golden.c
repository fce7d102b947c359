/*
 * Golden tests of kernels: golden [-u] FILE.txt...
 *
 * A test is one file: what it shows, a kernel, then after lines of three dashes what it becomes.
 *     # A bias is added to every row.
 *     kernel map
 *     ...
 *     end
 *     --- c
 *     --- cuda
 * With a line `# simplify` the kernel is brought in order and scheduled first, and `--- kernel` shows it; with `#
 * block` it is the end of another kernel, over a block of rows and columns.  An end in registers (an operand is made)
 * is no function but lines.  CUDA has no gathers, tables of addresses or serial axes.  -u writes all behind the kernel
 * anew.  Every kernel is also printed, which must give the text that was read.
 */
#include "../../codegen/kernel/form.h"
#include "../../frontend/frontend.h"

#include <stdlib.h>
#include <string.h>

typedef struct Test { Cx *cx; const char *path; char *text; int64_t n; bool update, ok; } Test;

static void
read_file(Test *t)
{
	FILE *f = fopen(t->path, "rb");

	if (!f || fseek(f, 0, SEEK_END) || (t->n = ftell(f)) < 0)
		fail(t->cx, (Range){ 0 }, "cannot read %s", t->path);
	rewind(f);
	t->text = new(t->cx->arena, char, t->n + 1);
	if (fread(t->text, 1, (size_t)t->n, f) != (size_t)t->n)
		fail(t->cx, (Range){ 0 }, "cannot read %s", t->path);
	fclose(f);
}

static void
write_file(Test *t, int64_t kept, const Buf *b)
{
	FILE *f = fopen(t->path, "wb");

	if (!f)
		fail(t->cx, (Range){ 0 }, "cannot write %s", t->path);
	fwrite(t->text, 1, (size_t)kept, f);
	fwrite(b->at, 1, (size_t)b->n, f);
	fclose(f);
}

static void
check_text(Test *t, const Kernel *k, const Schedule *s, const char *end)
{
	const char *beg = t->text;
	Buf b = { 0 };

	while (*beg == '#')
		beg += strcspn(beg, "\n") + 1;
	kernel_print(k, s, &b);
	if (b.n != end - beg + 1 || strncmp(b.at, beg, (size_t)b.n)) {
		fprintf(stderr, "%s: read and printed:\n%s", t->path, b.at);
		t->ok = false;
	}
	buf_free(&b);
}

static bool
is_made(const Kernel *k)
{
	for (int i = 0; i < k->operand.n; i++)
		if (k->operand.at[i].access == ACCESS_MADE)
			return true;
	return false;
}

static void
put_outcomes(Test *t, Kernel *k, Schedule s, Buf *b)
{
	int place[64];

	for (int i = 0; i < 64; i++)
		place[i] = i;
	if (strstr(t->text, "# simplify\n")) {
		kernel_simplify(k, 0);
		s = kernel_schedule(k, TILE_IF_LONG);
		kernel_check(k);
		buf_puts(b, "--- kernel\n");
		kernel_print(k, &s, b);
	}
	buf_puts(b, "--- c\n");
	if (is_made(k) || strstr(t->text, "# block\n")) {
		buf_puts(b, is_made(k) ? kernel_element(k, NULL) : kernel_print_block(k, place));
		return;
	}
	buf_puts(b, kernel_print_c(k, &s));
	if (kernel_has_cuda(k))
		buf_printf(b, "--- cuda\n%s", kernel_print_cuda(k, &s));
}

static void
run(Cx *cx, void *arg)
{
	Test *t = arg;
	Source src = { .name = t->path, .line = 1 };
	const char *at;
	Schedule s;
	Kernel *k;
	Buf b = { 0 };

	t->cx = cx;
	read_file(t);
	src.text = at = t->text;
	src.n = t->n;
	k = kernel_read(cx, size_table(cx->arena), &src, &at, &s);
	if (*at++ != '\n')
		fail(cx, (Range){ 0 }, "%s: the kernel does not end with its line", t->path);
	check_text(t, k, &s, at - 1);
	put_outcomes(t, k, s, &b);
	if (t->update && strcmp(at, b.at))
		write_file(t, at - t->text, &b);
	else if (strcmp(at, b.at)) {
		fprintf(stderr, "%s: want\n%s%s: got\n%s", t->path, at, t->path, b.at);
		t->ok = false;
	}
	buf_free(&b);
}

static bool
run_test(const char *path, bool update)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	Test t = { .path = path, .update = update, .ok = true };

	schema_parser = schema_parse;
	if (!cx_try(&cx, run, &t)) {
		fprintf(stderr, "%s\n", cx.err.text);
		t.ok = false;
	}
	arena_free(&arena);
	return t.ok;
}

int
main(int argc, char **argv)
{
	bool update = false, ok = true;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-u"))
			update = true;
		else
			ok &= run_test(argv[i], update);
	}
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
