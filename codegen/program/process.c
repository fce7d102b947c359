/* codegen/program/process.c - child processes, temporary folders, progress messages
 *
 * Temporary files are in a folder that process_folder makes and removes, also when its work fails or the user stops it.
 * The folder is TMPDIR of child processes. Each child has its own process group. A signal that would end Kiln only sets
 * a flag and ends the groups of running children. Then the work fails at its next step, the folder is removed, and the
 * signal is raised again. Children are asked to end by SIGTERM, since a child that is Kiln has children and folders of
 * its own. Children that still run after some seconds, or at a second signal, are killed. */
#include "program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define NOWHERE ((Range){ 0 })

/* State for signal handlers. It is the only state of Kiln that is not in a Cx. */
static volatile sig_atomic_t stopped, child[RT_LIMIT_CHILDREN + 1];    /* process ids of children; 0 for a free entry */
static const char *folder[4];            /* temporary folders in use; a build's folder may be within another one */
static int nfolder;
static int spare_descriptor = -1;        /* spare file descriptor, which is closed when removing folders needs one */

/* All signals that end a process by default, except those that report its own errors. */
static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGVTALRM,
			       SIGPROF, SIGIO, SIGPWR, SIGSTKFLT };
enum { NSIGNAL = sizeof signals / sizeof *signals, NCHILD = sizeof child / sizeof *child, SECONDS_TO_END = 5 };

/* ---- children ------------------------------------------------------------------------------------------------- */

/* Handles a signal. A second signal, or the alarm of the first one, kills the children. */
static void
note_signal(int number)
{
	const int how = stopped ? SIGKILL : SIGTERM;

	if (!stopped) {
		stopped = number;
		alarm(SECONDS_TO_END);
	}
	for (int i = 0; i < NCHILD; i++)
		if (child[i])
			kill(-(pid_t)child[i], how);
}

