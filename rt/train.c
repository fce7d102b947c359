/*
 * Training: steps of SGD, Adam or AdamW on the parameters of a method that was made with --grad.
 *
 * Each step calls the method on the next batch and moves every parameter against its gradient. After the last step the
 * parameters are written as arrays, and so are the buffers that the model has changed (running means).
 *
 * A batch is an input file, or `batch` rows of it. A row is a slice of each array along its first dim; 0-d arrays have
 * no rows. Rows are in order, or permuted by torch.randperm. Rows left over at the end of a file are not used.
 * Parameters are private copies. Every step has the same sizes, so that the method's specialization fits all of them.
 *
 * The formulas, and their order of rounding, are those of torch.optim:
 *
 *    sgd    g += decay * p;  with momentum m:  g = v = m * v + g;  p -= lr * g
 *    adam   g += decay * p;  m and v as means of g and g * g with betas, corrected for their start, eps below the root
 *    adamw  p -= lr * decay * p instead
 */
#include "host.h"
#include "base.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int rt_randperm(RtCx *, const IValue *, IValue *);     /* kernel of aten::randperm */

enum { SGD, ADAM, ADAMW };
static const char *const optimizers[] = { [SGD] = "sgd", [ADAM] = "adam", [ADAMW] = "adamw" };

typedef struct Trained {         /* A parameter that is trained. */
	int       param;         /* index of the parameter among the method's arguments */
	int       grad;          /* index of its gradient among the gradients */
	int64_t   steps;         /* number of steps with a gradient */
	RtTensor *value, *first, *second;        /* first, second: moments of the optimizer; null if it has none */
} Trained;

typedef struct Training {
	RtCx *cx;
	const RtMethod *method;
	const RtTrain *options;
	RtArrays *file;          /* (o->nin) arrays of the input files */
	Trained  *trained;
	int       n;
	IValue   *args;
	int       at_file;       /* index of the file of the next batch */
	int64_t   at_row;
	RtTensor *order;         /* permutation of the file's rows; null for rows in order */
	double   *loss;          /* (steps) losses; null if not requested */
	int       how;
	double    lr, momentum, weight_decay, beta1, beta2, eps;
	int64_t   steps, batch;  /* batch: number of rows of a step; 0 for a whole file */
} Training;

/* ---- options --------------------------------------------------------------------------------------- */

#define TEXT(name, member) { "--" name, offsetof(RtTrain, member), RT_OPTION_TEXT }
const RtOption rt_train_options[] = {
	TEXT("grad-in", grad_in), TEXT("grad-out", grad_out), TEXT("train", how), TEXT("lr", lr), TEXT("steps", steps),
	TEXT("batch", batch), TEXT("momentum", momentum), TEXT("weight-decay", weight_decay), TEXT("betas", betas),
	TEXT("eps", eps), { "--shuffle", offsetof(RtTrain, shuffle), RT_OPTION_FLAG }, { 0 },
};
#undef TEXT

const char rt_train_usage[] =
	"  --grad-out G.npz gradients of the sum of the results\n"
	"  --grad-in V.npz  of the sum of the results times these\n"
	"  --train sgd|adam|adamw   steps on the parameters, one for each input in turn; -o: where they go,\n"
	"                   --json: the losses\n"
	"  --lr X --steps N --batch N --shuffle      of --train; batch: rows of an input for one step, shuffle:\n"
	"                   in the order of torch.randperm, with --seed\n"
	"  --momentum X --weight-decay X --betas X,X --eps X   as torch.optim has them\n";

static bool
whole(const char *s, int64_t *out)
{
	return rt_read_int(&s, NULL, out) && !*s && *out >= 0;
}

/* Parses a number that the character `end` follows. Returns the text after that character. Null if there is no such
 * number. */
static const char *
real(const char *s, char end, double *out)
{
	char *p;

	*out = strtod(s, &p);
	return p != s && *p == end && *out >= 0 && isfinite(*out) ? p + (end != 0) : NULL;
}

static bool
two_reals(const char *s, double *x, double *y)
{
	return (s = real(s, ',', x)) && real(s, 0, y) && *x < 1 && *y < 1;
}

/* Parses the optimizer's options. Returns a message about the first wrong one, and sets *which to the option. Null if
 * they are valid. */
