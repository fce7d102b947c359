"""Archives of torch.export, made by hand (program/exported.py): the graph that a program's parts become, and messages about
errors in them.

usage: pt2_test.py KILN [TEST...]        DAMAGED=1000 in the environment: so many damaged archives, and not 120
"""
import collections, copy, dataclasses, io, json, os, pickle, random, re, struct, subprocess, sys, tempfile, unittest, zipfile
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program"))
import npz
from exported import *

KILN = os.path.abspath(sys.argv.pop(1))
LIMIT = 20


Pair = collections.namedtuple("Pair", "n f")
@dataclasses.dataclass
class Data:
    n: object
    f: object


def floats(*v, shape=None): return ("<f4", shape or (len(v),), list(v))
def ints(*v): return ("<i8", (len(v),), list(v))
def number(n): return ("<f8" if isinstance(n, float) else "|b1" if isinstance(n, bool) else "<i8", (), [n])


class Test(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory()
        self.dir = self.tmp.name

    def tearDown(self): self.tmp.cleanup()

    def put(self, model, name="m.pt2", **how):
        data = model if isinstance(model, bytes) else archive(model if isinstance(model, dict) else model.members(**how))
        with open(os.path.join(self.dir, name), "wb") as f: f.write(data)

    def kiln(self, *argv):
        p = subprocess.run([KILN, *argv], cwd=self.dir, capture_output=True, timeout=LIMIT)
        return p.returncode, (p.stdout + p.stderr).decode("utf-8", "replace")

    def calls(self, inputs, *more):
        """Calls one instance several times. Returns the arrays, or (status, text)."""
        argv = []
        for i, arrays in enumerate(inputs):
            npz.write(os.path.join(self.dir, f"i{i}.npz"), arrays)
            argv += ["-i", f"i{i}.npz", "-o", f"o{i}.npz"]
        rc, said = self.kiln("run", "m.pt2", *argv, *more)
        return [npz.read(os.path.join(self.dir, f"o{i}.npz")) for i in range(len(inputs))] if rc == 0 else (rc, said)

    def answers(self, model, inputs, **want):
        """Checks one call, interpreted and by a program."""
        self.put(model)
        got = self.calls([inputs])
        self.assertIsInstance(got, list, got)
        for name in set(want) | set(got[0]): self.assertEqual(got[0].get(name), want.get(name), name)
        rc, said = self.kiln("build", "m.pt2", "-i", "i0.npz", "--cc", "tcc", "-o", "p")
        self.assertEqual(rc, 0, said)
        p = subprocess.run([os.path.join(self.dir, "p"), "-i", "i0.npz", "-o", "p.npz"], cwd=self.dir, capture_output=True, timeout=LIMIT)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertEqual(npz.read(os.path.join(self.dir, "p.npz")), got[0])

    def says(self, model, inputs, *parts, status=1, **how):
        self.put(model, **how)
        got = self.calls([inputs])
        self.assertIsInstance(got, tuple, got)
        self.assertEqual(got[0], status, got[1])
        for part in parts: self.assertIn(part, got[1])


def adds(**how):
    return Program(["x"], [node("aten.add.Tensor", {"self": T("x"), "other": I(1)}, ["y"])], ["y"], **how)


class Arguments(Test):
    """Arguments of every kind, and omitted ones."""
    def test_defaults(self):
        p = Program(["x"], [node("aten.sum.dim_IntList", {"self": T("x"), "dim": IS(0), "dtype": KIND("float64")}, ["y"])], ["y"])
        self.answers(p, {"x": floats(1, 2, 3)}, out=("<f8", (), [6.0]))
    def test_whole_for_float(self):
        p = Program(["x"], [node("aten.leaky_relu.default", {"self": T("x"), "negative_slope": I(2)}, ["y"])], ["y"])
        self.answers(p, {"x": floats(-1, 3)}, out=floats(-2, 3))
    def test_numbers_for_tensors(self):
        p = Program(["x"], [node("aten.mul.Tensor", {"self": T("x"), "other": F(2.5)}, ["y"]),
                            node("aten.eq.Scalar", {"self": T("x"), "other": I(2)}, ["z"]),
                            node("aten.maximum.default", {"self": T("x"), "other": I(2)}, ["m"])], ["y", "z", "m"])
        self.answers(p, {"x": ("<i8", (2,), [1, 2])}, **{"out.0": floats(2.5, 5), "out.1": ("|b1", (2,), [False, True]),
                                                         "out.2": ints(2, 2)})
    def test_bool_stays(self):
        p = Program(["x"], [node("aten.full_like.default", {"self": T("x"), "fill_value": FLAG(True), "dtype": KIND("bool")}, ["y"])], ["y"])
        self.answers(p, {"x": floats(1)}, out=("|b1", (1,), [True]))
    def test_lists(self):
        p = Program(["x"], [node("aten.cat.default", {"tensors": TS("x", "x"), "dim": I(0)}, ["y"]),
                            node("aten.split.Tensor", {"self": T("y"), "split_size": I(3)}, [TS("a", "b")])], ["b"])
        self.answers(p, {"x": floats(1, 2)}, out=floats(2))
    def test_index(self):
        p = Program(["x"], [node("aten.index.Tensor", {"self": T("x"), "indices": {"as_optional_tensors": [NONE, {"as_tensor": {"name": "x"}}]}}, ["y"])], ["y"])
        self.answers(p, {"x": ("<i8", (2, 2), [0, 1, 1, 0])}, out=("<i8", (2, 2, 2), [0, 1, 1, 0, 1, 0, 0, 1]))
    def test_index_of_32_bits(self):
        """Indices of 32 bits are accepted, as in PyTorch since 2.1. A mask beside them stays a mask."""
        x = {"x": floats(1, 2, 3, 4, shape=(2, 2)), "i": ("<i4", (2,), [1, -2]), "m": ("|b1", (2,), [False, True])}
        def program(*nodes):
            p = Program(["x", "i", "m"], list(nodes), ["y"])
            p.graph["tensor_values"].update(x=meta([2, 2]), i=meta([2], "int32"), m=meta([2], "bool"))
            return p
        for indices in {"as_optional_tensors": [{"as_tensor": {"name": "i"}}, {"as_tensor": {"name": "m"}}]}, TS("i", "m"):
            self.answers(program(node("aten.index.Tensor", {"self": T("x"), "indices": indices}, ["y"])), x, out=floats(4, 2))
        put = node("aten.index_put.default", {"self": T("x"), "indices": TS("i"), "values": T("x")}, ["y"])
        self.answers(program(put), x, out=floats(3, 4, 1, 2, shape=(2, 2)))
    def test_long_integers(self):
        n = 6364136223846793005
        p = Program(["x"], [node("aten.full.default", {"size": IS(1), "fill_value": I(n), "dtype": KIND("int64")}, ["y"])], ["y"])
        self.answers(p, {"x": floats(1)}, out=ints(n))
    def test_infinity(self):
        p = Program(["x"], [node("aten.full_like.default", {"self": T("x"), "fill_value": F("-Infinity")}, ["y"])], ["y"])
        self.answers(p, {"x": floats(1)}, out=floats(float("-inf")))
        members = p.members()           # as PyTorch 2.6 writes them
        members["models/model.json"] = members["models/model.json"].replace('"-Infinity"', "-Infinity")
        self.answers(members, {"x": floats(1)}, out=floats(float("-inf")))
    def test_view_by_any_strides(self):
        """A view may need the strides that a tensor had at the export. In a program that writes, the view may be written to."""
        nodes = [node("aten.t.default", {"self": T("x")}, ["t"]), node("aten.view.default", {"self": T("t"), "size": IS(6)}, ["y"])]
        x = {"x": floats(1, 2, 3, 4, 5, 6, shape=(2, 3))}
        self.answers(Program(["x"], nodes, ["y"]), x, out=floats(1, 4, 2, 5, 3, 6))
        nodes.append(node("aten.add_.Tensor", {"self": T("y"), "other": I(1)}, ["z"]))
        self.says(Program(["x"], nodes, ["z"]), x, "view size is not compatible")
    def test_strings(self):
        p = Program(["x"], [node("aten.div.Tensor_mode", {"self": T("x"), "other": I(2), "rounding_mode": TEXT("floor")}, ["y"])], ["y"])
        self.answers(p, {"x": floats(-3)}, out=floats(-2))
    def test_results_unused(self):
        p = Program(["x"], [node("aten.max.dim", {"self": T("x"), "dim": I(0)}, ["v", NONE])], ["v"])
        self.answers(p, {"x": floats(3, 4)}, out=("<f4", (), [4.0]))
    def test_unknown_dtype(self):
        p = Program(["x"], [node("aten.to.dtype", {"self": T("x"), "dtype": KIND("float8_e8m0fnu")}, ["y"])], ["y"])
        self.says(p, {"x": floats(1)}, "Kiln lacks the dtype float8_e8m0fnu", status=7)
    def test_no_such_value(self):
        p = Program(["x"], [node("aten.relu.default", {"self": T("z")}, ["y"])], ["y"])
        self.says(p, {"x": floats(1)}, "the program has no value 'z' here", "y = torch.ops.aten.relu.default(z)")
    def test_twice(self):
        p = Program(["x"], [node("aten.relu.default", {"self": T("x")}, ["x"])], ["x"])
        self.says(p, {"x": floats(1)}, "the program has two values 'x'")


class Lacking(Test):
    def test_ops(self):
        """All operators that Kiln lacks, each with its line and the line of Python that it was traced from."""
        trace = 'File "net.py", line 3, in forward\n    return self.a(x)\n  File "a.py", line 9, in forward\n    return torch.ops.my.op(x)'
        self.put(Program(["x"], [node("my.op.default", {"x": T("x")}, ["y"], trace), node("my.two.Tensor", {"x": T("y")}, [TS("a", "b")]),
                                 node("aten.relu.default", {"self": T("a")}, ["z"])], ["z"]))
        rc, said = self.kiln("ops", "m.pt2")
        self.assertEqual(rc, 7, said)
        for part in ("lacking: my::op", "y = torch.ops.my.op.default(x)", "lacking: my::two", "aten::relu", "a.py:9"):
            self.assertIn(part, said)
    def test_run(self):
        p = Program(["x"], [node("my.op.default", {"x": T("x")}, ["y"])], ["y"])
        self.says(p, {"x": floats(1)}, "Kiln has no operator my::op", "--op-schema", status=7)
    def test_given(self):
        self.put(Program(["x"], [node("my.op.default", {"x": T("x")}, ["y"])], ["y"]))
        got = self.calls([{"x": floats(1)}], "--op-schema", "my::op(Tensor x) -> Tensor", "--op-body", "my::op=return x * 3")
        self.assertEqual(got, [{"out": floats(3)}])
    def test_python_function(self):
        p = Program(["x"], [node("torch.nn.strange", [T("x")], ["y"])], ["y"])
        self.says(p, {"x": floats(1)}, "Kiln lacks the Python function torch.nn.strange", status=7)
    def test_higher_order(self):
        p = Program(["x"], [node("higher_order.strange", [T("x")], ["y"])], ["y"])
        self.says(p, {"x": floats(1)}, "Kiln lacks the higher-order operator strange", status=7)
    def test_newer_argument(self):
        p = Program(["x"], [node("aten.relu.default", {"self": T("x"), "newer": I(1)}, ["y"])], ["y"])
        self.says(p, {"x": floats(1)}, "Kiln lacks the form of aten::relu", "Keyword argument newer unknown", status=7)


class Symbols(Test):
    """Numbers of Python, sizes, and checks of arguments."""
    X = "Symbol('s0', positive=True, integer=True)"
    def test_arithmetic(self):
        ops = [("floordiv", -4), ("mod", 1), ("sub", -9), ("mul", -14)]
        nodes = [node("_operator." + n, [S("k"), I(2)], [S(n)]) for n, _ in ops]
        nodes += [node("_operator.truediv", [S("k"), I(2)], [{"as_sym_float": {"as_name": "t"}}]),
                  node("torch.sym_max", [S("k"), I(2)], [S("most")]), node("_operator.neg", [S("k")], [S("neg")]),
                  node("_operator.pow", [S("neg"), I(2)], [S("square")]), node("torch.sym_float", [S("k")], [{"as_sym_float": {"as_name": "f"}}]),
                  node("math.trunc", [{"as_sym_float": {"as_name": "t"}}], [S("trunc")]),
                  node("_operator.lt", [S("k"), I(0)], [B("less")]), node("torch.sym_not", [B("less")], [B("not")]),
                  node("torch.sym_ite", [B("less"), S("k"), I(5)], [S("ite")])]
        names = [S(n) for n, _ in ops] + [{"as_sym_float": {"as_name": "t"}}, S("most"), S("square"), {"as_sym_float": {"as_name": "f"}},
                                          S("trunc"), B("not"), S("ite")]
        p = Program([S("k")], nodes, names, out=tuple(LEAF for _ in names))
        want = [v for _, v in ops] + [-3.5, 2, 49, -7.0, -3, False, -7]
        self.answers(p, {"k": number(-7)}, **{f"out.{i}": number(v) for i, v in enumerate(want)})
    def test_functions(self):
        """Python's functions on k = 6, each with the kind of its result."""
        k, real = S("k"), {"as_sym_float": {"as_name": "o"}}
        rows = [("_operator." + n, a, S("o"), w) for n, a, w in (
                    ("add", [k, I(2)], 8), ("floordiv", [k, I(-4)], -2), ("mod", [k, I(-4)], -2), ("pow", [k, I(2)], 36), ("pos", [k], 6),
                    ("and_", [k, I(3)], 2), ("or_", [k, I(1)], 7), ("xor", [k, I(3)], 5), ("lshift", [k, I(2)], 24), ("rshift", [k, I(1)], 3), ("abs", [k], 6))]
        rows += [("_operator." + n, [k, I(2)], B("o"), w) for n, w in (("eq", False), ("ne", True), ("lt", False), ("le", False), ("gt", True), ("ge", True))]
        rows += [("_operator.truediv", [k, I(4)], real, 1.5), ("_operator.pow", [k, F(.5)], real, 6 ** .5), ("_operator.floordiv", [F(7.5), k], real, 1.0),
                 ("_operator.mod", [F(7.5), k], real, 1.5), ("torch.sym_max", [k, F(9.5)], real, 9.5), ("torch.sym_min", [k, I(9)], S("o"), 6),
                 ("torch.sym_sum", [{"as_sym_ints": [{"as_name": "k"}, {"as_int": 2}]}], S("o"), 8), ("torch._sym_sqrt", [k], real, 6 ** .5),
                 ("torch.sym_int", [F(2.7)], S("o"), 2), ("math.trunc", [F(-2.7)], S("o"), -2), ("math.ceil", [F(2.2)], S("o"), 3),
                 ("math.floor", [F(-2.2)], S("o"), -3), ("math.ceil", [k], S("o"), 6), ("math.log2", [I(1 << 29)], real, 29.0),
                 ("torch.sym_ite", [FLAG(False), F(.5), F(1.5)], real, 1.5), ("torch.sym_not", [FLAG(True)], B("o"), False)]
        for target, args, out, want in rows:
            with self.subTest(target):
                self.put(Program([k], [node(target, args, [out])], [out]))
                self.assertEqual(self.calls([{"k": number(6)}]), [{"out": number(want)}])
    def test_sizes(self):
        p = Program(["x"], [node("aten.sym_size.int", {"self": T("x"), "dim": I(1)}, [S("n")]),
                            node("aten.view.default", {"self": T("x"), "size": {"as_sym_ints": [{"as_name": "n"}, {"as_int": -1}]}}, ["y"])],
                    ["y", S("n")], {"x": [2, self.X]})
        self.answers(p, {"x": floats(*range(6), shape=(2, 3))}, **{"out.0": floats(*range(6), shape=(3, 2)), "out.1": number(3)})
    def test_item(self):
        p = Program(["x"], [node("aten.item.default", {"self": T("x")}, [S("n")]),
                            node("_operator.le", [S("n"), I(4)], [B("fits")]),
                            node("aten._assert_scalar.default", {"self": B("fits"), "assert_msg": TEXT("u0 <= 4 fails")}, []),
                            node("aten.ones.default", {"size": {"as_sym_ints": [{"as_name": "n"}]}}, ["y"])], ["y"])
        self.answers(p, {"x": ("<i8", (), [2])}, out=floats(1, 1))
        self.says(p, {"x": ("<i8", (), [5])}, "u0 <= 4 fails")
    def test_static(self):
        self.says(adds(sizes={"x": [2, 3]}), {"x": floats(1, 2, 3, shape=(1, 3))}, "Guard failed: x.size()[0] == 2")
        self.says(adds(sizes={"x": [2, 3]}), {"x": floats(1, 2, 3, shape=(1, 3))}, "Expected input at *args[0].shape[0] to be equal to 2, but got 1",
                  samples=b"")
        self.says(adds(sizes={"x": [2]}), {"x": floats(1, shape=(1, 1))}, "Unexpected number of dimensions in input at *args[0].shape", samples=b"")
    def test_range(self):
        p = adds(sizes={"x": [self.X]})
        p.ranges = {"s0": {"min_val": 3, "max_val": 4}}
        self.answers(p, {"x": floats(1, 2, 3)}, out=floats(2, 3, 4))
        self.says(p, {"x": floats(*range(5))}, "Guard failed: x.size()[0] <= 4")
        self.says(p, {"x": floats(1, 2)}, "Guard failed: x.size()[0] >= 3")
        self.says(p, {"x": floats(*range(5))}, "Expected input at *args[0].shape[0] to be <= 4, but got 5", samples=b"")
        p.ranges["s0"] = {"min_val": 2, "max_val": None}        # this only means that sizes 0 and 1 were not traced
        self.answers(p, {"x": floats(1)}, out=floats(2))
    def test_equal(self):
        p = Program(["x", "y"], [node("aten.cat.default", {"tensors": TS("x", "y")}, ["z"])], ["z"], {"x": [self.X], "y": [self.X]})
        self.says(p, {"x": floats(1, 2), "y": floats(1)}, "Guard failed: y.size()[0] == x.size()[0]")
        self.answers(p, {"x": floats(1, 2), "y": floats(3, 4)}, out=floats(1, 2, 3, 4))
    def test_derived(self):
        double = f"Add(Mul(Integer(2), {self.X}), Integer(1))"
        p = Program(["x", "y"], [node("aten.cat.default", {"tensors": TS("x", "y")}, ["z"])], ["z"], {"x": [double], "y": [self.X]})
        self.answers(p, {"x": floats(1, 2, 3), "y": floats(4)}, out=floats(1, 2, 3, 4))
        self.says(p, {"x": floats(1, 2, 3), "y": floats(4, 5)}, "y.size()[0]")
        self.says(p, {"x": floats(1, 2), "y": floats(4)}, "Guard failed: x.size()[0] == 2*s0 + 1")
        square = f"Add(Mul(Integer(3), Pow(Add({self.X}, Integer(-1)), Integer(2))), Max(Integer(1), {self.X}))"
        q = Program(["x", "y"], [node("aten.cat.default", {"tensors": TS("x", "y")}, ["z"])], ["z"], {"x": [self.X], "y": [square]})
        self.answers(q, {"x": floats(1, 2), "y": floats(*range(5))}, out=floats(1, 2, *range(5)))
        self.says(q, {"x": floats(1, 2), "y": floats(4)}, "y.size()[0] == 3*(x.size()[0] - 1)**2 + Max(1, x.size()[0])")
        p.ranges = {"s0": {"min_val": 2, "max_val": 3}}
        self.says(p, {"x": floats(*range(9)), "y": floats(*range(4))}, "Guard failed: x.size()[0] <= 7")
        less = f"Add(Mul(Integer(2), {self.X}), Integer(-1))"     # a size with a range of its own, of a symbol that x determines
        p = Program(["x", "y"], [node("aten.cat.default", {"tensors": TS("x", "y")}, ["z"])], ["z"], {"x": [self.X], "y": [less]})
        p.ranges = {"s0": {"min_val": 2, "max_val": None}, "2*s0 - 1": {"min_val": 3, "max_val": 7}}
        self.answers(p, {"x": floats(1, 2), "y": floats(3, 4, 5)}, out=floats(1, 2, 3, 4, 5))
        self.says(p, {"x": floats(1), "y": floats(1)}, "Guard failed: y.size()[0] >= 3")
        self.says(p, {"x": floats(*range(5)), "y": floats(*range(9))}, "Guard failed: y.size()[0] <= 7")
        self.says(p, {"x": floats(*range(4)), "y": floats(*range(6))}, "Guard failed: y.size()[0] == 2*x.size()[0] - 1")
    def test_guards(self):
        p = adds(sizes={"x": [self.X]})
        for guard, good, bad in (("L['x'].size()[0] % 2 == 0", 2, 3), ("2 <= L['x'].size()[0] <= 4", 3, 5), ("L['x'].size()[0] != 2", 3, 2),
                                 ("(-1) + L['x'].size()[0] // 2 >= 1 or L['x'].size()[0] == 1", 1, 2), ("not (L['x'].size()[0] == 3)", 2, 3),
                                 ("torch.sym_max(L['x'].size()[0], 3) == 3", 2, 4), ("Mod(L['x'].size()[0], 2) == 1", 3, 2)):
            p.guards = [guard]
            with self.subTest(guard):
                self.put(p)
                self.assertIsInstance(self.calls([{"x": floats(*range(good))}]), list)
                self.says(p, {"x": floats(*range(bad))}, "Guard failed: " + guard.replace("L['x']", "x"))
        spread = Program(["a", "b"], [node("aten.relu.default", {"self": T("a")}, ["y"])], ["y"], {"a": [self.X], "b": [self.X]},
                         args=(LEAF,), kwargs={"key": LEAF}, names=["xs_0", "key"])
        for guard in "L['xs'][0].size()[0] == 2", "L['kw']['key'].size()[0] == 2":        # guards of forward(self, *xs, **kw)
            spread.guards = [guard]
            self.put(spread)
            self.assertIsInstance(self.calls([{"xs_0": floats(1, 2), "key": floats(1, 2)}]), list)
            self.says(spread, {"xs_0": floats(1), "key": floats(1)}, "Guard failed")
        strict = Program(["a", "b"], [node("aten.relu.default", {"self": T("a")}, ["y"])], ["y"], {"a": [self.X], "b": [self.X]},
                         args=(LEAF,), kwargs={"key": LEAF}, names=["x", "key"])
        strict.guards = ["L['flat_args'][1].size()[0] <= 2*L['flat_args'][0].size()[0] - 2"]       # as strict exports name arguments
        self.put(strict)
        self.assertIsInstance(self.calls([{"x": floats(1, 2), "key": floats(1, 2)}]), list)
        self.says(strict, {"x": floats(1), "key": floats(1)}, "Guard failed: key.size()[0] <= 2*x.size()[0] - 2")
        strict.guards = ["L['flat_args'][2].size()[0] == 2"]
        self.says(strict, {"x": floats(1), "key": floats(1)}, "Kiln does not understand the guard L['flat_args'][2]", status=7)
        p.guards = ["L['x']._base.size()[1] == 2"]              # the example was a view; the argument is not
        self.put(p)
        self.assertIsInstance(self.calls([{"x": floats(1)}]), list)
        p.guards = ["strange(L['x'])"]
        self.says(p, {"x": floats(1)}, "Kiln does not understand the guard strange(L['x'])", status=7)
        p.guards = ["L['x'"]
        self.says(p, {"x": floats(1)}, "a guard")
    def test_constants(self):
        p = Program(["x", I(2), F(.5), TEXT("relu"), NONE], [node("aten.relu.default", {"self": T("x")}, ["y"])], ["y"], names=list("xnfsz"))
        good = {"x": floats(1), "n": number(2), "f": number(.5), "s": ("<U4", (), ["relu"])}
        npz_text = {k: v for k, v in good.items() if k != "s"}
        p2 = Program(["x", I(2), F(.5), NONE], [node("aten.relu.default", {"self": T("x")}, ["y"])], ["y"], names=list("xnfz"))
        self.answers(p2, npz_text, out=floats(1))
        self.says(p2, {**npz_text, "n": number(3)}, "Guard failed: n == 2")
        self.says(p2, {**npz_text, "f": number(.25)}, "Expected input at *args[2] to be equal to 0.5, but got 0.25", samples=b"")


class Bytes(Test):
    def test_order(self):
        for order, rc, said in (("big", 7, "byte order big"), ("middle", 1, "neither little nor big"), ("", 1, "neither"), ("little\n", 0, "")):
            members = adds().members()
            members["byteorder"] = order
            self.put(members)
            npz.write(os.path.join(self.dir, "i.npz"), {"x": floats(1)})
            self.assertEqual(self.kiln("run", "m.pt2", "-i", "i.npz")[0], rc, order)
            self.assertIn(said, self.kiln("run", "m.pt2", "-i", "i.npz")[1])


class Trees(Test):
    def test_keys(self):
        p = Program(["a", "b", "c", "d"], [], ["d", "a", "b", I(3), "c"], args=({"k": LEAF, "l": LEAF}, [LEAF]), kwargs={"z": LEAF},
                    out={"x": LEAF, "y": [LEAF, LEAF], "n": (LEAF, LEAF)}, names=["s", "l", "z"])
        self.answers(p, {"s.k": floats(1), "s.l": floats(2), "l.0": floats(3), "z": floats(4)},
                     **{"out.x": floats(4), "out.y.0": floats(1), "out.y.1": floats(2), "out.n.0": number(3), "out.n.1": floats(3)})
        rc, said = self.kiln("info", "m.pt2")
        self.assertIn("Dict[str, Tensor]", said)
        self.assertIn("List[Tensor]", said)
    def test_numbers_in_lists(self):
        p = Program(["a"], [], [I(3), I(4)], out=[LEAF, LEAF])
        self.answers(p, {"a": floats(1)}, **{"out.0": number(3), "out.1": number(4)})
    def test_kinds_of_keys(self):
        """A dict with int keys becomes a Dict, and so does one with text keys. One with both kinds becomes a list of its values.
        """
        p = Program(["a", "b"], [], ["a", "b"], out={7: LEAF, 0: LEAF})
        self.answers(p, {"a": floats(1), "b": floats(2)}, **{"out.7": floats(1), "out.0": floats(2)})
        p = Program(["a", "b"], [], ["a", "b"], out={1: LEAF, "b": LEAF})
        self.answers(p, {"a": floats(1), "b": floats(2)}, **{"out.0": floats(1), "out.1": floats(2)})
    def test_registered_classes(self):
        """A class that a library registered is like a dict if it names its parts, else like a tuple."""
        p = Program(["a", "b", "c"], [], ["c", "a", "b"], out=Named(hidden=LEAF, more=Plain((LEAF, LEAF))))
        self.answers(p, {"a": floats(1), "b": floats(2), "c": floats(3)},
                     **{"out.hidden": floats(3), "out.more.0": floats(1), "out.more.1": floats(2)})
        for named in Named, Fields:
            p = Program(["a", "b"], [], ["b"], args=(named(x=LEAF, y=LEAF),), names=["s"])
            self.answers(p, {"s.x": floats(1), "s.y": floats(2)}, out=floats(2))
    def test_samples(self):
        """Arguments of the export that are objects: a NamedTuple, a dataclass, one inside of the other. Omitted parts give a
        warning."""
        def build(value, tree):
            z = io.BytesIO()
            with zipfile.ZipFile(z, "w") as f: f.writestr("m/data.pkl", pickle.dumps(((value,), {}), 2))
            self.put(Program([I(2), F(.5)], [node("aten.full.default", {"size": IS(1), "fill_value": F(3.)}, ["y"])], ["y"], args=(tree,), names=["p"]),
                     samples=z.getvalue())
            rc, said = self.kiln("build", "m.pt2", "--cc", "tcc", "-o", "p")
            self.assertEqual(rc, 0, said)
            return said
        for value, tree in ((Pair(2, .5), (LEAF, LEAF)), (Data(2, .5), Fields(n=LEAF, f=LEAF)), (Data(2, Data(None, .5)), Fields(n=LEAF, f=Fields(f=LEAF)))):
            said = build(value, tree)
            self.assertNotIn("not used as an input", said)
            self.assertNotIn("no input", said)
            self.assertIn("exact, forward(", said)
        self.assertIn("the arguments of the export are not used as an input: ", build(Data(2, .5), (LEAF, LEAF)))
        self.assertIn("not used as an input: m.pt2: data/sample_inputs/model.pt: data.pkl: __main__.Data is used as a value", build(Data(2, Data), (LEAF, LEAF)))
        self.assertIn("not used as an input: m.pt2: data/sample_inputs/model.pt: data.pkl: calls ", build(Data(2, range(3)), (LEAF, LEAF)))
    def test_other_keys(self):
        p = Program(["a"], [], ["a"], args=({"k": LEAF},), names=["s"])
        self.says(p, {"s.k": floats(1), "s.m": floats(2)}, "the dict has other keys")
        self.says(p, {"s.m": floats(2)}, "k")
    def test_none_inside(self):
        p = Program(["a", NONE], [], ["a"], args=([LEAF, LEAF],), names=["l"])
        self.answers(p, {"l.0": floats(1)}, out=floats(1))
    def test_wrong(self):
        p = adds()
        p.args = (LEAF, LEAF)
        self.says(p, {"x": floats(1)}, "has 1 inputs, but arguments of 2 parts")
        p = adds()
        p.out = (LEAF, LEAF)
        self.says(p, {"x": floats(1)}, "has 1 results, but a tree of 2")


class State(Test):
    def linear(self):
        p = Program(["x"], [], ["y"])
        w, b = p.state("parameter", "l.weight", [1, 2], [2, 3]), p.state("parameter", "l.bias", [1], [1])
        p.graph["nodes"] = [node("aten.linear.default", {"input": T("x"), "weight": T(w), "bias": T(b)}, ["y"])]
        return p
    def test_parameters(self):
        self.answers(self.linear(), {"x": floats(1, 1)}, out=floats(6))
        rc, said = self.kiln("info", "m.pt2")
        self.assertIn("parameter l.weight", said)
        rc, said = self.kiln("run", "m.pt2", "-i", "i0.npz", "--grad", "params", "--grad-out", "g.npz", "-o", "o.npz")
        self.assertEqual(rc, 0, said)
        self.assertEqual(npz.read(os.path.join(self.dir, "g.npz")), {"l.weight": floats(1, 1, shape=(1, 2)), "l.bias": floats(1)})
        self.put(self.linear())
        self.assertEqual(self.kiln("save", "m.pt2", "-o", "s.pt")[0], 0)
        rc, said = self.kiln("run", "s.pt", "-i", "i0.npz", "-o", "s.npz")
        self.assertEqual(npz.read(os.path.join(self.dir, "s.npz")), {"out": floats(6)})
    def test_storages(self):
        """Two buffers that share a file: a write to one changes the other."""
        p = Program(["x"], [], ["z"])
        a, b = (p.state("buffer", n, s, [1, 2, 3, 4], file="weight_0", offset=o, strides=st)
                for n, s, o, st in (("a", [4], 0, [1]), ("b", [2], 1, [2])))
        p.graph["nodes"] = [node("aten.add_.Tensor", {"self": T(a), "other": T("x")}, ["y"]), node("aten.clone.default", {"self": T(b)}, ["z"])]
        self.put(p)
        self.assertEqual(self.calls([{"x": floats(1)}, {"x": floats(10)}]), [{"out": floats(3, 5)}, {"out": floats(13, 15)}])
    def test_mutation(self):
        """The program's new values of a buffer and of an argument are written to them, on one instance."""
        p = Program(["x"], [], ["n", "n"])
        n = p.state("buffer", "n", [1], [0], persistent=False)
        p.graph["nodes"] = [node("aten.add.Tensor", {"self": T(n), "other": T("x")}, ["n"])]
        p.outputs[0] = {"buffer_mutation": {"arg": {"name": "n"}, "buffer_name": "n"}}
        p.out = LEAF
        self.put(p)
        self.assertEqual(self.calls([{"x": floats(2)}, {"x": floats(3)}]), [{"out": floats(2)}, {"out": floats(5)}])
        self.assertEqual(self.kiln("build", "m.pt2", "-i", "i0.npz", "--cc", "tcc", "-o", "p")[0], 0)
        subprocess.run([os.path.join(self.dir, "p"), "-i", "i0.npz", "-o", "o0.npz", "-i", "i1.npz", "-o", "o1.npz"], cwd=self.dir, check=True)
        self.assertEqual([npz.read(os.path.join(self.dir, f"o{i}.npz")) for i in range(2)], [{"out": floats(2)}, {"out": floats(5)}])
    def test_several(self):
        """If an archive has several programs, each becomes a method with state of its own."""
        a, b = self.linear(), adds()
        self.put({**a.members("one"), **b.members("two")})
        npz.write(os.path.join(self.dir, "i.npz"), {"x": floats(1, 1)})
        for method, want in (("one", floats(6)), ("two", floats(2, 2))):
            rc, said = self.kiln("run", "m.pt2", "--method", method, "-i", "i.npz", "-o", "o.npz")
            self.assertEqual((rc, npz.read(os.path.join(self.dir, "o.npz"))), (0, {"out": want}), said)
        rc, said = self.kiln("run", "m.pt2", "-i", "i.npz")
        self.assertEqual(rc, 1)
        self.assertIn("no method 'forward'; there are: one, two", said)
    def test_payloads(self):
        def damaged(change):
            p = self.linear()
            change(p)
            return p
        def meta_of(p): return p.weights["l.weight"]["tensor_meta"]
        for change, text, status in (
                (lambda p: p.weights.pop("l.weight"), "there is no payload of 'l.weight'", 1),
                (lambda p: p.files.pop("data/weights/weight_0"), "data/weights/weight_0: is missing", 1),
                (lambda p: meta_of(p).update(storage_offset={"as_int": 1}), "larger than its storage", 1),
                (lambda p: meta_of(p).update(strides=[{"as_int": 1}]), "another number of strides", 1),
                (lambda p: meta_of(p).update(sizes=[{"as_int": 2 ** 62}] * 2), "larger than its storage", 1),
                (lambda p: meta_of(p).update(dtype=33), "Kiln lacks tensors of the dtype float8_e8m0fnu", 7),
                (lambda p: meta_of(p).update(layout=2), "Kiln lacks sparse tensors", 7),
                (lambda p: meta_of(p).update(dtype=8), "larger than its storage", 1),
                (lambda p: p.files.update({"data/weights/weight_0": b"123456"}), "6 bytes: no whole number of float32", 1),
                (lambda p: p.weights["l.weight"].update(use_pickle=True), "data/weights/weight_0", 1),
                (lambda p: p.weights["l.weight"].update(tensor_meta=None, use_pickle=True), "Kiln lacks custom objects", 7)):
            with self.subTest(text):
                self.says(damaged(change), {"x": floats(1, 1)}, text, status=status)
    def test_names(self):
        for name, text in (("", "is no valid name of a parameter"), ("a..b", "is no valid name of a parameter"), (".".join("a" * 200), "is no valid name of a parameter")):
            p = Program(["x"], [], ["x"])
            p.state("parameter", name, [1], [1])
            with self.subTest(name[:9]): self.says(p, {"x": floats(1)}, text)
        p = Program(["x"], [], ["x"])
        p.state("parameter", "a", [1], [1])
        p.state("parameter", "a.b", [1], [1])
        self.says(p, {"x": floats(1)}, "'a.b' is a part of the name of a tensor")


class Flow(Test):
    def test_cond(self):
        yes = graph(["a"], [node("aten.add.Tensor", {"self": T("a"), "other": I(1)}, ["y"])], ["y"])
        no = graph(["a"], [node("aten.neg.default", {"self": T("a")}, ["y"])], ["y"])
        for pred, before in ((T("c"), []), (B("c"), [node("aten.item.default", {"self": T("p")}, [B("c")])])):
            p = Program(["c" if not before else "p", "x"], before + [node("higher_order.cond", [pred, G(yes), G(no), TS("x")], ["z"])], ["z"],
                        names=["c", "x"])
            self.answers(p, {"c": ("|b1", (), [True]), "x": floats(1)}, out=floats(2))
            self.answers(p, {"c": ("|b1", (), [False]), "x": floats(1)}, out=floats(-1))
    def test_while(self):
        go = graph(["i", "a", "k"], [node("aten.lt.Scalar", {"self": T("i"), "other": I(3)}, ["c"])], ["c"], True)
        body = graph(["i", "a", "k"], [node("aten.add.Tensor", {"self": T("i"), "other": I(1)}, ["j"]),
                                       node("aten.mul.Tensor", {"self": T("a"), "other": T("k")}, ["b"])], ["j", "b"])
        p = Program(["i", "x", "k"], [node("higher_order.while_loop", [G(go), G(body), TS("i", "x"), TS("k")], ["n", "y"])], ["n", "y"])
        self.answers(p, {"i": ("<i8", (), [0]), "x": floats(1, 2), "k": floats(2)}, **{"out.0": ("<i8", (), [3]), "out.1": floats(8, 16)})
        self.answers(p, {"i": ("<i8", (), [5]), "x": floats(1, 2), "k": floats(2)}, **{"out.0": ("<i8", (), [5]), "out.1": floats(1, 2)})
        begun = Program(["i", "x", "k"], [node("aten.mul.Tensor", {"self": T("x"), "other": T("k")}, ["m"]),
                                          node("higher_order.while_loop", [G(go), G(body), TS("i", "m"), TS("k")], ["n", "y"])], ["n", "y"], {"m": [2]})
        self.answers(begun, {"i": ("<i8", (), [1]), "x": floats(1, 2), "k": floats(2)}, **{"out.0": ("<i8", (), [3]), "out.1": floats(8, 16)})
    def test_rows(self):
        f = graph(["h", "x", "k"], [node("aten.add.Tensor", {"self": T("h"), "other": T("x")}, ["n"]),
                                    node("aten.mul.Tensor", {"self": T("n"), "other": T("k")}, ["y"])], ["n", "y"])
        p = Program(["h", "x", "k"], [node("higher_order.scan", [G(f), TS("h"), TS("x"), TS("k")], ["n", "y"])], ["n", "y"])
        self.answers(p, {"h": floats(0), "x": floats(1, 2, 3, shape=(3, 1)), "k": floats(2)},
                     **{"out.0": floats(6), "out.1": floats(2, 6, 12, shape=(3, 1))})
        g = graph(["x", "k"], [node("aten.mul.Tensor", {"self": T("x"), "other": T("k")}, ["y"])], ["y"])
        p = Program(["x", "k"], [node("higher_order.map_impl", [G(g), TS("x"), TS("k")], ["y"])], ["y"])
        self.answers(p, {"x": floats(1, 2, shape=(2, 1)), "k": floats(3)}, out=floats(3, 6, shape=(2, 1)))
    def test_vmap(self):
        v = "torch._functorch.predispatch._"
        nodes = [node(v + "vmap_increment_nesting", [I(2), TEXT("error")], [NONE]), node(v + "add_batch_dim", [T("x"), I(0), I(1)], ["r"]),
                 node("aten.sum.default", {"self": T("r")}, ["s"]), node("aten.mul.Tensor", {"self": T("r"), "other": T("s")}, ["m"]),
                 node(v + "remove_batch_dim", [T("m"), I(1), I(2), I(1)], ["y"]), node(v + "vmap_decrement_nesting", [], [NONE])]
        p = Program(["x"], nodes, ["y"])
        self.answers(p, {"x": floats(1, 2, 3, 4, shape=(2, 2))}, out=floats(3, 21, 6, 28, shape=(2, 2)))
        self.says(Program(["x"], nodes, ["m"]), {"x": floats(1, 2, 3, 4, shape=(2, 2))}, "has no value 'm' here")
        self.says(Program(["x"], nodes[:-1], ["x"]), {"x": floats(1)}, "a region of vmap has no end")
    def test_regions(self):
        g = graph(["a"], [node("aten.mul.Tensor", {"self": T("a"), "other": T("a")}, ["y"])], ["y"])
        for target, args in (("invoke_subgraph", [G(g), TEXT("s"), T("x")]), ("wrap_with_set_grad_enabled", [FLAG(False), G(g), T("x")]),
                             ("wrap_with_autocast", [TEXT("cuda"), NONE, FLAG(True), NONE, G(g), T("x")])):
            with self.subTest(target):
                self.answers(Program(["x"], [node("higher_order." + target, args, ["z"])], ["z"]), {"x": floats(3)}, out=floats(9))
                self.answers(Program(["x"], [node("higher_order." + target, args, [TS("z")])], ["z"]), {"x": floats(3)}, out=floats(9))
    def test_autocast(self):
        g = graph(["a"], [node("aten.mm.default", {"self": T("a"), "mat2": T("a")}, ["y"])], ["y"])
        p = Program(["x"], [node("higher_order.wrap_with_autocast", [TEXT("cpu"), KIND("bfloat16"), FLAG(True), NONE, G(g), T("x")], ["z"])], ["z"])
        self.answers(p, {"x": floats(1.001, shape=(1, 1))}, out=("|V2", (1, 1), [1.0]))
        self.assertEqual(self.kiln("save", "m.pt2", "-o", "s.pt")[0], 0)
        with zipfile.ZipFile(os.path.join(self.dir, "s.pt")) as z:          # the saved code uses operators that PyTorch has
            code = b"".join(z.read(n) for n in z.namelist() if n.endswith(".py")).decode()
        self.assertEqual(set(re.findall(r"(?:torch|ops\.prim)\.(\w+)\(", code)) - {"RaiseException", "dim", "size", "eq", "ne", "__not__"},
                         {"_autocast_to_full_precision", "_autocast_to_reduced_precision", "mm"})
        # all floats except float64 are cast to the lower precision
        for dtype, lower in ("float16", True), ("bfloat16", True), ("float64", False):
            p = Program(["x"], [node("aten.to.dtype", {"self": T("x"), "dtype": KIND(dtype)}, ["h"]),
                                node("higher_order.wrap_with_autocast", [TEXT("cpu"), KIND("bfloat16"), FLAG(True), NONE, G(g), T("h")], ["z"])], ["z"])
            with self.subTest(dtype):
                self.answers(p, {"x": floats(2, shape=(1, 1))}, out=("|V2" if lower else "<f8", (1, 1), [4.0]))
        for equation, lower in ("ij,jk->ik", True), ("ij, ij->", True), ("ij,jk", True), ("ij,jk->ijk", False), ("ij,kl->i", False), ("ij->", False):
            a = TS("a", "a") if "," in equation else TS("a")              # an einsum that is a matrix product is cast like one
            g = graph(["a"], [node("aten.einsum.default", {"equation": TEXT(equation), "tensors": a}, ["y"]),
                              node("aten.sum.default", {"self": T("y")}, ["z"])], ["z"])
            p = Program(["x"], [node("higher_order.wrap_with_autocast", [TEXT("cpu"), KIND("bfloat16"), FLAG(True), NONE, G(g), T("x")], ["z"])], ["z"])
            with self.subTest(equation):
                self.answers(p, {"x": floats(2, shape=(1, 1))}, out=("|V2" if lower else "<f4", (), [2.0 if equation == "ij->" else 4.0]))
    def test_effects(self):
        p = Program(["x"], [node("higher_order.with_effects", {"": {"as_tensor": {"name": "t"}}, "op": {"as_operator": "torch.ops.aten.relu.default"},
                                                               "self": T("x")}, ["t2", "y"])], ["y"])
        p.graph["inputs"].insert(0, T("t"))
        p.inputs.insert(0, {"token": {"arg": {"name": "t"}}})
        p.graph["outputs"].insert(0, T("t2"))
        p.outputs.insert(0, {"token": {"arg": {"name": "t2"}}})
        self.answers(p, {"x": floats(-1, 1)}, out=floats(0, 1))
    def test_functional(self):
        """An operator that writes, made functional: the tensor that it has written to is a copy."""
        op = {"as_operator": "torch.ops.my.addto.default"}
        given = ["--op-schema", "my::addto(Tensor(a!) x, Tensor y) -> ()", "--op-body", "my::addto=x.add_(y)\nreturn"]
        views = (({}, (12, 13)), ({"slice_dim": I(0), "slice_start": I(1), "slice_end": I(2)}, (2, 13)),
                 ({"size": IS(1), "stride": IS(1), "storage_offset": I(0)}, (12, 3)))
        nodes = [node("higher_order.auto_functionalized", {"_mutable_op": op, "x": T("x"), "y": T("y")}, [NONE, "z"])]
        todo = [(nodes, (12, 13))] + [([node("higher_order.auto_functionalized_v2", {"_mutable_op": op, "y": T("y"), "_x_base_index": I(0),
                                        **{"_x_" + k: v for k, v in how.items()}, "_all_bases": TS("x")}, [NONE, "z"])], want) for how, want in views]
        for nodes, want in todo:
            self.put(Program(["x", "y"], nodes, ["x", "z"]))
            self.assertEqual(self.calls([{"x": floats(2, 3), "y": floats(10)}], *given), [{"out.0": floats(2, 3), "out.1": floats(*want)}])
        bad = node("higher_order.auto_functionalized_v2", {"_mutable_op": op, "y": T("y"), "_x_base_index": I(3), "_all_bases": TS("x")}, [NONE, "z"])
        self.put(Program(["x", "y"], [bad], ["z"]))
        got = self.calls([{"x": floats(2), "y": floats(1)}], *given)
        self.assertEqual(got[0], 1)
        self.assertIn("'x' is a view of base 3, and there are 1 bases", got[1])
    def test_print(self):
        self.put(Program(["x"], [node("aten._print.default", {"s": TEXT("said")}, [])], ["x"]))
        npz.write(os.path.join(self.dir, "i.npz"), {"x": floats(1)})
        self.assertIn("said", self.kiln("run", "m.pt2", "-i", "i.npz")[1])
    def test_wrong(self):
        g = graph(["a"], [], ["a"])
        for args, text in (([T("x")] * 4, "is no graph"), ([T("x"), G(g), G(graph([], [], [])), TS("x")], "a sub-graph with 0 inputs gets 1 operands"),
                           ([T("x"), G(g), G(graph(["a"], [], [])), TS("x")], "have 1 and 0 results"), ([], "has 0 arguments")):
            with self.subTest(text):
                self.says(Program(["x"], [node("higher_order.cond", args, ["z"])], ["z"]), {"x": floats(1)}, text)


class Files(Test):
    """Layouts and versions of archives, and archives without a program."""
    def test_versions(self):
        p = adds()
        p.version = {"major": 9, "minor": 1}
        self.says(p, {"x": floats(1)}, "Kiln lacks version 9.1 of exported programs: the newest known is 8.20", status=7)
        for version in ({"major": 7, "minor": 3}, {"major": 8, "minor": 99}, 5):
            p.version = version
            self.answers(p, {"x": floats(1)}, out=floats(2))
    def test_formats(self):
        good = adds().members()
        self.says({**good, "archive_format": "pt3"}, {"x": floats(1)}, "archive_format is 'pt3' (known is 'pt2')", status=7)
        self.says({**good, "archive_version": "1"}, {"x": floats(1)}, "archive_version is '1'", status=7)
    def test_inductor(self):
        self.says({"archive_format": "pt2", "archive_version": "0", "data/aotinductor/model/a.so": b""}, {}, "is a package of AOTInductor", status=7)
        self.says({"archive_format": "pt2", "archive_version": "0", "extra/x": b""}, {}, "without a program")
    def test_json(self):
        for text, said in (("{", "is no JSON"), ("[" * 300 + "]" * 300, "nests more than 200 deep"), ("{}", "lacks 'schema_version'"),
                           ('{"schema_version": {"major": 8}}', "lacks 'graph_module'"), ('{"schema_version": "x"}', "is no number"), ("", "is no JSON")):
            with self.subTest(text[:9]): self.says({**adds().members(), "models/model.json": text}, {}, said)
    def test_saved_state(self):
        """Before PyTorch 2.9 a file of torch.save has all weights. Before 2.5 the archive has no folder."""
        p = Program(["x"], [], ["y"])
        w = p.state("parameter", "w", [2], [2, 3])
        p.graph["nodes"] = [node("aten.mul.Tensor", {"self": T("x"), "other": T(w)}, ["y"])]
        body = (b"\x80\x02}X\1\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0" b"0X\3\0\0\0cpuK\2tQ"
                b"K\0(K\2t(K\1t\x88ccollections\nOrderedDict\n)RtRs.")
        saved = archive({"data.pkl": body, "data/0": struct.pack("<2f", 2, 3), "version": "3\n"}, "w/")
        none = archive({"data.pkl": b"\x80\x02}.", "version": "3\n"}, "c/")
        m = p.members()
        older = {k: v for k, v in m.items() if not k.startswith("data/")}
        self.answers({**older, "data/weights/model.pt": saved, "data/constants/model.pt": none}, {"x": floats(1, 1)}, out=floats(2, 3))
        flat = archive({"serialized_exported_program.json": m["models/model.json"], "serialized_state_dict.pt": saved,
                        "serialized_constants.pt": none, "version": "5"}, "")
        self.answers(flat, {"x": floats(1, 1)}, out=floats(2, 3))
    def test_hostile_names(self):
        p = Program(["x"], [node("aten.relu.default", {"self": T("x")}, ["*/ int y;\n\x1b[2J"])], ["*/ int y;\n\x1b[2J"])
        self.answers(p, {"x": floats(1)}, out=floats(1))
        rc, said = self.kiln("build", "m.pt2", "-i", "i0.npz", "--emit", "c", "--cc", "tcc", "--name", "p", "-o", "c")
        with open(os.path.join(self.dir, "c/p.c")) as f: self.assertNotIn("\x1b", f.read())
        p = Program(["x"], [], ["x"], names=["a b"])
        self.says(p, {}, "has an argument 'a b', which is no name")


GOLDEN = """\
graph(%self : __torch__.Exported,
      %x : Tensor):
  %0 : __torch__.Exported.l = prim::GetAttr[name="l"](%self)
  %p_l_weight : Tensor = prim::GetAttr[name="weight"](%0)
  %1 : int = prim::Constant[value=0]()
  %2 : int = aten::size(%x, %1)
  %3 : int = prim::Constant[value=2]()
  %4 : bool = aten::eq(%2, %3)
  prim::If(%4)
    block0():
      -> ()
    block1():
      %5 : str = prim::Constant[value="AssertionError: Guard failed: x.size()[0] == 2"]()
      %6 : NoneType = prim::Constant()
      prim::RaiseException(%5, %6)
      -> ()
  %7 : NoneType = prim::Constant()
  %y : Tensor = aten::linear(%x, %p_l_weight, %7)
  return (%y)
"""


class Graphs(Test):
    def test_golden(self):
        p = Program(["x"], [], ["y"], {"x": [2]})
        w = p.state("parameter", "l.weight", [1, 2], [2, 3])
        p.graph["nodes"] = [node("aten.linear.default", {"input": T("x"), "weight": T(w)}, ["y"])]
        self.put(p)
        self.assertEqual(self.kiln("show", "m.pt2", "--stage", "frontend"), (0, GOLDEN))


class Damaged(Test):
    """Archives with any kind of damage give a model or a message."""
    STRANGE = [None, True, 0, -1, 1e300, 2 ** 63, 10 ** 30, "", "x", "\x00", "s0", [], {}, [None], {"as_int": 1}, {"as_none": True}, {"as_tensor": {"name": "x"}}]

    def places(self, v, at=()):
        """Yields the places of all values below v."""
        items = v.items() if isinstance(v, dict) else enumerate(v) if isinstance(v, list) else ()
        for k, x in items:
            yield (*at, k)
            yield from self.places(x, (*at, k))

    def damage(self, r, v):
        *above, last = r.choice(list(self.places(v)))
        for k in above: v = v[k]
        how = r.randrange(4)
        if how == 0: del v[last]
        elif how == 1: v[last] = copy.deepcopy(r.choice(self.STRANGE))
        elif how == 2 and isinstance(v, list): v.insert(last, copy.deepcopy(v[last]))
        else:
            other = r.choice(list(v.values()) if isinstance(v, dict) else v)
            v[last] = copy.deepcopy(other)

    @staticmethod
    def model(_=None):
        """Makes a program with features of all kinds."""
        yes = graph(["a"], [node("aten.relu.default", {"self": T("a")}, ["y"])], ["y"])
        body = graph(["i", "a"], [node("aten.add.Tensor", {"self": T("i"), "other": I(1)}, ["j"])], ["j", "a"])
        go = graph(["i", "a"], [node("aten.lt.Scalar", {"self": T("i"), "other": I(3)}, ["c"])], ["c"], True)
        x = "Symbol('s0', positive=True, integer=True)"
        p = Program(["x", "d", S("k"), I(3)], [], ["y", "o"], {"x": [x, 2], "d": [f"Add({x}, Integer(1))"]}, args=(LEAF, {"a": LEAF}, LEAF, LEAF),
                    out={"y": LEAF, "l": [LEAF]}, names=["x", "d", "k", "n"])
        w, b = p.state("parameter", "l.w", [2, 2], [1, 2, 3, 4]), p.state("buffer", "n", [1], [0])
        p.graph["nodes"] = [
            node("aten.linear.default", {"input": T("x"), "weight": T(w)}, ["y"], 'File "a.py", line 3, in f\n    x'),
            node("aten.sum.default", {"self": T("y")}, ["s"]), node("higher_order.cond", [T("s"), G(yes), G(yes), TS("y")], ["o"]),
            node("higher_order.while_loop", [G(go), G(body), TS("s", "y"), {"as_tensors": []}], ["i", "z"]),
            node("aten.sym_size.int", {"self": T("x"), "dim": I(0)}, [S("m")]), node("_operator.add", [S("m"), S("k")], [S("t")]),
            node("aten.split.Tensor", {"self": T("y"), "split_size": I(1)}, [TS("p0", "p1")]), node("aten.add_.Tensor", {"self": T(b), "other": T("s")}, ["b2"])]
        p.ranges, p.guards = {"s0": {"min_val": 2, "max_val": 9}}, ["L['x'].size()[0] + 1 == L['d']['a'].size()[0]"]
        return p

    def test_values(self):
        r, good = random.Random(1), self.model()
        for i in range(int(os.environ.get("DAMAGED", "120"))):
            p = copy.deepcopy(good)
            whole = {"program": p.json(), "weights": p.weights, "trees": [p.args and spec((p.args, {})), spec(p.out)]}
            for _ in range(1 + i % 3): self.damage(r, whole)
            members = p.members()
            call = whole.get("program")
            try:
                sign = call["graph_module"]["module_call_graph"][0]["signature"]
                if i % 2: sign["in_spec"], sign["out_spec"] = (json.dumps([1, t]) for t in whole["trees"])
            except (TypeError, KeyError, IndexError, ValueError): pass
            members["models/model.json"] = json.dumps(call)
            members["data/weights/model_weights_config.json"] = json.dumps({"config": whole.get("weights")})
            self.put(members)
            for argv in (["ops", "m.pt2"], ["run", "m.pt2", "-i", "i.npz"]):
                npz.write(os.path.join(self.dir, "i.npz"), {"x": floats(1, 2, 3, 4, shape=(2, 2)), "d.a": floats(1, 2, 3), "k": number(1), "n": number(3)})
                rc, said = self.kiln(*argv)
                self.assertIn(rc, (0, 1, 7), (i, said, members["models/model.json"]))
                self.assertTrue(said, (i, rc))

    def test_bytes(self):
        good = archive(self.model().members())
        for at in range(7, len(good), max(1, len(good) // int(os.environ.get("DAMAGED", "60")))):
            self.put(good[:at] + bytes([good[at] ^ 0xff]) + good[at + 1:])
            rc, said = self.kiln("ops", "m.pt2")
            self.assertIn(rc, (0, 1, 7), (at, said))


if __name__ == "__main__":
    unittest.main()
