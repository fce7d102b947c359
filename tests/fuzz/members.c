/* tests/fuzz/members.c - archives with any members: each must end with a model or a message
 *
 * An input is a text that names members and their bytes,
 *
 *    == data.pkl
 *    ...
 *    == code/__torch__.py
 *    ...
 *
 * and becomes an archive without CRCs, so that changed bytes reach the readers of pickles, model.json, debug records
 * and source text.  All methods of the loaded model are compiled and lowered. */
#include "compiler.h"

#include "../../frontend/frontend.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct Part { const char *name, *data; uint32_t nname, n; } Part;
enum { MOST = 40 };

static uint32_t
split(const char *text, size_t n, Part *part)
{
	const char *end = text + n, *line;
	uint32_t count = 0;

	for (const char *p = text; p && count < MOST && end - p > 3 && !memcmp(p, "== ", 3);) {
		Part *m = &part[count++];

		line = memchr(p, '\n', (size_t)(end - p));
		line = line ? line : end - 1;
		*m = (Part){ .name = p + 3, .nname = (uint32_t)(line - p - 3), .data = line + 1 };
		p = memmem(line, (size_t)(end - line), "\n== ", 4);
		m->n = (uint32_t)((p && p > line ? p : end) - line - 1);
		p = p ? p + 1 : NULL;
	}
	return count;
}

static void
put(Buf *b, int bytes, uint32_t n)
{
	for (; bytes; bytes--, n >>= 8)
		buf_add(b, (const char[]){ (char)n }, 1);
}

/* Writes the fields that a local header and an entry of the directory share: version, flags, method, time, date, CRC,
 * sizes. */
static void
put_entry(Buf *b, const Part *m)
{
	put(b, 2, 20), put(b, 2, 0), put(b, 2, 0), put(b, 2, 0), put(b, 2, 33), put(b, 4, 0);
	put(b, 4, m->n), put(b, 4, m->n), put(b, 2, m->nname + 2), put(b, 2, 0);
}

static void
zip(Buf *b, const Part *part, uint32_t n)
{
	uint32_t at[MOST], directory;

	for (uint32_t i = 0; i < n; i++) {
		at[i] = (uint32_t)b->n;
		put(b, 4, 0x04034b50), put_entry(b, &part[i]);
		buf_puts(b, "m/"), buf_add(b, part[i].name, part[i].nname), buf_add(b, part[i].data, part[i].n);
	}
	directory = (uint32_t)b->n;
	for (uint32_t i = 0; i < n; i++) {
		put(b, 4, 0x02014b50), put(b, 2, 20), put_entry(b, &part[i]);
		put(b, 2, 0), put(b, 2, 0), put(b, 2, 0), put(b, 4, 0), put(b, 4, at[i]);
		buf_puts(b, "m/"), buf_add(b, part[i].name, part[i].nname);
	}
	put(b, 4, 0x06054b50), put(b, 4, 0), put(b, 2, n), put(b, 2, n);
	at[0] = (uint32_t)b->n;
	put(b, 4, at[0] - 12 - directory), put(b, 4, directory), put(b, 2, 0);
}

static void
compile(Cx *cx, void *fn)
{
	function_graph(cx, fn);
	graph_lint(((Function *)fn)->graph);
	ops_compile_all(cx, fn);
	code_lower(cx, fn, NULL);
}

static void
load(Cx *cx, void *path)
{
	Module *m = archive_load(cx, path);
	const ClassInfo *info = class_info(m->type);

	for (int i = 0; i < info->methods.n; i++)
		if (!cx_try(cx, compile, info->methods.at[i]))
			check(cx);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	Arena a = { .limit = (int64_t)1 << 30 };
	Cx cx = { .arena = &a };
	Part part[MOST];
	Buf b = { 0 };
	char path[64];
	int fd;

	schema_parser = schema_parse;
	zip(&b, part, split((const char *)data, n, part));
	fd = memfd_create("archive", 0);
	if (fd < 0 || write(fd, b.at, (size_t)b.n) != (ssize_t)b.n)
		abort();
	buf_free(&b);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (!cx_try(&cx, load, path))
		check(&cx);
	close(fd);
	finish(&cx);
	return 0;
}
