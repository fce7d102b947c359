"""Faults: the nth allocation, write, read, open, fork or mmap fails, a signal comes at some moment of a build.  The result
is whole or absent, the status is 0 or 1, a message gives the reason, and no file is left behind.  A program has freed its
memory, unless the allocator of small blocks ended it with "error: out of memory" and no other output.  (Kiln never frees
memory that lives as long as the process.)

usage: faults_test.py KILN ALLOC.so INJECT [--all [MODEL.pt IN.npz]]

Without --all a sample of each kind is tried; with it every allocation up to 2000 and 1000 further ones of a build, every
one of a program, every system call, and each of three signals at 50 moments; "one" fails alone, "on" it and all after it.
"""
import hashlib, os, random, re, shutil, signal, subprocess, sys, tempfile, threading, time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
KILN, ALLOC, INJECT = map(os.path.abspath, sys.argv[1:4])
ALL = "--all" in sys.argv
MODEL, IN = [*sys.argv[sys.argv.index("--all") + 1:], *[None] * 2][:2] if ALL else (None, None)
MODEL = os.path.abspath(MODEL or os.path.join(ROOT, "samples/halting/model.pt"))
IN = os.path.abspath(IN or os.path.join(ROOT, "samples/halting/in.npz"))
KINDS = "write", "read", "open", "fork", "mmap"
SEED = 17
CONTAINERS = """
def forward(x: Tensor) -> Tuple[Tensor, List[Tensor], Dict[str, Tensor]]:
    l = [x + 1, x * 2]
    while len(l) < 4 and bool((x.sum() == x.sum())):
        l.append(torch.cat([l[-1], x])[:x.size(0)])
    return torch.stack([x, l[0], l[1]]), l, {"a": torch.einsum("ij,kj->ik", x, x), "b": torch.sort(x)[0]}
"""


class Place:
    """A folder for the files that a command writes, and one for its temporary files, in another file system if there is one. Then
    results are copied from there."""
    def __init__(self):
        self.top = tempfile.mkdtemp()
        self.work = os.path.join(self.top, "work")
        os.mkdir(self.work)
        self.tmp = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else self.top)

    def remove(self):
        shutil.rmtree(self.top)
        shutil.rmtree(self.tmp, True)

    def clear(self):
        for folder in self.work, self.tmp:
            for name in os.listdir(folder):
                path = os.path.join(folder, name)
                shutil.rmtree(path, True) if os.path.isdir(path) else os.remove(path)


class Command:
    """A command, the files that it may leave in its folder, and those that it leaves without a fault. With `frees` also blocks of
    memory."""
    def __init__(self, name, argv, outs, frees=False):
        self.name, self.argv, self.outs, self.blocks = name, argv, outs, None
        self.program = os.path.basename(argv[0])
        place = Place()
        status, said = self.run(place, [], {})
        assert status == 0, (name, said)
        self.whole = self.written(place)
        assert set(self.whole) == set(outs), (name, self.whole)
        place.remove()
        if frees:
            self.blocks = self.count("alloc", 1)

    def written(self, place):
        return {n: hashlib.sha256(open(os.path.join(place.work, n), "rb").read()).hexdigest() for n in os.listdir(place.work)}

    def run(self, place, before, env):
        p = subprocess.run([*before, *self.argv], cwd=place.work, stdin=subprocess.DEVNULL, capture_output=True, timeout=300,
                           env={**os.environ, "TMPDIR": place.tmp, **env})
        return p.returncode, p.stderr.decode("utf-8", "replace") + p.stdout.decode("utf-8", "replace")

    def count(self, kind, word=0):
        place = Place()
        at = os.path.join(place.top, "count")
        if kind == "alloc":
            self.run(place, [], {"LD_PRELOAD": ALLOC, "FAULT_IN": self.program, "FAULT_COUNT": at})
        else:
            self.run(place, [INJECT, kind, "0", "one", at], {})
        with open(at) as f:
            n = int(f.read().split()[word])
        place.remove()
        return n

    def wrong(self, place, status, said, statuses=(0, 1)):
        """Returns what is wrong with how the command ended, or None."""
        left = self.written(place)
        if status not in statuses:
            return "status %d: %s" % (status, said[-300:])
        if status and not said.strip():
            return "status %d without a message" % status
        if os.listdir(place.tmp):
            return "left in TMPDIR: %s" % os.listdir(place.tmp)
        for name, text in left.items():
            if self.whole.get(name) != text:
                return "left beside the output, or not whole: %s (status %d)" % (name, status)
        if "OUT.weights" in left and "OUT" not in left:
            return "weights without the program"
        if status == 0 and left != self.whole:
            return "status 0 without %s" % (set(self.whole) - set(left))
        return None

    def leaked(self, at, kind, said):
        """Returns the memory that the command has not freed, or None."""
        if self.blocks is None or not os.path.exists(at) or re.search("^error: out of memory$", said, re.M):
            return None
        with open(at) as f:
            counted = f.read().split()          # no file if writes fail
        most = self.blocks + (kind == "fork")   # glibc keeps the stack of a thread that was not started
        return "%s blocks not freed, %d when nothing fails" % (counted[1], self.blocks) if counted and int(counted[1]) > most else None

    def inject(self, place, kind, n, how):
        at = os.path.join(place.top, "blocks")
        env = {"LD_PRELOAD": ALLOC, "FAULT_IN": self.program, "FAULT_COUNT": at} if kind == "alloc" or self.blocks is not None else {}
        if kind == "alloc":
            env["FAULT_AT"] = str(n)
            status, said = self.run(place, [], {**env, "FAULT_ON": "1"} if how == "on" else env)
        else:
            status, said = self.run(place, [INJECT, kind, str(n), how, "/dev/null"], env)
        why = self.wrong(place, status, said) or self.leaked(at, kind, said)
        place.clear()
        if os.path.exists(at):
            os.remove(at)
        return why


