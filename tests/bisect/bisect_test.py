"""kiln bisect finds a bug that was planted in one pass, down to the change, the node and the line of the model; kiln check and
a program's --selfcheck find that there is one: in answers, in errors, in what is printed.

usage: bisect_test.py KILN CSE CONSTPOOL KERN_COPY     the last three: Kiln with a bug in that source, see build.ninja
The broken cse ignores writes, so the interpreter is wrong. The broken constpool merges all numbers of a type, so only programs
are wrong. The broken lower_index stores all stacked tensors to the same elements, so no pass is to blame. The bug of cse is in
the prepared graph, so specialized and generic code have it. Only the graph as it was read is right.
"""
import os, random, struct, sys, unittest

BROKEN = {name: os.path.abspath(sys.argv.pop(2)) for name in ("cse", "constpool", "lower_index")}
KILN = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
os.environ["CFLAGS"] = os.environ.get("CFLAGS") or "-Og"      # faster than -O0, which compiles all unused blocks
from hostile import Test, body, call, model, npy, npz

WRITES = body(["a = torch.relu(x)", "b = torch.neg(x)", "_0 = torch.sum(x)", "c = torch.relu(x)", "torch.add_(x, 1.)",
               "_1 = torch.sum(x)", "return torch.add(torch.mul(torch.add(_0, _1), b), torch.mul(a, c))"])
NUMBERS = body(["y = torch.mul(x, 3.)", "z = torch.add(torch.sum(y), 3.)", "return torch.sub(z, torch.sum(torch.div(y, 5.)))"])
STACK = body(["y = torch.relu(x)", "z = torch.stack([y, torch.neg(x)])", "return torch.sum(torch.relu(z), [0])"])
# With the unseen write these raise instead of answering, answer instead of raising, or raise another error.
RAISES = body(["_0 = torch.sum(x)", "torch.add_(x, 1.)", "_1 = torch.sum(x)", "if bool(torch.eq(_0, _1)):",
               "  ops.prim.RaiseException(\"the same\")", "return torch.add(_0, _1)"])
ANSWERS = body(["_0 = torch.sum(x)", "torch.add_(x, 1.)", "_1 = torch.sum(x)", "if bool(torch.ne(_0, _1)):",
                "  ops.prim.RaiseException(\"not the same\")", "return torch.add(_0, _1)"])
SAYS = body(["_0 = torch.sum(x)", "torch.add_(x, 1.)", "_1 = torch.sum(x)",
             "ops.prim.RaiseException(torch.format(\"{} {}\", float(_0), float(_1)))", "return x"])
PRINTS = body(["_0 = torch.sum(x)", "torch.add_(x, 1.)", "_1 = torch.sum(x)", "print(float(_0), float(_1))", "return x"])
STACK_RAISES = body(["z = torch.stack([x, torch.neg(x)])", "if bool(torch.ne(torch.sum(z), 0)):",
                     "  ops.prim.RaiseException(\"not 0\")", "return z"])
X = npz(x=npy([2, 3], data=struct.pack("<6f", 1, -2, 3, 4, -5, 6)))
CC = [] if "sanitize" in os.environ["CFLAGS"] else ["--cc", "tcc"]      # tcc links no sanitizers


