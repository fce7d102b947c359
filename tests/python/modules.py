"""Modules and functions of PyTorch: compile, jit, and the backend of torch.compile. Without PyTorch, or with a version too old
for a part, that part is skipped."""
import collections, dataclasses, os, pickle, subprocess, sys, tempfile, threading, unittest, warnings

import numpy as np

import kiln

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is missing")
from torch import nn

VERSION = tuple(map(int, torch.__version__.split("+")[0].split(".")[:2]))
EXPORTS = VERSION >= (2, 5)                            # versions whose torch.export and torch.compile the package supports
Pair = collections.namedtuple("Pair", "a b")
@dataclasses.dataclass
class Data:
    x: torch.Tensor
    n: int = 2
    none: object = None


class Test(unittest.TestCase):
    def same(self, got, want):
        """Checks that structure, types and numbers are equal."""
        self.assertIs(type(got), type(want))
        if isinstance(want, torch.Tensor):
            self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
        elif isinstance(want, dict):
            self.assertEqual(list(got), list(want))
            self.same(list(got.values()), list(want.values()))
        elif isinstance(want, (list, tuple)):
            self.assertEqual(len(got), len(want))
            for g, w in zip(got, want):
                self.same(g, w)
        else:
            self.assertEqual(got, want)

    def agrees(self, model, function, *args, **kwargs):
        with torch.no_grad():
            self.same(model(*args, **kwargs), function(*args, **kwargs))


def quietly(function, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.drop, self.head = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Dropout(), nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.drop(torch.relu(self.norm(self.conv(x)))).mean((2, 3)))


class Mixed(nn.Module):
    """A module with every kind of argument."""
    def forward(self, x, ys, flag=3, *, scale=None, table=None):
        x = x * (1 if scale is None else scale) + flag
        return {"a": x, "n": x.shape[0], "s": "text", "t": (ys[0] + 1, None, [ys[-1], 2.5]), "p": Pair(x.sum(), True),
                **({} if table is None else {k + ".b": v * 2 for k, v in table.items()})}


