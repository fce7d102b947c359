"""Gradients from the command line: kiln run and programs give the same; training reaches what PyTorch reaches.

usage: train_test.py KILN

The net of samples/digits starts from numbers made here and is trained on glyphs with noise.  The losses are those of the
same loop in PyTorch 1.13 (tests/oracle/train.py prints them).
"""
import os, random, re, struct, sys, unittest, zipfile

KILN = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../program"))
import hostile
from hostile import Test, call, model, npy, npz

DIGITS = os.path.join(HERE, "../../samples/digits/model.pt")
PARAMETERS = {"features.0.weight": [16, 1, 3, 3], "features.1.weight": [16], "features.1.bias": [16],
              "features.3.weight": [32, 16, 3, 3], "features.4.weight": [32], "features.4.bias": [32],
              "linear.weight": [10, 512], "linear.bias": [10]}
# losses of the first and the last of 250 steps, pictures read right
PYTORCH = {"sgd": (2.31697, 1.48e-06, 100), "adam": (2.31697, 1.19e-05, 100)}


def numbers(n, seed, scale):
    r = random.Random(seed)
    return [scale * (2 * r.random() - 1) for _ in range(n)]


def size(dims):
    n = 1
    for d in dims:
        n *= d
    return n


def start():
    return {k: numbers(size(d), k, 0.1) for k, d in PARAMETERS.items()}


def glyphs(n):
    """Pictures of 8x8 pixels from 0 to 16, and what they show."""
    r, shapes, pictures, labels = random.Random(7), [], [], []
    for _ in range(10):
        shapes.append([12 * (r.random() < 0.5) for _ in range(64)])
    for _ in range(n):
        digit = r.randrange(10)
        labels.append(digit)
        pictures += [min(16., max(0., p + 5 * (r.random() + r.random() - 1))) for p in shapes[digit]]
    return pictures, labels


def floats(dims, data):
    return npy(dims, data=struct.pack("<%df" % len(data), *data))


def longs(dims, data):
    return npy(dims, "<i8", data=struct.pack("<%dq" % len(data), *data))


