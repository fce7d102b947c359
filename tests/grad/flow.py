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

def pair(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor]:
    if bool(x.sum() > 0):
        return (x * y, y.sin())
    return (x + y, y)

def carried_pair(x: Tensor, y: Tensor):
    p = pair(x, y)
    for i in range(3):
        for j in range(i):
            p = pair(p[1], p[0])
        if i == 1:
            p = (p[0] * 2, p[1] - p[0])
    return p[0] * p[1]

def carried_list(x: Tensor, y: Tensor):
    rows: List[Tensor] = []
    h = y
    for i in range(x.size(0)):
        h = torch.tanh(h * x[i])
        rows = rows + [h, h.exp()]
        if i % 2 == 1:
            rows = rows[1:] + [y]
    return torch.stack(rows).cumsum(0)

def nested_lists(x: Tensor, y: Tensor):
    total = torch.zeros_like(y)
    last = [y, y * 2]
    for i in range(x.size(0)):
        parts: List[Tensor] = []
        for j in range(i + 1):
            parts.append(x[j] * last[j % 2])
            if j == 1:
                parts.append(y)
        last = [torch.stack(parts).sum(0), last[0] + x[i]]
        total = total + torch.cat(parts).sum() * last[1]
    return total

def changed(x: Tensor, y: Tensor):
    l = [x, y * y]
    more = [x.sin(), y, x * y]
    for i in range(3):
        l.extend(more)
        l.insert(1, x * i)
        l.insert(-100, y)
        top = l.pop()
        l[0] = l[0] + top * l.pop(1)
        l.reverse()
        if i == 1:
            del l[2]
    return torch.stack(l).cumsum(0) * len(l)

def emptied(x: Tensor, y: Tensor):
    l = [x, y]
    s = l[0] * l[1]
    l.clear()
    l.append(s)
    l += [x, s]
    return torch.cat(l)

def kept_in_step(x: Tensor, y: Tensor):
    l: List[Tensor] = []
    for i in range(4):
        with torch.no_grad():
            l.append(x.detach() * 0 + 1)
        l.append(x * y)
    return torch.stack(l).prod(0)

def from_branches(x: Tensor, y: Tensor):
    if bool(x.sum() > 1000):
        q, k, v = x.chunk(3, 0)
    else:
        q, k, v = [x * 2, y, x * y]
    if bool(x.sum() > -1000):
        l = (x * y).unbind(0)
    else:
        l = [x]
    return q * k + v + torch.stack(l)

def until_break(x: Tensor, y: Tensor):
    l: List[Tensor] = []
    n = 0
    while True:
        x = x * y.sigmoid()
        l += [x]
        n += 1
        if bool(x.abs().sum() < 0.3):
            break
        if len(l) == 7:
            break
    return torch.stack(l) * n

def two_names(x: Tensor, y: Tensor):
    l = [x]
    for i in range(x.size(0)):
        if i == 1:
            l = [y]
        l.append(x * y)
    return torch.stack(l)

def slope(x: Tensor, y: Tensor):
    x.requires_grad_()
    e = (torch.tanh(x * y) ** 2).sum() + torch.exp(y).prod()
    g = torch.autograd.grad([e], [x], create_graph=True)[0]
    assert g is not None
    t = torch.tanh(x * y)
    return g, g - 2 * t * (1 - t * t) * y

def curvature(x: Tensor, w: Tensor):
    x.requires_grad_(True)
    w.requires_grad_()
    h = torch.layer_norm(torch.conv1d(x, w, None, [1], [1]), [4]).sigmoid()
    for i in range(2):
        h = h * h.sin()
    ones: List[Optional[Tensor]] = [torch.ones([2, 12], dtype=7)]
    g = torch.autograd.grad([h.flatten(1)], [x], ones, None, True)[0]
    assert g is not None
    second = torch.autograd.grad([(g * g).sum()], [x, w], create_graph=True, allow_unused=True)
    a = second[0]
    b = second[1]
    assert a is not None and b is not None
    return a, b

def unused(x: Tensor, y: Tensor):
    x.requires_grad_()
    y.requires_grad_()
    g = torch.autograd.grad([(x ** 3).sum()], [x, y], None, None, True, True)
    a = g[0]
    assert a is not None and g[1] is None
    return a * y

def warped(x: Tensor, w: Tensor):
    grid = torch.affine_grid_generator(w.reshape([1, 2, 3]), [x.size(0), x.size(1), x.size(2), x.size(3)], False)
    return torch.grid_sampler(x, grid, 0, 0, False)


def cell(x: Tensor, y: Tensor) -> Tensor:
    a, b, = torch.unsafe_chunk(torch.add_(torch.cat([x, y]), torch.cat([y, x]), alpha=2), 2, 0)
    c, d, = torch.chunk(torch.cat([y, x]), 2, 0)
    return torch.sigmoid_(a) * torch.tanh_(b) + torch.exp_(d) * c


def by_backward(x: Tensor, y: Tensor):
    x.requires_grad_()
    (x ** 3 * y).sum().backward(None, None, True)
    more: List[Optional[Tensor]] = [y, torch.ones_like(x)]
    torch.autograd.backward([torch.tanh(x * y), x * x], more, None, True)
    return x.grad * y


def call_in_branch(x: Tensor, y: Tensor):
    x.requires_grad_()
    z = (x ** 3).sin()
    r = x
    if float(y.sum()) > -100:
        z = z * y
        g = torch.autograd.grad([z.sum()], [x], create_graph=True)[0]
        assert g is not None
        r = g * z
    return r


def calls_in_loop(x: Tensor, y: Tensor):
    x.requires_grad_()
    a = x * y
    b = x + y
    for i in range(3):
        if i > 0:
            loss = (torch.tanh(a * x) * b * b).sum()
            g = torch.autograd.grad([loss], [a, b], create_graph=True)
            ga = g[0]
            gb = g[1]
            assert ga is not None and gb is not None
            a = a - 0.1 * ga
            b = b - 0.1 * gb
    return a * b


def calls_in_long_loop(x: Tensor, y: Tensor, n: int):
    x.requires_grad_()
    a = x * y
    for i in range(n):
        g = torch.autograd.grad([torch.tanh(a * x).sum()], [a], create_graph=True)[0]
        assert g is not None
        a = a - 0.1 * g
    return a


def through_the_past(x: Tensor, y: Tensor, n: int):
    x.requires_grad_()
    z = y
    for i in range(n):
        z = z * x
        g = torch.autograd.grad([z.sum()], [x], create_graph=True)[0]
        assert g is not None
        z = z + g
    return z

def type_as_written(x: Tensor, y: Tensor):
    v = x * 2
    w = v.type_as(y)
    w.mul_(y)
    return v * 3

def einsum_written(x: Tensor, y: Tensor):
    v = x * 2
    w = torch.einsum('i->i', v)
    w.mul_(y)
    return v * 3

def waited(v: Tensor):
    return v

def future_written(x: Tensor, y: Tensor):
    v = x * 2
    w = torch.jit.wait(torch.jit.fork(waited, v))
    w.mul_(y)
    return v * 3

def dropout_written(x: Tensor, y: Tensor):
    v = x * 2
    w = torch.nn.functional.dropout(v, 0.5, False)
    w.mul_(y)
    return v * 3
