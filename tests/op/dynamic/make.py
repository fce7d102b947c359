#!/usr/bin/env python3
"""Makes this folder's model: layers whose inputs are quantized by their own range, and PyTorch's answers (2.15, with
FBGEMM)."""
import os
import sys
import numpy as np
import torch
import torch.nn as nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from saved import save
Q = torch.ao.quantization


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.channels, self.bare = nn.Linear(24, 70), nn.Linear(70, 33), nn.Linear(33, 5, bias=False)
        self.rnn, self.other = nn.LSTM(33, 20, 2, bidirectional=True, batch_first=True), nn.GRU(40, 7)
        self.cell, self.gru, self.tanh, self.relu = nn.LSTMCell(24, 70), nn.GRUCell(24, 70), nn.RNNCell(24, 70), nn.RNNCell(24, 70, nonlinearity="relu")
        self.low, self.halves, self.pair = nn.Linear(24, 70), nn.LSTM(24, 35, bidirectional=True), nn.GRU(24, 70)

    def forward(self, x):
        a = torch.relu(self.first(x))
        b = self.channels(a)
        c, (h, _) = self.rnn(b)
        d, _ = self.other(c)
        e, _ = self.halves(x)
        f, _ = self.pair(x)
        one, state = x[:, 1], a[:, 2]
        g, i = self.cell(one, (state, state))
        cells = [g, i, self.gru(one, state), self.tanh(one, state), self.relu(one, state)]
        return a, b, self.bare(b), c, h, d, self.first(x * 1e-4), self.first(torch.zeros_like(x)), self.first(x[:, :1].abs()), self.low(x), e, f, cells


torch.manual_seed(0)
torch.backends.quantized.engine = "fbgemm"
usual, half = Q.default_dynamic_qconfig, Q.float16_dynamic_qconfig
model = torch.jit.script(Q.quantize_dynamic(Net().eval(), {
    nn.Linear: usual, nn.LSTM: usual, nn.GRU: usual, nn.LSTMCell: usual, nn.GRUCell: usual, nn.RNNCell: usual,
    "channels": Q.per_channel_dynamic_qconfig, "low": half, "halves": half, "pair": half}))
save(model, os.path.join(HERE, "model.pt"))
x = torch.randn(3, 6, 24)
np.savez(os.path.join(HERE, "in.npz"), x=x.numpy())
with torch.no_grad():
    *all, cells = model(x)
    np.savez(os.path.join(HERE, "out.npz"), **{f"out.{k}": v.numpy() for k, v in enumerate(all)}, **{f"out.12.{k}": v.numpy() for k, v in enumerate(cells)})
