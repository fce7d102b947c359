"""Plain C functions without a runtime (--no-generic): they give the same answers as kiln run with every compiler, and models that
cannot become such functions are refused.

usage: bare_test.py KILN
"""
import ctypes, json, math, os, re, shutil, struct, subprocess, sys, unittest
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program"))
import npz
import program_test as programs
from needs import need, needs

KILN, DONE, USAGE, LACKS = programs.KILN, programs.DONE, programs.USAGE, programs.LACKS
TYPES = {"float": (ctypes.c_float, "<f4"), "double": (ctypes.c_double, "<f8"), "int64_t": (ctypes.c_int64, "<i8"), "int32_t": (ctypes.c_int32, "<i4"),
         "uint16_t": (ctypes.c_uint16, "<f2"), "bool": (ctypes.c_bool, "|b1"), "uint8_t": (ctypes.c_uint8, "|u1")}
WARN = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
PUBLIC = {"products_" + end for end in ("forward", "forward_in", "open_in", "bytes", "error")}
HERE = os.path.dirname(os.path.abspath(__file__))
WEIGHT = "def weight(a: int, b: int, k: int) -> Tensor:\n    return torch.sin(torch.reshape(torch.arange(a * b * k * k, dtype=torch.float), [a, b, k, k])) * 0.1\n"


def forward(body, args="x: Tensor", result="Tensor"):
    return WEIGHT + f"def forward({args}) -> {result}:\n" + "".join(f"    {line}\n" for line in body.splitlines())


