"""Programs from end to end: their answers, which code ran, messages for wrong input, and what must never happen.

usage: program_test.py KILN     models are made here (an archive's text, by hand) or are the samples'
"""
import json, os, struct, subprocess, sys, tempfile, unittest, zipfile
import npz

KILN = os.path.abspath(sys.argv.pop(1))
SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "samples")
LIMIT = 300                     # seconds before a hanging command is stopped: the first program for another target takes 52 alone
DONE, WRONG, USAGE, BUG, DIFFERS, MISS, NO_DEVICE, LACKS = range(8)


def run(*argv, **env):
    """Runs a command. Returns (status, standard output, standard error)."""
    p = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT,
                       env={**os.environ, **env})
    return p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace")


def model(path, source):
    """Writes an archive of one module without state, whose methods are the given source."""
    lines = ["class M(Module):", "  __parameters__ = []", "  __buffers__ = []"]
    lines += ["  " + line for line in source.strip("\n").split("\n")]
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("m/data.pkl", b"\x80\x02c__torch__\nM\n)\x81}b.")
        z.writestr("m/constants.pkl", b"\x80\x02).")
        z.writestr("m/code/__torch__.py", "\n".join(lines) + "\n")
        z.writestr("m/version", b"10\n")
    return path


def floats(*values, shape=None):
    return "<f4", shape if shape is not None else (len(values),), list(map(float, values))


def number(value):
    return ("<i8" if isinstance(value, int) else "<f8"), (), [value]


class Test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    def at(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, **arrays):
        npz.write(self.at(name), {key.replace("__", "."): a for key, a in arrays.items()})
        return self.at(name)

    def ends(self, status, *argv, says=(), **env):
        """Checks that the command ends with this status and prints these messages on standard error. Returns both outputs."""
        rc, out, err = run(*argv, **env)
        self.assertEqual(rc, status, out + err)
        for part in says:
            self.assertIn(part, err)
        if status != DONE:
            self.assertTrue(err.strip(), "no message")
        return out, err

    def answer(self, *argv):
        """The results that the command writes with -o."""
        out = self.at("answer.npz")
        if os.path.exists(out):
            os.remove(out)
        self.ends(DONE, *argv, "-o", out)
        return npz.read(out)

    def build(self, name, *options):
        self.ends(DONE, KILN, "build", *options, "-o", self.at(name))
        return self.at(name)


SOURCE = """
def forward(self: __torch__.M, x: Tensor, n: int=2) -> Tensor:
  y = torch.mul(x, 2)
  if bool(torch.gt(torch.sum(y), 0)):
    z = torch.add(y, 1)
  else:
    z = torch.neg(y)
  _0 = z
  for i in range(n):
    _0 = torch.add(_0, torch.relu(x))
  return _0
"""


def expected(x, n=2):
    y = [2 * v for v in x]
    z = [v + 1 for v in y] if sum(y) > 0 else [-v for v in y]
    return [a + n * max(b, 0) for a, b in zip(z, x)]


