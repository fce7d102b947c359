"""kiln save: its output reads back to the same graph and gives the same answers.

The graphs of an archive and of the archive saved from it at -O0 are compared in a normal form, in which constants are at their
uses and values are numbered in order. Saving a saved archive again must change nothing.
    save_test.py KILN            the models of this tree
    save_test.py KILN CASES...   every case (model.pt, 1.in.npz) below these folders
"""
import os, re, struct, subprocess, sys, tempfile, unittest, zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
import hostile                     # takes KILN from the arguments
from hostile import attrs, body

KILN = hostile.KILN
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def kiln(*args):
    return subprocess.run([KILN, *args], capture_output=True, text=True, errors="replace")


def canonical(text):
    """The graph in normal form: constants at their uses, values numbered in the order of their definition."""
    constant, number, lines = {}, {}, []
    for line in text.splitlines():
        m = re.match(r"\s*%([\w.]+) : (.*) = prim::Constant(?:\[value=(.*)\])?\(\)$", line)
        if m:
            constant[m[1]] = f"<{m[3] if m[3] is not None else 'None : ' + m[2]}>"
            continue
        parts = re.split(r'("(?:[^"\\]|\\.)*")', line)
        for i in range(0, len(parts), 2):
            parts[i] = re.sub(r"%([\w.]+)", lambda v: constant.get(v[1]) or "%" + number.setdefault(v[1], str(len(number))), parts[i])
        lines.append("".join(parts))
        if line.lstrip().startswith("return ("):
            constant, number = {}, {}
    return lines


def data_offset(path, info):
    with open(path, "rb") as f:
        f.seek(info.header_offset)
        name, extra = struct.unpack("<HH", f.read(30)[26:])
    return info.header_offset + 30 + name + extra


def content(path):
    with open(path, "rb") as f:
        return f.read()


class Saved:
    """A model, saved at -O0 and -O2. Each check returns a description of the error, or None."""

    def __init__(self, model, tmp):
        self.model, self.tmp = model, tmp

    def save(self, *options, model=None, name="saved"):
        out = os.path.join(self.tmp, name + ".pt")
        done = kiln("save", *options, model or self.model, "-o", out)
        return out, done.stderr.strip() if done.returncode else None

    def graph(self):
        out, why = self.save()
        if why:
            return why
        was, now = kiln("show", self.model), kiln("show", out)
        if was.returncode or now.returncode:
            return was.stderr + now.stderr
        for a, b in zip(canonical(was.stdout) + ["end"], canonical(now.stdout) + ["end"]):
            if a != b:
                return f"was {a.strip()}, is {b.strip()}"

    def again(self):
        first, why = self.save()
        second, why2 = self.save(model=first, name="again")
        if why or why2:
            return why or why2
        with zipfile.ZipFile(first) as a, zipfile.ZipFile(second) as b:
            for x, y in zip(a.infolist(), b.infolist()):
                if x.filename.split("/", 1)[1] != y.filename.split("/", 1)[1] or a.read(x) != b.read(y):
                    lines = zip(a.read(x).decode("latin1").splitlines(), b.read(y).decode("latin1").splitlines())
                    return f"saved again, {x.filename} is another: " + str([p for p in lines if p[0] != p[1]][:2])

    def aligned(self):
        out, why = self.save()
        if why:
            return why
        with zipfile.ZipFile(out) as z:
            if z.testzip():
                return "damaged"
            for i in z.infolist():
                if data_offset(out, i) % 64 or i.compress_type:
                    return f"{i.filename} is not stored at a multiple of 64"

    def answers(self, inputs, level):
        out, why = self.save(level)
        if why:
            return why
        for i in inputs:
            a, b = os.path.join(self.tmp, "a.npz"), os.path.join(self.tmp, "b.npz")
            was, now = [kiln("run", m, "-i", i, "-o", o, level) for m, o in ((self.model, a), (out, b))]
            if (was.returncode, was.stdout) != (now.returncode, now.stdout):
                return f"{i}: was {was.returncode} {was.stdout}, is {now.returncode} {now.stdout} {now.stderr}"
            if not was.returncode and content(a) != content(b):
                return f"{i}: another answer"


