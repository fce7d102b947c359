"""Archives and sources opened by their paths, with NumPy arrays."""
import multiprocessing, os, pickle, signal, subprocess, sys, tarfile, tempfile, threading, unittest, warnings

import numpy as np

import kiln
from kiln import cache, door, program, tree

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
MANY = os.path.join(ROOT, "tests", "door", "many.pt")
METHODS = "forward,grow,describe,keep,write,refuse,draw,say"
X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


def sample(name, part):
    return os.path.join(ROOT, "samples", name, part)


def many(**options):
    return kiln.compile(MANY, X, method=METHODS.split(","), **options)


def lstm_answer(args):
    """A function at the top level, so that multiprocessing can find it by its name."""
    return without(kiln.compile, sample("lstm", "model.pt"))(*args)[0]


def without(function, *args, **options):
    """The function's result. The warning that there is no example is suppressed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*generic code")
        return function(*args, **options)


class Test(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def source(self, text):
        """Writes TorchScript source to a file. Returns its path."""
        path = os.path.join(self.folder.name, "model%d.py" % len(os.listdir(self.folder.name)))
        with open(path, "w") as f:
            f.write("from typing import Dict, List, Optional, Tuple\n" + text)
        return path

    def compiled(self, text, examples=None, **options):
        return without(kiln.compile, self.source(text), examples, **options)


class Calls(Test):
    def test_samples(self):
        given, want = np.load(sample("lstm", "in.npz")), np.load(sample("lstm", "out.npz"))
        args = given["x"], (given["state.0"], given["state.1"])
        model = kiln.compile(sample("lstm", "model.pt"), args)
        for out in model(*args), model(args[0], state=list(args[1])), model(state=args[1], x=args[0]):
            self.assertIsInstance(out, tuple)
            for got, key in (out[0], "out.0"), (out[1][0], "out.1.0"), (out[1][1], "out.1.1"):
                np.testing.assert_allclose(got, want[key], atol=1e-5)
        self.assertTrue(model.built["specializations"])
        self.assertIn("model.pt", model.source)

    def test_structures(self):
        """Every kind of value as argument and as result: None, empty containers, numbers."""
        model = many()
        name, parts, values, more = model.describe("ab", [1.5, 2.5], {"k": X[0]})
        self.assertEqual((name, list(parts), more), ("ab2", ["kab"], None))
        np.testing.assert_array_equal(parts["kab"], 4 * X[0])
        name, parts, values, more = model.describe("x", [1, 2], {"a": X, "b.c": X}, n=5, more=X)
        self.assertEqual((name, sorted(parts)), ("x5", ["ax", "b.cx"]))
        np.testing.assert_array_equal(more, X)
        self.assertEqual(model.describe("", [], {})[1], {})
        model = self.compiled(
            "def forward(a: List[int], b: Dict[int, Tensor], c: Tuple[int, Optional[Tensor]], d: List[Tensor], e: bool, f: float):\n"
            "    return [a[0], len(d)], {k: v + c[0] for k, v in b.items()}, (e, f), [x.sum() for x in d], 'a', None\n")
        got = model([3, 4], {7: X}, (2, None), [X, X], True, 3)
        self.assertEqual((got[0], got[2], got[4], got[5]), ([3, 2], (True, 3.0), "a", None))
        self.assertEqual([type(v) for v in got[2]], [bool, float])
        np.testing.assert_array_equal(got[1][7], X + 2)
        self.assertEqual([v.item() for v in got[3]], [21, 21])
        self.assertEqual(model([1], {}, (1, X), [], False, 1.5)[3], [])

    def test_none_in_containers(self):
        """None takes no key. It may come before other elements in an argument list, but not last. In results it may be anywhere.
        """
        model = self.compiled("def forward(l: List[Optional[Tensor]], d: Dict[str, Optional[Tensor]]):\n    return len(l), l[0] is None, len(d)\n")
        self.assertEqual(model([None, X], {"a": X}), (2, True, 1))
        with self.assertRaisesRegex(kiln.BadArgument, "'l': a list that ends with None"): model([X, None], {"a": X})
        with self.assertRaisesRegex(kiln.BadArgument, "'d': a dict that holds None"): model([X], {"a": None})
        model = self.compiled("def forward(l: List[Optional[Tensor]]):\n    l.append(None)\n    l.append(l[0])\n    return l, {'a': l[1]}\n")
        (a, b, c, d), table = model([X, X])
        self.assertEqual((a.tolist(), c, d.tolist(), table["a"].tolist()), (X.tolist(), None, X.tolist(), X.tolist()))
        model = self.compiled("def forward(x: Tensor, n: int):\n    l: List[Optional[Tensor]] = [x]\n    d: Dict[str, Optional[Tensor]] = {'a.b': None}\n"
                              "    for i in range(n):\n        l.append(None)\n        d[str(i)] = None\n    d['z'] = x\n"
                              "    return l, d, (None, n), [(None, i) for i in range(n)]\n", cc="tcc")
        for n in 0, 1, 3, 40:
            l, d, pair, pairs = model(X, n)
            self.assertEqual((l[1:], pair, pairs), ([None] * n, (None, n), [(None, i) for i in range(n)]))
            self.assertEqual((list(d), list(d.values())[:-1]), (["a.b", *map(str, range(n)), "z"], [None] * (n + 1)))
        either = self.compiled("def forward(x: Any):\n    if isinstance(x, Tensor):\n        return x\n    assert torch.jit.isinstance(x, List[Tensor])\n"
                               "    return x[0] + x[1]\n", [([X, X],)])
        self.assertEqual([either(X).tolist(), either([X, 2 * X]).tolist()], [X.tolist(), (3 * X).tolist()])

    def test_layouts(self):
        """Arrays used without a copy, and arrays that must be copied: negative strides, read-only, foreign byte order, scalars.
        """
        model = self.compiled("def forward(x: Tensor):\n    x += 1\n    return x * 2, x.t(), x.sum()\n", X.copy())
        turned, wide, fixed, foreign = X.T.copy().T, np.zeros((2, 6), np.float32), X.copy(), X.astype(">f4")
        wide[:, ::2] = X
        fixed.flags.writeable = False
        for x in X.copy(), turned, wide[:, ::2], X[::-1, ::-1][::-1, ::-1].copy()[::-1], fixed, foreign, X[:0], X[:1].copy(), np.stack([X, X])[1]:
            want = x.astype("f4") + 1
            doubled, flipped, total = model(x)
            np.testing.assert_array_equal(doubled, 2 * want)
            np.testing.assert_array_equal(flipped, want.T)
            self.assertEqual((total.shape, total.item()), ((), want.sum()))
        np.testing.assert_array_equal(wide[:, ::2], X + 1)         # written in place
        np.testing.assert_array_equal(fixed, X)                    # not written
        for dtype in "i1", "u1", "i2", "i4", "i8", "f2", "f8", "c8", "c16", "?":
            twice = self.compiled("def forward(x: Tensor):\n    return x.clone()\n")(np.ones((2, 2), dtype))
            self.assertEqual(twice.dtype, np.dtype(dtype))

    def test_results_stay(self):
        """Results belong to the caller: later calls, and deleting the model, do not change them."""
        model = self.compiled("def forward(x: Tensor):\n    return x * 2, x\n", X)
        first = model(X)
        kept = [model(X + i) for i in range(50)]
        del model
        for i, (a, b) in enumerate(kept):
            np.testing.assert_array_equal(a, 2 * (X + i))
            np.testing.assert_array_equal(b, X + i)
        first[0][:] = 9
        self.assertTrue(first[0].flags.writeable and first[0].base is not None)

    def test_state(self):
        model = many()
        np.testing.assert_array_equal(model(X), X)
        np.testing.assert_array_equal(model(X), 4 * X)
        np.testing.assert_array_equal(model.state("total"), 2 * X)
        self.assertEqual(model.state("count"), 2)
        other = model.copy()
        np.testing.assert_array_equal(other(X), X)
        model.reset()
        np.testing.assert_array_equal(model(X), X)
        model.set_state("total", 7 * X)
        model.set_state("count", 4)
        np.testing.assert_array_equal(model(X), 40 * X)
        self.assertEqual(model.grow(X).shape[0] + model.grow(X).shape[0], 6)
        with self.assertRaisesRegex(kiln.BadArgument, "no attribute 'nix'"):
            model.state("nix")

    def test_random(self):
        """A seed fixes the draws. Later calls continue the sequence."""
        one, two, other = many(seed=7), many(seed=7), many(seed=8)
        a, b = one.draw(), one.draw()
        np.testing.assert_array_equal(a, two.draw())
        self.assertFalse((a == b).all() or (a == other.draw()).all())
        one.reset()
        np.testing.assert_array_equal(one.draw(), a)

    def test_prints(self):
        """A model prints to Python's sys.stdout, also if it is replaced. Warnings become Python's warnings."""
        import contextlib, io
        to = io.StringIO()
        with contextlib.redirect_stdout(to):
            many().say(X)
        self.assertEqual(to.getvalue(), "x is 2\n")
        model = self.compiled("def forward(x: Tensor):\n    torch.warn('beware')\n    return x\n")
        with self.assertWarnsRegex(UserWarning, "beware"):
            model(X)

    def test_threads(self):
        """Several threads call one model one after the other, and copies of it at the same time."""
        model, wrong = many(), []

        def grow(one, times):
            for _ in range(times):
                one(X)

        def alone(one):
            one.reset()
            for i in range(1, 100):
                if not np.array_equal(one(X), i * i * X):
                    wrong.append(i)
        for work in [(grow, (model, 50)) for _ in range(4)], [(alone, (model.copy(),)) for _ in range(4)]:
            running = [threading.Thread(target=f, args=a) for f, a in work]
            for t in running:
                t.start()
            for t in running:
                t.join()
        self.assertEqual((model.state("count"), wrong), (200, []))
        two = without(kiln.compile, sample("lstm", "model.pt"), threads=2)
        given = np.load(sample("lstm", "in.npz"))
        want = two(given["x"], (given["state.0"], given["state.1"]))[0]
        child = os.fork()
        if not child:                                              # the child starts threads of its own
            os._exit(0 if np.array_equal(two(given["x"], (given["state.0"], given["state.1"]))[0], want) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_processes(self):
        """Models compiled, opened and called in child processes: forked by a thread other than the first, and by multiprocessing.
        """
        given = np.load(sample("lstm", "in.npz"))
        args = given["x"], (given["state.0"], given["state.1"])
        model = without(kiln.compile, sample("lstm", "model.pt"))
        want, ended = model(*args)[0], []

        def fork():
            child, right = os.fork(), False
            if not child:
                try:
                    right = all(np.array_equal(one(*args)[0], want) for one in (model, without(kiln.compile, sample("lstm", "model.pt"))))
                finally:
                    os._exit(0 if right else 1)
            ended.append(os.waitpid(child, 0)[1])
        thread = threading.Thread(target=fork)
        thread.start()
        thread.join()
        self.assertEqual(ended, [0])
        for how in "fork", "spawn":
            with multiprocessing.get_context(how).Pool(2) as pool:
                for got in pool.map(lstm_answer, [args] * 3):
                    np.testing.assert_array_equal(got, want)

    def test_forked_within_a_call(self):
        """A thread forks while another one is in a call. The child gets a new instance whose lock is free."""
        model, speaks, forked = many(), threading.Event(), threading.Event()

        class Out:
            def write(self, text):
                speaks.set()
                forked.wait(30)
        before, sys.stdout = sys.stdout, Out()
        try:
            thread = threading.Thread(target=model.say, args=(X,))
            thread.start()
            self.assertTrue(speaks.wait(30))
            child = os.fork()
            if not child:
                forked.set()
                signal.alarm(30)
                try:
                    model.say(X)
                    os._exit(0)
                finally:
                    os._exit(1)
        finally:
            sys.stdout = before
            forked.set()
            thread.join()
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_callback_calls(self):
        """A model's print callback may not call the model."""
        model, said = many(), []

        class Out:
            def write(self, text):
                try:
                    model.say(X)
                except kiln.Busy as e:
                    said.append(str(e))
        was, sys.stdout = sys.stdout, Out()
        try:
            model.say(X)
        finally:
            sys.stdout = was
        self.assertIn("may not call it", said[0])