class Answers(Test):
    """One program, on the input that it was profiled on and on many others."""
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        t = cls("setUpClass")
        cls.model = model(t.at("m.pt"), SOURCE)
        cls.profiled = t.write("profiled.npz", x=floats(1, 2, -1, 4))
        cls.program = t.build("m", cls.model, "-i", cls.profiled)

    def gives(self, x, shape, status=None, **more):
        given = self.write("x.npz", x=floats(*x, shape=shape), **{k: number(v) for k, v in more.items()})
        want = {"out": ("<f4", shape, expected(x, **more))}
        self.assertIsNone(npz.differs(want, self.answer(KILN, "run", self.model, "-i", given)))
        self.assertIsNone(npz.differs(want, self.answer(self.program, "-i", given)))
        if status is not None:
            self.ends(status, self.program, "-i", given, "--strict")
        return given

    def test_profiled_is_taken(self):
        given = self.gives([1, 2, -1, 4], (4,), DONE)
        self.assertIn("specialization 0", self.ends(DONE, self.program, "-i", given, "--guards")[1])

    def test_other_values_same_branch(self):
        self.gives([5, 0, -2, 4.5], (4,), DONE)

    def test_other_branch(self):
        self.gives([-5, 0, -2, 1], (4,))

    def test_other_sizes(self):
        self.gives([1, 2, 3, 4, 5, 6], (2, 3), MISS)
        self.gives([7], (), MISS)
        self.gives([7], (1, 1, 1), MISS)
        self.gives([], (0,), MISS)
        self.gives(list(range(1000)), (10, 10, 10), MISS)

    def test_other_counts(self):
        for n in (0, 1, 7):
            self.gives([1, 2, -1, 4], (4,), n=n)

    def test_two_inputs_one_instance(self):
        a, b = self.write("a.npz", x=floats(1, 2, 3, 4)), self.write("b.npz", x=floats(-1, -2))
        self.ends(DONE, self.program, "-i", a, "-o", self.at("1.npz"), "-i", b, "-o", self.at("2.npz"))
        self.assertEqual(npz.read(self.at("1.npz"))["out"][2], expected([1, 2, 3, 4]))
        self.assertEqual(npz.read(self.at("2.npz"))["out"][2], expected([-1, -2]))

    def test_printed_without_output(self):
        out = self.ends(DONE, self.program, "-i", self.profiled)[0]
        self.assertIn("[ CPUFloatType{4} ]", out)

    def test_info(self):
        self.ends(DONE, self.program, "--info", "--json", self.at("info.json"))
        with open(self.at("info.json")) as f:
            info = json.load(f)
        self.assertEqual([s["kind"] for s in info["specializations"]], ["exact", "dynamic", "exact"], "the profiled sizes, others, a batch of 1")
        for key in ("kernels", "runtime_calls", "guards", "arena_bytes"):
            self.assertGreaterEqual(info["specializations"][0][key], 0)
        self.assertLessEqual({"code_bytes", "weights_bytes"}, set(info))
        out = self.ends(DONE, self.program, "--info")[0]
        self.assertIn("forward(x: Tensor, n: int)", out)

    def test_bench(self):
        self.ends(DONE, self.program, "-i", self.profiled, "--bench=3", "--json", self.at("bench.json"))
        with open(self.at("bench.json")) as f:
            bench = json.load(f)
        self.assertEqual(bench["runs"], 3)
        self.assertGreater(bench["median_ms"], 0)
        self.ends(DONE, self.program, "-i", self.profiled, "--bench=3", "--trace", self.at("trace.json"))
        with open(self.at("trace.json")) as f:
            self.assertTrue(json.load(f)["traceEvents"])

    def test_selfcheck(self):
        self.ends(DONE, self.program, "-i", self.profiled, "--selfcheck")

    def test_many_inputs(self):
        """More than one -i: a result for each input."""
        once = self.ends(DONE, self.program, "-i", self.profiled)[0]
        self.assertEqual(self.ends(DONE, self.program, *["-i", self.profiled] * 300)[0], once * 300)

    def test_generic_program(self):
        program = self.build("generic", self.model)
        self.assertEqual(self.answer(program, "-i", self.profiled)["out"][2], expected([1, 2, -1, 4]))

    @unittest.skipIf("sanitize" in os.environ.get("CFLAGS", ""), "tcc links no sanitizers")
    def test_tcc(self):
        for name in ("digits", "halting"):
            sample = os.path.join(SAMPLES, name, "")
            program = self.build("tcc", sample + "model.pt", "-i", sample + "in.npz", "--cc", "tcc")
            self.ends(DONE, program, "-i", sample + "in.npz", "--strict")
            self.assertIsNone(npz.differs(npz.read(sample + "out.npz"), self.answer(program, "-i", sample + "in.npz")))

    @unittest.skipIf("-fsanitize" in os.environ.get("CFLAGS", ""), "sanitizers name the temporary folder")
    def test_same_bytes(self):
        again = self.build("again", self.model, "-i", self.profiled)
        with open(self.program, "rb") as a, open(again, "rb") as b:
            self.assertTrue(a.read() == b.read())

    def test_no_source(self):
        bare = self.build("bare", self.model, "-i", self.profiled, "--no-source")
        with open(self.program, "rb") as a, open(bare, "rb") as b:
            self.assertIn(b"torch.gt(torch.sum", a.read())
            self.assertNotIn(b"torch.gt(torch.sum", b.read())

    # ---- wrong input ----

    def both(self, given, *says, status=WRONG):
        for argv in ([KILN, "run", self.model], [self.program]):
            out = self.at("none.npz")
            self.ends(status, *argv, "-i", given, "-o", out, says=says)
            self.assertFalse(os.path.exists(out))

    def test_missing_argument(self):
        self.both(self.write("x.npz", n=number(2)), "error", "'x'")

    def test_unknown_key(self):
        self.both(self.write("x.npz", x=floats(1), y=floats(1)), "error", "'y'")

    def test_wrong_kind(self):
        self.both(self.write("x.npz", x=floats(1), n=("<f8", (), [1.5])), "error", "'n'", "int")
        self.both(self.write("x.npz", x=floats(1), n=("<i8", (2,), [1, 2])), "error", "'n'", "int")

    def test_no_such_file(self):
        """A missing input file is an error of the command, not a RuntimeError of the model."""
        self.both(self.at("nowhere.npz"), "error: " + self.at("nowhere.npz") + ": No such file or directory")

    def test_input_that_is_no_npz(self):
        with open(self.at("text.npz"), "w") as f:
            f.write("x = 1\n")
        self.both(self.at("text.npz"), "error", "text.npz")

    def test_truncated_input(self):
        with open(self.profiled, "rb") as f:
            data = f.read()
        for n in range(0, len(data), 37):
            with open(self.at("cut.npz"), "wb") as f:
                f.write(data[:n])
            self.ends(WRONG, self.program, "-i", self.at("cut.npz"), says=["error", "cut.npz"])

    def test_usage(self):
        self.ends(USAGE, self.program, "--nonsense")
        self.ends(USAGE, self.program, "-i")
        self.ends(USAGE, self.program, "-i", self.profiled, "--bench=none")
        self.ends(NO_DEVICE, self.program, "-i", self.profiled, "--device", "cuda")

    def test_no_such_method(self):
        self.ends(WRONG, self.program, "-i", self.profiled, "--method", "backward", says=["backward"])

    def test_output_that_cannot_be(self):
        self.ends(WRONG, self.program, "-i", self.profiled, "-o", self.at("no/such/folder.npz"), says=["no/such/folder.npz"])


