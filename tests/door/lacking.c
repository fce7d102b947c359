/* tests/door/lacking.c - makes each allocation fail in turn: calls return a status, and later calls are right again
 *
 * Linked with --wrap for all functions that allocate. */
#include "many.h"
#include "net.h"
#include "check.h"

static int left = -1;            /* Number of allocations before one fails.  Negative: none fails. */

static int
fails(void)
{
	return left >= 0 && left-- == 0;
}

#include "wrap.h"

static void
ignore(void *arg, const char *text, size_t n)
{
	(void)arg, (void)text, (void)n;
}

/* Takes a result that is also the copy of the argument.  It is copied again. */
static int
take(many *m)
{
	DLManagedTensor *t = many_result_take(m, 0);

	if (t)
		t->deleter(t);
	else
		CHECK(strstr(many_error(m), "memory"));
	return t ? many_OK : many_MEMORY;
}

/* Makes all kinds of calls.  Returns the first status that is not the expected one. */
static int
calls(many *m, net *p)
{
	float x[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } }, row[1][4] = { { 1, 2, 3, 4 } }, out[1][3];
	double values[] = { 1, 2 };
	int64_t size[] = { 2, 3 }, two[] = { 2 }, other[] = { 3, 4 };
	float rows[3][4] = { { 0 } };
	DLTensor t = tensor(x, kDLFloat, 32, 2, size), *in[] = { &t }, list = tensor(values, kDLFloat, 64, 1, two), r;
	DLTensor wide = tensor(rows, kDLFloat, 32, 2, other), *wides[] = { &wide };
	int status = 0;

	r.data = NULL;
	if ((status = many_call(m, "forward", in, 1, &r, 1)) ||
	    (status = net_forward(p, (const float (*)[4])row, out)) ||
	    (status = net_call(p, NULL, wides, 1, NULL, 0)) || (status = many_set_text(m, "name", "n")) ||
	    (status = many_set(m, "values", &list)) || (status = many_set(m, "parts.a", &t)) ||
	    (status = many_call(m, "describe", NULL, 0, NULL, 0)) || (status = many_call(m, "keep", in, 1, NULL, 0)) ||
	    (status = take(m)) ||
	    (status = many_call(m, "say", in, 1, NULL, 0)) || (status = many_state_get(m, "total", &r)) ||
	    (status = many_state_set(m, "inner.cache", &t)) || (status = many_call(m, "grow", in, 1, NULL, 0)))
		return status;
	status = many_call(m, "refuse", in, 1, NULL, 0);
	return status == many_RAISED ? many_reset(m) : status;
}

static int
lacks(int n)
{
	many_options o = { .print = ignore };
	char why[64] = "";
	many *m;
	net *p;
	int status = many_MEMORY, again = 0;

	left = n;
	m = many_open(&o, why, sizeof why);
	p = m ? net_open(NULL, why, sizeof why) : NULL;
	if (p)
		status = calls(m, p);
	else
		CHECK(strstr(why, "memory"));
	if (p && status && status != many_MEMORY)
		printf("allocation %d: status %d, %s\n", n, status, many_error(m)), failures++;
	n = left;
	left = -1;
	if (p && status && (again = many_reset(m)) == 0)
		again = calls(m, p);
	if (p && again && again != many_MEMORY)
		printf("then status %d, %s\n", again, many_error(m)), failures++;
	many_close(m);
	net_close(p);
	return n < 0;
}

int
main(void)
{
	int n = 0;

	while (lacks(n) && !failures)
		n++;
	printf("%d allocations\n", n);
	return failures || n < 50;
}
