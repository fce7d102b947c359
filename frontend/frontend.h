/* frontend/frontend.h - from archives and source text to graphs
 *
 *   archive_load   model.pt, model.pt2 -> Module (objects as data, classes with methods as trees, or exported programs)
 *   function_graph a method's tree -> its Graph, compiled on first use
 *   script_compile source text -> functions (operator bodies, gradients, kiln run model.py)
 *   ir_parse       IR text -> Graph
 * On bad input all of these fail() with a range.
 */
#ifndef FRONTEND_H
#define FRONTEND_H

#include "../ir/ir.h"
#include "../rt/host.h"

/* ---- zip.c: archives by libzip ---------------------------------------------------------------- */

typedef struct Archive Archive;
typedef struct Record {
	const char *name, *data;
	int64_t n;                   /* bytes */
} Record;

/* Opens and checks an archive, which is closed with the Cx.  Files other than zips fail with a message that says what
 * they are (reference 1.7). */
Archive *archive_open(Cx *, const char *path);
Archive *archive_nested(Archive *, const char *member);            /* of a member that is an archive; not copied */
void     archive_close(Archive *);
bool     archive_has(Archive *, const char *name);                 /* names are without the root folder */
/* Fails if there is no such member, or its CRC is wrong.  The data of stored members is in the mapped file. */
Record   archive_record(Archive *, const char *name);
/* The name that a record of this name was saved under beside the model (_extra_files).  Null: it is no such record. */
const char *archive_extra(const char *record);
int      archive_names(Archive *, const char *const **names);      /* sorted; their number */
const char *archive_path(Archive *);
Cx      *archive_cx(Archive *);
uint64_t archive_hash(Archive *);                                  /* of the members' names, sizes and CRCs */
/* Writes n members, stored at multiples of 64; their data must outlive the call. */
void     archive_write(Cx *, const char *path, const char *root, const Record *, int n);
/* Maps the file privately once more: weights that were written to are as in the file there. */
/* Gives pages of an archive's file back to the system until they are read again; data that is not in such a file stays.
 * Nothing may have written there. */
void     archive_forget(const Cx *, const void *data, int64_t n);
char    *archive_remap(Archive *);
int64_t  archive_offset(Archive *, const char *);                  /* of an address in one of the maps; -1: in none */

/* ---- pickle.c: the pickle machine, for data only ------------------------------------------------- */

/* A place in a pickle: errors name the file, the member (both in src->name) and the byte. */
typedef struct PickleAt { Cx *cx; const Source *src; int64_t byte; } PickleAt;
RT_NORETURN void pickle_bad(const PickleAt *, const char *fmt, ...) RT_PRINTF(2, 3);
RT_NORETURN void pickle_lacks(const PickleAt *, const char *fmt, ...) RT_PRINTF(2, 3);

/* Callbacks; null where this kind of pickle needs none.  They return new references. */
typedef struct PickleHost {
	void *arg;
	bool   (*known)(void *, const char *cls);                                    /* is this global a class? */
	/* NEWOBJ: a new object, without its state */
	IValue (*object)(const PickleAt *, void *, const char *cls);
	void   (*build)(const PickleAt *, void *, IValue object, IValue state);      /* BUILD */
	IValue (*enumerator)(const PickleAt *, void *, const char *cls, IValue value);
	/* a 1-d tensor over the whole storage */
	IValue (*storage)(const PickleAt *, void *, RtDtype, const char *key, int64_t numel);
	IValue (*tensor)(const PickleAt *, void *, int64_t id);                      /* legacy: from the tensor table */
	const Type *(*tag)(const PickleAt *, void *, const char *text);              /* of a type tag */
	struct Fits *fits;                                                           /* see conform.c */
	/* Any global is a class; objects are tuples of arguments, or dicts of state.  calls: so is what REDUCE calls */
	bool   plain, calls;
	bool   legacy;              /* written by PyTorch 1.0 to 1.2: BININT1 is signed, typed lists hold any numbers */
} PickleHost;
/* Fails on unknown globals, which the error names.  The result has no cycle, is at most CX_NESTED deep, and all its
 * objects have their state. */
