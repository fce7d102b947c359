# Products whose last panels have all widths: one vector, part of a vector, half a vector, and full panels.
def weight(a: int, b: int) -> Tensor:
    return torch.sin(torch.reshape(torch.arange(a * b, dtype=torch.float), [a, b])) * 0.3

def forward(x: Tensor) -> Tensor:
    y = torch.zeros([1])
    for n in [1, 5, 8, 9, 16, 17, 24, 31, 40, 48, 50, 57, 63, 64, 65, 100, 130, 600]:
        z = torch.linear(torch.relu(torch.linear(x, weight(n, 70), weight(n, 1).flatten())), weight(27, n))
        y = y + z.sum(0) + z.view([-1])[0]
    return y
