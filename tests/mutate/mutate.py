"""Mutation testing. Each mutant of tests/mutate/*.txt is an expression of a function, changed into a bug. It is put into a copy of
the tree, built, and the tests that it names are run until one fails: then it is killed. One that passes them all survives, unless
the list says why it is equal in meaning. The status is 0 when every mutant is killed or equal.

A list is made of blocks, with empty lines between them and comments that start with '#':

    file FILE
    tests: STAMP...          of build.ninja: opt is build/tests/opt.ok; STAMP:NAME is one test of its Python script

    NAME FUNCTION            a mutant of that file, by those tests
    - tokens of C, found once in the function whatever lines, spaces and comments lie between them there
    + what they are replaced by, if anything
    tests: STAMP...          by these tests instead
    equal: why no test can see it

Tokens that are not found once are an error of the list, and so is a mutant that does not build. A list quotes no more than the
operand that changes, so that it need not change with the lines around."""

import argparse, collections, concurrent.futures, json, os, queue, re, resource, shutil, signal, subprocess, sys, \
    tempfile, time

WALL, CPU = 600, 40                     # seconds for a test, seconds of one process
MEMORY, OUTPUT = 16 << 30, 1 << 28      # bytes of one process, bytes of one file that it writes
FOLDERS = "ir", "opt", "codegen", "rt", "frontend"
GAP = re.compile(r"(?:\s|\\\n|//[^\n]*|/\*.*?\*/)*", re.S)                    # text that may stand between two tokens of C
TOKEN = re.compile(r"""L?"(?:\\.|[^"\\])*"|L?'(?:\\.|[^'\\])*'|\.?\d(?:[eEpP][+-]|[\w.])*|\w+|\.\.\.|<<=|>>=|->|\+\+|--|<<|>>"""
                   r"""|[<>=!]=|&&|\|\||[-+*/%&|^]=|\#\#|.""", re.S)


class ListError(Exception):
    pass


class Mutant:
    def __init__(self, where, lines, file, tests):
        self.where, self.file, self.tests, self.equal, self.old, self.new = where, file, tests, None, None, None
        head = lines[0].split()
        if len(head) != 2:
            self.fail("the first line is NAME FUNCTION")
        self.name, self.function = head
        for line in lines[1:]:
            if line.startswith("- "):
                self.old = line[2:]
            elif line.startswith("+"):
                self.new = line[2:]
            elif line.startswith("tests: "):
                self.tests = line[7:].split()
            elif line.startswith("equal: "):
                self.equal = line[7:]
            else:
                self.fail(f"not a line of a mutant: {line}")
        if not (self.file and self.old and self.tests) or self.new is None or self.old == self.new:
            self.fail("'file FILE', '- TEXT', '+ TEXT' and 'tests: STAMP...' are needed")

    def fail(self, why):
        raise ListError(f"{self.where}: {why}")

    def apply(self, source):
        """Returns the source with the bug in it."""
        start, end = body(source, self.function)
        if start is None:
            self.fail(f"{self.file} has no function {self.function}")
        places = find(tokens(self.old), tokens(source, start, end))
        if len(places) != 1:
            self.fail(f"{self.function} in {self.file} has {len(places)} times: {self.old}")
        (first, last), = places
        return source[:first] + self.new + source[last:]


def tokens(text, at=0, end=None):
    """Returns (token, start, end) of each token of C in text[at:end], without comments."""
    found, end = [], len(text) if end is None else end
    while (at := GAP.match(text, at, end).end()) < end:
        token = TOKEN.match(text, at, end)
        found.append((token.group(), at, token.end()))
        at = token.end()
    return found


def find(quoted, among):
    """Finds where these tokens follow each other: [(start of the first, end of the last)]."""
    words, n = [word for word, _, _ in quoted], len(quoted)
    return [(among[i][1], among[i + n - 1][2]) for i in range(len(among) - n + 1) if [word for word, _, _ in among[i:i + n]] == words]


def body(source, function):
    """Finds the start and end of a function's definition: from a line that begins in column 0 and contains its name, to '}' in
    column 0."""
    for match in re.finditer(rf"^(?:[A-Za-z][^\n;=]*\b)?{re.escape(function)}\(", source, re.M):
        brace, semicolon = source.find("{", match.end()), source.find(";", match.end())
        if 0 <= brace and not 0 <= semicolon < brace:
            return match.start(), source.index("\n}", brace)
    return None, None


def blocks(path):
    """Returns (line of the first, lines) of each block."""
    block, first = [], 0
    for number, line in enumerate(open(path).read().split("\n") + [""], 1):
        if line.startswith("#"):
            continue
        if line.strip():
            first = first if block else number
            block.append(line)
        elif block:
            yield first, block
            block = []


def scripts():
    """Returns the Python script of each stamp of build.ninja, its first input of that kind: {stamp: path, or "" if it has none}.
    """
    build = open("build.ninja").read().replace("$\n", "")
    return dict(re.findall(r"^build \$b/tests/(\S+)\.ok:(?:.*? (tests/\S+\.py))?", build, re.M))


