/* frontend/frontend.h - from archives and source text to graphs
 *
 *   archive_load   model.pt, model.pt2 -> Module: objects as data; classes with methods as trees, or exported programs
 *   function_graph tree of a method -> Graph, compiled on first use
 *   script_compile source text -> functions: operator bodies, gradients, kiln run model.py
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
	int64_t n;                   /* Length of the data in bytes. */
} Record;

/* Opens and checks an archive. It is closed with the Cx. Fails on files that are not zips, with a message that names
 * the kind of file. */
Archive *archive_open(Cx *, const char *path);
/* Opens a member that is itself an archive. Does not copy it. */
Archive *archive_nested(Archive *, const char *member);
void     archive_close(Archive *);
bool     archive_has(Archive *, const char *name);                 /* Names of members leave out the root folder. */
/* Returns a member. Fails if there is none of that name, or if its CRC is wrong. Data of stored members is in the
 * mapped file. */
Record   archive_record(Archive *, const char *name);
/* Returns the name under which a record was saved with the model (_extra_files). Null for other records. */
const char *archive_extra(const char *record);
/* Sets *names to the sorted names of members and returns their number. */
int      archive_names(Archive *, const char *const **names);
const char *archive_path(Archive *);
Cx      *archive_cx(Archive *);
uint64_t archive_hash(Archive *);                                  /* Hash of the members' names, sizes and CRCs. */
/* Writes n members at multiples of 64 bytes, uncompressed. Their data must outlive the call. */
void     archive_write(Cx *, const char *path, const char *root, const Record *, int n);
/* Releases pages of an archive's file until they are read again. Ignores data that is in no such file. Nothing may have
 * written to the pages. */
void     archive_forget(const Cx *, const void *data, int64_t n);
/* Maps the file once more, privately. Weights there have the contents of the file even if a program wrote to the first
 * map. */
char    *archive_remap(Archive *);
int64_t  archive_offset(Archive *, const char *); /* Offset of the address in one of the maps. -1 if it is in none. */

/* ---- pickle.c: the pickle machine, for data only ------------------------------------------------- */

/* Position in a pickle. Errors name the file and the member, both in src->name, and the byte. */
typedef struct PickleAt { Cx *cx; const Source *src; int64_t byte; } PickleAt;
RT_NORETURN void pickle_bad(const PickleAt *, const char *fmt, ...) RT_PRINTF(2, 3);
RT_NORETURN void pickle_lacks(const PickleAt *, const char *fmt, ...) RT_PRINTF(2, 3);

/* Callbacks. They return new references. Those that a kind of pickle does not need may be null. */
typedef struct PickleHost {
	void *arg;
	bool   (*known)(void *, const char *cls); /* Whether this global is a class. */
	/* NEWOBJ: makes an object without its state. */
	IValue (*object)(const PickleAt *, void *, const char *cls);
	void   (*build)(const PickleAt *, void *, IValue object, IValue state); /* BUILD: sets the object's state. */
	IValue (*enumerator)(const PickleAt *, void *, const char *cls, IValue value);
	/* Makes a 1-d tensor over the whole storage. */
	IValue (*storage)(const PickleAt *, void *, RtDtype, const char *key, int64_t numel);
	/* Returns a tensor from the table of a legacy archive. */
	IValue (*tensor)(const PickleAt *, void *, int64_t id);
	const Type *(*tag)(const PickleAt *, void *, const char *text); /* Returns the type that a type tag names. */
	struct Fits *fits;                                                           /* Checks of conform.c. */
	/* plain: unpickle any global as a class whose objects are tuples of arguments or dicts of state. calls: also
	 * accept any callable in REDUCE. */
	bool   plain, calls;
	bool   legacy; /* Whether PyTorch 1.0 to 1.2 wrote it: BININT1 is signed, and typed lists hold any numbers. */
} PickleHost;
/* Unpickles a value. Fails on an unknown global, which the error names. The result has no cycle, is at most CX_NESTED
 * deep, and all its objects have their state. */
IValue pickle_load(Cx *, const Source *bytes, const PickleHost *);

/* ---- conform.c: checks values against their declared types ------------------------------------------- */

