/* rt/base.h - containers and errors of the compiler and the runtime's shared needs
 *
 * Arena    memory of one compile; freed at once.  There is no freeing of a part.
 * Vec      a growing array in an arena.
 * Map      string -> pointer, in insertion order.
 * Buf      growing text on the heap.
 * Range    a span of a source text.  Every token, tree and node has one; emitted programs hold it as an index.
 * Cx       the compile context: arena, errors, and a pointer for each folder's own tables.
 */
#ifndef RT_BASE_H
#define RT_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/select.h>   /* sigset_t */

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
	int64_t     used;       /* bytes given out */
	int64_t     limit;      /* most bytes; one more is "out of memory".  0: no limit */
	struct ArenaEnd *ends;  /* functions that are called before the arena is freed */
} Arena;

void *arena_take(Arena *, int64_t bytes);               /* zeroed, aligned to 16; aborts when memory is out */
void  arena_free(Arena *);
void  arena_at_end(Arena *, void (*end)(void *), void *arg);     /* called by arena_free, the last one first */
char *arena_strdup(Arena *, const char *);
char *arena_strndup(Arena *, const char *, int64_t n);  /* adds the final 0 */
char *arena_printf(Arena *, const char *fmt, ...) RT_PRINTF(2, 3);
char *arena_vprintf(Arena *, const char *fmt, va_list);
RT_NORETURN void out_of_memory(void);                   /* prints a message and exits with EXIT_INPUT */
/* Called by rt_mem when no memory is left for a small block.  Null: rt_mem returns null.  The compiler sets it to
 * out_of_memory: a pass that runs an operator must not take this failure for an error of the model. */
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
	int      *slot;    /* open addressing into at, -1 free */
	int       nslot;
	Arena    *arena;   /* memory of the map; null if it is on the heap and never freed */
} Map;

void *map_get(const Map *, const char *key);            /* null when absent */
void  map_put(Map *, const char *key, void *value);     /* key is kept by reference */

typedef struct PtrMap {             /* address -> number; in an arena */
	const void **key;
	int64_t     *value;
	int          n, cap;
} PtrMap;
int64_t *ptrmap_at(Arena *, PtrMap *, const void *key);     /* 0 for a new key; valid until the next call */
int64_t  ptrmap_get(const PtrMap *, const void *key);       /* 0 when absent */
uint64_t hash_mix(uint64_t h, uint64_t x);              /* the hash h extended by x */
uint32_t hash_address(const void *);                    /* 31 bits; differs from run to run */
uint64_t hash_bytes(const void *, int64_t n);           /* a word at a time; the same on all little-endian hosts */
/* hash_bytes of a text that comes in pieces.  h is the total length for the first piece, then the previous result.  All
 * pieces but the last have a multiple of 8 bytes. */
uint64_t hash_more(uint64_t h, const void *, int64_t);

/* ---- buf.c ----------------------------------------------------------------------------------- */

typedef struct Buf { char *at; int64_t n, cap; } Buf;   /* at is always 0-terminated once written to */

void buf_add(Buf *, const char *, int64_t n);
void buf_puts(Buf *, const char *);
void buf_ints(Buf *, int n, const int64_t *);           /* appends a list of integers in Python's form: [2, 3] */
void buf_printf(Buf *, const char *fmt, ...) RT_PRINTF(2, 3);
void buf_vprintf(Buf *, const char *fmt, va_list);
void buf_clean(Buf *, const char *, int64_t n);         /* appends n bytes, control characters as '?' */
void buf_free(Buf *);
char *arena_text(Arena *, Buf *);                        /* copies the text to the arena and frees the buffer */

/* ---- err.c: errors of the compiler ------------------------------------------------------------- */

typedef struct Source {
	const char *text;      /* n bytes and a final 0 */
	int64_t     n;
	const char *name;      /* "net.pt:code/__torch__/net.py", "<string>" */
	int         line;      /* number of its first line, from 1 */
	struct SourceMap *map; /* debug records of a serialised file, or null */
	Arena      *arena;     /* holds `lines`.  Null: each query scans the text for line ends */
	struct SourceLines *lines;     /* offsets of line starts; made on demand */
} Source;

typedef struct Range { const Source *src; uint32_t beg, end; } Range;   /* byte offsets; src null: position unknown */

typedef struct SourceMap SourceMap;    /* debug records of a serialised file: frontend/archive/debug.c */
struct SourceMap { bool (*find)(SourceMap *, uint32_t offset, Range *original); };   /* false: none */

/* Exit statuses of the process; README.md lists them. */
enum { EXIT_OK = 0, EXIT_INPUT = 1, EXIT_USAGE = 2, EXIT_BUG = 3, EXIT_DIFFERS = 4, EXIT_MISS = 5, EXIT_DEVICE = 6,
	EXIT_LACKS = 7 };

typedef struct Err {
	int     status;        /* exit status, one of EXIT_ */
	char   *text;          /* the whole message: position, source line, carets, call chain; no final newline */
	char   *what;          /* the message without position, source line and call chain */
	Range   at;
} Err;

