/* rt/base.h - containers and errors that the compiler and the runtime share
 *
 * Arena    memory of one compile, which is freed at once; parts of it cannot be freed
 * Vec      a growing array in an arena
 * Map      string -> pointer, in insertion order
 * Buf      growing text on the heap
 * Range    a part of a source text; every token, tree and node has one, and emitted programs contain it as an index
 * Cx       the compile context: arena, errors, and a pointer for each folder's own tables */
#ifndef RT_BASE_H
#define RT_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/select.h>   /* for sigset_t */

#include "limits.h"
#include "order.h"

#if defined __GNUC__ && !defined __TINYC__
#define RT_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define RT_PRINTF(f, a)
#endif
#define RT_NORETURN _Noreturn

/* ---- arena.c --------------------------------------------------------------------------------- */

typedef struct ArenaChunk ArenaChunk;
typedef struct Arena {
	char       *at, *end;   /* free bytes of the newest chunk */
	ArenaChunk *chunks;     /* newest first */
	int64_t     used;       /* number of bytes allocated */
	int64_t     limit;      /* largest number of bytes; exceeding it is "out of memory"; 0 for no limit */
	struct ArenaEnd *ends;  /* functions that are called before the arena is freed */
} Arena;

void *arena_take(Arena *, int64_t bytes);    /* returns zeroed memory, aligned to 16; aborts if memory is exhausted */
void  arena_free(Arena *);
/* registers a function that arena_free calls; the last one is called first */
void  arena_at_end(Arena *, void (*end)(void *), void *arg);
char *arena_strdup(Arena *, const char *);
char *arena_strndup(Arena *, const char *, int64_t n);  /* copies n bytes and adds a final 0 */
char *arena_printf(Arena *, const char *fmt, ...) RT_PRINTF(2, 3);
char *arena_vprintf(Arena *, const char *fmt, va_list);
RT_NORETURN void out_of_memory(void);                   /* prints a message and exits with EXIT_INPUT */
/* Function that rt_mem calls if it finds no memory for a small block. If it is null, rt_mem returns null. The compiler
 * sets it to out_of_memory, because a pass that runs an operator must not take this failure for an error of the
 * model. */
extern void (*rt_mem_none)(void);
void *heap_grow(void *old, int64_t bytes);              /* realloc that never returns null */
#define new(arena, T, n) ((T *)arena_take((arena), (int64_t)sizeof(T) * (n)))

/* ---- vec.c ----------------------------------------------------------------------------------- */

/* A vector of T is declared `Vec(T) v`, lives in an arena, and grows by vec_push. */
#define Vec(T) struct { T *at; int n, cap; }
#define vec_push(arena, v, x) \
	((v)->n == (v)->cap ? vec_grow((arena), (void **)&(v)->at, &(v)->cap, sizeof *(v)->at) : (void)0, \
	 (v)->at[(v)->n++] = (x))
#define vec_last(v) ((v)->at[(v)->n - 1])
void vec_grow(Arena *, void **at, int *cap, size_t size);

/* ---- table.c --------------------------------------------------------------------------------- */

typedef struct MapEntry { const char *key; void *value; uint32_t hash; } MapEntry;
typedef struct Map {
	MapEntry *at;      /* entries in order of insertion; a removed entry has a null key */
	int       n, cap;
	int      *slot;    /* open-addressed table of indices in `at`; -1 for a free slot */
	int       nslot;
	Arena    *arena;   /* memory of the map; null if it is on the heap and never freed */
} Map;

void *map_get(const Map *, const char *key);            /* returns null if the key is absent */
void  map_put(Map *, const char *key, void *value);     /* key is kept by reference */

typedef struct PtrMap {             /* map from addresses to numbers, in an arena */
	const void **key;
	int64_t     *value;
	int          n, cap;
} PtrMap;
/* returns the place of the key's number, which is 0 for a new key; valid until the next call */
int64_t *ptrmap_at(Arena *, PtrMap *, const void *key);
int64_t  ptrmap_get(const PtrMap *, const void *key);       /* returns 0 if the key is absent */
uint64_t hash_mix(uint64_t h, uint64_t x);              /* the hash h extended by x */
uint32_t hash_address(const void *);                    /* returns 31 bits, which differ from run to run */
/* reads a word at a time; the result is the same on all little-endian hosts */
uint64_t hash_bytes(const void *, int64_t n);
/* Continues hash_bytes for a text that comes in pieces. h is the total length for the first piece, and the previous
 * result for the others. All pieces but the last have a multiple of 8 bytes. */
uint64_t hash_more(uint64_t h, const void *, int64_t);

/* ---- buf.c ----------------------------------------------------------------------------------- */

