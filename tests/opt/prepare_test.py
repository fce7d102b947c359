"""Passes that need a whole model, and specialization: what must change and what must not.

usage: prepare_test.py KILN
"""
import os, re, struct, sys, unittest

KILN = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../program"))
from hostile import Test, W, attrs, body, call, model, npy, npz, num, tensor

HELPER = """  def double(self: __torch__.M, y: Tensor) -> Tensor:
    return torch.mul(y, 2.)
  def twice(self: __torch__.M, y: Tensor) -> Tensor:
    return (self).double((self).double(y, ), )
"""
SETTER = """  def set(self: __torch__.M, y: Tensor) -> NoneType:
    self.w = y
    return None
"""
ADDER = """  def add(self: __torch__.M, y: Tensor) -> Tensor:
    print(0)
    return torch.add_(y, 1.)
"""
LISTS = "  sizes : List[int]\n  all : List[Tensor]\n"


class Prepare(Test):
    def graph(self, code, *options):
        self.put("m.pt", model(code))
        rc, out, err = call([KILN, "show", "m.pt", *options], self.dir)
        self.assertEqual(rc, 0, err.decode())
        return out.decode()

    def frozen(self, lines, more=""):
        """Is the attribute w a constant in the prepared method?"""
        text = self.graph(body(lines) + more, "--stage", "prepared")
        constant, read = "prim::Constant[value={[[0., 1., 2.], [3., 4., 5.]]}]" in text, 'prim::GetAttr[name="w"]' in text
        self.assertNotEqual(constant, read, text)
        return constant

    def test_inlining_does(self):
        text = self.graph(body(["return (self).twice(x, )"]) + HELPER, "--stage", "inlining")
        self.assertNotIn("CallMethod", text)
        self.assertEqual(text.count("aten::mul"), 2)

    def test_inlining_must_not(self):
        text = self.graph(body(["return (self).twice(x, )"]) + HELPER, "--stage", "inlining", "-L", "inlining=0")
        self.assertEqual(text.count("CallMethod"), 1)
        text = self.graph(body(["return (self).twice(x, )"]) + HELPER, "--stage", "inlining", "-L", "inlining=1")
        self.assertEqual(text.count("CallMethod"), 2)
        text = self.graph(body(["y = torch.neg(x)", "z = (self).add(y, )", "print(1)", "return torch.mul(y, z)"]) + ADDER,
                          "--stage", "inlining")  # it writes to the caller's tensor, not to a copy
        self.assertRegex(text, r"(?s)(%\S+) : Tensor = aten::neg\(%x\).* prim::Print\(.*(%\S+) : Tensor = aten::add_\(\1,.*prim::Print\(.*mul\(\1, \2\)")

    def test_branches_must_not(self):
        """Two places that may fail are not merged: the error names the one that ran."""
        text = self.graph(body(["if bool(torch.gt(torch.sum(x), 0)):", "  y = torch.mm(x, x)", "else:", "  y = torch.mm(x, x)", "return y"]),
                          "--stage", "branches")
        self.assertEqual(text.count("aten::mm"), 2)

    def test_affine_strided(self):
        """A constant by channel that is a column of another tensor in the model."""
        code = "  v : Tensor\n" + body(["y = torch.linear(x, self.w)", "return torch.mul(y, self.v)"])
        self.put("m.pt", model(code, attrs(training=b"\x89", w=W, v=tensor(6, [2], [3]))))
        rc, out, err = call([KILN, "show", "m.pt", "--stage", "affine"], self.dir)
        self.assertEqual(rc, 0, err.decode())
        self.assertIn("{[[0., 0., 0.], [9., 12., 15.]]}", out.decode())

    def test_freeze_does(self):
        self.assertTrue(self.frozen(["return torch.add(x, self.w)"]))
        self.assertTrue(self.frozen(["y = torch.add_(x, self.w)", "return y"]))                # the argument is written
        self.assertTrue(self.frozen(["y = torch.clone(self.w)", "return torch.zero_(y)"]))     # a copy is written
        self.assertTrue(self.frozen(["if False:", "  self.w = x", "else:", "  pass", "return torch.add(x, self.w)"]))
        self.assertTrue(self.frozen(["return torch.add(x, self.w)"], SETTER))                  # nothing calls the setter

    def test_freeze_must_not(self):
        self.assertFalse(self.frozen(["y = torch.add(x, self.w)", "self.w = y", "return y"]))
        self.assertFalse(self.frozen(["_0 = torch.zero_(torch.select(self.w, 0, 0))", "return torch.add(x, self.w)"]))
        self.assertFalse(self.frozen(["l = [torch.slice(self.w, 0, 0, 1)]", "_0 = torch.zero_(l[0])", "return torch.add(x, self.w)"]))
        self.assertFalse(self.frozen(["a, b, = (torch.reshape(self.w, [-1]), x)", "_0 = torch.zero_(a)", "return torch.add(b, self.w)"]))
        self.assertFalse(self.frozen(['d = {"k": self.w}', '_0 = torch.zero_(d["k"])', "return torch.add(x, self.w)"]))
        self.assertFalse(self.frozen(["if bool(torch.any(x)):", "  y = self.w", "else:", "  y = x", "_0 = torch.zero_(y)",
                                      "return torch.add(x, self.w)"]))
        self.assertFalse(self.frozen(["_0 = (self).set(x, )", "return torch.add(x, self.w)"], SETTER))

    def lists(self, lines):
        """Returns which of the module's lists become constants."""
        state = attrs(training=b"\x89", w=W, sizes=b"](" + num(2) + num(3) + b"e", all=b"](" + W + W + b"e")
        self.put("m.pt", model(LISTS + body(lines), state))
        rc, out, err = call([KILN, "show", "m.pt", "--stage", "prepared"], self.dir)
        self.assertEqual(rc, 0, err.decode())
        return [name for name in ("sizes", "all") if 'name="%s"' % name not in out.decode()]

    def test_freeze_lists(self):
        use = "return torch.cat([torch.view(x, self.sizes), torch.cat(self.all)])"
        self.assertEqual(self.lists([use]), ["sizes", "all"])
        self.assertEqual(self.lists(["_0 = torch.append(self.sizes, 1)", use]), ["all"])
        self.assertEqual(self.lists(["_0 = torch.append(self.all, x)", use]), ["sizes"])
        self.assertEqual(self.lists(["_0 = torch.zero_((self.all)[0])", use]), ["sizes"])
        self.assertEqual(self.lists(["_0 = torch.zero_(self.w)", use]), ["sizes"])             # they share a storage

    def after(self, stage, *lines):
        return self.graph(body(list(lines)), "--grad", "w" if stage == "lift" else "x", "--stage", stage)

    def test_lift_does(self):
        text = self.after("lift", "return torch.add(x, self.w)")
        self.assertNotIn("GetAttr", text)
        self.assertIn("%w : Tensor,", text)

    def test_lift_must_not(self):
        text = self.after("lift", "print(self.training)", "return torch.add(x, self.w)")       # no gradient by this parameter is requested
        self.assertIn('prim::GetAttr[name="training"]', text)
        self.assertNotIn("%training : bool,", text)

    def test_unwrite_does(self):
        text = self.after("unwrite", "y = torch.mul(x, 2.)", "_0 = torch.add_(y, x)", "return torch.mul(y, y)")
        self.assertNotIn("add_", text)
        self.assertIn("aten::mul(%_0, %_0)", text)

    def test_unwrite_must_not(self):                                                            # no gradient passes through z
        text = self.after("unwrite", "z = torch.mul(torch.detach(x), 2.)", "_0 = torch.add_(torch.select(z, 0, 0), 1.)",
                          "print(z)", "return torch.mul(x, x)")
        self.assertIn("aten::add_", text)

    def test_autograd_does(self):
        text = self.graph(body(["_0 = torch.requires_grad_(x)", "_1 = torch.sum(torch.sin(x))",
                                "g = torch.autograd.grad([_1], [x])[0]", "return torch.add(x, unchecked_cast(Tensor, g))"]),
                          "--stage", "autograd")
        self.assertNotIn("aten::grad(", text)
        self.assertIn("aten::cos", text)

    def test_autograd_must_not(self):                                                          # nothing requires a gradient
        text = self.graph(body(["_1 = torch.sum(torch.sin(x))", "g = torch.autograd.grad([_1], [x])[0]",
                                "return torch.add(x, unchecked_cast(Tensor, g))"]), "--stage", "autograd")
        self.assertIn("aten::grad(", text)
        self.assertNotIn("aten::cos", text)

    def test_autodiff_does(self):
        text = self.after("autodiff", "return torch.mul(x, x)")
        self.assertEqual(text.count("prim::grad_seed"), 1)
        self.assertEqual(text.count("aten::mul"), 3)

    def test_autodiff_must_not(self):
        text = self.after("autodiff", "return torch.mul(torch.detach(x), self.w)")
        self.assertEqual(text.count("aten::mul"), 1)
        self.assertNotIn("grad_seed", text)


