/*
 * Golden tests of kernels: golden [-u] FILE.txt... (tests/golden.h)
 *
 * A test is one file: a comment, a kernel, then after lines of three dashes the expected outputs:
 *     # A bias is added to every row.
 *     kernel map
 *     ...
 *     end
 *     --- c
 *     --- cuda
 *     --- tiles          (of a sum of products: CUDA in tiles)
 *     --- microkernel    (the call of a hand-written function, if a row of micro.def matches the kernel)
 *     --- cuda microkernel
 *
 * With a line `# simplify` the kernel is simplified and scheduled first, and `--- kernel` shows it.  With `# block` it
 * is the epilogue of another kernel, over a block of rows and columns.  An epilogue in registers (an operand is made)
 * is printed as lines, not as a function.  With `# symbols` the call passes their values, and sizes of them have names.
 * Kernels that a microkernel computes are printed as plain loops.  CUDA has no gathers, tables of addresses or serial
 * axes.  Every kernel is also printed as text, which must equal the text that was read.
 */
#include "../golden.h"
#include "../../codegen/kernel/micro.h"
#include "reader.h"

#include <string.h>

static void
check_text(Golden *t, const Kernel *k, const Schedule *s, const char *end)
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
put_micro(const Micro *m, Buf *b)
{
	buf_puts(b, "--- microkernel\nunits ");
	size_print(m->units, SIZE_TEXT, false, b);
	buf_printf(b, ", %s\n%s", m->header, m->text);
}

static void
put_outcomes(Golden *t, Kernel *k, Schedule s, Buf *b)
{
	const int symbols = strstr(t->text, "# symbols\n") ? kernel_addresses(k) : -1;
	const Size *grid[3];
	int place[64];
	Micro micro = { 0 };
	MicroCuda cuda = { 0 };

	for (int i = 0; i < 64; i++)
		place[i] = i;
	kernel_micro(k, &(Calling){ .symbols = symbols, .nr = 64, .vf = 16 }, &micro);
	kernel_micro_cuda(k, &cuda);
	if (strstr(t->text, "# simplify\n")) {
		kernel_simplify(k, 0);
		s = kernel_schedule(k, TILE_IF_LONG, kernel_inner(k));
		kernel_check(k);
		buf_puts(b, "--- kernel\n");
		kernel_print(k, &s, b);
	}
	if (s.micro)
		s = kernel_schedule(k, TILE_IF_LONG, kernel_inner(k));
	buf_puts(b, "--- c\n");
	if (is_made(k) || strstr(t->text, "# block\n")) {
		buf_puts(b, is_made(k) ? kernel_element(k, NULL, false) : kernel_print_block(k, place, symbols));
		return;
	}
	buf_puts(b, kernel_print_c(k, &s, symbols));
	if (kernel_has_cuda(k))
		buf_printf(b, "--- cuda\n%s", kernel_print_cuda(k, &s));
	if (kernel_cuda_tiles(k, grid))
		buf_printf(b, "--- tiles\n%s", kernel_print_cuda_tiles(k));
	if (micro.name)
		put_micro(&micro, b);
	if (cuda.name)
		buf_printf(b, "--- cuda microkernel\n%s", cuda.text);
}

void
golden_run(Golden *t)
{
	Source src = { .name = t->path, .line = 1 };
	const char *at;
	Schedule s;
	Kernel *k;
	Buf b = { 0 };

	src.text = at = t->text;
	src.n = t->n;
	k = kernel_read(t->cx, size_table(t->cx->arena), &src, &at, &s);
	if (*at++ != '\n')
		fail(t->cx, (Range){ 0 }, "%s: the kernel does not end with its line", t->path);
	check_text(t, k, &s, at - 1);
	put_outcomes(t, k, s, &b);
	golden_compare(t, at, b.at);
	buf_free(&b);
}
