/* tests/cuda/grid.h - runs CUDA kernels as C++ on the CPU: blocks one after the other, the threads of a block as
 * coroutines
 *
 * A kernel's text is compiled after this header.  Threads take turns: each runs until it waits at a barrier or a
 * shuffle.  A barrier that not all threads reach ends the program with a message.  Shared memory is static, since one
 * block runs at a time. */
#ifndef TESTS_CUDA_GRID_H
#define TESTS_CUDA_GRID_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <utility>

#define CU_HAS_INT64
#define __CUDACC__ 1
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static

struct GridIndex { unsigned x, y, z; };
static GridIndex threadIdx, blockIdx, blockDim, gridDim;
static GridIndex grid_from, grid_to = { ~0u, ~0u, ~0u };         /* blocks to run: from grid_from to below grid_to */

enum { GRID_MOST = 1024, GRID_STACK = 64 << 10 };

struct GridBarrier { int arrived; unsigned turn; };

static struct Grid {
	ucontext_t main, thread[GRID_MOST];
	char *stack;
	bool  done[GRID_MOST], moved;
	int   now, n, alive;
	GridBarrier block, warp[GRID_MOST / 32];
	double slot[GRID_MOST];
	void (*call)(void *kernel, void **args);
	void *kernel, **args;
} grid;

static void
grid_wait(GridBarrier *b, int n)
{
	const unsigned turn = b->turn;

	grid.moved = true;
	if (++b->arrived == n) {
		b->arrived = 0;
		b->turn++;
		return;
	}
	while (b->turn == turn)
		swapcontext(&grid.thread[grid.now], &grid.main);
}

static void __syncthreads() { grid_wait(&grid.block, grid.n); }

template <class T>
static T
__shfl_xor_sync(unsigned, T x, int way)
{
	const int t = grid.now, warp = t / 32;
	const int n = grid.n - warp * 32 < 32 ? grid.n - warp * 32 : 32;
	T got;

	grid.slot[t] = x;
	grid_wait(&grid.warp[warp], n);
	got = (T)grid.slot[t ^ way];
	grid_wait(&grid.warp[warp], n);
	return got;
}

static void
grid_thread()
{
	grid.call(grid.kernel, grid.args);
	grid.done[grid.now] = true;
	grid.alive--;
	grid.moved = true;
}

static void
grid_block()
{
	memset(grid.done, 0, sizeof grid.done);
	memset(grid.warp, 0, sizeof grid.warp);
	memset(&grid.block, 0, sizeof grid.block);
	grid.alive = grid.n;
	for (int i = 0; i < grid.n; i++) {
		getcontext(&grid.thread[i]);
		grid.thread[i].uc_stack.ss_sp = grid.stack + (size_t)i * GRID_STACK;
		grid.thread[i].uc_stack.ss_size = GRID_STACK;
		grid.thread[i].uc_link = &grid.main;
		makecontext(&grid.thread[i], grid_thread, 0);
	}
	while (grid.alive) {
		grid.moved = false;
		for (grid.now = 0; grid.now < grid.n; grid.now++) {
			const unsigned turn = grid.block.turn, warp = grid.warp[grid.now / 32].turn;

			if (grid.done[grid.now])
				continue;
			threadIdx = { (unsigned)grid.now, 0, 0 };
			swapcontext(&grid.main, &grid.thread[grid.now]);
			grid.moved |= turn != grid.block.turn || warp != grid.warp[grid.now / 32].turn;
		}
		if (!grid.moved) {
			fprintf(stderr, "grid: a barrier that not all threads of the block reach\n");
			abort();
		}
	}
}

template <class... A, size_t... I>
static void
grid_apply(void (*f)(A...), void **args, std::index_sequence<I...>)
{
	f(*(A *)args[I]...);
}

template <class... A>
static void
grid_call(void *kernel, void **args)
{
	grid_apply((void (*)(A...))kernel, args, std::index_sequence_for<A...>());
}

template <class... A>
static void
grid_launch(void (*kernel)(A...), const unsigned *size, unsigned threads, void **args)
{
	if (!grid.stack)
		grid.stack = (char *)malloc((size_t)GRID_MOST * GRID_STACK);
	grid.n = (int)threads;
	grid.kernel = (void *)kernel;
	grid.call = grid_call<A...>;
	grid.args = args;
	gridDim = { size[0], size[1], size[2] };
	blockDim = { threads, 1, 1 };
	for (blockIdx.z = grid_from.z; blockIdx.z < size[2] && blockIdx.z < grid_to.z; blockIdx.z++)
		for (blockIdx.y = grid_from.y; blockIdx.y < size[1] && blockIdx.y < grid_to.y; blockIdx.y++)
			for (blockIdx.x = grid_from.x; blockIdx.x < size[0] && blockIdx.x < grid_to.x; blockIdx.x++)
				grid_block();
}

/* Entry point of a kernel, found by name: grid_map_3(size, threads, args). */
#define GRID_KERNEL(name) \
	extern "C" void grid_##name(const unsigned *size, unsigned threads, void **args) \
	{ grid_launch(name, size, threads, args); }

#endif
