/*
 * The file of choices that kiln build --tune measured.  It can be reviewed, and a later build can use it to make the
 * same program without measuring.
 *
 *    { "processor": name, "threads": n,
 *      "kernels": [ { "kernel": description, "way": name of the fastest, "ratio": its time over the default way's,
 *                     "ways": [ names of all ways, the default one first ] } ] }
 *
 * "kernel", "way" and "ratio" are read.  All ways are correct.  Entries for unknown kernels or ways have no effect.
 */
#include "kernel.h"

#include <string.h>

#include <cjson/cJSON.h>

static const char *
text_in(Cx *cx, const cJSON *o, const char *key, const char *path)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	if (!cJSON_IsString(v))
		fail(cx, (Range){ 0 }, "%s: this is no tuning file: a kernel lacks \"%s\"", path, key);
	return arena_strdup(cx->arena, v->valuestring);
}

void
tuning_note(Cx *cx, Tuning *t, const char *kernel, const char *way, double ratio)
{
	Recorded *r = new(cx->arena, Recorded, 1);

	*r = (Recorded){ way, ratio };
	map_put(&t->recorded, kernel, r);
}

Tuning *
tuning_read(Cx *cx, const char *path, const char *text)
{
	Tuning *t = tuning_new(cx);
	cJSON *o = cJSON_ParseWithOpts(text, NULL, true);
	const cJSON *kernels = cJSON_GetObjectItemCaseSensitive(o, "kernels"), *one;

	if (!cJSON_IsArray(kernels))
		fail(cx, (Range){ 0 }, "%s: this is no tuning file: it lacks \"kernels\"", path);
	cJSON_ArrayForEach(one, kernels) {
		const cJSON *ratio = cJSON_GetObjectItemCaseSensitive(one, "ratio");
		const char *kernel = text_in(cx, one, "kernel", path);

		tuning_note(cx, t, kernel, text_in(cx, one, "way", path),
			    cJSON_IsNumber(ratio) ? ratio->valuedouble : 0);
	}
	cJSON_Delete(o);
	return t;
}

Tuning *
tuning_new(Cx *cx)
{
	Tuning *t = new(cx->arena, Tuning, 1);

	t->recorded.arena = t->index.arena = cx->arena;
	return t;
}

void
tuning_put(const Tuning *t, Buf *b)
{
	const char *before = "";

	buf_puts(b, "[");
	for (int i = 0; i < t->at.n; i++) {
		const Tuned *c = &t->at.at[i];

		RT_ASSERT(c->taken >= 0 && c->taken < c->ways.n);
		if (c->ways.n < 2)
			continue;
		buf_printf(b, "%s\n  {\"kernel\": ", before);
		out_json(b, c->kernel);
		buf_puts(b, ", \"way\": ");
		out_json(b, c->ways.at[c->taken]);
		if (c->ratio > 0)
			buf_printf(b, ", \"ratio\": %.4g", c->ratio);
		for (int k = 0; k < c->ways.n; k++) {
			buf_puts(b, k ? ", " : ", \"ways\": [");
			out_json(b, c->ways.at[k]);
		}
		buf_puts(b, "]}");
		before = ",";
	}
	buf_puts(b, "]");
}

int
tuned_way(Emit *e, const char *kernel, const Texts *ways)
{
	Tuning *t = e->tuning;
	const Recorded *recorded = map_get(&t->recorded, kernel);
	Tuned c = { kernel, *ways, t->turn < ways->n ? t->turn : 0, 0 };

	RT_ASSERT(ways->n > 0);
	for (int i = 1; recorded && i < ways->n; i++)
		if (!strcmp(ways->at[i], recorded->way)) {
			c.taken = i;
			c.ratio = recorded->ratio;
		}
	if (!map_get(&t->index, kernel)) {
		vec_push(e->cx->arena, &t->at, c);
		map_put(&t->index, kernel, (void *)(intptr_t)t->at.n);
	}
	return c.taken;
}
