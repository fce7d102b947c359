# Writes that do not count for a gradient: under no_grad, through .data and to detached tensors; no_grad.txt calls them.

def value(x: Tensor, y: Tensor):
    v = x.clone()
    with torch.no_grad():
        v.mul_(2.0)
    return v * 3

def part(x: Tensor, y: Tensor):
    v = x.clone()
    with torch.no_grad():
        r = v[0]
        r.mul_(2.0)
    return v * y

def returned(x: Tensor, y: Tensor):
    v = x.clone()
    with torch.no_grad():
        w = v.mul_(2.0)
    return w * y

def data_write(x: Tensor, y: Tensor):
    v = x.clone()
    v.data.mul_(2.0)
    return v * y

def leaf(x: Tensor, y: Tensor):
    with torch.no_grad():
        x.mul_(2.0)
    return x * y

def detached_by_active(x: Tensor, y: Tensor):
    v = x.clone()
    d = v.detach()
    d.mul_(y)
    return v * d

def detached_part(x: Tensor, y: Tensor):
    v = x.clone()
    d = v.detach()
    d[1:].mul_(y[0])
    with torch.no_grad():
        v[0] = 5.
    return v + d * y

def copied_in(x: Tensor, y: Tensor):
    v = torch.zeros(3, dtype=torch.float64)
    with torch.no_grad():
        v.copy_(x)
    return v * y

def flat_view(x: Tensor, y: Tensor):
    v = x.clone()
    w = v.view(3, 1)
    with torch.no_grad():
        w.mul_(2)
    return w * 3 + v

def part_filled(x: Tensor, y: Tensor):
    v = x * y
    with torch.no_grad():
        v[0].fill_(7.)
    return v * v

def in_loop(x: Tensor, y: Tensor):
    v = x * y
    for i in range(3):
        with torch.no_grad():
            v[i] += float(i)
    return v * v

def mixed_in_loop(x: Tensor, y: Tensor):
    v = x * y
    for i in range(3):
        if i % 2 == 0:
            with torch.no_grad():
                v[i] = v[i] * 2
        else:
            v[i] = v[i] * 3
    return v * 2

def in_branch_clamped(x: Tensor, y: Tensor):
    v = x * y
    if bool(y.sum() > 0):
        with torch.no_grad():
            v.clamp_(-1, 1)
    return v * y

def scaled(v: Tensor):
    with torch.no_grad():
        v.mul_(2)
    return v

def in_called(x: Tensor, y: Tensor):
    v = x * y
    return scaled(v) * scaled(v + 0)

def between_writes(x: Tensor, y: Tensor):
    v = x.clone()
    v.mul_(y)
    with torch.no_grad():
        v.add_(1)
    v.mul_(2)
    v[1:].detach().add_(3)
    v[0].mul_(5)
    return v

def computed_inside(x: Tensor, y: Tensor):
    v = x.clone()
    with torch.no_grad():
        w = v * 2
        w.mul_(3)
        v.copy_(w)
    u = w * y
    return u + v

def reshaped(x: Tensor, y: Tensor):
    v = x.clone().reshape(3)
    with torch.no_grad():
        v.reshape(3, 1).mul_(2)
    return v * 3

def stack_parts(x: Tensor, y: Tensor):
    z = torch.stack([x, y])
    a, b = z.unbind(0)
    with torch.no_grad():
        z.mul_(2)
    return z * 2

def list_elements(x: Tensor, y: Tensor):
    l = [x.clone(), y.clone()]
    with torch.no_grad():
        for t in l:
            t.mul_(2)
    return l[0] + l[1] * 3

def data_of_leaf(x: Tensor, y: Tensor):
    x.data.mul_(2)
    x.detach().add_(1)
    return x * y

def zeroed_then_added(x: Tensor, y: Tensor):
    v = x + 0
    with torch.no_grad():
        v.zero_()
    v.add_(y)
    return v

def while_loop(x: Tensor, y: Tensor):
    v = x + 0
    k = 0
    while k < 3:
        with torch.no_grad():
            v.t().mul_(2)
        v = v + y
        k += 1
    return v

def out_argument(x: Tensor, y: Tensor):
    v = x + 0
    with torch.no_grad():
        w = torch.mul(x, y, out=v)
    return v * 2

def clamped_then_log(x: Tensor, y: Tensor):
    v = x + 0
    with torch.no_grad():
        v.clamp_(min=1.5)
    return torch.log(v) + y / v

def masked(x: Tensor, y: Tensor):
    v = x + 0
    with torch.no_grad():
        v.masked_fill_(v > 2, 0.5)
    return torch.log(v)

