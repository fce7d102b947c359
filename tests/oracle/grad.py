#!/usr/bin/python3
"""tests/oracle/grad.py CASE... - gradients of recorded models by PyTorch's autograd and by Kiln

A case is a folder with model.pt and N.in.npz (`zoo`).  Compares the gradients of the sum of all floating outputs by the
parameters (and by the floating inputs, with --inputs) of `kiln run` or, with --build, of a program.
"""
import argparse, os, subprocess, sys, tempfile
import numpy as np
import torch

ap = argparse.ArgumentParser()
ap.add_argument("cases", nargs="+")
ap.add_argument("--kiln", default="build/kiln")
ap.add_argument("--build", action="store_true")
ap.add_argument("--inputs", action="store_true", help="by inputs, too")
ap.add_argument("--keep", help="where a case's files go")
ap.add_argument("--timeout", type=int, default=600, help="seconds for one command")
ap.add_argument("-v", action="store_true")
a = ap.parse_args()


def tensor(array, strides=None):
    if array.dtype.kind == "V":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    t = torch.from_numpy(array.copy())
    return t.as_strided(t.shape, [int(s) for s in strides]) if strides is not None else t


def value(keys, arrays, key, kind):
    """Returns the argument with this key, of TorchScript type kind, or None."""
    name = kind.kind()
    if name == "OptionalType":
        return value(keys, arrays, key, kind.getElementType())
    if name == "TensorType":
        return tensor(arrays[key], arrays.get(key + ".strides")) if key in arrays else None
    if name == "TupleType":
        parts = [value(keys, arrays, "%s.%d" % (key, i), t) for i, t in enumerate(kind.elements())]
        return None if all(p is None for p in parts) else tuple(parts)
    if name == "ListType":
        element, out = kind.getElementType(), []
        if key in arrays:
            return arrays[key].tolist()
        while True:
            v = value(keys, arrays, "%s.%d" % (key, len(out)), element)
            if v is None:
                return out if out else None
            out.append(v)
    if name == "DictType":
        out = {}
        for k in keys:
            if k.startswith(key + ".") and k.count(".") == key.count(".") + 1:
                out[k[len(key) + 1:]] = value(keys, arrays, k, kind.getValueType())
        return out
    return arrays[key].item() if key in arrays else None


def leaves(v):
    if isinstance(v, torch.Tensor):
        return [v] if v.is_floating_point() and v.requires_grad else []
    if isinstance(v, dict):
        return [t for x in v.values() for t in leaves(x)]
    if isinstance(v, (list, tuple)):
        return [t for x in v for t in leaves(x)]
    return []


def by_torch(model, arrays):
    module = torch.jit.load(model)
    args = {}
    for arg in module.forward.schema.arguments[1:]:
        v = value(list(arrays), arrays, arg.name, arg.type)
        if v is not None:
            args[arg.name] = v
    given = {k: v for k, v in args.items() if isinstance(v, torch.Tensor) and v.is_floating_point()}
    if a.inputs:
        for v in given.values():
            v.requires_grad_(True)
    torch.manual_seed(0)
    with torch.jit.optimized_execution(False):
        outs = leaves(module(**args))
    if not outs:
        return None
    sum(o.sum() for o in outs).backward()
    grads = {k: p.grad for k, p in module.named_parameters() if p.grad is not None}
    if a.inputs:
        grads.update({k: v.grad for k, v in given.items() if v.grad is not None})
    return grads, (list(given) if a.inputs else [])


def run(args):
    try:
        p = subprocess.run(args, capture_output=True, text=True, timeout=a.timeout)
    except subprocess.TimeoutExpired:
        return -1, ["still running after %d s" % a.timeout]
    return p.returncode, (p.stderr or p.stdout).strip().splitlines()


def by_kiln(model, infile, names, folder):
    out, grad = os.path.join(folder, "out.npz"), os.path.join(folder, "grad.npz")
    # requested gradients: by all trained parameters, and inputs
    want = ",".join(names)
    if a.build:
        prog = os.path.join(folder, "prog")
        rc, said = run([a.kiln, "build", model, "-i", infile, "--grad", want, "-o", prog])
        if rc:
            return rc, said, None
        rc, said = run([prog, "-i", infile, "-o", out, "--grad-out", grad, "--seed", "0", "--strict"])
    else:
        rc, said = run([a.kiln, "run", model, "-i", infile, "-o", out, "--grad", want, "--grad-out", grad, "--seed", "0"])
    return rc, said, None if rc else dict(np.load(grad))


def differ(want, got):
    want = {k: w.to_dense() if w.is_sparse else w for k, w in want.items()}
    most = max([1.] + [float(w.abs().max()) for w in want.values() if w.numel()])
    for k, w in want.items():
        if k not in got:
            if w.abs().max() == 0 if w.numel() else True:
                continue
            return "%s is missing" % k
        g = tensor(got[k])
        if g.shape != w.shape or g.dtype != w.dtype:
            return "%s: %s %s instead of %s %s" % (k, g.dtype, list(g.shape), w.dtype, list(w.shape))
        w, g = w.detach().double(), g.double()
        scale = max(float(w.abs().max()) if w.numel() else 0, 1e-3 * most)
        worst = float((w - g).abs().max()) / scale if w.numel() else 0
        if not worst < 2e-3 and not torch.allclose(w, g, rtol=1e-3, atol=1e-5, equal_nan=True):
            return "%s: off by %g of %g" % (k, worst * scale, scale)
    for k in got:
        if k not in want and k != "loss" and got[k].any():
            return "%s is more" % k
    return None


counts = {"same": 0, "differs": 0, "failed": 0, "nothing": 0}
for case in a.cases:
    model, infile = os.path.join(case, "model.pt"), os.path.join(case, "0.in.npz")
    if not os.path.exists(infile):
        infile = os.path.join(case, "1.in.npz")
    why, state = "", "same"
    try:
        want = by_torch(model, dict(np.load(infile)))
    except Exception as e:
        want, why = None, " (PyTorch: %s)" % str(e).strip().splitlines()[-1][:90]
    if not want or not want[0]:
        state = "nothing"
    else:
        with tempfile.TemporaryDirectory() as folder:
            names = (["params"] if any(k not in want[1] for k in want[0]) else []) + want[1]
            rc, said, got = by_kiln(model, infile, names, a.keep or folder)
        if rc:
            state, why = "failed", ": %d %s" % (rc, " | ".join(said[:6])[:400])
        else:
            why = differ(want[0], got)
            state, why = ("differs", ": " + why) if why else ("same", " (%d)" % len(want[0]))
    counts[state] += 1
    if a.v or state in ("differs", "failed"):
        print("%s: %s%s" % (os.path.basename(case.rstrip("/")), state, why), flush=True)
print(", ".join("%d %s" % (n, s) for s, n in counts.items()))
sys.exit(counts["differs"] + counts["failed"] > 0)
