#!/usr/bin/python3
"""tests/oracle/narrow.py - records tests/program/narrow.npz: inputs, answers in double, and PyTorch's errors

    narrow.py              writes the file, by PyTorch 2.15 or newer
    narrow.py --errors     prints each operator's largest error of PyTorch in units of rounding once

A key is DTYPE.SET.NAME: x, w, b, g are inputs, other names are answers. `!NAME` is PyTorch's error in each row of floats.
"""
import math, os, sys
from typing import Dict
import torch

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program")
sys.path.insert(0, PROGRAM)
import npz

CODES = {torch.bfloat16: "|V2", torch.float16: "<f2", torch.float32: "<f4", torch.float64: "<f8"}
ROWS = [(0, 1e-2), (1e-2, 1), (1, 1e-2), (1, 100), (10, 0.1), (100, 1), (1e3, 10), (1e3, 1e3)]          # offset, scale
LARGE = {torch.float32: [(1e-30, 0), (1e4, 0), (1e10, 0), (1e20, 0), (1e30, 0), (1e25, 1e24), (1e30, 1e29), (0, 1e15), (1e20, 1e20)],
         torch.float16: [(1e3, 0), (6e4, 0), (6e4, 300)], torch.bfloat16: [(1e20, 0), (1e30, 0), (1e30, 1e28), (0, 1e25)]}


class Exact:
    """torch, with normalisations of doubles by their formulas, since PyTorch's own lose constant rows far from 0."""
    def normed(self, x, dims, weight, bias, eps, like):
        d = x - x.amin(dims, True)
        d = d - d.mean(dims, True)
        d = d / (d.square().mean(dims, True) + eps).sqrt()
        d = d if weight is None else d * weight.reshape(like)
        return d if bias is None else d + bias.reshape(like)

    def layer_norm(self, x, shape, weight=None, bias=None):
        return self.normed(x, [-1], weight, bias, 1e-5, [-1])

    def rms_norm(self, x, shape, weight, eps):
        return x / (x.square().mean(-1, True) + eps).sqrt() * weight

    def group_norm(self, x, groups, weight=None, bias=None):
        return self.normed(x, [1, 2], weight, bias, 1e-5, [1, -1, 1])

    def instance_norm(self, x, weight, bias, *rest):
        return self.normed(x, [2], weight, bias, 1e-5, [1, -1, 1])

    def batch_norm(self, x, weight, bias, mean, var, training, momentum, eps, cudnn):
        like = [1, -1] + [1] * (x.ndim - 2)
        if training:
            return self.normed(x, [0] + list(range(2, x.ndim)), weight, bias, eps, like)
        return (x - mean.reshape(like)) / (var.reshape(like) + eps).sqrt() * weight.reshape(like) + bias.reshape(like)

    def __getattr__(self, name):
        for of in (torch, torch._C._nn, torch.nn.functional):
            if hasattr(of, name):
                return getattr(of, name)
        return getattr(torch.linalg, name.replace("linalg_", ""))


class Plain(Exact):
    """torch itself, with the operators that torch.ops.aten has under other names."""
    def __getattribute__(self, name):
        return getattr(torch, name) if not name.startswith("_") and hasattr(torch, name) else object.__getattribute__(self, name)


def answers(names, large, tensors):
    with open(os.path.join(PROGRAM, "narrow.py")) as f:
        space = {"torch": names, "Dict": Dict, "Tensor": torch.Tensor}
        exec(f.read(), space)
    r = {}
    space["norms"](*tensors[:3], r)
    if not large:
        space["sums"](*tensors[:2], r)
        space["samples"](tensors[0], tensors[3], r)
    return r


def sets():
    """Yields (dtype, set, inputs)."""
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        sizes = (2, 16, 33) if dtype == torch.float32 else (2, 5, 8, 15, 16, 33, 64)
        for name, n in [(str(n), n) for n in sizes] + [("large%d" % n, n) for n in (3, 16, 70)]:
            draw = torch.Generator().manual_seed(n)
            rows = LARGE[dtype] if name.startswith("large") else ROWS
            x = torch.stack([o + s * torch.randn(n, generator=draw, dtype=torch.float64) for o, s in rows])
            w, b = (torch.randn(n, generator=draw, dtype=torch.float64) for _ in range(2))
            g = torch.rand(min(n, 5), 2, generator=draw, dtype=torch.float64) * 2.6 - 1.3
            yield dtype, name, [t.to(dtype) for t in (x, w, b, g)]


def record(path):
    arrays = {}
    for dtype, name, given in sets():
        def put(key, t):
            arrays["%s.%s.%s" % (str(dtype)[6:], name, key)] = CODES[t.dtype], tuple(t.shape), t.double().flatten().tolist()
        want = answers(Exact(), name.startswith("large"), [t.double() for t in given])
        got = answers(Plain(), name.startswith("large"), given)
        for key, t in zip("xwbg", given):
            put(key, t)
        for key, t in want.items():
            put(key, t if dtype == torch.float32 else t.float())
            if dtype == torch.float32:
                put("!" + key, (got[key].double() - t).abs().reshape(len(t), -1).amax(1).float())
    npz.write(path, arrays, compressed=True)


def errors():
    most = {}
    for dtype, name, given in sets():
        large = name.startswith("large")
        want, got = answers(Exact(), large, [t.double() for t in given]), answers(Plain(), large, given)
        for key, t in want.items():
            for g, t in zip(got[key].double().reshape(len(t), -1).tolist(), t.reshape(len(t), -1).tolist()):
                top = max(map(abs, t))
                if 0 < top < torch.finfo(dtype).max:
                    off = max(abs(a - b) if a == a else math.inf for a, b in zip(g, t)) / npz.unit(str(dtype)[6:], top)
                    most[dtype, key] = max(most.get((dtype, key), 0), off)
    for (dtype, key), off in most.items():
        print("%-10s %-20s %10.3g" % (str(dtype)[6:], key, off))


if __name__ == "__main__":
    torch.set_num_threads(1)
    errors() if sys.argv[1:] == ["--errors"] else record(os.path.join(PROGRAM, "narrow.npz"))
