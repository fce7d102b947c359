/* codegen/cli/inputs.c - the inputs of -i: files of arrays, or generated arrays
 *
 * Each file is one input. All options NAME=DTYPE[SIZES] together are one generated input. Its floats are uniform in
 * [-1, 1). Its integers and bools are 0 or 1, which are valid indices of almost every dim. The numbers are the same in
 * every run. If a size is a range such as 1..8, there are two generated inputs, with the least and with the largest
 * sizes. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct Random { const char *name; RtDtype dtype; int ndim; int64_t dims[2][RT_MAX_RANK]; } Random;

/* Whether the text has the form NAME=DTYPE[SIZES]. A file's name may contain a '=', too. */
static bool
is_random(const char *text)
{
	const char *equal = strchr(text, '='), *open = equal ? strchr(equal, '[') : NULL;

	return open && !strchr(open, '/') && text[strlen(text) - 1] == ']' && equal != text;
}

static RtDtype
dtype_named(Cli *cli, const char *spec, const char *at, int n)
{
	for (int d = 0; d < RT_NDTYPE; d++)
		if ((int)strlen(rt_dtypes[d].torch) == n && !memcmp(rt_dtypes[d].torch, at, (size_t)n) &&
		    !strchr("Q?", rt_dtypes[d].category))
			return (RtDtype)d;
	usage_error(cli, "%s: unknown dtype '%.*s'; dtypes are float32, float16, bfloat16, int64, bool ...", spec, n,
		    at);
}

static int64_t
size_at(Cli *cli, const char *spec, const char **at)
{
	char *end;
	const long long n = strtoll(*at, &end, 10);

	if (end == *at || n < 0 || n > INT32_MAX)
		usage_error(cli, "%s: sizes are missing, as in x=float32[1x3x224x224] or x=float32[1..8x10]", spec);
	*at = end;
	return n;
}

/* Parses NAME=DTYPE[ size { x size } ], where size is N or N..M. */
static Random
parse_random(Cli *cli, const char *spec)
{
	const char *equal = strchr(spec, '='), *open = strchr(equal, '['), *at = open + 1;
	Random r = { .name = arena_strndup(cli->cx->arena, spec, equal - spec) };

	r.dtype = dtype_named(cli, spec, equal + 1, (int)(open - equal - 1));
	while (*at != ']') {
		if (r.ndim == RT_MAX_RANK || (r.ndim && *at++ != 'x'))
			usage_error(cli, "%s: expected numbers with x between them as sizes", spec);
		r.dims[0][r.ndim] = r.dims[1][r.ndim] = size_at(cli, spec, &at);
		if (!strncmp(at, "..", 2)) {
			at += 2;
			r.dims[1][r.ndim] = size_at(cli, spec, &at);
			if (r.dims[1][r.ndim] < r.dims[0][r.ndim])
				usage_error(cli, "%s: the first size of a range must be the smaller one", spec);
		}
		r.ndim++;
	}
	if (at[1])
		usage_error(cli, "%s: unexpected text after the ]", spec);
	return r;
}

static int
nrandom(Cli *cli)
{
	int n = 0;

	for (int i = 0; i < cli->inputs.n; i++)
		if (is_random(cli->inputs.at[i])) {
			const Random r = parse_random(cli, cli->inputs.at[i]);

			n = memcmp(r.dims[0], r.dims[1], sizeof r.dims[0]) || n == 2 ? 2 : 1;
		}
	return n;
}

static const char *
file_at(Cli *cli, int want)
{
	for (int i = 0; i < cli->inputs.n; i++)
		if (!is_random(cli->inputs.at[i]) && want-- == 0)
			return cli->inputs.at[i];
	return NULL;
}

int
input_count(Cli *cli)
{
	int n = nrandom(cli);

	for (int i = 0; file_at(cli, i); i++)
		n++;
	return n;
}

bool
input_is_bounds(Cli *cli)
{
	return nrandom(cli) == 2 && !file_at(cli, 0);
}

const char *
input_name(Cli *cli, int i)
{
	const char *file = file_at(cli, i);

	RT_ASSERT(i >= 0);
	return file ? file : "random input";
}

/* Returns the next random number, by xorshift64*. */
static uint64_t
draw(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1d;
}

static void
fill_random(RtTensor *t, uint64_t *state)
{
	const RtDtypeInfo *d = &rt_dtypes[t->dtype];
	const int parts = d->category == 'C' ? 2 : 1;
	const RtDtype real = t->dtype == RT_c128 ? RT_f64 : t->dtype == RT_c64 ? RT_f32 : t->dtype == RT_c32 ? RT_f16 :
		(RtDtype)t->dtype;
	const int64_t n = rt_numel(t) * parts;
	char *to = rt_data(t);

	for (int64_t i = 0; i < n; i++, to += d->bytes / parts) {
		const double x = (double)(draw(state) >> 11) * 0x1p-53;
		const double v = rt_kind(real) == 'F' ? 2 * x - 1 : x < 0.5 ? 0 : 1;

		rt_cast(real, to, RT_f64, &v, 1);
	}
}

static int
add_random(Cli *cli, RtCx *rt, const char *spec, int which, uint64_t *state, RtArrays *in)
{
	const Random r = parse_random(cli, spec);
	RtTensor *t = rt_tensor_new(rt, r.dtype, r.ndim, r.dims[which]);
	int status;

	if (!t)
		return RT_ERROR;
	fill_random(t, state);
	status = rt_arrays_add(rt, in, r.name, rt_of(t));
	rt_tensor_release(t);
	return status;
}

int
input_read(Cli *cli, RtCx *rt, int i, RtArrays *in)
{
	const char *file = file_at(cli, i);
	uint64_t state = 88172645463325252;
	int nfile = 0;

	RT_ASSERT(i >= 0 && i < input_count(cli));
	if (file)
		return rt_npz_read(rt, file, in);
	while (file_at(cli, nfile))
		nfile++;
	for (int k = 0; k < cli->inputs.n; k++)
		if (is_random(cli->inputs.at[k]) && add_random(cli, rt, cli->inputs.at[k], i - nfile, &state, in))
			return RT_ERROR;
	return RT_OK;
}
