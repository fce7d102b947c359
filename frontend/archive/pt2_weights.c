/*
 * Payloads: parameters, buffers and constants of an exported program, by name.
 *
 * Since PyTorch 2.9, a config names for each payload a file with the bytes of a storage, and the geometry of the
 * tensor. Payloads with the same file share the storage. Those with the same geometry in it are one tensor. In older
 * archives, and for subclasses of Tensor, a file is an output of torch.save: an archive in the archive.
 */
#include "pt2.h"

#include <string.h>

typedef struct Table {           /* Table of weights or of constants. */
	const char *folder;      /* data/weights or data/constants. */
	JsonDoc     doc;
	Map         config;      /* Json of a payload, by name. */
	IValue      saved;       /* Dict that torch.save wrote, in archives without a config. Else None. */
	Storages   *storages;
} Table;

struct Payloads {
	Cx      *cx;
	RtCx    *rt;
	Archive *archive;
	Table    table[2];       /* [0]: weights. [1]: constants. */
	Map      tensors;        /* RtTensor, by file and geometry. */
};

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void
read_config(Payloads *p, Table *t, const char *member)
{
	Record r = archive_record(p->archive, member);
	const Json *all;

	t->doc = (JsonDoc){ p->cx, arena_printf(p->cx->arena, "%s: %s", archive_path(p->archive), member) };
	all = json_need(&t->doc, json_parse(&t->doc, r.data, r.n), "config");
	for JSON_EACH(e, all) {
		if (map_get(&t->config, json_key(e)))
			json_bad(&t->doc, "has '%s' twice", json_key(e));
		map_put(&t->config, json_key(e), (void *)(uintptr_t)e);
	}
}

/* Reads the table from the first of the possible members that the archive has. */
static void
read_table(Payloads *p, Table *t, const char *folder, const char *program, const char *oldest)
{
	Arena *a = p->cx->arena;
	const char *kind = strrchr(folder, '/') + 1,
		   *config = arena_printf(a, "%s/%s_%s_config.json", folder, program, kind);
	const char *saved = arena_printf(a, "%s/%s.pt", folder, program);

	t->folder = folder;
	t->config.arena = a;
	t->saved = rt_none();
	t->storages = storages_new(p->cx, p->rt, p->archive, folder);
	if (archive_has(p->archive, config))
		read_config(p, t, config);
	else if (archive_has(p->archive, saved) || archive_has(p->archive, oldest))
		t->saved = archive_data(archive_nested(p->archive, archive_has(p->archive, saved) ? saved : oldest),
					p->rt, false);
	else
		fail(p->cx, (Range){ 0 }, "%s: %s: is missing from the archive", archive_path(p->archive), config);
}

Payloads *
payloads_new(const Exported *e, RtCx *rt, Archive *a, const char *program)
{
	Payloads *p = new(e->cx->arena, Payloads, 1);

	*p = (Payloads){ .cx = e->cx, .rt = rt, .archive = a, .tensors.arena = e->cx->arena };
	read_table(p, &p->table[0], "data/weights", program, "serialized_state_dict.pt");
	read_table(p, &p->table[1], "data/constants", program, "serialized_constants.pt");
	return p;
}

/* ---- raw files --------------------------------------------------------------------------------------------------- */

/* Reads sizes, which may be objects such as {"as_int": 3}. */
static int
sizes(const JsonDoc *d, const Json *list, int64_t *to, const char *what)
{
	int n = 0;

	for JSON_EACH(e, list) {
		if (n == RT_MAX_RANK)
			json_bad(d, "a tensor has more than %d dimensions", (int)RT_MAX_RANK);
		to[n++] = json_int(d, json_is_number(e) || json_is_text(e) ? e : json_need(d, e, "as_int"), what);
	}
	return n;
}

static RtDtype
payload_dtype(const JsonDoc *d, const Json *meta, const char *name)
{
	const int64_t number = json_int(d, json_need(d, meta, "dtype"), "dtype");
	const char *known = dtype_name_of_export(number);

	if (dtype_of_export(number) < 0)
		fail_lacks(d->cx, (Range){ 0 }, "%s: '%s': Kiln lacks tensors of the dtype %s", d->name, name,
			   known ? known : "that it has");
	return (RtDtype)dtype_of_export(number);
}

static void
check_layout(const JsonDoc *d, const Json *meta, const char *name)
{
	enum { STRIDED = 7 };
	const Json *layout = json_get(meta, "layout");

	if (layout && json_int(d, layout, "layout") != STRIDED)
		fail_lacks(d->cx, (Range){ 0 }, "%s: '%s': Kiln lacks sparse tensors", d->name, name);
}

/* Returns the whole file as elements of this type. */
static IValue
whole_file(Payloads *p, const Table *t, const char *file, RtDtype dtype)
{
	const Source src = { .name = t->doc.name };
	const PickleAt at = { p->cx, &src, 0 };
	const char *member = arena_printf(p->cx->arena, "%s/%s", t->folder, file);
	const int64_t bytes = archive_record(p->archive, member).n;

	if (bytes % rt_dtypes[dtype].bytes)
		json_bad(&t->doc, "%s has %lld bytes: no whole number of %s", member, (long long)bytes,
			 rt_dtypes[dtype].torch);
	return storage_tensor(&at, t->storages, dtype, file, bytes / rt_dtypes[dtype].bytes);
}