/* `at` is null before the first write; then it ends with a 0 after n bytes */
typedef struct Buf { char *at; int64_t n, cap; } Buf;

void buf_add(Buf *, const char *, int64_t n);
void buf_puts(Buf *, const char *);
void buf_ints(Buf *, int n, const int64_t *);           /* appends a list of integers in Python's form: [2, 3] */
void buf_printf(Buf *, const char *fmt, ...) RT_PRINTF(2, 3);
void buf_vprintf(Buf *, const char *fmt, va_list);
void buf_clean(Buf *, const char *, int64_t n);         /* appends n bytes, with '?' for control characters */
void buf_free(Buf *);
char *arena_text(Arena *, Buf *);                        /* copies the text to the arena and frees the buffer */

/* ---- err.c: errors of the compiler ------------------------------------------------------------- */

typedef struct Source {
	const char *text;      /* n bytes and a final 0 */
	int64_t     n;
	const char *name;      /* name for messages: "net.pt:code/__torch__/net.py", "<string>" */
	int         line;      /* number of its first line, counted from 1 */
	struct SourceMap *map; /* debug records of a serialised file; null if it has none */
	Arena      *arena;     /* memory for `lines`; if it is null, each query scans the text for line ends */
	struct SourceLines *lines;     /* offsets of line starts; made at the first query */
} Source;

/* offsets in bytes; src is null if the position is unknown */
typedef struct Range { const Source *src; uint32_t beg, end; } Range;

typedef struct SourceMap SourceMap;    /* debug records of a serialised file: frontend/archive/debug.c */
/* returns false if no original is known */
struct SourceMap { bool (*find)(SourceMap *, uint32_t offset, Range *original); };

/* Exit statuses of the process; README.md lists them. */
enum { EXIT_OK = 0, EXIT_INPUT = 1, EXIT_USAGE = 2, EXIT_BUG = 3, EXIT_DIFFERS = 4, EXIT_MISS = 5, EXIT_DEVICE = 6,
	EXIT_LACKS = 7 };

typedef struct Err {
	int     status;        /* exit status, one of EXIT_ */
	char   *text;    /* the whole message: position, source line, carets, call chain, without a final newline */
	char   *what;          /* the message without position, source line and call chain */
	Range   at;
} Err;

typedef struct Frame Frame;          /* an entry of the message's call chain: "while compiling f, called from here" */
struct Frame { const char *what; Range at; Frame *up; };

typedef struct Cx {
	Arena    *arena;
	jmp_buf  *catch;               /* target of fail's longjmp; set by cx_try */
	Err       err;
	Frame    *frames;
	struct Symbols *symbols;       /* ir/symbol.c */
	struct Types   *types;         /* ir/type.c */
	struct Ops     *ops;           /* ir/op.c */
	struct Units   *units;         /* frontend/script/script.c */
	Map            *tensors;       /* ir/const.c: printed tensors, by the hash that is their name */
	Vec(struct RtObject *) objects;   /* ir/const.c: printed objects; a text names them by index */
	PtrMap          moved;         /* ir/const.c: storage -> Moved, the source of its elements */
	struct FileMap *file_maps;     /* frontend/archive/zip.c: archives that are mapped */
	struct Widening *widening;     /* ir/widen.c: float versions of 16-bit weights */
	/* frontend/script/overload.c: collects the operators that Kiln lacks. If it is null, the first such operator is
	 * an error. */
	struct LackingVec *lacking;
	struct Builtins *builtins;     /* frontend/script/builtin.c */
	struct RtCx    *rt;            /* ir/const.c: for values made while compiling */
	struct Config  *config;        /* opt: flags of passes, logs, limits */
	/* detail of tensor types in printed graphs. 0: all facts. 1: only "Tensor". 2: dtype and sizes. 3: also
	 * strides. */
	int       type_detail;
	int       depth;    /* nesting depth inside the current function or class; cx_enter fails beyond CX_DEPTH */
	int       nested;    /* number of nested functions, classes and values in progress; at most CX_NESTED */
	/* Lowest stack address that nested calls may reach: rt_stack_end(). Null if unknown. */
	const char *stack_end;
} Cx;

enum { CX_DEPTH = 400, CX_NESTED = 2000 };

