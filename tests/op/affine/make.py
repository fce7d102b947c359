#!/usr/bin/env python3
"""Makes this folder's model: scales and zero points that depend on data, operators that read them, and PyTorch's answers."""
import os
import sys
import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from saved import save


class Net(torch.nn.Module):
    def forward(self, x, scale, zero):
        own = torch.quantize_per_tensor_dynamic(x, torch.quint8, False)
        narrow = torch.quantize_per_tensor_dynamic(torch.relu(x) + 3., torch.qint8, True)
        given = torch.quantize_per_tensor(x, scale, zero, torch.quint8)
        part = torch.relu(given)[:, 1:]
        return (own.q_scale(), own.q_zero_point(), own.int_repr(), narrow.q_scale(), narrow.q_zero_point(), given.q_scale(), given.q_zero_point(),
                part.q_scale(), part.q_zero_point(), part.int_repr(), torch.ops.quantized.relu6(part).int_repr(),
                torch.quantize_per_tensor(x, own.q_scale(), own.q_zero_point(), torch.quint8).int_repr())


torch.manual_seed(0)
torch.backends.quantized.engine = "fbgemm"
model = torch.jit.script(Net().eval())
save(model, os.path.join(HERE, "model.pt"))
given = {"x": torch.randn(3, 5), "scale": torch.tensor(0.125), "zero": torch.tensor(7)}
np.savez(os.path.join(HERE, "in.npz"), **{k: v.numpy() for k, v in given.items()})
answer = enumerate(model(*given.values()))
np.savez(os.path.join(HERE, "out.npz"), **{f"out.{k}": v.numpy() if torch.is_tensor(v) else np.array(v) for k, v in answer})
