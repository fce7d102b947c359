"""kiln trace: writes the operators that a run executes as an archive. cases.tar.xz has modules with PyTorch's answers (models.py
made it).

usage: straight_test.py KILN
"""
import json, os, re, struct, sys, tarfile, tempfile, unittest, zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../program"))
import npz as arrays
from hostile import KILN, Test, body, call, model, npy, npz

TOP = tempfile.TemporaryDirectory()
with tarfile.open(os.path.join(HERE, "cases.tar.xz")) as tar:
    tar.extractall(TOP.name)
CASES = sorted(os.listdir(TOP.name))
NESTED = re.compile(r"prim::(If|Loop)")


def path(case, name):
    return os.path.join(TOP.name, case, name)


class Straight(Test):
    def kiln(self, *argv, status=0):
        rc, out, err = call([KILN, *argv], self.dir)
        err = err.decode("utf-8", "replace")
        self.assertEqual(rc, status, err)
        return out.decode("utf-8", "replace"), err

    def trace(self, case, *more):
        return self.kiln("trace", path(case, "model.pt"), "-i", path(case, "1.in.npz"), "-o", "OUT.pt", *more)[1]

    def answers(self, case, n, archive="OUT.pt"):
        self.kiln("run", archive, "-i", path(case, f"{n}.in.npz"), "-o", "out.npz")
        return arrays.differs(arrays.read(path(case, f"{n}.out.npz")), arrays.read(os.path.join(self.dir, "out.npz")))

    def meta(self, case):
        with open(path(case, "meta.json")) as f:
            return json.load(f)

    def test_answers(self):
        """Interpreted and by a program, on the traced input, and on the other one if the trace holds for it."""
        self.assertGreater(len(CASES), 35)
        for case in CASES:
            with self.subTest(case):
                self.trace(case)
                self.assertIsNone(self.answers(case, 1))
                if self.meta(case).get("holds", True) and os.path.exists(path(case, "2.in.npz")):
                    self.assertIsNone(self.answers(case, 2))
                self.assertIsNone(NESTED.search(self.kiln("show", "OUT.pt", "--stage", "prepared", "-p", "inlining")[0]))

    def test_programs(self):
        for case in ("objects", "state", "twice", "recurrent", "padded"):
            with self.subTest(case):
                self.trace(case)
                self.kiln("build", "OUT.pt", "-i", path(case, "1.in.npz"), "--cc", "tcc", "-o", "p")
                for n in (1, 2):
                    rc, _, err = call(["./p", "-i", path(case, f"{n}.in.npz"), "-o", "out.npz"], self.dir)
                    self.assertEqual(rc, 0, err)
                    self.assertIsNone(arrays.differs(arrays.read(path(case, f"{n}.out.npz")),
                                                     arrays.read(os.path.join(self.dir, "out.npz"))))

    def test_traced_again(self):
        """The trace of a trace is the same graph."""
        for case in ("layers", "calls", "containers", "tasks"):
            with self.subTest(case):
                self.trace(case)
                self.kiln("trace", "OUT.pt", "-i", path(case, "1.in.npz"), "-o", "again.pt")
                self.assertEqual(self.kiln("show", "OUT.pt", "--as", "python")[0], self.kiln("show", "again.pt", "--as", "python")[0])

    def test_check(self):
        """A warning names the line of each branch that depends on data. Other modules get no warning."""
        warned = clean = 0
        for case in CASES:
            meta, two = self.meta(case), path(case, "2.in.npz")
            said = self.trace(case, *(["--check", two] if os.path.exists(two) else []))
            with self.subTest(case):
                if "warns" in meta:
                    self.assertRegex(said, r"models\.py:\d+:\d+: warning: .*depends on.*\n *" + re.escape(meta["warns"]))
                elif "notes" in meta:
                    self.assertRegex(said, r"models\.py:\d+:\d+: note: .*depends on.*\n *" + re.escape(meta["notes"]))
                elif meta.get("holds", True):
                    self.assertEqual(said.replace("\n", ""), "")
                if meta.get("holds", True):
                    self.assertNotIn("another path", said)
                    self.assertNotIn("differs", said)
                else:
                    self.assertRegex(said, r"models\.py:\d+:\d+: warning: .*takes another path on .*, which the trace does not have")
                    self.assertIn("the trace's result differs from the model's: ", said)
                warned += "warns" in meta
                clean += not said
        self.assertGreaterEqual(warned, 10)
        self.assertGreaterEqual(clean, 20)

    def test_json(self):
        two = path("on_item", "2.in.npz")
        said = json.loads(self.kiln("trace", path("on_item", "model.pt"), "-i", path("on_item", "1.in.npz"), "-o", "OUT.pt",
                                    "--check", two, "--json")[0])
        self.assertEqual([w["kind"] for w in said["warnings"]], ["warning"] * 3)
        self.assertEqual([w.get("line") for w in said["warnings"]][0], said["warnings"][1]["line"])
        self.assertEqual([w["input"] for w in said["warnings"]], [path("on_item", "1.in.npz"), two, two])
        self.assertNotIn("line", said["warnings"][2])
        self.assertEqual(said["choices"], 6)

    def test_methods(self):
        """Modules stay. A method that ran in two ways becomes two methods; a method that ran in one way stays one."""
        self.trace("twice")
        with zipfile.ZipFile(os.path.join(self.dir, "OUT.pt")) as z:
            text = z.read("OUT/code/__torch__.py").decode()
        self.assertEqual(re.findall(r"\(a\d*\)\.(\w+)\(", text), ["forward", "forward1", "forward"])
        self.assertEqual(len(re.findall("def ", text)), 3)

    def test_keep(self):
        """Calls that are kept keep their branches, their callees and their names."""
        for keep, kept, inlined in ((["scaled"], "scaled", "helper"), (["helper"], "scaled", "two"), (["Linear"], "Linear", "helper"),
                                    (["Calls.two", "helper"], "two", "none")):
            with self.subTest(keep=keep):
                self.trace("calls", *(a for k in keep for a in ("--keep", k)))
                self.assertIsNone(self.answers("calls", 1))
                with zipfile.ZipFile(os.path.join(self.dir, "OUT.pt")) as z:
                    text = b"".join(z.read(n) for n in z.namelist() if n.endswith(".py")).decode()
                self.assertRegex(text, r"(def|class) %s\b" % kept)
                self.assertNotIn("def %s(" % inlined, text)
                self.assertEqual("if " in text, "Linear" not in keep)
        self.trace("twice", "--keep", "Relu")
        self.assertIsNone(self.answers("twice", 2))
        self.trace("helped", "--keep", "helper")
        self.assertIsNone(self.answers("helped", 1))
        self.trace("interfaces", "--keep", "Relu.forward")
        self.assertIsNone(self.answers("interfaces", 2))
        os.remove(os.path.join(self.dir, "OUT.pt"))
        self.check([KILN, "trace", path("calls", "model.pt"), "-i", path("calls", "1.in.npz"), "-o", "OUT.pt", "--keep", "scale"], 1,
                   "nothing named 'scale'")

    def test_method(self):
        self.put("m.pt", model(body(["return x"]) + "  def other(self: __torch__.M, x: Tensor, n: int=2) -> Tensor:\n"
                                    "    for i in range(n):\n      x = torch.add(x, self.w)\n    return x\n"))
        self.put("x.npz", npz(x=npy([2, 3])))
        _, said = self.kiln("trace", "m.pt", "--method", "other", "-i", "x.npz", "-o", "OUT.pt")
        self.assertIn("m.pt:code/__torch__.py:9:5: note: this loop depends on arguments that are not tensors", said)
        self.assertIn("no method 'forward'", self.kiln("run", "OUT.pt", "-i", "x.npz", status=1)[1])
        self.assertIn(" 10\n", self.kiln("run", "OUT.pt", "--method", "other", "-i", "x.npz")[0])

    def test_source(self):
        self.put("f.py", b"def f(x: Tensor):\n  for i in range(3):\n    x = x * 2 if i == x.size(0) else x + i\n  return x\n")
        self.put("x.npz", npz(x=npy([2, 3])))
        self.kiln("trace", "f.py", "-i", "x.npz", "-o", "OUT.pt")
        self.assertEqual(self.kiln("run", "OUT.pt", "-i", "x.npz"), self.kiln("run", "f.py", "-i", "x.npz"))

    def test_state_of_the_archive(self):
        """The archive holds the model's state before the run."""
        self.trace("state")
        both = [self.kiln("run", m, *["-i", path("state", "1.in.npz")] * 3)[0] for m in (path("state", "model.pt"), "OUT.pt")]
        self.assertEqual(*both)

    def test_raises(self):
        for lines, said in ((["ops.prim.RaiseException(torch.format(\"at {}\", torch.len(x)), \"builtins.ValueError\")", "return x"],
                             "builtins.ValueError: at 2"), (["return torch.select(x, 0, 7)"], "out of range"),
                            (["while True:", "  x = torch.add(x, 1)", "return x"], "time limit")):
            self.put("m.pt", model(body(lines)))
            self.put("x.npz", npz(x=npy([2, 3])))
            self.check([KILN, "trace", "m.pt", "-i", "x.npz", "-o", "OUT.pt", "--timeout", "1"], 1, said, "in forward")

    def test_too_long(self):
        self.put("f.py", b"def f(x: Tensor, n: int):\n  for i in range(n):\n    x = x + i\n  return x\n")
        self.put("x.npz", npz(x=npy([1]), n=npy([], "<i8", struct.pack("<q", 3000000))))
        self.check([KILN, "trace", "f.py", "-i", "x.npz", "-o", "OUT.pt"], 1, "f.py:3:", "more than 500000 nodes")

    def test_usage(self):
        self.put("g.ir", b"graph(%x : Tensor):\n  return (%x)\n")
        self.put("m.pt", model())
        self.put("x.npz", npz(x=npy([2, 3])))
        for argv, said in ((["m.pt", "-i", "x.npz"], "-o OUT.pt"), (["m.pt", "-i", "x.npz", "-i", "x.npz", "-o", "OUT.pt"], "one model"),
                           (["g.ir", "-i", "x.npz", "-o", "OUT.pt"], "an archive or a source")):
            self.check([KILN, "trace", *argv], 2, said)
        self.check([KILN, "trace", "m.pt", "-i", "none.npz", "-o", "OUT.pt"], 1, "none.npz")
        self.check([KILN, "trace", "m.pt", "-i", "x.npz", "-o", "OUT.pt", "--check", "none.npz"], 1, "none.npz")
        self.check([KILN, "trace", "m.pt", "-i", "x.npz", "-o", "no/folder/OUT.pt"], 1, "no/folder")


if __name__ == "__main__":
    unittest.main()
