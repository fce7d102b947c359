/* codegen/kernel/size.h - sizes as expressions: extents, strides, offsets, counts
 *
 * A Size is an integer expression over symbols s0, s1, ... (sizes that a call brings) and constants.  Sizes are
 * interned: equal ones are one pointer.  Normal form: a sum of terms, each a coefficient times a product of atoms in a
 * fixed order; an atom is a symbol, or a floor or minimum of Sizes that no rule makes simpler.  A constant is the sum
 * without atoms; size_const tells whether a size is one.
 *
 * All arithmetic is on mathematical integers; size_value reports overflow.  A size that is too large (coefficients
 * outside int64, too many terms) is lost: nothing can be proved of it, it has no value, and sizes computed from it are
 * lost, too.  Code that makes kernels has to check size_lost.
 */
#ifndef CODEGEN_SIZE_H
#define CODEGEN_SIZE_H

#include "../../ir/ir.h"

typedef struct Size Size;
typedef struct SizeTable SizeTable;      /* table of interned sizes; lives as long as its arena */

enum { SIZE_SYMBOLS = 1024 };            /* number of possible symbols */

/* The range of a symbol, both ends included; least is at least 2. size_at_least may rely on it. size_symbol adds
 * symbols. */
typedef struct SizeRange { int64_t least, most; } SizeRange;

SizeTable  *size_table(Arena *);
const Size *size_number(SizeTable *, int64_t);
const Size *size_symbol(SizeTable *, int index, SizeRange);        /* the range must be the same on each call */
bool        size_range(const SizeTable *, int index, SizeRange *); /* returns false if there is no such symbol yet */
const Size *size_plus(SizeTable *, const Size *, const Size *);
const Size *size_minus(SizeTable *, const Size *, const Size *);
const Size *size_times(SizeTable *, const Size *, const Size *);
const Size *size_floor(SizeTable *, const Size *, const Size *);   /* floor(a / b); b must be provably at least 1 */
const Size *size_ceil(SizeTable *, const Size *, const Size *);
const Size *size_min(SizeTable *, const Size *, const Size *);

bool size_lost(const Size *);
void size_symbols(const Size *, bool seen[SIZE_SYMBOLS]);      /* sets seen to true for the size's symbols */
bool size_const(const Size *, int64_t *out);                   /* Is it a constant? Sets *out to its value. */
bool size_is(const Size *, int64_t);                           /* Is it this constant? */
/* Is it times * symbol[0] * symbol[1] * .. + plus, with n symbols, at most 4? */
typedef struct SizeProduct { int64_t times, plus; int n, symbol[4]; } SizeProduct;
bool size_product(const Size *, SizeProduct *);
bool size_divides(SizeTable *, const Size *a, const Size *b);  /* Is b a multiple of a for all values of the symbols? */
bool size_at_least(SizeTable *, const Size *, int64_t);        /* Is it provably so for all values in the ranges? */
bool size_at_most(SizeTable *, const Size *, int64_t);

/* Evaluates the size. Returns false if it overflows or a divisor is not positive. */
bool size_value(const Size *, const int64_t *symbol, int64_t *out);

/* Prints the size as C over symbols s[0], s[1], ..., or as the text form over s0, s1, ... factor: add parentheses where
 * a factor needs them. */
typedef enum SizeStyle { SIZE_TEXT, SIZE_C } SizeStyle;
void size_print(const Size *, SizeStyle, bool factor, Buf *);

#endif
