/* codegen/cli/cmd_targets.c - kiln targets: lists the targets that this machine can build for */
#include "cli.h"

typedef struct Row { const char *triple, *cc, *lacks, *runner; bool runner_lacks, is_bare; } Row;

static Row
target_row(Cx *cx, const Target *t)
{
	Row r = { .triple = target_triple(t), .runner = target_runner(cx, t), .is_bare = target_is_bare(t) };

	r.lacks = target_lacks_here(cx, t, &r.cc);
	r.runner_lacks = r.runner && !command_path(cx, arena_strndup(cx->arena, r.runner,
									 (int64_t)strcspn(r.runner, " ")));
	return r;
}

static void
print_text(Buf *b, const Row *r)
{
	buf_printf(b, "%-22s %s", r->triple, r->lacks ? "lacks " : r->cc);
	buf_puts(b, r->lacks ? r->lacks : "");
	if (r->is_bare && !r->lacks)
		buf_puts(b, "; plain C functions: --no-generic");
	if (r->runner && !r->lacks)
		buf_printf(b, "; runs here by %s%s", r->runner, r->runner_lacks ? " (Debian has it in qemu-user)" : "");
	buf_puts(b, "\n");
}

static void
print_json(Buf *b, const Row *r, bool first)
{
	buf_puts(b, first ? "[{\"triple\":" : ",\n{\"triple\":");
	out_json(b, r->triple);
	buf_printf(b, ",\"works\":%s,\"compiler\":", r->lacks ? "false" : "true");
	out_json(b, r->cc);
	buf_puts(b, ",\"lacks\":");
	out_json(b, r->lacks ? r->lacks : "");
	buf_puts(b, ",\"runner\":");
	out_json(b, r->runner ? r->runner : "");
	buf_puts(b, "}");
}

int
cmd_targets(Cli *cli)
{
	const Target *t;
	Buf b = { 0 };

	if (cli->args.n)
		usage_error(cli, "targets takes no argument");
	for (int i = 0; (t = target_at(i)); i++) {
		const Row r = target_row(cli->cx, t);

		if (cli->as_json)
			print_json(&b, &r, i == 0);
		else
			print_text(&b, &r);
	}
	fputs(b.at, stdout);
	if (cli->as_json)
		puts("]");
	buf_free(&b);
	return EXIT_OK;
}
