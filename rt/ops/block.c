/* rt/ops/block.c - operands as plain arrays
 *
 * move_block steps through the outer dims as an odometer does. The innermost dim has a loop for each element size,
 * because a copy without conversion only depends on that size. */
#include "block.h"

#include <stdio.h>
#include <string.h>

const char *
sizes_text(char text[SIZES_TEXT], int64_t n, const int64_t *dims)
{
	int at = snprintf(text, SIZES_TEXT, "[");

	for (int64_t i = 0; i < n && at < SIZES_TEXT - 30; i++)
		at += snprintf(text + at, SIZES_TEXT - at, i ? ", %lld" : "%lld", (long long)dims[i]);
	snprintf(text + at, SIZES_TEXT - at, "]");
	return text;
}

const int64_t *
list_ints(RtCx *cx, IValue list)
{
	int64_t n = list.tag == RT_LIST ? list.u.list->n : 1, *v = rt_scratch(cx, (n + 1) * 8);

	if (!v)
		return NULL;
	for (int64_t i = 0; i < n; i++)
		v[i] = list.tag == RT_LIST ? rt_integer(list.u.list->v[i]) : rt_integer(list);
	return v;
}

RT_FAST

static void
move_row(int64_t bytes, int64_t n, char *dst, int64_t ds, const char *src, int64_t ss)
{
	if (ds == bytes && ss == bytes) {
		rt_copy_bytes(dst, src, bytes * n);
		return;
	}
#define ROW(T) \
	for (int64_t i = 0; i < n; i++, dst += ds, src += ss) \
		*(T *)(void *)dst = *(const T *)(const void *)src;
	switch (bytes) {
	case 1: ROW(uint8_t) break;
	case 2: ROW(uint16_t) break;
	case 4: ROW(uint32_t) break;
	case 8: ROW(uint64_t) break;
	default:
		for (int64_t i = 0; i < n; i++, dst += ds, src += ss)
			rt_copy_bytes(dst, src, bytes);
	}
#undef ROW
}

#define PICK(T) \
	for (int64_t i = 0; i < n; i++) \
		((T *)(void *)to)[i] = ((const T *)(const void *)from)[at[i]]; \
	break

void
pick_blocks(char *restrict to, const char *restrict from, int64_t n, const int64_t *restrict at, int64_t bytes)
{
	switch (bytes) {
	case 1: PICK(uint8_t);
	case 2: PICK(uint16_t);
	case 4: PICK(uint32_t);
	case 8: PICK(uint64_t);
	default:
		for (int64_t i = 0; i < n; i++)
			rt_copy_bytes(to + i * bytes, from + at[i] * bytes, (size_t)bytes);
	}
}
#undef PICK

void
move_block(int64_t bytes, const BlockPair *b, char *dst, const char *src)
{
	const int last = b->n - 1;
	int64_t at[RT_MAX_RANK] = { 0 };
	int d;

	for (d = 0; d < b->n; d++)
		if (b->dims[d] == 0)
			return;
	if (b->n == 0) {
		rt_copy_bytes(dst, src, bytes);
		return;
	}
	for (;;) {
		move_row(bytes, b->dims[last], dst, b->to[last], src, b->from[last]);
		for (d = last - 1; d >= 0; d--) {
			dst += b->to[d];
			src += b->from[d];
			if (++at[d] < b->dims[d])
				break;
			dst -= b->to[d] * b->dims[d];
			src -= b->from[d] * b->dims[d];
			at[d] = 0;
		}
		if (d < 0)
			return;
	}
}

int64_t
byte_offset(const RtTensor *t, int64_t i)
{
	int64_t offset = 0;

	for (int d = t->ndim - 1; d >= 0; d--) {
		offset += i % t->dims[d] * t->strides[d];
		i /= t->dims[d];
	}
	return offset * rt_dtypes[t->dtype].bytes;
}
