/* codegen/cli/usage.c - errors of the command line, and numbers among its options */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

void
usage_error(Cli *cli, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "kiln: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (kiln%s%s --help)\n", cli->command ? " " : "", cli->command ? cli->command : "");
	exit(EXIT_USAGE);
}

int64_t
cli_number(Cli *cli, const char *option, const char *text, int64_t least, int64_t most)
{
	char *end;
	long long n;

	RT_ASSERT(least <= most);
	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || end == text || *end || n < least || n > most)
		usage_error(cli, "--%s wants a number from %lld to %lld, not '%s'", option, (long long)least,
			    (long long)most, text);
	return n;
}
