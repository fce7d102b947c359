/* tests/fuzz/kernel.c - damaged kernels: each is read or refused.  A kernel that was read is printed as text, which
 * must read back the same, and as code. */
#include "fuzz.h"

#include "../kernel/reader.h"
#include "../../frontend/frontend.h"

#include <stdlib.h>
#include <string.h>

static Kernel *
read_kernel(Cx *cx, const char *text, int64_t n, Schedule *s)
{
	Source src = { .text = text, .n = n, .name = "fuzz", .line = 1 };
	const char *at = text;

	return kernel_read(cx, size_table(cx->arena), &src, &at, s);
}

static void
run(Cx *cx, void *arg)
{
	const char *text = arg;
	Buf first = { 0 }, second = { 0 };
	Schedule s;
	Kernel *k = read_kernel(cx, text, (int64_t)strlen(text), &s);

	kernel_print(k, &s, &first);
	kernel_print_c(k, &s, -1);
	if (kernel_has_cuda(k))
		kernel_print_cuda(k, &s);
	text = arena_text(cx->arena, &first);
	k = read_kernel(cx, text, (int64_t)strlen(text), &s);
	kernel_print(k, &s, &second);
	if (strcmp(text, second.at)) {
		fprintf(stderr, "%s---\n%s", text, second.at);
		abort();
	}
	buf_free(&second);
	kernel_simplify(k, 0);
	kernel_check(k);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	Arena a = { .limit = 256 << 20 };
	Cx cx = { .arena = &a };
	char *text = malloc(n + 1);

	memcpy(text, data, n);
	text[n] = 0;
	schema_parser = schema_parse;
	if (!cx_try(&cx, run, text) && cx.err.status != EXIT_INPUT) {
		fprintf(stderr, "status %d: %s\ntext: %s\n", cx.err.status, cx.err.text, text);
		abort();
	}
	arena_free(&a);
	free(text);
	return 0;
}
