"""kiln check --double: errors against the interpreter in double, code that reads its dtype, decisions that differ, the error
bound.

usage: double_test.py KILN
"""
import json, os, struct, sys, unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
os.environ["CFLAGS"] = os.environ.get("CFLAGS") or "-Og"      # faster than -O0, which compiles all unused blocks
from hostile import KILN, Test, call, npy, npz

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
X = npz(x=npy([2, 3], data=struct.pack("<6f", 1, .1, .2, .3, .7, 9)))
TINY = 1e-9                          # in float, 1 + TINY is 1

# lines of forward(x: Tensor), and the lower and upper bound of the interpreter's error
HELD = {
    "sum": ("return x + %g - x" % TINY, .9, 1.1),
    "half": ("return (x.half() + 1e-5 - x.half()).float()", .9, 20),
    "bfloat16": ("return x.bfloat16() / 3", 1e-4, 1e-2),
    "complex": ("return torch.view_as_real(torch.complex(x, x) * (1 + %g)) - 1" % TINY, 1e-11, 1e-6),
    "casts": ("return x.to(torch.half).type_as(x).double().to(torch.float) + %g - x.half()" % TINY, .9, 1.1),
    "scalar": ("s = float((x + %g).sum() - x.sum())\nreturn x * s" % TINY, .9, 1.1),
    "list": ("l: List[List[float]] = (x + %g).tolist()\nreturn x * (l[0][0] - 1)" % TINY, .9, 1.1),
    "factory": ("return torch.full([2], 0.1, dtype=torch.float) + torch.zeros([2]) + torch.full_like(x[0, :2], %g) - 0.1" % TINY, .5, 2),
    "of integers": ("return torch.arange(7) / 7 + torch.tensor(3) * 0.1", 1e-9, 1e-7),
    "views": ("y = x.clone()\ny[0].add_(%g)\ny.view(-1)[1:2].mul_(1)\nreturn y[0] - x[0]" % TINY, .9, 1.1),
    "limits": ("return torch.nan_to_num(x.half() / 0), torch.nan_to_num(-x / 0)", 0, 1e-7),
    "loop": ("y = x\nfor i in range(4):\n    y = y + %g\nreturn y - x" % TINY, .9, 1.1),
    "fork": ("f = torch.jit.fork(add, x)\nreturn torch.jit.wait(f) - x", .9, 1.1),
    "out": ("y = torch.empty_like(x)\ntorch.add(x, %g, out=y)\nreturn y - x" % TINY, .9, 1.1),
    "draws": ("return torch.rand([40]) + torch.randn([40]) + torch.empty([9]).uniform_().sum() + torch.dropout(x, 0.5, True).sum()", 0, 1e-6),
    "same draws": ("return torch.bernoulli(torch.full([30], 0.5)) + torch.randperm(30) + torch.multinomial(x[0], 2).sum()", 0, 1e-6),
    "in an operator": ("return torch.prelu(x - 1 + %g, x[0, :1])" % TINY, 0, 1e-6),
    "unread": ("v, i = torch.cat([x[0, :1], x[0, :1] + %g]).max(0)\nreturn v + x" % TINY, 0, 1e-6),
}

# true of float32 arguments, whatever their values are
SAYS = """
def forward(x: Tensor):
    h = x.half()
    b = x.bfloat16()
    assert x.dtype == torch.float32 and h.dtype == torch.float16 and b.dtype == torch.bfloat16
    assert (x * h).dtype == torch.float32 and (h * b).dtype == torch.float32 and (h * 2.5).dtype == torch.float16
    assert (torch.arange(3) * 0.5).dtype == torch.float32 and x.sum(dtype=torch.float64).dtype == torch.float64
    assert torch.zeros([2], dtype=torch.half).dtype == torch.float16 and torch.zeros_like(b).dtype == torch.bfloat16
    assert x.is_floating_point() and not x.is_complex() and torch.complex(x, x).dtype == torch.complex64
    assert x.element_size() == 4 and h.element_size() == 2 and torch.result_type(h, 1) == torch.float16
    assert x.to(torch.int64).dtype == torch.int64 and x.ge(0).all()
    d = {"a": h.float(), "b": x.double()}
    return torch.cat([d["a"], x]), d, [x.int(), x.new_zeros([1])], str(h.dtype), (x.mean().item(), 3)
"""

