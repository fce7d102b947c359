"""Errors of sums in bfloat16, float16 and float32 against double: normalisations, variances, means, softmax, sampling, products,
elements added at indices. Rows have 2 to 64 elements of offsets and scales from 0.01 to 1000. Constant rows and normalisations go
up to 1e30. Interpreted and built, with exact and dynamic kernels.

usage: narrow_test.py KILN     narrow.py is the model; oracle/narrow.py records narrow.npz by PyTorch 2.15
"""
import collections, math, os, sys, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import npz
from hostile import KILN, Test

SOURCE, GIVEN = os.path.join(HERE, "narrow.py"), "xwbg"
LARGEST = {"bfloat16": 3.3e38, "float16": 65504, "float32": 3.4e38}
PROFILED = "16"


def recorded():
    """{(dtype, set): {name: array}}"""
    sets = collections.defaultdict(dict)
    for key, array in npz.read(os.path.join(HERE, "narrow.npz")).items():
        dtype, name, result = key.split(".")
        sets[dtype, name][result] = array
    return sets


def rows(array):
    values, n = array[2], array[1][0]
    each = len(values) // n
    return [values[i * each:(i + 1) * each] for i in range(n)]


def bound(dtype, name, top, torch):
    """Largest error allowed. For float32: 5e-6 of the largest element, or 3 times PyTorch's error. For 16 bits: 1.5 times the
    error of rounding once, and twice that for a chain of operators, each of which rounds."""
    if dtype == "float32":
        return max(5e-6 * top, 3 * torch if math.isfinite(torch) else 0)
    return (3 if name.startswith("chain") else 1.5) * npz.unit(dtype, top)


def too_far(dtype, recorded, got):
    """Descriptions of the rows whose error exceeds the bound."""
    for name, want in recorded.items():
        if name in GIVEN or name[0] == "!":
            continue
        errors = recorded["!" + name][2] if "!" + name in recorded else [0] * want[1][0]
        for i, (a, b, torch) in enumerate(zip(rows(want), rows(got["out." + name]), errors)):
            top = max(map(abs, a))
            off = max(abs(x - y) if y == y else math.inf for x, y in zip(a, b))
            most = bound(dtype, name, top, torch)
            if top < LARGEST[dtype] and not off <= most:
                yield "%s, row %d: off by %.3g, largest element %.3g, bound %.3g" % (name, i, off, top, most)


class Narrow(Test):
    recorded = recorded()

    def setUp(self):
        super().setUp()
        for (dtype, name), arrays in self.recorded.items():
            npz.write(os.path.join(self.dir, "%s.%s.npz" % (dtype, name)), {k: arrays[k] for k in GIVEN})

    def near(self, command, dtype):
        for (of, name), arrays in self.recorded.items():
            if of == dtype:
                self.check([*command, "-i", "%s.%s.npz" % (dtype, name), "-o", "out.npz"], 0)
                far = list(too_far(dtype, arrays, npz.read(os.path.join(self.dir, "out.npz"))))
                self.assertEqual(far, [], (command, dtype, name))

    def test_interpreted(self):
        for dtype in LARGEST:
            self.near([KILN, "run", SOURCE], dtype)

    def built(self, dtype, *options):
        self.check([KILN, "build", *options, SOURCE, "-i", "%s.%s.npz" % (dtype, PROFILED), "-o", "program"], 0)
        self.check(["./program", "--strict", "-i", "%s.%s.npz" % (dtype, PROFILED)], 0)
        self.near(["./program"], dtype)

    def test_built(self):
        for dtype in LARGEST:
            self.built(dtype, "--cc", "tcc")

    def test_vectors(self):
        self.built("float32", "--cpu", "native")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=0)