class Here(Test):
    """Builds for this processor only: a third of the time of a program for several."""
    def build(self, name, *options):
        return super().build(name, "--cpu", "native", *options)


class Lean(Here):
    """A program leaves out the code for operands that cannot occur: texts, prints, fast loops for other types. The answers stay.
    """
    SOURCE = """
def forward(x: Tensor) -> Tensor:
    rows = x.reshape([-1, 2])
    return torch.cat([torch.mm(rows, rows.t()).flatten(), torch.add(x.to(torch.float), 0.5), x.to(torch.int8)])
"""

    def test_other_types(self):
        source = self.at("lean.py")
        with open(source, "w") as f:
            f.write(self.SOURCE)
        program = self.build("lean", source, "-i", self.write("x.npz", x=floats(1, 2, -1, 4)), "--no-dynamic")
        for type in "<f4", "<f8", "<i8", "<i4", "<i2", "|i1", "|u1", "<f2":
            for n in 4, 38:
                with self.subTest(type, n=n):
                    given = self.write("x.npz", x=(type, (n,), [k * 3 % 11 for k in range(n)]))
                    want = self.answer(KILN, "run", source, "-i", given)
                    self.assertIsNone(npz.differs(want, self.answer(program, "-i", given)))
                    self.ends(DONE, program, "-i", given, "--selfcheck")
        given = self.write("text.npz", x=("<U1", (), [97]))
        self.ends(WRONG, program, "-i", given, says=["'x': arrays of type <U1 are not known"])
        self.ends(USAGE, program, "--grad-out", "g.npz", says=["this program has no gradients (kiln build --grad): --grad-out"])


