# Arguments that may overlap. The host and a kernel write one of them.
def forward(x: Tensor, y: Tensor) -> Tensor:
    z = x * 2
    y.add_(z)
    y.index_copy_(0, torch.tensor([1]), z[0:1])
    return torch.matmul(z, y.transpose(0, 1))

def sums(x: Tensor, y: Tensor) -> Tuple[Tensor, int]:
    return torch.softmax(x + y, 1), 3
