/*
 * Lists the legal schedules of a kernel: with or without tiles, rows side by side or along each row with different
 * numbers of partial sums, any axis innermost. All are correct for all sizes. The fastest is measured (cli/tune.c) or
 * recorded (tuning.c).
 */
#include "form.h"

#include <string.h>

typedef struct Schedules {
	Map   seen;              /* C text of the schedules found so far */
	Vec(Scheduled) at;
} Schedules;

/* Returns a name: "i1, 64 sums", "i2, tiles of i0, i1 innermost". */
static const char *
schedule_name(const Kernel *k, const Schedule *s, int innermost)
{
	const char *tile = s->tile < 0 ? "" : arena_printf(k->arena, ", tiles of i%d", s->tile);
	const char *sums = s->lanes ? arena_printf(k->arena, ", %d sums", s->lanes) : "";
	const char *order = innermost < 0 ? "" : arena_printf(k->arena, ", i%d innermost", innermost);

	return arena_printf(k->arena, "i%d%s%s%s", s->inner, sums, tile, order);
}

static void
add_schedule(Schedules *w, Kernel *k, Schedule s, int innermost)
{
	const char *text = kernel_print_c(k, &s, -1);

	if (map_get(&w->seen, text))
		return;
	map_put(&w->seen, text, w);
	vec_push(k->arena, &w->at, ((Scheduled){ schedule_name(k, &s, innermost), k, s }));
}

/* Returns the kernel with two axes swapped. */
static Kernel *
swapped(const Kernel *k, int i, int j)
{
	Kernel *copy = kernel_copy(k);

	kernel_swap_axes(copy, i, j);
	return copy;
}

static void
add_rows(Schedules *w, Kernel *k, int innermost)
{
	for (int lanes = 1; k->nreduce && lanes <= 4 * KERNEL_LANES; lanes = lanes == 1 ? KERNEL_LANES : 2 * lanes)
		add_schedule(w, k, kernel_schedule_rows(k, false, lanes), innermost);
	if (k->naxis > k->nreduce)
		add_schedule(w, k, kernel_schedule_rows(k, true, 1), innermost);
}

static void
add_points(Schedules *w, Kernel *k, int innermost)
{
	const int last = k->naxis - 1 - (k->serial >= 0);

	add_schedule(w, k, kernel_schedule(k, TILE_NEVER, kernel_inner(k)), innermost);
	add_schedule(w, k, kernel_schedule(k, TILE_ALWAYS, last), innermost);
	add_schedule(w, k, kernel_schedule(k, TILE_NEVER, last), innermost);
}

int
kernel_schedules(Kernel *k, const Scheduled **out)
{
	const int last = k->naxis - k->nreduce - (k->serial >= 0) - 1;
	Schedules w = { .seen.arena = k->arena };
	bool along = false;

	for (int i = 0; i < k->operand.n; i++)
		along = along || k->operand.at[i].along >= 0;
	add_schedule(&w, k, kernel_schedule(k, TILE_IF_LONG, kernel_inner(k)), -1);
	for (int i = last; !k->next && (i >= 0 || i == last); i--)
		if (i == last || !along)
			(kernel_has_rows(k) ? add_rows : add_points)(&w, i < last ? swapped(k, i, last) : k,
								     i < last ? i : -1);
	*out = w.at.at;
	return w.at.n;
}
