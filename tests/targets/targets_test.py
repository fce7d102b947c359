"""One model built in many ways: compilers, targets, processors, forms. Each program gives PyTorch's answers.

usage: targets_test.py KILN [Host] [Options] [Refused] [Levels] [Cross] [Blocks]
A test whose compiler or emulator is missing is skipped.
"""
import fcntl, json, os, platform, re, sys, unittest
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program"))
import loops
import npz
import program_test as programs
from needs import need, needs

KILN, DONE, WRONG, USAGE = programs.KILN, programs.DONE, programs.WRONG, programs.USAGE
SAMPLES = ("beam", "digits", "halting", "lstm")


def sample(name, file):
    return os.path.join(programs.SAMPLES, name, file)


def has_flag(flag):
    with open("/proc/cpuinfo") as f:
        return flag in f.read().split()


class Way(programs.Test):
    def holds(self, options, launch=(), samples=("digits",)):
        """Programs of samples on their profiled inputs, and a model on inputs with other branches and sizes."""
        for name in samples:
            with self.subTest(name):
                program = self.build(name, sample(name, "model.pt"), "-i", sample(name, "in.npz"), *options)
                self.ends(DONE, *launch, program, "-i", sample(name, "in.npz"), "--strict", "-o", self.at("out.npz"))
                self.assertIsNone(npz.differs(npz.read(sample(name, "out.npz")), npz.read(self.at("out.npz"))))
        path = programs.model(self.at("m.pt"), programs.SOURCE)
        given = self.write("x.npz", x=programs.floats(1, 2, -1, 4))
        program = self.build("m", path, "-i", given, *options)
        for x, shape in (([1, 2, -1, 4], (4,)), ([-5, 0, -2, 1], (4,)), ([1, -2, 3, 4, 5, -6], (2, 3)), ([7], ())):
            given = self.write("x.npz", x=programs.floats(*x, shape=shape))
            want = {"out": ("<f4", shape, programs.expected(x))}
            self.assertIsNone(npz.differs(want, self.answer(*launch, program, "-i", given)))
        return program

    def opens(self, options, launch=()):
        """The forms that a program makes of its weights when it is opened have the bits that --forms fast stores."""
        self.write("x.npz", x=programs.floats(*(i % 37 / 37 - 0.5 for i in range(32 * 144)), shape=(1, 32, 12, 12)))
        model = self.at("c.py")
        with open(model, "w") as f:
            f.write("def forward(x: Tensor) -> Tensor:\n    w = torch.sin(torch.arange(9216, dtype=torch.float))\n"
                    "    return torch.conv2d(x, w.reshape([32, 32, 3, 3]), None, [1, 1], [1, 1])\n")
        results = []
        for forms in "made", "fast":
            program = self.build(forms, model, "-i", self.at("x.npz"), "--forms", forms, *options)
            self.assertIn("forms " + forms, self.ends(DONE, *launch, program, "--info")[0])
            self.assertEqual("made when it is opened 147456 " in self.ends(DONE, *launch, program, "--info")[0], forms == "made")
            results.append(self.answer(*launch, program, "-i", self.at("x.npz"), "--strict"))
        self.assertTrue(results[0] == results[1])

    def libraries(self, program):
        out, err = programs.run("ldd", program)[1:]
        return sorted(line.split()[0].split(".")[0] for line in out.splitlines() if "=>" in line) or out + err


