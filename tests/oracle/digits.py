#!/usr/bin/python3
"""tests/oracle/digits.py DIGITS.csv.gz - trains the digits' net on real digits, by its program and by PyTorch

The file is the one that samples/digits/make.py needs.  Both start from the same random parameters and take the same steps, in
an order by torch.randperm. 297 of the 1797 digits are kept for the test.  `kiln save --params` puts the trained parameters
into an archive, which PyTorch loads and tests, too.  Prints a line for each seed: the digits read correctly, and the largest
difference of the losses of the first 20 steps.
"""
import argparse, json, os, statistics, subprocess, sys, tempfile, time
import numpy as np
import torch

ap = argparse.ArgumentParser()
ap.add_argument("digits")
ap.add_argument("--kiln", default="build/kiln")
ap.add_argument("--steps", type=int, default=600)
ap.add_argument("--seeds", type=int, default=5)
a = ap.parse_args()
MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../samples/digits/model.pt")
BATCH, KEPT = 50, 1500

torch.set_num_threads(1)
table = np.loadtxt(a.digits, delimiter=",", dtype=np.float32)
images, labels = table[:, :-1].reshape(-1, 1, 8, 8), table[:, -1].astype(np.int64)
x, y = torch.tensor(images), torch.tensor(labels)


def run(*args):
    p = subprocess.run(args, capture_output=True, text=True)
    if p.returncode:
        sys.exit(p.stderr)
    return p.stdout + p.stderr


def right(m):
    with torch.no_grad():
        return int((m.scores(x[KEPT:]).argmax(1) == y[KEPT:]).sum())


def fresh(seed):
    """Returns the archive's net with untrained parameters."""
    torch.manual_seed(seed)
    m = torch.jit.load(MODEL)
    for k, p in m.named_parameters():
        p.data.copy_(torch.rand_like(p) * 0.2 - 0.1 + (1.0 if k in ("features.1.weight", "features.4.weight") else 0))
    return m


def by_torch(m, best, seed):
    losses = []
    torch.manual_seed(seed)
    for step in range(a.steps):
        at = step % (KEPT // BATCH) * BATCH
        if not at:
            order = torch.randperm(KEPT)
        best.zero_grad()
        loss = torch.nn.functional.cross_entropy(m.scores(x[order[at:at + BATCH]]), y[order[at:at + BATCH]])
        loss.backward()
        best.step()
        losses.append(loss.item())
    return losses


HOW = (("sgd", ["--lr", "1e-2", "--momentum", "0.9"], lambda p: torch.optim.SGD(p, 1e-2, 0.9)),
       ("adam", ["--lr", "2e-3"], lambda p: torch.optim.Adam(p, 2e-3)),
       ("adamw", ["--lr", "2e-3", "--weight-decay", "0.05"], lambda p: torch.optim.AdamW(p, 2e-3, weight_decay=0.05)))
with tempfile.TemporaryDirectory() as d:
    start, new, prog, saved, said = (os.path.join(d, n) for n in ("start.npz", "new.npz", "prog", "new.pt", "losses.json"))
    run(a.kiln, "build", MODEL, "--method", "scores", "--grad", "params", "--loss", "cross_entropy", "--input",
        "images=float32[%dx1x8x8]" % BATCH, "--input", "target=int64[%d]" % BATCH, "-o", prog)
    for how, options, optimizer in HOW:
        scores = [], []
        for seed in range(1, a.seeds + 1):
            parameters = {k: p.detach().numpy() for k, p in fresh(seed).named_parameters()}
            np.savez(start, images=images[:KEPT], target=labels[:KEPT], **parameters)
            before, m, times = right(fresh(seed)), fresh(seed), [time.time()]
            want = by_torch(m, optimizer(m.parameters()), seed)
            times.append(time.time())
            run(prog, "-i", start, "--strict", "--train", how, *options, "--steps", str(a.steps), "--batch", str(BATCH), "--shuffle",
                "--seed", str(seed), "--json", said, "-o", new)
            times.append(time.time())
            run(a.kiln, "save", MODEL, "--params", new, "-o", saved)
            with open(said) as f:
                got = json.load(f)["loss"]
            scores[0].append(right(m))
            scores[1].append(right(torch.jit.load(saved)))
            apart = max(abs(p - q) / p for p, q in zip(want[:20], got[:20]))
            print("%s, seed %d: of %d digits %d before; PyTorch %d in %.2f s, program %d in %.2f s; losses of 20 steps within %.1e" % (
                how, seed, len(labels) - KEPT, before, scores[0][-1], times[1] - times[0], scores[1][-1], times[2] - times[1], apart), flush=True)
        print("%s: PyTorch %.1f +- %.1f, program %.1f +- %.1f" % (how, *(f(s) for s in scores for f in (statistics.mean, statistics.pstdev))))
