/* tests/door/check.h - macros and functions that the programs of tests/door share */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;             /* number of failed CHECK and FAILS */

#define CHECK(x) ((x) ? (void)0 : (void)(printf("%s:%d: %s\n", __FILE__, __LINE__, #x), failures++))
/* Checks that a call returns the status `want`, and that the error text contains `says`. */
#define FAILS(m, want, call, says) \
	do { \
		const int got = (call); \
		const char *text = many_error(m); \
		if (got != (want) || !strstr(text, says)) \
			printf("%s:%d: %s: status %d, %s\n", __FILE__, __LINE__, #call, got, text), failures++; \
	} while (0)

#ifdef DLPACK_VERSION
static DLTensor
tensor(void *data, int code, int bits, int ndim, int64_t *shape)
{
	DLTensor t;

	memset(&t, 0, sizeof t);
	t.data = data;
	t.device.device_type = kDLCPU;
	t.ndim = ndim;
	t.dtype.code = (uint8_t)code;
	t.dtype.bits = (uint8_t)bits;
	t.dtype.lanes = 1;
	t.shape = shape;
	return t;
}
#endif

static int
same(const void *got, const float *want, int n)
{
	for (int i = 0; i < n; i++)
		if (((const float *)got)[i] != want[i])
			return 0;
	return 1;
}

#endif
