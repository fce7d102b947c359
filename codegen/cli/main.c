/* codegen/cli/main.c - the command line: tables of commands and options
 *
 * Both tables feed the parser and --help. An option lists the commands that accept it and is stored in a member of
 * Cli. */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* `written` is the index of the positional argument that the command writes. 0 if all are read. */
typedef struct Command { const char *name, *args, *help; int (*run)(Cli *); int written; } Command;

static const Command commands[] = {
	{"build", "MODEL [-i IN.npz]... -o OUT", "compile a model to a program", cmd_build, 0},
	{"run", "MODEL [-i IN.npz [-o OUT.npz]]...",
	 "interpret a model; call the same instance with each input in turn", cmd_run, 0},
	{"bench", "MODEL|PROGRAM [-i IN.npz]",
	 "measure a model or program, and compare it with the machine's peak", cmd_bench, 0},
	{"check", "MODEL [PROGRAM] [-i IN.npz]...",
	 "compare a program with the interpreter, and both with double precision", cmd_check, 0},
	{"bisect", "MODEL [-i IN.npz]...", "find the pass, and its change, that makes a result wrong", cmd_bisect, 0},
	{"profile", "MODEL -i IN.npz... -o F.prof", "run a model and write its profile, which kiln build reads",
	 cmd_profile, 0},
	{"info", "MODEL", "list methods, arguments and their npz keys, parameters, extra files", cmd_info, 0},
	{"ops", "[MODEL]", "list Kiln's operators, or those that MODEL needs", cmd_ops, 0},
	{"save", "MODEL -o OUT.pt", "write the model as an archive, with new parameters or optimized", cmd_save, 0},
	{"trace", "MODEL -i IN.npz -o OUT.pt", "write the operators that a run executes, without branches and loops",
	 cmd_trace, 0},
	{"convert", "IN.pt OUT.npz", "convert tensors that torch.save wrote to .npz", cmd_convert, 1},
	{"show", "MODEL", "print the graph of a method", cmd_show, 0},
	{"targets", "", "list the targets, and the packages that are missing for them", cmd_targets, 0},
};

/* OPTION_MAYBE has an optional text behind =; the text is "" if it is absent. READ or WRITTEN is added to TEXT or TEXTS
 * if the option names files. With both, the file is written under --tune and otherwise read. An entry without a name is
 * the title of the entries that follow. */
typedef enum OptionKind { OPTION_FLAG, OPTION_TEXT, OPTION_TEXTS, OPTION_MAYBE, OPTION_KIND = 3, READ, WRITTEN = 8 }
	OptionKind;
typedef struct Option {
	const char *name;          /* name without -- */
	char        letter;        /* letter of the short option, as in -n; 0 if there is none */
	const char *arg;           /* argument in the help text */
	OptionKind  kind;
	size_t      place;         /* offset of the member in Cli */
	const char *commands;      /* commands that accept it: " run show " */
	const char *help;          /* help text of the option, or title of the group that begins here */
} Option;

