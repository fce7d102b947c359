"""The models of state_test.py: writes their archives and PyTorch 1.13's answers.

usage: models.py [NAME...]     (in this folder, with torch)

NAME.npz records calls of NAME.pt on one instance: the methods' names in "calls", the third call's input "2.x", and a part of
its result "2.out.0".  Models whose names begin with "equal" have storages of equal bytes.  Those with "shared" reach one
storage (list, dict, module) by several names.  Those with "written" write to a parameter and ask whether it requires a
gradient.
"""
import os, sys
from typing import Dict, List, Optional, Tuple
import numpy as np
import torch
from torch import Tensor, nn
import torch.nn.functional as F

MODELS = {}


def model(calls="fff", train=False):
    """Registers a class as a model. It is made without arguments and called as the class says, in training mode if the class says
    so."""
    def add(cls):
        MODELS[cls.__name__] = cls, calls, train
        return cls
    return add


def zeros(*sizes):
    return torch.zeros(*(sizes or (3,)))


def ramp(*sizes):
    return torch.arange(1., 1. + int(np.prod(sizes or (3,)))).reshape(sizes or (3,)) / 4


class Buffers(nn.Module):
    """A module with buffers of these values."""
    def __init__(self, **buffers):
        super().__init__()
        for name, value in buffers.items():
            self.register_buffer(name, value)


# ---- storages of equal bytes ----------------------------------------------------------------------------------------

@model()
class equal_two(Buffers):
    def __init__(self):
        super().__init__(a=zeros(), b=zeros())

    def forward(self, x: Tensor):
        self.a.add_(x)
        self.b.mul_(0.9).sub_(1)
        return self.a * 1, self.b * 1


@model()
class equal_returned(Buffers):
    """The buffers themselves are the results."""
    def __init__(self):
        super().__init__(a=ramp(), b=ramp())

    def forward(self, x: Tensor):
        self.a.add_(x)
        return self.a, self.b


@model()
class equal_one_written(Buffers):
    """An exponential moving average that initially equals the bias next to it."""
    def __init__(self):
        super().__init__(ema=zeros())
        self.bias = nn.Parameter(zeros())

    def forward(self, x: Tensor):
        with torch.no_grad():
            self.ema.mul_(0.5).add_(x, alpha=0.5)
        return x + self.bias, self.ema + 0


@model()
class equal_shapes(Buffers):
    """Equal bytes with other sizes."""
    def __init__(self):
        super().__init__(a=zeros(2, 3), b=zeros(3, 2), c=zeros(6))

    def forward(self, x: Tensor):
        self.a += x
        self.b -= 1
        return self.a.sum(0), self.b.sum(1), self.c[:3] + x


@model()
class equal_types(Buffers):
    """Equal bytes with other dtypes."""
    def __init__(self):
        super().__init__(a=torch.zeros(2, dtype=torch.float64), b=torch.zeros(2, dtype=torch.int64), c=torch.zeros(4, dtype=torch.int32))

    def forward(self, x: Tensor):
        self.b.add_(1)
        self.a.add_(x[0])
        self.c.sub_(2)
        return self.a * 1, self.b * 1, self.c * 1


@model("ffff")
class equal_caches(Buffers):
    """The k and v caches of a decoder."""
    def __init__(self):
        super().__init__(k=zeros(4, 3), v=zeros(4, 3), at=torch.zeros(1, dtype=torch.int64))

    def forward(self, x: Tensor):
        at = int(self.at)
        self.k[at] = x
        self.v[at] = x * 2
        self.at += 1
        w = torch.softmax(self.k[:at + 1] @ x, 0)
        return w @ self.v[:at + 1]


@model("fff", train=True)
class equal_norms(nn.Module):
    """Running means of two batch norms."""
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.BatchNorm1d(3), nn.BatchNorm1d(3)

    def forward(self, x: Tensor):
        rows = torch.stack([x, x * 2, x * x])
        return self.second(self.first(rows) + rows), self.first.running_mean * 1, self.second.running_mean * 1


