/* rt/inflate.c - decompresses deflated bytes (RFC 1951), and computes CRC-32
 *
 * Codes of up to FAST bits are decoded by one table lookup, longer ones by counting through the canonical code lengths.
 * The caller knows the output's size: a stream that yields more or less is damaged. Bits beyond the end of the input
 * read as zeros, and using them is an error. */
#include "host.h"

#include <string.h>

RT_FAST

enum { FAST = 9, MAX_BITS = 15, MAX_CODES = 288 };

typedef struct Huffman {
	uint16_t fast[1 << FAST];        /* length << 12 | symbol of a short code; 0 for a long code */
	uint16_t count[MAX_BITS + 1];    /* number of codes of each length */
	uint16_t symbol[MAX_CODES];      /* symbols, in the order of their codes */
} Huffman;

typedef struct Inflate {
	const uint8_t *in, *end;
	uint64_t bits;                   /* bits that were read and not used yet */
	int      nbit, past;             /* number of these bits; number of zero bytes read beyond the end */
	uint8_t *out;
	int64_t  n, cap;
	Huffman  literal, distance;
} Inflate;

static void
refill_bits(Inflate *s)
{
	while (s->nbit <= 48) {
		if (s->in < s->end)
			s->bits |= (uint64_t)*s->in++ << s->nbit;
		else
			s->past++;
		s->nbit += 8;
	}
}

static unsigned
read_bits(Inflate *s, int n)
{
	unsigned v;

	if (s->nbit < n)
		refill_bits(s);
	v = (unsigned)(s->bits & ((1u << n) - 1));
	s->bits >>= n;
	s->nbit -= n;
	return v;
}

/* Whether bits beyond the end of the input were used. */
static bool
ran_out(const Inflate *s)
{
	return s->past * 8 > s->nbit;
}

/* Fills the table of short codes. The stream has codes with their bits reversed. */
static void
fill_fast(Huffman *h, const uint8_t *length, int n)
{
	unsigned next[MAX_BITS + 2] = { 0 }, code, reversed;

	memset(h->fast, 0, sizeof h->fast);
	for (int b = 1; b <= MAX_BITS; b++)
		next[b + 1] = (next[b] + h->count[b]) << 1;
	for (int i = 0; i < n; i++) {
		if (!length[i])
			continue;
		code = next[length[i]]++;
		if (length[i] > FAST)
			continue;
		reversed = 0;
		for (int b = 0; b < length[i]; b++)
			reversed |= (code >> b & 1) << (length[i] - 1 - b);
		for (unsigned k = reversed; k < 1 << FAST; k += 1u << length[i])
			h->fast[k] = (uint16_t)(length[i] << 12 | i);
	}
}

/* Builds the canonical code for these lengths. Returns false if the lengths do not form a code. A single code of one
 * bit is allowed. */
static bool
huffman(Huffman *h, const uint8_t *length, int n)
{
	uint16_t at[MAX_BITS + 2] = { 0 };
	int left = 1, used = 0;

	memset(h->count, 0, sizeof h->count);
	for (int i = 0; i < n; i++)
		h->count[length[i]]++;
	used = n - h->count[0];
	h->count[0] = 0;
	for (int b = 1; b <= MAX_BITS; b++) {
		left = left * 2 - h->count[b];
		if (left < 0)
			return false;
		at[b + 1] = (uint16_t)(at[b] + h->count[b]);
	}
	if (left > 0 && used > 1)
		return false;
	for (int i = 0; i < n; i++)
		if (length[i])
			h->symbol[at[length[i]]++] = (uint16_t)i;
	fill_fast(h, length, n);
	return true;
}

/* Returns the next symbol. -1 if the bits match no symbol. */
static int
decode(Inflate *s, const Huffman *h)
{
	unsigned entry;
	int code = 0, first = 0, index = 0, count;

	if (s->nbit < MAX_BITS)
		refill_bits(s);
	entry = h->fast[s->bits & ((1 << FAST) - 1)];
	if (entry) {
		s->bits >>= entry >> 12;
		s->nbit -= (int)(entry >> 12);
		return (int)(entry & 0xfff);
	}
	for (int b = 1; b <= MAX_BITS; b++) {
		code |= (int)read_bits(s, 1);
		count = h->count[b];
		if (code - count < first)
			return h->symbol[index + code - first];
		index += count;
		first = (first + count) << 1;
		code <<= 1;
	}
	return -1;
}

static bool
inflate_stored(Inflate *s)
{
	unsigned n;

	read_bits(s, s->nbit & 7);
	n = read_bits(s, 16);
	if (read_bits(s, 16) != (~n & 0xffff) || (int64_t)n > s->cap - s->n)
		return false;
	for (; n && s->nbit; n--)
		s->out[s->n++] = (uint8_t)read_bits(s, 8);
	if (ran_out(s) || (int64_t)n > s->end - s->in)
		return false;
	memcpy(s->out + s->n, s->in, n);
	s->in += n;
	s->n += n;
	return true;
}

static bool
copy_back(Inflate *s, int64_t distance, int64_t n)
{
	if (distance > s->n || n > s->cap - s->n)
		return false;
	for (; n; n--, s->n++)
		s->out[s->n] = s->out[s->n - distance];
	return true;
}