IValue pickle_load(Cx *, const Source *bytes, const PickleHost *);
int    pickle_qscheme(IValue);      /* the QScheme that a global among arguments names; -1: it names none */

/* ---- conform.c: checks values against their declared types ------------------------------------------- */

/* Results for lists, dicts and tuples, by address; they are held, so that addresses are not reused. */
typedef struct Fits { Cx *cx; PtrMap types; Vec(IValue) held; } Fits;
/* Is v a t?  If so, lists and dicts without a type (of a pickle without tags) get t's, and tuples t's names. */
bool value_fits(Fits *, IValue v, const Type *t);
void value_settle(Fits *, IValue v);               /* gives lists and dicts without a type that of their elements */
void fits_free(Fits *);

/* ---- pickle_out.c: values as pickles ----------------------------------------------------------------- */

typedef struct PickleOut {
	Cx   *cx;
	bool (*keeps)(void *, const RtClass *, const char *attribute);      /* which attributes to write; null: all */
	void *arg;
	bool  constants;              /* a table of constants: no tensor requires a gradient */
	Vec(RtStorage *) storages;    /* of its tensors: members 0, 1, 2 ...; the caller writes them */
	PtrMap memo, storage_of;
	Buf   bytes;
	Map   typed_storage;
	int64_t nmemo;
} PickleOut;
Buf  pickle_bytes(PickleOut *, IValue);             /* the whole pickle, on the heap */
void pickle_put(PickleOut *, IValue);

/* ---- storage.c: tensors over mapped storages ---------------------------------------------------------- */

typedef struct Storages Storages;   /* the members data/0, data/1, ... or constants/0, ... of an archive */
Storages *storages_new(Cx *, RtCx *, Archive *, const char *folder);
/* A 1-d tensor over a whole storage of numel elements; fails if the member has fewer. */
IValue  storage_tensor(const PickleAt *, Storages *, RtDtype, const char *key, int64_t numel);
/* These build the results of REDUCE opcodes from n arguments; they fail on arguments of other forms. */
IValue  tensor_rebuild(const PickleAt *, RtCx *, const IValue *arg, int n);
/* The storage has bytes without a type; the arguments after the fifth are the caller's. */
IValue  tensor_rebuild_typed(const PickleAt *, RtCx *, const IValue *arg, int n, RtDtype);
IValue  tensor_rebuild_quantized(const PickleAt *, RtCx *, const IValue *arg, int n);
IValue  tensor_rebuild_parameter(const PickleAt *, RtCx *, const IValue *arg, int n);
/* A tensor over part of a storage; fails if that does not lie inside. */
RtTensor *tensor_over(const PickleAt *, RtCx *, RtStorage *, RtDtype, RtGeometry);

/* ---- module.c, json.c, setstate.c: archives -> Module ------------------------------------------------ */

typedef struct Unit Unit;            /* the classes, functions and constants of one archive or source text */
typedef struct Module {
	Unit    *unit;
	IValue   self;               /* the top object, a reference; None: plain functions */
	const Type *type;            /* its class */
	const char *path;
	uint64_t hash;
	int      version;
	bool     training;
	Archive *archive;
} Module;
Module   *archive_load(Cx *, const char *path);
Function *module_method(Cx *, Module *, const char *name);     /* fails if there is none, suggesting near names */
/* A new instance, a new reference: tensors that methods may write are copied, the others shared. */
IValue    module_fresh(Cx *, Module *);
/* Makes copies of values in which floats are double.  Values and storages that are shared are also shared in all copies
 * that one Copies makes. */
