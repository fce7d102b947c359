"""Products read transposed operands directly: any result of t(), transpose() and permute() is read with its strides by one
kernel, without a copy. The exception are rows without a common stride in products with constant weights. They are made contiguous
first, for packed weights.

usage: transposes_test.py KILN
"""
import os, re, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from forms import KILN, Form, call, sin


class Transposes(Form):
    def form(self, lines, inputs, kernels=1, **more):
        super().form(lines, inputs, **more)
        self.assertEqual(set(re.findall(r": (\d+) kernels", self.said)), {str(kernels)}, lines)

    def test_does(self):
        """Transposes of both arguments, of a constant, of a product's result, with dynamic sizes."""
        for lines, inputs in (
            (["return torch.mm(torch.t(x), y)"], ["x=float32[5x3]", "y=float32[5x4]"]),
            (["return torch.mm(x, torch.t(y))"], ["x=float32[3x5]", "y=float32[4x5]"]),
            (["return torch.mm(torch.t(x), torch.t(y))"], ["x=float32[5x3]", "y=float32[4x5]"]),
            (["return torch.addmm(z, torch.t(x), torch.t(y))"], ["x=float32[5x3]", "y=float32[4x5]", "z=float32[4]"]),
            (["return torch.bmm(x, torch.transpose(y, 1, 2))"], ["x=float32[2x3x5]", "y=float32[2x4x5]"]),
            (["return torch.bmm(torch.transpose(x, 1, 2), y)"], ["x=float32[2x5x3]", "y=float32[2x5x4]"]),
            (["return torch.matmul(torch.permute(x, [1, 2, 0]), y)"], ["x=float32[5x2x3]", "y=float32[2x5x4]"]),
            (["return torch.matmul(x, torch.transpose(y, -2, -1))"], ["x=float32[2x2x3x5]", "y=float32[2x2x4x5]"]),
            (["return torch.matmul(torch.transpose(torch.view(x, [6, 2, 4]), 0, 1), torch.permute(torch.view(y, [6, 2, 4]), [1, 2, 0]))"],
             ["x=float32[6x8]", "y=float32[6x8]"]),                                       # heads, as in attention
            (["return torch.mm(torch.t(x), y)"], ["x=float64[5x3]", "y=float64[5x4]"]),
            (["return torch.mm(torch.t(x), y)"], ["x=float32[1..9x3]", "y=float32[1..9x4]"]),
            (["return torch.linear(x, torch.t(w))".replace("w", sin(5, 4))], ["x=float32[3x5]"]),
            (["return torch.mm(x, torch.t(w))".replace("w", sin(4, 5))], ["x=float32[3x5]"]),
            (["return torch.matmul(x, torch.permute(w, [1, 0]))".replace("w", sin(4, 5))], ["x=float32[3x5]"]),
            (["return torch.t(torch.mm(x, y))"], ["x=float32[3x5]", "y=float32[5x4]"])):
            self.form(lines, inputs)

    def test_rows(self):
        """Rows without a common stride, by constant weights: one copy, and a product that reads packed weights. Other rows are
        read with their strides."""
        turned, weight = "torch.transpose(x, 0, 1)", sin(4, 6)
        for lines, inputs, kernels in (
            (["return torch.linear(%s, %s)" % (turned, weight)], ["x=float32[3x2x6]"], 2),
            (["return torch.relu(torch.linear(%s, %s, %s))" % (turned, weight, sin(4))], ["x=float32[2..4x3..5x6]"], 2),
            (["return torch.matmul(torch.permute(x, [0, 2, 1, 3]), torch.t(%s))" % weight], ["x=float32[2x3x5x6]"], 2),
            (["return torch.linear(torch.slice(x, 1, 1), %s)" % weight], ["x=float32[2x4x6]"], 2),
            (["return torch.linear(torch.transpose(x, 1, 2), %s)" % weight], ["x=float32[2x6x3]"], 2),      # elements are not consecutive
            (["return torch.linear(torch.transpose(x, 1, 2), %s)" % weight], ["x=float32[1x6x3]"], 2),
            (["return torch.linear(torch.expand(torch.unsqueeze(x, 1), [3, 2, 6]), %s)" % weight], ["x=float32[3x6]"], 2),
            (["return torch.linear(%s, %s)" % (turned, weight)], ["x=float32[1x5x6]"], 1),  # one batch: rows have a common stride
            (["return torch.linear(torch.slice(x, 1, 1), %s)" % weight], ["x=float32[1x4x6]"], 1),
            (["return torch.linear(torch.slice(x, 2, 0, 6), %s)" % weight], ["x=float32[2x4x8]"], 1)):
            self.form(lines, inputs, kernels)
            _, shown, _ = call([KILN, "show", "m.pt", "--stage", "kernels", *[o for i in inputs for o in ("-i", i)]], self.dir)
            self.assertEqual(re.findall(r"microkernel (\w+)", shown.decode()), ["vc_product"], lines)
        for lines in (["return torch.linear(%s, y)" % turned], ["return torch.matmul(%s, torch.t(y))" % turned]):
            self.form(lines, ["x=float32[3x2x6]", "y=float32[4x6]"])                                       # computed weights
        self.form(["y = %s" % turned, "_0 = torch.mul_(x, 2.)", "z = torch.linear(y, %s)" % weight, "_1 = torch.zero_(y)",
                   "return torch.add(z, torch.sum(x))"], ["x=float32[3x2x6]"], 4, calls=2)

    def test_looked_up(self):
        """Gathered elements that are consecutive along another axis than the result: in tiles, whole and partial, with dynamic
        sizes. A wrong index is an error, whether it selects a row or an element of a tile."""
        for lines, inputs in (
            (["return torch.index(torch.transpose(x, 0, 1), [None, i])"], ["x=float32[30x40]", "i=int64[20]"]),
            (["return torch.index(torch.permute(x, [2, 0, 1]), [None, torch.unsqueeze(i, 1), torch.unsqueeze(i, 0)])"],
             ["x=float64[20x25x37]", "i=int64[9]"]),
            (["return torch.index(torch.permute(x, [2, 0, 1]), [None, i, torch.sub(0, i)])"], ["x=float32[8..20x8..25x16]", "i=int64[18..40]"])):
            lines = ["i = torch.remainder(i, 8)"] + lines
            super().form(lines, inputs)
        for at in 0, 17:
            super().form(["j = torch.mul(torch.eq(torch.arange(18), %d), 99)" % at,
                         "i = torch.add(torch.remainder(i, 8), j)",
                         "return torch.index(torch.permute(x, [2, 0, 1]), [None, torch.unsqueeze(i, 1), i])"],
                      ["x=float32[8x9x16]", "i=int64[18]"])

    def test_maps(self):
        """Operands of different layouts in one kernel: in tiles, of which whole ones are transposed when loaded or stored."""
        mixed = ["return torch.sigmoid(torch.mul(torch.tanh(torch.transpose(y, 1, 2)), x))"]
        gated = ["return torch.mul(torch.tanh(x), torch.unsqueeze(torch.select(y, 2, 3), 1))"]
        both = ["x, y = torch.chunk(torch.transpose(x, 1, 2), 2, 2)", "z = torch.add(torch.sigmoid(y), w)",
                "return torch.contiguous(torch.transpose(torch.mul(z, torch.tanh(x)), 1, 2)), z"]
        for dtype in "float32", "float64", "int32":
            for size in "2x16x32", "2x19x37", "1x40x7":
                n, a, b = size.split("x")
                self.form(mixed, ["x=%s[%s]" % (dtype, size), "y=%s[%sx%sx%s]" % (dtype, n, b, a)])
                self.form(gated, ["x=%s[%s]" % (dtype, size), "y=%s[%sx%sx5]" % (dtype, n, b)])
            self.form(both, ["x=%s[2x64x48]" % dtype, "w=%s[2x48x32]" % dtype], result="Tuple[Tensor, Tensor]")
            _, shown, _ = call([KILN, "show", "m.pt", "--stage", "kernels", "-i", "x=%s[2x64x48]" % dtype, "-i", "w=%s[2x48x32]" % dtype], self.dir)
            self.assertIn("tile i", shown.decode(), dtype)

    def test_must_not(self):
        """A tensor written to in between, through either name, is read after the write. A copy in the model stays a copy."""
        self.form(["y = torch.t(x)", "_0 = torch.mul_(x, 2.)", "return torch.mm(y, x)"], ["x=float32[5x3]"], 1, calls=1)
        self.form(["y = torch.t(x)", "z = torch.mm(y, x)", "_0 = torch.zero_(y)", "return torch.add(z, torch.sum(x))"],
                  ["x=float32[5x3]"], 3, calls=1)
        self.form(["a = torch.mul(x, 3.)", "y = torch.t(a)", "_0 = torch.zero_(torch.select(y, 0, 0))", "return torch.mm(y, x)"],
                  ["x=float32[5x3]"], 2, calls=1)
        self.form(["y = torch.mm(x, w)", "z = torch.t(y)", "_0 = torch.add_(z, 1.)", "return torch.add(y, torch.sum(torch.mm(z, y)))"],
                  ["x=float32[5x3]", "w=float32[3x4]"], 6)
        self.form(["y = torch.clone(torch.t(x))", "_0 = torch.mul_(x, 2.)", "return torch.mm(y, x)"], ["x=float32[5x3]"], 2, calls=1)
        self.form(["return torch.mm(torch.t(x), y)"], ["x=float32[0x3]", "y=float32[0x4]"])                     # zeros
        self.form(["return torch.mm(x, torch.t(y))"], ["x=float32[0x3]", "y=float32[4x3]"], 0, calls=1)
        self.form(["return torch.mm(torch.t(x), y)"], ["x=int64[5x3]", "y=int64[5x4]"], 0, calls=1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
