"""Shared by the tests of kernel forms: builds a function, checks that its specialization consists of kernels only (or of `calls`
runtime calls, where no kernel exists), and compares its answers with the interpreter's. Inputs are generated. If a size is a
range, the program has dynamic sizes.
"""
import os, re, struct, sys

KILN = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hostile import Test, body, call, model, npy, npz

TCC = [] if "sanitize" in os.environ.get("CFLAGS", "") else ["--cc", "tcc"]        # tcc links no sanitizers


def sin(*sizes):
    """TorchScript source of a constant tensor."""
    n = 1
    for size in sizes:
        n *= size
    return "torch.sin(torch.reshape(torch.arange(1, %d, dtype=6), [%s]))" % (n + 1, ", ".join(map(str, sizes)))


class Same(Test):
    def array(self, name, *numbers, rows=3, columns=3):
        """Writes an input x of rows x columns elements: the numbers, then zeros."""
        n = rows * columns
        self.put(name, npz(x=npy([rows, columns], data=struct.pack("<%df" % n, *numbers, *[0] * (n - len(numbers))))))

    def same(self, lines, inputs="x=float32[3x3]", others=(), result="Tensor", args="x: Tensor", runs=1, code="", before="", **more):
        """Builds the program with `runs` profiled runs on `inputs`. It must answer as the interpreter does on them and on
        `others`."""
        sets = [[o for i in s.split() for o in ("-i", i)] for s in (inputs, *others)]
        self.put("m.pt", model(before + body(lines, args, result) + code, **more))
        rc, said, errors = call([KILN, "build", "m.pt", *sets[0] * runs, *TCC, "-o", "program"], self.dir)
        self.assertEqual(rc, 0, (lines, errors))
        for options in sets:
            rc, said, errors = call([KILN, "check", "m.pt", "program", *options], self.dir)
            self.assertEqual(rc, 0, (lines, options, said, errors))
        os.remove(os.path.join(self.dir, "program"))

    def in_turn(self, lines, inputs, *calls, result="Tensor"):
        """Builds the program with two profiled runs on `inputs`. One instance must answer these calls in turn as the interpreter
        does."""
        options = [o for i in calls for o in ("-i", i)]
        self.put("m.pt", model(body(lines, result=result)))
        self.check([KILN, "build", "m.pt", "-i", inputs, "-i", inputs, *TCC, "-o", "program"], 0)
        self.assertEqual(call([os.path.join(self.dir, "program"), *options], self.dir), call([KILN, "run", "m.pt", *options], self.dir), lines)
        os.remove(os.path.join(self.dir, "program"))


def static(inputs):
    """Build options that leave out dynamic code, unless an input has a range."""
    return [] if ".." in " ".join(inputs) else ["--no-dynamic"]


def between(inputs):
    """The inputs with sizes in the middle of their ranges, which no exact specialization has."""
    return [re.sub(r"(\d+)\.\.(\d+)", lambda m: str((int(m[1]) + int(m[2])) // 2), i) for i in inputs]


class Form(Test):
    def form(self, lines, inputs, calls=0, result="Tensor", **types):
        args = ", ".join("%s: %s" % (n, types.get(n, "Tensor")) for n in (i.split("=")[0] for i in inputs))
        options = [o for i in inputs for o in ("-i", i)]
        self.put("m.pt", model(body(lines, args, result)))
        status, said, errors = call([KILN, "build", "m.pt", *options, *static(inputs), *TCC, "-o", "program"], self.dir)
        self.assertEqual(status, 0, errors)
        self.said = said.decode()
        self.assertEqual(set(re.findall(r" (\d+) runtime calls", self.said)), {str(calls)}, lines)
        self.check([KILN, "check", "m.pt", "program", *options], 0)
        if between(inputs) != inputs:
            self.check([KILN, "check", "m.pt", "program", *(o for i in between(inputs) for o in ("-i", i))], 0)
        os.remove(os.path.join(self.dir, "program"))
