# Convolutions in groups: several groups share a vector of some processor, evenly or not, or each has vectors and panels of its
# own.
def conv(x: Tensor, groups: int, ins: int, outs: int, k: int, stride: int) -> Tensor:
    w = torch.sin(torch.reshape(torch.arange(groups * outs * ins * k * k, dtype=torch.float), [groups * outs, ins, k, k]))
    x = torch.relu(torch.conv2d(x, torch.sin(torch.reshape(torch.arange(groups * ins * 3, dtype=torch.float), [groups * ins, 3, 1, 1]))))
    return torch.conv2d(x, w, w[:, 0, 0, 0], [stride, stride], [k // 2, k // 2], [1, 1], groups)

def forward(x: Tensor) -> Tensor:
    y = torch.zeros([1])
    for groups, ins, outs in [(16, 4, 4), (7, 3, 3), (5, 2, 6), (9, 8, 8), (3, 16, 16), (3, 6, 12), (3, 1, 5), (2, 24, 40), (2, 5, 7), (20, 1, 2)]:
        for k, stride in [(3, 1), (3, 2), (1, 1), (5, 1)]:
            y = y + conv(x, groups, ins, outs, k, stride).sum([2, 3]).sum(1, keepdim=True)
    return y
