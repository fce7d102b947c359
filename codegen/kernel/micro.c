/*
 * Matches kernels with the rows of micro.def, and prints them as calls.
 *
 *    static const VpPool v = { .n = 1, .c = 64, ... };
 *
 *    vp_pool_lanes(begin, end, &v, p[1], p[0]);
 *
 * A pattern names the axes and operands of a kernel, by their order and by what operands do along them.
 */
#include "../../ir/row.h"
#include "match.h"

#include <string.h>

enum { PASSED = 8 };

static bool
find_int8(Match *m, bool sums)
{
	static const int names[] = { N, OD, OH, OW, G, OC, IC, KD, KH, KW };

	if (!int8_find(m->kernel, sums))
		return false;
	match_name_axes(m, names, 10);
	m->out = OD;
	m->tap = KD;
	m->operand[Y] = 0, m->operand[X] = 1, m->operand[W] = 2;
	m->operand[BIAS] = m->operand[ZERO] = 3;
	m->operand[FACTOR] = 4;
	return true;
}

static const Kernel *
link(const Match *m, int i)
{
	return m->attention.link[i];
}

static const Size *
link_stride(const Match *m, int i, int name, LinkAxis axis)
{
	return m->operand[name] < 0 ? match_constant(m, 0) :
	       link(m, i)->operand.at[m->operand[name]].stride[link_axis(link(m, i), axis)];
}

static bool
find_attention(Match *m)
{
	if (!attention_find(m->kernel, &m->attention))
		return false;
	m->operand[Y] = 0;
	m->operand[Q] = 1;
	m->operand[K] = 2;
	m->operand[V] = 3;
	m->operand[MASK] = m->attention.mask ? 4 : -1;
	return true;
}

/* Number of the batch's dims whose extent is not 1. */
static int
head_dims(const Match *m)
{
	int n = 0;

	for (int i = 0; i < m->kernel->shared - 1; i++)
		n += !size_is(m->kernel->extent[i], 1);
	return n;
}

static bool
find_recurrence(Match *m, const char *name, RtDtype dtype)
{
	Recurrence *r = &m->recurrence;

	return recurrence_find(m->kernel, r) && !strcmp(r->cell->name, name) && m->kernel->operand.at[0].dtype == dtype;
}

