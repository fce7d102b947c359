"""Conclusions that a specialization must not draw: lists and attributes that are written, numbers that change, mixed types,
branches and loops with more than one outcome. Each program answers as the interpreter does on its profiled inputs and on others.

usage: special_test.py KILN
"""
import os, struct, sys, unittest
from itertools import product

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from forms import KILN, TCC, Form, Same, sin
from hostile import W, attrs, body, call, model, npy, npz, num, pickled

LISTS = "  sizes : List[int]\n  n : int\n  v : Tensor\n"
STATE = attrs(training=b"\x89", w=W, v=W, n=num(3), sizes=b"](" + num(2) + num(5) + b"e")


class Special(Same):
    def setUp(self):
        super().setUp()
        self.array("a.npz", 1, 2, 3)
        self.array("b.npz", -1, 2, 0, 4, 5)
        self.array("c.npz")
        self.array("d.npz", 1, 2, 3, 4, 5, 6, 7, 8, rows=4, columns=2)
        self.all = ["b.npz", "c.npz", "d.npz"]

    # ---- sizes ----

    def test_sizes_changed_in_place(self):
        """A tensor is resized in place. Values read before have the old sizes, and every name of the tensor sees the new ones."""
        self.array("e.npz", *range(12), rows=3, columns=4)
        for write in ("torch.t_(a)", "torch.unsqueeze_(a, 0)", "torch.transpose_(a, 0, 1)", "torch.squeeze_(torch.unsqueeze_(a, -1))",
                      "torch.resize_(a, [2, 3])", "torch.as_strided_(a, [2, 3], [1, 2])", "torch.swapaxes_(a, 0, -1)",
                      "torch.mul_(torch.t_(torch.relu_(a)), 2.)"):
            result = "Tuple[Tensor, Tensor, Tensor]"
            lines = ["a = torch.mul(x, 3.)", "b = torch.div(1., torch.add(a, 1.))", "v = torch.neg(torch.slice(a, 1, 0, 9223372036854775807))",
                     "_0 = " + write, "return (b, torch.add(torch.mul(a, 2.), 1.), v)"]
            self.same(lines, "d.npz", ["e.npz"], result)
            held = [*lines[:3], "l = [a]", *lines[3:4], "return (b, torch.mul(l[0], 2.), v)"]
            self.same(held, "d.npz", ["e.npz"], result)
            branch = [*lines[:3], "if bool(torch.gt(torch.sum(x), 0)):", "  _0 = " + write, "  c = 1", "else:", "  c = 2", "return (b, torch.mul(a, c), v)"]
            self.same(branch, "d.npz", ["e.npz"], result)
        self.same(["_0 = torch.unsqueeze_(x, 0)", "s = 0", "for i in range(3):", "  s = torch.add(s, torch.size(x, 0))",
                   "return (s, torch.tanh(x))"], "d.npz", ["e.npz"], "Tuple[int, Tensor]")

    def test_many_elements(self):
        """A list of 70 numbers is unpacked."""
        self.put("n.npz", npz(x=npy([2], data=bytes(8)), l=npy([70], "<i8", struct.pack("<70q", *range(70)))))
        names = ["a%d" % i for i in range(70)]
        self.same([", ".join(names) + ", = l", "return torch.add(torch.add(x, a3), a69)"], "n.npz", args="x: Tensor, l: List[int]")

    def test_result_is_argument(self):
        """A result that is the argument, or a view of it, where nothing is to do: a write to it is a write to the argument."""
        lines, names = [], []
        for i, result in enumerate(("torch.conj_physical({})", "torch.dequantize({})", "torch.dropout({}, 0.5, False)", "torch.type_as({}, x)",
                                    "torch.atleast_2d({})", "torch.sum_to_size({0}, torch.size({0}))", "torch._unsafe_view({}, [-1])",
                                    "torch.cartesian_prod([torch.select({}, 0, 0)])", "torch.flatten_dense_tensors([{}])",
                                    "torch.meshgrid([torch.select({}, 0, 0)])[0]")):
            of = f"a{i}" if i % 2 else "x"
            lines += [f"a{i} = torch.mul(x, {i + 2})", f"b{i} = {result.format(of)}", f"c{i} = torch.mul({of}, 2)", f"_{i} = torch.add_(b{i}, {i + 1})",
                      f"d{i} = torch.add(c{i}, {of})"]
            names += [f"a{i}", f"b{i}", f"d{i}"]
        self.same([*lines, f"return ([{', '.join(names)}], x)"], "d.npz", self.all, "Tuple[List[Tensor], Tensor]")

    def test_out_resized(self):
        """`out` of a kernel is resized. Values computed from it before have the old sizes, and attributes keep the new ones."""
        self.array("e.npz", *range(12), rows=3, columns=4)
        part = "a = torch.relu(torch.slice(x, 0, 0, 1))"
        for write in ("torch.add(x, x, out=a)", "torch.mm(x, torch.t(x), out=a)", "torch.cat([x, x], 1, out=a)", "torch.sum(x, [0], out=a)"):
            self.same([part, "s = torch.sum(a)", "n = torch.size(a, 0)", "_0 = " + write, "return (torch.mul(a, 2.), s, n, torch.size(a, 0), a)"],
                      "d.npz", ["e.npz"], "Tuple[Tensor, Tensor, int, int, Tensor]")
            self.same([part, "_0 = " + write, "return (torch.mul(a, 2.), torch.size(a, 0))"], "d.npz", ["e.npz"], "Tuple[Tensor, int]")
            self.same(["a = torch.empty([0])", "_0 = " + write, "return torch.mul(a, 2.)"], "d.npz", ["e.npz"])
            self.same([part, "for i in range(int(torch.max(x))):", "  if bool(torch.gt(torch.sum(x), i)):", "    _0 = " + write, "    c = 1",
                       "  else:", "    c = 0", "return torch.mul(a, 2.)"], "d.npz", ["c.npz", "e.npz"])

        for made, view in product(("torch.relu(x)", "torch.zeros([3, 4])"), ("torch.select(a, 0, -1)", "torch.slice(torch.t(a), 0, 1)", "torch.detach(a)")):
            self.same(["a = " + made, "v = " + view, "_0 = torch.sum(x, [0], out=a)", "return (torch.mul(a, 2.), torch.add(v, 1.), a)"],
                      "d.npz", ["e.npz"], "Tuple[Tensor, Tensor, Tensor]")
        self.same(["a = torch.zeros([2])", "for i in range(int(torch.max(x)) - 9):", "  _0 = torch.mul(x, 2, out=a)", "return (torch.mul(a, 2.), torch.size(a, 0))"],
                  "d.npz", ["e.npz"], "Tuple[Tensor, int]")

    def test_out_resized_by_data(self):
        """The new sizes of `out` depend on elements."""
        self.array("e.npz", *range(8), rows=4, columns=2)
        self.array("f.npz", 3, 4, 5, 6, 7, 8, 9, 9, rows=4, columns=2)
        for pick in ("x[torch.gt(torch.sum(x, 1), 4)]", "torch.narrow(x, 0, 0, int(torch.min(x)))"):
            self.same(["a = torch.relu(x)", "m = " + pick, "_0 = torch.add(m, 1, out=a)", "return (torch.mul(a, 2.), torch.size(a, 0), a)"],
                      "d.npz", ["e.npz", "f.npz"], "Tuple[Tensor, int, Tensor]")

    # ---- bytes ----

    def test_zero_points(self):
        """Padding in a product of bytes is a byte. A zero point outside the byte's range must not be used for it, known or not.
        """
        of = "ops.quantized_decomposed.dequantize_per_tensor(%s, %s, %s, -128, 127, 1)"
        i8 = "torch.to(torch.reshape(torch.arange(-36, 36), [%s]), 1)"
        self.array("e.npz", 300)
        for zero in ("300", "-129", "torch.tensor(300)", "torch.tensor(2.5)", "torch.sum(x)", "torch.clamp(torch.sum(x), -128, 127)",
                     "torch.clamp(torch.to(torch.sum(x), 3), -128, 128)", "torch.clamp(torch.to(torch.sum(x), 3), -128, 127)"):
            self.same(["y = " + of % (i8 % "1, 2, 6, 6", "torch.tensor(0.1)" if "torch" in zero else "0.1", zero),
                       "w = " + of % (i8 % "4, 2, 3, 3", "0.1", "0"), "return torch.conv2d(y, w, None, [1, 1], [1, 1])"], "e.npz")

    # ---- lists ----

    def test_lists_of_unknown(self):
        """A list with unknown elements is written to before it is read."""
        self.array("e.npz", *range(6), rows=2)
        self.same(["n = int(torch.sum(x))", "l = [n, 2]", "_0 = torch._set_item(l, 0, 7)", "a, b = l", "return (l[0], a, b, l[1])"], "d.npz", ["e.npz"],
                  "Tuple[int, int, int, int]")

    def test_lists_written(self):
        """Elements set, appended, removed and moved, at both ends."""
        for write in ("_0 = torch._set_item(l, 0, c)", "_0 = torch._set_item(l, -1, c)", "_0 = torch.insert(l, 0, c)", "_0 = torch.insert(l, 1, c)",
                      "_0 = torch.insert(l, 2, c)", "_0 = torch.insert(l, 9, c)", "_0 = torch.insert(l, -1, c)", "_0 = torch.insert(l, -2, c)",
                      "_0 = torch.insert(l, -9, c)", "_0 = torch.append(l, c)", "_0 = torch.extend(l, [c, b, c])", "_0 = torch.extend(l, l)",
                      "_0 = torch.pop(l, 0)", "_0 = torch.pop(l, -2)", "_0 = torch.pop(l)", "torch.Delete(l, 0)", "torch.clear(l)",
                      "torch.reverse(l)", "l = torch.mul(l, 2)", "torch.clear(l)\n    _0 = torch.append(l, c)"):
            self.same(["a = torch.add(x, 1.)", "b = torch.mul(x, 2.)", "c = torch.sum(x, [0])", "l = [a, b]", *write.split("\n    "),
                       "n = torch.len(l)", "s = torch.zeros([])", "for i in range(n):", "  s = torch.add(torch.mul(s, 3.), torch.sum(l[i]))",
                       "return (s, l, n)"], "a.npz", ["b.npz"], "Tuple[Tensor, List[Tensor], int]")
        for write in ("_0 = torch._set_item(l, 0, 7)", "_0 = torch.append(l, 7)", "_0 = torch.insert(l, -1, 7)", "_0 = torch.pop(l)", "torch.reverse(l)",
                      "torch.sort(l, True)", "_0 = torch.extend(l, [4, 5])", "torch.remove(l, 2)"):
            self.same(["l = [torch.size(x, 0), 2, torch.size(x, 1)]", write, "y = torch.zeros(l)", "return (torch.add(torch.sum(x), y), l)"],
                      "a.npz", ["d.npz"], "Tuple[Tensor, List[int]]")

    def test_lists_shared(self):
        """One list under two names, in a tuple, in a list, in a dict."""
        self.same(["l = [x]", "m = l", "t = (l, x)", "_0 = torch.append(m, torch.neg(x))", "p, q, = t", "return (torch.cat(p, 0), torch.len(l), q)"],
                  "a.npz", self.all, "Tuple[Tensor, int, Tensor]")
        self.same(["l = [x]", "m = [l, [torch.neg(x)]]", "_0 = torch.append(l, torch.neg(x))", "p, q, = m", "return (torch.cat(p, 0), torch.len(m[0]), q)"],
                  "a.npz", self.all, "Tuple[Tensor, int, List[Tensor]]")
        self.same(["l = [x]", "d = {\"a\": l}", "_0 = torch.append(d[\"a\"], torch.neg(x))", "return (torch.cat(l, 0), torch.len(d[\"a\"]))"],
                  "a.npz", self.all, "Tuple[Tensor, int]")
        self.same(["a = torch.neg(x)", "l = [a, x]", "_0 = torch._set_item(l, 0, x)", "p, q, = l", "return torch.sub(p, torch.mul(q, 3.))"],
                  "a.npz", self.all)

    def test_list_arguments(self):
        """The caller sees changes to a list that it passed."""
        self.put("l.npz", npz(**{"x": npy([2]), "l.0": npy([3]), "l.1": npy([2])}))
        self.put("m.npz", npz(**{"x": npy([2]), "l.0": npy([3])}))
        self.same(["_0 = torch.append(l, x)", "n = torch.len(l)", "y = l[-1]", "return (n, y, l)"], "l.npz", ["m.npz"],
                  "Tuple[int, Tensor, List[Tensor]]", "x: Tensor, l: List[Tensor]")
        self.put("t.npz", npz(**{"t.0": npy([3]), "t.1": npy([2]), "t.2": npy([1])}))
        self.same(["return (t[-1], t[-3], t[1])"], "t.npz", (), "Tuple[Tensor, Tensor, Tensor]", "t: Tuple[Tensor, Tensor, Tensor]")

    def test_lists_in_flow(self):
        """Elements that a branch or a loop appends, also inside a call."""
        for many in ("4", "torch.size(x, 0)", "int(torch.sum(torch.ge(x, x)))"):
            self.same(["l = [x]", "n = %s" % many, "for i in range(n):", "  if bool(torch.gt(torch.sum(x), float(i))):", "    _0 = torch.append(l, torch.mul(x, i))",
                       "  else:", "    _1 = torch._set_item(l, 0, torch.neg(l[0]))", "k = torch.len(l)", "return (torch.cat(l, 0), k)"],
                      "a.npz", self.all, "Tuple[Tensor, int]")
        self.same(["l = [x]", "n = int(torch.sum(torch.ge(x, x)))", "for i in range(n):", "  _0 = (self).more(l, )", "return (torch.cat(l, 0), torch.len(l))"],
                  "a.npz", self.all, "Tuple[Tensor, int]",
                  code="  def more(self: __torch__.M, l: List[Tensor]) -> int:\n    _0 = torch.append(l, torch.neg(l[-1]))\n    return torch.len(l)\n")
        self.same(["l = [x]", "if bool(torch.gt(torch.sum(x), 2.)):", "  if bool(torch.gt(torch.sum(x), 7.)):", "    _0 = torch.append(l, x)",
                   "  else:", "    pass", "else:", "  pass", "return (torch.cat(l, 0), torch.len(l))"], "a.npz", self.all, "Tuple[Tensor, int]")

    def test_dicts(self):
        self.same(["d = {\"a\": x, \"b\": torch.neg(x)}", "_0 = torch._set_item(d, \"a\", torch.sum(x, [0]))", "k = torch.len(d)",
                   "torch.Delete(d, \"b\")", "_1 = torch._set_item(d, \"c\", x)", "return (d[\"a\"], d[\"c\"], torch.keys(d), k, torch.len(d))"], "a.npz", self.all,
                  "Tuple[Tensor, Tensor, List[str], int, int]")
        self.same(["d = {1: x}", "for i in range(int(torch.sum(torch.gt(x, 0.)))):", "  _0 = torch._set_item(d, i, torch.mul(x, i))",
                   "return (torch.len(d), torch.values(d))"], "a.npz", self.all, "Tuple[int, List[Tensor]]")

    def test_lists_unknown(self):
        """A write to an unknown list or dict counts as a write to every one that it may be."""
        self.same(["l = [x]", "d = {\"a\": l, \"b\": [torch.neg(x)]}", "k = \"a\"", "if bool(torch.gt(torch.sum(x), 2.)):", "  k = \"b\"", "else:", "  pass",
                   "_0 = torch.append(d[k], torch.sum(x, [0], True))", "return (torch.cat(l, 0), torch.len(l), torch.len(d[\"b\"]))"], "a.npz", self.all,
                  "Tuple[Tensor, int, int]")
        self.same(["l = [1]", "m = [l, [2]]", "n = int(torch.gt(torch.sum(x), 2.))", "_0 = torch.append(m[n], 7)", "return torch.zeros([torch.len(l), torch.len(m[1])])"],
                  "a.npz", self.all)
        self.same(["d = {1: x}", "l = [d, {2: x}]", "n = int(torch.gt(torch.sum(x), 2.))", "_0 = torch._set_item(l[n], 5, x)", "return (torch.len(d), torch.keys(d))"],
                  "a.npz", self.all, "Tuple[int, List[int]]")

    def test_lists_in_lists(self):
        """A branch writes to a list that is read through its container, or to the caller's list in a tuple."""
        for what in ("[l, [torch.neg(x)]]", "(l, x)"):
            self.same(["l = [x]", "m = %s" % what, "if bool(torch.gt(torch.sum(x), 2.)):", "  _0 = torch.append(l, torch.neg(x))", "else:", "  pass",
                       "return (torch.cat(m[0], 0), torch.len(m[0]))"], "a.npz", self.all, "Tuple[Tensor, int]")
        self.put("t.npz", npz(**{"t.0.0": npy([3]), "t.0.1": npy([2]), "t.1": npy([1])}))
        self.same(["l, y, = t", "_0 = torch.append(l, y)", "if bool(torch.gt(torch.sum(y), -1.)):", "  _1 = torch.append(l, y)", "else:", "  pass",
                   "n = torch.len(l)", "return (torch.zeros([n]), l, torch.len(t[0]))"], "t.npz", (), "Tuple[Tensor, List[Tensor], int]",
                  "t: Tuple[List[Tensor], Tensor]")

    def test_calls(self):
        """A method's effects on its arguments."""
        self.same(["l = [x]", "k = (self).more(l, )", "return (torch.cat(l, 0), torch.len(l), k)"], "a.npz", self.all, "Tuple[Tensor, int, int]",
                  code="  def more(self: __torch__.M, l: List[Tensor]) -> int:\n    _0 = torch.append(l, torch.neg(l[-1]))\n    return torch.len(l)\n")

    def test_tasks(self):
        """A task's effects on its arguments, in a loop and outside."""
        code = "  def more(self: __torch__.M, l: List[int], x: Tensor) -> Tensor:\n    _0 = torch.append(l, 5)\n    return torch.sum(x)\n"
        task = ["def task():", "  return (self).more(l, x, )", "f = fork(task)", "y = torch.wait(f)"]
        self.same(["l = [1, 2]", *task, "return (torch.add(torch.zeros([torch.len(l)]), y), torch.len(l))"], "a.npz", self.all, "Tuple[Tensor, int]", code=code)
        self.same(["l = [1, 2]", "n = 0", "for i in range(int(torch.sum(torch.ge(x, x)))):", "  n = torch.add(n, torch.len(l))", *("  " + t for t in task),
                   "return (n, torch.len(l))"], "a.npz", self.all, "Tuple[int, int]", code=code)

    # ---- attributes ----

    def state(self, lines, result, inputs="a.npz", others=None, **more):
        self.same(lines, inputs, self.all if others is None else others, result, before=LISTS, state=STATE, **more)

    def test_attributes(self):
        """An attribute read after a write has the written value: of another size, in a loop, in a branch, through a method."""
        self.state(["k = self.n", "self.n = torch.add(self.n, 1)", "self.n = torch.mul(self.n, 2)", "return (k, self.n, torch.add(x, self.n))"],
                   "Tuple[int, int, Tensor]")
        self.state(["self.w = x", "self.v = torch.neg(x)", "self.n = 7", "a = self.w", "b = self.v", "self.v = torch.sum(x)", "return (a, b, self.v, self.n)"],
                   "Tuple[Tensor, Tensor, Tensor, int]")
        self.state(["s = torch.zeros([])", "for i in range(torch.size(x, 0)):", "  s = torch.add(s, torch.sum(self.w))", "  self.w = torch.cat([self.w, self.w], 0)",
                    "return (s, self.w)"], "Tuple[Tensor, Tensor]")
        self.state(["s = torch.zeros([])", "for i in range(int(torch.sum(torch.gt(x, 0.)))):", "  s = torch.add(s, torch.sum(self.w))",
                    "  self.w = torch.cat([self.w, torch.neg(self.w)], 0)", "  self.n = torch.add(self.n, i)", "return (s, self.w, self.n)"],
                   "Tuple[Tensor, Tensor, int]")
        self.state(["if bool(torch.gt(torch.sum(x), 2.)):", "  self.n = 9", "  self.w = x", "else:", "  pass", "return (self.n, self.w)"], "Tuple[int, Tensor]")
        self.state(["k = (self).grow(x, )", "return (k, self.n, self.w)"], "Tuple[int, int, Tensor]",
                   code="  def grow(self: __torch__.M, x: Tensor) -> int:\n    self.w = x\n    self.n = torch.add(self.n, 1)\n    return self.n\n")
        self.state(["_0 = torch.append(self.sizes, torch.size(x, 0))", "n = torch.len(self.sizes)", "return (n, self.sizes)"], "Tuple[int, List[int]]")

    # ---- numbers and types ----

    def test_random(self):
        """A random draw is no constant, whatever its arguments are."""
        for draw in ("torch.rand([2])", "torch.randint(0, 10, [2])", "torch.randperm(4)", "torch.bernoulli(torch.full([4], 0.5))"):
            self.same(["return torch.add(%s, torch.mul(torch.sum(x), 0.))" % draw], "a.npz", ["b.npz"])
            self.in_turn(["return torch.add(%s, torch.mul(torch.sum(x), 0.))" % draw], "a.npz", "a.npz", "b.npz", "a.npz")
            self.same(["d = %s" % draw, "if torch.eq(torch.dim(x), 3):", "  print(d)", "else:", "  pass", "return torch.add(%s, torch.sum(x))" % draw],
                      "a.npz", ["b.npz"])
            self.same(["n = int(torch.sum(%s))" % draw, "return torch.full([torch.add(1, torch.mul(n, 0))], n)"], "a.npz", ["b.npz"], runs=2)

    def test_constants_written(self):
        """A constant of the model that is written to has its current value when read."""
        self.same(["c = torch.ones([2])", "a = float(torch.sum(c))", "_0 = torch.add_(c, 1.)", "b = float(torch.sum(c))", "return torch.add(x, a, alpha=b)"],
                  "a.npz", self.all)
        self.same(["c = torch.tensor([2])", "n = int(c)", "_0 = torch.add_(c, 1)", "m = int(c)", "return torch.zeros([n, m])"], "a.npz", self.all)

    def test_bodies_written(self):
        """The result of an operator's body on constants is no constant if the model writes to it or to its arguments."""
        for made in ("torch.masked_fill(self.w, torch.gt(self.w, -1.), 2)", "torch.masked_fill(self.w, torch.gt(self.w, 2.), 2)",
                     "torch.softmax(self.w, 0)", "torch.layer_norm(self.w, [3])", "torch.flatten(torch.masked_fill(self.w, torch.gt(self.w, 1.), 2))"):
            self.same(["s = torch.sum(x)", "for i in range(torch.size(x, 0)):", "  y = %s" % made, "  if bool(torch.gt(s, -100.)):",
                       "    _0 = torch.mul_(y, 0.5)", "  else:", "    _1 = torch.add_(y, 1.)", "  s = torch.add(s, torch.sum(y))", "return s"],
                      "a.npz", self.all)
            self.same(["s = torch.sum(x)", "for i in range(torch.size(x, 0)):", "  y = %s" % made, "  _0 = torch.add_(self.w, s)",
                       "  s = torch.add(s, torch.sum(y))", "return s"], "a.npz", self.all)

    def test_bodies_of_written_constants(self):
        self.same(["s = torch.sum(x)", "for i in range(torch.size(x, 0)):", "  y = torch.masked_fill(CONSTANTS.c0, torch.gt(CONSTANTS.c0, 1.), 2)",
                   "  _0 = torch.add_(CONSTANTS.c0, s)", "  s = torch.add(s, torch.sum(y))", "return s"], "a.npz", self.all,
                  **{"constants.pkl": pickled(b"(" + W + b"t"), "constants/0": bytes(24)})

    def test_errors_kept(self):
        """An operator that may raise is kept, even if only a branch that the profile leaves out reads its result."""
        self.put("in.npz", npz(x=npy([3]), k=npy([], "<i8", struct.pack("<q", 1))))
        self.put("out.npz", npz(x=npy([3]), k=npy([], "<i8", struct.pack("<q", 5))))
        self.put("zero.npz", npz(x=npy([3]), k=npy([], "<i8", struct.pack("<q", 0))))
        for line in ("_0 = torch._set_item(l, k, 7)", "a = l[k]", "a = torch.floordiv(6, k)", "t = torch.index_select(x, 0, torch.tensor([k]))",
                     "t = torch.embedding(x2, torch.tensor([k]))", "a = {1: 2, 5: 3}[k]"):
            self.same(["l = [torch.len(x), 3]", "x2 = torch.unsqueeze(x, 0)", "x2 = torch.cat([x2, x2], 0)", "a = 0", "t = x", line,
                       "if torch.eq(torch.dim(x), 2):", "  print(l, a, t)", "else:", "  pass", "return torch.neg(x)"],
                      "in.npz", ["out.npz", "zero.npz"], args="x: Tensor, k: int")
            self.same(["l = [torch.len(x), 3]", "x2 = torch.unsqueeze(x, 0)", "x2 = torch.cat([x2, x2], 0)", "a = 0", "t = x",
                       "if torch.gt(float(torch.sum(x)), -1.):", "  " + line, "else:", "  pass",
                       "if torch.eq(torch.dim(x), 2):", "  print(l, a, t)", "else:", "  pass", "return torch.neg(x)"],
                      "out.npz", ["in.npz", "zero.npz"], args="x: Tensor, k: int")

    def test_optionals(self):
        """None in one run and a tensor in another; tensors of two dtypes."""
        lines = ["y = annotate(Optional[Tensor], None)", "if bool(torch.gt(torch.sum(x), 2.)):", "  y = torch.neg(x)", "else:", "  pass",
                 "if torch.__is__(y, None):", "  z = torch.sum(x)", "else:", "  z = torch.mul(unchecked_cast(Tensor, y), 2.)", "return z"]
        for profiled in ("a.npz -i b.npz", "a.npz -i c.npz", "c.npz", "c.npz -i a.npz"):
            first, *more = profiled.split(" -i ")
            self.special(lines, [first, *more], ["a.npz", "b.npz", "c.npz", "d.npz"])
        lines = ["if bool(torch.gt(torch.sum(x), 8.)):", "  y = torch.to(x, 7)", "else:", "  y = torch.to(torch.sum(x, [0]), 6)", "return torch.mul(y, 1.1)"]
        for profiled in (["a.npz"], ["a.npz", "b.npz"], ["b.npz", "a.npz"], ["a.npz", "c.npz"]):
            self.special(lines, profiled, ["a.npz", "b.npz", "c.npz", "d.npz"])

    def test_mixed(self):
        """A tensor in one run and a number in another: no guard claims that it is always one of them."""
        self.special(["y = unchecked_cast(Union[Tensor, int], 3)", "if bool(torch.gt(torch.sum(x), 8.)):", "  y = torch.mul(x, 2.)", "else:", "  pass",
                      "if isinstance(y, int):", "  z = torch.neg(x)", "else:", "  z = torch.add(y, 1.)", "return z"], ["b.npz", "a.npz"], ["c.npz", "d.npz"], strict=True)

    def special(self, lines, profiled, others, result="Tensor", strict=False):
        """Builds with several profiled inputs. strict: these inputs must fail no guard."""
        self.put("m.pt", model(body(lines, "x: Tensor", result)))
        rc, said, errors = call([KILN, "build", "m.pt", *(o for i in profiled for o in ("-i", i)), *TCC, "-o", "program"], self.dir)
        self.assertEqual(rc, 0, (lines, errors))
        for i in strict * profiled:
            self.check([os.path.join(self.dir, "program"), "-i", i, "--strict"], 0)
        for i in (*strict * profiled, *others):
            rc, said, errors = call([KILN, "check", "m.pt", "program", "-i", i], self.dir)
            self.assertEqual(rc, 0, (lines, profiled, i, said, errors))
        os.remove(os.path.join(self.dir, "program"))

    def test_numbers(self):
        """Numbers that were the same in all runs, in some, in none."""
        for number in ("int(torch.sum(torch.gt(x, 0.)))", "int(torch.sum(torch.gt(x, 100.)))", "torch.size(x, 1)"):
            for lines in (["n = %s" % number, "if torch.gt(n, 2):", "  y = torch.zeros([n])", "else:", "  y = torch.ones([2, torch.add(n, 1)])", "return torch.mul(y, 2.)"],
                          ["n = %s" % number, "y = x", "for i in range(n):", "  y = torch.add(y, i)", "return torch.mul(y, n)"],
                          ["n = %s" % number, "if torch.gt(n, 3):", "  ops.prim.RaiseException(\"too many\", \"AssertionError\")", "else:", "  pass",
                           "return torch.add(x, n)"],
                          ["n = %s" % number, "y = torch.sum(x, [0])", "while torch.gt(n, 0):", "  n = torch.sub(n, 1)", "  y = torch.mul(y, 2.)", "return torch.add(y, n)"]):
                for profiled in (["a.npz"], ["a.npz", "a.npz"], ["a.npz", "c.npz"], ["b.npz", "a.npz", "d.npz"]):
                    self.put("m.pt", model(body(lines)))
                    rc, said, errors = call([KILN, "build", "m.pt", *(o for i in profiled for o in ("-i", i)), *TCC, "-o", "program"], self.dir)
                    if rc == 1 and b"too many" in errors:
                        continue
                    self.assertEqual(rc, 0, (lines, errors))
                    for i in ("a.npz", "b.npz", "c.npz", "d.npz"):
                        rc, said, errors = call([KILN, "check", "m.pt", "program", "-i", i], self.dir)
                        self.assertTrue(rc == 0 or b"too many" in errors, (lines, profiled, i, said, errors))
                    os.remove(os.path.join(self.dir, "program"))

    def test_dynamic(self):
        """Sizes that no formula gives: one sample differs, numbers of parts and trips differ, memory is shared in some samples
        only, two symbols."""
        for lines in (["n = torch.size(x, 0)", "m = torch.add(n, int(torch.eq(n, 5)))", "return torch.mul(torch.add(torch.zeros([m, 3]), torch.sum(x)), 2.)"],
                      ["n = torch.size(x, 0)", "m = torch.add(torch.floordiv(n, 2), torch.remainder(n, 3))", "return torch.add(torch.zeros([m, n]), torch.sum(x))"],
                      ["n = torch.size(x, 0)", "if torch.eq(n, 6):", "  y = x", "else:", "  y = torch.neg(x)", "z = torch.add(y, 1.)", "return torch.mm(z, torch.t(y))"],
                      ["l = torch.split(x, 4)", "s = torch.sum(x)", "for i in range(torch.len(l)):", "  s = torch.add(torch.mul(s, 0.5), torch.sum(torch.mm(l[i], torch.t(x))))", "return s"],
                      ["n = torch.size(x, 0)", "y = torch.slice(x, 0, 0, 7)", "z = torch.relu(torch.mm(y, torch.t(x)))", "return torch.softmax(torch.mm(z, x), 0)"],
                      ["a = torch.softmax(torch.mm(x, torch.t(x)), 0)", "b = torch.cumsum(torch.mm(a, x), 0)", "c = torch.softmax(torch.mm(a, b), 1)",
                       "d = torch.cumsum(torch.mm(torch.t(c), b), 0)", "return torch.mm(c, d)"],
                      ["y = torch.reshape(torch.t(x), [-1])", "return torch.mul(torch.softmax(y, 0), 2.)"],
                      ["y = torch.cat([x, torch.slice(x, 0, 3)], 0)",
                       "return torch.softmax(torch.mul(y, y), 1)"]):
            self.many(lines, "x=float32[2..9x3]", [(n, 3) for n in (*range(2, 13), 40, 1, 9, 2)])
        self.many(["y = torch.softmax(torch.mm(x, torch.t(x)), 0)", "return torch.softmax(torch.mm(y, x), 1)"], "x=float32[2..9x3..8]",
                  ((4, 5), (4, 7), (5, 4), (7, 4), (4, 5), (9, 8), (2, 3)))

    def many(self, lines, profiled, sizes):
        """One program on inputs of many sizes, one after the other."""
        self.put("m.pt", model(body(lines)))
        rc, said, errors = call([KILN, "build", "m.pt", "-i", profiled, *TCC, "-o", "program"], self.dir)
        self.assertEqual(rc, 0, (lines, errors))
        for n, m in sizes:
            self.array("%dx%d.npz" % (n, m), *((7 * i % 13) / 5 - 1 for i in range(n * m)), rows=n, columns=m)
        rc, said, errors = call([KILN, "check", "m.pt", "program", *(o for n, m in sizes for o in ("-i", "%dx%d.npz" % (n, m)))], self.dir)
        self.assertEqual(rc, 0, (lines, said, errors))
        os.remove(os.path.join(self.dir, "program"))

    def test_joins(self):
        """The joined result of a branch or a loop may alias another value and be written to."""
        for write in ("_0 = torch.add_(y, 1.)", "_0 = torch.add_(x, 1.)", "self.w = y", "l = [y]\n_0 = torch.add_(l[0], 1.)"):
            self.same(["z = torch.neg(x)", "if bool(torch.gt(torch.sum(x), 2.)):", "  y = x", "else:", "  y = z", *write.split("\n"),
                       "return (x, y, z)"], "a.npz", self.all, "Tuple[Tensor, Tensor, Tensor]")
            self.same(["y = x", "for i in range(int(torch.sum(torch.gt(x, 2.)))):", "  y = torch.neg(y)", *write.split("\n"), "return (x, y)"],
                      "a.npz", self.all, "Tuple[Tensor, Tensor]")
            self.same(["y = x", "for i in range(int(torch.sum(torch.gt(x, 2.)))):", "  y = torch.t(torch.t(y))", *write.split("\n"), "return (x, y)"],
                      "a.npz", self.all, "Tuple[Tensor, Tensor]")
        self.same(["y = x", "for i in range(int(torch.sum(torch.gt(x, 0.)))):", "  y = torch.cat([y, y], 0)", "return y"], "a.npz", self.all)
        self.same(["y = x", "for i in range(int(torch.sum(torch.gt(x, 0.)))):", "  y = torch.t(y)", "return torch.add(y, 1.)"], "a.npz", self.all)
        self.same(["y = torch.to(x, 6)", "for i in range(int(torch.sum(torch.gt(x, 0.)))):", "  y = torch.to(torch.sum(y, [0], True), 7)", "return torch.mul(y, 1.1)"],
                  "a.npz", self.all)
        self.same(["if bool(torch.gt(torch.sum(x), 2.)):", "  y = torch.t(x)", "else:", "  y = torch.neg(x)", "return (torch.add(y, 1.), y)"], "a.npz", self.all,
                  "Tuple[Tensor, Tensor]")

    def test_branches(self):
        """A branch decided by sizes is replaced by the taken side, including its prints, writes and raises, though it has no
        result."""
        for effect in ("print(torch.dim(x))", "_0 = torch.add_(y, 1.)", "self.n = 7", "_0 = torch.append(l, y)", "ops.prim.RaiseException(\"no\")"):
            for sides in ((effect, "pass"), ("pass", effect)):
                for rank in 1, 2:
                    self.state(["y = torch.neg(x)", "l = [x]", "if torch.eq(torch.dim(x), %d):" % rank, "  " + sides[0], "else:", "  " + sides[1],
                                "return (y, torch.len(l), self.n)"], "Tuple[Tensor, int, int]", others=["d.npz"])

    def test_isinstance(self):
        self.same(["y = unchecked_cast(Union[Tensor, int, List[int]], x)", "if bool(torch.gt(torch.sum(x), 2.)):", "  y = 3", "else:", "  pass",
                   "if isinstance(y, int):", "  z = 1", "else:", "  z = 2", "return torch.add(x, z)"], "a.npz", self.all)

    def test_writes(self):
        """In-place operators on a part of a tensor, with an operand of another dtype or size."""
        for write in ("torch.sigmoid_(p)", "torch.add_(p, 1)", "torch.mul_(p, torch.sum(x))", "torch.add_(p, torch.to(p, 7))", "torch.clamp_(p, 0., 1.)",
                      "torch.pow_(p, 2)", "torch.copy_(p, torch.to(torch.ones([]), 4))", "torch.relu_(p)", "torch.hardtanh_(p)"):
            for part in ("torch.select(y, 0, 1)", "torch.slice(y, 1, 1)", "torch.t(y)", "torch.unbind(y, 0)[1]", "y"):
                self.same(["y = torch.mul(x, 0.5)", "p = %s" % part, "_0 = %s" % write, "return (y, p)"], "a.npz", ["d.npz"], "Tuple[Tensor, Tensor]")

    def test_parts_written(self):
        """Writes to parts of a tensor that nothing else reads become values. Every observer still sees the model's values."""
        self.array("e.npz", *range(18), rows=3, columns=6)
        self.array("f.npz", *range(36), rows=3, columns=12)
        for parts, write, rest, result in product(
                ("torch.unsafe_chunk(y, 3, 1)", "torch.split(y, 1)", "torch.unbind(torch.mul(y, 2.))"), ("p = torch.sigmoid_(a)", "p = torch.mul_(a, torch.sum(x))"),
                ([], ["q = torch.mul_(a, 2.)"], ["q = torch.add_(p, b)", "r = torch.exp_(a)"], ["_1 = torch.add_(b, a)", "_2 = torch.tanh_(p)"],
                 ["if bool(torch.gt(torch.sum(x), 8.)):", "  _1 = torch.neg_(a)", "else:", "  pass"], ["for i in range(2):", "  _1 = torch.add_(p, i)"],
                 ["_1 = torch.resize_as_(p, a)"], ["_1 = torch.copy_(c, a)"]),
                ("(torch.mul(p, b), torch.add(a, c))", "(a, p)", "(y, p)", "(torch.neg(torch.t(torch.squeeze(p))), torch.cat([a, b]))")):
            self.same(["y = torch.mul(x, 0.5)", "a, b, c, = " + parts, write, *rest, "return " + result], "e.npz", ["f.npz"], "Tuple[Tensor, Tensor]")
        for before in "v = torch.unsqueeze(a, 0)", "v = torch.stack([a, b])", "l = [a, b]\n    v = torch.neg(y)", "v = torch.select(y, 0, 0)":
            for write in "p = torch.sigmoid_(a)", "p = torch.sigmoid_(torch.sigmoid_(a))":
                self.same(["y = torch.mul(x, 0.5)", "a, b, c, = torch.chunk(y, 3, 1)", *before.split("\n    "), write, "return (v, p)"], "e.npz", ["f.npz"],
                          "Tuple[Tensor, Tensor]")
        for write in "_0 = torch.neg_(q)", "_0 = torch.neg_(r)":
            self.same(["y = torch.mul(x, 0.5)", "if torch.gt(torch.size(x, 0), 2):", "  a, b, c, = torch.chunk(y, 3, 1)", "  p = torch.sigmoid_(a)", "  q, r = a, p",
                       "else:", "  q, r = y, y", write, "return (q, r)"], "e.npz", ["f.npz"], "Tuple[Tensor, Tensor]")
        for lies in "torch.stride(p)", "torch.stride(torch.mul(a, 2.))", "[int(torch.is_contiguous(p)), torch.storage_offset(a)]", "torch.size(torch.view(p, [-1]))":
            for parts in "torch.chunk(y, 3, 1)", "torch.split(y, 1)", "torch.unbind(y)":
                self.same(["y = torch.mul(x, 0.5)", "a, b, c, = " + parts, "p = torch.sigmoid_(a)", "return (p, %s)" % lies], "e.npz", ["f.npz"], "Tuple[Tensor, List[int]]")

    def test_numbers_written(self):
        """Sizes in tensors that are written to, under one name and two."""
        for write in ("m = torch.mul_(n, 2)", "m = torch.mul_(n, 2)\n    m = torch.add_(m, n)", "m = torch.mul_(torch.clone(n), 2)\n    k = torch.add_(n, m)",
                      "m = torch.clone(n)\n    k = torch.mul_(m, 2)\n    n = torch.add_(k, 1)", "m = torch.add_(n, torch.to(torch.sum(x), 4))",
                      "m = torch.mul_(n, 2)\n    p = torch.unsqueeze(m, 0)\n    k = torch.add_(p, 5)"):
            self.same(["n = ops.prim.NumToTensor(torch.size(x, 0))", *write.split("\n    "), "y = torch.zeros([int(torch.abs(n)), int(torch.abs(m))])",
                       "return (torch.add(y, 1.), n, m)"], "a.npz", self.all, "Tuple[Tensor, Tensor, Tensor]")

    def test_copies(self):
        """The result of aten::copy has memory of its own: a write to either tensor is not seen in the other."""
        for src, sizes in ("x", "3, 3"), ("torch.select(x, 0, 1)", "3"), ("torch.mul(x, 2.)", "3, 3"), ("torch.ones([3])", "3"), ("torch.sum(x, [0])", "3, 3"):
            for what in "x", "s", "y":
                for result in "torch.mul(y, 2.)", "y", "torch.mul(s, y)":
                    self.same(["s = %s" % src, "y = torch.copy(torch.zeros([%s]), s)" % sizes, "_0 = torch.add_(%s, 1.)" % what, "return (%s, x)" % result],
                              "a.npz", (), "Tuple[Tensor, Tensor]")

    def test_dtype_kept(self):
        """A write to a known tensor keeps its dtype, whatever dtype the operator computes."""
        for make in "torch.tensor([3, -4])", "torch.to(torch.tensor([3, -4]), 3)", "torch.clone(self.w)", "torch.max(torch.tensor([3, -4]))":
            for write in "torch.gt_(a, 0)", "torch.logical_not_(a)", "torch.mul_(a, torch.tensor(True))", "torch.eq_(a, torch.tensor(3))":
                self.same(["a = " + make, "_0 = " + write, "return (torch.minimum(a, a), torch.add(x, a))"], "a.npz", (), "Tuple[Tensor, Tensor]")


