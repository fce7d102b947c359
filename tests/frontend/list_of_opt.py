def f(a: Tensor) -> int:
    l = [None, a]
    n = 0
    for x in l:
        if x is not None:
            n += x.numel()
    return n
