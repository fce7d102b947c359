#!/usr/bin/env python3
"""Times a program of Kiln against PyTorch, interleaved in one run, one thread.

    tests/bench/peer.py PROGRAM MODEL.pt IN.npz [ROUNDS]

Each round runs PyTorch plain (torch.jit.load), PyTorch optimised (freeze, optimize_for_inference) and the program, ten
times each; the least and the median of all rounds are printed, and the ratio PyTorch / Kiln. Start-up to the first
result is timed for new processes. Needs Debian's python3-torch.
"""
import json, os, subprocess, sys, tempfile, time
import numpy as np


def load(path, optimised):
    import torch
    torch.set_num_threads(1)
    m = torch.jit.load(path).eval()
    return torch.jit.optimize_for_inference(torch.jit.freeze(m)) if optimised else m


def arguments(m, npz):
    import torch
    z = np.load(npz)
    names = [a.name for a in m.forward.schema.arguments if a.name in z.files]
    return [torch.from_numpy(z[n]) for n in names]


def times(m, args, n=10):
    import torch
    out = []
    with torch.no_grad():
        for _ in range(n):
            t = time.perf_counter(); m(*args); out.append((time.perf_counter() - t) * 1e3)
    return out


def program(prog, npz, n=10):
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        subprocess.run([prog, "-i", npz, "--threads", "1", f"--bench={n}", "--json", f.name], check=True, stdout=subprocess.DEVNULL)
        j = json.load(open(f.name))
    return [j["min_ms"], j["median_ms"]]


def main():
    if sys.argv[1] == "--once":                       # a new process: start-up to the first result
        m = load(sys.argv[2], sys.argv[4] == "1")
        import torch
        with torch.no_grad(): m(*arguments(m, sys.argv[3]))
        return
    prog, model, npz = sys.argv[1:4]
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    plain, best = load(model, False), load(model, True)
    a = arguments(plain, npz)
    times(plain, a, 3); times(best, a, 5)
    t = {"plain": [], "optimised": [], "kiln": []}
    for _ in range(rounds):
        t["plain"] += times(plain, a); t["optimised"] += times(best, a); t["kiln"] += program(prog, npz)
    for k, v in t.items(): print(f"{k:10s} least {min(v):8.2f} ms   median {sorted(v)[len(v) // 2]:8.2f} ms")
    print(f"ratio of the least: plain/kiln {min(t['plain']) / min(t['kiln']):.2f}, optimised/kiln {min(t['optimised']) / min(t['kiln']):.2f}")
    starts = {"plain": [], "optimised": [], "kiln": []}
    for _ in range(3):
        for k, argv in [("plain", [sys.executable, __file__, "--once", model, npz, "0"]), ("optimised", [sys.executable, __file__, "--once", model, npz, "1"]),
                        ("kiln", [prog, "-i", npz, "-o", tempfile.gettempdir() + "/peer.npz"])]:
            s = time.perf_counter(); subprocess.run(argv, check=True, stdout=subprocess.DEVNULL); starts[k].append((time.perf_counter() - s) * 1e3)
    for k, v in starts.items(): print(f"start-up to first result, {k:10s} {min(v):8.1f} ms")
    print(f"start-up ratio optimised/kiln {min(starts['optimised']) / min(starts['kiln']):.1f}")


main()
