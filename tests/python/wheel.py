"""The wheel made by `ninja wheel`, unpacked as pip does, and used without any file of the checkout."""
import base64, csv, glob, hashlib, io, os, re, subprocess, sys, tempfile, unittest, zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "..", "..", "codegen", "python", "wheel.py")


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([sys.executable, SCRIPT, os.environ["WHEEL_KILN"], cls.folder.name], check=True, stdout=subprocess.DEVNULL)
        [cls.path] = glob.glob(os.path.join(cls.folder.name, "*.whl"))
        cls.site = os.path.join(cls.folder.name, "site")
        with zipfile.ZipFile(cls.path) as z:
            cls.names = z.namelist()
            z.extractall(cls.site)
            for info in z.infolist():
                if info.external_attr >> 16 & 0o111:
                    os.chmod(os.path.join(cls.site, info.filename), 0o755)
        cls.settings = {"PYTHONPATH": cls.site, "KILN_CACHE": os.path.join(cls.folder.name, "cache"), "PATH": os.environ["PATH"],
                        "PYTHONDONTWRITEBYTECODE": "1"}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def python(self, *words):
        return subprocess.run([sys.executable, *words], env=self.settings, check=True, stdout=subprocess.PIPE, cwd=self.folder.name).stdout.decode()

    def read(self, name):
        with open(os.path.join(self.site, name), "rb") as f:
            return f.read()

    def test_parts(self):
        """Name, tag, every file in RECORD with its digest, the entry points, all modules."""
        self.assertRegex(os.path.basename(self.path), r"^kiln-[0-9.]+-py3-none-manylinux_\d+_\d+_(x86_64|aarch64)\.whl$")
        info = next(n for n in self.names if n.endswith("/RECORD")).rpartition("/")[0]
        self.assertIn("Tag: " + os.path.basename(self.path).split("-", 2)[2][:-4], self.read(info + "/WHEEL").decode())
        rows = {name: (digest, size) for name, digest, size in csv.reader(io.StringIO(self.read(info + "/RECORD").decode()))}
        self.assertEqual(sorted(rows), sorted(self.names))
        for name, (digest, size) in rows.items():
            if name.endswith("/RECORD"):
                continue
            found = base64.urlsafe_b64encode(hashlib.sha256(self.read(name)).digest()).rstrip(b"=").decode()
            self.assertEqual((digest, int(size)), ("sha256=" + found, len(self.read(name))))
        modules = {"kiln/" + os.path.basename(p) for p in glob.glob(os.path.join(os.path.dirname(SCRIPT), "kiln", "*.py"))}
        self.assertLessEqual(modules, set(self.names))
        self.assertIn(info + "/licenses/LICENSE", self.names)
        self.assertIn(b"Requires-Dist: numpy", self.read(info + "/METADATA"))

    def test_entry_points(self):
        """The entry points are where PyTorch looks for backends, and the command works."""
        said = self.python("-c", "from importlib.metadata import distribution\nfor e in distribution('kiln').entry_points:\n"
                           "    print(e.group, e.name, callable(e.load()) if e.group == 'console_scripts' else e.value)")
        self.assertEqual(sorted(said.splitlines()), ["console_scripts kiln True", "torch_dynamo_backends kiln kiln.dynamo:backend"])

    def test_libraries(self):
        """The wheel contains the libraries that the program needs besides the C library, and they are found."""
        said = subprocess.run(["ldd", os.path.join(self.site, "kiln", "carried", "kiln")], stdout=subprocess.PIPE,
                              check=True).stdout.decode()
        other = [path for name, path in re.findall(r"(\S+) => (\S+)", said) if not re.match(r"lib(c|m|dl|rt|pthread)\.so", name)]
        self.assertTrue(other)
        for path in other:
            self.assertEqual(os.path.commonpath([path, self.site]), self.site)

    def test_used(self):
        self.assertIn("methods:", self.python("-m", "kiln", "info", os.path.join(HERE, "..", "door", "many.pt")))
        with open(os.path.join(self.folder.name, "m.py"), "w") as f:
            f.write("def forward(x: Tensor):\n    return x * 2\n")
        said = self.python("-W", "error", "-c", "import kiln, numpy\nx = numpy.ones((2, 2), 'f4')\n"
                           "print(kiln.compile('m.py', x)(x).sum(), kiln.__version__)")
        self.assertRegex(said, r"^8.0 [0-9.]+\n$")
        self.assertEqual(self.python("-m", "kiln", "--version"), "kiln %s\n" % said.split()[1])

    def test_same_bytes(self):
        """The same files make the same wheel."""
        with tempfile.TemporaryDirectory() as folder, open(self.path, "rb") as first:
            subprocess.run([sys.executable, SCRIPT, os.environ["WHEEL_KILN"], folder], check=True, stdout=subprocess.DEVNULL)
            with open(os.path.join(folder, os.path.basename(self.path)), "rb") as second:
                self.assertEqual(first.read(), second.read())


if __name__ == "__main__":
    unittest.main()
