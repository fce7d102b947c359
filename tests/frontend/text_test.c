/* Reads text: trees, schemas, types and graphs must print as they were read, and bad text must end in a message. */
#include "../../frontend/frontend.h"

#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Job { const char *text; char *got; } Job;

static Source *
source(Cx *cx, const char *text)
{
	Source *s = new(cx->arena, Source, 1);

	*s = (Source){ .text = text, .n = (int64_t)strlen(text), .name = "t", .line = 1 };
	return s;
}

static void
print_tree(Cx *cx, void *arg)
{
	Job *j = arg;
	const Tree *t = parse_file(cx, source(cx, j->text));
	Buf b = { 0 };

	for (int i = 0; i < t->n; i++)
		tree_print(t->kid[i], &b);
	j->got = strdup(b.at);
	buf_free(&b);
}

static void
print_schema(Cx *cx, void *arg)
{
	Job *j = arg;

	j->got = strdup(schema_print(cx, schema_parse(cx, j->text)));
}

static void
print_type(Cx *cx, void *arg)
{
	Job *j = arg;

	j->got = strdup(type_print(cx, type_from_text(cx, 0, j->text, (Range){ 0 })));
}

static void
print_graph(Cx *cx, void *arg)
{
	Job *j = arg;
	Graph *g = ir_parse(cx, source(cx, j->text), 0);
	Buf b = { 0 };

	graph_lint(g);
	graph_print(g, &b, true);
	j->got = strdup(b.at);
	buf_free(&b);
}

/* Runs f on the text.  Returns its result or the error message, which the caller frees. */
static char *
run(void (*f)(Cx *, void *), const char *text)
{
	Arena a = { 0 };
	Cx cx = { .arena = &a };
	Job j = { text, 0 };

	schema_parser = schema_parse;
	if (!cx_try(&cx, f, &j))
		j.got = strdup(cx.err.what);
	arena_free(&a);
	return j.got;
}

static void
expect(void (*f)(Cx *, void *), const char *text, const char *want)
{
	char *got = run(f, text);

	assert_string_equal(got, want);
	free(got);
}

static void
trees(void **state)
{
	(void)state;
	expect(print_tree, "a, = -2 ** 2\n",
	       "(ASSIGN (LIST (TUPLE (LIST (VAR (IDENT a))))) (NEG (POW (INT 2) (INT 2))) -)");
	expect(print_tree, "x = a or b and c\n",
	       "(ASSIGN (LIST (VAR (IDENT x))) (AND (OR (VAR (IDENT a)) (VAR (IDENT b))) (VAR (IDENT c))) -)");
	expect(print_tree, "x %= 017\n", "(AUG_ASSIGN MOD (VAR (IDENT x)) (INT 15))");
	expect(print_tree, "x = -9223372036854775808\n",
	       "(ASSIGN (LIST (VAR (IDENT x))) (INT -9223372036854775808) -)");
	expect(print_tree, "x[1:, ..., ::2]\n",
	       "(EXPR_STMT (SUBSCRIPT (VAR (IDENT x)) (LIST (SLICE (INT 1) - -) (DOTS) "
	       "(SLICE - - (INT 2)))))");
	expect(print_tree, "f(*a, k=1 if b else 2, )\n",
	       "(EXPR_STMT (CALL (VAR (IDENT f)) (LIST (STARRED (VAR (IDENT a)))) "
	       "(LIST (KEYWORD (IDENT k) (TERNARY (VAR (IDENT b)) (INT 1) (INT 2))))))");
	expect(print_tree, "def f(x, *, y: int=1):\n  # type: (float, int) -> int\n  pass\n",
	       "(DEF (IDENT f) (LIST (PARAM (IDENT x) (VAR (IDENT float)) -) "
	       "(PARAM * (IDENT y) (VAR (IDENT int)) (INT 1))) "
	       "(VAR (IDENT int)) (LIST (PASS)))");
	expect(print_tree, "x = 0b11\n", "(ASSIGN (LIST (VAR (IDENT x))) (INT 3) -)");
	expect(print_tree, "x = f'a{b[1]}}}' 'c'\n",
	       "(ASSIGN (LIST (VAR (IDENT x))) (CALL (ATTR (STRING \"a{}}c\") (IDENT format)) "
	       "(LIST (SUBSCRIPT (VAR (IDENT b)) (LIST (INT 1)))) (LIST)) -)");
	expect(print_tree, "x = 1 < a <= 5\n",
	       "(ASSIGN (LIST (VAR (IDENT x))) (AND (LT (INT 1) (VAR (IDENT a))) (LE (VAR (IDENT a)) "
	       "(INT 5))) -)");
	expect(print_tree, "from a.b import c as d, e\n",
	       "(IMPORT (LIST (KEYWORD (IDENT d) (ATTR (ATTR (VAR (IDENT a)) (IDENT b)) "
	       "(IDENT c))) (KEYWORD (IDENT e) (ATTR (ATTR (VAR (IDENT a)) (IDENT b)) (IDENT e)))))");
	expect(print_tree, "@property\ndef f(self):\n  pass\n",
	       "(DEF (IDENT __f_getter) (LIST (PARAM (IDENT self) - -)) - (LIST (PASS)))");
	expect(print_tree, "x = 'a' \"\\n\\065\"\n", "(ASSIGN (LIST (VAR (IDENT x))) (STRING \"a\\0125\") -)");
}

