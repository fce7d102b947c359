def f(a: int) -> int:
    x, y, z = (a, a)
    return x
