def f(n: int) -> int:
    x : Optional[int] = None
    while x is None:
        n += 1
        if n > 10:
            x = n
    return x
