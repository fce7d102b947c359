/* codegen/program/writer.h - the text of a specialized function in progress; private to its seven files
 *
 *    cgen_plan.c    the function: guards, control flow, beginning and end
 *    cgen_launch.c  steps that run a kernel
 *    cgen_call.c    steps that call the runtime
 *    cgen_step.c    tables of these calls and of guards
 *    cgen_box.c     expressions in steps: addresses, boxes, lines of the model
 *    trust.c        checks of indices on the GPU: when a call starts again in generic code
 *    direct.c       a sequence of kernels as a function of addresses, without frame and boxes */
#ifndef CODEGEN_WRITER_H
#define CODEGEN_WRITER_H

#include "program.h"

/* The tables of steps and guards in progress. */
typedef struct StepTables {
	Buf   step, operand, box, guard, stored, number;
	int   nstep, noperand, nbox, nguard, nstored, nnumber;
	Map   box_at;            /* 1 + the index of a box, by its text */
	int   given, got, made;  /* largest numbers of operands, results and made operands of one step */
	int   nmade_now;         /* number of made operands of the step in progress */
	int   first;             /* index of the first step that the last call of rt_steps runs */
	int64_t begin, end;      /* offsets in the text of the begin and end of that call */
} StepTables;

typedef struct Writer {
	Emit *emit;
	Plan *plan;
	Out   out;
	Arena *arena;
	const char *code;        /* C name of the generic code */
	Buf   head;              /* declarations of arrays of sizes, of a dynamic function */
	int   nhead;
	StepTables tables;
	uint32_t line;           /* index in code->place of the line of the node in progress */
	const char *remark;      /* text of that line until it has been written; then null */
	int   nloop, nkept;
	bool  packed; /* whether the constant in progress may stay packed, because the call reads packed weights */
	bool  all_returned;      /* for the GPU: whether a result of the function may contain any tensor */
	bool  may_fail;          /* whether the function has a jump to its label `failed` */
	struct Trust *trust;     /* checks of indices on the GPU; null in plans for the CPU */
	bool  direct;            /* whether the function only runs kernels, on in[] and out[] (direct.c) */
} Writer;

/* ---- cgen_box.c: c_* return a C expression ----------------------------------------------------------------- */

const char *c_number(Writer *, int64_t);                         /* a number that may depend on sizes */
const char *c_geometry(Writer *, const RtTensor *);              /* name of an array: dims, then strides */
/* Returns the address of byte `at` of a buffer in the arena. */
const char *c_spot(Writer *, const Buffer *, int64_t at);
/* Returns the address of a planned tensor's first element, plus `more` bytes. */
const char *c_address(Writer *, const Value *, int64_t more);
/* Returns the address of the tensor on the host. If the GPU's copy is newer, the expression fetches it. */
const char *c_home(Writer *, const Value *, int64_t more);
int         c_constant(Writer *, IValue);                         /* index of a constant in cx->value */
int         c_weight(Writer *, IValue);    /* the same index; the weights of the constant are unpacked on use */
int         slot_of(Writer *, const Value *);                    /* index in v[] of a value without buffer */
/* Whether the buffer's base box itself has the tensor's type. */
bool        c_is_base(Writer *, const Value *, const Buffer *);
const char *c_base_box(Writer *, const Buffer *);                /* the IValue of which a buffer's tensors are views */
const char *c_buffer(Writer *, const Value *); /* address of the first byte of the value's buffer, on the host */
const char *c_slot(Writer *, const Value *);                     /* the slot of a value without planned buffer */
const char *c_peek(Writer *, const Value *);    /* the same, or a constant; the reference is borrowed */
const char *c_truth(Writer *, const Value *);                    /* a bool or int as a C number */
/* Returns a new reference to the value as an IValue. `keep` tells whether it may outlive this step. */
const char *c_box(Writer *, const Value *, bool keep);

int64_t  tensor_offset(const RtTensor *);              /* offset of the first element in bytes */
uint32_t place_row(Writer *); /* index in the program's table of places of the node in progress */
const char *call_name(Writer *, const Node *);    /* name of a call of the runtime in the trace of --bench-code */
/* begins the entry of a launch or call in --info */
void     begin_launch_row(Writer *, const Node *, const char *kernel);
/* writes C that ends the function with its error if the condition `failed` holds */
void write_unless(Writer *, const char *failed);
/* writes C that marks the buffer as written by the host, so that the GPU's copy is old */
void write_stale(Writer *, const Buffer *);
void write_settle(Writer *); /* writes C after which the host can read any tensor, also one that was newer on the GPU */
bool type_holds_tensors(const Type *); /* whether a value of the type can be or contain a tensor */
void     note_line(Writer *, const Node *);            /* sets `line`, and `remark` if it is a new line */
void     write_remark(Writer *);                       /* writes the remark as a comment, once */

/* ---- cgen_call.c, cgen_launch.c ------------------------------------------------------------------------------ */

void write_assign(Writer *, const Value *, const char *expression);      /* assigns to the value's slot */
void write_new_box(Writer *, const Buffer *, const RtTensor *); /* allocates a box on the heap in the buffer's slot */
/* writes allocations of heap buffers before a kernel writes to them */
void write_boxes(Writer *, const Node *, int step);
void write_op(Writer *, const Node *);
void write_prim(Writer *, const Node *);
bool write_kernel(Writer *, const Node *);             /* returns false if the node has no generated kernel */

/* ---- trust.c: what steps read and write on the GPU -------------------------------------------------------------- */

/* whether the step only moves references and reads no elements of tensors */
bool moves_references(const Node *);
/* Whether a step of the runtime reads and writes no tensors but its operands, and the buffers of all operands are
 * known. */
bool is_confined(Writer *, const Node *);
struct Trust *trust_new(const Plan *);
void trust_allocated(Writer *, const Buffer *);        /* notes that the function itself allocates the buffer's box */
bool trust_is_fresh(const Writer *, const Buffer *);   /* whether it does */
/* Writes C before a step on the host: if an index was out of range, the call starts again in generic code. `nmade` is
 * the number of operands of the step that were made. Notes what the step writes. */
void write_trust(Writer *, const Node *, int nmade);
void write_trust_now(Writer *);                        /* writes the same for everything that was launched so far */
void write_trust_guard(Writer *);                      /* writes the same in a branch that leaves the function */
/* Prepares a launch. Returns whether the function waits for it, because generic code could not start again after it. */
bool write_trust_launch(Writer *, const CudaCall *);
/* Whether an earlier launch has checked the same indices, so that this one is not needed. */
bool trust_covers(Writer *, const CudaCall *);
/* Begins (by 1) or ends (by -1) the branches of an If, or the body of a loop. */
void trust_branches(Writer *, int by);
void trust_loop(Writer *, int by);
bool trust_restarts(const Writer *);                   /* whether the function has a jump to its label `again` */

/* ---- cgen_step.c --------------------------------------------------------------------------------------------- */

/* Writes a step that calls the runtime. `how` has the initializers of its RtStep. `keep` tells, by input, whether the
 * value may outlive the step. */
void write_call_row(Writer *, const Node *, const char *how, const bool *keep);
/* Adds a guard to the table and returns its index. `boxed` has, by input, a C expression for the live value, or
 * null. */
int  add_guard(Writer *, const Node *, const char *const *boxed, const char *why);
void write_tables(Writer *, Out *); /* writes the tables, and the frame that rt_steps and rt_bail need */

/* ---- direct.c ------------------------------------------------------------------------------------------------ */

/* writes the function of addresses and a call of it; returns false if the plan does not consist of kernels only */
bool write_direct(Writer *, const char *name);

#endif
