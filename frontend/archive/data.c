/*
 * Reads values that torch.save wrote: tensors, numbers, text, lists, tuples, dicts. A pickle that names any other class
 * or a function of Python is refused with a message that contains the name. Arguments of an export may be objects of
 * any class: a NamedTuple is read as a tuple, another object as a dict of its fields.
 */
#include "../frontend.h"

#include <string.h>

static IValue
host_storage(const PickleAt *at, void *arg, RtDtype d, const char *key, int64_t numel)
{
	return storage_tensor(at, arg, d, key, numel);
}

static IValue
load(Archive *a, RtCx *rt, bool plain, bool calls)
{
	Cx *cx = archive_cx(a);
	Source *s = new(cx->arena, Source, 1);
	PickleHost host = { .storage = host_storage, .plain = plain, .calls = calls };
	Record r;

	if (!archive_has(a, "data.pkl"))
		fail(cx, (Range){ 0 }, "%s: is not written by torch.save: it has no data.pkl", archive_path(a));
	r = archive_record(a, "data.pkl");
	*s = (Source){ .text = r.data, .n = r.n, .name = arena_printf(cx->arena, "%s: data.pkl", archive_path(a)),
		.line = 1 };
	host.arg = storages_new(cx, rt, a, "data");
	return pickle_load(cx, s, &host);
}

IValue
archive_data(Archive *a, RtCx *rt, bool plain)
{
	return load(a, rt, plain, false);
}

IValue
archive_parts(Archive *a, RtCx *rt)
{
	return load(a, rt, true, true);
}

IValue
archive_load_data(Cx *cx, const char *path)
{
	RtCx *rt = new(cx->arena, RtCx, 1);
	Fits fits = { .cx = cx };
	IValue v;

	rt_cx_init(rt);
	v = archive_data(archive_open(cx, path), rt, false);
	value_settle(&fits, v);
	fits_free(&fits);
	rt_cx_free(rt);
	return v;
}
