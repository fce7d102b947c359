/*
 * Objects of C++ classes: the packed parameters of quantized modules.
 *
 * PyTorch holds them in the formats of its kernel libraries, but pickles the plain weight and geometry. Here they are
 * objects with ordinary slots, in the order of the table below. The operators of rt/ops/quant.c read these slots.
 */
#include "../frontend.h"

#include <string.h>

enum { CONV_SLOTS = 8 };

static const struct Packed {
	const char *name;
	/* Number of spatial dims. 0 for linear, -1 for embedding, -2 for a cell of a recurrent network. */
	int         spatial;
	/* Letters of the slots of an XNNPACK object, which are also the order of its state. Null for other objects. */
	const char *slots;
} rows[] = {
	{ "__torch__.torch.classes.quantized.LinearPackedParamsBase",    0, NULL },
	{ "__torch__.torch.classes.quantized.Conv2dPackedParamsBase",    2, NULL },
	{ "__torch__.torch.classes.quantized.Conv3dPackedParamsBase",    3, NULL },
	{ "__torch__.torch.classes.quantized.EmbeddingPackedParamsBase", -1, NULL },
	{ "__torch__.torch.classes.rnn.CellParamsBase",                  -2, NULL },
	{ "__torch__.torch.classes.xnnpack.LinearOpContext",             0, "wblh" },
	{ "__torch__.torch.classes.xnnpack.Conv2dOpContext",             2, "wbspdglh" },
	{ "__torch__.torch.classes.xnnpack.TransposeConv2dOpContext",    2, "wbspodglh" },
};

static const struct { char letter; const char *name; const Type *type; bool optional; } slots[] = {
	{ 'w', "weight", &rt_type_tensor, false },      { 'b', "bias", &rt_type_tensor, true },
	{ 's', "stride", &rt_type_list_int, false },    { 'p', "padding", &rt_type_list_int, false },
	{ 'o', "output_padding", &rt_type_list_int, false }, { 'd', "dilation", &rt_type_list_int, false },
	{ 'g', "groups", &rt_type_int, false },         { 'l', "output_min", &rt_type_number, true },
	{ 'h', "output_max", &rt_type_number, true },
};
enum { NSLOT = sizeof slots / sizeof *slots };

static int
slot_of(char letter)
{
	for (int i = 0; i < NSLOT; i++)
		if (slots[i].letter == letter)
			return i;
	BUG("no slot has the letter %c", letter);
}

static const struct Packed *
row_of(const char *name)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

/* Number of slots of an object, as packed_type adds them. */
static int
slot_count(const struct Packed *p)
{
	return p->slots ? (int)strlen(p->slots) : p->spatial == -2 ? 5 : p->spatial > 0 ? CONV_SLOTS : 2;
}

static void
add_slot(Cx *cx, ClassInfo *info, const char *name, const Type *t)
{
	class_add_attr(cx, info, (Attribute){ .name = name, .type = t });
}

const Type *
packed_type(Cx *cx, const char *name)
{
	const struct Packed *p = row_of(name);
	const Type *t = p ? type_class(cx, name, false) : NULL, *ints = type_list(cx, &rt_type_int);
	ClassInfo *info = t ? class_info(t) : NULL;

	if (!info || info->defined)
		return t;
	info->defined = true;
	if (p->spatial == -2) {
		const Type *linear = packed_type(cx, rows[0].name), *bias = type_optional(cx, &rt_type_tensor);

		add_slot(cx, info, "w_ih", linear);
		add_slot(cx, info, "w_hh", linear);
		add_slot(cx, info, "b_ih", bias);
		add_slot(cx, info, "b_hh", bias);
		add_slot(cx, info, "reduce_range", &rt_type_bool);
		return t;
	}
	for (const char *s = p->slots; s && *s; s++) {
		const int i = slot_of(*s);

		add_slot(cx, info, slots[i].name, slots[i].optional ? type_optional(cx, slots[i].type) : slots[i].type);
	}
	if (p->slots)
		return t;
	add_slot(cx, info, "weight", &rt_type_tensor);
	add_slot(cx, info, "bias", type_optional(cx, &rt_type_tensor));
	if (p->spatial <= 0)
		return t;
	add_slot(cx, info, "stride", ints);
	add_slot(cx, info, "padding", ints);
	add_slot(cx, info, "dilation", ints);
	add_slot(cx, info, "output_padding", ints);
	add_slot(cx, info, "groups", &rt_type_int);
	add_slot(cx, info, "transpose", &rt_type_bool);
	return t;
}

const Type *
packed_class(const PickleAt *at, const char *name)
{
	const Type *t = packed_type(at->cx, name);

	if (!t)
		pickle_lacks(at, "Kiln lacks objects of the C++ class %s", name);
	return t;
}

/* ---- decoding -------------------------------------------------------------------------------------------- */

