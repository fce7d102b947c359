"""Output on standard output and on standard error; files, descriptors, stack limits and signals as a shell may set them.

usage: streams_test.py KILN
"""
import io, json, os, re, resource, signal, struct, subprocess, sys, tempfile, unittest, zipfile

KILN = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
from hostile import Test, body, model, npy, npz

SPEAKS = body(['print("spoken", torch.size(x, 0))', "return torch.add(x, self.w)"])
DEEP = body(["return " + "torch.neg(" * 120 + "x" + ")" * 120])
SANITIZED = "-fsanitize" in os.environ.get("CFLAGS", "")


class Streams(Test):
    def setUp(self):
        super().setUp()
        self.put("m.pt", model(SPEAKS))
        self.put("x.npz", npz(x=npy([2, 3], data=struct.pack("<6f", *range(6)))))

    def run_(self, *argv, limit=None, env={}):
        p = subprocess.run(argv, cwd=self.dir, stdin=subprocess.DEVNULL, capture_output=True, timeout=300, preexec_fn=limit,
                           env={**os.environ, **env})
        return p.returncode, p.stdout, p.stderr.decode("utf-8", "replace")

    def aside(self, *argv):
        """Returns standard output if the model's text was written to standard error."""
        status, out, err = self.run_(*argv)
        self.assertEqual(status, 0, (argv, err))
        self.assertIn("spoken 2", err, argv)
        self.assertNotIn(b"spoken", out, argv)
        return out

    def test_reports(self):
        self.run_(KILN, "build", "m.pt", "-i", "x.npz", "-o", "p", "--cc", "tcc")
        self.assertEqual(json.loads(self.aside(KILN, "check", "m.pt", "./p", "-i", "x.npz", "--json"))[0]["answer"], "same")
        self.assertIn(b"same", self.aside(KILN, "check", "m.pt", "./p", "-i", "x.npz"))
        self.assertEqual(json.loads(self.aside("./p", "-i", "x.npz", "--bench=3", "--json", "-"))["runs"], 3)
        self.assertEqual(json.loads(self.aside("./p", "-i", "x.npz", "--bench=3", "--json", "/dev/stdout"))["runs"], 3)
        self.assertIn("traceEvents", json.loads(self.aside("./p", "-i", "x.npz", "-o", "o.npz", "--trace", "-")))
        out = self.run_(KILN, "build", "m.pt", "-i", "x.npz", "-o", "q", "--cc", "tcc", "-v", "--json", "-")[1]
        self.assertIn("code_bytes", json.loads(out))

    def test_results(self):
        self.run_(KILN, "build", "m.pt", "-i", "x.npz", "-o", "p", "--cc", "tcc")
        for name in "-", "/dev/stdout":
            for argv in ["./p", "-i", "x.npz", "-o", name], [KILN, "run", "m.pt", "-i", "x.npz", "-o", name]:
                self.assertEqual(zipfile.ZipFile(io.BytesIO(self.aside(*argv))).namelist(), ["out.npy"], argv)
        self.assertFalse(os.path.lexists(os.path.join(self.dir, "-")))

    def members(self, archive):
        self.assertTrue(archive.startswith(b"PK"), archive[:80])
        with zipfile.ZipFile(io.BytesIO(archive)) as z:
            self.assertIsNone(z.testzip())
            return {name.partition("/")[2]: z.read(name) for name in z.namelist()}

    def test_archives(self):
        """Archives are written to pipes and devices, which cannot seek. The model's prints go to standard error."""
        for command in ["save", "m.pt"], ["trace", "m.pt", "-i", "x.npz"]:
            self.assertEqual(self.run_(KILN, *command, "-o", "f.pt")[0], 0)
            with open(os.path.join(self.dir, "f.pt"), "rb") as f:
                whole = self.members(f.read())
            for name in "-", "/dev/stdout":
                self.assertEqual(self.members(self.run_(KILN, *command, "-o", name)[1]), whole, (command, name))
            self.assertIn("No space left on device", self.run_(KILN, *command, "-o", "/dev/full")[2])
        self.assertEqual(self.run_(KILN, "trace", "m.pt", "-i", "x.npz", "--json", "-o", "-")[0], 2)
        self.assertFalse(os.path.lexists(os.path.join(self.dir, "-")))

    def test_programs(self):
        """A program is written to standard output, and its report to standard error. Results of several files are refused."""
        build = [KILN, "build", "m.pt", "-i", "x.npz", "--cc", "tcc"]
        for name in "-", "/dev/stdout":
            status, out, err = self.run_(*build, "-o", name)
            self.assertEqual(status, 0, err)
            self.assertTrue(out.startswith(b"\x7fELF"), out[:80])
            self.assertIn("specialization 0", err)
        self.put("p", out)
        os.chmod(os.path.join(self.dir, "p"), 0o755)
        self.assertEqual(self.run_("./p", "-i", "x.npz")[0], 0)
        for options in ["--emit", "shared"], ["--emit", "c"], ["--emit", "cuda"], ["--weights", "file"]:
            status, out, err = self.run_(*build, *options, "-o", "-")
            self.assertEqual((status, out), (2, b""), err)
            self.assertIn("standard output holds one file, but %s makes several" % " ".join(options), err)
        self.assertFalse(os.path.lexists(os.path.join(self.dir, "-")))

    def test_names(self):
        """Paths that the linker and pkg-config would split."""
        os.mkdir(os.path.join(self.dir, "a,b c"))
        status, _, err = self.run_(KILN, "build", "m.pt", "-i", "x.npz", "--no-dynamic", "--cpu", "native", "--emit", "shared", "--name", "net",
                                   "-o", "a,b c/1,2 $.so", env={"TMPDIR": os.path.join(self.dir, "a,b c"), "CFLAGS": "-O0"})
        self.assertEqual(status, 0, err)
        with open(os.path.join(self.dir, "a,b c/net.pc")) as f:
            self.assertIn("Libs: ${pcfiledir}/1,2\\ $$.so -Wl", f.read())
        for name in 'a"b', "a'b", "a:b\\":
            os.mkdir(os.path.join(self.dir, name))
            status, _, err = self.run_(KILN, "build", "m.pt", "-i", "x.npz", "--cc", "tcc", "-o", "p", env={"TMPDIR": os.path.join(self.dir, name)})
            self.assertEqual((status, os.listdir(os.path.join(self.dir, name))), (0, []), err)
            self.assertEqual(self.run_("./p", "-i", "x.npz")[0], 0)
        self.assertIn("--json goes with --bench, --info or --train", self.run_("./p", "-i", "x.npz", "--json", "j")[2])

    def test_full_device(self):
        """Each command prints the reason, also if an early write failed."""
        for command in ["profile", "m.pt", "-i", "x.npz"], ["run", "m.pt", "-i", "x.npz"], ["save", "m.pt"], ["build", "m.pt", "--cc", "tcc"]:
            status, _, err = self.run_(KILN, *command, "-o", "/dev/full")
            self.assertEqual(status, 1, command)
            self.assertIn("No space left on device", err, command)

    def test_stdout_is_a_file(self):
        """/dev/stdout is never replaced by a regular file."""
        with open(os.path.join(self.dir, "to"), "wb") as f:
            subprocess.run([KILN, "run", "m.pt", "-i", "x.npz", "-o", "/dev/stdout"], cwd=self.dir, stdout=f, check=True, stderr=subprocess.DEVNULL)
        self.assertTrue(zipfile.is_zipfile(os.path.join(self.dir, "to")))
        self.assertTrue(os.path.islink("/dev/stdout"))

    def test_links(self):
        """The file that a link points to is replaced, and the link stays."""
        os.symlink("real.npz", os.path.join(self.dir, "link.npz"))
        self.put("real.npz", b"old")
        self.assertEqual(self.run_(KILN, "run", "m.pt", "-i", "x.npz", "-o", "link.npz")[0], 0)
        self.assertTrue(os.path.islink(os.path.join(self.dir, "link.npz")))
        self.assertTrue(zipfile.is_zipfile(os.path.join(self.dir, "real.npz")))

    def test_links_of_programs(self):
        """The same for programs. A program finds its weights, and a link in their place stays, too."""
        os.mkdir(os.path.join(self.dir, "bin"))
        for link, real in ("link", "bin/real"), ("bin/link.weights", "weights"):
            os.symlink(os.path.join(self.dir, real), os.path.join(self.dir, link))
            self.put(real, b"old")
        status, _, err = self.run_(KILN, "build", "m.pt", "-i", "x.npz", "-o", "link", "--weights", "file", "--cc", "tcc")
        self.assertEqual(status, 0, err)
        for link in "link", "bin/link.weights":
            self.assertTrue(os.path.islink(os.path.join(self.dir, link)), link)
        self.assertEqual(self.run_("./link", "-i", "x.npz", "-o", "out.npz")[0], 0)

    def test_help(self):
        """Text beside an option in the help is no argument of it, and the examples work."""
        for command in re.findall(r"kiln (\w+) ", self.run_(KILN, "--help")[1].decode()):
            for line in self.run_(KILN, command, "--help")[1].decode().split("\n"):
                self.assertRegex(line, r"^(?!  .*--)|^  (-.|  )[, ] --[\w-]+(\[=\w+\])?( \S+)?( {1,}|$)", line)
                self.assertNotRegex(line, r"--\w+ \S+ [A-Z]+=", line)
        example = re.search(r"such as (\S+);", self.run_(KILN, "profile", "--help")[1].decode()).group(1)
        status, _, err = self.run_(KILN, "profile", "m.pt", "--input", example, "-o", "F.prof")
        self.assertEqual(status, 0, err)

    def test_descriptors(self):
        """Too few file descriptors give an error, not a BUG. The temporary folder is removed."""
        seen = set()
        for n in [*range(4, 13), 30]:
            for compiler in "tcc", "cc":
                with tempfile.TemporaryDirectory() as tmp:
                    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
                    status, _, err = self.run_(KILN, "build", "m.pt", "-i", "x.npz", "-o", "p", "--cc", compiler, limit=limit, env={"TMPDIR": tmp})
                    self.assertIn(status, (0, 1, 127), (n, compiler, err))
                    self.assertTrue(err or not status)
                    self.assertEqual(os.listdir(tmp), [], (n, compiler))
                    seen.add(status)
        self.assertTrue({0, 1} <= seen, seen)

    @unittest.skipIf(SANITIZED, "sanitizers want more")
    def test_stack(self):
        self.put("deep.pt", model(DEEP))
        seen = set()
        for kb in 48, 100, 200, 400, 8192:
            limit = lambda: resource.setrlimit(resource.RLIMIT_STACK, (kb << 10, kb << 10))
            for name in "m.pt", "deep.pt":
                status, _, err = self.run_(KILN, "run", name, "-i", "x.npz", limit=limit)
                self.assertIn(status, (0, 1, 7), (kb, name, err))
                self.assertTrue(not status or "no memory for the stack" in err or "too deep" in err, err)
                seen.add(status)
        self.assertEqual(status, 0, err)
        self.assertEqual(seen, {0, 1, 7})

    @unittest.skipIf(SANITIZED, "sanitizers want more")
    def test_address_space(self):
        """With any address space that lets the loader run, there is an answer or a message."""
        seen = set()
        run = lambda kb: self.run_(KILN, "run", "m.pt", "-i", "x.npz", limit=lambda: resource.setrlimit(resource.RLIMIT_AS, (kb << 10, kb << 10)))
        least = next(kb for kb in range(8000, 64000, 500) if run(kb)[0] != -signal.SIGSEGV)     # with less, the kernel cannot load it
        for kb in range(least, least + 16000, 500):
            status, _, err = run(kb)
            self.assertIn(status, (0, 1, 127), (kb, err))
            self.assertTrue(not status or err, kb)
            seen.add(status)
        self.assertIn(0, seen)

    def test_children_ignored(self):
        """Child processes work even if the parent was started with SIGCHLD ignored."""
        limit = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        self.assertEqual(self.run_(KILN, "build", "m.pt", "-i", "x.npz", "-o", "p", limit=limit)[0], 0)
        self.assertEqual(self.run_("./p", "-i", "x.npz")[0], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
