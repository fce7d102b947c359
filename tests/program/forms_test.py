"""Kernel forms: copies and joins, products, attention, recurrent layers, resizing, loops.

usage: forms_test.py KILN
"""
import os, re, struct, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from forms import KILN, TCC, Form, call, sin
from hostile import body, call, model, npy, npz, pickled, tensor, tup


class Forms(Form):
    def test_written_weights(self):
        """A parameter's bytes are mapped from the file and may not be written, so a program that writes to it copies it first."""
        self.form(["w = self.w", "_0 = torch.copy_(w, torch.neg(torch.clone(w)))", "return torch.add(x, torch.sum(w))"], ["x=float32[2]"],
                  calls=1)

    def test_written_constant(self):
        """The same for constants of the archive."""
        self.put("m.pt", model(body(["c = CONSTANTS.c0", "_0 = torch.copy_(torch.select(c, 0, 0), torch.select(x, 0, 1))",
                                     "return torch.add(x, torch.sum(c))"]),
                               **{"constants.pkl": pickled(tup(tensor(6, [6], [1]))), "constants/0": bytes(24)}))
        self.put("x.npz", npz(x=npy([6])))
        self.check([KILN, "build", "m.pt", "-i", "x.npz", "--cpu", "native", "-o", "program"], 0)
        self.check(["./program", "-i", "x.npz", "--strict"], 0)
        self.check([KILN, "check", "m.pt", "program", "-i", "x.npz"], 0)

    def test_layer_norm(self):
        """Layer norm over elements that are not consecutive in memory."""
        self.form(["return torch.layer_norm(torch.permute(x, [0, 2, 3, 1]), [6], None, None, 1.0e-05)"], ["x=float32[2x6x3x5]"])
        self.form(["return torch.layer_norm(torch.transpose(x, 0, 1), [4], None, None, 1.0e-05)"], ["x=float32[4x1..9]"])

    def test_large_numbers(self):
        """Arguments of a runtime call in C may be integral floats of any size."""
        self.form(["return torch.histc(x, 4, -1.0e+20, 3.4028234663852886e+38)"], ["x=float32[2..5x3]"], calls=1)

    def test_roll(self):
        self.form(["return torch.roll(x, [-1, 3], [1, -1])"], ["x=float32[2x5x4]"])
        self.form(["return torch.roll(torch.transpose(x, 0, 1), [7], [0])"], ["x=int64[3x5]"])
        self.form(["return torch.roll(torch.neg(x), [-1, 1], [1, 2])"], ["x=float32[2..4x5..8x6..9]"])
        self.form(["return torch.roll(x, [1, 1], [0, 0])"], ["x=float32[3x5]"], calls=1)
        self.form(["return torch.roll(x, [1])"], ["x=float32[3x5]"], calls=1)

    def test_flip(self):
        self.form(["return torch.flip(x, [0, -1])"], ["x=float32[2..4x3x5]"])
        self.form(["return torch.flip(torch.neg(x), [1])"], ["x=float32[2..4x5..8x6..9]"])
        self.form(["return torch.flip(torch.transpose(x, 0, 1), [1])"], ["x=int64[3x5]"])
        self.form(["return torch.flip(x, [1])"], ["x=complex64[3x5]"])
        self.form(["return torch.flip(x, [0])"], ["x=complex128[3x5]"], calls=1)

    def test_complex(self):
        """Complex rows are computed as pairs of real numbers: with real tensors and numbers, views, dynamic sizes, conjugates."""
        two = ["x=complex64[3x2..9]", "y=complex64[2..9]"]
        self.form(["return torch.mul(torch.add(x, torch.mul(y, 1j), alpha=2), torch.conj(x))"], two)
        self.form(["return torch.abs(torch.exp(torch.true_divide(torch.sub(x, y), torch.reciprocal(x))))"], two)
        self.form(["z = torch.mul(x, y)", "return torch.sub(torch.rsub(z, 3, 2), torch.mul(x, torch.abs(z)))"], two)
        self.form(["return torch.angle(torch.mul(torch.transpose(x, 0, 1), y))"], ["x=complex128[5x3]", "y=float64[3x1]"])
        self.form(["z = torch.view_as_complex(x)", "return torch.view_as_real(torch.true_divide(torch.neg(z), 3))"], ["x=float32[2..6x2]"])
        self.form(["return torch.mul(x, torch.select(x, 0, 0))"], ["x=complex64[2..6]"])

    def test_far_sines(self):
        """Loops with a fast path for small arguments: all small, some large, along rows, and in place after a product."""
        for by in 1., 3e5, 1e30:
            self.form(["return torch.mul(torch.sin(torch.mul(x, %r)), torch.cos(x))" % by], ["x=float32[2..9x40]"])
            self.form(["return torch.sum(torch.cos(torch.mul(x, %r)), [1])" % by], ["x=float32[9x40]"])
            self.form(["return torch.fmod(torch.mul(x, %r), torch.transpose(x, 0, 1))" % by], ["x=float64[33x33]"])
            self.form(["return torch.sin(torch.mul(torch.round(torch.matmul(x, y)), %r))" % by], ["x=float32[9x40]", "y=float32[40x24]"])

    def test_gather(self):
        at = "i = torch.remainder(torch.mul(torch.reshape(torch.arange(12), [3, 4]), 7), 3)"
        for dim in 0, 1, -1:
            self.form([at, "return torch.gather(x, %d, i)" % dim], ["x=float32[5x6]"])
        self.form([at, "return torch.gather(torch.transpose(x, 0, 1), 0, torch.transpose(i, 0, 1))"], ["x=bfloat16[5x6]"])
        self.form(["return torch.gather(x, 1, torch.argsort(x, 1))"], ["x=float32[2..5x7]"])

    def test_index(self):
        at = "i = torch.remainder(j, 5)"
        index = "return torch.index(x, annotate(List[Optional[Tensor]], [%s]))"
        for dims in "i", "None, i", "None, i, None":
            self.form([at, index % dims], ["x=float32[5..7x5x3]", "j=int64[3x4]"])
        self.form([at, index % "torch.neg(i)"], ["x=float32[5x6]", "j=int64[3]"])              # indices counted from the end
        for dims in ("i, i", "None, i, torch.unsqueeze(i, 1)", "i, None, torch.neg(i)", "i, i, torch.select(i, 0, 0), torch.unsqueeze(i, 1)",
                     "torch.slice(i, 0, 0, 1), None, None, i", "None, i, None, torch.neg(i)"):
            self.form([at, index % dims], ["x=float32[5x6x5x7]", "j=int64[3]"])
            self.form([at, index % dims], ["x=int16[5x6x5..9x7]", "j=int64[3..8]"])
            self.form([at, index % dims], ["x=complex64[5x6x5x7]", "j=int64[3]"])
        self.form([at, index % "i, i"], ["x=complex128[5x6]", "j=int64[3]"], calls=1)
        self.form([at, index % "i, i, i, i, i"], ["x=float32[5x6x7x5x5]", "j=int64[3]"], calls=1)
        self.put("m.pt", model(body([index % "i, i"], "x: Tensor, i: Tensor")))
        self.check([KILN, "build", "m.pt", "-i", "x=float32[3x2]", "-i", "i=int64[2]", "--cpu", "native", "-o", "program"], 0)
        for numbers, status in ((1, 0), 0), ((2, 0), 1), ((-2, -1), 0), ((-3, -1), 1), ((0, 2), 1):
            self.put("x.npz", npz(x=npy([3, 2]), i=npy([2], "<i8", struct.pack("<2q", *numbers))))
            self.check(["./program", "-i", "x.npz"], status, *["index %d is out of bounds for dimension 1 with size 2" % n for n in numbers if n not in range(-2, 2)])

    def test_sums_by_index(self):
        at = "i = torch.remainder(j, 5)"
        for dim, size in (0, 7), (1, 4), (-1, 6):
            self.form([at, "return torch.index_add(x, %d, i, y)" % dim],
                      ["x=float32[%s]" % "x".join(str(9 if k == dim % 3 else n) for k, n in enumerate((7, 4, 6))), "j=int64[%d]" % size, "y=float32[7x4x6]"])
        self.form([at, "return torch.index_add(x, 0, i, y)"], ["x=float64[5x3]", "j=int64[2..9]", "y=float64[2..9x3]"])
        self.form([at, "return torch.index_add(x, 0, i, y)"], ["x=int64[5]", "j=int32[9]", "y=int64[9]"])
        self.form([at, "return torch.index_add(x, 0, i, y, alpha=2)"], ["x=float16[5x3]", "j=int64[2]", "y=float16[2x3]"], calls=1)
        zeros = "z = torch.zeros([5, 3])"
        self.form([at, zeros, "_0 = torch.index_add_(z, 0, i, y)", "return torch.add(z, x)"], ["x=float32[5x3]", "j=int64[20]", "y=float32[20x3]"])
        self.form([at, zeros, "_0 = torch.scatter_add_(torch.transpose(z, 0, 1), 1, torch.reshape(i, [2, 10]), y)", "return torch.add(z, x)"],
                  ["x=float32[5x3]", "j=int64[20]", "y=float32[3x10]"])
        for dim in 0, 1:
            self.form([at, "return torch.scatter_add(x, %d, i, y)" % dim], ["x=float32[5x6]", "j=int64[4x3]", "y=float32[5x4]"])
        self.form([at, "return torch.scatter_add(x, 0, torch.expand(torch.unsqueeze(i, 1), [-1, 8]), y)"],
                  ["x=float32[5x8]", "j=int64[20]", "y=float32[20x8]"])

    def test_put_by_index(self):
        """Elements and slices are stored at indices, or combined with the ones there, in place or not. With scatter, the last one
        of equal indices stays."""
        at = "i = torch.remainder(j, 5)"
        for dim, index in (0, "4x6"), (1, "3x9"), (-2, "6x4"):
            x = ["x=float32[%s]" % ("5x6" if dim != 1 else "4x5"), "j=int64[%s]" % index]
            y = ["y=float32[%s]" % index]
            for call in "torch.scatter%s(%s, %d, i, y)", 'torch.scatter%s(%s, %d, i, y, reduce="multiply")':
                self.form([at, "return " + call % ("", "x", dim)], x + y)
                self.form([at, "z = torch.mul(x, 2)", "_0 = " + call % ("_", "torch.slice(z, 1)", dim), "return z"], x + y)
            self.form([at, "return torch.scatter(x, %d, i, 2.5)" % dim], x)
            for how in "sum", "prod", "amax", "amin":
                for own in True, False:
                    self.form([at, 'return torch.scatter_reduce(x, %d, i, y, "%s", include_self=%s)' % (dim, how, own)], x + y)
        for how in "amax", "amin":
            self.form([at, 'return torch.scatter_reduce(x, 0, i, y, "%s", include_self=False)' % how], ["x=int32[5]", "j=int64[9]", "y=int32[9]"])
        self.form([at, 'return torch.scatter_reduce(x, 0, i, y, "amax")'], ["x=float16[5]", "j=int64[2..9]", "y=float16[2..9]"])

    def test_put_slices(self):
        at = "i = torch.remainder(j, 5)"
        for dim, x, y in (0, "5x6", "9x6"), (1, "2x5x3", "2x9x3"), (-1, "3x5", "3x9"):
            sizes = ["x=float32[%s]" % x, "j=int64[9]"]
            self.form([at, "return torch.index_copy(x, %d, i, y)" % dim], sizes + ["y=float32[%s]" % y])
            self.form([at, "return torch.index_fill(x, %d, torch.sub(i, 5), 3)" % dim], sizes)
            self.form([at, "z = torch.mul(x, 2)", "_0 = torch.index_copy_(torch.slice(z, 0), %d, i, y)" % dim, "return z"], sizes + ["y=float32[%s]" % y])
        self.form([at, "return torch.index_fill(x, 0, i, y)"], ["x=int64[5x3]", "j=int64[2..4]", "y=int64[]"])

    def test_put_by_wrong_index(self):
        """Kernels refuse the index types that their operator refuses. An index out of range leaves self unchanged."""
        for call, index, message in (("index_copy_(z, 0, i, y)", "int32", "index_copy_(): Expected a long tensor for index, but got Int"),
                                     ("index_fill_(z, 0, i, 1)", "int32", "index_fill_(): Expected dtype int64 for index."),
                                     ("index_add_(z, 0, i, y)", "int64", "index out of range in self"),
                                     ("index_copy_(z, 0, i, y)", "int64", "index_copy_(): index 5 is out of bounds for dimension 0 with size 5"),
                                     ("index_fill_(z, 0, i, 1)", "int64", "index 5 is out of bounds for dimension 0 with size 5")):
            self.put("m.pt", model(body(["z = torch.clone(x)", "_0 = torch.%s" % call, "return z"], "x: Tensor, y: Tensor, i: Tensor")))
            for last in 0, 5:
                self.put("in%d.npz" % last, npz(x=npy([5, 2]), y=npy([3, 2]), i=npy([3], "<i8" if index == "int64" else "<i4",
                         data=struct.pack("<3" + ("q" if index == "int64" else "i"), 1, 0, last))))
            wrong = "in%d.npz" % (5 if index == "int64" else 0)
            self.check([KILN, "build", "m.pt", "-i", "in0.npz", *TCC, "-o", "program"], 0)
            self.check(["./program", "-i", wrong], 1, message)
            self.check([KILN, "check", "m.pt", "program", "-i", wrong], 0)

    def test_index_put(self):
        at, put = "i = torch.remainder(j, 5)", "return torch.index_put(x, annotate(List[Optional[Tensor]], [%s]), y, %s)"
        for add in "True", "False":
            for index, y in ("i", "3x4x6x2"), ("i", "6x1"), ("torch.neg(i)", "1"):
                self.form([at, put % (index, add)], ["x=float32[5x6x2]", "j=int64[3x4]", "y=float32[%s]" % y])
            self.form([at, put % ("None, i", add)], ["x=float32[3x5x2]", "j=int64[2..7]", "y=float32[3x2..7x2]"])
        self.form([at, put % ("i, i", "True")], ["x=float32[5x6]", "j=int64[3]", "y=float32[3]"], calls=1)

    def test_bags(self):
        """All modes, widths that fill registers and widths that do not, weights of indices, rows left out by padding_idx, any
        number of bags."""
        at = "i, o = torch.remainder(torch.mul(j, 7), 5), torch.constant_pad_nd(torch.cumsum(torch.remainder(k, 3), 0), [1, 0])"
        bag = "return (torch.embedding_bag(x, i, o, False, %s))[0]"
        for x in "float32[5x1]", "float32[5x37]", "float64[5x16]":
            for mode in range(3):
                self.form([at, bag % mode], ["x=" + x, "j=int64[9]", "k=int64[3]"])
                self.form([at, bag % ("%d, False, None, True, 2" % mode)], ["x=" + x, "j=int64[7..12]", "k=int64[2..4]"])
        self.form([at, bag % "0, False, torch.to(j, 6)"], ["x=float32[5x4]", "j=int64[9]", "k=int64[3]"])
        nan = "x = torch.sqrt(torch.sub(torch.remainder(torch.mul(x, 90), 3), 1.5))"
        for mode in "0", "2, False, None, True, 2":
            self.form([at, nan, bag % mode], ["x=float32[5x80]", "j=int64[9]", "k=int64[3]"])
        self.form([at, (bag % 1).replace("(x, i, o", "(torch.transpose(x, 0, 1), torch.flip(i, [0]), torch.to(o, 3)")],
                  ["x=float32[6x5]", "j=int64[1..12]", "k=int64[1..4]"])
        self.form(["o = torch.arange(0, torch.numel(j), 3)", "return (torch.embedding_bag(x, torch.reshape(torch.remainder(j, 5), [-1]), o))[0]"],
                  ["x=float32[5x4]", "j=int64[4x3]"])
        self.form([at, "a, b, c, d = torch.embedding_bag(x, i, o, False, 2)", "return torch.add(a, d)"],
                  ["x=float32[5x4]", "j=int64[9]", "k=int64[3]"], calls=1)

    def test_running(self):
        """Scans along every dim, of widths that fill a block and widths that do not, in every kind of dtype."""
        for op in "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp":
            call = ("return torch.%s(x, %%d)" if op[3] in "spc" else "return (torch.%s(x, %%d))[0]") % op
            both = "y, i = torch.%s(x, %%d)" % op
            for x in ("float32[3x37x4]", "float64[2..9x40]", "float16[5x2]") + (("int32[7x18]", "uint8[9]") if op[0] != "l" else ()):
                for dim in range(x.count("x") + 1):
                    if op in ("cummax", "cummin"):
                        self.form([both % dim, "return torch.add(i, torch.to(y, 4))"], ["x=" + x])
                    else:
                        self.form([call % dim], ["x=" + x])
        self.form(["return torch.cumsum(torch.transpose(x, 0, 1), -2, dtype=7)"], ["x=int64[3x20]"])
        self.form(["return torch.cumsum(x, 0), torch.cumprod(x, 0, dtype=5)"], ["x=bool[30]"], result="Tuple[Tensor, Tensor]")
        for x, dtypes in ("float32", (4, 5, 7, 15)), ("float64", (6, 11)), ("int64", (1, 3, 6, 11)), ("bfloat16", (6, 15)):
            sums = ", ".join("torch.cumsum(x, 1, dtype=%d)" % d for d in dtypes)
            self.form(["return [%s]" % sums], ["x=%s[1..12x5..90]" % x], result="List[Tensor]")
        self.form(["return torch.cumsum(x, 0, dtype=3)"], ["x=float32[3]"], calls=1)
        self.form(["y = torch.select(torch.cumprod(torch.select(x, 0, 1), 0), 0, 0)", "a, b = torch.cummin(torch.sum(x), -1)",
                   "return torch.cumsum(a, 0), b, torch.logcumsumexp(y, 0)"], ["x=float32[3x2]"], result="Tuple[Tensor, Tensor, Tensor]")

    def test_running_specials(self):
        """NaN, infinities, zeros of both signs, equal elements: the last of equal ones wins, and NaN stays."""
        some = "y = torch.mul(torch.sqrt(torch.sub(torch.remainder(torch.mul(x, 40), 6), 0.5)), torch.sub(torch.remainder(torch.mul(x, 90), 3), 1))"
        inf = "y = torch.where(torch.gt(torch.remainder(torch.mul(x, 70), 9), 7), torch.log(torch.zeros_like(y)), torch.floor(y))"
        for x in "float32[40x3..70]", "bfloat16[3x90]", "float64[2..70x9]":
            for dim in 0, 1:
                all = ["(torch.%s(y, %d))[%d]" % (op, dim, i) for op in ("cummax", "cummin") for i in (0, 1)]
                all += ["torch.%s(y, %d)" % (op, dim) for op in ("cumsum", "cumprod", "logcumsumexp")]
                self.form([some, inf, "return [%s]" % ", ".join(all)], ["x=" + x], result="List[Tensor]")

    def test_sort(self):
        """Equal elements come in the interpreter's order, NaN last, unsigned numbers by value."""
        for x in "float32[3x90]", "float32[2x600]", "float64[70]", "int32[4x2..30x3]", "uint8[5x70]", "bfloat16[2x20]":
            for call in "sort(z, -1, %s)", "sort(z, 0, %s)", "sort(z, stable=True, dim=-1, descending=%s)":
                self.form(["z = torch.remainder(x, 7)", "y, i = torch.%s" % call % ("True", "False")[len(x + call) % 2], "return torch.add(i, torch.to(y, 4))"],
                          ["x=" + x])
        self.form(["z = torch.remainder(x, 0.7)", "return [torch.argsort(z, 1), torch.argsort(torch.t(z), 0, True), (torch.sort(z, stable=None, dim=0))[1]]"],
                  ["x=float32[1..5x3..150]"], result="List[Tensor]")
        self.form(["y = torch.sqrt(torch.sub(torch.remainder(torch.mul(x, 90), 3), 1.5))", "return [torch.argsort(y, 1, True), (torch.sort(y, 0))[0], torch.msort(y)]"],
                  ["x=float64[3x40]"], result="List[Tensor]")

    def test_topk(self):
        """Equal elements come in the interpreter's order."""
        for x in "float32[3x90]", "float64[90]", "int32[4x2..30x3]", "uint8[5x70]", "bfloat16[2x20]":
            for k, more in (1, "-1"), (2, "-1, False"), (2, "0, True, False"):
                self.form(["y, i = torch.topk(torch.remainder(x, 7), %d, %s)" % (k, more), "return torch.add(i, torch.to(y, 4))"],
                          ["x=" + x])
            self.form(["return (torch.topk(x, 2))[0]"], ["x=" + x])
        for x in "float32[1..5x3..150]", "int64[3..150x4]":
            dim = 1 if x[0] == "f" else 0
            self.form(["n = torch.size(x, %d)" % dim, "y, i = torch.topk(torch.remainder(x, 0.7), torch.sub(n, torch.floordiv(n, 3)), %d)" % dim,
                       "v, j = torch.topk(torch.mul(x, -1), n, %d, False)" % dim, "return [y, i, v, j]"], ["x=" + x], result="List[Tensor]")
        nan = "y = torch.sqrt(torch.sub(torch.remainder(torch.mul(x, 90), 3), 1.5))"
        self.form([nan, "a, i = torch.topk(torch.mul(y, torch.sub(0, x)), 20)", "b, j = torch.topk(y, 40, 1, False)", "return [a, i, b, j]"],
                  ["x=float64[3x40]"], result="List[Tensor]")

    def test_casts(self):
        """Between all dtypes, if the other dtype can hold every number or C defines the conversion."""
        numbers = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7, "bool": 11, "bfloat16": 15}
        for a in numbers:
            for b in numbers:
                calls = a[0] in "fb" and a != "bool" and b[0] in "iu" and b != "int64"
                self.form(["return torch.to(torch.transpose(x, 0, 1), %d)" % numbers[b]], ["x=%s[3x5]" % a], calls=int(calls))

    def test_copy_into(self):
        new = "y = torch.zeros([3, 4], dtype=6)"
        self.form([new, "_0 = torch.copy_(torch.select(y, 0, 1), x)", "return y"], ["x=float32[4]"])
        self.form([new, "_0 = torch.copy_(torch.slice(y, 1, 0, 4, 2), x)", "return y"], ["x=int64[3x1]"])
        self.form(["y = torch.mul(x, 2)", "_0 = torch.copy_(torch.slice(y, 0, 1), torch.slice(y, 0, 0, -1))", "return y"],
                  ["x=float32[5]"], calls=1)                                     # source and target overlap
        self.form(["_0 = torch.copy_(x, y)", "return torch.add(x, y)"], ["x=float32[5]", "y=float32[5]"], calls=1)     # y may be x

    def test_turned(self):
        """Transposed copies: in square tiles and their remainders, elements of every size, from an offset, with dynamic sizes."""
        for dtype in ("float32", "int32", "float64", "float16", "bool"):
            for sizes in "33x50", "16x16", "3x40", "17..40x33":
                self.form(["return torch.contiguous(torch.t(torch.slice(x, 1, 1)))"], ["x=%s[%s]" % (dtype, sizes)])
            self.form(["return torch.contiguous(torch.permute(x, [2, 0, 3, 1]))"], ["x=%s[2x19x5x32]" % dtype])

    def test_einsum(self):
        for equation, a, b in (("bhid,bhjd->bhij", "2x3x5x4", "2x3x7x4"), ("bhij,bhjd->bhid", "2x3x5x7", "2x3x7x4"),
                               ("ij,jk->ki", "3x4", "4x5"), ("i,j->ij", "3", "4"), ("abc,cd->abd", "2x3x4", "4x5"),
                               ("abc,bcd->ad", "2x3x4", "3x4x5"), ("ab,ab->", "3x4", "3x4"), ("ijb,bk->bikj", "2x3x4", "4x5"),
                               ("bkctv,kvw->bctw", "2x3x4x2x5", "3x5x6"), ("kcv,vkw->cw", "3x4x5", "5x3x2")):
            self.form(['return torch.einsum("%s", [x, y])' % equation], ["x=float32[%s]" % a, "y=float32[%s]" % b])
        self.form(['return torch.einsum("bij,bjk->bik", [x, x])'], ["x=float64[1..5x4x4]"])
        for equation in ("ii,ij->ij", "ij,jk->k", "ij,kl->il", "...j,j...->...", "i j , kj", "ii,jj", "ij,ij->ji", "...,ij->i..."):
            for sizes in "4x4", "2..5x4x4" if "..." in equation and "j..." not in equation else "3x3":
                self.form(['return torch.einsum("%s", [%s, x])' % (equation, "x" if "x4x" not in sizes else "torch.relu(x)")],
                          ["x=float32[%s]" % (sizes if equation != "...,ij->i..." else "4x4")])
        for equation, third in (("bhtd,bhde,bht->bhte", "2x3x5"), ("bhtd,bhde,e->bht", "6"), ("bhtd,bhde,...->hb...", "1x1x2x4")):
            self.form(['return torch.einsum("%s", [x, y, z])' % equation],
                      ["x=float32[2x3x5x4]", "y=float32[2x3x4x6]", "z=float32[%s]" % (third if "..." not in equation else "2x4")])
        for equation, calls in (("ii->i", 0), ("ij->ji", 0), ("ij->", 0), ("iij->j", 0), ("...ij->...j", 0), ("ii", 0)):
            dims = "4x4x3" if "iij" in equation else "4x4"
            self.form(['y = torch.einsum("%s", [x])' % equation, "return torch.add(y, torch.sum(x))"],
                      ["x=float32[%s]" % dims], calls)
        self.form(['return torch.einsum("ij,jk->ik", [x, y])'], ["x=float32[4x1]", "y=float32[3x5]"])            # size 1 broadcasts to 3
        self.form(['return torch.einsum("ij,jk->ik", [x, x])'], ["x=int64[4x4]"], calls=1)

    def test_inference_norm(self):
        """A batch norm by known statistics, under the names that torch.export gives it, is folded into the convolution before it.
        """
        more = "%s, %s, %s, torch.abs(%s)" % (sin(6), sin(6), sin(6), sin(6))
        for norm in ("_native_batch_norm_legit_no_training(%%s, %s, 0.1, 1.e-5)" % more, "native_batch_norm(%%s, %s, False, 0.1, 1.e-5)" % more):
            conv = "torch.conv2d(x, %s)" % sin(6, 3, 2, 2)
            self.form(["y, m, s = torch.%s" % norm % conv, "return torch.relu(y)"], ["x=float32[2x3x5x7]"])
            self.assertRegex(self.said, ": 3 kernels")               # the convolution and the copies around it
            self.form(["y, m, s = torch.%s" % norm % "x", "return torch.relu(y)"], ["x=float32[2..4x6x5x7]"])
        train = "native_batch_norm(x, %s, True, 0.1, 1.e-5)" % more
        self.form(["y, m, s = torch.%s" % train, "return torch.add(y, torch.sum(m))"], ["x=float32[2x6x5x7]"], calls=1)
        self.form(["y, m, s = torch.%s" % train, "return torch.relu(y)"], ["x=float32[2x6x5x7]"], calls=1)

    def recurrent(self, kind, x, hidden, dirs=1, biases=True, first=False, proj=0, layers=2, dtype="float32"):
        """A layer with weights of its own and a given initial state."""
        gates, number, n = {"lstm": 4, "gru": 3}.get(kind, 1), {"float32": 6, "float64": 7}[dtype], 0
        def weight(*size):
            nonlocal n
            count = size[0] * (size[1] if len(size) > 1 else 1)
            n += 1
            return "torch.sin(torch.reshape(torch.arange(%d, %d, dtype=%d), [%s]))" % (n, n + count, number, ", ".join(map(str, size)))
        state = proj or hidden
        params = []
        for layer in range(layers):
            for _ in range(dirs):
                params += [weight(gates * hidden, 7 if not layer else state * dirs), weight(gates * hidden, state)]
                params += [weight(gates * hidden) for _ in range(2 * biases)] + [weight(state, hidden) for _ in range(proj > 0)]
        rows = "torch.size(x, %d)" % (0 if first else 1)
        def zeros(width):
            return "torch.zeros([%d, %s, %d], dtype=%d)" % (layers * dirs, rows, width, number)
        lstm = kind == "lstm"
        self.form(["h0, c0 = torch.add(%s, 0.5), %s" % (zeros(state), zeros(hidden)),
                   "%s = torch.%s(x, %s, [%s], %s, %d, 0., False, %s, %s)" % (
                       "y, h, c" if lstm else "y, h", kind, "[h0, c0]" if lstm else "h0", ", ".join(params), biases, layers, dirs == 2, first),
                   "return y, h, %s" % ("c" if lstm else "c0")], ["x=%s[%s]" % (dtype, x)], result="Tuple[Tensor, Tensor, Tensor]")

    def test_recurrent(self):
        """Hidden sizes that fill panels and sizes that do not, batch_first, both directions, without biases, projected, double.
        """
        for kind in "lstm", "gru", "rnn_tanh", "rnn_relu":
            for hidden, dirs, biases, first in (5, 1, True, False), (64, 1, True, False), (6, 2, True, True), (3, 2, False, False):
                for x in "4x3x7", "1..5x3x7" if not first else "2x1..5x7":
                    self.recurrent(kind, x, hidden, dirs, biases, first)
            self.recurrent(kind, "2x19x7", 67, layers=1)
            self.recurrent(kind, "1..3x2x7", 9, dirs=2, dtype="float64")
        self.recurrent("lstm", "4x3x7", 70, dirs=2, proj=5)
        self.recurrent("lstm", "1..4x3x7", 8, proj=65, first=True)
        self.recurrent("lstm", "3x2x7", 8, proj=3, biases=False, dtype="float64")

    def test_recurrent_panels(self):
        """Weights in panels for the vectors of each processor. The last panel is as wide as its loop reads."""
        if os.uname().machine != "x86_64" or os.environ.get("CFLAGS"):
            return
        for hidden in 3, 5, 10, 12, 13, 20:
            w, v, b = sin(4 * hidden, 7), sin(4 * hidden, hidden), sin(4 * hidden)
            lines = ["h = torch.zeros([1, 2, %d])" % hidden,
                     "y, _0, c = torch.lstm(x, [h, h], [%s, %s, %s, %s], True, 1, 0., False, False, False)" % (w, v, b, b), "return y, c"]
            self.put("m.pt", model(body(lines, "x: Tensor", "Tuple[Tensor, Tensor]")))
            for cpu in "x86-64", "x86-64-v3", "native":
                self.check([KILN, "build", "m.pt", "-i", "x=float32[3x2x7]", "--cpu", cpu, "--no-dynamic", "-o", "program"], 0)
                self.check([KILN, "check", "m.pt", "program", "-i", "x=float32[3x2x7]"], 0)

    def test_recurrent_cells(self):
        w = "w = torch.sin(torch.reshape(torch.arange(1, %d, dtype=%d), [%d, 5]))"
        for dtype, number in ("float32", 6), ("float64", 7):
            x = ["x=%s[3x5]" % dtype]
            self.form([w % (101, number, 20), "h, c = torch.lstm_cell(x, [x, x], w, w)", "return torch.add(h, c)"], x)
            self.form([w % (76, number, 15), "return torch.gru_cell(x, x, w, w)"], x)
            self.form([w % (26, number, 5), "return torch.rnn_tanh_cell(x, torch.rnn_relu_cell(x, x, w, w), w, w)"], x)

    def test_recurrent_weights_that_are_computed(self):
        self.form(["h, c = torch.lstm_cell(x, [x, x], w, w)", "return torch.add(h, c)"], ["x=float32[3x5]", "w=float32[20x5]"])
        self.form(["return (torch.gru(x, torch.zeros([1, 2, 5], dtype=6), [w, torch.neg(w)], False, 1, 0., False, False, False))[0]"],
                  ["x=float32[1..4x2x5]", "w=float32[15x5]"])
        self.form(["v = torch.contiguous(torch.transpose(w, 0, 1))",
                   "return (torch.gru(x, torch.zeros([1, 2, 5], dtype=6), [w, torch.transpose(v, 0, 1)], False, 1, 0., False, False, False))[0]"],
                  ["x=float32[3x2x5]", "w=float32[15x5]"])

    def test_written_parts(self):
        """An in-place operator on a part of a tensor is computed into a buffer and copied back. Both are kernels."""
        self.form(["y = torch.add(x, 1)", "_0 = torch.masked_fill_(torch.select(y, 0, 1), z, -1.5)", "return torch.mul(y, 2)"],
                  ["x=float32[2x3]", "z=bool[3]"])
        self.form(["y = torch.mul(x, 2)", "a, b, c = torch.unsafe_chunk(y, 3, 1)", "_0 = torch.sigmoid_(torch.add_(a, b))",
                   "_1 = torch.mul_(b, c)", "return torch.add(y, torch.sum(torch.tanh_(c)))"], ["x=float32[2x12]"])
        self.form(["y = torch.mul(x, 2)", "_0 = torch.clamp_(torch.slice(y, 1, 0, 4, 2), 1, 3)", "return y"], ["x=int64[3x5]"])
        # arange is computed: it is not in the memory of a constant
        self.form(["y = torch.arange(0, 12, dtype=6)", "a, b, c = torch.unsafe_chunk(y, 3)", "_0 = torch.add_(a, x)", "return torch.mul(a, b)"],
                  ["x=float32[4]"])

    def test_numbers_that_nobody_knows(self):
        """Numbers unknown when compiling, float arguments or numbers read from a tensor: their type gives the result's dtype.
        They may also be sizes."""
        n = "n = int(torch.sum(torch.slice(y, 0, 0, 1)))"                              # one runtime call
        for x in "3x4", "1..5x4":
            self.form(["return torch.sub(torch.clamp(torch.relu(torch.add(torch.mul(x, a), 1.)), 0.1, torch.mul(a, 3.)), a)"],
                      ["x=float32[%s]" % x, "a=float64[]"], calls=1, a="float")          # the call computes a * 3
            self.form(["return torch.softmax(torch.div(torch.matmul(x, torch.transpose(x, 0, 1)), a), -1)"],
                      ["x=float32[%s]" % x, "a=float64[]"], a="float")
        self.form(["return torch.pow(x, a)", ], ["x=int64[3x4]", "a=float64[]"], a="float")
        self.form(["y = torch.neg(x)", "_0 = torch.mul_(y, a)", "return torch.relu(y)"], ["x=float32[3x4]", "a=float64[]"], a="float")
        self.form([n, "return torch.mul(torch.pow(torch.add(x, n), n), n)"], ["x=float32[3x4]", "y=int64[5]"], calls=1)
        self.form([n, "return torch.neg(torch.pow(x, n))"], ["x=int64[3x4]", "y=int64[5]"], calls=2)     # a negative n raises
        self.form([n, "return torch.neg(torch.floor_divide(x, n + 1))"], ["x=int64[3x4]", "y=int64[5]"], calls=3)  # a divisor of 0 raises
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
        for dim in -1, 1, 2:             # pieces that share cache lines of the result, and more pieces than a kernel copies
            for many in 4, 9:
                self.form(["y = torch.neg(x)", "return torch.stack([%s], %d)" % (", ".join((["x", "y"] * 5)[:many]), dim)],
                          ["x=float32[2..5x7x3]"])
        self.form(["return torch.cat([x, torch.slice(x, 1, 0, 2)], 1)"], ["x=float32[2x3x4]"])
        self.form(["out = annotate(List[Tensor], [])", "for i in range(100):", "  _0 = torch.append(out, torch.mul(x, i))",
                   "return torch.stack(out, 1)"], ["x=float32[3x5]"])
        self.form(["l = [x]", "_0 = torch.extend(l, [torch.neg(x), torch.mul(x, 2)])", "return torch.cat(l, 1)"], ["x=float32[3x5]"])

    def test_join_in_place(self):
        """Tensors that only a cat reads are computed in its result. Only tensors that others read as well are copied."""
        conv = lambda x, *sizes: "torch.relu(torch.conv2d(%s, %s, None, [1, 1], [%d, %d]))" % (x, sin(*sizes), sizes[2] // 2, sizes[3] // 2)
        both = ["a = " + conv("x", 16, 3, 3, 3), "b = " + conv("x", 32, 3, 1, 1)]
        for copies, result, lines in (                  # the two copies convert to channels last and back
            (2, "Tensor", both + ["return torch.relu(torch.cat([a, b], 1))"]),
            (2, "Tensor", both + ["return torch.relu(torch.cat([torch.cat([a, b], 1), torch.neg(a)], 1))"]),
            (2, "Tensor", both + ["c = torch.cat([a, b], 1)", "d = torch.cat([c, torch.max_pool2d(c, [3, 3], [1, 1], [1, 1])], 1)",
                                  "return " + conv("d", 16, 96, 1, 1)]),
            (0, "Tensor", ["y = torch.mul(x, 2)", "return torch.neg(torch.cat([y, torch.exp(y), torch.add(y, y)], 2))"]),
            (3, "Tensor", both + ["return torch.relu(torch.cat([a, b, a], 1))"]),                        # joined twice
            (1, "Tensor", ["y = torch.mul(x, 2)", "return torch.neg(torch.cat([x, y], 1))"]),            # joins an argument
            (1, "Tuple[Tensor, Tensor]", ["y = torch.mul(x, 2)", "return (y, torch.neg(torch.cat([y, torch.exp(y)], 1)))"]),
            (1, "Tensor", ["y = torch.mul(x, 2)", "z = torch.slice(y, 2, 0, 2)", "c = torch.cat([y, torch.exp(y)], 1)",
                           "return torch.add(torch.neg(c), torch.sum(z))"]),                             # has another view
            # few bytes in a piece
            (1, "Tensor", ["y = torch.mul(torch.transpose(x, 1, 3), 2)", "return torch.neg(torch.cat([y, torch.exp(y)], 3))"]),
            (2, "Tensor", ["y = torch.mul(x, 2)", "c = torch.cat([y, torch.exp(y)], 1)", "_0 = torch.add_(torch.select(c, 1, 0), 1)",
                           "return torch.add(torch.neg(c), torch.sum(y))"])):  # written to: the cat and the part are copied
            for size in "2x3x5..9x9", "2x3x7x9":
                self.form(lines, ["x=float32[%s]" % size], result=result)
            self.check([KILN, "build", "m.pt", "-i", "x=float32[2x3x7x9]", "--no-dynamic", "--emit", "c", "--name", "p", "-o", "c"], 0)
            with open(os.path.join(self.dir, "c/p.c")) as f:
                self.assertEqual(len(re.findall(r"^(?:copy|join)_\d+\(void", f.read(), re.M)), copies, lines)

    def test_tables_of_operands(self):
        """A program has kernels for quantized tensors and lazy views only if an operator takes or makes them."""
        for line, quantized, lazy in (
            ("torch.add(x, int(ops.prim.is_quantized(x)))", False, False), ("torch.abs(torch.conj_physical(torch.complex(x, x)))", False, False),
            ("torch.dequantize(torch.quantize_per_tensor(x, 0.1, 3, 13))", True, False), ("torch.abs(torch.sum(torch.conj(torch.complex(x, x))))", False, True)):
            self.put("m.pt", model(body(["return " + line])))
            self.check([KILN, "build", "m.pt", "-i", "x=float32[7]", "--no-dynamic", "--emit", "c", "--name", "p", "-o", "c"], 0)
            with open(os.path.join(self.dir, "c/p.c")) as f: text = f.read()
            for name, has in ("quantized", quantized), ("lazy", lazy):
                self.assertTrue("const rt_%s = %s;" % (name, "&rt_%s_all" % name if has else "0") in text, (name, line))

    def test_running_inline(self):
        """The function of a scan's step is inlined into each of several loops. If it were called, the loops would not vectorize.
        """
        self.put("m.pt", model(body(["return torch.logcumsumexp(x, 1), torch.logcumsumexp(x, 2)"], result="Tuple[Tensor, Tensor]")))
        self.check([KILN, "build", "m.pt", "-i", "x=float32[2..3x20..30x32]", "--cc", "gcc", "--debug", "-o", "program"], 0)
        names = call(["nm", "program"], self.dir)[1]
        self.assertIn(b"rt_tensor_new", names)
        self.assertNotIn(b"vr_log_add", names)

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
        # A batch of more dims than the microkernel has: loops
        self.form([call_ % "None, 0., True"], ["x=float32[2x2x2x2x2x2x2x2x2x7x5]", "y=float32[2x1x2x2x2x2x2x2x2x6x5]"])
        self.form([call_ % "m"], ["x=float32[2..9x2x2x2x2x2x2x2x2x7x5]", "y=float32[2..9x2x2x2x2x2x2x2x2x6x5]", "m=float32[7x6]"])
        # Positions of an image. The larger size has more keys than there are kernels for if it is the only size.
        self.put("m.pt", model(body(["y = torch.linear(torch.transpose(torch.flatten(x, 2), 1, 2), %s)" % sin(4, 4),
                                      "return torch.scaled_dot_product_attention(y, y, y)"])))
        _, said, _ = call([KILN, "build", "m.pt", "-i", "x=float32[1x4x32x32]", *TCC, "-o", "program"], self.dir)
        self.assertEqual(re.findall(rb" (\d+) runtime calls", said), [b"0"] * len(re.findall(rb"^specialization ", said, re.M)))
        self.check([KILN, "check", "m.pt", "program", "-i", "x=float32[1x4x9x20]"], 0)
        self.form([call_ % "m"], ["x=float32[2x3x5x8]", "y=float32[3x6x8]", "m=float32[5x6]"])
        for sizes in (5, 6), (2, 1, 5, 6), (3, 1, 6), (2, 3, 5, 6):      # some rows are masked out wholly: zeros
            self.form([call_ % ("torch.gt(%s, 0.3)" % sin(*sizes))], ["x=float32[2x3x5x8]", "y=float32[2x3x6x8]"])
        self.form([call_ % ("torch.gt(%s, 2)" % sin(5, 6))], ["x=float32[2x3x5x8]", "y=float32[2x3x6x8]"])
        for mask, passed in (("torch.gt(%s, -2)" % sin(5, 6), 0), ("torch.zeros([2, 1, 1, 6])", 0), (sin(5, 6), 1), ("torch.gt(%s, -0.9)" % sin(5, 6), 1),
                             ("torch.sub(torch.ones([5, 6]), 1.)", 0)):                     # a mask without effect is removed
            inputs = ["x=float32[2x3x5x8]", "y=float32[2x3x6x8]"]
            self.form([call_ % mask], inputs)
            _, shown, _ = call([KILN, "show", "m.pt", "--stage", "optimized", "-i", inputs[0], "-i", inputs[1]], self.dir)
            none = re.search(rb"%(\S+) : NoneType", shown)
            given = re.search(rb"scaled_dot_product_attention\(%\S+, %\S+, %\S+, %(\S+),", shown).group(1)
            self.assertEqual(not (none and none.group(1) == given), passed, mask)
        self.form([call_ % "torch.zeros([4, 1, 5, 6])"], ["x=float32[1x3x5x8]", "y=float32[1x3x6x8]"], calls=1)      # raises
        for mask in "None", "torch.gt(%s, 0)" % sin(6, 5, 4), sin(2, 1, 5, 4), sin(5, 4):
            self.form([call_ % (mask + ", 0., False, scale=None, enable_gqa=True")], ["x=float32[2x6x5x8]", "y=float32[2x2x4x8]"])
        self.form([call_ % "None, 0., True, scale=None, enable_gqa=True"], ["x=float32[1x4x5x8]", "y=float32[1x1x5x8]"])
        self.form([call_ % "None, 0., True, scale=None, enable_gqa=True"], ["x=float32[2..5x4x5x8]", "y=float32[2..5x2x3..9x8]"])

    def test_heads(self):
        """The fused multi-head layer: one input or three, masks of all kinds, weights of all heads or their mean, and NaN where
        all keys are hidden."""
        weights = "%s, %s, %s, %s" % (sin(24, 8), sin(24), sin(8, 8), sin(8))
        call_ = "torch._native_multi_head_attention(%%s, 8, 2, %s, %%s)" % weights
        x, y = "x=float32[3x5x8]", "y=float32[3x4x8]"
        self.form(["a, _0 = " + call_ % ("x, x, x", "None, False"), "return a"], [x])
        self.form(["a, _0 = " + call_ % ("x, x, x", "None, False"), "return a"], ["x=float32[2..6x3..9x8]"])
        for sizes, kind in ((5, 4), 0), ((3, 4), 1), ((3, 2, 5, 4), 2):
            mask = "torch.gt(%s, 0.9)" % sin(*sizes)
            for weights in "False, True", "True, True", "True, False":
                self.form(["return " + call_ % ("x, y, y", "%s, %s, %d" % (mask, weights, kind))], [x, y], result="Tuple[Tensor, Tensor]")

    def test_hidden_scores(self):
        """Scores that a constant mask replaces: a causal mask, an arbitrary one, and a mask of a whole row. If the fill value is
        finite, a whole masked row is not hidden."""
        lower, some, row = "torch.tril(torch.ones([70, 70]))", "torch.gt(%s, -0.5)" % sin(70, 70), "torch.tril(torch.ones([70, 70]), -1)"
        for sees, fill, kernels in (lower, "-inf", 1), (lower, "-1e9", 1), (some, "-inf", 1), (row, "-1e9", 4), (row, "-inf", 1):
            self.form(["s = torch.div(torch.matmul(x, torch.transpose(x, 1, 2)), 2.)", "m = torch.eq(%s, 0)" % sees,
                       "return torch.matmul(torch.softmax(torch.masked_fill(s, m, %s), -1), x)" % fill], ["x=float32[2x70x8]"])
            self.assertIn(" %d kernels" % kernels, self.said)

    def test_distances(self):
        """Distances between many rows, or as the model asks, are computed by a product. Few rows and other norms take a call."""
        self.form(["return torch.cdist(x, y)"], ["x=float32[30x8]", "y=float32[7x8]"])
        self.form(["return torch.cdist(x, y, 2., 1)"], ["x=float32[2x1x3x8]", "y=float32[5x7x8]"])
        self.form(["return torch.cdist(x, %s)" % sin(40, 3)], ["x=float32[2..9x3]"])
        for args in "x, y", "x, x, 1.", "x, y, 2., 2":
            self.form(["return torch.cdist(%s)" % args], ["x=float32[25x8]", "y=float32[7x8]"], calls=1)

    def test_resize(self):
        for what in ("upsample_bilinear2d(%s, [5, 9], False)", "upsample_bilinear2d(%s, [7, 3], True)",
                     "upsample_bilinear2d(%s, None, False, [1.5, 2.5])", "upsample_nearest2d(%s, [5, 9])",
                     "upsample_nearest2d(%s, None, [2.0, 0.7])", "_upsample_nearest_exact2d(%s, [3, 9])",
                     "upsample_nearest2d(%s, [8, 10])", "_upsample_nearest_exact2d(%s, None, [2.0, 2.0])",
                     "upsample_nearest2d(%s, None, [1.0, 2.1])"):
            for x in "x", "torch.permute(x, [0, 3, 1, 2])":
                self.form(["return torch.%s" % what % x], ["x=float32[2x3x4x5]"])
        for dtype in "uint8", "float16", "float64":
            self.form(["return torch.upsample_nearest2d(x, [6, 6])"], ["x=%s[1x2x3x4]" % dtype])
            self.form(["return torch.upsample_nearest2d(torch.permute(x, [0, 3, 1, 2]), [6, 12])"], ["x=%s[2x3..9x6x4]" % dtype])
        for name in "upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa":
            for sizes in "[5, 9], False", "[7, 3], True", "[1, 1], True", "[3, 4], False", "[2, 17], False", "None, False, [1.5, 0.4]":
                line = "return torch.%s(%%s, %s)" % (name, sizes)
                for x in "x", "torch.permute(x, [0, 3, 1, 2])":
                    self.form([line % x], ["x=float32[2x3x4x11]"])
            self.form(["return torch.%s(x, [3, 2], False)" % name], ["x=float32[2x3x1x1]"])
            self.form(["return torch.%s(x, [torch.floordiv(torch.size(x, 2), 2), 6], False)" % name], ["x=float32[1x2x4..14x9..30]"])
        self.form(["return torch.upsample_bilinear2d(x, [torch.mul(torch.size(x, 2), 2), 6], False)"], ["x=float32[1x2x3..8x4]"])

    def test_places(self):
        """Operators whose elements depend on their index: counts, triangles and grids of these, with dynamic sizes."""
        count = "torch.arange(%s)", "torch.arange(%s, dtype=6)", "torch.arange(2, torch.add(%s, 2))", "torch.arange(0.5, torch.add(%s, 0.5), 0.25)", \
            "torch.arange(%s, -1, -2)", "torch.arange(%s, dtype=3)", "torch.arange(%s, dtype=5)"
        for line in count:
            self.form(["return torch.add(%s, torch.sum(x))" % line % "torch.size(x, 0)"], ["x=float32[2..40]"])
        for what in "x, 0", "x, -2", "x, 5", "torch.transpose(x, 1, 2), 1", "torch.select(x, 0, 0), -1":
            for name in "triu", "tril":
                self.form(["return torch.%s(%s)" % (name, what)], ["x=float32[2x5x6]"])
                self.form(["return torch.%s(%s)" % (name, what)], ["x=float16[2..4x5..9x6..20]"])
        for kind in "complex64", "bool", "int32":
            self.form(["return torch.triu(x, 1), torch.tril(torch.transpose(x, 0, 1))"], ["x=%s[20x70]" % kind], result="Tuple[Tensor, Tensor]")
        self.form(["g, h = torch.meshgrid([torch.arange(torch.size(x, 0)), torch.arange(torch.size(x, 1))])",
                   "return torch.add(torch.to(torch.stack([h, g], 2), 6), torch.unsqueeze(x, 2))"], ["x=float32[2..7x3..9]"])
        self.form(["return torch.add(torch.new_ones(x, [torch.size(x, 0), 2]), torch.new_full(x, [torch.size(x, 0), 1], 2.5))"], ["x=float32[2..7]"])

    def test_taken_apart(self):
        """Operators decomposed into others that have kernels. Dtypes without kernels take calls."""
        for line in "torch.baddbmm(s, a, b, beta=0.5, alpha=2)", "torch.baddbmm(s, a, b, beta=0)", "torch.addbmm(torch.select(s, 0, 0), a, b)":
            self.form(["return " + line], ["s=float32[3x2x5]", "a=float32[3x2x4]", "b=float32[3x4x5]"])
        for line in "torch.outer(v, torch.select(a, 1, 0))", "torch.outer(torch.neg(torch.select(a, 0, 1)), v)":
            self.form(["return " + line], ["a=float32[3..7x4]", "v=float32[4]"])
            self.form(["return " + line], ["a=int64[3x4]", "v=int64[4]"], calls=1)
        self.form(["return torch.nan_to_num(torch.log(x), 2., None, -3.)"], ["x=float32[2..4x3]"])
        for args in "[2, 3], [1, 1], [0, 0], [1, 1]", "[3, 2], [2, 1], [1, 2], [2, 3]", "[1, 1], [1, 1], [0, 0], [1, 1]":
            self.form(["return torch.im2col(x, %s)" % args], ["x=float32[2x3x8x9]"])
            self.form(["return torch.im2col(torch.select(x, 0, 1), %s)" % args], ["x=float32[2x3x8x9]"])

    def test_resize_of_other_dims(self):
        """Resizing over one dim or three, by the kernels of two dims."""
        for what, align in (("nearest", ""), ("_nearest_exact", ""), ("linear", ", False"), ("linear", ", True")):
            name = ("_upsample" if what[0] == "_" else "upsample_") + what
            self.form(["return torch.%s1d(x, [11]%s)" % (name, align)], ["x=float32[2x3x4..9]"])
            self.form(["return torch.%s1d(x, None%s, [1.7])" % (name, align)], ["x=float32[2x3x5]"])
            self.form(["a = torch.conv1d(x, %s)" % sin(5, 3, 2), "return torch.%s1d(torch.div(1., torch.relu(a)), [7]%s)" % (name, align)],
                      ["x=float32[2x3x5]"])  # some elements are infinite: none may be multiplied by a weight of 0
            name = name.replace("linear", "trilinear")
            self.form(["return torch.%s3d(x, [3, 7, 5]%s)" % (name, align)], ["x=float32[2x3x4x3x6]"])
            self.form(["return torch.%s3d(x, None%s, [2.0, 0.7, 1.5])" % (name, align)], ["x=float32[2x3x4x3x6]"])

    def test_grid(self):
        """Images and volumes, contiguous and channels last, permuted grids, coordinates outside the image, NaN and infinities."""
        edges = "torch.mul(g, 1.3)", "torch.div(torch.sub(g, 0.5), torch.mul(torch.floor(torch.mul(g, 1.4)), -2.0))"
        for mode, padding in (0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2):
            call = "return torch.grid_sampler(%s, %s, " + "%d, %d, %s)" % (mode, padding, "True" if padding == 2 else "False")
            for x in "x", "torch.permute(x, [0, 3, 1, 2])":
                for g in edges:
                    self.form([call % (x, g)], ["x=float32[2x3x4x5]", "g=float32[2x7x11x2]"])
            self.form([call % ("x", "torch.permute(g, [0, 2, 3, 1])")], ["x=float64[2..5x2x4..9x5]", "g=float64[2..5x2x3x5..8]"])
            if mode < 2:
                for g in edges:
                    self.form([call % ("x", g)], ["x=float32[2x3x4x5x3]", "g=float32[2x3x9x2x3]"])
        last = ["return torch.add(torch.grid_sampler(torch.conv2d(x, %s), g, 0, 0, False), 1)" % sin(20, 3, 1, 1)]
        self.form(last, ["x=float32[1x3x8x6]", "g=float32[1x5x7x2]"])
        self.form(last, ["x=float32[1x3x8..20x6]", "g=float32[1x5x7..9x2]"])

    def test_regions(self):
        """Contiguous and channels last, a given number of samples or an adaptive one, regions that leave the image or are empty.
        A batch index out of range raises."""
        for args in "0.5, 3, 4, 2, True", "1., 1, 7, 3, False", "0.7, 5, 2, 0, False", "1., 2, 2, -1, True":
            line = "return ops.torchvision.roi_align(%%s, torch.constant_pad_nd(torch.mul(%%s, 4.), [1, 0, 0, 0], 1.), %s)" % args
            for x in "x", "torch.permute(x, [0, 3, 1, 2])", "torch.slice(x, 3, 0, 99, 2)":
                self.form([line % (x, "b")], ["x=float32[2x7x9x5]", "b=float32[6x4]"])
            self.form([line % ("x", "torch.t(b)")], ["x=float64[2..5x3x4..9x5]", "b=float64[4x2..9]"])
        last = ["return torch.relu(ops.torchvision.roi_align(torch.conv2d(x, %s), torch.constant_pad_nd(b, [1, 0, 0, 0], 0.), 1., 3, 4, 2, False))" % sin(20, 3, 1, 1)]
        self.form(last, ["x=float32[1x3x8x6]", "b=float32[5x4]"])
        self.put("m.pt", model(body(["return ops.torchvision.roi_align(x, b, 1., 3, 4, 2, False)"], "x: Tensor, b: Tensor")))
        self.put("x.npz", npz(x=npy([1, 2, 3, 3]), b=npy([1, 5])))
        self.check([KILN, "build", "m.pt", "-i", "x.npz", "--cpu", "native", "-o", "program"], 0)
        self.put("y.npz", npz(x=npy([1, 2, 3, 3]), b=npy([1, 5], data=struct.pack("<5f", 1, 0, 0, 1, 1))))
        self.check(["./program", "-i", "x.npz", "--strict"], 0)
        self.check(["./program", "-i", "y.npz"], 1, "roi_align: the batch index of region 0 is out of range")

    def test_loop_of_one_trip(self):
        """A loop that runs exactly once is replaced by its body."""
        self.form(["return torch.diff(x)"], ["x=float32[4x7]"])
        self.form(["return torch.diff(x, 1, 0)"], ["x=int64[4x7]"])

    def test_adaptive_pools(self):
        """Windows of equal and unequal sizes, runs that fill lanes and runs that do not, contiguous and channels last. A NaN in a
        window gives NaN."""
        for pool in "adaptive_max_pool%dd(%s, %s))[0]", "adaptive_avg_pool%dd(%s, %s))":
            for sizes, out in (("2x3x70", [1]), ("3x5..40", [4]), ("2x3x37x41", [1, 1]), ("2..4x7x20x9", [3, 2]), ("3x6x64", [1, 3])):
                dims = len(out)
                for x in ("x", "torch.where(torch.gt(x, 1.5), torch.log(torch.neg(x)), x)", "torch.transpose(x, -1, -2)")[:2 + (dims == 2)]:
                    self.form(["return torch.relu((torch." + pool % (dims, x, out) + ")"], ["x=float32[%s]" % sizes])
        lines = ["y = torch.conv2d(x, %s)" % sin(5, 3, 1, 1), "return (torch.adaptive_max_pool2d(y, [1, 1]))[0], (torch.adaptive_max_pool2d(y, [2, 3]))[0]"]
        self.form(lines, ["x=float32[2x3x9x8]"], result="Tuple[Tensor, Tensor]")
        self.form(["y, i = torch.adaptive_max_pool1d(x, [1])", "return torch.add(y, i)"], ["x=float32[2x3x9]"], calls=1)

    def test_padded_by_edges(self):
        """Each dim is padded in turn from the part of the result already there. A reflection longer than the input raises.
        Cropping takes a call."""
        for dims, pad in ((1, [2, 3]), (1, [0, 1]), (2, [1, 2, 3, 0]), (2, [0, 0, 4, 4]), (3, [1, 0, 0, 2, 4, 3])):
            for mode in "reflect", "replicate", "circular":
                line = "return torch.pad(torch.transpose(x, 0, 1), %s, \"%s\")" % (pad, mode)
                self.form([line], ["x=float32[2x3x%s]" % "x".join(["7"] * dims)])
                self.form([line], ["x=float32[2..5x3x%s]" % "x".join(["7"] * dims)])
                self.form([line], ["x=float32[2..4x3x%s]" % "x".join(["5..9", "6..11", "7..8"][:dims])])
        for kind in "uint8", "int64", "float16", "complex64":
            self.form(["return torch.pad(x, [3, 2, 1, 1], \"reflect\"), torch.replication_pad2d(x, [1, 2, 0, 3])"], ["x=%s[2x4x6]" % kind],
                      result="Tuple[Tensor, Tensor]")
        self.form(["return torch.pad(x, [3, -1], \"replicate\")"], ["x=float32[2x3x7]"], calls=1)
        self.put("m.pt", model(body(["return torch.reflection_pad1d(x, [4, 0])"])))
        self.check([KILN, "build", "m.pt", "-i", "x=float32[2x3x7]", *TCC, "-o", "program"], 0)
        for n, status in ((5, 0), (4, 1), (3, 1)):
            self.put("x.npz", npz(x=npy((2, 3, n), "<f4", bytes(24 * n))))
            rc, _, errors = call(["./program", "-i", "x.npz"], self.dir)
            self.assertEqual(rc, status, errors)
            self.assertIn(b"" if not status else b"Padding size should be less than", errors)


if __name__ == "__main__":
    unittest.main()
