# A third of MobileNetV2's blocks, with weights computed by a formula.
def weight(a: int, b: int, k: int) -> Tensor:
    return torch.sin(torch.reshape(torch.arange(a * b * k * k, dtype=torch.float), [a, b, k, k])) * 0.2

def conv(x: Tensor, a: int, b: int, k: int, stride: int, groups: int) -> Tensor:
    return torch.conv2d(x, weight(a, b, k), weight(a, 1, 1).flatten(), [stride, stride], [k // 2, k // 2], [1, 1], groups)

def inverted(x: Tensor, a: int, b: int, t: int, stride: int) -> Tensor:
    y = torch.hardtanh(conv(x, a * t, a, 1, 1, 1), 0., 6.) if t != 1 else x
    y = torch.hardtanh(conv(y, a * t, 1, 3, stride, a * t), 0., 6.)
    y = conv(y, b, a * t, 1, 1, 1)
    return x + y if a == b and stride == 1 else y

def forward(x: Tensor) -> Tensor:
    y = torch.hardtanh(conv(x, 32, 3, 3, 2, 1), 0., 6.)
    y = inverted(inverted(inverted(y, 32, 16, 1, 1), 16, 24, 6, 2), 24, 24, 6, 1)
    y = inverted(inverted(y, 24, 32, 6, 2), 32, 32, 6, 1)
    y = torch.hardtanh(conv(y, 320, 32, 1, 1, 1), 0., 6.)
    y = torch.flatten(torch.adaptive_avg_pool2d(y, [1, 1]), 1)
    return torch.linear(y, weight(100, 320, 1).view(100, 320), weight(100, 1, 1).flatten())
