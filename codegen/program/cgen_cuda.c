/*
 * Writes the GPU's part of a program: the text of its kernels, their images, and the tables that rt/cuda.c reads.
 *
 * `--emit cuda` writes only the text, and a program that launches each kernel on data of the model's sizes and times
 * it.
 */
#include "program.h"

#include <string.h>

const char *
emit_quoted(Emit *e, const char *text)
{
	Buf b = { 0 };

	if (!text)
		return "0";
	out_string(&b, text, (int64_t)strlen(text));
	return arena_text(e->cx->arena, &b);
}

/* ---- the text for nvcc ------------------------------------------------------------------------------------------- */

static const char timing[] =
	"/* Launches each kernel on data of the model's sizes, random floats and zeros, and prints its time. */\n"
	"#include <cuda_runtime.h>\n"
	"#include <stdio.h>\n"
	"#include <stdlib.h>\n"
	"\n"
	"enum { MOST = 64, TURNS = 100 };\n"
	"\n"
	"/* Bytes of an argument, and where in them it begins. Bytes are 0 for a number. */\n"
	"struct Argument { long long bytes, at; bool floats; };\n"
	"struct Launch {\n"
	"\tconst char *name; const void *kernel; unsigned x, y, z; int narg; Argument arg[MOST]; long long size[64];\n"
	"};\n"
	"\n"
	"static void\n"
	"check(cudaError_t code, const char *what)\n"
	"{\n"
	"\tif (code == cudaSuccess)\n"
	"\t\treturn;\n"
	"\tfprintf(stderr, \"%s: %s\\n\", what, cudaGetErrorString(code));\n"
	"\texit(1);\n"
	"}\n"
	"\n"
	"static char *\n"
	"data_of(const Argument *a)\n"
	"{\n"
	"\tfloat *host = (float *)calloc(1, (size_t)a->bytes + sizeof(float));\n"
	"\tchar *device;\n"
	"\n"
	"\tfor (long long i = 0; host && a->floats && i < a->bytes / (long long)sizeof(float); i++)\n"
	"\t\thost[i] = (float)rand() / (float)RAND_MAX - 0.5f;\n"
	"\tcheck(host ? cudaSuccess : cudaErrorMemoryAllocation, \"data\");\n"
	"\tcheck(cudaMalloc((void **)&device, (size_t)a->bytes + 1), \"data\");\n"
	"\tcheck(cudaMemcpy(device, host, (size_t)a->bytes, cudaMemcpyHostToDevice), \"data\");\n"
	"\tfree(host);\n"
	"\treturn device;\n"
	"}\n"
	"\n"
	"static void\n"
	"time_launch(const Launch *l)\n"
	"{\n"
	"\tstatic int *wrong;\n"
	"\tchar *data[MOST], *at[MOST];\n"
	"\tdouble one = 1;\n"
	"\tvoid *list[MOST + 2];\n"
	"\tcudaEvent_t begin, end;\n"
	"\tfloat ms = 0;\n"
	"\n"
	"\tif (!wrong) {\n"
	"\t\tcheck(cudaMalloc((void **)&wrong, sizeof *wrong), \"data\");\n"
	"\t\tcheck(cudaMemset(wrong, 0, sizeof *wrong), \"data\");\n"
	"\t}\n"
	"\tfor (int i = 0; i < l->narg; i++) {\n"
	"\t\tdata[i] = l->arg[i].bytes ? data_of(&l->arg[i]) : NULL;\n"
	"\t\tat[i] = data[i] + l->arg[i].at;\n"
	"\t\tlist[i] = data[i] ? (void *)&at[i] : (void *)&one;\n"
	"\t}\n"
	"\tlist[l->narg] = &wrong;\n"
	"\tlist[l->narg + 1] = (void *)l->size;\n"
	"\tcheck(cudaEventCreate(&begin), l->name);\n"
	"\tcheck(cudaEventCreate(&end), l->name);\n"
	"\tfor (int i = -3; i < TURNS; i++) {\n"
	"\t\tif (!i)\n"
	"\t\t\tcheck(cudaEventRecord(begin), l->name);\n"
	"\t\tcheck(cudaLaunchKernel(l->kernel, dim3(l->x, l->y, l->z), dim3(256), list, 0, 0), l->name);\n"
	"\t}\n"
	"\tcheck(cudaEventRecord(end), l->name);\n"
	"\tcheck(cudaEventSynchronize(end), l->name);\n"
	"\tcheck(cudaEventElapsedTime(&ms, begin, end), l->name);\n"
	"\tprintf(\"%-32s %6u x %5u x %5u blocks %10.2f us\\n\", l->name, l->x, l->y, l->z, ms * 1e3 / TURNS);\n"
	"\tfor (int i = 0; i < l->narg; i++)\n"
	"\t\tcheck(cudaFree(data[i]), l->name);\n"
	"\tcheck(cudaEventDestroy(begin), l->name);\n"
	"\tcheck(cudaEventDestroy(end), l->name);\n"
	"}\n"
	"\n";

