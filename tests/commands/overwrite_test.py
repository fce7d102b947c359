"""No command and no program overwrites a file that it reads: by its name, a symbolic or a hard link, as a part of a library or a
folder. A build that cannot write one of its results writes none, and keeps the old ones.

usage: overwrite_test.py KILN
"""
import os, struct, sys, unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
from hostile import KILN, Test, call, model, npy, npz

USAGE = 2
READ = ["m.pt", "x.npz", "y.npz", "f.prof", "t.json", "p.npz", "op.c", "g.npz", "q"]
OP = ["--op", "op.c", "--op-schema", "my::f(Tensor a) -> Tensor"]
# each names all files that the command can read. OUT stands for the output
COMMANDS = [
    ["build", "m.pt", "-i", "x.npz", "--profile", "f.prof", "--tuning", "t.json", *OP, "-o", "OUT"],
    ["build", "m.pt", "-i", "x.npz", *OP, "-o", "new", "--json", "OUT"],
    ["build", "m.pt", "-i", "x.npz", "--tune", "--tuning", "OUT", "-o", "new"],
    ["build", "m.pt", "-i", "x.npz", "--emit", "c", "--name", "net", "-o", "OUT"],
    ["run", "m.pt", "-i", "x.npz", "-i", "y.npz", "-o", "new", "-o", "OUT"],
    ["run", "m.pt", "-i", "x.npz", "--grad", "params", "--grad-in", "g.npz", "--grad-out", "OUT"],
    ["profile", "m.pt", "-i", "x.npz", "--profile", "f.prof", *OP, "-o", "OUT"],
    ["save", "m.pt", "--params", "p.npz", *OP, "-o", "OUT"],
    ["trace", "m.pt", "-i", "x.npz", "--check", "y.npz", *OP, "-o", "OUT"],
    ["convert", "m.pt", "OUT"],
    ["bench", "m.pt", "-i", "x.npz", "--against", "q", "--profile", "f.prof", *OP, "--json", "OUT"],
]


