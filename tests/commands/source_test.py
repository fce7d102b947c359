"""A plain TorchScript source (model.py) in place of an archive: run, build, profile, check, bisect, info, ops, save. Operators
that Kiln lacks are all listed in one message.

usage: source_test.py KILN
"""
import json, os, struct, sys, unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
os.environ["CFLAGS"] = os.environ.get("CFLAGS") or "-Og"      # faster than -O0, which compiles all unused blocks
import hostile
from hostile import KILN, Test, call, model, npy, npz

SOURCE = b"""from typing import Optional
class Acc:
    def __init__(self, n: int):
        self.n = n
    def add(self, k: int):
        self.n += k
        return self.n
def helper(x: Tensor, k: int = 2, *, by: float = 1.0):
    return torch.relu(x * k) * by
def forward(x: Tensor, s: Optional[int] = None):
    a = Acc(3)
    if s is not None:
        a.add(s)
        assert a.n < 50, "too much"
    return helper(x, a.n) + 1
"""

LACKING = """  def forward(self: __torch__.M, x: Tensor) -> Tensor:
    a = ops.mine.first(x, 1)
    b = torch.nosuch(a, x)
    c = ops.mine.first(b, 2)
    if torch.gt(torch.item(torch.sum(x)), 0):
      d = ops.mine.second(c)
    else:
      d = (self).other(c, )
    return torch.relu(ops.aten.third(torch.add(d, x)))
  def other(self: __torch__.M, x: Tensor) -> Tensor:
    return torch.sofmax(x, 1)
"""

# y = x * x in a subgraph of PyTorch's executor, with its captured values
GRAPH = b"""graph(%x.1 : Float(2, 3, strides=[3, 1], requires_grad=1, device=cpu)):
  %y.1 : Float(2, 3, strides=[3, 1], requires_grad=1, device=cpu), %1 : bool = prim::RequiresGradCheck[types=[Tensor(requires_grad=1)]](%x.1)
  %r : Tensor = prim::If(%1)
    block0():
      %2 : Tensor = prim::DifferentiableGraph_0(%y.1)
      -> (%2)
    block1():
      %3 : Function = prim::Constant[name="fallback_function", fallback=1]()
      %4 : (Tensor) = prim::CallFunction(%3, %x.1)
      %5 : Tensor = prim::TupleUnpack(%4)
      -> (%5)
  return (%r)
with prim::DifferentiableGraph_0 = graph(%x : Tensor):
  %1 : Tensor = aten::mul(%x, %x)
  %2 : int[] = aten::size(%1)
  return (%1, %2)
"""

TCC = [] if "sanitize" in os.environ.get("CFLAGS", "") else ["--cc", "tcc"]        # tcc links no sanitizers
UNSET = b"""def forward(x: Tensor) -> Tensor:
    s = uninitialized(List[Tensor])
    d = uninitialized(Dict[str, int])
    p = uninitialized(Tuple[str, Tensor])
    c = uninitialized(complex)
    n = uninitialized(int)
    print(len(s), len(d), len(p[0] + "a"), torch.relu(p[1]), n + 1, c)
    return torch.relu(uninitialized(Tensor))
"""

