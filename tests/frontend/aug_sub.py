def f(x: Tensor, n: int) -> Tensor:
    y = x.clone()
    y[0] += 1
    y[1:] *= 2
    l = [1, 2]
    l[0] += n
    d = {"a": 1}
    d["a"] += l[0]
    return y * d["a"]
