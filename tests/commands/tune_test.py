"""kiln build --tune, --tuning: recorded choices are used, the answers stay the same, the same file gives the same program, and
bad files are refused.

usage: tune_test.py KILN
"""
import json, os, sys, unittest

KILN = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "program"))
import hostile
from hostile import Test, body, call, model, npy, npz

hostile.SECONDS = 600            # most of the time is spent waiting for other work on the machine to end
CONVOLUTION = "convolution 3 x 3, 32 -> 32 channels, (1, 16, 16) -> (16, 16)"
SIN = "torch.sin(torch.reshape(torch.arange(9216, dtype=6), [32, 32, 3, 3]))"


class Tune(Test):
    def setUp(self):
        super().setUp()
        self.put("m.pt", model(body(["y = torch.relu(torch.conv2d(x, %s, None, [1, 1], [1, 1]))" % SIN,
                                     "return torch.sum(torch.transpose(y, 1, 2), [1])"])))
        self.put("x.npz", npz(x=npy([1, 32, 16, 16])))
        self.put("y.npz", npz(x=npy([1, 32, 18, 16])))

    def kiln(self, *argv, status=0):
        rc, out, err = call([KILN, *argv], self.dir)
        self.assertEqual(rc, status, err)
        return out.decode(), err.decode() if isinstance(err, bytes) else err

    def build(self, *more, out="p", model="m.pt", **how):
        return self.kiln("build", model, "-i", "x.npz", "-o", out, *more, **how)

    def tuned(self, kernels, **more):
        """Builds with these choices in the file. Returns the choices that --json reports."""
        self.put("t.json", json.dumps({"kernels": kernels, **more}).encode())
        self.build("--tuning", "t.json", "--cpu", "native", "--json", "p.json")
        with open(os.path.join(self.dir, "p.json")) as f:
            return json.load(f)["tuned"]

    def bytes_of(self, name):
        with open(os.path.join(self.dir, name), "rb") as f:
            return f.read()

    def test_recorded(self):
        """Each way to compute each kernel can be chosen, and gives the same answers, also on sizes that were not profiled."""
        usual = self.tuned([{"kernel": "none of this program", "way": "in panels"}])
        self.assertIn(CONVOLUTION, [k["kernel"] for k in usual])
        self.assertTrue(any(k["kernel"].startswith("sum") for k in usual), usual)
        for k in usual:
            self.assertEqual(k["way"], k["ways"][0])
            self.assertGreater(len(k["ways"]), 1)
        programs = {self.bytes_of("p")}
        for i in range(1, max(len(k["ways"]) for k in usual)):
            want = [{"kernel": k["kernel"], "way": k["ways"][min(i, len(k["ways"]) - 1)], "ratio": 0.5} for k in usual]
            self.assertEqual([{x: k[x] for x in ("kernel", "way", "ratio")} for k in self.tuned(want, processor=3)], want)
            self.kiln("check", "m.pt", "p", "-i", "x.npz", "-i", "y.npz")
            programs.add(self.bytes_of("p"))
        self.assertEqual(len(programs), i + 1)
        self.tuned([{"kernel": CONVOLUTION, "way": "by magic"}])
        self.assertIn(self.bytes_of("p"), programs)

    def test_measured(self):
        """The file that --tune writes gives the same program again, without measuring."""
        for more in [], ["--no-dynamic"]:
            _, said = self.build("--tune=1", "--tuning", "t.json", *more)
            self.assertRegex(said, r"tuned \d+ of \d+ kernels: a call takes [0-9.]+ of the time")
            self.build("--tuning", "t.json", *more, out="again")
            self.assertEqual(self.bytes_of("p"), self.bytes_of("again"))

    def test_refused(self):
        for text in b"", b"{", b"[]", b"{}", b'{"kernels": {}}', b'{"kernels": [3]}', b'{"kernels": [{"kernel": "a"}]}', \
                b'{"kernels": [{"kernel": "a", "way": 3}]}', b'{"kernels": []} x':
            self.put("t.json", text)
            self.assertIn("t.json: this is no tuning file", self.build("--tuning", "t.json", status=1)[1])
        self.assertIn("nowhere.json", self.build("--tuning", "nowhere.json", status=1)[1])
        for more in ["--tune=x"], ["--tune=0"], ["--tune", "--cpu", "portable"], ["--tune", "--no-generic"], \
                ["--tune", "--target", "aarch64-linux-gnu"]:
            self.assertIn("--tune", self.build(*more, status=2)[1])
        self.assertIn("--tune wants an input", self.kiln("build", "m.pt", "-o", "p", "--tune", status=2)[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