class Guards(Here):
    """Sizes that depend on the data are guarded. If they differ, generic code takes over in the middle of the call."""
    def test_bailout(self):
        m = model(self.at("m.pt"), """
def forward(self: __torch__.M, x: Tensor) -> Tuple[Tensor, List[int]]:
  seen = annotate(List[int], [])
  n = int(torch.argmax(x))
  _0 = torch.append(seen, n)
  y = torch.add(torch.zeros([n]), torch.sum(x))
  _1 = torch.append(seen, torch.len(y))
  return (torch.relu(torch.mul(y, 3)), seen)
""")
        hit, miss = self.write("hit.npz", x=floats(1, 2, -3, 4)), self.write("miss.npz", x=floats(1, 7, -3, 4))
        program = self.build("guards", m, "-i", hit)
        self.ends(DONE, program, "-i", hit, "--strict")
        self.assertEqual(self.answer(program, "-i", hit), {"out.0": floats(12, 12, 12), "out.1": ("<i8", (2,), [3, 3])})
        self.assertEqual(self.answer(program, "-i", miss), {"out.0": floats(27), "out.1": ("<i8", (2,), [1, 1])})
        self.ends(DONE, program, "-i", miss, "--guards", says=["guard failed", "torch.zeros([n])", "generic"])
        self.ends(MISS, program, "-i", miss, "--strict", "-o", self.at("none.npz"), says=["guard"])
        self.assertFalse(os.path.exists(self.at("none.npz")))
        self.ends(DONE, program, "-i", miss, "--selfcheck")

    def test_counts(self):
        """A large count from the data is not guarded after one run, nor is anything computed from it."""
        m = model(self.at("c.pt"), """
def forward(self: __torch__.M, x: Tensor) -> Tensor:
  at = torch.nonzero(torch.gt(x, 0))
  y = torch.mul(torch.to(at, 6), 2)
  return torch.sum(torch.relu(torch.add(y, 1)))
""")
        hit = self.write("hit.npz", x=floats(*[1] * 100))
        program = self.build("counts", m, "-i", hit)
        self.ends(DONE, program, "-i", hit, "--strict")
        other = self.write("other.npz", x=floats(*[1] * 70, *[-1] * 30))
        self.ends(DONE, program, "-i", other, "--strict")
        self.assertEqual(self.answer(program, "-i", other), {"out": ("<f4", (), [70 * 70])})

    def test_probe(self):
        """A value that is used only sometimes is guarded by its constant value. Elements set in lists are tracked."""
        m = model(self.at("p.pt"), """
def forward(self: __torch__.M, x: Tensor) -> Tensor:
  kept = {"a": x, "b": torch.cat([x, x])}
  list = [x, x]
  _0 = torch._set_item(list, 1, torch.cat([x, x, x]))
  total = torch.zeros([1])
  for key in torch.keys(kept):
    v = kept[key]
    if torch.eq(key, "b"):
      total = torch.add(total, torch.sum(torch.relu(v)))
  return torch.add(total, torch.sum(torch.mul(list[1], 2)))
""")
        hit = self.write("hit.npz", x=floats(1, 2, -3, 4))
        program = self.build("probe", m, "-i", hit)
        self.ends(DONE, program, "-i", hit, "--strict")
        self.assertEqual(self.answer(program, "-i", hit), {"out": ("<f4", (1,), [38])})

    def test_written_number(self):
        """A number in a tensor that is written to is not assumed to keep its value, and no constant's memory is written to."""
        m = model(self.at("w.pt"), """
def forward(self: __torch__.M, y: int) -> int:
  t = torch.tensor(0)
  n = 0
  _0 = torch.lt(int(torch.add_(t, 1)), 4)
  while _0:
    n = torch.add(n, y)
    _0 = torch.lt(int(torch.add_(t, 1)), 4)
  return torch.add(torch.mul(n, 10), int(t))
""")
        hit = self.write("hit.npz", y=number(2))
        program = self.build("written", m, "-i", hit, "--timeout", "20")
        out, _ = self.ends(DONE, program, "-i", hit, "-i", hit, "--strict")
        self.assertEqual(out.split(), ["64", "64"])
        self.ends(DONE, program, "-i", hit, "--selfcheck")

    def test_written_members(self):
        """An element of a dict or list is not known after a write that may reach it, or through names that cannot be followed."""
        m = model(self.at("d.pt"), """
def forward(self: __torch__.M, x: Tensor) -> Tuple[int, List[int], int]:
  d = torch.dict()
  torch._set_item(d, "a", x)
  if bool(torch.lt(torch.sum(x), 0)):
    torch._set_item(d, "b", x)
  else:
    pass
  n = int(torch.gt(torch.sum(x), 0))
  lists = [[1], [2, 3]]
  torch.insert(lists[1], n, 5)
  e = torch.dict()
  pair = (e, n)
  torch._set_item(e, torch.str(n), x)
  f, _0, = pair
  return (torch.len(d), lists[1], torch.len(f))
""")
        hit, miss = (self.write(name, x=floats(*v)) for name, v in (("hit.npz", (1, 2)), ("miss.npz", (-1, -2))))
        program = self.build("members", m, "-i", hit)
        self.assertEqual(self.ends(DONE, program, "-i", hit, "--strict")[0].strip(), "(1, [2, 5, 3], 1)")
        self.assertEqual(self.ends(DONE, program, "-i", miss)[0].strip(), "(2, [5, 2, 3], 1)")

    def test_joined(self):
        """The joined result of two branches gets memory of its own only if nobody writes to it by another name."""
        m = model(self.at("j.pt"), """
def forward(self: __torch__.M, x: Tensor) -> Tensor:
  if torch.gt(torch.sum(x), 0):
    y = x
  else:
    y = torch.neg(x)
  _0 = torch.fill_(x, 2.)
  return torch.add(y, 1)
""")
        one, other = self.write("one.npz", x=floats(1, 2)), self.write("other.npz", x=floats(-1, -2))
        program = self.build("joined", m, "-i", one, "-i", other)
        self.assertEqual(self.answer(program, "-i", one), {"out": floats(3, 3)})
        self.assertEqual(self.answer(program, "-i", other), {"out": floats(2, 3)})

    def test_all_known(self):
        """Numbers that went through tensors, the grad mode, and writes elsewhere do not prevent kernels."""
        m = model(self.at("k.pt"), """
def forward(self: __torch__.M, x: Tensor) -> Tensor:
  n = torch.floor_divide(ops.prim.NumToTensor(torch.size(x, 1)), torch.tensor(2))
  y = torch.conv2d(x, torch.ones([4, 4, 1, 1]), None)
  if torch.is_grad_enabled():
    y = torch.relu(y)
  else:
    y = torch.neg(y)
  z = torch.view(y, [2, int(n), 2, 2])
  _0 = torch.fill_(torch.select(y, 1, 3), 7)
  return torch.add(torch.sum(z, [1]), torch.select(y, 1, 3))
""")
        hit = self.write("hit.npz", x=floats(*range(16), shape=(1, 4, 2, 2)))
        program = self.build("known", m, "-i", hit)
        self.ends(DONE, program, "-i", hit, "--strict", "--selfcheck")
        self.assertEqual(self.answer(program, "-i", hit), {"out": ("<f4", (2, 2, 2), [55, 63, 71, 79, 38, 42, 46, 50])})