class Exported(Test):
    """Archives of torch.export, which contain example inputs."""

    def test_cases(self):
        with tarfile.open(os.path.join(ROOT, "tests", "pt2", "cases.tar.xz")) as tar:
            tar.extractall(self.folder.name)
        path = os.path.join(self.folder.name, "Linear", "model.pt2")
        model = kiln.compile(path)
        for call in "1", "2":
            given, want = (np.load(os.path.join(os.path.dirname(path), "%s.%s.npz" % (call, what))) for what in ("in", "out"))
            np.testing.assert_allclose(model(**given), want["out"], atol=1e-5)
        self.assertEqual([s["kind"] for s in model.built["specializations"]], ["exact", "dynamic", "exact"], "the last for a batch of 1")
        self.assertEqual(kiln.check(path)[0]["answer"], "same")
        self.assertTrue(kiln.bench(path)["kernels"])
        with self.assertRaisesRegex(kiln.SizeMismatch, "Guard failed"):
            model(np.zeros((2, 3), np.float32))


class Errors(Test):
    def test_raised(self):
        model = many()
        with self.assertRaises(ValueError) as got:
            model.refuse(X)
        self.assertIsInstance(got.exception, kiln.ModelRaised)
        self.assertEqual((got.exception.kind, str(got.exception)), ("ValueError", "no sums above zero"))
        self.assertIn("raise ValueError", got.exception.traceback)
        with self.assertRaisesRegex(kiln.ModelRaised, "shape .* is invalid"):
            model.refuse(-X)
        np.testing.assert_array_equal(model(X), X)                 # the model still works
        for kind in "KeyError", "IndexError", "AssertionError", "NotImplementedError", "Exception":
            bad = self.compiled("def forward(x: Tensor):\n    if x.numel() > 0:\n        raise %s('it is so:\\n\\n  bad')\n    return x\n" % kind)
            with self.assertRaises(kiln.ModelRaised) as got:
                bad(X)
            self.assertEqual(str(got.exception), "it is so:\n\n  bad")
            self.assertEqual(got.exception.kind, kind)

    def test_arguments(self):
        model = kiln.compile(sample("lstm", "model.pt"), self.lstm())
        x, state = self.lstm()
        for says, args, kwargs in [
                ("argument 'state' is missing", (x,), {}), ("3 were given", (x, state, 3), {}),
                ("'y' is not known", (x,), {"y": 3}), ("'x' was given twice", (x, state), {"x": x}),
                ("'state.1' is missing", (x, state[:1]), {}), ("is a object", (object(), state), {}),
                ("expected Tensor", ("text", state), {}), ("array of object", (np.array([None]), state), {}),
                ("array of <U1", (np.array(["a"]), state), {}), ("'x' is a list, tuple or dict", ({"a": x}, state), {})]:
            with self.subTest(says), self.assertRaisesRegex(kiln.BadArgument, says):
                model(*args, **kwargs)
        with self.assertRaises(kiln.ModelRaised):
            model(x[:, :, :-1], state)

    def lstm(self):
        given = np.load(sample("lstm", "in.npz"))
        return given["x"], (given["state.0"], given["state.1"])

    def test_strict(self):
        model = kiln.compile(MANY, X, strict=True, dynamic=False, no_dynamic=True)
        with self.assertRaises(kiln.GuardFailed):
            model(np.ones((5, 7), np.float32))
        with self.assertWarnsRegex(UserWarning, "many.pt runs as generic code, which is slow: there are no example_inputs"):
            model = kiln.compile(MANY, strict=True)
        self.assertEqual(model.built["generic"][0]["method"], "forward")
        with self.assertRaisesRegex(kiln.GuardFailed, "generic code only: built without an input"):
            model(X)

    def test_compile(self):
        with open(os.path.join(self.folder.name, "not.pt"), "w") as f:
            f.write("no archive")
        for kind, says, model, options in [
                (kiln.CompileError, "No such file", "nix.pt", {}), (kiln.CompileError, "no zip file", f.name, {}),
                (kiln.BadOption, "wibble", MANY, {"wibble": 3}), (kiln.BadOption, "optimize", MANY, {"optimize": 9}),
                (kiln.BadOption, "no method 'nix'", MANY, {"method": "nix"}),
                (TypeError, "method: a name, or a list of names, not 3", MANY, {"method": 3}), (TypeError, r"not \['forward', 1\]", MANY, {"method": ["forward", 1]}),
                (TypeError, r"not \[\]", MANY, {"method": []}), (kiln.BadOption, "'emit'", MANY, {"emit": "exe"}),
                (kiln.Unsupported, "nix-cc", MANY, {"cc": "nix-cc"})]:
            with self.subTest(says), self.assertRaisesRegex(kind, says):
                kiln.compile(model, **options)
        with self.assertRaisesRegex(kiln.CompileError, "nosuch"):
            self.compiled("def forward(x: Tensor):\n    return torch.nosuch(x)\n")
        with self.assertRaisesRegex(TypeError, "not a int"):
            kiln.compile(3)
        with self.assertWarnsRegex(UserWarning, "generic code"):
            kiln.compile(sample("lstm", "model.pt"))

    def test_bfloat16(self):
        model = self.compiled("def forward(x: Tensor):\n    return x.to(torch.bfloat16)\n", X)
        with self.assertRaisesRegex(kiln.Unsupported, "NumPy has no such"):
            model(X)
        with self.assertRaisesRegex(kiln.Unsupported, "NumPy has no such"):
            model(X)


