/* rt/whole.c - writes files so that they are either complete or absent
 *
 * A file is written under a temporary name in the target's folder (the "part") and renamed when it is complete. While a
 * part exists, signals that would end the process are blocked, so that no part is left behind. Devices and pipes are
 * written directly, and so is the file that is this process's standard output ("-", /dev/stdout). */
#include "rt.h"
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool
rt_replaces(const char *path)
{
	struct stat st;

	return stat(path, &st) || S_ISREG(st.st_mode);
}

/* Whether the path is this process's standard output. A terminal does not count, because results and prints may mix
 * there. */
bool
rt_is_stdout(const char *path)
{
	struct stat to, out;

	return path && (!strcmp(path, "-") || (!stat(path, &to) && !fstat(1, &out) && to.st_dev == out.st_dev &&
		to.st_ino == out.st_ino && !S_ISCHR(to.st_mode)));
}

void
rt_print_aside(RtCx *cx, const char *text, int64_t n)
{
	(void)cx;
	fwrite(text, 1, (size_t)n, stderr);
}

/* Appends the path of a symbolic link's target, which need not exist. Returns false, with errno set, on failure. */
static bool
add_link(Buf *b, const char *link)
{
	char to[PATH_MAX];
	const ssize_t n = readlink(link, to, sizeof to - 1);
	const char *slash = strrchr(link, '/');

	if (n < 0)
		return false;
	to[n] = 0;
	if (*to != '/' && slash)
		buf_add(b, link, slash + 1 - link);
	buf_puts(b, to);
	return true;
}

/* Appends the path of the file. Follows symbolic links, so that the file is replaced and not the link. */
void
rt_whole_target(Buf *b, const char *path)
{
	enum { LINKS = 40 };
	Buf at = { 0 }, next = { 0 };

	buf_puts(&at, path);
	for (int i = 0; i < LINKS && add_link(&next, at.at); i++) {
		const Buf old = at;

		at = next;
		next = old;
		next.n = 0;
	}
	buf_puts(b, at.at);
	buf_free(&at);
	buf_free(&next);
}

/* ---- refusing to replace files that are read, or to write a file twice ------------------------------------------- */

static bool
same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

const char *
rt_overwrites(const char *out, const char *const *in, int nin)
{
	struct stat to, from;

	if (!out || stat(out, &to) || !S_ISREG(to.st_mode))
		return NULL;
	for (int i = 0; i <= nin; i++) {
		const char *path = i < nin ? in[i] : "/proc/self/exe";

		if (!(strcmp(path, "-") ? stat(path, &from) : fstat(0, &from)) && same_inode(&from, &to))
			return i == nin ? "the running program" : strcmp(path, "-") ? path : "standard input";
	}
	return NULL;
}

/* Appends the path's folder to *folder and returns the name in it. */
static const char *
split_path(const char *path, Buf *folder)
{
	const char *slash = strrchr(path, '/');
	const int64_t n = slash ? slash > path ? slash - path : 1 : 1;

	buf_add(folder, slash ? path : ".", n);
	return slash ? slash + 1 : path;
}

/* Whether they are the same name in the same folder. The file need not exist. */
static bool
same_name(const char *a, const char *b)
{
	struct stat stat_a, stat_b;
	Buf folder_a = { 0 }, folder_b = { 0 };
	bool same = !strcmp(split_path(a, &folder_a), split_path(b, &folder_b));
	const bool has_a = same && !stat(folder_a.at, &stat_a), has_b = same && !stat(folder_b.at, &stat_b);

	if (has_a || has_b)
		same = has_a && has_b && same_inode(&stat_a, &stat_b);
	else
		same = same && same_name(folder_a.at, folder_b.at);
	buf_free(&folder_a);
	buf_free(&folder_b);
	return same;
}

