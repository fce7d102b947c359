#!/usr/bin/env python3
"""Compares random graphs (tests/graphs) with PyTorch, by hand (Debian: python3-torch).

    tests/oracle/graphs.py [--build DIR] [--programs CC] [--no-save] [--seeds A,B...] FIRST COUNT

Each seed's graph is written as an archive with four sets of inputs. Saved by kiln at -O0 and -O2 and run by PyTorch, it must
answer as the interpreter does at -O0. --programs CC also builds a program, profiled on the first set (odd seeds: and on the
third, which has other sizes). It must answer as the interpreter does on each set (kiln check), and as PyTorch on all sets in
turn on one instance, where guards fail in all places. --no-save leaves out the archives. PyTorch runs without its own
optimizer, whose passes ignore that a loop's results are carried into its next trip.
"""
import argparse, os, subprocess, sys, tempfile
import save, torch

SETS = "", "1", "2", "3"
LOADED = []          # kept alive, since PyTorch crashes when a task that was never waited for outlives its module


def kiln(a, *args):
    return subprocess.run([a.build + "/kiln", *args], capture_output=True, text=True, errors="replace")


def load(path):
    LOADED.append(torch.jit.load(path))
    return LOADED[-1]


def check_saved(a, seed, tmp):
    """Checks the saved archives in PyTorch."""
    for level in "-O0", "-O2":
        done = kiln(a, "save", level, f"{tmp}/{seed}.pt", "-o", f"{tmp}/saved{level}.pt")
        if done.returncode:
            return f"save {level}: " + done.stderr
    for k in SETS:
        given, out = f"{tmp}/{seed}.in{k}.npz", f"{tmp}/want.npz"
        ran = kiln(a, "run", "-O0", f"{tmp}/{seed}.pt", "-i", given, "-o", out)
        if ran.returncode > 1:
            return f"run {k}: " + ran.stderr
        want = None if ran.returncode else save.arrays(out)
        for level in "-O0", "-O2":
            try:
                got = save.answer(load(f"{tmp}/saved{level}.pt"), given)
            except Exception as e:
                return f"{level} load: {e}"
            if isinstance(got, str) != (want is None):
                return f"inputs {k} {level}: {'raised ' + got[-300:] if isinstance(got, str) else 'did not raise: ' + ran.stderr}"
            why = None if want is None else save.differs(got, want, 1e-4)
            if why:
                return f"inputs {k} {level}: {why}"
    return None


def check_program(a, seed, tmp):
    model, prog = f"{tmp}/{seed}.pt", f"{tmp}/prog"
    given = [f"{tmp}/{seed}.in{k}.npz" for k in SETS]
    each = [w for g in given for w in ("-i", g)]
    built = kiln(a, "build", "--cc", a.programs, model, *each[:2], *(each[4:6] if seed % 2 else []), "-o", prog)
    if built.returncode:
        return "build: " + built.stderr
    checked = kiln(a, "check", model, prog, *each)
    if checked.returncode:
        return "program: " + checked.stdout + checked.stderr
    asked = given[1:] + given[:1]
    m = load(model)
    want = [save.answer(m, g) for g in asked]
    outs = [f"{tmp}/out{i}.npz" for i in range(len(asked))]
    ran = subprocess.run([prog, *(w for g, o in zip(asked, outs) for w in ("-i", g, "-o", o))], capture_output=True, text=True)
    raised = [isinstance(w, str) for w in want]
    if ran.returncode != any(raised):
        return f"in turn: status {ran.returncode}, PyTorch {'raises ' + want[raised.index(True)][-200:] if any(raised) else 'does not raise'}"
    for g, w, o in zip(asked, want, outs):
        if isinstance(w, str):
            break
        why = save.differs(w, save.arrays(o), 1e-4)
        if why:
            return f"in turn, {os.path.basename(g)}: {why}"
    return None


def check(a, seed, tmp):
    """Returns what is wrong with this seed. None if nothing is."""
    made = subprocess.run([a.build + "/tests/graphs/graphs", "--write", str(seed), tmp], capture_output=True, text=True)
    if made.returncode:
        return "write: " + made.stderr
    return (None if a.no_save else check_saved(a, seed, tmp)) or (check_program(a, seed, tmp) if a.programs else None)


def apart(a, seed):
    """Runs in a process of its own, since PyTorch may crash."""
    pid = os.fork()
    if not pid:
        with tempfile.TemporaryDirectory() as tmp:
            why = check(a, seed, tmp)
        if why:
            print(f"seed {seed}: {why.strip()[-700:]}", flush=True)
        os._exit(bool(why))
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        print(f"seed {seed}: PyTorch crashed by signal {os.WTERMSIG(status)}", flush=True)
    return status


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--build", default="build")
    p.add_argument("--programs")
    p.add_argument("--no-save", action="store_true")
    p.add_argument("--seeds")
    p.add_argument("first", type=int, nargs="?", default=1)
    p.add_argument("count", type=int, nargs="?", default=0)
    a = p.parse_args()
    torch.set_num_threads(1)
    torch._C._set_graph_executor_optimize(False)
    seeds = [int(s) for s in a.seeds.split(",")] if a.seeds else range(a.first, a.first + a.count)
    failed = sum(apart(a, seed) != 0 for seed in seeds)
    print(f"{len(seeds)} graphs, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
