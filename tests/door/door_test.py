"""Programs as libraries: one C program with two models, with each kind of library, and what other tools see of the libraries.

usage: door_test.py KILN
"""
import ctypes, os, platform, re, subprocess, sys, unittest
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program"))
import npz
import program_test as programs
from needs import need, needs

KILN, DONE, USAGE = programs.KILN, programs.DONE, programs.USAGE
HERE = os.path.dirname(os.path.abspath(__file__))
CC = os.environ.get("CC", "cc")
METHODS = "forward,grow,describe,keep,write,refuse,draw,say"
WARN = ["-std=c11", "-D_GNU_SOURCE", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused-function"]
WRAP = ["-Wl,--wrap=" + f for f in ("malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign")]
ENDS = {"shared": "so", "static": "a", "obj": "o"}
SANITIZED = "-fsanitize" in os.environ.get("CFLAGS", "")
# Fair scheduling: otherwise a thread that spins, or calls without a pause, blocks the others for minutes.
VALGRIND = ["valgrind", "-q", "--fair-sched=yes", "--leak-check=full", "--error-exitcode=9"]
CPU = ["--cpu", "x86-64-v3"] if platform.machine() == "x86_64" else []


def file(name):
    return os.path.join(HERE, name)


class Door(programs.Test):
    def libraries(self, kind, *options, cpu=CPU):
        """Builds many and net as this kind of library. Returns the compiler's arguments to link them."""
        made = []
        for name, more in (("many", [file("many.pt"), "--method", METHODS, "--input", "x=float32[2x3]"]),
                           ("net", [file("net.py"), "--input", "x=float32[1x4]"])):
            made.append(self.build("lib%s.%s" % (name, ENDS[kind]), *more, "--emit", kind, "--name", name, *cpu, *options))
        return made

    def compiles(self, name, libraries, *options, cc=CC):
        """Compiles the program of a file here with these libraries."""
        self.ends(DONE, cc, *WARN, *os.environ.get("CFLAGS", "").split(), "-I", self.folder.name, file(name + ".c"), *libraries,
                  "-Wl,-rpath," + self.folder.name, "-o", self.at(name), "-lm", "-lpthread", *options)
        return self.at(name)

    def test_forms(self):
        """Runs values.c with each kind of library. Each exports NAME_* and nothing else, and two can be linked together."""
        for kind in "shared", "static", "obj":
            with self.subTest(kind):
                libraries = self.libraries(kind)
                for name, library in zip(("many", "net"), libraries):
                    out = self.ends(DONE, "nm", "-g", "--defined-only", *(["-D"] if kind == "shared" else []), library)[0]
                    shown = {line.split()[2] for line in out.splitlines() if len(line.split()) == 3}
                    self.assertEqual({s for s in shown if not s.startswith(name + "_")}, set())
                    self.assertLessEqual({name + "_open", name + "_call", name + "_forward"}, shown)
                self.ends(DONE, self.compiles("values", libraries))

    @unittest.skipIf(SANITIZED or platform.machine() != "x86_64", "tcc links for x86-64, and no sanitizer's calls")
    def test_tcc(self):
        """The compiler inside Kiln: the same answers and threads. Only NAME_* is exported, the loader patches no code, and the
        stack is not executable."""
        libraries = self.libraries("shared", "--cc", "tcc", cpu=[])
        for name, library in zip(("many", "net"), libraries):
            out = self.ends(DONE, "readelf", "-W", "--dyn-syms", "-d", "-l", library)[0]
            rows = [line.split() for line in out.splitlines()]
            shown = {r[7] for r in rows if len(r) > 7 and r[4:6] == ["GLOBAL", "DEFAULT"] and r[6] != "UND"}
            self.assertEqual({s for s in shown if not s.startswith(name + "_")}, set())
            self.assertLessEqual({name + "_open", name + "_call", name + "_forward"}, shown)
            self.assertIn("NODELETE", out)
            self.assertNotIn("TEXTREL", out)
            self.assertRegex(out, r"GNU_STACK .* RW +0x10")         # glibc 2.41 does not load a library without it
        self.assertEqual(self.ends(DONE, self.compiles("values", libraries))[1], "")
        self.ends(DONE, self.compiles("threads", libraries), 1000)

    def test_threads(self):
        libraries = self.libraries("static")
        self.ends(DONE, self.compiles("threads", libraries), 10000)
        self.ends(DONE, self.compiles("stacks", libraries))

    @unittest.skipIf(SANITIZED, "sanitizers allocate themselves")
    def test_count(self):
        self.ends(DONE, self.compiles("count", self.libraries("obj"), *WRAP))

    @unittest.skipIf(SANITIZED, "sanitizers allocate themselves")
    def test_lacking(self):
        """Each allocation fails in turn."""
        program = self.compiles("lacking", self.libraries("static"), *WRAP)
        self.ends(DONE, program)
        need("valgrind")
        self.ends(DONE, *VALGRIND, program, KILN_NO_RECYCLE="1")

    def without_heap(self, *how):
        """Compiles noheap.c with libraries that have no heap."""
        libraries = []
        for name, model, *inputs in (("net", file("net.py"), "x=float32[1x4]"), ("ema", os.path.join(HERE, "..", "bare", "ema.pt"), "x=float32[3x4]"),
                                     ("products", file("products.py"), "x=float32[256x9x11]", "y=float32[256x13x11]")):
            libraries.append(self.build("lib%s.a" % name, model, *[w for i in inputs for w in ("--input", i)], "--no-generic", "--emit", "static", "--name", name,
                                        *CPU))
        return self.compiles("noheap", libraries, *how)

    @unittest.skipIf(SANITIZED, "sanitizers allocate themselves")
    def test_noheap(self):
        """NAME_open_in: uses no heap, several instances share a block, pools, state, and all refusals."""
        self.ends(DONE, self.without_heap(*WRAP))
        need("valgrind")
        self.ends(DONE, *VALGRIND, self.without_heap())

    def test_memory_of_a_library_with_a_heap(self):
        lib = ctypes.CDLL(self.build("libheap.so", file("net.py"), "--input", "x=float32[1x4]", "--emit", "shared", "--name", "heap", *CPU))
        why, memory = ctypes.create_string_buffer(200), ctypes.create_string_buffer(1 << 16)
        self.assertFalse(lib.heap_open_in(memory, ctypes.c_size_t(1 << 16), None, why, ctypes.c_size_t(200)))
        self.assertIn(b"--no-generic", why.value)
        self.assertEqual(lib.heap_bytes(None), 0)

    @unittest.skipIf(SANITIZED, "sanitizers are not for valgrind")
    @needs("valgrind")
    def test_valgrind(self):
        for name, argument in ("values", ()), ("threads", (200,)):
            with self.subTest(name):
                program = self.compiles(name, self.libraries("static"))
                self.ends(DONE, *VALGRIND, program, *argument, KILN_NO_RECYCLE="1")

    def test_header(self):
        """The header is C and C++ by itself, and uses DLPack's header if that exists."""
        self.libraries("shared")
        for cc, language, std in (CC, "c", "c11"), ("g++", "c++", "c++11"), ("g++", "c++", "c++20"):
            with self.subTest(cc=cc, std=std), open(self.at("h." + language), "w") as f:
                need(cc)
                f.write('#include "many.h"\n#include "net.h"\nchar size[sizeof(DLTensor) == 48 ? 1 : -1];\n'
                        'int main(void) { return kDLBool - 6 + (int)sizeof(many_options); }\n')
                f.flush()
                self.ends(DONE, cc, "-x", language, "-std=" + std, *WARN[3:], "-fsyntax-only", self.at("h." + language))
        with open(self.at("net.h")) as f:
            text = f.read()
        self.assertIn("int net_forward(net *m, const float x[1][4], float out[1][3]);", text)
        self.assertIn("x: float32 [?, 4]", text)

    @unittest.skipIf(SANITIZED, "a library under sanitizers wants them first")
    @needs("pkg-config")
    def test_pkg_config(self):
        for kind in "shared", "static":
            with self.subTest(kind):
                self.libraries(kind)
                words = self.ends(DONE, "pkg-config", "--cflags", "--libs", "many", "net", PKG_CONFIG_PATH=self.folder.name)[0].split()
                self.ends(DONE, CC, *WARN, file("values.c"), *words, "-lm", "-o", self.at("values"))
                self.ends(DONE, self.at("values"))

    @unittest.skipIf(SANITIZED, "a library under sanitizers wants them first")
    def test_loaded_and_unloaded(self):
        """Loads a library by dlopen, in a thread that ends after dlclose: its memory is released."""
        library = self.libraries("shared")[1]
        text = """import _ctypes, ctypes, sys, threading
def work():
    lib = ctypes.CDLL(sys.argv[1])
    lib.net_open.restype = ctypes.c_void_p
    lib.net_forward.argtypes = [ctypes.c_void_p] * 3
    lib.net_close.argtypes = [ctypes.c_void_p]
    m, out = lib.net_open(None, None, 0), (ctypes.c_float * 3)()
    assert not lib.net_forward(m, (ctypes.c_float * 4)(1, 2, 3, 4), out) and abs(out[0] - 1.73883) < 1e-4
    lib.net_close(m)
    _ctypes.dlclose(lib._handle)
for i in range(3):
    t = threading.Thread(target=work)
    t.start()
    t.join()
"""
        self.ends(DONE, sys.executable, "-c", text, library)

    @unittest.skipIf(SANITIZED, "a library under sanitizers wants them first")
    def test_tuples(self):
        """In functions of C types tuples and lists are separate array parameters."""
        at = lambda file: os.path.join(programs.SAMPLES, "lstm", file)
        lib = ctypes.CDLL(self.build("liblstm.so", at("model.pt"), "-i", at("in.npz"), "--emit", "shared"))
        lib.lstm_open.restype = ctypes.c_void_p
        given, want = npz.read(at("in.npz")), npz.read(at("out.npz"))
        args = [(ctypes.c_float * len(given[k][2]))(*given[k][2]) for k in ("x", "state.0", "state.1")]
        results = {k: (ctypes.c_float * len(v[2]))() for k, v in want.items()}
        m = ctypes.c_void_p(lib.lstm_open(None, None, 0))
        for i in range(3):
            self.assertEqual(lib.lstm_forward(m, *args, *(results[k] for k in sorted(want))), 0)
            self.assertIsNone(npz.differs(want, {k: (*want[k][:2], list(v)) for k, v in results.items()}))
        lib.lstm_close(m)
        source = self.at("parts.py")
        with open(source, "w") as f:
            f.write("def forward(int: List[Tensor], p: Tuple[Tensor, Optional[Tensor]], n: int) -> Tuple[Tensor, List[Tensor]]:\n"
                    "    return int[0] + int[1], [p[0] * n, int[1]]\n")
        given = self.write("parts.npz", int__0=programs.floats(1, 2), int__1=programs.floats(3, 4), p__0=programs.floats(5), n=programs.number(3))
        lib = ctypes.CDLL(self.build("libparts.so", source, "-i", given, "--emit", "shared"))
        with open(self.at("parts.h")) as f:
            self.assertIn("int parts_forward(parts *m, const float int_0[2], const float int_1[2], const float p_0[1], float out_0[2], "
                          "float out_1_0[1], float out_1_1[2]);", f.read())
        lib.parts_open.restype = ctypes.c_void_p
        out, a, b = [(ctypes.c_float * 2)() for i in range(3)], (ctypes.c_float * 2)(1, 2), (ctypes.c_float * 2)(3, 4)
        m = ctypes.c_void_p(lib.parts_open(None, None, 0))
        for i in range(3):
            self.assertEqual(lib.parts_forward(m, a, b, (ctypes.c_float * 1)(5), *out), 0)
            self.assertEqual([*out[0], out[1][0], *out[2]], [4, 6, 15, 3, 4])
        lib.parts_close(m)

    def is_direct(self, lines, *given):
        """Does the function of C types call kernels without a frame?"""
        with open(self.at("d.py"), "w") as f:
            f.write(lines)
        self.ends(DONE, KILN, "build", self.at("d.py"), *[w for g in given for w in ("--input", g)], "--emit", "c", "--name", "d", "-o", self.at("d"))
        with open(self.at("d/d.c")) as f:
            table, = re.findall(r"static const RtTyped typed\[\] = \{\n(.*)\n", f.read())
        return "spec_0_forward_run }" in table

    def test_direct(self):
        """A function of kernels alone bypasses frame, guards and boxes. A function that can fail or change state does not."""
        turned = "def forward(x: Tensor) -> Tuple[Tensor, List[Tensor]]:\n    return x.flip([0]) * 2, [torch.relu(x), x.t().contiguous()]\n"
        for lines, direct in ((turned, True), ("def forward(x: Tensor):\n    return torch.cat([x, x + 1]), torch.softmax(x, 1).sum()\n", True),
                              ("def forward(x: Tensor):\n    return x\n", False), ("def forward(x: Tensor):\n    return torch.relu(x).t()\n", False),
                              ("def forward(x: Tensor):\n    y = torch.relu(x)\n    return y, y\n", False),
                              ("def forward(x: Tensor):\n    y = torch.relu(x)\n    return y, y[0]\n", False),
                              ("def forward(x: Tensor):\n    return x.add_(1) * 2\n", False), ("def forward(x: Tensor):\n    return torch.kthvalue(x, 1)[0]\n", False),
                              ("def forward(x: Tensor):\n    if bool(x.sum() > 0):\n        return x * 2\n    return x * 3\n", False),
                              ("def forward(x: Tensor):\n    return x[torch.clamp(x[0], 0, 1).long()]\n", False)):
            with self.subTest(lines):
                self.assertEqual(self.is_direct(lines, "x=float32[2x3]"), direct)

    @unittest.skipIf(SANITIZED, "a library under sanitizers wants them first")
    def test_opened_on_zeros(self):
        """When a library is opened, it calls kernels on parts of zeros. These may read an index that is out of bounds."""
        with open(self.at("picked.py"), "w") as f:
            f.write("def forward(x: Tensor):\n    a = torch.constant_pad_nd(x, [1, 0], 0)\n    b = a[2:5]\n    t, _0 = torch.topk(x, 2, 0)\n"
                    "    s = torch.scatter_add(torch.zeros_like(b), 0, torch.zeros_like(b).to(4), b)\n    return a, s, b, t\n")
        for sizes in "5", "6":
            lib = ctypes.CDLL(self.build("libpicked%s.so" % sizes, self.at("picked.py"), "--input", "x=float32[%s]" % sizes, "--cpu", "native",
                                         "--no-dynamic", "--name", "net", "--emit", "shared"))
            lib.net_open.restype, lib.net_close.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
            why = ctypes.create_string_buffer(300)
            m = lib.net_open(None, why, 300)
            self.assertTrue(m, why.value)
            lib.net_close(m)

    @unittest.skipIf(SANITIZED, "a library under sanitizers wants them first")
    def test_overlaps(self):
        """Results that overlap arguments or each other, and at any address of a float."""
        with open(self.at("turn.py"), "w") as f:
            f.write("def forward(x: Tensor) -> Tuple[Tensor, Tensor]:\n    return x.flip([0]) * 2, x.flip([0]) + 1\n")
        lib = ctypes.CDLL(self.build("libturn.so", self.at("turn.py"), "--input", "x=float32[64]", "--emit", "shared", *CPU))
        lib.turn_open.restype = lib.turn_error.restype = ctypes.c_void_p
        m = ctypes.c_void_p(lib.turn_open(None, None, 0))
        room = (ctypes.c_float * 256)()
        at = lambda i: ctypes.byref(room, 4 * i)
        for x, a, b in (1, 65, 129), (0, 70, 140), (0, 0, 64), (3, 100, 3), (0, 63, 130), (64, 1, 65), (7, 71, 72):
            with self.subTest((x, a, b)):
                for i in range(64):
                    room[x + i] = i
                self.assertEqual(lib.turn_forward(m, at(x), at(a), at(b)), 0)
                self.assertEqual(room[b:b + 64], [64.0 - i for i in range(64)])
                if abs(a - b) >= 64:
                    self.assertEqual(room[a:a + 64], [126.0 - 2 * i for i in range(64)])
        self.assertNotEqual(lib.turn_forward(m, at(0), None, at(64)), 0)
        self.assertIn(b"null", ctypes.string_at(lib.turn_error(m)))
        self.assertEqual(lib.turn_forward(m, at(0), at(64), at(128)), 0)
        self.assertEqual(ctypes.string_at(lib.turn_error(m)), b"")
        lib.turn_close(m)

    @unittest.skipIf(SANITIZED or platform.machine() != "x86_64", "the instructions counted are x86-64's, without sanitizers")
    @needs("valgrind")
    def test_instructions(self):
        """Number of instructions of a call of a small net, kernels included (about 700): there is no frame and no boxes."""
        library = self.libraries("shared")[1]
        with open(self.at("many_calls.c"), "w") as f:
            f.write('#include "net.h"\n#include <stdlib.h>\nint main(int n, char **a) {\n  const float x[1][4] = { { 1, 2, 3, 4 } }; float y[1][3];\n'
                    '  net *m = net_open(0, 0, 0);\n  for (int i = 0; n > 1 && i < atoi(a[1]); i++)\n    net_forward(m, x, y);\n'
                    '  net_close(m);\n  return 0;\n}\n')
        self.ends(DONE, CC, "-O2", "-o", self.at("many_calls"), self.at("many_calls.c"), library, "-Wl,-rpath," + self.folder.name)
        counts = []
        for n in 1000, 3000:
            err = self.ends(DONE, "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", self.at("many_calls"), n)[1]
            counts.append(int(re.search(r"Collected : (\d+)", err)[1]))
        self.assertLess((counts[1] - counts[0]) / 2000, 1800)

    @unittest.skipIf(SANITIZED, "a library under sanitizers wants them first")
    def test_weights(self):
        """Weights in a file, given by its path and as memory. Another file, and one that is a byte shorter, are refused."""
        self.libraries("shared", "--weights", "file")
        lib = ctypes.CDLL(self.at("libnet.so"))
        lib.net_open.restype = ctypes.c_void_p
        lib.net_close.argtypes = [ctypes.c_void_p]
        lib.net_forward.argtypes = [ctypes.c_void_p] * 3

        class Options(ctypes.Structure):
            _fields_ = [("threads", ctypes.c_int), ("parallel", ctypes.c_void_p), ("pool", ctypes.c_void_p), ("print", ctypes.c_void_p),
                        ("warn", ctypes.c_void_p), ("arg", ctypes.c_void_p), ("seed", ctypes.c_uint64), ("seeded", ctypes.c_int),
                        ("device", ctypes.c_char_p), ("weights_file", ctypes.c_char_p), ("weights", ctypes.c_void_p),
                        ("weights_bytes", ctypes.c_size_t), ("strict", ctypes.c_int)]

        with open(self.at("net.weights"), "rb") as f:
            data = f.read()
        room = ctypes.create_string_buffer(len(data) + 64)
        at = (ctypes.addressof(room) + 63) // 64 * 64
        ctypes.memmove(at, data, len(data))
        why, out = ctypes.create_string_buffer(256), (ctypes.c_float * 3)()
        good = [Options(weights_file=self.at("net.weights").encode()), Options(weights=at, weights_bytes=len(data))]
        bad = [(Options(), b"net.weights"), (Options(weights_file=self.at("many.weights").encode()), b"not this program's"),
               (Options(weights=at, weights_bytes=len(data) - 1), b"bytes are wanted"),
               (Options(weights=at + 4, weights_bytes=len(data)), b"bytes are wanted")]
        for o in good:
            m = lib.net_open(ctypes.byref(o), why, 256)
            self.assertTrue(m, why.value)
            self.assertFalse(lib.net_forward(m, (ctypes.c_float * 4)(1, 2, 3, 4), out))
            self.assertAlmostEqual(out[0], 1.73883, 4)
            lib.net_close(m)
        for o, says in bad:
            self.assertFalse(lib.net_open(ctypes.byref(o), why, 256))
            self.assertIn(says, why.value)

    @unittest.skipIf(SANITIZED, "a library under sanitizers wants them first")
    def test_samples(self):
        """samples/door, with the commands of its README."""
        samples = os.path.join(programs.SAMPLES, "door")
        picture = os.path.join(programs.SAMPLES, "digits", "in.npz")
        library = self.build("libdigits.so", os.path.join(programs.SAMPLES, "digits", "model.pt"), "-i", picture, "--emit", "shared")
        for cc, name, std in (CC, "digits.c", "c11"), ("g++", "digits.cpp", "c++11"):
            with self.subTest(cc):
                need(cc)
                self.ends(DONE, cc, "-std=" + std, *WARN[1:-1], "-I", self.folder.name, os.path.join(samples, name), library, "-o", self.at("digits"),
                          "-Wl,-rpath," + self.folder.name)
                self.assertIn("a 1, by 0.985", self.ends(DONE, self.at("digits"))[0])
        for python in {os.path.realpath(python) for python in (sys.executable, "/usr/bin/python3")}:
            with self.subTest(python):
                if programs.run(python, "-c", "import numpy")[0] != DONE:
                    self.skipTest("NumPy is missing")
                self.assertIn("a 1, by 0.985", self.ends(DONE, python, os.path.join(samples, "digits.py"), library, picture)[0])

    def test_names(self):
        for out, options in ("lib.so", []), ("0.so", []), ("a-b.so", []), ("int.so", []), ("librt.a", []), ("x.so", ["--name", "a b"]), ("p", ["--emit", "exe", "--name", "p"]):
            self.ends(USAGE, KILN, "build", file("net.py"), "--emit", "shared", *options, "-o", self.at(out), says=["name"])
        self.ends(USAGE, KILN, "build", file("net.py"), "--emit", "shared", "--static", "-o", self.at("x.so"), says=["--static"])


if __name__ == "__main__":
    unittest.main()
