"""Sizes other than those of the one input: which sizes become symbols, and whether answers at other sizes are the interpreter's.
The ranges that --info prints are tested at their ends and in the middle.

usage: symbols_test.py KILN
"""
import json, math, os, random, re, struct, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import npz as arrays
from hostile import KILN, Test, body, call, model, npy, npz


class Symbols(Test):
    def sized(self, text):
        """Writes an input file of float32 arguments with sizes like "x=2x3 y=4"."""
        arrays = {}
        for arg in text.split():
            name, sizes = arg.split("=")
            dims = [int(d) for d in sizes.split("x")]
            arrays[name] = npy(dims, data=struct.pack("<%df" % math.prod(dims), *[math.sin(i * i + len(name)) for i in range(math.prod(dims))]))
        self.put(text.replace(" ", ",") + ".npz", npz(**arrays))
        return text.replace(" ", ",") + ".npz"

    def build(self, text, sizes, *options):
        """Builds the model. Returns the signature of each dynamic specialization, except the one for a batch of 1 after larger
        ones, which goes to self.ones. self.calls gets all numbers of runtime calls."""
        self.put("m.py", ("def forward%s\n" % text).encode())
        code, out, err = call([KILN, "build", "m.py", "-i", self.sized(sizes), "--cc", "tcc", "-v", "-o", "program",
                               *options], self.dir)
        self.assertEqual(code, 0, err.decode())
        self.assertNotIn(b"contradict", err)
        self.kernels = [int(n) for n in re.findall(r"exact, .*: (\d+) kernels", (out + err).decode())]
        self.calls = [int(n) for n in re.findall(r"dynamic, .*: \d+ kernels, (\d+) runtime calls", (out + err).decode())]
        found = re.findall(r"dynamic, \w+\((.*)\): \d+ kernels", re.sub(r", device=cpu", "", (out + err).decode()))
        at = len(found) if re.search(r"=1\b|=1x", sizes) else 1
        self.ones = found[at:]
        self.calls = self.calls[:at]
        return found[:at]

    def same(self, sizes, ran):
        """At these sizes the program answers as the unoptimized graph in the interpreter. ran: the code that must run, or "" for
        any."""
        code, out, err = call([KILN, "run", "m.py", "-O0", "-i", self.sized(sizes), "-o", "right.npz"], self.dir)
        self.assertEqual(code, 0, err.decode())
        code, out, err = call(["./program", "-i", self.sized(sizes), "-o", "o.npz", "--guards"], self.dir)
        self.assertEqual(code, 0, err.decode())
        self.assertIn(ran, err.decode())
        self.assertTrue(ran in ("generic", "") or "generic" not in err.decode(), err.decode())
        right, o = (arrays.read(os.path.join(self.dir, f)) for f in ("right.npz", "o.npz"))
        self.assertEqual(sorted(right), sorted(o))
        for key in right:
            self.assertEqual(right[key][:2], o[key][:2], key)
            most = max([abs(x) for x in right[key][2]] or [0])
            self.assertLessEqual(max([abs(a - b) for a, b in zip(right[key][2], o[key][2])] or [0]), 2e-5 * most, key)

    LINEAR = "(x: Tensor) -> Tensor:\n    w = torch.sin(torch.arange(12)).reshape([3, 4])\n    return torch.relu(torch.linear(x, w))"

    def test_batch_of_one(self):
        self.assertEqual(self.build(self.LINEAR, "x=1x4"), ["x: Float(s0, 4)"])
        self.assertEqual(len(self.kernels), 1, "one specialization for the batch that was profiled")
        self.same("x=1x4", "exact")
        for n in (2, 3, 64, 100):
            self.same("x=%dx4" % n, "dynamic")
        self.same("x=0x4", "generic")

    def test_batch_after_larger_ones(self):
        """A batch of 1 has a specialization: a dynamic one if other sizes vary, an exact one if none does. It has none if that is
        impossible."""
        self.assertEqual(self.build(self.LINEAR, "x=8x4"), ["x: Float(s0, 4)"])
        self.assertEqual(self.ones, [])
        self.same("x=1x4", "exact")
        self.same("x=2x4", "dynamic")
        mean = "(x: Tensor, m: Tensor) -> Tensor:\n    return torch.mean(x * m.unsqueeze(2), 1) + x[:, 0].squeeze()"
        self.assertEqual(self.build(mean, "x=4x6x5 m=4x6"), ["x: Float(s0, s1, s2), m: Float(s0, s1)"])
        self.assertEqual(self.ones, ["x: Float(1, s0, s1), m: Float(1, s0)"])
        for sizes in "x=1x6x5 m=1x6", "x=1x9x4 m=1x9":
            self.same(sizes, "dynamic")
        self.build(self.LINEAR + " * 2 if x.size(0) == 1 else torch.linear(x, w)", "x=8x4")
        self.same("x=1x4", "exact")
        self.put("m.py", ("def forward%s\n" % self.LINEAR).encode())
        said = call([KILN, "build", "m.py", "-i", "x=float32[2..8x4]", "--cc", "tcc", "-o", "program"], self.dir)[1].decode()
        self.assertNotIn("Float(1,", said, "1 is not among the sizes that were declared")
        self.build("(x: Tensor) -> Tensor:\n    assert x.size(0) > 1, 'too few'\n    return x * 2", "x=4x3")
        self.assertEqual(self.ones, [])
        self.assertIn(b"too few", call(["./program", "-i", self.sized("x=1x3"), "-o", "o.npz"], self.dir)[2])

    def test_batch_of_one_instead(self):
        """Padded and unpadded lengths share no code, so only the profiled length has code: for a batch and for a batch of 1."""
        text = ("(x: Tensor) -> Tensor:\n    w = torch.sin(torch.arange(9)).reshape([1, 1, 3, 3])\n    t = x.size(1)\n    r = x\n"
                "    for k in [24, 7]:\n        n = (t + k - 1) // k\n"
                "        y = torch.constant_pad_nd(x, [0, 0, 0, n * k - t]).reshape([x.size(0), n, k, 1]).permute([0, 3, 1, 2])\n"
                "        y = torch.relu(torch.conv2d(y, w, None, [1, 1], [1, 1])).permute([0, 2, 3, 1])\n"
                "        r = torch.stack([r, y.reshape([x.size(0), -1, 1])[:, :t]], -1).sum(-1)\n    return r")
        self.assertEqual(self.build(text, "x=2x96x1"), ["x: Float(s0, 96, 1)"])
        self.same("x=1x96x1", "exact")
        self.same("x=5x96x1", "dynamic")

    def test_ends(self):
        """The range of a batch has no end if all sizes are proved, unless larger batches take another path. Ranges of several
        symbols end where tensors would be too large for a machine."""
        self.build(self.LINEAR, "x=40x4")
        self.assertIn("s0 from 2 on; ", call(["./program", "--info"], self.dir)[1].decode())
        self.same("x=5000x4", "dynamic")
        self.build("(x: Tensor) -> Tensor:\n    y = torch.relu(x)\n    return y if x.size(0) < 2000 else y + 1", "x=3x4")
        self.same("x=1999x4", "dynamic")
        self.same("x=2000x4", "generic")
        spectrum = "(x: Tensor) -> Tensor:\n    return torch._fft_r2c(torch.relu(x), [1], 0, True).abs() * 2"
        self.build(spectrum, "x=2x4")
        self.assertRegex(call(["./program", "--info"], self.dir)[1].decode(), r"s0 from 2 to 1031, .* [1-9]\d* checked")
        self.build(spectrum, "x=40x4")
        self.assertIn("s0 from 2 to 1031", call(["./program", "--info"], self.dir)[1].decode())
        self.build("(x: Tensor) -> Tensor:\n    w = torch.sin(torch.arange(300.))\n    return torch.relu(x) * w[:x.size(0)].unsqueeze(1)", "x=8x4")
        self.assertIn("s0 from 2 to 256", call(["./program", "--info"], self.dir)[1].decode())
        self.put("m.py", ("def forward%s\n" % self.LINEAR).encode())
        call([KILN, "build", "m.py", "-i", "x=float32[2..8x4]", "--cc", "tcc", "-o", "program"], self.dir)
        self.assertIn("s0 from 2 to 8", call(["./program", "--info"], self.dir)[1].decode())
        self.build("(x: Tensor) -> Tensor:\n    return torch.linalg_det(torch.relu(x) + 1)", "x=2x5x3x3")
        ends = [int(e) for e in re.findall(r"s\d from \d+ to (\d+)", call(["./program", "--info"], self.dir)[1].decode())]
        self.assertEqual(len(ends), 5)                           # s0, s1, s2; and s0, s1 for a batch of 1
        self.assertLessEqual(ends[0] * ends[1] * ends[2] ** 2, 2 ** 31)
        self.same("x=3x6x4x4", "dynamic")

    def test_narrow_numbers(self):
        """A kernel with 32-bit positions in an image: entry checks that they fit, since the range of its sides has no end."""
        self.put("m.py", b"def forward(x: Tensor) -> Tuple[Tensor, Tensor]:\n    w = torch.sin(torch.arange(72)).reshape([8, 1, 3, 3])\n"
                         b"    return torch.max_pool2d_with_indices(torch.conv2d(x, w, None, [1, 1], [1, 1]), [2, 2])")
        self.assertEqual(call([KILN, "build", "m.py", "-i", self.sized("x=2x1x16x24"), "--emit", "c", "--cpu", "x86-64-v3", "-o", "narrow"], self.dir)[0], 0)
        with open(os.path.join(self.dir, "narrow", "narrow.c")) as f:
            self.assertRegex(f.read(), r"RT_TIE_CEIL, \{ 1LL, 1LL, 2, \{ \d+, \d+, 0, 0 } }, 2147483648LL, \{ 0LL, 1LL, 0,")

    def test_tiles_with_a_rest(self):
        """Some blocks of a convolution's tiles are partial in the samples: sizes with a remainder have dynamic code, too."""
        text = ("(x: Tensor) -> Tensor:\n    w = torch.sin(torch.arange(9216)).reshape([32, 32, 3, 3]) * 0.05\n"
                "    h = torch.zeros([x.size(0), 32, x.size(3), x.size(4)])\n    for t in range(x.size(1)):\n"
                "        h = torch.conv2d(h + x[:, t], w, None, [1, 1], [1, 1])\n    return h")
        self.put("m.py", ("def forward%s\n" % text).encode())
        err = call([KILN, "build", "m.py", "-i", self.sized("x=1x6x1x32x32"), "--emit", "c", "--cpu", "x86-64-v3", "-o", "rest"], self.dir)[2]
        with open(os.path.join(self.dir, "rest", "rest.c")) as f:
            code = f.read()
        self.assertRegex(code, r"\(s\[0\] \* \(\(s\[\d\] \+ 3\) / 4\) \* \(\(s\[\d\] \+ 3\) / 4\) \+ 5\) / 6, 1, conv_", err)
        self.assertNotIn("RT_TIE_REST, {", code)

    def test_none_of_a_tuple(self):
        """An element of an argument with sizes that is None at all sizes."""
        self.assertEqual(self.build("(t: Tuple[Tensor, Optional[Tensor]]) -> Tuple[Optional[Tensor], Tensor]:\n    return t[1], torch.relu(t[0])",
                                    "t.0=3x4"), ["t: (Float(s0, s1), None)"])
        self.same("t.0=5x7", "dynamic")
        self.build("(t: List[Tuple[Tensor, Tensor]]) -> Tensor:\n    a, b = t[0]\n    return torch.cat([a, b], 1) / math.sqrt(len(t))", "t.0.0=3x4 t.0.1=3x5")
        self.assertIn("0 checked", call(["./program", "--info"], self.dir)[1].decode())

    def test_sizes_in_values(self):
        """Sizes in computations, as ints and as floats, and in splits of axes: all become kernels."""
        self.assertEqual(self.build("(x: Tensor) -> Tensor:\n    y = x * x.size(0) + torch.relu(x) / math.sqrt(float(x.size(1)))\n"
                                    "    return torch.mean(y, [1], True) - y.reshape([-1]).reshape([x.size(0), x.size(1)])",
                                    "x=3x4"), ["x: Float(s0, s1)"])
        self.assertEqual(self.calls, [0])
        for sizes in ("x=3x4", "x=5x9", "x=2x40", "x=40x3"):
            self.same(sizes, "exact" if sizes == "x=3x4" else "dynamic")

    STEPS = ("(x: Tensor, h: Tensor) -> Tensor:\n    w = torch.sin(torch.arange(36.)).reshape([12, 3])\n    u = torch.cos(torch.arange(36.)).reshape([12, 3])\n"
             "    for t in range(2):\n        a, b, c, d = torch.unsafe_chunk(torch.linear(x[t], w) + torch.linear(h, u), 4, 1)\n"
             "        h = b.sigmoid_() * h + a.sigmoid_() * c.tanh_() + d\n    return h")

    def test_steps(self):
        """The batch of a sequence and of its cell's states is one symbol. A number of steps that decides about products is fixed.
        """
        self.assertEqual(self.build(self.STEPS, "x=2x1x3 h=1x3"), ["x: Float(2, s0, 3), h: Float(s0, 3)"])
        self.assertEqual(self.calls, [0])
        for sizes, ran in ("x=2x1x3 h=1x3", "exact"), ("x=2x5x3 h=5x3", "dynamic"), ("x=2x70x3 h=70x3", "dynamic"), ("x=4x5x3 h=5x3", "generic"):
            self.same(sizes, ran)

    LOOP = ("(x: Tensor) -> Tensor:\n    w = torch.sin(torch.arange(12.)).reshape([3, 4])\n    h = torch.zeros([x.size(%d), 3])\n"
            "    o = torch.zeros([x.size(0), x.size(1), 3])\n    for t in range(x.size(%d)):\n"
            "        h = torch.tanh(torch.linear(%s, w) + h)\n        %s\n    return torch.relu(o) + h%s")

    def test_loops(self):
        """Loop-carried values of a loop over a symbol have types, so their products and sums are kernels. Its elements are views,
        which it may write to."""
        for calls, axes in ((2, (1, 0, "x[t]", "o[t] = h", "")), (2, (0, 1, "x[:, t]", "o[:, t] = h", ".unsqueeze(1)")),
                            (6, (1, 0, "x[-1 - t]", "o[t] += h\n        o[t].mul_(0.5)", ""))):
            self.assertEqual(self.build("%s" % (self.LOOP % axes), "x=5x3x4"), ["x: Float(s0, s1, 4)"])
            self.assertEqual(self.calls, [calls])            # elements, their indices, and writes to them
            for sizes, ran in ("x=5x3x4", "exact"), ("x=8x4x4", "dynamic"), ("x=6x9x4", "dynamic"), ("x=5000x1x4", "generic"):
                self.same(sizes, ran)

    def test_parts_in_loops(self):
        """Sizes of parts of a loop-carried value, and of an element at an index from the data, are no products of the symbols."""
        self.cases(("(x: Tensor) -> Tensor:\n    h = torch.zeros([x.size(1)])\n    s = torch.zeros([])\n    for t in range(x.size(0)):\n"
                    "        h = torch.tanh(h + x[t])\n        s = s + torch.relu(h[::2]).sum()\n    return s + h[::3].sum()", "x=5x7",
                    ["x: Float(s0, s1)"], ("x=6x8", "dynamic"), ("x=3x13", "dynamic")))
        carried = self.calls
        self.cases(("(x: Tensor, i: Tensor) -> Tensor:\n    s = torch.zeros([])\n    for t in range(i.size(0)):\n"
                    "        s = s + torch.tanh(x[int(i[t] * 2.5)][::2]).sum()\n    return s", "x=4x7 i=6",
                    ["x: Float(s0, s1), i: Float(s2)"], ("x=5x8 i=9", "dynamic"), ("x=4x13 i=7", "dynamic")))
        self.assertEqual((carried, self.calls), ([1], [3]))

    def test_views_behind_loops(self):
        """The storage of a view is numbered by tensors, without those of a trip that was undone."""
        self.cases(("(x: Tensor) -> Tensor:\n    z = torch.relu(x)\n    y = z\n    for i in range(128):\n        for j in range(128):\n"
                    "            y = y + 1\n    return torch.tanh(z.t()).t() + y", "x=4x3", ["x: Float(s0, s1)"], ("x=5x7", "dynamic")))

    def test_loop_by_data(self):
        """Elements at indices from the data, in a loop whose number of trips is a symbol."""
        self.assertEqual(self.build("(x: Tensor, i: Tensor) -> Tensor:\n    s = torch.zeros([x.size(1)])\n"
                                    "    for t in range(i.size(0)):\n        s = torch.tanh(s + x[int(i[t] * 2.5)])\n    return s",
                                    "x=4x3 i=6"), ["x: Float(s0, s1), i: Float(s2)"])
        self.assertEqual(self.calls, [3])
        for sizes, ran in ("x=4x3 i=6", "exact"), ("x=5x7 i=9", "dynamic"):
            self.same(sizes, ran)

    def test_nested_loops(self):
        """Nested loops are not all unrolled: the outer one stays. Changes that its first trip made to lists before that was known
        are undone."""
        text = ("(x: Tensor) -> Tensor:\n    n = [0, 7]\n    d = {'k': 1}\n    y = torch.zeros([x.size(0), x.size(1)])\n"
                "    for i in range(x.size(0)):\n        n[0] = n[0] + 1\n        for j in range(x.size(1)):\n"
                "            y[i, j] = torch.sin(x[i, j]) * n[0]\n        n.append(i)\n        d['k'] += n[1] * n[-1]\n"
                "    return y + (n[0] + len(n) + d['k'])")
        self.build(text, "x=90x90", "--no-dynamic")
        self.assertLess(self.kernels[0], 500)
        self.same("x=90x90", "exact")
        self.same("x=3x90", "generic")
        self.build(text, "x=9x9", "--no-dynamic")
        self.assertGreaterEqual(self.kernels[0], 81)
        self.same("x=9x9", "exact")
        self.build("(x: Tensor) -> Tensor:\n    for i in range(128):\n        for j in range(128):\n            x = x + 1\n    return x", "x=2x2")
        self.same("x=3x2", "dynamic")

    def test_small_sizes_alike(self):
        """Symbols that may be 2 have ranges from 2 on, each of them, whether they were 2 in the call or not."""
        self.assertEqual(self.build("(x: Tensor, y: Tensor, z: Tensor) -> Tuple[Tensor, Tensor, Tensor]:\n"
                                    "    return torch.relu(x).sum(1), torch.relu(y) * 2, torch.tanh(z)", "x=2x4 y=2x3 z=2"),
                         ["x: Float(s0, s1), y: Float(s2, s3), z: Float(s4)"])
        for sizes in ("x=3x4 y=3x3 z=3", "x=3x4 y=2x3 z=9", "x=4x5 y=4x3 z=2", "x=2x5 y=2x4 z=2"):
            self.same(sizes, "dynamic")
        text = "(x: Tensor) -> Tensor:\n    return torch.softmax(torch.relu(x).transpose(0, 1), 1)"
        self.build(text, "x=8x9")
        for sizes in ("x=2x9", "x=8x2", "x=2x2"):
            self.same(sizes, "dynamic")

    def test_result_of_a_write(self):
        """The data decide which elements are written. The result of the write is the written tensor, with known sizes."""
        self.assertEqual(self.build("(x: Tensor, m: Tensor, v: Tensor) -> Tuple[Tensor, Tensor]:\n    y = torch.relu(x)\n"
                                    "    z = torch.index_put_(y, [m > 0.5], v)\n    z2 = z.masked_scatter_(z > 0.7, torch.tanh(x))\n"
                                    "    return torch.tanh(z2) * z.size(0), y * 2", "x=5x3x4 m=5x3 v=4"),
                         ["x: Float(s0, s1, s2), m: Float(s3, s4), v: Float(s5)"])
        self.assertLessEqual(self.calls[0], 2)
        for sizes in ("x=7x3x4 m=7x3 v=4", "x=8x9x5 m=8x9 v=5"):
            self.same(sizes, "dynamic")

    RANGE = r"(s\d+) from (\d+) (?:to (\d+)|on)(?: in steps of (\d+))?"
    BEYOND = 1200                                                # size beyond all samples, for a range without an end

    def promised(self):
        """The signature of each dynamic specialization, its symbols at the sizes of the arena, and their ranges."""
        about = re.sub(r", device=cpu", "", call(["./program", "--info"], self.dir)[1].decode())
        for line in re.findall(r"^specialization \d+: dynamic, .*", about, re.M):
            at = {s: int(n) for s, n in re.findall(r"(s\d+) = (\d+)", line)}
            yield (re.search(r"\w+\((.*)\): \d+ kernels", line).group(1), at,
                   [(s, int(low), int(high or int(low) + self.BEYOND // int(step or 1) * int(step or 1)), int(step or 1))
                    for s, low, high, step in re.findall(self.RANGE, line)])

    def taken(self, text, sizes, *options, names=None):
        """Builds the model and runs it with every symbol in turn at the ends and the middle of its range, the others at their own
        sizes."""
        self.assertTrue(self.build(text, sizes, *options), "no dynamic code")
        for signature, at, ranges in self.promised():
            self.assertTrue(ranges)
            for symbol, low, high, step in ranges:
                for n in low, low + (high - low) // step // 2 * step, high:
                    value = dict(at, **{symbol: n})
                    if list(value.values()).count(n) > 1:        # sizes that samples tell apart are not equal
                        continue
                    args = re.findall(r"(\w+): \w+\((.*?)\)", signature)
                    self.same(" ".join("%s=%s" % (name, "x".join(str(value.get(d, d)) for d in dims.split(", ")))
                                       for name, dims in args), "specialization")

    def test_ranges_of_products(self):
        self.taken(self.LINEAR, "x=5x4")
        self.taken("(x: Tensor, y: Tensor) -> Tensor:\n    return torch.softmax(torch.matmul(x, y), -1)", "x=3x7x4 y=3x4x6")

    def test_ranges_of_bytes(self):
        """Rows of bytes that are no constant: their sizes are read at the call, not fixed from a sample."""
        rows = "(x: Tensor, s: Tensor) -> Tensor:\n    return ops.prim.dequantized_rows(torch.clamp(x * 9, -9, 9).to(torch.int8), s, %s)"
        self.taken(rows % "None", "x=6x8 s=6")
        self.taken(rows % "s", "x=6x8 s=6x2")

    def test_ranges_in_steps(self):
        """Sizes that must be a multiple of a number: the range names it."""
        text = ("(x: Tensor) -> Tensor:\n    a = torch.avg_pool2d(x, [4, 4])\n    b = torch.upsample_nearest2d(a, None, [4., 4.])\n"
                "    return torch.cat([torch.relu(x), b], 1)")
        self.taken(text, "x=1x2x8x12")
        self.assertTrue(any(step == 4 for _, _, ranges in self.promised() for *_, step in ranges))

    def test_ranges_of_windows(self):
        text = ("(x: Tensor) -> Tensor:\n    w = torch.sin(torch.arange(54)).reshape([3, 2, 3, 3])\n"
                "    y = torch.relu(torch.conv2d(x, w, None, [2, 2], [1, 1]))\n    return torch.mean(torch.max_pool2d(y, [2, 2]), [2, 3])")
        self.taken(text, "x=2x2x17x23")

    DECODER = ("(x: Tensor, past: Tensor) -> Tuple[Tensor, Tensor]:\n    all = torch.cat([past, torch.tanh(x)])\n"
               "    return torch.matmul(torch.softmax(torch.matmul(x, all.t()), -1), all), all")

    def test_ranges_of_a_decoder(self):
        """A decoder's first call with an empty cache, and a step. Other lengths of the first call, and steps after any length,
        have code."""
        step = self.sized("x=1x4 past=8x4")
        self.taken(self.DECODER, "x=9x4 past=0x4", "-i", step)
        self.assertEqual([signature for signature, *_ in self.promised()],
                         ["x: Float(s0, 4), past: Float(s1, 4)", "x: Float(s0, 4), past: Float(0, 4)", "x: Float(1, 4), past: Float(s0, 4)"])
        for sizes, ran in ("x=1x4 past=9x4", "dynamic"), ("x=33x4 past=0x4", "dynamic"), ("x=3x4 past=7x4", "dynamic"), ("x=1x4 past=0x4", "generic"):
            self.same(sizes, ran)

    def test_left_out(self):
        self.assertEqual(self.build(self.LINEAR, "x=1x4", "--no-dynamic"), [])
        self.same("x=2x4", "generic")

    def test_info(self):
        """--info prints the symbols, their ranges, and the sizes for which the arena's bytes are given."""
        self.build(self.LINEAR, "x=7x4")
        about = call(["./program", "--info"], self.dir)[1].decode()
        self.assertRegex(about, r"arena by size, at s0 = 7: \d+ bytes .*; s0 from 2 on; \d+ sizes proved, 0 checked\n")
        about = call(["./program", "--info", "--json", "-"], self.dir)[1].decode()
        self.assertRegex(about, r'"symbols":"s0 from 2 on; \d+ sizes proved, 0 checked","arena_at":"s0 = 7"')
        says = "calls that fit no specialization run in generic code%s\n"
        self.assertIn(says % (": sizes outside of these ranges, 0 among them, and arguments of dynamic sizes that are not contiguous"),
                      call(["./program", "--info"], self.dir)[1].decode())
        self.build(self.LINEAR, "x=7x4", "--no-dynamic")
        self.assertIn(says % "", call(["./program", "--info"], self.dir)[1].decode())

    def notes(self, text, sizes, *options):
        """Notes of a build about calls that run in generic code, which are also in its report. sizes: sizes or a file."""
        self.put("m.py", ("def forward%s\n" % text).encode())
        code, out, err = call([KILN, "build", "m.py", "-i", self.sized(sizes) if "=" in sizes else sizes, "--cc", "tcc", "-o", "program", "--json", "p.json", *options],
                              self.dir)
        self.assertEqual(code, 0, err.decode())
        said = [n for n in re.findall(r"^kiln: note: (.*)$", err.decode(), re.M) if not n.startswith("programs by tcc run")]
        with open(os.path.join(self.dir, "p.json")) as f:
            self.assertEqual(json.load(f)["notes"], said)
        return said

    def test_notes(self):
        """The sizes that run in generic code are reported once per cause, with the model's line. Nothing is reported if all sizes
        are covered."""
        self.assertEqual(self.notes(self.LINEAR, "x=8x4"), [])
        fixed, = self.notes("(x: Tensor) -> Tensor:\n    y = x.reshape([-1])\n    if y.size(0) == 20:\n        return y + 1\n"
                            "    return torch.relu(x)", "x=5x4")
        self.assertRegex(fixed, r"x.size\(0\) = 5, x.size\(1\) = 4, other sizes run in generic code: m.py:\d: if y.size\(0\) == 20:")
        raises, = self.notes("(x: Tensor) -> Tensor:\n    y = torch.arange(12).reshape([4, 3])\n    return x + y", "x=4x3")
        self.put("n.npz", npz(x=npy([2, 3]), n=npy([], "<i8", struct.pack("<q", 3))))
        self.put("m.py", b"def forward(x: Tensor, n: int) -> Tensor:\n    return torch.relu(x) * n\n")
        err = call([KILN, "build", "m.py", "-i", "n.npz", "--cc", "tcc", "-o", "program"], self.dir)[2].decode()
        self.assertEqual(re.findall("kiln: note: (?!programs by tcc).*", err), ["kiln: note: n = 3, other values run in generic code"])
        self.assertRegex(raises, r"x.size\(0\) = 4 only, the model raises at other sizes: m.py:3: return x \+ y")
        self.assertEqual(self.notes("(x: Tensor) -> Tensor:\n    if x.size(0) == 5:\n        return x + 1\n    return x", "x=5x4", "--no-dynamic"),
                         [])

    def test_notes_of_arguments(self):
        """Sizes that are not tried, and signatures without code of their own, are each named."""
        relu = "(x: Tensor) -> Tensor:\n    return torch.relu(x) + 1"
        self.assertEqual(self.notes(relu, "x=0x4"), ["x.size(0) = 0, other sizes run in generic code: the size is 0"])
        self.assertEqual(self.notes(relu, "x=1x1"), ["x.size(1) = 1, other sizes run in generic code: only one of several sizes of 1 can vary; "
                                                     "give an input where this one is larger"])
        few, = self.notes(relu, "x=2x3", "-i", self.sized("x=5x7"), "--max-specializations", "1")
        self.assertEqual(few, "1 of 2 signatures has code of its own, calls with others run in dynamic or generic code: --max-specializations 2")
        few, = self.notes(relu, "x=1x3", "-i", self.sized("x=0x3"))
        self.assertEqual(few, "sizes other than the inputs' run without kernels of their own: a size is 0 or 1 in all inputs")
        self.put("x.npz", npz(**{"x": npy([3, 5]), "x.strides": npy([2], "<i8", struct.pack("<2q", 1, 3))}))
        self.assertEqual(self.notes(relu, "x.npz"),
                         ["x.size(0) = 3, x.size(1) = 5, other sizes run in generic code: x is not contiguous"])
        many = "(x: Tensor) -> Tensor:\n    y = x\n%s    return y" % "".join("    y = torch.tanh(y * %d)\n" % i for i in range(3400))
        large, = self.notes(many, "x=2x3")
        self.assertRegex(large, r"sizes other than the input's run in generic code: the model has \d+ nodes, .* up to 10000")

    def test_fixed(self):
        self.put("m.py", ("def forward%s\n" % self.LINEAR).encode())
        err = call([KILN, "build", "m.py", "-i", self.sized("x=1x4"), "-v", "--emit", "c", "-o", "p"], self.dir)[2].decode()
        self.assertIn("fixed sizes: x.size(1) = 4\n", err)

    def cases(self, *cases):
        """Each case: the function, its input's sizes, the signatures that must exist, and other sizes with the kind of code that
        they run."""
        for text, inputs, want, *others in cases:
            with self.subTest(text):
                self.assertEqual(self.build(text, inputs), want)
                for sizes, ran in others:
                    self.same(sizes, ran)

    def test_tied(self):
        """Equal sizes become one symbol only if the model requires that they are equal."""
        self.cases(
            ("(x: Tensor, y: Tensor) -> Tensor:\n    return torch.tanh(x + y) * x", "x=6x6 y=6x6", ["x: Float(s0, s1), y: Float(s0, s1)"],
             ("x=3x9 y=3x9", "dynamic"), ("x=3x9 y=1x9", "generic")),
            ("(x: Tensor, y: Tensor) -> Tensor:\n    return torch.mm(x, y).relu()", "x=8x8 y=8x8", ["x: Float(s0, s1), y: Float(s1, s2)"],
             ("x=3x5 y=5x7", "dynamic"), ("x=8x8 y=8x8", "exact")),
            ("(x: Tensor, m: Tensor) -> Tensor:\n    return torch.softmax(x.masked_fill(m.unsqueeze(-1) > 0.5, -1e9), 1)", "x=1x9x4 m=1x9",
             ["x: Float(s0, s1, s2), m: Float(s0, s1)", "x: Float(1, s0, s1), m: Float(1, s0)"],
             ("x=2x12x5 m=2x12", "dynamic"), ("x=1x12x3 m=1x12", "dynamic")),
            ("(x: Tensor, h: Tensor) -> Tensor:\n    assert h.size(0) == 1\n    return torch.relu(x.sum(1) * h.reshape([x.size(0), x.size(2)]))", "x=1x5x4 h=1x1x4",
             ["x: Float(s0, s1, s2), h: Float(1, s0, s2)", "x: Float(1, s0, s1), h: Float(1, 1, s1)"], ("x=3x6x7 h=1x3x7", "dynamic")),
            ("(l: List[Tensor]) -> Tensor:\n    return torch.relu(torch.cat(l, 1))", "l.0=2x3 l.1=2x5",
             ["l: [Float(s0, s1), Float(s0, s2)]"], ("l.0=4x3 l.1=4x5", "dynamic"), ("l.0=2x7 l.1=2x10", "dynamic")))

    def test_ways(self):
        """A size that decides branches has the range that takes the profiled branches. Sizes outside run generic code."""
        self.cases(
            ("(x: Tensor) -> Tensor:\n    if x.size(0) > 40:\n        return torch.relu(x)\n    return torch.tanh(x)", "x=8x3",
             ["x: Float(s0, s1)"], ("x=20x3", "dynamic"), ("x=41x3", "generic"), ("x=5x9", "dynamic")),
            ("(x: Tensor) -> Tensor:\n    if x.size(0) % 2 == 0:\n        return torch.relu(x)\n    return torch.tanh(x)", "x=8x3",
             ["x: Float(s0, s1)"], ("x=20x3", "dynamic"), ("x=7x3", "generic")),
            ("(x: Tensor) -> Tensor:\n    return torch.relu(x.reshape([-1, 4, x.size(1)]).sum(1))", "x=8x3", ["x: Float(s0, s1)"],
             ("x=12x5", "dynamic"), ("x=16x3", "dynamic"), ("x=52x9", "dynamic")),
            ("(x: Tensor) -> Tensor:\n    y = torch.zeros([3])\n    for i in range(x.size(0)):\n        y = torch.tanh(y + x[i])\n    return y",
             "x=5x3", ["x: Float(s0, 3)"], ("x=9x3", "dynamic"), ("x=2x3", "dynamic")),
            ("(x: Tensor) -> Tensor:\n    return torch.relu(x[x > 0.5]) * 2", "x=5x3", ["x: Float(s0, s1)"], ("x=9x4", "dynamic")))

    def test_ways_together(self):
        """Two sizes that decide a branch together: each has a range with the other fixed. A call beyond both ranges runs generic
        code."""
        self.cases(("(x: Tensor) -> Tensor:\n    if x.size(0) * x.size(1) > 400:\n        return torch.relu(x)\n    return torch.tanh(x)", "x=8x8",
                    ["x: Float(s0, s1)"], ("x=9x7", "dynamic"), ("x=12x11", "dynamic"), ("x=22x13", "dynamic"), ("x=40x40", "generic"),
                    ("x=2x300", "generic")),
                   ("(x: Tensor) -> Tensor:\n    if x.size(0) * x.size(1) < 20:\n        return torch.relu(x)\n    return torch.tanh(x)", "x=8x8",
                    ["x: Float(s0, s1)"], ("x=5x7", "dynamic"), ("x=60x41", "dynamic"), ("x=3x5", "generic")))

    def test_zero_and_one(self):
        """The rest of a size may be 1 or 0: no kernel is for these sizes."""
        self.cases(("(x: Tensor) -> Tensor:\n    y = torch.relu(x[2:])\n    return torch.cat([y * 2, x.sum(0, True) + y])", "x=8x3",
                    ["x: Float(s0, s1)"], ("x=4x3", "dynamic"), ("x=9x5", "dynamic"), ("x=3x3", "generic"), ("x=2x3", "generic")))

    def test_sizes_in_lists(self):
        """A number read from a list to which sizes were written varies with them. So do its quotients."""
        self.cases(("(x: Tensor) -> Tensor:\n    n = [1, 1]\n    n[0] = x.size(1)\n    n.append(x.size(0))\n    n[1] = n[2] // 4\n"
                    "    return torch.relu(x) * n[1] + torch.ones([n[0] // 3]).sum() * n[-1]", "x=9x7",
                    ["x: Float(s0, s1)"], ("x=8x7", "dynamic"), ("x=13x8", "dynamic"), ("x=19x11", "dynamic")))
        self.assertEqual(self.calls, [0])

    def test_two_symbols_alike(self):
        """Two sizes that are equal in the input become separate symbols: no pass may take one for the other."""
        self.cases(("(x: Tensor) -> Tensor:\n    return torch.ones([x.size(0)]).unsqueeze(1) * 2 + torch.ones([x.size(1)]) * x", "x=2x2",
                    ["x: Float(s0, s1)"], ("x=2x5", "dynamic"), ("x=5x8", "dynamic"), ("x=7x7", "dynamic")),
                   ("(x: Tensor) -> Tensor:\n    return torch.tanh(x) * (x.size(0) + 5) + torch.relu(x) * x.size(1)", "x=8x8",
                    ["x: Float(s0, s1)"], ("x=9x7", "dynamic"), ("x=3x11", "dynamic"), ("x=40x40", "dynamic")),
                   ("(x: Tensor) -> Tensor:\n    y = torch.relu(x)\n    return torch.cat([y, y.t().contiguous().reshape([x.size(0), x.size(1)])], 1)", "x=8x8",
                    ["x: Float(s0, s1)"], ("x=9x7", "dynamic"), ("x=3x11", "dynamic")))

    def test_transposed_convolution(self):
        """Its phases are interleaved by the sizes of the call."""
        self.cases(("(x: Tensor) -> Tensor:\n    w = torch.sin(torch.arange(96)).reshape([3, 2, 4, 4])\n"
                    "    return torch.relu(torch.conv_transpose2d(x, w, None, [2, 2], [1, 1]))", "x=1x3x5x6",
                    ["x: Float(s0, 3, s1, s2)", "x: Float(1, 3, s0, s1)"], ("x=4x3x5x6", "dynamic"), ("x=2x3x7x9", "dynamic"),
                    ("x=1x3x8x7", "dynamic"), ("x=3x3x4x12", "dynamic")))

    def test_quotients(self):
        """After strides, sizes are quotients of others. Products of these are told apart, or the code is not used."""
        pools = ("(x: Tensor) -> Tensor:\n    a = torch.max_pool2d(x, [2, 2], [2, 2]) * torch.arange(2).reshape([2, 1, 1])\n"
                 "    b = torch.max_pool2d(a, [2, 2], [2, 2])\n    c = torch.cat([a, b.repeat([1, 1, 2, 2])], 1)\n"
                 "    return torch.cat([x, torch.relu(c.repeat([1, 1, 2, 2]))], 1).sum(1)")
        floor = "(x: Tensor) -> Tensor:\n    a = torch.max_pool2d(x, [2, 2], [2, 2])\n    return torch.relu(a.flatten(2).transpose(1, 2).contiguous() * 2)"
        convs = ("(x: Tensor) -> Tensor:\n    w = torch.sin(torch.arange(144)).reshape([4, 4, 3, 3])\n    v = torch.cos(torch.arange(16)).reshape([4, 4, 1, 1])\n"
                 "    a = torch.conv2d(x, w, None, [2, 2], [1, 1]).relu()\n    b = torch.conv2d(a, w, None, [2, 2], [1, 1]).relu()\n"
                 "    c = torch.conv2d(b, w, None, [2, 2], [1, 1]).relu()\n    d = torch.conv2d(b, v) + torch.conv2d(b, w, None, [1, 1], [1, 1])\n"
                 "    return torch.cat([torch.conv2d(d, v).flatten(2) * torch.softmax(a, 3).sum(), torch.conv2d(c, v).flatten(2)], 2)")
        self.cases((pools, "x=1x2x16x16", ["x: Float(s0, 2, s1, s2)", "x: Float(1, 2, s0, s1)"], ("x=3x2x16x16", "dynamic"),
                    ("x=3x2x24x40", "dynamic"), ("x=1x2x20x48", "dynamic"), ("x=2x2x28x12", "dynamic")),
                   (floor, "x=2x3x16x16", ["x: Float(s0, s1, s2, s3)"], ("x=2x5x18x22", "dynamic"), ("x=2x3x17x21", "dynamic"),
                    ("x=4x3x15x16", "dynamic"), ("x=3x3x19x32", "dynamic")),
                   (convs, "x=1x4x32x32", ["x: Float(s0, 4, s1, s2)", "x: Float(1, 4, s0, s1)"],
                    *[("x=%dx4x%dx%d" % (1 + h % 3, h, 78 - h), "forward") for h in range(17, 62, 3)]))

    def test_one_channel(self):
        """A convolution of one channel, whose layout is contiguous and channels last at once."""
        self.cases(("(x: Tensor) -> Tensor:\n    return torch.conv2d(x, torch.sin(torch.arange(18)).reshape([2, 1, 3, 3])).relu()", "x=1x1x9x9",
                    ["x: Float(s0, 1, s1, s2)", "x: Float(1, 1, s0, s1)"], ("x=3x1x9x9", "dynamic"), ("x=2x1x11x20", "dynamic")))

    def test_quantized(self):
        """A tensor's quantization parameters are no part of its type, so they are not taken from the profile."""
        text = ("(x: Tensor) -> Tensor:\n    q = torch.quantize_per_tensor(x, %s, 3, 13)\n    return torch.dequantize(torch.relu(q))")
        for scale, code in (("0.05", "dynamic"), ("float(x.max()) / 100", "forward")):
            self.build(text % scale, "x=2x8")
            self.same("x=5x8", code)

    def test_group_of_nodes(self):
        """A fused group gets no kernel if a list decides its sizes. It is split into nodes before samples are compared."""
        self.cases(("(x: Tensor, a: Tensor, b: Tensor):\n    return torch.gradient(x, dim=(0, -1), spacing=[a, b], edge_order=1)",
                    "x=3x3x3 a=3 b=3", ["x: Float(3, s0, 3), a: Float(s1), b: Float(s2)"], ("x=3x3x3 a=3 b=3", "exact"),
                    ("x=3x5x3 a=13 b=17", "dynamic"), ("x=3x5x3 a=3 b=3", "dynamic")))

    def test_mask_by_index(self):
        """A mask whose rows are indexed by an arange of the batch has that batch, not a symbol of its own, which could be larger.
        """
        text = ("(%s) -> Tensor:\n    rows = torch.unsqueeze(torch.arange(x.size(0)), 1) + torch.tensor(0)\n"
                "    hidden = torch.to(m, torch.bool)[rows, torch.unsqueeze(torch.arange(x.size(1)), 0)]\n"
                "    return torch.relu(x).masked_fill(hidden, -1.)")
        for args in "x: Tensor, m: Tensor", "m: Tensor, x: Tensor":
            signature = ", ".join("%s: Float(s0, s1)" % arg[0] for arg in args.split(", "))
            self.assertEqual(self.build(text % args, "x=4x6 m=4x6"), [signature])
            for sizes, ran in ("x=3x6 m=3x6", "dynamic"), ("x=9x3 m=9x3", "dynamic"), ("x=3x6 m=5x6", "generic"):
                self.same(sizes, ran)
        text = text.replace("return ", "y = ") + "\n    return torch.matmul(y, torch.t(p))"
        self.assertEqual(self.build(text % "x: Tensor, p: Tensor, m: Tensor", "x=4x6 p=4x6 m=4x6"),
                         ["x: Float(s0, s1), p: Float(s2, s1), m: Float(s0, s1)"])
        self.same("x=5x7 p=9x7 m=5x7", "dynamic")

    def test_einsum(self):
        """The body of einsum keeps the sizes of shared labels in a list and compares them: they are those of the call."""
        for text, sizes, other in (("bhlk,bhtk->bhlt", "x=2x3x4x5 y=2x3x7x5", "x=4x9x6x11 y=4x9x15x11"),
                                   ("bl,bl->bl", "x=4x6 y=4x6", "x=5x7 y=5x7"), ("bl,lk->bk", "x=4x6 y=6x5", "x=3x7 y=7x19")):
            self.build("(x: Tensor, y: Tensor) -> Tensor:\n    return torch.einsum('%s', [x, y])" % text, sizes)
            self.assertEqual(self.calls, [0])
            self.same(sizes, "exact")
            self.same(other, "dynamic")

    def test_repeated(self):
        """Repeated elements are copied by a kernel, at any size."""
        self.assertEqual(self.build("(x: Tensor) -> Tensor:\n    return torch.repeat_interleave(x, 2, -1) + torch.repeat_interleave(x, torch.tensor(2), 1)",
                                    "x=3x4"), ["x: Float(s0, s1)"])
        self.assertEqual(self.calls, [0])
        self.same("x=5x9", "dynamic")

    def test_many_caches(self):
        """Many arguments whose sizes change together are found together."""
        args = ", ".join("k%d: Tensor" % i for i in range(24))
        text = "(x: Tensor, %s) -> Tensor:\n%s    return x\n" % (args, "".join("    x = torch.relu(x + k%d.sum(1))\n" % i for i in range(24)))
        self.build(text, "x=1x8 " + " ".join("k%d=1x5x8" % i for i in range(24)))
        self.same("x=3x8 " + " ".join("k%d=3x9x8" % i for i in range(24)), "dynamic")

    def test_numbers(self):
        """A number on which no size depends does not prevent dynamic code: bounds of a sequence written to `out`."""
        self.put("m.pt", model(body(["y = torch.logspace(a, 6, 10, out=x)", "return torch.mul(z, 2), y"], "x: Tensor, a: number, z: Tensor",
                                                    "Tuple[Tensor, Tensor]")))
        self.put("x.npz", npz(x=npy([10]), a=npy([], "<f8", struct.pack("<d", 4)), z=npy([3, 4])))
        self.check([KILN, "build", "m.pt", "-i", "x.npz", "--cc", "tcc", "-o", "program"], 0)
        self.check(["./program", "-i", "x.npz", "--strict", "--selfcheck"], 0)

    # Functions whose sizes are proved: rules of operators (SIZES in rt/ops/ops.h), by family.
    PROVED = {
        "views": ("x={}x{}x{}", (6, 7, 8), "t = x.transpose(1, 2).permute(2, 0, 1)\n    a = t.reshape([x.size(1), -1]).t().contiguous().view([x.size(0), x.size(2), x.size(1)])\n"
                  "    b = x[:, 1:].flatten(0, 1)[:, ::2].unsqueeze(0)\n    c = x.narrow(1, 1, 2).select(0, -1).unsqueeze(1).expand([-1, 4, -1])\n"
                  "    return torch.relu(a).sum([1]) + b.sum() + torch.sigmoid(c).sum() + x.squeeze().unfold(2, 2, 1).mean()"),
        "joins": ("x={0}x{1} y={2}x{1}", (5, 6, 7), "a = torch.cat([torch.relu(x), y * 2])\n    b = torch.stack([a, torch.tanh(a)], 1)\n    c, d = torch.cat([x, x], 1).chunk(2, 1)\n"
                  "    return torch.constant_pad_nd(b, [1, 2]).repeat([1, 2, 1]).sum([0]) + (c * d).sum() + torch.cat([y, y]).sum()"),
        "images": ("x={}x3x{}x{}", (2, 12, 14), "w = torch.sin(torch.arange(54)).reshape([2, 3, 3, 3])\n    u = torch.sin(torch.arange(24)).reshape([2, 3, 2, 2])\n"
                   "    y = torch.relu(torch.conv2d(x, w, None, [2, 1], [1, 1]))\n    z = torch.conv_transpose2d(y, u, None, [2, 2])\n"
                   "    p = torch.max_pool2d(z, [3, 2], [2, 2], [1, 0]) + torch.avg_pool2d(z, [3, 2], [2, 2], [1, 0])\n"
                   "    q = torch.adaptive_avg_pool2d(p, [3, 2])\n    r = torch.upsample_nearest2d(p, None, [2., 2.])\n    return torch.tanh(r[:, :, ::2, ::2] + p) + q.sum()"),
        "products": ("x={}x{}x4", (3, 5), "w = torch.sin(torch.arange(24)).reshape([6, 4])\n    a = torch.linear(x, w)\n    s = torch.softmax(torch.matmul(a, a.transpose(1, 2)), -1)\n"
                     "    o = torch.bmm(s, a).permute(1, 0, 2).reshape([x.size(1), x.size(0) * 6])\n    return o + torch.addmm(o, o, torch.mm(o.t(), o)) * 0.001"),
        "numbers": ("x={}x{}", (6, 10), "n = x.size(0) * 2 + x.size(1) // 3\n    h = (x.size(1) + 1) // 2\n    l = [x.size(0), x.size(1)]\n    l.append(n % 3)\n"
                    "    y = torch.zeros([n, l[0]]) + torch.arange(n).unsqueeze(1)\n    return y.sum() + x[:, :h].amax([1]) + x.argmax(1) + torch.ones([max(n, 4)]).sum()"),
        "scattered": ("x={}x{}", (6, 9), "j = torch.remainder(torch.abs(x[1:] * 9).to(torch.long), x.size(1))\n    y = torch.zeros([x.size(0), x.size(1)]).scatter_add(1, j, x[1:])\n"
                      "    z = torch.relu(x)\n    z.scatter_add_(1, j, x[1:])\n    z.index_fill_(0, torch.arange(0, x.size(0), 2), 0.5)\n    return torch.sin(y) + z"),
        "bags": ("x={}", (9,), "w = torch.sin(torch.arange(40)).reshape([10, 4])\n    j = torch.remainder(torch.abs(x * 9).to(torch.long), 10)\n    at = torch.arange(0, x.size(0), 2)\n"
                 "    a, b, c, d = torch.embedding_bag(w, j, at, False, 1)\n    e, f, g, h = torch.embedding_bag(w, j, at)\n    return torch.tanh(a) + e"),
        "clipped": ("x={}x{}", (6, 10), "k = min(x.size(0), 7)\n    y = torch.linspace(0., 1., k) * max(x.size(1), 9)\n"
                    "    return torch.sin(y) + torch.ones([min([k, 5, x.size(1)])]).sum() + torch.relu(x).sum()"),
        "traced": ("x={}x{}", (6, 10), "n = int(torch.floor_divide(torch.tensor(x.size(1)), torch.tensor(2)))\n    y = torch.scalar_tensor(0.5) * x[:, :n]\n"
                   "    for i in range(1, x.size(0)):\n        y = y + torch.sin(y)\n    return y.reshape([x.size(0) * n])"),
        "places": ("x={}x{} i={}", (9, 5, 7), "j = torch.remainder(torch.abs(i * 9).to(torch.long), x.size(0))\n    w = torch.sin(torch.arange(40)).reshape([10, 4])\n"
                   "    e = torch.embedding(w, torch.remainder(j, 10))\n    return torch.index_select(x, 0, j).sum(1, True) + e + x[j].mean() + torch.topk(x, 2, 1)[0].sum()"),
        "put": ("x={}x{} i={}", (9, 5, 7), "j = torch.remainder(torch.abs(i * 9).to(torch.long), x.size(0))\n    y = torch.sin(x[j])\n"
                "    z = torch.relu(x)\n    z.index_put_([j], y, True)\n    return torch.index_put(x, [j], y) + z + torch.sort(x, stable=True, dim=0)[0]"),
        "transforms": ("x={}x{}", (6, 10), "a = torch.fft_rfft(x)\n    b = torch.fft_irfft2(torch.fft_rfft2(x), [x.size(0), x.size(1)])\n    l = [x]\n    l += [b, torch.fft_irfft(a, x.size(1))]\n"
                       "    return torch.cat(l) + torch.abs(a).sum() + torch.abs(torch.fft_fft(x, None, 0)).sum() + torch.eye(x.size(0), x.size(1)).sum()"),
    }

    def corner(self, sizes):
        """At sizes of 0 and 1 the program answers as the interpreter, or both raise."""
        code, out, err = call([KILN, "run", "m.py", "-O0", "-i", self.sized(sizes), "-o", "right.npz"], self.dir)
        if code == 0:
            self.same(sizes, "")
        else:
            self.assertEqual(call(["./program", "-i", self.sized(sizes), "-o", "o.npz"], self.dir)[0], code, err.decode())

    def test_proved(self):
        """Programs run no operator for the sizes of these functions; at odd, small and large sizes they answer as the interpreter."""
        random.seed(11)
        for name, (sizes, profiled, body) in self.PROVED.items():
            with self.subTest(name):
                args = ", ".join("%s: Tensor" % a.split("=")[0] for a in sizes.split())
                self.build("(%s) -> Tensor:\n    %s" % (args, body), sizes.format(*profiled))
                about = call(["./program", "--info"], self.dir)[1].decode()
                self.assertRegex(about, r"; [1-9]\d* sizes proved, 0 checked")
                for ran, most in ("", 4), ("", 9), ("dynamic", 40), ("dynamic", 60):
                    self.same(sizes.format(*[random.randint(most // 2, most) for _ in profiled]), ran)
                for few in [[0] * len(profiled), [1] * len(profiled)] + [[random.choice((0, 1, n)) for n in profiled] for _ in range(2)]:
                    self.corner(sizes.format(*few))

    # Sizes in tensors, as in traces: the computation, and the sizes other than (2, 3, 9, 5) that have dynamic code
    AS_TENSORS = {
        "scaled": "w = torch.scalar_tensor(x.size(3))\n    one = torch.ones([])\n    zero = torch.zeros([])\n    is_one = torch.eq(w, 1)\n"
                  "    a = torch.where(is_one, one, torch.reciprocal(w - 1.) * 2.)\n    b = torch.where(is_one, zero, torch.neg(one))\n"
                  "    return torch.stack([a, zero, b]) + x.sum([2, 3])",
        "pooled": "n = int(torch.ceil(torch.full([], x.size(3)) / 3).item())\n    return torch.constant_pad_nd(x, [0, n * 3 - x.size(3)]).reshape([x.size(0), x.size(1), x.size(2), n, 3]).mean(-1)",
        "stacked": "l: List[Tensor] = []\n    for d in range(4):\n        l.append(torch.tensor(x.size(d)))\n    s = torch.stack(l)\n"
                   "    return x.reshape([int(s[0] * s[1]), int(s[2] * s[3])]) + s.to(torch.float).mean()",
        "viewed": "t = torch.tensor([x.size(2), x.size(3)])\n    hw = (t.select(0, 0) * t[1]).view([1]).expand([2]).sum()\n    return x.reshape([x.size(0), x.size(1), int(hw) // 2])",
        "written": "t = torch.zeros([], dtype=torch.long)\n    t += x.size(2)\n    t.mul_(2)\n    return x.sum() * torch.ones([int(t)])",
        "set": "t = torch.zeros([2], dtype=torch.long)\n    t[0] = x.size(2)\n    t[1] = x.size(3)\n    return x.narrow(3, 0, int(t[1])) * t[0]",
        "out": "o = torch.zeros([], dtype=torch.long)\n    torch.add(torch.tensor(x.size(2)), torch.tensor(x.size(3)), out=o)\n    return x * o + torch.ones([int(o)]).sum()",
        "compared": "a = torch.minimum(torch.tensor(x.size(2)), torch.tensor(x.size(3)))\n    return x[:, :, :int(a), :int(torch.clamp(a, max=5))].sum([2, 3]) + a",
        "masked": "i = torch.arange(x.size(3))\n    return x[:, :, :, i[i % 2 == 0]] * 2",
        "counted": "return x[:, :, :, :int((torch.arange(x.size(3)) < 4).sum())] + 1",
    }

    def test_sizes_as_tensors(self):
        """Whatever is computed from sizes in tensors, calls with other sizes answer as the interpreter does, by dynamic or
        generic code."""
        for name, body in self.AS_TENSORS.items():
            with self.subTest(name):
                self.build("(x: Tensor) -> Tensor:\n    %s" % body, "x=2x3x8x6")
                for sizes, ran in ("2x3x9x5", "dynamic"), ("1x3x8x6", "dynamic"), ("3x3x1x8", ""), ("2x3x4x1", ""), ("2x3x0x6", ""), ("5x3x40x33", "dynamic"):
                    self.same("x=" + sizes, "" if name in ("compared", "stacked") else ran)


if __name__ == "__main__":
    unittest.main()
