/* tests/door/values.c - calls instances one after the other: values of all kinds, state, and all errors
 *
 * many is make.py's module, net a function of one tensor with weights. */
#include "many.h"
#include "net.h"
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static float x[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
static int64_t size[] = { 2, 3 }, three[] = { 3 };

static many *
opened(const many_options *o)
{
	char why[256] = "";
	many *m = many_open(o, why, sizeof why);

	if (!m)
		printf("many_open: %s\n", why), exit(1);
	return m;
}

/* Calls a method with one tensor.  Sets *out to its only result. */
static int
call(many *m, const char *method, void *data, int64_t *shape, DLTensor *out)
{
	DLTensor in = tensor(data, kDLFloat, 32, 2, shape), *args[] = { &in };

	out->data = NULL;
	return many_call(m, method, args, 1, out, 1);
}

static void
results(many *m)
{
	float own[2][3] = { { 0 } }, twice[6] = { 4, 8, 12, 16, 20, 24 };
	int64_t sideways[] = { 1, 2 }, turned[] = { 2, 3 }, wrong[] = { 3, 2 };
	DLTensor in = tensor(x, kDLFloat, 32, 2, size), *args[] = { &in }, out = { 0 }, sizes[2];

	CHECK(!call(m, "forward", x, size, &out) && same(out.data, x[0], 6));
	CHECK(out.ndim == 2 && out.shape[0] == 2 && out.shape[1] == 3);
	CHECK(out.dtype.code == kDLFloat && out.dtype.bits == 32);
	out = tensor(own, kDLFloat, 32, 2, size);
	CHECK(!many_call(m, NULL, args, 1, &out, 1) && out.data == own && same(own, twice, 6));
	CHECK(!many_reset(m) && !many_forward(m, x, own) && same(own, x[0], 6));
	out = tensor(own, kDLFloat, 32, 2, turned);      /* elements in another order */
	out.strides = sideways;
	CHECK(!many_call(m, "forward", args, 1, &out, 1) && own[0][1] == 16 && own[0][2] == 8);
	CHECK(!many_reset(m));
	out = tensor(own, kDLFloat, 32, 2, wrong);
	FAILS(m, many_SIZE, many_call(m, "forward", args, 1, &out, 1), "out");
	CHECK(out.data != own && out.shape[0] == 2 && same(out.data, x[0], 6));
	out = tensor(own, kDLInt, 32, 2, size);
	FAILS(m, many_SIZE, many_call(m, "forward", args, 1, &out, 1), "dtype");
	CHECK(out.dtype.code == kDLFloat);
	CHECK(many_results(m) == 1);
	sizes[0] = sizes[1] = tensor(own, kDLFloat, 32, 2, wrong);
	FAILS(m, many_SIZE, many_call(m, "keep", args, 1, sizes, 2), "out.0");
	CHECK(same(sizes[0].data, x[0], 6) && *(float *)sizes[1].data == 0 && sizes[1].shape[0] == 1);
}

/* The result of a call is the argument of the next one. */
static void
chained(void)
{
	many *m = opened(NULL);
	float want[12];
	DLTensor in = tensor(x, kDLFloat, 32, 2, size), *args[] = { &in };

	for (int i = 0; i < 3; i++) {                    /* the total of the arguments times i + 1 */
		DLTensor out = { 0 };

		CHECK(!many_call(m, "forward", args, 1, &out, 1));
		in = out;
	}
	for (int i = 0; i < 6; i++)
		want[i] = 18 * x[0][i];
	CHECK(same(in.data, want, 6));
	CHECK(!many_set(m, "x", &in) && !many_call(m, "keep", NULL, 0, NULL, 0));
	CHECK(!many_state_get(m, "kept", &in) && same(in.data, want, 6));
	CHECK(!many_call(m, "grow", args, 1, NULL, 0));
	CHECK(!many_state_get(m, "inner.cache", &in) && same(in.data, want, 6));
	memcpy(want + 6, want, 6 * sizeof *want);
	CHECK(!many_call(m, "grow", args, 1, NULL, 0) && !many_state_get(m, "inner.cache", &in));
	CHECK(in.shape[0] == 4 && same(in.data, want, 12));
	many_close(m);
}

/* Results that outlive the instance: without a copy, and with a copy if they are also held elsewhere. */
static void
taken(void)
{
	many *m = opened(NULL);
	DLTensor in = tensor(x, kDLFloat, 32, 2, size), *args[] = { &in }, out = { 0 };
	DLManagedTensor *t, *other;
	const float twice[] = { 4, 8, 12, 16, 20, 24 };

	CHECK(!many_call(m, "forward", args, 1, NULL, 0) && !many_result(m, 0, NULL, &out));
	CHECK((t = many_result_take(m, 0)) && t->dl_tensor.data == out.data && same(t->dl_tensor.data, x[0], 6));
	CHECK(t->dl_tensor.ndim == 2 && t->dl_tensor.shape[1] == 3 && t->dl_tensor.strides[0] == 3);
	CHECK(!many_result_take(m, 0) && strstr(many_error(m), "taken"));
	CHECK(!many_result_take(m, 1) && strstr(many_error(m), "no result 1"));
	CHECK(!many_result(m, 0, NULL, &out) && !out.data);
	CHECK(!call(m, "forward", x, size, &out) && same(out.data, twice, 6) && same(t->dl_tensor.data, x[0], 6));
	CHECK(!many_call(m, "keep", args, 1, NULL, 0) && many_results(m) == 2);
	CHECK((other = many_result_take(m, 0)) && same(other->dl_tensor.data, x[0], 6));
	/* A write to the taken result changes neither the attribute nor the argument. */
	memset(other->dl_tensor.data, 0, sizeof x);
	other->deleter(other);
	CHECK(!many_state_get(m, "kept", &out) && same(out.data, x[0], 6));
	many_close(m);
	CHECK(same(t->dl_tensor.data, (const float *)x, 6));
	t->deleter(t);
}

static void
containers(many *m)
{
	double values[] = { 1.5, 2.5 };
	float part[] = { 1, 2, 3 }, want[] = { 4, 8, 12 };
	int64_t two[] = { 2 }, n = 5;
	DLTensor list = tensor(values, kDLFloat, 64, 1, two), t = tensor(part, kDLFloat, 32, 1, three), out;
	DLTensor number = tensor(&n, kDLInt, 64, 0, NULL);
	const char *key;

	CHECK(!many_set_text(m, "name", "ab") && !many_set(m, "values", &list) && !many_set(m, "parts.k", &t));
	CHECK(!many_call(m, "describe", NULL, 0, NULL, 0));
	CHECK(many_results(m) == 4);                     /* the fourth one, more, is None */
	CHECK(!many_result(m, 0, &key, &out) && !strcmp(key, "out.0") && !out.data);
	CHECK(!strcmp(many_result_text(m, 0), "ab2"));
	CHECK(!many_result(m, 1, &key, &out) && !strcmp(key, "out.1.kab") && same(out.data, want, 3));
	CHECK(!many_result(m, 2, &key, &out) && !strcmp(key, "out.2.0") && *(int64_t *)out.data == 2 && !out.ndim);
	CHECK(!many_result_text(m, 1) && !many_result_text(m, 9));
	CHECK(!many_set_text(m, "name", "x") && !many_set(m, "values", &list) && !many_set(m, "parts.a", &t));
	CHECK(!many_set(m, "parts.b", &t) && !many_set(m, "more", &t) && !many_set(m, "n", &number));
	CHECK(!many_call(m, "describe", NULL, 0, NULL, 0) && many_results(m) == 6);
	CHECK(!strcmp(many_result_text(m, 0), "x5"));
	FAILS(m, many_ARGUMENT, many_result(m, 6, &key, &out), "6");
	FAILS(m, many_ARGUMENT, many_call(m, "describe", NULL, 0, NULL, 0), "name");
	many_set_text(m, "name", "x");
	FAILS(m, many_ARGUMENT, many_set_text(m, "name", "y"), "twice");
	many_set(m, "values", &t);
	FAILS(m, many_ARGUMENT, many_call(m, "describe", NULL, 0, NULL, 0), "parts");
	many_set_text(m, "other", "x");
	FAILS(m, many_ARGUMENT, many_call(m, "draw", NULL, 0, NULL, 0), "other");
	CHECK(many_inputs("describe", NULL) == 4 && many_outputs("draw", NULL) == 1 && many_inputs("none", NULL) == -1);
}

static void
state(many *m)
{
	float total[] = { 1, 1, 1, 1, 1, 1 }, big[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	int64_t n = 10, row[] = { 1, 3 }, rows[] = { 3, 3 };
	DLTensor out, set = tensor(total, kDLFloat, 32, 2, size), number = tensor(&n, kDLInt, 64, 0, NULL);
	DLTensor wide = tensor(big, kDLFloat, 32, 2, rows);

	CHECK(!many_reset(m) && !call(m, "forward", x, size, &out));
	CHECK(!many_state_get(m, "total", &out) && same(out.data, x[0], 6) && many_results(m) == 1);
	CHECK(!many_state_get(m, "count", &out) && *(int64_t *)out.data == 1);
	CHECK(!many_state_set(m, "total", &set) && !many_state_set(m, "count", &number));
	CHECK(!call(m, "forward", x, size, &out) && ((float *)out.data)[1] == 33);
	CHECK(!call(m, "grow", x, row, &out) && out.shape[0] == 1);
	CHECK(!call(m, "grow", x[1], row, &out) && out.shape[0] == 2 && same(out.data, x[0], 6));
	CHECK(!many_state_set(m, "inner.cache", &wide) && !call(m, "grow", x, row, &out) && out.shape[0] == 4);
	CHECK(!many_state_get(m, "inner.cache", &out) && out.shape[0] == 4 && same(out.data, big, 9));
	FAILS(m, many_ARGUMENT, many_state_get(m, "inner.nothing", &out), "inner.nothing");
	FAILS(m, many_ARGUMENT, many_state_get(m, "inner", &out), "inner");
	FAILS(m, many_ARGUMENT, many_state_set(m, "total", &number), "dtype");
	FAILS(m, many_ARGUMENT, many_state_set(m, "count", &set), "count");
	FAILS(m, many_ARGUMENT, many_state_get(m, "total", NULL), "wanted");
	FAILS(m, many_ARGUMENT, many_state_set(m, "total", NULL), "wanted");
	FAILS(m, many_ARGUMENT, many_state_get(m, "kept", &out), "None");
	CHECK(!many_state_set(m, "kept", &set) && !many_state_get(m, "kept", &out) && same(out.data, total, 6));
	CHECK(!many_reset(m) && !many_state_get(m, "count", &out) && *(int64_t *)out.data == 0);
}

/* The model copies an argument that it keeps. */
static void
kept(many *m)
{
	float *mine = malloc(sizeof x);
	DLTensor in = tensor(mine, kDLFloat, 32, 2, size), *args[] = { &in }, out[2];

	memcpy(mine, x, sizeof x);
	memset(out, 0, sizeof out);
	CHECK(!many_call(m, "keep", args, 1, out, 2));
	memset(mine, 0, sizeof x);
	free(mine);
	CHECK(same(out[0].data, x[0], 6));
	in.data = x;
	memset(out, 0, sizeof out);
	CHECK(!many_call(m, "keep", args, 1, out, 2) && out[1].strides[0] == 1 && out[1].shape[0] == 3);
	CHECK(same(out[1].data, x[0], 6));
	CHECK(!call(m, "write", x, size, &out[0]) && *(float *)out[0].data == 27 && x[0][0] == 2);
	for (int i = 0; i < 6; i++)
		x[0][i]--;
}

static void
wrong(many *m)
{
	char why[16];
	int64_t less[] = { -1, 3 }, large[] = { INT64_MAX, 3 }, back[] = { -3, 1 };
	DLTensor in = tensor(x, kDLFloat, 32, 2, size), *args[] = { &in, &in }, out = { 0 };
	many_options o;

	FAILS(m, many_ARGUMENT, many_call(m, "nothing", args, 1, NULL, 0), "nothing");
	FAILS(m, many_ARGUMENT, many_call(m, "forward", args, 2, NULL, 0), "2 arguments");
	FAILS(m, many_ARGUMENT, many_call(m, "forward", NULL, 1, NULL, 0), "no array");
	FAILS(m, many_ARGUMENT, many_call(m, "forward", args, 1, NULL, 1), "no room");
	FAILS(m, many_ARGUMENT, many_call(m, "forward", args, 1, &out, 2), "1 results");
	FAILS(m, many_ARGUMENT, many_call(m, "forward", NULL, 0, NULL, 0), "missing");
	in.data = NULL;
	FAILS(m, many_ARGUMENT, many_call(m, "forward", args, 1, NULL, 0), "no data");
	in = tensor(x, kDLFloat, 32, 2, less);
	FAILS(m, many_ARGUMENT, many_call(m, "forward", args, 1, NULL, 0), "less than 0");
	in.shape = large;
	FAILS(m, many_ARGUMENT, many_call(m, "forward", args, 1, NULL, 0), "too large");
	in.shape = NULL;
	FAILS(m, many_ARGUMENT, many_call(m, "forward", args, 1, NULL, 0), "shape");
	in = tensor(x, kDLFloat, 32, 65, size);
	FAILS(m, many_ARGUMENT, many_call(m, "forward", args, 1, NULL, 0), "64 dimensions");
	in = tensor(x, kDLFloat, 32, 2, size);
	in.strides = back;
	FAILS(m, many_ARGUMENT, many_call(m, "forward", args, 1, NULL, 0), "less than 0");
	in = tensor(x, kDLFloat, 24, 2, size);
	FAILS(m, many_ARGUMENT, many_call(m, "forward", args, 1, NULL, 0), "dtype");
	in = tensor(x, kDLFloat, 32, 2, size);
	in.dtype.lanes = 4;
	FAILS(m, many_ARGUMENT, many_call(m, "forward", args, 1, NULL, 0), "dtype");
	in = tensor(x, kDLFloat, 32, 2, size);
	in.device.device_type = kDLCUDA;
	FAILS(m, many_ARGUMENT, many_call(m, "forward", args, 1, NULL, 0), "CPU");
	in = tensor((char *)x + 1, kDLFloat, 32, 1, three);
	FAILS(m, many_ARGUMENT, many_call(m, "forward", args, 1, NULL, 0), "aligned");
	in = tensor(x, kDLFloat, 32, 1, (int64_t[]){ 5 });
	FAILS(m, many_RAISED, many_call(m, "forward", args, 1, NULL, 0), "must match");
	in = tensor(x, kDLFloat, 32, 2, size);
	FAILS(m, many_RAISED, many_call(m, "refuse", args, 1, NULL, 0), "ValueError: no sums above zero");
	CHECK(strstr(many_error(m), "raise ValueError"));        /* the line of the model */
	CHECK(many_results(m) == 0 && !many_call(m, "forward", args, 1, NULL, 0));
	FAILS(m, many_ARGUMENT, many_set(m, "x", NULL), "wanted");
	FAILS(m, many_ARGUMENT, many_set_text(m, NULL, ""), "wanted");
	FAILS(m, many_ARGUMENT, many_forward(m, x, NULL), "null");
	CHECK(many_call(NULL, NULL, NULL, 0, NULL, 0) == many_ARGUMENT && many_results(NULL) == -1);
	CHECK(many_error(NULL)[0]);
	many_close(NULL);
	memset(&o, 0, sizeof o);
	o.device = "tpu";
	CHECK(!many_open(&o, why, sizeof why) && strlen(why) == sizeof why - 1 && !many_open(&o, NULL, 0));
	o.device = "cuda";
	CHECK(!many_open(&o, why, sizeof why));
	o.device = NULL;
	o.weights = x;
	CHECK(!many_open(&o, why, sizeof why));
}

typedef struct Heard { char text[64]; many *m; int inside, loops; } Heard;

static void
hear(void *arg, const char *text, size_t n)
{
	Heard *h = arg;

	if (n < sizeof h->text)
		memcpy(h->text, text, n);
	h->inside = many_call(h->m, "draw", NULL, 0, NULL, 0);
}

static void
in_parts(void *arg, int parts, void (*part)(void *, int), void *of)
{
	((Heard *)arg)->loops++;
	for (int i = parts; i-- > 0;)
		part(of, i);
}

static void
options(void)
{
	Heard h;
	many_options o;
	net_options n;
	DLTensor out, t = tensor(x, kDLFloat, 32, 2, size);
	float first[3], rows[512][4] = { { 0 } };
	int64_t many_rows[] = { 512, 4 };
	DLTensor in = tensor(rows, kDLFloat, 32, 2, many_rows), *args[] = { &in };
	net *p;

	memset(&h, 0, sizeof h);
	memset(&o, 0, sizeof o);
	memset(&n, 0, sizeof n);
	o.print = hear;
	o.arg = &h;
	o.seeded = 1;
	o.seed = 7;
	h.m = opened(&o);
	CHECK(!call(h.m, "say", x, size, &out) && !strcmp(h.text, "x is 2\n") && h.inside == many_BUSY);
	CHECK(out.dtype.code == kDLBool && out.dtype.bits == 8);
	out.data = NULL;
	CHECK(!many_call(h.m, "draw", NULL, 0, &out, 1));
	memcpy(first, out.data, sizeof first);
	out.data = NULL;
	CHECK(!many_call(h.m, "draw", NULL, 0, &out, 1) && !same(out.data, first, 3));
	out.data = NULL;
	CHECK(!many_reset(h.m) && !many_call(h.m, "draw", NULL, 0, &out, 1) && same(out.data, first, 3));
	many_close(h.m);
	o.strict = 1;
	h.m = opened(&o);
	CHECK(!call(h.m, "forward", x, size, &out));
	t.ndim = 1;
	t.shape = three;
	CHECK(!many_set(h.m, "x", &t));
	FAILS(h.m, many_GUARD, many_call(h.m, "forward", NULL, 0, NULL, 0), "specialization");
	many_close(h.m);
	n.parallel = in_parts;
	n.pool = &h;
	CHECK(!net_open(&n, NULL, 0));
	n.threads = 3;
	CHECK((p = net_open(&n, NULL, 0)));
	out.data = NULL;
	CHECK(p && !net_call(p, NULL, args, 1, &out, 1) && out.shape[0] == 512 && h.loops > 0);
	net_close(p);
}

/* A child process has none of its parent's threads: calls run without them and wait for none of them. */
static void
forked(void)
{
	static float rows[512][4];
	int64_t many_rows[] = { 512, 4 };
	DLTensor in = tensor(rows, kDLFloat, 32, 2, many_rows), *args[] = { &in };
	net_options o;
	net *p;
	int status;

	memset(&o, 0, sizeof o);
	o.threads = 3;
	CHECK((p = net_open(&o, NULL, 0)) && !net_call(p, NULL, args, 1, NULL, 0));
	if (!fork()) {
		alarm(60);
		status = net_call(p, NULL, args, 1, NULL, 0);
		net_close(p);
		_exit(status);
	}
	CHECK(wait(&status) > 0 && !status);
	net_close(p);
}

static void *
calls(void *arg)
{
	static float rows[512][4];
	int64_t many_rows[] = { 512, 4 };
	DLTensor in = tensor(rows, kDLFloat, 32, 2, many_rows), *args[] = { &in };

	for (;; pthread_testcancel())
		CHECK(!net_call(arg, NULL, args, 1, NULL, 0));
	return NULL;
}

/* A thread that is cancelled ends between calls, even if it waits for other threads inside of a call.  The instance can
 * be called afterwards. */
static void
cancelled(void)
{
	static float rows[512][4];
	int64_t many_rows[] = { 512, 4 };
	DLTensor in = tensor(rows, kDLFloat, 32, 2, many_rows), *args[] = { &in };
	net_options o;
	pthread_t thread;
	net *p;

	memset(&o, 0, sizeof o);
	o.threads = 3;
	for (int i = 0; i < 50; i++) {
		CHECK((p = net_open(&o, NULL, 0)) && !pthread_create(&thread, NULL, calls, p));
		usleep(1000 + 37 * (unsigned)i);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		CHECK(!net_call(p, NULL, args, 1, NULL, 0));
		net_close(p);
	}
}

int
main(void)
{
	many *m = opened(NULL), *second = opened(NULL);

	results(m);
	many_close(m);
	chained();
	taken();
	containers(second);
	state(second);
	kept(second);
	wrong(second);
	many_close(second);
	options();
	forked();
	cancelled();
	return failures != 0;
}
