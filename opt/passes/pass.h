/* opt/passes/pass.h - the pipeline while it runs; private to config.c and pass.c */
#ifndef OPT_PASSES_PASS_H
#define OPT_PASSES_PASS_H

#include "../opt.h"

typedef struct PassRow {         /* one row of passes.def */
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
	int     stop_at;                 /* number of the last step to run, among the steps named `stop`, from 1 */
	int     ndone[NROW]; /* Changes so far.  Those of a pass with several rows are counted at its first row. */
	PassStage until_stage;
	int     level;
	int     detail;                  /* value of Cx.type_detail for dumps */
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

struct Config *pass_config(Cx *);                        /* makes the configuration if there is none */
const PassRow *pass_row(const char *name);               /* The first row with this name.  Null if there is none. */
/* The last option for this pass or for "all".  Null if there is none. */
const Option  *find_pass_option(const Options *, const char *name);
/* Finds step i of the pipeline: all rows of the first stage, then of the second.  Rows that are disabled count too, so
 * that a step has the same name at every level.  Sets *nth to the step's number among those of its name, from 1.
 * Returns the row.  -1 if there is no such step. */
int            find_pass_step(int i, PassStage *stage, int *nth);

#endif
