#!/usr/bin/env python3
"""Compares random modules with state, control flow and errors with PyTorch (Debian: python3-torch), in all ways of Kiln.

    tests/oracle/modules.py [--build DIR] [-j N] [--json FILE] [--keep DIR [--all]] [--ways WORD | --all-ways]
                            [--without WORD,...] [--commands N] FIRST COUNT
    tests/oracle/modules.py --show SEED
    tests/oracle/modules.py --add CASE.pt...
    tests/oracle/modules.py --again CASE.pt...     by another PyTorch: what it answers otherwise

A seed is a module of module_source.py and calls of it, on new instances and on one after the other, also after errors. PyTorch
answers in this process (module_answers.py). Where Kiln differs, module_opinions.py asks PyTorch in other ways, too.
build/tests/modules/ways makes the same calls interpreted at all levels and compiled by tcc: generic at one level and profiled at
two, which alternate (--all-ways: at all four; --ways: only ways whose name contains the word). Values, texts of errors, prints,
and the state afterwards must be equal.
Every 40th seed (--commands N: every Nth, 0: none) also goes through kiln run, kiln build and the linked program
(module_program.py).
--keep: keeps the cases of seeds that differ in that folder (with --all: of all seeds).  --add puts them into
tests/modules/cases.tar.xz, which `ninja check` runs in all ways.  --without: features left out.
"""
import argparse, collections, io, json, os, re, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
CHUNK = 250          # seeds of one process, since PyTorch never frees a class


