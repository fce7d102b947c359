/*
 * The runtime inside Kiln, in four parts: its sources as a tar archive (POSIX ustar), the library built from them for
 * this machine, its operators for higher levels of the processor, and, for tcc, the functions of libgcc that the
 * library calls. All are linked into kiln by `ld -r -b binary`; see build.ninja.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

extern const char _binary_rt_tar_start[], _binary_rt_tar_end[];
extern const char _binary_librt_a_start[], _binary_librt_a_end[];
extern const char _binary_level_v3_a_start[], _binary_level_v3_a_end[];
extern const char _binary_level_v4_a_start[], _binary_level_v4_a_end[];
extern const char _binary_ops_v3_a_start[], _binary_ops_v3_a_end[];
extern const char _binary_ops_v4_a_start[], _binary_ops_v4_a_end[];
extern const char _binary_support_o_start[], _binary_support_o_end[];

void
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

static char *
carried_text(Cx *cx, const char *name)
{
	Wanted w = { name, NULL };

	each_file(cx, take_text, &w);
	return w.text;
}

char *
carry_text(Cx *cx, const char *name)
{
	char *text = carried_text(cx, name);

	if (!text)
		BUG("%s is not among the carried sources", name);
	return text;
}

bool
carry_has(Cx *cx, const char *name)
{
	return carried_text(cx, name) != NULL;
}

/* Returns the path of the file that a file in folder `dir` includes as `name`: in "rt/ops", "../rt.h" is rt/rt.h. */
static const char *
included_path(Cx *cx, const char *dir, const char *name)
{
	while (!strncmp(name, "../", 3)) {
		const char *slash = strrchr(dir, '/');

		dir = arena_strndup(cx->arena, dir, slash ? slash - dir : 0);
		name += 3;
	}
	return arena_printf(cx->arena, "%s%s%s", dir, dir[0] ? "/" : "", name);
}

void
carry_add(Cx *cx, const char *path, Texts *files)
{
	const char *slash = strrchr(path, '/');

	for (int i = 0; i < files->n; i++)
		if (!strcmp(files->at[i], path))
			return;
	vec_push(cx->arena, files, path);
	carry_add_included(cx, carry_text(cx, path), arena_strndup(cx->arena, path, slash - path), files);
}

void
carry_add_included(Cx *cx, const char *text, const char *dir, Texts *files)
{
	static const char include[] = "#include \"";

	for (const char *at = text; (at = strstr(at, include)); ) {
		const char *path;

		at += strlen(include);
		path = included_path(cx, dir, arena_strndup(cx->arena, at, (int64_t)strcspn(at, "\"")));
		if (!strncmp(path, "rt/", 3))
			carry_add(cx, path, files);
	}
}

void
carry_files(Cx *cx, const Texts *files, const char *dir)
{
	for (int i = 0; i < files->n; i++) {
		const char *text = carry_text(cx, files->at[i]);

		put_source(cx, (void *)(uintptr_t)dir, files->at[i], text, (int64_t)strlen(text));
	}
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
carry_library(Cx *cx, int level, bool named, const char *path)
{
	static const struct { const char *start, *end; } carried[2][2] = {
		{ { _binary_level_v3_a_start, _binary_level_v3_a_end },
		  { _binary_level_v4_a_start, _binary_level_v4_a_end } },
		{ { _binary_ops_v3_a_start, _binary_ops_v3_a_end }, { _binary_ops_v4_a_start, _binary_ops_v4_a_end } },
	};
	int64_t n;
	const char *text = carry_library_text(&n);

	if (level) {
		text = carried[named][level - 3].start;
		n = carried[named][level - 3].end - text;
	}
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

void
operators_header(Cx *cx, const char *dir)
{
	static const char text[] = "#include \"rt/kiln.h\"\n";
	Texts files = { 0 };

	carry_add_included(cx, text, "", &files);
	carry_files(cx, &files, dir);
	write_text(cx, arena_printf(cx->arena, "%s/kiln.h", dir), text, (int64_t)strlen(text));
}