/* Results for lists, dicts and tuples, by address. The Fits holds references to them, so that no address is reused. */
typedef struct Fits { Cx *cx; PtrMap types; Vec(IValue) held; } Fits;
/* Whether v has type t. If so, sets the type of lists and dicts that have none (in pickles without tags), and the field
 * names of tuples. */
bool value_fits(Fits *, IValue v, const Type *t);
void value_settle(Fits *, IValue v); /* Gives lists and dicts without a type the type of their elements. */
void fits_free(Fits *);

/* ---- pickle_out.c: values as pickles ----------------------------------------------------------------- */

typedef struct PickleOut {
	Cx   *cx;
	/* Whether to write an attribute. Null: write all. */
	bool (*keeps)(void *, const RtClass *, const char *attribute);
	void *arg;
	bool  constants;              /* Whether it is a table of constants, in which no tensor requires a gradient. */
	Vec(RtStorage *) storages;    /* Storages of the tensors, which the caller writes as members 0, 1, 2 ... */
	PtrMap memo, storage_of;
	Buf   bytes;
	Map   typed_storage;
	int64_t nmemo;
} PickleOut;
Buf  pickle_bytes(PickleOut *, IValue);             /* Pickles the value into a buffer on the heap. */
void pickle_put(PickleOut *, IValue);

/* ---- storage.c: tensors over mapped storages ---------------------------------------------------------- */

typedef struct Storages Storages;   /* Members data/0, data/1 ... or constants/0 ... of an archive. */
Storages *storages_new(Cx *, RtCx *, Archive *, const char *folder);
/* Returns a 1-d tensor over a whole storage of numel elements. Fails if the member has fewer. */
IValue  storage_tensor(const PickleAt *, Storages *, RtDtype, const char *key, int64_t numel);
/* Builds the result of a REDUCE opcode from n arguments. Fails on arguments of other forms. */
IValue  tensor_rebuild(const PickleAt *, RtCx *, const IValue *arg, int n);
/* Likewise, for a storage of untyped bytes. The caller handles the arguments after the fifth. */
IValue  tensor_rebuild_typed(const PickleAt *, RtCx *, const IValue *arg, int n, RtDtype);
/* scheme: QScheme of the tensor. -1 if unknown. */
IValue  tensor_rebuild_quantized(const PickleAt *, RtCx *, const IValue *arg, int n, int scheme);
IValue  tensor_rebuild_parameter(const PickleAt *, RtCx *, const IValue *arg, int n);
/* Returns a tensor over part of a storage. Fails if that part exceeds the storage. */
RtTensor *tensor_over(const PickleAt *, RtCx *, RtStorage *, RtDtype, RtGeometry);

/* ---- module.c, json.c, setstate.c: archives -> Module ------------------------------------------------ */

typedef struct Unit Unit;            /* Classes, functions and constants of one archive or source text. */
typedef struct Module {
	Unit    *unit;
	IValue   self;               /* Reference to the top object. None if there are only plain functions. */
	const Type *type;            /* Class of self. */
	const char *path;
	uint64_t hash;
	int      version;
	bool     training;
	Archive *archive;
} Module;
Module   *archive_load(Cx *, const char *path);
/* Returns the method. Fails if there is none of that name, and suggests similar names. */
Function *module_method(Cx *, Module *, const char *name);
/* Returns a new instance of the module, a new reference. Copies tensors that methods may write and shares the
 * others. */
IValue    module_fresh(Cx *, Module *);
/* Copies values with floating tensors in double and complex ones in complex double. Values and storages that are shared
 * stay shared among all copies of one Copies. */
typedef struct Copies Copies;
Copies   *copies_in_double(Cx *);
IValue    copies_of(Copies *, IValue);      /* Returns a new reference. v must outlive the Copies. */
void      copies_end(Copies *);
IValue    archive_load_data(Cx *, const char *path);           /* Reads a file of torch.save, for kiln convert. */
/* archive_data: likewise from an open archive. Lists and dicts have no types yet. plain: see PickleHost. archive_parts:
 * returns a tensor, or a dict of the tensors in an object of a Python class. */
IValue    archive_data(Archive *, RtCx *, bool plain);
IValue    archive_parts(Archive *, RtCx *);

