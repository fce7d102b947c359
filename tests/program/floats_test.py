"""Operators of bfloat16 and float16 run as kernels of float, and casts are pointwise: with static and dynamic sizes, fused with
their neighbours, and for NaN, infinities and numbers out of range.

usage: floats_test.py KILN
"""
import os, struct, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from forms import KILN, Form, Same, sin
from hostile import call, npy, npz

NARROW = {"bfloat16": 15, "float16": 5}


class Narrow(Form):
    def each(self, *lines, x, calls=0):
        """Runs the model for each narrow dtype. W(...) makes a weight in the dtype of x."""
        for dtype, number in NARROW.items():
            def typed(text):
                while "W(" in text:
                    sizes, rest = text.split("W(", 1)[1].split(")", 1)
                    text = text.split("W(", 1)[0] + "torch.to(%s, %d)" % (sin(*map(int, sizes.split(","))), number) + rest
                return text
            self.form([typed(i) for i in lines], ["x=%s[%s]" % (dtype, i) for i in x], calls)

    def test_convolutions(self):
        for x in ["1x8x12x10"], ["2x8x12x10"], ["1..4x8x8..20x10"]:
            self.each("y = torch.relu(torch.conv2d(x, W(16,8,3,3), W(16), [1, 1], [1, 1]))",
                      "y = torch.add(torch.conv2d(y, W(16,1,3,3), None, [1, 1], [1, 1], [1, 1], 16), y)",
                      "y = torch.silu(torch.batch_norm(y, W(16), W(16), W(16), torch.abs(W(16)), False, 0.1, 1.0e-03, True))",
                      "return torch.adaptive_avg_pool2d(torch.conv2d(y, W(8,16,1,1), W(8)), [1, 1])", x=x)
        self.each("y = torch.gelu(torch.conv1d(x, W(8,4,3), W(8), [1], [1]))", "return torch.conv1d(y, W(6,8,5), None, [2], [2])", x=["2x4x40"])
        self.each("return torch.conv3d(x, W(6,4,3,3,3), W(6), [1, 1, 1], [1, 1, 1])", x=["1x4x5x6x7"])
        self.each("return torch.conv_transpose2d(x, W(4,6,4,4), W(6), [2, 2], [1, 1])", x=["1x4x9x8"])
        self.each("return torch.conv2d(x, W(16,8,3,3), W(16), [1, 1], 'same')", x=["1x8x6x0"], calls=1)

    def test_products(self):
        for x in ["20x24"], ["2..9x11x24"]:
            self.each("y = torch.gelu(torch.linear(x, W(48,24), W(48)))", "return torch.linear(y, W(40,48))", x=x)
        self.each("y = torch.matmul(x, torch.transpose(x, 1, 2))", "y = torch.softmax(y, -1)", "return torch.bmm(y, x)", x=["2x20x24"])
        self.each("return torch.addmm(W(32), x, W(24,32), beta=1, alpha=1)", x=["20x24"])
        self.each("return torch.scaled_dot_product_attention(x, x, x)", x=["1x2x20x16"])
        self.each("return torch.matmul(x, torch.transpose(x, 0, 1))", x=["4x24"])

    def test_pools(self):
        for pool in "max_pool2d(x, [3, 3], [2, 2], [1, 1])", "avg_pool2d(x, [2, 2])", "upsample_nearest2d(x, [12, 20], None)", \
                "upsample_bilinear2d(x, [12, 20], False, None)":
            self.each("return torch." + pool, x=["1x6x9x8"])

    def test_recurrent(self):
        """Two directions with a projection, and a layer whose batch varies. All results have the narrow dtype."""
        self.each("y, h, c = torch.lstm(x, [W(2,3,5), W(2,3,9)], [%s], True, 1, 0., False, True, False)"
                  % ", ".join(["W(36,7), W(36,5), W(36), W(36), W(5,9)"] * 2), "return torch.cat([torch.flatten(y), torch.flatten(h), torch.flatten(c)])",
                  x=["8x3x7"])
        self.each("y, h = torch.gru(x, torch.slice(x, 0, 0, 1), [W(21,7), W(21,7), W(21), W(21)], True, 1, 0., False, False, False)",
                  "return torch.cat([y, h])", x=["12x4..9x7"])


class Casts(Form, Same):
    def test_types(self):
        for source in "uint8", "int8", "int16", "int32", "int64", "bool", "float16", "bfloat16", "float32", "float64":
            for target in 5, 6, 7, 15:
                self.form(["return torch.to(x, %d)" % target], ["x=%s[3..7x5]" % source])

    def test_fused(self):
        """Fused into one kernel with the operators before and after, in any layout."""
        for x in "x", "torch.permute(x, [1, 0, 2])", "torch.slice(x, 2, 0, None, 2)":
            lines = ["y = torch.add(torch.mul(torch.to(%s, 6), 0.25), 1)" % x, "return torch.to(torch.relu(torch.to(y, 15)), 6)"]
            for dtype in "uint8", "float64":
                self.form(lines, ["x=%s[4x5x6]" % dtype])
                kernels = call([KILN, "show", "m.pt", "--stage", "kernels", "-i", "x=%s[4x5x6]" % dtype], self.dir)[1].decode()
                self.assertEqual(kernels.count("schedule"), 1, kernels)

    def test_extremes(self):
        nan, inf = float("nan"), float("inf")
        self.array("x.npz", nan, -nan, inf, -inf, -0.0, 65519.0, 65520.0, 1e-7, 3.4e38)
        for dtype in 5, 15:
            self.same(["y = torch.to(x, %d)" % dtype, "return torch.to(torch.neg(y), 6), y"], "x.npz", result="Tuple[Tensor, Tensor]")
        self.put("d.npz", npz(x=npy([4], "<f8", struct.pack("<4d", 1e300, nan, 1e-320, 1 + 2 ** -40))))
        self.same(["return torch.to(x, 6), torch.to(x, 5), torch.to(x, 15)"], "d.npz", result="Tuple[Tensor, Tensor, Tensor]")

    def test_written(self):
        """A cast tensor has memory of its own, whichever of the two is written to."""
        self.same(["y = torch.to(x, 7)", "z = torch.add_(y, 1)", "return x, y, torch.add_(torch.to(%s, 7), x)" % sin(3, 3)],
                  result="Tuple[Tensor, Tensor, Tensor]")


if __name__ == "__main__":
    unittest.main()