/* Makes signals only set a flag. Stores the old handlers in `before`. */
static void
note_signals(struct sigaction *before)
{
	const struct sigaction ours = { .sa_handler = note_signal };

	for (int i = 0; i < NSIGNAL; i++) {
		sigaction(signals[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &ours, NULL);
	}
}

static void
restore_signals(const struct sigaction *before)
{
	for (int i = 0; i < NSIGNAL; i++)
		sigaction(signals[i], &before[i], NULL);
}

/* Restores the handlers. Outside of all folders, a signal that has arrived now ends Kiln. */
static void
end_as_signalled(const struct sigaction *before)
{
	if (stopped && !nfolder)
		alarm(0);
	restore_signals(before);
	if (stopped && !nfolder)
		raise(stopped);
}

/* Fails if a signal has asked Kiln to stop. */
static void
process_check(Cx *cx)
{
	if (stopped)
		fail(cx, NOWHERE, "stopped");
}

/* Replaces entry `from` of the child table by `to`. 0 stands for a free entry. */
static void
note_child(pid_t from, pid_t to)
{
	int i = 0;

	while (i < NCHILD && child[i] != (sig_atomic_t)from)
		i++;
	if (i == NCHILD)
		BUG("too many children at once");
	child[i] = (sig_atomic_t)to;
}

/* Blocks signals while a child is created, so that every running child is in the table. */
static void
hold_signals(sigset_t *before)
{
	sigset_t ours;

	sigemptyset(&ours);
	for (int i = 0; i < NSIGNAL; i++)
		sigaddset(&ours, signals[i]);
	sigprocmask(SIG_BLOCK, &ours, before);
}

/* Returns this process's environment with another TMPDIR, in memory from malloc. Null, with errno set, on failure. */
static char **
environment(char *tmpdir)
{
	char **env;
	int n = 0, m = 0;

	while (environ[n])
		n++;
	if (!(env = malloc(sizeof *env * ((size_t)n + 2))))
		return NULL;
	for (int i = 0; i < n; i++)
		if (strncmp(environ[i], "TMPDIR=", 7))
			env[m++] = environ[i];
	env[m++] = tmpdir;
	env[m] = NULL;
	return env;
}

/* Starts a child. Returns 0 or an error number. */
static int
spawn(char *const *argv, const char *out, const char *log, const sigset_t *mask, pid_t *pid)
{
	char tmpdir[4096];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	char **env;
	int bad;

	if (snprintf(tmpdir, sizeof tmpdir, "TMPDIR=%s", nfolder ? folder[nfolder - 1] : "/tmp") >= (int)sizeof tmpdir)
		return ENAMETOOLONG;
	if (!(env = environment(tmpdir)))
		return errno;
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, mask);
	posix_spawn_file_actions_init(&actions);
	bad = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	bad = bad ? bad : posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (out)
		bad = bad ? bad
			  : posix_spawn_file_actions_addopen(&actions, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	else
		bad = bad ? bad : posix_spawn_file_actions_adddup2(&actions, 2, 1);
	bad = bad ? bad : posix_spawnp(pid, argv[0], &actions, &attr, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	free(env);
	return bad;
}

bool
process_start(char *const *argv, const char *out, const char *log, Process *p)
{
	sigset_t before;
	int bad;

	*p = (Process){ .name = argv[0], .log = log, .begin = rt_now() };
	hold_signals(&before);
	bad = stopped ? EINTR : spawn(argv, out, log, &before, &p->pid);
	if (!bad)
		note_child(0, p->pid);
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = bad;
	return !bad;
}

/* Waits until the process and all its descendants have ended. Children of a killed child have become this process's
 * own. */
int
process_end(Process *p)
{
	struct rusage use = { 0 };
	int status = 0, none;
	pid_t got;

	RT_ASSERT(p->pid > 0);
	while ((got = wait4(p->pid, &status, 0, &use)) < 0 && errno == EINTR)
		;
	note_child(p->pid, 0);
	if (stopped) {
		kill(-p->pid, SIGKILL);
		while (waitpid(-p->pid, &none, 0) > 0 || errno == EINTR)
			;
	}
	p->pid = 0;
	p->ns = rt_now() - p->begin;
	p->peak_bytes = (int64_t)use.ru_maxrss * 1024;
	if (got < 0)
		return EXIT_INPUT;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool
process_crashed(int status)
{
	const int number = status - 128;

	return number == SIGSEGV || number == SIGBUS || number == SIGABRT || number == SIGILL || number == SIGFPE;
}

int
process_run(Cx *cx, char *const *argv, const char *out, const char *log, Process *p)
{
	int status;

	process_check(cx);
	if (!process_start(argv, out, log, p))
		fail(cx, NOWHERE, "%s: %s%s", argv[0], strerror(errno),
		     errno == ENOEXEC ? " (what is built for another machine is run by a --runner)" : "");
	status = process_end(p);
	process_check(cx);
	return status;
}

typedef struct Fork { void (*body)(void *); void *arg; int out, status; } Fork;

/* Runs in the child process. It must not remove the folders of its parent. */
RT_NORETURN static void
run_forked(const Fork *f, const sigset_t *mask)
{
	nfolder = 0;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < NSIGNAL; i++)
		signal(signals[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (dup2(f->out, 1) < 0 || dup2(f->out, 2) < 0)
		_exit(EXIT_INPUT);
	f->body(f->arg);
	fflush(NULL);
	_exit(EXIT_OK);
}

static void
fork_and_wait(Cx *cx, void *arg)
{
	Process p = { .name = "fork", .begin = rt_now() };
	Fork *f = arg;
	sigset_t before;
	int why;

	process_check(cx);
	fflush(NULL);
	hold_signals(&before);
	p.pid = fork();
	why = errno;
	if (!p.pid)
		run_forked(f, &before);
	if (p.pid > 0) {
		setpgid(p.pid, p.pid);           /* parent and child both do this, because either may run first */
		note_child(0, p.pid);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (p.pid < 0)
		fail(cx, NOWHERE, "fork: %s", strerror(why));
	f->status = process_end(&p);
	process_check(cx);
}

/* Runs `body` in a child process, for a library that ends the process when it fails. The child has this process's
 * memory and none of its other threads. */
int
process_fork(Cx *cx, void (*body)(void *), void *arg, const char *log)
{
	Fork f = { body, arg, .out = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) };
	struct sigaction before[NSIGNAL];
	bool ok;

	if (f.out < 0)
		fail(cx, NOWHERE, "%s: %s", log, strerror(errno));
	note_signals(before);
	ok = cx_try(cx, fork_and_wait, &f);
	close(f.out);
	end_as_signalled(before);
	if (!ok)
		fail_again(cx);
	return f.status;
}

char *
process_log(Cx *cx, const char *path, int64_t most)
{
	FILE *f = fopen(path, "rb");
	char part[4096], *text;
	Buf b = { 0 };
	size_t n;

	RT_ASSERT(most >= 0);
	while (f && b.n < most && (n = fread(part, 1, sizeof part, f)))
		buf_add(&b, part, (int64_t)n < most - b.n ? (int64_t)n : most - b.n);
	if (f)
		fclose(f);
	text = arena_strndup(cx->arena, b.at ? b.at : "", b.n);
	buf_free(&b);
	return text;
}

/* Does this compiler message refer to code that Kiln emitted? */
static bool
blames_text(const char *said)
{
	return strstr(said, "program.c:") || strstr(said, "undefined") || strstr(said, "unresolved") ||
	       strstr(said, "multiple definition") || strstr(said, "defined twice");
}

/* Fails with the status for the log's contents. A lack of memory or disk, or a compiler that was killed or does not
 * work, is not a bug of Kiln. */
RT_NORETURN void
process_fail(Cx *cx, const char *name, int status, const char *what, const char *log)
{
	static const char *const room[] = { "memory full", "out of memory", "memory exhausted",
					    "Cannot allocate memory", "failed to map", "No space left",
					    "File too large", "Disk quota", "Killed signal", "Too many open files",
					    "Resource temporarily unavailable", "not found" };
	const char *said = process_log(cx, log, 6000);

	process_check(cx);
	for (size_t i = 0; i < sizeof room / sizeof *room; i++)
		if (strstr(said, room[i]))
			fail(cx, NOWHERE, "%s failed because memory, disk space or files ran out:\n%s", name, said);
	if (status == EXIT_BUG && !blames_text(said))
		fail(cx, NOWHERE, "%s failed:\n%s", name,
		     said[0] ? said : "it was killed, or could not write what is wrong");
	fail_status(cx, status, NOWHERE, "%s %s:\n%s", name, what, said);
}

/* ---- temporary folders ------------------------------------------------------------------------------------------ */

typedef struct Work { ProcessBody *body; const char *dir; void *arg; } Work;

/* Removes the files of a folder. Returns false if it contains a folder, and appends that folder's name to path. */
static bool
remove_files(char *path, int fd)
{
	_Alignas(struct dirent64) char block[4096];
	ssize_t n;

	while ((n = getdents64(fd, block, sizeof block)) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *d = (const struct dirent64 *)(block + at);

			at += d->d_reclen;
			if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") || !unlinkat(fd, d->d_name, 0) ||
			    errno != EISDIR)
				continue;
			if (strlen(path) + strlen(d->d_name) + 2 > PATH_MAX)
				continue;
			strcat(strcat(path, "/"), d->d_name);
			return false;
		}
	return true;
}

static int
open_folder(const char *path)
{
	const int how = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = open(path, how);

	if (fd < 0 && spare_descriptor >= 0) {
		close(spare_descriptor);
		spare_descriptor = -1;
		fd = open(path, how);
	}
	return fd;
}

/* Removes a folder and its contents. Uses one descriptor and no memory, since there may be no more. */
bool
process_remove_tree(char *path)
{
	const size_t n = strlen(path);
	bool all = false, going = true;

	while (!all && going) {
		const int fd = open_folder(path);

		if (fd < 0)
			break;
		all = remove_files(path, fd);
		close(fd);
		going = all || process_remove_tree(path);
		path[n] = 0;
	}
	return !rmdir(path);
}

static void
remove_last_folder(void)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof path, "%s", folder[--nfolder]);
	process_remove_tree(path);
}

/* Removes the temporary folders, also when a library ends the process. */
static void
remove_folders(void)
{
	while (nfolder > 0)
		remove_last_folder();
}

static void
run_body(Cx *cx, void *arg)
{
	Work *w = arg;

	w->body(cx, w->dir, w->arg);
}

/* Makes a temporary folder. Returns false and sets errno on failure. */
static bool
make_folder(char *dir)
{
	static bool prepared;

	if (!prepared && atexit(remove_folders))
		return false;
	prepared = true;
	prctl(PR_SET_CHILD_SUBREAPER, 1);        /* see process_end */
	if (spare_descriptor < 0 && (spare_descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
		return false;
	if (!mkdtemp(dir))
		return false;
	if (nfolder == sizeof folder / sizeof *folder)
		BUG("folders in folders");
	folder[nfolder++] = dir;
	return true;
}

void
process_folder(Cx *cx, ProcessBody *body, void *arg)
{
	struct sigaction before[NSIGNAL];
	const char *top = getenv("TMPDIR");
	char *dir = arena_printf(cx->arena, "%s/kiln-XXXXXX", top && top[0] ? top : "/tmp");
	Work w = { body, dir, arg };
	int why;
	bool ok;

	note_signals(before);
	if (!make_folder(dir)) {
		why = errno;
		restore_signals(before);
		fail(cx, NOWHERE, "%s: %s", dir, strerror(why));
	}
	ok = cx_try(cx, run_body, &w);
	remove_last_folder();
	end_as_signalled(before);
	if (!ok)
		fail_again(cx);
}

char *const *
process_by_runner(Cx *cx, const char *runner, char *const *argv)
{
	Vec(char *) all = { 0 };
	char *copy = arena_strdup(cx->arena, runner ? runner : ""), *state = NULL;

	for (char *w = strtok_r(copy, " \t", &state); w; w = strtok_r(NULL, " \t", &state))
		vec_push(cx->arena, &all, w);
	for (int i = 0; i == 0 || argv[i - 1]; i++)
		vec_push(cx->arena, &all, argv[i]);
	return all.at;
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

/* Shows a line of progress in place of the last one, on a terminal only. If fmt is null, clears the line. */
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

static void
read_file(Cx *cx, const char *path, Buf *text)
{
	FILE *f = fopen(path, "rb");
	char part[4096];
	size_t n;
	int why;

	if (!f)
		fail(cx, (Range){0}, "%s: cannot be opened: %s", path, strerror(errno));
	buf_puts(text, "");
	while ((n = fread(part, 1, sizeof part, f)))
		buf_add(text, part, (int64_t)n);
	why = ferror(f) ? errno : 0;
	fclose(f);
	if (why)
		fail(cx, (Range){0}, "%s: cannot be read: %s", path, strerror(why));
}

const char *
file_text(Cx *cx, const char *path)
{
	Buf b = {0};

	read_file(cx, path, &b);
	return arena_text(cx->arena, &b);
}
