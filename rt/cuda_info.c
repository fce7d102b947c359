/* rt/cuda_info.c - lists the steps of a specialization that run on the device and those that run on the host, as text
 * and JSON
 *
 * A program for the GPU contains these tables, so that every step that leaves the device is reported. */
#include "program.h"

#include <stdio.h>

static bool
is_of(const RtCudaStep *s, int specialization)
{
	return s->specialization == specialization;
}

static int
count_steps(const RtCudaProgram *c, int specialization)
{
	int n = 0;

	for (int i = 0; i < c->nhost; i++)
		n += is_of(&c->host[i], specialization) && c->host[i].name ? c->host[i].times : 0;
	return n;
}

static void
put_json_text(FILE *f, const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
			fprintf(f, "\\u%04x", *c);
		else
			fprintf(f, "%c", *c);
}

static void
put_json(FILE *f, const RtCudaProgram *c, int specialization)
{
	const char *before = "";

	fprintf(f, ",\"gpu\":{\"launches\":%d,\"host_steps\":[", c->launches[specialization]);
	for (int i = 0; i < c->nhost; i++) {
		const RtCudaStep *s = &c->host[i];

		if (!is_of(s, specialization))
			continue;
		fprintf(f, "%s{", before);
		if (s->name)
			fprintf(f, "\"step\":\"%s\",\"times\":%d,", s->name, s->times);
		fprintf(f, "\"why\":\"");
		put_json_text(f, s->why);
		fprintf(f, "\"}");
		before = ",";
	}
	fprintf(f, "]}");
}

void
rt_cuda_about(void *file, const RtCudaProgram *c, int specialization, bool json)
{
	FILE *const f = file;
	const int launches = c->launches[specialization], steps = count_steps(c, specialization);

	if (json) {
		put_json(f, c, specialization);
		return;
	}
	if (launches < 0)
		fprintf(f, "  no code for the GPU: ");
	else
		fprintf(f, "  on the GPU: %d launch%s, %d step%s on the host\n", launches,
			   launches == 1 ? "" : "es", steps, steps == 1 ? "" : "s");
	for (int i = 0; i < c->nhost; i++) {
		const RtCudaStep *s = &c->host[i];

		if (!is_of(s, specialization))
			continue;
		if (!s->name)
			fprintf(f, "%s\n", s->why);
		else if (s->times > 1)
			fprintf(f, "    on the host: %s, %d times: %s\n", s->name, s->times, s->why);
		else
			fprintf(f, "    on the host: %s: %s\n", s->name, s->why);
	}
}
