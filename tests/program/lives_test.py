"""Lifetimes and sharing of buffers in programs: through loops, branches, lists, views, guards, and in values that leave the call.
Each function is built on its first inputs and must answer as the interpreter does on all of them.

usage: lives_test.py KILN
"""
import os, struct, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from forms import KILN, TCC, Same, sin
from hostile import attrs, body, call, model, npy, npz, tensor

N = "n = int(torch.sum(torch.ge(x, x)))"                                   # number of elements of x, unknown when compiling


class Lives(Same):
    # ---- loops ----

    def test_before_loop(self):
        """A value that a loop reads is valid on every trip and after the loop."""
        self.same([N, "a = torch.softmax(torch.mm(x, x), 0)", "h = torch.neg(x)",
                    "for i in range(n):", "  t = torch.softmax(torch.mm(h, a), 1)", "  u = torch.cumsum(torch.mm(t, t), 0)",
                    "  h = torch.softmax(torch.mm(u, t), 0)", "return torch.add(h, a)"])
        self.same([N, "a = torch.softmax(torch.mm(x, x), 0)", "h = torch.neg(x)",
                    "for i in range(n):", "  t = torch.softmax(torch.mm(h, a), 1)", "  u = torch.cumsum(torch.mm(t, t), 0)",
                    "  h = torch.softmax(torch.mm(u, t), 0)", "return h"])

    def test_nested_loops(self):
        """Values made before both loops, between them and inside."""
        self.same([N, "a = torch.softmax(torch.mm(x, x), 0)", "h = torch.neg(x)",
                    "for i in range(n):", "  b = torch.softmax(torch.mm(h, x), 0)", "  g = torch.mm(b, b)",
                    "  for k in range(n):", "    t = torch.softmax(torch.mm(g, a), 1)", "    u = torch.cumsum(torch.mm(t, b), 0)",
                    "    g = torch.softmax(torch.mm(u, t), 0)", "  c = torch.cumsum(torch.mm(g, g), 1)", "  h = torch.mm(c, b)",
                    "return h"])
        self.same([N, "a = torch.softmax(torch.mm(x, x), 0)", "h = x",
                    "for i in range(n):", "  g = h",
                    "  for k in range(n):", "    t = torch.softmax(torch.mm(g, x), 1)", "    g = torch.cumsum(torch.mm(t, a), 0)",
                    "  c = torch.softmax(torch.mm(g, g), 1)", "  d = torch.cumsum(torch.mm(c, x), 0)", "  h = torch.mm(d, c)",
                    "return h"])

    def test_carried(self):
        """Two loop-carried values that swap, three that rotate, two that are the same value, and one that a branch leaves
        unchanged."""
        self.same([N, "a = torch.neg(x)", "b = torch.mm(x, x)",
                    "for i in range(n):", "  c = torch.softmax(torch.mm(a, b), 0)", "  a = b", "  b = c",
                    "return torch.sub(a, torch.mul(b, 3.))"])
        self.same([N, "a = torch.neg(x)", "b = torch.mm(x, x)",
                    "for i in range(n):", "  c = a", "  a = b", "  b = c", "return torch.sub(a, torch.mul(b, 3.))"],
                   others=["x=float32[2x2]"])
        self.same([N, "a = torch.neg(x)", "b = torch.mm(x, x)", "c = torch.exp(x)",
                    "for i in range(n):", "  d = a", "  a = b", "  b = c", "  c = torch.softmax(torch.mm(d, a), 1)",
                    "return torch.sub(torch.sub(a, torch.mul(b, 3.)), torch.mul(c, 7.))"])
        self.same([N, "a = torch.neg(x)", "b = a",
                    "for i in range(n):", "  a = torch.softmax(torch.mm(a, x), 1)", "  if torch.eq(torch.remainder(i, 2), 0):", "    b = a",
                    "  else:", "    pass", "return torch.sub(a, torch.mul(b, 3.))"])
        self.same([N, "a = 1", "b = 2", "t = 0.5", "for i in range(n):", "  c = torch.add(a, b)", "  a = b", "  b = c", "  t = torch.mul(t, 2.)",
                    "return torch.add(torch.mul(x, t), a, alpha=b)"])

    def test_stops(self):
        """A loop ends when its condition fails or when its count is reached. It may make no trip."""
        for least in (-100, 1, 100):
            self.same(["go = bool(torch.gt(torch.sum(torch.abs(x)), %d.))" % -abs(least), "h = torch.mm(x, x)", N, "k = 0",
                        "while torch.__and__(go, torch.lt(k, n)):", "  h = torch.softmax(torch.mm(h, x), 0)", "  k = torch.add(k, 1)",
                        "  go = bool(torch.lt(torch.sum(h), %d.))" % least, "return torch.add(h, k)"])
        self.same(["n = int(torch.sum(torch.lt(x, x)))", "h = torch.mm(x, x)", "g = torch.neg(x)",
                    "for i in range(n):", "  h = torch.softmax(torch.mm(h, x), 0)", "  g = torch.mm(g, h)", "return torch.add(h, g)"])

    def test_kept_in_loop(self):
        """A list holds the tensor of every trip, not the last one several times."""
        self.same([N, "l = annotate(List[Tensor], [])", "h = torch.mm(x, x)",
                    "for i in range(n):", "  h = torch.softmax(torch.mm(h, x), 0)", "  _0 = torch.append(l, h)", "return torch.cat(l, 0)"])
        self.same([N, "l = annotate(List[Tensor], [])", "h = torch.mm(x, x)",
                    "for i in range(n):", "  _0 = torch.append(l, h)", "  h = torch.softmax(torch.mm(h, x), 0)", "return (l, h)"],
                   result="Tuple[List[Tensor], Tensor]")
        self.same([N, "l = annotate(List[Tensor], [])", "h = torch.mm(x, x)",
                    "for i in range(n):", "  h = torch.softmax(torch.mm(h, x), 0)", "  _0 = torch.append(l, torch.select(h, 0, 1))",
                    "return l"], result="List[Tensor]")

    # ---- branches ----

    def test_branches(self):
        """A value that only one branch reads, one that both branches return, and one from outside that a branch returns."""
        for sign in ("gt", "lt"):
            condition = "c = bool(torch.%s(torch.sum(torch.abs(x)), 0.))" % sign
            self.same([condition, "a = torch.softmax(torch.mm(x, x), 0)", "b = torch.cumsum(torch.mm(x, a), 0)",
                        "if c:", "  t = torch.softmax(torch.mm(b, x), 0)", "  y = torch.mm(t, a)", "else:",
                        "  t = torch.softmax(torch.mm(x, b), 1)", "  u = torch.cumsum(torch.mm(t, b), 0)", "  y = torch.mm(u, t)",
                        "return torch.add(torch.mm(y, y), b)"])
            self.same([condition, "a = torch.softmax(torch.mm(x, x), 0)", "b = torch.cumsum(torch.mm(x, a), 0)",
                        "if c:", "  p, q = a, b", "else:", "  p, q = b, a", "r = torch.softmax(torch.mm(p, q), 0)",
                        "return torch.sub(torch.sub(p, torch.mul(q, 3.)), r)"])
            self.same([condition, "a = torch.softmax(torch.mm(x, x), 0)",
                        "if c:", "  y = torch.mm(a, a)", "else:", "  y = a", "z = torch.softmax(torch.mm(y, a), 0)",
                        "_0 = torch.add_(y, 1.)", "return (a, y, z)"], result="Tuple[Tensor, Tensor, Tensor]")

    def test_open_branch(self):
        """A result that the branch taken leaves uninitialized."""
        self.same(["c = bool(torch.gt(torch.sum(torch.abs(x)), -1.))", "a = torch.mm(x, x)", "k = 0",
                    "if c:", "  y = torch.softmax(a, 0)", "  k = 2", "else:", "  ops.prim.RaiseException(\"no\", \"AssertionError\")",
                    "  y = uninitialized(Tensor)", "return torch.add(torch.mm(y, a), k)"])

    # ---- lists, views, writes ----

    def test_lists(self):
        """The elements of a list live until the last use of the list."""
        for use in ("torch.cat(l, 0)", "torch.stack(l, 1)", "torch.cat([torch.cat(l, 1), torch.cat(l, 1)], 0)", "torch.add(l[0], l[1])"):
            self.same(["a = torch.mm(x, x)", "b = torch.softmax(x, 0)", "l = [a, b]", "c = torch.softmax(torch.mm(x, torch.neg(x)), 1)",
                        "d = torch.cumsum(torch.mm(c, c), 0)", "e = torch.softmax(torch.mm(d, c), 0)", "y = %s" % use,
                        "return torch.add(torch.sum(e), y)"])
            self.same([N, "a = torch.mm(x, x)", "b = torch.softmax(x, 0)", "l = [a, b]", "h = x",
                        "for i in range(n):", "  c = torch.softmax(torch.mm(h, x), 1)", "  d = torch.cumsum(torch.mm(c, c), 0)",
                        "  h = torch.add(torch.mm(d, c), torch.sum(%s))" % use, "return h"])
        self.same(["a = torch.mm(x, x)", "l = torch.unbind(a, 0)", "c = torch.softmax(torch.mm(x, torch.neg(x)), 1)",
                    "d = torch.cumsum(torch.mm(c, c), 0)", "p, q, r, = l", "return torch.add(torch.add(p, q), torch.mm(d, c))"])
        self.same(["a = torch.mm(x, x)", "l = torch.unbind(a, 0)", "_0 = torch.add_(a, 1.)", "return l"], result="List[Tensor]")

    def test_views(self):
        """A view keeps its base alive. So does a returned view. Writes through a view are seen."""
        self.same(["a = torch.mm(x, x)", "v = torch.t(a)", "c = torch.softmax(torch.mm(x, torch.neg(x)), 1)",
                    "d = torch.cumsum(torch.mm(c, c), 0)", "e = torch.softmax(torch.mm(d, c), 0)", "return torch.add(e, v)"])
        self.same(["a = torch.mm(x, x)", "v = torch.select(a, 0, 1)", "w = torch.slice(a, 1, 1)", "_0 = torch.add_(v, 1.)",
                    "c = torch.softmax(torch.mm(a, x), 1)", "_1 = torch.mul_(w, 2.)", "return (c, v, w)"],
                   result="Tuple[Tensor, Tensor, Tensor]")
        self.same(["v = torch.select(x, 0, 1)", "a = torch.neg(v)", "_0 = torch.mul_(torch.slice(x, 0, 1), 3.)", "return (a, v, torch.t(x))"],
                   result="Tuple[Tensor, Tensor, Tensor]")
        self.same(["w = torch.select(self.w, 0, 1)", "_0 = torch.add_(torch.select(self.w, 0, 1), torch.select(x, 0, 0))",
                    "return (w, torch.slice(self.w, 1, 1))"], result="Tuple[Tensor, Tensor]")
        self.same(["a = torch.cumsum(x, 0)", "_0 = torch.cumsum_(torch.select(a, 0, 1), 0)", "b, i, = torch.sort(x)",
                    "_1 = torch.cumprod_(torch.select(torch.t(b), 0, 1), 0)", "return (torch.mul(a, 2.), torch.sub(b, 1.), i)"],
                   result="Tuple[Tensor, Tensor, Tensor]")
        self.same(["w = torch.slice(%s, 0, 2)" % sin(4, 3), "return (torch.mm(w, x), w, torch.t(w))"], result="Tuple[Tensor, Tensor, Tensor]")

    def test_windows(self):
        """A constant is a part of its storage, and a view of it reaches the elements after that part."""
        n = 70000                                                          # too many elements to fold
        self.same(["return torch.as_strided(self.w, [%d], [1], %d)" % (n, n)], state=attrs(training=b"\x89", w=tensor(2 * n, [n], [1])),
                  **{"data/0": struct.pack("<%df" % (2 * n), *range(2 * n))})

    def test_parts_of_one_storage(self):
        """Constants of equal sizes that are adjacent in one storage are not taken for the same data."""
        n = 70000
        self.same(["return (self.w, self.v, torch.add(self.v, torch.sum(self.w)))"], result="Tuple[Tensor, Tensor, Tensor]", before="  v : Tensor\n",
                  state=attrs(training=b"\x89", w=tensor(2 * n, [n], [1]), v=tensor(2 * n, [n], [1], offset=n)),
                  **{"data/0": struct.pack("<%df" % (2 * n), *(i % 97 for i in range(2 * n)))})

    def test_joins(self):
        """The operands of a cat are computed in its result if nobody can observe it."""
        image = "x=float32[1x4x8x8]"
        grown = ["a = torch.relu(x)", "b = torch.max_pool2d(a, [3, 3], [1, 1], [1, 1])", "c = torch.avg_pool2d(x, [3, 3], [1, 1], [1, 1])"]
        for lines in (["return torch.cat([a, b, c], 1)"], ["d = torch.cat([a, b], 1)", "e = torch.cat([a, b, c], 1)", "return torch.add(torch.sum(d), e)"],
                      ["d = torch.cat([a, b], 1)", "_0 = torch.mul_(b, 2.)", "return (d, b)"],
                      ["d = torch.cat([a, b], 1)", "e = torch.cat([b, a], 1)", "return torch.sub(d, torch.mul(e, 2.))"],
                      ["d = torch.cat([a, a, b], 1)", "return torch.add(d, torch.sum(c))"],
                      ["d = torch.cat([a, b], 1)", "_0 = torch.neg_(a)", "return torch.add(d, torch.cat([a, c], 1))"],
                      ["d = torch.cat([a, b], 1)", "e = torch.max_pool2d(d, [3, 3], [1, 1], [1, 1])", "f = torch.cat([d, e], 1)",
                       "return torch.add(f, torch.sum(b))"],
                      ["d = torch.cat([a, b], 2)", "e = torch.cat([a, b], 3)", "return torch.sub(d, torch.transpose(e, 2, 3))"],
                      ["d = torch.cat([a, b], 0)", "e = torch.cat([torch.t(torch.view(c, [4, 64])), torch.t(torch.view(b, [4, 64]))], 0)",
                       "return torch.add(torch.sum(e, [0]), torch.view(d, [2, 64, 4]))"],
                      ["d = torch.cat([torch.slice(a, 1, 0, 2), b], 1)", "return torch.add(d, torch.sum(a))"],
                      ["return torch.cat([a, torch.to(b, 7)], 1)"]):
            for keep in ("", "k = torch.softmax(torch.mul(a, b), 1)"):
                self.same(grown + ([keep] if keep else []) + lines[:-1] + ([lines[-1].replace("return (", "return (k, ") if "return (" in lines[-1] else
                           lines[-1].replace("return ", "return (k, ") + ")"] if keep else lines[-1:]), image,
                           result="Tuple[Tensor, Tensor, Tensor]" if keep and "(d, b)" in lines[-1] else
                           "Tuple[Tensor, Tensor]" if keep or "(d, b)" in lines[-1] else "Tensor")

        grown[1:] = ["b = torch.max_pool2d(x, [3, 3], [1, 1], [1, 1])", "d = torch.cat([a, b], 1)", "y = torch.avg_pool2d(d, [3, 3], [1, 1], [1, 1])"]
        wide = "torch.max_pool2d(a, [5, 5], [1, 1], [2, 2])"
        self.same(grown + ["_0 = torch.mul_(torch.select(d, 1, 0), 3.)", "return torch.add(%s, torch.sum(torch.mul(d, y)))" % wide], image)
        self.same(grown + ["z = torch.einsum(\"abcd,abcd->cd\", [a, b])", "return torch.add(y, torch.sum(z))"], "x=float32[2x4x8x8]")

    def test_joins_many(self):
        """A cat of more equal operands than a node may have launches, one of which could be computed in its result. One launch
        copies all."""
        step = ["h = torch.mm(torch.view(h, [2, 16]), %s)" % sin(16, 16), "h = torch.sin(torch.add(x, torch.view(h, [1, 2, 16])))"]
        self.same(["h = x", "l = annotate(List[Tensor], [])"] + (step + ["_0 = torch.append(l, h)"]) * 70 + ["return torch.mul(torch.cat(l, 0), 2.)"],
                  "x=float32[1x2x16]")

    def test_joins_alive(self):
        """An operand computed in a cat's result is valid from its definition to its last use, whatever is computed in between."""
        pool = "torch.%s_pool2d(%s, [3, 3], [1, 1], [1, 1])"
        image = "x=float32[1x4x8x8]"
        between = ["t = " + pool % ("max", "x"), "u = " + pool % ("avg", "t"), "v = " + pool % ("max", "u"), "s = torch.softmax(v, 1)"]
        for lines in (["a = " + pool % ("avg", "x"), *between, "b = " + pool % ("max", "s"), "d = torch.cat([a, b], 1)", "return " + pool % ("avg", "d")],
                      ["a = " + pool % ("avg", "x"), "b = " + pool % ("max", "x"), "d = torch.cat([a, b], 1)", "e = " + pool % ("avg", "d"), *between,
                       "return torch.add(torch.mul(torch.sum(e), s), " + pool % ("max", "a") + ")"],
                      ["a = " + pool % ("avg", "x"), *between, "b = " + pool % ("max", "s"), "d = torch.cat([a, b], 1)", "e = torch.cat([d, b, t], 1)",
                       "return torch.add(torch.sum(" + pool % ("avg", "d") + "), " + pool % ("avg", "e") + ")"],
                      [N, "h = x", "for i in range(torch.floordiv(n, 64)):", "  a = " + pool % ("avg", "h"), *("  " + line for line in between), "  b = " + pool % ("max", "s"),
                       "  d = torch.cat([a, b], 1)", "  h = torch.slice(" + pool % ("avg", "d") + ", 1, 2, 6)", "return torch.contiguous(h)"],
                      ["a = " + pool % ("avg", "x"), "b = " + pool % ("max", "x"), "l = [a, b]", "d = torch.cat(l, 1)", "_0 = torch.add_(a, 1.)", *between,
                       "e = torch.cat(l, 1)", "return torch.add(torch.sum(" + pool % ("avg", "d") + "), torch.mul(e, s[0][0][0][0]))"]):
            self.same(lines, image)

    # ---- guards ----

    def test_guard_has_views(self):
        """A guard that fails passes views of one memory on as views of one memory."""
        self.array("a.npz", 1, 2, 3)
        self.array("b.npz", -1, 2, 0, 4, 5)
        self.array("c.npz")
        for view in ("torch.select(a, 0, 1)", "torch.slice(a, 1, 1)", "torch.t(a)", "torch.slice(a, 0, 0, 3, 2)"):
            self.same(["a = torch.softmax(torch.mm(x, x), 0)", "v = %s" % view, "k = torch.nonzero(torch.gt(x, 0.5))",
                        "_0 = torch.add_(v, 1.)", "return (a, v, torch.sum(k))"], "a.npz", ["b.npz", "c.npz"],
                       result="Tuple[Tensor, Tensor, Tensor]")
            self.same(["a = torch.softmax(torch.mm(x, x), 0)", "v = %s" % view, "k = torch.nonzero(torch.gt(x, 0.5))",
                       "_0 = torch.mul_(v, 3.)", "return (torch.mul(torch.sum(a), 2.), torch.sum(v), torch.sum(k))"], "a.npz", ["b.npz", "c.npz"],
                       result="Tuple[Tensor, Tensor, Tensor]")

    def test_guard_decides(self):
        """A branch that every profiled run took is guarded, even if it leaves a list or a number behind."""
        self.array("a.npz", 1, 2, 3)
        self.array("b.npz", -1, 2, 0, 4, 5)
        self.array("c.npz")
        for positive in ("gt", "le"):
            self.same(["a = torch.mm(x, x)", "l = [a]", "c = bool(torch.%s(torch.sum(torch.abs(x)), 7.))" % positive,
                        "if c:", "  _0 = torch.append(l, x)", "  k = 1", "else:", "  _0 = torch.append(l, torch.neg(x))",
                        "  _1 = torch.append(l, x)", "  k = 2", "return (torch.cat(l, 0), l, k)"], "a.npz", ["b.npz", "c.npz"],
                       result="Tuple[Tensor, List[Tensor], int]", runs=2)

    def test_guard_hands_on(self):
        """Values that a guard passes on may be kept for good. Later calls do not overwrite them."""
        self.array("a.npz", 1, 2, 3)
        self.array("b.npz", -1, 2, 0, 4, 5)
        self.array("c.npz")
        self.in_turn(["r = torch.mul(self.w, 2.)", "a = torch.softmax(torch.mm(torch.slice(x, 0, 0, 2), x), 0)",
                      "if bool(torch.gt(torch.sum(torch.abs(x)), 7.)):", "  self.w = a", "else:", "  pass", "return (torch.mm(a, torch.t(a)), r)"],
                     "a.npz", "b.npz", "a.npz", "c.npz", result="Tuple[Tensor, Tensor]")

    def test_guard_counts(self):
        """Numbers that were the same in all profiled runs differ later."""
        self.array("a.npz", 1, 2, 3)
        self.array("b.npz", -1, 2, 0, 4, 5)
        self.array("c.npz")
        self.same(["n = int(torch.sum(torch.ne(x, 0.)))", "y = torch.zeros([n, 2])", "l = annotate(List[int], [])",
                    "for i in range(n):", "  _0 = torch.append(l, i)", "return (torch.add(y, 1.), l)"], "a.npz", ["b.npz", "c.npz"],
                   result="Tuple[Tensor, List[int]]", runs=2)

    def test_divides(self):
        """Integer division by zero raises, even in the middle of what could be one kernel."""
        self.array("a.npz", *range(1, 10))
        self.array("b.npz", 1, 2, 3)
        for by in ("torch.floor_divide(%s)", "torch.remainder(%s)", "torch.fmod(%s)", "torch.div(%s, rounding_mode=\"trunc\")"):
            lines = ["k = torch.to(x, 4)", "y = torch.add(%s, 1)" % by % "torch.mul(k, 7), k", "return torch.mul(y, 2)"]
            self.put("m.pt", model(body(lines)))
            self.check([KILN, "build", "m.pt", "-i", "a.npz", *TCC, "-o", "program"], 0)
            self.check([KILN, "check", "m.pt", "program", "-i", "a.npz"], 0)
            self.check(["./program", "-i", "b.npz"], 1, "ZeroDivisionError")
            os.remove(os.path.join(self.dir, "program"))

    def test_divisors(self):
        """A constant divisor, a number or a 0-d tensor, is fused into one kernel with the rest. The exception is a divisor that
        is zero in the tensor's dtype."""
        kernels = [KILN, "show", "m.pt", "--stage", "kernels", "-i"]
        for dtype in "int64", "uint8":
            x = "x=%s[4x5]" % dtype
            for by in "7", "torch.tensor(7)":
                self.same(["y = torch.remainder(x, %s)" % by, "return torch.add(torch.mul(y, 3), torch.floor_divide(x, %s))" % by], x)
                self.assertEqual(call(kernels + [x], self.dir)[1].count(b"schedule"), 1)
        self.put("u.npz", npz(x=npy([3], "|u1", b"\1\2\3")))
        for by in "256", "torch.tensor(512)", "torch.tensor(0)":
            self.put("m.pt", model(body(["return torch.remainder(x, %s)" % by])))
            self.check([KILN, "build", "m.pt", "-i", "u.npz", *TCC, "-o", "program"], 0)
            self.check(["./program", "-i", "u.npz"], 1, "ZeroDivisionError")

    def test_overflows(self):
        """A number known only at the call that the dtype cannot hold raises."""
        for n in 7, 9, 300:
            self.put("%d.npz" % n, npz(x=npy([2], "|u1", bytes([1, 200])), n=npy([], "<i8", struct.pack("<q", n))))
        self.put("m.pt", model(body(["return torch.clamp(x, 0, n)"], "x: Tensor, n: int", "Tensor")))
        self.check([KILN, "build", "m.pt", "-i", "7.npz", "-i", "9.npz", *TCC, "-o", "program"], 0)
        self.check([KILN, "check", "m.pt", "program", "-i", "9.npz"], 0)
        self.check(["./program", "-i", "300.npz"], 1, "value cannot be converted to type uint8_t without overflow")
        os.remove(os.path.join(self.dir, "program"))

    # ---- what leaves the call ----

    def test_results(self):
        """Several results that share memory, an argument, a constant, the same value twice."""
        self.same(["a = torch.mm(x, x)", "return (a, a, x, torch.t(a), [a, x])"], result="Tuple[Tensor, Tensor, Tensor, Tensor, List[Tensor]]")
        self.same(["a = torch.mm(x, x)", "return {\"a\": a, \"b\": torch.softmax(a, 0)}"], result="Dict[str, Tensor]")
        self.same(["a = torch.mm(x, x)", "b = torch.softmax(a, 0)", "c = torch.cumsum(torch.mm(b, a), 0)", "return ((a, [b]), c)"],
                   result="Tuple[Tuple[Tensor, List[Tensor]], Tensor]")
        self.same(["return (torch.add(int(torch.sum(torch.ge(x, x))), 3000000000), -2147483649, 0.1, [x])"],
                   result="Tuple[int, int, float, List[Tensor]]")

    def test_members(self):
        """A value stored in an object or passed to a call outlives the buffer that it was computed in."""
        self.same(["a = torch.mm(x, x)", "self.w = a", "b = torch.softmax(torch.mm(a, x), 0)", "c = torch.cumsum(torch.mm(b, b), 0)",
                    "return torch.add(torch.mm(c, b), self.w)"])
        self.same(["a = torch.softmax(torch.mm(x, x), 0)", "l = [a]", "b = torch.softmax(torch.mm(a, x), 0)",
                    "_0 = torch.append(l, b)", "_1 = torch.insert(l, 0, torch.cumsum(torch.mm(b, b), 0))", "c = torch.softmax(torch.mm(x, b), 1)",
                    "d = torch.pop(l)", "return (torch.mm(c, d), l)"], result="Tuple[Tensor, List[Tensor]]")
        self.same(["a = torch.softmax(torch.mm(x, x), 0)", "d = {\"a\": a}", "b = torch.softmax(torch.mm(a, x), 0)",
                    "_0 = torch._set_item(d, \"b\", b)", "c = torch.cumsum(torch.mm(b, b), 0)", "e = torch.softmax(torch.mm(c, b), 0)",
                    "return (e, d[\"a\"], d[\"b\"])"], result="Tuple[Tensor, Tensor, Tensor]")
        self.same(["a = torch.softmax(torch.mm(x, x), 0)", "s = torch.format(\"{} {}\", torch.sum(a), x)", "b = torch.mm(a, a)",
                    "return (s, b)"], result="Tuple[str, Tensor]")

    # ---- kernels ----

    def test_pointwise(self):
        """Broadcast and strided operands, and dtypes that wrap and round, in one group."""
        for lines in (["return torch.add(torch.mul(x, y), torch.select(x, 0, 0))"],
                      ["return torch.mul(torch.add(torch.t(x), x), torch.unsqueeze(torch.select(y, 0, 0), 1))"],
                      ["return torch.sub(torch.exp(torch.slice(x, 1, 0, 2)), torch.slice(y, 1, 1))"],
                      ["return torch.mul(torch.add(torch.to(torch.mul(x, 100.), 1), torch.to(torch.mul(y, 100.), 1)), 2)"],
                      ["return torch.mul(torch.add(torch.to(torch.mul(x, 100.), 0), torch.to(torch.mul(y, 100.), 0)), 3)"],
                      ["return torch.to(torch.mul(torch.add(torch.to(x, 5), torch.to(y, 5)), 3.3), 6)"],
                      ["return torch.to(torch.mul(torch.add(torch.to(x, 15), torch.to(y, 15)), 3.3), 6)"],
                      ["return torch.where(torch.gt(x, y), torch.to(x, 7), y)"],
                      ["return torch.add(torch.softmax(torch.mm(x, torch.t(y)), 1), torch.t(torch.mm(y, x)))"],
                      ["return torch.t(torch.relu(torch.add(torch.mm(x, y), torch.select(y, 1, 0))))"],
                      ["return torch.mul(torch.reshape(torch.mm(x, y), [9]), torch.reshape(y, [9]))"],
                      ["m = torch.mm(x, y)", "return torch.mul(torch.add(m, torch.unsqueeze(torch.sum(m, [1]), 1)), 2.)"],
                      ["m = torch.mm(x, y)", "return (torch.relu(m), torch.sum(m, [0]))"]):
            self.same(lines, "x=float32[3x3] y=float32[3x3]", args="x: Tensor, y: Tensor",
                       result="Tuple[Tensor, Tensor]" if "return (" in lines[-1] else "Tensor")
        self.same(["return torch.add(torch.mul(x, y), 1.)"], "x=float32[4x1x3] y=float32[2x1]", args="x: Tensor, y: Tensor")
        self.same(["return torch.add(torch.mul(x, y), x)"], "x=float32[1] y=float32[2x3]", args="x: Tensor, y: Tensor")


if __name__ == "__main__":
    unittest.main()