class Found:
    def __init__(self):
        self.lock, self.by = threading.Lock(), {}

    def add(self, what, n, why):
        key = re.sub(r"kiln-\w+|\d+", "#", why)[:160]
        with self.lock:
            self.by.setdefault((what, key), []).append((n, why))

    def print(self):
        for (what, key), at in sorted(self.by.items()):
            print("%s: %d times, at %s: %s" % (what, len(at), [n for n, _ in at[:8]], at[0][1].replace("\n", " | ")))


FOUND, TRIED = Found(), {}


def each(jobs, do):
    """Calls do(place, job) for all jobs, two at a time."""
    left, lock = list(jobs)[::-1], threading.Lock()

    def work():
        place = Place()
        while True:
            with lock:
                if not left:
                    break
                job = left.pop()
            do(place, job)
        place.remove()
    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads: t.start()
    for t in threads: t.join()


def chosen(n, most, further, sample, dice):
    """Returns a selection of n faults: the first `most` and `further` of the rest, or a sample."""
    if not ALL:
        return sorted(dice.sample(range(1, n + 1), min(n, sample)))
    beyond = range(most + 1, n + 1)
    return [*range(1, min(n, most) + 1), *sorted(dice.sample(beyond, min(len(beyond), further)))]


def sweep(command, kind, most=2000, further=1000, sample=4):
    dice = random.Random("%d %s %s" % (SEED, command.name, kind))
    n = command.count(kind)
    for how in "one", "on":
        jobs = chosen(n, most, further, sample, dice)

        def do(place, at):
            why = command.inject(place, kind, at, how)
            if why:
                FOUND.add("%s, %s %s" % (command.name, kind, how), at, why)
        each(jobs, do)
        TRIED[command.name, kind, how] = len(jobs), n


