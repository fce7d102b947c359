/*
 * Compiles CUDA text to PTX and machine code by NVRTC.
 *
 * NVRTC is found by dlopen when --gpu needs it: in CUDA_HOME, on the loader's path, or in the usual folder. No other
 * file uses it. Its headers are not needed.
 */
#include "program.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct Nvrtc {
	int (*create)(void **, const char *text, const char *name, int n, const char *const *headers,
		      const char *const *names);
	int (*compile)(void *, int n, const char *const *options);
	int (*log_size)(void *, size_t *);
	int (*log)(void *, char *);
	int (*ptx_size)(void *, size_t *);
	int (*ptx)(void *, char *);
	int (*cubin_size)(void *, size_t *);
	int (*cubin)(void *, char *);
	int (*destroy)(void **);
	const char *(*error)(int);
} Nvrtc;

#define NOWHERE ((Range){ 0 })
enum { LEAST_ARCH = 75, MOST_ARCHS = 32 };

/* ---- the list of architectures ----------------------------------------------------------------------------------- */

static int
arch_number(Cx *cx, const char *word)
{
	char *end;
	const char *digits = !strncmp(word, "sm_", 3) ? word + 3 : word;
	const long n = strtol(digits, &end, 10);

	/* TORCH_CUDA_ARCH_LIST writes versions with a point: 9.0. */
	const bool dotted = digits == word && end != digits && *end == '.' && end[1] >= '0' && end[1] <= '9';
	const long arch = dotted ? n * 10 + end[1] - '0' : n;

	if (dotted)
		end += 2;
	if (end != digits && !strcmp(end, "a"))
		fail_status(cx, EXIT_USAGE, NOWHERE, "--gpu: code for '%s' would run on no other GPU, and Kiln needs "
			    "nothing that only it has: use %.*s", word, (int)(end - word), word);
	if ((digits == word && !dotted) || end == digits || *end || arch < LEAST_ARCH ||
	    arch > 999)
		fail_status(cx, EXIT_USAGE, NOWHERE, "--gpu: '%s' is not an architecture: use sm_%d or later, or ptx",
			    word, LEAST_ARCH);
	return (int)arch;
}

/* Drops +PTX from the end of a word. */
static bool
drop_ptx(char *word)
{
	char *plus = strchr(word, '+');

	if (!plus || strcmp(plus, "+PTX"))
		return false;
	*plus = 0;
	return true;
}

/* Parses --gpu: "sm_80,sm_90,ptx", "8.0;9.0+PTX". PTX is made for the newest architecture named; it serves later ones,
 * too. */
Archs
cuda_archs(Cx *cx, const char *list)
{
	char *copy = arena_strdup(cx->arena, list), *state = NULL;
	bool ptx = false;
	int newest = 0;
	Archs archs = { 0 };

	for (char *w = strtok_r(copy, ",; ", &state); w; w = strtok_r(NULL, ",; ", &state)) {
		if (!strcmp(w, "ptx")) {
			ptx = true;
			continue;
		}
		ptx |= drop_ptx(w);
		vec_push(cx->arena, &archs, arch_number(cx, w));
		newest = archs.at[archs.n - 1] > newest ? archs.at[archs.n - 1] : newest;
	}
	if (ptx)
		vec_push(cx->arena, &archs, newest ? -newest : -LEAST_ARCH);
	if (!archs.n || archs.n > MOST_ARCHS)
		fail_status(cx, EXIT_USAGE, NOWHERE, "--gpu wants architectures: sm_90,ptx");
	return archs;
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

static void *
open_first(const char *const *names)
{
	void *library = NULL;

	for (; !library && *names; names++)
		library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
	return library;
}

static void *
open_library(Cx *cx)
{
	static const char *const usual[] = { "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
		"/usr/local/cuda/lib64/libnvrtc.so", "/usr/local/cuda/lib/libnvrtc.so", NULL };
	const char *home = getenv("CUDA_HOME");
	const bool told = home && *home;
	const char *const there[] = { arena_printf(cx->arena, "%s/lib64/libnvrtc.so", told ? home : ""),
				      arena_printf(cx->arena, "%s/lib/libnvrtc.so", told ? home : ""), NULL };
	void *library = open_first(told ? there : usual);

	if (!library && told)
		fail_status(cx, EXIT_DEVICE, NOWHERE, "--gpu needs NVRTC, but CUDA_HOME is '%s', and neither "
			    "lib64/libnvrtc.so nor lib/libnvrtc.so can be loaded from there", home);
	if (!library)
		fail_status(cx, EXIT_DEVICE, NOWHERE,
			    "--gpu needs NVRTC (libnvrtc.so of the CUDA toolkit), which is not found; set "
			    "CUDA_HOME to the toolkit's folder");
	return library;
}

static void
load_nvrtc(Cx *cx, Nvrtc *nv)
{
	const struct { const char *name; void *place; } wanted[] = {
		{ "nvrtcCreateProgram", &nv->create }, { "nvrtcCompileProgram", &nv->compile },
		{ "nvrtcGetProgramLogSize", &nv->log_size }, { "nvrtcGetProgramLog", &nv->log },
		{ "nvrtcGetPTXSize", &nv->ptx_size }, { "nvrtcGetPTX", &nv->ptx },
		{ "nvrtcGetCUBINSize", &nv->cubin_size }, { "nvrtcGetCUBIN", &nv->cubin },
		{ "nvrtcDestroyProgram", &nv->destroy }, { "nvrtcGetErrorString", &nv->error },
	};
	void *library = open_library(cx);

	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		void *f = dlsym(library, wanted[i].name);

		if (!f)
			fail_status(cx, EXIT_DEVICE, NOWHERE, "this NVRTC is too old: it has no %s", wanted[i].name);
		memcpy(wanted[i].place, &f, sizeof f);
	}
}