static const char *
read_options(const RtTrain *o, Training *t, const char **which)
{
	const struct { const char *text; double *place; } reals[] = {
		{ o->lr, &t->lr }, { o->momentum, &t->momentum }, { o->weight_decay, &t->weight_decay },
		{ o->eps, &t->eps },
	};

	for (*which = o->how; t->how <= ADAMW && strcmp(o->how, optimizers[t->how]);)
		t->how++;
	if (t->how > ADAMW)
		return "sgd, adam or adamw is wanted, not ";
	if (t->how == SGD ? o->betas || o->eps : o->momentum != NULL)
		return "--momentum is of sgd, --betas and --eps are of adam and adamw; not of ";
	t->weight_decay = t->how == ADAMW ? 0.01 : 0;
	for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
		if ((*which = reals[i].text) && !real(*which, 0, reals[i].place))
			return "--lr, --momentum, --weight-decay and --eps want a number, 0 or more, not ";
	if ((*which = o->betas) && !two_reals(*which, &t->beta1, &t->beta2))
		return "--betas wants two numbers below 1, not ";
	if ((*which = o->steps) && !whole(*which, &t->steps))
		return "a number of steps is wanted, not ";
	if ((*which = o->batch) && (!whole(*which, &t->batch) || t->batch < 1))
		return "a number of rows is wanted, not ";
	*which = "";
	return o->shuffle && !o->batch ? "--shuffle wants --batch" : NULL;
}

/* ---- parameters ------------------------------------------------------------------------------------- */

static RtTensor *
zeros_as(RtCx *cx, const RtTensor *t)
{
	RtTensor *z = rt_tensor_new(cx, (RtDtype)t->dtype, t->ndim, t->dims);

	if (z)
		memset(rt_data(z), 0, (size_t)(rt_numel(z) * rt_dtypes[z->dtype].bytes));
	return z;
}

static int
own_parameter(Training *t, Trained *p, IValue given)
{
	p->value = rt_clone(t->cx, given.u.t);
	if (!p->value)
		return RT_ERROR;
	if ((p->value->dtype != RT_f32 && p->value->dtype != RT_f64) || !rt_is_contiguous(p->value))
		return rt_raise(t->cx, "%s: only contiguous float32 and float64 parameters can be trained",
				t->method->param[p->param].name);
	if (t->how != SGD || t->momentum != 0)
		p->first = zeros_as(t->cx, p->value);
	if (t->how != SGD)
		p->second = zeros_as(t->cx, p->value);
	return t->cx->status;
}

/* Makes copies of the parameters, which are the arguments with a gradient and a default. The first file may have other
 * initial values. */
static int
own_parameters(Training *t)
{
	const RtMethod *m = t->method;
	int status = RT_OK;

	t->trained = calloc((size_t)m->gradients->n + 1, sizeof *t->trained);
	if (!t->trained)
		return rt_raise(t->cx, "out of memory");
	for (int g = 0; g < m->gradients->n; g++)
		for (int i = 0; i < m->nparam && !status; i++) {
			const IValue deflt = rt_default(t->cx, &m->param[i]);
			const RtArray *given = t->options->nin ? rt_arrays_find(&t->file[0], m->param[i].name) : NULL;

			if (strcmp(m->param[i].name, m->gradients->name[g]) || deflt.tag != RT_TENSOR)
				continue;
			t->trained[t->n].param = i;
			t->trained[t->n].grad = g;
			status = own_parameter(t, &t->trained[t->n++],
				given && given->tensor ? rt_of(given->tensor) : deflt);
		}
	return status || t->n ? status
			      : rt_raise(t->cx, "this program has no parameters to train: kiln build --grad params");
}

/* ---- batches ------------------------------------------------------------------------------------------- */

static bool
is_trained_key(const Training *t, const char *key)
{
	for (int i = 0; i < t->n; i++)
		if (!strcmp(t->method->param[t->trained[i].param].name, key))
			return true;
	return false;
}

/* Returns the number of rows of a file. Negative if its arrays differ in rows, or if there are no arrays. */
static int64_t
rows_of(const Training *t, const RtArrays *file)
{
	int64_t rows = -1;

	for (int i = 0; i < file->n; i++) {
		const RtTensor *x = file->at[i].tensor;

		if (!x || !x->ndim || is_trained_key(t, file->at[i].key) || rt_is_strides(file, file->at[i].key))
			continue;
		if (rows >= 0 && rows != x->dims[0])
			return -1;
		rows = x->dims[0];
	}
	return rows;
}

