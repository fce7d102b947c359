#!/usr/bin/env python3
"""A recurrent net that decides itself how many steps to compute (adaptive computation time, Graves 2016).

The loop ends when every row's halting probabilities add up to one, so its trip count depends on the data.
"""
import os, sys
import torch
from torch import Tensor, nn

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from record import record


class Halting(nn.Module):
    def __init__(self, inputs: int, hidden: int, limit: int):
        super().__init__()
        self.cell = nn.GRUCell(inputs, hidden)
        self.halt = nn.Linear(hidden, 1)
        self.out = nn.Linear(hidden, 4)
        self.limit = limit

    def forward(self, x: Tensor):
        h = torch.zeros(x.size(0), self.cell.hidden_size)
        answer = torch.zeros_like(h)
        left = torch.ones(x.size(0))
        steps = 0
        while bool((left > 0.01).any()) and steps < self.limit:
            h = self.cell(x, h)
            p = torch.minimum(torch.sigmoid(self.halt(h)).squeeze(1), left)
            answer = answer + p[:, None] * h
            left = left - p
            steps += 1
        return self.out(answer), steps


torch.manual_seed(3)
record(__file__, Halting(16, 48, 20), x=torch.randn(5, 16))
