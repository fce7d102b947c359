"""Gradients from the command line: kiln run and programs give the same ones, and training reaches the same losses as PyTorch.

usage: train_test.py KILN

The net of samples/digits starts from parameters made here and is trained on noisy glyphs.  The losses are those of the
same loop in PyTorch 1.13 (tests/oracle/train.py prints them).
"""
import json, os, random, re, struct, sys, unittest, zipfile

KILN = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../program"))
import hostile
from hostile import Test, call, model, npy, npz

DIGITS = os.path.join(HERE, "../../samples/digits/model.pt")
PARAMETERS = {"features.0.weight": [16, 1, 3, 3], "features.1.weight": [16], "features.1.bias": [16],
              "features.3.weight": [32, 16, 3, 3], "features.4.weight": [32], "features.4.bias": [32],
              "linear.weight": [10, 512], "linear.bias": [10]}
# losses of the first and the last of 250 steps, number of pictures that are recognised
PYTORCH = {"sgd": (2.31697, 1.48e-06, 100), "adam": (2.31697, 1.19e-05, 100)}

# a small model, and the results of optimizers with options on its w: options of --train, of torch.optim, w and the last loss
SMALL = """  def forward(self: __torch__.M, x: Tensor) -> Tensor:
    y = torch.tanh(torch.mul(x, self.w))
    return torch.sum(torch.mul(y, torch.sub(y, x)))
"""
ROWS = [0.1, -0.7, 0.4, 1.1, 0.2, -0.3, 0.8, -0.9, 0.5, -0.6, 0.3, 1.3, -0.2, 0.9, -1.2]
OPTIMIZERS = [
    (["sgd", "--lr", "0.1"], ("SGD", dict(lr=0.1))),
    (["sgd", "--lr", "0.05", "--momentum", "0.8", "--weight-decay", "0.1"], ("SGD", dict(lr=0.05, momentum=0.8, weight_decay=0.1))),
    (["adam", "--lr", "0.02"], ("Adam", dict(lr=0.02))),
    (["adam", "--lr", "0.02", "--betas", "0.8,0.95", "--eps", "1e-3", "--weight-decay", "0.3"],
     ("Adam", dict(lr=0.02, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.3))),
    (["adamw", "--lr", "0.02"], ("AdamW", dict(lr=0.02))),
    (["adamw", "--lr", "0.02", "--weight-decay", "0.5", "--betas=0.5,0.9"],
     ("AdamW", dict(lr=0.02, weight_decay=0.5, betas=(0.5, 0.9)))),
]
SEED, STEPS = 3, 9
# after 9 steps of 2 of the 5 rows, shuffled with seed 3 (tests/oracle/train.py)
AFTER = [
    ([0.33224112, 0.88849932, 1.86265981, 2.92923951, 3.97062182, 4.98111725],
     [1.01673448, -0.27012634, 0.86264789, 0.0476885, 0.00385348, 0.50147873, 0.84160113, -0.0598003, 0.53742492]),
    ([0.5177123, 0.71606421, 1.53770852, 2.49409652, 3.42543626, 4.29538345],
     [1.01673448, -0.25427216, 0.84238768, 0.01324041, -0.0528174, 0.46189356, 0.76710135, -0.18596183, 0.35322368]),
    ([0.14007637, 0.84303159, 1.83965933, 2.84306622, 3.88828874, 4.87732744],
     [1.01673448, -0.24224767, 0.84704703, 0.08534783, 0.10979331, 0.53642619, 0.8254112, 0.04777586, 0.50630361]),
    ([0.13472132, 0.82293999, 1.82125711, 2.82059431, 3.82060003, 4.82063389],
     [1.01673448, -0.24223439, 0.84497064, 0.0830926, 0.10926485, 0.53413641, 0.81900811, 0.04604307, 0.48980784]),
    ([0.13995989, 0.8413797, 1.83618307, 2.83777547, 3.88115335, 4.86841202],
     [1.01673448, -0.24234769, 0.84641993, 0.08473144, 0.10923015, 0.53591532, 0.82442755, 0.04684144, 0.50412011]),
    ([0.12105234, 0.76098311, 1.66976452, 2.58331537, 3.54760265, 4.46496296],
     [1.01673448, -0.24724841, 0.81665987, 0.0583709, 0.09100835, 0.51143342, 0.77560997, 0.01417617, 0.39854547]),
]


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
    """Returns pictures of 8x8 pixels from 0 to 16, and their labels."""
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
    """Returns the floats by name of an .npz of float32."""
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

    # written.pt: p[0] and p[1] are doubled under no_grad, and n counts the calls. shared.pt: p shares memory with the buffer b,
    # which is doubled
    def test_written_parameters(self):
        self.put("x.npz", npz(x=floats([3], [2, -1, 0.5])))
        for level in ("-O0", "-O2"):
            self.run_ok(KILN, "build", os.path.join(HERE, "written.pt"), "-i", "x.npz", "--grad", "params", "--cc", "tcc", level, "-o", "p")
            self.run_ok("./p", "-i", "x.npz", "-o", "out.npz", "--grad-out", "g.npz")
            self.assertEqual(arrays(os.path.join(self.dir, "out.npz")), {"out": (4, -4, 1.5)})
            self.assertEqual(arrays(os.path.join(self.dir, "g.npz")), {"p": (2, -1, 0.5)})
        shared = os.path.join(HERE, "shared.pt")
        self.run_ok(KILN, "run", shared, "-i", "x.npz", "--grad", "params", "-o", "out.npz", "--grad-out", "g.npz")
        self.assertEqual(arrays(os.path.join(self.dir, "out.npz")), {"out": (6, 0, 9)})
        self.assertEqual(arrays(os.path.join(self.dir, "g.npz")), {"p": (2, -1, 0.5)})
        self.assertIn("a parameter that shares memory with the attribute b",
                      self.run_ok(KILN, "build", shared, "-i", "x.npz", "--grad", "params", "-o", "p", status=7))

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
        """A gradient that is written and returned does not share memory with an argument. Equal parameters are stored once."""
        self.put("m.py", b"def forward(x: Tensor, y: Tensor):\n    return x[:y.size(0)] * y\n")
        self.run_ok(KILN, "build", "m.py", "--input", "x=float32[2x3]", "--input", "y=float32[2x3]", "--grad", "x,y", "--emit", "c",
                    "--name", "p", "-o", "c")
        with open(os.path.join(self.dir, "c/p.c")) as f:
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

    def test_losses(self):
        """Losses of probabilities and of logits, with the names of torch.nn.functional: the loss and its gradient by x."""
        self.put("m.pt", model("""  def forward(self: __torch__.M, x: Tensor) -> Tensor:
    return torch.mul(x, 1)
"""))
        self.put("x.npz", npz(x=floats([3], [.2, .5, .9]), target=floats([3], [0., 1., 1.])))
        for name, loss, grads in (("bce", 0.340550, [0.416667, -0.666667, -0.37037]),
                                  ("bce_with_logits", 0.537790, [0.183278, -0.125847, -0.096350])):
            self.run_ok(KILN, "run", "m.pt", "-i", "x.npz", "--grad", "x", "--loss", name, "--grad-out", "g.npz")
            got = arrays(os.path.join(self.dir, "g.npz"))
            for a, b in zip(got["loss"] + got["x"], [loss] + grads):
                self.assertAlmostEqual(a, b, places=5)

    def test_batch_with_strides(self):
        """The key x.strides gives the strides of x. It is no array with rows."""
        self.put("m.pt", model(SMALL))
        self.put("x.npz", npz(x=floats([5, 3], ROWS)))
        self.put("s.npz", npz(**{"x": floats([5, 3], ROWS), "x.strides": longs([2], [1, 5])}))
        self.run_ok(KILN, "build", "m.pt", "--input", "x=float32[2x3]", "--grad", "w", "-o", "p")
        for name in "x", "s":
            self.run_ok("./p", "-i", name + ".npz", "--train", "sgd", "--steps", "4", "--batch", "2", "-o", name + ".new.npz")
        new = [arrays(os.path.join(self.dir, name + ".new.npz"))["w"] for name in "xs"]
        for a, b in zip(*new):
            self.assertAlmostEqual(a, b, places=5)

    def test_optimizers(self):
        self.put("m.pt", model(SMALL))
        self.put("x.npz", npz(x=floats([5, 3], ROWS)))
        self.run_ok(KILN, "build", "m.pt", "--input", "x=float32[2x3]", "--grad", "w", "-o", "p")
        for (options, _), (w, losses) in zip(OPTIMIZERS, AFTER, strict=True):
            self.run_ok("./p", "-i", "x.npz", "--strict", "--seed", str(SEED), "--steps", str(STEPS), "--batch", "2", "--shuffle",
                        "--json", "losses.json", "-o", "new.npz", "--train", *options)
            for got, want in zip(arrays(os.path.join(self.dir, "new.npz"))["w"], w, strict=True):
                self.assertLess(abs(got - want), 1e-6 * (1 + abs(want)), options)
            with open(os.path.join(self.dir, "losses.json")) as f:
                said = json.load(f)
            self.assertEqual((said["optimizer"], said["steps"], said["batch"]), (options[0], STEPS, 2))
            for got, want in zip(said["loss"], losses, strict=True):
                self.assertLess(abs(got - want), 2e-6 * (1 + abs(want)), options)

    def test_wrong_options(self):
        self.put("m.pt", model(SMALL))
        self.put("x.npz", npz(x=floats([2, 3], ROWS[:6])))
        self.run_ok(KILN, "build", "m.pt", "-i", "x.npz", "--grad", "w", "-o", "p")
        for options, says in (["lbfgs"], "is wanted, not lbfgs"), (["sgd", "--betas", "0.5,0.5"], "not of sgd"), \
                (["adam", "--momentum", "0.5"], "not of adam"), (["adam", "--betas", "0.9"], "two numbers below 1, not 0.9"), \
                (["adam", "--betas", "0.9,1"], "not 0.9,1"), (["sgd", "--lr", "-1"], "not -1"), (["sgd", "--lr", "nan"], "not nan"), \
                (["adam", "--eps", "x"], "not x"), (["sgd", "--shuffle"], "--shuffle wants --batch"):
            self.assertIn(says, self.run_ok("./p", "-i", "x.npz", "--train", *options, status=2))
        self.assertIn("No such file", self.run_ok("./p", "-i", "x.npz", "--train", "sgd", "--json", "no/l.json", status=1))

    def accuracy(self, new, pictures, labels):
        """Returns how many of 100 unseen pictures are recognised, by a program whose parameters are inputs."""
        self.put("test.npz", npz(images=floats([100, 1, 8, 8], pictures), target=longs([100], labels),
                                 **{k: floats(PARAMETERS[k], v) for k, v in new.items()}))
        self.run_ok("./p", "-i", "test.npz", "-o", "scores.npz")
        scores = arrays(os.path.join(self.dir, "scores.npz"))["out"]
        rows = [scores[10 * i:10 * i + 10] for i in range(100)]
        return sum(row.index(max(row)) == label for row, label in zip(rows, labels))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
