"""Archives of PyTorch 2.x mean what it means by them, those of 1.13 what that does: RtTorch in rt/rt.h.

usage: torch2_test.py KILN     torch2/: an archive of 2.15 with what it answers; torch2/source.py makes it
"""
import os, subprocess, sys, tempfile, unittest, zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "program"))
import npz

KILN = os.path.abspath(sys.argv.pop(1))
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
        """As 1.13, which has no pools of integers."""
        with zipfile.ZipFile(NET) as old, zipfile.ZipFile(self.at("net.pt"), "w") as new:
            for name in old.namelist():
                if not name.endswith("byteorder"):
                    new.writestr(name, old.read(name))
        p = subprocess.run([KILN, "run", self.at("net.pt"), "-i", GIVEN], capture_output=True, text=True)
        self.assertIn('"max_pool2d" not implemented for \'Long\'', p.stderr)


unittest.main()