# name: source, inputs (--input), options
MODELS = {
    "pointwise": (forward("return torch.relu(x) * 2 + torch.tanh(x)"), ["x=float32[3x5]"]),
    "products": (forward("w = weight(16, 24, 1).view(16, 24)\nreturn torch.relu(torch.linear(x, w)) @ weight(16, 7, 1).view(16, 7)"), ["x=float32[5x24]"]),
    "computed": (forward("return torch.bmm(x, y.transpose(1, 2))", "x: Tensor, y: Tensor"), ["x=float32[2x9x11]", "y=float32[2x6x11]"]),
    "convolutions": (forward("y = torch.relu(torch.conv2d(x, weight(8, 3, 3), None, [1, 1], [1, 1]))\n"
                             "y = torch.max_pool2d(y, [2, 2])\nreturn torch.conv2d(y, weight(8, 1, 3), None, [1, 1], [1, 1], [1, 1], 8)"),
                     ["x=float32[1x3x12x12]"]),
    "winograd": (forward("return torch.conv2d(x, weight(64, 64, 3), None, [1, 1], [1, 1])"), ["x=float32[1x64x16x16]"], "--forms", "fast"),
    "weights": (forward("return torch.conv2d(x, w / w.sum(), None, [1, 1], [1, 1])", "x: Tensor, w: Tensor"), ["x=float32[1x4x9x9]", "w=float32[8x4x3x3]"]),
    "attention": (forward("return torch.softmax(torch.matmul(x, y.transpose(-2, -1)) * 0.25, -1) @ y", "x: Tensor, y: Tensor"),
                  ["x=float32[2x3x9x16]", "y=float32[2x3x11x16]"]),
    "resized": (forward("return torch.upsample_bilinear2d(x, [9, 7], False) + torch.upsample_nearest2d(x, [9, 7])"), ["x=float32[1x3x4x5]"]),
    "norms": (forward("return torch.layer_norm(x, [16]) + torch.softmax(x, -1)"), ["x=float32[4x16]"]),
    "over": (forward("y = torch.softmax(x, -1)\nz = torch.softmax(torch.relu(y - 0.01) * 2, 0)\nt = torch.layer_norm(torch.tanh(z) + x, [30])\n"
                     "return torch.softmax(torch.exp(t) + 1, 0)"), ["x=float32[20x30]"]),
    "one_over": (forward("y = torch.softmax(torch.softmax(x, 0), 1)\nz = torch.relu(y - 0.01) * 2\nt = torch.tanh(z) + y\n"
                         "return torch.softmax(z, 1) + torch.softmax(t, 0), torch.softmax(t, 1)", result="Tuple[Tensor, Tensor]"), ["x=float32[20x30]"]),
    "not_over": (forward("y = torch.softmax(x, -1)\nz = torch.softmax(y + y.t(), 0)\nt = torch.softmax(z * z[0], 1)\nreturn torch.softmax(t + 1, 0), t + 2",
                         result="Tuple[Tensor, Tensor]"), ["x=float32[20x20]"]),
    "residual": (forward("y = torch.relu(torch.conv2d(x, weight(16, 3, 3), None, [1, 1], [1, 1]))\n"
                         "z = torch.relu(torch.conv2d(y, weight(16, 16, 3), None, [1, 1], [1, 1]))\n"
                         "return torch.relu(torch.conv2d(z, weight(16, 16, 3), None, [1, 1], [1, 1]) * 0.5 + y * y).mean([2, 3])"),
                 ["x=float32[1x3x20x19]"], "--max-ram", "1M"),
    "residual_rows": (forward("w = weight(40, 40, 1).view(40, 40)\ny = torch.relu(torch.linear(x, w))\nz = torch.tanh(torch.linear(y, w))\n"
                              "return torch.sigmoid(torch.linear(z, w) + y).sum(1)"), ["x=float32[50x40]"], "--max-ram", "1M"),
    "residual_read": (forward("y = torch.relu(torch.conv2d(x, weight(8, 8, 3), None, [1, 1], [1, 1]))\n"
                              "z = torch.relu(torch.conv2d(y, weight(8, 8, 3), None, [1, 1], [1, 1]) + y)\n"
                              "return torch.relu(torch.conv2d(z, weight(8, 8, 3), None, [1, 1], [1, 1]) + z).sum([2, 3]), z.sum()",
                              result="Tuple[Tensor, Tensor]"), ["x=float32[1x8x9x9]"], "--max-ram", "1M"),
    "looked_up": (forward("return torch.embedding(weight(10, 4, 1).view(10, 4), i)", "i: Tensor"), ["i=int64[5]"]),
    "halves": (forward("return x * 2 + 1"), ["x=float16[9]"]),
    "kinds": (forward("return x > 0, x.to(torch.double)", result="Tuple[Tensor, Tensor]"), ["x=float32[7]"]),
    "constant": (forward("return torch.ones(2, 3), x", result="Tuple[Tensor, Tensor]"), ["x=float32[4]"]),
    "twice": (forward("y = x + 1\nreturn y, (y, y.t())", result="Tuple[Tensor, Tuple[Tensor, Tensor]]"), ["x=float32[3x4]"]),
    "strided": (forward("return torch.relu(x).transpose(1, 2)"), ["x=float32[2x3x4]"]),
    "part": (forward("y = torch.cat([x, x * 2], 1)\nreturn y[:, 1:3]"), ["x=float32[3x4]"]),
    "equal": (forward("a = torch.zeros(3)\nb = torch.zeros(3)\na.add_(x)\nreturn a, b", result="Tuple[Tensor, Tensor]"), ["x=float32[3]"]),
    "number": (forward("return x.sum()"), ["x=float32[6]"]),
    "lists": (forward("return l[0] * 2 + l[1]", "l: List[Tensor]"), ["l.0=float32[3]", "l.1=float32[3]"]),
    "written": (forward("x.add_(y[0])\ny[1].copy_(x)\ny[0].mul_(2)\nreturn x * y", "x: Tensor, y: Tensor"), ["x=float32[4]", "y=float32[2x4]"]),
    "filled": (forward("x.zero_()\ny[0].fill_(2.5)\ny[1, 1:3].zero_()\ni[:, 0].fill_(7)\ni[0, 1:].fill_(True)\nreturn x + y, i * 2",
                       "x: Tensor, y: Tensor, i: Tensor", "Tuple[Tensor, Tensor]"), ["x=float32[4]", "y=float32[2x4]", "i=int64[2x3]"]),
    "best": (forward("return torch.topk(x, 3), torch.topk(-x, 2, 0, True, False)[1]", result="Tuple[Tuple[Tensor, Tensor], Tensor]"), ["x=float32[5x9]"]),
    "best_ints": (forward("return torch.topk(i, 3, 0)[1], i.cumsum(1)", "i: Tensor", "Tuple[Tensor, Tensor]"), ["i=int64[5x9]"]),
    "listed": (forward("y = x * 2\nreturn [y, x, y.t()], (x + 1, [y])", result="Tuple[List[Tensor], Tuple[Tensor, List[Tensor]]]"), ["x=float32[3x4]"]),
    "indexed": (forward("return x[i, :] + x[torch.tensor([1, 0, 2, 0, 1])]", "x: Tensor, i: Tensor"), ["x=float32[3x4]", "i=int64[5]"]),
    "empty": (forward("y = torch.empty(2, 3)\ny.copy_(x)\nz = torch.empty_like(x)\nz[0] = y[1]\nz[1] = 2\nreturn y, z", result="Tuple[Tensor, Tensor]"), ["x=float32[2x3]"]),
    "bags": (forward("return torch.embedding_bag(weight(10, 4, 1).view(10, 4), i, o)[0]", "i: Tensor, o: Tensor"), ["i=int64[5]", "o=int64[2]"]),
}


