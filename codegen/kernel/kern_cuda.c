/*
 * Kernels of the GPU: plans the launches of a node, for which print_cuda.c prints the kernels.
 *
 * Contractions are computed in tiles (rt/ops/cutile.h). Other kernels use a thread for each point or row, or a block
 * for each row. Indices are divided in 32 bits where their range fits, else in 64. Only the grid's limits bound the
 * size of a kernel.
 */
#include "lower.h"
#include "micro.h"

#include <string.h>

enum {
	FEW_COLUMNS = 8,
	/* most rows that are reduced by a thread each, because the threads of a block would mostly idle */
	FEW_POINTS = 64,
};

/* Adds a kernel, "(params)\n{\nbody}\n", under a unique name. Equal texts share one kernel. */
static int
add_kernel(Emit *e, const char *prefix, const char *comment, const char *text)
{
	intptr_t known = (intptr_t)map_get(&e->cuda_texts, text);
	const char *name;

	if (!known) {
		known = e->cuda_kernels.n + 1;
		name = arena_printf(e->cx->arena, "%s_%d", prefix, e->cuda_kernels.n);
		map_put(&e->cuda_texts, text, (void *)known);
		vec_push(e->cx->arena, &e->cuda_kernels, name);
		out_line(&e->cuda, "\n/* %s */\nextern \"C\" __global__ void __launch_bounds__(%d)\n%s%s",
			 comment, CUDA_BLOCK, name, text);
	}
	return (int)known - 1;
}

static bool
moves(const Kernel *k, int operand, int axis)
{
	return !size_is(k->operand.at[operand].stride[axis], 0);
}

/* Orders the axes of a contraction: those that the second input does not depend on, then shared ones, then columns. */
static void
order_axes(Kernel *k)
{
	const int outer = k->naxis - k->nreduce;
	int rows = 0, groups;

	for (int i = 0; i < outer; i++)
		if (!moves(k, CONTRACT_W, i))
			kernel_move_axis(k, i, rows++);
	groups = rows;
	for (int i = rows; i < outer; i++)
		if (moves(k, CONTRACT_X, i))
			kernel_move_axis(k, i, groups++);
}

/* Can it be computed in tiles? Sets the grid. Many narrow products, as in a depthwise convolution, use a thread for
 * each element. */
static bool
in_tiles(const Kernel *k, const Size *grid[3])
{
	return kernel_cuda_tiles(k, grid) &&
	       (size_is(grid[2], 1) || !size_at_most(k->sizes, k->extent[k->naxis - k->nreduce - 1], FEW_COLUMNS - 1));
}

/* Chooses a thread for each point. For reductions: a thread for each row if rows are short or side by side, else a
 * block. */
static Schedule
schedule_threads(Kernel *k)
{
	const Size *points = size_number(k->sizes, 1);

	if (k->next || !k->nreduce || k->nreduce == k->naxis)
		return kernel_schedule(k, TILE_NEVER, kernel_inner(k));
	for (int i = k->naxis - k->nreduce; i < k->naxis; i++)
		points = size_times(k->sizes, points, k->extent[i]);
	return kernel_schedule_rows(k, size_at_most(k->sizes, points, FEW_POINTS) || kernel_rows_beside(k), 1);
}

/* A launch whose kernel is not printed yet. */
typedef struct Launch {
	Kernel  *kernel;
	Schedule schedule;       /* schedule of a kernel that is not in tiles */
	bool     tiles;
	MicroCuda micro;         /* function that computes the kernel; its name is null if there is none */
	const Size *grid[3];     /* numbers of blocks */
} Launch;

/* Plans a launch. Returns false if it has more blocks than a grid may have. A number of blocks that depends on sizes
 * is checked when the kernel is launched. */
