"""Quantized operators at ties give the answers of PyTorch's engines: interpreted, in specialized code by tcc and by the C
compiler, and in generic code, for every sum of a window, every integer of 8 bits and every zero point.

usage: ties_test.py KILN     ties.py is the model; oracle/engines.py records ties.xz by PyTorch 2.15
"""
import os, sys, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import npz, ties_file
from hostile import KILN, Test

SOURCE = os.path.join(HERE, "ties.py")


def is_lacking(key):
    """Does Kiln compute this array as x86 does, although qnnpack differs? qnnpack counts padding in any case, and multiplies sums
    by scale / (scale * elements) in float32, which is not 1 / 6 or 1 / 49."""
    return "avg_pool2d_inside" in key or "last23" in key or key.startswith("0tenth.six.") and ("mean" in key or "avg_pool" in key)


class Ties(Test):
    recorded = ties_file.read()

    def setUp(self):
        super().setUp()
        for count in 0, 1, 4:
            npz.write(os.path.join(self.dir, "%d.npz" % count), ties_file.inputs(count))

    def same(self, command, count, engine="x86"):
        """All recorded arrays are answered. For one zero point, a part of them."""
        self.check([*command, "-i", "%d.npz" % count, "-o", "out.npz"], 0)
        got = {key[4:]: array for key, array in npz.read(os.path.join(self.dir, "out.npz")).items()}
        want = {k[4 * (not count):]: v for k, v in self.recorded[engine].items() if k.startswith("all.") == (not count)}
        wrong = sorted(k for k in got if got[k] != want[k] and not (engine == "qnnpack" and is_lacking(k)))
        self.assertEqual(wrong, [], (command, engine))
        if count != 1:
            self.assertEqual(sorted(got), sorted(want))

    def test_interpreted(self):
        self.same([KILN, "run", SOURCE], 4)

    def built(self, count, *options):
        self.check([KILN, "build", "--no-dynamic", *options, SOURCE, "-i", "%d.npz" % count, "-o", "program"], 0)
        self.same(["./program", "--strict"], count)

    def test_qnnpack(self):
        self.same([KILN, "run", "--engine", "qnnpack", SOURCE], 4, "qnnpack")
        self.check([KILN, "build", "--no-dynamic", "--cc", "tcc", "--engine", "qnnpack", SOURCE, "-i", "1.npz", "-o", "program"], 0)
        self.same(["./program"], 1, "qnnpack")
        self.check([KILN, "run", "--engine", "cuda", SOURCE, "-i", "4.npz"], 2, "--engine wants x86, fbgemm, onednn or qnnpack, not 'cuda'")

    def test_calls_say_why(self):
        with open(os.path.join(self.dir, "why.py"), "w") as f:
            f.write("def forward(x: Tensor):\n    q = torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)\n"
                    "    mean = q.contiguous(memory_format=torch.channels_last).mean([2, 3])\n"
                    "    return torch.dequantize(mean), torch.dequantize(torch.ops.aten.adaptive_avg_pool2d(q, [2, 2]))\n")
        for engine, why in ("qnnpack", "int[]): qnnpack rounds windows of one size in another way"), ("x86", "the order of summation decides how halves are rounded"):
            self.check([KILN, "build", "-v", "why.py", "-i", "x=float32[1x3x4x5]", "--no-dynamic", "--cc", "tcc", "--engine", engine, "-o", "p"], 0, why)

    def test_built(self):
        self.built(4, "--cc", "tcc")
        self.same(["./program"], 0)

    def test_vectors(self):
        os.environ["CFLAGS"] = "-Og"
        self.built(1, "--cpu", "native")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=0)
