"""Layouts: convolutions run channels last, and views of their results keep that layout. No conversion is left in between.

usage: layouts_test.py KILN
"""
import os, re, struct, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from forms import KILN, TCC, Form, body, call, model, sin, static
from hostile import npy, npz

CONV = "y = torch.conv2d(x, %s)" % sin(6, 3, 3, 3)
IMAGE = ["x=float32[2x3x7x8]"]
BOTH = "Tuple[Tensor, Tensor]"
WRITTEN_TWICE = """def forward(x: Tensor):
    y = torch.conv2d(x, torch.arange(8 * 4 * 3 * 3).reshape(8, 4, 3, 3) * 0.01)
    y.add_(1.0)
    v = y.transpose(1, 2)
    y.mul_(2.0)
    return torch.conv2d(y, torch.arange(4 * 8).reshape(4, 8, 1, 1) * 0.01), v, y.stride()
"""


class Layouts(Form):
    def form(self, lines, inputs, copies, **more):
        """Checks the number of kernels that only copy, in each specialization."""
        super().form(lines, inputs, **more)
        options = [o for i in inputs for o in ("-i", i)]
        self.check([KILN, "build", "m.pt", *options, *static(inputs), "--emit", "c", "--name", "p", "-o", "c"], 0)
        with open(os.path.join(self.dir, "c/p.c")) as f:
            self.text = f.read()
        n = len(re.findall(r'rt_launch\(cx, "copy_\d+"', self.text))
        self.assertEqual(n, copies * len(re.findall("^specialization ", self.said, re.M)), lines)

    def test_does(self):
        """Only the copy of the input is left: for heads, for patches, and for causal convolutions over one dim."""
        for sizes in IMAGE, ["x=float32[2..4x3x7x5..9]"]:
            self.form([CONV, "return torch.softmax(torch.reshape(torch.permute(y, [0, 2, 3, 1]), [torch.size(x, 0), -1, 6]), -1)"], sizes, 1)
            self.form([CONV, "n, h, w = torch.size(y, 0), torch.size(y, 2), torch.size(y, 3)",
                       "return torch.exp(torch.reshape(torch.permute(torch.view(y, [n, 2, 3, h, w]), [0, 3, 4, 1, 2]), [n, -1, 3]))"], sizes, 1)
            self.form([CONV, "return torch.softmax(torch.transpose(torch.flatten(y, 2), 1, 2), -1)"], sizes, 1)
            self.form([CONV, "return torch.sigmoid(torch.contiguous(torch.permute(y, [0, 2, 3, 1])))"], sizes, 1)
            self.form([CONV, "return torch.mean(torch.to(torch.gt(y, 0.1), 6), [2, 3])"], sizes, 1)
        for size in "2x3x9", "2..4x3x5..9":
            self.form(["y = torch.conv1d(x, %s, None, [1], [2])" % sin(4, 3, 3), "y = torch.relu(torch.contiguous(torch.slice(y, 2, None, -2)))",
                       "y = torch.conv1d(y, %s, None, [1], [2])" % sin(4, 4, 3),
                       "return torch.softmax(torch.transpose(torch.slice(y, 2, None, -2), 1, 2), -1)"], ["x=float32[%s]" % size], 1)

    def test_one_place(self):
        """Images enlarged from a single pixel have the model's strides, since the model may view them."""
        for grown, copies in ("adaptive_avg_pool2d(y, [2, 2])", 2), ("upsample_nearest2d(y, [2, 3])", 2), ("upsample_bilinear2d(torch.relu(y), [3, 2], False)", 1):
            for sizes in IMAGE, ["x=float32[2..4x3x7x8]"]:
                self.form([CONV, "y = torch.max_pool2d(y, [5, 6])", "y = torch.%s" % grown, "return torch.view(y, [torch.size(y, 0), -1])"], sizes, copies)

    def test_enlarged(self):
        """If enlarged images are the result, they are converted before enlarging. If a convolution reads them, they are not
        converted."""
        for name, more in (("upsample_bilinear2d", ", False"), ("upsample_nearest2d", "")):
            large = "torch.sigmoid(torch.%s(y, [14, 15]%s))" % (name, more)
            self.form([CONV, "return " + large], IMAGE, 2)
            self.assertLess(self.text.rindex('rt_launch(cx, "copy_'), self.text.index('rt_launch(cx, "resize_'))
            self.form([CONV, "return torch.conv2d(%s, %s)" % (large, sin(4, 6, 2, 2))], IMAGE, 2)
            self.assertGreater(self.text.rindex('rt_launch(cx, "copy_'), self.text.index('rt_launch(cx, "resize_'))

    def test_in_place(self):
        """Sums and activations in place between convolutions, as in a residual net: one copy of the input, one of the result."""
        again = "torch.conv2d(y, %s, None, [1, 1], [1, 1])" % sin(6, 6, 3, 3)
        for sizes in IMAGE, ["x=float32[2..4x3x7x5..9]"]:
            self.form([CONV, "y = torch.relu_(y)", "z = " + again, "z = torch.add_(z, y)", "y = torch.relu_(z)", "z = " + again,
                       "z = torch.add_(torch.mul_(z, 2), y)", "z = torch.add_(z, 1)", "y = torch.relu_(z)", "return " + again], sizes, 2)

    def test_converted_already(self):
        """A residual sum with the input adds the copy that the first convolution had converted."""
        conv = "torch.conv2d(%%s, %s, None, [1, 1], [1, 1])" % sin(3, 3, 3, 3)
        for sizes in ["x=float32[2x3x7x8]"], ["x=float32[2..4x3x7x5..9]"]:
            self.form(["y = torch.add(x, torch.relu(%s))" % conv % "x", "return torch.relu(torch.add(y, %s))" % conv % "y"], sizes, 2)
        self.form(["a = torch.relu(%s)" % conv % "x", "_0 = torch.mul_(x, 2)", "return torch.add(x, a), x"], IMAGE, 1, result=BOTH, calls=1)

    def test_padded(self):
        """Convolutions over one dim keep their layout when their input is padded before or after."""
        for sizes in ["x=float32[2x3x9]"], ["x=float32[2..4x3x5..9]"]:
            self.form(["y = torch.conv1d(x, %s)" % sin(6, 3, 2), "y = torch.relu(torch.conv1d(torch.constant_pad_nd(y, [2, 0], 0.5), %s))" % sin(6, 6, 3),
                       "return torch.conv1d(torch.pad(torch.mul(y, 2), [1, 3]), %s)" % sin(4, 6, 3)], sizes, 4, calls=0)

    def test_divided(self):
        """Channels split after a convolution: the parts keep its layout. Parts that are written to, or kept in a list, have the
        model's strides."""
        parts = "a, b, c = torch.split(y, 2, 1)"
        goes_on = "return torch.conv2d(torch.cat([torch.relu(a), torch.mul(b, c), a], 1), %s)" % sin(4, 6, 2, 2)
        for sizes in IMAGE, ["x=float32[2..4x3x7x5..9]"]:
            self.form([CONV, parts, goes_on], sizes, 5)
            self.form([CONV, "a, b, c = torch.chunk(y, 3, -3)", goes_on], sizes, 5)
            self.form([CONV, parts, "_0 = torch.zero_(b)", goes_on + ", y"], sizes, 5, calls=1, result=BOTH)

    def test_tokens(self):
        """Tokens viewed as an image are channels last except for the stride of a batch of one. A part of an image is copied."""
        conv = "torch.conv2d(y, %s, None, [2, 2])" % sin(5, 6, 2, 2)
        self.form(["y = torch.reshape(torch.permute(x, [0, 2, 1]), [1, 6, 4, 8])", "return torch.softmax(torch.flatten(%s, 2), -1)" % conv],
                  ["x=float32[1x32x6]"], 0)
        self.form(["y = torch.slice(x, 3, 1)", "return torch.sum(%s, 1)" % conv], ["x=float32[2x6x4x9]"], 1)
        tokens, image, resize = "torch.transpose(x, 1, 2)", "[1, 6, 4, 8]", "torch.upsample_bilinear2d(%s, [8, 16], False)"
        for image_op in (resize, "torch.upsample_nearest2d(%s, [8, 16])", "torch.max_pool2d(%s, [2, 2])", "torch.avg_pool2d(%s, [2, 2])"):
            self.form(["y = " + image_op % ("torch.reshape(%s, %s)" % (tokens, image)), "return torch.sum(%s, 1)" % conv], ["x=float32[1x32x6]"], 0)
        self.form(["y = " + resize % ("torch.reshape(%s, %s)" % (tokens, image)), "return torch.mul(y, torch.stride(y)[0] + torch.stride(y)[1] * 2)"],
                  ["x=float32[1x32x6]"], 0)
        self.form(["y = torch.contiguous(torch.permute(torch.reshape(torch.neg(x), [1, 4, 8, 6]), [0, 3, 1, 2]))",
                   "return torch.softmax(torch.flatten(%s, 2), -1), torch.sum(torch.transpose(torch.flatten(y, 2), 1, 2), 1)" % conv],
                  ["x=float32[1x32x6]"], 0, result=BOTH)
        self.form(["y = torch.contiguous(torch.permute(torch.neg(x), [0, 3, 1, 2]))", "return torch.sum(%s, 1), torch.mul(y, torch.stride(y)[1])" % conv],
                  ["x=float32[2x4x8x6]"], 1, result=BOTH)
        self.form(["y = torch.contiguous(torch.permute(torch.neg(x), [0, 3, 1, 2]))", "return torch.sum(%s, 1), y" % conv], ["x=float32[2x4x8x6]"], 2, result=BOTH)

    def test_bodies(self):
        """An operator whose body consists of other operators gets a view that is not contiguous in the model. Each of them reads
        it as it is."""
        for name in "gelu", "hardswish", "silu", "mish":
            self.form([CONV, "z = torch.transpose(torch.flatten(y, 2), 1, 2)", "z = torch.%s(z)" % name, "return torch.linear(z, %s)" % sin(5, 6)], IMAGE, 1)
        self.form([CONV, "z = torch.gelu(torch.transpose(torch.flatten(y, 2), 1, 2))", "return torch.mul(z, torch.stride(z)[1] + torch.stride(z)[2] * 2)"], IMAGE, 2)

    def test_must_not(self):
        """A part that is written to shares memory with the whole. A copy that is written to stays a copy."""
        part = "z = torch.permute(y, [0, 2, 3, 1])"
        self.form([CONV, part, "_0 = torch.add_(torch.select(z, 3, 1), 1.)", "return y, torch.mul(z, 2.)"], IMAGE, 3, result=BOTH)
        self.form([CONV, part, "z = torch.contiguous(z)", "_0 = torch.zero_(torch.select(z, 1, 0))", "return y, z"], IMAGE, 3, calls=1, result=BOTH)
        self.form([CONV, "z = torch.contiguous(torch.slice(y, 3, 1))", "_0 = torch.zero_(torch.select(z, 1, 0))",
                   "return torch.sigmoid(y), torch.sigmoid(z)"], IMAGE, 3, calls=1, result=BOTH)

    def test_written_twice(self):
        """A view of a tensor that was written to sees the next write."""
        self.put("m.py", WRITTEN_TWICE.encode())
        self.check([KILN, "build", "m.py", "-i", "x=float32[1x4x6x6]", *TCC, "-o", "program"], 0)
        self.check([KILN, "check", "m.py", "program", "-i", "x=float32[1x4x6x6]"], 0)

    def test_leaves(self):
        """A result has the model's strides. So has a tensor whose strides are asked for, or that generic code gets."""
        self.form([CONV, "return torch.slice(y, 2, 1), torch.transpose(y, 1, 2)"], IMAGE, 2, result=BOTH)
        self.form([CONV, "z = torch.permute(y, [0, 2, 3, 1])", "s = torch.stride(z)", "return torch.mul(z, s[0] + s[1] * 2 + s[3])"], IMAGE, 2)
        self.form([CONV, "z = torch.permute(y, [0, 2, 3, 1])", "if torch.is_contiguous(z):", "  z = torch.neg(z)", "else:", "  z = torch.exp(z)",
                   "return z"], IMAGE, 2)
        self.form([CONV, "z = torch.sigmoid(torch.permute(torch.slice(y, 2, 1), [0, 2, 3, 1]))", "s = torch.stride(z)",
                   "return torch.mul(z, s[0] + s[1] * 2 + s[3])"], IMAGE, 2)

    def test_edges_and_instances(self):
        """Padding by edges and instance norms stay channels last: only the input, the result and the parts of a padding are
        copied."""
        for sizes in IMAGE, ["x=float32[2..4x3x7x5..9]"]:
            norm = "torch.instance_norm(%s, %s, None, None, None, True, 0.1, 1.0e-05, False)"
            self.form([CONV, "return torch.conv2d(%s, %s)" % (norm % ("torch.relu(y)", sin(6)), sin(4, 6, 2, 2))], sizes, 2)
            for pad, parts in (("torch.pad(y, [1, 2, 3, 0], \"reflect\")", 4), ("torch.replication_pad2d(y, [2, 0, 1, 3])", 4)):
                self.form([CONV, "return torch.conv2d(%s, %s)" % (pad, sin(4, 6, 2, 2))], sizes, 2 + parts)
        line = "y = torch.conv1d(x, %s)" % sin(6, 3, 3)
        norm = "torch.instance_norm(torch.reflection_pad1d(y, [2, 1]), None, None, None, None, True, 0.1, 1.0e-05, False)"
        self.form([line, "return torch.conv1d(%s, %s)" % (norm, sin(4, 6, 2))], ["x=float32[2x3x9]"], 5)

    def test_lines(self):
        """Group norms and pools after a convolution over one dim stay channels last."""
        line = "y = torch.relu(torch.conv1d(x, %s, None, [1], [1]))" % sin(6, 3, 3)
        for op in ("group_norm(y, 2, %s, None)" % sin(6), "group_norm(y, 1)", "max_pool1d(y, [3], [1], [1])", "max_pool1d(y, [2], [], [0], [2])",
                   "avg_pool1d(y, [3], [2], [1], True, False)", "avg_pool1d(y, [2])", "adaptive_avg_pool1d(y, [3])"):
            self.form([line, "return torch.conv1d(torch.%s, %s)" % (op, sin(4, 6, 2))], ["x=float32[2x3x9]"], 2)
            self.form([line, "return torch.conv1d(torch.%s, %s)" % (op, sin(4, 6, 2))], ["x=float32[2..4x3x9]"], 2)
        self.form([line, "y = torch.group_norm(y, 3)", "return torch.mul(y, torch.stride(y)[0] + torch.stride(y)[1] * 2)"], ["x=float32[2x3x9]"], 2)

    def test_joined_lines(self):
        """Results of convolutions over one dim, joined along each dim, keep their layout."""
        convs = ["y = torch.conv1d(x, %s, None, [1], [1])" % sin(6, 3, 3), "z = torch.relu(torch.conv1d(x, %s))" % sin(6, 3, 1)]
        for dim, ins in ((1, 12), (-2, 12), (0, 6), (2, 6), (-1, 6)):
            for sizes in ["x=float32[2x3x9]"], ["x=float32[2..4x3x5..9]"]:
                self.form([*convs, "return torch.conv1d(torch.cat([y, z], %d), %s)" % (dim, sin(4, ins, 2))], sizes, 2)
        self.form([*convs, "a = torch.cat([y, z], 1)", "return torch.mul(a, torch.stride(a)[0])"], ["x=float32[2x3x9]"], 2)
        self.put("m.pt", model(body([*convs, "return torch.cat([y, torch.conv1d(x, %s)], 2)" % sin(4, 3, 1)])))
        self.put("x.npz", npz(x=npy((2, 3, 9), "<f4", bytes(216))))
        self.check([KILN, "build", "m.pt", "-i", "x.npz", "--cpu", "native", "-o", "program"], 0)
        self.check([KILN, "check", "m.pt", "program", "-i", "x.npz"], 0)
        self.check(["./program", "-i", "x.npz"], 1, "Sizes of tensors must match except in dimension 2")

    def test_goes_on(self):
        """A guard fails after such a view. Generic code goes on with the model's values and strides."""
        lines = [CONV, "z = torch.slice(y, 3, 1)", "if bool(torch.gt(torch.sum(x), 0)):", "  y = torch.neg(y)", "else:", "  y = torch.exp(y)",
                 "return torch.mul(torch.view(torch.contiguous(z), [torch.size(x, 0), -1]), torch.sum(y))"]
        self.put("m.pt", model(body(lines)))
        for n, sign in enumerate((1., 2., -1.)):
            self.put("%d.npz" % n, npz(x=npy((2, 3, 7, 8), "<f4", struct.pack("<f", sign) * 336)))
        self.check([KILN, "build", "m.pt", "-i", "0.npz", "-i", "1.npz", "--cpu", "native", "-o", "program"], 0)
        _, _, said = call(["./program", "-i", "2.npz", "--guards"], self.dir)
        self.assertIn(b"guard", said)
        self.check([KILN, "check", "m.pt", "program", "-i", "0.npz", "-i", "2.npz"], 0)

    def test_raises(self):
        """A view that the model's strides do not permit raises, even if the program's layout would permit it."""
        self.put("m.pt", model(body([CONV, "return torch.view(torch.permute(y, [0, 2, 3, 1]), [-1])"])))
        status, _, errors = call([KILN, "run", "m.pt", "-i", *IMAGE], self.dir)
        self.assertEqual(status, 1)
        self.assertIn(b"view size is not compatible", errors)
        self.put("x.npz", npz(x=npy((2, 3, 7, 8), "<f4", bytes(1344))))
        self.check([KILN, "build", "m.pt", "-i", "x.npz", "--cpu", "native", "-o", "program"], 0)
        status, _, errors = call(["./program", "-i", "x.npz"], self.dir)
        self.assertEqual(status, 1)
        self.assertIn(b"view size is not compatible", errors)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
