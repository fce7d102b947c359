/* ir/lower.h - the lowering of a graph to RtCode: what code.c, codeinsn.c and codeflow.c share; private to them */
#ifndef IR_LOWER_H
#define IR_LOWER_H

#include "ir.h"

/* The functions that one code_lower lowers. */
typedef struct Work {
	Cx         *cx;
	LackingVec *lacking;
	bool        unchanged;   /* functions are lowered from their unprepared graphs */
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
	int     *hint;           /* by value id: its preferred register, + 1; 0: none */
	Vec(bool) busy;          /* by register: holds a live value */
	Vec(bool) kept;          /* by register: reserved by an If or Loop in progress */
	Vec(int) spare;          /* free registers */
	Range    at;             /* of the node being lowered */
	Frame   *inlined;
	Range    placed;         /* of the latest instruction, and the index of its place */
	Frame   *placed_in;
	int      place_now;
	Map      index;          /* of all tables: a letter and a key -> index + 1 */
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
	Vec(Handler) handler;    /* not yet emitted */
} Lower;

/* ---- codeinsn.c: tables, registers, instructions -------------------------------------------------- */

/* Indices in the code's tables; new entries are added. */
int index_of_kernel(Lower *, Op *, const char *name);
int index_of_type(Lower *, const Type *);
int index_of_callee(Lower *, const RtCode *);
int index_of_string(Lower *, const char *);
int index_of_constant(Lower *, IValue);

int      reg_take(Lower *);
void     reg_free(Lower *, int reg);                     /* its value is dead */
uint32_t reg_define(Lower *, Value *);                   /* a register for the value: the preferred one if it is free */

/* Appends an instruction and returns its index.  Its operands are added next: inputs, then outputs. */
int      insn_emit(Lower *, RtOpcode, uint32_t arg);
void     insn_in(Lower *, uint32_t operand);
void     insn_out(Lower *, uint32_t operand);
uint32_t insn_use(Lower *, const Node *, int i);  /* input i as an operand; frees the register after a last use */
void     insn_use_from(Lower *, const Node *, int first);
void     insn_define_all(Lower *, Node *);
void     insn_node(Lower *, Node *, RtOpcode, uint32_t arg);          /* the common form: all inputs, all outputs */
void     insn_target(Lower *, int insn);          /* sets its target: the next instruction */
void     insn_clear_dead(Lower *, const Node *);  /* clears registers whose values die at the node */
uint32_t insn_constant(Lower *, IValue);          /* loads it; the register */
bool     use_is_static(const Node *, int i);      /* is it read at lowering only, not when the code runs? */

/* Index of the method's key; all classes that have the method get it in their tables. */
uint32_t need_method(Lower *, const Type *interface, const char *name);

/* ---- codeflow.c: If, Loop, with --------------------------------------------------------------------- */

void lower_if(Lower *, Node *);
void lower_loop(Lower *, Node *);
void lower_enter(Lower *, Node *);
void lower_exit(Lower *, Node *);
void lower_handlers(Lower *);                            /* of with-scopes, behind the function's end */

/* ---- code.c ------------------------------------------------------------------------------------------- */

RtCode *lower_code_of(Work *, Function *);               /* may be filled in later */
void    lower_nodes(Lower *, Block *);

#endif