# lines, operator, and the first words of its place
DECISIONS = {
    "argmax": ("y = torch.stack([x, x + %g])\ni = y.argmax(0)\nreturn x * i" % TINY, "aten::argmax", "i = y.argmax(0)"),
    "branch": ("if float((x + %g).max()) > 9.0:\n    return x\nreturn -x" % TINY, "aten::gt.float", "if float((x"),
    "compare": ("y = x + %g > x\nreturn x * y" % TINY, "aten::gt.Tensor", "y = x"),
    "mask of an operator": ("y = torch.greater(x + %g, x)\nreturn torch.where(y, x, -x)" % TINY, "aten::g", "y = torch.g"),
    "floor": ("y = torch.floor(x - %g)\nreturn y + x" % TINY, "aten::floor", "y = torch.floor"),
    "integers": ("y = (x - %g).to(torch.int64)\nreturn y * x" % TINY, "aten::to.dtype", "y = (x"),
    "remainder": ("y = torch.remainder(x[:, 0] - %g, 1.0)\nreturn y + 1" % TINY, "aten::remainder.Scalar", "y = torch.rem"),
    "nonzero": ("y = torch.nonzero(x + %g - x)\nreturn y * 1.0" % TINY, "aten::nonzero", "y = torch.nonz"),
    "sort": ("y = torch.cat([x[0, :1] + %g, x[0, :1]]).argsort()\nreturn y * 1.0" % TINY, "aten::sort", "y = torch.cat"),
    "topk": ("v, i = torch.topk(torch.cat([x[0, :1], x[0, :1] + %g]), 1)\nreturn v * i" % TINY, "aten::topk", "v, i = torch.topk"),
    "result": ("return (x + %g).argmax(), torch.cat([x[0, :1], x[0, :1] + %g]).argmax()" % (TINY, TINY), "aten::argmax", "return (x"),
    "view": ("i = torch.cat([x[0, :1], x[0, :1] + %g]).argmax()\nj = i.view(-1)\nreturn x[0] * 2, j" % TINY, "aten::argmax", "i = torch.cat"),
    "item": ("n = int((x[0, 0] - %g).item())\nreturn x * n" % TINY, "aten::Int.", "n = int"),
}


NATIVE = ["--cpu", "native"]             # a third of the build time of a program for several processors
MODELS = [("samples/%s/model.pt" % name, "samples/%s/in.npz" % name, "samples/%s/out.npz" % name)
          for name in ("digits", "lstm", "halting", "beam")] + [
    ("tests/op/embedding/model.pt", "tests/op/embedding/in.npz", "tests/op/embedding/out.npz"),
    ("tests/program/encoder/plain1.pt", "tests/program/encoder/short.in.npz", "tests/program/encoder/plain1.short.grad.npz"),
    ("tests/guards/fork.pt", "tests/guards/fork.a.npz", None),
    ("tests/guards/loop.pt", "tests/guards/loop.b.npz", None)]


def source(lines, head=""):
    return (head + "def forward(x: Tensor):\n    " + lines.replace("\n", "\n    ") + "\n").encode()