@unittest.skipUnless(platform.machine() == "x86_64", "the ways are for x86-64")
class Host(Way):
    def test_default(self):
        program = self.holds([])
        self.assertLessEqual(set(self.libraries(program)), {"libc", "libm", "libpthread"})

    def test_tcc(self):
        program = self.holds(["--cc", "tcc"], samples=SAMPLES)
        self.assertLessEqual(set(self.libraries(program)), {"libc", "libm", "libpthread"})

    def test_tcc_needs_no_compiler(self):
        program = self.at("alone")
        self.ends(DONE, KILN, "build", sample("halting", "model.pt"), "-i", sample("halting", "in.npz"), "--cc", "tcc",
                  "-o", program, PATH=self.folder.name)
        self.assertIsNone(npz.differs(npz.read(sample("halting", "out.npz")), self.answer(program, "-i", sample("halting", "in.npz"))))

    @needs("clang")
    def test_clang(self):
        self.holds(["--cc", "clang"])

    def test_old_processor(self):
        self.holds(["--cpu", "x86-64"])

    @unittest.skipUnless(has_flag("avx2"), "AVX2 is missing")
    def test_avx2(self):
        self.holds(["--cpu", "x86-64-v3"])

    @needs("qemu-x86_64")
    def test_lesser_processor(self):
        """A program that needs more than the processor has prints a message and does nothing else. A library does not open."""
        program = self.build("v3", sample("halting", "model.pt"), "-i", sample("halting", "in.npz"), "--cpu", "x86-64-v3")
        for cpu, lacks in ("Conroe", ["sse4.1", "avx2"]), ("Nehalem", ["avx2", "fma", "bmi2"]):
            for more in [], ["--info"], ["--help"]:
                out = self.ends(programs.NO_DEVICE, "qemu-x86_64", "-cpu", cpu, program, *more, says=lacks + ["x86-64-v3"])[0]
                self.assertEqual(out, "")
        self.ends(DONE, "qemu-x86_64", "-cpu", "Haswell", program, "-i", sample("halting", "in.npz"))
        if has_flag("avx"):
            native = self.build("native", sample("halting", "model.pt"), "-i", sample("halting", "in.npz"), "--cpu", "native")
            self.ends(programs.NO_DEVICE, "qemu-x86_64", "-cpu", "Nehalem", native, says=["the one it was built on"])
        door = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../door")
        library = self.build("libnet.so", os.path.join(door, "net.py"), "--input", "x=float32[1x4]", "--emit", "shared", "--cpu", "x86-64-v3")
        with open(self.at("open.c"), "w") as f:
            f.write('#include "net.h"\n#include <stdio.h>\nint main(void) {\n  char why[300];\n  net *m = net_open(0, why, sizeof why);\n'
                    '  puts(m ? "open" : why);\n  net_close(m);\n  return 0;\n}\n')
        self.ends(DONE, "cc", "-o", self.at("open"), self.at("open.c"), library, "-Wl,-rpath," + self.folder.name)
        self.assertIn("lacks movbe", self.ends(DONE, "qemu-x86_64", "-cpu", "Nehalem", self.at("open"))[0])
        self.assertEqual(self.ends(DONE, "qemu-x86_64", "-cpu", "Haswell", self.at("open"))[0], "open\n")

    def test_options_of_the_compiler(self):
        """--cpu is one option. --march and --mcpu are the compiler's own options and replace it."""
        build = KILN, "build", sample("halting", "model.pt"), "-o", self.at("v"), "-v"
        for options, has, lacks in ((["--cpu", "x86-64-v2"], ["-march=x86-64-v2 "], ["-mtune", "native"]),
                                    (["--cpu", "x86-64-v3", "--march", "x86-64-v2"], ["-march=x86-64-v2 "], ["x86-64-v3"]),
                                    (["--cpu", "x86-64-v2", "--mcpu", "skylake"], ["-march=x86-64-v2 ", "-mtune=skylake "], []),
                                    (["--cpu", "native"], ["-march=native ", "-mtune=generic "], []),
                                    (["--cpu", "native", "--mcpu", "znver3"], ["-march=native ", "-mtune=znver3 "], ["generic"]),
                                    ([], ["-march=x86-64-v2 ", "-march=x86-64-v3 ", "-march=x86-64-v4 "], ["native", "icelake"]),
                                    (["--march", "x86-64-v3"], ["-march=x86-64-v3 "], ["x86-64-v2", "native"])):
            err = self.ends(DONE, *build, *options, says=has)[1]
            for word in lacks:
                self.assertNotIn(word, re.sub("^kiln: warning: .*", "", err))

    def test_unoptimized(self):
        self.holds(["-O0"], samples=("halting",))

    def test_processor_that_is_none(self):
        self.ends(WRONG, KILN, "build", sample("halting", "model.pt"), "--cpu", "i4004", "-o", self.at("none"), says=["i4004"])

    def test_static(self):
        self.assertIn("not a dynamic", self.libraries(self.holds(["--static"])))


def works(triple):
    """Decides whether programs for a target can be built and run here. A skipped test names what is missing (kiln targets)."""
    def decide(test):
        def run(self):
            row = next(r for r in json.loads(self.ends(DONE, KILN, "targets", "--json")[0]) if r["triple"] == triple)
            runner = row["runner"].split()
            if not row["works"]:
                self.skipTest(f"{row['lacks']} is missing")
            need(*runner[:1])
            test(self, triple, runner, row["compiler"])
        return run
    return decide