class Ways:
    """The process build/tests/modules/ways, which runs cases."""
    def __init__(self, a):
        self.a = a
        self.p = subprocess.Popen([a.build + "/tests/modules/ways"] + (["-w", a.ways] if a.ways else []) + ["-"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, errors="replace")

    def why(self, name, seed):
        """Returns a text for each way that differs: the way, the call, the difference."""
        self.p.stdin.write(f"{name} {-1 if self.a.all_ways or self.a.ways else seed}\n")
        self.p.stdin.flush()
        lines = []
        while not (line := self.p.stdout.readline()).startswith("done ") and line:
            lines.append(line)
        why = "".join(lines).replace(name + " ", "\0").split("\0")[1:]
        return why if line else why + ["the program of ways ended"]

    def failed(self, name, seed):
        """Returns the names of the ways that differ: "run -O1"."""
        return {" ".join(w.split()[:2]) for w in self.why(name, seed)}

    def end(self):
        self.p.stdin.close()
        self.p.wait()


def work(a):
    """Runs the seeds of one process. Prints a line of JSON for each."""
    sys.path.insert(0, HERE)
    import module_answers, module_opinions, module_program, module_source
    ways, without = Ways(a), a.without.split(",")
    with tempfile.TemporaryDirectory() as tmp:
        for seed in range(a.first, a.first + a.count):
            name = os.path.join(a.keep or tmp, f"seed{seed}")
            print(json.dumps({"seed": seed}), flush=True)
            report = {"seed": seed, "why": []}
            try:
                report["raised"], report["calls"] = module_answers.record(name, seed, module_source.make(seed, without))
            except (module_answers.NoModule, module_answers.NoJudge) as e:
                report["none" if isinstance(e, module_answers.NoModule) else "open"] = str(e)
            else:
                report["why"] = ways.why(name, seed)
                if report["why"]:
                    report["opinion"] = module_opinions.contradiction(name, seed, without, lambda n: ways.failed(n, seed))
                if a.commands and seed % a.commands == 0:
                    why = module_program.compare(name, a.build + "/kiln", seed // a.commands % 4, tmp)
                    report["why"] += [why] if why else []
            kept = a.keep and (report["why"] or a.all and "calls" in report)
            for end in [".final.pt", ".apart.pt"] + ([] if kept else [".pt", ".npz"]):
                if os.path.exists(name + end):
                    os.unlink(name + end)
            print(json.dumps(report), flush=True)
    ways.end()


def kind_of(why):
    """Returns the common part of failures, for the table at the end."""
    text = re.sub(r"^\S+ -O\d(: | call \d+ \w+: )", "", why.splitlines()[0])
    return re.sub(r"-?[0-9.]+(e[-+]?\d+)?", "N", re.sub(r"'[^']*'", "'...'", text))[:90]


class Sweep:
    def __init__(self, a):
        self.a, self.begin = a, time.time()
        self.seeds = self.calls = self.raised = self.none = self.open = 0
        self.failed, self.kinds, self.contradicted = [], collections.Counter(), collections.Counter()

    def note(self, report):
        self.seeds += 1
        self.calls += report.get("calls", 0)
        self.raised += report.get("raised", 0)
        self.open += "open" in report
        if "none" in report:
            self.none += 1
            if self.a.verbose:
                print(f"seed {report['seed']} is no module: {report['none'][:1500]}")
        if report.get("opinion"):
            self.contradicted[report["opinion"]] += 1
            print(f"seed {report['seed']}: PyTorch answers otherwise itself ({report['opinion']}): {report['why'][0].strip()[:300]}", flush=True)
        elif report["why"]:
            self.failed.append(report["seed"])
            self.kinds[kind_of(report["why"][0])] += 1
            print(f"seed {report['seed']}: {len(report['why'])} ways: {report['why'][0].strip()[:700]}", flush=True)
        if sys.stderr.isatty() or self.seeds % 500 == 0:
            print(f"\r{self.line()}", end="" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)

    def line(self):
        twice = "".join(f", {n} {k}" for k, n in sorted(self.contradicted.items()))
        return (f"{self.seeds} modules ({self.none} not scriptable, {self.open} without an answer{twice}), {self.calls} calls, {self.raised} raised, "
                f"{len(self.failed)} differ, {time.time() - self.begin:.0f} s")

    def start(self, first, count):
        argv = [sys.executable, os.path.abspath(__file__), "--work", "--build", self.a.build, str(first), str(count)]
        argv += ["--keep", self.a.keep] if self.a.keep else []
        argv += ["--all"] if self.a.all else []
        argv += ["--all-ways"] if self.a.all_ways else []
        argv += ["--commands", str(self.a.commands)]
        argv += ["--ways", self.a.ways] if self.a.ways else []
        argv += ["--without", self.a.without] if self.a.without else []
        p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
        p.todo = (first, count)
        return p

    def drain(self, p):
        """Reads the process's reports. Returns the seeds that are left if PyTorch crashed."""
        at = None
        for line in p.stdout:
            report = json.loads(line)
            at = report["seed"]
            if "why" in report:
                self.note(report)
                at = None
        p.wait()
        if at is None:
            return None
        print(f"seed {at}: PyTorch ended with {p.returncode}", flush=True)
        self.none += 1
        self.seeds += 1
        first, count = p.todo
        return (at + 1, first + count - at - 1)

    def run(self):
        import concurrent.futures
        todo = [(f, min(CHUNK, self.a.first + self.a.count - f)) for f in range(self.a.first, self.a.first + self.a.count, CHUNK)]

        def chunk(t):
            while t and t[1] > 0:
                t = self.drain(self.start(*t))
        with concurrent.futures.ThreadPoolExecutor(self.a.j) as ex:
            list(ex.map(chunk, todo))


def add(paths):
    """Adds cases to the archive in the tree, whose bytes depend on nothing else."""
    import tarfile
    archive = os.path.join(HERE, "../modules/cases.tar.xz")
    files = {}
    if os.path.exists(archive):
        with tarfile.open(archive) as t:
            files = {m.name: t.extractfile(m).read() for m in t}
    for path in paths:
        for end in ".pt", ".npz":
            files[os.path.basename(path[:-3]) + end] = open(path[:-3] + end, "rb").read()
    with tarfile.open(archive, "w:xz", preset=9) as t:
        for name in sorted(files, key=lambda n: (n.rsplit(".", 1)[1], n)):
            m = tarfile.TarInfo(name)
            m.size = len(files[name])
            t.addfile(m, io.BytesIO(files[name]))


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--build", default="build")
    p.add_argument("-j", type=int, default=1)
    p.add_argument("--json")
    p.add_argument("--keep")
    p.add_argument("--all", action="store_true")
    p.add_argument("--ways")
    p.add_argument("--all-ways", action="store_true")
    p.add_argument("--without", default="")
    p.add_argument("--commands", type=int, default=40)
    p.add_argument("--show", type=int)
    p.add_argument("-v", "--verbose", action="store_true")
    p.add_argument("--work", action="store_true")
    p.add_argument("--add", nargs="+")
    p.add_argument("--again", nargs="+")
    p.add_argument("first", type=int, nargs="?", default=1)
    p.add_argument("count", type=int, nargs="?", default=1)
    a = p.parse_args()
    if a.add:
        add(a.add)
        return
    if a.again:
        sys.path.insert(0, HERE)
        import module_answers
        why = [(path, module_answers.again(path[:-3])) for path in a.again]
        print("\n".join(f"{p}: {w}" for p, w in why if w))
        print(f"{len(why)} cases, {sum(w is not None for _, w in why)} differ")
        return
    if a.show is not None:
        sys.path.insert(0, HERE)
        import module_source
        print(module_source.make(a.show, a.without.split(",")).source)
        return
    if a.work:
        work(a)
        return
    if a.keep:
        os.makedirs(a.keep, exist_ok=True)
    s = Sweep(a)
    s.run()
    for kind, n in s.kinds.most_common(30):
        print(f"{n:6d}  {kind}")
    print(s.line())
    if a.json:
        json.dump({"first": a.first, "count": a.count, "modules": s.seeds, "not_scriptable": s.none, "calls": s.calls, "raised": s.raised,
                   "differ": s.failed, "seconds": round(time.time() - s.begin)}, open(a.json, "w"))
    sys.exit(bool(s.failed))


if __name__ == "__main__":
    main()
