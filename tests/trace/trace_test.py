"""Tracebacks: through inlined calls, a hook, a with, a forked call and a comprehension. They name the archive's code and the
source that it was made from, by the interpreter and by a program, in specialized and generic code.

net.txt has, for each (i, how), the lines of PyTorch 1.13's traceback without the text around them.  Two things differ from
PyTorch: the calls that led to a raise, which it leaves out, and the class of an operator's error, which is always RuntimeError.

usage: trace_test.py KILN
"""
import os, re, struct, sys, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../program"))
os.environ["CFLAGS"] = os.environ.get("CFLAGS") or "-Og"      # cheaper than -O0, which compiles all unused blocks
import hostile
from hostile import KILN, Test, call, npy, npz

NET = os.path.join(HERE, "net.pt")
WANT = dict(re.findall(r"^# (\d \d)\n(.*?)(?=^# |\Z)", open(os.path.join(HERE, "net.txt")).read(), re.S | re.M))


class Trace(Test):
    def setUp(self):
        super().setUp()
        for i in (0, 5, 7):
            for how in range(4):
                self.put(f"{how}{i}.npz", npz(x=npy([6, 3], data=struct.pack("<18f", *[1] * 18)),
                                              i=npy([], "<i8", struct.pack("<q", i)), how=npy([], "<i8", struct.pack("<q", how))))

    def check(self, argv):
        for key, want in WANT.items():
            how, i = key.split()
            rc, _, err = call(argv + ["-i", f"{how}{i}.npz"], self.dir)
            err = err.decode()
            self.assertEqual(rc, 1, err)
            self.assertEqual(err[err.index("Traceback"):].replace("\n\n", "\n").strip(), want.strip(), f"{argv}: {key}")

    def test_run(self):
        self.check([KILN, "run", NET])

    def test_program(self):
        profiled = [a for how in range(4) for a in ("-i", f"{how}0.npz")]
        for given in ([], profiled):
            rc, _, err = call([KILN, "build", NET, "-o", "p", *given], self.dir)
            self.assertEqual(rc, 0, err)
            self.check(["./p"])

    def test_no_source(self):
        rc, _, err = call([KILN, "build", NET, "-o", "p", "--no-source"], self.dir)
        self.assertEqual(rc, 0, err)
        rc, _, err = call(["./p", "-i", "07.npz"], self.dir)
        self.assertIn(b"in pick", err)
        self.assertNotIn(b"HERE", err)


if __name__ == "__main__":
    unittest.main()
