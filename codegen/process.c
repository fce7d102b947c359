/* codegen/process.c - children, temporary folders, and what is told on the way
 *
 * Whatever is written on the way to a result lies in a folder that process_folder makes and removes: when its work is
 * done, when it fails, and when the user stops it (Ctrl-C).  A signal only leaves a note and passes on to the child that
 * runs; the work fails at its next step, the folder goes, and then the signal ends Kiln as it would have.
 */
#include "codegen.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define NOWHERE ((Range){ 0 })

/* What a handler may touch; the only state of Kiln that is not in a Cx. */
static volatile sig_atomic_t stopped, child;
static const char *folder[4];            /* those in use, a build's within another */
static int nfolder;

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
enum { NSIGNAL = sizeof signals / sizeof *signals };

/* ---- children ------------------------------------------------------------------------------------------------- */

static void
note_signal(int number)
{
	stopped = number;
	if (child)
		kill((pid_t)child, SIGTERM);
}

void
process_check(Cx *cx)
{
	if (stopped)
		fail(cx, NOWHERE, "stopped");
}

bool
process_start(char *const *argv, const char *out, const char *log, Process *p)
{
	posix_spawn_file_actions_t actions;

	*p = (Process){ .name = argv[0], .log = log, .begin = rt_now() };
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (out)
		posix_spawn_file_actions_addopen(&actions, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	else
		posix_spawn_file_actions_adddup2(&actions, 2, 1);
	errno = posix_spawnp(&p->pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (!errno)
		child = (sig_atomic_t)p->pid;
	return !errno;
}

int
process_end(Process *p)
{
	struct rusage use = { 0 };
	int status = 0;

	while (wait4(p->pid, &status, 0, &use) < 0 && errno == EINTR)
		;
	if (child == (sig_atomic_t)p->pid)
		child = 0;
	p->pid = 0;
	p->ns = rt_now() - p->begin;
	p->peak_bytes = (int64_t)use.ru_maxrss * 1024;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int
process_run(Cx *cx, char *const *argv, const char *out, const char *log, Process *p)
{
	int status;

	process_check(cx);
	if (!process_start(argv, out, log, p))
		fail(cx, NOWHERE, "%s: %s", argv[0], strerror(errno));
	status = process_end(p);
	process_check(cx);
	return status;
}

/* For a library that ends the process when it fails.  The child has this process's memory, none of its threads and none
 * of its folders. */
int
process_fork(Cx *cx, void (*body)(void *), void *arg, const char *log)
{
	Process p = { .name = "fork", .log = log, .begin = rt_now() };
	int out;

	process_check(cx);
	fflush(NULL);
	p.pid = fork();
	if (p.pid < 0)
		fail(cx, NOWHERE, "fork: %s", strerror(errno));
	if (!p.pid) {
		nfolder = 0;
		out = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
		if (out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
			_exit(EXIT_BUG);
		body(arg);
		fflush(NULL);
		_exit(EXIT_OK);
	}
	child = (sig_atomic_t)p.pid;
	out = process_end(&p);
	process_check(cx);
	return out;
}

char *
process_log(Cx *cx, const char *path, int64_t most)
{
	FILE *f = fopen(path, "rb");
	char part[4096], *text;
	Buf b = { 0 };
	size_t n;

	while (f && b.n < most && (n = fread(part, 1, sizeof part, f)))
		buf_add(&b, part, (int64_t)n < most - b.n ? (int64_t)n : most - b.n);
	if (f)
		fclose(f);
	text = arena_strndup(cx->arena, b.at ? b.at : "", b.n);
	buf_free(&b);
	return text;
}

RT_NORETURN void
process_fail(Cx *cx, const char *name, int status, const char *what, const char *log)
{
	static const char *const room[] = { "memory full", "out of memory", "memory exhausted", "Cannot allocate memory",
					    "failed to map", "No space left", "File too large", "Disk quota", "Killed signal" };
	const char *said = process_log(cx, log, 6000);

	for (size_t i = 0; i < sizeof room / sizeof *room; i++)
		if (strstr(said, room[i]))
			fail(cx, NOWHERE, "%s failed for want of memory or disk space:\n%s", name, said);
	fail_status(cx, status, NOWHERE, "%s %s:\n%s", name, what, said);
}

/* ---- temporary folders ------------------------------------------------------------------------------------------ */

typedef struct Work { ProcessBody *body; const char *dir; void *arg; } Work;

static int
remove_one(const char *path, const struct stat *s, int flag, struct FTW *ftw)
{
	(void)s, (void)flag, (void)ftw;
	return remove(path);
}

/* Also when a library ends the process. */
static void
remove_folders(void)
{
	while (nfolder > 0)
		nftw(folder[--nfolder], remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
work(Cx *cx, void *arg)
{
	Work *w = arg;

	w->body(cx, w->dir, w->arg);
}

void
process_folder(Cx *cx, ProcessBody *body, void *arg)
{
	struct sigaction ours = { .sa_handler = note_signal }, before[NSIGNAL];
	const char *top = getenv("TMPDIR");
	char *dir = arena_printf(cx->arena, "%s/kiln-XXXXXX", top && top[0] ? top : "/tmp");
	Work w = { body, dir, arg };
	bool ok;

	for (int i = 0; i < NSIGNAL; i++) {
		sigaction(signals[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &ours, NULL);
	}
	if (!mkdtemp(dir))
		fail(cx, NOWHERE, "%s: %s", dir, strerror(errno));
	if (nfolder == 4)
		BUG("folders in folders");
	if (!nfolder)
		atexit(remove_folders);
	folder[nfolder++] = dir;
	ok = cx_try(cx, work, &w);
	nftw(folder[--nfolder], remove_one, 16, FTW_DEPTH | FTW_PHYS);
	for (int i = 0; i < NSIGNAL; i++)
		sigaction(signals[i], &before[i], NULL);
	if (stopped && !nfolder)
		raise(stopped);
	if (!ok)
		fail_again(cx);
}

/* ---- progress ----------------------------------------------------------------------------------------------------- */

/* One line that is written over, on a terminal only; null: it goes. */
void
progress(const char *fmt, ...)
{
	va_list ap;

	if (!isatty(2))
		return;
	fputs("\r\033[K", stderr);
	if (fmt) {
		va_start(ap, fmt);
		fputs("kiln: ", stderr);
		vfprintf(stderr, fmt, ap);
		va_end(ap);
	}
	fflush(stderr);
}

void
say_time(const Cli *cli, const char *what, int64_t start)
{
	if (cli->time)
		fprintf(stderr, "%-18s %9.3f ms\n", what, (double)(rt_now() - start) / 1e6);
}