class Raises(Here):
    """An error that a model or its operator raises is the program's answer."""
    def test_sizes_that_do_not_fit(self):
        program = self.build("lstm", os.path.join(SAMPLES, "lstm", "model.pt"), "-i", os.path.join(SAMPLES, "lstm", "in.npz"))
        arrays = npz.read(os.path.join(SAMPLES, "lstm", "in.npz"))
        for x, says in ((("<f4", (10, 3, 31), [0.0] * 930), "cannot be multiplied"), (("<f4", (), [0.0]), "RuntimeError"),
                        (("<i8", (1, 3, 32), [0] * 96), "expected scalar type Long but found Float")):
            given = self.write("x.npz", **{k.replace(".", "__"): a for k, a in {**arrays, "x": x}.items()})
            for argv in ([KILN, "run", os.path.join(SAMPLES, "lstm", "model.pt")], [program]):
                self.ends(WRONG, *argv, "-i", given, "-o", self.at("none.npz"), says=[says])
        self.assertFalse(os.path.exists(self.at("none.npz")))
        longer = {"x": ("<f4", (2, 1, 32), [0.5] * 64), "state.0": ("<f4", (1, 64), [0.0] * 64), "state.1": ("<f4", (1, 64), [0.0] * 64)}
        given = self.write("x.npz", **{k.replace(".", "__"): a for k, a in longer.items()})
        self.assertIsNone(npz.differs(self.answer(KILN, "run", os.path.join(SAMPLES, "lstm", "model.pt"), "-i", given),
                                      self.answer(program, "-i", given)))

    def test_raise(self):
        m = model(self.at("m.pt"), 'def forward(self: __torch__.M, x: Tensor) -> Tensor:\n'
                  '  if torch.gt(torch.dim(x), 1):\n    ops.prim.RaiseException("too many dims")\n  return x')
        bad, good = self.write("bad.npz", x=floats(1, shape=(1, 1))), self.write("good.npz", x=floats(1))
        program = self.build("raise", m, "-i", bad)          # profiled on an input that raises: still a program
        for argv in ([KILN, "run", m], [program]):
            self.ends(WRONG, *argv, "-i", bad, says=["too many dims", "RaiseException"])
            self.assertEqual(self.answer(*argv, "-i", good)["out"], floats(1))

    def test_seed(self):
        m = model(self.at("m.pt"), "def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  return torch.rand_like(x)")
        given = self.write("x.npz", x=floats(0, 0, 0, 0))
        program = self.build("seed", m, "-i", given)
        one, two = (self.answer(program, "-i", given, "--seed", s)["out"][2] for s in (1, 2))
        self.assertNotEqual(one, two)
        self.assertEqual(one, self.answer(KILN, "run", m, "-i", given, "--seed", 1)["out"][2])

    def test_lacks(self):
        m = model(self.at("m.pt"), "def forward(self: __torch__.M, x: Tensor) -> Tensor:\n  return ops.mine.special(x)")
        self.ends(LACKS, KILN, "build", m, "-o", self.at("lacks"), says=["mine::special"])
        self.assertFalse(os.path.exists(self.at("lacks")))