class Overwrite(Test):
    def setUp(self):
        super().setUp()
        for name in READ:
            self.put(name, name.encode())
        self.put("m.pt", model())
        self.put("x.npz", npz(x=npy([2, 3], data=struct.pack("<6f", *range(6)))))

    def at(self, name):
        return os.path.join(self.dir, name)

    def bytes_of(self, name):
        with open(self.at(name), "rb") as f:
            return f.read()

    def refused(self, argv, written, read):
        """Checks for a usage error that names both files, and that every file is unchanged."""
        before = {name: os.stat(self.at(name)).st_ino for name in sorted(os.listdir(self.dir))}
        bytes_before = {name: self.bytes_of(name) for name in before if os.path.isfile(self.at(name))}
        status, _, err = call(argv, self.dir)
        self.assertEqual(status, USAGE, (argv, err))
        self.assertIn(("cannot write to %s: the same file is read, as %s" % (written, read)).encode(), err, argv)
        self.assertEqual({name: os.stat(self.at(name)).st_ino for name in sorted(os.listdir(self.dir))}, before, argv)
        self.assertEqual({name: self.bytes_of(name) for name in bytes_before}, bytes_before, argv)

    def works(self, *argv):
        status, _, err = call(argv, self.dir)
        self.assertEqual(status, 0, (argv, err))

    def test_commands(self):
        for name in READ:
            os.symlink(name, self.at("symbolic-" + name))
            os.link(self.at(name), self.at("hard-" + name))
        for command in COMMANDS:
            reads = [name for name in READ if name in command]
            self.assertTrue(reads, command)
            for name in reads:
                for out in name, "./" + name, "symbolic-" + name, "hard-" + name:
                    with self.subTest(command=command, out=out):
                        self.refused([KILN, *(out if word == "OUT" else word for word in command)], out, name)

    def test_parts_of_results(self):
        """A library's header and pkg-config file, weights beside a program, files of a folder."""
        for name, options in (("net.h", ["--emit", "shared", "-o", "libnet.so"]), ("net.pc", ["--emit", "shared", "-o", "libnet.so"]),
                              ("net.weights", ["--weights", "file", "-o", "net"])):
            with self.subTest(name):
                self.put(name, self.bytes_of("m.pt"))
                self.refused([KILN, "build", name, "-i", "x.npz", "--cc", "tcc", *options], name, name)
        os.mkdir(self.at("d"))
        for name in "net.c", "README.md", "build.ninja":
            with self.subTest(name):
                os.link(self.at("m.pt"), self.at("d/" + name))
                self.refused([KILN, "build", "m.pt", "-i", "x.npz", "--emit", "c", "--name", "net", "-o", "d"], "d/" + name, "m.pt")
                self.assertEqual(os.listdir(self.at("d")), [name])
                os.remove(self.at("d/" + name))

    def tree(self):
        """Returns the paths below the folder with the contents of files. None for a folder."""
        paths = [os.path.join(at, name) for at, *names in os.walk(self.dir) for name in sum(names, [])]
        return {path: None if os.path.isdir(path) else self.bytes_of(path) for path in paths}

    def fails_whole(self, *options):
        before = self.tree()
        status, _, err = call([KILN, "build", "m.pt", "-i", "x.npz", "--cc", "tcc", "--name", "net", *options], self.dir)
        self.assertEqual(status, 1, (options, err))
        self.assertEqual(self.tree(), before, options)
        return err

    def test_failed_builds(self):
        """A folder in place of a result fails when the result is renamed, a name that is too long earlier."""
        self.put("net.h", b"old")
        self.assertIn(b"File name too long", self.fails_whole("--emit", "shared", "-o", "n" * 254))
        os.mkdir(self.at("libnet.so"))
        self.assertIn(b"libnet.so: Is a directory", self.fails_whole("--emit", "shared", "-o", "libnet.so"))
        os.mkdir(self.at("net.pc"))
        self.assertIn(b"net.pc: Is a directory", self.fails_whole("--emit", "shared", "-o", "new"))
        os.makedirs(self.at("d/README.md"))
        self.put("d/net.c", b"old")
        self.assertIn(b"README.md: Is a directory", self.fails_whole("--emit", "c", "-o", "d"))
        self.put("f", b"a file")
        self.assertIn(b"Not a directory", self.fails_whole("--emit", "c", "-o", "f"))
        self.assertIn(b"No such file", self.fails_whole("--emit", "c", "-o", "none/d"))

    def test_programs(self):
        """Inputs, also those of later calls, and the program itself, with the runtime and without."""
        for name, options in ("p", []), ("plain", ["--no-generic"]):
            self.works(KILN, "build", "m.pt", "-i", "x.npz", "--cc", "tcc", *options, "-o", name)
            self.put("y.npz", self.bytes_of("x.npz"))
            if not os.path.lexists(self.at("link.npz")):
                os.symlink("y.npz", self.at("link.npz"))
            for out, read in ("x.npz", "x.npz"), ("link.npz", "y.npz"), (name, "the running program"):
                self.refused(["./" + name, "-i", "x.npz", "-i", "y.npz", "-o", out], out, read)
            for _ in range(2):                     # the second run replaces the result of the first
                self.works("./" + name, "-i", "x.npz", "-i", "y.npz", "-o", "o.npz", "-o", "/dev/null")
        for option in "--json", "--trace":
            self.refused(["./p", "-i", "x.npz", "--bench=2", option, "x.npz"], "x.npz", "x.npz")

    def test_results_are_replaced(self):
        for argv in (["run", "m.pt", "-i", "x.npz", "-o", "y.npz"], ["save", "m.pt", "-o", "q"], ["profile", "m.pt", "-i", "x.npz", "-o", "f.prof"],
                     ["profile", "m.pt", "--profile", "f.prof", "-o", "t.json"], ["run", "m.pt", "-i", "x.npz", "-o", "/dev/null"]):
            self.works(KILN, *argv)
        self.refused([KILN, "run", "q", "-i", "y.npz", "-o", "q"], "q", "q")


if __name__ == "__main__":
    unittest.main()
