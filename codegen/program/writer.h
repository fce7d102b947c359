/* codegen/program/writer.h - the text of a specialized function while it is written; private to its five files
 *
 *   cgen_plan.c    the function: guards, control flow, beginning and end
 *   cgen_launch.c  steps that run a kernel
 *   cgen_call.c    steps that call the runtime
 *   cgen_box.c     expressions in steps: addresses, boxes, lines of the model
 *   direct.c       kernels in a row, which a function of C types calls past frame and boxes
 */
#ifndef CODEGEN_WRITER_H
#define CODEGEN_WRITER_H

#include "program.h"

typedef struct Writer {
	Emit *e;
	Plan *p;
	Out   out;
	Arena *a;
	const char *code;        /* C name of the generic code */
	Buf   head;              /* of a dynamic function: arrays of sizes */
	int   nhead;
	uint32_t line;           /* of the node being written, in code->place */
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
void     write_comment(Writer *, const Node *);        /* the line of the model that it comes from, once */

/* ---- cgen_call.c, cgen_launch.c ------------------------------------------------------------------------------ */

void write_unless(Writer *, const char *failed);                 /* else the function ends with the error */
void write_assign(Writer *, const Value *, const char *expression);      /* to its slot */
void write_new_box(Writer *, const Buffer *, const RtTensor *);          /* on the heap, into the buffer's slot */
void write_boxes(Writer *, const Node *, int step);    /* those that heap buffers need before a kernel writes to them */
void write_stale(Writer *, const Buffer *);            /* the host has written it */
void write_op(Writer *, const Node *);
void write_prim(Writer *, const Node *);
bool write_kernel(Writer *, const Node *);             /* false: not a form that is generated */

/* ---- direct.c ------------------------------------------------------------------------------------------------ */

bool write_direct(Writer *, const char *name);         /* and calls it; false: there is no such function */

#endif
