/*
 * Float weights with few significant bits.  They are recognized by their values, however the model computes them.
 * Kernels read the packed bits (rt/ops/vcoarse.h), and the program stores nothing else of these weights.
 *
 * Quantized weights are on a grid of 8 or 4 bits.  All floats of a row, or of each group in it, are integers times one
 * step, rounded once.  8-bit floats times one step are found in the same way.  Numbers that are exact in bfloat16 or
 * float16 have 16 bits.
 *
 * Bytes of the model from which it computes the weights are tried first.  Generic code unpacks these bytes from the
 * panels, so that the program stores them once.
 */
#include "dense.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	COARSE_LEAST = 1 << 14,  /* fewest elements of weights worth packing */
	/* fewest elements of a group: fewer may be on a grid by chance, and their steps would take more memory */
	GROUP_LEAST = 16,
	SPAN = 255, SPAN_NIBBLE = 15,
};

typedef struct Line {            /* n elements at stride `apart`: a group of a row. */
	const float *at;
	int64_t n, apart;
} Line;

static const double NEAR = 2e-4; /* Distance from an integer that counts as rounding of float arithmetic. */

static bool
is_exact(const Line *l, float by)
{
	for (int64_t i = 0; i < l->n; i++) {
		const float x = l->at[i * l->apart];

		if ((float)rint((double)x / (double)by) * by != x)
			return false;
	}
	return true;
}

/* Are all elements near integers times `by`, with a range of at most SPAN? */
static bool
is_near(const Line *l, double by, Step *s)
{
	double least = 0, most = 0;

	for (int64_t i = 0; i < l->n; i++) {
		const double q = l->at[i * l->apart] / by, r = rint(q);

		least = i && least < r ? least : r;
		most = i && most > r ? most : r;
		if (fabs(q - r) > NEAR || most - least > SPAN)
			return false;
	}
	s->least = (int)least;
	s->most = (int)most;
	return true;
}

/* Finds the step that gives all elements exactly: `near` or one of its neighbouring floats. */
static bool
take_exact(const Line *l, float near, Step *s)
{
	float below = near, above = near;

	for (int i = 0; i < 3; i++) {
		s->by = is_exact(l, below) ? below : above;
		if (is_exact(l, s->by))
			return true;
		below = nextafterf(below, 0);
		above = nextafterf(above, FLT_MAX);
	}
	return false;
}

static float
largest(const Line *l)
{
	float most = 0;

	for (int64_t i = 0; i < l->n; i++) {
		const float x = fabsf(l->at[i * l->apart]);

		if (!(x <= FLT_MAX))
			return x;
		most = x > most ? x : most;
	}
	return most;
}

static bool
find_step(const Line *l, Step *s)
{
	const float most = largest(l);

	if (!(most <= FLT_MAX))
		return false;
	*s = (Step){ .by = 1 };
	if (most == 0)
		return true;
	for (int i = 1; i <= SPAN; i++)
		if (is_near(l, (double)most / i, s) && take_exact(l, (float)((double)most / i), s))
			return true;
	return false;
}

/* ---- floats of 8 bits ------------------------------------------------------------------------------------------- */

/* Formats without infinities and NaN: code 0x80 of weights is minus zero.  They hold the finite numbers of the formats
 * with as many bits of mantissa, with the same codes, by a step that is a power of two times larger. */
static const int float8_types[] = { RT_f8_e4m3fnuz, RT_f8_e5m2fnuz };

static uint8_t
float8_code(int type, float x)
{
	return x == 0 && signbit(x) ? 0x80 : rt_float_to_f8((RtDtype)type, x);
}

static bool
are_floats8(const Line *l, int type, float by)
{
	for (int64_t i = 0; i < l->n; i++) {
		const float x = l->at[i * l->apart];

		if (x != 0 && !(rt_f8_to_float((RtDtype)type, float8_code(type, x / by)) * by == x))
			return false;
	}
	return true;
}

/* Finds a step by which `most` is one of the type's eight or four largest numbers, and all elements are numbers of the
 * type. Tries each quotient and the floats next to it. Returns 0 if there is none. */
