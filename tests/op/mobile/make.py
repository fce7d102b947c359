#!/usr/bin/env python3
"""Makes this folder's model: convolutions and products as optimize_for_mobile rewrites them (XNNPACK's operators on packed
parameters), and PyTorch's answer."""
import os
import numpy as np
import torch
from torch.utils.mobile_optimizer import optimize_for_mobile

HERE = os.path.dirname(os.path.abspath(__file__))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1, stride=2)
        self.depth = torch.nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=8)
        self.up = torch.nn.ConvTranspose2d(8, 6, 2, stride=2)
        self.head = torch.nn.Linear(6, 5)

    def forward(self, x):
        y = torch.nn.functional.relu6(self.depth(torch.relu(self.first(x))))
        y = torch.relu(self.up(y)).mean([2, 3])
        return self.head(y), torch.nn.functional.hardtanh(self.head(y * 4), -0.5, 0.25)


torch.manual_seed(0)
model = optimize_for_mobile(torch.jit.script(Net().eval()))
x = torch.randn(2, 3, 12, 10)
model.save(os.path.join(HERE, "model.pt"))
np.savez(os.path.join(HERE, "in.npz"), x=x.numpy())
np.savez(os.path.join(HERE, "out.npz"), **{f"out.{k}": v.numpy() for k, v in enumerate(model(x))})
