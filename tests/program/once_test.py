"""Weights that a kernel's form only permutes are stored once. Generic code unpacks them: whole, in parts, in a list.

usage: once_test.py KILN
"""
import json, os, struct, sys, unittest

KILN = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hostile import Test, archive, attrs, body, glob, model, npy, npz, pickled, tensor, text

SAMPLES = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../samples"))


def elements(dims):
    n = 1
    for d in dims:
        n *= d
    return n


def floats(n, period):
    return struct.pack("<%df" % n, *(i % period / period - 0.5 for i in range(n)))


def halves(n, bits, form):
    """Numbers whose significands have `bits` bits, of several powers of 2: as floats, as bfloat16 (the upper halves of floats) or
    as float16."""
    numbers = (((1 << bits - 1) + i * 37 % (1 << bits - 1)) * 2.0 ** (-bits - i % 5) * (-1) ** (i // 3) for i in range(n))
    if form == "bfloat16":
        return b"".join(struct.pack("<f", x)[2:] for x in numbers)
    return struct.pack("<%d%s" % (n, form), *numbers)


def floats_of_halves(bits):
    return struct.pack("<%df" % len(bits), *struct.unpack("<%de" % len(bits), struct.pack("<%dH" % len(bits), *bits)))


class Once(Test):
    def plain(self, model, given):
        """Number of bytes of weights that are stored unpacked. Checks that specialized and generic code agree."""
        self.check([KILN, "build", model, "-i", given, "--cpu", "native", "-o", "program", "--json", "build.json"], 0)
        self.check(["./program", "-i", given, "--selfcheck"], 0)
        with open(os.path.join(self.dir, "build.json")) as f:
            self.forms = json.load(f)["weight_forms"]
        return self.forms["plain"]

    def net(self, weight, lines, dims, data=None, storage="FloatStorage"):
        strides = [elements(weight[i + 1:]) for i in range(len(weight))]
        state = attrs(training=b"\x89", w=tensor(elements(weight), weight, strides, storage))
        self.put("m.pt", model(body(lines), state, **{"data/0": data or floats(elements(weight), 17)}))
        self.put("x.npz", npz(x=npy(dims, data=floats(elements(dims), 13))))
        return self.plain("m.pt", "x.npz")

    def test_whole(self):
        self.assertEqual(self.net([33, 20], ["return torch.linear(x, self.w)"], [4, 20]), 0)

    def test_parts(self):
        lines = ["w = self.w", "q, k = torch.linear(x, torch.slice(w, 0, 0, 20)), torch.linear(x, torch.slice(w, 0, 20, 33))",
                 "return torch.cat([q, k], 1)"]
        self.assertEqual(self.net([33, 20], lines, [4, 20]), 0)
        self.assertEqual(self.net([34, 20], lines, [4, 20]), 34 * 20 * 4)              # a row that no kernel reads

    def test_groups(self):
        self.assertEqual(self.net([24, 8, 3, 2], ["return torch.conv2d(x, self.w, None, [1, 1], [1, 1], [1, 1], 3)"], [1, 24, 5, 5]), 0)
        self.assertEqual(self.net([48, 1, 3, 2], ["return torch.conv2d(x, self.w, None, [1, 1], [1, 1], [1, 1], 48)"], [1, 48, 5, 5]), 0)

    def test_transposed(self):
        """Each phase of the stride has its taps in panels. If the stride does not divide the taps, some are zeros."""
        call = "return torch.conv_transpose2d(x, self.w, None, [2, 2], [%d, %d], [0, 0], 1)"
        for taps, padding in (2, 0), (4, 1), (3, 0), (3, 1), (5, 2):
            with self.subTest(taps=taps, padding=padding):
                for channels in 20, 32:
                    self.assertEqual(self.net([24, channels, taps, taps], [call % (padding, padding)], [1, 24, 5, 5]), 0)

    def test_volumes(self):
        call = "return torch.conv3d(x, self.w, None, %s, [1, 1, 1], [1, 1, 1], 1)"
        self.assertEqual(self.net([32, 16, 3, 3, 3], [call % [1, 1, 1]], [1, 16, 6, 6, 6]), 0)
        self.assertEqual(self.net([32, 16, 3, 3, 3], [call % [2, 2, 2]], [2, 16, 6, 6, 6]), 0)
        call = "return torch.conv_transpose3d(x, self.w, None, [2, 2, 2], [0, 0, 0], [0, 0, 0], 1)"
        self.assertEqual(self.net([16, 32, 2, 2, 2], [call], [1, 16, 4, 4, 4]), 0)
        self.assertEqual(self.net([16, 32, 3, 1, 2], [call], [1, 16, 4, 4, 4]), 0)     # phases, then gathered

    def test_zeros(self):
        """Taps that are zero are in no panel: the last ones of rows 0 to 7, the first ones of rows 8 to 15."""
        taps = [not (o < 8 and 2 in (t // 3, t % 3) or 8 <= o < 16 and 0 in (t // 3, t % 3)) for o in range(32)
                for c in range(16) for t in range(9)]
        w = struct.pack("<4608f", *(on and i % 17 + 1 for i, on in enumerate(taps)))
        lines = ["w = self.w", "y = torch.conv2d(x, torch.slice(w, 0, 0, 16), None, [1, 1], [1, 1])",
                 "z = torch.conv2d(x, torch.slice(w, 0, 16, 32), None, [1, 1], [1, 1])", "return torch.cat([y, z], 1)"]
        self.assertEqual(self.net([32, 16, 3, 3], lines, [1, 16, 5, 5], w), 0)
        lines[2] = "z = torch.conv2d(x, torch.slice(w, 0, 12, 28), None, [1, 1], [1, 1])"
        self.assertEqual(self.net([32, 16, 3, 3], lines, [1, 16, 5, 5], w), 32 * 16 * 9 * 4)   # rows that no kernel reads

    def test_needed(self):
        """A weight that is also a table of rows is stored unpacked."""
        lines = ["y = torch.embedding(self.w, torch.argmax(x, 1))", "return torch.linear(y, self.w)"]
        self.assertEqual(self.net([33, 20], lines, [4, 20]), 33 * 20 * 4)

    def test_calls(self):
        """A runtime call whose sizes depend on data unpacks a weight, or a view of it, from a kernel's panels. So does a guard.
        """
        some = "k = torch.index(x, [torch.gt(torch.select(x, 1, 0), 0.)])"
        for lines in ["return torch.cat([torch.linear(x, self.w), torch.linear(k, self.w)])"], \
                ["return torch.cat([torch.linear(x, self.w), torch.matmul(k, torch.t(self.w))])"], \
                ["w = self.w", "y = torch.linear(x, w)", "if bool(torch.gt(torch.sum(x), 0.)):", "  y = torch.add(y, torch.sum(torch.linear(k, w)))",
                 "else:", "  pass", "return y"]:
            with self.subTest(lines=lines):
                self.assertEqual(self.net([33, 20], [some, *lines], [4, 20]), 0)
                for rows, data in (4, floats(80, 11)), (7, floats(140, 11)), (4, struct.pack("<80f", *range(80))):
                    self.put("more.npz", npz(x=npy([rows, 20], data=data)))
                    self.check(["./program", "-i", "more.npz", "--selfcheck"], 0)
                    self.check([KILN, "check", "m.pt", "program", "-i", "more.npz"], 0)

    def test_tied(self):
        """An embedding reads its rows from the panels of the product with the same weight."""
        for storage, dtype, data in ("FloatStorage", 6, None), ("FloatStorage", 6, halves(66000, 8, "f")), \
                ("BFloat16Storage", 15, halves(66000, 8, "bfloat16")), ("HalfStorage", 5, halves(66000, 11, "e")):
            for scale in "", " * 0.5":
                with self.subTest(storage=storage, halves=data is not None, scale=scale):
                    lines = ["y = torch.embedding(self.w, torch.argmax(x, 1))" + scale, "return torch.to(torch.linear(y, self.w), 6)"]
                    self.assertEqual(self.net([1100, 60], lines, [4, 1100], data, storage), 0)
                    self.put("more.npz", npz(x=npy([9, 1100], data=floats(9900, 1031))))
                    self.check([KILN, "check", "m.pt", "program", "-i", "x.npz", "-i", "more.npz"], 0)

    def test_slots(self):
        """A layer's weight is not kept just because the code reads an attribute with the same number in another class."""
        code = """class Layer(Module):
  __parameters__ = ["weight", ]
  __buffers__ = []
  training : bool
  weight : Tensor
  def forward(self: __torch__.Layer, x: Tensor) -> Tensor:
    return torch.linear(x, self.weight)
class M(Module):
  __parameters__ = []
  __buffers__ = ["last", ]
  training : bool
  last : Tensor
  layer : __torch__.Layer
  def forward(self: __torch__.M, x: Tensor) -> Tensor:
    y = torch.add((self.layer).forward(x, ), self.last)
    self.last = torch.mul(y, 0.5)
    return y
"""
        layer = glob("__torch__", "Layer") + b")\x81" + attrs(training=b"\x89", weight=tensor(33 * 20, [33, 20], [20, 1])) + b"b"
        last = tensor(33, [33], [1]).replace(text("0"), text("1"))
        self.put("m.pt", archive({"data/0": floats(33 * 20, 17), "data/1": floats(33, 5), "constants.pkl": pickled(b")"), "version": b"3\n",
                                  "code/__torch__.py": code.encode(), "data.pkl": pickled(
                                      glob("__torch__", "M") + b")\x81" + attrs(training=b"\x89", last=last, layer=layer) + b"b")}))
        self.put("x.npz", npz(x=npy([4, 20], data=floats(80, 13))))
        self.assertEqual(self.plain("m.pt", "x.npz"), 33 * 4)

    def test_halves(self):
        """16-bit numbers take 16 bits, whether the model stores them as such or as floats, in any form."""
        for storage, dtype, data in ("FloatStorage", 6, halves(16510, 8, "f")), ("FloatStorage", 6, halves(16510, 11, "f")), \
                ("BFloat16Storage", 15, halves(16510, 8, "bfloat16")), ("HalfStorage", 5, halves(16510, 11, "e")):
            for rows, product, weight in (3, "linear", [130, 127]), (40, "matmul", [127, 130]):
                with self.subTest(storage=storage, dtype=dtype, rows=rows):
                    self.assertEqual(self.net(weight, ["return torch.%s(torch.to(x, %d), self.w)" % (product, dtype)], [rows, 127],
                                              data, storage), 0)
                    self.assertEqual(self.forms["panels"], 144 * 128 * 2)
        self.net([130, 127], ["return torch.linear(x, self.w)"], [3, 127], halves(16509, 11, "f") + struct.pack("<f", 1 / 3))
        self.assertEqual(self.forms["panels"], 136 * 127 * 4)                                    # one number does not fit 16 bits

    def test_halves_on_a_grid(self):
        """16-bit numbers that are small integers times a scale are packed as integers and computed from them. Zeros, too."""
        n = 130 * 128
        for storage, dtype, most, bits in ("BFloat16Storage", 15, 1, 4), ("BFloat16Storage", 15, 0, 4), ("HalfStorage", 5, 50, 8):
            numbers = [(i * i % 8191 % (2 * most + 1) - most) * 0.25 for i in range(n)]
            data = struct.pack("<%de" % n, *numbers) if dtype == 5 else b"".join(struct.pack("<f", x)[2:] for x in numbers)
            with self.subTest(storage=storage, most=most):
                lines = ["return torch.linear(torch.to(x, %d), self.w)" % dtype]
                self.assertEqual(self.net([130, 128], lines, [3, 128], data, storage), 0)
                self.assertLess(self.forms["panels"], 1.2 * n * bits / 8)
                self.check([KILN, "check", "m.pt", "program", "-i", "x.npz"], 0)

    def test_bytes_by_scales(self):
        """Bytes with a scale per row or group, of any sign, and with zero points: panels hold the model's codes."""
        n = 130 * 128
        numbers = "torch.sin(torch.mul(torch.reshape(torch.arange(1, %d, dtype=6), %s), 12.9898))"
        row, group = numbers % (131, [130, 1]), numbers % (521, [130, 4, 1])
        zeros = "torch.to(torch.reshape(torch.arange(130), [130, 1]), 6)"
        codes = [i * i % 8191 % 256 for i in range(n)]
        e5m2, e4m3fn = "torch.to(self.w, 6)", "torch.to(torch.reshape(self.w, [130, 4, 32]), 6)"
        for storage, mask, w, bits in (
                ("CharStorage", 0xff, "torch.mul(torch.to(self.w, 6), %s)" % row, 8),
                ("ByteStorage", 0xff, "torch.mul(torch.sub(torch.to(self.w, 6), %s), %s)" % (zeros, row), 8),
                ("ByteStorage", 0x0f, "torch.mul(torch.sub(torch.to(self.w, 6), 7.), %s)" % row, 4),
                ("Float8_e5m2Storage", 0xfb, "torch.mul(%s, %s)" % (e5m2, row), 8),
                ("Float8_e4m3fnStorage", 0xfe, "torch.reshape(torch.mul(%s, %s), [130, 128])" % (e4m3fn, group), 8)):
            with self.subTest(w=w):
                data = bytes(c & mask for c in codes)
                self.assertLess(self.net([130, 128], ["return torch.linear(x, %s)" % w], [3, 128], data, storage), n // 4)
                self.assertLess(self.forms["panels"], 1.2 * n * bits / 8)
                self.check([KILN, "check", "m.pt", "program", "-i", "x.npz"], 0)

    def test_windows_of_halves(self):
        """The same for convolutions. Floats and the weights of Winograd's form are computed when the program is opened."""
        calls = [("2d(%s, self.w)", [64, 32, 3, 3], [1, 32, 30, 30], 64 * 32 * 9), ("2d(%s, self.w)", [130, 127, 1, 1], [2, 127, 3, 5], 136 * 127),
                 ("1d(%s, self.w, None, [1], [0], [1], 2)", [64, 32, 9], [1, 64, 20], 64 * 32 * 9),
                 ("_transpose2d(%s, self.w, None, [2, 2])", [64, 64, 2, 2], [1, 64, 5, 5], 64 * 64 * 4)]
        for storage, dtype, bits, form, some in ("FloatStorage", 6, 8, "f", 1), ("FloatStorage", 6, 11, "f", 4), \
                ("BFloat16Storage", 15, 8, "bfloat16", 4), ("HalfStorage", 5, 11, "e", 1):
            for call, weight, x, n in calls[:some]:
                with self.subTest(storage=storage, bits=bits, weight=weight):
                    data = halves(elements(weight), bits, form)
                    self.assertEqual(self.net(weight, ["return torch.conv" + call % ("torch.to(x, %d)" % dtype)], x, data, storage), 0)
                    self.assertEqual(self.forms["panels"], n * 2)

    def test_bits_of_two_dtypes(self):
        """Weights of bfloat16 and of float16 with the same bits are different numbers."""
        bits = [0x3000 + i * 37 % 0x1000 for i in range(64 * 64 * 9)]
        data = b"".join(struct.pack("<HH", 0, b) for b in bits) + floats_of_halves(bits)
        for call in "conv2d(x, %s, None, [1, 1], [1, 1])", "conv2d(x, %s, None, [2, 2])":
            with self.subTest(call=call):
                lines = ["a, b = torch.slice(self.w, 0, 0, 64), torch.slice(self.w, 0, 64, 128)",
                         "return torch.mul(torch.%s, torch.%s)" % (call % "a", call % "b")]
                self.net([128, 64, 3, 3], lines, [1, 64, 30, 30], data)
                self.check([KILN, "check", "m.pt", "program", "-i", "x.npz"], 0)          # generic code reads the same panels

    def test_list(self):
        sample = os.path.join(SAMPLES, "lstm")
        self.assertLess(self.plain(os.path.join(sample, "model.pt"), os.path.join(sample, "in.npz")), 4096)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