static const char *
log_of(Cx *cx, const Nvrtc *nv, void *program)
{
	size_t n = 0;
	char *text;

	nv->log_size(program, &n);
	text = new(cx->arena, char, (int64_t)n + 1);
	nv->log(program, text);
	return text;
}

/* First version of PTX that supports each architecture. NVRTC writes its own version into the text, which only drivers
 * as new as itself accept. */
static const struct { int arch; char version[4]; } ptx_versions[] = {
	{ 75, "6.3" }, { 80, "7.0" }, { 86, "7.1" }, { 87, "7.4" }, { 89, "7.8" }, { 90, "7.8" }, { 100, "8.6" },
	{ 103, "8.8" }, { 120, "8.7" }, { 121, "8.8" },
};

/* Lowers the line ".version 9.0" of a PTX text to the version that its architecture needs. The kernels use nothing
 * newer. */
static void
lower_version(char *ptx, int arch)
{
	static const char line[] = "\n.version ";
	char *at = strstr(ptx, line);

	for (size_t i = 0; at && i < sizeof ptx_versions / sizeof *ptx_versions; i++)
		if (ptx_versions[i].arch == arch && at[sizeof line + 2] == '\n')
			memcpy(at + sizeof line - 1, ptx_versions[i].version, 3);
}

char *
cuda_compile(Cx *cx, const char *text, int arch, int64_t *n)
{
	const char *const names[] = { "cutile.h", "tmath.h", "tsample.h", "tspecial.h" };
	const char *const headers[] = { carry_text(cx, "rt/ops/cutile.h"), carry_text(cx, "rt/ops/tmath.h"),
				      carry_text(cx, "rt/ops/tsample.h"), carry_text(cx, "rt/ops/tspecial.h") };
	const char *const options[] = {
		arena_printf(cx->arena, arch > 0 ? "--gpu-architecture=sm_%d" : "--gpu-architecture=compute_%d",
			     arch > 0 ? arch : -arch), "--std=c++17", "-default-device",
	};
	void *program = NULL;
	size_t bytes = 0;
	Nvrtc nv;
	char *out;
	int status;

	load_nvrtc(cx, &nv);
	status = nv.create(&program, text, "kernels.cu", sizeof names / sizeof *names, headers, names);
	if (status)
		fail_status(cx, EXIT_BUG, NOWHERE, "NVRTC: %s", nv.error(status));
	status = nv.compile(program, sizeof options / sizeof *options, options);
	if (status)
		fail_status(cx, EXIT_BUG, NOWHERE,
			    "NVRTC failed on emitted code for %s: %s: a bug of Kiln, or no such architecture:\n%s",
			    options[0] + 19, nv.error(status), log_of(cx, &nv, program));
	status = arch > 0 ? nv.cubin_size(program, &bytes) : nv.ptx_size(program, &bytes);
	out = new(cx->arena, char, (int64_t)bytes + 1);
	if (!status)
		status = arch > 0 ? nv.cubin(program, out) : nv.ptx(program, out);
	if (status)
		fail_status(cx, EXIT_BUG, NOWHERE, "NVRTC: %s", nv.error(status));
	nv.destroy(&program);
	if (arch < 0)
		lower_version(out, -arch);
	*n = (int64_t)bytes;
	return out;
}
