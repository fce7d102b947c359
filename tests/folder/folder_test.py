"""Folders of C with the parts of the runtime that they need (--emit c): built elsewhere by every compiler without a word, with
nothing of Kiln's near, and the answers recorded from PyTorch.

usage: folder_test.py KILN
"""
import ctypes as c, math, os, re, shutil, struct, subprocess, sys, tempfile, unittest
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program"))
import npz
import program_test as programs
from needs import need, needs

DONE, USAGE, KILN, SAMPLES = programs.DONE, programs.USAGE, programs.KILN, programs.SAMPLES
ROOT = os.path.abspath(os.path.join(SAMPLES, ".."))
WIDE = """
def forward(x: Tensor) -> Tensor:
    w = torch.sin(torch.reshape(torch.arange(600 * 500, dtype=torch.float), [600, 500]))
    if bool(x.sum() > 0):
        x = -x
    return torch.linear(x, w)
"""
SCALED = "def forward(x: Tensor) -> Tensor:\n    return torch.ops.my.scaled(x, 3) + 1\n"
KINDS = {(0, 64): "<i8", (0, 32): "<i4", (2, 32): "<f4", (2, 64): "<f8", (6, 8): "|b1"}
CODES = {"i": 0, "f": 2, "b": 6}


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device", c.c_int32 * 2), ("ndim", c.c_int32), ("code", c.c_uint8), ("bits", c.c_uint8),
                ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)), ("offset", c.c_uint64)]


class Options(c.Structure):
    _fields_ = [("threads", c.c_int), ("pool", c.c_void_p * 2), ("print", c.c_void_p * 3), ("seed", c.c_uint64), ("seeded", c.c_int),
                ("device", c.c_char_p), ("weights_file", c.c_char_p), ("weights", c.c_void_p), ("bytes", c.c_size_t), ("strict", c.c_int)]


def taken(t):
    """Returns a result's array: (dtype, shape, values)."""
    dtype, shape, strides = KINDS[t.code, t.bits], tuple(t.shape[:t.ndim]), t.strides[:t.ndim]
    size, values = t.bits // 8, []
    for i in range(math.prod(shape)):
        at = 0
        for n, s in zip(reversed(shape), reversed(strides)):
            at, i = at + i % n * s, i // n
        values += struct.unpack(npz.code(dtype, 1), c.string_at(t.data + t.offset + at * size, size))
    return dtype, shape, values


def answered(library, name, arrays, weights=None):
    """Returns all answers of a library to a call by keys."""
    lib, why, key, t = c.CDLL(library), c.create_string_buffer(512), c.c_char_p(), Tensor()
    function = lambda what: getattr(lib, f"{name}_{what}")
    function("open").restype, function("error").restype = c.c_void_p, c.c_char_p
    m = c.c_void_p(function("open")(c.byref(Options(weights_file=weights.encode())) if weights else None, why, c.c_size_t(512)))
    assert m, why.value
    kept = []                                # arguments must stay alive
    for k, (dtype, shape, values) in arrays.items():
        raw = c.create_string_buffer(struct.pack(npz.code(dtype, len(values)), *values))
        given = Tensor(c.addressof(raw), (1, 0), len(shape), CODES[dtype[1]], 8 * int(dtype[2:]), 1, (c.c_int64 * max(len(shape), 1))(*shape))
        kept += [raw, given]
        assert not function("set")(m, k.encode(), c.byref(given)), function("error")(m)
    assert not function("call")(m, None, None, 0, None, 0), function("error")(m)
    out = {}
    for i in range(function("results")(m)):
        assert not function("result")(m, i, c.byref(key), c.byref(t)), function("error")(m)
        out[key.value.decode()] = taken(t)
    function("close")(m)
    return out


