"""Archives of torch.export by PyTorch 2.15 (oracle/export.py made them). Interpreted and built, each gives every recorded answer.

usage: pt2_test.py KILN
"""
import json, os, subprocess, sys, tarfile, tempfile, unittest
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "program"))
import npz

KILN = os.path.abspath(sys.argv.pop(1))


class Test(unittest.TestCase):
    def call(self, argv):
        p = subprocess.run(argv, capture_output=True, timeout=120)
        self.assertEqual(p.returncode, 0, p.stderr.decode("utf-8", "replace"))
        self.assertNotIn(b"left out", p.stderr)

    def answers(self, case, argv, tmp):
        """The answers to all calls of a case, each on a fresh instance or one after the other on the same instance."""
        with open(os.path.join(case, "meta.json")) as f: seq = json.load(f).get("sequence")
        calls = sorted(f.split(".")[0] for f in os.listdir(case) if f.endswith(".in.npz"))
        parts = [["-i", os.path.join(case, n + ".in.npz"), "-o", os.path.join(tmp, n + ".npz")] for n in calls]
        for part in [sum(parts, [])] if seq else parts: self.call([*argv, *part])
        for n in calls:
            self.assertIsNone(npz.differs(npz.read(os.path.join(case, n + ".out.npz")), npz.read(os.path.join(tmp, n + ".npz"))), f"call {n}")

    def test_all(self):
        with tempfile.TemporaryDirectory() as top:
            with tarfile.open(os.path.join(HERE, "cases.tar.xz")) as tar: tar.extractall(top)
            names = sorted(os.listdir(top))
            self.assertGreater(len(names), 30)
            for name in names:
                case = os.path.join(top, name)
                model, first = os.path.join(case, "model.pt2"), os.path.join(case, "1.in.npz")
                with self.subTest(name), tempfile.TemporaryDirectory() as tmp:
                    self.answers(case, [KILN, "run", model], tmp)
                    self.call([KILN, "build", model, "-i", first, "--cc", "tcc", "-o", os.path.join(tmp, "p")])
                    self.answers(case, [os.path.join(tmp, "p")], tmp)
                    self.call([KILN, "build", model, "--cc", "tcc", "-o", os.path.join(tmp, "q")])
                    self.call([KILN, "run", model])
                    self.call([KILN, "check", model, os.path.join(tmp, "q")])
                    self.answers(case, [os.path.join(tmp, "q")], tmp)

    def test_without_inputs(self):
        """Without inputs a build profiles the archive's example inputs. Sizes with ranges become symbols."""
        with tempfile.TemporaryDirectory() as top:
            with tarfile.open(os.path.join(HERE, "cases.tar.xz")) as tar: tar.extractall(top)
            for name in ("Linear", "Linear_dec"):
                p = subprocess.run([KILN, "build", os.path.join(top, name, "model.pt2"), "--cc", "tcc", "-o", os.path.join(top, "p")], capture_output=True)
                self.assertIn(b"exact, forward(x: Float(", p.stdout)
                self.assertIn(b"dynamic, forward(x: Float(s0, 4", p.stdout, p.stderr)
                p = subprocess.run([KILN, "bench", os.path.join(top, name, "model.pt2"), "--cc", "tcc", "--json", "-"], capture_output=True)
                self.assertTrue(json.loads(p.stdout)["kernels"], p.stderr)


if __name__ == "__main__":
    unittest.main()
