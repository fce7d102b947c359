/* rt/ops/hash.c - hash(x), with PyTorch's values
 *
 * Ints are their own hash. Text and floats are hashed by MurmurHash64A, as in libstdc++. Tuples combine their parts'
 * hashes. */
#include <string.h>

#include "kernel.h"

static uint64_t
murmur(const char *s, int64_t n)
{
	const uint64_t m = 0xc6a4a7935bd1e995u;
	uint64_t h = 0xc70f6907u ^ (uint64_t)n * m, k;

	for (; n >= 8; s += 8, n -= 8) {
		memcpy(&k, s, 8);
		k *= m;
		h = (h ^ (k ^ k >> 47) * m) * m;
	}
	if (n) {
		k = 0;
		for (int64_t i = n; i-- > 0;)
			k = k << 8 | (unsigned char)s[i];
		h = (h ^ k) * m;
	}
	h = (h ^ h >> 47) * m;
	return h ^ h >> 47;
}

static int
hash_of(RtCx *cx, IValue v, uint64_t *out, int depth)
{
	uint64_t h = 0, part;

	if (depth > RT_DEPTH)
		return rt_raise(cx, "a tuple is nested too deep to be hashed");
	switch ((RtTag)v.tag) {
	case RT_NONE:    break;
	case RT_INT:
	case RT_BOOL:    h = (uint64_t)v.u.i; break;
	case RT_DOUBLE:  h = v.u.f == 0 ? 0 : murmur((const char *)&v.u.f, 8); break;
	case RT_STR:     h = murmur(v.u.str->s, v.u.str->n); break;
	case RT_DEVICE:  h = (uint64_t)(v.u.i >> 8) << 16 | ((uint64_t)(v.u.i - 1) & 255); break;
	case RT_TENSOR:
	case RT_STORAGE: h = (uint64_t)(uintptr_t)v.u.p; break;
	case RT_TUPLE:
		for (int64_t i = 0; i < v.u.tuple->n; i++) {
			if (hash_of(cx, v.u.tuple->v[i], &part, depth + 1))
				return RT_ERROR;
			h ^= part + 0x9e3779b9u + (h << 6) + (h >> 2);
		}
		break;
	default:
		return rt_raise(cx, "unhashable type: '%s'", rt_type_of(v));
	}
	*out = h;
	return RT_OK;
}

int
rt_hash_generic(RtCx *cx, const IValue *in, IValue *out)
{
	uint64_t h;

	if (hash_of(cx, in[0], &h, 0))
		return RT_ERROR;
	*out = rt_int((int64_t)h);
	return RT_OK;
}
