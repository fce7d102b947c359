def f(n: int) -> float:
    s = 0.0
    for x in (1, 2.5, n):
        s += float(x)
    return s