# each of these declares a wrong type, or a type of another interface's method
LIES = (("v = unchecked_cast(Future[str], annotate(Any, torch.jit.fork(number, x)))", "torch.jit.wait(v) + 'a'", "expected a str, but got a value of type int"),
        ("v = uninitialized(Future[str])", "torch.jit.wait(v) + 'a'", "expected a Future, but got a value of type NoneType"),
        ("v = unchecked_cast(str, annotate(Optional[str], None))", "v + 'a'", "expected a str, but got a value of type NoneType"),
        ("v = unchecked_cast(List[Tensor], annotate(Optional[List[Tensor]], None))", "torch.cat(v)", "expected a List[Tensor], but got"),
        ("v = unchecked_cast(Dict[str, int], annotate(Optional[Dict[str, int]], None))", "v['a']", "expected a Dict[str, int], but got"),
        ("v = Unset(False)", "v.s + 'a'", "attribute 's' of __torch__.Unset is read before it is set"),
        ("v = unchecked_cast(Texts, annotate(Any, Counter()))", "v.go('a')", "'__torch__.Counter' object has no method 'go'"),
        ("v = {'a': x}.items()\n    u = unchecked_cast(List[Tuple[str, int]], annotate(Any, v))", "u[0][1] + 1", "expected a List[Tuple[str, int]], but got"),
        ("v = annotate(Dict[str, Tensor], {}).items()\n    u = unchecked_cast(List[Tuple[int, int]], annotate(Any, v))", "len(u)", "expected a List[Tuple[int, int]], but got"))
LIAR = """@torch.jit.interface
class Counts:
    def go(self, n: int) -> int: pass
@torch.jit.interface
class Texts:
    def go(self, s: str) -> Tensor: pass
class Counter:
    def __init__(self): self.n = 3
    def go(self, n: int) -> int: return n * self.n
class Unset:
    s : str
    def __init__(self, set: bool):
        if set:
            self.s = "a"
def number(x: Tensor) -> int:
    return 77777
def counted(c: Counts) -> int:
    return c.go(2)
def first(l: Optional[List[Tuple[str, Tensor]]], x: Tensor) -> Tensor:
    return x if l is None else l[0][1]
def forward(x: Tensor) -> Tensor:
    print(counted(Counter()), first({"a": x}.items(), x))
    %s
    if bool(torch.gt(torch.sum(x), 0)):
        print(%s)
    return torch.relu(x)
"""

# the class behind the interface is known when the key is known
KNOWN = b"""@torch.jit.interface
class Counts:
    def go(self, n: int) -> int: pass
class Counter:
    def __init__(self): self.n = 3
    def go(self, n: int) -> int: return n * self.n
def pick(key: str) -> Counts:
    c = Counter()
    if key == "a":
        return c
    raise RuntimeError("no " + key)
def forward(x: Tensor, key: str="a") -> Tensor:
    c: Counts = pick(key)
    return x * c.go(2)
"""