static float
float8_step(const Line *l, int type, float most)
{
	if (most == 0 || !(most <= FLT_MAX))
		return most == 0 ? 1 : 0;
	for (int code = 0x7f; code >= (type == RT_f8_e4m3fnuz ? 0x78 : 0x7c); code--) {
		const float by = most / rt_f8_to_float((RtDtype)type, (uint8_t)code);
		const float near[] = { by, nextafterf(by, 0), nextafterf(by, FLT_MAX) };

		for (size_t i = 0; i < sizeof near / sizeof *near; i++)
			if (near[i] > 0 && are_floats8(l, type, near[i]))
				return near[i];
	}
	return 0;
}

/* Float weights, or 16-bit weights that kernels read as floats. */
typedef struct Elements {
	const float *floats;
	const Widened *halves;   /* 16-bit weights; null for floats */
	float *row;              /* floats of the row of 16-bit weights that was requested last */
	const RtPacking *packing;      /* layout of the weights; its columns are the rows here, with k elements */
} Elements;

static Elements
elements_of(Emit *e, const RtTensor *w, const RtPacking *p)
{
	Elements from = { .floats = (const float *)w->storage->data, .packing = p,
			  .halves = storage_widened(e->cx, w->storage) };

	if (from.halves && !(from.row = malloc((size_t)p->k * sizeof *from.row)))
		out_of_memory();
	return from;
}

static Line
weights_row(const Elements *from, int64_t row)
{
	const RtPacking *p = from->packing;

	if (!from->halves)
		return (Line){ from->floats + p->to + row * p->sn, p->k, p->sk };
	widened_row(from->halves, p->to + row * p->sn, p->k, p->sk, from->row);
	return (Line){ from->row, p->k, 1 };
}

/* Finds the steps of all groups of `group` elements. Returns false if a group has none. */
static bool
find_steps(const Elements *from, int64_t group, Step *to)
{
	for (int64_t row = 0; row < from->packing->n; row++) {
		const Line all = weights_row(from, row);

		for (int64_t g = 0; g < all.n / group; g++) {
			const Line l = { all.at + g * group * all.apart, group, all.apart };

			if (!find_step(&l, to++))
				return false;
		}
	}
	return true;
}

/* Returns one step that fits all rows, as some models have it. 0 if there is none. */
static float
common_step(const Elements *from, int type)
{
	float most = -1, by;
	int64_t at = 0;
	Line l;

	for (int64_t row = 0; row < from->packing->n; row++) {
		l = weights_row(from, row);
		by = largest(&l);
		if (!(by <= most))
			most = by, at = row;
	}
	l = weights_row(from, at);
	by = float8_step(&l, type, most);
	for (int64_t row = 0; row < from->packing->n && by > 0; row++) {
		l = weights_row(from, row);
		by = are_floats8(&l, type, by) ? by : 0;
	}
	return by;
}

/* Does the same for 8-bit floats. */
static bool
find_floats8(const Elements *from, int type, int64_t group, Step *to)
{
	const float common = group == from->packing->k ? common_step(from, type) : 0;

	for (int64_t row = 0; row < from->packing->n; row++) {
		const Line all = weights_row(from, row);

		for (int64_t g = 0; g < all.n / group; g++) {
			const Line l = { all.at + g * group * all.apart, group, all.apart };

			*to = (Step){ .by = common > 0 ? common : float8_step(&l, type, largest(&l)) };
			if (!(to++->by > 0))
				return false;
		}
	}
	return true;
}

/* ---- the model's own codes --------------------------------------------------------------------------------------- */

/* Formats of the model's bytes: integers, or codes of 8-bit floats, also of the formats that float8_types
 * stands for. */
enum { NCODE_TYPES = 4 };
static const int code_types[NCODE_TYPES] = { RT_i8, RT_u8, RT_f8_e4m3fnuz, RT_f8_e5m2fnuz };

typedef struct Codes {           /* n bytes at stride `apart` */
	const uint8_t *at;
	int64_t n, apart;
	int     type;            /* one of code_types */
} Codes;

static bool
are_integers(const Codes *c)
{
	return c->type == RT_i8 || c->type == RT_u8;
}

