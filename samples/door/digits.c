/* samples/door/digits.c - a model in a C program: open, call, close */
#include <stdio.h>

#include "digits.h"
#include "picture.h"

static void
ignore(void *arg, const char *text, size_t n)      /* the model prints the picture */
{
	(void)arg, (void)text, (void)n;
}

int
main(void)
{
	const digits_options options = { .print = ignore };
	float p[10];
	char why[256];
	digits *m = digits_open(&options, why, sizeof why);
	int best = 0, status;

	if (!m) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	status = digits_forward(m, picture, p);
	if (status)
		fprintf(stderr, "status %d: %s\n", status, digits_error(m));
	for (int i = 1; i < 10; i++)
		best = p[i] > p[best] ? i : best;
	if (!status)
		printf("a %d, by %.4f\n", best, p[best]);
	digits_close(m);
	return status;
}
