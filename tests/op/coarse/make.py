#!/usr/bin/env python3
"""Writes model.pt, in.npz, out.npz: products with weights of 8 and 4 bits that are converted to floats before them, by row and by
group, with and without zero points. Usage: tests/op/coarse/make.py"""
import os

import numpy
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))


class Coarse(nn.Module):
    """A layer like torch.nn.Linear, whose weights are rounded to `bits` bits, in groups of `group` inputs."""
    def __init__(self, layer: nn.Linear, bits: int, group: int, zeros: bool):
        super().__init__()
        w = layer.weight.detach().reshape(layer.out_features, -1, group)
        low, high = (w.amin(2, True), w.amax(2, True)) if zeros else (-w.abs().amax(2, True), w.abs().amax(2, True))
        self.s = nn.Parameter((high - low) / (2 ** bits - 1 - (not zeros)), False)
        self.zeros = zeros
        z = torch.round(-low / self.s) if zeros else torch.zeros_like(low)
        q = torch.round(w / self.s) + z
        self.q = nn.Parameter(q.clamp(0, 255).to(torch.uint8) if zeros else q.to(torch.int8), False)
        self.z = nn.Parameter(z.to(torch.uint8), False)
        self.bias = layer.bias

    def forward(self, x):
        w = self.q.to(torch.float32)
        if self.zeros:
            w = w - self.z.to(torch.float32)
        return nn.functional.linear(x, (w * self.s).flatten(1), self.bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Coarse(nn.Linear(100, 180), 8, 100, False)
        self.b = Coarse(nn.Linear(180, 192), 8, 180, True)
        self.c = Coarse(nn.Linear(192, 130), 4, 32, False)
        self.d = Coarse(nn.Linear(130, 256), 4, 130, True)
        self.e = Coarse(nn.Linear(256, 70), 4, 64, True)
        self.table = nn.Parameter(torch.randint(-128, 128, (70, 300), dtype=torch.int8), False)

    def forward(self, x):
        x = torch.relu(self.b(torch.tanh(self.a(x))))
        x = self.e(self.d(torch.sigmoid(self.c(x))))
        return x, torch.mm(x.reshape(-1, 70), self.table.to(torch.float32)) * 0.02


def main():
    torch.manual_seed(0)
    net, x = Net().eval(), torch.randn(2, 3, 100)
    torch.jit.save(torch.jit.script(net), os.path.join(HERE, "model.pt"))
    with torch.no_grad():
        y, z = net(x)
    numpy.savez(os.path.join(HERE, "in.npz"), x=x.numpy())
    numpy.savez(os.path.join(HERE, "out.npz"), **{"out.0": y.numpy(), "out.1": z.numpy()})


if __name__ == "__main__":
    main()