/* Runs body(arg). Returns false, with the error in cx->err, if it failed. Calls may be nested. */
bool cx_try(Cx *, void (*body)(Cx *, void *), void *arg);
RT_NORETURN void fail(Cx *, Range, const char *fmt, ...) RT_PRINTF(3, 4);              /* fails with EXIT_INPUT */
RT_NORETURN void fail_status(Cx *, int status, Range, const char *fmt, ...) RT_PRINTF(4, 5);
RT_NORETURN void fail_lacks(Cx *, Range, const char *fmt, ...) RT_PRINTF(3, 4);        /* fails with EXIT_LACKS */
/* fails with EXIT_BUG: Kiln is wrong */
RT_NORETURN void bug(const char *file, int line, const char *fmt, ...) RT_PRINTF(3, 4);
RT_NORETURN void fail_again(Cx *);       /* after a failed cx_try: raises its error again in the enclosing cx_try */
#define BUG(...) bug(__FILE__, __LINE__, __VA_ARGS__)
/* adds an entry to the call chain; the frame is on the caller's stack */
void cx_push(Cx *, Frame *, const char *what, Range at);
void cx_pop(Cx *);
void cx_enter(Cx *, Range);      /* counts nesting; fails with EXIT_LACKS beyond CX_DEPTH, or if the stack is short */
void cx_leave(Cx *);
/* Enters a function, class or value that another one contains or calls. Nesting inside it is counted from 0. Returns
 * the argument for cx_leave_nested. Fails as cx_enter does, beyond CX_NESTED. */
int  cx_enter_nested(Cx *, Range);
void cx_leave_nested(Cx *, int depth);
int  range_line(Range);          /* line number, from 1 */
int64_t range_line_start(Range); /* offset of the first byte of the line in which the range begins */
int64_t range_line_end(Range);   /* offset of the newline that ends that line */
int  range_column(Range);        /* column number, from 1 */
/* Appends file:line:col: error: what, the source line, and carets below it. In colour only if requested. */
void range_print(Buf *, Range, const char *kind, const char *what);

/* ---- arithmetic on sizes; returns false on overflow ---------------------------------------------- */

bool size_mul(int64_t a, int64_t b, int64_t *out);
bool size_add(int64_t a, int64_t b, int64_t *out);

/* ---- whole.c: files written under a temporary name, then renamed --------------------------------- */

struct RtCx;
typedef struct RtWhole {
	FILE    *file;
	Buf      target, part; /* final and temporary name; if `part` is empty, the target is written directly */
	sigset_t before;       /* the thread's signal mask before the file was opened */
	struct RtWhole *next;  /* next in the list of open files that have a part */
} RtWhole;
/* Opens a file for writing; "-" is standard output. Signals are blocked in this thread until rt_whole_end, which the
 * same thread must call. Null on failure, with errno set. */
FILE *rt_whole_open(RtWhole *, const char *path);
/* Closes the file. With `good`, renames the part to the target. Otherwise removes the part. Returns RT_ERROR, with
 * errno set, if the file could not be completed; then the part is removed, too. */
int   rt_whole_end(RtWhole *, bool good);
bool  rt_replaces(const char *path);           /* whether a rename may replace the path; false for a device or a pipe */
void  rt_whole_target(Buf *, const char *path);      /* appends the path of the file, behind symbolic links */
/* Returns the earlier output that is the same file as out[i], through links of any kind, even if neither exists yet.
 * Null if there is no such output, or if out[i] is null. Devices do not count as files. */
const char *rt_written_twice(const char *const *out, int i);
#define RT_WRITTEN_TWICE "cannot write to %s: the same file is another output, %s; name another one"
/* Returns the input that is the same file as this output, through links of any kind. "-" is standard input. Returns a
 * word for the running program if the output would replace the program's file. Null if there is no clash, or if the
 * output is null. */
const char *rt_overwrites(const char *out, const char *const *in, int nin);
#define RT_OVERWRITES "cannot write to %s: the same file is read, as %s; name another output"
bool  rt_is_stdout(const char *path); /* whether the path is "-" or the file that is standard output; false for null */
void  rt_parts_remove(void);                   /* removes all unfinished parts, before the process exits */
/* a function for RtCx.print that prints to standard error */
void  rt_print_aside(struct RtCx *, const char *, int64_t n);

/* ---- near.c: "did you mean" ---------------------------------------------------------------------- */

typedef struct RtNearest { const char *name; int distance; } RtNearest;    /* name is null if no known name is near */
/* Considers a name for "did you mean". Stores it in *best if it is near to the n letters of the word, or begins with
 * them, and is nearer than *best. */
void rt_nearest(RtNearest *best, const char *word, int n, const char *name);

/* ---- info.c: the text of --info -------------------------------------------------------------- */

struct RtProgram;
void rt_info_methods(FILE *, const struct RtProgram *);
void rt_info_sizes(FILE *, const struct RtProgram *, int64_t code_bytes);
/* Writes the facts of a program as JSON. `more` is the text of further members, each after a comma. */
void rt_info_json(FILE *, const struct RtProgram *, int64_t code_bytes, const char *more);

#endif
