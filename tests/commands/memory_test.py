"""Building needs memory for at most two copies of a model's weights, and its time does not grow with the sizes that are tried.

usage: memory_test.py KILN

The model is a chain of products with weights of 16 bits, of which specializations compute in float. The largest process of its build takes
at most twice the archive and 400 MB. (When each size that was tried had all weights as floats, it took 70 times the archive.)
"""
import os, struct, subprocess, sys, unittest

KILN = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
from hostile import Test, archive as zipped, attrs, body, glob, npy, npz, pickled, tensor, text

WIDTH, LAYERS = 1024, 20
MEASURE = """import resource, subprocess, sys
p = subprocess.run(sys.argv[1:])
u = resource.getrusage(resource.RUSAGE_CHILDREN)
print(u.ru_maxrss, u.ru_utime + u.ru_stime)
sys.exit(p.returncode)
"""


class Memory(Test):
    def build(self, width, *options):
        """Returns the kilobytes of the largest process, and the total seconds."""
        n = width * width
        members, state, slots = {"constants.pkl": pickled(b")"), "version": b"3\n"}, {}, ""
        for i in range(LAYERS):
            part = struct.pack("<4096H", *[0x3c00 + (k * 2654435761 + i * 40503 >> 7) % 0x1ff for k in range(4096)])
            state["w%d" % i] = tensor(n, [width, width], [width, 1], "BFloat16Storage").replace(text("0"), text(str(i)))
            members["data/%d" % i] = part * (n >> 12)
            slots += "  w%d : Tensor\n" % i
        lines = ["x = torch.relu(torch.linear(x, self.w%d))" % i for i in range(LAYERS)]
        members["code/__torch__.py"] = ("class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n" + slots +
                                        body(["x = torch.to(x, 15)", *lines, "return torch.to(x, 6)"])).encode()
        members["data.pkl"] = pickled(glob("__torch__", "M") + b")\x81" + attrs(**state) + b"b")
        self.put("m.pt", zipped(members))
        self.put("x.npz", npz(x=npy([8, width])))
        p = subprocess.run([sys.executable, "-c", MEASURE, KILN, "build", "m.pt", "-i", "x.npz", "--emit", "c", "--name", "p", *options],
                           cwd=self.dir, capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stderr[-2000:])
        most, seconds = p.stdout.split()[-2:]
        return int(most), float(seconds)

    def test_all(self):
        archive = LAYERS * WIDTH * WIDTH * 2
        for options in (), ("--weights", "file"):
            with self.subTest(options=options):
                small, large = self.build(64, "-o", "c", *options), self.build(WIDTH, "-o", "d", *options)
                self.assertLess(large[0], (2 * archive + (400 << 20)) >> 10)
                self.assertLess(large[1] - small[1], 8, (small, large))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
