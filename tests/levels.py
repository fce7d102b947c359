#!/usr/bin/env python3
"""Runs recorded cases at every level and with each pass switched off: the answers must stay the same. By hand; needs numpy.

    tests/levels.py [--kiln build/kiln] [--build CC] [--only TEXT] [--part K/N] CASES...

Interprets each case (model.pt, N.in.npz, N.out.npz, meta.json) at -O0 to -O3, and at -O3 without each pass in turn; with
--build it also builds a program each time, profiled on the first input, and runs it on all. If the program's C and weights,
which contain the interpreted code too, equal those of an earlier setting, nothing is run again. CFLAGS=-Og or --build tcc is
fast. --part K/N: only every N-th case.
"""
import argparse, hashlib, os, re, subprocess, sys, tempfile
import numpy as np
from cases import arrays, calls, cases

NEAR = {"float16": (1e-2, 1e-3), "bfloat16": (4e-2, 1e-2), "float32": (2e-4, 2e-5), "float64": (1e-6, 1e-8),
        "complex64": (2e-4, 2e-5), "complex128": (1e-6, 1e-8)}


def wide(a):
    """Returns the name of its dtype, and its numbers in double. bfloat16 is stored as two-byte void."""
    if a.dtype == np.dtype("V2"):
        return "bfloat16", (a.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(float)
    return a.dtype.name, a.astype(np.complex128 if a.dtype.kind == "c" else float) if a.dtype.name in NEAR else a


def near(got, want, slack):
    """Are the values equal within the tolerance of their dtype, relative to each element or to the largest one? Sums may be added
    in any order."""
    name, w = wide(want)
    if name not in NEAR:
        return np.array_equal(got, want)
    rtol, atol = NEAR[name]
    largest = np.abs(w[np.isfinite(w)]).max(initial=0)
    return np.allclose(wide(got)[1], w, rtol=rtol, atol=max(atol, slack, atol * largest), equal_nan=True)


def differs(got, want, slack):
    for key in sorted(set(got) | set(want)):
        if key not in got or key not in want:
            return f"'{key}' is only in one"
        g, w = got[key], want[key]
        if g.shape != w.shape or g.dtype != w.dtype and w.size:
            return f"'{key}' is {g.dtype}{g.shape}, expected {w.dtype}{w.shape}"
        if not near(g, w, slack):
            return f"'{key}' differs"
    return None


def run(argv, case, meta, tmp):
    """Returns the reason why an answer is not the recorded one. None if all are."""
    for n, given, recorded in calls(case):
        out = os.path.join(tmp, "out.npz")
        done = subprocess.run([*argv, "-i", given, "-o", out], capture_output=True, text=True, errors="replace")
        if "error" in meta:
            if done.returncode != 1:
                return f"call {n}: status {done.returncode}, an error was expected"
            continue
        if done.returncode:
            return f"call {n}: status {done.returncode}: {done.stderr.strip()[-200:]}"
        why = differs(arrays(out), arrays(recorded), meta.get("atol", 0))
        if why:
            return f"call {n}: {why}"
    return None


def text_and_weights(folder):
    with open(folder + "/prog.c", "rb") as f:
        text = re.sub(rb"optimization: [^\\]*", b"", f.read())
    with open(folder + "/prog.weights", "rb") as f:
        text += f.read()
    return hashlib.sha256(text).digest()


def answers(kiln, way, cc, case, meta, tmp, tried):
    """Returns the reason why the interpreter's or the program's answers are not the recorded ones. None if they are."""
    prog = os.path.join(tmp, "prog")
    interpret = lambda: run([kiln, "run", case + "/model.pt", *way], case, meta, tmp)
    if not cc:
        return interpret()
    build = [kiln, "build", case + "/model.pt", "-i", case + "/1.in.npz", *way]
    folder = os.path.join(tmp, "c")
    done = subprocess.run([*build, "--emit", "c", "--name", "prog", "--weights", "file", "-o", folder], capture_output=True, text=True, errors="replace")
    if done.returncode:
        return "build: " + done.stderr[-200:]
    key = text_and_weights(folder)
    if key not in tried:
        tried[key] = interpret()
        if not tried[key]:
            done = subprocess.run([*build, "--cc", cc, "-o", prog], capture_output=True, text=True, errors="replace")
            tried[key] = "build: " + done.stderr[-200:] if done.returncode else run([prog], case, meta, tmp)
    return tried[key]


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--kiln", default="build/kiln")
    p.add_argument("--build")
    p.add_argument("--only", default="")
    p.add_argument("--part", default="0/1", type=lambda s: [int(x) for x in s.split("/")])
    p.add_argument("cases", nargs="+")
    a = p.parse_args()
    help_ = subprocess.run([a.kiln, "run", "--help"], capture_output=True, text=True).stdout
    passes = help_.split("passes:")[1].split("\n")[0].split()
    ways = [["-O0"], ["-O1"], ["-O2"], ["-O3"], *(["-O3", "--no-pass", x] for x in passes)]
    found = failed = skipped = programs = 0
    for case, meta in cases(a.cases, a.only, *a.part):
        found += 1
        tried = {}
        with tempfile.TemporaryDirectory() as tmp:
            base = run([a.kiln, "run", case + "/model.pt"], case, meta, tmp)
            if base:
                skipped += 1
                print(f"SKIP {os.path.basename(case)}: {base}", flush=True)
            for way in ways if not base else []:
                why = answers(a.kiln, way, a.build, case, meta, tmp, tried)
                if why:
                    failed += 1
                    print(f"FAIL {os.path.basename(case)} {' '.join(way)}: {why}", flush=True)
        programs += len(tried)
    print(f"{found} cases in {len(ways)} ways, {programs} programs, {failed} failed, {skipped} skipped: interpreted, they fail")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
