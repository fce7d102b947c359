/* codegen/kernel/size_inside.h - representation of sizes; private to size*.c and the tests' reader
 *
 * A size is a polynomial with int64 coefficients over atoms: symbols, floors and minima that no rule makes simpler.
 * Terms are in order (more factors first, then by their atoms) and coefficients are not 0, so that equal polynomials
 * have equal terms.  Atoms are found by their texts, sizes by their terms.
 *
 * A size is lost when a coefficient leaves int64 or the expression exceeds the limits below.  There is one lost size:
 * nothing can be proved of it, it has no value, and sizes computed from it are lost, too.  The limits also bound
 * recursion: a size is no deeper than its weight.
 */
#ifndef CODEGEN_SIZE_INSIDE_H
#define CODEGEN_SIZE_INSIDE_H

#include "size.h"

enum { SIZE_TERMS = 128, SIZE_FACTORS = 8, SIZE_WEIGHT = 1024 };

typedef enum AtomKind { ATOM_SYMBOL, ATOM_FLOOR, ATOM_MIN } AtomKind;

typedef struct Atom {
	AtomKind    kind;
	int         index;       /* ATOM_SYMBOL: index of the symbol */
	const Size *a, *b;       /* ATOM_FLOOR: floor(a / b); ATOM_MIN: min(a, b) */
	SizeRange   range;       /* range of its value; INT64_MIN and INT64_MAX if unknown */
	bool        natural;     /* ATOM_FLOOR: whether a is never negative, so that C's / is correct */
	int         weight;      /* approximate number of symbols in its text */
	const char *text;
} Atom;

typedef struct Term { int64_t times; int n; const Atom *factor[SIZE_FACTORS]; } Term;
/* next: next size in the hash slot */
struct Size { const Term *term; int n, weight; bool lost; uint64_t hash; Size *next; };
typedef struct Sum { Term term[SIZE_TERMS]; int n; bool lost; } Sum;     /* A size being built. */

struct SizeTable {
	Arena *arena;
	Map    atom;             /* atoms by their text */
	Size **slot, lost;       /* sizes by their hash; the one lost size */
	int    nslot, nsize;
	Sum    sum[2];           /* Temporary sums used while building a Size. */
	int    steps;            /* number of steps that the current proof may still take */
};

/* ---- coefficients; false: the result is outside int64, or is INT64_MIN, which has no negative -------------------- */

static inline bool
plus_fits(int64_t a, int64_t b, int64_t *out)
{
	return !__builtin_add_overflow(a, b, out) && *out != INT64_MIN;
}

static inline bool
times_fits(int64_t a, int64_t b, int64_t *out)
{
	return !__builtin_mul_overflow(a, b, out) && *out != INT64_MIN;
}

static inline int64_t
floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b && (a < 0) != (b < 0));
}

static inline int64_t
magnitude(int64_t v)
{
	return v < 0 ? -v : v;
}

/* ---- size.c ---------------------------------------------------------------------------------------------------- */

int         atom_compare(const Atom *, const Atom *);
Atom       *atom_new(SizeTable *, Atom);               /* the atom's text must be new */
const Size *atom_size(SizeTable *, const Atom *);
const Size *term_size(SizeTable *, const Term *);
/* Splits s into x*p + q. p may contain x; q does not. */
void        size_split(SizeTable *, const Size *s, const Atom *x, const Size **p, const Size **q);

/* ---- size_text.c ----------------------------------------------------------------------------------------------- */

void terms_print(const Term *, int n, SizeStyle, Buf *);

#endif