class Kept(Test):
    def entries(self):
        return set(os.listdir(cache.folder())) if os.path.isdir(cache.folder()) else set()

    def test_keys(self):
        """The cache has one entry for equal builds. Another option, model, example size or kiln makes another entry; other
        example numbers of a .pt2 do not."""
        text = "def forward(x: Tensor):\n    return x * %d\n" % os.getpid()
        self.compiled(text, X)
        before = self.entries()
        self.compiled(text, X)
        self.assertEqual(self.entries(), before)
        for n, (other, x, options) in enumerate([(text + "\n", X, {}), (text, X[:1], {}), (text, X, {"optimize": 1})], 1):
            self.compiled(other, x, **options)
            self.assertEqual(len(self.entries()), len(before) + n)
        found = self.entries()
        model = self.compiled(text + "#", X, keep=False)
        self.assertEqual(self.entries(), found)
        np.testing.assert_array_equal(model(X), X * os.getpid())
        self.assertFalse([n for n in found if n.startswith("new-")])

    def test_failed(self):
        """A failed build leaves no entry."""
        before = self.entries()
        with self.assertRaises(kiln.KilnError):
            kiln.compile(MANY, cc="false")
        self.assertEqual(self.entries(), before)

    def test_race(self):
        """Two builds of the same entry at once: one is used, and nothing of the other is left."""
        made, gate = [], threading.Barrier(2)

        def make(folder):
            gate.wait()
            made.append(folder)
            with open(os.path.join(folder, "model.so"), "w") as f:
                f.write("x")
        found = []
        running = [threading.Thread(target=lambda: found.append(cache.get("race", make))) for _ in range(2)]
        for t in running:
            t.start()
        for t in running:
            t.join()
        self.assertEqual((len(set(found)), len(made)), (1, 2))
        self.assertFalse([f for f in made if os.path.exists(f)])

    def test_trimmed(self):
        """The least recently used entries are removed."""
        for i in range(3):
            entry = cache.get("old%d" % i, lambda folder: os.mkdir(os.path.join(folder, "f")))
            os.utime(entry, (1000 + i, 1000 + i))
        kept = os.environ.get("KILN_CACHE_BYTES")
        os.environ["KILN_CACHE_BYTES"] = "1"
        try:
            cache.get("new", lambda folder: None)
        finally:
            os.environ.pop("KILN_CACHE_BYTES") if kept is None else os.environ.update(KILN_CACHE_BYTES=kept)
        self.assertFalse(self.entries() & {"old0", "old1", "old2"})
        self.assertIn("new", self.entries())

    def test_unwritable(self):
        """A model is compiled even if the cache cannot be written."""
        was = os.environ["KILN_CACHE"]
        os.environ["KILN_CACHE"] = os.path.join(os.path.abspath(__file__), "cache")
        try:
            with self.assertWarnsRegex(UserWarning, "nothing is kept"):
                model = self.compiled("def forward(x: Tensor):\n    return x + 17\n", X)
        finally:
            os.environ["KILN_CACHE"] = was
        np.testing.assert_array_equal(model(X), X + 17)

    def test_pickle(self):
        model = many()
        model(X)
        data = pickle.dumps(model)
        again = pickle.loads(data)
        np.testing.assert_array_equal(again(X), X)                 # the state after opening
        self.assertEqual(again.describe("ab", [1.0], {"k": X})[0], "ab2")
        script = ("import numpy, pickle, sys\nwith open(sys.argv[1], 'rb') as f:\n    m = pickle.load(f)\n"
                  "print(m(numpy.ones((2, 3), 'f4'))[0, 0])")
        with open(os.path.join(self.folder.name, "p"), "wb") as f:
            f.write(data)
        done = subprocess.run([sys.executable, "-c", script, f.name], stdout=subprocess.PIPE, env=dict(os.environ, KILN_CACHE=self.folder.name))
        self.assertEqual(done.stdout, b"1.0\n")

    def test_large(self):
        """Weights in a file next to the library, as for an archive of more than 1 GB."""
        large, kiln.model.LARGE = kiln.model.LARGE, 1000
        try:
            given, want = np.load(sample("lstm", "in.npz")), np.load(sample("lstm", "out.npz"))["out.0"]
            args = given["x"], (given["state.0"], given["state.1"])
            model = kiln.compile(sample("lstm", "model.pt"), args, optimize=1)
        finally:
            kiln.model.LARGE = large
        self.assertGreater(os.path.getsize(os.path.join(os.path.dirname(model.library), kiln.model.WEIGHTS)), 90000)
        for one in model, model.copy(), pickle.loads(pickle.dumps(model)):
            np.testing.assert_allclose(one(*args)[0], want, atol=1e-5)

    def test_processor(self):
        """Code for another processor is rejected."""
        model = many()
        model._made = dict(model._made, processor=["avx1024"])
        with self.assertRaisesRegex(kiln.Unsupported, "avx1024"):
            pickle.loads(pickle.dumps(model))


