"""Errors of programs against double in products and convolutions with long sums.

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
    def off(self, product, dims, weight, of="%s"):
        """Largest error of product(x, w), in units of 2 ** -24 of the largest value."""
        w = of % "torch.sin(torch.mul(torch.reshape(torch.arange(%d, dtype=7), %s), 12.9898))" % (elements(weight), list(weight))
        lines = ["w = torch.to(%s, 6)" % w, "y = " + product.format("x", "w"), "z = " + product.format("torch.to(x, 7)", "torch.to(w, 7)"),
                 "return float(torch.div(torch.max(torch.abs(torch.sub(y, z))), torch.max(torch.abs(z))))"]
        draw = random.Random(1)
        x = array.array("f", (draw.gauss(0, 1) for _ in range(elements(dims))))
        self.put("m.pt", model(body(lines, result="float")))
        self.put("x.npz", npz(x=npy(dims, data=x.tobytes())))
        self.check([KILN, "build", "m.pt", "-i", "x.npz", "--cpu", "native", "--no-dynamic", "-o", "program"], 0)
        rc, out, err = call(["./program", "-i", "x.npz", "--strict"], self.dir)
        self.assertEqual(rc, 0, err)
        return float(out) * 2 ** 24

    def test_product(self):
        for rows in (2, 40):
            self.assertLess(self.off("torch.matmul({}, {})", [rows, 6000], [6000, 72]), 12)     # 57 if summed one by one

    def test_convolution(self):
        # 47 if summed one by one
        self.assertLess(self.off("torch.conv2d({}, {}, None, [2, 2], [1, 1])", [1, 500, 8, 8], [48, 500, 3, 3]), 12)

    def test_winograd(self):
        """In sums of 256 products: 56. With the usual interpolation points: 132. Summed one by one: 225. Also in tiles of 2 x 2.
        """
        self.assertLess(self.off("torch.conv2d({}, {}, None, [1, 1], [1, 1])", [1, 512, 8, 8], [64, 512, 3, 3]), 45)
        self.assertLess(self.off("torch.conv2d({}, {}, None, [1, 1], [1, 1])", [1, 512, 7, 7], [128, 512, 3, 3]), 12)

    def test_coarse(self):
        """Weights on grids: of 8 bits starting at 0, next to rows of equal numbers. Views that differ in a stride."""
        grid = "torch.add(torch.mul(torch.lt(torch.arange(%d), 9), torch.round(torch.mul(%%s, 99))), 99)"
        for rows in (2, 40):
            self.assertLess(self.off("torch.matmul({}, {})", [rows, 900], [900, 40], grid % 40), 12)  # 150 if summed one by one
        both = "torch.cat([torch.linear({0}, torch.slice({1}, 1, 0, 256)), torch.linear({0}, torch.slice({1}, 1, 0, 512, 2))], 1)"
        self.assertLess(self.off(both, [2, 256], [64, 512], "torch.round(torch.mul(%s, 99))"), 12)             # within 2 ** 24


if __name__ == "__main__":
    unittest.main()