class Hostile(Here):
    """Text of the model appears in the emitted C as comments and strings, never as code."""
    LINES = ['*/ #error out of the comment /*', '*/ } __attribute__((constructor)) void own(void) { abort(); } /*',
             '// \\\\', '??/', '"); abort(); ("', '%s%n', '\\n#error x', '/* nested', '\u00e9\u4e2d']

    def test_lines(self):
        body = ["def forward(self: __torch__.M, x: Tensor) -> Tensor:"]
        for i, line in enumerate(self.LINES):
            body.append(f"  # {line}")
            body.append("  x = torch.add(x, torch.len(\"%s\"))" % line.replace('"', '\\"'))
        m = model(self.at("m.pt"), "\n".join(body + ["  return x"]))
        given = self.write("x.npz", x=floats(0))
        want = self.answer(KILN, "run", m, "-i", given)
        self.assertGreater(want["out"][2][0], 0)
        program = self.build("hostile", m, "-i", given)
        self.assertEqual(self.answer(program, "-i", given), want)
        c = self.build("hostile_c", m, "-i", given, "--emit", "c", "--name", "hostile")
        with open(c + "/hostile.c", "rb") as f:
            text = f.read()
        self.assertTrue(all(b < 127 for b in text), "other characters in emitted text")
        self.assertNotIn(b"??/", text)

    def test_names(self):
        m = model(self.at("m.pt"), "def forward(self: __torch__.M, int: Tensor, main: Tensor, rt_main: Tensor) -> Tensor:\n"
                  "  static = torch.add(int, main)\n  kiln_weights = torch.mul(static, rt_main)\n  return kiln_weights")
        given = self.write("x.npz", int=floats(1), main=floats(2), rt_main=floats(3))
        self.assertEqual(self.answer(self.build("names", m, "-i", given), "-i", given)["out"], floats(9))


