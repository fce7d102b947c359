"""Quantized operators at ties are what PyTorch's engines answered: interpreted, in specialized code by tcc and by the C compiler, and
in generic code, for every sum of a window, every integer of 8 bits and every zero point.

usage: ties_test.py KILN     ties.py is the model; oracle/engines.py records ties.xz by PyTorch 2.15
"""
import os, sys, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import npz, ties_file
from hostile import KILN, Test

SOURCE = os.path.join(HERE, "ties.py")


class Ties(Test):
    recorded = ties_file.read()

    def setUp(self):
        super().setUp()
        for count in 0, 1, 4:
            npz.write(os.path.join(self.dir, "%d.npz" % count), ties_file.inputs(count))

    def same(self, command, count, engine="x86"):
        """All that was recorded is answered; of one zero point, a part."""
        self.check([*command, "-i", "%d.npz" % count, "-o", "out.npz"], 0)
        got = {key[4:]: array for key, array in npz.read(os.path.join(self.dir, "out.npz")).items()}
        want = {k[4 * (not count):]: v for k, v in self.recorded[engine].items() if k.startswith("all.") == (not count)}
        self.assertEqual(sorted(k for k in got if got[k] != want[k]), [], (command, engine))
        if count != 1:
            self.assertEqual(sorted(got), sorted(want))

    def test_interpreted(self):
        self.same([KILN, "run", SOURCE], 4)

    def built(self, count, *options):
        self.check([KILN, "build", "--no-dynamic", *options, SOURCE, "-i", "%d.npz" % count, "-o", "program"], 0)
        self.same(["./program", "--strict"], count)

    def test_built(self):
        self.built(4, "--cc", "tcc")
        self.same(["./program"], 0)

    def test_vectors(self):
        os.environ["CFLAGS"] = "-Og"
        self.built(1, "--cpu", "native")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=0)
