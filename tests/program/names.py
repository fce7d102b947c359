"""Programs from hostile names: a name in an archive never becomes code.

usage: names.py KILN [ROUNDS]

Names of classes, methods, arguments and attributes, strings, comments and the source ranges of debug records are drawn from a
list: texts that would end a comment, a string or a line of C, keywords of C, and names that rt uses.  The models that Kiln
accepts are emitted as C, which must be a correct translation unit in strict C, with trigraphs.
"""
import os, random, struct, subprocess, sys, tempfile

kiln, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 12
sys.argv[1:] = [kiln]
from hostile import archive, attrs, glob, npy, npz, num, pickled, text, tup, W

NAMES = ["int", "static", "main", "main_", "rt_run", "IValue", "NULL", "__LINE__", "_Pragma", "asm", "x", "in", "define",
         "kernel_0", "forward_1", "RT_INT", "a" * 300, "_", "__", "typeof", "linux", "unix", "bool", "true", "r", "v", "p",
         "program", "weights", "code", "é", "名前", "self_", "inline", "register", "errno", "sizeof"]
TEXTS = ["*/", "*/ int y; /*", "//", "/*", "\\", "\\\n", "??/", "??/\n", '"', "'", "\n", "\r", "\0", "\x1b[2J", "é", "名",
         "%s%n", "#include </etc/passwd>", "\n#error injected\n", "*\\\n/ #error", "??)", "_Pragma(\"error\")", "\u2028", "*" * 400,
         "__attribute__((constructor)) void f(void) {}", "\n}\n", "x" * 5000, "*?/", "?" * 9 + "/", "\t", "/", "*"]


def literal(s):
    """A string literal of TorchScript source."""
    return '"' + "".join("\\%03o" % b if b < 32 or b > 126 or chr(b) in '"\\' else chr(b) for b in s.encode()) + '"'


def draw(r):
    name = lambda: r.choice(NAMES)
    some = lambda: "".join(r.choice(TEXTS) for _ in range(r.randint(1, 4)))
    cls, arg, attr, method, local = name() + "C", name(), "w", name(), name()
    comment = some().replace("\n", " ").replace("\r", " ").replace("\0", " ")
    lines = ["class %s(Module):" % cls, '  __parameters__ = ["w", ]', "  __buffers__ = []", "  training : bool", "  w : Tensor",
             "  s : str",
             "  def forward(self: __torch__.%s, %s: Tensor) -> Tuple[Tensor, str, Dict[str, int]]:" % (cls, arg),
             "    # %s" % comment,
             "    %s0 = (self).%s(%s, )  # %s" % (local, method + "m", arg, comment),
             "    d = annotate(Dict[str, int], {%s: 1})" % literal(some()),
             "    print(%s, %s0)" % (literal(some()), local),
             "    if bool(torch.gt(torch.sum(%s0), 1.e+9)):" % local,
             "      ops.prim.RaiseException(%s)" % literal(some()),
             "    return (%s0, torch.add(self.s, %s), d)" % (local, literal(some())),
             "  def %sm(self: __torch__.%s, %s: Tensor) -> Tensor:" % (method, cls, arg),
             "    %s = torch.add(torch.mul(%s, 2), self.w)  # %s" % (local + "1", arg, comment),
             "    return torch.relu(%s)" % (local + "1")]
    state = attrs(training=b"\x89", w=W, s=text(some()))
    # (offset, ((text index..., ), ...)), the source ranges of debug records
    code = "\n".join(lines) + "\n"
    def place(at, source, file, line):
        return tup(num(at), tup(tup(text(source), text(file), num(line), num(0), num(len(source)))), num(0))
    debug = pickled(tup(place(0, some(), some(), r.choice([0, 1, -1, 1 << 40])), place(300, some(), some(), 7)))
    model = archive({"data/0": struct.pack("<6f", *range(6)), "data.pkl": pickled(glob("__torch__", cls) + b")\x81" + state + b"b"),
                     "code/__torch__.py": code.encode(), "code/__torch__.py.debug_pkl": debug,
                     "constants.pkl": pickled(b")"), "version": b"3\n", "extra/" + some().replace("\0", ""): b"x"})
    return model, npz(**{arg: npy([2, 3])})


def build(dir_, i):
    path = lambda n: os.path.join(dir_, n)
    p = subprocess.run([kiln, "build", path("m.pt"), "-i", path("x.npz"), "-o", path("c"), "--name", "p", "--emit", "c"],
                       capture_output=True, timeout=120)
    if p.returncode in (1, 7):
        return False
    assert p.returncode == 0, (i, p.stderr[-2000:])
    p = subprocess.run(["gcc", "-std=c11", "-trigraphs", "-D_GNU_SOURCE", "-O0", "-w", "-Werror=comment", "-fsyntax-only", path("c/p.c")],
                       capture_output=True, timeout=120)
    assert p.returncode == 0, (i, p.stderr[-2000:])
    return True


built, why = 0, ""
with tempfile.TemporaryDirectory() as d:
    for i in range(rounds):
        model, given = draw(random.Random(i))
        for name, data in (("m.pt", model), ("x.npz", given)):
            with open(os.path.join(d, name), "wb") as f:
                f.write(data)
        built += build(d, i)
assert built >= rounds // 3, "only %d of %d were accepted" % (built, rounds)

# methods named like kernels and like other names that the program defines
with tempfile.TemporaryDirectory() as d:
    for name in "map", "param", "kiln_level":
        with open(os.path.join(d, "k.py"), "w") as f:
            f.write("def %s(x: Tensor) -> Tensor:\n    return torch.exp(x).t().contiguous()\n" % name)
        p = subprocess.run([kiln, "build", os.path.join(d, "k.py"), "--method", name, "--input", "x=float32[5x7]", "-o", os.path.join(d, "p")], capture_output=True)
        assert p.returncode == 0, (name, p.stderr[-2000:])
