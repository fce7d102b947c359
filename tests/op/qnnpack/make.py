#!/usr/bin/env python3
"""Makes this folder's model: dynamic layers, LSTM, GRU and cells packed by qnnpack, whose activations have 8 bits, and PyTorch's
answer."""
import os
import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru = torch.nn.LSTM(6, 8, 2, bidirectional=True), torch.nn.GRU(16, 8)
        self.lstm_cell, self.gru_cell, self.head = torch.nn.LSTMCell(8, 8), torch.nn.GRUCell(8, 8), torch.nn.Linear(8, 4)

    def forward(self, x):
        y, _ = self.lstm(x)
        z, _ = self.gru(y)
        h, c = self.lstm_cell(z[-1])
        return y, z, h, c, self.gru_cell(h), self.head(h)


torch.manual_seed(0)
torch.backends.quantized.engine = "qnnpack"
kinds = {torch.nn.LSTM, torch.nn.GRU, torch.nn.LSTMCell, torch.nn.GRUCell, torch.nn.Linear}
x = torch.randn(5, 3, 6)
model = torch.jit.trace(torch.ao.quantization.quantize_dynamic(Net().eval(), kinds), x, check_trace=False)
model.save(os.path.join(HERE, "model.pt"))
np.savez(os.path.join(HERE, "in.npz"), x=x.numpy())
np.savez(os.path.join(HERE, "out.npz"), **{f"out.{k}": v.detach().numpy() for k, v in enumerate(model(x))})