@model()
class equal_modules(nn.Module):
    """Equal buffers in two objects of one class."""
    def __init__(self):
        super().__init__()
        self.one, self.two = Buffers(v=zeros()), Buffers(v=zeros())

    def forward(self, x: Tensor):
        self.one.v.add_(x)
        self.two.v.sub_(x)
        return self.one.v * 1, self.two.v * 1


@model()
class equal_in_list(nn.Module):
    def __init__(self):
        super().__init__()
        self.states: List[Tensor] = [zeros(), zeros(), zeros()]

    def forward(self, x: Tensor):
        self.states[0].add_(x)
        self.states[1].sub_(x)
        return self.states[0] * 1, self.states[1] * 1, self.states[2] * 1


@model()
class equal_in_dict(nn.Module):
    def __init__(self):
        super().__init__()
        self.states: Dict[str, Tensor] = {"a": zeros(), "b": zeros()}

    def forward(self, x: Tensor):
        self.states["a"].add_(x)
        return self.states["a"] * 1, self.states["b"] * 1


@model()
class equal_in_tuple(nn.Module):
    def __init__(self):
        super().__init__()
        self.states: Tuple[Tensor, Tensor] = (ramp(), ramp())

    def forward(self, x: Tensor):
        self.states[0].add_(x)
        a, b = self.states
        return a * 1, b * 1


@model()
class equal_lists(nn.Module):
    """Lists of equal numbers."""
    def __init__(self):
        super().__init__()
        self.a: List[int] = [1, 2]
        self.b: List[int] = [1, 2]

    def forward(self, x: Tensor):
        self.a.append(3)
        self.b[0] += 1
        return torch.tensor(self.a), torch.tensor(self.b)


@model()
class equal_dicts(nn.Module):
    def __init__(self):
        super().__init__()
        self.a: Dict[str, int] = {"n": 0}
        self.b: Dict[str, int] = {"n": 0}

    def forward(self, x: Tensor):
        self.a["n"] += 1
        self.b["n"] -= 2
        return torch.tensor([self.a["n"], self.b["n"]])


@model("fofo")
class equal_methods(Buffers):
    """Equal buffers, each written by a method of its own."""
    def __init__(self):
        super().__init__(a=zeros(), b=zeros())

    def forward(self, x: Tensor):
        self.a.add_(x)
        return self.a * 1, self.b * 1

    @torch.jit.export
    def other(self, x: Tensor):
        self.b.sub_(x)
        return self.a * 1, self.b * 1


@model()
class equal_set(Buffers):
    """op= of an attribute: a write and a SetAttr."""
    def __init__(self):
        super().__init__(a=zeros(), b=zeros(), c=zeros())

    def forward(self, x: Tensor):
        self.a += x
        self.b -= x
        return self.a * 1, self.b * 1, self.c * 1


@model()
class equal_parameters(nn.Module):
    """Two layers of equal weights, one of which the model itself trains."""
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(3, 3), nn.Linear(3, 3)
        self.two.load_state_dict(self.one.state_dict())

    def forward(self, x: Tensor):
        y = self.one(x) - self.two(x)
        with torch.no_grad():
            self.two.weight.mul_(0.5)
        return y, self.one(x) - self.two(x)


