#!/usr/bin/python3
"""tests/oracle/digits.py DIGITS.csv.gz - the digits' net trained on real digits, by its program and by PyTorch

The file is the one that samples/digits/make.py wants.  Both start from the same random parameters and take the same
steps; 297 of the 1797 digits are kept for the test.  `kiln save --params` puts the result into an archive, which
PyTorch loads and tries, too.
"""
import argparse, os, subprocess, sys, tempfile, time
import numpy as np
import torch

ap = argparse.ArgumentParser()
ap.add_argument("digits")
ap.add_argument("--kiln", default="build/kiln")
ap.add_argument("--steps", type=int, default=600)
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


def fresh():
    """The archive's net with parameters that know nothing."""
    torch.manual_seed(5)
    m = torch.jit.load(MODEL)
    for k, p in m.named_parameters():
        p.data.copy_(torch.rand_like(p) * 0.2 - 0.1 + (1.0 if k in ("features.1.weight", "features.4.weight") else 0))
    return m


with tempfile.TemporaryDirectory() as d:
    start, test, new, out, prog, saved = (os.path.join(d, n) for n in ("start.npz", "test.npz", "new.npz", "out.npz", "prog", "new.pt"))
    parameters = {k: p.detach().numpy() for k, p in fresh().named_parameters()}
    np.savez(start, images=images[:KEPT], target=labels[:KEPT], **parameters)
    run(a.kiln, "build", MODEL, "--method", "scores", "--grad", "params", "--loss", "cross_entropy", "--input",
        "images=float32[%dx1x8x8]" % BATCH, "--input", "target=int64[%d]" % BATCH, "-o", prog)
    print("of %d digits, before training: %d" % (len(labels) - KEPT, right(fresh())))
    for how, options in ("sgd", ["--lr", "1e-2", "--momentum", "0.9"]), ("adam", ["--lr", "2e-3"]):
        m = fresh()
        best = torch.optim.SGD(m.parameters(), 1e-2, 0.9) if how == "sgd" else torch.optim.Adam(m.parameters(), 2e-3)
        began = time.time()
        for step in range(a.steps):
            at = step % (KEPT // BATCH) * BATCH
            best.zero_grad()
            torch.nn.functional.cross_entropy(m.scores(x[at:at + BATCH]), y[at:at + BATCH]).backward()
            best.step()
        theirs = time.time() - began
        began = time.time()
        run(prog, "-i", start, "--strict", "--train", how, *options, "--steps", str(a.steps), "--batch", str(BATCH), "-o", new)
        ours = time.time() - began
        run(a.kiln, "save", MODEL, "--params", new, "-o", saved)
        print("%s: PyTorch %d in %.2f s; program %d in %.2f s" % (how, right(m), theirs, right(torch.jit.load(saved)), ours), flush=True)