def indexed(x: Tensor, y: Tensor):
    v = x + 0
    with torch.no_grad():
        v[torch.tensor([0, 2])] = 4.
        v[v > 3] = 8.
        v.index_fill_(0, torch.tensor([1]), 6.)
    return v * v

def turned(x: Tensor, y: Tensor):
    v = x + 0
    with torch.no_grad():
        v.t_()
        v.unsqueeze_(0)
    return v * 3

def overlapping_views(x: Tensor, y: Tensor):
    v = x * y
    a = v[:2]
    b = v[1:]
    with torch.no_grad():
        a.mul_(2)
    b.mul_(y[0])
    with torch.no_grad():
        b += 1
    return v * a[1] + b[0]

def data_part(x: Tensor, y: Tensor):
    v = x * y
    with torch.no_grad():
        v.data[1:].mul_(3)
    return v * 2

def rows_clamped(x: Tensor, y: Tensor):
    r = torch.zeros(3, 3, dtype=torch.float64)
    for i in range(3):
        r[i] = x * y[i]
        with torch.no_grad():
            r[i].clamp_(-1.5, 1.5)
    return r * 2

def nested_scopes(x: Tensor, y: Tensor):
    v = x * y
    with torch.no_grad():
        with torch.no_grad():
            v.add_(1)
        v.mul_(3)
        z = v * 5
    return v * 2 + z

def copied_over(x: Tensor, y: Tensor):
    v = x * 2
    with torch.no_grad():
        v.copy_(y * y)
    return v * x

def added_to(x: Tensor, y: Tensor):
    v = x * 2
    with torch.no_grad():
        v += v * y
    return v * x

def mode_switched(x: Tensor, y: Tensor):
    v = x + 0
    torch.set_grad_enabled(False)
    v.mul_(2)
    torch.set_grad_enabled(True)
    return v * y

def three_aliases(x: Tensor, y: Tensor):
    v = torch.zeros(3, dtype=torch.float64)
    v.copy_(x)
    d = v.detach()
    with torch.no_grad():
        d += 1
        v.mul_(2)
    return v * d

def split_parts(x: Tensor, y: Tensor):
    z = torch.cat([x, y])
    q, k = z.split(3)
    with torch.no_grad():
        z.mul_(2)
        k.add_(1)
    return z * 2

def list_between(x: Tensor, y: Tensor):
    v = x * 2
    l: List[Tensor] = []
    for i in range(3):
        with torch.no_grad():
            v.add_(1)
        l.append(v * float(i))
    return torch.stack(l)

def list_of_one(x: Tensor, y: Tensor):
    v = x * 2
    l: List[Tensor] = []
    for i in range(3):
        l.append(v)
        with torch.no_grad():
            v.add_(1)
    return torch.stack(l)

def tuple_element(x: Tensor, y: Tensor):
    v = x * 2
    p = (v, y)
    with torch.no_grad():
        p[0].add_(1)
    a, b = p
    return a * 2 + b

def optional_value(x: Tensor, y: Tensor):
    v = x * 2
    w: Optional[Tensor] = v
    with torch.no_grad():
        if w is not None:
            w.add_(1)
    return v * 2

def dict_element(x: Tensor, y: Tensor):
    v = x * 2
    d = {'a': v}
    with torch.no_grad():
        d['a'].add_(1)
    return v * 2

def after_part_writes(x: Tensor, y: Tensor):
    v = x * 2
    v[0] = y[1]
    with torch.no_grad():
        v[0] = 4.
        v[1:] *= 2
    v[2] = v[0] + y[2]
    return v

def nested_loops(x: Tensor, y: Tensor):
    v = x * 2
    for i in range(2):
        v[i] = y[i] + v[i]
        with torch.no_grad():
            for j in range(2):
                v[j] = v[j] + 1.
                if j == i:
                    v.detach()[2] = 3.
    return v

def view_inside(x: Tensor, y: Tensor):
    v = x * 2
    with torch.no_grad():
        w = v.view(3, 1)
        w.mul_(2)
    return v * 2

def either_value(x: Tensor, y: Tensor):
    v = x * 2
    a = v if bool(y[0] > 0) else y * 2
    with torch.no_grad():
        a.mul_(2)
    return v * 2 + a

def straight_through(x: Tensor, y: Tensor):
    v = x * 1.3
    v.data.round_()
    return v + y

def copied_back(x: Tensor, y: Tensor):
    v = x * 1.3
    w = v.round()
    v.data.copy_(w)
    return v + y

def detached_difference(x: Tensor, y: Tensor):
    v = x * 1.3
    return v + (v.round() - v).detach() * y