#define PLACE(member) offsetof(Cli, member)
#define GROUP(title) { .help = title }
static const Option options[] = {
	GROUP("Inputs and results"),
	{"input", 'i', "FILE.npz", OPTION_TEXTS | READ, PLACE(inputs), " bench run build show check profile trace ",
	 "arrays named like the arguments; -: standard input. For random arrays:"},
	{"input", 'i', "FILE.npz", OPTION_TEXTS | READ, PLACE(inputs), " bisect ",
	 "arrays named like the arguments; -: standard input"},
	{"input", 0, "NAME=DTYPE[SIZES]", OPTION_TEXTS, PLACE(inputs), " bench run build show check profile trace ",
	 "random array, such as x=float32[1..8x3]; a range makes two inputs, smallest and largest"},
	{"profile", 0, "F.prof", OPTION_TEXTS | READ, PLACE(profiles), " build bench show profile ",
	 "profile that kiln profile wrote; several are merged"},
	{"output", 'o', "FILE.npz", OPTION_TEXTS | WRITTEN, PLACE(outs), " run ",
	 "results of the first input, then of the second, and so on; without it they are\n"
	 "                               printed; -: standard output, and the model prints to standard error"},
	{"output", 'o', "FILE", OPTION_TEXT | WRITTEN, PLACE(out), " build profile save trace ",
	 "file to write; -: standard output"},
	{"json", 0, 0, OPTION_FLAG, PLACE(as_json), " ops info check targets trace ", "as JSON"},
	{"json", 0, "FILE", OPTION_TEXT | WRITTEN, PLACE(json), " bench ",
	 "also write the results as JSON; -: to standard output"},
	{"json", 0, "FILE", OPTION_TEXT | WRITTEN, PLACE(json), " build ",
	 "write the report to this file as JSON instead of printing it; -: to standard output"},
	{"grad-out", 0, "FILE.npz", OPTION_TEXT | WRITTEN, PLACE(grad_out), " run ", "file for the gradients"},
	{"grad-in", 0, "FILE.npz", OPTION_TEXT | READ, PLACE(grad_in), " run ",
	 "gradients of the results; the default is ones"},
	{"params", 0, "NEW.npz", OPTION_TEXT | READ, PLACE(params), " save ",
	 "new values for the model's tensors, by the names of kiln info"},
	{"reference", 0, "OUT.npz", OPTION_TEXTS | READ, PLACE(references), " check ",
	 "with --double: recorded results, one file for each -i, instead of the interpreter's"},
	{"check", 0, "IN2.npz", OPTION_TEXTS | READ, PLACE(checks), " trace ",
	 "also run model and trace on this input, and warn where they differ"},
	{"keep", 0, "NAME", OPTION_TEXTS, PLACE(keep), " trace ",
	 "keep calls of this function or method, or of a class's methods, as calls"},
	{"double", 0, 0, OPTION_FLAG, PLACE(in_double), " check ",
	 "print errors against an interpreter that computes in float64, relative to the\n"
	 "                               largest element; the bound is 5e-6 or 3 times the interpreter's error;\n"
	 "                               without this option they decide only where program and interpreter differ"},
	{"profiled", 0, "N", OPTION_TEXT, PLACE(profiled), " bisect ",
	 "number of inputs to build programs for; they also run on the others (all)"},
	GROUP("The model"),
	{"method", 0, "NAME,...", OPTION_TEXT, PLACE(method), " save ",
	 "methods to save instead of forward (-O1 to -O3)"},
	{"method", 0, "NAME,...", OPTION_TEXT, PLACE(method), " build ",
	 "methods to build instead of forward; -i is for the first"},
	{"method", 0, "NAME", OPTION_TEXT, PLACE(method), " bisect bench run show check profile trace ",
	 "method to use instead of forward"},
	{"eval", 0, 0, OPTION_FLAG, PLACE(eval), " bisect bench run build show check profile save trace ",
	 "leave training mode"},
	{"seed", 0, "N", OPTION_TEXT, PLACE(seed), " bisect bench run build check profile trace ",
	 "seed of the random numbers"},
	{"no-grad", 0, 0, OPTION_FLAG, PLACE(no_grad), " bisect bench run build show check profile trace ",
	 "as under torch.no_grad(): is_grad_enabled() is False"},
	{"engine", 0, "NAME", OPTION_TEXT, PLACE(engine), " bisect bench run build show check profile trace ",
	 "PyTorch's quantized engine: x86 (the default; also fbgemm, onednn), qnnpack"},
	{"grad", 0, "params|NAME,...", OPTION_TEXT, PLACE(grad), " bench run build show check profile ",
	 "compute gradients for all parameters, or for these parameters and arguments"},
	{"loss", 0, "NAME", OPTION_TEXT, PLACE(loss), " bench run build show check profile ",
	 "loss to differentiate with --grad, of the result and the argument target:\n"
	 "                               cross_entropy, nll, mse, l1, bce, bce_with_logits"},
	{"timeout", 0, "SECONDS", OPTION_TEXT, PLACE(timeout), " bisect bench run build check profile trace ",
	 "time limit for each run of the interpreter"},
	{"threads", 0, "N", OPTION_TEXT, PLACE(threads), " bench run check profile trace ",
	 "number of threads (1); 0: one per core"},
	{"threads", 0, "N", OPTION_TEXT, PLACE(threads), " build ",
	 "default number of threads of the program (1); 0: one per core"},
	GROUP("What is built"),
	{"emit", 0, "KIND", OPTION_TEXT, PLACE(emit), " build ",
	 "exe, shared, static, obj (libraries, with NAME.h beside them), c, cuda (folders), ptx"},
	{"name", 0, "NAME", OPTION_TEXT, PLACE(name), " build ",
	 "name of a library's header and prefix of its functions (OUT)"},
	{"static", 0, 0, OPTION_FLAG, PLACE(is_static), " build ",
	 "link statically: the program needs no shared libraries"},
	{"weights", 0, "PLACE", OPTION_TEXT, PLACE(weights), " build ",
	 "embed (in the program, the default) or file (beside it: OUT.weights)"},
	{"forms", 0, "HOW", OPTION_TEXT, PLACE(forms), " build bench ",
	 "larger forms of weights for faster kernels (Winograd): made (computed when the\n"
	 "                               program is opened), fast (stored in the program), small (not used)"},
	{"no-dynamic", 0, 0, OPTION_FLAG, PLACE(no_dynamic), " bench build ",
	 "no code for sizes other than the inputs': they run in generic code"},
	{"max-specializations", 0, "N", OPTION_TEXT, PLACE(specializations), " bench build ",
	 "largest number of specialized graphs (4)"},
	{"no-generic", 0, 0, OPTION_FLAG, PLACE(no_generic), " build ",
	 "plain C functions for the inputs' sizes only, without a runtime or heap; with\n"
	 "                               emit exe also a main() that reads and writes .npz"},
	{"max-ram", 0, "BYTES", OPTION_TEXT, PLACE(max_ram), " build ",
	 "with --no-generic: limit of an instance's memory (64K, 1M); if it is exceeded,\n"
	 "                               the message lists the tensors that are live at the peak"},
	{"max-flash", 0, "BYTES", OPTION_TEXT, PLACE(max_flash), " build ",
	 "with --no-generic: limit of code and constants; if it is exceeded, code is compiled\n"
	 "                               for size; if it still is, the message lists the contents of flash"},
	{"selfcheck-code", 0, 0, OPTION_FLAG, PLACE(selfcheck_code), " build ",
	 "add the graph as it was read, before any pass, for the program's --selfcheck to\n"
	 "                               compare with (larger, and the program keeps all state of the model)"},
	{"bench-code", 0, 0, OPTION_FLAG, PLACE(bench_code), " build ",
	 "add each launch's operations, bytes and line of the model, for kiln bench (larger)"},
	{"no-source", 0, 0, OPTION_FLAG, PLACE(no_source), " build ", "leave the model's text out of the program"},
	{"debug", 0, 0, OPTION_FLAG, PLACE(debug), " build ",
	 "keep the names of functions, for debuggers and profilers; otherwise they are stripped"},
	GROUP("Machine and compiler"),
	{"cpu", 0, "NAME", OPTION_TEXT, PLACE(cpu), " bench build show ",
	 "lowest processor that the program runs on: native, x86-64-v3, cortex-a53 ...;\n"
	 "                               several names, the lowest first: kernels for each, chosen at start;\n"
	 "                               portable: on x86-64 x86-64-v2,x86-64-v3,x86-64-v4, with icelake-server for\n"
	 "                               8-bit kernels; on aarch64 generic,neoverse-n1. The default is portable, but\n"
	 "                               native for tuned programs, the compiler tcc and plain functions"},
	{"target", 0, "TRIPLE", OPTION_TEXT, PLACE(target), " build show ",
	 "machine to build for; kiln targets lists them"},
	{"sysroot", 0, "FOLDER", OPTION_TEXT, PLACE(sysroot), " build ",
	 "folder of the target's C library, for the compiler"},
	{"march", 0, "NAME", OPTION_TEXT, PLACE(march), " bench build show ",
	 "the compiler's -march, instead of the one that --cpu implies"},
	{"mcpu", 0, "NAME", OPTION_TEXT, PLACE(mcpu), " bench build show ",
	 "the compiler's -mcpu (x86: -mtune), likewise"},
	{"cc", 0, "COMPILER", OPTION_TEXT, PLACE(cc), " bisect bench build show ",
	 "gcc, clang, tcc (inside Kiln), or a path"},
	{"gpu", 0, "LIST", OPTION_TEXT, PLACE(gpu), " build ", "also compile for these GPUs, as in sm_80,sm_90,ptx"},
	{"against", 0, "PROGRAM", OPTION_TEXT | READ, PLACE(against), " bench ",
	 "run this program, too, in turn with the first, and print the ratio of times"},
	{"runner", 0, "COMMAND", OPTION_TEXT, PLACE(runner), " bench check ",
	 "command that runs the program, as in 'qemu-aarch64 -L /usr/aarch64-linux-gnu'"},
	GROUP("Speed"),
	{"optimize", 'O', "LEVEL", OPTION_TEXT, PLACE(level), " bisect bench run build show profile ",
	 "level of optimization, 0 to 3 (2)"},
	{"optimize", 'O', "LEVEL", OPTION_TEXT, PLACE(level), " save ",
	 "0: unchanged code (the default); 1 to 3: optimized, with constants folded"},
	{"tune", 0, "[=SECONDS]", OPTION_MAYBE, PLACE(tune), " build ",
	 "measure other forms of kernels on this machine for SECONDS (60), and use faster ones"},
	{"tuning", 0, "F.json", OPTION_TEXT | READ | WRITTEN, PLACE(tuning), " build show ",
	 "choices of --tune: written with --tune, otherwise read and used without measuring"},
	GROUP("Your own operators"),
	{"op-schema", 0, "SCHEMA", OPTION_TEXTS, PLACE(op_schemas),
	 " bisect bench run build show check profile save info ops trace ",
	 "schema of an operator of your own: 'my::f(Tensor a, int c) -> Tensor'"},
	{"op", 0, "FILE.c", OPTION_TEXTS | READ, PLACE(ops),
	 " bisect bench run build show check profile save info ops trace ",
	 "C file with the operator's function, here my_f; it includes kiln.h"},
	{"op-body", 0, "NAME=TEXT", OPTION_TEXTS, PLACE(op_bodies),
	 " bisect bench run build show check profile save info ops trace ",
	 "the operator's body in TorchScript instead of C: 'my::f=return a * c'"},
	GROUP("Graphs, passes and messages"),
	{"stage", 0, "NAME", OPTION_TEXT, PLACE(stage), " show ",
	 "graph to show: frontend, prepared, specialized, optimized, kernels, or after a pass"},
	{"as", 0, "FORM", OPTION_TEXT, PLACE(as), " show ", "form of the text: ir, python, code, dot"},
	{"reread", 0, 0, OPTION_FLAG, PLACE(reread), " show ",
	 "read the text back and print it again: a difference is an error"},
	{"dump", 'd', "PASS[:2]", OPTION_TEXTS, PLACE(dumps), " run build show profile save ",
	 "print the graph after this pass (or all); with :2 after each change"},
	{"limit", 'L', "PASS=N", OPTION_TEXTS, PLACE(limits), " run build show profile save ",
	 "let a pass make at most N changes; known: inferred results; kernels: kernels"},
	{"passes", 'p', "PASS,...", OPTION_TEXT, PLACE(passes), " run build show profile save ",
	 "run these passes instead of the pipeline"},
	{"no-pass", 0, "PASS,...", OPTION_TEXT, PLACE(without), " run build show profile save ",
	 "run all passes except these"},
	{"stop", 0, "PASS", OPTION_TEXT, PLACE(stop), " run build show profile save ", "stop after this pass"},
	{"verbose", 'v', 0, OPTION_FLAG, PLACE(verbose), " bench run show build profile ", "print each step"},
	{"time", 0, 0, OPTION_FLAG, PLACE(time), " run build show profile save ", "print the time of each part"},
};
#undef GROUP

