"""User operators, in C and in TorchScript: interpreted, profiled, compiled by gcc and by the compiler inside Kiln, for another
machine, and the messages for wrong ones.

usage: userop_test.py KILN
"""
import os, struct, sys, unittest

KILN = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../program"))
import hostile, npz as arrays
from hostile import Test, body, call, model, npy, npz
from needs import needs

C = os.path.join(HERE, "scaled.c")
os.environ["CFLAGS"] = os.environ.get("CFLAGS") or "-Og"      # cheaper than -O0, which compiles all unused blocks
SANITIZED = "-fsanitize" in os.environ.get("CFLAGS", "")
SCHEMAS = ["my::scaled(Tensor x, int c=2) -> Tensor", "my::halves(Tensor x) -> (Tensor, Tensor)",
           "my::bump_.by(Tensor(a!) self, float by) -> Tensor(a!)", "my::positive(Tensor x) -> Tensor", "my::say(str what) -> ()"]
OPS = [a for s in SCHEMAS for a in ("--op-schema", s)] + ["--op", C]
MODEL = body(["_0 = ops.my.say(\"once\")",
              "y = ops.my.scaled(torch.sub(x, 2.), 3)",
              "a, b = ops.my.halves(y)",
              "y0 = torch.add(a, 0)",
              "_1 = ops.my.bump_(y0, 1.)",
              "p = ops.my.positive(torch.sub(x, 2.))",
              "return (torch.add(torch.mul(y0, 2), b), p, ops.my.scaled(y))"], result="Tuple[Tensor, Tensor, Tensor]")
BODY = ["--op-schema", "my::twice(Tensor x, Tensor y) -> Tensor", "--op-body",
        "my::twice=z = torch.mul(x, 2)\nreturn torch.add(z, y)"]


def floats(dims, *values):
    return npy(dims, data=struct.pack("<%df" % len(values), *values))


