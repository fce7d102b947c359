/* tests/fuzz/npz.c - any bytes as an .npz: must give an error or arrays, and arrays that were read can be written and
 * read again */
#include "fuzz.h"

#include "../../rt/base.h"
#include "../../rt/host.h"

const RtQuantized *const rt_quantized;         /* null, since no array is quantized here */

/* Reads the arrays as an argument of this type, if possible. */
static void
as_argument(RtCx *cx, const RtType *t, const RtArrays *a)
{
	RtParam p = { "x", t, false, { 0, { 0 } }, 0 };
	RtArrays out = { 0 };
	IValue v;

	if (rt_args_from_arrays(cx, &p, 1, a, &v))
		return;
	if (!rt_arrays_from_value(cx, &out, "x", v))
		rt_arrays_free(&out);
	rt_release(v);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static const RtType *const pair[] = { &rt_type_str, &rt_type_list_tensor };
	static const RtType dict = { .kind = TYPE_DICT, .n = 2, .of = pair };
	static const RtType *const parts[] = { &rt_type_tensor, &rt_type_list_int, &dict };
	static const RtType tuple = { .kind = TYPE_TUPLE, .n = 3, .of = parts };
	static const RtType *const type[] = { &rt_type_tensor, &rt_type_list_float, &rt_type_str, &dict,
					      &tuple,	       &rt_type_any };
	RtArrays a = { 0 };
	RtCx cx;

	if (rt_cx_init(&cx))
		return 0;
	cx.memory_limit = 256 << 20;
	if (!rt_npz_parse(&cx, "input", bytes, (int64_t)n, &a)) {
		for (size_t i = 0; i < sizeof type / sizeof *type; i++)
			as_argument(&cx, type[i], &a);
		rt_arrays_free(&a);
	}
	rt_cx_free(&cx);
	return 0;
}