/* Chooses the order of the rows. Called when a file is begun. */
static int
shuffle_rows(Training *t, int64_t rows)
{
	const IValue in[5] = { rt_int(rows), rt_int(RT_i64) };
	IValue order = rt_none();

	if (t->order)
		rt_tensor_release(t->order);
	t->order = NULL;
	if (rt_randperm(t->cx, in, &order))
		return RT_ERROR;
	t->order = order.u.t;
	return RT_OK;
}

static RtTensor *
ordered_rows(Training *t, const RtTensor *x, const int64_t *dims)
{
	const int64_t *order = (const int64_t *)rt_data(t->order) + t->at_row;
	RtTensor *from = rt_contiguous(t->cx, (RtTensor *)(uintptr_t)x), *to;
	size_t bytes;

	if (!from)
		return NULL;
	if ((to = rt_tensor_new(t->cx, (RtDtype)x->dtype, x->ndim, dims))) {
		bytes = (size_t)(rt_numel(to) / dims[0] * rt_dtypes[x->dtype].bytes);
		for (int64_t i = 0; i < dims[0]; i++)
			memcpy(rt_data(to) + (size_t)i * bytes, rt_data(from) + (size_t)order[i] * bytes, bytes);
	}
	rt_tensor_release(from);
	return to;
}

static int
add_rows(Training *t, RtArrays *to, const char *key, const RtTensor *x)
{
	int64_t dims[RT_MAX_RANK];
	RtTensor *part;
	int status;

	memcpy(dims, x->dims, (size_t)x->ndim * sizeof *dims);
	dims[0] = t->batch;
	part = t->order ? ordered_rows(t, x, dims) :
		rt_tensor_view(t->cx, x, x->ndim, dims, x->strides, x->offset + t->at_row * x->strides[0]);
	if (!part)
		return RT_ERROR;
	status = rt_arrays_add(t->cx, to, key, rt_of(part));
	rt_tensor_release(part);
	return status;
}

/* Makes the arrays of the next batch, without parameters. */
static int
next_batch(Training *t, RtArrays *to)
{
	const RtArrays *file = &t->file[t->at_file];
	int status = t->options->shuffle && !t->at_row ? shuffle_rows(t, rows_of(t, file)) : RT_OK;

	for (int i = 0; i < file->n && !status; i++) {
		const RtArray *a = &file->at[i];

		if (is_trained_key(t, a->key))
			continue;
		if (a->tensor && a->tensor->ndim && t->batch && !rt_is_strides(file, a->key))
			status = add_rows(t, to, a->key, a->tensor);
		else
			status = rt_arrays_add(t->cx, to, a->key,
					       a->tensor ? rt_of(a->tensor) : rt_ref(RT_STR, a->text));
	}
	t->at_row += t->batch;
	if (!t->batch || t->at_row + t->batch > rows_of(t, file)) {
		t->at_row = 0;
		t->at_file = (t->at_file + 1) % t->options->nin;
	}
	return status;
}

static int
read_files(Training *t)
{
	t->file = calloc((size_t)t->options->nin + 1, sizeof *t->file);
	if (!t->file)
		return rt_raise(t->cx, "out of memory");
	for (int i = 0; i < t->options->nin; i++)
		if (rt_npz_read(t->cx, t->options->in[i], &t->file[i]))
			return RT_ERROR;
	return t->options->nin ? RT_OK : rt_raise(t->cx, "--train wants inputs: -i IN.npz");
}

static int
check_rows(Training *t)
{
	for (int i = 0; i < t->options->nin && t->batch; i++)
		if (rows_of(t, &t->file[i]) < t->batch)
			return rt_raise(t->cx, "%s: its arrays do not have one number of rows, %lld or more",
					t->options->in[i], (long long)t->batch);
	return RT_OK;
}

/* ---- a step ----------------------------------------------------------------------------------------------- */