typedef struct Copies Copies;
Copies   *copies_in_double(Cx *);
IValue    copies_of(Copies *, IValue);      /* a new reference; v has to outlive the Copies */
void      copies_end(Copies *);
IValue    archive_load_data(Cx *, const char *path);           /* reads a file of torch.save: for kiln convert */
/* The same of an open archive; lists and dicts have no types yet.  plain: see PickleHost.
 * archive_parts: a tensor, or a dict of the tensors that one of a class of Python is made of. */
IValue    archive_data(Archive *, RtCx *, bool plain);
IValue    archive_parts(Archive *, RtCx *);

/* packed.c: objects of C++ classes */
const Type *packed_type(Cx *, const char *name);           /* null: unknown */
const Type *packed_class(const PickleAt *, const char *name);
void        packed_build(const PickleAt *, RtCx *, Fits *, RtObject *, IValue state);
IValue      packed_state(Cx *, const RtObject *);          /* the state that packed_build takes */
/* pt2.c: archives of torch.export */
bool        is_exported(Archive *);
Module     *exported_load(Cx *, Archive *);
/* Adds the arguments that a method was exported with, by their keys; false: it was not exported, or the archive has no
 * arguments. */
bool        exported_samples(Module *, const Function *, RtCx *, RtArrays *);
/* json.c: archives of PyTorch 1.0 to 1.2 */
Module     *legacy_load(Cx *, Archive *);

/* save.c: Module -> archive */
typedef struct SaveOptions {
	Function *const *entry;      /* methods to save, with all that they call */
	int       nentry;
	Graph  *(*graph)(Cx *, Function *);        /* which graph of a function is printed */
	bool      whole;             /* saves all attributes and methods of all classes */
} SaveOptions;
void        module_save(Cx *, Module *, const SaveOptions *, const char *path);

/* debug.c: code/....debug_pkl -> places in the original source (reference 10.2) */
/* Reads the records on first use.  Null: there are none. */
SourceMap *source_map_new(Cx *, Archive *, const char *code_name);

/* ---- lex.c, parse.c, tree.c ------------------------------------------------------------------------------ */

typedef enum TokKind {
#define TOK(name, spelling, binary, binary_tree, unary, unary_tree) TOK_##name,
#include "script/tok.def"
#undef TOK
	TOK_NKIND,
} TokKind;

typedef struct Tok { TokKind kind; uint32_t beg, end; } Tok;   /* bytes of the source */
extern const char *const tok_names[TOK_NKIND];
int lex(Cx *, const Source *, const Tok **);               /* all tokens, the last one EOF; returns how many */
int lex_part(Cx *, const Source *, uint32_t beg, uint32_t end, const Tok **);

typedef enum TreeKind {
#define TREE(name, children) TREE_##name,
#include "script/tree.def"
#undef TREE
	TREE_NKIND,
} TreeKind;

typedef struct Tree Tree;
struct Tree {
	TreeKind kind;
	Range    at;
	int      op;               /* AUG_ASSIGN: TreeKind; PARAM: keyword only */
	int      n;
	const Tree **kid;
	const char *text;          /* interned: also comparable by == among trees of one Cx */
	int      len;              /* of text */
	union { int64_t i; double f; } num;
};
extern const char *const tree_names[TREE_NKIND];
Tree *tree_new(Cx *, TreeKind, Range, int n, ...);         /* n children, const Tree * each */
Tree *tree_of(Cx *, TreeKind, Range, const Tree *const *kid, int n);
Tree *tree_text(Cx *, TreeKind, Range, const char *text, int len);
const Tree *parse_file(Cx *, const Source *);              /* LIST of DEF, CLASS, IMPORT and statements */
const Tree *parse_expression(Cx *, const Source *);        /* one expression: types in pickle tags */
void        tree_print(const Tree *, Buf *);               /* s-expression, for tests */

/* ---- suggest.c: names that may have been meant ---------------------------------------------------------------- */

typedef struct Near { const char *name, *best; int distance; } Near;     /* name: an unknown name; best: the nearest */
void        near_try(Near *, const char *other);
const char *near_hint(Cx *, const Near *);                 /* "; did you mean x?", or "" */

