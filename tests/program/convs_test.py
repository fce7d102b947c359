"""Kernel forms of convolutions: channel counts that fill vectors and panels and counts that do not, one dim, one channel,
transposed. Each day half of the widths and windows are tested (tests/daily.py).

usage: convs_test.py KILN
"""
import json, math, os, re, struct, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import daily
from forms import KILN, TCC, Form, sin
from hostile import body, call, model, npy, npz


class Convolutions(Form):
    def test_appended_and_joined(self):
        """As in DenseNet: results of convolutions in a growing list are joined and normalised again and again. Only one
        conversion to channels last and one back remain."""
        lines = ["l = [torch.conv2d(x, %s, None, [1, 1], [1, 1])]" % sin(4, 3, 3, 3),
                 "_0 = torch.append(l, torch.conv2d(torch.relu(torch.cat(l, 1)), %s, None, [1, 1], [1, 1]))" % sin(4, 4, 3, 3),
                 "_1 = torch.append(l, torch.conv2d(torch.relu(torch.cat(l, 1)), %s, None, [1, 1], [1, 1]))" % sin(2, 8, 3, 3),
                 "y = torch.cat(l, 1)",
                 "return torch.relu(torch.batch_norm(y, %s, None, %s, torch.exp(%s), False, 0.1, 1.0e-05, False))" % ((sin(10),) * 3)]
        self.form(lines, ["x=float32[2x3x7x9]"])
        graph = call([KILN, "show", "m.pt", "--stage", "optimized", "-i", "x=float32[2x3x7x9]"], self.dir)[1].decode()
        self.assertEqual(graph.count("aten::contiguous"), 2, graph)
        self.assertNotIn("aten::batch_norm", graph)
        self.form(lines, ["x=float32[2x3x5..9x5..9]"])
        self.form(lines[:3] + ["return l"], ["x=float32[2x3x7x9]"], result="List[Tensor]")

    def test_convolutions(self):
        """Channel counts that fill vectors and panels and counts that do not, and windows over the edges, in the vectors of this
        processor and of others."""
        def conv(x, out, ins, k, s, p, d, groups):
            return "torch.conv2d(%s, %s, %s, [%d, %d], [%d, %d], [%d, %d], %d)" % (x, sin(out, ins, *k), sin(out), *s, *p, *d, groups)
        for lines in (
            ["a = " + conv("x", 24, 3, (3, 3), (2, 2), (1, 1), (1, 1), 1), "b = torch.relu(%s)" % conv("a", 24, 1, (3, 3), (1, 1), (1, 1), (1, 1), 24),
             "c = " + conv("b", 72, 24, (1, 1), (1, 1), (0, 0), (1, 1), 1), "return torch.hardtanh(%s, 0, 6)" % conv("c", 72, 1, (5, 5), (2, 2), (2, 2), (1, 1), 72)],
            ["a = " + conv("x", 16, 3, (5, 3), (1, 1), (4, 1), (1, 1), 1), "return " + conv("a", 16, 1, (3, 3), (1, 2), (2, 2), (2, 2), 16)],
            ["a = " + conv("x", 40, 3, (1, 1), (1, 1), (0, 0), (1, 1), 1), "return " + conv("a", 40, 1, (7, 7), (1, 1), (3, 3), (1, 1), 40)],
            ["a = " + conv("x", 5, 3, (2, 2), (2, 1), (0, 1), (1, 1), 1), "return " + conv("a", 5, 1, (3, 1), (1, 1), (1, 0), (1, 1), 5)]):
            self.put("m.pt", model(body(lines, "x: Tensor", "Tensor")))
            for cpu in ("native", "x86-64-v3") if os.uname().machine == "x86_64" else ("native",):
                self.check([KILN, "build", "m.pt", "-i", "x=float32[2x3x33x27]", "--cpu", cpu, "-o", "program"], 0)
                self.check([KILN, "check", "m.pt", "program", "-i", "x=float32[2x3x33x27]"], 0)
            os.remove(os.path.join(self.dir, "program"))

    def test_few_channels(self):
        """Fewer channels than a vector has lanes: alone and as an operand of a cat, on several threads, over edges."""
        windows = (((3, 3), (1, 1), (1, 1), (1, 1)), ((3, 3), (2, 2), (1, 1), (1, 1)), ((5, 3), (1, 2), (0, 2), (1, 1)),
                   ((1, 9), (1, 1), (0, 4), (1, 1)), ((3, 3), (1, 1), (2, 2), (2, 2)), ((2, 2), (3, 1), (0, 0), (1, 1)))
        for at, n in daily.sample(enumerate((2, 3, 4, 7, 8, 12, 15)), 2):
            k, s, p, d = windows[at % len(windows)]
            def each(x, k, s, p, d):
                return "torch.conv2d(%s, %s, %s, [%d, %d], [%d, %d], [%d, %d], %d)" % (x, sin(n, 1, *k), sin(n), *s, *p, *d, n)
            lines = ["a = torch.relu(torch.conv2d(x, %s))" % sin(n, 3, 1, 1),
                     "b = torch.cat([%s, a], 1)" % each("a", (3, 3), (1, 1), (1, 1), (1, 1)),
                     "return torch.gelu(%s), b" % each("torch.hardtanh(%s, -0.5, 2)" % each("a", k, s, p, d), (3, 3), (1, 1), (1, 1), (1, 1))]
            self.put("m.pt", model(body(lines, "x: Tensor", "Tuple[Tensor, Tensor]")))
            for cpu in ("native", "x86-64-v3") if os.uname().machine == "x86_64" else ("native",):
                self.check([KILN, "build", "m.pt", "-i", "x=float32[2x3x13x21]", "--cpu", cpu, "-o", "program"], 0)
                for options in [], ["--threads", "3"]:
                    self.check([KILN, "check", "m.pt", "program", "-i", "x=float32[2x3x13x21]", *options], 0)
        os.remove(os.path.join(self.dir, "program"))

    def test_wide_windows_of_few_channels(self):
        """Windows computed in strips of rows: over edges, wider than the image, rows shorter than a strip, partial strips,
        groups, windows too large to be copied, and dilation. Any number of threads gives the same bits."""
        windows = ((1, (7, 7), (1, 1), (3, 3), 19, 1), (3, (7, 7), (2, 2), (3, 3), 23, 1), (2, (1, 21), (1, 1), (0, 20), 16, 1),
                   (4, (5, 9), (1, 3), (4, 5), 14, 1), (5, (9, 4), (2, 1), (0, 1), 11, 2), (15, (11, 11), (1, 4), (5, 7), 31, 1),
                   (3, (1, 7), (1, 1), (0, 9), 61, 1), (2, (5, 5), (1, 1), (4, 4), 40, 2))
        for at, (ins, k, s, p, width, groups) in daily.sample(enumerate(windows), 2):
            out, apart = (64, 40, 8, 16, 40, 72, 20, 24)[at], (1, 1, 1, 1, 1, 1, 3, 2)[at]
            dims = [2, groups * ins, 12, width]
            with open(os.path.join(self.dir, "x.npz"), "wb") as f:
                n = math.prod(dims)
                f.write(npz(x=npy(dims, data=struct.pack("<%df" % n, *(i % 37 / 19 - 1 for i in range(n))))))
            lines = ["return torch.conv2d(x, %s, %s, [%d, %d], [%d, %d], [%d, %d], %d)" % (sin(out, ins, *k), sin(out), *s, *p, apart, apart, groups)]
            self.put("m.pt", model(body(lines, "x: Tensor", "Tensor")))
            for cpu in ("native", "x86-64-v3", "x86-64-v2") if os.uname().machine == "x86_64" else ("native",):
                self.check([KILN, "build", "m.pt", "-i", "x.npz", "--cpu", cpu, "-o", "program"], 0)
                self.check([KILN, "check", "m.pt", "program", "-i", "x.npz"], 0)
                self.same_on_threads()
        os.remove(os.path.join(self.dir, "program"))

    def same_on_threads(self):
        """The results of ./program for x.npz are the same on any number of threads."""
        results = set()
        for threads in (1, 2, 3, 5):
            self.check(["./program", "-i", "x.npz", "--threads", str(threads), "-o", "o.npz"], 0)
            with open(os.path.join(self.dir, "o.npz"), "rb") as f: results.add(f.read())
        self.assertEqual(len(results), 1)

    def test_few_results(self):
        """A convolution with few output channels has input channels in its lanes: counts that fill vectors and counts that do
        not, over edges, clamped, in groups. Any number of threads gives the same bits."""
        windows = (((3, 3), (1, 1), (1, 1), (1, 1)), ((7, 7), (1, 1), (3, 3), (1, 1)), ((3, 2), (2, 1), (0, 1), (1, 1)),
                   ((1, 5), (1, 1), (0, 2), (1, 1)), ((3, 3), (1, 2), (2, 2), (2, 3)))
        n = 2 * 3 * 13 * 11
        self.put("x.npz", npz(x=npy([2, 3, 13, 11], data=struct.pack("<%df" % n, *(i % 37 / 19 - 1 for i in range(n))))))
        for at, ins in daily.sample(enumerate((16, 17, 24, 31, 40)), 2):
            k, s, p, d = windows[at]
            def conv(n, groups=1):
                return "torch.conv2d(a, %s, %s, [%d, %d], [%d, %d], [%d, %d], %d)" % (sin(n, ins // groups, *k), sin(n), *s, *p, *d, groups)
            lines = ["a = torch.relu(torch.conv2d(x, %s))" % sin(ins, 3, 1, 1), "y, z = %s, %s" % (conv(1 + at % 4), conv(4)),
                     "return torch.hardtanh(y, -0.5, 0.5), torch.sigmoid(z), %s, %s" % (conv(2), conv(4, 2) if ins == 40 else conv(3))]
            self.put("m.pt", model(body(lines, "x: Tensor", "Tuple[Tensor, Tensor, Tensor, Tensor]")))
            for cpu in ("native", "x86-64-v3", "x86-64-v2") if os.uname().machine == "x86_64" else ("native",):
                self.check([KILN, "build", "m.pt", "-i", "x=float32[2x3x13x11]", "--cpu", cpu, "-o", "program"], 0)
                for options in ["-i", "x=float32[2x3x13x11]"], ["-i", "x=float32[2x3x13x11]", "--threads", "3"], ["-i", "x=float32[3x3x13x11]"]:
                    self.check([KILN, "check", "m.pt", "program", *options], 0)
                self.same_on_threads()
        os.remove(os.path.join(self.dir, "program"))

    def test_several_of_a_channel(self):
        """Groups with one input channel and several output channels: no launch per group, and results in the model's layout."""
        def conv(x, groups, times, k, s, p):
            return "torch.conv2d(%s, %s, %s, [%d, %d], [%d, %d], [1, 1], %d)" % (x, sin(groups * times, 1, k, k), sin(groups * times), s, s, p, p, groups)
        for times, k, s, p in ((2, 7, 2, 3), (3, 3, 1, 1), (8, 3, 2, 0), (9, 3, 1, 1)):
            lines = ["a = torch.relu(torch.conv2d(x, %s))" % sin(12, 3, 1, 1), "return %s, %s" % (conv("a", 12, times, k, s, p), conv("x", 3, times, k, s, p))]
            self.form(lines, ["x=float32[2x3x15x17]"], result="Tuple[Tensor, Tensor]")
            self.assertLess(int(re.search(r"(\d+) kernels", self.said).group(1)), 10)
            self.check([KILN, "build", "m.pt", "-i", "x=float32[2x3x15x17]", *TCC, "-o", "program"], 0)
            self.check([KILN, "check", "m.pt", "program", "-i", "x=float32[3x3x11x18]"], 0)
            layout = "a = torch.contiguous(x, memory_format=2)"
            self.form([layout, "return %s" % conv("a", 3, times, k, s, p)], ["x=float32[2x3x15x17]"])
            self.form(["return torch.conv1d(x, %s, %s, [1], [%d], [1], 5)" % (sin(5 * times, 1, k), sin(5 * times), p)], ["x=float32[2x5x40]"])

    GROUPS = (          # number of groups, inputs and outputs of a group, window, stride, padding, dilation
        (32, 4, 4, (3, 3), (1, 1), (1, 1), (1, 1)), (3, 8, 8, (3, 3), (2, 2), (1, 1), (1, 1)), (7, 3, 3, (3, 3), (1, 1), (2, 0), (1, 1)),
        (5, 2, 6, (2, 5), (1, 2), (0, 3), (2, 1)), (70, 2, 2, (1, 1), (1, 1), (0, 0), (1, 1)), (65, 1, 2, (3, 3), (1, 1), (1, 1), (1, 1)),
        (2, 3, 1, (3, 3), (1, 1), (1, 1), (1, 1)), (3, 16, 16, (3, 3), (1, 1), (1, 1), (1, 1)), (9, 12, 12, (3, 3), (2, 1), (1, 1), (1, 1)),
        (3, 1, 5, (5, 5), (1, 1), (2, 2), (1, 1)), (2, 24, 20, (3, 3), (1, 1), (1, 1), (1, 1)), (3, 20, 40, (1, 1), (1, 1), (0, 0), (1, 1)),
        (4, 17, 2, (3, 3), (1, 1), (1, 1), (1, 1)), (66, 9, 1, (1, 1), (2, 2), (0, 0), (1, 1)), (2, 5, 70, (3, 2), (1, 1), (3, 3), (1, 1)))

    def test_groups(self):
        """Narrow groups that share vectors, evenly or not. Wide groups in panels. Groups with more inputs than a vector has
        lanes, or with fewer channels than lanes. More groups than a node may have launches, which take one launch together
        with their epilogue."""
        for g, ins, outs, k, s, p, d in daily.sample(self.GROUPS, 2):
            def conv(bias):
                return "torch.conv2d(a, %s, %s, [%d, %d], [%d, %d], [%d, %d], %d)" % (sin(g * outs, ins, *k), bias, *s, *p, *d, g)
            lines = ["a = torch.relu(torch.conv2d(x, %s))" % sin(g * ins, 3, 1, 1), "y = torch.hardtanh(%s, -0.5, 2)" % conv(sin(g * outs)),
                     "z = torch.silu(%s)" % conv("torch.neg(%s)" % sin(g * outs)), "return torch.add(%s, z), y" % conv("None")]
            self.put("m.pt", model(body(lines, "x: Tensor", "Tuple[Tensor, Tensor]")))
            text = call([KILN, "show", "m.pt", "--stage", "kernels", "-i", "x=float32[2x3x9x17]"], self.dir)[1].decode()
            self.assertEqual(len(re.findall("microkernel vc_", text)), 4, (g, ins, outs, text))
            for cpu in ("native", "x86-64-v3") if os.uname().machine == "x86_64" else ("native",):
                self.check([KILN, "build", "m.pt", "-i", "x=float32[2x3x9x17]", "--cpu", cpu, "-o", "program"], 0)
                for options in ["x=float32[2x3x9x17]"], ["x=float32[2x3x9x17]", "--threads", "3"], ["x=float32[1x3x8x23]"]:
                    self.check([KILN, "check", "m.pt", "program", "-i", *options], 0)
        os.remove(os.path.join(self.dir, "program"))

    def test_groups_by_computed_weights(self):
        """More groups than a node may have launches, with computed weights: one launch. Gradients of this case are in
        tests/grad/forms_test.py."""
        conv = "torch.conv2d(torch.relu(x), torch.mul(w, 2.), b, [%d, %d], [1, 1], [1, 1], %d)"
        for groups, ins, outs, stride in (66, 2, 3, 1), (3, 9, 5, 2), (2, 50, 70, 1):
            self.put("m.pt", model(body(["return " + conv % (stride, stride, groups)], "x: Tensor, w: Tensor, b: Tensor", "Tensor")))
            options = [o for a in ("x=float32[2x%dx6x7]" % (groups * ins), "w=float32[%dx%dx3x3]" % (groups * outs, ins), "b=float32[%d]" % (groups * outs))
                       for o in ("-i", a)]
            text = call([KILN, "show", "m.pt", "--stage", "kernels", *options], self.dir)[1].decode()
            self.assertEqual(len(re.findall("microkernel vb_conv", text)), 1, text)
            self.check([KILN, "build", "m.pt", *options, "--cpu", "native", "-o", "program"], 0)
            self.check([KILN, "check", "m.pt", "program", *options, "--threads", "2"], 0)
        os.remove(os.path.join(self.dir, "program"))

    def test_windows_of_three_columns(self):
        """Few channels, computed by runs of a row: results of every panel width, rows of every remainder, rows shorter than a
        block, both strides."""
        for at, n in daily.sample(enumerate((5, 8, 12, 16, 19, 24, 30, 32, 36, 40, 41, 48)), 2):
            k, s, p = (((3, 3), (1, 1), (1, 1)), ((3, 3), (2, 2), (1, 1)), ((1, 3), (1, 1), (0, 2)), ((5, 3), (3, 1), (1, 0)), ((3, 3), (1, 2), (1, 0)))[at % 5]
            conv = "torch.conv2d(%s, %s, %s, [%d, %d], [%d, %d])"
            lines = ["a = torch.relu(%s)" % (conv % ("x", sin(n, 3, *k), sin(n), *s, *p)), "b = %s" % (conv % ("a", sin(9, n, 3, 3), "None", 1, 1, 1, 1)),
                     "return torch.silu(b), a"]
            self.put("m.pt", model(body(lines, "x: Tensor", "Tuple[Tensor, Tensor]")))
            for cpu in ("native", "x86-64-v3") if os.uname().machine == "x86_64" else ("native",):
                self.check([KILN, "build", "m.pt", "-i", "x=float32[2x3x9x%d]" % (14 + at), "--cpu", cpu, "-o", "program"], 0)
                for options in ["x=float32[2x3x9x%d]" % (14 + at)], ["x=float32[1x3x9x%d]" % (6 + at)], ["x=float32[1x3x10x%d]" % (27 + at), "--threads", "3"]:
                    self.check([KILN, "check", "m.pt", "program", "-i", *options], 0)
        os.remove(os.path.join(self.dir, "program"))

    def test_windows_of_other_widths(self):
        """Few channels, computed by runs of a row that load three taps, two or one at a time: windows of every remainder, both
        strides."""
        windows = ((5, 5, 1), (2, 7, 2), (7, 1, 1), (1, 4, 1), (3, 2, 1), (2, 11, 2), (4, 6, 1), (1, 8, 1))
        lines = ["y%d = torch.relu(torch.conv2d(x, %s, %s, [%d, %d], [%d, %d]))" % (i, sin(n, 18, h, w), sin(n), s, s, h // 2, w // 2)
                 for i, ((h, w, s), n) in enumerate(zip(windows, (16, 9, 16, 40, 24, 12, 48, 5)))]
        self.put("m.pt", model(body(lines + ["return %s" % ", ".join("y%d" % i for i in range(8))], "x: Tensor",
                                    "Tuple[%s]" % ", ".join(["Tensor"] * 8))))
        for cpu in ("native", "x86-64-v3") if os.uname().machine == "x86_64" else ("native",):
            self.check([KILN, "build", "m.pt", "-i", "x=float32[2x18x9x31]", "--cpu", cpu, "-o", "program"], 0)
            for options in ["x=float32[2x18x9x31]"], ["x=float32[1x18x6x8]"], ["x=float32[3x18x7x61]", "--threads", "3"]:
                self.check([KILN, "check", "m.pt", "program", "-i", *options], 0)
        os.remove(os.path.join(self.dir, "program"))

    def test_winograd_channels(self):
        """A channel count that is a multiple of 8 fills vectors of AVX2. With AVX-512 the last vector overlaps the one before it.
        """
        widths, x = (16, 24, 40, 88, 24), "x=float32[2x16x19x14]"
        lines = ["y%d = torch.relu(torch.conv2d(%s, %s, %s, [1, 1], [1, 1]))" % (i, "y%d" % (i - 1) if i else "x", sin(m, n, 3, 3), sin(m))
                 for i, (n, m) in enumerate(zip(widths, widths[1:]))]
        self.put("m.pt", model(body(lines + ["return y%d" % (len(widths) - 2)], "x: Tensor", "Tensor")))
        for cpu in (["--cpu", "x86-64-v3"], ["--cpu", "native"]) if os.uname().machine == "x86_64" else ([],):
            self.check([KILN, "build", "m.pt", "-i", x, *cpu, "-o", "program"], 0)
            code, out, err = call(["./program", "--info", "--json", "-"], self.dir)
            self.assertGreaterEqual(json.loads(out)["made_bytes"], 4 * 16 * sum(n * m for n, m in zip(widths, widths[1:])))
            for options in [], ["--threads", "3"]:
                self.check([KILN, "check", "m.pt", "program", "-i", x, *options], 0)
        os.remove(os.path.join(self.dir, "program"))

    def test_threads(self):
        """Threads divide the rows if there are many, else the tiles or panels of Winograd's form, else the panels. The bits do
        not depend on it."""
        lines = ["a = torch.relu(torch.conv2d(x, %s, %s, [2, 2], [3, 3]))" % (sin(32, 3, 7, 7), sin(32)),
                 "b = torch.relu(torch.conv2d(a, %s, %s, [1, 1], [1, 1]))" % (sin(80, 32, 3, 3), sin(80)),
                 "c = torch.conv2d(b, %s, %s)" % (sin(70, 80, 1, 1), sin(70)),
                 "d = torch.relu(torch.conv2d(torch.max_pool2d(c, [6, 6], [6, 6]), %s))" % sin(144, 70, 1, 1),
                 "e = torch.conv2d(d, %s, None, [1, 1], [1, 1])" % sin(160, 144, 3, 3),
                 "f = torch.conv2d(torch.gelu(torch.conv2d(e, %s, None, [2, 2], [1, 1])), %s)" % (sin(200, 160, 3, 3), sin(33, 200, 1, 1)),
                 "return torch.linear(torch.flatten(f, 1), %s)" % sin(130, 33 * 3 * 4)]
        self.put("m.pt", model(body(lines, "x: Tensor", "Tensor")))
        with open(os.path.join(self.dir, "x.npz"), "wb") as f:
            f.write(npz(x=npy([1, 3, 63, 85], data=struct.pack("<16065f", *(i % 37 / 19 - 1 for i in range(16065))))))
        for cpu in (["--cpu", "native"], ["--cpu", "x86-64-v3"], TCC) if os.uname().machine == "x86_64" else ([],):
            self.check([KILN, "build", "m.pt", "-i", "x.npz", *cpu, "-o", "program"], 0)
            self.check([KILN, "check", "m.pt", "program", "-i", "x.npz"], 0)
            self.same_on_threads()
        os.remove(os.path.join(self.dir, "program"))

    def test_clamped(self):
        """A clamp after a product or convolution is computed in registers, also of NaN and infinities, in vectors of every width.
        """
        lines = ["h = torch.where(torch.gt(x, 0.9), torch.div(x, 0), x)", "h0 = torch.where(torch.lt(x, -0.9), torch.sub(h, h), h)",
                 "a = torch.relu(torch.conv2d(h0, %s, None, [1, 1], [1, 1]))" % sin(40, 3, 3, 3),
                 "b = torch.relu6(torch.conv2d(a, %s, None, [1, 1], [1, 1], [1, 1], 40))" % sin(40, 1, 3, 3),
                 "c = torch.relu(torch.conv2d(b, %s, None, [1, 1], [2, 2], [2, 2], 40))" % sin(40, 1, 3, 3),
                 "d = torch.hardtanh(torch.conv2d(c, %s), -0.5, 1.5)" % sin(24, 40, 1, 1),
                 "e = torch.relu(torch.linear(torch.flatten(d, 1), %s))" % sin(9, 24 * 17 * 19), "return a, b, c, d, e"]
        self.put("m.pt", model(body(lines, "x: Tensor", "Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]")))
        for cpu in (["--cpu", "native"], ["--cpu", "x86-64-v3"], ["--cpu", "x86-64"], TCC) if os.uname().machine == "x86_64" else ([],):
            self.check([KILN, "build", "m.pt", "-i", "x=float32[1x3x17x19]", *cpu, "-o", "program"], 0)
            self.check([KILN, "check", "m.pt", "program", "-i", "x=float32[1x3x17x19]"], 0)
        os.remove(os.path.join(self.dir, "program"))

    def test_convolution_of_one_dim(self):
        """Convolutions over one dim run as products of overlapping rows or as convolutions over two dims. Chains keep the layout
        of the latter."""
        conv = "torch.conv1d(%s, torch.reshape(self.w, [%s]), None, [%d], [%d], [%d], %d)"
        for x, w, s, p, d, g in (("1x1x40", "1, 1, 6", 4, 0, 1, 1), ("1x1x40", "2, 1, 3", 1, 2, 1, 1), ("2x1x9", "2, 1, 3", 2, 1, 1, 1),
                                 ("1x2x20", "1, 2, 3", 2, 1, 3, 1), ("3x2x7", "2, 1, 3", 1, 1, 1, 2), ("1x1x20", "1, 1, 6", 1, 0, 2, 1),
                                 ("1x1x6", "1, 1, 6", 1, 0, 1, 1), ("1x3x5", "2, 3, 1", 1, 0, 1, 1), ("1x2x4..30", "1, 2, 3", 1, 1, 1, 1)):
            self.form(["return " + conv % ("x", w, s, p, d, g)], ["x=float32[%s]" % x])
        one = conv % ("torch.relu(%s)", "3, 2, 1", 1, 0, 1, 1)
        self.form(["y = " + conv % ("x", "2, 1, 3", 2, 1, 1, 1), "z = torch.add(torch.tanh(y), torch.relu(y))",
                   "return torch.add(torch.mul(" + one % "z" + ", 2), 1)"], ["x=float32[1x1x20]"])
        self.form(["y = " + conv % ("x", "2, 1, 3", 2, 1, 1, 1), "z = torch.relu(y)", "_0 = torch.add_(torch.select(y, 1, 0), 1)",
                   "return (y, z, torch.transpose(z, 1, 2))"], ["x=float32[2x1x9]"], result="Tuple[Tensor, Tensor, Tensor]")
        self.form(["return torch.conv1d(x, y)"], ["x=float32[1x2x9]", "y=float32[3x2x2]"])               # weights are no constant
        self.form(["return " + conv % ("x", "2, 1, 3", 2, 1, 1, 1)], ["x=float32[1x9]"], calls=1)        # input has no batch

    def test_convolution_padded_by_a_word(self):
        """Padding by "same" and "valid" is turned into numbers. If the two sides differ, the extra zeros come last."""
        for x, w, d, g in (("2x2x5x6", "1, 2, 3, 1", "1, 1", 1), ("1x1x5x6", "1, 1, 2, 3", "3, 2", 1), ("1x2x6x5", "2, 1, 1, 3", "1, 1", 2),
                           ("2x2x1..9x6", "1, 2, 1, 3", "1, 1", 1)):
            for word in "same", "valid":
                self.form(['return torch.conv2d(x, torch.reshape(self.w, [%s]), None, [1, 1], "%s", [%s], %d)' % (w, word, d, g)],
                          ["x=float32[%s]" % x])
        self.form(['return torch._convolution_mode(x, torch.reshape(self.w, [1, 3, 2]), None, [1], "same", [1], 1)'], ["x=float32[2x3x7]"])
        self.form(['return torch.conv1d(x, torch.reshape(self.w, [2, 1, 3]), None, [2], "valid", [1], 1)'], ["x=float32[2x1x7]"])

    def test_convolution_of_one_channel(self):
        """With one channel a tensor is contiguous and channels last at once. The result is channels last inside and has the
        model's strides outside."""
        conv = "torch.conv2d(%s, torch.reshape(self.w, [%s]), None, [1, 1], [1, 0], [1, 1], 1)"
        self.form(["return " + conv % ("x", "2, 1, 3, 1", )], ["x=float32[1x1x5x6]"])
        self.form(["y = " + conv % ("x", "2, 1, 1, 3"), "z = " + conv % ("torch.relu(y)", "1, 2, 3, 1"),
                   "return (y, torch.reshape(y, [-1]), [torch.stride(y, 1), torch.stride(z, 0)], torch.add(z, 1))"],
                  ["x=float32[2x1x3..9x6]"], 0, "Tuple[Tensor, Tensor, List[int], Tensor]")

    def test_convolution_transposed(self):
        """Each phase of the stride is one convolution."""
        conv = "torch.conv_transpose%dd(%s, torch.reshape(self.w, [%s]), None, [%s], [%s], [%s], %d, [%s])"
        for n, x, w, s, p, o, g in ((2, "1x2x4x5", "2, 1, 3, 1", "2, 1", "1, 0", "0, 0", 1), (2, "2x1x4x5", "1, 1, 2, 3", "2, 3", "0, 1", "0, 1", 1),
                                    (2, "2x2x3x3", "2, 1, 1, 3", "1, 2", "0, 1", "0, 0", 2), (1, "1x1x7", "1, 1, 6", "3", "1", "1", 1),
                                    (1, "2x3x7", "3, 2, 1", "2", "0", "0", 1), (2, "1x6x1x1", "6, 1, 1, 1", "1, 1", "0, 0", "0, 0", 1),
                                    (2, "1x2x3..9x4", "2, 1, 3, 1", "2, 1", "1, 0", "1, 0", 1)):
            one = "1" if n == 1 else "1, 1"
            self.form(["return " + conv % (n, "x", w, s, p, o, g, one)], ["x=float32[%s]" % x])
        self.form(["y = " + conv % (1, "x", "1, 2, 3", "2", "1", "0", 1, "1"), "return torch.relu(torch.conv1d(torch.relu(y), "
                   "torch.reshape(self.w, [3, 2, 1])))"], ["x=float32[1x1x7]"])
        self.form(["return " + conv % (1, "x", "1, 2, 3", "1", "0", "0", 1, "2")], ["x=float32[1x1x7]"], calls=1)       # dilated
        # output padding beyond all taps
        self.form(["return " + conv % (1, "x", "1, 1, 6", "3", "1", "2", 1, "1")], ["x=float32[1x1x7]"], calls=1)

    def test_phases_of_unequal_taps(self):
        """If the stride does not divide the window, phases of equal numbers of taps are computed together. Taps that are zeros
        are not computed."""
        for w, s, p, o, boxes in ("16, 24, 3, 3", "2, 2", "1, 1", "1, 1", 4), ("9, 40, 5, 2", "3, 1", "0, 0", "0, 0", 2), ("16, 8, 4, 4", "2, 2", "1, 1", "0, 0", 1), \
                ("16, 32, 4, 5", "2, 3", "1, 0", "0, 0", 4), ("8, 48, 4, 4", "2, 2", "1, 1", "0, 0", 4):
            n = [int(i) for i in w.split(", ")]
            up = "torch.conv_transpose2d(%%s, %s, %s, [%s], [%s], [%s])" % (sin(*n), sin(n[1]), s, p, o)
            lines = ["a = torch.relu(torch.conv2d(x, %s))" % sin(n[0], 3, 1, 1), "return torch.silu(%s), torch.relu(%s)" % (up % "a", up % "torch.neg(a)")]
            self.form(lines, ["x=float32[2x3x9x8]"], result="Tuple[Tensor, Tensor]")
            text = call([KILN, "show", "m.pt", "--stage", "kernels", "-i", "x=float32[2x3x9x8]"], self.dir)[1].decode()
            self.assertEqual(text.count("weight, in panels"), 1 + 2 * boxes, text)
            self.check([KILN, "build", "m.pt", "-i", "x=float32[2x3x9x8]", "--cpu", "native", "-o", "program"], 0)
            code, out, err = call(["./program", "--info", "--json", "-"], self.dir)
            # the weights as stored and in panels, without zeros
            self.assertLess(json.loads(out)["weights_bytes"], 2.4 * 4 * math.prod(n) + 8192)
            for x in "2x3x9x8", "3x3x5x13":
                self.check([KILN, "check", "m.pt", "program", "-i", "x=float32[%s]" % x, "--threads", "3"], 0)
        os.remove(os.path.join(self.dir, "program"))

    def test_depthwise_windows(self):
        """Depthwise windows of any width and height, beyond the image, dilated, one row high. Rows in pieces, by threads. Narrow
        images."""
        lines = ["a = torch.relu(torch.conv2d(x, %s))" % sin(40, 3, 1, 1)]
        windows = (((9, 9), (1, 1), (4, 4), (1, 1)), ((3, 31), (1, 1), (1, 15), (1, 1)), ((21, 1), (1, 1), (10, 0), (1, 1)), ((7, 4), (2, 2), (3, 1), (1, 1)),
                   ((2, 2), (2, 2), (0, 0), (1, 1)), ((3, 3), (1, 1), (3, 3), (3, 3)), ((5, 6), (1, 3), (2, 5), (1, 1)), ((3, 5), (1, 2), (2, 4), (2, 2)))
        for i, (k, s, p, d) in enumerate(windows):
            lines += ["y%d = torch.conv2d(a, %s, %s, [%d, %d], [%d, %d], [%d, %d], 40)" % (i, sin(40, 1, *k), sin(40), *s, *p, *d)]
        lines += ["return " + ", ".join("torch.silu(y%d)" % i for i in range(len(windows)))]
        self.put("m.pt", model(body(lines, "x: Tensor", "Tuple[%s]" % ", ".join(["Tensor"] * len(windows)))))
        for cpu in ("native", "x86-64-v3") if os.uname().machine == "x86_64" else ("native",):
            self.check([KILN, "build", "m.pt", "-i", "x=float32[1x3x25x37]", "--cpu", cpu, "-o", "program"], 0)
            for x in "1x3x25x37", "2x3x12x18", "1x3x21x5":
                self.check([KILN, "check", "m.pt", "program", "-i", "x=float32[%s]" % x, "--threads", "3"], 0)
        row = "torch.conv1d(x, %s, None, [1], [%d], [%d], %d)"
        for dilation, groups, n in (1, 33, 1), (4, 33, 1), (2, 11, 3):
            self.form(["return torch.relu(%s)" % row % (sin(33, n, 3), dilation, dilation, groups)], ["x=float32[1x33x260]"])


if __name__ == "__main__":
    unittest.main()
