def f(x: Tensor, i: Tensor) -> Tensor:
    a = x[0]
    b = x[..., 0]
    c = x[None, :, 1]
    d = x[i]
    e = x[:, i]
    g = x[1:, None, ::2]
    h = x[-1, 0:1]
    return a.sum() + b.sum() + c.sum() + d.sum() + e.sum() + g.sum() + h.sum()