class Bare(programs.Test):
    def model(self, name):
        source, inputs, *options = MODELS[name]
        path = self.at(name + ".py")
        with open(path, "w") as f: f.write(source)
        arrays = {}
        for k, spec in enumerate(inputs):
            key, dtype, sizes = re.fullmatch(r"(.*)=(\w+)\[(.*)\]", spec).groups()
            shape = tuple(map(int, sizes.split("x")))
            n = math.prod(shape)
            values = [(i * 7 + k) % 3 for i in range(n)] if dtype == "int64" else [((i * 37 + 11 * k) % 64 - 20) / 16 for i in range(n)]
            if key == "o": values = [0, 2]
            arrays[key] = ({"float32": "<f4", "float16": "<f2", "int64": "<i8"}[dtype], shape, values)
        npz.write(self.at(name + ".npz"), arrays)
        return path, self.at(name + ".npz"), arrays, options

    def called(self, library, header, arrays):
        """Calls the only function. Returns its status, and the results by name."""
        with open(header) as f: text = f.read()
        name, params = re.search(r"^int (\w+)\((.*\])\);", text, re.M).groups()
        values, results = [], {}
        for param in re.findall(r"(const )?(\w+) (\w+)((?:\[\d+\])+)", params):
            _, kind, key, sizes = param
            of, dtype = TYPES[kind]
            shape = tuple(map(int, re.findall(r"\d+", sizes)))
            n = math.prod(shape)
            here = next((a for k, a in arrays.items() if re.sub(r"\W", "_", k) == key), None)
            if here:
                raw = [ctypes.c_uint16.from_buffer_copy(struct.pack("<e", v)).value for v in here[2]] if dtype == "<f2" else here[2]
                values.append((of * n)(*raw))
            else:
                values.append((of * n)())
                results[key] = (dtype, shape, values[-1])
        status = getattr(ctypes.CDLL(library), name)(*values)
        return status, results

    def wanted(self, path, given):
        self.ends(DONE, programs.KILN, "run", path, "-i", given, "-o", self.at("want.npz"))
        return {re.sub(r"\W", "_", k): v for k, v in npz.read(self.at("want.npz")).items()}

    def compare(self, want, results):
        self.assertEqual(set(want), set(results))
        for key, (dtype, shape, values) in results.items():
            got = list(values)
            if dtype == "<f2": got = [struct.unpack("<e", struct.pack("<H", v))[0] for v in got]
            wdtype, wshape, wvalues = want[key]
            self.assertEqual((dtype, shape), (wdtype, wshape or (1,)))
            for a, b in zip(got, wvalues):
                if dtype[1] == "f": self.assertLessEqual(abs(a - b), 2e-3 if dtype == "<f2" else 2e-5 * max(1, abs(b)))
                else: self.assertEqual(a, b)

    def refused(self, status, *argv):
        return self.ends(status, programs.KILN, *argv)[1]

    def test_libraries(self):
        for name in MODELS:
            with self.subTest(name):
                path, given, arrays, options = self.model(name)
                want = self.wanted(path, given)
                for cc in [], ["--cc", "tcc"]:
                    library = self.build("lib%s%d.so" % (name, len(cc)), path, "-i", given, "--no-generic", "--emit", "shared", "--name", name, *options, *cc)
                    status, results = self.called(library, self.at(name + ".h"), arrays)
                    self.assertEqual(status, 0)
                    self.compare(want, results)

    def test_residuals(self):
        """If memory is limited, a product's epilogue writes its result over the operand that it adds."""
        for name, floats, small, usual in ("residual", 16 * 20 * 19, 2, 3), ("residual_rows", 50 * 40, 2, 3), ("residual_read", 8 * 9 * 9, 2, 2):
            path, given, _, options = self.model(name)
            for how, tensors in (options, small), ([], usual):
                with self.subTest(name, how=how):
                    out = self.ends(DONE, KILN, "build", path, "-i", given, "--no-generic", "--emit", "c", "--name", name, "-o", self.at("r"), *how)[0]
                    arena = int(re.search(r"arena (\d+) bytes", out)[1])
                    self.assertEqual(arena // (4 * floats), tensors)

    def folder_of(self, name, *options):
        path, given, arrays, more = self.model(name)
        folder = self.at(name + "_c")
        shutil.rmtree(folder, ignore_errors=True)
        self.build(name + "_c", path, "-i", given, "--no-generic", "--emit", "c", "--name", name, *more, *options)
        return folder, self.wanted(path, given), arrays

    def compiled(self, folder, name, cc, *flags):
        """Compiles the folder's C in a folder that contains nothing else."""
        texts = [f for f in sorted(os.listdir(folder)) if f.endswith((".c", "_weights.o"))]
        subprocess.run([cc, "-std=c11", "-O2", "-fno-strict-aliasing", *flags, "-I", ".", "-shared", "-fPIC", "-o", "lib.so", *texts, "-lm"],
                       cwd=folder, check=True, env={"PATH": os.environ["PATH"]})
        return os.path.join(folder, "lib.so")

    def test_folders(self):
        """gcc with vectors, and clang (or gcc) without: both compile without a warning."""
        for name in MODELS:
            for cc, how in ("gcc", []), (shutil.which("clang") or "gcc", ["--cc", "tcc"]):
                with self.subTest(name, cc=cc):
                    folder, want, arrays = self.folder_of(name, *how)
                    library = self.compiled(folder, name, cc, *WARN, *([] if how else ["-march=native"]))
                    status, results = self.called(library, os.path.join(folder, name + ".h"), arrays)
                    self.assertEqual(status, 0)
                    self.compare(want, results)
        with self.subTest("clang"):
            need("clang")

    def test_state(self):
        """State that a model writes persists from call to call, and NAME_reset restores the initial state."""
        for name, at in ("ema", []), ("cache", [3, 0, 3]):
            with self.subTest(name):
                calls = []
                for i in range(3):
                    shape = (1, 4) if at else (3, 4)
                    arrays = {"x": ("<f4", shape, [((k * 37 + 11 * i) % 64 - 20) / 16 for k in range(math.prod(shape))])}
                    if at: arrays["at"] = ("<i8", (1,), [at[i]])
                    npz.write(self.at(f"{i}.npz"), arrays)
                    calls.append(arrays)
                path = os.path.join(HERE, name + ".pt")
                self.ends(DONE, programs.KILN, "run", path, *[w for i in range(3) for w in ("-i", self.at(f"{i}.npz"), "-o", self.at(f"{i}.out.npz"))])
                library = self.build("lib%s.so" % name, path, "-i", self.at("0.npz"), "--no-generic", "--emit", "shared", "--name", name)
                for turn in range(2):
                    for i, arrays in enumerate(calls):
                        status, results = self.called(library, self.at(name + ".h"), arrays)
                        self.assertEqual(status, 0)
                        self.compare({k.replace(".", "_"): v for k, v in npz.read(self.at(f"{i}.out.npz")).items()}, results)
                    getattr(ctypes.CDLL(library), name + "_reset")()

    def test_programs(self):
        """Programs of plain functions give the same arrays and prints as kiln run."""
        more = {"numbers": (forward("return x * n + l[1] + (0 if y is None else 1)", "x: Tensor, n: int, l: List[int], y: Optional[Tensor], k: int = 3"),
                            ["x=float32[3]"])}
        for name in [*MODELS, *more]:
            with self.subTest(name):
                MODELS.update(more)
                path, given, arrays, options = self.model(name)
                if name in more:
                    arrays.update(n=("<i8", (), [5]), l=("<i8", (2,), [7, 8]))
                    npz.write(given, arrays)
                program = self.build(name, path, "-i", given, "--no-generic", *([] if "--max-ram" in options else options))
                self.build(name + "_tcc", path, "-i", given, "--no-generic", "--cc", "tcc")
                self.ends(DONE, KILN, "check", path, self.at(name + "_tcc"), "-i", given)
                printed = self.ends(DONE, KILN, "run", path, "-i", given)[0]
                if name in ("kinds", "constant", "twice", "halves", "number", "part", "lists", "numbers", "best", "listed", "indexed", "empty"): self.assertEqual(self.ends(DONE, program, "-i", given)[0], printed)
                self.ends(DONE, KILN, "run", path, "-i", given, "-o", self.at("want.npz"))
                self.ends(DONE, program, "-i", given, "-o", self.at("got.npz"))
                self.assertIsNone(npz.differs(npz.read(self.at("want.npz")), npz.read(self.at("got.npz"))))
                self.ends(DONE, KILN, "check", path, program, "-i", given)
                for key in more and name in more and ("x", "n", "l") or ():
                    self.ends(programs.WRONG, program, "-i", self.changed(arrays, **{key: None}), says=["argument '%s' is missing" % key])
                if name in more:
                    for key, value in ("n", ("<i8", (), [6])), ("n", ("<i4", (), [5])), ("l", ("<i8", (2,), [7, 9])), ("l", ("<i8", (3,), [7, 8, 8])), ("k", ("<i8", (), [4])), \
                                      ("y", ("<f4", (3,), [1, 2, 3])):
                        self.ends(programs.MISS, program, "-i", self.changed(arrays, **{key: value}), says=["argument '%s' is not what" % key])
                    self.ends(DONE, program, "-i", self.changed(arrays, k=("<i8", (), [3])))
                MODELS.pop(name if name in more else "", None)

    def changed(self, arrays, **how):
        npz.write(self.at("changed.npz"), {k: v for k, v in {**arrays, **how}.items() if v})
        return self.at("changed.npz")

    def test_what_programs_refuse(self):
        """Other sizes and every other error give a status. State persists from input to input."""
        path, given, arrays, _ = self.model("looked_up")
        program = self.build("looked_up", path, "-i", given, "--no-generic")
        self.ends(programs.MISS, program, "-i", self.changed(arrays, i=("<i8", (4,), [0] * 4)), says=["argument 'i' is int64 (4)", "built for int64 (5)"])
        self.ends(programs.MISS, program, "-i", self.changed(arrays, i=("<f4", (5,), [0] * 5)), says=["float32 (5)"])
        self.ends(programs.WRONG, program, "-i", self.changed(arrays, i=("<i8", (5,), [0, 1, 99, 0, 0])), says=["out of range"])
        self.ends(programs.WRONG, program, "-i", self.changed(arrays, j=("<i8", (5,), [0] * 5)), says=["no argument takes 'j'"])
        self.ends(programs.WRONG, program, says=["argument 'i' is missing"])
        self.ends(programs.WRONG, program, "-i", path, says=["error"])
        self.ends(programs.WRONG, program, "-i", given, "-o", "/nowhere/out.npz", says=["/nowhere/out.npz"])
        self.ends(programs.WRONG, program, "-i", given, "--method", "other", says=["no method 'other'"])
        self.ends(DONE, program, "-i", given, "--method=forward")
        self.ends(DONE, program, "--help")
        for words in ["--info"], ["-i"], ["x"]:
            self.ends(USAGE, program, *words, says=["--help lists the options"])
        calls = []
        for i in range(3):
            npz.write(self.at(f"{i}.npz"), {"x": ("<f4", (3, 4), [((k * 37 + 11 * i) % 64 - 20) / 16 for k in range(12)])})
            calls += ["-i", self.at(f"{i}.npz"), "-o", self.at(f"{i}.out.npz")]
        path = os.path.join(HERE, "ema.pt")
        program = self.build("ema", path, "-i", self.at("0.npz"), "--no-generic")
        self.ends(DONE, KILN, "run", path, *calls)
        want = [npz.read(self.at(f"{i}.out.npz")) for i in range(3)]
        self.ends(DONE, program, *calls)
        for i in range(3): self.assertIsNone(npz.differs(want[i], npz.read(self.at(f"{i}.out.npz"))))

    def test_index_out_of_range(self):
        path, given, arrays, _ = self.model("looked_up")
        library = self.build("liblooked_up.so", path, "-i", given, "--no-generic", "--emit", "shared", "--name", "looked_up")
        arrays["i"] = ("<i8", (5,), [0, 1, 99, 0, 0])
        self.assertEqual(self.called(library, self.at("looked_up.h"), arrays)[0], 1)

    def test_only_its_functions(self):
        path, given, *_ = self.model("products")
        made = self.build("libproducts.so", path, "-i", given, "--no-generic", "--emit", "shared", "--name", "products")
        names = {l.split()[2] for l in self.ends(DONE, "nm", "-D", "--defined-only", made)[0].splitlines()}
        self.assertEqual(names, PUBLIC)
        made = self.build("products.o", path, "-i", given, "--no-generic", "--emit", "obj", "--name", "products")
        names = {l.split()[2] for l in self.ends(DONE, "nm", "-g", "--defined-only", made)[0].splitlines()}
        self.assertEqual(names, PUBLIC)

    def test_large_weights(self):
        """Weights of more than a megabyte are an object file, not text."""
        MODELS["large"] = (forward("return torch.linear(x, weight(600, 500, 1).view(600, 500))"), ["x=float32[1x500]"])
        folder, want, arrays = self.folder_of("large")
        self.assertIn("large_weights.o", os.listdir(folder))
        status, results = self.called(self.compiled(folder, "large", "cc", "-march=native"), os.path.join(folder, "large.h"), arrays)
        self.assertEqual(status, 0)
        self.compare(want, results)
        del MODELS["large"]

    def test_what_is_refused(self):
        """Every step that is no kernel is named with its line. No file is left behind."""
        with open(self.at("m.py"), "w") as f:
            f.write(forward("if bool(x.sum() > 0):\n    x = x + 1\ny = torch.kthvalue(x, 1)[0]\nreturn y"))
        text = self.refused(LACKS, "build", self.at("m.py"), "--input", "x=float32[3]", "--no-generic", "--emit", "c", "-o", self.at("m_c"))
        self.assertIn("aten::Bool", text)
        self.assertIn("aten::kthvalue (m.py:", text)
        self.assertFalse(os.path.exists(self.at("m_c")))
        with open(self.at("l.py"), "w") as f: f.write(forward("return {1: x}", result="Dict[int, Tensor]"))
        self.assertIn("result 'out' of type Dict(int, Tensor)", self.refused(LACKS, "build", self.at("l.py"), "--input", "x=float32[3]", "--no-generic", "--emit", "obj", "-o", self.at("l.o")))
        with open(self.at("e.py"), "w") as f: f.write(forward("return x + 1"))
        self.assertIn("argument 'x' of type Float(0, 3", self.refused(LACKS, "build", self.at("e.py"), "--input", "x=float32[0x3]", "--no-generic", "--emit", "obj",
                                                    "-o", self.at("e.o")))
        with open(self.at("t.py"), "w") as f:
            f.write(forward("return x + 1") + "\ndef double(y: Tensor) -> Tensor:\n    return y * 2\n")
        self.assertIn("leave out double", self.refused(LACKS, "build", self.at("t.py"), "--method", "forward,double", "--input",
                                                                   "x=float32[3]", "--no-generic", "--emit", "c", "-o", self.at("t")))
        for more in ["--emit", "ptx"], ["--emit", "exe", "--target", "arm-none-eabi"], ["--emit", "obj", "--weights", "file"]:
            self.refused(USAGE, "build", self.at("l.py"), "--input", "x=float32[3]", "--no-generic", *more, "-o", self.at("l"))

    def takes(self, name, *options, emit="obj"):
        """Returns the memory that a build reports."""
        path, given, _, more = self.model(name)
        self.build(name + ".o", path, "-i", given, "--no-generic", "--emit", emit, "--name", name, "--json", self.at("j"), *more, *options)
        with open(self.at("j")) as f: return json.load(f)

    def test_max_ram(self):
        """Kernel forms that need more memory are left out if they do not fit. A model that does not fit at all is refused, with
        the tensors that are alive when most memory is used."""
        fast, small = self.takes("winograd"), self.takes("winograd", "--forms", "small")
        self.assertGreater(fast["ram_bytes"], small["ram_bytes"])
        self.assertEqual(self.takes("winograd", "--max-ram", str(fast["ram_bytes"]))["forms"], "fast")
        self.assertEqual(self.takes("winograd", "--max-ram", str(fast["ram_bytes"] - 1)), small)
        path, given, *_ = self.model("winograd")
        text = self.refused(LACKS, "build", path, "-i", given, "--no-generic", "--forms", "fast", "--emit", "obj", "-o", self.at("no.o"), "--max-ram", "100")
        self.assertIn("%d bytes of RAM are needed, more than --max-ram 100: tensors" % small["ram_bytes"], text)
        path, given, *_ = self.model("attention")
        text = self.refused(LACKS, "build", path, "-i", given, "--no-generic", "--emit", "c", "--cc", "tcc", "-o", self.at("no_c"), "--max-ram", "1K", "-p", "fuse")
        self.assertRegex(text, r"more than --max-ram 1024: tensors \d+, scratch memory of kernels \d+, state 0, the instance 64\n"
                               r"most memory is needed at \w+::\w+ \(attention.py:4\), where these tensors are live:\n +2376  \(2, 3, 9, 11\) float32 of aten::matmul \(attention.py:4\)\n")
        path, given, *_ = self.model("convolutions")
        text = self.refused(LACKS, "build", path, "-i", given, "--no-generic", "--emit", "obj", "-o", self.at("no.o"), "--max-ram", "1K")
        self.assertEqual(sum(map(int, re.findall(r"\n +(\d+)  \(", text))), int(re.search(r"tensors (\d+)", text)[1]))  # with the operands
        path, given, *_ = self.model("not_over")
        text = self.refused(LACKS, "build", path, "-i", given, "--no-generic", "--emit", "obj", "-o", self.at("no.o"), "--max-ram", "1K")
        self.assertRegex(text, r"\n +1600  \(20, 20\) float32 of \w+::\w+ \(not_over.py:\d\)\n +1600  \(20, 20\) float32")
        self.assertFalse(os.path.exists(self.at("no.o")) or os.path.exists(self.at("no_c")))

    def test_in_place(self):
        """Results are written over operands of the same sizes that nothing reads afterwards, and over no others."""
        self.assertLess(self.takes("over")["ram_bytes"], 2 * 4 * 20 * 30)
        self.assertGreater(self.takes("not_over")["ram_bytes"], 2 * 4 * 20 * 20)

    def test_max_flash(self):
        """Code that is too large is compiled for size, also in a folder. A model that does not fit is refused with the sizes of
        its parts."""
        usual = self.takes("convolutions")
        self.assertEqual(self.takes("convolutions", "--max-flash", str(usual["flash_bytes"])), usual)
        small = self.takes("convolutions", "--max-flash", str(usual["flash_bytes"] - 1))
        self.assertLess(small["flash_bytes"], usual["flash_bytes"])
        path, given, *_ = self.model("convolutions")
        text = self.refused(LACKS, "build", path, "-i", given, "--no-generic", "--emit", "obj", "--name", "m", "-o", self.at("no.o"),
                            "--max-flash", str(small["flash_bytes"] - 1))
        self.assertIn("m: %d bytes of flash are needed, more than --max-flash %d: weights %d, code %d" %
                      (small["flash_bytes"], small["flash_bytes"] - 1, small["weights_bytes"], small["code_bytes"]), text)
        self.assertFalse(os.path.exists(self.at("no.o")))
        for most, level in (usual["flash_bytes"], "-O2"), (usual["flash_bytes"] - 1, "-Os"):
            self.build("flash_c", path, "-i", given, "--no-generic", "--emit", "c", "--name", "convolutions", "--max-flash", str(most))
            with open(os.path.join(self.at("flash_c"), "build.ninja")) as f: self.assertIn("fast = %s " % level, f.read())
            with open(os.path.join(self.at("flash_c"), "README.md")) as f: self.assertIn(" %s " % level, f.read())
        for options in (["--max-flash", "1K"], ["--no-generic", "--max-flash", "1K", "--cc", "tcc"], ["--no-generic", "--max-ram", "much"], ["--no-generic", "--max-ram", "0"]):
            self.refused(USAGE, "build", path, "-i", given, "--emit", "c", "--name", "m", "-o", self.at("no_c"), *options)

    def board(self, name, folder, arrays, cpu, fpu):
        """Returns the compiler command of a board's program: its options, and those with which board.c is compiled."""
        dtype, _, values = next(iter(arrays.values()))
        given = struct.pack("<%d%s" % (len(values), {"<f4": "f", "<i8": "q"}[dtype]), *values)
        with open(os.path.join(folder, "input.h"), "w") as f: f.write(",".join(map(str, given)))
        return ["arm-none-eabi-gcc", "-mcpu=" + cpu, "-mthumb", "-mfloat-abi=hard", "-mfpu=" + fpu, "-std=c11", "-O2", "-fno-strict-aliasing",
                "-fno-math-errno", "-ffp-contract=fast", "-ffunction-sections", "-I", folder, f'-DHEADER="{name}.h"', f"-DCALL={name}_forward",
                f"-DIN={len(given)}", "-nostartfiles", "-Wl,--gc-sections"]

    def runs_on_board(self, machine, image, want):
        """Checks the answer on the board, and returns the number of bytes of stack that the call used."""
        (_, _, out), = want.values()
        said = self.ends(DONE, "qemu-system-arm", "-M", machine, "-display", "none", "-semihosting-config", "enable=on,target=native",
                         "-icount", "shift=0", "-kernel", image)
        text = (said[0] + said[1]).splitlines()
        self.assertEqual(text[:1], ["status 0"], text)
        got = struct.unpack("<%df" % len(out), bytes(int(v) for line in text[3:] for v in line.split()))
        for a, b in zip(got, out): self.assertLessEqual(abs(a - b), 2e-5 * max(1, abs(b)))
        return int(text[2].split()[1])

    @needs("arm-none-eabi-gcc", "qemu-system-arm")
    def test_boards(self):
        """Cortex-M4 and M7 give the same answers, and only memcpy and libm are left to link."""
        for name in "convolutions", "products", "looked_up":
            folder, want, arrays = self.folder_of(name, "--target", "arm-none-eabi", "--json", self.at("j"))
            with open(self.at("j")) as f: stack = json.load(f)["stack_bytes"]
            for cpu, fpu, machine in ("cortex-m4", "fpv4-sp-d16", "mps2-an386"), ("cortex-m7", "fpv5-d16", "mps2-an500"):
                with self.subTest(name, cpu=cpu):
                    arm = self.board(name, folder, arrays, cpu, fpu)
                    self.ends(DONE, *arm, *WARN, "-c", os.path.join(folder, name + ".c"), "-o", self.at("model.o"))
                    left = {l.split()[-1] for l in self.ends(DONE, "arm-none-eabi-nm", "-u", self.at("model.o"))[0].splitlines()}
                    self.assertLessEqual({n for n in left if not n.startswith("__aeabi")}, {"memcpy", "memset", "expf", name + "_weights"})
                    (_, _, out), = want.values()
                    self.ends(DONE, *arm, f"-DOUT={4 * len(out)}", "-T", os.path.join(HERE, "board.ld"), os.path.join(HERE, "board.c"), self.at("model.o"),
                              os.path.join(folder, name + "_weights.c"), "-o", self.at("board.elf"), "-lm", "-lc", "-lgcc")
                    # the stack of libm, and of a compiler with other options
                    self.assertLessEqual(self.runs_on_board(machine, self.at("board.elf"), want), stack + 200)

    @needs("arm-none-eabi-gcc", "qemu-system-arm")
    def test_objects(self):
        """Objects and libraries that kiln compiles work in an image with a vendor's linker script and startup code: they have no
        GOT, which these do not support, and no executable stack."""
        for name, kind, end in ("convolutions", "obj", "o"), ("products", "static", "a"), ("looked_up", "obj", "o"):
            with self.subTest(name, kind=kind):
                path, given, arrays, more = self.model(name)
                want = self.wanted(path, given)
                (_, _, out), = want.values()
                library = self.build(f"lib{name}.{end}", path, "-i", given, "--no-generic", "--target", "arm-none-eabi", "--cpu", "cortex-m4", "--emit", kind,
                                     "--name", name, *more)
                arm = self.board(name, self.folder.name, arrays, "cortex-m4", "fpv4-sp-d16")
                self.ends(DONE, *arm, f"-DOUT={4 * len(out)}", "-T", os.path.join(HERE, "vendor.ld"), os.path.join(HERE, "vendor.c"),
                          os.path.join(HERE, "board.c"), library, "-o", self.at("vendor.elf"), "-lm", "-lc", "-lgcc")
                self.ends(DONE, "arm-none-eabi-objcopy", "-O", "binary", self.at("vendor.elf"), self.at("vendor.bin"))
                self.runs_on_board("mps2-an386", self.at("vendor.bin"), want)
                read = self.ends(DONE, "arm-none-eabi-readelf", "-rSW", library)[0]
                self.assertEqual(re.findall(r"R_ARM_\w*GOT\w*|R_ARM_BASE_PREL|\.got.*|\.note\.GNU-stack .* X .*", read), [])


if __name__ == "__main__":
    unittest.main()
