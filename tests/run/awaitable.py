def add(x: Tensor, y: int):
    return x + y
def forward():
    x = torch.tensor([1.0, 2.0])
    a = torch.jit._awaitable(add, x, 2)
    b = torch.jit._awaitable(add, x, 3)
    return torch.jit._awaitable_wait(a) + torch.jit._awaitable_wait(b)
# ---
#  7
#  9
# [ CPUFloatType{2} ]
