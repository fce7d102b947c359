#!/usr/bin/env python3
"""Makes tests/pt2/cases.tar.xz: small modules exported by torch.export, with inputs and PyTorch's answers. Needs PyTorch 2.15 and NumPy,
and for Torchao torchao 0.18.

usage: export.py [NAME...]        the cases are laid out as those of accept.py; NAME_dec is the program after run_decompositions()
"""
import copy, inspect, io, json, os, re, sys, tarfile, tempfile, warnings
warnings.filterwarnings("ignore")
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
import torch.ao.quantization.fx._decomposed
from torch._higher_order_ops.map import map as over_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

HERE = os.path.dirname(os.path.abspath(__file__))
D = Dim.DYNAMIC
CASES = []


def case(*inputs, dyn=None, more=(), kwargs=None, seq=False, train=False, dec=False):
    """Decorates a module class or a function as a case. `more` are the inputs of further calls: on one instance if seq."""
    def add(what):
        CASES.append((what.__name__, what, inputs, dict(dyn=dyn, more=more, kwargs=kwargs or {}, seq=seq, train=train, dec=dec)))
        return what
    return add


torch.manual_seed(0)
R = torch.randn


@case(R(2, 4), dyn={"x": {0: Dim("b", min=2, max=16)}}, more=[[R(5, 4)], [R(1, 4)]], dec=True)
class Linear(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.Linear(4, 3)
    def forward(self, x): return F.gelu(self.l(x))

@case(R(8, 4), dyn={"x": {0: D}}, more=[[R(10, 4)], [R(4, 4)]], dec=True)
def arithmetic(x): return x.reshape(x.shape[0] // 2, -1), x.shape[0] * 2 + 1, x.shape[0] / 2, x.size(0) % 3, torch.arange(x.shape[0]), x.numel()

d = Dim("d", min=3, max=50)
@case(R(4, 2), R(9, 2), dyn={"x": {0: d}, "y": {0: 2 * d + 1}}, more=[[R(5, 2), R(11, 2)]])
def derived(x, y): return torch.cat([x, y]).sum(0), x.shape[0] + y.shape[0]

@case(torch.tensor([3., 2.]), more=[[torch.tensor([1., 5.])], [torch.tensor([0., 0.])]], dec=True)
def unbacked(x):
    n = x.sum().long().item()
    torch._check(n >= 0); torch._check(n < 100)
    return torch.zeros(n, 3) + 1, n, x.nonzero(), x[x > 0]

@case(R(3, 4), dyn={"x": {0: D}}, more=[[R(8, 4)], [R(4, 4)]])
class CondOfSizes(nn.Module):
    def __init__(self): super().__init__(); self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
    def forward(self, x): return torch.cond(x.shape[0] > 4, lambda x: self.a(x), lambda x: self.b(x) * 2, (x,))

@case(R(3), R(3), more=[[-torch.ones(3), R(3)], [torch.ones(3), R(3)]], dec=True)
class Cond(nn.Module):
    def forward(self, x, y): return torch.cond(x.sum() > 0, lambda a, b: (a + b, a.sin()), lambda a, b: (a - b, a.cos()), (x, y))

@case(torch.tensor(3), R(3), more=[[torch.tensor(0), R(3)], [torch.tensor(7), R(3)]])
class While(nn.Module):
    def forward(self, n, x): return while_loop(lambda n, x: n > 0, lambda n, x: (n - 1, x * 1.5 + 1), (n, x))

@case(R(3, 2, 4), R(4, 5))
class Map(nn.Module):
    def forward(self, xs, y): return over_rows(lambda x, y: (x @ y).relu(), xs, y)

@case(R(4), R(4, 6), dec=True)
class Scan(nn.Module):
    def forward(self, h, xs): return scan(lambda h, x: (h * 0.9 + x, (h + x).tanh()), h, xs, dim=1, reverse=True)

@case(R(4), more=[[R(4)], [R(4)]], seq=True, dec=True)
class Buffers(nn.Module):
    def __init__(self): super().__init__(); self.register_buffer("n", torch.zeros(1)); self.register_buffer("h", torch.zeros(3, 4), persistent=False)
    def forward(self, x):
        self.n += 1; self.h[0] = x; y = self.h * self.n; self.h.copy_(self.h.roll(1, 0))
        return y, self.n.clone()

@case(R(2, 3, 8, 8), more=[[R(2, 3, 8, 8)]], seq=True, train=True, dec=True)
class BatchNorm(nn.Module):
    def __init__(self): super().__init__(); self.c, self.bn = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
    def forward(self, x): return self.bn(self.c(x)).relu()

@case(R(3, 3), R(3, 3), dec=True)
class Writes(nn.Module):
    def forward(self, x, y):
        x.add_(1); y[:, 0] = 5; z = x.clone(); z.t().mul_(y); z.view(-1)[0] = 100
        return x * y, z

@case(torch.tensor([1, 2, 3]))
class Tied(nn.Module):
    def __init__(self): super().__init__(); self.e, self.o = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False); self.o.weight = self.e.weight
    def forward(self, x): return self.o(self.e(x))

@case(R(3), kwargs={"scale": R(3), "shift": None}, dec=True)
class Keywords(nn.Module):
    def forward(self, x, *, scale, shift=None): return x * scale + (shift if shift is not None else 0)

@case({"x": R(2, 3), "y": R(1)}, [R(2, 3), R(4)], dyn=({"x": {0: D}, "y": None}, [{0: D}, None]), more=[[{"x": R(5, 3), "y": R(1)}, [R(5, 3), R(4)]]])
def trees(d, l): return {"a": d["x"] + l[0], "b": [d["y"], (l[1], 3)], "n": None, "s": {"q": d["x"].shape[0]}}

@case(R(3), True, 2, 0.25)
def constants(x, flag, n, k): return x * k * n if flag else x, n, torch.full((n,), flag)

@case(R(4, 5))
def several(x): return x.max(1), torch.topk(x, 2), torch.std_mean(x, 0), x.split(2), x.chunk(3, 1), x.unbind(0), x.split([1, 3])

@case(R(4, 5), torch.tensor([0, 2, 1]), dec=True)
def indices(x, i): return x[i], x[:, i], x[None, i, ..., 1:3], x.index_put((i,), torch.tensor(9.)), x[..., -1], x[i, i]

@case(torch.randint(0, 9, (3, 3)))
def numbers(x): return x + True, x * 2.5, 3 - x, x / 2, x // 2, x % 2, x ** 2, x & 3, x << 1, ~x, torch.where(x > 2, x, 0.)

@case(R(2, 4).to(torch.bfloat16))
class Half(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.Linear(4, 3).to(torch.bfloat16)
    def forward(self, x): return self.l(x), x.to(torch.int32), x.half(), x > 0

@case(R(2, 3))
class Regions(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.Linear(3, 3)
    def forward(self, x):
        with torch.no_grad(): y = self.l(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = self.l(x)
            with torch.autocast("cpu", enabled=False): w = x @ x.T
            e = F.mse_loss(z, x)
        return y, z, w, e

@case(R(2, 6, 4), dec=True)
class Recurrent(nn.Module):
    def __init__(self): super().__init__(); self.l, self.a = nn.LSTM(4, 5, batch_first=True), nn.MultiheadAttention(5, 1, batch_first=True)
    def forward(self, x): y, h = self.l(x); return self.a(y, y, y)[0], h

@case(R(3, 8), R(3, 8), torch.rand(3) * .1 + .01, torch.randint(-5, 5, (3,)))
def quantized(x, w, s, z):
    q, i8 = torch.ops.quantized_decomposed, (-128, 127, torch.int8)
    a, c = q.quantize_per_tensor(x, .1, 3, *i8), q.quantize_per_channel(w, s, z, 0, *i8)
    s1, z1 = q.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
    s2, z2 = q.choose_qparams_per_token_asymmetric(x, torch.int8)
    e, t = q.quantize_per_tensor.tensor(x, s1, z1, *i8), q.quantize_per_token(x, s2, z2, *i8)
    g, zero = torch.full((3, 2), .1), torch.zeros(3, 2, dtype=torch.int64)
    u = q.quantize_per_channel_group(w, g, zero, -8, 7, torch.int8, 4)
    return (a, q.dequantize_per_tensor(a, .1, 3, *i8), c, q.dequantize_per_channel(c, s, z, 0, *i8), q.dequantize_per_channel(c, s, None, 0, *i8),
            e, q.dequantize_per_tensor.tensor(e, s1, z1, *i8), t, q.dequantize_per_token(t, s2, z2, *i8, torch.float32),
            q.choose_qparams_symmetric.tensor(x, -128, 127, 1e-5, torch.int8), q.choose_qparams_per_token(x, torch.int8), u,
            q.dequantize_per_channel_group(u, g, zero, -8, 7, torch.int8, 4, torch.float32), q.fake_quant_per_channel(x, s, z, 0, -3, 3),
            q.quantize_per_tensor(x, .05, 128, 0, 255, torch.uint8), q.quantize_per_tensor(x.half(), .001, 0, -32768, 32767, torch.int16))


class Scaled(nn.Module):
    """A layer as PT2E leaves it: weights are bytes, activations are rounded before it. by: function from the tensor to the
    rounding."""
    def __init__(self, layer, by):
        super().__init__()
        w, n = layer.weight.detach(), layer.weight.shape[0]
        s = w.abs().reshape(n, -1).amax(1) / 127
        self.layer, self.by = [layer], by
        self.register_buffer("w", torch.clamp(torch.round(w / s.view(-1, *[1] * (w.dim() - 1))), -127, 127).to(torch.int8))
        self.register_buffer("s", s)
        self.register_buffer("z", torch.zeros(n, dtype=torch.int64))
        self.bias = nn.Parameter(layer.bias.detach()) if layer.bias is not None else None

    def forward(self, x):
        q, l = torch.ops.quantized_decomposed, self.layer[0]
        w = q.dequantize_per_channel(self.w, self.s, self.z, 0, -127, 127, torch.int8)
        if isinstance(l, nn.Linear): return F.linear(self.by(x), w, self.bias)
        f = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[w.dim()]
        return f(self.by(x), w, self.bias, l.stride, l.padding, l.dilation, l.groups)


def fixed(s, z, low, high, dtype):
    q = torch.ops.quantized_decomposed
    return lambda x: q.dequantize_per_tensor(q.quantize_per_tensor(x, s, z, low, high, dtype), s, z, low, high, dtype)

def by_range(x):
    q, i8 = torch.ops.quantized_decomposed, (-128, 127, torch.int8)
    s, z = q.choose_qparams.tensor(x, -128, 127, 0.000244140625, torch.int8)
    return q.dequantize_per_tensor.tensor(q.quantize_per_tensor.tensor(x, s, z, *i8), s, z, *i8)

@case(R(2, 3, 12, 11))
class PT2E(nn.Module):
    """Both kinds of bytes, followed by a clamp and rounding, a sum, or another rounding of the same floats."""
    def __init__(self):
        super().__init__()
        u, i = fixed(.0301, 131, 0, 255, torch.uint8), fixed(.0523, -7, -128, 127, torch.int8)
        self.a, self.b = Scaled(nn.Conv2d(3, 20, 3, 2, 1), u), Scaled(nn.Conv2d(20, 20, 3, padding=1, groups=20, bias=False), u)
        self.c, self.d = Scaled(nn.Conv2d(20, 12, (1, 2), dilation=(1, 2)), i), Scaled(nn.Conv2d(12, 12, 3, padding=1, groups=2), i)
        self.e, self.f = Scaled(nn.Conv1d(12, 8, 3, padding=2, dilation=2), i), Scaled(nn.Conv3d(2, 6, (3, 1, 2), padding=(1, 0, 1)), u)
        self.g, self.h, self.r = Scaled(nn.Linear(24, 9), u), Scaled(nn.Linear(9, 5, bias=False), i), fixed(.0523, -7, -128, 127, torch.int8)
    def forward(self, x):
        y = F.relu6(self.b(F.relu(self.a(x))))
        c = self.c(y)
        d = self.r(c) + F.relu(self.d(c))
        l = self.e(d.flatten(2))
        v = self.f(d.view(2, 2, 6, 6, -1))
        return d, l, v, self.h(self.g(d.flatten(2)).clamp(min=-.3, max=.4))

@case(R(5, 16))
class PT2EDynamic(nn.Module):
    def __init__(self): super().__init__(); self.a, self.b, self.c = Scaled(nn.Linear(16, 33), by_range), Scaled(nn.Linear(33, 7, bias=False), by_range), Scaled(nn.Conv2d(1, 4, 3, padding=1), by_range)
    def forward(self, x): return self.b(F.relu(self.a(x))), self.c(x[None, None])

@case(R(3, 64))
class Torchao(nn.Module):
    """Weights whose classes in torchao wrap tensors of 8 bits, in groups, and activations that are rounded by token."""
    def __init__(self):
        super().__init__()
        import torchao.quantization as t
        self.a, self.b, self.c = (nn.Sequential(nn.Linear(64, 64)) for _ in range(3))
        t.quantize_(self.a, t.Int8WeightOnlyConfig())
        t.quantize_(self.b, t.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=t.PerGroup(32)))
        t.quantize_(self.c, t.Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=t.PerGroup(16)))
    def forward(self, x): return self.c(self.b(self.a(x)))

@case(torch.randint(-128, 128, (24, 32), dtype=torch.int8), torch.randint(-128, 128, (32, 8), dtype=torch.int8))
def int_products(a, b): return torch._int_mm(a, b)


# ---- recording ------------------------------------------------------------------------------------------------------------------

def leaves(key, v, out):
    if isinstance(v, torch.Tensor):
        t = v.detach().contiguous()
        out[key] = t.view(torch.int16).numpy().view("V2") if t.dtype == torch.bfloat16 else t.numpy()
    elif isinstance(v, (dict, list, tuple)):
        for k, part in v.items() if isinstance(v, dict) else enumerate(v): leaves(f"{key}.{k}", part, out)
    elif v is not None:
        out[key] = np.array(v, {bool: bool, int: np.int64, float: np.float64}[type(v)])


def without_places(program):
    """Removes from stack traces the folders of PyTorch and of this file."""
    for m in program.graph_module.modules():
        for n in getattr(getattr(m, "graph", None), "nodes", ()):
            for k in ("stack_trace",):
                if n.meta.get(k): n.meta[k] = re.sub(r'"[^"\n]*/(torch/[^"\n]*|[^"/\n]*)"', r'"\1"', n.meta[k])

@case(R(3, 160), dyn={"x": {0: D}}, more=[[R(1, 160)], [R(9, 160)]])
class Float8Weights(nn.Module):
    """Rows of float8_e4m3fn, each with a scale, and a tensor of float8_e5m2 with one scale. Both keep their 8 bits in a program.
    """
    def __init__(self):
        super().__init__()
        # few different numbers keep the archive small
        def some(n, k): return torch.tan(torch.arange(n * k) * 7919 % 251 / 251. - 0.5).reshape(n, k)
        w, v = some(128, 160), some(128, 128)
        self.register_buffer("scale", w.abs().amax(1, keepdim=True) / 448)
        self.register_buffer("w", (w / self.scale).to(torch.float8_e4m3fn))
        self.register_buffer("v", (v * 8).to(torch.float8_e5m2))
    def forward(self, x): return (torch.relu(x @ (self.w.t().to(torch.float32) * self.scale.t()))) @ (self.v.to(torch.float32).t() * 0.01)

FLOATS8 = torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz
UNSIGNED = torch.uint16, torch.uint32, torch.uint64
@case(R(2, 8) * 90, torch.randint(0, 60000, (2, 8)), more=[[R(2, 8) * 9, torch.randint(0, 9, (2, 8))]], dec=True)
class Stored(nn.Module):
    """Dtypes that PyTorch only stores, copies and casts: constants, casts in both directions, views, cats, indices."""
    def __init__(self):
        super().__init__()
        for d in FLOATS8 + UNSIGNED: self.register_buffer(str(d)[6:], (torch.arange(8) * 5).to(torch.float32).to(d))
    def forward(self, x, n):
        out = []
        for d in FLOATS8:
            y = torch.cat([x.to(d), getattr(self, str(d)[6:])[None]]).t().contiguous()
            out += [y.to(torch.float32), y.view(torch.uint8)[1:], torch.where(x > 0, x, x.to(d).to(torch.float32)), y[:, 0] == y[:, 1]]
        for d in UNSIGNED:
            y = torch.stack([n.to(d), getattr(self, str(d)[6:]).expand(2, 8)], 1)
            out += [y.to(torch.int64), y[0, 0] * 3, torch.maximum(y[:, 0], y[:, 1]), y.to(torch.float32).sqrt(), y[:, 0] & 7, y.sum(2)]
        return out


def record(top, name, program, calls, names, seq):
    where = os.path.join(top, name)
    os.makedirs(where)
    without_places(program)
    path = os.path.join(where, "model.pt2")
    torch.export.save(program, path)
    json.dump({"test": name, **({"sequence": True} if seq else {})}, open(os.path.join(where, "meta.json"), "w"))
    model = torch.export.load(path).module()
    for i, (args, kwargs) in enumerate(calls, 1):
        given, got = {}, {}
        for n, v in [*zip(names, args), *kwargs.items()]: leaves(n, v, given)
        np.savez(os.path.join(where, f"{i}.in.npz"), **given)
        model = model if seq else torch.export.load(path).module()
        with torch.no_grad(): leaves("out", model(*copy.deepcopy(args), **kwargs), got)
        np.savez(os.path.join(where, f"{i}.out.npz"), **got)


def make(top, name, what, inputs, o):
    torch.manual_seed(0)
    module = what() if inspect.isclass(what) else type(name, (nn.Module,), {})()
    if not inspect.isclass(what): module.forward = what
    module.train(o["train"])
    names = [n for n in inspect.signature(module.forward).parameters]
    program = torch.export.export(module, inputs, o["kwargs"], dynamic_shapes=o["dyn"])
    calls = [(tuple(a), o["kwargs"]) for a in (inputs, *o["more"])]
    record(top, name, program, calls, names, o["seq"])
    if o["dec"]: record(top, name + "_dec", program.run_decompositions(), calls, names, o["seq"])


def main(only):
    with tempfile.TemporaryDirectory() as top:
        for name, what, inputs, o in CASES:
            if not only or name in only: make(top, name, what, inputs, o)
        with tarfile.open(os.path.join(HERE, "..", "pt2", "cases.tar.xz"), "w:xz") as tar:
            for folder, _, files in sorted(os.walk(top)):
                for f in sorted(files):
                    path = os.path.join(folder, f)
                    entry = tarfile.TarInfo(os.path.relpath(path, top))
                    entry.size = os.path.getsize(path)
                    with open(path, "rb") as data: tar.addfile(entry, data)


if __name__ == "__main__":
    main(sys.argv[1:])