/* The stride of a result or of the gates along the steps, which is not negative. */
static const Size *
step_of(const Match *m, int at)
{
	const Operand *o = &(at == m->recurrence.y ? m->recurrence.last : m->recurrence.step)->operand.at[at];

	return o->bound.n ? o->bound.at[0].unit : o->stride[1];
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Begins a member: of an initializer, or an assignment in CUDA. */
static void
put_name(Match *m, const char *name)
{
	enum { EACH = 8 };

	if (m->cuda)
		buf_printf(&m->text, "\tg.%s = ", name);
	else
		buf_printf(&m->text, "%s.%s = ", m->nmember % EACH ? " " : m->nmember ? "\n\t\t" : "\t\t", name);
	m->nmember++;
}

/* Writes a member. A null size leaves it 0. */
static void
put_member(Match *m, const char *name, const Size *size)
{
	if (!size)
		return;
	put_name(m, name);
	kernel_put_size(m->kernel, size, true, &m->text);
	buf_puts(&m->text, m->cuda ? ";\n" : ",");
}

/* Writes a member that is a double: a number, or one whose bits are a symbol, an operand of the kernel k. */
static void
put_real(Match *m, const char *name, const Kernel *k, const Ref *r)
{
	RT_ASSERT(r->kind == REF_NUMBER || r->kind == REF_OPERAND);
	put_name(m, name);
	if (r->kind == REF_NUMBER) {
		buf_printf(&m->text, "%.17g,", r->number.u.f);
	} else {
		buf_puts(&m->text, "rt_double_of(");
		kernel_put_size(m->kernel, k->operand.at[r->at].offset, false, &m->text);
		buf_puts(&m->text, "),");
	}
}

static void
put_text(Match *m, const char *name, const char *text)
{
	put_name(m, name);
	buf_printf(&m->text, m->cuda ? "%s;\n" : "%s,", text);
}

/* Writes the batch's extents that are not 1, and the operands' strides along them. */
static void
put_heads(Match *m)
{
	static const struct { int link, name; const char *member; } of[] = {
		{ SCORES, Q, "qb" }, { SCORES, K, "kb" }, { SUMS, V, "vb" }, { WEIGHTS, MASK, "mb" }, { SUMS, Y, "yb" },
	};
	Arena *a = m->kernel->arena;
	int n = 0;

	for (int i = 0; i < m->kernel->shared - 1; i++) {
		if (size_is(m->kernel->extent[i], 1))
			continue;
		put_member(m, arena_printf(a, "dims[%d]", n), m->kernel->extent[i]);
		for (size_t o = 0; o < sizeof of / sizeof *of; o++)
			if (m->operand[of[o].name] >= 0)
				put_member(m, arena_printf(a, "%s[%d]", of[o].member, n),
					   link(m, of[o].link)->operand.at[m->operand[of[o].name]].stride[i]);
		n++;
	}
	put_member(m, "batch", match_constant(m, n));
}

/* Adds initializers of a macro. */
static void
put_initializers(Match *m, const char *text)
{
	buf_printf(&m->text, "\n\t\t%s", text);
}

/* Adds the bounds to which results are clamped. */
static void
put_range(Match *m)
{
	if (m->dense->range[0])
		put_initializers(m, ".range = range,");
}

#define EXTENT(axis) match_extent(m, axis)
#define STRIDE(x, axis) match_stride(m, x, axis)
#define TIMES(a, b) match_times(m, a, b)
#define FLAG(x) match_constant(m, x)
#define CONSECUTIVE(x, axis) size_is(match_stride(m, x, axis), 1)
#define ALIKE(a, b) match_is_alike(m, a, b)
#define FITS_INT(size) match_fits_int(m, size)
#define POOL match_pool(m)
#define CONVOLUTION match_convolution(m)
#define WEIGHT_GRADIENT match_weight_gradient(m)
#define RUNS_ON(x, axis) match_runs_on(m, x, axis)
#define INPUT_LAST match_is_input_last(m)
#define OUTPUT_LAST(x) match_is_output_last(m, x)
#define DEPTHWISE match_is_depthwise(m)
#define CONSTANT(size) match_is_number_size(size)
#define CHANNELS(axis) match_channels(m, axis)
#define PRODUCT(dtype) match_product(m, dtype)
#define APART(x, axis, alone) match_apart(m, x, axis, alone)
#define BATCH_AXES match_batch_axes(m)
#define BATCH_EXTENT(i) match_batch_extent(m, i)
#define BATCH_ALONG(x, i) match_batch_along(m, x, i)
#define BATCH_POINTS match_batch_points(m)
#define INT8(sums) find_int8(m, sums)
#define INT8_PART int8_part(m->kernel)
#define INT8_NUMBER(i) match_constant(m, int8_number(m->kernel, i))
#define SIGNED(x) (match_operand(m, x)->dtype == RT_i8)
#define IF(condition, size) ((condition) ? (size) : match_constant(m, 0))
#define OFFSET(x) match_operand(m, x)->offset
#define NUMBER(n) match_constant(m, n)
#define PARTS(size, part) size_ceil(m->kernel->sizes, size, part)
#define BLOCKS(size, n) match_blocks(m, size, n)
#define PANEL m->nr
#define TYPICAL(size) match_typical(m, size)
#define INPUT(i) match_input_size(m, i)
#define INPUT_STRIDE(i) match_input_stride(m, i)
#define TAPS(i) match_taps(m, i)
#define STEP(i) match_step(m, i)
#define PADDING(i) match_padding(m, i)
#define DILATION(i) match_dilation(m, i)
#define MAXIMUM match_is_maximum(m)
#define PLACES match_is_places(m)
#define MEAN match_is_mean(m)
#define DIVISOR match_divisor_or_zero(m)
#define ADAPTIVE m->adaptive
#define PADDING_COUNTS (!m->adaptive && match_counts(m, true))
#define ADDED_AT match_added(m)
#define LIMIT match_operand(m, Y)->gather[0].limit
#define POSITION_STRIDE match_operand(m, Y)->gather[0].stride
#define COMPUTED(row, indices, axes) match_computed(m, ROW_##row, indices, axes)
#define GRID_AXES(dims) (2 + (dims) * (m->kernel->nreduce ? 2 : 1))
#define TYPED(dtype) match_has_dtype(m, dtype)
#define BYTES(n) (rt_dtypes[match_operand(m, X)->dtype].bytes == n)
#define LIMIT_AT(i) match_operand(m, X)->gather[i].limit
#define STRIDE_AT(i) match_operand(m, X)->gather[i].stride
#define HOW(row) match_flags_of(m, ROW_##row)
#define FLAGGED(row) match_has_flags(m, ROW_##row)
#define INT(row, i, arg_) match_int_size(m, &match_let_of(m, ROW_##row, i)->arg[arg_])
#define ARGUMENT(row, i, arg_) &match_let_of(m, ROW_##row, i)->arg[arg_]
#define LANES match_has_lanes(m)
#define PLANES match_planes(m)
#define RESIZE_KIND (HOW(prim_resize_source) & 7)
#define RESIZE_ALIGN (HOW(prim_resize_source) >> 3 & 1)
#define RESIZE_LINE match_is_line(m)
#define GRID_DIMS match_grid_dims(m)
#define GRID_MODE (HOW(prim_grid_source) & 3)
#define GRID_PADDING (HOW(prim_grid_source) >> 2 & 3)
#define GRID_ALIGN (HOW(prim_grid_source) >> 4 & 1)
#define GRID_STEP match_grid_step(m)
#define GRID_IN(i) match_grid_in(m, i)
#define GRID_OUT(i) match_grid_out(m, i)
#define GRID_X(i) match_grid_x(m, i)
#define GRID_ALONG(x, i) match_grid_along(m, x, i)
#define ROI_ALIGNED (HOW(prim_roi_side) & 1)
#define REGION_STEP match_region_step(m)
#define ATTENTION find_attention(m)
#define LINK_EXTENT(link_, axis) link_extent(link(m, link_), LINK_##axis)
#define LINK_STRIDE(link, x, axis) link_stride(m, link, x, LINK_##axis)
#define HEADS attention_heads(&m->attention)
#define HEAD_MEMBERS put_heads(m);
#define CAUSAL m->attention.causal
#define HAS_MASK (m->operand[MASK] >= 0)
#define BLOCK attention_block(&m->attention)
#define TEXT(name, text) put_text(m, #name, text);
#define EMPTY (m->attention.zeros ? "0" : "(float)KILN_NAN")
#define LINK_REAL(name, link_, ref) put_real(m, #name, link(m, link_), ref);
#define SCALE m->attention.scale
#define ATTENTION_SCRATCH attention_scratch(&m->attention, m->vf, m->nr)
#define ATTENTION_GRAIN attention_grain(&m->attention)
#define SHORT_BATCH (head_dims(m) <= VA_DIMS)
#define BLOCKS_OF(size, n) size_ceil(m->kernel->sizes, size, n)
#define AT_MOST(size, n) size_at_most(m->kernel->sizes, size, n)
#define ONE_OR(axis_extent, size) (size_is(axis_extent, 1) ? match_constant(m, 1) : (size))
#define RECURRENCE(name, dtype) find_recurrence(m, name, dtype)
#define TURN_COUNT m->kernel->extent[1]
#define HIDDEN m->recurrence.step->extent[2]
#define OF_PRODUCTS(x, axis) m->recurrence.products->operand.at[m->recurrence.x].stride[axis]
#define OF_FIRST(link, x) (link)->operand.at[m->recurrence.x].stride[0]
#define STEP_OF(x) step_of(m, m->recurrence.x)
#define ROW_OF(link, x) m->recurrence.link->operand.at[m->recurrence.x].stride[0]
#define REVERSE m->recurrence.last->operand.at[0].bound.n
#define PROJECTED m->recurrence.projected
#define OF_PROJECTION(axis) m->recurrence.last->operand.at[m->recurrence.p].stride[axis]
#define TURNS(n) m->turns = n;
#define PANELS_PASSED (m->kernel->operand.at[m->recurrence.w].constant != NULL)
#define LOAD(link_, x, a, b) \
	put_cuda_load(m->printer, link(m, link_), m->operand[x], link_axis(link(m, link_), LINK_##a), \
		      link_axis(link(m, link_), LINK_##b));
#define VALUE(link_) put_cuda_value(m->printer, link(m, link_), kernel_addresses(m->kernel));
#define STORE(link_) put_cuda_store(m->printer, link(m, link_));

#define DENSE(form) match_dense(m, form)
#define TILE(n) (m->dense->tile == n)
#define VOLUME (m->places == 3)
#define DOWN (m->places - 2)
#define ALONG (m->places - 1)
#define ALL_ROWS match_rows_of(m)
#define INPUT_ROW match_input_row(m, m->places)
#define OUTPUT_ROW match_output_row(m, m->places)
#define DENSE_STEP match_constant(m, m->dense->step)
#define DENSE_CHUNK match_constant(m, m->dense->chunk)
#define PANEL_UNITS(rows, chunks) match_panel_units(m, rows, chunks)
#define ROW_UNITS match_row_units(m)
#define TILES match_tiles_of(m)
#define GROUP_ZEROS match_group_zeros(m)
#define COARSE_TYPE(dtype_, bits_) (m->dense->coarse->dtype == (dtype_) && m->dense->coarse->bits == (bits_))
#define COARSE_GROUP match_constant(m, m->dense->coarse->group)
#define COARSE_CENTRED m->dense->coarse->centred

#define WHEN(condition, members, other) if (condition) { members } else { other }
#define RANGE put_range(m);
#define MEMBER(name, size) put_member(m, #name, size);
#define REAL(name, ref) put_real(m, #name, m->kernel, ref);
#define INITIALIZERS(text) put_initializers(m, text);
#define SCRATCH(text, size) m->scratch = text, m->bytes = size;
#define SCRATCH_BYTES(n) m->bytes = n, m->scratch = arena_printf(m->kernel->arena, "%lld", (long long)m->bytes);
#define ZEROS(size) m->zeros = size;
#define GRAIN(n) m->grain = n;
#define TALL(n) m->tall = n;
#define PACKING(sizes) m->packed = sizes;
#define STEPS(size) m->steps = size;
#define PASS(...) __VA_ARGS__
#define CUDA(function, type, pattern, members, columns, rows, heads, accessors) \
	static bool function##_fits(Match *m) { return pattern; } \
	static void function##_put(Match *m) { members } \
	static void function##_pass(Match *m) { accessors } \
	static const Size *function##_columns(const Match *m) { return columns; } \
	static const Size *function##_rows(const Match *m) { return rows; } \
	static const Size *function##_heads(const Match *m) { return heads; }
#define MICRO(function, header, type, pattern, members, units, arguments) \
	static bool function##_fits(Match *m) { return pattern; } \
	static void function##_put(Match *m) { members } \
	static const Size *function##_units(const Match *m) { return units; }
#include "micro.def"
#undef MICRO
#undef CUDA

typedef struct MicroRow {
	const char *name, *header, *type;
	bool (*fits)(Match *);
	void (*put_members)(Match *);
	const Size *(*units)(const Match *);
	int pass[PASSED];        /* operands, as the function takes them; END behind the last */
} MicroRow;

#define CUDA(function, type, pattern, members, columns, rows, heads, accessors)
static const MicroRow rows[] = {
#define MICRO(function, header, type, pattern, members, units, ...) \
	{ #function, header, #type, function##_fits, function##_put, function##_units, { __VA_ARGS__ } },
#include "micro.def"
#undef MICRO
#undef CUDA
};

typedef struct CudaRow {
	const char *name, *type;
	bool (*fits)(Match *);
	void (*put_members)(Match *), (*put_accessors)(Match *);
	const Size *(*columns)(const Match *);           /* argument of the template */
	const Size *(*rows)(const Match *), *(*heads)(const Match *);    /* numbers of blocks of the grid */
} CudaRow;

#define MICRO(function, header, type, pattern, members, units, ...)
static const CudaRow cuda_rows[] = {
#define CUDA(function, type, pattern, members, columns, rows, heads, accessors) \
	{ #function, #type, function##_fits, function##_put, function##_pass, function##_columns, function##_rows, \
	  function##_heads },
#include "micro.def"
#undef MICRO
#undef CUDA
};

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* The place of an operand among the arguments of the call. -1 if there is no such operand. */
static int
argument(const Match *m, int name)
{
	int at = 0;

	if (name == WRONG || name == ZEROS || name == START || name == SCALES)
		return name == SCALES && m->dense->coarse->bits == 16 ? -1 : kernel_addresses(m->kernel);
	if (m->operand[name] < 0)
		return -1;
	for (int i = 0; i < m->operand[name]; i++)
		at += kernel_has_address(m->kernel, i);
	return at;
}

/* Writes one argument of the function. Sums that are stored apart are at `all`. */
static void
put_argument(const Match *m, int name, Buf *b)
{
	const bool dense = m->dense && (name == X || name == Y || name == BIAS);
	const int at = name == SCRATCH || name == EPILOGUE || name == ALL ? -1 : argument(m, name);

	if (name == SCRATCH)
		buf_puts(b, ", scratch");
	else if (name == ALL)
		buf_puts(b, ", p");
	else if (name == EPILOGUE)
		buf_printf(b, ", %s, %s", m->dense->epilogue ? m->dense->epilogue : "0", m->dense->apart ? "q" : "p");
	else if (name == Y && m->dense && m->dense->apart)
		buf_puts(b, ", all");
	else if (at < 0)
		buf_puts(b, ", 0");
	else if (dense && !size_is(match_operand(m, name)->offset, 0)) {
		buf_printf(b, ", (float *)p[%d] + ", at);
		kernel_put_size(m->kernel, match_operand(m, name)->offset, true, b);
	} else
		buf_printf(b, ", p[%d]", at);
}

/* Begins a loop over blocks whose sums are in scratch memory, because the result's memory is still read. `all` is the
 * address that row 0 would have if that memory held all rows. */
static void
open_apart(Printer *p, const Match *m)
{
	const Dense *d = m->dense;
	const int units = d->chunk / d->step, addresses = kernel_addresses(m->kernel) + dense_adds(d);
	const long long columns = d->n * d->groups;

	put_line(p, "float *const sums = rt_thread_scratch(%lld);\n", columns * d->chunk * 4);
	open_loop(p, arena_printf(m->kernel->arena, "for (int64_t at = begin; sums && at < end; at += %d)", units));
	put_line(p, "const int64_t to = at + %d < end ? at + %d : end;", units, units);
	put_line(p, "float *const all = sums - at * %lld;", d->step * columns);
	buf_puts(&p->text, "\t\tvoid *const q[] = {");
	for (int i = 0; i < addresses; i++)
		buf_printf(&p->text, " p[%d],", i);
	buf_puts(&p->text, " all };\n\n");
}

/* Writes the call, with scratch memory of the thread if it needs some. */
static void
put_call(Printer *p, const Match *m, const MicroRow *row)
{
	const bool apart = m->dense && m->dense->apart;
	Buf b = { 0 };

	if (m->scratch) {
		put_line(p, "void *scratch = rt_thread_scratch(%s);\n", m->scratch);
		put_line(p, "if (!scratch)");
		put_line(p, "\treturn;");
	}
	if (apart)
		open_apart(p, m);
	for (int i = 0; i < PASSED && row->pass[i] != END; i++)
		put_argument(m, row->pass[i], &b);
	put_line(p, "%s(%s, &v%s);", row->name, apart ? "at, to" : "begin, end", b.at);
	buf_free(&b);
	if (apart)
		close_loop(p);
}

/* Returns the body of a function that calls the row's. Its struct is static if no member depends on sizes. Symbols come
 * behind the arguments that the call adds. */
static const char *
call_text(Match *m, const MicroRow *row, int symbols)
{
	Kernel *named = new(m->kernel->arena, Kernel, 1);
	Printer p = { .kernel = named, .indent = 1 };

	*named = *m->kernel;
	named->naming = symbols >= 0 ? new(named->arena, Naming, 1) : NULL;
	m->kernel = named;
	row->put_members(m);
	buf_puts(&p.text, "{\n");
	put_line(&p, "void *const *p = arg;");
	put_named_sizes(&p, symbols + (m->dense ? dense_adds(m->dense) : m->zeros || m->packed || m->turns));
	if (m->dense && m->dense->range[0])
		put_line(&p, "static const float range[] = { %s, %s };", m->dense->range[0], m->dense->range[1]);
	put_line(&p, "%sconst %s v = {", named->naming && named->naming->at.n ? "" : "static ", row->type);
	buf_puts(&p.text, m->text.at);
	buf_puts(&p.text, "\n\t};\n\n");
	put_call(&p, m, row);
	buf_puts(&p.text, "}\n");
	buf_free(&m->text);
	return arena_text(named->arena, &p.text);
}

/* Returns the least number of units worth a thread: about 16,000 points. */
static int64_t
grain_of(const Kernel *k, const Size *units)
{
	int64_t points, n;

	if (!kernel_typical(k, kernel_points(k), &points) || !kernel_typical(k, units, &n) || n < 1)
		return 1;
	return 1 + ROW_GRAIN / (points / n > 0 ? points / n : 1);
}

bool
kernel_micro(const Kernel *k, const Calling *how, Micro *out)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const MicroRow *row = &rows[i];
		Match m = { .kernel = k, .nr = how->nr, .vf = how->vf, .dense = how->dense };

		if (!row->fits(&m))
			continue;
		*out = (Micro){ .name = row->name, .header = row->header, .units = row->units(&m) };
		out->text = call_text(&m, row, how->symbols);
		out->grain = m.grain ? m.grain : grain_of(k, out->units);
		out->scratch = m.dense && m.dense->apart ? 4 * m.dense->chunk * m.dense->n * m.dense->groups : m.bytes;
		out->tall = m.tall;
		out->narrow = m.narrow;
		out->packed = m.packed;
		out->weights = m.packed ? argument(&m, W) : -1;
		out->steps = m.steps ? m.steps : kernel_steps(k);
		out->turns = m.turns;
		if (m.zeros && !size_const(m.zeros, &out->zeros))
			BUG("%s: the number of zeros is no constant", row->name);
		return true;
	}
	return false;
}

bool
kernel_has_micro(const Kernel *k)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].fits(&(Match){ .kernel = k }))
			return true;
	return false;
}

/* ---- CUDA -------------------------------------------------------------------------------------------------------- */

/* Returns the parameters and body of a kernel that calls the row's function. Members and batch indices come first. */
static const char *
cuda_text(Match *m, const CudaRow *row)
{
	Printer p = { .kernel = m->kernel, .indent = 1 };
	int64_t columns = 0;
	Buf params = { 0 };

	m->cuda = true;
	m->printer = &p;
	row->put_members(m);
	size_const(row->columns(m), &columns);
	kernel_cuda_params(m->kernel, &params);
	buf_printf(&p.text, "(%s)\n{\n\t%s g;\n\n%s", params.at, row->type, m->text.at);
	put_cuda_indices(&p, 0, m->kernel->shared - 1, "blockIdx.y");
	put_line(&p, "%s<%lld>(g,", row->name, (long long)columns);
	row->put_accessors(m);
	buf_puts(&p.text, "}\n");
	buf_free(&params);
	buf_free(&m->text);
	return arena_text(m->kernel->arena, &p.text);
}

bool
kernel_micro_cuda(const Kernel *k, MicroCuda *out)
{
	for (size_t i = 0; i < sizeof cuda_rows / sizeof *cuda_rows; i++) {
		const CudaRow *row = &cuda_rows[i];
		Match m = { .kernel = k };

		if (!row->fits(&m))
			continue;
		*out = (MicroCuda){ row->name, cuda_text(&m, row), { row->rows(&m), row->heads(&m) } };
		return true;
	}
	return false;
}