/* packed.c: objects of C++ classes. */
const Type *packed_type(Cx *, const char *name);           /* Type of a C++ class. Null if the class is unknown. */
const Type *packed_class(const PickleAt *, const char *name);
void        packed_build(const PickleAt *, RtCx *, Fits *, RtObject *, IValue state);
/* Returns the state of the object in the form that packed_build reads. */
IValue      packed_state(Cx *, const RtObject *);
/* pt2.c: archives of torch.export. */
bool        is_exported(Archive *);
Module     *exported_load(Cx *, Archive *);
/* Adds the arguments with which a method was exported, under their keys. Returns false if it was not exported or the
 * archive has no arguments. */
bool        exported_samples(Module *, const Function *, RtCx *, RtArrays *);
/* json.c: archives of PyTorch 1.0 to 1.2. */
Module     *legacy_load(Cx *, Archive *);

/* save.c: Module -> archive. */
typedef struct SaveOptions {
	Function *const *entry;      /* Methods to save, with all functions that they call. */
	int       nentry;
	Graph  *(*graph)(Cx *, Function *);        /* Returns the graph of a function to print. */
	bool      whole;             /* Whether to save all attributes and methods of all classes. */
} SaveOptions;
void        module_save(Cx *, Module *, const SaveOptions *, const char *path);

/* debug.c: returns the map from code to places in the original source. It reads code/....debug_pkl on first use. Null
 * if the archive has none. */
SourceMap *source_map_new(Cx *, Archive *, const char *code_name);

/* ---- lex.c, parse.c, tree.c ------------------------------------------------------------------------------ */

typedef enum TokKind {
#define TOK(name, spelling, binary, binary_tree, unary, unary_tree) TOK_##name,
#include "script/tok.def"
#undef TOK
	TOK_NKIND,
} TokKind;

typedef struct Tok { TokKind kind; uint32_t beg, end; } Tok;   /* Token, as a range of bytes of the source. */
extern const char *const tok_names[TOK_NKIND];
/* Sets *toks to all tokens, the last of which is EOF, and returns their number. */
int lex(Cx *, const Source *, const Tok **);
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
	int      op;               /* AUG_ASSIGN: TreeKind of the operator. PARAM: 1 if keyword only. */
	int      n;
	const Tree **kid;
	const char *text;          /* Interned, so trees of one Cx can be compared by ==. */
	int      len;              /* Length of text. */
	union { int64_t i; double f; } num;
};
extern const char *const tree_names[TREE_NKIND];
enum { TREE_NEW_MOST = 8 };
/* Takes n children, const Tree * each, at most TREE_NEW_MOST. */
Tree *tree_new(Cx *, TreeKind, Range, int n, ...);
Tree *tree_of(Cx *, TreeKind, Range, const Tree *const *kid, int n);
Tree *tree_text(Cx *, TreeKind, Range, const char *text, int len);
const Tree *parse_file(Cx *, const Source *);              /* Returns a LIST of DEF, CLASS, IMPORT and statements. */
const Tree *parse_expression(Cx *, const Source *);        /* Parses one expression, such as a type in a pickle tag. */
void        tree_print(const Tree *, Buf *);               /* Prints the tree as an s-expression, for tests. */

/* ---- suggest.c: names similar to an unknown one ------------------------------------------------------------------ */

/* name: the unknown name. best: the most similar one so far. Null if there is none. */
typedef struct Near { const char *name, *best; int distance; } Near;
void        near_try(Near *, const char *other);
const char *near_hint(Cx *, const Near *); /* End of a message: "; did you mean x?", or "" if no name is similar. */

/* ---- anno.c: annotations -> Type --------------------------------------------------------------------------- */

/* Returns the type of an annotation in TorchScript's syntax. BroadcastingListN is accepted, too. */
const Type *type_of_annotation(Cx *, Unit *, const Tree *);
const Type *type_from_text(Cx *, Unit *, const char *text, Range);
int         broadcasting_list(const Tree *); /* Returns N of BroadcastingListN[T]. 0 for other types. */
const char *tree_dotted(Cx *, const Tree *); /* Returns the text a.b.c of VAR and ATTR trees. Null for other trees. */

