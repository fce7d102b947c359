#!/usr/bin/env python3
"""Sums in PyTorch's order: what `kiln run` and programs of `--rounding pytorch` answer is PyTorch's answer to the last bit.
make.py made the net and the checksums."""
import hashlib, os, shutil, struct, subprocess, sys, tempfile, unittest, zipfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NET = os.path.join(TOP, "tests/order/net.pt")
PRODUCTS, ROWS = os.path.join(TOP, "tests/order/products.pt"), (1, 35000)
SHAPES = [(1, 3, 112, 112), (2, 3, 120, 96)]
WANT = {
    (1, 3, 112, 112): ['dbdb41f7b475', '15aca671f376', '12500430d47a', '4cb47992afdb', 'f6c1567946e0', '47a80c7c97f2'],
    ROWS: ['ea1afb4f6170', '17ab847e54f6', 'f3a38840337a', '9c5eb1bcdb5a', 'e514a211b0fc', '762447ea72a8',
           'eb52b6e84a83', '1a0a6ade0bec', '348e441093ac', '305c58919f57'],
    (2, 3, 120, 96): ['bcaf1976cefb', 'd3b612f546fc', '1d93bfb794b8', 'c66ec80bba55', '3a4844085857', 'ca5dfa2a65a1'],
}


def number(i):
    """Exact in a float, and in no order."""
    return (i * 7919 % 4001 - 2000) / 1024


def checksum(data):
    return hashlib.sha256(data).hexdigest()[:12]


def write_input(path, shape):
    n = 1
    for d in shape:
        n *= d
    head = str({"descr": "<f4", "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack(f"<{n}f", *map(number, range(n))))


def checksums(path):
    with zipfile.ZipFile(path) as z:
        members = [z.read(f"out.{i}.npy") for i in range(len(z.namelist()))]
    return [checksum(m[10 + struct.unpack("<H", m[8:10])[0]:]) for m in members]


def has_fma():
    with open("/proc/cpuinfo") as f:
        return " fma " in f.read()


class OrderTest(unittest.TestCase):
    def kiln(self, *args):
        p = subprocess.run([KILN, *args], capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stderr)
        return p

    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory()
        self.out, self.input = os.path.join(self.tmp.name, "out.npz"), {}
        for shape in SHAPES:
            self.input[shape] = os.path.join(self.tmp.name, f"in{shape[0]}.npz")
            write_input(self.input[shape], shape)

    def tearDown(self):
        self.tmp.cleanup()

    def test_run(self):
        for shape in SHAPES:
            self.kiln("run", NET, "-i", self.input[shape], "-o", self.out)
            self.assertEqual(checksums(self.out), WANT[shape])

    def test_program(self):
        """Of specialized code, and, on the second shape, of code for dynamic sizes or of the generic program."""
        if not has_fma():
            self.skipTest("products and sums are fused where the machine has the instruction")
        program = os.path.join(self.tmp.name, "program")
        self.kiln("build", NET, "-i", self.input[SHAPES[0]], "--rounding", "pytorch", "--cc", "gcc", "-o", program)
        for shape in SHAPES:
            subprocess.run([program, "-i", self.input[shape], "-o", self.out], check=True)
            self.assertEqual(checksums(self.out), WANT[shape])

    def test_products(self):
        write_input(self.input[SHAPES[0]], ROWS)
        self.kiln("run", PRODUCTS, "-i", self.input[SHAPES[0]], "-o", self.out)
        self.assertEqual(checksums(self.out), WANT[ROWS])
        if not has_fma():
            self.skipTest("products and sums are fused where the machine has the instruction")
        program = os.path.join(self.tmp.name, "program")
        for cc in filter(shutil.which, ("gcc", "clang")):
            p = self.kiln("build", PRODUCTS, "-i", self.input[SHAPES[0]], "--rounding", "pytorch", "--cc", cc, "-o", program)
            self.assertIn(" 0 runtime calls", p.stdout)
            subprocess.run([program, "--strict", "-i", self.input[SHAPES[0]], "-o", self.out], check=True)
            self.assertEqual(checksums(self.out), WANT[ROWS], cc)

    def test_functions(self):
        """Pointwise groups have the interpreter's functions, and round where it does."""
        source, program, run = os.path.join(TOP, "tests/order/functions.py"), *(os.path.join(self.tmp.name, n) for n in ("p", "run.npz"))
        write_input(self.input[SHAPES[0]], (4, 1000))
        self.kiln("run", source, "-i", self.input[SHAPES[0]], "-o", run)
        self.kiln("build", source, "-i", self.input[SHAPES[0]], "--rounding", "pytorch", "--cc", "gcc", "-o", program)
        subprocess.run([program, "--strict", "-i", self.input[SHAPES[0]], "-o", self.out], check=True)
        self.assertEqual(checksums(self.out), checksums(run))

    def test_free(self):
        """Otherwise they are not all the same, and nearly all."""
        program = os.path.join(self.tmp.name, "program")
        p = self.kiln("build", NET, "-i", self.input[SHAPES[0]], "--cc", "gcc", "-v", "-o", program)
        self.assertNotIn("depends on rounding", p.stderr)
        subprocess.run([program, "-i", self.input[SHAPES[0]], "-o", self.out], check=True)
        self.assertNotEqual(checksums(self.out), WANT[SHAPES[0]])
        p = subprocess.run([KILN, "build", NET, "--rounding", "none", "-o", program], capture_output=True, text=True)
        self.assertEqual(p.returncode, 2, p.stderr)
        self.assertIn("--rounding wants pytorch, free or auto", p.stderr)

    def test_slow(self):
        """What takes too long to be asked may depend on rounding."""
        source, program = os.path.join(self.tmp.name, "slow.py"), os.path.join(self.tmp.name, "program")
        with open(source, "w") as f:
            f.write("def forward(x):\n    n = 0\n    while n < 10000000000:\n        n += 1\n    return x + n\n")
        p = self.kiln("build", source, "-i", self.input[SHAPES[0]], "--timeout", "1", "-v", "-o", program)
        self.assertIn("depends on rounding", p.stderr)


if __name__ == "__main__":
    KILN = os.path.abspath(sys.argv.pop(1))
    unittest.main()
