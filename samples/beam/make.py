#!/usr/bin/env python3
"""Beam search over a small language model: user classes, lists that grow, dicts, and sort by a class's own __lt__."""
import os, sys
from typing import Dict, List
import torch
from torch import Tensor, nn

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from record import record


@torch.jit.script
class Hypothesis:
    def __init__(self, tokens: List[int], score: float, state: Tensor):
        self.tokens = tokens
        self.score = score
        self.state = state

    def __lt__(self, other: "Hypothesis") -> bool:
        return self.normalized() > other.normalized()         # the best hypothesis sorts first

    def normalized(self) -> float:
        return self.score / float(len(self.tokens))


class BeamSearch(nn.Module):
    def __init__(self, vocabulary: int, hidden: int):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, hidden)
        self.cell = nn.GRUCell(hidden, hidden)
        self.out = nn.Linear(hidden, vocabulary)
        self.end = 0

    def forward(self, start: Tensor, width: int = 4, limit: int = 12):
        beam = [Hypothesis([1], 0.0, start)]
        done: List[Hypothesis] = []
        lengths: Dict[int, int] = {}
        for _ in range(limit):
            grown: List[Hypothesis] = []
            for h in beam:
                state = self.cell(self.embed(torch.tensor([h.tokens[-1]])), h.state)
                best, index = torch.log_softmax(self.out(state), 1)[0].topk(width)
                for score, token in zip(best.unbind(0), index.unbind(0)):
                    grown.append(Hypothesis(h.tokens + [int(token)], h.score + float(score), state))
            grown.sort()
            beam = []
            for h in grown:
                if h.tokens[-1] == self.end:
                    done.append(h)
                    lengths[len(h.tokens)] = lengths.get(len(h.tokens), 0) + 1
                elif len(beam) < width:
                    beam.append(h)
            if len(done) >= width:
                break
        done += beam
        done.sort()
        return [h.tokens for h in done[:width]], torch.tensor([h.normalized() for h in done[:width]]), lengths


torch.manual_seed(9)
record(__file__, BeamSearch(24, 32), start=torch.randn(1, 32))
