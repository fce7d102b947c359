"""Modules whose parts Kiln itself calls: hooks, submodules by a key, enums by value.

usage: hooks_test.py KILN     archives are made here, by zipfile and a few bytes of pickle
"""
import os, struct, subprocess, sys, tempfile, unittest, zipfile

KILN = os.path.abspath(sys.argv.pop(1))


def text(s): return b"X" + struct.pack("<I", len(s)) + s.encode()
def pickled(body): return b"\x80\x02" + body + b"."
def obj(cls, **kw):
    return (b"c__torch__\n%s\n)\x81}(" % cls.encode() + b"".join(text(k) + v for k, v in kw.items()) + b"ub")


def run(code, state, saved=None):
    """Runs the model. Returns the printed text. saved: level of a kiln save before the run."""
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "m.pt")
        with zipfile.ZipFile(path, "w") as z:
            for name, data in {"data.pkl": pickled(state), "constants.pkl": pickled(b")"), "version": b"3\n",
                               "code/__torch__.py": code.encode()}.items():
                z.writestr("m/" + name, data)
        if saved:
            subprocess.run([KILN, "save", saved, path, "-o", path + "2"], check=True)
            path += "2"
        p = subprocess.run([KILN, "run", path], capture_output=True, text=True, timeout=60)
        return (p.stdout + p.stderr).strip()


HOOKS = """class M(Module):
  __parameters__ = []
  __buffers__ = []
  __forward_pre_hooks__ = ["look", "change", ]
  __forward_hooks__ = ["after", "after", ]
  n : int
  def forward(self: __torch__.M, x: str="a") -> str:
    return torch.add(x, "f")
  def look(self: __torch__.M, input: Tuple[str]) -> NoneType:
    self.n = torch.add(self.n, 1)
    return None
  def change(self: __torch__.M, input: Tuple[str]) -> Tuple[str]:
    return (torch.add((input)[0], str(self.n)),)
  def after(self: __torch__.M, input: Tuple[str], output: str) -> str:
    return torch.add(torch.add(output, (input)[0]), "!")
"""

ITEMS = """class I(ModuleInterface):
  def forward(self, x: int) -> int:
    pass
class A(Module):
  __parameters__ = []
  __buffers__ = []
  k : int
  def forward(self: __torch__.A, x: int) -> int:
    return torch.mul(x, self.k)
class M(Module):
  __parameters__ = []
  __buffers__ = []
  a : __torch__.A
  b : __torch__.A
  def forward(self: __torch__.M, key: str="b") -> int:
    m : __torch__.I = self[key]
    return (m).forward(7, )
"""


class Test(unittest.TestCase):
    def test_hooks(self): self.assertEqual(run(HOOKS, obj("M", n=b"K\x02")), "a3fa3!a3!")
    def test_saved(self):
        """In an optimized archive, forward does the same as a call with the hooks, also if nothing is left of it."""
        nothing = ("class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  __forward_pre_hooks__ = [\"look\", ]\n"
                   "  def forward(self: __torch__.M) -> NoneType:\n    return None\n"
                   "  def look(self: __torch__.M, input: Tuple[()]) -> NoneType:\n    return None\n")
        for level in "-O0", "-O1", "-O2", "-O3":
            self.assertEqual(run(HOOKS, obj("M", n=b"K\x02"), level), "a3fa3!a3!")
            self.assertEqual(run(nothing, obj("M"), level), "None")
    def test_item(self):
        self.assertEqual(run(ITEMS, obj("M", a=obj("A", k=b"K\x02"), b=obj("A", k=b"K\x03"))), "21")
    def test_no_item(self):
        code = ITEMS.replace('key: str="b"', 'key: str="c"')
        self.assertIn("Attribute not found: c", run(code, obj("M", a=obj("A", k=b"K\x02"), b=obj("A", k=b"K\x03"))))


unittest.main()
