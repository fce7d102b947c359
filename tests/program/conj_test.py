"""Conjugate and negative views answer as in PyTorch: interpreted, built at every level, and kept as state.

usage: conj_test.py KILN [--record]      --record: writes conj.npz with PyTorch (needs python3-torch)
"""
import os, sys, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import npz
from hostile import KILN, Test

SOURCE, WANT = os.path.join(HERE, "conj.py"), os.path.join(HERE, "conj.npz")
Z = ("<c8", (2, 3), [0.5 - 2.5j, -0.5 - 2j, 1.5 + 1.5j, 2.5j, -1 + 1j, 0.5 + 0j])


def record():
    import numpy, torch
    z = numpy.array(Z[2], "c8").reshape(Z[1])
    arrays = {}

    def put(key, v):
        if isinstance(v, torch.Tensor):
            arrays[key] = v.resolve_conj().resolve_neg().contiguous().numpy()
        elif isinstance(v, list) and v and isinstance(v[0], (int, float)):
            arrays[key] = numpy.array(v)
        elif isinstance(v, (list, tuple)):
            for i, e in enumerate(v):
                put(f"{key}.{i}", e)
        else:
            arrays[key] = numpy.array(v)
    with open(SOURCE) as f:
        put("out", torch.jit.CompilationUnit(f.read()).forward(torch.from_numpy(z)))
    numpy.savez_compressed(WANT, **arrays)


class Conj(Test):
    def setUp(self):
        super().setUp()
        npz.write(os.path.join(self.dir, "z.npz"), {"z": Z})

    def right(self, *command):
        self.check([*command, "-i", "z.npz", "-o", "out.npz"], 0)
        self.assertIsNone(npz.differs(npz.read(WANT), npz.read(os.path.join(self.dir, "out.npz"))), command)

    def test_interpreted(self):
        for level in ("-O0", "-O2"):
            self.right(KILN, "run", level, SOURCE)

    def test_built(self):
        for level in ("-O0", "-O2"):
            self.check([KILN, "build", level, "--cc", "tcc", SOURCE, "-i", "z.npz", "-o", "program"], 0)
            self.right("./program")

    def says(self, body, *texts):
        with open(os.path.join(self.dir, "m.py"), "w") as f:
            f.write("def forward(z: Tensor):\n    " + body + "\n")
        self.check([KILN, "run", "m.py", "-i", "z.npz"], 1, *texts)

    def test_errors(self):
        self.says("return torch.view_as_real(z.conj())", "view_as_real doesn't work on unresolved conjugated tensors.")


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        sys.exit(record())
    unittest.main(argv=[sys.argv[0]], verbosity=0)
