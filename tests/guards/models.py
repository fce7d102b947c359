"""The models of guards_test.py: writes their archives, inputs, and what PyTorch 1.13 gives and prints.

usage: models.py        (in this folder, with torch)

NAME.pt, NAME.INPUT.npz; NAME.RUN.npz: results of the calls of a run (one instance), keys "0.out", "1.out", ...;
NAME.RUN.txt: what was printed on the way.
"""
import os, sys, tempfile
from typing import Any, Dict, List
import numpy as np
import torch
from torch import Tensor, nn


class Sizes(nn.Module):
    """Symbols: x (s0, 4), y (s0)."""
    def forward(self, x: Tensor, y: Tensor, k: int):
        z = torch.relu(x) * 2 + 1
        return z.sum(0), z + x.size(0), y * k, (x.transpose(0, 1) * y.sum()).contiguous(), k + x.size(1)


class Loop(nn.Module):
    """A guard in the middle of a loop; effects before it."""
    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self, x: Tensor, limit: float):
        total = torch.zeros(2)
        seen: List[int] = []
        trip = 0
        while float(total.sum()) < limit:
            print("trip", trip)
            self.n += 1
            seen.append(trip)
            big = torch.nonzero(x > trip)
            total = total + big.to(torch.float32).sum(0) + 1
            seen.append(big.size(0))
            trip += 1
        return total, seen, self.n


class View(nn.Module):
    """A view of a planned tensor, written on the other side of a guard."""
    def forward(self, x: Tensor):
        y = x * 2
        v = y[1:]
        t = y.t()
        big = torch.nonzero(x > 0)
        v.add_(10)
        t[0, 0] = 7
        return y, v.sum(), t * 1, big


class Arena(nn.Module):
    """The same where nothing of it is returned."""
    def forward(self, x: Tensor):
        y = x * 2
        v = y[1:]
        t = y.t()
        big = torch.nonzero(x > 0)
        v.add_(10)
        t[0, 0] = 7
        return y + 0, v.sum(), t * 1, big


class Same(nn.Module):
    """One list by several ways."""
    def forward(self, x: Tensor, k: int):
        a = [x, x + 1]
        b = a
        if k > 1:
            b = [x]
        c = [a]
        c[0].append(x * 2)
        big = torch.nonzero(x > 0)
        b.append(big.to(x.dtype))
        c[0].append(x)
        return len(a), len(c[0]), len(b), a[2] + 0, torch.cat([t.flatten() for t in a])


class Half(nn.Module):
    """A list, and a dict in a tuple, half built."""
    def forward(self, x: Tensor):
        parts = [x + 1, x - 1]
        names: Dict[str, Tensor] = {"a": x * 3}
        big = torch.nonzero(x > 0)
        parts.append(big.to(x.dtype))
        names["b"] = parts[0] + names["a"]
        return torch.cat([p.flatten() for p in parts]), names, len(parts)


class Fused(nn.Module):
    """What only the exit needs was fused away."""
    def forward(self, x: Tensor):
        a = torch.relu(x) * 2
        b = a + 1
        big = torch.masked_select(x, x > 0)
        return torch.tanh(b) - x, big * 2


def picked(x: Tensor):
    big = torch.nonzero(x > 0)
    print("picked", big.size(0))
    return big * 2


class Fork(nn.Module):
    def forward(self, x: Tensor):
        f = torch.jit.fork(picked, x)
        y = x * 2
        g = torch.jit.fork(picked, y - 1)
        return torch.jit.wait(f), y, torch.jit.wait(g)


class State(nn.Module):
    """Attributes and buffers across calls and specializations."""
    log: List[int]

    def __init__(self):
        super().__init__()
        self.n = 0
        self.log = []
        self.register_buffer("sum", torch.zeros(3))
        self.register_buffer("last", torch.zeros(1))

    def forward(self, x: Tensor):
        self.n += 1
        self.sum.add_(x.sum(0))
        self.log.append(x.size(0))
        big = torch.unique(x)
        self.last = big
        self.sum[0] = self.n
        return self.sum * 1, self.n, len(self.log), self.last + 0


class Written(nn.Module):
    """Arguments that are written, and a view of one that is returned."""
    def forward(self, x: Tensor, h: List[Tensor]):
        x.mul_(2)
        h[0].add_(x)
        big = torch.nonzero(x > 0)
        x[0] = 5
        h.append(x)
        return x, h[0] + h[1], big, x[1:]


@torch.jit.script
class Scope:
    def __init__(self, name: str):
        self.name = name

    def __enter__(self):
        print("enter", self.name)
        return 3

    def __exit__(self, type: Any, value: Any, trace: Any):
        print("exit", self.name)


class With(nn.Module):
    """A guard, and an error, inside of with."""
    def forward(self, x: Tensor, index: int):
        with torch.no_grad():
            y = x * 2
        with Scope("outer") as k:
            y = y + k
            with Scope("inner"):
                big = torch.nonzero(x > 0)
                print("inside", big.size(0))
                z = big[index]
            y = y + 1
        return y, z


class Branch(nn.Module):
    """Branches on data, with a guard in one of them."""
    def forward(self, x: Tensor):
        y = x + 1
        if bool(x.sum() > 0):
            print("positive")
            big = torch.nonzero(x > 0)
            y = y + big.size(0)
        else:
            y = y * 2
        return y, y.sum()


def positive(n, m=4):
    """n numbers above 0 among m."""
    return torch.cat([torch.arange(1., n + 1), -torch.arange(0., m - n)])


def grid(n, rows=2, cols=3):
    return positive(n, rows * cols).view(rows, cols)


