"""Options and environment variables: each does what its help says, and exit statuses are those of the README.

usage: options_test.py KILN
"""
import json, math, os, pty, struct, subprocess, sys, unittest

KILN = os.path.abspath(sys.argv[1])
NOTE = "kiln: note: x.size(0) = 2 only, the model raises at other sizes: __torch__.py:7: return torch.add(x, self.w)\n"
NATIVE = ["--cpu", "native"]             # a third of the build time of a program for several processors
os.environ["CFLAGS"] = os.environ.get("CFLAGS") or "-Og"      # faster than -O0, which compiles all unused blocks
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
import hostile, npz as arrays
from hostile import SANITIZED, Test, attrs, body, call, model, npy, npz, pickled, tensor

X = npz(x=npy([2, 3], data=struct.pack("<6f", *range(6))))
SPEAKS = body(['print("spoken", torch.size(x, 0))', "return torch.add(x, self.w)"])
METHODS = body(["return torch.add(x, self.w)"]) + body(["return torch.mul(x, self.w)"]).replace("forward", "times")
SHARES = body(["return torch.add(x, self.w)"]) + body(["_0 = torch.mul_(self.w, 2)", "return x"]).replace("forward", "double")
COUNTS = body(["y = torch.add_(CONSTANTS.c0, 10)", "return torch.add(torch.mul(x, 0), torch.sub(y, 9))"])
TRAINING = body(["if self.training:", "  y = torch.neg(x)", "else:", "  y = x", "return y"])
ENDLESS = body(["y = x", "_0 = torch.gt(torch.size(x, 0), 0)", "while _0:", "  y = torch.add(y, 1)", "return y"])
STATE = attrs(training=b"\x88", w=hostile.W)
# options of each command's line in the design
FLAGS = {"build": "-i --input --profile -o --emit --target --cpu --march --mcpu --sysroot --cc --gpu -O --threads --max-specializations --weights --method --eval "
                  "--seed --timeout -v --json --time -d -L -p --stop --no-source --forms --bench-code --op --op-schema --op-body --tune --tuning",
         "run": "-i -o --method --seed --threads --eval --timeout", "profile": "-i -o --profile", "show": "--stage --as -i",
         "bench": "-i --json --threads --against --runner", "check": "-i --seed --runner", "ops": "--json --op-schema", "info": "--op-schema", "targets": "--json", "convert": ""}


def with_env(**env):
    return {**os.environ, **env}


