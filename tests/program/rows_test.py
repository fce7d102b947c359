"""Kernels that reduce: every operator, dtype and layout in programs by tcc and by the C compiler, with static and dynamic sizes.
NaN, infinities, equal elements, no elements. Each day half of the dtypes with layouts, and of the lengths, are tested
(tests/daily.py).

usage: rows_test.py KILN
"""
import itertools, math, os, struct, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import daily
from forms import KILN, Form
from hostile import body, call, model, npy, npz


def reductions(dims, floating, logical, ordered=True):
    """Reductions over a list of dims, or over the first of them if an operator takes only one."""
    d, one = "[%s]" % ", ".join(map(str, dims)), dims[0]
    yield "torch.any(x, %d)" % one
    yield "torch.all(x, %d, True)" % one
    yield "torch.sum(x, %s, False, dtype=None)" % d
    yield "torch.sum(x, dtype=None)"
    yield "torch.count_nonzero(x, %s)" % d
    yield "torch.amax(x, %s)" % d
    yield "torch.amin(x, %s, True)" % d
    if not logical:
        yield "torch.argmax(x, %d)" % one
        yield "torch.argmin(x)"
        yield "(torch.max(x, %d))[1]" % one
        yield "(torch.min(x, %d, True))[0]" % one
        yield "torch.min(x)"
        if ordered:                      # PyTorch has no such operators of float16 and bfloat16
            yield "(torch.aminmax(x, dim=%d))[0]" % one
            yield "(torch.aminmax(x, dim=%d))[1]" % one
    if floating:
        yield "torch.mean(x, %s, True, dtype=None)" % d
        yield "torch.mean(x, dtype=None)"
        yield "torch.sum(x, %s, False, dtype=7)" % d
        yield "torch.nansum(x, %s, False, dtype=None)" % d
        yield "torch.prod(torch.mul(x, 0.5), %d)" % one
        yield "torch.logsumexp(x, %s)" % d
        yield "torch.norm(x, 2, %s)" % d
        yield "torch.norm(x, 1, %s)" % d
        for p in "0", "3", "float('inf')", "float('-inf')":
            yield "ops.aten.linalg_vector_norm(x, %s, %s, False, dtype=None)" % (p, d)
        yield "torch.var(x, %s, True, False)" % d
        yield "torch.std(x, %s, False, True)" % d
        yield "(torch.var_mean(x, %s, True, False))[1]" % d


def normalised():
    """Normalisations of a tensor of four dims."""
    for dim in range(4):
        yield "torch.softmax(x, %d)" % dim
        yield "torch.log_softmax(x, %d)" % dim
    yield "torch.softmax(x, -1, 7)"
    yield "torch.layer_norm(x, [17], None, None, 1.0e-05)"
    yield "torch.layer_norm(x, [5, 17], torch.select(torch.select(x, 0, 0), 0, 0), torch.select(torch.select(x, 0, 1), 0, 1), 1.0e-05)"
    w = "torch.select(torch.select(torch.select(x, 0, 0), 1, 0), 1, %d)"
    for i in range(3):
        yield "(torch.native_layer_norm(x, [5, 17], None, None, 1.0e-05))[%d]" % i
        yield "(torch.native_group_norm(x, None, None, 3, 4, 85, 2, 1.0e-05))[%d]" % i
    yield "ops.aten.rms_norm(x, [17], torch.select(torch.select(torch.select(x, 0, 0), 0, 0), 0, 0), None)"
    yield "torch.group_norm(x, 2, torch.contiguous(%s), torch.contiguous(%s), 1.0e-05)" % (w % 0, w % 1)
    yield "torch.batch_norm(x, torch.contiguous(%s), None, torch.contiguous(%s), torch.abs(torch.contiguous(%s)), False, 0.1, 1.0e-03, True)" % (
        w % 0, w % 1, w % 2)


LAYOUTS = {
    "": "x",
    "last": "torch.contiguous(x, memory_format=2)",
    "turned": "torch.permute(x, [3, 1, 0, 2])",
    "parts": "torch.slice(torch.slice(x, 1, 0, None, 2), 3, 1, None, 3)",
}


