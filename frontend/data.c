/*
 * What torch.save wrote, as values: tensors, numbers, text, lists, tuples, dicts.  Nothing else is made: a pickle that
 * names a class or a function of Python is refused by that name.
 */
#include "frontend.h"

#include <string.h>

typedef struct Data { Storages *storages; } Data;

static IValue
host_storage(const PickleAt *at, void *arg, RtDtype d, const char *key, int64_t numel)
{
	return storage_tensor(at, ((Data *)arg)->storages, d, key, numel);
}

IValue
archive_load_data(Cx *cx, const char *path)
{
	Archive *a = archive_open(cx, path);
	RtCx *rt = new(cx->arena, RtCx, 1);
	Source *s = new(cx->arena, Source, 1);
	Fits fits = { .cx = cx };
	Data data;
	PickleHost host = { .arg = &data, .storage = host_storage };
	Record r;
	IValue v;

	if (!archive_has(a, "data.pkl"))
		fail(cx, (Range){ 0 }, "%s: is not written by torch.save: it has no data.pkl", path);
	r = archive_record(a, "data.pkl");
	*s = (Source){ .text = r.data, .n = r.n, .name = arena_printf(cx->arena, "%s: data.pkl", path), .line = 1 };
	rt_cx_init(rt);
	data.storages = storages_new(cx, rt, a, "data");
	v = pickle_load(cx, s, &host);
	value_settle(&fits, v);
	fits_free(&fits);
	rt_cx_free(rt);
	return v;
}
