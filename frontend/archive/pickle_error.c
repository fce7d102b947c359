/* Errors in a pickle.  Messages contain the archive's name, and the byte at which the pickle is wrong. */
#include "../frontend.h"

#include <stdarg.h>

void
pickle_bad(const PickleAt *at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(at->cx, (Range){ 0 }, "%s: %s, at byte %lld", at->src->name, arena_vprintf(at->cx->arena, fmt, ap),
	     (long long)at->byte);
}

void
pickle_lacks(const PickleAt *at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail_lacks(at->cx, (Range){ 0 }, "%s: %s, at byte %lld", at->src->name, arena_vprintf(at->cx->arena, fmt, ap),
		   (long long)at->byte);
}
