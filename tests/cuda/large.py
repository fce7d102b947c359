"""Runs kernels over more than 2^32 elements, at the blocks on both sides of 2^31 and 2^32 and at the ends. Also products of 2^40
multiply-adds and of a batch with more than 2^31 results, at blocks in the corners.

    large.py GOLDEN_DIR OUT

The text is that of tests/kernel/large*.txt. Operands are address space without memory behind it, of which a few pages
are written. Only the blocks that are named here run.
"""
import os, re, subprocess, sys

MAIN = r'''
#include "grid.h"
#include <sys/mman.h>
#include "cutile.h"

extern "C" __global__ void map %(map)s
extern "C" __global__ void tiles %(tiles)s

extern "C" __global__ void deep %(deep)s

extern "C" __global__ void batch %(batch)s

static const int64_t N = 5242880000, FIRST = (int64_t)1 << 31, SECOND = (int64_t)1 << 32;
static int bad;

static float *
room(int64_t n)
{
	void *p = mmap(0, (size_t)n * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		puts("SKIP: address space for 2^36 elements is missing");
		exit(0);
	}
	return (float *)p;
}

template <class... A>
static void
run_at(void (*kernel)(A...), const unsigned *size, GridIndex at, void **args)
{
	grid_from = at;
	grid_to = { at.x + 1, at.y + 1, at.z + 1 };
	grid_launch(kernel, size, 256, args);
}

/* Runs the block of `each` elements that holds element i. */
template <class... A>
static void
run_block(void (*kernel)(A...), int64_t i, int each, void **args)
{
	const unsigned size[3] = { (unsigned)((N + each - 1) / each), 1, 1 };

	run_at(kernel, size, { (unsigned)(i / each), 0, 0 }, args);
}

static void
want(const char *what, int64_t i, float got, float wanted)
{
	if (got != wanted)
		bad = printf("%%s: element %%lld is %%g, expected %%g\n", what, (long long)i, got, wanted);
}

/* 4096 x 4096 sums of 65,536 products, of which a few are not 0. */
static void
run_deep()
{
	const unsigned size[3] = { 64, 64, 1 };
	const int64_t n = 4096, k = 65536;
	float *y = room(n * n), *x = room(n * k), *w = room(n * k);
	void *args[] = { &y, &x, &w };

	for (int64_t row : { (int64_t)0, n - 1 })
		for (int64_t column : { (int64_t)0, n - 1 }) {
			float sum = 0;

			for (int64_t i : { (int64_t)0, k / 2, k - 1 })
				sum += (x[row * k + i] = (float)(row %% 5 + 1)) * (w[i * n + column] = (float)(i %% 7 + 1));
			run_at(deep, size, { (unsigned)(row / 64), (unsigned)(column / 64), 0 }, args);
			want("deep", row * n + column, y[row * n + column], sum);
		}
}

static void
run_batch()
{
	const unsigned size[3] = { 4, 4, 60000 };
	float *y = room((int64_t)60000 * 65536), *x = room(60000 * 1024), *w = room(60000 * 1024);
	void *args[] = { &y, &x, &w };

	for (int64_t one : { 0, 32767, 32768, 59999 }) {
		float sum = 0;

		for (int k = 0; k < 4; k++)
			sum += (x[one * 1024 + 255 * 4 + k] = (float)(one %% 9 + k)) * (w[one * 1024 + k * 256 + 254] = (float)(k + 2));
		run_at(batch, size, { 3, 3, (unsigned)one }, args);
		want("batch", one, y[one * 65536 + 255 * 256 + 254], sum);
	}
}

int
main()
{
	const int64_t place[] = { 0, FIRST - 1, FIRST, SECOND - 1, SECOND, SECOND + 65535, N - 1 };
	float *y = room(N), *x = room(4 * N), *w = room(65536), *z = room(8 * N);
	void *map_args[] = { &y, &x, &w }, *tile_args[] = { &z, &x, &w };

	for (int i = 0; i < 65536; i++)
		w[i] = (float)(i %% 251);
	for (int64_t i : place) {
		float sum = 0;

		for (int k = 0; k < 4; k++)
			sum += (x[i + k * N] = (float)(i %% 13 + k)) * w[5 * 4 + k];
		run_block(map, i, 256, map_args);
		want("map", i, y[i], x[i] + w[i %% 65536]);
		run_block(tiles, i, 64, tile_args);
		want("tiles", i, z[i * 8 + 5], sum);
	}
	run_deep();
	run_batch();
	return bad != 0;
}
'''


def section(path, name):
    with open(path) as f:
        return re.search(r"^--- %s\n(.*?)(?=^---|\Z)" % name, f.read(), re.M | re.S).group(1)


golden, out = sys.argv[1:]
with open(f"{out}/large.cpp", "w") as f:
    f.write(MAIN % {"map": section(f"{golden}/large.txt", "cuda"), **{
        name: section(f"{golden}/large_{name}.txt", "tiles") for name in ("tiles", "deep", "batch")}})
here = os.path.dirname(os.path.abspath(__file__))
for command in (["c++", "-std=c++17", "-O1", "-w", "-I", here, "-I", f"{here}/../../rt/ops", "-o", f"{out}/large",
                 f"{out}/large.cpp"], [f"{out}/large"]):
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(r.stdout, end="")
    if r.returncode:
        sys.exit(1)