static IValue
part(const PickleAt *at, IValue v, int64_t i, const char *what)
{
	int64_t n = v.tag == RT_TUPLE ? v.u.tuple->n : v.tag == RT_LIST ? v.u.list->n : -1;

	if (i >= n)
		pickle_bad(at, "packed parameters lack their %s", what);
	return v.tag == RT_TUPLE ? v.u.tuple->v[i] : v.u.list->v[i];
}

static IValue
tensor_part(const PickleAt *at, IValue v, int64_t i, int ndim, const char *what)
{
	IValue t = part(at, v, i, what);

	if (t.tag != RT_TENSOR || (ndim && t.u.t->ndim != ndim))
		pickle_bad(at, "the %s of packed parameters is no tensor of %d dimensions", what, ndim);
	return t;
}

static void
set_bias(const PickleAt *at, RtObject *o, IValue bias)
{
	if (bias.tag != RT_NONE && (bias.tag != RT_TENSOR || bias.u.t->ndim != 1))
		pickle_bad(at, "the bias of packed parameters is a %s", rt_type_of(bias));
	rt_assign(&o->slot[1], rt_retain(bias));
}

static void
build_linear(const PickleAt *at, RtObject *o, IValue state)
{
	rt_assign(&o->slot[0], rt_retain(tensor_part(at, state, 0, 2, "weight")));
	set_bias(at, o, part(at, state, 1, "bias"));
}

/* Reads the state (1, [weight], [], [bit rate]). */
static void
build_embedding(const PickleAt *at, RtObject *o, IValue state)
{
	rt_assign(&o->slot[0], rt_retain(tensor_part(at, part(at, state, 1, "tensors"), 0, 2, "weight")));
}

/* Detects archives of qnnpack, which packs copies of biases. x86, fbgemm and onednn keep the cell's own biases, which
 * archives then store once. */
static void
find_engine(const PickleAt *at, const RtObject *o)
{
	for (int i = 0; i < 2; i++) {
		const IValue own = o->slot[2 + i], packed = o->slot[i].u.obj->slot[1];

		if (packed.tag != RT_TENSOR || packed.u.t->storage == own.u.t->storage)
			return;
	}
	cx_rt(at->cx)->engine = RT_QNNPACK;
}

/* Reads the state (kind, [b_ih, b_hh], [scales], [reduce_range], [w_ih, w_hh]). quantized_fp16 has no biases. */
static void
build_cell(const PickleAt *at, RtObject *o, IValue state)
{
	IValue kind = part(at, state, 0, "kind"), biases = part(at, state, 1, "biases"),
	       range = part(at, state, 3, "range");
	IValue weights = part(at, state, 4, "weights");
	bool half;

	if (kind.tag != RT_STR ||
	    (strcmp(kind.u.str->s, "quantized_dynamic") && strcmp(kind.u.str->s, "quantized_fp16")))
		pickle_lacks(at,
			     "Kiln lacks recurrent cells of another kind than quantized_dynamic and quantized_fp16");
	half = !strcmp(kind.u.str->s, "quantized_fp16");
	for (int i = 0; i < 2; i++) {
		IValue w = part(at, weights, i, "weight");

		if (w.tag != RT_OBJECT || strcmp(w.u.obj->cls->name, rows[0].name))
			pickle_bad(at, "the weight of a packed cell is a %s", rt_type_of(w));
		rt_assign(&o->slot[i], rt_retain(w));
		if (!half)
			rt_assign(&o->slot[2 + i], rt_retain(tensor_part(at, biases, i, 1, "bias")));
	}
	if (!half)
		find_engine(at, o);
	rt_assign(&o->slot[4], rt_bool(range.tag == RT_LIST && range.u.list->n && range.u.list->v[0].u.i));
}

static int64_t
config_at(const RtTensor *t, int64_t i)
{
	return rt_load_i64(t->dtype, rt_data(t) + i * t->strides[0] * rt_dtypes[t->dtype].bytes);
}

/* Reads the geometry from an int16 tensor: spatial, then stride, padding, dilation and output_padding with one entry
 * for each dim, groups, transpose. */
static void
set_geometry(const PickleAt *at, RtCx *rt, RtObject *o, const RtTensor *config, int spatial)
{
	if (config->ndim != 1 || config->dims[0] != 3 + 4 * spatial || rt_dtypes[config->dtype].category != 'I'
	    || config_at(config, 0) != spatial)
		pickle_bad(at, "the geometry of a packed convolution is damaged");
	for (int k = 0; k < 4; k++) {
		RtList *l = rt_list_new(rt, &rt_type_int, spatial);

		if (!l)
			pickle_bad(at, "out of memory");
		for (int i = 0; i < spatial; i++)
			rt_list_push(rt, l, rt_int(config_at(config, 1 + k * spatial + i)));
		rt_assign(&o->slot[2 + k], rt_ref(RT_LIST, l));
	}
	rt_assign(&o->slot[6], rt_int(config_at(config, 1 + 4 * spatial)));
	rt_assign(&o->slot[7], rt_bool(config_at(config, 2 + 4 * spatial) != 0));
}

