"""Every overload for which PyTorch 1.13 has a symbolic gradient (builtin.txt) has one in Kiln, for the same arguments.

usage: builtin_test.py KILN
"""
import json, os, subprocess, sys, unittest

KILN = os.path.abspath(sys.argv[1])
LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "builtin.txt")
# operators through which no gradient passes
ZERO = {"aten::" + n for n in "eq.Scalar ge.Scalar gt.Scalar le.Scalar lt.Scalar ne.Scalar full_like nonzero ones_like".split()}


def arguments(schema):
    inside = schema[schema.index("(") + 1:schema.rindex(") ->")]
    return [part.split("=")[0].split()[-1] for part in inside.split(", ") if part and part != "*"]


class Builtin(unittest.TestCase):
    def test_all_have_gradients(self):
        rows = {}
        for row in json.loads(subprocess.run([KILN, "ops", "--json"], capture_output=True, check=True).stdout):
            rows[row["name"] + ("." + row["overload"] if row["overload"] else "")] = row
        with open(LIST) as f:
            wanted = [line.split() for line in f if not line.startswith("#")]
        self.assertGreaterEqual(len(wanted), 128)
        for name, *args in wanted:
            with self.subTest(name):
                row = rows[name]
                self.assertEqual(arguments(row["schema"])[:len(args)], args)
                self.assertIn(row["gradient"], ["zero"] if name in ZERO else ["formula", "its parts"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