class Options(Test):
    def setUp(self):
        super().setUp()
        self.put("m.pt", model())
        self.put("x.npz", X)

    def run_in(self, *argv, status=0, env=None):
        p = subprocess.run(argv, cwd=self.dir, capture_output=True, stdin=subprocess.DEVNULL, timeout=120, env=env)
        self.assertEqual(p.returncode, status, (argv, p.stderr[-2000:]))
        return p.stdout.decode(), p.stderr.decode()

    def kiln(self, *argv, **how):
        return self.run_in(KILN, *argv, **how)

    def out(self, name="o.npz"):
        return arrays.read(os.path.join(self.dir, name))["out"][2]

    def bytes_of(self, name):
        with open(os.path.join(self.dir, name), "rb") as f:
            return f.read()

    def terminal(self, *argv):
        """Returns the text on the screen if standard error is a terminal."""
        try:
            master, slave = pty.openpty()
        except OSError as e:
            self.skipTest(f"a pseudoterminal is missing: {e}")
        p = subprocess.Popen(argv, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        text = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:
                break
            if not part:
                break
            text += part
        os.close(master)
        self.assertEqual(p.wait(), 0)
        return text.decode()

    # ---- options -----------------------------------------------------------------------------------------------

    def test_help(self):
        for command, flags in FLAGS.items():
            said = self.kiln(command, "--help")[0].replace(",", " ").split()
            for flag in flags.split():
                self.assertIn(flag, said, command)
        self.run_in(KILN, "build", "m.pt", "-o", "p")
        for flag in "-i -o --threads --seed --device --bench[=N] --info --guards --strict --trace --selfcheck --json --method --warm".split():
            self.assertIn(flag, self.run_in("./p", "--help")[0].split())

    def test_build_says_sizes(self):
        """build prints the same figures as --info later: specializations, arena, code, weights. --json contains the same."""
        out, err = self.kiln("build", "m.pt", "-i", "x.npz", "--cpu", "native", "-o", "p")
        self.assertEqual(err, NOTE)
        self.assertRegex(out, r"specialization 0: exact, forward\(.*\): 1 kernels, 0 runtime calls, 0 guards, arena \d+ bytes")
        self.assertRegex(out, r"code [1-9]\d* bytes, weights ([1-9]\d*) bytes: plain \1; forms made\n"
                              r"memory \1 bytes at most, beside inputs and results: weights \1, arena 0\nprocessor native\n$")
        self.assertIn(out, self.run_in("./p", "--info")[0])
        self.assertEqual(self.kiln("build", "m.pt", "-i", "x.npz", "--cpu", "native", "-o", "p", "--json", "b.json"), ("", NOTE))
        self.run_in("./p", "--info", "--json", "i.json")
        with open(os.path.join(self.dir, "b.json")) as b, open(os.path.join(self.dir, "i.json")) as i:
            build = json.load(b)
            self.assertEqual("kiln: note: %s\n" % build.pop("notes")[0], NOTE)
            self.assertEqual(build, json.load(i))
        self.assertEqual(sum(build["weight_forms"].values()), build["weight_forms"]["plain"])
        for kind in "obj", "static", "shared", "c":
            self.kiln("build", "m.pt", "-i", "x.npz", "-o", "o_" + kind, "--emit", kind, "--json", "b.json")
            with open(os.path.join(self.dir, "b.json")) as b:
                self.assertEqual(json.load(b)["code_bytes"] > 0, kind != "c")

    def test_prints(self):
        """Text that a model prints while it is profiled does not appear in build's output."""
        self.put("m.pt", model(SPEAKS))
        out, err = self.kiln("build", "m.pt", "-i", "x.npz", *NATIVE, "-o", "p")
        self.assertNotIn("spoken", out + err)
        out, err = self.kiln("build", "-v", "m.pt", "-i", "x.npz", *NATIVE, "-o", "p")
        self.assertNotIn("spoken", out)
        self.assertIn("spoken 2", err)
        self.assertNotIn("spoken", self.kiln("show", "m.pt", "-i", "x.npz", "--stage", "specialized")[0].replace('"spoken"', ""))
        self.assertEqual(self.run_in("./p", "-i", "x.npz", "-o", "o.npz")[0], "spoken 2\n")

    def test_verbose_calls(self):
        """A call of the runtime in an unrolled loop is listed once, with the number of calls."""
        self.put("m.py", b"def forward(x: Tensor):\n    n = 0\n    for i in range(4):\n        if float(x[i]) > 0.0:\n            n += 1\n"
                         b"    return x + n\n")
        err = self.kiln("build", "-v", "m.py", "--input", "x=float32[4]", *NATIVE, "-o", "p")[1]
        said = [line for line in err.splitlines() if " calls the runtime" in line and "aten::gt" in line]
        self.assertEqual(said, ["kiln: forward: specialization %d calls the runtime, 4 times: aten::gt(float, float)" % i for i in range(len(said))])
        self.assertTrue(said)

    def test_method(self):
        self.put("m.pt", model(METHODS))
        self.kiln("run", "m.pt", "--method", "times", "-i", "x.npz", "-o", "o.npz")
        self.assertEqual(self.out(), [i * i for i in range(6)])
        self.kiln("build", "m.pt", "--method", "times,forward", "-i", "x.npz", *NATIVE, "-o", "p")
        self.run_in("./p", "--method", "times", "--strict", "-i", "x.npz", "-o", "o.npz")
        self.assertEqual(self.out(), [i * i for i in range(6)])
        self.run_in("./p", "--method", "forward", "-i", "x.npz", "-o", "o.npz")
        self.assertEqual(self.out(), [2 * i for i in range(6)])
        self.run_in("./p", "--method", "none", "-i", "x.npz", status=1)
        self.kiln("run", "m.pt", "--method", "none", status=1)

    def test_methods_share(self):
        """A method sees the state that another one has written, with specialized and with generic code."""
        self.put("m.pt", model(SHARES))
        for more in ([], ["-i", "x.npz"]):
            self.kiln("build", "m.pt", "--method", "forward,double", *more, *NATIVE, "-o", "p")
            files = [a for i in range(4) for a in ("-i", "x.npz", "-o", f"o{i}.npz")]
            self.run_in("./p", "--method", "forward,double,double,forward", *files)
            self.assertEqual(self.out("o0.npz"), [2 * i for i in range(6)])
            self.assertEqual(self.out("o3.npz"), [5 * i for i in range(6)])

    def test_written_constant(self):
        """A constant that is written to starts with the archive's value: profiling leaves no trace, and calls see each other's
        writes."""
        constant = pickled(b"(" + tensor(6, [2, 3], [3, 1]) + b"t")
        self.put("m.pt", model(COUNTS, **{"constants.pkl": constant, "constants/0": struct.pack("<6f", *[30] * 6)}))
        for more in ([], ["-i", "x.npz"], ["-i", "x.npz", "-i", "x.npz"]):
            self.kiln("build", "m.pt", *more, *NATIVE, "-o", "p")
            self.run_in("./p", *[a for i in range(3) for a in ("-i", "x.npz", "-o", f"o{i}.npz")])
            self.assertEqual([self.out(f"o{i}.npz")[0] for i in range(3)], [31, 41, 51])
            self.kiln("check", "m.pt", "./p", "-i", "x.npz", "-i", "x.npz")

    def test_eval(self):
        self.put("m.pt", model(TRAINING, STATE))
        self.kiln("run", "m.pt", "-i", "x.npz", "-o", "o.npz")
        self.assertEqual(self.out(), [-i for i in range(6)])
        self.assertIn("training mode", self.kiln("build", "m.pt", "-i", "x.npz", *NATIVE, "-o", "p")[1])
        self.run_in("./p", "-i", "x.npz", "-o", "o.npz")
        self.assertEqual(self.out(), [-i for i in range(6)])
        self.assertEqual(self.kiln("build", "m.pt", "--eval", "-i", "x.npz", *NATIVE, "-o", "p")[1], "")
        self.run_in("./p", "-i", "x.npz", "-o", "o.npz")
        self.assertEqual(self.out(), list(range(6)))

    def test_timeout(self):
        self.put("m.pt", model(ENDLESS))
        self.assertIn("time", self.kiln("run", "m.pt", "-i", "x.npz", "--timeout", "1", status=1)[1])
        self.assertIn("time", self.kiln("build", "m.pt", "-i", "x.npz", "--timeout", "1", "--emit", "c", "--name", "p", "-o", "c")[1])

    def test_weights(self):
        self.kiln("build", "m.pt", "-i", "x.npz", "--weights", "file", *NATIVE, "-o", "p")
        self.run_in("./p", "-i", "x.npz", "-o", "o.npz")
        self.assertEqual(self.out(), [2 * i for i in range(6)])
        with open(os.path.join(self.dir, "p.weights"), "r+b") as f:
            f.truncate(f.seek(0, 2) - 1)
        self.assertIn("p.weights", self.run_in("./p", "-i", "x.npz", status=1)[1])
        os.remove(os.path.join(self.dir, "p.weights"))
        self.assertIn("p.weights", self.run_in("./p", "-i", "x.npz", status=1)[1])
        os.mkfifo(os.path.join(self.dir, "p.weights"))
        self.assertIn("0 bytes", self.run_in("./p", "-i", "x.npz", status=1)[1])
        self.kiln("build", "m.pt", "--weights", "nowhere", "-o", "p", status=2)

    def test_weights_stay(self):
        """A failing build leaves an older program and its weights unchanged, whichever of the two files cannot be replaced."""
        for old, directory in ("p.weights", "p"), ("q", "q.weights"):
            self.put(old, b"old")
            os.mkdir(os.path.join(self.dir, directory))
            before = sorted(os.listdir(self.dir))
            self.kiln("build", "m.pt", "-i", "x.npz", "--weights", "file", "--cc", "tcc", "-o", old[0], status=1)
            self.assertEqual(self.bytes_of(old), b"old")
            self.assertEqual(sorted(os.listdir(self.dir)), before)

    def test_other_weights(self):
        """Weights of another build are refused: of another model with the same length, damaged at an end, or (by --selfcheck)
        damaged anywhere."""
        def weights(name):
            return os.path.join(self.dir, name + ".weights")

        def change(at):
            with open(weights("p"), "r+b") as f:
                f.seek(at)
                byte = f.read(1)
                f.seek(at)
                f.write(bytes([byte[0] ^ 1]))

        for name, first in ("p", 0), ("q", 1):
            w = "torch.sin(torch.reshape(torch.arange(%d, %d, dtype=6), [3, 65536]))" % (first, first + 3 * 65536)
            self.put("w.pt", model(body(["return torch.sum(torch.mm(x, %s))" % w])))
            self.kiln("build", "w.pt", "-i", "x.npz", "--weights", "file", "--cc", "tcc", "-o", name)
            self.run_in("./" + name, "-i", "x.npz")
            self.run_in("./" + name, "-i", "x.npz", "--selfcheck")
        size = os.path.getsize(weights("p"))
        self.assertEqual(size, os.path.getsize(weights("q")))
        for at, always in (0, True), (16, True), (64, True), (size - 1, True), (size // 2 + 20000, False):
            change(at)
            self.assertIn("weights", self.run_in("./p", "-i", "x.npz", "--selfcheck", status=1)[1])
            self.assertEqual("weights" in self.run_in("./p", "-i", "x.npz", status=int(always))[1], always)
            change(at)
        self.run_in("./p", "-i", "x.npz", "--selfcheck")
        os.replace(weights("q"), weights("p"))
        self.assertIn("not this program's weights", self.run_in("./p", "-i", "x.npz", status=1)[1])

    def test_forms(self):
        """With --forms small a convolution that Winograd's method may compute stores its weights once. Transformed ones are four
        times as large."""
        w = "torch.sin(torch.reshape(torch.arange(0, 9216, dtype=6), [32, 32, 3, 3]))"
        self.put("c.pt", model(body(["return torch.conv2d(x, %s, None, [1, 1], [1, 1])" % w])))
        size = {}
        for form in ("fast", "made", "small"):
            how = [] if form == "made" else ["--forms", form]
            self.kiln("build", "c.pt", "-i", "x=float32[1x32x8x8]", "--cpu", "native", *how, "-o", "p", "--json", "b.json")
            with open(os.path.join(self.dir, "b.json")) as b:
                size[form] = json.load(b)
            self.kiln("check", "c.pt", "p", "-i", "x=float32[1x32x8x8]")
        self.assertEqual(size["fast"]["weight_forms"]["winograd"], 4 * 9216 * 4)
        self.assertEqual(size["made"]["made_bytes"], 4 * 9216 * 4)
        for form in ("made", "small"):
            self.assertEqual(size[form]["weight_forms"]["winograd"], 0)
            self.assertEqual(size[form]["weight_forms"]["panels"], 9216 * 4)
        self.kiln("build", "c.pt", "--forms", "tiny", "-o", "p", status=2)

    def test_reports(self):
        """JSON is written to a file or, with -, to standard output, which then contains nothing else. An unwritable file is an
        error."""
        self.assertIn("weights_bytes", json.loads(self.kiln("build", "m.pt", "-i", "x.npz", *NATIVE, "-o", "p", "--json", "-")[0]))
        self.assertIn("code_bytes", json.loads(self.run_in("./p", "--info", "--json", "-")[0]))
        self.assertEqual(json.loads(self.run_in("./p", "-i", "x.npz", "--bench=3", "--json", "-")[0])["runs"], 3)
        self.assertIn("machine", json.loads(self.kiln("bench", "p", "-i", "x.npz", "--json", "-")[0]))
        self.assertFalse(os.path.exists(os.path.join(self.dir, "-")))
        for path in ("/dev/full", "nowhere/j"):
            self.assertIn(path, self.run_in("./p", "--info", "--json", path, status=1)[1])

    def test_warm(self):
        """33 MB of weights that a product of one row reads move to larger pages, with --warm or after 64 calls."""
        w = attrs(training=b"\x89", w=tensor(8292 * 1021, [8292, 1021], [1021, 1]))
        self.put("w.pt", model(body(["return torch.linear(x, self.w)"]), w,
                               **{"data/0": struct.pack("<8292f", *(math.sin(i) for i in range(8292))) * 1021}))
        self.kiln("build", "w.pt", "-i", "x=float32[1x1021]", "--cpu", "native", "-o", "p")
        self.kiln("build", "w.pt", "-i", "x=float32[1x1021]", "--emit", "c", "--name", "p", "-o", "c")
        self.assertIn(b".warm = rt_warm", self.bytes_of("c/p.c"))
        self.kiln("check", "w.pt", "p", "-i", "x=float32[1x1021]")
        self.put("one.npz", npz(x=npy([1, 1021], data=struct.pack("<1021f", *range(1021)))))
        cold = self.run_in("./p", "-i", "one.npz")[0]
        self.assertEqual(self.run_in("./p", "-i", "one.npz", "--warm")[0], cold)
        self.assertEqual(self.run_in("./p", *["-i", "one.npz"] * 66)[0], cold * 66)
        self.run_in("./p", "-i", "one.npz", "--warm", "--selfcheck")
        if not SANITIZED:
            # while they move, only a part is in both places
            self.assertLess(json.loads(self.run_in("./p", "-i", "one.npz", "--bench=2", "--json", "-")[0])["peak_bytes"], 1.7 * 8292 * 1021 * 4)
            # there is memory for one copy of the weights only, so they stay in place
            self.assertEqual(self.run_in("sh", "-c", "ulimit -v 90000; exec ./p -i one.npz --warm")[0], cold)
            # tcc puts constants into executable sections; they do not count as code
            sizes = json.loads(self.kiln("build", "w.pt", "-i", "x=float32[1x1021]", "--cc", "tcc", "-o", "p", "--json", "-")[0])
            self.assertLess(sizes["code_bytes"], 2000000)
            self.assertEqual(json.loads(self.run_in("./p", "--info", "--json", "-")[0])["code_bytes"], sizes["code_bytes"])

    def test_tcc_makes_programs(self):
        """If the compiler inside Kiln cannot make the requested kind, build fails instead of making another kind."""
        for options in ["--emit", "obj"], ["--emit", "static"], ["--target", "aarch64-linux-gnu"]:
            self.assertIn("--cc tcc makes programs and shared libraries for this machine", self.kiln("build", "m.pt", "--cc", "tcc", *options, "-o", "p", status=2)[1])
        self.kiln("build", "m.pt", "--cc", "tcc", "--target", "aarch64-linux-gnu", "--emit", "c", "--name", "p", "-o", "c")

    def test_no_source(self):
        self.put("m.pt", model(SPEAKS))
        for options, there in (([], True), (["--no-source"], False)):
            self.kiln("build", "m.pt", "-i", "x.npz", *options, "--emit", "c", "--name", "p", "-o", "c")
            self.assertEqual(b"torch.add(x, self.w)" in self.bytes_of("c/p.c"), there)

    def test_inputs(self):
        self.kiln("build", "m.pt", "--input", "x=float32[1..4x3]", *NATIVE, "-o", "p")
        self.kiln("run", "m.pt", "--input", "x=float32[2x3]", "--seed", "3", "-o", "a.npz")
        for bad in ("x", "x=float32", "x=float99[2]", "x=float32[2", "x=float32[-1]", "x=float32[99999999999999999999]",
                    "x=float32[3..1]", "x=float32[4611686018427387904x4]", "=float32[2]", "x=float32[2x]"):
            self.assertIn(self.call_status("run", "m.pt", "--input", bad), (1, 2), bad)

    def test_several_calls(self):
        """run with several inputs: an output belongs to each input, results without one are printed, more outputs than inputs are
        an error."""
        said = self.kiln("run", "m.pt", "-i", "x.npz", "-o", "o.npz", "-i", "x.npz")[0]
        self.assertEqual(self.out(), [2 * i for i in range(6)])
        self.assertTrue(said)
        self.kiln("run", "m.pt", "-i", "x.npz", "-o", "o.npz", "-o", "p.npz", status=2)

    def call_status(self, *argv):
        return call([KILN, *argv], self.dir)[0]

    def test_levels(self):
        for level in "0123":
            self.kiln("build", "m.pt", "-O" + level, "-i", "x.npz", *NATIVE, "-o", "p")
            self.run_in("./p", "-i", "x.npz", "-o", "o.npz")
            self.assertEqual(self.out(), [2 * i for i in range(6)])
        self.kiln("build", "m.pt", "-O4", "-o", "p", status=2)

    def test_threads_and_specializations(self):
        self.kiln("build", "m.pt", "-i", "x.npz", "--threads", "2", "--max-specializations", "0", "--seed", "5", *NATIVE, "-o", "p")
        self.run_in("./p", "--info", "--json", "i.json")
        self.assertEqual(json.loads(self.bytes_of("i.json"))["specializations"], [])
        self.run_in("./p", "-i", "x.npz", "--bench=1", "--json", "b.json")
        self.assertEqual(json.loads(self.bytes_of("b.json"))["threads"], 2)

    # ---- statuses --------------------------------------------------------------------------------------------------

    def test_statuses(self):
        self.put("other.npz", npz(x=npy([5, 3])))
        self.put("lacks.pt", model(body(["return ops.mine.f(x)"])))
        self.kiln("build", "m.pt", "-i", "x.npz", *NATIVE, "-o", "p")
        self.run_in("./p", "-i", "x.npz", "-o", "o.npz", status=0)
        self.run_in("./p", "-i", "other.npz", status=1)
        self.run_in("./p", "--nonsense", status=2)
        self.put("scaled.pt", model(body(["return torch.sub(x, self.w)"])))
        self.kiln("check", "scaled.pt", "p", "-i", "x.npz", status=4)
        self.put("miss.npz", npz(x=npy([1, 3])))
        self.run_in("./p", "--strict", "-i", "miss.npz", status=5)
        self.run_in("./p", "--device", "cuda", "-i", "x.npz", status=6)
        self.kiln("run", "lacks.pt", "-i", "x.npz", status=7)

    def test_sparse(self):
        """Operators of sparse tensors compile, since branches of models contain them. At run time they report that Kiln lacks
        them."""
        self.put("sparse.pt", model(body(["if torch.gt(torch.size(x, 0), 4):", "  x = torch.to_sparse(x)", "return x"])))
        self.put("other.npz", npz(x=npy([5, 3])))
        self.assertRegex(self.kiln("ops", "sparse.pt", status=7)[0], r"aten::to_sparse +raises: sparse +1 use")
        self.kiln("build", "sparse.pt", "-i", "x.npz", *NATIVE, "-o", "p")
        self.run_in("./p", "-i", "x.npz", "-o", "o.npz")
        self.assertIn("to_sparse: Kiln has no sparse tensors", self.run_in("./p", "-i", "other.npz", status=7)[1])

    # ---- the environment ----------------------------------------------------------------------------------------------

    @unittest.skipIf(SANITIZED, "sanitizers name the temporary folder")
    def test_same_bytes(self):
        """The time, the place and the name of the output do not change the bytes."""
        os.mkdir(os.path.join(self.dir, "t"))
        self.kiln("build", "m.pt", "-i", "x.npz", *NATIVE, "-o", "p", env=with_env(SOURCE_DATE_EPOCH="1"))
        self.kiln("build", "m.pt", "-i", "x.npz", *NATIVE, "-o", "q", env=with_env(SOURCE_DATE_EPOCH="1700000000", TMPDIR=os.path.join(self.dir, "t")))
        self.assertEqual(self.bytes_of("p"), self.bytes_of("q"))
        self.assertEqual(os.listdir(os.path.join(self.dir, "t")), [])

    def test_tmpdir(self):
        said = self.kiln("build", "m.pt", "-o", "OUT", status=1, env=with_env(TMPDIR=os.path.join(self.dir, "none")))[1]
        self.assertIn("none/kiln-", said)

    def test_terminal(self):
        """Progress appears on terminals only, and disappears at the end. There are no colours."""
        said = self.terminal(KILN, "build", "m.pt", "-i", "x.npz", *NATIVE, "-o", "p")
        self.assertIn("profiling on x.npz", said)
        self.assertTrue(said.replace("\r\n", "\n").endswith("\r\033[K" + NOTE))
        self.assertNotIn("\033[3", said)
        self.assertEqual(self.kiln("build", "m.pt", "-i", "x.npz", *NATIVE, "-o", "p")[1], NOTE)

    def test_runner(self):
        """--runner receives the program's arguments, and its failure is reported."""
        self.kiln("build", "m.pt", "-i", "x.npz", *NATIVE, "-o", "p")
        self.put("run.sh", b'echo "$@" >>said\nexec "$@"\n')
        self.assertIn("same", self.kiln("check", "m.pt", "p", "-i", "x.npz", "--runner", "sh  run.sh")[0])
        self.assertIn("./p -i ", self.bytes_of("said").decode())
        self.put("run.sh", b"exit 3\n")
        self.assertIn("differs", self.kiln("check", "m.pt", "p", "-i", "x.npz", "--runner", "sh run.sh", status=4)[0])
        self.assertIn("no-such-runner", self.kiln("check", "m.pt", "p", "-i", "x.npz", "--runner", "no-such-runner", status=1)[1])
        self.kiln("check", "m.pt", "--double", "-i", "x.npz", "--runner", "sh run.sh", status=2)
        self.kiln("bench", "p", "-i", "x.npz", "--runner", "sh run.sh", status=3)

    def test_compiler(self):
        self.assertIn("no-such-compiler", self.kiln("build", "m.pt", "-o", "OUT", status=7, env=with_env(CC="no-such-compiler"))[1])
        self.assertIn("-fnonsense", self.kiln("build", "m.pt", "-o", "OUT", status=1, env=with_env(CFLAGS="-fnonsense"))[1])

    def test_architectures(self):
        for text, status in (("8.0;9.0+PTX", 0), ("8.6", 0), ("9.0a", 2), ("5.0", 2), ("nonsense", 2)):
            self.kiln("build", "m.pt", "-i", "x.npz", "--emit", "cuda", "-o", "OUT.cu", status=status, env=with_env(TORCH_CUDA_ARCH_LIST=text))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
