/*
 * Keeps runtimes that builds compiled for later builds, in folders of ~/.cache/kiln (or XDG_CACHE_HOME).
 *
 * A build holds a shared lock on the folder that it uses until the process ends, and updates the folder's date. A build
 * that makes a folder keeps the KEPT folders used last. It removes the others, unless a process has locked them. If the
 * file system has no locks, nothing is removed.
 */
#include "build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "rt-"                   /* prefix of the folders' names */

enum {
	KEPT = 32,                       /* number of folders to keep, of 1 to 4 MB each */
	TRIES = 3,    /* number of attempts to lock a folder; another build may remove it before it is locked */
};

/* Returns the path of the cache folder. Makes the folder if needed. Null if it cannot be made. */
static const char *
cache_folder(Cx *cx)
{
	const char *top = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *dir;

	if (!top || top[0] != '/') {
		if (!home || home[0] != '/')
			return NULL;
		top = arena_printf(cx->arena, "%s/.cache", home);
	}
	mkdir(top, 0700);
	dir = arena_printf(cx->arena, "%s/kiln", top);
	return !mkdir(dir, 0777) || errno == EEXIST ? dir : NULL;
}

/* Returns a file descriptor that holds the folder's lock. -1 if the folder is gone or cannot be locked. */
static int
lock_folder(const char *path, int how)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat mine, there;

	if (fd >= 0 && !flock(fd, how) && !fstat(fd, &mine) && !stat(path, &there) && mine.st_ino == there.st_ino)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

typedef struct Kept { const char *path; struct timespec used; } Kept;

static int
by_use(const void *a, const void *b)
{
	const struct timespec x = ((const Kept *)a)->used, y = ((const Kept *)b)->used;

	return x.tv_sec != y.tv_sec ? (x.tv_sec < y.tv_sec) - (x.tv_sec > y.tv_sec)
				    : (x.tv_nsec < y.tv_nsec) - (x.tv_nsec > y.tv_nsec);
}

static void
remove_unused(const char *path)
{
	const int fd = lock_folder(path, LOCK_EX | LOCK_NB);
	char name[PATH_MAX];

	if (fd < 0)
		return;
	if (snprintf(name, sizeof name, "%s", path) < (int)sizeof name)
		process_remove_tree(name);
	close(fd);
}

/* Removes the runtimes that were least recently used. */
static void
remove_oldest(Cx *cx, const char *cache)
{
	DIR *d = opendir(cache);
	Vec(Kept) kept = { 0 };

	for (const struct dirent *e; d && (e = readdir(d));) {
		const char *path = arena_printf(cx->arena, "%s/%s", cache, e->d_name);
		struct stat s;

		if (!strncmp(e->d_name, PREFIX, strlen(PREFIX)) && !lstat(path, &s) && S_ISDIR(s.st_mode))
			vec_push(cx->arena, &kept, ((Kept){ path, s.st_mtim }));
	}
	if (d)
		closedir(d);
	if (kept.n > KEPT)
		qsort(kept.at, (size_t)kept.n, sizeof *kept.at, by_use);
	for (int i = KEPT; i < kept.n; i++)
		remove_unused(kept.at[i].path);
}

const char *
cache_kept(Cx *cx, const char *name)
{
	const char *cache = cache_folder(cx);
	const char *dir = cache ? arena_printf(cx->arena, "%s/" PREFIX "%s", cache, name) : NULL;
	bool made = false;
	int fd = -1;

	for (int i = 0; i < TRIES && dir && fd < 0; i++) {
		made = !mkdir(dir, 0777);
		if (!made && errno != EEXIST)
			return NULL;
		fd = lock_folder(dir, LOCK_SH);
	}
	if (fd >= 0)
		futimens(fd, NULL);
	if (made)
		remove_oldest(cx, cache);
	return dir;
}
