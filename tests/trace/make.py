"""Makes net.pt with PyTorch 1.13. Its errors are raised deep inside. Run it as follows, so that the archive knows this file by
its name alone:

    python3 -c 'exec(compile(open("make.py").read(), "make.py", "exec"))'
"""
import torch
from torch import nn, Tensor
from typing import Any, Tuple

__file__ = "make.py"


class Scope(object):
    def __init__(self, n: int):
        self.n = n

    def __enter__(self):
        return self.n

    def __exit__(self, a: Any, b: Any, c: Any):
        self.n = 0


Scope = torch.jit.script(Scope)


def pick(x: Tensor, i: int):
    y = x + 1
    return torch.index_select(y, 0, torch.tensor([i]))


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor, i: int):
        return pick(x * self.w, i)


def hook(self, inp: Tuple[Tensor, int], out: Tensor):
    if inp[1] == 5:
        raise ValueError("five " + str(inp[1]))
    return out + inp[0][inp[1]]


class Mid(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Inner()
        self.a.register_forward_hook(hook)

    def forward(self, x: Tensor, i: int):
        return self.a(x, i) + 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = Mid()

    def forward(self, x: Tensor, i: int, how: int):
        if how == 0:
            return self.m(x, i)
        elif how == 1:
            with Scope(3) as n:
                r = self.m(x, i) + n
            return r
        elif how == 2:
            f = torch.jit.fork(self.m, x, i)
            return torch.jit.wait(f)
        else:
            assert i < 3, "too many " + str(i)
            return torch.stack([self.m(x, k) for k in range(i, 4)])


m = torch.jit.script(Net())
m.save('net.pt')
