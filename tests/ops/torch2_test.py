"""Archives of PyTorch 2.x have the meaning of that version, those of 1.13 that of 1.13: RtTorch in rt/rt.h.

usage: torch2_test.py KILN     torch2/: an archive of 2.15 with what it answers; torch2/source.py makes it
"""
import os, struct, subprocess, sys, tempfile, unittest, zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "program"))
import npz

KILN = os.path.abspath(sys.argv[1])
from hostile import body, model, npy, npz as arrays

NET, GIVEN = (os.path.join(HERE, "torch2", name) for name in ("model.pt", "in.npz"))
WANT = npz.read(os.path.join(HERE, "torch2", "out.npz"))


class Torch2(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def at(self, name):
        return os.path.join(self.folder.name, name)

    def check(self, *argv):
        subprocess.run([*argv, "-i", GIVEN, "-o", self.at("out.npz")], check=True, capture_output=True)
        self.assertIsNone(npz.differs(WANT, npz.read(self.at("out.npz"))))

    def test_run(self):
        self.check(KILN, "run", NET)

    def test_saved(self):
        subprocess.run([KILN, "save", NET, "-o", self.at("net.pt")], check=True)
        self.check(KILN, "run", self.at("net.pt"))

    def test_program(self):
        for level in "-O0", "-O2":
            subprocess.run([KILN, "build", level, NET, "-i", GIVEN, "-o", self.at("net")], check=True, capture_output=True)
            self.check(self.at("net"))

    def test_without_the_record(self):
        """Without the record it is an archive of 1.13, which has no pools of integers."""
        with zipfile.ZipFile(NET) as old, zipfile.ZipFile(self.at("net.pt"), "w") as new:
            for name in old.namelist():
                if not name.endswith("byteorder"):
                    new.writestr(name, old.read(name))
        p = subprocess.run([KILN, "run", self.at("net.pt"), "-i", GIVEN], capture_output=True, text=True)
        self.assertIn('"max_pool2d" not implemented for \'Long\'', p.stderr)

    def said(self, call):
        """Returns the four digits of a call's result on x = [1, 2, 3, 0], in an archive of PyTorch 2. Returns the error if it
        raises."""
        lines = ["y = torch.reshape(torch.to(%s, 6), [-1])" % call,
                 "return int(torch.sum(torch.mul(y, torch.pow(10., torch.arange(torch.numel(y))))))"]
        with open(self.at("call.pt"), "wb") as f: f.write(model(body(lines, result="int"), byteorder=b"little"))
        with open(self.at("x.npz"), "wb") as f: f.write(arrays(x=npy([4], data=struct.pack("<4f", 1, 2, 3, 0))))
        p = subprocess.run([KILN, "run", self.at("call.pt"), "-i", self.at("x.npz")], capture_output=True, text=True)
        return p.stderr.rstrip().splitlines()[-1] if p.returncode else p.stdout.strip()[::-1].ljust(4, "0")

    def test_calls(self):
        """Bounds beyond a dtype, 32-bit indices, and torch.chalf, which is a dtype in source text."""
        outside = "RuntimeError: Clamp %s value %s is outside the representable range of %s"
        index = "torch.reshape(torch.to(torch.tensor([1, 0]), %d), [1, 2])"
        two = "torch.reshape(x, [2, 2])"
        for call, answer in (
                ("torch.clamp(torch.to(x, 0), -1, 300)", "1230"), ("torch.clamp(torch.to(x, 0), None, -1)", outside % ("max", -1, "Byte")),
                ("torch.clamp(torch.to(x, 1), -300, 1)", "1110"), ("torch.clamp(torch.to(x, 1), 300)", outside % ("min", 300, "Char")),
                ("torch.clamp_min(torch.to(x, 2), 70000)", outside % ("min", 70000, "Short")), ("torch.clamp_max(torch.to(x, 28), 2)", "1220"),
                ("torch.hardtanh(torch.to(x, 0), -2, 1)", "1110"), ("torch.hardtanh(torch.to(x, 27), -0.5, 1.5)", "1110"),
                ("torch.hardtanh(torch.to(x, 2), 70000, 80000)", outside % ("min", 70000, "Short")),
                ("torch.gather(%s, 0, %s)" % (two, index % 3), "3200"),
                ("torch.scatter(%s, 0, %s, 5.)" % (two, index % 3), "1550"),
                ("torch.gather(%s, 0, %s)" % (two, index % 2), "RuntimeError: gather(): Expected dtype int32/int64 for index"),
                ("torch.real(torch.to(torch.chalf(torch.to(x, 27)), 9))", "1230"),
                ("torch.linalg_eigh(torch.reshape(torch.to(x, 4), [2, 2]))[0]", "RuntimeError: \"linalg_eigh_cpu\" not implemented for 'Long'")):
            with self.subTest(call=call): self.assertEqual(self.said(call), answer)


unittest.main(argv=sys.argv[:1])
