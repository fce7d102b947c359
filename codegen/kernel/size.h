/* codegen/kernel/size.h - sizes as expressions: extents, strides, offsets, counts
 *
 * A Size is an integer expression over symbols s0, s1, ... (sizes that a call brings) and constants.  Sizes are
 * interned: equal ones are one pointer.  Normal form: a sum of terms, each a coefficient times a product of atoms in a
 * fixed order; an atom is a symbol, or a floor of Sizes that no rule makes simpler.  A constant is the sum without
 * atoms; size_const tells whether a size is one.
 *
 * All arithmetic is on mathematical integers; size_value reports overflow.  A size that is too large (coefficients
 * outside int64, too many terms) is lost: nothing can be proved of it, it has no value, and sizes computed from it are
 * lost, too.  Code that makes kernels has to check size_lost.
 */
#ifndef CODEGEN_SIZE_H
#define CODEGEN_SIZE_H

#include "../../ir/ir.h"

typedef struct Size Size;
typedef struct SizeTable SizeTable;      /* where they are interned; lives as long as its arena */

enum { SIZE_SYMBOLS = 1024 };            /* symbols have smaller numbers */

/* The range of each symbol, both ends included, at least 2: what size_at_least may rest on.  More symbols come by
 * size_symbol. */
typedef struct SizeRange { int64_t least, most; } SizeRange;

SizeTable  *size_table(Arena *);
const Size *size_number(SizeTable *, int64_t);
const Size *size_symbol(SizeTable *, int index, SizeRange);        /* the same range each time */
bool        size_range(const SizeTable *, int index, SizeRange *); /* false: there is no such symbol yet */
const Size *size_plus(SizeTable *, const Size *, const Size *);
const Size *size_minus(SizeTable *, const Size *, const Size *);
const Size *size_times(SizeTable *, const Size *, const Size *);
const Size *size_floor(SizeTable *, const Size *, const Size *);   /* of a / b; b must be known to be 1 or more */
const Size *size_ceil(SizeTable *, const Size *, const Size *);

bool size_lost(const Size *);
void size_symbols(const Size *, bool seen[SIZE_SYMBOLS]);      /* true for those in it, others stay */
bool size_const(const Size *, int64_t *out);                   /* is it a number? */
bool size_is(const Size *, int64_t);                           /* is it this number? */
bool size_divides(SizeTable *, const Size *a, const Size *b);  /* is b a multiple of a for all values of the symbols? */
bool size_at_least(SizeTable *, const Size *, int64_t);        /* for all values in the ranges; false: not proved */
bool size_at_most(SizeTable *, const Size *, int64_t);

/* Its value for these values of the symbols; false: it overflows, or a divisor is not positive. */
bool size_value(const Size *, const int64_t *symbol, int64_t *out);

/* Prints it as C, of symbols with the names s[0], s[1], ...; parenthesised where a factor needs it.  In the text form
 * of kernels they are s0, s1, ... */
typedef enum SizeStyle { SIZE_TEXT, SIZE_C } SizeStyle;
void size_print(const Size *, SizeStyle, bool factor, Buf *);

#endif