enum { NCOMMAND = sizeof commands / sizeof *commands, NOPTION = sizeof options / sizeof *options };

/* ---- help ------------------------------------------------------------------------------------------------ */

static bool
takes(const Option *o, const char *command)
{
	char word[32];

	snprintf(word, sizeof word, " %s ", command);
	return o->name && strstr(o->commands, word) != 0;
}

static void
help_option(const Option *o)
{
	char name[64];

	snprintf(name, sizeof name, "%c%c%s--%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
		 o->letter ? ", " : "  ", o->name, o->arg && o->kind != OPTION_MAYBE ? " " : "", o->arg ? o->arg : "");
	printf(strlen(name) > 28 ? "  %s\n%31s%s\n" : "  %-28s%s%s\n", name, strlen(name) > 28 ? "" : " ", o->help);
}

static void
help_options(const char *command)
{
	const char *title = NULL;

	for (int i = 0; i < NOPTION; i++) {
		if (!options[i].name)
			title = options[i].help;
		if (!takes(&options[i], command))
			continue;
		if (title)
			printf("\n%s\n", title);
		title = NULL;
		help_option(&options[i]);
	}
}

/* Lists the passes, for commands with options that name them. */
static void
help_passes(const char *command)
{
	const char *name;
	int i = 0;

	while (i < NOPTION && options[i].letter != 'd')
		i++;
	if (!takes(&options[i], command))
		return;
	printf("\npasses:");
	for (i = 0; (name = pass_name(i)); i++)
		printf(" %s", name);
	printf("\nKILN_LOG=PASS[:2],... and KILN_OPT_LIMIT=PASS=N,... have the effect of -d and -L (alias prints which "
	       "values may share memory);\n"
		"KILN_TYPE_VERBOSITY=0 to 3 sets how much dumps print of a tensor's type.\n");
}

