"""Makes modules with state, which a source text cannot have: a step of attention whose caches are buffers, and a buffer that most
calls only read.

usage: make.py   (needs PyTorch; writes cached.pt and scaled.pt here)
"""
import os

import torch

HERE = os.path.dirname(os.path.abspath(__file__))


class Cached(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(16, 48)
        self.out = torch.nn.Linear(16, 16)
        self.register_buffer("keys", torch.zeros(1, 2, 12, 8))
        self.register_buffer("values", torch.zeros(1, 2, 12, 8))
        self.register_buffer("last", torch.zeros(1, 1, 16))

    def forward(self, x, at):
        q, k, v = self.qkv(x + self.last).view(1, 1, 6, 8).transpose(1, 2).split(2, 1)
        self.keys.index_copy_(2, at, k)
        self.values.index_copy_(2, at, v)
        hidden = torch.zeros(1, 12).masked_fill(torch.arange(12) > at, float("-inf"))
        a = torch.softmax(torch.matmul(q, self.keys.transpose(2, 3)) * 0.35 + hidden, -1)
        self.last = self.out(torch.matmul(a, self.values).transpose(1, 2).reshape(1, 1, 16))
        return x + self.last

    @torch.jit.export
    def double(self):
        self.keys.mul_(2)
        return self.keys.sum()


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.arange(16) / 8)

    def forward(self, x):
        if x.size(0) > 100:
            self.scale = self.scale * 2
        return torch.relu(x * self.scale)


torch.manual_seed(0)
torch.jit.script(Cached().eval()).save(os.path.join(HERE, "cached.pt"))
torch.jit.script(Scaled().eval()).save(os.path.join(HERE, "scaled.pt"))
