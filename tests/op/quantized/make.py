#!/usr/bin/env python3
"""Makes this folder's model: a quantized net with a view between a convolution and a product, and PyTorch's answer."""
import os
import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.conv, self.head = torch.nn.Conv2d(3, 1, 3), torch.nn.Linear(64, 10)

    def forward(self, x):
        y = self.conv(self.quant(x))
        z = self.head(y.view(-1, 64).contiguous())
        return self.dequant(z), self.dequant(y.view(8, 8))


torch.manual_seed(0)
torch.backends.quantized.engine = "qnnpack"
model = Net().eval()
model.qconfig = torch.ao.quantization.get_default_qconfig("qnnpack")
model = torch.ao.quantization.prepare(model)
x = torch.rand(1, 3, 10, 10)
model(x)
model = torch.jit.script(torch.ao.quantization.convert(model))
model.save(os.path.join(HERE, "model.pt"))
np.savez(os.path.join(HERE, "in.npz"), x=x.numpy())
np.savez(os.path.join(HERE, "out.npz"), **{f"out.{k}": v.numpy() for k, v in enumerate(model(x))})
