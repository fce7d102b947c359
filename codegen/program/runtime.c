/*
 * Compiles the runtime for targets other than Kiln's own, from the carried sources into the cache.
 *
 * Only the files that a program needs are compiled. The index of this machine's library tells which file defines a
 * name. A file is compiled once for each combination of sources, target, compiler and options: the folder's name
 * contains hashes of all that an object depends on. Operators (rt/ops) are compiled for the processor of --cpu. All
 * other files are compiled for the lowest processor of the target, so that a program can run there and report that it
 * needs a higher one.
 */
#include "build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOWHERE ((Range){ 0 })

/* ---- the index of symbols ---------------------------------------------------------------------------------------- */

/* ar.h: length of a member's header, length of its name, offset of its size */
enum { AR_HEAD = 60, AR_NAME = 16, AR_SIZE = 48 };

static int64_t
big_endian(const unsigned char *p)
{
	return (int64_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

/* Returns the name of an archive member without suffixes, such as "start". A slash ends a name. Names that are too long
 * for the header are in `longer`. */
static const char *
member_name(Cx *cx, const char *head, const char *longer)
{
	const char *name = head[0] == '/' ? longer + atoi(head + 1) : head;
	const char *slash = strchr(name, '/');
	const char *text = arena_strndup(cx->arena, name, slash - name);

	return arena_strndup(cx->arena, text, (int64_t)strcspn(text, "."));
}

void
needs_open(Needs *needs, Cx *cx)
{
	int64_t n;
	const char *at = carry_library_text(&n);
	/* skips "!<arch>\n"; first comes the index of symbols, then the long names */
	const char *table = at + 8, *second;
	const int64_t bytes = atoll(table + AR_SIZE), count = big_endian((const unsigned char *)table + AR_HEAD);
	const unsigned char *offset = (const unsigned char *)table + AR_HEAD + 4;
	const char *name = (const char *)offset + 4 * count;

	*needs = (Needs){ .cx = cx };
	second = table + AR_HEAD + bytes + (bytes & 1);
	if (n < 8 || memcmp(at, "!<arch>\n/ ", 10))
		BUG("the carried library has no index");
	for (int64_t i = 0; i < count; i++, name += strlen(name) + 1) {
		const char *head = at + big_endian(offset + 4 * i), *file = member_name(cx, head, second + AR_HEAD);

		if (!map_get(&needs->index, name))
			map_put(&needs->index, name, (void *)(uintptr_t)file);
		map_put(&needs->members, file, (void *)(uintptr_t)head);
	}
}

const char *
needs_member(const Needs *needs, const char *name, int64_t *n)
{
	const char *head = map_get(&needs->members, name);

	*n = atoll(head + AR_SIZE);
	return head + AR_HEAD;
}

void
needs_symbol(Needs *needs, const char *symbol)
{
	const char *name = map_get(&needs->index, symbol);

	if (!name || map_get(&needs->defined, symbol) || map_get(&needs->taken, name))
		return;
	map_put(&needs->taken, name, "yes");
	vec_push(needs->cx->arena, &needs->names, name);
}

void
needs_object(Needs *needs, const char *object)
{
	Texts defined = { 0 }, undefined = { 0 };

	elf_symbols(needs->cx, object, &defined, &undefined);
	for (int i = 0; i < defined.n; i++)
		map_put(&needs->defined, defined.at[i], "yes");
	for (int i = 0; i < undefined.n; i++)
		needs_symbol(needs, undefined.at[i]);
}

/* ---- compiling one file ------------------------------------------------------------------------------------------ */

static void
args_compile(Build *b, Argv *a, const char *from, const char *to)
{
	args_compiler(b, a);
	arg(a, "-std=c11"), arg(a, "-D_GNU_SOURCE"), arg(a, "-fno-strict-aliasing"), arg(a, "-fwrapv");
	/* same options as build.ninja's for_size */
	arg(a, b->options->oz ? "-Oz" : "-Os");
	args_of(a, "-fno-tree-ch -fno-tree-loop-im -fno-move-loop-invariants -fno-caller-saves");
	arg(a, is_fixed(b) ? "-fno-pie" : "-fPIC"), arg(a, "-fno-asynchronous-unwind-tables");
	arg(a, "-fno-jump-tables"), arg(a, "-ffunction-sections"), arg(a, "-fdata-sections"), arg(a, "-w");
	if (!strstr(b->cc, "clang"))
		arg(a, "--param=vect-epilogues-nomask=0");       /* no second vector loop for a loop's last elements */
	if (strstr(from, "/rt/ops/"))
		args_cpu(b, a);
	arg(a, "-c"), arg(a, from), arg(a, "-o"), arg(a, to);
}

/* ---- the cache of objects ---------------------------------------------------------------------------------------- */

/* Hashes what an object depends on besides the sources: the compiler's file, its macros and the command. Files in the
 * temporary folder (musl's specs) are hashed by their contents. */
static uint64_t
command_hash(Build *b)
{
	Argv a = { .cx = b->cx };
	struct stat cc = { 0 };
	Buf key = { 0 };
	const char *text;

	stat(command_path(b->cx, b->cc), &cc);
	buf_printf(&key, "%016llx %lld %lld.%09ld", (unsigned long long)b->options->macros, (long long)cc.st_size,
		   (long long)cc.st_mtim.tv_sec, (long)cc.st_mtim.tv_nsec);
	args_compile(b, &a, "/rt/ops/", "");
	for (int i = 0; i < a.v.n; i++) {
		const char *specs = strstr(a.v.at[i], b->dir);

		buf_printf(&key, " %s", specs ? file_text(b->cx, specs) : a.v.at[i]);
	}
	text = arena_text(b->cx->arena, &key);
	return hash_bytes(text, (int64_t)strlen(text));
}

static const char *
kept_folder(Build *b)
{
	return cache_kept(b->cx, arena_printf(b->cx->arena, "%s-%016llx-%016llx", b->options->target->triple,
						     (unsigned long long)carry_hash(),
						     (unsigned long long)command_hash(b)));
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

typedef struct Runtime {
	Build  *build;
	const char *src, *kept;  /* folder of the sources; folder of kept objects, null if there is none */
	Needs   needs;
	int     ncompiled;
	bool    unpacked;
} Runtime;

static const char *
source_path(Runtime *r, const char *name)
{
	const char *ops = arena_printf(r->build->cx->arena, "%s/rt/ops/%s.c", r->src, name);

	return access(ops, R_OK) ? arena_printf(r->build->cx->arena, "%s/rt/%s.c", r->src, name) : ops;
}

static const char *
made_object(Runtime *r, const char *name)
{
	return arena_printf(r->build->cx->arena, "%s/rt-%s.o", r->build->dir, name);
}

static const char *
kept_object(Runtime *r, const char *name)
{
	return r->kept ? arena_printf(r->build->cx->arena, "%s/%s.o", r->kept, name) : made_object(r, name);
}

static void
unpack_sources(Runtime *r)
{
	if (r->unpacked)
		return;
	mkdir(r->src, 0777);
	carry_sources(r->build->cx, r->src);
	r->unpacked = true;
	if (isatty(2))
		fprintf(stderr, "kiln: compiling the parts of the runtime that this program needs for %s, once\n",
			r->build->options->target->triple);
}

static void
end_compiling(Process *p, Process *bad)
{
	if (p->pid && process_end(p) && !bad->name)
		*bad = *p;
}

/* Compiles the files that have no object, in parallel on all cores. */
static void
compile_files(Runtime *r, const Texts *files)
{
	Build *b = r->build;
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	const int width = cores < 1 ? 1 : cores > RT_LIMIT_CHILDREN ? RT_LIMIT_CHILDREN : (int)cores;
	Process process[RT_LIMIT_CHILDREN] = { { 0 } }, bad = { 0 };

	for (int i = 0; i < files->n + width; i++) {
		Process *p = &process[i % width];
		Argv a = { .cx = b->cx };

		end_compiling(p, &bad);
		if (i >= files->n || bad.name)
			continue;
		progress("compiling the runtime for %s: %d, rt %s", b->options->target->triple, ++r->ncompiled,
			 files->at[i]);
		args_compile(b, &a, source_path(r, files->at[i]), made_object(r, files->at[i]));
		if (!start(b, argv_of(&a), arena_printf(b->cx->arena, "%s/log%d", b->dir, i % width), p))
			not_started(b, p);
	}
	if (bad.name)
		process_failed(b, &bad, "to compile the runtime");
}

/* Makes the objects of the files from index `first` on. */
static void
make_objects(Runtime *r, int first, Argv *objects)
{
	Texts missing = { 0 };

	for (int i = first; i < r->needs.names.n; i++)
		if (access(kept_object(r, r->needs.names.at[i]), R_OK))
			vec_push(r->build->cx->arena, &missing, r->needs.names.at[i]);
	if (missing.n) {
		unpack_sources(r);
		compile_files(r, &missing);
	}
	for (int i = 0; i < missing.n && r->kept; i++)
		if (!build_move(r->build->cx, made_object(r, missing.at[i]), kept_object(r, missing.at[i]))) {
			r->kept = NULL; /* the cache's disk is full: makes all objects in the temporary folder */
			compile_files(r, &missing);
		}
	for (int i = first; i < r->needs.names.n; i++)
		arg(objects, kept_object(r, r->needs.names.at[i]));
}

void
runtime_objects(Build *b, Argv *objects)
{
	Runtime r = { .build = b, .src = arena_printf(b->cx->arena, "%s/src", b->dir), .kept = kept_folder(b) };
	int from = 0, first = 0;

	needs_open(&r.needs, b->cx);
	for (;;) {
		for (; from < objects->v.n; from++)
			needs_object(&r.needs, objects->v.at[from]);
		if (first == r.needs.names.n)
			break;
		make_objects(&r, first, objects);
		first = r.needs.names.n;
	}
	progress(NULL);
}
