#!/usr/bin/env python3
"""Makes this folder's model: a quantized net of all operators that specialized code computes in integers, and PyTorch's answers
(2.15, since Debian's only has QNNPACK, which rounds products differently)."""
import os
import sys
from typing import List
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from saved import save


def steps(x: torch.Tensor) -> List[torch.Tensor]:
    """Results halfway between two integers: for whole vectors, and for odd zero points."""
    q, r = torch.quantize_per_tensor(x, 0.05, 61, torch.quint8), torch.quantize_per_tensor(x.flip([0]), 0.03, -5, torch.qint8)
    p = torch.quantize_per_tensor(x.flip([0]), 0.03, 93, torch.quint8)
    rows = q.reshape(17, 8, 16)
    return [torch.ops.quantized.add(q, p, 0.07, 3), torch.ops.quantized.mul(q, p, 0.07, 61), torch.ops.quantized.mul_relu(r, r, 0.07, -61),
            torch.ops.quantized.hardswish(q, 0.03, 70), torch.ops.quantized.leaky_relu(q, 0.1, False, 0.04, 50), F.leaky_relu(r, 0.1),
            torch.ops.quantized.threshold(q, 0.5, 0.2), torch.ops.quantized.sigmoid(q, 0.0039, 3), F.hardsigmoid(r), torch.tanh(q),
            F.avg_pool2d(rows, 2), F.avg_pool2d(rows.reshape(1, 17, 8, 16).contiguous(memory_format=torch.channels_last), 2, 1, 1),
            F.adaptive_avg_pool2d(rows, [3, 5]), torch.mean(rows, [1, 2]), torch.std(rows, [1, 2]), torch.std(rows, [0], keepdim=True)]


def layer(i, o, **more):
    return nn.Sequential(nn.Conv2d(i, o, bias=o % 2 == 0, **more), nn.ReLU())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.first, self.wide = layer(3, 20, kernel_size=5, stride=2, padding=2), nn.Conv2d(20, 70, (3, 2), padding=(1, 0), dilation=(1, 2))
        self.depth = layer(70, 70, kernel_size=3, padding=1, groups=70)
        self.groups, self.narrow = layer(70, 40, kernel_size=3, stride=(1, 2), padding=1, groups=10), nn.Conv2d(70, 40, 1, stride=(1, 2))
        self.line = nn.Sequential(nn.Conv1d(3, 20, 5, stride=2, padding=2), nn.ReLU(), nn.Conv1d(20, 20, 3, padding=2, dilation=2, groups=20))
        self.volume = nn.Sequential(nn.Conv3d(3, 12, 3, stride=(1, 2, 1), padding=1), nn.ReLU(), nn.Conv3d(12, 12, (3, 1, 2), groups=12))
        self.up1, self.up2 = nn.ConvTranspose1d(20, 9, 4, stride=2, padding=1), nn.ConvTranspose2d(20, 14, (4, 3), stride=(2, 1), padding=(1, 0), groups=2)
        self.up3 = nn.ConvTranspose3d(12, 5, 3, stride=(2, 1, 2), padding=1, output_padding=(1, 0, 0), bias=False)
        self.add, self.join, self.scale = nn.quantized.FloatFunctional(), nn.quantized.FloatFunctional(), nn.quantized.FloatFunctional()
        self.head = nn.Sequential(nn.Linear(240, 33), nn.ReLU(), nn.Linear(33, 5))

    def forward(self, x):
        given = x
        x = self.quant(x)
        line, volume = self.line(x[:, :, 0]), self.volume(x.reshape(2, 3, 3, 7, 18))
        first = self.first(x)
        more = (self.dequant(line), self.dequant(self.up1(line)), self.dequant(volume), self.dequant(self.up3(volume)), self.dequant(self.up2(first)),
                self.dequant(self.scale.mul_scalar(first, 1.5)), self.dequant(self.scale.mul_scalar(first, -0.5)),
                self.dequant(self.scale.add_scalar(first, 0.7)), self.dequant(self.scale.add_scalar(line, -0.1)),
                self.dequant(torch.cat([first, self.scale.mul_scalar(first, 1.5)], 1)))
        x = self.wide(F.max_pool2d(first, 3, 2, 1))
        x = self.depth(x)
        x = self.add.add_relu(self.groups(x), self.narrow(x))
        a, b = x.chunk(2, 1)
        c = torch.clone(b)
        c.fill_(0.25)
        written, other = torch.clone(x), torch.quantize_per_tensor(self.dequant(x) * 2., 0.11, 3, torch.quint8)
        written[1].fill_(0.6)                         # a write through a view
        other[0].relu_()
        copied = torch.quantize_per_tensor(self.dequant(x), 0.09, 1, torch.quint8).copy_(other)          # a copy with its scale
        moved = [x.flip([3]), torch.index_select(x, 1, torch.tensor([7, 0, 7])), torch.max(x, 1)[0], a, torch.clone(b.contiguous()).copy_(self.dequant(a).contiguous() * 2.), c,
                 F.interpolate(x, scale_factor=2., mode="bilinear", align_corners=False), F.pad(x, [1, 1, 2, 0], mode="reflect"),
                 F.hardsigmoid(x), torch.sigmoid(x), torch.relu(x[:, 1]), written, copied, torch.clamp(x, min=0.3)]
        x = self.join.cat([F.adaptive_avg_pool2d(x, [1, 3]), F.max_pool2d(x, 2, 1)[:, :, :1, :1].repeat(1, 1, 1, 3)], 3)
        moved.extend(steps(given.flatten()[:2176]))
        return self.dequant(self.head(torch.flatten(x, 1))), self.dequant(x.permute(0, 2, 3, 1).contiguous()), [y.dequantize() for y in moved], more


torch.manual_seed(0)
torch.backends.quantized.engine = "fbgemm"
model = Net().eval()
torch.ao.quantization.fuse_modules(model, [["first.0", "first.1"], ["depth.0", "depth.1"], ["groups.0", "groups.1"], ["head.0", "head.1"], ["line.0", "line.1"], ["volume.0", "volume.1"]], inplace=True)
model.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
for up in (model.up1, model.up2, model.up3): up.qconfig = torch.ao.quantization.QConfig(model.qconfig.activation, torch.ao.quantization.default_weight_observer)
model = torch.ao.quantization.prepare(model)
x = torch.randn(2, 3, 21, 18)
with torch.no_grad(): model(x)
model = torch.jit.script(torch.ao.quantization.convert(model))
save(model, os.path.join(HERE, "model.pt"))
np.savez(os.path.join(HERE, "in.npz"), x=x.numpy())
with torch.no_grad(): *head, moved, more = model(x)
np.savez(os.path.join(HERE, "out.npz"), **{f"out.{k}": v.numpy() for k, v in enumerate(head)}, **{f"out.2.{k}": v.numpy() for k, v in enumerate(moved)},
                              **{f"out.3.{k}": v.numpy() for k, v in enumerate(more)})
