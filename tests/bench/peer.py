#!/usr/bin/env python3
"""Compares the time of a program of Kiln with alternatives that users may choose, interleaved in one run.

    tests/bench/peer.py PROGRAM MODEL.pt IN.npz [ROUNDS] [threads=N] [onnx=FILE] [net=NAME [make=FILE.py]]
                        [PEER=PYTHON]... [only=PEER,...] [realtime=1]
    tests/bench/peer.py --all KILN FOLDER... [rounds=N] [json=FILE] [threads=N] [PEER=PYTHON]... [only=PEER,...] [realtime=1]

Every peer is a process of its own that loads the model once. In each round all peers and the program run ten times, one after
the other. The smallest time and the median over all rounds are printed, and the smallest over Kiln's. The time from start-up
to the first result is measured with new processes (not with PEER_STARTS=0).

Peers: plain (torch.jit.load), optimised (freeze, optimize_for_inference); with onnx=, an export of the model, onnxruntime and
openvino; with net=, a network of torchvision or of build(NAME) in make= (other weights, same work), eager and compile
(torch.compile). Each runs in the Python that PEER=PYTHON names, else in this one: compile=venv/bin/python. What cannot be had
says why.

With --all each folder has model.pt, 1.in.npz and model.onnx, as ../shared/models/wide.py makes them: it is built, and is a row of
a table (least times in ms, the best peer's over Kiln's), slowest last, under which is the geometric mean.
"""
import json, math, os, subprocess, sys, tempfile, time, warnings


def torch_inputs(names, npz):
    import numpy as np, torch
    z = np.load(npz)
    return [torch.from_numpy(z[n]) for n in names if n in z.files]


def made(options):
    """Makes a network by name, with random weights."""
    if "make" in options:
        sys.path.insert(0, os.path.dirname(os.path.abspath(options["make"])))
        return __import__(os.path.splitext(os.path.basename(options["make"]))[0]).build(options["net"])[0].eval()
    import torchvision
    return torchvision.models.get_model_builder(options["net"])(weights=None).eval()


def torch_peer(kind, model, npz, options, threads):
    import torch
    torch.set_num_threads(threads)
    if kind in ("plain", "optimised"):
        m = torch.jit.load(model).eval()
        args = torch_inputs([a.name for a in m.forward.schema.arguments], npz)
        if kind == "optimised": m = torch.jit.optimize_for_inference(torch.jit.freeze(m))
    else:
        m = made(options)
        args = torch_inputs(m.forward.__code__.co_varnames, npz)
        if kind == "compile": m = torch.compile(m)
    return lambda: m(*args)


def onnx_inputs(names, npz):
    """Returns the inputs by name, or by position if an export has other names."""
    import numpy as np
    z = np.load(npz)
    return [z[n] if n in z.files else z[z.files[i]] for i, n in enumerate(names)]


def onnxruntime_peer(kind, model, npz, options, threads):
    import onnxruntime as ort
    o = ort.SessionOptions(); o.intra_op_num_threads = threads; o.inter_op_num_threads = 1
    s = ort.InferenceSession(options["onnx"], o, providers=["CPUExecutionProvider"])
    feed = dict(zip([i.name for i in s.get_inputs()], onnx_inputs([i.name for i in s.get_inputs()], npz)))
    return lambda: s.run(None, feed)


def openvino_peer(kind, model, npz, options, threads):
    import openvino
    m = openvino.Core().compile_model(options["onnx"], "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
    feed = onnx_inputs([i.any_name for i in m.inputs], npz)
    return lambda: m(feed)


PEERS = {"plain": torch_peer, "optimised": torch_peer, "eager": torch_peer, "compile": torch_peer,
         "onnxruntime": onnxruntime_peer, "openvino": openvino_peer}


def real_time(options):
    """Gives every thread of this process real-time priority, for machines with other work."""
    if "realtime" not in options: return
    for thread in os.listdir("/proc/self/task"): os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(1))


def worker(kind, model, npz, options):
    """Loads the model, runs it once and reports that. Then runs it as often as each line of its input says, and prints
    milliseconds."""
    warnings.filterwarnings("ignore")
    import contextlib
    try: import torch; context = torch.no_grad()
    except ImportError: context = contextlib.nullcontext()
    with context:
        try:
            f = PEERS[kind](kind, model, npz, options, int(options.get("threads", 1)))
            for _ in range(5): f()
        except Exception as e:
            print((str(e).strip().splitlines() or [type(e).__name__])[0][:100], flush=True)
            return
        print("ready", flush=True)
        real_time(options)
        for line in sys.stdin:
            out = []
            for _ in range(int(line)):
                t = time.perf_counter(); f(); out.append((time.perf_counter() - t) * 1e3)
            print(json.dumps(out), flush=True)