def is_test(name, known):
    """Is it a stamp of build.ninja, or STAMP:CLASS.TEST for a script that contains both?"""
    stamp, _, case = name.partition(":")
    if not case:
        return stamp in known
    source = open(known[stamp]).read() if known.get(stamp) else ""
    return all(re.search(rf"^ *(?:class|def) {part}\b", source, re.M) for part in case.split("."))


def read_list():
    mutants, names, wrong, known = [], set(), [], scripts()
    for folder in FOLDERS:
        file, tests = None, []
        for line, block in blocks(f"tests/mutate/{folder}.txt"):
            if block[0].startswith("file "):
                file, tests = block[0].split()[1], block[1].removeprefix("tests: ").split()
            else:
                mutants.append(Mutant(f"tests/mutate/{folder}.txt:{line}", block, file, tests))
    for m in mutants:
        try:
            if m.name in names:
                m.fail(f"{m.name} is there twice")
            names.add(m.name)
            m.apply(open(m.file).read())
            for test in m.tests:
                if not is_test(test, known):
                    m.fail(f"no test of build.ninja: {test}")
        except ListError as error:
            wrong.append(str(error))
    if wrong:
        sys.exit("\n".join(wrong))
    return mutants


def sample(mutants, n):
    mutants = [m for m in mutants if not m.equal]
    return [mutants[i * len(mutants) // n] for i in range(min(n, len(mutants)))]


def limits():
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT, OUTPUT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def stop(p):
    """Ends a process group. Ninja then ends its commands, which have process groups of their own."""
    os.killpg(p.pid, signal.SIGTERM)
    try:
        p.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()


def run(tree, command):
    """Returns (status, printed text). status is None if the time limit was exceeded."""
    with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as tmp:
        p = subprocess.Popen(command, cwd=tree, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                             env=dict(os.environ, TMPDIR=tmp, KILN_ALL="1"), preexec_fn=limits)
        try:
            status = p.wait(WALL)
        except subprocess.TimeoutExpired:
            stop(p)
            status = None
        out.seek(0)
        return status, out.read()


class Tree:
    """A copy of the tree for mutants. restore() undoes all changes."""

    def __init__(self, path, base=None):
        self.path, self.base = path, base
        if base:
            shutil.copytree(base.path, path, symlinks=True)
            return
        files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True)
        for name in filter(os.path.exists, files.stdout.split("\n")):
            os.makedirs(os.path.dirname(os.path.join(path, name)), exist_ok=True)
            shutil.copy2(name, os.path.join(path, name))
        if os.path.isdir("build"):
            shutil.copytree("build", os.path.join(path, "build"), symlinks=True, ignore=shutil.ignore_patterns("asan", "mutate"))

    def inputs(self, stamp):
        """Returns the programs that a test's stamp needs built. Sources are left out."""
        out = subprocess.run(["ninja", "-t", "query", stamp], cwd=self.path, capture_output=True, text=True, check=True).stdout
        names = re.findall(r"^    (?:\|\|? )?(\S+)$", out.split("outputs:")[0], re.M)
        return [name for name in names if name.startswith("build/") and not name.startswith("build/samples/")]

    def script(self, stamp):
        """Returns the command of a stamp that runs a Python script: its interpreter, its script, its arguments."""
        out = subprocess.run(["ninja", "-t", "commands", "-s", stamp], cwd=self.path, capture_output=True, text=True, check=True)
        return ["python3", *re.search(r"stamp\.py (?:--plain)? *\S+ +(.*)", out.stdout.strip().split("\n")[-1]).group(1).split()]

    def build(self, stamp):
        return run(self.path, ["ninja", "-j1", *self.inputs(stamp)])

    def test(self, name):
        stamp, _, case = name.partition(":")
        stamp = f"build/tests/{stamp}.ok"
        status, out = self.build(stamp)
        if status != 0:
            return "build", out
        status, out = run(self.path, self.script(stamp) + [case] if case else ["ninja", "-j1", stamp])
        return {0: "passed", None: "time"}.get(status, "failed"), out

    def restore(self):
        for folder, names, files in os.walk(self.path):
            beside = os.path.join(self.base.path, os.path.relpath(folder, self.path))
            for name in files:
                ours, theirs = os.path.join(folder, name), os.path.join(beside, name)
                if not os.path.lexists(theirs):
                    os.remove(ours)
                elif os.lstat(ours).st_mtime_ns != os.lstat(theirs).st_mtime_ns or os.path.getsize(ours) != os.path.getsize(theirs):
                    shutil.copy2(theirs, ours)
        for folder, names, files in os.walk(self.base.path):
            ours = os.path.join(self.path, os.path.relpath(folder, self.base.path))
            for name in files:
                if not os.path.lexists(os.path.join(ours, name)):
                    os.makedirs(ours, exist_ok=True)
                    shutil.copy2(os.path.join(folder, name), os.path.join(ours, name))


def attempt(trees, mutant):
    """Tries one mutant in a free copy. Returns (verdict, the test that detected it, seconds, printed text)."""
    tree, start = trees.get(), time.time()
    try:
        path = os.path.join(tree.path, mutant.file)
        source = mutant.apply(open(path).read())
        open(path, "w").write(source)
        verdict, by, out = "survived", "", ""
        for name in mutant.tests:
            result, out = tree.test(name)
            if result == "passed":
                continue
            verdict, by = ("unbuilt", "") if result == "build" else ("killed", name + (", time" if result == "time" else ""))
            break
        if verdict == "survived" and mutant.equal:
            verdict = "equal"
        elif verdict == "killed" and mutant.equal:
            verdict = "unequal"                     # the list claims that no test can detect it
        return verdict, by, time.time() - start, out
    finally:
        try:
            tree.restore()
        finally:
            trees.put(tree)


def report(results, as_json):
    count = collections.Counter(verdict for _, verdict, _, _, _ in results)
    if as_json:
        print(json.dumps([{"name": m.name, "file": m.file, "function": m.function, "old": m.old, "new": m.new, "tests": m.tests,
                           "verdict": verdict, "by": by, "seconds": round(seconds, 1), "why": m.equal}
                          for m, verdict, by, seconds, _ in results], indent=1))
        return count
    print(f"\n{'folder':<10}{'mutants':>8}{'killed':>8}{'equal':>8}{'survived':>10}")
    for folder in FOLDERS + ("",):
        of = collections.Counter(v for m, v, _, _, _ in results if m.file.startswith(folder))
        print(f"{folder or 'all':<10}{sum(of.values()):>8}{of['killed']:>8}{of['equal']:>8}{of['survived']:>10}")
    for kind, what in ("equal", "equal in meaning"), ("unequal", "said to be equal, but killed"), ("unbuilt", "not built"), \
            ("survived", "survived"):
        for m, verdict, by, _, out in results:
            if verdict == kind:
                print(f"{what}: {m.name}, {m.file} {m.function}: {m.old}  ->  {m.new}" + (f"\n\t{m.equal}" if m.equal else ""))
                if kind == "unbuilt":
                    print(out[-2000:])
    return count


def main():
    p = argparse.ArgumentParser(prog="tests/mutate.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--list", action="store_true", help="print the mutants and end")
    p.add_argument("--only", action="append", metavar="NAME", help="this mutant, or all of a source file; may be repeated")
    p.add_argument("--sample", type=int, metavar="N", help="N mutants, always the same, spread over the list")
    p.add_argument("--json", action="store_true", help="print the table as JSON")
    p.add_argument("-j", type=int, default=1, metavar="N", help="N at a time, each in a copy of its own")
    a = p.parse_args()
    try:
        mutants = read_list()
    except ListError as error:
        sys.exit(error)
    if a.only:
        unknown = set(a.only) - {m.name for m in mutants} - {m.file for m in mutants}
        if unknown:
            sys.exit(f"tests/mutate.sh: no mutant of this name: {', '.join(sorted(unknown))}")
        mutants = [m for m in mutants if m.name in a.only or m.file in a.only]
    if a.sample:
        mutants = sample(mutants, a.sample)
    if a.list:
        for m in mutants:
            print(f"{m.name:<28} {m.file} {m.function}: {m.old}  ->  {m.new}  [{' '.join(m.tests)}]")
        return
    with tempfile.TemporaryDirectory(prefix="mutate.") as tmp:
        base = Tree(os.path.join(tmp, "base"))
        for name in sorted({name for m in mutants for name in m.tests}):
            result, out = base.test(name)
            if result != "passed":
                sys.exit(f"{out[-4000:]}\ntests/mutate.sh: {name} fails without a mutant: {result}")
        trees = queue.Queue()
        for i in range(a.j):
            trees.put(Tree(os.path.join(tmp, str(i)), base))
        results = []
        pool = concurrent.futures.ThreadPoolExecutor(a.j)
        jobs = {pool.submit(attempt, trees, m): m for m in mutants}
        try:
            for job in concurrent.futures.as_completed(jobs):
                m, (verdict, by, seconds, out) = jobs[job], job.result()
                results.append((m, verdict, by, seconds, out))
                print(f"{verdict:<9}{m.name:<28} {m.file:<22} {by:<24} {seconds:5.1f} s", flush=True,
                      file=sys.stderr if a.json else sys.stdout)
        finally:
            pool.shutdown(cancel_futures=True)       # also on interruption: running mutants end first
        results.sort(key=lambda r: mutants.index(r[0]))
        count = report(results, a.json)
    sys.exit(any(count[v] for v in ("survived", "unbuilt", "unequal")))


if __name__ == "__main__":
    main()
