/* tests/fuzz/tuning.c - any bytes as a tuning file: must give a message, or choices, which are printed */
#include "compiler.h"

#include "../../codegen/kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

static void
read_tuning(Cx *cx, void *text)
{
	Tuning *t = tuning_read(cx, "fuzz", text);
	Emit e = { .cx = cx, .tuning = t };
	Texts ways = { 0 };
	Buf b = { 0 };

	vec_push(cx->arena, &ways, "usual");
	for (int i = 0; i < t->recorded.n; i++) {
		const Recorded *r = t->recorded.at[i].value;

		ways.n = 1;
		vec_push(cx->arena, &ways, r->way);
		tuned_way(&e, t->recorded.at[i].key, &ways);
	}
	tuning_put(t, &b);
	buf_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	Arena a = { .limit = 512 << 20 };
	Cx cx = { .arena = &a };
	char *text = malloc(n + 1);

	memcpy(text, data, n);
	text[n] = 0;
	if (!cx_try(&cx, read_tuning, text))
		check(&cx);
	finish(&cx);
	free(text);
	return 0;
}
