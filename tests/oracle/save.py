#!/usr/bin/env python3
"""Checks archives of `kiln save` in PyTorch (Debian: python3-torch): PyTorch must load and run them.

    tests/oracle/save.py [--kiln build/kiln] [-O 0,2] [--only TEXT] CASES...

A case is a folder with model.pt, N.in.npz, N.out.npz and perhaps meta.json ("error": expected text, "atol"). Each model
is saved at each level, loaded by torch.jit.load and run on every input. The answers are compared with the recorded ones.
If the original does not run here, since another PyTorch recorded it, the case is skipped and counted.
"""
import argparse, os, subprocess, sys, tempfile, warnings
import numpy as np
import torch

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from cases import arrays, calls, cases

try:
    import torchvision                   # registers its operators
except ImportError:
    pass
warnings.filterwarnings("ignore")
TOLERANCE = {torch.float16: (1e-2, 1e-3), torch.bfloat16: (4e-2, 1e-2), torch.float32: (2e-4, 2e-5), torch.float64: (1e-6, 1e-8),
             torch.complex64: (2e-4, 2e-5), torch.complex128: (1e-6, 1e-8)}


def tensor(a, strides=None):
    if a.dtype == np.dtype("V2"):
        t = torch.from_numpy(a.view(np.int16).copy()).view(torch.bfloat16)
    else:
        t = torch.from_numpy(np.array(a))
    return t if strides is None else strided(t, [int(x) for x in strides])


def strided(t, strides):
    """Makes strides as rt/args.c does: for a stride of 0 the first element counts. The result is no view that autograd could know
    of."""
    dims = [1 if s == 0 and d else d for d, s in zip(t.shape, strides)]
    own = torch.empty_strided(dims, strides, dtype=t.dtype)
    own.copy_(t[tuple(slice(0, d) for d in dims)])
    return torch.empty(0, dtype=t.dtype).set_(own.storage(), 0, t.shape, strides)


def parts(arrays, key):
    """Returns the next words of the keys below key, in the order of the file."""
    seen = []
    for k in arrays:
        if k.startswith(key + "."):
            word = k[len(key) + 1:].split(".")[0]
            if word not in seen:
                seen.append(word)
    return seen


def value(t, key, arrays):
    """Returns the argument of that type, or raises KeyError."""
    kind = t.kind()
    if kind == "OptionalType":
        return value(t.getElementType(), key, arrays) if key in arrays or parts(arrays, key) else None
    if kind == "TensorType":
        return tensor(arrays[key], arrays.get(key + ".strides"))
    if kind in ("IntType", "FloatType", "BoolType", "ComplexType", "StringType", "NumberType"):
        return arrays[key].item()
    if kind == "ListType":
        if key in arrays:
            return [] if arrays[key].shape == (0,) and t.getElementType().kind() == "TensorType" else arrays[key].tolist()
        found = [p for p in parts(arrays, key)]
        if not found:
            raise KeyError(key)
        return [value(t.getElementType(), f"{key}.{p}", arrays) for p in found]
    if kind == "TupleType":
        return tuple(value(e, f"{key}.{i}", arrays) for i, e in enumerate(t.elements()))
    if kind == "DictType":
        if key in arrays:
            return {}
        convert = {"IntType": int, "FloatType": float, "BoolType": "True".__eq__}.get(t.getKeyType().kind(), str)
        return {convert(p): value(t.getValueType(), f"{key}.{p}", arrays) for p in parts(arrays, key)}
    raise NotImplementedError(f"an argument of {kind}")


def arguments(m, arrays):
    args, words = [], {}
    for a in list(m.forward.schema.arguments)[1:]:
        if a.name in arrays or parts(arrays, a.name) and parts(arrays, a.name) != ["strides"]:
            words[a.name] = value(a.type, a.name, arrays)
        elif not a.has_default_value():
            words[a.name] = value(a.type, a.name, arrays)
    return args, words


