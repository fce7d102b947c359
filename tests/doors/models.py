"""Makes cases.tar.xz: small modules, each saved by torch.jit.script, torch.jit.trace and torch.export, with an input and
eager PyTorch's answer. Needs PyTorch 2.15 and NumPy; with a folder and names, writes the cases of these there instead.

    python3 -c 'exec(compile(open("models.py").read(), "models.py", "exec"))' [FOLDER NAME...]

so that the archives know this file by its name alone.
"""
import inspect, io, json, os, sys, tarfile, tempfile, warnings, zipfile
warnings.filterwarnings("ignore")
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

R = torch.randn
CASES = {}


def case(*inputs):
    def add(cls):
        CASES[cls.__name__] = (cls, inputs)
        return cls
    return add


def known(name, inputs, make):
    CASES[name] = (make, tuple(inputs))


def conv(kind, i, o, k=3, s=1, g=1):
    norm = {nn.Conv1d: nn.BatchNorm1d, nn.Conv2d: nn.BatchNorm2d, nn.Conv3d: nn.BatchNorm3d}[kind]
    return nn.Sequential(kind(i, o, k, s, k // 2, groups=g, bias=False), norm(o), nn.ReLU())


known("Mlp", [R(3, 8)], lambda: nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(), nn.Linear(16, 4)))
known("Conv1d", [R(2, 3, 20)], lambda: nn.Sequential(conv(nn.Conv1d, 3, 8), conv(nn.Conv1d, 8, 8, 5, 2), nn.AdaptiveAvgPool1d(1), nn.Flatten()))
known("Conv2d", [R(1, 3, 9, 9)], lambda: nn.Sequential(conv(nn.Conv2d, 3, 8), nn.MaxPool2d(2), conv(nn.Conv2d, 8, 8, 1), nn.Flatten(), nn.Linear(128, 3)))
known("Conv3d", [R(1, 2, 4, 5, 5)], lambda: nn.Sequential(conv(nn.Conv3d, 2, 4), conv(nn.Conv3d, 4, 4, 3, 2), nn.AdaptiveAvgPool3d(1)))
known("Depthwise", [R(1, 8, 7, 7)], lambda: nn.Sequential(conv(nn.Conv2d, 8, 8, 3, 1, 8), conv(nn.Conv2d, 8, 16, 1), nn.Hardswish()))
known("Transposed", [R(1, 8, 4, 4)], lambda: nn.Sequential(nn.ConvTranspose2d(8, 4, 4, 2, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.ConvTranspose2d(4, 1, 3), nn.Tanh()))
known("Pools", [R(1, 4, 12, 12)], lambda: nn.Sequential(nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(2), nn.AdaptiveMaxPool2d(1)))
known("Resized", [R(1, 2, 5, 5)], lambda: nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(2, 4, 3), nn.PixelShuffle(2), nn.Upsample(size=(7, 9), mode="bilinear")))
known("GroupNorm", [R(2, 8, 5, 5)], lambda: nn.Sequential(nn.Conv2d(8, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(), nn.InstanceNorm2d(8, affine=True)))
known("LayerNorm", [R(2, 5, 16)], lambda: nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16), nn.LayerNorm(16), nn.LogSoftmax(-1)))
known("Encoder", [R(2, 6, 16)], lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2))
known("EncoderLayer", [R(6, 2, 16)], lambda: nn.TransformerEncoderLayer(16, 2, 32, activation="gelu", norm_first=True))


@case(R(1, 8, 6, 6))
class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.n = nn.Conv2d(8, 8, 3, 1, 1), nn.Conv2d(8, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8)

    def forward(self, x: Tensor): return F.relu(self.n(self.b(F.relu(self.a(x)))) + x)