@unittest.skipUnless(platform.machine() == "x86_64", "the processors are x86-64's")
class Levels(Way):
    """One program for several processors. Kernels of the best level that the processor supports run."""
    RUNS = (("Nehalem", "x86-64-v2"), ("Haswell", "x86-64-v3"))

    def level(self, launch, program):
        said = self.ends(DONE, *launch, program, "--info", "--json", "-")[0]
        self.assertIn("processor " + json.loads(said)["processor"], self.ends(DONE, *launch, program, "--info")[0])
        return json.loads(said)["processor"]

    def runs(self, program, *arguments):
        """The outputs of all levels, for this processor and for each processor of qemu."""
        def out(launch):
            self.ends(DONE, *launch, program, *arguments, "-o", self.at("out.npz"))
            return npz.read(self.at("out.npz"))
        here = self.level([], program)
        self.assertEqual(here, "x86-64-v4" if all(map(has_flag, ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"))) else here)
        yield here, out([])
        for cpu, name in self.RUNS:
            launch = ["qemu-x86_64", "-cpu", cpu]
            self.assertEqual(self.level(launch, program), name)
            yield name, out(launch)

    @needs("qemu-x86_64")
    def test_portable(self):
        for name in SAMPLES:
            program = self.build(name, sample(name, "model.pt"), "-i", sample(name, "in.npz"))
            for level, got in self.runs(program, "-i", sample(name, "in.npz"), "--strict"):
                self.assertIsNone(npz.differs(npz.read(sample(name, "out.npz")), got), (name, level))
            self.assertEqual(self.ends(programs.NO_DEVICE, "qemu-x86_64", "-cpu", "Conroe", program, "-i", sample(name, "in.npz"),
                                       says=["lacks sse4.1", "x86-64-v2"])[0], "")

    def levels(self, *networks):
        """Each level on profiled sizes and on others, compared with the interpreter."""
        folder = os.path.dirname(os.path.abspath(__file__))
        for name, known, other in networks:
            program = self.build("net", os.path.join(folder, name + ".py"), "--input", f"x=float32[{known}]", "--debug")
            for shape in sorted({known, other}):
                for by in [], ["--runner", "qemu-x86_64 -cpu Nehalem"], ["--runner", "qemu-x86_64 -cpu Haswell"]:
                    self.assertIn("same", self.ends(DONE, KILN, "check", os.path.join(folder, name + ".py"), program, "--input",
                                                    f"x=float32[{shape}]", *by)[0])

    @needs("qemu-x86_64")
    def test_networks(self):
        self.levels(("dscnn", "1x1x49x10", "2x1x37x12"), ("mobile", "1x3x32x32", "1x3x40x24"),
                    ("../size/residual", "1x3x48x40", "1x3x48x40"))

    @needs("qemu-x86_64")
    def test_widths(self):
        """Panels of all widths, with many rows and with one."""
        self.levels(("widths", "33x70", "2x70"), ("widths", "1x70", "7x70"))

    @needs("qemu-x86_64")
    def test_groups(self):
        """Groups that share a vector if vectors are long, and fill it if they are short."""
        self.levels(("groups", "1x3x9x15", "2x3x5x18"))

    @needs("qemu-x86_64")
    def test_bytes(self):
        """8-bit kernels, which have one more level, and an operator that is called. Each level has its own."""
        self.levels(("bytes", "3x64", "5x64"))
        with open(self.at("net"), "rb") as f:
            self.assertIn(b"icelake-server", f.read())
        names = self.ends(DONE, "nm", "--defined-only", self.at("net"))[0]
        for name in "rt_kthvalue", "rt_kthvalue_v3", "rt_kthvalue_v4":
            self.assertRegex(names, fr"(?m) T {name}$")

    @needs("qemu-x86_64")
    def test_other_processors(self):
        program = self.build("halting", sample("halting", "model.pt"), "-i", sample("halting", "in.npz"), "--cpu", "portable")
        list(self.runs(program, "-i", sample("halting", "in.npz")))
        self.ends(programs.NO_DEVICE, "qemu-x86_64", "-cpu", "Conroe", program, says=["x86-64-v2"])

    def test_opens(self):
        self.opens(["--cpu", "portable"])

    @needs("qemu-x86_64")
    def test_gradients(self):
        model = self.at("g.py")
        with open(model, "w") as f:
            f.write("def forward(x: Tensor, w: Tensor, v: Tensor) -> Tensor:\n"
                    "    return torch.linear(torch.relu(torch.conv2d(x, w, None, [1, 1], [1, 1])).flatten(1), v)\n")
        self.write("g.npz", x=programs.floats(*(i % 11 / 11 - 0.5 for i in range(2 * 3 * 36)), shape=(2, 3, 6, 6)),
                   w=programs.floats(*(i % 7 / 7 - 0.4 for i in range(20 * 27)), shape=(20, 3, 3, 3)),
                   v=programs.floats(*(i % 13 / 130 for i in range(5 * 720)), shape=(5, 720)))
        self.ends(DONE, KILN, "run", model, "-i", self.at("g.npz"), "--grad", "x,w,v", "-o", self.at("o.npz"), "--grad-out", self.at("want.npz"))
        program = self.build("g", model, "-i", self.at("g.npz"), "--grad", "x,w,v", "--cpu", "portable")
        for level, _ in self.runs(program, "-i", self.at("g.npz"), "--strict", "--grad-out", self.at("got.npz")):
            self.assertIsNone(npz.differs(npz.read(self.at("want.npz")), npz.read(self.at("got.npz"))), level)

    def test_library(self):
        door = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../door")
        for kind, file in ("shared", "libnet.so"), ("static", "libnet.a"):
            library = self.build(file, os.path.join(door, "net.py"), "--input", "x=float32[1x4]", "--emit", kind, "--cpu", "portable")
            names = self.ends(DONE, "nm", *(["-D"] if kind == "shared" else ["-g"]), "--defined-only", library)[0].split()
            self.assertFalse([n for n in names if n.startswith(("kiln", "rt_"))])
            Cross.library(self, kind, "cc", [], "--cpu", "portable")

    def test_other_lists(self):
        self.holds(["--cpu", "x86-64,x86-64-v3"])
        for wrong in ["--cpu", "portable", "--cc", "tcc"], ["--cpu", "x86-64,x86-64-v3", "--march", "x86-64"], \
                     ["--cpu", ","], ["--cpu", "x86-64-v3,x86-64-v2"], ["--cpu", "portable", "--target", "riscv64-linux-gnu"], ["--cpu", "portable", "--no-generic", "--emit", "c"]:
            self.ends(USAGE, KILN, "build", sample("halting", "model.pt"), "-o", self.at("none"), *wrong, says=["--cpu"])
        self.ends(WRONG, KILN, "build", sample("halting", "model.pt"), "-o", self.at("none"), "--cpu", "x86-64,i4004", says=["i4004"])


class Cross(Way):
    """Programs for other targets. The runtime is compiled for the target first: ninja cross."""
    def all_samples(self, triple, runner):
        program = self.holds(["--target", triple], runner, samples=SAMPLES)
        self.opens(["--target", triple], runner)
        self.networks(triple, runner)
        info = json.loads(self.ends(DONE, *runner, program, "--info", "--json", "-")[0])
        size = os.path.getsize(program)
        self.assertGreater(info["code_bytes"], 10000)
        self.assertLess(info["code_bytes"], size - info["weights_bytes"])       # weights are no code

    def networks(self, triple, runner):
        """Convolutions of all kinds, on profiled sizes and on others, compared with the interpreter."""
        for name, known, other in ("dscnn", "1x1x49x10", "2x1x37x12"), ("mobile", "1x3x32x32", "1x3x40x24"):
            model = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
            program = self.build(name, model, "--input", f"x=float32[{known}]", "--target", triple)
            by = ["--runner", " ".join(runner)] if runner else []
            for shape in known, other:
                self.assertIn("same", self.ends(DONE, KILN, "check", model, program, "--input", f"x=float32[{shape}]", *by)[0])

    @works("x86_64-linux-musl")
    def test_x86_64_musl(self, triple, runner, cc):
        self.all_samples(triple, runner)
        self.assertIn("not a dynamic", self.libraries(self.holds(["--target", triple], samples=())))
        self.libraries_of(("static", "obj"), "musl-gcc", [], triple)
        for compiler in "gcc", "musl-gcc":
            program = self.holds(["--target", triple, "--cc", compiler], samples=("halting",))
            with open(program, "rb") as f:
                self.assertNotIn(b"GNU C Library", f.read())
        with self.subTest("clang"):
            need("clang")
            self.ends(USAGE, KILN, "build", sample("digits", "model.pt"), "-i", sample("digits", "in.npz"), "-o", self.at("none"),
                      "--target", triple, "--cc", "clang", says=["clang compiles for the GNU C library", "musl-gcc"])
        for folder in "lib", "include":                 # as on systems with musl
            os.makedirs(self.at("root/usr"), exist_ok=True)
            os.symlink(f"/usr/{folder}/{triple}", self.at("root/usr/" + folder))
        self.holds(["--target", triple, "--sysroot", self.at("root")], samples=("halting",))

    @works("aarch64-linux-musl")
    def test_aarch64_musl(self, triple, runner, cc):
        self.all_samples(triple, runner)

    @works("riscv64-linux-gnu")
    def test_riscv64(self, triple, runner, cc):
        self.all_samples(triple, runner)
        self.libraries_of(("shared", "static", "obj"), cc, runner, triple)

    @works("arm-linux-gnueabihf")
    def test_armhf(self, triple, runner, cc):
        self.all_samples(triple, runner)
        self.libraries_of(("shared", "static", "obj"), cc, runner, triple)

    @works("aarch64-linux-gnu")
    def test_aarch64(self, triple, runner, cc):
        self.all_samples(triple, runner)
        self.holds(["--target", triple, "--static", "--cpu", "cortex-a53"], runner, samples=())
        self.libraries_of(("shared", "static", "obj"), cc, runner, triple)
        program = self.build("a76", sample("digits", "model.pt"), "-i", sample("digits", "in.npz"), "--target", triple,
                             "--cpu", "cortex-a76")
        self.ends(programs.NO_DEVICE, runner[0], "-cpu", "cortex-a53", *runner[1:], program, says=["lacks atomics", "asimddp", "cortex-a76"])
        self.ends(DONE, *runner, program, "-i", sample("digits", "in.npz"))
        program = self.holds(["--target", triple, "--cpu", "portable"], runner)
        for cpu, level in ("cortex-a53", "generic"), ("neoverse-n1", "neoverse-n1"):
            launch = [runner[0], "-cpu", cpu, *runner[1:]]
            self.assertEqual(json.loads(self.ends(DONE, *launch, program, "--info", "--json", "-")[0])["processor"], level)

    @works("aarch64-linux-gnu")
    def test_cache(self, triple, runner, cc):
        """The runtime files that a program needs are compiled once per processor, others when a program needs them."""
        def build(*options):
            self.ends(DONE, KILN, "build", sample("digits", "model.pt"), "-i", sample("digits", "in.npz"), "--target", triple,
                      *options, "-o", self.at("net"), XDG_CACHE_HOME=self.at("cache"))
            return {f: sorted(os.listdir(self.at("cache/kiln/" + f))) for f in os.listdir(self.at("cache/kiln"))}
        os.mkdir(self.at("cache"))
        (folder, first), = build().items()
        self.assertIn("conv.o", first)
        self.assertNotIn("fft.o", first)
        stamp = os.stat(self.at("cache/kiln/%s/conv.o" % folder)).st_mtime_ns
        self.assertEqual(build(), {folder: first})
        self.assertEqual(os.stat(self.at("cache/kiln/%s/conv.o" % folder)).st_mtime_ns, stamp)
        self.assertEqual(len(build("--cpu", "cortex-a72")), 2)
        # one folder more removes the least recently used ones beyond 32, except those in use and other files
        for i in range(40):
            os.makedirs(self.at("cache/kiln/rt-old-%d" % i))
            for name in "rt-old-%d/x.o" % i, "file-%d" % i: open(self.at("cache/kiln/" + name), "w").close()
            os.utime(self.at("cache/kiln/rt-old-%d" % i), (i, i))
        held = os.open(self.at("cache/kiln/rt-old-3"), os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_SH)
        self.ends(DONE, KILN, "build", sample("digits", "model.pt"), "--target", triple, "--cpu", "cortex-a73", "-o", self.at("net"), XDG_CACHE_HOME=self.at("cache"))
        os.close(held)
        left = {f for f in os.listdir(self.at("cache/kiln")) if f.startswith("rt-")}
        self.assertEqual(len(left), 33)
        self.assertEqual({f for f in left if f.startswith("rt-old-")}, {"rt-old-%d" % i for i in [3, *range(11, 40)]})
        self.assertEqual(len(os.listdir(self.at("cache/kiln"))), 33 + 40)

    @works("aarch64-linux-gnu")
    def test_cache_of_another_compiler(self, triple, runner, cc):
        """Files compiled by another compiler of the same name, or with other options, are not linked."""
        def folders(*options, **environment):
            self.ends(DONE, KILN, "build", os.path.join(os.path.dirname(__file__), "../door/net.py"), "--target", triple, "--cc", self.at("gcc"),
                      "-o", self.at("net"), *options, XDG_CACHE_HOME=self.at("other"), **environment)
            return len(os.listdir(self.at("other/kiln")))
        os.mkdir(self.at("other"))
        for n, options in enumerate((["-fno-common"], ["-fcommon"])):           # no macro tells these options apart
            with open(self.at("gcc"), "w") as f:
                f.write("#!/bin/sh\nexec %s %s \"$@\"\n" % (cc, *options))
            os.chmod(self.at("gcc"), 0o755)
            self.assertEqual(folders(), n + 1)
            self.assertEqual(folders(), n + 1)
        self.assertEqual(folders("--march", "armv8-a+crc"), 3)
        self.assertEqual(folders("--sysroot", "/"), 4)

    def libraries_of(self, kinds, cc, runner, triple):
        for kind in kinds:
            self.library(kind, cc, runner, "--target", triple)

    def library(self, kind, cc, launch, *options):
        """tests/door/net.py as a library, and a C program that calls it."""
        door = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../door")
        library = self.build("libnet." + {"shared": "so", "static": "a", "obj": "o"}[kind], os.path.join(door, "net.py"), "--input",
                             "x=float32[1x4]", "--emit", kind, *options)
        with open(self.at("call.c"), "w") as f:
            f.write('#include "net.h"\nint main(void) {\n  const float x[1][4] = { { 1, 2, 3, 4 } }; float y[1][3];\n  net *m = net_open(0, 0, 0);\n'
                    '  int bad = !m || net_forward(m, x, y) || y[0][0] < 1.7388f || y[0][0] > 1.7389f;\n  net_close(m);\n  return bad;\n}\n')
        self.ends(DONE, cc, "-o", self.at("call"), self.at("call.c"), library, "-Wl,-rpath," + self.folder.name, "-lm", "-lpthread")
        self.ends(DONE, *launch, self.at("call"))


class Blocks(programs.Test):
    """The register blocks of aarch64 (tests/kern/blocks.c): their results and their numbers of instructions.

    A trip of the loop over k has 64 products, 8 loads of rows, 8 of lines or 4 of pairs, and loop control: 1.33 instructions for
    each product."""
    WAYS = (("neoverse-n1", [], {"vc_panel_2": 1.4, "vc_strip_2": 1.4, "vc_pixels_2": 1.4, "vc_dw_3": 1.8, "vc_dw_5": 1.7}),
            ("cortex-a55", ["-DVC_IN_ORDER=1"], {"vc_panel_2": 1.4, "vc_strip_2": 1.4, "vc_pixels_2": 1.4, "vc_dw_3": 2.25, "vc_dw_5": 2}))

    def blocks(self, *compiler):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../kern/blocks.c")
        flags = ["-std=gnu11", "-O2", "-fno-strict-aliasing", "-fno-math-errno", "-fno-trapping-math", "-ftree-vectorize",
                 "-ffp-contract=fast", "-fno-pie", "-w"]
        for cpu, options, most in self.WAYS:
            with self.subTest(cpu):
                self.ends(DONE, *compiler, *flags, *options, "-mcpu=" + cpu, "-c", source, "-o", self.at("blocks.o"))
                self.ends(DONE, *compiler, "-static", self.at("blocks.o"), "-o", self.at("blocks"), "-lm")
                self.ends(DONE, "qemu-aarch64", self.at("blocks"), "12")
                loop = loops.hottest(self.at("blocks.o"))
                for name, bound in most.items():
                    self.assertLessEqual(len(loop[name]) / loops.multiplications(loop[name]), bound, name)

    @needs("arm-none-eabi-gcc")
    def test_fpu(self):
        """A Cortex-M with an FPU computes and passes floats in its registers."""
        model = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dscnn.py")
        for options, found in ((["--cpu", "cortex-m4"], 1), (["--cpu", "cortex-m7"], 1), (["--cpu", "cortex-m4+nofp"], 0), (["--cpu", "cortex-m3"], 0),
                               (["--mcpu", "cortex-m33"], 1), (["--cpu", "cortex-m4", "--mcpu", "cortex-m3"], 0)):
            with self.subTest(options):
                self.build("net.o", model, "--input", "x=float32[1x1x49x10]", "--no-generic", "--emit", "obj", "--name", "net",
                           "--target", "arm-none-eabi", *options)
                left = self.ends(DONE, "arm-none-eabi-nm", "-u", self.at("net.o"))[0]
                self.assertEqual("__aeabi_fmul" not in left, bool(found))
                self.assertEqual("Tag_ABI_VFP_args" in self.ends(DONE, "arm-none-eabi-readelf", "-A", self.at("net.o"))[0], bool(found))

    @works("aarch64-linux-gnu")
    def test_in_order(self, triple, runner, cc):
        """Which blocks a processor uses is data of its target."""
        model = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dscnn.py")
        build = KILN, "build", model, "--input", "x=float32[1x1x49x10]", "--target", triple, "--emit", "c"
        for cpu, bare, found in (("cortex-a55", [], 1), ("cortex-a53+crypto", [], 1), ("neoverse-n1", [], 0),
                                 ("cortex-a55", ["--no-generic"], 1)):
            self.ends(DONE, *build, "--cpu", cpu, *bare, "-o", self.at("c"))
            with open(self.at("c/c.c")) as f:
                self.assertEqual(f.read().count("#define VC_IN_ORDER 1"), found, (cpu, bare))
        self.ends(DONE, *build, "--cpu", "cortex-a53,neoverse-n1", "-o", self.at("levels"))
        with open(self.at("levels/build.ninja")) as f:
            self.assertEqual(f.read().count("-DVC_IN_ORDER=1"), 1)

    @needs("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump", "qemu-aarch64")
    def test_gcc(self):
        self.blocks("aarch64-linux-gnu-gcc")

    @needs("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump", "llvm-mca-19")
    def test_cycles(self):
        """Multiplications per cycle by LLVM's models: a Neoverse N1 has two multipliers, a Cortex-A55 one."""
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../kern/blocks.c")
        for (cpu, options, _), product, depthwise in zip(self.WAYS, (1.9, 0.85), (1.7, 0.78)):
            self.ends(DONE, "aarch64-linux-gnu-gcc", "-std=gnu11", "-O2", "-fno-strict-aliasing", "-ffp-contract=fast", "-w", *options, "-mcpu=" + cpu,
                      "-c", source, "-o", self.at("blocks.o"))
            loop = loops.hottest(self.at("blocks.o"))
            for names, least in (("vc_panel_2", "vc_strip_2", "vc_pixels_2"), product), (("vc_dw_3", "vc_dw_5", "vc_dw_3_by_2", "vc_dw_5_by_2"), depthwise):
                for name in names:
                    with self.subTest(name, cpu=cpu):
                        self.assertGreaterEqual(round(loops.multiplications(loop[name]) / loops.cycles(loop[name], cpu), 2), least)

    @needs("clang", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump", "qemu-aarch64")
    def test_clang(self):
        self.blocks("clang", "--target=aarch64-linux-gnu")

    @needs("arm-linux-gnueabihf-gcc", "qemu-arm")
    def test_32_bits(self):
        """Targets with 32-bit sizes, with vectors and without."""
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../kern/blocks.c")
        for floats in "4", "1":
            with self.subTest(floats):
                self.ends(DONE, "arm-linux-gnueabihf-gcc", "-std=gnu11", "-O2", "-fno-strict-aliasing", "-Wall", "-Werror", "-Wno-psabi",
                          "-mfpu=neon", "-DVC_FLOATS=" + floats, "-static", source, "-o", self.at("blocks"), "-lm")
                self.ends(DONE, "qemu-arm", self.at("blocks"), "12")

    @needs("arm-linux-gnueabihf-gcc", "arm-linux-gnueabihf-objdump", "qemu-arm")
    def test_neon_32(self):
        """32-bit NEON: gcc could split 128-bit vectors into halves, with 5.9 instructions for each product of a pair of floats.
        These kernels keep whole vectors."""
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../kern/blocks.c")
        for cpu in "cortex-a7", "cortex-a9":
            with self.subTest(cpu):
                self.ends(DONE, "arm-linux-gnueabihf-gcc", "-std=gnu11", "-O2", "-fno-strict-aliasing", "-ftree-vectorize", "-ffp-contract=fast", "-Wall",
                          "-Werror", "-Wno-psabi", "-mcpu=" + cpu, "-mfpu=auto", "-c", source, "-o", self.at("blocks.o"))
                self.ends(DONE, "arm-linux-gnueabihf-gcc", "-static", self.at("blocks.o"), "-o", self.at("blocks"), "-lm")
                self.ends(DONE, "qemu-arm", "-cpu", cpu, self.at("blocks"), "8")
                loop = loops.hottest(self.at("blocks.o"), "arm-linux-gnueabihf-objdump")
                for name, most in ("vc_panel_2", 2.5), ("vc_strip_2", 3), ("vc_pixels_2", 3), ("vc_dw_3", 3), ("vc_dw_5", 2.5):
                    self.assertTrue(all("q" in rest for _, op, rest in loop[name] if op in loops.MULTIPLIES), name)
                    self.assertLessEqual(len(loop[name]) / loops.multiplications(loop[name]), most, name)

    @needs("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump", "qemu-aarch64", "arm-linux-gnueabihf-gcc", "qemu-arm")
    def test_int8(self):
        """Products of 8-bit integers by NEON, with the dot product instruction and without (tests/kern/int8.c): the bits of plain
        C. A trip of the loop with it has 64 of these instructions, 16 loads of weights, 4 of rows, 4 that make bytes signed,
        and loop control."""
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../kern/int8.c")
        for prefix, option, emulator, dots in (("aarch64-linux-gnu-", "-mcpu=neoverse-n1", "qemu-aarch64", True),
                                               ("aarch64-linux-gnu-", "-mcpu=cortex-a53", "qemu-aarch64", False),
                                               ("arm-linux-gnueabihf-", "-mfpu=neon", "qemu-arm", False)):
            with self.subTest(option):
                self.ends(DONE, prefix + "gcc", "-std=gnu11", "-O2", "-fno-strict-aliasing", "-Wall", "-Werror", option, "-c", source,
                          "-o", self.at("int8.o"))
                self.ends(DONE, prefix + "gcc", "-static", self.at("int8.o"), "-o", self.at("int8"), "-lm")
                self.ends(DONE, emulator, "-cpu", "max", self.at("int8"))
                if dots:
                    loop = loops.hottest(self.at("int8.o"))["vi_product"]
                    self.assertLessEqual(len(loop) / loops.multiplications(loop), 1.4)

    @needs("arm-linux-gnueabihf-gcc")
    def test_types_of_32_bits(self):
        """Kiln compiles emitted code without warnings (-w), so types that differ only where int64_t is not long must not become
        errors."""
        here = os.path.dirname(os.path.abspath(__file__))
        models = [(sample(name, "model.pt"), "-i", sample(name, "in.npz")) for name in SAMPLES]
        models += [(os.path.join(here, "dscnn.py"), "--input", "x=float32[1x1x49x10]"),
                   (os.path.join(here, "dscnn.py"), "--input", "x=float32[1x1x49x10]", "--no-generic"),
                   (os.path.join(here, "../size/residual.py"), "--input", "x=float32[1..2x3x64x64]")]
        for i, model in enumerate(models):
            folder = self.at(f"text{i}")
            with self.subTest(model):
                self.ends(DONE, KILN, "build", *model, "--target", "arm-linux-gnueabihf", "--emit", "c", "--name", "net", "-o", folder)
                for name in sorted(f for f in os.listdir(folder) if f.endswith(".c") and "weights" not in f):
                    self.ends(DONE, "arm-linux-gnueabihf-gcc", "-std=gnu11", "-fsyntax-only", "-mfpu=neon", "-Wno-psabi",
                              "-Werror=incompatible-pointer-types", "-Werror=int-conversion", "-I", folder, os.path.join(folder, name))


class Refused(programs.Test):
    """A target that cannot be built here is rejected before anything is compiled."""
    def refused(self, status, *options, says=(), **environment):
        self.ends(status, KILN, "build", sample("digits", "model.pt"), "-i", sample("digits", "in.npz"), "-o", self.at("none"),
                  *options, says=says, **environment)
        self.assertFalse(os.path.exists(self.at("none")))

    def test_no_such_target(self):
        self.refused(USAGE, "--target", "aarch64-linux-gmu", says=["did you mean aarch64-linux-gnu?", "riscv64-linux-gnu"])
        self.refused(USAGE, "--target", "pdp11", says=["'pdp11'\n"])

    def test_no_compiler(self):
        self.refused(programs.LACKS, "--target", "arm-linux-gnueabihf", says=["gcc-arm-linux-gnueabihf"], PATH=self.folder.name)
        self.refused(programs.LACKS, "--cc", "no-such-cc", says=["no-such-cc"])
        rows = json.loads(self.ends(DONE, KILN, "targets", "--json", PATH=self.folder.name)[0])
        self.assertEqual([r["works"] for r in rows], [False] * len(rows))
        self.assertIn("gcc-riscv64-linux-gnu", self.ends(DONE, KILN, "targets", PATH=self.folder.name)[0])

    def test_no_c_library(self):
        """A compiler that does not find the files that programs are linked with, and one that does."""
        os.mkdir(self.at("fake"))
        for found, works in ("crt1.o", False), ("/lib/crt1.o", True):
            with open(self.at("fake/aarch64-linux-gnu-gcc"), "w") as f:
                f.write("#!/bin/sh\necho %s\n" % found)
            os.chmod(self.at("fake/aarch64-linux-gnu-gcc"), 0o755)
            rows = json.loads(self.ends(DONE, KILN, "targets", "--json", PATH=self.at("fake") + ":/bin")[0])
            row, = (r for r in rows if r["triple"] == "aarch64-linux-gnu")
            self.assertEqual((row["works"], "libc6-dev-arm64-cross" in row["lacks"]), (works, not works))

    def test_program_of_another_machine(self):
        with open(self.at("other"), "wb") as f:
            f.write(b"\x7fELF" + bytes(60))
        os.chmod(self.at("other"), 0o755)
        self.ends(WRONG, KILN, "check", sample("digits", "model.pt"), self.at("other"), "-i", sample("digits", "in.npz"),
                  says=["Exec format error", "--runner"])

    def test_big_endian(self):
        """Weights and constants are little-endian. kiln rejects a big-endian target, and a compiler that is told to make
        big-endian code."""
        for triple in "s390x-linux-gnu", "powerpc64-linux-gnu", "mips-linux-gnu", "aarch64_be-none-elf":
            self.refused(programs.LACKS, "--target", triple, says=[triple + " is big-endian"])
        self.refused(USAGE, "--target", "powerpc64le-linux-gnu", says=["no target 'powerpc64le"])

    @needs("arm-none-eabi-gcc")
    def test_big_endian_options(self):
        self.refused(programs.LACKS, "--no-generic", "--emit", "obj", "--name", "n", "--target", "arm-none-eabi", says=["is big-endian"],
                     CFLAGS="-mbig-endian")

    @needs("s390x-linux-gnu-gcc")
    def test_big_endian_text(self):
        """No file of an emitted folder compiles for a big-endian target: the emitted files, the runtime's, the header of
        operators."""
        seen = set()
        op = self.at("op.c")
        with open(op, "w") as f:
            f.write('#include "kiln.h"\nint my_f(RtCx *cx, const IValue *in, IValue *out) { (void)cx; out[0] = rt_retain(in[0]); return RT_OK; }\n')
        for name, options in (("all", ["--op", op, "--op-schema", "my::f(Tensor a) -> Tensor"]), ("plain", ["--no-generic"])):
            with open(self.at("m.py"), "w") as f:
                f.write("def forward(x: Tensor) -> Tensor:\n    return x @ torch.ones(3, 2)\n")
            folder = self.build(name, self.at("m.py"), "--input", "x=float32[2x3]", "--emit", "c", "--name", "net", "--no-dynamic", *options)
            for root, _, files in os.walk(folder):
                for file in files:
                    if file.endswith(".c"):
                        rc, _, err = programs.run("s390x-linux-gnu-gcc", "-E", "-D_GNU_SOURCE", "-I", folder, "-o", "/dev/null", os.path.join(root, file))
                        self.assertNotEqual(rc, 0, file)
                        self.assertIn("is for little-endian processors", err, file)
                        seen.add(file)
        self.assertLessEqual({"net.c", "net_weights.c", "net_op0.c", "npz.c", "tensor.c"}, seen)

    def test_sysroot(self):
        self.refused(programs.LACKS, "--target", "x86_64-linux-musl", "--sysroot", self.folder.name, says=["musl-dev"])


class Options(programs.Test):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        t = cls("setUpClass")
        cls.given = sample("digits", "in.npz")
        cls.program = t.build("digits", sample("digits", "model.pt"), "-i", cls.given)

    def test_trace(self):
        self.ends(DONE, self.program, "-i", self.given, "-o", self.at("out.npz"), "--trace", self.at("trace.json"))
        with open(self.at("trace.json")) as f:
            events = json.load(f)["traceEvents"]
        whole = [e for e in events if e["name"] == "forward"]
        self.assertEqual(len(whole), 1)
        self.assertGreater(len(events), 1, "only the whole call")
        made = [e for e in events if e["name"] == "weights transformed"]    # when the program is opened
        for e in made:
            self.assertLessEqual(e["ts"] + e["dur"], whole[0]["ts"])
        for e in events:
            if e in made:
                continue
            self.assertGreaterEqual(e["ts"], whole[0]["ts"])
            self.assertLessEqual(e["ts"] + e["dur"], whole[0]["ts"] + whole[0]["dur"] + 0.002)

    def test_threads(self):
        want = self.answer(self.program, "-i", self.given)
        for n in (0, 1, 2, 5):
            self.assertIsNone(npz.differs(want, self.answer(self.program, "-i", self.given, "--threads", n)))
        self.ends(DONE, self.program, "-i", self.given, "--bench=2", "--threads", 2, "--json", self.at("b.json"))
        with open(self.at("b.json")) as f:
            self.assertEqual(json.load(f)["threads"], 2)
        for n in ("-1", "two", "1e3", "99999"):
            self.ends(USAGE, self.program, "-i", self.given, "--threads", n)

    def test_code_bytes(self):
        self.ends(DONE, self.program, "--info", "--json", self.at("info.json"))
        with open(self.at("info.json")) as f:
            info = json.load(f)
        self.assertGreater(info["code_bytes"], 10000)
        self.assertLess(info["code_bytes"], 400000)
        self.assertGreater(info["weights_bytes"], 0)

    def test_value_missing(self):
        for option in ("-i", "-o", "--json", "--seed"):
            self.ends(USAGE, self.program, option, says=[f"missing value of option {option}"])

    def test_help(self):
        self.assertIn("--selfcheck", self.ends(DONE, self.program, "--help")[0])

    def test_printing_that_fails(self):
        with open("/dev/full", "w") as full:
            rc = programs.subprocess.run([self.program, "-i", self.given], stdout=full, stderr=programs.subprocess.DEVNULL).returncode
        self.assertEqual(rc, WRONG)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.argv += os.environ.get("WAYS", "").split()
    unittest.main(verbosity=2)
