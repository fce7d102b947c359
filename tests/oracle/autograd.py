#!/usr/bin/python3
"""tests/oracle/autograd.py - torch.autograd.grad in models, and gradients of that, by PyTorch and by Kiln

Results are compared, and (second order) gradients of all parameters.
"""
import argparse, os, subprocess, sys, tempfile
import numpy as np
import torch

ap = argparse.ArgumentParser()
ap.add_argument("--kiln", default="build/kiln")
a = ap.parse_args()


class Energy(torch.nn.Module):
    """Forces are the gradient of an energy, as in molecular models."""
    def __init__(self):
        super().__init__()
        self.a, self.n, self.b = torch.nn.Linear(3, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 1)

    def forward(self, pos: torch.Tensor):
        pos.requires_grad_()
        e = self.b(torch.tanh(self.n(self.a(pos.unsqueeze(0) - pos.unsqueeze(1))))).sum()
        for i in range(pos.size(0)):
            if bool(pos[i].sum() > 0):
                e = e + (pos[i] ** 3).sum()
        g = torch.autograd.grad([e], [pos], create_graph=True)[0]
        assert g is not None
        return e, -g


class Penalty(torch.nn.Module):
    """The norm of a gradient is a loss."""
    def __init__(self):
        super().__init__()
        self.c, self.bn = torch.nn.Conv2d(2, 4, 3, padding=1), torch.nn.BatchNorm2d(4)
        self.d, self.l = torch.nn.Conv2d(4, 4, 2, stride=2, groups=2), torch.nn.Linear(16, 1)

    def forward(self, x: torch.Tensor):
        x.requires_grad_(True)
        y = torch.nn.functional.avg_pool2d(self.d(torch.nn.functional.silu(self.bn(self.c(x)))), 2).flatten(1)
        y = torch.nn.functional.softplus(self.l(y))
        g = torch.autograd.grad([y.sum()], [x], create_graph=True)[0]
        assert g is not None
        return y, ((g.flatten(1).norm(2, 1) - 1) ** 2).mean()


class Parameters(torch.nn.Module):
    """Gradients by parameters, and of a gradient; not differentiable further."""
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)

    def forward(self, x: torch.Tensor):
        y = self.b(torch.tanh(self.a(x))).sum()
        g = torch.autograd.grad([y], [self.a.weight], create_graph=True)[0]
        assert g is not None
        w = torch.autograd.grad([(g * g).sum()], [self.a.weight, self.b.bias], None, True, False, True)
        return y, g, w[0]


def run(*args):
    p = subprocess.run(args, capture_output=True, text=True)
    if p.returncode:
        sys.exit(p.stderr)


worst = 0.
for make, size in ((Energy, (5, 3)), (Penalty, (3, 2, 8, 8)), (lambda: Penalty().eval(), (3, 2, 8, 8)), (Parameters, (4, 3))):
    torch.manual_seed(0)
    m = torch.jit.script(make())
    with tempfile.TemporaryDirectory() as d:
        model, data, out, grad, prog = (os.path.join(d, n) for n in ("m.pt", "in.npz", "out.npz", "grad.npz", "prog"))
        m.save(model)
        x = np.random.RandomState(1).randn(*size).astype("f")
        np.savez(data, **{m.forward.schema.arguments[1].name: x})
        with torch.jit.optimized_execution(False):
            want = m(torch.from_numpy(x.copy()))
        sum(w.sum() for w in want if w.requires_grad).backward()
        wanted = {"out.%d" % i: w.detach() for i, w in enumerate(want)}
        wanted.update({k: p.grad for k, p in m.named_parameters() if p.grad is not None})
        for built in (False, True):
            if built:
                run(a.kiln, "build", model, "-i", data, "--grad", "params", "-o", prog)
                run(prog, "-i", data, "-o", out, "--grad-out", grad)
            else:
                run(a.kiln, "run", model, "-i", data, "-o", out, "--grad", "params", "--grad-out", grad)
            got = dict(np.load(out))
            got.update(np.load(grad))
            for k, w in wanted.items():
                off = float((torch.from_numpy(got[k]) - w).abs().max() / w.abs().max().clamp_min(1)) if k in got else float(w.abs().max())
                worst = max(worst, off)
                if not off < 1e-4:
                    print(m.original_name, k, "off by", off)
print("worst", worst)
sys.exit(not worst < 1e-4)
