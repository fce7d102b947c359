"""Runs the tests of build.ninja and sums their results.

    stamp.py [--plain] STAMP COMMAND...    run a test; when it passes, write STAMP, else print what it said
    stamp.py --sum OUT STAMP...            print what the stamps hold, and write it to OUT
    stamp.py --unlisted OUT LIST           print the skips of OUT that LIST does not allow; status 1 if there are any
    stamp.py --script FILE ARGUMENT...     run a Python file, and print unittest's counts and skips in the lines below
    stamp.py --modules NAME...             the same for python -m unittest NAME...

What a test prints is kept in STAMP.log. A stamp holds the lines "wall SECONDS", "cpu SECONDS" (of all its processes) and
"passed NUMBER", and a line "skipped REASON" for each test that was left out.

A COMMAND that begins with a .py file is run by --script. Lines "PASSED: N" count tests; so do cmocka's. Without such a line,
the command is one test. A line "SKIP: REASON" says that a test was left out.
--plain: the test is skipped under the flags of a variant (CFLAGS is not empty).

LIST has a line for each skip that is allowed: the stamp's name as the sum prints it, and the reason. Both are patterns of
fnmatch."""
import collections, fnmatch, os, re, resource, runpy, subprocess, sys, time, unittest

import daily

SLOWEST = 12                            # number of stamps that the sum names


class Result(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def print_counts():
    """Makes unittest print its results in the lines that counts() reads."""
    run = unittest.TextTestRunner.run

    def counted(self, test):
        result = run(self, test)
        print("PASSED: %d" % result.passed, flush=True)
        for _, reason in result.skipped:
            print("SKIP: " + " ".join(reason.split()), flush=True)
        return result
    unittest.TextTestRunner.resultclass = Result
    unittest.TextTestRunner.run = counted


def run_script(script, *argv):
    """Runs a Python file as the main program."""
    print_counts()
    sys.argv = [script, *argv]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")


def run_modules(*names):
    """Runs the tests of modules in this folder, as python -m unittest does. A module may raise SkipTest, too."""
    print_counts()
    sys.path[0] = os.getcwd()
    suite = unittest.TestSuite()
    for name in names:
        try:
            suite.addTests(unittest.defaultTestLoader.loadTestsFromName(name))
        except unittest.SkipTest as reason:
            print("SKIP:", reason, flush=True)
    return int(not unittest.TextTestRunner().run(suite).wasSuccessful())


def counts(said):
    """Number of tests that passed, and the reasons of those that were skipped."""
    skipped = re.findall(r"^SKIP: (.*)$", said, re.M)
    passed = re.findall(r"^PASSED: (\d+)$|^\[  PASSED  \] (\d+) test\(s\)\.$", said, re.M)
    if passed:
        return sum(int(a or b) for a, b in passed), skipped
    return (0 if skipped else 1), skipped


def write(stamp, wall, cpu, passed, skipped):
    with open(stamp, "w") as f:
        print("wall %.2f\ncpu %.2f\npassed %d" % (wall, cpu, passed), *("skipped " + reason for reason in skipped), sep="\n", file=f)


def test(stamp, command, plain):
    if plain and os.environ.get("CFLAGS"):
        write(stamp, 0, 0, 0, ["not with CFLAGS=" + os.environ["CFLAGS"]])
        return 0
    if command[0].endswith(".py"):
        command = [sys.executable, __file__, "--script", *command]
    os.makedirs(os.path.dirname(stamp), exist_ok=True)
    start = time.monotonic()
    with open(stamp + ".log", "w+", errors="replace") as log:
        status = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT).returncode
        wall = time.monotonic() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        log.seek(0)
        said = log.read()
    if status:
        print(said, "%s: status %d\n" % (" ".join(command), status), sep="", end="")
        return 1
    passed, skipped = counts(said)
    cpu = used.ru_utime + used.ru_stime
    write(stamp, wall, cpu, passed, skipped)
    print("%7.1f s, %7.1f s of CPU: %s, %d passed" % (wall, cpu, stamp, passed) + (", %d skipped" % len(skipped) if skipped else ""))
    return 0


def read(stamp):
    """The contents of a stamp: seconds, seconds of CPU, number of tests passed, reasons of those skipped."""
    lines = [line.split(maxsplit=1) for line in open(stamp).read().splitlines()]
    first = dict(line for line in lines if line[0] != "skipped")
    return float(first["wall"]), float(first["cpu"]), int(first["passed"]), [line[1] for line in lines if line[0] == "skipped"]


def sum_up(out, *stamps):
    held = {stamp: read(stamp) for stamp in stamps}
    name = {stamp: re.sub(r"^\.\./|\.ok$", "", os.path.relpath(stamp, os.path.dirname(out))) for stamp in stamps}
    slowest = sorted(stamps, key=lambda stamp: -held[stamp][1])[:SLOWEST]
    skipped = collections.Counter((name[stamp], reason) for stamp in stamps for reason in held[stamp][3])
    lines = ["slowest: " + ", ".join("%s %.0f" % (name[stamp], held[stamp][1]) for stamp in slowest),
             "%d stamps, %.0f s, %.0f s of CPU" % (len(stamps), sum(h[0] for h in held.values()), sum(h[1] for h in held.values())),
             "samples of today: KILN_DAY=%d" % daily.DAY,
             "%d passed, %d skipped" % (sum(h[2] for h in held.values()), sum(skipped.values())),
             *("skipped %d: %s: %s" % (n, where, reason) for (where, reason), n in sorted(skipped.items()))]
    with open(out, "w") as f:
        print(*lines, sep="\n", file=f)
    print(*lines, sep="\n")
    return 0


def unlisted(out, allowed):
    rows = [line.split(maxsplit=1) for line in open(allowed).read().splitlines() if line.strip() and not line.startswith("#")]
    wrong = 0
    for where, reason in re.findall(r"^skipped \d+: (\S+): (.*)$", open(out).read(), re.M):
        if not any(fnmatch.fnmatchcase(where, row[0]) and fnmatch.fnmatchcase(reason, row[1]) for row in rows):
            print("skipped, and not in %s: %s: %s" % (allowed, where, reason))
            wrong += 1
    return int(wrong > 0)


def main(first, *rest):
    others = {"--script": run_script, "--modules": run_modules, "--sum": sum_up, "--unlisted": unlisted}
    if first in others:
        return others[first](*rest)
    plain = first == "--plain"
    stamp, *command = rest if plain else (first, *rest)
    return test(stamp, command, plain)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
