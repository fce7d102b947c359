"""kiln show --stage kernels: evaluates the texts of products, convolutions, pools and attention here, point by point. The results must be the
model's answer.

usage: kernels_test.py KILN
"""
import itertools, math, os, re, struct, sys, unittest, zipfile

KILN = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
from hostile import Test, call, npy, npz

OPERATORS = {"aten::add.Tensor": lambda a, b, alpha: a + alpha * b, "aten::mul.Tensor": lambda a, b: a * b, "aten::relu": lambda a: max(a, 0),
             "aten::div.Tensor": lambda a, b: a / b, "aten::mul.Scalar": lambda a, b: a * b, "aten::sub.Tensor": lambda a, b, alpha: a - alpha * b,
             "prim::exp_normal": math.exp, "aten::reciprocal": lambda a: 1 / a, "aten::clamp_min": max,
             "aten::clamp": lambda a, least, most: min(max(a, least), most), "aten::round": round}
FOLDS = {"sum": (0.0, lambda a, b: a + b), "max": (float("-inf"), max)}
KERNEL = re.compile(r"^kernel (\w+)(.*?)^end$", re.M | re.S)


def numbers(n, by):
    return [(i * by % 17 - 8) / 4 for i in range(n)]


def size(dims):
    n = 1
    for d in dims:
        n *= d
    return n