# name: module, inputs, runs (lists of inputs)
MODELS = {
    "sizes": (Sizes(), {
        "a": dict(x=torch.randn(3, 4), y=torch.randn(3), k=2),
        "b": dict(x=torch.randn(5, 4), y=torch.randn(5), k=3),
        "other": dict(x=torch.randn(9, 4), y=torch.randn(9), k=7),
        "one": dict(x=torch.randn(1, 4), y=torch.randn(1), k=2),
        "zero": dict(x=torch.randn(0, 4), y=torch.randn(0), k=2),
        "apart": dict(x=torch.randn(3, 4), y=torch.randn(6), k=2),
        "wide": dict(x=torch.randn(3, 5), y=torch.randn(3), k=2),
        "strided": dict(x=torch.randn(4, 6).t(), y=torch.randn(12)[::2], k=2),
        "double": dict(x=torch.randn(3, 4, dtype=torch.float64), y=torch.randn(3), k=2),
    }, {"all": ["a", "other", "b", "one", "zero", "apart", "wide", "strided", "double", "a"]}),
    "loop": (Loop(), {"a": dict(x=grid(6) + 5, limit=15.0), "b": dict(x=grid(6), limit=40.0), "c": dict(x=grid(2), limit=5.0)},
             {"all": ["a", "b", "c", "a"]}),
    "view": (View(), {"a": dict(x=grid(4)), "b": dict(x=grid(2)), "c": dict(x=grid(0))}, {"all": ["a", "b", "c", "a"]}),
    "arena": (Arena(), {"a": dict(x=grid(4)), "b": dict(x=grid(2)), "c": dict(x=grid(0))}, {"all": ["a", "b", "c", "a"]}),
    "same": (Same(), {"a": dict(x=grid(4), k=0), "b": dict(x=grid(2), k=0), "c": dict(x=grid(2), k=2)}, {"all": ["a", "b", "c", "a"]}),
    "half": (Half(), {"a": dict(x=grid(4)), "b": dict(x=grid(2))}, {"all": ["a", "b", "a"]}),
    "fused": (Fused(), {"a": dict(x=grid(4)), "b": dict(x=grid(2))}, {"all": ["a", "b", "a"]}),
    "fork": (Fork(), {"a": dict(x=grid(4)), "b": dict(x=grid(2))}, {"all": ["a", "b", "a"]}),
    "state": (State(), {"a": dict(x=grid(4)), "b": dict(x=grid(2, 3)), "c": dict(x=torch.ones(2, 3)), "d": dict(x=torch.ones(4, 3))},
              {"all": ["a", "b", "c", "d", "a"]}),
    "written": (Written(), {"a": dict(x=grid(4), h=[grid(1), grid(2)]), "b": dict(x=grid(2), h=[grid(3), grid(2)])},
                {"all": ["a", "b", "a"]}),
    "with": (With(), {"a": dict(x=grid(4), index=1), "b": dict(x=grid(2), index=1), "bad": dict(x=grid(1), index=1),
                      "worse": dict(x=grid(4), index=4)},
             {"all": ["a", "b", "a"], "few": ["bad"], "far": ["worse"]}),
    "branch": (Branch(), {"a": dict(x=grid(4)), "b": dict(x=grid(5)), "c": dict(x=grid(1))}, {"all": ["a", "b", "c", "a"]}),
}


def flat(key, v, out):
    if isinstance(v, Tensor):
        out[key] = v.detach().numpy()
    elif isinstance(v, (list, tuple)):
        if isinstance(v, list) and v and isinstance(v[0], (int, float)):
            out[key] = np.array(v)
            return
        for i, x in enumerate(v):
            flat(f"{key}.{i}", x, out)
    elif isinstance(v, dict):
        for k, x in v.items():
            flat(f"{key}.{k}", x, out)
    else:
        out[key] = np.array(v)


def write_input(path, args):
    out = {}
    for k, v in args.items():
        flat(k, v, out)
        if isinstance(v, Tensor) and not v.is_contiguous():
            out[k + ".strides"] = np.array(v.stride())
    np.savez(path, **out)


def copied(v):
    return [copied(x) for x in v] if isinstance(v, list) else v.clone() if isinstance(v, Tensor) else v


def record(name, run, path, inputs, calls):
    """Runs the calls in a process of their own with standard output in a file."""
    out = {}
    sys.stdout.flush()
    text = os.open(f"{name}.{run}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    old = os.dup(1)
    os.dup2(text, 1)
    m = torch.jit.load(path)
    for i, call in enumerate(calls):
        args = inputs[call]
        try:
            r = m(**{k: v.clone() if v.is_contiguous() else v for k, v in args.items() if isinstance(v, Tensor)},
                  **{k: copied(v) for k, v in args.items() if not isinstance(v, Tensor)})
            flat(f"{i}.out", copied(list(r)) if isinstance(r, list) else r, out)
            out = {k: v.copy() for k, v in out.items()}
        except RuntimeError:
            pass
    os.dup2(old, 1)
    os.close(text)
    os.close(old)
    np.savez(f"{name}.{run}.npz", **out)


def main():
    torch.manual_seed(1)
    torch._C._jit_set_profiling_executor(False)
    torch._C._jit_set_profiling_mode(False)
    for name, (module, inputs, runs) in MODELS.items():
        path = f"{name}.pt"
        torch.jit.script(module.eval()).save(path)
        for key, args in inputs.items():
            write_input(f"{name}.{key}.npz", args)
        for run, calls in runs.items():
            record(name, run, path, inputs, calls)


main()
