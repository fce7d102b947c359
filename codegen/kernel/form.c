/*
 * Builds kernels, and tells what they hold.
 */
#include "form.h"

#include <string.h>

/* ---- making one ------------------------------------------------------------------------------------------------ */

Kernel *
kernel_new(SizeTable *sizes, Arena *arena, const char *name, const char *comment)
{
	Kernel *k = new(arena, Kernel, 1);

	k->sizes = sizes;
	k->arena = arena;
	k->name = name;
	k->comment = comment;
	k->serial = -1;
	kernel_stage(k, true);
	return k;
}

int
kernel_operand(Kernel *k, Operand o)
{
	static const char letters[] = {
		[ACCESS_READ] = 'x', [ACCESS_WRITE] = 'y', [ACCESS_UPDATE] = 'y', [ACCESS_NUMBER] = 's',
		[ACCESS_BITS] = 's', [ACCESS_MADE] = 'm', [ACCESS_INDEX] = 'n', [ACCESS_LOCAL] = 'l',
	};

	RT_ASSERT(o.ngather >= 0 && o.ngather <= KERNEL_GATHERS && o.along >= -1 && o.along <= 0);
	if (!o.name)
		o.name = arena_printf(k->arena, "%c%d", letters[o.access], k->operand.n);
	for (int i = 0; i < KERNEL_AXES; i++)
		if (!o.stride[i])
			o.stride[i] = size_number(k->sizes, 0);
	if (!o.offset)
		o.offset = size_number(k->sizes, 0);
	vec_push(k->arena, &k->operand, o);
	return k->operand.n - 1;
}

int
kernel_strided(Kernel *k, Access access, RtDtype dtype, const int64_t *stride)
{
	Operand o = { .dtype = dtype, .access = access, .along = -1 };

	for (int i = 0; i < k->naxis && stride; i++)
		o.stride[i] = size_number(k->sizes, stride[i]);
	return kernel_operand(k, o);
}

Ref
kernel_let(Kernel *k, Let l)
{
	RT_ASSERT(l.op && l.narg >= 0 && l.narg <= RT_MAP_MAX);
	vec_push(k->arena, &k->let, l);
	return (Ref){ .kind = REF_LET, .at = k->let.n - 1 };
}

void
kernel_store(Kernel *k, int operand, Ref value)
{
	RT_ASSERT(operand >= 0 && operand < k->operand.n && value.kind != REF_NONE);
	vec_push(k->arena, &k->store, ((Store){ operand, value }));
}

Kernel *
kernel_then(Kernel *last)
{
	Kernel *k = kernel_new(last->sizes, last->arena, last->name, last->comment);

	last->next = k;
	k->naxis = k->shared = last->shared;
	k->serial = last->serial;
	memcpy(k->extent, last->extent, sizeof k->extent);
	k->typical = last->typical;
	for (int i = 0; i < last->operand.n; i++) {
		const Operand *o = &last->operand.at[i];

		if (kernel_has_address(last, i) || o->access == ACCESS_LOCAL)
			kernel_operand(k, (Operand){ .name = o->name, .dtype = o->dtype, .access = o->access,
						     .along = -1, .constant = o->constant });
	}
	return k;
}

void
kernel_bound(Kernel *k, int operand, Bound b)
{
	RT_ASSERT(operand >= 0 && operand < k->operand.n && b.limit);
	for (int i = 0; i < KERNEL_AXES; i++)
		if (!b.stride[i])
			b.stride[i] = size_number(k->sizes, 0);
	vec_push(k->arena, &k->operand.at[operand].bound, b);
}

Ref
kernel_state(Kernel *k, Folded s)
{
	RT_ASSERT(s.fold && s.x.kind != REF_NONE);
	vec_push(k->arena, &k->state, s);
	return (Ref){ .kind = REF_STATE, .at = k->state.n - 1 };
}

void
kernel_stage(Kernel *k, bool each)
{
	vec_push(k->arena, &k->stage, ((Stage){ each, k->let.n, k->state.n, k->store.n, { 0 } }));
}

void
kernel_select(Kernel *k, Select s)
{
	Stage *last = &vec_last(&k->stage);

	RT_ASSERT(s.count && last->each && last->let == k->let.n && last->state == k->state.n &&
		  last->store == k->store.n);
	last->select = s;
}

