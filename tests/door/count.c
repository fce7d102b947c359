/* tests/door/count.c - counts the allocations of calls.  Linked with --wrap for all functions that allocate. */
#include "many.h"
#include "net.h"
#include "check.h"

static int asked;

static int
fails(void)
{
	asked++;
	return 0;
}

#include "wrap.h"

int
main(void)
{
	float x[1][4] = { { 1, 2, 3, 4 } }, out[1][3], in[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
	int64_t size[] = { 1, 4 }, other[] = { 2, 3 };
	DLTensor t = tensor(x, kDLFloat, 32, 2, size), *args[] = { &t }, r;
	net *m = net_open(NULL, NULL, 0);
	many *n = many_open(NULL, NULL, 0);

	CHECK(m && n && asked > 0);
	asked = 0;
	for (int i = 0; i < 5; i++)
		CHECK(!net_forward(m, (const float (*)[4])x, out));
	CHECK(asked == 0);
	for (int i = 0; i < 5; i++) {
		r = tensor(out, kDLFloat, 32, 2, (int64_t[]){ 1, 3 });
		CHECK(!net_call(m, "forward", args, 1, &r, 1));
		if (!i)
			asked = 0;
	}
	CHECK(asked == 0);
	t = tensor(in, kDLFloat, 32, 2, other);
	for (int i = 0; i < 5; i++) {
		r.data = NULL;
		CHECK(!many_call(n, "forward", args, 1, &r, 1));
		if (!i)
			asked = 0;
	}
	CHECK(asked == 0);
	net_close(m);
	many_close(n);
	return failures != 0;
}
