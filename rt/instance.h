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
	struct RtMem *mem, *before;      /* freed blocks of its calls; during a call, the thread's */
	int      busy;
	int      cancel;                 /* during a call: the thread's cancelability state before it */
	RtDoorOptions o;                 /* callbacks and numbers; its texts are the caller's and not read again */
	RtOuter  outer;                  /* the caller's pool */
	Buf      error;
	RtArrays given, results, state;  /* set by NAME_set; results of the last call; of NAME_state_get */
	bool     given_there;            /* whether an argument of the next call is on the device */
	bool     results_there;          /* whether results of the last call are, too */
	RtTensor **box;                  /* TYPED_MOST argument tensors for each function of C types, made on demand */
};

enum { TYPED_MOST = 16 };                /* most parameters of a function of C types */

/* ---- turn.c ---- */

bool rt_is_memory(const RtCx *);         /* is its error that memory ran out? */
/* Begins a call.  False: another call of this instance is in progress. */
bool rt_door_enter(RtDoor *);
/* Ends a call, stores the text of an error in the instance, and returns the status (RtDoorStatus) for the caller. */
int  rt_door_leave(RtDoor *, int status);
/* Called for each argument tensor when a call ends.  If the model keeps a reference to it, copies the caller's memory.
 * If there is no memory for the copy, the tensor becomes empty and an error is raised. */
int  rt_keep_apart(RtCx *, RtTensor *);

/* ---- typed.c ---- */

/* Calls a function of C types on zeros; every kernel computes only one part.  Allocates all memory that later calls
 * need. */
int  rt_door_try(RtDoor *, int which);

#endif
