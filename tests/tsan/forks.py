# Many forked calls, forks in forks, all drawing from one generator. The answer does not depend on the draws.


def leaf(x: Tensor, n: int) -> Tensor:
    drawn = torch.rand([3])
    return x * n + torch.floor(drawn.sum() * 0.1)


def node(x: Tensor, n: int) -> Tensor:
    f = torch.jit.fork(leaf, x, n)
    g = torch.jit.fork(leaf, x, n + 1)
    return torch.jit.wait(f) + torch.jit.wait(g)


def forward(x: Tensor) -> Tensor:
    futures: List[Future[Tensor]] = []
    for i in range(40):
        futures.append(torch.jit.fork(node, x, i))
    y = torch.zeros_like(x)
    for f in futures:
        y = y + torch.jit.wait(f)
    return y