@unittest.skipUnless(EXPORTS, "torch.export of PyTorch 2.5 is missing: this is %s" % torch.__version__)
class Exported(Test):
    def test_net(self):
        torch.manual_seed(0)
        net, x = Net().eval(), torch.randn(2, 3, 12, 12)
        model = kiln.compile(net, x)
        self.assertEqual(model.source, "torch.export")
        self.agrees(model, net, x)
        self.agrees(model, net, x=x)
        self.agrees(model, net, x.to(memory_format=torch.channels_last))
        self.agrees(model, net, torch.randn(2, 3, 24, 12)[:, :, ::2])
        self.assertFalse(model(x).requires_grad)
        out = model(x.numpy())
        self.assertIsInstance(out, np.ndarray)
        np.testing.assert_allclose(out, model(x), atol=1e-6)
        with self.assertRaisesRegex(kiln.SizeMismatch, r"size\(\)\[0\] == 2.*dynamic=True"):
            model(torch.randn(3, 3, 12, 12))
        for bad, says in (x.half(), "float16.*for float32"), (x.double(), "float64"), (x.to("meta"), "is on meta"), (x.to_sparse(), "sparse"), \
                (3.0, "a tensor is wanted"):
            with self.assertRaisesRegex(kiln.BadArgument, says):
                model(bad)
        for bad in (x, x), (), ([x],):
            with self.assertRaises(kiln.BadArgument):
                model(*bad)

    def test_sizes(self):
        net = Net().eval()
        for options, taken, refused in [
                ({"dynamic": True}, [(1, 12, 12), (5, 9, 30)], []),
                ({"dynamic": ({0: torch.export.Dim("n", min=1, max=8)},)}, [(1, 12, 12), (8, 12, 12)], [(9, 12, 12), (2, 13, 12)])]:
            model = kiln.compile(net, torch.randn(2, 3, 12, 12), **options)
            for n, h, w in taken:
                self.agrees(model, net, torch.randn(n, 3, h, w))
            for n, h, w in refused:
                with self.assertRaises(kiln.SizeMismatch):
                    model(torch.randn(n, 3, h, w))
        power = kiln.compile(lambda x, n: x ** n + n, (torch.randn(4, 2), 3), dynamic=True)
        for n in 3, 2, 5:
            self.agrees(power, lambda x, n: x ** n + n, torch.randn(4, 2), n)
        one = kiln.compile(net, torch.randn(1, 3, 12, 12), dynamic=True)       # the example has a size of 1
        self.agrees(one, net, torch.randn(4, 3, 12, 12))
        several = kiln.compile(net, [(torch.randn(2, 3, 12, 12),), {"x": torch.randn(4, 3, 12, 12)}])
        self.agrees(several, net, torch.randn(7, 3, 12, 12))
        with self.assertRaises(kiln.SizeMismatch):
            several(torch.randn(2, 3, 13, 12))
        with self.assertRaisesRegex(kiln.BadArgument, "several structures"):
            kiln.compile(net, [(torch.randn(2, 3, 12, 12),), (torch.randn(3, 12, 12),)])

    def test_fixed_sizes(self):
        """A size requested as dynamic that torch.export fixes is named in a warning, with the model's line. No other size is."""
        from kiln import capture
        auto, x = torch.export.Dim.AUTO, torch.ones(6, 4)

        class Fixes(nn.Module):
            def forward(self, x, d, n=3):
                if d["k"].shape[0] == 4:               # the line that fixes dim 0
                    x = x + 1
                return nn.functional.linear(x, torch.ones(2, 4)) * (2 if n == 3 else n), d["k"] * 2

        def said(module, calls, dynamic):
            with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.assertEqual(capture.capture(module.eval(), calls, dynamic, folder).how, "torch.export")
            return [str(w.message) for w in caught]
        k = r"argument 'd.k': the size of dim 0 is fixed to 4 by torch.export at .*modules.py:\d+ \(if d\[.*# the line that fixes"
        n = r"argument 'n' is fixed to 3 by torch.export at .*modules.py:\d+ \(return nn.functional.*other values are refused"
        channels = r"argument 'x': the size of dim 1 is fixed to 4 by torch.export at .*modules.py:\d+ \(return nn.functional"
        one, more = ((x, {"k": x[:4]}, 3), {}), ((x[:2], {"k": x[:5]}, 4), {})
        for calls, dynamic, wanted in (
                ([one], True, [k]), ([one, more], None, [k, n]), ([one], False, []), ([one, one], None, []),
                ([one], {"x": {1: auto}, "d": {"k": None}, "n": None}, [channels]),
                ([((x[:1], {"k": x[:1]}, 1), {}), more], None, [])):
            got = said(Fixes(), calls, dynamic)
            self.assertEqual(len(got), len(wanted), got)
            for text, pattern in zip(got, wanted):
                self.assertRegex(text, pattern)

        class Holds(nn.Module):                        # has an argument that only Python knows
            def forward(self, d):
                return d.x * (2 if d.x.shape[0] == 6 else 3)
        Part = type("Part", (), {})
        part = Part()
        part.x = x
        [text] = said(Holds(), [((part,), {})], True)
        self.assertRegex(text, r"argument 'd.x': the size of dim 0 is fixed to 6 by torch.export at .*modules.py:\d+ \(return d.x")

    def test_defaults(self):
        """A keyword argument may be left out or given as its default, whichever of both the examples do."""
        class Scaled(nn.Module):
            def forward(self, x, a=None, *, scale=2.0):
                return x * scale if a is None else x * scale + a
        net, x = Scaled().eval(), torch.randn(3)
        for examples in x, {"x": x, "scale": 2.0}, {"x": x, "a": None}, [(x,), {"x": x, "scale": 2.0}]:
            model = kiln.compile(net, examples)
            for kwargs in {}, {"scale": 2.0}, {"a": None}, {"a": None, "scale": 2.0}:
                self.agrees(model, net, x, **kwargs)
        with self.assertRaisesRegex(kiln.BadArgument, "'scale' is 3.0: the model was compiled for 2.0"):
            model(x, scale=3.0)
        with self.assertRaisesRegex(kiln.BadArgument, r"'scale' is not its default, 2.0: the examples left it out"):
            kiln.compile(net, x)(x, scale=3.0)

    def test_structures(self):
        x, ys = torch.randn(2, 3), [torch.ones(2), torch.zeros(1)]
        for args, kwargs in [((x, ys), {}), ((x, ys, 5), {}), ((x, ys), {"scale": torch.tensor(2.0)}),
                             ((x, ys), {"flag": 2, "table": {"k": x, "j": ys[0]}})]:
            model = kiln.compile(Mixed().eval(), [(dict(zip(("x", "ys", "flag"), args), **kwargs))])
            self.agrees(model, Mixed(), *args, **kwargs)
            again = pickle.loads(pickle.dumps(model))
            self.agrees(again, Mixed(), *args, **kwargs)
        self.same(model(x, ys, flag=2, table={"j": ys[0], "k": x})["j.b"], 2 * ys[0])         # keywords in any order
        with self.assertRaisesRegex(kiln.BadArgument, r"were called as \(x=_, ys=\[_, _\], flag=_, table=\{'k': _, 'j': _\}\); this is"):
            model(x, ys)
        with self.assertRaisesRegex(kiln.BadArgument, "'flag' is 3: the model was compiled for 2"):
            model(x, ys, 3, table={"k": x, "j": ys[0]})
        with self.assertRaisesRegex(kiln.BadArgument, "unexpected keyword argument 'nix'"):
            model(x, ys, nix=3)
        model = kiln.compile(lambda x, by: x.sum(tuple(range(x.ndim))) / by, (x, 0.0))
        self.same(model(x, 0.0), torch.tensor(float("nan")) if x.sum() == 0 else x.sum() / 0.0)
        with self.assertRaisesRegex(kiln.BadArgument, "'by' is -0.0: the model was compiled for 0.0"):
            model(x, -0.0)
        for wrong in x[None], x.numpy()[None]:                 # the number of dimensions is fixed by the example
            with self.assertRaisesRegex(kiln.SizeMismatch, "'x' has %d dimensions: the model was compiled for" % wrong.ndim):
                model(wrong, 0.0)

    def test_keys(self):
        """Dicts with int keys, string keys or both, and empty ones."""
        x = torch.ones(2)
        for f in lambda x: {1: x, 0: x * 2}, lambda x: {"a.b": x, "": x * 2}, lambda x: {1: x, "b": [x * 2, {"c": 3}]}, lambda x: {"n": None}:
            self.agrees(kiln.compile(f, x), f, x)

    def test_no_parts(self):
        """Empty structures, alone and among others. torch.export saves no module whose result is ()."""
        x = torch.ones(2)
        class Nothing(torch.nn.Module):
            def forward(self, x): return ()
        class Parts(torch.nn.Module):
            def forward(self, x): return (), [x, ()], {}
        for module, want in (Nothing(), ()), (Parts(), ((), [x, ()], {})):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.assertEqual(str(kiln.compile(module, x)(x)), str(want))

    def test_dataclass(self):
        """A dataclass registered with torch.export, with a field that is None, as argument and as result."""
        torch.export.register_dataclass(Data, serialized_type_name="test.Data")
        def f(d): return Data(d.x * d.n, 3), d.x + 1
        model = kiln.compile(f, Data(torch.ones(2)))
        got, more = model(Data(torch.full((2,), 4.)))
        self.assertEqual((got.n, got.none, got.x.tolist(), more.tolist()), (3, None, [8, 8], [5, 5]))

    def test_objects(self):
        """Objects with tensors in their attributes, which pytree does not know, as results and as arguments."""
        class Layer:
            def __init__(self, keys):
                self.keys, self.length, self.name = keys, keys.shape[0], "layer"

        class Cache:
            def __init__(self):
                self.layers, self.open = [], True

        class Steps(nn.Module):
            def forward(self, x, cache=None):
                made = Cache()
                for i in range(2):
                    made.layers.append(Layer(x * (i + 1) if cache is None else torch.cat([cache.layers[i].keys, x])))
                return {"y": x.sum(), "cache": made, "pair": Pair(x, None)}

        def same(got, want):
            self.assertEqual((list(got), type(got["pair"]), type(got["cache"]), got["cache"].open), (list(want), Pair, Cache, True))
            for a, b in zip(got["cache"].layers, want["cache"].layers):
                self.assertEqual((type(a), a.length, a.name), (Layer, b.length, "layer"))
                self.same(a.keys, b.keys)
            self.same(got["y"], want["y"])
        steps, x, y = Steps().eval(), torch.randn(3, 2), torch.randn(5, 2)
        first = kiln.compile(steps, x, dynamic=True)
        same(first(y), steps(y))
        then = kiln.compile(steps, (x, steps(y)["cache"]), dynamic=True)
        for one in then, then.copy():
            same(one(y, first(x)["cache"]), steps(y, steps(x)["cache"]))
        with self.assertRaisesRegex(kiln.BadArgument, "the examples were called as"):
            then(x, None)
        with self.assertRaisesRegex(kiln.BadArgument, "'cache.layers.0.keys' is float64"):
            then(x, steps(y.double())["cache"])

    def test_functions(self):
        """Functions, with the modules that they refer to; methods; exported programs and scripted modules."""
        net = Net().eval()

        def scaled(x, by):
            return net(x) * by, by

        def branch(x):
            if x.sum() > 0:
                return x + 1
            return x - 1
        x = torch.randn(2, 3, 12, 12)
        self.agrees(kiln.compile(scaled, (x, torch.tensor(2.0))), scaled, x, torch.tensor(3.0))
        self.agrees(kiln.compile(net.forward, x), net, x)
        self.agrees(kiln.compile(torch.export.export(net, (x,))), net, x)
        with self.assertWarnsRegex(UserWarning, "torch.export refuses it.*comes from torch.jit.script"):
            model = kiln.compile(branch, torch.ones(3))
        self.assertEqual(model.source, "torch.jit.script")
        for v in torch.ones(3), -torch.ones(3), torch.ones(5):
            self.agrees(model, branch, v)
        self.agrees(quietly(kiln.compile, quietly(torch.jit.script, net), x), net, x)
        with self.assertRaisesRegex(kiln.BadArgument, "example_inputs are wanted"):
            kiln.compile(net)
        with self.assertRaisesRegex(kiln.BadOption, "threads"):
            kiln.compile(net, x, threads="2")
        with self.assertRaisesRegex(TypeError, "is compiled"):
            kiln.compile(model, x)
        with torch.autocast("cpu"), self.assertWarnsRegex(UserWarning, "autocast is on"):
            self.assertEqual(kiln.compile(nn.Linear(2, 2).eval(), torch.ones(2, 2))(torch.ones(2, 2)).dtype, torch.float32)

    def test_refused(self):
        """Code that neither export nor script accepts is an error with both reasons and lines. It is traced only on request."""
        class Checked(nn.Module):
            def forward(self, x):
                n = int(x.sum())                                        # line of export
                torch._check(n > 0, lambda: "the sum is positive")      # line of script
                return torch.sqrt(x) * n
        net, x = Checked().eval(), torch.ones(4)
        for dynamic in False, True, {"x": {0: torch.export.Dim.AUTO}}:
            with self.assertRaises(kiln.CompileError) as raised:
                kiln.compile(net, x, dynamic=dynamic)
            export, script, hint = str(raised.exception).splitlines()
            self.assertRegex(export, r"^torch.export refuses it at .*modules.py:\d+ \(n = int\(x.sum\(\)\) .*\): "
                                     r"GuardOnDataDependentSymNode: ")
            self.assertRegex(script, r"^torch.jit.script refuses it at .*modules.py:\d+ \(torch._check\(.*: UnsupportedNodeError: Lambda")
            self.assertIn("trace=True", hint)
        for one in kiln.bench, kiln.check:
            with self.assertRaisesRegex(kiln.CompileError, "trace=True"):
                one(net, x)
        model = quietly(kiln.compile, net, x, trace=True)
        self.assertEqual(model.source, "torch.jit.trace")
        self.agrees(model, net, x)
        self.assertTrue(model(-x).isnan().all())                        # the trace has no check
        self.assertEqual(quietly(kiln.check, net, x, trace=True)[0]["answer"], "same")
        jitted = kiln.jit(net, calls=1)
        with self.assertWarnsRegex(UserWarning, "runs without Kiln: torch.export refuses it at"):
            self.agrees(jitted, net, x)
        self.assertRaises(RuntimeError, jitted, -x)
        for wrong, how in ((net, {"dynamic": True}), (quietly(torch.jit.script, Net().eval()), {}), ("m.pt", {}),
                           (torch.export.export(nn.Linear(4, 2), (x,)), {})):
            with self.assertRaisesRegex((kiln.BadOption, kiln.CompileError), "trace=True goes|trace=True wants|No such file"):
                quietly(kiln.compile, wrong, x, trace=True, **how)

    def test_checks(self):
        """A module's own checks run in its program, both through export and through script."""
        class Checked(nn.Module):
            def forward(self, x):
                n = x.sum().to(torch.int64).item()
                torch._check(n > 0)
                return torch.sqrt(x) * n
        x = torch.ones(4)
        for net in Checked().eval(), quietly(torch.jit.script, Checked().eval()):
            model = quietly(kiln.compile, net, x)
            self.agrees(model, net, 2 * x)
            self.assertRaises(kiln.ModelRaised, model, -x)

    def test_dtypes(self):
        for dtype in torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool, torch.complex64:
            x = torch.ones(3, 2).to(dtype)
            model = kiln.compile(lambda x: (x.clone(), x.sum(), x.t(), x[0:0]), x)
            self.agrees(model, lambda x: (x.clone(), x.sum(), x.t(), x[0:0]), x)
        x = torch.view_as_complex(torch.randn(3, 2))
        self.agrees(kiln.compile(lambda x: x * 2, x), lambda x: x * 2, x.conj())
        def both(x, *, n=2): return x * n, x + 1
        model = kiln.compile(both, {"x": x.real, "n": 2})
        for one in x.conj().imag, nn.Parameter(x.real, False), torch.randn(6)[::2], torch.ones(1).expand(3):    # lazy views and strides
            self.agrees(model, both, one)
            self.agrees(model, both, n=2, x=one)
        self.assertRaises(kiln.BadArgument, model, x.real, 2)
        self.agrees(kiln.compile(torch.relu, torch.ones(2, 2)), torch.relu, -torch.ones(2, 2))
        with self.assertRaisesRegex(kiln.Unsupported, "bfloat16"):
            kiln.compile(lambda x: x.bfloat16(), torch.ones(2))(np.ones(2, np.float32))

    def test_state(self):
        class Counts(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("n", torch.zeros(2))

            def forward(self, x):
                self.n += x
                return self.n * 1
        module, x = Counts(), torch.ones(2)
        model = kiln.compile(module.eval(), x)
        self.same([model(x), model(x)], [x, 2 * x])
        self.same(model.state("n"), 2 * x)
        self.same(model.copy()(x), x)
        self.same(module.n, torch.zeros(2))                    # the instance has state of its own

    def test_training(self):
        net, x = Net().train(), torch.randn(2, 3, 12, 12)
        with self.assertWarnsRegex(UserWarning, "training mode"):
            kiln.compile(net, x)
        learned = nn.Linear(3, 2)
        model = kiln.compile(learned.eval(), torch.ones(1, 3))
        with self.assertWarnsRegex(UserWarning, "requires a gradient"):
            self.assertFalse(model(torch.ones(1, 3, requires_grad=True)).requires_grad)

    def test_arguments_are_read_in_place(self):
        x = torch.zeros(3, 2)
        model = kiln.compile(lambda x: x.add_(1).sum(), x.clone())
        turned = torch.zeros(2, 3).t()
        for t in x, turned:
            self.same([model(t), model(t)], [torch.tensor(6.0), torch.tensor(12.0)])
            self.same(t, torch.full((3, 2), 2.0) if t is x else torch.full((2, 3), 2.0).t())

    def test_kept(self):
        """A module is not built again for examples with other numbers."""
        net, x = Net().eval(), torch.randn(2, 3, 12, 12)
        first = kiln.compile(net, x)
        self.assertEqual(kiln.compile(net, torch.randn(2, 3, 12, 12)).library, first.library)
        net.head.weight.data.add_(1)
        second = kiln.compile(net, x)
        self.assertNotEqual(second.library, first.library)
        self.agrees(second, net, x)

    def test_results_are_pytorchs(self):
        """Results stay valid after the model is deleted, in other threads too."""
        model = kiln.compile(lambda x: (x * 2, x.t()), torch.ones(64, 64))
        kept = [model(torch.full((64, 64), float(i))) for i in range(20)]
        del model
        for i, (a, b) in enumerate(kept):
            self.same([a, b], [torch.full((64, 64), 2.0 * i), torch.full((64, 64), float(i))])
        t = threading.Thread(target=kept.clear)
        t.start()
        t.join()

    def test_check(self):
        self.assertEqual(kiln.check(Net().eval(), torch.randn(2, 3, 12, 12))[0]["answer"], "same")


class Scripted(Test):
    """Functions that an older PyTorch also supports."""

    def test_module(self):
        net, x = Net().eval(), torch.randn(2, 3, 12, 12)
        model = quietly(kiln.compile, quietly(torch.jit.script, net), x)
        self.agrees(model, net, x)
        self.agrees(model, net, torch.randn(4, 3, 15, 12))
        self.assertIsInstance(model(x.numpy()), np.ndarray)
        if not EXPORTS:
            with self.assertWarnsRegex(UserWarning, "comes from torch.jit.script"):
                self.agrees(kiln.compile(net, x), net, x)

    def test_pickle(self):
        x = torch.randn(2, 3, 12, 12)
        model = quietly(kiln.compile, quietly(torch.jit.script, Net().eval()), x)
        self.same(pickle.loads(pickle.dumps(model))(x), model(x))


@unittest.skipUnless(EXPORTS, "torch.export of PyTorch 2.5 is missing: this is %s" % torch.__version__)
class Jit(Test):
    def test_swaps_in(self):
        calls = []

        @kiln.jit
        def f(x, y=2):
            calls.append(1)
            return torch.relu(x) * y
        x = torch.randn(4, 3)
        for _ in range(2):
            self.agrees(f, lambda x: torch.relu(x) * 2, x)
        f.wait()
        before = len(calls)                                    # these calls and those of torch.export
        for _ in range(3):
            self.agrees(f, lambda x: torch.relu(x) * 2, x)
        self.assertEqual(len(calls), before)
        self.assertEqual(f.__name__, "f")
        self.agrees(f, lambda x, y: torch.relu(x) * y, x, 3)   # other structure
        self.assertEqual(len(calls), before + 1)

    def test_sizes(self):
        """A call with new sizes runs without Kiln, then code for them is built. Earlier sizes still work."""
        calls = []

        @kiln.jit(calls=1)
        def f(x):
            calls.append(1)
            return x.cumsum(0)
        for n in 4, 5, 6:
            f(torch.ones(n, 2))
            f.wait()
        before = len(calls)
        for n in 4, 5, 6, 7:
            self.same(f(torch.ones(n, 2)), torch.ones(n, 2).cumsum(0))
        self.assertEqual(len(calls), before)

    def test_gradients(self):
        @kiln.jit(calls=1)
        def f(x):
            return x * 2
        x = torch.ones(2, requires_grad=True)
        with self.assertWarnsRegex(UserWarning, "gradients are needed"):
            self.assertTrue(f(x).requires_grad)
        self.assertTrue(f(x).requires_grad)                    # one warning

    def test_refused(self):
        @kiln.jit(calls=1)
        def f(x):
            return torch.from_numpy(np.sort(x.numpy()))
        with self.assertWarnsRegex(UserWarning, "f runs without Kiln"):
            f(torch.ones(3))
        self.same(f(torch.tensor([2.0, 1.0])), torch.tensor([1.0, 2.0]))

    def test_methods(self):
        class Scale:
            def __init__(self, by):
                self.by = by

            @kiln.jit(calls=1)
            def f(self, x):
                return x * self.by
        for one in Scale(2), Scale(3):
            for _ in range(3):
                self.same(one.f(torch.ones(2)), torch.full((2,), float(one.by)))
                one.f.wait()

    def settled(self, function, *args):
        """A function of kiln.jit, after the calls that make it compile."""
        made = kiln.jit(function, calls=1)
        with torch.no_grad():
            made(*args)
        made.wait()
        return made

    def test_module_changes(self):
        """A call uses the current weights and mode of the module, or of a module that the function refers to."""
        norm = nn.BatchNorm1d(3).eval()
        x = torch.randn(4, 3)
        for function in norm, norm.forward, lambda x: norm(x) + 1:
            norm.eval()
            made = self.settled(function, x)
            with torch.no_grad():
                norm.weight.mul_(2)
                self.agrees(made, function, x)
                norm.weight.data = torch.tensor([1., 5., 3.])
                self.agrees(made, function, x)
                made.wait()
                norm.train()
                for _ in range(3):                             # the statistics change with each call
                    before = norm.running_mean.clone()
                    want = 0.9 * before + 0.1 * x.mean(0)
                    quietly(made, x)
                    made.wait()
                    self.same(norm.running_mean, want)
            self.assertTrue(quietly(made, x).requires_grad)    # outside of no_grad

    def test_many_changes(self):
        """A function that changes too often is no longer compiled."""
        net, x = nn.Linear(3, 2).requires_grad_(False), torch.ones(1, 3)
        made = kiln.jit(net, calls=1)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(10):
                self.agrees(made, net, x)
                made.wait()
                net.weight.mul_(1.1)
        self.assertEqual(["changed 8 times" in str(w.message) for w in said], [True])

    def test_shared_results(self):
        """At each call, results share memory with arguments, weights or each other as in PyTorch."""
        def grown(x):
            y = x * 2
            return y, y[0]
        with self.assertWarnsRegex(UserWarning, "share memory"):
            view = self.settled(torch.t, torch.ones(2, 3))
        x = torch.ones(2, 3)
        view(x).add_(1)
        self.same(x, torch.full((2, 3), 2.))
        y, row = quietly(self.settled, grown, x)(x)
        y.add_(1)
        self.same(row, y[0])

    def test_constants(self):
        """The sign of a zero is part of an argument's value. Arguments in other layouts run without Kiln."""
        f = self.settled(lambda x, by: x / by, torch.ones(2), 0.0)
        for by in 0.0, -0.0, 0, 2.0:
            self.assertEqual(str(f(torch.ones(2), by)), str(torch.ones(2) / by))
        double = self.settled(lambda x: x * 2, torch.ones(2, 2))
        self.same(quietly(double, torch.eye(2).to_sparse()).to_dense(), 2 * torch.eye(2))


@unittest.skipUnless(EXPORTS, "torch.compile of PyTorch 2.5 is missing: this is %s" % torch.__version__)
class Backend(Test):
    def setUp(self):
        from kiln import dynamo
        torch._dynamo.reset()
        self.dynamo, self.graphs = dynamo, []
        kiln.errors._said.clear()

        def backend(graph, example_inputs):
            self.graphs.append(dynamo.backend(graph, example_inputs, options={"threads": 1}))
            return self.graphs[-1]
        self.backend = backend

    def compiled(self, function, **options):
        return torch.compile(function, backend=self.backend, **options)

    def ran(self):
        """The number of compiled versions of each graph. Checks that every graph was compiled."""
        self.assertFalse([g for g in self.graphs if g.failed])
        return [len(g.codes) for g in self.graphs]

    def test_net(self):
        net = Net().eval()
        model = self.compiled(net)
        for n in 2, 3, 7, 9:
            self.agrees(model, net, torch.randn(n, 3, 12, 12))
        self.assertEqual(self.ran(), [1, 1])                   # the second graph has the batch as a symbol
        with torch.inference_mode():
            self.same(model(torch.ones(2, 3, 12, 12)), net(torch.ones(2, 3, 12, 12)))

    def test_constants(self):
        """Buffers are constants even if the model writes to other tensors: a norm is folded into its convolution's weights."""
        net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU6(inplace=True)).eval()
        model, x = self.compiled(net), torch.randn(2, 3, 12, 12)
        self.agrees(model, net, x)
        [code] = self.graphs[0].codes
        self.assertEqual([s["kernels"] for s in code.model.built["specializations"]],
                         [s["kernels"] for s in kiln.compile(net, x).built["specializations"]])
        self.assertEqual(len(code.inputs), 1)

    def test_weights_change(self):
        net, x = Net().eval(), torch.randn(2, 3, 12, 12)
        model = self.compiled(net)
        self.agrees(model, net, x)
        with torch.no_grad():
            net.head.weight.mul_(2)
        self.agrees(model, net, x)
        net.load_state_dict(Net().state_dict())
        self.agrees(model, net, x)
        self.assertEqual(self.ran(), [3])
        for _ in range(10):
            with torch.no_grad():
                net.head.weight.mul_(1.1)
            quietly(self.agrees, model, net, x)                # runs without Kiln in the end
        self.assertTrue(self.graphs[0].failed)

    def test_writes(self):
        """The caller sees the model's writes to arguments and buffers."""
        norm, other = nn.BatchNorm1d(4), nn.BatchNorm1d(4)
        model = self.compiled(norm)
        for _ in range(3):
            x = torch.randn(5, 4)
            self.agrees(model, other, x)
            self.same(dict(norm.named_buffers()), dict(other.named_buffers()))

        def f(x, n):
            y = x * n
            y[0] = 1
            return y.sum(), x.add_(1)
        x, want = torch.ones(3), torch.ones(3)
        model = self.compiled(f)
        for n in 2, 3, 4:
            self.agrees(lambda n: model(x, n), lambda n: f(want, n), n)
            self.same(x, want)
        self.ran()

    def test_counted_writes(self):
        """A write by one graph is seen by graphs that hold the tensor as a constant, also a write through a part of a buffer."""
        norm, x = nn.BatchNorm1d(3), torch.randn(5, 3)
        model = self.compiled(norm)
        for training in True, False, True, False:
            norm.train(training)
            other = nn.BatchNorm1d(3).train(training)
            other.load_state_dict(norm.state_dict())
            self.agrees(model, other, x)

        class Parts(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("kept", torch.zeros(4))

            def forward(self, x):
                self.kept.chunk(2)[0].add_(x)
                return self.kept * 1
        parts = Parts()
        model = self.compiled(parts)
        for n in 1., 2.:
            self.same(model(torch.ones(2)), torch.tensor([n, n, 0, 0]))
            self.same(parts.kept, torch.tensor([n, n, 0, 0]))
        x = torch.ones(3, requires_grad=True)
        y = x * 1
        saved = y.exp()
        with torch.no_grad():
            kiln.compile(lambda x: x.add_(1), torch.ones(3))(saved)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            saved.sum().backward()

    def test_shared_results(self):
        """Results share memory with arguments and each other as in PyTorch, also if a size is a symbol."""
        def views(x):
            y = x * 2
            return x[:, 1:].t(), y, y.view(-1), y[1:], x.add_(1).view(-1)

        def used(f, x):
            made = f(x)
            for t in made:
                t.mul_(3)
            return [t.clone() for t in made], x
        model = self.compiled(views, dynamic=True)
        for shape in (3, 4), (5, 3), (4, 7):
            x = torch.randn(9, 9)[1:1 + shape[0], :shape[1]].contiguous()
            want = used(views, x.clone())
            self.same(used(model, x), want)
        self.ran()
        model = self.compiled(lambda x: (x.conj(), x * 2))
        x = torch.ones(2, dtype=torch.complex64)
        quietly(model, x)[0].mul_(2j)
        self.same(x, torch.full((2,), -2j))

    def test_autocast(self):
        """Calls under autocast are left to PyTorch, by both functions."""
        net, x = nn.Linear(3, 2), torch.ones(1, 3)
        made = kiln.jit(net.forward, calls=1)
        with torch.no_grad():
            made(x)
        made.wait()
        for model in self.compiled(net), made:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                quietly(self.agrees, model, net, x)
            self.agrees(model, net, x)

    def test_new_memory(self):
        """Weights whose memory was replaced, and numbers: 0.0 differs from -0.0."""
        net = nn.Linear(3, 2)
        model, x = self.compiled(net), torch.ones(1, 3)
        self.agrees(model, net, x)
        net.weight.data = net.weight.data * 2
        self.agrees(model, net, x)
        divide = lambda x, by: x / by
        model = self.compiled(divide)
        for by in 0.5, 1.5, 0.0, -0.0:
            self.agrees(model, divide, x, by)
        self.ran()

    def test_numbers(self):
        def f(x, n, s):
            return x * n + s, x.shape[0] * n
        model = self.compiled(f, dynamic=True)
        for rows, n, s in (4, 2, 0.5), (5, 3, 0.5), (6, 3, 1.5):
            self.agrees(model, f, torch.randn(rows, 2), n, s)
        self.ran()

    def test_gradients(self):
        net, x = Net().eval(), torch.randn(2, 3, 12, 12)
        model = self.compiled(net)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for n in 2, 3:
                self.assertTrue(model(x[:, :, :, :12 - n]).requires_grad)
        self.assertEqual(len([w for w in said if "needs gradients" in str(w.message)]), 1)

    def test_random(self):
        """Random draws are left to PyTorch's generator."""
        model = self.compiled(lambda x: nn.functional.dropout(x, 0.5) + 1)
        with torch.no_grad(), self.assertWarnsRegex(UserWarning, "draws random numbers"):
            torch.manual_seed(3)
            got = model(torch.ones(50))
        torch.manual_seed(3)
        self.same(got, nn.functional.dropout(torch.ones(50), 0.5) + 1)

    def test_breaks(self):
        """A graph for each part between statements that PyTorch's compiler cannot follow."""
        def f(x):
            y = torch.sin(x)
            if y.sum() > 0:
                return y * 2, {"k": [y]}
            return y * 3, {"k": [x]}
        model = self.compiled(f)
        for x in torch.ones(3), -torch.ones(3):
            self.agrees(model, f, x)
        self.assertGreaterEqual(len(self.ran()), 2)

    def test_heads(self):
        """Attention with a mask, embeddings, tied weights, a cache as argument and result."""
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.attend, self.norm = nn.Embedding(50, 16), nn.MultiheadAttention(16, 4, batch_first=True), nn.LayerNorm(16)

            def forward(self, ids, cache):
                x = torch.cat([cache, self.embed(ids)], 1)
                y, _ = self.attend(x, x, x, need_weights=False)
                return self.norm(y[:, -ids.shape[1]:]) @ self.embed.weight.t(), x
        block = Block().eval()
        model = self.compiled(block, dynamic=True)
        for n, past in (4, 3), (2, 7), (5, 2):
            self.agrees(model, block, torch.randint(0, 50, (2, n)), torch.randn(2, past, 16))
        self.ran()


if __name__ == "__main__":
    unittest.main()
