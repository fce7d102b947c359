"""Gradients in programs, with PyTorch's gradients from ties.txt, no_grad.txt and random_flows.txt, many calls in a model.

usage: programs_test.py KILN

The compiler inside Kiln, at -O0 and -O2; the specialized code runs (--strict), and --selfcheck holds generic code against it.
"""
import ast, io, math, os, re, struct, sys, unittest, zipfile

KILN = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = HERE, os.path.join(HERE, "../program")
from hostile import Test, call, npy, npz
import flows

STEP = 16               # every 16th call of ties.txt; rows.c tests all of them
FLOWS = 20              # number of random_flows.txt calls in one program
LEVELS = "-O1", "-O2", "-O3"
INDEXED = ("max_dim", "min_dim", "median_dim", "nanmedian_dim", "mode", "kthvalue", "cummax", "cummin")
SEVERAL = re.compile(r"^(aminmax|(std|var)_mean.*|linalg_qr|_?native_.*|triangular_solve|lstm.*|gru_(input|data)|rnn_(tanh|relu)_(input|data)"
                     # operators with several results; rows.c tests all of these
                     r"|linalg_lu_factor_ex|fractional_max_pool.*|adaptive_max_pool.*|max_pool.*_with_indices|sort.*|topk|lu_unpack|.*_forward)$")
SUM = """
def total(t: Tensor):
    return (t * (0.5 + 0.25 * torch.arange(t.numel(), dtype=torch.float64)).reshape(t.size())).sum()

"""
ARGUMENT = re.compile(r"(\w+)\[([\d,]*)\]([ib]?)\(([^)]*)\)('?)")


def samples(name):
    """id, arguments, expression, gradients by argument"""
    with open(os.path.join(HERE, name)) as f:
        lines = f.readlines()
    for line in lines:
        parts = [p.strip() for p in line.split("|")]
        if len(parts) > 3 and parts[0] != "smooth" and not parts[3].startswith("raises"):
            yield parts[0], ARGUMENT.findall(parts[1]), parts[2], dict(g.strip().partition(" ")[::2] for g in parts[3].split(";"))


def array(sizes, kind, values):
    code, descr = {"": ("d", "<f8"), "i": ("q", "<i8"), "b": ("?", "|b1")}[kind]
    values = [float(v) if not kind else int(v) for v in values.split(",") if v]
    return npy([int(d) for d in sizes.split(",") if d], descr, struct.pack("<%d%s" % (len(values), code), *values))


def arrays(data):
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        for name in z.namelist():
            raw = z.read(name)
            head = 10 + struct.unpack("<H", raw[8:10])[0]
            assert ast.literal_eval(raw[10:head].decode())["descr"] == "<f8", name
            yield name[:-4], struct.unpack("<%dd" % ((len(raw) - head) // 8), raw[head:])


def near(got, want):
    return got == want or (got != got and want != want) or abs(got - want) <= 1e-7 * (1 + abs(want))


class Programs(Test):
    def check_program(self, calls, text, level, *strict):
        source, inputs, wanted, names = text + SUM, {}, {}, []
        for k, (row, args, expression, gradients) in enumerate(calls):
            source += "def f%d(%s):\n    return total(%s%s)\n\n" % (k, ", ".join(a[0] + ": Tensor" for a in args), expression,
                                                                  "[0]" if row in INDEXED else "")
            for name, sizes, kind, values, fixed in args:
                key = "%s%d" % (name, k)
                names.append(key)
                inputs[key] = array(sizes, kind, values)
                if not kind and not fixed:
                    wanted[key] = gradients[name]
        source += "def forward(%s):\n    return [%s]\n" % (", ".join(n + ": Tensor" for n in names), ", ".join(
            "f%d(%s)" % (k, ", ".join("%s%d" % (a[0], k) for a in c[1])) for k, c in enumerate(calls)))
        self.put("in.npz", npz(**inputs))
        self.put("m.py", source.encode())
        rc, out, err = call([KILN, "build", "m.py", "-i", "in.npz", "--grad", ",".join(wanted), "--cc", "tcc", level, "-o", "p"], self.dir)
        self.assertEqual(rc, 0, err[-2000:])
        rc, out, err = call(["./p", "-i", "in.npz", *strict, "--selfcheck", "-o", "out.npz"], self.dir)
        self.assertEqual(rc, 0, err[-2000:])
        rc, out, err = call(["./p", "-i", "in.npz", *strict, "-o", "out.npz", "--grad-out", "g.npz"], self.dir)
        self.assertEqual(rc, 0, err[-2000:])
        with open(os.path.join(self.dir, "g.npz"), "rb") as f:
            got = dict(arrays(f.read()))
        for key, want in wanted.items():
            want = None if want == "none" else [float(v) for v in want.split()]
            have = got.get(key)
            if want is None or have is None:
                self.assertTrue(all(v == 0 for v in want or have or []), (key, calls[int(re.sub(r"\D", "", key))]))
            else:
                self.assertTrue(len(have) == len(want) and all(map(near, have, want)), (key, have, calls[int(re.sub(r"\D", "", key))]))

    def test_ties(self):
        calls = [c for c in samples("ties.txt") if not SEVERAL.match(c[0]) or c[2].endswith("]")]
        for k, level in enumerate(("-O0", "-O2")):
            self.check_program(calls[k::STEP], "", level, "--strict")

    def test_no_grad(self):
        with open(os.path.join(HERE, "no_grad.py")) as f:
            text = f.read()
        calls = list(samples("no_grad.txt"))
        turned = [c for c in calls if c[2] == "turned(x, y)"]       # t_ and unsqueeze_ run in generic code
        for level in ("-O0", "-O2"):
            self.check_program([c for c in calls if c not in turned], text, level, "--strict")
            self.check_program(turned, text, level)

    def test_random_flows(self):
        calls = list(samples("random_flows.txt"))
        for k in range(0, len(calls), FLOWS):
            part = calls[k:k + FLOWS]
            names = [c[2].split("(")[0] for c in part]
            text = "\n\n".join(flows.Function(int(n[1:])).text(n) for n in names)
            self.check_program(part, text + "\n", LEVELS[k // FLOWS % len(LEVELS)], "--strict")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
