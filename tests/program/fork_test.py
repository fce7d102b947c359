"""fork and wait: forks in forks, a future in a list, futures passed to forks, awaitables, errors that are raised at wait, and a
task whose guard fails. Interpreted and compiled, on one, two and four threads.

usage: fork_test.py KILN
"""
import os, struct, sys, unittest

KILN = os.path.abspath(sys.argv[1])
os.environ["CFLAGS"] = os.environ.get("CFLAGS") or "-Og"      # cheaper than -O0, which compiles all unused blocks
import hostile, npz as arrays
from hostile import Test, call, model, npy, npz

HEAD = "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
LEAF = """  def leaf(self: __torch__.M, x: Tensor, n: int) -> Tensor:
    if torch.gt(torch.item(torch.sum(x)), 100):
      ops.prim.RaiseException("too much in leaf", "builtins.ValueError")
    y = torch.add(torch.mul(x, n), self.w)
    return y
"""
NODE = """  def node(self: __torch__.M, x: Tensor, n: int) -> Tensor:
    def a():
      return (self).leaf(x, n, )
    def b():
      return (self).leaf(x, torch.add(n, 1), )
    f = fork(a)
    g = fork(b)
    return torch.add(torch.wait(f), torch.wait(g))
"""
LIST = HEAD + """    fs = annotate(List[Future[Tensor]], [])
    for i in range(20):
      def body():
        return (self).node(x, i, )
      _0 = torch.append(fs, fork(body))
    y = torch.zeros_like(x)
    for j in range(torch.len(fs)):
      y = torch.add(y, torch.wait(fs[j]))
    return y
"""
CAUGHT = HEAD + """    def body():
      return (self).leaf(x, 1, )
    f = fork(body)
    g = fork(body)
    z = torch.add(x, 1)
    if torch.gt(torch.size(x, 0), 1):
      y = torch.add(torch.wait(f), torch.wait(f))
    else:
      y = z
    return y
"""
CHAIN = """  def slow(self: __torch__.M, x: Tensor) -> Tensor:
    y = x
    for _0 in range(3000):
      y = torch.add(y, 1)
    return y
  def after(self: __torch__.M, x: Tensor, f: Future[Tensor]) -> Tensor:
    return torch.add(x, torch.wait(f))
""" + HEAD + """    def a():
      return (self).slow(x, )
    f = fork(a)
    def b():
      return (self).after(x, f, )
    g = fork(b)
    def c():
      return (self).after(x, g, )
    h = fork(c)
    y = torch.wait(f)
    return torch.add(torch.wait(h), y)
"""
SHARED = CHAIN[:CHAIN.index(HEAD)] + """  def got(self: __torch__.M, x: Tensor, w: Await[Tensor]) -> Tensor:
    return torch.add(x, ops.prim.awaitable_wait(w))
""" + HEAD + """    def a():
      return (self).slow(x, )
    w = awaitable(a)
    def b():
      return (self).got(x, w, )
    f = fork(b)
    g = fork(b)
    y = torch.add(torch.wait(f), torch.wait(g))
    return torch.add(y, ops.prim.awaitable_wait(w))
"""
ITSELF = HEAD + """    l = annotate(List[Await[Tensor]], [])
    def a():
      return ops.prim.awaitable_wait(l[0])
    _0 = torch.append(l, awaitable(a))
    return ops.prim.awaitable_wait(l[0])
"""


class Forks(Test):
    def setUp(self):
        super().setUp()
        self.put("x.npz", npz(x=npy([2, 3], data=struct.pack("<6f", *range(6)))))
        self.put("y.npz", npz(x=npy([4, 2, 3], data=struct.pack("<24f", *[i / 8 for i in range(24)]))))
        self.put("z.npz", npz(x=npy([2, 3], data=struct.pack("<6f", *[1000] * 6))))

    def each(self, code, given, check):
        self.put("m.pt", model(LEAF + NODE + code))
        rc, _, err = call([KILN, "build", "m.pt", "-i", "x.npz", "--cpu", "native", "-o", "p"], self.dir)
        self.assertEqual(rc, 0, err)
        for argv in ([KILN, "run", "m.pt"], ["./p"]):
            for threads in "1", "2", "4":
                with self.subTest(argv=argv, threads=threads):
                    rc, _, err = call([*argv, "-i", given, "--threads", threads, "-o", "o.npz"], self.dir)
                    check(rc, err.decode())

    def out(self):
        return arrays.read(os.path.join(self.dir, "o.npz"))["out"][2]

    def test_nested(self):
        for given, x in (("x.npz", list(range(6))), ("y.npz", [i / 8 for i in range(24)])):
            w = [i % 6 for i in range(len(x))]
            want = [sum(v * (2 * n + 1) + 2 * k for n in range(20)) for v, k in zip(x, w)]
            self.each(LIST, given, lambda rc, err: (self.assertEqual(rc, 0, err), self.assertEqual(self.out(), want)))

    def test_chain(self):
        """A thread that waits for f in b must not run a task that waits for b, since b is on that thread's stack."""
        for given, x in (("x.npz", list(range(6))), ("y.npz", [i / 8 for i in range(24)])):
            self.each(CHAIN, given, lambda rc, err: (self.assertEqual(rc, 0, err),
                                                     self.assertEqual(self.out(), [4 * v + 6000 for v in x])))

    def test_awaitable(self):
        """An awaitable that several forked calls wait for is called once. Waiting for itself raises an error."""
        for given, x in (("x.npz", list(range(6))), ("y.npz", [i / 8 for i in range(24)])):
            self.each(SHARED, given, lambda rc, err: (self.assertEqual(rc, 0, err),
                                                      self.assertEqual(self.out(), [5 * v + 9000 for v in x])))
        self.each(ITSELF, "y.npz", lambda rc, err: (self.assertEqual(rc, 1),
                                                    self.assertIn("an awaitable waits for itself", err)))

    def test_error(self):
        def check(rc, err):
            self.assertEqual(rc, 1)
            self.assertIn("too much in leaf", err)
            self.assertIn("ValueError", err)
            self.assertIn("in leaf\n", err)
        self.each(LIST, "z.npz", check)
        self.each(CAUGHT, "z.npz", check)

    def test_not_waited_for(self):
        """The error of a future that nobody waits for is dropped."""
        self.each(CAUGHT.replace("torch.size(x, 0), 1", "torch.size(x, 0), 5"), "z.npz",
                  lambda rc, err: (self.assertEqual(rc, 0, err), self.assertEqual(self.out(), [1001.] * 6)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
