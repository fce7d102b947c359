"""Kernel forms: copies and joins, products, attention, recurrent layers, resizing, loops.

usage: forms_test.py KILN
"""
import os, re, struct, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from forms import KILN, TCC, Form, sin
from hostile import body, call, model, npy, npz, pickled, tensor, tup


class Forms(Form):
    def test_written_weights(self):
        """A parameter's bytes are mapped, and no program may change them: it gets its own."""
        self.form(["w = self.w", "_0 = torch.copy_(w, torch.neg(torch.clone(w)))", "return torch.add(x, torch.sum(w))"], ["x=float32[2]"],
                  calls=1)

    def test_written_constant(self):
        """So are those of the archive's constants."""
        self.put("m.pt", model(body(["c = CONSTANTS.c0", "_0 = torch.copy_(torch.select(c, 0, 0), torch.select(x, 0, 1))",
                                     "return torch.add(x, torch.sum(c))"]),
                               **{"constants.pkl": pickled(tup(tensor(6, [6], [1]))), "constants/0": bytes(24)}))
        self.put("x.npz", npz(x=npy([6])))
        self.check([KILN, "build", "m.pt", "-i", "x.npz", "-o", "program"], 0)
        self.check(["./program", "-i", "x.npz", "--strict"], 0)
        self.check([KILN, "check", "m.pt", "program", "-i", "x.npz"], 0)

    def test_layer_norm(self):
        """Of what is no run in memory."""
        self.form(["return torch.layer_norm(torch.permute(x, [0, 2, 3, 1]), [6], None, None, 1.0e-05)"], ["x=float32[2x6x3x5]"])
        self.form(["return torch.layer_norm(torch.transpose(x, 0, 1), [4], None, None, 1.0e-05)"], ["x=float32[4x1..9]"])

    def test_roll(self):
        self.form(["return torch.roll(x, [-1, 3], [1, -1])"], ["x=float32[2x5x4]"])
        self.form(["return torch.roll(torch.transpose(x, 0, 1), [7], [0])"], ["x=int64[3x5]"])
        self.form(["return torch.roll(x, [1, 1], [0, 0])"], ["x=float32[3x5]"], calls=1)
        self.form(["return torch.roll(x, [1])"], ["x=float32[3x5]"], calls=1)

    def test_copy_into(self):
        new = "y = torch.zeros([3, 4], dtype=6)"
        self.form([new, "_0 = torch.copy_(torch.select(y, 0, 1), x)", "return y"], ["x=float32[4]"])
        self.form([new, "_0 = torch.copy_(torch.slice(y, 1, 0, 4, 2), x)", "return y"], ["x=int64[3x1]"])
        self.form(["y = torch.mul(x, 2)", "_0 = torch.copy_(torch.slice(y, 0, 1), torch.slice(y, 0, 0, -1))", "return y"],
                  ["x=float32[5]"], calls=1)                                     # the same memory
        self.form(["_0 = torch.copy_(x, y)", "return torch.add(x, y)"], ["x=float32[5]", "y=float32[5]"], calls=1)     # may be it

    def test_einsum(self):
        for equation, a, b in (("bhid,bhjd->bhij", "2x3x5x4", "2x3x7x4"), ("bhij,bhjd->bhid", "2x3x5x7", "2x3x7x4"),
                               ("ij,jk->ki", "3x4", "4x5"), ("i,j->ij", "3", "4"), ("abc,cd->abd", "2x3x4", "4x5"),
                               ("abc,bcd->ad", "2x3x4", "3x4x5"), ("ab,ab->", "3x4", "3x4"), ("ijb,bk->bikj", "2x3x4", "4x5")):
            self.form(['return torch.einsum("%s", [x, y])' % equation], ["x=float32[%s]" % a, "y=float32[%s]" % b])
        self.form(['return torch.einsum("bij,bjk->bik", [x, x])'], ["x=float64[1..5x4x4]"])
        self.form(['return torch.einsum("ii,ij->ij", [x, x])'], ["x=float32[4x4]"], calls=1)
        self.form(['return torch.einsum("ij,jk->k", [x, x])'], ["x=float32[4x4]"], calls=1)

    def test_lstm(self):
        """Two layers; hidden sizes that fill panels and do not; an input by batch; both directions; without biases."""
        def weight(rows, columns, n):
            size = "[%d, %d]" % (rows, columns) if columns else "[%d]" % rows
            return "torch.sin(torch.reshape(torch.arange(%d, %d, dtype=6), %s))" % (n, n + rows * max(columns, 1), size)
        for hidden, dirs, biases, first in ((5, 1, True, False), (64, 1, True, False), (6, 2, True, True), (3, 2, False, False)):
            params, n = [], 0
            for layer in range(2):
                for d in range(dirs):
                    for rows, columns in [(4 * hidden, 7 if not layer else hidden * dirs), (4 * hidden, hidden)] + biases * 2 * [(4 * hidden, 0)]:
                        params.append(weight(rows, columns, n))
                        n += 1
            for x in "4x3x7", "1..5x3x7" if not first else "2x1..5x7":
                self.form(["z = torch.zeros([%d, %s, %d], dtype=6)" % (2 * dirs, "torch.size(x, 0)" if first else "torch.size(x, 1)", hidden),
                           "y, h, c = torch.lstm(x, [torch.add(z, 0.5), z], [%s], %s, 2, 0., False, %s, %s)" % (
                               ", ".join(params), biases, dirs == 2, first),
                           "return y, h, c"], ["x=float32[%s]" % x], result="Tuple[Tensor, Tensor, Tensor]")
        self.form(["w = %s" % weight(20, 5, 1), "h, c = torch.lstm_cell(x, [x, x], w, w)", "return torch.add(h, c)"], ["x=float32[3x5]"])
        self.form(["w = %s" % weight(15, 5, 1), "return torch.gru_cell(x, x, w, w)"], ["x=float32[3x5]"])
        self.form(["h, c = torch.lstm_cell(x, [x, x], w, w)", "return torch.add(h, c)"], ["x=float32[3x5]", "w=float32[20x5]"], calls=1)

    def test_written_parts(self):
        """What is written into a part of something is computed aside, then copied: kernels both."""
        self.form(["y = torch.add(x, 1)", "_0 = torch.masked_fill_(torch.select(y, 0, 1), z, -1.5)", "return torch.mul(y, 2)"],
                  ["x=float32[2x3]", "z=bool[3]"])
        self.form(["y = torch.mul(x, 2)", "a, b, c = torch.unsafe_chunk(y, 3, 1)", "_0 = torch.sigmoid_(torch.add_(a, b))",
                   "_1 = torch.mul_(b, c)", "return torch.add(y, torch.sum(torch.tanh_(c)))"], ["x=float32[2x12]"])
        self.form(["y = torch.mul(x, 2)", "_0 = torch.clamp_(torch.slice(y, 1, 0, 4, 2), 1, 3)", "return y"], ["x=int64[3x5]"])
        # not the memory of a constant: arange is called
        self.form(["y = torch.arange(0, 12, dtype=6)", "a, b, c = torch.unsafe_chunk(y, 3)", "_0 = torch.add_(a, x)", "return torch.mul(a, b)"],
                  ["x=float32[4]"], calls=1)

    def test_numbers_that_nobody_knows(self):
        """Of a float argument, or of a number read from a tensor, the kind says what types results have; a size it may be, too."""
        n = "n = int(torch.sum(torch.slice(y, 0, 0, 1)))"                              # a call
        for x in "3x4", "1..5x4":
            self.form(["return torch.sub(torch.clamp(torch.relu(torch.add(torch.mul(x, a), 1.)), 0.1, torch.mul(a, 3.)), a)"],
                      ["x=float32[%s]" % x, "a=float64[]"], calls=1, a="float")          # a * 3
            self.form(["return torch.softmax(torch.div(torch.matmul(x, torch.transpose(x, 0, 1)), a), -1)"],
                      ["x=float32[%s]" % x, "a=float64[]"], a="float")
        self.form(["return torch.pow(x, a)", ], ["x=int64[3x4]", "a=float64[]"], a="float")
        self.form(["y = torch.neg(x)", "_0 = torch.mul_(y, a)", "return torch.relu(y)"], ["x=float32[3x4]", "a=float64[]"], a="float")
        self.form([n, "return torch.mul(torch.pow(torch.add(x, n), n), n)"], ["x=float32[3x4]", "y=int64[5]"], calls=1)
        self.form([n, "return torch.neg(torch.pow(x, n))"], ["x=int64[3x4]", "y=int64[5]"], calls=2)     # raises for negative ones
        self.form([n, "return torch.neg(torch.floor_divide(x, n + 1))"], ["x=int64[3x4]", "y=int64[5]"], calls=3)      # raises for 0
        self.form(["return torch.mul(torch.full([2, 3], a), torch.sum(x))"], ["x=float32[3x4]", "a=float64[]"], calls=1, a="float")

    def test_numbers_that_are_sizes(self):
        for size in ("torch.arange(a)", "torch.arange(0, a, 1)", "torch.arange(0., 3., torch.add(a, 1.5))", "torch.ones([int(torch.mul(a, 7.))])",
                     "torch.upsample_nearest1d(torch.unsqueeze(x, 0), None, [a])"):
            self.put("m.pt", model(body(["return torch.neg(%s)" % size], "x: Tensor, a: float")))
            for n in (1.0, 4.0):
                self.put("%d.npz" % n, npz(x=npy((2, 6)), a=npy((), "<f8", struct.pack("<d", n))))
            self.check([KILN, "build", "m.pt", "-i", "1.npz", *TCC, "-o", "program"], 0)
            self.check([KILN, "check", "m.pt", "program", "-i", "1.npz", "-i", "4.npz"], 0)
            os.remove(os.path.join(self.dir, "program"))

    def test_join(self):
        self.form(["return torch.cat([x, torch.mul(x, 2), x], 1)"], ["x=float32[2x3x4]"])
        self.form(["return torch.stack([x, torch.transpose(torch.transpose(x, 0, 1), 0, 1)], -1)"], ["x=int64[1..4x3]"])
        self.form(["return torch.cat([x, torch.slice(x, 1, 0, 2)], 1)"], ["x=float32[2x3x4]"])
        self.form(["out = annotate(List[Tensor], [])", "for i in range(100):", "  _0 = torch.append(out, torch.mul(x, i))",
                   "return torch.stack(out, 1)"], ["x=float32[3x5]"])

    def test_join_in_place(self):
        """Parts that are made for a cat alone are made where its result has them; nothing is copied but what others see, too."""
        conv = lambda x, *sizes: "torch.relu(torch.conv2d(%s, %s, None, [1, 1], [%d, %d]))" % (x, sin(*sizes), sizes[2] // 2, sizes[3] // 2)
        both = ["a = " + conv("x", 16, 3, 3, 3), "b = " + conv("x", 32, 3, 1, 1)]
        for copies, result, lines in (                  # to channels last and back are two
            (2, "Tensor", both + ["return torch.relu(torch.cat([a, b], 1))"]),
            (2, "Tensor", both + ["return torch.relu(torch.cat([torch.cat([a, b], 1), torch.neg(a)], 1))"]),
            (2, "Tensor", both + ["c = torch.cat([a, b], 1)", "d = torch.cat([c, torch.max_pool2d(c, [3, 3], [1, 1], [1, 1])], 1)",
                                  "return " + conv("d", 16, 96, 1, 1)]),
            (0, "Tensor", ["y = torch.mul(x, 2)", "return torch.neg(torch.cat([y, torch.exp(y), torch.add(y, y)], 2))"]),
            (3, "Tensor", both + ["return torch.relu(torch.cat([a, b, a], 1))"]),                        # twice
            (1, "Tensor", ["y = torch.mul(x, 2)", "return torch.neg(torch.cat([x, y], 1))"]),            # an argument
            (1, "Tuple[Tensor, Tensor]", ["y = torch.mul(x, 2)", "return (y, torch.neg(torch.cat([y, torch.exp(y)], 1)))"]),
            (1, "Tensor", ["y = torch.mul(x, 2)", "z = torch.slice(y, 2, 0, 2)", "c = torch.cat([y, torch.exp(y)], 1)",
                           "return torch.add(torch.neg(c), torch.sum(z))"]),                             # a view of it
            (1, "Tensor", ["y = torch.mul(torch.transpose(x, 1, 3), 2)", "return torch.neg(torch.cat([y, torch.exp(y)], 3))"]),   # few bytes
            (2, "Tensor", ["y = torch.mul(x, 2)", "c = torch.cat([y, torch.exp(y)], 1)", "_0 = torch.add_(torch.select(c, 1, 0), 1)",
                           "return torch.add(torch.neg(c), torch.sum(y))"])):                            # written: a copy, and of the part
            for size in "2x3x5..9x9", "2x3x7x9":
                self.form(lines, ["x=float32[%s]" % size], result=result)
            self.check([KILN, "build", "m.pt", "-i", "x=float32[2x3x7x9]", "--emit", "c", "-o", "p.c"], 0)
            with open(os.path.join(self.dir, "p.c")) as f:
                self.assertEqual(len(re.findall(r"/\* (?:copies|\d+ tensors of) \d+ elements", f.read())), copies, lines)

    def test_attention(self):
        scores = "s = torch.div(torch.matmul(x, torch.transpose(x, -2, -1)), 3.)"
        self.form([scores, "return torch.matmul(torch.softmax(s, -1), x)"], ["x=float32[2x3x70x5]"])
        self.form([scores, "return torch.matmul(torch.softmax(torch.add(s, m), -1), x)"], ["x=float32[2x3x7x5]", "m=float32[2x1x1x7]"])
        self.form([scores, "return torch.matmul(torch.softmax(torch.add(m, s), -1), x)"], ["x=float32[3x7x1]", "m=float32[7x1]"])
        self.form([scores, "return torch.matmul(torch.softmax(s, -1), x)"], ["x=float32[2x1..60x4]"])
        self.form([scores, "return torch.matmul(torch.softmax(torch.mul(s, float('-inf')), -1), x)"], ["x=float32[2x5x4]"])
        call_ = "return torch.scaled_dot_product_attention(x, y, y, %s)"
        for rest in "None, 0., False", "None, 0., True", "None, 0., False, scale=0.7":
            self.form([call_ % rest], ["x=float32[2x3x50x8]", "y=float32[2x3x6x8]"])
        self.form([call_ % "m"], ["x=float32[2x3x5x8]", "y=float32[3x6x8]", "m=float32[5x6]"])

    def test_resize(self):
        for what in ("upsample_bilinear2d(%s, [5, 9], False)", "upsample_bilinear2d(%s, [7, 3], True)",
                     "upsample_bilinear2d(%s, None, False, [1.5, 2.5])", "upsample_nearest2d(%s, [5, 9])",
                     "upsample_nearest2d(%s, None, [2.0, 0.7])", "_upsample_nearest_exact2d(%s, [3, 9])"):
            for x in "x", "torch.permute(x, [0, 3, 1, 2])":
                self.form(["return torch.%s" % what % x], ["x=float32[2x3x4x5]"])
        self.form(["return torch.upsample_nearest2d(x, [6, 6])"], ["x=uint8[1x2x3x4]"])
        self.form(["return torch.upsample_bilinear2d(x, [torch.mul(torch.size(x, 2), 2), 6], False)"], ["x=float32[1x2x3..8x4]"])

    def test_loop_of_one_trip(self):
        """Is its body, whatever its condition then is."""
        self.form(["return torch.diff(x)"], ["x=float32[4x7]"])
        self.form(["return torch.diff(x, 1, 0)"], ["x=int64[4x7]"])


if __name__ == "__main__":
    unittest.main()
