#!/usr/bin/env python3
"""Random graphs (tests/graphs) held against PyTorch, by hand (Debian: python3-torch).

    tests/oracle/graphs.py [--build DIR] [--programs tcc] FIRST COUNT

Each seed's graph is written as an archive, saved by kiln at -O0 and -O2, and run by PyTorch on its inputs; the answers are
those of the interpreter at -O0. --programs CC also builds a program from it, which must answer the same (kiln check).
"""
import argparse, os, subprocess, sys, tempfile
import save, torch


def kiln(a, *args):
    return subprocess.run([a.build + "/kiln", *args], capture_output=True, text=True, errors="replace")


def check(a, seed, tmp):
    """What is wrong with this seed; None: nothing."""
    made = subprocess.run([a.build + "/tests/graphs/graphs", "--write", str(seed), tmp], capture_output=True, text=True)
    model, given, out = f"{tmp}/{seed}.pt", f"{tmp}/{seed}.in.npz", f"{tmp}/want.npz"
    if made.returncode:
        return "write: " + made.stderr
    ran = kiln(a, "run", "-O0", model, "-i", given, "-o", out)
    if ran.returncode > 1:
        return "run: " + ran.stderr
    want = None
    if not ran.returncode:
        want = save.arrays(out)
    for level in "-O0", "-O2":
        saved = f"{tmp}/saved{level}.pt"
        done = kiln(a, "save", level, model, "-o", saved)
        if done.returncode:
            return f"save {level}: " + done.stderr
        try:
            got = save.answer(torch.jit.load(saved), given)
        except Exception as e:
            return f"{level} load: {e}"
        if isinstance(got, str) != (want is None):
            return f"{level}: {'raised ' + got[-300:] if isinstance(got, str) else 'did not raise'}"
        if want is not None and save.differs(got, want, 1e-4):
            return f"{level}: " + save.differs(got, want, 1e-4)
    if a.programs:
        built = kiln(a, "build", "--cc", a.programs, model, "-i", given, "-o", f"{tmp}/prog")
        checked = kiln(a, "check", model, f"{tmp}/prog", "-i", given)
        if built.returncode or checked.returncode:
            return "program: " + built.stderr + checked.stdout + checked.stderr
    return None


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--build", default="build")
    p.add_argument("--programs")
    p.add_argument("first", type=int)
    p.add_argument("count", type=int)
    a = p.parse_args()
    torch.set_num_threads(1)
    failed = 0
    for seed in range(a.first, a.first + a.count):
        with tempfile.TemporaryDirectory() as tmp:
            why = check(a, seed, tmp)
        if why:
            failed += 1
            print(f"seed {seed}: {why.strip()[-700:]}", flush=True)
    print(f"{a.count} graphs, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
