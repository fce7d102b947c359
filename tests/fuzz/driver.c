/* tests/fuzz/driver.c - runs a fuzz target without libFuzzer: on each file of a corpus, unchanged and changed
 *
 *    driver [-n CHANGES] FILE...
 *
 * Changes are drawn from a generator with a fixed seed, so that a run can be repeated.  They set bytes to typical
 * values, or cut out, double or move ranges of bytes. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 88172645463325252;

static size_t
below(size_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return n ? (size_t)(seed >> 16) % n : 0;
}

/* Changes the n bytes, in a buffer of twice that size.  Returns the new length. */
static size_t
change(uint8_t *p, size_t n)
{
	static const uint8_t telling[] = { 0, 1, 0x7f, 0x80, 0xff, '(', ')', '\'', ',', '9', '-', '\n' };
	size_t at = below(n), len = 1 + below(n - at < 64 ? n - at : 64), to;

	if (!n)
		return n;
	switch (below(5)) {
	case 0:
		p[at] = telling[below(sizeof telling)];
		return n;
	case 1:
		p[at] ^= (uint8_t)(1 << below(8));
		return n;
	case 2:                                   /* cuts a range out */
		memmove(p + at, p + at + len - 1, n - at - len + 1);
		return n - len + 1;
	case 3:                                   /* doubles a range */
		memmove(p + at + len, p + at, n - at);
		return n + len;
	default:                                  /* copies a range to another position */
		to = below(n - len + 1);
		memmove(p + to, p + at, len);
		return n;
	}
}

static uint8_t *
load(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	uint8_t *p;
	long size;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || !(p = malloc((size_t)size + 1))) {
		fprintf(stderr, "%s: cannot be read\n", path);
		exit(1);
	}
	rewind(f);
	*n = fread(p, 1, (size_t)size, f);
	fclose(f);
	return p;
}

int
main(int argc, char **argv)
{
	long changes = 2000;
	uint8_t *p, *q;
	size_t n, m;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-n") && i + 1 < argc) {
			changes = strtol(argv[++i], 0, 10);
			continue;
		}
		p = load(argv[i], &n);
		LLVMFuzzerTestOneInput(p, n);
		for (long k = 0; k < changes; k++) {
			q = malloc(n + 1024); /* a buffer of its own, so that sanitizers detect reads past its end */
			memcpy(q, p, n);
			m = n;
			for (size_t c = 1 + below(6); c; c--)
				m = change(q, m);
			q = realloc(q, m ? m : 1);
			LLVMFuzzerTestOneInput(q, m);
			free(q);
		}
		free(p);
	}
	return 0;
}