class Folder(programs.Test):
    def made(self, name, model, given, *options):
        """Makes a folder, moves it away from Kiln's files, and builds it in an environment without Kiln's variables."""
        folder, there = self.at(name + "_c"), os.path.join(tempfile.mkdtemp(dir=self.folder.name), name)
        self.ends(DONE, KILN, "build", model, *given, "--emit", "c", "--name", name, *options, "-o", folder)
        os.rename(folder, there)
        return there

    def shell(self, folder, *argv):
        p = subprocess.run(argv, cwd=folder, env={"PATH": os.environ["PATH"]}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(p.returncode, 0, p.stdout)
        return p.stdout

    def holds(self, folder, name, arrays, want, weights=None):
        said = self.shell(folder, "ninja")
        self.assertNotRegex(said, "warning|error")
        self.assertIsNone(npz.differs(want, answered(os.path.join(folder, f"lib{name}.so"), name, arrays, weights)))

    def sample(self, name, cc, *options):
        path = os.path.join(SAMPLES, name)
        folder = self.made(name, path + "/model.pt", ["-i", path + "/in.npz"], "--cc", cc, *options)
        self.holds(folder, name, npz.read(path + "/in.npz"), npz.read(path + "/out.npz"))
        return folder

    def test_samples(self):
        """Models that tcc compiles quickly are slow to compile by the others, so each of those gets one."""
        for cc, name in ("tcc", "digits"), ("tcc", "lstm"), ("tcc", "beam"), ("gcc", "beam"), ("clang", "digits"):
            with self.subTest(name, cc=cc):
                need(cc)
                folder = self.sample(name, cc)
                files = {f for _, _, names in os.walk(folder + "/rt") for f in names}
                self.assertIn("door.c", files)
                self.assertFalse(files & {"train.c", "start.c", "fft.c", "cuda.c", "compare.c", "parts.c"}, files)

    @needs("clang")
    def test_another_compiler(self):
        """A folder made for gcc has none of gcc's options if ninja runs clang."""
        path = os.path.join(SAMPLES, "digits")
        folder = self.made("digits", path + "/model.pt", ["-i", path + "/in.npz"], "--cc", "gcc", "--no-dynamic")
        os.mkdir(folder + "/build")
        for cc in "gcc", "clang":
            self.shell(folder, "sed", "-i", f"s/^cc = .*/cc = {cc}/", "build.ninja")
            command = self.shell(folder, "sh", "-xc", self.shell(folder, "ninja", "-t", "commands", "build/digits.o").splitlines()[-1])
            self.assertNotRegex(command, "warning|error")
            self.assertEqual("-c digits.c" in command and "avoid-fma-max-bits=0 " in command.split("\n+ " + cc)[-1], cc == "gcc")

    @needs("tcc")
    def test_only_its_names(self):
        """Two folders are linked into one program, and export only their own names."""
        d, l = [self.sample(name, "tcc") for name in ("digits", "lstm")]
        for name, folder in ("digits", d), ("lstm", l):
            names = {l.split()[2] for l in self.ends(DONE, "nm", "-g", "--defined-only", f"{folder}/lib{name}.a")[0].splitlines() if " " in l}
            self.assertTrue(names and all(n.startswith(name + "_") for n in names), names)
        with open(self.at("two.c"), "w") as f:
            f.write('#include "digits.h"\n#include "lstm.h"\nint main(void)\n{\n\tdigits *a = digits_open(0, 0, 0);\n\tlstm *b = lstm_open(0, 0, 0);\n\n'
                    "\tdigits_close(a);\n\tlstm_close(b);\n\treturn !a || !b;\n}\n")
        self.ends(DONE, "tcc", "-I", d, "-I", l, self.at("two.c"), d + "/libdigits.a", l + "/liblstm.a", "-lm", "-lpthread", "-o", self.at("two"))
        self.ends(DONE, self.at("two"))

    @needs("tcc")
    def test_by_hand(self):
        """The command of the folder's README, with the user's own program."""
        path = os.path.join(SAMPLES, "digits")
        folder = self.made("digits", path + "/model.pt", ["-i", path + "/in.npz"], "--cc", "tcc")
        for file, to in ("digits.c", "program.c"), ("picture.h", "picture.h"):
            shutil.copy(os.path.join(SAMPLES, "door", file), os.path.join(folder, to))
        with open(folder + "/README.md") as f: command = "".join(re.findall(r"^    (.*)\n", f.read(), re.M)).replace("\\", "")
        self.shell(folder, "sh", "-c", command + " -o program")
        self.assertIn("a 1, by 0.985", self.shell(folder, "./program"))

    def wide(self):
        with open(self.at("wide.py"), "w") as f: f.write(WIDE)
        arrays = {"x": ("<f4", (1, 500), [((i * 37) % 64 - 20) / 16 for i in range(500)])}
        npz.write(self.at("wide.npz"), arrays)
        self.ends(DONE, KILN, "run", self.at("wide.py"), "-i", self.at("wide.npz"), "-o", self.at("want.npz"))
        return ["-i", self.at("wide.npz")], arrays, npz.read(self.at("want.npz"))

    @needs("tcc")
    def test_weights(self):
        """More than a megabyte of weights is an object file. With --weights file it is a file that the program opens."""
        given, arrays, want = self.wide()
        for options, file in ([], "wide_weights.o"), (["--weights", "file"], "wide.weights"):
            with self.subTest(file):
                folder = self.made("wide", self.at("wide.py"), given, "--cc", "tcc", *options)
                self.assertGreater(os.path.getsize(os.path.join(folder, file)), 1 << 20)
                self.holds(folder, "wide", arrays, want, os.path.join(folder, file) if options else None)

    def test_levels(self):
        """The text is compiled for each processor level."""
        folder = self.made("wide", self.at("wide.py"), self.wide()[0], "--cpu", "portable")
        self.assertNotIn("warning", self.shell(folder, "ninja", *[f"build/wide.{i}.o" for i in range(3)]))
        names = [self.shell(folder, "nm", "-g", "--defined-only", f"build/wide.{i}.o") for i in range(3)]
        self.assertEqual(["wide_open" in n for n in names], [True, False, False])

    @needs("aarch64-linux-gnu-gcc")
    def test_other_machine(self):
        path = os.path.join(SAMPLES, "digits")
        folder = self.made("digits", path + "/model.pt", ["-i", path + "/in.npz"], "--target", "aarch64-linux-gnu")
        self.assertNotIn("warning", self.shell(folder, "ninja", "build/digits.o", "build/rt/door.o", "build/rt/ops/gemm.o"))

    @needs("tcc")
    def test_operators(self):
        """The user's own operators are part of the folder."""
        with open(self.at("scaled.py"), "w") as f: f.write(SCALED)
        npz.write(self.at("x.npz"), {"x": ("<f4", (3,), [1.0, 2.0, 3.0])})
        folder = self.made("scaled", self.at("scaled.py"), ["-i", self.at("x.npz")], "--op", os.path.join(ROOT, "tests/userop/scaled.c"),
                           "--op-schema", "my::scaled(Tensor x, int c=2) -> Tensor", "--cc", "tcc")
        self.holds(folder, "scaled", npz.read(self.at("x.npz")), {"out": ("<f4", (3,), [4.0, 7.0, 10.0])})


if __name__ == "__main__":
    unittest.main()
