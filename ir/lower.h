/* ir/lower.h - lowering of a graph to RtCode, private to code.c, codeinsn.c and codeflow.c */
#ifndef IR_LOWER_H
#define IR_LOWER_H

#include "ir.h"

/* Functions that one call of code_lower lowers. */
typedef struct Work {
	Cx         *cx;
	LackingVec *lacking;
	bool        unchanged;   /* Whether to lower the graphs before any pass. */
	Vec(Function *) todo;
	Vec(const char *) virtual_name;        /* Methods that are called through interfaces. */
	Vec(const Type *) virtual_type;
} Work;

typedef struct Handler {         /* Exception handler of a with-scope. */
	int          enter;      /* Index of its RT_DO_ENTER. */
	const Value *object;
	Range        at;
} Handler;

typedef struct Lower {
	Work    *work;
	Cx      *cx;
	Function *fn;
	Graph   *graph;
	RtCode  *code;
	LastUse *last;
	int     *hint;           /* Preferred register + 1 of each value, by value id. 0 if it has none. */
	Vec(bool) busy;          /* Whether the register holds a live value. */
	Vec(bool) kept;          /* Whether an If or Loop in progress reserves the register. */
	Vec(int) spare;          /* Free registers. */
	Range    at;             /* Source range of the node that is being lowered. */
	Frame   *inlined;
	Range    placed;         /* Source range of the latest instruction. place_now is its place. */
	Frame   *placed_in;
	int      place_now;
	Map      index;          /* Entry + 1 in a table, by the letter of the table and a key. */
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
	Vec(char) text;          /* Texts of the places, each with a final 0. */
	Vec(Handler) handler;    /* Handlers to emit after the function's end. */
	void   (*node)(struct Lower *, Node *);        /* Lowers a node. Called for the nodes of nested blocks. */
} Lower;

/* ---- codeinsn.c: tables, registers, instructions -------------------------------------------------- */

/* Return the index of an entry in a table of the code. They add the entry if it is new. */
int index_of_kernel(Lower *, Op *, const char *name);
int index_of_type(Lower *, const Type *);
int index_of_callee(Lower *, const RtCode *);
int index_of_string(Lower *, const char *);
int index_of_constant(Lower *, IValue);

int      reg_take(Lower *);
void     reg_free(Lower *, int reg);                     /* Frees a register, whose value must be dead. */
uint32_t reg_define(Lower *, Value *); /* Takes a register for the value: the preferred one if that is free. */

/* Appends an instruction and returns its index.  Its operands are added next: inputs, then outputs. */
int      insn_emit(Lower *, RtOpcode, uint32_t arg);
void     insn_in(Lower *, uint32_t operand);
void     insn_out(Lower *, uint32_t operand);
/* Returns input i as an operand. Frees its register after the last use. */
uint32_t insn_use(Lower *, const Node *, int i);
void     insn_use_from(Lower *, const Node *, int first);
void     insn_define_all(Lower *, Node *);
/* Emits an instruction with all inputs and outputs of the node. */
void     insn_node(Lower *, Node *, RtOpcode, uint32_t arg);
void     insn_target(Lower *, int insn);          /* Makes the next instruction the jump target of `insn`. */
void     insn_clear_dead(Lower *, const Node *);  /* Emits a clear of registers whose values die at the node. */
uint32_t insn_constant(Lower *, IValue);          /* Loads the constant and returns its register. */
bool     use_is_static(const Node *, int i); /* Whether only the lowering reads input i, not the code at run time. */

/* Returns the index of the method's key, and adds the method to all classes that have it. */
uint32_t need_method(Lower *, const Type *interface, const char *name);

/* Returns the key of the method in a class's table. Unchanged code has keys of its own. */
const char *lower_key_of(const Work *, const Type *interface, const char *name);
/* Returns the code of the function, which may be filled in later. */
RtCode *lower_code_of(Work *, Function *);

/* ---- codeflow.c: blocks, If, Loop, with --------------------------------------------------------------- */

void lower_nodes(Lower *, Block *);
void lower_if(Lower *, Node *);
void lower_loop(Lower *, Node *);
void lower_enter(Lower *, Node *);
void lower_exit(Lower *, Node *);
void lower_handlers(Lower *); /* Emits the handlers of with-scopes after the function's end. */

#endif