static bool
same_file(const char *a, const char *b)
{
	struct stat to_a, to_b;
	const bool has_a = !stat(a, &to_a), has_b = !stat(b, &to_b);
	Buf path_a = { 0 }, path_b = { 0 };
	bool same;

	if (rt_is_stdout(a) && rt_is_stdout(b))
		return true;
	if (has_a || has_b)
		return has_a && has_b && S_ISREG(to_a.st_mode) && same_inode(&to_a, &to_b);
	rt_whole_target(&path_a, a);
	rt_whole_target(&path_b, b);
	same = same_name(path_a.at, path_b.at);
	buf_free(&path_a);
	buf_free(&path_b);
	return same;
}

const char *
rt_written_twice(const char *const *out, int i)
{
	for (int k = 0; out[i] && k < i; k++)
		if (out[k] && same_file(out[k], out[i]))
			return out[k];
	return NULL;
}

/* ---- temporary files ("parts") ---------------------------------------------------------------------------------- */

/* Opens a new part. Returns -1, with errno set, on failure. */
static int
open_part(RtWhole *w)
{
	enum { TRIES = 100 };
	int fd = -1;

	for (int i = 0; fd < 0 && i < TRIES; i++) {
		w->part.n = 0;
		buf_printf(&w->part, "%s.part%d.%d", w->target.at, (int)getpid(), i);
		fd = open(w->part.at, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

static FILE *
open_direct(const char *path)
{
	return rt_is_stdout(path) ? stdout : fopen(path, "wb");
}

/* ---- removing parts when memory is exhausted ------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static RtWhole *parts;

void
rt_parts_remove(void)
{
	pthread_mutex_lock(&lock);
	for (RtWhole *w = parts; w; w = w->next)
		unlink(w->part.at);
	parts = NULL;
	pthread_mutex_unlock(&lock);
}

static void
note_part(RtWhole *w)
{
	pthread_mutex_lock(&lock);
	w->next = parts;
	parts = w;
	pthread_mutex_unlock(&lock);
}

static void
forget_part(const RtWhole *w)
{
	RtWhole **at = &parts;

	pthread_mutex_lock(&lock);
	while (*at && *at != w)
		at = &(*at)->next;
	if (*at)
		*at = w->next;
	pthread_mutex_unlock(&lock);
}

/* ---- opening and closing --------------------------------------------------------------------------------------- */

static void
whole_free(RtWhole *w)
{
	forget_part(w);
	if (w->part.at)
		pthread_sigmask(SIG_SETMASK, &w->before, NULL);
	buf_free(&w->part);
	buf_free(&w->target);
}

FILE *
rt_whole_open(RtWhole *w, const char *path)
{
	sigset_t all;
	int fd, why;

	memset(w, 0, sizeof *w);
	if (rt_is_stdout(path) || !rt_replaces(path))
		return w->file = open_direct(path);
	rt_whole_target(&w->target, path);
	buf_puts(&w->part, "");
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &w->before);
	fd = open_part(w);
	if (fd >= 0 && (w->file = fdopen(fd, "wb"))) {
		note_part(w);
		return w->file;
	}
	why = errno;
	if (fd >= 0) {
		close(fd);
		unlink(w->part.at);
	}
	whole_free(w);
	errno = why;
	return NULL;
}

/* Writes the stream's buffer. Returns 0 or an error number. If an earlier error of the stream has lost its number,
 * writes one more byte to meet the error again; this byte does not harm an incomplete file. */
static int
flush(FILE *f)
{
	errno = 0;
	if (!fflush(f) && !ferror(f))
		return 0;
	if (!errno && write(fileno(f), "", 1) == 1)
		errno = EIO;
	return errno;
}

int
rt_whole_end(RtWhole *w, bool good)
{
	int why = flush(w->file);
	bool whole = good && !why;

	if (w->file != stdout && fclose(w->file) && whole) {
		whole = false;
		why = errno;
	}
	if (w->part.at && whole && rename(w->part.at, w->target.at)) {
		whole = false;
		why = errno;
	}
	if (w->part.at && !whole)
		unlink(w->part.at);
	whole_free(w);
	errno = why;
	return whole ? RT_OK : RT_ERROR;
}
