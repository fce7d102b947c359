"""Makes one small model of all operators that have a GPU kernel, and of those that must work beside such kernels.

usage: make.py   (needs PyTorch; writes model.pt and in.npz here)
"""
import os
from typing import List

import numpy as np
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.bn = torch.nn.BatchNorm2d(8)
        self.deep = torch.nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8)
        self.wide = torch.nn.Conv2d(8, 12, (1, 3), dilation=(1, 2))
        self.group = torch.nn.Conv2d(12, 20, 1, groups=2)
        self.norm = torch.nn.LayerNorm(20)
        self.fc = torch.nn.Linear(20, 70)
        self.weight = torch.nn.Parameter(torch.randn(70, 9))

    def rows(self, x):
        y = x.flatten(2).transpose(1, 2)
        y = self.norm(y)
        y = F.gelu(self.fc(y)) + 1
        z = torch.matmul(y, self.weight)
        return F.softmax(z, dim=-1), F.log_softmax(z, dim=1), y

    def forward(self, x, k: int, flag):
        x = F.relu(self.bn(self.a(x)))
        p = [F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(x, [2, 3], [2, 1], [1, 1], True, False),
             F.adaptive_avg_pool2d(x, [3, 5]), F.max_pool2d(x, 2, 1, 1, 1, True)]
        x = F.hardswish(self.deep(x))
        x = self.wide(x)
        x = self.group(x).sigmoid()
        s, l, y = self.rows(x)
        r: List[torch.Tensor] = [x.mean([2, 3]), x.sum(1, keepdim=True), x.amax([0, 2]), x.amin(-1), x.mean(), y.sum(),
                                 x.max(1)[1], x.argmax(), (x > 0.5).any(-1), x.var([2, 3]), x.double().norm(), x.half().sum(-1),
                                 F.group_norm(x, 4), torch.softmax(x.to(torch.bfloat16), 1), torch.logsumexp(x, [0])]
        h = (y[:, :, ::2].half() * 1.5).float() + (y[:, :, 1::2] > 0).to(torch.int32) // 2
        state = torch.zeros(9)
        for i in range(k):
            state = torch.tanh(state + s[0, i]) * 0.5
            if bool(flag[i]):
                state = state.sort()[0]
        y[:, 0] += 3.0
        return p, r, s, l, h, state, y


def main():
    torch.manual_seed(3)
    net = Net()
    net.bn.running_mean.uniform_(-1, 1)
    net.bn.running_var.uniform_(0.5, 2)
    model = torch.jit.script(net.eval())
    x = torch.randn(2, 3, 13, 14)
    flag = torch.tensor([True, False, True, False])
    model(x, 4, flag)
    model.save(os.path.join(HERE, "model.pt"))
    np.savez(os.path.join(HERE, "in.npz"), x=x.numpy(), k=np.int64(4), flag=flag.numpy())


main()