typedef struct Frame Frame;          /* "while compiling f, called from here" */
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
	Map            *tensors;       /* ir/const.c: printed tensors, by the hash that names them */
	Vec(struct RtObject *) objects;   /* ir/const.c: printed objects; a text names them by index */
	PtrMap          moved;         /* ir/const.c: storage -> Moved, the source of its elements */
	struct FileMap *file_maps;     /* frontend/archive/zip.c: archives that are mapped */
	struct Widening *widening;     /* ir/widen.c: float versions of 16-bit weights */
	/* frontend/script/overload.c: collects the operators that Kiln lacks.  Null: the first one is an error. */
	struct LackingVec *lacking;
	struct Builtins *builtins;     /* frontend/script/builtin.c */
	struct RtCx    *rt;            /* ir/const.c: for values made while compiling */
	struct Config  *config;        /* opt: flags of passes, logs, limits */
	/* detail of tensor types in printed graphs: 0 everything; 1 only "Tensor"; 2 dtype and sizes; 3 strides too */
	int       type_detail;
	int       depth;               /* nesting inside the current function or class; cx_enter fails past CX_DEPTH */
	int       nested;              /* nested functions, classes and values in progress; at most CX_NESTED */
	/* Lowest stack address that both counts may reach: rt_stack_end(). Null if unknown. */
	const char *stack_end;
} Cx;

enum { CX_DEPTH = 400, CX_NESTED = 2000 };

/* Runs body(arg); returns false, with cx->err filled, when it failed.  May be nested. */
bool cx_try(Cx *, void (*body)(Cx *, void *), void *arg);
RT_NORETURN void fail(Cx *, Range, const char *fmt, ...) RT_PRINTF(3, 4);              /* EXIT_INPUT */
RT_NORETURN void fail_status(Cx *, int status, Range, const char *fmt, ...) RT_PRINTF(4, 5);
RT_NORETURN void fail_lacks(Cx *, Range, const char *fmt, ...) RT_PRINTF(3, 4);        /* EXIT_LACKS */
RT_NORETURN void bug(const char *file, int line, const char *fmt, ...) RT_PRINTF(3, 4);/* EXIT_BUG: Kiln is wrong */
RT_NORETURN void fail_again(Cx *);       /* after a failed cx_try: raises its error again in the enclosing cx_try */
#define BUG(...) bug(__FILE__, __LINE__, __VA_ARGS__)
void cx_push(Cx *, Frame *, const char *what, Range at);   /* frame lives on the caller's stack */
void cx_pop(Cx *);
void cx_enter(Cx *, Range);      /* counts nesting; past CX_DEPTH or the stack fails with EXIT_LACKS */
void cx_leave(Cx *);
/* Enters a function, class or value that another one contains or calls, and counts nesting inside it from 0. Returns
 * the argument of cx_leave_nested. Fails as cx_enter does, past CX_NESTED. */
int  cx_enter_nested(Cx *, Range);
void cx_leave_nested(Cx *, int depth);
int  range_line(Range);          /* line number, from 1 */
int64_t range_line_start(Range); /* offset of the first byte of the line in which the range begins */
int64_t range_line_end(Range);   /* offset of the newline that ends that line */
int  range_column(Range);        /* column number, from 1 */
/* file:line:col: error: what / source line / carets.  Colour only on request. */
void range_print(Buf *, Range, const char *kind, const char *what);

/* ---- checked arithmetic on sizes: false on overflow ---------------------------------------------- */

bool size_mul(int64_t a, int64_t b, int64_t *out);
bool size_add(int64_t a, int64_t b, int64_t *out);

/* ---- whole.c: files written under a temporary name, then renamed --------------------------------- */

struct RtCx;
typedef struct RtWhole {
	FILE    *f;
	Buf      target, part; /* final and temporary name.  No part: the target is written directly */
	sigset_t before;       /* the thread's signal mask before the part was made */
	struct RtWhole *next;  /* list of open files that have a part */
} RtWhole;
/* Opens a file for writing; "-" is standard output.  The same thread has to call rt_whole_end: it has its signals
 * blocked until then.  Null: see errno. */
FILE *rt_whole_open(RtWhole *, const char *path);
/* Closes the file.  good: renames the part to the target.  Otherwise, and on RT_ERROR (see errno), removes it. */
int   rt_whole_end(RtWhole *, bool good);
bool  rt_replaces(const char *path);           /* may a rename replace the path?  Not a device or a pipe */
void  rt_whole_target(Buf *, const char *path);      /* adds the path of the file, behind symbolic links */
/* The earlier output that is the same file as out[i], through links of any kind, even if none of them exists yet.
 * Null: there is none, or out[i] is null.  Devices do not count as files. */
const char *rt_written_twice(const char *const *out, int i);
#define RT_WRITTEN_TWICE "cannot write to %s: the same file is another output, %s; name another one"
/* The input that is the same file as this output, through links of any kind.  "-" is standard input.  Returns a word
 * for the running program if the output would replace that.  Null: no clash, or the output is null. */
const char *rt_overwrites(const char *out, const char *const *in, int nin);
#define RT_OVERWRITES "cannot write to %s: the same file is read, as %s; name another output"
bool  rt_is_stdout(const char *path);          /* is it "-", or the target of standard output?  null: no */
void  rt_parts_remove(void);                   /* removes all unfinished parts before the process exits */
void  rt_print_aside(struct RtCx *, const char *, int64_t n);      /* for RtCx.print: prints to standard error */

/* ---- near.c: "did you mean" ---------------------------------------------------------------------- */

typedef struct RtNearest { const char *name; int distance; } RtNearest;        /* name null: none is near */
/* Notes the name in *best if it is near to the n letters of the word, or begins with them, and nearer than best. */
void rt_nearest(RtNearest *best, const char *word, int n, const char *name);

/* ---- info.c: what --info prints of a program ------------------------------------------------- */

struct RtProgram;
void rt_info_methods(FILE *, const struct RtProgram *);
void rt_info_sizes(FILE *, const struct RtProgram *, int64_t code_bytes);
/* more: text of further members, each after a comma */
void rt_info_json(FILE *, const struct RtProgram *, int64_t code_bytes, const char *more);

#endif
