/*
 * An NVRTC whose machine is the CPU: c++ compiles the text after grid.h, and the bytes of the shared object are
 * returned as PTX and cubin.  driver.c loads them.  Built as libnvrtc.so.  KILN_GRID is the folder of grid.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Program {
	char *text, *image;
	size_t n;
	int nheader;
	const char *const *header, *const *name;
	char log[8192];
} Program;

int
nvrtcCreateProgram(void **out, const char *text, const char *name, int n, const char *const *headers,
		   const char *const *names)
{
	Program *p = calloc(1, sizeof *p);

	(void)name;
	*out = p;
	p->text = strdup(text);
	p->nheader = n;
	p->header = headers;
	p->name = names;
	return 0;
}

static int
put(const char *dir, const char *name, const char *text, const char *more)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	if (!(f = fopen(path, "w")))
		return 1;
	fputs(text, f);
	fputs(more, f);
	return fclose(f);
}

/* Returns GRID_KERNEL(name) for each kernel: the name in the line after extern "C" __global__. */
static char *
kernels_of(const char *text)
{
	char *list = calloc(1, strlen(text) * 2 + 1);

	for (const char *p = text; (p = strstr(p, "extern \"C\" __global__")) && (p = strchr(p, '\n'));) {
		const int n = (int)strcspn(p + 1, "(");

		sprintf(list + strlen(list), "GRID_KERNEL(%.*s)\n", n, p + 1);
	}
	return list;
}

static void
slurp(const char *dir, const char *name, char **data, size_t *n)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	*n = 0;
	*data = calloc(1, 64 << 20);
	if ((f = fopen(path, "rb"))) {
		*n = fread(*data, 1, (64 << 20) - 1, f);
		fclose(f);
	}
}

int
nvrtcCompileProgram(void *program, int n, const char *const *options)
{
	char dir[] = "/tmp/grid-XXXXXX", command[8192], *log;
	const char *grid = getenv("KILN_GRID");
	Program *p = program;
	size_t bytes;
	int bad;

	(void)n, (void)options;
	if (!grid || !mkdtemp(dir))
		return 1;
	bad = put(dir, "kernels.cpp", "#include \"grid.h\"\n", p->text) ||
	      put(dir, "list.cpp", "#include \"kernels.cpp\"\n", kernels_of(p->text));
	for (int i = 0; i < p->nheader; i++)
		bad |= put(dir, p->name[i], p->header[i], "");
	snprintf(command, sizeof command,
		 "c++ -std=c++17 -O1 -w -fPIC -shared -I %s -I %s -o %s/out.so %s/list.cpp >%s/log 2>&1", grid, dir,
		 dir, dir, dir);
	bad = bad || system(command);
	slurp(dir, "log", &log, &bytes);
	snprintf(p->log, sizeof p->log, "%s", log);
	free(log);
	slurp(dir, "out.so", &p->image, &p->n);
	snprintf(command, sizeof command, "rm -r %s", dir);
	return system(command) || bad || !p->n;
}

int nvrtcGetProgramLogSize(void *program, size_t *n) { *n = strlen(((Program *)program)->log) + 1; return 0; }
int nvrtcGetProgramLog(void *program, char *log) { strcpy(log, ((Program *)program)->log); return 0; }
int nvrtcGetPTXSize(void *program, size_t *n) { *n = ((Program *)program)->n; return 0; }
int nvrtcGetPTX(void *p, char *out) { memcpy(out, ((Program *)p)->image, ((Program *)p)->n); return 0; }
int nvrtcGetCUBINSize(void *program, size_t *n) { return nvrtcGetPTXSize(program, n); }
int nvrtcGetCUBIN(void *program, char *out) { return nvrtcGetPTX(program, out); }
const char *nvrtcGetErrorString(int status) { return status ? "compilation failed" : "success"; }

int
nvrtcDestroyProgram(void **program)
{
	Program *p = *program;

	free(p->text);
	free(p->image);
	free(p);
	return 0;
}