static void
help(const char *command)
{
	printf("kiln - an ahead-of-time compiler for models of PyTorch: TorchScript and torch.export archives\n\n");
	for (int i = 0; i < NCOMMAND; i++)
		if (!command || !strcmp(command, commands[i].name))
			printf("  kiln %-8s %-32s %s\n", commands[i].name, commands[i].args, commands[i].help);
	if (!command) {
		printf("\nMODEL is an archive of torch.jit.save (.pt) or torch.export.save (.pt2), TorchScript source "
		       "(model.py), or the text of a graph (graph.ir).  kiln help COMMAND lists the options of a "
		       "command, kiln --version (-V) prints the version.\n");
		return;
	}
	help_options(command);
	help_passes(command);
}

/* ---- parsing ------------------------------------------------------------------------------------------------ */

/* Returns the command's table entry of the option -n or --name. If the command has no such option, returns another
 * command's entry. Null if no command has it. */
static const Option *
find_option(const char *command, const char *text, size_t n, bool is_long)
{
	const Option *other = NULL;

	for (int i = 0; i < NOPTION; i++) {
		const Option *o = &options[i];

		if (!o->name || (is_long ? strlen(o->name) != n || strncmp(o->name, text, n) : o->letter != *text))
			continue;
		if (takes(o, command))
			return o;
		other = o;
	}
	return other;
}

