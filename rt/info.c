/* rt/info.c - what a program is made of, as text and as JSON: for its --info, and for kiln build
 *
 * Both print the tables that the program carries; the bytes of code are the caller's to know.
 */
#include "rt.h"
#include "base.h"

void
rt_info_methods(FILE *f, const RtProgram *r)
{
	Buf b = { 0 };

	fprintf(f, "%s\n%s", r->name ? r->name : "", r->provenance ? r->provenance : "");
	for (int i = 0; i < r->nmethod; i++) {
		b.n = 0;
		for (int k = 0; k < r->method[i].nparam; k++) {
			buf_printf(&b, "%s%s: ", k ? ", " : "", r->method[i].param[k].name);
			rt_type_print(&b, r->method[i].param[k].type);
		}
		buf_puts(&b, ") -> ");
		rt_type_print(&b, r->method[i].result);
		fprintf(f, "method %s(%s\n", r->method[i].name, b.at);
	}
	buf_free(&b);
}

void
rt_info_sizes(FILE *f, const RtProgram *r, int64_t code_bytes)
{
	const char *before = ": ";

	for (int i = 0; i < r->nspecialization; i++) {
		const RtSpecialization *s = &r->specialization[i];

		fprintf(f, "specialization %d: %s, %s(%s): %d kernels, %d runtime calls, %d guards, ", i, s->kind,
			s->method ? s->method : "", s->signature ? s->signature : "", s->kernels, s->runtime_calls, s->guards);
		fprintf(f, "arena %s%lld bytes (least possible %lld)\n", s->by_size ? "by size, as profiled " : "",
			(long long)s->arena_bytes, (long long)s->arena_least);
	}
	if (code_bytes)
		fprintf(f, "code %lld bytes, ", (long long)code_bytes);
	fprintf(f, "weights %lld bytes", (long long)r->weights_bytes);
	for (const RtWeightForm *w = r->form; w && w->name; w++)
		if (w->bytes) {
			fprintf(f, "%s%s %lld", before, w->name, (long long)w->bytes);
			before = ", ";
		}
	if (r->made_bytes)
		fprintf(f, "; made of them: %lld", (long long)r->made_bytes);
	fprintf(f, "\n");
}

void
rt_info_json(FILE *f, const RtProgram *r, int64_t code_bytes)
{
	fprintf(f, "{\"specializations\":[");
	for (int i = 0; i < r->nspecialization; i++) {
		const RtSpecialization *s = &r->specialization[i];

		fprintf(f, "%s{\"kind\":\"%s\",\"kernels\":%d,\"runtime_calls\":%d,\"guards\":%d,\"arena_bytes\":%lld,", i ? "," : "",
			s->kind, s->kernels, s->runtime_calls, s->guards, (long long)s->arena_bytes);
		fprintf(f, "\"arena_least\":%lld}", (long long)s->arena_least);
	}
	fprintf(f, "],\"code_bytes\":%lld,\"weights_bytes\":%lld,\"made_bytes\":%lld,\"weight_forms\":{", (long long)code_bytes,
		(long long)r->weights_bytes, (long long)r->made_bytes);
	for (const RtWeightForm *w = r->form; w && w->name; w++)
		fprintf(f, "%s\"%s\":%lld", w == r->form ? "" : ",", w->name, (long long)w->bytes);
	fprintf(f, "}}\n");
}