class Archives(Test):
    """Files that are no valid model: a message, a status, and no output written."""
    def refused(self, path, *says, status=WRONG):
        for command in ("build", "run"):
            out = self.at("out-of-" + command)
            self.ends(status, KILN, command, path, "-o", out, says=("error", *says), TMPDIR=self.folder.name)
            self.assertFalse(os.path.exists(out))

    def file(self, data):
        with open(self.at("bad.pt"), "wb") as f:
            f.write(data)
        return self.at("bad.pt")

    def good(self):
        with open(os.path.join(SAMPLES, "halting", "model.pt"), "rb") as f:
            return f.read()

    def test_something_else(self):
        self.refused(self.at("nowhere.pt"), "nowhere.pt")
        self.refused(self.folder.name)
        self.refused(self.file(b""), "bad.pt")
        self.refused(self.file(b"a text\n" * 100), "bad.pt")
        self.refused(self.file(b"PK\3\4" + bytes(1000)), "bad.pt")

    def test_truncated(self):
        good = self.good()
        for n in range(1, len(good), len(good) // 12):
            self.refused(self.file(good[:n]), "bad.pt")

    def test_flipped(self):
        good = self.good()
        with zipfile.ZipFile(os.path.join(SAMPLES, "halting", "model.pt")) as z:
            members = [m for m in z.infolist() if not m.filename.endswith(".debug_pkl")]
        for m in members:
            data = bytearray(good)
            start = m.header_offset + 30 + sum(struct.unpack_from("<HH", data, m.header_offset + 26))
            data[start + m.compress_size // 2] ^= 16
            name = m.filename
            with self.subTest(name):
                self.refused(self.file(data), name.split("/", 1)[1])
        for place in range(len(good) - 1500, len(good), 61):         # bytes of the central directory: skipped or refused
            data = bytearray(good)
            data[place] ^= 16
            with self.subTest(place):
                rc, _, err = run(KILN, "run", self.file(data), "-i", os.path.join(SAMPLES, "halting", "in.npz"))
                self.assertIn(rc, (DONE, WRONG, LACKS), err)       # LACKS: an unknown compression method

    def test_checkpoint(self):
        with zipfile.ZipFile(self.at("eager.pt"), "w") as z:
            z.writestr("archive/data.pkl", b"\x80\x02}.")
            z.writestr("archive/version", b"3\n")
        self.refused(self.at("eager.pt"), "torch.jit.save")

    def test_compiler_that_fails(self):
        with tempfile.TemporaryDirectory() as tmp:
            rc, _, err = run(KILN, "build", os.path.join(SAMPLES, "halting", "model.pt"), "--cc", "/bin/false",
                             "-o", self.at("none"), TMPDIR=tmp)
            self.assertNotEqual(rc, DONE)
            self.assertIn("/bin/false", err)
            self.assertFalse(os.path.exists(self.at("none")))
            self.assertEqual(os.listdir(tmp), [])

    def test_usage(self):
        self.assertEqual(run(KILN)[0], USAGE)
        good = os.path.join(SAMPLES, "halting", "model.pt")
        for argv in (["nonsense"], ["build"], ["run"], ["build", good], ["run", good, "--nonsense"],
                     ["build", good, "-o", self.at("none"), "--emit", "nonsense"]):
            with self.subTest(argv):
                self.ends(USAGE, KILN, *argv)
        self.assertFalse(os.path.exists(self.at("none")))


if __name__ == "__main__":
    unittest.main()
