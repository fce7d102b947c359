#include "draw.h"

#include <string.h>

int
draw_below(Draw *d, int n)
{
	d->random = d->random * 6364136223846793005u + 1442695040888963407u;
	return (int)((d->random >> 33) % (uint64_t)n);
}

void
draw_fill(Draw *d, RtTensor *t)
{
	for (int64_t i = 0, n = rt_numel(t); i < n; i++) {
		const double x = rt_dtypes[t->dtype].category == 'F' ? (draw_below(d, 16) + 1) / 8. : draw_below(d, 2);
		char *at = rt_data(t) + i * rt_dtypes[t->dtype].bytes;

		rt_cast((RtDtype)t->dtype, at, RT_f64, &x, 1);
	}
}

static IValue
any_tensor(Draw *d)
{
	static const RtDtype other[] = { RT_f32, RT_f64, RT_i64, RT_b8, RT_u8, RT_i32, RT_c64, RT_f16, RT_bf16 };
	int64_t dims[DRAW_RANK] = { 0 };
	int rank = draw_below(d, 3) ? d->rank : draw_below(d, d->rank + 1);
	const RtDtype dtype = draw_below(d, 3) ? d->dtype : draw_below(d, 2) ? RT_i64 : other[draw_below(d, 9)];
	RtTensor *t, *view;

	for (int i = 0; i < rank; i++)
		dims[i] = draw_below(d, 8) ? d->dims[d->rank - rank + i] : 1;
	t = rt_tensor_new(d->rt, dtype, rank, dims);
	draw_fill(d, t);
	if (rank > 1 && !draw_below(d, 6)) {                      /* the last two dims change places */
		int64_t strides[DRAW_RANK], swap = dims[rank - 1];

		memcpy(strides, t->strides, sizeof *strides * (size_t)rank);
		dims[rank - 1] = dims[rank - 2];
		dims[rank - 2] = swap;
		swap = strides[rank - 1];
		strides[rank - 1] = strides[rank - 2];
		strides[rank - 2] = swap;
		view = rt_tensor_view(d->rt, t, rank, dims, strides, 0);
		rt_tensor_release(t);
		t = view;
	}
	return rt_of(t);
}

static IValue
any_text(Draw *d)
{
	static const char *const texts[] = { "none", "mean", "sum", "constant", "reflect", "replicate", "linear", "ij",
					     "xy", "trunc", "floor", "right", "left", "fro", "nuc", "L", "U", "reduced",
					     "complete", "tanh", "nearest", "bilinear", "backward", "amax", "prod" };

	return rt_ref(RT_STR, rt_str_new(d->rt, texts[draw_below(d, sizeof texts / sizeof *texts)], -1));
}

static IValue
any_int(Draw *d, const Arg *a)
{
	static const int codes[] = { 6, 7, 4, 11, 5, 15, 0, 3 };

	if ((a->word && !strcmp(a->word, "ScalarType")) || !strcmp(a->name, "dtype"))
		return rt_int(codes[draw_below(d, 8)]);
	if (!strncmp(a->name, "dim", 3))
		return rt_int(draw_below(d, d->rank + 1) - draw_below(d, 2));
	return rt_int(draw_below(d, 8) ? draw_below(d, 4) : -1);
}

/* False: there is no value of the type here. */
static bool
any_value(Draw *d, const Arg *a, const Type *type, IValue *out)
{
	RtList *list;
	int n;

	switch (type->kind) {
	case TYPE_TENSOR: *out = any_tensor(d); return true;
	case TYPE_INT:    *out = any_int(d, a); return true;
	case TYPE_NUMBER:
		*out = draw_below(d, 2) ? rt_int(draw_below(d, 4)) : rt_double(draw_below(d, 4) / 2.);
		return true;
	case TYPE_FLOAT:  *out = rt_double(draw_below(d, 5) / 2.); return true;
	case TYPE_BOOL:   *out = rt_bool(draw_below(d, 2)); return true;
	case TYPE_STR:    *out = any_text(d); return true;
	case TYPE_COMPLEX: *out = rt_complex(d->rt, draw_below(d, 3), draw_below(d, 3)); return true;
	case TYPE_DEVICE: *out = (IValue){ .tag = RT_DEVICE }; return true;
	case TYPE_NONE: case TYPE_GENERATOR: *out = rt_none(); return true;
	case TYPE_ANY: case TYPE_VAR:
		*out = draw_below(d, 3) ? any_tensor(d) : rt_int(draw_below(d, 3));
		return true;
	case TYPE_OPTIONAL:
		*out = rt_none();
		return draw_below(d, 2) || any_value(d, a, type->of[0], out);
	case TYPE_LIST:
		n = a->size_hint && draw_below(d, 4) ? a->size_hint : draw_below(d, 3) ? d->rank : draw_below(d, 4);
		list = rt_list_new(d->rt, type->of[0]->kind == TYPE_VAR ? &rt_type_tensor : type->of[0], n);
		for (int i = 0; i < n; i++) {
			IValue v;

			if (type->of[0]->kind == TYPE_VAR)
				v = any_tensor(d);
			else if (!any_value(d, a, type->of[0], &v))
				return false;
			rt_list_push(d->rt, list, v);
		}
		*out = rt_ref(RT_LIST, list);
		return true;
	default:
		return false;
	}
}

bool
draw_arguments(Draw *d, const Schema *s, IValue *args)
{
	static const RtDtype dtypes[] = { RT_f32, RT_f32, RT_f32, RT_f64, RT_i64, RT_b8, RT_c64 };

	d->rank = draw_below(d, DRAW_RANK + 1);
	d->dtype = dtypes[draw_below(d, 7)];
	for (int i = 0; i < d->rank; i++)
		d->dims[i] = draw_below(d, 10) ? draw_below(d, 2) + 2 : draw_below(d, 2);
	if (draw_below(d, 2))                                /* all alike: square matrices, channels as wide as rows */
		for (int i = 1; i < d->rank; i++)
			d->dims[i] = d->dims[0];
	for (int i = 0; i < s->nargs; i++) {
		const Arg *a = &s->args[i];

		if (a->has_default && draw_below(d, 3))
			args[i] = rt_retain(a->deflt);
		else if (!any_value(d, a, a->type, &args[i]))
			return false;
	}
	return true;
}

bool
draw_has_tensors(const Schema *s)
{
	for (int i = 0; i < s->nargs; i++) {
		const Type *t = s->args[i].type;

		while (t->kind == TYPE_OPTIONAL || t->kind == TYPE_LIST)
			t = t->of[0];
		if (t->kind == TYPE_TENSOR || t->kind == TYPE_VAR || t->kind == TYPE_ANY)
			return true;
	}
	return false;
}
