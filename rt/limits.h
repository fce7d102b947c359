/* rt/limits.h - assertions, and the limits that a test build makes tiny
 *
 * RT_ASSERT(x) states an invariant that holds for every model and input. It costs nothing in Kiln and in programs. It
 * is checked in the build variant `ninja tiny` (KILN_TEST), with KILN_ASSERT, and under AddressSanitizer and
 * ThreadSanitizer.
 *
 * RT_LIMIT(usual, tiny) is a size at which code changes its method: the capacity of a first allocation or a small
 * array, the largest amount of memory that is kept, the smallest part of a loop. No limit may change a result. With
 * KILN_TEST all are tiny, so that small tests reach the code paths of large models. Layouts of types that emitted C
 * uses never depend on a limit. */
#ifndef RT_LIMITS_H
#define RT_LIMITS_H

#if defined __has_feature
#if __has_feature(address_sanitizer) && !defined __SANITIZE_ADDRESS__
#define __SANITIZE_ADDRESS__ 1           /* Clang reports AddressSanitizer in another way. */
#endif
#if __has_feature(thread_sanitizer) && !defined __SANITIZE_THREAD__
#define __SANITIZE_THREAD__ 1
#endif
#endif

#if defined __GNUC__ && !defined __TINYC__
__attribute__((noreturn, cold))
#endif
void rt_assert_failed(const char *file, int line, const char *what);      /* err.c: prints and aborts */

#if defined KILN_TEST || defined KILN_ASSERT || defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define RT_ASSERTS 1
#define RT_ASSERT(x) ((x) ? (void)0 : rt_assert_failed(__FILE__, __LINE__, #x))
#else
#define RT_ASSERTS 0
#define RT_ASSERT(x) ((void)(0 && (x)))
#endif

#ifdef KILN_TEST
#define RT_LIMIT(usual, tiny) (tiny)
#else
#define RT_LIMIT(usual, tiny) (usual)
#endif

enum {
	RT_LIMIT_CHUNK = RT_LIMIT(64 << 10, 64),           /* arena.c: number of bytes of the first chunk */
	RT_LIMIT_CHUNK_MOST = RT_LIMIT(8 << 20, 256),
	RT_LIMIT_BLOCK = RT_LIMIT(64 << 10, 64),           /* cx.c: number of bytes of a block of scratch memory */
	/* cx.c: number of bytes of the largest block that is kept for later kernels */
	RT_LIMIT_BLOCK_KEPT = RT_LIMIT(64 << 20, 1 << 10),
	RT_LIMIT_TEMPS = RT_LIMIT(32, 1),                  /* cx.c: initial capacity for temporaries of a kernel */
	/* recycle.c: largest number of bytes of freed blocks that a thread keeps */
	RT_LIMIT_RECYCLED = RT_LIMIT(64 << 20, 4 << 10),
	RT_LIMIT_TEXT = RT_LIMIT(64, 1),                   /* buf.c: initial capacity of a text in bytes */
	RT_LIMIT_VEC = RT_LIMIT(8, 1),                     /* vec.c: initial capacity of a vector */
	RT_LIMIT_MAP = RT_LIMIT(8, 1),                     /* table.c: initial number of entries and of slots */
	RT_LIMIT_MAP_SLOTS = RT_LIMIT(16, 4),
	RT_LIMIT_LIST = RT_LIMIT(4, 1),                    /* list.c, dict.c: initial capacity of a list or dict */
	RT_LIMIT_DICT = RT_LIMIT(8, 1),
	RT_LIMIT_DICT_SLOTS = RT_LIMIT(16, 4),
	RT_LIMIT_SEEN = RT_LIMIT(64, 2),    /* list.c: initial capacity for values that a deep copy has met */
	/* ivalue.c: number of dead containers in the small array of the work list */
	RT_LIMIT_RELEASED = RT_LIMIT(32, 1),
	RT_LIMIT_OPERANDS = RT_LIMIT(24, 1),    /* interp.c: number of operands in an instruction's small array */
	RT_LIMIT_SCOPES = RT_LIMIT(8, 1),    /* interp.c: number of open with-scopes in a frame's small array */
	/* thread.c: time in ns for which an idle thread looks for work before it sleeps */
	RT_LIMIT_SPIN_NS = RT_LIMIT(200000, 0),
	/* task.c: largest number of values that are visited in a forked call's arguments */
	RT_LIMIT_LOOKED_AT = RT_LIMIT(4096, 2),
	RT_LIMIT_SIZES_SEEN = RT_LIMIT(64, 1),             /* sizes.c: initial capacity for tensors that were visited */
	RT_LIMIT_ARRAYS = RT_LIMIT(16, 1),                 /* npz.c: initial capacity for arrays of a file */
	RT_LIMIT_EVENTS = RT_LIMIT(256, 1),                /* trace.c: initial capacity for events */
	RT_LIMIT_SIZES_KEPT = RT_LIMIT(32, 1),    /* sizes.c: largest number of tuples of symbol values in the cache */
	/* copy.c: number of rows and of columns in a tile of a transposing copy */
	RT_LIMIT_COPY_TILE = RT_LIMIT(32, 2),
	/* copy.c: smallest number of elements for which a row is copied by a call of its own */
	RT_LIMIT_COPY_SHORT = RT_LIMIT(8, 3),
	RT_LIMIT_COPY_COLUMN = RT_LIMIT(512, 3),           /* copy.c: number of elements of a block of shorter rows */
	RT_LIMIT_CAST_BLOCK = RT_LIMIT(256, 1),            /* dtype.c: number of elements converted at once */
	/* ops/kernel.h: number of elements that a pointwise operator computes at once */
	RT_LIMIT_MAP_BLOCK = RT_LIMIT(512, 4),
	RT_LIMIT_SORT_RUN = RT_LIMIT(16, 2),    /* ops/select.c: largest number of elements sorted by insertion */
	/* ops/select.c: smallest number of elements of a sort that counts on different keys */
	RT_LIMIT_SORT_LONG = RT_LIMIT(256, 32),
	/* program.c: number of calls before weights are moved, because the move costs ten times what it saves in one
	 * call */
	RT_LIMIT_WARM_AFTER = RT_LIMIT(64, 2),
	RT_LIMIT_CHILDREN = RT_LIMIT(16, 1), /* codegen/program/build.c: largest number of compilers that run at once */
};

#endif