static void
bad_text(void **state)
{
	(void)state;
	expect(print_tree, "x = 1", "expected newline but found 'eof' here");
	expect(print_tree, "x = (1\n", "'(' is never closed");
	expect(print_tree, "if a:\n    b\n  c\n", "invalid indent level 2");
	expect(print_tree, "x = 9223372036854775808\n",
	       "Integral constant out of range (must fit in a signed 64 bit integer)");
	expect(print_tree, "x = '\\x4'\n", "ill formed hex specifier");
	expect(print_tree, "x = 0b12\n", "this is not a number");
	expect(print_tree, "x = f'{a:.2f}'\n", "a format of a formatted string is not supported");
	expect(print_tree, "x = f'{a'\n", "this field of a formatted string has no end");
	expect(print_tree, "@f\nx = 1\n", "expected def but found 'ident' here");
	expect(print_tree, "x = 'a\n", "the string that begins here has no end");
	expect(print_tree, "x = ''''\n", "the string that begins here has no end");
	expect(print_schema, "aten::f(Tensor self", "expected ) here");
	expect(print_schema, "aten::f(int[999999999] x) -> ()", "expected a number of elements here");
	expect(print_type, "List",
	       "Attempted to use List without a contained type. Please add a contained type, e.g. List[int]");
	expect(print_type, "Foo", "Unknown type name 'Foo'");
	expect(print_type, "Dict[List[int], int]", "Cannot create dict for key type 'int[]', only int, float, complex, "
	       "Tensor, device and string keys are supported");
	expect(print_graph, "graph():\n  return (%x)\n", "%x is not defined");
	expect(print_graph, "graph(%x : int, %x : int):\n  return ()\n", "%x is defined twice");
}

static void
deep_text(void **state)
{
	char *text = malloc(100002);

	(void)state;
	memset(text, '-', 100000);
	strcpy(text + 99990, "1\n");
	expect(print_tree, text, "nested too deep: Kiln takes 400 levels");
	memset(text, '(', 100000);
	strcpy(text + 99990, "\n");
	expect(print_tree, text, "'(' is never closed");
	free(text);
}

static void
schemas(void **state)
{
	static const char *const same[] = {
		"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
		"aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)",
		"aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, "
		"int[2] dilation=1, int groups=1) -> Tensor",
		"aten::format(str self, ...) -> str",
		"aten::items.str(Dict(str, t) self) -> ((str, t)[])",
		"aten::as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None) -> Tensor(b|a)",
		"aten::_foreach_abs_(Tensor(a!)[] self) -> ()",
		"aten::to_here(RRef(t) self, float timeout=60.) -> t(*)",
		"aten::stft(Tensor self, float x=1.0000000000000001e-05, str pad_mode=\"re\\\"\\n\", int[] d=[-2, -1])"
		" -> Tensor",
		"aten::lstm.input(Tensor input, Tensor[] hx, bool batch_first) -> (Tensor, Tensor, Tensor)",
		"aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
		"prim::ChunkSizes(...) -> ...",
		"quantized::linear(Tensor X, __torch__.torch.classes.quantized.LinearPackedParamsBase W, "
		"SymInt[]? n=None) -> Tensor Y",
	};

	(void)state;
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		expect(print_schema, same[i], same[i]);
}

static void
types(void **state)
{
	(void)state;
	expect(print_type, "List[Optional[Tensor]]", "Tensor?[]");
	expect(print_type, "Optional[Union[int, str]]", "Union(int, NoneType, str)");
	expect(print_type, "Union[int, float, complex]", "Scalar");
	expect(print_type, "Union[int, None]", "int?");
	expect(print_type, "Optional[Optional[None]]", "NoneType");
	expect(print_type, "Tuple[()]", "()");
	expect(print_type, "Dict[str, List[Tuple[int, torch.LongTensor]]]", "Dict(str, (int, Tensor)[])");
	expect(print_type, "Future['number']", "Future(Scalar)");
	expect(print_type, "BroadcastingList2[int]", "int[]");
}

static void
graphs(void **state)
{
	static const char text[] =
		"graph(%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu),\n"
		"      %q : (values : Tensor, indices : int)?,\n"
		"      %s : Double(*, s0, 4),\n"
		"      %u : Tensor(undefined),\n"
		"      %w : HalfTensor(device=cuda:1, maybe_undefined)):\n"
		"  %one : int = prim::Constant[value=1]() # net.py:3:9\n"
		"  %0 : bool = prim::Constant[value=1]()\n"
		"  %f : float[] = prim::Constant[value=[1., inf, -inf, nan, 1e-10]]()\n"
		"  %e : (int, str, (float)) = prim::Constant[value=(1, \"a\\\"\\n\\x01\", (2.,))]()\n"
		"  %g : Tensor = prim::Constant[value=Double{[[1., 2.], [3., 4.]]}]()\n"
		"  %g.1 : Tensor = prim::Constant[value={2}w]()\n"
		"  %c : complex = prim::Constant[value=1.+-2.j]()\n"
		"  %dev : Device = prim::Constant[value=\"cuda:1\"]()\n"
		"  %none : NoneType = prim::Constant()\n"
		"  %d : Dict(str, int) = prim::Constant[value={\"a\": 1, \"b\": 2}]()\n"
		"  %r : Tensor = prim::Loop(%one, %0, %x)\n"
		"    block0(%i : int, %acc : Tensor):\n"
		"      %fut : Future(Tensor) = prim::fork_0(%acc)\n"
		"      prim::Print(%fut)\n"
		"      -> (%0, %acc)\n"
		"  %is : bool = prim::isinstance[types=[int, Tensor?]](%e)\n"
		"  return (%r, %is)\n"
		"with prim::fork_0 = graph(%a : Tensor):\n"
		"  %b : Tensor = aten::relu(%a)\n"
		"  return (%b)\n";

	(void)state;
	expect(print_graph, text, text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees), cmocka_unit_test(bad_text), cmocka_unit_test(deep_text),
		cmocka_unit_test(schemas), cmocka_unit_test(types), cmocka_unit_test(graphs),
	};

	return cmocka_run_group_tests(tests, 0, 0);
}
