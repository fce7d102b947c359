"""Counts the calls that one call of a small network makes to the GPU's driver: kernel launches, steps on the host, copies, bytes,
waits.

    counts.py [--mend] KILN DRIVER NVRTC OUT

The networks of nets/ have the operators of known ones at a few channels and two layers. Each is built by an emulated
toolkit, must answer on the emulated device as generic code does, and runs once and twice: the difference is one call.
counts.txt has the expected numbers. A larger number is a failure. --mend writes smaller ones there, and refuses larger ones.
"open" is the number of bytes copied to the device before the first call ends, beyond those of a later call: weights.
"""
import json, os, re, shutil, subprocess, sys, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "program"))
import npz                                                              # noqa: E402

IMAGE = {"x": "float32[1x3x16x16]"}
TOKENS = {"tokens": "int64[1x6]", "mask": "int64[1x6]"}
NETS = {
    "resnet": IMAGE, "mobilenet": IMAGE, "efficientnet": IMAGE, "unet": IMAGE, "vit": IMAGE, "ssdlite": IMAGE,
    "bert": TOKENS, "encoder": {"tokens": "int64[8x6]", "mask": "int64[8x6]"},
    "gpt2": {"token": "int64[1x1]", "keys": ["float32[1x4x7x8]"] * 2, "values": ["float32[1x4x7x8]"] * 2},
    "llama": {"token": "int64[1x1]", "at": "int64[1]", "keys": ["float32[1x2x16x8]"] * 2,
              "values": ["float32[1x2x16x8]"] * 2},
    "cached": {"x": "float32[1x1x16]", "at": "int64[1]"},
    "scaled": {"x": "float32[1x1x16]"}, "joined": {"x": "float32[4x16]"},
    "lstm": {"x": "float32[1x6x8]"}, "gru": {"x": "float32[1x6x8]"},
}
SAME_TEXT = {"encoder": "bert"}
BUILT = set()
COLUMNS = ["launches", "host", "up", "up_bytes", "down", "down_bytes", "across", "syncs", "open"]
SAID = re.compile(r"^grid: (\d+) launches, (\d+) copies up \((\d+) bytes\), (\d+) down \((\d+)\), (\d+) across, (\d+) waits, "
                  r"(\d+) blocks left", re.M)


def array(spec, salt):
    """Returns an array of small numbers of both signs. Integers are from 0 to 3."""
    dtype, sizes = re.fullmatch(r"(\w+)\[(.*)\]", spec).groups()
    shape = [int(n) for n in sizes.split("x")]
    n = 1
    for d in shape:
        n *= d
    if dtype == "int64":
        return "<i8", shape, [(i * 5 + salt) % 4 for i in range(n)]
    return "<f4", shape, [((i * 7 + salt * 3) % 19 - 9) / 8 for i in range(n)]


def arrays(spec):
    flat = {}
    for name, s in spec.items():
        for i, one in enumerate(s if isinstance(s, list) else [s]):
            flat[f"{name}.{i}" if isinstance(s, list) else name] = array(one, len(flat))
    return flat


def text_of(net):
    with open(f"{HERE}/nets/{net}.py") as f:
        return f.read()


class Programs(unittest.TestCase):
    maxDiff = None

    def run_it(self, command, **env):
        r = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env})
        self.assertEqual(r.returncode, 0, (command, r.stdout[-2000:], r.stderr[-2000:]))
        return r.stdout, r.stderr

    def build(self, model, name, out, *more):
        self.run_it([KILN, "build", model, "-i", f"{OUT}/{name}.npz", "--gpu", "sm_80", "--cc", "tcc", "--cpu", "native",
                     "--no-dynamic", "--no-source", *more, "-o", out], CUDA_HOME=f"{OUT}/toolkit", KILN_GRID=HERE)

    def counted(self, program, inputs, *more):
        """Returns the driver's counts of a run. Freed memory is overwritten, so that a lost copy does not go unnoticed."""
        _, err = self.run_it([program, *sum((["-i", i] for i in inputs), []), "--device", "cuda", *more],
                             LD_LIBRARY_PATH=f"{OUT}/toolkit", KILN_GRID_SM="86", KILN_GRID_SAY="1", KILN_NO_RECYCLE="1",
                             MALLOC_PERTURB_="165")
        said = [int(n) for n in SAID.search(err).groups()]
        self.assertEqual(said.pop(), 0, "blocks of device memory that are not freed")
        return said

    def measure(self, name):
        """Returns the counts of a call, in the order of COLUMNS, and the names of its host steps."""
        out = self.program(name)
        self.counted(out, [f"{out}.npz"] * 2, "--selfcheck")
        once, twice = self.counted(out, [f"{out}.npz"]), self.counted(out, [f"{out}.npz"] * 2)
        launches, up, up_bytes, down, down_bytes, across, syncs = [b - a for a, b in zip(once, twice)]
        gpu = json.loads(self.run_it([out, "--info", "--json", "-"])[0])["specializations"][0]["gpu"]
        self.assertEqual(gpu["launches"], launches, "launches that --info says")      # these networks have no loops
        steps = ["%s%s" % (s["step"], " x%d" % s["times"] if s["times"] > 1 else "") for s in gpu["host_steps"]]
        host = sum(s["times"] for s in gpu["host_steps"])
        return [launches, host, up, up_bytes, down, down_bytes, across, syncs, once[2] - up_bytes], ", ".join(steps)

    def program(self, name):
        """Returns the network's program, which is built once."""
        text, out = SAME_TEXT.get(name, name), f"{OUT}/{name}"
        model = f"{HERE}/nets/{text}.pt"
        if name in BUILT:
            return out
        BUILT.add(name)
        if not os.path.exists(model):
            model = f"{out}.py"
            with open(model, "w") as f:
                f.write(text_of("common") + text_of(text))
        npz.write(f"{out}.npz", arrays(NETS[name]))
        self.build(model, name, out)
        return out

    def fails_well(self, run, want, n):
        """Returns whether the driver's call n failed in run(). If so, there must be the CPU's answer and a warning, or an error
        that contains the driver's call. Nothing may be leaked."""
        r = run(KILN_GRID_FAIL=str(n))
        left = SAID.search(r.stderr)
        self.assertTrue(not left or left.group(8) == "0", (n, r.stderr))
        if "an error of the emulated device" not in r.stderr:
            return False
        if r.returncode:
            self.assertEqual(r.returncode, 1, (n, r.stderr))
            self.assertRegex(r.stderr, r"CUDA error: .*, when asked to \w+", n)
        elif "warning: computed on the CPU" in r.stderr:
            self.assertEqual(r.stdout, want, n)
        return True