def floats(path):
    with zipfile.ZipFile(path) as z:
        data = z.read("out.npy")
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    return list(struct.unpack("<%df" % ((len(data) - begin) // 4), data[begin:]))


class Link:
    """A kernel, or a link of a chain, with the stored elements of all operands by name and place."""
    def __init__(self, text, memory):
        self.memory, self.operands, self.axes = memory, {}, []
        for name, kind, rest in re.findall(r"^  (\w+) (?:\w+ )?(read|constant|write|local|index) (.*)$", text, re.M):
            at, _, bounds = rest.partition(" else ")[0].partition(" where ")
            self.operands[name] = kind, at, [b.rsplit(" < ", 1) for b in bounds.split(", ")] if bounds else [], float(rest.partition(" else ")[2] or 0)
        for name, extent, kind, first, a, end, b in re.findall(r"(i\d+): (\d+)( reduce| shared)?(?: from floor\((.*?), (\d+)\) to ceil\((.*?), (\d+)\))?",
                                                               re.search("^axes .*$", text, re.M)[0]):
            self.axes.append((name, kind.strip(), "(%s) // %s" % (first, a) if first else "0", "-(-(%s) // %s)" % (end, b) if end else extent))
        self.stages = [(kind != "once", re.findall(r"^  (t\d+) = (\S+?)\((.*)\) \w", steps, re.M), re.findall(r"^  (r\d+) = (\w+)\((\w+)\) \w", steps, re.M),
                        re.findall(r"^  ([yl]\d+) = (\w+)$", steps, re.M)) for kind, steps in re.findall(r"^(do|each|once)\n((?:  .*\n)*)", text, re.M)]

    def place(self, expression, point):
        return eval(expression, {"__builtins__": {}}, point)

    def value(self, name, point):
        kind, at, bounds, outside = self.operands[name]
        if not all(0 <= self.place(a, point) < int(n) for a, n in bounds):
            return outside
        return float(self.place(at, point)) if kind == "index" else self.memory[name][self.place(at, point)]

    def points(self, kind, outer):
        of = [(n, range(self.place(first, outer), self.place(end, outer))) for n, k, first, end in self.axes if k == kind]
        return [{**outer, **dict(zip([n for n, _ in of], i))} for i in itertools.product(*[r for _, r in of])]

    def run(self, point):
        """Runs the stages for each row at a point of the shared axes."""
        for outer in self.points("", point):
            known = {}
            for each, lets, folds, stores in self.stages:
                known.update((name, FOLDS[fold][0]) for name, fold, _ in folds)
                for at in self.points("reduce", outer) if each else [outer]:
                    ref = lambda word: known[word] if word in known else self.value(word, at) if word[0] in "xnly" and word[1].isdigit() else float(word)
                    for name, operator, args in lets:
                        known[name] = OPERATORS[operator](*[ref(a) for a in args.split(", ")])
                    for name, fold, x in folds:
                        known[name] = FOLDS[fold][1](known[name], ref(x))
                    for name, x in stores:
                        stored, to = self.memory[name], self.place(self.operands[name][1], at)
                        assert name[0] == "l" or to not in stored
                        stored[to] = ref(x)


def evaluate(text, memory):
    """Runs a kernel's text. memory: elements of the operands that are read, in order. Returns the stored elements by place."""
    elements = {name: {} for name in re.findall(r"^  ([yl]\d+) \w+ (?:write|local)", text, re.M)}
    elements.update(zip(re.findall(r"^  (x\d+) \w+ (?:read|constant)", text.split("\nthen\n")[0], re.M), memory))
    links = [Link(part + "\n", elements) for part in text.split("\nthen\n")]
    for point in links[0].points("shared", {}):
        for link in links:
            link.run(point)
    return [elements["y0"][i] for i in range(len(elements["y0"]))]


class Kernels(Test):
    def kiln(self, *argv, status=0):
        rc, out, err = call([KILN, *argv], self.dir)
        self.assertEqual(rc, status, (argv, err[-2000:]))
        return out.decode()

    def check(self, source, micro, x, w, b=(), times=1):
        """x, w, b: dims of the arguments, or of constants in the source, that the kernels read. times: number of operands that are w."""
        arrays = {n: npy(d, data=struct.pack("<%df" % size(d), *numbers(size(d), by)))
                  for n, d, by in (("x", x, 3), ("w", w, 5), ("b", b, 7)) if d and re.search(r"[(,] ?%s: Tensor" % n, source)}
        self.put("m.py", source.encode())
        self.put("in.npz", npz(**arrays))
        self.kiln("run", "m.py", "-i", "in.npz", "-o", "OUT.npz")
        memory = numbers(size(x), 3)
        found = KERNEL.findall(self.kiln("show", "m.py", "-i", "in.npz", "--stage", "kernels"))
        self.assertTrue(any("microkernel %s;" % micro in text for _, text in found), found)
        for _, text in found:
            memory = evaluate(text, [memory, *[numbers(size(w), 5)] * times, numbers(size(b), 7)])
        want = floats(os.path.join(self.dir, "OUT.npz"))
        self.assertEqual(len(memory), len(want))
        for got, right in zip(memory, want):
            self.assertAlmostEqual(got, right, 3)

    def test_products(self):
        self.check("def forward(x: Tensor, w: Tensor):\n    return torch.matmul(x, w)\n", "vm_products", [3, 5, 7], [3, 7, 4])
        self.check("def forward(x: Tensor, w: Tensor, b: Tensor):\n    return torch.linear(x, w, b)\n", "vm_products", [3, 5, 7], [4, 7], [4])
        self.check("def forward(x: Tensor, w: Tensor):\n    return torch.einsum('bik,kj->bij', [x, w])\n", "vm_products", [2, 3, 4], [4, 5])

    def test_convolutions(self):
        self.check("def forward(x: Tensor, w: Tensor, b: Tensor):\n    return torch.conv1d(x, w, b, [2], [2], [2], 2)\n", "vd_conv",
                   [2, 4, 11], [6, 2, 3], [6])
        self.check("def forward(x: Tensor, w: Tensor):\n    return torch.conv2d(x, w, None, [2, 1], [1, 2], [1, 2], 1)\n", "vb_conv",
                   [2, 3, 7, 6], [4, 3, 3, 2])
        self.check("def forward(x: Tensor, w: Tensor, b: Tensor):\n    return torch.conv2d(x, w, b, [2, 1], [1, 2], [1, 2], 2)\n", "vb_conv",
                   [2, 6, 7, 6], [4, 3, 3, 2], [4])
        self.check("def forward(x: Tensor, w: Tensor, b: Tensor):\n    return torch.conv2d(x, w, b, [1, 1], [1, 1], [1, 1], 3)\n", "vb_depthwise",
                   [2, 3, 7, 6], [3, 1, 3, 3], [3])

    def test_constant_weights(self):
        w = "    w = torch.sub(torch.div(torch.remainder(torch.mul(torch.arange(%d), 5), 17), 4.), 2.)\n"
        self.check("def forward(x: Tensor):\n" + w % 28 + "    return torch.linear(x, torch.reshape(w, [4, 7]))\n", "vc_product", [5, 7], [4, 7])
        self.check("def forward(x: Tensor, b: Tensor):\n" + w % 28 + "    y = torch.linear(x, torch.reshape(w, [4, 7]))\n"
                   "    return torch.relu(torch.add(y, b))\n", "vc_product", [2, 5, 7], [4, 7], [2, 5, 4])
        self.check("def forward(x: Tensor, b: Tensor):\n" + w % 28 + "    y = torch.linear(x, torch.reshape(w, [4, 7]))\n"
                   "    return torch.mul(y, b)\n", "vc_product", [2, 5, 7], [4, 7], [4])
        for groups, dims in (1, [6, 4, 3, 2]), (4, [4, 1, 3, 3]):
            self.check("def forward(x: Tensor):\n" + w % size(dims) + "    return torch.conv2d(x, torch.reshape(w, %s), None, [2, 1], "
                       "[1, 1], [1, 2], %d)\n" % (dims, groups), "vc_conv" if groups == 1 else "vc_depthwise", [1, 4, 7, 8], dims)
        self.check("def forward(x: Tensor):\n" + w % 96 + "    return torch.conv2d(x, torch.reshape(w, [1, 16, 3, 2]), None, [2, 1], "
                   "[1, 1], [1, 2], 1)\n", "vc_conv_lanes", [1, 16, 7, 8], [1, 16, 3, 2])

    def test_bytes(self):
        """Convolutions of 8-bit integers. All scales are powers of two, so that only the rounding step rounds."""
        for groups, dims, micro in (2, [6, 2, 3, 2], "vi_conv_bytes"), (4, [4, 1, 2, 3], "vi_depthwise_bytes"):
            self.put("m.py", ("def forward(x: Tensor):\n    w = torch.sub(torch.div(torch.remainder(torch.mul(torch.arange(%d), 5), 17), 4.), 2.)\n"
                              "    q = torch.quantize_per_tensor(torch.reshape(w, %s), 0.25, 0, 12)\n"
                              "    conv = ops.quantized.conv2d_prepack(q, None, [1, 2], [1, 1], [2, 1], %d)\n"
                              "    return torch.dequantize(ops.quantized.conv2d(torch.quantize_per_tensor(x, 0.25, 9, 13), conv, 0.5, 7))\n" %
                              (size(dims), dims, groups)).encode())
            self.put("in.npz", npz(x=npy([1, 4, 5, 6], data=struct.pack("<120f", *numbers(120, 3)))))
            self.kiln("run", "m.py", "-i", "in.npz", "-o", "OUT.npz")
            text, = (t for kind, t in KERNEL.findall(self.kiln("show", "m.py", "-i", "in.npz", "--stage", "kernels")) if kind == "int8")
            self.assertIn("microkernel %s;" % micro, text)
            x = [4 * numbers(120, 3)[c * 30 + i] + 9 for i in range(30) for c in range(4)]
            got = evaluate(text, [x, [4 * w for w in numbers(size(dims), 5)], [0] * dims[0], [0.125] * dims[0]])
            want = floats(os.path.join(self.dir, "OUT.npz"))
            pixels = len(want) // dims[0]
            self.assertEqual(got, [2 * want[c * pixels + i] + 7 for i in range(pixels) for c in range(dims[0])])

    def test_groups(self):
        w = "    w = torch.sub(torch.div(torch.remainder(torch.mul(torch.arange(%d), 5), 17), 4.), 2.)\n"
        for micro, groups, dims, padding in (("vc_groups", 2, [6, 3, 3, 2], 1), ("vc_runs", 2, [36, 2, 2, 3], 1), ("vc_conv", 2, [40, 3, 1, 2], 1), ("vc_product", 2, [40, 2, 1, 1], 0),
                                             ("vc_conv_lanes", 2, [4, 16, 2, 2], 1)):
            self.check("def forward(x: Tensor, b: Tensor):\n" + w % size(dims) + "    y = torch.conv2d(x, torch.reshape(w, %s), None, [1, 1], "
                       "[%d, 0], [1, 1], %d)\n    return torch.relu(torch.add(y, b))\n" % (dims, padding, groups), micro,
                       [1, dims[1] * groups, 4, 7], dims, [1, dims[0], 1, 1])

    def test_pools(self):
        for pool in ("max_pool2d(a, [3, 2], [2, 1], [1, 1], [1, 2], True)", "avg_pool2d(a, [3, 3], [2, 2], [1, 1], True, True)",
                     "avg_pool2d(a, [3, 3], [2, 2], [1, 1], True, False)", "avg_pool2d(a, [2, 2], [2, 2], [0, 0], False, True, 3)",
                     "adaptive_avg_pool2d(a, [3, 4])", "adaptive_avg_pool2d(a, [7, 2])", "adaptive_avg_pool2d(a, [1, 1])"):
            for layout, last in ("x", "planes"), ("x.permute([0, 3, 1, 2])", "lanes"):
                dims = [2, 4, 7, 6] if last == "planes" else [2, 7, 6, 4]
                self.check("def forward(x: Tensor):\n    a = %s\n    return torch.contiguous(torch.%s)\n" % (layout, pool), "vp_pool_" + last, dims, ())

    def test_attention(self):
        for given, rest, b in ("", "None, 0., False", ()), ("", "None, 0., True, scale=0.3", ()), (", b: Tensor", "b", [5, 6]):
            self.check("def forward(x: Tensor, w: Tensor%s):\n    return torch.scaled_dot_product_attention(x, w, w, %s)\n" % (given, rest),
                       "va_attend", [2, 3, 5, 4], [3, 6, 4], b, times=2)

    def test_usage(self):
        self.put("m.py", b"def forward(x: Tensor):\n    return torch.neg(x)\n")
        self.kiln("show", "m.py", "--stage", "kernels", status=2)
        self.kiln("show", "m.py", "-i", "x=float32[3]", "--stage", "kernels", "--as", "dot", status=2)
        self.assertIn("t0 = aten::neg(x1) f32", self.kiln("show", "m.py", "-i", "x=float32[3]", "--stage", "kernels"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
