/* codegen/cli/userop.c - the user's own operators: --op-schema with C (--op) or TorchScript (--op-body)
 *
 * The schema is added to the registry of operators. The C file is compiled twice: for this machine, because profiling
 * and kiln run call it, and with the program, for its target. Only the command line can name such a file, never an
 * archive. */
#include "cli.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOWHERE ((Range){ 0 })

/* Returns the C symbol of an operator: my::magic.out -> my_magic_out. */
static char *
symbol_of(Cx *cx, const Schema *s)
{
	const char *dot = s->overload[0] ? "_" : "";
	char *name = arena_printf(cx->arena, "%s%s%s", s->name, dot, s->overload), *to = name;

	for (const char *from = name; *from; from++)
		if (from[0] != ':' || from[1] != ':')
			*to++ = *from == ':' || *from == '.' ? '_' : *from;
	*to = 0;
	return name;
}

/* Returns the text of --op-body for this operator. Null if it has none. */
static const char *
body_of(Cli *cli, const Schema *s)
{
	const char *full = s->overload[0] ? arena_printf(cli->cx->arena, "%s.%s", s->name, s->overload) : s->name;
	const size_t n = strlen(full);

	for (int i = 0; i < cli->op_bodies.n; i++)
		if (!strncmp(cli->op_bodies.at[i], full, n) && cli->op_bodies.at[i][n] == '=')
			return arena_printf(cli->cx->arena, "%s\n", cli->op_bodies.at[i] + n + 1);
	return NULL;
}

typedef struct UserOps { Cli *cli; Vec(Op *) compiled; int nbody; } UserOps;

static void
add_schema(UserOps *u, const char *text)
{
	Cx *cx = u->cli->cx;
	const Schema *s = schema_parser(cx, text);
	const char *body = body_of(u->cli, s);
	Op *op;

	if (!strstr(s->name, "::"))
		fail(cx, NOWHERE, "--op-schema '%s': the name needs a namespace, as in my::%s", text, s->name);
	if (op_find(cx, s->name, s->overload))
		fail(cx, NOWHERE, "--op-schema '%s': Kiln has an operator of this name already", text);
	if (s->vararg || s->varret)
		fail(cx, NOWHERE, "--op-schema '%s': ... is allowed in PyTorch's own schemas only", text);
	op = op_add_user(cx, text, symbol_of(cx, s), body);
	u->nbody += body != NULL;
	if (!body)
		vec_push(cx->arena, &u->compiled, op);
}

/* Compiles the C files to a shared object and loads it. Uses the C compiler, or the one inside Kiln. */
static void
load_operators(Cx *cx, const char *dir, void *arg)
{
	UserOps *u = arg;
	const char *cc = u->cli->cc && !u->cli->target ? u->cli->cc : getenv("CC");
	const char *object = arena_printf(cx->arena, "%s/operators.so", dir);
	void *loaded, *symbol;

	operators_header(cx, dir);
	cc = cc && cc[0] ? cc : "cc";
	if (!strcmp(cc, "tcc") || !build_operators(cx, dir, cc, &u->cli->ops, object))
		tcc_shared(cx, dir, &u->cli->ops, object);
	loaded = dlopen(object, RTLD_NOW | RTLD_LOCAL);
	if (!loaded)
		fail(cx, NOWHERE, "--op: %s", dlerror());
	for (int i = 0; i < u->compiled.n; i++) {
		Op *op = u->compiled.at[i];

		symbol = dlsym(loaded, op->id);
		if (!symbol)
			fail(cx, NOWHERE, "the files of --op define no function %s, the kernel of %s", op->id,
			     op->name);
		memcpy(&op->kernel, &symbol, sizeof symbol);
	}
}

void
user_operators(Cli *cli)
{
	UserOps u = { .cli = cli };

	for (int i = 0; i < cli->op_schemas.n; i++)
		add_schema(&u, cli->op_schemas.at[i]);
	if (u.nbody < cli->op_bodies.n)
		usage_error(cli, "--op-body wants NAME=TEXT, where NAME is the name of an --op-schema");
	if (cli->ops.n && !u.compiled.n)
		usage_error(cli, "--op wants an --op-schema for each operator in the file");
	for (int i = 0; i < cli->ops.n; i++)
		if (access(cli->ops.at[i], R_OK))
			fail(cli->cx, NOWHERE, "%s: cannot be read", cli->ops.at[i]);
	if (cli->ops.n)
		process_folder(cli->cx, load_operators, &u);
}