def shifted(x: Tensor, y: Tensor):
    h = torch.zeros_like(x)
    for i in range(3):
        h = torch.cat([x[i:i+1], h[:-1]])
        with torch.no_grad():
            h[0] = h[0] * 2
    return h

def required(x: Tensor, y: Tensor):
    v = x * 2
    v.requires_grad_(True)
    with torch.no_grad():
        v.sub_(y)
    return v * y

def sums(x: Tensor, y: Tensor):
    z = torch.zeros(3, dtype=torch.float64)
    z.add_(x)
    with torch.no_grad():
        z.add_(y)
    z.add_(y)
    return z

def functions_in_place(x: Tensor, y: Tensor):
    v = x * 2
    with torch.no_grad():
        torch.relu_(v)
        torch.nn.functional.dropout(v, 0.5, False, True)
        torch.nn.functional.leaky_relu_(v)
    return v * y

def view_of_zeroed(x: Tensor, y: Tensor):
    v = x * 2
    u = v[0]
    with torch.no_grad():
        v.zero_()
    return v + u

def views_after_write(x: Tensor, y: Tensor):
    v = x * 2
    u = v[0]
    u2 = v.view(1, 3)
    v.mul_(y)
    with torch.no_grad():
        u.fill_(4)
        u2[0, 1] = 3.
    return v + u + u2

def requires_nothing(x: Tensor, y: Tensor):
    u = y.detach()
    u.requires_grad_(True)
    return u * x

def clone_of_detached(x: Tensor, y: Tensor):
    v = x * 2
    w = v.detach().clone()
    w.mul_(y)
    v.mul_(3)
    return v + w

def detached_leaf(x: Tensor, y: Tensor):
    x2 = x.detach()
    x2[0] = 9.
    return x * y

def many_operators(x: Tensor, y: Tensor):
    v = x * 2
    with torch.no_grad():
        v.addcmul_(y, y)
        v.lerp_(y, 0.5)
        v.pow_(2)
        v.sqrt_()
        v.neg_()
        v.exp_()
        v.cumsum_(0)
        v.sort()
        v.div_(3.)
        v.fmod_(2.)
        v.scatter_(0, torch.tensor([1]), 3.)
        v.index_add_(0, torch.tensor([1]), torch.ones(1, dtype=torch.float64))
    return v * y

def number_inside(x: Tensor, y: Tensor):
    s = 0.0
    v = x * 2
    with torch.no_grad():
        n = v.norm()
        v.div_(n)
        s += float(n)
    return v * s

def built_by_parts(x: Tensor, y: Tensor):
    v = torch.empty(3, dtype=torch.float64)
    v[0] = x[0]
    v[1:] = y[1:]
    with torch.no_grad():
        m = v.mean()
        v -= m
    v[1] += x[1]
    return v

def itself(x: Tensor, y: Tensor):
    v = x * y
    with torch.no_grad():
        a = v.double()
        b = v.float()
        c = torch.positive(v)
        d = v.flatten()
        e = v.type_as(y)
        f = v.contiguous()
        g = v.cpu()
        h = torch.real(v)
        i = torch.nn.functional.dropout(v, 0.5, False)
        j = torch.atleast_1d(v)
    return a + b + c * 2 + d * 3 + e * 4 + f * 5 + g * 6 + h * 7 + i * 8 + j * 9

def itself_turned(x: Tensor, y: Tensor):
    v = torch.stack([x, y]).t()
    with torch.no_grad():
        a = v.contiguous()
        b = v.flatten()
        c = v[0].contiguous()
    return a + b.reshape(3, 2) + v + c

def data_of_saved(x: Tensor, y: Tensor):
    v = x.tanh()
    v.data.round_()
    w = y * y
    y.data[1:].mul_(3)
    return v + w

def itself_written(x: Tensor, y: Tensor):
    v = x + y
    with torch.no_grad():
        w = v.to(torch.float64)
        w[:2].mul_(0.5)
    return v + w

def out_of_dict(x: Tensor, y: Tensor):
    with torch.no_grad():
        d = {'a': x}
        v = d['a']
    return v * y + x

def out_of_list(x: Tensor, y: Tensor):
    with torch.no_grad():
        l = [x, y]
        l[0] = y
        v = l[0]
    return v * x

def einsum_written(x: Tensor, y: Tensor):
    v = torch.einsum('i->i', x)
    s = torch.stack([y, v])
    v.data.mul_(2.0)
    return x * y + s.sum(0)

def data_of_result(x: Tensor, y: Tensor):
    v = y.exp()
    u = v * 1
    v.data[0] = 2.0
    return u * x
