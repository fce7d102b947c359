/* codegen/program/outputs.c - replaces result files atomically
 *
 * A result is written in a temporary folder, moved beside its destination, and renamed. Results of one build are all
 * moved before the first one is renamed. A failed build keeps the old files and leaves no new ones.
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

void
write_whole(Cx *cx, const char *path, const char *text, int64_t n)
{
	RtWhole w;

	if (!rt_whole_open(&w, path) || (fwrite(text, 1, (size_t)n, w.file), rt_whole_end(&w, true)))
		fail(cx, NOWHERE, "%s: %s", path, strerror(errno));
}

/* Copies a file; the destination may be standard output. Returns false and sets errno if not all of it was written. */
static bool
copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "rb"), *out = !in ? NULL : rt_is_stdout(to) ? stdout : fopen(to, "wb");
	char block[1 << 14];
	struct stat st;
	bool ok = out && !fstat(fileno(in), &st);
	size_t n;
	int why;

	if (ok && out != stdout && rt_replaces(to))
		fchmod(fileno(out), st.st_mode & 0777);
	while (ok && (n = fread(block, 1, sizeof block, in)) > 0)
		ok = fwrite(block, 1, n, out) == n;
	ok &= in && !ferror(in);
	why = errno;
	if (out && (out == stdout ? fflush(out) : fclose(out)) && ok) {
		ok = false;
		why = errno;
	}
	if (in)
		fclose(in);
	errno = why;
	return ok;
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

/* ---- one result ------------------------------------------------------------------------------------------------- */

/* Whether the file is written in place. This holds for devices, pipes and standard output. */
static bool
is_direct(const char *to)
{
	return rt_is_stdout(to) || !rt_replaces(to);
}

const char *
link_target(Cx *cx, const char *path)
{
	Buf b = { 0 };
	const char *target;

	if (is_direct(path))
		return path;
	rt_whole_target(&b, path);
	target = arena_strdup(cx->arena, b.at);
	buf_free(&b);
	return target;
}

static void
drop_part(const char *part)
{
	const int why = errno;

	unlink(part);
	errno = why;
}

/* Moves a finished file to a temporary name beside its destination: by a rename, or across file systems by a copy.
 * Returns that path. Returns null and sets errno if this fails. */
static const char *
place_beside(Cx *cx, const char *from, const char *to)
{
	const char *part = arena_printf(cx->arena, "%s.part%d", to, (int)getpid());

	if (!rename(from, part) || (errno == EXDEV && copy_file(from, part)))
		return part;
	drop_part(part);
	return NULL;
}

bool
build_move(Cx *cx, const char *from, const char *to)
{
	const char *part = place_beside(cx, from, to);

	if (part && !rename(part, to))
		return true;
	if (part)
		drop_part(part);
	return false;
}

/* ---- all results of a build ------------------------------------------------------------------------------------- */

/* Removes temporary files and new folders, restores the old files, and fails with errno's message. */
static RT_NORETURN void
results_fail(Results *r, const char *path)
{
	const char *why = strerror(errno);

	for (int i = r->at.n - 1; i >= 0; i--) {
		const Result *result = &r->at.at[i];

		if (!result->is_placed)
			unlink(result->part);
		else if (!result->old || rename(result->old, result->to))
			unlink(result->to);
	}
	for (int i = r->folders.n - 1; i >= 0; i--)
		rmdir(r->folders.at[i]);
	fail(r->cx, NOWHERE, "%s: %s", path, why);
}

void
results_parents(Results *r, const char *path, size_t from)
{
	for (const char *p = path + from; (p = strchr(p + 1, '/'));) {
		const char *folder = arena_strndup(r->cx->arena, path, p - path);

		if (!mkdir(folder, 0777))
			vec_push(r->cx->arena, &r->folders, folder);
		else if (errno != EEXIST)
			results_fail(r, folder);
	}
}

void
results_add(Results *r, const char *from, const char *path)
{
	Result result = { .to = link_target(r->cx, path) };

	if (is_direct(result.to)) {
		if (!copy_file(from, result.to))
			results_fail(r, path);
		return;
	}
	if (!(result.part = place_beside(r->cx, from, result.to)))
		results_fail(r, path);
	vec_push(r->cx->arena, &r->at, result);
}

/* Renames one file to its destination. Keeps a link to the old file while others follow, if the file system supports
 * links. */
static void
place_result(Results *r, Result *result)
{
	const char *old = arena_printf(r->cx->arena, "%s.old%d", result->to, (int)getpid());

	if (r->at.n > 1 && !link(result->to, old))
		result->old = old;
	if (!rename(result->part, result->to)) {
		result->is_placed = true;
		return;
	}
	if (result->old)
		drop_part(result->old);
	results_fail(r, result->to);
}

void
results_place(Results *r)
{
	for (int i = 0; i < r->at.n; i++)
		place_result(r, &r->at.at[i]);
	for (int i = 0; i < r->at.n; i++)
		if (r->at.at[i].old)
			unlink(r->at.at[i].old);
}

const char *
weights_beside(Build *b, const Weights *w)
{
	const char *path = arena_printf(b->cx->arena, "%s/%s", b->dir, b->options->weights_file);
	const RtWeightsHead head = rt_weights_head(w->bytes.n, spill_hash(&w->bytes));
	FILE *f = fopen(path, "wb");
	const bool ok = f && fwrite(&head, sizeof head, 1, f) == 1 && spill_write(&w->bytes, f);

	if (!ok || fclose(f))
		fail(b->cx, NOWHERE, "%s: %s", path, strerror(errno));
	return b->options->weights_file;
}
