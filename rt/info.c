/* rt/info.c - prints facts about a program as text and as JSON, for its --info and for kiln build
 *
 * Both print the program's tables. The caller passes the number of bytes of code. */
#include "program.h"
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

static int64_t
largest_arena(const RtProgram *r)
{
	int64_t most = 0;

	for (int i = 0; i < r->nspecialization; i++)
		if (r->specialization[i].arena_bytes > most)
			most = r->specialization[i].arena_bytes;
	return most;
}

/* Returns the largest number of bytes that a call of specialized code needs, without inputs, results and the program's
 * code. It is the sum of weights, computed weights and the arena. Weights that are read only to compute others are
 * given back to the system and do not count. The original pages of moved weights do not count either. */
static int64_t
peak_bytes(const RtProgram *r)
{
	return r->weights_bytes - r->alone_bytes + r->made_bytes + r->unpacked_bytes + largest_arena(r);
}

/* Prints, as lines, the calls that run in generic code and the methods that have only generic code. Plain functions
 * have no generic code. */
static void
put_generic(FILE *f, const RtProgram *r)
{
	bool sized = false;

	for (int i = 0; i < r->nspecialization; i++)
		sized |= r->specialization[i].symbols != NULL;
	if (r->nmethod && r->nspecialization)
		fprintf(f, "calls that fit no specialization run in generic code%s\n", sized ?
			": sizes outside of these ranges, 0 among them, and arguments of dynamic sizes that are not "
			"contiguous" : "");
	for (int i = 0; i < r->nmethod; i++)
		if (r->method[i].generic)
			fprintf(f, "%s: generic code only: %s\n", r->method[i].name, r->method[i].generic);
}

/* Prints the same as a JSON array. */
static void
put_generic_json(FILE *f, const RtProgram *r)
{
	const char *before = "";

	for (int i = 0; i < r->nmethod; i++)
		if (r->method[i].generic) {
			fprintf(f, "%s{\"method\":\"%s\",\"why\":\"%s\"}", before, r->method[i].name,
				r->method[i].generic);
			before = ",";
		}
}

void
rt_info_sizes(FILE *f, const RtProgram *r, int64_t code_bytes)
{
	const char *before = ": ";

	for (int i = 0; i < r->nspecialization; i++) {
		const RtSpecialization *s = &r->specialization[i];

		fprintf(f, "specialization %d: %s, %s(%s): %d kernels, %d runtime calls, %d guards, ", i, s->kind,
			s->method ? s->method : "", s->signature ? s->signature : "", s->kernels, s->runtime_calls,
			s->guards);
		fprintf(f, s->arena_at ? "arena by size, at %s: " : "arena ", s->arena_at);
		fprintf(f, "%lld bytes (least possible %lld)%s%s\n", (long long)s->arena_bytes,
			(long long)s->arena_least, s->symbols ? "; " : "", s->symbols ? s->symbols : "");
		if (r->cuda)
			r->cuda->about(f, r->cuda, i, false);
	}
	put_generic(f, r);
	if (code_bytes)
		fprintf(f, "code %lld bytes, ", (long long)code_bytes);
	fprintf(f, "weights %lld bytes", (long long)r->weights_bytes);
	for (const RtWeightForm *w = r->form; w && w->name; w++)
		if (w->bytes) {
			fprintf(f, "%s%s %lld", before, w->name, (long long)w->bytes);
			before = ", ";
		}
	fprintf(f, "; forms %s\n", r->forms);
	fprintf(f, "memory %lld bytes at most, beside inputs and results: weights %lld", (long long)peak_bytes(r),
		(long long)(r->weights_bytes - r->alone_bytes));
	if (r->made_bytes)
		fprintf(f, ", made when it is opened %lld (of %lld that are given back)", (long long)r->made_bytes,
			(long long)r->alone_bytes);
	if (r->unpacked_bytes)
		fprintf(f, ", unpacked by calls of the runtime %lld", (long long)r->unpacked_bytes);
	if (r->streamed)
		fprintf(f, ", moved to larger pages");
	fprintf(f, ", arena %lld\n", (long long)largest_arena(r));
	if (r->level)
		fprintf(f, "processor %s\n", r->level->name);
}

void
rt_info_json(FILE *f, const RtProgram *r, int64_t code_bytes, const char *more)
{
	fprintf(f, "{\"specializations\":[");
	for (int i = 0; i < r->nspecialization; i++) {
		const RtSpecialization *s = &r->specialization[i];

		fprintf(f, "%s{\"kind\":\"%s\",\"kernels\":%d,\"runtime_calls\":%d,\"guards\":%d,\"arena_bytes\":%lld,",
			i ? "," : "", s->kind, s->kernels, s->runtime_calls, s->guards, (long long)s->arena_bytes);
		fprintf(f, "\"arena_least\":%lld", (long long)s->arena_least);
		if (s->symbols)
			fprintf(f, ",\"symbols\":\"%s\"", s->symbols);
		if (s->arena_at)
			fprintf(f, ",\"arena_at\":\"%s\"", s->arena_at);
		if (r->cuda)
			r->cuda->about(f, r->cuda, i, true);
		fprintf(f, "}");
	}
	fprintf(f, "],\"generic\":[");
	put_generic_json(f, r);
	fprintf(f, "],\"processor\":\"%s\",\"code_bytes\":%lld,\"weights_bytes\":%lld,\"forms\":\"%s\","
		"\"made_bytes\":%lld,\"given_back_bytes\":%lld,\"peak_bytes\":%lld,\"weight_forms\":{",
		r->level ? r->level->name : "", (long long)code_bytes, (long long)r->weights_bytes, r->forms,
		(long long)r->made_bytes, (long long)r->alone_bytes, (long long)peak_bytes(r));
	for (const RtWeightForm *w = r->form; w && w->name; w++)
		fprintf(f, "%s\"%s\":%lld", w == r->form ? "" : ",", w->name, (long long)w->bytes);
	fprintf(f, r->launches ? "}%s,\"launches\":[%s]}\n" : "}%s}\n", more, r->launches);
}