def flatten(v, key, out):
    if isinstance(v, torch.Tensor):
        out[key] = v.detach().clone()           # the next call may write to it
    elif isinstance(v, list) and v and all(type(x) in (int, float, bool) for x in v):
        out[key] = torch.tensor(v, dtype=torch.float64 if type(v[0]) is float else None)
    elif isinstance(v, (list, tuple)):
        if not v:
            out[key] = torch.empty(0)
        for i, x in enumerate(v):
            flatten(x, f"{key}.{i}", out)
    elif isinstance(v, dict):
        if not v:
            out[key] = torch.empty(0)
        for k, x in v.items():
            flatten(x, f"{key}.{k.item() if isinstance(k, torch.Tensor) else k}", out)
    elif v is None:
        pass
    elif isinstance(v, float):
        out[key] = torch.tensor(v, dtype=torch.float64)
    elif isinstance(v, (bool, int, complex)):
        out[key] = torch.tensor(v, dtype=torch.complex128 if isinstance(v, complex) else None)
    else:
        out[key] = str(v)


def differs(got, want, slack):
    for key in sorted(set(got) | set(want)):
        if key not in got or key not in want:
            return f"{'no' if key not in got else 'unexpected'} value '{key}'"
        g, w = got[key], want[key]
        if isinstance(g, str) or w.dtype.kind == "U":
            if isinstance(g, str) and w.dtype.kind == "U" and g != str(w):
                return f"'{key}' is {g!r}, expected {w}"
            continue
        w = tensor(w)
        if w.numel() == 0 and w.dim() == 1:
            continue
        g = g.dequantize() if g.is_quantized else g
        if g.shape != w.shape or g.dtype != w.dtype:
            return f"'{key}' is {g.dtype}{list(g.shape)}, expected {w.dtype}{list(w.shape)}"
        if g.dtype not in TOLERANCE:
            if not torch.equal(g.cpu(), w):
                return f"'{key}' differs"
            continue
        rtol, atol = TOLERANCE[g.dtype]
        wide = torch.complex128 if g.dtype.is_complex else torch.float64
        if not torch.allclose(g.to(wide), w.to(wide), rtol=rtol, atol=max(atol, slack), equal_nan=True):
            return f"'{key}' differs, worst by {(g.to(wide) - w.to(wide)).abs().max().item():.3g}"
    return None


def answer(m, path):
    """Returns the results by key, or the text of the error."""
    args, words = arguments(m, arrays(path))
    out = {}
    torch.manual_seed(67280421310721)
    with torch.no_grad():
        try:
            flatten(m(*args, **words), "out", out)
        except Exception as e:
            return str(e)
    return out


def run(path, case, meta):
    """Returns the reason why the archive's answers, each of a fresh instance, are not the recorded ones. None if they are."""
    for n, given, recorded in calls(case):
        try:
            m = torch.jit.load(path)
        except Exception as e:
            return "load: " + " | ".join(str(e).strip().splitlines()[:12])
        got = answer(m, given)
        if "error" in meta:
            if not isinstance(got, str):
                return f"call {n}: ran, but an error was expected"
            continue
        if isinstance(got, str):
            return f"call {n}: " + " | ".join(got.strip().splitlines()[-3:])
        why = differs(got, arrays(recorded), meta.get("atol", 0.0))
        if why:
            return f"call {n}: {why}"
    return None


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--kiln", default="build/kiln")
    p.add_argument("-O", default="0,2")
    p.add_argument("--only", default="")
    p.add_argument("cases", nargs="+")
    a = p.parse_args()
    torch.set_num_threads(1)
    levels, found, failed, skipped = a.O.split(","), 0, 0, 0
    with tempfile.TemporaryDirectory() as tmp:
        for case, meta in cases(a.cases, a.only):
            found += 1
            for level in levels:
                out = os.path.join(tmp, "saved.pt")
                done = subprocess.run([a.kiln, "save", "-O" + level, os.path.join(case, "model.pt"), "-o", out],
                                      capture_output=True, text=True)
                why = "save: " + done.stderr.strip()[-300:] if done.returncode else run(out, case, meta)
                itself = why and not done.returncode and run(os.path.join(case, "model.pt"), case, meta)
                if itself:
                    skipped += 1
                    print(f"SKIP -O{level} {os.path.basename(case)}: {itself} (saved: {why})", flush=True)
                elif why:
                    failed += 1
                    print(f"FAIL -O{level} {os.path.basename(case)}: {why}", flush=True)
    print(f"{found * len(levels) - failed - skipped} passed, {failed} failed, {skipped} skipped: PyTorch here answers otherwise itself")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
