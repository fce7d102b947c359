/* codegen/program/writer.h - the text of a specialized function while it is written; private to its six files
 *
 *   cgen_plan.c    the function: guards, control flow, beginning and end
 *   cgen_launch.c  steps that run a kernel
 *   cgen_call.c    steps that call the runtime
 *   cgen_step.c    tables of these calls and of guards
 *   cgen_box.c     expressions in steps: addresses, boxes, lines of the model
 *   direct.c       kernels in a row, which a function of C types calls past frame and boxes
 */
#ifndef CODEGEN_WRITER_H
#define CODEGEN_WRITER_H

#include "program.h"

/* The tables of steps and guards while they are written. */
typedef struct StepTables {
	Buf   step, operand, box, guard, stored, number;
	int   nstep, noperand, nbox, nguard, nstored, nnumber;
	Map   box_at;            /* text of a box -> 1 + its index */
	int   given, got, made;  /* most operands, results and made operands of one step */
	int   nmade_now;         /* number of made operands of the row being written */
	int   first;             /* index of the first step that the last call runs */
	int64_t begin, end;      /* offsets in the text at which that call begins and ends */
} StepTables;

typedef struct Writer {
	Emit *e;
	Plan *p;
	Out   out;
	Arena *a;
	const char *code;        /* C name of the generic code */
	Buf   head;              /* dynamic function: declarations of arrays of sizes */
	int   nhead;
	StepTables tables;
	uint32_t line;           /* place of the node being written, an index in code->place */
	const char *remark;      /* text of that line until it has been written; else null */
	int   nloop, nkept;
	bool  packed; /* whether the constant being named may stay packed, because the call reads its parts */
	bool  all_returned;      /* of a plan for the GPU: whether a result may hold any tensor */
	bool  may_fail;          /* whether the function jumps to its label `failed` */
	bool  direct;            /* whether the function runs only kernels, on in[] and out[] (direct.c) */
} Writer;

/* ---- cgen_box.c: c_* give a C expression ------------------------------------------------------------------- */

const char *c_number(Writer *, int64_t);                         /* number that sizes may decide */
const char *c_geometry(Writer *, const RtTensor *);              /* name of an array: dims, then strides */
/* Returns the address of that byte of a buffer in the arena. */
const char *c_spot(Writer *, const Buffer *, int64_t at);
/* Returns the address of a planned tensor's first element, plus `more` bytes. */
const char *c_address(Writer *, const Value *, int64_t more);
/* Returns the same on the host, even if the GPU's copy is newer. */
const char *c_home(Writer *, const Value *, int64_t more);
int         c_constant(Writer *, IValue);                         /* index of a constant in cx->value */
int         c_weight(Writer *, IValue);                           /* the same for a constant that is unpacked on use */
int         slot_of(Writer *, const Value *);                    /* index in v[] of a value that has no buffer */
/* Does the base box itself have this tensor's type? */
bool        c_is_base(Writer *, const Value *, const Buffer *);
const char *c_base_box(Writer *, const Buffer *);                /* IValue that a buffer's tensors are views of */
const char *c_buffer(Writer *, const Value *); /* address of the first byte of the value's buffer, on the host */
const char *c_slot(Writer *, const Value *);                     /* slot of a value that has no planned buffer */
const char *c_peek(Writer *, const Value *);                     /* the same, or a constant; a borrowed reference */
const char *c_truth(Writer *, const Value *);                    /* a bool or int as a C number */
/* Returns a new reference to any value as an IValue. keep: it may outlive this step. */
const char *c_box(Writer *, const Value *, bool keep);

int64_t  tensor_offset(const RtTensor *);              /* offset in bytes */
uint32_t place_row(Writer *); /* row of the node being written in the program's table of places */
const char *call_name(Writer *, const Node *);           /* name of a call of the runtime in a trace (--bench-code) */
/* begins the row of a launch or call in --info */
void     begin_launch_row(Writer *, const Node *, const char *kernel);
/* writes C that ends the function with its error if the condition holds */
void write_unless(Writer *, const char *failed);
void write_stale(Writer *, const Buffer *); /* notes that the host has written the buffer, so the GPU's copy is old */
void write_settle(Writer *); /* writes C that lets the host read any tensor, also one that is newer on the GPU */
bool type_holds_tensors(const Type *); /* can a value of the type be or hold a tensor? */
void     note_line(Writer *, const Node *);            /* sets line, and remark if the line is a new one */
void     write_remark(Writer *);                       /* writes the remark as a comment, once */

/* ---- cgen_call.c, cgen_launch.c ------------------------------------------------------------------------------ */

void write_assign(Writer *, const Value *, const char *expression);      /* assigns to the value's slot */
void write_new_box(Writer *, const Buffer *, const RtTensor *); /* allocates a box on the heap in the buffer's slot */
/* allocates the boxes of heap buffers before a kernel writes to them */
void write_boxes(Writer *, const Node *, int step);
void write_op(Writer *, const Node *);
void write_prim(Writer *, const Node *);
bool write_kernel(Writer *, const Node *);             /* returns false if the node has no generated form */

/* ---- cgen_step.c --------------------------------------------------------------------------------------------- */

/* Writes a step that calls the runtime.  how: initializers of its RtStep.  keep: by input, whether the value may
 * outlive the step. */
void write_call_row(Writer *, const Node *, const char *how, const bool *keep);
/* Adds a guard to the table and returns its index.  boxed: by input, a C expression for the live value, or null. */
int  add_guard(Writer *, const Node *, const char *const *boxed, const char *why);
void write_tables(Writer *, Out *); /* writes the tables, and the frame that rt_steps and rt_bail use */

/* ---- direct.c ------------------------------------------------------------------------------------------------ */

/* writes that function and its call; returns false if there can be none */
bool write_direct(Writer *, const char *name);

#endif
