/*
 * The runtime inside Kiln: its sources as a tar archive (POSIX ustar), the library built from them for this machine,
 * and, for tcc, the parts of libgcc that the library needs.  All are linked into kiln by `ld -r -b binary`; see
 * build.ninja.
 */
#include "../codegen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

extern const char _binary_rt_tar_start[], _binary_rt_tar_end[];
extern const char _binary_librt_a_start[], _binary_librt_a_end[];
extern const char _binary_support_o_start[], _binary_support_o_end[];

/* Makes the folders on the way to path, below dir. */
static void
make_parents(const char *path, size_t from)
{
	char *copy = strdup(path);

	for (char *p = copy + from + 1; copy && (p = strchr(p, '/')); p++) {
		*p = 0;
		mkdir(copy, 0777);
		*p = '/';
	}
	free(copy);
}

/* Calls each(cx, arg, name, data, n) for the regular files of the tar archive. */
static void
each_file(Cx *cx, void (*each)(Cx *, void *, const char *, const char *, int64_t), void *arg)
{
	const char *p = _binary_rt_tar_start;

	while (p + 512 <= _binary_rt_tar_end && p[0]) {
		const int64_t n = strtoll(p + 124, NULL, 8);
		char name[101];

		memcpy(name, p, 100);
		name[100] = 0;
		if (n < 0 || n > _binary_rt_tar_end - p - 512)
			BUG("the carried sources are damaged at %s", name);
		if (p[156] == '0' || p[156] == 0)
			each(cx, arg, name, p + 512, n);
		p += 512 + (n + 511) / 512 * 512;
	}
}

/* What emitted C includes. */
static void
put_header(Cx *cx, void *arg, const char *name, const char *data, int64_t n)
{
	static const char *const wanted[] = { "rt/rt.h", "rt/limits.h", "rt/kiln.h", "rt/door.h", "rt/needs.h", "rt/dtype.def",
					      "rt/ops/tmath.h" };
	const char *dot = strrchr(name, '.');
	bool is = !strncmp(name, "rt/ops/v", 8) && dot && !strcmp(dot, ".h");

	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		is |= !strcmp(name, wanted[i]);
	if (is)
		write_text(cx, arena_printf(cx->arena, "%s%s", (const char *)arg, strrchr(name, '/')), data, n);
}

static void
put_source(Cx *cx, void *arg, const char *name, const char *data, int64_t n)
{
	const char *path = arena_printf(cx->arena, "%s/%s", (const char *)arg, name);

	make_parents(path, strlen(arg));
	write_text(cx, path, data, n);
}

typedef struct Wanted { const char *name; char *text; } Wanted;

static void
take_text(Cx *cx, void *arg, const char *name, const char *data, int64_t n)
{
	Wanted *w = arg;

	if (!strcmp(name, w->name)) {
		w->text = new(cx->arena, char, n + 1);
		memcpy(w->text, data, (size_t)n);
	}
}

char *
carry_text(Cx *cx, const char *name)
{
	Wanted w = { name, NULL };

	each_file(cx, take_text, &w);
	if (!w.text)
		BUG("%s is not among the carried sources", name);
	return w.text;
}

void
carry_headers(Cx *cx, const char *dir)
{
	each_file(cx, put_header, (void *)(uintptr_t)dir);
}

void
carry_sources(Cx *cx, const char *dir)
{
	each_file(cx, put_source, (void *)(uintptr_t)dir);
}

const char *
carry_library_text(int64_t *n)
{
	*n = _binary_librt_a_end - _binary_librt_a_start;
	return _binary_librt_a_start;
}

void
carry_library(Cx *cx, const char *path)
{
	int64_t n;
	const char *text = carry_library_text(&n);

	write_text(cx, path, text, n);
}

const char *
carry_support_text(int64_t *n)
{
	*n = _binary_support_o_end - _binary_support_o_start;
	return _binary_support_o_start;
}

uint64_t
carry_hash(void)
{
	return hash_bytes(_binary_rt_tar_start, _binary_rt_tar_end - _binary_rt_tar_start);
}