static bool
codes(Inflate *s)
{
	static const uint16_t length[] = { 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67,
		83, 99, 115, 131, 163, 195, 227, 258 };
	static const uint8_t length_bits[] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4,
		5, 5, 5, 5, 0 };
	static const uint16_t distance[] = { 1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513,
		769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577 };
	int sym, d;
	int64_t n;

	for (;;) {
		sym = decode(s, &s->literal);
		if (sym < 0 || sym > 285 || ran_out(s))
			return false;
		if (sym == 256)
			return true;
		if (sym < 256) {
			if (s->n == s->cap)
				return false;
			s->out[s->n++] = (uint8_t)sym;
			continue;
		}
		n = length[sym - 257] + (int64_t)read_bits(s, length_bits[sym - 257]);
		d = decode(s, &s->distance);
		if (d < 0 || d > 29 || !copy_back(s, distance[d] + (int64_t)read_bits(s, d < 2 ? 0 : d / 2 - 1), n))
			return false;
	}
}

static bool
fixed(Inflate *s)
{
	uint8_t length[MAX_CODES], five[32];

	memset(length, 8, 144);
	memset(length + 144, 9, 112);
	memset(length + 256, 7, 24);
	memset(length + 280, 8, 8);
	memset(five, 5, sizeof five);             /* codes() rejects the two that are not valid distances */
	huffman(&s->literal, length, MAX_CODES);
	huffman(&s->distance, five, 32);
	return codes(s);
}

/* Reads the lengths of n codes, which are Huffman-coded themselves. */
static bool
read_lengths(Inflate *s, uint8_t *length, int n)
{
	int sym, repeat;
	uint8_t what;

	for (int i = 0; i < n;) {
		sym = decode(s, &s->literal);
		if (sym < 0 || ran_out(s))
			return false;
		if (sym < 16) {
			length[i++] = (uint8_t)sym;
			continue;
		}
		if (sym == 16 && !i)
			return false;
		what = sym == 16 ? length[i - 1] : 0;
		repeat = sym == 16 ? 3 + (int)read_bits(s, 2) : sym == 17 ? 3 + (int)read_bits(s, 3)
				: 11 + (int)read_bits(s, 7);
		if (repeat > n - i)
			return false;
		memset(length + i, what, (size_t)repeat);
		i += repeat;
	}
	return true;
}

static bool
dynamic(Inflate *s)
{
	static const uint8_t order[] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };
	uint8_t length[MAX_CODES + 32] = { 0 };
	int nliteral = (int)read_bits(s, 5) + 257, ndistance = (int)read_bits(s, 5) + 1, n = (int)read_bits(s, 4) + 4;

	if (nliteral > 286 || ndistance > 30)
		return false;
	for (int i = 0; i < n; i++)
		length[order[i]] = (uint8_t)read_bits(s, 3);
	if (!huffman(&s->literal, length, 19))
		return false;
	memset(length, 0, sizeof length);
	if (!read_lengths(s, length, nliteral + ndistance) || !length[256])
		return false;
	return huffman(&s->literal, length, nliteral) && huffman(&s->distance, length + nliteral, ndistance) &&
	       codes(s);
}

bool
rt_inflate(const void *in, int64_t n, void *out, int64_t nout)
{
	Inflate s = { .in = in, .end = (const uint8_t *)in + n, .out = out, .cap = nout };
	unsigned last;
	bool ok;

	do {
		last = read_bits(&s, 1);
		switch (read_bits(&s, 2)) {
		case 0:  ok = inflate_stored(&s); break;
		case 1:  ok = fixed(&s); break;
		case 2:  ok = dynamic(&s); break;
		default: ok = false;
		}
	} while (ok && !last && !ran_out(&s));
	return ok && s.n == nout && !ran_out(&s);
}

/* Returns the CRC-32 of n bytes. Processes eight bytes at a time: table k has the effect of a byte on the remainder k
 * bytes later. */
uint32_t
rt_crc32(const void *data, int64_t n)
{
	uint32_t table[8][256], c = 0xffffffff, low = 1, high;
	const uint8_t *p = data;

	table[0][0] = 0;
	for (int bit = 128; bit; bit >>= 1) {            /* CRC is linear: table[i ^ bit] = table[i] ^ table[bit] */
		low = low >> 1 ^ (low & 1 ? 0xedb88320u : 0);
		for (int i = 0; i < 256; i += 2 * bit)
			table[0][i + bit] = table[0][i] ^ low;
	}
	for (int t = 1; t < 8; t++)
		for (int i = 0; i < 256; i++)
			table[t][i] = table[t - 1][i] >> 8 ^ table[0][table[t - 1][i] & 255];
	for (; n >= 8; n -= 8, p += 8) {
		low = c ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
		high = (uint32_t)p[4] | (uint32_t)p[5] << 8 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 24;
		c = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24];
		c ^= table[3][high & 255] ^ table[2][high >> 8 & 255];
		c ^= table[1][high >> 16 & 255] ^ table[0][high >> 24];
	}
	while (n-- > 0)
		c = c >> 8 ^ table[0][(c ^ *p++) & 255];
	return ~c;
}
