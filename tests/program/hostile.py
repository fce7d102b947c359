"""Bad input to the commands and to programs: each ends with a message that names the error and its place and with status 1 (2:
usage, 7: Kiln lacks it). No crash, no half-written file, and time and memory stay bounded.

usage: hostile.py KILN     archives are made here, by zipfile and a few bytes of pickle.
"""
import io, os, resource, shutil, struct, subprocess, sys, tempfile, unittest, zipfile

KILN = os.path.abspath(sys.argv.pop(1))
SANITIZED = "asan" in KILN                # its shadow memory makes memory limits meaningless
MEMORY, SECONDS = 3 << 30, 120


def limits():
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def call(argv, cwd):
    p = subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, preexec_fn=limits)
    return p.returncode, p.stdout, p.stderr


# ---- archives -------------------------------------------------------------------------------------------------

def glob(module, name): return b"c%s\n%s\n" % (module.encode(), name.encode())
def text(s): return b"X" + struct.pack("<I", len(s.encode())) + s.encode()
def num(n): return b"\x8a\x08" + struct.pack("<q", n)
def tup(*parts): return b"(" + b"".join(parts) + b"t"
def pickled(body): return b"\x80\x02" + body + b"."
def attrs(**kw): return b"}(" + b"".join(text(k) + v for k, v in kw.items()) + b"u"
def tensor(n, dims, strides, storage="FloatStorage", offset=0):
    return glob("torch._utils", "_rebuild_tensor_v2") + tup(
        tup(text("storage"), glob("torch", storage), text("0"), text("cpu"), num(n)) + b"Q", num(offset),
        tup(*map(num, dims)), tup(*map(num, strides)), b"\x89", glob("collections", "OrderedDict") + b")R") + b"R"


def archive(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in members.items():
            z.writestr(zipfile.ZipInfo("m/" + name, (1980, 1, 1, 0, 0, 0)), data)
    return out.getvalue()


W = tensor(6, [2, 3], [3, 1])
HEAD = """class M(Module):
  __parameters__ = ["w", ]
  __buffers__ = []
  training : bool
  w : Tensor
"""
FORWARD = """  def forward(self: __torch__.M, x: Tensor) -> Tensor:
    return torch.add(x, self.w)
"""


def model(code=FORWARD, state=None, **members):
    body = glob("__torch__", "M") + b")\x81" + (state or attrs(training=b"\x89", w=W)) + b"b"
    return archive({"data/0": struct.pack("<6f", *range(6)), "data.pkl": pickled(body),
                    "code/__torch__.py": (HEAD + code).encode("utf-8", "surrogateescape"),
                    "constants.pkl": pickled(b")"), "version": b"3\n", **members})


def body(lines, args="x: Tensor", result="Tensor"):
    return "  def forward(self: __torch__.M, %s) -> %s:\n    %s\n" % (args, result, "\n    ".join(lines))


# ---- inputs -----------------------------------------------------------------------------------------------------

def npy(dims, descr="<f4", data=None, fortran=False):
    n = 1
    for d in dims:
        n *= d
    data = bytes(n * int(descr[2:])) if data is None else data
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }" % (descr, fortran, "".join("%d, " % d for d in dims))
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def npz(**arrays):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in arrays.items():
            z.writestr(zipfile.ZipInfo(name + ".npy", (1980, 1, 1, 0, 0, 0)), data)
    return out.getvalue()


GOOD_IN = npz(x=npy([2, 3]))