class Counts(Programs):
    """One test for each network, added below."""


class Dynamic(Programs):
    """One specialization for several sizes, on the device."""

    def test_sizes(self):
        out = f"{OUT}/dynamic"
        with open(out + ".py", "w") as f:
            f.write(text_of("dynamic"))
        self.run_it([KILN, "build", out + ".py", "--input", "x=float32[2..5x4x3..9x16]", "--input", "i=int64[2]", "--gpu", "sm_80",
                     "--cc", "tcc", "--cpu", "native", "--no-source", "-o", out], CUDA_HOME=f"{OUT}/toolkit", KILN_GRID=HERE)
        gpu = json.loads(self.run_it([out, "--info", "--json", "-"])[0])["specializations"][-1]["gpu"]
        self.assertEqual([s["step"] for s in gpu["host_steps"]], ["aten::median"])
        for batch, rows in (3, 4), (2, 9), (5, 7):
            npz.write(out + ".npz", {"x": array(f"float32[{batch}x4x{rows}x16]", 1), "i": ("<i8", [2], [0, 3 * rows - 1])})
            env = {"LD_LIBRARY_PATH": f"{OUT}/toolkit", "KILN_GRID_SM": "86", "KILN_GRID_SAY": "1"}
            _, err = self.run_it([out, "-i", out + ".npz", "--selfcheck", "--device", "cuda", "--guards"], **env)
            self.assertIn("dynamic", err)
            self.assertEqual(SAID.search(err).group(1), str(gpu["launches"]))
        npz.write(out + ".npz", {"x": array("float32[3x4x5x16]", 1), "i": ("<i8", [2], [0, 15])})
        said = [subprocess.run([out, "-i", out + ".npz", "--device", d], capture_output=True, text=True,
                               env={**os.environ, **env}) for d in ("cpu", "cuda")]
        self.assertIn("out of DATA bounds, id=15 axis_dim=15", said[0].stderr)
        self.assertEqual(*[(r.returncode, r.stderr.split("grid:")[0]) for r in said])


class Indices(Programs):
    """Indices out of range, before and after a step on the host, a write to an argument, and in a loop."""

    def test_errors(self):
        out = f"{OUT}/indices"
        env = {**os.environ, "LD_LIBRARY_PATH": f"{OUT}/toolkit", "KILN_GRID_SM": "86"}
        shutil.copy(f"{HERE}/nets/indices.py", out + ".py")
        for turn, (i, j, at, n) in enumerate([(1, 3, 2, 2), (6, 3, 2, 2), (1, 6, 2, 2), (1, 3, 4, 2), (1, 3, 3, 2), (1, 3, 2, 5), (6, 6, 4, 5), (1, 6, -1, 0)]):
            npz.write(out + ".npz", {"w": array("float32[6x3]", 0), "i": ("<i8", [2], [0, i]), "j": ("<i8", [2], [2, j]),
                                     "at": ("<i8", [2], [1, at]), "cache": array("float32[4x3]", 1), "n": ("<i8", [1], [n])})
            if not turn:
                self.build(out + ".py", "indices", out)
            runs = [subprocess.run([out, "-i", out + ".npz", "--device", d], capture_output=True, text=True, env=env)
                    for d in ("cpu", "cuda")]
            self.assertEqual(*[(r.returncode, r.stdout, r.stderr) for r in runs])
            self.assertEqual(runs[0].returncode, int((i, j, at, n) != (1, 3, 2, 2)), runs[0].stderr)


