# Weights in a form made when the program is opened, by the first thread that needs it.


def forward(x: Tensor) -> Tensor:
    y = torch.reshape(torch.arange(4608, dtype=torch.float), [1, 32, 12, 12]) * x.sum()
    w = torch.reshape(torch.sin(torch.arange(9216, dtype=torch.float)), [32, 32, 3, 3])
    return torch.conv2d(torch.cos(y), w, None, [1, 1], [1, 1])