Stage
kernel_stage_end(const Kernel *k, int stage)
{
	RT_ASSERT(stage >= 0 && stage < k->stage.n);
	if (stage + 1 < k->stage.n)
		return k->stage.at[stage + 1];
	return (Stage){ false, k->let.n, k->state.n, k->store.n, { 0 } };
}

/* Among equal elements the first wins, and NaN wins over any number. There are no branches, so loops over lanes
 * vectorize. */
#define MORE(over) "(x " over " a) | ((x == a) & (y < b)) | ((x != x) & ((a == a) | (y < b)))"

const Fold *
fold_find(const char *name)
{
	static const Fold folds[] = {
		{ "sum", FOLD_ZERO, .join = "a + x" },
		{ "prod", FOLD_ONE, .join = "a * x" },
		{ "max", FOLD_LEAST, .join = "a != a ? a : a > x ? a : x" },
		{ "min", FOLD_MOST, .join = "a != a ? a : a < x ? a : x" },
		{ "argmax", FOLD_LEAST, .places = true, .takes = MORE(">") },
		{ "argmin", FOLD_MOST, .places = true, .takes = MORE("<") },
		{ "lastmax", FOLD_LEAST, .ordered = true, .places = true, .takes = "(x >= a) | (x != x)" },
		{ "lastmin", FOLD_MOST, .ordered = true, .places = true, .takes = "(x <= a) | (x != x)" },
		/* The first element counts, even if it is NaN. Later ones count if they are greater. */
		{ "firstmax", FOLD_LEAST, .ordered = true, .places = true, .takes = "(x > a) | (y < b)" },
		{ "log_add", FOLD_LEAST, .calls = true, .join = "vr_log_add(a, x)" },
		{ "log_addf", FOLD_LEAST, .calls = true, .join = "vr_log_addf(a, x)" },
		/* As pooling chooses: the last NaN wins. */
		{ "poolmax", FOLD_LEAST, .places = true,
		  .takes = "(x > a) | ((x == a) & (y < b)) | ((x != x) & ((a == a) | (y > b)))" },
		{ "any", FOLD_ZERO, .logic = true, .join = "a | x" },
		{ "all", FOLD_ONE, .logic = true, .join = "a & x" },
	};

	RT_ASSERT(name);
	for (size_t i = 0; i < sizeof folds / sizeof *folds; i++)
		if (!strcmp(folds[i].name, name))
			return &folds[i];
	return NULL;
}

Ref
ref_operand(int at)
{
	return (Ref){ .kind = REF_OPERAND, .at = at };
}

bool
ref_reads(const Ref *r, int operand)
{
	return r->kind == REF_OPERAND && r->at == operand;
}

Ref
ref_number(IValue v)
{
	return (Ref){ .kind = REF_NUMBER, .number = v };
}

/* Copies n elements into an allocation with the capacity that vec_push would make. */
static void *
copied(Arena *a, const void *at, int n, size_t size)
{
	void *to = n ? arena_take(a, n * (int64_t)size) : NULL;

	if (n)
		memcpy(to, at, (size_t)n * size);
	return to;
}

#define COPY_OF(v) ((v).at = copied(k->arena, (v).at, (v).n, sizeof *(v).at), (v).cap = (v).n)

