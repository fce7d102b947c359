"""Specializations and guards: the code that runs, its answers and prints, compared with PyTorch.

usage: guards_test.py KILN [-k] [NAME...]      -k: keep the programs

models.py makes the models and what is expected of them.
"""
import os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../program"))
import npz

# name or name+variant: inputs of the build; for each run: exit status, (input, code that runs) of each call. "exact0!" means that
# a guard of it fails
TESTS = {
    "sizes": ("ab", {"all": (0, "a:exact0 other:dynamic2 b:exact1 one:exact3 zero:generic apart:generic wide:generic "
                                "strided:generic double:generic a:exact0")}),
    "loop": ("a", {"all": (0, "a:exact0 b:exact0! c:exact0! a:exact0")}),
    "view": ("a", {"all": (0, "a:exact0 b:exact0! c:exact0! a:exact0")}),
    "arena": ("a", {"all": (0, "a:exact0 b:exact0! c:exact0! a:exact0")}),
    "same": ("a", {"all": (0, "a:exact0 b:exact0! c:generic a:exact0")}),
    "half": ("a", {"all": (0, "a:exact0 b:exact0! a:exact0")}),
    "fused": ("a", {"all": (0, "a:exact0 b:exact0! a:exact0")}),
    "fork": ("a", {"all": (0, "a:exact0 b:exact0! a:exact0")}),
    "state": ("ab", {"all": (0, "a:exact0 b:exact1 c:exact0! d:dynamic2 a:exact0")}),
    "stream": ("a", {"all": (0, "a:exact0 a:exact1 a:exact1 b:generic b:generic c:generic c:generic a:generic")}),
    "written": ("a", {"all": (0, "a:exact0 b:exact0! a:exact0")}),
    "with": ("a", {"all": (0, "a:exact0 b:exact0! a:exact0"), "few": (1, "bad:exact0!"), "far": (1, "worse:generic")}),
    "grow": ("ab", {"all": (0, "a:exact0 large:dynamic2 small:dynamic2 b:exact1 one:dynamic3 large:dynamic2 "
                               "far:dynamic2 small:dynamic2 a:exact0")}),
    "ends": ("ab", {"all": (0, "a:exact0 c:dynamic2 few:dynamic2 eight:dynamic2 many:generic b:exact1")}),
    "trips": ("ab", {"all": (0, "a:exact0 c:dynamic2 one:exact3 b:exact1 c:dynamic2")}),
    "middle": ("ab", {"all": (0, "a:exact0 c:dynamic2 d:dynamic2! b:exact1 e:dynamic2! c:dynamic2")}),
    "image": ("ab", {"all": (0, "a:exact0 odd:dynamic2 other:dynamic2 b:exact1 one:dynamic3 odd:dynamic2")}),
    "image+one": (("one", "b"), {"ones": (0, "one:exact0 tall:dynamic3 odd:dynamic2 b:exact1")}),
    "steady": ("ab", {"all": (0, "a:exact0 b:exact0 sums:exact0! sizes:exact0! a:exact0 six:exact0! b:exact0"),
                      "raises": (1, "more:exact0!")}),
    "steady+one": ("a", {"all": (0, "a:exact0 b:exact0 sums:exact0 sizes:exact0! a:exact0 six:exact0! b:exact0"),
                         "raises": (1, "more:exact0!")}),
    "averted": ("a", {"all": (0, "a:exact0 b:exact0 a:exact0"), "over": (1, "large:exact0!"), "under": (1, "low:exact0!")}),
    "twins": ("ab", {"all": (0, "a:exact0 c:exact0! b:exact0 c:exact0!")}),
    "quotient": ("a", {"all": (0, "a:exact0 a:exact0"), "zeros": (1, "zero:exact0")}),
    "branch": ("a", {"all": (0, "a:exact0 b:exact0! c:exact0 a:exact0")}),
}


def close(a, b):
    return a == b or abs(a - b) <= 1e-5 + 1e-5 * abs(b) or (a != a and b != b)


def difference(got, want):
    if sorted(got) != sorted(want):
        return f"results {sorted(got)}, not {sorted(want)}"
    for k in want:
        if got[k][:2] != want[k][:2] or not all(map(close, got[k][2], want[k][2])):
            return f"{k} is {got[k]}, not {want[k]}"
    return None


def what_ran(text):
    """Returns the code that ran, from the lines of --guards: exact0! ..."""
    ran = []
    for line in text.split("\n"):
        word = line.split()
        if ": specialization " in line:
            ran.append(word[-1] + word[-2].rstrip(","))
        elif line.endswith(": generic code"):
            ran.append("generic")
        elif ": guard failed: " in line and ran:
            ran[-1] = ran[-1].rstrip("!") + "!"
    return ran


def run(program, name, key, status, calls, extra=()):
    """Makes one run of a program. Returns a complaint or None."""
    calls = [c.split(":") for c in calls.split()]
    at = lambda *s: os.path.join(HERE, ".".join((name,) + s))
    args = [program, *extra]
    if "--guards" not in extra and "--strict" not in extra:
        args.append("--guards")
    for i, (call, _) in enumerate(calls):
        if os.path.exists(f"{program}.{i}.npz"):
            os.remove(f"{program}.{i}.npz")
        args += ["-i", at(call, "npz"), "-o", f"{program}.{i}.npz"]
    p = subprocess.run(args, capture_output=True, text=True, timeout=60)
    if p.returncode != status:
        return f"ends with {p.returncode}, not {status}: {p.stderr}"
    if "--strict" in extra:
        return None
    want, got = npz.read(at(key, "npz")), {}
    if program.endswith("-O0") and what_ran(p.stderr) != [c[1] for c in calls]:
        return f"runs {what_ran(p.stderr)}\n{p.stderr}"
    for i in range(len(calls)):
        if os.path.exists(f"{program}.{i}.npz"):
            got.update({f"{i}.{k}": v for k, v in npz.read(f"{program}.{i}.npz").items()})
    with open(at(key, "txt")) as f:
        printed = f.read()
    if p.stdout != printed:
        return f"prints {p.stdout!r}, not {printed!r}"
    return difference(got, want)


def try_test(kiln, name, level, folder):
    """Returns the number of runs of a test that fail. At other levels only answers are compared, since ranges of sizes may
    differ."""
    inputs, runs = TESTS[name]
    program = os.path.join(folder, name + level)
    name = name.split("+")[0]
    args = [kiln, "build", os.path.join(HERE, name + ".pt"), "-o", program, level, "--cpu", "native"]
    for i in inputs:
        args += ["-i", os.path.join(HERE, f"{name}.{i}.npz")]
    p = subprocess.run(args, capture_output=True, text=True, timeout=120)
    if p.returncode or any(not line.startswith("kiln: note: ") for line in p.stderr.splitlines()):
        print(f"{name} {level}: {p.stderr}")
        return 1
    bad = 0
    for key, (status, calls) in runs.items():
        why = run(program, name, key, status, calls)
        if not why and not status and level == "-O0":
            missed = any(c.endswith(("!", "generic")) for c in calls.split())
            why = run(program, name, key, 5 if missed else 0, calls, ["--strict"])
        if why:
            print(f"{name} {level}, {key}: {why}")
            bad += 1
    return bad


def main(kiln, *args):
    names = [a for a in args if a != "-k"] or list(TESTS)
    with tempfile.TemporaryDirectory() as d:
        d = "." if "-k" in args else d
        return sum(try_test(kiln, name, level, d) for level in ("-O0", "-O2") for name in names) > 0


sys.exit(main(*sys.argv[1:]))