/* ---- anno.c: annotations -> Type --------------------------------------------------------------------------- */

const Type *type_of_annotation(Cx *, Unit *, const Tree *);           /* reference 3.5; BroadcastingListN too */
const Type *type_from_text(Cx *, Unit *, const char *text, Range);
int         broadcasting_list(const Tree *);                          /* N of BroadcastingListN[T], else 0 */
const char *tree_dotted(Cx *, const Tree *);                          /* a.b.c of VAR and ATTR; null: something else */

/* ---- read.c: texts that are read character by character: schemas and graphs --------------------------------- */

typedef struct Reader {
	Cx           *cx;
	const Source *src;
	const char   *p;
	Unit         *unit;        /* that knows classes, or null */
	bool          ir;          /* types are those of graphs */
} Reader;
RT_NORETURN void read_expected(Reader *, const char *what);     /* fails: what was expected */
void    read_blanks(Reader *);
bool    read_accept(Reader *, const char *punctuation);   /* skips blanks and newlines; consumes it if it is there */
void    read_expect(Reader *, const char *punctuation);
int     read_word_length(Reader *, const char *more);     /* of a word of letters, digits, _ and characters of `more` */
Symbol  read_word(Reader *, const char *more);
bool    read_accept_word(Reader *, const char *);
int64_t read_int(Reader *);
IValue  read_number(Reader *, bool floating);             /* an int, unless it looks like a float or floating is true */
IValue  read_string(Reader *);

/* ---- schema.c ----------------------------------------------------------------------------------------------- */

Schema *schema_parse(Cx *, const char *text);              /* reference 6.1; fails with a range into text */
/* A type in IR syntax at src->text + *at, which is moved behind it; unit (may be null) knows classes. */
const Type *schema_type_parse(Cx *, Unit *, const Source *, uint32_t *at);

/* ---- signature.c -------------------------------------------------------------------------------------------- */

/* The schema of a function of source text.  A parameter without annotation is a Tensor, the first one of a method is
 * self; defaults are evaluated.  It has one result, whose type is null without annotation: the returns determine it. */
Schema *schema_of_def(Cx *, Unit *, const Tree *def, const char *qualified, const Type *self);
/* The value of a literal, CONSTANTS.c0, a member of an enum ...; fails on others.  hint: the type, or null. */
IValue  constant_of_tree(Cx *, Unit *, const Tree *, const Type *hint);
bool    device_of_text(const char *, int64_t *device);     /* "cpu", "cuda:1": the payload of an RT_DEVICE */

/* ---- overload.c ------------------------------------------------------------------------------------------------ */

/* An argument of a call.  name null: positional; "self": the object of a method call, for the argument of that name. */
typedef struct NamedValue { const char *name; Value *v; Range at; } NamedValue;
/* Picks the overload of aten::name, converts arguments at g's insertion point and emits the node.  version: of the
 * archive; older ones get the old schemas and meanings (reference 8); 0: no archive, so that an unknown name is the
 * user's error.  Returns one value: a tuple of several results, None if there are none. */
Value *emit_builtin(Graph *, const char *name, Range, const NamedValue *, int n, int version);

typedef struct CallSite {          /* a call: its n arguments as written, and the graph that nodes are inserted into */
	Graph *g;
	Range  at;
	const NamedValue *arg;
	int    n;
} CallSite;

/* The schema's arguments in order, with defaults, and conversions emitted.  Null: they do not match; why, unless it is
 * null, says so. */
Value **match_schema(const CallSite *, const Schema *, bool convert, Buf *why);
Value *convert_implicitly(Graph *, Value *, const Type *to, bool convert, Range);   /* null: not possible */
/* Emits the node; output types are the schema's, with type variables bound. */
Node  *emit_schema_node(Graph *, Op *, Range, Value *const *args, int n);

/* The types of nout results for these inputs; false: the schema does not determine them. */
bool   op_result_types(Cx *, Op *, Value *const *in, int n, const Type **out, int nout);
/* The overload that takes exactly these inputs; null: there is none. */
Op    *op_of_inputs(Cx *, const char *name, Value *const *in, int n, int nout);