static bool
plan_launch(Kernel *k, Launch *to)
{
	const bool contract = kernel_is_contract(k);
	const Size *one = size_number(k->sizes, 1);
	int64_t n;

	*to = (Launch){ .kernel = k, .grid = { one, one, one } };
	if (kernel_micro_cuda(k, &to->micro)) {
		to->grid[0] = to->micro.grid[0];
		to->grid[1] = to->micro.grid[1];
		return !size_const(to->grid[0], &n) || n <= INT32_MAX;
	}
	kernel_simplify(k, 0);
	if (contract)
		order_axes(k);
	to->tiles = contract && in_tiles(k, to->grid);
	if (!to->tiles) {
		to->schedule = contract ? kernel_schedule_rows(k, true, 0) : schedule_threads(k);
		to->grid[0] = kernel_cuda_blocks(k, &to->schedule);
		to->grid[1] = to->grid[2] = one;
	}
	return !size_const(to->grid[0], &n) || n <= INT32_MAX;
}

/* Sets the numbers of blocks, as C and on the first sample. */
static void
set_grid(Emit *e, const Launch *l, CudaCall *to)
{
	for (int i = 0; i < 3; i++) {
		Buf b = { 0 };

		if (!size_value(l->grid[i], l->kernel->typical, &to->grid[i]))
			BUG("%s: the number of its blocks is no number", l->kernel->name);
		size_print(l->grid[i], SIZE_C, false, &b);
		to->grid_text[i] = arena_text(e->cx->arena, &b);
	}
}

static void
emit_launch(Emit *e, const KernelCall *from, Kernel *k, CudaCall *to)
{
	Launch l;

	if (!plan_launch(k, &l))
		BUG("%s: a launch that was planned is too large", from->kernel->name);
	*to = (CudaCall){ .checked = from->checked, .symbol = kernel_cuda_symbols(k) ? k->typical : NULL };
	set_grid(e, &l, to);
	for (int i = 0; i < kernel_addresses(from->kernel); i++) {
		vec_push(e->cx->arena, &to->args, from->args.at[i]);
		to->nout += from->kernel->operand.at[i].access == ACCESS_WRITE ||
			    from->kernel->operand.at[i].access == ACCESS_UPDATE;
	}
	to->kernel = add_kernel(e, k->name, kernel_comment(k),
				l.micro.name ? l.micro.text : l.tiles ? kernel_print_cuda_tiles(k) :
				kernel_print_cuda(k, &l.schedule));
}

void
emit_cuda_unified(Emit *e, const KernelCall *from, Kernel *k, CudaCall *to)
{
	emit_launch(e, from, k, to);
}

int
cuda_launches(Plan *p, const Node *n, KernelCall *calls, const char **why)
{
	const int count = lower_gpu(p, n, calls, why);
	Launch l;

	for (int i = 0; i < count; i++) {
		const Kernel *k = calls[i].kernel;

		MicroCuda micro;

		if (!kernel_micro_cuda(k, &micro) && !kernel_has_cuda(k)) {
			*why = k->next ? "the local operands of its chain may be larger than a block's shared memory" :
			       "its kernel reads through tables of indices, which CUDA kernels do not";
			return 0;
		}
		if (!plan_launch(kernel_copy(k), &l)) {
			*why = "its kernel has more blocks than a grid may have";
			return 0;
		}
	}
	return count;
}

bool
node_is_cuda(Plan *p, const Node *n)
{
	KernelCall calls[MAX_KERNEL_CALLS];
	const char *why;

	return cuda_launches(p, n, calls, &why) > 0;
}

/* What is written in place is checked by a kernel of its own, before any element is written. */
void
cuda_checks_once(const Node *n, const KernelCall *calls, CudaCall *to, int i)
{
	to->checked &= !i || !calls[0].checked || !node_writes_input(n, 0);
}

int
emit_cuda(Emit *e, Plan *p, const Node *n, CudaCall *to, const char **why)
{
	KernelCall from[MAX_KERNEL_CALLS];
	const int count = cuda_launches(p, n, from, why);

	for (int i = 0; i < count; i++) {
		emit_launch(e, &from[i], kernel_copy(from[i].kernel), &to[i]);
		cuda_checks_once(n, from, &to[i], i);
	}
	return count;
}
