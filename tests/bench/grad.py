#!/usr/bin/python3
"""Compares the time of a program of gradients with PyTorch, forward and backward, on one thread, interleaved in one run.

usage: grad.py PROGRAM MODEL.pt IN.npz [LOSS [ROUNDS [METHOD]]]

PROGRAM is made by `kiln build MODEL.pt -i IN.npz --grad params [--loss LOSS] -o PROGRAM`.  PyTorch runs the archive as it
was saved, with the loss or the sum of all floating results, and backward.  Prints the smallest time and the median of all
rounds in ms.  Both run at real-time priority if that is permitted, since the machine may have other work.
"""
import json, os, subprocess, sys, tempfile, time


def real_time():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pass


def worker(model, npz, loss, method):
    import numpy as np, torch
    torch.set_num_threads(1)
    m = torch.jit.load(model)
    f = getattr(m, method)
    z = np.load(npz)
    args = [torch.from_numpy(z[a.name]) for a in f.schema.arguments[1:] if a.name in z.files]
    target = torch.from_numpy(z["target"]) if loss else None
    named = {"cross_entropy": torch.nn.functional.cross_entropy, "mse": torch.nn.functional.mse_loss, "nll": torch.nn.functional.nll_loss}
    params = [p for p in m.parameters() if p.requires_grad]

    def leaves(v):
        if isinstance(v, torch.Tensor):
            return [v] if v.requires_grad else []
        return [t for x in v for t in leaves(x)]

    def step():
        out = f(*args)
        total = named[loss](out, target) if loss else sum(o.sum() for o in leaves(out))
        torch.autograd.grad(total, params, allow_unused=True)
    for _ in range(3):
        step()
    real_time()
    print("ready", flush=True)
    for line in sys.stdin:
        took = []
        for _ in range(int(line)):
            began = time.perf_counter()
            step()
            took.append((time.perf_counter() - began) * 1e3)
        print(json.dumps(took), flush=True)


def program(prog, npz, n):
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        subprocess.run([prog, "-i", npz, "--threads", "1", "--bench=%d" % n, "--json", f.name], check=True,
                       stdout=subprocess.DEVNULL, preexec_fn=real_time)
        return json.load(open(f.name))


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    prog, model, npz = sys.argv[1:4]
    loss = sys.argv[4] if len(sys.argv) > 4 and sys.argv[4] != "-" else ""
    rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 5
    method = sys.argv[6] if len(sys.argv) > 6 else "forward"
    peer = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--worker", model, npz, loss, method], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, env=dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1"))
    if peer.stdout.readline().strip() != "ready":
        sys.exit("PyTorch does not run it")
    ours, middle, theirs = [], [], []
    for _ in range(rounds):
        j = program(os.path.abspath(prog), npz, 5)
        ours.append(j["min_ms"])
        middle.append(j["median_ms"])
        print(5, file=peer.stdin, flush=True)
        theirs += json.loads(peer.stdout.readline())
    peer.stdin.close()
    peer.wait()
    median = lambda v: sorted(v)[len(v) // 2]
    print("%s: Kiln %.2f ms (median %.2f), PyTorch %.2f ms (%.2f): PyTorch / Kiln %.2f" %
          (os.path.basename(os.path.dirname(os.path.abspath(model))), min(ours), median(middle), min(theirs), median(theirs), min(theirs) / min(ours)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:6])
    else:
        main()