def arrays(path):
    """name -> floats of an .npz of float32."""
    out = {}
    with zipfile.ZipFile(path) as z:
        for name in z.namelist():
            data = z.read(name)
            at = 10 + struct.unpack("<H", data[8:10])[0]
            out[name[:-4]] = struct.unpack("<%df" % ((len(data) - at) // 4), data[at:])
    return out


class Gradients(Test):
    def run_ok(self, *argv, status=0):
        rc, out, err = call(list(argv), self.dir)
        self.assertEqual(rc, status, (argv, err[-2000:]))
        return out.decode() + err.decode()

    def test_run_and_program(self):
        self.put("m.pt", model("""  def forward(self: __torch__.M, x: Tensor) -> Tensor:
    y = torch.mul(x, self.w)
    return torch.sum(torch.mul(y, y))
"""))
        self.put("x.npz", npz(x=floats([2, 3], [1, 2, 3, 4, 5, 6])))
        self.put("v.npz", npz(out=floats([], [0.5])))
        self.run_ok(KILN, "build", "m.pt", "-i", "x.npz", "--grad", "w,x", "-o", "p")
        self.run_ok(KILN, "run", "m.pt", "-i", "x.npz", "--grad", "w,x", "--grad-out", "a.npz")
        self.run_ok("./p", "-i", "x.npz", "--strict", "--grad-out", "b.npz", "-o", "out.npz")
        self.run_ok("./p", "-i", "x.npz", "--grad-in", "v.npz", "--grad-out", "c.npz")
        w, x = range(6), range(1, 7)
        want = {"w": tuple(2. * a * b * b for a, b in zip(w, x)), "x": tuple(2. * a * a * b for a, b in zip(w, x))}
        self.assertEqual(arrays(os.path.join(self.dir, "a.npz")), want)
        self.assertEqual(arrays(os.path.join(self.dir, "b.npz")), want)
        self.assertEqual(arrays(os.path.join(self.dir, "c.npz")), {k: tuple(v / 2 for v in want[k]) for k in want})
        self.assertIn("no argument and no parameter", self.run_ok(KILN, "run", "m.pt", "--grad", "z", status=2))
        self.assertIn("--loss wants", self.run_ok(KILN, "run", "m.pt", "--grad", "x", "--loss", "q", status=2))
        self.run_ok(KILN, "build", "m.pt", "-i", "x.npz", "-o", "plain")
        self.run_ok("./plain", "-i", "x.npz", "--grad-out", "d.npz", status=2)

    def test_loop_that_keeps_what_it_carries(self):
        self.put("m.pt", model("""  def forward(self: __torch__.M, x: Tensor) -> Tensor:
    y = x
    n = 0
    _0 = bool(torch.lt(torch.sum(y), 50))
    while _0:
      y = torch.add(torch.mul(y, self.w), y)
      n = torch.add(n, 1)
      _0 = torch.__and__(bool(torch.lt(torch.sum(y), 50)), torch.lt(n, 3))
    return y
"""))
        self.put("x.npz", npz(x=floats([2, 3], [.1, .2, .3, .4, .5, .6])))
        self.run_ok(KILN, "build", "m.pt", "-i", "x.npz", "--grad", "w,x", "-o", "p")
        self.run_ok("./p", "-i", "x.npz", "--strict", "--selfcheck")

    def test_arguments_that_lie_in_one_place(self):
        """A gradient that is written and returned is no memory of an argument: equal parameters are stored once."""
        self.put("m.py", b"def forward(x: Tensor, y: Tensor):\n    return x[:y.size(0)] * y\n")
        self.run_ok(KILN, "build", "m.py", "--input", "x=float32[2x3]", "--input", "y=float32[2x3]", "--grad", "x,y", "--emit", "c",
                    "-o", "p.c")
        with open(os.path.join(self.dir, "p.c")) as f:
            text = f.read()
        self.assertNotIn("rt_none_overlap(", text.split("_entry(RtCx *cx, IValue *reg)\n{")[1])

    def test_training(self):
        pictures, labels = glyphs(600)
        weights = {k: floats(PARAMETERS[k], v) for k, v in start().items()}
        self.put("train.npz", npz(images=floats([500, 1, 8, 8], pictures[:500 * 64]), target=longs([500], labels[:500]), **weights))
        self.run_ok(KILN, "build", DIGITS, "--method", "scores", "--grad", "params", "--loss", "cross_entropy",
                    "--input", "images=float32[50x1x8x8]", "--input", "target=int64[50]", "-o", "p")
        for how, more in ("sgd", ["--lr", "1e-2", "--momentum", "0.9"]), ("adam", ["--lr", "2e-3"]):
            said = self.run_ok("./p", "-i", "train.npz", "--strict", "--train", how, *more, "--steps", "250", "--batch", "50",
                               "-o", "new.npz")
            losses = [float(x) for x in re.findall("loss ([0-9.e-]+)", said)]
            for got, want in zip((losses[0], losses[-1]), PYTORCH[how][:2]):
                self.assertLess(abs(got - want), 0.02 * want + 1e-3, (how, got, want))
            new = arrays(os.path.join(self.dir, "new.npz"))
            self.assertEqual(set(new), set(PARAMETERS))
            right = self.accuracy(new, pictures[500 * 64:], labels[500:])
            self.assertGreaterEqual(right, PYTORCH[how][2] - 1, how)

    def accuracy(self, new, pictures, labels):
        """Of 100 pictures that it has not seen, by a program that takes parameters as inputs."""
        self.put("test.npz", npz(images=floats([100, 1, 8, 8], pictures), target=longs([100], labels),
                                 **{k: floats(PARAMETERS[k], v) for k, v in new.items()}))
        self.run_ok("./p", "-i", "test.npz", "-o", "scores.npz")
        scores = arrays(os.path.join(self.dir, "scores.npz"))["out"]
        rows = [scores[10 * i:10 * i + 10] for i in range(100)]
        return sum(row.index(max(row)) == label for row, label in zip(rows, labels))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
