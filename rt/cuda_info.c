/* rt/cuda_info.c - what a specialization computes on the device and what on the host, as text and as JSON
 *
 * A program for the GPU carries these tables, so that a step that leaves the device is never silent.
 */
#include "program.h"
#include "base.h"

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
put_text(Buf *b, const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
			buf_printf(b, "\\u%04x", *c);
		else
			buf_printf(b, "%c", *c);
}

static void
put_json(Buf *b, const RtCudaProgram *c, int specialization)
{
	const char *before = "";

	buf_printf(b, ",\"gpu\":{\"launches\":%d,\"host_steps\":[", c->launches[specialization]);
	for (int i = 0; i < c->nhost; i++) {
		const RtCudaStep *s = &c->host[i];

		if (!is_of(s, specialization))
			continue;
		buf_printf(b, "%s{", before);
		if (s->name)
			buf_printf(b, "\"step\":\"%s\",\"times\":%d,", s->name, s->times);
		buf_puts(b, "\"why\":\"");
		put_text(b, s->why);
		buf_puts(b, "\"}");
		before = ",";
	}
	buf_printf(b, "]}");
}

void
rt_cuda_about(Buf *b, const RtCudaProgram *c, int specialization, bool json)
{
	const int launches = c->launches[specialization], steps = count_steps(c, specialization);

	if (json) {
		put_json(b, c, specialization);
		return;
	}
	if (launches < 0)
		buf_printf(b, "  no code for the GPU: ");
	else
		buf_printf(b, "  on the GPU: %d launch%s, %d step%s on the host\n", launches,
			   launches == 1 ? "" : "es", steps, steps == 1 ? "" : "s");
	for (int i = 0; i < c->nhost; i++) {
		const RtCudaStep *s = &c->host[i];

		if (!is_of(s, specialization))
			continue;
		if (!s->name)
			buf_printf(b, "%s\n", s->why);
		else if (s->times > 1)
			buf_printf(b, "    on the host: %s, %d times: %s\n", s->name, s->times, s->why);
		else
			buf_printf(b, "    on the host: %s: %s\n", s->name, s->why);
	}
}
