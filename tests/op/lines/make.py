#!/usr/bin/env python3
"""Makes this folder's model: windows of lines and volumes of integers, bounds, a layer after an operator that stays a call, and a
scale and zero point that are buffers, as in torch.fx; and PyTorch's answers."""
import os
import sys
import numpy as np
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from saved import save


def layer(cls, i, o, *kernel):
    made, shape = cls(i, o, kernel), (o, i) + kernel
    made.set_weight_bias(torch.quantize_per_tensor(torch.randn(shape) * 0.2, 0.01, 0, torch.qint8), torch.randn(o))
    made.scale, made.zero_point = 0.1, 60
    return made


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor(0.05))
        self.register_buffer("zero", torch.tensor(61))
        self.line, self.volume = layer(torch.ao.nn.quantized.Conv1d, 4, 6, 3), layer(torch.ao.nn.quantized.Conv3d, 4, 6, 1, 2, 2)

    def forward(self, x):
        x = torch.quantize_per_tensor(x, self.scale, self.zero, torch.quint8)
        line, volume = x.flatten(2), x.unsqueeze(2)
        up = F.interpolate(volume, scale_factor=2., mode="nearest")
        return [y.dequantize() for y in [self.line(F.max_pool1d(line, 3, 2, 1)), F.avg_pool1d(line, 3), self.volume(up), F.max_pool3d(up, 2),
                F.avg_pool3d(up, 2), torch.clamp(line, -0.3, 0.77), self.line(torch.max(up, 2)[0].flatten(2))]]


torch.manual_seed(0)
torch.backends.quantized.engine = "fbgemm"
model = torch.jit.script(Net().eval())
save(model, os.path.join(HERE, "model.pt"))
x = torch.randn(2, 4, 5, 6)
np.savez(os.path.join(HERE, "in.npz"), x=x.numpy())
np.savez(os.path.join(HERE, "out.npz"), **{f"out.{k}": v.numpy() for k, v in enumerate(model(x))})
