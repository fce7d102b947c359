/* tests/rt/test.h - declarations that the tests of rt share: cmocka, and a context that must be empty at the end */
#ifndef TEST_H
#define TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail            /* the runtime has its own fail */

#include "../../rt/base.h"
#include "../../rt/host.h"

static inline int
cx_setup(void **state)
{
	*state = calloc(1, sizeof(RtCx));
	return rt_cx_init(*state);
}

static inline int
cx_teardown(void **state)
{
	RtCx *cx = *state;
	int64_t left = cx->account->bytes;

	rt_cx_free(cx);
	free(cx);
	return left ? -1 : 0;
}

#endif
