/* rt/instance.h - what an instance of a library is: door.c, typed.c */
#ifndef RT_INSTANCE_H
#define RT_INSTANCE_H

#include "base.h"
#include "door.h"
#include "host.h"

struct RtDoor {
	RtCx     cx;
	RtProgram own;                   /* the tables, with the weights where they are */
	const RtDoorProgram *door;
	RtEntry  entry;
	struct RtMem *mem, *before;      /* what its calls keep; during a call: what the thread keeps */
	int      busy;
	int      cancel;                 /* during a call: whether the thread could be cancelled before it */
	RtDoorOptions o;                 /* callbacks and numbers; texts are the caller's, and not looked at again */
	RtOuter  outer;                  /* the caller's pool */
	Buf      error;
	RtArrays given, results, state;  /* by NAME_set, for the next call; of the last call; of NAME_state_get */
	RtTensor **box;                  /* for each function of C types, TYPED_MOST: arguments, once they are made */
};

enum { TYPED_MOST = 16 };                /* parameters of a function of C types */

/* False: another call of this instance is going on. */
bool rt_door_enter(RtDoor *);
/* Ends what rt_door_enter began, makes the instance's text of an error, and returns the status (RtDoorStatus) that the
 * caller sees. */
int  rt_door_leave(RtDoor *, int status);
/* Of an argument's box, when a call ends: if the model keeps it, it gets a copy of the caller's memory.  Without memory
 * for that it becomes empty: an error. */
int  rt_keep_apart(RtCx *, RtTensor *);

/* ---- typed.c ---- */

/* One call of a function of C types on zeros in which every kernel makes one part: then all that later calls take is
 * there. */
int  rt_door_try(RtDoor *, int which);

#endif
