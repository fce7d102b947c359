"""The second and later calls of a program allocate no memory from the system. count.c, preloaded, counts allocations; the test
subtracts a run of few calls from one of many.

usage: steady_test.py KILN [CASE...]         folders with model.pt and 1.in.npz: what these ask for, instead of the samples
"""
import os, subprocess, sys, tempfile, unittest, unittest.mock

KILN = os.path.abspath(sys.argv[1])
CASES = sys.argv[2:]
HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = os.path.join(HERE, "../../samples")


@unittest.skipIf("sanitize" in os.environ.get("CFLAGS", ""), "sanitizers count for themselves")
class Steady(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.counter = os.path.join(cls.dir.name, "count.so")
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", os.path.join(HERE, "count.c"), "-o", cls.counter, "-ldl"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.dir.cleanup()

    def count(self, program, inputs, calls, *options):
        said = os.path.join(self.dir.name, "said")
        env = {**os.environ, "LD_PRELOAD": self.counter, "KILN_COUNT": said}
        subprocess.run([program, "-i", inputs, f"--bench={calls}", *options], check=True, env=env, stdout=subprocess.DEVNULL)
        with open(said) as f:
            return int(f.read())

    def program(self, name, model, inputs, *options):
        program = os.path.join(self.dir.name, name)
        subprocess.run([KILN, "build", model, "-i", inputs, "-o", program, *options], check=True, stdout=subprocess.DEVNULL)
        return program

    def steady(self, name, *options):
        inputs = os.path.join(SAMPLES, name, "in.npz")
        program = self.program(name, os.path.join(SAMPLES, name, "model.pt"), inputs, *options)
        few, many = self.count(program, inputs, 2), self.count(program, inputs, 52)
        self.assertGreater(few, 0)
        self.assertEqual(few, many, f"{name}: {(many - few) / 50} allocations a call")

    def test_cases(self):
        for case in CASES:
            inputs = os.path.join(case, "1.in.npz")
            program = self.program("case", os.path.join(case, "model.pt"), inputs)
            few, many = self.count(program, inputs, 2), self.count(program, inputs, 7)
            os.remove(program)
            print(f"{os.path.basename(os.path.normpath(case))}: {few} until the second call has ended, {(many - few) / 5:g} in each later one",
                  flush=True)

    def test_cnn(self):
        self.steady("digits")

    def test_not_recycled(self):
        """With KILN_NO_RECYCLE every value is allocated from the system, so that valgrind sees it."""
        with unittest.mock.patch.dict(os.environ, KILN_NO_RECYCLE="1"), self.assertRaisesRegex(AssertionError, "allocations a call"):
            self.steady("beam")

    def test_lstm(self):
        self.steady("lstm")

    def test_loop(self):
        self.steady("halting")

    def test_objects(self):
        self.steady("beam")

    def test_generic(self):
        self.steady("beam", "--max-specializations", "0")

    def test_tcc(self):
        self.steady("lstm", "--cc", "tcc")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + (["Steady.test_cases"] if CASES else []))
