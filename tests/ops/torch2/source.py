"""Operators whose rounding differs between PyTorch 2.x and 1.13, in few bytes. model.pt and out.npz are made by 2.15's wheel on
an AMD processor. intel.npz has the results that differ on an Intel one, and intel_functions.npz the results of functions.pt
there. Both have AVX-512.

    python tests/ops/torch2/source.py     with that PyTorch, torchvision and numpy; then tests/paths.py --mend on the archive
    python tests/ops/torch2/source.py intel

Numbers are made of integers by one division, which is the same everywhere.
"""
import os
from typing import List

import torch
import torch.nn.functional as F
import torchvision


class Net(torch.nn.Module):
    def numbers(self, k: torch.Tensor, size: List[int]) -> torch.Tensor:
        n = 1
        for d in size:
            n *= d
        return ((torch.arange(n) * 7919 + k) % 1009).float().div(1009).sub(0.5).reshape(size)

    def product(self, k: torch.Tensor, m: int, n: int, of: int) -> List[torch.Tensor]:
        a, w, b = self.numbers(k, [m, of]), self.numbers(k + 1, [n, of]), self.numbers(k + 2, [n])
        t = w.t().contiguous()
        return [F.linear(a, w, b), F.linear(a, w), torch.mm(a, t), torch.bmm(a[None], t[None])]

    def resized(self, k: torch.Tensor, of: List[int], to: List[int], align: bool) -> torch.Tensor:
        return F.interpolate(self.numbers(k, of), size=to, mode="bilinear", align_corners=align)

    def forward(self, k):
        r: List[torch.Tensor] = []
        for m in [1, 2, 3, 12]:
            r += self.product(k, m, 16, 50) + self.product(k, m, 16, 300)
        r += self.product(k, 12, 16, 500) + self.product(k, 16, 8, 64)
        r.append(F.linear(self.numbers(k, [1, 64]), self.numbers(k + 1, [129, 64])))
        r += [self.resized(k, [1, 9, 6, 7], [13, 11], False), self.resized(k, [1, 9, 6, 7], [13, 11], True)]
        r += [self.resized(k, [1, 1, 6, 7], [125, 4], False), self.resized(k, [1, 1, 40, 3], [7, 123], False)]
        r += [torch.linspace(-1, 1, 101), F.max_pool2d((self.numbers(k, [1, 1, 6, 6]) * 50).long(), 3, 2, 1)]
        rows, w = self.numbers(k, [2, 768]) * 3, self.numbers(k + 1, [768])
        r += [F.layer_norm(rows, [768], w, w), F.layer_norm(rows[:, :91], [91]), F.softmax(rows[:, :91], -1)]
        r += [torch.exp(rows), torch.tanh(rows), torch.tanh(rows * 7)] + self.product(k, 1, 11, 64) + self.product(k, 3, 10, 63)
        x, w = self.numbers(k, [1, 256, 14, 14]), self.numbers(k + 1, [8, 256, 3, 3])
        r.append(F.conv2d(x, w, self.numbers(k + 2, [8]), padding=[18, 18], dilation=[18, 18]))
        r.append(F.conv_transpose2d(self.numbers(k, [2, 200, 5, 5]), self.numbers(k + 1, [200, 8, 2, 2]), self.numbers(k + 2, [8]), stride=[2, 2]))
        boxes = torch.tensor([[0.0, 0.5, 0.7, 20.3, 19.9], [0.0, 3.3, 2.1, 31.7, 12.2]])
        r.append(torchvision.ops.roi_align(self.numbers(k, [1, 2, 16, 16]), boxes, [3, 3], 0.5, -1, True))
        return r


class Functions(torch.nn.Module):
    def forward(self, k):
        x = (((torch.arange(2000) * 7919 + k) % 16001) - 8000).float().div(997)
        return torch.exp(x), torch.log(x.abs()), torch.tan(x), torch.atan(x)


if __name__ == "__main__":
    import sys
    import numpy as np
    torch.set_num_threads(2)
    here = os.path.dirname(os.path.abspath(__file__))
    net, k = torch.jit.script(Net()), torch.tensor(17)
    if sys.argv[1:]:
        other, own = np.load(here + "/out.npz"), {f"out.{i}": y.numpy() for i, y in enumerate(net(k))}
        np.savez_compressed(here + f"/{sys.argv[1]}.npz", **{n: y for n, y in own.items() if not np.array_equal(y, other[n])})
        net = torch.jit.script(Functions())
        net.save(here + "/functions.pt")
        np.savez_compressed(here + "/intel_functions.npz", **{f"out.{i}": y.numpy() for i, y in enumerate(net(k))})
        sys.exit()
    np.savez(here + "/in.npz", k=k.numpy())
    np.savez_compressed(here + "/out.npz", **{f"out.{i}": y.numpy() for i, y in enumerate(net(k))})
    net.save(here + "/model.pt")
