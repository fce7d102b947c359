/* opt/passes/pass.h - the pipeline while it runs; private to config.c and pass.c */
#ifndef OPT_PASSES_PASS_H
#define OPT_PASSES_PASS_H

#include "../opt.h"

typedef struct PassRow {         /* a row of passes.def */
	const char *name;
	int         stages, level;
	bool        loses;       /* whether a change by the pass outdates the alias database */
} PassRow;

enum {
	NROW = 0
#define PASS(name, stages, level, loses, what) + 1
#include "passes.def"
#undef PASS
};

extern const PassRow pass_rows[NROW];

typedef struct Option { const char *name; int n; } Option;      /* a pass and its number: dce:2, dce=12 */
typedef Vec(Option) Options;

struct Config {
	Options dumps, limits, passes, without;
	const char *stop, *until;
	int     stop_at;                 /* which step named `stop` is the last to run, from 1 */
	int     ndone[NROW];             /* changes so far, at the first row of the pass */
	PassStage   until_stage;
	int     level;
	int     detail;                  /* Cx.type_detail of dumps */
	bool    timed, lint;
	int64_t ns[NROW];
	Peers   peers;
};

typedef struct Run {             /* passes that run one after another over one graph */
	Cx       *cx;
	Function *fn;
	IValue    self;
	Arena     memory;        /* holds the alias database */
	AliasDb  *alias;
} Run;

struct Config *pass_config(Cx *);                        /* made when it is first asked for */
const PassRow *pass_row(const char *name);               /* the first row with this name; null if there is none */
const Option  *find_pass_option(const Options *, const char *name);      /* the last for this pass or "all"; or null */
/* Finds step i of the pipeline: all rows of the first stage, then of the second.  Rows that are off count too, so that
 * a step has the same name at every level.  Returns the row, or -1.  *nth: its number among the steps of its name, from
 * 1. */
int            find_pass_step(int i, PassStage *stage, int *nth);

#endif