class Double(Test):
    def setUp(self):
        super().setUp()
        self.put("x.npz", X)

    def kiln(self, *argv, status=0):
        rc, out, err = call([KILN, *argv], self.dir)
        self.assertEqual(rc, status, (argv, out[-2000:], err[-2000:]))
        return out.decode() if out else err.decode()

    def check(self, *argv, status=0):
        return json.loads(self.kiln("check", "--double", "--json", *argv, status=status))

    def test_held_in_double(self):
        for name, (lines, least, most) in HELD.items():
            with self.subTest(name):
                self.put("m.py", source(lines, "def add(x: Tensor):\n    return x + %g\n" % TINY))
                answer, = self.check("m.py", "-i", "x.npz")
                self.assertEqual((answer["answer"], answer["in_float"]), ("within the bound", ""))
                error = max(r["interpreter"] for r in answer["results"])
                self.assertTrue(least <= error <= most, error)

    def test_says_its_dtype(self):
        self.put("m.py", SAYS.encode())
        answer, = self.check("m.py", "-i", "x.npz")
        self.assertEqual((answer["answer"], answer["why"]), ("within the bound", ""))
        self.assertEqual([r["key"] for r in answer["results"]], ["out.0", "out.1.a", "out.1.b", "out.2.1", "out.4.0"])

    def test_decisions(self):
        for name, (lines, operator, where) in DECISIONS.items():
            with self.subTest(name):
                self.put("m.py", source(lines))
                answer, = self.check("m.py", "-i", "x.npz", status=4)
                self.assertEqual(answer["answer"], "decides otherwise in double")
                self.assertTrue(answer["operator"].startswith(operator), answer)
                self.assertIn(": " + where, answer["line"])
                self.assertTrue(TINY / 20 < answer["margin"] < TINY * 2 or name in ("floor", "remainder", "nonzero"), answer)
        self.assertIn("m.py:", self.kiln("check", "--double", "m.py", "-i", "x.npz", status=4))

    def test_not_decided(self):
        """If both sides are equal, it is no decision, though floats were compared."""
        self.put("m.py", source("i = x.argmax(1)\ny = x[torch.arange(2), i]\nif float(x.sum()) > 1.0:\n    y = y + torch.floor(x.sum())\nreturn y, i, x > 0.5, torch.sort(x)[1]"))
        self.assertEqual(self.check("m.py", "-i", "x.npz")[0]["answer"], "within the bound")

    def test_programs_and_references(self):
        self.put("m.py", source("y = torch.softmax(x, 1).matmul(x.t())\nreturn y, x.sum(), [x.int()]"))
        self.put("off.py", source("y = torch.softmax(x, 1).matmul(x.t())\nreturn y * 1.0001, x.sum(), [x.int()]"))
        self.put("ints.py", source("y = torch.softmax(x, 1).matmul(x.t())\nreturn y, x.sum(), [x.int() + 1]"))
        for name in "m", "off", "ints":
            self.kiln("build", name + ".py", "-i", "x.npz", *NATIVE, "-o", name)
            self.kiln("run", name + ".py", "-i", "x.npz", "-o", name + ".npz")
        answer, = self.check("m.py", "m", "-i", "x.npz", "--reference", "m.npz")
        self.assertEqual((answer["times"], answer["least"], answer["answer"]), (3, 5e-6, "within the bound"))
        for r in answer["results"]:
            self.assertEqual((r["reference"], r["bound"]), (r["interpreter"], 5e-6))
            self.assertLess(r["program"], 1e-6)
        over, = self.check("m.py", "off", "-i", "x.npz", status=4)
        self.assertEqual(over["answer"], "over the bound")
        self.assertAlmostEqual(over["results"][0]["program"], 1e-4, 6)
        self.assertIn("out.0, program 0.0001, interpreter", self.kiln("check", "--double", "m.py", "off", "-i", "x.npz", status=4))
        self.assertIn(": over\n", self.kiln("check", "--double", "m.py", "off", "-i", "x.npz", status=4))
        self.assertEqual(self.check("m.py", "off", "-i", "x.npz", "--reference", "off.npz")[0]["answer"], "within the bound")
        self.assertEqual(self.check("m.py", "ints", "-i", "x.npz", status=4)[0]["answer"], "differs")
        two = self.check("m.py", "m", "-i", "x.npz", "-i", "x=float32[4x3]", "--reference", "m.npz", "--reference", "m.npz", status=4)
        self.assertEqual([x["answer"] for x in two], ["within the bound", "differs"])
        self.kiln("check", "--double", "m.py", "-i", "x.npz", "-i", "x.npz", "--reference", "m.npz", status=2)
        self.kiln("check", "m.py", "m", "-i", "x.npz", "--reference", "m.npz", status=2)
        self.kiln("check", "m.py", "-i", "x.npz", status=2)
        self.put("e.py", source("e: List[float] = []\nreturn e, x"))
        self.kiln("run", "e.py", "-i", "x.npz", "-o", "e.npz")
        self.assertEqual([r["key"] for r in self.check("e.py", "-i", "x.npz", "--reference", "e.npz")[0]["results"]], ["out.0", "out.1"])
        self.kiln("check", "--double", "m.py", "m", "-i", "x.npz", "--reference", "absent.npz", status=1)

    def test_ill_conditioned(self):
        """Without --double it decides whether a difference between program and interpreter counts: rounding does not, a wrong
        answer does."""
        late = "y = x[:, 0] + (x[:, 1] + x[:, 2])"                     # 8 more than x[:, 0]; the exact value is 6.6
        for name, sums, ints in (("m", "y = x[:, 0] + x[:, 1] + x[:, 2]", 0), ("off", late, 0), ("wrong", late + " + 40", 0), ("ints", late, 1)):
            self.put(name + ".py", source("%s\nreturn y - x[:, 0], [x.int() + %d]" % (sums, ints)))
        self.put("c.npz", npz(x=npy([2, 3], data=struct.pack("<6f", 1e8, 3.3, 3.3, 1e8, 3.3, 3.3))))
        for name, status, wanted in ("m", 0, "same"), ("off", 0, "ill-conditioned"), ("wrong", 4, "differs"), ("ints", 4, "differs"):
            self.kiln("build", name + ".py", "-i", "c.npz", "--no-dynamic", "--cc", "tcc", "-o", name)
            answer, = json.loads(self.kiln("check", "m.py", name, "-i", "c.npz", "--json", status=status))
            self.assertEqual(answer["answer"], wanted, answer)
        said = self.kiln("check", "m.py", "off", "-i", "c.npz")
        self.assertIn("c.npz: ill-conditioned: out.0[0] is 8, expected 0; errors against double: interpreter 1, program 0.21\n"
                      "  out.0, program 0.21, interpreter 1, bound 3\n", said)
        self.assertIn("differs: out.0[0] is 48, expected 0; errors against double: interpreter 1, program 6.3", self.kiln("check", "m.py", "wrong", "-i", "c.npz", status=4))

    def test_decides_otherwise(self):
        """If a decision differs in double, errors mean nothing: a difference remains one, and the decision is named."""
        self.put("m.py", source(DECISIONS["mask of an operator"][0]))
        self.put("n.py", source("return x + 0"))
        self.kiln("build", "n.py", "-i", "x.npz", "--no-dynamic", "--cc", "tcc", "-o", "n")
        self.assertRegex(self.kiln("check", "m.py", "n", "-i", "x.npz", status=4), r"^x.npz: differs: .*; in double aten::g\S* decides otherwise, by a margin of \S+ \(--double")

    def test_raises(self):
        self.put("m.py", source("y = torch.neg(x)\nif x.sum() > 1:\n    raise ValueError('no')\nreturn y"))
        self.kiln("build", "m.py", "-i", "x.npz", *NATIVE, "-o", "m")
        self.assertEqual(self.check("m.py", "m", "-i", "x.npz")[0]["answer"], "both raise")
        self.put("k.py", source("y = x.matmul(x)\nreturn y"))
        self.assertEqual(self.check("k.py", "-i", "x.npz")[0]["answer"], "both raise")

    def test_infinities(self):
        """Overflow in half: an infinite value where double is finite meets no bound, unless double overflows, too."""
        self.put("m.py", source("y = x.half() * 60000\nreturn y"))
        self.put("n.py", source("y = x.half() * 6000\nreturn y"))
        self.put("o.py", source("y = (x / 0).half() - 1\nreturn y"))
        for name in "mno":
            self.kiln("build", name + ".py", "-i", "x.npz", *NATIVE, "-o", name)
        self.assertEqual(self.check("m.py", "m", "-i", "x.npz")[0]["results"], [{"key": "out", "program": None, "interpreter": None, "bound": None}])
        self.assertEqual(self.check("n.py", "m", "-i", "x.npz", status=4)[0]["answer"], "over the bound")
        self.assertEqual(self.check("o.py", "o", "-i", "x.npz")[0]["results"][0]["interpreter"], 0)

    def test_models(self):
        """Archives with weights, state, recurrence, tasks and loops that end depending on data, compared with PyTorch's answers.
        """
        for model, given, recorded in MODELS:
            with self.subTest(model):
                model, given, *recorded = (os.path.join(ROOT, f) for f in (model, given, recorded) if f)
                self.kiln("build", model, "-i", given, *NATIVE, "-o", "p")
                answer, = self.check(model, "p", "-i", given, *(w for f in recorded for w in ("--reference", f)))
                self.assertEqual((answer["answer"], answer["in_float"]), ("within the bound", ""))
                self.assertTrue(all(0 <= r["interpreter"] < 1e-5 for r in answer["results"]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