/* ---- builtin.c: operators that are TorchScript functions -------------------------------------------------------- */

int       builtin_next(const char *op, int row);              /* the operator's row after this one (-1: first), or -1 */
Function *builtin_row(Cx *, int row);
const char *builtin_refused(const char *op);                  /* why no archive can call it; null: it may */
int       upgrader_find(const char *op, const char *overload, int version);     /* row for an older archive, or -1 */
const Schema *upgrader_schema(Cx *, int row);
Function *upgrader_function(Cx *, int row);
Value    *inline_function(Graph *, Function *, Range, Value *const *args); /* the result; nodes get this Range */

/* ---- gradient.c: gradients of operators -------------------------------------------------------------------------- */

/* The function of the row's gradient: (arguments, gradients of results, results) -> a gradient or None for each
 * argument that can have one.  Null: the row has none. */
Function *op_gradient(Cx *, Op *);
/* The operator in terms of others, which are differentiated in its place; or null. */
Function *op_expansion(Cx *, Op *);
/* Has it no gradient: as its row says, or as its results are bool, or its arguments never floating? */
bool      op_is_flat(const Op *);
/* 1: a Tensor or Tensor?; 2: a list of these; 0: a type without gradients */
int       gradient_rank(const Type *);

/* ---- sugar.c, env.c, emit_*.c, ssa.c, exit.c, refine.c: trees -> Graph ------------------------------------------- */

Graph *function_graph(Cx *, Function *);                   /* compiles on first use; recursion is an error */
IValue enum_constant(Cx *, const Type *, const EnumMember *);          /* the member's value */

/* ---- hooks.c ------------------------------------------------------------------------------------------------ */

/* A function that calls the hooks around forward; without hooks, forward. */
Function *forward_with_hooks(Cx *, Unit *, const Type *self, Function *forward);

/* ---- script.c: units, and entry points --------------------------------------------------------------------------- */

/* A unit resolves names of source text: from an archive's code/ folder, read on demand, or from definitions. */
Unit       *unit_new(Cx *, Archive *, int version);         /* archive may be null */
void        unit_set_constants(Unit *, IValue tuple);       /* CONSTANTS.cN */
bool        unit_constant_value(const Unit *, const char *name, IValue *); /* "c3": borrowed; false: there is none */
/* Defines the functions and classes of a text, with the names prefix.x. */
void        unit_define(Cx *, Unit *, const Source *, const char *prefix);
/* Defines more with the prefix of unit_define; functions are named with it from now on. */
void         unit_define_qualified(Cx *, Unit *, const Source *);
const char  *unit_source_name(const Unit *, int i);       /* of definition i; "": not of this text; null: no more */
/* A class, NamedTuple, enum or interface, read on demand; null: there is none. */
const Type *unit_type(Cx *, Unit *, const char *qualified);
Function   *unit_function(Cx *, Unit *, const char *qualified);   /* free function, or Class.method; null: none */
Function   *script_compile(Cx *, const char *text, const char *name);   /* one def, which uses builtins only */
void        ops_compile_body(Cx *, Op *);               /* makes op->function of a BODY row, and of those it needs */
/* Makes op->function of every BODY row that the graph needs, transitively. */
void        ops_compile_bodies(Cx *, Graph *);
void        ops_compile_all(Cx *, Function *);              /* the same for a function and all that it calls */
bool        unit_is_builtin_class(const char *qualified);   /* __torch__.torch.classes.* */

/* ---- irparse.c --------------------------------------------------------------------------------------------------- */

/* irtypes.c: fails unless the types written in the text follow from the nodes */
void   ir_check_types(Cx *, Graph *, const char *path);
/* Reads IR text (reference 5.2, ir/il.txt); unit resolves names of classes; or null. */
Graph *ir_parse(Cx *, const Source *, Unit *);

#endif