static float
code_number(const Codes *c, int64_t i)
{
	const uint8_t code = c->at[i * c->apart];

	if (are_integers(c))
		return c->type == RT_i8 ? (float)(int8_t)code : (float)code;
	return code == 0x80 ? -0.0f : rt_f8_to_float((RtDtype)c->type, code);
}

static bool
are_multiples(const Line *l, const Codes *c, float by, int zero)
{
	for (int64_t i = 0; i < l->n; i++)
		if (!((code_number(c, i) - (float)zero) * by == l->at[i * l->apart]))
			return false;
	return true;
}

/* Tries the quotient of element i and its number, and the floats next to it. */
static bool
step_at(const Line *l, const Codes *c, int64_t i, int zero, Step *s)
{
	const float number = code_number(c, i) - (float)zero;
	float below = number == 0 ? 0 : l->at[i * l->apart] / number, above = below;

	s->centre = -zero;
	for (int near = 0; near < 3; near++) {
		s->by = are_multiples(l, c, below, zero) ? below : above;
		if (are_multiples(l, c, s->by, zero))
			return true;
		below = nextafterf(below, -FLT_MAX);
		above = nextafterf(above, FLT_MAX);
	}
	return false;
}

/* Returns the zero point of integers whose least and largest are at these two places. INT_MAX if there is none. */
static int
zero_of(const Line *l, const Codes *c, const int64_t end[2])
{
	const double low = code_number(c, end[0]), high = code_number(c, end[1]);
	const double first = l->at[end[0] * l->apart], last = l->at[end[1] * l->apart];
	const double zero = low < high ? rint(low - first * (high - low) / (last - first)) : low - (first != 0);

	return are_integers(c) && fabs(zero) <= 2 * SPAN ? (int)zero : INT_MAX;
}

/* Finds the step by which the codes give all elements exactly, without a zero point if possible.  The step of zeros may
 * be 0.  The centre is minus the zero point, and least and most are the range of the codes. */
static bool
step_of_codes(const Line *l, const Codes *c, Step *s)
{
	int64_t end[2] = { 0, 0 };
	int zero;

	for (int64_t i = 1; i < l->n; i++) {
		end[0] = code_number(c, i) < code_number(c, end[0]) ? i : end[0];
		end[1] = code_number(c, i) > code_number(c, end[1]) ? i : end[1];
	}
	s->least = (int)code_number(c, end[0]);
	s->most = (int)code_number(c, end[1]);
	if (step_at(l, c, end[abs(s->most) >= abs(s->least)], 0, s))
		return true;
	zero = zero_of(l, c, end);
	return zero != INT_MAX && step_at(l, c, end[s->most - zero >= zero - s->least], zero, s);
}

/* Finds the steps of all groups. codes: those of all elements. */
static bool
steps_of_codes(const Elements *from, const Codes *codes, int64_t group, Step *to)
{
	for (int64_t row = 0; row < from->packing->n; row++) {
		const Line all = weights_row(from, row);

		for (int64_t g = 0; g < all.n / group; g++) {
			const Line l = { all.at + g * group * all.apart, group, all.apart };
			const Codes c = { codes->at + row * from->packing->sn + g * group * from->packing->sk, group,
					  from->packing->sk, codes->type };

			if (!step_of_codes(&l, &c, to++))
				return false;
		}
	}
	return true;
}

/* Returns a group's centre, the difference between an integer and its stored value. Stored values are centred in their
 * range. If the integers span less than half of the range, stored values are as near to the integers as possible: a
 * centre much larger than the integers would cost precision in sums. */
static int
centre_of(int bits, const Step *s)
{
	const int half = 1 << (bits - 1), least = s->least + half, most = s->most - half + 1;

	return s->most - s->least >= half || least < 0 ? least : most > 0 ? most : 0;
}

/* ---- halves ------------------------------------------------------------------------------------------------------ */

/* Returns the 16-bit dtype in which all elements are exact. 0 if there is none. */
static int
find_halves(const Elements *from)
{
	static const int types[] = { RT_bf16, RT_f16 };

	if (from->halves)
		return from->halves->dtype;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		bool all = true;

		for (int64_t row = 0; row < from->packing->n && all; row++) {
			const Line l = weights_row(from, row);

			all = halves_are(l.at, l.n, l.apart, types[i]);
		}
		if (all)
			return types[i];
	}
	return 0;
}