def alive(session):
    """Returns the commands of processes of that session, without the session's leader."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as f:
                name, rest = f.read().rsplit(")", 1)
            if int(rest.split()[3]) == session and rest.split()[0] != "Z":
                found.append(name)
        except OSError:
            pass
    return found


def stop(command, place, number, after):
    p = subprocess.Popen(command.argv, cwd=place.work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         env={**os.environ, "TMPDIR": place.tmp}, start_new_session=True)
    try:
        p.wait(after)
    except subprocess.TimeoutExpired:
        p.send_signal(number)
    said = p.communicate()[1].decode("utf-8", "replace")
    running = alive(p.pid)
    why = "still running: %s" % running if running else command.wrong(place, p.returncode, said or "-", (0, -number))
    place.clear()
    return why


def signals(command, moments):
    place = Place()
    start = time.time()
    command.run(place, [], {})
    place.clear()
    length = time.time() - start
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGQUIT:
        def do(place, i):
            why = stop(command, place, number, length * (i + 0.5) / moments)
            if why:
                FOUND.add("%s, %s" % (command.name, number.name), i, why)
        each(range(moments), do)
        TRIED[command.name, number.name, ""] = moments, moments
    place.remove()


def nested():
    """Sends a signal to a Kiln whose child is another Kiln, under which a compiler runs that would run for a minute."""
    place = Place()
    compiler = os.path.join(place.top, "cc")
    with open(compiler, "w") as f:
        f.write("#!/bin/sh\nexec sleep 60\n")
    os.chmod(compiler, 0o755)
    p = subprocess.Popen([KILN, "bisect", MODEL, "-i", IN, "--cc", compiler], cwd=place.work, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": place.tmp}, start_new_session=True)
    end = time.time() + 30
    while "(sleep" not in "".join(alive(p.pid)) and time.time() < end:
        time.sleep(0.01)
    began = time.time() < end and "(sleep" in "".join(alive(p.pid))
    p.terminate()
    p.wait()
    running, left = alive(p.pid), os.listdir(place.tmp)
    if not began or running or left or p.returncode != -signal.SIGTERM:
        FOUND.add("bisect, SIGTERM", 0, "compiler %s, status %d, still running: %s, left: %s" % (
            "started" if began else "not started", p.returncode, running, left))
    TRIED["bisect", "SIGTERM", ""] = 1, 1
    place.remove()


def containers(folder):
    """Makes a program that creates containers, and calls kernels of the runtime that create nested ones."""
    model, program = os.path.join(folder, "containers.py"), os.path.join(folder, "containers")
    with open(model, "w") as f:
        f.write(CONTAINERS)
    inputs = ["-i", os.path.join(ROOT, "samples/halting/in.npz")]
    subprocess.run([KILN, "build", model, *inputs, "-o", program, "--cc", "tcc"], check=True, stdout=subprocess.DEVNULL)
    return Command("containers", [program, *inputs, "-o", "out.npz"], ["out.npz"], frees=True)


def main():
    program = os.path.join(tempfile.mkdtemp(), "program")
    build = [KILN, "build", MODEL, "-i", IN, "-o", "OUT", "--json", "out.json"]
    outs = ["OUT", "out.json"]
    subprocess.run([*build[:-4], "-o", program, "--cc", "tcc"], check=True, stdout=subprocess.DEVNULL)
    tcc = Command("build by tcc", [*build, "--cc", "tcc"], outs)
    gcc = Command("build by cc", build, outs)
    beside = Command("weights beside", [*build, "--cc", "tcc", "--weights", "file"], [*outs, "OUT.weights"])
    runs = Command("run", [KILN, "run", MODEL, "-i", IN, "-o", "out.npz"], ["out.npz"])
    made = Command("program", [program, "-i", IN, "-o", "out.npz", "--threads", "2"], ["out.npz"], frees=True)
    save = Command("save", [KILN, "save", MODEL, "-o", "out.pt"], ["out.pt"])
    sweep(containers(os.path.dirname(program)), "alloc", 10 ** 9, sample=10 ** 9)
    sweep(tcc, "alloc", sample=24)
    sweep(made, "alloc", 10 ** 9, sample=24)
    sweep(runs, "alloc", sample=12)
    sweep(save, "alloc", sample=6)
    if subprocess.run([INJECT, "write", "0", "one", "/dev/null", "true"]).returncode == 0:
        for command in tcc, gcc, beside, runs, made, save:
            for kind in KINDS:
                if command.count(kind):
                    sweep(command, kind, 200, 200, sample=3)
    else:
        print("SKIP: ptrace is missing")
    for command in (tcc, gcc, runs, made) if ALL else (tcc, gcc):
        signals(command, 50 if ALL else 3)
    nested()
    shutil.rmtree(os.path.dirname(program))
    for (name, kind, how), (tried, n) in TRIED.items():
        if ALL:
            print("%-14s %-8s %-4s %5d of %d" % (name, kind, how, tried, n))
    FOUND.print()
    print("%d faults, %d kinds of findings" % (sum(t for t, _ in TRIED.values()), len(FOUND.by)))
    sys.exit(bool(FOUND.by))


main()