class Faults(Programs):
    """Driver calls that fail, spread over all calls of each network."""

    def test_networks(self):
        for i, name in enumerate(NETS):
            out = self.program(name)

            def run(*device, **env):
                return subprocess.run([out, "-i", f"{out}.npz", *device], capture_output=True, text=True,
                                      env={**os.environ, "LD_LIBRARY_PATH": f"{OUT}/toolkit", "KILN_GRID_SM": "86",
                                           "KILN_GRID_SAY": "1", **env})
            want, failed = run("--device", "cpu").stdout, 0
            for n in range(1 + i, 1000, 19):
                if not self.fails_well(run, want, n):
                    break
                failed += 1
            self.assertGreater(failed, 0, name)


class State(Programs):
    """State that stays on the device, and driver calls that fail."""

    built = False

    def cached(self):
        """Builds a program with the methods forward and double, and makes two inputs."""
        out = f"{OUT}/state"
        if not State.built:
            State.built = True
            self.build(f"{HERE}/nets/cached.pt", "cached", out, "--method", "forward,double")
            for i in range(2):
                npz.write(f"{out}.{i}.npz", {"x": array("float32[1x1x16]", i), "at": ("<i8", [1], [i * 2])})
            npz.write(f"{out}.none.npz", {})
        return out

    def run_state(self, device, **env):
        out = self.cached()
        methods = ["forward", "forward", "double", "forward", "double"]
        files = [f"{out}.{i}.npz" if m == "forward" else f"{out}.none.npz" for i, m in zip([0, 1, 0, 1, 0], methods)]
        return subprocess.run([out, "--method", ",".join(methods), *sum((["-i", f] for f in files), []), *device],
                              capture_output=True, text=True, env={**os.environ, "LD_LIBRARY_PATH": f"{OUT}/toolkit",
                                                                   "KILN_GRID_SM": "86", "KILN_GRID_SAY": "1", **env})

    def numbers(self, text):
        return [float(n) for n in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", text)]

    def test_generic_code_between(self):
        """A method without kernels reads and writes state whose newest value is on the device."""
        want, got = self.run_state(["--device", "cpu"]), self.run_state(["--device", "cuda"])
        self.assertEqual((want.returncode, got.returncode), (0, 0), got.stderr)
        self.assertEqual(len(self.numbers(want.stdout)), len(self.numbers(got.stdout)))
        for w, g in zip(self.numbers(want.stdout), self.numbers(got.stdout)):
            self.assertAlmostEqual(w, g, places=3)

    def test_each_call_fails(self):
        want, failed = self.run_state(["--device", "cpu"]).stdout, 0
        for n in range(1, 400):
            if not self.fails_well(lambda **env: self.run_state([], **env), want, n) and n > 100:
                break
            failed += 1
        self.assertGreater(failed, 50)
        self.assertIn("no device 'cuda': CUDA error", self.run_state(["--device", "cuda"], KILN_GRID_FAIL="1").stderr)


def read_table():
    rows = {}
    with open(f"{HERE}/counts.txt") as f:
        for line in f:
            words = line.split(None, len(COLUMNS) + 1)
            if words and not line.startswith("#"):
                rows[words[0]] = [int(n) for n in words[1:len(COLUMNS) + 1]], "".join(words[len(COLUMNS) + 1:]).strip()
    return rows


def write_table(rows):
    with open(f"{HERE}/counts.txt") as f:
        head = [line for line in f if line.startswith("#")]
    with open(f"{HERE}/counts.txt", "w") as f:
        f.writelines(head)
        for name, (numbers, steps) in rows.items():
            f.write(("%-13s" % name + "".join("%*d" % (max(len(c) + 1, 9), n) for c, n in zip(COLUMNS, numbers))
                     + "  " + steps).rstrip() + "\n")


def test_of(name):
    def test(self):
        got, steps = self.measure(name)
        want, named = TABLE.get(name, ([1 << 60] * len(COLUMNS), ""))
        worse = ["%s: %d, were %d" % (c, g, w) for c, g, w in zip(COLUMNS, got, want) if g > w]
        self.assertFalse(worse, name)
        if MEND:
            TABLE[name] = got, steps
        else:
            self.assertEqual((got, steps), (want, named), "fewer than counts.txt says: write them there by --mend")
    return test


if __name__ == "__main__":
    MEND = "--mend" in sys.argv
    KILN, DRIVER, NVRTC, OUT = [a for a in sys.argv[1:] if a != "--mend"]
    TABLE = read_table()
    os.makedirs(f"{OUT}/toolkit/lib64", exist_ok=True)
    shutil.copy(DRIVER, f"{OUT}/toolkit/libcuda.so.1")
    shutil.copy(NVRTC, f"{OUT}/toolkit/lib64/libnvrtc.so")
    for name in NETS:
        setattr(Counts, "test_" + name, test_of(name))
    if not shutil.which("c++"):
        print("SKIP: c++ is missing")    # the emulated toolkit compiles with it
        sys.exit(0)
    ok = unittest.main(argv=[sys.argv[0]], exit=False).result.wasSuccessful()
    if MEND:
        write_table({name: TABLE[name] for name in NETS if name in TABLE})
    sys.exit(not ok)