/* Stores 16-bit weights as [panel][word][column][2]. Zeros fill the last word of an odd k and the missing columns of
 * the last panel. */
static void
put_halves(Emit *e, const Elements *from, Coarse *c)
{
	const RtPacking *p = from->packing;
	const int64_t words = (p->k + 1) / 2, n = (p->n + p->width - 1) / p->width * words * p->width * 2;
	uint16_t *to = calloc((size_t)n, sizeof *to);

	if (!to)
		out_of_memory();
	for (int64_t row = 0; row < p->n; row++) {
		uint16_t *at = to + 2 * (row / p->width * words * p->width + row % p->width);
		const Line l = weights_row(from, row);

		for (int64_t k = 0; k < l.n; k++)
			at[k / 2 * p->width * 2 + k % 2] = halves_bits(l.at[k * l.apart], c->dtype);
	}
	c->words = weights_add(&e->weights, WEIGHT_PANELS, to, n * (int64_t)sizeof *to);
	free(to);
}

/* ---- packed ------------------------------------------------------------------------------------------------------ */

static void
set_bits(uint32_t *word, int bits, int64_t i, int q)
{
	const int each = 32 / bits, more = i % each < each - 1 ? 1 << (bits - 1) : 0;

	word[0] |= ((uint32_t)(q + more) & ((1u << bits) - 1)) << bits * (i % each);
}

static void
put_scales(Emit *e, const RtPacking *p, Coarse *c)
{
	const int64_t groups = p->k / c->group, n = (p->n + p->width - 1) / p->width * groups * p->width;
	float *to = calloc((size_t)(2 * n), sizeof *to);

	if (!to)
		out_of_memory();
	for (int64_t i = 0; i < p->n * groups; i++) {
		const int64_t row = i / groups, at = (row / p->width * groups + i % groups) * p->width + row % p->width;

		to[at] = c->step[i].by;
		to[n + at] = (float)c->step[i].centre;
	}
	c->scales = weights_add(&e->weights, WEIGHT_BIAS, to, (c->centred ? 2 : 1) * n * (int64_t)sizeof *to);
	free(to);
}

/* Returns the value that is stored for element k of the row, in its low bits. */
static int
stored_value(const Coarse *c, const RtPacking *p, int64_t row, int64_t k, float element)
{
	const Step *s = &c->step[row * (p->k / c->group) + k / c->group];

	if (c->codes)
		return c->codes[row * p->sn + k * p->sk] - c->base;
	if (c->dtype)
		return float8_code(c->dtype, element / s->by);
	return (int)rint((double)element / (double)s->by) - s->centre;
}

static void
put_words(Emit *e, const Elements *from, Coarse *c)
{
	const RtPacking *p = from->packing;
	const int64_t words = (p->k * c->bits + 31) / 32, n = (p->n + p->width - 1) / p->width * words * p->width;
	uint32_t *to = calloc((size_t)n, sizeof *to);
	const int each = 32 / c->bits;

	if (!to)
		out_of_memory();
	for (int64_t row = 0; row < p->n; row++) {
		const Line l = weights_row(from, row);

		for (int64_t k = 0; k < p->k; k++) {
			uint32_t *const word = to + (row / p->width * words + k / each) * p->width + row % p->width;
			const int value = stored_value(c, p, row, k, l.at[k * l.apart]);

			if (c->dtype)
				*word |= (uint32_t)value << k % each * 8;
			else
				set_bits(word, c->bits, k, value);
		}
	}
	c->words = weights_add(&e->weights, WEIGHT_PANELS, to, n * (int64_t)sizeof *to);
	free(to);
}

/* ---- found and packed once --------------------------------------------------------------------------------------- */

/* Finds the steps of the codes; if they are null, of 8-bit floats of the type, or of integers if type is 0. */
static bool
find_of(const Elements *from, const Codes *codes, int type, int64_t group, Step *to)
{
	return codes ? steps_of_codes(from, codes, group, to) : type ? find_floats8(from, type, group, to) :
		find_steps(from, group, to);
}