class Sources(Test):
    def setUp(self):
        super().setUp()
        x = npy([2, 3], data=struct.pack("<6f", -1, 0, 1, 2, 3, 4))
        self.put("model.py", SOURCE)
        self.put("a.npz", npz(x=x))
        self.put("b.npz", npz(x=x, s=npy([], "<i8", struct.pack("<q", 2))))
        self.put("bad.npz", npz(x=x, s=npy([], "<i8", struct.pack("<q", 90))))

    def says(self, *argv, status=0):
        rc, out, err = call([a if i or a.startswith(".") else KILN for i, a in enumerate(argv)], self.dir)
        self.assertEqual(rc, status, (argv, err))
        return (out + err).decode()

    def test_program(self):
        self.says("", "profile", "model.py", "-i", "a.npz", "-o", "f.prof")
        for more in ([], ["-i", "a.npz"], ["--profile", "f.prof"], ["-i", "a.npz", *TCC]):
            self.says("", "build", "model.py", "-o", "./p", *more)
            self.assertEqual(self.says("", "check", "model.py", "./p", "-i", "a.npz", "-i", "b.npz", "-i", "bad.npz").count("same"), 2)
            self.assertIn("model.py\", line 14, in forward", self.says("./p", "-i", "bad.npz", status=1))
        self.says("", "build", "model.py", "--method", "forward,helper", "-o", "./p")
        self.assertIn(" 0  0  2\n 4  6  8\n", self.says("./p", "--method", "helper", "-i", "a.npz"))
        self.assertIn("same", self.says("", "bisect", "model.py", "-i", "a.npz"))
        self.assertIn("cannot be opened", self.says("", "bisect", "nowhere.py", "-i", "a.npz", status=1))

    def test_save(self):
        want = self.says("", "run", "model.py", "-i", "b.npz")
        for level in ("-O0", "-O2"):
            self.says("", "save", "model.py", level, "-o", "m.pt")
            self.assertEqual(self.says("", "run", "m.pt", "-i", "b.npz"), want)
        self.assertIn("s                Optional[int] = None", self.says("", "info", "m.pt"))

    def test_info(self):
        said = self.says("", "info", "model.py")
        for part in ("TorchScript source", "helper\n", "k                int = 2", "by               float = 1."):
            self.assertIn(part, said)
        self.assertIn("aten::relu", self.says("", "ops", "model.py"))
        self.assertIn("did you mean helper?", self.says("", "run", "model.py", "--method", "hepler", "-i", "a.npz", status=1))

    def test_graph(self):
        self.put("model.ir", GRAPH)
        text = self.says("", "show", "model.ir")
        self.assertIn('prim::Constant[name="fallback_function", fallback=1]', text)
        self.put("again.ir", text.encode())
        self.assertEqual(self.says("", "show", "again.ir"), text)
        self.assertIn("  1   0   1\n  4   9  16\n", self.says("", "run", "model.ir", "-i", "a.npz"))
        for level in ("-O0", "-O2"):
            self.says("", "build", "model.ir", level, "-i", "a.npz", *TCC, "-o", "./p")
            self.assertIn("same", self.says("", "check", "model.ir", "./p", "-i", "a.npz"))
        self.assertIn("x:\n-2  0  2\n 4  6  8\n", self.says("", "run", "model.ir", "-i", "a.npz", "--grad", "x"))
        self.assertIn("a graph\nfunctions:\n  forward\n    x                Tensor    npz: x\n", self.says("", "info", "model.ir"))
        self.assertIn("aten::mul.Tensor", self.says("", "ops", "model.ir"))
        self.assertIn("kiln show --as python", self.says("", "save", "model.ir", "-o", "m.pt", status=2))
        self.assertIn("a graph's text is forward", self.says("", "run", "model.ir", "--method", "f", "-i", "a.npz", status=2))
        self.put("bad.ir", GRAPH[:300])
        self.assertIn("error", self.says("", "show", "bad.ir", status=1))

    def test_graph_that_lies(self):
        """Kernels rely on types, so a graph with a wrong type is refused."""
        for lines, why in (
            (['%1 : Tensor = prim::Constant[value="text"]()', "%2 : Tensor = aten::relu(%1)"], "of type str and not Tensor"),
            (["%1 : int = prim::Constant[value=7]()", "%2 : Tensor = aten::relu(%1)"], "no overload"),
            (["%1 : int = prim::Constant[value=7]()", "%l : Tensor[] = prim::ListConstruct(%1)", "%2 : Tensor = aten::cat(%l, %1)"],
             "input 0 of prim::ListConstruct is of type int"),
            (["%1 : Tensor = aten::dim(%x)", "%2 : Tensor = aten::relu(%1)"], "result 0 of aten::dim is of type int"),
            (["%1 : Tensor?  = prim::Constant()", "%2 : Tensor = aten::relu(%1)"], "no overload"),
            (["%t : bool = prim::Constant[value=1]()", "%1 : int = prim::Constant[value=7]()",
              "%2 : Tensor = prim::If(%t)", "block0():", "-> (%1)", "block1():", "-> (%x)"], "result 0 of prim::If is of type int"),
            (["%t : bool = prim::Constant[value=1]()", "%1 : int = prim::Constant[value=7]()",
              "%2 : Tensor = prim::Loop(%1, %t, %x)", "block0(%i : int, %c : Tensor):", "-> (%t, %i)"], "input 1 of"),
            (["%1 : int = prim::Constant[value=7]()", "%p : (Tensor, Tensor) = prim::TupleConstruct(%x, %1)",
              "%a : Tensor, %2 : Tensor = prim::TupleUnpack(%p)"], "input 1 of prim::TupleConstruct"),
            (['%2 : Tensor = prim::GetAttr[name="w"](%x)'], "wants an object"),
            (["%p : (Tensor, Tensor) = prim::TupleConstruct(%x, %x)", "%2 : Tensor, %a : Tensor = prim::TupleUnpack(%p)", "block0():",
              "%u : Tensor = prim::If(%x)", "-> (%x)"], "prim::TupleUnpack has no blocks"),
            (["%1 : int = prim::Constant[value=7]()", "%2 : str = prim::unchecked_cast(%1)"], "expected a str, but got a value of type int")):
            self.put("lies.ir", ("graph(%x : Tensor):\n  " + "\n  ".join(lines) + "\n  return (%2)\n").encode())
            self.assertIn(why, self.says("", "run", "lies.ir", "-i", "a.npz", status=1))

    def test_casts(self):
        """A type that a model claims for a value is checked before the value is used."""
        for line, why in (("unchecked_cast(str, annotate(Any, 99999))", "expected a str, but got a value of type int"),
                          ("unchecked_cast(List[str], annotate(Optional[List[str]], None))[0]", "expected a List[str], but got"),
                          ("unchecked_cast(Tuple[int, str], annotate(Any, (1, 2)))[1]", "expected a Tuple[int, str], but got")):
            self.put("cast.py", b"def forward(x: Tensor) -> str:\n    return %s + 'a'\n" % line.encode())
            self.assertIn(why, self.says("", "run", "cast.py", "-i", "a.npz", status=1))
        self.put("unset.py", b"def forward(x: Tensor) -> int:\n    return len(uninitialized(List[Tensor])) + len(uninitialized(str) + 'ab')\n")
        self.assertEqual(self.says("", "run", "unset.py", "-i", "a.npz"), "2\n")
        self.put("unset.py", UNSET)
        self.says("", "build", "unset.py", "-i", "a.npz", *TCC, "-o", "./p")
        self.assertIn("same", self.says("", "check", "unset.py", "./p", "-i", "a.npz"))

    def test_lies(self):
        """Likewise in programs, whose messages equal the interpreter's."""
        self.put("lies.py", (LIAR % ("v = x", "v")).encode())
        self.says("", "run", "lies.py", "-i", "a.npz")
        for line, use, why in LIES:
            self.put("lies.py", (LIAR % (line, use)).encode())
            self.assertIn(why, self.says("", "run", "lies.py", "-i", "a.npz", status=1))
            self.says("", "build", "lies.py", "-i", "a.npz", *TCC, "-o", "./p")
            self.assertIn(why, self.says("./p", "-i", "a.npz", status=1))

    def test_known_class(self):
        self.put("known.py", KNOWN)
        self.says("", "build", "known.py", "-i", "a.npz", *TCC, "-o", "./p")
        self.assertIn("same", self.says("", "check", "known.py", "./p", "-i", "a.npz"))

    def test_no_file(self):
        self.assertIn("/dev/null: is no regular file", self.says("", "run", "/dev/null", status=1))

    def test_lacking(self):
        self.put("m.pt", model(LACKING))
        said = self.says("", "ops", "m.pt", status=7)
        for line, op in ((7, "mine::first"), (9, "mine::first"), (8, "aten::nosuch"), (11, "mine::second"), (14, "aten::third"),
                         (16, "aten::sofmax")):
            self.assertRegex(said, rf"m.pt:code/__torch__.py:{line}:\d+: lacking: {op}\n")
        self.assertIn("aten::relu", said)
        self.assertIn('"name":"mine::first","state":"lacking","uses":2', self.says("", "ops", "m.pt", "--json", status=7))
        told = json.loads(self.says("", "info", "m.pt", "--json"))
        self.assertEqual([m["name"] for m in told["methods"]], ["forward", "other"])


if __name__ == "__main__":
    unittest.main()
