#!/usr/bin/env python3
"""Checks archives of `kiln trace` in PyTorch (Debian: python3-torch, or a newer one): PyTorch must load and run them.

    tests/oracle/trace.py [--kiln build/kiln] [--only TEXT] CASES...

A case is a folder as in tests/oracle/save.py. Each model is traced on its first input and checked on the others. The trace is
run by torch.jit.load and by kiln on the first input, and on those others for which no warning says that it does not hold. Its
answers are compared with the recorded ones. The same is done with a trace of each further input.
"""
import argparse, json, os, subprocess, sys, tempfile
import numpy as np
import torch

import save
from cases import arrays, calls, cases


def trace(kiln, model, first, out, others):
    argv = [kiln, "trace", model, "-i", first, "-o", out, "--json"]
    for o in others:
        argv += ["--check", o]
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace")
    if done.returncode:
        return None, f"trace: status {done.returncode}: " + " | ".join(done.stderr.strip().splitlines()[-4:])
    return json.loads(done.stdout[done.stdout.rindex('{"nodes"'):]), None


def by_torch(path, given, recorded, slack):
    try:
        m = torch.jit.load(path)
    except Exception as e:
        return "load: " + " | ".join(str(e).strip().splitlines()[:12])
    got = save.answer(m, given)
    return "raises: " + " | ".join(got.strip().splitlines()[-3:]) if isinstance(got, str) else \
        save.differs(got, arrays(recorded), slack)


def by_kiln(kiln, path, given, recorded, slack, tmp):
    out = os.path.join(tmp, "out.npz")
    done = subprocess.run([kiln, "run", path, "-i", given, "-o", out], capture_output=True, text=True, errors="replace")
    if done.returncode:
        return "kiln run: " + " | ".join(done.stderr.strip().splitlines()[-3:])
    why = save.differs({k: str(v) if v.dtype.kind == "U" else save.tensor(v) for k, v in arrays(out).items()},
                       arrays(recorded), slack)
    return why and "kiln run: " + why


def judge(a, case, meta, tmp, counts):
    model, path = os.path.join(case, "model.pt"), os.path.join(tmp, "traced.pt")
    every, slack = list(calls(case)), meta.get("atol", 0.0)
    if "error" in meta:
        done = subprocess.run([a.kiln, "trace", model, "-i", every[0][1], "-o", path], capture_output=True, text=True)
        return None if done.returncode == 1 and not os.path.exists(path) else f"status {done.returncode}, an error was expected"
    for i, (n, given, recorded) in enumerate(every):
        others = [e[1] for e in every[1:]] if i == 0 else []
        said, why = trace(a.kiln, model, given, path, others)
        if why:
            return f"call {n}: {why}"
        bad = {w["input"] for w in said["warnings"] if "file" not in w or "another path" in w["what"]}
        counts["warned"] += any(w["kind"] == "warning" for w in said["warnings"])
        for m, g, r in (every if i == 0 else [(n, given, recorded)]):
            if g in bad:
                counts["other way"] += 1
                continue
            counts["runs"] += 1
            why = by_kiln(a.kiln, path, g, r, slack, tmp)
            if not why and not a.no_torch:
                why = by_torch(path, g, r, slack)
                if why and by_torch(model, g, r, slack):
                    counts["PyTorch itself answers otherwise"] += 1
                    why = None
            if why:
                return f"traced on {n}, run on {m}: {why}"
        os.remove(path)
    return None


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--kiln", default="build/kiln")
    p.add_argument("--only", default="")
    p.add_argument("--no-torch", action="store_true")
    p.add_argument("cases", nargs="+")
    a = p.parse_args()
    torch.set_num_threads(1)
    counts, failed, found = {"runs": 0, "other way": 0, "warned": 0, "PyTorch itself answers otherwise": 0}, 0, 0
    for case, meta in cases(a.cases, a.only):
        found += 1
        with tempfile.TemporaryDirectory() as tmp:
            why = judge(a, case, meta, tmp, counts)
        if why:
            failed += 1
            print(f"FAIL {os.path.basename(case)}: {why}", flush=True)
    print(f"{found - failed} passed, {failed} failed;", ", ".join(f"{v} {k}" for k, v in counts.items()))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