/* Adds a kernel's first launch to the program that times kernels. */
void
emit_gpu_launch(Emit *e, Plan *p, const CudaCall *call)
{
	Buf *b = &e->gpu_timing;

	if (call->kernel != e->ngpu_timing)
		return;
	e->ngpu_timing++;
	buf_printf(b, "\t{ \"%s\", (const void *)%s, %lldu, %lldu, %lldu, %d, {\n", e->cuda_kernels.at[call->kernel],
		   e->cuda_kernels.at[call->kernel], (long long)call->grid[0], (long long)call->grid[1],
		   (long long)call->grid[2], call->args.n);
	for (int i = 0; i < call->args.n; i++) {
		const KernelArg *arg = &call->args.at[i];
		const Buffer *at = plan_buffer(p, arg->value);
		const RtTensor *t = plan_tensor(p, arg->value);

		if (at)
			buf_printf(b, "\t\t{ %lld, %lld, %s },\n", (long long)at->bytes, (long long)(t->offset *
				   rt_dtypes[t->dtype].bytes + arg->offset), t->dtype == RT_f32 ? "true" : "false");
		else
			buf_puts(b, "\t\t{ 0, 0, false },\n");
	}
	buf_puts(b, "\t}, {");
	for (int i = 0; call->symbol && i < CU_SIZES; i++)
		buf_printf(b, "%s %lld", i ? "," : "", (long long)call->symbol[i]);
	buf_puts(b, " } },\n");
}

static char *
timing_text(Emit *e)
{
	Buf b = { 0 };

	buf_puts(&b, timing);
	for (int i = 0; i < e->ngpu_timing; i++)
		buf_printf(&b, "extern \"C\" void %s();\n", e->cuda_kernels.at[i]);
	buf_printf(&b, "\nstatic const Launch launches[] = {\n%s", e->gpu_timing.at ? e->gpu_timing.at : "");
	buf_puts(&b, "\t{ 0, 0, 0, 0, 0, 0, { { 0, 0, false } }, { } }\n};\n\n");
	buf_puts(&b, "int\nmain()\n{\n\tfor (const Launch *l = launches; l->name; l++)\n\t\ttime_launch(l);\n"
		 "\treturn 0;\n}\n");
	return b.at;
}

/* Returns the text of all kernels. A kernel need not use everything that its head computes, so warnings about unused
 * variables are off. */
static char *
kernels_text(Emit *e, const char *path)
{
	Buf b = { 0 };

	buf_puts(&b, "/* ");
	out_comment(&b, path, 200);
	buf_puts(&b, ", compiled by Kiln: the kernels of the GPU. */\n#ifdef __NVCC__\n"
		 "#pragma nv_diag_suppress 177, 550       /* unused variables */\n#endif\n#include \"cutile.h\"\n");
	if (e->cuda.text.n)
		buf_add(&b, e->cuda.text.at, e->cuda.text.n);
	return b.at;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Writes the tables of steps and launches that --info prints for the device. */
static void
put_host_steps(Emit *e)
{
	out_line(&e->tail, "static const int gpu_launches[] = {");
	for (int i = 0; i < e->gpu_launches.n; i++)
		out_line(&e->tail, "\t%d,", e->gpu_launches.at[i]);
	out_line(&e->tail, "\t0\n};\nstatic const RtCudaStep host_steps[] = {");
	for (int i = 0; i < e->host_steps.n; i++) {
		const RtCudaStep *s = &e->host_steps.at[i];

		out_line(&e->tail, "\t{ %d, %d, %s, %s },", s->specialization, s->times, emit_quoted(e, s->name),
			 emit_quoted(e, s->why));
	}
	out_line(&e->tail, "\t{ 0 }\n};");
}

static void
put_images(Emit *e, const Archs *archs, ProgramText *text)
{
	out_line(&e->tail, "static const RtCudaImage cuda_images[] = {");
	for (int i = 0; i < archs->n; i++) {
		int64_t n;
		char *image = cuda_compile(e->cx, text->cuda, archs->at[i], &n);
		const int64_t offset = weights_add(&e->weights, WEIGHT_GPU, image, n + 1);

		out_line(&e->tail, "\t{ %d, %lld },", archs->at[i], (long long)offset);
		if (archs->at[i] < 0)
			text->ptx = image;
	}
	out_line(&e->tail, "\t{ 0, 0 }\n};");
}

void
emit_gpu(Emit *e, const char *path, const BuildOptions *o, ProgramText *text)
{
	const Archs archs = cuda_archs(e->cx, o->gpu);

	text->cuda = kernels_text(e, path);
	text->timing = timing_text(e);
	if (!strcmp(o->emit, "cuda"))
		return;
	put_images(e, &archs, text);
	out_line(&e->tail, "static const char *const cuda_kernels[] = {");
	for (int i = 0; i < e->cuda_kernels.n; i++)
		out_line(&e->tail, "\t\"%s\",", e->cuda_kernels.at[i]);
	out_line(&e->tail, "\t0\n};");
	put_host_steps(e);
	out_line(&e->tail, "static const int gpu_constants[] = {");
	for (int i = 0; i < e->gpu_constants.n; i++)
		out_line(&e->tail, "\t%d,", e->gpu_constants.at[i]);
	out_line(&e->tail, "\t0\n};");
	if (e->library)
		out_line(&e->tail, "#include \"rt/door.h\"");
	out_line(&e->tail, "static const RtCudaProgram cuda = { cuda_images, cuda_kernels, %d, %d, gpu_launches, "
		 "host_steps, %d,\n\tgpu_constants, %d, rt_cuda_start, rt_cuda_stop, rt_cuda_leave, rt_cuda_about, "
		 "%s };",
		 archs.n, e->cuda_kernels.n, e->host_steps.n, e->gpu_constants.n, e->library ? "&rt_cuda_door" : "0");
}
