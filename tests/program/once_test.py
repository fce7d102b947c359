"""Weights that a kernel's form only permutes are stored once; generic code unpacks them: whole, in parts, in a list.

usage: once_test.py KILN
"""
import json, os, struct, sys, unittest

KILN = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hostile import Test, attrs, body, model, npy, npz, tensor

SAMPLES = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../samples"))


def elements(dims):
    n = 1
    for d in dims:
        n *= d
    return n


def floats(n, period):
    return struct.pack("<%df" % n, *(i % period / period - 0.5 for i in range(n)))


class Once(Test):
    def plain(self, model, given):
        """Bytes of weights that are stored as they are; its specialized and its generic code agree."""
        self.check([KILN, "build", model, "-i", given, "-o", "program", "--json", "build.json"], 0)
        self.check(["./program", "-i", given, "--selfcheck"], 0)
        with open(os.path.join(self.dir, "build.json")) as f:
            return json.load(f)["weight_forms"]["plain"]

    def net(self, weight, lines, dims):
        strides = [elements(weight[i + 1:]) for i in range(len(weight))]
        state = attrs(training=b"\x89", w=tensor(elements(weight), weight, strides))
        self.put("m.pt", model(body(lines), state, **{"data/0": floats(elements(weight), 17)}))
        self.put("x.npz", npz(x=npy(dims, data=floats(elements(dims), 13))))
        return self.plain("m.pt", "x.npz")

    def test_whole(self):
        self.assertEqual(self.net([33, 20], ["return torch.linear(x, self.w)"], [4, 20]), 0)

    def test_parts(self):
        lines = ["w = self.w", "q, k = torch.linear(x, torch.slice(w, 0, 0, 20)), torch.linear(x, torch.slice(w, 0, 20, 33))",
                 "return torch.cat([q, k], 1)"]
        self.assertEqual(self.net([33, 20], lines, [4, 20]), 0)
        self.assertEqual(self.net([34, 20], lines, [4, 20]), 34 * 20 * 4)              # a row that no kernel has

    def test_groups(self):
        self.assertEqual(self.net([6, 2, 3, 2], ["return torch.conv2d(x, self.w, None, [1, 1], [1, 1], [1, 1], 3)"], [1, 6, 5, 5]), 0)
        self.assertEqual(self.net([6, 1, 3, 2], ["return torch.conv2d(x, self.w, None, [1, 1], [1, 1], [1, 1], 6)"], [1, 6, 5, 5]), 0)

    def test_needed(self):
        """As a table of rows, too."""
        lines = ["y = torch.embedding(self.w, torch.argmax(x, 1))", "return torch.linear(y, self.w)"]
        self.assertEqual(self.net([33, 20], lines, [4, 20]), 33 * 20 * 4)

    def test_list(self):
        sample = os.path.join(SAMPLES, "lstm")
        self.assertLess(self.plain(os.path.join(sample, "model.pt"), os.path.join(sample, "in.npz")), 4096)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
