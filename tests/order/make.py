#!/usr/bin/env python3
"""make.py: writes net.pt and products.pt beside it and prints what order_test.py expects of it (PyTorch 1.13 as Debian has it, with the
reference BLAS; two threads, AVX-512)."""
import os, struct, sys, warnings
warnings.filterwarnings("ignore")
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from order_test import ROWS, SHAPES, checksum, number


class Net(nn.Module):
    """Every order of sums that oneDNN's convolutions have; in the result, norms, averages, products, interpolation."""
    def __init__(self):
        super().__init__()
        self.stem, self.bn = nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16)
        self.wide, self.three = nn.Conv2d(16, 48, 1), nn.Conv2d(48, 32, 3, padding=1)
        self.groups, self.depth = nn.Conv2d(32, 32, 3, padding=1, groups=2, bias=False), nn.Conv2d(32, 32, 3, 2, 1, groups=32)
        self.dilated = nn.Conv2d(32, 16, (1, 3), padding=(0, 2), dilation=(1, 2))
        self.odd, self.back = nn.Conv2d(16, 21, 1), nn.Conv2d(21, 16, 1, 2, bias=False)
        self.fc = nn.Linear(16, 40)

    def forward(self, x):
        x = F.relu(self.bn(self.stem(x)))
        x = F.relu(self.three(F.relu(self.wide(x))))
        x = F.relu(self.groups(x) + x)
        x = self.odd(self.dilated(F.relu(self.depth(x))))
        y = self.back(F.relu(x))
        up = F.interpolate(x, size=[40, 52], mode="bilinear", align_corners=False)
        return x, y, up, self.fc(torch.flatten(F.adaptive_avg_pool2d(y, 1), 1)), F.avg_pool2d(y, 3), y.sum(-1)


class Products(nn.Module):
    """Products by the reference BLAS, of weights that share their numbers, from the middle on, too."""
    def __init__(self):
        super().__init__()
        self.base = torch.tensor([number(i + 5) for i in range(21100)])
        for name, n, k in ("long", 30, 700), ("wide", 61, 300), ("steps", 50, 400), ("few", 40, 20), ("odd", 93, 50), ("plain", 40, 64):
            self.register_buffer(name, self.base[n:n + n * k].view(n, k))

    def rows(self, x, m: int, k: int):
        return x.flatten()[:m * k].view(m, k)

    def forward(self, x):
        return (F.linear(self.rows(x, 50, 700), self.long, self.base[:30]), F.relu(F.linear(self.rows(x, 48, 700), self.long)),
                F.linear(self.rows(x, 7, 300), self.wide, self.base[9:70]), F.relu(F.linear(self.rows(x, 4, 300), self.wide)),
                F.linear(self.rows(x, 30, 400), self.steps, self.base[:50]) * 2, F.linear(self.rows(x, 1, 20), self.few),
                F.linear(self.rows(x, 6, 50), self.odd) + 1, torch.mm(self.rows(x, 5, 40), self.plain),
                torch.addmm(self.base[:64], self.rows(x, 30, 40), self.plain), torch.matmul(self.rows(x, 30, 400).view(6, 5, 400), self.steps.t()))


def say(net, shape):
    x = np.array([number(i) for i in range(int(np.prod(shape)))], np.float32).reshape(shape)
    print(shape, [checksum(np.ascontiguousarray(y).tobytes()) for y in net(torch.from_numpy(x))])


if __name__ == "__main__":
    torch.set_num_threads(2)
    torch.manual_seed(3)
    net = Net().eval()
    with torch.no_grad():
        net.bn.running_mean.normal_(); net.bn.running_var.uniform_(0.5, 2); net.bn.weight.normal_(1, 0.2); net.bn.bias.normal_()
        torch.jit.script(net).save(os.path.join(os.path.dirname(os.path.abspath(__file__)), "net.pt"))
        for shape in SHAPES:
            say(net, shape)
        products = torch.jit.script(Products().eval())
        products.save(os.path.join(os.path.dirname(os.path.abspath(__file__)), "products.pt"))
        say(products, ROWS)             # its addmm is mm and add then
