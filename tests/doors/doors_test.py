"""A module saved as a script, as a trace and by torch.export is one model: its three programs give eager PyTorch's answer with
specialized code, and have as many kernels and calls of the runtime, within a tenth. models.py made cases.tar.xz.

usage: doors_test.py KILN
"""
import json, os, subprocess, sys, tarfile, tempfile, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "program"))
import npz

KILN = os.path.abspath(sys.argv.pop(1))
DOORS = "script.pt", "trace.pt", "export.pt2"
# number of kinds of archives; in evaluation two of them have one operator for a layer, which torch.export does not have
OTHERS = {"Encoder": 2}


class Doors(unittest.TestCase):
    def call(self, *argv):
        p = subprocess.run(argv, capture_output=True, timeout=120)
        self.assertEqual(p.returncode, 0, p.stderr.decode("utf-8", "replace"))
        return p.stdout

    def launches(self, case, door, tmp):
        program, out, given = os.path.join(tmp, "p"), os.path.join(tmp, "out.npz"), os.path.join(case, door + ".npz")
        self.call(KILN, "build", os.path.join(case, door), "-i", given, "--cc", "tcc", "--no-dynamic", "-o", program)
        self.call(program, "-i", given, "-o", out, "--strict")
        self.assertIsNone(npz.differs(npz.read(os.path.join(case, "out.npz")), npz.read(out)), door)
        exact = json.loads(self.call(program, "--info", "--json", "-"))["specializations"][0]
        return exact["kernels"] + exact["runtime_calls"]

    def test_all(self):
        with tempfile.TemporaryDirectory() as tmp:
            with tarfile.open(os.path.join(HERE, "cases.tar.xz")) as tar:
                tar.extractall(tmp)
            names = sorted(os.listdir(tmp))
            self.assertGreaterEqual(len(names), 30)
            for name in names:
                with self.subTest(name):
                    n = [self.launches(os.path.join(tmp, name), door, tmp) for door in DOORS]
                    same = n[:OTHERS.get(name, 3)]
                    self.assertLessEqual(max(same), 1.1 * min(same), dict(zip(DOORS, n)))


if __name__ == "__main__":
    unittest.main()
