#!/usr/bin/env python3
"""Recorded cases at every level and with each pass switched off: the answers stay the same. By hand; needs numpy.

    tests/levels.py [--kiln build/kiln] [--build CC] [--only TEXT] [--every N] CASES...

Interprets each case (model.pt, N.in.npz, N.out.npz, meta.json) at -O0 to -O3, and at -O3 without each pass in turn; with
--build it also builds a program each time, profiled on the first input, and runs it on all; what has the same C and weights
as a program before it is not compiled again. CFLAGS=-O0 or --build tcc is fast.
"""
import argparse, hashlib, os, re, subprocess, sys, tempfile
import numpy as np
from cases import arrays, calls, cases

NEAR = {"float16": (1e-2, 1e-3), "float32": (2e-4, 2e-5), "float64": (1e-6, 1e-8), "complex64": (2e-4, 2e-5), "complex128": (1e-6, 1e-8)}


def differs(got, want, slack):
    for key in sorted(set(got) | set(want)):
        if key not in got or key not in want:
            return f"'{key}' is only in one"
        g, w = got[key], want[key]
        if g.shape != w.shape or g.dtype != w.dtype and w.size:
            return f"'{key}' is {g.dtype}{g.shape}, expected {w.dtype}{w.shape}"
        if w.dtype == np.dtype("V2"):
            g, w = ((a.view(np.uint16).astype(np.uint32) << 16).view(np.float32) for a in (g, w))
            same = np.allclose(g, w, 4e-2, 1e-2, equal_nan=True)
        elif w.dtype.name in NEAR:
            rtol, atol = NEAR[w.dtype.name]
            same = np.allclose(g, w, rtol=rtol, atol=max(atol, slack), equal_nan=True)
        else:
            same = np.array_equal(g, w)
        if not same:
            return f"'{key}' differs"
    return None


def run(argv, case, meta, tmp):
    """Why an answer is not the recorded one; None: all are."""
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


def program(kiln, way, cc, case, meta, tmp, tried):
    """Why the program's answers are not the recorded ones; None: they are."""
    prog = os.path.join(tmp, "prog")
    build = [kiln, "build", case + "/model.pt", "-i", case + "/1.in.npz", *way, "-o", prog]
    done = subprocess.run([*build, "--emit", "c", "--weights", "file"], capture_output=True, text=True, errors="replace")
    if done.returncode:
        return "build: " + done.stderr[-200:]
    text = re.sub(rb"optimization: [^\\]*", b"", open(prog, "rb").read())
    weights = prog + ".weights"
    key = hashlib.sha256(text + (open(weights, "rb").read() if os.path.exists(weights) else b"")).digest()
    if key not in tried:
        done = subprocess.run([*build, "--cc", cc], capture_output=True, text=True, errors="replace")
        tried[key] = "build: " + done.stderr[-200:] if done.returncode else run([prog], case, meta, tmp)
    return tried[key]


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--kiln", default="build/kiln")
    p.add_argument("--build")
    p.add_argument("--only", default="")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("cases", nargs="+")
    a = p.parse_args()
    help_ = subprocess.run([a.kiln, "run", "--help"], capture_output=True, text=True).stdout
    passes = help_.split("passes:")[1].split("\n")[0].split()
    ways = [["-O0"], ["-O1"], ["-O2"], ["-O3"], *(["-O3", "--no-pass", x] for x in passes)]
    found = failed = skipped = programs = 0
    for case, meta in cases(a.cases, a.only, a.every):
        found += 1
        tried = {}
        with tempfile.TemporaryDirectory() as tmp:
            base = run([a.kiln, "run", case + "/model.pt"], case, meta, tmp)
            if base:
                skipped += 1
                print(f"SKIP {os.path.basename(case)}: {base}", flush=True)
            for way in ways if not base else []:
                why = run([a.kiln, "run", case + "/model.pt", *way], case, meta, tmp)
                if not why and a.build:
                    why = program(a.kiln, way, a.build, case, meta, tmp, tried)
                if why:
                    failed += 1
                    print(f"FAIL {os.path.basename(case)} {' '.join(way)}: {why}", flush=True)
        programs += len(tried)
    print(f"{found} cases in {len(ways)} ways, {programs} programs, {failed} failed, {skipped} skipped: interpreted, they fail")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