def models():
    for name in sorted(os.listdir(TOP + "/samples")):
        if os.path.exists(f"{TOP}/samples/{name}/model.pt"):
            yield f"{TOP}/samples/{name}/model.pt", [f"{TOP}/samples/{name}/in.npz"]
    for name in sorted(os.listdir(TOP + "/tests/guards")):
        if name.endswith(".pt"):
            yield f"{TOP}/tests/guards/{name}", [f"{TOP}/tests/guards/{name[:-3]}.a.npz", f"{TOP}/tests/guards/{name[:-3]}.b.npz"]


class SaveTest(unittest.TestCase):
    def test_models(self):
        for model, inputs in models():
            with self.subTest(model=os.path.basename(os.path.dirname(model)) + "/" + os.path.basename(model)), \
                    tempfile.TemporaryDirectory() as tmp:
                s = Saved(model, tmp)
                self.assertIsNone(s.graph())
                self.assertIsNone(s.again())
                self.assertIsNone(s.aligned())
                self.assertIsNone(s.answers(inputs, "-O0"))
                self.assertIsNone(s.answers(inputs, "-O2"))

    def test_scalar_attribute(self):
        """A frozen 0-d tensor stays a tensor in type promotion: int64 times float64 is float64."""
        code = body(["return torch.mul(x, self.w)"])
        with tempfile.TemporaryDirectory() as tmp:
            w = hostile.tensor(1, [], []).replace(b"FloatStorage", b"DoubleStorage")
            for name, data in (("m.pt", hostile.model(code, attrs(training=b"\x89", w=w), **{"data/0": struct.pack("<d", 0.5)})),
                               ("x.npz", hostile.npz(x=hostile.npy([2], "<i8", struct.pack("<2q", 3, 4))))):
                with open(os.path.join(tmp, name), "wb") as f:
                    f.write(data)
            for level in "-O0", "-O1", "-O2":
                out, why = Saved(os.path.join(tmp, "m.pt"), tmp).save(level)
                self.assertIsNone(why)
                self.assertIn("CPUDoubleType", kiln("run", out, "-i", os.path.join(tmp, "x.npz")).stdout)

    def test_names(self):
        """Attributes whose names are no identifiers. One of them tries to inject code."""
        name = '0"] = int #'
        head = hostile.HEAD.replace("  w : Tensor", "  __annotations__ = []\n  __annotations__[%s] = Tensor" % ('"0\\"] = int #"'))
        code = head + body(["y = getattr(self, %s)" % '"0\\"] = int #"', "return torch.add(x, y)"])
        with tempfile.TemporaryDirectory() as tmp:
            data = hostile.model("", attrs(**{"training": b"\x89", name: hostile.W}), **{"code/__torch__.py": code.encode()})
            for file, bytes_ in ("m.pt", data), ("x.npz", hostile.npz(x=hostile.npy([2, 3]))):
                with open(os.path.join(tmp, file), "wb") as f:
                    f.write(bytes_)
            saved = Saved(os.path.join(tmp, "m.pt"), tmp)
            self.assertIsNone(saved.graph())
            self.assertIsNone(saved.again())
            self.assertIsNone(saved.answers([os.path.join(tmp, "x.npz")], "-O2"))

    def test_emptied_with(self):
        """Bodies of `with` whose statements were all folded to constants."""
        source = """class Scope:
    def __init__(self):
        self.n = 0
    def __enter__(self):
        return self.n
    def __exit__(self, type: Any, value: Any, trace: Any):
        self.n += 1
def forward(x: Tensor) -> Tensor:
    with Scope():
        n = 1 + 1
        with Scope():
            k = n * 2
    return x * k
"""
        with tempfile.TemporaryDirectory() as tmp:
            for name, data in ("m.py", source.encode()), ("x.npz", hostile.npz(x=hostile.npy([2, 3]))):
                with open(os.path.join(tmp, name), "wb") as f:
                    f.write(data)
            saved = Saved(os.path.join(tmp, "m.py"), tmp)
            self.assertIsNone(saved.answers([os.path.join(tmp, "x.npz")], "-O2"))

    def test_params(self):
        """New values replace a tensor, at every level. Values that do not fit are an error."""
        with tempfile.TemporaryDirectory() as tmp:
            new = hostile.npz(w=hostile.npy([2, 3], data=struct.pack("<6f", *[10] * 6)))
            for name, data in (("m.pt", hostile.model()), ("x.npz", hostile.npz(x=hostile.npy([2, 3]))), ("new.npz", new),
                               ("bad.npz", hostile.npz(w=hostile.npy([3, 2]))), ("none.npz", hostile.npz(v=hostile.npy([2, 3])))):
                with open(os.path.join(tmp, name), "wb") as f:
                    f.write(data)
            for level in "-O0", "-O2":
                saved = Saved(os.path.join(tmp, "m.pt"), tmp)
                out, why = saved.save(level, "--params", os.path.join(tmp, "new.npz"))
                self.assertIsNone(why)
                self.assertIn("10  10  10", kiln("run", out, "-i", os.path.join(tmp, "x.npz")).stdout)
                self.assertIn("other sizes", saved.save(level, "--params", os.path.join(tmp, "bad.npz"))[1])
                self.assertIn("no tensor 'v'", saved.save(level, "--params", os.path.join(tmp, "none.npz"))[1])

    def test_faults(self):
        """The saved code contains a TimePoint where PyTorch's interpreter would otherwise lose y in the loop. A fork of constants
        captures a list."""
        text = """def task(n: int) -> Tensor:
    return torch.ones([n])

def forward(x: Tensor, n: int, b: bool) -> Tuple[Tensor, Tensor, Tensor]:
    task_ = torch.jit.fork(task, 2)
    y, s = x, x
    if b:
        y = torch.mul(x, 2)
        s = torch.neg(x)
        for i in range(n):
            s = torch.add(s, y)
    return y, s, torch.jit.wait(task_)
"""
        with tempfile.TemporaryDirectory() as tmp:
            model = os.path.join(tmp, "m.py")
            with open(model, "w") as f:
                f.write(text)
            first, why = Saved(model, tmp).save("-O2")
            second, why2 = Saved(first, tmp).save("-O2", name="again")
            self.assertIsNone(why or why2)
            for saved in first, second:
                with zipfile.ZipFile(saved) as z:
                    code = b"".join(z.read(i) for i in z.infolist() if i.filename.endswith(".py")).decode()
                self.assertEqual((code.count("ops.prim.TimePoint()"), code.count("torch.clear(")), (1, 1), code)
            self.assertNotIn("TimePoint", kiln("show", first, "--stage", "prepared").stdout)

    def test_usage(self):
        self.assertEqual(kiln("save", TOP + "/samples/lstm/model.pt").returncode, 2)
        self.assertEqual(kiln("save", TOP + "/samples/lstm/model.pt", "-o", "/nowhere/at/all.pt").returncode, 1)


def sweep(tops):
    failed = n = 0
    for top in tops:
        for folder, _, files in sorted(os.walk(top)):
            if "model.pt" not in files:
                continue
            inputs = [os.path.join(folder, f) for f in sorted(files) if f.endswith(".in.npz")]
            with tempfile.TemporaryDirectory() as tmp:
                s, n = Saved(os.path.join(folder, "model.pt"), tmp), n + 1
                for what, why in (("graph", s.graph()), ("again", s.again()), ("-O0", s.answers(inputs, "-O0")),
                                  ("-O2", s.answers(inputs, "-O2"))):
                    if why:
                        failed += 1
                        print(f"FAIL {os.path.basename(folder)} {what}: {why[:400]}", flush=True)
    print(f"{n} models, {failed} failures")
    return failed > 0


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        sys.exit(sweep(sys.argv[1:]))
    unittest.main()
