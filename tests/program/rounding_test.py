"""Products and convolutions of long sums: how far a program is off the same in double.

usage: rounding_test.py KILN
"""
import array, os, random, sys, unittest

KILN = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hostile import Test, body, call, model, npy, npz


def elements(dims):
    n = 1
    for d in dims:
        n *= d
    return n


class Rounding(Test):
    def off(self, product, dims, weight):
        """The largest error of product(x, w), in units of 2 ** -24 of the largest value."""
        w = "torch.sin(torch.mul(torch.reshape(torch.arange(%d, dtype=7), %s), 12.9898))" % (elements(weight), list(weight))
        lines = ["w = torch.to(%s, 6)" % w, "y = " + product % ("x", "w"), "z = " + product % ("torch.to(x, 7)", "torch.to(w, 7)"),
                 "return float(torch.div(torch.max(torch.abs(torch.sub(y, z))), torch.max(torch.abs(z))))"]
        draw = random.Random(1)
        x = array.array("f", (draw.gauss(0, 1) for _ in range(elements(dims))))
        self.put("m.pt", model(body(lines, result="float")))
        self.put("x.npz", npz(x=npy(dims, data=x.tobytes())))
        self.check([KILN, "build", "m.pt", "-i", "x.npz", "-o", "program"], 0)
        rc, out, err = call(["./program", "-i", "x.npz", "--strict"], self.dir)
        self.assertEqual(rc, 0, err)
        return float(out) * 2 ** 24

    def test_product(self):
        for rows in (2, 40):
            self.assertLess(self.off("torch.matmul(%s, %s)", [rows, 6000], [6000, 72]), 12)     # summed one by one: 57

    def test_convolution(self):
        self.assertLess(self.off("torch.conv2d(%s, %s, None, [2, 2], [1, 1])", [1, 500, 8, 8], [48, 500, 3, 3]), 12)    # 47

    def test_winograd(self):
        """In sums of 256 products: 56; of the usual points, too: 132; summed one by one: 225.  And in tiles of 2 x 2."""
        self.assertLess(self.off("torch.conv2d(%s, %s, None, [1, 1], [1, 1])", [1, 512, 8, 8], [64, 512, 3, 3]), 45)
        self.assertLess(self.off("torch.conv2d(%s, %s, None, [1, 1], [1, 1])", [1, 512, 7, 7], [128, 512, 3, 3]), 12)


if __name__ == "__main__":
    unittest.main()