/* Sets c->group to the largest size of groups that all have steps. Returns false if there is none. */
static bool
find_groups(const Elements *from, const Codes *codes, Coarse *c, Step *step)
{
	static const int groups[] = { 256, 128, 64, 32, GROUP_LEAST };
	const int64_t k = from->packing->k;
	bool found = find_of(from, codes, c->dtype, c->group = k, step);

	for (size_t i = 0; i < sizeof groups / sizeof *groups && !found; i++)
		if (groups[i] < k && k % groups[i] == 0)
			found = find_of(from, codes, c->dtype, c->group = groups[i], step);
	return found;
}

/* Returns the least and the largest of all groups. */
static Step
range_of(const Step *step, int64_t n)
{
	Step r = step[0];

	for (int64_t i = 1; i < n; i++) {
		r.least = step[i].least < r.least ? step[i].least : r.least;
		r.most = step[i].most > r.most ? step[i].most : r.most;
	}
	return r;
}

/* Sets the bits of n groups of codes, and the base and centres of integers.  Returns false if a centre is so much
 * larger than its integers that it would cost precision in sums. */
static bool
centre_codes(Coarse *c, Step *step, int64_t n)
{
	const Step all = range_of(step, n);
	const int zero = -step[0].centre;
	int half;

	c->bits = c->dtype || all.most - all.least > SPAN_NIBBLE ? 8 : 4;
	if (c->dtype)
		return true;
	half = 1 << (c->bits - 1);
	c->base = zero > all.least + half ? all.least + half : zero < all.most - half + 1 ? all.most - half + 1 : zero;
	for (int64_t i = 0; i < n; i++) {
		Step *s = &step[i];
		const int low = abs(s->least + s->centre), high = abs(s->most + s->centre);

		s->centre += c->base;
		c->centred |= s->centre != 0;
		if (s->by != 0 && abs(s->centre) > (low > high ? low : high))
			return false;
	}
	return true;
}

/* Looks for bytes of the model of which the weights are multiples.  The first elements rule out most others.  16-bit
 * weights are the model's own. */
static bool
find_codes(Emit *e, const Elements *from, Coarse *c, Step *step)
{
	const RtPacking *p = from->packing;
	const Line first = { weights_row(from, 0).at, GROUP_LEAST, p->sk };

	for (int i = 0; i < e->weights.originals.n * NCODE_TYPES && !from->halves; i++) {
		const Original *o = &e->weights.originals.at[i / NCODE_TYPES];
		const Codes codes = { o->data, GROUP_LEAST, p->sk, code_types[i % NCODE_TYPES] };

		if (!o->data || o->bytes != (int64_t)p->n * p->k || !step_of_codes(&first, &codes, step))
			continue;
		*c = (Coarse){ .codes = codes.at, .dtype = are_integers(&codes) ? 0 : codes.type };
		if (find_groups(from, &codes, c, step) && centre_codes(c, step, p->n * (p->k / c->group)))
			return true;
		archive_forget(e->cx, o->data, o->bytes);
	}
	*c = (Coarse){ 0 };
	return false;
}

/* Looks for a grid by the elements alone. */
static bool
find_grid(const Elements *from, Coarse *c, Step *step)
{
	bool found = find_groups(from, NULL, c, step);
	int64_t n;

	for (size_t i = 0; i < sizeof float8_types / sizeof *float8_types && !found; i++) {
		c->dtype = float8_types[i];
		found = find_groups(from, NULL, c, step);
	}
	if (!found) {
		c->dtype = 0;
		return false;
	}
	n = from->packing->n * (from->packing->k / c->group);
	c->bits = c->dtype ? 8 : 4;
	for (int64_t i = 0; i < n; i++)
		c->bits = step[i].most - step[i].least > SPAN_NIBBLE ? 8 : c->bits;
	for (int64_t i = 0; i < n; i++)
		c->centred |= step[i].least < -(1 << (c->bits - 1)) || step[i].most >= 1 << (c->bits - 1);
	for (int64_t i = 0; i < n; i++)
		step[i].centre = c->centred ? centre_of(c->bits, &step[i]) : 0;
	return true;
}

