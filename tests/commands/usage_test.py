"""The command line of kiln and of programs: help, versions, mistakes in options, standard input and output as files, outputs that
are the same file, names of functions in programs.

usage: usage_test.py KILN
"""
import io, os, re, struct, subprocess, sys, unittest, zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
from hostile import KILN, Test, body, model, npy, npz

SPEAKS = body(['print("spoken", torch.size(x, 0))', "return torch.add(x, self.w)"])
GRADIENT = body(["return torch.mul(x, self.w)"])
SPARSE = body(["y = torch.to_dense(torch.to_sparse(x))", "return torch.add(y, self.w)"])
X = npz(x=npy([2, 3], data=struct.pack("<6f", *range(6))))
DONE, INPUT, USAGE, LACKS = 0, 1, 2, 7
PROGRAMS = {"p": ["--cc", "tcc"], "plain": ["--no-generic", "--cc", "tcc"]}


class Usage(Test):
    def setUp(self):
        super().setUp()
        self.put("m.pt", model(SPEAKS))
        self.put("quiet.pt", model())
        self.put("x.npz", X)

    def at(self, name):
        return os.path.join(self.dir, name)

    def ends(self, status, *argv, stdin=b"", stdout=subprocess.PIPE):
        """Returns standard output, and the lines of standard error. stdin: bytes for a pipe, or a file."""
        given = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
        p = subprocess.run(argv, cwd=self.dir, stdout=stdout, stderr=subprocess.PIPE, timeout=120, **given)
        self.assertEqual(p.returncode, status, (argv, p.stderr[-2000:]))
        return p.stdout, p.stderr.decode().splitlines()

    def says(self, line, *argv, status=USAGE):
        """Checks that the command prints one line, and nothing else."""
        out, err = self.ends(status, *argv)
        self.assertEqual((out, err), (b"", [line]), argv)

    def build(self, name, *options, source="quiet.pt"):
        self.ends(DONE, KILN, "build", source, "-i", "x.npz", *options, "-o", name)

    def programs(self):
        for name, options in PROGRAMS.items():
            self.build(name, *options)
        return ["./" + name for name in PROGRAMS]

    # ---- help and versions --------------------------------------------------------------------------------------

    def test_help(self):
        for command in re.findall(r"(?m)^  kiln (\w+) ", self.ends(DONE, KILN, "--help")[0].decode()):
            said = self.ends(DONE, KILN, "help", command)
            self.assertEqual(said, self.ends(DONE, KILN, command, "--help"), command)
            options = [line for line in said[0].decode().splitlines() if re.match(r"  (-.,|   ) --", line)]
            self.assertEqual(len(options), len(set(re.match(r"  (-.,|   ) --\S+( \S+)?", line).group() for line in options)), command)
        self.assertEqual(self.ends(DONE, KILN, "help"), self.ends(DONE, KILN, "--help"))

    def test_groups(self):
        """Options are grouped under titles, each of which appears once. Every option is in a group."""
        for command in "build", "run", "info":
            lines = self.ends(DONE, KILN, command, "--help")[0].decode().splitlines()[4:]
            titles = [line for before, line in zip([""] + lines, lines) if line and not before]
            self.assertEqual(titles[0], "Inputs and results", command)
            self.assertEqual(len(titles), len(set(titles)))
            self.assertTrue(all(not t.startswith(" ") for t in titles), titles)
        self.assertGreater(len(self.ends(DONE, KILN, "build", "--help")[0].decode().split("\n\n")), 7)

    def test_versions(self):
        version = self.ends(DONE, KILN, "--version")[0]
        self.assertRegex(version, rb"^kiln [0-9.]+\n$")
        self.assertEqual(self.ends(DONE, KILN, "-V")[0], version)
        for program in self.programs():
            self.assertEqual(self.ends(DONE, program, "--version")[0].decode(), "%s: compiled by K%s" % (program, version.decode()[1:]))

    # ---- mistakes -----------------------------------------------------------------------------------------------

    def test_near_names(self):
        self.says("kiln: unknown command 'biuld'; did you mean build? (kiln --help)", KILN, "biuld")
        self.says("kiln: unknown command 'inf'; did you mean info? (kiln --help)", KILN, "help", "inf")
        self.says("kiln: unknown command 'rnu'; did you mean run? (kiln --help)", KILN, "rnu")
        for far in "nonsense", "b":
            self.says("kiln: unknown command '%s' (kiln --help)" % far, KILN, far)
        for wrong, right in ("--sed", "--seed"), ("--optim", "--optimize"), ("--no-dynamics", "--no-dynamic"), ("--wieghts=file", "--weights"):
            self.says("kiln: unknown option %s; did you mean %s? (kiln build --help)" % (wrong.split("=")[0], right), KILN, "build", wrong, "m.pt")
        self.says("kiln: unknown option --nothing-like-it (kiln build --help)", KILN, "build", "--nothing-like-it")
        self.says("kiln: unknown option -x (kiln run --help)", KILN, "run", "-x")
        self.says("kiln: run takes no option --tune (kiln run --help)", KILN, "run", "--tune", "m.pt")
        for program in self.programs():
            self.says("%s: unknown option --methd; did you mean --method? (%s --help lists the options)" % (program, program), program, "--methd", "x")
            self.says("%s: unknown option --zz (%s --help lists the options)" % (program, program), program, "--zz")

    def test_missing_values(self):
        self.says("kiln: --seed wants a value: --seed N (kiln run --help)", KILN, "run", "m.pt", "--seed")
        self.says("kiln: --seed wants a value, and -i is another option: --seed N (kiln run --help)", KILN, "run", "m.pt", "--seed", "-i", "x.npz")
        self.says("kiln: --seed wants a number from 0 to 9223372036854775807, not 'x' (kiln run --help)", KILN, "run", "m.pt", "--seed", "x")
        self.build("p", "--cc", "tcc")
        end = " (./p --help lists the options)"
        self.says("./p: missing value of option --seed" + end, "./p", "-i", "x.npz", "--seed")
        self.says("./p: missing value of option --seed: -i is another option" + end, "./p", "--seed", "-i", "x.npz")
        for option, number in ("--seed", "a number"), ("--threads", "a number from 0 to 4096"):
            self.says("./p: %s wants %s, not 'x'%s" % (option, number, end), "./p", "-i", "x.npz", option, "x")
        self.ends(DONE, "./p", "-i", "x.npz", "--seed", "-1")        # -1 is a number, not an option

    def test_missing_input(self):
        why = "argument 'x': 'x' is missing, and no input is given; expected Tensor: -i IN.npz gives it"
        self.build("p", "--cc", "tcc")
        self.says("error: " + why, KILN, "run", "m.pt", status=INPUT)
        self.says("./p: error: " + why, "./p", status=INPUT)
        self.build("plain", *PROGRAMS["plain"])
        self.says("./plain: error: argument 'x' is missing: -i IN.npz gives it", "./plain", status=INPUT)
        self.put("y.npz", npz(y=npy([2, 3])))
        for argv in [KILN, "run", "m.pt"], ["./p"]:                  # an input without the argument: the message must not ask for -i
            self.assertIn("'x' is missing; expected Tensor; the keys are 'y'", self.ends(INPUT, *argv, "-i", "y.npz")[1][0])

    # ---- standard input and output ------------------------------------------------------------------------------

    def result(self, out):
        with zipfile.ZipFile(io.BytesIO(out)) as z:
            return z.read("out.npy")[-24:]

    def test_pipes(self):
        """-i - reads a pipe or a file, more than once if the command does. -o - writes only bytes."""
        want = struct.pack("<6f", *(2.0 * i for i in range(6)))
        self.build("p", "--cc", "tcc", source="m.pt")
        self.build("plain", *PROGRAMS["plain"])
        for argv in [KILN, "run", "m.pt"], ["./p"], ["./plain"]:
            for _ in range(2):
                out, err = self.ends(DONE, *argv, "-i", "-", "-o", "-", stdin=X)
                self.assertEqual(self.result(out), want, argv)
                self.assertEqual(err, [] if argv == ["./plain"] else ["spoken 2"], argv)
            self.put("behind", b"a line\n" + X)
            for name, start in ("x.npz", 0), ("behind", 7):          # a file is read from its current position, which does not change
                with open(self.at(name), "rb", buffering=0) as f:
                    f.seek(start)
                    self.assertEqual(self.result(self.ends(DONE, *argv, "-i", "-", "-o", "-", stdin=f)[0]), want, argv)
                    self.assertEqual(f.tell(), start)
            self.ends(DONE, *argv, "-i", "-", "-i", "-", "-o", "a.npz", "-o", "b.npz", stdin=X)
            with open(self.at("b.npz"), "rb") as f:
                self.assertEqual(self.result(f.read()), want, argv)
        self.ends(DONE, "./p", "-i", "-", "--selfcheck", stdin=X)
        self.ends(DONE, KILN, "check", "m.pt", "./p", "-i", "-", stdin=X)
        self.ends(DONE, KILN, "build", "m.pt", "-i", "-", "--cc", "tcc", "-o", "q", stdin=X)
        self.assertIn("exact", self.ends(DONE, "./q", "--info")[0].decode())

    def test_bad_pipes(self):
        for argv in [KILN, "run", "quiet.pt"], ["./p"]:
            self.build("p", "--cc", "tcc")
            for data, why in (b"", "no end of a zip"), (b"junk" * 100000, "no end of a zip"), (X[:-9], "no end of a zip"):
                err = self.ends(INPUT, *argv, "-i", "-", stdin=data)[1]
                self.assertIn("error: standard input: is no .npz file or damaged: " + why, err[0], argv)
            with open("/dev/full", "wb") as full:
                err = self.ends(INPUT, *argv, "-i", "x.npz", "-o", "-", stdout=full)[1]
            self.assertIn("No space left on device", err[-1])

    # ---- files --------------------------------------------------------------------------------------------------

    def test_read_through_stdin(self):
        self.build("p", "--cc", "tcc")
        for argv in [KILN, "run", "quiet.pt"], ["./p"]:
            with open(self.at("x.npz"), "rb") as f:
                err = self.ends(USAGE, *argv, "-i", "-", "-o", "x.npz", stdin=f)[1]
            self.assertIn("cannot write to x.npz: the same file is read, as standard input", err[0])

    def test_written_twice(self):
        """Outputs of one command that are the same file, by name or by links, also before it exists, are refused, and nothing is
        written."""
        self.build("p", "--cc", "tcc")
        os.mkdir(self.at("d"))
        os.symlink("d", self.at("e"))
        os.symlink("d/new", self.at("link"))
        self.put("old", b"old")
        os.link(self.at("old"), self.at("hard"))
        pairs = [("new", "new"), ("new", "./new"), ("d/new", "e/new"), ("link", "d/new"), ("old", "hard"), ("-", "-"), ("-", "/dev/stdout")]
        before = sorted(os.listdir(self.dir))
        for a, b in pairs:
            said = "cannot write to %s: the same file is another output, %s; name another one" % (b, a)
            for argv in ([KILN, "run", "quiet.pt", "-i", "x.npz", "-i", "x.npz", "-o", a, "-o", b], ["./p", "-i", "x.npz", "-o", a, "--trace", b],
                         [KILN, "build", "quiet.pt", "-i", "x.npz", "-o", a, "--json", b], ["./p", "-i", "x.npz", "--bench=2", "-o", a, "--json", b]):
                if a != "-" or argv[1] != "build":
                    self.assertIn(said, self.ends(USAGE, *argv)[1][0], argv)
        self.assertEqual(sorted(os.listdir(self.dir)), before)
        self.assertEqual(os.listdir(self.at("d")), [])
        for options in (["--emit", "shared", "-o", "net.h"], ["--emit", "shared", "-o", "libnet.so", "--json", "net.pc"],
                        ["--weights", "file", "-o", "net", "--json", "net.weights"], ["--emit", "c", "--name", "net", "-o", "f", "--json", "f/net.c"]):
            err = self.ends(USAGE, KILN, "build", "quiet.pt", "-i", "x.npz", "--cc", "tcc", *options)[1]
            self.assertIn("the same file is another output", err[-1], options)
        self.assertEqual(sorted(os.listdir(self.dir)), before)
        self.ends(DONE, "./p", "-i", "x.npz", "-i", "x.npz", "-o", "/dev/null", "-o", "/dev/null")
        self.ends(DONE, "./p", "-i", "x.npz", "-i", "x.npz", "-o", "d/one", "-o", "e/two")

    def test_dangling_links(self):
        """An output through a link whose target does not exist creates the target, and the link stays."""
        os.mkdir(self.at("d"))
        os.symlink("d/chain", self.at("link"))
        os.symlink("../real", self.at("d/chain"))
        self.build("p", "--cc", "tcc")
        for argv in ([KILN, "run", "quiet.pt", "-i", "x.npz", "-o", "link"], ["./p", "-i", "x.npz", "-o", "link"],
                     [KILN, "build", "quiet.pt", "-i", "x.npz", "--cc", "tcc", "-o", "link"]):
            self.ends(DONE, *argv)
            self.assertTrue(os.path.islink(self.at("link")) and os.path.islink(self.at("d/chain")), argv)
            self.assertTrue(os.path.isfile(self.at("real")), argv)
            os.remove(self.at("real"))
        self.assertEqual(os.listdir(self.at("d")), ["chain"])

    # ---- what is built ------------------------------------------------------------------------------------------

    def test_debug(self):
        """Programs and libraries are stripped, and --debug keeps the names of functions."""
        quick = ["--cc", "gcc", "--cpu", "native", "--no-dynamic"]
        for emit in "exe", "shared", "obj":
            sizes = []
            for debug in [], ["--debug"]:
                self.build("net.o", *quick, "--emit", emit, "--name" if emit != "exe" else "--threads", "net" if emit != "exe" else "1", *debug)
                with open(self.at("net.o"), "rb") as f:
                    data = f.read()
                if emit != "obj":                                    # an object needs the names for its relocations
                    self.assertEqual(b"\0rt_tensor_new\0" in data, bool(debug), emit)
                sizes.append(len(data))
            self.assertLess(sizes[0], 0.95 * sizes[1], emit)
        err = self.ends(USAGE, KILN, "build", "quiet.pt", "-i", "x.npz", "--cc", "tcc", "--debug", "-o", "q")[1]
        self.assertIn("--debug: the compiler inside Kiln writes no names of functions", err[-1])

    def test_tcc(self):
        """kiln build notes the cost of the compiler inside Kiln. It does not for C, which another compiler may compile."""
        said = lambda *argv: [line for line in self.ends(DONE, KILN, "build", "quiet.pt", "-i", "x.npz", *argv)[1] if "times slower" in line]
        self.assertRegex(said("--cc", "tcc", "-o", "p")[0], r"^kiln: note: programs by tcc run \d[.\d]* to \d+ times slower than by gcc$")
        self.assertEqual(said("--cc", "tcc", "--emit", "c", "--name", "net", "-o", "c"), [])
        self.assertEqual(said("--cc", "gcc", "--cpu", "native", "--no-dynamic", "-o", "p"), [])

    def test_ops_that_raise(self):
        self.put("sparse.pt", model(SPARSE))
        out, err = self.ends(LACKS, KILN, "ops", "sparse.pt")
        self.assertIn(b"raises: sparse", out)
        self.assertRegex(err[0], r"^kiln: 1 operator of sparse tensors, which Kiln lacks: calls raise$")
        self.ends(DONE, KILN, "ops", "quiet.pt")


if __name__ == "__main__":
    unittest.main()