class Every(unittest.TestCase):
    """Every pass has a golden graph, or a test here, of changes that it makes and of changes that it must not make."""
    def test_every_pass(self):
        with open(os.path.join(HERE, "../../opt/passes/passes.def")) as f:
            passes = re.findall(r"^PASS\((\w+),", f.read(), re.M)
        for name in passes:
            for what in "does", "must_not":
                self.assertTrue(os.path.exists(os.path.join(HERE, "%s_%s.ir" % (name, what))) or
                                hasattr(Prepare, "test_%s_%s" % (name, what)), "%s_%s" % (name, what))


class Specialize(Test):
    """The specialized graph of forward(x, n), profiled on some values of n."""
    def graph(self, ns, *lines):
        self.put("m.pt", model(body(list(lines), "x: Tensor, n: Tensor")))
        argv = [KILN, "show", "m.pt", "--stage", "specialized"]
        for i, n in enumerate(ns):
            self.put("%d.npz" % i, npz(x=npy((2, 3)), n=npy((), "<i8", struct.pack("<q", n))))
            argv += ["-i", "%d.npz" % i]
        rc, out, err = call(argv, self.dir)
        self.assertEqual(rc, 0, err.decode())
        return out.decode()

    BRANCH = "if bool(torch.gt(n, 5)):", "  y = torch.neg(x)", "else:", "  y = torch.exp(x)", "return y"

    def test_branches(self):
        text = self.graph([1, 2], *self.BRANCH)
        self.assertIn("value=False]", text)
        self.assertNotIn("prim::If", text)
        self.assertNotIn("aten::neg", text)

    def test_branches_must_not(self):
        self.assertIn("prim::If", self.graph([1], *self.BRANCH))                               # one run is not enough
        self.assertIn("prim::If", self.graph([1, 9], *self.BRANCH))                            # both branches were taken

    def test_errors(self):
        fails = "if bool(torch.gt(n, 5)):", '  ops.prim.RaiseException("more")', "else:", "  pass", "return x"
        self.assertNotIn("prim::If", self.graph([1], *fails))
        self.assertIn("prim::If", self.graph([1, 9], *fails))

    def test_numbers(self):
        view = "return torch.view(x, [int(n), -1])"
        self.assertIn("value=2]", self.graph([2, 2], view))
        self.assertIn(" = aten::view", self.graph([2, 2], view).split("strides=[3, 1], requires_grad=0, device=cpu)")[-1])

    def test_numbers_of_any_value(self):
        """A number of which only the kind matters needs no guard, since types do not depend on its value."""
        text = self.graph([2], "y = torch.mul(torch.add(x, int(n)), float(n))", "_0 = torch.div_(y, float(n))",
                          "return torch.mul(torch.full([2, 3], float(n)), y)")
        self.assertNotIn("BailOut", text)
        self.assertIn("aten::div_", text)

    def test_numbers_must_not(self):
        self.assertNotIn("value=2]", self.graph([2], "return torch.view(x, [int(n), -1])"))    # one run
        self.assertNotIn("value=", "".join(self.graph([2, 3], "return torch.view(x, [int(n), -1])").split("BailOut")[1:]))
        # the number decides nothing
        self.assertNotIn("value=", "".join(self.graph([2, 2], "return torch.mul(x, int(n))").split("BailOut")[1:]))
        self.assertIn("BailOut", self.graph([2], "return torch.neg(torch.arange(float(n)))"))   # the number decides the size
        self.assertNotIn("BailOut", self.graph([2, 2], "i = torch.randint(5, [])", "return torch.view(x, [int(i), -1])")
                         .split("aten::view")[0])                                               # a random number

    def test_bools(self):
        """The same for bools, if they decide a size or a branch."""
        keep = "return torch.sum(x, [0], bool(n))"
        for n in 0, 1:
            text = self.graph([n, n], keep)
            self.assertIn("value=%s]" % bool(n), text)
            self.assertNotIn("aten::Bool", text.split("BailOut")[-1])
        text = self.graph([1, 1], "b = bool(n)", "if b:", "  y = torch.neg(x)", "else:", "  y = torch.exp(x)", "return torch.sum(y, [0], b)")
        self.assertEqual(text.count("prim::BailOut"), 1)                                       # the number is known after its first guard
        self.assertNotIn("aten::exp", text)

    def test_bools_must_not(self):
        keep = "return torch.sum(x, [0], bool(n))"
        self.assertNotIn("value=", "".join(self.graph([1], keep).split("BailOut")[1:]))        # one run
        self.assertNotIn("value=", "".join(self.graph([0, 1], keep).split("BailOut")[1:]))     # both values
        self.assertNotIn("BailOut", self.graph([1, 1], "return torch.mul(x, bool(n))"))        # the bool decides nothing
        self.assertNotIn("BailOut", self.graph([1, 1], "b = torch.rand([])", "return torch.sum(x, [0], bool(torch.gt(b, -1)))")
                         .split("aten::sum")[0])                                               # a random bool


if __name__ == "__main__":
    unittest.main()
