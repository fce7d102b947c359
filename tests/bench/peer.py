#!/usr/bin/env python3
"""Times a program of Kiln against PyTorch, interleaved in one run, one thread.

    tests/bench/peer.py PROGRAM MODEL.pt IN.npz [ROUNDS] [net=NAME] [onnx=FILE]

Each round runs PyTorch plain (torch.jit.load), PyTorch optimised (freeze, optimize_for_inference) and the program, ten
times each; the least and the median of all rounds are printed, and the ratio PyTorch / Kiln. Start-up to the first
result is timed for new processes. Needs PyTorch: Debian's, or PyPI's for what is current.

More peers when they are there: net=NAME, the same network of torchvision in eager mode and by torch.compile (it cannot
take a ScriptModule; other weights, same work); onnx=FILE, an export of the model, by ONNX Runtime and by OpenVINO.
"""
import json, os, subprocess, sys, tempfile, time, warnings
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


def more_peers(options, args):
    """name: callable, of those that can be had; what cannot be says why."""
    import torch
    peers = {}

    def tried(name, make):
        try:
            f = make(); f(*args); peers[name] = f
        except Exception as e: print(f"no {name}: {str(e).strip().splitlines()[0][:100] if str(e).strip() else type(e).__name__}")

    def network():
        import torchvision
        make = torchvision.models.get_model_builder(options["net"])
        return make(weights=None).eval()

    def runtime():
        import onnxruntime as ort
        o = ort.SessionOptions(); o.intra_op_num_threads = o.inter_op_num_threads = 1
        s = ort.InferenceSession(options["onnx"], o, providers=["CPUExecutionProvider"])
        return lambda *a: s.run(None, {i.name: x.numpy() for i, x in zip(s.get_inputs(), a)})

    def openvino():
        import openvino
        m = openvino.Core().compile_model(options["onnx"], "CPU", {"INFERENCE_NUM_THREADS": 1})
        return lambda *a: m([x.numpy() for x in a])

    with torch.no_grad():
        if "net" in options:
            tried("eager", network)
            if hasattr(torch, "compile"): tried("compile", lambda: torch.compile(network()))
        if "onnx" in options: tried("onnxruntime", runtime); tried("openvino", openvino)
    return peers


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
    warnings.filterwarnings("ignore")
    prog, model, npz = sys.argv[1:4]
    options = dict(o.split("=", 1) for o in sys.argv[4:] if "=" in o)
    rounds = int(([o for o in sys.argv[4:] if "=" not in o] + ["5"])[0])
    peers = {"plain": load(model, False), "optimised": load(model, True)}
    a = arguments(peers["plain"], npz)
    peers.update(more_peers(options, a))
    for p in peers.values(): times(p, a, 5)
    t = {k: [] for k in [*peers, "kiln"]}
    for _ in range(rounds):
        for k, p in peers.items(): t[k] += times(p, a)
        t["kiln"] += program(prog, npz)
    for k, v in t.items():
        print(f"{k:11s} least {min(v):8.2f} ms   median {sorted(v)[len(v) // 2]:8.2f} ms   least / kiln's {min(v) / min(t['kiln']):.2f}")
    if os.environ.get("PEER_STARTS") == "0": return
    starts = {"plain": [], "optimised": [], "kiln": []}
    for _ in range(3):
        for k, argv in [("plain", [sys.executable, __file__, "--once", model, npz, "0"]), ("optimised", [sys.executable, __file__, "--once", model, npz, "1"]),
                        ("kiln", [prog, "-i", npz, "-o", tempfile.gettempdir() + "/peer.npz"])]:
            s = time.perf_counter(); subprocess.run(argv, check=True, stdout=subprocess.DEVNULL); starts[k].append((time.perf_counter() - s) * 1e3)
    for k, v in starts.items(): print(f"start-up to first result, {k:10s} {min(v):8.1f} ms")
    print(f"start-up ratio optimised/kiln {min(starts['optimised']) / min(starts['kiln']):.1f}")


main()
