/* rt/door.c - an instance of a program in the process of a library's user
 *
 * An instance is one RtCx with everything that it refers to: values, state, arena, threads, and the blocks that its
 * calls keep (rt_mem_switch). So nothing of it remains in the threads that call it. It serves one call at a time; a
 * second call gets DOOR_BUSY. Every entry point begins with rt_door_enter and ends with rt_door_leave (turn.c). Between
 * them an error is in the context. rt_door_leave copies its text to the instance.
 *
 * Arguments are tensors over the caller's memory. If one outlives the call, in a result or in the state, its memory is
 * copied (rt_keep_apart), so that nothing in an instance points to memory that the caller may free. */
#include "instance.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

const char *
rt_door_error(RtDoor *d)
{
	return !d ? "there is no instance" : d->error.at ? d->error.at : "";
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static void
say_print(RtCx *cx, const char *text, int64_t n)
{
	const RtDoor *d = cx->print_arg;

	d->options.print(d->options.arg, text, (size_t)n);
}

static void
say_warning(RtCx *cx, const char *text, int64_t n)
{
	const RtDoor *d = cx->print_arg;

	d->options.warn(d->options.arg, text, (size_t)n);
}

/* Prepares the use of the caller's thread pool, if there is one. Checks the number of threads. */
static int
find_threads(RtDoor *d)
{
	if (d->options.threads > 4096)
		return rt_raise(&d->cx, "a number of threads is wanted, not %d", d->options.threads);
	if (!d->options.parallel)
		return RT_OK;
	if (d->options.threads < 1)
		return rt_raise(&d->cx, "with a pool of the caller's, threads says how many parts a loop has");
	d->outer = (RtOuter){ .run = d->options.parallel, .pool = d->options.pool, .loop = rt_outer_loop };
	d->cx.outer = &d->outer;
	d->cx.nthread = d->options.threads;
	return RT_OK;
}

/* Allocates the memory of later calls by trial calls, which do part of the work on zeros. Ignores errors other than
 * lack of memory: a trial call may read an index that no real call has. */
static int
try_plain(RtDoor *d)
{
	for (int i = 0; i < d->door->ntyped && !d->cx.cuda; i++) {
		if (!d->door->typed[i].plain || !rt_door_try(d, i))
			continue;
		if (rt_mem_was_lost() || rt_is_memory(&d->cx))
			return RT_ERROR;
		rt_clear_error(&d->cx);
	}
	return RT_OK;
}

static int
set_up(RtDoor *d)
{
	RtCx *cx = &d->cx;

	d->entry = (RtEntry){ .weights = { d->options.weights_file, d->options.weights,
					   (int64_t)d->options.weights_bytes, false },
		.threads = d->options.threads < 0 ? 0 : d->options.threads ? d->options.threads : -1,
		.seeded = d->options.seeded, .seed = d->options.seed,
		.device = { d->options.device, d->options.device_index, d->options.stream } };
	if (!rt_mem_spares())
		return rt_raise(cx, "out of memory");
	if (!d->own.beside && (d->options.weights_file || d->options.weights))
		return rt_raise(cx, "this library has its weights inside: kiln build --weights file");
	if (rt_cx_init(cx))
		return RT_ERROR;
	cx->print_arg = d;
	cx->print = d->options.print ? say_print : NULL;
	cx->warn = d->options.warn ? say_warning : NULL;
	if (find_threads(d) || rt_entry_load(cx, &d->own, &d->entry) ||
	    rt_entry_device(cx, &d->own, &d->entry))
		return RT_ERROR;
	rt_entry_seed(cx, &d->own, &d->entry);
	cx->strict = d->options.strict != 0;
	rt_stack_note(cx);
	if (!(d->box = rt_mem_zeroed((int64_t)sizeof *d->box * TYPED_MOST * (d->door->ntyped + 1))))
		return rt_raise(cx, "out of memory");
	return try_plain(d);
}

static void
drop_results(RtDoor *d)
{
	rt_arrays_free(&d->results);
	rt_arrays_free(&d->state);
}

/* Frees everything that the instance owns. Its kept blocks are freed last. */
static void
tear_down(RtDoor *d)
{
	for (int i = 0; d->box && i < TYPED_MOST * d->door->ntyped; i++)
		rt_tensor_release(d->box[i]);
	rt_mem_back(d->box);
	rt_arrays_free(&d->given);
	drop_results(d);
	buf_free(&d->error);
	rt_entry_end(&d->cx, &d->own);
}

RtDoor *
rt_door_open(const RtDoorProgram *door, const RtDoorOptions *o, char *why, size_t n)
{
	RtProgram own = *door->program;
	char refusal[400];
	RtDoor *d;
	struct RtMem *before;
	bool good = false;

	if (rt_cpu_choose(&own, refusal, sizeof refusal)) {
		if (why && n)
			snprintf(why, n, "%s", refusal);
		return NULL;
	}
	d = calloc(1, sizeof *d);
	before = rt_mem_switch(NULL);

	if (d) {
		*d = (RtDoor){ .door = door, .own = own, .options = o ? *o : (RtDoorOptions){ 0 } };
		good = !set_up(d);
	}
	if (why && n)
		snprintf(why, n, "%s", good ? "" : d && d->cx.message ? d->cx.message : "out of memory");
	if (d && !good)
		tear_down(d);
	if (good) {
		d->mem = rt_mem_switch(before);
		return d;
	}
	rt_mem_switch(before);
	free(d);
	return NULL;
}

size_t
rt_door_bytes(const RtDoorOptions *o)
{
	(void)o;
	return 0;
}

RtDoor *
rt_door_open_in(void *memory, size_t bytes, const RtDoorOptions *o, char *why, size_t n)
{
	(void)memory, (void)bytes, (void)o;
	if (why && n)
		snprintf(why, n, "this library takes memory from a heap: kiln build --no-generic makes one that does "
			 "not");
	return NULL;
}

void
rt_door_close(RtDoor *d)
{
	int cancel;

	if (!d || !rt_door_enter(d))
		return;
	cancel = d->cancel;
	tear_down(d);
	rt_mem_switch(d->before);
	free(d);
	pthread_setcancelstate(cancel, NULL);
}

/* Returns the functions for tensors on the device. Null if the instance computes on the CPU. */
static const RtCudaDoor *
device_of(const RtDoor *d)
{
	return d->cx.cuda ? d->own.cuda->door : NULL;
}

/* Returns arguments on the device to the caller. Returns `status`, or DOOR_RAISED if the device raised an error. */
static int
end_device(RtDoor *d, int status)
{
	d->given_there = false;
	if (device_of(d) && device_of(d)->end(&d->cx) && !status)
		status = DOOR_RAISED;
	return status;
}

int
rt_door_reset(RtDoor *d)
{
	if (!d)
		return DOOR_ARGUMENT;
	if (!rt_door_enter(d))
		return DOOR_BUSY;
	rt_arrays_free(&d->given);
	drop_results(d);
	end_device(d, DOOR_OK);
	if (rt_program_again(&d->cx))
		return rt_door_leave(d, DOOR_MEMORY);
	rt_generator_seed(d->cx.gen, RT_SEED);
	rt_entry_seed(&d->cx, &d->own, &d->entry);
	memset(d->cx.warned, 0, sizeof d->cx.warned);
	return rt_door_leave(d, DOOR_OK);
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* Returns the index of a method. If name is null, that of the first method. -1 if there is no such method. */
static int
method_index(const RtProgram *p, const char *name)
{
	int i = 0;

	while (name && i < p->nmethod && strcmp(p->method[i].name, name))
		i++;
	return i < p->nmethod ? i : -1;
}

int
rt_door_leaves(const RtDoorProgram *door, const char *method, bool results, const RtLeaf **at)
{
	const int i = method_index(door->program, method);

	if (i < 0)
		return -1;
	if (at)
		*at = results ? door->method[i].out : door->method[i].in;
	return results ? door->method[i].nout : door->method[i].nin;
}

static int
add_given(RtDoor *d, const char *key, const RtDlTensor *t)
{
	RtTensor *box = rt_tensor_of_dl(&d->cx, key, t);
	const int status = box ? rt_arrays_add(&d->cx, &d->given, key, rt_of(box)) : RT_ERROR;

	rt_tensor_release(box);
	d->given_there |= rt_dl_on_device(t);
	return status;
}

static int
add_inputs(RtDoor *d, const RtDoorMethod *m, RtDlTensor *const *in, int nin)
{
	if (nin < 0 || (nin && !in))
		return rt_raise(&d->cx, "there are %d arguments, and no array of them", nin);
	if (nin > m->nin)
		return rt_raise(&d->cx, "%d arguments were given to a method of %d", nin, m->nin);
	for (int i = 0; i < nin; i++)
		if (in[i] && add_given(d, m->in[i].key, in[i]))
			return RT_ERROR;
	return RT_OK;
}

int
rt_door_set(RtDoor *d, const char *key, const RtDlTensor *t)
{
	if (!d)
		return DOOR_ARGUMENT;
	if (!rt_door_enter(d))
		return DOOR_BUSY;
	if (!key || !t)
		return rt_door_leave(d, (rt_raise(&d->cx, "a key and a tensor are wanted"), DOOR_ARGUMENT));
	return rt_door_leave(d, add_given(d, key, t) ? DOOR_ARGUMENT : DOOR_OK);
}

int
rt_door_set_text(RtDoor *d, const char *key, const char *text)
{
	RtStr *s;
	int status;

	if (!d)
		return DOOR_ARGUMENT;
	if (!rt_door_enter(d))
		return DOOR_BUSY;
	if (!key || !text)
		return rt_door_leave(d, (rt_raise(&d->cx, "a key and a text are wanted"), DOOR_ARGUMENT));
	if (!(s = rt_str_new(&d->cx, text, -1)))
		return rt_door_leave(d, DOOR_MEMORY);
	status = rt_arrays_add(&d->cx, &d->given, key, rt_ref(RT_STR, s));
	rt_release(rt_ref(RT_STR, s));
	return rt_door_leave(d, status ? DOOR_ARGUMENT : DOOR_OK);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Drops the arguments. The caller may free their memory afterwards. */
static int
give_back(RtDoor *d)
{
	int status = RT_OK;

	for (int i = 0; i < d->given.n; i++)
		if (d->given.at[i].tensor && rt_keep_apart(&d->cx, d->given.at[i].tensor))
			status = RT_ERROR;
	rt_arrays_free(&d->given);
	return status;
}

static int
run_method(RtDoor *d, const RtMethod *m, RtInvocation *c)
{
	if (rt_invocation_bind(&d->cx, m, &d->given, c))
		return c->args ? DOOR_ARGUMENT : DOOR_MEMORY;
	if (rt_invocation_run(&d->cx, c) || rt_arrays_from_value(&d->cx, &d->results, "out", rt_invocation_result(c)))
		return DOOR_RAISED;
	return DOOR_OK;
}

static int
run_given(RtDoor *d, const RtMethod *m)
{
	RtInvocation c;
	int status = run_method(d, m, &c);

	rt_invocation_end(&c);
	if (give_back(d) && !status)
		status = DOOR_MEMORY;
	return status;
}

static bool
same_sizes(const RtDlTensor *a, const RtTensor *t)
{
	if (a->ndim != t->ndim || (a->ndim && !a->shape) || !rt_dl_same_type(a->dtype, (RtDtype)t->dtype))
		return false;
	return !a->ndim || !memcmp(a->shape, t->dims, sizeof *t->dims * (size_t)t->ndim);
}

/* Copies the bytes of a result to the host if they are newer on the device. */
static int
fetch(RtDoor *d, const RtTensor *t)
{
	return device_of(d) ? device_of(d)->fetch(&d->cx, t) : RT_OK;
}

/* Returns the tensor of array a without RT_BITS, and describes it in *dl as a tensor in memory of the host. Null if the
 * array is a text, or if DLPack has no such dtype. */
static RtTensor *
plain_tensor(RtDoor *d, RtArray *a, RtDlTensor *dl)
{
	RtTensor *plain;

	*dl = (RtDlTensor){ .device = { 1, 0 } };
	if (a->tensor && a->tensor->flags & RT_BITS && !fetch(d, a->tensor) &&
	    (plain = rt_contiguous(&d->cx, a->tensor))) {
		rt_tensor_release(a->tensor);
		a->tensor = plain;
	}
	if (a->tensor && !rt_dl_of_tensor(a->tensor, dl))
		rt_lacks(&d->cx, "'%s': DLPack has no %s", a->key, rt_dtypes[a->tensor->dtype].torch);
	return d->cx.status ? NULL : a->tensor;
}

static bool
is_there(const RtDoor *d, const RtArray *a)
{
	return d->results_there && device_of(d) && a->tensor && !(a->tensor->flags & RT_WRAPPED);
}

/* Returns the tensor of array a, a result of the last call, and describes it in *dl where the caller wants it: on the
 * device or on the host. */
static RtTensor *
tensor_of(RtDoor *d, RtArray *a, RtDlTensor *dl)
{
	RtTensor *t = plain_tensor(d, a, dl);

	if (t && (is_there(d, a) ? device_of(d)->show(&d->cx, t, dl) : fetch(d, t)))
		return NULL;
	return t;
}

/* Copies a result to `to`, a tensor over the caller's memory. */
static int
copy_result(RtDoor *d, RtTensor *from, RtTensor *to, const RtDlTensor *out)
{
	if (rt_dl_on_device(out))
		return device_of(d)->put(&d->cx, from, to, out);
	return fetch(d, from) || rt_copy_into(&d->cx, to, from);
}

/* Copies result i to the caller's memory, if `out` has memory. Otherwise sets `out` to the result. */
static int
deliver(RtDoor *d, int i, RtDlTensor *out)
{
	RtDlTensor own;
	RtTensor *t = plain_tensor(d, &d->results.at[i], &own), *to;
	const bool other = t && out->data && !same_sizes(out, t);
	int status;

	if (d->cx.status)
		return DOOR_UNSUPPORTED;
	if (!t || !out->data || other) {
		tensor_of(d, &d->results.at[i], out);
		return d->cx.status ? DOOR_RAISED : other ? DOOR_SIZE : DOOR_OK;
	}
	if (!(to = rt_tensor_of_dl(&d->cx, d->results.at[i].key, out)))
		return DOOR_ARGUMENT;
	status = rt_overlaps_itself(to) ? rt_raise(&d->cx, "'%s': elements of it overlap", d->results.at[i].key) :
		copy_result(d, t, to, out);
	rt_tensor_release(to);
	if (!status && rt_dl_on_device(out)) {   /* it may be only in the caller's memory */
		rt_tensor_release(t);
		d->results.at[i].tensor = NULL;
	}
	return status ? DOOR_ARGUMENT : DOOR_OK;
}

static int
deliver_all(RtDoor *d, RtDlTensor *out, int nout)
{
	const char *other = NULL;
	int status;

	if (nout && nout != d->results.n)
		return rt_raise(&d->cx, "the call gave %d results, and there is room for %d: see NAME_results",
				d->results.n, nout), DOOR_ARGUMENT;
	if (nout && device_of(d) && device_of(d)->confirm(&d->cx, &d->results))
		return DOOR_RAISED;
	for (int i = 0; i < nout; i++) {
		status = deliver(d, i, &out[i]);
		if (status && status != DOOR_SIZE)
			return status;
		if (status && !other)
			other = d->results.at[i].key;
	}
	if (!other)
		return DOOR_OK;
	rt_raise(&d->cx, "'%s' has another size or dtype: it is in the instance's memory", other);
	return DOOR_SIZE;
}

/* Whether an argument overlaps this result of the previous call. */
static bool
is_given(const RtDoor *d, const RtTensor *t)
{
	const uintptr_t begin = (uintptr_t)t->storage->data, end = begin + (uintptr_t)t->storage->bytes;

	for (int i = 0; i < d->given.n; i++) {
		const RtTensor *g = d->given.at[i].tensor;

		if (g && (uintptr_t)g->storage->data < end &&
		    begin < (uintptr_t)g->storage->data + (uintptr_t)g->storage->bytes)
			return true;
	}
	return false;
}

/* Drops the results of the previous call before a call. Results that arguments overlap are kept until the call ends. */
static void
drop_unless_given(RtDoor *d, RtArrays *a)
{
	bool stays = false;

	for (int i = 0; i < a->n; i++) {
		if (!a->at[i].tensor || is_given(d, a->at[i].tensor)) {
			stays |= a->at[i].tensor != NULL;
			continue;
		}
		rt_tensor_release(a->at[i].tensor);
		a->at[i].tensor = NULL;
	}
	if (!stays)
		rt_arrays_free(a);
}

/* What the caller wants of a call's results. */
typedef struct Wanted {
	RtDlTensor *out;                 /* (nout) the caller's tensors */
	int  nout;
	bool there;                      /* whether some of their memory is on the device */
} Wanted;

static int
begin_device(RtDoor *d, const Wanted *w)
{
	d->results_there = d->given_there || d->options.device_results;
	return device_of(d) ? device_of(d)->begin(&d->cx, &d->given, w->there || d->results_there, w->out, w->nout) :
	       RT_OK;
}

/* Checks that the caller's memory for results is on the CPU or on the instance's device. Only checks results whose
 * number is known. */
static int
check_places(RtDoor *d, const RtDoorMethod *m, Wanted *w)
{
	char name[32];

	for (int i = 0; i < w->nout && i < m->nout; i++) {
		if (!w->out[i].data)
			continue;
		snprintf(name, sizeof name, "result %d", i);
		if (rt_dl_check_device(&d->cx, name, &w->out[i]))
			return RT_ERROR;
		w->there |= rt_dl_on_device(&w->out[i]);
	}
	return RT_OK;
}

static int
call_with(RtDoor *d, int method, RtDlTensor *const *in, int nin, const Wanted *w)
{
	RtArrays results = d->results, state = d->state;
	int status;

	d->results = d->state = (RtArrays){ 0 };
	status = add_inputs(d, &d->door->method[method], in, nin) || begin_device(d, w) ? DOOR_ARGUMENT : DOOR_OK;
	drop_unless_given(d, &results);
	drop_unless_given(d, &state);
	if (status)
		rt_arrays_free(&d->given);
	else
		status = run_given(d, &d->own.method[method]);
	rt_arrays_free(&results);
	rt_arrays_free(&state);
	return status;
}

static int
call_method(RtDoor *d, const char *method, RtDlTensor *const *in, int nin, RtDlTensor *out, int nout)
{
	const int i = method_index(&d->own, method);
	Wanted w = { .out = out, .nout = nout };
	int status;

	if (i < 0 || nout < 0 || (nout && !out))
		rt_raise(&d->cx, i < 0 ? "there is no method '%s'" : "there is no room for results", method);
	if (d->cx.status || check_places(d, &d->door->method[i], &w)) {
		rt_arrays_free(&d->given);
		drop_results(d);
		return end_device(d, DOOR_ARGUMENT);
	}
	status = call_with(d, i, in, nin, &w);
	return end_device(d, status ? status : deliver_all(d, out, nout));
}

int
rt_door_call(RtDoor *d, const char *method, RtDlTensor *const *in, int nin, RtDlTensor *out, int nout)
{
	if (!d)
		return DOOR_ARGUMENT;
	if (!rt_door_enter(d))
		return DOOR_BUSY;
	return rt_door_leave(d, call_method(d, method, in, nin, out, nout));
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

int
rt_door_results(RtDoor *d)
{
	int n;

	if (!d || !rt_door_enter(d))
		return -1;
	n = d->results.n;
	rt_door_leave(d, DOOR_OK);
	return n;
}

int
rt_door_result(RtDoor *d, int i, const char **key, RtDlTensor *t)
{
	RtDlTensor own;

	if (!d)
		return DOOR_ARGUMENT;
	if (!rt_door_enter(d))
		return DOOR_BUSY;
	if (i < 0 || i >= d->results.n)
		return rt_door_leave(d, (rt_raise(&d->cx, "there is no result %d of %d", i, d->results.n),
					 DOOR_ARGUMENT));
	if (key)
		*key = d->results.at[i].key;
	tensor_of(d, &d->results.at[i], t ? t : &own);
	return rt_door_leave(d, end_device(d, d->cx.status ? DOOR_UNSUPPORTED : DOOR_OK));
}

const char *
rt_door_text(RtDoor *d, int i)
{
	const char *text;

	if (!d || !rt_door_enter(d))
		return NULL;
	text = i >= 0 && i < d->results.n && d->results.at[i].text ? d->results.at[i].text->s : NULL;
	rt_door_leave(d, DOOR_OK);
	return text;
}

const char *
rt_door_none(RtDoor *d, int i, int *before)
{
	RtNone none = { 0 };

	if (!d || !rt_door_enter(d))
		return NULL;
	if (i >= 0 && i < d->results.nnone)
		none = d->results.none[i];
	if (before)
		*before = none.before;
	rt_door_leave(d, DOOR_OK);
	return none.key;
}

/* Deleter of a result that the caller has taken. It frees to the system, because it may run on any thread and after
 * NAME_close. */
static void
free_taken(RtDlManaged *self)
{
	rt_mem_free(self->context);
	free(self);
}

/* Moves the memory of a tensor without other references to a DLPack tensor, which may outlive the instance. Null if an
 * error was raised. */
static RtDlManaged *
managed(RtCx *cx, RtTensor *t)
{
	const size_t sizes = sizeof *t->dims * (size_t)t->ndim;
	RtDlManaged *m = malloc(sizeof *m + 2 * sizes);
	int64_t *own = (int64_t *)(m + 1);

	if (!m) {
		rt_raise(cx, "out of memory");
		return NULL;
	}
	*m = (RtDlManaged){ .deleter = free_taken };
	rt_dl_of_tensor(t, &m->tensor);
	m->tensor.shape = memcpy(own, t->dims, sizes);
	m->tensor.strides = memcpy(own + t->ndim, t->strides, sizes);
	if (!(m->context = rt_storage_take(t->storage))) {
		free(m);
		return NULL;
	}
	return m;
}

static RtDlManaged *
export_array(RtDoor *d, RtArray *a)
{
	RtDlTensor own;
	RtTensor *t = plain_tensor(d, a, &own), *alone;
	const bool there = is_there(d, a);
	RtDlManaged *m = NULL;

	if (!t || (!there && fetch(d, t)))
		return NULL;
	if (there)
		m = device_of(d)->take(&d->cx, t);
	else if (rt_refs(&t->h) == 1)
		m = managed(&d->cx, t);
	if (!m && !d->cx.status && (alone = rt_clone(&d->cx, t))) {
		m = managed(&d->cx, alone);
		rt_tensor_release(alone);
	}
	if (m) {
		rt_tensor_release(t);
		a->tensor = NULL;
	}
	return m;
}

RtDlManaged *
rt_door_take(RtDoor *d, int i)
{
	RtDlManaged *m = NULL;

	if (!d || !rt_door_enter(d))
		return NULL;
	if (i < 0 || i >= d->results.n)
		rt_raise(&d->cx, "there is no result %d of %d", i, d->results.n);
	else if (!(m = export_array(d, &d->results.at[i])) && !d->cx.status)
		rt_raise(&d->cx, "'%s' is no tensor, or has been taken", d->results.at[i].key);
	rt_door_leave(d, end_device(d, m ? DOOR_OK : DOOR_ARGUMENT));
	return m;
}

/* ---- state ------------------------------------------------------------------------------------------------------- */

/* Whether an attribute that is None may become a tensor. The program drops other attributes of type None. */
static bool
is_optional(const RtClass *c, int i)
{
	const RtType *t = c->slot_type ? c->slot_type[i] : NULL;

	return t && t->kind == TYPE_OPTIONAL && t->of[0]->kind == TYPE_TENSOR;
}

/* Returns the slot of an attribute by its path, such as encoder.cache. Null, with an error raised, if the program has
 * no such attribute. */
static IValue *
attribute_slot(RtDoor *d, const char *name)
{
	const RtObject *o = d->cx.instance;
	const char *at = name ? name : "";

	if (rt_host_reads_state(&d->cx))
		return NULL;
	while (o) {
		const size_t n = strcspn(at, ".");
		int i = 0;

		while (i < o->cls->nslot && (strlen(o->cls->slot[i]) != n || memcmp(o->cls->slot[i], at, n)))
			i++;
		if (i == o->cls->nslot)
			break;
		if (!at[n] && (!rt_is_none(o->slot[i]) || is_optional(o->cls, i)))
			return (IValue *)&o->slot[i];
		at += n + 1;
		o = at[-1] && o->slot[i].tag == RT_OBJECT ? o->slot[i].u.obj : NULL;
	}
	rt_raise(&d->cx, "there is no attribute '%s' that the methods of this program use", name ? name : "");
	return NULL;
}

/* Returns the slot of the attribute for NAME_state_get and NAME_state_set. Null if an error was raised, also because t
 * is null. */
static IValue *
wanted_slot(RtDoor *d, const char *name, const RtDlTensor *t)
{
	if (t)
		return attribute_slot(d, name);
	rt_raise(&d->cx, "a name and a tensor are wanted");
	return NULL;
}

static bool
is_number_value(IValue v)
{
	return v.tag == RT_INT || v.tag == RT_DOUBLE || v.tag == RT_BOOL;
}

static int
get_state(RtDoor *d, const char *name, RtDlTensor *t)
{
	const IValue *slot = wanted_slot(d, name, t);

	if (!slot)
		return DOOR_ARGUMENT;
	rt_arrays_free(&d->state);
	if (slot->tag != RT_TENSOR && !is_number_value(*slot))
		return rt_raise(&d->cx, "'%s' is a %s, and no tensor", name, rt_type_of(*slot)), DOOR_ARGUMENT;
	if (rt_arrays_add(&d->cx, &d->state, name, *slot))
		return DOOR_MEMORY;
	plain_tensor(d, &d->state.at[0], t);
	return d->cx.status ? DOOR_UNSUPPORTED : DOOR_OK;
}

int
rt_door_state_get(RtDoor *d, const char *name, RtDlTensor *t)
{
	if (!d)
		return DOOR_ARGUMENT;
	if (!rt_door_enter(d))
		return DOOR_BUSY;
	return rt_door_leave(d, get_state(d, name, t));
}

const void *
rt_door_extra(RtDoor *d, const char *name, size_t *bytes)
{
	for (int i = 0; d && name && i < d->own.nextra; i++) {
		const RtExtra *x = &d->own.extra[i];

		if (strcmp(x->name, name))
			continue;
		*bytes = (size_t)x->bytes;
		return d->own.weights + x->offset;
	}
	return NULL;
}

/* Sets an attribute. If the sizes are the same, copies in place, so that all tensors that share the memory see it.
 * Otherwise sets a new tensor. */
static int
set_tensor(RtDoor *d, IValue *slot, RtTensor *from)
{
	RtTensor *to = slot->tag == RT_TENSOR ? slot->u.t : NULL;

	if (to && to->dtype != from->dtype)
		return rt_raise(&d->cx, "the attribute has dtype %s, not %s", rt_dtypes[to->dtype].torch,
				rt_dtypes[from->dtype].torch);
	if (to && rt_same_dims(to, from))
		return rt_writable(&d->cx, to) || rt_copy_into(&d->cx, to, from);
	if (!(to = rt_clone(&d->cx, from)))
		return RT_ERROR;
	rt_assign(slot, rt_of(to));
	return RT_OK;
}

static int
set_state(RtDoor *d, const char *name, const RtDlTensor *t)
{
	IValue *slot = wanted_slot(d, name, t), v;
	RtTensor *from = slot ? rt_tensor_of_dl(&d->cx, name, t) : NULL;
	int status = DOOR_ARGUMENT;

	if (!from || fetch(d, from)) {
		rt_tensor_release(from);
		return DOOR_ARGUMENT;
	}
	if (slot->tag == RT_TENSOR || slot->tag == RT_NONE) {
		status = set_tensor(d, slot, from) ? DOOR_ARGUMENT : DOOR_OK;
	} else if (is_number_value(*slot) && rt_numel(from) == 1 && (v = rt_item(&d->cx, from)).tag == slot->tag) {
		*slot = v;
		status = DOOR_OK;
	} else {
		rt_raise(&d->cx, "'%s' is a %s: a tensor of its dtype is wanted", name, rt_type_of(*slot));
	}
	rt_tensor_release(from);
	return status;
}

int
rt_door_state_set(RtDoor *d, const char *name, const RtDlTensor *t)
{
	if (!d)
		return DOOR_ARGUMENT;
	if (!rt_door_enter(d))
		return DOOR_BUSY;
	return rt_door_leave(d, end_device(d, set_state(d, name, t)));
}
