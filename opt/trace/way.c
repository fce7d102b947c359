/*
 * Records the path of a run: every turn that its code takes, in order.
 *
 * A turn is a branch, a loop trip that begins or not, or the class of an object whose method is called by name.  In
 * code lowered from the graph as it was read, every prim::If is one branch, and only turns leave the path open.  Bodies
 * of operators are not code of the model, and are ignored.  Forked calls run at once while the run is watched, so that
 * turns are recorded in the order of the code.
 */
#include "trace.h"

enum { MOST_TURNS = 4000000 };

static void
add_turn(Way *w, Turn t)
{
	if (w->at.n < MOST_TURNS)
		vec_push(w->cx->arena, &w->at, t);
	else
		w->cut = true;
}

static void
probe(RtCx *rt, const RtCode *code, int pc, int index, IValue v)
{
	Turn t = { .code = code, .pc = pc };

	(void)index;
	if (strstr(code->name, "::"))
		return;
	switch (code->insn[pc].op) {
	case RT_DO_BRANCH:
	case RT_DO_LOOP:
		t.went = v.u.i != 0;
		break;
	case RT_DO_CALL_METHOD:
		t.cls = v.tag == RT_OBJECT ? v.u.obj->cls : NULL;
		break;
	default:
		return;
	}
	add_turn(rt->probe_arg, t);
}

void
way_watch(Way *w, Cx *cx, RtCx *rt)
{
	RT_ASSERT(!rt->probe);
	*w = (Way){ .cx = cx };
	rt->probe = probe;
	rt->probe_arg = w;
}
