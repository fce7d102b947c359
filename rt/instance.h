/* rt/instance.h - the state of a library's instance; private to door.c and typed.c */
#ifndef RT_INSTANCE_H
#define RT_INSTANCE_H

#include "base.h"
#include "door.h"
#include "host.h"

struct RtDoor {
	RtCx     cx;
	RtProgram own;                   /* copy of the program's tables, with the address of the weights */
	const RtDoorProgram *door;
	RtEntry  entry;
	/* blocks that the instance's calls keep; blocks of the calling thread, during a call */
	struct RtMem *mem, *before;
	int      busy;
	int      cancel;                 /* cancelability state of the calling thread before the call */
	RtDoorOptions options;    /* options of the caller; its texts are not read after the instance was opened */
	RtOuter  outer;                  /* the caller's pool */
	Buf      error;
	/* arguments set by NAME_set; results of the last call; result of NAME_state_get */
	RtArrays given, results, state;
	bool     given_there;            /* whether an argument of the next call is on the device */
	bool     results_there;          /* whether results of the last call are on the device */
	RtTensor **box;    /* TYPED_MOST argument tensors for each function of C types, made when they are needed */
};

enum { TYPED_MOST = 16 };                /* largest number of parameters of a function of C types */

/* ---- turn.c: begin and end of calls --- */

bool rt_is_memory(const RtCx *);         /* whether the error is a lack of memory */
/* Begins a call. Returns false if the instance is in another call. */
bool rt_door_enter(RtDoor *);
/* Ends a call. Stores the text of an error in the instance, and returns the status for the caller (RtDoorStatus). */
int  rt_door_leave(RtDoor *, int status);
/* Makes an argument tensor independent of the caller's memory when a call ends. Copies the memory if the model keeps a
 * reference to the tensor. If there is no memory for the copy, the tensor becomes empty and an error is raised. */
int  rt_keep_apart(RtCx *, RtTensor *);

/* ---- typed.c ---- */

/* Calls a function of C types on zeros. Every kernel computes only one part. This allocates all memory that later calls
 * need. */
int  rt_door_try(RtDoor *, int which);

#endif
