"""Storages of equal bytes and shared storages: sequences of calls on one instance, compared with PyTorch's answers.

usage: state_test.py KILN [-k DIR] [NAME...]      -k: keep the programs

models.py made the models and the answers.  Each model is interpreted, and compiled with and without a profile, at -O2.  Each
day another third of them is also compiled at the other levels (daily.py).
"""
import os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = os.path.join(HERE, "../program"), os.path.join(HERE, "..")
import daily, npz

LEVELS = "-O0", "-O1", "-O2", "-O3"
DAYS = 3                                         # number of days in which all models are compiled at all levels
CC = os.environ.get("CC", "tcc")


def ends(args):
    """Runs a command. Returns None if it succeeds, else a description of the failure."""
    p = subprocess.run(args, capture_output=True, text=True, timeout=120)
    return f"{' '.join(args)}: status {p.returncode}: {p.stderr.strip()}" if p.returncode else None


def part(arrays, prefix):
    """The arrays whose names begin with the prefix, by the rest of their names."""
    return {k[len(prefix):]: v for k, v in arrays.items() if k.startswith(prefix)}


class Case:
    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.archive = os.path.join(HERE, name + ".pt")
        recorded = npz.read(os.path.join(HERE, name + ".npz"))
        self.calls = bytes(recorded["calls"][2]).decode().split(",")
        self.want = [part(recorded, f"{i}.") for i in range(len(self.calls))]
        for i, want in enumerate(self.want):
            npz.write(self.at(f"{i}.in"), {"x": want.pop("x")})

    def at(self, what):
        return os.path.join(self.folder, f"{self.name}.{what}.npz")

    def compare(self, what, n):
        for i in range(n):
            why = npz.differs(self.want[i], npz.read(self.at(f"{i}.out")))
            if why:
                return f"{what}, call {i}: {why}"

    def interpret(self, kiln, level):
        return ends([kiln, "run", self.archive, level, "--method", self.calls[0], "-i", self.at("0.in"), "-o", self.at("0.out")]) \
            or self.compare(f"run {level}", 1)

    def program(self, kiln, level, profiled):
        program = os.path.join(self.folder, self.name + level)
        methods = ",".join(dict.fromkeys(self.calls))
        args = [kiln, "build", self.archive, level, "--cc", CC, "--method", methods, "-o", program]
        run = [program, "--method", ",".join(self.calls)]
        for i in range(len(self.calls)):
            run += ["-i", self.at(f"{i}.in"), "-o", self.at(f"{i}.out")]
        check = [program, "--method", self.calls[0], "-i", self.at("0.in"), "--selfcheck"]
        return ends(args + (["-i", self.at("0.in")] if profiled else [])) or ends(run) \
            or self.compare(f"program {level} {'specialized' if profiled else 'generic'}", len(self.calls)) \
            or (ends(check) if profiled and level == "-O2" else None)

    def complaints(self, kiln, levels):
        for level in levels:
            yield self.interpret(kiln, level)
            for profiled in (False, True):
                yield self.program(kiln, level, profiled)


def main(kiln, *args):
    with tempfile.TemporaryDirectory() as d:
        if args[:1] == ("-k",):
            d, args = args[1], args[2:]
        names = args or sorted(f[:-3] for f in os.listdir(HERE) if f.endswith(".pt"))
        everywhere = args or daily.sample(names, DAYS)
        bad = [(name, why) for name in names for why in Case(name, d).complaints(kiln, LEVELS if name in everywhere else ["-O2"]) if why]
    for name, why in bad:
        print(f"{name}: {why}")
    print(f"{len(names)} models, {len(bad)} complaints", file=sys.stderr)
    return len(bad) > 0 or not names


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
