"""The commands of kiln other than run, on one small archive made here: output, status, and that the output is reproducible.

usage: commands_test.py KILN
"""
import json, os, struct, sys, unittest, zipfile

KILN = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
import hostile
from hostile import Test, body, call, model, npy, npz

LACKING = body(["y = torch.not_there(x)", "return ops.mine.mul(y, self.w)"])
OTHER = body(["return torch.mul(x, self.w)"])
X = npz(x=npy([2, 3], data=struct.pack("<6f", *range(6))))


class Commands(Test):
    def setUp(self):
        super().setUp()
        self.put("m.pt", model())
        self.put("x.npz", X)

    def kiln(self, *argv, status=0):
        rc, out, err = call([KILN, *argv], self.dir)
        self.assertEqual(rc, status, (argv, err[-2000:]))
        return out.decode() + err.decode()

    def same(self, a, b):
        if "-fsanitize" in os.environ.get("CFLAGS", ""):
            return                                   # sanitizers print the name of the temporary folder
        with open(os.path.join(self.dir, a), "rb") as f, open(os.path.join(self.dir, b), "rb") as g:
            self.assertEqual(f.read(), g.read(), (a, b))

    def test_stages_read_back(self):
        passes = self.kiln("show", "--help").split("passes:")[1].split("\n")[0].split()
        for stage in ["frontend", "prepared", "specialized", "optimized", *passes]:
            self.assertIn("graph(", self.kiln("show", "m.pt", "-O3", "-i", "x.npz", "--stage", stage, "--reread"))
        fork = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guards", "fork")
        for stage in "prepared", "specialized", "optimized":
            self.assertIn("prim::fork", self.kiln("show", fork + ".pt", "-i", fork + ".a.npz", "--stage", stage, "--reread"))
        self.assertIn("digraph", self.kiln("show", "m.pt", "--as", "dot"))
        self.put("max.pt", model(body(["y, z = torch.max(x, 0, False)", "return y"])))
        self.assertRegex(self.kiln("show", "max.pt", "--as", "code"), r"kernel aten::max.dim .*\n +\d+  clear .*\n +\d+  return")
        self.kiln("show", "m.pt", "--stage", "nowhere", status=2)

    def test_passes(self):
        self.assertIn("after dce", self.kiln("run", "m.pt", "-i", "x.npz", "-d", "dce"))
        self.kiln("run", "m.pt", "-i", "x.npz", "-d", "nothing", status=2)
        self.kiln("run", "m.pt", "-i", "x.npz", "-L", "dce=0", "-p", "inlining,dce", "--stop", "dce", "-O0", "--time")
        said = self.kiln("build", "m.pt", "-i", "x.npz", "--emit", "c", "--name", "p", "-o", "c", "--time")
        for part in "prepared:", "  inlining ", "a specialization:", "  fuse ", "profiling ", "compiling C ":
            self.assertEqual(said.count(part), 1, part)

    def test_json(self):
        said = json.loads(self.kiln("info", "m.pt", "--json"))
        self.assertEqual((said["model"], said["training"], said["version"]), ("m.pt", False, 3))
        self.assertEqual(said["methods"][0]["arguments"], [{"name": "x", "type": "Tensor", "keys": ["x"]}])
        self.assertEqual(said["count"], len(said["tensors"]))
        self.put("text.py", b"def forward(a: List[Tensor], b: Dict[str, int], c: Tuple[int, float], d: str = 'a\"b'):\n    return d\n")
        arguments = json.loads(self.kiln("info", "text.py", "--json"))["functions"][0]["arguments"]
        self.assertEqual([a["keys"] for a in arguments], [["a.0", "a.1", "..."], ["b.KEY", "..."], ["c.0", "c.1"], ["d"]])
        self.assertEqual(arguments[3]["default"], 'a"b')
        self.kiln("build", "m.pt", "-i", "x.npz", "-o", "p")
        self.assertEqual(json.loads(self.kiln("check", "m.pt", "p", "-i", "x.npz", "-i", "x.npz", "--json")),
                         [{"input": "x.npz", "answer": "same", "why": ""}] * 2)

    def test_float_keys(self):
        keys = [0.0, -0.0005, 1.5, 1e16, 1e15, 123456789.125, 1e-5, 2.5e-7, 1e300, 5e-324, 0.1, 1 / 3, float("inf")]
        entries = ", ".join(f'float("{k!r}"): {i}' for i, k in enumerate(keys))
        self.put("d.py", f"def forward():\n    return {{{entries}}}\n".encode())
        self.kiln("run", "d.py", "-o", "out.npz")
        with zipfile.ZipFile(os.path.join(self.dir, "out.npz")) as z:
            self.assertEqual(z.namelist(), [f"out.{k!r}.npy" for k in keys])

    def test_check_and_profile(self):
        self.kiln("profile", "m.pt", "-i", "x.npz", "-o", "a.prof")
        self.kiln("profile", "m.pt", "--input", "x=float32[1..2x3]", "-o", "b.prof")
        self.kiln("profile", "m.pt", "--profile", "a.prof", "--profile", "b.prof", "-o", "ab.prof")
        with open(os.path.join(self.dir, "ab.prof")) as f:
            self.assertEqual(json.load(f)["runs"], 3)
        self.kiln("build", "m.pt", "--profile", "a.prof", "-o", "one", "--name", "p", "--emit", "c")
        self.kiln("build", "m.pt", "-i", "x.npz", "-o", "two", "--name", "p", "--emit", "c")
        self.same("one/p.c", "two/p.c")
        for name in "p", "q":
            self.kiln("build", "m.pt", "-i", "x.npz", "-o", name, "--threads", "1")
        self.same("p", "q")
        self.assertIn("same", self.kiln("check", "m.pt", "p", "-i", "x.npz", "--input", "x=float32[4x3]"))
        self.put("other.pt", model(OTHER))
        self.assertIn("out[0, 1]", self.kiln("check", "other.pt", "p", "-i", "x.npz", status=4))
        self.put("write.pt", model(body(["return torch.neg_(x)"])))
        self.kiln("build", "write.pt", "-i", "x.npz", "-o", "w")
        self.assertIn("same", self.kiln("check", "write.pt", "w", "-i", "x.npz"))
        self.assertIn("another graph", self.kiln("build", "other.pt", "--profile", "a.prof", "-o", "PROG", status=1))

    def test_profile_of_state(self):
        """The profile also contains runs that start with the state that an earlier run left."""
        self.put("s.pt", model(body(["y = torch.cat([self.w, x])", "self.w = torch.slice(y, 0, -4)", "return torch.mul(y, 2.)"])))
        self.kiln("profile", "s.pt", "-i", "x.npz", "-o", "s.prof")
        with open(os.path.join(self.dir, "s.prof")) as f:
            first, later = json.load(f)["signatures"]
        self.assertIn("2, 3", first["state"]["w"]["tensor"])
        self.assertIn("4, 3", later["state"]["w"]["tensor"])
        self.assertTrue(later["again"])
        self.kiln("build", "s.pt", "--profile", "s.prof", "-o", "one", "--name", "p", "--emit", "c")
        self.kiln("build", "s.pt", "-i", "x.npz", "-o", "two", "--name", "p", "--emit", "c")
        self.same("one/p.c", "two/p.c")

    def test_ops(self):
        self.assertIn("aten::add.Tensor", self.kiln("ops", "m.pt"))
        ops = {(o["name"], o["overload"]): o for o in json.loads(self.kiln("ops", "--json"))}
        self.assertGreater(len(ops), 1000)
        conv, invert = ops["aten::conv2d", ""], ops["aten::bitwise_not", ""]
        self.assertEqual((conv["form"], conv["specialized"], conv["gradient"]), ("kernel", "kernel", "formula"))
        self.assertIn("float32", conv["dtypes"])
        self.assertNotIn("bool", conv["dtypes"])
        self.assertEqual(invert["dtypes"], ["uint8", "int8", "int16", "int32", "int64", "bool"])
        self.assertEqual(ops["aten::bitwise_not_", ""]["base"], "bitwise_not")
        self.put("l.pt", model(LACKING))
        said = self.kiln("ops", "l.pt", status=7)
        self.assertIn("aten::not_there", said)
        self.assertIn("mine::mul", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
