"""Makes many.pt: a module with state, methods of all kinds of arguments and results.  Needs PyTorch (1.13)."""
import os
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(0, 3))

    def forward(self, x: Tensor) -> Tensor:
        self.cache = torch.cat([self.cache, x])
        return self.cache


class Many(nn.Module):
    kept: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2, 3))
        self.count = 0
        self.kept = None
        self.inner = Inner()

    def forward(self, x: Tensor) -> Tensor:
        self.total += x
        self.count += 1
        return self.total * self.count

    @torch.jit.export
    def grow(self, x: Tensor) -> Tensor:
        return self.inner(x)

    @torch.jit.export
    def describe(self, name: str, values: List[float], parts: Dict[str, Tensor], more: Optional[Tensor] = None,
                 n: int = 2) -> Tuple[str, Dict[str, Tensor], List[Tensor], Optional[Tensor]]:
        out: Dict[str, Tensor] = {}
        for key, value in parts.items():
            out[key + name] = value * sum(values)
        return name + str(n), out, [torch.tensor(n), torch.tensor(values)], more

    @torch.jit.export
    def keep(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        before = self.kept
        self.kept = x
        return x, torch.zeros(1) if before is None else before.t()

    @torch.jit.export
    def write(self, x: Tensor) -> Tensor:
        return x.add_(1).sum()

    @torch.jit.export
    def refuse(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            raise ValueError("no sums above zero")
        return x.reshape(7)

    @torch.jit.export
    def draw(self) -> Tensor:
        return torch.rand(3)

    @torch.jit.export
    def say(self, x: Tensor) -> Tensor:
        print("x is", x.size(0))
        return x > 0


if __name__ == "__main__":
    torch.jit.script(Many().eval()).save(os.path.join(os.path.dirname(os.path.abspath(__file__)), "many.pt"))