class UserOps(Test):
    def setUp(self):
        super().setUp()
        self.put("m.pt", model(MODEL))
        self.put("x.npz", npz(x=floats([2, 3], *range(6))))
        self.put("y.npz", npz(x=floats([4], 9, 0, 2, 3)))
        self.put("z.npz", npz(x=npy([3, 2], "<f8")))

    def kiln(self, *argv, status=0):
        rc, out, err = call([KILN, *argv], self.dir)
        self.assertEqual(rc, status, (argv, err[-2000:]))
        return out.decode() + err.decode()

    def answers(self, argv, values, ntimes):
        """The program or interpreter writes these three results and prints "said: once" ntimes."""
        rc, out, err = call([*argv, "-o", "o.npz"], self.dir)
        self.assertEqual((rc, err.count(b"said: once")), (0, ntimes), (argv, err))
        got = arrays.read(os.path.join(self.dir, "o.npz"))
        self.assertEqual([got["out.%d" % i][2] for i in range(3)], values)

    def expected(self, xs):
        y = [abs(v - 2) * 3 for v in xs]
        a, b = y[::2], y[1::2]
        return [[(u + 1) * 2 + v for u, v in zip(a, b)], [v - 2 for v in xs if v > 2], [2 * v for v in y]]

    def holds(self, *options):
        self.kiln("build", "m.pt", "-i", "x.npz", *OPS, *options, "-o", "p")
        self.answers(["./p", "--strict", "-i", "x.npz"], self.expected(range(6)), 1)
        self.answers(["./p", "-i", "y.npz"], self.expected([9, 0, 2, 3]), 1)
        rc, out, err = call(["./p", "-i", "z.npz"], self.dir)
        self.assertEqual(rc, 1)
        self.assertIn(b"my::scaled: expected Float, got Double", err)
        self.assertIn(b"ops.my.scaled", err)

    def test_run(self):
        self.answers([KILN, "run", "m.pt", *OPS, "-i", "x.npz"], self.expected(range(6)), 1)
        said = self.kiln("run", "m.pt", *OPS, "-i", "z.npz", status=1)
        self.assertIn("expected Float, got Double", said)
        self.assertIn("yours", self.kiln("ops", "m.pt", *OPS[:-2]))
        self.assertIn("my::bump_.by", self.kiln("ops", "m.pt", *OPS))
        self.assertIn("my::scaled", self.kiln("ops", "m.pt", status=7))
        self.assertIn("one of your own is given by --op-schema", self.kiln("run", "m.pt", "-i", "x.npz", status=7))

    def test_gcc(self):
        self.holds()
        self.assertIn("same", self.kiln("check", "m.pt", "p", *OPS, "-i", "x.npz", "-i", "y.npz"))
        self.kiln("build", "m.pt", "-i", "x.npz", *OPS, "--emit", "c", "--name", "p", "-o", "c")
        with open(os.path.join(self.dir, "c/p.c")) as f:
            self.assertIn(".by.kernel = my_scaled,", f.read())

    def test_save_and_bisect(self):
        for level in "-O0", "-O2":
            self.kiln("save", "m.pt", level, *OPS, "-o", "s.pt")
            self.answers([KILN, "run", "s.pt", *OPS, "-i", "x.npz"], self.expected(range(6)), 1)
        self.assertIn("same", self.kiln("bisect", "m.pt", *OPS, "-i", "x.npz"))

    @unittest.skipIf(SANITIZED, "tcc links no sanitizer")
    def test_tcc(self):
        self.holds("--cc", "tcc")
        os.environ["CC"] = "no-such-compiler"
        try:
            self.answers([KILN, "run", "m.pt", *OPS, "-i", "x.npz"], self.expected(range(6)), 1)
        finally:
            del os.environ["CC"]

    if os.environ.get("KILN_CROSS"):                # set by ninja cross
        @needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
        def test_cross(self):
            self.kiln("build", "m.pt", "-i", "x.npz", *OPS, "--target", "aarch64-linux-gnu", "--static", "-o", "p")
            self.answers(["qemu-aarch64", "./p", "-i", "x.npz"], self.expected(range(6)), 1)

    def test_body(self):
        self.put("m.pt", model(body(["return ops.my.twice(x, self.w)"])))
        for argv in ([KILN, "run", "m.pt", *BODY], ["./p", "--strict"]):
            rc, out, err = call([*argv, "-i", "x.npz", "-o", "o.npz"], self.dir)
            self.assertEqual(rc, 0, err)
            self.assertEqual(arrays.read(os.path.join(self.dir, "o.npz"))["out"][2], [3. * i for i in range(6)])
            self.kiln("build", "m.pt", "-i", "x.npz", *BODY, "-o", "p")

    def test_wrong(self):
        schema = ["--op-schema", "my::scaled(Tensor x, int c) -> Tensor"]
        self.put("bad.c", b"int my_scaled(void) { return nonsense; }\n")
        self.put("other.c", b"#include \"kiln.h\"\nint f(void); int f(void) { return 0; }\n")
        self.put("gone.c", b"#include \"kiln.h\"\nint gone(void);\nint my_scaled(RtCx *c, const IValue *i, IValue *o) "
                           b"{ (void)c, (void)i, (void)o; return gone(); }\n")
        for status, part, argv in (
                (1, "gone", [*schema, "--op", "gone.c"]),
                (1, "gone", [*schema, "--op", "gone.c", "--cc", "tcc"]),
                (1, "bad.c:1:", [*schema, "--op", "bad.c", "--cc", "tcc"]),
                (1, "bad.c:1:", [*schema, "--op", "bad.c"]),
                (1, "no function my_scaled", [*schema, "--op", "other.c"]),
                (1, "nowhere.c: cannot be read", [*schema, "--op", "nowhere.c"]),
                (2, "--op-schema", ["--op", C]),
                (2, "NAME=TEXT", [*schema, "--op-body", "my::other=return x"]),
                (1, "namespace", ["--op-schema", "scaled(Tensor x) -> Tensor"]),
                (1, "has an operator of this name", ["--op-schema", "aten::add.Tensor(Tensor a) -> Tensor"]),
                (1, "", ["--op-schema", "my::scaled(Tensor x ->"]),
                (7, "no kernel for my::", [o for o in OPS if o not in ("--op", C)])):
            self.assertIn(part, self.kiln("build", "m.pt", "-i", "x.npz", *argv, "-o", "OUT", status=status))
            self.assertFalse(os.path.exists(os.path.join(self.dir, "OUT")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
