"""Gradients by kernels: the calls of the runtime that are left in a program of gradients, and that the program answers as generic
code does.

usage: forms_test.py KILN
"""
import os, random, re, struct, sys, unittest

KILN = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../program"))
from hostile import Test, call, npy, npz

# images, channels in and out, height, width, kernel, stride, padding, dilation, groups
CONVOLUTIONS = [
    (2, 16, 32, 9, 11, 3, 3, 1, 1, 1, 1), (2, 16, 20, 9, 11, 3, 3, 2, 1, 1, 1), (1, 3, 20, 17, 15, 7, 7, 2, 3, 1, 1),
    (2, 8, 8, 8, 8, 1, 1, 2, 0, 1, 1), (2, 70, 130, 6, 7, 3, 3, 1, 1, 1, 1), (2, 16, 16, 9, 9, 3, 3, 1, 2, 2, 1),
    (2, 12, 24, 9, 8, 3, 2, 2, 1, 1, 4), (2, 24, 24, 9, 9, 3, 3, 1, 1, 1, 24), (2, 5, 7, 5, 6, 5, 4, 3, 2, 1, 1),
    (1, 64, 64, 1, 1, 3, 3, 1, 1, 1, 1), (2, 16, 16, 4, 4, 3, 3, 1, 3, 1, 1),
    (2, 132, 198, 6, 7, 3, 3, 1, 1, 1, 66), (1, 132, 66, 5, 6, 3, 2, 2, 1, 1, 66),
]


class Forms(Test):
    def form(self, source, sizes, names, calls):
        r = random.Random(3)
        arrays = {}
        for name, dims in sizes.items():
            n = 1
            for d in dims:
                n *= d
            arrays[name] = npy(dims, data=struct.pack("<%df" % n, *(0.3 * r.gauss(0, 1) for _ in range(n))))
        self.put("in.npz", npz(**arrays))
        self.put("m.py", source.encode())
        rc, out, err = call([KILN, "build", "m.py", "--no-dynamic", "--cpu", "native", "-i", "in.npz", "--grad", names, "-v", "-o", "p"], self.dir)
        self.assertEqual(rc, 0, err[-2000:])
        left = re.findall(r"kernels, (\d+) runtime calls", out.decode() + err.decode())
        self.assertEqual(left, [str(calls)], source)
        rc, out, err = call(["./p", "-i", "in.npz", "--strict", "--selfcheck", "-o", "out.npz"], self.dir)
        self.assertEqual(rc, 0, (source, err[-2000:]))

    def test_convolutions(self):
        """The forward pass, and the gradients by the input, the weights and the bias."""
        sizes, lines = {}, []
        for i, (n, ic, oc, h, w, kh, kw, s, p, d, g) in enumerate(CONVOLUTIONS):
            sizes.update({"x%d" % i: [n, ic, h, w], "w%d" % i: [oc, ic // g, kh, kw], "b%d" % i: [oc]})
            lines.append("torch.conv2d(x%d, w%d, b%d, [%d, %d], [%d, %d], [%d, %d], %d).sin().sum()" % (i, i, i, s, s, p, p, d, d, g))
        source = "def forward(%s):\n    return %s\n" % (", ".join(k + ": Tensor" for k in sizes), " + ".join(lines))
        self.form(source, sizes, ",".join(sizes), 0)

    def test_pooling(self):
        self.form("def forward(x: Tensor, w: Tensor, v: Tensor):\n"
                  "    y = torch.max_pool2d(torch.conv2d(x, w, None, [1, 1], [1, 1]), [3, 3], [2, 2], [1, 1], [1, 1], False)\n"
                  "    z = torch.max_pool2d(torch.conv2d(torch.relu(y), v), [2, 2], [2, 2], [0, 0], [1, 1], True)\n"
                  "    return z.sin().flatten(1)\n",
                  {"x": [2, 3, 17, 14], "w": [20, 3, 3, 3], "v": [37, 20, 2, 2]}, "x,w,v", 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
