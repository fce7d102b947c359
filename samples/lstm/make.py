#!/usr/bin/env python3
"""The LSTM cell, and a layer that runs it over a sequence, as TorchScript's documentation writes custom ones."""
import os, sys
from typing import List, Tuple
import torch
from torch import Tensor, nn

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from record import record


class LSTMCell(nn.Module):
    def __init__(self, inputs: int, hidden: int):
        super().__init__()
        self.weight_ih = nn.Parameter(torch.randn(4 * hidden, inputs) / inputs ** 0.5)
        self.weight_hh = nn.Parameter(torch.randn(4 * hidden, hidden) / hidden ** 0.5)
        self.bias = nn.Parameter(torch.randn(4 * hidden))

    def forward(self, x: Tensor, state: Tuple[Tensor, Tensor]) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        h, c = state
        gates = torch.mm(x, self.weight_ih.t()) + torch.mm(h, self.weight_hh.t()) + self.bias
        i, f, g, o = gates.chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, (h, c)


class LSTMLayer(nn.Module):
    def __init__(self, inputs: int, hidden: int):
        super().__init__()
        self.cell = LSTMCell(inputs, hidden)

    def forward(self, x: Tensor, state: Tuple[Tensor, Tensor]) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        outputs: List[Tensor] = []
        for step in x.unbind(0):
            out, state = self.cell(step, state)
            outputs += [out]
        return torch.stack(outputs), state


torch.manual_seed(1)
record(__file__, LSTMLayer(32, 64), x=torch.randn(10, 3, 32), state=(torch.zeros(3, 64), torch.zeros(3, 64)))
