"""Kernels over more than 2^32 elements, at the blocks on both sides of 2^31 and 2^32 and at the ends.

    large.py GOLDEN_DIR OUT

The text is that of tests/kernel/large*.txt. Operands are address space without memory behind it, of which a few pages
are written, and only the blocks that are named here run.
"""
import os, re, subprocess, sys

MAIN = r'''
#include "grid.h"
#include <sys/mman.h>
#include "cutile.h"

extern "C" __global__ void map %(map)s
extern "C" __global__ void tiles %(tiles)s

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

/* Runs the block of `each` elements that holds element i. */
template <class... A>
static void
run_block(void (*kernel)(A...), int64_t i, int each, void **args)
{
	const unsigned size[3] = { (unsigned)((N + each - 1) / each), 1, 1 }, at = (unsigned)(i / each);

	grid_from = at;
	grid_to = at + 1;
	grid_launch(kernel, size, 256, args);
}

static void
want(const char *what, int64_t i, float got, float wanted)
{
	if (got != wanted)
		bad = printf("%%s: element %%lld is %%g, expected %%g\n", what, (long long)i, got, wanted);
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
	return bad != 0;
}
'''


def section(path, name):
    with open(path) as f:
        return re.search(r"^--- %s\n(.*?)(?=^---|\Z)" % name, f.read(), re.M | re.S).group(1)


golden, out = sys.argv[1:]
with open(f"{out}/large.cpp", "w") as f:
    f.write(MAIN % {"map": section(f"{golden}/large.txt", "cuda"), "tiles": section(f"{golden}/large_tiles.txt", "tiles")})
here = os.path.dirname(os.path.abspath(__file__))
for command in (["c++", "-std=c++17", "-O1", "-w", "-I", here, "-I", f"{here}/../../rt/ops", "-o", f"{out}/large",
                 f"{out}/large.cpp"], [f"{out}/large"]):
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(r.stdout, end="")
    if r.returncode:
        sys.exit(1)