/* ---- read.c: reads schemas and graphs character by character ----------------------------------------------------- */

typedef struct Reader {
	Cx           *cx;
	const Source *src;
	const char   *p;
	Unit         *unit;        /* Unit that resolves names of classes. May be null. */
	bool          ir;          /* Whether types are in the syntax of graphs. */
} Reader;
RT_NORETURN void read_expected(Reader *, const char *what);     /* Fails with a message that says what was expected. */
void    read_blanks(Reader *);
/* Skips blanks and newlines. If the punctuation is next, consumes it and returns true. */
bool    read_accept(Reader *, const char *punctuation);
void    read_expect(Reader *, const char *punctuation);
/* Returns the length of the word at the position: letters, digits, _ and the characters of `more`. */
int     read_word_length(Reader *, const char *more);
Symbol  read_word(Reader *, const char *more);
bool    read_accept_word(Reader *, const char *);
int64_t read_int(Reader *);
IValue  read_number(Reader *, bool floating); /* Reads an int, or a float if it looks like one or `floating` is set. */
IValue  read_string(Reader *);

/* ---- schema.c ----------------------------------------------------------------------------------------------- */

Schema *schema_parse(Cx *, const char *text);              /* Fails with a range into text. */
/* Parses a type in IR syntax at src->text + *at, and moves *at past it. unit: resolves names of classes. May be
 * null. */
const Type *schema_type_parse(Cx *, Unit *, const Source *, uint32_t *at);

/* ---- signature.c -------------------------------------------------------------------------------------------- */

/* Returns the schema of a function of source text. A parameter without annotation is a Tensor; the first one of a
 * method is self. Defaults are evaluated. There is one result. If it has no annotation, its type is null until the
 * returns determine it. */
Schema *schema_of_def(Cx *, Unit *, const Tree *def, const char *qualified, const Type *self);
/* Returns the value of a constant expression: a literal, CONSTANTS.c0, a member of an enum ... Fails on other
 * expressions. hint: its type. May be null. */
IValue  constant_of_tree(Cx *, Unit *, const Tree *, const Type *hint);
/* Sets *device to the payload of an RT_DEVICE for "cpu", "cuda:1" ... Returns false if the text is no device. */
bool    device_of_text(const char *, int64_t *device);

/* ---- overload.c ------------------------------------------------------------------------------------------------ */

/* Argument of a call. name: null for a positional argument. The object of a method call has the name "self", and is
 * matched with the argument of that name. */
typedef struct NamedValue { const char *name; Value *v; Range at; } NamedValue;
/* Selects the overload of aten::name, converts the arguments at g's insertion point, emits the node and returns its
 * value. Several results become a tuple, none become None. version: version of the archive. Older archives use the
 * schemas and meanings of their time. 0 stands for no archive: an unknown name is then the user's error. */
Value *emit_builtin(Graph *, const char *name, Range, const NamedValue *, int n, int version);

typedef struct CallSite {          /* Call: its n arguments as written, and the graph into which nodes are inserted. */
	Graph *graph;
	Range  at;
	const NamedValue *arg;
	int    n;
} CallSite;

/* Returns the arguments in the order of the schema, with defaults and conversions. Null if they do not match. Then
 * appends the reason to *why, unless why is null. */
Value **match_schema(const CallSite *, const Schema *, bool convert, Buf *why);
/* Converts a value to the type. convert: whether implicit conversions are allowed. Null if it does not fit. */
Value *convert_implicitly(Graph *, Value *, const Type *to, bool convert, Range);
/* Emits the node, with all arguments of the schema. Output types are the schema's with type variables bound. */
Node  *emit_schema_node(Graph *, Op *, Range, Value *const *args, int n);

/* Sets the types of nout results for these inputs. Returns false if the schema does not determine them. */
bool   op_result_types(Cx *, Op *, Value *const *in, int n, const Type **out, int nout);
/* Returns the overload that accepts exactly these inputs. Null if there is none. */
Op    *op_of_inputs(Cx *, const char *name, Value *const *in, int n, int nout);

/* ---- builtin.c: operators that are TorchScript functions -------------------------------------------------------- */