class Bisect(Test):
    def bisect(self, kiln, code, status, *options):
        self.put("m.pt", model(code))
        self.put("x.npz", X)
        rc, out, err = call([kiln, "bisect", "m.pt", "-i", "x.npz", *options], self.dir)
        self.assertEqual(rc, status, (out, err[-2000:]))
        return out.decode()

    def repeats(self, kiln, said):
        """The commands that it prints give different answers."""
        answers = []
        for word in "wrong", "right":
            line = [l for l in said.splitlines() if l.startswith(word + ": kiln")][0].split(": ", 1)[1]
            if " && " in line:
                call([kiln, *line.split(" && ")[0].split()[1:]], self.dir)
                argv = line.split(" && ")[1].split()
            else:
                argv = [kiln, *line.split()[1:]]
            rc, out, err = call(argv, self.dir)
            self.assertEqual(rc, 0, err)
            answers.append(out)
        self.assertNotEqual(*answers)

    def test_nothing(self):
        self.assertIn("same", self.bisect(KILN, WRITES, 0))

    def test_ill_conditioned(self):
        """A sum that cancels, which kernels add in another order: like kiln check, bisect does not count that as a difference."""
        half = [random.Random(i).gauss(0, 1e6) for i in range(3000)]
        values = half + [-v for v in half] + [1e-3]
        random.Random(0).shuffle(values)
        self.put("m.pt", model(body(["y = torch.add(torch.mul(x, 1.2345), 0.1)", "return torch.mul(torch.sum(y), 1000)"])))
        self.put("x.npz", npz(x=npy([6001], data=struct.pack("<6001f", *values))))
        rc, out, err = call([KILN, "bisect", "m.pt", "-i", "x.npz", *CC], self.dir)
        self.assertEqual((rc, b"same" in out), (0, True), (out, err))
        call([KILN, "build", "m.pt", "-i", "x.npz", "--no-dynamic", "--cpu", "native", *CC, "-o", "m"], self.dir)
        rc, out, err = call([KILN, "check", "m.pt", "./m", "-i", "x.npz"], self.dir)
        self.assertEqual((rc, b"ill-conditioned" in out), (0, True), (out, err))        # otherwise this tests nothing

    def test_nothing_can_be_built(self):
        """A failing build is no differing answer."""
        self.assertNotIn("pass:", self.bisect(KILN, WRITES, 7, "--cc", "no-such-compiler"))

    def test_interpreter(self):
        said = self.bisect(BROKEN["cse"], WRITES, 4)
        self.assertIn("pass: cse", said)
        self.assertIn("aten::sum(%x", said.split("change:")[1])
        self.assertIn("_1 = torch.sum(x)\n", said)                # the line of the model
        self.repeats(BROKEN["cse"], said)

    def test_program(self):
        said = self.bisect(BROKEN["constpool"], NUMBERS, 4)
        self.assertIn("pass: constpool", said)
        self.assertIn("prim::Constant[value=5.]", said)
        self.assertIn("torch.div(y, 5.)", said)
        self.repeats(BROKEN["constpool"], said)

    def test_kernel(self):
        said = self.bisect(BROKEN["lower_index"], STACK, 4)
        self.assertIn("pass: kernels", said)
        self.assertIn("aten::stack", said.split("change:")[1])
        self.assertIn("z = torch.stack([y, torch.neg(x)])\n", said)
        self.repeats(BROKEN["lower_index"], said)


class Check(Test):
    def build(self, kiln, code, *options):
        self.put("m.pt", model(code))
        self.put("x.npz", X)
        rc, out, err = call([kiln, "build", "m.pt", "-i", "x.npz", "-o", "p", *CC, *options], self.dir)
        self.assertEqual(rc, 0, err)

    def finds(self, status, *argv, says=""):
        rc, out, err = call(argv, self.dir)
        self.assertEqual(rc, status, (out, err[-2000:]))
        self.assertIn(says.encode(), out + err)

    def test_prepared_graph(self):
        cases = [(WRITES, "out"), (RAISES, "the same"), (ANSWERS, "not the same"), (SAYS, "raises RuntimeError: 7. 13."), (PRINTS, "prints")]
        for code, says in cases:
            with self.subTest(says):
                self.build(BROKEN["cse"], code, "--selfcheck-code")
                self.finds(4, "./p", "-i", "x.npz", "--selfcheck", says=says)
                self.finds(4, BROKEN["cse"], "check", "m.pt", "p", "-i", "x.npz", says="differs")
                if code in (RAISES, ANSWERS):
                    self.finds(4, BROKEN["cse"], "bisect", "m.pt", "-i", "x.npz", says="pass: cse")
        self.build(BROKEN["cse"], RAISES)
        self.finds(0, "./p", "-i", "x.npz", "--selfcheck")           # without the original code selfcheck cannot find it

    def test_specialized_code(self):
        """One of the two raises and the other answers."""
        self.build(BROKEN["lower_index"], STACK_RAISES)
        self.finds(4, "./p", "-i", "x.npz", "--selfcheck", says="not 0")

    def test_nothing(self):
        for code in WRITES, RAISES, ANSWERS, SAYS, PRINTS, STACK_RAISES:
            self.build(KILN, code, "--selfcheck-code")
            self.finds(0, "./p", "-i", "x.npz", "--selfcheck")
            self.finds(0, KILN, "check", "m.pt", "p", "-i", "x.npz")

    def test_stop_at_a_pass_that_is_off(self):
        self.put("m.pt", model(WRITES))
        self.put("x.npz", X)
        for step, dces in ("constprop", 0), ("constprop:2", 1), ("convbn", 1), ("unrolling", 2):
            rc, out, err = call([KILN, "run", "m.pt", "-i", "x.npz", "-O0", "--no-pass", "convbn", "--stop", step, "-d", "dce"], self.dir)
            self.assertEqual((rc, err.count(b"after dce")), (0, dces), (step, err))
        self.finds(2, KILN, "run", "m.pt", "-i", "x.npz", "--stop", "dce:9", says="dce:9")


if __name__ == "__main__":
    unittest.main()
