# Arguments that may overlap. The host and a kernel write one of them.
def forward(x: Tensor, y: Tensor) -> Tensor:
    z = x * 2
    y.add_(z)
    y.index_copy_(0, torch.tensor([1]), z[0:1])
    return torch.matmul(z, y.transpose(0, 1))

# A result that is returned twice, a view of one, and one that depends on both.
def three(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, List[int], List[Tensor]]:
    a = torch.relu(x + y)
    b = torch.matmul(a, y.transpose(0, 1))
    return a, b.reshape(4), [1, 2], [a, torch.softmax(b, 0)]

# A guard fails where x has another number of elements that are not 0.
def found(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    a = x * y
    i = torch.nonzero(x)
    return a, a + i.size(0), i

# Indices are checked before and after an argument is written.
def pick(x: Tensor, y: Tensor) -> Tensor:
    a = torch.embedding(x, y) * 2
    x.index_copy_(0, torch.tensor([0]), x[0:1] + 1)
    return a + torch.embedding(x, y + 1)

def sums(x: Tensor, y: Tensor) -> Tuple[Tensor, int]:
    return torch.softmax(x + y, 1), 3
