def results(w: Tensor, x: Tensor):
    y = x.matmul(w)
    print(y.requires_grad, y.is_leaf, x.requires_grad, x.is_leaf, w.requires_grad, w.is_leaf)
    print(w[0].requires_grad, w[0].is_leaf, y.detach().requires_grad, y.argmax().requires_grad, (y > 0).requires_grad)
    print(y.to(torch.int32).requires_grad, y.half().requires_grad, torch.zeros_like(y).requires_grad)
    print(torch.rand_like(y).requires_grad, y.new_zeros([2]).requires_grad, y.sign().requires_grad)
    print(torch.cat([x, y]).requires_grad, torch.stack([x, x]).requires_grad, torch.where(y > 0, x, x).requires_grad)
    print(y.unbind(0)[0].requires_grad, y.max(1)[0].requires_grad, y.max(1)[1].requires_grad)
    print(torch.nn.functional.gelu(y).requires_grad, torch.nn.functional.one_hot(y.argmax(1)).requires_grad, torch.einsum("ij,kj->ik", [x, y]).requires_grad)

def modes(w: Tensor, x: Tensor):
    with torch.no_grad():
        y = x.matmul(w)
        print(y.requires_grad, y.is_leaf, w.requires_grad)
    print((y * 2).requires_grad, (y * w[0]).requires_grad)

def writes(w: Tensor, x: Tensor):
    u = torch.zeros([2])
    print(u.requires_grad)
    u.add_(w[0])
    print(u.requires_grad, u.is_leaf)
    v = torch.zeros([2, 2])
    v[0].copy_(w[0])
    print(v.requires_grad, (v + 1).requires_grad, v.is_leaf)

def detached(w: Tensor, x: Tensor):
    y = x * 2
    y.requires_grad_(True)
    print(y.requires_grad, y.detach().requires_grad, y.data.requires_grad, (y * y).sum().detach().requires_grad)
    z = torch.zeros([2, 2])
    d = z.detach()
    d.mul_(w)
    print(d.requires_grad, z.requires_grad)

def ways(w: Tensor, x: Tensor, n: int):
    z = x
    if n > 1:
        z = x.matmul(w)
        if n > 3:
            z = x
    print(z.requires_grad, z.is_leaf)
    h, last = x, x
    for i in range(n):
        print(h.requires_grad)
        last = h + 1
        h = h.matmul(w)
    print(h.requires_grad, last.requires_grad, last.is_leaf)

def pick(w: Tensor, x: Tensor, n: int) -> Optional[Tensor]:
    if n == 0:
        return None
    return x.matmul(w) if n < 3 else x

def optional(w: Tensor, x: Tensor, n: int):
    y = pick(w, x, n)
    if y is not None:
        print(y.requires_grad, (y * 2).requires_grad, y.is_leaf)

def members(w: Tensor, x: Tensor, n: int):
    y = x.matmul(w)
    if n > 1:
        y = y.detach()
    z = y * w
    d = {"a": y, "b": z, "c": x, "d": w}
    print(d["a"].requires_grad, d["b"].requires_grad, d["c"].requires_grad, d["d"].requires_grad)
    print([d[k].requires_grad for k in d])
    l = [x, y, z, w]
    print([e.requires_grad for e in l], l[n].requires_grad, l[-1].requires_grad)
    t = (x, (y, z))
    u, v = t
    print(t[1][0].requires_grad, t[1][1].requires_grad, u.requires_grad, v[0].requires_grad, t[-1][-2].requires_grad)
    a, b = [y, x + 1]
    print(a.requires_grad, b.requires_grad, [z.argmax(0), z][0].requires_grad, [[y], [z, x]][1][n % 2].requires_grad)
    print([[[y]]][0][0][n * 0].requires_grad)
    m = [torch.zeros([2]), x]
    m[0].add_(w[0])
    print(m[0].requires_grad, m[n % 2].requires_grad)

def forward():
    w = torch.ones([2, 2]).requires_grad_()
    x = torch.ones([2, 2])
    results(w, x)
    modes(w, x)
    writes(w, x)
    detached(w, x)
    for n in range(5):
        ways(w, x, n)
        optional(w, x, n)
    for n in range(4):
        members(w, x, n)
# ---
# True False False True True True
# True False False False False
# False True False
# False False True
# True False False
# True True False
# True False True
# False True True
# False True
# False
# True False
# True True False
# True False False False
# True False
# False True
# False False True
# False True
# False
# True False True
# True True False
# True False
# False
# True
# True True False
# True True False
# True False
# False
# True
# True
# True True False
# False False True
# False True
# False
# True
# True
# True
# True True False
# False False True
# True True False True
# [True, True, False, True]
# [False, True, True, True] False True
# True True False True True
# True False False True
# True
# True True
# True True False True
# [True, True, False, True]
# [False, True, True, True] True True
# True True False True True
# True False False False
# True
# True False
# False True False True
# [False, True, False, True]
# [False, False, True, True] True True
# False True False False False
# False False False True
# False
# True True
# False True False True
# [False, True, False, True]
# [False, False, True, True] True True
# False True False False False
# False False False False
# False
# True False
# None
