"""Build time is linear in the size of a model: four times the size needs about four times the processor time.

usage: scale_test.py KILN
       scale_test.py KILN FAMILY SIZE...      by hand: seconds for each size, written as C and run, at -O0 and -O2

Quadratic time would be sixteen times as long. The bound is eight: a model that no longer fits a cache costs more per node, once
(seconds may triple for twice the size although instructions double). A time over the bound is measured again before it fails.
"""
import os, resource, struct, subprocess, sys, unittest

KILN = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
from hostile import Test, archive, attrs, glob, npy, npz, pickled, tensor

SIZES, MOST, TRIES = (1000, 4000), 8, 3
X = npz(x=npy([4, 4], data=struct.pack("<16f", *[i / 16 - 0.5 for i in range(16)])))


def lines(*text, result="x"):
    return "def forward(x: Tensor) -> Tensor:\n" + "".join(f"    {line}\n" for line in text) + f"    return {result}\n"


def straight(n):
    return lines(*[f"x = torch.{('relu', 'tanh', 'neg', 'sigmoid')[i % 4]}(x)" for i in range(n)])


def constants(n):
    return lines(*[f"x = x * {1 + i * 1e-6!r} + {i * 1e-7!r}" for i in range(n)])


def branches(n):
    return lines(*[f"if float(x.sum()) > {i}.5:\n        x = x + {i}\n    else:\n        x = x - {i}" for i in range(n // 2)])


def nested(n):
    text = []
    for i in range(n // 2):
        text.append("  " * (i % 40) + f"if float(x.sum()) > {-i - 1}.5:")
        text.append("  " * (i % 40 + 1) + f"x = x + {i}")
    return lines(*text)


def functions(n):
    return "".join(f"def f{i}(x: Tensor) -> Tensor:\n    return torch.relu(x) + {i}\n" for i in range(n)) + \
        lines(*[f"x = f{i}(x)" for i in range(n)])


def calls(n):
    """All calls are on one line of the text, as for layers of one class."""
    return "def f(x: Tensor, y: Tensor) -> Tensor:\n    return torch.relu(x) + y\n" + lines(*["x = f(x, x)"] * n)


def fans(n):
    """All values are alive at the same time."""
    return lines(*[f"y{i} = torch.relu(x + {i})" for i in range(n)], *[f"x = x + y{i}" for i in range(n)])


def members(n):
    return lines("l = [" + ", ".join(f"x + {i}" for i in range(n)) + "]", result="torch.stack(l).sum(0)")


def writes(n):
    return lines("y = x.clone()", *[(f"y.add_({i})", f"y[0].mul_(1.0{i % 9})", f"y[:, 1] = {i}.")[i % 3] for i in range(n)], result="y")


def layers(n):
    """Makes an archive of n submodules of one class, with a parameter and a buffer each."""
    code = """class Layer(Module):
  __parameters__ = ["weight", ]
  __buffers__ = ["mean", ]
  training : bool
  weight : Tensor
  mean : Tensor
  def forward(self: __torch__.Layer, x: Tensor) -> Tensor:
    if self.training:
      _0 = torch.add_(self.mean, x)
    else:
      pass
    return torch.mul(torch.sub(x, self.mean), self.weight)
class M(Module):
  __parameters__ = []
  __buffers__ = []
""" + "".join(f'  __annotations__["{i}"] = __torch__.Layer\n' for i in range(n)) + \
        "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n" + \
        "".join(f'    x = (getattr(self, "{i}")).forward(x, )\n' for i in range(n)) + "    return x\n"
    w = tensor(16, [4, 4], [4, 1])
    layer = glob("__torch__", "Layer") + b")\x81" + attrs(training=b"\x89", weight=w, mean=w) + b"b"
    return archive({"data/0": bytes(64), "constants.pkl": pickled(b")"), "version": b"3\n", "code/__torch__.py": code.encode(),
                    "data.pkl": pickled(glob("__torch__", "M") + b")\x81" + attrs(**{str(i): layer for i in range(n)}) + b"b")})


FAMILIES = layers, straight, constants, branches, nested, functions, calls, fans, members, writes


class Scale(Test):
    def seconds(self, family, n, *command):
        """Returns the user and system seconds of Kiln itself."""
        model = family(n)
        name = f"{n}.py" if isinstance(model, str) else f"{n}.pt"
        self.put(name, model.encode() if isinstance(model, str) else model)
        self.put("x.npz", X)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        p = subprocess.run([KILN, *command[:1], name, "-i", "x.npz", *command[1:]], cwd=self.dir, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertEqual(p.returncode, 0, p.stderr[-2000:])
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def test_all(self):
        for family in FAMILIES:
            with self.subTest(family.__name__):
                best = [float("inf")] * len(SIZES)
                for _ in range(TRIES):
                    best = [min(b, self.seconds(family, n, "build", "-O2", "--emit", "c", "--name", "p", "-o", "c")) for b, n in zip(best, SIZES)]
                    if best[1] <= MOST * best[0]:
                        break
                self.assertLessEqual(best[1], MOST * best[0], best)


class Table(Scale):
    def test_all(self):
        for command in ("run", "-O0"), ("build", "-O0", "--emit", "c", "--name", "p", "-o", "c"), ("build", "-O2", "--emit", "c", "--name", "p", "-o", "c"):
            row = [f"{self.seconds(globals()[TABLE[0]], int(n), *command):8.2f}" for n in TABLE[1:]]
            print(f"{TABLE[0]:10} {' '.join(command[:2]):10}", *row, flush=True)


TABLE = sys.argv[1:]
if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], defaultTest="Table" if TABLE else "Scale")
