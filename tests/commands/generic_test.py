"""Programs with generic code only: kiln build prints the reason, and so do --info, --guards, --strict and --selfcheck.

usage: generic_test.py KILN
"""
import json, os, struct, sys, unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
os.environ["CFLAGS"] = os.environ.get("CFLAGS") or "-Og"      # faster than -O0, which compiles all unused blocks
from hostile import KILN, Test, body, call, model, npy, npz

TCC = ["--cc", "tcc"]
WARNING = "kiln: warning: no input (-i IN.npz): __torch__.M.forward gets generic code only"
WITHOUT = "built without an input (kiln build -i)"
METHODS = body(["return torch.add(x, self.w)"]) + body(["return torch.mul(x, self.w)"]).replace("forward", "times")
DONE, USAGE, MISS = 0, 2, 5


class Generic(Test):
    def setUp(self):
        super().setUp()
        self.put("m.pt", model())
        self.put("x.npz", npz(x=npy([2, 3], data=struct.pack("<6f", *range(6)))))

    def ends(self, status, *argv):
        """Runs a command that must end with this status. Returns its standard output and error."""
        rc, out, err = call(argv, self.dir)
        self.assertEqual(rc, status, (argv, out[-2000:], err[-2000:]))
        return out.decode(), err.decode()

    def build(self, *options, out="p", status=DONE):
        """Builds a program. Returns its output without the note about tcc."""
        said, err = self.ends(status, KILN, "build", *options, "-o", out)
        return said, "".join(line for line in err.splitlines(True) if not line.startswith("kiln: note: programs by tcc"))

    def says_generic(self, why, *more):
        """Checks that the program has generic code only, and that each option prints this reason."""
        self.assertIn("forward: generic code only: %s\n" % why, self.ends(DONE, "./p", "--info")[0])
        self.assertEqual(json.loads(self.ends(DONE, "./p", "--info", "--json", "-")[0])["generic"],
                         [{"method": "forward", "why": why}])
        self.assertEqual(self.ends(DONE, "./p", "--guards", *more)[1], "__torch__.M.forward: generic code: %s\n" % why)
        self.assertIn("has generic code only: " + why, self.ends(MISS, "./p", "--strict", *more)[1])
        self.assertIn("nothing to compare: forward has generic code only: " + why, self.ends(DONE, "./p", "--selfcheck", *more)[1])

    def test_without_input(self):
        out, err = self.build("m.pt", *TCC, "--json", "b.json")
        self.assertTrue(err.startswith(WARNING), err)
        self.assertEqual((out, err.count("\n")), ("", 1))
        self.says_generic(WITHOUT, "-i", "x.npz")
        with open(os.path.join(self.dir, "b.json")) as f:
            self.assertEqual(json.load(f)["generic"], [{"method": "forward", "why": WITHOUT}])
        self.build("m.pt", *TCC, "--selfcheck-code")
        self.assertEqual(self.ends(DONE, "./p", "--selfcheck", "-i", "x.npz")[1], "")      # compares with the graph as it was read

    def test_libraries(self):
        for emit in "c", "shared":
            self.assertEqual(self.build("m.pt", *TCC, "--emit", emit, "--name", "net", out=emit)[1].count(WARNING), 1)

    def test_inputs(self):
        """Inputs are a file, ranges, or a profile. A method without parameters needs none."""
        self.ends(DONE, KILN, "profile", "m.pt", "-i", "x.npz", "-o", "f.prof")
        for given in ["-i", "x.npz"], ["--input", "x=float32[2x3]"], ["--profile", "f.prof"]:
            self.assertEqual(self.build("m.pt", *given, "--no-dynamic", *TCC, "--json", "b.json")[1], "")
            with open(os.path.join(self.dir, "b.json")) as f:
                self.assertEqual(json.load(f)["generic"], [])
            self.assertEqual(self.ends(DONE, "./p", "--strict", "--selfcheck", "-i", "x.npz")[1], "")
        self.put("none.py", b"def forward():\n    return torch.ones([2]) * 2\n")
        self.assertEqual(self.build("none.py", *TCC)[1], "")
        self.ends(DONE, "./p", "--strict")
        self.assertIn("2., 2.", self.ends(DONE, KILN, "show", "none.py", "--stage", "optimized")[0])

    def test_wants_input(self):
        """Options that make code for sizes only are refused without an input."""
        for options, name in ((["--gpu", "ptx"], "--gpu"), (["--emit", "ptx"], "--emit ptx"), (["--emit", "cuda"], "--emit cuda"),
                              (["--no-generic"], "--no-generic"), (["--no-generic", "--emit", "c"], "--no-generic")):
            self.assertIn("kiln: %s wants an input" % name, self.build("m.pt", *options, status=USAGE)[1])
            self.assertIn("--max-specializations 0", self.build("m.pt", "-i", "x.npz", "--max-specializations", "0", *options, status=USAGE)[1])
        self.assertIn("wants an input: -i", self.ends(USAGE, KILN, "show", "m.pt", "--stage", "optimized")[1])

    def test_other_reasons(self):
        self.assertEqual(self.build("m.pt", "-i", "x.npz", "--max-specializations", "0", *TCC)[1], "")
        self.says_generic("built with --max-specializations 0", "-i", "x.npz")
        self.put("m.pt", model(METHODS))
        self.assertNotIn("warning", self.build("m.pt", "--method", "times,forward", "-i", "x.npz", *TCC)[1])
        self.ends(DONE, "./p", "--method", "times", "--strict", "-i", "x.npz")
        self.says_generic("inputs are for the first method of --method only", "--method", "forward", "-i", "x.npz")
        self.put("m.pt", model(body(["raise AssertionError(\"no\")"])))
        self.assertIn("the model raised on this input", self.build("m.pt", "-i", "x.npz", *TCC)[1])


if __name__ == "__main__":
    unittest.main()