/* Ends with an error: the command has no such option. Suggests the nearest one. */
static RT_NORETURN void
unknown_option(Cli *cli, const char *text)
{
	const int n = (int)strcspn(text, "=");
	RtNearest best = { 0 };

	for (int i = 0; i < NOPTION && text[0] == '-'; i++)
		if (takes(&options[i], cli->command))
			rt_nearest(&best, text + 1, n - 1, options[i].name);
	if (best.name)
		usage_error(cli, "unknown option -%.*s; did you mean --%s?", n, text, best.name);
	usage_error(cli, "unknown option -%.*s", n, text);
}

/* Whether this argument, "-n" or "--name=...", is an option of the command. */
static bool
is_option(const char *command, const char *arg)
{
	const bool is_long = arg[0] == '-' && arg[1] == '-';
	const char *name = arg + 1 + is_long;
	const Option *o;

	if (arg[0] != '-' || !*name || (!is_long && name[1]))
		return false;
	o = find_option(command, name, is_long ? strcspn(name, "=") : 1, is_long);
	return o && takes(o, command);
}

/* Returns the option that `text` ("-n..." or "--name...") names. Usage error if the command has no such option. */
static const Option *
known_option(Cli *cli, const char *text)
{
	const bool is_long = text[1] == '-';
	const char *name = text + 1 + is_long;
	const Option *o = find_option(cli->command, name, is_long ? strcspn(name, "=") : 1, is_long);

	if (!o)
		unknown_option(cli, text + 1);
	if (!takes(o, cli->command))
		usage_error(cli, "%s takes no option --%s", cli->command, o->name);
	return o;
}