class Sizes(Form):
    def test_written(self):
        """A size in a tensor that is written to stays a known number."""
        self.form(["n = ops.prim.NumToTensor(torch.size(x, 0))", "m = torch.mul_(n, 2)", "k = torch.sub_(m, 12)", "y = torch.reshape(x, [int(k), -1])",
                   "return torch.mul(y, 2.)"], ["x=float32[8x12]"])


class Dtypes(Form):
    def test_no_code(self):
        """An integer that is no code of a dtype: an error of the call for every function that makes tensors, and never a read
        past a table."""
        self.put("x.npz", npz(x=npy([3], data=struct.pack("<3f", 1, 2, 3))))
        for given in "torch.float*64", "99", "-1", "torch.size(x, 0)*4096":
            for makes in ("torch.zeros([2], dtype=%s)", "torch.to(x, %s)", "torch.sum(x, dtype=%s)", "torch.softmax(x, 0, %s)", "torch.arange(4, dtype=%s)",
                          "torch.cumsum(x, 0, dtype=%s)", "torch.hann_window(5, dtype=%s)", "torch.quantize_per_tensor(x, 0.1, 3, %s)",
                          "torch.norm(x, 2, [0], False, dtype=%s)", "torch.tensor([3, 4], dtype=%s)", "torch.rand([3], dtype=%s)",
                          "torch.randperm(3, dtype=%s)", "torch.linspace(0, 1, 5, dtype=%s)"):
                with self.subTest(makes % given):
                    self.put("m.pt", model(body(["return " + makes % given])))
                    self.check([KILN, "run", "m.pt", "-i", "x.npz"], 1)
                    self.check([KILN, "build", "m.pt", "-i", "x.npz", "--cc", "tcc", "-o", "p"], 0)
                    self.check(["./p", "-i", "x.npz"], 1)


if __name__ == "__main__":
    unittest.main()