#define UPDATE(name, type, root) \
static void \
name(const Training *o, int64_t step, int64_t n, type *p, const type *g, type *m, type *v) \
{ \
	const type lr = (type)o->lr, momentum = (type)o->momentum, decay = (type)o->weight_decay, eps = (type)o->eps; \
	const type b1 = (type)o->beta1, b2 = (type)o->beta2, a1 = (type)(1 - o->beta1), a2 = (type)(1 - o->beta2); \
	const type rate = (type)(o->lr / (1 - pow(o->beta1, (double)step))); \
	const type below = (type)sqrt(1 - pow(o->beta2, (double)step)); \
	const type kept = (type)(1 - o->lr * o->weight_decay); \
	for (int64_t i = 0; i < n && o->how == SGD; i++) { \
		type d = decay != 0 ? g[i] + decay * p[i] : g[i]; \
		if (m) \
			m[i] = d = step > 1 ? momentum * m[i] + d : d; \
		p[i] -= lr * d; \
	} \
	for (int64_t i = 0; i < n && o->how != SGD; i++) { \
		const type d = decay != 0 && o->how == ADAM ? g[i] + decay * p[i] : g[i]; \
		if (o->how == ADAMW) \
			p[i] *= kept; \
		m[i] = m[i] * b1 + a1 * d; \
		v[i] = v[i] * b2 + a2 * d * d; \
		p[i] -= rate * m[i] / (root(v[i]) / below + eps); \
	} \
}
UPDATE(update_f32, float, sqrtf)
UPDATE(update_f64, double, sqrt)

static int
move(Training *t, Trained *p, IValue grad)
{
	RtTensor *g = grad.tag == RT_TENSOR ? rt_contiguous(t->cx, grad.u.t) : NULL;
	const int64_t n = rt_numel(p->value);

	if (grad.tag != RT_TENSOR)
		return RT_OK;
	if (!g || g->dtype != p->value->dtype || rt_numel(g) != n) {
		if (g)
			rt_tensor_release(g);
		return t->cx->status ? t->cx->status :
			rt_raise(t->cx, "the gradient of %s is of another kind", t->method->param[p->param].name);
	}
	p->steps++;
	if (p->value->dtype == RT_f32)
		update_f32(t, p->steps, n, (float *)rt_data(p->value), (const float *)rt_data(g),
			p->first ? (float *)rt_data(p->first) : NULL, p->second ? (float *)rt_data(p->second) : NULL);
	else
		update_f64(t, p->steps, n, (double *)rt_data(p->value), (const double *)rt_data(g),
			p->first ? (double *)rt_data(p->first) : NULL, p->second ? (double *)rt_data(p->second) : NULL);
	rt_tensor_release(g);
	return RT_OK;
}

/* Returns the loss. If the method has none, returns the result if it is a floating 0-d tensor. Otherwise NaN. */
static double
loss_of(IValue result)
{
	const IValue loss = rt_gradient_part(result, 1), out = rt_gradient_part(result, 0);
	const RtTensor *x = loss.tag == RT_TENSOR ? loss.u.t : out.tag == RT_TENSOR && !out.u.t->ndim ? out.u.t : NULL;

	return x && rt_dtypes[x->dtype].category == 'F' ? rt_load_f64((RtDtype)x->dtype, rt_data(x)) : NAN;
}

static int
one_step(Training *t, int64_t step)
{
	RtArrays batch = { 0 };
	IValue result = rt_none();
	const int64_t every = t->steps > 10 ? t->steps / 10 : 1;
	/* whether standard output has the losses or the parameters */
	const bool said = rt_is_stdout(t->options->json) || rt_is_stdout(t->options->out);
	int status = next_batch(t, &batch), n = t->method->nparam;

	if (!status)
		status = rt_args_from_arrays(t->cx, t->method->param, n, &batch, t->args);
	for (int i = 0; i < t->n && !status; i++)
		rt_assign(&t->args[t->trained[i].param], rt_retain(rt_of(t->trained[i].value)));
	if (!status)
		status = rt_program_call(t->cx, t->method, t->args, &result);
	for (int i = 0; i < t->n && !status; i++)
		status = move(t, &t->trained[i], rt_gradient_part(rt_gradient_part(result, 2), t->trained[i].grad));
	if (!status && t->loss)
		t->loss[step - 1] = loss_of(result);
	if (!status && !said && (step == 1 || step == t->steps || step % every == 0)) {
		printf("step %lld of %lld: loss %.6g\n", (long long)step, (long long)t->steps, loss_of(result));
		fflush(stdout);
	}
	for (int i = 0; i < n; i++)
		rt_assign(&t->args[i], rt_none());
	rt_release(result);
	rt_arrays_free(&batch);
	return status;
}