/* Reads the state ("2", [config, weight], [bias]). */
static void
build_conv(const PickleAt *at, RtCx *rt, RtObject *o, IValue state, int spatial)
{
	IValue version = part(at, state, 0, "version"), tensors = part(at, state, 1, "tensors");

	if (version.tag != RT_STR || strcmp(version.u.str->s, "2"))
		pickle_lacks(at, "Kiln lacks packed convolutions of another version than 2");
	rt_assign(&o->slot[0], rt_retain(tensor_part(at, tensors, 1, spatial + 2, "weight")));
	set_bias(at, o, part(at, part(at, state, 2, "optional tensors"), 0, "bias"));
	set_geometry(at, rt, o, tensor_part(at, tensors, 0, 1, "geometry").u.t, spatial);
}

/* Reads the state (weight, bias, stride, ...), in the order of the slots. */
static void
build_slots(const PickleAt *at, Fits *fits, RtObject *o, IValue state, const struct Packed *p)
{
	for (int i = 0; p->slots[i]; i++) {
		const int k = slot_of(p->slots[i]);
		IValue v = part(at, state, i, slots[k].name);

		if (!(slots[k].optional && v.tag == RT_NONE) && !value_fits(fits, v, slots[k].type))
			pickle_bad(at, "the %s of packed parameters is a %s", slots[k].name, rt_type_of(v));
		rt_assign(&o->slot[i], rt_retain(v));
	}
	tensor_part(at, state, 0, p->spatial + 2, "weight");
}

void
packed_build(const PickleAt *at, RtCx *rt, Fits *fits, RtObject *o, IValue state)
{
	const struct Packed *p = row_of(o->cls->name);
	const int spatial = p->spatial;

	RT_ASSERT(p && o->cls->nslot == slot_count(p));
	value_settle(fits, state);
	if (p->slots)
		build_slots(at, fits, o, state, p);
	else if (spatial == 0)
		build_linear(at, o, state);
	else if (spatial == -2)
		build_cell(at, o, state);
	else if (spatial < 0)
		build_embedding(at, o, state);
	else
		build_conv(at, rt, o, state, spatial);
}

/* ---- encoding: the inverse of the decoders above ------------------------------------------------------------- */

static IValue
tensors(Cx *cx, const IValue *v, int n)
{
	return value_list(cx, &rt_type_tensor, v, n);
}

static IValue
state_of_cell(Cx *cx, const RtObject *o)
{
	const bool half = rt_is_none(o->slot[2]);
	const IValue range = rt_int(o->slot[4].u.i);
	const IValue part[5] = {
		value_str(cx, half ? "quantized_fp16" : "quantized_dynamic", -1),
		tensors(cx, &o->slot[2], half ? 0 : 2),
		value_list(cx, &rt_type_float, NULL, 0), value_list(cx, &rt_type_int, &range, 1),
		value_list(cx, packed_type(cx, rows[0].name), o->slot, 2),
	};

	return value_tuple(cx, NULL, part, 5);
}

static IValue
state_of_embedding(Cx *cx, const RtObject *o)
{
	const IValue bits = rt_int(8);
	const IValue part[4] = { rt_int(1), tensors(cx, o->slot, 1), value_list(cx, &rt_type_float, NULL, 0),
				 value_list(cx, &rt_type_int, &bits, 1) };

	return value_tuple(cx, NULL, part, 4);
}

static IValue
geometry_of_conv(Cx *cx, const RtObject *o, int spatial)
{
	const int64_t n = 3 + 4 * spatial;
	RtTensor *t = rt_tensor_new(cx_rt(cx), RT_i16, 1, &n);
	int16_t *p;

	if (!t)
		fail(cx, (Range){ 0 }, "out of memory");
	p = (int16_t *)(void *)rt_data(t);
	*p++ = (int16_t)spatial;
	for (int k = 2; k < 6; k++)
		for (int i = 0; i < spatial; i++)
			*p++ = (int16_t)o->slot[k].u.list->v[i].u.i;
	*p++ = (int16_t)o->slot[6].u.i;
	*p++ = (int16_t)o->slot[7].u.i;
	return rt_of(t);
}

static IValue
state_of_conv(Cx *cx, const RtObject *o, int spatial)
{
	const IValue both[2] = { geometry_of_conv(cx, o, spatial), o->slot[0] };
	const IValue part[3] = { value_str(cx, "2", -1), tensors(cx, both, 2),
				 value_list(cx, type_optional(cx, &rt_type_tensor), &o->slot[1], 1) };

	return value_tuple(cx, NULL, part, 3);
}

IValue
packed_state(Cx *cx, const RtObject *o)
{
	const struct Packed *p = row_of(o->cls->name);
	const int spatial = p->spatial;

	RT_ASSERT(p && o->cls->nslot == slot_count(p));
	if (p->slots)
		return value_tuple(cx, NULL, o->slot, (int)strlen(p->slots));
	if (!spatial)
		return value_tuple(cx, NULL, o->slot, 2);
	return spatial == -2 ? state_of_cell(cx, o) : spatial < 0 ? state_of_embedding(cx, o) :
	       state_of_conv(cx, o, spatial);
}