Kernel *
kernel_copy(const Kernel *from)
{
	Kernel *k = new(from->arena, Kernel, 1);

	*k = *from;
	COPY_OF(k->range);
	COPY_OF(k->operand);
	COPY_OF(k->let);
	COPY_OF(k->state);
	COPY_OF(k->store);
	COPY_OF(k->stage);
	for (int i = 0; i < k->operand.n; i++)
		COPY_OF(k->operand.at[i].bound);
	if (from->next)
		k->next = kernel_copy(from->next);
	return k;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

bool
kernel_typical(const Kernel *k, const Size *s, int64_t *out)
{
	return size_const(s, out) || (k->typical && size_value(s, k->typical, out));
}

bool
kernel_is_long(const Kernel *k, const Size *s, int64_t least)
{
	int64_t n;

	return kernel_typical(k, s, &n) ? n >= least : size_at_least(k->sizes, s, least);
}

/* ---- which axes values depend on --------------------------------------------------------------------------------- */

static bool
moves_operand(const Operand *o, int axis)
{
	for (int i = 0; i < o->bound.n; i++)
		if (!size_is(o->bound.at[i].stride[axis], 0))
			return true;
	return !size_is(o->stride[axis], 0) || o->along == axis;
}

bool
kernel_moves(const Kernel *k, const Ref *r, int axis)
{
	const Operand *o = r->kind == REF_OPERAND ? &k->operand.at[r->at] : NULL;

	for (int g = 0; o && g < o->ngather; g++)
		if (kernel_moves(k, &o->gather[g].by, axis))
			return true;
	for (int i = 0; r->kind == REF_LET && i < k->let.at[r->at].narg; i++)
		if (kernel_moves(k, &k->let.at[r->at].arg[i], axis))
			return true;
	return r->kind == REF_STATE || (o && moves_operand(o, axis));
}

bool
kernel_moves_in_row(const Kernel *k, int operand)
{
	for (int d = k->naxis - k->nreduce; d < k->naxis; d++)
		if (moves_operand(&k->operand.at[operand], d))
			return true;
	return false;
}

/* ---- size, cost and comment ------------------------------------------------------------------------------------ */

bool
kernel_stores(const Kernel *k, int operand)
{
	for (int i = 0; i < k->store.n; i++)
		if (k->store.at[i].operand == operand)
			return true;
	return false;
}

bool
kernel_has_rows(const Kernel *k)
{
	return k->nreduce || k->state.n || k->stage.n > 1 || k->shared;
}

bool
kernel_carries(const Kernel *k)
{
	for (int i = 0; i < k->state.n; i++)
		if (k->state.at[i].carried)
			return true;
	return false;
}

bool
kernel_selects(const Kernel *k)
{
	for (int i = 0; i < k->stage.n; i++)
		if (k->stage.at[i].select.count)
			return true;
	return false;
}

/* A local operand of a cache line's multiple of elements, as many as the link that stores it reaches. */
const Size *
kernel_local(const Kernel *k, int operand)
{
	enum { LINE = 16 };
	SizeTable *z = k->sizes;
	const Size *n = size_number(z, 1);

	while (!kernel_stores(k, operand) && k->next)
		k = k->next;
	for (int i = k->shared; i < k->naxis; i++)
		n = size_plus(z, n, size_times(z, k->operand.at[operand].stride[i],
					       size_minus(z, k->extent[i], size_number(z, 1))));
	return size_times(z, size_ceil(z, n, size_number(z, LINE)),
			  size_number(z, LINE * rt_dtypes[k->operand.at[operand].dtype].bytes));
}

const Size *
kernel_scratch(const Kernel *k)
{
	const Size *n = size_number(k->sizes, 0);

	for (int i = 0; i < k->operand.n; i++)
		if (k->operand.at[i].access == ACCESS_LOCAL)
			n = size_plus(k->sizes, n, kernel_local(k, i));
	/* a key and an index for each point of a row, and an index for sorting them */
	return kernel_selects(k) ? size_times(k->sizes, size_number(k->sizes, 3 * (int64_t)sizeof(int64_t)),
					      k->extent[k->naxis - 1]) : n;
}

bool
kernel_uses(const Kernel *k, int operand)
{
	for (int i = 0; i < k->let.n; i++)
		for (int a = 0; a < k->let.at[i].narg; a++)
			if (ref_reads(&k->let.at[i].arg[a], operand))
				return true;
	for (int i = 0; i < k->state.n; i++)
		if (ref_reads(&k->state.at[i].x, operand) || ref_reads(&k->state.at[i].y, operand))
			return true;
	for (int i = 0; i < k->store.n; i++)
		if (ref_reads(&k->store.at[i].value, operand))
			return true;
	return kernel_stores(k, operand);
}

bool
kernel_has_near(const Kernel *k, int stage)
{
	bool any = false;

	RT_ASSERT(stage >= 0 && stage < k->stage.n);
	for (int i = k->stage.at[stage].let; i < kernel_stage_end(k, stage).let; i++)
		any = any || (strchr(k->let.at[i].op->domain, 'M') &&
			      rt_dtypes[k->let.at[i].types.compute].category == 'F');
	for (int i = 0; i < k->operand.n; i++)
		any = any && k->operand.at[i].along < 0;
	return any && !kernel_has_gathers(k);
}

bool
kernel_has_gathers(const Kernel *k)
{
	for (int i = 0; i < k->operand.n; i++)
		if (k->operand.at[i].ngather)
			return true;
	return false;
}

bool
kernel_has_lets_as_indices(const Kernel *k)
{
	for (int i = 0; i < k->operand.n; i++)
		for (int g = 0; g < k->operand.at[i].ngather; g++)
			if (k->operand.at[i].gather[g].by.kind == REF_LET)
				return true;
	return false;
}

bool
kernel_may_fail(const Kernel *k)
{
	for (int i = 0; i < k->operand.n; i++)
		for (int g = 0; g < k->operand.at[i].ngather; g++)
			if (k->operand.at[i].gather[g].outside == OUTSIDE_FAILS)
				return true;
	for (int i = 0; i < k->range.n; i++)
		if (k->range.at[i].checked)
			return true;
	return false;
}

const Size *
kernel_points(const Kernel *k)
{
	const Size *n = size_number(k->sizes, 1);

	for (int i = 0; i < k->naxis; i++)
		n = size_times(k->sizes, n, k->extent[i]);
	return n;
}

const Size *
kernel_bytes(const Kernel *k)
{
	const Size *all = size_number(k->sizes, 0);

	for (int i = 0; i < k->operand.n; i++) {
		const Operand *o = &k->operand.at[i];
		const bool in_memory = o->access != ACCESS_NUMBER && kernel_has_address(k, i);
		const Size *n = size_number(k->sizes, in_memory ? rt_dtypes[o->dtype].bytes : 0);

		for (int d = 0; d < k->naxis; d++)
			if (!size_is(o->stride[d], 0) || o->along == d || o->ngather)
				n = size_times(k->sizes, n, k->extent[d]);
		all = size_plus(k->sizes, all, n);
	}
	return all;
}

const Size *
kernel_lets(const Kernel *k)
{
	return size_times(k->sizes, size_number(k->sizes, k->let.n), kernel_points(k));
}

const Size *
kernel_steps(const Kernel *k)
{
	int64_t steps = 0;

	for (int i = 0; i < k->stage.n; i++) {
		const Stage from = k->stage.at[i], end = kernel_stage_end(k, i);

		steps += from.each ? end.let - from.let + end.state - from.state : 0;
	}
	return size_plus(k->sizes, size_times(k->sizes, size_number(k->sizes, steps), kernel_points(k)),
			 k->next ? kernel_steps(k->next) : size_number(k->sizes, 0));
}

const char *
kernel_comment(const Kernel *k)
{
	Buf b = { 0 };

	buf_puts(&b, k->comment);
	for (int i = 0; i < k->naxis; i++) {
		buf_puts(&b, i ? " x " : ": ");
		size_print(k->extent[i], SIZE_TEXT, true, &b);
	}
	return arena_text(k->arena, &b);
}

/* ---- invariants ------------------------------------------------------------------------------------------------ */

static bool
stores_to(const Operand *o)
{
	return o->access == ACCESS_WRITE || o->access == ACCESS_UPDATE || o->access == ACCESS_LOCAL;
}

/* Has an earlier stage stored this operand? */
static bool
is_stored_before(const Kernel *k, int operand, int stage)
{
	for (int i = 0; i < k->stage.at[stage].store; i++)
		if (k->store.at[i].operand == operand)
			return true;
	return false;
}

int
kernel_stage_of(const Kernel *k, RefKind kind, int at)
{
	int stage = 0;

	while (stage + 1 < k->stage.n &&
	       at >= (kind == REF_LET ? k->stage.at[stage + 1].let : k->stage.at[stage + 1].state))
		stage++;
	return stage;
}

bool
kernel_has_address(const Kernel *k, int operand)
{
	const Access access = k->operand.at[operand].access;

	return access != ACCESS_MADE && access != ACCESS_INDEX && access != ACCESS_BITS && access != ACCESS_LOCAL;
}

int
kernel_addresses(const Kernel *k)
{
	int n = 0;

	for (int i = 0; i < k->operand.n; i++)
		n += kernel_has_address(k, i);
	return n;
}

/* Does the value differ for each point of a row? A stage that runs once must not read it. */
static bool
is_of_points(const Kernel *k, const Ref *r)
{
	const Operand *o = r->kind == REF_OPERAND ? &k->operand.at[r->at] : NULL;

	for (int g = 0; o && g < o->ngather; g++)
		if (o->gather[g].by.kind == REF_LET && is_of_points(k, &o->gather[g].by))
			return true;
	return o ? kernel_moves_in_row(k, r->at)
		 : r->kind == REF_LET && k->stage.at[kernel_stage_of(k, REF_LET, r->at)].each;
}

/* May the stage read the let, which is one of the first nlet? */
static bool
may_read_let(const Kernel *k, int stage, const Ref *r, int nlet)
{
	return r->at < nlet && (kernel_stage_of(k, REF_LET, r->at) == stage || !is_of_points(k, r));
}

bool
kernel_may_read(const Kernel *k, int stage, const Ref *r, int nlet)
{
	const Operand *o = r->kind == REF_OPERAND ? &k->operand.at[r->at] : NULL;
	int of;

	if (!k->stage.at[stage].each && is_of_points(k, r))
		return false;
	for (int g = 0; o && g < o->ngather; g++)
		if (o->gather[g].by.kind == REF_LET && !may_read_let(k, stage, &o->gather[g].by, nlet))
			return false;
	if (o)
		return o->access != ACCESS_WRITE || is_stored_before(k, r->at, stage);
	if (r->kind == REF_LET)
		return may_read_let(k, stage, r, nlet);
	if (r->kind != REF_STATE)
		return true;
	of = kernel_stage_of(k, REF_STATE, r->at);
	return of < stage || (of == stage && k->state.at[r->at].carried && nlet == kernel_stage_end(k, stage).let);
}

static void
check_ref(const Kernel *k, int stage, const Ref *r, int nlet)
{
	RT_ASSERT(r->kind != REF_OPERAND || (r->at >= 0 && r->at < k->operand.n));
	RT_ASSERT(r->kind != REF_LET || (r->at >= 0 && r->at < k->let.n));
	RT_ASSERT(r->kind != REF_STATE || (r->at >= 0 && r->at < k->state.n));
	RT_ASSERT(r->kind != REF_NUMBER || r->number.tag == RT_INT || r->number.tag == RT_DOUBLE ||
		  r->number.tag == RT_BOOL);
	RT_ASSERT(kernel_may_read(k, stage, r, nlet));
	(void)k, (void)stage, (void)r, (void)nlet;
}

/* Does the stage select by an operand that is read, with nothing but stores of operands? */
static bool
is_selection(const Kernel *k, int stage)
{
	const Stage from = k->stage.at[stage], end = kernel_stage_end(k, stage);

	for (int i = from.store; i < end.store; i++)
		if (k->store.at[i].value.kind != REF_OPERAND)
			return false;
	return k->nreduce == 1 && from.each && from.let == end.let && from.state == end.state &&
	       from.select.key.kind == REF_OPERAND && k->operand.at[from.select.key.at].access == ACCESS_READ;
}

static void
check_stage(const Kernel *k, int stage)
{
	const Stage from = k->stage.at[stage], end = kernel_stage_end(k, stage);

	RT_ASSERT(!from.select.count || is_selection(k, stage));
	for (int i = from.let; i < end.let; i++)
		for (int a = 0; a < k->let.at[i].narg; a++)
			check_ref(k, stage, &k->let.at[i].arg[a], i);
	for (int i = from.state; i < end.state; i++) {
		const Folded *s = &k->state.at[i];

		RT_ASSERT(from.each && (s->y.kind != REF_NONE) == s->fold->places);
		RT_ASSERT(s->carried ? s->part == s->total && k->nreduce <= 1 : !s->fold->ordered);
		check_ref(k, stage, &s->x, end.let);
		check_ref(k, stage, &s->y, end.let);
	}
	for (int i = from.store; i < end.store; i++) {
		const Store *s = &k->store.at[i];

		RT_ASSERT(s->operand >= 0 && s->operand < k->operand.n && s->value.kind != REF_NONE);
		RT_ASSERT(stores_to(&k->operand.at[s->operand]));
		RT_ASSERT(from.each || !kernel_moves_in_row(k, s->operand));
		check_ref(k, stage, &s->value, end.let);
	}
}

static void
check_gather(const Kernel *k, int operand, const Gather *g)
{
	const Operand *by = g->by.kind == REF_OPERAND ? &k->operand.at[g->by.at] : NULL;

	RT_ASSERT(g->stride && g->limit && (by || g->by.kind == REF_LET));
	RT_ASSERT(by || (g->by.at >= 0 && g->by.at < k->let.n && !g->wraps &&
			 k->let.at[g->by.at].types.result == RT_i64 && k->operand.at[operand].access == ACCESS_READ));
	RT_ASSERT(!by || (g->by.at >= 0 && g->by.at < k->operand.n && g->by.at != operand &&
			  g->outside == OUTSIDE_FAILS && !by->ngather && !by->bound.n &&
			  rt_dtypes[by->dtype].category == 'I'));
	(void)k, (void)operand, (void)g, (void)by;
}

/* A let is computed once for a row. C divides numbers that are not negative as floor does. */
static void
check_edge(const Kernel *k, const AxisRange *r, const AxisEdge *e)
{
	RT_ASSERT(r->axis >= k->naxis - k->nreduce && r->axis < k->naxis);
	RT_ASSERT(!e->let.kind || (e->let.kind == REF_LET && e->let.at < k->let.n && !e->per));
	RT_ASSERT(!e->let.kind || r->checked || size_is(k->extent[r->axis], 1));
	RT_ASSERT(!e->let.kind || k->let.at[e->let.at].types.result == RT_i64);
	RT_ASSERT(!e->let.kind || !k->stage.at[kernel_stage_of(k, REF_LET, e->let.at)].each);
	RT_ASSERT(!e->per || (e->of >= 0 && e->of < k->naxis - k->nreduce));
	RT_ASSERT(!e->per || size_is(e->per, 1) ||
		  (size_at_least(k->sizes, e->times, 0) && size_at_least(k->sizes, e->plus, 0)));
	(void)k, (void)r, (void)e;
}

/* Links share their first axes and read no computed indices. */
static void
check_link(const Kernel *k)
{
	RT_ASSERT(!kernel_has_gathers(k) && (k->serial < 0 || k->serial == k->shared - 1));
	RT_ASSERT(k->shared <= k->naxis - k->nreduce);
	for (int i = 0; k->next && i < k->shared; i++)
		RT_ASSERT(k->extent[i] == k->next->extent[i]);
	for (int i = 0; k->next && i < k->operand.n; i++)
		RT_ASSERT(!kernel_has_address(k, i) || (k->operand.at[i].along < 0 && i < k->next->operand.n &&
							!strcmp(k->operand.at[i].name, k->next->operand.at[i].name)));
	RT_ASSERT(!k->next || (k->shared == k->next->shared && k->serial == k->next->serial));
	(void)k;
}

void
kernel_check(const Kernel *k)
{
	RT_ASSERT(k->naxis >= 0 && k->naxis <= KERNEL_AXES && k->serial < k->naxis);
	RT_ASSERT(k->nreduce >= 0 && k->nreduce <= k->naxis && (k->serial < k->shared || !k->nreduce));
	for (int i = 0; i < k->range.n; i++) {
		check_edge(k, &k->range.at[i], &k->range.at[i].first);
		check_edge(k, &k->range.at[i], &k->range.at[i].end);
	}
	for (int i = 0; i < k->operand.n; i++) {
		const Operand *o = &k->operand.at[i];

		RT_ASSERT(o->along == -1 || (o->along == 0 && k->naxis));
		RT_ASSERT(o->ngather >= 0 && o->ngather <= KERNEL_GATHERS &&
			  (!o->ngather || o->access != ACCESS_NUMBER));
		for (int g = 0; g < o->ngather; g++)
			check_gather(k, i, &o->gather[g]);
		RT_ASSERT(!o->bound.n || o->access == ACCESS_READ || o->access == ACCESS_INDEX ||
			  (o->access == ACCESS_LOCAL && !kernel_stores(k, i)) || o->bound.at[0].unit);
		RT_ASSERT(o->outside.tag == RT_NONE || rt_dtypes[o->dtype].category == 'I' ||
			  rt_dtypes[o->dtype].compute == o->dtype);
		(void)o;
	}
	for (int i = 0; i < k->stage.n; i++)
		check_stage(k, i);
	if (k->next || k->shared)
		check_link(k);
	if (k->next)
		kernel_check(k->next);
}