# Constants of a traced model that the model writes to.
class Traced(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.d = [zeros()], [zeros()]

    def forward(self, x):
        return self.c[0].add_(x) * 1, self.d[0].sub_(x) * 1




class TracedProduct(nn.Module):
    """A constant that is a weight and changes."""
    def __init__(self):
        super().__init__()
        self.w = [torch.eye(3)]

    def forward(self, x):
        y = torch.mm(x.reshape(1, 3), self.w[0])
        self.w[0].add_(0.5)
        return y, F.linear(x, self.w[0])


class TracedTwo(nn.Module):
    """One method writes the constant, the other only reads it."""
    def __init__(self):
        super().__init__()
        self.c = [zeros()]

    def forward(self, x):
        return torch.relu(self.c[0]) * 2 + x

    def other(self, x):
        return self.c[0].add_(x) * 1


class TracedBeside(nn.Module):
    """A constant that is written, and buffers with its bytes."""
    def __init__(self):
        super().__init__()
        self.c = [zeros()]
        self.register_buffer("b", zeros())
        self.register_buffer("d", zeros())

    def forward(self, x):
        self.c[0].add_(x)
        self.d.sub_(x)
        return self.b + x, self.c[0] * 1, self.d * 1


def traced(cls):
    return lambda: torch.jit.trace(cls(), torch.ones(3), check_trace=False)


MODELS["equal_traced"] = traced(Traced), "fff", False
MODELS["equal_traced_product"] = traced(TracedProduct), "fff", False
MODELS["equal_traced_beside"] = traced(TracedBeside), "fff", False
MODELS["shared_traced_two"] = (lambda: torch.jit.trace_module(TracedTwo(), {"forward": torch.ones(3), "other": torch.ones(3)},
                                                              check_trace=False)), "fofof", False


@model()
class equal_to_constant(Buffers):
    """A buffer with the bytes of a weight that only an operator packs."""
    def __init__(self):
        super().__init__(state=torch.eye(3))
        self.linear = nn.Linear(3, 3, bias=False)
        self.linear.weight.data.copy_(torch.eye(3))

    def forward(self, x: Tensor):
        self.state.add_(1)
        return self.linear(x), self.state @ x


@model()
class equal_views(Buffers):
    """Equal storages, written by views of them."""
    def __init__(self):
        super().__init__(a=zeros(2, 3), b=zeros(2, 3))

    def forward(self, x: Tensor):
        self.a[0].add_(x)
        self.b.t()[1].sub_(1)
        self.a.view(-1)[4:].mul_(2).add_(1)
        return self.a * 1, self.b * 1


@model()
class equal_loop(Buffers):
    def __init__(self):
        super().__init__(a=zeros(), b=zeros())

    def forward(self, x: Tensor):
        for i in range(3):
            self.a.add_(x)
            if i > 0:
                self.b.add_(self.a)
        return self.a * 1, self.b * 1


@model()
class equal_chosen(Buffers):
    """The data decide which of the equal buffers is written."""
    def __init__(self):
        super().__init__(a=zeros(), b=zeros())

    def forward(self, x: Tensor):
        to = self.a if bool(x.sum() > 0) else self.b
        to.add_(x)
        return self.a * 1, self.b * 1


@model()
class equal_kinds(Buffers):
    """Writes by copy_, fill_, out=, index_add_ and scatter_."""
    def __init__(self):
        super().__init__(a=zeros(), b=zeros(), c=zeros(), d=zeros(), e=zeros(), f=zeros())

    def forward(self, x: Tensor):
        self.a.copy_(x)
        self.b.fill_(3)
        torch.mul(x, 2, out=self.c)
        self.d.index_add_(0, torch.tensor([0, 2]), x[:2])
        self.e.scatter_(0, torch.tensor([1]), 9.)
        return self.a * 1, self.b * 1, self.c * 1, self.d * 1, self.e * 1, self.f * 1


# ---- one storage by several ways ------------------------------------------------------------------------------------

@model()
class shared_set(Buffers):
    """register_buffer('w', self.v); self.v -= 1.5."""
    def __init__(self):
        super().__init__(v=ramp())
        self.register_buffer("w", self.v)

    def forward(self, x: Tensor):
        self.v -= 1.5
        return self.w * 1


@model()
class shared_written(Buffers):
    def __init__(self):
        super().__init__(v=ramp())
        self.register_buffer("w", self.v)

    def forward(self, x: Tensor):
        self.v.add_(x)
        return self.w * 1, self.v * 1


@model("ffoof")
class shared_methods(Buffers):
    """One method writes by one name, the other reads by the other name."""
    def __init__(self):
        super().__init__(v=ramp())
        self.register_buffer("w", self.v)

    def forward(self, x: Tensor):
        return self.w * 2

    @torch.jit.export
    def other(self, x: Tensor):
        self.v.add_(x)
        return self.v * 1


@model("foffo")
class shared_methods_set(Buffers):
    def __init__(self):
        super().__init__(v=ramp())
        self.register_buffer("w", self.v)

    def forward(self, x: Tensor):
        return self.w * 2

    @torch.jit.export
    def other(self, x: Tensor):
        self.v += x
        return self.v * 1


class Added(Buffers):
    def __init__(self, v):
        super().__init__(v=v)

    def forward(self, x: Tensor):
        return self.v + x


@model()
class shared_modules(nn.Module):
    """Two modules hold one tensor under two names."""
    def __init__(self):
        super().__init__()
        self.one, self.two = Buffers(v=ramp()), nn.Module()
        self.two.register_buffer("w", self.one.v)

    def forward(self, x: Tensor):
        self.one.v -= x
        return self.two.w * 1


@model()
class shared_data(nn.Module):
    """A buffer is a.weight.data."""
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.register_buffer("w", self.a.weight.data)

    def forward(self, x: Tensor):
        self.w += 0.5
        return self.a(x), self.w * 1


@model()
class shared_parameter(Buffers):
    """A Parameter over a buffer."""
    def __init__(self):
        super().__init__(v=ramp())
        self.p = nn.Parameter(self.v, requires_grad=False)

    def forward(self, x: Tensor):
        self.v *= 2
        return self.p + x


@model("ffff", train=True)
class written_asked(nn.Module):
    """A parameter is asked whether it requires a gradient. A later call writes to it."""
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(ramp(4, 3))
        self.register_buffer("calls", torch.zeros([], dtype=torch.long))

    def forward(self, x: Tensor):
        y = F.linear(x.unsqueeze(0), self.w)
        if y.requires_grad:
            y = y + 1
        if int(self.calls) >= 1:
            with torch.no_grad():
                self.w.mul_(0.5)
        self.calls += 1
        return y.detach()


@model("ffff", train=True)
class written_trained(nn.Module):
    """A parameter is trained by the model itself."""
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(ramp(4, 3))

    def forward(self, x: Tensor):
        loss = ((F.linear(x.unsqueeze(0), self.w) - 1) ** 2).sum()
        g = torch.autograd.grad([loss], [self.w])[0]
        assert g is not None
        with torch.no_grad():
            self.w.sub_(g * 0.25)
        return loss.detach(), g


@model()
class shared_views(Buffers):
    """A row of a buffer and its transpose."""
    def __init__(self):
        super().__init__(v=ramp(2, 3))
        self.register_buffer("row", self.v[1])
        self.register_buffer("t", self.v.t())

    def forward(self, x: Tensor):
        self.row += x
        return self.v * 1, self.t * 1


@model()
class shared_overlap(Buffers):
    """Two views of one storage overlap in part."""
    def __init__(self):
        whole = ramp(5)
        super().__init__(v=whole[:3], w=whole[1:4], u=whole[2:])

    def forward(self, x: Tensor):
        self.v -= 1.5
        y = self.w * 1
        self.u.add_(x)
        return y, self.v * 1, self.w * 1


@model()
class shared_overlap_written(Buffers):
    def __init__(self):
        whole = ramp(5)
        super().__init__(v=whole[:3], w=whole[1:4])

    def forward(self, x: Tensor):
        self.v.sub_(1.5)
        return self.w.sum() * x


@model()
class shared_apart(Buffers):
    """Two views of one storage without common elements."""
    def __init__(self):
        whole = ramp(6)
        super().__init__(v=whole[:3], w=whole[3:])

    def forward(self, x: Tensor):
        self.v += x
        return self.w * self.v


@model()
class shared_in_list(Buffers):
    def __init__(self):
        super().__init__(v=ramp())
        self.all: List[Tensor] = [self.v, ramp(), self.v]

    def forward(self, x: Tensor):
        self.v += x
        self.all[2].mul_(2)
        return self.all[0] * 1, self.all[1] * 1, self.v * 1


@model()
class shared_list_written(Buffers):
    """A tensor is written through a list and read as an attribute."""
    def __init__(self):
        super().__init__(v=ramp(), w=ramp())
        self.all: List[Tensor] = [self.v, self.w]

    def forward(self, x: Tensor):
        for t in self.all:
            t.add_(x)
        return self.v * 1, self.w * 1


@model()
class shared_in_dict(Buffers):
    def __init__(self):
        super().__init__(v=ramp())
        self.all: Dict[str, Tensor] = {"v": self.v}

    def forward(self, x: Tensor):
        self.v += x
        return self.all["v"] * 1


@model()
class shared_in_tuple(Buffers):
    def __init__(self):
        super().__init__(v=ramp())
        self.all: Tuple[Tensor, int] = (self.v, 2)

    def forward(self, x: Tensor):
        self.v += x
        return self.all[0] * self.all[1]


@model()
class shared_module(nn.Module):
    """One submodule with two names."""
    def __init__(self):
        super().__init__()
        self.one = Buffers(v=ramp())
        self.two = self.one

    def forward(self, x: Tensor):
        self.one.v += x
        return self.two.v * 1


@model()
class shared_module_set(nn.Module):
    """One submodule with two names, of which an attribute is replaced."""
    def __init__(self):
        super().__init__()
        self.one = Buffers(v=ramp())
        self.two = self.one

    def forward(self, x: Tensor):
        self.one.v = x * 2
        return self.two.v * 1


@model()
class shared_list(nn.Module):
    """One list with two names."""
    def __init__(self):
        super().__init__()
        self.a: List[int] = [1, 2]
        self.b: List[int] = self.a

    def forward(self, x: Tensor):
        self.a.append(5)
        return torch.tensor(self.b)


@model()
class shared_list_set(nn.Module):
    """self.a += [5] is an append and a SetAttr."""
    def __init__(self):
        super().__init__()
        self.a: List[int] = [1, 2]
        self.b: List[int] = self.a

    def forward(self, x: Tensor):
        self.a += [5]
        return torch.tensor(self.b)


@model()
class shared_dict(nn.Module):
    def __init__(self):
        super().__init__()
        self.a: Dict[str, Tensor] = {"x": ramp()}
        self.b: Dict[str, Tensor] = self.a

    def forward(self, x: Tensor):
        self.a["x"] = self.b["x"] + x
        return self.b["x"] * 1


@torch.jit.script
class Cell(object):
    def __init__(self, v: Tensor):
        self.v = v

    def step(self, x: Tensor):
        self.v += x


@model()
class shared_object(nn.Module):
    """An object of a class refers to a tensor that is also an attribute, once the object is made."""
    def __init__(self):
        super().__init__()
        self.register_buffer("v", ramp())

    def forward(self, x: Tensor):
        cell = Cell(self.v)
        cell.step(x)
        return self.v * 1, cell.v * 1


@model()
class shared_later(Buffers):
    """From the second call on w is v."""
    def __init__(self):
        super().__init__(v=ramp(), w=zeros())

    def forward(self, x: Tensor):
        self.w += x
        y = self.v * 1
        self.w = self.v
        return y, self.w * 1


@model("foff")
class shared_later_methods(Buffers):
    """One method sets w to v, the other writes to w and reads v."""
    def __init__(self):
        super().__init__(v=ramp(), w=zeros())

    def forward(self, x: Tensor):
        self.w.add_(x)
        return self.v * 1

    @torch.jit.export
    def other(self, x: Tensor):
        self.w = self.v
        return self.w * 1


@model("foff")
class shared_later_view(Buffers):
    """The same through a view."""
    def __init__(self):
        super().__init__(v=ramp(2, 3), w=zeros())

    def forward(self, x: Tensor):
        self.w.add_(x)
        return self.v.sum(0)

    @torch.jit.export
    def other(self, x: Tensor):
        self.w = self.v[1]
        return self.w * 1


@model("fof")
class shared_kept(Buffers):
    """One method stores v in a list, the other writes to all elements of the list."""
    def __init__(self):
        super().__init__(v=ramp())
        self.kept: List[Tensor] = [zeros()]

    def forward(self, x: Tensor):
        for t in self.kept:
            t.add_(x)
        return self.v * 1

    @torch.jit.export
    def other(self, x: Tensor):
        self.kept.append(self.v)
        return x


@model()
class shared_argument(Buffers):
    """The argument is stored, and written to in the next call."""
    def __init__(self):
        super().__init__(v=zeros())

    def forward(self, x: Tensor):
        self.v += 1
        self.v = x
        return self.v * 1


@model()
class shared_fork(Buffers):
    def __init__(self):
        super().__init__(v=ramp())
        self.register_buffer("w", self.v)

    def forward(self, x: Tensor):
        f = torch.jit.fork(self.change, x)
        y = torch.jit.wait(f)
        return self.w * 1, y

    def change(self, x: Tensor):
        self.v += x
        return self.v * 1


@model("fofo")
class shared_fork_returned(Buffers):
    """A task returns the buffer itself."""
    def __init__(self):
        super().__init__(v=ramp())

    def get(self, x: Tensor):
        return self.v

    def forward(self, x: Tensor):
        y = torch.jit.wait(torch.jit.fork(self.get, x))
        y.add_(x)
        return torch.relu(self.v) * 1

    @torch.jit.export
    def other(self, x: Tensor):
        f = torch.jit.fork(self.get, x)
        self.v -= 1
        return torch.jit.wait(f) * 1, torch.tanh(self.v)


@model("ffff")
class shared_swapped(Buffers):
    """Two buffers are swapped."""
    def __init__(self):
        super().__init__(a=zeros(2, 3), b=zeros(2, 3), at=torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor):
        self.a, self.b = self.b, self.a
        self.a[int(self.at) % 2] = x
        self.at += 1
        return self.a * 1, self.b * 1


@model("ffff")
class shared_left(Buffers):
    """A buffer is replaced, while views of its rows stay."""
    def __init__(self):
        super().__init__(a=zeros(4, 3))
        self.register_buffer("last", self.a[3])
        self.register_buffer("first", self.a[0])

    def forward(self, x: Tensor):
        self.a = torch.cat([self.a[1:], x.unsqueeze(0)])
        self.first += 1
        return self.a * 1, self.last * 1, self.first * 1


@model("ffff")
class shared_detached(Buffers):
    """Written through .data and detach()."""
    def __init__(self):
        super().__init__(a=zeros(), b=ramp())
        self.register_buffer("c", self.a)

    def forward(self, x: Tensor):
        self.a.data.add_(x)
        self.b.detach().mul_(2)
        return self.c * 1, self.b * 1


@model("fff")
class shared_dict_of_lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.d: Dict[str, List[Tensor]] = {"a": [zeros(), zeros()]}
        self.l: List[Tensor] = self.d["a"]
        self.register_buffer("q", self.l[0])

    def forward(self, x: Tensor):
        self.q += x
        self.l.append(self.q)
        self.d["a"][1].sub_(x)
        return torch.stack(self.d["a"]), torch.stack(self.l)


@model("fofo")
class shared_module_list(nn.Module):
    """Modules of a list, read in a loop and written one by one."""
    def __init__(self):
        super().__init__()
        v = ramp()
        self.all = nn.ModuleList([Added(v), Added(v), Added(zeros()), Added(zeros())])

    def forward(self, x: Tensor):
        for m in self.all:
            x = m(x)
        return x

    @torch.jit.export
    def other(self, x: Tensor):
        self.all[0].v += 1
        self.all[2].v.add_(x)
        return x


@model("fofo")
class shared_conv_norm(nn.Module):
    """A convolution into which the batch norm after it would be folded. Another method writes to both by other names."""
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(1, 2, 3), nn.BatchNorm1d(2)
        self.register_buffer("g", self.norm.running_mean)
        self.both: List[Tensor] = [self.conv.weight.data, self.conv.bias.data]

    def forward(self, x: Tensor):
        return self.norm(self.conv(x.reshape(1, 1, 3)))

    @torch.jit.export
    def other(self, x: Tensor):
        self.g += 0.5
        for t in self.both:
            t.mul_(2)
        return x


@model()
class shared_optional(Buffers):
    def __init__(self):
        super().__init__(v=ramp())
        self.w: Optional[Tensor] = self.v

    def forward(self, x: Tensor):
        self.v += x
        w = self.w
        if w is not None:
            return w * 1
        return x


@model()
class shared_folded(Buffers):
    """A value computed from an alias must not be folded to a constant."""
    def __init__(self):
        super().__init__(v=ramp(3, 3))
        self.register_buffer("w", self.v[1:])
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor):
        scale = torch.relu(self.w).sum(0) * 2
        self.v -= 0.5
        return F.linear(x, torch.tanh(self.w), None), scale


