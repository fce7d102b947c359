"""Eager kernels compiled for each level that this processor has: levels.py checks their answers, and the bits are the same on any
number of threads.

usage: levels_test.py KILN
"""
import os, subprocess, sys, tempfile, unittest

KILN = os.path.abspath(sys.argv[1])
MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "levels.py")


class Levels(unittest.TestCase):
    def answer(self, level, threads, folder):
        out = os.path.join(folder, "out.npz")
        p = subprocess.run([KILN, "run", MODEL, "-O0", "--threads", str(threads), "-o", out], capture_output=True, text=True,
                           env=dict(os.environ, KILN_LEVEL=str(level)))
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        with open(out, "rb") as f: return f.read()

    def test_levels(self):
        with tempfile.TemporaryDirectory() as folder:
            for level in 1, 3, 4:
                with self.subTest(level=level):
                    self.assertEqual(self.answer(level, 1, folder), self.answer(level, 3, folder))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