/* Parses one option. Returns the number of further arguments that it used. */
static int
parse_option(Cli *cli, const char *text, const char *next)
{
	const bool is_long = text[1] == '-';
	const Option *o = known_option(cli, text);
	const char *value = is_long ? strchr(text, '=') : text[2] ? text + 2 : NULL;
	char *place = (char *)cli + o->place;
	int took = 0;

	if (value && is_long)
		value++;
	if (o->kind == OPTION_FLAG) {
		if (value)
			usage_error(cli, "--%s takes no value", o->name);
		*(bool *)place = true;
		return 0;
	}
	if (!value && o->kind == OPTION_MAYBE)
		value = "";
	if (!value) {
		if (!next)
			usage_error(cli, "--%s wants a value: --%s %s", o->name, o->name, o->arg);
		if (is_option(cli->command, next))
			usage_error(cli, "--%s wants a value, and %s is another option: --%s %s", o->name, next,
				    o->name, o->arg);
		value = next;
		took = 1;
	}
	if ((o->kind & OPTION_KIND) != OPTION_TEXTS)
		*(const char **)place = value;
	else
		vec_push(cli->cx->arena, (Texts *)place, value);
	return took;
}

static int
all_said(int status)
{
	if (!(fflush(stdout) | ferror(stdout)) || status)
		return status;
	fprintf(stderr, "error: standard output: %s\n", strerror(errno));
	return EXIT_INPUT;
}

static const Command *
find_command(Cli *cli, const char *name)
{
	RtNearest best = { 0 };

	for (int i = 0; i < NCOMMAND; i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
		rt_nearest(&best, name, (int)strlen(name), commands[i].name);
	}
	if (best.name)
		usage_error(cli, "unknown command '%s'; did you mean %s?", name, best.name);
	usage_error(cli, "unknown command '%s'", name);
}

static bool
is_help(const char *arg)
{
	return !strcmp(arg, "--help") || !strcmp(arg, "-h");
}

/* Handles options that need no command (--help, --version) and exits. */
static void
parse_alone(Cli *cli, int argc, char **argv)
{
	if (argc < 2 || is_help(argv[1]) || !strcmp(argv[1], "help")) {
		help(argc > 2 ? find_command(cli, argv[2])->name : NULL);
		exit(all_said(argc < 2 ? EXIT_USAGE : EXIT_OK));
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("kiln %s\n", RT_VERSION);
		exit(all_said(EXIT_OK));
	}
}

