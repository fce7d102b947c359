def f(a: int) -> int:
    x, y = (a, a, a)
    return x
