"""kiln show --stage kernels: evaluates the texts of products and convolutions here, point by point. The results must be the
model's answer.

usage: kernels_test.py KILN
"""
import itertools, os, re, struct, sys, unittest, zipfile

KILN = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
from hostile import Test, call, npy, npz

OPERATORS = {"aten::add.Tensor": lambda a, b, alpha: a + alpha * b, "aten::mul.Tensor": lambda a, b: a * b, "aten::relu": lambda a: max(a, 0)}
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


def evaluate(text, memory):
    """Runs a kernel's text. memory: elements of the operands that are read, in order. Returns the stored elements by place."""
    def place(expression, point):
        return eval(expression, {"__builtins__": {}}, point)

    operands, axes = {}, []
    for name, access, rest in re.findall(r"^  (\w+) f32 (read|write) (.*)$", text, re.M):
        at, _, bounds = rest.partition(" where ")
        operands[name] = at, [b.rsplit(" < ", 1) for b in bounds.split(", ")] if bounds else []
    for name, extent, kind in re.findall(r"(i\d+): (\d+)( reduce)?", re.search("^axes .*$", text, re.M)[0]):
        axes.append((name, int(extent), bool(kind)))
    reads = dict(zip([o for o in operands if o != "y0"], memory))

    def value(name, point):
        at, bounds = operands[name]
        inside = all(0 <= place(a, point) < int(n) for a, n in bounds)
        return reads[name][place(at, point)] if inside else 0.0

    def points(reduced):
        of = [(n, e) for n, e, r in axes if r == reduced]
        return [dict(zip([n for n, _ in of], i)) for i in itertools.product(*[range(e) for _, e in of])]

    def ref(word, known, point):
        return known[word] if word in known else value(word, point) if word[0] == "x" else float(word)

    stored, steps = {}, re.findall(r"^  (t\d+) = (\S+?)\((.*)\) f32$", text.partition("\nonce\n")[2], re.M)
    for outer in points(False):
        if "\ndo\n  y0 = x1\n" in text:
            made = value("x1", outer)
        else:
            made = sum(value("x1", {**outer, **i}) * value("x2", {**outer, **i}) for i in points(True))
            known = {"r0": made}
            for name, operator, args in steps:
                known[name] = made = OPERATORS[operator](*[ref(a, known, outer) for a in args.split(", ")])
        at = place(operands["y0"][0], outer)
        assert at not in stored
        stored[at] = made
    return [stored[i] for i in range(len(stored))]


class Kernels(Test):
    def kiln(self, *argv, status=0):
        rc, out, err = call([KILN, *argv], self.dir)
        self.assertEqual(rc, status, (argv, err[-2000:]))
        return out.decode()

    def check(self, source, micro, x, w, b=()):
        """x, w, b: dims of the arguments, or of constants in the source, that the kernels read."""
        arrays = {n: npy(d, data=struct.pack("<%df" % size(d), *numbers(size(d), by)))
                  for n, d, by in (("x", x, 3), ("w", w, 5), ("b", b, 7)) if d and re.search(r"[(,] ?%s: Tensor" % n, source)}
        self.put("m.py", source.encode())
        self.put("in.npz", npz(**arrays))
        self.kiln("run", "m.py", "-i", "in.npz", "-o", "OUT.npz")
        memory = numbers(size(x), 3)
        found = KERNEL.findall(self.kiln("show", "m.py", "-i", "in.npz", "--stage", "kernels"))
        self.assertTrue(any("microkernel %s;" % micro in text for _, text in found), found)
        for _, text in found:
            memory = evaluate(text, [memory, numbers(size(w), 5), numbers(size(b), 7)])
        want = floats(os.path.join(self.dir, "OUT.npz"))
        self.assertEqual(len(memory), len(want))
        for got, right in zip(memory, want):
            self.assertAlmostEqual(got, right, 3)

    def test_products(self):
        self.check("def forward(x: Tensor, w: Tensor):\n    return torch.matmul(x, w)\n", "vm_product", [3, 5, 7], [3, 7, 4])
        self.check("def forward(x: Tensor, w: Tensor, b: Tensor):\n    return torch.linear(x, w, b)\n", "vm_product", [3, 5, 7], [4, 7], [4])
        self.check("def forward(x: Tensor, w: Tensor):\n    return torch.einsum('bik,kj->bij', [x, w])\n", "vm_product", [2, 3, 4], [4, 5])

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

    def test_groups(self):
        w = "    w = torch.sub(torch.div(torch.remainder(torch.mul(torch.arange(%d), 5), 17), 4.), 2.)\n"
        for micro, groups, dims, padding in (("vc_groups", 2, [6, 3, 3, 2], 1), ("vc_runs", 2, [36, 2, 2, 3], 1), ("vc_conv", 2, [40, 3, 1, 2], 1), ("vc_product", 2, [40, 2, 1, 1], 0),
                                             ("vc_conv_lanes", 2, [4, 16, 2, 2], 1)):
            self.check("def forward(x: Tensor, b: Tensor):\n" + w % size(dims) + "    y = torch.conv2d(x, torch.reshape(w, %s), None, [1, 1], "
                       "[%d, 0], [1, 1], %d)\n    return torch.relu(torch.add(y, b))\n" % (dims, padding, groups), micro,
                       [1, dims[1] * groups, 4, 7], dims, [1, dims[0], 1, 1])

    def test_usage(self):
        self.put("m.py", b"def forward(x: Tensor):\n    return torch.neg(x)\n")
        self.kiln("show", "m.py", "--stage", "kernels", status=2)
        self.kiln("show", "m.py", "-i", "x=float32[3]", "--stage", "kernels", "--as", "dot", status=2)
        self.assertIn("t0 = aten::neg(x1) f32", self.kiln("show", "m.py", "-i", "x=float32[3]", "--stage", "kernels"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