class Commands(Test):
    def test_check(self):
        text = "def forward(x: Tensor):\n    return x * 2 + 1\n"
        self.assertEqual([r["answer"] for r in kiln.check(self.source(text), [(X,), (X[:1],)])], ["same", "same"])
        other = os.path.join(self.folder.name, "other")
        program.run("build", self.source(text.replace("2", "3")), "--input", "x=float32[2x3]", "-o", other, "--cc", program.compiler())
        self.assertNotEqual(kiln.check(self.source(text), X, other)[0]["answer"], "same")

    def test_bench(self):
        found = kiln.bench(self.source("def forward(x: Tensor):\n    return (x * 2).softmax(1)\n"), X)
        self.assertGreater(found["median_ms"], 0)
        self.assertTrue(found["kernels"])

    def test_command_line(self):
        run = [sys.executable, "-m", "kiln"]
        done = subprocess.run([*run, "info", MANY], stdout=subprocess.PIPE, check=True)
        self.assertIn(b"describe", done.stdout)
        self.assertEqual(subprocess.run([*run, "nix"], stderr=subprocess.DEVNULL).returncode, 2)
        done = subprocess.run([*run, "info"], env=dict(os.environ, KILN_PROGRAM="/nix"), stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, b"there is no program /nix" in done.stderr), (1, True))

    maxDiff = None

    def test_no_compiler(self):
        """Without a C compiler the one inside Kiln is used, and one warning names Debian's packages."""
        script = ("import warnings, sys, numpy, kiln\nwith warnings.catch_warnings(record=True) as said:\n    warnings.simplefilter('always')\n"
                  "    for n in 3, 4:\n        m = kiln.compile(sys.argv[1], numpy.ones((2, n), 'f4'))\n"
                  "print(m(numpy.ones((2, 4), 'f4'))[0, 0], len([w for w in said if 'apt-get install gcc' in str(w.message)]), len(said))")
        nothing = os.path.join(self.folder.name, "bin")
        os.mkdir(nothing)
        for settings in {"PATH": nothing}, {"CC": "/bin/false"}:
            done = subprocess.run([sys.executable, "-c", script, self.source("def forward(x: Tensor):\n    return x * 21 * 2\n")],
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, env={**os.environ, "CC": "", **settings})
            self.assertEqual(done.stdout.decode(), "42.0 1 1\n")


class Types(unittest.TestCase):
    def test_parse(self):
        for text in "Tensor", "Dict[str, Union[Tensor, Tuple[Tensor, NoneType], int]]", "List[List[int]]", "__torch__.A.B", "Tuple[]":
            self.assertEqual(repr(tree.parse(text)), text.replace("[]", ""))
        self.assertEqual(repr(tree.parse("a] b")), "a] b")

    def test_struct(self):
        self.assertEqual(door.c.sizeof(door.DLTensor), 48)


if __name__ == "__main__":
    unittest.main()
