"""Makes cases.tar.xz with PyTorch 1.13: modules for the tests of kiln trace, with inputs and PyTorch's answers.

    python3 -c 'exec(compile(open("models.py").read(), "models.py", "exec"))'

Run it so, so that the archives know this file by its name alone.
A case has model.pt, 1.in.npz and 1.out.npz, and 2.*.npz if there is a second input. meta.json has

    warns   the text of the line that --check must name, for modules whose branches depend on data
    notes   the same for branches that depend on numbers; other modules get neither a warning nor a note
    holds   whether the trace of input 1 answers input 2  (default: yes)
"""
import io, json, os, sys, tarfile, tempfile, zipfile
import numpy as np
import torch
from torch import nn, Tensor
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

__file__ = "models.py"
sys.path[:0] = ["../oracle", ".."]
import save

X = torch.arange(6.).reshape(2, 3)
Y = X.flip(0) * -0.5 - 1
WIDE = torch.arange(8.).reshape(2, 4) - 3


# ---- what a trace has to keep ---------------------------------------------------------------------------------------

@torch.jit.interface
class Act(nn.Module):
    def forward(self, x: Tensor) -> Tensor: pass


class Relu(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.dim() > 1:
            return x.relu()
        return x


class Tanh(nn.Module):
    def forward(self, x: Tensor) -> Tensor: return x.tanh()


class Interfaces(nn.Module):
    a: Act
    b: Act

    def __init__(self):
        super().__init__()
        self.a, self.b = Relu(), Tanh()

    def forward(self, x: Tensor): return self.b.forward(self.a.forward(x)) + self.a.forward(x[0])


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.l = Relu(), nn.Linear(3, 3)

    def forward(self, x: Tensor): return self.a(x)[0] + self.a(self.l(x[0])) + self.a(x)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.ModuleList([nn.Sequential(nn.Linear(3, 3), nn.ReLU()) for _ in range(3)])
        self.skip = True

    def forward(self, x: Tensor):
        for i, l in enumerate(self.l):
            x = l(x) + x if self.skip and i > 0 else l(x)
        return x


class State(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(1))
        self.k, self.bn = 0, nn.BatchNorm1d(3)

    def forward(self, x: Tensor):
        self.n += x.sum()
        self.k = self.k + 1
        self.n[0] = self.n[0] * 2
        return self.bn(x) * self.n + self.k


class NoGrad(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)

    def forward(self, x: Tensor):
        with torch.no_grad():
            y = self.l(x)
            if y.dim() == 2:
                y = y + 1
        return y * self.l(x), torch.is_grad_enabled()


@torch.jit.script
class Scope(object):
    def __init__(self, n: int): self.n = n

    def __enter__(self) -> int:
        if self.n > 2:
            self.n = self.n + 1
        return self.n

    def __exit__(self, a: Any, b: Any, c: Any):
        for i in range(2):
            self.n = i


class With(nn.Module):
    def forward(self, x: Tensor):
        c = Scope(3)
        with c as n:
            y = x * n
        return y + c.n


@torch.jit.script
class Entered(object):
    """Only __enter__ has a branch."""
    def __init__(self, n: int): self.n = n

    def __enter__(self) -> int:
        if self.n > 1:
            self.n = self.n * 2
        return self.n

    def __exit__(self, a: Any, b: Any, c: Any): self.n = self.n + 1


class WithEntered(nn.Module):
    def forward(self, x: Tensor):
        c = Entered(2)
        with c as n:
            y = x * n
        return y + c.n


@torch.jit.script
class Walker(object):
    def __init__(self, x: Tensor, n: int):
        self.x, self.n = x, n

    def step(self, k: int):
        for i in range(k):
            self.x = self.x + i
        self.n += 1
        return self.x


class Objects(nn.Module):
    def forward(self, x: Tensor):
        p, q = Walker(x, 2), Walker(x * 2, 3)
        a, b = p.step(q.n), q.step(p.n)
        return a, b, p.n + q.n, [p.x, q.x]


def scaled(x: Tensor, k: int):
    if k > 1:
        return x * k
    return x - k


def helper(x: Tensor): return scaled(x, 3) + 1


class Calls(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)

    def two(self, x: Tensor): return self.l(x) if x.dim() == 2 else x

    def forward(self, x: Tensor): return helper(scaled(x, 0)) + self.two(x) + scaled(x, 2)


class Helped(nn.Module):
    """forward and helper both call a function whose branch goes one way in helper's call and the other way in forward's."""
    def __init__(self):
        super().__init__()
        self.a = Relu()

    def helper(self, x: Tensor): return self.a(x[0]) + self.a(x)

    def forward(self, x: Tensor): return self.a(x) + self.helper(x)


class Containers(nn.Module):
    def forward(self, d: Dict[str, Tensor], t: Tuple[Tensor, List[Tensor]], o: Optional[Tensor] = None, s: str = "a"):
        r: Dict[str, Tensor] = {}
        for k, v in d.items():
            r[k + s] = v * 2
        for v in t[1]:
            r["sum"] = v + t[0]
        if o is not None:
            r["o"] = o
        else:
            r["none"] = t[0]
        if "x" in d:
            r["x"] = d["x"] + 1
        return r, [v.sum() for v in t[1]], len(r)


class Slices(nn.Module):
    def forward(self, x: Tensor):
        y = x.clone()
        y[:, 1] = 5
        y[0] += x[1]
        v = y.view(-1)
        v.mul_(2)
        y[y > 9] = 1
        z = [i * y.size(0) for i in range(y.size(1))]
        return y, z, y.reshape(z[1], -1), x.size(0) * x.shape[1] / 2


class Random(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = nn.Dropout(0.5)

    def forward(self, x: Tensor): return self.d(x) + torch.rand_like(x)


class Tasks(nn.Module):
    def __init__(self):
        super().__init__()
        self.l, self.a = nn.Linear(3, 3), Relu()

    def g(self, x: Tensor, n: int) -> Tensor:
        for i in range(n):
            x = self.a(x) * 2
        return x

    def forward(self, x: Tensor):
        f = torch.jit.fork(self.g, x, 2)
        fs = [torch.jit.fork(self.g, x, i) for i in range(3)]
        return torch.jit.wait(f) + torch.stack([torch.jit.wait(i).sum() for i in fs]).sum()


class Pair(NamedTuple):
    a: Tensor
    b: List[int]


class Named(nn.Module):
    def forward(self, x: Tensor) -> Pair:
        s = x.shape
        return Pair(a=x.reshape(s[::-1]), b=[s[0], len(s)])


class Early(nn.Module):
    def forward(self, x: Tensor):
        for i in range(10):
            if i == 5:
                return x * i
            if i == 1:
                continue
            x = x + 1
            while x.dim() < 3:
                x = x.unsqueeze(0)
        return x


class Padded(nn.Module):
    def forward(self, x: Tensor, w: Tensor):
        if x.size(1) % 2 != 0:
            x = torch.cat([x, torch.zeros(x.size(0), 1)], 1)
        h, n = x.size(1) // 2, x.shape[-1]
        assert h * 2 == n, "odd"
        return x.view(-1, h), x[:, :h] * w.size(0), torch.arange(n)


class Evaluates(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout(), nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def forward(self, x: Tensor):
        if self.training:
            return self.net(x) * 2
        return self.net(x[None, None])


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.rnn = nn.GRUCell(3, 2), nn.LSTM(3, 2, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor):
        h = torch.zeros(1, 2)
        for t in range(x.size(0)):
            h = self.cell(x[t:t + 1], h)
        y, (a, b) = self.rnn(x[None])
        return h, y, a, b


class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: Tensor, mask: Optional[Tensor] = None):
        y, w = self.a(x[None], x[None], x[None], attn_mask=mask)
        assert w is not None
        return y, w


class Mixed(nn.Module):
    """A number from the data that decides nothing."""
    def forward(self, x: Tensor):
        n = int(x.sum().item())
        m = x.max().item()
        y = torch.full([2], n) + m
        y[0] = float(n) / 2
        return y, len(str(n)), [n, n + 1]


class Filters(nn.Module):
    """Sizes that depend on the data but decide nothing."""
    def forward(self, x: Tensor):
        y = x[x > 1]
        i = torch.nonzero(x)
        return y, i.size(0) * 2, y.size(0) + i.shape[1], x[i[:, 0]]


class Prints(nn.Module):
    def forward(self, x: Tensor):
        print("sizes", x.size(0), x.dtype)
        return x


# ---- branches that depend on data --------------------------------------------------------------------------------------

class OnSum(nn.Module):
    def forward(self, x: Tensor):
        if x.sum() > 0:
            return x * 2
        return x - 1


class OnItem(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)

    def forward(self, x: Tensor):
        y = self.l(x)
        n = int(x.max().item())
        for i in range(n):
            y = y + i
        return y


class WhileNorm(nn.Module):
    def forward(self, x: Tensor):
        while float(x.norm()) > 1.0:
            x = x * 0.5
        return x


class Found(nn.Module):
    def forward(self, x: Tensor):
        s = 0
        i = torch.nonzero(x > 0.5)
        for k in range(i.size(0)):
            s += int(i[k, 0]) + k
        return s


class Picked(nn.Module):
    def forward(self, x: Tensor):
        if self.better(x):
            return x + 1
        return x

    def better(self, x: Tensor) -> bool: return bool((x[0] < x[1]).any())


class Written(nn.Module):
    def forward(self, x: Tensor):
        y = torch.zeros(4)
        v = y.view(2, 2)
        v[0, 0] = x[1, 2]
        if y[0] > 1:
            return y
        return y - 1


class Listed(nn.Module):
    def forward(self, x: Tensor):
        l: List[Tensor] = []
        for i in range(x.size(0)):
            l.append(x[i].sum())
        r = 0
        for t in l:
            if t > 3:
                r += 1
        return r


class Stored(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x: Tensor):
        self.seen.copy_(x[0])
        if bool(self.seen.sum() > 1):
            return x
        return -x


class Equal(nn.Module):
    def forward(self, x: Tensor):
        if torch.equal(x, x.abs()) and x.dim() == 2:
            return x.sqrt()
        return x


class Asserts(nn.Module):
    def forward(self, x: Tensor):
        assert bool((x > -1).all()), "negative"
        return x + 1


class InDict(nn.Module):
    def forward(self, d: Dict[str, Tensor]):
        k = 1 if d["x"].mean() > 0 else 2
        return d["x"], k


class InTask(nn.Module):
    def g(self, x: Tensor) -> Tensor:
        if x.min() < 0:
            return x.abs()
        return x

    def forward(self, x: Tensor): return torch.jit.wait(torch.jit.fork(self.g, x))


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor):
        self.calls += 1
        if self.calls > 2:
            return x * 0
        return x


class Drawn(nn.Module):
    def forward(self, x: Tensor):
        if torch.rand(1).item() > 0.5:
            return x + 1
        return x


class Number(nn.Module):
    def forward(self, x: Tensor, n: int = 2):
        for i in range(n):
            x = x + i
        return x


class Long(nn.Module):
    """Correct only on inputs of the traced size."""
    def forward(self, x: Tensor):
        s = x[0]
        for i in range(1, x.size(0)):
            s = s + x[i]
        return s


def case(module, first, second=None, **meta): return module, [first] + ([second] if second else []), meta


CASES = {
    "interfaces": case(Interfaces(), dict(x=X), dict(x=Y)), "twice": case(Twice(), dict(x=X), dict(x=Y)),
    "layers": case(Layers(), dict(x=X), dict(x=Y[:1])), "state": case(State(), dict(x=X), dict(x=Y)),
    "state_eval": case(State().eval(), dict(x=X), dict(x=Y)), "no_grad": case(NoGrad(), dict(x=X), dict(x=Y)),
    "with": case(With(), dict(x=X), dict(x=Y)), "with_entered": case(WithEntered(), dict(x=X), dict(x=Y)), "objects": case(Objects(), dict(x=X), dict(x=Y)),
    "calls": case(Calls(), dict(x=X), dict(x=Y)), "helped": case(Helped(), dict(x=Y), dict(x=X)),
    "containers": case(Containers(), {"d.x": X, "d.y": Y, "t.0": X, "t.1.0": X, "t.1.1": Y},
                       {"d.x": Y, "d.y": Y, "t.0": Y, "t.1.0": Y, "t.1.1": X}),
    "slices": case(Slices(), dict(x=X), dict(x=Y)), "random": case(Random(), dict(x=X)), "tasks": case(Tasks(), dict(x=X), dict(x=Y)),
    "named": case(Named(), dict(x=X), dict(x=WIDE)), "early": case(Early(), dict(x=X), dict(x=Y)),
    "padded": case(Padded(), dict(x=X, w=X), dict(x=Y, w=WIDE)), "evaluates": case(Evaluates().eval(), dict(x=torch.ones(5, 5)), dict(x=torch.rand(7, 6))),
    "recurrent": case(Recurrent(), dict(x=X), dict(x=Y)), "attends": case(Attends(), dict(x=WIDE), dict(x=WIDE + 1)),
    "mixed": case(Mixed(), dict(x=X), dict(x=WIDE)), "filters": case(Filters(), dict(x=X), dict(x=Y)),
    "prints": case(Prints(), dict(x=X), dict(x=WIDE)),
    "on_sum": case(OnSum(), dict(x=X), dict(x=Y), warns="if x.sum() > 0:", holds=False),
    "on_sum_same": case(OnSum(), dict(x=X), dict(x=X + 1), warns="if x.sum() > 0:"),
    "on_item": case(OnItem(), dict(x=X), dict(x=X - 2), warns="for i in range(n):", holds=False),
    "while_norm": case(WhileNorm(), dict(x=X), dict(x=Y * 9), warns="while float(x.norm()) > 1.0:", holds=False),
    "found": case(Found(), dict(x=X), dict(x=Y), warns="for k in range(i.size(0)):", holds=False),
    "picked": case(Picked(), dict(x=X), dict(x=X.flip(0)), warns="if self.better(x):", holds=False),
    "written": case(Written(), dict(x=X), dict(x=Y), warns="if y[0] > 1:", holds=False),
    "listed": case(Listed(), dict(x=X), dict(x=X + 1), warns="if t > 3:", holds=False),
    "stored": case(Stored(), dict(x=X), dict(x=Y), warns="if bool(self.seen.sum() > 1):", holds=False),
    "equal": case(Equal(), dict(x=X), dict(x=Y), warns="if torch.equal(x, x.abs()) and x.dim() == 2:", holds=False),
    "asserts": case(Asserts(), dict(x=X), dict(x=X + 1), warns='assert bool((x > -1).all()), "negative"'),
    "in_dict": case(InDict(), {"d.x": X}, {"d.x": Y}, warns='k = 1 if d["x"].mean() > 0 else 2', holds=False),
    "in_task": case(InTask(), dict(x=X), dict(x=Y), warns="if x.min() < 0:", holds=False),
    "counter": case(Counter(), dict(x=X), dict(x=Y), warns="if self.calls > 2:"),
    "drawn": case(Drawn(), dict(x=X), dict(x=Y), warns="if torch.rand(1).item() > 0.5:"),
    "number": case(Number(), dict(x=X, n=torch.tensor(3)), dict(x=Y), notes="for i in range(n):", holds=False),
    "long": case(Long(), dict(x=X), dict(x=Y)),
    "longer": case(Long(), dict(x=X), dict(x=torch.cat([X, Y])), holds=False),
}


def add(tar, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def arrays(values):
    out = io.BytesIO()
    np.savez(out, **{k: v.numpy() if isinstance(v, torch.Tensor) else np.array(v) for k, v in values.items()})
    return out.getvalue()


def stored(path):
    """The archive's members uncompressed: xz compresses all of them together better."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as z, zipfile.ZipFile(out, "w") as to:
        for i in z.infolist():
            to.writestr(zipfile.ZipInfo(i.filename, (1980, 1, 1, 0, 0, 0)), z.read(i))
    return out.getvalue()


def main():
    torch.manual_seed(0)
    with tarfile.open("cases.tar.xz", "w:xz", preset=9) as tar, tempfile.TemporaryDirectory() as tmp:
        for name, (module, inputs, meta) in CASES.items():
            path = os.path.join(tmp, "model.pt")
            torch.jit.script(module).save(path)
            add(tar, name + "/model.pt", stored(path))
            for i, given in enumerate(inputs, 1):
                add(tar, f"{name}/{i}.in.npz", arrays(given))
                words = save.arguments(torch.jit.load(path), {k: v.numpy() for k, v in given.items()})[1]
                out = {}
                torch.manual_seed(67280421310721)
                save.flatten(torch.jit.load(path)(**words), "out", out)
                add(tar, f"{name}/{i}.out.npz", arrays(out))
            add(tar, name + "/meta.json", json.dumps(meta).encode())


if __name__ == "__main__":
    main()