/* Returns the index of the operator's next entry in builtin.def after `row`, which is -1 for the first call. -1 if
 * there are no more. */
int       builtin_next(const char *op, int row);
Function *builtin_row(Cx *, int row);
/* Returns the reason why no archive can call the operator. Null if it may be called. */
const char *builtin_refused(const char *op);
/* Returns the index of the entry for an archive of that version. -1 if the operator has not changed since. */
int       upgrader_find(const char *op, const char *overload, int version);
const Schema *upgrader_schema(Cx *, int row);
Function *upgrader_function(Cx *, int row);
/* Inlines the function and returns its result. The nodes have this Range. */
Value    *inline_function(Graph *, Function *, Range, Value *const *args);

/* ---- gradient.c: gradients of operators -------------------------------------------------------------------------- */

/* Returns the function of the operator's gradient: (arguments, gradients of results, results) -> a gradient or None for
 * each argument that can have one. Null if the operator has none. */
Function *op_gradient(Cx *, Op *);
/* Returns the operator as a function of other operators, which are differentiated instead. Null if it has none. */
Function *op_expansion(Cx *, Op *);
/* Whether the operator never has a gradient: its table entry declares it, its results are bool, or its arguments are
 * never floating. */
bool      op_is_flat(const Op *);
/* Returns 1 for Tensor and Tensor?, 2 for lists of these, 0 for types without gradients. */
int       gradient_rank(const Type *);

/* ---- sugar.c, env.c, emit_*.c, ssa.c, exit.c, refine.c: trees -> Graph ------------------------------------------- */

Graph *function_graph(Cx *, Function *);                   /* Compiles on first use. Recursion is an error. */
IValue enum_constant(Cx *, const Type *, const EnumMember *);          /* Value of the member. */

/* ---- hooks.c ------------------------------------------------------------------------------------------------ */

/* Returns a function that calls the hooks around forward. It is forward itself if there are no hooks. */
Function *forward_with_hooks(Cx *, Unit *, const Type *self, Function *forward);

/* ---- script.c: units, and entry points --------------------------------------------------------------------------- */

/* Resolves names of source text, from an archive's code/ folder, which is read on demand, or from definitions. */
Unit       *unit_new(Cx *, Archive *, int version);         /* The archive may be null. */
void        unit_set_constants(Unit *, IValue tuple);       /* Sets the table of CONSTANTS.cN. */
/* Finds the value of "c3" and the like, borrowed. Returns false if there is none. */
bool        unit_constant_value(const Unit *, const char *name, IValue *);
/* Defines the functions and classes of a text under names prefix.x. */
void        unit_define(Cx *, Unit *, const Source *, const char *prefix);
/* Adds further definitions to a unit under the prefix given to unit_define. Their function names include the prefix. */
void         unit_define_qualified(Cx *, Unit *, const Source *);
/* Returns the name of definition i. "" if it is not of this text. Null past the last one. */
const char  *unit_source_name(const Unit *, int i);
/* Returns a class, NamedTuple, enum or interface, which is read on demand. Null if there is none. */
const Type *unit_type(Cx *, Unit *, const char *qualified);
/* Returns a free function, or the method Class.method. Null if there is none. */
Function   *unit_function(Cx *, Unit *, const char *qualified);
Function   *script_compile(Cx *, const char *text, const char *name); /* Compiles one def, which uses only builtins. */
/* Sets op->function of an operator with a body, and of the operators that the body calls. */
void        ops_compile_body(Cx *, Op *);
/* Sets op->function of every operator with a body that the graph needs, directly or through other bodies. */
void        ops_compile_bodies(Cx *, Graph *);
void        ops_compile_all(Cx *, Function *); /* Likewise for a function and all functions that it calls. */
bool        unit_is_builtin_class(const char *qualified);   /* Whether it is one of __torch__.torch.classes.*. */

/* ---- irparse.c --------------------------------------------------------------------------------------------------- */

/* irtypes.c: fails unless the types written in the text agree with those that the nodes compute. */
void   ir_check_types(Cx *, Graph *, const char *path);
/* Reads IR text (ir/il.txt). unit: resolves names of classes. May be null. */
Graph *ir_parse(Cx *, const Source *, Unit *);

#endif