static const Command *
parse(Cli *cli, int argc, char **argv)
{
	const Command *c;
	bool plain = false;

	parse_alone(cli, argc, argv);
	c = find_command(cli, argv[1]);
	cli->command = c->name;
	for (int i = 2; i < argc; i++) {
		if (!plain && is_help(argv[i])) {
			help(c->name);
			exit(all_said(EXIT_OK));
		}
		if (!plain && !strcmp(argv[i], "--"))
			plain = true;
		else if (!plain && argv[i][0] == '-' && argv[i][1])
			i += parse_option(cli, argv[i], i + 1 < argc ? argv[i + 1] : 0);
		else
			vec_push(cli->cx->arena, &cli->args, argv[i]);
	}
	return c;
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static void
note_option(Cli *cli, const Option *o)
{
	const bool written = o->kind & WRITTEN && (!(o->kind & READ) || cli->tune);
	Texts *to = written ? &cli->writes : &cli->reads;
	const char *place = (const char *)cli + o->place;

	if ((o->kind & OPTION_KIND) == OPTION_TEXTS) {
		const Texts *texts = (const Texts *)place;

		for (int i = 0; i < texts->n; i++)
			vec_push(cli->cx->arena, to, texts->at[i]);
	} else if (*(const char *const *)place) {
		vec_push(cli->cx->arena, to, *(const char *const *)place);
	}
}

/* Records the files that the command reads and writes. Usage error if it would write a file that it reads. */
static void
note_files(Cli *cli, const Command *c)
{
	for (int i = 0; i < cli->args.n; i++)
		vec_push(cli->cx->arena, c->written && i == c->written ? &cli->writes : &cli->reads, cli->args.at[i]);
	for (int i = 0; i < NOPTION; i++)
		if (options[i].kind & (READ | WRITTEN) && takes(&options[i], cli->command))
			note_option(cli, &options[i]);
	refuse_overwrite(cli->cx, &cli->reads, &cli->writes);
	for (int i = 0; i < cli->inputs.n; i++)
		if (!strcmp(cli->inputs.at[i], "-") && rt_stdin_keep())
			fail(cli->cx, (Range){ 0 }, "standard input: %s", strerror(errno));
}

typedef struct Job { const Command *command; Cli *cli; int status; } Job;

/* Sets the options of passes. The environment comes first, so that the command line overrides it. */
static void
configure(Cli *cli)
{
	Cx *cx = cli->cx;

	config_environment(cx);
	for (int i = 0; i < cli->dumps.n; i++)
		config_dump(cx, cli->dumps.at[i]);
	for (int i = 0; i < cli->limits.n; i++)
		config_limit(cx, cli->limits.at[i]);
	if (cli->passes)
		config_passes(cx, cli->passes);
	if (cli->without)
		config_without(cx, cli->without);
	if (cli->gpu)
		config_without(cx, "attention");       /* keeps attention as its parts, for which the GPU has kernels */
	if (cli->stop)
		config_stop(cx, cli->stop);
	if (cli->time)
		config_time(cx);
	if (cli->level)
		config_level(cx, (int)cli_number(cli, "optimize", cli->level, 0, 3));
}

static void
run_command(Cx *cx, void *arg)
{
	Job *job = arg;

	(void)cx;
	note_files(job->cli, job->command);
	configure(job->cli);
	user_operators(job->cli);
	job->status = job->command->run(job->cli);
}

int
main(int argc, char **argv)
{
	Arena arena = {0};
	Cx cx = {.arena = &arena, .stack_end = rt_stack_end()};
	Cli cli = {.cx = &cx};
	Job job = {parse(&cli, argc, argv), &cli, EXIT_OK};

	schema_parser = schema_parse;
	op_kernels = level_kernels();
	rt_mem_none = out_of_memory;
	signal(SIGXFSZ, SIG_IGN);    /* write returns an error at the limit of a file's size, instead of a signal */
	signal(SIGCHLD, SIG_DFL);    /* wait needs the default action to return the status of children */
	if ((const char *)__builtin_frame_address(0) < cx.stack_end) {
		fputs("error: there is no memory for the stack (ulimit -s, -v)\n", stderr);
		exit(EXIT_INPUT);
	}
	if (!cx_try(&cx, run_command, &job)) {
		fflush(stdout);
		fprintf(stderr, "%s\n", cx.err.text);
		job.status = cx.err.status;
	}
	exit(all_said(job.status)); /* exits while all memory is still reachable, so that leak checkers report none */
}
