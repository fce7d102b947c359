/* tests/faults/inject.c - runs a program whose nth system call of a kind fails
 *
 * usage: inject KIND N HOW COUNT PROGRAM ARGUMENT...
 *
 * KIND is write, read, open, fork or mmap.  N counts from 1, starting at the program's first instruction, so that the
 * loader's calls do not count.  0: none fails.  HOW is one, if that call alone fails, or on, if all later ones fail,
 * too.  COUNT is a file for the number of calls.  Writes to standard error do not count, or no message could appear.
 * Threads and forked children count, too, until they run another program.  The exit status is the program's, or 128
 * plus the signal that ended it.  125: tracing is not possible here. */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/ptrace.h>

enum { NOT_HERE = 125 };

static const struct { const char *name; int error, call[8]; } kinds[] = {
	{ "write", ENOSPC, { SYS_write, SYS_pwrite64, SYS_writev, -1 } },
	{ "read", EIO, { SYS_read, SYS_pread64, SYS_readv, -1 } },
	{ "open", EMFILE, { SYS_open, SYS_openat, SYS_dup, SYS_pipe2, -1 } },
	{ "fork", EAGAIN, { SYS_fork, SYS_vfork, SYS_clone, SYS_clone3, -1 } },
	{ "mmap", ENOMEM, { SYS_mmap, SYS_mremap, -1 } },
};

static int kind;
static long at, count;
static int on;

static int
is_of_kind(unsigned long long call)
{
	for (int i = 0; kinds[kind].call[i] >= 0; i++)
		if ((unsigned long long)kinds[kind].call[i] == call)
			return 1;
	return 0;
}

/* Returns the address of the first instruction of the program itself. */
static unsigned long
entry_of(pid_t pid)
{
	char path[64];
	Elf64_auxv_t a;
	unsigned long entry = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
	if (!(f = fopen(path, "rb")))
		exit(NOT_HERE);
	while (fread(&a, sizeof a, 1, f) == 1)
		if (a.a_type == AT_ENTRY)
			entry = a.a_un.a_val;
	fclose(f);
	return entry;
}

/* Runs to this instruction, by a breakpoint. */
static void
run_to_entry(pid_t pid)
{
	const unsigned long entry = entry_of(pid);
	const long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)entry, NULL);
	struct user_regs_struct r;
	int status;

	ptrace(PTRACE_POKETEXT, pid, (void *)entry, (void *)((word & ~0xffL) | 0xcc));
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		exit(NOT_HERE);
	ptrace(PTRACE_POKETEXT, pid, (void *)entry, (void *)word);
	ptrace(PTRACE_GETREGS, pid, NULL, &r);
	r.rip = entry;
	ptrace(PTRACE_SETREGS, pid, NULL, &r);
}

/* Leaves the process no file descriptors except those that it closes. */
static void
close_table(pid_t pid)
{
	char path[64], to[64];
	struct rlimit most = { 0, 0 };

	for (int fd = 0; fd < 1024 && !most.rlim_max; fd++) {
		snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
		if (readlink(path, to, sizeof to) < 0)
			most.rlim_cur = most.rlim_max = (rlim_t)fd;
	}
	prlimit(pid, RLIMIT_NOFILE, &most, NULL);
	at = 0;
}

/* Makes a call fail: at its entry replaces the number of the system call, at its exit the result. */
static void
at_call(pid_t pid)
{
	struct ptrace_syscall_info info;
	static pid_t failing[64];
	int k = 0;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof info, &info) <= 0)
		return;
	while (k < 64 && failing[k] != pid)
		k++;
	if (info.op == PTRACE_SYSCALL_INFO_EXIT && k < 64) {
		ptrace(PTRACE_POKEUSER, pid, (void *)offsetof(struct user, regs.rax), (void *)(long)-kinds[kind].error);
		failing[k] = 0;
	} else if (info.op == PTRACE_SYSCALL_INFO_ENTRY && is_of_kind(info.entry.nr) &&
		   !(info.entry.nr == SYS_write && info.entry.args[0] == 2)) {
		count++;
		if (!at || (on ? count < at : count != at))
			return;
		if (on && !strcmp(kinds[kind].name, "open")) {
			close_table(pid);
			return;
		}
		for (k = 0; k < 63 && failing[k]; k++)
			;
		failing[k] = pid;
		ptrace(PTRACE_POKEUSER, pid, (void *)offsetof(struct user, regs.orig_rax), (void *)-1L);
	}
}

static int
trace(pid_t root)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	int status, deliver;
	pid_t pid;

	ptrace(PTRACE_SETOPTIONS, root, NULL, (void *)options);
	ptrace(PTRACE_SYSCALL, root, NULL, NULL);
	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (pid == root)
				return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			continue;
		}
		deliver = 0;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			at_call(pid);
		else if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8) && pid != root) {
			ptrace(PTRACE_DETACH, pid, NULL, NULL);
			continue;
		} else if (!(status >> 16) && WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP)
			deliver = WSTOPSIG(status);
		ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)deliver);
	}
	return NOT_HERE;
}

int
main(int argc, char **argv)
{
	int status;
	pid_t pid;
	FILE *f;

	if (argc < 6)
		return 2;
	while (strcmp(kinds[kind].name, argv[1]))
		if (++kind == sizeof kinds / sizeof *kinds)
			return 2;
	at = atol(argv[2]);
	on = !strcmp(argv[3], "on");
	if (!(pid = fork())) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(NOT_HERE);
		execvp(argv[5], argv + 5);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return NOT_HERE;
	run_to_entry(pid);
	status = trace(pid);
	if ((f = fopen(argv[4], "w"))) {
		fprintf(f, "%ld\n", count);
		fclose(f);
	}
	return status;
}
