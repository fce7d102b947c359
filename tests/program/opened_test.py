"""Weights whose fastest form is too large to store (--forms made). It is made when the program is opened, before the first call,
once for all its readers, with the bits that --forms fast stores. Nothing is stale afterwards, and lack of memory is a message.

usage: opened_test.py KILN
"""
import itertools, json, os, platform, struct, subprocess, sys, unittest

KILN = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import daily
from hostile import SANITIZED, Test, attrs, body, call, model, npy, npz, tensor
from needs import need
from npz import differs, read

N = 64 * 64 * 9                           # number of elements of a filter; its transformed form has four times as many
CONV = "torch.conv2d(x, self.w, None, [1, 1], [1, 1])"


def floats(n, seed=1):
    return struct.pack("<%df" % n, *(((i + seed) * 7919 % 2003) / 2003 - 0.5 for i in range(n)))


# Build options for processors and compilers, each with the processor flag and the program that it needs.
WAYS = [([], None, None)] if SANITIZED or platform.machine() != "x86_64" else [
    (["--cpu", "x86-64-v2"], None, None), (["--cpu", "x86-64-v3"], "avx2", None), (["--cpu", "x86-64-v4"], "avx512vl", None),
    (["--cc", "clang"], None, "clang"), (["--static"], None, None)]


def need_way(flag, program):
    """Skips a subTest whose program cannot run or be compiled here."""
    with open("/proc/cpuinfo") as f:
        if flag and flag not in f.read().split():
            raise unittest.SkipTest(f"{flag} is missing")
    need(*[program] * bool(program))


