# MLPerf Tiny's DS-CNN, which finds keywords in 49 frames of 10 coefficients, with weights computed by a formula.
def weight(a: int, b: int, h: int, w: int) -> Tensor:
    return torch.sin(torch.reshape(torch.arange(a * b * h * w, dtype=torch.float), [a, b, h, w])) * 0.3

def separable(x: Tensor) -> Tensor:
    y = torch.relu(torch.conv2d(x, weight(64, 1, 3, 3), weight(64, 1, 1, 1).flatten(), [1, 1], [1, 1], [1, 1], 64))
    return torch.relu(torch.conv2d(y, weight(64, 64, 1, 1), weight(64, 1, 1, 1).flatten()))

def forward(x: Tensor) -> Tensor:
    y = torch.relu(torch.conv2d(x, weight(64, 1, 10, 4), weight(64, 1, 1, 1).flatten(), [2, 2], [5, 1]))
    y = separable(separable(separable(separable(y))))
    y = torch.flatten(torch.adaptive_avg_pool2d(y, [1, 1]), 1)
    return torch.softmax(torch.linear(y, weight(12, 64, 1, 1).view(12, 64), weight(12, 1, 1, 1).flatten()), 1)
