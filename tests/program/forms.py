"""What the tests of kernel forms share: a function whose specialization must be kernels only (or calls, where there is no
form), and answers as the interpreter does.  Inputs are made up; where one has a range, the program is of dynamic sizes.
"""
import os, re, sys

KILN = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hostile import Test, body, call, model

TCC = [] if "sanitize" in os.environ.get("CFLAGS", "") else ["--cc", "tcc"]        # which links no sanitizers


def sin(*sizes):
    """A constant tensor of TorchScript."""
    n = 1
    for size in sizes:
        n *= size
    return "torch.sin(torch.reshape(torch.arange(1, %d, dtype=6), [%s]))" % (n + 1, ", ".join(map(str, sizes)))


class Form(Test):
    def form(self, lines, inputs, calls=0, result="Tensor", **types):
        args = ", ".join("%s: %s" % (n, types.get(n, "Tensor")) for n in (i.split("=")[0] for i in inputs))
        options = [o for i in inputs for o in ("-i", i)]
        self.put("m.pt", model(body(lines, args, result)))
        status, said, errors = call([KILN, "build", "m.pt", *options, *TCC, "-o", "program"], self.dir)
        self.assertEqual(status, 0, errors)
        self.said = said.decode()
        self.assertEqual(set(re.findall(r" (\d+) runtime calls", self.said)), {str(calls)}, lines)
        self.check([KILN, "check", "m.pt", "program", *options], 0)
        os.remove(os.path.join(self.dir, "program"))
