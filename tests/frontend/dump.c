/*
 * Prints the value that torch.save wrote, for archive_test.py.  Also prints types and geometry, which a model's print()
 * would not show.  usage: dump [--module] FILE.  With --module FILE is a TorchScript archive.  The exit status is the
 * error's.
 */
#include <string.h>

#include "../../frontend/frontend.h"

static void print(Cx *, IValue);

static void
print_tensor(const RtTensor *t)
{
	printf("%s[", rt_dtypes[t->dtype].torch);
	for (int i = 0; i < t->ndim; i++)
		printf(i ? ",%lld" : "%lld", (long long)t->dims[i]);
	printf("](");
	for (int i = 0; i < t->ndim; i++)
		printf(i ? ",%lld" : "%lld", (long long)t->strides[i]);
	printf(")+%lld", (long long)t->offset);
	if (rt_numel(t))
		printf("=%g", rt_load_f64(t->dtype, rt_data(t)));
	if (rt_numel(t) && t->dtype == RT_c64)
		printf("%+gj", rt_load_f64(RT_f32, rt_data(t) + 4));
	if (t->quant)
		printf(" scheme %d scale %g zero %lld", t->quant->scheme, t->quant->scale, (long long)t->quant->zero);
}

static void
print_all(Cx *cx, const IValue *v, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		printf(i ? ", " : "");
		print(cx, v[i]);
	}
}

static void
print_dict(Cx *cx, const RtDict *d)
{
	printf("{");
	for (int64_t i = 0; i < d->used; i++) {
		printf(i ? ", " : "");
		print(cx, d->at[i].key);
		printf(": ");
		print(cx, d->at[i].value);
	}
	printf("}");
}

static void
print(Cx *cx, IValue v)
{
	switch ((int)v.tag) {
	case RT_NONE:   printf("None"); break;
	case RT_INT:    printf("%lld", (long long)v.u.i); break;
	case RT_BOOL:   printf(v.u.i ? "True" : "False"); break;
	case RT_DOUBLE: printf("%.17g.", v.u.f); break;
	case RT_STR:    printf("'%s'", v.u.str->s); break;
	case RT_COMPLEX: printf("%g+%gj", v.u.c->re, v.u.c->im); break;
	case RT_TENSOR: print_tensor(v.u.t); break;
	case RT_DICT:   print_dict(cx, v.u.dict); break;
	case RT_TUPLE:
		printf("(");
		print_all(cx, v.u.tuple->v, v.u.tuple->n);
		printf(")");
		break;
	case RT_LIST:
		printf("%s[", type_python(cx, v.u.list->elem));
		print_all(cx, v.u.list->v, v.u.list->n);
		printf("]");
		break;
	case RT_OBJECT:
		printf("%s(", v.u.obj->cls->name);
		print_all(cx, v.u.obj->slot, v.u.obj->cls->nslot);
		printf(")");
		break;
	case RT_ENUM:   printf("%s", v.u.en->name->s); break;
	default:        printf("<%d>", (int)v.tag);
	}
}

static void
load(Cx *cx, void *arg)
{
	IValue v = archive_load_data(cx, arg);

	print(cx, v);
	printf("\n");
	rt_release(v);
}

static void
load_module(Cx *cx, void *arg)
{
	Module *m = archive_load(cx, arg);
	IValue fresh = module_fresh(cx, m);

	print(cx, fresh);
	printf("\n");
	rt_release(fresh);
	rt_release(m->self);
}

int
main(int argc, char **argv)
{
	Arena arena = { 0 };
	Cx cx = { .arena = &arena };
	bool module = argc == 3 && !strcmp(argv[1], "--module");

	schema_parser = schema_parse;
	if (argc != 2 && !module)
		return EXIT_USAGE;
	if (!cx_try(&cx, module ? load_module : load, argv[argc - 1])) {
		fprintf(stderr, "%s\n", cx.err.text);
		return cx.err.status;
	}
	arena_free(&arena);
	return EXIT_OK;
}