/* ---- the result -------------------------------------------------------------------------------------------- */

/* Adds the buffers that the model has written to. Their memory is no longer that of the weights. */
static int
add_buffers(RtCx *cx, RtArrays *to, const RtObject *o, const char *prefix, int depth)
{
	int status = RT_OK;

	for (int i = 0; o && i < o->cls->nslot && !status && depth < RT_DEPTH; i++) {
		Buf name = { 0 };
		const IValue v = o->slot[i];

		buf_printf(&name, "%s%s%s", prefix, *prefix ? "." : "", o->cls->slot[i]);
		if (v.tag == RT_OBJECT)
			status = add_buffers(cx, to, v.u.obj, name.at, depth + 1);
		else if (v.tag == RT_TENSOR && !(v.u.t->flags & RT_PARAMETER) && !v.u.t->storage->readonly &&
			 !rt_arrays_find(to, name.at))
			status = rt_arrays_add(cx, to, name.at, v);
		buf_free(&name);
	}
	return status;
}

static int
write_parameters(Training *t)
{
	RtArrays out = { 0 };
	int status = RT_OK;

	for (int i = 0; i < t->n && !status; i++)
		status = rt_arrays_add(t->cx, &out, t->method->param[t->trained[i].param].name,
				       rt_of(t->trained[i].value));
	if (!status && t->method->takes_self)
		status = add_buffers(t->cx, &out, t->cx->instance, "", 0);
	if (!status)
		status = rt_npz_write(t->cx, t->options->out, &out);
	rt_arrays_free(&out);
	return status;
}

static int
write_losses(Training *t)
{
	RtWhole w;
	FILE *f = rt_whole_open(&w, t->options->json);

	if (!f)
		return rt_raise(t->cx, "%s: %s", t->options->json, strerror(errno));
	fprintf(f, "{\"optimizer\":\"%s\",\"steps\":%lld,\"batch\":%lld,\"loss\":[", optimizers[t->how],
		(long long)t->steps, (long long)t->batch);
	for (int64_t i = 0; i < t->steps; i++)
		fprintf(f, isfinite(t->loss[i]) ? "%s%.9g" : "%snull", i ? "," : "", t->loss[i]);
	fputs("]}\n", f);
	return rt_whole_end(&w, true) ? rt_raise(t->cx, "%s: %s", t->options->json, strerror(errno)) : RT_OK;
}

static void
training_free(Training *t)
{
	if (t->order)
		rt_tensor_release(t->order);
	free(t->loss);
	for (int i = 0; i < t->n; i++) {
		RtTensor *const own[3] = { t->trained[i].value, t->trained[i].first, t->trained[i].second };

		for (int k = 0; k < 3; k++)
			if (own[k])
				rt_tensor_release(own[k]);
	}
	for (int i = 0; t->file && i < t->options->nin; i++)
		rt_arrays_free(&t->file[i]);
	free(t->file);
	free(t->trained);
	free(t->args);
}

int
rt_train(RtCx *cx, const RtMethod *m, RtTrain *o)
{
	Training t = { .cx = cx, .method = m, .options = o, .lr = 0.001, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8,
		.steps = 1 };
	int status;

	o->wrong = read_options(o, &t, &o->which);
	if (o->wrong)
		return RT_ERROR;
	status = read_files(&t);
	if (!status)
		status = own_parameters(&t);
	if (!status)
		status = check_rows(&t);
	if (!status && (!(t.args = calloc((size_t)m->nparam + 1, sizeof *t.args)) ||
			(o->json && !(t.loss = calloc((size_t)t.steps + 1, sizeof *t.loss)))))
		status = rt_raise(cx, "out of memory");
	for (int64_t i = 1; i <= t.steps && !status; i++)
		status = one_step(&t, i);
	if (!status && o->out)
		status = write_parameters(&t);
	if (!status && o->json)
		status = write_losses(&t);
	training_free(&t);
	return status;
}
