"""Convolutions and pools over three dims become kernels, those over two dims: for each kind of kernel, in chains, with sizes that
were not profiled.

usage: volumes_test.py KILN
"""
import os, re, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from forms import KILN, Form, sin
from hostile import body, call, model


def conv(x, out, ins, k, s=(1, 1, 1), p=(0, 0, 0), d=(1, 1, 1), groups=1, bias=True):
    ints = ", ".join("[%d, %d, %d]" % tuple(v) for v in (s, p, d))
    return "torch.conv3d(%s, %s, %s, %s, %d)" % (x, sin(out, ins // groups, *k), sin(out) if bias else None, ints, groups)


class Volumes(Form):
    def test_kernels(self):
        """Frames, lines, gathered frames and volumes: strides, padding, dilation, groups, no bias, a batch."""
        for x in "x=float32[1x6x5x9x8]", "x=float32[2x6x5x9x8]":
            for args in (((1, 3, 3), (1, 2, 2), (0, 1, 1)), ((1, 3, 2), (2, 1, 1)), ((3, 1, 1), (1, 1, 1), (1, 0, 0)),
                         ((3, 1, 1), (2, 1, 1), (2, 0, 0), (2, 1, 1)), ((3, 3, 3), (1, 1, 1), (1, 1, 1)), ((2, 3, 1), (2, 1, 2), (0, 1, 0)),
                         ((2, 3, 3), (1, 1, 1), (2, 1, 2), (3, 1, 2)), ((1, 1, 1), (2, 2, 2)), ((1, 3, 3), (1, 1, 1), (1, 1, 1)),
                         ((3, 1, 1), (1, 2, 1), (1, 0, 0))):
                self.form(["return " + conv("x", 7, 6, *args)], [x])
            for groups, out in (2, 8), (6, 6), (6, 12), (3, 9):
                self.form(["return " + conv("x", out, 6, (3, 3, 3), (1, 2, 1), (1, 1, 1), groups=groups, bias=groups != 2)], [x])
                self.form(["return " + conv("x", out, 6, (3, 1, 1), (1, 1, 1), (1, 0, 0), groups=groups)], [x])
        self.form(["return " + conv("x", 16, 8, (3, 3, 3), (2, 1, 1), (1, 1, 1), (1, 1, 1), 2)], ["x=float32[2x8x6x7x7]"])
        self.form(["return " + conv("x", 4, 1, (3, 3, 3), (1, 1, 1), (1, 1, 1))], ["x=float32[1x1x4x6x7]"])
        for groups, out, ins in (40, 40, 40), (6, 12, 24), (5, 45, 45):
            for args in (((3, 3, 3), (1, 1, 1), (1, 1, 1)), ((2, 7, 5), (2, 2, 2), (1, 3, 2)), ((3, 2, 3), (1, 1, 1), (2, 1, 4), (2, 1, 3))):
                a, x = "a = torch.relu(%s)" % conv("x", ins, 3, (1, 1, 1)), "x=float32[2x3x5x9x15]"
                self.form([a, "return torch.silu(%s)" % conv("a", out, ins, *args, groups=groups)], [x])
                graph = call([KILN, "show", "m.pt", "--stage", "optimized", "-i", x], self.dir)[1].decode()
                self.assertEqual(graph.count("prim::convolution"), 1, graph)
        self.form(["return " + conv("x", 4, 3, (1, 1, 1))], ["x=float32[2x3x1x1x1]"])

    def test_chains(self):
        """Chains as in networks: pointwise operators and sums are fused into the convolutions' stores, and nothing is converted
        in between."""
        lines = ["a = torch.relu(%s)" % conv("x", 8, 3, (3, 5, 5), (1, 2, 2), (1, 2, 2)),
                 "b = torch.relu(%s)" % conv("a", 8, 8, (1, 3, 3), p=(0, 1, 1)),
                 "c = torch.relu(torch.add(%s, a))" % conv("b", 8, 8, (3, 1, 1), p=(1, 0, 0)),
                 "d = torch.max_pool3d(c, [1, 3, 3], [1, 2, 2], [0, 1, 1])",
                 "g = torch.sigmoid(%s)" % conv("torch.mean(d, [2, 3, 4], True)", 8, 8, (1, 1, 1)),
                 "e = torch.silu(torch.mul(torch.mul(%s, g), %s))" % (conv("d", 8, 8, (3, 3, 3), p=(1, 1, 1), groups=8), sin(8, 1, 1, 1)),
                 "return torch.flatten(torch.adaptive_avg_pool3d(torch.cat([e, d], 1), [1, 1, 1]), 1), e, d"]
        for x in "x=float32[1x3x6x20x24]", "x=float32[2x3x6x20x24]", "x=float32[1..6x3x4..9x16..30x24]":
            self.form(lines, [x], result="Tuple[Tensor, Tensor, Tensor]")
        self.form(lines[:3] + ["return c"], ["x=float32[1x3x6x20x24]"])
        gate = ["a = " + conv("x", 8, 3, (1, 3, 3)), "return torch.mul(a, torch.sigmoid(torch.mean(a, [2, 3, 4], True)))"]
        for x in "x=float32[1x3x6x9x8]", "x=float32[2x3x6x9x8]":                  # a mean for each volume of the batch, not for each frame
            self.form(gate, [x])
        graph = call([KILN, "show", "m.pt", "--stage", "optimized", "-i", "x=float32[1x3x6x20x24]"], self.dir)[1].decode()
        self.assertEqual(graph.count("aten::contiguous"), 2, graph)        # gathered, and converted back to the model's layout

    def test_pools(self):
        """Pools of contiguous and strided tensors and of convolutions' results, with windows over the edges."""
        for before in "torch.relu(x)", conv("x", 6, 4, (1, 3, 3), p=(0, 1, 1)):
            for x in "x=float32[1x4x7x9x8]", "x=float32[2x4x7x9x8]":
                for pool in ("max_pool3d(a, [2, 2, 2])", "max_pool3d(a, [3, 3, 2], [2, 1, 2], [1, 1, 1], [1, 2, 1], True)",
                             "max_pool3d(a, [1, 3, 3], [1, 2, 2], [0, 1, 1])", "avg_pool3d(a, [2, 3, 2], [2, 2, 1], [1, 1, 0], True, False)",
                             "avg_pool3d(a, [2, 3, 2], [2, 2, 2], [1, 1, 1], True, True)", "avg_pool3d(a, [3, 1, 2])",
                             "adaptive_avg_pool3d(a, [1, 1, 1])"):
                    self.form(["a = " + before, "return torch." + pool], [x])
        for layout in "x.transpose(2, 4)", "x[:, :, ::2, 1:]", "x.contiguous(memory_format=3)":
            for pool in "max_pool3d(a, [3, 2, 2], [2, 1, 2], [1, 1, 0], [1, 2, 1], True)", "avg_pool3d(a, [2, 3, 2], [2, 2, 1], [1, 1, 0])":
                for of in "torch.relu(y)", "torch.as_strided(y, [y.numel()], [1])":
                    self.form(["a = " + layout, "y = torch." + pool, "return " + of], ["x=float32[2x4x7x9x8]"])
        self.form(["return torch.avg_pool3d(x, [2, 2, 2], [2, 2, 2], [0, 0, 0], False, True, 3)"], ["x=float32[1x4x7x9x8]"], calls=1)
        self.form(["a = torch.relu(%s)" % conv("x", 6, 4, (1, 3, 3), p=(0, 1, 1)), "return torch.max_pool3d(a, [2, 2, 2])"],
                  ["x=float32[1x4x7x9x8]"])
        kernels = call([KILN, "show", "m.pt", "--stage", "kernels", "-i", "x=float32[1x4x7x9x8]"], self.dir)[1].decode()
        self.assertEqual(re.findall(r"microkernel (vp_\w+)", kernels), ["vp_pool_lanes"] * 2, kernels)

    def test_transposed(self):
        """Phase by phase: kernels as wide as their strides and wider, padding of both kinds, groups, dynamic sizes."""
        for k, s, p, out, groups in (((2, 2, 2), (2, 2, 2), (0, 0, 0), (0, 0, 0), 1), ((3, 4, 3), (2, 2, 1), (1, 1, 1), (1, 0, 0), 1),
                                     ((1, 2, 3), (1, 2, 3), (0, 1, 0), (0, 0, 0), 2), ((3, 1, 1), (1, 1, 1), (1, 0, 0), (0, 0, 0), 1)):
            ints = ", ".join("[%d, %d, %d]" % v for v in (s, p, out))
            up = "torch.conv_transpose3d(%%s, %s, %s, %s, %d)" % (sin(4, 6 // groups, *k), sin(6), ints, groups)
            self.form(["return torch.relu(%s)" % up % "x"], ["x=float32[2x4x3x5x4]"])
            self.form(["a = torch.relu(%s)" % conv("x", 4, 3, (3, 3, 3), p=(1, 1, 1)), "return " + up % "a"], ["x=float32[1x3x4..7x5x6]"])

    def test_not_inferred(self):
        """A pointwise operator after a volume or line whose result has no known type: the operands do not broadcast, in a branch that
        no run takes, or -L allows no more inferred nodes."""
        lines = ["a = " + conv("x", 4, 3, (1, 3, 3)),
                 "b = torch.conv1d(torch.flatten(x, 2), %s, None, [7])" % sin(6, 3, 5),
                 "if bool(torch.gt(torch.sum(a), 1e9)):", "  c = torch.add(a, %s)" % sin(5, 1, 1, 1), "  d = torch.add(b, %s)" % sin(5, 1),
                 "else:", "  c = torch.relu(a)", "  d = torch.relu(b)", "return torch.mul(c, 2), torch.mul(d, 2)"]
        self.put("m.pt", model(body(lines, "x: Tensor", "Tuple[Tensor, Tensor]")))
        show = [KILN, "show", "m.pt", "-i", "x=float32[1x3x4x5x6]", "--stage", "specialized"]
        shown = [call([*show, *limit], self.dir) for limit in ([], ["-L", "known=0"], ["-L", "known=3"], ["-L", "known=5"])]
        self.assertEqual([rc for rc, _, _ in shown], [0] * 4, shown)
        counts = [graph.count(b"aten::conv2d(") for _, graph, _ in shown]
        self.assertEqual((counts[0], counts[1]), (2, 0))
        self.assertGreater(counts[3], 0)

    def test_not_volumes(self):
        """Tensors of five dims that are no volumes: channels that are shuffled after a convolution."""
        self.form(["a = torch.relu(torch.conv2d(x, %s, None, [1, 1], [1, 1]))" % sin(6, 3, 3, 3),
                   "b = torch.relu(torch.reshape(a, [2, 3, 2, 5, 7]))",
                   "return torch.conv2d(torch.reshape(torch.transpose(b, 1, 2), [2, 6, 5, 7]), %s)" % sin(4, 6, 1, 1)], ["x=float32[2x3x5x7]"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