static RtTensor *
cut_out(Payloads *p, const Table *t, const Json *payload, const char *name)
{
	const Json *meta = json_need(&t->doc, payload, "tensor_meta"),
		   *offset = json_get(json_get(meta, "storage_offset"), "as_int");
	const RtDtype dtype = payload_dtype(&t->doc, meta, name);
	int64_t dims[RT_MAX_RANK], strides[RT_MAX_RANK];
	const int n = sizes(&t->doc, json_list(&t->doc, meta, "sizes"), dims, "sizes");
	const Source src = { .name = t->doc.name };
	const PickleAt at = { p->cx, &src, 0 };
	IValue all;
	RtTensor *r;

	check_layout(&t->doc, meta, name);
	if (sizes(&t->doc, json_list(&t->doc, meta, "strides"), strides, "strides") != n)
		json_bad(&t->doc, "'%s' has %d sizes and another number of strides", name, n);
	all = whole_file(p, t, json_text(&t->doc, payload, "path_name"), dtype);
	r = tensor_over(&at, p->rt, all.u.t->storage, dtype,
			(RtGeometry){ n, dims, strides,
				      offset ? json_int(&t->doc, offset, "storage_offset") : 0 });
	rt_release(all);
	return r;
}

/* Returns the key of a tensor. Payloads with the same part of the same file and the same kind of state are one
 * tensor. */
static const char *
identity(Payloads *p, const Table *t, const Json *payload, const RtTensor *r)
{
	Buf b = { 0 };

	buf_printf(&b, "%s/%s %d %lld ", t->folder, json_text(&t->doc, payload, "path_name"), r->dtype,
		   (long long)r->offset);
	buf_ints(&b, r->ndim, r->dims);
	buf_ints(&b, r->ndim, r->strides);
	buf_puts(&b, json_get(payload, "is_param") && json_flag(&t->doc, json_get(payload, "is_param"), "is_param") ?
		 " parameter" : "");
	return arena_text(p->cx->arena, &b);
}

static IValue
raw_tensor(Payloads *p, const Table *t, const Json *payload, const char *name)
{
	const Json *grad = json_get(json_get(payload, "tensor_meta"), "requires_grad");
	RtTensor *r = cut_out(p, t, payload, name), *known;
	const char *key = identity(p, t, payload, r);

	if ((known = map_get(&p->tensors, key))) {
		rt_tensor_release(r);
		return rt_of(rt_tensor_retain(known));
	}
	if (grad && json_flag(&t->doc, grad, "requires_grad"))
		r->flags |= RT_REQUIRES_GRAD;
	map_put(&p->tensors, key, r);
	return rt_of(r);
}

/* ---- by name ----------------------------------------------------------------------------------------------------- */

typedef struct Pickled { Payloads *payloads; const char *member; IValue v; } Pickled;

static void
read_pickled(Cx *cx, void *arg)
{
	Pickled *o = arg;

	(void)cx;
	o->v = archive_parts(archive_nested(o->payloads->archive, o->member), o->payloads->rt);
}

/* Reads a tensor, or a dict of the tensors in an object of a Python class. Errors end with the weight's name. */
static IValue
pickled_tensor(Payloads *p, const Table *t, const Json *payload, const char *name)
{
	const char *member = arena_printf(p->cx->arena, "%s/%s", t->folder, json_text(&t->doc, payload, "path_name"));
	Pickled o = { p, member, { 0 } };

	if (!json_get(payload, "tensor_meta"))
		fail_lacks(p->cx, (Range){ 0 }, "%s: '%s': Kiln lacks custom objects", t->doc.name, name);
	if (!cx_try(p->cx, read_pickled, &o))
		fail_status(p->cx, p->cx->err.status, (Range){ 0 }, "%s, in the weight '%s'", p->cx->err.what, name);
	if (o.v.tag != RT_TENSOR && o.v.tag != RT_DICT)
		json_bad(&t->doc, "'%s': %s holds a %s instead of a tensor", name, member, rt_type_of(o.v));
	return o.v;
}

static IValue
saved_tensor(Payloads *p, const Table *t, const char *name)
{
	RtStr *key = t->saved.tag == RT_DICT ? rt_str_new(p->rt, name, -1) : NULL;
	IValue *v = key ? rt_dict_get(t->saved.u.dict, rt_ref(RT_STR, key)) : NULL;

	if (key)
		rt_release(rt_ref(RT_STR, key));
	return v && v->tag == RT_TENSOR ? rt_retain(*v) : rt_none();
}

IValue
payload_tensor(Payloads *p, const char *name, bool constant)
{
	const Table *t = &p->table[constant];
	const Json *payload = map_get(&t->config, name), *pickled = json_get(payload, "use_pickle");
	IValue v;

	if (payload && pickled && json_flag(&t->doc, pickled, "use_pickle"))
		return pickled_tensor(p, t, payload, name);
	if (payload)
		return raw_tensor(p, t, payload, name);
	v = saved_tensor(p, t, name);
	if (v.tag != RT_TENSOR)
		fail(p->cx, (Range){ 0 }, "%s: %s: there is no payload of '%s'", archive_path(p->archive), t->folder,
		     name);
	return v;
}
