/* rt/near.c - finds the known name that is nearest to a word, for "did you mean" of the command line and of programs */
#include "base.h"

#include <string.h>

enum { LONGEST = 31 };

static int
min_int(int a, int b)
{
	return a < b ? a : b;
}

/* Returns the edit distance between a, of n letters, and b: the number of insertions, deletions, replacements and swaps
 * of neighbours. */
static int
distance(const char *a, int n, const char *b, int nb)
{
	int row[3][LONGEST + 1] = { { 0 } }, *before = row[0], *last = row[1], *now = row[2], *spare;

	for (int j = 0; j <= nb; j++)
		last[j] = j;
	for (int i = 1; i <= n; i++) {
		now[0] = i;
		for (int j = 1; j <= nb; j++) {
			now[j] = min_int(last[j - 1] + (a[i - 1] != b[j - 1]), min_int(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = min_int(now[j], before[j - 2] + 1);
		}
		spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return last[nb];
}

void
rt_nearest(RtNearest *best, const char *word, int n, const char *name)
{
	const int nb = (int)strlen(name);
	const bool begins = n > 2 && nb > n && !memcmp(word, name, (size_t)n);
	int d;

	if (n > LONGEST || nb > LONGEST)
		return;
	d = begins ? 1 : distance(word, n, name, nb);
	if (d <= (n < 4 ? 1 : n < 8 ? 2 : 3) && d < nb && (!best->name || d < best->distance))
		*best = (RtNearest){ name, d };
}
