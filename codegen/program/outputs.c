/* codegen/program/outputs.c - replaces result files atomically
 *
 * A result is written in a temporary folder, moved beside its destination, and renamed. A failed build keeps the old
 * file.
 */
#include "build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOWHERE ((Range){ 0 })

void
write_text(Cx *cx, const char *path, const char *text, int64_t n)
{
	FILE *f = fopen(path, "wb");
	const bool ok = f && fwrite(text, 1, (size_t)n, f) == (size_t)n;

	if (!ok || fclose(f))
		fail(cx, NOWHERE, "%s: %s", path, strerror(errno));
}

/* Copies a file. Returns false and sets errno if not all of it was written. */
static bool
copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wb") : NULL;
	char block[1 << 14];
	struct stat st;
	bool ok = out && !fstat(fileno(in), &st);
	size_t n;
	int why;

	if (ok && rt_replaces(to))
		fchmod(fileno(out), st.st_mode & 0777);
	while (ok && (n = fread(block, 1, sizeof block, in)) > 0)
		ok = fwrite(block, 1, n, out) == n;
	ok &= in && !ferror(in);
	why = errno;
	if (out && fclose(out) && ok) {
		ok = false;
		why = errno;
	}
	if (in)
		fclose(in);
	errno = why;
	return ok;
}

void
drop_part(const char *part, const char *to)
{
	const int why = errno;

	if (part && part != to)
		unlink(part);
	errno = why;
}

void
refuse_overwrite(Cx *cx, const Texts *reads, const Texts *writes)
{
	for (int i = 0; i < writes->n; i++) {
		const char *read = rt_overwrites(writes->at[i], reads->at, reads->n);

		if (read)
			fail_status(cx, EXIT_USAGE, NOWHERE, RT_OVERWRITES, writes->at[i], read);
		if ((read = rt_written_twice(writes->at, i)))
			fail_status(cx, EXIT_USAGE, NOWHERE, RT_WRITTEN_TWICE, writes->at[i], read);
	}
}

const char *
place_beside(Cx *cx, const char *from, const char *to)
{
	const char *part = arena_printf(cx->arena, "%s.part%d", to, (int)getpid());

	if (!rt_replaces(to))
		return copy_file(from, to) ? to : NULL;
	if (!rename(from, part) || (errno == EXDEV && copy_file(from, part)))
		return part;
	drop_part(part, to);
	return NULL;
}

bool
rename_part(const char *part, const char *to)
{
	if (part == to || !rename(part, to))
		return true;
	drop_part(part, to);
	return false;
}

bool
build_move(Cx *cx, const char *from, const char *to)
{
	const char *part = place_beside(cx, from, to);

	return part && rename_part(part, to);
}

const char *
weights_beside(Build *b, const Weights *w)
{
	const char *path = arena_printf(b->cx->arena, "%s/%s", b->dir, b->o->weights_file);
	const RtWeightsHead head = rt_weights_head(w->bytes.n, spill_hash(&w->bytes));
	FILE *f = fopen(path, "wb");
	const bool ok = f && fwrite(&head, sizeof head, 1, f) == 1 && spill_write(&w->bytes, f);

	if (!ok || fclose(f))
		fail(b->cx, NOWHERE, "%s: %s", path, strerror(errno));
	return b->o->weights_file;
}

const char *
link_target(Cx *cx, const char *path)
{
	Buf b = { 0 };
	const char *target;

	rt_whole_target(&b, path);
	target = arena_strdup(cx->arena, b.at);
	buf_free(&b);
	return target;
}