@case(R(1, 8, 6, 6))
class SqueezeExcite(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(8, 2, 1), nn.Conv2d(2, 8, 1)

    def forward(self, x: Tensor): return x * torch.sigmoid(self.b(F.relu(self.a(x.mean([2, 3], keepdim=True)))))


@case(R(1, 8, 9, 9))
class MixedConv(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(8, 8, 1)
        self.convs = nn.ModuleList([nn.Conv2d(4, 4, k, padding=k // 2, groups=4) for k in (3, 5)])

    def forward(self, x: Tensor):
        x = torch.split(self.first(x), [4, 4], 1)
        return torch.cat([c(x[i]) for i, c in enumerate(self.convs)], 1)


@case(R(1, 8, 5, 5))
class Shuffle(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = conv(nn.Conv2d, 4, 4, 1), conv(nn.Conv2d, 8, 4, 3, 1, 4)

    def forward(self, x: Tensor):
        a, b = x.chunk(2, 1)
        x = torch.cat([a, self.a(b)], 1)
        n, c, h, w = x.shape
        return self.b(x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w))


@case(R(1, 2, 8, 8))
class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.mid, self.up = conv(nn.Conv2d, 2, 4), conv(nn.Conv2d, 4, 8), nn.ConvTranspose2d(8, 4, 2, 2)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x: Tensor):
        a = self.down(x)
        return self.out(torch.cat([a, self.up(self.mid(F.max_pool2d(a, 2)))], 1))


@case(torch.randint(20, (2, 7)))
class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.l = nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 3)

    def forward(self, x: Tensor): return self.l(self.e(x).mean(1)).softmax(-1)


@case(torch.randint(20, (9,)), torch.tensor([0, 4, 6]))
class Bags(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.EmbeddingBag(20, 8, mode="sum")

    def forward(self, x: Tensor, o: Tensor): return F.relu(self.e(x, o))


@case(R(2, 5, 6))
class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.r, self.l = nn.LSTM(6, 8, 2, batch_first=True), nn.Linear(8, 3)

    def forward(self, x: Tensor): return self.l(self.r(x)[0][:, -1])


@case(R(5, 2, 6))
class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.r = nn.GRU(6, 8, bidirectional=True)

    def forward(self, x: Tensor):
        y, h = self.r(x)
        return y, h.transpose(0, 1).flatten(1)


@case(R(2, 6, 16), R(2, 4, 16))
class CrossAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, x: Tensor, y: Tensor): return self.a(x, y, y, need_weights=False)[0] + x


@case(R(2, 6, 16))
class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.o = nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x: Tensor):
        b, n, c = x.shape
        q, k, v = self.q(x).reshape(b, n, 3, 2, c // 2).permute(2, 0, 3, 1, 4).unbind(0)
        return self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, c))


@case(R(2, 5, 16))
class SwiGlu(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.g = nn.Linear(16, 24, False), nn.Linear(16, 24, False), nn.Linear(24, 16, False), nn.Parameter(torch.ones(16))

    def forward(self, x: Tensor):
        n = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.g
        return x + self.c(F.silu(self.a(n)) * self.b(n))


@case(R(1, 5, 2, 8))
class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("f", 1 / 10 ** torch.arange(0, 1, 0.25))

    def forward(self, x: Tensor):
        t = torch.arange(x.shape[1]).float()[:, None] * self.f[None]
        c, s = t.cos()[None, :, None], t.sin()[None, :, None]
        a, b = x[..., :4], x[..., 4:]
        return torch.cat([a * c - b * s, a * s + b * c], -1)


@case(R(4, 9))
class Ordered(nn.Module):
    def forward(self, x: Tensor):
        v, i = x.topk(3, -1)
        return v.softmax(-1), i, x.argmax(-1), x.sort(0)[0], x.cumsum(1)


@case(R(4, 6), R(4, 6) > 0)
class Masked(nn.Module):
    def forward(self, x: Tensor, m: Tensor):
        y = torch.where(m, x, x * 0.1).masked_fill(~m, -1.)
        return y.sum(1) / m.sum(1).clamp(min=1), y.amax(0), torch.triu(y)


@case(R(2, 3, 4), R(2, 5, 4))
class Products(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(R(4, 6))

    def forward(self, x: Tensor, y: Tensor):
        return torch.bmm(x, y.transpose(1, 2)), torch.einsum("bij,jk->bik", x, self.w), (x @ self.w).relu(), torch.outer(x[0, 0], y[0, 0])


@case(R(1, 4, 16))
class Tcn(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.ModuleList([nn.Conv1d(4, 4, 2, dilation=1 << i) for i in range(3)])

    def forward(self, x: Tensor):
        for i, c in enumerate(self.c):
            x = x + F.relu(c(F.pad(x, (1 << i, 0))))
        return x


@case(R(2, 6), R(2, 6))
class Writes(nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        z = torch.zeros_like(x)
        z[:, :3] = x[:, 3:]
        z[:, 3:].copy_(y[:, :3])
        return z.mul_(2) + x, torch.stack([x, y], 1).flip(1)


@case(R(2, 3))
class Literals(nn.Module):
    """In scripts each call makes the tensor. In the other archives it is a constant."""
    def forward(self, x: Tensor): return x * torch.tensor([0.5, 1., 2.]) + torch.full([3], 2.)


@case(R(5, 8))
class Graph(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(8, 4)
        self.register_buffer("e", torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]]))

    def forward(self, x: Tensor):
        h = self.l(x)
        return torch.zeros(5, 4).index_add(0, self.e[1], h[self.e[0]]) + h


def brief(data):
    """Returns a program without the source lines of its nodes."""
    program = json.loads(data)
    for node in program["graph_module"]["graph"]["nodes"]:
        node["metadata"] = {}
    return json.dumps(program).encode()


def stored(path):
    """Returns the archive's members uncompressed, without those that only debuggers read: xz then compresses all archives
    together."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as z, zipfile.ZipFile(out, "w") as to:
        for i in z.infolist():
            if not i.filename.endswith((".debug_pkl", "sample_inputs/model.pt")):
                to.writestr(zipfile.ZipInfo(i.filename, (1980, 1, 1, 0, 0, 0)), brief(z.read(i)) if i.filename.endswith("models/model.json") else z.read(i))
    return out.getvalue()


def arrays(values):
    out = io.BytesIO()
    np.savez(out, **{k: v.numpy() for k, v in values.items()})
    return out.getvalue()


def saved(net, inputs, tmp):
    """Saves the module in each way. Returns the archive, and the names of its arguments."""
    torch.jit.script(net).save(tmp + "/m.pt")
    yield "script.pt", stored(tmp + "/m.pt"), [a.name for a in torch.jit.load(tmp + "/m.pt").forward.schema.arguments][1:]
    torch.jit.trace(net, inputs, check_trace=False).save(tmp + "/m.pt")
    yield "trace.pt", stored(tmp + "/m.pt"), [a.name for a in torch.jit.load(tmp + "/m.pt").forward.schema.arguments][1:]
    torch.export.save(torch.export.export(net, inputs), tmp + "/m.pt2")
    yield "export.pt2", stored(tmp + "/m.pt2"), list(inspect.signature(net.forward).parameters)


def files(name):
    make, inputs = CASES[name]
    torch.manual_seed(1)
    net = make().eval().requires_grad_(False)
    for m in net.modules():
        if isinstance(m, nn.modules.batchnorm._BatchNorm):
            m.running_mean.normal_(), m.running_var.uniform_(0.5, 2), m.weight.uniform_(0.5, 2), m.bias.normal_()
    for t in (*net.parameters(), *inputs):
        if t.is_floating_point():
            t.copy_((t * 32).round() / 32)               # numbers with few bits compress well
    want = net(*inputs)
    yield "out.npz", arrays({"out": want} if isinstance(want, Tensor) else {f"out.{i}": v for i, v in enumerate(want)})
    with tempfile.TemporaryDirectory() as tmp:
        for door, data, names in saved(net, inputs, tmp):
            yield door, data
            yield door + ".npz", arrays(dict(zip(names, inputs)))


def main():
    folder, names = (sys.argv[1], sys.argv[2:] or list(CASES)) if len(sys.argv) > 1 else (None, list(CASES))
    with torch.no_grad(), tarfile.open("cases.tar.xz" if not folder else os.devnull, "w:" + ("" if folder else "xz")) as tar:
        for name in names:
            for path, data in files(name):
                if folder:
                    os.makedirs(os.path.join(folder, name), exist_ok=True)
                    with open(os.path.join(folder, name, path), "wb") as f:
                        f.write(data)
                else:
                    info = tarfile.TarInfo(f"{name}/{path}")
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))


if __name__ == "__main__":
    main()