static void
find_coarse(Emit *e, const RtTensor *w, const RtPacking *p, Coarse *c)
{
	Elements from = elements_of(e, w, p);
	const int64_t most = p->n * (p->k / GROUP_LEAST + 1);
	Step *step = malloc((size_t)most * sizeof *step);
	const bool whole = rt_numel(w) == (int64_t)p->n * p->k && rt_is_dense(w);

	if (!step)
		out_of_memory();
	if ((whole && find_codes(e, &from, c, step)) || find_grid(&from, c, step)) {
		const int64_t n = p->n * (p->k / c->group);

		c->step = new(e->cx->arena, Step, n);
		memcpy(c->step, step, (size_t)n * sizeof *step);
	}
	free(step);
	if (!c->bits && (c->dtype = find_halves(&from))) {
		c->bits = 16;
		c->group = p->k;
	}
	free(from.row);
	weights_read(e, w);
}

Coarse *
coarse_of(Emit *e, const RtTensor *w, const RtPacking *p)
{
	const char *key = arena_printf(e->cx->arena, "coarse %p %lld %d %d %d %d %d", (const void *)w->storage,
				       (long long)p->to, p->n, p->k, p->sn, p->sk, p->taps);
	Coarse *c = map_get(&e->kernel_names, key);

	if (!c) {
		c = new(e->cx->arena, Coarse, 1);
		if (p->taps == 1 && p->k >= GROUP_LEAST && (int64_t)p->n * p->k >= COARSE_LEAST)
			find_coarse(e, w, p, c);
		map_put(&e->kernel_names, key, c);
	}
	return c->bits ? c : NULL;
}

void
coarse_pack(Emit *e, const RtTensor *w, RtPacking p, Coarse *c)
{
	Elements from;

	if (c->packed)
		return;
	c->packed = true;
	p.width = p.last = e->panel;
	from = elements_of(e, w, &p);
	if (c->bits == 16) {
		put_halves(e, &from, c);
	} else {
		put_words(e, &from, c);
		put_scales(e, &p, c);
		p.centred = c->centred;
		p.scales = c->scales;
	}
	free(from.row);
	weights_read(e, w);
	p.from = c->dtype;
	p.at = c->words;
	p.quad = 32 / c->bits;
	p.group = (int32_t)c->group;
	if ((int64_t)p.k * p.n == rt_numel(w) && rt_is_dense(w)) {
		weights_note(&e->weights, w->storage, p);
		c->lies = p;
	}
	vec_push(e->cx->arena, &e->coarse, c);
}

/* ---- the model's bytes in panels --------------------------------------------------------------------------------- */

/* Returns the stored integer, or the code of the float, in column n at k. */
static int
stored_code(const uint32_t *words, const RtPacking *p, int64_t n, int64_t k)
{
	const int64_t all = (p->k + p->quad - 1) / p->quad;
	const int bits = 32 / p->quad, at = (int)(k % p->quad), half = 1 << (bits - 1);
	const uint32_t q = words[(n / p->width * all + k / p->quad) * p->width + n % p->width] >> bits * at;

	if (p->from)
		return (int)(q & 0xff);
	return (int)((at < p->quad - 1 ? q : q + (uint32_t)half) & ((1u << bits) - 1)) - half;
}

/* Do the bytes differ from the stored integers by one constant? */
static bool
are_stored(const Original *o, const uint32_t *words, RtPacking *p)
{
	const uint8_t *of = o->data;

	for (int64_t n = 0; n < p->n; n++)
		for (int64_t k = 0; k < p->k; k++) {
			const uint8_t more = (uint8_t)(of[n * p->sn + k * p->sk] - stored_code(words, p, n, k));

			if (!n && !k)
				p->centred = more;
			if (more != p->centred)
				return false;
		}
	return true;
}

void
coarse_finish(Emit *e)
{
	for (int i = 0; i < e->coarse.n; i++) {
		RtPacking p = e->coarse.at[i]->lies;

		p.to = p.scales = 0;
		for (int k = 0; k < e->weights.originals.n && p.quad > 2; k++) {
			Original *o = &e->weights.originals.at[k];

			if (!o->parts.n && o->data && o->bytes == (int64_t)p.n * p.k &&
			    are_stored(o, (const uint32_t *)(const void *)(e->weights.bytes.at + p.at), &p))
				vec_push(e->cx->arena, &o->parts, p);
		}
	}
}