def start(kind, argv, options):
    p = subprocess.Popen([options.get(kind, sys.executable), os.path.abspath(__file__), "--worker", kind, *argv[1:]],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    said = p.stdout.readline().strip()
    if said == "ready": return p
    print(f"no {kind}: {said or 'it does not start'}")
    return None


def program(prog, npz, options, n=10):
    threads = options.get("threads", 1)
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        subprocess.run([prog, "-i", npz, "--threads", str(threads), f"--bench={n}", "--json", f.name], check=True, stdout=subprocess.DEVNULL,
                       preexec_fn=lambda: real_time(options))
        j = json.load(open(f.name))
    return [j["min_ms"], j["median_ms"]]


def starts(prog, model, npz, peers, argv, options):
    """Times new processes from their start to the first result."""
    run = {k: [options.get(k, sys.executable), os.path.abspath(__file__), "--once", k, *argv[1:]] for k in ("plain", "optimised") if k in peers}
    run["kiln"] = [prog, "-i", npz, "-o", tempfile.gettempdir() + "/peer.npz"]
    for k, command in run.items():
        t = []
        for _ in range(3):
            s = time.perf_counter(); subprocess.run(command, check=True, stdout=subprocess.DEVNULL); t.append((time.perf_counter() - s) * 1e3)
        print(f"start-up to first result, {k:10s} {min(t):8.1f} ms")


def measure(prog, model, npz, kinds, rounds, argv, options):
    """Times each peer that starts, and Kiln, in turn."""
    peers = {k: p for k in kinds if (p := start(k, argv, options))}
    t = {k: [] for k in [*peers, "kiln"]}
    for _ in range(rounds):
        for k, p in peers.items():
            p.stdin.write("10\n"); p.stdin.flush()
            t[k] += json.loads(p.stdout.readline())
            time.sleep(.05)    # a pool's threads spin for a while after their work, on the cores that the next peer needs
        t["kiln"] += program(prog, npz, options)
    for p in peers.values(): p.stdin.close(); p.wait()
    return t


ALL = ["optimised", "onnxruntime", "openvino"]


def folder(kiln, path, options):
    """Returns the least time of each peer by name."""
    model, npz = os.path.join(path, "model.pt"), os.path.join(path, "1.in.npz")
    options = dict(options, onnx=os.path.join(path, "model.onnx"))
    kinds = [k for k in ALL if "only" not in options or k in options["only"].split(",")]
    kinds = [k for k in kinds if k == "optimised" or os.path.exists(options["onnx"])]
    with tempfile.TemporaryDirectory() as d:
        prog = os.path.join(d, "program")
        subprocess.run([kiln, "build", model, "-i", npz, "--no-dynamic", "-o", prog], check=True, capture_output=True)
        argv = [prog, model, npz] + [f"{k}={v}" for k, v in options.items()]
        t = measure(prog, model, npz, kinds, int(options.get("rounds", 3)), argv, options)
    return {k: min(v) for k, v in t.items()}


def table(kiln, folders, options):
    rows = {}
    for path in folders:
        name = os.path.basename(path.rstrip("/"))
        try: t = folder(kiln, path, options)
        except subprocess.CalledProcessError as e:
            print(f"{name}: {(e.stderr or b'').decode().strip().splitlines()[-1:]}", flush=True)
            continue
        if len(t) > 1: rows[name] = dict(t, ratio=min(v for k, v in t.items() if k != "kiln") / t["kiln"])
        print(name, json.dumps(rows.get(name, t)), flush=True)
    print("\n| network | Kiln | " + " | ".join(ALL) + " | best / Kiln |\n| --- |" + " ---: |" * (len(ALL) + 2))
    for name, t in sorted(rows.items(), key=lambda r: -r[1]["ratio"]):
        print(f"| {name} | {t['kiln']:.3f} | " + " | ".join(f"{t[k]:.3f}" if k in t else "" for k in ALL) + f" | {t['ratio']:.2f} |")
    ratios = [t["ratio"] for t in rows.values()]
    if ratios:
        print(f"\n{len(ratios)} networks, geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, "
              f"{sum(r < .9 for r in ratios)} below 0.9, {sum(r < .8 for r in ratios)} below 0.8")
    if "json" in options:
        with open(options["json"], "w") as f: json.dump(rows, f, indent=1)


def main():
    argv = sys.argv[1:]
    if len(argv) < 3: sys.exit(__doc__)
    options = dict(o.split("=", 1) for o in argv if "=" in o)
    if argv[0] == "--worker": return worker(argv[1], argv[2], argv[3], options)
    if argv[0] == "--once":
        import torch
        with torch.no_grad(): torch_peer(argv[1], argv[2], argv[3], options, 1)()
        return
    if argv[0] == "--all": return table(argv[1], [a for a in argv[2:] if "=" not in a], options)
    prog, model, npz = argv[:3]
    rounds = int(([o for o in argv[3:] if "=" not in o] + ["5"])[0])
    kinds = ["plain", "optimised"] + (["onnxruntime", "openvino"] if "onnx" in options else []) + (["eager", "compile"] if "net" in options else [])
    kinds = [k for k in kinds if "only" not in options or k in options["only"].split(",")]
    t = measure(prog, model, npz, kinds, rounds, argv, options)
    for k, v in t.items():
        print(f"{k:11s} least {min(v):8.2f} ms   median {sorted(v)[len(v) // 2]:8.2f} ms   least / kiln's {min(v) / min(t['kiln']):.2f}")
    if os.environ.get("PEER_STARTS") != "0": starts(prog, model, npz, t, argv, options)


main()