class Test(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)

    def put(self, name, data):
        with open(os.path.join(self.dir, name), "wb") as f:
            f.write(data)

    def check(self, argv, status, *parts):
        rc, out, err = call(argv, self.dir)
        said = err.decode("utf-8", "replace")
        self.assertEqual(rc, status, (argv, said[-2000:]))
        if status:
            self.assertTrue(said.strip(), argv)
            self.assertLess(len(said), 20000)
        for c in said + out.decode("utf-8", "replace"):
            self.assertTrue(c >= " " and c != "\x7f" or c in "\t\n", (argv, said))
        for part in parts:
            self.assertIn(part, said)
        left = [n for n in os.listdir(self.dir) if n.startswith(("OUT", "kiln-", "PROG"))]
        if status:
            self.assertEqual(left, [], argv)

    def commands(self, data, *parts, status=1, given=GOOD_IN, body=False):
        """Every command rejects this model with the same message. `info` may miss errors in method bodies."""
        self.put("m.pt", data)
        self.put("x.npz", given)
        for argv in (["run", "m.pt", "-i", "x.npz", "-o", "OUT.npz"], ["show", "m.pt"],
                     ["build", "m.pt", "-i", "x.npz", "-o", "OUT", "--emit", "c"], *([] if body else [["info", "m.pt"]])):
            self.check([KILN, *argv], status, *parts)
        if body:
            self.assertIn(call([KILN, "info", "m.pt"], self.dir)[0], (0, status))

    def runs(self, data, *parts, status=1, given=GOOD_IN):
        """`kiln run` gives this message. `kiln build` succeeds, since the error is the program's answer."""
        self.put("m.pt", data)
        self.put("x.npz", given)
        self.check([KILN, "run", "m.pt", "-i", "x.npz", "-o", "OUT.npz"], status, *parts)
        self.check([KILN, "build", "m.pt", "-i", "x.npz", "-o", "OUT", "--emit", "c"], 0)
        shutil.rmtree(os.path.join(self.dir, "OUT"))