@model("fff", train=True)
class shared_norm(nn.Module):
    """Two batch norms share a running mean. Each follows a convolution into which it would be folded."""
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
        self.second.running_mean = self.first.running_mean
        self.second.eval()

    def forward(self, x: Tensor):
        rows = torch.stack([x, x * 2, x * x])
        return self.first(rows), self.second(rows)


@model()
class shared_tied(nn.Module):
    """Tied weights that nobody writes."""
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(4, 3), nn.Linear(3, 4, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, x: Tensor):
        return self.out(x) + self.embed.weight.sum(1)


@model()
class shared_tied_written(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(4, 3), nn.Linear(3, 4, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, x: Tensor):
        with torch.no_grad():
            self.embed.weight.add_(x)
        return self.out(x)


@model()
class shared_is(Buffers):
    """Comparisons by `is` of shared tensors."""
    def __init__(self):
        super().__init__(a=zeros(), b=zeros())
        self.register_buffer("c", self.a)

    def forward(self, x: Tensor):
        a: Optional[Tensor] = self.a
        b: Optional[Tensor] = self.b
        c: Optional[Tensor] = self.c
        return torch.tensor([a is b, a is c, b is not c])


# ---- recording ------------------------------------------------------------------------------------------------------

def flat(prefix, v):
    if isinstance(v, (tuple, list)):
        return {k: t for i, e in enumerate(v) for k, t in flat(f"{prefix}.{i}", e).items()}
    return {prefix: v.detach().clone().contiguous().numpy()}


def record(name):
    make, calls, train = MODELS[name]
    torch.manual_seed(17)
    m = make()
    m = m if isinstance(m, torch.jit.ScriptModule) else torch.jit.script(m if train else m.eval())
    m.save(name + ".pt")
    loaded, arrays = torch.jit.load(name + ".pt"), {}
    with torch.jit.optimized_execution(False):
        for i, c in enumerate(calls):
            x = torch.tensor([1., -2., 3.]) * (i + 1) / 8
            arrays[f"{i}.x"] = x.numpy().copy()
            arrays.update(flat(f"{i}.out", loaded.forward(x) if c == "f" else loaded.other(x)))
    names = ",".join("forward" if c == "f" else "other" for c in calls)
    np.savez_compressed(name + ".npz", calls=np.frombuffer(names.encode(), np.uint8), **arrays)


def main(names):
    for name in names or MODELS:
        try:
            record(name)
        except Exception as e:
            print(name, str(e)[:600])


main(sys.argv[1:])