class Opened(Test):
    def setUp(self):
        super().setUp()
        self.given(1, 64, 20, 20)
        self.net("return " + CONV)

    def given(self, *dims, name="x.npz", key="x"):
        n = 1
        for d in dims:
            n *= d
        self.put(name, npz(**{key: npy(dims, data=floats(n, len(name)))}))

    def net(self, *lines, parameter=False, **more):
        w = tensor(N, [64, 64, 3, 3], [576, 9, 3, 1])
        state = attrs(training=b"\x89", w=w.replace(b"\x89", b"\x88") if parameter else w)
        self.put("m.pt", model(body(lines, **more), state, **{"data/0": floats(N)}))

    def build(self, *options, given=("x.npz",), out="p"):
        """Builds for this processor if no other is named: a third of the time of a program for several."""
        inputs = [o for g in given for o in ("-i", g)] + ["--cpu", "native"] * ("--cpu" not in options)
        self.check([KILN, "build", "m.pt", *inputs, *options, "-o", out, "--json", out + ".json"], 0)
        with open(self.at(out + ".json")) as f:
            return json.load(f)

    def at(self, name):
        return os.path.join(self.dir, name)

    def result(self, program, *options):
        self.check(["./" + program, *options, "-o", "result.npz"], 0)
        with open(self.at("result.npz"), "rb") as f:
            return f.read()

    def test_same_bits(self):
        """The bits are those of --forms fast: on every processor, with every compiler, on any number of threads, from a file.
        Generic code agrees within rounding. It reads weights whose pages were given back."""
        for way, *needed in WAYS:
            with self.subTest(way):
                need_way(*needed)
                made = self.build(*way)
                self.assertEqual((made["forms"], made["made_bytes"], made["weight_forms"]["winograd"]), ("made", 16 * N, 0))
                fast = self.build("--forms", "fast", *way, out="q")
                self.assertEqual((fast["forms"], fast["made_bytes"], fast["weight_forms"]["winograd"]), ("fast", 0, 16 * N))
                want = self.result("q", "-i", "x.npz", "--strict")
                for threads in "1", "3":
                    self.assertTrue(self.result("p", "-i", "x.npz", "--strict", "--threads", threads) == want)
                self.check(["./p", "-i", "x.npz", "--selfcheck"], 0)
        self.build("--weights", "file")
        self.build("--forms", "fast", out="q")
        self.assertTrue(self.result("p", "-i", "x.npz") == self.result("q", "-i", "x.npz"))

    def test_small_tiles(self):
        """Tiles of 2 x 2, alone and together with tiles of 4 x 4: the bits of --forms fast, and generic code agrees."""
        w = "w = torch.sin(torch.reshape(torch.arange(147456, dtype=6), [128, 128, 3, 3]))"
        y = "torch.conv2d(x, w, None, [1, 1], [1, 1])"
        z = "torch.conv2d(torch.repeat(x, [1, 1, 4, 4]), torch.mul(w, 2), None, [1, 1], [1, 1])"
        two, four = 4 * 16 * 128 * 128, 4 * 36 * 128 * 128
        nets = ((w, "return " + y), two), ((w, "return torch.mean(torch.abs(%s)), %s" % (z, y)), two + four)
        for (way, *needed), (lines, made), size in daily.sample(itertools.product(WAYS, nets, (7, 5, 8)), 4):
            with self.subTest((made, size, way, daily.DAY)):
                self.net(*lines, result="Tensor" if made == two else "Tuple[Tensor, Tensor]")
                self.given(1, 128, size, size)
                need_way(*needed)
                told = self.build(*way)
                if size == 7:
                    self.assertEqual((told["made_bytes"], told["given_back_bytes"]), (made, 4 * 9 * 128 * 128 * (1 + (made > two))))
                self.build("--forms", "fast", *way, out="q")
                self.assertTrue(self.result("q", "-i", "x.npz", "--strict") == self.result("p", "-i", "x.npz", "--threads", "3"))
                self.check(["./p", "-i", "x.npz", "--selfcheck"], 0)

    def test_size(self):
        """Weights are in the program once: forms made at opening are not stored, and --forms small has none. Every report says
        so."""
        for forms in "made", "small", "fast":
            told = self.build("--forms", forms)
            self.assertEqual(told["forms"], forms)
            self.assertEqual(told["weight_forms"]["plain"] + told["weight_forms"]["panels"], 4 * N)
            info = json.loads(call(["./p", "--info", "--json", "-"], self.dir)[1])
            for key in "forms", "made_bytes", "given_back_bytes", "peak_bytes", "weights_bytes":
                self.assertEqual(info[key], told[key])
            text = call(["./p", "--info"], self.dir)[1].decode()
            self.assertIn("forms %s\nmemory %d bytes at most" % (forms, told["peak_bytes"]), text)
            arena = max(s["arena_bytes"] for s in told["specializations"])
            made = 16 * N if forms == "made" else 0
            self.assertEqual((told["made_bytes"], told["given_back_bytes"]), (made, made // 4))
            self.assertEqual(told["peak_bytes"], told["weights_bytes"] + made - made // 4 + arena)
            self.assertEqual("made when it is opened" in text, forms == "made")
        self.check([KILN, "build", "m.pt", "--forms", "tiny", "-o", "PROG"], 2, "--forms wants made, fast or small, not 'tiny'")

    def test_before_the_first_call(self):
        """Forms are made once, before any call, as the trace shows. --bench prints the time and the bytes. --info opens nothing.
        """
        self.build()
        self.check(["./p", "-i", "x.npz", "-i", "x.npz", "-o", "a.npz", "-o", "b.npz", "--trace", "t.json"], 0)
        with open(self.at("t.json")) as f:
            events = json.load(f)["traceEvents"]
        names = [e["name"] for e in events]
        self.assertEqual((names[0], names.count("weights transformed"), names.count("forward")), ("weights transformed", 1, 2))
        self.assertLessEqual(events[0]["ts"] + events[0]["dur"], min(e["ts"] for e in events[1:]))
        self.check(["./p", "--info", "--trace", "t.json"], 0)
        with open(self.at("t.json")) as f:
            self.assertEqual(json.load(f)["traceEvents"], [])
        told = json.loads(call(["./p", "-i", "x.npz", "--bench=3", "--json", "-"], self.dir)[1])
        self.assertEqual(told["made_bytes"], 16 * N)
        self.assertGreater(told["open_ms"], 0)
        self.assertGreater(told["peak_bytes"], 16 * N)
        said = call(["./p", "-i", "x.npz", "--bench=3"], self.dir)[1].decode()
        self.assertRegex(said, r"opened in [0-9.]+ ms, weights made then %d bytes, most memory \d+ bytes" % (16 * N))

    def test_shared(self):
        """One form serves all specializations and all uses of equal weights. Weights that other kernels read are not given back.
        """
        self.given(1, 64, 24, 28, name="y.npz")
        two = self.build(given=("x.npz", "y.npz"))
        self.assertGreater(len(two["specializations"]), 1)
        self.assertEqual((two["made_bytes"], two["given_back_bytes"]), (16 * N, 4 * N))
        self.check([KILN, "check", "m.pt", "p", "-i", "x.npz", "-i", "y.npz"], 0)
        self.net("x = " + CONV, "return torch.conv2d(torch.relu(x), torch.mul(self.w, 1), None, [1, 1], [1, 1])")
        self.assertEqual(self.build()["made_bytes"], 16 * N)
        self.check([KILN, "check", "m.pt", "p", "-i", "x.npz"], 0)
        self.net("y = torch.conv2d(x, self.w, None, [2, 2], [1, 1])", "return %s, y" % CONV, result="Tuple[Tensor, Tensor]")
        told = self.build()
        self.assertEqual((told["made_bytes"], told["given_back_bytes"]), (16 * N, 0))
        self.check([KILN, "check", "m.pt", "p", "-i", "x.npz"], 0)

    def test_pays(self):
        """With 256 channels of 4 x 4, reading the form costs more than it saves; with 7 x 7 tiles of 4 x 4 pay. Code for other
        sizes follows the profiled size."""
        self.net("w = torch.sin(torch.reshape(torch.arange(589824, dtype=6), [256, 256, 3, 3]))",
                 "return torch.conv2d(x, w, None, [1, 1], [1, 1])")
        for size, made in (4, 0), (7, 4 * 16 * 256 * 256), (28, 4 * 36 * 256 * 256):
            self.given(1, 256, size, size)
            told = self.build("--cpu", "x86-64-v3") if platform.machine() == "x86_64" else self.build()
            self.assertEqual({s["kind"] for s in told["specializations"]}, {"exact", "dynamic"})
            self.assertEqual(told["made_bytes"], made)

    def test_written(self):
        """Weights that a call changes are state, so no form of them is kept."""
        self.net("y = " + CONV, "z = torch.mul_(self.w, 2)", "return y")
        self.assertEqual(self.build()["made_bytes"], 0)
        calls = ["-i", "x.npz", "-i", "x.npz", "-o", "a.npz", "-o", "b.npz"]
        self.check([KILN, "run", "m.pt", *calls], 0)
        want = [read(self.at(n)) for n in ("a.npz", "b.npz")]
        self.assertIsNotNone(differs(*want))
        self.check(["./p", *calls], 0)
        self.assertEqual([differs(w, read(self.at(n))) for w, n in zip(want, ("a.npz", "b.npz"))], [None, None])

    def test_trained(self):
        """With --grad, parameters are state."""
        self.net("return torch.sum(%s)" % CONV, parameter=True)
        self.assertEqual(self.build("--grad", "params")["made_bytes"], 0)
        self.check(["./p", "-i", "x.npz", "--train", "sgd", "--lr", "0.001", "--steps", "2", "-o", "new.npz"], 0)

    @unittest.skipIf(SANITIZED, "its shadow memory is no measure")
    def test_no_memory(self):
        """Lack of memory: a message that names the option to avoid it, and status 1. --info needs no memory."""
        lines = ["w = torch.reshape(torch.arange(0, 2359296, dtype=6), [512, 512, 3, 3])", "return torch.conv2d(x, w, None, [1, 1], [1, 1])"]
        self.net(*lines)
        self.given(1, 512, 14, 14)
        self.assertEqual(self.build()["made_bytes"], 16 * 2359296)
        small = lambda *options: call(["sh", "-c", 'ulimit -v 40000; exec ./p "$@"', "p", *options], self.dir)
        rc, out, said = small("-i", "x.npz", "-o", "OUT.npz")
        self.assertEqual((rc, os.path.exists(self.at("OUT.npz"))), (1, False), said)
        self.assertIn(b"out of memory: 37748736 bytes are wanted for weights", said)
        self.assertIn(b"--forms small", said)
        self.assertEqual(small("--info")[0], 0)
        self.build("--forms", "small")
        self.assertEqual(small("-i", "x.npz", "-o", "out.npz")[0], 0)

    def test_damaged(self):
        """A weights file that is too short or missing: a message before any form is made."""
        self.build("--weights", "file")
        with open(self.at("p.weights"), "r+b") as f:
            f.truncate(4 * N)
        self.check(["./p", "-i", "x.npz"], 1, "these are not this program's weights")
        os.remove(self.at("p.weights"))
        self.check(["./p", "-i", "x.npz"], 1, "p.weights")

    def test_cut_short(self):
        """Another process truncates the weights file while the program runs: a message and no crash."""
        self.build("--weights", "file", "--forms", "small")
        os.mkfifo(self.at("later.npz"))
        running = subprocess.Popen(["./p", "-i", "later.npz"], cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # the program is open: the weights are mapped
        with open(self.at("later.npz"), "wb") as later, open(self.at("x.npz"), "rb") as given:
            os.truncate(self.at("p.weights"), 0)
            later.write(given.read())
        out, said = running.communicate(timeout=60)
        self.assertEqual((running.returncode, out), (1, b""), said)
        self.assertIn(b"the file of weights was cut short", said)

    @unittest.skipIf(SANITIZED, "a library under sanitizers wants them first")
    def test_forked(self):
        """A process that opened a program on two threads forks. Parent and child open it again."""
        self.build("--emit", "shared", out="p.so")
        text = """import ctypes, os, sys
lib = ctypes.CDLL("./p.so")
lib.p_open.restype = ctypes.c_void_p
def opens():
    m = lib.p_open((ctypes.c_int * 32)(2), None, 0)
    lib.p_close(ctypes.c_void_p(m))
    return not m
bad = opens()
child = os.fork()
if not child:
    os._exit(opens())
sys.exit(bad | opens() | os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
        self.check([sys.executable, "-c", text], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