class Rows(Form):
    def several(self, expressions, inputs, cc=None, calls=0, before=()):
        """Checks all expressions of x in one program."""
        names = ["r%d" % i for i in range(len(expressions))]
        lines = list(before) + ["%s = %s" % pair for pair in zip(names, expressions)] + ["return [%s]" % ", ".join(names)]
        if cc is None:
            self.form(lines, inputs, calls, "List[Tensor]")
            return
        options = [o for i in inputs for o in ("-i", i)]
        self.put("m.pt", model(body(lines, "x: Tensor", "List[Tensor]")))
        status, said, errors = call([KILN, "build", "m.pt", *options, *cc, "-o", "program"], self.dir)
        self.assertEqual(status, 0, errors)
        self.assertIn(b" %d runtime calls" % calls, said)
        self.check([KILN, "check", "m.pt", "program", *options], 0)

    def test_types_and_layouts(self):
        dtypes = (("float32", True, False), ("float64", True, False), ("bfloat16", True, False), ("float16", True, False),
                  ("int64", False, False), ("int32", False, False), ("uint8", False, False), ("bool", False, True))
        for (dtype, floating, logical), layout in daily.sample(itertools.product(dtypes, LAYOUTS.values()), 2):
            all_of = [e for dims in ([3], [1], [0, 2]) for e in reductions(dims, floating, logical, dtype[-2:] != "16")]
            with self.subTest(dtype=dtype, layout=layout):
                self.several(all_of, ["x=%s[4x6x5x17]" % dtype], before=["x = %s" % layout] if layout != "x" else [])

    def computed(self, make, reductions):
        """Reductions of the expression `make`, each with a number of its own, so that no two share a computation."""
        return [e.replace("(x", "(" + make % (i + 1), 1) for i, e in enumerate(reductions) if "dtype=7" not in e]

    def test_of_what_is_computed(self):
        """An operand that only one reduction reads is computed as it is read, also if it is broadcast or transposed."""
        near, some = "torch.sin(torch.mul(x, %d))", "torch.gt(torch.mul(x, %d), 3)"
        makes = ["torch.sub(torch.mul(x, x), %d)", "torch.mul(torch.sub(x, %d), torch.select(x, 0, 0))", "torch.sub(torch.permute(x, [0, 1, 2, 3]), torch.mul(torch.slice(x, 2, 0, 1), %d))"]
        for dtype, dims in daily.sample(itertools.product(("float32", "float64", "bfloat16", "int64"), ([3], [1], [0, 2])), 2):
            of = list(reductions(dims, dtype != "int64", False, dtype != "bfloat16"))
            with self.subTest(dtype=dtype, dims=dims):
                self.several([e for m in makes + [near] * (dtype != "int64") for e in self.computed(m, of)], ["x=%s[4x6x5x17]" % dtype])
        for x in "x=float32[4x6x5x17]", "x=float32[4x3..90x5x17]":
            self.several([e for dims in ([3], [1], [0, 2]) for e in self.computed(some, reductions(dims, False, True))], [x])
            self.several(self.computed(near, reductions([1], True, False)), [x])
        for dims in [0], [1]:
            self.several(self.computed(near, reductions(dims, True, False)), ["x=float32[80x70]"], ["--cc", os.environ.get("CC", "cc"), "--cpu", "native"])

    def kernels(self, *lines, args="x: Tensor", inputs=("x=float32[40x30]",)):
        """Names of the kernels that a program launches, after checking its answers."""
        self.put("m.pt", model(body(lines, args, "Tensor")))
        options = [o for i in inputs for o in ("-i", i)]
        self.check([KILN, "build", "m.pt", *options, "--cc", "tcc", "-o", "program"], 0)
        self.check([KILN, "check", "m.pt", "program", *options], 0)
        status, said, errors = call([KILN, "show", "m.pt", *options, "--stage", "kernels"], self.dir)
        self.assertEqual(status, 0, errors)
        return [line.split("# ")[1] for line in said.decode().split("\n") if line.startswith("kernel ")]

    def test_computed_there(self):
        squares = "y = torch.mul(x, x)"
        self.assertEqual(self.kernels(squares, "return torch.mean(y, [1])"), ["mul, mean_dim"])
        self.assertEqual(self.kernels(squares, "z = torch.add(y, 1)", "return torch.sum(torch.sigmoid(z), [0])"), ["mul, add, sigmoid, sum_dim_IntList"])
        self.assertEqual(self.kernels("return torch.amax(torch.mul(x, torch.select(x, 0, 1)), [0])"), ["mul, amax"])
        # for two readers, for one that reads twice, for few rows of many elements, and where a write comes in between
        self.assertEqual(self.kernels(squares, "return torch.add(torch.sum(y, [1]), torch.amax(y, [1]))"), ["mul", "sum_dim_IntList", "amax", "add"])
        self.assertEqual(self.kernels(squares, "return torch.var(y, [1], True, False)"), ["mul", "var_dim"])
        self.assertEqual(self.kernels(squares, "return torch.sum(y, [0])", inputs=("x=float32[9000x8]",)), ["mul", "sum_dim_IntList"])
        self.assertEqual(self.kernels(squares, "torch.fill_(x, 2)", "return torch.sum(y, [1])")[0], "aten::mul")

    def test_normalised(self):
        for dtype in "float32", "float64", "float16", "bfloat16":
            with self.subTest(dtype=dtype):
                self.several(list(normalised()), ["x=%s[3x4x5x17]" % dtype], calls=0)

    def test_few_side_by_side(self):
        """Rows of which only a few are adjacent are made consecutive first."""
        for f, x, dtype in daily.sample(itertools.product(("softmax", "log_softmax"), ("2x3x40x4", "2x40x3x1", "2..5x3x33..60x4", "2x3..20x40x4", "2x3x40x17"),
                                                          ("float32", "bfloat16", "float64")), 2):
            self.form(["return torch.%s(torch.permute(x, [0, 3, 1, 2]), -1)" % f], ["x=%s[%s]" % (dtype, x)])

    def test_dynamic(self):
        for shape in "2..9x6x5x17", "4x6x3..90x17", "3x4..8x5x2..70":
            with self.subTest(shape=shape):
                self.several([e for dims in ([3], [1], [0, 2]) for e in reductions(dims, True, False)], ["x=float32[%s]" % shape])

    def test_compiled(self):
        """The C compiler has other vectors than tcc: lengths near those of lanes, of blocks and of adjacent rows."""
        for n in daily.sample((1, 7, 16, 31, 64, 65, 100, 2048, 2100, 5000), 2):
            both = [e for d in ([1], [0]) for e in reductions(d, True, False)]
            both += ["torch.softmax(x, 1)", "torch.softmax(x, 0)", "torch.log_softmax(x, 1)", "torch.layer_norm(x, [%d], None, None, 1.0e-05)" % n]
            with self.subTest(n=n):
                self.several(both, ["x=float32[3x%d]" % n], ["--cc", os.environ.get("CC", "cc")])

    def numbers(self, rows):
        n = [x for row in rows for x in row]
        self.put("x.npz", npz(x=npy([len(rows), len(rows[0])], data=struct.pack("<%df" % len(n), *n))))

    def test_special(self):
        nan, inf = math.nan, math.inf
        rows = [[1, 3, 3, 2] * 5, [1, nan, 3, nan] * 5, [-inf] * 20, [inf, -inf] * 10, [inf] * 20, [-1, -1, -2, -2] * 5,
                [1e31] * 20, [1e-30] * 20, [1e20, 3e20, 2e20, 0] * 5, [-1e18, 1e18, 2e18, 0] * 5]
        both = [e for d in ([1], [0]) for e in reductions(d, True, False)] + ["torch.softmax(x, 1)", "torch.log_softmax(x, 0)"]
        both += ["torch.layer_norm(x, [20], None, None, 1.0e-05)", "torch.group_norm(x, 4, None, None, 1.0e-05)"]
        both += ["(torch.native_layer_norm(x, [20], None, None, 1.0e-05))[2]"]
        self.numbers(rows)
        for cc in ["--cc", "tcc"], ["--cc", os.environ.get("CC", "cc"), "--cpu", "native"]:
            self.several(both, ["x.npz"], cc)

    def test_empty(self):
        empty = "x = torch.slice(x, 1, 0, 0)"
        self.several(["torch.sum(x, [1], False, dtype=None)", "torch.prod(x, 1)", "torch.any(x, 1)", "torch.all(x, 1)",
                      "torch.mean(x, [1], False, dtype=None)", "torch.norm(x, 2, [1])", "torch.var(x, [1], True, False)"],
                     ["x=float32[3x4x2]"], before=[empty])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
