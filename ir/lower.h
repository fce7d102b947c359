/* ir/lower.h - the lowering of a graph to RtCode: what code.c, codeinsn.c and codeflow.c share; private to them */
#ifndef IR_LOWER_H
#define IR_LOWER_H

#include "ir.h"

/* All that one code_lower lowers. */
typedef struct Work {
	Cx         *cx;
	LackingVec *lacking;
	bool        unchanged;   /* functions are lowered as they were read */
	Vec(Function *) todo;
	Vec(const char *) virtual_name;        /* methods called through interfaces */
	Vec(const Type *) virtual_type;
} Work;

typedef struct Handler {         /* of a with-scope */
	int          enter;      /* its RT_DO_ENTER */
	const Value *object;
	Range        at;
} Handler;

typedef struct Lower {
	Work    *w;
	Cx      *cx;
	Function *fn;
	Graph   *g;
	RtCode  *code;
	LastUse *last;
	int     *hint;           /* by value id: the register where it is wanted, + 1 */
	Vec(bool) busy;          /* by register: holds a value that lives */
	Vec(bool) kept;          /* by register: belongs to an If or Loop in progress */
	Vec(int) spare;          /* registers to be given out again */
	Range    at;             /* of the node being lowered */
	Frame   *inlined;
	Range    placed;         /* the same of the latest instruction, and the index of its place */
	Frame   *placed_in;
	int      place_now;
	Map      index;          /* of all tables: a letter and the thing -> its index + 1 */
	Vec(RtInsn) insn;
	Vec(uint32_t) operand;
	Vec(RtKernel *) kernel;
	Vec(const char *) kernel_name;
	Vec(uint32_t) kernel_use;
	Vec(IValue) constant;
	Vec(const RtType *) type;
	Vec(const RtCode *) callee;
	Vec(const char *) string;
	Vec(RtPlaceName) place;
	Vec(char) text;          /* of places */
	Vec(Handler) handler;    /* still to be written */
} Lower;

/* ---- codeinsn.c: tables, registers, instructions -------------------------------------------------- */

/* The index in the code's table of the thing, which is added when it is new. */
int index_of_kernel(Lower *, Op *, const char *name);
int index_of_type(Lower *, const Type *);
int index_of_callee(Lower *, const RtCode *);
int index_of_string(Lower *, const char *);
int index_of_constant(Lower *, IValue);

int      reg_take(Lower *);
void     reg_free(Lower *, int reg);                     /* the value in it is dead */
uint32_t reg_define(Lower *, Value *);                   /* the value's register, the wanted one if it is free */

/* Appends an instruction without operands; its index.  Operands follow: inputs, then outputs. */
int      insn_emit(Lower *, RtOpcode, uint32_t arg);
void     insn_in(Lower *, uint32_t operand);
void     insn_out(Lower *, uint32_t operand);
uint32_t insn_use(Lower *, const Node *, int i);  /* input i as an operand; free afterwards when that is its last use */
void     insn_use_from(Lower *, const Node *, int first);
void     insn_define_all(Lower *, Node *);
void     insn_node(Lower *, Node *, RtOpcode, uint32_t arg);          /* op out... <- in...: the shape of most */
void     insn_target(Lower *, int insn);          /* it jumps to what comes next */
void     insn_clear_dead(Lower *, const Node *);  /* releases what dies with it (or at the start of its block) */
uint32_t insn_constant(Lower *, IValue);          /* the register that it is loaded into */
bool     use_is_static(const Node *, int i);      /* read while lowering, and not when the code runs? */

/* the index of its key, and all classes that have it get it */
uint32_t need_method(Lower *, const Type *interface, const char *name);

/* ---- codeflow.c: If, Loop, with --------------------------------------------------------------------- */

void lower_if(Lower *, Node *);
void lower_loop(Lower *, Node *);
void lower_enter(Lower *, Node *);
void lower_exit(Lower *, Node *);
void lower_handlers(Lower *);                            /* of the with-scopes, behind the function's end */

/* ---- code.c ------------------------------------------------------------------------------------------- */

RtCode *lower_code_of(Work *, Function *);               /* may still have to be filled in */
void    lower_nodes(Lower *, Block *);

#endif
