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
	int   given, got, made;  /* Most operands, results and made operands of one step. */
	int   nmade_now;         /* Number of made operands of the row being written. */
	int   first;             /* Index of the first step that the last call runs. */
	int64_t begin, end;      /* Offsets in the text where that call begins and ends. */
} StepTables;

typedef struct Writer {
	Emit *e;
	Plan *p;
	Out   out;
	Arena *a;
	const char *code;        /* C name of the generic code */
	Buf   head;              /* of a dynamic function: arrays of sizes */
	int   nhead;
	StepTables tables;
	uint32_t line;           /* of the node being written, in code->place */
	const char *remark;      /* Text of that line, if it has not been written yet. Else null. */
	int   nloop, nkept;
	bool  packed;            /* the constant that is named need not be there as it is: a call reads its parts */
	bool  direct;            /* of kernels alone, on in[] and out[]: direct.c */
} Writer;

/* ---- cgen_box.c: c_* give a C expression ------------------------------------------------------------------- */

const char *c_number(Writer *, int64_t);                         /* of a number that sizes may decide */
const char *c_geometry(Writer *, const RtTensor *);              /* of an array: dims, then strides */
/* of the address of that byte of a buffer in the arena */
const char *c_spot(Writer *, const Buffer *, int64_t at);
/* of a planned tensor's first element, and `more` bytes on */
const char *c_address(Writer *, const Value *, int64_t more);
/* the same, on the host, where a GPU may have it newer */
const char *c_home(Writer *, const Value *, int64_t more);
int         c_constant(Writer *, IValue);                         /* Index of a constant in cx->value. */
int         slot_of(Writer *, const Value *);                    /* Index in v[] of a value that has no buffer. */
/* Whether the base box itself has this tensor's type. */
bool        c_is_base(Writer *, const Value *, const Buffer *);
const char *c_base_box(Writer *, const Buffer *);                /* the IValue that a buffer's tensors are views of */
const char *c_buffer(Writer *, const Value *);                   /* of the first byte of its buffer, on the host */
const char *c_slot(Writer *, const Value *);                     /* of what is no planned tensor: its place */
const char *c_peek(Writer *, const Value *);                     /* the same, or a constant; no reference of its own */
const char *c_truth(Writer *, const Value *);                    /* of a bool or int as a C number */
/* Of a new reference to any value as an IValue; keep: it may outlive this step. */
const char *c_box(Writer *, const Value *, bool keep);

int64_t  tensor_offset(const RtTensor *);              /* in bytes */
uint32_t place_row(Writer *);                          /* of the node being written, in the program's table of places */
const char *call_name(Writer *, const Node *);           /* of a call of the runtime in a trace: --bench-code */
void     begin_launch_row(Writer *, const Node *, const char *kernel);     /* of a launch or call in --info */
void write_unless(Writer *, const char *failed); /* ends the function with its error if the condition holds */
void write_stale(Writer *, const Buffer *);            /* the host has written the buffer */
void     note_line(Writer *, const Node *);            /* Sets line, and remark if the line is a new one. */
void     write_remark(Writer *);                       /* Writes the remark as a comment, once. */

/* ---- cgen_call.c, cgen_launch.c ------------------------------------------------------------------------------ */

void write_assign(Writer *, const Value *, const char *expression);      /* to its slot */
void write_new_box(Writer *, const Buffer *, const RtTensor *);          /* on the heap, into the buffer's slot */
void write_boxes(Writer *, const Node *, int step);    /* those that heap buffers need before a kernel writes to them */
void write_op(Writer *, const Node *);
void write_prim(Writer *, const Node *);
bool write_kernel(Writer *, const Node *);             /* false: not a form that is generated */

/* ---- cgen_step.c --------------------------------------------------------------------------------------------- */

/* Writes a step that calls the runtime.  how: initializers of its RtStep.  keep: by input, whether the value may
 * outlive the step. */
void write_call_row(Writer *, const Node *, const char *how, const bool *keep);
/* Adds a guard to the table and returns its index.  boxed: by input, a C expression for the live value, or null. */
int  add_guard(Writer *, const Node *, const char *const *boxed, const char *why);
void write_tables(Writer *, Out *);                    /* The tables, and the frame that rt_steps and rt_bail take. */

/* ---- direct.c ------------------------------------------------------------------------------------------------ */

bool write_direct(Writer *, const char *name);         /* and calls it; false: there is no such function */

#endif
