# Functions whose gradients go through control flow, writes, lists and tuples: flow.txt calls them.

def by_branch(x: Tensor, y: Tensor):
    if bool(x.sum() > 0):
        return x * y
    return x - y.exp()

def one_branch(x: Tensor, y: Tensor):
    r = x * 2
    if bool(y.sum() > 100):
        r = r * y
    return r + x

def counted(x: Tensor, y: Tensor, n: int):
    for i in range(n):
        x = torch.tanh(x * y) + i
    return x

def until(x: Tensor, y: Tensor):
    n = 0
    while bool(x.abs().sum() > 0.5) and n < 6:
        x = x * y.sigmoid()
        n += 1
    return x * n

def nested(x: Tensor, y: Tensor):
    r = torch.zeros_like(x)
    for i in range(x.size(0)):
        for j in range(i + 1):
            if j % 2 == 0:
                r = r + x[i] * y[j]
            else:
                r = r * x[j].cos()
    return r

def appended(x: Tensor, y: Tensor):
    out: List[Tensor] = []
    h = y
    for i in range(x.size(0)):
        h = torch.tanh(h + x[i])
        out.append(h)
        out += [h * h]
    return torch.stack(out).cumsum(0)

def reversed_list(x: Tensor):
    rows = [r * 2 for r in x.unbind(0)]
    back = rows[::-1] + rows
    back[1] = back[0] * back[2]
    return torch.cat(back)

def written(x: Tensor, y: Tensor):
    out = torch.zeros([3, 4], dtype=7)
    for i in range(3):
        out[i] = x[i] * y
        if i > 0:
            out[i] += out[i - 1].sin()
    out.t()[0].mul_(2)
    out[:, 1:3].add_(y[0])
    return out * out

def in_branch(x: Tensor, y: Tensor):
    out = x.clone()
    if bool(y.sum() < 1000):
        out[0] = y[0] * 3
        out.mul_(y)
    return out.exp()

def detached(x: Tensor, y: Tensor):
    with torch.no_grad():
        z = x * 0 + 3
    return (x * z).sum() + y.detach().sum() * 0 + y.sum()

def tuples(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor]:
    p = (x, y)
    for i in range(3):
        a, b = p
        p = (a * b, b.sin())
    return p

def tasks(x: Tensor, y: Tensor):
    a = torch.jit.fork(by_branch, x, y)
    b = torch.jit.fork(one_branch, y, x)
    return torch.jit.wait(a) * torch.jit.wait(b)

def optional(x: Tensor, w: Optional[Tensor]):
    if w is not None:
        return x * w
    return x * x

def with_optional(x: Tensor, y: Tensor):
    return optional(x, y) + optional(y, None)