class Archives(Test):
    def test_optimized_for_inference(self):
        """The MKLDNN weights of torch.jit.optimize_for_inference are in no archive. PyTorch does not load such an archive either.
        """
        self.commands(model(body(["w = ops.prim.ConstantMKLDNNTensor()", "return torch.add(torch.to_dense(w), x)"])),
                      "saved after torch.jit.optimize_for_inference", "Save the model before that call", body=True)
    def test_good(self):
        self.put("m.pt", model())
        self.put("x.npz", GOOD_IN)
        self.check([KILN, "run", "m.pt", "-i", "x.npz"], 0)

    def test_not_a_zip(self): self.commands(b"hello, world\n" * 20, "m.pt: is not a TorchScript archive")
    def test_empty(self): self.commands(b"", "m.pt: is empty")
    def test_folder(self):
        os.mkdir(os.path.join(self.dir, "d.pt"))
        self.check([KILN, "info", "d.pt"], 1, "d.pt")
        self.check([KILN, "info", "nothing.pt"], 1, "nothing.pt")
        self.check([KILN, "info", "/dev/null"], 1, "/dev/null")
        self.put("m.pt", model())
        self.check([KILN, "run", "m.pt", "-i", "/dev/zero"], 1, "/dev/zero")           # never ends

    def test_truncated(self):
        good = model()
        for n in (4, 100, len(good) // 2, len(good) - 20):
            self.commands(good[:n], "m.pt: ", "truncated or damaged")

    def test_checkpoint(self):
        self.commands(archive({"data.pkl": pickled(attrs(w=W)), "version": b"3\n", "data/0": bytes(24)}), "state_dict")

    def test_pt2(self):
        self.commands(archive({"archive_format": b"pt2", "models/model.json": b"{}"}), "archive_version: is missing")

    def test_system(self):
        self.commands(model(**{"data.pkl": pickled(glob("os", "system") + tup(text("touch OUT")) + b"R")}),
                      "m.pt: data.pkl: the pickle names os.system")

    def test_crc(self):
        bad = bytearray(model())
        bad[bad.index(struct.pack("<6f", *range(6))) + 5] ^= 1
        self.commands(bytes(bad), "m.pt: data/0: is damaged: its CRC-32 is")

    def test_short_storage(self):
        self.commands(model(**{"data/0": bytes(20)}), "m.pt: data.pkl: data/0 has 20 bytes, but its 6 elements")

    def test_huge_dimension(self):
        self.commands(model(state=attrs(training=b"\x89", w=tensor(6, [1 << 62, 4], [1, 1]))), "larger than its storage")
        self.commands(model(state=attrs(training=b"\x89", w=tensor(1 << 62, [1 << 62], [1]))), "m.pt: data.pkl: ")

    def test_lacking_operator(self):
        self.commands(model(body(["return torch.frobnicate_everything(x)"])), "frobnicate_everything", status=7, body=True)

    def test_every_byte(self):
        good, n = model(), 0
        self.put("x.npz", GOOD_IN)
        for at in range(0, len(good), 1 + len(good) // (20 if SANITIZED else 80)):
            self.put("m.pt", good[:at] + bytes([good[at] ^ 0xff]) + good[at + 1:])
            rc, _, err = call([KILN, "run", "m.pt", "-i", "x.npz"], self.dir)
            self.assertIn(rc, (0, 1, 7), (at, err))


def nested_modules(n):
    """A model of n nested modules, each the only submodule of the one before. Each adds 1."""
    head = "class %s(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
    inner = "  n : __torch__.%s\n"
    forward = "  def forward(self: __torch__.%s, x: Tensor) -> Tensor:\n    return %s\n"
    names = ["M"] + ["L%d" % i for i in range(1, n)]
    code, state = head % names[-1] + forward % (names[-1], "torch.add(x, 1)"), attrs(training=b"\x89")
    for outer, name in zip(names[-2::-1], names[:0:-1]):
        code += head % outer + inner % name + forward % (outer, "(self.n).forward(torch.add(x, 1), )")
        state = attrs(training=b"\x89", n=glob("__torch__", name) + b")\x81" + state + b"b")
    return archive({"data.pkl": pickled(glob("__torch__", "M") + b")\x81" + state + b"b"), "code/__torch__.py": code,
                    "constants.pkl": pickled(b")"), "version": b"3\n"})


class Deep(Test):
    def test_modules(self):
        """1,000 nested modules are read, interpreted, saved and built."""
        self.put("m.pt", nested_modules(1000))
        self.put("x.npz", npz(x=npy([2])))
        for argv in (["run", "m.pt", "-i", "x.npz", "-o", "out.npz"], ["save", "m.pt", "-o", "saved.pt"],
                     ["build", "saved.pt", "-i", "x.npz", "-o", "net", "--cc", "tcc"]):
            self.check([KILN, *argv], 0)
        rc, out, err = call(["./net", "-i", "x.npz", "--strict"], self.dir)
        self.assertEqual((rc, out.split()[:2]), (0, [b"1000", b"1000"]), err)
        self.commands(nested_modules(5000), "nested too deep", status=7, given=npz(x=npy([2])))

    def test_blocks(self):
        lines = ["%sif bool(x):" % ("  " * i) for i in range(40)] + ["  " * 40 + "x = x + 1", "return x"]
        self.runs(model(body(lines)), given=npz(x=npy([2, 3])), status=1)

    def test_expression(self):
        self.commands(model(body(["return " + "(" * 100000 + "x" + ")" * 100000])), "nested too deep", status=7)
        self.commands(model(body(["return " + "-" * 100000 + "x"])), "nested too deep", status=7)
        self.commands(model(body(["return " + "torch.neg(" * 5000 + "x" + ")" * 5000])), "nested too deep", status=7)

    def test_chains(self):
        """Chains that the parser reads in a loop do not nest, so their length has no limit."""
        for text_ in ("x" + " + x" * 100000, "x" + ".a" * 100000, "x" + "[0]" * 100000, "x" + "()" * 100000,
                      "x ** " * 100000 + "x", "x if x else " * 100000 + "x", "not " * 100000 + "x"):
            self.commands(model(body(["return " + text_])), "error: ", status=7, body=True)

    def test_elif(self):
        lines = ["if bool(x):", "  pass"] + ["elif bool(x):", "  pass"] * 30000 + ["return x"]
        self.commands(model(body(lines)), "error: ", status=7)

    def test_type(self):
        for n, status in (300, 1), (100000, 7):
            self.commands(model(body(["return x"], "x: " + "List[" * n + "int" + "]" * n)), "error: ", status=status, body=True)

    def test_pickle(self):
        self.commands(model(**{"data.pkl": pickled(b"N" + b"\x85" * 100000)}), "nested too deep", status=7)
        self.commands(model(**{"data.pkl": pickled(b"]" * 100000 + b"a" * 99999)}), "nested too deep", status=7)

    def test_type_tag(self):
        tag = glob("torch.jit._pickle", "restore_type_tag") + tup(b"]", text("List[" * 100000 + "int" + "]" * 100000)) + b"R"
        self.commands(model(state=attrs(training=b"\x89", w=tag)), "m.pt: ", status=7)

    def test_recursion(self):
        code = "  def f(self: __torch__.M, x: Tensor) -> Tensor:\n    return (self).g(x, )\n" \
               "  def g(self: __torch__.M, x: Tensor) -> Tensor:\n    return (self).f(x, )\n"
        self.commands(model(body(["return (self).f(x, )"]) + code), "recurs", body=True)

    def test_value(self):
        """Lists nested by the running model."""
        lines = ["l : List[Any] = []", "for i in range(200000):", "  m : List[Any] = []", "  m.append(l)", "  l = m", "return x"]
        self.put("m.pt", model(body(lines)))
        self.put("x.npz", GOOD_IN)
        rc, _, err = call([KILN, "run", "m.pt", "-i", "x.npz"], self.dir)
        self.assertIn(rc, (0, 1, 7), err)

    def test_many(self):
        """A long method does not count as deep nesting: thousands of statements."""
        self.put("m.pt", model(body(["x = torch.neg(x)"] * (1000 if SANITIZED else 3000) + ["return x"])))
        self.put("x.npz", GOOD_IN)
        self.check([KILN, "run", "m.pt", "-i", "x.npz"], 0)


class Names(Test):
    def test_control_characters(self):
        self.commands(model(body(['return torch.nope(x, "\x1b[31m\x07")'])), "?[31m?", status=7, body=True)
        self.commands(model(body(["return self.\x1b[2J"])), "error: ", body=True)
        self.commands(model(**{"data.pkl": pickled(glob("o\x1b[1ms", "sys\x9btem") + b")R")}), "m.pt: data.pkl: ")
        self.runs(model(body(['ops.prim.RaiseException("\x1b[31mred")', "return x"])), "?[31mred")

    def test_extra_files(self):
        self.put("m.pt", model(**{"extra/a\x1b[2Jb": b""}))
        self.check([KILN, "info", "m.pt"], 0)

    def test_member_names(self):
        self.commands(archive({"d\x1b[2J/x": b""}), "m.pt: ")


class Resources(Test):
    def test_folding(self):
        self.put("m.pt", model(body(["if bool(torch.sum(x) > 1.):", "  x = torch.sum(torch.zeros([1000000000]))", "return x"])))
        self.put("x.npz", GOOD_IN)
        self.check([KILN, "run", "m.pt", "-i", "x.npz"], 0)
        self.check([KILN, "build", "m.pt", "-i", "x.npz", "-o", "prog", "--emit", "c"], 0)
        self.assertLess(os.path.getsize(os.path.join(self.dir, "prog/prog.c")), 1 << 20)

    def test_folding_text(self):
        lines = ["l = [1]", "l2 = torch.mul(l, 1000000000000)", "return x"]
        self.put("m.pt", model(body(lines)))
        self.put("x.npz", GOOD_IN)
        rc, _, err = call([KILN, "run", "m.pt", "-i", "x.npz"], self.dir)
        self.assertIn(rc, (0, 1), err)

    def test_out_of_memory(self):
        for n in (1 << 50, 1 << 62, (1 << 63) - 1):
            self.runs(model(body(["return torch.zeros([%d])" % n])))
        self.runs(model(body(["return torch.zeros([2147483648, 4, 4])"])), "allocate" if not SANITIZED else "")
        self.runs(model(body(["return torch.zeros([4611686018427387904, 4])"])), "")
        self.runs(model(body(["return torch.zeros([-1])"])), "negative")

    def test_list_memory(self):
        for expr in ("torch.mul([1], 1000000000000000)", "torch.mul([1], 9223372036854775807)",
                     "torch.list_with_default([1], [1])", "torch.arange(1000000000000000)"):
            self.put("m.pt", model(body(["l = %s" % expr, "print(l)", "return x"])))
            self.put("x.npz", GOOD_IN)
            rc, _, err = call([KILN, "run", "m.pt", "-i", "x.npz"], self.dir)
            self.assertIn(rc, (0, 1, 7), (expr, err))

    def test_endless(self):
        self.put("m.pt", model(body(["while True:", "  x = torch.add(x, 1)", "return x"])))
        self.put("x.npz", GOOD_IN)
        self.check([KILN, "build", "m.pt", "-i", "x.npz", "-o", "prog", "--emit", "c", "--timeout", "2"], 0, "limit reached")

    def test_unrolling(self):
        self.put("m.pt", model(body(["for i in range(1000000000):", "  x = torch.neg(x)", "return x"])))
        self.check([KILN, "show", "m.pt", "--stage", "prepared"], 0)


class Inputs(Test):
    CASES = [
        (npz(), "x"),
        (npz(y=npy([2, 3])), "x"),
        (npz(x=npy([2, 3]), y=npy([2])), "y"),
        (npz(x=npy([4, 3])), "size of tensor"),
        (npz(x=npy([2, 3], "<U1")), "x"),
        (npz(x=npy([2, 3], "|O8")), "x"),
        (npz(x=npy([2, 3], data=bytes(20))), "x"),
        (npz(x=npy([1 << 62], data=bytes(8))), "x"),
        (npz(x=npy([1 << 62, 1 << 62], data=bytes(8))), "x"),
        (npz(x=npy([2, 3])[:40]), "x"),
        (npz(x=b""), "x"),
        (npz(x=npy([2, 3]).replace(b"descr", b"d\x1b[2J")), "x"),
        (npz(**{"x\x1b[2J": npy([2])}), "x"),
        (GOOD_IN[:100], "damaged"),
        (GOOD_IN[:-10], ""),
        (b"", "damaged"),
        (b"hello", ""),
        (npy([2, 3]), "is a single array (.npy); expected an .npz"),
        (GOOD_IN.replace(bytes(24), bytes(23) + b"\x01", 1), "CRC"),
    ]

    def test_run(self):
        self.put("m.pt", model())
        for data, part in self.CASES:
            self.put("x.npz", data)
            self.check([KILN, "run", "m.pt", "-i", "x.npz", "-o", "OUT.npz"], 1, part)
            rc, _, err = call([KILN, "build", "m.pt", "-i", "x.npz", "-o", "prog", "--emit", "c"], self.dir)
            self.assertIn(rc, (0, 1), err)
        self.check([KILN, "run", "m.pt", "-i", "nothing.npz"], 1, "nothing.npz")
        self.check([KILN, "run", "m.pt", "-i", "x.npz", "-o", "no/such/OUT.npz"], 1)

    def test_program(self):
        self.put("m.pt", model())
        self.put("good.npz", GOOD_IN)
        flags = "-fsanitize=address,undefined" if SANITIZED else ""
        env = {**os.environ, "CFLAGS": flags, "LDFLAGS": flags}
        subprocess.run([KILN, "build", "m.pt", "-i", "good.npz", "-o", "p"], cwd=self.dir, env=env, check=True)
        for data, part in self.CASES:
            self.put("x.npz", data)
            self.check(["./p", "-i", "x.npz", "-o", "OUT.npz"], 1, part)
        self.check(["./p", "-i", "nothing.npz"], 1, "nothing.npz")
        self.check(["./p", "-i", "good.npz", "-o", "no/such/OUT.npz"], 1, "no/such/OUT.npz")
        self.check(["./p", "-i", "good.npz", "--json"], 2)
        self.check(["./p", "--nonsense"], 2)
        self.check(["./p", "--method", "nothing"], 1)
        self.check(["./p", "-i", "good.npz", "--device", "cuda"], 6)
        self.check(["./p", "-i", "good.npz", "-o", "good2.npz"], 0)
        self.check(["./p", "-i", "good2.npz"], 1)

    def test_usage(self):
        self.put("m.pt", model())
        for argv in (["nonsense"], ["run"], ["run", "m.pt", "m.pt"], ["build", "m.pt"], ["run", "m.pt", "--nonsense"],
                     ["run", "m.pt", "--threads", "-1"], ["run", "m.pt", "--seed", "x"], ["show", "m.pt", "--stage"]):
            self.check([KILN, *argv], 2)


class Full(Test):
    """A full disk: a message, status 1 and no file left. A device is not removed."""
    FILES = (["run", "m.pt", "-i", "x.npz", "-o"], ["build", "m.pt", "-i", "x.npz", "-o"], ["profile", "m.pt", "-i", "x.npz", "-o"],
             ["build", "m.pt", "--weights", "file", "-o"], ["save", "m.pt", "-o"])

    def setUp(self):
        super().setUp()
        self.put("m.pt", model())
        self.put("x.npz", GOOD_IN)
        flags = "-fsanitize=address,undefined" if SANITIZED else ""
        subprocess.run([KILN, "build", "m.pt", "-i", "x.npz", "-o", "p"], cwd=self.dir, check=True, capture_output=True,
                       env={**os.environ, "CFLAGS": "-Og " + flags, "LDFLAGS": flags})
        self.there = set(os.listdir(self.dir))

    def fails(self, argv, want, **how):
        p = subprocess.run(argv, cwd=self.dir, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=SECONDS, **how)
        self.assertEqual(p.returncode, 1, (argv, p.stderr))
        self.assertIn(want, p.stderr.decode(), argv)
        self.assertEqual(set(os.listdir(self.dir)), self.there, argv)

    def test_output(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("/dev/full is missing")
        for argv in ([KILN, "--help"], [KILN, "ops"], [KILN, "info", "m.pt"], [KILN, "show", "m.pt"], [KILN, "build", "--help"],
                     [KILN, "run", "m.pt", "-i", "x.npz"], ["./p", "-i", "x.npz"], ["./p", "--info"], ["./p", "--help"]):
            with open("/dev/full", "w") as full:
                self.fails(argv, "standard output: No space left", stdout=full)

    def test_file_size(self):
        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        for argv in ([KILN, *a, "OUT"] for a in self.FILES):
            self.fails(argv, "", stdout=subprocess.DEVNULL, preexec_fn=small)
        for argv in (["./p", "-i", "x.npz", "-o", "OUT"], ["./p", "-i", "x.npz", "--trace", "OUT"], ["./p", "--info", "--json", "OUT"]):
            self.fails(argv, "File too large", stdout=subprocess.DEVNULL, preexec_fn=small)

    def test_device(self):
        os.mkfifo(os.path.join(self.dir, "pipe"))
        for argv in ([KILN, *a, "pipe"] for a in self.FILES if "file" not in a):
            with tempfile.TemporaryFile() as got:
                with subprocess.Popen(["cat", "pipe"], cwd=self.dir, stdout=got):
                    self.check(argv, 0)
                self.assertGreater(os.fstat(got.fileno()).st_size, 0, argv)
            self.assertTrue(os.path.exists(os.path.join(self.dir, "pipe")) and not os.path.isfile(os.path.join(self.dir, "pipe")))

    def test_compiler(self):
        self.put("cc", b"#!/bin/sh\ncase $* in *program.c*) echo 'cc1: fatal error: No space left on device'; exit 1;; esac\nexec cc \"$@\"\n")
        os.chmod(os.path.join(self.dir, "cc"), 0o755)
        self.there.add("cc")
        self.fails([KILN, "build", "m.pt", "-i", "x.npz", "-o", "OUT", "--cc", "./cc"], "because memory, disk space or files ran out")


class Texts(Test):
    """Graphs in text form that are read back."""
    def test_graphs(self):
        for t in ("def f(x):\n  return (\n", "def f(x", "\0" * 100, "\xff" * 100, "def f(x):\n" + "  " * 100000 + "return (\n",
                  "def " * 10000, "'" * 9999, '"""' + "\\" * 9999, "[" * 100000, "0x" + "f" * 9999, "1e" + "9" * 9999,
                  "class A:\n" * 1000, "def f(x: Tensor = " + "[" * 500 + ") -> int:\n  pass\n"):
            self.put("t.py", t.encode("latin-1"))
            with self.subTest(t[:40]):
                self.check([KILN, "show", "t.py"], 1, "t.py")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[1:], verbosity=1)
