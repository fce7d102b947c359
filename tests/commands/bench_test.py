"""kiln bench: its figures about launches are right, and it compares two programs.

usage: bench_test.py KILN
"""
import json, os, struct, sys, unittest

KILN = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "program"))
import hostile
from hostile import Test, body, call, model, npy, npz

hostile.SECONDS = 600            # bench spends most of the time waiting for other work on the machine to end


def sin(*sizes):
    n = 1
    for s in sizes:
        n *= s
    return "torch.sin(torch.reshape(torch.arange(%d, dtype=6), [%s]))" % (n, ", ".join(map(str, sizes)))


class Bench(Test):
    def bench(self, *argv):
        """Runs bench. Returns the report of --json, and sets self.said to the printed text."""
        rc, out, err = call([KILN, "bench", *argv, "--json", "bench.json"], self.dir)
        self.assertEqual(rc, 0, err)
        self.said = out.decode()
        with open(os.path.join(self.dir, "bench.json")) as f:
            return json.load(f)

    def net(self):
        """Makes a net with a convolution by Winograd's method, one in panels, a sum, a product, and a call of the runtime."""
        self.put("m.pt", model(body(["y = torch.conv2d(x, %s, None, [1, 1], [1, 1])" % sin(32, 32, 3, 3),
                                     "y = torch.relu(torch.conv2d(y, %s, None, [2, 2], [1, 1]))" % sin(48, 32, 3, 3),
                                     "z = torch.linear(torch.flatten(y, 1), %s)" % sin(40, 48 * 64),
                                     "return torch.kthvalue(z, 1)[0]"])))
        self.put("x.npz", npz(x=npy([1, 32, 16, 16])))

    def test_kernels(self):
        """The report has flops and bytes for each kind of kernel, sizes, the line of the model, and shares of a call. Unknown
        figures are marked as such."""
        self.net()
        told = self.bench("m.pt", "-i", "x.npz", "--cpu", "native")
        rows = {r["form"]: r for r in told["kernels"]}
        wide = "winograd" in rows                # without vectors there is no such kernel
        tiles, pixels = 16, 256
        if wide:
            r = rows["winograd"]
            self.assertEqual((r["flops"], r["bytes"]), (2 * 36 * tiles * 32 * 32, 4 * (32 * pixels * 2 + 36 * 32 * 32)))
            self.assertIn("convolution 3 x 3, 32 -> 32 channels, (1, 16, 16) -> (16, 16)", r["what"])
        panels = [r for r in told["kernels"] if r["form"] in ("in panels", "in rows")]
        self.assertIn((2 * 9 * 64 * 32 * 48, 4 * (32 * pixels + 48 * 64 + 9 * 32 * 48)), [(r["flops"], r["bytes"]) for r in panels])
        self.assertIn((2 * 40 * 3072, 4 * (3072 + 40 + 40 * 3072)), [(r["flops"], r["bytes"]) for r in panels])
        kth = [r for r in told["kernels"] if "kth" in r["kernel"]]
        self.assertEqual([(r["kernel"], r["flops"], r["bytes"], r["percent"], r["what"]) for r in kth], [("aten::kthvalue", None, None, None, "")])
        self.assertRegex(kth[0]["line"], r"^code/__torch__\.py:\d+$")
        self.assertNotIn("runtime call", [r["kernel"] for r in told["kernels"]])
        for r in told["kernels"]:
            self.assertLessEqual(r["min_ms"], r["median_ms"])
            self.assertLessEqual(r["median_ms"], r["p90_ms"])
            self.assertIn(r["bound"], ("compute", "L1", "L2", "L3", "memory", "launch", "-"))
            if r["what"]:
                self.assertRegex(r["line"], r"^code/__torch__\.py:\d+$")
            if r["flops"] is not None and r["bytes"] is not None:
                self.assertAlmostEqual(r["gflops"], r["flops"] / r["min_ms"] / 1e6, delta=1e-4 * r["gflops"] + 1e-9)
                if r["percent"] is not None:                   # None if the machine's speed was unsteady
                    self.assertGreater(r["percent"], 0)
        self.assertEqual(told["launches"], sum(r["turns"] for r in told["kernels"]))
        ms = sum(r["median_ms"] for r in told["kernels"]) + told["rest_ms"]
        self.assertLess(abs(ms / told["traced_median_ms"] - 1), 0.5)
        self.assertRegex(self.said, r"(?m)^least ms +median +p90 +share +turns +GFLOP/s +GB/s +of max +bound by kernel")
        self.assertIn(": convolution 3 x 3, 32 -> 48 channels", self.said)
        self.assertRegex(self.said, r"launches, guards and dispatch: \d+ launches, \d+ guards; an empty launch takes [0-9.e-]+ us")
        self.assertRegex(self.said, r"this machine can do +[0-9.e+]+ GFLOP/s of float32, [0-9.e+]+ GB/s of reading")
        m = told["machine"]
        self.assertEqual(m["steady"], min(m["flops_steady"], m["bytes_steady"]) >= 0.9)
        self.assertGreater(m["launch_ns"], 0)
        names = [level["name"] for level in m["levels"]]
        self.assertEqual(names[-1], "memory")
        self.assertEqual(m["levels"][-1]["bytes_per_second"], m["bytes_per_second"])
        sizes = [level["size"] for level in m["levels"][:-1]]
        self.assertEqual(sizes, sorted(sizes), "the smallest first")
        for r in told["kernels"]:                # the roof is the bandwidth of the cache level that holds the launch's operands
            if r["bound"] in names:
                held = [name for name, size in zip(names, sizes + [1e18]) if r["bytes"] / r["turns"] <= size]
                self.assertEqual(r["bound"], held[0])

    def test_plain(self):
        """For a program without descriptions of its launches, bench prints their names and times."""
        self.net()
        self.check([KILN, "build", "m.pt", "-i", "x.npz", "--bench-code", "--cpu", "native", "-o", "p", "--json", "p.json"], 0)
        with open(os.path.join(self.dir, "p.json")) as f:
            about = json.load(f)
        self.assertEqual(about.pop("notes"), [])
        self.assertEqual(about, json.loads(call(["./p", "--info", "--json", "-"], self.dir)[1]))
        self.check([KILN, "build", "m.pt", "-i", "x.npz", "--cpu", "native", "-o", "q"], 0)
        with open(os.path.join(self.dir, "p"), "rb") as p, open(os.path.join(self.dir, "q"), "rb") as q:
            described, plain = p.read(), q.read()
        self.assertTrue(b"32 -> 48 channels" in described and b"32 -> 48 channels" not in plain)
        rows = self.bench("q", "-i", "x.npz")["kernels"]
        self.assertTrue(rows)
        self.assertTrue(all(r["what"] == "" and r["flops"] is None and "#" not in r["kernel"] for r in rows))
        hint = "are printed by `kiln bench MODEL`, and for a program that was built with --bench-code"
        self.assertIn(hint, self.said)
        self.bench("p", "-i", "x.npz")
        self.assertNotIn(hint, self.said)

    def test_number(self):
        """The epilogue of a product may read a number, which is no tensor."""
        self.put("m.pt", model(body(["return torch.mul(torch.linear(x, %s), h)" % sin(8, 5)], args="x: Tensor, h: float")))
        self.put("x.npz", npz(x=npy([3, 5], data=struct.pack("<15f", *range(15))), h=npy([], "<f8", struct.pack("<d", 0.5))))
        self.check([KILN, "build", "m.pt", "-i", "x.npz", "--bench-code", "--cpu", "native", "-o", "p"], 0)
        about = json.loads(call(["./p", "--info", "--json", "-"], self.dir)[1])
        self.assertIn(2 * 3 * 5 * 8, [r["flops"] for r in about["launches"] if "with what follows" in r["what"]])
        self.check([KILN, "check", "m.pt", "p", "-i", "x.npz"], 0)

    def test_turns(self):
        """Each launch of a step has a row. Loops of the model count all their trips."""
        weights = ", ".join((sin(256, 7), sin(256, 64), sin(256), sin(256)))
        self.put("m.pt", model(body(["z = torch.zeros([1, 3, 64], dtype=6)",
                                     "y, h, c = torch.lstm(x, [z, z], [%s], True, 1, 0., False, False, False)" % weights, "return y"])))
        self.put("x.npz", npz(x=npy([9, 3, 7])))
        r, = (r for r in self.bench("m.pt", "-i", "x.npz", "--cpu", "native")["kernels"] if r["form"] == "lstm")
        self.assertEqual((r["turns"], r["what"]), (9, "lstm: 3 x 9 x 64"))
        self.assertAlmostEqual(r["flops"] / (8 * 9 * 3 * 64 * 64), 1, delta=0.05)
        lines = ["for i in range(n):", "  x = torch.matmul(x, torch.cos(x))", "return x"]
        self.put("m.pt", model(body(lines, args="x: Tensor, n: int")))
        self.put("x.npz", npz(x=npy([16, 16]), n=npy([], "<i8", (5).to_bytes(8, "little"))))
        rows = [r for r in self.bench("m.pt", "-i", "x.npz", "--cpu", "native")["kernels"] if r["form"] == "contract"]
        self.assertEqual(sum(r["turns"] for r in rows), 5)
        self.assertEqual(sum(r["flops"] for r in rows), 5 * 2 * 16 ** 3)

    def test_against(self):
        """Runs two programs in turn, and prints the ratio and an interval that contains it. One program does several times the
        work."""
        self.net()
        self.check([KILN, "build", "m.pt", "-i", "x.npz", "--cpu", "native", "-o", "p"], 0)
        self.put("slow.pt", model(body(["y = torch.flatten(x, 0, 2)", "z = torch.transpose(y, 0, 1)", "for i in range(4):",
                                        "  y = torch.sin(torch.matmul(torch.matmul(y, z), y))", "return y"])))
        self.check([KILN, "build", "slow.pt", "-i", "x.npz", "--cpu", "native", "-o", "q"], 0)
        told = self.bench("p", "-i", "x.npz", "--against", "q")["against"]
        self.assertTrue(0 < told["low"] <= told["ratio"] <= told["high"] < 0.7, told)
        self.assertEqual((told["rounds"], told["interval"]), (15, "bootstrap of medians, 95 %"))
        self.assertAlmostEqual(told["ratio"], told["median_ms"][0] / told["median_ms"][1], delta=1e-4 * told["ratio"])
        self.assertRegex(self.said, r"(?m)^against +[0-9.e-]+ +\(95 % of resampled: [0-9.e-]+ to [0-9.e-]+\) of the time of \./q: .* medians of 15 rounds")
        self.check([KILN, "bench", "p", "-i", "x.npz", "--against", "m.pt"], 2, "--against wants a program: m.pt is not one")
        self.check([KILN, "bench", "p", "-i", "x.npz", "--against", "nowhere"], 1, "nowhere")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
